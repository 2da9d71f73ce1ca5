//! The notes of operations that a rank sends to its port.

use std::collections::HashMap;
use std::sync::Arc;

use alcor::soft::SoftBoard;
use alcor::{Activity, GlobalRank, Job, Note, Operation, Rank, Result, Rights, Status};
use alcor_abi::{Opcode, command, rank as registers};

use crate::spy::{Access, Spy};

/// Returns the accesses of a program to the ports of two ranks.
fn seen(wants_notes: bool, program: impl Fn(&mut Rank) -> Result<()> + Send + Sync) -> Vec<Access> {
    let mut spy = Spy::new(SoftBoard::new(1));
    spy.wants_notes = wants_notes;
    let log = Arc::clone(&spy.log);
    Job::new(Arc::new(spy) as Arc<dyn alcor::Board>)
        .unwrap()
        .run(1, program)
        .unwrap();
    let seen = log.lock().unwrap();
    seen.clone()
}

fn operations(rank: &mut Rank) -> Result<()> {
    let me = GlobalRank(0);
    let mut data = rank.alloc_from(&[1u32, 2])?;
    let window = rank.register(&data, Rights::ALL)?;
    rank.put(&window, me, 0, &data)?;
    rank.get(&window, me, 0, &mut data)?;
    let sent = rank.isend(me, 3, &data)?;
    let received = rank.irecv(me, 3, data.clone())?;
    rank.wait_all([sent, received])?;
    let world = rank.world()?;
    world.allreduce_in_place(rank, Operation::Sum, &mut data)?;
    rank.barrier()?;
    rank.deregister(window)
}

#[test]
fn every_operation_begins_and_ends_once() {
    let mut begun = HashMap::new();
    let mut order = Vec::new();
    let mut commits = HashMap::new();
    let mut posting = None;
    for access in seen(true, operations) {
        match access {
            Access::Note(Note::Began {
                operation,
                activity,
                bytes,
                ..
            }) => {
                assert!(begun.insert(operation, activity).is_none(), "{activity}");
                order.push((activity, bytes));
            }
            Access::Note(Note::Posting { operation }) => {
                assert!(begun.contains_key(&operation));
                posting = Some(operation);
            }
            Access::Note(Note::Ended { operation, status }) => {
                assert_eq!(status, Status::Ok);
                assert!(begun.remove(&operation).is_some());
            }
            Access::Write(offset, _) => {
                // The next write commits the operation.
                if let Some(operation) = posting.take() {
                    commits.insert(operation, (begun[&operation], offset));
                }
            }
            _ => {}
        }
    }
    assert!(begun.is_empty(), "{begun:?}");
    let expected = [
        (Activity::Register, 0),
        (Activity::Put, 8),
        (Activity::Get, 8),
        (Activity::Send, 8),
        (Activity::Receive, 8),
        (Activity::Collective(alcor::Collective::Allreduce), 0),
        (Activity::Barrier, 0),
        (Activity::Deregister, 0),
    ];
    // The world's communicator registers a window of the library.
    let own: Vec<_> = order
        .iter()
        .filter(|note| expected.contains(note))
        .collect();
    assert!(expected.iter().all(|note| own.contains(&note)), "{order:?}");
    let commit = |activity| {
        let mut found = commits.values().filter(|commit| commit.0 == activity);
        found.next().map(|commit| commit.1)
    };
    let offset = |opcode| Some(command(opcode));
    assert_eq!(commit(Activity::Put), offset(Opcode::XPut));
    assert_eq!(commit(Activity::Get), offset(Opcode::XGet));
    assert_eq!(commit(Activity::Send), offset(Opcode::XSend));
    assert_eq!(commit(Activity::Receive), offset(Opcode::XReceive));
    assert_eq!(commit(Activity::Register), offset(Opcode::Register));
    assert_eq!(commit(Activity::Deregister), offset(Opcode::Deregister));
    assert_eq!(commit(Activity::Barrier), offset(Opcode::Barrier));
    assert!(
        commits
            .values()
            .all(|commit| commit.1 < registers::IDENTITY)
    );
}

#[test]
fn a_port_that_wants_no_notes_gets_none_and_the_same_writes() {
    let with = seen(true, operations);
    let without = seen(false, operations);
    assert!(with.iter().any(|access| matches!(access, Access::Note(_))));
    let rest: Vec<_> = with
        .into_iter()
        .filter(|access| !matches!(access, Access::Note(_)))
        .collect();
    assert_eq!(rest, without);
}
