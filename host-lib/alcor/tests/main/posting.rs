//! The exact accesses of the library to its port.

use std::sync::Arc;

use alcor::soft::SoftBoard;
use alcor::{
    Board, ElementType, Error, GlobalRank, Job, JobError, LocalRank, Operation, Options,
    PageOffset, Path, Rank, Result, Rights, SoftwareReason,
};
use alcor_abi::packets::x_commit;
use alcor_abi::{Opcode, board, command, rank as page};

use crate::run;
use crate::spy::{Access, Log, Spy};

/// Runs `program` on one rank, with the log of its port.
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
        // Ids below the depth of the queues belong to messages.
        let depth = rank.board().message_depth;
        let commit =
            |id| x_commit::SLOT.put(0) | x_commit::DPID.put(0) | x_commit::ID.put(depth + id);
        let (at, mut part) = (source.addr().0, source.slice(1..2)?);
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
        // Unchanged operands are not written again.
        drop(rank.iput(&window, me, 2, &part)?);
        assert_eq!(
            take(log),
            [x(Opcode::XLaddr, at + 8), x(Opcode::XPut, commit(1))]
        );
        drop(rank.iget(&window, me, 3, &mut part)?);
        assert_eq!(
            take(log),
            [x(Opcode::XOffset, 24), x(Opcode::XGet, commit(2))]
        );

        // One wake for all three completions, and three entries in one read.
        rank.flush_all()?;
        let flushed = take(log);
        assert_eq!(
            flushed,
            [
                Access::Write(page::CQ_WAKE, 3),
                Access::Wait(0b011_001),
                Access::ReadMemory(0, 48),
            ]
        );

        // A blocking put on an idle rank.
        rank.put(&window, me, 3, &part)?;
        assert_eq!(
            take(log),
            [
                x(Opcode::XPut, commit(2)),
                Access::Write(page::CQ_WAKE, 4),
                Access::Wait(0b011_001),
                Access::ReadMemory(48, 16),
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
        rank.lab().command(Opcode::XOffset, 1)?;
        take(log);
        rank.put(&window, rank.pid(), 0, &memory.slice(1..)?)?;
        assert_eq!(commands(&take(log))[0], (command(Opcode::XOffset), 0));
        let refused = rank.lab().command(Opcode::XPut, 0).unwrap_err();
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
            count(|a| matches!(a, Access::Wait(_))) <= posted / 32 + 1,
            "{streamed:?}"
        );
        assert!(count(|a| matches!(a, Access::Read(_))) <= 2 * (posted / 32 + 1) + 1);
        assert!(!rank.lab().events()?.overflow());
        take(log);

        rank.fence()?;
        let fenced = take(log);
        let waits = fenced
            .iter()
            .filter(|a| matches!(a, Access::Wait(_)))
            .count();
        assert_eq!(waits, 2, "{fenced:?}");
        rank.flush_all()
    })
    .unwrap();
}

#[test]
fn a_lost_command_is_reported_by_the_next_call() {
    run(1, |rank| {
        for value in 0..65 {
            rank.lab()
                .port()
                .write32(PageOffset(command(Opcode::XOffset)), value)?;
        }
        let error = rank.barrier().unwrap_err();
        assert!(
            matches!(
                error,
                Error::CommandLost {
                    rank: GlobalRank(0),
                    ..
                }
            ),
            "{error}"
        );
        assert!(error.to_string().contains("EVENTS.overflow"));
        rank.lab().port().write32(PageOffset(page::ACK), 2)?;
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_completion_without_a_command_is_reported() {
    let ended = run(1, |rank| {
        let commit = x_commit::ID.put(99);
        rank.lab()
            .port()
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

/// Writes to the registers of collectives and communicators.
fn collective(log: &[Access]) -> Vec<(u32, u32)> {
    log.iter()
        .filter_map(|access| match *access {
            Access::Write(offset, value) if offset >= page::C_SOURCE => Some((offset, value)),
            _ => None,
        })
        .collect()
}

/// A board that claims to have a switch, with a communicator table of four rows, and has none.
/// Collectives that are posted to this board never end.
fn feigned_switch(ranks: u32) -> Spy {
    let mut spy = Spy::new(SoftBoard::new(ranks));
    let blocks = board::capabilities::RMA.mask() | board::capabilities::SWITCH.mask();
    spy.lies.insert(board::CAPABILITIES, blocks);
    let table = board::switch::COMMUNICATORS.put(4) | board::switch::STAGES.put(2);
    spy.lies.insert(board::SWITCH, table);
    spy
}

/// A job whose communicators have rows, but whose collectives run in software.
fn in_software(spy: Spy) -> Job {
    Job::with_options(
        Arc::new(spy) as Arc<dyn Board>,
        Options::default().software_collectives(true),
    )
    .unwrap()
}

#[test]
fn communicators_that_share_a_board_have_different_rows() {
    let job = in_software(feigned_switch(4));
    let rows = job.run(4, |rank| {
        // There is no switch for the world's row, so no collective of the world is called.
        let world = rank.world()?;
        let half = world.split(rank, Some(rank.pid().0 % 2), 0)?.unwrap();
        // Two communicators of different parents at the same time, without a free row.
        let alone = half.split(rank, Some(rank.pid().0), 0)?.unwrap();
        let first = (half.row(), alone.row());
        rank.barrier()?;
        alone.free(rank)?;
        half.free(rank)?;
        let again = world.dup(rank)?;
        Ok((first, again.row()))
    });
    let halves = [Some(1), Some(2), Some(1), Some(2)];
    let expected: Vec<_> = halves.iter().map(|&half| ((half, None), Some(1))).collect();
    assert_eq!(rows.unwrap(), expected);
}

#[test]
fn parents_apart_from_each_other_find_different_rows_too() {
    let mut spy = feigned_switch(4);
    let table = board::switch::COMMUNICATORS.put(32) | board::switch::STAGES.put(2);
    spy.lies.insert(board::SWITCH, table);
    let job = in_software(spy);
    let rows = job
        .run(4, |rank| {
            let world = rank.world()?;
            let half = world.split(rank, Some(rank.pid().0 / 2), 0)?.unwrap();
            let mut rows = vec![half.row()];
            for _ in 0..14 {
                rows.push(half.dup(rank)?.row());
            }
            Ok(rows)
        })
        .unwrap();
    assert_eq!(rows[0], rows[1]);
    assert_eq!(rows[2], rows[3]);
    let mut all: Vec<_> = rows[0].iter().chain(&rows[2]).flatten().collect();
    assert_eq!(all.len(), 30, "{rows:?}");
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 30, "{rows:?}");
}

#[test]
fn the_watchdog_guards_writes_of_rows() {
    let mut spy = feigned_switch(1);
    spy.lies.insert(board::ROW_WRITES, 1);
    let options = Options::default().watchdog_cycles(1000);
    let error = Job::with_options(Arc::new(spy), options)
        .unwrap()
        .run(1, |rank| rank.world()?.dup(rank).map(drop))
        .unwrap_err();
    assert!(error.to_string().contains("ROW_WRITES"), "{error}");
}

#[test]
fn a_collective_is_the_operands_that_changed_and_a_go() {
    let spy = feigned_switch(1);
    let log = Arc::clone(&spy.log);
    let job = Job::new(Arc::new(spy)).unwrap();
    let error = job
        .run(1, |rank| {
            let shape =
                |members| page::comm_shape::BOARDS.put(1) | page::comm_shape::MEMBERS.put(members);
            let row = |row, key| page::comm_row::CONTEXT.put(row) | page::comm_row::KEY.put(key);
            // The rows of the barrier and of the world are written first.
            let first = take(&log);
            let of_tables = [
                (page::COMM_ROW, 3),
                (page::COMM_SHAPE, shape(0)),
                (page::COMM_ROW, 0),
                (page::COMM_SHAPE, shape(1)),
            ];
            assert_eq!(collective(&first), of_tables);
            let commands_begin = first
                .iter()
                .position(|access| matches!(access, Access::Write(..0x400, _)));
            let tables_end = first
                .iter()
                .rposition(|access| matches!(access, Access::Write(page::COMM_SHAPE, _)));
            assert!(tables_end < commands_begin);

            let world = rank.world()?;
            let (one, two) = (world.dup(rank)?, world.dup(rank)?);
            assert_eq!((one.row(), two.row()), (Some(1), Some(2)));
            assert_eq!(
                collective(&take(&log)),
                [
                    (page::COMM_ROW, row(1, 1)),
                    (page::COMM_SHAPE, shape(1)),
                    (page::COMM_ROW, row(2, 2)),
                    (page::COMM_SHAPE, shape(1)),
                ]
            );
            // No row is free.
            let three = world.dup(rank)?;
            assert_eq!(three.row(), None);
            let mut sum = [0];
            let receipt = three.allreduce(rank, Operation::Sum, &[5u32], &mut sum)?;
            assert_eq!(sum, [5]);
            assert_eq!(receipt.path, Path::Software(SoftwareReason::NoRow));
            let refused = three.strict(true).barrier(rank).unwrap_err();
            assert!(matches!(refused, Error::NotInHardware { .. }), "{refused}");
            three.free(rank)?;
            // The collective unit does not support the type.
            let receipt = one.allgather(rank, &[5u8], &mut [0])?;
            assert_eq!(
                receipt.path,
                Path::Software(SoftwareReason::Type(ElementType::U8))
            );
            assert_eq!(collective(&take(&log)), []);

            let source = rank.alloc_from(&[1.0f64, 2.0, 3.0])?;
            let mut destination = rank.alloc::<f64>(3)?;
            let go = |context, id| {
                let go = page::c_go::CONTEXT.put(context) | page::c_go::ID.put(id);
                (page::C_GO, go)
            };
            let what = page::c_what::OPCODE.put(2)
                | page::c_what::ALGORITHM.put(1)
                | page::c_what::OPERATION.put(2);
            let max = Operation::Max;
            drop(world.iallreduce(rank, max, &source, &mut destination)?);
            let posted = collective(&take(&log));
            let id = page::c_go::ID.get(posted[8].1);
            assert_eq!(
                posted,
                [
                    (page::C_SOURCE, source.addr().0),
                    (page::C_FIRST, 0),
                    (page::C_WORDS, 6),
                    (page::C_DESTINATION, destination.addr().0),
                    (page::C_LOW, 0),
                    (page::C_HIGH, 6),
                    (page::C_COUNT, 3),
                    (page::C_WHAT, what),
                    go(0, id),
                ]
            );
            // Another communicator with the same operands: only the row changes.
            let request = one.iallreduce(rank, max, &source, destination.clone())?;
            assert!(
                request
                    .receipt()
                    .is_some_and(|receipt| receipt.is_hardware())
            );
            let posted = collective(&take(&log));
            assert_eq!(posted.len(), 1);
            assert_eq!(page::c_go::CONTEXT.get(posted[0].1), 1);
            assert_ne!(page::c_go::ID.get(posted[0].1), id);
            // A second collective of the same communicator waits.
            let mut queued = world.ibarrier(rank)?;
            assert_eq!(collective(&take(&log)), []);
            assert!(!rank.test(&mut queued)?);
            drop(two.igather(rank, 0, &source, destination.clone())?);
            let what = page::c_what::OPCODE.put(6);
            let posted = collective(&take(&log));
            assert_eq!(posted[0], (page::C_WHAT, what));
            assert_eq!(posted.len(), 2);
            drop((request, queued));
            Err::<(), _>(Error::program("nothing of it ends"))
        })
        .unwrap_err();
    assert!(error.to_string().ends_with("nothing of it ends"), "{error}");
}

#[test]
fn a_vector_for_all_others_is_written_once_and_the_owner_of_its_place_hears_of_it_last() {
    let mut spy = Spy::new(SoftBoard::new(4));
    spy.rank = Some(LocalRank(0));
    spy.wants_writes = true;
    let log = Arc::clone(&spy.log);
    // Writes of memory with their length, and puts with their local address.
    #[derive(Debug, PartialEq)]
    enum Seen {
        Wrote(u32, usize),
        Put(u32, u32),
    }
    let seen = |log: &[Access]| -> Vec<Seen> {
        let mut local = 0;
        let of = |access: &Access| match *access {
            Access::WriteMemory(at, length) => Some(Seen::Wrote(at, length)),
            Access::Write(offset, value) if offset == command(Opcode::XLaddr) => {
                local = value;
                None
            }
            Access::Write(offset, value) if offset == command(Opcode::XPut) => {
                Some(Seen::Put(x_commit::DPID.get(value), local))
            }
            _ => None,
        };
        log.iter().filter_map(of).collect()
    };
    let all = Job::new(Arc::new(spy)).unwrap().run(4, |rank| {
        let world = rank.world()?;
        let me = rank.pid().0;
        let pair = world.split(rank, Some(u32::from(me % 3 != 0)), 0)?;
        let mut sum = [0];
        rank.barrier()?;
        if me == 0 {
            take(&log);
        }
        world.allreduce(rank, Operation::Sum, &[me], &mut sum)?;
        assert_eq!(sum, [6]);
        let whole = (me == 0).then(|| seen(&take(&log)));
        // Ranks 0 and 3: the mirror of the ring at rank 3.
        if let Some(pair) = pair {
            pair.allreduce(rank, Operation::Sum, &[me], &mut sum)?;
            assert_eq!(sum, [3]);
        }
        Ok(whole.map(|whole| (whole, seen(&take(&log)))))
    });
    let (whole, pair) = all.unwrap().swap_remove(0).expect("the log of rank 0");
    let Some(&Seen::Wrote(at, length)) = whole.first() else {
        panic!("{whole:?}")
    };
    assert_eq!(length, 64);
    let put = |to| Seen::Put(to, at);
    assert_eq!(whole[1..4], [put(1), put(2), put(3)]);
    // The counts differ, because the split has sent other fragments to rank 3.
    let counts = &whole[4..];
    let is_count = |seen: &Seen| matches!(seen, Seen::Wrote(_, 4) | Seen::Put(..));
    assert!(counts.iter().all(is_count), "{whole:?}");
    assert_eq!(counts.last(), Some(&put(3)));
    let Some(&Seen::Wrote(third, length)) = pair.first() else {
        panic!("{pair:?}")
    };
    let expected = [
        Seen::Wrote(third, length),
        Seen::Put(3, third),
        Seen::Put(3, third),
    ];
    assert_eq!(pair, expected);
    // The rings have 16 KiB.
    assert!((1..4096).contains(&third.wrapping_sub(at)), "{at} {third}");
}

/// Entries of the completion ring without a count return no credits, whatever word 1 has: the library
/// waits for credits before it has posted more commands than the queue has room for.
#[test]
fn entries_without_a_count_return_no_credits() {
    for uncounts in [false, true] {
        let mut spy = Spy::new(SoftBoard::new(1));
        spy.uncounts = uncounts;
        let log = Arc::clone(&spy.log);
        let job = Job::new(Arc::new(spy)).unwrap();
        job.run(1, |rank| {
            let memory = rank.alloc::<u32>(64)?;
            let window = rank.register(&memory, Rights::ALL)?;
            take(&log);
            // Two commands for each put, and its completion.
            for at in 0..2 * 64 {
                let put = rank.iput(&window, rank.pid(), 0, memory.slice(at % 64..=at % 64)?)?;
                rank.wait(put)?;
            }
            let mut posted = 0;
            let waits = take(&log).into_iter().filter(|access| match *access {
                Access::Write(offset, _) if offset < 0x400 => {
                    posted += 1;
                    false
                }
                Access::Write(page::RETIRED_WAKE, _) | Access::Read(page::RETIRED) => {
                    assert!(posted <= 64, "{posted} commands without a credit");
                    posted = 0;
                    true
                }
                _ => false,
            });
            assert_eq!(waits.count() > 0, uncounts);
            Ok(())
        })
        .unwrap();
    }
}
