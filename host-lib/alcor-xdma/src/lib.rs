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
//! go when its process ends, however that comes. What concerns all ranks, a reset of the board, takes all of these locks.
//!
//! Who has the lock next has the rank as its last holder left it. [`alcor::Rank::attach`] resets it, through registers of its own page, while the
//! others of the board go on; it says so where only a reset of the board helps: after an abort, after a run over several boards,
//! or where what the rank is owed never comes.
//!
//! Nothing here has run on a board. Ranks that are processes of their own, one of them killed in its traffic, have been tried over a simulated board
//! that is served to all of them (`cosim/standin/tests/processes.rs`).

#![forbid(unsafe_code)]

mod backend;
mod board;
mod error;
mod locks;
mod port;

pub use backend::XdmaBackend;
pub use board::XdmaBoard;
pub use error::XdmaError;
