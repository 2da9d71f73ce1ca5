//! Boards joined by links.

use std::sync::Barrier;

use alcor::{Board, Causes, Cycle, Error, GlobalRank, LocalRank, NodeAddr, PageOffset, Wake};
use alcor_cosim::CosimError;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::fixture::*;

fn word(port: &mut dyn alcor::Port, at: u32) -> u32 {
    let mut bytes = [0; 4];
    port.read_memory(NodeAddr(4 * at), &mut bytes).unwrap();
    u32::from_le_bytes(bytes)
}

/// The stand-in's log of ages of phits that came in at a link.
fn ages(port: &mut dyn alcor::Port, link: u32, count: u32) -> Vec<u32> {
    (0..count)
        .map(|n| word(port, 0x100 + 64 * link + n))
        .collect()
}

#[test]
fn phits_arrive_in_the_cycle_that_the_latency_says() {
    for latency in [2, 3, 17, 110] {
        let cluster = cluster_with(&[3], 2, 256, &format!("link-latency={latency}&threads=1"));
        let ends = run_some(&cluster, 1, |board, _, port| {
            // Across the ends of windows, on both links.
            if board == 0 {
                let starts = [0, 13, 30 + latency, 60 + 2 * latency];
                for (start, link) in starts.into_iter().zip([0, 1, 0, 1]) {
                    port.wait(Causes::NONE, Cycle(start))?;
                    port.write32(SEND_PHITS, phits(5, link, 4))?;
                }
            }
            port.wait(Causes::NONE, Cycle(1000))?;
            assert_eq!(port.now()?, Cycle(1000));
            let (minus, plus) = (
                port.read_board32(LINK_RX)?,
                port.read_board32(PageOffset(LINK_RX.0 + 4))?,
            );
            let mut all = ages(port, 0, minus);
            all.extend(ages(port, 1, plus));
            let back = [
                port.read_board32(LINK_BACK)?,
                port.read_board32(PageOffset(LINK_BACK.0 + 4))?,
            ];
            Ok((minus, plus, all, back))
        });
        let ends: Vec<_> = ends.into_iter().map(Result::unwrap).collect();
        // What leaves port 0 of board 0 comes in at port 1 of board 1, and port 1 leads to port 0 of board 2.
        assert_eq!((ends[0].0, ends[0].1), (0, 0));
        assert_eq!((ends[1].0, ends[1].1), (0, 10));
        assert_eq!((ends[2].0, ends[2].1), (10, 0));
        assert_eq!(ends[0].3, [10, 10], "credits");
        for age in ends.iter().flat_map(|end| &end.2) {
            assert_eq!(u64::from(*age), latency);
        }
        assert_eq!(cluster.boards()[0].link_phits(), [10, 10]);
    }
}

#[test]
fn wide_phits_wait_for_the_wire() {
    let cluster = cluster_with(&[2], 2, 512, "link-latency=20");
    let ends = run_some(&cluster, 1, |board, _, port| {
        if board == 0 {
            port.write32(SEND_PHITS, phits(60, 0, 0))?;
        }
        port.wait(Causes::NONE, Cycle(500))?;
        Ok(ages(port, 1, 60))
    });
    for (n, age) in (0..).zip(ends[1].as_ref().unwrap()) {
        // 592 bits at 383.6 bits a cycle, and one more phit each cycle.
        assert_eq!(*age, (n * 5920_u32).div_ceil(3836) + 20 - n);
    }
}

#[test]
fn a_phit_wakes_a_rank_in_the_middle_of_a_window() {
    for threads in [1, 2] {
        let cluster = cluster_with(&[2], 2, 256, &format!("threads={threads}"));
        let ends = run_all(&cluster, |board, rank, port| {
            let mut heard = Vec::new();
            for turn in 0..6 {
                if board == turn % 2 {
                    if rank == 0 {
                        port.write32(SEND_PHITS, phits(1, 0, 0))?;
                    }
                    let now = port.now()?.0;
                    port.wait(Causes(HEARD), Cycle(now + 1))?;
                }
                if board != turn % 2 {
                    assert_eq!(
                        port.wait(Causes(HEARD), Cycle(100_000))?,
                        Wake::Raised(Causes(HEARD))
                    );
                    heard.push(port.now()?.0);
                    port.write32(ACK, HEARD)?;
                }
            }
            Ok(heard)
        });
        let ends: Vec<_> = ends.into_iter().map(Result::unwrap).collect();
        // Offered in cycle 1, at the head in cycle 2, served there, on the link in cycle 3; cause and interrupt are
        // registered, and seen at the edge that ends the cycle.
        assert_eq!(ends[2][0], 3 + 110 + 3);
        assert_eq!(ends[2], ends[3]);
        assert_eq!(ends[0], ends[1]);
        let both = [ends[2][0], ends[0][0], ends[2][1], ends[0][1]];
        for pair in both.windows(2) {
            assert!((115..=119).contains(&(pair[1] - pair[0])), "{both:?}");
        }
    }
}

/// Programs that post, wait, poll and listen, while all links are busy: nothing depends on threads.
#[test]
fn threads_have_no_say_in_it() {
    for (dims, ranks, query) in [
        (&[3][..], 2, ""),
        (&[2, 2, 2], 1, ""),
        (&[2], 2, "profile=gen3x16"),
    ] {
        let mut first = None;
        for threads in [1, 2, 3, 8] {
            let uri = format!("{query}&threads={threads}&link-latency=30");
            let cluster = cluster_with(dims, ranks, 256, &uri);
            for board in cluster.boards() {
                board.write32(TRAFFIC, board.number() + 1).unwrap();
            }
            let traces = run_all(&cluster, |board, rank, port| {
                let seed = u64::from(board * ranks + rank);
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                let mut trace = Vec::new();
                for _ in 0..60 {
                    match random.random_range(0..6) {
                        0 => trace.push(port.read32(RECEIVED)?.into()),
                        1 => trace.push(port.read_board32(LINK_RX)?.into()),
                        2 => port.write32(
                            SEND_PHITS,
                            phits(random.random_range(1..9), random.random_range(0..2), 3),
                        )?,
                        3 => port.write32(ACK, HEARD)?,
                        4 => {
                            port.write32(
                                SEND,
                                packet(rank, random.random_range(0..64), random.random()),
                            )?;
                        }
                        _ => {
                            pass(port, Causes(HEARD), random.random_range(0..60))?;
                        }
                    }
                    trace.push(port.now()?.0);
                }
                Ok(trace)
            });
            let traces: Vec<_> = traces.into_iter().map(Result::unwrap).collect();
            let times: Vec<_> = cluster.boards().iter().map(|board| board.now()).collect();
            let digests: Vec<_> = cluster
                .boards()
                .iter()
                .map(|board| (board.traffic_digest(), board.link_digest()))
                .collect();
            let phits: Vec<_> = cluster
                .boards()
                .iter()
                .map(|board| board.link_phits())
                .collect();
            assert!(phits.iter().flatten().all(|&phits| phits > 50), "{phits:?}");
            assert_eq!(cluster.threads(), threads.min(cluster.boards().len()));
            let outcome = (traces, times, digests, cluster.link_digest(), phits);
            let first = first.get_or_insert_with(|| outcome.clone());
            assert!(
                *first == outcome,
                "{dims:?}, {query}: {threads} threads differ"
            );
        }
    }
}

#[test]
fn a_run_begins_with_the_boards_that_have_no_part_in_it() {
    let cluster = cluster(&[4], 2);
    for round in 0..3 {
        for board in cluster.boards() {
            board.reset().unwrap();
        }
        for (board, ports) in cluster.boards().iter().zip([0, 2, 0, 1]) {
            board.expect(ports).unwrap();
        }
        let [_, first, idle, second] = cluster.boards() else {
            panic!()
        };
        assert!(matches!(
            cosim(&idle.clone().attach(LocalRank(0)).err().unwrap()),
            CosimError::TooManyPorts { expected: 0 }
        ));
        let mut ports = vec![
            first.clone().attach(LocalRank(0)).unwrap(),
            first.clone().attach(LocalRank(1)).unwrap(),
            second.clone().attach(LocalRank(1)).unwrap(),
        ];
        std::thread::scope(|scope| {
            for port in &mut ports {
                scope.spawn(move || {
                    port.wait(Causes::NONE, Cycle(1000 + round)).unwrap();
                    port.leave().unwrap();
                });
            }
        });
        // Boards without ranks are at the end of the window.
        let times: Vec<_> = cluster.boards().iter().map(|board| board.now()).collect();
        assert_eq!(times, [1090, 1000 + round, 1090, 1000 + round]);
    }
}

#[test]
fn a_death_on_one_board_ends_the_waits_on_all() {
    let cluster = cluster(&[3], 2);
    let ends = run_all(&cluster, |board, rank, port| {
        port.wait(Causes::NONE, Cycle(100))?;
        if (board, rank) == (1, 1) {
            return Err(Error::BadOption {
                option: "life",
                value: 0,
                rule: "it has to be more",
            });
        }
        port.wait(Causes::NONE, Cycle(100_000))
    });
    for (slot, end) in ends.iter().enumerate() {
        match end.as_ref().unwrap_err() {
            Error::PeerDied { board, rank } => {
                assert_eq!((rank.0, slot != 3), (3, true));
                assert_eq!(board, "stand-in");
            }
            Error::BadOption { .. } => assert_eq!(slot, 3),
            other => panic!("{other}"),
        }
    }
    // The next run begins on any board.
    for board in cluster.boards() {
        board.reset().unwrap();
    }
    for end in run_all(&cluster, |_, _, port| port.wait(Causes::NONE, Cycle(500))) {
        end.unwrap();
    }
}

#[test]
fn who_is_away_is_named_by_its_number_in_the_run() {
    let cluster = cluster_with(&[2], 2, 256, "away=0.2");
    let is_told = Barrier::new(4);
    let ends = run_all(&cluster, |board, rank, port| {
        if (board, rank) == (1, 0) {
            is_told.wait();
        }
        let end = port.wait(Causes::NONE, Cycle(1000));
        if (board, rank) != (1, 0) {
            is_told.wait();
        }
        end
    });
    for end in ends {
        match end.unwrap_err() {
            Error::RankAway {
                board,
                ranks,
                waiting,
                ..
            } => assert_eq!(
                (&*board, ranks, waiting),
                ("stand-in", vec![GlobalRank(2)], 3)
            ),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_model_that_fails_is_named() {
    let cluster = cluster_with(&[2, 2, 2], 1, 256, "threads=2");
    for _ in 0..2 {
        let ends = run_all(&cluster, |board, _, port| {
            port.wait(Causes::NONE, Cycle(150))?;
            if board == 2 {
                port.write32(CRASH, 0)?;
            }
            port.wait(Causes::NONE, Cycle(1000))
        });
        for end in ends {
            let error = end.unwrap_err();
            assert!(error.to_string().contains("board 2 of stand-in"), "{error}");
            assert!(matches!(
                cosim(&error),
                CosimError::Model { cycle: 153, .. }
            ));
        }
        for board in cluster.boards() {
            board.reset().unwrap();
        }
        assert_eq!(cluster.board_cycles(), 0);
    }
}

#[test]
fn boards_are_reset_together() {
    let cluster = cluster(&[2], 2);
    let [first, second] = cluster.boards() else {
        panic!()
    };
    // What was set before the first port is not undone by a reset of another board that has nothing to undo.
    first.reset().unwrap();
    first.write32(PLACE, 7).unwrap();
    second.reset().unwrap();
    second.write32(PLACE, 9).unwrap();
    assert_eq!(first.read32(PLACE).unwrap(), 7);
    assert_eq!(second.read32(PLACE).unwrap(), 9);
    assert_eq!((first.now(), second.now()), (0, 0));

    second.expect(0).unwrap();
    first.expect(1).unwrap();
    let mut port = first.clone().attach(LocalRank(0)).unwrap();
    for board in cluster.boards() {
        assert!(matches!(board.reset(), Err(Error::BoardBusy { .. })));
        assert!(matches!(
            board.write32(PLACE, 1),
            Err(Error::BoardBusy { .. })
        ));
        assert!(matches!(board.expect(1), Err(Error::BoardBusy { .. })));
    }
    port.wait(Causes::NONE, Cycle(300)).unwrap();
    assert_eq!(port.read_board32(PLACE).unwrap(), 7);
    port.leave().unwrap();
    drop(port);
    assert!(matches!(
        cosim(&second.write32(PLACE, 1).unwrap_err()),
        CosimError::SetLate { cycle: 327 }
    ));
    first.reset().unwrap();
    assert_eq!((first.now(), second.now()), (0, 0));
    assert_eq!(second.read32(PLACE).unwrap(), 0);
}

#[test]
fn a_board_alone_is_set_up_too() {
    for query in ["", "profile=gen3x16"] {
        let board = board_with(2, query);
        for n in 0..5 {
            board.write32(PLACE, 40 + n).unwrap();
        }
        assert_eq!((board.read32(PLACE).unwrap(), board.now()), (44, 0));
        run_well(&board, |_, port| port.wait(Causes::NONE, Cycle(500)));
        assert!(board.write32(PLACE, 1).is_err());
        board.reset().unwrap();
        assert_eq!(board.read32(PLACE).unwrap(), 0);
        board.write32(PLACE, 1).unwrap();
        assert_eq!(board.read32(PLACE).unwrap(), 1);
    }
}

#[test]
fn what_is_sent_too_early_is_noticed() {
    let cluster = cluster(&[2], 2);
    let board = &cluster.boards()[1];
    board.write32(TRAFFIC, 1).unwrap();
    let early = (0..100).find_map(|n| board.write32(PLACE, n).err());
    assert!(matches!(cosim(&early.unwrap()), CosimError::SentEarly));
}

#[test]
fn memory_in_banks_is_memory() {
    for (phit_bits, query) in [(256, ""), (512, ""), (256, "profile=gen3x16")] {
        let cluster = cluster_with(&[2], 2, phit_bits, query);
        let ends = run_all(&cluster, |board, rank, port| {
            let mut random = ChaCha8Rng::seed_from_u64(u64::from(2 * board + rank));
            let mut image = vec![0u8; NODE_BYTES as usize];
            port.write_memory(NodeAddr(0), &image)?;
            for _ in 0..60 {
                let at = random.random_range(0..NODE_BYTES as usize - 1);
                let most = (NODE_BYTES as usize - at).min(1 << random.random_range(0..13));
                let len = random.random_range(0..=most);
                let data: Vec<u8> = (0..len).map(|_| random.random()).collect();
                image[at..at + len].copy_from_slice(&data);
                port.write_memory(NodeAddr(at as u32), &data)?;
                let at = random.random_range(0..NODE_BYTES as usize - 1);
                let len = random.random_range(0..=most.min(NODE_BYTES as usize - at));
                let mut found = vec![0; len];
                port.read_memory(NodeAddr(at as u32), &mut found)?;
                assert!(found == image[at..at + len]);
            }
            // A word that the model itself writes.
            port.write32(SEND, packet(rank, 0x55, 0xbeef))?;
            pass(port, Causes::NONE, 1000)?;
            assert_eq!(word(port, 0x55), 0xbeef);
            Ok(())
        });
        ends.into_iter().for_each(|end| end.unwrap());
    }
}

#[test]
fn a_board_of_a_cluster_is_recorded() {
    let cluster = cluster_with(&[2], 2, 256, "link-latency=20");
    let board = &cluster.boards()[1];
    let program = || {
        for board in cluster.boards() {
            board.reset().unwrap();
            board.write32(TRAFFIC, board.number() + 5).unwrap();
        }
        for end in run_some(&cluster, 1, |board, _, port| {
            port.write_memory(NodeAddr(0), &[board as u8; 64])?;
            port.write32(SEND, packet(0, 9, 4))?;
            port.wait(Causes::NONE, Cycle(2000))
        }) {
            end.unwrap();
        }
    };
    board.record().unwrap();
    program();
    let recording = board.take_recording().unwrap();
    assert_eq!(recording.cycles(), 2000);
    let replay = board.replay(&recording, u64::MAX).unwrap();
    assert_eq!(replay.cycles, 2000);
    let digest = cluster.traffic_digest();
    program();
    assert_eq!(cluster.traffic_digest(), digest);
}

#[test]
fn waves_of_each_board_have_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.fst");
    let query = format!("waves={}&waves-from=50&waves-to=400", file.display());
    let cluster = cluster_with(&[2], 2, 256, &query);
    for end in run_all(&cluster, |_, _, port| port.wait(Causes::NONE, Cycle(600))) {
        end.unwrap();
    }
    assert!(!file.exists());
    for name in ["run.0.fst", "run.1.fst"] {
        assert!(folder.path().join(name).metadata().unwrap().len() > 0);
    }
}

#[test]
fn time_passes_without_ranks() {
    let mut digests = Vec::new();
    for threads in [1, 3] {
        let query = format!("threads={threads}&link-latency=15");
        let cluster = cluster_with(&[2, 2, 2], 1, 256, &query);
        for board in cluster.boards() {
            board.write32(TRAFFIC, board.number() + 1).unwrap();
        }
        cluster.idle(1000).unwrap();
        cluster.idle(9000).unwrap();
        assert_eq!(cluster.board_cycles(), 80_000);
        digests.push((cluster.traffic_digest(), cluster.link_digest()));
        for board in cluster.boards() {
            let sent = board.link_phits();
            assert!(sent.iter().all(|&phits| phits > 5000), "{sent:?}");
            assert_eq!(board.read32(LINK_TX).unwrap(), sent[0] as u32);
            board.expect(1).unwrap();
        }
        for end in run_all(&cluster, |_, _, port| {
            port.wait(Causes::NONE, Cycle(10_100))
        }) {
            end.unwrap();
        }
    }
    assert_eq!(digests[0], digests[1]);
}
