//! Collectives: each once for a call that waits, and once for one that only starts.

use std::mem::MaybeUninit;

use alcor::{Datatype, Region};

use crate::attached::{Attached, piece};
use crate::failure::Result;
use crate::requests::{Request, begin, complete};
use crate::types::{self, *};

/// A vector in node memory, as C names it.
#[derive(Clone, Copy)]
struct Vector {
    memory: alcor_memory_t,
    offset: usize,
}

impl Vector {
    fn new(memory: alcor_memory_t, offset: usize) -> Vector {
        Vector { memory, offset }
    }

    fn of<T: Datatype>(self, attached: &Attached, count: usize) -> Result<Region<T>> {
        let bytes = count.saturating_mul(T::BYTES as usize);
        let part = piece(attached.memory.get(self.memory)?, self.offset, bytes)?;
        Ok(part.cast()?)
    }
}

fn barrier(comm: alcor_comm_t) -> impl FnOnce(&mut Attached) -> Result<Request> {
    move |attached| {
        let comm = attached.communicators.get(comm)?;
        Ok(comm.ibarrier(&mut attached.rank)?)
    }
}

fn reduce(
    source: Vector,
    destination: Vector,
    count: usize,
    r#type: alcor_type_t,
    op: alcor_op_t,
    root: u32,
    comm: alcor_comm_t,
) -> impl FnOnce(&mut Attached) -> Result<Request> {
    move |attached| {
        let op = types::operation(op)?;
        of_type!(r#type, T => {
            let comm = attached.communicators.get(comm)?;
            let source = source.of::<T>(attached, count)?;
            if comm.rank() != root {
                return Ok(comm.ireduce(&mut attached.rank, op, root, source, &mut [])?);
            }
            let destination = destination.of::<T>(attached, count)?;
            Ok(comm.ireduce(&mut attached.rank, op, root, source, destination)?)
        })
    }
}

fn allreduce(
    source: Vector,
    destination: Vector,
    count: usize,
    r#type: alcor_type_t,
    op: alcor_op_t,
    comm: alcor_comm_t,
) -> impl FnOnce(&mut Attached) -> Result<Request> {
    move |attached| {
        let op = types::operation(op)?;
        of_type!(r#type, T => {
            let comm = attached.communicators.get(comm)?;
            let source = source.of::<T>(attached, count)?;
            let destination = destination.of::<T>(attached, count)?;
            Ok(comm.iallreduce(&mut attached.rank, op, source, destination)?)
        })
    }
}

fn reduce_scatter(
    source: Vector,
    destination: Vector,
    count: usize,
    r#type: alcor_type_t,
    op: alcor_op_t,
    comm: alcor_comm_t,
) -> impl FnOnce(&mut Attached) -> Result<Request> {
    move |attached| {
        let op = types::operation(op)?;
        of_type!(r#type, T => {
            let comm = attached.communicators.get(comm)?;
            let all = count.saturating_mul(comm.size() as usize);
            let source = source.of::<T>(attached, all)?;
            let destination = destination.of::<T>(attached, count)?;
            Ok(comm.ireduce_scatter(&mut attached.rank, op, source, destination)?)
        })
    }
}

fn bcast(
    vector: Vector,
    count: usize,
    r#type: alcor_type_t,
    root: u32,
    comm: alcor_comm_t,
) -> impl FnOnce(&mut Attached) -> Result<Request> {
    move |attached| {
        of_type!(r#type, T => {
            let comm = attached.communicators.get(comm)?;
            let vector = vector.of::<T>(attached, count)?;
            Ok(comm.ibcast(&mut attached.rank, root, vector)?)
        })
    }
}

fn scatter(
    source: Vector,
    destination: Vector,
    count: usize,
    r#type: alcor_type_t,
    root: u32,
    comm: alcor_comm_t,
) -> impl FnOnce(&mut Attached) -> Result<Request> {
    move |attached| {
        of_type!(r#type, T => {
            let comm = attached.communicators.get(comm)?;
            let all = count.saturating_mul(comm.size() as usize);
            let destination = destination.of::<T>(attached, count)?;
            if comm.rank() != root {
                return Ok(comm.iscatter(&mut attached.rank, root, &[], destination)?);
            }
            let source = source.of::<T>(attached, all)?;
            Ok(comm.iscatter(&mut attached.rank, root, source, destination)?)
        })
    }
}

fn gather(
    source: Vector,
    destination: Vector,
    count: usize,
    r#type: alcor_type_t,
    root: u32,
    comm: alcor_comm_t,
) -> impl FnOnce(&mut Attached) -> Result<Request> {
    move |attached| {
        of_type!(r#type, T => {
            let comm = attached.communicators.get(comm)?;
            let all = count.saturating_mul(comm.size() as usize);
            let source = source.of::<T>(attached, count)?;
            if comm.rank() != root {
                return Ok(comm.igather(&mut attached.rank, root, source, &mut [])?);
            }
            let destination = destination.of::<T>(attached, all)?;
            Ok(comm.igather(&mut attached.rank, root, source, destination)?)
        })
    }
}

fn allgather(
    source: Vector,
    destination: Vector,
    count: usize,
    r#type: alcor_type_t,
    comm: alcor_comm_t,
) -> impl FnOnce(&mut Attached) -> Result<Request> {
    move |attached| {
        of_type!(r#type, T => {
            let comm = attached.communicators.get(comm)?;
            let all = count.saturating_mul(comm.size() as usize);
            let source = source.of::<T>(attached, count)?;
            let destination = destination.of::<T>(attached, all)?;
            Ok(comm.iallgather(&mut attached.rank, source, destination)?)
        })
    }
}

fn alltoall(
    source: Vector,
    destination: Vector,
    count: usize,
    r#type: alcor_type_t,
    comm: alcor_comm_t,
) -> impl FnOnce(&mut Attached) -> Result<Request> {
    move |attached| {
        of_type!(r#type, T => {
            let comm = attached.communicators.get(comm)?;
            let all = count.saturating_mul(comm.size() as usize);
            let source = source.of::<T>(attached, all)?;
            let destination = destination.of::<T>(attached, all)?;
            Ok(comm.ialltoall(&mut attached.rank, source, destination)?)
        })
    }
}

/// Waits until all members of a communicator have called this. Unlike alcor_barrier, it does not
/// wait for puts and gets.
///
/// Errors of all collectives:
/// - ALCOR_ERR_DIFFER if the members' calls differ
/// - ALCOR_ERR_ARGUMENT for an invalid type, op or alignment
/// - ALCOR_ERR_MEMORY_BOUNDS if a vector exceeds its memory
/// - ALCOR_ERR_NO_SUCH_MEMBER for the root
/// - ALCOR_ERR_OPERATION for bitwise operations of floating-point numbers
/// - ALCOR_ERR_OVERLAP if source and destination overlap without being the same place
/// - ALCOR_ERR_NOT_IN_HARDWARE with ALCOR_STRICT
/// - ALCOR_ERR_WATCHDOG, with the members that have not called
#[unsafe(no_mangle)]
pub extern "C" fn alcor_comm_barrier(rank: alcor_rank_t, comm: alcor_comm_t) -> alcor_result_t {
    complete(rank, barrier(comm))
}

/// Starts an alcor_comm_barrier, whose memory is in use until the request is complete. Several may
/// be under way. Collectives of one communicator run in the order of their calls.
///
/// request: receives the request; NULL if the call fails.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_comm_ibarrier(
    rank: alcor_rank_t,
    comm: alcor_comm_t,
    request: Option<&mut MaybeUninit<alcor_request_t>>,
) -> alcor_result_t {
    begin(rank, request, barrier(comm))
}

/// Combines the members' vectors of `count` elements into `destination` at member `root`; other
/// members' `destination` is ignored. The elements begin at byte `source_offset` and
/// `destination_offset` of their memory, at a multiple of their size. Source and destination may be
/// the same place. Results have the same bits in every run.
///
/// Errors: those of all collectives; see alcor_comm_barrier.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_reduce(
    rank: alcor_rank_t,
    source: alcor_memory_t,
    source_offset: usize,
    destination: alcor_memory_t,
    destination_offset: usize,
    count: usize,
    r#type: alcor_type_t,
    op: alcor_op_t,
    root: u32,
    comm: alcor_comm_t,
) -> alcor_result_t {
    complete(
        rank,
        reduce(
            Vector::new(source, source_offset),
            Vector::new(destination, destination_offset),
            count,
            r#type,
            op,
            root,
            comm,
        ),
    )
}

/// Starts an alcor_reduce, whose memory is in use until the request is complete. Several may be
/// under way. Collectives of one communicator run in the order of their calls.
///
/// request: receives the request; NULL if the call fails.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_ireduce(
    rank: alcor_rank_t,
    source: alcor_memory_t,
    source_offset: usize,
    destination: alcor_memory_t,
    destination_offset: usize,
    count: usize,
    r#type: alcor_type_t,
    op: alcor_op_t,
    root: u32,
    comm: alcor_comm_t,
    request: Option<&mut MaybeUninit<alcor_request_t>>,
) -> alcor_result_t {
    begin(
        rank,
        request,
        reduce(
            Vector::new(source, source_offset),
            Vector::new(destination, destination_offset),
            count,
            r#type,
            op,
            root,
            comm,
        ),
    )
}

/// Combines the members' vectors of `count` elements into `destination` at every member. The rest
/// is as in alcor_reduce.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_allreduce(
    rank: alcor_rank_t,
    source: alcor_memory_t,
    source_offset: usize,
    destination: alcor_memory_t,
    destination_offset: usize,
    count: usize,
    r#type: alcor_type_t,
    op: alcor_op_t,
    comm: alcor_comm_t,
) -> alcor_result_t {
    complete(
        rank,
        allreduce(
            Vector::new(source, source_offset),
            Vector::new(destination, destination_offset),
            count,
            r#type,
            op,
            comm,
        ),
    )
}

/// Starts an alcor_allreduce, whose memory is in use until the request is complete. Several may be
/// under way. Collectives of one communicator run in the order of their calls.
///
/// request: receives the request; NULL if the call fails.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_iallreduce(
    rank: alcor_rank_t,
    source: alcor_memory_t,
    source_offset: usize,
    destination: alcor_memory_t,
    destination_offset: usize,
    count: usize,
    r#type: alcor_type_t,
    op: alcor_op_t,
    comm: alcor_comm_t,
    request: Option<&mut MaybeUninit<alcor_request_t>>,
) -> alcor_result_t {
    begin(
        rank,
        request,
        allreduce(
            Vector::new(source, source_offset),
            Vector::new(destination, destination_offset),
            count,
            r#type,
            op,
            comm,
        ),
    )
}

/// Combines the members' vectors, of as many blocks of `count` elements as there are members; each
/// member gets its own block of the result. The rest is as in alcor_reduce.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_reduce_scatter(
    rank: alcor_rank_t,
    source: alcor_memory_t,
    source_offset: usize,
    destination: alcor_memory_t,
    destination_offset: usize,
    count: usize,
    r#type: alcor_type_t,
    op: alcor_op_t,
    comm: alcor_comm_t,
) -> alcor_result_t {
    complete(
        rank,
        reduce_scatter(
            Vector::new(source, source_offset),
            Vector::new(destination, destination_offset),
            count,
            r#type,
            op,
            comm,
        ),
    )
}

/// Starts an alcor_reduce_scatter, whose memory is in use until the request is complete. Several
/// may be under way. Collectives of one communicator run in the order of their calls.
///
/// request: receives the request; NULL if the call fails.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_ireduce_scatter(
    rank: alcor_rank_t,
    source: alcor_memory_t,
    source_offset: usize,
    destination: alcor_memory_t,
    destination_offset: usize,
    count: usize,
    r#type: alcor_type_t,
    op: alcor_op_t,
    comm: alcor_comm_t,
    request: Option<&mut MaybeUninit<alcor_request_t>>,
) -> alcor_result_t {
    begin(
        rank,
        request,
        reduce_scatter(
            Vector::new(source, source_offset),
            Vector::new(destination, destination_offset),
            count,
            r#type,
            op,
            comm,
        ),
    )
}

/// Copies `count` elements of member `root`, from byte `offset` of the memory on, to the same place
/// at every other member. The rest is as in alcor_reduce.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_bcast(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    count: usize,
    r#type: alcor_type_t,
    root: u32,
    comm: alcor_comm_t,
) -> alcor_result_t {
    complete(
        rank,
        bcast(Vector::new(memory, offset), count, r#type, root, comm),
    )
}

/// Starts an alcor_bcast, whose memory is in use until the request is complete. Several may be
/// under way. Collectives of one communicator run in the order of their calls.
///
/// request: receives the request; NULL if the call fails.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_ibcast(
    rank: alcor_rank_t,
    memory: alcor_memory_t,
    offset: usize,
    count: usize,
    r#type: alcor_type_t,
    root: u32,
    comm: alcor_comm_t,
    request: Option<&mut MaybeUninit<alcor_request_t>>,
) -> alcor_result_t {
    begin(
        rank,
        request,
        bcast(Vector::new(memory, offset), count, r#type, root, comm),
    )
}

/// Gives each member its block of `count` elements of member `root`'s `source`, which has as many
/// blocks as there are members; other members' `source` is ignored. The rest is as in alcor_reduce.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_scatter(
    rank: alcor_rank_t,
    source: alcor_memory_t,
    source_offset: usize,
    destination: alcor_memory_t,
    destination_offset: usize,
    count: usize,
    r#type: alcor_type_t,
    root: u32,
    comm: alcor_comm_t,
) -> alcor_result_t {
    complete(
        rank,
        scatter(
            Vector::new(source, source_offset),
            Vector::new(destination, destination_offset),
            count,
            r#type,
            root,
            comm,
        ),
    )
}

/// Starts an alcor_scatter, whose memory is in use until the request is complete. Several may be
/// under way. Collectives of one communicator run in the order of their calls.
///
/// request: receives the request; NULL if the call fails.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_iscatter(
    rank: alcor_rank_t,
    source: alcor_memory_t,
    source_offset: usize,
    destination: alcor_memory_t,
    destination_offset: usize,
    count: usize,
    r#type: alcor_type_t,
    root: u32,
    comm: alcor_comm_t,
    request: Option<&mut MaybeUninit<alcor_request_t>>,
) -> alcor_result_t {
    begin(
        rank,
        request,
        scatter(
            Vector::new(source, source_offset),
            Vector::new(destination, destination_offset),
            count,
            r#type,
            root,
            comm,
        ),
    )
}

/// Collects the members' blocks of `count` elements, in the order of the communicator, in
/// `destination` at member `root`; other members' `destination` is ignored. The rest is as in
/// alcor_reduce.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_gather(
    rank: alcor_rank_t,
    source: alcor_memory_t,
    source_offset: usize,
    destination: alcor_memory_t,
    destination_offset: usize,
    count: usize,
    r#type: alcor_type_t,
    root: u32,
    comm: alcor_comm_t,
) -> alcor_result_t {
    complete(
        rank,
        gather(
            Vector::new(source, source_offset),
            Vector::new(destination, destination_offset),
            count,
            r#type,
            root,
            comm,
        ),
    )
}

/// Starts an alcor_gather, whose memory is in use until the request is complete. Several may be
/// under way. Collectives of one communicator run in the order of their calls.
///
/// request: receives the request; NULL if the call fails.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_igather(
    rank: alcor_rank_t,
    source: alcor_memory_t,
    source_offset: usize,
    destination: alcor_memory_t,
    destination_offset: usize,
    count: usize,
    r#type: alcor_type_t,
    root: u32,
    comm: alcor_comm_t,
    request: Option<&mut MaybeUninit<alcor_request_t>>,
) -> alcor_result_t {
    begin(
        rank,
        request,
        gather(
            Vector::new(source, source_offset),
            Vector::new(destination, destination_offset),
            count,
            r#type,
            root,
            comm,
        ),
    )
}

/// Collects the members' blocks of `count` elements, in the order of the communicator, in
/// `destination` at every member. The rest is as in alcor_reduce.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_allgather(
    rank: alcor_rank_t,
    source: alcor_memory_t,
    source_offset: usize,
    destination: alcor_memory_t,
    destination_offset: usize,
    count: usize,
    r#type: alcor_type_t,
    comm: alcor_comm_t,
) -> alcor_result_t {
    complete(
        rank,
        allgather(
            Vector::new(source, source_offset),
            Vector::new(destination, destination_offset),
            count,
            r#type,
            comm,
        ),
    )
}

/// Starts an alcor_allgather, whose memory is in use until the request is complete. Several may be
/// under way. Collectives of one communicator run in the order of their calls.
///
/// request: receives the request; NULL if the call fails.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_iallgather(
    rank: alcor_rank_t,
    source: alcor_memory_t,
    source_offset: usize,
    destination: alcor_memory_t,
    destination_offset: usize,
    count: usize,
    r#type: alcor_type_t,
    comm: alcor_comm_t,
    request: Option<&mut MaybeUninit<alcor_request_t>>,
) -> alcor_result_t {
    begin(
        rank,
        request,
        allgather(
            Vector::new(source, source_offset),
            Vector::new(destination, destination_offset),
            count,
            r#type,
            comm,
        ),
    )
}

/// Sends block i of `source` to member i, and copies the block from member i to block i of
/// `destination`. Both have a block of `count` elements for each member. The library runs this
/// collective. The rest is as in alcor_reduce.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_alltoall(
    rank: alcor_rank_t,
    source: alcor_memory_t,
    source_offset: usize,
    destination: alcor_memory_t,
    destination_offset: usize,
    count: usize,
    r#type: alcor_type_t,
    comm: alcor_comm_t,
) -> alcor_result_t {
    complete(
        rank,
        alltoall(
            Vector::new(source, source_offset),
            Vector::new(destination, destination_offset),
            count,
            r#type,
            comm,
        ),
    )
}

/// Starts an alcor_alltoall, whose memory is in use until the request is complete. Several may be
/// under way. Collectives of one communicator run in the order of their calls.
///
/// request: receives the request; NULL if the call fails.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_ialltoall(
    rank: alcor_rank_t,
    source: alcor_memory_t,
    source_offset: usize,
    destination: alcor_memory_t,
    destination_offset: usize,
    count: usize,
    r#type: alcor_type_t,
    comm: alcor_comm_t,
    request: Option<&mut MaybeUninit<alcor_request_t>>,
) -> alcor_result_t {
    begin(
        rank,
        request,
        alltoall(
            Vector::new(source, source_offset),
            Vector::new(destination, destination_offset),
            count,
            r#type,
            comm,
        ),
    )
}
