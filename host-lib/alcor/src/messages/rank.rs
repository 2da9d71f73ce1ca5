//! Sends and receives between ranks of the run.

use super::peers::Peers;
use super::{MatchedMessage, MessageKind, MessageStatus, Source, Tag};
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
/// taken the message. A [synchronous](Rank::ssend) message completes only with a receive. If a
/// message is longer than [`BoardInfo::fragment_bytes`](crate::BoardInfo::fragment_bytes), the
/// receiver's hardware fetches the data, and the message completes when a receive has taken it. No
/// message is dropped.
///
/// The hardware holds a number of unexpected messages of each source: the depth of the queues
/// divided by the number of ranks ([`BoardInfo::message_depth`](crate::BoardInfo::message_depth) /
/// [`Rank::nprocs`]), and at least one. Further messages wait in the library of the sender. A rank
/// that waits for long, for any event, takes unexpected messages over from its hardware, and makes
/// room. So a message arrives even if the rank has left any number of earlier messages unreceived.
/// Short messages are then in the host memory of the receiver, and long messages in the node memory
/// of the sender.
///
/// [`Options::unexpected_bytes`](crate::Options::unexpected_bytes) limits this host memory. Beyond
/// the limit, calls fail with [`Error::UnexpectedMessages`].
///
/// The library does not take over long messages of [kernels](Rank::kernel), because a kernel does
/// not keep the payload. A rank must receive these before it waits for a later message.
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

    /// Sends `values` in the synchronous mode of MPI: returns after a receive has taken the
    /// message.
    ///
    /// The calls differ in the guarantee that a completion gives:
    ///
    /// | call | completes when |
    /// |---|---|
    /// | [`Rank::send`] of host memory, short | the message is under way |
    /// | [`Rank::isend`], short | a receive or the receiver's library has taken the message |
    /// | [`Rank::send`] and [`Rank::isend`], long | a receive has taken the message |
    /// | [`Rank::ssend`] and [`Rank::issend`] | a receive has taken the message |
    ///
    /// The payload of a synchronous message stays at the sender until a receive takes the message,
    /// so the receiver's library cannot complete the send. The receiver's hardware then fetches the
    /// payload. A short synchronous message therefore takes longer than a short message.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general; [`Error::OutOfNodeMemory`]; [`Error::Watchdog`] if
    /// the message is not received.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, soft::SoftBoard};
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     if rank.pid() == GlobalRank(0) {
    ///         return rank.ssend(GlobalRank(1), 0, &[1, 2]); // rank 1 has received the values
    ///     }
    ///     let mut values = [0; 2];
    ///     rank.recv(GlobalRank(0), 0, &mut values)?;
    ///     assert_eq!(values, [1, 2]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ssend(&mut self, to: GlobalRank, tag: u32, values: impl Buffer) -> Result<()> {
        let request = Peers::RUN.issend(self, to.0, tag, values)?;
        self.wait(request)
    }

    /// Sends `values` to `to`, and receives a message of `source` into `local`. Both messages are
    /// under way at the same time, so ranks in a ring may all call `sendrecv` at once. The message
    /// may be received by any receive, and the received message may come from any send.
    ///
    /// # Errors
    /// As [`Rank::recv`] and [`Rank::isend`]. The error of the receive has precedence. If the send
    /// fails first, the receive is cancelled. If the arguments are refused, nothing is sent.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, soft::SoftBoard};
    /// Job::new(SoftBoard::new(3))?.run(3, |rank| {
    ///     let (me, ranks) = (rank.pid().0, rank.nprocs());
    ///     let (right, left) = (GlobalRank((me + 1) % ranks), GlobalRank((me + ranks - 1) % ranks));
    ///     let mut found = [0; 2];
    ///     let status = rank.sendrecv(right, 0, &[me, 10 * me], left, 0, &mut found)?;
    ///     assert_eq!((status.pid, found), (left, [left.0, 10 * left.0]));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sendrecv(
        &mut self,
        to: GlobalRank,
        send_tag: u32,
        values: impl Buffer,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
        local: impl BufferMut,
    ) -> Result<MessageStatus> {
        let receive = (source.into(), tag.into(), local);
        Peers::RUN.sendrecv(self, (to.0, send_tag, values), receive)
    }

    /// As [`Rank::sendrecv`], in place: sends the elements of `local`, and then fills `local` with
    /// the received message. The library copies the elements to node memory of its own.
    ///
    /// # Errors
    /// As [`Rank::sendrecv`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, soft::SoftBoard};
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     let other = GlobalRank(1 - rank.pid().0);
    ///     let mut values = [rank.pid().0; 4];
    ///     rank.sendrecv_replace(other, 0, other, 0, &mut values)?;
    ///     assert_eq!(values, [other.0; 4]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sendrecv_replace(
        &mut self,
        to: GlobalRank,
        send_tag: u32,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
        local: impl BufferMut,
    ) -> Result<MessageStatus> {
        let receive = (source.into(), tag.into());
        Peers::RUN.sendrecv_replace(self, (to.0, send_tag), receive, local)
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
    /// receive has taken the message, or the receiver's library if the message is short.
    /// [`Rank::issend`] excludes the library.
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

    /// Starts a send of all of `local` in the synchronous mode of MPI. The request is complete when
    /// a receive has taken the message: see [`Rank::ssend`].
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Source, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let mut send = rank.issend(rank.pid(), 0, &[5u8])?;
    /// assert!(!rank.test(&mut send)?);
    /// rank.recv(Source::Any, 0, &mut [0u8])?;
    /// rank.wait(send)?;
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn issend<'a>(
        &mut self,
        to: GlobalRank,
        tag: u32,
        local: impl Buffer + 'a,
    ) -> Result<Request<'a>> {
        Peers::RUN.issend(self, to.0, tag, local)
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
    /// message is the next one that a receive would take.
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

    /// Waits until a message matches this source and tag, and takes the message out of the queue.
    /// Only the returned [`MatchedMessage`] can receive the message.
    ///
    /// The library takes the message over into host memory, and with it the earlier messages of its
    /// source. A long or synchronous message stays at its sender.
    ///
    /// # Errors
    /// As [`Rank::probe`]; [`Error::UnexpectedMessages`]; [`Error::MessageOfKernel`] for a long
    /// message of a [kernel](Rank::kernel), or for a message after it.
    ///
    /// # Examples
    /// [`MatchedMessage`] has a longer one.
    /// ```
    /// # use alcor::{Job, Source, Tag, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// rank.send(rank.pid(), 1, &[5u8, 6])?;
    /// let message = rank.mprobe(Source::Any, Tag::Any)?;
    /// let mut values = vec![0u8; message.status().length as usize];
    /// message.recv(rank, &mut values)?;
    /// assert_eq!(values, [5, 6]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mprobe(
        &mut self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<MatchedMessage> {
        Peers::RUN.mprobe(self, source.into(), tag.into())
    }

    /// As [`Rank::mprobe`], without waiting: returns the message that a receive of this source and
    /// tag would take now, if there is one.
    ///
    /// # Errors
    /// As [`Rank::mprobe`] and [`Rank::iprobe`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Source, Tag, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// assert!(rank.improbe(Source::Any, Tag::Any)?.is_none());
    /// rank.send(rank.pid(), 1, &[5u8])?;
    /// let message = rank.improbe(Source::Any, Tag::Any)?.expect("a message");
    /// assert!(rank.iprobe(Source::Any, Tag::Any)?.is_none());
    /// drop(message); // The message is in the queue again.
    /// rank.recv(Source::Any, 1, &mut [0u8])?;
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn improbe(
        &mut self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Option<MatchedMessage>> {
        Peers::RUN.improbe(self, source.into(), tag.into())
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
