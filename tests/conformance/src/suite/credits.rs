//! Credits: nothing is lost on the way into the command queue.

use alcor_abi::command;
use alcor::{GlobalRank, Opcode, Options, PageOffset, Rank, Rights};
use alcor_test::{Context, Result, after, alcor_test, before, holds, same, same_bytes};

use super::abort::{Cause, REASON, ended_by};
use super::registration::idle;

/// A flood of commands through the library overflows nothing, and all of them are served.
#[alcor_test(ranks >= 1)]
fn flood(context: &Context) -> Result {
    let commands = context.scale(3000, 30000);
    context.run(|rank| {
        let me = rank.pid();
        let before = rank.lab().counters()?.retired;
        for number in 0..commands {
            rank.lab().command(Opcode::XOffset, number)?;
        }
        rank.barrier()?;
        let events = rank.lab().events()?;
        holds(
            format_args!("{me}: events"),
            "none",
            events.is_empty(),
            format_args!("{events:?}"),
        )?;
        // The barrier is one more; what began the run may still have been queued before.
        let retired = rank.lab().counters()?.retired.wrapping_sub(before);
        holds(
            format_args!("{me}: commands retired"),
            format_args!("{} to {}", commands + 1, commands + 4),
            (commands + 1..=commands + 4).contains(&retired),
            retired,
        )?;
        rank.barrier()?;
        Ok(())
    })?;
    Ok(())
}

/// Puts whose operands all change take four commands each: none is lost.
#[alcor_test(ranks >= 1)]
fn operands(context: &Context) -> Result {
    let puts = context.scale(300, 3000);
    context.run(|rank| {
        let me = rank.pid();
        let inbox = rank.alloc_from(&vec![0u8; 1024])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let mut data = rank.alloc::<u8>(1024)?;
        let of = |rank: GlobalRank| context.noise(&[u64::from(rank.0)], 1024);
        rank.write(&mut data, 0, &of(me))?;
        rank.barrier()?;
        let mut covered = [false; 1024];
        for put in 0..puts {
            let (at, length) = (put * 37 % 1000, 1 + put % 24);
            drop(rank.iput(&window, after(rank, 1), at, &data.slice(at..at + length)?)?);
            covered[at..at + length].fill(true);
        }
        rank.fence()?;
        let expected: Vec<u8> = of(before(rank, 1))
            .iter()
            .zip(covered)
            .map(|(&byte, is)| if is { byte } else { 0 })
            .collect();
        same_bytes(
            format_args!("{me}: window"),
            &expected,
            &rank.read_vec(&inbox)?,
        )
    })?;
    Ok(())
}

/// The paper's commands take two entries of one queue and one of another; a flood of them
/// overflows neither.
#[alcor_test(ranks >= 1)]
fn paper(context: &Context) -> Result {
    let puts = context.scale(500, 5000);
    context.run(|rank| {
        let me = rank.pid();
        let inbox = rank.alloc_from(&[0u32; 256])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let peer = after(rank, 1);
        for put in 0..puts {
            rank.lab().paper()
                .put_1(window.base(), peer, put % 256, put << 8 | me.0)?;
            if put % 256 == 255 {
                // The next ones go to the same words.
                rank.barrier()?;
            }
        }
        rank.barrier()?;
        let events = rank.lab().events()?;
        holds(
            format_args!("{me}: events"),
            "none",
            events.is_empty(),
            format_args!("{events:?}"),
        )?;
        let from = before(rank, 1).0;
        let expected: Vec<u32> = (0..256)
            .map(|at| ((puts - 1 - at) / 256 * 256 + at) << 8 | from)
            .collect();
        same(
            format_args!("{me}: window"),
            expected,
            rank.read_vec(&inbox)?,
        )
    })?;
    Ok(())
}

/// Posts a barrier, and a command that does not pass the barrier. The command queue stands still until the other ranks
/// come to the barrier.
pub(super) fn block(rank: &mut Rank) -> alcor::Result<()> {
    let pid = rank.pid().0;
    rank.lab().command(Opcode::Barrier, 0)?;
    rank.lab().command(Opcode::SetPid, pid)
}

/// Commands that are written past the library's count meet a full queue: they are lost, and an
/// event says so.
#[alcor_test(ranks >= 2, steady)]
fn overflow(context: &Context) -> Result {
    spoilt(context, |rank| {
        // The others are not at their barrier yet.
        block(rank)?;
        let depth = rank.board().command_credits;
        for _ in 0..2 * depth + 64 {
            rank.lab().port()
                .write32(PageOffset(command(Opcode::XOffset)), 0)?;
        }
        let events = rank.lab().events()?;
        holds(
            "rank 0: events after an overflow",
            "overflow",
            events.overflow(),
            format_args!("{events:?}"),
        )
    }, |rank| idle(rank, 20_000))
}

/// An opcode that does not exist raises an event, and what follows is served.
#[alcor_test(ranks >= 1)]
fn bad_opcode(context: &Context) -> Result {
    spoilt(context, |rank| {
        for opcode in [0x00, 0x3F, 0x7F, 0xFF] {
            rank.lab().port().write32(PageOffset(4 * opcode), 0)?;
            // What was written is served by the time that a later command is.
            rank.lab().command(Opcode::XOffset, 0)?;
            idle(rank, 100)?;
            let events = rank.lab().events()?;
            holds(
                format_args!("rank 0: events after opcode {opcode:#x}"),
                "bad_opcode",
                events.bad_opcode(),
                format_args!("{events:?}"),
            )?;
            let events = rank.lab().events()?;
            holds(
                "rank 0: events once they were taken",
                "none",
                events.is_empty(),
                format_args!("{events:?}"),
            )?;
        }
        Ok(())
    }, |rank| idle(rank, 20_000))
}

/// A run that rank 0 ends by an abort, after `spoil` has left its count of credits wrong. The other ranks do `others`, and
/// then come to a barrier.
pub(super) fn spoilt(
    context: &Context,
    spoil: impl Fn(&mut alcor::Rank) -> Result + Sync,
    others: impl Fn(&mut alcor::Rank) -> Result + Sync,
) -> Result {
    let ended = context.attempt(Options::default(), context.ranks(), |rank| {
        if rank.pid() == GlobalRank(0) {
            spoil(rank)?;
            rank.abort(REASON)?;
        } else {
            others(rank)?;
        }
        rank.barrier()?;
        Ok(())
    });
    ended_by(ended, GlobalRank(0), Cause::Abort)
}
