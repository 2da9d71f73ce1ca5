//! Windows, put and get.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

use alcor::GlobalRank;

use crate::attached::{Attached, given, make, piece, with};
use crate::failure::Result;
use crate::memory::{copy_out, readable, writable};
use crate::requests::{Request, begin, complete};
use crate::types::{self, *};

/// Makes a region of node memory this rank's part of a new window. All ranks of the run call it
/// together, each with its own memory, of any size. The result is the same at all ranks.
///
/// rights: rights of other ranks in this rank's part, flags of alcor_rights. window: receives the
/// window, which alcor_deregister ends; NULL if the call fails.
///
/// Errors: ALCOR_ERR_TABLE_FULL; ALCOR_ERR_DUPLICATE if a rank's memory is registered already;
/// ALCOR_ERR_DIFFER if other ranks make another call; ALCOR_ERR_WATCHDOG.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_register(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    rights: u32,
    window: Option<&mut MaybeUninit<alcor_window_t>>,
) -> alcor_result_t {
    make(rank, window, "window", |attached| {
        let rights = types::rights(rights)?;
        let region = attached.memory.get(memory)?;
        let registered = attached.rank.register(region, rights)?;
        Ok(attached.windows.insert(registered))
    })
}

/// Ends a window, and sets *window to NULL, even if the call fails. All ranks of the run call it
/// together. The memory stays allocated.
///
/// Errors: ALCOR_ERR_DIFFER, ALCOR_ERR_WATCHDOG.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_deregister(
    rank: alcor_rank_t,
    window: Option<&mut alcor_window_t>,
) -> alcor_result_t {
    with(rank, |attached| {
        let window = given(window, "window")?;
        let registered = attached.windows.remove(*window)?;
        *window = ptr::null_mut();
        Ok(attached.rank.deregister(registered)?)
    })
}

/// A put or get's arguments.
struct Way {
    memory: alcor_memory_t,
    offset: usize,
    bytes: usize,
    target: u32,
    window_offset: u64,
    window: alcor_window_t,
}

impl Way {
    fn put(&self, attached: &mut Attached) -> Result<Request> {
        let window = attached.windows.get(self.window)?;
        let local = piece(attached.memory.get(self.memory)?, self.offset, self.bytes)?;
        let target = GlobalRank(self.target);
        Ok(attached
            .rank
            .iput_bytes(window, target, self.window_offset, local)?)
    }

    fn get(&self, attached: &mut Attached) -> Result<Request> {
        let window = attached.windows.get(self.window)?;
        let local = piece(attached.memory.get(self.memory)?, self.offset, self.bytes)?;
        let target = GlobalRank(self.target);
        Ok(attached
            .rank
            .iget_bytes(window, target, self.window_offset, local)?)
    }
}

/// Copies `bytes` bytes of this rank's node memory, from byte `offset` of the region on, to rank
/// `target`'s part of a window, from its byte `window_offset` on, and waits until they are visible
/// there. Any alignment is legal.
///
/// Errors: ALCOR_ERR_MEMORY_BOUNDS; of the target, which checks before any memory is changed:
/// ALCOR_ERR_WINDOW_BOUNDS, ALCOR_ERR_DENIED, ALCOR_ERR_BAD_RANK, ALCOR_ERR_NOT_REGISTERED.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_put(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    bytes: usize,
    target: u32,
    window_offset: u64,
    window: alcor_window_t,
) -> alcor_result_t {
    let way = Way {
        memory,
        offset,
        bytes,
        target,
        window_offset,
        window,
    };
    complete(rank, |attached| way.put(attached))
}

/// Copies `bytes` bytes of rank `target`'s part of a window, from its byte `window_offset` on, to
/// this rank's node memory, from byte `offset` of the region on, and waits until they have arrived.
/// Any alignment is legal.
///
/// Errors: as alcor_put.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_get(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    bytes: usize,
    target: u32,
    window_offset: u64,
    window: alcor_window_t,
) -> alcor_result_t {
    let way = Way {
        memory,
        offset,
        bytes,
        target,
        window_offset,
        window,
    };
    complete(rank, |attached| way.get(attached))
}

/// Starts an alcor_put. The memory must not change until the request is complete.
///
/// request: receives the request; NULL if the call fails.
///
/// Errors: ALCOR_ERR_MEMORY_BOUNDS, ALCOR_ERR_ARGUMENT. The request returns errors of the target.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_iput(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    bytes: usize,
    target: u32,
    window_offset: u64,
    window: alcor_window_t,
    request: Option<&mut MaybeUninit<alcor_request_t>>,
) -> alcor_result_t {
    let way = Way {
        memory,
        offset,
        bytes,
        target,
        window_offset,
        window,
    };
    begin(rank, request, |attached| way.put(attached))
}

/// Starts an alcor_get. The contents of the memory are undefined until the request is complete.
///
/// request: receives the request; NULL if the call fails.
///
/// Errors: as alcor_iput.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_iget(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    bytes: usize,
    target: u32,
    window_offset: u64,
    window: alcor_window_t,
    request: Option<&mut MaybeUninit<alcor_request_t>>,
) -> alcor_result_t {
    let way = Way {
        memory,
        offset,
        bytes,
        target,
        window_offset,
        window,
    };
    begin(rank, request, |attached| way.get(attached))
}

/// Like alcor_put, for `bytes` bytes at `data`. The call stages them in temporary node memory.
///
/// Errors: as alcor_put, and ALCOR_ERR_NO_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_put_data(
    rank: alcor_rank_t,
    data: *const c_void,
    bytes: usize,
    target: u32,
    window_offset: u64,
    window: alcor_window_t,
) -> alcor_result_t {
    with(rank, |attached| {
        // SAFETY: as the header asks.
        let data = unsafe { readable(data, bytes)? };
        let window = attached.windows.get(window)?;
        let target = GlobalRank(target);
        Ok(attached
            .rank
            .put_bytes(window, target, window_offset, data)?)
    })
}

/// Like alcor_get, to `bytes` bytes at `data`. The call stages them in temporary node memory.
/// `data` is unchanged if the call fails.
///
/// Errors: as alcor_get, and ALCOR_ERR_NO_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_get_data(
    rank: alcor_rank_t,
    data: *mut c_void,
    bytes: usize,
    target: u32,
    window_offset: u64,
    window: alcor_window_t,
) -> alcor_result_t {
    with(rank, |attached| {
        writable(data, bytes)?;
        let window = attached.windows.get(window)?;
        let staged = attached.rank.alloc::<u8>(bytes)?;
        let target = GlobalRank(target);
        attached
            .rank
            .get_bytes(window, target, window_offset, staged.clone())?;
        let found = attached.rank.read_vec(&staged)?;
        // SAFETY: as the header asks.
        unsafe { copy_out(&found, data) };
        Ok(())
    })
}

/// Waits until every put to and get from rank `target` that this rank has started is complete.
///
/// Errors: those of freed requests to this rank that failed.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_flush(rank: alcor_rank_t, target: u32) -> alcor_result_t {
    with(rank, |attached| {
        Ok(attached.rank.flush(GlobalRank(target))?)
    })
}

/// Waits until every put and get that this rank has started is complete.
///
/// Errors: those of freed requests that failed.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_flush_all(rank: alcor_rank_t) -> alcor_result_t {
    with(rank, |attached| Ok(attached.rank.flush_all()?))
}
