//! What a test's body has at hand.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alcor::abi::board;
use alcor::{
    Board, BoardInfo, Cluster, GlobalRank, Job, JobError, LocalRank, NodeAddr, Options, PageOffset,
    Rank,
};
use rand_chacha::ChaCha8Rng;

use crate::noise::{generator, noise};
use crate::{Failure, Result, Settings};

/// How thorough a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tier {
    /// What every change is tested with.
    #[default]
    Quick,
    /// Ten times as much where that makes sense.
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

/// What the runs of a test came to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Traffic {
    /// CRC-32 over the digests of the runs in their order; none where the backend has none.
    pub digest: Option<u32>,
    /// Cycles of all runs.
    pub cycles: u64,
}

/// What a test's body has at hand: boards, a seed, a tier.
pub struct Context {
    cluster: Cluster,
    info: BoardInfo,
    seed: u64,
    run_seed: u64,
    tier: Tier,
    options: Options,
    traffic: Mutex<Traffic>,
}

/// Bytes that are cleared in one access.
const CLEARED_AT_ONCE: u32 = 1 << 20;
/// Bytes that are cleared at the end of node memory.
const CLEARED_AT_END: u32 = 1024;
/// Bytes that the quick tier works with: clearing them takes time on a board with a real link.
const QUICK_MEMORY: u32 = 256 << 10;

impl Context {
    /// Resets boards and clears their node memory.
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

    /// What a test before has left must not show: a word is read as a whole where one of its bytes
    /// is put, and so would be in the traffic.
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

    /// Bytes of node memory, from its start, that tests of this tier work with; beside them, they
    /// may have a look at its end.
    #[must_use]
    pub fn memory(&self) -> u32 {
        let bytes = self.info.node_bytes;
        self.scale(bytes.min(QUICK_MEMORY), bytes)
    }

    /// The boards.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The board of a rank, and the rank's number there.
    #[must_use]
    pub fn place(&self, rank: u32) -> (Arc<dyn Board>, LocalRank) {
        let board = &self.cluster.boards()[(rank / self.info.ranks) as usize];
        (Arc::clone(board), LocalRank(rank % self.info.ranks))
    }

    /// What each of the boards says of itself.
    #[must_use]
    pub fn info(&self) -> &BoardInfo {
        &self.info
    }

    /// Ranks of all boards together.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.info.ranks * self.cluster.boards().len() as u32
    }

    /// The test's own seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The seed of the run, which the test's own derives from.
    #[must_use]
    pub fn run_seed(&self) -> u64 {
        self.run_seed
    }

    /// `quick`, or `full` in the full tier.
    #[must_use]
    pub fn scale<T>(&self, quick: T, full: T) -> T {
        match self.tier {
            Tier::Quick => quick,
            Tier::Full => full,
        }
    }

    /// The generator for a purpose, which a few numbers name.
    #[must_use]
    pub fn rng(&self, purpose: &[u64]) -> ChaCha8Rng {
        generator(self.seed, purpose)
    }

    /// So many bytes for a purpose, which a few numbers name.
    #[must_use]
    pub fn noise(&self, purpose: &[u64], length: usize) -> Vec<u8> {
        noise(self.seed, purpose, length)
    }

    /// Runs `program` on all ranks, each in a thread of its own, and returns their values, by rank.
    ///
    /// # Errors
    /// The failure of the rank that failed first, or why the run could not begin or end.
    pub fn run<T: Send>(&self, program: impl Fn(&mut Rank) -> Result<T> + Sync) -> Result<Vec<T>> {
        self.run_with(self.options, self.ranks(), program)
    }

    /// Runs `program` on so many ranks, with options of its own.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_with<T: Send>(
        &self,
        options: Options,
        ranks: u32,
        program: impl Fn(&mut Rank) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        self.attempt(options, ranks, program).map_err(Failure::from)
    }

    /// Runs `program` on so many ranks; for a test of how a run fails.
    ///
    /// # Errors
    /// The error of the library.
    pub fn attempt<T: Send>(
        &self,
        options: Options,
        ranks: u32,
        program: impl Fn(&mut Rank) -> Result<T> + Sync,
    ) -> Result<Vec<T>, JobError> {
        let ended = Job::with_options(&self.cluster, options)
            .map_err(|source| JobError::NotStarted {
                board: self.cluster.name().to_owned(),
                source,
            })?
            .run(ranks, |rank| program(rank).map_err(Failure::into_error));
        self.account();
        ended
    }

    /// Adds the last run's traffic. What a board does not tell counts for nothing: a test that
    /// needs it asks for it itself.
    fn account(&self) {
        let mut traffic = self.lock();
        traffic.cycles += cycles(&self.cluster);
        traffic.digest = digest(&self.cluster, traffic.digest);
    }

    /// Adds cycles and digest of a run that another process has measured.
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

/// Cycles of the last run on boards, and CRC-32 over the traffic digests of the boards where their backend has digests.
#[must_use]
pub fn traffic(cluster: &Cluster) -> (u64, Option<u32>) {
    (cycles(cluster), digest(cluster, None))
}

fn cycles(cluster: &Cluster) -> u64 {
    // The clocks of boards that are joined show the same.
    let first = &cluster.boards()[0];
    let read = |offset| first.read32(PageOffset(offset)).unwrap_or(0);
    u64::from(read(board::CYCLE_HI)) << 32 | u64::from(read(board::CYCLE_LO))
}

/// The digest of runs before, extended by that of the last.
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

/// The rank `steps` after this one.
#[must_use]
pub fn after(rank: &Rank, steps: u32) -> GlobalRank {
    GlobalRank((rank.pid().0 + steps) % rank.nprocs())
}

/// The rank `steps` before this one.
#[must_use]
pub fn before(rank: &Rank, steps: u32) -> GlobalRank {
    after(rank, rank.nprocs() - steps % rank.nprocs())
}
