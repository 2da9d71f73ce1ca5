//! The program, as its tests run it.

use std::path::{Path, PathBuf};
use std::process::Command;

pub const ALCOR: &str = env!("CARGO_BIN_EXE_alcor");

/// A watchdog with which no wait is short enough: a hang in every test that waits.
pub const HANG: &str = "--watchdog=1";

/// A wait that is longer than the watchdog: rank 0 enters a collective late, and no packet moves until then.
pub const LATE_RANK: [&str; 6] = [
    "--backend",
    "cosim:rma2",
    "--filter",
    "^skew.last_to_come$",
    "--watchdog",
    "300",
];

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The program in a folder of its own, so that nothing is left here.
pub fn program(folder: &Path) -> Command {
    let mut command = Command::new(ALCOR);
    command.current_dir(folder).env("ALCOR_ROOT", root());
    command
}
