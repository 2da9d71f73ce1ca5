//! PCIe cards with an XDMA core, from user space, through the vendor's driver for Linux.
//!
//! A design with AMD's DMA/Bridge Subsystem for PCI Express ("XDMA") in memory-mapped mode has registers behind a BAR, memory
//! that DMA engines reach, and user interrupts. The vendor's kernel module makes device nodes of them; this crate finds the nodes of a
//! card by its PCI address, and offers what is behind them with typed addresses and errors that say what to do:
//!
//! | what | node | here |
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
//! let registers = card.user_bar()?.watch(BarOffset(0), 0x4321_0001)?; // what the design's ID register reads
//! card.h2c(0)?.write(CardAddr(0x1000), &[1, 2, 3])?;
//! registers.write32(BarOffset(0x10), 1)?; // go
//! let done = || Ok::<_, xdma::Error>((registers.read32(BarOffset(0x14))? != 0).then_some(()));
//! card.event(0)?.until(Some(Duration::from_secs(1)), done)?;
//! # Ok(())
//! # }
//! ```
//!
//! Without a card, the feature `standin` serves the nodes in this process (its module `standin`). The module [`tutorial`] writes
//! a driver, tests it without a card, and runs it on one.
//!
//! # What the driver is like
//! These are its manners, which the calls here take care of, and the stand-in has:
//! - N changes from boot to boot; sysfs says which function has it.
//! - A mapping longer than the BAR fails with EINVAL, so BARs are mapped at the length that sysfs gives.
//! - DMA buffers are pinned for writing in both directions, so data in read-only memory fails; and host address and card address must agree
//!   in their low bits. [`H2c::write`] and [`C2h::read`] go through a buffer that does; [`DmaBuffer`] saves the copy.
//! - `readv`, AIO and io_uring take a wrong address on the card, so only `pread` and `pwrite` are used.
//! - A time-out behind some progress gives a short count. Here it is an error.
//! - An event is a flag that several interrupts share, and its read must ask for 4 bytes.
//! - Nobody on the bus: all ones. A status of all ones may be one; a register that never changes tells ([`Bar::watch`]).

#[cfg(any(doc, all(doctest, feature = "standin")))]
#[doc = include_str!("../TUTORIAL.md")]
pub mod tutorial {}

#[cfg(all(doctest, feature = "standin"))]
#[doc = include_str!("../README.md")]
struct Readme;

mod address;
mod bar;
mod card;
mod config;
mod dma;
mod error;
mod event;
mod lock;
mod machine;
mod node;
pub mod nodes;
mod slot;
#[cfg(feature = "standin")]
pub mod standin;

pub use address::{BadAddress, BarOffset, CardAddr, PciAddress};
pub use bar::Bar;
pub use card::{Card, Driver, Layout};
pub use config::{Config, command, device_control};
pub use dma::{C2h, DmaBuffer, H2c};
pub use error::{At, Doing, Error, Result};
pub use event::Event;
pub use lock::{CardLock, LockError};
pub use machine::Machine;
