//! Manifests of board builds, and the files that they are made from.
//!
//! A build writes a folder with `<name>.bit`, `utilisation.rpt`, `timing.rpt` and `build.toml`.
//! [`pack`] reads these files, refuses a build that must not be loaded (another part, failed
//! timing, reports of another design), and writes `manifest.toml` beside them. [`verify`] checks
//! that the bitstream is the packed one. [`list`] returns the builds of a folder.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use alcor_bitstreams::{Error, verify};
//!
//! let folder = tempfile::tempdir()?;
//! assert!(matches!(verify(folder.path()), Err(Error::Missing { .. }))); // and it says to pack it
//! # Ok(())
//! # }
//! ```
//!
//! Files are not trusted. Parsers return errors and never panic. The size of a file is checked
//! before the file is read. Bitstreams are hashed in blocks. A name in a manifest must be the name
//! of a plain file in the folder of the manifest.
#![forbid(unsafe_code)]

mod bit;
mod build;
mod digest;
mod error;
mod files;
mod folder;
mod manifest;
mod report;
mod word;

pub use bit::{BitHeader, HEAD_BYTES};
pub use build::Build;
pub use digest::Digest;
pub use error::{BitProblem, Error, Report, Result};
pub use folder::{Entry, MANIFEST, list, pack, verify};
pub use manifest::{Bitstream, Manifest, SCHEMA};
pub use report::{Resource, Timing, Utilisation};
pub use word::Word;

/// Largest bitstream, in bytes: a U280's has about 80 MB.
pub const MOST_BIT_BYTES: u64 = 256 << 20;
/// Largest manifest or `build.toml`, in bytes.
pub const MOST_MANIFEST_BYTES: u64 = 64 << 10;
/// Largest report, in bytes.
pub const MOST_REPORT_BYTES: u64 = 16 << 20;
