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

/// Bytes of the longest slice of host memory that a put or get moves in one piece.
const LONG: usize = 256 << 10;
/// Bytes of the longest and of the shortest piece of a longer slice.
const LONGEST_PIECE: usize = 256 << 10;
const SHORTEST_PIECE: usize = 32 << 10;
/// Pieces have a multiple of this number of bytes, except one.
const STEP: usize = 4 << 10;
/// Bytes that a PCIe Gen3 x16 link carries in a cycle of 4 ns, and in the 2.5 us that a DMA transfer
/// takes before its first byte.
const LINK_BYTES: usize = 51;
const START_BYTES: usize = 32 << 10;

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

/// A piece of a long slice: its first element, the first element of its copy in node memory, and its
/// length in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    first: usize,
    copy: usize,
    length: usize,
}

impl Piece {
    /// Returns whether the copies of two pieces overlap.
    fn overlaps(&self, other: &Piece) -> bool {
        self.copy < other.copy + other.length && other.copy < self.copy + self.length
    }
}

/// A transfer of a long slice in pieces, whose copies in node memory take turns.
struct Pieces<T: Datatype> {
    copies: Region<T>,
    /// Byte offset of the slice in the window.
    offset: u32,
    pieces: Vec<Piece>,
}

impl<T: Datatype> Pieces<T> {
    fn copy(&self, piece: &Piece) -> Result<Region<T>> {
        self.copies.slice(piece.copy..piece.copy + piece.length)
    }

    /// Byte offset of a piece in the window.
    fn offset(&self, piece: &Piece) -> Result<u32> {
        Ok(self.offset + byte_offset::<T>(piece.first)?)
    }
}

/// Returns whether a slice moves in pieces.
fn is_long<T: Datatype>(values: &[T]) -> bool {
    values.len() > LONG / T::BYTES as usize
}

/// Lengths of pieces, in elements.
#[derive(Debug, Clone, Copy)]
struct Lengths {
    shortest: usize,
    longest: usize,
    step: usize,
    /// Bytes that the hardware puts or gets in a cycle.
    beat: usize,
    /// Elements that the DMA moves while a transfer starts.
    start: usize,
}

impl Lengths {
    /// The lengths of pieces on a board with beats of `beat` bytes, whose copies have room in `room`
    /// elements.
    fn new<T: Datatype>(room: usize, beat: usize) -> Lengths {
        let elements = |bytes: usize| bytes / T::BYTES as usize;
        Lengths {
            shortest: elements(SHORTEST_PIECE),
            longest: room / 2,
            step: elements(STEP),
            beat,
            start: elements(START_BYTES * beat.min(LINK_BYTES) / LINK_BYTES),
        }
    }

    /// Returns the length of the piece before a piece of `length` elements: the put of the one takes
    /// as long as the copy of the other.
    fn before(&self, length: usize) -> usize {
        let copied = self.beat.min(LINK_BYTES);
        let length = (length + self.start) * self.beat / copied;
        length.next_multiple_of(self.step).min(self.longest)
    }

    /// Returns the lengths of the pieces of a put of `total` elements.
    fn of_put(&self, total: usize) -> Vec<usize> {
        // From the last piece on: nothing overlaps its put, so it is the shortest.
        let mut length = self.shortest;
        let mut rest = total;
        let mut lengths = Vec::new();
        while rest > length {
            lengths.push(length);
            rest -= length;
            length = self.before(length);
        }
        match lengths.last_mut() {
            Some(last) if rest < self.shortest && *last + rest <= self.longest => *last += rest,
            _ => lengths.push(rest),
        }
        lengths.reverse();
        lengths
    }
}

/// Divides a slice of `total` elements into pieces. Pieces of a put become shorter, and pieces of a get
/// longer: no copy overlaps the last put and the first get.
fn divide(kind: TransferKind, total: usize, lengths: Lengths) -> Vec<Piece> {
    let longest = lengths.longest;
    let mut lengths = lengths.of_put(total);
    if kind == TransferKind::Get {
        lengths.reverse();
    }
    let mut pieces: Vec<Piece> = Vec::with_capacity(lengths.len());
    let mut first = 0;
    for length in lengths {
        let piece_at = |copy| Piece {
            first,
            copy,
            length,
        };
        // Number of the latest pieces that do not overlap a piece.
        let free = |piece: &Piece| {
            let mut latest = pieces.iter().rev();
            latest
                .position(|it| it.overlaps(piece))
                .unwrap_or(usize::MAX)
        };
        let ends = pieces.iter().rev().take(4).map(|it| it.copy + it.length);
        // A piece lies in one half of the room, so the next piece has room beside it.
        let best = [0, longest]
            .into_iter()
            .chain(ends)
            .filter(|at| *at < 2 * longest && at % longest + length <= longest)
            .map(piece_at)
            .reduce(|best, it| if free(&it) > free(&best) { it } else { best });
        pieces.push(best.unwrap_or(piece_at(0)));
        first += length;
    }
    pieces
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
        if let Some(values) = local.host().filter(|values| is_long(values)) {
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
        if let Some(values) = local.host().filter(|values| is_long(values)) {
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
        let kind = TransferKind::Put;
        let (pieces, check) = self.pieces::<T, U>(kind, window, target, offset, values.len())?;
        let mut check = Some(check);
        let mut under_way: VecDeque<(&Piece, Request<'_>)> = VecDeque::new();
        for piece in &pieces.pieces {
            while under_way.iter().any(|(other, _)| other.overlaps(piece))
                && let Some((_, former)) = under_way.pop_front()
            {
                self.wait(former)?;
            }
            let mut copy = pieces.copy(piece)?;
            self.write(
                &mut copy,
                0,
                &values[piece.first..piece.first + piece.length],
            )?;
            if let Some(check) = check.take() {
                self.wait(check)?;
            }
            let request = self.start(kind, window, target, pieces.offset(piece)?, &copy)?;
            under_way.push_back((piece, request));
        }
        self.wait_all(under_way.into_iter().map(|(_, request)| request))
    }

    /// Gets a long slice in pieces: one is copied from node memory while the next ones arrive.
    fn get_in_pieces<T: Datatype, U: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: u32,
        values: &mut [U],
    ) -> Result<()> {
        let kind = TransferKind::Get;
        let (pieces, check) = self.pieces::<T, U>(kind, window, target, offset, values.len())?;
        self.wait(check)?;
        let mut under_way = VecDeque::new();
        let mut asked = 0;
        for (index, piece) in pieces.pieces.iter().enumerate() {
            while let Some(next) = pieces.pieces.get(asked)
                && !pieces.pieces[index..asked]
                    .iter()
                    .any(|it| it.overlaps(next))
            {
                let copy = pieces.copy(next)?;
                let offset = pieces.offset(next)?;
                under_way.push_back(self.start(kind, window, target, offset, &copy)?);
                asked += 1;
            }
            if let Some(first) = under_way.pop_front() {
                self.wait(first)?;
            }
            let copy = pieces.copy(piece)?;
            self.read(
                &copy,
                0,
                &mut values[piece.first..piece.first + piece.length],
            )?;
        }
        Ok(())
    }

    /// Prepares a transfer in pieces. The request fails if the target refuses the whole range, so a
    /// transfer that waits for the request first moves nothing if it is refused.
    fn pieces<T: Datatype, U: Datatype>(
        &mut self,
        kind: TransferKind,
        window: &Window<T>,
        target: GlobalRank,
        offset: u32,
        length: usize,
    ) -> Result<(Pieces<U>, Request<'static>)> {
        let end = u64::from(offset) + length as u64 * u64::from(U::BYTES);
        let beat = self.board().beat_bytes as usize;
        let mut room = 2 * LONGEST_PIECE / U::BYTES as usize;
        // Pieces are shorter where node memory is scarce.
        let copies = loop {
            match self.alloc::<U>(room) {
                Err(Error::OutOfNodeMemory { .. })
                    if room > 2 * SHORTEST_PIECE / U::BYTES as usize =>
                {
                    room /= 2;
                }
                copies => break copies?,
            }
        };
        let pieces = Pieces {
            pieces: divide(kind, length, Lengths::new::<U>(room, beat)),
            copies,
            offset,
        };
        // The target checks the end of an empty transfer too.
        let end = fits("end of a transfer", end, u32::MAX)?;
        let check = self.start(kind, window, target, end, &pieces.copies.slice(..0)?)?;
        Ok((pieces, check))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_a_slice_and_neighbours_have_room_for_their_copies() {
        const SHORTEST: usize = SHORTEST_PIECE / 4;
        for kind in [TransferKind::Put, TransferKind::Get] {
            for (room, beat) in (1..=8).zip([4, 32, 64].into_iter().cycle()) {
                let room = 2 * SHORTEST * room;
                for total in (1..60 * SHORTEST).step_by(1237) {
                    let pieces = divide(kind, total, Lengths::new::<u32>(room, beat));
                    let mut end = 0;
                    for piece in &pieces {
                        assert_eq!(piece.first, end);
                        assert!(piece.length > 0 && piece.copy + piece.length <= room);
                        end += piece.length;
                    }
                    assert_eq!(end, total);
                    for pair in pieces.windows(2) {
                        assert!(!pair[0].overlaps(&pair[1]), "{room}: {pair:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_last_put_and_the_first_get_are_short() {
        let lengths = |kind, beat| -> Vec<usize> {
            let lengths = Lengths::new::<u8>(2 * LONGEST_PIECE, beat);
            let pieces = divide(kind, 1 << 20, lengths);
            pieces.iter().map(|piece| piece.length >> 10).collect()
        };
        let mut of_put = vec![20, 256, 256, 228, 148, 84, 32];
        assert_eq!(lengths(TransferKind::Put, 64), of_put);
        of_put.reverse();
        assert_eq!(lengths(TransferKind::Get, 64), of_put);
        // With beats of 256 bits, the put of a piece is as fast as its copy.
        let of_put = [96, 200, 176, 152, 128, 104, 80, 56, 32];
        assert_eq!(lengths(TransferKind::Put, 32), of_put);
    }
}
