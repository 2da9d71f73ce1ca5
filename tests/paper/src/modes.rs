//! Two ways to learn of the end of an operation: completions in host memory, or an interrupt for each.
//!
//! The measurements follow figures 4 to 9 of the `SeaStar` paper (Brightwell et al. 2006), which compares
//! Portals on the card with Portals in the host's interrupt handler, each without and with the paper's
//! protocol against exhaustion, which is [`FlowControl::GoBackN`](alcor::FlowControl::GoBackN). Here, the
//! hardware matches messages in both modes; the modes differ in the completion alone. Figures 10 and 11 of
//! the paper, the parts of a message's time and the latency over the length of a queue, are those of
//! `alcor timeline` and of [`crate::queues`].
//!
//! Simulated time stands still while host code runs, as in [`crate::path`].

use std::sync::Arc;

use alcor::{
    Board, BoardLayer, Cluster, Communicator, GlobalRank, HostRing, Job, LocalRank, Operation,
    Options, Port, PortLayer, Rank, Request, Result,
};

use crate::path::{ROUNDS, check, pattern, round_trips};
use crate::report::Row;
use crate::rma::MeasureError;

/// How a host learns of the end of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The card writes completions into host memory, where the library finds them ("NIC-based").
    Nic,
    /// Completions stay on the card, which interrupts the host; the library then reads them
    /// ("host-based").
    Host,
}

impl Mode {
    /// Both modes.
    pub const ALL: [Mode; 2] = [Mode::Nic, Mode::Host];

    /// Name of the mode in the names of rows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mode::Nic => "nic",
            Mode::Host => "host",
        }
    }

    /// The boards with this mode.
    #[must_use]
    pub fn over(self, boards: Cluster) -> Cluster {
        match self {
            Mode::Nic => boards,
            Mode::Host => boards.layered(|_, below| Interrupting { below }),
        }
    }
}

/// A board without a ring in host memory.
struct Interrupting {
    below: Arc<dyn Board>,
}

struct InterruptingPort {
    below: Box<dyn Port>,
}

impl BoardLayer for Interrupting {
    fn below(&self) -> &Arc<dyn Board> {
        &self.below
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>> {
        let below = Arc::clone(&self.below).attach(rank)?;
        Ok(Box::new(InterruptingPort { below }))
    }
}

impl PortLayer for InterruptingPort {
    fn below(&mut self) -> &mut dyn Port {
        &mut *self.below
    }

    fn host_ring(&mut self) -> Option<&mut dyn HostRing> {
        None
    }
}

/// Lengths of the rows over size, in bytes.
const SIZES: [usize; 7] = [8, 64, 256, 1024, 8192, 65536, 262_144];
/// Receives that are posted before a stream, and messages of the stream.
const WINDOW: usize = 64;
/// Maximum length of a stream in bytes.
const STREAM: usize = 1 << 18;
/// Elements of a collective: 16 bytes, as in figure 9 of the paper.
const ELEMENTS: usize = 2;

/// Measures messages between a rank and the same rank of the next board: latency and bandwidth of a
/// ping-pong (figures 4 and 5 of the paper), and streams in one direction and in both (figures 6 and 7);
/// the rows whose names `is_wanted` accepts.
///
/// # Errors
/// When a rank fails, or data is wrong.
pub fn messages(
    boards: Cluster,
    options: Options,
    is_wanted: impl Fn(&str) -> bool,
) -> std::result::Result<Vec<Row>, MeasureError> {
    let count = boards.boards().len() as u32;
    let job = Job::with_options(boards, options)?;
    let micros = |cycles: u64| cycles as f64 * 1e3 / f64::from(job.info().clock_khz);
    let peer = job.ranks() / count;
    let mut rows = Vec::new();
    for bytes in SIZES {
        let names = ["latency", "bandwidth"].map(|kind| format!("{kind}-{bytes}"));
        if !names.iter().any(|name| is_wanted(name)) {
            continue;
        }
        let cycles = job.run(job.ranks(), |rank| round_trips(rank, peer, bytes))?[0];
        let half = micros(cycles) / (2 * ROUNDS) as f64;
        let figures = [
            (
                half,
                "us, half a round trip, from host memory to host memory",
            ),
            (bytes as f64 / half, "MB/s of the same ping-pong"),
        ];
        let found = names.into_iter().zip(figures);
        rows.extend(
            found
                .filter(|(name, _)| is_wanted(name))
                .map(|(name, (figure, note))| Row::new(name, figure).note(note)),
        );
    }
    for (kind, is_bidirectional) in [("stream", false), ("bidirectional", true)] {
        for bytes in SIZES {
            let name = format!("{kind}-{bytes}");
            if !is_wanted(&name) {
                continue;
            }
            let messages = WINDOW.min(STREAM / bytes);
            let spans = job.run(job.ranks(), |rank| {
                stream(rank, peer, bytes, messages, is_bidirectional)
            })?;
            let cycles = spans[0].max(spans[peer as usize]);
            let rate = (bytes * messages) as f64 / micros(cycles);
            let note = format!("MB/s a direction, {messages} receives posted, in node memory");
            rows.push(Row::new(name, rate).note(note));
        }
    }
    Ok(rows)
}

/// Measures barrier (figure 8 of the paper), allreduce, reduce and allgather (figure 9) over all ranks: the
/// rows whose names `is_wanted` accepts.
///
/// # Errors
/// When a rank fails, or data is wrong.
pub fn collectives(
    boards: Cluster,
    is_wanted: impl Fn(&str) -> bool,
) -> std::result::Result<Vec<Row>, MeasureError> {
    let nodes = boards.boards().len();
    let job = Job::new(boards)?;
    let micros = |cycles: u64| cycles as f64 * 1e3 / f64::from(job.info().clock_khz);
    let measures: [(&str, Collective); 4] = [
        ("barrier", barrier),
        ("allreduce-16", allreduce),
        ("reduce-16", reduce),
        ("allgather-16", allgather),
    ];
    let mut rows = Vec::new();
    for (kind, collective) in measures {
        let name = format!("{kind}-{nodes}");
        if !is_wanted(&name) {
            continue;
        }
        let cycles = job.run(job.ranks(), |rank| repeated(rank, collective))?;
        let cycles = cycles.into_iter().max().unwrap_or_default();
        rows.push(
            Row::new(name, micros(cycles) / ROUNDS as f64)
                .note(format!("us, {nodes} boards, {} ranks", job.ranks())),
        );
    }
    Ok(rows)
}

/// A collective and the check of its result.
type Collective = fn(&mut Rank, &Communicator) -> Result<()>;

/// Cycles of [`ROUNDS`] collectives.
fn repeated(rank: &mut Rank, collective: Collective) -> Result<u64> {
    let world = rank.world()?;
    collective(rank, &world)?;
    rank.barrier()?;
    let began = rank.now()?;
    for _ in 0..ROUNDS {
        collective(rank, &world)?;
    }
    Ok(rank.now()?.0 - began.0)
}

fn barrier(rank: &mut Rank, world: &Communicator) -> Result<()> {
    world.barrier(rank).map(drop)
}

fn allreduce(rank: &mut Rank, world: &Communicator) -> Result<()> {
    let mut found = [0.0; ELEMENTS];
    world.allreduce(rank, Operation::Sum, &[1.5; ELEMENTS], &mut found)?;
    check(
        "allreduce",
        found == [1.5 * f64::from(world.size()); ELEMENTS],
    )
}

fn reduce(rank: &mut Rank, world: &Communicator) -> Result<()> {
    let mut found = [0.0; ELEMENTS];
    world.reduce(rank, Operation::Sum, 0, &[1.5; ELEMENTS], &mut found)?;
    let is_root = rank.pid() == GlobalRank(0);
    check(
        "reduce",
        !is_root || found == [1.5 * f64::from(world.size()); ELEMENTS],
    )
}

fn allgather(rank: &mut Rank, world: &Communicator) -> Result<()> {
    let mine = [u64::from(rank.pid().0); ELEMENTS];
    let mut found = vec![0_u64; ELEMENTS * world.size() as usize];
    world.allgather(rank, &mine, &mut found)?;
    let expected = (0..world.size()).flat_map(|rank| [u64::from(rank); ELEMENTS]);
    check("allgather", found.iter().copied().eq(expected))
}

/// The peer of ranks 0 and `peer`; the others take no part.
fn other(rank: &Rank, peer: u32) -> Option<GlobalRank> {
    match rank.pid().0 {
        0 => Some(GlobalRank(peer)),
        me if me == peer => Some(GlobalRank(0)),
        _ => None,
    }
}

/// Cycles of a stream whose receives are posted, after a stream that is not measured.
fn stream(
    rank: &mut Rank,
    peer: u32,
    bytes: usize,
    messages: usize,
    is_bidirectional: bool,
) -> Result<u64> {
    let other = other(rank, peer);
    let (sends, receives) = match other {
        Some(GlobalRank(0)) => (is_bidirectional, true),
        Some(_) => (true, is_bidirectional),
        None => (false, false),
    };
    let other = other.unwrap_or(rank.pid());
    let mine = rank.alloc_from(&pattern(rank.pid().0, bytes))?;
    let inbox = rank.alloc::<u8>(bytes)?;
    let mut cycles = 0;
    for _ in 0..2 {
        let mut posted: Vec<Request<'_>> = Vec::new();
        for _ in 0..if receives { messages } else { 0 } {
            posted.push(rank.irecv(other.0, 1, inbox.clone())?);
        }
        rank.barrier()?;
        let began = rank.now()?;
        let mut sent = Vec::new();
        for _ in 0..if sends { messages } else { 0 } {
            sent.push(rank.isend(other, 1, &mine)?);
        }
        rank.wait_all(sent)?;
        for receive in posted {
            rank.wait_message(receive)?;
        }
        cycles = rank.now()?.0 - began.0;
        rank.barrier()?;
    }
    check(
        "stream",
        !receives || rank.read_vec(&inbox)? == pattern(other.0, bytes),
    )?;
    Ok(cycles)
}
