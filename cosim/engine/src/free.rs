//! A board whose time is nobody's.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use alcor_abi::PAGE_BYTES;
use verilated::Model;

use crate::chip::Chip;
use crate::mailbox::Post;
use crate::{CosimError, EFFECT_CYCLES, Options, Shape};

/// Cycles that an access takes: enough for a write to have taken effect.
const ACCESS_CYCLES: u64 = EFFECT_CYCLES + 6;
/// Cycles that pass at a time while somebody waits.
const WAIT_CYCLES: u64 = 512;

/// A simulated board as a host without a clock of its own sees it: accesses by address, at any time, from any thread. Time moves by
/// a few cycles with each, and while somebody waits ([`FreeBoard::pass`]); so how many cycles something takes is not the same in every
/// run. What lies between a host and a board, device nodes and drivers, is tried over it.
pub struct FreeBoard {
    shape: Shape,
    state: Mutex<State>,
}

struct State {
    chip: Chip,
    /// Interrupts as they were when last looked at.
    levels: u32,
    /// Interrupts that have risen and were not told of.
    risen: u32,
}

impl fmt::Debug for FreeBoard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FreeBoard")
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl State {
    fn step(&mut self, cycles: u64) -> Result<(), CosimError> {
        self.chip.run(self.chip.now() + cycles)?;
        let levels = self.chip.mailbox().levels();
        self.risen |= levels & !self.levels;
        self.levels = levels;
        Ok(())
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
            state: Mutex::new(State {
                chip: Chip::new(name, model, shape, options)?,
                levels: 0,
                risen: 0,
            }),
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a register by its byte address in the BAR.
    ///
    /// # Errors
    /// When there is none, or the model fails.
    pub fn read32(&self, address: u32) -> Result<u32, CosimError> {
        self.check(address)?;
        let mut state = self.state();
        state.step(ACCESS_CYCLES)?;
        state.chip.peek(address)
    }

    /// Writes a register by its byte address in the BAR; over the bus, if it is one of the board's page.
    ///
    /// # Errors
    /// As [`FreeBoard::read32`].
    pub fn write32(&self, address: u32, value: u32) -> Result<(), CosimError> {
        self.check(address)?;
        let mut state = self.state();
        let (page, offset) = (address / PAGE_BYTES, address % PAGE_BYTES);
        match page.checked_sub(1) {
            None => state.chip.write(address, value)?,
            Some(rank) => {
                let posts = &mut vec![Post::new(offset, value)];
                state.chip.mailbox_mut().post(rank as usize, posts);
            }
        }
        state.step(ACCESS_CYCLES)
    }

    /// Copies from node memory, where the DMA engines see rank r's from r × its bytes on; whether there is so much.
    ///
    /// # Errors
    /// When the model fails.
    pub fn load(&self, at: u64, data: &mut [u8]) -> Result<bool, CosimError> {
        let Some((rank, at)) = self.place(at, data.len()) else {
            return Ok(false);
        };
        let mut state = self.state();
        state.step(ACCESS_CYCLES)?;
        state.chip.load(rank, at, data)?;
        Ok(true)
    }

    /// Copies to node memory; as [`FreeBoard::load`].
    ///
    /// # Errors
    /// When the model fails.
    pub fn store(&self, at: u64, data: &[u8]) -> Result<bool, CosimError> {
        let Some((rank, at)) = self.place(at, data.len()) else {
            return Ok(false);
        };
        let mut state = self.state();
        state.step(ACCESS_CYCLES)?;
        state.chip.store(rank, at, data)?;
        Ok(true)
    }

    /// Lets time pass for somebody who waits; the ranks whose interrupts have risen since the last call, a bit for each.
    ///
    /// # Errors
    /// When the model fails.
    pub fn pass(&self) -> Result<u32, CosimError> {
        let mut state = self.state();
        if state.risen == 0 {
            state.step(WAIT_CYCLES)?;
        }
        Ok(std::mem::take(&mut state.risen))
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
