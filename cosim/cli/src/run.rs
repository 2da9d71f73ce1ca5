//! `alcor run`: runs a program as one process per rank, against a simulated cluster or a card.

mod children;
pub mod exec;
mod forward;

use std::fs;
use std::path::{Path, PathBuf};

use alcor::{Launch, LinkCounts};
use alcor_cosim::CosimBackend;
use alcor_deploy::{Farm, FarmError};
use alcor_farm::ClusterBackend;
use alcor_serve::{Runs, Server};
use alcor_test::explain::{COMMANDS, PACKETS, Recorder, uri};
use alcor_xdma::XdmaBackend;

use crate::bench::with_option;
use crate::exit::{CommandResult, Error, Exit};
use crate::{backends, build, farm};
use children::{Children, Start};

/// Run a program as one process per rank, against a simulated cluster or a card
///
/// Each process gets its rank in ALCOR_RANK, the number of ranks in ALCOR_SIZE and the boards in
/// ALCOR_CLUSTER. The library's Job::from_env (alcor_init_from_env in C) attaches the rank. The
/// output of the processes is printed here, each line with the rank that printed it. Signals are
/// passed on to all processes. When a rank fails, the others are ended after two seconds, or
/// continue if --survive is given. Ranks that stay outside the library for 60 seconds while their
/// peers wait (option `away` of the configuration) are ended once all other ranks have ended.
///
/// Time is simulated as for threads: the same program takes the same cycles in every run, on any
/// machine.
///
/// The exit code is that of the rank that failed first, 128 + N if signal N ended the rank, or 0 if
/// no rank failed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alcor run --config torus8 -- ./solver input.dat
  alcor run --config 'ring4?waves=run.fst' -n 2 -- python3 trial.py
  alcor run --record out -- ./program    # out/commands.txt, out/packets.txt")]
pub struct Args {
    /// The cluster: a configuration of hw/core/configs.toml, with options as after cosim:
    #[arg(
        long,
        value_name = "NAME",
        default_value = "rma4",
        value_parser = crate::build::config,
        conflicts_with = "backend"
    )]
    config: String,

    /// The URI of the boards: cosim:CONFIG, xdma:PCI-ADDRESS (a card, which each process opens for
    /// itself), or cluster:NAME (cards of this host, of which each process opens that of its rank)
    #[arg(long, value_name = "URI")]
    backend: Option<String>,

    /// Number of ranks [default: all ranks of the boards]
    #[arg(short = 'n', long, value_name = "RANKS")]
    ranks: Option<u32>,

    /// Report each wait of the library that is longer than this on standard error, with the awaited
    /// event and the states of the other ranks; the wait goes on
    #[arg(long, value_name = "SECONDS")]
    report_waits: Option<f64>,

    /// Let the other ranks continue when a rank fails, for programs that survive deaths of ranks
    /// (Options::detect_deaths)
    #[arg(long)]
    survive: bool,

    /// Print the output of the ranks without their numbers
    #[arg(long)]
    no_prefix: bool,

    /// Write cycles and traffic digest of the run to this file, as JSON; for simulated boards
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,

    /// Write the last commands of each rank (commands.txt) and the last packets of each board
    /// (packets.txt) to this folder; for simulated boards
    #[arg(long, value_name = "FOLDER")]
    record: Option<PathBuf>,

    /// Minimum limit of a wait in cycles, before the library ends the wait; for simulated boards
    #[arg(long, value_name = "CYCLES")]
    watchdog: Option<u64>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

impl Args {
    /// Whether an option requires simulated boards.
    fn is_for_simulation(&self) -> bool {
        self.stats.is_some() || self.watchdog.is_some() || self.record.is_some()
    }
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
        Some((XdmaBackend::SCHEME, _)) if !args.is_for_simulation() => on_a_card(args, &uri),
        Some((ClusterBackend::SCHEME, rest)) if !args.is_for_simulation() => {
            on_cards(args, &uri, rest)
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
    let uri = format!("{}:{rest}", CosimBackend::SCHEME);
    let opened = match &args.record {
        Some(folder) => &*with_packets(&uri, folder)?,
        None => rest,
    };
    let cluster = build::backend()
        .open_sim(opened)
        .map_err(|error| error.on(&uri))?;
    let boards = cluster.cluster()?;
    let (boards, recorder) = match args.record {
        Some(_) => {
            let (boards, recorder) = Recorder::over(&boards)?;
            (boards, Some(recorder))
        }
        None => (boards, None),
    };
    let ranks = args.ranks.map_or_else(|| boards.ranks(), Ok)?;
    let links = boards.clone();
    let (sender, receiver) = children::event_channel();
    let of_server = sender.clone();
    let watch = move |event| of_server.send(event);
    let server = Server::start_over(cluster, boards, ranks, Runs::One, None, watch)?;
    let start = Start {
        program: &args.program,
        cluster: &server.uri(),
        ranks,
        prefix: !args.no_prefix,
        survives: args.survive,
        report_waits: args.report_waits,
    };
    let ended = Children::start(&start, sender, receiver)?.wait(|rank| server.ended(rank));
    let has_failed = ended.exit() != Exit::Passed;
    for link in links.links()? {
        // A link that is not open yet is no trouble for ranks that have all they wanted.
        if has_failed && link.trouble().is_some() || link.counts != LinkCounts::default() {
            eprintln!("{link}");
        }
    }
    if let (Some(folder), Some(recorder)) = (&args.record, &recorder) {
        let file = folder.join(COMMANDS);
        fs::write(&file, recorder.commands()).map_err(Error::write(&file))?;
    }
    if let Some(file) = &args.stats {
        let (cycles, digest) = alcor_test::traffic(server.cluster());
        // A run without ranks has no waves.
        let recorder = recorder.as_ref().filter(|recorder| !recorder.is_empty());
        let resets = recorder.map(Recorder::resets);
        let text = serde_json::json!({ "ranks": ranks, "cycles": cycles, "digest": digest, "resets": resets });
        fs::write(file, format!("{text}\n")).map_err(Error::write(file))?;
    }
    Ok(ended.exit())
}

/// Creates the folder for records. Returns the URI without scheme, with a packet log in the folder
/// unless the URI has options of a log.
fn with_packets(uri: &str, folder: &Path) -> Result<String, Error> {
    fs::create_dir_all(folder).map_err(Error::write(folder))?;
    let logged = uri::with_packets(uri, &folder.join(PACKETS));
    let uri = logged.as_deref().unwrap_or(uri);
    Ok(uri
        .trim_start_matches(&format!("{}:", CosimBackend::SCHEME))
        .to_owned())
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
        survives: args.survive,
        report_waits: args.report_waits,
    };
    let (sender, receiver) = children::event_channel();
    let ended = Children::start(&start, sender, receiver)?.wait(|_| {});
    Ok(ended.exit())
}

/// Runs the program against a cluster of cards of this host. Each process opens the card of its
/// rank, and the processes prepare the cards together.
fn on_cards(args: &Args, uri: &str, rest: &str) -> CommandResult {
    let of_farm = |error: FarmError| {
        Error::Board(alcor::Error::Board {
            board: uri.to_owned(),
            source: Box::new(error),
        })
    };
    let farm = Farm::read(&farm::path(None)).map_err(of_farm)?;
    let name = rest.split('?').next().unwrap_or(rest);
    let cluster = farm.cluster(name).map_err(of_farm)?;
    let here = farm::here()?;
    for name in &cluster.boards {
        farm.board_on(name, &here).map_err(of_farm)?;
    }
    let start = Start {
        program: &args.program,
        cluster: uri,
        ranks: args
            .ranks
            .unwrap_or(cluster.ranks * cluster.boards.len() as u32),
        prefix: !args.no_prefix,
        survives: args.survive,
        report_waits: args.report_waits,
    };
    let (sender, receiver) = children::event_channel();
    let ended = Children::start(&start, sender, receiver)?.wait(|_| {});
    Ok(ended.exit())
}

/// The environment variables of a rank's process.
fn variables(start: &Start, rank: u32) -> Vec<(&'static str, String)> {
    let mut variables = vec![
        (Launch::RUN, format!("alcor-run-{}", std::process::id())),
        (Launch::CLUSTER, start.cluster.to_owned()),
        (Launch::RANK, rank.to_string()),
        (Launch::SIZE, start.ranks.to_string()),
    ];
    if let Some(seconds) = start.report_waits {
        variables.push((Launch::REPORT_WAITS, seconds.to_string()));
    }
    variables
}
