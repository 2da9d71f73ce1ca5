//! Watches the activity of each rank, for tests that exceed their time limit.

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use alcor::{
    Board, BoardLayer, Causes, Cluster, Cycle, LocalRank, NodeAddr, Opcode, PageOffset, Port,
    PortLayer, Result, Wake,
};
use alcor_abi::command;

/// Maximum number of ranks that a description names. Further ranks are counted.
const NAMED: usize = 8;

/// Activity of a rank, in order of description: the rank that delays the others comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Doing {
    Host,
    Register,
    Memory,
    Waits,
    Left,
}

impl Doing {
    const ALL: [Doing; 5] = [
        Doing::Host,
        Doing::Register,
        Doing::Memory,
        Doing::Waits,
        Doing::Left,
    ];
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Doing::Host => "has run host code",
            Doing::Register => "has been reading a register",
            Doing::Memory => "has been copying node memory",
            Doing::Waits => "has waited in the library",
            Doing::Left => "has left the run",
        })
    }
}

/// State of a rank: written by the rank's thread, read by any thread.
#[derive(Debug, Default)]
struct State {
    doing: AtomicU8,
    /// Microseconds from the start of the watch to the last change of `doing`.
    since: AtomicU64,
    /// Page offset of the last command, or 0.
    command: AtomicU32,
}

/// The attached ranks, by board and local rank.
type Ranks = Vec<((usize, u32), Arc<State>)>;

/// Watches the ranks of a cluster through their ports.
#[derive(Debug)]
pub(crate) struct Watch {
    start: Instant,
    ranks: Mutex<Ranks>,
    /// Ranks of each board.
    local: AtomicU32,
}

impl Watch {
    pub(crate) fn new() -> Arc<Watch> {
        Arc::new(Watch {
            start: Instant::now(),
            ranks: Mutex::default(),
            local: AtomicU32::new(0),
        })
    }

    /// The same boards, with ports that report to this watch.
    pub(crate) fn over(self: &Arc<Watch>, cluster: &Cluster) -> Result<Cluster> {
        let local = cluster.identify()?.ranks;
        self.local.store(local, Ordering::Relaxed);
        Ok(cluster.layered(|number, board| WatchedBoard {
            board,
            number,
            watch: Arc::clone(self),
        }))
    }

    /// Describes the activity of each rank.
    pub(crate) fn describe(&self) -> String {
        let now = self.start.elapsed();
        let local = self.local.load(Ordering::Relaxed);
        let mut ranks: Vec<_> = self
            .lock()
            .iter()
            .map(|((board, rank), state)| {
                let doing = Doing::ALL[usize::from(state.doing.load(Ordering::Relaxed))];
                let since = Duration::from_micros(state.since.load(Ordering::Relaxed));
                let command = state.command.load(Ordering::Relaxed);
                let rank = *board as u32 * local + rank;
                (doing, rank, now.saturating_sub(since), command)
            })
            .collect();
        ranks.sort_unstable();
        if ranks.iter().all(|&(doing, ..)| doing == Doing::Left) {
            return "no rank is attached: the test's body runs outside of the library".to_owned();
        }
        let named = ranks.iter().take(NAMED).map(|(doing, rank, time, at)| {
            let command = Opcode::ALL.iter().find(|&&opcode| command(opcode) == *at);
            let last = command.map(|opcode| format!(", last command {opcode:?}"));
            let seconds = time.as_secs_f64();
            format!(
                "rank {rank} {doing} for {seconds:.1} s{}",
                last.unwrap_or_default()
            )
        });
        let mut text = named.collect::<Vec<_>>().join("; ");
        if ranks.len() > NAMED {
            text += &format!("; and {} more ranks", ranks.len() - NAMED);
        }
        text
    }

    fn lock(&self) -> MutexGuard<'_, Ranks> {
        self.ranks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct WatchedBoard {
    board: Arc<dyn Board>,
    number: usize,
    watch: Arc<Watch>,
}

impl BoardLayer for WatchedBoard {
    fn below(&self) -> &Arc<dyn Board> {
        &self.board
    }

    fn reset(&self) -> Result<()> {
        self.watch.lock().clear();
        self.board.reset()
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>> {
        let port = Arc::clone(&self.board).attach(rank)?;
        let state = Arc::new(State::default());
        let mut ranks = self.watch.lock();
        ranks.retain(|&(at, _)| at != (self.number, rank.0));
        ranks.push(((self.number, rank.0), Arc::clone(&state)));
        drop(ranks);
        let port = WatchedPort {
            port,
            start: self.watch.start,
            state,
        };
        port.begins(Doing::Host);
        Ok(Box::new(port))
    }
}

struct WatchedPort {
    port: Box<dyn Port>,
    start: Instant,
    state: Arc<State>,
}

impl WatchedPort {
    fn begins(&self, doing: Doing) {
        let since = self.start.elapsed().as_micros() as u64;
        self.state.since.store(since, Ordering::Relaxed);
        self.state.doing.store(doing as u8, Ordering::Relaxed);
    }

    /// Makes a call that may take time. The rank runs host code afterwards.
    fn during<T>(&mut self, doing: Doing, call: impl FnOnce(&mut dyn Port) -> T) -> T {
        self.begins(doing);
        let result = call(&mut *self.port);
        self.begins(Doing::Host);
        result
    }
}

impl PortLayer for WatchedPort {
    fn below(&mut self) -> &mut dyn Port {
        &mut *self.port
    }

    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<()> {
        self.state.command.store(offset.0, Ordering::Relaxed);
        self.port.write32(offset, value)
    }

    fn read32(&mut self, offset: PageOffset) -> Result<u32> {
        self.during(Doing::Register, |port| port.read32(offset))
    }

    fn read_board32(&mut self, offset: PageOffset) -> Result<u32> {
        self.during(Doing::Register, |port| port.read_board32(offset))
    }

    fn write_memory(&mut self, at: NodeAddr, data: &[u8]) -> Result<()> {
        self.during(Doing::Memory, |port| port.write_memory(at, data))
    }

    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<()> {
        self.during(Doing::Memory, |port| port.read_memory(at, data))
    }

    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake> {
        self.during(Doing::Waits, |port| port.wait(awaited, deadline))
    }

    fn spin(&mut self, awaited: Causes) -> Result<Option<Wake>> {
        self.during(Doing::Waits, |port| port.spin(awaited))
    }

    fn leave(&mut self) -> Result<()> {
        let left = self.port.leave();
        self.begins(Doing::Left);
        left
    }
}
