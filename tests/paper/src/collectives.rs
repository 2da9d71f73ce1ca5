//! Collectives over boards that are joined by links, beside the physical bound and the same in
//! software.
//!
//! A figure is in cycles from the first register write of the last rank to post to the completion
//! at the last rank, as the host library sees it: all ranks post at the same cycle, and the time at
//! which the last one has its completion is what counts. It is that of the second call with the
//! same operands. The collective unit keeps the operands of a call, so this one writes only C_GO;
//! the first writes up to eight more, a cycle each. The data is checked after both.
//!
//! Sizes are those of MPI's counts: the vector of allreduce, bcast and reduce; the block of one
//! rank in gather, scatter, allgather and reduce_scatter, which move as many blocks as there are
//! ranks. Elements are f64, and f32 where the size is not a multiple of eight bytes. See
//! [`Network::limit`] for the bound.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use alcor::{
    Cluster, Communicator, Cycle, Job, Operation, Options, Rank, Receipt, Reducible, Region,
    Topology,
};

use crate::report::Row;
pub use crate::rma::MeasureError;

/// Sizes of the rows, in bytes.
pub const SIZES: [usize; 12] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16_384, 65_536];
/// Sizes of the rows in software, in bytes.
pub const SOFTWARE_SIZES: [usize; 3] = [8, 1024, 16_384];
/// Sizes that the rate of an allreduce is taken from, in bytes: the latency is in both.
const RATE_SIZES: [usize; 2] = [16_384, 65_536];
/// Bytes of the rows `allreduce-16384-last` and `allreduce-16384-eight`.
const SHARED_BYTES: usize = 16_384;
/// Communicators of the row `allreduce-16384-eight`.
const SHARED: usize = 8;
/// Sizes at which streaming counts alone, in bytes.
pub const STREAM_SIZES: [usize; 2] = [1 << 20, 4 << 20];
/// Bytes of node memory that [`STREAM_SIZES`] need: source, destination, and the library's own.
pub const STREAM_NODE_BYTES: usize = 16 << 20;
/// What is measured at [`STREAM_SIZES`].
pub const STREAM_OPS: [Op; 2] = [Op::Allreduce, Op::Bcast];

/// A collective that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// [`Communicator::allreduce`]
    Allreduce,
    /// [`Communicator::bcast`]
    Bcast,
    /// [`Communicator::reduce`]
    Reduce,
    /// [`Communicator::allgather`]
    Allgather,
    /// [`Communicator::gather`]
    Gather,
    /// [`Communicator::scatter`]
    Scatter,
    /// [`Communicator::reduce_scatter`]
    ReduceScatter,
    /// [`Communicator::barrier`]
    Barrier,
}

impl Op {
    /// All of them.
    pub const ALL: [Op; 8] = [
        Op::Allreduce,
        Op::Bcast,
        Op::Reduce,
        Op::Allgather,
        Op::Gather,
        Op::Scatter,
        Op::ReduceScatter,
        Op::Barrier,
    ];

    /// Its name in a row's.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Op::Allreduce => "allreduce",
            Op::Bcast => "bcast",
            Op::Reduce => "reduce",
            Op::Allgather => "allgather",
            Op::Gather => "gather",
            Op::Scatter => "scatter",
            Op::ReduceScatter => "reduce_scatter",
            Op::Barrier => "barrier",
        }
    }

    /// The collective of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Op> {
        Op::ALL.into_iter().find(|op| op.name() == name)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which way the collectives of a measurement go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// By the collective units in the network; nothing else.
    Hardware,
    /// By the library over put.
    Software,
}

/// The name of a row: `allreduce-8`, `software-allreduce-8`; a barrier has no size.
#[must_use]
pub fn row_name(path: Path, op: Op, bytes: usize) -> String {
    let prefix = match path {
        Path::Hardware => "",
        Path::Software => "software-",
    };
    match op {
        Op::Barrier => format!("{prefix}{op}"),
        _ => format!("{prefix}{op}-{bytes}"),
    }
}

/// What a row's name says: the inverse of [`row_name`].
#[must_use]
pub fn parse_name(name: &str) -> Option<(Path, Op, usize)> {
    let (path, name) = match name.strip_prefix("software-") {
        Some(rest) => (Path::Software, rest),
        None => (Path::Hardware, name),
    };
    let (op, bytes) = match name.rsplit_once('-') {
        Some((op, bytes)) => (op, bytes.parse().ok()?),
        None => (name, 0),
    };
    let op = Op::named(op)?;
    ((op == Op::Barrier) == (bytes == 0)).then_some((path, op, bytes))
}

/// What the bound depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// How the boards are joined.
    pub topology: Topology,
    /// Ranks of all boards together.
    pub ranks: u32,
    /// Data bytes of a phit.
    pub phit_bytes: u32,
    /// Cycles from a board's pins to its neighbour's.
    pub link_latency: u32,
}

/// The physical bound of a collective, in cycles, by its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The links: the way between the boards that are farthest apart, and the phits that must pass
    /// the busiest link port of any board.
    pub links: u64,
    /// The busiest node memory: the phits that it must give or take, those for or from far boards
    /// no nearer to the other end than their way is long.
    pub memory: u64,
    /// Register writes of the command.
    pub command: u64,
    /// The first phit's read and the last phit's write.
    pub access: u64,
}

impl Limit {
    /// All parts: links and memories stream side by side, so the busier of the two counts.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.links.max(self.memory) + self.command + self.access
    }
}

impl Network {
    /// The bound of `op` at `bytes`.
    ///
    /// With N ranks, r of them on each board, L links a board, B = `bytes`, a phit of P bytes,
    /// n = ⌈B / P⌉, and h = link latency + 1 for a hop:
    ///
    /// cycles = max(D × h + port, memory) + 1 + access
    ///
    /// D is the diameter of the network in links: a root is as far from the farthest board
    /// wherever it is on a ring or torus, and every collective ends only after each member has
    /// posted it, so that something has to come from the farthest one. The 1 is the register write
    /// C_GO, and `access` is 2: the first phit's read from node memory, and the last one's write.
    ///
    /// | | port: phits through the busiest link port | memory |
    /// |---|---|---|
    /// | allreduce | n | D × h + n, read and written by every rank |
    /// | bcast | n | D × h + n, read by the root, written by the others |
    /// | reduce | n | D × h + n, read by every rank, written by the root |
    /// | gather | ⌈(N - r) × n / L⌉, into the root's board | max over d of d × h + N(d) × n, written by the root |
    /// | allgather | ⌈(N - r) × n / L⌉, into each board | the same, written by every rank |
    /// | scatter | ⌈(N - r) × n / L⌉, out of the root's board | max over d of d × h + ⌈N(d) × B / P⌉, read by the root |
    /// | reduce_scatter | ⌈(N - r) × n / L⌉, out of each board | the same, read by every rank |
    /// | barrier | 1, a phit without data | 0, and no access |
    ///
    /// N(d) is the number of ranks on boards that are d links away or more; N(0) = N. A node memory
    /// reads a phit and writes a phit in each cycle. Where blocks are moved, N of them go through
    /// the memory of one rank, at a phit a cycle, while the links share N - r of them: in the long
    /// run the memory binds, not the links, and N × n phits at d = 0 are what counts. That is a
    /// higher bound than a count of link phits alone gives; only more memory ports a rank could get
    /// below it. Blocks from near boards are written while those from far ones are on their way, so
    /// the whole way counts only for the blocks that take it: a sum of D × h and N × n would be
    /// no bound, but something that hardware gets below. Blocks that are shorter than a phit come
    /// from each rank in a phit of its own, and are written one by one; where they are read they
    /// lie side by side.
    #[must_use]
    pub fn limit(&self, op: Op, bytes: usize) -> Limit {
        let boards = self.topology.boards();
        let ranks = u64::from(self.ranks);
        let each = ranks.div_ceil(u64::from(boards));
        let links = u64::from(self.topology.links());
        let phits = |bytes: u64| bytes.div_ceil(u64::from(self.phit_bytes));
        let bytes = bytes as u64;
        let n = phits(bytes);
        let hop = u64::from(self.link_latency) + 1;
        let away = |board| self.topology.hops(0, board);
        let diameter = (0..boards).map(away).max().unwrap_or(0);
        let way = u64::from(diameter) * hop;

        let shared = match links {
            0 => 0,
            links => ((ranks - each) * n).div_ceil(links),
        };
        // The most that one of the stretches of memory traffic takes, by the distance it covers.
        let stretches = |phits: &dyn Fn(u64) -> u64| {
            (0..=diameter)
                .map(|d| {
                    let there = (0..boards).filter(|&board| away(board) >= d).count() as u64;
                    u64::from(d) * hop + phits((there * each).min(ranks))
                })
                .max()
                .unwrap_or(0)
        };
        let (port, memory, access) = match op {
            Op::Barrier => (1, 0, 0),
            Op::Allreduce | Op::Bcast | Op::Reduce => (n, way + n, 2),
            Op::Gather | Op::Allgather => (shared, stretches(&|blocks| blocks * n), 2),
            Op::Scatter | Op::ReduceScatter => {
                (shared, stretches(&|blocks| phits(blocks * bytes)), 2)
            }
        };
        Limit {
            links: way + port,
            memory,
            command: 1,
            access,
        }
    }
}

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// Which way.
    pub path: Path,
    /// Which collectives.
    pub ops: &'a [Op],
    /// At which sizes in bytes, multiples of four; a barrier is measured once.
    pub sizes: &'a [usize],
    /// Seed of the data.
    pub seed: u64,
}

/// Cycles that a wait may last.
const WATCHDOG: u64 = 1_000_000;
/// From the last rank's arrival to the cycle at which all post: longer than a barrier takes.
const HEAD_START: u64 = 4096;

/// Measures the rows of `plan` on `cluster`, with as many ranks as it has.
///
/// # Errors
/// When a rank fails, when data did not arrive as it was sent, or when hardware can't do it.
pub fn rows(
    cluster: impl Into<Cluster>,
    network: &Network,
    plan: &Plan<'_>,
    mut step: impl FnMut(&str, f64),
) -> Result<Vec<Row>, MeasureError> {
    let options = Options::default().watchdog_cycles(WATCHDOG);
    let options = match plan.path {
        Path::Hardware => options.strict(true),
        Path::Software => options.software_collectives(true),
    };
    let job = Job::with_options(cluster, options)?;
    let ranks = job.ranks();
    let mut rows = Vec::new();
    for &op in plan.ops {
        let sizes = match op {
            Op::Barrier => &[0],
            _ => plan.sizes,
        };
        for &bytes in sizes {
            let name = row_name(plan.path, op, bytes);
            let meeting = Meeting::new(ranks);
            let spans = job.run(ranks, |rank| match bytes % 8 {
                0 => measure::<f64>(rank, op, bytes / 8, plan.seed, &meeting),
                _ => measure::<f32>(rank, op, bytes / 4, plan.seed, &meeting),
            })?;
            let cycles = length(&spans);
            step(&name, cycles);
            let row = Row::new(name, cycles);
            rows.push(match plan.path {
                Path::Hardware => row.limit(network.limit(op, bytes).cycles() as f64),
                Path::Software => row,
            });
        }
    }
    Ok(rows)
}

/// Measures the allreduce of 16 KiB, in f64, on the communicators with the last rows of the
/// communicator tables: on the last one alone, and on the last eight at once until all have ended.
///
/// # Errors
/// As [`rows`].
pub fn shared_rows(
    cluster: impl Into<Cluster>,
    network: &Network,
    seed: u64,
    mut step: impl FnMut(&str, f64),
) -> Result<Vec<Row>, MeasureError> {
    let options = Options::default().watchdog_cycles(WATCHDOG).strict(true);
    let job = Job::with_options(cluster, options)?;
    let ranks = job.ranks();
    let one = network.limit(Op::Allreduce, SHARED_BYTES).cycles() as f64;
    let all = network.limit(Op::Allreduce, SHARED * SHARED_BYTES).cycles() as f64;
    let mut rows = Vec::new();
    for (name, count, limit) in [("last", 1, one), ("eight", SHARED, all)] {
        let name = format!(
            "{}-{name}",
            row_name(Path::Hardware, Op::Allreduce, SHARED_BYTES)
        );
        let meeting = Meeting::new(ranks);
        let spans = job.run(ranks, |rank| measure_shared(rank, count, seed, &meeting))?;
        let cycles = length(&spans);
        step(&name, cycles);
        rows.push(Row::new(name, cycles).limit(limit));
    }
    Ok(rows)
}

/// The rate of a long allreduce, in phits per cycle, from the rows of two sizes.
#[must_use]
pub fn rate_row(rows: &[Row], network: &Network) -> Option<Row> {
    let [few, many] = RATE_SIZES;
    let cycles = |bytes| {
        let name = row_name(Path::Hardware, Op::Allreduce, bytes);
        rows.iter()
            .find(|row| row.name == name)
            .map(|row| row.measured)
    };
    let phits = (many - few) as f64 / f64::from(network.phit_bytes);
    let rate = phits / (cycles(many)? - cycles(few)?);
    let note = "phits per cycle, from 16 KiB to 64 KiB";
    Some(
        Row::new("allreduce-rate", (rate * 1000.0).round() / 1000.0)
            .limit(1.0)
            .note(note),
    )
}

/// Cycles from the first rank's begin, which is the last one's, to the last one's end.
fn length(spans: &[(u64, u64)]) -> f64 {
    let from = spans.iter().map(|span| span.0).max().unwrap_or(0);
    let to = spans.iter().map(|span| span.1).max().unwrap_or(0);
    (to - from) as f64
}

/// Says of each row in `software` how many times as long it takes as the same in `hardware`.
#[must_use]
pub fn compared(software: Vec<Row>, hardware: &[Row]) -> Vec<Row> {
    let same = |row: &Row| {
        let (_, op, bytes) = parse_name(&row.name)?;
        let name = row_name(Path::Hardware, op, bytes);
        hardware.iter().find(|other| other.name == name)
    };
    software
        .into_iter()
        .map(|row| match same(&row) {
            Some(other) => {
                let gain = row.measured / other.measured;
                row.note(format!("{gain:.1} times as long as in hardware"))
            }
            None => row,
        })
        .collect()
}

/// Where the ranks of a job agree on a cycle.
struct Meeting {
    arrivals: Vec<AtomicU64>,
}

impl Meeting {
    fn new(ranks: u32) -> Meeting {
        Meeting {
            arrivals: (0..ranks).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Waits until all ranks are at the same cycle, and nothing is under way.
    fn start(&self, rank: &mut Rank) -> alcor::Result<u64> {
        let me = rank.pid().0 as usize;
        rank.fence()?;
        self.arrivals[me].store(rank.now()?.0, Ordering::SeqCst);
        // Behind it every rank has told its time.
        rank.barrier()?;
        let last = self
            .arrivals
            .iter()
            .map(|at| at.load(Ordering::SeqCst))
            .max();
        let start = last.unwrap_or(0) + HEAD_START;
        while rank.now()?.0 < start {
            rank.port().wait(Cycle(start))?;
        }
        Ok(rank.now()?.0)
    }
}

/// The cycles at which the second of two equal calls began and ended at this rank.
fn measure<T: Reducible + From<u16> + PartialEq>(
    rank: &mut Rank,
    op: Op,
    count: usize,
    seed: u64,
    meeting: &Meeting,
) -> alcor::Result<(u64, u64)> {
    let world = rank.world()?;
    let data = Data::<T>::new(seed, op, count, &world);
    let source = rank.alloc_from(&data.given())?;
    let before = data.before();
    let expected = data.expected();
    let destination = rank.alloc(before.len())?;
    let mut span = (0, 0);
    for _ in 0..2 {
        rank.write(&destination, 0, &before)?;
        let from = meeting.start(rank)?;
        call(rank, &world, op, &source, &destination)?;
        span = (from, rank.now()?.0);
        let found = rank.read_vec(&destination)?;
        // A benchmark whose data is wrong has no figure: the panic ends the job with rank and text.
        assert!(
            found == expected,
            "{op} of {count} elements: the result at {} is not what it has to be: {} of {} \
             elements differ",
            rank.pid(),
            found.iter().zip(&expected).filter(|(a, b)| a != b).count(),
            expected.len()
        );
    }
    Ok(span)
}

/// The cycles at which the second of two equal rounds began and ended at this rank: an allreduce on
/// each of the last `count` communicators that have a row.
fn measure_shared(
    rank: &mut Rank,
    count: usize,
    seed: u64,
    meeting: &Meeting,
) -> alcor::Result<(u64, u64)> {
    let world = rank.world()?;
    let mut made = Vec::new();
    loop {
        let next = world.dup(rank)?;
        if next.row().is_none() {
            if made.len() < count {
                // Fails in strict mode, and says why there are no rows.
                next.barrier(rank)?;
            }
            break;
        }
        made.push(next);
    }
    let used = &made[made.len().saturating_sub(count)..];
    let elements = SHARED_BYTES / size_of::<f64>();
    let data = Data::<f64>::new(seed, Op::Allreduce, elements, &world);
    let source = rank.alloc_from(&data.given())?;
    let expected = data.expected();
    let destinations = used
        .iter()
        .map(|_| rank.alloc(elements))
        .collect::<alcor::Result<Vec<_>>>()?;
    let mut span = (0, 0);
    for _ in 0..2 {
        for destination in &destinations {
            rank.write(destination, 0, &data.before())?;
        }
        let from = meeting.start(rank)?;
        let requests = used
            .iter()
            .zip(&destinations)
            .map(|(one, to)| one.iallreduce(rank, Operation::Sum, &source, to))
            .collect::<alcor::Result<Vec<_>>>()?;
        for request in requests {
            rank.wait(request)?;
        }
        span = (from, rank.now()?.0);
        for (one, destination) in used.iter().zip(&destinations) {
            // As in `measure`, wrong data has no figure.
            assert!(
                rank.read_vec(destination)? == expected,
                "allreduce of {elements} elements on {}: the result at {} is not what it has to be",
                one.id(),
                rank.pid(),
            );
        }
    }
    Ok(span)
}

fn call<T: Reducible>(
    rank: &mut Rank,
    world: &Communicator,
    op: Op,
    source: &Region<T>,
    destination: &Region<T>,
) -> alcor::Result<Receipt> {
    let is_root = world.rank() == ROOT;
    match op {
        Op::Barrier => world.barrier(rank),
        Op::Bcast => world.bcast(rank, ROOT, destination),
        Op::Scatter => world.scatter(rank, ROOT, is_root.then_some(source), destination),
        Op::Gather => world.gather(rank, ROOT, source, Some(destination)),
        Op::Reduce => world.reduce(rank, Operation::Sum, ROOT, source, Some(destination)),
        Op::Allreduce => world.allreduce(rank, Operation::Sum, source, destination),
        Op::Allgather => world.allgather(rank, source, destination),
        Op::ReduceScatter => world.reduce_scatter(rank, Operation::Sum, source, destination),
    }
}

/// The root of all that have one.
const ROOT: u32 = 0;

/// What a rank gives and what it has to get.
///
/// Elements are whole numbers, so small that all their sums are exact whatever the order: this
/// checks that each value came once and to its place. That sums are rounded in the documented
/// order is for the conformance tests to check.
struct Data<T> {
    seed: u64,
    op: Op,
    count: usize,
    me: usize,
    root: usize,
    ranks: usize,
    element: PhantomData<T>,
}

impl<T: Reducible + From<u16> + PartialEq> Data<T> {
    fn new(seed: u64, op: Op, count: usize, world: &Communicator) -> Data<T> {
        Data {
            seed,
            op,
            count,
            me: world.rank() as usize,
            root: ROOT as usize,
            ranks: world.size() as usize,
            element: PhantomData,
        }
    }

    /// Element `at` of what `rank` gives; sums over all ranks stay below 65536.
    fn value(&self, rank: usize, at: usize) -> u16 {
        let mut bits = self.seed ^ ((rank as u64) << 40) ^ at as u64;
        // The finalizer of SplitMix64.
        bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        1 + (bits % (u64::from(u16::MAX) / self.ranks as u64)) as u16
    }

    fn values(&self, rank: usize, places: Range<usize>) -> impl Iterator<Item = T> {
        places.map(move |at| self.value(rank, at).into())
    }

    fn sums(&self, places: Range<usize>) -> Vec<T> {
        let sum = |at| {
            (0..self.ranks)
                .map(|rank| self.value(rank, at))
                .sum::<u16>()
        };
        places.map(|at| sum(at).into()).collect()
    }

    /// What this rank gives; a broadcast gives what it begins with.
    fn given(&self) -> Vec<T> {
        let count = match self.op {
            Op::Scatter if self.me == self.root => self.ranks * self.count,
            Op::ReduceScatter => self.ranks * self.count,
            Op::Bcast | Op::Scatter => 0,
            _ => self.count,
        };
        self.values(self.me, 0..count).collect()
    }

    /// What the destination begins with.
    fn before(&self) -> Vec<T> {
        match self.op {
            Op::Bcast if self.me == self.root => self.values(self.me, 0..self.count).collect(),
            _ => vec![T::default(); self.kept()],
        }
    }

    /// Elements of the destination.
    fn kept(&self) -> usize {
        match self.op {
            Op::Gather | Op::Allgather => self.ranks * self.count,
            _ => self.count,
        }
    }

    /// What the destination has to be in the end: untouched where only the root gets something.
    fn expected(&self) -> Vec<T> {
        let block = self.me * self.count..(self.me + 1) * self.count;
        match self.op {
            Op::Reduce | Op::Gather if self.me != self.root => self.before(),
            Op::Barrier => self.before(),
            Op::Allreduce | Op::Reduce => self.sums(0..self.count),
            Op::ReduceScatter => self.sums(block),
            Op::Bcast => self.values(self.root, 0..self.count).collect(),
            Op::Scatter => self.values(self.root, block).collect(),
            Op::Gather | Op::Allgather => (0..self.ranks)
                .flat_map(|rank| self.values(rank, 0..self.count))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use alcor::soft::SoftBoard;

    use super::*;

    fn network(dims: &[u32]) -> Network {
        let topology = Topology::torus(dims).expect("it is a torus");
        Network {
            topology,
            ranks: topology.boards(),
            phit_bytes: 32,
            link_latency: 110,
        }
    }

    fn cycles(dims: &[u32], op: Op, bytes: usize) -> u64 {
        network(dims).limit(op, bytes).cycles()
    }

    #[test]
    fn vectors_take_the_way_and_their_phits() {
        for op in [Op::Allreduce, Op::Bcast, Op::Reduce] {
            assert_eq!(cycles(&[2, 2, 2], op, 4), 3 * 111 + 1 + 3);
            assert_eq!(cycles(&[2, 2, 2], op, 32), 3 * 111 + 1 + 3);
            assert_eq!(cycles(&[2, 2, 2], op, 33), 3 * 111 + 2 + 3);
            assert_eq!(cycles(&[4], op, 65_536), 2 * 111 + 2048 + 3);
        }
        assert_eq!(cycles(&[2, 2, 2], Op::Barrier, 0), 3 * 111 + 1 + 1);
    }

    #[test]
    fn blocks_are_bound_by_one_memory_in_the_long_run_and_by_the_way_before() {
        for op in [Op::Gather, Op::Allgather, Op::Scatter, Op::ReduceScatter] {
            // Two links share three blocks.
            assert_eq!(cycles(&[4], op, 1024), 2 * 111 + 48 + 3);
            assert_eq!(cycles(&[4], op, 65_536), 4 * 2048 + 3);
            assert_eq!(cycles(&[2, 2, 2], op, 65_536), 8 * 2048 + 3);
            // Seven of eight blocks come one link far or more.
            assert_eq!(cycles(&[2, 2, 2], op, 2048), 111 + 7 * 64 + 3);
        }
        // Short blocks are read side by side and written one by one.
        let torus = network(&[2, 2, 2]);
        assert_eq!(torus.limit(Op::Gather, 4).memory, 3 * 111 + 1);
        assert_eq!(torus.limit(Op::Scatter, 64).memory, 3 * 111 + 2);
    }

    #[test]
    fn no_bound_falls_when_a_message_grows() {
        for dims in [&[4][..], &[5], &[3, 2], &[2, 2, 2]] {
            for op in Op::ALL {
                let limits = SIZES.map(|bytes| cycles(dims, op, bytes));
                assert!(limits.is_sorted(), "{op}: {limits:?}");
            }
        }
    }

    #[test]
    fn names_say_what_is_measured() {
        assert_eq!(row_name(Path::Hardware, Op::Allreduce, 8), "allreduce-8");
        assert_eq!(
            row_name(Path::Software, Op::ReduceScatter, 1024),
            "software-reduce_scatter-1024"
        );
        assert_eq!(row_name(Path::Hardware, Op::Barrier, 0), "barrier");
        for path in [Path::Hardware, Path::Software] {
            for op in Op::ALL {
                let bytes = if op == Op::Barrier { 0 } else { 64 };
                let name = row_name(path, op, bytes);
                assert_eq!(parse_name(&name), Some((path, op, bytes)), "{name}");
            }
        }
        for name in ["allreduce", "barrier-8", "exchange-4x4-H8", "bcast-x"] {
            assert_eq!(parse_name(name), None, "{name}");
        }
    }

    #[test]
    fn software_is_compared_with_the_same_in_hardware() {
        let software = ["software-bcast-8", "software-bcast-64"].map(|name| Row::new(name, 500.0));
        let hardware = [Row::new("reduce-8", 5.0), Row::new("bcast-8", 250.0)];
        let rows = compared(software.to_vec(), &hardware);
        assert_eq!(
            rows[0].note.as_deref(),
            Some("2.0 times as long as in hardware")
        );
        assert_eq!(rows[1].note, None);
    }

    #[test]
    fn a_board_without_a_switch_measures_software_and_refuses_hardware() {
        let network = Network {
            topology: Topology::single(),
            ranks: 3,
            phit_bytes: 32,
            link_latency: 110,
        };
        let measure = |path| {
            let plan = Plan {
                path,
                ops: &Op::ALL,
                sizes: &[4, 8, 40],
                seed: 7,
            };
            rows(SoftBoard::new(3), &network, &plan, |_, _| ())
        };
        let measured = measure(Path::Software).expect("all data is right");
        assert_eq!(measured.len(), 7 * 3 + 1);
        assert_eq!(measured[0].name, "software-allreduce-4");
        assert!(measured.iter().all(|row| row.limit.is_none()));
        assert!(measure(Path::Hardware).is_err());
        assert!(shared_rows(SoftBoard::new(3), &network, 7, |_, _| ()).is_err());
    }

    #[test]
    fn the_rate_leaves_the_latency_out() {
        let network = network(&[4]);
        let row = |bytes, cycles| Row::new(row_name(Path::Hardware, Op::Allreduce, bytes), cycles);
        let rows = [
            row(8, 300.0),
            row(16_384, 812.0),
            row(65_536, 300.0 + 4096.0),
        ];
        let rate = rate_row(&rows[..2], &network);
        assert_eq!(rate, None);
        let rate = rate_row(&rows, &network).expect("both sizes are there");
        // 1536 phits in 3584 cycles.
        assert_eq!((rate.measured, rate.limit), (0.429, Some(1.0)));
    }
}
