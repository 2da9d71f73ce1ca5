//! Accumulates: whole vectors that are combined with a window, element by element.

use std::fmt;

use alcor_abi::packets::{x_commit, x_reduction};
use alcor_abi::{AccumulateOperation as Code, Opcode};

use crate::buffer::Copied;
use crate::request::{Descriptor, Request};
use crate::transfer::{byte_offset, fits};
use crate::{
    Buffer, BufferMut, Datatype, ElementType, Error, GlobalRank, NodeAddr, Operation, Rank,
    Reducible, Region, Result, Window,
};

mod sealed {
    pub trait Sealed {}
}

/// The numbers that accumulates combine: floating-point numbers and integers of 32 and 64 bits.
pub trait AccumulateElement: Reducible + sealed::Sealed {}

macro_rules! elements {
    ($($number:ty),*) => {$(
        impl sealed::Sealed for $number {}
        impl AccumulateElement for $number {}
    )*};
}

elements!(f64, f32, i64, i32, u64, u32);

/// The operation of [`Rank::accumulate`]. An [`Operation`] of reductions converts into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AccumulateOperation {
    /// The element and the new one are combined.
    Reduce(Operation),
    /// The element becomes the new one.
    Replace,
    /// The element stays as it is: [`Rank::get_accumulate`] reads it.
    Keep,
}

impl AccumulateOperation {
    /// Every operation.
    pub const ALL: &'static [AccumulateOperation] = &[
        AccumulateOperation::Reduce(Operation::Sum),
        AccumulateOperation::Reduce(Operation::Min),
        AccumulateOperation::Reduce(Operation::Max),
        AccumulateOperation::Reduce(Operation::Prod),
        AccumulateOperation::Reduce(Operation::Band),
        AccumulateOperation::Reduce(Operation::Bor),
        AccumulateOperation::Reduce(Operation::Bxor),
        AccumulateOperation::Replace,
        AccumulateOperation::Keep,
    ];

    /// Combines the element `old` of a window with `new`, as the hardware does.
    ///
    /// # Examples
    /// ```
    /// use alcor::{AccumulateOperation, Operation};
    ///
    /// let sum = AccumulateOperation::from(Operation::Sum);
    /// assert_eq!(sum.combine(1.5, 2.0), 3.5);
    /// assert_eq!(AccumulateOperation::Replace.combine(1, 2), 2);
    /// assert_eq!(AccumulateOperation::Keep.combine(1, 2), 1);
    /// ```
    #[must_use]
    pub fn combine<T: Reducible>(self, old: T, new: T) -> T {
        match self {
            AccumulateOperation::Reduce(operation) => T::combine(operation, old, new),
            AccumulateOperation::Replace => new,
            AccumulateOperation::Keep => old,
        }
    }

    fn code(self) -> u32 {
        match self {
            // The codes of reductions are those of accumulates.
            AccumulateOperation::Reduce(operation) => operation.code(),
            AccumulateOperation::Replace => Code::Replace as u32,
            AccumulateOperation::Keep => Code::None as u32,
        }
    }
}

impl From<Operation> for AccumulateOperation {
    fn from(operation: Operation) -> AccumulateOperation {
        AccumulateOperation::Reduce(operation)
    }
}

impl fmt::Display for AccumulateOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccumulateOperation::Reduce(operation) => operation.fmt(f),
            AccumulateOperation::Replace => f.write_str("replace"),
            AccumulateOperation::Keep => f.write_str("keep"),
        }
    }
}

/// An accumulate as the hardware takes it, in bytes. Only the hardware checks the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Accumulate {
    /// The operation.
    pub operation: AccumulateOperation,
    /// Type of the elements.
    pub element: ElementType,
    /// The rank that owns the window.
    pub target: GlobalRank,
    /// Slot of the window.
    pub slot: u8,
    /// Offset of the first element from the window's base, in bytes.
    pub offset: u32,
    /// Address of the new elements in local node memory.
    pub local: NodeAddr,
    /// Length in bytes.
    pub length: u32,
    /// Address in local node memory to which the old elements go.
    pub old: Option<NodeAddr>,
}

impl Accumulate {
    /// Makes an accumulate of `length` bytes at `local` to the beginning of a window of `target`.
    ///
    /// # Examples
    /// ```
    /// use alcor::{Accumulate, AccumulateOperation, ElementType, GlobalRank, NodeAddr, Operation};
    ///
    /// let sum = AccumulateOperation::Reduce(Operation::Sum);
    /// let accumulate = Accumulate::new(sum, ElementType::F64, GlobalRank(1), 3, NodeAddr(64), 16);
    /// let text = accumulate.at_offset(8).fetching(NodeAddr(128)).to_string();
    /// assert!(text.starts_with("accumulate (sum of f64) of 16 bytes to rank 1, window slot 3, byte offset 8"));
    /// ```
    #[must_use]
    pub fn new(
        operation: AccumulateOperation,
        element: ElementType,
        target: GlobalRank,
        slot: u8,
        local: NodeAddr,
        length: u32,
    ) -> Accumulate {
        Accumulate {
            operation,
            element,
            target,
            slot,
            offset: 0,
            local,
            length,
            old: None,
        }
    }

    /// Sets [`Accumulate::offset`].
    #[must_use]
    pub fn at_offset(mut self, offset: u32) -> Accumulate {
        self.offset = offset;
        self
    }

    /// Sets [`Accumulate::old`].
    #[must_use]
    pub fn fetching(mut self, old: NodeAddr) -> Accumulate {
        self.old = Some(old);
        self
    }

    fn opcode(&self) -> Opcode {
        match self.old {
            None => Opcode::XAccumulate,
            Some(_) => Opcode::XFetchAccumulate,
        }
    }

    /// Operation and type as the hardware takes them. A type that the hardware does not have gives a
    /// code that the hardware refuses.
    fn reduction(&self) -> u32 {
        x_reduction::OPERATION.put(self.operation.code())
            | x_reduction::DATATYPE.put((self.element as u32).min(x_reduction::DATATYPE.max()))
    }

    fn commit(&self, id: u16) -> u32 {
        x_commit::DPID.put(self.target.0)
            | x_commit::SLOT.put(u32::from(self.slot))
            | x_commit::ID.put(u32::from(id))
    }
}

impl fmt::Display for Accumulate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "accumulate ({} of {}) of {} bytes to {}, window slot {}, byte offset {}, local {}",
            self.operation,
            self.element,
            self.length,
            self.target,
            self.slot,
            self.offset,
            self.local
        )?;
        match self.old {
            None => Ok(()),
            Some(old) => write!(f, ", old elements to {old}"),
        }
    }
}

/// # Accumulates
///
/// An accumulate combines a vector with a window of another rank, element by element. Each element
/// is combined atomically: no [atomic operation](Rank#atomic-operations) and no other accumulate of
/// any rank to the same rank comes between the read and the write of an element. The vector as a
/// whole is not atomic. Sums of floating-point numbers depend on the order in which accumulates
/// arrive. The window needs the rights to read and to write. A refused accumulate gives
/// [`Error::AccumulateRefused`] and has changed no memory.
///
/// Accumulates to a target are carried out in the order of the calls, behind earlier puts and atomic
/// operations of the rank to the same target. As for atomic operations, puts, gets and the owner's
/// own [`Rank::write`] are not atomic towards accumulates.
///
/// The hardware combines as reductions do ([`Operation`]); `MPI_Accumulate` and
/// `MPI_Get_accumulate` of MPI-3 are the models. Offsets count elements of the window.
///
/// These calls fail with the errors of [puts and gets](Rank#put-and-get).
impl Rank {
    /// Combines all of `local` with `target`'s window, and waits until the results are visible there.
    ///
    /// # Errors
    /// [`Error::AccumulateRefused`] by the target; [`Error::MissingCapability`] if the board has no
    /// unit for accumulates (`ACCUMULATE = 0`); [`Error::NoSuchOperation`] for bitwise operations on
    /// floating-point numbers; [`Error::OutOfRange`] if offset or target fits no register.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Operation, Rights, soft::SoftBoard};
    /// # let totals =
    /// Job::new(SoftBoard::new(4))?.run(4, |rank| {
    ///     let total = rank.alloc_from(&[0.0; 3])?;
    ///     let window = rank.register(&total, Rights::ALL)?;
    ///     let mine = [f64::from(rank.pid().0); 3];
    ///     rank.accumulate(&window, GlobalRank(0), 0, &mine, Operation::Sum)?;
    ///     rank.barrier()?;
    ///     rank.read_vec(&total)
    /// })?;
    /// assert_eq!(totals[0], [6.0; 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn accumulate<T: AccumulateElement>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        local: impl Buffer<Item = T>,
        operation: impl Into<AccumulateOperation>,
    ) -> Result<()> {
        let request = self.iaccumulate(window, target, offset, local, operation)?;
        self.wait(request)
    }

    /// Starts a [`Rank::accumulate`].
    ///
    /// # Errors
    /// As [`Rank::accumulate`]. [`Rank::wait`] reports a refusal.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{AccumulateOperation, Job, Operation, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let counts = rank.alloc_from(&[1u32, 2, 3])?;
    /// let window = rank.register(&counts, Rights::ALL)?;
    /// let me = rank.pid();
    /// let first = rank.iaccumulate(&window, me, 0, &[10, 10], Operation::Sum)?;
    /// let last = rank.iaccumulate(&window, me, 1, &[7, 7], AccumulateOperation::Replace)?;
    /// rank.wait_all([first, last])?;
    /// assert_eq!(rank.read_vec(&counts)?, [11, 7, 7]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iaccumulate<'a, T: AccumulateElement>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        local: impl Buffer<Item = T> + 'a,
        operation: impl Into<AccumulateOperation>,
    ) -> Result<Request<'a>> {
        let offset = byte_offset::<T>(offset)?;
        self.combine_at(window, target, offset, local, operation.into(), None)
    }

    /// [`Rank::accumulate`] with a byte offset, a multiple of the element's size, into a window of any
    /// type.
    ///
    /// # Errors
    /// As [`Rank::accumulate`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Operation, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let memory = rank.alloc::<u8>(16)?;
    /// let window = rank.register(&memory, Rights::ALL)?;
    /// rank.accumulate_bytes(&window, rank.pid(), 4, &[0x0201u32], Operation::Bor)?;
    /// assert_eq!(rank.read_vec(&memory)?[4..6], [1, 2]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn accumulate_bytes<T: AccumulateElement, W: Datatype>(
        &mut self,
        window: &Window<W>,
        target: GlobalRank,
        byte_offset: u64,
        local: impl Buffer<Item = T>,
        operation: impl Into<AccumulateOperation>,
    ) -> Result<()> {
        let offset = fits("byte offset", byte_offset, u32::MAX)?;
        let request = self.combine_at(window, target, offset, local, operation.into(), None)?;
        self.wait(request)
    }

    /// Combines all of `local` with `target`'s window, and fills `old` with the elements of the window
    /// as they were before. `old` has as many elements as `local`.
    ///
    /// # Errors
    /// As [`Rank::accumulate`]; [`Error::OldElements`] if `old` has another number of elements than
    /// `local`.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{AccumulateOperation, GlobalRank, Job, Operation, Rights, soft::SoftBoard};
    /// # let found =
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     let largest = rank.alloc_from(&[5i64, -5])?;
    ///     let window = rank.register(&largest, Rights::ALL)?;
    ///     let mut old = [0; 2];
    ///     if rank.pid() == GlobalRank(1) {
    ///         rank.get_accumulate(&window, GlobalRank(0), 0, &[0, 0], Operation::Max, &mut old)?;
    ///     }
    ///     rank.barrier()?;
    ///     Ok((rank.read_vec(&largest)?, old))
    /// })?;
    /// assert_eq!((&found[0].0[..], found[1].1), (&[5, 0][..], [5, -5]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_accumulate<T: AccumulateElement>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        local: impl Buffer<Item = T>,
        operation: impl Into<AccumulateOperation>,
        old: impl BufferMut<Item = T>,
    ) -> Result<()> {
        let request = self.iget_accumulate(window, target, offset, local, operation, old)?;
        self.wait(request)
    }

    /// Starts a [`Rank::get_accumulate`].
    ///
    /// # Errors
    /// As [`Rank::get_accumulate`]. [`Rank::wait`] reports a refusal.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Operation, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let word = rank.alloc_from(&[1.0f32])?;
    /// let window = rank.register(&word, Rights::ALL)?;
    /// let (me, mut first, mut second) = (rank.pid(), [0.0], [0.0]);
    /// let a = rank.iget_accumulate(&window, me, 0, &[2.0], Operation::Sum, &mut first)?;
    /// let b = rank.iget_accumulate(&window, me, 0, &[4.0], Operation::Sum, &mut second)?;
    /// rank.wait_all([a, b])?;
    /// assert_eq!((first, second), ([1.0], [3.0]));
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iget_accumulate<'a, T: AccumulateElement>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        local: impl Buffer<Item = T> + 'a,
        operation: impl Into<AccumulateOperation>,
        old: impl BufferMut<Item = T> + 'a,
    ) -> Result<Request<'a>> {
        let offset = byte_offset::<T>(offset)?;
        self.fetch_at(window, target, offset, local, operation.into(), old)
    }

    /// [`Rank::get_accumulate`] with a byte offset, a multiple of the element's size, into a window of
    /// any type.
    ///
    /// # Errors
    /// As [`Rank::get_accumulate`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{AccumulateOperation, Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let memory = rank.alloc_from(&[1u8, 0, 0, 0, 2, 0, 0, 0])?;
    /// let window = rank.register(&memory, Rights::ALL)?;
    /// let (keep, mut old) = (AccumulateOperation::Keep, [0u32; 2]);
    /// rank.get_accumulate_bytes(&window, rank.pid(), 0, &[0; 2], keep, &mut old)?;
    /// assert_eq!(old, [1, 2]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_accumulate_bytes<T: AccumulateElement, W: Datatype>(
        &mut self,
        window: &Window<W>,
        target: GlobalRank,
        byte_offset: u64,
        local: impl Buffer<Item = T>,
        operation: impl Into<AccumulateOperation>,
        old: impl BufferMut<Item = T>,
    ) -> Result<()> {
        let offset = fits("byte offset", byte_offset, u32::MAX)?;
        let request = self.fetch_at(window, target, offset, local, operation.into(), old)?;
        self.wait(request)
    }

    fn fetch_at<'a, T: AccumulateElement, W: Datatype>(
        &mut self,
        window: &Window<W>,
        target: GlobalRank,
        offset: u32,
        local: impl Buffer<Item = T> + 'a,
        operation: AccumulateOperation,
        old: impl BufferMut<Item = T> + 'a,
    ) -> Result<Request<'a>> {
        let (old, copy_back) = old.destination(self, Copied::Fresh)?;
        let request = self.combine_at(window, target, offset, local, operation, Some(&old))?;
        Ok(request.with_copy_back(copy_back))
    }

    fn combine_at<'a, T: AccumulateElement, W: Datatype>(
        &mut self,
        window: &Window<W>,
        target: GlobalRank,
        offset: u32,
        local: impl Buffer<Item = T> + 'a,
        operation: AccumulateOperation,
        old: Option<&Region<T>>,
    ) -> Result<Request<'a>> {
        self.check_accumulate::<T>(operation)?;
        let local = local.source(self)?;
        let (slot, length) = (window.slot(), local.byte_len());
        let mut accumulate =
            Accumulate::new(operation, T::TYPE, target, slot, local.addr(), length)
                .at_offset(offset);
        if let Some(old) = old {
            if old.byte_len() != length {
                return Err(Error::OldElements {
                    rank: self.pid(),
                    found: old.len(),
                    expected: local.len(),
                });
            }
            accumulate = accumulate.fetching(old.addr());
        }
        self.begin_accumulate(accumulate, [Some(local.hold()), old.map(Region::hold)])
    }

    fn check_accumulate<T: AccumulateElement>(&self, operation: AccumulateOperation) -> Result<()> {
        let info = self.board();
        if !info.has_accumulate() {
            return Err(Error::MissingCapability {
                board: format!("the board of {}", self.pid()),
                capability: "unit for accumulates",
                found: info.capabilities,
            });
        }
        match operation {
            AccumulateOperation::Reduce(operation) if T::IS_FLOAT && operation.is_bitwise() => {
                Err(Error::NoSuchOperation {
                    rank: self.pid(),
                    operation,
                    element: T::TYPE,
                })
            }
            _ => Ok(()),
        }
    }

    /// Starts an accumulate without checks, except that the target must fit the hardware's field.
    pub(crate) fn begin_accumulate<'a>(
        &mut self,
        accumulate: Accumulate,
        held: crate::request::Held,
    ) -> Result<Request<'a>> {
        let target = u64::from(accumulate.target.0);
        fits("target rank", target, x_commit::DPID.max())?;
        self.progress.check()?;
        self.progress.check_target(accumulate.target, &accumulate)?;
        self.progress.accumulate(accumulate, held)
    }
}

impl crate::progress::Progress {
    /// Posts an accumulate: the changed operands, and the commit.
    fn accumulate(
        &mut self,
        accumulate: Accumulate,
        held: crate::request::Held,
    ) -> Result<Request<'static>> {
        // Only atomic operations and accumulates use these operands. No wait starts one of them, so a
        // wait for credits between the operands does no harm.
        self.operand(Opcode::XOperand, accumulate.reduction())?;
        if let Some(old) = accumulate.old {
            self.operand(Opcode::XOperandHigh, old.0)?;
        }
        self.reserve_transfer()?;
        self.operand(Opcode::XOffset, accumulate.offset)?;
        self.operand(Opcode::XLaddr, accumulate.local.0)?;
        self.operand(Opcode::XLength, accumulate.length)?;
        let (outcome, request) = self.begin(Descriptor::Accumulate(accumulate));
        let number = outcome.number();
        // `reserve_transfer` has reserved an id.
        let lost = Error::CompletionLost { rank: self.me };
        let id = self.outstanding.enter(outcome, held).ok_or(lost)?;
        self.note_posting(number);
        self.post(accumulate.opcode(), accumulate.commit(id))?;
        Ok(request)
    }
}
