//! The collectives of a communicator.

use std::sync::Arc;

use alcor_abi::rank::c_what;
use alcor_abi::{Algorithm, Collective as CollectiveCode, Datatype as Code};

use crate::allocator::Block;
use crate::buffer::{Copied, CopyBack, Place};
use crate::call::{Call, Collective, Path, Receipt, SoftwareReason};
use crate::hardware::Operands;
use crate::operation::{Combine, combine_bytes};
use crate::request::{CollectiveDescriptor, Descriptor, Held, Request};
use crate::schedule::Schedule;
use crate::software::{Destination, Task};
use crate::transfer::fits;
use crate::{
    Buffer, BufferMut, Communicator, Datatype, Error, NodeAddr, Operation, Rank, Reducible, Region,
    Result,
};

/// A part of node memory that a collective reads or writes.
struct Piece {
    at: NodeAddr,
    bytes: usize,
    held: Arc<Block>,
}

impl<T: Datatype> From<&Region<T>> for Piece {
    fn from(region: &Region<T>) -> Piece {
        Piece {
            at: region.addr(),
            bytes: region.byte_len() as usize,
            held: region.hold(),
        }
    }
}

/// Returns the place of a reduction's result in host memory: the place of the source vector, if
/// that is a copy too.
fn copied<'r, T: Datatype>(source: &'r Place<'_, T>) -> Copied<'r, T> {
    if source.is_copy() {
        Copied::At(source)
    } else {
        Copied::Fresh
    }
}

/// Returns the place of a result. The contents of a copy of host memory are staged: a collective in
/// hardware moves them to node memory.
fn staged<'a, T: Datatype>(
    rank: &mut Rank,
    buffer: impl BufferMut<Item = T> + 'a,
    copy: Copied<'_, T>,
) -> Result<(Place<'a, T>, CopyBack<'a>)> {
    let (place, copy_back) = buffer.destination(rank, copy)?;
    if place.is_copy() && !place.block().is_staged() {
        place.block().stage(Vec::new());
    }
    Ok((place, copy_back))
}

/// A part of the message, in elements: begin and end. Its first element is at the beginning of the
/// region.
type Span = (usize, usize);

/// A checked collective call with its buffers in node memory.
pub(crate) struct Plan {
    call: Call,
    algorithm: Algorithm,
    /// The root's rank in the communicator.
    root: Option<usize>,
    element_bytes: usize,
    /// Elements of the whole message.
    elements: usize,
    gives: Option<(Piece, Span)>,
    keeps: Option<(Piece, Span)>,
    combine: Option<(Operation, Combine)>,
}

/// The largest position in a message that a phit can carry, in words.
const MAX_WORDS: u32 = (1 << 28) - 1;

/// Minimum length of a reduce_scatter or scatter by halving, in words, where the tree permits
/// halving.
const HALVING_WORDS: u64 = 256;

/// # Collectives
///
/// Vectors are slices or regions of node memory ([`Buffer`], [`BufferMut`]). All members pass the
/// same number of elements. The results of reductions are those of [`Communicator::tree`], bit for
/// bit. Source and destination may be the same elements of one region (by a clone of its handle).
/// Otherwise they must not overlap.
///
/// Members that are not the root ignore a buffer that only the root uses, and may pass an empty
/// buffer: `&[]`, `&mut []`.
///
/// A call whose name begins with `i` starts the collective and returns a request. The request
/// borrows the buffers until the collective is complete. Several collectives may be under way, on
/// one communicator or on several. The collectives of one communicator run in the order of their
/// calls.
///
/// Errors of all collectives:
/// - [`Error::CollectivesDiffer`] at every member, if the members' calls differ. The error contains
///   the calls of the members that take the results of their calls at about the same time; a call
///   that takes the result waits up to 65,536 cycles for the others. In software no destination has
///   been written then. In hardware the contents of destinations are undefined.
/// - [`Error::WrongLength`], [`Error::NoSuchMember`] (the root), [`Error::NoSuchOperation`],
///   [`Error::Overlap`], [`Error::BadCommunicator`] and, in strict mode, [`Error::NotInHardware`],
///   before any command is posted.
/// - [`Error::OutOfNodeMemory`], if a copy of host memory has no room.
/// - [`Error::Watchdog`], which names the members that have not called the collective;
///   [`Error::Aborted`]; errors of the backend.
impl Communicator {
    /// Waits until all members have called the barrier. Unlike [`Rank::barrier`], this barrier does
    /// not wait for puts and gets.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// world.barrier(rank)?;
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn barrier(&self, rank: &mut Rank) -> Result<Receipt> {
        let request = self.ibarrier(rank)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::barrier`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let mut barrier = world.ibarrier(rank)?;
    /// while !rank.test(&mut barrier)? {
    ///     // Useful work.
    /// }
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ibarrier(&self, rank: &mut Rank) -> Result<Request<'static>> {
        let plan = self.plan_barrier(rank)?;
        self.start(rank, plan)
    }

    /// Combines the members' vectors `source` into `destination` at member `root`.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Operation, soft::SoftBoard};
    /// # let largest =
    /// Job::new(SoftBoard::new(3))?.run(3, |rank| {
    ///     let world = rank.world()?;
    ///     let mut largest = [0; 2];
    ///     world.reduce(rank, Operation::Max, 1, &[rank.pid().0 as i32, -1], &mut largest)?;
    ///     Ok(largest)
    /// })?;
    /// # assert_eq!(largest, [[0, 0], [2, -1], [0, 0]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reduce<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        root: u32,
        source: impl Buffer<Item = T>,
        destination: impl BufferMut<Item = T>,
    ) -> Result<Receipt> {
        let request = self.ireduce(rank, operation, root, source, destination)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::reduce`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Operation, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(3))?.run(3, |rank| {
    /// let world = rank.world()?;
    /// let mut sum = [0u64];
    /// let request = world.ireduce(rank, Operation::Sum, 0, &[5u64], &mut sum)?;
    /// rank.wait(request)?;
    /// assert_eq!(sum[0], if world.rank() == 0 { 15 } else { 0 });
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ireduce<'a, T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        root: u32,
        source: impl Buffer<Item = T> + 'a,
        destination: impl BufferMut<Item = T> + 'a,
    ) -> Result<Request<'a>> {
        let source = source.staged(rank)?;
        if self.rank() != root {
            let plan = self.plan_reduce(rank, operation, root, &source, None)?;
            return self.start(rank, plan);
        }
        let (destination, copy_back) = staged(rank, destination, copied(&source))?;
        let plan = self.plan_reduce(rank, operation, root, &source, Some(&destination))?;
        Ok(self.start(rank, plan)?.with_copy_back(copy_back))
    }

    /// Combines the members' vectors `source` into `destination` at every member.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Operation, soft::SoftBoard};
    /// # let products =
    /// Job::new(SoftBoard::new(4))?.run(4, |rank| {
    ///     let world = rank.world()?;
    ///     let mut products = [0; 2];
    ///     let mine = [2, u64::from(rank.pid().0)];
    ///     world.allreduce(rank, Operation::Prod, &mine, &mut products)?;
    ///     Ok(products)
    /// })?;
    /// # assert_eq!(products[3], [16, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn allreduce<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        source: impl Buffer<Item = T>,
        destination: impl BufferMut<Item = T>,
    ) -> Result<Receipt> {
        let request = self.iallreduce(rank, operation, source, destination)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::allreduce`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Operation, soft::SoftBoard};
    /// # let sums =
    /// Job::new(SoftBoard::new(3))?.run(3, |rank| {
    ///     let world = rank.world()?;
    ///     let source = rank.alloc_from(&[1.0, f64::from(rank.pid().0)])?;
    ///     let mut destination = rank.alloc_from(&[0.0; 2])?;
    ///     let request = world.iallreduce(rank, Operation::Sum, &source, &mut destination)?;
    ///     rank.wait(request)?;
    ///     rank.read_vec(&destination)
    /// })?;
    /// # assert_eq!(sums, [[3.0, 3.0], [3.0, 3.0], [3.0, 3.0]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iallreduce<'a, T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        source: impl Buffer<Item = T> + 'a,
        destination: impl BufferMut<Item = T> + 'a,
    ) -> Result<Request<'a>> {
        let source = source.staged(rank)?;
        let (destination, copy_back) = staged(rank, destination, copied(&source))?;
        let plan = self.plan_allreduce(rank, operation, &source, &destination)?;
        Ok(self.start(rank, plan)?.with_copy_back(copy_back))
    }

    /// Combines the members' vectors. The result replaces each vector.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Operation, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(4))?.run(4, |rank| {
    /// let world = rank.world()?;
    /// let mut values = [rank.pid().0, 1];
    /// world.allreduce_in_place(rank, Operation::Sum, &mut values)?;
    /// assert_eq!(values, [6, 4]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn allreduce_in_place<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        vector: impl BufferMut<Item = T>,
    ) -> Result<Receipt> {
        let request = self.iallreduce_in_place(rank, operation, vector)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::allreduce_in_place`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Operation, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let mut vector = rank.alloc_from(&[rank.pid().0; 100])?;
    /// let request = world.iallreduce_in_place(rank, Operation::Max, &mut vector)?;
    /// rank.wait(request)?;
    /// assert_eq!(rank.read_vec(&vector)?, [1; 100]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iallreduce_in_place<'a, T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        vector: impl BufferMut<Item = T> + 'a,
    ) -> Result<Request<'a>> {
        let (vector, copy_back) = staged(rank, vector, Copied::Staged)?;
        let plan = self.plan_allreduce(rank, operation, &vector, &vector)?;
        Ok(self.start(rank, plan)?.with_copy_back(copy_back))
    }

    /// Combines the members' vectors `source`, which have one block per member. Each member gets
    /// its own block of the result in `destination`.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Operation, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let mut block = [0; 2];
    /// world.reduce_scatter(rank, Operation::Sum, &[1, 2, 3, 4], &mut block)?;
    /// assert_eq!(block, if world.rank() == 0 { [2, 4] } else { [6, 8] });
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reduce_scatter<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        source: impl Buffer<Item = T>,
        destination: impl BufferMut<Item = T>,
    ) -> Result<Receipt> {
        let request = self.ireduce_scatter(rank, operation, source, destination)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::reduce_scatter`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Operation, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let mut block = [0];
    /// let request = world.ireduce_scatter(rank, Operation::Prod, &[2, 3], &mut block)?;
    /// rank.wait(request)?;
    /// assert_eq!(block, if world.rank() == 0 { [4] } else { [9] });
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ireduce_scatter<'a, T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        source: impl Buffer<Item = T> + 'a,
        destination: impl BufferMut<Item = T> + 'a,
    ) -> Result<Request<'a>> {
        let source = source.staged(rank)?;
        let (destination, copy_back) = staged(rank, destination, Copied::Fresh)?;
        let plan = self.plan_reduce_scatter(rank, operation, &source, &destination)?;
        Ok(self.start(rank, plan)?.with_copy_back(copy_back))
    }

    /// Copies `vector` of member `root` to `vector` at every member.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # let copies =
    /// Job::new(SoftBoard::new(3))?.run(3, |rank| {
    ///     let world = rank.world()?;
    ///     let mut values = [rank.pid().0; 2];
    ///     world.bcast(rank, 2, &mut values)?;
    ///     Ok(values)
    /// })?;
    /// # assert_eq!(copies, [[2, 2], [2, 2], [2, 2]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bcast<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        vector: impl BufferMut<Item = T>,
    ) -> Result<Receipt> {
        let request = self.ibcast(rank, root, vector)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::bcast`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(3))?.run(3, |rank| {
    /// let world = rank.world()?;
    /// let mut vector = rank.alloc_from(&[rank.pid().0; 2])?;
    /// let request = world.ibcast(rank, 1, &mut vector)?;
    /// rank.wait(request)?;
    /// assert_eq!(rank.read_vec(&vector)?, [1, 1]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ibcast<'a, T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        vector: impl BufferMut<Item = T> + 'a,
    ) -> Result<Request<'a>> {
        let is_root = self.rank() == root;
        let copy = if is_root {
            Copied::Staged
        } else {
            Copied::Fresh
        };
        let (vector, copy_back) = staged(rank, vector, copy)?;
        let plan = self.plan_bcast(rank, root, &vector)?;
        let request = self.start(rank, plan)?;
        if is_root {
            return Ok(request);
        }
        Ok(request.with_copy_back(copy_back))
    }

    /// Copies one block of `source` at member `root` to `destination` at each member.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let mut block = [0; 2];
    /// if world.rank() == 0 {
    ///     world.scatter(rank, 0, &[1, 2, 3, 4], &mut block)?;
    ///     assert_eq!(block, [1, 2]);
    /// } else {
    ///     world.scatter(rank, 0, &[], &mut block)?;
    ///     assert_eq!(block, [3, 4]);
    /// }
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scatter<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        source: impl Buffer<Item = T>,
        destination: impl BufferMut<Item = T>,
    ) -> Result<Receipt> {
        let request = self.iscatter(rank, root, source, destination)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::scatter`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let mut mine = [0.0];
    /// let request = world.iscatter(rank, 1, &[0.5, 1.5], &mut mine)?;
    /// rank.wait(request)?;
    /// assert_eq!(mine, [0.5 + f64::from(world.rank())]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iscatter<'a, T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        source: impl Buffer<Item = T> + 'a,
        destination: impl BufferMut<Item = T> + 'a,
    ) -> Result<Request<'a>> {
        let is_root = self.rank() == root;
        let source = if is_root {
            Some(source.staged(rank)?)
        } else {
            None
        };
        let (destination, copy_back) = staged(rank, destination, Copied::Fresh)?;
        let plan = self.plan_scatter(rank, root, source.as_deref(), &destination)?;
        Ok(self.start(rank, plan)?.with_copy_back(copy_back))
    }

    /// Copies the blocks `source` of all members, in the order of the communicator, to
    /// `destination` at member `root`.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(3))?.run(3, |rank| {
    /// let world = rank.world()?;
    /// let mut all = [0; 3];
    /// world.gather(rank, 2, &[world.rank()], &mut all)?;
    /// assert_eq!(all, if world.rank() == 2 { [0, 1, 2] } else { [0; 3] });
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn gather<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        source: impl Buffer<Item = T>,
        destination: impl BufferMut<Item = T>,
    ) -> Result<Receipt> {
        let request = self.igather(rank, root, source, destination)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::gather`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(3))?.run(3, |rank| {
    /// let world = rank.world()?;
    /// let mut all = vec![0; if world.rank() == 0 { 3 } else { 0 }];
    /// let mine = [world.rank()];
    /// let request = world.igather(rank, 0, &mine, &mut all)?;
    /// rank.wait(request)?;
    /// assert!(world.rank() != 0 || all == [0, 1, 2]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn igather<'a, T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        source: impl Buffer<Item = T> + 'a,
        destination: impl BufferMut<Item = T> + 'a,
    ) -> Result<Request<'a>> {
        let source = source.staged(rank)?;
        if self.rank() != root {
            let plan = self.plan_gather(rank, root, &source, None)?;
            return self.start(rank, plan);
        }
        let (destination, copy_back) = staged(rank, destination, Copied::Fresh)?;
        let plan = self.plan_gather(rank, root, &source, Some(&destination))?;
        Ok(self.start(rank, plan)?.with_copy_back(copy_back))
    }

    /// Copies the blocks `source` of all members, in the order of the communicator, to
    /// `destination` at every member.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(3))?.run(3, |rank| {
    /// let world = rank.world()?;
    /// let mut all = [0; 3];
    /// world.allgather(rank, &[world.rank()], &mut all)?;
    /// assert_eq!(all, [0, 1, 2]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn allgather<T: Datatype>(
        &self,
        rank: &mut Rank,
        source: impl Buffer<Item = T>,
        destination: impl BufferMut<Item = T>,
    ) -> Result<Receipt> {
        let request = self.iallgather(rank, source, destination)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::allgather`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let mut all = [0; 4];
    /// let mine = [world.rank(), 7];
    /// let request = world.iallgather(rank, &mine, &mut all)?;
    /// rank.wait(request)?;
    /// assert_eq!(all, [0, 7, 1, 7]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iallgather<'a, T: Datatype>(
        &self,
        rank: &mut Rank,
        source: impl Buffer<Item = T> + 'a,
        destination: impl BufferMut<Item = T> + 'a,
    ) -> Result<Request<'a>> {
        let source = source.staged(rank)?;
        let (destination, copy_back) = staged(rank, destination, Copied::Fresh)?;
        let plan = self.plan_allgather(rank, &source, &destination)?;
        Ok(self.start(rank, plan)?.with_copy_back(copy_back))
    }

    /// Sends block i of `source` to member i, and copies the block from member i to block i of
    /// `destination`. Both have a block for each member. The library runs this collective, over
    /// puts.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(3))?.run(3, |rank| {
    /// let world = rank.world()?;
    /// let me = world.rank();
    /// let mut from_each = [0; 3];
    /// world.alltoall(rank, &[10 * me, 10 * me + 1, 10 * me + 2], &mut from_each)?;
    /// assert_eq!(from_each, [me, 10 + me, 20 + me]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn alltoall<T: Datatype>(
        &self,
        rank: &mut Rank,
        source: impl Buffer<Item = T>,
        destination: impl BufferMut<Item = T>,
    ) -> Result<Receipt> {
        let request = self.ialltoall(rank, source, destination)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::alltoall`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let mut from_each = [0; 4];
    /// let blocks = [world.rank(), 7, world.rank(), 8];
    /// let request = world.ialltoall(rank, &blocks, &mut from_each)?;
    /// rank.wait(request)?;
    /// assert_eq!(from_each, [0, 7 + world.rank(), 1, 7 + world.rank()]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ialltoall<'a, T: Datatype>(
        &self,
        rank: &mut Rank,
        source: impl Buffer<Item = T> + 'a,
        destination: impl BufferMut<Item = T> + 'a,
    ) -> Result<Request<'a>> {
        let source = source.staged(rank)?;
        let (destination, copy_back) = staged(rank, destination, Copied::Fresh)?;
        let plan = self.plan_alltoall(rank, &source, &destination)?;
        Ok(self.start(rank, plan)?.with_copy_back(copy_back))
    }

    // ------------------------------------------------------------ plans over regions

    pub(crate) fn plan_barrier(&self, rank: &mut Rank) -> Result<Plan> {
        self.plan::<u32>(rank, Collective::Barrier, 0, None, None)
    }

    pub(crate) fn plan_reduce<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        root: u32,
        source: &Region<T>,
        destination: Option<&Region<T>>,
    ) -> Result<Plan> {
        let count = source.len();
        let mut plan =
            self.plan::<T>(rank, Collective::Reduce, count, Some(operation), Some(root))?;
        plan.reduces::<T>(rank, operation)?;
        plan.gives(source, (0, count));
        plan.root_keeps(self, rank, destination, (0, count))?;
        Ok(plan)
    }

    pub(crate) fn plan_allreduce<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        source: &Region<T>,
        destination: &Region<T>,
    ) -> Result<Plan> {
        let count = source.len();
        let mut plan = self.plan::<T>(rank, Collective::Allreduce, count, Some(operation), None)?;
        plan.reduces::<T>(rank, operation)?;
        plan.gives(source, (0, count));
        plan.keeps(rank, destination, (0, count))?;
        Ok(plan)
    }

    pub(crate) fn plan_reduce_scatter<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        source: &Region<T>,
        destination: &Region<T>,
    ) -> Result<Plan> {
        let (block, collective) = (destination.len(), Collective::ReduceScatter);
        let mut plan = self.plan::<T>(rank, collective, block, Some(operation), None)?;
        plan.reduces::<T>(rank, operation)?;
        plan.whole(self, rank, "source", source)?;
        plan.gives(source, (0, plan.elements));
        plan.keeps(rank, destination, self.block(block))?;
        Ok(plan)
    }

    pub(crate) fn plan_bcast<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        vector: &Region<T>,
    ) -> Result<Plan> {
        let count = vector.len();
        let mut plan = self.plan::<T>(rank, Collective::Bcast, count, None, Some(root))?;
        if self.rank() == root {
            plan.gives(vector, (0, count));
        } else {
            plan.keeps(rank, vector, (0, count))?;
        }
        Ok(plan)
    }

    pub(crate) fn plan_scatter<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        source: Option<&Region<T>>,
        destination: &Region<T>,
    ) -> Result<Plan> {
        let block = destination.len();
        let mut plan = self.plan::<T>(rank, Collective::Scatter, block, None, Some(root))?;
        if self.rank() == root {
            let expected = plan.elements;
            let source = source.ok_or_else(|| plan.wrong(rank, "source", 0, expected))?;
            plan.whole(self, rank, "source", source)?;
            plan.gives(source, (0, plan.elements));
        }
        plan.keeps(rank, destination, self.block(block))?;
        Ok(plan)
    }

    pub(crate) fn plan_gather<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        source: &Region<T>,
        destination: Option<&Region<T>>,
    ) -> Result<Plan> {
        let block = source.len();
        let mut plan = self.plan::<T>(rank, Collective::Gather, block, None, Some(root))?;
        plan.gives(source, self.block(block));
        plan.root_keeps(self, rank, destination, (0, plan.elements))?;
        Ok(plan)
    }

    pub(crate) fn plan_allgather<T: Datatype>(
        &self,
        rank: &mut Rank,
        source: &Region<T>,
        destination: &Region<T>,
    ) -> Result<Plan> {
        let block = source.len();
        let mut plan = self.plan::<T>(rank, Collective::Allgather, block, None, None)?;
        plan.gives(source, self.block(block));
        plan.keeps(rank, destination, (0, plan.elements))?;
        Ok(plan)
    }

    fn plan_alltoall<T: Datatype>(
        &self,
        rank: &mut Rank,
        source: &Region<T>,
        destination: &Region<T>,
    ) -> Result<Plan> {
        // A length that is no multiple of the number of members is an error of `whole`.
        let block = source.len().div_ceil(self.members().len().max(1));
        let mut plan = self.plan::<T>(rank, Collective::Alltoall, block, None, None)?;
        plan.whole(self, rank, "source", source)?;
        plan.gives(source, (0, plan.elements));
        plan.keeps(rank, destination, (0, plan.elements))?;
        Ok(plan)
    }

    /// Waits for a collective and returns its receipt.
    fn complete(&self, rank: &mut Rank, request: Request<'_>) -> Result<Receipt> {
        let receipt = request.receipt();
        rank.wait(request)?;
        // The request belongs to a collective.
        receipt.ok_or_else(|| self.bad(rank.pid(), "the request belongs to another call"))
    }

    /// The elements of this member's block.
    fn block(&self, block: usize) -> Span {
        (self.shape.me * block, (self.shape.me + 1) * block)
    }

    fn plan<T: Datatype>(
        &self,
        rank: &mut Rank,
        collective: Collective,
        count: usize,
        operation: Option<Operation>,
        root: Option<u32>,
    ) -> Result<Plan> {
        self.check(rank)?;
        self.check_members(rank, collective)?;
        let root_rank = match root {
            None => None,
            Some(root) => match self.members().get(root as usize) {
                Some(&member) => Some(member),
                None => {
                    return Err(Error::NoSuchMember {
                        rank: rank.pid(),
                        communicator: self.id(),
                        what: "root",
                        found: root,
                        size: self.size(),
                    });
                }
            },
        };
        let blocks = match collective {
            Collective::ReduceScatter
            | Collective::Scatter
            | Collective::Gather
            | Collective::Allgather
            | Collective::Alltoall => self.members().len(),
            _ => 1,
        };
        let words = blocks as u64 * count as u64 * u64::from(T::BYTES) / 4;
        fits("words of a collective", words, MAX_WORDS)?;
        // Halving reduces the data on the links. A short vector gains nothing. Members that agree
        // about count, type and collective make the same choice.
        let halving = match collective {
            Collective::ReduceScatter | Collective::Scatter if words >= HALVING_WORDS => {
                self.tree().halving(self.members())
            }
            _ => None,
        };
        let algorithm = halving.unwrap_or(match collective {
            Collective::Reduce | Collective::Bcast | Collective::Scatter | Collective::Gather => {
                Algorithm::Tree
            }
            _ => Algorithm::Doubling,
        });
        Ok(Plan {
            call: Call {
                communicator: self.id(),
                collective,
                count: count as u32,
                element: (collective != Collective::Barrier).then_some(T::TYPE),
                operation,
                root: root_rank,
            },
            algorithm,
            root: root.map(|root| root as usize),
            element_bytes: T::BYTES as usize,
            elements: blocks * count,
            gives: None,
            keeps: None,
            combine: None,
        })
    }

    /// Returns the path of a call.
    fn path(&self, rank: &Rank, call: &Call) -> Path {
        let software = |reason| Path::Software(reason);
        if !rank.progress.info().has_switch() {
            return software(SoftwareReason::NoSwitch);
        }
        if rank.options.software_collectives {
            return software(SoftwareReason::Forced);
        }
        if call.collective.code().is_none() {
            return software(SoftwareReason::Collective(call.collective));
        }
        match call.element {
            Some(element) if element.hardware().is_none() => {
                software(SoftwareReason::Type(element))
            }
            _ if self.row().is_none() => software(SoftwareReason::NoRow),
            _ => Path::Hardware,
        }
    }

    fn start(&self, rank: &mut Rank, plan: Plan) -> Result<Request<'static>> {
        plan.check_overlap(rank)?;
        let path = self.path(rank, &plan.call);
        match (path, self.row()) {
            (Path::Hardware, Some(row)) => self.start_hardware(rank, plan, row),
            (Path::Software(reason), _) if self.strict => Err(Error::NotInHardware {
                rank: rank.pid(),
                call: plan.call,
                reason,
            }),
            _ => self.start_software(rank, plan, path),
        }
    }

    fn start_hardware(&self, rank: &mut Rank, plan: Plan, row: u32) -> Result<Request<'static>> {
        plan.settle(rank)?;
        let operands = self.operands(&plan);
        let software = rank.progress.software.as_mut();
        let sequence = software.map_or(0, |software| software.skip(self.id().0));
        let descriptor = CollectiveDescriptor {
            call: plan.call,
            path: Path::Hardware,
            members: Arc::clone(&self.shape.members),
            sequence,
            context: Some(row),
            bytes: (plan.elements * plan.element_bytes) as u64,
        };
        let descriptor = Descriptor::Collective(descriptor);
        rank.progress
            .post_collective(row, operands, descriptor, plan.held())
    }

    /// Returns row and operands of a collective that a kernel starts. Such a collective runs in
    /// hardware or fails.
    pub(crate) fn for_kernel(&self, rank: &Rank, plan: &Plan) -> Result<(u32, Operands)> {
        plan.check_overlap(rank)?;
        match (self.path(rank, &plan.call), self.row()) {
            (Path::Hardware, Some(row)) => Ok((row, self.operands(plan))),
            (Path::Software(reason), _) => Err(Error::NotInHardware {
                rank: rank.pid(),
                call: plan.call,
                reason,
            }),
            (Path::Hardware, None) => {
                Err(self.bad(rank.pid(), "the communicator has no row in hardware"))
            }
        }
    }

    fn operands(&self, plan: &Plan) -> Operands {
        let words = |elements: usize| (elements * plan.element_bytes / 4) as u32;
        let (source, first, given) = match &plan.gives {
            Some((piece, (from, to))) => (piece.at.0, words(*from), words(to - from)),
            None => (0, 0, 0),
        };
        let (destination, low, high) = match &plan.keeps {
            Some((piece, (from, to))) => (piece.at.0, words(*from), words(*to)),
            None => (0, 0, 0),
        };
        Operands {
            source,
            first,
            words: given,
            destination,
            low,
            high,
            count: plan.call.count,
            what: self.what(plan),
        }
    }

    /// Returns the value of C_WHAT: the properties that all members must agree on, without the
    /// count.
    fn what(&self, plan: &Plan) -> u32 {
        let call = &plan.call;
        let datatype = match call.element {
            None => 0,
            Some(element) => element.hardware().unwrap_or(Code::Software) as u32,
        };
        let label = call
            .root
            .and_then(|root| self.tree().place(root))
            .map_or(0, |(label, _)| label);
        let opcode = call.collective.code().unwrap_or(CollectiveCode::Software);
        c_what::OPCODE.put(opcode as u32)
            | c_what::ALGORITHM.put(plan.algorithm as u32)
            | c_what::OPERATION.put(call.operation.map_or(0, Operation::code))
            | c_what::DATATYPE.put(datatype)
            | c_what::LABEL.put(label)
            | c_what::ROOT.put(call.root.map_or(0, |root| root.0))
    }

    /// Returns row and operands of the herald of a collective in software. `None` if the collective
    /// units are not used, or the communicator has one member.
    pub(crate) fn herald(&self, rank: &Rank, count: u32, what: u32) -> Option<(u32, Operands)> {
        let is_asked = !rank.options.software_collectives && self.size() > 1;
        let row = self.row().filter(|_| is_asked)?;
        Some((row, Operands::signature(count, what)))
    }

    fn start_software(&self, rank: &mut Rank, plan: Plan, path: Path) -> Result<Request<'static>> {
        let schedule = self.schedule(&plan);
        let herald = self.herald(rank, plan.call.count, self.what(&plan));
        let destination = plan.destination();
        let mut buffer = vec![0; schedule.buffer];
        let source = match &plan.gives {
            None => None,
            Some((piece, _)) => match piece.held.take_staged() {
                None => Some(piece.at),
                Some(contents) => {
                    for (from, to) in &schedule.load {
                        buffer[*to..to + from.len()].copy_from_slice(&contents[from.clone()]);
                    }
                    None
                }
            },
        };
        let task = Task {
            call: plan.call,
            members: Arc::clone(&self.shape.members),
            me: self.shape.me,
            buffer,
            schedule,
            combine: plan.combine,
            source,
            destination,
            _held: plan.held(),
        };
        let (request, _) = rank.progress.begin_software(task, path, herald)?;
        Ok(request)
    }

    fn schedule(&self, plan: &Plan) -> Schedule {
        let group = self.group();
        let bytes = plan.call.count as usize * plan.element_bytes;
        let root = plan.root.unwrap_or(0);
        match plan.call.collective {
            Collective::Reduce => group.reduce(bytes, root),
            Collective::Allreduce => group.allreduce(bytes),
            Collective::ReduceScatter => group.reduce_scatter(bytes),
            Collective::Bcast => group.bcast(bytes, root),
            Collective::Scatter => group.scatter(bytes, root),
            Collective::Gather => group.gather(bytes, root),
            Collective::Allgather => group.allgather(bytes),
            Collective::Alltoall => group.alltoall(bytes),
            _ => Schedule::default(),
        }
    }
}

impl Plan {
    fn reduces<T: Reducible>(&mut self, rank: &Rank, operation: Operation) -> Result<()> {
        if T::IS_FLOAT && operation.is_bitwise() {
            return Err(Error::NoSuchOperation {
                rank: rank.pid(),
                operation,
                element: T::TYPE,
            });
        }
        self.combine = Some((operation, combine_bytes::<T>));
        Ok(())
    }

    fn wrong(&self, rank: &Rank, what: &'static str, found: usize, expected: usize) -> Error {
        Error::WrongLength {
            rank: rank.pid(),
            call: self.call,
            what,
            found,
            expected,
        }
    }

    /// Checks that a region holds one block for each member.
    fn whole<T: Datatype>(
        &self,
        communicator: &Communicator,
        rank: &Rank,
        what: &'static str,
        region: &Region<T>,
    ) -> Result<()> {
        let expected = self.call.count as usize * communicator.members().len();
        if region.len() == expected {
            Ok(())
        } else {
            Err(self.wrong(rank, what, region.len(), expected))
        }
    }

    fn gives<T: Datatype>(&mut self, source: &Region<T>, span: Span) {
        self.gives = Some((source.into(), span));
    }

    fn keeps<T: Datatype>(
        &mut self,
        rank: &Rank,
        destination: &Region<T>,
        span: Span,
    ) -> Result<()> {
        let expected = span.1 - span.0;
        if destination.len() != expected {
            return Err(self.wrong(rank, "destination", destination.len(), expected));
        }
        self.keeps = Some((destination.into(), span));
        Ok(())
    }

    /// Sets the destination of this member: `destination` with this span at the root, none
    /// elsewhere.
    fn root_keeps<T: Datatype>(
        &mut self,
        communicator: &Communicator,
        rank: &Rank,
        destination: Option<&Region<T>>,
        span: Span,
    ) -> Result<()> {
        if self.root != Some(communicator.shape.me) {
            return Ok(());
        }
        let destination =
            destination.ok_or_else(|| self.wrong(rank, "destination", 0, span.1 - span.0))?;
        self.keeps(rank, destination, span)
    }

    /// Moves staged contents to node memory.
    fn settle(&self, rank: &mut Rank) -> Result<()> {
        if let Some((source, _)) = &self.gives
            && let Some(contents) = source.held.take_staged()
        {
            rank.progress.port.write_memory(source.at, &contents)?;
        }
        if let Some((destination, _)) = &self.keeps {
            destination.held.take_staged();
        }
        Ok(())
    }

    /// Returns the destination of a collective in software: host memory, if the contents of the
    /// destination are staged.
    fn destination(&self) -> Destination {
        match &self.keeps {
            None => Destination::Nothing,
            Some((piece, _)) if piece.held.is_staged() => {
                Destination::Staged(Arc::clone(&piece.held))
            }
            Some((piece, _)) => Destination::Memory(piece.at),
        }
    }

    fn held(&self) -> Held {
        [&self.gives, &self.keeps]
            .map(|piece| piece.as_ref().map(|(piece, _)| Arc::clone(&piece.held)))
    }

    fn check_overlap(&self, rank: &Rank) -> Result<()> {
        let (Some((source, (first, _))), Some((destination, (low, _)))) =
            (&self.gives, &self.keeps)
        else {
            return Ok(());
        };
        let (from, to) = (source.at.0 as i64, destination.at.0 as i64);
        let apart = from + source.bytes as i64 <= to || to + destination.bytes as i64 <= from;
        let origin = |at: i64, element: &usize| at - (element * self.element_bytes) as i64;
        if apart || origin(from, first) == origin(to, low) {
            return Ok(());
        }
        Err(Error::Overlap {
            rank: rank.pid(),
            call: self.call,
        })
    }
}
