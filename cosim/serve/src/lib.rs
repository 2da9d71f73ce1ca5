//! Simulated boards for other processes: what is behind `shm:<name>`.
//!
//! A [`Server`] has a [`SimCluster`](alcor_cosim::SimCluster) and a thread for each connection; one that attached a rank does with the
//! [`SimBoard`](alcor_cosim::SimBoard)'s port what the rank's process asks for. So time stands still and moves by the same rules, and a process can't
//! be told from a thread by any cycle count. The end of a connection before its port has left is a death, of which the boards are told at once, also when the rank
//! was waiting.
//!
//! ```no_run
//! use alcor_cosim::CosimBackend;
//! use alcor_serve::{Runs, Server};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let cluster = CosimBackend::new().open_sim("ring4")?;
//! let server = Server::start(cluster, 4, Runs::Many, None, |event| eprintln!("{event}"))?;
//! println!("export ALCOR_CLUSTER={}", server.uri());
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod connection;
mod event;
mod server;

pub use event::Event;
pub use server::{Runs, ServeError, Server};
