//! A PCI function that a program drives itself, without a driver in the kernel.

use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU8;

use crate::PciAddress;
use crate::nodes::{EventNode, Mapping};

/// Access to a PCI function from user space: BARs, memory for DMA, and interrupts.
///
/// [`Card::vfio`](crate::Card::vfio) uses the function of the kernel's VFIO.
/// [`Card::driven`](crate::Card::driven) takes any other, such as a model of a card in a test.
///
/// # Examples
/// ```
/// use std::{io, path::Path, sync::Arc, time::Duration};
/// use xdma::nodes::{EventNode, Mapping};
/// use xdma::{Card, DmaMemory, Error, Function, Machine, PciAddress};
///
/// /// A function without BARs, so without an XDMA core.
/// #[derive(Debug)]
/// struct Empty;
/// impl Function for Empty {
///     fn address(&self) -> PciAddress {
///         "0000:3b:00.0".parse().expect("an address")
///     }
///     fn identity(&self) -> (u16, u16) {
///         (0x10ee, 0x903f)
///     }
///     fn folder(&self) -> &Path {
///         Path::new("/")
///     }
///     fn bars(&self) -> [u64; 6] {
///         [0; 6]
///     }
///     fn vectors(&self) -> u32 {
///         0
///     }
///     fn map(&self, _: usize, _: u64, _: usize) -> io::Result<Box<dyn Mapping>> {
///         Err(io::ErrorKind::NotFound.into())
///     }
///     fn memory(&self, _: usize) -> io::Result<Box<dyn DmaMemory>> {
///         Err(io::ErrorKind::OutOfMemory.into())
///     }
///     fn interrupt(&self, _: u32) -> io::Result<Box<dyn EventNode>> {
///         Err(io::ErrorKind::NotFound.into())
///     }
/// }
///
/// let card = Card::driven(&Machine::local(), Arc::new(Empty), Duration::from_secs(10));
/// assert!(matches!(card, Err(Error::NotDriven { .. })));
/// ```
pub trait Function: Debug + Send + Sync {
    /// PCI address.
    fn address(&self) -> PciAddress;
    /// PCI vendor ID and device ID.
    fn identity(&self) -> (u16, u16);
    /// A folder that exists as long as the function, such as that of the function in sysfs.
    fn folder(&self) -> &Path;
    /// Length of each BAR in bytes; 0 for a BAR that is absent.
    fn bars(&self) -> [u64; 6];
    /// Number of MSI-X vectors.
    fn vectors(&self) -> u32;

    /// Maps `bytes` from `first`, a multiple of a page, of a BAR.
    ///
    /// # Errors
    /// The system's error; EINVAL when the BAR is shorter.
    fn map(&self, bar: usize, first: u64, bytes: usize) -> io::Result<Box<dyn Mapping>>;

    /// Allocates memory that the function can read and write by DMA. The memory is zero.
    ///
    /// # Errors
    /// The system's error.
    fn memory(&self, bytes: usize) -> io::Result<Box<dyn DmaMemory>>;

    /// Upper bound on the bytes of one [`Function::memory`]. The default is no bound.
    fn longest_memory(&self) -> usize {
        usize::MAX
    }

    /// Returns whether the system asks the process to let the function go: the card is being removed, or the driver is
    /// being unbound. Stays true. The driver asks before each transfer and in each wait. The default is false.
    fn is_asked_back(&self) -> bool {
        false
    }

    /// Returns the event of an MSI-X vector.
    ///
    /// # Errors
    /// The system's error; EINVAL when there is no such vector.
    fn interrupt(&self, vector: u32) -> io::Result<Box<dyn EventNode>>;
}

/// Memory that a function reads and writes by DMA while the program uses it. The memory is
/// contiguous for the function. Accesses beyond its end move nothing and read 0.
pub trait DmaMemory: Send + Sync {
    /// Address for the function, a multiple of 4096.
    fn address(&self) -> u64;
    /// Copies from the memory.
    fn read(&self, offset: usize, data: &mut [u8]);
    /// Copies to the memory.
    fn write(&self, offset: usize, data: &[u8]);
    /// Reads 32 bits with one access.
    fn load32(&self, offset: usize) -> u32;

    /// The memory, for a program that keeps data in it ([`Card::host_buffer`](crate::Card::host_buffer)).
    /// The default is empty: memory that the program reaches by the other methods only.
    fn cells(&self) -> &[AtomicU8] {
        &[]
    }

    /// Takes the memory from the function, as far as possible: from now on, an IOMMU refuses
    /// accesses of the function. The default does nothing.
    fn revoke(&self) {}
}
