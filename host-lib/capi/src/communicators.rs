//! Communicators.

use std::mem::MaybeUninit;
use std::{ptr, slice};

use alcor::GlobalRank;

use crate::attached::{given, make, with};
use crate::failure::{Failure, Result};
use crate::types::*;

/// The communicator of all ranks of the run, in the order of their numbers. All ranks of the run
/// make the first call together: it registers a window for the library, which takes at most an
/// eighth of node memory. Further calls return the same handle.
///
/// comm: receives the communicator, which lasts as long as the rank and is not freed; NULL if the
/// call fails.
///
/// Errors: ALCOR_ERR_NO_MEMORY, ALCOR_ERR_TABLE_FULL, ALCOR_ERR_WATCHDOG.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_world(
    rank: alcor_rank_t,
    comm: Option<&mut MaybeUninit<alcor_comm_t>>,
) -> alcor_result_t {
    make(rank, comm, "comm", |attached| {
        if let Some(world) = attached.world {
            return Ok(ptr::without_provenance_mut(world));
        }
        let world = attached.rank.world()?;
        let handle = attached.communicators.insert(world);
        attached.world = Some(handle.addr());
        Ok(handle)
    })
}

/// This rank's rank in a communicator, from 0.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_comm_rank(
    rank: alcor_rank_t,
    comm: alcor_comm_t,
    comm_rank: Option<&mut MaybeUninit<u32>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let comm = attached.communicators.get(comm)?;
        given(comm_rank, "comm_rank")?.write(comm.rank());
        Ok(())
    })
}

/// The number of members of a communicator.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_comm_size(
    rank: alcor_rank_t,
    comm: alcor_comm_t,
    size: Option<&mut MaybeUninit<u32>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let comm = attached.communicators.get(comm)?;
        given(size, "size")?.write(comm.size());
        Ok(())
    })
}

/// Makes a communicator for each color, of the members that name this color, ordered by their keys,
/// and for equal keys as in `comm`. All members of `comm` call it together.
///
/// made: receives the communicator of this rank, which alcor_comm_free ends; NULL if the call
/// fails, and for a member that names ALCOR_UNDEFINED, which joins none.
///
/// Errors: ALCOR_ERR_DIFFER, ALCOR_ERR_COMMUNICATOR, ALCOR_ERR_WATCHDOG.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_comm_split(
    rank: alcor_rank_t,
    comm: alcor_comm_t,
    color: u32,
    key: i32,
    made: Option<&mut MaybeUninit<alcor_comm_t>>,
) -> alcor_result_t {
    make(rank, made, "made", |attached| {
        let comm = attached.communicators.get(comm)?;
        let color = (color != ALCOR_UNDEFINED).then_some(color);
        let made = comm.split(&mut attached.rank, color, key)?;
        let made = made.map(|made| attached.communicators.insert(made));
        Ok(made.unwrap_or(ptr::null_mut()))
    })
}

/// Makes a communicator of the same members. All members call it together.
///
/// made: receives the communicator, which alcor_comm_free ends; NULL if the call fails.
///
/// Errors: as alcor_comm_split.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_comm_dup(
    rank: alcor_rank_t,
    comm: alcor_comm_t,
    made: Option<&mut MaybeUninit<alcor_comm_t>>,
) -> alcor_result_t {
    make(rank, made, "made", |attached| {
        let comm = attached.communicators.get(comm)?;
        let made = comm.dup(&mut attached.rank)?;
        Ok(attached.communicators.insert(made))
    })
}

/// Makes a communicator of the same members, whose messages are divided among `count` queues. All
/// members call it together, with the same division. On boards with match stores, the queues are
/// searched at the same time; on others there is one queue. The communicator takes a message context
/// for each queue, and has fewer queues if the boards have fewer queue pairs, or if fewer contexts are
/// free.
///
/// by: source or tag selects the queue of a message. Receives and probes with ALCOR_ANY_SOURCE or
/// ALCOR_ANY_TAG in its place fail with ALCOR_ERR_COMMUNICATOR. made: receives the communicator,
/// which alcor_comm_free ends; NULL if the call fails.
///
/// Errors: ALCOR_ERR_ARGUMENT, ALCOR_ERR_DIFFER if the divisions differ; as alcor_comm_split.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_comm_dup_with_queues(
    rank: alcor_rank_t,
    comm: alcor_comm_t,
    by: alcor_queues_t,
    count: u32,
    made: Option<&mut MaybeUninit<alcor_comm_t>>,
) -> alcor_result_t {
    make(rank, made, "made", |attached| {
        let comm = attached.communicators.get(comm)?;
        let made = comm.dup_with_queues(&mut attached.rank, queues(by, count)?)?;
        Ok(attached.communicators.insert(made))
    })
}

/// Makes a communicator of a list of members of `comm`, in the order of the list. All members of
/// `comm` call it together, with the same list.
///
/// - members: `count` ranks of `comm`.
/// - made: receives the communicator of this rank, which alcor_comm_free ends; NULL if the call
///   fails, and for a member that is not in the list.
///
/// Errors: ALCOR_ERR_NO_SUCH_MEMBER, also for a rank that is in the list twice; ALCOR_ERR_DIFFER if
/// the lists differ; as alcor_comm_split.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_comm_create(
    rank: alcor_rank_t,
    comm: alcor_comm_t,
    count: usize,
    members: *const u32,
    made: Option<&mut MaybeUninit<alcor_comm_t>>,
) -> alcor_result_t {
    make(rank, made, "made", |attached| {
        let comm = attached.communicators.get(comm)?;
        let members = match count {
            0 => &[],
            _ if members.is_null() => return Err(Failure::Null { what: "members" }),
            // SAFETY: there are `count` of them, as the header asks.
            _ => unsafe { slice::from_raw_parts(members, count) },
        };
        let known = |&found: &u32| {
            let size = comm.size();
            let member = comm.members().get(found as usize);
            member.copied().ok_or(Failure::Member { found, size })
        };
        let members: Vec<GlobalRank> = members.iter().map(known).collect::<Result<_>>()?;
        let made = comm.create(&mut attached.rank, &members)?;
        let made = made.map(|made| attached.communicators.insert(made));
        Ok(made.unwrap_or(ptr::null_mut()))
    })
}

/// Returns the bits of `flags` that all members have passed, and the number of dead members. The
/// result is the same at all members that return, whatever members die during the call. All living
/// members of `comm` call it together, also after alcor_comm_revoke. The call acknowledges the
/// deaths: receives from any source do not fail because of them any more.
///
/// - flags: the bits of this member; receives the common bits, if the call succeeds.
/// - failed: receives the number of dead members; may be NULL.
///
/// Errors: ALCOR_ERR_COMMUNICATOR, ALCOR_ERR_WATCHDOG.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_comm_agree(
    rank: alcor_rank_t,
    comm: alcor_comm_t,
    flags: Option<&mut u32>,
    failed: Option<&mut MaybeUninit<u32>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let comm = attached.communicators.get(comm)?.clone();
        let flags = given(flags, "flags")?;
        let agreed = comm.agree(&mut attached.rank, *flags)?;
        *flags = agreed.flags;
        if let Some(failed) = failed {
            failed.write(agreed.failed.len() as u32);
        }
        Ok(())
    })
}

/// Makes a communicator of the living members, in their order. The result is the same at all members
/// that return, whatever members die during the call. All living members of `comm` call it
/// together, also after alcor_comm_revoke.
///
/// made: receives the communicator, which alcor_comm_free ends; NULL if the call fails.
///
/// Errors: as alcor_comm_agree.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_comm_shrink(
    rank: alcor_rank_t,
    comm: alcor_comm_t,
    made: Option<&mut MaybeUninit<alcor_comm_t>>,
) -> alcor_result_t {
    make(rank, made, "made", |attached| {
        let comm = attached.communicators.get(comm)?.clone();
        let made = comm.shrink(&mut attached.rank)?;
        Ok(attached.communicators.insert(made))
    })
}

/// Ends the use of a communicator at all members: their collectives and messages of the
/// communicator fail with ALCOR_ERR_REVOKED, those under way and later ones. One member calls it.
/// alcor_comm_agree, alcor_comm_shrink and alcor_comm_free still work.
///
/// Errors: ALCOR_ERR_COMMUNICATOR if the run does not survive deaths.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_comm_revoke(rank: alcor_rank_t, comm: alcor_comm_t) -> alcor_result_t {
    with(rank, |attached| {
        let comm = attached.communicators.get(comm)?.clone();
        Ok(comm.revoke(&mut attached.rank)?)
    })
}

/// The ranks of the run that are known to be dead, in the order of their deaths.
///
/// - capacity: number of elements of `failed`.
/// - failed: receives the first `capacity` numbers; may be NULL if `capacity` is 0.
/// - count: receives the number of dead ranks.
///
/// Errors: ALCOR_ERR_BOARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_failed(
    rank: alcor_rank_t,
    capacity: usize,
    failed: *mut u32,
    count: Option<&mut MaybeUninit<u32>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let count = given(count, "count")?;
        let ranks = attached.rank.failed()?;
        if capacity > 0 && failed.is_null() {
            return Err(Failure::Null { what: "failed" });
        }
        for (place, dead) in ranks.iter().take(capacity).enumerate() {
            // SAFETY: there are `capacity` elements, as the header asks.
            unsafe { failed.add(place).write(dead.0) };
        }
        count.write(ranks.len() as u32);
        Ok(())
    })
}

/// Ends a communicator once all its collectives have ended, and sets *comm to NULL if that
/// succeeds. All members call it together.
///
/// Errors: ALCOR_ERR_COMMUNICATOR for the world; ALCOR_ERR_DIFFER, ALCOR_ERR_WATCHDOG.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_comm_free(
    rank: alcor_rank_t,
    comm: Option<&mut alcor_comm_t>,
) -> alcor_result_t {
    with(rank, |attached| {
        let comm = given(comm, "comm")?;
        let ended = attached.communicators.get(*comm)?.clone();
        ended.free(&mut attached.rank)?;
        attached.communicators.remove(*comm)?;
        *comm = ptr::null_mut();
        Ok(())
    })
}
