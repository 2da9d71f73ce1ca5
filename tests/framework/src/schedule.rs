//! Runs tests on boards of several backends.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use alcor::{Cluster, Error};

use crate::runner::{blank, run_test};
use crate::watch::Watch;
use crate::{Failure, Outcome, Settings, Test, Verdict};

/// Upper bound on the time between two calls of `stop`, and between two [`Event::Tick`]s.
const TICK: Duration = Duration::from_millis(100);

/// A test, and the seed of the run from which the test's seed is derived.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The test.
    pub test: &'static Test,
    /// The run's seed.
    pub seed: u64,
}

/// Opens a board or cluster. The given test is its first user.
pub type Open = Arc<dyn Fn(Case) -> Result<Cluster, Error> + Send + Sync>;

/// Tests for the boards of one backend.
#[derive(Clone)]
pub struct Lane {
    /// The tests, in starting order.
    pub cases: Vec<Case>,
    /// Maximum number of boards that are open at the same time.
    pub boards: usize,
    /// Settings of the tests. The seed is replaced by the seed of each case.
    pub settings: Settings,
    /// Opens one more board.
    pub open: Open,
}

/// The reason why a run ends before its last test, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// No further test begins. Running tests finish.
    Soon(String),
    /// No further test begins. Running tests are abandoned.
    Now(String),
}

/// Progress reports of [`run_suite`]. `lane` is the index of a lane; `place` is the index of a case
/// in the lane.
#[derive(Debug)]
pub enum Event<'a> {
    /// The first board of a lane is open.
    Opened {
        /// The lane.
        lane: usize,
        /// The board or boards.
        cluster: &'a Cluster,
        /// Time for opening, including the build of a model.
        took: Duration,
    },
    /// A board of a lane could not be opened. The lane continues with its open boards.
    NotOpened {
        /// The lane.
        lane: usize,
        /// The reason.
        error: &'a Error,
    },
    /// A test begins.
    Started {
        /// The lane.
        lane: usize,
        /// The test.
        place: usize,
    },
    /// A test has ended, or will not run.
    Ended {
        /// The lane.
        lane: usize,
        /// The test.
        place: usize,
        /// Outcome of the test.
        outcome: Outcome,
    },
    /// Reported at least every 100 ms.
    Tick,
}

/// Runs the tests of all lanes on up to `jobs` boards at the same time.
///
/// Boards of earlier lanes come first. A thread opens the first board of each lane in order and in
/// advance, so that a model is built while tests run. A board is not used again after a test failed
/// on it. Each case of each lane ends in exactly one [`Event::Ended`].
///
/// A test that exceeds [`Settings::time_limit`] fails. Its thread cannot be ended, so the thread is
/// abandoned together with its board, and the next test gets another board.
///
/// `stop` is called several times a second. A result of `Some` ends the run.
pub fn run_suite(
    lanes: &[Lane],
    jobs: usize,
    stop: &dyn Fn() -> Option<Stop>,
    tell: &mut dyn FnMut(Event<'_>),
) {
    let (sender, news) = mpsc::channel();
    let ended = Arc::new(AtomicBool::new(false));
    open_ahead(lanes, &sender, &ended);
    let suite = Suite {
        tracks: lanes.iter().map(Track::new).collect(),
        running: BTreeMap::new(),
        next_id: 0,
        jobs: jobs.max(1),
        sender,
        tell,
    };
    suite.run(&news, stop);
    ended.store(true, Ordering::Relaxed);
}

/// Runs a test on a thread of its own, within the time limit of `settings`.
pub fn run_test_within(
    test: &'static Test,
    boards: impl Into<Cluster>,
    settings: &Settings,
) -> Outcome {
    let (sender, news) = mpsc::channel();
    let (watch, settings, cluster) = (Watch::new(), *settings, boards.into());
    let observed = Arc::clone(&watch);
    thread::spawn(move || {
        let outcome = run_watched(test, &cluster, &settings, &observed);
        // Closes the board and its files before the test counts as ended.
        drop(cluster);
        // The receiver is gone if the test has exceeded its limit.
        let _ = sender.send(outcome);
    });
    let limit = settings.time_limit.unwrap_or(Duration::MAX);
    match news.recv_timeout(limit) {
        Ok(outcome) => outcome,
        Err(_) => overdue(test, &settings, limit, &watch),
    }
}

fn run_watched(
    test: &'static Test,
    cluster: &Cluster,
    settings: &Settings,
    watch: &Arc<Watch>,
) -> Outcome {
    match watch.over(cluster) {
        Ok(watched) => run_test(test, watched, settings),
        // Running the test here would fail in the same way.
        Err(_) => run_test(test, cluster, settings),
    }
}

/// The outcome of a test that has exceeded its time limit.
fn overdue(test: &'static Test, settings: &Settings, limit: Duration, watch: &Watch) -> Outcome {
    Outcome {
        verdict: Verdict::Failed(Box::new(Failure::TimedOut {
            limit,
            doing: watch.describe(),
        })),
        duration: limit,
        ..blank(test, settings)
    }
}

/// Opens the first board of each lane.
fn open_ahead(lanes: &[Lane], news: &Sender<News>, ended: &Arc<AtomicBool>) {
    let firsts: Vec<_> = lanes
        .iter()
        .enumerate()
        .filter_map(|(lane, it)| Some((lane, Arc::clone(&it.open), *it.cases.first()?)))
        .collect();
    let (news, ended) = (news.clone(), Arc::clone(ended));
    thread::spawn(move || {
        for (lane, open, case) in firsts {
            if ended.load(Ordering::Relaxed) {
                return;
            }
            let start = Instant::now();
            let opened = open(case);
            let took = start.elapsed();
            if news.send(News::First { lane, opened, took }).is_err() {
                return;
            }
        }
    });
}

/// Messages of the scheduler's threads.
enum News {
    First {
        lane: usize,
        opened: Result<Cluster, Error>,
        took: Duration,
    },
    NotOpened {
        id: u64,
        error: Error,
    },
    Started {
        id: u64,
    },
    Ended {
        id: u64,
        outcome: Outcome,
        /// The board, or `None` if it must not be used again.
        board: Option<Cluster>,
    },
}

/// A lane and its progress.
struct Track<'a> {
    lane: &'a Lane,
    waiting: VecDeque<usize>,
    idle: Vec<Cluster>,
    /// Number of boards that are idle, in use, or being opened.
    boards: usize,
    state: State,
}

enum State {
    /// The first board is being opened.
    Opening,
    Open,
    /// No further board can be opened.
    Broken(String),
}

impl<'a> Track<'a> {
    fn new(lane: &'a Lane) -> Track<'a> {
        Track {
            lane,
            waiting: (0..lane.cases.len()).collect(),
            idle: Vec::new(),
            boards: 0,
            state: State::Opening,
        }
    }

    /// Returns whether a test can begin now.
    fn can_begin(&self) -> bool {
        let may_open = matches!(self.state, State::Open) && self.boards < self.lane.boards.max(1);
        !self.waiting.is_empty() && (!self.idle.is_empty() || may_open)
    }
}

/// A test that is running or waits for its board to open.
struct Running {
    lane: usize,
    place: usize,
    watch: Arc<Watch>,
    /// `None` while the board is being opened.
    started: Option<Instant>,
}

struct Suite<'a> {
    tracks: Vec<Track<'a>>,
    running: BTreeMap<u64, Running>,
    next_id: u64,
    jobs: usize,
    sender: Sender<News>,
    tell: &'a mut dyn FnMut(Event<'_>),
}

impl Suite<'_> {
    fn run(mut self, news: &Receiver<News>, stop: &dyn Fn() -> Option<Stop>) {
        loop {
            let reason = match stop() {
                None => {
                    self.begin();
                    None
                }
                Some(Stop::Soon(reason)) => Some(reason),
                Some(Stop::Now(reason)) => {
                    self.abandon(&reason);
                    Some(reason)
                }
            };
            if let Some(reason) = reason {
                (0..self.tracks.len()).for_each(|lane| self.give_up(lane, &reason));
            }
            let is_opening = |track: &Track<'_>| {
                matches!(track.state, State::Opening) && !track.waiting.is_empty()
            };
            if self.running.is_empty() && !self.tracks.iter().any(is_opening) {
                return;
            }
            match news.recv_timeout(self.until_next()) {
                Ok(news) => self.take(news),
                Err(RecvTimeoutError::Timeout) => {}
                // This thread also holds a sender, so the channel never closes.
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.check_limits();
            (self.tell)(Event::Tick);
        }
    }

    /// Starts as many tests as may run.
    fn begin(&mut self) {
        while self.running.len() < self.jobs {
            let Some(lane) = self.tracks.iter().position(Track::can_begin) else {
                return;
            };
            let track = &mut self.tracks[lane];
            let Some(place) = track.waiting.pop_front() else {
                return;
            };
            let board = track.idle.pop();
            if board.is_none() {
                track.boards += 1;
            }
            if track.waiting.is_empty() {
                track.boards -= track.idle.len();
                track.idle.clear();
            }
            self.spawn(lane, place, board);
        }
    }

    fn spawn(&mut self, lane: usize, place: usize, board: Option<Cluster>) {
        let id = self.next_id;
        self.next_id += 1;
        let watch = Watch::new();
        let it = self.tracks[lane].lane;
        let (case, open) = (it.cases[place], Arc::clone(&it.open));
        let settings = Settings {
            seed: case.seed,
            ..it.settings
        };
        let running = Running {
            lane,
            place,
            watch: Arc::clone(&watch),
            started: None,
        };
        self.running.insert(id, running);
        let sender = self.sender.clone();
        thread::spawn(move || {
            let news = match board.map_or_else(|| open(case), Ok) {
                Err(error) => News::NotOpened { id, error },
                Ok(cluster) => {
                    let _ = sender.send(News::Started { id });
                    let outcome = run_watched(case.test, &cluster, &settings, &watch);
                    let is_kept = !outcome.verdict.is_failed() && !settings.own_boards;
                    // Dropping the board closes its files before the test counts as ended.
                    let board = is_kept.then_some(cluster);
                    News::Ended { id, outcome, board }
                }
            };
            // The scheduler is gone if the run has been stopped.
            let _ = sender.send(news);
        });
    }

    fn take(&mut self, news: News) {
        match news {
            News::First { lane, opened, took } => match opened {
                Ok(cluster) => {
                    (self.tell)(Event::Opened {
                        lane,
                        cluster: &cluster,
                        took,
                    });
                    let track = &mut self.tracks[lane];
                    track.state = State::Open;
                    track.boards += 1;
                    track.idle.push(cluster);
                }
                Err(error) => self.not_opened(lane, &error),
            },
            News::Started { id } => {
                if let Some(running) = self.running.get_mut(&id) {
                    running.started = Some(Instant::now());
                    let (lane, place) = (running.lane, running.place);
                    (self.tell)(Event::Started { lane, place });
                }
            }
            News::NotOpened { id, error } => {
                if let Some(Running { lane, place, .. }) = self.running.remove(&id) {
                    let track = &mut self.tracks[lane];
                    track.boards -= 1;
                    track.waiting.push_front(place);
                    self.not_opened(lane, &error);
                }
            }
            News::Ended { id, outcome, board } => {
                // An abandoned test has already been reported.
                if let Some(Running { lane, place, .. }) = self.running.remove(&id) {
                    self.ended(lane, place, outcome, board);
                }
            }
        }
    }

    fn ended(&mut self, lane: usize, place: usize, outcome: Outcome, board: Option<Cluster>) {
        let track = &mut self.tracks[lane];
        match board {
            Some(board) if !track.waiting.is_empty() => track.idle.push(board),
            _ => track.boards -= 1,
        }
        (self.tell)(Event::Ended {
            lane,
            place,
            outcome,
        });
        self.check_broken(lane);
    }

    fn not_opened(&mut self, lane: usize, error: &Error) {
        (self.tell)(Event::NotOpened { lane, error });
        self.tracks[lane].state = State::Broken(error.to_string());
        self.check_broken(lane);
    }

    /// Gives up the tests of a lane that has no board and can open none.
    fn check_broken(&mut self, lane: usize) {
        let track = &self.tracks[lane];
        if let State::Broken(reason) = &track.state
            && track.boards == 0
        {
            let reason = format!("no board: {reason}");
            self.give_up(lane, &reason);
        }
    }

    /// Reports the remaining tests of a lane as not run.
    fn give_up(&mut self, lane: usize, reason: &str) {
        self.tracks[lane].idle.clear();
        while let Some(place) = self.tracks[lane].waiting.pop_front() {
            self.not_run(lane, place, reason);
        }
    }

    /// Reports the running tests as not run.
    fn abandon(&mut self, reason: &str) {
        for (_, running) in std::mem::take(&mut self.running) {
            let reason = match running.started {
                Some(at) => format!(
                    "{reason} {:.1} s after its start",
                    at.elapsed().as_secs_f64()
                ),
                None => reason.to_owned(),
            };
            self.not_run(running.lane, running.place, &reason);
        }
    }

    fn not_run(&mut self, lane: usize, place: usize, reason: &str) {
        let it = self.tracks[lane].lane;
        let Case { test, seed } = it.cases[place];
        let settings = Settings {
            seed,
            ..it.settings
        };
        let outcome = Outcome {
            verdict: Verdict::NotRun(reason.to_owned()),
            ..blank(test, &settings)
        };
        (self.tell)(Event::Ended {
            lane,
            place,
            outcome,
        });
    }

    fn limit(&self, lane: usize) -> Duration {
        let limit = self.tracks[lane].lane.settings.time_limit;
        limit.unwrap_or(Duration::MAX)
    }

    /// Time until the next test exceeds its limit, at most a tick.
    fn until_next(&self) -> Duration {
        let left = self.running.values().filter_map(|running| {
            Some(
                self.limit(running.lane)
                    .saturating_sub(running.started?.elapsed()),
            )
        });
        left.min().unwrap_or(TICK).min(TICK)
    }

    /// Fails the tests that have exceeded their limit.
    fn check_limits(&mut self) {
        let is_overdue = |running: &Running| {
            let limit = self.limit(running.lane);
            running.started.is_some_and(|at| at.elapsed() >= limit)
        };
        let overdue_ids: Vec<u64> = self
            .running
            .iter()
            .filter(|(_, running)| is_overdue(running))
            .map(|(&id, _)| id)
            .collect();
        for id in overdue_ids {
            let Some(running) = self.running.remove(&id) else {
                continue;
            };
            let it = self.tracks[running.lane].lane;
            let Case { test, seed } = it.cases[running.place];
            let settings = Settings {
                seed,
                ..it.settings
            };
            let limit = self.limit(running.lane);
            let outcome = overdue(test, &settings, limit, &running.watch);
            self.ended(running.lane, running.place, outcome, None);
        }
    }
}
