//! Errors of this crate: each names the request, the finding and a remedy.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::{BarOffset, EngineFault, PciAddress};

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a call failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine has no such function.
    #[error("no PCI function {address}; {}", cards(present))]
    NoCard {
        /// The requested function.
        address: PciAddress,
        /// Cards with an XDMA core in the machine.
        present: Vec<PciAddress>,
    },
    /// One card was requested, but the machine has none or several.
    #[error("expected one card with an XDMA core; {}", cards(present))]
    NotOne {
        /// Cards with an XDMA core in the machine.
        present: Vec<PciAddress>,
    },
    /// The function is not driven by the vendor's XDMA driver.
    #[error("{address} is driven by {}; {}", driver.name(), driver.advice())]
    Driver {
        /// The card.
        address: PciAddress,
        /// The driver that is bound to the card.
        driver: crate::Driver,
    },
    /// The function is not driven by `vfio-pci`.
    #[error(
        "{address} is driven by {}, not by vfio-pci; write vfio-pci to driver_override of the \
         function in sysfs, unbind its driver, and write its address to drivers_probe",
        driver.name()
    )]
    NotVfio {
        /// The card.
        address: PciAddress,
        /// The driver that is bound to the card.
        driver: crate::Driver,
    },
    /// The function is behind no IOMMU.
    #[error(
        "{address} is behind no IOMMU, so it can't be driven safely from user space; enable the \
         IOMMU (intel_iommu=on, amd_iommu=on) and boot again; or give the card access to all memory of \
         the machine (Card::vfio_without_iommu, or iommu=none in a URI of Alcor)"
    )]
    NoIommu {
        /// The card.
        address: PciAddress,
    },
    /// The function is behind an IOMMU, and was to be driven without one.
    #[error(
        "{address} is behind an IOMMU, so it can't be driven without one; use Card::vfio, or leave out \
         iommu=none in a URI of Alcor"
    )]
    HasIommu {
        /// The card.
        address: PciAddress,
    },
    /// VFIO has no group for a function without an IOMMU.
    #[error(
        "VFIO does not take {address} without an IOMMU; write 1 to \
         /sys/module/vfio/parameters/enable_unsafe_noiommu_mode, vfio-pci to driver_override of the function, \
         and its address to drivers_probe; a kernel without this parameter is built without \
         CONFIG_VFIO_NOIOMMU"
    )]
    NoGroup {
        /// The card.
        address: PciAddress,
    },
    /// Host memory for a function that this process drives can't be had.
    #[error("no host memory for {address}: {source}")]
    NoHostMemory {
        /// The card.
        address: PciAddress,
        /// The reason.
        source: io::Error,
    },
    /// The function can't be driven from user space.
    #[error(
        "{address} can't be driven from user space: {source}; reset the card, or program it again"
    )]
    NotDriven {
        /// The card.
        address: PciAddress,
        /// The reason.
        source: io::Error,
    },
    /// The driver has created no such node.
    #[error("{address} has no {what}; {advice}")]
    NoNode {
        /// The card.
        address: PciAddress,
        /// Name of the requested node.
        what: String,
        /// The reason for the missing node.
        advice: &'static str,
    },
    /// A file of sysfs has unexpected content.
    #[error("{path} reads '{found}', expected a {expected}", path = path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The expected content.
        expected: &'static str,
        /// The beginning of the content.
        found: String,
    },
    /// The system refused a call.
    #[error("{doing} {node}{at}: {source}{}", hint(*doing, source), node = node.display())]
    Node {
        /// The node or file.
        node: PathBuf,
        /// The operation.
        doing: Doing,
        /// Offset and length.
        at: At,
        /// The system's error.
        source: io::Error,
    },
    /// The driver's time-out ended a transfer after a part of its bytes. The engine may still run, so the
    /// channel's further transfers fail with [`Error::ChannelLost`].
    #[error(
        "{doing} {node}{at} ended after {done} bytes: the driver's time-out passed; any part of \
         the data may have reached its destination",
        node = node.display()
    )]
    Short {
        /// The node.
        node: PathBuf,
        /// Reading or writing.
        doing: Doing,
        /// Offset and length of the request.
        at: At,
        /// Number of bytes that the driver reported.
        done: u64,
    },
    /// The driver's time-out ended a transfer that had moved no byte.
    #[error(
        "{doing} {node}{at}: the card did not answer within the driver's time-out (h2c_timeout and \
         c2h_timeout of the module, 10 s unless set)",
        node = node.display()
    )]
    TransferTimedOut {
        /// The node.
        node: PathBuf,
        /// Reading or writing.
        doing: Doing,
        /// Offset and length of the request.
        at: At,
    },
    /// An engine that this process drives ended a transfer with an error. The channel accepts the
    /// next transfer if [`EngineFault::is_idle`].
    #[error(
        "{doing} {node}{at}: {fault}; any part of the data may have reached its destination",
        node = node.display()
    )]
    Engine {
        /// The node.
        node: PathBuf,
        /// Reading or writing.
        doing: Doing,
        /// Offset and length of the request.
        at: At,
        /// The state of the engine.
        fault: EngineFault,
    },
    /// An earlier transfer of the channel ended before its engine, which may still move data.
    #[error(
        "{doing} {node}{at}: an earlier transfer of this channel timed out or failed, and its engine \
         may still run; reset the card, and open it again",
        node = node.display()
    )]
    ChannelLost {
        /// The node.
        node: PathBuf,
        /// Reading or writing.
        doing: Doing,
        /// Offset and length of the request.
        at: At,
    },
    /// The awaited status did not come before the time-out.
    #[error(
        "no event of {node} brought the awaited status within {after:?}; read the card's status \
         registers",
        node = node.display()
    )]
    NoEvent {
        /// The node.
        node: PathBuf,
        /// The time-out.
        after: Duration,
    },
    /// An access beyond the end of the BAR.
    #[error(
        "{bytes} bytes at {offset} are beyond {node}, which has {size} bytes",
        node = node.display()
    )]
    Beyond {
        /// The node.
        node: PathBuf,
        /// Start of the access.
        offset: BarOffset,
        /// Length of the access in bytes.
        bytes: u64,
        /// Length of the node in bytes.
        size: u64,
    },
    /// An address that is not aligned to the width of the access.
    #[error("{at} of {node} is not a multiple of {multiple}", node = node.display())]
    Misaligned {
        /// The node.
        node: PathBuf,
        /// Offset and length of the access.
        at: At,
        /// The required alignment.
        multiple: u64,
    },
    /// The addresses of buffer and card differ in their low bits.
    #[error(
        "{node} can't transfer a buffer at {buffer:#x}{at}: both addresses must be the same \
         modulo {alignment}; allocate the buffer with DmaBuffer::facing",
        node = node.display()
    )]
    BufferAlignment {
        /// The node.
        node: PathBuf,
        /// Card address and length.
        at: At,
        /// Low bits of the host address.
        buffer: u64,
        /// The alignment that the driver reports.
        alignment: u64,
    },
    /// All reads return all ones: no device answers on the bus.
    #[error(
        "{node} reads all ones at {offset}: the link is dead, or the card was removed or \
         reprogrammed; check that lspci shows the card, then reset it",
        node = node.display()
    )]
    DeadLink {
        /// The node.
        node: PathBuf,
        /// Offset of the read.
        offset: BarOffset,
    },
    /// The design's ID register reads another value: the card holds another design.
    #[error(
            "{node} reads {found:#010x} at {offset}, not {expected:#010x}: the card holds another \
             design; program the card with the expected bitstream",
        node = node.display()
    )]
    WrongId {
        /// The node.
        node: PathBuf,
        /// The register.
        offset: BarOffset,
        /// The expected value.
        expected: u32,
        /// The value found.
        found: u32,
    },
    /// The card has left the bus.
    #[error("{address} is no longer there; rescan the bus, then open the card again")]
    Gone {
        /// The card.
        address: PciAddress,
    },
    /// The system asks for a card that this process drives ([`Card::check`](crate::Card::check)). The card stays until
    /// the process drops everything that it has opened.
    #[error(
        "the system asks for {address} back: the card is being removed, or its driver is being unbound; end the \
         program, or drop the card, and open the card again when it is there"
    )]
    AskedBack {
        /// The card.
        address: PciAddress,
    },
    /// The function is not behind a PCI bridge.
    #[error(
        "{address} is not behind a PCI bridge: its folder in sysfs is {folder}",
        folder = folder.display()
    )]
    NoBridge {
        /// The function.
        address: PciAddress,
        /// The function's folder in sysfs.
        folder: PathBuf,
    },
    /// The function has no PCI Express capability, or this process may not read the capability.
    #[error(
        "{address} shows no PCI Express capability; only root can read capabilities: run as root"
    )]
    NoCapability {
        /// The function.
        address: PciAddress,
    },
    /// The system does not offer the requested reset.
    #[error("{address} can't be reset: {why}")]
    NoReset {
        /// The card.
        address: PciAddress,
        /// The reason.
        why: &'static str,
    },
}

alcor_errors::debug_as_text!(Error);

fn cards(present: &[PciAddress]) -> String {
    if present.is_empty() {
        return "there is none: check that lspci -d 10ee: shows the card; a card that was absent at \
                boot needs a rescan or a warm reboot"
            .into();
    }
    let list: Vec<_> = present.iter().map(ToString::to_string).collect();
    format!("there are {}", list.join(", "))
}

/// Explains an error number of a call in the context of this crate.
fn hint(doing: Doing, source: &io::Error) -> &'static str {
    use nix::errno::Errno;
    match (
        doing,
        source
            .raw_os_error()
            .map_or(Errno::UnknownErrno, Errno::from_raw),
    ) {
        (_, Errno::EACCES | Errno::EPERM) => "; a udev rule can give the node to a group",
        (Doing::Open, Errno::EBUSY) => "; another process drives the card, or occupies the engine",
        (_, Errno::EBUSY) => "; another transfer or a reset occupies the engine",
        (Doing::Map, Errno::EINVAL) => "; the mapping is longer than the BAR",
        (Doing::Write, Errno::EFAULT) => {
            "; the driver pins buffers for writing, in both directions"
        }
        (_, Errno::EPROTO) => "; this node accepts aligned accesses of 4 bytes only",
        (_, Errno::ENODEV | Errno::ENXIO) => "; the card has left the bus",
        _ => "",
    }
}

/// The operation during which an error occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// Opening.
    Open,
    /// Mapping.
    Map,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Polling.
    Poll,
    /// Allocating a buffer.
    Allocate,
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Doing::Open => "opening",
            Doing::Map => "mapping",
            Doing::Read => "reading",
            Doing::Write => "writing",
            Doing::Poll => "polling",
            Doing::Allocate => "allocating a buffer for",
        })
    }
}

/// Offset and length of an access to a node, or the node as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct At(pub Option<(u64, u64)>);

impl At {
    /// The node as a whole.
    pub const NODE: At = At(None);

    /// An access of `bytes` at `offset`.
    ///
    /// # Examples
    /// ```
    /// use xdma::At;
    /// assert_eq!(At::bytes(0x10, 4).to_string(), ", 4 bytes at 0x10");
    /// ```
    #[must_use]
    pub fn bytes(offset: u64, bytes: u64) -> At {
        At(Some((offset, bytes)))
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((offset, bytes)) => write!(f, ", {bytes} bytes at {offset:#x}"),
            None => Ok(()),
        }
    }
}
