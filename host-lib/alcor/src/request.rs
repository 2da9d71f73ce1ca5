//! What is under way: which command ids are in use, and who is told how it ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use alcor_abi::Status;

use crate::allocator::Block;
use crate::buffer::Landing;
use crate::call::{Call, Difference, Path, Receipt};
use crate::ending::{Cell, Ended, Listener, Spare, Teller};
use crate::messages::{Message, MessageKind, MessageStatus};
use crate::transfer::Transfer;
use crate::{Activity, Error, GlobalRank, NodeAddr, Rank, Result};

/// What an operation is that is no put or get: those have room in their cell.
#[derive(Debug)]
pub(crate) enum Asked {
    /// A collective.
    Collective(Asking),
    /// What tells the collective units of a collective in software that has a row.
    Herald { context: u32 },
    /// A message, a receive or a probe. `members` are the ranks as the call counts them, where it
    /// does not count those of the run.
    Message {
        message: Message,
        members: Option<Arc<[GlobalRank]>>,
    },
}

/// A collective under way.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) call: Call,
    pub(crate) path: Path,
    pub(crate) members: Arc<[GlobalRank]>,
    /// The communicator's row, if hardware does it.
    pub(crate) context: Option<u32>,
    /// Bytes of the whole message.
    pub(crate) bytes: u64,
}

impl Asked {
    /// What notes call it, and the rank on the other side.
    pub(crate) fn activity(&self) -> (Activity, Option<GlobalRank>) {
        match self {
            Asked::Collective(asking) => (
                Activity::Collective(asking.call.collective),
                asking.call.root,
            ),
            Asked::Herald { .. } => (Activity::Herald, None),
            Asked::Message { message, .. } => {
                let activity = match message.kind {
                    MessageKind::Send => Activity::Send,
                    MessageKind::Receive => Activity::Receive,
                    MessageKind::Probe => Activity::Probe,
                };
                (activity, message.peer)
            }
        }
    }

    /// The message, if it is one.
    pub(crate) fn message(&self) -> Option<&Message> {
        match self {
            Asked::Message { message, .. } => Some(message),
            _ => None,
        }
    }

    /// The communicator's row, of a collective.
    fn context(&self) -> Option<u32> {
        match self {
            Asked::Collective(asking) => asking.context,
            Asked::Herald { context } => Some(*context),
            Asked::Message { .. } => None,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Asked::Collective(asking) => asking.bytes,
            Asked::Herald { .. } => 0,
            Asked::Message { message, .. } => u64::from(message.length),
        }
    }
}

/// What a completion answers.
pub(crate) struct Answered {
    /// The operation's number.
    pub(crate) number: u64,
    /// The communicator's row, of a collective.
    pub(crate) context: Option<u32>,
    pub(crate) message: Option<Message>,
}

/// Node memory that is not handed out again while a collective or a message is under way: what is read, and
/// what is written. That of transfers is known by [`Outstanding::local_addresses`].
pub(crate) type Held = [Option<Arc<Block>>; 2];

/// Nothing is held.
pub(crate) const NOTHING: Held = [None, None];

/// Something that a rank has begun.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// What it is, unless it is a transfer.
    other: Option<Arc<Asked>>,
    teller: Teller,
}

impl Outcome {
    /// Told apart by it from all others of its rank.
    pub(crate) fn number(&self) -> u64 {
        self.teller.cell().number()
    }

    /// The message, if it is one.
    pub(crate) fn message(&self) -> Option<&Message> {
        self.other.as_ref()?.message()
    }
}

/// What was found, of a receive or probe that has ended.
fn message_status(asked: &Asked, ended: Ended) -> Option<MessageStatus> {
    let Asked::Message { message, members } = asked else {
        return None;
    };
    if message.kind == MessageKind::Send {
        return None;
    }
    let found = MessageStatus {
        source: ended.source.0,
        pid: ended.source,
        tag: ended.tag,
        length: ended.length,
        cancelled: ended.status == Status::Cancelled,
    };
    Some(found.counted(members.as_deref()))
}

/// What its owner gets of something that has ended.
fn told(origin: GlobalRank, cell: &Cell, other: Option<&Asked>) -> Result<()> {
    let Some(ended) = cell.get().filter(|ended| !ended.is_well()) else {
        return Ok(());
    };
    let status = ended.status;
    let Some(asked) = other else {
        return match cell.is_quiet() {
            true => Ok(()),
            false => Err(Error::Refused {
                origin,
                transfer: cell.transfer(),
                status,
            }),
        };
    };
    match asked {
        Asked::Herald { .. } => Ok(()),
        Asked::Collective(asking) => Err(ended_badly(origin, asking.call, status)),
        &Asked::Message { message, .. } => Err(match (status, message_status(asked, ended)) {
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
        }),
    }
}

fn ended_badly(rank: GlobalRank, call: Call, status: Status) -> Error {
    let difference = match status {
        Status::Mismatch => Difference::Collective,
        Status::OtherCount => Difference::Count,
        Status::OtherType => Difference::Type,
        Status::OtherOperation => Difference::Operation,
        Status::OtherRoot => Difference::Root,
        _ => return Error::CollectiveRefused { rank, call, status },
    };
    Error::CollectivesDiffer {
        rank,
        call,
        difference,
    }
}

/// A non-blocking put, get, collective, send or receive. Its memory is in use until it is complete.
///
/// Hand it to [`crate::Rank::wait`] to learn how it ended. One that is dropped ends all the
/// same; if it fails, the next flush says so.
#[derive(Debug)]
#[must_use = "wait for the request, or flush, before its memory is used"]
pub struct Request<'a> {
    listener: Listener,
    landing: Landing<'a>,
}

impl<'a> Request<'a> {
    fn new(listener: Listener) -> Request<'a> {
        Request {
            listener,
            landing: Landing::default(),
        }
    }

    /// The same, which fills host memory when it is complete.
    pub(crate) fn landing(self, landing: Landing<'a>) -> Request<'a> {
        Request { landing, ..self }
    }

    /// Fills host memory once the operation has ended: with all elements, or those received.
    pub(crate) fn land(&mut self, rank: &mut Rank) -> Result<()> {
        if !self.landing.is_some() {
            return Ok(());
        }
        let status = self.status();
        let received = self.message_status().map(|status| status.length);
        match status {
            Some(Status::Ok) => self.landing.land(rank, received.unwrap_or(u32::MAX)),
            Some(Status::Truncated) => self.landing.land(rank, received.unwrap_or(0)),
            _ => Ok(()),
        }
    }

    /// What was asked, of a put or get.
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

    /// What was asked, of a send or receive.
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

    /// What was received, of a receive that is complete.
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

    /// What was called and which way it is done, of a collective.
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
            Asked::Collective(asking) => Some(Receipt {
                call: asking.call,
                path: asking.path,
            }),
            Asked::Herald { .. } | Asked::Message { .. } => None,
        }
    }

    fn cell(&self) -> &Cell {
        self.listener.cell()
    }

    /// What it is, unless it is a transfer.
    pub(crate) fn other(&self) -> Option<Arc<Asked>> {
        self.cell().other()
    }

    pub(crate) fn number(&self) -> u64 {
        self.cell().number()
    }

    pub(crate) fn is_known(&self) -> bool {
        self.listener.is_known()
    }

    pub(crate) fn is_posted(&self) -> bool {
        self.listener.is_posted()
    }

    pub(crate) fn status(&self) -> Option<Status> {
        self.cell().get().map(|ended| ended.status)
    }
}

/// What has an id. Its parts are written and taken one by one: a whole that is copied as it has just been written costs a processor more than
/// all else here.
#[derive(Debug, Default)]
struct Place {
    /// Without one, nothing is under way here.
    teller: Option<Teller>,
    other: Option<Arc<Asked>>,
    /// Keeps the local memory from being handed out again.
    held: Held,
}

impl Place {
    fn number(&self) -> Option<u64> {
        Some(self.teller.as_ref()?.cell().number())
    }

    /// The message, if it is one.
    fn message(&self) -> Option<&Message> {
        self.other.as_ref()?.message()
    }

    /// The transfer, if it is one.
    fn transfer(&self) -> Option<Transfer> {
        match self.other {
            None => Some(self.teller.as_ref()?.cell().transfer()),
            Some(_) => None,
        }
    }
}

/// What a rank has under way, by command id. The ids below the depth of the queues of messages are
/// those of messages, receives and probes, and all others have the ids behind them, so that neither
/// takes the others' ids away.
#[derive(Debug)]
pub(crate) struct Outstanding {
    /// The number of the last operation.
    number: u64,
    origin: GlobalRank,
    by_id: Vec<Place>,
    under_way: u32,
    /// The first id that is no message's.
    behind_messages: u32,
    free_ids: Vec<u16>,
    free_message_ids: Vec<u16>,
    to_target: Vec<u32>,
    bytes: u64,
    /// Failures that their owners have not claimed yet.
    failed: Vec<Outcome>,
    sweep_at: usize,
    /// Failures that nobody can claim any more, by target: how many, and the first.
    unclaimed: BTreeMap<GlobalRank, (u64, Error)>,
    spare: Spare,
}

impl Outstanding {
    /// Room for `capacity` transfers, and for as many messages as the queues are deep: together
    /// at most 65536. The last `kernel` ids of messages are those of the rank's kernel.
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
            sweep_at: 16,
            unclaimed: BTreeMap::new(),
            spare: Spare::new(issuer),
        }
    }

    pub(crate) fn len(&self) -> u32 {
        self.under_way
    }

    /// Bytes of all transfers under way.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many transfers are on their way to `target`, or to anybody.
    pub(crate) fn count(&self, target: Option<GlobalRank>) -> u32 {
        match target {
            None => self.to_target.iter().sum(),
            Some(target) => self.to_target.get(target.0 as usize).copied().unwrap_or(0),
        }
    }

    /// Where the transfers under way begin in local memory.
    pub(crate) fn local_addresses(&self) -> impl Iterator<Item = NodeAddr> {
        let ids = &self.by_id[self.behind_messages as usize..];
        let transfers = ids.iter().filter_map(Place::transfer);
        transfers.map(|transfer| transfer.local)
    }

    /// A number for an operation.
    pub(crate) fn number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// Something that is begun and no transfer, and its request.
    pub(crate) fn begin(&mut self, number: u64, asked: Asked) -> (Outcome, Request<'static>) {
        let asked = Arc::new(asked);
        let (teller, listener) = self.spare.other(number, Arc::clone(&asked));
        let other = Some(asked);
        (Outcome { other, teller }, Request::new(listener))
    }

    /// Enters a transfer that is posted at once; `None` when all ids are in use. Its target fits the hardware's field.
    #[inline]
    pub(crate) fn enter_transfer(
        &mut self,
        number: u64,
        transfer: &Transfer,
        is_quiet: bool,
    ) -> Option<(u16, Request<'static>)> {
        let id = self.free_ids.pop()?;
        let (teller, listener) = self.spare.transfer(number, transfer, is_quiet);
        self.to_target[transfer.target.0 as usize] += 1;
        self.bytes += u64::from(transfer.length);
        let place = &mut self.by_id[usize::from(id)];
        place.teller = Some(teller);
        self.under_way += 1;
        Some((id, Request::new(listener)))
    }

    /// Enters what was begun and is posted; `None` when all ids are in use.
    pub(crate) fn enter(&mut self, outcome: Outcome, held: Held) -> Option<u16> {
        let id = match outcome.message() {
            None => self.free_ids.pop()?,
            Some(_) => self.free_message_ids.pop()?,
        };
        outcome.teller.set_posted();
        self.bytes += outcome.other.as_ref().map_or(0, |asked| asked.bytes());
        self.under_way += 1;
        self.by_id[usize::from(id)] = Place {
            teller: Some(outcome.teller),
            other: outcome.other,
            held,
        };
        Some(id)
    }

    /// Takes in a completion; what it answers, if that is under way.
    #[inline]
    pub(crate) fn complete(&mut self, id: u32, ended: Ended) -> Option<Answered> {
        let place = self.by_id.get_mut(id as usize)?;
        let teller = place.teller.take()?;
        let other = place.other.take();
        place.held = NOTHING;
        match id < self.behind_messages {
            true => self.free_message_ids.push(id as u16),
            false => self.free_ids.push(id as u16),
        }
        self.under_way -= 1;
        let mut answered = Answered {
            number: teller.cell().number(),
            context: None,
            message: None,
        };
        match other.as_deref() {
            None => {
                let (target, length) = teller.cell().target_and_length();
                self.to_target[target.0 as usize] -= 1;
                self.bytes -= u64::from(length);
            }
            Some(asked) => {
                self.bytes -= asked.bytes();
                answered.context = asked.context();
                answered.message = asked.message().copied();
            }
        }
        teller.set(ended);
        match ended.is_well() {
            true => self.spare.give_back(teller),
            false => self.fail(Outcome { other, teller }),
        }
        Some(answered)
    }

    /// Makes known how something ended that has no id.
    pub(crate) fn settle(&mut self, outcome: Outcome, ended: impl Into<Ended>) {
        let ended = ended.into();
        outcome.teller.set(ended);
        match ended.is_well() {
            true => self.spare.give_back(outcome.teller),
            false => self.fail(outcome),
        }
    }

    /// Keeps a failure for its owner, or the next flush.
    fn fail(&mut self, outcome: Outcome) {
        self.failed.push(outcome);
        if self.failed.len() >= self.sweep_at {
            self.sweep();
        }
    }

    /// Moves the failures whose requests are gone to `unclaimed`.
    fn sweep(&mut self) {
        for outcome in std::mem::take(&mut self.failed) {
            let teller = &outcome.teller;
            // Who drops a request has claimed it before, or never will.
            let is_unheard = teller.is_unheard();
            if !teller.is_claimed() {
                if !is_unheard {
                    self.failed.push(outcome);
                    continue;
                }
                let (cell, other) = (teller.cell(), outcome.other.as_deref());
                if let Err(error) = told(self.origin, cell, other) {
                    let target = match other {
                        None => cell.target_and_length().0,
                        Some(_) => self.origin,
                    };
                    self.unclaimed.entry(target).or_insert((0, error)).0 += 1;
                }
            }
            self.spare.give_back(outcome.teller);
        }
        self.sweep_at = 16 + 2 * self.failed.len();
    }

    /// The failures of dropped requests to `target`, or to anybody; each is told once.
    pub(crate) fn take_unclaimed(&mut self, target: Option<GlobalRank>) -> Result<()> {
        self.sweep();
        let told = match target {
            Some(target) => self.unclaimed.remove(&target),
            None => std::mem::take(&mut self.unclaimed)
                .into_values()
                .reduce(|(count, first), (more, _)| (count + more, first)),
        };
        match told {
            None => Ok(()),
            Some((failed, first)) => Err(Error::Unclaimed {
                failed,
                first: Box::new(first),
            }),
        }
    }

    /// The first send, receive or probe under way.
    pub(crate) fn first_message(&self, kind: MessageKind) -> Option<Message> {
        self.messages()
            .filter_map(Place::message)
            .find(|message| message.kind == kind)
            .copied()
    }

    /// The numbers of the receives under way.
    pub(crate) fn receives(&self) -> Vec<u64> {
        let is_receive = |place: &&Place| {
            let message = place.message();
            message.is_some_and(|message| message.kind == MessageKind::Receive)
        };
        let receives = self.messages().filter(is_receive);
        receives.filter_map(Place::number).collect()
    }

    /// The id of a send, receive or probe, while it is under way.
    pub(crate) fn message_id(&self, number: u64) -> Option<u16> {
        let is_it = |place: &Place| place.number() == Some(number);
        let id = self.messages().position(is_it)?;
        u16::try_from(id).ok()
    }

    /// The places of sends, receives and probes.
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

    /// How a request ended; `Ok` as long as it has not.
    pub(crate) fn claim(&self, request: &Request<'_>) -> Result<()> {
        request.listener.set_claimed();
        let cell = request.cell();
        told(self.origin, cell, cell.other().as_deref())
    }
}
