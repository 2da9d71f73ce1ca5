//! Put and get.

use std::collections::VecDeque;
use std::fmt;

use alcor_abi::Opcode;
use alcor_abi::packets::x_commit;

use crate::buffer::Copied;
use crate::request::Request;
use crate::{
    Activity, Buffer, BufferMut, Datatype, Error, GlobalRank, NodeAddr, Rank, Region, Result,
    Window,
};

/// Bytes of a piece of a long put or get between host memory and a window. A DMA transfer takes 2.5 us
/// before its first byte, and a piece 16 us at 8 GB/s.
const PIECE: usize = 128 << 10;

/// The direction of a [`Transfer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransferKind {
    /// From local memory to the target's window.
    Put,
    /// From the target's window to local memory.
    Get,
}

/// The identification of a window in a [`Transfer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WindowName {
    /// The slot of the window.
    Slot(u8),
    /// The base of the window at the rank that starts the transfer.
    Base(NodeAddr),
}

/// An extended command as the hardware takes it, in bytes. Only the hardware checks the command.
///
/// # Examples
/// ```
/// use alcor::{GlobalRank, NodeAddr, Transfer, TransferKind, WindowName};
///
/// let window = WindowName::Slot(3);
/// let put = Transfer::new(TransferKind::Put, GlobalRank(1), window, NodeAddr(64), 8);
/// let text = put.at_offset(16).to_string();
/// assert!(text.starts_with("put of 8 bytes to rank 1, window slot 3, byte offset 16"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Transfer {
    /// Put or get.
    pub kind: TransferKind,
    /// The rank that owns the window.
    pub target: GlobalRank,
    /// The window.
    pub window: WindowName,
    /// Offset from the window's base, in bytes.
    pub offset: u32,
    /// Address in local node memory.
    pub local: NodeAddr,
    /// Length in bytes.
    pub length: u32,
}

impl Transfer {
    /// Makes a transfer of `length` bytes between `local` and the beginning of a window of `target`.
    #[must_use]
    pub fn new(
        kind: TransferKind,
        target: GlobalRank,
        window: WindowName,
        local: NodeAddr,
        length: u32,
    ) -> Transfer {
        Transfer {
            kind,
            target,
            window,
            offset: 0,
            local,
            length,
        }
    }

    /// Sets [`Transfer::offset`].
    #[must_use]
    pub fn at_offset(mut self, offset: u32) -> Transfer {
        self.offset = offset;
        self
    }

    /// Returns the kind of the operation for notes.
    pub(crate) fn activity(&self) -> Activity {
        match self.kind {
            TransferKind::Put => Activity::Put,
            TransferKind::Get => Activity::Get,
        }
    }

    pub(crate) fn opcode(&self) -> Opcode {
        match self.kind {
            TransferKind::Put => Opcode::XPut,
            TransferKind::Get => Opcode::XGet,
        }
    }

    pub(crate) fn commit(&self, id: u16) -> u32 {
        let slot = match self.window {
            WindowName::Slot(slot) => u32::from(slot),
            WindowName::Base(_) => 0,
        };
        x_commit::DPID.put(self.target.0)
            | x_commit::SLOT.put(slot)
            | x_commit::ID.put(u32::from(id))
    }
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, to) = match self.kind {
            TransferKind::Put => ("put", "to"),
            TransferKind::Get => ("get", "from"),
        };
        write!(f, "{kind} of {} bytes {to} {}, ", self.length, self.target)?;
        match self.window {
            WindowName::Slot(slot) => write!(f, "window slot {slot}")?,
            WindowName::Base(base) => write!(f, "window at {base}")?,
        }
        write!(f, ", byte offset {}, local {}", self.offset, self.local)
    }
}

/// A transfer of a long slice in pieces, which take turns in two copies in node memory.
struct Pieces<T: Datatype> {
    copies: [Region<T>; 2],
    /// Byte offset of the first piece in the window.
    offset: u32,
    /// Number of elements.
    length: usize,
}

impl<T: Datatype> Pieces<T> {
    /// Elements of a piece.
    const LENGTH: usize = PIECE / T::BYTES as usize;

    /// Returns whether a slice has more pieces than there are copies.
    fn are_many(values: &[T]) -> bool {
        values.len() > 2 * Self::LENGTH
    }

    fn count(&self) -> usize {
        self.length.div_ceil(Self::LENGTH)
    }

    /// Copy and byte offset of a piece.
    fn piece(&self, index: usize) -> Result<(Region<T>, u32)> {
        let first = index * Self::LENGTH;
        let length = Self::LENGTH.min(self.length - first);
        let copy = self.copies[index % self.copies.len()].slice(..length)?;
        Ok((copy, self.offset + byte_offset::<T>(first)?))
    }
}

/// Converts an element offset into bytes.
pub(crate) fn byte_offset<T: Datatype>(elements: usize) -> Result<u32> {
    let bytes = (elements as u64).saturating_mul(u64::from(T::BYTES));
    fits("byte offset", bytes, u32::MAX)
}

/// Returns `value` after a check against the largest value `limit` of a field.
pub(crate) fn fits(what: &'static str, value: u64, limit: u32) -> Result<u32> {
    match u32::try_from(value) {
        Ok(value) if value <= limit => Ok(value),
        _ => Err(Error::OutOfRange {
            what,
            value,
            limit: u64::from(limit),
        }),
    }
}

/// # Put and get
///
/// Offsets count elements of the target's window. The `_bytes` variants count bytes and need no
/// alignment. Local buffers are slices or regions: [`Buffer`], [`BufferMut`]. The hardware checks
/// bounds, rights and the target's rank. A refused transfer gives [`Error::Refused`] and has
/// changed no memory.
///
/// These calls fail with [`Error::Aborted`] after an abort of the run, with [`Error::Watchdog`] if
/// they wait for too long, with [`Error::OutOfNodeMemory`] if a copy of host memory has no room,
/// and with errors of the backend.
impl Rank {
    /// Copies all of `local` into `target`'s window, and waits until the data is visible there.
    ///
    /// # Errors
    /// [`Error::Refused`] by the target; [`Error::OutOfRange`] if offset or target fits no
    /// register.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
    /// # let inboxes =
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     let inbox = rank.alloc_from(&[0u32; 4])?;
    ///     let window = rank.register(&inbox, Rights::ALL)?;
    ///     if rank.pid() == GlobalRank(0) {
    ///         // From host memory or node memory.
    ///         rank.put(&window, GlobalRank(1), 1, &[7])?;
    ///         let data = rank.alloc_from(&[8])?;
    ///         rank.put(&window, GlobalRank(1), 2, &data)?;
    ///     }
    ///     rank.barrier()?;
    ///     rank.read_vec(&inbox)
    /// })?;
    /// # assert_eq!(inboxes[1], [0, 7, 8, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put<T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        local: impl Buffer<Item = T>,
    ) -> Result<()> {
        self.put_at(window, target, byte_offset::<T>(offset)?, local)
    }

    /// Starts a put of all of `local` into `target`'s window.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if offset or target fits no register. [`Rank::wait`] reports a refusal
    /// by the target.
    ///
    /// # Examples
    /// Eight puts under way at the same time:
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
    /// # let inboxes =
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     let inbox = rank.alloc_from(&[0u32; 8])?;
    ///     let window = rank.register(&inbox, Rights::ALL)?;
    ///     let other = GlobalRank(1 - rank.pid().0);
    ///     let squares = rank.alloc_from(&[0, 1, 4, 9, 16, 25, 36, 49])?;
    ///     let mut requests = Vec::new();
    ///     for place in 0..8 {
    ///         let element = squares.slice(place..=place)?;
    ///         requests.push(rank.iput(&window, other, place, element)?);
    ///     }
    ///     rank.wait_all(requests)?;
    ///     rank.barrier()?;
    ///     rank.read_vec(&inbox)
    /// })?;
    /// # assert_eq!(inboxes[1], [0, 1, 4, 9, 16, 25, 36, 49]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The program can't write the source of a put under way:
    /// ```compile_fail,E0502
    /// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let mut data = rank.alloc_from(&[1u32])?;
    /// # let window = rank.register(&data, Rights::ALL)?;
    /// let request = rank.iput(&window, GlobalRank(0), 0, &data)?;
    /// rank.write(&mut data, 0, &[2])?;
    /// rank.wait(request)
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iput<'a, T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        local: impl Buffer<Item = T> + 'a,
    ) -> Result<Request<'a>> {
        let offset = byte_offset::<T>(offset)?;
        let local = local.source(self)?;
        self.start(TransferKind::Put, window, target, offset, &local)
    }

    /// Fills `local` from `target`'s window, and waits until the data has arrived. A long slice arrives in
    /// pieces; an error in the middle leaves a part of it filled.
    ///
    /// # Errors
    /// As [`Rank::put`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     let shown = rank.alloc_from(&[f64::from(rank.pid().0); 4])?;
    ///     let window = rank.register(&shown, Rights::READ)?;
    ///     rank.barrier()?;
    ///     let mut found = [0.0; 2];
    ///     rank.get(&window, GlobalRank(1), 2, &mut found)?;
    ///     assert_eq!(found, [1.0, 1.0]);
    ///     rank.barrier()
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get<T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        local: impl BufferMut<Item = T>,
    ) -> Result<()> {
        self.get_at(window, target, byte_offset::<T>(offset)?, local)
    }

    /// Starts a get that fills `local` from `target`'s window.
    ///
    /// # Errors
    /// As [`Rank::iput`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     let shown = rank.alloc_from(&[rank.pid().0; 4])?;
    ///     let window = rank.register(&shown, Rights::READ)?;
    ///     rank.barrier()?;
    ///     let (mut low, mut high) = ([9; 2], [9; 2]);
    ///     let first = rank.iget(&window, GlobalRank(0), 0, &mut low)?;
    ///     let second = rank.iget(&window, GlobalRank(1), 0, &mut high)?;
    ///     rank.wait_all([first, second])?;
    ///     assert_eq!((low, high), ([0; 2], [1; 2]));
    ///     rank.barrier()
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iget<'a, T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        local: impl BufferMut<Item = T> + 'a,
    ) -> Result<Request<'a>> {
        let offset = byte_offset::<T>(offset)?;
        let (local, copy_back) = local.destination(self, Copied::Fresh)?;
        let request = self.start(TransferKind::Get, window, target, offset, &local)?;
        Ok(request.with_copy_back(copy_back))
    }

    /// [`Rank::put`] with a byte offset: any offset, length and alignment.
    ///
    /// # Errors
    /// As [`Rank::put`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
    /// # let words =
    /// Job::new(SoftBoard::new(1))?.run(1, |rank| {
    ///     let word = rank.alloc_from(&[0x1122_3344u32])?;
    ///     let window = rank.register(&word, Rights::ALL)?;
    ///     rank.put_bytes(&window, GlobalRank(0), 1, &[0xEEu8, 0xFF])?;
    ///     rank.read_vec(&word)
    /// })?;
    /// # assert_eq!(words[0], [0x11FF_EE44]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_bytes<T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        byte_offset: u64,
        local: impl Buffer<Item = u8>,
    ) -> Result<()> {
        let offset = fits("byte offset", byte_offset, u32::MAX)?;
        self.put_at(window, target, offset, local)
    }

    /// [`Rank::iput`] with a byte offset.
    ///
    /// # Errors
    /// As [`Rank::iput`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let word = rank.alloc_from(&[0u32])?;
    /// let window = rank.register(&word, Rights::ALL)?;
    /// let request = rank.iput_bytes(&window, GlobalRank(0), 3, &[1])?;
    /// rank.wait(request)?;
    /// assert_eq!(rank.read_vec(&word)?, [0x0100_0000]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iput_bytes<'a, T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        byte_offset: u64,
        local: impl Buffer<Item = u8> + 'a,
    ) -> Result<Request<'a>> {
        let offset = fits("byte offset", byte_offset, u32::MAX)?;
        let local = local.source(self)?;
        self.start(TransferKind::Put, window, target, offset, &local)
    }

    /// [`Rank::get`] with a byte offset.
    ///
    /// # Errors
    /// As [`Rank::put`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let word = rank.alloc_from(&[0x1122_3344u32])?;
    /// let window = rank.register(&word, Rights::ALL)?;
    /// let mut bytes = [0; 2];
    /// rank.get_bytes(&window, GlobalRank(0), 1, &mut bytes)?;
    /// assert_eq!(bytes, [0x33, 0x22]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_bytes<T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        byte_offset: u64,
        local: impl BufferMut<Item = u8>,
    ) -> Result<()> {
        let offset = fits("byte offset", byte_offset, u32::MAX)?;
        self.get_at(window, target, offset, local)
    }

    /// [`Rank::iget`] with a byte offset.
    ///
    /// # Errors
    /// As [`Rank::iput`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let word = rank.alloc_from(&[0x1122_3344u32])?;
    /// let window = rank.register(&word, Rights::ALL)?;
    /// let mut bytes = [0; 3];
    /// let request = rank.iget_bytes(&window, GlobalRank(0), 0, &mut bytes)?;
    /// rank.wait(request)?;
    /// assert_eq!(bytes, [0x44, 0x33, 0x22]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iget_bytes<'a, T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        byte_offset: u64,
        local: impl BufferMut<Item = u8> + 'a,
    ) -> Result<Request<'a>> {
        let offset = fits("byte offset", byte_offset, u32::MAX)?;
        let (local, copy_back) = local.destination(self, Copied::Fresh)?;
        let request = self.start(TransferKind::Get, window, target, offset, &local)?;
        Ok(request.with_copy_back(copy_back))
    }

    fn put_at<T: Datatype, U: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: u32,
        local: impl Buffer<Item = U>,
    ) -> Result<()> {
        if let Some(values) = local.host().filter(|values| Pieces::are_many(values)) {
            return self.put_in_pieces(window, target, offset, values);
        }
        let local = local.source(self)?;
        let request = self.start(TransferKind::Put, window, target, offset, &local)?;
        self.wait(request)
    }

    fn get_at<T: Datatype, U: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: u32,
        mut local: impl BufferMut<Item = U>,
    ) -> Result<()> {
        if let Some(values) = local.host().filter(|values| Pieces::are_many(values)) {
            return self.get_in_pieces(window, target, offset, values);
        }
        let (local, copy_back) = local.destination(self, Copied::Fresh)?;
        let request = self.start(TransferKind::Get, window, target, offset, &local)?;
        self.wait(request.with_copy_back(copy_back))
    }

    /// Puts a long slice in pieces: one is copied to node memory while the one before it is put.
    fn put_in_pieces<T: Datatype, U: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: u32,
        values: &[U],
    ) -> Result<()> {
        let pieces =
            self.pieces::<T, U>(TransferKind::Put, window, target, offset, values.len())?;
        let mut under_way = VecDeque::new();
        for (index, values) in values.chunks(Pieces::<U>::LENGTH).enumerate() {
            if under_way.len() == pieces.copies.len()
                && let Some(former) = under_way.pop_front()
            {
                self.wait(former)?;
            }
            let (mut copy, offset) = pieces.piece(index)?;
            self.write(&mut copy, 0, values)?;
            under_way.push_back(self.start(TransferKind::Put, window, target, offset, &copy)?);
        }
        self.wait_all(under_way)
    }

    /// Gets a long slice in pieces: one is copied from node memory while the next one arrives.
    fn get_in_pieces<T: Datatype, U: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: u32,
        values: &mut [U],
    ) -> Result<()> {
        let pieces =
            self.pieces::<T, U>(TransferKind::Get, window, target, offset, values.len())?;
        let mut under_way = VecDeque::new();
        let mut asked = 0;
        for (index, values) in values.chunks_mut(Pieces::<U>::LENGTH).enumerate() {
            while asked < pieces.count() && asked < index + pieces.copies.len() {
                let (copy, offset) = pieces.piece(asked)?;
                under_way.push_back(self.start(
                    TransferKind::Get,
                    window,
                    target,
                    offset,
                    &copy,
                )?);
                asked += 1;
            }
            if let Some(first) = under_way.pop_front() {
                self.wait(first)?;
            }
            let (copy, _) = pieces.piece(index)?;
            self.read(&copy, 0, values)?;
        }
        Ok(())
    }

    /// Prepares a transfer in pieces. Fails if the target refuses the whole range, so a refused
    /// transfer moves nothing.
    fn pieces<T: Datatype, U: Datatype>(
        &mut self,
        kind: TransferKind,
        window: &Window<T>,
        target: GlobalRank,
        offset: u32,
        length: usize,
    ) -> Result<Pieces<U>> {
        let end = u64::from(offset) + length as u64 * u64::from(U::BYTES);
        let pieces = Pieces {
            copies: [
                self.alloc(Pieces::<U>::LENGTH)?,
                self.alloc(Pieces::<U>::LENGTH)?,
            ],
            offset,
            length,
        };
        // The target checks the end of an empty transfer too.
        let end = fits("end of a transfer", end, u32::MAX)?;
        let request = self.start(kind, window, target, end, &pieces.copies[0].slice(..0)?)?;
        self.wait(request)?;
        Ok(pieces)
    }

    /// Starts a transfer: the common part of all calls above.
    fn start<'a, T: Datatype, U: Datatype>(
        &mut self,
        kind: TransferKind,
        window: &Window<T>,
        target: GlobalRank,
        offset: u32,
        local: &Region<U>,
    ) -> Result<Request<'a>> {
        let transfer = Transfer {
            kind,
            target,
            window: WindowName::Slot(window.slot()),
            offset,
            local: local.addr(),
            length: local.byte_len(),
        };
        self.start_transfer(&transfer)
    }

    /// Starts an extended command without checks, except that the target must fit the hardware's
    /// field.
    pub(crate) fn start_transfer<'a>(&mut self, transfer: &Transfer) -> Result<Request<'a>> {
        fits(
            "target rank",
            u64::from(transfer.target.0),
            x_commit::DPID.max(),
        )?;
        self.progress.check()?;
        self.progress.check_target(transfer.target, transfer)?;
        self.progress.transfer(transfer)
    }
}
