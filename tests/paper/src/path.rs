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

use crate::report::Row;
use crate::rma::MeasureError;

/// Operations that are measured together, after one that sets up operands.
pub(crate) const ROUNDS: u64 = 4;
/// Bytes of a long put.
const LONG: usize = 1 << 20;

/// Accesses of rank 0 to its board.
#[derive(Debug, Default)]
struct Counts {
    loads: AtomicU64,
    stores: AtomicU64,
    transfers: AtomicU64,
    interrupts: AtomicU64,
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

    fn write_memory(&mut self, at: NodeAddr, data: &[u8]) -> Result<()> {
        self.counts.transfers.fetch_add(1, Relaxed);
        self.below.write_memory(at, data)
    }

    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<()> {
        self.counts.transfers.fetch_add(1, Relaxed);
        self.below.read_memory(at, data)
    }

    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake> {
        let wake = self.below.wait(awaited, deadline)?;
        if matches!(wake, Wake::Raised(_)) {
            self.counts.interrupts.fetch_add(1, Relaxed);
        }
        Ok(wake)
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
    let boards = boards.into().layered(move |_, below| Counted {
        below,
        counts: Arc::clone(&counted),
    });
    let is_joined = boards.boards().len() > 1;
    let job = Job::new(boards)?;
    let khz = f64::from(job.info().clock_khz);
    let micros = |cycles: u64| cycles as f64 * 1e3 / khz / ROUNDS as f64;
    let ranks = if is_joined { job.ranks() } else { 2 };
    let mut rows = Vec::new();
    if !is_joined {
        let found = job.run(2, |rank| puts(rank, &counts))?.swap_remove(0);
        let per_put = |count: u64| count as f64 / ROUNDS as f64;
        rows.push(Row::new("put-8-us", micros(found.put)).note("from node memory, with its wait"));
        rows.push(Row::new("put-8-host-us", micros(found.put_host)).note("from host memory"));
        rows.push(Row::new("put-8-loads", per_put(found.work[0])).note("of registers, a put"));
        rows.push(Row::new("put-8-stores", per_put(found.work[1])).note("of registers, a put"));
        rows.push(Row::new("put-8-transfers", per_put(found.work[2])).note("of the DMA, a put"));
        rows.push(Row::new("put-8-interrupts", per_put(found.work[3])).note("a put"));
        let cycles = job.run(2, stream)?.swap_remove(0);
        let note = "cycles a put, many under way, from host memory to ascending places";
        rows.push(Row::new("put-8-stream", cycles as f64 / STREAM as f64).note(note));
        let cycles = job.run(2, barriers)?.swap_remove(0);
        rows.push(Row::new("barrier-us", micros(cycles)).note("two ranks"));
        let cycles = job.run(2, |rank| ping_pong(rank, 1, 8))?.swap_remove(0);
        rows.push(
            Row::new("send-recv-8-us", micros(cycles) / 2.0)
                .note("half a round trip, from host memory to host memory"),
        );
        if job.info().node_bytes as usize >= 3 * LONG {
            rows.push(long_row("put-1MiB-GBps", &job)?);
        }
    } else {
        let cycles = job.run(ranks, allreduces)?.swap_remove(0);
        rows.push(
            Row::new("allreduce-8-us", micros(cycles)).note(format!("one f64 of {ranks} ranks")),
        );
    }
    Ok(rows)
}

/// Measures a put of 1 MiB from host memory, as row `name`.
///
/// # Errors
/// As [`rows`].
pub fn long_put(name: &str, boards: impl Into<Cluster>) -> std::result::Result<Row, MeasureError> {
    long_row(name, &Job::new(boards)?)
}

fn long_row(name: &str, job: &Job) -> std::result::Result<Row, MeasureError> {
    let khz = f64::from(job.info().clock_khz);
    let cycles = job.run(2, |rank| {
        let target = rank.alloc::<u8>(LONG)?;
        let window = rank.register(&target, Rights::ALL)?;
        rank.barrier()?;
        let data: Vec<u8> = (0..LONG).map(|at| (at / 7) as u8).collect();
        let began = rank.now()?;
        if rank.pid() == GlobalRank(0) {
            rank.put(&window, GlobalRank(1), 0, &data[..])?;
        }
        let cycles = rank.now()?.0 - began.0;
        rank.barrier()?;
        if rank.pid() == GlobalRank(1) {
            check("put of 1 MiB", rank.read_vec(&target)? == data)?;
        }
        Ok(cycles)
    })?[0];
    let seconds = cycles as f64 / (khz * 1e3);
    Ok(Row::new(name, LONG as f64 / seconds / 1e9)
        .note("from host memory to another rank of the board"))
}

pub(crate) fn check(what: &str, holds: bool) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(alcor::Error::program(format!("{what}: wrong data")))
    }
}

/// Cycles of [`ROUNDS`] puts from node memory and from host memory, and accesses during the first.
#[derive(Debug, Default)]
struct Puts {
    put: u64,
    put_host: u64,
    /// Loads, stores, transfers, interrupts.
    work: [u64; 4],
}

fn puts(rank: &mut Rank, counts: &Counts) -> Result<Puts> {
    let target = rank.alloc::<u64>(2)?;
    let window = rank.register(&target, Rights::ALL)?;
    let source = rank.alloc_from(&[0x1234_5678_9abc_def0_u64])?;
    let mut found = Puts::default();
    rank.barrier()?;
    if rank.pid() == GlobalRank(0) {
        let peer = GlobalRank(1);
        rank.put(&window, peer, 0, &source)?;
        let work = || {
            [
                &counts.loads,
                &counts.stores,
                &counts.transfers,
                &counts.interrupts,
            ]
            .map(|count| count.load(Relaxed))
        };
        let (began, before) = (rank.now()?, work());
        for _ in 0..ROUNDS {
            rank.put(&window, peer, 0, &source)?;
        }
        let after = work();
        found.put = rank.now()?.0 - began.0;
        found.work = std::array::from_fn(|at| after[at] - before[at]);
        rank.put(&window, peer, 1, &[0_u64])?;
        let began = rank.now()?;
        for round in 1..=ROUNDS {
            rank.put(&window, peer, 1, &[round])?;
        }
        found.put_host = rank.now()?.0 - began.0;
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

fn barriers(rank: &mut Rank) -> Result<u64> {
    rank.barrier()?;
    let began = rank.now()?;
    for _ in 0..ROUNDS {
        rank.barrier()?;
    }
    Ok(rank.now()?.0 - began.0)
}

/// Cycles of [`ROUNDS`] round trips of a message between rank 0 and `peer`, from host memory to host
/// memory. Other ranks take no part.
pub(crate) fn ping_pong(rank: &mut Rank, peer: u32, bytes: usize) -> Result<u64> {
    let other = match rank.pid().0 {
        0 => peer,
        me if me == peer => 0,
        _ => return Ok(0),
    };
    let mine = pattern(rank.pid().0, bytes);
    let mut began = 0;
    for round in 0..=ROUNDS {
        if round == 1 {
            began = rank.now()?.0;
        }
        let mut found = vec![0; bytes];
        if other == peer {
            rank.send(GlobalRank(other), 1, &mine[..])?;
            rank.recv(other, 1, &mut found[..])?;
        } else {
            rank.recv(other, 1, &mut found[..])?;
            rank.send(GlobalRank(other), 1, &mine[..])?;
        }
        check("ping-pong", found == pattern(other, bytes))?;
    }
    Ok(rank.now()?.0 - began)
}

/// The message of a rank.
pub(crate) fn pattern(source: u32, bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at as u32 * 7 + source) as u8)
        .collect()
}

fn allreduces(rank: &mut Rank) -> Result<u64> {
    let world = rank.world()?;
    let mut found = [0.0];
    world.allreduce(rank, Operation::Sum, &[1.0], &mut found)?;
    rank.barrier()?;
    let began = rank.now()?;
    for _ in 0..ROUNDS {
        world.allreduce(rank, Operation::Sum, &[1.5], &mut found)?;
    }
    let cycles = rank.now()?.0 - began.0;
    check("allreduce", found == [1.5 * f64::from(world.size())])?;
    Ok(cycles)
}
