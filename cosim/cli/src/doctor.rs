//! `alcor doctor`: what is there, and what is missing.

mod cards;

use std::path::PathBuf;
use std::{env, thread};

use alcor_cosim::{CosimBackend, repository_root};
use verilated::Toolchain;

use crate::exit::{Ended, Exit};

/// Look for all that boards need, simulated ones and cards, and say how to get what is missing
#[derive(Debug, clap::Args)]
pub struct Args {}

/// What a look at something came to.
type Finding = Result<String, String>;

/// Runs the command.
pub fn run(_: &Args) -> Ended {
    let mut findings: Vec<(String, Finding)> = vec![
        ("repository".into(), repository()),
        ("configurations".into(), configurations()),
        ("toolchain".into(), toolchain()),
    ];
    findings.extend(PROGRAMS.map(|(name, remedy)| (name.into(), program(name, remedy))));
    findings.push(("cores".into(), cores()));
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

/// Programs that `ci/setup` and the build of a model start, and who brings them.
const PROGRAMS: [(&str, &str); 4] = [
    ("g++", "apt-get install g++"),
    ("make", "apt-get install make"),
    ("perl", "apt-get install perl"),
    ("python3", "apt-get install python3 python3-venv"),
];

fn repository() -> Finding {
    let root = repository_root().map_err(|error| error.to_string())?;
    Ok(root.display().to_string())
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

fn toolchain() -> Finding {
    let root = repository_root().map_err(|error| error.to_string())?;
    let tools = Toolchain::find_in(&root).map_err(|error| error.to_string())?;
    let (verilator, version) = (tools.verilator().display(), tools.verilator_version());
    Ok(format!(
        "Verilator {version} at {verilator}, {}",
        tools.compiler_version()
    ))
}

fn program(name: &str, remedy: &str) -> Finding {
    let find = |folder: PathBuf| Some(folder.join(name)).filter(|path| path.is_file());
    let path = env::var_os("PATH").unwrap_or_default();
    match env::split_paths(&path).find_map(find) {
        Some(path) => Ok(path.display().to_string()),
        None => Err(format!("not in PATH; to get it: {remedy}")),
    }
}

fn cores() -> Finding {
    let cores = thread::available_parallelism().map_err(|error| error.to_string())?;
    Ok(format!("{cores}, as many boards at once"))
}
