//! Messages in the forms of calls and of the hardware.

use std::fmt;

use alcor_abi::packets::{x_message, x_tag};

use super::context::{CALLS, DEFERRED};
use crate::{Datatype, GlobalRank, NodeAddr};

/// The largest tag.
pub const TAG_UB: u32 = x_tag::TAG.max();

/// The source of a receive or probe: one rank, as the call counts ranks, or any rank.
///
/// # Examples
/// ```
/// use alcor::{GlobalRank, Source};
/// assert_eq!(Source::from(GlobalRank(3)), Source::Rank(3));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
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

/// The tag of a receive or probe: one tag, or any tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
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

/// The kind of a [`Message`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MessageKind {
    /// A send.
    Send,
    /// A receive.
    Receive,
    /// A probe for messages that no receive has taken.
    Probe,
}

/// A send, receive or probe as the hardware takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Message {
    /// Send, receive or probe.
    pub kind: MessageKind,
    /// Destination or source; `None` for any source.
    pub peer: Option<GlobalRank>,
    /// The tag; `None` for any tag.
    pub tag: Option<u32>,
    /// The context of the communicator; 0 for the world.
    pub context: u8,
    /// Address in local node memory.
    pub local: NodeAddr,
    /// Length in bytes. For a receive, the size of its buffer.
    pub length: u32,
    /// Whether this receive leaves the payload of an announced message at its sender.
    pub(crate) takes_over: bool,
    /// Whether this send completes only when a receive has taken the message.
    pub(crate) is_synchronous: bool,
}

impl Message {
    /// Returns whether this receive matches a found message of this context.
    pub(crate) fn is_for(&self, context: u8, found: &MessageStatus) -> bool {
        self.context == context
            && self.peer.is_none_or(|peer| peer == found.pid)
            && self.tag.is_none_or(|tag| tag == found.tag)
    }

    pub(super) fn tag_operand(&self) -> u32 {
        x_tag::TAG.put(self.tag.unwrap_or(0))
            | x_tag::DEFER.put(u32::from(self.takes_over))
            | x_tag::ANY_TAG.put(u32::from(self.tag.is_none()))
            | x_tag::ANY_SOURCE.put(u32::from(self.peer.is_none()))
    }

    /// Returns a message or receive without a buffer.
    pub(super) fn empty(
        kind: MessageKind,
        peer: Option<GlobalRank>,
        tag: Option<u32>,
        context: u8,
    ) -> Message {
        Message {
            kind,
            peer,
            tag,
            context,
            local: NodeAddr(0),
            length: 0,
            takes_over: false,
            is_synchronous: false,
        }
    }

    /// Returns the operation that carries the payload of the deferred message of this number.
    pub(super) fn of_deferred(self, number: u32) -> Message {
        Message {
            tag: Some(number),
            context: DEFERRED,
            is_synchronous: false,
            ..self
        }
    }

    /// Returns whether this operation is the library's own, in a context of no communicator.
    pub(crate) fn is_of_library(&self) -> bool {
        self.context >= CALLS
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
        if self.is_synchronous {
            write!(f, "synchronous ")?;
        }
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

/// The message that a receive or probe found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageStatus {
    /// The sending rank, as the call counts ranks: in the run or in the communicator.
    pub source: u32,
    /// The sending rank, in the run.
    pub pid: GlobalRank,
    /// The tag.
    pub tag: u32,
    /// Length of the message in bytes, even if fewer bytes were received.
    pub length: u32,
    /// Whether the receive was cancelled. All other fields are undefined then.
    pub cancelled: bool,
    /// Whether a kernel has announced the message. Only a probe tells.
    pub(crate) of_kernel: bool,
}

impl MessageStatus {
    /// Returns the same status with the source's rank among these members.
    pub(crate) fn counted(mut self, members: Option<&[GlobalRank]>) -> MessageStatus {
        if let Some(members) = members {
            let place = members.iter().position(|&member| member == self.pid);
            self.source = place.unwrap_or(0) as u32;
        }
        self
    }

    /// Number of elements of type `T` in the message; `None` if the last element is incomplete.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Source, Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// rank.send(rank.pid(), 0, &[1.5f64, 2.5])?;
    /// let status = rank.recv(Source::Any, 0, &mut [0.0f64; 4])?;
    /// assert_eq!((status.count::<f64>(), status.count::<u8>()), (Some(2), Some(16)));
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn count<T: Datatype>(&self) -> Option<usize> {
        let whole = self.length.is_multiple_of(T::BYTES);
        whole.then_some((self.length / T::BYTES) as usize)
    }
}
