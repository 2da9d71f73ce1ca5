//! Simulated Alcor boards: time, host port mailboxes, and the Board backend over a Verilated core.
//!
//! A URI `cosim:<config>` names a configuration of `hw/core/configs.toml`. [`CosimBackend`] builds its model (or takes
//! it from the cache) and opens a [`SimBoard`], which the library `alcor` drives like any other board:
//!
//! ```no_run
//! use alcor::{Backend, Cycle, LocalRank, PageOffset};
//! use alcor_cosim::CosimBackend;
//!
//! # fn main() -> Result<(), alcor::Error> {
//! let board = CosimBackend::new().open("rma2?waves=run.fst&waves-to=5000")?;
//! board.expect(1)?;
//! let mut port = board.attach(LocalRank(0))?;
//! port.write32(PageOffset(0x480), 2)?;
//! port.wait(Cycle(100))?;
//! # Ok(())
//! # }
//! ```
//!
//! # Time
//!
//! Simulated time stands still while any attached rank runs host code, and moves while all of them wait here. There is
//! no simulator thread: the rank that is the last to wait runs the model itself until some rank is due. What a rank
//! posts or asks for while time stands still is a function of the program alone, and so is all that follows: cycle
//! counts and traffic are the same in every run, with any load and any number of threads.
//!
//! *Now* is the number of rising clock edges since reset. Edge `e` ends cycle `e - 1` and begins cycle `e`. The model
//! calls the host once an edge, with what its pins were in the cycle that ends, and what the host answers is on the pins
//! in the cycle that begins.
//!
//! In profile [`Ideal`](Profile::Ideal):
//!
//! * A write posted at time `t` is offered in cycle `t + 1` or, since a rank's page takes one write a cycle, in the
//!   first cycle after that in which the earlier ones of its rank are through. Ranks do not delay each other.
//! * A read waits until all that was posted before has been offered and [`EFFECT_CYCLES`] have passed; then it, like any
//!   access to node memory, costs no time.
//! * Looking again is a *poll*: a port that at one instant looks a second time at what it has looked at already (the
//!   same register, the same address of node memory, the interrupt in a wait whose deadline is past) can't see anything
//!   new, so time moves by [`POLL_CYCLES`] first.
//! * A wait takes at least one cycle unless its deadline is past. It ends at the first edge whose cycle had the interrupt
//!   raised, not looking earlier than [`SETTLE_CYCLES`] after the rank's last write was offered; or exactly at its
//!   deadline. If both happen at the same edge, the interrupt is reported.
//! * [`PORT_QUEUE`] writes may be under way for a rank; posting one more waits until all are offered.
//!
//! Profile [`Gen3x16`](Profile::Gen3x16) puts a PCIe link in front of the same model, see [`profile`].
//!
//! # Digest
//!
//! `traffic_digest` is the CRC-32 of 14 bytes for each word that passed a stream of a coprocessor since reset: the edge
//! at the end of its cycle (8 bytes), stream (rank x 4 + 0 for requests sent, 1 replies sent, 2 requests received, 3
//! replies received), whether it is its packet's last, and the word (4 bytes), numbers little-endian; in the order of
//! edges and, at one edge, of streams.
//!
//! # Ends
//!
//! A port that is dropped before [`Port::leave`](alcor::Port::leave) is a death: once every other rank waits, all
//! waits end with `PeerDied`. A rank that runs host code while others wait for longer than the limit
//! (`ALCOR_AWAY_SECONDS`, 60 by default) ends their waits with `RankAway`. An assertion of the model that fails ends
//! them with [`CosimError::Model`]. What takes no time does not fail for a peer's sake.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod axi;
mod backend;
mod board;
mod chip;
mod clockwork;
mod config;
mod digest;
mod dma;
mod error;
mod link;
mod mailbox;
mod model;
mod port;
pub mod profile;
mod recording;
mod seat;
mod waves;

pub use backend::CosimBackend;
pub use board::SimBoard;
pub use config::{Config, Configs, Options};
pub use error::CosimError;
pub use mailbox::{EFFECT_CYCLES, SETTLE_CYCLES};
pub use model::{Shape, repository_root};
pub use port::{POLL_CYCLES, PORT_QUEUE};
pub use profile::Profile;
pub use recording::{BoardRecording, Replay};
pub use verilated::BuildEvent;

/// The repository's README: what it shows is run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
