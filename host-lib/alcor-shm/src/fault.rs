//! Errors of the cluster's, as they come to a rank's process.

use alcor::{Cycle, Error, GlobalRank, LocalRank, NodeAddr, RankWait};
use serde::{Deserialize, Serialize};

use crate::ShmError;
use crate::wire::Wait;

/// An error of a board or a port, to be sent. Those that programs look at arrive as what they were, the others as their text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Fault {
    /// [`Error::PeerDied`]
    PeerDied {
        /// The boards.
        board: String,
        /// Its rank.
        rank: u32,
    },
    /// [`Error::RankAway`]
    RankAway {
        /// The boards.
        board: String,
        /// The ranks.
        ranks: Vec<u32>,
        /// For how long.
        seconds: f64,
        /// How many ranks wait.
        waiting: u32,
    },
    /// [`Error::RanksMissing`]
    RanksMissing {
        /// The boards.
        board: String,
        /// The ranks.
        ranks: Vec<u32>,
        /// For how long.
        seconds: f64,
        /// How many ranks wait.
        waiting: u32,
    },
    /// [`Error::Deadlock`]
    Deadlock {
        /// When.
        at: u64,
        /// What each rank waits for.
        waits: Vec<Wait>,
    },
    /// [`Error::RankTaken`]
    RankTaken {
        /// The board.
        board: String,
        /// The local rank.
        rank: u32,
    },
    /// [`Error::NoSuchRank`]
    NoSuchRank {
        /// The board.
        board: String,
        /// The local rank.
        rank: u32,
        /// How many there are.
        ranks: u32,
    },
    /// [`Error::BadNodeAddress`]
    BadNodeAddress {
        /// The board.
        board: String,
        /// The local rank.
        rank: u32,
        /// Where.
        at: u32,
        /// How many bytes.
        length: u64,
        /// How many there are.
        node_bytes: u32,
    },
    /// Any other.
    Other {
        /// What it said.
        message: String,
    },
}

impl From<&Error> for Fault {
    fn from(error: &Error) -> Fault {
        match error {
            Error::PeerDied { board, rank } => Fault::PeerDied {
                board: board.clone(),
                rank: rank.0,
            },
            Error::RankAway {
                board,
                ranks,
                seconds,
                waiting,
            } => Fault::RankAway {
                board: board.clone(),
                ranks: ranks.iter().map(|rank| rank.0).collect(),
                seconds: *seconds,
                waiting: *waiting,
            },
            Error::RanksMissing {
                board,
                ranks,
                seconds,
                waiting,
            } => Fault::RanksMissing {
                board: board.clone(),
                ranks: ranks.iter().map(|rank| rank.0).collect(),
                seconds: *seconds,
                waiting: *waiting,
            },
            Error::Deadlock { at, waits } => Fault::Deadlock {
                at: at.0,
                waits: waits.iter().map(Wait::from).collect(),
            },
            Error::RankTaken { board, rank } => Fault::RankTaken {
                board: board.clone(),
                rank: rank.0,
            },
            Error::NoSuchRank { board, rank, ranks } => Fault::NoSuchRank {
                board: board.clone(),
                rank: rank.0,
                ranks: *ranks,
            },
            Error::BadNodeAddress {
                board,
                rank,
                at,
                length,
                node_bytes,
            } => Fault::BadNodeAddress {
                board: board.clone(),
                rank: rank.0,
                at: at.0,
                length: *length,
                node_bytes: *node_bytes,
            },
            other => Fault::Other {
                message: other.to_string(),
            },
        }
    }
}

impl Fault {
    /// The error that it was; `cluster` is where it comes from, for what is known by its text only.
    #[must_use]
    pub fn into_error(self, cluster: &str) -> Error {
        match self {
            Fault::PeerDied { board, rank } => Error::PeerDied {
                board,
                rank: GlobalRank(rank),
            },
            Fault::RankAway {
                board,
                ranks,
                seconds,
                waiting,
            } => Error::RankAway {
                board,
                ranks: ranks.into_iter().map(GlobalRank).collect(),
                seconds,
                waiting,
            },
            Fault::RanksMissing {
                board,
                ranks,
                seconds,
                waiting,
            } => Error::RanksMissing {
                board,
                ranks: ranks.into_iter().map(GlobalRank).collect(),
                seconds,
                waiting,
            },
            Fault::Deadlock { at, waits } => Error::Deadlock {
                at: Cycle(at),
                waits: waits.into_iter().map(RankWait::from).collect(),
            },
            Fault::RankTaken { board, rank } => Error::RankTaken {
                board,
                rank: LocalRank(rank),
            },
            Fault::NoSuchRank { board, rank, ranks } => Error::NoSuchRank {
                board,
                rank: LocalRank(rank),
                ranks,
            },
            Fault::BadNodeAddress {
                board,
                rank,
                at,
                length,
                node_bytes,
            } => Error::BadNodeAddress {
                board,
                rank: LocalRank(rank),
                at: NodeAddr(at),
                length,
                node_bytes,
            },
            Fault::Other { message } => ShmError::Simulator { message }.on(cluster),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_arrives_as_what_it_was() {
        let board = || "board 1 of cosim:ring2".to_owned();
        let rank = LocalRank(1);
        let errors = [
            Error::PeerDied {
                board: board(),
                rank: GlobalRank(3),
            },
            Error::RankAway {
                board: board(),
                ranks: vec![GlobalRank(1), GlobalRank(4)],
                seconds: 1.5,
                waiting: 3,
            },
            Error::RanksMissing {
                board: board(),
                ranks: vec![GlobalRank(2)],
                seconds: 2.5,
                waiting: 1,
            },
            Error::Deadlock {
                at: Cycle(1 << 40),
                waits: vec![RankWait {
                    rank: GlobalRank(1),
                    what: "BARRIER".into(),
                    on: vec![GlobalRank(0)],
                    is_any: true,
                    meets: Some("BARRIER".into()),
                    looks: true,
                }],
            },
            Error::RankTaken {
                board: board(),
                rank,
            },
            Error::NoSuchRank {
                board: board(),
                rank,
                ranks: 1,
            },
            Error::BadNodeAddress {
                board: board(),
                rank,
                at: NodeAddr(4),
                length: 5,
                node_bytes: 6,
            },
        ];
        for error in errors {
            let sent = serde_json::to_string(&Fault::from(&error)).unwrap();
            let came: Fault = serde_json::from_str(&sent).unwrap();
            let came = came.into_error("shm:x");
            assert_eq!(came.to_string(), error.to_string());
            // Also what the text leaves out.
            assert_eq!(serde_json::to_string(&Fault::from(&came)).unwrap(), sent);
        }
        let busy = Error::BoardBusy {
            board: board(),
            operation: "reset",
            attached: 2,
        };
        let came = Fault::from(&busy).into_error("shm:x").to_string();
        assert!(
            came.contains("shm:x") && came.contains(&busy.to_string()),
            "{came}"
        );
    }
}
