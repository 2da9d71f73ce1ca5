//! The messages on a connection: JSON after its length in 4 bytes.
//!
//! A connection begins with [`Hello`] and the answer [`Welcome`]. These two messages are the same
//! in all versions. Then each [`Request`] has a [`Reply`]. [`Request::Attach`] with the reply
//! [`Reply::Attached`] is the last message. The [mailbox](crate::mailbox) comes with that reply.

use alcor::{GlobalRank, RankWait};
use serde::{Deserialize, Serialize};

use crate::fault::Fault;

/// The version of the messages and of the mailbox.
pub const VERSION: u32 = 4;

/// The first message of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the client.
    pub version: u32,
}

/// The answer to [`Hello`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Welcome {
    /// The versions are the same.
    Cluster(Description),
    /// The versions differ. The connection ends.
    OtherVersion {
        /// Version of the cluster.
        version: u32,
    },
}

/// The description of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// URI of the opened configuration.
    pub uri: String,
    /// Number of boards in each dimension; empty for a single board.
    pub dims: Vec<u32>,
    /// Names of the boards, in the order of their numbers.
    pub boards: Vec<String>,
}

/// A request to a board, by its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// [`alcor::Board::read32`]
    Read {
        /// Number of the board.
        board: u32,
        /// Offset of the register.
        offset: u32,
    },
    /// [`alcor::Board::write32`]
    Write {
        /// Number of the board.
        board: u32,
        /// Offset of the register.
        offset: u32,
        /// Value of the register.
        value: u32,
    },
    /// [`alcor::Board::reset`]
    Reset {
        /// Number of the board.
        board: u32,
    },
    /// [`alcor::Board::expect`]
    Expect {
        /// Number of the board.
        board: u32,
        /// Number of ports.
        ports: u32,
    },
    /// [`alcor::Board::traffic_digest`]
    Digest {
        /// Number of the board.
        board: u32,
    },
    /// [`alcor::Board::attach`]
    Attach {
        /// Number of the board.
        board: u32,
        /// The local rank.
        rank: u32,
    },
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// Success without a value.
    Done,
    /// A register's value.
    Value(u32),
    /// A traffic digest, if the board has one.
    Digest(Option<u32>),
    /// The rank is attached. Its mailbox comes with this message.
    Attached {
        /// The present time.
        now: u64,
        /// [`alcor::RunView::wants_notes`]
        wants_notes: bool,
    },
    /// The request failed.
    Failed(Fault),
}

/// [`RankWait`]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    rank: u32,
    what: String,
    on: Vec<u32>,
    is_any: bool,
    meets: Option<String>,
    looks: bool,
    is_over: bool,
}

impl From<&RankWait> for Wait {
    fn from(wait: &RankWait) -> Wait {
        Wait {
            rank: wait.rank.0,
            what: wait.what.clone(),
            on: wait.on.iter().map(|rank| rank.0).collect(),
            is_any: wait.is_any,
            meets: wait.meets.clone(),
            looks: wait.looks,
            is_over: wait.is_over,
        }
    }
}

impl From<Wait> for RankWait {
    fn from(wait: Wait) -> RankWait {
        let mut found = RankWait::new(GlobalRank(wait.rank), wait.what);
        found.on = wait.on.into_iter().map(GlobalRank).collect();
        found.is_any = wait.is_any;
        found.meets = wait.meets;
        found.looks = wait.looks;
        found.is_over = wait.is_over;
        found
    }
}

/// [`alcor::Sight`]
#[derive(Serialize, Deserialize)]
struct Sight {
    least_watchdog: u64,
    moved: u64,
    waits: Vec<Wait>,
}

/// Encodes a wait for the data of a mailbox.
#[must_use]
pub fn bytes_of_wait(wait: &RankWait) -> Vec<u8> {
    serde_json::to_vec(&Wait::from(wait)).unwrap_or_default()
}

/// Decodes a wait. Returns `None` if the bytes are not a wait.
#[must_use]
pub fn wait_of(bytes: &[u8]) -> Option<RankWait> {
    Some(serde_json::from_slice::<Wait>(bytes).ok()?.into())
}

/// Encodes the state of a run for the data of a mailbox.
#[must_use]
pub fn bytes_of_sight(sight: &alcor::Sight) -> Vec<u8> {
    let sight = Sight {
        least_watchdog: sight.least_watchdog,
        moved: sight.moved,
        waits: sight.waits.iter().map(Wait::from).collect(),
    };
    serde_json::to_vec(&sight).unwrap_or_default()
}

/// Decodes the state of a run. Returns `None` if the bytes are not a state.
#[must_use]
pub fn sight_of(bytes: &[u8]) -> Option<alcor::Sight> {
    let sight: Sight = serde_json::from_slice(bytes).ok()?;
    let mut found = alcor::Sight::default();
    found.least_watchdog = sight.least_watchdog;
    found.moved = sight.moved;
    found.waits = sight.waits.into_iter().map(RankWait::from).collect();
    Some(found)
}
