//! Runs that end badly, for tests of what is said of them: as one process a rank, or as threads of one process.
//!
//! ```sh
//! alcor run --config rma2 -- target/release/examples/ends receive
//! target/release/examples/ends receive cosim:rma2
//! ```

use std::thread::sleep;
use std::time::Duration;

use alcor::{Backends, Error, GlobalRank, Job, Operation, Options, Rank, Result, Rights};
use alcor_cosim::CosimBackend;
use alcor_shm::ShmBackend;

fn program(rank: &mut Rank, mode: &str) -> Result<()> {
    let (me, size) = (rank.pid().0, rank.nprocs());
    let next = GlobalRank((me + 1) % size);
    rank.barrier()?;
    match mode {
        // Each receives from the next one.
        "receive" => rank.recv(next, 7, &mut [0u8; 4]).map(drop),
        "receive-and-barrier" if me == 0 => rank.recv(next, 7, &mut [0u8; 4]).map(drop),
        "receive-and-barrier" => rank.barrier(),
        // One rank's program ends as if all were well.
        "early" if me == 1 => std::process::exit(0),
        // One rank does something else for a while, and the others are content.
        "sleep" if me == 1 => {
            sleep(Duration::from_secs(20));
            Ok(())
        }
        "sleep" => match rank.barrier() {
            Err(error @ Error::RankAway { .. }) => {
                eprintln!("rank {me}: {error}");
                std::process::exit(0);
            }
            other => other,
        },
        "nap" if me == 1 => {
            sleep(Duration::from_secs(8));
            Ok(())
        }
        // One rank computes for as long as all others wait.
        "compute" if me == 0 => {
            sleep(Duration::from_secs(2));
            rank.barrier()
        }
        // The last rank gives another count.
        "differ" => {
            let mut values = vec![1.0f64; if me + 1 == size { 5 } else { 4 }];
            let world = rank.world()?;
            world
                .allreduce_in_place(rank, Operation::Sum, &mut values)
                .map(drop)
        }
        // The last rank registers a window, and the others are at a barrier.
        "mismatch" if me + 1 == size => {
            let memory = rank.alloc::<u8>(64)?;
            rank.register(&memory, Rights::ALL).map(drop)
        }
        // One rank moves data for longer than a wait may last.
        "puts" => {
            let memory = rank.alloc::<u8>(1 << 16)?;
            let window = rank.register(&memory, Rights::ALL)?;
            if me == 0 {
                for _ in 0..8 {
                    rank.put(&window, next, 0, &memory)?;
                }
            }
            rank.barrier()
        }
        // Process 1 is killed in a collective. The others shrink the world, and add up.
        "survive" => {
            let world = rank.world()?;
            let mut sum = [me];
            let mut done = Ok(());
            for round in 0.. {
                if me == 1 && round == 20 {
                    drop(world.iallreduce_in_place(rank, Operation::Sum, &mut sum)?);
                    // The request above is under way.
                    die();
                }
                sum = [me];
                done = world
                    .allreduce_in_place(rank, Operation::Sum, &mut sum)
                    .map(drop);
                if done.is_err() {
                    break;
                }
            }
            println!("rank {me}: {}", done.unwrap_err());
            let survivors = world.shrink(rank)?;
            survivors.allreduce_in_place(rank, Operation::Sum, &mut sum)?;
            println!("rank {me} goes on with {} ranks", survivors.size());
            Ok(())
        }
        _ => rank.barrier(),
    }
}

/// Ends this process as a signal from outside does.
fn die() -> ! {
    let _ = std::process::Command::new("kill")
        .args(["-9", &std::process::id().to_string()])
        .status();
    unreachable!("the process has been killed")
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().unwrap_or_default();
    let backends = Backends::new().with(ShmBackend).with(CosimBackend::new());
    let options = match &*mode {
        "puts" => Options::default().watchdog_cycles(50_000),
        "receive-and-barrier" => Options::default().watchdog_cycles(u64::MAX),
        "survive" => Options::default().detect_deaths(2_000),
        _ => Options::default(),
    };
    if let Some(uri) = arguments.next() {
        let job = Job::with_options(backends.open(&uri)?, options)?;
        job.run(job.ranks(), |rank| program(rank, &mode))?;
        return Ok(());
    }
    let mut rank = Job::from_env(&backends, options)?;
    program(&mut rank, &mode)?;
    rank.finish()?;
    Ok(())
}
