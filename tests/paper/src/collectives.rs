//! Benchmark of collectives over linked boards, compared with the physical bound and with a
//! software implementation.
//!
//! A figure is the number of cycles from the first register write to the last completion, as the
//! host library observes them. All ranks post at the same cycle, and the last rank's completion
//! counts. The figure is that of the second call with equal operands. The collective unit keeps the
//! operands of a call, so the second call writes only C_GO. The first call writes up to eight more
//! registers, one cycle each. The data is checked after both calls.
//!
//! Sizes are those of MPI's counts: the vector of allreduce, bcast and reduce; the block of one
//! rank in gather, scatter, allgather and reduce_scatter, which move one block for each rank.
//! Elements are f64, or f32 where the size is not a multiple of eight bytes. [`Network::limit`]
//! describes the bound.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use alcor::{
    Causes, Cluster, Communicator, Cycle, Job, Operation, Options, Rank, Receipt, Reducible,
    Region, Status, Topology,
};
use alcor_abi::packets::kernel_head;

use crate::report::Row;
pub use crate::rma::MeasureError;

/// Sizes of the rows, in bytes.
pub const SIZES: [usize; 12] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16_384, 65_536];
/// Sizes of the rows in software, in bytes.
pub const SOFTWARE_SIZES: [usize; 3] = [8, 1024, 16_384];
/// Sizes for the rate of an allreduce, in bytes. The rate comes from the difference of the two, so
/// that latency cancels.
const RATE_SIZES: [usize; 2] = [16_384, 65_536];
/// Length in bytes of the rows `allreduce-16384-last` and `allreduce-16384-eight`.
const SHARED_BYTES: usize = 16_384;
/// Number of communicators of the row `allreduce-16384-eight`.
const SHARED: usize = 8;
/// Sizes of the rows `kernel-allreduce-<bytes>` and `first-allreduce-<bytes>`.
const KERNEL_SIZES: [usize; 2] = [8, 1024];
/// Name of the kernel of these rows: `hw/kernels/vector_add.sv`.
pub const KERNEL: [u8; 4] = *b"adds";
/// Sizes at which the streaming rate dominates, in bytes.
pub const STREAM_SIZES: [usize; 2] = [1 << 20, 4 << 20];
/// Bytes of node memory that [`STREAM_SIZES`] need: source, destination, and the library's own.
pub const STREAM_NODE_BYTES: usize = 16 << 20;
/// Collectives that are measured at [`STREAM_SIZES`].
pub const STREAM_OPS: [Op; 2] = [Op::Allreduce, Op::Bcast];

/// A measured collective.
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
    /// All collectives.
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

    /// The collective's part of a row's name.
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

/// Implementation of the collectives of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// The collective units in the network.
    Hardware,
    /// The library's software implementation over put.
    Software,
}

/// Name of a row: `allreduce-8`, `software-allreduce-8`. The name of a barrier has no size.
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

/// Parses the name of a row: the inverse of [`row_name`].
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

/// Parameters of the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// Topology of the links between the boards.
    pub topology: Topology,
    /// Number of ranks of all boards.
    pub ranks: u32,
    /// Data bytes of a phit.
    pub phit_bytes: u32,
    /// Cycles from a board's pins to the pins of its neighbour.
    pub link_latency: u32,
}

/// The physical bound of a collective in cycles, by parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Links: the distance between the two farthest boards, plus the phits through the busiest link
    /// port of any board.
    pub links: u64,
    /// The busiest node memory: the phits that this memory reads or writes. Phits for or from a
    /// distant board cannot be nearer to the other end than their distance.
    pub memory: u64,
    /// Register writes of the command.
    pub command: u64,
    /// The read of the first phit and the write of the last phit.
    pub access: u64,
}

impl Limit {
    /// Sum of the parts. Links and memories stream concurrently, so the larger of the two counts.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.links.max(self.memory) + self.command + self.access
    }
}

impl Network {
    /// The bound of `op` at `bytes`.
    ///
    /// Let N be the number of ranks, r the ranks of each board, L the links of a board, B =
    /// `bytes`, P the bytes of a phit, n = ⌈B / P⌉, and h = link latency + 1 for a hop:
    ///
    /// cycles = max(D × h + port, memory) + 1 + access
    ///
    /// D is the diameter of the network in links. On a ring or torus, the farthest board from any
    /// root is D links away. Every collective ends only after each member has posted its call, so
    /// information from the farthest member must arrive. The 1 is the register write C_GO. `access`
    /// is 2: the first phit's read from node memory, and the last phit's write.
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
    /// N(d) is the number of ranks on boards that are at least d links away; N(0) = N. A node
    /// memory reads one phit and writes one phit in each cycle. A collective that moves blocks
    /// moves N blocks through the memory of one rank, at one phit a cycle, while the links share
    /// N - r blocks. For long blocks the memory limits the rate, and the N × n phits at d = 0
    /// determine the bound. This bound is higher than a count of link phits alone. Only hardware
    /// with more memory ports for each rank could be faster. Blocks from near boards are written
    /// while blocks from distant boards are in flight, so the full distance counts only for the
    /// blocks that travel it. The sum of D × h and N × n is therefore not a bound: hardware can be
    /// faster. A block shorter than a phit arrives from each rank in a phit of its own, and each
    /// block is written separately. When such blocks are read, they are contiguous.
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
        // Maximum over the distances of the time for the memory traffic with boards at that
        // distance.
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

/// Settings of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// Implementation.
    pub path: Path,
    /// Collectives.
    pub ops: &'a [Op],
    /// Sizes in bytes, multiples of four. A barrier is measured once.
    pub sizes: &'a [usize],
    /// Seed of the data.
    pub seed: u64,
}

/// Maximum number of cycles of a wait.
const WATCHDOG: u64 = 1_000_000;
/// Cycles from the last rank's arrival to the cycle at which all ranks post. A barrier takes less.
const HEAD_START: u64 = 4096;

/// Measures the rows of `plan` on `cluster`, with all its ranks.
///
/// # Errors
/// When a rank fails, when data is wrong, or when the hardware cannot perform a collective.
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
            let meeting = CommonStart::new(ranks);
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

/// Measures the allreduce of 16 KiB of f64 on the communicators in the last rows of the
/// communicator tables: on the last communicator alone, and on the last eight concurrently.
///
/// # Errors
/// The errors of [`rows`].
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
        let meeting = CommonStart::new(ranks);
        let spans = job.run(ranks, |rank| measure_shared(rank, count, seed, &meeting))?;
        let cycles = length(&spans);
        step(&name, cycles);
        rows.push(Row::new(name, cycles).limit(limit));
    }
    Ok(rows)
}

/// The rate of a long allreduce in phits per cycle, from the rows of two sizes.
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

/// Cycles from the common start to the last rank's end.
fn length(spans: &[(u64, u64)]) -> f64 {
    let from = spans.iter().map(|span| span.0).max().unwrap_or(0);
    let to = spans.iter().map(|span| span.1).max().unwrap_or(0);
    (to - from) as f64
}

/// Adds to each row in `software` its ratio to the row of the same collective in `hardware`.
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

/// Measures an allreduce of u32 that the kernels start, and the first call of the hosts. The kernel
/// counts from its command to its completion, the host from its first write to the end of the call.
///
/// # Errors
/// The errors of [`rows`], also on a board without the kernel [`KERNEL`].
pub fn kernel_rows(
    cluster: impl Into<Cluster>,
    network: &Network,
    seed: u64,
    mut step: impl FnMut(&str, f64),
) -> Result<Vec<Row>, MeasureError> {
    let options = Options::default().watchdog_cycles(WATCHDOG).strict(true);
    let job = Job::with_options(cluster, options)?;
    let ranks = job.ranks();
    let mut rows = Vec::new();
    for bytes in KERNEL_SIZES {
        for (starter, by_kernel) in [("kernel", true), ("first", false)] {
            let name = format!(
                "{starter}-{}",
                row_name(Path::Hardware, Op::Allreduce, bytes)
            );
            let meeting = CommonStart::new(ranks);
            let cycles = job.run(ranks, |rank| {
                measure_start(rank, bytes / 4, seed, by_kernel, &meeting)
            })?;
            let cycles = cycles.into_iter().max().unwrap_or(0) as f64;
            step(&name, cycles);
            let limit = network.limit(Op::Allreduce, bytes).cycles() as f64;
            rows.push(Row::new(name, cycles).limit(limit));
        }
    }
    Ok(rows)
}

/// Synchronises the ranks of a job to a common cycle.
struct CommonStart {
    arrivals: Vec<AtomicU64>,
}

impl CommonStart {
    fn new(ranks: u32) -> CommonStart {
        CommonStart {
            arrivals: (0..ranks).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Waits until all ranks are at the same cycle and no operation is in flight.
    fn start(&self, rank: &mut Rank) -> alcor::Result<u64> {
        let me = rank.pid().0 as usize;
        rank.fence()?;
        self.arrivals[me].store(rank.now()?.0, Ordering::SeqCst);
        // After the barrier, every rank has stored its time.
        rank.barrier()?;
        let last = self
            .arrivals
            .iter()
            .map(|at| at.load(Ordering::SeqCst))
            .max();
        let start = last.unwrap_or(0) + HEAD_START;
        while rank.now()?.0 < start {
            rank.lab().port().wait(Causes::NONE, Cycle(start))?;
        }
        Ok(rank.now()?.0)
    }
}

/// Start and end cycle at this rank of the second of two equal calls.
fn measure<T: Reducible + From<u16> + PartialEq>(
    rank: &mut Rank,
    op: Op,
    count: usize,
    seed: u64,
    meeting: &CommonStart,
) -> alcor::Result<(u64, u64)> {
    let world = rank.world()?;
    let data = Data::<T>::new(seed, op, count, &world);
    let source = rank.alloc_from(&data.given())?;
    let before = data.before();
    let expected = data.expected();
    let mut destination = rank.alloc(before.len())?;
    let mut span = (0, 0);
    for _ in 0..2 {
        rank.write(&mut destination, 0, &before)?;
        let from = meeting.start(rank)?;
        call(rank, &world, op, &source, &destination)?;
        span = (from, rank.now()?.0);
        let found = rank.read_vec(&destination)?;
        // Wrong data invalidates the figure: the panic ends the job, with rank and text.
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

/// Start and end cycle at this rank of the second of two equal rounds. A round is an allreduce on
/// each of the last `count` communicators that have a row.
fn measure_shared(
    rank: &mut Rank,
    count: usize,
    seed: u64,
    meeting: &CommonStart,
) -> alcor::Result<(u64, u64)> {
    let world = rank.world()?;
    let mut made = Vec::new();
    loop {
        let next = world.dup(rank)?;
        if next.row().is_none() {
            if made.len() < count {
                // Fails in strict mode, with the reason for the missing rows.
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
            rank.write(&mut destination.clone(), 0, &data.before())?;
        }
        let from = meeting.start(rank)?;
        let requests = used
            .iter()
            .zip(&destinations)
            .map(|(one, to)| one.iallreduce(rank, Operation::Sum, &source, to.clone()))
            .collect::<alcor::Result<Vec<_>>>()?;
        for request in requests {
            rank.wait(request)?;
        }
        span = (from, rank.now()?.0);
        for (one, destination) in used.iter().zip(&destinations) {
            // As in `measure`, wrong data invalidates the figure.
            assert!(
                rank.read_vec(destination)? == expected,
                "allreduce of {elements} elements on {}: wrong result at {}",
                one.id(),
                rank.pid(),
            );
        }
    }
    Ok(span)
}

/// Cycles at this rank of an allreduce on a communicator of its own.
fn measure_start(
    rank: &mut Rank,
    count: usize,
    seed: u64,
    by_kernel: bool,
    meeting: &CommonStart,
) -> alcor::Result<u64> {
    let own = rank.world()?.dup(rank)?;
    let data = Data::<u32>::new(seed, Op::Allreduce, count, &own);
    let source = rank.alloc_from(&data.given())?;
    let destination = rank.alloc_from(&data.before())?;
    let cycles = if by_kernel {
        let command = own.kernel_allreduce(rank, Operation::Sum, &source, &destination)?;
        let [head, source, words, _, destination, _, _, _, what] = command.words();
        let communicator = kernel_head::SLOT.get(head);
        // The last argument selects the allreduce without the addition.
        let arguments = [0, 0, source, destination, words, communicator, what, 1];
        meeting.start(rank)?;
        let mut kernel = rank.kernel()?;
        kernel.start(&arguments)?;
        let code = kernel.wait()?;
        // As in `measure`, wrong data invalidates the figure.
        assert_eq!(code, Status::Ok as u8, "status of the kernel's allreduce");
        u64::from(kernel.result(0)?)
    } else {
        let from = meeting.start(rank)?;
        own.allreduce(rank, Operation::Sum, &source, destination.clone())?;
        rank.now()?.0 - from
    };
    assert!(
        rank.read_vec(&destination)? == data.expected(),
        "allreduce of {count} elements: wrong result at {}",
        rank.pid(),
    );
    own.free(rank)?;
    Ok(cycles)
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
        Op::Bcast => world.bcast(rank, ROOT, destination.clone()),
        Op::Scatter if is_root => world.scatter(rank, ROOT, source, destination.clone()),
        Op::Scatter => world.scatter(rank, ROOT, &[], destination.clone()),
        Op::Gather => world.gather(rank, ROOT, source, destination.clone()),
        Op::Reduce => world.reduce(rank, Operation::Sum, ROOT, source, destination.clone()),
        Op::Allreduce => world.allreduce(rank, Operation::Sum, source, destination.clone()),
        Op::Allgather => world.allgather(rank, source, destination.clone()),
        Op::ReduceScatter => {
            world.reduce_scatter(rank, Operation::Sum, source, destination.clone())
        }
    }
}

/// Root of all collectives with a root.
const ROOT: u32 = 0;

/// Source and expected destination data of a rank.
///
/// Elements are whole numbers, small enough that sums are exact in any order. The check therefore
/// finds missing, repeated and misplaced values. Conformance tests check that sums are rounded in
/// the documented order.
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

    /// Element `at` of the data of `rank`. Sums over all ranks are below 65536.
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

    /// Source data of this rank. For a broadcast, the initial buffer.
    fn given(&self) -> Vec<T> {
        let count = match self.op {
            Op::Scatter if self.me == self.root => self.ranks * self.count,
            Op::ReduceScatter => self.ranks * self.count,
            Op::Bcast | Op::Scatter => 0,
            _ => self.count,
        };
        self.values(self.me, 0..count).collect()
    }

    /// Initial contents of the destination.
    fn before(&self) -> Vec<T> {
        match self.op {
            Op::Bcast if self.me == self.root => self.values(self.me, 0..self.count).collect(),
            _ => vec![T::default(); self.kept()],
        }
    }

    /// Number of elements of the destination.
    fn kept(&self) -> usize {
        match self.op {
            Op::Gather | Op::Allgather => self.ranks * self.count,
            _ => self.count,
        }
    }

    /// Expected contents of the destination. The destination is unchanged on ranks that receive no
    /// result.
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
    fn vectors_take_the_distance_and_their_phits() {
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
            // Seven of eight blocks travel at least one link.
            assert_eq!(cycles(&[2, 2, 2], op, 2048), 111 + 7 * 64 + 3);
        }
        // Short blocks are read contiguously and written separately.
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
        assert!(kernel_rows(SoftBoard::new(3), &network, 7, |_, _| ()).is_err());
    }

    #[test]
    fn the_rate_excludes_the_latency() {
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
