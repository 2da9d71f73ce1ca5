//! Which pieces of a rank's node memory are in use.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::NodeAddr;

/// What every piece's address is a multiple of.
pub(crate) const ALIGNMENT: u32 = 64;

/// First fit over free pieces; neighbours are joined when one is given back.
#[derive(Debug)]
struct FreeList {
    /// Length by start; no two pieces touch.
    pieces: BTreeMap<u32, u32>,
    /// Pieces that were dropped, which transfers may still be under way in: length by start.
    dropped: BTreeMap<u32, u32>,
}

impl FreeList {
    fn take(&mut self, bytes: u32) -> Option<u32> {
        let (start, length) = self
            .pieces
            .iter()
            .map(|(&start, &length)| (start, length))
            .find(|&(_, length)| length >= bytes)?;
        self.pieces.remove(&start);
        if length > bytes {
            self.pieces.insert(start + bytes, length - bytes);
        }
        Some(start)
    }

    /// Gives back what was dropped, but for pieces that one of `busy` begins in.
    fn give_back_dropped(&mut self, busy: impl Iterator<Item = NodeAddr>) {
        if self.dropped.is_empty() {
            return;
        }
        let mut dropped = std::mem::take(&mut self.dropped);
        for at in busy {
            if let Some((&start, &length)) = dropped.range(..=at.0).next_back()
                && at.0 - start < length
            {
                dropped.remove(&start);
                self.dropped.insert(start, length);
            }
        }
        for (start, length) in dropped {
            self.give_back(start, length);
        }
    }

    fn give_back(&mut self, start: u32, length: u32) {
        let (mut start, mut length) = (start, length);
        if let Some((&before, &bytes)) = self.pieces.range(..start).next_back()
            && before + bytes == start
        {
            self.pieces.remove(&before);
            (start, length) = (before, bytes + length);
        }
        if let Some(bytes) = self.pieces.remove(&(start + length)) {
            length += bytes;
        }
        self.pieces.insert(start, length);
    }
}

/// A rank's node memory, apart from what is reserved.
#[derive(Debug, Clone)]
pub(crate) struct Allocator {
    free: Arc<Mutex<FreeList>>,
}

impl Allocator {
    /// Hands out what lies between `reserved` and `end`.
    pub(crate) fn new(reserved: u32, end: u32) -> Allocator {
        let end = end & !(ALIGNMENT - 1);
        let mut pieces = BTreeMap::new();
        if let Some(start) = reserved.checked_next_multiple_of(ALIGNMENT)
            && start < end
        {
            pieces.insert(start, end - start);
        }
        Allocator {
            free: Arc::new(Mutex::new(FreeList {
                pieces,
                dropped: BTreeMap::new(),
            })),
        }
    }

    /// A piece of at least `bytes` bytes, or else the largest length that is free. Transfers are under way in the pieces that `busy`
    /// lie in: they hold no piece, as a put would spend more time on that than on all else.
    pub(crate) fn take(
        &self,
        bytes: u64,
        busy: impl Iterator<Item = NodeAddr>,
    ) -> Result<Block, u32> {
        let mut free = lock(&self.free);
        free.give_back_dropped(busy);
        let largest = |free: &FreeList| free.pieces.values().copied().max().unwrap_or(0);
        let length = u32::try_from(bytes.max(1))
            .ok()
            .and_then(|bytes| bytes.checked_next_multiple_of(ALIGNMENT))
            .ok_or_else(|| largest(&free))?;
        let start = free.take(length).ok_or_else(|| largest(&free))?;
        Ok(Block {
            start,
            length,
            free: Arc::clone(&self.free),
        })
    }
}

/// A piece in use; once it is dropped and no transfer is under way in it, it is handed out again.
#[derive(Debug)]
pub(crate) struct Block {
    start: u32,
    length: u32,
    free: Arc<Mutex<FreeList>>,
}

impl Block {
    pub(crate) fn start(&self) -> NodeAddr {
        NodeAddr(self.start)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        lock(&self.free).dropped.insert(self.start, self.length);
    }
}

/// No code panics while it holds the lock, so a poisoned one is whole.
fn lock(free: &Mutex<FreeList>) -> MutexGuard<'_, FreeList> {
    free.lock().unwrap_or_else(PoisonError::into_inner)
}
