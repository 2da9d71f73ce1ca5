//! Each rank puts its number into the memory of the next rank. The first argument names the boards.

use alcor::{Backends, Job, Rights};
use alcor_cosim::CosimBackend;
use alcor_farm::ClusterBackend;
use alcor_xdma::XdmaBackend;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let boards = std::env::args().nth(1).unwrap_or("cosim:ring2".into());
    let backends = Backends::new()
        .with(CosimBackend::new())
        .with(XdmaBackend::new())
        .with(ClusterBackend::new());
    let job = Job::new(backends.open(&boards)?)?;
    let received = job.run(job.ranks(), |rank| {
        let inbox = rank.alloc::<u32>(1)?;
        let window = rank.register(&inbox, Rights::ALL)?;
        rank.put(&window, rank.neighbour(1), 0, &[rank.pid().0])?;
        rank.fence()?;
        Ok(rank.read_vec(&inbox)?[0])
    })?;
    println!("{boards}: received {received:?}");
    let ranks = job.ranks();
    let expected: Vec<u32> = (0..ranks).map(|rank| (rank + ranks - 1) % ranks).collect();
    assert_eq!(received, expected);
    Ok(())
}
