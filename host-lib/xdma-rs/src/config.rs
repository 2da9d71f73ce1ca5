//! Configuration space of a function: what the system shows of it in sysfs.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::nodes::Nodes;
use crate::{At, Doing, Error, Machine, PciAddress, Result};

/// Bits of the command register, which is at [`Config::COMMAND`].
pub mod command {
    /// The function answers to accesses of its BARs.
    pub const MEMORY: u16 = 1 << 1;
    /// The function, or what is behind a bridge, may tell of fatal errors (SERR#).
    pub const SERR: u16 = 1 << 8;
}

/// Bits of the device control register of PCI Express, which is at [`Config::device_control`].
pub mod device_control {
    /// Fatal errors are reported to the root.
    pub const FATAL: u16 = 1 << 2;
}

/// Where the function says whether it has capabilities, and the bit.
const STATUS: u16 = 0x06;
const HAS_CAPABILITIES: u16 = 1 << 4;
/// Where the list of capabilities begins, what PCI Express's is called there, and where its device control is.
const CAPABILITIES: u16 = 0x34;
const PCI_EXPRESS: u16 = 0x10;
const DEVICE_CONTROL: u16 = 8;
/// More capabilities than fit: a list that is longer goes round.
const MOST_CAPABILITIES: usize = 48;

/// Configuration space of a function, 16 bits at a time.
#[derive(Debug, Clone)]
pub struct Config {
    nodes: Arc<dyn Nodes>,
    path: PathBuf,
    address: PciAddress,
}

impl Machine {
    /// The configuration space of a function. Of all but its first 64 bytes, and for writing, the system asks for root.
    #[must_use]
    pub fn config(&self, address: PciAddress) -> Config {
        Config {
            nodes: Arc::clone(self.nodes()),
            path: self.folder(address).join("config"),
            address,
        }
    }
}

impl Config {
    /// The command register.
    pub const COMMAND: u16 = 0x04;

    /// Reads 16 bits.
    ///
    /// # Errors
    /// [`Error::Node`].
    pub fn read16(&self, offset: u16) -> Result<u16> {
        let mut bytes = [0; 2];
        let read =
            File::open(&self.path).and_then(|file| file.read_exact_at(&mut bytes, offset.into()));
        match read {
            Ok(()) => Ok(u16::from_le_bytes(bytes)),
            Err(source) => Err(self.failed(Doing::Read, offset, source)),
        }
    }

    /// Writes 16 bits.
    ///
    /// # Errors
    /// [`Error::Node`].
    pub fn write16(&self, offset: u16, value: u16) -> Result<()> {
        let stored = self
            .nodes
            .store(&self.path, offset.into(), &value.to_le_bytes());
        stored.map_err(|source| self.failed(Doing::Write, offset, source))
    }

    /// Where the device control register of PCI Express is.
    ///
    /// # Errors
    /// [`Error::NoCapability`], [`Error::Node`].
    pub fn device_control(&self) -> Result<u16> {
        let none = Error::NoCapability {
            address: self.address,
        };
        if self.read16(STATUS)? & HAS_CAPABILITIES == 0 {
            return Err(none);
        }
        let mut at = self.read16(CAPABILITIES)? & 0xfc;
        for _ in 0..MOST_CAPABILITIES {
            if at < 0x40 {
                break;
            }
            let entry = match self.read16(at) {
                // What is behind the first 64 bytes is for root.
                Err(Error::Node { source, .. })
                    if source.kind() == std::io::ErrorKind::UnexpectedEof =>
                {
                    break;
                }
                other => other?,
            };
            if entry & 0xff == PCI_EXPRESS {
                return Ok(at + DEVICE_CONTROL);
            }
            at = entry >> 8 & 0xfc;
        }
        Err(none)
    }

    fn failed(&self, doing: Doing, offset: u16, source: std::io::Error) -> Error {
        Error::Node {
            node: self.path.clone(),
            doing,
            at: At::bytes(offset.into(), 2),
            source,
        }
    }
}
