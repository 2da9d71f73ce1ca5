//! A virtual Alveo: a simulated board behind an XDMA core, as a PCI device for a virtual machine.
//!
//! [`VirtualCard`] joins a simulated board ([`alcor_cosim::FreeBoard`]) with a model of the XDMA
//! core ([`xdma::Core`]) and with a configuration space. [`Socket`] serves the card by the
//! vfio-user protocol, so that QEMU (10.1 or later) presents the card to a guest as PCI device
//! 10ee:903f. A driver in the guest finds the registers, descriptors and interrupts of a real card:
//!
//! | BAR | content |
//! |---|---|
//! | 0 | registers of the design: a page for the board and one for each rank |
//! | 1 | the XDMA core: channels, interrupts, MSI-X table |
//! | 2 | node memory without a DMA engine (bypass), 64-bit and prefetchable |
//!
//! ```no_run
//! use std::sync::Arc;
//! use alcor_cosim::CosimBackend;
//! use alcor_vcard::{Socket, VirtualCard};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! for board in CosimBackend::new().open_free("rma2")? {
//!     let card = Arc::new(VirtualCard::new(board));
//!     Socket::bind("/tmp/card0.sock".as_ref())?.serve(&card)?; // one guest after the other
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Simulated time advances with each access of the guest and of the engines, and while the
//! interrupt of a rank is enabled, because a guest waits then. No access of the guest ends the
//! simulator: an access to a register that does not exist reads ones, and engines report bad
//! addresses in their status, as the core does.
#![forbid(unsafe_code)]

mod card;
mod error;
mod guest;
mod pci;
mod socket;
pub mod xdma;

pub use card::{BYPASS_BAR, CORE_BAR, USER_BAR, VirtualCard};
pub use error::Error;
pub use socket::Socket;
