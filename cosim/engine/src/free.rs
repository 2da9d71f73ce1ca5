//! A simulated board without a scheduler of time.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::sleep;
use std::time::Duration;

use alcor::Topology;
use alcor_abi::PAGE_BYTES;
use verimodel::Model;

use crate::chip::Chip;
use crate::mailbox::{Post, Want};
use crate::{CosimError, Options, Shape};

/// Cycles of a posted write: the board accepts one per cycle.
const WRITE_CYCLES: u64 = 1;
/// Cycles of a read or a transfer, after those in which earlier writes take effect. Any number
/// above zero is legal: a program that polls a register must see time move.
const READ_CYCLES: u64 = 4;
/// Number of cycles between two checks whether a wait has ended.
const STRIDE: u64 = 16;
/// Maximum number of strides per call of [`FreeBoard::pass`].
const STRIDES: usize = 32;
/// Time for which a waiting thread leaves the board to other threads.
const AWAY: Duration = Duration::from_micros(20);

/// A simulated board with accesses by address, at any time and from any thread. Each access moves
/// time by a few cycles, and so does each wait ([`FreeBoard::pass`]). So cycle counts differ
/// between runs. Tests of device nodes and of drivers between a host and a board use this board.
pub struct FreeBoard {
    shape: Shape,
    chip: Mutex<Chip>,
    /// Number of accesses that wait for the lock. The mutex alone would starve them: the thread
    /// that has just released the mutex gets it again, and a thread that waits for an interrupt
    /// locks it over and over.
    accesses: AtomicU32,
    /// Interrupts that have risen since they were last taken.
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
            chip: Mutex::new(Chip::new(
                name,
                0,
                &Topology::single(),
                model,
                shape,
                options,
            )?),
            accesses: AtomicU32::new(0),
            risen: AtomicU32::new(0),
        })
    }

    /// Number of ranks and size of node memory.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Size of the registers in bytes: a page for the board and one for each rank.
    #[must_use]
    pub fn register_bytes(&self) -> u32 {
        PAGE_BYTES * (1 + self.shape.ranks)
    }

    /// Runs `action` on the board, with precedence over waiting threads.
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

    /// Lets all earlier writes take effect, as a read on the bus does.
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
    /// If there is no such register, or the model fails.
    pub fn read32(&self, address: u32) -> Result<u32, CosimError> {
        self.check(address)?;
        self.access(|chip| {
            self.push(chip)?;
            self.step(chip, READ_CYCLES)?;
            chip.peek(address)
        })
    }

    /// Writes a register by its byte address in the BAR. A register of the board's page is written
    /// over the bus.
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

    /// Copies from node memory by the address of the DMA engines: rank r begins at r × node bytes.
    /// Returns whether the range exists.
    ///
    /// # Errors
    /// If the model fails.
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

    /// Copies to node memory, as [`FreeBoard::load`].
    ///
    /// # Errors
    /// If the model fails.
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

    /// Lets time pass for a waiting thread, unless other threads use the board. Returns a bit for
    /// each rank whose interrupt has risen since the last call. Returns after a short time in any
    /// case.
    ///
    /// # Errors
    /// If the model fails.
    pub fn pass(&self) -> Result<u32, CosimError> {
        if self.risen.load(Ordering::Relaxed) == 0 {
            match self.idle_chip() {
                Some(mut chip) => self.pass_time(&mut chip)?,
                None => sleep(AWAY),
            }
        }
        Ok(self.take_risen())
    }

    /// Takes the interrupts that have risen since the last call of this function or of
    /// [`FreeBoard::pass`], a bit for each rank.
    pub fn take_risen(&self) -> u32 {
        self.risen.swap(0, Ordering::Relaxed)
    }

    /// Levels of the ranks' interrupts, a bit for each, and the cycle.
    #[must_use]
    pub fn interrupts(&self) -> (u32, u64) {
        let chip = self.chip.lock().unwrap_or_else(PoisonError::into_inner);
        (chip.mailbox().irq(), chip.now())
    }

    /// Locks the board if no thread uses it.
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

    /// Lets time pass until an interrupt rises or another thread needs the board.
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

    /// Returns the rank of an address, and the address in its memory. No transfer crosses from one
    /// rank to the next.
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
        // Another thread requests the board while time passes, and a third one holds the board.
        board.accesses.store(1, Ordering::Relaxed);
        let mut chip = board.chip.lock().unwrap();
        let began = chip.now();
        board.pass_time(&mut chip).unwrap();
        assert_eq!(chip.now() - began, STRIDE);
        board.accesses.store(0, Ordering::Relaxed);
        assert_eq!(board.pass().unwrap(), 0);
    }
}
