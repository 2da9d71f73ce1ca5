//! Errors between the process of a rank and the process of the cluster.

use std::io;

/// An error of boards that another process simulates. The library wraps it as the source of
/// `alcor::Error::Board`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ShmError {
    /// No cluster of this name is running.
    #[error(
        "no cluster of this name is running; `alcor run` starts a cluster for one program; `alcor serve` keeps a cluster running and prints its name"
    )]
    NoCluster,
    /// The cluster uses another version of the protocol.
    #[error(
        "the cluster uses version {found}, this program version {wanted}; build both from the same sources"
    )]
    OtherVersion {
        /// Version of the cluster.
        found: u32,
        /// Version of this library.
        wanted: u32,
    },
    /// The listening process is no cluster.
    #[error("the listening process is not an Alcor cluster: {0}")]
    NoWelcome(io::Error),
    /// The received mailbox is invalid.
    #[error(
        "the mailbox of local rank {rank} can't be used: {problem}; build program and cluster from the same sources"
    )]
    BadMailbox {
        /// The local rank.
        rank: u32,
        /// The defect of the mailbox.
        problem: String,
    },
    /// The process of the cluster is gone.
    #[error(
        "the simulator is gone: its process ended, or ended the run; see the output of that process"
    )]
    Gone,
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    Io {
        /// The failed action.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// An error of the simulator.
    #[error("error of the simulator: {message}")]
    Simulator {
        /// The text of the error.
        message: String,
    },
    /// A register offset is invalid.
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
    /// Converts the error into an error of the library.
    #[must_use]
    pub fn on(self, board: &str) -> alcor::Error {
        alcor::Error::Board {
            board: board.into(),
            source: Box::new(self),
        }
    }
}
