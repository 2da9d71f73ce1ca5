//! The one seam: whoever opens device nodes, and writes to sysfs, for this crate.
//!
//! [`System`] opens those of the kernel. The stand-in (feature `standin`) serves its own, with the same
//! manners.

use std::fmt::Debug;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

mod system;

pub use system::System;

/// Opens device nodes.
pub trait Nodes: Debug + Send + Sync {
    /// Maps `bytes` from `first`, a multiple of a page, of the BAR behind a node.
    ///
    /// # Errors
    /// What the system says; EINVAL when the BAR is shorter.
    fn map(&self, path: &Path, first: u64, bytes: usize) -> io::Result<Box<dyn Mapping>>;

    /// Opens a DMA channel.
    ///
    /// # Errors
    /// What the system says.
    fn dma(&self, path: &Path, way: Way) -> io::Result<Box<dyn Dma>>;

    /// Opens an event.
    ///
    /// # Errors
    /// What the system says.
    fn event(&self, path: &Path) -> io::Result<Box<dyn EventNode>>;

    /// Writes a file of sysfs, which has to be there: a control such as `remove`, or a register of configuration space at `at`.
    /// Unless a test plays the kernel's part, this is the system's call on that file.
    ///
    /// # Errors
    /// What the system says.
    fn store(&self, path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
        OpenOptions::new()
            .write(true)
            .open(path)?
            .write_all_at(bytes, at)
    }
}

/// Which way a DMA channel moves data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// Host to card.
    ToCard,
    /// Card to host.
    FromCard,
}

/// A mapped BAR. Each access is one on the bus, of that width, in the order of the calls. Offsets are
/// multiples of the width; beyond the mapping, reads give ones and writes go nowhere.
pub trait Mapping: Send + Sync {
    /// Bytes that are mapped.
    fn bytes(&self) -> usize;
    /// Reads 32 bits.
    fn read32(&self, offset: usize) -> u32;
    /// Writes 32 bits.
    fn write32(&self, offset: usize, value: u32);
    /// Reads 64 bits.
    fn read64(&self, offset: usize) -> u64;
    /// Writes 64 bits.
    fn write64(&self, offset: usize, value: u64);
}

/// A DMA channel's node. Each call is one of the system's; what it moves may be less than was asked for.
pub trait Dma: Send + Sync {
    /// What the low bits of both addresses of a transfer must agree in: they must be the same modulo this.
    ///
    /// # Errors
    /// What the system says.
    fn alignment(&self) -> io::Result<u64>;

    /// `pread`.
    ///
    /// # Errors
    /// What the system says.
    fn pread(&self, buffer: &mut [u8], at: u64) -> io::Result<usize>;

    /// `pwrite`. The driver pins the buffer's pages for writing, so they must not be of read-only memory.
    ///
    /// # Errors
    /// What the system says.
    fn pwrite(&self, buffer: &[u8], at: u64) -> io::Result<usize>;
}

/// An event's node.
pub trait EventNode: Send + Sync {
    /// Waits until it can be read, for ever without a time-out; whether it can.
    ///
    /// # Errors
    /// What the system says.
    fn poll(&self, timeout: Option<Duration>) -> io::Result<bool>;

    /// Reads.
    ///
    /// # Errors
    /// What the system says; EPROTO unless 4 bytes are asked for.
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize>;
}
