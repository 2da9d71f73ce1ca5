//! The state of an operation: a cell that the rank writes, and the owner of the request reads.
//!
//! A put takes a few tens of nanoseconds. Reference counts are locked operations and would take
//! half of that time. So cells are allocated once and live as long as the process. A cell has two
//! owners: the rank's [`Promise`] and the request's [`Future`]. The cell is free for reuse when
//! both are gone. The number of cells is the largest number of operations under way and requests
//! held at one time.

use std::borrow::Borrow;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alcor_abi::Status;

use crate::request::Descriptor;
use crate::transfer::{Transfer, TransferKind, WindowName};
use crate::{GlobalRank, MessageStatus, NodeAddr};

/// The content of a completion.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Completion {
    pub(crate) status: Status,
    /// Receive or probe: source, tag and length of the message.
    pub(crate) source: GlobalRank,
    pub(crate) tag: u32,
    pub(crate) length: u32,
}

impl Completion {
    /// Returns the completion of a receive that has taken this message.
    pub(crate) fn of(status: Status, found: &MessageStatus) -> Completion {
        Completion {
            status,
            source: found.pid,
            tag: found.tag,
            length: found.length,
        }
    }

    /// Returns whether the status needs no error report.
    pub(crate) fn is_success(&self) -> bool {
        matches!(
            self.status,
            Status::Ok | Status::Cancelled | Status::NotFound | Status::Deferred
        )
    }
}

impl From<Status> for Completion {
    fn from(status: Status) -> Completion {
        Completion {
            status,
            source: GlobalRank(0),
            tag: 0,
            length: 0,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Cell {
    /// Identifies the issuing rank within this process.
    issuer: AtomicU64,
    /// Identifies the operation within its rank.
    number: AtomicU64,
    /// Kind and flags. For a transfer also target, window, offset, local address and length.
    transfer: [AtomicU32; 6],
    /// The descriptor of an operation that is no transfer.
    other: Mutex<Option<Arc<Descriptor>>>,
    /// Status, source, and the flag [`KNOWN`].
    word: AtomicU32,
    tag: AtomicU32,
    length: AtomicU32,
    /// Whether the rank has posted the operation.
    posted: AtomicBool,
    /// Whether the owner of the request has taken the result.
    claimed: AtomicBool,
    /// Whether the request has been dropped.
    dropped: AtomicBool,
}

const KNOWN: u32 = 1 << 31;

const GET: u32 = 1 << 0;
const BASE: u32 = 1 << 1;
const QUIET: u32 = 1 << 2;
/// The operation is no transfer.
const OTHER: u32 = 1 << 3;

impl Cell {
    #[inline]
    fn set_transfer(&self, transfer: &Transfer, is_quiet: bool) {
        let (by_base, window) = match transfer.window {
            WindowName::Slot(slot) => (0, u32::from(slot)),
            WindowName::Base(base) => (BASE, base.0),
        };
        let kind = match transfer.kind {
            TransferKind::Put => 0,
            TransferKind::Get => GET,
        };
        let quiet = if is_quiet { QUIET } else { 0 };
        let words = [
            kind | by_base | quiet,
            transfer.target.0,
            window,
            transfer.offset,
            transfer.local.0,
            transfer.length,
        ];
        for (cell, word) in self.transfer.iter().zip(words) {
            cell.store(word, Ordering::Relaxed);
        }
    }

    fn set_other(&self, other: Option<Arc<Descriptor>>) {
        let is_other = if other.is_some() { OTHER } else { 0 };
        self.transfer[0].store(is_other, Ordering::Relaxed);
        *self.other.lock().unwrap_or_else(PoisonError::into_inner) = other;
    }

    #[inline]
    fn is_other(&self) -> bool {
        self.transfer[0].load(Ordering::Relaxed) & OTHER != 0
    }

    /// Returns the descriptor of an operation that is no transfer.
    pub(crate) fn other(&self) -> Option<Arc<Descriptor>> {
        if self.is_other() {
            self.other
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone()
        } else {
            None
        }
    }

    #[inline]
    pub(crate) fn issuer(&self) -> u64 {
        self.issuer.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Ordering::Relaxed)
    }

    /// Returns the transfer. The operation must be a transfer.
    pub(crate) fn transfer(&self) -> Transfer {
        let [what, target, window, offset, local, length] = self
            .transfer
            .each_ref()
            .map(|word| word.load(Ordering::Relaxed));
        Transfer {
            kind: match what & GET {
                0 => TransferKind::Put,
                _ => TransferKind::Get,
            },
            target: GlobalRank(target),
            window: match what & BASE {
                0 => WindowName::Slot(window as u8),
                _ => WindowName::Base(NodeAddr(window)),
            },
            offset,
            local: NodeAddr(local),
            length,
        }
    }

    /// Returns whether a failure of the transfer is ignored.
    pub(crate) fn is_quiet(&self) -> bool {
        self.transfer[0].load(Ordering::Relaxed) & QUIET != 0
    }

    /// Returns target and length in bytes of the transfer.
    #[inline]
    pub(crate) fn target_and_length(&self) -> (GlobalRank, u32) {
        let word = |place: usize| self.transfer[place].load(Ordering::Relaxed);
        (GlobalRank(word(1)), word(5))
    }

    pub(crate) fn get(&self) -> Option<Completion> {
        let word = self.word.load(Ordering::Acquire);
        let status = Status::from_bits(word & 0xFF)?;
        (word & KNOWN != 0).then(|| Completion {
            status,
            source: GlobalRank(word >> 8 & 0xFF),
            tag: self.tag.load(Ordering::Relaxed),
            length: self.length.load(Ordering::Relaxed),
        })
    }

    fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }

    /// Returns whether the owner of the request has taken the result.
    pub(crate) fn is_claimed(&self) -> bool {
        self.claimed.load(Ordering::Relaxed)
    }
}

/// The rank's side of a cell.
#[derive(Debug)]
pub(crate) struct Promise(&'static Cell);

impl Promise {
    /// Stores the completion, which completes the request.
    pub(crate) fn set(&self, ended: Completion) {
        self.0.tag.store(ended.tag, Ordering::Relaxed);
        self.0.length.store(ended.length, Ordering::Relaxed);
        // The completion ring has eight bits for a rank.
        let word = KNOWN | ended.status as u32 | ended.source.0 << 8;
        self.0.word.store(word, Ordering::Release);
    }

    pub(crate) fn cell(&self) -> &'static Cell {
        self.0
    }

    /// Records that the operation has been posted.
    pub(crate) fn set_posted(&self) {
        self.0.posted.store(true, Ordering::Relaxed);
    }

    /// Returns whether the request has been dropped.
    pub(crate) fn is_dropped(&self) -> bool {
        self.0.is_dropped()
    }

    /// Prepares the cell for another operation. Its last request must have been dropped.
    #[inline]
    fn again(self, issuer: u64, number: u64) -> (Promise, Future) {
        let cell = self.0;
        cell.issuer.store(issuer, Ordering::Relaxed);
        cell.number.store(number, Ordering::Relaxed);
        if cell.is_other() {
            cell.set_other(None);
        }
        cell.word.store(0, Ordering::Relaxed);
        cell.posted.store(false, Ordering::Relaxed);
        cell.claimed.store(false, Ordering::Relaxed);
        cell.dropped.store(false, Ordering::Relaxed);
        (self, Future(cell))
    }
}

impl Borrow<Cell> for Promise {
    fn borrow(&self) -> &Cell {
        self.0
    }
}

impl Drop for Promise {
    /// Puts the cell into the global pool when its rank has ended.
    fn drop(&mut self) {
        orphans().give_back(self.0);
    }
}

/// The request's side of a cell.
#[derive(Debug)]
pub(crate) struct Future(&'static Cell);

impl Future {
    pub(crate) fn cell(&self) -> &'static Cell {
        self.0
    }

    pub(crate) fn is_known(&self) -> bool {
        self.0.word.load(Ordering::Acquire) & KNOWN != 0
    }

    pub(crate) fn is_posted(&self) -> bool {
        self.0.posted.load(Ordering::Relaxed)
    }

    /// Records that the owner of the request has taken the result.
    pub(crate) fn set_claimed(&self) {
        self.0.claimed.store(true, Ordering::Relaxed);
    }
}

impl Drop for Future {
    #[inline]
    fn drop(&mut self) {
        self.0.dropped.store(true, Ordering::Release);
    }
}

/// A pool of cells for reuse.
#[derive(Debug)]
struct Pool<T> {
    free: Vec<T>,
    /// Cells whose requests still existed when the cells were given back.
    watched: Vec<T>,
    /// The pool sweeps `watched` when this number of cells is reached. The limit is twice the
    /// number that remained after the last sweep, so a sweep frees at least as many cells as it
    /// keeps.
    sweep_at: usize,
}

/// Minimum number of watched cells before the pool sweeps them.
const SWEEP_AT: usize = 16;

impl<T: Borrow<Cell>> Pool<T> {
    const fn new() -> Pool<T> {
        Pool {
            free: Vec::new(),
            watched: Vec::new(),
            sweep_at: SWEEP_AT,
        }
    }

    /// Returns a cell whose request has been dropped.
    #[inline]
    fn take(&mut self) -> Option<T> {
        if self.free.is_empty() {
            self.sweep();
        }
        self.free.pop()
    }

    fn sweep(&mut self) {
        if self.watched.len() >= self.sweep_at {
            let is_dropped = |cell: &mut T| (*cell).borrow().is_dropped();
            self.free.extend(self.watched.extract_if(.., is_dropped));
            self.sweep_at = SWEEP_AT.max(2 * self.watched.len());
        }
    }

    fn give_back(&mut self, cell: T) {
        if cell.borrow().is_dropped() {
            self.free.push(cell);
        } else {
            self.watched.push(cell);
        }
    }
}

/// Cells of ranks that have ended.
static ORPHANS: Mutex<Pool<&'static Cell>> = Mutex::new(Pool::new());

fn orphans() -> MutexGuard<'static, Pool<&'static Cell>> {
    ORPHANS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The cells that a rank reuses.
#[derive(Debug)]
pub(crate) struct Spare {
    issuer: u64,
    pool: Pool<Promise>,
}

impl Spare {
    /// Makes an empty pool for the rank that `issuer` identifies within this process.
    pub(crate) fn new(issuer: u64) -> Spare {
        Spare {
            issuer,
            pool: Pool::new(),
        }
    }

    pub(crate) fn issuer(&self) -> u64 {
        self.issuer
    }

    /// Returns both sides of a cell for a transfer.
    #[inline]
    pub(crate) fn transfer(
        &mut self,
        number: u64,
        transfer: &Transfer,
        is_quiet: bool,
    ) -> (Promise, Future) {
        let (promise, future) = self.pair(number);
        promise.0.set_transfer(transfer, is_quiet);
        (promise, future)
    }

    /// Returns both sides of a cell for any other operation.
    pub(crate) fn other(&mut self, number: u64, descriptor: Arc<Descriptor>) -> (Promise, Future) {
        let (promise, future) = self.pair(number);
        promise.0.set_other(Some(descriptor));
        (promise, future)
    }

    #[inline]
    fn pair(&mut self, number: u64) -> (Promise, Future) {
        let promise = self.pool.take().unwrap_or_else(another);
        promise.again(self.issuer, number)
    }

    /// Takes back a completed cell.
    #[inline]
    pub(crate) fn give_back(&mut self, promise: Promise) {
        self.pool.give_back(promise);
    }
}

/// Returns a cell of a rank that has ended, or a new cell.
#[cold]
fn another() -> Promise {
    let found = orphans().take();
    Promise(found.unwrap_or_else(|| Box::leak(Box::default())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_used_again_when_both_sides_are_gone() {
        let mut spare = Spare::new(1);
        let (promise, future) = spare.pair(1);
        let first: *const Cell = promise.0;
        promise.set(Status::Denied.into());
        spare.give_back(promise);
        // The request of the first cell still exists.
        let others: Vec<_> = (0..2 * SWEEP_AT).map(|_| spare.pair(1)).collect();
        assert!(
            others
                .iter()
                .all(|(other, _)| !std::ptr::eq(other.0, first))
        );
        assert_eq!(
            future.0.get().map(|ended| ended.status),
            Some(Status::Denied)
        );
        future.set_claimed();
        drop(future);
        for (other, _) in others {
            spare.give_back(other);
        }
        let all: Vec<_> = (0..2 * SWEEP_AT + 1).map(|_| spare.pair(1)).collect();
        let (again, future) = all
            .iter()
            .find(|(again, _)| std::ptr::eq(again.0, first))
            .expect("used again");
        assert!(!future.is_known() && !future.is_posted());
        assert!(!again.is_dropped() && !again.0.is_claimed());
    }

    #[test]
    fn what_a_rank_leaves_is_used_by_others_and_no_sooner() {
        // Tests that run in parallel take cells of ended ranks too. So this test looks for its cell
        // by address.
        let mut spare = Spare::new(1);
        let (promise, future) = spare.pair(1);
        promise.set(Status::Denied.into());
        drop((promise, spare));
        let mut others = Spare::new(1);
        let taken: Vec<_> = (0..64).map(|_| others.pair(1)).collect();
        assert!(
            taken
                .iter()
                .all(|(_, other)| !std::ptr::eq(other.0, future.0))
        );
        assert_eq!(
            future.0.get().map(|ended| ended.status),
            Some(Status::Denied)
        );
    }

    #[test]
    fn a_cell_says_what_was_asked() {
        let mut spare = Spare::new(1);
        for kind in [TransferKind::Put, TransferKind::Get] {
            for window in [WindowName::Slot(5), WindowName::Base(NodeAddr(1 << 20))] {
                for is_quiet in [false, true] {
                    let transfer = Transfer {
                        kind,
                        target: GlobalRank(3),
                        window,
                        offset: u32::MAX,
                        local: NodeAddr(64),
                        length: 9,
                    };
                    let (promise, future) = spare.transfer(7, &transfer, is_quiet);
                    let cell = future.cell();
                    assert_eq!(cell.transfer(), transfer);
                    assert_eq!(cell.target_and_length(), (GlobalRank(3), 9));
                    assert_eq!(cell.is_quiet(), is_quiet);
                    assert_eq!((cell.issuer(), cell.number()), (1, 7));
                    assert!(cell.other().is_none());
                    spare.give_back(promise);
                }
            }
        }
    }

    #[test]
    fn requests_that_are_kept_cost_a_cell_each_and_a_few_more() {
        let mut spare = Spare::new(1);
        let mut kept = Vec::new();
        let mut cells = std::collections::BTreeSet::new();
        for round in 0..100_000 {
            let (promise, future) = spare.pair(1);
            cells.insert(std::ptr::from_ref(promise.0));
            spare.give_back(promise);
            if round < 100 {
                kept.push(future);
            }
        }
        assert!(cells.len() <= 300, "{} cells", cells.len());
    }
}
