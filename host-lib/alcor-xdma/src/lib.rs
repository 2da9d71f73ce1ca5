//! The backend for boards: `xdma:<pci address>` and `xdma:auto`.
//!
//! A board's registers are in the user BAR of its card, a page for the board and one for each rank; node memory is what the DMA
//! channels reach; each rank has a user interrupt. Over [`xdma`] this is all that [`alcor::Board`] and [`alcor::Port`] need.
//!
//! ```no_run
//! use alcor::{Backends, Job};
//! use alcor_xdma::XdmaBackend;
//!
//! let board = Backends::new().with(XdmaBackend::new()).open("xdma:0000:3b:00.0")?;
//! Job::new(board)?.run(2, |rank| rank.barrier())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Who has which rank
//! A rank of a board is held by a lock on a file of its own (below `/run/lock/alcor`, unless [`XdmaBackend::locks`] says otherwise), which the kernel lets
//! go when its process ends, however that comes. What concerns all ranks, a reset, takes all of these locks.
//!
//! Nothing here has run on a board. That several processes each hold ranks of one board has been tried as far as these locks go: the nodes
//! of [`xdma`]'s stand-in are served in one process, so a run whose ranks are several processes is yet to be tried.

#![forbid(unsafe_code)]

mod backend;
mod board;
mod error;
mod locks;
mod port;

pub use backend::XdmaBackend;
pub use board::XdmaBoard;
pub use error::XdmaError;
