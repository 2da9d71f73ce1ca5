//! Events of a server.

use std::fmt;

use alcor::GlobalRank;

/// An event of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A process has attached the rank.
    Attached(GlobalRank),
    /// The rank has left the run properly.
    Left(GlobalRank),
    /// The connection ended before the rank left.
    Died(GlobalRank),
    /// The rank has exceeded the time that it may stay outside the library. Its peers got an error.
    Away(GlobalRank),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Attached(rank) => write!(f, "{rank} attached"),
            Event::Left(rank) => write!(f, "{rank} left"),
            Event::Died(rank) => write!(f, "{rank} died"),
            Event::Away(rank) => write!(
                f,
                "{rank} has exceeded the time that it may stay outside the library; its peers got an error"
            ),
        }
    }
}
