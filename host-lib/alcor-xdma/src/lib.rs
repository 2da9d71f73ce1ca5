//! The backend for cards: `xdma:<pci address>` and `xdma:auto`, with `?driver=vfio` through the kernel's `vfio-pci`.
//!
//! The user BAR of a card holds the board's registers: one page for the board and one for each
//! rank. The DMA channels reach node memory. Each rank has a user interrupt. This crate implements
//! [`alcor::Board`] and [`alcor::Port`] with these resources, through [`xdma`].
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
//! # Ownership of ranks
//! A process owns a rank by a lock on the rank's lock file. The lock files are below
//! `/run/lock/alcor`, unless [`XdmaBackend::locks`] names another folder. The kernel releases a
//! lock when its process ends in any way. An operation that affects all ranks, such as a reset of
//! the board, takes all of these locks.
//!
//! The next owner finds the rank in the state that the last owner left. [`alcor::Rank::attach`]
//! resets the rank through registers of the rank's own page, while the other ranks of the board
//! continue. The call returns an error if only a reset of the board helps: after an abort, after a
//! run over several boards, or when an outstanding response of the rank never arrives.
//!
//! With `?driver=vfio`, one process owns all ranks of the card. `&iommu=none` after it is for machines without an IOMMU.
//!
//! [`Ladder`] checks a new card, from the ID register to puts between cards.
//!
//! This crate has not run on a card. `ci/vm` runs it in a virtual machine, on virtual cards, through
//! `vfio-pci` or the vendor's driver. Tests run ranks as processes over simulated boards, and kill a
//! process during its traffic (`cosim/standin/tests/processes.rs`, `cluster.rs`).

#![forbid(unsafe_code)]

mod backend;
mod board;
mod error;
mod ladder;
mod locks;
mod peers;
mod port;

pub use backend::XdmaBackend;
pub use board::{XdmaBoard, links_page};
pub use error::XdmaError;
pub use ladder::{Ladder, Rung, RungResult};
pub use peers::Peers;
