//! cargo run                                        ranks as threads, on a simulated board
//! alcor run --config ring4 -- target/debug/{{name}}    a process a rank, on four boards in a ring

use alcor::{Backends, Job, Launch, Options};
use alcor_cosim::CosimBackend;
use alcor_shm::ShmBackend;
use {{crate}}::sum_of_squares;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let backends = Backends::new().with(ShmBackend).with(CosimBackend::new());
    if std::env::var_os(Launch::CLUSTER).is_some() {
        let mut rank = Job::from_env(&backends, Options::default())?;
        let sum = sum_of_squares(&mut rank)?;
        println!("rank {} of {}: {sum}", rank.pid().0, rank.nprocs());
        return Ok(rank.finish()?);
    }
    let job = Job::new(backends.open("cosim:rma4")?)?;
    for (rank, sum) in job.run(job.ranks(), sum_of_squares)?.iter().enumerate() {
        println!("rank {rank} of {}: {sum}", job.ranks());
    }
    Ok(())
}
