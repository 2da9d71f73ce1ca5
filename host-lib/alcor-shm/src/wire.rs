//! What is said on a connection, as JSON behind its length in 4 bytes.
//!
//! A connection begins with [`Hello`] and its answer [`Welcome`], which stay as they are in all versions. Then each [`Request`] has
//! its [`Reply`]. After [`Request::Attach`] was answered with [`Reply::Attached`], with which the [mailbox](crate::mailbox)
//! comes, there are no more messages.

use alcor::{GlobalRank, RankWait};
use serde::{Deserialize, Serialize};

use crate::fault::Fault;

/// The version of the messages and of the mailbox.
pub const VERSION: u32 = 2;

/// How whoever connects begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its version.
    pub version: u32,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Welcome {
    /// The version is the same.
    Cluster(Description),
    /// The version is another, and the connection ends.
    OtherVersion {
        /// The cluster's version.
        version: u32,
    },
}

/// A cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// What was opened: the URI of its configuration.
    pub uri: String,
    /// Boards in each dimension; none for a board alone.
    pub dims: Vec<u32>,
    /// Names of the boards, in the order of their numbers.
    pub boards: Vec<String>,
}

/// What is asked of a board, by its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// [`alcor::Board::read32`]
    Read {
        /// Which board.
        board: u32,
        /// Which register.
        offset: u32,
    },
    /// [`alcor::Board::write32`]
    Write {
        /// Which board.
        board: u32,
        /// Which register.
        offset: u32,
        /// Its value.
        value: u32,
    },
    /// [`alcor::Board::reset`]
    Reset {
        /// Which board.
        board: u32,
    },
    /// [`alcor::Board::expect`]
    Expect {
        /// Which board.
        board: u32,
        /// How many ports.
        ports: u32,
    },
    /// [`alcor::Board::traffic_digest`]
    Digest {
        /// Which board.
        board: u32,
    },
    /// [`alcor::Board::attach`]
    Attach {
        /// Which board.
        board: u32,
        /// Which of its ranks.
        rank: u32,
    },
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// It was done.
    Done,
    /// A register's value.
    Value(u32),
    /// A digest, if there is one.
    Digest(Option<u32>),
    /// The rank is attached; its mailbox comes with this message.
    Attached {
        /// The present time.
        now: u64,
        /// [`alcor::Port::wants_notes`]
        wants_notes: bool,
    },
    /// It could not be done.
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
        }
    }
}

impl From<Wait> for RankWait {
    fn from(wait: Wait) -> RankWait {
        RankWait {
            rank: GlobalRank(wait.rank),
            what: wait.what,
            on: wait.on.into_iter().map(GlobalRank).collect(),
            is_any: wait.is_any,
            meets: wait.meets,
            looks: wait.looks,
        }
    }
}

/// [`alcor::Sight`]
#[derive(Serialize, Deserialize)]
struct Sight {
    least_watchdog: u64,
    moved: u64,
    waits: Vec<Wait>,
}

/// A wait as bytes of a mailbox's data.
#[must_use]
pub fn bytes_of_wait(wait: &RankWait) -> Vec<u8> {
    serde_json::to_vec(&Wait::from(wait)).unwrap_or_default()
}

/// The wait that these bytes are, if they are one.
#[must_use]
pub fn wait_of(bytes: &[u8]) -> Option<RankWait> {
    Some(serde_json::from_slice::<Wait>(bytes).ok()?.into())
}

/// What is known of a run as bytes of a mailbox's data.
#[must_use]
pub fn bytes_of_sight(sight: &alcor::Sight) -> Vec<u8> {
    let sight = Sight {
        least_watchdog: sight.least_watchdog,
        moved: sight.moved,
        waits: sight.waits.iter().map(Wait::from).collect(),
    };
    serde_json::to_vec(&sight).unwrap_or_default()
}

/// What these bytes say of a run, if they do.
#[must_use]
pub fn sight_of(bytes: &[u8]) -> Option<alcor::Sight> {
    let sight: Sight = serde_json::from_slice(bytes).ok()?;
    Some(alcor::Sight {
        least_watchdog: sight.least_watchdog,
        moved: sight.moved,
        waits: sight.waits.into_iter().map(RankWait::from).collect(),
    })
}
