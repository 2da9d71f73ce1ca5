//! Errors of the cluster, as sent to the process of a rank.

use std::sync::Arc;

use alcor::{Cycle, Error, GlobalRank, LinkState, LocalRank, NodeAddr, RankWait};
use serde::{Deserialize, Serialize};

use crate::ShmError;
use crate::wire::Wait;

/// An error of a board or a port for transmission. Errors that programs distinguish keep their
/// type. All others are sent as text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Fault {
    /// [`Error::PeerDied`]
    PeerDied {
        /// The boards.
        board: String,
        /// The rank.
        rank: u32,
    },
    /// [`Error::RankAway`]
    RankAway {
        /// The boards.
        board: String,
        /// The ranks that run host code.
        ranks: Vec<u32>,
        /// Duration in seconds.
        seconds: f64,
        /// Number of waiting ranks.
        waiting: u32,
    },
    /// [`Error::RanksMissing`]
    RanksMissing {
        /// The boards.
        board: String,
        /// The ranks that did not attach.
        ranks: Vec<u32>,
        /// Duration in seconds.
        seconds: f64,
        /// Number of waiting ranks.
        waiting: u32,
    },
    /// [`Error::Deadlock`]
    Deadlock {
        /// Time of the deadlock, in cycles.
        at: u64,
        /// The declared wait of each rank.
        waits: Vec<Wait>,
        /// Link ends: board, port, LINK_STATUS and counts.
        links: Vec<Link>,
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
        /// Number of ranks of the board.
        ranks: u32,
    },
    /// [`Error::BadNodeAddress`]
    BadNodeAddress {
        /// The board.
        board: String,
        /// The local rank.
        rank: u32,
        /// Address of the access.
        at: u32,
        /// Length of the access in bytes.
        length: u64,
        /// Size of node memory in bytes.
        node_bytes: u32,
    },
    /// Any other error.
    Other {
        /// The text of the error.
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
            Error::Deadlock { at, waits, links } => Fault::Deadlock {
                at: at.0,
                waits: waits.iter().map(Wait::from).collect(),
                links: links.iter().map(registers).collect(),
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
    /// Converts the fault back into the error. `cluster` names the origin of errors that were sent
    /// as text.
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
            Fault::Deadlock { at, waits, links } => Error::Deadlock {
                at: Cycle(at),
                waits: waits.into_iter().map(RankWait::from).collect(),
                links: Arc::new(links.into_iter().map(state).collect()),
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

/// Board, port, LINK_STATUS and counts of a link end.
type Link = (u32, u32, u32, [u32; 8]);

fn state((board, port, status, counts): Link) -> LinkState {
    LinkState::of_registers(board, port, status, counts)
}

fn registers(link: &LinkState) -> Link {
    let counts = link.counts.named().map(|(_, count)| count);
    (link.board, link.port, link.status, counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_arrives_as_what_it_was() {
        let board = || "board 1 of cosim:ring2".to_owned();
        let rank = LocalRank(1);
        let mut wait = RankWait::new(GlobalRank(1), "BARRIER");
        wait.on = vec![GlobalRank(0)];
        wait.is_any = true;
        wait.meets = Some("BARRIER".into());
        wait.looks = true;
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
                waits: vec![wait],
                links: Arc::new(vec![state((1, 2, 3, [4, 5, 6, 7, 8, 9, 10, 11]))]),
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
            // The comparison includes fields that the text omits.
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
