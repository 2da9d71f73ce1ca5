//! Overflow: the library takes unexpected messages over from the hardware.
//!
//! A source may have [`Messages::quota`](super::Messages::quota) unexpected messages at this rank.
//! Its next message waits at the source. If the rank then waits for this next message, nothing
//! moves. So a rank that has waited for some time listens for the cause `crowded`: as many
//! unexpected messages as one source may have. After [`ANY`] times this time, one message is
//! enough: messages of the source to other ranks may hold the source's command ids. Then the library
//! receives the unexpected messages of all contexts, in their order, and keeps them in host memory. A later receive or probe looks at
//! these messages first, because they are older than the messages in the hardware's queue. A
//! message is taken over only if no receive waits for it.
//!
//! The payload of an announced message stays at its sender, so node memory never limits the number
//! of unexpected messages. The take-over ends the announcement with [`Status::Deferred`]. Sender and
//! receiver count the deferred messages between them, so both know a message by its number. When a
//! receive takes the message, the receiver calls for it: a message without payload in the context
//! [`CALLS`], whose tag is the number. The sender then announces the message again, in the context
//! [`DEFERRED`] with the number as its tag.
//!
//! [`Status::Deferred`]: alcor_abi::Status::Deferred

use std::collections::{BTreeMap, VecDeque};

use alcor_abi::Status;
use alcor_abi::packets::x_tag;
use alcor_abi::rank::{self, message_queues};

use super::context::{CALLS, Contexts, DEFERRED};
use super::{Line, Message, MessageKind, MessageStatus, Queued};
use crate::ending::Completion;
use crate::progress::{Progress, Wanted};
use crate::request::{Descriptor, Held, NOTHING, Outcome, Request};
use crate::{Cycle, Error, GlobalRank, NodeAddr, Result};

/// A wait of this multiple of the first time takes over any unexpected message.
const ANY: u64 = 4;

/// A message that the library has taken over.
#[derive(Debug)]
struct Kept {
    context: u8,
    found: MessageStatus,
    payload: Payload,
}

#[derive(Debug)]
enum Payload {
    Here(Vec<u8>),
    /// The payload is at the sender, which knows the message by this number.
    AtSender(u32),
}

/// A receive whose message has been called for.
#[derive(Debug)]
struct Claim {
    outcome: Outcome,
    found: MessageStatus,
    /// The receive of the message in the context [`DEFERRED`].
    request: Request<'static>,
}

/// This rank's announced messages to one destination that the destination has deferred.
#[derive(Debug, Default)]
struct AwayAt {
    /// Number of messages that the destination has deferred so far.
    count: u32,
    messages: BTreeMap<u32, Queued>,
}

/// The messages of a rank beyond the hardware's queue.
#[derive(Debug, Default)]
pub(super) struct Overflow {
    /// Contexts of the rank's communicators.
    pub(super) contexts: Contexts,
    /// Node memory for the payload of one message; `None` if messages are not taken over.
    bounce: Option<NodeAddr>,
    /// Messages taken over, oldest first.
    kept: VecDeque<Kept>,
    /// By source: number of messages that were deferred here.
    deferred_here: BTreeMap<GlobalRank, u32>,
    claims: Vec<Claim>,
    away: BTreeMap<GlobalRank, AwayAt>,
    /// Number of messages in `away`.
    deferred: u32,
    /// The receive of the next call.
    calls: Option<Request<'static>>,
    /// Begin of waits with a limit, of which none has succeeded.
    waits_since: Option<Cycle>,
    /// Number of unexpected messages that the wait under way listens for.
    level: Option<u32>,
    /// The last value of MESSAGE_WAKE.
    wake: Option<u32>,
    /// Whether unexpected messages are to be taken over.
    is_crowded: bool,
    /// Number of messages in the hardware's queue that can't be taken over: long messages on a
    /// board with kernels, and messages in contexts of no communicator.
    left: u32,
}

/// Numbers of deferred messages are tags.
fn next(number: u32) -> u32 {
    number.wrapping_add(1) & x_tag::TAG.max()
}

impl Overflow {
    pub(super) fn new(bounce: Option<NodeAddr>) -> Overflow {
        Overflow {
            bounce,
            ..Overflow::default()
        }
    }

    /// Returns whether a wait must look at completions on behalf of these messages.
    pub(super) fn is_active(&self) -> bool {
        self.is_crowded || self.deferred > 0 || self.calls.is_some() || !self.claims.is_empty()
    }

    /// Returns whether waits listen for the cause `crowded`.
    pub(super) fn listens(&self) -> bool {
        self.level.is_some()
    }

    pub(super) fn waits_since(&mut self, now: Cycle) -> Cycle {
        *self.waits_since.get_or_insert(now)
    }

    pub(super) fn stop_listening(&mut self) {
        self.level = None;
        self.left = 0;
        self.waits_since = None;
    }

    /// Handles the cause `crowded`.
    pub(super) fn crowded(&mut self) {
        self.is_crowded |= self.listens();
    }

    /// Ends the take-over of messages.
    pub(super) fn close(&mut self) {
        self.bounce = None;
        self.is_crowded = false;
    }

    /// Number of deferred messages of this rank.
    pub(super) fn deferred(&self) -> u32 {
        self.deferred
    }

    /// Number of receives whose messages have been called for.
    pub(super) fn claims(&self) -> u32 {
        self.claims.len() as u32
    }

    pub(super) fn first_deferred(&self) -> Option<Message> {
        let first = self
            .away
            .values()
            .find_map(|to| to.messages.values().next());
        first.and_then(|queued| queued.outcome.message().copied())
    }

    /// Returns whether a message has been called for on behalf of the receive of this number.
    pub(super) fn has_claim(&self, number: u64) -> bool {
        let mut claims = self.claims.iter();
        claims.any(|claim| claim.outcome.number() == number)
    }

    fn place_for(&self, wanted: &Message) -> Option<usize> {
        let mut kept = self.kept.iter();
        kept.position(|kept| wanted.is_for(kept.context, &kept.found))
    }

    /// Returns the oldest kept message that a receive or probe matches.
    pub(super) fn first_for(&self, wanted: &Message) -> Option<MessageStatus> {
        let place = self.place_for(wanted)?;
        Some(self.kept.get(place)?.found)
    }

    /// Keeps a message of this rank that its destination has deferred.
    fn defer(&mut self, to: GlobalRank, outcome: Outcome, held: Held) {
        let away = self.away.entry(to).or_default();
        let number = away.count;
        away.count = next(number);
        let answers = Some(number);
        let queued = Queued {
            outcome,
            held,
            answers,
        };
        away.messages.insert(number, queued);
        self.deferred += 1;
    }

    fn called(&mut self, to: GlobalRank, number: u32) -> Option<Queued> {
        let found = self.away.get_mut(&to)?.messages.remove(&number)?;
        self.deferred -= 1;
        Some(found)
    }
}

impl Progress {
    /// Returns the number of unexpected messages that a wait of this length listens for.
    fn crowd_after(&self, waited: u64) -> Option<u32> {
        let first = self.messages.listen_after;
        if self.messages.overflow.bounce.is_none() || waited < first {
            None
        } else if waited < first.saturating_mul(ANY) {
            Some(self.messages.credit)
        } else {
            Some(1)
        }
    }

    /// Time from which on a wait that began at `began` listens for fewer messages.
    pub(crate) fn next_listening(&self, began: Cycle) -> Cycle {
        let first = self.messages.listen_after;
        let waited = match self.messages.overflow.level {
            _ if self.messages.overflow.bounce.is_none() => return Cycle(u64::MAX),
            None => first,
            Some(1) => return Cycle(u64::MAX),
            Some(_) => first.saturating_mul(ANY),
        };
        Cycle(began.0.saturating_add(waited))
    }

    /// Returns the cycles after which a wait takes over any unexpected message.
    pub(crate) fn last_listening(&self) -> u64 {
        match self.messages.overflow.bounce {
            Some(_) => self.messages.listen_after.saturating_mul(ANY),
            None => 0,
        }
    }

    /// Listens for the cause `crowded` once a wait that began at `began` has lasted for some time.
    pub(crate) fn listen(&mut self, began: Cycle, now: Cycle) -> Result<()> {
        let level = self.crowd_after(now.0.saturating_sub(began.0));
        if level.is_none() || self.messages.overflow.level == level {
            return Ok(());
        }
        self.messages.overflow.level = level;
        self.set_wake()
    }

    fn set_wake(&mut self) -> Result<()> {
        let overflow = &mut self.messages.overflow;
        let Some(level) = overflow.level else {
            return Ok(());
        };
        let wake = level.max(overflow.left + 1);
        if overflow.wake.replace(wake) != Some(wake) {
            self.write(rank::MESSAGE_WAKE, wake)?;
        }
        Ok(())
    }

    /// Sets the number of messages that can't be taken over.
    pub(super) fn leave(&mut self, messages: u32) -> Result<()> {
        if std::mem::replace(&mut self.messages.overflow.left, messages) == messages {
            return Ok(());
        }
        self.set_wake()
    }

    fn unexpected(&mut self) -> Result<u32> {
        Ok(message_queues::UNEXPECTED.get(self.read(rank::MESSAGE_QUEUES)?))
    }

    /// Looks at the hardware's queue, for a program that has polled for this time.
    pub(crate) fn look_for_crowd(&mut self, polled: u64) -> Result<()> {
        if let Some(level) = self.crowd_after(polled) {
            self.messages.overflow.is_crowded |= self.unexpected()? >= level;
        }
        Ok(())
    }

    /// Moves a deferred message from the outstanding operations to those that wait for a call.
    pub(crate) fn defer_message(&mut self, id: u32) -> Option<u64> {
        let (outcome, held) = self.outstanding.withdraw(id)?;
        let number = outcome.number();
        if let Some(&message) = outcome.message()
            && let Some(to) = message.peer
        {
            self.messages.ended(&message);
            self.messages.overflow.defer(to, outcome, held);
        }
        Some(number)
    }

    /// Advances the messages beyond the hardware's queue. Returns whether anything moved.
    pub(super) fn advance_overflow(&mut self) -> Result<bool> {
        let mut moved = false;
        while let Some(place) = self.claim_that_ended() {
            let claim = self.messages.overflow.claims.swap_remove(place);
            // The outcome of the receive reports the status.
            let _ = self.outstanding.claim(&claim.request);
            let status = claim.request.status().unwrap_or(Status::Cancelled);
            self.settle(claim.outcome, Completion::of(status, &claim.found));
            moved = true;
        }
        moved |= self.answer_calls()?;
        if std::mem::take(&mut self.messages.overflow.is_crowded) {
            moved |= self.take_over()?;
        }
        Ok(moved)
    }

    fn claim_that_ended(&self) -> Option<usize> {
        let mut claims = self.messages.overflow.claims.iter();
        claims.position(|claim| claim.request.is_known())
    }

    /// Sends the deferred messages that receivers have called for, and posts the receive of the
    /// next call.
    fn answer_calls(&mut self) -> Result<bool> {
        let mut moved = false;
        let is_known = |calls: &mut Request<'_>| calls.is_known();
        while let Some(call) = self.messages.overflow.calls.take_if(is_known) {
            self.outstanding.claim(&call)?;
            let found = call.message_status().filter(|found| !found.cancelled);
            if let Some(found) = found
                && let Some(queued) = self.messages.overflow.called(found.pid, found.tag)
            {
                self.messages.waiting += 1;
                let line = Line::To(found.pid.0 as usize);
                self.messages.queue(line).push_front(queued);
                moved = true;
            }
            self.receive_calls()?;
        }
        if self.messages.overflow.calls.is_none() {
            self.receive_calls()?;
        }
        Ok(moved)
    }

    fn receive_calls(&mut self) -> Result<()> {
        if self.messages.overflow.deferred == 0 {
            return Ok(());
        }
        let call = Message {
            kind: MessageKind::Receive,
            peer: None,
            tag: None,
            context: CALLS,
            local: NodeAddr(0),
            length: 0,
            takes_over: false,
        };
        let request = self.start_internal(call)?;
        self.messages.overflow.calls = Some(request);
        Ok(())
    }

    fn start_internal(&mut self, message: Message) -> Result<Request<'static>> {
        let members = None;
        self.start_first(Descriptor::Message { message, members }, NOTHING)
    }

    /// Takes over the unexpected messages of all contexts. Returns whether there were any.
    fn take_over(&mut self) -> Result<bool> {
        let Some(bounce) = self.messages.overflow.bounce else {
            return Ok(false);
        };
        // Messages that arrive while the library probes are new.
        let before = self.unexpected()?;
        let mut moved = false;
        for context in self.messages.overflow.contexts.iter() {
            let probe = Message {
                kind: MessageKind::Probe,
                peer: None,
                tag: None,
                context,
                local: NodeAddr(0),
                length: 0,
                takes_over: false,
            };
            while let Some(found) = self.look(probe)? {
                if !self.take_found(context, &found)? && !self.keep(context, found, bounce)? {
                    break;
                }
                moved = true;
            }
        }
        if !moved {
            // The messages that are left must not wake the rank again.
            self.leave(before)?;
        }
        Ok(moved)
    }

    /// Receives a found message into host memory. Returns whether this is possible.
    fn keep(&mut self, context: u8, found: MessageStatus, bounce: NodeAddr) -> Result<bool> {
        let is_long = found.length > self.messages.fragment;
        // A kernel cannot defer its messages.
        if is_long && self.info().kernel_messages() > 0 {
            return Ok(false);
        }
        let message = Message {
            kind: MessageKind::Receive,
            peer: Some(found.pid),
            tag: Some(found.tag),
            context,
            local: bounce,
            length: self.messages.fragment,
            takes_over: true,
        };
        self.reserve_transfer()?;
        let descriptor = Descriptor::Message {
            message,
            members: None,
        };
        let (outcome, request) = self.begin(descriptor);
        self.post_message(Queued {
            outcome,
            held: NOTHING,
            answers: None,
        })?;
        self.wait_for_one(&request, Request::is_known)?;
        self.outstanding.claim(&request)?;
        let payload = if request.status() == Some(Status::Deferred) {
            let number = self
                .messages
                .overflow
                .deferred_here
                .entry(found.pid)
                .or_default();
            Payload::AtSender(std::mem::replace(number, next(*number)))
        } else {
            let mut bytes = Vec::new();
            let length = found.length as usize;
            bytes
                .try_reserve_exact(length)
                .map_err(|_| Error::OutOfHostMemory {
                    rank: self.me,
                    kept: self.messages.overflow.kept.len(),
                })?;
            bytes.resize(length, 0);
            self.port.read_memory(bounce, &mut bytes)?;
            Payload::Here(bytes)
        };
        self.messages.overflow.kept.push_back(Kept {
            context,
            found,
            payload,
        });
        Ok(true)
    }

    /// Ends a receive with the oldest kept message that matches, or calls for the message. Returns
    /// the receive if no kept message matches.
    pub(super) fn receive_kept(&mut self, queued: Queued) -> Result<Option<Queued>> {
        let receive = queued.outcome.message().copied();
        let overflow = &mut self.messages.overflow;
        let place = receive.and_then(|receive| Some((receive, overflow.place_for(&receive)?)));
        let Some((receive, place)) = place else {
            return Ok(Some(queued));
        };
        let Some(Kept { found, payload, .. }) = overflow.kept.remove(place) else {
            return Ok(Some(queued));
        };
        match payload {
            Payload::Here(bytes) => {
                let whole = bytes.len().min(receive.length as usize);
                self.port.write_memory(receive.local, &bytes[..whole])?;
                let status = if bytes.len() > whole {
                    Status::Truncated
                } else {
                    Status::Ok
                };
                self.settle(queued.outcome, Completion::of(status, &found));
            }
            Payload::AtSender(number) => {
                let members = None;
                let message = Message {
                    peer: Some(found.pid),
                    tag: Some(number),
                    context: DEFERRED,
                    ..receive
                };
                let request =
                    self.start_first(Descriptor::Message { message, members }, queued.held)?;
                self.messages.overflow.claims.push(Claim {
                    outcome: queued.outcome,
                    found,
                    request,
                });
                // The call completes at this rank without a trace.
                let _ = self.start_internal(Message {
                    kind: MessageKind::Send,
                    context: CALLS,
                    local: NodeAddr(0),
                    length: 0,
                    ..message
                })?;
            }
        }
        Ok(None)
    }

    /// Waits until the messages that have been called for are here.
    pub(super) fn end_claims(&mut self) -> Result<()> {
        self.wait_for(
            |progress| {
                let first = progress.messages.overflow.claims.first();
                let message = first.and_then(|claim| claim.outcome.message().copied());
                match message {
                    Some(message) => progress.awaited_message(message),
                    None => crate::watchdog::Awaited::Completions { missing: 0 },
                }
            },
            |progress| match progress.messages.overflow.claims() {
                0 => Wanted::Nothing,
                missing => progress.completions(missing),
            },
        )
    }
}
