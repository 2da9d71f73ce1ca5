//! What exactly goes over the wire.

use std::sync::Arc;

use alcor::abi::packets::x_commit;
use alcor::abi::{Opcode, command, rank as page};
use alcor::soft::SoftBoard;
use alcor::{Error, GlobalRank, Job, JobError, PageOffset, Rank, Result, Rights};

use crate::run;
use crate::spy::{Access, Log, Spy};

/// Runs `program` on one rank, and hands it the log of its port.
fn spied(program: impl Fn(&mut Rank, &Log) -> Result<()> + Sync) -> Result<(), JobError> {
    let spy = Spy::new(SoftBoard::new(1));
    let log = Arc::clone(&spy.log);
    Job::new(Arc::new(spy))
        .unwrap()
        .run(1, |rank| program(rank, &log))
        .map(drop)
}

fn take(log: &Log) -> Vec<Access> {
    std::mem::take(&mut log.lock().unwrap())
}

fn commands(log: &[Access]) -> Vec<(u32, u32)> {
    log.iter()
        .filter_map(|access| match *access {
            Access::Write(offset, value) if offset < 0x400 => Some((offset, value)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_put_is_at_most_four_writes_and_no_read() {
    spied(|rank, log| {
        let memory = rank.alloc::<u64>(16)?;
        let window = rank.register(&memory, Rights::ALL)?;
        let source = rank.alloc_from(&[1u64, 2, 3])?;
        let me = rank.pid();
        let commit = |id| x_commit::SLOT.put(0) | x_commit::DPID.put(0) | x_commit::ID.put(id);
        let (at, part) = (source.addr().0, source.slice(1..2)?);
        take(log);

        drop(rank.iput(&window, me, 2, &source.slice(..1)?)?);
        let x = |opcode, value| Access::Write(command(opcode), value);
        assert_eq!(
            take(log),
            [
                x(Opcode::XOffset, 16),
                x(Opcode::XLaddr, at),
                x(Opcode::XLength, 8),
                x(Opcode::XPut, commit(0)),
            ]
        );
        // What is the same is not written again.
        drop(rank.iput(&window, me, 2, &part)?);
        assert_eq!(
            take(log),
            [x(Opcode::XLaddr, at + 8), x(Opcode::XPut, commit(1))]
        );
        drop(rank.iget(&window, me, 3, &part)?);
        assert_eq!(
            take(log),
            [x(Opcode::XOffset, 24), x(Opcode::XGet, commit(2))]
        );

        // One wake for all three: three entries in one read.
        rank.flush_all()?;
        let flushed = take(log);
        assert_eq!(
            flushed,
            [
                Access::Write(page::CQ_WAKE, 3),
                Access::Write(page::IRQ_ENABLE, 0b011_001),
                Access::Wait,
                Access::Read(page::CAUSES),
                Access::ReadMemory(0, 24),
            ]
        );

        // A blocking put on an idle rank.
        rank.put(&window, me, 3, &part)?;
        assert_eq!(
            take(log),
            [
                x(Opcode::XPut, commit(2)),
                Access::Write(page::CQ_WAKE, 4),
                Access::Wait,
                Access::Read(page::CAUSES),
                Access::ReadMemory(24, 8),
            ]
        );
        Ok(())
    })
    .unwrap();
}

#[test]
fn raw_operands_are_remembered_too() {
    spied(|rank, log| {
        let memory = rank.alloc_from(&[5u8, 6])?;
        let window = rank.register(&memory, Rights::ALL)?;
        rank.put(&window, rank.pid(), 0, &memory.slice(1..)?)?;
        rank.command(Opcode::XOffset, 1)?;
        take(log);
        rank.put(&window, rank.pid(), 0, &memory.slice(1..)?)?;
        assert_eq!(commands(&take(log))[0], (command(Opcode::XOffset), 0));
        let refused = rank.command(Opcode::XPut, 0).unwrap_err();
        assert!(
            matches!(refused, Error::ReservedCommand { .. }),
            "{refused}"
        );
        Ok(())
    })
    .unwrap();
}

#[test]
fn wakes_for_credits_are_few_and_a_barrier_is_not_woken_by_completions() {
    spied(|rank, log| {
        let memory = rank.alloc::<u8>(64)?;
        let window = rank.register(&memory, Rights::ALL)?;
        let me = rank.pid();
        take(log);
        for i in 0..200 {
            drop(rank.iput(&window, me, i % 64, &memory.slice(i % 64..i % 64 + 1)?)?);
        }
        let streamed = take(log);
        let count = |which: fn(&Access) -> bool| streamed.iter().filter(|&a| which(a)).count();
        let posted = commands(&streamed).len();
        assert!(posted >= 600);
        assert!(
            count(|a| matches!(a, Access::Wait)) <= posted / 32 + 1,
            "{streamed:?}"
        );
        assert!(count(|a| matches!(a, Access::Read(_))) <= 2 * (posted / 32 + 1) + 1);
        assert!(!rank.events()?.overflow());
        take(log);

        rank.fence()?;
        let fenced = take(log);
        let waits = fenced.iter().filter(|a| matches!(a, Access::Wait)).count();
        assert_eq!(waits, 2, "{fenced:?}");
        rank.flush_all()
    })
    .unwrap();
}

#[test]
fn a_lost_command_is_told_by_the_next_call() {
    run(1, |rank| {
        for value in 0..65 {
            rank.port()
                .write32(PageOffset(command(Opcode::XOffset)), value)?;
        }
        let error = rank.barrier().unwrap_err();
        assert!(
            matches!(
                error,
                Error::CommandLost {
                    rank: GlobalRank(0)
                }
            ),
            "{error}"
        );
        assert!(error.to_string().contains("EVENTS.overflow"));
        rank.port().write32(PageOffset(page::ACK), 2)?;
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_completion_that_nobody_asked_for_is_told() {
    let ended = run(1, |rank| {
        let commit = x_commit::ID.put(99);
        rank.port()
            .write32(PageOffset(command(Opcode::XPut)), commit)?;
        let memory = rank.alloc::<u8>(1)?;
        let window = rank.register(&memory, Rights::ALL)?;
        rank.put(&window, rank.pid(), 0, &memory)
    });
    let error = ended.unwrap_err();
    assert!(matches!(
        error.error(),
        Some(Error::BadCompletion { entry: 0, .. })
    ));
    assert!(error.to_string().contains("entry 0 of the completion ring"));
}
