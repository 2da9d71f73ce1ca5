//! Posts collectives to the collective unit: one per communicator at a time, in the order of the
//! calls.

use std::collections::VecDeque;

use alcor_abi::rank::{self, c_go};

use crate::progress::Progress;
use crate::request::{Descriptor, Held, Outcome, Request};
use crate::{Error, Result};

/// Operands of a collective: the values of the registers from C_SOURCE on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operands {
    /// Address of this rank's contribution.
    pub(crate) source: u32,
    /// First word of the contribution within the message, and number of words.
    pub(crate) first: u32,
    pub(crate) words: u32,
    /// Address of this rank's destination.
    pub(crate) destination: u32,
    /// The words of the message that this rank keeps: begin and end.
    pub(crate) low: u32,
    pub(crate) high: u32,
    /// The properties that all members must agree on.
    pub(crate) count: u32,
    pub(crate) what: u32,
}

impl Operands {
    /// Operands of a member without contribution and destination.
    pub(crate) fn signature(count: u32, what: u32) -> Operands {
        Operands {
            source: 0,
            first: 0,
            words: 0,
            destination: 0,
            low: 0,
            high: 0,
            count,
            what,
        }
    }

    fn registers(&self) -> [(u32, u32); REGISTERS] {
        [
            (rank::C_SOURCE, self.source),
            (rank::C_FIRST, self.first),
            (rank::C_WORDS, self.words),
            (rank::C_DESTINATION, self.destination),
            (rank::C_LOW, self.low),
            (rank::C_HIGH, self.high),
            (rank::C_COUNT, self.count),
            (rank::C_WHAT, self.what),
        ]
    }
}

const REGISTERS: usize = 8;

#[derive(Debug)]
struct Queued {
    context: u32,
    operands: Operands,
    outcome: Outcome,
    held: Held,
}

/// The collectives that a rank has posted to its collective unit, and those that are queued.
#[derive(Debug, Default)]
pub(crate) struct CollectiveUnit {
    /// A bit for each communicator with a collective in hardware.
    busy: u32,
    queue: VecDeque<Queued>,
    /// Values of the operand registers in the hardware; `None` if unknown.
    kept: [Option<u32>; REGISTERS],
}

impl CollectiveUnit {
    /// Returns whether a collective waits for the end of another one.
    pub(crate) fn has_queue(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Returns whether no collective is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.busy == 0 && self.queue.is_empty()
    }

    /// Returns whether no collective of a communicator is under way.
    pub(crate) fn is_idle_in(&self, context: u32) -> bool {
        self.busy & 1 << context == 0 && self.queue.iter().all(|queued| queued.context != context)
    }

    /// Removes the collectives of a communicator that has been revoked. Returns those that have not
    /// been posted.
    pub(crate) fn abandon(&mut self, context: u32) -> Vec<Outcome> {
        self.ended(context);
        let mut outcomes = Vec::new();
        for queued in std::mem::take(&mut self.queue) {
            if queued.context == context {
                outcomes.push(queued.outcome);
            } else {
                self.queue.push_back(queued);
            }
        }
        outcomes
    }

    /// Records the end of a communicator's collective.
    pub(crate) fn ended(&mut self, context: u32) {
        self.busy &= !(1 << context);
    }
}

impl Progress {
    /// Posts a collective as soon as the last collective of the communicator has ended.
    pub(crate) fn post_collective(
        &mut self,
        context: u32,
        operands: Operands,
        descriptor: Descriptor,
        held: Held,
    ) -> Result<Request<'static>> {
        let (outcome, request) = self.begin(descriptor);
        self.unit.queue.push_back(Queued {
            context,
            operands,
            outcome,
            held,
        });
        self.post_queued()?;
        Ok(request)
    }

    /// Posts queued collectives that may start: the first one of each communicator without a
    /// collective under way.
    pub(crate) fn post_queued(&mut self) -> Result<()> {
        let mut passed = self.unit.busy;
        let mut index = 0;
        while index < self.unit.queue.len() {
            let queued = &self.unit.queue[index];
            let context = 1 << queued.context;
            if passed & context == 0 && self.make_ring_room()? {
                if let Some(queued) = self.unit.queue.remove(index) {
                    self.go(queued)?;
                }
            } else {
                index += 1;
            }
            passed |= context;
        }
        Ok(())
    }

    fn go(&mut self, queued: Queued) -> Result<()> {
        let Queued {
            context,
            operands,
            outcome,
            held,
        } = queued;
        for (index, (register, value)) in operands.registers().into_iter().enumerate() {
            if self.unit.kept[index] != Some(value) {
                self.unit.kept[index] = Some(value);
                self.write(register, value)?;
            }
        }
        let number = outcome.number();
        let Some(id) = self.outstanding.enter(outcome, held) else {
            // The ring had room, so an id was free.
            return Err(Error::CompletionLost { rank: self.me });
        };
        self.unit.busy |= 1 << context;
        self.note_posting(number);
        self.write(
            rank::C_GO,
            c_go::ID.put(u32::from(id)) | c_go::CONTEXT.put(context),
        )
    }
}
