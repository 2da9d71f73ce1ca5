//! Errors of clusters of a farm.

use std::io;

use alcor::GlobalRank;
use alcor_deploy::FarmError;
use alcor_xdma::XdmaError;

/// An error of this backend. The library's [`alcor::Error::Board`] contains it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// An error of `boards.toml`, or a board of another host.
    #[error(transparent)]
    Farm(#[from] FarmError),
    /// An error of a card.
    #[error("board {board}: {source}")]
    Card {
        /// The board's name in `boards.toml`.
        board: String,
        /// The error.
        source: XdmaError,
    },
    /// A board is in another host, and the ranks are not processes.
    #[error(
        "board {board} is in host {host}, and this host is {here}: start a process for each rank, \
         in the host of its board, with mpiexec or Slurm"
    )]
    OtherHost {
        /// The board.
        board: String,
        /// Host of the board.
        host: String,
        /// This host.
        here: String,
    },
    /// The process of a rank was started in the wrong host.
    #[error(
        "{rank} belongs to board {board} of host {host}, and was started in host {here}: ranks fill \
         one board after the other, so start ranks {first} to {last} in {host}"
    )]
    WrongHost {
        /// The rank.
        rank: GlobalRank,
        /// Its board.
        board: String,
        /// Host of the board.
        host: String,
        /// This host.
        here: String,
        /// First rank of the board.
        first: u32,
        /// Last rank of the board.
        last: u32,
    },
    /// A board of the cluster would have no process.
    #[error(
        "{size} ranks leave board {board} without a process, which prepares the board: start \
         {needed} ranks or more"
    )]
    NoProcess {
        /// Number of ranks of the run.
        size: u32,
        /// The first board without a rank.
        board: String,
        /// Smallest number of ranks.
        needed: u32,
    },
    /// The run has more ranks than the cluster.
    #[error("the cluster has {ranks} ranks, and the run has {size}: start {ranks} or fewer")]
    TooManyRanks {
        /// Number of ranks of the run.
        size: u32,
        /// Number of ranks of the cluster.
        ranks: u32,
    },
    /// A board has another number of ranks than `boards.toml` states.
    #[error(
        "board {board} has {found} ranks, and boards.toml states {wanted}: correct the file, or \
         deploy another bitstream"
    )]
    Ranks {
        /// The board.
        board: String,
        /// Number of ranks of the ID block.
        found: u32,
        /// Number of ranks in `boards.toml`.
        wanted: u32,
    },
    /// Rank 0 can't listen for the other processes.
    #[error(
        "can't listen at {at}: {source}; end the other program at this port, or give the cluster \
         another port in boards.toml"
    )]
    Listen {
        /// Address and port.
        at: String,
        /// Error of the system.
        source: io::Error,
    },
    /// Rank 0 has refused this process.
    #[error("rank 0 at {at} refuses this process: {reason}")]
    Refused {
        /// Address and port of rank 0.
        at: String,
        /// The reason.
        reason: String,
    },
    /// The process of another rank can't take part.
    #[error("{rank} can't begin the run: {reason}")]
    PeerFailed {
        /// The rank.
        rank: GlobalRank,
        /// Its error.
        reason: String,
    },
    /// Another process has sent a message that this one can't read.
    #[error("rank 0 at {at} sent {found:?}: run the same version of Alcor in all processes")]
    Message {
        /// Address and port of rank 0.
        at: String,
        /// The message.
        found: String,
    },
    /// The operation needs the board of another process.
    #[error("board {board} belongs to another process, which alone can {operation}")]
    Elsewhere {
        /// The board.
        board: String,
        /// The operation.
        operation: &'static str,
    },
}

alcor_errors::debug_as_text!(ClusterError);

impl ClusterError {
    /// Converts into the library's error for the board or cluster `name`.
    pub(crate) fn on(self, name: &str) -> alcor::Error {
        alcor::Error::Board {
            board: name.into(),
            source: Box::new(self),
        }
    }
}
