//! Direct access to a matching unit, for those who study or reuse it.

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

/// Bits of a [`Pattern`].
pub const MATCH_BITS: u32 = 42;

/// What an entry or a request of a matching unit matches: [`MATCH_BITS`] bits, each of which may be
/// masked.
///
/// In a unit for posted receives, the mask is the entry's and a request's is not looked at; in one
/// for unexpected messages, it is the other way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Pattern {
    /// The match bits.
    pub bits: u64,
    /// Bits that match either value.
    pub mask: u64,
}

impl Pattern {
    /// One that matches exactly `bits`.
    #[must_use]
    pub fn exact(bits: u64) -> Pattern {
        Pattern { bits, mask: 0 }
    }
}

/// What a matching unit holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AlpuKind {
    /// Posted receives: entries have mask bits.
    Posted,
    /// Unexpected messages: requests have mask bits.
    Unexpected,
}

/// What a matching unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AlpuShape {
    /// Entries that the list has room for.
    pub cells: u32,
    /// Cells of a block.
    pub block: u32,
    /// What it holds.
    pub kind: AlpuKind,
    /// Requests, commands and results that its FIFOs have room for, each.
    pub fifo: u32,
}

/// What a matching unit says (Brightwell et al. 2005, table II, and the answers to a probe and a
/// cancel).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AlpuFinding {
    /// Insert mode has begun.
    Inserting {
        /// Entries that may be inserted.
        free: u32,
    },
    /// A match: the first entry that matched is deleted.
    Matched {
        /// Its tag.
        tag: u16,
    },
    /// A match: no entry matched.
    Unmatched,
    /// A probe: an entry matches.
    Found {
        /// The first one's tag.
        tag: u16,
    },
    /// A probe: no entry matches.
    NotFound,
    /// A cancel: the first entry with the tag is deleted.
    Cancelled {
        /// Its tag.
        tag: u16,
    },
    /// A cancel: no entry has the tag.
    NotCancelled,
}

/// A result of a matching unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AlpuAnswer {
    /// The id that the request or command was given.
    pub id: u8,
    /// What was found.
    pub finding: AlpuFinding,
    /// When the unit took the request or command, in cycles modulo 65536; of the newest one with
    /// this id.
    pub taken: u16,
    /// When it offered the result, on the same clock.
    pub offered: u16,
}

impl AlpuAnswer {
    /// Cycles from the one in which the request was taken to that in which the result was on offer.
    #[must_use]
    pub fn latency(&self) -> u16 {
        self.offered.wrapping_sub(self.taken)
    }
}

/// What a rank knows of its matching unit.
#[derive(Debug)]
pub(crate) struct AlpuState {
    shape: AlpuShape,
    requests: Credits,
    commands: Credits,
    /// ALPU_MATCH, ALPU_MASK, ALPU_HIGH as the hardware has them.
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
/// The unit keeps a list of entries, each a [`Pattern`] with a tag, oldest first. A match finds the
/// first entry that matches, and deletes it; a probe leaves it where it is. Entries are inserted in
/// insert mode only: [`Alpu::start_insert`], whose answer says how many there is room for, inserts,
/// [`Alpu::stop_insert`]. In insert mode nothing fails: a match that finds no entry is held, with
/// those behind it, until one that matches is inserted, or the mode ends.
///
/// Requests (match, probe) and commands (all else) go into a FIFO each, and the unit takes from both
/// as it can: a request may pass a command that was posted before it. Whoever needs an order waits for
/// the answer of the one. Answers come in the order in which the unit acts; that of a request or
/// command carries the id that was given to it.
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
    /// The matching unit in this rank's page.
    ///
    /// # Errors
    /// [`Error::MissingCapability`] where the board has none; what the backend says.
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

/// Each waits where its FIFO has no room, and fails with [`Error::Watchdog`] if none comes, with
/// [`Error::Aborted`] once the run is aborted, and with what the backend says.
impl Alpu<'_> {
    /// What the unit is.
    #[must_use]
    pub fn shape(&self) -> AlpuShape {
        self.state.shape
    }

    /// Posts a match.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a pattern of more than [`MATCH_BITS`] bits.
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

    /// Posts START INSERT; its answer is [`AlpuFinding::Inserting`]. Discarded in insert mode.
    ///
    /// # Errors
    /// As [`Alpu`] in general.
    pub fn start_insert(&mut self, id: u8) -> Result<()> {
        self.post(AlpuOp::StartInsert, id, 0)
    }

    /// Posts INSERT, which has no answer. Discarded outside of insert mode, or when no cell is free.
    ///
    /// # Errors
    /// As [`Alpu::post_match`].
    pub fn insert(&mut self, pattern: Pattern, tag: u16) -> Result<()> {
        self.operands(pattern)?;
        self.post(AlpuOp::Insert, 0, tag)
    }

    /// Posts STOP INSERT, which has no answer. Discarded outside of insert mode.
    ///
    /// # Errors
    /// As [`Alpu`] in general.
    pub fn stop_insert(&mut self) -> Result<()> {
        self.post(AlpuOp::StopInsert, 0, 0)
    }

    /// Posts RESET, which has no answer: the list is empty then, and insert mode over.
    ///
    /// # Errors
    /// As [`Alpu`] in general.
    pub fn reset(&mut self) -> Result<()> {
        self.post(AlpuOp::Reset, 0, 0)
    }

    /// Posts a cancel: the first entry with `tag` is deleted.
    ///
    /// # Errors
    /// As [`Alpu`] in general.
    pub fn cancel(&mut self, id: u8, tag: u16) -> Result<()> {
        self.post(AlpuOp::Cancel, id, tag)
    }

    /// Waits for the oldest answer that has not been taken, and takes it.
    ///
    /// # Errors
    /// [`Error::Watchdog`] when none comes, as for a match that is held in insert mode;
    /// [`Error::CommandLost`] once something was posted past this handle, and met a full FIFO.
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

    /// The oldest answer, if there is one.
    ///
    /// # Errors
    /// What the backend says.
    pub fn try_answer(&mut self) -> Result<Option<AlpuAnswer>> {
        match alpu_state::RESULT.get(self.progress.read(rank::ALPU_STATE)?) {
            0 => Ok(None),
            _ => self.take().map(Some),
        }
    }

    /// Waits until the unit has carried out all commands that were posted.
    ///
    /// # Errors
    /// As [`Alpu`] in general; [`Error::Watchdog`] where the gate is shut.
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

    /// Shuts the gate, so that what is posted stays in its FIFO, or opens it, so that the unit takes
    /// what is there as fast as it can. No more than [`AlpuShape::fifo`] of each fits meanwhile.
    ///
    /// # Errors
    /// What the backend says.
    pub fn gate(&mut self, open: bool) -> Result<()> {
        self.progress.write(rank::ALPU_GATE, u32::from(open))
    }

    /// Entries in the list.
    ///
    /// # Errors
    /// What the backend says.
    pub fn entries(&mut self) -> Result<u32> {
        let state = self.progress.read(rank::ALPU_STATE)?;
        Ok(alpu_state::ENTRIES.get(state))
    }

    /// Whether the unit is in insert mode.
    ///
    /// # Errors
    /// What the backend says.
    pub fn is_inserting(&mut self) -> Result<bool> {
        let state = self.progress.read(rank::ALPU_STATE)?;
        Ok(alpu_state::INSERTING.get(state) != 0)
    }

    /// Commands that were discarded since the board's reset, because they were not valid when the unit
    /// took them.
    ///
    /// # Errors
    /// What the backend says.
    pub fn discarded(&mut self) -> Result<u32> {
        self.progress.read(rank::ALPU_DISCARDED)
    }

    /// When the unit took the first and the last command since the gate was opened, in cycles modulo
    /// 65536.
    ///
    /// # Errors
    /// What the backend says.
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
