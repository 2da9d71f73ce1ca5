//! The scheduler of time: simulated time stands still while a rank runs host code, and the last
//! rank that begins to wait moves it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use alcor::{
    Cycle, Error, GlobalRank, LinkState, LocalRank, PageOffset, RankWait, Sight, Topology,
};
use alcor_abi::LINKS_PAGE;
use alcor_abi::rank::{RANK_RESET, rank_reset};

use crate::chip::Chip;
use crate::log::Log;
use crate::log::files::Logs;
use crate::log::packet::LoggedPacket;
use crate::log::story::{Entry, Setup};
use crate::mailbox::{Post, Want, Why};
use crate::pool::{Pool, Task};
use crate::rank_set::RankSet;
use crate::wait_slot::{WaitSlot, Woken};
use crate::wire::Windows;
use crate::{CosimError, Options, Shape};

/// The reason why a run ended before its ranks left, or why all waits ended.
#[derive(Debug, Clone)]
pub(crate) enum RunOutcome {
    /// A rank's port was dropped before it left, or its process ended.
    Died { slot: usize },
    /// Ranks ran host code for too long.
    Away {
        away: RankSet,
        /// Number of ranks that waited for them.
        waiting: u32,
    },
    /// Ranks were never attached.
    Missing {
        missing: RankSet,
        /// Number of ranks that waited for them.
        waiting: u32,
    },
    /// All ranks wait, and no board has activity. The run goes on.
    Stalled(Arc<Stall>),
    /// A board's model failed.
    Failed { board: usize, error: CosimError },
    /// A wait without a result: a defect of this crate.
    Lost,
}

/// A run in which no rank can go on.
#[derive(Debug)]
pub(crate) struct Stall {
    at: u64,
    waits: Vec<RankWait>,
    links: Arc<Vec<LinkState>>,
}

/// A run: from the first port to the last.
struct Run {
    /// Expected number of ports on each board; by default the number of ranks.
    expected: Box<[Option<u32>]>,
    /// Ranks that were attached in this run.
    ever: RankSet,
    /// Ranks that are attached and have not left.
    here: RankSet,
    /// Ranks that wait.
    waiting: RankSet,
    /// Waiting ranks that wait for their interrupt and have declared their awaited event.
    idle: RankSet,
    /// The declared waits of ranks, by slot.
    declared: BTreeMap<usize, RankWait>,
    /// The time of the declarations, by slot, as [`Scheduler::moment`] returns it.
    told: BTreeMap<usize, u64>,
    /// The time of the board at which a rank's wait began, by slot.
    since: BTreeMap<usize, u64>,
    /// Ranks whose deaths end the run.
    dead: RankSet,
    /// Ranks that survive deaths of other ranks.
    survivors: RankSet,
    /// Deaths that the run survives: the time of each, as [`Scheduler::moment`] returns it, and the
    /// slot.
    died: BTreeSet<(u64, usize)>,
    outcome: Option<RunOutcome>,
}

impl Run {
    fn new(boards: usize) -> Self {
        Self {
            expected: vec![None; boards].into_boxed_slice(),
            ever: RankSet::default(),
            here: RankSet::default(),
            waiting: RankSet::default(),
            idle: RankSet::default(),
            declared: BTreeMap::new(),
            told: BTreeMap::new(),
            since: BTreeMap::new(),
            dead: RankSet::default(),
            survivors: RankSet::default(),
            died: BTreeSet::new(),
            outcome: None,
        }
    }

    /// Returns whether all ranks wait for each other, by their declared waits.
    fn all_idle(&self) -> bool {
        !self.here.is_empty() && self.idle == self.here
    }

    /// Returns whether the run goes on after the death of a rank: all other ranks survive deaths.
    fn survives(&self, slot: usize) -> bool {
        let mut others = self.here;
        others.remove(slot);
        self.outcome.is_none() && !others.is_empty() && others.minus(&self.survivors).is_empty()
    }

    /// Returns whether no rank has been attached yet.
    fn is_new(&self) -> bool {
        self.ever.is_empty() && self.outcome.is_none()
    }
}

/// The state under the lock: the run and its time. The boards have separate locks, for the threads
/// that step them. A holder of this lock finds the boards' locks free.
struct Time {
    run: Run,
    /// None for a single board.
    windows: Option<Windows>,
    /// Number of resets.
    runs: u32,
    /// Version of the logs at their last write.
    written: Option<u64>,
    /// Whether the logs have been written because of a failure of the run.
    has_failure_logs: bool,
    /// Wall-clock time of the last movement of simulated time.
    moved: Instant,
}

/// The scheduler of the boards' time, and the wait slots of the ranks.
pub(crate) struct Scheduler {
    names: Box<[String]>,
    shape: Shape,
    has_link: bool,
    /// The URI with which the boards were opened.
    name: String,
    options: Options,
    topology: Topology,
    slots: Box<[WaitSlot]>,
    pool: Pool,
    time: Mutex<Time>,
    /// Number of threads that wait for the lock in order to end the run. The thread that moves time
    /// then releases the lock soon.
    news: AtomicU32,
}

/// Number of edges of a single board between two checks of `news`: some milliseconds.
const STRETCH: u64 = 1 << 12;

impl Scheduler {
    /// The scheduler of one or more boards of one shape, which have been reset.
    pub(crate) fn new(
        name: &str,
        names: Vec<String>,
        chips: Vec<Chip>,
        topology: &Topology,
        options: &Options,
        threads: usize,
    ) -> Self {
        let (boards, shape) = (chips.len(), chips[0].shape());
        Self {
            names: names.into_boxed_slice(),
            shape,
            has_link: chips[0].mailbox().has_link(),
            name: name.into(),
            options: options.clone(),
            topology: *topology,
            slots: (0..boards * shape.ranks as usize)
                .map(|_| WaitSlot::default())
                .collect(),
            pool: Pool::new(chips, threads),
            time: Mutex::new(Time {
                run: Run::new(boards),
                windows: Windows::new(topology, options.link_figures()),
                runs: 0,
                written: None,
                has_failure_logs: false,
                moved: Instant::now(),
            }),
            news: AtomicU32::new(0),
        }
    }

    pub(crate) fn name(&self, board: usize) -> &str {
        &self.names[board]
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Returns whether host accesses travel over a link, and take time.
    pub(crate) fn has_link(&self) -> bool {
        self.has_link
    }

    /// The slots of a board's ranks.
    fn ranks(&self, board: usize) -> Range<usize> {
        let ranks = self.shape.ranks as usize;
        board * ranks..(board + 1) * ranks
    }

    /// The board of a slot, and the rank on it.
    fn place(&self, slot: usize) -> (usize, usize) {
        let ranks = self.shape.ranks as usize;
        (slot / ranks, slot % ranks)
    }

    /// The number of ports that a board has had in this run, and the expected number.
    fn ports(&self, run: &Run, board: usize) -> (u32, u32) {
        let had = self.ranks(board).filter(|&slot| run.ever.contains(slot));
        let expected = run.expected[board].unwrap_or(self.shape.ranks);
        (had.count() as u32, expected)
    }

    fn has_started(&self, run: &Run) -> bool {
        (0..self.names.len()).all(|board| {
            let (had, expected) = self.ports(run, board);
            had >= expected
        })
    }

    fn lock(&self) -> MutexGuard<'_, Time> {
        self.time.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `action` on a board's model while time stands still.
    pub(crate) fn with_chip<T>(&self, board: usize, action: impl FnOnce(&mut Chip) -> T) -> T {
        let _time = self.lock();
        self.pool.with(board, action)
    }

    /// Runs `action` on a board without attached ports.
    pub(crate) fn with_idle_chip<T>(
        &self,
        board: usize,
        operation: &'static str,
        action: impl FnOnce(&mut Chip) -> Result<T, CosimError>,
    ) -> Result<T, Error> {
        let time = self.lock();
        self.check_idle(&time.run, board, operation)?;
        self.pool
            .with(board, action)
            .map_err(|error| error.on(&self.names[board]))
    }

    /// Resets the board and ends the run. The expected numbers of ports of a run that has not begun
    /// stay. Joined boards share their time, and hold credits for each other's buffers. So one call
    /// resets all boards of a run together, and the following resets of the others have no effect.
    pub(crate) fn reset(&self, board: usize) -> Result<(), Error> {
        let mut time = self.lock();
        self.check_idle(&time.run, board, "reset")?;
        let fresh = Run::new(self.names.len());
        let old = std::mem::replace(&mut time.run, fresh);
        if old.ever.is_empty() {
            time.run.expected = old.expected;
        }
        match &mut time.windows {
            None => self.pool.with(board, Chip::touch),
            Some(windows) => windows.end = windows.length,
        }
        let result = self.pool.each(Task::Reset { asked: board });
        time.runs += 1;
        for board in 0..self.names.len() {
            self.pool
                .with(board, |chip| chip.mailbox_mut().begin_run(time.runs));
        }
        result.map_err(|(board, error)| error.on(&self.names[board]))
    }

    /// Returns whether there is a log.
    pub(crate) fn has_log(&self) -> bool {
        self.options.log.is_some()
    }

    /// The packets of all boards, oldest first.
    pub(crate) fn packets(&self) -> Vec<LoggedPacket> {
        let _time = self.lock();
        self.logs().packets()
    }

    /// Writes timeline and packet log to the files that the options name.
    pub(crate) fn write_logs(&self) -> Result<(), CosimError> {
        if !self.has_log() {
            return Err(CosimError::NoLog);
        }
        self.write_logs_at(&mut self.lock())
    }

    fn write_logs_at(&self, time: &mut Time) -> Result<(), CosimError> {
        let boards = 0..self.names.len();
        let version = boards
            .map(|board| {
                self.pool
                    .with(board, |chip| chip.mailbox().log().map_or(0, Log::version))
            })
            .sum();
        if !self.options.has_log_file() || time.written == Some(version) {
            return Ok(());
        }
        let logs = self.logs();
        if let Some(path) = &self.options.trace {
            logs.write_timeline(&self.name, path)?;
        }
        if let Some(path) = &self.options.packets {
            logs.write_packets(path)?;
        }
        time.written = Some(version);
        Ok(())
    }

    /// The contents of the logs.
    fn logs(&self) -> Logs {
        let mut entries = Vec::new();
        let mut boards = Vec::new();
        for (board, name) in self.names.iter().enumerate() {
            self.pool.with(board, |chip| {
                let Some(log) = chip.mailbox().log() else {
                    return;
                };
                boards.push((name.clone(), log.dropped(), log.limit()));
                log.each(chip.now(), |record, words| {
                    entries.push(Entry {
                        board: board as u32,
                        record: *record,
                        words: words.to_vec(),
                    });
                });
            });
        }
        Logs {
            setup: Setup {
                ranks: self.shape.ranks,
                unit: (self.shape.data_bits / 32) as usize,
                topology: self.topology,
            },
            entries,
            boards,
        }
    }

    /// Begins a run with `ports` ports on a board.
    pub(crate) fn expect(&self, board: usize, ports: u32) -> Result<(), Error> {
        let mut time = self.lock();
        self.check_idle(&time.run, board, "begin a run")?;
        let boards = self.names.len();
        if ports == 0 && boards == 1 {
            return Err(Error::BadOption {
                option: "ports",
                value: 0,
                rule: "a run has at least one port",
            });
        }
        if ports > self.shape.ranks {
            return Err(self.no_such_rank(board, ports - 1));
        }
        if !time.run.is_new() {
            time.run = Run::new(boards);
        }
        time.run.expected[board] = Some(ports);
        Ok(())
    }

    fn check_idle(&self, run: &Run, board: usize, operation: &'static str) -> Result<(), Error> {
        match run.here.len() {
            0 => Ok(()),
            attached => Err(Error::BoardBusy {
                board: self.names[board].clone(),
                operation,
                attached,
            }),
        }
    }

    fn no_such_rank(&self, board: usize, rank: u32) -> Error {
        Error::NoSuchRank {
            board: self.names[board].clone(),
            rank: LocalRank(rank),
            ranks: self.shape.ranks,
        }
    }

    /// Attaches a rank. Returns its slot, the present time, and the number of writes of an earlier
    /// run of the rank that have not been delivered yet.
    pub(crate) fn attach(&self, board: usize, rank: u32) -> Result<(usize, u64, usize), Error> {
        let mut time = self.lock();
        let run = &mut time.run;
        if rank >= self.shape.ranks {
            return Err(self.no_such_rank(board, rank));
        }
        let slot = self.ranks(board).start + rank as usize;
        if run.ever.contains(slot) {
            return Err(Error::RankTaken {
                board: self.names[board].clone(),
                rank: LocalRank(rank),
            });
        }
        let (had, expected) = self.ports(run, board);
        if had >= expected {
            return Err(CosimError::TooManyPorts { expected: had }.on(&self.names[board]));
        }
        run.ever.insert(slot);
        run.here.insert(slot);
        for board in 0..self.pool.boards() {
            self.pool.with(board, Chip::touch);
        }
        Ok(self.pool.with(board, |chip| {
            let backlog = chip.mailbox().backlog(rank as usize);
            (slot, chip.now(), backlog)
        }))
    }

    /// Lets `cycles` cycles pass on all boards, with no rank attached.
    pub(crate) fn idle(&self, cycles: u64) -> Result<(), Error> {
        let mut time = self.lock();
        self.check_idle(&time.run, 0, "pass time")?;
        let boards = 0..self.pool.boards();
        let latest = boards.map(|board| {
            self.pool.with(board, |chip| {
                chip.touch();
                chip.now()
            })
        });
        let goal = latest.max().unwrap_or_default() + cycles;
        let result = self.pass(&mut time, goal);
        result
            .map(drop)
            .map_err(|(board, error)| error.on(&self.names[board]))
    }

    /// Hands over the posts of a rank, and waits.
    pub(crate) fn wait(
        &self,
        slot: usize,
        posts: &mut Vec<Post>,
        want: Want,
    ) -> Result<Woken, RunOutcome> {
        let (board, rank) = self.place(slot);
        let woken = {
            let mut time = self.lock();
            let time = &mut *time;
            let begun = self.pool.with(board, |chip| {
                let mailbox = chip.mailbox_mut();
                mailbox.post(rank, posts);
                let is_wait = matches!(want, Want::Interrupt { .. });
                let awaits_entries = matches!(want, Want::Interrupt { entries: true, .. });
                let copied = awaits_entries && mailbox.take_copied(rank);
                let copied = copied.then_some(Why::Copied);
                if let Some(why) = copied.or_else(|| mailbox.at_once(rank, &want)) {
                    return Some(Ok(Woken {
                        cycle: mailbox.now(),
                        backlog: mailbox.backlog(rank),
                        why,
                    }));
                }
                if let Some(outcome) = &time.run.outcome {
                    return Some(Err(outcome.clone()));
                }
                let declared = time.run.declared.get(&slot);
                let is_declared = declared.is_some_and(|wait| !wait.is_over);
                if is_wait && is_declared {
                    time.run.idle.insert(slot);
                    time.run.since.insert(slot, mailbox.now());
                }
                mailbox.wait(rank, want);
                None
            });
            if let Some(result) = begun {
                return result;
            }
            time.run.waiting.insert(slot);
            self.slots[slot].enter();
            self.advance(time)
        };
        self.wake(&woken);
        let start = Instant::now();
        let limit = self.options.away.min(self.options.attach);
        self.slots[slot].wait(limit, || self.look_for_the_away(start))
    }

    /// Moves time if all ranks wait. Returns the ranks to be woken, whose results are in their
    /// slots.
    fn advance(&self, time: &mut Time) -> RankSet {
        let run = &mut time.run;
        if run.waiting.is_empty() || !run.here.minus(&run.waiting).is_empty() {
            return RankSet::default();
        }
        if run.outcome.is_none() {
            run.outcome = run.dead.first().map(|slot| RunOutcome::Died { slot });
        }
        if run.outcome.is_none() {
            if !self.has_started(run) {
                return RankSet::default();
            }
            let result = self.pass(time, u64::MAX);
            time.moved = Instant::now();
            match result {
                Ok(None) => return self.stall(&mut time.run),
                Ok(Some(woken)) => {
                    for slot in woken.iter() {
                        let (board, rank) = self.place(slot);
                        let result = self.pool.with(board, |chip| {
                            let mailbox = chip.mailbox_mut();
                            let (cycle, backlog) = (mailbox.now(), mailbox.backlog(rank));
                            mailbox.take(rank).map(|why| Woken {
                                cycle,
                                backlog,
                                why,
                            })
                        });
                        self.slots[slot].set_result(result.ok_or(RunOutcome::Lost));
                        time.run.waiting.remove(slot);
                        time.run.idle.remove(slot);
                    }
                    return woken;
                }
                Err((board, error)) => time.run.outcome = Some(RunOutcome::Failed { board, error }),
            }
        }
        // A rank that hangs outside the library may keep the boards open for ever, so the logs are
        // written now.
        if !time.has_failure_logs {
            time.has_failure_logs = true;
            self.save_logs(time);
        }
        self.end(&mut time.run)
    }

    /// Moves time until ranks are due or all boards are at `goal`. Returns the due ranks. Stops
    /// early for [news](Self::kill) that ends all waits. Returns none if no rank can go on. A board
    /// that has woken a rank stops at that cycle, and the others go on to the end of the window.
    /// The result depends on the boards' times alone, never on the speed of threads.
    fn pass(&self, time: &mut Time, goal: u64) -> Result<Option<RankSet>, (usize, CosimError)> {
        let run = &time.run;
        let is_watched = run.all_idle();
        let Some(windows) = &mut time.windows else {
            return self.pass_alone(run, goal);
        };
        loop {
            if self.has_news() {
                return Ok(Some(RankSet::default()));
            }
            if is_watched && self.is_stalled(run) {
                return Ok(None);
            }
            let until = windows.end.min(goal);
            self.pool.each(Task::Run { until, is_watched })?;
            let woken = self.woken();
            if !woken.is_empty() {
                return Ok(Some(woken));
            }
            if until == windows.end {
                windows.wires.exchange(|board, action| {
                    self.pool
                        .with(board, |chip| chip.mailbox_mut().with_ends(action));
                });
                windows.end += windows.length;
            }
            if until == goal {
                return Ok(Some(woken));
            }
        }
    }

    /// The same as [`Scheduler::pass`], for a single board.
    fn pass_alone(&self, run: &Run, goal: u64) -> Result<Option<RankSet>, (usize, CosimError)> {
        let is_watched = run.all_idle();
        loop {
            if is_watched && self.is_stalled(run) {
                return Ok(None);
            }
            let now = self.pool.with(0, |chip| chip.now());
            let until = goal.min(now.saturating_add(STRETCH));
            self.pool.each(Task::Run { until, is_watched })?;
            let woken = self.woken();
            if !woken.is_empty() || until == goal || self.has_news() {
                return Ok(Some(woken));
            }
        }
    }

    /// Returns whether no rank can continue: all ranks wait for each other, no board changes its
    /// state, no link carries data, and each rank that polls at deadlines has polled since.
    fn is_stalled(&self, run: &Run) -> bool {
        let boards = 0..self.pool.boards();
        let since = boards
            .map(|board| self.pool.with(board, |chip| chip.steady_since()))
            .try_fold(0, |latest, since| Some(since?.max(latest)));
        let has_looked = |(slot, wait): (&usize, &RankWait), since| {
            !wait.looks || run.since.get(slot).is_some_and(|&began| began >= since)
        };
        since.is_some_and(|since| run.declared.iter().all(|wait| has_looked(wait, since)))
    }

    /// Ends all waits with the declared waits of all ranks.
    fn stall(&self, run: &mut Run) -> RankSet {
        let now = (0..self.pool.boards()).map(|board| self.pool.with(board, |chip| chip.now()));
        let stall = Arc::new(Stall {
            at: now.max().unwrap_or_default(),
            waits: run.declared.values().cloned().collect(),
            links: self.links().into(),
        });
        self.end_with(run, &RunOutcome::Stalled(stall))
    }

    /// The state of all link ends. A board whose model has failed has none.
    fn links(&self) -> Vec<LinkState> {
        let ports = if self.shape.frames {
            self.shape.links
        } else {
            0
        };
        let ends =
            (0..self.pool.boards()).flat_map(|board| (0..ports).map(move |port| (board, port)));
        ends.filter_map(|(board, port)| {
            self.pool.with(board, |chip| {
                let read = |offset: PageOffset| chip.peek(LINKS_PAGE + offset.0).map(Some);
                LinkState::read(board as u32, port, read).ok().flatten()
            })
        })
        .collect()
    }

    fn has_news(&self) -> bool {
        self.news.load(Ordering::Relaxed) != 0
    }

    /// The ranks that are due.
    fn woken(&self) -> RankSet {
        let mut slots = RankSet::default();
        for board in 0..self.pool.boards() {
            let first = self.ranks(board).start;
            let mut woken = self.pool.with(board, |chip| chip.mailbox().woken());
            while woken != 0 {
                slots.insert(first + woken.trailing_zeros() as usize);
                woken &= woken - 1;
            }
        }
        slots
    }

    /// Ends all waits with the run's outcome.
    fn end(&self, run: &mut Run) -> RankSet {
        let outcome = run.outcome.clone().unwrap_or(RunOutcome::Lost);
        self.end_with(run, &outcome)
    }

    fn end_with(&self, run: &mut Run, outcome: &RunOutcome) -> RankSet {
        let waiting = run.waiting;
        self.end_waits(run, waiting, outcome)
    }

    /// Ends the waits of these ranks.
    fn end_waits(&self, run: &mut Run, woken: RankSet, outcome: &RunOutcome) -> RankSet {
        for slot in woken.iter() {
            run.waiting.remove(slot);
            run.idle.remove(slot);
            let (board, rank) = self.place(slot);
            self.pool
                .with(board, |chip| chip.mailbox_mut().abandon(rank));
            self.slots[slot].set_result(Err(outcome.clone()));
        }
        woken
    }

    /// Writes the logs at the end, and reports errors.
    fn save_logs(&self, time: &mut Time) {
        if let Err(error) = self.write_logs_at(time) {
            eprintln!("{}: {error}", self.name);
        }
    }

    fn wake(&self, woken: &RankSet) {
        for slot in woken.iter() {
            self.slots[slot].wake();
        }
    }

    /// Ends the run if time has stood still for too long. Otherwise returns the remaining time.
    fn look_for_the_away(&self, start: Instant) -> Duration {
        let woken = {
            // A thread that moves time holds the lock.
            let mut time = self.lock();
            let time = &mut *time;
            let run = &mut time.run;
            let away = run.here.minus(&run.waiting);
            // If all attached ranks wait, they wait for ranks that have not attached.
            let (limit, missing) = if away.is_empty() {
                (self.options.attach, self.missing(run))
            } else {
                (self.options.away, RankSet::default())
            };
            let stood = start.max(time.moved).elapsed();
            if stood < limit {
                return limit - stood;
            }
            if run.outcome.is_none() {
                let waiting = run.waiting.len();
                run.outcome = Some(if away.is_empty() {
                    RunOutcome::Missing { missing, waiting }
                } else {
                    RunOutcome::Away { away, waiting }
                });
                self.save_logs(time);
            }
            self.end(&mut time.run)
        };
        self.wake(&woken);
        self.options.away
    }

    /// The ranks that have not been attached yet, on boards that expect more ports.
    fn missing(&self, run: &Run) -> RankSet {
        let boards = 0..self.names.len();
        let missing = boards.flat_map(|board| {
            let (had, expected) = self.ports(run, board);
            let missing = self.ranks(board).filter(|&slot| !run.ever.contains(slot));
            missing.take(expected.saturating_sub(had) as usize)
        });
        missing.collect()
    }

    /// Declares the awaited event of a rank, or the end of its wait.
    pub(crate) fn tell_wait(&self, slot: usize, wait: Option<&RankWait>) {
        let mut time = self.lock();
        let moment = self.moment(&time, slot);
        let Run { declared, told, .. } = &mut time.run;
        match wait {
            None => drop(declared.remove(&slot)),
            Some(wait) => {
                let mut wait = wait.clone();
                wait.rank = GlobalRank(slot as u32);
                declared.insert(slot, wait);
                told.insert(slot, moment);
            }
        }
    }

    /// The end of the present window; for a single board, its time. Ranks act in any order until
    /// this value changes.
    fn moment(&self, time: &Time, slot: usize) -> u64 {
        let (board, _) = self.place(slot);
        match &time.windows {
            Some(windows) => windows.end,
            None => self.pool.with(board, |chip| chip.mailbox().now()),
        }
    }

    /// The state of the run, as a rank sees it. The waits are those of earlier moments, so the
    /// result does not depend on the order of the ranks' threads.
    pub(crate) fn sight(&self, slot: usize) -> Sight {
        let time = self.lock();
        let moment = self.moment(&time, slot);
        let boards = 0..self.pool.boards();
        let moved = boards.map(|board| self.pool.with(board, |chip| chip.mailbox().moved()));
        let mut sight = Sight::default();
        sight.least_watchdog = self.options.watchdog;
        sight.moved = moved.max().unwrap_or_default();
        let is_earlier = |slot| time.run.told.get(slot).is_some_and(|&told| told < moment);
        let waits = time.run.declared.iter();
        let earlier = waits.filter(|(slot, _)| is_earlier(*slot));
        sight.waits = earlier.map(|(_, wait)| wait.clone()).collect();
        sight
    }

    /// Returns the deaths that the run has survived, as a rank sees them, and lets the rank survive
    /// further deaths. The deaths are those of earlier moments, so the result does not depend on the
    /// order of the ranks' threads.
    pub(crate) fn deaths(&self, slot: usize) -> Vec<GlobalRank> {
        let mut time = self.lock();
        let moment = self.moment(&time, slot);
        time.run.survivors.insert(slot);
        let earlier = time.run.died.range(..(moment, 0));
        earlier.map(|&(_, slot)| GlobalRank(slot as u32)).collect()
    }

    /// Removes a rank that leaves the run or is dead. Moves time if all others wait.
    pub(crate) fn depart(&self, slot: usize, is_dead: bool) {
        let woken = {
            let mut time = self.lock();
            let moment = self.moment(&time, slot);
            let run = &mut time.run;
            if is_dead && run.survives(slot) {
                run.died.insert((moment, slot));
                let (board, rank) = self.place(slot);
                self.pool
                    .with(board, |chip| chip.mailbox_mut().post(rank, &mut reset()));
            } else if is_dead {
                run.dead.insert(slot);
            }
            run.here.remove(slot);
            run.declared.remove(&slot);
            let is_over = run.here.is_empty()
                && (self.has_started(run) || !run.dead.is_empty() || run.outcome.is_some());
            if is_over {
                time.run = Run::new(self.names.len());
                time.has_failure_logs = false;
                RankSet::default()
            } else {
                self.advance(&mut time)
            }
        };
        self.wake(&woken);
    }

    /// Ends the run because a rank's process has ended, whether the rank waits, runs host code or
    /// has yet to attach. Has no effect on the run if the rank has left it.
    pub(crate) fn kill(&self, board: usize, rank: u32) {
        let slot = self.ranks(board).start + rank as usize;
        self.news.fetch_add(1, Ordering::Relaxed);
        let woken = {
            let mut time = self.lock();
            self.news.fetch_sub(1, Ordering::Relaxed);
            let run = &mut time.run;
            let is_awaited = run.expected[board].is_some_and(|ports| rank < ports);
            if run.here.contains(slot) && run.survives(slot) {
                // The holder of the port drops it, which ends the rank. A wait must not keep the
                // holder from that.
                let is_waiting = run.waiting.contains(slot);
                let waiting: RankSet = is_waiting.then_some(slot).into_iter().collect();
                self.end_waits(run, waiting, &RunOutcome::Died { slot })
            } else if run.here.contains(slot) || is_awaited && !run.ever.contains(slot) {
                run.dead.insert(slot);
                run.outcome.get_or_insert(RunOutcome::Died { slot });
                self.end(run)
            } else {
                // The thread that moves time may have stopped for this call.
                self.advance(&mut time)
            }
        };
        self.wake(&woken);
    }

    /// A run outcome as the library's error.
    pub(crate) fn error(&self, slot: usize, outcome: RunOutcome) -> Error {
        match outcome {
            RunOutcome::Died { slot } => Error::PeerDied {
                board: self.name.clone(),
                rank: GlobalRank(slot as u32),
            },
            RunOutcome::Away { away, waiting } => Error::RankAway {
                board: self.name.clone(),
                ranks: ranks(&away),
                seconds: self.options.away.as_secs_f64(),
                waiting,
            },
            RunOutcome::Missing { missing, waiting } => Error::RanksMissing {
                board: self.name.clone(),
                ranks: ranks(&missing),
                seconds: self.options.attach.as_secs_f64(),
                waiting,
            },
            RunOutcome::Stalled(stall) => Error::Deadlock {
                at: Cycle(stall.at),
                waits: stall.waits.clone(),
                links: stall.links.clone(),
            },
            RunOutcome::Failed { board, error } => error.on(&self.names[board]),
            RunOutcome::Lost => CosimError::Lost.on(&self.names[self.place(slot).0]),
        }
    }
}

/// The write that resets a rank.
fn reset() -> Vec<Post> {
    vec![Post::Register {
        offset: RANK_RESET,
        data: rank_reset::RESET.mask(),
    }]
}

/// The ranks of slots, whose numbers are equal.
fn ranks(slots: &RankSet) -> Vec<GlobalRank> {
    slots.iter().map(|slot| GlobalRank(slot as u32)).collect()
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        if self.options.has_log_file() {
            self.save_logs(&mut self.lock());
        }
    }
}
