//! What is under way: which command ids are in use, and who is told how it ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use alcor_abi::Status;
use smallvec::SmallVec;

use crate::allocator::Block;
use crate::call::{Call, Difference, Path, Receipt};
use crate::messages::{Message, MessageKind, MessageStatus};
use crate::transfer::{Transfer, TransferKind};
use crate::{Activity, Error, GlobalRank, Result};

/// What a request is for.
#[derive(Debug, Clone)]
pub(crate) enum Asked {
    /// A put or get.
    Transfer(Transfer),
    /// A put of the library's own, whose failure is nobody's.
    Quiet(Transfer),
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
#[derive(Debug, Clone)]
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
    /// The target, if it is a transfer.
    fn target(&self) -> Option<GlobalRank> {
        match self {
            Asked::Transfer(transfer) | Asked::Quiet(transfer) => Some(transfer.target),
            Asked::Collective(_) | Asked::Herald { .. } | Asked::Message { .. } => None,
        }
    }

    /// What notes call it, and the rank on the other side.
    pub(crate) fn activity(&self) -> (Activity, Option<GlobalRank>) {
        match self {
            Asked::Transfer(transfer) | Asked::Quiet(transfer) => {
                let activity = match transfer.kind {
                    TransferKind::Put => Activity::Put,
                    TransferKind::Get => Activity::Get,
                };
                (activity, Some(transfer.target))
            }
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

    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Asked::Transfer(transfer) | Asked::Quiet(transfer) => u64::from(transfer.length),
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

/// What a completion says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) status: Status,
    /// Of a receive or probe: the message's source, tag and length.
    pub(crate) source: GlobalRank,
    pub(crate) tag: u32,
    pub(crate) length: u32,
}

impl Ended {
    /// Whether nobody has to be told of a failure.
    fn is_well(&self) -> bool {
        matches!(
            self.status,
            Status::Ok | Status::Cancelled | Status::NotFound
        )
    }
}

impl From<Status> for Ended {
    fn from(status: Status) -> Ended {
        Ended {
            status,
            source: GlobalRank(0),
            tag: 0,
            length: 0,
        }
    }
}

/// How something ended, once it has: written by its rank, and read by whoever has the request.
#[derive(Debug, Default)]
struct End {
    /// Status, source, and whether it is known.
    word: AtomicU32,
    tag: AtomicU32,
    length: AtomicU32,
}

const KNOWN: u32 = 1 << 31;

impl End {
    /// Makes it known; what is known stays.
    fn set(&self, ended: Ended) {
        if self.get().is_some() {
            return;
        }
        self.tag.store(ended.tag, Ordering::Relaxed);
        self.length.store(ended.length, Ordering::Relaxed);
        // A rank has eight bits in the ring that this comes from.
        let word = KNOWN | ended.status as u32 | ended.source.0 << 8;
        self.word.store(word, Ordering::Release);
    }

    fn get(&self) -> Option<Ended> {
        let word = self.word.load(Ordering::Acquire);
        let status = Status::from_bits(word & 0xFF)?;
        (word & KNOWN != 0).then(|| Ended {
            status,
            source: GlobalRank(word >> 8 & 0xFF),
            tag: self.tag.load(Ordering::Relaxed),
            length: self.length.load(Ordering::Relaxed),
        })
    }
}

/// Of what has not been posted.
const NO_ID: u32 = u32::MAX;

/// Node memory that is not handed out again while something is under way: mostly one piece, for which nothing is allocated.
pub(crate) type Held = SmallVec<[Arc<Block>; 1]>;

/// How a transfer, collective or message ended, once it has: shared by its [`Request`] and the table of ids.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The rank that issued it, told apart from all others of this process.
    issuer: u64,
    /// Told apart by it from all others of its rank, in notes.
    pub(crate) number: u64,
    pub(crate) asked: Asked,
    /// Its command id, once it has been posted.
    id: AtomicU32,
    ended: End,
    claimed: AtomicBool,
}

impl Outcome {
    pub(crate) fn is_known(&self) -> bool {
        self.ended.get().is_some()
    }

    pub(crate) fn status(&self) -> Option<Status> {
        self.ended.get().map(|ended| ended.status)
    }

    pub(crate) fn id(&self) -> Option<u16> {
        u16::try_from(self.id.load(Ordering::Relaxed)).ok()
    }

    /// What was found, of a receive or probe that has ended.
    fn message_status(&self) -> Option<MessageStatus> {
        let Asked::Message { message, members } = &self.asked else {
            return None;
        };
        let ended = self.ended.get()?;
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

    /// The outcome as its owner gets it; `Ok` as long as it is not known.
    fn claim(&self, origin: GlobalRank) -> Result<()> {
        self.claimed.store(true, Ordering::Relaxed);
        match self.ended.get().filter(|ended| !ended.is_well()) {
            None => Ok(()),
            Some(Ended { status, .. }) => match &self.asked {
                &Asked::Transfer(transfer) => Err(Error::Refused {
                    origin,
                    transfer,
                    status,
                }),
                Asked::Quiet(_) | Asked::Herald { .. } => Ok(()),
                Asked::Collective(asking) => Err(ended_badly(origin, asking.call, status)),
                &Asked::Message { message, .. } => Err(match (status, self.message_status()) {
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
            },
        }
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
pub struct Request {
    pub(crate) outcome: Arc<Outcome>,
}

impl Request {
    /// What was asked, of a put or get.
    #[must_use]
    pub fn transfer(&self) -> Option<Transfer> {
        match &self.outcome.asked {
            Asked::Transfer(transfer) | Asked::Quiet(transfer) => Some(*transfer),
            Asked::Collective(_) | Asked::Herald { .. } | Asked::Message { .. } => None,
        }
    }

    /// What was asked, of a send or receive.
    #[must_use]
    pub fn message(&self) -> Option<Message> {
        self.outcome.asked.message().copied()
    }

    /// What was received, of a receive that is complete.
    #[must_use]
    pub fn message_status(&self) -> Option<MessageStatus> {
        self.outcome.message_status()
    }

    /// What was called and which way it is done, of a collective.
    #[must_use]
    pub fn receipt(&self) -> Option<Receipt> {
        match &self.outcome.asked {
            Asked::Collective(asking) => Some(Receipt {
                call: asking.call,
                path: asking.path,
            }),
            Asked::Transfer(_) | Asked::Quiet(_) | Asked::Herald { .. } | Asked::Message { .. } => {
                None
            }
        }
    }

    pub(crate) fn is_known(&self) -> bool {
        self.outcome.is_known()
    }
}

#[derive(Debug)]
struct UnderWay {
    outcome: Arc<Outcome>,
    /// Keeps the local memory from being handed out again.
    _held: Held,
}

/// What a rank has under way, by command id. The ids below the depth of the queues of messages are
/// those of messages, receives and probes, and all others have the ids behind them, so that neither
/// takes the others' ids away.
#[derive(Debug)]
pub(crate) struct Outstanding {
    issuer: u64,
    /// The number of the next operation.
    number: u64,
    origin: GlobalRank,
    by_id: Vec<Option<UnderWay>>,
    under_way: u32,
    /// The first id that is no message's.
    behind_messages: u32,
    free_ids: Vec<u16>,
    free_message_ids: Vec<u16>,
    to_target: Vec<u32>,
    bytes: u64,
    /// Outcomes of failed transfers that their owners have not claimed yet.
    failed: Vec<Arc<Outcome>>,
    sweep_at: usize,
    /// Failures that nobody can claim any more, by target: how many, and the first.
    unclaimed: BTreeMap<GlobalRank, (u64, Error)>,
    /// Outcomes that are known, to be used again once their owners have let them go; no more than there are ids.
    spare: Vec<Arc<Outcome>>,
}

impl Outstanding {
    /// Room for `capacity` transfers, and for as many messages as the queues are deep: together
    /// at most 65536.
    pub(crate) fn new(issuer: u64, origin: GlobalRank, capacity: u32, depth: u32) -> Outstanding {
        Outstanding {
            issuer,
            number: 0,
            origin,
            by_id: (0..depth + capacity).map(|_| None).collect(),
            under_way: 0,
            behind_messages: depth,
            free_ids: (depth..depth + capacity)
                .rev()
                .map(|id| id as u16)
                .collect(),
            free_message_ids: (0..depth).rev().map(|id| id as u16).collect(),
            to_target: vec![0; 256],
            bytes: 0,
            failed: Vec::new(),
            sweep_at: 16,
            unclaimed: BTreeMap::new(),
            spare: Vec::new(),
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

    /// A number for an operation.
    pub(crate) fn number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// An outcome that is not known yet.
    pub(crate) fn outcome(&mut self, asked: Asked) -> Arc<Outcome> {
        let fresh = Outcome {
            issuer: self.issuer,
            number: self.number(),
            asked,
            id: AtomicU32::new(NO_ID),
            ended: End::default(),
            claimed: AtomicBool::new(false),
        };
        // One that its owner still looks at is left to it.
        if let Some(mut spare) = self.spare.pop()
            && let Some(outcome) = Arc::get_mut(&mut spare)
        {
            *outcome = fresh;
            return spare;
        }
        Arc::new(fresh)
    }

    /// Enters what is posted; `None` when all ids are in use. A target fits the hardware's field.
    pub(crate) fn enter(&mut self, outcome: Arc<Outcome>, held: Held) -> Option<u16> {
        let id = match outcome.asked.message() {
            None => self.free_ids.pop()?,
            Some(_) => self.free_message_ids.pop()?,
        };
        outcome.id.store(id.into(), Ordering::Relaxed);
        self.under_way += 1;
        if let Some(target) = outcome.asked.target() {
            self.to_target[target.0 as usize] += 1;
        }
        self.bytes += outcome.asked.bytes();
        self.by_id[usize::from(id)] = Some(UnderWay {
            outcome,
            _held: held,
        });
        Some(id)
    }

    /// Takes in a completion; what it answers, if that is under way.
    pub(crate) fn complete(&mut self, id: u32, ended: Ended) -> Option<Answered> {
        let under_way = self.by_id.get_mut(id as usize).and_then(Option::take)?;
        let outcome = under_way.outcome;
        match id < self.behind_messages {
            true => self.free_message_ids.push(id as u16),
            false => self.free_ids.push(id as u16),
        }
        self.under_way -= 1;
        let answered = Answered {
            number: outcome.number,
            context: match &outcome.asked {
                Asked::Collective(asking) => asking.context,
                Asked::Herald { context } => Some(*context),
                Asked::Transfer(_) | Asked::Quiet(_) | Asked::Message { .. } => None,
            },
            message: outcome.asked.message().copied(),
        };
        if let Some(target) = outcome.asked.target() {
            self.to_target[target.0 as usize] -= 1;
        }
        self.bytes -= outcome.asked.bytes();
        if ended.is_well() && self.spare.len() < self.by_id.len() {
            outcome.ended.set(ended);
            self.spare.push(outcome);
        } else {
            self.settle(outcome, ended);
        }
        Some(answered)
    }

    /// Makes known how something ended.
    pub(crate) fn settle(&mut self, outcome: Arc<Outcome>, ended: impl Into<Ended>) {
        let ended = ended.into();
        outcome.ended.set(ended);
        let is_own = matches!(outcome.asked, Asked::Quiet(_) | Asked::Herald { .. });
        if !ended.is_well() && !is_own {
            self.failed.push(outcome);
            if self.failed.len() >= self.sweep_at {
                self.sweep();
            }
        }
    }

    /// Moves the failures whose requests are gone to `unclaimed`.
    fn sweep(&mut self) {
        for outcome in std::mem::take(&mut self.failed) {
            if outcome.claimed.load(Ordering::Relaxed) {
                continue;
            }
            if Arc::strong_count(&outcome) > 1 {
                self.failed.push(outcome);
            } else if let Err(error) = outcome.claim(self.origin) {
                let target = outcome.asked.target().unwrap_or(self.origin);
                self.unclaimed.entry(target).or_insert((0, error)).0 += 1;
            }
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
            .filter_map(|outcome| outcome.asked.message())
            .find(|message| message.kind == kind)
            .copied()
    }

    /// Receives under way.
    pub(crate) fn receives(&self) -> Vec<Arc<Outcome>> {
        let is_receive = |outcome: &&Arc<Outcome>| {
            let message = outcome.asked.message();
            message.is_some_and(|message| message.kind == MessageKind::Receive)
        };
        self.messages().filter(is_receive).cloned().collect()
    }

    fn messages(&self) -> impl Iterator<Item = &Arc<Outcome>> {
        let ids = &self.by_id[..self.behind_messages as usize];
        ids.iter().flatten().map(|under_way| &under_way.outcome)
    }

    /// Checks that this rank issued the request.
    pub(crate) fn check(&self, request: &Request) -> Result<()> {
        if request.outcome.issuer == self.issuer {
            return Ok(());
        }
        Err(Error::ForeignRequest { rank: self.origin })
    }

    /// How a request ended; `Ok` as long as it has not.
    pub(crate) fn claim(&self, request: &Request) -> Result<()> {
        request.outcome.claim(self.origin)
    }
}
