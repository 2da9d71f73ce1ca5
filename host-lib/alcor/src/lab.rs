//! Access to the hardware for those who study or test it.

use alcor_abi::{Opcode, rank};

use crate::request::Request;
use crate::watchdog::RankState;
use crate::{
    Counters, Error, Events, NodeAddr, Paper, Port, Rank, RegisteredRange, Result, Rights, Transfer,
};

/// A rank's hardware as it is, for studies, tests and tools: [`Rank::lab`].
///
/// Programs need nothing of it. What it offers depends on the hardware of this version, and most of
/// it is checked by the hardware alone.
///
/// # Examples
/// ```
/// # use alcor::{Job, soft::SoftBoard};
/// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
/// rank.barrier()?;
/// assert_eq!(rank.lab().counters()?.barriers, 1);
/// # Ok(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Lab<'a> {
    pub(crate) rank: &'a mut Rank,
}

impl<'a> Lab<'a> {
    /// The commands of the RMA coprocessor paper.
    ///
    /// # Examples
    /// See [`Paper`].
    pub fn paper(self) -> Paper<'a> {
        Paper { rank: self.rank }
    }

    /// Cycles from the first command after the barrier before last to the last barrier's end.
    ///
    /// # Errors
    /// What the backend says.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// rank.barrier()?;
    /// rank.barrier()?;
    /// let _cycles = rank.lab().epoch_cycles()?;
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn epoch_cycles(&mut self) -> Result<u32> {
        self.rank.progress.read(rank::EPOCH_CYCLES)
    }

    /// Posts one command as soon as there is a credit for it.
    ///
    /// The next call that waits acknowledges a barrier or registration that is posted so.
    ///
    /// # Errors
    /// [`Error::ReservedCommand`] for the commits of extended commands and messages, whose ids the
    /// library hands out: see [`Lab::transfer`]; what ends every wait.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Opcode, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// rank.lab().command(Opcode::Barrier, 0)?;
    /// rank.barrier()?;
    /// assert_eq!(rank.lab().counters()?.barriers, 2);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn command(&mut self, opcode: Opcode, data: u32) -> Result<()> {
        let instead = match opcode {
            Opcode::XPut | Opcode::XGet => "`Lab::transfer`",
            Opcode::XSend | Opcode::XAnnounce => "`Rank::isend`",
            Opcode::XReceive => "`Rank::irecv`",
            Opcode::XProbe => "`Rank::iprobe`",
            Opcode::XCancel => "`Rank::cancel`",
            _ => "",
        };
        if !instead.is_empty() {
            return Err(Error::ReservedCommand {
                rank: self.rank.pid(),
                opcode,
                instead,
            });
        }
        self.rank.progress.check()?;
        self.rank.progress.post(opcode, data)
    }

    /// Starts an extended command as it stands: nothing of it is checked but that its target fits
    /// the hardware's field, and its memory is not reserved.
    ///
    /// # Errors
    /// As [`Rank::iput`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, Status, Transfer, TransferKind, WindowName, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc_from(&[0u32; 4])?;
    /// let window = rank.register(&region, Rights::ALL)?;
    /// let transfer = Transfer {
    ///     kind: TransferKind::Put,
    ///     target: GlobalRank(0),
    ///     window: WindowName::Slot(window.slot()),
    ///     offset: 15,
    ///     local: region.addr(),
    ///     length: 2,
    /// };
    /// let request = rank.lab().transfer(transfer)?;
    /// let error = rank.wait(request).unwrap_err();
    /// assert_eq!(error.status(), Some(Status::OutOfBounds));
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transfer(&mut self, transfer: Transfer) -> Result<Request<'static>> {
        self.rank.start_transfer(&transfer)
    }

    /// Registers any range of node memory: the hardware alone checks it, and the memory is not
    /// reserved. Without `bytes` the window reaches to the end of node memory.
    ///
    /// # Errors
    /// As [`Rank::register`]; [`Error::BadOption`] when `base` is no multiple of 4.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, NodeAddr, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let mut lab = rank.lab();
    /// let range = lab.register_range(NodeAddr(0x8000), Some(64), Rights::READ)?;
    /// assert_eq!(lab.deregister_range(range.base)?, range.slot);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn register_range(
        &mut self,
        base: NodeAddr,
        bytes: Option<u32>,
        rights: Rights,
    ) -> Result<RegisteredRange> {
        self.rank.register_range(base, bytes, rights)
    }

    /// Ends the window whose base at this rank is `base`; its slot.
    ///
    /// # Errors
    /// As [`Rank::deregister`]; [`Error::BadOption`] when `base` is no multiple of 4.
    ///
    /// # Examples
    /// See [`Lab::register_range`].
    pub fn deregister_range(&mut self, base: NodeAddr) -> Result<u8> {
        self.rank.deregister_range(base)
    }

    /// The counters of this rank's page.
    ///
    /// # Errors
    /// What the backend says.
    ///
    /// # Examples
    /// See [`Lab`].
    pub fn counters(&mut self) -> Result<Counters> {
        let mut read = |register| self.rank.progress.read(register);
        Ok(Counters {
            retired: read(rank::RETIRED)?,
            completions: read(rank::CQ_HEAD)?,
            refused_in: read(rank::REFUSED_IN)?,
            refused_out: read(rank::REFUSED_OUT)?,
            tx_request_words: read(rank::TX_REQUEST_WORDS)?,
            tx_reply_words: read(rank::TX_REPLY_WORDS)?,
            rx_request_words: read(rank::RX_REQUEST_WORDS)?,
            rx_reply_words: read(rank::RX_REPLY_WORDS)?,
            barriers: read(rank::BARRIERS)?,
        })
    }

    /// The events since this was last called; they are cleared, and fail no later call.
    ///
    /// # Errors
    /// What the backend says.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, NodeAddr, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// // No window is registered.
    /// rank.lab().paper().put_1(NodeAddr(64), GlobalRank(0), 0, 1)?;
    /// rank.barrier()?;
    /// assert!(rank.lab().events()?.refused());
    /// assert!(rank.lab().events()?.is_empty());
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn events(&mut self) -> Result<Events> {
        self.rank.progress.events()
    }

    /// The states of the ranks of this board, and, in a [`crate::Job`], of those of the other
    /// boards.
    ///
    /// # Errors
    /// What the backend says.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// assert_eq!(rank.lab().rank_states()?.len(), 2);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rank_states(&mut self) -> Result<Vec<RankState>> {
        self.rank.progress.rank_states()
    }

    /// The port below, past all bookkeeping: the library does not know of writes through it, and
    /// credits for commands posted so are never counted.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, NodeAddr, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let mut byte = [0];
    /// rank.lab().port().read_memory(NodeAddr(0x8000), &mut byte)?;
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn port(self) -> &'a mut dyn Port {
        &mut *self.rank.progress.port
    }
}
