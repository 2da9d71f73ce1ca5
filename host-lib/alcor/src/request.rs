//! Requests, and the command ids of outstanding operations.

use std::collections::BTreeMap;
use std::sync::Arc;

use alcor_abi::Status;
use alcor_abi::packets::cq_message;

use crate::allocator::Block;
use crate::buffer::CopyBack;
use crate::call::{Call, Difference, Path, Receipt};
use crate::ending::{Cell, Completion, Future, Promise, Spare};
use crate::messages::{Message, MessageKind, MessageStatus};
use crate::transfer::Transfer;
use crate::{Accumulate, Activity, Atomic, Error, GlobalRank, NodeAddr, Rank, Result};

/// The descriptor of an operation that is no put or get. Transfers are stored in their cell.
#[derive(Debug)]
pub(crate) enum Descriptor {
    /// A collective.
    Collective(CollectiveDescriptor),
    /// The collective without data that compares the members' calls of a collective in software.
    /// Its communicator has a row.
    Herald { context: u32 },
    /// An atomic operation.
    Atomic(Atomic),
    /// An accumulate.
    Accumulate(Accumulate),
    /// A message, receive or probe. `members` are the ranks by which the call counts; `None` if the
    /// call counts the ranks of the run.
    Message {
        message: Message,
        members: Option<Arc<[GlobalRank]>>,
    },
}

/// The descriptor of a collective.
#[derive(Debug)]
pub(crate) struct CollectiveDescriptor {
    pub(crate) call: Call,
    pub(crate) path: Path,
    pub(crate) members: Arc<[GlobalRank]>,
    /// Number of the collective among the collectives of the communicator.
    pub(crate) sequence: u32,
    /// Row of the communicator, if hardware runs the collective.
    pub(crate) context: Option<u32>,
    /// Length of the whole message, in bytes.
    pub(crate) bytes: u64,
}

impl Descriptor {
    /// Returns the kind of the operation for notes, and the rank on the other side.
    pub(crate) fn activity(&self) -> (Activity, Option<GlobalRank>) {
        match self {
            Descriptor::Collective(collective) => (
                Activity::Collective(collective.call.collective),
                collective.call.root,
            ),
            Descriptor::Herald { .. } => (Activity::Herald, None),
            Descriptor::Atomic(atomic) => (Activity::Atomic, Some(atomic.target)),
            Descriptor::Accumulate(it) => (Activity::Accumulate, Some(it.target)),
            Descriptor::Message { message, .. } => {
                let activity = match message.kind {
                    MessageKind::Send => Activity::Send,
                    MessageKind::Receive => Activity::Receive,
                    MessageKind::Probe => Activity::Probe,
                };
                (activity, message.peer)
            }
        }
    }

    /// Returns the message, if the operation is a message.
    pub(crate) fn message(&self) -> Option<&Message> {
        match self {
            Descriptor::Message { message, .. } => Some(message),
            _ => None,
        }
    }

    /// Returns the communicator's row, if the operation is a collective in hardware.
    fn context(&self) -> Option<u32> {
        match self {
            Descriptor::Collective(collective) => collective.context,
            Descriptor::Herald { context } => Some(*context),
            Descriptor::Atomic(_) | Descriptor::Accumulate(_) | Descriptor::Message { .. } => None,
        }
    }

    /// Returns the rank whose window an atomic operation or accumulate changes.
    fn target(&self) -> Option<GlobalRank> {
        match self {
            Descriptor::Atomic(atomic) => Some(atomic.target),
            Descriptor::Accumulate(accumulate) => Some(accumulate.target),
            _ => None,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Descriptor::Collective(collective) => collective.bytes,
            Descriptor::Herald { .. } => 0,
            Descriptor::Atomic(atomic) => u64::from(atomic.bytes()),
            Descriptor::Accumulate(accumulate) => u64::from(accumulate.length),
            Descriptor::Message { message, .. } => u64::from(message.length),
        }
    }
}

/// The operation that a completion has ended.
pub(crate) struct CompletedOperation {
    /// Number of the operation; `None` if its request has ended before.
    pub(crate) number: Option<u64>,
    /// Row of the communicator, if the operation is a collective.
    pub(crate) context: Option<u32>,
    pub(crate) message: Option<Message>,
}

/// Node memory of a collective or message under way: source and destination. The allocator does not
/// reuse this memory. [`Outstanding::local_addresses`] returns the memory of transfers.
pub(crate) type Held = [Option<Arc<Block>>; 2];

/// No memory is held.
pub(crate) const NOTHING: Held = [None, None];

/// An operation that has begun and is not posted.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The descriptor of an operation that is no transfer.
    other: Option<Arc<Descriptor>>,
    /// `None` if the request of the operation has ended before.
    promise: Option<Promise>,
}

impl Outcome {
    /// Identifies the operation within its rank; 0 if its request has ended before.
    pub(crate) fn number(&self) -> u64 {
        let promise = self.promise.as_ref();
        promise.map_or(0, |promise| promise.cell().number())
    }

    /// Removes the operation from its request. The operation itself goes on.
    pub(crate) fn give_up(&mut self) -> Outcome {
        Outcome {
            other: self.other.clone(),
            promise: self.promise.take(),
        }
    }

    /// Returns whether the request of the operation has ended before.
    pub(crate) fn is_given_up(&self) -> bool {
        self.promise.is_none()
    }

    /// Returns the message, if the operation is a message.
    pub(crate) fn message(&self) -> Option<&Message> {
        self.other.as_ref()?.message()
    }

    /// Returns the descriptor of an operation that is no transfer.
    pub(crate) fn descriptor(&self) -> Option<&Descriptor> {
        self.other.as_deref()
    }

    /// Returns the rank whose window the operation changes, if it is no transfer.
    fn target(&self) -> Option<GlobalRank> {
        self.other.as_ref()?.target()
    }
}

/// Returns the status of a receive or probe that has ended.
fn message_status(descriptor: &Descriptor, ended: Completion) -> Option<MessageStatus> {
    let Descriptor::Message { message, members } = descriptor else {
        return None;
    };
    if message.kind == MessageKind::Send {
        return None;
    }
    let found = MessageStatus {
        source: ended.source.0,
        pid: ended.source,
        tag: cq_message::TAG.get(ended.tag),
        length: ended.length,
        cancelled: ended.status == Status::Cancelled,
        of_kernel: cq_message::KERNEL.get(ended.tag) != 0,
    };
    Some(found.counted(members.as_deref()))
}

/// Returns the result of an operation; `Ok` until the operation has ended.
fn result_of(origin: GlobalRank, cell: &Cell, other: Option<&Descriptor>) -> Result<()> {
    let Some(ended) = cell.get().filter(|ended| !ended.is_success()) else {
        return Ok(());
    };
    let status = ended.status;
    let Some(descriptor) = other else {
        return if cell.is_quiet() {
            Ok(())
        } else {
            Err(Error::Refused {
                origin,
                transfer: cell.transfer(),
                status,
            })
        };
    };
    match descriptor {
        Descriptor::Herald { .. } => Ok(()),
        &Descriptor::Atomic(atomic) => Err(Error::AtomicRefused {
            origin,
            atomic,
            status,
        }),
        &Descriptor::Accumulate(accumulate) => Err(Error::AccumulateRefused {
            origin,
            accumulate,
            status,
        }),
        Descriptor::Collective(collective) => Err(ended_badly(origin, collective.call, status)),
        &Descriptor::Message { message, .. } => {
            Err(match (status, message_status(descriptor, ended)) {
                (Status::Truncated, Some(found)) => Error::Truncated {
                    rank: origin,
                    receive: message,
                    found,
                },
                _ => Error::MessageRefused {
                    rank: origin,
                    message,
                    status,
                },
            })
        }
    }
}

fn ended_badly(rank: GlobalRank, call: Call, status: Status) -> Error {
    match difference(status) {
        None => Error::CollectiveRefused { rank, call, status },
        Some(difference) => Error::CollectivesDiffer {
            rank,
            call,
            difference,
            others: Vec::new(),
        },
    }
}

/// Returns the difference between the members' calls that a collective has reported.
fn difference(status: Status) -> Option<Difference> {
    Some(match status {
        Status::Mismatch => Difference::Collective,
        Status::OtherCount => Difference::Count,
        Status::OtherType => Difference::Type,
        Status::OtherOperation => Difference::Operation,
        Status::OtherRoot => Difference::Root,
        _ => return None,
    })
}

/// A non-blocking put, get, atomic operation, accumulate, collective, send or receive. The memory of the operation is in use
/// until the request is complete.
///
/// [`crate::Rank::wait`] returns the result. A request that is dropped does not end its operation.
/// If the operation fails, the next flush reports the failure.
#[derive(Debug)]
#[must_use = "wait for the request, or flush, before its memory is used"]
pub struct Request<'a> {
    future: Future,
    copy_back: CopyBack<'a>,
}

impl<'a> Request<'a> {
    fn new(future: Future) -> Request<'a> {
        Request {
            future,
            copy_back: CopyBack::default(),
        }
    }

    /// Adds the copy-back to host memory.
    pub(crate) fn with_copy_back(self, copy_back: CopyBack<'a>) -> Request<'a> {
        Request { copy_back, ..self }
    }

    /// Fills host memory after the end of the operation, with all elements or with the received
    /// ones.
    pub(crate) fn copy_back(&mut self, rank: &mut Rank) -> Result<()> {
        if !self.copy_back.is_some() {
            return Ok(());
        }
        let status = self.status();
        let received = self.message_status().map(|status| status.length);
        match status {
            Some(Status::Ok) => self.copy_back.run(rank, received.unwrap_or(u32::MAX)),
            Some(Status::Truncated) => self.copy_back.run(rank, received.unwrap_or(0)),
            _ => Ok(()),
        }
    }

    /// Returns the transfer of a put or get.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc_from(&[0u32; 2])?;
    /// let window = rank.register(&region, Rights::ALL)?;
    /// let request = rank.iput(&window, rank.pid(), 1, &[7])?;
    /// assert_eq!(request.transfer().map(|transfer| transfer.offset), Some(4));
    /// rank.wait(request)?;
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn transfer(&self) -> Option<Transfer> {
        match self.cell().other() {
            None => Some(self.cell().transfer()),
            Some(_) => None,
        }
    }

    /// Returns the message of a send or receive.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Source, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let mut values = [0u8; 4];
    /// let receive = rank.irecv(Source::Any, 3, &mut values)?;
    /// assert_eq!(receive.message().and_then(|message| message.tag), Some(3));
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn message(&self) -> Option<Message> {
        self.cell().other()?.message().copied()
    }

    /// Returns the status of a receive that is complete.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Source, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let mut values = [0u8; 4];
    /// let mut receive = rank.irecv(Source::Any, 0, &mut values)?;
    /// assert_eq!(receive.message_status(), None);
    /// rank.send(rank.pid(), 0, &[1u8, 2])?;
    /// while !rank.test(&mut receive)? {}
    /// assert_eq!(receive.message_status().map(|status| status.length), Some(2));
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn message_status(&self) -> Option<MessageStatus> {
        message_status(&*self.cell().other()?, self.cell().get()?)
    }

    /// Returns call and path of a collective.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let request = world.ibarrier(rank)?;
    /// assert!(request.receipt().is_some_and(|receipt| !receipt.is_hardware()));
    /// rank.wait(request)?;
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn receipt(&self) -> Option<Receipt> {
        match &*self.cell().other()? {
            Descriptor::Collective(collective) => Some(Receipt {
                call: collective.call,
                path: collective.path,
            }),
            _ => None,
        }
    }

    /// Returns the bits of the word as it was before an atomic operation that is complete,
    /// zero-extended; `None` after a refusal. [`Rank::wait_fetch`] returns the number.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let counter = rank.alloc_from(&[5u32])?;
    /// let window = rank.register(&counter, Rights::ALL)?;
    /// let mut request = rank.ifetch_add(&window, rank.pid(), 0, 1)?.into_request();
    /// while !rank.test(&mut request)? {}
    /// assert_eq!(request.old_value(), Some(5));
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn old_value(&self) -> Option<u64> {
        self.cell().other()?.atomic()?;
        let ended = self.cell().get()?;
        let old = u64::from(ended.length) << 32 | u64::from(ended.tag);
        (ended.status == Status::Ok).then_some(old)
    }

    fn cell(&self) -> &Cell {
        self.future.cell()
    }

    /// Returns the descriptor of an operation that is no transfer.
    pub(crate) fn other(&self) -> Option<Arc<Descriptor>> {
        self.cell().other()
    }

    pub(crate) fn number(&self) -> u64 {
        self.cell().number()
    }

    pub(crate) fn is_known(&self) -> bool {
        self.future.is_known()
    }

    pub(crate) fn is_posted(&self) -> bool {
        self.future.is_posted()
    }

    /// Returns whether the owner has taken the result.
    pub(crate) fn is_claimed(&self) -> bool {
        self.cell().is_claimed()
    }

    pub(crate) fn status(&self) -> Option<Status> {
        self.cell().get().map(|ended| ended.status)
    }
}

/// The operation of a command id. The fields are written and taken one by one. A copy of the whole
/// structure right after its fields were written would cost more time than all other work here.
#[derive(Debug, Default)]
struct Place {
    /// `None` if no operation uses this id, or if the request of the operation has ended before. The
    /// operation then has a descriptor.
    promise: Option<Promise>,
    other: Option<Arc<Descriptor>>,
    /// Local memory that the allocator must not reuse.
    held: Held,
}

impl Place {
    fn number(&self) -> Option<u64> {
        Some(self.promise.as_ref()?.cell().number())
    }

    /// Returns the message, if the operation is a message.
    fn message(&self) -> Option<&Message> {
        self.other.as_ref()?.message()
    }

    /// Returns the transfer, if the operation is a transfer.
    fn transfer(&self) -> Option<Transfer> {
        match self.other {
            None => Some(self.promise.as_ref()?.cell().transfer()),
            Some(_) => None,
        }
    }
}

/// The operations of a rank under way, by command id. Messages, receives and probes use the ids
/// below the depth of the message queues. All other operations use the ids above. So neither group
/// takes ids from the other.
#[derive(Debug)]
pub(crate) struct Outstanding {
    /// Number of the last operation.
    number: u64,
    origin: GlobalRank,
    by_id: Vec<Place>,
    under_way: u32,
    /// The first id that belongs to no message.
    behind_messages: u32,
    free_ids: Vec<u16>,
    free_message_ids: Vec<u16>,
    to_target: Vec<u32>,
    bytes: u64,
    /// Failures that their owners have not claimed yet.
    failed: Vec<(Option<Arc<Descriptor>>, Promise)>,
    /// Collectives whose members' calls differ, and whose call this rank has not sent yet.
    differing: Vec<Arc<Descriptor>>,
    sweep_at: usize,
    /// Failures of dropped requests by target: their number, and the first error.
    unclaimed: BTreeMap<GlobalRank, (u64, Error)>,
    spare: Spare,
}

impl Outstanding {
    /// Makes ids for `capacity` transfers and `depth` messages, at most 65536 in sum. The last
    /// `kernel` message ids belong to the rank's kernel.
    pub(crate) fn new(
        issuer: u64,
        origin: GlobalRank,
        capacity: u32,
        depth: u32,
        kernel: u32,
    ) -> Outstanding {
        Outstanding {
            number: 0,
            origin,
            by_id: (0..depth + capacity).map(|_| Place::default()).collect(),
            under_way: 0,
            behind_messages: depth,
            free_ids: (depth..depth + capacity)
                .rev()
                .map(|id| id as u16)
                .collect(),
            free_message_ids: (0..depth - kernel).rev().map(|id| id as u16).collect(),
            to_target: vec![0; 256],
            bytes: 0,
            failed: Vec::new(),
            differing: Vec::new(),
            sweep_at: 16,
            unclaimed: BTreeMap::new(),
            spare: Spare::new(issuer),
        }
    }

    pub(crate) fn len(&self) -> u32 {
        self.under_way
    }

    /// Bytes of all operations under way.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of transfers under way to `target`, or to all targets.
    pub(crate) fn count(&self, target: Option<GlobalRank>) -> u32 {
        match target {
            None => self.to_target.iter().sum(),
            Some(target) => self.to_target.get(target.0 as usize).copied().unwrap_or(0),
        }
    }

    /// Local start addresses of the transfers under way.
    pub(crate) fn local_addresses(&self) -> impl Iterator<Item = NodeAddr> {
        let ids = &self.by_id[self.behind_messages as usize..];
        let transfers = ids.iter().filter_map(Place::transfer);
        transfers.map(|transfer| transfer.local)
    }

    /// Returns a number for a new operation.
    pub(crate) fn number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// Begins an operation that is no transfer. Returns the operation and its request.
    pub(crate) fn begin(
        &mut self,
        number: u64,
        descriptor: Descriptor,
    ) -> (Outcome, Request<'static>) {
        let descriptor = Arc::new(descriptor);
        let (promise, future) = self.spare.other(number, Arc::clone(&descriptor));
        let other = Some(descriptor);
        let promise = Some(promise);
        (Outcome { other, promise }, Request::new(future))
    }

    /// Enters a transfer that is posted at once. Returns `None` if all ids are in use. The target
    /// must fit the hardware's field.
    #[inline]
    pub(crate) fn enter_transfer(
        &mut self,
        number: u64,
        transfer: &Transfer,
        is_quiet: bool,
    ) -> Option<(u16, Request<'static>)> {
        let id = self.free_ids.pop()?;
        let (promise, future) = self.spare.transfer(number, transfer, is_quiet);
        self.to_target[transfer.target.0 as usize] += 1;
        self.bytes += u64::from(transfer.length);
        let place = &mut self.by_id[usize::from(id)];
        place.promise = Some(promise);
        self.under_way += 1;
        Some((id, Request::new(future)))
    }

    /// Enters an operation that is posted now. Returns `None` if all ids are in use.
    pub(crate) fn enter(&mut self, outcome: Outcome, held: Held) -> Option<u16> {
        let id = match outcome.message() {
            None => self.free_ids.pop()?,
            Some(_) => self.free_message_ids.pop()?,
        };
        if let Some(promise) = &outcome.promise {
            promise.set_posted();
        }
        if let Some(target) = outcome.target() {
            self.to_target[target.0 as usize] += 1;
        }
        self.bytes += outcome
            .other
            .as_ref()
            .map_or(0, |descriptor| descriptor.bytes());
        self.under_way += 1;
        self.by_id[usize::from(id)] = Place {
            promise: outcome.promise,
            other: outcome.other,
            held,
        };
        Some(id)
    }

    /// Records a completion. Returns its operation, if the operation was under way.
    #[inline]
    pub(crate) fn complete(&mut self, id: u32, ended: Completion) -> Option<CompletedOperation> {
        let place = self.by_id.get_mut(id as usize)?;
        let promise = place.promise.take();
        let other = place.other.take();
        if promise.is_none() && other.is_none() {
            return None;
        }
        place.held = NOTHING;
        if id < self.behind_messages {
            self.free_message_ids.push(id as u16);
        } else {
            self.free_ids.push(id as u16);
        }
        self.under_way -= 1;
        let mut completed = CompletedOperation {
            number: promise.as_ref().map(|promise| promise.cell().number()),
            context: None,
            message: None,
        };
        match (other.as_deref(), &promise) {
            (None, None) => {}
            (None, Some(promise)) => {
                let (target, length) = promise.cell().target_and_length();
                self.to_target[target.0 as usize] -= 1;
                self.bytes -= u64::from(length);
            }
            (Some(descriptor), _) => {
                self.bytes -= descriptor.bytes();
                if let Some(target) = descriptor.target() {
                    self.to_target[target.0 as usize] -= 1;
                }
                completed.context = descriptor.context();
                completed.message = descriptor.message().copied();
            }
        }
        self.settle(Outcome { other, promise }, ended);
        Some(completed)
    }

    /// Removes a send or receive that is under way, and frees its id.
    pub(crate) fn withdraw(&mut self, id: u32, kind: MessageKind) -> Option<(Outcome, Held)> {
        let place = self.by_id.get_mut(id as usize)?;
        let message = place.message()?;
        if message.kind != kind {
            return None;
        }
        self.bytes -= u64::from(message.length);
        let Place {
            promise,
            other,
            held,
        } = std::mem::take(place);
        self.free_message_ids.push(id as u16);
        self.under_way -= 1;
        Some((Outcome { other, promise }, held))
    }

    /// Records the end of an operation that has no id.
    pub(crate) fn settle(&mut self, outcome: Outcome, ended: impl Into<Completion>) {
        let ended = ended.into();
        let Outcome { other, promise } = outcome;
        let Some(promise) = promise else {
            return;
        };
        promise.set(ended);
        if ended.is_success() {
            self.spare.give_back(promise);
        } else {
            self.fail(other, promise, ended.status);
        }
    }

    /// Keeps a failure for its owner or the next flush.
    fn fail(&mut self, other: Option<Arc<Descriptor>>, promise: Promise, status: Status) {
        if let Some(other) = &other
            && matches!(**other, Descriptor::Collective(_))
            && difference(status).is_some()
        {
            self.differing.push(Arc::clone(other));
        }
        self.failed.push((other, promise));
        if self.failed.len() >= self.sweep_at {
            self.sweep();
        }
    }

    /// Returns the collectives whose members' calls differ. Each is returned once.
    pub(crate) fn take_differing(&mut self) -> Vec<Arc<Descriptor>> {
        std::mem::take(&mut self.differing)
    }

    /// Moves the failures of dropped requests to `unclaimed`.
    fn sweep(&mut self) {
        for (other, promise) in std::mem::take(&mut self.failed) {
            // A dropped request was claimed before or will never be claimed.
            let is_dropped = promise.is_dropped();
            if !promise.cell().is_claimed() {
                if !is_dropped {
                    self.failed.push((other, promise));
                    continue;
                }
                let (cell, other) = (promise.cell(), other.as_deref());
                if let Err(error) = result_of(self.origin, cell, other) {
                    let target = match other {
                        None => cell.target_and_length().0,
                        Some(other) => other.target().unwrap_or(self.origin),
                    };
                    self.unclaimed.entry(target).or_insert((0, error)).0 += 1;
                }
            }
            self.spare.give_back(promise);
        }
        self.sweep_at = 16 + 2 * self.failed.len();
    }

    /// Returns the failures of dropped requests to `target`, or to all targets. Each failure is
    /// reported once.
    pub(crate) fn take_unclaimed(&mut self, target: Option<GlobalRank>) -> Result<()> {
        self.sweep();
        let failures = match target {
            Some(target) => self.unclaimed.remove(&target),
            None => std::mem::take(&mut self.unclaimed)
                .into_values()
                .reduce(|(count, first), (more, _)| (count + more, first)),
        };
        match failures {
            None => Ok(()),
            Some((failed, first)) => Err(Error::Unclaimed {
                failed,
                first: Box::new(first),
            }),
        }
    }

    /// Returns the first send, receive or probe under way.
    pub(crate) fn first_message(&self, kind: MessageKind) -> Option<Message> {
        self.messages()
            .filter_map(Place::message)
            .find(|message| message.kind == kind)
            .copied()
    }

    /// Returns the numbers of the receives under way.
    pub(crate) fn receives(&self) -> Vec<u64> {
        let is_receive = |place: &&Place| {
            let message = place.message();
            message.is_some_and(|message| message.kind == MessageKind::Receive)
        };
        let receives = self.messages().filter(is_receive);
        receives.filter_map(Place::number).collect()
    }

    /// Returns the numbers of the receives under way with such a descriptor.
    pub(crate) fn receives_that(&self, is_wanted: impl Fn(&Descriptor) -> bool) -> Vec<u64> {
        let is_it = |place: &&Place| {
            let message = place.message();
            message.is_some_and(|message| message.kind == MessageKind::Receive)
                && place.other.as_deref().is_some_and(&is_wanted)
        };
        let receives = self.messages().filter(is_it);
        receives.filter_map(Place::number).collect()
    }

    /// Removes the operations with such a descriptor from their requests. Their ids and their memory
    /// stay in use until the hardware completes them.
    pub(crate) fn abandon(&mut self, is_wanted: impl Fn(&Descriptor) -> bool) -> Vec<Outcome> {
        let is_it = |place: &&mut Place| place.other.as_deref().is_some_and(&is_wanted);
        let abandoned = self.by_id.iter_mut().filter(is_it);
        let outcomes = abandoned.filter_map(|place| {
            let promise = Some(place.promise.take()?);
            let other = place.other.clone();
            Some(Outcome { other, promise })
        });
        outcomes.collect()
    }

    /// Returns the number of the first receive under way that matches a message.
    pub(crate) fn receive_for(&self, context: u8, found: &MessageStatus) -> Option<u64> {
        let matches = |place: &&Place| {
            let message = place.message();
            message.is_some_and(|message| {
                message.kind == MessageKind::Receive && message.is_for(context, found)
            })
        };
        let receives = self.messages().filter(matches);
        receives.filter_map(Place::number).min()
    }

    /// Returns the number of the operation of an id.
    pub(crate) fn number_of(&self, id: u32) -> Option<u64> {
        self.by_id.get(id as usize)?.number()
    }

    /// Identifies the rank of these operations within this process.
    pub(crate) fn issuer(&self) -> u64 {
        self.spare.issuer()
    }

    /// Returns the id of a send, receive or probe under way.
    pub(crate) fn message_id(&self, number: u64) -> Option<u16> {
        let is_it = |place: &Place| place.number() == Some(number);
        let id = self.messages().position(is_it)?;
        u16::try_from(id).ok()
    }

    /// Iterates over the places of sends, receives and probes.
    fn messages(&self) -> impl Iterator<Item = &Place> {
        self.by_id[..self.behind_messages as usize].iter()
    }

    /// Checks that this rank issued the request.
    pub(crate) fn check(&self, request: &Request<'_>) -> Result<()> {
        if request.cell().issuer() == self.spare.issuer() {
            return Ok(());
        }
        Err(Error::ForeignRequest { rank: self.origin })
    }

    /// Returns the result of a request; `Ok` until the operation has ended.
    pub(crate) fn claim(&self, request: &Request<'_>) -> Result<()> {
        request.future.set_claimed();
        let cell = request.cell();
        result_of(self.origin, cell, cell.other().as_deref())
    }
}
