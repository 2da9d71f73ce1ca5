//! Handles pending causes, completions and ends.

use alcor_abi::packets::cq_entry;
use alcor_abi::rank::{self, ack, causes, events, kernel_control};
use alcor_abi::{CQ_ENTRY_BYTES, Status};

use super::{ENTRIES_AT_ONCE, Progress};
use crate::credits::after;
use crate::ending::Completion;
use crate::request::CompletedOperation;
use crate::{Causes, Error, GlobalRank, NodeAddr, Result};

/// Number of waits that end by entries of a ring in host memory between two reads of CAUSES.
const LOOK_AT_CAUSES: u32 = 256;

impl Progress {
    /// Reads the pending causes, and handles all of them.
    pub(crate) fn take_in_pending(&mut self) -> Result<()> {
        let pending = Causes(self.read(rank::CAUSES)?);
        self.take_in(pending)
    }

    /// Handles all pending causes, given as the register CAUSES.
    pub(crate) fn take_in(&mut self, pending: Causes) -> Result<()> {
        let is = |cause: alcor_abi::Field| pending.has(cause);
        let is_pinned = self.ring.is_pinned;
        if is(causes::EVENT) {
            self.take_events()?;
        }
        if is_pinned {
            self.take_copied()?;
        } else if is(causes::COMPLETION) && after(self.cq_wake, self.ring.taken) {
            self.take_completions()?;
        }
        if is(causes::REGISTRATION) {
            self.registered = self.read(rank::REG_RESULT)?;
            self.registrations = self.registrations.saturating_sub(1);
            self.write(rank::ACK, ack::REGISTRATION.mask())?;
        }
        if is(causes::BARRIER) && !is_pinned {
            self.take_barrier()?;
        }
        if is(causes::CREDIT) && self.retired_wake.take().is_some() {
            let retired = self.read(rank::RETIRED)?;
            self.credits.retired_is(retired);
        }
        if is(causes::CROWDED) {
            self.messages.overflow.crowded();
        }
        if is(causes::KERNEL) {
            self.kernel_is_done = true;
            self.write(rank::KERNEL_CONTROL, kernel_control::ACKNOWLEDGE.mask())?;
        }
        if is(causes::ABORTED) {
            self.take_abort()?;
        }
        Ok(())
    }

    /// Takes the new entries of the ring with as few reads as possible.
    fn take_completions(&mut self) -> Result<()> {
        // The cause states that CQ_WAKE has been reached. If no more operations are outstanding,
        // the number of new entries is known.
        let known = self.cq_wake.wrapping_sub(self.ring.taken);
        let mut new = if known >= self.outstanding.len() {
            known
        } else {
            self.read(rank::CQ_HEAD)?.wrapping_sub(self.ring.taken)
        };
        if new > self.ring.entries {
            self.faults |= events::CQ_OVERFLOW.mask();
            return self.check();
        }
        while new > 0 {
            let index = self.ring.taken % self.ring.entries;
            let run = new
                .min(self.ring.entries - index)
                .min(ENTRIES_AT_ONCE as u32);
            let at = NodeAddr(self.ring.base.0 + index * CQ_ENTRY_BYTES);
            let read = &mut self.ring.read[..run as usize];
            self.port.read_memory(at, read.as_flattened_mut())?;
            for place in 0..run as usize {
                let entry = self.ring.read[place];
                let word = |index| u32::from_le_bytes(entry.as_chunks::<4>().0[index]);
                self.take_completion([word(0), word(1), word(2), word(3)])?;
            }
            new -= run;
        }
        self.completions_are_taken()
    }

    /// Handles new entries of the ring in host memory, and all pending causes if one may be pending
    /// of which no entry tells.
    pub(crate) fn take_in_copied(&mut self) -> Result<()> {
        self.copied_wakes = self.copied_wakes.wrapping_add(1);
        // An entry ends a wait before the register is read. A program whose operations complete
        // learns of an abort all the same.
        let is_time = self.copied_wakes.is_multiple_of(LOOK_AT_CAUSES);
        if is_time || self.registrations > 0 || self.messages.listens() {
            self.take_in_pending()
        } else {
            self.take_copied()
        }
    }

    /// Takes the new entries of the ring in host memory.
    fn take_copied(&mut self) -> Result<()> {
        let before = self.ring.taken;
        loop {
            let (taken, entries) = (self.ring.taken, self.ring.entries);
            let Some(ring) = self.port.host_ring() else {
                break;
            };
            let entry = ring.entry(taken % entries)?;
            // The lap bit is set in every other lap, beginning with the first.
            let lap = u32::from(taken / entries % 2 == 0);
            if cq_entry::LAP.get(entry[0]) != lap {
                break;
            }
            if cq_entry::BARRIER.get(entry[0]) == 0 {
                self.take_completion(entry)?;
            } else {
                self.ring.taken = taken.wrapping_add(1);
                self.take_count(entry);
                self.ring.barriers = self.ring.barriers.wrapping_add(1);
                if cq_entry::STATUS.get(entry[0]) != Status::Ok as u32 {
                    self.take_events()?;
                }
                self.take_barrier()?;
            }
        }
        if self.ring.taken == before {
            Ok(())
        } else {
            self.completions_are_taken()
        }
    }

    fn completions_are_taken(&mut self) -> Result<()> {
        if self.ring.taken.wrapping_sub(self.ring.tail) >= (self.ring.entries / 2).max(1) {
            self.write_tail()?;
        }
        if self.unit.has_queue() {
            self.post_queued()?;
        }
        Ok(())
    }

    fn take_barrier(&mut self) -> Result<()> {
        self.barriers = self.barriers.saturating_sub(1);
        self.write(rank::ACK, ack::BARRIER.mask())
    }

    /// Takes the count of retired commands of an entry that has one.
    fn take_count(&mut self, [word, retired, ..]: [u32; 4]) {
        if cq_entry::COUNTED.get(word) != 0 {
            self.credits.retired_is(retired);
        }
    }

    fn take_completion(&mut self, words: [u32; 4]) -> Result<()> {
        let entry = self.ring.taken;
        self.ring.taken = entry.wrapping_add(1);
        self.take_count(words);
        let [word, _, tag, length] = words;
        let mut status = Status::from_bits(cq_entry::STATUS.get(word));
        let id = cq_entry::ID.get(word);
        if status == Some(Status::Deferred) && self.defer_message(id) {
            return Ok(());
        }
        if status == Some(Status::NoRoom) && self.go_back(id)? {
            return Ok(());
        }
        if status == Some(Status::Cancelled) && self.recall_receive(id) {
            return Ok(());
        }
        if status == Some(Status::Cancelled) && self.is_lost_receive(id) {
            status = Some(Status::RankReset);
        }
        let completed = status.and_then(|status| {
            let ended = Completion {
                status,
                source: GlobalRank(cq_entry::SOURCE.get(word)),
                tag,
                length,
            };
            self.outstanding.complete(id, ended)
        });
        match completed {
            None => {
                return Err(Error::BadCompletion {
                    rank: self.me,
                    entry,
                    word,
                });
            }
            Some(CompletedOperation {
                number,
                context,
                message,
            }) => {
                if let Some((status, number)) = status.zip(number) {
                    self.note_ended(number, status);
                }
                if let Some(context) = context {
                    self.unit.ended(context);
                }
                if let Some(message) = message {
                    self.messages.ended(&message);
                }
            }
        }
        Ok(())
    }

    pub(super) fn write_tail(&mut self) -> Result<()> {
        self.ring.tail = self.ring.taken;
        self.write(rank::CQ_TAIL, self.ring.taken)
    }
}
