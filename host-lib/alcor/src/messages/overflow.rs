//! Overflow: the library takes unexpected messages over from the hardware.
//!
//! The hardware of a rank has room for a number of unexpected messages, of each source or of all. The
//! next message waits at its source. A rank that waits for this message would wait for ever. So a
//! rank that has waited for some time enables the cause `crowded`, and its library receives
//! unexpected messages into host memory. The number of messages that raises the cause is that
//! [room](super::Messages::crowd) at first. Later it is one, because a source may lack command ids
//! before it has used the room: its messages to other ranks hold them.
//!
//! A message is taken over only if no receive waits for it. Each message in host memory is older
//! than the messages of its source in the hardware. So receives and probes search host memory first.
//!
//! A matched probe also takes messages over: the message that it finds, and the earlier messages of
//! its source. The claim of the probe hides its message from receives and other probes. When a claim
//! is dropped, a receive that has been posted meanwhile may match the message. Then the library
//! cancels this receive in the hardware, and gives it the message.
//!
//! The payload of an announced message stays at its sender. The take-over ends the announcement with
//! [`Status::Deferred`]. Sender and receiver each count the deferred messages between them, so both
//! identify a message by its number. When a receive takes the message, the receiver sends a call: a
//! message without payload in the context [`CALLS`], with the number as its tag. The sender then
//! announces the message again, in the context [`DEFERRED`](super::context::DEFERRED) with the
//! number as its tag. A call may arrive before the completion that defers its message, because
//! requests pass replies. The sender keeps the call until then.
//!
//! [`Status::Deferred`]: alcor_abi::Status::Deferred

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use alcor_abi::Status;
use alcor_abi::packets::x_tag;
use alcor_abi::rank::{self, message_queues};

use super::context::CALLS;
use super::{Message, MessageKind, MessageStatus, Queued};
use crate::ending::Completion;
use crate::progress::Progress;
use crate::request::{Descriptor, Held, NOTHING, Outcome, Request};
use crate::watchdog::Awaited;
use crate::{BoardInfo, Cycle, Error, GlobalRank, NodeAddr, Options, Result};

/// The second time of a wait, as a multiple of the first: from then on one unexpected message
/// raises the cause `crowded`.
const ANY: u64 = 4;
/// Host memory of a message besides its payload, in bytes.
const OVERHEAD: u64 = 64;

/// A message in host memory.
#[derive(Debug)]
struct Kept {
    context: u8,
    found: MessageStatus,
    payload: Payload,
    /// The claim of a matched probe. Without one, any receive may take the message.
    claim: Weak<Claim>,
}

/// The right of a matched probe to one message. The message is free again when the claim is
/// dropped.
#[derive(Debug)]
pub(super) struct Claim {
    /// [`Overflow::returned`] of the rank.
    returned: Arc<AtomicBool>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.returned.store(true, Ordering::Release);
    }
}

#[derive(Debug)]
enum Payload {
    Here(Vec<u8>),
    /// The sender has the payload. The number identifies the message.
    AtSender(u32),
}

impl Kept {
    fn bytes(&self) -> u64 {
        match &self.payload {
            Payload::Here(bytes) => OVERHEAD + bytes.len() as u64,
            Payload::AtSender(_) => OVERHEAD,
        }
    }
}

/// A send or receive of a deferred message, and the operation that carries the payload.
#[derive(Debug)]
struct Relay {
    /// The operation of the program; `None` if it has ended before.
    outcome: Option<Outcome>,
    /// The message of a receive.
    found: Option<MessageStatus>,
    request: Request<'static>,
}

/// Messages of this rank that one destination has deferred.
#[derive(Debug, Default)]
struct Away {
    /// Number of the next message.
    next: u32,
    messages: BTreeMap<u32, (Outcome, Held)>,
}

/// The messages of a rank beyond the hardware's queues.
#[derive(Debug)]
pub(crate) struct Overflow {
    /// Node memory for the payload of one message; `None` if messages are not taken over.
    bounce: Option<NodeAddr>,
    /// Maximum of host memory for `kept`, in bytes.
    limit: u64,
    /// Host memory of `kept`, in bytes.
    bytes: u64,
    /// Messages taken over, oldest first.
    kept: VecDeque<Kept>,
    /// Whether a claim was dropped. A posted receive may match its message.
    returned: Arc<AtomicBool>,
    /// A receive that the library cancels to give it a returned message: its number, and the
    /// receive once it has left the hardware.
    recalled: Option<(u64, Option<Queued>)>,
    /// By source: number of the next message that this rank defers.
    next: BTreeMap<GlobalRank, u32>,
    /// Deferred messages of this rank, by destination.
    away: BTreeMap<GlobalRank, Away>,
    /// Number of messages in `away`.
    deferred: u32,
    relays: Vec<Relay>,
    /// The receive of the next call.
    call: Option<Request<'static>>,
    /// Calls not answered yet: the sender of the call, and the number of the message.
    calls: Vec<(GlobalRank, u32)>,
    /// Begin of waits with a limit, of which none has succeeded.
    waits_since: Option<Cycle>,
    /// Number of unexpected messages that raises the cause `crowded` in the wait under way.
    level: Option<u32>,
    /// The last value of MESSAGE_WAKE.
    wake: Option<u32>,
    /// Whether the cause `crowded` was raised.
    is_crowded: bool,
    /// Number of messages in the hardware's queue that can't be taken over: messages that kernels
    /// have announced, messages behind these, and messages in contexts of no communicator.
    left: u32,
}

/// Returns the number after this one. Numbers are tags.
fn after(number: u32) -> u32 {
    number.wrapping_add(1) & x_tag::TAG.max()
}

impl Overflow {
    pub(super) fn new(info: &BoardInfo, options: &Options) -> Overflow {
        Overflow {
            bounce: info.has_messages().then_some(NodeAddr(info.usable_bytes())),
            limit: options.unexpected_bytes,
            bytes: 0,
            kept: VecDeque::new(),
            returned: Arc::default(),
            recalled: None,
            next: BTreeMap::new(),
            away: BTreeMap::new(),
            deferred: 0,
            relays: Vec::new(),
            call: None,
            calls: Vec::new(),
            waits_since: None,
            level: None,
            wake: None,
            is_crowded: false,
            left: 0,
        }
    }

    /// Returns whether a completion may advance these messages.
    pub(super) fn is_active(&self) -> bool {
        self.is_crowded || self.deferred > 0 || !self.relays.is_empty() || self.has_returned()
    }

    /// Returns whether the claim of a message was dropped.
    pub(super) fn has_returned(&self) -> bool {
        self.returned.load(Ordering::Acquire)
    }

    /// Returns whether messages are left in the hardware's queue.
    pub(super) fn has_left(&self) -> bool {
        self.left > 0
    }

    pub(super) fn listens(&self) -> bool {
        self.level.is_some()
    }

    pub(super) fn stop_listening(&mut self) {
        self.level = None;
        self.left = 0;
        self.waits_since = None;
    }

    /// Returns the begin of waits with a limit, of which none has succeeded.
    pub(crate) fn waits_since(&mut self, now: Cycle) -> Cycle {
        *self.waits_since.get_or_insert(now)
    }

    /// Handles the cause `crowded`.
    pub(crate) fn crowded(&mut self) {
        self.is_crowded |= self.listens();
    }

    /// Ends the take-over of messages.
    pub(super) fn close(&mut self) {
        self.bounce = None;
        self.is_crowded = false;
    }

    /// Removes the deferred messages of this rank with such a descriptor.
    pub(crate) fn take_away(&mut self, is_wanted: impl Fn(&Descriptor) -> bool) -> Vec<Outcome> {
        let mut taken = Vec::new();
        for away in self.away.values_mut() {
            for (number, (outcome, held)) in std::mem::take(&mut away.messages) {
                if outcome.descriptor().is_some_and(&is_wanted) {
                    taken.push(outcome);
                } else {
                    away.messages.insert(number, (outcome, held));
                }
            }
        }
        self.deferred -= taken.len() as u32;
        taken
    }

    /// Ends the relays of operations with such a descriptor. Returns the operations, and for each receive the number
    /// of the receive that carries its payload.
    pub(crate) fn take_relays(
        &mut self,
        is_wanted: impl Fn(&Descriptor) -> bool,
    ) -> Vec<(Outcome, Option<u64>)> {
        let taken = self.relays.iter_mut().filter_map(|relay| {
            let is_it = |outcome: &mut Outcome| outcome.descriptor().is_some_and(&is_wanted);
            let outcome = relay.outcome.take_if(is_it)?;
            let receive = relay.found.map(|_| relay.request.number());
            Some((outcome, receive))
        });
        taken.collect()
    }

    /// Removes calls of dead ranks, and calls for messages that have ended since their deferral.
    fn forget_calls(&mut self, is_dead: impl Fn(GlobalRank) -> bool) {
        let away = &self.away;
        self.calls.retain(|&(by, number)| {
            let is_over = away.get(&by).is_some_and(|away| {
                let behind = away.next.wrapping_sub(number) & x_tag::TAG.max();
                let was_deferred = behind != 0 && behind <= x_tag::TAG.max() / 2;
                was_deferred && !away.messages.contains_key(&number)
            });
            !is_over && !is_dead(by)
        });
    }

    /// Number of deferred messages of this rank.
    pub(super) fn deferred(&self) -> u32 {
        self.deferred
    }

    pub(super) fn first_deferred(&self) -> Option<Message> {
        let mut away = self.away.values().flat_map(|away| away.messages.values());
        away.next()?.0.message().copied()
    }

    fn place_for(&self, wanted: &Message) -> Option<usize> {
        let mut kept = self.kept.iter();
        kept.position(|kept| {
            kept.claim.strong_count() == 0 && wanted.is_for(kept.context, &kept.found)
        })
    }

    /// Claims the oldest message in host memory that a probe matches.
    fn claim_for(&mut self, wanted: &Message) -> Option<(MessageStatus, Arc<Claim>)> {
        let place = self.place_for(wanted)?;
        let kept = self.kept.get_mut(place)?;
        let returned = Arc::clone(&self.returned);
        let claim = Arc::new(Claim { returned });
        kept.claim = Arc::downgrade(&claim);
        Some((kept.found, claim))
    }

    /// Removes the message of a claim.
    fn take_claimed(&mut self, claim: &Arc<Claim>) -> Option<Kept> {
        let is_it = |kept: &Kept| Weak::as_ptr(&kept.claim) == Arc::as_ptr(claim);
        let place = self.kept.iter().position(is_it)?;
        self.remove(place)
    }

    fn remove(&mut self, place: usize) -> Option<Kept> {
        let kept = self.kept.remove(place)?;
        self.bytes -= kept.bytes();
        Some(kept)
    }

    /// Returns the oldest message in host memory that a probe matches.
    pub(super) fn first_for(&self, wanted: &Message) -> Option<MessageStatus> {
        let place = self.place_for(wanted)?;
        Some(self.kept.get(place)?.found)
    }

    /// Removes the oldest message in host memory that a receive matches.
    fn take_for(&mut self, wanted: &Message) -> Option<Kept> {
        let place = self.place_for(wanted)?;
        self.remove(place)
    }

    /// Removes the first call of a message that has been deferred, and the message.
    fn next_called(&mut self) -> Option<(u32, Outcome, Held)> {
        let (place, number, (outcome, held)) =
            (0..).zip(&self.calls).find_map(|(place, (by, number))| {
                let messages = &mut self.away.get_mut(by)?.messages;
                Some((place, *number, messages.remove(number)?))
            })?;
        self.calls.remove(place);
        self.deferred -= 1;
        Some((number, outcome, held))
    }
}

impl Progress {
    /// Returns the cycles of a wait after which a full quota, and after which one message raises the
    /// cause `crowded`.
    fn listening(&self) -> Option<[u64; 2]> {
        let first = if self.messages.is_software {
            0
        } else {
            self.messages.listen_after
        };
        let times = [first, first.saturating_mul(ANY)];
        self.messages.overflow.bounce.map(|_| times)
    }

    /// Returns the cycles of a wait after which one message raises the cause `crowded`.
    pub(crate) fn last_listening(&self) -> Option<u64> {
        self.listening().map(|[_, last]| last)
    }

    /// Returns the number of messages that raises the cause `crowded` after a wait of this length.
    fn level_after(&self, waited: u64) -> Option<u32> {
        let [first, last] = self.listening()?;
        if waited >= last {
            Some(1)
        } else {
            (waited >= first).then_some(self.messages.crowd())
        }
    }

    /// Returns the time of the next change of the level in a wait that began at `began`.
    pub(crate) fn next_listening(&self, began: Cycle) -> Cycle {
        let next = match (self.listening(), self.messages.overflow.level) {
            (None, _) | (_, Some(1)) => u64::MAX,
            (Some([first, _]), None) => first,
            (Some([_, last]), Some(_)) => last,
        };
        Cycle(began.0.saturating_add(next))
    }

    /// Sets the level of a wait that began at `began`.
    pub(crate) fn listen(&mut self, began: Cycle, now: Cycle) -> Result<()> {
        let level = self.level_after(now.0.saturating_sub(began.0));
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
        let queues = self.read(rank::MESSAGE_QUEUES)?;
        Ok(message_queues::UNEXPECTED.get(queues))
    }

    /// Reads the length of the hardware's queue, for a program that has polled for this time.
    pub(crate) fn look_for_crowd(&mut self, polled: u64) -> Result<()> {
        if let Some(level) = self.level_after(polled) {
            self.messages.overflow.is_crowded |= self.unexpected()? >= level;
        }
        Ok(())
    }

    /// Handles the completion of a send that the destination has deferred. Returns whether the id
    /// belongs to a send.
    pub(crate) fn defer_message(&mut self, id: u32) -> bool {
        let Some((outcome, held)) = self.outstanding.withdraw(id, MessageKind::Send) else {
            return false;
        };
        if let Some(&message) = outcome.message()
            && let Some(to) = message.peer
        {
            self.messages.ended(&message);
            let overflow = &mut self.messages.overflow;
            let away = overflow.away.entry(to).or_default();
            // The receiver also counts the message of a send that a revocation has ended.
            if !outcome.is_given_up() {
                away.messages.insert(away.next, (outcome, held));
                overflow.deferred += 1;
            }
            away.next = after(away.next);
        }
        true
    }

    /// Handles the completion of a cancelled receive. Returns whether the library has cancelled the
    /// receive to give it a message.
    pub(crate) fn recall_receive(&mut self, id: u32) -> bool {
        let number = self.outstanding.number_of(id);
        let recalled = self.messages.overflow.recalled.as_ref();
        if number.is_none() || recalled.map(|recalled| recalled.0) != number {
            return false;
        }
        let Some((outcome, held)) = self.outstanding.withdraw(id, MessageKind::Receive) else {
            return false;
        };
        if let Some(message) = outcome.message() {
            self.messages.ended(message);
        }
        if let Some(recalled) = &mut self.messages.overflow.recalled {
            recalled.1 = Some(Queued::new(outcome, held));
        }
        true
    }

    /// Advances the messages beyond the hardware's queues. Returns whether anything moved.
    pub(super) fn advance_overflow(&mut self) -> Result<bool> {
        let mut moved = self.end_relay()?;
        moved |= self.answer_calls()?;
        if self
            .messages
            .overflow
            .returned
            .swap(false, Ordering::AcqRel)
        {
            moved |= self.give_returned()?;
        }
        if std::mem::take(&mut self.messages.overflow.is_crowded) {
            moved |= self.take_over()?;
        }
        Ok(moved)
    }

    /// Ends the sends and receives of deferred messages whose payload has arrived.
    fn end_relay(&mut self) -> Result<bool> {
        let relays = &mut self.messages.overflow.relays;
        let ended: Vec<Relay> = relays
            .extract_if(.., |relay| relay.request.is_known())
            .collect();
        let moved = !ended.is_empty();
        for relay in ended {
            // The outcome reports an error.
            let _ = self.outstanding.claim(&relay.request);
            let status = relay.request.status().unwrap_or(Status::Cancelled);
            match (relay.outcome, relay.found) {
                (Some(outcome), Some(found)) => {
                    self.settle(outcome, Completion::of(status, &found));
                }
                (Some(outcome), None) => self.settle(outcome, status),
                (None, _) => {}
            }
        }
        Ok(moved)
    }

    /// Starts the operation that carries the payload of a deferred message.
    fn relay(
        &mut self,
        outcome: Outcome,
        held: Held,
        found: Option<MessageStatus>,
        message: Message,
    ) -> Result<()> {
        let request = self.start_own(message, held)?;
        let relay = Relay {
            outcome: Some(outcome),
            found,
            request,
        };
        self.messages.overflow.relays.push(relay);
        Ok(())
    }

    fn start_own(&mut self, message: Message, held: Held) -> Result<Request<'static>> {
        let members = None;
        self.start_message(Descriptor::Message { message, members }, held)
    }

    /// Sends the called messages, and posts the receive of the next call.
    fn answer_calls(&mut self) -> Result<bool> {
        let mut moved = false;
        let is_known = |call: &mut Request<'_>| call.is_known();
        loop {
            if let Some(call) = self.messages.overflow.call.take_if(is_known) {
                moved = true;
                self.outstanding.claim(&call)?;
                let found = call.message_status().filter(|found| !found.cancelled);
                let deaths = &self.deaths;
                (self.messages.overflow).forget_calls(|rank| deaths.known.contains(&rank));
                // Each call is for a message to its sender, deferred or under way.
                if let Some(found) = found
                    && self.messages.overflow.calls.len() < self.messages.unreceived() as usize
                {
                    self.messages.overflow.calls.push((found.pid, found.tag));
                }
            }
            while let Some((number, outcome, held)) = self.messages.overflow.next_called() {
                moved = true;
                if let Some(&message) = outcome.message() {
                    self.relay(outcome, held, None, message.of_deferred(number))?;
                }
            }
            let overflow = &self.messages.overflow;
            let is_closed = overflow.bounce.is_none();
            if overflow.call.is_some() || overflow.deferred == 0 || is_closed {
                return Ok(moved);
            }
            let call = Message::empty(MessageKind::Receive, None, None, CALLS);
            let request = self.start_own(call, NOTHING)?;
            self.messages.overflow.call = Some(request);
        }
    }

    /// Takes over the unexpected messages of all contexts. Returns whether there were any.
    fn take_over(&mut self) -> Result<bool> {
        let Some(bounce) = self.messages.overflow.bounce else {
            return Ok(false);
        };
        // Messages that arrive meanwhile raise the cause again. So a source that never stops does
        // not keep the rank here.
        let present = self.unexpected()?;
        let mut taken = 0;
        for context in self.messages.contexts.iter() {
            let probe = Message::empty(MessageKind::Probe, None, None, context);
            while taken < present
                && let Some(found) = self.look(probe)?
                && (self.take_found(context, &found)? || self.keep(context, found, bounce)?)
            {
                taken += 1;
            }
        }
        if taken == 0 {
            // The messages that are left must not raise the cause again.
            self.leave(present)?;
        }
        Ok(taken > 0)
    }

    /// Receives a found message into host memory. Returns whether this is possible.
    fn keep(&mut self, context: u8, found: MessageStatus, bounce: NodeAddr) -> Result<bool> {
        // A kernel does not answer calls.
        if found.of_kernel {
            return Ok(false);
        }
        let is_long = found.length > self.messages.fragment;
        let overflow = &self.messages.overflow;
        let payload = if is_long { 0 } else { found.length };
        let needed = overflow.bytes + OVERHEAD + u64::from(payload);
        if needed > overflow.limit {
            return Err(Error::UnexpectedMessages {
                rank: self.me,
                messages: overflow.kept.len(),
                needed,
                limit: overflow.limit,
            });
        }
        let receive = Message {
            local: bounce,
            length: self.messages.fragment,
            takes_over: true,
            ..Message::empty(
                MessageKind::Receive,
                Some(found.pid),
                Some(found.tag),
                context,
            )
        };
        // The sender forgets the message, so no error may come before this rank has it.
        let ended = self.undivided(|progress| progress.carry_out(receive))?;
        let payload = if ended.status() == Some(Status::Deferred) {
            let next = self.messages.overflow.next.entry(found.pid).or_default();
            Payload::AtSender(std::mem::replace(next, after(*next)))
        } else {
            let mut bytes = vec![0; found.length as usize];
            self.port.read_memory(bounce, &mut bytes)?;
            Payload::Here(bytes)
        };
        let kept = Kept {
            context,
            found,
            payload,
            claim: Weak::new(),
        };
        self.messages.overflow.bytes += kept.bytes();
        self.messages.overflow.kept.push_back(kept);
        Ok(true)
    }

    /// Ends a receive with the oldest message in host memory that matches, or calls for its payload.
    /// Returns the receive if no message matches.
    pub(super) fn receive_kept(&mut self, queued: Queued) -> Result<Option<Queued>> {
        let Some(&receive) = queued.outcome.message() else {
            return Ok(Some(queued));
        };
        let Some(kept) = self.messages.overflow.take_for(&receive) else {
            return Ok(Some(queued));
        };
        self.end_with(queued, receive, kept)?;
        Ok(None)
    }

    /// Ends a receive with a message in host memory, or calls for its payload.
    fn end_with(&mut self, queued: Queued, receive: Message, kept: Kept) -> Result<()> {
        let (Queued { outcome, held, .. }, found) = (queued, kept.found);
        match kept.payload {
            Payload::Here(bytes) => {
                let whole = bytes.len().min(receive.length as usize);
                self.port.write_memory(receive.local, &bytes[..whole])?;
                let status = if whole < bytes.len() {
                    Status::Truncated
                } else {
                    Status::Ok
                };
                self.settle(outcome, Completion::of(status, &found));
            }
            Payload::AtSender(number) => {
                let from = Message {
                    peer: Some(found.pid),
                    ..receive.of_deferred(number)
                };
                self.relay(outcome, held, Some(found), from)?;
                // No result of the call is of interest here.
                let call = Message::empty(MessageKind::Send, from.peer, from.tag, CALLS);
                let _ = self.start_own(call, NOTHING)?;
            }
        }
        Ok(())
    }

    /// Finds the message that a receive would take now, and claims it. The message is in host memory
    /// then, or its payload at its sender.
    pub(super) fn match_message(
        &mut self,
        probe: Message,
    ) -> Result<Option<(MessageStatus, Arc<Claim>)>> {
        let Some(found) = self.probe(probe)? else {
            return Ok(None);
        };
        self.alone(|progress| progress.keep_up_to(probe, &found))?;
        Ok(self.messages.overflow.claim_for(&probe))
    }

    /// Takes over a found message, and all earlier messages of its source. So each message in host
    /// memory is older than the messages of its source in the hardware.
    fn keep_up_to(&mut self, probe: Message, found: &MessageStatus) -> Result<()> {
        let of_source = Message::empty(MessageKind::Probe, Some(found.pid), None, probe.context);
        while self.messages.overflow.place_for(&probe).is_none() {
            let (Some(bounce), Some(first)) =
                (self.messages.overflow.bounce, self.look(of_source)?)
            else {
                return Ok(());
            };
            if !self.take_found(probe.context, &first)?
                && !self.keep(probe.context, first, bounce)?
            {
                return Err(Error::MessageOfKernel {
                    rank: self.me,
                    peer: first.pid,
                    tag: first.tag,
                    length: first.length,
                });
            }
        }
        Ok(())
    }

    /// Starts the receive of a claimed message.
    pub(super) fn receive_claimed(
        &mut self,
        claim: Arc<Claim>,
        descriptor: Descriptor,
        held: Held,
    ) -> Result<Request<'static>> {
        let Some(kept) = self.messages.overflow.take_claimed(&claim) else {
            return Err(Error::ForeignRequest { rank: self.me });
        };
        let receive = descriptor.message().copied();
        let (outcome, request) = self.begin(descriptor);
        if let Some(receive) = receive {
            self.end_with(Queued::new(outcome, held), receive, kept)?;
        }
        self.post_messages()?;
        Ok(request)
    }

    /// Gives the messages of dropped claims to receives that wait for them. Returns whether there
    /// were any.
    fn give_returned(&mut self) -> Result<bool> {
        let mut moved = false;
        let mut place = 0;
        while let Some(kept) = self.messages.overflow.kept.get(place) {
            let (context, found) = (kept.context, kept.found);
            let is_free = kept.claim.strong_count() == 0;
            let taker = if is_free {
                self.taker_of(context, &found)?
            } else {
                None
            };
            // The kept messages have not changed: waits inside `alone` take none over.
            match taker {
                Some(queued) => {
                    moved = true;
                    if let Some(queued) = self.receive_kept(queued)? {
                        self.messages.receives.push_front(queued);
                        place += 1;
                    }
                }
                None => place += 1,
            }
        }
        Ok(moved)
    }

    /// Removes the first receive that matches a message from the hardware, or from the receives that
    /// wait.
    fn taker_of(&mut self, context: u8, found: &MessageStatus) -> Result<Option<Queued>> {
        while let Some(number) = self.outstanding.receive_for(context, found) {
            self.messages.overflow.recalled = Some((number, None));
            self.cancel_receive(number)?;
            let wanted = Message::empty(MessageKind::Receive, Some(found.pid), None, context);
            self.wait_for(
                |progress| progress.awaited_message(wanted),
                |progress| {
                    let is_under_way = progress.outstanding.message_id(number).is_some();
                    progress.completions(u32::from(is_under_way))
                },
            )?;
            // A receive that has taken another message meanwhile is complete.
            if let Some((_, Some(queued))) = self.messages.overflow.recalled.take() {
                return Ok(Some(queued));
            }
        }
        let place = self.messages.first_for(context, found);
        Ok(place.and_then(|place| self.messages.receives.remove(place)))
    }

    /// Waits until no payload of a deferred message is under way.
    pub(super) fn end_relays(&mut self) -> Result<()> {
        self.wait_for(
            |progress| {
                let first = progress.messages.overflow.relays.first();
                match first.and_then(|relay| relay.outcome.as_ref()?.message()) {
                    Some(&message) => progress.awaited_message(message),
                    None => Awaited::Completions { missing: 0 },
                }
            },
            |progress| {
                let is_over = progress.deaths.has_losses();
                let relays = progress.messages.overflow.relays.len() as u32;
                progress.completions(if is_over { 0 } else { relays })
            },
        )
    }
}
