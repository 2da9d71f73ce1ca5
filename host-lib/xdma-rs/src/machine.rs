//! The machine: its cards and its PCI bus.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::card::{Card, read_card};
use crate::nodes::{Nodes, System};
use crate::{At, Doing, Error, PciAddress, Result};

/// PCI vendor ID of Xilinx, also used by AMD's cards with Xilinx parts.
const XILINX: u16 = 0x10ee;

/// A machine with cards, described by its sysfs and its device nodes.
///
/// # Examples
/// ```no_run
/// let machine = xdma::Machine::local();
/// for card in machine.cards()? {
///     println!("{} {:04x}:{:04x}, {}", card.address(), card.vendor(), card.device(), card.driver());
/// }
/// let registers = machine.only_card()?.user_bar()?;
/// # Ok::<(), xdma::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Machine {
    sys: PathBuf,
    dev: PathBuf,
    nodes: Arc<dyn Nodes>,
}

impl Machine {
    /// The machine that this program runs on.
    #[must_use]
    pub fn local() -> Machine {
        Machine::at("/sys", "/dev", Arc::new(System))
    }

    /// A machine with sysfs and device nodes at other paths, opened by `nodes`.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use xdma::Machine;
    /// use xdma::nodes::System;
    ///
    /// let machine = Machine::at("/host/sys", "/host/dev", Arc::new(System)); // of a container
    /// assert!(machine.cards()?.is_empty());
    /// # Ok::<(), xdma::Error>(())
    /// ```
    #[must_use]
    pub fn at(sys: impl Into<PathBuf>, dev: impl Into<PathBuf>, nodes: Arc<dyn Nodes>) -> Machine {
        Machine {
            sys: sys.into(),
            dev: dev.into(),
            nodes,
        }
    }

    /// Cards of Xilinx and AMD with any driver, and cards of other vendors with the XDMA driver, in
    /// order of address.
    ///
    /// # Errors
    /// [`Error::Node`] when sysfs can't be read, [`Error::Malformed`].
    pub fn cards(&self) -> Result<Vec<Card>> {
        let mut cards = Vec::new();
        for name in list(&self.devices())? {
            let Ok(address) = name.parse::<PciAddress>() else {
                continue;
            };
            // A card may leave the bus during this loop.
            let Some(card) = read_card(self, address)? else {
                continue;
            };
            if card.vendor() == XILINX || card.driver().is_xdma() {
                cards.push(card);
            }
        }
        cards.sort_by_key(Card::address);
        Ok(cards)
    }

    /// The card at `address`, of any vendor.
    ///
    /// # Errors
    /// [`Error::NoCard`], and the errors of [`Machine::cards`].
    pub fn card(&self, address: PciAddress) -> Result<Card> {
        match read_card(self, address)? {
            Some(card) => Ok(card),
            None => Err(Error::NoCard {
                address,
                present: self.cards()?.iter().map(Card::address).collect(),
            }),
        }
    }

    /// The only card of the machine.
    ///
    /// # Errors
    /// [`Error::NotOne`], and the errors of [`Machine::cards`].
    pub fn only_card(&self) -> Result<Card> {
        let mut cards = self.cards()?;
        match (cards.pop(), cards.is_empty()) {
            (Some(card), true) => Ok(card),
            (last, _) => Err(Error::NotOne {
                present: cards.iter().chain(&last).map(Card::address).collect(),
            }),
        }
    }

    /// Removes the function from the bus, before its design is replaced. Open nodes of the function
    /// fail afterwards.
    ///
    /// # Errors
    /// [`Error::NoCard`], [`Error::Node`].
    pub fn remove(&self, address: PciAddress) -> Result<()> {
        let folder = self.folder(address);
        if !folder.exists() {
            self.card(address)?;
        }
        self.write(&folder.join("remove"), "1")
    }

    /// Makes the kernel search all buses for new functions.
    ///
    /// # Errors
    /// [`Error::Node`].
    pub fn rescan(&self) -> Result<()> {
        self.write(&self.sys.join("bus/pci/rescan"), "1")
    }

    /// Performs a hot reset of the bus of the function, which must be alone on the bus. The design
    /// loses its registers, its tables and all transfers in flight, so no node of the card should
    /// be open.
    ///
    /// # Errors
    /// [`Error::NoReset`] when the kernel offers no bus reset, for example because other functions
    /// share the bus; [`Error::NoCard`], [`Error::Node`].
    ///
    /// # Examples
    /// ```no_run
    /// use xdma::Machine;
    ///
    /// let (machine, address) = (Machine::local(), "0000:3b:00.0".parse()?);
    /// if machine.hot_reset(address).is_err() {
    ///     machine.remove(address)?;
    ///     machine.rescan()?;
    /// }
    /// println!("{:?}", machine.card(address)?.driver());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hot_reset(&self, address: PciAddress) -> Result<()> {
        let folder = self.folder(address);
        self.card(address)?;
        let (reset, method) = (folder.join("reset"), folder.join("reset_method"));
        let no = |why| Err(Error::NoReset { address, why });
        if !reset.exists() {
            return no("the kernel offers no reset for it; remove it and rescan, or reboot");
        }
        if !method.exists() {
            return no(
                "the kernel is too old to choose a reset method (5.15 and later can), and its own \
                 choice may leave the design unchanged",
            );
        }
        let offered = read(&method)?;
        if !offered.split_whitespace().any(|name| name == "bus") {
            return no("the kernel offers no bus reset, because other functions share the bus");
        }
        self.write(&method, "bus")?;
        let reset = self.write(&reset, "1");
        // Restores the method, also after a failed reset.
        self.write(&method, &offered)?;
        reset
    }

    /// Writes a control file of sysfs.
    pub(crate) fn write(&self, path: &Path, text: &str) -> Result<()> {
        let stored = self.nodes.store(path, 0, text.as_bytes());
        stored.map_err(failed(Doing::Write, path))
    }

    pub(crate) fn nodes(&self) -> &Arc<dyn Nodes> {
        &self.nodes
    }

    pub(crate) fn dev(&self) -> &Path {
        &self.dev
    }

    pub(crate) fn sys(&self) -> &Path {
        &self.sys
    }

    pub(crate) fn folder(&self, address: PciAddress) -> PathBuf {
        self.devices().join(address.to_string())
    }

    pub(crate) fn devices(&self) -> PathBuf {
        self.sys.join("bus/pci/devices")
    }
}

fn failed(doing: Doing, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let node = path.to_owned();
    move |source| Error::Node {
        node,
        doing,
        at: At::NODE,
        source,
    }
}

/// Names of the entries of a folder; empty when the folder does not exist.
pub(crate) fn list(path: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(failed(Doing::Read, path))?,
    };
    entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()
        .map_err(failed(Doing::Read, path))
}

pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(failed(Doing::Read, path))
}
