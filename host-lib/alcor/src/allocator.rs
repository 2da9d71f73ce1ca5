//! The allocator of a rank's node memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::NodeAddr;

/// Alignment of every block, in bytes.
pub(crate) const ALIGNMENT: u32 = 64;

/// The free blocks. Allocation is first fit; a freed block is merged with its free neighbours.
#[derive(Debug)]
struct FreeList {
    /// Length by start address. No two blocks are adjacent.
    pieces: BTreeMap<u32, u32>,
    /// Dropped blocks that transfers may still use: length by start address.
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

    /// Frees the dropped blocks, except those that contain an address of `busy`.
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

/// The allocator of a rank's node memory, without the reserved part.
#[derive(Debug, Clone)]
pub(crate) struct Allocator {
    free: Arc<Mutex<FreeList>>,
}

impl Allocator {
    /// Makes an allocator of the addresses from `reserved` to `end`.
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

    /// Takes a block of at least `bytes` bytes. Fails with the length of the largest free block.
    /// `busy` are the local addresses of transfers under way. A transfer holds no handle of its
    /// block, because counting references would dominate the cost of a put.
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
            staged: Mutex::new(None),
        })
    }
}

/// A block in use. A dropped block is free once no transfer uses it.
#[derive(Debug)]
pub(crate) struct Block {
    start: u32,
    length: u32,
    free: Arc<Mutex<FreeList>>,
    /// The contents, while they are in host memory and not in node memory.
    staged: Mutex<Option<Vec<u8>>>,
}

impl Block {
    pub(crate) fn start(&self) -> NodeAddr {
        NodeAddr(self.start)
    }

    /// Keeps the contents of the block in host memory. Nobody but the library has a handle of the
    /// block.
    pub(crate) fn stage(&self, contents: Vec<u8>) {
        *lock(&self.staged) = Some(contents);
    }

    /// Returns whether the contents are in host memory.
    pub(crate) fn is_staged(&self) -> bool {
        lock(&self.staged).is_some()
    }

    /// Removes and returns the contents in host memory. The contents are in node memory from now on.
    pub(crate) fn take_staged(&self) -> Option<Vec<u8>> {
        lock(&self.staged).take()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        lock(&self.free).dropped.insert(self.start, self.length);
    }
}

/// A poisoned lock holds a valid value: no code panics while it holds the lock.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
