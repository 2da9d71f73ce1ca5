//! Times of whole operations behind a host port with latencies: from the call to its return.
//!
//! Simulated time stands still while host code runs, so a figure has the latencies of the host port
//! and of the hardware, and nothing of the library's own time ([`crate::host`] measures that).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use alcor::{
    Board, BoardLayer, Causes, Cluster, Cycle, GlobalRank, Job, LocalRank, NodeAddr, Operation,
    PageOffset, Port, PortLayer, Rank, Result, Rights, Wake,
};

use alcor_abi::{MEMORY_BAR_LINE, MEMORY_BAR_LOADS, is_bar_write};

use crate::report::Row;
use crate::rma::MeasureError;

/// Operations that are measured together, after one that sets up operands.
pub(crate) const ROUNDS: u64 = 4;
/// Bytes of a long put.
const LONG: usize = 1 << 20;

/// Bytes that a channel of a card moves by one call.
const PIECE: usize = 1 << 20;
/// Number of fields of [`Counts`].
const KINDS: usize = 5;

/// Accesses of rank 0 to its board.
#[derive(Debug, Default)]
struct Counts {
    loads: AtomicU64,
    stores: AtomicU64,
    transfers: AtomicU64,
    interrupts: AtomicU64,
    /// Calls of the system that a card with the vendor's driver would need.
    calls: AtomicU64,
}

impl Counts {
    fn read(&self) -> [u64; KINDS] {
        let Counts {
            loads,
            stores,
            transfers,
            interrupts,
            calls,
        } = self;
        [loads, stores, transfers, interrupts, calls].map(|count| count.load(Relaxed))
    }

    /// Counts a transfer. One that is too long for the memory BAR goes through a node of the driver, a call for each
    /// [`PIECE`].
    fn count_transfer(&self, bytes: usize, is_by_bar: bool) {
        self.transfers.fetch_add(1, Relaxed);
        self.count_dma(bytes, is_by_bar);
    }

    fn count_dma(&self, bytes: usize, is_by_bar: bool) {
        if !is_by_bar {
            self.calls.fetch_add(bytes.div_ceil(PIECE) as u64, Relaxed);
        }
    }

    fn count_wake(&self, wake: Option<Wake>) {
        if matches!(wake, Some(Wake::Raised(_))) {
            self.interrupts.fetch_add(1, Relaxed);
        }
    }
}

/// [`ROUNDS`] operations of rank 0.
#[derive(Debug, Default, Clone, Copy)]
struct Work {
    cycles: u64,
    /// As [`Counts`].
    accesses: [u64; KINDS],
}

impl Work {
    /// Measures [`ROUNDS`] calls of an operation. The operation takes the number of the call, from 1 on.
    fn of(
        rank: &mut Rank,
        counts: &Counts,
        mut operation: impl FnMut(&mut Rank, u64) -> Result<()>,
    ) -> Result<Work> {
        let (began, before) = (rank.now()?, counts.read());
        for round in 1..=ROUNDS {
            operation(rank, round)?;
        }
        let after = counts.read();
        Ok(Work {
            cycles: rank.now()?.0 - began.0,
            accesses: std::array::from_fn(|at| after[at] - before[at]),
        })
    }

    /// The rows of accesses of an operation, of which a round has `each`.
    fn rows(&self, operation: &str, each: u64) -> impl Iterator<Item = Row> {
        let names = [
            ("loads", "of registers"),
            ("stores", "of registers"),
            ("transfers", "of node memory, through the BAR or by DMA"),
            ("interrupts", "of rank 0"),
            (
                "calls",
                "system calls that a card with the vendor's driver would need",
            ),
        ];
        let counts = self.accesses;
        names
            .into_iter()
            .zip(counts)
            .map(move |((name, note), count)| {
                let each = count as f64 / (ROUNDS * each) as f64;
                Row::new(format!("{operation}-{name}"), each).note(format!("{note}, an operation"))
            })
    }
}

/// A board that counts accesses.
struct Counted {
    below: Arc<dyn Board>,
    counts: Arc<Counts>,
}

struct CountedPort {
    below: Box<dyn Port>,
    counts: Arc<Counts>,
}

impl BoardLayer for Counted {
    fn below(&self) -> &Arc<dyn Board> {
        &self.below
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>> {
        let below = Arc::clone(&self.below).attach(rank)?;
        let counts = Arc::clone(&self.counts);
        Ok(match rank {
            LocalRank(0) => Box::new(CountedPort { below, counts }),
            _ => below,
        })
    }
}

impl PortLayer for CountedPort {
    fn below(&mut self) -> &mut dyn Port {
        &mut *self.below
    }

    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<()> {
        self.counts.stores.fetch_add(1, Relaxed);
        self.below.write32(offset, value)
    }

    fn read32(&mut self, offset: PageOffset) -> Result<u32> {
        self.counts.loads.fetch_add(1, Relaxed);
        self.below.read32(offset)
    }

    fn read_board32(&mut self, offset: PageOffset) -> Result<u32> {
        self.counts.loads.fetch_add(1, Relaxed);
        self.below.read_board32(offset)
    }

    fn write_ahead(&mut self, at: NodeAddr, data: &[u8]) -> Result<()> {
        // An upper bound: a command line takes short data of any length.
        self.counts
            .count_dma(data.len(), is_bar_write(at.0, data.len()));
        self.below.write_ahead(at, data)
    }

    fn write_memory(&mut self, at: NodeAddr, data: &[u8]) -> Result<()> {
        let is_by_bar = is_bar_write(at.0, data.len());
        self.counts.count_transfer(data.len(), is_by_bar);
        self.below.write_memory(at, data)
    }

    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<()> {
        // Loads of the widest registers, as in `Bar::loads` of the crate `xdma-rs`.
        let (first, end) = (at.0 as usize, at.0 as usize + data.len());
        let loads = end.div_ceil(MEMORY_BAR_LINE) - first / MEMORY_BAR_LINE;
        let is_by_bar = loads <= MEMORY_BAR_LOADS;
        self.counts.count_transfer(data.len(), is_by_bar);
        self.below.read_memory(at, data)
    }

    /// A wait that is longer than a spin sleeps: a call polls the event of the rank, and another one takes the event.
    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake> {
        let wake = self.below.wait(awaited, deadline)?;
        self.counts.count_wake(Some(wake));
        self.counts.calls.fetch_add(2, Relaxed);
        Ok(wake)
    }

    fn spin(&mut self, awaited: Causes) -> Result<Option<Wake>> {
        let wake = self.below.spin(awaited)?;
        self.counts.count_wake(wake);
        Ok(wake)
    }

    /// The clock of a card is a register, although a simulated board's takes no time.
    fn now(&mut self) -> Result<Cycle> {
        self.counts.loads.fetch_add(1, Relaxed);
        self.below.now()
    }
}

/// Measures put, barrier and message of 8 bytes between the two ranks of one board, and a put of
/// 1 MiB if there is room; or an allreduce of 8 bytes over several boards.
///
/// # Errors
/// When a rank fails, or data is wrong.
pub fn rows(boards: impl Into<Cluster>) -> std::result::Result<Vec<Row>, MeasureError> {
    let counts = Arc::new(Counts::default());
    let counted = Arc::clone(&counts);
    let boards = boards.into().layered(move |number, below| Counted {
        below,
        // Those of rank 0.
        counts: match number {
            0 => Arc::clone(&counted),
            _ => Arc::default(),
        },
    });
    let is_joined = boards.boards().len() > 1;
    let job = Job::new(boards)?;
    let khz = f64::from(job.info().clock_khz);
    let micros = |cycles: u64| cycles as f64 * 1e3 / khz / ROUNDS as f64;
    let ranks = if is_joined { job.ranks() } else { 2 };
    let mut rows = Vec::new();
    if !is_joined {
        let [put, put_host] = job.run(2, |rank| puts(rank, &counts))?.swap_remove(0);
        rows.push(Row::new("put-8-us", micros(put.cycles)).note("from node memory, with its wait"));
        rows.push(Row::new("put-8-host-us", micros(put_host.cycles)).note("from host memory"));
        rows.extend(put_host.rows("put-8", 1));
        let cycles = job.run(2, stream)?.swap_remove(0);
        let note = "cycles a put, many under way, from host memory to ascending places";
        rows.push(Row::new("put-8-stream", cycles as f64 / STREAM as f64).note(note));
        let barriers = job.run(2, |rank| {
            rank.barrier()?;
            Work::of(rank, &counts, |rank, _| rank.barrier())
        })?[0];
        rows.push(Row::new("barrier-us", micros(barriers.cycles)).note("two ranks"));
        rows.extend(barriers.rows("barrier", 1));
        let trips = job.run(2, |rank| ping_pong(rank, 1, 8, &counts))?[0];
        rows.push(
            Row::new("send-recv-8-us", micros(trips.cycles) / 2.0)
                .note("half a round trip, from host memory to host memory"),
        );
        rows.extend(trips.rows("send-recv-8", 2));
        if job.info().node_bytes as usize >= 3 * LONG {
            let (row, calls) = long_row("put-1MiB-GBps", &job, &counts)?;
            rows.push(row);
            rows.push(
                Row::new("put-1MiB-calls", calls as f64)
                    .note("system calls that a card with the vendor's driver would need"),
            );
        }
    } else {
        let reduced = job.run(ranks, |rank| allreduces(rank, &counts))?[0];
        rows.push(
            Row::new("allreduce-8-us", micros(reduced.cycles))
                .note(format!("one f64 of {ranks} ranks")),
        );
        rows.extend(reduced.rows("allreduce-8", 1));
    }
    Ok(rows)
}

/// Measures a put of 1 MiB from host memory, as row `name`.
///
/// # Errors
/// As [`rows`].
pub fn long_put(name: &str, boards: impl Into<Cluster>) -> std::result::Result<Row, MeasureError> {
    let (row, _) = long_row(name, &Job::new(boards)?, &Counts::default())?;
    Ok(row)
}

/// The row, and the system calls of the put.
fn long_row(
    name: &str,
    job: &Job,
    counts: &Counts,
) -> std::result::Result<(Row, u64), MeasureError> {
    let khz = f64::from(job.info().clock_khz);
    let (cycles, calls) = job.run(2, |rank| {
        let target = rank.alloc::<u8>(LONG)?;
        let window = rank.register(&target, Rights::ALL)?;
        rank.barrier()?;
        let data: Vec<u8> = (0..LONG).map(|at| (at / 7) as u8).collect();
        let (began, before) = (rank.now()?, counts.calls.load(Relaxed));
        if rank.pid() == GlobalRank(0) {
            rank.put(&window, GlobalRank(1), 0, &data[..])?;
        }
        let calls = counts.calls.load(Relaxed) - before;
        let cycles = rank.now()?.0 - began.0;
        rank.barrier()?;
        if rank.pid() == GlobalRank(1) {
            check("put of 1 MiB", rank.read_vec(&target)? == data)?;
        }
        Ok((cycles, calls))
    })?[0];
    let seconds = cycles as f64 / (khz * 1e3);
    let row = Row::new(name, LONG as f64 / seconds / 1e9)
        .note("from host memory to another rank of the board");
    Ok((row, calls))
}

pub(crate) fn check(what: &str, holds: bool) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(alcor::Error::program(format!("{what}: wrong data")))
    }
}

/// Puts from node memory, and from host memory.
fn puts(rank: &mut Rank, counts: &Counts) -> Result<[Work; 2]> {
    let target = rank.alloc::<u64>(2)?;
    let window = rank.register(&target, Rights::ALL)?;
    let source = rank.alloc_from(&[0x1234_5678_9abc_def0_u64])?;
    let mut found = [Work::default(); 2];
    rank.barrier()?;
    if rank.pid() == GlobalRank(0) {
        let peer = GlobalRank(1);
        rank.put(&window, peer, 0, &source)?;
        found[0] = Work::of(rank, counts, |rank, _| rank.put(&window, peer, 0, &source))?;
        rank.put(&window, peer, 1, &[0_u64])?;
        found[1] = Work::of(rank, counts, |rank, round| {
            rank.put(&window, peer, 1, &[round])
        })?;
    }
    rank.barrier()?;
    let expected = [0x1234_5678_9abc_def0_u64, ROUNDS];
    check(
        "put of 8 bytes",
        rank.pid() == GlobalRank(0) || rank.read_vec(&target)? == expected,
    )?;
    Ok(found)
}

/// Number of puts in a stream.
const STREAM: u32 = 512;

/// Cycles of [`STREAM`] puts of 8 bytes that begin one behind the other.
fn stream(rank: &mut Rank) -> Result<u64> {
    let target = rank.alloc::<u64>(STREAM as usize)?;
    let window = rank.register(&target, Rights::ALL)?;
    rank.barrier()?;
    let began = rank.now()?;
    if rank.pid() == GlobalRank(0) {
        let puts: Vec<[u64; 1]> = (0..u64::from(STREAM)).map(|value| [value]).collect();
        let puts = puts.iter().enumerate();
        let puts: Result<Vec<_>> = puts
            .map(|(place, value)| rank.iput(&window, GlobalRank(1), place, value))
            .collect();
        rank.wait_all(puts?)?;
    }
    let cycles = rank.now()?.0 - began.0;
    rank.barrier()?;
    let expected: Vec<_> = (0..u64::from(STREAM)).collect();
    let is_right = rank.pid() == GlobalRank(0) || rank.read_vec(&target)? == expected;
    check("stream of puts", is_right)?;
    Ok(cycles)
}

/// [`ROUNDS`] round trips of a message between rank 0 and `peer`, from host memory to host memory. Other
/// ranks take no part. Returns the cycles and, with `counts`, the accesses.
fn ping_pong(rank: &mut Rank, peer: u32, bytes: usize, counts: &Counts) -> Result<Work> {
    let other = match rank.pid().0 {
        0 => peer,
        me if me == peer => 0,
        _ => return Ok(Work::default()),
    };
    let mine = pattern(rank.pid().0, bytes);
    let trip = |rank: &mut Rank, _| {
        let mut found = vec![0; bytes];
        if other == peer {
            rank.send(GlobalRank(other), 1, &mine[..])?;
            rank.recv(other, 1, &mut found[..])?;
        } else {
            rank.recv(other, 1, &mut found[..])?;
            rank.send(GlobalRank(other), 1, &mine[..])?;
        }
        check("ping-pong", found == pattern(other, bytes))
    };
    trip(rank, 0)?;
    Work::of(rank, counts, trip)
}

/// Cycles of [`ROUNDS`] round trips of a message between rank 0 and `peer`, from host memory to host
/// memory. Other ranks take no part.
pub(crate) fn round_trips(rank: &mut Rank, peer: u32, bytes: usize) -> Result<u64> {
    Ok(ping_pong(rank, peer, bytes, &Counts::default())?.cycles)
}

/// The message of a rank.
pub(crate) fn pattern(source: u32, bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at as u32 * 7 + source) as u8)
        .collect()
}

fn allreduces(rank: &mut Rank, counts: &Counts) -> Result<Work> {
    let world = rank.world()?;
    let mut found = [0.0];
    world.allreduce(rank, Operation::Sum, &[1.0], &mut found)?;
    rank.barrier()?;
    let work = Work::of(rank, counts, |rank, _| {
        world
            .allreduce(rank, Operation::Sum, &[1.5], &mut found)
            .map(drop)
    })?;
    check("allreduce", found == [1.5 * f64::from(world.size())])?;
    Ok(work)
}
