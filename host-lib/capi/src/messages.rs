//! Messages.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

use alcor::{MessageStatus, Source, Tag};

use crate::attached::{Attached, Out, given, piece, place, with};
use crate::failure::Result;
use crate::memory::{copy_out, readable, writable};
use crate::requests::{self, begin, complete};
use crate::types::*;

fn source_of(source: u32) -> Source {
    match source {
        ALCOR_ANY_SOURCE => Source::Any,
        rank => Source::Rank(rank),
    }
}

fn tag_of(tag: u32) -> Tag {
    match tag {
        ALCOR_ANY_TAG => Tag::Any,
        tag => Tag::Is(tag),
    }
}

fn isend(
    attached: &mut Attached,
    (memory, offset, bytes): (alcor_memory_t, usize, usize),
    to: u32,
    tag: u32,
    comm: alcor_comm_t,
) -> Result<requests::Request> {
    let comm = attached.communicators.get(comm)?;
    let local = piece(attached.memory.get(memory)?, offset, bytes)?;
    Ok(comm.isend(&mut attached.rank, to, tag, local)?)
}

fn issend(
    attached: &mut Attached,
    (memory, offset, bytes): (alcor_memory_t, usize, usize),
    to: u32,
    tag: u32,
    comm: alcor_comm_t,
) -> Result<requests::Request> {
    let comm = attached.communicators.get(comm)?;
    let local = piece(attached.memory.get(memory)?, offset, bytes)?;
    Ok(comm.issend(&mut attached.rank, to, tag, local)?)
}

fn irecv(
    attached: &mut Attached,
    (memory, offset, bytes): (alcor_memory_t, usize, usize),
    source: u32,
    tag: u32,
    comm: alcor_comm_t,
) -> Result<requests::Request> {
    let comm = attached.communicators.get(comm)?;
    let local = piece(attached.memory.get(memory)?, offset, bytes)?;
    Ok(comm.irecv(&mut attached.rank, source_of(source), tag_of(tag), local)?)
}

fn tell(status: Out<'_, alcor_status_t>, found: MessageStatus) {
    if let Some(status) = status {
        status.write(found.into());
    }
}

/// Sends `bytes` bytes of this rank's node memory, from byte `offset` of the region on, to rank
/// `to` of a communicator, and waits until a receive or the receiver's library has taken them. So
/// two ranks that send to each other must use alcor_isend or alcor_irecv.
///
/// tag: at most ALCOR_TAG_UB.
///
/// Errors: ALCOR_ERR_MEMORY_BOUNDS, ALCOR_ERR_NO_SUCH_MEMBER; ALCOR_ERR_ARGUMENT for the tag;
/// ALCOR_ERR_MESSAGE_ROOM, ALCOR_ERR_CAPABILITY; ALCOR_ERR_WATCHDOG if the message is not received.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_send(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    bytes: usize,
    to: u32,
    tag: u32,
    comm: alcor_comm_t,
) -> alcor_result_t {
    complete(rank, |attached| {
        isend(attached, (memory, offset, bytes), to, tag, comm)
    })
}

/// As alcor_send, in the synchronous mode of MPI: waits until a receive has taken the message. The
/// receiver's library cannot complete the call.
///
/// Errors: as alcor_send.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_ssend(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    bytes: usize,
    to: u32,
    tag: u32,
    comm: alcor_comm_t,
) -> alcor_result_t {
    complete(rank, |attached| {
        issend(attached, (memory, offset, bytes), to, tag, comm)
    })
}

/// Starts an alcor_ssend. The memory must not change until the request is complete, which is when a
/// receive has taken the message.
///
/// request: receives the request; NULL if the call fails.
///
/// Errors: as alcor_send.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_issend(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    bytes: usize,
    to: u32,
    tag: u32,
    comm: alcor_comm_t,
    request: Option<&mut MaybeUninit<alcor_request_t>>,
) -> alcor_result_t {
    begin(rank, request, |attached| {
        issend(attached, (memory, offset, bytes), to, tag, comm)
    })
}

/// Sends one message and receives another, as alcor_send and alcor_recv at the same time. So ranks
/// that send to each other, in a pair or in a ring, may all call alcor_sendrecv.
///
/// status: receives source, tag and length of the received message; may be NULL.
///
/// Errors: as alcor_send and alcor_recv. The error of the receive has precedence.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_sendrecv(
    rank: alcor_rank_t,
    send_memory: alcor_memory_t,
    send_offset: usize,
    send_bytes: usize,
    to: u32,
    send_tag: u32,
    memory: alcor_memory_t,
    offset: usize,
    bytes: usize,
    source: u32,
    tag: u32,
    comm: alcor_comm_t,
    status: Option<&mut MaybeUninit<alcor_status_t>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let comm = attached.communicators.get(comm)?;
        let sent = piece(attached.memory.get(send_memory)?, send_offset, send_bytes)?;
        let local = piece(attached.memory.get(memory)?, offset, bytes)?;
        let received = comm.sendrecv(
            &mut attached.rank,
            (to, send_tag, sent),
            (source_of(source), tag_of(tag), local),
        );
        let (found, ended) = requests::received(received);
        requests::tell(status, found, ended)
    })
}

/// As alcor_sendrecv, in place: sends `bytes` bytes from byte `offset` of the region on, and
/// receives the other message into the same bytes.
///
/// status: receives source, tag and length of the received message; may be NULL.
///
/// Errors: as alcor_sendrecv, and ALCOR_ERR_NO_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_sendrecv_replace(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    bytes: usize,
    to: u32,
    send_tag: u32,
    source: u32,
    tag: u32,
    comm: alcor_comm_t,
    status: Option<&mut MaybeUninit<alcor_status_t>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let comm = attached.communicators.get(comm)?;
        let local = piece(attached.memory.get(memory)?, offset, bytes)?;
        let received = comm.sendrecv_replace(
            &mut attached.rank,
            (to, send_tag),
            (source_of(source), tag_of(tag)),
            local,
        );
        let (found, ended) = requests::received(received);
        requests::tell(status, found, ended)
    })
}

/// Receives a message in this rank's node memory, from byte `offset` of the region on, and waits
/// for the message. `source` is a rank of the communicator or ALCOR_ANY_SOURCE, `tag` a tag or
/// ALCOR_ANY_TAG. At most `bytes` bytes are received.
///
/// status: receives source, tag and length of the message; may be NULL.
///
/// Errors: ALCOR_ERR_TRUNCATED if the message was longer: its first `bytes` bytes are received, and
/// status has its whole length; as alcor_send.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_recv(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    bytes: usize,
    source: u32,
    tag: u32,
    comm: alcor_comm_t,
    status: Option<&mut MaybeUninit<alcor_status_t>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let request = irecv(attached, (memory, offset, bytes), source, tag, comm)?;
        let (found, ended) = requests::wait(&mut attached.rank, request);
        requests::tell(status, found, ended)
    })
}

/// Starts an alcor_send. The memory must not change until the request is complete, which is when a
/// receive or the receiver's library has taken the message.
///
/// request: receives the request; NULL if the call fails.
///
/// Errors: as alcor_send.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_isend(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    bytes: usize,
    to: u32,
    tag: u32,
    comm: alcor_comm_t,
    request: Option<&mut MaybeUninit<alcor_request_t>>,
) -> alcor_result_t {
    begin(rank, request, |attached| {
        isend(attached, (memory, offset, bytes), to, tag, comm)
    })
}

/// Posts an alcor_recv. The contents of the memory are undefined until the request is complete;
/// alcor_wait and alcor_test return the status.
///
/// request: receives the request; NULL if the call fails.
///
/// Errors: as alcor_send. The request returns ALCOR_ERR_TRUNCATED.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_irecv(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    bytes: usize,
    source: u32,
    tag: u32,
    comm: alcor_comm_t,
    request: Option<&mut MaybeUninit<alcor_request_t>>,
) -> alcor_result_t {
    begin(rank, request, |attached| {
        irecv(attached, (memory, offset, bytes), source, tag, comm)
    })
}

/// As alcor_send, for `bytes` bytes at `data`. The call stages them in temporary node memory, so
/// `data` may be changed when the call returns. A short message (at most FRAGMENT bytes of the
/// configuration) is then on its way, and need not have been received. A longer message has been
/// received.
///
/// Errors: as alcor_send, and ALCOR_ERR_NO_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_send_data(
    rank: alcor_rank_t,
    data: *const c_void,
    bytes: usize,
    to: u32,
    tag: u32,
    comm: alcor_comm_t,
) -> alcor_result_t {
    with(rank, |attached| {
        // SAFETY: as the header asks.
        let data = unsafe { readable(data, bytes)? };
        let comm = attached.communicators.get(comm)?;
        Ok(comm.send(&mut attached.rank, to, tag, data)?)
    })
}

/// Like alcor_recv, to `bytes` bytes at `data`. The call stages them in temporary node memory.
/// Bytes beyond the message are unchanged.
///
/// Errors: as alcor_recv, and ALCOR_ERR_NO_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_recv_data(
    rank: alcor_rank_t,
    data: *mut c_void,
    bytes: usize,
    source: u32,
    tag: u32,
    comm: alcor_comm_t,
    status: Option<&mut MaybeUninit<alcor_status_t>>,
) -> alcor_result_t {
    with(rank, |attached| {
        writable(data, bytes)?;
        let comm = attached.communicators.get(comm)?;
        let staged = attached.rank.alloc::<u8>(bytes)?;
        let request = comm.irecv(
            &mut attached.rank,
            source_of(source),
            tag_of(tag),
            staged.clone(),
        )?;
        let (found, ended) = requests::wait(&mut attached.rank, request);
        let came = staged.slice(..found.bytes.min(bytes))?;
        let came = attached.rank.read_vec(&came)?;
        // SAFETY: as the header asks.
        unsafe { copy_out(&came, data) };
        requests::tell(status, found, ended)
    })
}

/// Waits until there is a message that a receive of this source and tag would take next, without
/// receiving it.
///
/// status: receives the message's source, tag and length; may be NULL.
///
/// Errors: as alcor_send.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_probe(
    rank: alcor_rank_t,
    source: u32,
    tag: u32,
    comm: alcor_comm_t,
    status: Option<&mut MaybeUninit<alcor_status_t>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let comm = attached.communicators.get(comm)?;
        let found = comm.probe(&mut attached.rank, source_of(source), tag_of(tag))?;
        tell(status, found);
        Ok(())
    })
}

/// Reports whether there is a message that a receive of this source and tag would take now, without
/// waiting.
///
/// status: receives the message's source, tag and length, if there is one; may be NULL.
///
/// Errors: as alcor_send; ALCOR_ERR_WATCHDOG if polling without success lasts longer than a wait
/// may.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_iprobe(
    rank: alcor_rank_t,
    source: u32,
    tag: u32,
    comm: alcor_comm_t,
    is_there: Option<&mut MaybeUninit<bool>>,
    status: Option<&mut MaybeUninit<alcor_status_t>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let is_there = given(is_there, "is_there")?;
        let comm = attached.communicators.get(comm)?;
        let found = comm.iprobe(&mut attached.rank, source_of(source), tag_of(tag))?;
        is_there.write(found.is_some());
        if let Some(found) = found {
            tell(status, found);
        }
        Ok(())
    })
}

/// Waits until there is a message that a receive of this source and tag would take next, and takes
/// the message out of the queue. Only alcor_mrecv or alcor_imrecv can receive the message.
///
/// message: receives the message; NULL if the call fails. status: receives the message's source, tag
/// and length; may be NULL.
///
/// Errors: as alcor_send; ALCOR_ERR_NO_MEMORY; ALCOR_ERR_CAPABILITY for or behind a
/// message of a kernel that is longer than FRAGMENT bytes of the configuration.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_mprobe(
    rank: alcor_rank_t,
    source: u32,
    tag: u32,
    comm: alcor_comm_t,
    message: Option<&mut MaybeUninit<alcor_message_t>>,
    status: Option<&mut MaybeUninit<alcor_status_t>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let message = place(message, "message")?;
        let comm = attached.communicators.get(comm)?;
        let found = comm.mprobe(&mut attached.rank, source_of(source), tag_of(tag))?;
        tell(status, found.status());
        *message = attached.messages.insert(found);
        Ok(())
    })
}

/// As alcor_mprobe, without waiting.
///
/// message: receives the message; NULL if there is none. status: receives the message's source, tag
/// and length, if there is one; may be NULL.
///
/// Errors: as alcor_mprobe; ALCOR_ERR_WATCHDOG if polling without success lasts longer than a wait
/// may.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_improbe(
    rank: alcor_rank_t,
    source: u32,
    tag: u32,
    comm: alcor_comm_t,
    message: Option<&mut MaybeUninit<alcor_message_t>>,
    status: Option<&mut MaybeUninit<alcor_status_t>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let message = place(message, "message")?;
        let comm = attached.communicators.get(comm)?;
        let found = comm.improbe(&mut attached.rank, source_of(source), tag_of(tag))?;
        if let Some(found) = found {
            tell(status, found.status());
            *message = attached.messages.insert(found);
        }
        Ok(())
    })
}

/// Takes a message of C's, and starts its receive.
fn imrecv(
    attached: &mut Attached,
    (memory, offset, bytes): (alcor_memory_t, usize, usize),
    message: Option<&mut alcor_message_t>,
) -> Result<requests::Request> {
    let message = given(message, "message")?;
    let local = piece(attached.memory.get(memory)?, offset, bytes)?;
    let found = attached.messages.remove(*message)?;
    *message = ptr::null_mut();
    Ok(found.irecv(&mut attached.rank, local)?)
}

/// Receives up to `bytes` bytes of a message that a matched probe has found, in this rank's node
/// memory, from byte `offset` of the region on. Sets *message to NULL.
///
/// status: receives source, tag and length of the message; may be NULL.
///
/// Errors: as alcor_recv. ALCOR_ERR_MEMORY_BOUNDS and ALCOR_ERR_HANDLE leave *message as it is.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_mrecv(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    bytes: usize,
    message: Option<&mut alcor_message_t>,
    status: Option<&mut MaybeUninit<alcor_status_t>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let request = imrecv(attached, (memory, offset, bytes), message)?;
        let (found, ended) = requests::wait(&mut attached.rank, request);
        requests::tell(status, found, ended)
    })
}

/// Starts an alcor_mrecv. Sets *message to NULL. A cancel of the request has no effect.
///
/// request: receives the request; NULL if the call fails.
///
/// Errors: as alcor_mrecv. The request returns ALCOR_ERR_TRUNCATED.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_imrecv(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    bytes: usize,
    message: Option<&mut alcor_message_t>,
    request: Option<&mut MaybeUninit<alcor_request_t>>,
) -> alcor_result_t {
    begin(rank, request, |attached| {
        imrecv(attached, (memory, offset, bytes), message)
    })
}

/// Returns a message of a matched probe to its place in the queue, and sets *message to NULL. A
/// receive that waits for the message takes it. A message that is NULL has been returned.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_message_free(
    rank: alcor_rank_t,
    message: Option<&mut alcor_message_t>,
) -> alcor_result_t {
    with(rank, |attached| {
        let message = given(message, "message")?;
        if !message.is_null() {
            drop(attached.messages.remove(*message)?);
            *message = ptr::null_mut();
        }
        Ok(())
    })
}
