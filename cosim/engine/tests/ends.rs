//! Runs that end before their time.

use std::sync::{Arc, Barrier};

use alcor::{Board, Causes, Cycle, Error, GlobalRank, LocalRank, NodeAddr, PageOffset};
use alcor_cosim::CosimError;

use crate::fixture::*;

#[test]
fn a_death_ends_all_waits() {
    let board = board(4);
    let ends = run(&board, |rank, port| {
        port.wait(Causes::NONE, Cycle(100 * (1 + u64::from(rank))))?;
        if rank == 2 {
            return Err(Error::BadOption {
                option: "life",
                value: 0,
                rule: "it has to be more",
            });
        }
        let error = port.wait(Causes::NONE, Cycle(100_000)).unwrap_err();
        // Nothing waits any more, but what takes no time still works.
        assert!(matches!(
            port.wait(Causes::NONE, Cycle(100_000)),
            Err(Error::PeerDied {
                rank: GlobalRank(2),
                ..
            })
        ));
        assert!(port.read32(RETIRED).is_ok());
        Err::<(), _>(error)
    });
    for (rank, end) in ends.iter().enumerate() {
        match end.as_ref().unwrap_err() {
            Error::PeerDied {
                rank: GlobalRank(2),
                ..
            } => assert_ne!(rank, 2),
            Error::BadOption { .. } => assert_eq!(rank, 2),
            other => panic!("{other}"),
        }
    }
    // Time stood still when it happened, and the next run is none the worse for it.
    assert_eq!(board.now(), 300);
    board.reset().unwrap();
    run_well(&board, |_, port| port.wait(Causes::NONE, Cycle(10)));
}

#[test]
fn the_lowest_of_the_dead_is_named() {
    for _ in 0..20 {
        let board = board(4);
        let ends = run(&board, |rank, port| {
            if rank == 1 || rank == 3 {
                return Err(Error::BadOption {
                    option: "life",
                    value: 0,
                    rule: "it has to be more",
                });
            }
            port.wait(Causes::NONE, Cycle(1000)).map(drop)
        });
        assert!(matches!(
            ends[0],
            Err(Error::PeerDied {
                rank: GlobalRank(1),
                ..
            })
        ));
        assert!(matches!(
            ends[2],
            Err(Error::PeerDied {
                rank: GlobalRank(1),
                ..
            })
        ));
    }
}

#[test]
fn who_leaves_is_not_missed() {
    let board = board(4);
    let ends = run_well(&board, |rank, port| {
        for n in 0..=u64::from(rank) {
            port.wait(Causes::NONE, Cycle(50 * (n + 1)))?;
        }
        // Posted last: delivered all the same.
        port.write32(SEND, packet(3, rank, 1))?;
        port.leave()?;
        port.leave()?;
        assert!(matches!(
            cosim(&port.wait(Causes::NONE, Cycle(9)).unwrap_err()),
            CosimError::HasLeft { .. }
        ));
        Ok(port.now()?.0)
    });
    assert_eq!(ends.len(), 4);
    board.expect(1).unwrap();
    let mut port = Arc::clone(&board).attach(LocalRank(3)).unwrap();
    port.wait(Causes::NONE, Cycle(1000)).unwrap();
    assert_eq!(port.read32(RECEIVED).unwrap(), 4);
    port.leave().unwrap();
}

#[test]
fn who_is_away_is_named() {
    let board = board_with(2, "away=0.2");
    let is_told = Barrier::new(2);
    let ends = run(&board, |rank, port| {
        if rank == 1 {
            is_told.wait();
        }
        let end = port.wait(Causes::NONE, Cycle(1000));
        if rank == 0 {
            is_told.wait();
        }
        end
    });
    for end in ends {
        match end.unwrap_err() {
            Error::RankAway { ranks, waiting, .. } => {
                assert_eq!((ranks, waiting), (vec![GlobalRank(1)], 1));
            }
            other => panic!("{other}"),
        }
    }
    // A rank that never comes is missing.
    board.reset().unwrap();
    let mut port = Arc::clone(&board).attach(LocalRank(0)).unwrap();
    let error = port.wait(Causes::NONE, Cycle(10)).unwrap_err();
    match &error {
        Error::RanksMissing { ranks, waiting, .. } => {
            assert_eq!((&ranks[..], *waiting), (&[GlobalRank(1)][..], 1));
        }
        other => panic!("{other}"),
    }
    assert!(
        error
            .to_string()
            .contains("rank 1 has not attached within 0.2 s"),
        "{error}"
    );
}

/// One rank moves time for longer than the limit; the other one waits all the while.
#[test]
fn a_long_run_is_not_an_absence() {
    let board = board_with(2, "away=0.4");
    let both = Barrier::new(2);
    run_well(&board, |rank, port| {
        both.wait();
        port.wait(Causes::NONE, Cycle(4_000_000 + u64::from(rank)))
    });
    assert_eq!(board.now(), 4_000_001);
}

#[test]
fn a_failed_assertion_ends_the_run() {
    let board = board(2);
    let memory = [1, 2, 3, 4];
    let ends = run(&board, |rank, port| {
        port.write_memory(NodeAddr(100), &memory)?;
        if rank == 0 {
            port.wait(Causes::NONE, Cycle(20))?;
            port.write32(CRASH, 0)?;
        }
        port.wait(Causes::NONE, Cycle(1000))
    });
    for end in ends {
        match cosim(&end.unwrap_err()) {
            CosimError::Model { cycle, failure } => {
                // Offered in cycle 21, at the head in cycle 22, seen at the edge that ends it.
                assert_eq!(*cycle, 23);
                assert!(failure.file.ends_with("stand_in.sv"), "{failure:?}");
                assert!(failure.line > 0);
                assert!(
                    failure.message.contains("rank 0 was told to fail"),
                    "{failure:?}"
                );
            }
            other => panic!("{other}"),
        }
    }
    // A reset starts anew, with nothing in memory.
    board.reset().unwrap();
    run_well(&board, |_, port| {
        let mut found = [0; 4];
        port.read_memory(NodeAddr(100), &mut found)?;
        assert_eq!(found, [0; 4]);
        port.wait(Causes::NONE, Cycle(100))
    });
}

#[test]
fn misuse_is_refused() {
    let board = board(2);
    assert!(matches!(
        Arc::clone(&board).attach(LocalRank(2)),
        Err(Error::NoSuchRank { ranks: 2, .. })
    ));
    assert!(matches!(board.expect(3), Err(Error::NoSuchRank { .. })));
    assert!(matches!(board.expect(0), Err(Error::BadOption { .. })));
    board.expect(1).unwrap();
    let mut port = Arc::clone(&board).attach(LocalRank(0)).unwrap();
    assert!(matches!(
        Arc::clone(&board).attach(LocalRank(0)),
        Err(Error::RankTaken { .. })
    ));
    let error = Arc::clone(&board).attach(LocalRank(1)).err().unwrap();
    assert!(matches!(
        cosim(&error),
        CosimError::TooManyPorts { expected: 1 }
    ));
    assert!(matches!(
        board.reset(),
        Err(Error::BoardBusy { attached: 1, .. })
    ));
    assert!(matches!(board.expect(2), Err(Error::BoardBusy { .. })));
    assert!(matches!(board.record(), Err(Error::BoardBusy { .. })));
    for offset in [2, 4096, u32::MAX] {
        assert!(matches!(
            cosim(&port.read32(PageOffset(offset)).unwrap_err()),
            CosimError::BadRegister { .. }
        ));
        assert!(port.write32(PageOffset(offset), 0).is_err());
        assert!(port.read_board32(PageOffset(offset)).is_err());
        assert!(board.read32(PageOffset(offset)).is_err());
    }
    for (at, len) in [
        (NODE_BYTES, 1),
        (NODE_BYTES - 1, 2),
        (u32::MAX, 1),
        (0, NODE_BYTES as usize + 1),
    ] {
        let mut bytes = vec![0; len];
        assert!(matches!(
            port.read_memory(NodeAddr(at), &mut bytes),
            Err(Error::BadNodeAddress { .. })
        ));
        assert!(matches!(
            port.write_memory(NodeAddr(at), &bytes),
            Err(Error::BadNodeAddress { .. })
        ));
    }
    port.read_memory(NodeAddr(NODE_BYTES), &mut []).unwrap();
    assert_eq!(port.now().unwrap(), Cycle(0));
    port.leave().unwrap();
    drop(port);
    board.reset().unwrap();
}
