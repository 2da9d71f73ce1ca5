//! The context of a test's body: boards, seed, tier.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alcor::{
    Board, BoardInfo, Cluster, GlobalRank, Job, JobError, LocalRank, NodeAddr, Options, PageOffset,
    Rank,
};
use alcor_abi::board;
use rand_chacha::ChaCha8Rng;

use crate::noise::{generator, noise};
use crate::{Failure, Result, Settings};

/// The effort of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tier {
    /// The effort for every change.
    #[default]
    Quick,
    /// About ten times the work, in tests for which more work finds more.
    Full,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Tier::Quick => "quick",
            Tier::Full => "full",
        })
    }
}

/// Totals over the runs of a test.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Traffic {
    /// CRC-32 over the digests of the runs in order; `None` if the backend has no digests.
    pub digest: Option<u32>,
    /// Total cycles of all runs.
    pub cycles: u64,
}

/// The context of a test's body: boards, a seed, a tier.
pub struct Context {
    cluster: Cluster,
    info: BoardInfo,
    seed: u64,
    run_seed: u64,
    tier: Tier,
    options: Options,
    traffic: Mutex<Traffic>,
}

/// Bytes that one access clears.
const CLEARED_AT_ONCE: u32 = 1 << 20;
/// Number of bytes that are cleared at the end of node memory.
const CLEARED_AT_END: u32 = 1024;
/// Bytes of node memory that the quick tier uses. Clearing more takes too long over a real link.
const QUICK_MEMORY: u32 = 256 << 10;

impl Context {
    /// Resets the boards and clears their node memory.
    pub(crate) fn new(cluster: Cluster, seed: u64, settings: &Settings) -> alcor::Result<Context> {
        for board in cluster.boards() {
            board.reset()?;
        }
        let info = cluster.identify()?;
        let context = Context {
            cluster,
            info,
            seed,
            run_seed: settings.seed,
            tier: settings.tier,
            options: Options::default().watchdog_cycles(settings.watchdog_cycles),
            traffic: Mutex::default(),
        };
        let boards = context.cluster.boards();
        if !boards.iter().all(|board| board.reset_clears_memory()) {
            (0..context.ranks()).try_for_each(|rank| context.clear(rank))?;
        }
        Ok(context)
    }

    /// Clears node memory of a rank, so that data of earlier tests has no effect: a put of single
    /// bytes reads the whole word, and the word is part of the traffic digest.
    fn clear(&self, rank: u32) -> alcor::Result<()> {
        let (number, local) = (rank / self.info.ranks, rank % self.info.ranks);
        for (other, board) in (0..).zip(self.cluster.boards()) {
            board.expect(u32::from(other == number))?;
        }
        let board = Arc::clone(&self.cluster.boards()[number as usize]);
        let mut port = board.attach(LocalRank(local))?;
        let zeros = vec![0; self.memory().min(CLEARED_AT_ONCE) as usize];
        let mut at = 0;
        while at < self.memory() {
            let bytes = (self.memory() - at).min(CLEARED_AT_ONCE);
            port.write_memory(NodeAddr(at), &zeros[..bytes as usize])?;
            at += bytes;
        }
        let end = self.info.node_bytes - CLEARED_AT_END;
        port.write_memory(NodeAddr(end), &zeros[..CLEARED_AT_END as usize])?;
        port.leave()
    }

    /// Bytes of node memory, from its start, that tests of this tier use. Tests may also access the
    /// last 1024 bytes of node memory.
    #[must_use]
    pub fn memory(&self) -> u32 {
        let bytes = self.info.node_bytes;
        self.scale(bytes.min(QUICK_MEMORY), bytes)
    }

    /// The cluster under test.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The options of [`run`](Self::run), for ranks that a test attaches by itself: a limit of waits,
    /// on cards too, and the topology of the boards.
    #[must_use]
    pub fn options(&self) -> Options {
        self.options.topology(*self.cluster.topology())
    }

    /// The board of a global rank, and the rank's number on that board.
    #[must_use]
    pub fn place(&self, rank: u32) -> (Arc<dyn Board>, LocalRank) {
        let board = &self.cluster.boards()[(rank / self.info.ranks) as usize];
        (Arc::clone(board), LocalRank(rank % self.info.ranks))
    }

    /// The contents of the ID block, equal on all boards.
    #[must_use]
    pub fn info(&self) -> &BoardInfo {
        &self.info
    }

    /// Number of ranks of all boards.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.info.ranks * self.cluster.boards().len() as u32
    }

    /// The seed of this test.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The seed of the run, from which the test's seed is derived.
    #[must_use]
    pub fn run_seed(&self) -> u64 {
        self.run_seed
    }

    /// Returns `full` in the full tier, else `quick`.
    #[must_use]
    pub fn scale<T>(&self, quick: T, full: T) -> T {
        match self.tier {
            Tier::Quick => quick,
            Tier::Full => full,
        }
    }

    /// A random generator for a purpose. The numbers identify the purpose.
    #[must_use]
    pub fn rng(&self, purpose: &[u64]) -> ChaCha8Rng {
        generator(self.seed, purpose)
    }

    /// `length` random bytes for a purpose. The numbers identify the purpose.
    #[must_use]
    pub fn noise(&self, purpose: &[u64], length: usize) -> Vec<u8> {
        noise(self.seed, purpose, length)
    }

    /// Runs `program` on all ranks, with a thread for each rank. Returns the values in order of
    /// rank.
    ///
    /// # Errors
    /// The failure of the rank that failed first, or the failure of the run itself.
    pub fn run<T: Send>(&self, program: impl Fn(&mut Rank) -> Result<T> + Sync) -> Result<Vec<T>> {
        self.run_with(self.options, self.ranks(), program)
    }

    /// Runs `program` on `ranks` ranks with the given options. A wait has a limit, on cards too: that
    /// of the options, or else that of the test.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run).
    pub fn run_with<T: Send>(
        &self,
        options: Options,
        ranks: u32,
        program: impl Fn(&mut Rank) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        self.attempt(options, ranks, program).map_err(Failure::from)
    }

    /// Runs `program` on `ranks` ranks and returns the library's error. For tests of failing runs.
    ///
    /// # Errors
    /// The error of the library.
    pub fn attempt<T: Send>(
        &self,
        options: Options,
        ranks: u32,
        program: impl Fn(&mut Rank) -> Result<T> + Sync,
    ) -> Result<Vec<T>, JobError> {
        let mut options = options;
        options.watchdog_cycles = options.watchdog_cycles.or(self.options.watchdog_cycles);
        let ended = Job::with_options(&self.cluster, options)
            .map_err(|source| JobError::NotStarted {
                board: self.cluster.name().to_owned(),
                source,
            })?
            .run(ranks, |rank| program(rank).map_err(Failure::into_error));
        self.account();
        ended
    }

    /// Runs `program` on all ranks, and returns the result of each rank. `cluster` is the cluster
    /// under test, or layers over its boards. For tests of runs that survive deaths.
    ///
    /// # Errors
    /// If the run did not begin.
    pub fn attempt_each<T: Send>(
        &self,
        cluster: &Cluster,
        options: Options,
        program: impl Fn(&mut Rank) -> Result<T> + Sync,
    ) -> Result<Vec<Result<T, JobError>>> {
        let mut options = options;
        options.watchdog_cycles = options.watchdog_cycles.or(self.options.watchdog_cycles);
        let job = Job::with_options(cluster, options)?;
        let ended = job.run_each(self.ranks(), |rank| {
            program(rank).map_err(Failure::into_error)
        })?;
        self.account();
        Ok(ended)
    }

    /// Adds the traffic of the last run. A missing value counts as 0: a test that needs the value
    /// must request it explicitly.
    fn account(&self) {
        let mut traffic = self.lock();
        traffic.cycles += cycles(&self.cluster);
        traffic.digest = digest(&self.cluster, traffic.digest);
    }

    /// Adds cycles and digest of a run in another process.
    pub fn count(&self, cycles: u64, digest: Option<u32>) {
        let mut traffic = self.lock();
        traffic.cycles += cycles;
        traffic.digest = digest.or(traffic.digest);
    }

    pub(crate) fn traffic(&self) -> Traffic {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cycles of the last run, and CRC-32 over the digests of the boards if their backend has digests.
#[must_use]
pub fn traffic(cluster: &Cluster) -> (u64, Option<u32>) {
    (cycles(cluster), digest(cluster, None))
}

fn cycles(cluster: &Cluster) -> u64 {
    // Clocks of joined boards are equal.
    let first = &cluster.boards()[0];
    let read = |offset| first.read32(PageOffset(offset)).unwrap_or(0);
    u64::from(read(board::CYCLE_HI)) << 32 | u64::from(read(board::CYCLE_LO))
}

/// The digest of earlier runs, extended by the digest of the last run.
fn digest(cluster: &Cluster, before: Option<u32>) -> Option<u32> {
    let digests = cluster
        .boards()
        .iter()
        .filter_map(|board| board.traffic_digest());
    digests.fold(before, |before, digest| {
        let mut hasher = crc32fast::Hasher::new_with_initial(before.unwrap_or(0));
        hasher.update(&digest.to_le_bytes());
        Some(hasher.finalize())
    })
}

/// The rank `steps` after this rank, cyclically.
#[must_use]
pub fn after(rank: &Rank, steps: u32) -> GlobalRank {
    GlobalRank((rank.pid().0 + steps) % rank.nprocs())
}

/// The rank `steps` before this rank, cyclically.
#[must_use]
pub fn before(rank: &Rank, steps: u32) -> GlobalRank {
    after(rank, rank.nprocs() - steps % rank.nprocs())
}
