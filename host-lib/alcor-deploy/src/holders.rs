//! Processes that have a card's device nodes open or mapped.

use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Number of bytes that are read of a process's list of mappings.
const MOST_MAPS: u64 = 16 << 20;

/// A process that has a device node of the card open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Number of the process.
    pub pid: u32,
    /// Name of the process.
    pub name: String,
    /// The node.
    pub node: PathBuf,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Holder { pid, name, node } = self;
        write!(f, "process {pid} ({name}, {})", node.display())
    }
}

/// The processes that have nodes `/dev/xdmaN_*` open, for each N of `numbers`. A process that ends
/// meanwhile, or whose files only root may see, is skipped.
pub(crate) fn holders(proc: &Path, dev: &Path, numbers: &[u32]) -> Vec<Holder> {
    let mut found = Vec::new();
    let prefixes: Vec<String> = numbers
        .iter()
        .map(|number| {
            dev.join(format!("xdma{number}_"))
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    let Ok(processes) = fs::read_dir(proc) else {
        return found;
    };
    for process in processes.flatten() {
        let Some(pid) = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let is_node = |text: &str| prefixes.iter().any(|prefix| text.starts_with(prefix));
        let folder = process.path();
        if let Some(node) = open(&folder, is_node).or_else(|| mapped(&folder, is_node)) {
            let name = fs::read_to_string(folder.join("comm")).unwrap_or_default();
            found.push(Holder {
                pid,
                name: name.trim().to_owned(),
                node,
            });
        }
    }
    found.sort_by_key(|holder| holder.pid);
    found
}

fn open(process: &Path, is_node: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let files = fs::read_dir(process.join("fd")).ok()?;
    files
        .flatten()
        .filter_map(|file| fs::read_link(file.path()).ok())
        .find(|target| target.to_str().is_some_and(&is_node))
}

/// A mapping stays when its file is closed. The path is the last of six fields.
fn mapped(process: &Path, is_node: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let mut maps = String::new();
    let file = File::open(process.join("maps")).ok()?;
    file.take(MOST_MAPS).read_to_string(&mut maps).ok()?;
    maps.lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .find(|path| is_node(path))
        .map(PathBuf::from)
}
