//! The program `alcor`: MPI hardware from the command line.
#![forbid(unsafe_code)]

mod backends;
mod bench;
mod bitstream;
mod build;
mod clean;
mod deploy;
mod doctor;
mod exit;
mod farm;
mod manual;
mod new;
mod regress;
mod revision;
mod run;
mod serve;
mod served;
mod setup;
mod store;
mod vcard;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use exit::{CommandResult, Exit};

/// MPI hardware from the command line, on simulated boards and on cards.
///
/// Exit codes: 0 all passed, 1 something failed, 2 the command was wrong, 3 the environment lacks
/// something (the message names it and says how to get it). `run` has the code of the rank that
/// failed first. If signal N ends `regress`, the code is 128 + N.
#[derive(Debug, Parser)]
#[command(name = "alcor", version, arg_required_else_help = true)]
struct Cli {
    /// Take configurations and kernels of your own from this folder: from its configs.toml
    /// [default: the folder that ALCOR_HW names]
    #[arg(long, value_name = "DIR", global = true)]
    hw: Option<PathBuf>,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Regress(regress::Args),
    Run(run::Args),
    Serve(serve::Args),
    Vcard(vcard::Args),
    Bench(bench::Args),
    Build(build::Args),
    Clean(clean::Args),
    #[command(subcommand)]
    Bitstream(bitstream::Command),
    Deploy(deploy::Args),
    Doctor(doctor::Args),
    New(new::Args),
    Setup(setup::Args),
    Completions(manual::CompletionsArgs),
    Man(manual::ManArgs),
    #[command(hide = true)]
    ExecRank(run::exec::Args),
    #[command(hide = true)]
    CountPuts(bench::CountArgs),
}

impl Command {
    fn run(self) -> CommandResult {
        match self {
            Command::Regress(args) => regress::run(&args),
            Command::Run(args) => run::run(&args),
            Command::Serve(args) => serve::run(&args),
            Command::Vcard(args) => vcard::run(&args),
            Command::ExecRank(args) => run::exec::run(&args),
            Command::CountPuts(args) => bench::be_counted(&args),
            Command::Bench(args) => bench::run(&args),
            Command::Build(args) => build::run(&args),
            Command::Clean(args) => clean::run(&args),
            Command::Bitstream(command) => bitstream::run(&command),
            Command::Deploy(args) => deploy::run(&args),
            Command::New(args) => new::run(&args),
            Command::Doctor(args) => doctor::run(&args),
            Command::Setup(args) => setup::run(&args),
            Command::Completions(args) => manual::completions(&args),
            Command::Man(args) => manual::pages(&args),
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Some(folder) = cli.hw {
        build::take_own(folder);
    }
    match cli.command.run() {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("alcor: {error}");
            Exit::from(&error).into()
        }
    }
}
