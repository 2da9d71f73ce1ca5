//! A run with its ranks as threads of this process.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use alcor_abi::board;

use crate::progress::{Place, ring_bytes};
use crate::rows::{Claims, Rows};
use crate::{
    AbortReason, Board, BoardInfo, Cluster, Error, GlobalRank, LocalRank, PageOffset, Port, Rank,
    Result, Topology,
};

/// The report of long waits ([`Options::report_waits`]).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct WaitReport {
    /// Minimum length of a reported wait.
    pub after: Duration,
    /// The function that gets each report: the error with which a watchdog would end the wait.
    pub tell: fn(&Error),
}

/// Reports of the same length are equal.
impl PartialEq for WaitReport {
    fn eq(&self, other: &WaitReport) -> bool {
        self.after == other.after
    }
}

impl Eq for WaitReport {}

/// Protection of a receiver against more messages than it has room for.
///
/// A message engine holds a fixed number of unexpected messages. Both ways keep the order of MPI,
/// lose no message, and need no help from the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum FlowControl {
    /// Each receiver keeps the same room for each sender, and a sender keeps to it. No message is sent
    /// twice. A sender alone uses only its part of the room.
    #[default]
    Credits,
    /// All senders share the room of a receiver. A receiver without room refuses a message, and all
    /// later ones of the same sender, and the sender sends them again in the same order. The pause
    /// before that grows with the number of senders that the receiver refuses. The protocol is that
    /// of Brightwell et al., "SeaStar interconnect: balanced bandwidth for scalable performance"
    /// (2006), section "Protocol integration".
    ///
    /// The messages of a [kernel](crate::Rank::kernel) are not sent again: a refused message of a
    /// kernel ends with its status.
    GoBackN,
}

/// Options of a rank.
///
/// # Examples
/// ```
/// use alcor::{FlowControl, Options, Topology};
///
/// let options = Options::default()
///     .watchdog_cycles(100_000)
///     .ring_entries(64)
///     .strict(true)
///     .software_collectives(false)
///     .flow_control(FlowControl::GoBackN)
///     .unexpected_bytes(1 << 20)
///     .topology(Topology::torus(&[4])?);
/// assert_eq!((options.ring_entries, options.topology.boards()), (64, 4));
/// # Ok::<(), alcor::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Limit of a wait in cycles. Each byte of the rank's transfers under way adds a cycle. Without
    /// a value, the limit is [`Options::SIMULATED_WATCHDOG`] on boards whose time stands still while
    /// host code runs. A wait for another rank of a card has no limit then, because a rank may
    /// compute for any time. [`Rank::wait_timeout`] waits for a limited time.
    pub watchdog_cycles: Option<u64>,
    /// The report of long waits, if any ([`Options::report_waits`]).
    pub report: Option<WaitReport>,
    /// Entries of the completion ring, a power of two up to 32768. They limit the number of
    /// transfers under way. At most three quarters of the entries serve messages and posted
    /// receives.
    pub ring_entries: u32,
    /// Whether collectives fail that hardware can't run, instead of running in software.
    pub strict: bool,
    /// Whether all collectives run in software, for comparison.
    pub software_collectives: bool,
    /// Protection of receivers against more messages than they have room for. All ranks of a run pass
    /// the same value.
    pub flow_control: FlowControl,
    /// Host memory for messages that this rank has not received and its library has taken over, in
    /// bytes. Each message counts its payload and 64 bytes.
    pub unexpected_bytes: u64,
    /// Whether the run survives deaths of ranks, and the time to detect them: the maximum number of
    /// cycles after a death until the other ranks that wait in the library learn of it. Without a
    /// value, a death ends the run. All ranks of a run pass the same kind of value. See
    /// [`Options::detect_deaths`].
    pub detection_cycles: Option<u64>,
    /// Maximum time for which a link between boards of the run may be down, or get no answer from
    /// its other end, before a wait of a rank fails with [`Error::LinkLost`]. Without a value there
    /// is no limit. After a shorter time, the link goes on without a loss.
    pub lost_link_after: Option<Duration>,
    /// Topology of the run's boards. A [`Job`] takes the topology of its cluster. Processes that
    /// attach one rank each must pass the same topology.
    pub topology: Topology,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            watchdog_cycles: None,
            report: None,
            ring_entries: 256,
            strict: false,
            software_collectives: false,
            flow_control: FlowControl::Credits,
            unexpected_bytes: 1 << 30,
            detection_cycles: None,
            lost_link_after: Some(Duration::from_secs(10)),
            topology: Topology::single(),
        }
    }
}

impl Options {
    /// Default of [`Options::watchdog_cycles`] on boards whose time stands still while host code
    /// runs. On every board, the limit of waits that depend on the hardware alone, as for a reset.
    pub const SIMULATED_WATCHDOG: u64 = 2_000_000;

    /// Sets [`Options::watchdog_cycles`].
    #[must_use]
    pub fn watchdog_cycles(mut self, cycles: u64) -> Options {
        self.watchdog_cycles = Some(cycles);
        self
    }

    /// Reports each wait that is longer than `after`, and goes on waiting. A wait is reported again
    /// each time that its length has doubled.
    ///
    /// `tell` gets the error with which a watchdog would end the wait, [`Error::Watchdog`]. The error
    /// names the awaited event and the states of the other ranks. Times are times of the boards' clock.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// use alcor::{GlobalRank, Job, Options, soft::SoftBoard};
    ///
    /// let options = Options::default()
    ///     .report_waits(Duration::from_micros(10), |wait| eprintln!("{wait}"));
    /// Job::with_options(SoftBoard::new(2), options)?.run(2, |rank| {
    ///     while rank.pid() == GlobalRank(1) && rank.now()?.0 < 5000 {}
    ///     rank.barrier() // rank 0 reports that rank 1 is late
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn report_waits(mut self, after: Duration, tell: fn(&Error)) -> Options {
        self.report = Some(WaitReport { after, tell });
        self
    }

    /// Sets [`Options::ring_entries`].
    #[must_use]
    pub fn ring_entries(mut self, entries: u32) -> Options {
        self.ring_entries = entries;
        self
    }

    /// Sets [`Options::flow_control`].
    #[must_use]
    pub fn flow_control(mut self, control: FlowControl) -> Options {
        self.flow_control = control;
        self
    }

    /// Sets [`Options::unexpected_bytes`].
    #[must_use]
    pub fn unexpected_bytes(mut self, bytes: u64) -> Options {
        self.unexpected_bytes = bytes;
        self
    }

    /// Lets the run survive deaths of ranks: sets [`Options::detection_cycles`].
    ///
    /// A rank dies if its program returns an error or panics, if the rank is dropped before
    /// [`Rank::finish`], or if its process ends. Operations of other ranks that need it fail with
    /// [`Error::ProcessFailed`]; [`Communicator::agree`](crate::Communicator::agree),
    /// [`Communicator::shrink`](crate::Communicator::shrink) and
    /// [`Communicator::revoke`](crate::Communicator::revoke) lead the survivors on. The backend must
    /// be able to continue a run after a death; the run does not begin otherwise. The world exists
    /// from the beginning of the run ([`Rank::world`]). [`Rank::abort`] still ends the run.
    #[must_use]
    pub fn detect_deaths(mut self, cycles: u64) -> Options {
        self.detection_cycles = Some(cycles);
        self
    }

    /// Sets [`Options::lost_link_after`]. Only waits on boards whose time is real look at links.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// use alcor::Options;
    ///
    /// let options = Options::default().lost_link_after(Some(Duration::from_secs(60)));
    /// assert_eq!(options.lost_link_after.map(|limit| limit.as_secs()), Some(60));
    /// assert_eq!(Options::default().lost_link_after.map(|limit| limit.as_secs()), Some(10));
    /// ```
    #[must_use]
    pub fn lost_link_after(mut self, limit: Option<Duration>) -> Options {
        self.lost_link_after = limit;
        self
    }

    /// Sets [`Options::strict`].
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Options {
        self.strict = strict;
        self
    }

    /// Sets [`Options::software_collectives`].
    #[must_use]
    pub fn software_collectives(mut self, software: bool) -> Options {
        self.software_collectives = software;
        self
    }

    /// Sets [`Options::topology`].
    #[must_use]
    pub fn topology(mut self, topology: Topology) -> Options {
        self.topology = topology;
        self
    }

    /// Sets the defaults that depend on the boards.
    pub(crate) fn with_defaults_of<'a>(
        mut self,
        boards: impl IntoIterator<Item = &'a Arc<dyn Board>>,
    ) -> Options {
        if boards.into_iter().all(|board| board.time_stands_still()) {
            self.watchdog_cycles
                .get_or_insert(Options::SIMULATED_WATCHDOG);
        }
        self
    }

    /// Limit of a wait that depends on the hardware alone, in cycles.
    pub(crate) fn hardware_limit(&self) -> u64 {
        self.watchdog_cycles.unwrap_or(Options::SIMULATED_WATCHDOG)
    }

    pub(crate) fn check(&self, info: &BoardInfo) -> Result<()> {
        let bad = |rule| Error::BadOption {
            option: "ring_entries",
            value: u64::from(self.ring_entries),
            rule,
        };
        if self.detection_cycles == Some(0) {
            return Err(Error::BadOption {
                option: "detection_cycles",
                value: 0,
                rule: "it must be at least 1",
            });
        }
        if !self.ring_entries.is_power_of_two() || self.ring_entries > 1 << 15 {
            return Err(bad("it must be a power of two, at most 32768"));
        }
        // The ids above belong to kernels.
        if info.has_kernel() && self.ring_entries + info.message_depth > 1 << 15 {
            return Err(bad(
                "on a board with kernels, the entries of the ring and of a message queue are at most 32768 in sum",
            ));
        }
        if ring_bytes(self.ring_entries) > info.usable_bytes() {
            return Err(bad(
                "the ring must fit into node memory, with 16 bytes per entry, below the unexpected message buffer",
            ));
        }
        Ok(())
    }
}

/// The first cause of a run's failure, without the errors that followed at other ranks.
///
/// # Examples
/// ```
/// use alcor::{Error, GlobalRank, Job, soft::SoftBoard};
///
/// let failed = Job::new(SoftBoard::new(2))?.run(2, |rank| match rank.pid() {
///     GlobalRank(1) => Err(Error::program("no input")),
///     _ => rank.barrier(),
/// });
/// let error = failed.unwrap_err();
/// assert_eq!(error.rank(), Some(GlobalRank(1)));
/// assert!(matches!(error.error(), Some(Error::Program { .. })));
/// # Ok::<(), alcor::Error>(())
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The run did not begin.
    #[error("{board}: the run did not begin: {source}")]
    NotStarted {
        /// The board.
        board: String,
        /// The reason.
        source: Error,
    },
    /// A rank's program failed, or the library on behalf of the program.
    #[error("{board}: {rank} failed: {source}")]
    Failed {
        /// The board.
        board: String,
        /// The rank.
        rank: GlobalRank,
        /// The reason.
        source: Error,
    },
    /// A rank's program panicked.
    #[error("{board}: {rank} panicked: {message}")]
    Panicked {
        /// The board.
        board: String,
        /// The rank.
        rank: GlobalRank,
        /// The panic message.
        message: String,
    },
}

alcor_errors::debug_as_text!(JobError);

impl JobError {
    /// Returns the rank that failed first, if the run began.
    #[must_use]
    pub fn rank(&self) -> Option<GlobalRank> {
        match self {
            JobError::NotStarted { .. } => None,
            JobError::Failed { rank, .. } | JobError::Panicked { rank, .. } => Some(*rank),
        }
    }

    /// Returns the error, if the failure was not a panic.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        match self {
            JobError::NotStarted { source, .. } | JobError::Failed { source, .. } => Some(source),
            JobError::Panicked { .. } => None,
        }
    }
}

/// Time without the end of a program, after a failure, after which a message names the ranks whose
/// programs have not returned.
const UNWINDING: Duration = Duration::from_secs(5);

/// The failure of a rank's part of a run.
enum Failure {
    Error(Error),
    Panic(String),
}

impl Failure {
    /// Returns whether this failure of rank `me` does not only report that of another rank.
    fn is_own(&self, me: GlobalRank) -> bool {
        match self {
            Failure::Panic(_) => true,
            Failure::Error(error) => !error.follows_from_another(me),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Error(error) => write!(f, "failed: {error}"),
            Failure::Panic(message) => write!(f, "panicked: {message}"),
        }
    }
}

/// The program of a rank has returned, for [`Job::watch_programs`].
struct Returned {
    rank: GlobalRank,
    /// The failure as text, and whether it is the rank's own.
    failure: Option<(String, bool)>,
}

impl Returned {
    fn of(rank: GlobalRank, failure: Option<&Failure>) -> Returned {
        let failure = failure.map(|failure| (failure.to_string(), failure.is_own(rank)));
        Returned { rank, failure }
    }
}

/// Runs programs on a board or a cluster of boards, with one thread per rank.
///
/// A job does the work of a launcher of processes that use [`Rank::attach`], and nothing more.
///
/// # Examples
/// ```
/// use alcor::{Job, soft::SoftBoard};
///
/// let job = Job::new(SoftBoard::new(4))?;
/// assert_eq!((job.ranks(), job.info().node_bytes), (4, 1 << 20));
/// assert_eq!((job.board().name(), job.cluster().boards().len()), ("soft:4", 1));
/// # Ok::<(), alcor::Error>(())
/// ```
pub struct Job {
    cluster: Cluster,
    info: BoardInfo,
    options: Options,
}

impl Job {
    /// Makes a job and checks the boards' ID blocks.
    ///
    /// # Errors
    /// As [`identify`]; [`Error::BadIdentity`] if the boards of a cluster do not fit together.
    ///
    /// [`identify`]: crate::identify()
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Options, soft::SoftBoard};
    /// let job = Job::new(SoftBoard::new(4))?;
    /// assert_eq!((job.ranks(), job.info().slots), (4, 32));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(cluster: impl Into<Cluster>) -> Result<Job> {
        Job::with_options(cluster, Options::default())
    }

    /// Makes a job with options, as [`Job::new`].
    ///
    /// # Errors
    /// As [`Job::new`], and [`Error::BadOption`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Options, soft::SoftBoard};
    /// let options = Options::default().ring_entries(64).watchdog_cycles(100_000);
    /// let job = Job::with_options(SoftBoard::new(2), options)?;
    /// job.run(2, |rank| rank.barrier())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_options(cluster: impl Into<Cluster>, options: Options) -> Result<Job> {
        let cluster = cluster.into();
        let info = cluster.identify()?;
        options.check(&info)?;
        let options = options
            .topology(*cluster.topology())
            .with_defaults_of(cluster.boards());
        Ok(Job {
            cluster,
            info,
            options,
        })
    }

    /// The properties of the boards, which are the same for all of them.
    #[must_use]
    pub fn info(&self) -> &BoardInfo {
        &self.info
    }

    /// The first board.
    #[must_use]
    pub fn board(&self) -> &Arc<dyn Board> {
        &self.cluster.boards()[0]
    }

    /// The boards.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Number of ranks of all boards.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.info.ranks * self.cluster.boards().len() as u32
    }

    /// Resets the boards and runs `program` on `ranks` ranks, each on its own thread. Returns the
    /// results in the order of ranks. Ranks fill one board after the other.
    ///
    /// A program that fails or panics aborts the run. The waits of its peers end with
    /// [`Error::Aborted`].
    ///
    /// A thread can't be ended from outside, so `run` returns only when the programs of all ranks
    /// have returned. If a rank has failed and the program of another one does not return within
    /// five seconds, for instance because it sleeps or waits for input, `run` prints the failure and
    /// the names of these ranks on standard error.
    ///
    /// # Errors
    /// The first cause, and the rank at which it occurred.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Options, soft::SoftBoard};
    /// let pids = Job::new(SoftBoard::new(3))?.run(3, |rank| Ok(rank.pid().0))?;
    /// assert_eq!(pids, [0, 1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run<T, F>(&self, ranks: u32, program: F) -> Result<Vec<T>, JobError>
    where
        T: Send,
        F: Fn(&mut Rank) -> Result<T> + Sync,
    {
        let ended = self.run_all(ranks, program)?;
        self.first_cause(ended)
    }

    /// Runs `program` as [`Job::run`], and returns the result of each rank, in the order of ranks.
    /// For runs that survive deaths ([`Options::detect_deaths`]).
    ///
    /// # Errors
    /// If the run did not begin.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Error, GlobalRank, Job, JobError, Options, soft::SoftBoard};
    /// let options = Options::default().detect_deaths(1000);
    /// let results = Job::with_options(SoftBoard::new(2), options)?.run_each(2, |rank| {
    ///     let is_first = rank.pid() == GlobalRank(0);
    ///     is_first.then_some(5).ok_or_else(|| Error::program("no input"))
    /// })?;
    /// assert!(matches!(results[..], [Ok(5), Err(JobError::Failed { rank: GlobalRank(1), .. })]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run_each<T, F>(
        &self,
        ranks: u32,
        program: F,
    ) -> Result<Vec<Result<T, JobError>>, JobError>
    where
        T: Send,
        F: Fn(&mut Rank) -> Result<T> + Sync,
    {
        let ended = self.run_all(ranks, program)?;
        let results = (0..)
            .map(GlobalRank)
            .zip(ended)
            .map(|(rank, ended)| ended.map_err(|failure| self.job_error(rank, failure)));
        Ok(results.collect())
    }

    fn run_all<T, F>(&self, ranks: u32, program: F) -> Result<Vec<Result<T, Failure>>, JobError>
    where
        T: Send,
        F: Fn(&mut Rank) -> Result<T> + Sync,
    {
        let ports = self.attach(ranks).map_err(|source| JobError::NotStarted {
            board: self.cluster.name().to_owned(),
            source,
        })?;
        let claims: Vec<Claims> = self
            .cluster
            .boards()
            .iter()
            .map(|_| Claims::default())
            .collect();
        Ok(thread::scope(|scope| {
            let (returned, news) = mpsc::channel();
            let threads: Vec<_> = (0..ranks)
                .zip(ports)
                .map(|(pid, port)| {
                    let (program, claims, returned) = (&program, &claims, returned.clone());
                    thread::Builder::new()
                        .name(format!("rank {pid}"))
                        .spawn_scoped(scope, move || {
                            self.run_rank(pid, ranks, port, claims, program, &returned)
                        })
                })
                .collect();
            drop(returned);
            // In a run that survives deaths, a failure does not end the run.
            if self.options.detection_cycles.is_none() {
                self.watch_programs(ranks, &news);
            }
            let join = |thread: std::io::Result<thread::ScopedJoinHandle<'_, _>>| match thread {
                Err(error) => Err(Failure::Error(Error::program(error))),
                Ok(thread) => match thread.join() {
                    Ok(ended) => ended,
                    Err(panic) => Err(Failure::Panic(panic_message(&*panic))),
                },
            };
            threads.into_iter().map(join).collect::<Vec<_>>()
        }))
    }

    /// Returns when all threads have ended. If one has failed and the programs of others do not
    /// return, prints a message on standard error. A thread can't be ended from outside.
    ///
    /// Time may stand still while such a program runs, so threads whose programs have returned may
    /// not end either.
    fn watch_programs(&self, ranks: u32, news: &Receiver<Returned>) {
        let mut left: BTreeSet<GlobalRank> = (0..ranks).map(GlobalRank).collect();
        // The first failure that is not that of another rank, or else the first one.
        let mut first: Option<(GlobalRank, String, bool)> = None;
        loop {
            let next = if first.is_some() && !left.is_empty() {
                news.recv_timeout(UNWINDING)
            } else {
                news.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match (next, &first) {
                (Ok(Returned { rank, failure }), _) => {
                    left.remove(&rank);
                    if let Some((text, is_own)) = failure
                        && first.as_ref().is_none_or(|(_, _, known)| is_own && !known)
                    {
                        first = Some((rank, text, is_own));
                    }
                }
                (Err(RecvTimeoutError::Timeout), Some((rank, text, _))) => {
                    let names: Vec<String> = left.iter().map(ToString::to_string).collect();
                    let programs = match left.len() {
                        1 => format!("program of {} returns", names.join(", ")),
                        _ => format!("programs of {} return", names.join(", ")),
                    };
                    let name = self.cluster.name();
                    eprintln!("{name}: {rank} {text}; the run ends when the {programs}");
                    return;
                }
                (Err(_), _) => return,
            }
        }
    }

    /// Resets the boards and attaches a port for each rank.
    fn attach(&self, ranks: u32) -> Result<Vec<Box<dyn Port>>> {
        self.cluster.prepare(ranks)?;
        (0..ranks)
            .map(|rank| {
                let board = &self.cluster.boards()[(rank / self.info.ranks) as usize];
                Arc::clone(board).attach(LocalRank(rank % self.info.ranks))
            })
            .collect()
    }

    /// Runs a rank's thread.
    fn run_rank<T>(
        &self,
        pid: u32,
        ranks: u32,
        port: Box<dyn Port>,
        claims: &[Claims],
        program: &impl Fn(&mut Rank) -> Result<T>,
        returned: &Sender<Returned>,
    ) -> Result<T, Failure> {
        let board = pid / self.info.ranks;
        let place = Place {
            me: GlobalRank(pid),
            nprocs: ranks,
            board,
            home: Some(Arc::clone(&self.cluster.boards()[board as usize])),
            cluster: Some(self.cluster.clone()),
        };
        let rows = Rows {
            claims: Some(claims[board as usize].clone()),
            ..Rows::default()
        };
        // The receiver is gone after it has named the ranks whose programs do not return.
        let tell = |failure: Option<&Failure>| {
            let _ = returned.send(Returned::of(GlobalRank(pid), failure));
        };
        let failed = |failure: Failure| {
            tell(Some(&failure));
            failure
        };
        let mut rank = Rank::begin(port, self.info.clone(), place, rows, &self.options)
            .map_err(|error| failed(Failure::Error(error)))?;
        // Afterwards the rank is used for an abort only, so any state is acceptable.
        let (failure, reason) = match catch_unwind(AssertUnwindSafe(|| program(&mut rank))) {
            Ok(Ok(value)) => {
                tell(None);
                let ended = rank.finish().map(|()| value);
                return ended.map_err(|error| failed(Failure::Error(error)));
            }
            Ok(Err(error)) => (Failure::Error(error), AbortReason::FAILED),
            Err(panic) => (
                Failure::Panic(panic_message(&*panic)),
                AbortReason::PANICKED,
            ),
        };
        let failure = failed(failure);
        // The program's failure has precedence.
        let _ = rank.give_up(reason);
        Err(failure)
    }

    /// Returns all values or the first cause: the failure of the rank whose ABORT the board
    /// accepted, or else of the lowest rank that did not fail because of another rank.
    fn first_cause<T>(&self, ended: Vec<Result<T, Failure>>) -> Result<Vec<T>, JobError> {
        let mut values = Vec::with_capacity(ended.len());
        let mut failures = Vec::new();
        for (pid, ended) in (0..).map(GlobalRank).zip(ended) {
            match ended {
                Ok(value) => values.push(value),
                Err(failure) => failures.push((pid, failure)),
            }
        }
        let own = |(pid, failure): &(GlobalRank, Failure)| failure.is_own(*pid);
        let aborter = self.aborter();
        let first = failures
            .iter()
            .position(|failure| aborter == Some(failure.0) && own(failure))
            .or_else(|| failures.iter().position(own))
            .unwrap_or(0);
        if failures.is_empty() {
            return Ok(values);
        }
        let (rank, failure) = failures.swap_remove(first);
        Err(self.job_error(rank, failure))
    }

    fn job_error(&self, rank: GlobalRank, failure: Failure) -> JobError {
        let board = self.cluster.name().to_owned();
        match failure {
            Failure::Error(source) => JobError::Failed {
                board,
                rank,
                source,
            },
            Failure::Panic(message) => JobError::Panicked {
                board,
                rank,
                message,
            },
        }
    }

    /// Returns the rank whose ABORT a board accepted first.
    fn aborter(&self) -> Option<GlobalRank> {
        self.cluster.boards().iter().find_map(|board| {
            let status = board.read32(PageOffset(board::STATUS)).ok()?;
            (board::status::ABORTED.get(status) != 0)
                .then(|| GlobalRank(board::status::ABORT_RANK.get(status)))
        })
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|message| (*message).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is not text".to_owned())
}
