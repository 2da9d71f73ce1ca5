//! One card: what sysfs says of it, and its nodes.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::machine::{Machine, list, read};
use crate::node::Node;
use crate::nodes::Way;
use crate::{At, Bar, BarOffset, C2h, Doing, Error, Event, H2c, PciAddress, Result};

/// BARs that a function may have.
const BARS: usize = 6;
/// What a mapping is made of.
const PAGE: u64 = 4096;
/// Why there is no node for the design's registers.
const NO_USER: &str = "the design has no AXI4-Lite master";
/// The module, and the prefix of its nodes.
const XDMA: &str = "xdma";

/// What drives a function.
///
/// Two drivers bear the name xdma: the vendor's, which makes the device nodes that this crate uses, and the mainline kernel's,
/// a DMA engine for other drivers, which makes none.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Driver {
    /// Nothing.
    None,
    /// The vendor's, with its version where it says so.
    Vendor {
        /// As in `2020.2.2`.
        version: Option<String>,
    },
    /// The mainline kernel's module is there, and nothing drives the function.
    Mainline,
    /// Another one, by name.
    Other(String),
}

impl Driver {
    /// Whether it is the one that this crate needs.
    #[must_use]
    pub fn is_xdma(&self) -> bool {
        matches!(self, Driver::Vendor { .. })
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Driver::None => "no driver".into(),
            Driver::Vendor { version: None } => XDMA.into(),
            Driver::Vendor {
                version: Some(version),
            } => format!("{XDMA} {version}"),
            Driver::Mainline => {
                "no driver (the mainline kernel's xdma is loaded, which makes no device nodes)"
                    .into()
            }
            Driver::Other(name) => name.clone(),
        }
    }

    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Driver::None => "load the vendor's xdma module (dma_ip_drivers)",
            Driver::Vendor { .. } => "its nodes can be used",
            Driver::Mainline => {
                "unload it, and load the vendor's module of the same name (dma_ip_drivers)"
            }
            Driver::Other(_) => "unbind it, and bind the vendor's xdma (dma_ip_drivers)",
        }
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// Which BAR serves what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// Registers of the design, behind AXI4-Lite.
    pub user: Option<usize>,
    /// Registers of the XDMA core.
    pub control: Option<usize>,
    /// The design's memory, without a DMA engine between.
    pub bypass: Option<usize>,
}

/// A card with an XDMA core, as it was when it was looked at.
#[derive(Debug, Clone)]
pub struct Card {
    machine: Machine,
    address: PciAddress,
    vendor: u16,
    device: u16,
    driver: Driver,
    bars: [u64; BARS],
    /// The driver's number for it, which changes from boot to boot.
    number: Option<u32>,
    /// The driver's nodes, without their prefix: `user`, `h2c_0`.
    nodes: Vec<String>,
}

impl Card {
    /// Where it sits.
    #[must_use]
    pub fn address(&self) -> PciAddress {
        self.address
    }

    /// PCI vendor.
    #[must_use]
    pub fn vendor(&self) -> u16 {
        self.vendor
    }

    /// PCI device.
    #[must_use]
    pub fn device(&self) -> u16 {
        self.device
    }

    /// What drives it.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Bytes of its six BARs, 0 for one that it does not have.
    #[must_use]
    pub fn bars(&self) -> &[u64; BARS] {
        &self.bars
    }

    /// N in `/dev/xdmaN_user`, where the driver has it. It depends on the order in which cards were found, so it is worth nothing after
    /// a rescan or a boot.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        self.number
    }

    /// Channels from the host to the card, ascending.
    #[must_use]
    pub fn h2c_channels(&self) -> Vec<u32> {
        self.numbered("h2c_")
    }

    /// Channels from the card to the host, ascending.
    #[must_use]
    pub fn c2h_channels(&self) -> Vec<u32> {
        self.numbered("c2h_")
    }

    /// Events, ascending.
    #[must_use]
    pub fn events(&self) -> Vec<u32> {
        self.numbered("events_")
    }

    /// Which BAR serves what. The core's order is user, control, bypass, each but control only where the design has it; which
    /// of the two a pair of BARs lacks shows in the nodes that the driver has made.
    #[must_use]
    pub fn layout(&self) -> Layout {
        let mut present = (0..BARS).filter(|&bar| self.bars[bar] != 0);
        let mut next = |name: &str| self.has(name).then(|| present.next()).flatten();
        Layout {
            user: next("user"),
            control: next("control"),
            bypass: next("bypass"),
        }
    }

    /// Whether it is still on the bus.
    #[must_use]
    pub fn is_present(&self) -> bool {
        self.folder().exists()
    }

    /// Maps the registers of the design, all of their BAR.
    ///
    /// # Errors
    /// [`Error::Driver`], [`Error::NoNode`], [`Error::Gone`], [`Error::Node`].
    pub fn user_bar(&self) -> Result<Bar> {
        let bar = self.layout().user;
        self.bar("user", 0, bar.map_or(0, |bar| self.bars[bar]), NO_USER)
    }

    /// Maps a part of the registers of the design: `bytes` from `first`, both multiples of 4096. A process that holds no more
    /// than this can't touch the rest.
    ///
    /// # Errors
    /// As [`Card::user_bar`]; [`Error::Misaligned`], [`Error::Beyond`].
    pub fn user_pages(&self, first: BarOffset, bytes: u64) -> Result<Bar> {
        let node = self.node("user", NO_USER)?.into_path();
        let size = self.layout().user.map_or(0, |bar| self.bars[bar]);
        if !first.0.is_multiple_of(PAGE) || !bytes.is_multiple_of(PAGE) {
            return Err(Error::Misaligned {
                node,
                at: At::bytes(first.0, bytes),
                multiple: PAGE,
            });
        }
        if first.0.checked_add(bytes).is_none_or(|end| end > size) {
            return Err(Error::Beyond {
                node,
                offset: first,
                bytes,
                size,
            });
        }
        self.bar("user", first.0, bytes, NO_USER)
    }

    /// Maps the design's memory: write-combined, so that neighbouring writes become one packet, where this process may
    /// open the kernel's file for that (root may, for a BAR that can be prefetched), else as the driver maps it, uncached.
    ///
    /// # Errors
    /// As [`Card::user_bar`].
    pub fn bypass_bar(&self) -> Result<Bar> {
        let bar = self.layout().bypass;
        if let (Some(bar), true) = (bar, self.driver.is_xdma()) {
            let combined = self.folder().join(format!("resource{bar}_wc"));
            let bytes = usize::try_from(self.bars[bar]).unwrap_or(usize::MAX);
            if let Ok(memory) = self.machine.nodes().map(&combined, 0, bytes) {
                return Ok(Bar::new(memory, combined));
            }
        }
        let bytes = bar.map_or(0, |bar| self.bars[bar]);
        self.bar("bypass", 0, bytes, "the design has no bypass port")
    }

    /// Opens a channel from the host to the card.
    ///
    /// # Errors
    /// As [`Card::user_bar`].
    pub fn h2c(&self, channel: u32) -> Result<H2c> {
        let node = self.node(
            &format!("h2c_{channel}"),
            "the design has fewer channels to the card",
        )?;
        let io = self.machine.nodes().dma(node.path(), Way::ToCard);
        H2c::new(opened(io, &node)?, node)
    }

    /// Opens a channel from the card to the host.
    ///
    /// # Errors
    /// As [`Card::user_bar`].
    pub fn c2h(&self, channel: u32) -> Result<C2h> {
        let node = self.node(
            &format!("c2h_{channel}"),
            "the design has fewer channels from the card",
        )?;
        let io = self.machine.nodes().dma(node.path(), Way::FromCard);
        C2h::new(opened(io, &node)?, node)
    }

    /// Opens a user interrupt.
    ///
    /// # Errors
    /// As [`Card::user_bar`].
    pub fn event(&self, number: u32) -> Result<Event> {
        let node = self.node(
            &format!("events_{number}"),
            "the design has fewer user interrupts",
        )?;
        let io = self.machine.nodes().event(node.path());
        Ok(Event::new(opened(io, &node)?, node))
    }

    fn bar(&self, name: &str, first: u64, bytes: u64, advice: &'static str) -> Result<Bar> {
        let node = self.node(name, advice)?;
        let length = usize::try_from(bytes).unwrap_or(usize::MAX);
        match self.machine.nodes().map(node.path(), first, length) {
            Ok(memory) => Ok(Bar::new(memory, node.into_path())),
            Err(source) => Err(node.error(Doing::Map, At::bytes(first, bytes), source)),
        }
    }

    fn node(&self, name: &str, advice: &'static str) -> Result<Node> {
        let address = self.address;
        match self.number {
            _ if !self.driver.is_xdma() => Err(Error::Driver {
                address,
                driver: self.driver.clone(),
            }),
            Some(number) if self.has(name) => {
                let path = self.machine.dev().join(format!("{XDMA}{number}_{name}"));
                Ok(Node::new(path, address, self.folder()))
            }
            _ => Err(Error::NoNode {
                address,
                what: name.into(),
                advice,
            }),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.nodes.iter().any(|node| node == name)
    }

    fn numbered(&self, prefix: &str) -> Vec<u32> {
        let number = |node: &String| node.strip_prefix(prefix)?.parse().ok();
        let mut numbers: Vec<_> = self.nodes.iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    fn folder(&self) -> PathBuf {
        self.machine.folder(self.address)
    }
}

fn opened<T>(result: io::Result<T>, node: &Node) -> Result<T> {
    result.map_err(|source| node.error(Doing::Open, At::NODE, source))
}

/// Reads what sysfs says; nothing when there is no such function.
pub(crate) fn read_card(machine: &Machine, address: PciAddress) -> Result<Option<Card>> {
    let folder = machine.folder(address);
    if !folder.exists() {
        return Ok(None);
    }
    // The driver's class has a folder of its nodes in that of the function.
    let mut number = None;
    let mut nodes = Vec::new();
    for name in list(&folder.join(XDMA))? {
        let Some((of, node)) = name
            .strip_prefix(XDMA)
            .and_then(|rest| rest.split_once('_'))
        else {
            continue;
        };
        number = number.or(of.parse().ok());
        nodes.push(node.to_owned());
    }
    Ok(Some(Card {
        machine: machine.clone(),
        address,
        vendor: id(&folder.join("vendor"))?,
        device: id(&folder.join("device"))?,
        driver: driver(machine, &folder),
        bars: bars(&folder.join("resource"))?,
        number,
        nodes,
    }))
}

fn driver(machine: &Machine, folder: &Path) -> Driver {
    let link = std::fs::read_link(folder.join("driver"));
    let name = link
        .ok()
        .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    match name {
        Some(name) if name == XDMA => Driver::Vendor {
            version: std::fs::read_to_string(machine.sys().join("module/xdma/version"))
                .ok()
                .map(|version| version.trim().to_owned()),
        },
        Some(name) => Driver::Other(name),
        // The mainline one is a driver of platform devices.
        None if machine.sys().join("bus/platform/drivers/xdma").exists() => Driver::Mainline,
        None => Driver::None,
    }
}

fn malformed(path: &Path, expected: &'static str, found: &str) -> Error {
    Error::Malformed {
        path: path.to_owned(),
        expected,
        found: found.chars().take(80).collect(),
    }
}

/// A file of one number, as `0x10ee`.
fn id(path: &Path) -> Result<u16> {
    let text = read(path)?;
    hexadecimal(text.trim())
        .and_then(|id| u16::try_from(id).ok())
        .ok_or_else(|| malformed(path, "PCI id", text.trim()))
}

fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex
        .then(|| u64::from_str_radix(digits, 16).ok())
        .flatten()
}

/// A line for each resource: its first and last address and its flags. The first six are the BARs.
fn bars(path: &Path) -> Result<[u64; BARS]> {
    let text = read(path)?;
    let mut bars = [0; BARS];
    for (bytes, line) in bars.iter_mut().zip(text.lines()) {
        let mut fields = line.split_whitespace().map(hexadecimal);
        let (Some(Some(first)), Some(Some(last))) = (fields.next(), fields.next()) else {
            return Err(malformed(path, "list of resources", line));
        };
        if last != 0 {
            *bytes = last
                .checked_sub(first)
                .and_then(|bytes| bytes.checked_add(1))
                .ok_or_else(|| malformed(path, "list of resources", line))?;
        }
    }
    Ok(bars)
}
