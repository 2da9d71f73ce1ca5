//! The watchdog: a wait in vain ends, and says who waits for what. Its patience is short here: too short for
//! host code that takes time.

use alcor::{Awaited, Error, GlobalRank, JobError, NodeAddr, Operation, Options, Rank, Rights};
use alcor_test::{Context, Failure, Result, alcor_test, holds, same};

use super::registration::idle;

/// Cycles that a wait may last in these tests.
const PATIENCE: u64 = 5000;

/// In a barrier to which one rank does not come.
#[alcor_test(ranks >= 2, steady)]
fn barrier(context: &Context) -> Result {
    in_vain(context, Awaited::Barrier, |rank| rank.barrier())
}

/// In a registration to which one rank does not come.
#[alcor_test(ranks >= 2, steady)]
fn registration(context: &Context) -> Result {
    let base = NodeAddr(8192);
    in_vain(context, Awaited::Registration { base }, |rank| {
        rank.lab().register_range(base, Some(64), Rights::ALL).map(drop)
    })
}

/// A wait that is long, but not too long, ends well.
#[alcor_test(ranks >= 2, steady)]
fn patience(context: &Context) -> Result {
    let options = Options::default().watchdog_cycles(PATIENCE);
    context.run_with(options, context.ranks(), |rank| {
        for late in (0..rank.nprocs()).map(GlobalRank) {
            if rank.pid() == late {
                // What is left is for the barrier, which takes a thousand cycles and more
                // where boards are far apart.
                idle(rank, PATIENCE / 2)?;
            }
            rank.barrier()?;
        }
        Ok(())
    })?;
    Ok(())
}

/// The last rank does not come to what the others wait in.
fn in_vain(
    context: &Context,
    awaited: Awaited,
    wait: impl Fn(&mut Rank) -> alcor::Result<()> + Sync,
) -> Result {
    let absent = GlobalRank(context.ranks() - 1);
    let options = Options::default().watchdog_cycles(PATIENCE);
    let ended = context.attempt(options, context.ranks(), |rank| {
        rank.barrier()?;
        if rank.pid() == absent {
            // By then the others have given up.
            idle(rank, 4 * PATIENCE)?;
            return Ok(rank.barrier()?);
        }
        Ok(wait(rank)?)
    });
    let error = match ended {
        Err(JobError::Failed { source, .. }) => source,
        Err(error) => return Err(Failure::from(error)),
        Ok(_) => return Err(Failure::new("the run", "Error::Watchdog", "success")),
    };
    let message = error.to_string();
    let Error::Watchdog {
        awaited: found,
        cycles,
        still,
        ..
    } = error
    else {
        return Err(Failure::new("the run", "Error::Watchdog", message));
    };
    same("what the watchdog says was awaited", awaited, found)?;
    ends_in_time(PATIENCE, cycles, still)?;
    let missing = format!("{absent} has not arrived");
    let has_words = message.contains(&missing);
    holds("what the watchdog says", missing, has_words, &message)?;
    context.run(|rank| Ok(rank.barrier()?))?;
    Ok(())
}

/// The watchdog's limit, `patience`, begins anew when a packet of the run moves. A wait in vain ends within twice the
/// limit, and within a quarter of it once the limit has passed without a packet.
pub(super) fn ends_in_time(patience: u64, cycles: u64, still: u64) -> Result {
    for (what, most, found) in [
        ("duration of the wait", 2 * patience, cycles),
        ("time without a packet at its end", patience + patience / 4, still),
    ] {
        let is_held = (patience..=most).contains(&found);
        holds(what, format_args!("{patience} to {most} cycles"), is_held, found)?;
    }
    Ok(())
}

/// Cycles after which a run in which no rank can go on has to have been told, with room for barriers
/// ahead of it.
const AT_ONCE: u64 = 50_000;

/// Every rank receives from the next one: the ring is told at once, and whole.
#[alcor_test(ranks >= 2, needs = [Messages], steady)]
fn receives_in_a_ring(context: &Context) -> Result {
    let size = context.ranks();
    let ring: Vec<String> = (0..=size).map(|rank| format!("rank {}", rank % size)).collect();
    let error = stuck(context, |rank| {
        let next = GlobalRank((rank.pid().0 + 1) % size);
        Ok(rank.recv(next, 3, &mut [0u8; 4]).map(drop)?)
    })?;
    told(context, &error, size, &[&ring.join(" -> "), "receive of 4 bytes from rank 1, tag 3"])
}

/// One rank receives, and the others are in a barrier: each waits for the other.
#[alcor_test(ranks >= 2, needs = [Messages], steady)]
fn receive_against_barrier(context: &Context) -> Result {
    let error = stuck(context, |rank| match rank.pid().0 {
        0 => Ok(rank.recv(GlobalRank(1), 3, &mut [0u8; 4]).map(drop)?),
        _ => Ok(rank.barrier()?),
    })?;
    let size = context.ranks();
    told(context, &error, size, &["rank 0 -> rank 1 -> rank 0", "rank 1 waits for BARRIER"])
}

/// One rank is in a collective, in hardware or in software, and the others receive from it.
#[alcor_test(ranks >= 2, needs = [Messages], steady)]
fn collective_against_receive(context: &Context) -> Result {
    let error = stuck(context, |rank| {
        let world = rank.world()?;
        match rank.pid().0 {
            0 => Ok(world.allreduce(rank, Operation::Sum, &[1u32], &mut [0]).map(drop)?),
            _ => Ok(rank.recv(GlobalRank(0), 3, &mut [0u8; 4]).map(drop)?),
        }
    })?;
    let size = context.ranks();
    told(context, &error, size, &["rank 0 -> rank 1 -> rank 0", "allreduce"])
}

/// The others wait for a rank that has left the run.
#[alcor_test(ranks >= 2, steady)]
fn barrier_without_one_that_left(context: &Context) -> Result {
    let last = context.ranks() - 1;
    let error = stuck(context, |rank| match rank.pid().0 {
        pid if pid == last => Ok(()),
        _ => Ok(rank.barrier()?),
    })?;
    let left = format!("rank {last} has left the run");
    told(context, &error, last, &[&left])
}

/// Ranks that wait for a long time are not accused: one passes time, others wait for it in turn.
#[alcor_test(ranks >= 2, needs = [Messages], steady)]
fn patience_with_one_that_passes_time(context: &Context) -> Result {
    context.run(|rank| {
        let (me, size) = (rank.pid().0, rank.nprocs());
        for late in 0..size {
            if me == late {
                idle(rank, 3 * AT_ONCE)?;
                rank.send(GlobalRank((me + 1) % size), 3, &[me])?;
            }
            if me == (late + 1) % size {
                rank.recv(GlobalRank(late), 3, &mut [0u32])?;
            }
            rank.barrier()?;
        }
        Ok(())
    })?;
    Ok(())
}

/// A wait goes on for as long as another rank moves data, where the backend sees that.
#[alcor_test(ranks >= 2, steady)]
fn patience_with_one_that_moves_data(context: &Context) -> Result {
    if !sees_the_run(context)? {
        return Ok(());
    }
    const BYTES: usize = 4096;
    let options = Options::default().watchdog_cycles(PATIENCE);
    let cycles = context.run_with(options, context.ranks(), |rank| {
        let memory = rank.alloc::<u8>(BYTES)?;
        let window = rank.register(&memory, Rights::ALL)?;
        let began = rank.now()?.0;
        if rank.pid() == GlobalRank(0) {
            while rank.now()?.0 < began + 3 * PATIENCE {
                rank.put(&window, GlobalRank(1), 0, &memory)?;
            }
        }
        rank.barrier()?;
        Ok(rank.now()?.0 - began)
    })?;
    let least = 3 * PATIENCE;
    for cycles in cycles {
        holds("how long a rank waited", format_args!("{least}"), cycles >= least, cycles)?;
    }
    Ok(())
}

/// Whether the backend knows what all ranks wait for.
fn sees_the_run(context: &Context) -> Result<bool> {
    let seen = context.run(|rank| Ok(rank.lab().port().run_view().is_some()))?;
    Ok(seen.into_iter().all(|sees| sees))
}

/// The error of a run that can't end.
fn stuck(context: &Context, program: impl Fn(&mut Rank) -> Result<()> + Sync) -> Result<Error> {
    // Where the backend does not see that no rank can go on, the watchdog ends the waits.
    let patience = if sees_the_run(context)? { 100 * AT_ONCE } else { PATIENCE };
    let options = Options::default().watchdog_cycles(patience);
    match context.attempt(options, context.ranks(), |rank| {
        rank.barrier()?;
        program(rank)
    }) {
        Err(JobError::Failed { source, .. }) => Ok(source),
        Err(error) => Err(Failure::from(error)),
        Ok(_) => Err(Failure::new("the run", "Error::Deadlock", "success")),
    }
}

/// Checks what was told of a run in which no rank can go on.
fn told(context: &Context, error: &Error, waiting: u32, words: &[&str]) -> Result {
    let message = error.to_string();
    if !sees_the_run(context)? {
        let is_watchdog = matches!(error, Error::Watchdog { .. });
        return holds("the run's error", "Error::Watchdog", is_watchdog, message);
    }
    let Error::Deadlock { at, waits, .. } = error else {
        return Err(Failure::new("the run", "Error::Deadlock", message));
    };
    same("ranks that wait", waiting as usize, waits.len())?;
    let limit = format_args!("up to {AT_ONCE} cycles");
    holds("when it was told", limit, at.0 <= AT_ONCE, at)?;
    for words in words {
        holds("what is said", words, message.contains(words), &message)?;
    }
    Ok(())
}
