//! Trust: a rank that does not keep to its run harms no other rank.

use alcor::abi::board::{self, forward, place};
use alcor::abi::packets::x_commit;
use alcor::abi::rank::{self as page, identity};
use alcor::abi::command;
use alcor::{GlobalRank, Opcode, PageOffset, Rank, Rights};

use super::credits::spoilt;
use super::registration::idle;
use super::reset::{attach, works_again};
use crate::context::after;
use crate::failure::{holds, same, same_bytes};
use crate::test::tests;

tests! {
    trust: Rma;

    /// A rank cannot declare more ranks than the run has: packets to them would reach nobody, and no barrier would end.
    ranks_beyond_the_run(context, ranks >= 2) {
        context.run(|rank| {
            let (me, ranks) = (rank.pid(), rank.nprocs());
            rank.barrier()?;
            if me == GlobalRank(0) {
                for declared in [ranks + 1, 255] {
                    rank.command(Opcode::SetNprocs, declared)?;
                    idle(rank, 500)?;
                    let events = rank.events()?;
                    holds(
                        format_args!("{me}: events after SET_NPROCS {declared}"),
                        "refused",
                        events.refused(),
                        format_args!("{events:?}"),
                    )?;
                    let bits = rank.port().read32(PageOffset(page::IDENTITY))?;
                    same(
                        format_args!("{me}: ranks of the run after SET_NPROCS {declared}"),
                        ranks,
                        identity::NPROCS.get(bits),
                    )?;
                }
            }
            rank.barrier()?;
            let dropped = rank.port().read_board32(PageOffset(board::DROPPED))?;
            same(format_args!("{me}: packets that the board dropped"), 0, dropped)?;
            rank.barrier()?;
            Ok(())
        })?;
        Ok(())
    }

    /// A packet to a rank that nothing leads to is refused by a board alone, and dropped and counted by a switch.
    rank_without_a_route(context, ranks >= 1) {
        let (ranks, switch) = (context.info().ranks, context.info().has_switch());
        let first = &context.cluster().boards()[0];
        context.cluster().prepare(1)?;
        first.write32(PageOffset(board::PLACE), place::RANKS.put(ranks + 1))?;
        // The highest port stands for the board itself; no board has as many links as the one below it.
        let nowhere = forward::RANK.put(ranks) | forward::PORT.put(forward::PORT.max() - 1);
        first.write32(PageOffset(board::FORWARD), nowhere)?;
        let mut it = attach(context, 0, ranks + 1)?;
        post(&mut it, &[
            (Opcode::XOffset, 0),
            (Opcode::XLaddr, 0),
            (Opcode::XLength, 4),
            (Opcode::XPut, x_commit::DPID.put(ranks) | x_commit::ID.put(1)),
        ])?;
        idle(&mut it, 3_000)?;
        let dropped = it.port().read_board32(PageOffset(board::DROPPED))?;
        let found = (dropped, it.counters()?.refused_out);
        same("packets dropped, commands refused", (u32::from(switch), u32::from(!switch)), found)?;
        drop(it);
        works_again(context)
    }

    /// A rank's operands are none of its next holder's.
    operands_of_the_last_holder(context, ranks >= 1) {
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
    lost_operand(context, ranks >= 2; steady) {
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
                // The queue stands still, as the others are not at their barrier yet.
                rank.command(Opcode::Barrier, 0)?;
                post(rank, &[(Opcode::XOffset, 0), (Opcode::XLaddr, data.addr().0), (Opcode::XLength, BYTES as u32)])?;
                post(rank, &vec![(Opcode::XTag, 0); 2 * depth + 64])?;
                idle(rank, 40_000)?;
                // By now there is room again. That an operand was lost is not yet acknowledged.
                let commit = x_commit::DPID.put(peer.0) | x_commit::ID.put(1);
                post(rank, &[(Opcode::XWindow, window.base().0), (Opcode::XPut, commit)])?;
                idle(rank, 30_000)?;
                let events = rank.events()?;
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
}

/// Posts commands past the library, as another program could.
fn post(rank: &mut Rank, commands: &[(Opcode, u32)]) -> alcor::Result<()> {
    for &(opcode, value) in commands {
        rank.port().write32(PageOffset(command(opcode)), value)?;
    }
    Ok(())
}
