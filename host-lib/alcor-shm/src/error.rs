//! What can go wrong between a rank's process and the cluster's.

use std::io;

/// An error of boards that another process simulates. It reaches the library as the source of `alcor::Error::Board`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ShmError {
    /// Nobody listens by that name.
    #[error(
        "no cluster of this name is running; `alcor run` starts one for a program, `alcor serve` one that stays, and says its name"
    )]
    NoCluster,
    /// The cluster speaks another version.
    #[error(
        "the cluster speaks version {found}, this program version {wanted}; build both from the same sources"
    )]
    OtherVersion {
        /// The cluster's version.
        found: u32,
        /// This library's.
        wanted: u32,
    },
    /// What listens there is no cluster, or breaks off.
    #[error("what answers by this name is no cluster of Alcor's: {0}")]
    NoWelcome(io::Error),
    /// The mailbox that was handed over is not one.
    #[error(
        "the mailbox of local rank {rank} can't be used: {problem}; build program and cluster from the same sources"
    )]
    BadMailbox {
        /// Whose.
        rank: u32,
        /// What is wrong with it.
        problem: String,
    },
    /// The process of the cluster is gone.
    #[error("the simulator is gone: its process ended, or ended the run; look for what it said")]
    Gone,
    /// The system refused something.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was to be done.
        action: &'static str,
        /// Why it was not.
        source: io::Error,
    },
    /// The simulator's own error.
    #[error("the simulator says: {message}")]
    Simulator {
        /// What it said.
        message: String,
    },
    /// A register offset is not one.
    #[error("register offset {offset:#x} is not a multiple of 4 below 0x1000")]
    BadRegister {
        /// The offset.
        offset: u32,
    },
    /// The port has left the run.
    #[error("local rank {rank} has left the run")]
    HasLeft {
        /// The rank.
        rank: u32,
    },
}

alcor_errors::debug_as_text!(ShmError);

impl ShmError {
    /// As the library wants it.
    #[must_use]
    pub fn on(self, board: &str) -> alcor::Error {
        alcor::Error::Board {
            board: board.into(),
            source: Box::new(self),
        }
    }
}
