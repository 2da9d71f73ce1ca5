//! Messages as calls and hardware name them.

use std::fmt;

use alcor_abi::packets::{x_message, x_tag};

use crate::{Datatype, GlobalRank, NodeAddr};

/// The largest tag.
pub const TAG_UB: u32 = x_tag::TAG.max();

/// Whose messages a receive or probe is for: of one rank, as the call counts ranks, or of any.
///
/// # Examples
/// ```
/// use alcor::{GlobalRank, Source};
/// assert_eq!(Source::from(GlobalRank(3)), Source::Rank(3));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// Any rank.
    Any,
    /// This rank.
    Rank(u32),
}

impl From<u32> for Source {
    fn from(rank: u32) -> Source {
        Source::Rank(rank)
    }
}

impl From<GlobalRank> for Source {
    fn from(rank: GlobalRank) -> Source {
        Source::Rank(rank.0)
    }
}

/// Which messages a receive or probe is for: those of one tag, or of any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tag {
    /// Any tag.
    Any,
    /// This tag, at most [`TAG_UB`].
    Is(u32),
}

impl From<u32> for Tag {
    fn from(tag: u32) -> Tag {
        Tag::Is(tag)
    }
}

/// What a [`Message`] is at the rank that asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MessageKind {
    /// A message that is sent.
    Send,
    /// A receive.
    Receive,
    /// A look at messages that no receive has taken.
    Probe,
}

/// A send, receive or probe as the hardware takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Message {
    /// Send, receive or probe.
    pub kind: MessageKind,
    /// Where it goes to or comes from; `None` for any source.
    pub peer: Option<GlobalRank>,
    /// Its tag; `None` for any.
    pub tag: Option<u32>,
    /// Its communicator's context: 0 for the world.
    pub context: u8,
    /// Address in local node memory.
    pub local: NodeAddr,
    /// Bytes: of a receive, how many fit.
    pub length: u32,
}

impl Message {
    /// Whether this receive is for a message of this context that was found.
    pub(super) fn is_for(&self, context: u8, found: &MessageStatus) -> bool {
        self.context == context
            && self.peer.is_none_or(|peer| peer == found.pid)
            && self.tag.is_none_or(|tag| tag == found.tag)
    }

    pub(super) fn tag_operand(&self) -> u32 {
        x_tag::TAG.put(self.tag.unwrap_or(0))
            | x_tag::ANY_TAG.put(u32::from(self.tag.is_none()))
            | x_tag::ANY_SOURCE.put(u32::from(self.peer.is_none()))
    }

    pub(super) fn commit(&self, id: u16) -> u32 {
        x_message::RANK.put(self.peer.map_or(0, |peer| peer.0))
            | x_message::CONTEXT.put(u32::from(self.context))
            | x_message::ID.put(u32::from(id))
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, way) = match self.kind {
            MessageKind::Send => ("send", "to"),
            MessageKind::Receive => ("receive", "from"),
            MessageKind::Probe => ("probe", "for a message from"),
        };
        write!(f, "{kind} ")?;
        if self.kind != MessageKind::Probe {
            write!(f, "of {} bytes ", self.length)?;
        }
        match self.peer {
            Some(peer) => write!(f, "{way} {peer}, ")?,
            None => write!(f, "{way} any rank, ")?,
        }
        match self.tag {
            Some(tag) => write!(f, "tag {tag}, ")?,
            None => write!(f, "any tag, ")?,
        }
        write!(f, "context {}", self.context)
    }
}

/// What a receive or probe found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageStatus {
    /// The rank that sent it, as the call counts ranks: in the run, or in the communicator.
    pub source: u32,
    /// The rank that sent it, in the run.
    pub pid: GlobalRank,
    /// Its tag.
    pub tag: u32,
    /// Bytes of the message, also where fewer were received.
    pub length: u32,
    /// The receive was cancelled: there is no message, and nothing else here means anything.
    pub cancelled: bool,
}

impl MessageStatus {
    /// The same, with its source as a communicator of these members counts it.
    pub(crate) fn counted(mut self, members: Option<&[GlobalRank]>) -> MessageStatus {
        if let Some(members) = members {
            let place = members.iter().position(|&member| member == self.pid);
            self.source = place.unwrap_or(0) as u32;
        }
        self
    }

    /// Elements of type `T` in the message; `None` when it ends in the middle of one.
    #[must_use]
    pub fn count<T: Datatype>(&self) -> Option<usize> {
        let whole = self.length.is_multiple_of(T::BYTES);
        whole.then_some((self.length / T::BYTES) as usize)
    }
}
