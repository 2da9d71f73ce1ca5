//! Atomic operations on words of windows, puts with a signal, and waits for a word.

use std::fmt;
use std::marker::PhantomData;

use alcor_abi::packets::x_commit;
use alcor_abi::{AtomicOperation as Code, Opcode};

use crate::request::{Descriptor, NOTHING, Request};
use crate::transfer::{byte_offset, fits};
use crate::watchdog::Awaited;
use crate::{Buffer, Datatype, Error, GlobalRank, Rank, Region, Result, Window};

mod sealed {
    pub trait Sealed {}
}

/// The integers of 32 and 64 bits, on which the hardware operates atomically.
pub trait AtomicWord: Datatype + Eq + sealed::Sealed {
    /// Whether minimum and maximum compare signed integers.
    #[doc(hidden)]
    const SIGNED: bool;

    /// The bits of the integer, zero-extended.
    #[doc(hidden)]
    fn to_bits(self) -> u64;

    /// The integer with these bits; bits above its own are dropped.
    #[doc(hidden)]
    fn from_bits(bits: u64) -> Self;
}

macro_rules! word {
    ($($number:ty, $unsigned:ty, $signed:expr);*) => {$(
        impl sealed::Sealed for $number {}
        impl AtomicWord for $number {
            const SIGNED: bool = $signed;

            fn to_bits(self) -> u64 {
                u64::from(self as $unsigned)
            }

            fn from_bits(bits: u64) -> Self {
                bits as $number
            }
        }
    )*};
}

word!(u32, u32, false; i32, u32, true; u64, u64, false; i64, u64, true);

/// The operation of [`Rank::fetch_op`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AtomicOperation {
    /// The word becomes the value.
    Swap,
    /// The value is added; the sum wraps.
    Add,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The smaller of word and value.
    Min,
    /// The larger of word and value.
    Max,
}

impl AtomicOperation {
    /// Every operation.
    pub const ALL: &'static [AtomicOperation] = &[
        AtomicOperation::Swap,
        AtomicOperation::Add,
        AtomicOperation::And,
        AtomicOperation::Or,
        AtomicOperation::Xor,
        AtomicOperation::Min,
        AtomicOperation::Max,
    ];

    fn code<T: AtomicWord>(self) -> Code {
        match self {
            AtomicOperation::Swap => Code::Swap,
            AtomicOperation::Add => Code::Add,
            AtomicOperation::And => Code::And,
            AtomicOperation::Or => Code::Or,
            AtomicOperation::Xor => Code::Xor,
            AtomicOperation::Min if T::SIGNED => Code::Min,
            AtomicOperation::Min => Code::MinUnsigned,
            AtomicOperation::Max if T::SIGNED => Code::Max,
            AtomicOperation::Max => Code::MaxUnsigned,
        }
    }
}

/// Change of the signal word by [`Rank::put_signal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Signal<S> {
    /// The word becomes this value.
    Set(S),
    /// This value is added to the word.
    Add(S),
}

impl<S> Signal<S> {
    /// The atomic operation of the change, and its value.
    fn parts(self) -> (AtomicOperation, S) {
        match self {
            Signal::Set(value) => (AtomicOperation::Swap, value),
            Signal::Add(value) => (AtomicOperation::Add, value),
        }
    }
}

/// An atomic operation as the hardware takes it. Only the hardware checks the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Atomic {
    /// Opcode of the command: operation and size of the word.
    pub opcode: Opcode,
    /// The rank that owns the window.
    pub target: GlobalRank,
    /// Slot of the window.
    pub slot: u8,
    /// Offset of the word from the window's base, in bytes.
    pub offset: u32,
    /// The value. Operations on 32 bits use the lower half.
    pub value: u64,
    /// The value that a compare-and-swap compares with.
    pub compare: u64,
}

impl Atomic {
    /// Makes an operation on the first word of a window of `target`.
    ///
    /// # Examples
    /// ```
    /// use alcor::{Atomic, GlobalRank, Opcode};
    ///
    /// let swap = Atomic::new(Opcode::XCompareSwap, GlobalRank(1), 3, 5);
    /// let text = swap.comparing(4).at_offset(8).to_string();
    /// assert!(text.starts_with("compare-and-swap of 32 bits at rank 1, window slot 3"));
    /// assert!(text.ends_with("byte offset 8, value 0x5, compared with 0x4"));
    /// ```
    #[must_use]
    pub fn new(opcode: Opcode, target: GlobalRank, slot: u8, value: u64) -> Atomic {
        Atomic {
            opcode,
            target,
            slot,
            offset: 0,
            value,
            compare: 0,
        }
    }

    /// Sets [`Atomic::offset`].
    #[must_use]
    pub fn at_offset(mut self, offset: u32) -> Atomic {
        self.offset = offset;
        self
    }

    /// Sets [`Atomic::compare`].
    #[must_use]
    pub fn comparing(mut self, compare: u64) -> Atomic {
        self.compare = compare;
        self
    }

    fn of<T: AtomicWord, W: Datatype>(
        operation: Code,
        window: &Window<W>,
        target: GlobalRank,
        offset: u32,
        value: T,
    ) -> Atomic {
        let wide = if T::BYTES == 8 {
            Opcode::XSwap64
        } else {
            Opcode::XSwap
        };
        Atomic {
            opcode: Opcode::from_bits(wide as u32 + operation as u32).unwrap_or(wide),
            target,
            slot: window.slot(),
            offset,
            value: value.to_bits(),
            compare: 0,
        }
    }

    pub(crate) fn fetch_op<T: AtomicWord>(
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        operation: AtomicOperation,
        value: T,
    ) -> Result<Atomic> {
        let (offset, code) = (byte_offset::<T>(offset)?, operation.code::<T>());
        Ok(Atomic::of(code, window, target, offset, value))
    }

    pub(crate) fn compare_swap<T: AtomicWord>(
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        expected: T,
        new: T,
    ) -> Result<Atomic> {
        let offset = byte_offset::<T>(offset)?;
        Ok(Atomic {
            compare: expected.to_bits(),
            ..Atomic::of(Code::CompareSwap, window, target, offset, new)
        })
    }

    /// Bytes of the word.
    pub(crate) fn bytes(&self) -> u32 {
        if self.is_wide() { 8 } else { 4 }
    }

    fn is_wide(&self) -> bool {
        self.opcode.atomic().is_some_and(|(_, is_wide)| is_wide)
    }

    fn operation(&self) -> Option<Code> {
        self.opcode.atomic().map(|(operation, _)| operation)
    }

    fn compares(&self) -> bool {
        self.operation() == Some(Code::CompareSwap)
    }

    /// The operands of the values, in the order in which they are written.
    pub(crate) fn operands(&self) -> impl Iterator<Item = (Opcode, u32)> {
        let (wide, compares) = (self.is_wide(), self.compares());
        let high = |value: u64| (value >> 32) as u32;
        [
            (true, Opcode::XOperand, self.value as u32),
            (wide, Opcode::XOperandHigh, high(self.value)),
            (compares, Opcode::XCompare, self.compare as u32),
            (compares && wide, Opcode::XCompareHigh, high(self.compare)),
        ]
        .into_iter()
        .filter_map(|(is_used, operand, value)| is_used.then_some((operand, value)))
    }

    pub(crate) fn commit(&self, id: u16) -> u32 {
        x_commit::DPID.put(self.target.0)
            | x_commit::SLOT.put(u32::from(self.slot))
            | x_commit::ID.put(u32::from(id))
    }
}

impl fmt::Display for Atomic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.operation() {
            Some(Code::Swap) => "swap",
            Some(Code::CompareSwap) => "compare-and-swap",
            Some(Code::Add) => "fetch-and-add",
            Some(Code::And) => "fetch-and-and",
            Some(Code::Or) => "fetch-and-or",
            Some(Code::Xor) => "fetch-and-xor",
            Some(Code::Min | Code::MinUnsigned) => "fetch-and-min",
            Some(Code::Max | Code::MaxUnsigned) => "fetch-and-max",
            None => "unknown atomic operation",
        };
        write!(
            f,
            "{name} of {} bits at {}, window slot {}, byte offset {}, value 0x{:x}",
            8 * self.bytes(),
            self.target,
            self.slot,
            self.offset,
            self.value
        )?;
        if self.compares() {
            write!(f, ", compared with 0x{:x}", self.compare)?;
        }
        Ok(())
    }
}

/// An atomic operation under way that returns the old value of its word.
/// [`Rank::wait_fetch`] waits for the value.
#[derive(Debug)]
#[must_use = "wait for the value, or flush"]
pub struct Fetch<T> {
    request: Request<'static>,
    word: PhantomData<T>,
}

impl<T> Fetch<T> {
    /// Returns the request, for [`Rank::wait_all`], [`Rank::test`] and [`Rank::wait_any`].
    /// [`Request::old_value`] returns the bits of the old value afterwards.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let word = rank.alloc_from(&[5u32])?;
    /// let window = rank.register(&word, Rights::ALL)?;
    /// let mut request = rank.ifetch_add(&window, rank.pid(), 0, 1)?.into_request();
    /// while !rank.test(&mut request)? {}
    /// assert_eq!(request.old_value(), Some(5));
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_request(self) -> Request<'static> {
        self.request
    }
}

/// Cycles between two looks of [`Rank::wait_until`] at its word.
const LOOK: u64 = 64;

/// # Atomic operations
///
/// An operation reads a word of 32 or 64 bits of a window and writes its result back, and no other
/// atomic operation of any rank, kernel or host to the same rank comes between. The owner of the
/// window uses the same calls, with itself as the target. The window needs the rights to read and
/// to write. A refused operation gives [`Error::AtomicRefused`] and has changed no memory.
///
/// Puts, gets and the owner's own [`Rank::write`] and [`Rank::read`] are not atomic: if one of them
/// meets an atomic operation on the same word at the same time, the word's value is undefined, as
/// in MPI-3. Other words are not affected. An atomic operation comes after all puts and atomic
/// operations that the same rank has started before to the same target.
///
/// These calls fail with the errors of [puts and gets](Rank#put-and-get).
impl Rank {
    /// Adds `value` to a word of `target`'s window. Returns the word as it was before.
    ///
    /// # Errors
    /// [`Error::AtomicRefused`] by the target; [`Error::OutOfRange`] if offset or target fits no
    /// register.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
    /// // Every rank takes a number.
    /// let mut numbers = Job::new(SoftBoard::new(4))?.run(4, |rank| {
    ///     let counter = rank.alloc_from(&[0u64])?;
    ///     let window = rank.register(&counter, Rights::ALL)?;
    ///     let number = rank.fetch_add(&window, GlobalRank(0), 0, 1)?;
    ///     // Rank 0 stays until all have theirs.
    ///     rank.barrier()?;
    ///     Ok(number)
    /// })?;
    /// numbers.sort();
    /// assert_eq!(numbers, [0, 1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fetch_add<T: AtomicWord>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        value: T,
    ) -> Result<T> {
        self.fetch_op(window, target, offset, AtomicOperation::Add, value)
    }

    /// Combines a word of `target`'s window with `value`. Returns the word as it was before.
    ///
    /// # Errors
    /// As [`Rank::fetch_add`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{AtomicOperation, GlobalRank, Job, Rights, soft::SoftBoard};
    /// # let words =
    /// Job::new(SoftBoard::new(4))?.run(4, |rank| {
    ///     let word = rank.alloc_from(&[i32::MIN])?;
    ///     let window = rank.register(&word, Rights::ALL)?;
    ///     let mine = rank.pid().0 as i32 - 2;
    ///     rank.fetch_op(&window, GlobalRank(0), 0, AtomicOperation::Max, mine)?;
    ///     rank.barrier()?;
    ///     rank.read_vec(&word)
    /// })?;
    /// assert_eq!(words[0], [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fetch_op<T: AtomicWord>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        operation: AtomicOperation,
        value: T,
    ) -> Result<T> {
        let fetch = self.ifetch_op(window, target, offset, operation, value)?;
        self.wait_fetch(fetch)
    }

    /// Replaces a word of `target`'s window by `value`. Returns the word as it was before.
    ///
    /// # Errors
    /// As [`Rank::fetch_add`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let word = rank.alloc_from(&[7u32])?;
    /// let window = rank.register(&word, Rights::ALL)?;
    /// assert_eq!(rank.swap(&window, rank.pid(), 0, 8)?, 7);
    /// assert_eq!(rank.read_vec(&word)?, [8]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn swap<T: AtomicWord>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        value: T,
    ) -> Result<T> {
        self.fetch_op(window, target, offset, AtomicOperation::Swap, value)
    }

    /// Replaces a word of `target`'s window by `new` if the word is `expected`. Returns the word as
    /// it was before: `expected` if and only if the word was replaced.
    ///
    /// # Errors
    /// As [`Rank::fetch_add`].
    ///
    /// # Examples
    /// A lock in the window of rank 0:
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
    /// # let sums =
    /// Job::new(SoftBoard::new(3))?.run(3, |rank| {
    ///     let words = rank.alloc_from(&[0u32; 2])?; // the lock, and a sum that it protects
    ///     let window = rank.register(&words, Rights::ALL)?;
    ///     let (home, mine) = (GlobalRank(0), rank.pid().0 + 1);
    ///     while rank.compare_swap(&window, home, 0, 0, mine)? != 0 {}
    ///     let mut sum = [0];
    ///     rank.get(&window, home, 1, &mut sum)?;
    ///     rank.put(&window, home, 1, &[sum[0] + mine])?;
    ///     rank.swap(&window, home, 0, 0)?;
    ///     rank.barrier()?;
    ///     rank.read_vec(&words)
    /// })?;
    /// assert_eq!(sums[0], [0, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compare_swap<T: AtomicWord>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        expected: T,
        new: T,
    ) -> Result<T> {
        let fetch = self.icompare_swap(window, target, offset, expected, new)?;
        self.wait_fetch(fetch)
    }

    /// [`Rank::fetch_op`] with a byte offset, in a window of any type.
    ///
    /// # Errors
    /// As [`Rank::fetch_add`]. The hardware refuses an offset that is not a multiple of the word's
    /// size.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{AtomicOperation, Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let bytes = rank.alloc_from(&[0xFFu8; 16])?;
    /// let window = rank.register(&bytes, Rights::ALL)?;
    /// let me = rank.pid();
    /// assert_eq!(rank.fetch_op_bytes(&window, me, 12, AtomicOperation::Add, 2i32)?, -1);
    /// assert_eq!(rank.read_vec(&bytes)?[11..14], [0xFF, 1, 0]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fetch_op_bytes<T: AtomicWord, W: Datatype>(
        &mut self,
        window: &Window<W>,
        target: GlobalRank,
        byte_offset: u64,
        operation: AtomicOperation,
        value: T,
    ) -> Result<T> {
        let offset = fits("byte offset", byte_offset, u32::MAX)?;
        let code = operation.code::<T>();
        let fetch = self.start_fetch(Atomic::of(code, window, target, offset, value))?;
        self.wait_fetch(fetch)
    }

    /// [`Rank::compare_swap`] with a byte offset, in a window of any type.
    ///
    /// # Errors
    /// As [`Rank::fetch_op_bytes`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let bytes = rank.alloc_from(&[0u8; 16])?;
    /// let window = rank.register(&bytes, Rights::ALL)?;
    /// let me = rank.pid();
    /// assert_eq!(rank.compare_swap_bytes(&window, me, 8, 0u64, 1 << 56)?, 0);
    /// assert_eq!(rank.read_vec(&bytes)?[15], 1);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compare_swap_bytes<T: AtomicWord, W: Datatype>(
        &mut self,
        window: &Window<W>,
        target: GlobalRank,
        byte_offset: u64,
        expected: T,
        new: T,
    ) -> Result<T> {
        let offset = fits("byte offset", byte_offset, u32::MAX)?;
        let fetch = self.start_fetch(Atomic {
            compare: expected.to_bits(),
            ..Atomic::of(Code::CompareSwap, window, target, offset, new)
        })?;
        self.wait_fetch(fetch)
    }

    /// Starts a [`Rank::fetch_add`].
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if offset or target fits no register. [`Rank::wait_fetch`] reports a
    /// refusal by the target.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let words = rank.alloc_from(&[10u64, 20])?;
    /// let window = rank.register(&words, Rights::ALL)?;
    /// let first = rank.ifetch_add(&window, rank.pid(), 0, 1)?;
    /// let second = rank.ifetch_add(&window, rank.pid(), 1, 2)?;
    /// assert_eq!(rank.wait_fetch(second)?, 20);
    /// assert_eq!(rank.wait_fetch(first)?, 10);
    /// assert_eq!(rank.read_vec(&words)?, [11, 22]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ifetch_add<T: AtomicWord>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        value: T,
    ) -> Result<Fetch<T>> {
        self.ifetch_op(window, target, offset, AtomicOperation::Add, value)
    }

    /// Starts a [`Rank::fetch_op`].
    ///
    /// # Errors
    /// As [`Rank::ifetch_add`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{AtomicOperation, Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let word = rank.alloc_from(&[0b1100u32])?;
    /// let window = rank.register(&word, Rights::ALL)?;
    /// let fetch = rank.ifetch_op(&window, rank.pid(), 0, AtomicOperation::Xor, 0b1010)?;
    /// assert_eq!(rank.wait_fetch(fetch)?, 0b1100);
    /// assert_eq!(rank.read_vec(&word)?, [0b0110]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ifetch_op<T: AtomicWord>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        operation: AtomicOperation,
        value: T,
    ) -> Result<Fetch<T>> {
        self.start_fetch(Atomic::fetch_op(window, target, offset, operation, value)?)
    }

    /// Starts a [`Rank::compare_swap`].
    ///
    /// # Errors
    /// As [`Rank::ifetch_add`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let word = rank.alloc_from(&[1i64])?;
    /// let window = rank.register(&word, Rights::ALL)?;
    /// let taken = rank.icompare_swap(&window, rank.pid(), 0, 1, -1)?;
    /// let late = rank.icompare_swap(&window, rank.pid(), 0, 1, 2)?;
    /// assert_eq!((rank.wait_fetch(taken)?, rank.wait_fetch(late)?), (1, -1));
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn icompare_swap<T: AtomicWord>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        expected: T,
        new: T,
    ) -> Result<Fetch<T>> {
        self.start_fetch(Atomic::compare_swap(window, target, offset, expected, new)?)
    }

    /// Waits for the end of an atomic operation. Returns the word as it was before.
    ///
    /// # Errors
    /// [`Error::AtomicRefused`] by the target; as [`Rank::wait`].
    ///
    /// # Examples
    /// [`Rank::ifetch_add`] has one.
    pub fn wait_fetch<T: AtomicWord>(&mut self, fetch: Fetch<T>) -> Result<T> {
        let mut request = fetch.request;
        self.progress.outstanding.check(&request)?;
        self.wait_for_all(std::slice::from_ref(&request))?;
        self.end_request(&mut request)?;
        let lost = Error::CompletionLost { rank: self.pid() };
        request.old_value().map(T::from_bits).ok_or(lost)
    }

    fn start_fetch<T: AtomicWord>(&mut self, atomic: Atomic) -> Result<Fetch<T>> {
        Ok(Fetch {
            request: self.start_atomic(atomic)?,
            word: PhantomData,
        })
    }

    /// Starts an atomic operation without checks, except that the target must fit the hardware's
    /// field.
    pub(crate) fn start_atomic(&mut self, atomic: Atomic) -> Result<Request<'static>> {
        let target = u64::from(atomic.target.0);
        fits("target rank", target, x_commit::DPID.max())?;
        self.progress.check()?;
        self.progress.check_target(atomic.target, &atomic)?;
        self.progress.atomic(atomic)
    }

    /// Copies all of `local` into `target`'s window, then changes a signal word of `target`, in
    /// the same window or another one, and waits for both. A rank that finds the signal finds the
    /// data. [`Rank::wait_until`] waits for a signal.
    ///
    /// # Errors
    /// [`Error::Refused`] or [`Error::AtomicRefused`] by the target, which checks both separately:
    /// the signal may be given although the put was refused. Otherwise as [`Rank::put`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, Signal, soft::SoftBoard};
    /// # let inboxes =
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     let inbox = rank.alloc::<f64>(3)?;
    ///     let window = rank.register(&inbox, Rights::ALL)?;
    ///     let signal = rank.alloc_from(&[0u32])?;
    ///     let signals = rank.register(&signal, Rights::ALL)?;
    ///     let other = GlobalRank(1 - rank.pid().0);
    ///     rank.put_signal(&window, other, 0, &[1.5; 3], &signals, 0, Signal::Add(1))?;
    ///     rank.wait_until(&signal, 0, |count| count == 1)?;
    ///     rank.read_vec(&inbox)
    /// })?;
    /// assert_eq!(inboxes[0], [1.5; 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(
        clippy::too_many_arguments,
        reason = "a put's arguments and a signal's"
    )]
    pub fn put_signal<T: Datatype, S: AtomicWord>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        local: impl Buffer<Item = T>,
        signals: &Window<S>,
        signal_offset: usize,
        signal: Signal<S>,
    ) -> Result<()> {
        let put = self.iput(window, target, offset, local)?;
        let (operation, value) = signal.parts();
        let fetch = self.ifetch_op(signals, target, signal_offset, operation, value)?;
        self.wait_all([put, fetch.into_request()])
    }

    /// [`Rank::put_signal`] with byte offsets, into windows of any type.
    ///
    /// # Errors
    /// As [`Rank::put_signal`]. The hardware refuses a `signal_byte_offset` that is not a multiple of
    /// the word's size.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Rights, Signal, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let bytes = rank.alloc_from(&[0u8; 16])?;
    /// let window = rank.register(&bytes, Rights::ALL)?;
    /// let me = rank.pid();
    /// rank.put_signal_bytes(&window, me, 1, &[7u8, 8], &window, 8, Signal::Set(1u64))?;
    /// assert_eq!(rank.read_vec(&bytes)?[..9], [0, 7, 8, 0, 0, 0, 0, 0, 1]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(
        clippy::too_many_arguments,
        reason = "a put's arguments and a signal's"
    )]
    pub fn put_signal_bytes<W: Datatype, S: AtomicWord, V: Datatype>(
        &mut self,
        window: &Window<W>,
        target: GlobalRank,
        byte_offset: u64,
        local: impl Buffer<Item = u8>,
        signals: &Window<V>,
        signal_byte_offset: u64,
        signal: Signal<S>,
    ) -> Result<()> {
        let place = fits("byte offset", signal_byte_offset, u32::MAX)?;
        let put = self.iput_bytes(window, target, byte_offset, local)?;
        let (operation, value) = signal.parts();
        let code = operation.code::<S>();
        let fetch = self.start_atomic(Atomic::of(code, signals, target, place, value))?;
        self.wait_all([put, fetch])
    }

    /// Waits until element `index` of `words`, a region of this rank, satisfies `done`. Returns the
    /// element. The library reads the word every 64 cycles: an atomic operation of another rank
    /// raises no interrupt.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there is no such element; [`Error::Watchdog`] if the wait lasts too
    /// long; [`Error::Aborted`].
    ///
    /// # Examples
    /// [`Rank::put_signal`] has one.
    pub fn wait_until<T: AtomicWord>(
        &mut self,
        words: &Region<T>,
        index: usize,
        mut done: impl FnMut(T) -> bool,
    ) -> Result<T> {
        let address = words.locate(index, index.saturating_add(1))?;
        let awaited = Awaited::Word { address };
        self.progress.look_until(LOOK, &awaited, |progress| {
            let mut value = [T::default()];
            progress
                .port
                .read_memory(address, T::bytes_mut(&mut value))?;
            Ok(done(value[0]).then_some(value[0]))
        })
    }
}

impl crate::progress::Progress {
    /// Posts an atomic operation: the changed operands, and the commit.
    pub(crate) fn atomic(&mut self, atomic: Atomic) -> Result<Request<'static>> {
        // No other command uses these operands, so a wait for credits between them does no harm.
        for (operand, value) in atomic.operands() {
            self.operand(operand, value)?;
        }
        self.reserve_transfer()?;
        self.operand(Opcode::XOffset, atomic.offset)?;
        let (outcome, request) = self.begin(Descriptor::Atomic(atomic));
        let number = outcome.number();
        // `reserve_transfer` has reserved an id.
        let lost = Error::CompletionLost { rank: self.me };
        let id = self.outstanding.enter(outcome, NOTHING).ok_or(lost)?;
        self.note_posting(number);
        self.post(atomic.opcode, atomic.commit(id))?;
        Ok(request)
    }
}

impl Descriptor {
    /// Returns the atomic operation, if the operation is one.
    pub(crate) fn atomic(&self) -> Option<&Atomic> {
        match self {
            Descriptor::Atomic(atomic) => Some(atomic),
            _ => None,
        }
    }
}
