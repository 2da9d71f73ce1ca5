//! Node memory.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

use crate::attached::{given, make, piece, with};
use crate::failure::{Failure, Result};
use crate::types::*;

/// Bytes of a C buffer that are read.
///
/// # Safety
/// Unless `data` is null, `bytes` bytes at `data` are readable, and no thread writes to them while
/// the slice is used.
pub unsafe fn readable<'a>(data: *const c_void, bytes: usize) -> Result<&'a [u8]> {
    match bytes {
        0 => Ok(&[]),
        _ if data.is_null() => Err(Failure::Null { what: "data" }),
        _ => {
            check_bytes(bytes)?;
            // SAFETY: the caller guarantees it; check_bytes has limited the size to that of an object.
            Ok(unsafe { std::slice::from_raw_parts(data.cast(), bytes) })
        }
    }
}

/// Checks a C buffer before the operation begins.
pub fn writable(data: *mut c_void, bytes: usize) -> Result<()> {
    if data.is_null() && bytes > 0 {
        return Err(Failure::Null { what: "data" });
    }
    check_bytes(bytes)
}

/// Node memory has addresses of 32 bits.
fn check_bytes(bytes: usize) -> Result<()> {
    match u32::try_from(bytes) {
        Ok(_) => Ok(()),
        Err(_) => Err(Failure::Argument {
            what: "bytes",
            value: bytes as u64,
            rule: "no node memory has 4 GiB",
        }),
    }
}

/// Copies to a C buffer.
///
/// # Safety
/// As many bytes at `data` are writable; [`writable`] has checked the pointer.
pub unsafe fn copy_out(from: &[u8], data: *mut c_void) {
    if !from.is_empty() {
        // SAFETY: the caller guarantees it, and `from` is memory of the library, which overlaps no
        // memory of C.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), data.cast(), from.len()) };
    }
}

/// Allocates `bytes` bytes of node memory at a multiple of 64. Their contents are undefined.
///
/// memory: receives the region, which alcor_free frees; NULL if the call fails.
///
/// Errors: ALCOR_ERR_NO_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_alloc(
    rank: alcor_rank_t,
    bytes: usize,
    memory: Option<&mut MaybeUninit<alcor_memory_t>>,
) -> alcor_result_t {
    make(rank, memory, "memory", |attached| {
        let region = attached.rank.alloc::<u8>(bytes)?;
        Ok(attached.memory.insert(region))
    })
}

/// Frees node memory, and sets *memory to NULL. Operations under way keep the memory until they are
/// complete, and a window keeps it until it is deregistered. A *memory that is NULL already is no
/// error.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_free(
    rank: alcor_rank_t,
    memory: Option<&mut alcor_memory_t>,
) -> alcor_result_t {
    with(rank, |attached| {
        let memory = given(memory, "memory")?;
        if !memory.is_null() {
            attached.memory.remove(*memory)?;
            *memory = ptr::null_mut();
        }
        Ok(())
    })
}

/// Allocates `bytes` bytes of host memory, zero at first, at a multiple of 8. Calls with data in it
/// move the data without a copy by the processor, if this process drives the card (driver=vfio); on
/// every other board the memory is as good as any.
///
/// data: receives the address, which alcor_free_host frees; NULL if the call fails, and for 0 bytes.
/// The memory is freed when the rank leaves or aborts, too.
///
/// Errors: ALCOR_ERR_NO_MEMORY, ALCOR_ERR_BOARD.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_alloc_host(
    rank: alcor_rank_t,
    bytes: usize,
    data: Option<&mut MaybeUninit<*mut c_void>>,
) -> alcor_result_t {
    make(rank, data, "data", |attached| {
        if bytes == 0 {
            return Ok(ptr::null_mut());
        }
        let mut region = attached.rank.alloc_host::<u8>(bytes)?;
        let data: *mut u8 = region.as_mut_ptr();
        attached.host.insert(data.addr(), region);
        Ok(data.cast())
    })
}

/// Frees host memory of alcor_alloc_host, and sets *data to NULL. A *data that is NULL already is no
/// error. No operation under way may use the memory.
///
/// Errors: ALCOR_ERR_HANDLE for an address that is no such memory.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_free_host(
    rank: alcor_rank_t,
    data: Option<&mut *mut c_void>,
) -> alcor_result_t {
    with(rank, |attached| {
        let data = given(data, "data")?;
        if !data.is_null() {
            let handle = data.addr();
            let freed = attached.host.remove(&handle);
            freed.ok_or(Failure::Handle {
                what: "host memory",
                handle,
            })?;
            *data = ptr::null_mut();
        }
        Ok(())
    })
}

/// Writes `bytes` bytes at `data` to this rank's node memory, from byte `offset` of the region on.
///
/// Errors: ALCOR_ERR_MEMORY_BOUNDS, ALCOR_ERR_BOARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_write(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    data: *const c_void,
    bytes: usize,
) -> alcor_result_t {
    with(rank, |attached| {
        // SAFETY: as the header asks.
        let data = unsafe { readable(data, bytes)? };
        let region = attached.memory.get(memory)?;
        Ok(attached.rank.write(&mut region.clone(), offset, data)?)
    })
}

/// Reads `bytes` bytes of this rank's node memory, from byte `offset` of the region on, to `data`,
/// which is unchanged if the call fails.
///
/// Errors: ALCOR_ERR_MEMORY_BOUNDS, ALCOR_ERR_BOARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_read(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    data: *mut c_void,
    bytes: usize,
) -> alcor_result_t {
    with(rank, |attached| {
        writable(data, bytes)?;
        let part = piece(attached.memory.get(memory)?, offset, bytes)?;
        let found = attached.rank.read_vec(&part)?;
        // SAFETY: as the header asks.
        unsafe { copy_out(&found, data) };
        Ok(())
    })
}
