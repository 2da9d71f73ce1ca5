//! A run with its ranks as threads of this process.

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use alcor_abi::board;

use crate::progress::{Place, ring_bytes};
use crate::rows::{Claims, Rows};
use crate::{
    AbortReason, Board, BoardInfo, Cluster, Error, GlobalRank, LocalRank, PageOffset, Port, Rank,
    Result, Topology,
};

/// What a rank can be told about how to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Cycles that a wait may last; a cycle more for each byte of the rank's own transfers under
    /// way.
    pub watchdog_cycles: u64,
    /// Entries of the completion ring, a power of two up to 32768: how many transfers may be
    /// under way. Three quarters of them may be messages and posted receives.
    pub ring_entries: u32,
    /// Whether collectives that hardware can't do fail instead of running in software.
    pub strict: bool,
    /// Whether all collectives run in software, to compare with.
    pub software_collectives: bool,
    /// Whether members of a collective first agree on what they called, for the time of a
    /// collective without data. Without it, those that differ over a message that is longer than
    /// the hardware's windows (16 KiB in the world, less in other communicators) may wait for each
    /// other until the watchdog; shorter ones are told in any case. All ranks have to have the
    /// same.
    pub checked: bool,
    /// How the run's boards are joined. A [`Job`] takes its cluster's; processes that attach one
    /// rank each have to agree on it.
    pub topology: Topology,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            watchdog_cycles: 2_000_000,
            ring_entries: 256,
            strict: false,
            software_collectives: false,
            checked: false,
            topology: Topology::single(),
        }
    }
}

impl Options {
    /// With another [`Options::watchdog_cycles`].
    #[must_use]
    pub fn watchdog_cycles(mut self, cycles: u64) -> Options {
        self.watchdog_cycles = cycles;
        self
    }

    /// With another [`Options::ring_entries`].
    #[must_use]
    pub fn ring_entries(mut self, entries: u32) -> Options {
        self.ring_entries = entries;
        self
    }

    /// With another [`Options::strict`].
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Options {
        self.strict = strict;
        self
    }

    /// With another [`Options::software_collectives`].
    #[must_use]
    pub fn software_collectives(mut self, software: bool) -> Options {
        self.software_collectives = software;
        self
    }

    /// With another [`Options::checked`].
    #[must_use]
    pub fn checked(mut self, checked: bool) -> Options {
        self.checked = checked;
        self
    }

    /// With another [`Options::topology`].
    #[must_use]
    pub fn topology(mut self, topology: Topology) -> Options {
        self.topology = topology;
        self
    }

    pub(crate) fn check(&self, info: &BoardInfo) -> Result<()> {
        let bad = |rule| Error::BadOption {
            option: "ring_entries",
            value: u64::from(self.ring_entries),
            rule,
        };
        if !self.ring_entries.is_power_of_two() || self.ring_entries > 1 << 15 {
            return Err(bad("it must be a power of two, at most 32768"));
        }
        // Above are the ids of kernels.
        if info.has_kernel() && self.ring_entries + info.message_depth > 1 << 15 {
            return Err(bad(
                "on a board with kernels, the ring's entries and those of a message queue are at most 32768 together",
            ));
        }
        if ring_bytes(self.ring_entries) > info.usable_bytes() {
            return Err(bad(
                "the ring must fit into node memory, 16 bytes an entry, below the unexpected message buffer",
            ));
        }
        Ok(())
    }
}

/// Why a run did not end well: the first cause, not what it led to at other ranks.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The run did not begin.
    #[error("{board}: the run did not begin: {source}")]
    NotStarted {
        /// The board.
        board: String,
        /// Why.
        source: Error,
    },
    /// A rank's program, or the library on its behalf, failed.
    #[error("{board}: {rank} failed: {source}")]
    Failed {
        /// The board.
        board: String,
        /// Which rank.
        rank: GlobalRank,
        /// Why.
        source: Error,
    },
    /// A rank's program panicked.
    #[error("{board}: {rank} panicked: {message}")]
    Panicked {
        /// The board.
        board: String,
        /// Which rank.
        rank: GlobalRank,
        /// What the panic said.
        message: String,
    },
}

alcor_errors::debug_as_text!(JobError);

impl JobError {
    /// The rank that failed first, if the run began.
    #[must_use]
    pub fn rank(&self) -> Option<GlobalRank> {
        match self {
            JobError::NotStarted { .. } => None,
            JobError::Failed { rank, .. } | JobError::Panicked { rank, .. } => Some(*rank),
        }
    }

    /// The error, if it was not a panic.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        match self {
            JobError::NotStarted { source, .. } | JobError::Failed { source, .. } => Some(source),
            JobError::Panicked { .. } => None,
        }
    }
}

/// How long, after one rank has failed, another one's end may take until it is told which ranks
/// have not returned.
const UNWINDING: Duration = Duration::from_secs(5);

/// How a rank's part of a run failed.
enum Failure {
    Error(Error),
    Panic(String),
}

/// Runs programs on a board or a cluster of boards, one thread a rank.
///
/// It does what a launcher of processes would do with [`Rank::attach`], and nothing more.
pub struct Job {
    cluster: Cluster,
    info: BoardInfo,
    options: Options,
}

impl Job {
    /// Checks the boards' ID blocks.
    ///
    /// # Errors
    /// As [`identify`]; [`Error::BadIdentity`] when boards of a cluster do not fit together.
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

    /// As [`Job::new`], with options of one's own.
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
        let options = options.topology(*cluster.topology());
        Ok(Job {
            cluster,
            info,
            options,
        })
    }

    /// What the boards say of themselves: each of them the same.
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

    /// Ranks of all boards together.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.info.ranks * self.cluster.boards().len() as u32
    }

    /// Resets the boards and runs `program` on `ranks` ranks, each on a thread of its own; what
    /// they return, in order of rank. Ranks fill one board after the other.
    ///
    /// A program that fails or panics aborts the run: its peers' waits end with
    /// [`Error::Aborted`].
    ///
    /// # Errors
    /// The first cause, and which rank it happened at.
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
        let ended = thread::scope(|scope| {
            let (ends, news) = mpsc::channel();
            let threads: Vec<_> = (0..ranks)
                .zip(ports)
                .map(|(pid, port)| {
                    let (program, claims, ends) = (&program, &claims, ends.clone());
                    thread::Builder::new()
                        .name(format!("rank {pid}"))
                        .spawn_scoped(scope, move || {
                            let ended = self.run_rank(pid, ranks, port, claims, program);
                            // Nobody listens once it was told which ranks do not return.
                            let _ = ends.send((pid, ended.is_ok()));
                            ended
                        })
                })
                .collect();
            drop(ends);
            self.watch_ends(ranks, &news);
            let join = |thread: std::io::Result<thread::ScopedJoinHandle<'_, _>>| match thread {
                Err(error) => Err(Failure::Error(Error::program(error))),
                Ok(thread) => match thread.join() {
                    Ok(ended) => ended,
                    Err(panic) => Err(Failure::Panic(panic_message(&*panic))),
                },
            };
            threads.into_iter().map(join).collect::<Vec<_>>()
        });
        self.first_cause(ended)
    }

    /// Comes back when all ranks have ended. If one has failed and others do not return from their
    /// programs, says so on standard error: nothing can end a thread from outside.
    fn watch_ends(&self, ranks: u32, news: &Receiver<(u32, bool)>) {
        let mut left: BTreeSet<u32> = (0..ranks).collect();
        let mut failed = None;
        loop {
            let next = match failed {
                None => news.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(_) => news.recv_timeout(UNWINDING),
            };
            match (next, failed) {
                (Ok((rank, is_well)), _) => {
                    left.remove(&rank);
                    if !is_well {
                        failed = failed.or(Some(rank));
                    }
                }
                (Err(RecvTimeoutError::Timeout), Some(failed)) => {
                    let left: Vec<String> =
                        left.iter().map(|rank| format!("rank {rank}")).collect();
                    let (name, left) = (self.cluster.name(), left.join(", "));
                    eprintln!(
                        "{name}: rank {failed} has failed, and the run waits for the program of {left} to return"
                    );
                    return;
                }
                (Err(_), _) => return,
            }
        }
    }

    /// A port for each rank, of boards fresh from their reset.
    fn attach(&self, ranks: u32) -> Result<Vec<Box<dyn Port>>> {
        self.cluster.prepare(ranks)?;
        (0..ranks)
            .map(|rank| {
                let board = &self.cluster.boards()[(rank / self.info.ranks) as usize];
                Arc::clone(board).attach(LocalRank(rank % self.info.ranks))
            })
            .collect()
    }

    /// A rank's thread.
    fn run_rank<T>(
        &self,
        pid: u32,
        ranks: u32,
        port: Box<dyn Port>,
        claims: &[Claims],
        program: &impl Fn(&mut Rank) -> Result<T>,
    ) -> Result<T, Failure> {
        let board = pid / self.info.ranks;
        let place = Place {
            me: GlobalRank(pid),
            nprocs: ranks,
            board,
            cluster: Some(self.cluster.clone()),
        };
        let rows = Rows {
            claims: Some(claims[board as usize].clone()),
            ..Rows::default()
        };
        let mut rank = Rank::begin(port, self.info.clone(), place, rows, &self.options)
            .map_err(Failure::Error)?;
        // The rank is only used to abort afterwards, so it may be in the middle of anything.
        let (failure, reason) = match catch_unwind(AssertUnwindSafe(|| program(&mut rank))) {
            Ok(Ok(value)) => return rank.finish().map(|()| value).map_err(Failure::Error),
            Ok(Err(error)) => (Failure::Error(error), AbortReason::FAILED),
            Err(panic) => (
                Failure::Panic(panic_message(&*panic)),
                AbortReason::PANICKED,
            ),
        };
        // The program's failure is the one to tell.
        let _ = rank.give_up(reason);
        Err(failure)
    }

    /// All values, or what went wrong first: at the rank whose ABORT the board took, else at the
    /// lowest rank that did not fail because of another.
    fn first_cause<T>(&self, ended: Vec<Result<T, Failure>>) -> Result<Vec<T>, JobError> {
        let mut values = Vec::with_capacity(ended.len());
        let mut failures = Vec::new();
        for (pid, ended) in (0..).map(GlobalRank).zip(ended) {
            match ended {
                Ok(value) => values.push(value),
                Err(failure) => failures.push((pid, failure)),
            }
        }
        let own = |(pid, failure): &(GlobalRank, Failure)| match failure {
            Failure::Panic(_) => true,
            Failure::Error(error) => !error.follows_from_another(*pid),
        };
        let aborter = self.aborter();
        let first = failures
            .iter()
            .position(|failure| aborter == Some(failure.0) && own(failure))
            .or_else(|| failures.iter().position(own))
            .unwrap_or(0);
        if failures.is_empty() {
            return Ok(values);
        }
        let board = self.cluster.name().to_owned();
        Err(match failures.swap_remove(first) {
            (rank, Failure::Error(source)) => JobError::Failed {
                board,
                rank,
                source,
            },
            (rank, Failure::Panic(message)) => JobError::Panicked {
                board,
                rank,
                message,
            },
        })
    }

    /// The rank whose ABORT a board took first.
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
