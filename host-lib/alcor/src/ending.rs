//! What is known of an operation: a cell that its rank writes, and that whoever has the request reads.
//!
//! A put takes a few tens of nanoseconds, of which counts of references, which are locked operations, would be half. So a
//! cell is of the process and lives as long as it does. It has two owners, the rank's [`Teller`] and the request's
//! [`Listener`], and is used again once both are gone: there are as many as operations have been under way at once, or
//! requests held.

use std::borrow::Borrow;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alcor_abi::Status;

use crate::request::Asked;
use crate::transfer::{Transfer, TransferKind, WindowName};
use crate::{GlobalRank, NodeAddr};

/// What a completion says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) status: Status,
    /// Of a receive or probe: the message's source, tag and length.
    pub(crate) source: GlobalRank,
    pub(crate) tag: u32,
    pub(crate) length: u32,
}

impl Ended {
    /// Whether nobody has to be told of a failure.
    pub(crate) fn is_well(&self) -> bool {
        matches!(
            self.status,
            Status::Ok | Status::Cancelled | Status::NotFound
        )
    }
}

impl From<Status> for Ended {
    fn from(status: Status) -> Ended {
        Ended {
            status,
            source: GlobalRank(0),
            tag: 0,
            length: 0,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Cell {
    /// The rank that issued it, told apart from all others of this process.
    issuer: AtomicU64,
    /// Told apart by it from all others of its rank.
    number: AtomicU64,
    /// Kind and flags; and of a transfer its target, window, offset, local, length.
    transfer: [AtomicU32; 6],
    /// What it is, unless it is a transfer.
    other: Mutex<Option<Arc<Asked>>>,
    /// Status, source, and whether it is known.
    word: AtomicU32,
    tag: AtomicU32,
    length: AtomicU32,
    /// Whether the rank has posted it.
    posted: AtomicBool,
    /// Whether the owner of the request has been told.
    claimed: AtomicBool,
    /// Whether the request is gone.
    unheard: AtomicBool,
}

const KNOWN: u32 = 1 << 31;

const GET: u32 = 1 << 0;
const BASE: u32 = 1 << 1;
const QUIET: u32 = 1 << 2;
/// It is no transfer.
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

    fn set_other(&self, other: Option<Arc<Asked>>) {
        let is_other = if other.is_some() { OTHER } else { 0 };
        self.transfer[0].store(is_other, Ordering::Relaxed);
        *self.other.lock().unwrap_or_else(PoisonError::into_inner) = other;
    }

    #[inline]
    fn is_other(&self) -> bool {
        self.transfer[0].load(Ordering::Relaxed) & OTHER != 0
    }

    /// What it is, unless it is a transfer.
    pub(crate) fn other(&self) -> Option<Arc<Asked>> {
        match self.is_other() {
            true => self
                .other
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            false => None,
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

    /// What it is, where it is a transfer.
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

    /// Whether a failure of the transfer is nobody's.
    pub(crate) fn is_quiet(&self) -> bool {
        self.transfer[0].load(Ordering::Relaxed) & QUIET != 0
    }

    /// The transfer's target, and its bytes.
    #[inline]
    pub(crate) fn target_and_length(&self) -> (GlobalRank, u32) {
        let word = |place: usize| self.transfer[place].load(Ordering::Relaxed);
        (GlobalRank(word(1)), word(5))
    }

    pub(crate) fn get(&self) -> Option<Ended> {
        let word = self.word.load(Ordering::Acquire);
        let status = Status::from_bits(word & 0xFF)?;
        (word & KNOWN != 0).then(|| Ended {
            status,
            source: GlobalRank(word >> 8 & 0xFF),
            tag: self.tag.load(Ordering::Relaxed),
            length: self.length.load(Ordering::Relaxed),
        })
    }

    fn is_unheard(&self) -> bool {
        self.unheard.load(Ordering::Acquire)
    }
}

/// The rank's side.
#[derive(Debug)]
pub(crate) struct Teller(&'static Cell);

impl Teller {
    /// Makes it known.
    pub(crate) fn set(&self, ended: Ended) {
        self.0.tag.store(ended.tag, Ordering::Relaxed);
        self.0.length.store(ended.length, Ordering::Relaxed);
        // A rank has eight bits in the ring that this comes from.
        let word = KNOWN | ended.status as u32 | ended.source.0 << 8;
        self.0.word.store(word, Ordering::Release);
    }

    pub(crate) fn cell(&self) -> &'static Cell {
        self.0
    }

    /// The operation has been posted.
    pub(crate) fn set_posted(&self) {
        self.0.posted.store(true, Ordering::Relaxed);
    }

    /// Whether the owner of the request has been told.
    pub(crate) fn is_claimed(&self) -> bool {
        self.0.claimed.load(Ordering::Relaxed)
    }

    /// Whether the request is gone.
    pub(crate) fn is_unheard(&self) -> bool {
        self.0.is_unheard()
    }

    /// The same for another operation; nobody listens to it any more.
    #[inline]
    fn again(self, issuer: u64, number: u64) -> (Teller, Listener) {
        let cell = self.0;
        cell.issuer.store(issuer, Ordering::Relaxed);
        cell.number.store(number, Ordering::Relaxed);
        if cell.is_other() {
            cell.set_other(None);
        }
        cell.word.store(0, Ordering::Relaxed);
        cell.posted.store(false, Ordering::Relaxed);
        cell.claimed.store(false, Ordering::Relaxed);
        cell.unheard.store(false, Ordering::Relaxed);
        (self, Listener(cell))
    }
}

impl Borrow<Cell> for Teller {
    fn borrow(&self) -> &Cell {
        self.0
    }
}

impl Drop for Teller {
    /// Its rank has ended.
    fn drop(&mut self) {
        left().give_back(self.0);
    }
}

/// The request's side.
#[derive(Debug)]
pub(crate) struct Listener(&'static Cell);

impl Listener {
    pub(crate) fn cell(&self) -> &'static Cell {
        self.0
    }

    pub(crate) fn is_known(&self) -> bool {
        self.0.word.load(Ordering::Acquire) & KNOWN != 0
    }

    pub(crate) fn is_posted(&self) -> bool {
        self.0.posted.load(Ordering::Relaxed)
    }

    /// Its owner has been told.
    pub(crate) fn set_claimed(&self) {
        self.0.claimed.store(true, Ordering::Relaxed);
    }
}

impl Drop for Listener {
    #[inline]
    fn drop(&mut self) {
        self.0.unheard.store(true, Ordering::Release);
    }
}

/// Cells to be used again.
#[derive(Debug)]
struct Pool<T> {
    unheard: Vec<T>,
    /// Those that somebody listened to when they were given back.
    heard: Vec<T>,
    /// So many of them are looked through again: twice as many as were heard the last time, so that each look finds as many as it passes.
    look_at: usize,
}

/// A pool has no fewer cells than this before it looks for one that it can use again.
const LOOK_AT: usize = 16;

impl<T: Borrow<Cell>> Pool<T> {
    const fn new() -> Pool<T> {
        Pool {
            unheard: Vec::new(),
            heard: Vec::new(),
            look_at: LOOK_AT,
        }
    }

    /// One that nobody listens to.
    #[inline]
    fn take(&mut self) -> Option<T> {
        if self.unheard.is_empty() {
            self.look();
        }
        self.unheard.pop()
    }

    fn look(&mut self) {
        if self.heard.len() >= self.look_at {
            let is_unheard = |cell: &mut T| (*cell).borrow().is_unheard();
            self.unheard.extend(self.heard.extract_if(.., is_unheard));
            self.look_at = LOOK_AT.max(2 * self.heard.len());
        }
    }

    fn give_back(&mut self, cell: T) {
        match cell.borrow().is_unheard() {
            true => self.unheard.push(cell),
            false => self.heard.push(cell),
        }
    }
}

/// Cells of ranks that have ended.
static LEFT: Mutex<Pool<&'static Cell>> = Mutex::new(Pool::new());

fn left() -> MutexGuard<'static, Pool<&'static Cell>> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The cells that a rank uses again.
#[derive(Debug)]
pub(crate) struct Spare {
    issuer: u64,
    pool: Pool<Teller>,
}

impl Spare {
    /// Those of a rank that is told apart by `issuer` from all others of this process.
    pub(crate) fn new(issuer: u64) -> Spare {
        Spare {
            issuer,
            pool: Pool::new(),
        }
    }

    pub(crate) fn issuer(&self) -> u64 {
        self.issuer
    }

    /// Both sides of a cell for a transfer.
    #[inline]
    pub(crate) fn transfer(
        &mut self,
        number: u64,
        transfer: &Transfer,
        is_quiet: bool,
    ) -> (Teller, Listener) {
        let (teller, listener) = self.pair(number);
        teller.0.set_transfer(transfer, is_quiet);
        (teller, listener)
    }

    /// Both sides of a cell for anything else.
    pub(crate) fn other(&mut self, number: u64, asked: Arc<Asked>) -> (Teller, Listener) {
        let (teller, listener) = self.pair(number);
        teller.0.set_other(Some(asked));
        (teller, listener)
    }

    #[inline]
    fn pair(&mut self, number: u64) -> (Teller, Listener) {
        let teller = self.pool.take().unwrap_or_else(another);
        teller.again(self.issuer, number)
    }

    /// Takes back what has been told.
    #[inline]
    pub(crate) fn give_back(&mut self, teller: Teller) {
        self.pool.give_back(teller);
    }
}

/// One of a rank that has ended, or a new one.
#[cold]
fn another() -> Teller {
    let found = left().take();
    Teller(found.unwrap_or_else(|| Box::leak(Box::default())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_used_again_when_both_sides_are_gone() {
        let mut spare = Spare::new(1);
        let (teller, listener) = spare.pair(1);
        let first: *const Cell = teller.0;
        teller.set(Status::Denied.into());
        spare.give_back(teller);
        // Its owner still looks at it.
        let others: Vec<_> = (0..2 * LOOK_AT).map(|_| spare.pair(1)).collect();
        assert!(
            others
                .iter()
                .all(|(other, _)| !std::ptr::eq(other.0, first))
        );
        assert_eq!(
            listener.0.get().map(|ended| ended.status),
            Some(Status::Denied)
        );
        listener.set_claimed();
        drop(listener);
        for (other, _) in others {
            spare.give_back(other);
        }
        let all: Vec<_> = (0..2 * LOOK_AT + 1).map(|_| spare.pair(1)).collect();
        let (again, listener) = all
            .iter()
            .find(|(again, _)| std::ptr::eq(again.0, first))
            .expect("used again");
        assert!(!listener.is_known() && !listener.is_posted());
        assert!(!again.is_unheard() && !again.is_claimed());
    }

    #[test]
    fn what_a_rank_leaves_is_used_by_others_and_no_sooner() {
        // Tests beside this one take cells of other ranks, so each is looked for by what is in it.
        let mut spare = Spare::new(1);
        let (teller, listener) = spare.pair(1);
        teller.set(Status::Denied.into());
        drop((teller, spare));
        let mut others = Spare::new(1);
        let taken: Vec<_> = (0..64).map(|_| others.pair(1)).collect();
        assert!(
            taken
                .iter()
                .all(|(_, other)| !std::ptr::eq(other.0, listener.0))
        );
        assert_eq!(
            listener.0.get().map(|ended| ended.status),
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
                    let (teller, listener) = spare.transfer(7, &transfer, is_quiet);
                    let cell = listener.cell();
                    assert_eq!(cell.transfer(), transfer);
                    assert_eq!(cell.target_and_length(), (GlobalRank(3), 9));
                    assert_eq!(cell.is_quiet(), is_quiet);
                    assert_eq!((cell.issuer(), cell.number()), (1, 7));
                    assert!(cell.other().is_none());
                    spare.give_back(teller);
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
            let (teller, listener) = spare.pair(1);
            cells.insert(std::ptr::from_ref(teller.0));
            spare.give_back(teller);
            if round < 100 {
                kept.push(listener);
            }
        }
        assert!(cells.len() <= 300, "{} cells", cells.len());
    }
}
