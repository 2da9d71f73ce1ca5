//! Sends and receives between members of a communicator.

use std::sync::Arc;

use super::peers::Peers;
use super::{MatchedMessage, MessageStatus, Source, Tag};
use crate::request::Request;
use crate::{Buffer, BufferMut, Communicator, Rank, Result};

/// # Messages
///
/// These calls work as [those of a rank](Rank#messages). A communicator's members are named by
/// their ranks in the communicator. A message is received only in its own communicator.
///
/// Each communicator, the world included, has one of 254 message contexts, or several
/// ([`Communicator::dup_with_queues`]). Communicators that share a rank have different contexts. If
/// no context is free, calls of messages fail with [`Error::BadCommunicator`], and all other calls
/// succeed. [`Communicator::free`] frees a context. All messages of a communicator must be received
/// before the communicator is freed.
///
/// [`Error::BadCommunicator`]: crate::Error::BadCommunicator
impl Communicator {
    pub(crate) fn peers(&self, rank: &mut Rank) -> Result<Peers> {
        self.check(rank)?;
        self.check_revoked(rank)?;
        Ok(Peers(Some(Arc::clone(&self.shape))))
    }

    /// As [`Rank::send`].
    ///
    /// # Errors
    /// As [`Rank::send`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Source, Tag, soft::SoftBoard};
    /// Job::new(SoftBoard::new(4))?.run(4, |rank| {
    ///     let world = rank.world()?;
    ///     let Some(half) = world.split(rank, Some(rank.pid().0 % 2), 0)? else {
    ///         return Ok(());
    ///     };
    ///     half.send(rank, 1 - half.rank(), 0, &[rank.pid().0])?;
    ///     let mut other = [0];
    ///     let status = half.recv(rank, Source::Any, Tag::Any, &mut other)?;
    ///     assert_eq!(status.source, 1 - half.rank());
    ///     assert_eq!(status.pid.0, other[0]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn send(&self, rank: &mut Rank, to: u32, tag: u32, values: impl Buffer) -> Result<()> {
        self.peers(rank)?.send(rank, to, tag, values)
    }

    /// As [`Rank::recv`].
    ///
    /// # Errors
    /// As [`Rank::recv`].
    ///
    /// # Examples
    /// See [`Communicator::send`].
    pub fn recv(
        &self,
        rank: &mut Rank,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
        values: impl BufferMut,
    ) -> Result<MessageStatus> {
        let peers = self.peers(rank)?;
        peers.recv(rank, source.into(), tag.into(), values)
    }

    /// As [`Rank::isend`].
    ///
    /// # Errors
    /// As [`Rank::isend`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let other = 1 - world.rank();
    /// let mine = [world.rank()];
    /// let send = world.isend(rank, other, 0, &mine)?;
    /// let mut found = [9];
    /// world.recv(rank, other, 0, &mut found)?;
    /// rank.wait(send)?;
    /// assert_eq!(found, [other]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn isend<'a>(
        &self,
        rank: &mut Rank,
        to: u32,
        tag: u32,
        local: impl Buffer + 'a,
    ) -> Result<Request<'a>> {
        self.peers(rank)?.isend(rank, to, tag, local)
    }

    /// As [`Rank::ssend`].
    ///
    /// # Errors
    /// As [`Rank::ssend`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// if world.rank() == 0 {
    ///     world.ssend(rank, 1, 0, &[7])?; // rank 1 has received the value
    /// } else {
    ///     world.recv(rank, 0, 0, &mut [0])?;
    /// }
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ssend(&self, rank: &mut Rank, to: u32, tag: u32, values: impl Buffer) -> Result<()> {
        let request = self.peers(rank)?.issend(rank, to, tag, values)?;
        rank.wait(request)
    }

    /// As [`Rank::issend`].
    ///
    /// # Errors
    /// As [`Rank::issend`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let other = 1 - world.rank();
    /// let mine = [world.rank()];
    /// let send = world.issend(rank, other, 0, &mine)?;
    /// let mut found = [9];
    /// world.recv(rank, other, 0, &mut found)?;
    /// rank.wait(send)?;
    /// # assert_eq!(found, [other]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn issend<'a>(
        &self,
        rank: &mut Rank,
        to: u32,
        tag: u32,
        local: impl Buffer + 'a,
    ) -> Result<Request<'a>> {
        self.peers(rank)?.issend(rank, to, tag, local)
    }

    /// As [`Rank::sendrecv`]. `send` has destination, tag and elements of the sent message.
    /// `receive` has source, tag and buffer of the received message.
    ///
    /// # Errors
    /// As [`Rank::sendrecv`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Tag, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let other = 1 - world.rank();
    /// let mut found = [9];
    /// let mine = [world.rank()];
    /// world.sendrecv(rank, (other, 0, &mine), (other, Tag::Any, &mut found))?;
    /// assert_eq!(found, [other]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sendrecv(
        &self,
        rank: &mut Rank,
        send: (u32, u32, impl Buffer),
        receive: (impl Into<Source>, impl Into<Tag>, impl BufferMut),
    ) -> Result<MessageStatus> {
        let (source, tag, local) = receive;
        let receive = (source.into(), tag.into(), local);
        self.peers(rank)?.sendrecv(rank, send, receive)
    }

    /// As [`Rank::sendrecv_replace`]. `send` has destination and tag of the sent message. `receive`
    /// has source and tag of the received message.
    ///
    /// # Errors
    /// As [`Rank::sendrecv`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let other = 1 - world.rank();
    /// let mut values = [world.rank()];
    /// world.sendrecv_replace(rank, (other, 0), (other, 0), &mut values)?;
    /// assert_eq!(values, [other]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sendrecv_replace(
        &self,
        rank: &mut Rank,
        send: (u32, u32),
        receive: (impl Into<Source>, impl Into<Tag>),
        local: impl BufferMut,
    ) -> Result<MessageStatus> {
        let receive = (receive.0.into(), receive.1.into());
        let peers = self.peers(rank)?;
        peers.sendrecv_replace(rank, send, receive, local)
    }

    /// As [`Rank::irecv`].
    ///
    /// # Errors
    /// As [`Rank::irecv`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let other = 1 - world.rank();
    /// let mut found = [9];
    /// let receive = world.irecv(rank, other, 0, &mut found)?;
    /// world.send(rank, other, 0, &[world.rank()])?;
    /// assert_eq!(rank.wait_message(receive)?.source, other);
    /// assert_eq!(found, [other]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn irecv<'a>(
        &self,
        rank: &mut Rank,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
        local: impl BufferMut + 'a,
    ) -> Result<Request<'a>> {
        let peers = self.peers(rank)?;
        peers.irecv(rank, source.into(), tag.into(), local)
    }

    /// As [`Rank::probe`].
    ///
    /// # Errors
    /// As [`Rank::probe`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Tag, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let other = 1 - world.rank();
    /// world.send(rank, other, 4, &[1u16, 2, 3])?;
    /// let found = world.probe(rank, other, Tag::Any)?;
    /// assert_eq!((found.source, found.tag, found.count::<u16>()), (other, 4, Some(3)));
    /// world.recv(rank, other, 4, &mut [0u16; 3])?;
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn probe(
        &self,
        rank: &mut Rank,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<MessageStatus> {
        self.peers(rank)?.probe(rank, source.into(), tag.into())
    }

    /// As [`Rank::mprobe`].
    ///
    /// # Errors
    /// As [`Rank::mprobe`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Tag, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let other = 1 - world.rank();
    /// world.send(rank, other, 4, &[1u16, 2, 3])?;
    /// let message = world.mprobe(rank, other, Tag::Any)?;
    /// assert_eq!((message.status().source, message.status().tag), (other, 4));
    /// message.recv(rank, &mut [0u16; 3])?;
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mprobe(
        &self,
        rank: &mut Rank,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<MatchedMessage> {
        self.peers(rank)?.mprobe(rank, source.into(), tag.into())
    }

    /// As [`Rank::improbe`].
    ///
    /// # Errors
    /// As [`Rank::improbe`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Source, Tag, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// assert!(world.improbe(rank, Source::Any, Tag::Any)?.is_none());
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn improbe(
        &self,
        rank: &mut Rank,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Option<MatchedMessage>> {
        self.peers(rank)?.improbe(rank, source.into(), tag.into())
    }

    /// As [`Rank::iprobe`].
    ///
    /// # Errors
    /// As [`Rank::iprobe`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Source, Tag, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// assert!(world.iprobe(rank, Source::Any, Tag::Any)?.is_none());
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iprobe(
        &self,
        rank: &mut Rank,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Option<MessageStatus>> {
        self.peers(rank)?.iprobe(rank, source.into(), tag.into())
    }
}
