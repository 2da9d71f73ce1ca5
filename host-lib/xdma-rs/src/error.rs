//! What can go wrong, and what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::{BarOffset, PciAddress};

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed: what was asked for, of which node, and what came instead.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No such card.
    #[error("no PCI function {address}; {}", cards(present))]
    NoCard {
        /// What was asked for.
        address: PciAddress,
        /// Cards with an XDMA core that are there.
        present: Vec<PciAddress>,
    },
    /// There is a choice, or none, where one card was asked for.
    #[error("expected one card with an XDMA core; {}", cards(present))]
    NotOne {
        /// Those that are there.
        present: Vec<PciAddress>,
    },
    /// The function is not driven by the vendor's XDMA driver.
    #[error("{address} is driven by {}; {}", driver.name(), driver.advice())]
    Driver {
        /// The card.
        address: PciAddress,
        /// What drives it.
        driver: crate::Driver,
    },
    /// The driver has made no such node.
    #[error("{address} has no {what}; {advice}")]
    NoNode {
        /// The card.
        address: PciAddress,
        /// What was asked for.
        what: String,
        /// What to do.
        advice: &'static str,
    },
    /// A file of sysfs does not say what it should.
    #[error("{path} reads '{found}', which is no {expected}", path = path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What was expected there.
        expected: &'static str,
        /// Its beginning.
        found: String,
    },
    /// The system refused a call.
    #[error("{doing} {node}{at}: {source}{}", hint(*doing, source), node = node.display())]
    Node {
        /// The node or file.
        node: PathBuf,
        /// What was to be done.
        doing: Doing,
        /// Where.
        at: At,
        /// What the system said.
        source: io::Error,
    },
    /// A transfer ended early: the driver's time-out came when part of it was done.
    #[error(
        "{doing} {node}{at} ended after {done} bytes: the driver's time-out passed; what of it has \
         reached its place is not known",
        node = node.display()
    )]
    Short {
        /// The node.
        node: PathBuf,
        /// Which way.
        doing: Doing,
        /// What was asked for.
        at: At,
        /// Bytes that the driver counted.
        done: u64,
    },
    /// The driver gave up on a transfer.
    #[error(
        "{doing} {node}{at}: the card did not answer within the driver's time-out (h2c_timeout and \
         c2h_timeout of the module, 10 s unless set)",
        node = node.display()
    )]
    TransferTimedOut {
        /// The node.
        node: PathBuf,
        /// Which way.
        doing: Doing,
        /// What was asked for.
        at: At,
    },
    /// What was waited for did not come.
    #[error("nothing from {node} within {after:?}", node = node.display())]
    NoEvent {
        /// The node.
        node: PathBuf,
        /// How long was waited.
        after: Duration,
    },
    /// An access that is not in the BAR.
    #[error("{bytes} bytes at {offset} are beyond {node}, which has {size} bytes", node = node.display())]
    Beyond {
        /// The node.
        node: PathBuf,
        /// Where the access begins.
        offset: BarOffset,
        /// Its length.
        bytes: u64,
        /// Bytes that there are.
        size: u64,
    },
    /// An address that the access does not go with.
    #[error("{at} of {node} is not a multiple of {multiple}", node = node.display())]
    Misaligned {
        /// The node.
        node: PathBuf,
        /// Where.
        at: At,
        /// What it has to be a multiple of.
        multiple: u64,
    },
    /// The buffer's address and the card's differ in their low bits.
    #[error(
        "a buffer at {buffer:#x} can't be transferred by {node}{at}: both addresses must be the same modulo {alignment}; \
         DmaBuffer::facing makes one that fits",
        node = node.display()
    )]
    BufferAlignment {
        /// The node.
        node: PathBuf,
        /// The card's side.
        at: At,
        /// The host's side, its low bits.
        buffer: u64,
        /// What the driver reports.
        alignment: u64,
    },
    /// All reads give ones: nobody answers on the bus.
    #[error(
        "{node} reads all ones at {offset}: the link is dead, or the card was taken away or reprogrammed; \
         see whether lspci shows it, then reset it",
        node = node.display()
    )]
    DeadLink {
        /// The node.
        node: PathBuf,
        /// Where ones were read.
        offset: BarOffset,
    },
    /// The register that tells what the card is reads something else.
    #[error(
        "{node} reads {found:#010x} at {offset}, not {expected:#010x}: the card holds another design",
        node = node.display()
    )]
    WrongId {
        /// The node.
        node: PathBuf,
        /// The register.
        offset: BarOffset,
        /// What it should read.
        expected: u32,
        /// What it reads.
        found: u32,
    },
    /// The card has left the bus.
    #[error("{address} is no longer there; after a rescan, open it anew")]
    Gone {
        /// The card.
        address: PciAddress,
    },
    /// A function that is behind no bridge.
    #[error("{address} is behind no PCI bridge: sysfs has it in {folder}", folder = folder.display())]
    NoBridge {
        /// The function.
        address: PciAddress,
        /// Its folder.
        folder: PathBuf,
    },
    /// A function without the registers that every PCI Express function has, or a process that may not read them.
    #[error("{address} shows no PCI Express capability; the system shows it to root alone")]
    NoCapability {
        /// The function.
        address: PciAddress,
    },
    /// A reset or rescan that this system does not offer.
    #[error("{address} can't be reset: {why}")]
    NoReset {
        /// The card.
        address: PciAddress,
        /// Why.
        why: &'static str,
    },
}

alcor_errors::debug_as_text!(Error);

fn cards(present: &[PciAddress]) -> String {
    if present.is_empty() {
        return "none is there: see whether lspci -d 10ee: shows the card; one that was not there at boot needs a rescan \
                or a warm reboot"
            .into();
    }
    let list: Vec<_> = present.iter().map(ToString::to_string).collect();
    format!("there are {}", list.join(", "))
}

/// What an error number of this call means beyond its text.
fn hint(doing: Doing, source: &io::Error) -> &'static str {
    use nix::errno::Errno;
    match (
        doing,
        source
            .raw_os_error()
            .map_or(Errno::UnknownErrno, Errno::from_raw),
    ) {
        (_, Errno::EACCES | Errno::EPERM) => "; a udev rule can give the node to a group",
        (_, Errno::EBUSY) => "; another transfer or a reset has the engine",
        (Doing::Map, Errno::EINVAL) => "; the mapping is longer than the BAR",
        (Doing::Write, Errno::EFAULT) => {
            "; the driver pins buffers for writing, in either direction"
        }
        (_, Errno::EPROTO) => "; this node takes aligned words of 4 bytes",
        (_, Errno::ENODEV | Errno::ENXIO) => "; the card has left the bus",
        _ => "",
    }
}

/// What was being done.
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

/// Where in a node, and how much; nothing for the node as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct At(pub Option<(u64, u64)>);

impl At {
    /// The node as a whole.
    pub const NODE: At = At(None);

    /// `bytes` at `offset`.
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
