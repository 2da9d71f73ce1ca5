//! Trust: a rank that does not keep to its run harms no other rank.

use std::thread;

use alcor_abi::board::{self, forward, place};
use alcor_abi::packets::x_commit;
use alcor_abi::rank::{self as page, comm_row, identity};
use alcor_abi::command;
use alcor::{Error, GlobalRank, Opcode, Operation, Options, PageOffset, Rank, Rights, Status};
use alcor_test::{Context, Result, after, alcor_test, holds, same, same_bytes};

use super::abort::{Cause, REASON, ended_by};
use super::credits::{block, spoilt};
use super::registration::idle;
use super::reset::{KEY, Raw, attach, works_again};

/// A rank cannot declare more ranks than the run has: packets to them would reach nobody, and no barrier would end.
#[alcor_test(ranks >= 2)]
fn ranks_beyond_the_run(context: &Context) -> Result {
    context.run(|rank| {
        let (me, ranks) = (rank.pid(), rank.nprocs());
        rank.barrier()?;
        if me == GlobalRank(0) {
            for declared in [ranks + 1, 255] {
                rank.lab().command(Opcode::SetNprocs, declared)?;
                idle(rank, 500)?;
                let events = rank.lab().events()?;
                holds(
                    format_args!("{me}: events after SET_NPROCS {declared}"),
                    "refused",
                    events.refused(),
                    format_args!("{events:?}"),
                )?;
                let bits = rank.lab().port().read32(PageOffset(page::IDENTITY))?;
                same(
                    format_args!("{me}: ranks of the run after SET_NPROCS {declared}"),
                    ranks,
                    identity::NPROCS.get(bits),
                )?;
            }
        }
        rank.barrier()?;
        let dropped = rank.lab().port().read_board32(PageOffset(board::DROPPED))?;
        same(format_args!("{me}: packets that the board dropped"), 0, dropped)?;
        let damaged = rank.lab().port().read_board32(PageOffset(board::DAMAGED))?;
        same(format_args!("{me}: packets that were damaged on their way"), 0, damaged)?;
        rank.barrier()?;
        Ok(())
    })?;
    Ok(())
}

/// A rank that is not a member of a communicator cannot free or change the communicator's row, nor the rows of the run.
#[alcor_test(ranks >= 2)]
fn rows_of_others(context: &Context) -> Result {
    let ranks = context.info().ranks;
    if !context.info().has_switch() || ranks < 2 {
        return Ok(());
    }
    context.run(|rank| {
        let me = rank.pid();
        let is_outside = me.0 % ranks == ranks - 1;
        let world = rank.world()?;
        let part = world.split(rank, (!is_outside).then_some(0), 0)?;
        rank.barrier()?;
        if is_outside {
            let before = rank.lab().counters()?.refused_out;
            for row in 0..rank.board().communicators {
                let port = rank.lab().port();
                port.write32(PageOffset(page::COMM_ROW), comm_row::CONTEXT.put(row))?;
                // Partners of a row that is not in use have no owner.
                port.write32(PageOffset(page::COMM_SHAPE), 0)?;
            }
            idle(rank, 500)?;
            let events = rank.lab().events()?;
            let status = events.last_error.and_then(|error| error.status);
            same(format_args!("{me}: LAST_ERROR"), (true, Some(Status::Denied)), (events.refused(), status))?;
            // The rows of the world, of the barrier, and of the communicator.
            let refused = rank.lab().counters()?.refused_out - before;
            same(format_args!("{me}: refused writes of rows"), 3, refused)?;
        }
        rank.barrier()?;
        for communicator in part.iter().chain([&world]) {
            let mut sum = [1u32; 40];
            communicator.allreduce_in_place(rank, Operation::Sum, &mut sum[..])?;
            same(format_args!("{me}: a sum of ones"), [communicator.size(); 40], sum)?;
        }
        Ok(())
    })?;
    Ok(())
}

/// A run does not begin on a board without a way to one of its ranks. A board alone has no routes, and refuses packets to
/// ranks that it does not have.
#[alcor_test(ranks >= 1)]
fn rank_without_a_route(context: &Context) -> Result {
    let (ranks, switch) = (context.info().ranks, context.info().has_switch());
    let first = &context.cluster().boards()[0];
    context.cluster().prepare(1)?;
    first.write32(PageOffset(board::PLACE), place::RANKS.put(ranks + 1))?;
    // The highest port stands for the board itself; no board has as many links as the one below it.
    let nowhere = forward::RANK.put(ranks) | forward::PORT.put(forward::PORT.max() - 1);
    first.write32(PageOffset(board::FORWARD), nowhere)?;
    let in_run = place::RANKS.get(first.read32(PageOffset(board::PLACE))?);
    same("ranks of the run", ranks + u32::from(!switch), in_run)?;
    if switch {
        let is_refused = matches!(attach(context, 0, ranks + 1), Err(Error::BadOption { option: "nprocs", .. }));
        same("a run with a rank without a way is refused", true, is_refused)?;
    } else {
        let mut it = attach(context, 0, ranks + 1)?;
        post(&mut it, &[
            (Opcode::XOffset, 0),
            (Opcode::XLaddr, 0),
            (Opcode::XLength, 4),
            (Opcode::XPut, x_commit::DPID.put(ranks) | x_commit::ID.put(1)),
        ])?;
        idle(&mut it, 3_000)?;
        same("commands refused", 1, it.lab().counters()?.refused_out)?;
    }
    works_again(context)
}

/// A board takes no packet and no abort of another run. Between ranks of one board there is no such check.
#[alcor_test(ranks >= 2)]
fn packets_of_another_run(context: &Context) -> Result {
    const PATIENCE: u64 = 3_000;
    let boards = context.cluster().boards();
    let apart = boards.len() > 1;
    let (far, other) = if apart { (context.info().ranks, &boards[1]) } else { (1, &boards[0]) };
    context.cluster().prepare(far + 1)?;
    let place = other.read32(PageOffset(board::PLACE))?;
    let another = place::KEY.put(1 + place::KEY.get(place) % 255);
    other.write32(PageOffset(board::PLACE), place & !place::KEY.mask() | another)?;
    let sender = || -> Result {
        let mut it = attach(context, 0, far + 1)?;
        post(&mut it, &[
            (Opcode::XOffset, 0),
            (Opcode::XLaddr, 0),
            (Opcode::XLength, 4),
            (Opcode::XPut, x_commit::DPID.put(far) | x_commit::ID.put(1)),
        ])?;
        idle(&mut it, PATIENCE)?;
        let found = (other.read32(PageOffset(board::FOREIGN))?, it.lab().counters()?.completions);
        same("foreign packets, completions", (apart.into(), (!apart).into()), found)?;
        it.abort(REASON)?;
        idle(&mut it, PATIENCE)?;
        Ok(it.lab().port().leave()?)
    };
    let listener = |rank| -> Result {
        let mut it = attach(context, rank, far + 1)?;
        idle(&mut it, 3 * PATIENCE)?;
        let aborted = board::status::ABORTED.get(it.lab().port().read_board32(PageOffset(board::STATUS))?);
        let found = (it.lab().events()?.foreign(), aborted);
        it.lab().port().leave()?;
        let is_there = apart && rank == far;
        let expected = (is_there, u32::from(!is_there));
        same(format_args!("rank {rank}: the event, and whether the abort came"), expected, found)
    };
    thread::scope(|scope| {
        let listeners: Vec<_> = (1..=far).map(|rank| scope.spawn(move || listener(rank))).collect();
        let sent = sender();
        let mut heard = listeners.into_iter().map(|it| it.join().expect("a listener does not panic"));
        heard.try_for_each(|it| it).and(sent)
    })?;
    works_again(context)
}

/// The last board writes the world's row with another key, and posts an allreduce. The other boards drop its phits, count them,
/// and raise an event at each of their ranks.
#[alcor_test(ranks >= 2, needs = [Rma])]
fn phits_of_another_key(context: &Context) -> Result {
    let ranks = context.info().ranks;
    let boards = context.ranks() / ranks;
    if !context.info().has_switch() || boards < 2 {
        return Ok(());
    }
    let ended = context.attempt(Options::default(), boards * ranks, |rank| {
        let raw = Raw::new(context, rank)?;
        raw.ring(rank)?;
        raw.until(rank, 0)?;
        if raw.board == boards - 1 {
            raw.write_row(rank, KEY)?;
            raw.until(rank, 1_000)?;
            raw.allreduce(rank, 1, 0)?;
        }
        raw.until(rank, 5_000)?;
        let dropped = rank.lab().port().read_board32(PageOffset(board::STALE))?;
        same("the event, as the board has dropped phits", dropped > 0, rank.lab().events()?.stale())?;
        if raw.board == boards - 1 {
            same("phits that the last board has dropped", 0, dropped)?;
        } else if rank.pid() == GlobalRank(0) {
            let others = context.cluster().boards();
            let counts = others.iter().map(|board| board.read32(PageOffset(board::STALE)));
            let sum = counts.sum::<alcor::Result<u32>>()?;
            holds("phits that the others have dropped", "some", sum > 0, sum)?;
        }
        raw.until(rank, if rank.pid() == GlobalRank(0) { 8_000 } else { 9_000 })?;
        Ok(rank.abort(REASON)?)
    });
    ended_by(ended, GlobalRank(0), Cause::Abort)?;
    works_again(context)
}

/// A rank's operands are none of its next holder's.
#[alcor_test(ranks >= 1)]
fn operands_of_the_last_holder(context: &Context) -> Result {
    const BYTES: usize = 64;
    context.cluster().prepare(1)?;
    let mut it = attach(context, 0, 1)?;
    // The first allocation of the next holder is not at the address of this data.
    let _first = it.alloc::<u8>(1024)?;
    let data = it.alloc_from(&[0xA5u8; BYTES])?;
    post(&mut it, &[
        (Opcode::XOffset, 0),
        (Opcode::XLaddr, data.addr().0),
        (Opcode::XLength, BYTES as u32),
    ])?;
    // They have left the queue, which a reset empties.
    idle(&mut it, 100)?;
    let mut it = it.start_over()?;
    let inbox = it.alloc_from(&[0u8; BYTES])?;
    let window = it.register(&inbox, Rights::ALL)?;
    post(&mut it, &[
        (Opcode::XWindow, window.base().0),
        (Opcode::XPut, x_commit::DPID.put(0) | x_commit::ID.put(1)),
    ])?;
    idle(&mut it, 3_000)?;
    same_bytes("the window", &[0; BYTES], &it.read_vec(&inbox)?)?;
    drop(it);
    works_again(context)
}

/// A command behind a lost operand is not carried out: it would write with an old operand.
#[alcor_test(ranks >= 2, steady)]
fn lost_operand(context: &Context) -> Result {
    const BYTES: usize = 64;
    let registered = |rank: &mut Rank| -> alcor::Result<_> {
        let inbox = rank.alloc_from(&[0u8; BYTES])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        Ok((inbox, window))
    };
    spoilt(
        context,
        |rank| {
            let (_, window) = registered(rank)?;
            let peer = after(rank, 1);
            let data = rank.alloc_from(&[0xA5u8; BYTES])?;
            let depth = rank.board().command_credits as usize;
            rank.fence()?;
            // The others are not at their barrier yet.
            block(rank)?;
            post(rank, &[(Opcode::XOffset, 0), (Opcode::XLaddr, data.addr().0), (Opcode::XLength, BYTES as u32)])?;
            post(rank, &vec![(Opcode::XTag, 0); 2 * depth + 64])?;
            idle(rank, 40_000)?;
            // By now there is room again. That an operand was lost is not yet acknowledged.
            let commit = x_commit::DPID.put(peer.0) | x_commit::ID.put(1);
            post(rank, &[(Opcode::XWindow, window.base().0), (Opcode::XPut, commit)])?;
            idle(rank, 30_000)?;
            let events = rank.lab().events()?;
            holds("rank 0: events after an overflow", "overflow", events.overflow(), format_args!("{events:?}"))
        },
        |rank| {
            let (inbox, _) = registered(rank)?;
            rank.fence()?;
            idle(rank, 20_000)?;
            rank.barrier()?;
            // By the end of this wait, before rank 0 aborts, the put would have been carried out.
            idle(rank, 35_000)?;
            same_bytes(format_args!("{}: window", rank.pid()), &[0; BYTES], &rank.read_vec(&inbox)?)
        },
    )
}

/// Posts commands past the library, as another program could.
fn post(rank: &mut Rank, commands: &[(Opcode, u32)]) -> alcor::Result<()> {
    for &(opcode, value) in commands {
        rank.lab().port().write32(PageOffset(command(opcode)), value)?;
    }
    Ok(())
}
