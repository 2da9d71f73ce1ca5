//! What a server tells whoever watches it.

use std::fmt;

use alcor::GlobalRank;

/// Something that happened to a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A process has attached it.
    Attached(GlobalRank),
    /// It has left the run in good order.
    Left(GlobalRank),
    /// Its connection ended before that.
    Died(GlobalRank),
    /// It has been outside the library for longer than it may, and its peers were told.
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
                "{rank} has been outside the library for longer than it may, and its peers were told"
            ),
        }
    }
}
