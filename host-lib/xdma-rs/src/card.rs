//! One card: its description in sysfs, and its device nodes.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::engine::Driven;
use crate::machine::{Machine, list, read};
use crate::node::Node;
use crate::nodes::{Nodes, Way};
use crate::vfio::{self, Reach, Vfio};
use crate::{
    At, Bar, BarOffset, C2h, DmaBuffer, DmaMemory, Doing, Error, Event, Function, H2c, PciAddress,
    Result,
};

/// Maximum number of BARs of a function.
const BARS: usize = 6;
/// Granularity of a mapping, in bytes.
const PAGE: u64 = 4096;
/// Reason for a missing node of the design's registers.
const NO_USER: &str = "the design has no AXI4-Lite master";
/// Advice when there is no bypass BAR.
const NO_BYPASS: &str = "the design has no bypass port";
/// Name of the module, and prefix of its device nodes.
const XDMA: &str = "xdma";
/// Name of the mainline driver that passes a function to a process.
const VFIO: &str = "vfio-pci";

/// The driver that is bound to a function.
///
/// Two drivers are named xdma. The vendor's driver makes the device nodes that this crate uses. The
/// mainline kernel's driver is a DMA engine for other drivers and makes no device nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Driver {
    /// No driver.
    None,
    /// The vendor's driver.
    Vendor {
        /// Version, such as `2020.2.2`, if the module reports one.
        version: Option<String>,
    },
    /// No driver is bound, and the mainline kernel's xdma module is loaded.
    Mainline,
    /// This process drives the function ([`Card::vfio`], [`Card::driven`]).
    Process,
    /// Another driver, by name.
    Other(String),
}

impl Driver {
    /// Returns whether this is the vendor's driver, which this crate needs.
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
                "no driver (the mainline kernel's xdma module is loaded, and makes no device nodes)"
                    .into()
            }
            Driver::Process => "this process".into(),
            Driver::Other(name) => name.clone(),
        }
    }

    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Driver::None => "load the vendor's xdma module (dma_ip_drivers)",
            Driver::Vendor { .. } | Driver::Process => "its nodes can be used",
            Driver::Mainline => {
                "unload it, and load the vendor's module of the same name (dma_ip_drivers)"
            }
            Driver::Other(name) if name == VFIO => {
                "drive the card from user space (Card::vfio, or ?driver=vfio in a URI of Alcor)"
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

/// Assignment of BARs to their uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// Registers of the design, behind AXI4-Lite.
    pub user: Option<usize>,
    /// Registers of the XDMA core.
    pub control: Option<usize>,
    /// Memory of the design, reached without a DMA engine.
    pub bypass: Option<usize>,
}

/// Host memory that a card writes; made by [`Card::pin`].
pub struct Pinned(Box<dyn DmaMemory>);

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pinned")
            .field(&format_args!("{:#x}", self.0.address()))
            .finish()
    }
}

impl Pinned {
    /// Address for the card, a multiple of 4096.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.0.address()
    }

    /// Reads 32 bits with one access; 0 beyond the end.
    #[must_use]
    pub fn read32(&self, offset: usize) -> u32 {
        self.0.load32(offset)
    }
}

/// A card with an XDMA core: a snapshot of its description in sysfs.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use xdma::standin::{Memory, Shape, StandIn};
/// use xdma::{BarOffset, CardAddr, Layout};
///
/// let shape = Shape { bypass_bytes: 0x1000, ..Shape::default() };
/// let standin = StandIn::with(shape, Memory::new(0x1000))?;
/// let card = standin.machine().only_card()?;
/// assert!(card.driver().is_xdma() && card.is_present());
/// assert_eq!((card.address(), card.number()), (standin.address(), Some(2)));
/// assert_eq!((card.vendor(), card.device()), (0x10ee, 0x903f));
/// assert_eq!(card.bars()[..3], [0x1_0000, 0x1_0000, 0x1000]);
/// assert_eq!(card.layout(), Layout { user: Some(0), control: Some(1), bypass: Some(2) });
/// assert_eq!((card.h2c_channels(), card.c2h_channels()), (vec![0], vec![0]));
/// assert_eq!(card.events().len(), 16);
///
/// // A mapping of one page, and the whole BAR.
/// card.user_pages(BarOffset(0x2000), 0x1000)?.write32(BarOffset(4), 7)?;
/// assert_eq!(card.user_bar()?.read32(BarOffset(0x2004))?, 7);
///
/// // Memory by DMA, and by the bypass BAR.
/// card.h2c(0)?.write(CardAddr(0x10), &[1, 2, 3, 4])?;
/// assert_eq!(card.bypass_bar()?.read32(BarOffset(0x10))?, 0x0403_0201);
/// let mut found = [0; 2];
/// card.c2h(0)?.read(CardAddr(0x12), &mut found)?;
/// assert_eq!(found, [3, 4]);
/// assert!(!card.event(0)?.wait(Some(Duration::ZERO))?);
/// # Ok::<(), xdma::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Card {
    machine: Machine,
    address: PciAddress,
    vendor: u16,
    device: u16,
    driver: Driver,
    bars: [u64; BARS],
    /// The driver's number of the card. The number changes from boot to boot.
    number: Option<u32>,
    /// Names of the driver's device nodes without their prefix, such as `user` or `h2c_0`.
    nodes: Vec<String>,
    /// Folder of the function in sysfs.
    folder: PathBuf,
    /// The nodes of this process, if it drives the function.
    driven: Option<Arc<Driven>>,
}

impl Card {
    /// Drives the card from this process, through the kernel's `vfio-pci` and an IOMMU. The returned
    /// card, its clones and what they open share the function, which no other process can open
    /// meanwhile. Transfers and interrupts are as with the vendor's driver.
    ///
    /// # Errors
    /// [`Error::NotVfio`], [`Error::NoIommu`], [`Error::NoHostMemory`], [`Error::NotDriven`],
    /// [`Error::Node`].
    ///
    /// # Examples
    /// ```no_run
    /// use xdma::{BarOffset, CardAddr, Machine};
    ///
    /// // echo vfio-pci > /sys/bus/pci/devices/0000:3b:00.0/driver_override
    /// // echo 0000:3b:00.0 > /sys/bus/pci/drivers_probe
    /// let card = Machine::local().card("0000:3b:00.0".parse()?)?.vfio()?;
    /// card.h2c(0)?.write(CardAddr(0x1000), &[1, 2, 3])?;
    /// println!("{:#x}", card.user_bar()?.read32(BarOffset(0))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn vfio(&self) -> Result<Card> {
        self.through_vfio(Reach::Mapped)
    }

    /// Drives the card as [`Card::vfio`] does, on a machine without an IOMMU. **The card can then read and write all memory
    /// of the machine**: a wrong descriptor, or a fault of the design, can destroy the memory of the kernel and of any
    /// process.
    ///
    /// The parameter `enable_unsafe_noiommu_mode` of the module `vfio` must be set before `vfio-pci` takes the card, the
    /// process must be root, and there must be free huge pages of 2 MiB: one for each channel and each ring, and one for each
    /// [`Card::host_buffer`]. Longer buffers don't exist.
    ///
    /// # Errors
    /// The errors of [`Card::vfio`]; [`Error::HasIommu`], [`Error::NoGroup`], [`Error::NoHostMemory`].
    ///
    /// # Examples
    /// ```no_run
    /// use xdma::{CardAddr, Machine};
    ///
    /// // modprobe vfio enable_unsafe_noiommu_mode=1
    /// // echo 64 > /proc/sys/vm/nr_hugepages
    /// // echo vfio-pci > /sys/bus/pci/devices/0000:3b:00.0/driver_override
    /// // echo 0000:3b:00.0 > /sys/bus/pci/drivers_probe
    /// let card = Machine::local().card("0000:3b:00.0".parse()?)?.vfio_without_iommu()?;
    /// card.h2c(0)?.write(CardAddr(0x1000), &[1, 2, 3])?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn vfio_without_iommu(&self) -> Result<Card> {
        self.through_vfio(Reach::All)
    }

    fn through_vfio(&self, reach: Reach) -> Result<Card> {
        let (address, identity) = (self.address, (self.vendor, self.device));
        match &self.driver {
            Driver::Other(name) if name == VFIO => {
                let dev = self.machine.dev();
                let function = Vfio::open(address, identity, &self.folder, dev, reach)?;
                Card::driven(&self.machine, Arc::new(function), vfio::LIMIT)
            }
            // vfio-pci takes no function without a group.
            Driver::None if vfio::lacks_group(&self.folder) => Err(match reach {
                Reach::Mapped => Error::NoIommu { address },
                Reach::All => Error::NoGroup { address },
            }),
            driver => Err(Error::NotVfio {
                address: self.address,
                driver: driver.clone(),
            }),
        }
    }

    /// Drives a function from this process. A transfer fails if an engine completes no descriptor
    /// within `limit`: a descriptor moves at most 64 KiB. [`Card::vfio`] uses 10 s, as the vendor's
    /// driver does.
    ///
    /// # Errors
    /// [`Error::NotDriven`] when the function has no XDMA core, or an engine of the core does not
    /// stop. [`Error::NoHostMemory`].
    ///
    /// # Examples
    /// [`Function`] has a whole one.
    /// ```
    /// use std::{sync::Arc, time::Duration};
    /// use xdma::{Card, CardAddr, Function, Machine};
    ///
    /// fn clear(function: Arc<dyn Function>) -> xdma::Result<()> {
    ///     let card = Card::driven(&Machine::local(), function, Duration::from_secs(10))?;
    ///     card.h2c(0)?.write(CardAddr(0), &[0; 64])
    /// }
    /// ```
    pub fn driven(machine: &Machine, function: Arc<dyn Function>, limit: Duration) -> Result<Card> {
        let address = function.address();
        let (vendor, device) = function.identity();
        let driven = Driven::new(Arc::clone(&function), limit);
        let driven = driven.map_err(|source| match source.kind() {
            io::ErrorKind::OutOfMemory | io::ErrorKind::PermissionDenied => {
                Error::NoHostMemory { address, source }
            }
            _ => Error::NotDriven { address, source },
        })?;
        Ok(Card {
            machine: machine.clone(),
            address,
            vendor,
            device,
            driver: Driver::Process,
            bars: function.bars(),
            number: None,
            nodes: driven.names(),
            folder: function.folder().to_owned(),
            driven: Some(Arc::new(driven)),
        })
    }

    /// Fails if the system asks for the card back: an administrator removes the card, or unbinds its driver. The kernel
    /// waits until the program has dropped the card, its clones and what they have opened. Transfers make the same check.
    /// A card that a driver in the kernel holds always passes.
    ///
    /// # Errors
    /// [`Error::AskedBack`].
    ///
    /// # Examples
    /// ```
    /// use xdma::{BarOffset, Card};
    ///
    /// /// Writes until the system asks for the card.
    /// fn feed(card: Card) -> xdma::Result<()> {
    ///     let user = card.bypass_bar()?;
    ///     for value in 0.. {
    ///         card.check()?;
    ///         user.write32(BarOffset(0), value)?;
    ///     }
    ///     Ok(())
    /// }
    /// # let _ = feed;
    /// ```
    pub fn check(&self) -> Result<()> {
        self.driven.as_ref().map_or(Ok(()), |driven| driven.check())
    }

    /// PCI address.
    #[must_use]
    pub fn address(&self) -> PciAddress {
        self.address
    }

    /// PCI vendor ID.
    #[must_use]
    pub fn vendor(&self) -> u16 {
        self.vendor
    }

    /// PCI device ID.
    #[must_use]
    pub fn device(&self) -> u16 {
        self.device
    }

    /// The driver that is bound to the function.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Length of each of the six BARs in bytes; 0 for a BAR that is absent.
    #[must_use]
    pub fn bars(&self) -> &[u64; BARS] {
        &self.bars
    }

    /// N in `/dev/xdmaN_user`, or `None` without the vendor's driver. N depends on the order of
    /// discovery, so it is invalid after a rescan or a boot.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        self.number
    }

    /// Numbers of the channels from the host to the card, ascending.
    #[must_use]
    pub fn h2c_channels(&self) -> Vec<u32> {
        self.numbered("h2c_")
    }

    /// Numbers of the channels from the card to the host, ascending.
    #[must_use]
    pub fn c2h_channels(&self) -> Vec<u32> {
        self.numbered("c2h_")
    }

    /// Numbers of the events, ascending.
    #[must_use]
    pub fn events(&self) -> Vec<u32> {
        self.numbered("events_")
    }

    /// Assignment of BARs to their uses. The core's order is user, control, bypass; user and bypass
    /// are optional. With two BARs, the driver's nodes show which of the two optional BARs is
    /// present.
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

    /// Returns whether the card is still on the bus.
    #[must_use]
    pub fn is_present(&self) -> bool {
        self.folder.exists()
    }

    /// Maps the whole BAR of the design's registers.
    ///
    /// # Errors
    /// [`Error::Driver`], [`Error::NoNode`], [`Error::Gone`], [`Error::Node`].
    pub fn user_bar(&self) -> Result<Bar> {
        let bar = self.layout().user;
        self.bar("user", 0, bar.map_or(0, |bar| self.bars[bar]), NO_USER)
    }

    /// Maps a part of the design's registers: `bytes` from `first`, both multiples of 4096. The
    /// process cannot reach any other register through this mapping.
    ///
    /// # Errors
    /// The errors of [`Card::user_bar`]; [`Error::Misaligned`], [`Error::Beyond`].
    pub fn user_pages(&self, first: BarOffset, bytes: u64) -> Result<Bar> {
        self.pages("user", self.layout().user, NO_USER, first, bytes)
    }

    /// Maps a part of the bypass BAR uncached, as [`Card::user_pages`]: accesses reach the design one
    /// by one, in the order of the program.
    ///
    /// # Errors
    /// As [`Card::user_pages`].
    ///
    /// # Examples
    /// ```
    /// use xdma::BarOffset;
    /// use xdma::standin::{Memory, Shape, StandIn};
    ///
    /// let shape = Shape { bypass_bytes: 0x2000, ..Shape::default() };
    /// let standin = StandIn::with(shape, Memory::new(0x2000))?;
    /// let page = standin.machine().only_card()?.bypass_pages(BarOffset(0x1000), 0x1000)?;
    /// page.write32(BarOffset(8), 7)?;
    /// assert_eq!((page.bytes(), page.read32(BarOffset(8))?), (0x1000, 7));
    /// # Ok::<(), xdma::Error>(())
    /// ```
    pub fn bypass_pages(&self, first: BarOffset, bytes: u64) -> Result<Bar> {
        self.pages("bypass", self.layout().bypass, NO_BYPASS, first, bytes)
    }

    /// Maps a part of the bypass BAR, as [`Card::bypass_pages`], but write-combined if this process may
    /// open the kernel's file for write-combining: neighbouring writes may become one packet, in any
    /// order. Root may open that file for a prefetchable BAR. Otherwise the mapping is uncached. It is
    /// uncached, too, if the kernel has mapped the same pages uncached.
    ///
    /// # Errors
    /// As [`Card::user_pages`].
    ///
    /// # Examples
    /// ```
    /// use xdma::BarOffset;
    /// use xdma::standin::{Memory, Shape, StandIn};
    ///
    /// let shape = Shape { bypass_bytes: 0x2000, ..Shape::default() };
    /// let standin = StandIn::with(shape, Memory::new(0x2000))?;
    /// let lines = standin.machine().only_card()?.bypass_combined(BarOffset(0x1000), 0x1000)?;
    /// lines.write_line(BarOffset(0), &[1; 64])?;
    /// assert_eq!(lines.bytes(), 0x1000);
    /// # Ok::<(), xdma::Error>(())
    /// ```
    pub fn bypass_combined(&self, first: BarOffset, bytes: u64) -> Result<Bar> {
        let bar = self.layout().bypass;
        let length = self.check_pages("bypass", bar, NO_BYPASS, first, bytes)?;
        // No uncached mapping is made beside this one: two types of mapping of a page exclude each other.
        let combined = bar.map(|bar| self.folder.join(format!("resource{bar}_wc")));
        if let Some(combined) = combined
            && let Ok(memory) = self.machine.nodes().map(&combined, first.0, length)
        {
            return Ok(Bar::new(memory, combined));
        }
        self.bar("bypass", first.0, bytes, NO_BYPASS)
    }

    fn pages(
        &self,
        name: &str,
        bar: Option<usize>,
        advice: &'static str,
        first: BarOffset,
        bytes: u64,
    ) -> Result<Bar> {
        self.check_pages(name, bar, advice, first, bytes)?;
        self.bar(name, first.0, bytes, advice)
    }

    /// Checks that whole pages of a BAR exist. Returns their length.
    fn check_pages(
        &self,
        name: &str,
        bar: Option<usize>,
        advice: &'static str,
        first: BarOffset,
        bytes: u64,
    ) -> Result<usize> {
        let node = self.node(name, advice)?.into_path();
        let size = bar.map_or(0, |bar| self.bars[bar]);
        if !first.0.is_multiple_of(PAGE) || !bytes.is_multiple_of(PAGE) {
            return Err(Error::Misaligned {
                node,
                at: At::bytes(first.0, bytes),
                multiple: PAGE,
            });
        }
        match usize::try_from(bytes) {
            Ok(length) if first.0.checked_add(bytes).is_some_and(|end| end <= size) => Ok(length),
            _ => Err(Error::Beyond {
                node,
                offset: first,
                bytes,
                size,
            }),
        }
    }

    /// Pins `bytes` of zeroed host memory for a design that gives descriptors to the card-to-host
    /// channel `channel` itself (descriptor bypass), and starts that channel. `None` unless this
    /// process drives the card ([`Card::vfio`], [`Card::driven`]): a driver in the kernel gives no
    /// such memory.
    ///
    /// # Errors
    /// [`Error::Node`] if there is no such channel or no memory.
    ///
    /// # Examples
    /// ```
    /// use xdma::standin::{Memory, Shape, StandIn};
    ///
    /// let standin = StandIn::with(Shape::default(), Memory::new(0x1000))?;
    /// // A driver in the kernel holds this card.
    /// assert!(standin.machine().only_card()?.pin(1, 4096)?.is_none());
    /// # Ok::<(), xdma::Error>(())
    /// ```
    pub fn pin(&self, channel: u32, bytes: usize) -> Result<Option<Pinned>> {
        let Some(driven) = &self.driven else {
            return Ok(None);
        };
        let memory = driven.pin(channel as usize, bytes);
        let memory = memory.map_err(|source| Error::Node {
            node: self.folder.join(format!("c2h_{channel}")),
            doing: Doing::Open,
            at: At::NODE,
            source,
        })?;
        Ok(Some(Pinned(memory)))
    }

    /// Allocates `bytes` of zeroed host memory that the card reaches. [`H2c::write`] and [`C2h::read`]
    /// copy no data that is in such memory, if its bus address and its card address are equal modulo
    /// the core's alignment (1 byte in most designs). `None` unless this process drives the card
    /// ([`Card::vfio`], [`Card::driven`]).
    ///
    /// # Errors
    /// [`Error::Node`] if there is no memory. VFIO counts the memory as locked: `ulimit -l`.
    ///
    /// # Examples
    /// ```
    /// use xdma::standin::{Memory, Shape, StandIn};
    ///
    /// let standin = StandIn::with(Shape::default(), Memory::new(0x1000))?;
    /// // A driver in the kernel holds this card.
    /// assert!(standin.machine().only_card()?.host_buffer(4096)?.is_none());
    /// # Ok::<(), xdma::Error>(())
    /// ```
    pub fn host_buffer(&self, bytes: usize) -> Result<Option<DmaBuffer>> {
        let Some(driven) = &self.driven else {
            return Ok(None);
        };
        driven.buffer(bytes).map_err(|source| Error::Node {
            node: self.folder.clone(),
            doing: Doing::Allocate,
            at: At::bytes(0, bytes as u64),
            source,
        })
    }

    /// Maps the whole bypass BAR, which reaches the design's memory, as [`Card::bypass_combined`].
    ///
    /// # Errors
    /// The errors of [`Card::user_bar`].
    pub fn bypass_bar(&self) -> Result<Bar> {
        let bytes = self.layout().bypass.map_or(0, |bar| self.bars[bar]);
        self.bypass_combined(BarOffset(0), bytes)
    }

    /// Opens a channel from the host to the card.
    ///
    /// # Errors
    /// The errors of [`Card::user_bar`].
    pub fn h2c(&self, channel: u32) -> Result<H2c> {
        let node = self.node(
            &format!("h2c_{channel}"),
            "the design has fewer host-to-card channels",
        )?;
        let io = self.opener().dma(node.path(), Way::ToCard);
        H2c::new(opened(io, &node)?, node)
    }

    /// Opens a channel from the card to the host.
    ///
    /// # Errors
    /// The errors of [`Card::user_bar`].
    pub fn c2h(&self, channel: u32) -> Result<C2h> {
        let node = self.node(
            &format!("c2h_{channel}"),
            "the design has fewer card-to-host channels",
        )?;
        let io = self.opener().dma(node.path(), Way::FromCard);
        C2h::new(opened(io, &node)?, node)
    }

    /// Opens a user interrupt.
    ///
    /// # Errors
    /// The errors of [`Card::user_bar`].
    pub fn event(&self, number: u32) -> Result<Event> {
        let node = self.node(
            &format!("events_{number}"),
            "the design has fewer user interrupts",
        )?;
        let io = self.opener().event(node.path());
        Ok(Event::new(opened(io, &node)?, node))
    }

    fn bar(&self, name: &str, first: u64, bytes: u64, advice: &'static str) -> Result<Bar> {
        let node = self.node(name, advice)?;
        let length = usize::try_from(bytes).unwrap_or(usize::MAX);
        match self.opener().map(node.path(), first, length) {
            Ok(memory) => Ok(Bar::new(memory, node.into_path())),
            Err(source) => Err(node.error(Doing::Map, At::bytes(first, bytes), source)),
        }
    }

    fn node(&self, name: &str, advice: &'static str) -> Result<Node> {
        let address = self.address;
        let missing = || Error::NoNode {
            address,
            what: name.into(),
            advice,
        };
        match self.number {
            _ if self.driven.is_some() => {
                let path = PathBuf::from(format!("vfio/{address}/{name}"));
                let node = Node::new(path, address, self.folder.clone());
                self.has(name).then_some(node).ok_or_else(missing)
            }
            _ if !self.driver.is_xdma() => Err(Error::Driver {
                address,
                driver: self.driver.clone(),
            }),
            Some(number) if self.has(name) => {
                let path = self.machine.dev().join(format!("{XDMA}{number}_{name}"));
                Ok(Node::new(path, address, self.folder.clone()))
            }
            _ => Err(missing()),
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

    /// Opens the nodes of the card.
    fn opener(&self) -> &dyn Nodes {
        match &self.driven {
            Some(driven) => &**driven,
            None => &**self.machine.nodes(),
        }
    }
}

fn opened<T>(result: io::Result<T>, node: &Node) -> Result<T> {
    result.map_err(|source| node.error(Doing::Open, At::NODE, source))
}

/// Reads the description of a function in sysfs. Returns `None` when there is no such function.
pub(crate) fn read_card(machine: &Machine, address: PciAddress) -> Result<Option<Card>> {
    let folder = machine.folder(address);
    if !folder.exists() {
        return Ok(None);
    }
    // The driver's class has a subfolder with its nodes in the function's folder.
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
        folder,
        driven: None,
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
        // The mainline driver is a driver of platform devices.
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

/// Reads a file with one 16-bit number, such as `0x10ee`.
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

/// Reads the lengths of the BARs. The file has a line for each resource: first address, last
/// address, flags. The first six resources are the BARs.
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
