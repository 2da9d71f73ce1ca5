//! Counters of a rank's message engine.

use alcor_abi::rank::{self, message_queues};

use crate::{Lab, Result};

/// Counters of a rank's message engine since the board's reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MatchCounters {
    /// Number of posted receives now.
    pub posted: u32,
    /// Number of unexpected messages now.
    pub unexpected: u32,
    /// Messages whose receive the matching unit found.
    pub posted_by_unit: u32,
    /// Messages whose receive was found by a walk over the rest of the queue.
    pub posted_by_walk: u32,
    /// Receives whose message the matching unit found.
    pub unexpected_by_unit: u32,
    /// Receives whose message was found by a walk over the rest of the queue.
    pub unexpected_by_walk: u32,
    /// Messages that were refused because of a full queue.
    pub refused: u32,
}

/// # The message engine
impl Lab<'_> {
    /// Sets the queue lengths from which on the engine moves entries into the matching units: of
    /// posted receives, and of unexpected messages. `None` disables the unit.
    ///
    /// # Errors
    /// [`Error::MissingCapability`](crate::Error::MissingCapability); errors of the backend.
    ///
    /// # Examples
    /// See [`Lab::match_counters`].
    pub fn match_thresholds(&mut self, posted: Option<u16>, unexpected: Option<u16>) -> Result<()> {
        self.rank.check_messages()?;
        let length = |threshold: Option<u16>| u32::from(threshold.unwrap_or(u16::MAX));
        self.rank
            .progress
            .write(rank::POSTED_THRESHOLD, length(posted))?;
        self.rank
            .progress
            .write(rank::UNEXPECTED_THRESHOLD, length(unexpected))
    }

    /// Sets the number of cycles that a wait lasts before this rank's library takes over unexpected
    /// messages if there are as many as one source may have. The default is 4096. A wait of four
    /// times this number takes over any unexpected message. With 0, each wait does so at once.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// rank.lab().take_over_after(0);
    /// rank.send(GlobalRank(0), 0, &[1])?;
    /// rank.barrier()?;
    /// let mut value = [0];
    /// rank.recv(GlobalRank(0), 0, &mut value)?;
    /// assert_eq!(value, [1]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_over_after(&mut self, cycles: u64) {
        self.rank.progress.messages.listen_after = cycles;
    }

    /// Sets whether this rank's library matches messages with receives, in place of the hardware, for
    /// comparison. The results are the same. The hardware then only queues the messages in order of
    /// their arrival: the library posts no receive before its message is there. The library reads the
    /// oldest message, and gives it to the first receive that matches, or keeps it in host memory.
    /// Receives that have been posted before stay in the hardware, and come before later ones.
    ///
    /// The hardware still finds the messages that [kernels](crate::Rank::kernel) have announced: the
    /// library can't keep them.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// rank.lab().match_in_software(true);
    /// let (me, place) = (rank.pid(), rank.alloc::<u32>(1)?);
    /// let receive = rank.irecv(me, 3, place)?;
    /// assert_eq!(rank.lab().match_counters()?.posted, 0);
    /// rank.send(me, 3, &[7u32])?;
    /// assert_eq!(rank.wait_message(receive)?.tag, 3);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn match_in_software(&mut self, on: bool) {
        self.rank.progress.messages.is_software = on;
    }

    /// Sets the maximum length in bytes of a message that this rank sends with its header. A longer
    /// message is announced: the receiver fetches the payload when a receive has matched. A value
    /// above the length of a fragment ([`BoardInfo::fragment_bytes`](crate::BoardInfo), the default)
    /// counts as that length.
    ///
    /// An announced message occupies no fragment of the receiver, and never passes through one. It
    /// takes another round trip.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// rank.lab().eager_limit(0);
    /// let other = rank.neighbour(1);
    /// let mut value = [0u8];
    /// rank.sendrecv(other, 1, &[5u8], other, 1, &mut value)?;
    /// assert_eq!(value, [5]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn eager_limit(&mut self, bytes: u32) {
        let messages = &mut self.rank.progress.messages;
        messages.eager = bytes.min(messages.fragment);
    }

    /// Reads the counters of the engine, and the lengths of its queues.
    ///
    /// # Errors
    /// [`Error::MissingCapability`](crate::Error::MissingCapability); errors of the backend.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// rank.lab().match_thresholds(Some(4), None)?;
    /// rank.send(GlobalRank(0), 0, &[1])?;
    /// assert_eq!(rank.lab().match_counters()?.unexpected, 1);
    /// # rank.recv(GlobalRank(0), 0, &mut [0]).map(drop)
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn match_counters(&mut self) -> Result<MatchCounters> {
        self.rank.check_messages()?;
        let mut read = |register| self.rank.progress.read(register);
        let queues = read(rank::MESSAGE_QUEUES)?;
        Ok(MatchCounters {
            posted: message_queues::POSTED.get(queues),
            unexpected: message_queues::UNEXPECTED.get(queues),
            posted_by_unit: read(rank::POSTED_BY_UNIT)?,
            posted_by_walk: read(rank::POSTED_BY_WALK)?,
            unexpected_by_unit: read(rank::UNEXPECTED_BY_UNIT)?,
            unexpected_by_walk: read(rank::UNEXPECTED_BY_WALK)?,
            refused: read(rank::MESSAGES_REFUSED)?,
        })
    }
}
