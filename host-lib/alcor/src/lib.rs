//! One host library for MPI hardware: ranks, windows, put, get, barrier, collectives and messages
//! over any boards.
//!
//! ```
//! use alcor::{Job, Rights, soft::SoftBoard};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let job = Job::new(SoftBoard::new(4))?;
//! let received = job.run(4, |rank| {
//!     let inbox = rank.alloc::<f64>(4)?;
//!     let window = rank.register(&inbox, Rights::ALL)?;
//!     rank.put(&window, rank.neighbour(1), 0, &[f64::from(rank.pid().0); 4])?;
//!     rank.fence()?;
//!     rank.read_vec(&inbox)
//! })?;
//! assert_eq!(received[1], [0.0; 4]);
//! # Ok(())
//! # }
//! ```
//!
//! The same program runs on simulated boards and on cards. A backend is a crate that implements
//! [`Board`], [`Port`] and [`Backend`]. [`Backends`] opens a board by its URI. This crate depends
//! on no backend. It depends on the register map, `alcor-abi`.
//!
//! # Items
//!
//! | | |
//! |---|---|
//! | [`Cluster`] | one board, or boards that links join in a [`Topology`] |
//! | [`BoardLayer`], [`PortLayer`] | boards over boards, which observe or change calls |
//! | [`Job`] | a run whose ranks are threads of this process; also attaches one rank of a run of processes |
//! | [`Rank`] | one rank of a run, with all operations |
//! | [`Region`] | a part of a rank's node memory; dropping its last handle frees it |
//! | [`Window`] | memory that all ranks have registered together; the target of `put`, `get` and atomic operations |
//! | [`Communicator`] | an ordered set of ranks, with its collectives and messages |
//! | [`Tree`] | the order in which a reduction combines |
//! | [`Buffer`], [`BufferMut`] | the parameters of all operations: slices or regions |
//! | [`Request`] | a non-blocking put, get, atomic operation, collective, send or receive under way |
//! | [`Message`] | a send, receive or probe as the hardware takes it |
//! | [`Kernel`] | the user's module beside the rank's coprocessor, which starts operations itself |
//! | [`Lab`] | direct access to a rank's hardware, for study: [`Paper`], [`Alpu`], counters, the port |
//! | [`Paper`] | the commands of the RMA coprocessor paper, in the paper's units |
//! | [`Error`] | all errors: the request, the finding, the place, and the next step |
//!
//! # Completion and errors
//!
//! A put is complete when its data is visible in the target's memory. A get is complete when the
//! data is in local node memory. A barrier is complete when every rank has entered the barrier and
//! all earlier traffic of all ranks has arrived. The hardware of the target checks the bounds and
//! rights of a window. The library checks only its own regions, and numbers that fit no register.
//!
//! Every wait ends in one of four ways: the awaited event occurs; a rank aborts the run
//! ([`Error::Aborted`]); the backend fails; or the watchdog ends the wait ([`Error::Watchdog`]) and
//! names the waiting ranks and the awaited events.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod accumulate;
mod allocator;
mod alpu;
mod atomic;
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
mod failures;
mod hardware;
mod host;
mod identity;
mod job;
mod kernel;
mod lab;
mod launch;
mod layer;
mod line;
mod links;
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

pub use accumulate::{Accumulate, AccumulateElement, AccumulateOperation};
pub use alpu::{Alpu, AlpuAnswer, AlpuFinding, AlpuKind, AlpuShape, MATCH_BITS, Pattern};
pub use atomic::{Atomic, AtomicOperation, AtomicWord, Fetch, Signal};
pub use backend::Backends;
pub use board::{
    Activity, Backend, Board, BoardInfo, BusAddr, Causes, Cycle, GlobalRank, HostRing, LocalRank,
    NodeAddr, Note, PageOffset, Port, RunView, Sight, Wake,
};
pub use buffer::{Buffer, BufferMut};
pub use call::{
    Call, Collective, CommunicatorId, Difference, MemberCall, Path, Receipt, SoftwareReason,
};
pub use cluster::Cluster;
pub use communicator::Communicator;
pub use datatype::{Datatype, ElementType};
pub use error::{AbortReason, Error, Result};
pub use events::{Counters, Events, LastError};
pub use failures::Agreement;
pub use host::{HostBytes, HostRegion};
pub use identity::identify;
pub use job::{FlowControl, Job, JobError, Options, WaitReport};
pub use kernel::{Kernel, KernelCommand, KernelCompletion, KernelState};
pub use lab::Lab;
pub use launch::Launch;
pub use layer::{BoardLayer, PortLayer};
pub use line::{CommandLine, HeldWrites, LineStep};
pub use links::{LinkCounts, LinkState};
pub use messages::{
    MatchCounters, MatchedMessage, Message, MessageKind, MessageStatus, Queues, Source, TAG_UB, Tag,
};
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
