//! Host memory for transfers without a copy.

use std::collections::BTreeMap;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memmap2::MmapMut;
use nix::errno::Errno;

use crate::{At, CardAddr, DmaMemory, Doing, Error, Result};

/// A buffer's host address and its card address are equal modulo this number of bytes.
pub(crate) const PAGE: u64 = 4096;

/// Host memory for transfers without a copy: of [`DmaBuffer::facing`] by
/// [`H2c::write_buffer`](crate::H2c::write_buffer) and
/// [`C2h::read_buffer`](crate::C2h::read_buffer), of
/// [`Card::host_buffer`](crate::Card::host_buffer) by every transfer of the card.
///
/// The buffer consists of whole writable pages, zero at first. A buffer whose transfer has timed out
/// is empty from then on, and its pages are never freed: the engine may still read or write them.
///
/// # Examples
/// ```
/// use xdma::{CardAddr, DmaBuffer};
///
/// let mut buffer = DmaBuffer::facing(CardAddr(0x1_0004), 3)?;
/// buffer.copy_from_slice(&[1, 2, 3]);
/// assert_eq!(buffer.as_ptr() as usize % 4096, 4);
/// # Ok::<(), xdma::Error>(())
/// ```
pub struct DmaBuffer {
    memory: ManuallyDrop<Memory>,
    begin: usize,
    length: usize,
    /// Whether a transfer has timed out.
    is_lost: Arc<AtomicBool>,
}

enum Memory {
    /// Memory of the process. A driver in the kernel pins the pages for the time of a transfer.
    Pages(MmapMut),
    /// Memory that the card reaches as long as the buffer lives.
    Mapped(Mapped),
}

impl Memory {
    fn bytes(&self) -> &[u8] {
        match self {
            Memory::Pages(pages) => pages,
            Memory::Mapped(mapped) => {
                let cells = mapped.memory.cells();
                // SAFETY: `AtomicU8` has the layout of `u8`. The buffer owns the memory, and gives
                // it to others only by the rules of references. The card writes it only in a
                // transfer to an exclusive reference to it, or never again: see `Reached::lose`.
                unsafe { std::slice::from_raw_parts(cells.as_ptr().cast(), cells.len()) }
            }
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Memory::Pages(pages) => pages,
            Memory::Mapped(mapped) => {
                let cells = mapped.memory.cells();
                // SAFETY: as in `bytes`; the reference to the buffer is exclusive, and cells may be
                // written through shared references.
                unsafe {
                    std::slice::from_raw_parts_mut(cells.as_ptr().cast_mut().cast(), cells.len())
                }
            }
        }
    }
}

struct Mapped {
    memory: Arc<dyn DmaMemory>,
    buffers: Arc<Buffers>,
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let first = self.memory.cells().as_ptr() as usize;
        self.buffers.lock().remove(&first);
    }
}

impl Drop for DmaBuffer {
    fn drop(&mut self) {
        if !self.is_lost.load(Ordering::Relaxed) {
            // SAFETY: the memory is dropped here only, and nothing uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.memory) };
        }
    }
}

impl fmt::Debug for DmaBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DmaBuffer")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

impl DmaBuffer {
    /// Allocates `length` bytes for transfers that begin at `card`, or at any card address with the
    /// same offset in a page of 4 KiB. So a transfer meets every alignment that a core requires.
    ///
    /// # Errors
    /// [`Error::Node`] when the allocation fails.
    pub fn facing(card: CardAddr, length: usize) -> Result<DmaBuffer> {
        let begin = (card.0 % PAGE) as usize;
        let pages = begin
            .checked_add(length)
            .ok_or_else(|| Errno::ENOMEM.into())
            .and_then(|bytes| MmapMut::map_anon(bytes.max(1)));
        match pages {
            Ok(pages) => Ok(DmaBuffer {
                memory: ManuallyDrop::new(Memory::Pages(pages)),
                begin,
                length,
                is_lost: Arc::default(),
            }),
            Err(source) => Err(Error::Node {
                node: PathBuf::from("DMA"),
                doing: Doing::Allocate,
                at: At::bytes(card.0, length as u64),
                source,
            }),
        }
    }

    /// A transfer of the buffer has timed out.
    pub(crate) fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
    }

    /// The place of the data in the memory.
    fn place(&self) -> Range<usize> {
        if self.is_lost.load(Ordering::Relaxed) {
            return 0..0;
        }
        self.begin..self.begin + self.length
    }
}

impl std::ops::Deref for DmaBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory.bytes()[self.place()]
    }
}

impl std::ops::DerefMut for DmaBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        let place = self.place();
        &mut self.memory.bytes_mut()[place]
    }
}

/// The buffers of a process that its card reaches, by the address of their first byte.
#[derive(Default)]
pub(crate) struct Buffers(Mutex<BTreeMap<usize, Reached>>);

/// A buffer that the card reaches.
#[derive(Clone)]
pub(crate) struct Reached {
    memory: Arc<dyn DmaMemory>,
    is_lost: Arc<AtomicBool>,
}

impl Buffers {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, Reached>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a buffer of memory that the card reaches. `None` if the program reaches less than
    /// `length` bytes of it.
    pub(crate) fn add(
        self: &Arc<Buffers>,
        memory: Arc<dyn DmaMemory>,
        length: usize,
    ) -> Option<DmaBuffer> {
        let cells = memory.cells();
        if cells.len() < length.max(1) {
            return None;
        }
        let is_lost = Arc::default();
        let reached = Reached {
            memory: Arc::clone(&memory),
            is_lost: Arc::clone(&is_lost),
        };
        self.lock().insert(cells.as_ptr() as usize, reached);
        let buffers = Arc::clone(self);
        Some(DmaBuffer {
            memory: ManuallyDrop::new(Memory::Mapped(Mapped { memory, buffers })),
            begin: 0,
            length,
            is_lost,
        })
    }

    /// Returns the buffer that contains `bytes`, and the address of `bytes` for the card.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<(Reached, u64)> {
        let first = bytes.as_ptr() as usize;
        let buffers = self.lock();
        let (&begin, reached) = buffers.range(..=first).next_back()?;
        let offset = first - begin;
        let is_inside = offset + bytes.len() <= reached.memory.cells().len();
        (is_inside && !reached.is_lost.load(Ordering::Relaxed))
            .then(|| (reached.clone(), reached.memory.address() + offset as u64))
    }
}

impl Reached {
    /// An engine may still use the memory: takes the memory from the card, and keeps the pages for
    /// ever.
    pub(crate) fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
        self.memory.revoke();
    }
}
