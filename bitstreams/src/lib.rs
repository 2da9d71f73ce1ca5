//! What was built for a board: manifests of bitstreams, and the files that they are made from.
//!
//! A build leaves a folder with `<name>.bit`, `utilisation.rpt`, `timing.rpt` and `build.toml`.
//! [`pack`] reads the four, refuses what must not be loaded (another part, timing that is not met,
//! reports of another design), and writes `manifest.toml` beside them. [`verify`] says whether the
//! bitstream is still the one that was packed, and [`list`] shows what is in a folder of builds.
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
//! All files are taken for hostile: parsers return errors and never panic, a file's size is asked
//! for before it is read, a bitstream is hashed in pieces, and a name in a manifest is that of a
//! plain file beside it.
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

/// Bytes of the longest bitstream that is read: a U280's has 80 MB or so.
pub const MOST_BIT_BYTES: u64 = 256 << 20;
/// Bytes of the longest manifest or `build.toml`.
pub const MOST_MANIFEST_BYTES: u64 = 64 << 10;
/// Bytes of the longest report.
pub const MOST_REPORT_BYTES: u64 = 16 << 20;
