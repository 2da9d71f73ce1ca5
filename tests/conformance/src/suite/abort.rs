//! The end of a run by one rank: all others are told who and why, wherever they wait.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

use alcor::{
    AbortReason, Error, GlobalRank, JobError, Opcode, Operation, Options, Rank, RegisteredRange,
    Rights, Window,
};
use alcor_test::{Context, Failure, Result, after, alcor_test, fails, holds, same};

use super::credits::block;
use super::registration::idle;

/// The reason that programs give.
pub(super) const REASON: u8 = 0x2A;

/// The others wait in a barrier.
#[alcor_test(ranks >= 2)]
fn in_barrier(context: &Context) -> Result {
    each_ends(context, Cause::Abort, |rank, _| rank.barrier())
}

/// The others wait in a registration.
#[alcor_test(ranks >= 2)]
fn in_registration(context: &Context) -> Result {
    each_ends(context, Cause::Abort, |rank, _| {
        let memory = rank.alloc::<u8>(64)?;
        rank.register(&memory, Rights::ALL).map(drop)
    })
}

/// The others wait in a deregistration.
#[alcor_test(ranks >= 2)]
fn in_deregistration(context: &Context) -> Result {
    each_ends(context, Cause::Abort, |rank, window| {
        rank.lab().deregister_range(window.base()).map(drop)
    })
}

/// The others put blocks and flush, over and over.
#[alcor_test(ranks >= 2)]
fn in_flush(context: &Context) -> Result {
    each_ends(context, Cause::Abort, |rank, window| {
        let block = rank.alloc::<u8>(window.len())?;
        loop {
            let peer = after(rank, 1);
            drop(rank.iput(window, peer, 0, &block)?);
            rank.flush(peer)?;
        }
    })
}

/// The others wait in a collective.
#[alcor_test(ranks >= 2)]
fn in_collective(context: &Context) -> Result {
    each_ends_after(context, Cause::Abort, Rank::world, |rank, _, world| {
        let mut vector = rank.alloc::<f64>(20)?;
        world.allreduce_in_place(rank, Operation::Sum, &mut vector).map(drop)
    })
}

/// The others wait in a collective in software.
#[alcor_test(ranks >= 2)]
fn in_software_collective(context: &Context) -> Result {
    each_ends_after(context, Cause::Panic, Rank::world, |rank, _, world| {
        let mut vector = rank.alloc::<u8>(20)?;
        world.allreduce_in_place(rank, Operation::Sum, &mut vector).map(drop)
    })
}

/// The others are in the middle of collectives of two communicators, of which one goes on
/// without the one that aborts.
#[alcor_test(ranks >= 3)]
fn in_many_collectives(context: &Context) -> Result {
    let last = context.ranks() - 1;
    let prepare = |rank: &mut Rank| {
        let world = rank.world()?;
        let ends = rank.pid().0 == 0 || rank.pid().0 == last;
        let part = world.split(rank, Some(u32::from(ends)), 0)?;
        Ok((world, part))
    };
    each_ends_after(context, Cause::Error, prepare, |rank, _, (world, part)| {
        let (mut all, mut some) = (rank.alloc::<f64>(900)?, rank.alloc::<u32>(900)?);
        drop(world.iallreduce_in_place(rank, Operation::Sum, &mut all)?);
        loop {
            if let Some(part) = part {
                part.allreduce_in_place(rank, Operation::Max, &mut some)?;
            }
            // Who is alone in its part would not see the end otherwise.
            rank.flush(after(rank, 1))?;
        }
    })
}

/// The others wait for room in the command queue.
#[alcor_test(ranks >= 2)]
fn in_credits(context: &Context) -> Result {
    each_ends(context, Cause::Abort, |rank, _| {
        // The one that aborts does not come to this barrier.
        block(rank)?;
        loop {
            rank.lab().command(Opcode::XOffset, 0)?;
        }
    })
}

/// The others wait for one request, and ask for another without waiting.
#[alcor_test(ranks >= 2)]
fn in_wait_and_test(context: &Context) -> Result {
    each_ends(context, Cause::Abort, |rank, window| {
        let block = rank.alloc::<u8>(window.len())?;
        loop {
            let (first, second) = (after(rank, 1), after(rank, 0));
            let waited = rank.iget(window, first, 0, block.clone())?;
            let mut tested = rank.iput(window, second, 0, &block)?;
            rank.wait(waited)?;
            while !rank.test(&mut tested)? {}
        }
    })
}

/// A rank's program returns an error.
#[alcor_test(ranks >= 2)]
fn by_an_error(context: &Context) -> Result {
    each_ends(context, Cause::Error, |rank, _| rank.barrier())
}

/// A rank's program panics, in the middle of transfers.
#[alcor_test(ranks >= 2)]
fn by_a_panic(context: &Context) -> Result {
    each_ends(context, Cause::Panic, |rank, window| {
        let block = rank.alloc::<u8>(window.len())?;
        loop {
            drop(rank.iput(window, after(rank, 1), 0, &block)?);
            rank.fence()?;
        }
    })
}

/// A rank is gone without a word: the others are told, in whatever call they wait.
#[alcor_test(ranks >= 2)]
fn by_a_death(context: &Context) -> Result {
    for victim in [0, context.ranks() - 1] {
        one_dies(context, victim, |rank| {
            Ok(live_or_die(context, rank, victim)?)
        })?;
        works_again(context)?;
    }
    Ok(())
}

/// Runs `program` on all ranks; all but the victim have to learn of its death.
pub(super) fn one_dies(
    context: &Context,
    victim: u32,
    program: impl Fn(u32) -> Result + Sync,
) -> Result {
    context.cluster().prepare(context.ranks())?;
    let ended: Vec<_> = thread::scope(|scope| {
        let program = &program;
        let ranks: Vec<_> = (0..context.ranks())
            .map(|rank| scope.spawn(move || program(rank)))
            .collect();
        ranks.into_iter().map(|rank| rank.join()).collect()
    });
    let expected = format!("Aborted by rank {victim}, which was dropped");
    let is_expected = |error: &Error| {
        matches!(error, Error::Aborted { by, reason, .. }
            if (by.0, *reason) == (victim, AbortReason::DROPPED))
    };
    for (rank, ended) in (0..).map(GlobalRank).zip(ended) {
        match ended {
            Err(panic) => resume_unwind(panic),
            Ok(Ok(())) if rank.0 == victim => {}
            Ok(Ok(())) => fails(rank, &expected, is_expected, Ok(()))?,
            Ok(Err(Failure::Library { source, .. })) => {
                fails(rank, &expected, is_expected, Err::<(), _>(source))?;
            }
            Ok(Err(failure)) => return Err(failure),
        }
    }
    Ok(())
}

/// Of two ranks that abort, one is told to all: on one board, the same to each.
#[alcor_test(ranks >= 3)]
fn by_two(context: &Context) -> Result {
    let told = Told::default();
    let ended = context.attempt(Options::default(), context.ranks(), |rank| {
        // Where boards are far apart, one of them may still be in the first barrier.
        let result = rank.barrier().and_then(|()| {
            if rank.pid().0 < 2 {
                rank.abort(REASON + rank.pid().0 as u8)?;
            }
            rank.barrier()
        });
        told.note(rank.pid(), result.as_ref().err());
        Ok(result?)
    });
    let first = match &ended {
        Err(JobError::Failed {
            rank,
            source: Error::Aborted { .. },
            ..
        }) => *rank,
        Err(error) => return Err(Failure::new("the run", "Error::Aborted", error)),
        Ok(_) => return Err(Failure::new("the run", "Error::Aborted", "success")),
    };
    holds("who aborted first", "rank 0 or rank 1", first.0 < 2, first)?;
    for (rank, found) in told.sorted().into_iter().filter(|(rank, _)| rank.0 >= 2) {
        // On boards of their own both can be first, each on its own and for those nearby.
        let by = match found {
            Some((by, _)) if context.info().ranks == 1 && context.cluster().boards().len() > 1 => by,
            _ => first,
        };
        holds(
            format_args!("{rank}: who it was told has aborted"),
            "rank 0 or rank 1",
            by.0 < 2,
            by,
        )?;
        let expected = Some((by, AbortReason(REASON + by.0 as u8)));
        same(format_args!("{rank}: what it was told"), expected, found)?;
    }
    same(
        "ranks that were told",
        context.ranks() as usize,
        told.sorted().len(),
    )?;
    works_again(context)
}

/// After an abort, every call of every rank fails with it, those that need no wait included.
#[alcor_test(ranks >= 2)]
fn is_final(context: &Context) -> Result {
    let ended = context.attempt(Options::default(), context.ranks(), |rank| {
        let mut memory = rank.alloc::<u8>(8)?;
        let window = rank.register(&memory, Rights::ALL)?;
        if rank.pid() == GlobalRank(1) {
            rank.abort(REASON)?;
        }
        let me = rank.pid();
        let first = rank.barrier();
        for (call, result) in [
            ("barrier", first),
            ("barrier again", rank.barrier()),
            ("put", rank.put(&window, me, 0, &memory)),
            ("iget", rank.iget(&window, me, 0, &mut memory).map(drop)),
            ("register", rank.register(&memory, Rights::ALL).map(drop)),
            ("flush", rank.flush_all()),
            ("fence", rank.fence()),
        ] {
            let found = result.as_ref().err().and_then(aborted);
            let expected = Some((GlobalRank(1), AbortReason(REASON)));
            same(
                format_args!("{me}: {call} after the abort"),
                expected,
                found,
            )?;
        }
        Ok(())
    });
    ended_by(ended, GlobalRank(1), Cause::Abort)?;
    works_again(context)
}

/// Abort after abort, with all kinds of traffic under way: the board works again each time.
#[alcor_test(ranks >= 2)]
fn again_and_again(context: &Context) -> Result {
    let rounds = context.scale(8, 80);
    for round in 0..rounds {
        let culprit = GlobalRank(round % context.ranks());
        let ended = context.attempt(Options::default(), context.ranks(), |rank| {
            let memory = rank.alloc::<u8>(3000)?;
            let window = rank.register(&memory, Rights::ALL)?;
            let mut local = rank.alloc::<u8>(3000)?;
            for turn in 0u32.. {
                if rank.pid() == culprit && turn == 3 + round % 5 {
                    rank.abort(REASON)?;
                }
                drop(rank.iput(&window, after(rank, turn), 0, &local)?);
                drop(rank.iget(&window, after(rank, turn + 1), 0, &mut local)?);
                if turn % 3 == 0 {
                    rank.barrier()?;
                }
            }
            Ok(())
        });
        ended_by(ended, culprit, Cause::Abort)?;
    }
    works_again(context)
}

/// Begins a run as `rank`; the victim is gone then, the others wait for it.
fn live_or_die(context: &Context, rank: u32, victim: u32) -> alcor::Result<()> {
    let (board, local) = context.place(rank);
    let options = context.options();
    let mut it = Rank::attach(board, local, GlobalRank(rank), context.ranks(), &options)?;
    if rank == victim {
        drop(it);
        return Ok(());
    }
    it.barrier()
}

/// How a rank ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    Abort,
    Error,
    Panic,
}

impl Cause {
    fn reason(self) -> AbortReason {
        match self {
            Cause::Abort => AbortReason(REASON),
            Cause::Error => AbortReason::FAILED,
            Cause::Panic => AbortReason::PANICKED,
        }
    }
}

/// What the panicking program says, and the failing one.
const LAST_WORDS: &str = "the last words of a rank";

/// The first rank, then the last, ends the run while all others do `what`: they have to be told
/// who and why, and the board has to work again.
fn each_ends(
    context: &Context,
    cause: Cause,
    what: impl Fn(&mut Rank, &Window<u8>) -> alcor::Result<()> + Sync,
) -> Result {
    each_ends_after(
        context,
        cause,
        |_| Ok(()),
        |rank, window, ()| what(rank, window),
    )
}

/// The same, after all ranks have prepared for it.
fn each_ends_after<P>(
    context: &Context,
    cause: Cause,
    prepare: impl Fn(&mut Rank) -> alcor::Result<P> + Sync,
    what: impl Fn(&mut Rank, &Window<u8>, &P) -> alcor::Result<()> + Sync,
) -> Result {
    let bytes = (context.info().node_bytes / 8).min(4096) as usize;
    for culprit in [GlobalRank(0), GlobalRank(context.ranks() - 1)] {
        let told = Told::default();
        let ended = context.attempt(Options::default(), context.ranks(), |rank| {
            let memory = rank.alloc::<u8>(bytes)?;
            let window = rank.register(&memory, Rights::ALL)?;
            let prepared = prepare(rank);
            if rank.pid() == culprit {
                prepared?;
                idle(rank, 3000)?;
                match cause {
                    Cause::Abort => rank.abort(REASON)?,
                    Cause::Error => return Err(Error::program(LAST_WORDS).into()),
                    // Past the hook, which would print it.
                    Cause::Panic => resume_unwind(Box::new(LAST_WORDS)),
                }
                return Ok(rank.barrier()?);
            }
            // Where ranks are threads without a clock, a slow rank may still prepare when the run ends.
            let result = prepared.and_then(|prepared| what(rank, &window, &prepared));
            told.note(rank.pid(), result.as_ref().err());
            Ok(result?)
        });
        ended_by(ended, culprit, cause)?;
        let told = told.sorted();
        same(
            format_args!("ranks that were told of the end by {culprit}"),
            context.ranks() as usize - 1,
            told.len(),
        )?;
        for (rank, found) in told {
            let expected = Some((culprit, cause.reason()));
            same(format_args!("{rank}: what it was told"), expected, found)?;
        }
        works_again(context)?;
    }
    Ok(())
}

/// What an error says of an abort.
fn aborted(error: &Error) -> Option<(GlobalRank, AbortReason)> {
    match error {
        Error::Aborted { by, reason, .. } => Some((*by, *reason)),
        _ => None,
    }
}

/// A rank, and what it was told of an abort, if it was.
type Word = (GlobalRank, Option<(GlobalRank, AbortReason)>);

/// What ranks were told.
#[derive(Default)]
struct Told(Mutex<Vec<Word>>);

impl Told {
    fn note(&self, rank: GlobalRank, error: Option<&Error>) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.push((rank, error.and_then(aborted)));
    }

    fn sorted(&self) -> Vec<Word> {
        let mut told = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        told.sort_by_key(|&(rank, _)| rank);
        told
    }
}

/// Whether the run failed as `culprit` ended it, and in the way of `cause`.
pub(super) fn ended_by<T>(
    ended: Result<Vec<T>, JobError>,
    culprit: GlobalRank,
    cause: Cause,
) -> Result {
    let error = match ended {
        Ok(_) => return Err(Failure::new("the run", "an error", "success")),
        Err(error) => error,
    };
    let is_expected = match (&error, cause) {
        (JobError::Failed { rank, source, .. }, Cause::Abort) => {
            *rank == culprit && aborted(source) == Some((culprit, AbortReason(REASON)))
        }
        (JobError::Failed { rank, source, .. }, Cause::Error) => {
            *rank == culprit && source.to_string() == LAST_WORDS
        }
        (JobError::Panicked { rank, message, .. }, Cause::Panic) => {
            *rank == culprit && message == LAST_WORDS
        }
        _ => false,
    };
    if is_expected {
        return Ok(());
    }
    // A program that found something wrong says it best.
    match Failure::from(error) {
        Failure::Run(error) => Err(Failure::new(
            "the run",
            format_args!("the end by {culprit} ({cause:?})"),
            error,
        )),
        failure => Err(failure),
    }
}

/// A new run on the same board is as if nothing had been.
fn works_again(context: &Context) -> Result {
    context.run(|rank| {
        let me = rank.pid();
        let memory = rank.alloc_from(&[0u32; 2])?;
        let window = rank.register(&memory, Rights::ALL)?;
        let place = format_args!("{me}: slot of the first window after an abort");
        same(place, 0, window.slot())?;
        rank.put(&window, after(rank, 1), 1, &[me.0 + 1])?;
        rank.fence()?;
        let from = (me.0 + rank.nprocs() - 1) % rank.nprocs();
        let found = rank.read_vec(&memory)?;
        same(
            format_args!("{me}: window in a run after an abort"),
            vec![0, from + 1],
            found,
        )?;
        let events = rank.lab().events()?;
        holds(
            format_args!("{me}: events in a run after an abort"),
            "none",
            events.is_empty(),
            format_args!("{events:?}"),
        )?;
        let RegisteredRange { slot, .. } =
            rank.lab().register_range(alcor::NodeAddr(8192), Some(4), Rights::ALL)?;
        same(format_args!("{me}: slot of the second window"), 1, slot)
    })?;
    Ok(())
}
