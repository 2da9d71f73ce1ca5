//! Each rank puts to its neighbour, sends to the other one, and all add up: as one process a rank, or as threads of one process.
//!
//! ```sh
//! alcor run --config ring4 -- target/release/examples/exchange 20
//! target/release/examples/exchange 20 cosim:ring4
//! ```
//! Both print the same cycles.

use alcor::{Backends, Error, GlobalRank, Job, Operation, Options, Rank, Result, Rights};
use alcor_cosim::CosimBackend;
use alcor_farm::ClusterBackend;
use alcor_shm::ShmBackend;
use alcor_xdma::XdmaBackend;

fn exchange(rank: &mut Rank, rounds: u32) -> Result<String> {
    let (me, size) = (rank.pid().0, rank.nprocs());
    let (right, left) = ((me + 1) % size, (me + size - 1) % size);
    let inbox = rank.alloc::<u32>(64)?;
    let window = rank.register(&inbox, Rights::ALL)?;
    let world = rank.world()?;
    for round in 0..rounds {
        rank.put(&window, GlobalRank(right), 0, &[me + round; 64])?;
        rank.fence()?;
        check("put", &rank.read_vec(&inbox)?, left + round)?;
        let message = rank.alloc_from(&[me ^ round; 16])?;
        let mut heard = rank.alloc::<u32>(16)?;
        let receive = rank.irecv(GlobalRank(right), 7, &mut heard)?;
        let send = rank.isend(GlobalRank(left), 7, &message)?;
        rank.wait_all([receive, send])?;
        check("message", &rank.read_vec(&heard)?, right ^ round)?;
        let mut sum = [0];
        world.allreduce(rank, Operation::Sum, &[me + round], &mut sum)?;
        check("sum", &sum, size * (size - 1) / 2 + size * round)?;
    }
    rank.barrier()?;
    Ok(format!(
        "rank {me} of {size}: {rounds} rounds, cycle {}",
        rank.now()?.0
    ))
}

fn check(what: &str, found: &[u32], expected: u32) -> Result<()> {
    match found.iter().find(|&&value| value != expected) {
        None => Ok(()),
        Some(wrong) => Err(Error::program(format!(
            "{what}: {wrong} in place of {expected}"
        ))),
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let backends = Backends::new()
        .with(ShmBackend)
        .with(XdmaBackend::new())
        .with(ClusterBackend::new())
        .with(CosimBackend::new());
    if let Some(uri) = arguments.next() {
        let job = Job::new(backends.open(&uri)?)?;
        let lines = job.run(job.ranks(), |rank| exchange(rank, rounds))?;
        lines.iter().for_each(|line| println!("{line}"));
        return Ok(());
    }
    let mut rank = Job::from_env(&backends, Options::default())?;
    println!("{}", exchange(&mut rank, rounds)?);
    rank.finish()?;
    Ok(())
}
