//! The message engines of a soft board: two lists and their rules.

use std::collections::{BTreeMap, VecDeque};

use alcor_abi::packets::{cq_entry, x_message, x_refusal, x_tag};
use alcor_abi::rank::{self, events, message_queues};
use alcor_abi::{Opcode, Status};

use super::{State, target_of};

/// Serial number of the first message of a source.
const FIRST: u32 = 1;

/// A posted receive, or a probe.
#[derive(Debug, Clone, Copy)]
struct Receive {
    id: u32,
    rank: u32,
    context: u32,
    /// Value of X_TAG.
    tag: u32,
    at: u32,
    length: u32,
}

impl Receive {
    fn is_for(&self, message: &Message) -> bool {
        let any_source = x_tag::ANY_SOURCE.get(self.tag) != 0;
        let any_tag = x_tag::ANY_TAG.get(self.tag) != 0;
        self.context == message.context
            && (any_source || self.rank == message.source)
            && (any_tag || x_tag::TAG.get(self.tag) == message.tag)
    }
}

/// The place of a message's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// This address of the sender's memory.
    Sender(u32),
    /// This fragment of the receiver's unexpected message buffer.
    Fragment(u32),
}

#[derive(Debug, Clone, Copy)]
struct Message {
    /// The sender's index on the board, and its number in the run.
    sender: usize,
    source: u32,
    id: u32,
    context: u32,
    tag: u32,
    /// As in `message_id`.
    serial: u32,
    length: u32,
    is_announced: bool,
    place: Place,
}

/// A message engine, which searches its queues in order.
#[derive(Debug, Default)]
pub(super) struct SoftMessages {
    pub(super) tag: u32,
    posted: VecDeque<Receive>,
    unexpected: VecDeque<Message>,
    /// Sources whose messages are refused, with the number of the message that ends that.
    refusing: BTreeMap<u32, u32>,
    quota: Option<u32>,
    wake: Option<u32>,
    posted_by_walk: u32,
    unexpected_by_walk: u32,
    refused: u32,
}

impl SoftMessages {
    pub(super) fn read(&self, offset: u32) -> Option<u32> {
        Some(match offset {
            rank::MESSAGE_QUEUES => {
                message_queues::POSTED.put(self.posted.len() as u32)
                    | message_queues::UNEXPECTED.put(self.unexpected.len() as u32)
            }
            rank::POSTED_BY_WALK => self.posted_by_walk,
            rank::UNEXPECTED_BY_WALK => self.unexpected_by_walk,
            rank::MESSAGES_REFUSED => self.refused,
            _ => return None,
        })
    }

    pub(super) fn write(&mut self, offset: u32, value: u32) {
        match offset {
            rank::MESSAGE_QUOTA => self.quota = Some(value),
            rank::MESSAGE_WAKE => self.wake = Some(value),
            _ => {}
        }
    }

    /// Returns whether as many unexpected messages wait as MESSAGE_WAKE asks for.
    pub(super) fn is_crowded(&self) -> bool {
        let unexpected = self.unexpected.len() as u32;
        self.wake.is_some_and(|wake| unexpected >= wake)
    }

    /// Returns whether there is room for one more unexpected message of this source.
    fn has_room(&self, source: u32, depth: u32) -> bool {
        let of_source = |message: &&Message| message.source == source;
        let held = self.unexpected.iter().filter(of_source).count() as u32;
        self.unexpected.len() < depth as usize && self.quota.is_none_or(|quota| held < quota)
    }

    /// Returns whether no refusal of an earlier message stands against this one.
    fn is_in_order(&self, message: &Message) -> bool {
        let awaited = self.refusing.get(&message.source);
        let is_it =
            |&awaited: &u32| matches!(message.serial, 0 | FIRST) || message.serial == awaited;
        awaited.is_none_or(is_it)
    }

    /// Records that a message is not refused.
    fn taken(&mut self, message: &Message) {
        if message.serial != 0 {
            self.refusing.remove(&message.source);
        }
    }

    /// Returns a free fragment.
    fn free_fragment(&self, depth: u32) -> u32 {
        let is_free = |fragment: &u32| {
            let place = Place::Fragment(*fragment);
            self.unexpected.iter().all(|message| message.place != place)
        };
        (0..depth).find(is_free).unwrap_or(0)
    }
}

impl State {
    /// Executes a command of the message engine.
    pub(super) fn message(&mut self, index: usize, opcode: Opcode, data: u32) {
        if opcode == Opcode::XCancel {
            let it = &mut self.ranks[index];
            let id = data & 0xFFFF;
            if let Some(place) = it.messages.posted.iter().position(|other| other.id == id) {
                it.messages.posted.remove(place);
                it.complete(id, Status::Cancelled);
            }
            return;
        }
        let it = &self.ranks[index];
        let receive = Receive {
            id: x_message::ID.get(data),
            rank: x_message::RANK.get(data),
            context: x_message::CONTEXT.get(data),
            tag: it.messages.tag,
            at: it.operands[1],
            length: it.operands[2],
        };
        if let Err(status) = self.check_message(index, opcode, &receive) {
            let it = &mut self.ranks[index];
            it.refused_out += 1;
            it.complete(receive.id, status);
            return;
        }
        match opcode {
            Opcode::XProbe => self.probe(index, &receive),
            Opcode::XReceive => self.receive(index, receive),
            _ => {
                let message = Message {
                    sender: index,
                    source: self.ranks[index].pid,
                    id: receive.id,
                    context: receive.context,
                    tag: x_tag::TAG.get(receive.tag),
                    serial: x_message::SERIAL.get(data),
                    length: receive.length,
                    is_announced: opcode != Opcode::XSend,
                    place: Place::Sender(receive.at),
                };
                match target_of(&self.ranks, receive.rank) {
                    Some(target) => self.arrive(target, message),
                    None => self.ranks[index].complete(receive.id, Status::BadRank),
                }
            }
        }
    }

    fn check_message(&self, index: usize, opcode: Opcode, it: &Receive) -> Result<(), Status> {
        let rank = &self.ranks[index];
        let any_source = x_tag::ANY_SOURCE.get(it.tag) != 0;
        let comes_in = matches!(opcode, Opcode::XReceive | Opcode::XProbe);
        let held = rank.messages.posted.iter().any(|other| other.id == it.id);
        if !rank.begun {
            Err(Status::NotBegun)
        } else if it.rank >= rank.nprocs && !(comes_in && any_source) {
            Err(Status::BadRank)
        } else if it.id >= self.config.message_depth || held {
            Err(Status::BadId)
        } else if opcode == Opcode::XProbe {
            Ok(())
        } else if u64::from(it.at) + u64::from(it.length) > u64::from(self.config.node_bytes) {
            Err(Status::BadLocal)
        } else if opcode == Opcode::XSend && it.length > self.config.fragment_bytes {
            Err(Status::BadLength)
        } else if opcode == Opcode::XReceive
            && rank.messages.posted.len() >= self.config.message_depth as usize
        {
            Err(Status::NoRoom)
        } else {
            Ok(())
        }
    }

    /// Delivers a message to its target.
    fn arrive(&mut self, target: usize, mut message: Message) {
        let depth = self.config.message_depth;
        let it = &mut self.ranks[target];
        if !it.messages.is_in_order(&message) {
            self.refuse(target, &message);
            return;
        }
        let posted = &mut it.messages.posted;
        if let Some(place) = posted.iter().position(|other| other.is_for(&message)) {
            let receive = posted.remove(place);
            it.messages.posted_by_walk += 1;
            it.messages.taken(&message);
            if let Some(receive) = receive {
                self.take(target, &receive, &message);
            }
            return;
        }
        if !it.messages.has_room(message.source, depth) {
            self.refuse(target, &message);
            return;
        }
        it.messages.taken(&message);
        if let (false, Place::Sender(at)) = (message.is_announced, message.place) {
            let fragment = it.messages.free_fragment(depth);
            message.place = Place::Fragment(fragment);
            let there = self.fragment(fragment);
            self.copy(message.sender, at, target, there, message.length);
        }
        self.ranks[target].messages.unexpected.push_back(message);
    }

    /// Refuses a message. A message with a serial number is sent again.
    fn refuse(&mut self, target: usize, message: &Message) {
        let it = &mut self.ranks[target];
        it.messages.refused += 1;
        let mut id = message.id;
        if message.serial == 0 {
            it.event(events::NO_ROOM);
        } else {
            let refusing = &mut it.messages.refusing;
            let awaited = refusing.entry(message.source).or_insert(message.serial);
            if message.serial == FIRST {
                *awaited = FIRST;
            }
            let line = (refusing.len() as u32).min(x_refusal::LINE.max());
            id |= x_refusal::LINE.put(line);
        }
        self.ranks[message.sender].complete(id, Status::NoRoom);
    }

    /// Resets the messages of a rank: removes its unreceived messages, as rank `pid`, from other
    /// ranks, and clears its own queues, which were `held`.
    pub(super) fn drop_messages(&mut self, index: usize, pid: u32, held: &SoftMessages) {
        for rank in &mut self.ranks {
            rank.messages
                .unexpected
                .retain(|message| message.sender != index);
            rank.messages.refusing.remove(&pid);
        }
        for message in held
            .unexpected
            .iter()
            .filter(|message| message.sender != index)
        {
            self.ranks[message.sender].complete(message.id, Status::RankReset);
        }
    }

    fn receive(&mut self, index: usize, receive: Receive) {
        let it = &mut self.ranks[index].messages;
        let found = it.unexpected.iter().position(|other| receive.is_for(other));
        match found.and_then(|place| it.unexpected.remove(place)) {
            None => it.posted.push_back(receive),
            Some(message) => {
                it.unexpected_by_walk += 1;
                self.take(index, &receive, &message);
            }
        }
    }

    fn probe(&mut self, index: usize, probe: &Receive) {
        let it = &mut self.ranks[index];
        let mut unexpected = it.messages.unexpected.iter();
        match unexpected.find(|other| probe.is_for(other)).copied() {
            None => it.complete(probe.id, Status::NotFound),
            Some(message) => self.found(index, probe.id, Status::Ok, &message),
        }
    }

    /// Matches a receive with a message, and completes both.
    fn take(&mut self, index: usize, receive: &Receive, message: &Message) {
        if message.is_announced && x_tag::DEFER.get(receive.tag) != 0 {
            self.found(index, receive.id, Status::Deferred, message);
            self.ranks[message.sender].complete(message.id, Status::Deferred);
            return;
        }
        let length = message.length.min(receive.length);
        match message.place {
            Place::Sender(at) => self.copy(message.sender, at, index, receive.at, length),
            Place::Fragment(fragment) => {
                let there = self.fragment(fragment);
                self.copy(index, there, index, receive.at, length);
            }
        }
        let status = if message.length > receive.length {
            Status::Truncated
        } else {
            Status::Ok
        };
        self.found(index, receive.id, status, message);
        self.ranks[message.sender].complete(message.id, Status::Ok);
    }

    fn found(&mut self, index: usize, id: u32, status: Status, message: &Message) {
        let entry = cq_entry::ID.put(id)
            | cq_entry::SOURCE.put(message.source)
            | cq_entry::STATUS.put(status as u32);
        self.ranks[index].enter(entry, &[message.tag, message.length]);
    }

    /// Returns the address of a fragment of the unexpected message buffer.
    fn fragment(&self, fragment: u32) -> u32 {
        self.config.node_bytes - (self.config.message_depth - fragment) * self.config.fragment_bytes
    }
}
