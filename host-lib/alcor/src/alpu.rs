//! Direct access to a matching unit, for study and for reuse.

use std::fmt;

use alcor_abi::board::capabilities;
use alcor_abi::packets::{alpu_command, alpu_high, alpu_result};
use alcor_abi::rank::{self, alpu_command_times, alpu_shape, alpu_state, alpu_times};
use alcor_abi::{AlpuOp, AlpuResult};

use crate::credits::{Credits, after};
use crate::progress::Progress;
use crate::transfer::fits;
use crate::watchdog::Awaited;
use crate::{Error, Lab, Result};

/// Number of bits of a [`Pattern`].
pub const MATCH_BITS: u32 = 42;

/// The match bits of an entry or a request: [`MATCH_BITS`] bits, each of which may be masked.
///
/// A unit for posted receives uses the masks of entries and ignores those of requests. A unit for
/// unexpected messages uses the masks of requests and ignores those of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Pattern {
    /// The match bits.
    pub bits: u64,
    /// Bits that match either value.
    pub mask: u64,
}

impl Pattern {
    /// A pattern that matches exactly `bits`.
    #[must_use]
    pub fn exact(bits: u64) -> Pattern {
        Pattern { bits, mask: 0 }
    }
}

/// The kind of the entries of a matching unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AlpuKind {
    /// Posted receives: entries have mask bits.
    Posted,
    /// Unexpected messages: requests have mask bits.
    Unexpected,
}

/// The properties of a matching unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AlpuShape {
    /// Capacity of the list, in entries.
    pub cells: u32,
    /// Cells per block.
    pub block: u32,
    /// Kind of the entries.
    pub kind: AlpuKind,
    /// Capacity of each FIFO (requests, commands, results), in entries.
    pub fifo: u32,
}

/// The content of a result (Brightwell et al. 2005, table II, extended by probe and cancel).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AlpuFinding {
    /// Insert mode has begun.
    Inserting {
        /// Number of entries that may be inserted.
        free: u32,
    },
    /// Match: the first matching entry is deleted.
    Matched {
        /// Tag of the entry.
        tag: u16,
    },
    /// Match: no entry matched.
    Unmatched,
    /// Probe: an entry matches.
    Found {
        /// Tag of the first matching entry.
        tag: u16,
    },
    /// Probe: no entry matches.
    NotFound,
    /// Cancel: the first entry with the tag is deleted.
    Cancelled {
        /// Tag of the entry.
        tag: u16,
    },
    /// Cancel: no entry has the tag.
    NotCancelled,
}

/// A result of a matching unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AlpuAnswer {
    /// Id of the request or command.
    pub id: u8,
    /// Content of the result.
    pub finding: AlpuFinding,
    /// Cycle in which the unit took the request or command, modulo 65536. If several had this id,
    /// the newest one counts.
    pub taken: u16,
    /// Cycle in which the unit offered the result, on the same clock.
    pub offered: u16,
}

impl AlpuAnswer {
    /// Cycles from the acceptance of the request to the offer of the result.
    #[must_use]
    pub fn latency(&self) -> u16 {
        self.offered.wrapping_sub(self.taken)
    }
}

/// The library's state of a rank's matching unit.
#[derive(Debug)]
pub(crate) struct AlpuState {
    shape: AlpuShape,
    requests: Credits,
    commands: Credits,
    /// Values of ALPU_MATCH, ALPU_MASK and ALPU_HIGH in the hardware; `None` if unknown.
    operands: [Option<u32>; 3],
}

impl AlpuState {
    fn find(progress: &mut Progress) -> Result<AlpuState> {
        let found = progress.info().capabilities;
        if capabilities::ALPU.get(found) == 0 {
            return Err(Error::MissingCapability {
                board: format!("the board of {}", progress.me),
                capability: "matching unit",
                found,
            });
        }
        let word = progress.read(rank::ALPU_SHAPE)?;
        let fifo = progress.read(rank::ALPU_FIFOS)?;
        Ok(AlpuState {
            shape: AlpuShape {
                cells: alpu_shape::CELLS.get(word),
                block: alpu_shape::BLOCK.get(word),
                kind: match alpu_shape::POSTED.get(word) {
                    0 => AlpuKind::Unexpected,
                    _ => AlpuKind::Posted,
                },
                fifo,
            },
            requests: Credits::of(fifo, progress.read(rank::ALPU_REQUESTS_DONE)?),
            commands: Credits::of(fifo, progress.read(rank::ALPU_COMMANDS_DONE)?),
            operands: [None; 3],
        })
    }
}

/// A matching unit (Brightwell et al. 2005) in a rank's page: [`Lab::alpu`].
///
/// The unit keeps a list of entries, oldest first. Each entry is a [`Pattern`] with a tag. A match
/// finds and deletes the first matching entry. A probe finds the first matching entry and keeps it.
/// Entries are inserted in insert mode only: [`Alpu::start_insert`], whose answer carries the
/// number of free cells; inserts; [`Alpu::stop_insert`]. No match fails in insert mode. A match
/// without an entry is held, together with the later requests, until a matching entry is
/// inserted or insert mode ends.
///
/// Requests (match, probe) and commands (all others) have separate FIFOs. A request may overtake an
/// earlier command. A caller that needs an order waits for the answer to the first of the two.
/// Answers come in the order in which the unit acts. Each answer carries the id of its request or
/// command.
///
/// # Examples
/// ```
/// use alcor::{AlpuFinding, Job, Pattern, soft::SoftBoard};
///
/// Job::new(SoftBoard::new(1))?.run(1, |rank| {
///     let mut alpu = rank.lab().alpu()?;
///     alpu.start_insert(0)?;
///     assert_eq!(alpu.answer()?.finding, AlpuFinding::Inserting { free: alpu.shape().cells });
///     // A receive from any source (the low bits), then one from source 3.
///     alpu.insert(Pattern { bits: 0x500, mask: 0xFF }, 7)?;
///     alpu.insert(Pattern::exact(0x503), 8)?;
///     alpu.stop_insert()?;
///     alpu.settle()?;
///     alpu.post_match(1, Pattern::exact(0x503))?;
///     assert_eq!(alpu.answer()?.finding, AlpuFinding::Matched { tag: 7 });
///     alpu.post_match(2, Pattern::exact(0x504))?;
///     assert_eq!(alpu.answer()?.finding, AlpuFinding::Unmatched);
///     Ok(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Alpu<'a> {
    progress: &'a mut Progress,
    state: &'a mut AlpuState,
}

impl fmt::Debug for Alpu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alpu")
            .field("shape", &self.state.shape)
            .finish_non_exhaustive()
    }
}

/// # The matching unit
impl<'a> Lab<'a> {
    /// Returns the matching unit in this rank's page.
    ///
    /// # Errors
    /// [`Error::MissingCapability`] if the board has none; errors of the backend.
    ///
    /// # Examples
    /// See [`Alpu`].
    pub fn alpu(self) -> Result<Alpu<'a>> {
        let rank = self.rank;
        let state = match rank.alpu.take() {
            Some(state) => state,
            None => AlpuState::find(&mut rank.progress)?,
        };
        Ok(Alpu {
            state: rank.alpu.insert(state),
            progress: &mut rank.progress,
        })
    }
}

/// Each of these waits while its FIFO is full. They fail with [`Error::Watchdog`] if no entry
/// becomes free, with [`Error::Aborted`] after an abort of the run, and with the errors of the
/// backend.
///
/// # Examples
/// ```
/// # use alcor::{AlpuFinding, Pattern, Job, soft::SoftBoard};
/// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
/// let mut alpu = rank.lab().alpu()?;
/// alpu.start_insert(0)?;
/// let free = loop {
///     if let Some(answer) = alpu.try_answer()? {
///         break answer.finding;
///     }
/// };
/// assert_eq!(free, AlpuFinding::Inserting { free: alpu.shape().cells });
/// alpu.insert(Pattern::exact(5), 7)?;
/// alpu.settle()?;
/// assert!(alpu.is_inserting()? && alpu.entries()? == 1);
/// alpu.stop_insert()?;
/// // A probe keeps the entry. A cancel deletes the entry.
/// alpu.post_probe(1, Pattern::exact(5))?;
/// let found = alpu.answer()?;
/// println!("found in {} cycles", found.latency());
/// alpu.cancel(2, 7)?;
/// assert_eq!(alpu.answer()?.finding, AlpuFinding::Cancelled { tag: 7 });
/// // The unit discards an insert outside insert mode.
/// alpu.insert(Pattern::exact(6), 8)?;
/// alpu.settle()?;
/// assert_eq!(alpu.discarded()?, 1);
/// // The unit takes the commands at full speed once the gate opens.
/// alpu.gate(false)?;
/// alpu.reset()?;
/// alpu.gate(true)?;
/// alpu.settle()?;
/// let (_first, _last) = alpu.command_times()?;
/// # Ok(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Alpu<'_> {
    /// The properties of the unit.
    #[must_use]
    pub fn shape(&self) -> AlpuShape {
        self.state.shape
    }

    /// Posts a match.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the pattern has more than [`MATCH_BITS`] bits.
    pub fn post_match(&mut self, id: u8, pattern: Pattern) -> Result<()> {
        self.operands(pattern)?;
        self.post(AlpuOp::Match, id, 0)
    }

    /// Posts a probe.
    ///
    /// # Errors
    /// As [`Alpu::post_match`].
    pub fn post_probe(&mut self, id: u8, pattern: Pattern) -> Result<()> {
        self.operands(pattern)?;
        self.post(AlpuOp::Probe, id, 0)
    }

    /// Posts START INSERT, whose answer is [`AlpuFinding::Inserting`]. The unit discards the
    /// command in insert mode.
    ///
    /// # Errors
    /// As [`Alpu`] in general.
    pub fn start_insert(&mut self, id: u8) -> Result<()> {
        self.post(AlpuOp::StartInsert, id, 0)
    }

    /// Posts INSERT, which has no answer. The unit discards the command outside insert mode, or if
    /// no cell is free.
    ///
    /// # Errors
    /// As [`Alpu::post_match`].
    pub fn insert(&mut self, pattern: Pattern, tag: u16) -> Result<()> {
        self.operands(pattern)?;
        self.post(AlpuOp::Insert, 0, tag)
    }

    /// Posts STOP INSERT, which has no answer. The unit discards the command outside insert mode.
    ///
    /// # Errors
    /// As [`Alpu`] in general.
    pub fn stop_insert(&mut self) -> Result<()> {
        self.post(AlpuOp::StopInsert, 0, 0)
    }

    /// Posts RESET, which has no answer. RESET empties the list and ends insert mode.
    ///
    /// # Errors
    /// As [`Alpu`] in general.
    pub fn reset(&mut self) -> Result<()> {
        self.post(AlpuOp::Reset, 0, 0)
    }

    /// Posts a cancel, which deletes the first entry with `tag`.
    ///
    /// # Errors
    /// As [`Alpu`] in general.
    pub fn cancel(&mut self, id: u8, tag: u16) -> Result<()> {
        self.post(AlpuOp::Cancel, id, tag)
    }

    /// Waits for the oldest answer and removes that answer from the FIFO.
    ///
    /// # Errors
    /// [`Error::Watchdog`] if no answer comes, for example to a match that is held in insert mode;
    /// [`Error::CommandLost`] if a write past this handle found a full FIFO.
    pub fn answer(&mut self) -> Result<AlpuAnswer> {
        let settled =
            |state| alpu_state::RESULT.get(state) != 0 || alpu_state::LOST.get(state) != 0;
        let awaited = &Awaited::AlpuAnswer;
        let state = self
            .progress
            .wait_for_register(rank::ALPU_STATE, awaited, settled)?;
        match alpu_state::LOST.get(state) {
            0 => self.take(),
            _ => Err(Error::CommandLost {
                rank: self.progress.me,
                told_by: "ALPU_STATE.lost",
            }),
        }
    }

    /// Removes and returns the oldest answer, if one is available.
    ///
    /// # Errors
    /// Errors of the backend.
    pub fn try_answer(&mut self) -> Result<Option<AlpuAnswer>> {
        match alpu_state::RESULT.get(self.progress.read(rank::ALPU_STATE)?) {
            0 => Ok(None),
            _ => self.take().map(Some),
        }
    }

    /// Waits until the unit has carried out all posted commands.
    ///
    /// # Errors
    /// As [`Alpu`] in general; [`Error::Watchdog`] if the gate is shut.
    pub fn settle(&mut self) -> Result<()> {
        let posted = self.state.commands.posted;
        let done = self.progress.wait_for_register(
            rank::ALPU_COMMANDS_DONE,
            &Awaited::AlpuCommands,
            |done| !after(posted, done),
        )?;
        self.state.commands.retired_is(done);
        Ok(())
    }

    /// Opens or shuts the gate. A shut gate keeps requests and commands in their FIFOs. When the
    /// gate opens, the unit takes them at full speed. Each FIFO holds at most [`AlpuShape::fifo`]
    /// entries.
    ///
    /// # Errors
    /// Errors of the backend.
    pub fn gate(&mut self, open: bool) -> Result<()> {
        self.progress.write(rank::ALPU_GATE, u32::from(open))
    }

    /// Number of entries in the list.
    ///
    /// # Errors
    /// Errors of the backend.
    pub fn entries(&mut self) -> Result<u32> {
        let state = self.progress.read(rank::ALPU_STATE)?;
        Ok(alpu_state::ENTRIES.get(state))
    }

    /// Returns whether the unit is in insert mode.
    ///
    /// # Errors
    /// Errors of the backend.
    pub fn is_inserting(&mut self) -> Result<bool> {
        let state = self.progress.read(rank::ALPU_STATE)?;
        Ok(alpu_state::INSERTING.get(state) != 0)
    }

    /// Number of discarded commands since the board's reset. The unit discards a command that is
    /// not valid when the unit takes it.
    ///
    /// # Errors
    /// Errors of the backend.
    pub fn discarded(&mut self) -> Result<u32> {
        self.progress.read(rank::ALPU_DISCARDED)
    }

    /// Cycles in which the unit took the first and the last command since the gate was opened,
    /// modulo 65536.
    ///
    /// # Errors
    /// Errors of the backend.
    pub fn command_times(&mut self) -> Result<(u16, u16)> {
        let times = self.progress.read(rank::ALPU_COMMAND_TIMES)?;
        Ok((
            alpu_command_times::FIRST.get(times) as u16,
            alpu_command_times::LAST.get(times) as u16,
        ))
    }

    fn operands(&mut self, pattern: Pattern) -> Result<()> {
        for (what, bits) in [("match bits", pattern.bits), ("mask bits", pattern.mask)] {
            fits(what, bits >> 32, (1 << (MATCH_BITS - 32)) - 1).map_err(|_| {
                Error::OutOfRange {
                    what,
                    value: bits,
                    limit: (1 << MATCH_BITS) - 1,
                }
            })?;
        }
        let high = |bits: u64| (bits >> 32) as u32;
        let values = [
            pattern.bits as u32,
            pattern.mask as u32,
            alpu_high::MATCH_HIGH.put(high(pattern.bits))
                | alpu_high::MASK_HIGH.put(high(pattern.mask)),
        ];
        let registers = [rank::ALPU_MATCH, rank::ALPU_MASK, rank::ALPU_HIGH];
        for ((register, value), kept) in registers
            .into_iter()
            .zip(values)
            .zip(&mut self.state.operands)
        {
            if *kept != Some(value) {
                self.progress.write(register, value)?;
                *kept = Some(value);
            }
        }
        Ok(())
    }

    fn post(&mut self, op: AlpuOp, id: u8, tag: u16) -> Result<()> {
        self.progress.check()?;
        let (credits, register) = match op {
            AlpuOp::Match | AlpuOp::Probe => (&mut self.state.requests, rank::ALPU_REQUESTS_DONE),
            _ => (&mut self.state.commands, rank::ALPU_COMMANDS_DONE),
        };
        if credits.free() == 0 {
            let known = credits.retired;
            let done = self
                .progress
                .wait_for_register(register, &Awaited::AlpuRoom, |done| after(done, known))?;
            credits.retired_is(done);
        }
        credits.post();
        let command = alpu_command::OP.put(op as u32)
            | alpu_command::ID.put(u32::from(id))
            | alpu_command::TAG.put(u32::from(tag));
        self.progress.write(rank::ALPU_GO, command)
    }

    fn take(&mut self) -> Result<AlpuAnswer> {
        let progress = &mut *self.progress;
        let word = progress.read(rank::ALPU_RESULT)?;
        let times = progress.read(rank::ALPU_TIMES)?;
        progress.write(rank::ALPU_POP, 0)?;
        let value = alpu_result::VALUE.get(word);
        let tag = value as u16;
        let finding = match AlpuResult::from_bits(alpu_result::KIND.get(word)) {
            Some(AlpuResult::StartAcknowledge) => AlpuFinding::Inserting { free: value },
            Some(AlpuResult::MatchSuccess) => AlpuFinding::Matched { tag },
            Some(AlpuResult::MatchFailure) => AlpuFinding::Unmatched,
            Some(AlpuResult::ProbeSuccess) => AlpuFinding::Found { tag },
            Some(AlpuResult::ProbeFailure) => AlpuFinding::NotFound,
            Some(AlpuResult::CancelSuccess) => AlpuFinding::Cancelled { tag },
            Some(AlpuResult::CancelFailure) => AlpuFinding::NotCancelled,
            None => {
                return Err(Error::BadAlpuResult {
                    rank: self.progress.me,
                    word,
                });
            }
        };
        Ok(AlpuAnswer {
            id: alpu_result::ID.get(word) as u8,
            finding,
            taken: alpu_times::TAKEN.get(times) as u16,
            offered: alpu_times::OFFERED.get(times) as u16,
        })
    }
}
