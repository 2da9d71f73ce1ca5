//! Calls reach their own instance on any thread, panics become errors, recordings replay.

use std::thread;

use crate::support::{build, model};
use verimodel::{Build, Dpi, Error, FailureKind, Flow, Model};

#[derive(Default)]
struct Board {
    number: u32,
    requests: Vec<Vec<u32>>,
    counted: u64,
    stop_at: Option<u64>,
    panic_at: Option<u64>,
}

impl Dpi for Board {
    fn call(&mut self, function: usize, input: &[u32], output: &mut [u32]) -> Flow {
        match function {
            0 => {
                assert_eq!(output, [0; 4]);
                output.copy_from_slice(&[self.number, input[0], u32::MAX, u32::MAX]);
                if self.requests.len() < 3 {
                    self.requests.push(input.to_vec());
                }
            }
            _ => {
                self.counted += 1;
                assert!(
                    self.panic_at != Some(self.counted),
                    "number {} gave up",
                    self.number
                );
                // Mostly zero, so that a recording can omit calls.
                if self.counted.is_multiple_of(7) {
                    output[0] = input[0];
                }
            }
        }
        if self.stop_at == Some(self.counted) {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }
}

fn recipe() -> Build<'static> {
    build("echo")
        .dpi("alcor_ask")
        .dpi("alcor_count")
        .dpi("alcor_never")
}

fn echo() -> Model {
    model(recipe())
}

#[test]
fn vectors_pass_whole() {
    let mut board = echo()
        .instantiate(
            "board",
            Board {
                number: 9,
                ..Board::default()
            },
        )
        .unwrap();
    let clk = board.input("clk_i").unwrap();
    board.run(&clk, 3).unwrap();
    assert_eq!(
        board.dpi().requests,
        [
            [0, 0xcafe_f00d, 0x2a],
            [1, 0xcafe_f00d, 0x2a],
            [2, 0xcafe_f00d, 0x2a]
        ]
    );
    let mut answer = [0; 4];
    board
        .get_words(&board.output("answer_o").unwrap(), &mut answer)
        .unwrap();
    assert_eq!(answer, [9, 2, u32::MAX, 0xf]);
    assert!(board.input("dpi_handle_i").is_err());
}

#[test]
fn instances_on_threads_find_their_own_state() {
    let echo = echo();
    let boards: Vec<_> = (1..=4)
        .map(|number| {
            echo.instantiate(
                format!("board{number}"),
                Board {
                    number,
                    ..Board::default()
                },
            )
            .unwrap()
        })
        .collect();
    let ran: Vec<_> = boards
        .into_iter()
        .map(|mut board| {
            thread::spawn(move || {
                let clk = board.input("clk_i").unwrap();
                board.run(&clk, 2000).unwrap();
                board
            })
        })
        .collect();
    for (thread, number) in ran.into_iter().zip(1u32..) {
        // Each instance continues here, on another thread.
        let mut board = thread.join().unwrap();
        let clk = board.input("clk_i").unwrap();
        board.run(&clk, number.into()).unwrap();
        let mut answer = [0; 4];
        board
            .get_words(&board.output("answer_o").unwrap(), &mut answer)
            .unwrap();
        assert_eq!(answer, [number, 1999 + number, u32::MAX, 0xf]);
        assert_eq!(board.dpi().counted, 2000 + u64::from(number));
    }
}

#[test]
fn a_call_can_stop_a_run() {
    let mut board = echo()
        .instantiate(
            "board",
            Board {
                stop_at: Some(25),
                ..Board::default()
            },
        )
        .unwrap();
    let clk = board.input("clk_i").unwrap();
    assert_eq!(board.run(&clk, 1000).unwrap(), 25);
    board.dpi_mut().stop_at = None;
    assert_eq!(board.run(&clk, 1000).unwrap(), 1000);
    assert_eq!(board.cycles(), 1025);
}

#[test]
fn a_panic_becomes_an_error() {
    check_a_panic(model);
}

pub fn check_a_panic(made: impl FnOnce(Build<'static>) -> Model) {
    let echo = made(recipe());
    let mut board = echo
        .instantiate(
            "board",
            Board {
                number: 3,
                panic_at: Some(5),
                ..Board::default()
            },
        )
        .unwrap();
    let mut other = echo.instantiate("other", Board::default()).unwrap();
    let clk = board.input("clk_i").unwrap();
    let Err(Error::Model(failure)) = board.run(&clk, 100) else {
        panic!("no failure")
    };
    assert_eq!((failure.kind, failure.cycle), (FailureKind::DpiPanic, 4));
    assert!(
        failure.message.contains("alcor_count") && failure.message.contains("number 3 gave up"),
        "{failure}"
    );
    assert!(matches!(board.tick(&clk), Err(Error::Ended { .. })));
    other.run(&clk, 100).unwrap();
}

#[test]
fn a_foreign_handle_is_refused() {
    let mut board = echo().instantiate("board", Board::default()).unwrap();
    let (clk, misdirect) = (
        board.input("clk_i").unwrap(),
        board.input("misdirect_i").unwrap(),
    );
    board.set(&misdirect, 1).unwrap();
    let Err(Error::Model(failure)) = board.tick(&clk) else {
        panic!("no failure")
    };
    assert_eq!(failure.kind, FailureKind::Misdirected);
    assert!(board.dpi().requests.is_empty());
}

/// Drives another instance of the same model from a call.
struct Outer {
    inner: verimodel::Instance<Board>,
    calls: u64,
}

impl Dpi for Outer {
    fn call(&mut self, function: usize, _: &[u32], _: &mut [u32]) -> Flow {
        self.calls += 1;
        if function == 0 {
            let clk = self.inner.input("clk_i").unwrap();
            self.inner.tick(&clk).unwrap();
        }
        Flow::Continue
    }
}

#[test]
fn instances_nest() {
    let echo = echo();
    let inner = echo.instantiate("inner", Board::default()).unwrap();
    let mut outer = echo
        .instantiate("outer", Outer { inner, calls: 0 })
        .unwrap();
    let clk = outer.input("clk_i").unwrap();
    outer.run(&clk, 10).unwrap();
    assert_eq!(outer.dpi().calls, 20);
    assert_eq!(outer.dpi().inner.dpi().counted, 10);
}

#[test]
fn a_recording_replays_without_rust() {
    let echo = echo();
    let mut board = echo
        .instantiate(
            "recorded",
            Board {
                number: 5,
                ..Board::default()
            },
        )
        .unwrap();
    let clk = board.input("clk_i").unwrap();
    board.record_dpi(true);
    board.run(&clk, 700).unwrap();
    let recording = board.take_recording().unwrap();
    assert_eq!(recording.calls(), 1400);
    assert_eq!(recording.iter().count(), 800);
    let second = recording
        .iter()
        .filter(|call| call.function == 1)
        .nth(1)
        .unwrap();
    assert_eq!((second.call, second.output), (27, &[13, 0][..]));

    let mut replayed = echo.instantiate("replayed", Board::default()).unwrap();
    let ran = replayed.run_bare(&clk, 700, &recording).unwrap();
    assert_eq!((ran.cycles, ran.calls, replayed.cycles()), (700, 1400, 700));
    assert_eq!(replayed.dpi().counted, 0);
    for port in ["answer_o", "other_o"] {
        let port = echo.output(port).unwrap();
        let (mut first, mut second) = (vec![0; port.words()], vec![0; port.words()]);
        board.get_words(&port, &mut first).unwrap();
        replayed.get_words(&port, &mut second).unwrap();
        assert_eq!(first, second);
    }
    assert!(board.take_recording().is_none());
}

#[test]
fn imports_are_checked_when_building() {
    let error = build("echo")
        .dpi("alcor_ask")
        .build(crate::support::toolchain())
        .unwrap_err();
    assert!(
        matches!(&error, Error::DpiUnlisted { function, .. } if function == "alcor_count"),
        "{error}"
    );
}

#[test]
fn a_seed_decides_what_has_no_initial_value() {
    let echo = echo();
    // The result depends on the seed only, not on the thread or on earlier instances.
    let first_seen = |seed: u32| {
        let echo = echo.clone();
        let thread = thread::spawn(move || {
            let mut board = echo
                .instantiate_random("board", Board::default(), seed)
                .unwrap();
            let clk = board.input("clk_i").unwrap();
            board.tick(&clk).unwrap();
            board.dpi().requests[0][0]
        });
        thread.join().unwrap()
    };
    let seeds = [0, 1, 2, u32::MAX];
    let seen = seeds.map(first_seen);
    assert_eq!(seeds.map(first_seen), seen);
    assert!((1..seen.len()).all(|at| seen[at] != seen[0]), "{seen:x?}");
}
