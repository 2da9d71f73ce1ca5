//! Messages that a matched probe has taken out of the queue.

use std::fmt;
use std::sync::Arc;

use super::overflow::Claim;
use super::{Message, MessageKind, MessageStatus};
use crate::buffer::Copied;
use crate::request::{Descriptor, Request};
use crate::{BufferMut, Error, GlobalRank, Rank, Result};

/// A message that a matched probe has found: [`Rank::improbe`], [`Rank::mprobe`], and the same calls
/// of a [`Communicator`](crate::Communicator).
///
/// Only [`MatchedMessage::recv`] or [`MatchedMessage::irecv`] receives the message. No other receive
/// or probe finds it, and no cancel affects it. The payload of a short message is in host memory,
/// and the payload of a long or synchronous message is at its sender until the receive starts.
///
/// A message that is dropped returns to its place in the queue, as if no probe had found it: before
/// the later messages of its source. A receive that waits for the message takes it with the next
/// call of the rank.
///
/// # Examples
/// A message of unknown length, beside other receives of the same source and tag:
/// ```
/// # use alcor::{GlobalRank, Job, Source, Tag, soft::SoftBoard};
/// Job::new(SoftBoard::new(2))?.run(2, |rank| {
///     if rank.pid() == GlobalRank(1) {
///         rank.send(GlobalRank(0), 9, &[1, 2, 3])?;
///         return rank.send(GlobalRank(0), 9, &[4]);
///     }
///     let first = rank.mprobe(Source::Any, Tag::Any)?;
///     let mut other = [0];
///     rank.recv(Source::Any, 9, &mut other)?; // the second message
///     let mut values = vec![0; first.status().count::<i32>().unwrap_or(0)];
///     first.recv(rank, &mut values)?;
///     assert_eq!((values, other), (vec![1, 2, 3], [4]));
///     Ok(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a message that is dropped returns to the queue"]
pub struct MatchedMessage {
    pub(super) status: MessageStatus,
    pub(super) context: u8,
    /// The members of a communicator; `None` for the ranks of the run.
    pub(super) members: Option<Arc<[GlobalRank]>>,
    pub(super) claim: Arc<Claim>,
    /// The rank that has found the message.
    pub(super) issuer: u64,
}

impl MatchedMessage {
    /// Source, tag and length of the message.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Source, Tag, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// rank.send(rank.pid(), 3, &[7u8; 5])?;
    /// let message = rank.mprobe(Source::Any, Tag::Any)?;
    /// assert_eq!((message.status().tag, message.status().length), (3, 5));
    /// message.recv(rank, &mut [0u8; 5])?;
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn status(&self) -> MessageStatus {
        self.status
    }

    /// Receives the message.
    ///
    /// # Errors
    /// As [`Rank::recv`]; [`Error::ForeignRequest`] if another rank has found the message. After an
    /// error other than [`Error::Truncated`], [`Error::Watchdog`] and the end of the run, the
    /// message is in its queue again.
    ///
    /// # Examples
    /// See [`MatchedMessage`].
    pub fn recv(self, rank: &mut Rank, values: impl BufferMut) -> Result<MessageStatus> {
        let request = self.irecv(rank, values)?;
        rank.wait_message(request)
    }

    /// Starts the receive of the message. [`Rank::wait_message`] returns the status. A cancel of the
    /// request has no effect.
    ///
    /// # Errors
    /// As [`MatchedMessage::recv`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Tag, soft::SoftBoard};
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     let other = GlobalRank(1 - rank.pid().0);
    ///     let mine = rank.alloc_from(&[rank.pid().0; 1000])?;
    ///     let send = rank.isend(other, 5, &mine)?;
    ///     let message = rank.mprobe(other, Tag::Any)?;
    ///     let mut theirs = [0u32; 1000];
    ///     let receive = message.irecv(rank, &mut theirs)?;
    ///     assert_eq!(rank.wait_message(receive)?.length, 4000);
    ///     rank.wait(send)?;
    ///     assert_eq!(theirs, [other.0; 1000]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn irecv<'a>(self, rank: &mut Rank, local: impl BufferMut + 'a) -> Result<Request<'a>> {
        if rank.progress.outstanding.issuer() != self.issuer {
            return Err(Error::ForeignRequest { rank: rank.pid() });
        }
        rank.check_messages()?;
        let (local, copy_back) = local.destination(rank, Copied::Fresh)?;
        let (source, tag) = (Some(self.status.pid), Some(self.status.tag));
        let message = Message {
            local: local.addr(),
            length: local.byte_len(),
            ..Message::empty(MessageKind::Receive, source, tag, self.context)
        };
        let members = self.members;
        let descriptor = Descriptor::Message { message, members };
        let held = [Some(local.hold()), None];
        let request = rank
            .progress
            .receive_claimed(self.claim, descriptor, held)?;
        Ok(request.with_copy_back(copy_back))
    }
}

impl fmt::Debug for MatchedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatchedMessage")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}
