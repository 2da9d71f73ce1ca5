//! The folder of the project, and the revision of the hardware.

use std::path::PathBuf;
use std::process::Command;

use alcor_cosim::Hardware;

/// The folder that holds `target`: the root of the clone whose hardware is simulated, or else the
/// current folder.
pub fn project() -> PathBuf {
    let hardware = Hardware::find().ok();
    let root = hardware.as_ref().and_then(Hardware::root);
    root.map_or_else(|| ".".into(), PathBuf::from)
}

/// The source revision of the hardware: of the clone, as far as git knows it, or else of the
/// sources in this program.
pub fn revision() -> String {
    let Ok(hardware) = Hardware::find() else {
        return "unknown".into();
    };
    let Some(root) = hardware.root() else {
        let mut hash = crc32fast::Hasher::new();
        for text in alcor_hw::files().flat_map(|(name, text)| [name, text]) {
            hash.update(text.as_bytes());
        }
        return format!("alcor-hw {} {:08x}", alcor_hw::VERSION, hash.finalize());
    };
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
