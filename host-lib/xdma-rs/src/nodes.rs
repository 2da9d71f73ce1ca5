//! The interface to the system: opens device nodes and writes to sysfs.
//!
//! [`System`] uses the kernel. The stand-in (feature `standin`) serves its own nodes with the same
//! properties.

use std::fmt::Debug;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

mod system;
mod wide;

pub use system::System;
pub(crate) use system::{Bar, wait_readable};
pub(crate) use wide::WIDEST;

/// Opens device nodes.
pub trait Nodes: Debug + Send + Sync {
    /// Maps `bytes` from `first`, a multiple of a page, of the BAR of a node.
    ///
    /// # Errors
    /// The system's error; EINVAL when the BAR is shorter.
    fn map(&self, path: &Path, first: u64, bytes: usize) -> io::Result<Box<dyn Mapping>>;

    /// Opens a DMA channel.
    ///
    /// # Errors
    /// The system's error.
    fn dma(&self, path: &Path, way: Way) -> io::Result<Box<dyn Dma>>;

    /// Opens an event.
    ///
    /// # Errors
    /// The system's error.
    fn event(&self, path: &Path) -> io::Result<Box<dyn EventNode>>;

    /// Writes an existing file of sysfs: a control such as `remove`, or a register of configuration
    /// space at `at`. The default calls the system. Tests override it to play the part of the
    /// kernel.
    ///
    /// # Errors
    /// The system's error.
    fn store(&self, path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
        OpenOptions::new()
            .write(true)
            .open(path)?
            .write_all_at(bytes, at)
    }
}

/// Direction of a DMA channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// Host to card.
    ToCard,
    /// Card to host.
    FromCard,
}

/// A mapped BAR. Each access is one access on the bus, of the same width, in the order of the
/// calls. Offsets are multiples of the width. Beyond the mapping, reads return all ones and writes
/// have no effect.
pub trait Mapping: Send + Sync {
    /// Number of mapped bytes.
    fn bytes(&self) -> usize;
    /// Reads 32 bits.
    fn read32(&self, offset: usize) -> u32;
    /// Writes 32 bits.
    fn write32(&self, offset: usize, value: u32);
    /// Reads 64 bits.
    fn read64(&self, offset: usize) -> u64;
    /// Writes 64 bits.
    fn write64(&self, offset: usize, value: u64);

    /// Sends the writes that the processor holds back in order to combine them. Accesses before this
    /// call come before those after it. The default does nothing, for mappings that combine nothing.
    fn flush(&self) {}

    /// Width of the widest access in bytes: 8, 16, 32 or 64.
    fn widest(&self) -> usize {
        8
    }

    /// Reads a unit, of 16 bytes or more up to [`Mapping::widest`].
    fn read_unit(&self, offset: usize, unit: &mut [u8]) {
        for (place, word) in unit.as_chunks_mut().0.iter_mut().enumerate() {
            *word = self.read64(offset + 8 * place).to_le_bytes();
        }
    }

    /// Writes a unit, of 16 bytes or more up to [`Mapping::widest`].
    fn write_unit(&self, offset: usize, unit: &[u8]) {
        for (place, word) in unit.as_chunks().0.iter().enumerate() {
            self.write64(offset + 8 * place, u64::from_le_bytes(*word));
        }
    }
}

/// The node of a DMA channel. Each call is one system call, which may move fewer bytes than
/// requested.
pub trait Dma: Send + Sync {
    /// Alignment: both addresses of a transfer must be equal modulo this number.
    ///
    /// # Errors
    /// The system's error.
    fn alignment(&self) -> io::Result<u64>;

    /// `pread`.
    ///
    /// # Errors
    /// The system's error.
    fn pread(&self, buffer: &mut [u8], at: u64) -> io::Result<usize>;

    /// `pwrite`. The driver pins the pages of the buffer for writing, so the buffer must not be in
    /// read-only memory.
    ///
    /// # Errors
    /// The system's error.
    fn pwrite(&self, buffer: &[u8], at: u64) -> io::Result<usize>;

    /// Whether a signal ends a call before the engine has stopped. The caller then blocks signals.
    fn is_interruptible(&self) -> bool {
        true
    }

    /// Whether buffers may be in any memory, at any alignment: a call copies what the engine can't
    /// reach. Otherwise [`H2c::write`](crate::H2c::write) and [`C2h::read`](crate::C2h::read) copy.
    fn takes_any_memory(&self) -> bool {
        false
    }
}

/// An event's node.
pub trait EventNode: Send + Sync {
    /// Waits until the event can be read, without limit if `timeout` is `None`. Returns whether the
    /// event can be read.
    ///
    /// # Errors
    /// The system's error.
    fn poll(&self, timeout: Option<Duration>) -> io::Result<bool>;

    /// Reads the event's flag and clears it.
    ///
    /// # Errors
    /// The system's error; EPROTO unless the buffer has 4 bytes.
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize>;
}
