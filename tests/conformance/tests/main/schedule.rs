//! The scheduler: boards that are lost, tests that loop, runs that are stopped, several backends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use alcor::soft::SoftBoard;
use alcor::{Board, BoardLayer, Cluster, Error, LocalRank, PageOffset, Port, PortLayer};
use alcor_conformance::tests;
use alcor_test::{
    Case, Event, Failure, Lane, Open, Outcome, Settings, Stop, Verdict, run_suite, run_test,
};

use crate::outcomes;

/// Tests that run fast on a software board.
fn cases(number: usize) -> Vec<Case> {
    let quick = tests().filter(|test| test.name.starts_with("put."));
    let cases: Vec<_> = quick.map(|test| Case { test, seed: 1 }).collect();
    cases.into_iter().cycle().take(number).collect()
}

fn soft() -> Open {
    Arc::new(|_| Ok(SoftBoard::new(2).into()))
}

fn lane(number: usize, open: Open) -> Lane {
    Lane {
        cases: cases(number),
        boards: 2,
        settings: Settings::default(),
        open,
    }
}

/// Runs lanes; the outcomes by lane and place. Each case ends once.
fn run(
    lanes: &[Lane],
    jobs: usize,
    stop: &dyn Fn() -> Option<Stop>,
) -> BTreeMap<(usize, usize), Outcome> {
    let mut ended = BTreeMap::new();
    run_suite(lanes, jobs, stop, &mut |event| {
        if let Event::Ended {
            lane,
            place,
            outcome,
        } = event
        {
            let again = ended.insert((lane, place), outcome);
            assert!(again.is_none(), "lane {lane}, place {place}");
        }
    });
    let wanted = lanes
        .iter()
        .enumerate()
        .flat_map(|(lane, it)| (0..it.cases.len()).map(move |place| (lane, place)));
    assert_eq!(
        ended.keys().copied().collect::<Vec<_>>(),
        wanted.collect::<Vec<_>>()
    );
    ended
}

fn words(outcomes: &BTreeMap<(usize, usize), Outcome>, word: &str) -> usize {
    let is_so = |outcome: &&Outcome| outcome.verdict.word() == word;
    outcomes.values().filter(is_so).count()
}

fn lost() -> Error {
    Error::Board {
        board: "card".into(),
        source: "the card is gone".into(),
    }
}

#[test]
fn each_case_has_its_own_seed_and_the_outcomes_that_it_has_alone() {
    let test = tests().find(|test| test.name == "put.typed").unwrap();
    let cases: Vec<_> = (5..9).map(|seed| Case { test, seed }).collect();
    let outcomes = outcomes(cases, 2, &Settings::default(), |_| {
        Ok(SoftBoard::new(2).into())
    });
    let seeds: Vec<_> = outcomes.iter().map(|outcome| outcome.run_seed).collect();
    assert_eq!(seeds, [5, 6, 7, 8], "in the order of the cases");
    for outcome in &outcomes {
        let settings = Settings {
            seed: outcome.run_seed,
            ..Settings::default()
        };
        let alone = run_test(test, SoftBoard::new(2), &settings);
        assert_eq!((alone.seed, alone.digest), (outcome.seed, outcome.digest));
    }
}

/// A board on which a test fails: it answers no read of a register of the board's page.
struct Mute(Arc<dyn Board>);

/// A board whose rank 1 loops in host code after its first commands, until `free` is set.
struct Looping {
    board: Arc<dyn Board>,
    free: Arc<AtomicBool>,
}

struct LoopingPort {
    port: Box<dyn Port>,
    loops: bool,
    commands: u32,
    free: Arc<AtomicBool>,
}

impl BoardLayer for Mute {
    fn below(&self) -> &Arc<dyn Board> {
        &self.0
    }

    fn read32(&self, _: PageOffset) -> Result<u32, Error> {
        Err(lost())
    }
}

impl BoardLayer for Looping {
    fn below(&self) -> &Arc<dyn Board> {
        &self.board
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>, Error> {
        Ok(Box::new(LoopingPort {
            port: Arc::clone(&self.board).attach(rank)?,
            loops: rank.0 == 1,
            commands: 0,
            free: Arc::clone(&self.free),
        }))
    }
}

impl PortLayer for LoopingPort {
    fn below(&mut self) -> &mut dyn Port {
        &mut *self.port
    }

    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<(), Error> {
        self.port.write32(offset, value)?;
        self.commands += 1;
        // A loop in host code: the thread neither waits nor reads.
        while self.loops && self.commands > 8 && !self.free.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

#[test]
fn a_test_that_loops_fails_with_the_rank_that_holds_it_up_and_the_others_run() {
    let free = Arc::new(AtomicBool::new(false));
    let (opened, release) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&free));
    let open = move |_| {
        let board: Arc<dyn Board> = SoftBoard::new(2);
        Ok(match opened.fetch_add(1, Ordering::Relaxed) {
            0 => Cluster::single(Arc::new(Looping {
                board,
                free: Arc::clone(&free),
            })),
            _ => board.into(),
        })
    };
    let settings = Settings {
        time_limit: Some(Duration::from_millis(500)),
        ..Settings::default()
    };
    let start = Instant::now();
    let outcomes = outcomes(cases(5), 1, &settings, open);
    assert!(start.elapsed() < Duration::from_secs(20));
    let Verdict::Failed(failure) = &outcomes[0].verdict else {
        panic!("{}", outcomes[0].verdict);
    };
    assert!(matches!(**failure, Failure::TimedOut { .. }), "{failure}");
    let text = failure.to_string();
    let first = text.split_once("running: ").unwrap().1;
    assert!(
        first.starts_with("rank 1 has run host code for 0.") && first.contains("last command"),
        "{text}"
    );
    assert!(
        text.contains("; rank 0 has waited in the library"),
        "{text}"
    );
    assert!(outcomes[1..].iter().all(|it| it.verdict.is_passed()));
    release.store(true, Ordering::Relaxed);
}

#[test]
fn a_board_that_can_not_be_opened_again_costs_the_tests_that_have_not_run() {
    // Each board fails its first test; the third can't be opened.
    let opened = Arc::new(AtomicUsize::new(0));
    let open: Open = Arc::new(move |_| match opened.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Ok(Cluster::single(Arc::new(Mute(SoftBoard::new(2))))),
        _ => Err(lost()),
    });
    let outcomes = run(&[lane(9, open), lane(5, soft())], 1, &|| None);
    assert_eq!(words(&outcomes, "failed"), 2);
    assert_eq!(words(&outcomes, "passed"), 5, "the other backend goes on");
    assert_eq!(words(&outcomes, "not run"), 7);
    let Verdict::NotRun(reason) = &outcomes[&(0, 8)].verdict else {
        panic!("{}", outcomes[&(0, 8)].verdict);
    };
    assert!(
        reason.contains("no board") && reason.contains("the card is gone"),
        "{reason}"
    );
}

#[test]
fn boards_that_are_open_go_on_when_no_other_can_be_opened() {
    let opened = Arc::new(AtomicUsize::new(0));
    let open: Open = Arc::new(move |_| match opened.fetch_add(1, Ordering::Relaxed) {
        0 => Ok(SoftBoard::new(2).into()),
        _ => Err(lost()),
    });
    let outcomes = run(&[lane(9, open)], 2, &|| None);
    assert_eq!(words(&outcomes, "passed"), 9);
}

#[test]
fn a_run_that_is_stopped_reports_every_test_once() {
    let limit = |stop: fn(String) -> Stop| {
        let calls = AtomicUsize::new(0);
        move || (calls.fetch_add(1, Ordering::Relaxed) > 10).then(|| stop("a signal".into()))
    };
    for stop in [Stop::Soon as fn(String) -> Stop, Stop::Now] {
        let outcomes = run(&[lane(400, soft()), lane(3, soft())], 2, &limit(stop));
        let (passed, not_run) = (words(&outcomes, "passed"), words(&outcomes, "not run"));
        assert!(passed > 0 && not_run > 0, "{passed} passed");
        assert_eq!(passed + not_run, 403);
        let reasons = outcomes.values().filter_map(|it| match &it.verdict {
            Verdict::NotRun(reason) => Some(reason.as_str()),
            _ => None,
        });
        assert!(reasons.clone().all(|it| it.starts_with("a signal")));
    }
}

#[test]
fn a_stop_does_not_wait_for_a_board_that_is_being_opened() {
    let hold = Arc::new(AtomicBool::new(true));
    let held = Arc::clone(&hold);
    let open: Open = Arc::new(move |_| {
        while held.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
        Err(lost())
    });
    let outcomes = run(&[lane(3, open)], 1, &|| Some(Stop::Now("now".into())));
    assert_eq!(words(&outcomes, "not run"), 3);
    hold.store(false, Ordering::Relaxed);
}

#[test]
fn later_boards_are_opened_while_tests_of_earlier_ones_run() {
    // A test of the first lane and the opening of the second meet at a barrier.
    let meet = Arc::new(Barrier::new(2));
    let (here, there) = (Arc::clone(&meet), meet);
    let opened = AtomicUsize::new(0);
    let first: Open = Arc::new(move |_| {
        if opened.fetch_add(1, Ordering::Relaxed) == 1 {
            here.wait();
        }
        Ok(SoftBoard::new(2).into())
    });
    let second: Open = Arc::new(move |_| {
        there.wait();
        Ok(SoftBoard::new(2).into())
    });
    let mut lanes = [lane(4, first), lane(4, second)];
    lanes[1].boards = 1;
    let outcomes = run(&lanes, 2, &|| None);
    assert_eq!(words(&outcomes, "passed"), 8);
    let alone = run(&[lane(4, soft())], 1, &|| None);
    for place in 0..4 {
        for lane in [0, 1] {
            let (it, alone) = (&outcomes[&(lane, place)], &alone[&(0, place)]);
            assert_eq!((it.seed, it.digest), (alone.seed, alone.digest));
        }
    }
}
