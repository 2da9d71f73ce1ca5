//! `alcor run`: runs a program as one process per rank, against a simulated cluster or a card.

mod children;
pub mod exec;
mod forward;

use std::fs;
use std::path::PathBuf;

use alcor::Launch;
use alcor_cosim::CosimBackend;
use alcor_serve::{Runs, Server};
use alcor_xdma::XdmaBackend;

use crate::bench::with_option;
use crate::exit::{CommandResult, Error};
use crate::{backends, build};
use children::{Children, Start};

/// Run a program as one process per rank, against a simulated cluster or a card
///
/// Each process gets its rank in ALCOR_RANK, the number of ranks in ALCOR_SIZE and the boards in
/// ALCOR_CLUSTER. The library's Job::from_env (alcor_init_from_env in C) attaches the rank. The
/// output of the processes is printed here, each line with the rank that printed it. Signals are
/// passed on to all processes. When a rank fails, the others are ended after two seconds. Ranks
/// that stay outside the library for 60 seconds while their peers wait (option `away` of the
/// configuration) are ended once all other ranks have ended.
///
/// Time is simulated as for threads: the same program takes the same cycles in every run, on any
/// machine.
///
/// The exit code is that of the rank that failed first, 128 + N if signal N ended the rank, or 0 if
/// no rank failed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alcor run --config torus8 -- ./solver input.dat
  alcor run --config 'ring4?waves=run.fst' -n 2 -- python3 trial.py")]
pub struct Args {
    /// The cluster: a configuration of hw/core/configs.toml, with options as after cosim:
    #[arg(
        long,
        value_name = "NAME",
        default_value = "rma4",
        conflicts_with = "backend"
    )]
    config: String,

    /// The URI of the boards: cosim:CONFIG, or xdma:PCI-ADDRESS (a card, which each process opens
    /// for itself)
    #[arg(long, value_name = "URI")]
    backend: Option<String>,

    /// Number of ranks [default: all ranks of the boards]
    #[arg(short = 'n', long, value_name = "RANKS")]
    ranks: Option<u32>,

    /// Print the output of the ranks without their numbers
    #[arg(long)]
    no_prefix: bool,

    /// Write cycles and traffic digest of the run to this file, as JSON; for simulated boards
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,

    /// Minimum limit of a wait in cycles, before the library ends the wait; for simulated boards
    #[arg(long, value_name = "CYCLES")]
    watchdog: Option<u64>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Args) -> CommandResult {
    let uri = match &args.backend {
        Some(uri) => uri.clone(),
        None => format!("{}:{}", CosimBackend::SCHEME, args.config),
    };
    exec::check(&args.program[0])?;
    match uri.split_once(':') {
        Some((CosimBackend::SCHEME, rest)) => simulated(args, rest),
        Some((XdmaBackend::SCHEME, _)) if args.stats.is_none() && args.watchdog.is_none() => {
            on_a_card(args, &uri)
        }
        _ => Err(Error::NotForProcesses(uri)),
    }
}

/// Runs the program against boards of this process.
fn simulated(args: &Args, rest: &str) -> CommandResult {
    let rest = match args.watchdog {
        Some(cycles) => &*with_option(rest, "watchdog", &cycles.to_string()),
        None => rest,
    };
    let cluster = build::backend()
        .open_sim(rest)
        .map_err(|error| error.on(&format!("{}:{rest}", CosimBackend::SCHEME)))?;
    let ranks = args.ranks.map_or_else(|| cluster.cluster()?.ranks(), Ok)?;
    let (sender, receiver) = children::event_channel();
    let of_server = sender.clone();
    let server = Server::start(cluster, ranks, Runs::One, None, move |event| {
        of_server.send(event);
    })?;
    let start = Start {
        program: &args.program,
        cluster: &server.uri(),
        ranks,
        prefix: !args.no_prefix,
    };
    let ended = Children::start(&start, sender, receiver)?.wait(|rank| server.ended(rank));
    if let Some(file) = &args.stats {
        let (cycles, digest) = alcor_test::traffic(server.cluster());
        let text = serde_json::json!({ "ranks": ranks, "cycles": cycles, "digest": digest });
        fs::write(file, format!("{text}\n")).map_err(Error::write(file))?;
    }
    Ok(ended.exit())
}

/// Runs the program against a card. Prepares the card here; each process then opens the card for
/// itself.
fn on_a_card(args: &Args, uri: &str) -> CommandResult {
    let ranks = {
        let cluster = backends::open(uri)?;
        let ranks = args.ranks.map_or_else(|| cluster.ranks(), Ok)?;
        cluster.prepare(ranks)?;
        ranks
    };
    let start = Start {
        program: &args.program,
        cluster: uri,
        ranks,
        prefix: !args.no_prefix,
    };
    let (sender, receiver) = children::event_channel();
    let ended = Children::start(&start, sender, receiver)?.wait(|_| {});
    Ok(ended.exit())
}

/// The environment variables of a rank's process.
fn variables(start: &Start, rank: u32) -> [(&'static str, String); 3] {
    [
        (Launch::CLUSTER, start.cluster.to_owned()),
        (Launch::RANK, rank.to_string()),
        (Launch::SIZE, start.ranks.to_string()),
    ]
}
