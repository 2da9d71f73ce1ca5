//! BARs: access to registers, and to memory without a DMA engine.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::nodes::{Mapping, WIDEST};
use crate::{BarOffset, Error, Result};

/// A mapped BAR.
///
/// All accesses are volatile. Accesses of 32 bits always work. Accesses of 64 bits work only where
/// the design accepts them: the bypass BAR does, registers behind a 32-bit bridge do not.
///
/// Reads return all ones when no device answers on the bus. After [`Bar::watch`], a read of all
/// ones triggers a read of a register that is never all ones. A dead link is then an error rather
/// than a value.
///
/// # Examples
/// ```
/// use xdma::standin::{Memory, StandIn};
/// use xdma::{BarOffset, Error};
///
/// const ID: BarOffset = BarOffset(0);
/// let standin = StandIn::new(Memory::new(0x1000))?;
/// let card = standin.machine().only_card()?;
/// let registers = card.user_bar()?;
/// registers.write32(ID, 0x1234)?;
/// let registers = registers.watch(ID, 0x1234)?;
///
/// registers.write32(BarOffset(8), 7)?;
/// assert_eq!(registers.read32(BarOffset(8))?, 7);
/// registers.check()?;
/// standin.remove_by_surprise();
/// assert!(matches!(registers.check(), Err(Error::DeadLink { .. })));
/// assert!(matches!(registers.read32(BarOffset(8)), Err(Error::DeadLink { .. })));
/// # Ok::<(), Error>(())
/// ```
pub struct Bar {
    memory: Box<dyn Mapping>,
    node: PathBuf,
    /// A register that never reads all ones while the card answers.
    watched: Option<BarOffset>,
}

impl fmt::Debug for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bar")
            .field("node", &self.node)
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

impl Bar {
    pub(crate) fn new(memory: Box<dyn Mapping>, node: PathBuf) -> Bar {
        Bar {
            memory,
            node,
            watched: None,
        }
    }

    /// Number of mapped bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.memory.bytes() as u64
    }

    /// Path of the device node.
    #[must_use]
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// Checks that the constant register at `offset` reads `value`. Later reads of all ones check
    /// this register again.
    ///
    /// # Errors
    /// [`Error::DeadLink`] when the register reads all ones, [`Error::WrongId`] when it reads any
    /// other value, and the errors of [`Bar::read32`].
    pub fn watch(mut self, offset: BarOffset, value: u32) -> Result<Bar> {
        self.watched = Some(offset);
        match self.read32(offset)? {
            found if found == value => Ok(self),
            found => Err(Error::WrongId {
                node: self.node,
                offset,
                expected: value,
                found,
            }),
        }
    }

    /// Reads 32 bits.
    ///
    /// # Errors
    /// [`Error::Beyond`] and [`Error::Misaligned`], both before any access; [`Error::DeadLink`].
    pub fn read32(&self, offset: BarOffset) -> Result<u32> {
        let value = self.memory.read32(self.place(offset, 4)?);
        if value == u32::MAX {
            self.check()?;
        }
        Ok(value)
    }

    /// Writes 32 bits. Writes are posted: a write has arrived once a later read has returned.
    ///
    /// # Errors
    /// [`Error::Beyond`] and [`Error::Misaligned`], both before any access.
    pub fn write32(&self, offset: BarOffset, value: u32) -> Result<()> {
        self.memory.write32(self.place(offset, 4)?, value);
        Ok(())
    }

    /// Reads 64 bits as one access.
    ///
    /// # Errors
    /// The errors of [`Bar::read32`].
    ///
    /// # Examples
    /// ```
    /// use xdma::BarOffset;
    /// use xdma::standin::{Memory, Shape, StandIn};
    ///
    /// let shape = Shape { bypass_bytes: 0x1000, ..Shape::default() };
    /// let standin = StandIn::with(shape, Memory::new(0x1000))?;
    /// let memory = standin.machine().only_card()?.bypass_bar()?;
    /// memory.write64(BarOffset(8), 1 << 40)?;
    /// assert_eq!(memory.read64(BarOffset(8))?, 1 << 40);
    /// assert_eq!(memory.bytes(), 0x1000);
    /// assert!(memory.node().ends_with("xdma2_bypass"));
    /// # Ok::<(), xdma::Error>(())
    /// ```
    pub fn read64(&self, offset: BarOffset) -> Result<u64> {
        let value = self.memory.read64(self.place(offset, 8)?);
        if value == u64::MAX {
            self.check()?;
        }
        Ok(value)
    }

    /// Writes 64 bits as one access. A write-combining mapping may merge neighbouring writes.
    ///
    /// # Errors
    /// The errors of [`Bar::write32`].
    pub fn write64(&self, offset: BarOffset, value: u64) -> Result<()> {
        self.memory.write64(self.place(offset, 8)?, value);
        Ok(())
    }

    /// Number of loads of [`Bar::read`] for this range. Each load is a round trip to the card.
    ///
    /// A load moves up to 64 bytes: as many as the processor's vector registers hold, and 16 in the
    /// guest of a hypervisor.
    #[must_use]
    pub fn loads(&self, offset: BarOffset, bytes: usize) -> usize {
        let width = self.memory.widest() as u64;
        let end = offset.0.saturating_add(bytes as u64);
        (end.div_ceil(width) - offset.0 / width) as usize
    }

    /// Reads memory by the widest loads of the processor ([`Bar::loads`]). The loads may read up to
    /// 63 bytes in front of the range and behind it, so this is no way to read registers.
    ///
    /// # Errors
    /// [`Error::Beyond`], before any access; [`Error::DeadLink`].
    ///
    /// # Examples
    /// ```
    /// use xdma::BarOffset;
    /// use xdma::standin::{Memory, Shape, StandIn};
    ///
    /// let shape = Shape { bypass_bytes: 0x1000, ..Shape::default() };
    /// let standin = StandIn::with(shape, Memory::new(0x1000))?;
    /// let memory = standin.machine().only_card()?.bypass_bar()?;
    /// memory.write(BarOffset(0x24), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])?;
    ///
    /// let mut data = [0; 5];
    /// memory.read(BarOffset(0x26), &mut data)?;
    /// assert_eq!(data, [3, 4, 5, 6, 7]);
    /// assert_eq!(memory.loads(BarOffset(0x26), 5), 2);
    /// # Ok::<(), xdma::Error>(())
    /// ```
    pub fn read(&self, offset: BarOffset, data: &mut [u8]) -> Result<()> {
        let width = self.memory.widest();
        let (mut at, mut left) = (self.range(offset, data.len())?, &mut *data);
        let mut buffer = [0; WIDEST];
        let unit = &mut buffer[..width.min(WIDEST)];
        while !left.is_empty() {
            let skip = at % width;
            let now = left.len().min(width - skip);
            if let [word] = unit.as_chunks_mut::<8>().0 {
                *word = self.memory.read64(at - skip).to_le_bytes();
            } else {
                self.memory.read_unit(at - skip, unit);
            }
            let (part, rest) = left.split_at_mut(now);
            part.copy_from_slice(&unit[skip..skip + now]);
            (at, left) = (at + now, rest);
        }
        // Loads go upwards, so the last bytes are ones once the link is dead.
        if data.last() == Some(&u8::MAX) {
            self.check()?;
        }
        Ok(())
    }

    /// Writes memory by the widest stores that the alignment of the place allows. The stores are
    /// posted, as those of [`Bar::write32`], and keep their order.
    ///
    /// # Errors
    /// [`Error::Misaligned`] unless place and length are multiples of 4, and [`Error::Beyond`], both
    /// before any access.
    pub fn write(&self, offset: BarOffset, data: &[u8]) -> Result<()> {
        let misaligned = offset.0 % 4 + data.len() as u64 % 4;
        if misaligned != 0 {
            return Err(Error::Misaligned {
                node: self.node.clone(),
                at: crate::At::bytes(offset.0, data.len() as u64),
                multiple: 4,
            });
        }
        let (mut at, mut left) = (self.range(offset, data.len())?, data);
        while !left.is_empty() {
            // Powers of two: the place's alignment, and no more than what is left.
            let aligned = 1 << at.trailing_zeros().min(WIDEST.ilog2());
            let width = aligned.min(1 << left.len().ilog2());
            let (unit, rest) = left.split_at(width.min(self.memory.widest()));
            if let [word] = unit.as_chunks::<4>().0 {
                self.memory.write32(at, u32::from_le_bytes(*word));
            } else if let [word] = unit.as_chunks::<8>().0 {
                self.memory.write64(at, u64::from_le_bytes(*word));
            } else {
                self.memory.write_unit(at, unit);
            }
            (at, left) = (at + unit.len(), rest);
        }
        Ok(())
    }

    /// Writes a line of 64 bytes behind all earlier writes, and in front of all later ones, also those
    /// of other BARs. On a write-combining mapping ([`Card::bypass_combined`](crate::Card::bypass_combined))
    /// the line is one packet on the bus, as a rule; the bus may also carry it in pieces.
    ///
    /// # Errors
    /// [`Error::Misaligned`] unless the place is a multiple of 64, and [`Error::Beyond`], both before
    /// any access.
    ///
    /// # Examples
    /// ```
    /// use xdma::BarOffset;
    /// use xdma::standin::{Memory, Shape, StandIn};
    ///
    /// let shape = Shape { bypass_bytes: 0x1000, ..Shape::default() };
    /// let standin = StandIn::with(shape, Memory::new(0x1000))?;
    /// let card = standin.machine().only_card()?;
    /// let lines = card.bypass_combined(BarOffset(0), 0x1000)?;
    /// lines.write_line(BarOffset(0x40), &[7; 64])?;
    /// assert_eq!(lines.read32(BarOffset(0x7c))?, 0x0707_0707);
    /// assert!(lines.write_line(BarOffset(0x20), &[7; 64]).is_err());
    /// # Ok::<(), xdma::Error>(())
    /// ```
    pub fn write_line(&self, offset: BarOffset, line: &[u8; 64]) -> Result<()> {
        self.place(offset, 64)?;
        self.memory.flush();
        self.write(offset, line)?;
        self.memory.flush();
        Ok(())
    }

    /// Checks that the card still answers. Does nothing without [`Bar::watch`].
    ///
    /// # Errors
    /// [`Error::DeadLink`].
    pub fn check(&self) -> Result<()> {
        match self.watched {
            Some(offset) if self.memory.read32(self.place(offset, 4)?) == u32::MAX => {
                Err(Error::DeadLink {
                    node: self.node.clone(),
                    offset,
                })
            }
            _ => Ok(()),
        }
    }

    fn place(&self, offset: BarOffset, bytes: u64) -> Result<usize> {
        if !offset.0.is_multiple_of(bytes) {
            return Err(Error::Misaligned {
                node: self.node.clone(),
                at: crate::At::bytes(offset.0, bytes),
                multiple: bytes,
            });
        }
        self.range(offset, bytes as usize)
    }

    fn range(&self, offset: BarOffset, bytes: usize) -> Result<usize> {
        match offset.0.checked_add(bytes as u64) {
            Some(end) if end <= self.bytes() => Ok(offset.0 as usize),
            _ => Err(Error::Beyond {
                node: self.node.clone(),
                offset,
                bytes: bytes as u64,
                size: self.bytes(),
            }),
        }
    }
}
