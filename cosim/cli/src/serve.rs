//! `alcor serve`: a simulated cluster that stays, for programs that are started by other means.

use std::io::{self, Write};
use std::thread;

use alcor::Launch;
use alcor_cosim::CosimBackend;
use alcor_serve::{Runs, Server};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::build;
use crate::exit::{Ended, Error, Exit};

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
    #[arg(long, value_name = "NAME", default_value = "rma4")]
    config: String,

    /// Number of ranks of a run [default: all ranks of the boards]
    #[arg(short = 'n', long, value_name = "RANKS")]
    ranks: Option<u32>,

    /// Name of the cluster [default: a unique name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// End when standard input ends
    #[arg(long, hide = true)]
    attended: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Ended {
    if args.attended {
        // Whoever started this process holds the other end, and closes it by ending, in whatever
        // way.
        thread::spawn(|| {
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            signal_hook::low_level::exit(0);
        });
    }
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(Error::Signals)?;
    let cluster = build::backend()
        .open_sim(&args.config)
        .map_err(|error| error.on(&format!("{}:{}", CosimBackend::SCHEME, args.config)))?;
    let ranks = args.ranks.map_or_else(|| cluster.cluster()?.ranks(), Ok)?;
    let boards = cluster.boards().len();
    let server = Server::start(cluster, ranks, Runs::Many, args.name.clone(), |event| {
        eprintln!("{event}");
    })?;
    let (uri, size) = (server.uri(), server.ranks());
    let says = format!(
        "{}, {boards} boards, {size} ranks: {uri}\n\
         export {}={uri} {}={size}\n\
         {}=0 PROGRAM    # and so on, up to {}\n",
        args.config,
        Launch::CLUSTER,
        Launch::SIZE,
        Launch::RANK,
        size - 1
    );
    // At once and as a whole: whoever waits for it may read it through a pipe.
    let mut out = io::stdout().lock();
    out.write_all(says.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Error::write("standard output"))?;
    drop(out);
    signals.forever().next();
    Ok(Exit::Passed)
}
