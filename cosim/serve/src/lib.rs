//! Simulated boards for other processes: the server of `shm:<name>`.
//!
//! A [`Server`] has a [`SimCluster`](alcor_cosim::SimCluster) and a thread for each connection. The
//! thread of an attached rank makes the calls of the rank's process on the port of the
//! [`SimBoard`](alcor_cosim::SimBoard). So time stands still and moves by the same rules as for
//! threads, with the same cycle counts. If a connection ends before its port has left, the rank
//! counts as dead, and the boards are notified at once, even if the rank was waiting.
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
