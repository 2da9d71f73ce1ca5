//! One host library for MPI hardware: ranks, windows, put, get, barrier, collectives and messages
//! over any boards.
//!
//! ```
//! use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let job = Job::new(SoftBoard::new(4))?;
//! let received = job.run(4, |rank| {
//!     let inbox = rank.alloc::<f64>(4)?;
//!     let window = rank.register(&inbox, Rights::ALL)?;
//!     let right = GlobalRank((rank.pid().0 + 1) % rank.nprocs());
//!     rank.put(&window, right, 0, &[f64::from(rank.pid().0); 4])?;
//!     rank.fence()?;
//!     rank.read_vec(&inbox)
//! })?;
//! assert_eq!(received[1], [0.0; 4]);
//! # Ok(())
//! # }
//! ```
//!
//! The same program runs on a simulated board and on a real one: a backend is a crate that
//! implements [`Board`], [`Port`] and [`Backend`], and [`Backends`] opens a board by its URI.
//! This crate knows none of them by name. What it knows is the register map, `alcor-abi`.
//!
//! # The parts
//!
//! | | |
//! |---|---|
//! | [`Cluster`] | a board, or boards that are joined as a [`Topology`] says |
//! | [`BoardLayer`], [`PortLayer`] | boards over boards, which observe or change calls |
//! | [`Job`] | a run with its ranks as threads of this process; or this process's rank of a run of processes |
//! | [`Rank`] | one rank of a run: all operations; a process may attach a single one |
//! | [`Region`] | a piece of a rank's node memory, given back when its last handle goes |
//! | [`Window`] | memory that all ranks registered together, and that `put` and `get` name |
//! | [`Communicator`] | ranks of the run in an order, and the collectives among them |
//! | [`Tree`] | the order in which a reduction combines |
//! | [`Buffer`], [`BufferMut`] | slices and regions, which all operations take alike |
//! | [`Request`] | a non-blocking put, get, collective, send or receive under way |
//! | [`Message`] | what [`Rank::send`] and [`Rank::recv`] exchange, matched by the hardware |
//! | [`Kernel`] | a module of the user's own beside the rank's coprocessor, which starts operations itself |
//! | [`Lab`] | a rank's hardware as it is, for its study: [`Paper`], [`Alpu`], counters, the port |
//! | [`Paper`] | the commands of the RMA coprocessor paper, in its own units |
//! | [`Error`] | what can go wrong, each with what was asked, what was found, and where |
//!
//! # What words mean
//!
//! A put is complete when its data is visible in the target's memory, a get when the data is in
//! local node memory, a barrier when every rank entered it and all earlier traffic of all ranks
//! has landed. The bounds and rights of a window are checked by the hardware at the target; the
//! library checks what only it knows: its own regions, and numbers that no register can hold.
//!
//! Every wait ends: with what it waited for, with [`Error::Aborted`] once any rank has aborted
//! the run, with an error of the backend, or with [`Error::Watchdog`], which names who waits for
//! what.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod allocator;
mod alpu;
mod backend;
mod board;
mod buffer;
mod call;
mod cluster;
mod collectives;
mod communicator;
mod completion;
mod credits;
mod datatype;
mod ending;
mod error;
mod events;
mod hardware;
mod identity;
mod job;
mod kernel;
mod lab;
mod launch;
mod layer;
mod mail;
mod messages;
mod operation;
mod paper;
mod progress;
mod rank;
mod region;
mod registration;
mod request;
mod rows;
mod schedule;
#[cfg(feature = "soft")]
pub mod soft;
mod software;
mod takeover;
mod topology;
mod transfer;
mod tree;
mod watchdog;
mod window;

pub use alcor_abi::{Opcode, Status, SyncKind};

pub use alpu::{Alpu, AlpuAnswer, AlpuFinding, AlpuKind, AlpuShape, MATCH_BITS, Pattern};
pub use backend::Backends;
pub use board::{
    Activity, Backend, Board, BoardInfo, Cycle, GlobalRank, LocalRank, NodeAddr, Note, PageOffset,
    Port, Sight, Wake,
};
pub use buffer::{Buffer, BufferMut};
pub use call::{Call, Collective, CommunicatorId, Difference, Path, Receipt, SoftwareReason};
pub use cluster::Cluster;
pub use communicator::Communicator;
pub use datatype::{Datatype, ElementType};
pub use error::{AbortReason, Error, Result};
pub use events::{Counters, Events, LastError};
pub use identity::identify;
pub use job::{Job, JobError, Options};
pub use kernel::{Kernel, KernelCommand, KernelCompletion, KernelState};
pub use lab::Lab;
pub use launch::Launch;
pub use layer::{BoardLayer, PortLayer};
pub use messages::{MatchCounters, Message, MessageKind, MessageStatus, Source, TAG_UB, Tag};
pub use operation::{Operation, Reducible};
pub use paper::Paper;
pub use rank::Rank;
pub use region::Region;
pub use request::Request;
pub use topology::Topology;
pub use transfer::{Transfer, TransferKind, WindowName};
pub use tree::{Stage, Tree, TreeBoard};
pub use watchdog::{Awaited, AwaitedCollective, AwaitedMessage, RankState, RankWait};
pub use window::{RegisteredRange, Rights, Window};
