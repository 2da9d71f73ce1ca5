//! The backend for cards over stand-in nodes: its function and its error messages.

use std::sync::Arc;
use std::time::{Duration, Instant};

use alcor::{
    Backend, Board, Causes, Cluster, Cycle, Error, GlobalRank, Job, JobError, LocalRank, NodeAddr,
    Options, PageOffset, Rights, Wake, identify,
};
use alcor_abi::board::{CONTROL, MAGIC, STATUS};
use alcor_abi::rank::{ACK_EVENTS, CAUSES, IRQ_ENABLE, RETIRED_WAKE, causes};
use alcor_abi::{LINE_PAGES, PAGE_BYTES, memory_pages, rank_page};
use alcor_cosim::CosimBackend;
use alcor_standin::StandInBackend;
use alcor_xdma::{XdmaBackend, XdmaError};
use xdma::BarOffset;
use xdma::standin::{Call, Device, Fault, Memory, StandIn};

fn served() -> StandIn {
    StandInBackend::new()
        .serve("rma2")
        .expect("a simulated board")
}

fn open(standin: &StandIn) -> Cluster {
    StandInBackend::backend(standin)
        .open("auto")
        .expect("the board")
}

fn board(standin: &StandIn) -> Arc<dyn Board> {
    Arc::clone(&open(standin).boards()[0])
}

/// The backend's error, if the error comes from the backend.
fn cause(error: &Error) -> Option<&XdmaError> {
    match error {
        Error::Board { source, .. } => source.downcast_ref(),
        _ => None,
    }
}

#[test]
fn ranks_put_and_send() {
    let standin = served();
    let received = Job::new(open(&standin))
        .expect("a job")
        .run(2, |rank| {
            let (me, inbox) = (rank.pid().0, rank.alloc::<u32>(4)?);
            let window = rank.register(&inbox, Rights::ALL)?;
            rank.put(&window, GlobalRank(1 - me), 0, &[me; 4])?;
            rank.fence()?;
            let mut found = [9];
            if me == 0 {
                rank.send(GlobalRank(1), 3, &[7_u32])?;
            } else {
                rank.recv(GlobalRank(0), 3, &mut found)?;
            }
            Ok((rank.read_vec(&inbox)?, found[0]))
        })
        .expect("a run");
    assert_eq!(received, [(vec![1; 4], 9), (vec![0; 4], 7)]);
    // The second channel from the card is the one of copies.
    for (node, is_used) in [
        ("h2c_0", true),
        ("h2c_1", true),
        ("c2h_0", true),
        ("c2h_1", false),
    ] {
        assert_eq!(!standin.transfers(node).is_empty(), is_used, "{node}");
    }
}

#[test]
fn a_card_in_real_time_gives_the_same_results() {
    let open = |rest: &str| StandInBackend::new().open(rest);
    for seed in 1..=4 {
        let cluster = open(&format!("rma2?profile=card&card-seed={seed}")).expect("a card");
        let received = Job::new(cluster).expect("a job").run(2, |rank| {
            let (me, inbox) = (rank.pid().0, rank.alloc::<u32>(1000)?);
            let window = rank.register(&inbox, Rights::ALL)?;
            // Longer and shorter than what goes by the BAR.
            for length in [1000, 40, 700] {
                rank.put(
                    &window,
                    GlobalRank(1 - me),
                    0,
                    &vec![me + length; length as usize],
                )?;
                rank.fence()?;
                rank.barrier()?;
            }
            rank.read_vec(&inbox)
        });
        for (me, found) in received.expect("a run").iter().enumerate() {
            let from = 1 - me as u32;
            assert!(found[..700].iter().all(|&word| word == from + 700));
            assert!(found[700..].iter().all(|&word| word == from + 1000));
        }
    }
    let error = open("rma2?profile=card&card-seed=many").expect_err("no number");
    assert!(error.to_string().contains("card-seed=7"), "{error}");
    assert!(StandInBackend::new().check("rma2?profile=card").is_ok());
}

#[test]
fn a_board_is_identified_reset_and_opened_by_its_address() {
    let standin = served();
    let backend = StandInBackend::backend(&standin);
    let cluster = backend
        .open(&standin.address().to_string())
        .expect("the board");
    let board = &cluster.boards()[0];
    assert_eq!(board.name(), "xdma:0000:3b:00.0");
    assert_eq!(identify(&**board).expect("ours").ranks, 2);
    assert!(board.traffic_digest().is_none() && !board.time_stands_still());
    board.reset().expect("a reset");
    assert_eq!(board.read32(PageOffset(STATUS)).expect("a register") & 1, 1);

    for (rest, says) in [
        ("rma2", "names no card"),
        ("0000:01:00.0", "no PCI function"),
        ("", "xdma:auto"),
        ("auto?driver=none", "names no card"),
        ("auto?driver=vfio", "not by vfio-pci"),
        ("auto?driver=vfio&iommu=none", "not by vfio-pci"),
        ("auto?iommu=none&driver=vfio", "not by vfio-pci"),
        ("auto?iommu=none", "names no card"),
        ("auto?driver=vendor&iommu=none", "names no card"),
    ] {
        let error = backend.open(rest).expect_err("no such card").to_string();
        assert!(error.contains(says), "{error}");
    }
    assert!(backend.open("auto?driver=vendor").is_ok());
}

#[test]
fn accesses_beyond_node_memory_are_refused() {
    let standin = served();
    let board = board(&standin);
    let bytes = identify(&*board).expect("ours").node_bytes;
    board.expect(2).expect("a run");
    let mut ports: Vec<_> = (0..2)
        .map(|rank| Arc::clone(&board).attach(LocalRank(rank)).expect("a port"))
        .collect();
    for (rank, port) in (0..).zip(&mut ports) {
        port.write_memory(NodeAddr(bytes - 3), &[rank, 2, 3])
            .expect("the last bytes");
        port.write_memory(NodeAddr(0), &[4 + rank])
            .expect("the first byte");
        let beyond = port.write_memory(NodeAddr(bytes - 3), &[0; 4]);
        assert!(matches!(
            beyond,
            Err(Error::BadNodeAddress { length: 4, .. })
        ));
        assert!(matches!(
            port.read_memory(NodeAddr(u32::MAX), &mut [0]),
            Err(Error::BadNodeAddress { .. })
        ));
    }
    for (rank, port) in (0..).zip(&mut ports) {
        let (mut last, mut first) = ([0; 3], [0]);
        port.read_memory(NodeAddr(bytes - 3), &mut last)
            .expect("the last bytes");
        port.read_memory(NodeAddr(0), &mut first)
            .expect("the first byte");
        assert_eq!((last, first), ([rank, 2, 3], [4 + rank]));
        port.leave().expect("the end");
    }
}

#[test]
fn a_wait_ends_at_its_deadline() {
    let standin = served();
    let board = board(&standin);
    board.expect(1).expect("a run");
    let mut port = board.attach(LocalRank(0)).expect("a port");
    let now = port.now().expect("the time");
    for cycles in [0, 10, 100_000] {
        let deadline = Cycle(port.now().expect("the time").0 + cycles);
        assert_eq!(
            port.wait(Causes::NONE, deadline).expect("a wait"),
            Wake::Deadline
        );
        assert!(port.now().expect("the time") >= deadline);
    }
    assert!(port.now().expect("the time").0 - now.0 >= 100_010);
    port.leave().expect("the end");
}

#[test]
fn each_rank_has_one_holder() {
    let standin = served();
    let (first, second) = (board(&standin), board(&standin));
    first.expect(2).expect("a run");
    let port = Arc::clone(&first).attach(LocalRank(1)).expect("a port");
    // In this process.
    assert!(matches!(
        Arc::clone(&first).attach(LocalRank(1)),
        Err(Error::RankTaken {
            rank: LocalRank(1),
            ..
        })
    ));
    assert!(matches!(
        Arc::clone(&first).attach(LocalRank(2)),
        Err(Error::NoSuchRank { ranks: 2, .. })
    ));
    assert!(matches!(
        first.reset(),
        Err(Error::BoardBusy { attached: 1, .. })
    ));
    assert!(matches!(first.expect(3), Err(Error::BoardBusy { .. })));
    // Another process sees the lock only.
    let held = |error: Option<Error>| {
        let error = error.expect("held");
        let me = std::process::id().to_string();
        assert!(
            matches!(cause(&error), Some(XdmaError::Held { rank: LocalRank(1), holder }) if *holder == me),
            "{error}"
        );
    };
    held(Arc::clone(&second).attach(LocalRank(1)).err());
    held(second.reset().err());
    // The other rank is free.
    drop(Arc::clone(&second).attach(LocalRank(0)).expect("a port"));
    drop(port);
    drop(Arc::clone(&second).attach(LocalRank(1)).expect("a port"));
    second.reset().expect("a reset");
}

#[test]
fn a_peer_that_dies_is_noticed() {
    let standin = served();
    let board = board(&standin);
    board.expect(2).expect("a run");
    let [mut waits, dies] =
        [0, 1].map(|rank| Arc::clone(&board).attach(LocalRank(rank)).expect("a port"));
    let began = Instant::now();
    let error = std::thread::scope(|scope| {
        let waiting = scope.spawn(move || waits.wait(Causes::NONE, Cycle(2_000_000)));
        std::thread::sleep(Duration::from_millis(5));
        drop(dies);
        waiting.join().expect("no panic").expect_err("a peer died")
    });
    assert!(
        matches!(
            error,
            Error::PeerDied {
                rank: GlobalRank(1),
                ..
            }
        ),
        "{error}"
    );
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_card_that_vanishes_ends_the_run() {
    for unplug in [false, true] {
        let standin = served();
        let job = Job::new(open(&standin)).expect("a job");
        let error = std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                job.run(2, |rank| {
                    loop {
                        rank.barrier()?
                    }
                })
            });
            std::thread::sleep(Duration::from_millis(30));
            if unplug {
                standin.unplug().expect("gone")
            } else {
                standin.remove_by_surprise()
            }
            let ended: Result<Vec<()>, JobError> = running.join().expect("no panic");
            ended.expect_err("no card").to_string()
        });
        assert!(
            error.contains("dead")
                || error.contains("no longer there")
                || error.contains("os error"),
            "{error}"
        );
    }
}

#[test]
fn faults_of_the_driver_reach_the_program() {
    let standin = served();
    let job = Job::new(open(&standin)).expect("a job");
    for (node, fault, says) in [
        ("h2c_0", Fault::Short(4), "ended after 4 bytes"),
        ("h2c_1", Fault::Errno(110), "did not answer within"),
        ("c2h_0", Fault::Errno(512), "did not answer within"),
        ("c2h_0", Fault::Errno(16), "another transfer"),
    ] {
        standin.fail(node, Call::Move, fault);
        let result = job.run(2, |rank| {
            let memory = rank.alloc_from(&[rank.pid().0; 16])?;
            rank.barrier()?;
            rank.read_vec(&memory).map(drop)
        });
        let error = result.expect_err("a fault").to_string();
        assert!(error.contains(says), "{node}: {error}");
        assert_eq!(standin.faults_left(), 0);
        // The fault leaves no trace.
        job.run(2, |rank| rank.barrier()).expect("the next run");
    }
}

#[test]
fn an_unknown_board_is_an_error() {
    let open = |device: Memory| {
        let standin = StandIn::new(device).expect("a stand-in");
        let cluster = StandInBackend::backend(&standin)
            .open("auto")
            .expect("a card");
        identify(&*cluster.boards()[0]).expect_err("not ours")
    };
    assert!(matches!(
        open(Memory::new(64)),
        Error::NotAlcor { found: 0, .. }
    ));
    let other = Memory::new(64);
    other.write32(u64::from(MAGIC), 0x1234);
    assert!(matches!(open(other), Error::NotAlcor { found: 0x1234, .. }));
    let dead = Memory::new(64);
    dead.write32(u64::from(MAGIC), u32::MAX);
    assert!(matches!(open(dead), Error::DeadLink { .. }));
    let stale = Memory::new(64);
    stale.write32(u64::from(MAGIC), alcor_abi::MAGIC);
    assert!(matches!(open(stale), Error::AbiVersion { .. }));
}

#[test]
fn a_board_not_ready_after_reset_is_an_error() {
    let design = Memory::new(64);
    design.write32(u64::from(MAGIC), alcor_abi::MAGIC);
    let standin = StandIn::new(design).expect("a stand-in");
    let error = board(&standin).reset().expect_err("never ready");
    assert!(
        matches!(cause(&error), Some(XdmaError::NotReady { status: 0, .. })),
        "{error}"
    );
    let registers = standin
        .machine()
        .only_card()
        .expect("the card")
        .user_bar()
        .expect("its BAR");
    let control = registers
        .read32(xdma::BarOffset(u64::from(CONTROL)))
        .expect("a register");
    assert_eq!((control, rank_page(0)), (1, 0x1000));
}

#[test]
fn a_short_bar_is_an_error() {
    use alcor_abi::board::{GEOMETRY, geometry};
    let design = Memory::new(64);
    design.write32(u64::from(MAGIC), alcor_abi::MAGIC);
    design.write32(u64::from(GEOMETRY), geometry::RANKS.put(16));
    let standin = StandIn::new(design).expect("a stand-in");
    let error = XdmaBackend::on(standin.machine())
        .open("auto")
        .expect_err("too short");
    assert!(
        matches!(
            cause(&error),
            Some(XdmaError::ShortBar {
                ranks: 16,
                needed: 0x1_1000,
                bytes: 0x1_0000
            })
        ),
        "{error}"
    );
}

#[test]
fn a_dead_link_is_an_error() {
    let standin = served();
    let board = board(&standin);
    board.expect(2).expect("a run");
    let mut port = Arc::clone(&board).attach(LocalRank(1)).expect("a port");
    port.read32(PageOffset(CAUSES)).expect("a register");
    standin.remove_by_surprise();
    let dead = |result: Result<u32, Error>| matches!(result, Err(Error::DeadLink { .. }));
    assert!(dead(port.read32(PageOffset(CAUSES))));
    assert!(dead(port.read_board32(PageOffset(STATUS))));
    assert!(dead(board.read32(PageOffset(STATUS))));
    assert!(dead(port.wait(Causes::NONE, Cycle(u64::MAX)).map(|_| 0)));
    assert!(dead(port.leave().map(|()| 0)));
}

/// Node memory behind the memory BAR has no register that tells a dead link.
#[test]
fn a_dead_link_is_no_data_of_node_memory() {
    let standin = StandInBackend::new().serve("rma2?profile=card").unwrap();
    let board = board(&standin);
    board.expect(2).expect("a run");
    let mut port = Arc::clone(&board).attach(LocalRank(1)).expect("a port");
    let mut data = [0; 8];
    port.write_memory(NodeAddr(64), &[u8::MAX; 8])
        .expect("a write");
    port.read_memory(NodeAddr(64), &mut data)
        .expect("ones that are there");
    assert_eq!(data, [u8::MAX; 8]);
    standin.remove_by_surprise();
    let read = port.read_memory(NodeAddr(0), &mut data);
    assert!(matches!(read, Err(Error::DeadLink { .. })), "{read:?}");
}

/// A process may die when half of its command line is written. The next holder of the rank forgets
/// these words, which would complete its own line too early.
#[test]
fn the_line_of_a_dead_rank_is_forgotten() {
    let backend = StandInBackend::new();
    let standin = backend.serve("rma2-wide?profile=card").unwrap();
    let shape = identify(&*board(&standin)).expect("ours");
    assert!(shape.has_lines());
    let pages = memory_pages(shape.ranks, shape.node_bytes) + LINE_PAGES;
    let card = standin.machine().only_card().expect("a card");
    for rank in 0..2 {
        let page = BarOffset(u64::from(pages + rank * PAGE_BYTES));
        let page = card.bypass_combined(page, 4096).expect("the page");
        for word in 8..16 {
            let written = page.write32(BarOffset(4 * word), 0xdead_0000 | word as u32);
            written.expect("a word");
        }
    }
    let received = Job::new(open(&standin)).expect("a job").run(2, |rank| {
        let (me, inbox) = (rank.pid().0, rank.alloc::<u32>(4)?);
        let window = rank.register(&inbox, Rights::ALL)?;
        for place in 0..4 {
            let value = [0x100 * (me + 1) + place as u32];
            rank.put(&window, GlobalRank(1 - me), place, &value)?;
        }
        rank.fence()?;
        rank.read_vec(&inbox)
    });
    let expected = [0x200, 0x100].map(|first| (first..first + 4).collect::<Vec<u32>>());
    assert_eq!(received.expect("a run"), expected);
}

#[test]
fn a_reset_clears_dead_peers() {
    let standin = served();
    let board = board(&standin);
    for _ in 0..2 {
        board.reset().expect("a reset");
        board.expect(2).expect("a run");
        let [mut lives, dies] =
            [0, 1].map(|rank| Arc::clone(&board).attach(LocalRank(rank)).expect("a port"));
        assert_eq!(
            lives.wait(Causes::NONE, Cycle(0)).expect("a wait"),
            Wake::Deadline
        );
        drop(dies);
        assert!(matches!(
            lives.wait(Causes::NONE, Cycle(0)),
            Err(Error::PeerDied { .. })
        ));
    }
}

/// A wait for a rank that computes has no limit on a card.
#[test]
fn a_rank_may_compute_for_longer_than_a_simulated_wait_lasts() {
    let standin = served();
    let received = Job::new(open(&standin))
        .expect("a job")
        .run(2, |rank| {
            let mut found = [0];
            if rank.pid().0 == 1 {
                rank.recv(GlobalRank(0), 3, &mut found)?;
                return Ok(found[0]);
            }
            let until = rank.now()?.0 + 2 * Options::SIMULATED_WATCHDOG;
            // The other rank moves the time of the stand-in while it waits.
            while rank.now()?.0 < until {
                std::thread::sleep(Duration::from_millis(1));
            }
            rank.send(GlobalRank(1), 3, &[7_u32])?;
            Ok(7)
        })
        .expect("a run");
    assert_eq!(received, [7, 7]);
}

#[test]
fn each_rank_has_its_own_event() {
    let standin = served();
    let board = board(&standin);
    board.expect(2).expect("a run");
    standin.fail("events_1", Call::Open, Fault::Errno(13));
    Arc::clone(&board)
        .attach(LocalRank(0))
        .expect("a port")
        .leave()
        .expect("the end");
    let error = Arc::clone(&board).attach(LocalRank(1)).err();
    let error = error.expect("no rights").to_string();
    assert!(
        error.contains("events_1") && error.contains("udev"),
        "{error}"
    );
    // The failed call has released its locks.
    drop(board.attach(LocalRank(1)).expect("a port"));
}

#[test]
fn interrupts_are_reported_once() {
    let board = CosimBackend::new()
        .open_free("rma2")
        .expect("a board")
        .remove(0);
    let page = rank_page(1);
    assert_eq!(board.pass().expect("time"), 0);
    board
        .write32(page + IRQ_ENABLE, causes::EVENT.put(1))
        .expect("a register");
    // An opcode that does not exist causes an event.
    board.write32(page + 0x3fc, 0).expect("a register");
    assert_eq!([(); 3].map(|()| board.pass().expect("time")), [0b10, 0, 0]);
    board
        .write32(page + ACK_EVENTS, u32::MAX)
        .expect("a register");
    board.write32(page + 0x3fc, 0).expect("a register");
    assert_eq!(board.pass().expect("time"), 0b10);
}

#[test]
fn a_read_sees_the_writes_before_it() {
    for profile in ["ideal", "gen3x16"] {
        let config = format!("rma2?profile={profile}");
        let board = CosimBackend::new()
            .open_free(&config)
            .expect("a board")
            .remove(0);
        // No command was retired, so the wake count of 0 is reached.
        for (rank, wake) in [(0, 1), (1, 0), (0, 0), (1, 1), (0, 2)] {
            let page = rank_page(rank);
            board
                .write32(page + RETIRED_WAKE, wake)
                .expect("a register");
            let found = board.read32(page + CAUSES).expect("a register");
            let expected = u32::from(wake == 0);
            assert_eq!(
                causes::CREDIT.get(found),
                expected,
                "{profile}, rank {rank}"
            );
        }
    }
}

#[test]
fn no_transfer_leaves_a_ranks_memory() {
    let board = CosimBackend::new()
        .open_free("rma2")
        .expect("a board")
        .remove(0);
    let bytes = u64::from(board.shape().node_bytes);
    for end in [bytes, 2 * bytes] {
        assert!(board.store(end - 4, &[1; 4]).expect("the last bytes"));
        assert!(board.load(end - 4, &mut [0; 4]).expect("the last bytes"));
        assert!(!board.store(end - 3, &[1; 4]).expect("an answer"));
        assert!(!board.load(end - 3, &mut [0; 4]).expect("an answer"));
    }
    assert!(!board.store(2 * bytes, &[1]).expect("an answer"));
    assert!(!board.load(u64::MAX, &mut [0]).expect("an answer"));
    for address in [2, board.register_bytes()] {
        assert!(board.read32(address).is_err() && board.write32(address, 0).is_err());
    }
}
