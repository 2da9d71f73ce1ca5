//! The last step before a rank's program: whoever started it is not outlived.

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

/// Comes back only if the program can't be started.
pub fn run(args: &Args) -> CommandResult {
    let failed = |source: io::Error| Error::Program {
        program: args.program[0].clone(),
        source,
    };
    // The kernel keeps this over exec.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| failed(error.into()))?;
    if parent_id() != args.parent {
        // It has died before it could be noted.
        return Ok(Exit::Failed);
    }
    let error = Command::new(&args.program[0])
        .args(&args.program[1..])
        .exec();
    Err(failed(error))
}

/// Checks that there is such a program, so that one error says so rather than one of each rank.
pub fn check(program: &str) -> Result<(), Error> {
    let is_there = match program.contains('/') {
        true => Path::new(program).is_file(),
        false => std::env::var_os("PATH").is_some_and(|path| {
            std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
        }),
    };
    match is_there {
        true => Ok(()),
        false => Err(Error::NoProgram(program.to_owned())),
    }
}
