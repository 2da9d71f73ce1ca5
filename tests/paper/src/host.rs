//! The host's work for an operation: stores, loads and system calls, counted by the stand-in of the
//! board's nodes.

use std::sync::{Arc, Barrier};
use std::time::Instant;

use alcor::{Board, Cluster, GlobalRank, Job, LocalRank, Options, Rank, Region, Rights, Window};

use crate::plain::PlainBoard;
use crate::report::Row;
use crate::rma::MeasureError;

/// The host's work so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Stores to registers of a board.
    pub stores: u64,
    /// Loads from registers of a board.
    pub loads: u64,
    /// System calls.
    pub calls: u64,
}

/// Number of puts that are counted together. The command queue has room for all, so no put waits.
pub const PUTS: u64 = 8;

/// Counts the host's work for a put of 8 bytes until the put is posted, and until it is complete.
/// `work` returns the host's accesses to the board's nodes so far.
///
/// # Errors
/// When a rank fails, or data is wrong.
pub fn rows(
    boards: impl Into<Cluster>,
    work: impl Fn() -> Work + Sync,
) -> Result<Vec<Row>, MeasureError> {
    let job = Job::new(boards)?;
    // Synchronises outside the library, so that a waiting thread does not access the board.
    let turn = Barrier::new(2);
    let figures = job.run(2, |rank| measure(rank, &turn, &work))?;
    let (posted, whole) = figures[0];
    let per_put = |count: u64| count as f64 / PUTS as f64;
    Ok(vec![
        Row::new("put-8-stores", per_put(posted.stores))
            .note("of 4 bytes, until the put is posted"),
        Row::new("put-8-loads", per_put(posted.loads)).note("until the put is posted"),
        Row::new("put-8-calls", per_put(posted.calls))
            .note("system calls, until the put is posted"),
        Row::new("put-8-complete-stores", whole.stores as f64).note("one put, with its wait"),
        Row::new("put-8-complete-loads", whole.loads as f64).note("one put, with its wait"),
        Row::new("put-8-complete-calls", whole.calls as f64)
            .note("system calls, one put, with its wait"),
    ])
}

fn measure(
    rank: &mut Rank,
    turn: &Barrier,
    work: impl Fn() -> Work,
) -> alcor::Result<(Work, Work)> {
    let me = rank.pid();
    let values: Vec<u64> = (1..=PUTS).map(|n| n << 32 | u64::from(me.0)).collect();
    let source = rank.alloc_from(&values)?;
    let target = rank.alloc::<u64>(values.len())?;
    let window = rank.register(&target, Rights::ALL)?;
    rank.barrier()?;
    let mut spent = (Work::default(), Work::default());
    turn.wait();
    if me == GlobalRank(0) {
        let peer = GlobalRank(1);
        let before = work();
        let mut requests = Vec::with_capacity(values.len());
        for at in 0..values.len() {
            requests.push(rank.iput(&window, peer, at, source.slice(at..=at)?)?);
        }
        spent.0 = since(work(), before);
        rank.wait_all(requests)?;
        let before = work();
        rank.put(&window, peer, 0, &source.slice(0..=0)?)?;
        spent.1 = since(work(), before);
    }
    turn.wait();
    rank.barrier()?;
    if me == GlobalRank(1) {
        let sent: Vec<u64> = (1..=PUTS).map(|n| n << 32).collect();
        assert_eq!(rank.read_vec(&target)?, sent, "what rank 0 put");
    }
    Ok(spent)
}

fn since(now: Work, before: Work) -> Work {
    Work {
        stores: now.stores - before.stores,
        loads: now.loads - before.loads,
        calls: now.calls - before.calls,
    }
}

/// A rank that puts 8 bytes at a time to itself, on a board of plain memory. Measures the library
/// alone.
pub struct Putter {
    rank: Rank,
    window: Window<u64>,
    source: Region<u64>,
}

impl Putter {
    /// A rank with window and buffers.
    ///
    /// # Errors
    /// None are known.
    pub fn new() -> alcor::Result<Putter> {
        let board = PlainBoard::new();
        Cluster::from(Arc::clone(&board)).prepare(1)?;
        let options = Options::default();
        let whole = Arc::clone(&board) as Arc<dyn Board>;
        let mut rank = Rank::attach(whole, LocalRank(0), GlobalRank(0), 1, &options)?;
        let target = rank.alloc::<u64>(1)?;
        let window = rank.register(&target, Rights::ALL)?;
        let source = rank.alloc_from(&[1])?;
        board.begin();
        Ok(Putter {
            rank,
            window,
            source,
        })
    }

    /// Performs `batches` batches of puts and processes all completions, as a program with a few
    /// concurrent puts does.
    ///
    /// # Errors
    /// None are known.
    pub fn put(&mut self, batches: u64) -> alcor::Result<()> {
        for _ in 0..batches {
            for _ in 0..PUTS - 1 {
                // The last put's completion implies this put's.
                drop(
                    self.rank
                        .iput(&self.window, GlobalRank(0), 0, &self.source)?,
                );
            }
            self.rank
                .put(&self.window, GlobalRank(0), 0, &self.source)?;
        }
        Ok(())
    }
}

/// Time in nanoseconds and number of allocations of a put of 8 bytes in the library, on a board of
/// plain memory. `count` counts the allocations of a closure.
///
/// # Errors
/// None are known.
pub fn memory_rows(count: impl Fn(&mut dyn FnMut()) -> u64) -> alcor::Result<Vec<Row>> {
    const BATCHES: u64 = 20_000;
    let mut putter = Putter::new()?;
    putter.put(BATCHES)?;
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            putter.put(BATCHES)?;
            Ok(start.elapsed().as_nanos() as f64 / (BATCHES * PUTS) as f64)
        })
        .collect::<alcor::Result<_>>()?;
    times.sort_by(f64::total_cmp);
    let mut failed = Ok(());
    let allocations = count(&mut || failed = putter.put(BATCHES));
    failed?;
    Ok(vec![
        Row::new("put-8-memory", times[times.len() / 2]).note(
            "ns in the library, on a board of plain memory, 8 puts at once with their completions",
        ),
        Row::new(
            "put-8-memory-allocations",
            allocations as f64 / (BATCHES * PUTS) as f64,
        )
        .note("a put"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_put_allocates_nothing() {
        let rows = memory_rows(|body| allocation_counter::measure(body).count_total).unwrap();
        let row = rows
            .iter()
            .find(|row| row.name == "put-8-memory-allocations");
        assert_eq!(row.map(|row| row.measured), Some(0.0));
    }
}
