//! The last step before a rank's program: the program ends with the process that started it.

use std::io;
use std::os::unix::process::{CommandExt, parent_id};
use std::path::Path;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::exit::{CommandResult, Error, Exit};

/// Become a rank's program, which ends with the process that started it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The process that started this one
    #[arg(long)]
    parent: u32,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true)]
    program: Vec<String>,
}

/// Executes the program. Returns only if the program can't be started.
pub fn run(args: &Args) -> CommandResult {
    let failed = |source: io::Error| Error::Program {
        program: args.program[0].clone(),
        source,
    };
    // The setting survives exec.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| failed(error.into()))?;
    if parent_id() != args.parent {
        // The parent has died before the setting took effect.
        return Ok(Exit::Failed);
    }
    let error = Command::new(&args.program[0])
        .args(&args.program[1..])
        .exec();
    Err(failed(error))
}

/// Checks that the program exists, so that one error reports a missing program instead of one error
/// per rank.
pub fn check(program: &str) -> Result<(), Error> {
    let is_there = if program.contains('/') {
        Path::new(program).is_file()
    } else {
        std::env::var_os("PATH").is_some_and(|path| {
            std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
        })
    };
    if is_there {
        Ok(())
    } else {
        Err(Error::NoProgram(program.to_owned()))
    }
}
