//! `alcor doctor`: shows the requirements of boards, and the missing ones.

mod cards;
mod ladder;

use std::path::{Path, PathBuf};
use std::{env, thread};

use alcor_cosim::{CosimBackend, CosimError, Hardware, ROOT_VARIABLE};
use alcor_shm::{Segment, channel};
use verimodel::ModelCache;

use crate::clean::Size;
use crate::exit::{CommandResult, Exit};

/// Check the requirements of simulated boards and cards, and show how to install missing ones
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Check a card instead, from the ID register to puts between cards: xdma:PCI-ADDRESS,
    /// board:NAME or cluster:NAME. The checks reset the cards, which no program may use
    #[arg(long, value_name = "URI")]
    card: Option<String>,
}

/// The result of a check.
type Finding = Result<String, String>;

/// Runs the command.
pub fn run(args: &Args) -> CommandResult {
    if let Some(uri) = &args.card {
        return ladder::run(uri);
    }
    let mut findings: Vec<(String, Finding)> = vec![
        ("hardware".into(), hardware()),
        ("configurations".into(), configurations()),
        (
            "toolchain".into(),
            toolchain().map_err(|error| error.to_string()),
        ),
        ("models".into(), models()),
    ];
    let is_clone = Hardware::find().is_ok_and(|hardware| hardware.root().is_some());
    let needed = PROGRAMS
        .iter()
        .filter(|(_, _, is_needed)| is_clone || *is_needed);
    findings.extend(needed.map(|(name, remedy, _)| (name.to_string(), program(name, remedy))));
    findings.push(("cores".into(), cores()));
    findings.push(("shared memory".into(), shared_memory()));
    findings.push(("hugepages".into(), hugepages("/proc/meminfo".as_ref())));
    findings.extend(cards::findings());
    for (name, finding) in &findings {
        match finding {
            Ok(found) => println!("ok       {name:<15} {found}"),
            Err(remedy) => println!("missing  {name:<15} {remedy}"),
        }
    }
    let missing = findings
        .iter()
        .filter(|(_, finding)| finding.is_err())
        .count();
    if missing > 0 {
        println!("{missing} of {} missing", findings.len());
        return Ok(Exit::Environment);
    }
    println!("all is there");
    Ok(Exit::Passed)
}

/// Programs that the build of a model, `alcor setup` and the scripts of a clone start, their
/// packages, and whether they are needed outside a clone.
const PROGRAMS: [(&str, &str, bool); 5] = [
    ("g++", "apt-get install g++", true),
    ("make", "apt-get install make", false),
    ("perl", "apt-get install perl", true),
    ("python3", "apt-get install python3 python3-venv", true),
    ("tclsh", "apt-get install tcl", false),
];

/// The hardware that is simulated, and why it was chosen.
fn hardware() -> Finding {
    let hardware = Hardware::find().map_err(|error| error.to_string())?;
    let is_named = env::var_os(ROOT_VARIABLE).is_some_and(|root| !root.is_empty());
    let why = match (hardware.root(), is_named) {
        (None, _) => "the current folder is in no clone of Alcor",
        (Some(_), true) => "ALCOR_ROOT",
        (Some(_), false) => "the clone that the current folder is in",
    };
    Ok(format!("{hardware} ({why})"))
}

fn configurations() -> Finding {
    let configs = CosimBackend::new()
        .configs()
        .map_err(|error| error.to_string())?;
    Ok(configs
        .iter()
        .map(|(name, _)| name)
        .collect::<Vec<_>>()
        .join(", "))
}

/// The tools that build models.
pub fn toolchain() -> Result<String, CosimError> {
    let tools = Hardware::find()?.toolchain()?;
    let (verilator, version) = (tools.verilator().display(), tools.verilator_version());
    Ok(format!(
        "Verilator {version} at {verilator}, {}",
        tools.compiler_version()
    ))
}

/// The cache of built models.
fn models() -> Finding {
    let cache = ModelCache::find().map_err(|error| error.to_string())?;
    let size = Size::of(&cache).map_err(|error| error.to_string())?;
    Ok(format!("{size} in {}", cache.folder().display()))
}

fn program(name: &str, remedy: &str) -> Finding {
    let find = |folder: PathBuf| Some(folder.join(name)).filter(|path| path.is_file());
    let path = env::var_os("PATH").unwrap_or_default();
    match env::split_paths(&path).find_map(find) {
        Some(path) => Ok(path.display().to_string()),
        None => Err(format!("not in PATH; to get it: {remedy}")),
    }
}

/// Tries the sealed memory and sockets that `alcor run` needs for its mailboxes.
fn shared_memory() -> Finding {
    let remedy = |what: &'static str| {
        move |error: std::io::Error| {
            format!("{what}: {error}; `alcor run` and `alcor serve` need it")
        }
    };
    let segment = Segment::create(4096).map_err(remedy("no sealed memory (memfd_create)"))?;
    let name = format!("doctor-{}", std::process::id());
    let _socket = channel::listen(&name).map_err(remedy("no socket in the abstract name space"))?;
    let bytes = 4 * segment.words().len();
    Ok(format!("{bytes} bytes sealed, sockets without files"))
}

/// Huge pages are optional; they speed up the DMA of long transfers.
fn hugepages(meminfo: &Path) -> Finding {
    let text = std::fs::read_to_string(meminfo).unwrap_or_default();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim_start_matches(':').trim().to_owned())
    };
    let none =
        "none reserved, and none needed (sysctl vm.nr_hugepages=64 reserves some for long DMA)";
    Ok(
        match (value("HugePages_Total").as_deref(), value("Hugepagesize")) {
            (None | Some("0"), _) => none.into(),
            (Some(count), size) => format!("{count} of {}", size.unwrap_or_default()),
        },
    )
}

fn cores() -> Finding {
    let cores = thread::available_parallelism().map_err(|error| error.to_string())?;
    Ok(format!("{cores}, as many boards at once"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_tried() {
        assert!(shared_memory().is_ok_and(|found| found.contains("4096")));
    }

    #[test]
    fn hugepages_are_counted_where_there_are_any() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let says = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            hugepages(file.path()).unwrap()
        };
        assert_eq!(
            says("HugePages_Total:      8\nHugepagesize:       2048 kB\n"),
            "8 of 2048 kB"
        );
        assert!(says("HugePages_Total:      0\n").contains("none reserved"));
        assert!(says("").contains("none reserved"));
    }
}
