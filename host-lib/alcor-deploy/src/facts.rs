//! Facts that are read before the first change.

use std::fmt;

use xdma::{Driver, Machine, PciAddress};

use crate::{Error, Result};

/// The name of the driver that makes the card's nodes.
pub(crate) const DRIVER: &str = "xdma";

/// The identity of a function on the bus, for which the host has reserved address space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// PCI address.
    pub function: PciAddress,
    /// PCI vendor.
    pub vendor: u16,
    /// PCI device.
    pub device: u16,
    /// Bytes of its BARs.
    pub bars: [u64; 6],
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:04x} with BARs of", self.vendor, self.device)?;
        for bytes in self.bars.iter().filter(|&&bytes| bytes != 0) {
            write!(f, " {bytes:#x}")?;
        }
        write!(f, " bytes")
    }
}

impl Identity {
    pub(crate) fn of(machine: &Machine, function: PciAddress) -> Result<Identity> {
        let card = machine.card(function)?;
        Ok(Identity {
            function,
            vendor: card.vendor(),
            device: card.device(),
            bars: *card.bars(),
        })
    }
}

/// A function of the card, and its driver.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    pub(crate) identity: Identity,
    pub(crate) driver: Option<String>,
    /// N in `/dev/xdmaN_user`.
    pub(crate) number: Option<u32>,
}

/// The card, its functions and its bridge.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) bridge: PciAddress,
    pub(crate) functions: Vec<Function>,
}

impl Facts {
    pub(crate) fn find(machine: &Machine, address: PciAddress) -> Result<Facts> {
        let card = match machine.card(address) {
            Err(xdma::Error::NoCard { address, present }) => {
                return Err(Error::NotThere { address, present });
            }
            other => other?,
        };
        // Checks now whether the last step can read the card's ID block.
        let is_ready = match card.driver() {
            Driver::Vendor { .. } => true,
            Driver::None => machine.has_driver(DRIVER),
            _ => false,
        };
        if !is_ready {
            let driver = card.driver().clone();
            return Err(xdma::Error::Driver { address, driver }.into());
        }
        let functions = machine.functions(address)?;
        let functions = functions.into_iter().map(|function| {
            Ok(Function {
                identity: Identity::of(machine, function)?,
                driver: machine.driver_of(function),
                number: machine.card(function)?.number(),
            })
        });
        Ok(Facts {
            bridge: machine.bridge(address)?,
            functions: functions.collect::<Result<_>>()?,
        })
    }

    pub(crate) fn addresses(&self) -> impl Iterator<Item = PciAddress> {
        self.functions
            .iter()
            .map(|function| function.identity.function)
    }
}
