//! Simulated Alcor boards: time, host port mailboxes, and the Board backend over a Verilated core.
//!
//! A URI `cosim:<config>` names a configuration of `hw/core/configs.toml`. [`CosimBackend`] builds its model (or takes
//! it from the cache) and opens a [`SimCluster`] of as many [`SimBoard`]s as the configuration's topology has, which the
//! library `alcor` drives like any other boards:
//!
//! ```no_run
//! use alcor::{Backend, Cycle, LocalRank, PageOffset};
//! use alcor_cosim::CosimBackend;
//!
//! # fn main() -> Result<(), alcor::Error> {
//! let cluster = CosimBackend::new().open("rma2?waves=run.fst&waves-to=5000")?;
//! let board = &cluster.boards()[0];
//! board.expect(1)?;
//! let mut port = board.clone().attach(LocalRank(0))?;
//! port.write32(PageOffset(0x480), 2)?;
//! port.wait(Cycle(100))?;
//! # Ok(())
//! # }
//! ```
//!
//! # Models
//!
//! The RTL is that of a clone of Alcor's repository or, elsewhere, what the program carries: see [`Hardware::find`]. A model's
//! key has no path, so both have the same models.
//!
//! A [`CosimBackend`] and its clones simulate one version of the RTL: configurations and sources are read when the
//! backend needs its first model, and each model is built and loaded once. [`CosimBackend::changed_sources`] names the
//! files that were edited since. A report over many tests should end with these names, as they are not in its results.
//! Models lie in `alcor/models` of the user's cache folder, or where `ALCOR_MODELS` says.
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
//! Before time begins, [`Board::write32`](alcor::Board::write32) sets registers of the board's page over the bus; the
//! cycles that this takes do not count.
//!
//! # Boards joined by links
//!
//! Boards of a ring or torus share one time. What a board drives on a link in cycle `t` its neighbour sees in cycle
//! `t + latency` (110 unless said otherwise), a phit later if the wire is still busy with earlier ones: it carries
//! 95.9 Gb/s, so that a phit with 256 bits of data takes less than a cycle of it, and one with 512 bits 1.54. Credits
//! take the latency alone.
//!
//! So boards need to agree only once in `latency - 1` edges. In such a window each board is stepped for itself, on any of
//! the threads (option `threads`), until the window ends or a rank of its own is woken, when it holds at that very cycle
//! while the others go on to the end. When all ranks of all boards wait again, the boards that are not at the end go on;
//! when all are there, what they have sent is carried to the other ends, and the next window begins. Nothing depends on
//! which thread is the faster: cycle counts and traffic are the same for any number of threads.
//!
//! Boards are reset together: the first reset after a run resets all of them, and those of the others then find nothing
//! to do, and node memory is zero. A reset is refused while any board has a port attached.
//!
//! # Digest
//!
//! `traffic_digest` is the CRC-32 of 14 bytes for each word that passed a stream of a coprocessor since reset: the edge
//! at the end of its cycle (8 bytes), stream (rank x 4 + 0 for requests sent, 1 replies sent, 2 requests received, 3
//! replies received), whether it is its packet's last, and the word (4 bytes), numbers little-endian; in the order of
//! edges and, at one edge, of streams.
//!
//! A board with links has a second one, [`SimBoard::link_digest`], of what it sends: for each phit the edge at the end of
//! its cycle (8 bytes), port (1), channel (1) and its bits in whole words; for each credit the same 14 bytes as above,
//! with 0x40 + port for the stream, 0 for the last and the channel for the word; in the order of edges, at one edge
//! phits first, and of ports. Its `traffic_digest` is the CRC-32 of both digests, 4 bytes each.
//!
//! # Timeline and packet log
//!
//! Options `trace=FILE` and `packets=FILE` have a timeline and a packet log written, see docs/timeline.md; with `log=RECORDS`
//! the newest so many records of each board are kept, for [`SimCluster::packets`]. A log costs no simulated time, and changes no
//! digest.
//!
//! # Coverage
//!
//! Option `coverage=1` has the model count which lines, branches and edges of signals were at work and how often each
//! cover point was hit, for [`SimCluster::coverage`]. Such a model is another one, and slower; cycle counts and digests
//! are the same.
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
mod cluster;
mod config;
mod digest;
mod dma;
mod error;
mod free;
mod hardware;
mod link;
mod log;
mod mailbox;
mod memory;
mod model;
mod pool;
mod port;
pub mod profile;
mod recording;
mod seat;
mod seats;
mod waves;
mod wire;

pub use backend::{CosimBackend, OWN_VARIABLE};
pub use board::SimBoard;
pub use cluster::SimCluster;
pub use config::{Config, Configs, KernelConfig, LinkConfig, Options, Skip};
pub use error::CosimError;
pub use free::FreeBoard;
pub use hardware::{Hardware, ROOT_VARIABLE, core_sources};
pub use log::packet::{LoggedPacket, PacketHeader, PhitHeader, Place};
pub use mailbox::{EFFECT_CYCLES, SETTLE_CYCLES};
pub use model::Shape;
pub use port::{POLL_CYCLES, PORT_QUEUE};
pub use profile::Profile;
pub use recording::{BoardRecording, Replay};
pub use verilated::{BuildEvent, CoverPoint, Coverage, Hit, ModuleCoverage, Optimise};
pub use wire::LinkFigures;
