//! `alcor serve`: keeps a simulated cluster running, for programs that are started by other means.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use alcor::Launch;
use alcor_cosim::CosimBackend;
use alcor_serve::{Event, Runs, Server};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::bench::with_option;
use crate::build;
use crate::exit::{CommandResult, Error, Exit};

/// Simulate a cluster for programs that are started by hand, by a debugger or by an MPI launcher
///
/// The command prints the environment variables that a program needs. A program finds its rank in
/// ALCOR_RANK and ALCOR_SIZE, or under an MPI launcher or Slurm in PMI_RANK, OMPI_COMM_WORLD_RANK,
/// PMIX_RANK or SLURM_PROCID. Simulated time begins when all ranks have attached. When all ranks
/// have left, the next rank that attaches begins the next run. Commands with --backend can use the
/// cluster too, by the printed URI.
///
/// While a debugger holds a rank, time stands still for all ranks, and after 60 seconds their waits
/// end with an error. A longer time is set by, for example, --config 'rma4?away=86400'.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The cluster: a configuration of hw/core/configs.toml, with options as after cosim:
    #[arg(long, value_name = "NAME", default_value = "rma4", value_parser = crate::build::config)]
    config: String,

    /// Number of ranks of a run [default: all ranks of the boards]
    #[arg(short = 'n', long, value_name = "RANKS")]
    ranks: Option<u32>,

    /// Name of the cluster [default: a unique name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Seconds that ranks wait for ranks that have not attached [default: no limit]
    #[arg(long, value_name = "SECONDS")]
    patience: Option<f64>,

    /// End when standard input ends
    #[arg(long, hide = true)]
    attended: bool,
}

/// Limit in seconds for ranks that are started by hand.
const FOR_EVER: &str = "1e9";

/// Time until the missing ranks are printed: first and longest pause.
const PAUSES: Range<Duration> = Duration::from_secs(5)..Duration::from_secs(60);

/// The ranks of the present run.
#[derive(Debug, Default)]
struct Attendance {
    /// Ranks that have attached.
    ever: BTreeSet<u32>,
    /// Ranks that are attached.
    here: BTreeSet<u32>,
}

impl Attendance {
    fn saw(&mut self, event: Event) {
        match event {
            Event::Attached(rank) => {
                self.ever.insert(rank.0);
                self.here.insert(rank.0);
            }
            Event::Left(rank) | Event::Died(rank) => {
                self.here.remove(&rank.0);
            }
            _ => {}
        }
        if self.here.is_empty() {
            self.ever.clear();
        }
    }

    /// Returns the missing ranks, if other ranks wait for them.
    fn missing(&self, ranks: u32) -> Option<String> {
        let missing = (0..ranks).filter(|rank| !self.ever.contains(rank));
        let missing: Vec<String> = missing.map(|rank| format!("rank {rank}")).collect();
        let is_waiting = !self.ever.is_empty() && !missing.is_empty();
        let (here, missing) = (self.ever.len(), missing.join(", "));
        is_waiting
            .then(|| format!("{here} of {ranks} ranks have attached; time begins with {missing}"))
    }
}

fn lock(attendance: &Mutex<Attendance>) -> MutexGuard<'_, Attendance> {
    attendance.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the command.
pub fn run(args: &Args) -> CommandResult {
    if args.attended {
        // The process that started this one holds the other end of the pipe, which closes when that
        // process ends.
        thread::spawn(|| {
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            signal_hook::low_level::exit(0);
        });
    }
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(Error::Signals)?;
    let config = match args.patience {
        Some(seconds) => with_option(&args.config, "attach", &seconds.to_string()),
        // The ranks of a command that started this process attach at once.
        None if args.attended || args.config.contains("attach=") => args.config.clone(),
        None => with_option(&args.config, "attach", FOR_EVER),
    };
    let cluster = build::backend()
        .open_sim(&config)
        .map_err(|error| error.on(&format!("{}:{}", CosimBackend::SCHEME, args.config)))?;
    let ranks = args.ranks.map_or_else(|| cluster.cluster()?.ranks(), Ok)?;
    let boards = cluster.boards().len();
    let attendance = Arc::new(Mutex::new(Attendance::default()));
    let watched = Arc::clone(&attendance);
    let server = Server::start(
        cluster,
        ranks,
        Runs::Many,
        args.name.clone(),
        move |event| {
            eprintln!("{event}");
            lock(&watched).saw(event);
        },
    )?;
    thread::spawn(move || {
        let mut pause = PAUSES.start;
        loop {
            thread::sleep(pause);
            let missing = lock(&attendance).missing(ranks);
            pause = match missing {
                None => PAUSES.start,
                Some(text) => {
                    eprintln!("{text}");
                    (2 * pause).min(PAUSES.end)
                }
            };
        }
    });
    let (uri, size) = (server.uri(), server.ranks());
    let says = format!(
        "{}, {}, {}: {uri}\n\
         export {}={uri} {}={size}\n\
         {}=0 PROGRAM    # and so on, up to {}\n",
        args.config,
        alcor_report::count(boards, "board"),
        alcor_report::count(size as usize, "rank"),
        Launch::CLUSTER,
        Launch::SIZE,
        Launch::RANK,
        size - 1
    );
    // The text is written in one piece and flushed, because the reader may be at the other end of a
    // pipe.
    let mut out = io::stdout().lock();
    out.write_all(says.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Error::write("standard output"))?;
    drop(out);
    signals.forever().next();
    Ok(Exit::Passed)
}

#[cfg(test)]
mod tests {
    use alcor::GlobalRank;

    use super::*;

    #[test]
    fn ranks_that_have_not_attached_are_named() {
        let mut present = Attendance::default();
        assert_eq!(present.missing(4), None, "nobody waits");
        for rank in [0, 2] {
            present.saw(Event::Attached(GlobalRank(rank)));
        }
        let says = "2 of 4 ranks have attached; time begins with rank 1, rank 3";
        assert_eq!(present.missing(4).as_deref(), Some(says));
        for rank in [1, 3] {
            present.saw(Event::Attached(GlobalRank(rank)));
        }
        assert_eq!(present.missing(4), None, "the run is under way");
        // A rank that has left is not missing. The next run begins without ranks.
        present.saw(Event::Left(GlobalRank(0)));
        assert_eq!(present.missing(4), None);
        for rank in [1, 2, 3] {
            present.saw(Event::Died(GlobalRank(rank)));
        }
        assert_eq!(present.missing(4), None);
        present.saw(Event::Attached(GlobalRank(1)));
        assert!(present.missing(4).is_some());
    }
}
