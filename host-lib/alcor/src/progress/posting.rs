//! Posts commands within their credits.

use alcor_abi::Opcode;

use super::{OPERANDS, Progress, TRANSFER_WRITES, Wanted};
use crate::request::Request;
use crate::transfer::{Transfer, WindowName};
use crate::watchdog::Awaited;
use crate::{Error, Result};

impl Progress {
    /// Posts a command, once there is a credit for it.
    pub(crate) fn post(&mut self, opcode: Opcode, data: u32) -> Result<()> {
        match opcode {
            // These have no place in the command queue.
            Opcode::Data8 | Opcode::Abort => {}
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

    /// Posts the last write of an extended command, for which there is room by [`Progress::reserve_transfer`].
    #[inline]
    fn commit(&mut self, opcode: Opcode, data: u32) -> Result<()> {
        self.credits.post();
        self.write(alcor_abi::command(opcode), data)
    }

    /// Posts an operand, unless the hardware has it.
    #[inline]
    pub(crate) fn operand(&mut self, operand: Opcode, data: u32) -> Result<()> {
        let index = OPERANDS.iter().position(|&known| known == operand);
        match index.and_then(|index| self.operands[index]) {
            Some(kept) if kept == data => Ok(()),
            _ => self.post(operand, data),
        }
    }

    /// Waits until `commands` writes can be posted, [`TRANSFER_WRITES`] at most.
    #[inline]
    pub(crate) fn reserve(&mut self, commands: u32) -> Result<()> {
        match self.credits.free() >= commands {
            true => Ok(()),
            false => self.wait_for_credits(commands),
        }
    }

    fn wait_for_credits(&mut self, commands: u32) -> Result<()> {
        // Half a queue at once, so that a long stream wakes seldom.
        let batch = commands.max(self.credits.limit / 2);
        self.wait_for(
            |_| Awaited::Credits,
            |progress| match progress.credits.free() >= commands {
                true => Wanted::Nothing,
                false => Wanted::Credits(batch),
            },
        )
    }

    /// Posts an extended command: its operands where they have changed, and the commit.
    #[inline]
    pub(crate) fn transfer(&mut self, transfer: &Transfer) -> Result<Request<'static>> {
        self.start_transfer(transfer, false)
    }

    /// Posts a put of the library's own, whose failure is nobody's: its target has left the run.
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
            // `reserve_transfer` has seen to it that there is a free id.
            return Err(Error::CompletionLost { rank: self.me });
        };
        self.note_posting(number);
        self.commit(transfer.opcode(), transfer.commit(id))?;
        Ok(request)
    }

    /// Waits until an extended command can be posted as a whole, and the ring has room for its
    /// completion: whatever waits brings collectives in software and waiting messages further,
    /// which post commands of their own, and these must not come between the writes of this one.
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
        let entries = self.ring.entries;
        self.wait_for(
            |_| Awaited::RingRoom,
            |progress| match progress.outstanding.len() < entries {
                true => Wanted::Nothing,
                // What a message waits for may never come.
                false => {
                    let others = entries.saturating_sub(progress.messages.under_way());
                    Wanted::Completions((entries / 2).min(others).max(1))
                }
            },
        )
    }

    /// Whether the ring has room for one more completion, once it knows what has been taken.
    #[inline]
    pub(crate) fn make_ring_room(&mut self) -> Result<bool> {
        let entries = self.ring.entries;
        if self.outstanding.len() >= entries {
            return Ok(false);
        }
        let untold = self.ring.taken.wrapping_sub(self.ring.told);
        if self.outstanding.len() + untold >= entries {
            self.tell_tail()?;
        }
        Ok(true)
    }
}
