//! Direct access to the hardware, for study and tests.

use alcor_abi::{Opcode, rank};

use crate::request::{NOTHING, Request};
use crate::watchdog::RankState;
use crate::{
    Accumulate, Atomic, Counters, Error, Events, NodeAddr, Paper, Port, Rank, RegisteredRange,
    Result, Rights, Transfer,
};

/// Direct access to a rank's hardware, for studies, tests and tools: [`Rank::lab`].
///
/// Programs do not need this access. The available functions depend on the version of the hardware.
/// The hardware alone checks most parameters.
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
    /// Returns the commands of the RMA coprocessor paper.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc::<u32>(1)?;
    /// let base = region.addr();
    /// rank.lab().register_range(base, None, alcor::Rights::ALL)?;
    /// rank.lab().paper().put_1(base, GlobalRank(0), 0, 7)?;
    /// rank.barrier()?;
    /// assert_eq!(rank.read_vec(&region)?, [7]);
    /// rank.lab().deregister_range(base)?;
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn paper(self) -> Paper<'a> {
        Paper { rank: self.rank }
    }

    /// Cycles of the last epoch: from the first command after the last barrier but one to the end
    /// of the last barrier.
    ///
    /// # Errors
    /// Errors of the backend.
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

    /// Posts one command as soon as a credit is free.
    ///
    /// The next call that waits acknowledges a barrier or registration that was posted this way.
    ///
    /// # Errors
    /// [`Error::ReservedCommand`] for commits of extended commands and messages, whose ids belong
    /// to the library (see [`Lab::transfer`]); the errors of all waits.
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

    /// Starts an extended command without checks, except that the target must fit the hardware's
    /// field. The memory of the command is not reserved.
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
    /// let slot = WindowName::Slot(window.slot());
    /// let put = Transfer::new(TransferKind::Put, GlobalRank(0), slot, region.addr(), 2);
    /// let request = rank.lab().transfer(put.at_offset(15))?;
    /// let error = rank.wait(request).unwrap_err();
    /// assert_eq!(error.status(), Some(Status::OutOfBounds));
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transfer(&mut self, transfer: Transfer) -> Result<Request<'static>> {
        self.rank.start_transfer(&transfer)
    }

    /// Starts an atomic operation without checks, except that the target must fit the hardware's
    /// field.
    ///
    /// # Errors
    /// As [`Rank::ifetch_op`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Atomic, GlobalRank, Job, Opcode, Rights, Status, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc_from(&[0u32; 4])?;
    /// let window = rank.register(&region, Rights::ALL)?;
    /// let add = Atomic::new(Opcode::XAdd, GlobalRank(0), window.slot(), 1);
    /// let request = rank.lab().atomic(add.at_offset(2))?;
    /// let error = rank.wait(request).unwrap_err();
    /// assert_eq!(error.status(), Some(Status::BadAlignment));
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn atomic(&mut self, atomic: Atomic) -> Result<Request<'static>> {
        self.rank.start_atomic(atomic)
    }

    /// Starts an accumulate without checks, except that the target must fit the hardware's field. The
    /// memory is not reserved.
    ///
    /// # Errors
    /// As [`Rank::iaccumulate`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Accumulate, AccumulateOperation, ElementType, GlobalRank, Job, NodeAddr};
    /// # use alcor::{Rights, Status, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc_from(&[0.0f64; 4])?;
    /// let window = rank.register(&region, Rights::ALL)?;
    /// let (replace, at) = (AccumulateOperation::Replace, region.addr());
    /// let one = Accumulate::new(replace, ElementType::F64, GlobalRank(0), window.slot(), at, 8);
    /// let request = rank.lab().accumulate(one.at_offset(4))?;
    /// let error = rank.wait(request).unwrap_err();
    /// assert_eq!(error.status(), Some(Status::BadAlignment));
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn accumulate(&mut self, accumulate: Accumulate) -> Result<Request<'static>> {
        self.rank.begin_accumulate(accumulate, NOTHING)
    }

    /// Registers any range of node memory. The hardware alone checks the range, and the memory is
    /// not reserved. Without `bytes`, the window reaches to the end of node memory.
    ///
    /// # Errors
    /// As [`Rank::register`]; [`Error::BadOption`] if `base` is not a multiple of 4.
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

    /// Deregisters the window whose base at this rank is `base`. Returns its slot.
    ///
    /// # Errors
    /// As [`Rank::deregister`]; [`Error::BadOption`] if `base` is not a multiple of 4.
    ///
    /// # Examples
    /// See [`Lab::register_range`].
    pub fn deregister_range(&mut self, base: NodeAddr) -> Result<u8> {
        self.rank.deregister_range(base)
    }

    /// Reads the counters of this rank's page.
    ///
    /// # Errors
    /// Errors of the backend.
    ///
    /// # Examples
    /// See [`Lab`].
    pub fn counters(&mut self) -> Result<Counters> {
        let barriers = self.rank.progress.barrier_entries();
        let mut read = |register| self.rank.progress.read(register);
        Ok(Counters {
            retired: read(rank::RETIRED)?,
            completions: read(rank::CQ_HEAD)?.wrapping_sub(barriers),
            refused_in: read(rank::REFUSED_IN)?,
            refused_out: read(rank::REFUSED_OUT)?,
            tx_request_words: read(rank::TX_REQUEST_WORDS)?,
            tx_reply_words: read(rank::TX_REPLY_WORDS)?,
            rx_request_words: read(rank::RX_REQUEST_WORDS)?,
            rx_reply_words: read(rank::RX_REPLY_WORDS)?,
            barriers: read(rank::BARRIERS)?,
        })
    }

    /// Returns and clears the events since the last call. Cleared events fail no later call.
    ///
    /// # Errors
    /// Errors of the backend.
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

    /// Reads the states of the ranks of this board. In a [`crate::Job`], also those of the ranks of
    /// the other boards.
    ///
    /// # Errors
    /// Errors of the backend.
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

    /// Returns the port below the library. The library does not see writes to this port, and does
    /// not count their credits.
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
