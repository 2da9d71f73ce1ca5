//! The commands of the RMA coprocessor paper (Ziavras et al. 2006), in the paper's units.

use alcor_abi::Opcode;

use crate::transfer::fits;
use crate::{GlobalRank, NodeAddr, Rank, Result};

/// The paper's PUT and GET: one packet each, counted in 32-bit words.
///
/// These commands have no completion: [`Rank::barrier`] completes them.
/// [`Lab::events`](crate::Lab::events) reports refused or dropped commands, at the rank where the
/// refusal occurred. The commands exist for study and for the paper's tables. Programs use
/// [`Rank::put`] and [`Rank::get`].
///
/// # Examples
/// ```
/// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
/// # let words =
/// Job::new(SoftBoard::new(2))?.run(2, |rank| {
///     let region = rank.alloc_from(&[0u32; 8])?;
///     let window = rank.register(&region, Rights::ALL)?;
///     if rank.pid() == GlobalRank(0) {
///         rank.lab().paper().put_1(window.base(), GlobalRank(1), 3, 42)?;
///     }
///     rank.barrier()?;
///     let _cycles = rank.lab().epoch_cycles()?;
///     rank.read_vec(&region)
/// })?;
/// # assert_eq!(words[1], [0, 0, 0, 42, 0, 0, 0, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Paper<'a> {
    pub(crate) rank: &'a mut Rank,
}

impl Paper<'_> {
    /// PUT-1: puts `word` at `offset` words into `target`'s part of the window at `desaddr`.
    ///
    /// # Errors
    /// [`crate::Error::OutOfRange`] if a number does not fit an 8-bit operand; the errors of all
    /// waits.
    pub fn put_1(
        &mut self,
        desaddr: NodeAddr,
        target: GlobalRank,
        offset: u32,
        word: u32,
    ) -> Result<()> {
        self.post(Opcode::Put1, [desaddr.0, word], [target.0, 1, offset])
    }

    /// PUT-n: puts 2 to 30 words at `srcaddr` at `offset` words into `target`'s part of the
    /// window at `desaddr`.
    ///
    /// # Errors
    /// As [`Paper::put_1`]; the hardware refuses other lengths.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Rights, Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let (window, local) = (rank.alloc::<u32>(4)?, rank.alloc_from(&[1u32, 2])?);
    /// let found = rank.alloc::<u32>(2)?;
    /// for region in [&window, &found] {
    ///     rank.lab().register_range(region.addr(), Some(region.byte_len()), Rights::ALL)?;
    /// }
    /// let me = rank.pid();
    /// rank.lab().paper().put_n(window.addr(), local.addr(), me, 2, 1)?;
    /// rank.barrier()?;
    /// rank.lab().paper().get(found.addr(), window.addr(), me, 2, 1)?;
    /// rank.barrier()?;
    /// assert_eq!(rank.read_vec(&found)?, [1, 2]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_n(
        &mut self,
        desaddr: NodeAddr,
        srcaddr: NodeAddr,
        target: GlobalRank,
        length: u32,
        offset: u32,
    ) -> Result<()> {
        let operands = [target.0, length, offset];
        self.post(Opcode::PutN, [desaddr.0, srcaddr.0], operands)
    }

    /// GET: gets 1 to 30 words at `offset` words of `target`'s part of the window at `srcaddr`
    /// to the base of this rank's part of the window at `desaddr`.
    ///
    /// # Errors
    /// As [`Paper::put_1`]; the hardware refuses other lengths.
    pub fn get(
        &mut self,
        desaddr: NodeAddr,
        srcaddr: NodeAddr,
        target: GlobalRank,
        length: u32,
        offset: u32,
    ) -> Result<()> {
        let operands = [target.0, length, offset];
        self.post(Opcode::Get, [desaddr.0, srcaddr.0], operands)
    }

    /// Posts two writes to the opcode, then dpid, length and offset with eight bits each.
    fn post(&mut self, opcode: Opcode, data: [u32; 2], operands: [u32; 3]) -> Result<()> {
        for (what, operand) in ["target rank", "length in words", "offset in words"]
            .into_iter()
            .zip(operands)
        {
            fits(what, u64::from(operand), 0xFF)?;
        }
        let progress = &mut self.rank.progress;
        progress.check()?;
        progress.reserve(2)?;
        for word in data {
            progress.post(opcode, word)?;
        }
        for operand in operands {
            progress.post(Opcode::Data8, operand)?;
        }
        Ok(())
    }
}
