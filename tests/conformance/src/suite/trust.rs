//! Trust: a rank that does not keep to its run harms no other rank.

use alcor::abi::board;
use alcor::abi::packets::x_commit;
use alcor::abi::rank::{self as page, identity};
use alcor::abi::command;
use alcor::{AbortReason, Error, GlobalRank, JobError, Opcode, Options, PageOffset, Rights};

use super::registration::idle;
use crate::context::after;
use crate::failure::{holds, same, same_bytes};
use crate::test::tests;
use crate::Failure;

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

    /// A command behind a lost operand is not carried out: it would write with an old operand.
    lost_operand(context, ranks >= 2; steady) {
        const REASON: u8 = 0x52;
        const BYTES: usize = 64;
        let ended = context.attempt(Options::default(), context.ranks(), |rank| {
            let me = rank.pid();
            let inbox = rank.alloc_from(&[0u8; BYTES])?;
            let window = rank.register(&inbox, Rights::ALL)?;
            let peer = after(rank, 1);
            if me == GlobalRank(0) {
                let data = rank.alloc_from(&[0xA5u8; BYTES])?;
                let depth = rank.board().command_credits;
                rank.fence()?;
                // The queue stands still, as the others are not at their barrier yet.
                rank.command(Opcode::Barrier, 0)?;
                let mut write = |opcode, value| rank.port().write32(PageOffset(command(opcode)), value);
                write(Opcode::XOffset, 0)?;
                write(Opcode::XLaddr, data.addr().0)?;
                write(Opcode::XLength, BYTES as u32)?;
                for _ in 0..2 * depth + 64 {
                    write(Opcode::XTag, 0)?;
                }
                idle(rank, 40_000)?;
                // By now there is room again. That an operand was lost is not yet acknowledged.
                let mut write = |opcode, value| rank.port().write32(PageOffset(command(opcode)), value);
                write(Opcode::XWindow, window.base().0)?;
                write(Opcode::XPut, x_commit::DPID.put(peer.0) | x_commit::ID.put(1))?;
                idle(rank, 30_000)?;
                let events = rank.events()?;
                holds(
                    "rank 0: events after an overflow",
                    "overflow",
                    events.overflow(),
                    format_args!("{events:?}"),
                )?;
                rank.abort(AbortReason(REASON).0)?;
            } else {
                rank.fence()?;
                idle(rank, 20_000)?;
                rank.barrier()?;
                idle(rank, 35_000)?;
                same_bytes(format_args!("{me}: window"), &[0; BYTES], &rank.read_vec(&inbox)?)?;
            }
            rank.barrier()?;
            Ok(())
        });
        match ended {
            Err(JobError::Failed { source: Error::Aborted { by: GlobalRank(0), reason: AbortReason(REASON) }, .. }) => Ok(()),
            Err(error) => Err(Failure::from_run(error)),
            Ok(_) => Err(Failure::new("the run", "an abort by rank 0", "success")),
        }
    }
}

