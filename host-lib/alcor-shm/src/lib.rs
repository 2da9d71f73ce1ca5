//! The backend for boards that another process simulates: `shm:<name>`.
//!
//! `alcor run` and `alcor serve` keep a simulated cluster; a program attaches a rank of it with this backend, be it one process a rank
//! ([`alcor::Job::from_env`]) or one process with a thread a rank ([`alcor::Job::new`]).
//!
//! ```no_run
//! use alcor::{Backends, Job, Options};
//! use alcor_shm::ShmBackend;
//!
//! # fn main() -> Result<(), alcor::Error> {
//! // As one of the processes that `alcor run` starts.
//! let mut rank = Job::from_env(&Backends::new().with(ShmBackend), Options::default())?;
//! rank.barrier()?;
//! rank.finish()
//! # }
//! ```
//!
//! # How
//! A cluster listens on a socket in the abstract name space, `alcor-<name>`: a name that the kernel forgets with the process. Each connection
//! begins with a [`wire::Request`] that names the version. What is asked of a board travels on it as messages. A connection
//! that attaches a rank is handed that rank's [`mailbox`]: memory without a name, which only this process and the
//! cluster's have. From then on the connection carries nothing but a byte to wake who sleeps; and its end is how each side learns at once that the
//! other's process has died.
//!
//! A register write is two stores into the mailbox. They are handed over with the next call that has to know something of the board,
//! which is when simulated time may move; so processes have the same cycle counts as threads.
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
