//! A board in plain Rust with the registers of the hardware, for tests and examples.
//!
//! The board implements the registers of `hw/abi/alcor.rdl` and has no timing. The commands of a
//! rank are executed when the rank waits or reads a register, and not before. So the board finds a
//! library that does not count its credits. The clock counts register accesses, and jumps to the
//! next deadline when all ranks wait. The cluster is a single board. There is no traffic, and cycle
//! counts have no meaning.
//!
//! # Examples
//! ```
//! use alcor::{Job, soft::{SoftBoard, SoftConfig}};
//!
//! let config = SoftConfig::default().ranks(2).slots(8).node_bytes(1 << 16);
//! let board = SoftBoard::with(config.commands(32).message_depth(16).fragment_bytes(64));
//! Job::new(board)?.run(2, |rank| rank.barrier())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alpu;
mod atomic;
mod commands;
mod messages;
mod paper;
mod port;
mod rank;
mod registers;
mod sync;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use alcor_abi::board;

use self::port::SoftPort;
use self::rank::{SoftRank, target_of};
use crate::{
    Backend, Board, Causes, Cluster, Error, GlobalRank, LocalRank, PageOffset, Port, Result,
};

/// The parameters of a [`SoftBoard`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct SoftConfig {
    /// Ranks, 1 to 16.
    pub ranks: u32,
    /// Slots of a registration table.
    pub slots: u32,
    /// Bytes of node memory of each rank.
    pub node_bytes: u32,
    /// Entries of a command queue.
    pub commands: u32,
    /// Entries of each queue of a message engine: a power of two up to 1024, or 0 for no message
    /// engine.
    pub message_depth: u32,
    /// Maximum length of an eager message, in bytes.
    pub fragment_bytes: u32,
}

impl Default for SoftConfig {
    fn default() -> SoftConfig {
        SoftConfig {
            ranks: 4,
            slots: 32,
            node_bytes: 1 << 20,
            commands: 64,
            message_depth: 64,
            fragment_bytes: 256,
        }
    }
}

impl SoftConfig {
    /// Sets [`SoftConfig::ranks`].
    #[must_use]
    pub fn ranks(mut self, ranks: u32) -> SoftConfig {
        self.ranks = ranks;
        self
    }

    /// Sets [`SoftConfig::slots`].
    #[must_use]
    pub fn slots(mut self, slots: u32) -> SoftConfig {
        self.slots = slots;
        self
    }

    /// Sets [`SoftConfig::node_bytes`].
    #[must_use]
    pub fn node_bytes(mut self, node_bytes: u32) -> SoftConfig {
        self.node_bytes = node_bytes;
        self
    }

    /// Sets [`SoftConfig::commands`].
    #[must_use]
    pub fn commands(mut self, commands: u32) -> SoftConfig {
        self.commands = commands;
        self
    }

    /// Sets [`SoftConfig::message_depth`].
    #[must_use]
    pub fn message_depth(mut self, message_depth: u32) -> SoftConfig {
        self.message_depth = message_depth;
        self
    }

    /// Sets [`SoftConfig::fragment_bytes`].
    #[must_use]
    pub fn fragment_bytes(mut self, fragment_bytes: u32) -> SoftConfig {
        self.fragment_bytes = fragment_bytes;
        self
    }
}

/// The backend of soft boards: `soft:4` opens a board of four ranks.
#[derive(Debug, Clone, Copy)]
pub struct Soft;

impl Backend for Soft {
    fn scheme(&self) -> &str {
        "soft"
    }

    fn open(&self, rest: &str) -> Result<Cluster> {
        match rest.parse() {
            Ok(ranks @ 1..=board::RANK_STATE_COUNT) => Ok(SoftBoard::new(ranks).into()),
            _ => Err(Error::Board {
                board: format!("soft:{rest}"),
                source: "`soft:` needs the number of ranks, 1 to 16".into(),
            }),
        }
    }
}

/// A board in plain Rust.
#[derive(Debug)]
pub struct SoftBoard {
    name: String,
    state: Mutex<State>,
    /// Signals an event that may end a wait.
    changed: Condvar,
}

impl SoftBoard {
    /// Makes a board of `ranks` ranks.
    ///
    /// # Examples
    /// ```
    /// let board = alcor::soft::SoftBoard::new(4);
    /// assert_eq!(alcor::Cluster::from(board).ranks()?, 4);
    /// # Ok::<(), alcor::Error>(())
    /// ```
    #[must_use]
    pub fn new(ranks: u32) -> Arc<SoftBoard> {
        SoftBoard::with(SoftConfig {
            ranks,
            ..SoftConfig::default()
        })
    }

    /// Makes a board with these parameters.
    #[must_use]
    pub fn with(config: SoftConfig) -> Arc<SoftBoard> {
        let memory = || vec![0; config.node_bytes as usize];
        Arc::new(SoftBoard {
            name: format!("soft:{}", config.ranks),
            state: Mutex::new(State {
                config,
                run_ranks: config.ranks,
                now: 0,
                aborted: None,
                expected: 0,
                joined: 0,
                died: None,
                survived: Vec::new(),
                ranks: (0..config.ranks)
                    .map(|number| SoftRank::new(&config, number, memory()))
                    .collect(),
            }),
            changed: Condvar::new(),
        })
    }

    fn peer_died(&self, LocalRank(rank): LocalRank) -> Error {
        Error::PeerDied {
            board: self.name.clone(),
            rank: GlobalRank(rank),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn busy(&self, state: &State, operation: &'static str) -> Result<()> {
        match state.ranks.iter().filter(|rank| rank.attached).count() {
            0 => Ok(()),
            attached => Err(Error::BoardBusy {
                board: self.name.clone(),
                operation,
                attached: attached as u32,
            }),
        }
    }

    fn no_such_rank(&self, rank: LocalRank, state: &State) -> Error {
        Error::NoSuchRank {
            board: self.name.clone(),
            rank,
            ranks: state.config.ranks,
        }
    }
}

impl Board for SoftBoard {
    fn name(&self) -> &str {
        &self.name
    }

    fn read32(&self, offset: PageOffset) -> Result<u32> {
        Ok(self.lock().read_board(offset.0))
    }

    /// PLACE holds the number of ranks of the run. The other registers belong to boards with links.
    fn write32(&self, offset: PageOffset, value: u32) -> Result<()> {
        if offset.0 == board::PLACE {
            self.lock().run_ranks = board::place::RANKS.get(value);
        }
        Ok(())
    }

    fn reset(&self) -> Result<()> {
        let mut state = self.lock();
        self.busy(&state, "reset")?;
        let config = state.config;
        state.run_ranks = config.ranks;
        state.now = 0;
        state.aborted = None;
        state.died = None;
        state.survived.clear();
        state.expected = 0;
        state.joined = 0;
        for (number, rank) in (0..).zip(&mut state.ranks) {
            *rank = SoftRank::new(&config, number, std::mem::take(&mut rank.memory));
        }
        Ok(())
    }

    fn expect(&self, ports: u32) -> Result<()> {
        let mut state = self.lock();
        self.busy(&state, "begin a run")?;
        if ports > state.config.ranks {
            return Err(self.no_such_rank(LocalRank(ports - 1), &state));
        }
        state.expected = ports;
        state.joined = 0;
        Ok(())
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>> {
        let mut state = self.lock();
        let index = rank.0 as usize;
        if index >= state.ranks.len() {
            return Err(self.no_such_rank(rank, &state));
        }
        if state.ranks[index].attached {
            return Err(Error::RankTaken {
                board: self.name.clone(),
                rank,
            });
        }
        state.ranks[index].attached = true;
        state.ranks[index].left = false;
        state.ranks[index].survives = false;
        state.joined += 1;
        drop(state);
        self.changed.notify_all();
        Ok(Box::new(SoftPort { board: self, index }))
    }

    fn traffic_digest(&self) -> Option<u32> {
        None
    }

    fn time_stands_still(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct State {
    config: SoftConfig,
    /// Number of ranks of the run, on all boards.
    run_ranks: u32,
    now: u64,
    /// The rank that aborted the run, and its reason.
    aborted: Option<(u32, u32)>,
    expected: u32,
    joined: u32,
    /// The rank whose death ended the run.
    died: Option<LocalRank>,
    /// Deaths that the run has survived.
    survived: Vec<GlobalRank>,
    ranks: Vec<SoftRank>,
}

impl State {
    /// Ends a rank whose port was dropped before it left. The run goes on if all other ranks survive
    /// deaths.
    fn die(&mut self, index: usize) {
        let mut others = (0..)
            .zip(&self.ranks)
            .filter(|&(other, rank)| other != index && rank.attached && !rank.left);
        if others.all(|(_, rank)| rank.survives) {
            self.advance(index);
            self.reset_rank(index);
            self.survived.push(GlobalRank(index as u32));
        } else {
            self.died.get_or_insert(LocalRank(index as u32));
        }
    }

    fn raised(&self, index: usize) -> Causes {
        self.ranks[index].causes(self.aborted.is_some())
    }

    /// The earliest deadline, if time may advance: all ranks of the run wait and none has been
    /// woken.
    fn all_wait_until(&self) -> Option<u64> {
        if self.joined < self.expected {
            return None;
        }
        let mut earliest = u64::MAX;
        for (index, rank) in self.ranks.iter().enumerate() {
            if rank.attached && !rank.left {
                let deadline = rank.waiting?;
                if self.raised(index).meets(rank.awaited) || deadline <= self.now {
                    return None;
                }
                earliest = earliest.min(deadline);
            }
        }
        Some(earliest)
    }
}
