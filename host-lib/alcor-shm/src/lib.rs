//! The backend for boards that another process simulates: `shm:<name>`.
//!
//! `alcor run` and `alcor serve` run a simulated cluster. A program attaches to the cluster with
//! this backend: one process per rank ([`alcor::Job::from_env`]), or one process with a thread per
//! rank ([`alcor::Job::new`]).
//!
//! ```no_run
//! use alcor::{Backends, Job, Options};
//! use alcor_shm::ShmBackend;
//!
//! # fn main() -> Result<(), alcor::Error> {
//! // One of the processes that `alcor run` starts.
//! let mut rank = Job::from_env(&Backends::new().with(ShmBackend), Options::default())?;
//! rank.barrier()?;
//! rank.finish()
//! # }
//! ```
//!
//! # Protocol
//! A cluster listens on a socket in the abstract name space, `alcor-<name>`. The kernel removes the
//! name with the process. Each connection begins with a [`wire::Hello`], which states the version.
//! Requests to a board travel on the connection as messages. A connection that attaches a rank
//! receives that rank's [`mailbox`]: anonymous memory that only this process and the cluster's
//! process share. From then on the connection carries only single bytes, which wake a sleeping
//! side. The end of the connection tells each side that the other process has died.
//!
//! A register write is two stores into the mailbox. The writes are handed over with the next call
//! that needs a result of the board. Simulated time moves in these calls only. So processes have
//! the same cycle counts as threads.
#![warn(missing_docs)]

mod backend;
mod board;
pub mod channel;
mod error;
pub mod fault;
pub mod mailbox;
mod note;
mod port;
mod segment;
pub mod wire;

pub use backend::ShmBackend;
pub use error::ShmError;
pub use segment::Segment;
