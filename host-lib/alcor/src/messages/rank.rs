//! Sends and receives between ranks of the run.

use super::peers::Peers;
use super::{MessageKind, MessageStatus, Source, Tag};
use crate::request::Request;
use crate::{Buffer, BufferMut, Error, GlobalRank, Rank, Result};

/// # Messages
///
/// Sends and receives as in MPI, between the ranks of the run.
/// [`Communicator`](crate::Communicator) has the same calls for its members, with separate
/// messages. A receive takes the first message that matches its source and tag. Messages between
/// two ranks of one communicator do not overtake each other. The hardware matches messages without
/// the host. An expected message goes straight into the buffer of its receive.
///
/// A short message travels at once, and completes when a receive or the receiver's library has
/// taken the message. If a message is longer than
/// [`BoardInfo::fragment_bytes`](crate::BoardInfo::fragment_bytes), the receiver's hardware fetches
/// the data, and the message completes when a receive has taken it. No message is dropped.
///
/// The hardware holds a number of unexpected messages of each source: the depth of the queues
/// divided by the number of ranks
/// ([`BoardInfo::message_depth`](crate::BoardInfo::message_depth) / [`Rank::nprocs`]), and at least
/// one. Further messages wait in the library of the sender. A rank that has waited for 4096 cycles,
/// for whatever event, takes these messages over from its hardware, and makes room. So a message
/// arrives behind any number of messages that the rank has not received. Short messages are then in
/// the host memory of the receiver, and long messages in the node memory of the sender.
///
/// [`Options::unexpected_bytes`](crate::Options::unexpected_bytes) limits this host memory. Beyond
/// the limit, calls fail with [`Error::UnexpectedMessages`].
///
/// On boards with [kernels](Rank::kernel) the library does not take over long messages, because a
/// kernel does not keep the payload. There a rank must receive long messages before it waits for a
/// message behind them.
///
/// These calls fail with [`Error::MissingCapability`] on boards without message engines, with
/// [`Error::MessageRoom`] if the queues or the ring are too short for the number of ranks, with
/// [`Error::NoSuchMember`] for a rank that does not exist, and with [`Error::OutOfRange`] for a tag
/// above [`TAG_UB`](crate::TAG_UB).
impl Rank {
    /// Sends `values`. On return the caller may reuse `values`, as in the standard mode of MPI.
    /// Host memory of at most [`BoardInfo::fragment_bytes`](crate::BoardInfo::fragment_bytes) has
    /// been copied then, and the message is under way. Any other message has been received.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general; [`Error::OutOfNodeMemory`]; [`Error::Watchdog`] if
    /// the receiver has no room, or a longer message is not received.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Source, Tag, soft::SoftBoard};
    /// let sums = Job::new(SoftBoard::new(3))?.run(3, |rank| {
    ///     if rank.pid() != GlobalRank(0) {
    ///         rank.send(GlobalRank(0), 7, &[rank.pid().0, 10])?;
    ///         return Ok(0);
    ///     }
    ///     let mut sum = 0;
    ///     for _ in 1..rank.nprocs() {
    ///         let mut values = [0; 8];
    ///         let status = rank.recv(Source::Any, 7, &mut values)?;
    ///         assert_eq!(status.count::<u32>(), Some(2));
    ///         assert_eq!(values[0], status.source);
    ///         sum += values[0] * values[1];
    ///     }
    ///     Ok(sum)
    /// })?;
    /// assert_eq!(sums[0], 30);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn send(&mut self, to: GlobalRank, tag: u32, values: impl Buffer) -> Result<()> {
        Peers::RUN.send(self, to.0, tag, values)
    }

    /// Waits for a message and fills `values` with its elements. An incomplete last element is not
    /// copied to host memory.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general; [`Error::OutOfNodeMemory`]; [`Error::Truncated`] if
    /// the message is longer than `values`, which then hold its beginning; [`Error::Watchdog`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Tag, soft::SoftBoard};
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     if rank.pid() == GlobalRank(0) {
    ///         return rank.send(GlobalRank(1), 3, &[1.5, 2.5]);
    ///     }
    ///     let mut values = [0.0; 4];
    ///     let status = rank.recv(GlobalRank(0), Tag::Any, &mut values)?;
    ///     assert_eq!((status.tag, status.count::<f64>()), (3, Some(2)));
    ///     assert_eq!(values, [1.5, 2.5, 0.0, 0.0]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recv(
        &mut self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
        values: impl BufferMut,
    ) -> Result<MessageStatus> {
        Peers::RUN.recv(self, source.into(), tag.into(), values)
    }

    /// Starts a send of all of `local`, which the request borrows. The request is complete when a
    /// receive has taken the message.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, GlobalRank, Tag, soft::SoftBoard};
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     let other = GlobalRank(1 - rank.pid().0);
    ///     let mine = rank.alloc_from(&[rank.pid().0; 1000])?;
    ///     let mut theirs = [0u32; 1000];
    ///     let receive = rank.irecv(other, Tag::Any, &mut theirs)?;
    ///     let send = rank.isend(other, 5, &mine)?;
    ///     let status = rank.wait_message(receive)?;
    ///     assert_eq!((status.pid, status.tag, status.length), (other, 5, 4000));
    ///     rank.wait(send)?;
    ///     assert_eq!(theirs, [other.0; 1000]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn isend<'a>(
        &mut self,
        to: GlobalRank,
        tag: u32,
        local: impl Buffer + 'a,
    ) -> Result<Request<'a>> {
        Peers::RUN.isend(self, to.0, tag, local)
    }

    /// Posts a receive into `local`. [`Rank::wait_message`] returns the status of the message.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Source, soft::SoftBoard};
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     if rank.pid() == GlobalRank(1) {
    ///         return rank.send(GlobalRank(0), 0, &[7]);
    ///     }
    ///     // Into node memory, without a copy.
    ///     let mut inbox = rank.alloc_from(&[0; 4])?;
    ///     let receive = rank.irecv(Source::Any, 0, &mut inbox)?;
    ///     assert_eq!(rank.wait_message(receive)?.length, 4);
    ///     assert_eq!(rank.read_vec(&inbox)?, [7, 0, 0, 0]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The request borrows the buffer:
    /// ```compile_fail,E0502
    /// # use alcor::{Job, Source, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let mut inbox = [0; 4];
    /// let receive = rank.irecv(Source::Any, 0, &mut inbox)?;
    /// assert_eq!(inbox[0], 0);
    /// rank.wait(receive)
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn irecv<'a>(
        &mut self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
        local: impl BufferMut + 'a,
    ) -> Result<Request<'a>> {
        Peers::RUN.irecv(self, source.into(), tag.into(), local)
    }

    /// Waits until a message matches this source and tag, and leaves the message in the queue. The
    /// message is the one that a receive would take next.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general; [`Error::Watchdog`].
    ///
    /// # Examples
    /// A message of unknown length:
    /// ```
    /// # use alcor::{GlobalRank, Job, Source, Tag, soft::SoftBoard};
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     if rank.pid() == GlobalRank(1) {
    ///         return rank.send(GlobalRank(0), 9, &[1, 2, 3]);
    ///     }
    ///     let found = rank.probe(Source::Any, Tag::Any)?;
    ///     let mut values = vec![0; found.count::<i32>().unwrap_or(0)];
    ///     rank.recv(found.pid, found.tag, &mut values)?;
    ///     assert_eq!(values, [1, 2, 3]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn probe(
        &mut self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<MessageStatus> {
        Peers::RUN.probe(self, source.into(), tag.into())
    }

    /// Returns the message that a receive of this source and tag would take now, if there is one.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general; [`Error::Watchdog`] if the program has polled for
    /// longer than a wait may last.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Source, Tag, soft::SoftBoard};
    /// Job::new(SoftBoard::new(1))?.run(1, |rank| {
    ///     assert!(rank.iprobe(Source::Any, Tag::Any)?.is_none());
    ///     rank.send(GlobalRank(0), 1, &[5u8])?;
    ///     while rank.iprobe(Source::Any, 1)?.is_none() {}
    ///     rank.recv(Source::Any, 1, &mut [0u8]).map(drop)
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iprobe(
        &mut self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Option<MessageStatus>> {
        Peers::RUN.iprobe(self, source.into(), tag.into())
    }

    /// Cancels a receive. The request then completes with [`MessageStatus::cancelled`], or with a
    /// message that arrived earlier.
    ///
    /// # Errors
    /// [`Error::NotAReceive`], [`Error::ForeignRequest`], and the errors of all waits.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Source, soft::SoftBoard};
    /// Job::new(SoftBoard::new(1))?.run(1, |rank| {
    ///     let mut values = [1u8; 4];
    ///     let receive = rank.irecv(Source::Any, 0, &mut values)?;
    ///     rank.cancel(&receive)?;
    ///     assert!(rank.wait_message(receive)?.cancelled);
    ///     assert_eq!(values, [1; 4]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(&mut self, request: &Request<'_>) -> Result<()> {
        self.check_receive(request)?;
        self.progress.check()?;
        self.progress.cancel_receive(request.number())
    }

    /// Waits until a receive is complete. Returns the status of the message.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::NotAReceive`]; as [`Rank::wait`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Source, Tag, soft::SoftBoard};
    /// Job::new(SoftBoard::new(1))?.run(1, |rank| {
    ///     let mut values = [0u8; 4];
    ///     let receive = rank.irecv(Source::Any, Tag::Any, &mut values)?;
    ///     rank.send(GlobalRank(0), 8, &[5u8])?;
    ///     let status = rank.wait_message(receive)?;
    ///     assert_eq!((status.source, status.tag, status.length), (0, 8, 1));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_message(&mut self, mut request: Request<'_>) -> Result<MessageStatus> {
        self.check_receive(&request)?;
        self.wait_for_all(std::slice::from_ref(&request))?;
        self.end_request(&mut request)?;
        // The receive is complete, so its status is known.
        let rank = self.pid();
        request.message_status().ok_or(Error::NotAReceive { rank })
    }

    fn check_receive(&self, request: &Request<'_>) -> Result<()> {
        self.progress.outstanding.check(request)?;
        match request.message() {
            Some(message) if message.kind == MessageKind::Receive => Ok(()),
            _ => Err(Error::NotAReceive { rank: self.pid() }),
        }
    }
}
