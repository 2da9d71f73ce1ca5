//! Posts commands within their credits.

use alcor_abi::Opcode;

use super::{OPERANDS, Progress, TRANSFER_WRITES, Wanted};
use crate::request::Request;
use crate::transfer::{Transfer, WindowName};
use crate::watchdog::Awaited;
use crate::{Error, Result};

impl Progress {
    /// Posts a command as soon as a credit is free.
    pub(crate) fn post(&mut self, opcode: Opcode, data: u32) -> Result<()> {
        match opcode {
            // These opcodes do not pass the command queue.
            Opcode::Data8 | Opcode::Abort => {}
            // With a ring in host memory, the end of a barrier has an entry, for which one is kept.
            Opcode::Barrier if self.ring.is_pinned => {
                self.reserve(1)?;
                if self.free_entries() == 0 {
                    self.write_tail()?;
                }
                self.credits.post();
            }
            _ => {
                self.reserve(1)?;
                self.credits.post();
            }
        }
        if let Some(index) = OPERANDS.iter().position(|&operand| operand == opcode) {
            self.operands[index] = Some(data);
        }
        match opcode {
            Opcode::Barrier => self.barriers += 1,
            Opcode::Register | Opcode::Deregister => self.registrations += 1,
            _ => {}
        }
        self.write(alcor_abi::command(opcode), data)
    }

    /// Posts the last write of an extended command. [`Progress::reserve_transfer`] has reserved its
    /// room.
    #[inline]
    fn commit(&mut self, opcode: Opcode, data: u32) -> Result<()> {
        self.credits.post();
        self.write(alcor_abi::command(opcode), data)
    }

    /// Posts an operand, unless the hardware has this value.
    #[inline]
    pub(crate) fn operand(&mut self, operand: Opcode, data: u32) -> Result<()> {
        let index = OPERANDS.iter().position(|&known| known == operand);
        match index.and_then(|index| self.operands[index]) {
            Some(kept) if kept == data => Ok(()),
            _ => self.post(operand, data),
        }
    }

    /// Waits until `commands` writes can be posted; at most [`TRANSFER_WRITES`].
    #[inline]
    pub(crate) fn reserve(&mut self, commands: u32) -> Result<()> {
        if self.credits.free() >= commands {
            Ok(())
        } else {
            self.wait_for_credits(commands)
        }
    }

    fn wait_for_credits(&mut self, commands: u32) -> Result<()> {
        // The wait asks for half a queue, so a long stream wakes the host less often.
        let batch = commands.max(self.credits.limit / 2);
        self.wait_for(
            |_| Awaited::Credits,
            |progress| {
                if progress.credits.free() >= commands {
                    Wanted::Nothing
                } else {
                    Wanted::Credits(batch)
                }
            },
        )
    }

    /// Posts an extended command: the changed operands, and the commit.
    #[inline]
    pub(crate) fn transfer(&mut self, transfer: &Transfer) -> Result<Request<'static>> {
        self.start_transfer(transfer, false)
    }

    /// Posts a put of the library whose failure is ignored. A failure means that the target has
    /// left the run.
    pub(crate) fn quiet_put(&mut self, transfer: &Transfer) -> Result<()> {
        self.start_transfer(transfer, true).map(drop)
    }

    #[inline]
    fn start_transfer(&mut self, transfer: &Transfer, is_quiet: bool) -> Result<Request<'static>> {
        let number = self.outstanding.number();
        if self.takes_notes {
            let (activity, peer) = (transfer.activity(), Some(transfer.target));
            self.note_began(number, activity, peer, u64::from(transfer.length));
        }
        self.reserve_transfer()?;
        self.operand(Opcode::XOffset, transfer.offset)?;
        self.operand(Opcode::XLaddr, transfer.local.0)?;
        self.operand(Opcode::XLength, transfer.length)?;
        if let WindowName::Base(base) = transfer.window {
            self.post(Opcode::XWindow, base.0)?;
        }
        let entered = self.outstanding.enter_transfer(number, transfer, is_quiet);
        let Some((id, request)) = entered else {
            // `reserve_transfer` has reserved an id.
            return Err(Error::CompletionLost { rank: self.me });
        };
        self.note_posting(number);
        self.commit(transfer.opcode(), transfer.commit(id))?;
        Ok(request)
    }

    /// Waits until an extended command can be posted completely, and the ring has room for its
    /// completion. A wait drives collectives in software and waiting messages, which post commands.
    /// Those commands must not come between the writes of this one.
    #[inline]
    pub(crate) fn reserve_transfer(&mut self) -> Result<()> {
        loop {
            self.reserve(TRANSFER_WRITES)?;
            if self.make_ring_room()? {
                return Ok(());
            }
            self.wait_for_ring_room()?;
        }
    }

    fn wait_for_ring_room(&mut self) -> Result<()> {
        let entries = self.ring.room();
        self.wait_for(
            |_| Awaited::RingRoom,
            |progress| {
                if progress.outstanding.len() < entries {
                    Wanted::Nothing
                } else {
                    // The event that a message waits for may never come, so messages do not count.
                    let others = entries.saturating_sub(progress.messages.under_way());
                    Wanted::Completions((entries / 2).min(others).max(1))
                }
            },
        )
    }

    /// Returns whether the ring has room for one more completion. Updates CQ_TAIL if necessary.
    #[inline]
    pub(crate) fn make_ring_room(&mut self) -> Result<bool> {
        if self.outstanding.len() >= self.ring.room() {
            return Ok(false);
        }
        let kept = self.ring.entries - self.ring.room();
        if self.free_entries() <= kept {
            self.write_tail()?;
        }
        Ok(true)
    }

    /// Entries that neither hold a completion, as far as the hardware knows, nor wait for one.
    fn free_entries(&self) -> u32 {
        let barriers = if self.ring.is_pinned {
            self.barriers
        } else {
            0
        };
        let unreported = self.ring.taken.wrapping_sub(self.ring.tail);
        let used = self.outstanding.len() + barriers + unreported;
        self.ring.entries.saturating_sub(used)
    }
}
