//! The watchdog: a wait in vain ends, and says who waits for what. Its patience is short here: too short for
//! host code that takes time.

use alcor::{Awaited, Error, GlobalRank, JobError, NodeAddr, Options, Rank, Rights};
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
        rank.register_range(base, Some(64), Rights::ALL).map(drop)
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
        ..
    } = error
    else {
        return Err(Failure::new("the run", "Error::Watchdog", message));
    };
    same("what the watchdog says was awaited", awaited, found)?;
    let (least, most) = (PATIENCE, 2 * PATIENCE);
    holds(
        "how long the watchdog waited",
        format_args!("{least} to {most} cycles"),
        (least..=most).contains(&cycles),
        cycles,
    )?;
    let missing = format!("{absent} has not come");
    let has_words = message.contains(&missing);
    holds("what the watchdog says", missing, has_words, &message)?;
    context.run(|rank| Ok(rank.barrier()?))?;
    Ok(())
}
