//! Atomic operations on words of windows, puts with a signal, and accumulates.

use std::ffi::c_void;

use alcor::{AccumulateElement, AtomicOperation, AtomicWord, Datatype, GlobalRank, Signal};

use crate::attached::{Attached, piece, with};
use crate::failure::{Failure, Result};
use crate::memory::{copy_out, readable, writable};
use crate::types::{self, *};

/// `body` with `T` as the type of words that a number means.
macro_rules! of_word {
    ($number:expr, $T:ident => $body:expr) => {{
        macro_rules! arm {
            ($type:ty) => {{
                type $T = $type;
                $body
            }};
        }
        let number: alcor_type_t = $number;
        match number {
            number if number == alcor_type::ALCOR_U32 as alcor_type_t => arm!(u32),
            number if number == alcor_type::ALCOR_I32 as alcor_type_t => arm!(i32),
            number if number == alcor_type::ALCOR_U64 as alcor_type_t => arm!(u64),
            number if number == alcor_type::ALCOR_I64 as alcor_type_t => arm!(i64),
            _ => Err(Failure::Argument {
                what: "type",
                value: u64::from(number as u32),
                rule: "words have ALCOR_I32, ALCOR_U32, ALCOR_I64 and ALCOR_U64",
            }),
        }
    }};
}

/// The number at a C pointer.
///
/// # Safety
/// `data` is null, or points to a number of type `T`.
unsafe fn number<T: AtomicWord>(data: *const c_void) -> Result<T> {
    let mut number = [T::default()];
    // SAFETY: as the caller promises.
    let bytes = unsafe { readable(data, T::BYTES as usize)? };
    T::bytes_mut(&mut number).copy_from_slice(bytes);
    Ok(number[0])
}

/// A word of a window, and the values of C.
struct Word {
    target: u32,
    window_offset: u64,
    window: alcor_window_t,
    value: *const c_void,
    old: *mut c_void,
}

/// The operation on the word.
enum Act {
    Combine(AtomicOperation),
    /// Compare-and-swap, with the expected value of the word.
    Compare(*const c_void),
}

impl Word {
    /// Carries the operation out on a number of type `T`.
    ///
    /// # Safety
    /// `value`, `old` and the value of [`Act::Compare`] are null, or point to a number of type `T`.
    unsafe fn act<T: AtomicWord>(&self, attached: &mut Attached, act: &Act) -> Result<()> {
        let bytes = T::BYTES as usize;
        // SAFETY: as the caller promises.
        let value = unsafe { number(self.value)? };
        writable(self.old, bytes)?;
        let window = attached.windows.get(self.window)?;
        let (rank, target) = (&mut attached.rank, GlobalRank(self.target));
        let old = match *act {
            Act::Combine(operation) => {
                rank.fetch_op_bytes(window, target, self.window_offset, operation, value)?
            }
            Act::Compare(expected) => {
                // SAFETY: as the caller promises.
                let expected = unsafe { number(expected)? };
                rank.compare_swap_bytes(window, target, self.window_offset, expected, value)?
            }
        };
        // SAFETY: as the caller promises.
        unsafe { copy_out(T::bytes(&[old]), self.old) };
        Ok(())
    }

    /// # Safety
    /// As for `act` with the type that `number` means.
    unsafe fn act_on(
        &self,
        attached: &mut Attached,
        number: alcor_type_t,
        act: &Act,
    ) -> Result<()> {
        // SAFETY: as the caller promises.
        of_word!(number, T => unsafe { self.act::<T>(attached, act) })
    }
}

/// Combines a word of rank `target`'s part of a window, at its byte `window_offset`, with *value,
/// and stores the old value of the word in *old. No other atomic operation to the same rank comes
/// between read and write. The window needs both rights, and the offset is a multiple of the
/// word's size.
///
/// operation: one of alcor_atomic. type: the type of the word, *value and *old, an integer of 32 or
/// 64 bits. *old is unchanged if the call fails.
///
/// Errors: of the target, which changes no memory then: ALCOR_ERR_WINDOW_BOUNDS, ALCOR_ERR_DENIED,
/// ALCOR_ERR_BAD_RANK, ALCOR_ERR_NOT_REGISTERED, ALCOR_ERR_REFUSED for the offset; else
/// ALCOR_ERR_ARGUMENT, ALCOR_ERR_WATCHDOG.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_fetch_op(
    rank: alcor_rank_t,
    operation: alcor_atomic_t,
    r#type: alcor_type_t,
    value: *const c_void,
    old: *mut c_void,
    target: u32,
    window_offset: u64,
    window: alcor_window_t,
) -> alcor_result_t {
    let word = Word {
        target,
        window_offset,
        window,
        value,
        old,
    };
    with(rank, |attached| {
        let act = Act::Combine(types::atomic(operation)?);
        // SAFETY: as the header asks.
        unsafe { word.act_on(attached, r#type, &act) }
    })
}

/// Replaces a word of rank `target`'s part of a window, at its byte `window_offset`, by *value if
/// the word is *expected, and stores the old value of the word in *old. The word was replaced if
/// and only if *old is *expected. Else as alcor_fetch_op.
///
/// Errors: as alcor_fetch_op.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_compare_swap(
    rank: alcor_rank_t,
    r#type: alcor_type_t,
    expected: *const c_void,
    value: *const c_void,
    old: *mut c_void,
    target: u32,
    window_offset: u64,
    window: alcor_window_t,
) -> alcor_result_t {
    let word = Word {
        target,
        window_offset,
        window,
        value,
        old,
    };
    // SAFETY: as the header asks.
    with(rank, |attached| unsafe {
        word.act_on(attached, r#type, &Act::Compare(expected))
    })
}

/// Puts as alcor_put, then changes a word of rank `target`'s part of the window `signals`, at its
/// byte `signal_offset`, and waits for both. A rank that finds the word changed finds the data.
/// alcor_wait_until waits for the word. `signals` may be the same window as `window`.
///
/// signal: the change of the word, ALCOR_ATOMIC_SWAP or ALCOR_ATOMIC_ADD. type: the type of the word
/// and *value, an integer of 32 or 64 bits. The window `signals` needs both rights, and the offset is
/// a multiple of the word's size.
///
/// Errors: as alcor_put and alcor_fetch_op. The target checks put and signal separately: the word may
/// be changed although the put was refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_put_signal(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    bytes: usize,
    target: u32,
    window_offset: u64,
    window: alcor_window_t,
    signal: alcor_atomic_t,
    r#type: alcor_type_t,
    value: *const c_void,
    signal_offset: u64,
    signals: alcor_window_t,
) -> alcor_result_t {
    with(rank, |attached| {
        of_word!(r#type, T => {
            // SAFETY: as the header asks.
            let value = unsafe { number::<T>(value)? };
            let signal = match types::atomic(signal)? {
                AtomicOperation::Swap => Signal::Set(value),
                AtomicOperation::Add => Signal::Add(value),
                _ => {
                    return Err(Failure::Argument {
                        what: "signal",
                        value: u64::from(signal as u32),
                        rule: "it is ALCOR_ATOMIC_SWAP or ALCOR_ATOMIC_ADD",
                    });
                }
            };
            let window = attached.windows.get(window)?;
            let signals = attached.windows.get(signals)?;
            let local = piece(attached.memory.get(memory)?, offset, bytes)?;
            let target = GlobalRank(target);
            Ok(attached.rank.put_signal_bytes(
                window,
                target,
                window_offset,
                local,
                signals,
                signal_offset,
                signal,
            )?)
        })
    })
}

/// Waits until the word at byte `offset` of a region of this rank's node memory compares with *value
/// as `compare` states, and stores the word in *found. The library reads the word every 64 cycles.
///
/// compare: one of alcor_compare. type: the type of the word, *value and *found, an integer of 32 or
/// 64 bits. The offset is a multiple of the word's size. found: may be NULL; *found is unchanged if
/// the call fails.
///
/// Errors: ALCOR_ERR_MEMORY_BOUNDS, ALCOR_ERR_ARGUMENT, ALCOR_ERR_WATCHDOG.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_wait_until(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    compare: alcor_compare_t,
    r#type: alcor_type_t,
    value: *const c_void,
    found: *mut c_void,
) -> alcor_result_t {
    with(rank, |attached| {
        of_word!(r#type, T => {
            // SAFETY: as the header asks.
            let value = unsafe { number::<T>(value)? };
            let holds = types::compare::<T>(compare)?;
            let bytes = T::BYTES as usize;
            let word = piece(attached.memory.get(memory)?, offset, bytes)?.cast::<T>()?;
            let word = attached.rank.wait_until(&word, 0, |word| holds(&word, &value))?;
            if !found.is_null() {
                // SAFETY: as the header asks.
                unsafe { copy_out(T::bytes(&[word]), found) };
            }
            Ok(())
        })
    })
}

/// The new elements of an accumulate, and the elements of the window.
struct Vector {
    op: alcor_op_t,
    data: *const c_void,
    /// Receives the old elements, if not null.
    old: Option<*mut c_void>,
    count: usize,
    target: u32,
    window_offset: u64,
    window: alcor_window_t,
}

impl Vector {
    /// # Safety
    /// `data` and `old` are null, or point to `count` numbers of type `T`.
    unsafe fn act<T: AccumulateElement>(&self, attached: &mut Attached) -> Result<()> {
        let operation = types::accumulate(self.op)?;
        let bytes = self.count.saturating_mul(T::BYTES as usize);
        // SAFETY: as the caller promises.
        let data = unsafe { readable(self.data, bytes)? };
        let mut new = vec![T::default(); self.count];
        T::bytes_mut(&mut new).copy_from_slice(data);
        let window = attached.windows.get(self.window)?;
        let (rank, target, at) = (
            &mut attached.rank,
            GlobalRank(self.target),
            self.window_offset,
        );
        let Some(to) = self.old else {
            return Ok(rank.accumulate_bytes(window, target, at, &new, operation)?);
        };
        writable(to, bytes)?;
        let mut old = vec![T::default(); self.count];
        rank.get_accumulate_bytes(window, target, at, &new, operation, &mut old)?;
        // SAFETY: as the caller promises.
        unsafe { copy_out(T::bytes(&old), to) };
        Ok(())
    }

    /// # Safety
    /// As for `act` with the type that `number` means.
    unsafe fn act_on(&self, attached: &mut Attached, number: alcor_type_t) -> Result<()> {
        use alcor_type::*;
        macro_rules! of {
            ($($name:ident, $number:ty);*) => {
                match number {
                    // SAFETY: as the caller promises.
                    $(it if it == $name as alcor_type_t => unsafe { self.act::<$number>(attached) },)*
                    _ => Err(Failure::Argument {
                        what: "type",
                        value: u64::from(number as u32),
                        rule: "accumulates have the types of 32 and 64 bits",
                    }),
                }
            };
        }
        of!(ALCOR_F64, f64; ALCOR_F32, f32; ALCOR_I64, i64; ALCOR_I32, i32; ALCOR_U64, u64; ALCOR_U32, u32)
    }
}

/// Combines `count` elements at `data` with rank `target`'s part of a window, from its byte
/// `window_offset` on, and waits until the results are visible there. Each element is combined
/// atomically towards alcor_fetch_op, alcor_compare_swap and accumulates of all ranks; the vector as
/// a whole is not. The window needs both rights. The call stages the elements in temporary node
/// memory.
///
/// op: one of alcor_op. type: the type of the elements, of 32 or 64 bits. `window_offset` is a
/// multiple of the element's size.
///
/// Errors: of the target, which changes no memory then: ALCOR_ERR_WINDOW_BOUNDS, ALCOR_ERR_DENIED,
/// ALCOR_ERR_BAD_RANK, ALCOR_ERR_NOT_REGISTERED, ALCOR_ERR_REFUSED for the offset; else
/// ALCOR_ERR_ARGUMENT, ALCOR_ERR_OPERATION for bitwise operations on floating-point numbers,
/// ALCOR_ERR_CAPABILITY, ALCOR_ERR_NO_MEMORY, ALCOR_ERR_WATCHDOG.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_accumulate(
    rank: alcor_rank_t,
    op: alcor_op_t,
    r#type: alcor_type_t,
    data: *const c_void,
    count: usize,
    target: u32,
    window_offset: u64,
    window: alcor_window_t,
) -> alcor_result_t {
    let vector = Vector {
        op,
        data,
        old: None,
        count,
        target,
        window_offset,
        window,
    };
    // SAFETY: as the header asks.
    with(rank, |attached| unsafe { vector.act_on(attached, r#type) })
}

/// Like alcor_accumulate, and stores the `count` elements of the window as they were before at
/// `old`, which is unchanged if the call fails.
///
/// Errors: as alcor_accumulate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_get_accumulate(
    rank: alcor_rank_t,
    op: alcor_op_t,
    r#type: alcor_type_t,
    data: *const c_void,
    old: *mut c_void,
    count: usize,
    target: u32,
    window_offset: u64,
    window: alcor_window_t,
) -> alcor_result_t {
    let vector = Vector {
        op,
        data,
        old: Some(old),
        count,
        target,
        window_offset,
        window,
    };
    // SAFETY: as the header asks.
    with(rank, |attached| unsafe { vector.act_on(attached, r#type) })
}
