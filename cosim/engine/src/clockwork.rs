//! Time: it stands still while a rank runs host code, and the last rank to wait moves it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use alcor::{Cycle, Error, GlobalRank, LocalRank, RankWait, Sight, Topology};

use crate::chip::Chip;
use crate::log::Log;
use crate::log::files::Logs;
use crate::log::packet::LoggedPacket;
use crate::log::story::{Entry, Setup};
use crate::mailbox::{Post, Want};
use crate::pool::{Pool, Task};
use crate::seat::{Seat, Woken};
use crate::seats::Seats;
use crate::wire::Wires;
use crate::{CosimError, Options, Shape};

/// How a run ended before its ranks did.
#[derive(Debug, Clone)]
pub(crate) enum Fate {
    /// A rank's port was dropped before it left, or its process ended.
    Died { seat: usize },
    /// Ranks ran host code for too long.
    Away {
        away: Seats,
        /// How many waited for them.
        waiting: u32,
    },
    /// Ranks were never attached.
    Missing {
        missing: Seats,
        /// How many waited for them.
        waiting: u32,
    },
    /// All ranks wait, and nothing is under way. The run goes on.
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
}

/// A run: from the first port to the last.
struct Run {
    /// How many ports there will be on each board; as many as ranks unless said otherwise.
    expected: Box<[Option<u32>]>,
    /// Ranks that were attached in this run.
    ever: Seats,
    /// Ranks that are attached and have not left.
    here: Seats,
    /// Ranks that wait.
    waiting: Seats,
    /// Those of them that wait for their interrupt, and have told what they wait for.
    idle: Seats,
    /// What ranks have told that they wait for, by seat.
    told: BTreeMap<usize, RankWait>,
    /// The present time of its board when a rank's wait began, by seat.
    since: BTreeMap<usize, u64>,
    /// Ranks that died.
    dead: Seats,
    fate: Option<Fate>,
}

impl Run {
    fn new(boards: usize) -> Self {
        Self {
            expected: vec![None; boards].into_boxed_slice(),
            ever: Seats::default(),
            here: Seats::default(),
            waiting: Seats::default(),
            idle: Seats::default(),
            told: BTreeMap::new(),
            since: BTreeMap::new(),
            dead: Seats::default(),
            fate: None,
        }
    }

    /// Whether all ranks wait for each other, as they say.
    fn all_idle(&self) -> bool {
        !self.here.is_empty() && self.idle == self.here
    }

    /// Whether no rank has been attached yet.
    fn is_new(&self) -> bool {
        self.ever.is_empty() && self.fate.is_none()
    }
}

/// Time in windows, at whose ends boards exchange what they have sent each other.
struct Windows {
    wires: Wires,
    /// Edges of a window.
    length: u64,
    /// The end of the present one.
    end: u64,
}

/// What the lock guards: all that stands still or moves. The boards have locks of their own, for the threads that step
/// them; who has this lock finds them free.
struct Time {
    run: Run,
    /// Of a board alone, there are none.
    windows: Option<Windows>,
    /// Resets that there were.
    runs: u32,
    /// What the logs were like when they were written last.
    written: Option<u64>,
    /// They were written when the run ended badly.
    is_told: bool,
    /// When time last moved, on the wall's clock.
    moved: Instant,
}

/// The time of boards, and the seats of those who wait for it.
pub(crate) struct Clockwork {
    names: Box<[String]>,
    shape: Shape,
    has_link: bool,
    /// As the boards were opened together.
    name: String,
    options: Options,
    topology: Topology,
    seats: Box<[Seat]>,
    pool: Pool,
    time: Mutex<Time>,
    /// How many wait for the lock with news that may end the run: who moves time stops soon.
    news: AtomicU32,
}

/// Edges that a board alone does before it looks for such news: some milliseconds.
const STRETCH: u64 = 1 << 12;

impl Clockwork {
    /// The time of boards of one shape; there is one at least, and they have been reset.
    pub(crate) fn new(
        name: &str,
        names: Vec<String>,
        chips: Vec<Chip>,
        topology: &Topology,
        options: &Options,
        threads: usize,
    ) -> Self {
        let figures = options.link_figures();
        let (boards, shape) = (chips.len(), chips[0].shape());
        let windows = (boards > 1).then(|| Windows {
            wires: Wires::new(topology, figures),
            length: figures.window(),
            end: figures.window(),
        });
        Self {
            names: names.into_boxed_slice(),
            shape,
            has_link: chips[0].mailbox().has_link(),
            name: name.into(),
            options: options.clone(),
            topology: *topology,
            seats: (0..boards * shape.ranks as usize)
                .map(|_| Seat::default())
                .collect(),
            pool: Pool::new(chips, threads),
            time: Mutex::new(Time {
                run: Run::new(boards),
                windows,
                runs: 0,
                written: None,
                is_told: false,
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

    /// Whether accesses travel over a link to the host rather than take no time.
    pub(crate) fn has_link(&self) -> bool {
        self.has_link
    }

    /// The seats of a board's ranks.
    fn ranks(&self, board: usize) -> Range<usize> {
        let ranks = self.shape.ranks as usize;
        board * ranks..(board + 1) * ranks
    }

    /// The board of a seat, and the rank on it.
    fn place(&self, seat: usize) -> (usize, usize) {
        let ranks = self.shape.ranks as usize;
        (seat / ranks, seat % ranks)
    }

    /// How many ports a board has had in this run, and will have.
    fn ports(&self, run: &Run, board: usize) -> (u32, u32) {
        let had = self.ranks(board).filter(|&seat| run.ever.contains(seat));
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

    /// Does something with a board's model while time stands still.
    pub(crate) fn with_chip<T>(&self, board: usize, action: impl FnOnce(&mut Chip) -> T) -> T {
        let _time = self.lock();
        self.pool.with(board, action)
    }

    /// Does something that needs the boards for itself.
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

    /// Resets the board and ends the run; what was expected of a run that has not begun still is.
    ///
    /// Boards that are joined share their time, and credits for each other's buffers: all that have taken part in a run
    /// are reset together, and the next resets find nothing to do.
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

    /// Whether there is a log of what happens.
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

    /// What the logs hold.
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

    /// Begins a run of that many ports.
    pub(crate) fn expect(&self, board: usize, ports: u32) -> Result<(), Error> {
        let mut time = self.lock();
        self.check_idle(&time.run, board, "begin a run")?;
        let boards = self.names.len();
        if ports == 0 && boards == 1 {
            return Err(Error::BadOption {
                option: "ports",
                value: 0,
                rule: "a run has one port at least",
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

    /// Attaches a rank; gives its seat, the present time and what an earlier run of the rank's has left to be delivered.
    pub(crate) fn attach(&self, board: usize, rank: u32) -> Result<(usize, u64, usize), Error> {
        let mut time = self.lock();
        let run = &mut time.run;
        if rank >= self.shape.ranks {
            return Err(self.no_such_rank(board, rank));
        }
        let seat = self.ranks(board).start + rank as usize;
        if run.ever.contains(seat) {
            return Err(Error::RankTaken {
                board: self.names[board].clone(),
                rank: LocalRank(rank),
            });
        }
        let (had, expected) = self.ports(run, board);
        if had >= expected {
            return Err(CosimError::TooManyPorts { expected: had }.on(&self.names[board]));
        }
        run.ever.insert(seat);
        run.here.insert(seat);
        for board in 0..self.pool.boards() {
            self.pool.with(board, Chip::touch);
        }
        Ok(self.pool.with(board, |chip| {
            let backlog = chip.mailbox().backlog(rank as usize);
            (seat, chip.now(), backlog)
        }))
    }

    /// Lets that many cycles pass on all boards, with no rank attached.
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

    /// Hands over what a rank has posted, and waits.
    pub(crate) fn wait(
        &self,
        seat: usize,
        posts: &mut Vec<Post>,
        want: Want,
    ) -> Result<Woken, Fate> {
        let (board, rank) = self.place(seat);
        let called = {
            let mut time = self.lock();
            let time = &mut *time;
            let begun = self.pool.with(board, |chip| {
                let mailbox = chip.mailbox_mut();
                mailbox.post(rank, posts);
                if let Some(why) = mailbox.at_once(rank, &want) {
                    return Some(Ok(Woken {
                        cycle: mailbox.now(),
                        backlog: mailbox.backlog(rank),
                        why,
                    }));
                }
                if let Some(fate) = &time.run.fate {
                    return Some(Err(fate.clone()));
                }
                if matches!(want, Want::Interrupt { .. }) && time.run.told.contains_key(&seat) {
                    time.run.idle.insert(seat);
                    time.run.since.insert(seat, mailbox.now());
                }
                mailbox.wait(rank, want);
                None
            });
            if let Some(result) = begun {
                return result;
            }
            time.run.waiting.insert(seat);
            self.seats[seat].take();
            self.advance(time)
        };
        self.call(&called);
        let start = Instant::now();
        let limit = self.options.away.min(self.options.attach);
        self.seats[seat].wait(limit, || self.look_for_the_away(start))
    }

    /// Moves time if all wait. Gives the ranks that are to be called, with their results at their seats.
    fn advance(&self, time: &mut Time) -> Seats {
        let run = &mut time.run;
        if run.waiting.is_empty() || !run.here.minus(&run.waiting).is_empty() {
            return Seats::default();
        }
        if run.fate.is_none() {
            run.fate = run.dead.first().map(|seat| Fate::Died { seat });
        }
        if run.fate.is_none() {
            if !self.has_started(run) {
                return Seats::default();
            }
            let result = self.pass(time, u64::MAX);
            time.moved = Instant::now();
            match result {
                Ok(None) => return self.stall(&mut time.run),
                Ok(Some(woken)) => {
                    for seat in woken.iter() {
                        let (board, rank) = self.place(seat);
                        let result = self.pool.with(board, |chip| {
                            let mailbox = chip.mailbox_mut();
                            let (cycle, backlog) = (mailbox.now(), mailbox.backlog(rank));
                            mailbox.take(rank).map(|why| Woken {
                                cycle,
                                backlog,
                                why,
                            })
                        });
                        self.seats[seat].serve(result.ok_or(Fate::Lost));
                        time.run.waiting.remove(seat);
                        time.run.idle.remove(seat);
                    }
                    return woken;
                }
                Err((board, error)) => time.run.fate = Some(Fate::Failed { board, error }),
            }
        }
        // A rank that hangs elsewhere may keep the boards from ever being closed.
        if !time.is_told {
            time.is_told = true;
            self.save_logs(time);
        }
        self.end(&mut time.run)
    }

    /// Moves time until ranks are due, which it gives, or all boards are at `goal`; or stops with neither, for
    /// [news](Self::bury) that ends all waits. None where no rank can go on.
    ///
    /// A board that has woken a rank holds where it is, and the others go on to the end of the window. What happens is
    /// decided by the boards' times alone, never by which thread is the faster.
    fn pass(&self, time: &mut Time, goal: u64) -> Result<Option<Seats>, (usize, CosimError)> {
        let run = &time.run;
        let is_watched = run.all_idle();
        let Some(windows) = &mut time.windows else {
            return self.pass_alone(run, goal);
        };
        loop {
            if self.has_news() {
                return Ok(Some(Seats::default()));
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

    /// The same for a board without links.
    fn pass_alone(&self, run: &Run, goal: u64) -> Result<Option<Seats>, (usize, CosimError)> {
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

    /// Whether no rank can go on: all wait for each other, no board changes its state, nothing is on a link, and who looks
    /// for something at deadlines has done so since.
    fn is_stalled(&self, run: &Run) -> bool {
        let boards = 0..self.pool.boards();
        let since = boards
            .map(|board| self.pool.with(board, |chip| chip.steady_since()))
            .try_fold(0, |latest, since| Some(since?.max(latest)));
        let has_looked = |(seat, wait): (&usize, &RankWait), since| {
            !wait.looks || run.since.get(seat).is_some_and(|&began| began >= since)
        };
        since.is_some_and(|since| run.told.iter().all(|told| has_looked(told, since)))
    }

    /// Ends all waits with what each rank waits for.
    fn stall(&self, run: &mut Run) -> Seats {
        let now = (0..self.pool.boards()).map(|board| self.pool.with(board, |chip| chip.now()));
        let stall = Arc::new(Stall {
            at: now.max().unwrap_or_default(),
            waits: run.told.values().cloned().collect(),
        });
        self.end_with(run, &Fate::Stalled(stall))
    }

    fn has_news(&self) -> bool {
        self.news.load(Ordering::Relaxed) != 0
    }

    /// The ranks that are due.
    fn woken(&self) -> Seats {
        let mut seats = Seats::default();
        for board in 0..self.pool.boards() {
            let first = self.ranks(board).start;
            let mut woken = self.pool.with(board, |chip| chip.mailbox().woken());
            while woken != 0 {
                seats.insert(first + woken.trailing_zeros() as usize);
                woken &= woken - 1;
            }
        }
        seats
    }

    /// Ends all waits with the run's fate.
    fn end(&self, run: &mut Run) -> Seats {
        let fate = run.fate.clone().unwrap_or(Fate::Lost);
        self.end_with(run, &fate)
    }

    fn end_with(&self, run: &mut Run, fate: &Fate) -> Seats {
        run.idle = Seats::default();
        let called = std::mem::take(&mut run.waiting);
        for seat in called.iter() {
            let (board, rank) = self.place(seat);
            self.pool
                .with(board, |chip| chip.mailbox_mut().abandon(rank));
            self.seats[seat].serve(Err(fate.clone()));
        }
        called
    }

    /// Writes what there is to be written at the end, and says so if it can't be.
    fn save_logs(&self, time: &mut Time) {
        if let Err(error) = self.write_logs_at(time) {
            eprintln!("{}: {error}", self.name);
        }
    }

    fn call(&self, called: &Seats) {
        for seat in called.iter() {
            self.seats[seat].call();
        }
    }

    /// Ends the run if time has stood still for too long; else says how much longer it may.
    fn look_for_the_away(&self, start: Instant) -> Duration {
        let called = {
            // Whoever moves time has the lock.
            let mut time = self.lock();
            let time = &mut *time;
            let run = &mut time.run;
            let away = run.here.minus(&run.waiting);
            // If all that came wait, they wait for those that never came.
            let (limit, missing) = if away.is_empty() {
                (self.options.attach, self.missing(run))
            } else {
                (self.options.away, Seats::default())
            };
            let stood = start.max(time.moved).elapsed();
            if stood < limit {
                return limit - stood;
            }
            if run.fate.is_none() {
                let waiting = run.waiting.len();
                run.fate = Some(if away.is_empty() {
                    Fate::Missing { missing, waiting }
                } else {
                    Fate::Away { away, waiting }
                });
                self.save_logs(time);
            }
            self.end(&mut time.run)
        };
        self.call(&called);
        self.options.away
    }

    /// The ranks that have not been attached yet, of the boards that expect more.
    fn missing(&self, run: &Run) -> Seats {
        let boards = 0..self.names.len();
        let missing = boards.flat_map(|board| {
            let (had, expected) = self.ports(run, board);
            let missing = self.ranks(board).filter(|&seat| !run.ever.contains(seat));
            missing.take(expected.saturating_sub(had) as usize)
        });
        missing.collect()
    }

    /// Notes what a rank waits for, or that it does no longer.
    pub(crate) fn tell_wait(&self, seat: usize, wait: Option<&RankWait>) {
        let told = &mut self.lock().run.told;
        match wait {
            None => drop(told.remove(&seat)),
            Some(wait) => {
                let rank = GlobalRank(seat as u32);
                told.insert(
                    seat,
                    RankWait {
                        rank,
                        ..wait.clone()
                    },
                );
            }
        }
    }

    /// What is known of the run.
    pub(crate) fn sight(&self) -> Sight {
        let time = self.lock();
        let boards = 0..self.pool.boards();
        let moved = boards.map(|board| self.pool.with(board, |chip| chip.mailbox().moved()));
        Sight {
            least_watchdog: self.options.watchdog,
            moved: moved.max().unwrap_or_default(),
            waits: time.run.told.values().cloned().collect(),
        }
    }

    /// A rank leaves the run, or is dead. Moves time if that is what the others wait for.
    pub(crate) fn depart(&self, seat: usize, is_dead: bool) {
        let called = {
            let mut time = self.lock();
            let run = &mut time.run;
            run.here.remove(seat);
            run.told.remove(&seat);
            if is_dead {
                run.dead.insert(seat);
            }
            let is_over = run.here.is_empty()
                && (self.has_started(run) || !run.dead.is_empty() || run.fate.is_some());
            if is_over {
                time.run = Run::new(self.names.len());
                time.is_told = false;
                Seats::default()
            } else {
                self.advance(&mut time)
            }
        };
        self.call(&called);
    }

    /// Ends the run because a rank's process has ended, be it that the rank waits, runs host code or was yet to attach.
    /// One that has left is none of the run's any more.
    pub(crate) fn bury(&self, board: usize, rank: u32) {
        let seat = self.ranks(board).start + rank as usize;
        self.news.fetch_add(1, Ordering::Relaxed);
        let called = {
            let mut time = self.lock();
            self.news.fetch_sub(1, Ordering::Relaxed);
            let run = &mut time.run;
            let is_awaited = run.expected[board].is_some_and(|ports| rank < ports);
            if run.here.contains(seat) || is_awaited && !run.ever.contains(seat) {
                run.dead.insert(seat);
                run.fate.get_or_insert(Fate::Died { seat });
                self.end(run)
            } else {
                // Time may have stopped for this.
                self.advance(&mut time)
            }
        };
        self.call(&called);
    }

    /// A fate as the library wants it.
    pub(crate) fn error(&self, seat: usize, fate: Fate) -> Error {
        match fate {
            Fate::Died { seat } => Error::PeerDied {
                board: self.name.clone(),
                rank: GlobalRank(seat as u32),
            },
            Fate::Away { away, waiting } => Error::RankAway {
                board: self.name.clone(),
                ranks: ranks(&away),
                seconds: self.options.away.as_secs_f64(),
                waiting,
            },
            Fate::Missing { missing, waiting } => Error::RanksMissing {
                board: self.name.clone(),
                ranks: ranks(&missing),
                seconds: self.options.attach.as_secs_f64(),
                waiting,
            },
            Fate::Stalled(stall) => Error::Deadlock {
                at: Cycle(stall.at),
                waits: stall.waits.clone(),
            },
            Fate::Failed { board, error } => error.on(&self.names[board]),
            Fate::Lost => CosimError::Lost.on(&self.names[self.place(seat).0]),
        }
    }
}

/// The numbers of ranks in the run: those of their seats.
fn ranks(seats: &Seats) -> Vec<GlobalRank> {
    seats.iter().map(|seat| GlobalRank(seat as u32)).collect()
}

impl Drop for Clockwork {
    fn drop(&mut self) {
        if self.options.has_log_file() {
            self.save_logs(&mut self.lock());
        }
    }
}
