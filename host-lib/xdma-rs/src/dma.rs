//! DMA channels: bulk transfers between host memory and card memory.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use crate::buffer::PAGE;
use crate::node::Node;
use crate::nodes::Dma;
use crate::{At, CardAddr, DmaBuffer, Doing, Error, Result};

/// Size of a channel's copy buffer in bytes.
const PIECE: usize = 1 << 20;
/// Upper bound on the bytes that the system moves in one call: INT_MAX rounded down to whole pages.
const MOST: usize = 0x7fff_f000;

/// A channel from the host to the card.
///
/// # Examples
/// ```
/// use xdma::CardAddr;
/// use xdma::standin::{Memory, StandIn};
///
/// let standin = StandIn::new(Memory::new(0x1_0000))?;
/// let card = standin.machine().only_card()?;
/// card.h2c(0)?.write(CardAddr(0x101), b"any length, any alignment")?;
/// let mut found = [0; 10];
/// card.c2h(0)?.read(CardAddr(0x101), &mut found)?;
/// assert_eq!(&found, b"any length");
/// # Ok::<(), xdma::Error>(())
/// ```
#[derive(Debug)]
pub struct H2c(Channel);

/// A channel from the card to the host; see [`H2c`].
#[derive(Debug)]
pub struct C2h(Channel);

impl H2c {
    pub(crate) fn new(io: Box<dyn Dma>, node: Node) -> Result<H2c> {
        Ok(H2c(Channel::new(io, node)?))
    }

    /// Writes `data` to card address `to`. `data` may be in any memory: the channel copies it
    /// through its own buffer, 1 MiB at a time, unless it is in memory of
    /// [`Card::host_buffer`](crate::Card::host_buffer).
    ///
    /// # Errors
    /// The errors of [`H2c::write_buffer`]. After an error, any part of `data` may be on the card.
    pub fn write(&mut self, to: CardAddr, data: &[u8]) -> Result<()> {
        self.0.check(Doing::Write, to, data.len())?;
        if self.0.io.takes_any_memory() {
            let result = self.0.write(to, data);
            return self.0.ended(result, None);
        }
        for (at, part) in parts(to, data.len(), PIECE) {
            let Channel {
                io, node, staging, ..
            } = &mut self.0;
            let is_interruptible = io.is_interruptible();
            let staged = staging.facing(at, part.len(), node)?;
            staged.copy_from_slice(&data[part]);
            let result = node.transfer(Doing::Write, at, staged.len(), is_interruptible, || {
                io.pwrite(staged, at.0)
            });
            self.0.ended(result, None)?;
        }
        Ok(())
    }

    /// Writes a buffer to card address `to` without a copy.
    ///
    /// # Errors
    /// [`Error::BufferAlignment`] when buffer and `to` have different offsets in a page;
    /// [`Error::Engine`], [`Error::Short`], [`Error::TransferTimedOut`], [`Error::DeadLink`],
    /// [`Error::Gone`], [`Error::Node`]; [`Error::ChannelLost`] after a time-out, and after an error
    /// whose engine did not stop.
    ///
    /// # Examples
    /// ```
    /// use xdma::standin::{Memory, StandIn};
    /// use xdma::{CardAddr, DmaBuffer};
    ///
    /// let standin = StandIn::new(Memory::new(0x1000))?;
    /// let card = standin.machine().only_card()?;
    /// let (mut to_card, mut from_card) = (card.h2c(0)?, card.c2h(0)?);
    /// let place = CardAddr(0x104);
    /// let mut buffer = DmaBuffer::facing(place, 3)?;
    /// buffer.copy_from_slice(&[1, 2, 3]);
    /// to_card.write_buffer(place, &buffer)?;
    /// let mut found = DmaBuffer::facing(place, 3)?;
    /// from_card.read_buffer(place, &mut found)?;
    /// assert_eq!(found[..], [1, 2, 3]);
    /// assert!(to_card.node().ends_with("xdma2_h2c_0"));
    /// # Ok::<(), xdma::Error>(())
    /// ```
    pub fn write_buffer(&mut self, to: CardAddr, buffer: &DmaBuffer) -> Result<()> {
        self.0.check(Doing::Write, to, buffer.len())?;
        self.0.faces(to, buffer)?;
        let result = self.0.write(to, buffer);
        self.0.ended(result, Some(buffer))
    }

    /// Path of the device node.
    #[must_use]
    pub fn node(&self) -> &Path {
        self.0.node.path()
    }
}

impl C2h {
    pub(crate) fn new(io: Box<dyn Dma>, node: Node) -> Result<C2h> {
        Ok(C2h(Channel::new(io, node)?))
    }

    /// Reads card memory at `from` into `data`. `data` may be in any memory: the channel copies it
    /// through its own buffer, 1 MiB at a time, unless it is in memory of
    /// [`Card::host_buffer`](crate::Card::host_buffer).
    ///
    /// # Errors
    /// The errors of [`H2c::write_buffer`]. After an error, any part of `data` may have been read.
    pub fn read(&mut self, from: CardAddr, data: &mut [u8]) -> Result<()> {
        self.0.check(Doing::Read, from, data.len())?;
        if self.0.io.takes_any_memory() {
            let result = self.0.read(from, data);
            return self.0.ended(result, None);
        }
        for (at, part) in parts(from, data.len(), PIECE) {
            let Channel {
                io, node, staging, ..
            } = &mut self.0;
            let is_interruptible = io.is_interruptible();
            let staged = staging.facing(at, part.len(), node)?;
            let result = node.transfer(Doing::Read, at, part.len(), is_interruptible, || {
                io.pread(staged, at.0)
            });
            if result.is_ok() {
                data[part].copy_from_slice(staged);
            }
            self.0.ended(result, None)?;
        }
        Ok(())
    }

    /// Reads card memory at `from` into a buffer without a copy.
    ///
    /// # Errors
    /// The errors of [`H2c::write_buffer`].
    pub fn read_buffer(&mut self, from: CardAddr, buffer: &mut DmaBuffer) -> Result<()> {
        self.0.check(Doing::Read, from, buffer.len())?;
        self.0.faces(from, buffer)?;
        let result = self.0.read(from, buffer);
        self.0.ended(result, Some(buffer))
    }

    /// Path of the device node.
    #[must_use]
    pub fn node(&self) -> &Path {
        self.0.node.path()
    }
}

/// Splits a transfer into calls of at most `most` bytes. `most` is a multiple of a page, so all
/// calls have the same offset in a page. (An address that wraps is not a valid file offset, so its
/// first call fails.)
fn parts(
    at: CardAddr,
    length: usize,
    most: usize,
) -> impl Iterator<Item = (CardAddr, Range<usize>)> {
    (0..length).step_by(most).map(move |begin| {
        let end = length.min(begin + most);
        (CardAddr(at.0.wrapping_add(begin as u64)), begin..end)
    })
}

struct Channel {
    io: Box<dyn Dma>,
    node: Node,
    /// Both addresses of a transfer must be equal modulo this number.
    alignment: u64,
    staging: Staging,
    /// Whether a transfer has timed out. The engine may still run then.
    is_lost: bool,
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("node", &self.node)
            .field("alignment", &self.alignment)
            .finish_non_exhaustive()
    }
}

impl Channel {
    fn new(io: Box<dyn Dma>, node: Node) -> Result<Channel> {
        let alignment = io
            .alignment()
            .map_err(|source| node.error(Doing::Open, At::NODE, source))?;
        Ok(Channel {
            io,
            node,
            alignment: alignment.max(1),
            staging: Staging(None),
            is_lost: false,
        })
    }

    /// Fails if an earlier transfer has timed out.
    fn check(&self, doing: Doing, card: CardAddr, length: usize) -> Result<()> {
        if !self.is_lost {
            return Ok(());
        }
        Err(Error::ChannelLost {
            node: self.node.path().to_owned(),
            doing,
            at: At::bytes(card.0, length as u64),
        })
    }

    /// Writes `data` to card address `to` from where it is.
    fn write(&self, to: CardAddr, data: &[u8]) -> Result<()> {
        for (at, part) in parts(to, data.len(), MOST) {
            let (data, io) = (&data[part], &self.io);
            let call = || io.pwrite(data, at.0);
            let (node, bytes) = (&self.node, data.len());
            node.transfer(Doing::Write, at, bytes, io.is_interruptible(), call)?;
        }
        Ok(())
    }

    /// Reads card memory at `from` to where `data` is.
    fn read(&self, from: CardAddr, data: &mut [u8]) -> Result<()> {
        for (at, part) in parts(from, data.len(), MOST) {
            let (data, io) = (&mut data[part], &self.io);
            let (node, bytes) = (&self.node, data.len());
            let call = || io.pread(data, at.0);
            node.transfer(Doing::Read, at, bytes, io.is_interruptible(), call)?;
        }
        Ok(())
    }

    /// Returns the result of a transfer of `buffer`, or of the channel's own buffer. After a
    /// time-out, keeps the pages of the buffer, and refuses all further transfers. A driver whose
    /// time-out passes within a transfer returns the bytes before it, while the engine may still run.
    fn ended(&mut self, result: Result<()>, buffer: Option<&DmaBuffer>) -> Result<()> {
        if let Err(Error::TransferTimedOut { .. } | Error::Short { .. }) = result {
            self.is_lost = true;
            if let Some(buffer) = buffer.or(self.staging.0.as_ref()) {
                buffer.lose();
            }
        }
        result
    }

    fn faces(&self, card: CardAddr, buffer: &DmaBuffer) -> Result<()> {
        let host = buffer.as_ptr() as u64;
        if host % self.alignment == card.0 % self.alignment {
            return Ok(());
        }
        Err(Error::BufferAlignment {
            node: self.node.path().to_owned(),
            at: At::bytes(card.0, buffer.len() as u64),
            buffer: host,
            alignment: self.alignment,
        })
    }
}

/// A channel's copy buffer, allocated on first use.
struct Staging(Option<DmaBuffer>);

impl Staging {
    /// Returns space for `length` bytes, at most the size of the buffer, with the same offset in a
    /// page as `card`.
    fn facing(&mut self, card: CardAddr, length: usize, node: &Node) -> Result<&mut [u8]> {
        let buffer =
            match self.0.take() {
                Some(buffer) => buffer,
                None => DmaBuffer::facing(CardAddr(0), PIECE + PAGE as usize).map_err(|error| {
                    match error {
                        Error::Node {
                            doing, at, source, ..
                        } => node.error(doing, at, source),
                        other => other,
                    }
                })?,
            };
        let begin = (card.0 % PAGE) as usize;
        Ok(&mut self.0.insert(buffer)[begin..begin + length])
    }
}
