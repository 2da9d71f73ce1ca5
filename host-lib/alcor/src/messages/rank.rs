//! Sends and receives between ranks of the run.

use super::peers::Peers;
use super::{MessageKind, MessageStatus, Source, Tag};
use crate::request::Request;
use crate::{Datatype, Error, GlobalRank, Rank, Region, Result};

/// # Messages
///
/// Sends and receives as in MPI, between ranks of the run by their numbers;
/// [`Communicator`] has the same among its members, kept apart from all others. A receive takes the
/// first message that its source and tag are for, and between two ranks of one communicator none
/// overtakes another. The hardware matches them, without the host: a message that is expected goes
/// straight to where the receive wants it.
///
/// A short message travels at once, and completes when a receive has taken it; of one that is
/// longer than [`BoardInfo::fragment_bytes`], the receiver's hardware fetches the data. Nothing is
/// ever dropped: what its receiver has no room for waits in the sender's library. There is room for as
/// many messages of each rank as the queues' depth has to each of the run's ranks
/// ([`BoardInfo::message_depth`] / [`Rank::nprocs`], one at least). A rank that leaves so many of
/// another's messages and waits for one that was sent behind them waits in vain, until it has received
/// some of them: that is what programs for it have to heed beyond the rules of MPI.
///
/// All of them need a board with message engines, and fail with [`Error::MissingCapability`] on
/// others, with [`Error::MessageRoom`] when the ranks are too many for the queues or the ring, with
/// [`Error::NoSuchMember`] for a rank that there is not, and with [`Error::OutOfRange`] for a tag
/// beyond [`TAG_UB`].
impl Rank {
    /// Sends `values`, which are staged in node memory for as long as it takes. A short message is
    /// on its way when this returns, but need not have been received; a longer one has been.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general, and [`Error::OutOfNodeMemory`]; [`Error::Watchdog`]
    /// when the receiver has no room, or a longer message is not received.
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
    pub fn send<T: Datatype>(&mut self, to: GlobalRank, tag: u32, values: &[T]) -> Result<()> {
        Peers::RUN.send_slice(self, to.0, tag, values)
    }

    /// Waits for a message and fills `values` with its elements. Of an element that came in part,
    /// nothing is copied.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general, and [`Error::OutOfNodeMemory`]; [`Error::Truncated`]
    /// when the message was longer than `values`, which have what fits then; [`Error::Watchdog`].
    pub fn recv<T: Datatype>(
        &mut self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
        values: &mut [T],
    ) -> Result<MessageStatus> {
        Peers::RUN.recv_slice(self, source.into(), tag.into(), values)
    }

    /// Starts to send all of `local`, which must stay as it is until the request is complete: when a
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
    ///     let theirs = rank.alloc::<u32>(1000)?;
    ///     let receive = rank.irecv(other, Tag::Any, &theirs)?;
    ///     let send = rank.isend(other, 5, &mine)?;
    ///     let status = rank.wait_message(receive)?;
    ///     assert_eq!((status.pid, status.tag, status.length), (other, 5, 4000));
    ///     rank.wait(send)
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn isend<T: Datatype>(
        &mut self,
        to: GlobalRank,
        tag: u32,
        local: &Region<T>,
    ) -> Result<Request> {
        Peers::RUN.isend(self, to.0, tag, local)
    }

    /// Posts a receive into `local`; [`Rank::wait_message`] says what it received.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general.
    pub fn irecv<T: Datatype>(
        &mut self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
        local: &Region<T>,
    ) -> Result<Request> {
        Peers::RUN.irecv(self, source.into(), tag.into(), local)
    }

    /// Waits until there is a message that a receive of this source and tag would take next, and
    /// leaves it there.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general; [`Error::Watchdog`].
    pub fn probe(
        &mut self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<MessageStatus> {
        Peers::RUN.probe(self, source.into(), tag.into())
    }

    /// The message that a receive of this source and tag would take now, if there is one.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general; [`Error::Watchdog`] when it was asked in vain for
    /// longer than a wait may last.
    pub fn iprobe(
        &mut self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Option<MessageStatus>> {
        Peers::RUN.iprobe(self, source.into(), tag.into())
    }

    /// Cancels a receive. It completes all the same: with [`MessageStatus::cancelled`], or, if a
    /// message was faster, with that message.
    ///
    /// # Errors
    /// [`Error::NotAReceive`], [`Error::ForeignRequest`], and what ends every wait.
    pub fn cancel(&mut self, request: &Request) -> Result<()> {
        self.check_receive(request)?;
        self.progress.check()?;
        self.progress.cancel_receive(request.number())
    }

    /// Waits until a receive is complete; what it received.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::NotAReceive`]; as [`Rank::wait`].
    pub fn wait_message(&mut self, request: Request) -> Result<MessageStatus> {
        self.check_receive(&request)?;
        self.wait_for_all(std::slice::from_ref(&request))?;
        self.progress.outstanding.claim(&request)?;
        // It is known, since it has been waited for.
        let rank = self.pid();
        request.message_status().ok_or(Error::NotAReceive { rank })
    }

    fn check_receive(&self, request: &Request) -> Result<()> {
        self.progress.outstanding.check(request)?;
        match request.message() {
            Some(message) if message.kind == MessageKind::Receive => Ok(()),
            _ => Err(Error::NotAReceive { rank: self.pid() }),
        }
    }
}
