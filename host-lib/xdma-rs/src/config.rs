//! Configuration space of a function, through sysfs.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::nodes::Nodes;
use crate::{At, Doing, Error, Machine, PciAddress, Result};

/// Bits of the command register ([`Config::COMMAND`]).
pub mod command {
    /// The function responds to accesses of its BARs.
    pub const MEMORY: u16 = 1 << 1;
    /// The function may report fatal errors (SERR#); a bridge also forwards those of the devices
    /// behind it.
    pub const SERR: u16 = 1 << 8;
}

/// Bits of the device control register of PCI Express ([`Config::device_control`]).
pub mod device_control {
    /// The function reports fatal errors to the root.
    pub const FATAL: u16 = 1 << 2;
}

/// Offset of the status register, and its bit for a list of capabilities.
const STATUS: u16 = 0x06;
const HAS_CAPABILITIES: u16 = 1 << 4;
/// Offset of the pointer to the first capability, ID of the PCI Express capability, and offset of
/// device control in that capability.
const CAPABILITIES: u16 = 0x34;
const PCI_EXPRESS: u16 = 0x10;
const DEVICE_CONTROL: u16 = 8;
/// Upper bound on the number of capabilities that fit. A longer list is a loop.
const MOST_CAPABILITIES: usize = 48;

/// Configuration space of a function, accessed 16 bits at a time.
///
/// # Examples
/// ```no_run
/// use xdma::{Config, Machine, command};
///
/// let machine = Machine::local();
/// let config = machine.config(machine.only_card()?.address());
/// let control = config.read16(Config::COMMAND)?;
/// config.write16(Config::COMMAND, control | command::MEMORY)?;
/// println!("device control is at {:#x}", config.device_control()?);
/// # Ok::<(), xdma::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Config {
    nodes: Arc<dyn Nodes>,
    path: PathBuf,
    address: PciAddress,
}

impl Machine {
    /// The configuration space of a function. Writes, and reads beyond the first 64 bytes, require
    /// root.
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

    /// Offset of the device control register of PCI Express.
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
                // Only root can read beyond the first 64 bytes.
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
