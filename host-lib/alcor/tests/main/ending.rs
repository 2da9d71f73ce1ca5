//! The ways in which runs end: success, error, panic, abort, death, watchdog.

use std::io::{self, BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::Duration;
use std::{env, thread};

use alcor::soft::{SoftBoard, SoftConfig};
use alcor::{
    AbortReason, Awaited, Board, BoardLayer, Causes, Cycle, Error, GlobalRank, Job, JobError,
    LocalRank, Opcode, Options, PageOffset, Port, PortLayer, Rank, Rights, Wake,
};

use crate::{right, run, run_with};

/// The errors of the peers of the rank that ended the run.
#[derive(Default)]
struct PeerErrors(Mutex<Vec<(GlobalRank, AbortReason)>>);

impl PeerErrors {
    fn note(&self, error: Error) -> Error {
        match &error {
            Error::Aborted { by, reason, .. } => self.0.lock().unwrap().push((*by, *reason)),
            other => panic!("{other}"),
        }
        error
    }

    fn assert_all_aborted(&self, peers: usize, wanted_by: u32, wanted: AbortReason) {
        let errors = self.0.lock().unwrap();
        assert_eq!(errors.len(), peers);
        for found in errors.iter() {
            assert_eq!(*found, (GlobalRank(wanted_by), wanted));
        }
    }
}

#[test]
fn a_rank_that_has_nothing_to_wait_for_learns_of_the_end() {
    let peer_errors = PeerErrors::default();
    let error = run(2, |rank| {
        if rank.pid() == GlobalRank(0) {
            return Err(Error::program("it has had enough"));
        }
        // Without the look in some of these calls, the rank would make all of them.
        for _ in 0..10_000_000 {
            rank.flush(GlobalRank(0))
                .map_err(|error| peer_errors.note(error))?;
        }
        Ok(())
    });
    assert_eq!(error.unwrap_err().rank(), Some(GlobalRank(0)));
    peer_errors.assert_all_aborted(1, 0, AbortReason::FAILED);
}

#[test]
fn a_job_runs_again_and_again() {
    let job = Job::new(SoftBoard::new(3)).unwrap();
    for ranks in [3, 1, 2] {
        let pids = job.run(ranks, |rank| {
            rank.barrier()?;
            Ok(rank.pid().0)
        });
        assert_eq!(pids.unwrap(), (0..ranks).collect::<Vec<_>>());
    }
    for ranks in [0, 4] {
        let error = job.run(ranks, |_| Ok(())).unwrap_err();
        assert!(matches!(error, JobError::NotStarted { .. }), "{error}");
    }
}

#[test]
fn a_panic_is_reported_and_its_peers_get_an_error() {
    let peer_errors = PeerErrors::default();
    let error = run(4, |rank| {
        rank.barrier()?;
        assert_ne!(rank.pid(), GlobalRank(2), "rank two falls");
        rank.barrier().map_err(|error| peer_errors.note(error))
    })
    .unwrap_err();
    assert_eq!(error.rank(), Some(GlobalRank(2)));
    let text = error.to_string();
    assert!(
        text.contains("rank 2 panicked: ") && text.contains("rank two falls"),
        "{text}"
    );
    peer_errors.assert_all_aborted(3, 2, AbortReason::PANICKED);
}

#[test]
fn a_failure_is_reported_and_its_peers_get_an_error() {
    let peer_errors = PeerErrors::default();
    let error = run(3, |rank| {
        let memory = rank.alloc::<u8>(4)?;
        let window = rank.register(&memory, Rights::ALL)?;
        if rank.pid() == GlobalRank(1) {
            rank.put(&window, GlobalRank(0), 1, &memory)?;
        }
        rank.barrier().map_err(|error| peer_errors.note(error))
    })
    .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("soft:3: rank 1 failed: rank 1: put of 4 bytes")
    );
    peer_errors.assert_all_aborted(2, 1, AbortReason::FAILED);

    let error = run(1, |_| Err::<(), _>(Error::program("my own"))).unwrap_err();
    assert_eq!(error.to_string(), "soft:1: rank 0 failed: my own");
}

/// Set in the process of the next test whose rank 0 does not return.
const SLEEPS: &str = "ALCOR_TEST_RANK_SLEEPS";

/// A thread can't be ended from outside, so the failure of the other ranks is printed while rank 0
/// reads from standard input, outside the library.
#[test]
fn a_failure_is_printed_while_another_rank_sleeps() {
    if env::var_os(SLEEPS).is_some() {
        let error = run(3, |rank| {
            // Time stands still while rank 0 sleeps, so all ranks begin first.
            rank.barrier()?;
            match rank.pid().0 {
                0 => {
                    let read = io::stdin().read_line(&mut String::new());
                    read.map(drop).map_err(Error::program)
                }
                1 => Err(Error::program("no input file")),
                _ => rank.barrier(),
            }
        })
        .unwrap_err();
        assert_eq!(error.to_string(), "soft:3: rank 1 failed: no input file");
        return;
    }
    let mut child = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "ending::a_failure_is_printed_while_another_rank_sleeps",
        ])
        .arg("--nocapture")
        .env(SLEEPS, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (lines, printed) = mpsc::channel();
    let errors = BufReader::new(child.stderr.take().unwrap());
    let reader = thread::spawn(move || {
        for line in errors.lines() {
            let _ = lines.send(line.unwrap());
        }
    });
    let line = printed.recv_timeout(Duration::from_secs(60));
    let is_running = child.try_wait().unwrap().is_none();
    // Rank 0 returns.
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    reader.join().unwrap();
    assert_eq!(
        line.as_deref(),
        Ok("soft:3: rank 1 failed: no input file; the run ends when the program of rank 0 returns")
    );
    assert!(is_running, "rank 0 sleeps");
}

#[test]
fn an_abort_ends_every_wait() {
    let peer_errors = PeerErrors::default();
    let error = run(4, |rank| {
        let memory = rank.alloc::<u8>(4)?;
        match rank.pid().0 {
            0 => {
                rank.abort(42)?;
                assert!(matches!(rank.barrier(), Err(Error::Aborted { .. })));
                Ok(())
            }
            1 => rank.register(&memory, Rights::ALL).map(|_| ()),
            _ => rank.barrier(),
        }
        .map_err(|error| peer_errors.note(error))
    })
    .unwrap_err();
    peer_errors.assert_all_aborted(3, 0, AbortReason(42));
    assert_eq!(
        error.to_string(),
        "soft:4: rank 0 failed: the run was aborted by rank 0: the program of the rank called abort(42)"
    );
}

/// Attaches a rank of a board, as a process does.
fn attach<B: Board + 'static>(board: &Arc<B>, local: u32, ranks: u32) -> Result<Rank, Error> {
    let board: Arc<dyn Board> = board.clone();
    let pid = GlobalRank(local);
    Rank::attach(board, LocalRank(local), pid, ranks, &Options::default())
}

#[test]
fn a_rank_that_is_dropped_takes_its_peers_along() {
    let board = SoftBoard::new(2);
    board.expect(2).unwrap();
    let peer_errors = PeerErrors::default();
    std::thread::scope(|scope| {
        scope.spawn(|| drop(attach(&board, 0, 2).unwrap()));
        scope.spawn(|| {
            // The abort may end the attachment.
            let ended = attach(&board, 1, 2).and_then(|mut rank| rank.barrier());
            peer_errors.note(ended.unwrap_err())
        });
    });
    peer_errors.assert_all_aborted(1, 0, AbortReason::DROPPED);
}

/// A rank that an abort ends may be gone before its peers learn of the abort.
#[test]
fn a_rank_that_an_abort_ends_is_not_dead() {
    let board = SoftBoard::new(3);
    board.expect(3).unwrap();
    let (aborted, gone) = (Barrier::new(3), Barrier::new(3));
    let peer_errors = PeerErrors::default();
    let program = |local: u32| {
        let mut rank = attach(&board, local, 3).unwrap();
        rank.barrier().unwrap();
        if local == 0 {
            rank.abort(42).unwrap();
        }
        aborted.wait();
        if local == 1 {
            let ended = rank.barrier();
            drop(rank);
            gone.wait();
            return ended;
        }
        gone.wait();
        rank.barrier()
    };
    std::thread::scope(|scope| {
        for local in 0..3 {
            let (program, peer_errors) = (&program, &peer_errors);
            scope.spawn(move || peer_errors.note(program(local).unwrap_err()));
        }
    });
    peer_errors.assert_all_aborted(3, 0, AbortReason(42));
}

/// A board whose rank 0 learns of a death in another process; the other ranks do not know yet.
struct HearsFirst {
    below: Arc<dyn Board>,
    has_heard: Arc<AtomicBool>,
}

struct HearsFirstPort {
    below: Box<dyn Port>,
    has_heard: Arc<AtomicBool>,
}

impl BoardLayer for HearsFirst {
    fn below(&self) -> &Arc<dyn Board> {
        &self.below
    }
    fn attach(self: Arc<Self>, rank: LocalRank) -> alcor::Result<Box<dyn Port>> {
        let below = Arc::clone(&self.below).attach(rank)?;
        if rank != LocalRank(0) {
            return Ok(below);
        }
        let has_heard = Arc::clone(&self.has_heard);
        Ok(Box::new(HearsFirstPort { below, has_heard }))
    }
}

impl PortLayer for HearsFirstPort {
    fn below(&mut self) -> &mut dyn Port {
        &mut *self.below
    }
    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> alcor::Result<Wake> {
        if self.has_heard.load(Ordering::Relaxed) {
            return Err(Error::PeerDied {
                board: "other".into(),
                rank: GlobalRank(7),
            });
        }
        self.below.wait(awaited, deadline)
    }
}

/// Processes learn of a death at different times. The process that learns of it first ends without
/// an abort, so that the others name the dead rank, too.
#[test]
fn a_rank_that_ends_because_of_a_death_aborts_nothing() {
    for is_dropped in [true, false] {
        let has_heard = Arc::<AtomicBool>::default();
        let below = SoftBoard::new(2);
        let board = Arc::new(HearsFirst {
            below: below.clone(),
            has_heard: Arc::clone(&has_heard),
        });
        below.expect(2).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut rank = attach(&board, 1, 2)?;
                // The watchdog ends the barrier that rank 0 does not enter.
                while rank.barrier().is_ok() {}
                Ok::<(), Error>(())
            });
            let mut rank = attach(&board, 0, 2).unwrap();
            has_heard.store(true, Ordering::Relaxed);
            let error = rank.barrier().unwrap_err();
            assert!(matches!(error, Error::PeerDied { .. }), "{error}");
            if is_dropped {
                drop(rank);
            } else {
                rank.finish().unwrap_err();
            }
        });
        let status = below.read32(PageOffset(alcor_abi::board::STATUS)).unwrap();
        // The watchdog of rank 1 has aborted the run.
        let by = alcor_abi::board::status::ABORT_RANK.get(status);
        assert_eq!(GlobalRank(by), GlobalRank(1));
    }
}

/// A port that is dropped before its rank has left the run is that of a process that ended.
#[test]
fn a_port_that_is_dropped_is_a_dead_rank() {
    let board = SoftBoard::new(2);
    board.expect(2).unwrap();
    let attach = |local| Arc::clone(&board).attach(LocalRank(local)).unwrap();
    let (dies, mut lives) = (attach(0), attach(1));
    drop(dies);
    let error = lives.wait(Causes::NONE, Cycle(100)).unwrap_err();
    assert!(
        matches!(
            error,
            Error::PeerDied {
                rank: GlobalRank(0),
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn ranks_attach_one_by_one_as_processes_do() {
    let board = SoftBoard::new(2);
    board.expect(2).unwrap();
    std::thread::scope(|scope| {
        for local in 0..2 {
            let board = &board;
            scope.spawn(move || {
                let pid = GlobalRank(local);
                let mut rank = attach(board, local, 2).unwrap();
                assert_eq!((rank.pid(), rank.nprocs()), (pid, 2));
                let memory = rank.alloc_from(&[0u32]).unwrap();
                let window = rank.register(&memory, Rights::ALL).unwrap();
                let target = right(&rank);
                rank.put(&window, target, 0, &[pid.0 + 10]).unwrap();
                rank.fence().unwrap();
                assert_eq!(rank.read_vec(&memory).unwrap(), [target.0 + 10]);
                rank.finish().unwrap();
            });
        }
    });
}

/// Waits past the library, as a rank with a long computation would.
fn compute(rank: &mut Rank, cycles: u64) -> Result<(), Error> {
    let until = Cycle(rank.now()?.0 + cycles);
    rank.lab().port().wait(Causes::NONE, until).map(drop)
}

#[test]
fn the_watchdog_names_who_waits_for_what() {
    let config = SoftConfig::default().ranks(3);
    let options = Options::default().watchdog_cycles(1000);
    let error = run_with(config, options, |rank| match rank.pid().0 {
        0 => compute(rank, 1_000_000),
        1 => {
            compute(rank, 500)?;
            rank.barrier()
        }
        _ => rank.barrier(),
    })
    .unwrap_err();
    assert_eq!(error.rank(), Some(GlobalRank(2)));
    match error.error() {
        Some(Error::Watchdog {
            awaited: Awaited::Barrier,
            cycles: 1000,
            states,
            ..
        }) => {
            assert_eq!(states.len(), 3);
            assert_eq!(states[2].at(), Some(alcor::SyncKind::Barrier));
        }
        _ => panic!("{error}"),
    }
    let text = error.to_string();
    assert!(
        text.contains(
            "rank 2 waited 1000 cycles for BARRIER: rank 0 has not arrived: it has no \
             command queued (it computes, or waits for another event); rank 1 waits at BARRIER; rank 2 waits at BARRIER"
        ),
        "{text}"
    );
}

#[test]
fn the_watchdog_names_a_rank_that_went_home() {
    let config = SoftConfig::default().ranks(2);
    let options = Options::default().watchdog_cycles(500);
    let error = run_with(config, options, |rank| match rank.pid().0 {
        0 => Ok(()),
        _ => rank
            .alloc::<u8>(1)
            .and_then(|region| rank.register(&region, Rights::ALL).map(drop)),
    })
    .unwrap_err();
    let text = error.to_string();
    assert!(text.contains("for REGISTER of node address"), "{text}");
    assert!(
        text.contains("rank 0 has not arrived: it has not begun the run, or has ended it"),
        "{text}"
    );
}

#[test]
fn the_watchdog_guards_credits_and_polls_too() {
    let config = SoftConfig::default().ranks(2);
    let options = Options::default().watchdog_cycles(500);
    let stuck = |credits: bool| {
        run_with(config, options, |rank| {
            if rank.pid() == GlobalRank(1) {
                return compute(rank, 1_000_000);
            }
            // No lookup of a window passes a barrier that the other rank never enters.
            let memory = rank.alloc::<u8>(1)?;
            rank.lab().command(Opcode::Barrier, 0)?;
            if credits {
                loop {
                    rank.lab().command(Opcode::XWindow, 0)?;
                }
            }
            let name = alcor::WindowName::Base(memory.addr());
            let kind = alcor::TransferKind::Put;
            let transfer = alcor::Transfer::new(kind, GlobalRank(1), name, memory.addr(), 1);
            let mut request = rank.lab().transfer(transfer)?;
            while !rank.test(&mut request)? {}
            Ok(())
        })
        .unwrap_err()
    };
    let credits = stuck(true).to_string();
    assert!(
        credits.contains("for room in the command queue: "),
        "{credits}"
    );
    let polls = stuck(false).to_string();
    assert!(
        polls.contains("for the completion of a put or get: "),
        "{polls}"
    );
}

#[test]
fn a_barrier_posted_raw_is_acknowledged_by_the_next_wait() {
    run(2, |rank| {
        rank.lab().command(Opcode::Barrier, 0)?;
        rank.lab().command(Opcode::Barrier, 0)?;
        rank.barrier()?;
        assert_eq!(rank.lab().counters()?.barriers, 3);
        Ok(())
    })
    .unwrap();
}

#[test]
fn texts_of_backend_errors() {
    let away = |ranks: &[u32]| Error::RankAway {
        board: "cosim:rma4".into(),
        ranks: ranks.iter().copied().map(GlobalRank).collect(),
        seconds: 10.0,
        waiting: 1,
    };
    for (ranks, who) in [
        (&[1][..], "rank 1 has been"),
        (&[1, 2], "ranks 1 and 2 have been"),
        (&[0, 1, 3], "ranks 0, 1 and 3 have been"),
    ] {
        let says = away(ranks).to_string();
        let wanted = format!("cosim:rma4: {who} outside the library for 10.0 s while 1 of");
        assert!(says.starts_with(&wanted), "{says}");
    }
    let died = Error::PeerDied {
        board: "cosim:ring3".into(),
        rank: GlobalRank(3),
    };
    assert!(died.to_string().starts_with("cosim:ring3: rank 3 died"));
    let board = Error::Board {
        board: "xdma:0".into(),
        source: "no such device".into(),
    };
    assert_eq!(board.to_string(), "xdma:0: no such device");
}
