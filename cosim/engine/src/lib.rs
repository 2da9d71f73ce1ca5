//! Simulated Alcor boards: time, host port mailboxes, and the Board backend over a Verilated core.
//!
//! A URI `cosim:<config>` names a configuration of `hw/core/configs.toml`. [`CosimBackend`] builds
//! its model (or takes it from the cache) and opens a [`SimCluster`] with the [`SimBoard`]s of the
//! configuration's topology. The library `alcor` drives them like other boards:
//!
//! ```no_run
//! use alcor::{Backend, Causes, Cycle, LocalRank, PageOffset};
//! use alcor_cosim::CosimBackend;
//!
//! # fn main() -> Result<(), alcor::Error> {
//! let cluster = CosimBackend::new().open("rma2?waves=run.fst&waves-to=5000")?;
//! let board = &cluster.boards()[0];
//! board.expect(1)?;
//! let mut port = board.clone().attach(LocalRank(0))?;
//! port.write32(PageOffset(0x480), 2)?;
//! port.wait(Causes::NONE, Cycle(100))?;
//! # Ok(())
//! # }
//! ```
//!
//! # Models
//!
//! The RTL is that of a clone of Alcor's repository or, elsewhere, the copy in the program: see
//! [`Hardware::find`]. A model's key has no path, so both share models.
//!
//! A [`CosimBackend`] and its clones simulate one version of the RTL: configurations and sources
//! are read when the backend needs its first model, and each model is built and loaded once.
//! [`CosimBackend::changed_sources`] names the files that were edited since then. A report over
//! many tests should end with these names, because the results do not contain the edits. Models are
//! in `alcor/models` of the user's cache folder, or in the folder that `ALCOR_MODELS` names.
//!
//! # Time
//!
//! Simulated time stands still while any attached rank runs host code, and moves while all ranks
//! wait. There is no simulator thread: the last rank that begins to wait runs the model until some
//! rank is due. The program alone decides which calls a rank makes while time stands still. So
//! cycle counts and traffic are the same in every run, with any load and any number of threads.
//!
//! *Now* is the number of rising clock edges since reset. Edge `e` ends cycle `e - 1` and begins
//! cycle `e`. The model calls the host once per edge, with the values of its pins in the cycle that
//! ends. The host's answer is on the pins in the cycle that begins.
//!
//! In profile [`Ideal`](Profile::Ideal):
//!
//! * A write posted at time `t` is offered in cycle `t + 1`. A rank's page takes one write per
//!   cycle, so the write waits for earlier writes of its rank. Ranks do not delay each other.
//! * A read waits until all earlier writes have been offered and [`EFFECT_CYCLES`] have passed. The
//!   read itself, and an access to node memory, take no time.
//! * A repeated access at the same instant is a *poll*: a second read of a register or of an
//!   address of node memory, or a second wait whose deadline is past. The result would be the same,
//!   so time moves by [`POLL_CYCLES`] first.
//! * A wait takes at least one cycle unless its deadline is past. It ends at the first edge whose
//!   cycle had the interrupt raised, from [`SETTLE_CYCLES`] after the rank's last write was
//!   offered; or exactly at its deadline. If both happen at the same edge, the interrupt is
//!   reported.
//! * A rank may have [`PORT_QUEUE`] writes under way. Posting one more waits until all are offered.
//!
//! Profile [`Gen3x16`](Profile::Gen3x16) puts a PCIe link in front of the same model, see
//! [`profile`].
//!
//! Before time begins, [`Board::write32`](alcor::Board::write32) writes registers of the board's
//! page over the bus. These cycles do not count.
//!
//! # Boards joined by links
//!
//! Boards of a ring or torus share one time. A phit that a board drives on a link in cycle `t`
//! reaches its neighbour in cycle `t + latency` (default 110), or later if the wire is still busy
//! with earlier phits. The wire carries 95.9 Gb/s: a phit with 256 bits of data takes less than a
//! cycle, one with 512 bits takes 1.54. Credits take the latency alone.
//!
//! So boards need to synchronise only once in `latency - 1` edges. Within this window each board
//! is stepped independently, on any of the threads (option `threads`), until the window ends. If a
//! rank of the board is woken, the board stops at that cycle, and the others go on to the end. When
//! all ranks of all boards wait again, stopped boards go on. When all boards are at the end, their
//! phits and credits are carried to the other ends, and the next window begins. Nothing depends on
//! the speed of threads: cycle counts and traffic are the same for any number of threads.
//!
//! With option `links=frames`, the boards have the link ends of a card, and the links carry words of
//! frames, with [faults](LinkFaults) if the options ask for them. Windows are the same. The latency
//! is then 90 cycles and the rate 85 Gb/s, unless options set them.
//!
//! Boards are reset together: the first reset after a run resets all boards, and the resets of the
//! others have no effect. After a reset, node memory is zero. A reset is refused while any board
//! has a port attached.
//!
//! # Digest
//!
//! `traffic_digest` is the CRC-32 of one record of 14 bytes for each word that passed a stream of a
//! coprocessor since reset. A record has the edge at the end of the word's cycle (8 bytes), the
//! stream (1 byte), whether the word is its packet's last (1 byte), and the word (4 bytes). Numbers
//! are little-endian. The stream is rank x 4, plus 0 for requests sent, 1 for replies sent, 2 for
//! requests received and 3 for replies received. Records are in the order of edges and, at one
//! edge, of streams.
//!
//! A board with links has a second digest, [`SimBoard::link_digest`], of its output. A phit has a
//! record of the edge at the end of its cycle (8 bytes), port (1), channel (1) and its bits in
//! whole words. A credit has a record of 14 bytes as above, with 0x40 + port for the stream, 0 for
//! the last and the channel for the word. Records are in the order of edges; at one edge, phits
//! come first, then ports in order. With `links=frames`, the phits and credits are those in the
//! frames that are sent for the first time: a phit at the last word of its group, and the credits of
//! a frame, which are one record, at its first word. Its `traffic_digest` is the CRC-32 of both digests, 4 bytes
//! each.
//!
//! # Timeline and packet log
//!
//! Options `trace=FILE` and `packets=FILE` write a timeline and a packet log, see docs/timeline.md.
//! Option `log=RECORDS` sets the number of records that are kept of each board, for
//! [`SimCluster::packets`]. A log costs no simulated time, and changes no digest.
//!
//! # Coverage
//!
//! With option `coverage=1`, the model counts lines, branches, edges of signals and hits of cover
//! points, for [`SimCluster::coverage`]. This is another model, and slower. Cycle counts and
//! digests are the same.
//!
//! # Ends
//!
//! A port that is dropped before [`Port::leave`](alcor::Port::leave) counts as a death of its rank:
//! once every other rank waits, all waits end with `PeerDied`. If a rank runs host code while
//! others wait for longer than the limit (`ALCOR_AWAY_SECONDS`, default 60), their waits end with
//! `RankAway`. A failed assertion of the model ends all waits with [`CosimError::Model`]. Calls
//! that do not wait succeed even after a peer has failed.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod backend;
mod board;
mod chip;
mod cluster;
mod config;
mod digest;
mod dma;
mod error;
mod frames;
mod free;
mod hardware;
mod link;
mod log;
mod mailbox;
mod medium;
mod memory;
mod model;
mod pool;
mod port;
pub mod profile;
mod rank_set;
mod recording;
mod scheduler;
mod wait_slot;
mod waves;
mod wire;

pub use backend::{CosimBackend, OWN_VARIABLE};
pub use board::SimBoard;
pub use cluster::SimCluster;
pub use config::{Config, Configs, KernelConfig, LinkConfig, Options, Skip};
pub use error::CosimError;
pub use free::FreeBoard;
pub use hardware::{Hardware, ROOT_VARIABLE, core_sources};
pub use link::HostCopy;
pub use log::packet::{LoggedPacket, PacketHeader, PhitHeader, Place};
pub use mailbox::{EFFECT_CYCLES, SETTLE_CYCLES};
pub use medium::{CableFault, CableOutage, Chance, LinkFaults};
pub use model::Shape;
pub use port::{POLL_CYCLES, PORT_QUEUE};
pub use profile::Profile;
pub use recording::{BoardRecording, Replay};
pub use verimodel::{BuildEvent, CoverPoint, Coverage, Hit, ModuleCoverage, Optimise};
pub use wire::LinkFigures;
