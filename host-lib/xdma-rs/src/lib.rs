//! Access to PCIe cards with an XDMA core, from user space, through the vendor's Linux driver or
//! through the kernel's `vfio-pci`.
//!
//! The XDMA core is AMD's DMA/Bridge Subsystem for PCI Express in memory-mapped mode. A design with
//! this core has registers behind a BAR, memory behind DMA engines, and user interrupts. The
//! vendor's kernel module creates a device node for each of them. This crate finds the nodes of a
//! card by the card's PCI address. Addresses are typed, and each error names a remedy:
//!
//! | resource | device node | type |
//! |---|---|---|
//! | registers | `/dev/xdmaN_user` | [`Bar`], by [`Card::user_bar`] |
//! | memory, without a DMA engine | `/dev/xdmaN_bypass` | [`Bar`], by [`Card::bypass_bar`] |
//! | host to card | `/dev/xdmaN_h2c_K` | [`H2c`] |
//! | card to host | `/dev/xdmaN_c2h_K` | [`C2h`] |
//! | user interrupts | `/dev/xdmaN_events_K` | [`Event`] |
//!
//! ```no_run
//! use std::time::Duration;
//! use xdma::{BarOffset, CardAddr, Machine};
//!
//! # fn main() -> Result<(), xdma::Error> {
//! let card = Machine::local().card("0000:3b:00.0".parse().expect("an address"))?;
//! // 0x4321_0001 is the constant value of the design's ID register.
//! let registers = card.user_bar()?.watch(BarOffset(0), 0x4321_0001)?;
//! card.h2c(0)?.write(CardAddr(0x1000), &[1, 2, 3])?;
//! registers.write32(BarOffset(0x10), 1)?; // start
//! let done = || Ok::<_, xdma::Error>((registers.read32(BarOffset(0x14))? != 0).then_some(()));
//! card.event(0)?.until(Some(Duration::from_secs(1)), done)?;
//! # Ok(())
//! # }
//! ```
//!
//! Without the vendor's driver, [`Card::vfio`] drives the core from this process. The nodes are then
//! those of the process, with the names and properties of the table. A transfer copies its data once,
//! through memory that the card reaches; data in memory of [`Card::host_buffer`] is not copied.
//!
//! Without a card, the feature `standin` serves the nodes in this process (module `standin`).
//! The module [`tutorial`] writes a driver, tests the driver without a card, and runs it on a card.
//!
//! # Properties of the driver
//! This crate handles these properties of the driver, and the stand-in reproduces them:
//! - N changes from boot to boot. sysfs maps a PCI function to N.
//! - A mapping longer than the BAR fails with EINVAL. The crate maps each BAR at the length in
//!   sysfs.
//! - The driver pins DMA buffers for writing in both directions, so a buffer in read-only memory
//!   fails. Host address and card address must have equal low bits. [`H2c::write`] and
//!   [`C2h::read`] copy through a buffer that meets both conditions. [`DmaBuffer`] avoids the copy.
//! - `readv`, AIO and io_uring use a wrong card address, so the crate calls `pread` and `pwrite`
//!   only.
//! - When the driver's time-out interrupts a transfer, the driver returns a short count. The crate
//!   returns an error.
//! - An event is one flag for any number of interrupts. A read of the flag must request 4 bytes.
//! - Reads return all ones when no device answers on the bus. A register can also hold all ones: a
//!   register with a constant value distinguishes the two cases ([`Bar::watch`]).

#[cfg(any(doc, all(doctest, feature = "standin")))]
#[doc = include_str!("../TUTORIAL.md")]
pub mod tutorial {}

#[cfg(all(doctest, feature = "standin"))]
#[doc = include_str!("../README.md")]
struct Readme;

mod address;
mod bar;
mod buffer;
mod card;
mod config;
mod dma;
mod engine;
mod error;
mod event;
mod fault;
mod function;
mod lock;
mod machine;
mod node;
pub mod nodes;
mod slot;
#[cfg(feature = "standin")]
pub mod standin;
mod vfio;

pub use address::{BadAddress, BarOffset, CardAddr, PciAddress};
pub use bar::Bar;
pub use buffer::DmaBuffer;
pub use card::{Card, Driver, Layout, Pinned};
pub use config::{Config, command, device_control};
pub use dma::{C2h, H2c};
pub use error::{At, Doing, Error, Result};
pub use event::Event;
pub use fault::{AxiError, EngineCause, EngineFault, HostError};
pub use function::{DmaMemory, Function};
pub use lock::{CardLock, LockError};
pub use machine::Machine;
