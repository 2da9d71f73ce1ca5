//! What the sources are.

use std::process::Command;

use alcor_cosim::repository_root;

/// The source revision of the repository, or else of where the program runs, as far as git knows it.
pub fn revision() -> String {
    let root = repository_root().unwrap_or_else(|_| ".".into());
    Command::new("git")
        .current_dir(root)
        .args(["rev-parse", "--short=12", "HEAD"])
        .output()
        .ok()
        .filter(|output| output.status.success())
        .map_or_else(
            || "unknown".into(),
            |output| String::from_utf8_lossy(&output.stdout).trim().into(),
        )
}
