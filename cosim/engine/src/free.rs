//! A board whose time is nobody's.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::sleep;
use std::time::Duration;

use alcor_abi::PAGE_BYTES;
use verimodel::Model;

use crate::chip::Chip;
use crate::mailbox::{Post, Want};
use crate::{CosimError, Options, Shape};

/// Cycles that a posted write takes: the board takes one a cycle.
const WRITE_CYCLES: u64 = 1;
/// Cycles that a read or a transfer takes, behind those in which the writes before it take effect. Any number but none
/// would do: who looks at a register again and again must see time move.
const READ_CYCLES: u64 = 4;
/// Cycles that pass at a time while somebody waits, before a look at whether they are to end.
const STRIDE: u64 = 16;
/// Strides of a call of [`FreeBoard::pass`] at most.
const STRIDES: usize = 32;
/// How long somebody who waits leaves the board to those who use it.
const AWAY: Duration = Duration::from_micros(20);

/// A simulated board as a host without a clock of its own sees it: accesses by address, at any time, from any thread. Time moves by
/// a few cycles with each, and while somebody waits ([`FreeBoard::pass`]); so how many cycles something takes is not the same in every
/// run. What lies between a host and a board, device nodes and drivers, is tried over it.
pub struct FreeBoard {
    shape: Shape,
    chip: Mutex<Chip>,
    /// Accesses that wait for their turn. A mutex alone would give them none: it is had again by the thread that has just let
    /// it go, and who waits for an interrupt does so again and again.
    accesses: AtomicU32,
    /// Interrupts that have risen and were not told of.
    risen: AtomicU32,
}

impl fmt::Debug for FreeBoard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FreeBoard")
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl FreeBoard {
    pub(crate) fn new(
        name: &str,
        model: &Model,
        shape: Shape,
        options: &Options,
    ) -> Result<Self, CosimError> {
        Ok(Self {
            shape,
            chip: Mutex::new(Chip::new(name, model, shape, options)?),
            accesses: AtomicU32::new(0),
            risen: AtomicU32::new(0),
        })
    }

    /// Ranks and node memory.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Bytes of its registers: a page for the board and one for each rank.
    #[must_use]
    pub fn register_bytes(&self) -> u32 {
        PAGE_BYTES * (1 + self.shape.ranks)
    }

    /// Does something to the board before anybody who waits has it again.
    fn access<T>(
        &self,
        what: impl FnOnce(&mut Chip) -> Result<T, CosimError>,
    ) -> Result<T, CosimError> {
        self.accesses.fetch_add(1, Ordering::Relaxed);
        let mut chip = self.chip.lock().unwrap_or_else(PoisonError::into_inner);
        self.accesses.fetch_sub(1, Ordering::Relaxed);
        what(&mut chip)
    }

    fn step(&self, chip: &mut Chip, cycles: u64) -> Result<(), CosimError> {
        chip.run(chip.now() + cycles, false)?;
        let risen = chip.mailbox_mut().take_risen();
        self.risen.fetch_or(risen, Ordering::Relaxed);
        Ok(())
    }

    /// Lets all writes before take effect, as a read on the bus does.
    fn push(&self, chip: &mut Chip) -> Result<(), CosimError> {
        let is_pending = |chip: &Chip| {
            let mailbox = chip.mailbox();
            (0..self.shape.ranks as usize)
                .any(|rank| mailbox.at_once(rank, &Want::Effect).is_none())
        };
        while is_pending(chip) {
            self.step(chip, 1)?;
        }
        Ok(())
    }

    /// Reads a register by its byte address in the BAR.
    ///
    /// # Errors
    /// When there is none, or the model fails.
    pub fn read32(&self, address: u32) -> Result<u32, CosimError> {
        self.check(address)?;
        self.access(|chip| {
            self.push(chip)?;
            self.step(chip, READ_CYCLES)?;
            chip.peek(address)
        })
    }

    /// Writes a register by its byte address in the BAR; over the bus, if it is one of the board's page.
    ///
    /// # Errors
    /// As [`FreeBoard::read32`].
    pub fn write32(&self, address: u32, value: u32) -> Result<(), CosimError> {
        self.check(address)?;
        let (page, offset) = (address / PAGE_BYTES, address % PAGE_BYTES);
        self.access(|chip| {
            match page.checked_sub(1) {
                None => {
                    self.push(chip)?;
                    chip.write(address, value)?;
                }
                Some(rank) => {
                    let posts = &mut vec![Post::new(offset, value)];
                    chip.mailbox_mut().post(rank as usize, posts);
                }
            }
            self.step(chip, WRITE_CYCLES)
        })
    }

    /// Copies from node memory, where the DMA engines see rank r's from r × its bytes on; whether there is so much.
    ///
    /// # Errors
    /// When the model fails.
    pub fn load(&self, at: u64, data: &mut [u8]) -> Result<bool, CosimError> {
        let Some((rank, at)) = self.place(at, data.len()) else {
            return Ok(false);
        };
        self.access(|chip| {
            self.push(chip)?;
            self.step(chip, READ_CYCLES)?;
            chip.load(rank, at, data)?;
            Ok(true)
        })
    }

    /// Copies to node memory; as [`FreeBoard::load`].
    ///
    /// # Errors
    /// When the model fails.
    pub fn store(&self, at: u64, data: &[u8]) -> Result<bool, CosimError> {
        let Some((rank, at)) = self.place(at, data.len()) else {
            return Ok(false);
        };
        self.access(|chip| {
            self.push(chip)?;
            self.step(chip, READ_CYCLES)?;
            chip.store(rank, at, data)?;
            Ok(true)
        })
    }

    /// Lets time pass for somebody who waits, unless others do; the ranks whose interrupts have risen since the last call, a bit
    /// for each. Soon comes back, whatever others do.
    ///
    /// # Errors
    /// When the model fails.
    pub fn pass(&self) -> Result<u32, CosimError> {
        if self.risen.load(Ordering::Relaxed) == 0 {
            match self.idle_chip() {
                Some(mut chip) => self.pass_time(&mut chip)?,
                None => sleep(AWAY),
            }
        }
        Ok(self.risen.swap(0, Ordering::Relaxed))
    }

    /// The board, if nobody uses it.
    fn idle_chip(&self) -> Option<MutexGuard<'_, Chip>> {
        if self.accesses.load(Ordering::Relaxed) != 0 {
            return None;
        }
        match self.chip.try_lock() {
            Ok(chip) => Some(chip),
            Err(TryLockError::Poisoned(chip)) => Some(chip.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Lets time pass until an interrupt rises or somebody wants the board.
    fn pass_time(&self, chip: &mut Chip) -> Result<(), CosimError> {
        for _ in 0..STRIDES {
            self.step(chip, STRIDE)?;
            let is_wanted = self.accesses.load(Ordering::Relaxed) != 0;
            if is_wanted || self.risen.load(Ordering::Relaxed) != 0 {
                break;
            }
        }
        Ok(())
    }

    fn check(&self, address: u32) -> Result<(), CosimError> {
        if address.is_multiple_of(4) && address < self.register_bytes() {
            return Ok(());
        }
        Err(CosimError::BadRegister { offset: address })
    }

    /// A rank and an address in its memory. No transfer crosses from one to the next.
    fn place(&self, at: u64, length: usize) -> Option<(usize, u32)> {
        let bytes = u64::from(self.shape.node_bytes);
        let (rank, at) = (at / bytes, at % bytes);
        let is_there = rank < u64::from(self.shape.ranks) && at + length as u64 <= bytes;
        is_there.then_some((rank as usize, at as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CosimBackend;

    #[test]
    fn who_waits_leaves_the_board_to_who_uses_it() {
        let board = CosimBackend::new().open_free("rma2").unwrap();
        let now = || board.chip.lock().unwrap().now();
        let passes = |accesses| {
            board.accesses.store(accesses, Ordering::Relaxed);
            let began = now();
            assert_eq!(board.pass().unwrap(), 0);
            now() - began
        };
        assert_eq!([0, 1, 2, 0].map(passes), [512, 0, 0, 512]);
        // Somebody comes while time passes, and somebody else has the board.
        board.accesses.store(1, Ordering::Relaxed);
        let mut chip = board.chip.lock().unwrap();
        let began = chip.now();
        board.pass_time(&mut chip).unwrap();
        assert_eq!(chip.now() - began, STRIDE);
        board.accesses.store(0, Ordering::Relaxed);
        assert_eq!(board.pass().unwrap(), 0);
    }
}
