//! Atomic operations on words of windows.

use std::ffi::c_void;

use alcor::{AtomicOperation, AtomicWord, GlobalRank};

use crate::attached::{Attached, with};
use crate::failure::{Failure, Result};
use crate::memory::{copy_out, readable, writable};
use crate::types::{self, *};

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
        let number = |data: *const c_void| {
            let mut number = [T::default()];
            // SAFETY: as the caller promises.
            T::decode(unsafe { readable(data, bytes)? }, &mut number);
            Ok::<T, Failure>(number[0])
        };
        let value = number(self.value)?;
        writable(self.old, bytes)?;
        let window = attached.windows.get(self.window)?;
        let (rank, target) = (&mut attached.rank, GlobalRank(self.target));
        let old = match *act {
            Act::Combine(operation) => {
                rank.fetch_op_bytes(window, target, self.window_offset, operation, value)?
            }
            Act::Compare(expected) => {
                let expected = number(expected)?;
                rank.compare_swap_bytes(window, target, self.window_offset, expected, value)?
            }
        };
        let mut found = Vec::new();
        T::encode(&[old], &mut found);
        // SAFETY: as the caller promises.
        unsafe { copy_out(&found, self.old) };
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
        unsafe {
            match number {
                number if number == alcor_type::ALCOR_U32 as alcor_type_t => {
                    self.act::<u32>(attached, act)
                }
                number if number == alcor_type::ALCOR_I32 as alcor_type_t => {
                    self.act::<i32>(attached, act)
                }
                number if number == alcor_type::ALCOR_U64 as alcor_type_t => {
                    self.act::<u64>(attached, act)
                }
                number if number == alcor_type::ALCOR_I64 as alcor_type_t => {
                    self.act::<i64>(attached, act)
                }
                _ => Err(Failure::Argument {
                    what: "type",
                    value: u64::from(number as u32),
                    rule: "atomic operations have ALCOR_I32, ALCOR_U32, ALCOR_I64 and ALCOR_U64",
                }),
            }
        }
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
