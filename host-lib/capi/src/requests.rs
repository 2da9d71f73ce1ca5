//! Waits for requests.

use std::mem::MaybeUninit;
use std::ptr;
use std::slice;
use std::time::Duration;

use alcor::{Error, MessageKind, MessageStatus, Rank};

use crate::attached::{Attached, NO_MESSAGE, Out, given, make, with};
use crate::failure::{Failure, Result};
use crate::types::*;

/// A request with the memory of a handle: it holds the region's handle, and borrows nothing.
pub type Request = alcor::Request<'static>;

/// A call that starts an operation and waits for it.
pub fn complete(
    rank: alcor_rank_t,
    start: impl FnOnce(&mut Attached) -> Result<Request>,
) -> alcor_result_t {
    with(rank, |attached| {
        let request = start(attached)?;
        Ok(attached.rank.wait(request)?)
    })
}

/// A call that only starts an operation, and returns the request to C.
pub fn begin(
    rank: alcor_rank_t,
    request: Out<'_, alcor_request_t>,
    start: impl FnOnce(&mut Attached) -> Result<Request>,
) -> alcor_result_t {
    make(rank, request, "request", |attached| {
        let request = start(attached)?;
        Ok(attached.requests.insert(request))
    })
}

/// Returns the status of a request that has ended.
fn found(request: &Request) -> alcor_status_t {
    request
        .message_status()
        .map_or(NO_MESSAGE, alcor_status_t::from)
}

/// Waits for a request; its status, also of one that failed.
pub fn wait(rank: &mut Rank, request: Request) -> (alcor_status_t, Result<()>) {
    match request.message() {
        Some(message) if message.kind == MessageKind::Receive => {
            received(rank.wait_message(request))
        }
        _ => ended(rank.wait(request).map(|()| NO_MESSAGE)),
    }
}

/// Result of a receive.
pub fn received(waited: alcor::Result<MessageStatus>) -> (alcor_status_t, Result<()>) {
    ended(waited.map(alcor_status_t::from))
}

fn ended(waited: alcor::Result<alcor_status_t>) -> (alcor_status_t, Result<()>) {
    match waited {
        Ok(status) => (status, Ok(())),
        Err(error) => (told_by(&error), Err(error.into())),
    }
}

/// Returns the status of the message that an error describes.
fn told_by(error: &Error) -> alcor_status_t {
    match error {
        Error::Truncated { found, .. } => alcor_status_t::from(*found),
        _ => NO_MESSAGE,
    }
}

/// Writes a status where C wants one.
pub fn tell(
    status: Out<'_, alcor_status_t>,
    mut found: alcor_status_t,
    ended: Result<()>,
) -> Result<()> {
    if let Some(status) = status {
        found.result = ended.as_ref().map_or_else(
            |failure| failure.code() as alcor_result_t,
            |()| alcor_error::ALCOR_OK as alcor_result_t,
        );
        status.write(found);
    }
    ended
}

/// Waits until a request is complete, frees it and sets *request to NULL, even if it failed. A
/// request that is NULL is complete.
///
/// status: receives the result; may be NULL.
///
/// Errors: that of the request; ALCOR_ERR_WATCHDOG, ALCOR_ERR_ABORTED, ALCOR_ERR_PEER_DIED.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_wait(
    rank: alcor_rank_t,
    request: Option<&mut alcor_request_t>,
    status: Option<&mut MaybeUninit<alcor_status_t>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let request = given(request, "request")?;
        if request.is_null() {
            return tell(status, NO_MESSAGE, Ok(()));
        }
        let started = attached.requests.remove(*request)?;
        *request = ptr::null_mut();
        let (found, ended) = wait(&mut attached.rank, started);
        tell(status, found, ended)
    })
}

/// Waits until a request is complete, at most for `nanoseconds` of the board's clock. That is wall
/// time on a card and simulated time in a simulation. A request that is complete or failed is freed,
/// and *request is set to NULL. Any other request goes on, and may be waited for again. A request
/// that is NULL is complete.
///
/// done: gets whether the request is complete. status: gets the status of a complete request; may be
/// NULL.
///
/// Errors: as alcor_wait, except ALCOR_ERR_WATCHDOG.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_wait_timeout(
    rank: alcor_rank_t,
    request: Option<&mut alcor_request_t>,
    nanoseconds: u64,
    done: Option<&mut MaybeUninit<bool>>,
    status: Option<&mut MaybeUninit<alcor_status_t>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let request = given(request, "request")?;
        let done = given(done, "done")?;
        ends(attached, request, done, status, |rank, request| {
            rank.wait_timeout(request, Duration::from_nanos(nanoseconds))
        })
    })
}

/// Reports whether a request is complete, without waiting. A request that is complete or failed is
/// freed, and *request is set to NULL. A request that is NULL is complete.
///
/// In simulation, a poll counts as a short wait, so that time moves.
///
/// status: receives the result, if the request is complete; may be NULL.
///
/// Errors: as alcor_wait.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_test(
    rank: alcor_rank_t,
    request: Option<&mut alcor_request_t>,
    done: Option<&mut MaybeUninit<bool>>,
    status: Option<&mut MaybeUninit<alcor_status_t>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let request = given(request, "request")?;
        let done = given(done, "done")?;
        ends(attached, request, done, status, Rank::test)
    })
}

/// Asks for the end of a request. A request that has ended is freed, and C gets its status.
fn ends(
    attached: &mut Attached,
    request: &mut alcor_request_t,
    done: &mut MaybeUninit<bool>,
    status: Out<'_, alcor_status_t>,
    ask: impl FnOnce(&mut Rank, &mut Request) -> alcor::Result<bool>,
) -> Result<()> {
    if request.is_null() {
        done.write(true);
        return tell(status, NO_MESSAGE, Ok(()));
    }
    let handle = *request;
    let mut started = attached.requests.remove(handle)?;
    let asked = ask(&mut attached.rank, &mut started);
    let is_done = !matches!(asked, Ok(false));
    done.write(is_done);
    if !is_done {
        attached.requests.put_back(handle, started);
        return Ok(());
    }
    *request = ptr::null_mut();
    let (found, ended) = match asked {
        Ok(_) => (found(&started), Ok(())),
        Err(error) => (told_by(&error), Err(error.into())),
    };
    tell(status, found, ended)
}

/// Waits until all of `count` requests are complete, frees them and sets them to NULL. Requests
/// that are NULL are complete.
///
/// statuses: `count` statuses. Each receives the result of its request, and in `result` the result
/// code; may be NULL.
///
/// Errors: that of the first failed request in order, once all are complete; as alcor_wait.
/// ALCOR_ERR_HANDLE, also for the same request twice, is returned without a wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_wait_all(
    rank: alcor_rank_t,
    count: usize,
    requests: *mut alcor_request_t,
    statuses: *mut alcor_status_t,
) -> alcor_result_t {
    with(rank, |attached| {
        // SAFETY: as the header asks.
        let requests = unsafe { several(requests, count)? };
        if requests.is_empty() {
            return Ok(());
        }
        // SAFETY: likewise.
        let mut statuses = unsafe { places(statuses, count) };
        let started = take_all(attached, requests)?;
        requests.fill(ptr::null_mut());
        let mut all = Ok(());
        let mut over = None;
        for request in started {
            let (found, ended) = match (request, over) {
                (None, _) => (NO_MESSAGE, Ok(())),
                (Some(request), None) => wait(&mut attached.rank, request),
                // After the end of the run no request completes.
                (Some(_), Some(code)) => {
                    let mut found = NO_MESSAGE;
                    found.result = code;
                    (found, Ok(()))
                }
            };
            let found = coded(found, &ended);
            write_next(&mut statuses, found);
            if ended.as_ref().is_err_and(Failure::ends_the_run) {
                over = Some(found.result);
            }
            all = all.and(ended);
        }
        all
    })
}

/// Waits until one of `count` requests is complete, frees it and sets it to NULL; of several, the
/// first in order. Requests that are NULL are ignored.
///
/// index: receives its index, or ALCOR_UNDEFINED if all are NULL; the call succeeds then. status:
/// receives the result; may be NULL.
///
/// Errors: that of the request, with its index in *index; as alcor_wait. If *index is
/// ALCOR_UNDEFINED, no request was freed. ALCOR_ERR_HANDLE, also for the same request twice, is
/// returned without a wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_wait_any(
    rank: alcor_rank_t,
    count: usize,
    requests: *mut alcor_request_t,
    index: Option<&mut MaybeUninit<u32>>,
    status: Option<&mut MaybeUninit<alcor_status_t>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let index = given(index, "index")?.write(ALCOR_UNDEFINED);
        // SAFETY: as the header asks.
        let requests = unsafe { several(requests, count)? };
        one_of(attached, requests, index, status, |rank, started| {
            rank.wait_any(started).map(Some)
        })
        .map(drop)
    })
}

/// Reports whether one of `count` requests is complete, without waiting. Of several complete
/// requests, the first in order is freed and set to NULL. Requests that are NULL are ignored.
///
/// done: receives whether a request is complete; true if all are NULL. index: receives its index, or
/// ALCOR_UNDEFINED without one. status: receives the result, if a request is complete; may be NULL.
///
/// Errors: as alcor_wait_any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_test_any(
    rank: alcor_rank_t,
    count: usize,
    requests: *mut alcor_request_t,
    done: Option<&mut MaybeUninit<bool>>,
    index: Option<&mut MaybeUninit<u32>>,
    status: Option<&mut MaybeUninit<alcor_status_t>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let done = given(done, "done")?.write(false);
        let index = given(index, "index")?.write(ALCOR_UNDEFINED);
        // SAFETY: as the header asks.
        let requests = unsafe { several(requests, count)? };
        let ended = one_of(attached, requests, index, status, Rank::test_any);
        *done = *index != ALCOR_UNDEFINED || ended.as_ref().is_ok_and(|is_done| *is_done);
        ended.map(drop)
    })
}

/// Ends one of these requests: the one that `ask` returns. Returns whether a request has ended, or
/// none is left.
fn one_of(
    attached: &mut Attached,
    requests: &mut [alcor_request_t],
    index: &mut u32,
    status: Out<'_, alcor_status_t>,
    ask: impl FnOnce(&mut Rank, &[Request]) -> alcor::Result<Option<usize>>,
) -> Result<bool> {
    let (places, started) = take_started(attached, requests)?;
    if started.is_empty() {
        return tell(status, NO_MESSAGE, Ok(())).map(|()| true);
    }
    let first = ask(&mut attached.rank, &started);
    // All requests but the complete one go back into the table.
    let mut over = None;
    for (number, (place, request)) in places.into_iter().zip(started).enumerate() {
        match &first {
            Ok(Some(at)) if *at == number => over = Some((place, request)),
            _ => attached.requests.put_back(requests[place], request),
        }
    }
    let Some((place, request)) = over else {
        first?;
        return Ok(false);
    };
    *index = place as u32;
    requests[place] = ptr::null_mut();
    let (found, ended) = wait(&mut attached.rank, request);
    tell(status, found, ended).map(|()| true)
}

/// Waits until at least one of `count` requests is complete, frees all complete requests and sets
/// them to NULL. Requests that are NULL are ignored.
///
/// - ended: receives the number of complete requests, or ALCOR_UNDEFINED if all requests are NULL.
/// - indices: `count` numbers. The first `ended` receive the indices of the complete requests, in
///   order.
/// - statuses: `count` statuses, or NULL. The first `ended` receive the results, and in `result`
///   the result codes.
///
/// Errors: that of the first failed request in order, once all complete requests are freed; as
/// alcor_wait. If *ended is 0, no request was freed. ALCOR_ERR_HANDLE, also for the same request
/// twice, is returned without a wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_wait_some(
    rank: alcor_rank_t,
    count: usize,
    requests: *mut alcor_request_t,
    ended: Option<&mut MaybeUninit<u32>>,
    indices: *mut u32,
    statuses: *mut alcor_status_t,
) -> alcor_result_t {
    // SAFETY: as the header asks.
    unsafe {
        some_of(
            rank,
            count,
            requests,
            ended,
            (indices, statuses),
            Rank::wait_some,
        )
    }
}

/// Frees all complete requests of `count` and sets them to NULL, without waiting. Requests that are
/// NULL are ignored.
///
/// - ended: receives the number of complete requests, or ALCOR_UNDEFINED if all requests are NULL.
/// - indices: `count` numbers. The first `ended` receive the indices of the complete requests, in
///   order.
/// - statuses: `count` statuses, or NULL. The first `ended` receive the results, and in `result`
///   the result codes.
///
/// Errors: as alcor_wait_some.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_test_some(
    rank: alcor_rank_t,
    count: usize,
    requests: *mut alcor_request_t,
    ended: Option<&mut MaybeUninit<u32>>,
    indices: *mut u32,
    statuses: *mut alcor_status_t,
) -> alcor_result_t {
    // SAFETY: as the header asks.
    unsafe {
        some_of(
            rank,
            count,
            requests,
            ended,
            (indices, statuses),
            Rank::test_some,
        )
    }
}

/// Ends those of these requests that `ask` returns.
///
/// # Safety
/// Unless they are null, there are `count` requests, indices and statuses, which nobody else uses
/// during the call.
unsafe fn some_of(
    rank: alcor_rank_t,
    count: usize,
    requests: *mut alcor_request_t,
    ended: Out<'_, u32>,
    (indices, statuses): (*mut u32, *mut alcor_status_t),
    ask: impl FnOnce(&mut Rank, &[Request]) -> alcor::Result<Vec<usize>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let ended = given(ended, "ended")?.write(0);
        // SAFETY: the caller promises it.
        let requests = unsafe { several(requests, count)? };
        // SAFETY: likewise.
        let mut statuses = unsafe { places(statuses, count) };
        if indices.is_null() && count > 0 {
            return Err(Failure::Null { what: "indices" });
        }
        // SAFETY: likewise.
        let mut indices = unsafe { places(indices, count) };
        let (places, started) = take_started(attached, requests)?;
        if started.is_empty() {
            *ended = ALCOR_UNDEFINED;
            return Ok(());
        }
        let some = ask(&mut attached.rank, &started);
        let mut all = Ok(());
        for (number, (place, request)) in places.into_iter().zip(started).enumerate() {
            if !some.as_ref().is_ok_and(|some| some.contains(&number)) {
                attached.requests.put_back(requests[place], request);
                continue;
            }
            requests[place] = ptr::null_mut();
            *ended += 1;
            write_next(&mut indices, place as u32);
            let (found, result) = wait(&mut attached.rank, request);
            write_next(&mut statuses, coded(found, &result));
            all = all.and(result);
        }
        some?;
        all
    })
}

/// Reports whether all of `count` requests are complete, without waiting. If they are, frees them
/// and sets them to NULL. Requests that are NULL are complete.
///
/// done: receives whether all requests are complete. statuses: `count` statuses. Each receives the
/// result of its request, if all are complete, and in `result` the result code; may be NULL.
///
/// Errors: that of the first failed request in order, once all are complete; as alcor_wait_all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_test_all(
    rank: alcor_rank_t,
    count: usize,
    requests: *mut alcor_request_t,
    done: Option<&mut MaybeUninit<bool>>,
    statuses: *mut alcor_status_t,
) -> alcor_result_t {
    with(rank, |attached| {
        let done = given(done, "done")?.write(false);
        // SAFETY: as the header asks.
        let requests = unsafe { several(requests, count)? };
        // SAFETY: likewise.
        let mut statuses = unsafe { places(statuses, count) };
        let mut started = take_all(attached, requests)?;
        let mut is_over = |request: &mut Option<Request>| match request {
            // A failed request is complete.
            Some(request) => !matches!(attached.rank.test(request), Ok(false)),
            None => true,
        };
        *done = started.iter_mut().all(&mut is_over);
        if !*done {
            for (&handle, request) in requests.iter().zip(started) {
                if let Some(request) = request {
                    attached.requests.put_back(handle, request);
                }
            }
            return Ok(());
        }
        requests.fill(ptr::null_mut());
        let mut all = Ok(());
        for request in started {
            let (found, result) = match request {
                Some(request) => wait(&mut attached.rank, request),
                None => (NO_MESSAGE, Ok(())),
            };
            write_next(&mut statuses, coded(found, &result));
            all = all.and(result);
        }
        all
    })
}

/// A status with the code of its result.
fn coded(found: alcor_status_t, ended: &Result<()>) -> alcor_status_t {
    let result = match ended {
        Ok(()) => found.result,
        Err(failure) => failure.code() as alcor_result_t,
    };
    alcor_status_t { result, ..found }
}

/// Writes the next of several results, if the C program has passed a place.
fn write_next<T>(places: &mut &mut [MaybeUninit<T>], value: T) {
    if let Some((place, rest)) = std::mem::take(places).split_first_mut() {
        place.write(value);
        *places = rest;
    }
}

/// The places at a C pointer; none if the pointer is null.
///
/// # Safety
/// Unless the pointer is null, `count` places are there, and no other code uses them while the slice
/// is used. The places need no values.
unsafe fn places<'a, T>(values: *mut T, count: usize) -> &'a mut [MaybeUninit<T>] {
    if values.is_null() || count == 0 {
        return &mut [];
    }
    // SAFETY: the caller promises it.
    unsafe { slice::from_raw_parts_mut(values.cast(), count) }
}

/// Takes all these requests out of their table, or none. Returns those that are not NULL, with
/// their places.
fn take_started(
    attached: &mut Attached,
    handles: &[alcor_request_t],
) -> Result<(Vec<usize>, Vec<Request>)> {
    let started = take_all(attached, handles)?;
    let started = started.into_iter().enumerate();
    Ok(started
        .filter_map(|(place, request)| Some((place, request?)))
        .unzip())
}

/// The requests at a C pointer.
///
/// # Safety
/// Unless the pointer is null, `count` requests are there, and no other code uses them while the
/// slice is used.
unsafe fn several<'a>(
    requests: *mut alcor_request_t,
    count: usize,
) -> Result<&'a mut [alcor_request_t]> {
    if count == 0 {
        return Ok(&mut []);
    }
    if requests.is_null() {
        return Err(Failure::Null { what: "requests" });
    }
    if count > u32::MAX as usize {
        return Err(Failure::Argument {
            what: "count",
            value: count as u64,
            rule: "no rank has as many requests",
        });
    }
    // SAFETY: the caller promises it.
    Ok(unsafe { slice::from_raw_parts_mut(requests, count) })
}

/// Takes all these requests out of their table, or none.
fn take_all(attached: &mut Attached, handles: &[alcor_request_t]) -> Result<Vec<Option<Request>>> {
    let mut taken = Vec::new();
    for &handle in handles {
        let request = if handle.is_null() {
            Ok(None)
        } else {
            attached.requests.remove(handle).map(Some)
        };
        match request {
            Ok(request) => taken.push(request),
            Err(failure) => {
                for (&handle, request) in handles.iter().zip(taken) {
                    if let Some(request) = request {
                        attached.requests.put_back(handle, request);
                    }
                }
                return Err(failure);
            }
        }
    }
    Ok(taken)
}

/// Frees a request without waiting for it, and sets *request to NULL. The operation still
/// completes; if it fails, the next flush, or alcor_finish, returns the error. Its memory is in use
/// until then. A request that is NULL is freed already.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_request_free(
    rank: alcor_rank_t,
    request: Option<&mut alcor_request_t>,
) -> alcor_result_t {
    with(rank, |attached| {
        let request = given(request, "request")?;
        if !request.is_null() {
            drop(attached.requests.remove(*request)?);
            *request = ptr::null_mut();
        }
        Ok(())
    })
}

/// Cancels a receive. The receive still completes, and must be waited for. Its status has
/// `cancelled` set, or describes the message, if a message arrived before.
///
/// Errors: ALCOR_ERR_NOT_A_RECEIVE.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_cancel(rank: alcor_rank_t, request: alcor_request_t) -> alcor_result_t {
    with(rank, |attached| {
        let request = attached.requests.get(request)?;
        Ok(attached.rank.cancel(request)?)
    })
}
