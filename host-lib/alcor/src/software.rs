//! Collectives in software: their state and their progress.
//!
//! A collective has two parts that run at the same time. In the agreement the members compare their
//! calls, and thereby find out that all members have called. Up to [`DIRECT_MEMBERS`] members send
//! their calls to all others; more members compare them by dissemination. The [`Schedule`] moves the
//! data. The collective ends when both parts have ended. If the calls differ, the collective ends
//! with the difference at every member, and no destination is written. If the communicator has a
//! row, the members also compare their calls by a herald in hardware. Otherwise a member that called
//! a collective in hardware would never be found. The collectives of a communicator run one after the
//! other.
//!
//! If the calls differ, each member sends its call to all others, so that each error contains the
//! calls of all members ([`Progress::claim`]).
//!
//! A member that has sent its call to all others is known to them as present. In a larger
//! communicator, a rank that has waited for long announces its presence to all members, and a rank
//! that receives the announcement answers with its own. The remaining members have not called the
//! collective.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use alcor_abi::Status;

use crate::allocator::Block;
use crate::call::{Call, CallWords, CommunicatorId, MemberCall};
use crate::failures::{Agreements, Revocation};
use crate::mail::{Label, Mail, Message, Stream};
use crate::operation::Combine;
use crate::progress::Progress;
use crate::request::{CollectiveDescriptor, Held, Outcome, Request};
use crate::schedule::{DIRECT_MEMBERS, Schedule, Step};
use crate::{Cycle, GlobalRank, NodeAddr, Operation, Result};

/// The smallest and the largest value of each property, over the members known so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Signature {
    /// Collective, count, type, operation, root, in the order in which differences are reported.
    low: CallWords,
    high: CallWords,
}

impl Signature {
    fn of(call: &Call) -> Signature {
        let fields = call.to_words();
        Signature {
            low: fields,
            high: fields,
        }
    }

    /// Returns 8 bytes as long as all calls are the same, and all words otherwise.
    fn to_bytes(self) -> Vec<u8> {
        let [collective, count, element, operation, root] = self.low;
        let rest = [collective, element, operation, root].map(u8::try_from);
        if let [Ok(collective), Ok(element), Ok(operation), Ok(root)] = rest
            && self.low == self.high
        {
            let count = count.to_le_bytes().into_iter();
            return count
                .chain([collective, element, operation, root])
                .collect();
        }
        let words = self.low.into_iter().chain(self.high);
        words.flat_map(u32::to_le_bytes).collect()
    }

    /// Extends the range by the values of another member.
    fn join(&mut self, bytes: &[u8]) {
        let mut words = [0; 10];
        if let &[a, b, c, d, collective, element, operation, root] = bytes {
            let [collective, element, operation, root] =
                [collective, element, operation, root].map(u32::from);
            let count = u32::from_le_bytes([a, b, c, d]);
            let call = [collective, count, element, operation, root];
            words[..5].copy_from_slice(&call);
            words[5..].copy_from_slice(&call);
        } else {
            for (place, word) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *place = u32::from_le_bytes(*word);
            }
        }
        for field in 0..5 {
            self.low[field] = self.low[field].min(words[field]);
            self.high[field] = self.high[field].max(words[5 + field]);
        }
    }

    fn verdict(&self) -> Status {
        const DIFFERENCES: [Status; 5] = [
            Status::Mismatch,
            Status::OtherCount,
            Status::OtherType,
            Status::OtherOperation,
            Status::OtherRoot,
        ];
        (0..5)
            .find(|&field| self.low[field] != self.high[field])
            .map_or(Status::Ok, |field| DIFFERENCES[field])
    }
}

/// The place of a collective's result.
#[derive(Debug)]
pub(crate) enum Destination {
    /// This member gets no data.
    Nothing,
    /// Node memory, from this address on.
    Memory(NodeAddr),
    /// The contents of this block are staged.
    Staged(Arc<Block>),
    /// The whole buffer is kept for [`Software::take_result`].
    Result,
}

/// A collective to be run.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) call: Call,
    /// The members, in the order of the communicator.
    pub(crate) members: Arc<[GlobalRank]>,
    /// This rank's rank among the members.
    pub(crate) me: usize,
    pub(crate) schedule: Schedule,
    pub(crate) combine: Option<(Operation, Combine)>,
    /// The buffer before the first step, without the data that is loaded from the source.
    pub(crate) buffer: Vec<u8>,
    pub(crate) source: Option<NodeAddr>,
    pub(crate) destination: Destination,
    /// Keeps source and destination allocated.
    pub(crate) _held: Held,
}

#[derive(Debug)]
struct Active {
    task: Task,
    outcome: Outcome,
    /// The herald, if the collective units compare the members' calls.
    herald: Option<Request<'static>>,
    signature: Signature,
    /// Distance of the partners in this round of the agreement.
    distance: usize,
    spoken: bool,
    /// Number of completed steps.
    done: usize,
    /// Number of unsent messages by stream, of those that belong to the collective.
    unsent: [u32; 4],
    /// Time of the last progress.
    moved: Cycle,
    /// Whether this rank has announced its presence to all members.
    announced: bool,
    /// Whether data of a wrong length has arrived. The member's call differs, or has ended with an error,
    /// which cuts its data off.
    is_cut: bool,
}

/// The collectives in software of a rank.
#[derive(Debug)]
pub(crate) struct Software {
    pub(crate) mail: Mail,
    active: BTreeMap<(u32, u32), Active>,
    arrived: HashMap<(Label, GlobalRank), VecDeque<Vec<u8>>>,
    /// Next sequence number by communicator. The numbers count collectives in hardware too.
    next: BTreeMap<u32, u32>,
    results: BTreeMap<(u32, u32), Vec<u8>>,
    /// Members that have sent a message, by collective.
    here: BTreeMap<(u32, u32), BTreeSet<GlobalRank>>,
    /// Calls of other members, by collective, of the last collectives in which the calls differed.
    calls: VecDeque<((u32, u32), BTreeMap<GlobalRank, Call>)>,
    /// Whether calls of this rank may be unsent.
    sends_calls: bool,
    /// The agreements of communicators.
    pub(crate) agreements: Agreements,
    /// Revocations that have arrived.
    revocations: Vec<Revocation>,
    /// Dead ranks whose messages are ignored.
    pub(crate) dead: BTreeSet<GlobalRank>,
    /// Cycles without progress, after which a rank announces its presence.
    patience: u64,
    /// Time of the last progress.
    moved: Cycle,
}

/// Range of the cycles between two polls of the mail. The pause grows while no message comes.
const PAUSE: std::ops::RangeInclusive<u64> = 4..=1024;

/// Maximum number of collectives whose calls are kept after a difference. A member that never takes
/// the result of a collective leaves its entry behind.
const KEPT_DIFFERENCES: usize = 16;

impl Software {
    pub(crate) fn new(mail: Mail, patience: u64) -> Software {
        Software {
            mail,
            active: BTreeMap::new(),
            arrived: HashMap::new(),
            next: BTreeMap::new(),
            results: BTreeMap::new(),
            here: BTreeMap::new(),
            calls: VecDeque::new(),
            sends_calls: false,
            agreements: Agreements::default(),
            revocations: Vec::new(),
            dead: BTreeSet::new(),
            patience,
            moved: Cycle(0),
        }
    }

    /// Begins a collective.
    pub(crate) fn begin(
        &mut self,
        task: Task,
        outcome: Outcome,
        herald: Option<Request<'static>>,
        now: Cycle,
    ) {
        let communicator = task.call.communicator.0;
        let sequence = self.take_number(communicator);
        let signature = Signature::of(&task.call);
        self.moved = now;
        self.active.insert(
            (communicator, sequence),
            Active {
                task,
                outcome,
                herald,
                signature,
                distance: 1,
                spoken: false,
                done: 0,
                unsent: [0; 4],
                moved: now,
                announced: false,
                is_cut: false,
            },
        );
    }

    fn take_number(&mut self, communicator: u32) -> u32 {
        let next = self.next.entry(communicator).or_default();
        let sequence = *next;
        *next += 1;
        sequence
    }

    /// Takes a number for a collective in hardware. A member whose call differed may have sent
    /// messages for this number in software; they are dropped.
    pub(crate) fn skip(&mut self, communicator: u32) -> u32 {
        let key = (communicator, self.take_number(communicator));
        self.arrived
            .retain(|(label, _), _| (label.communicator, label.sequence) != key);
        self.here.remove(&key);
        key.1
    }

    /// Returns the sequence number of the communicator's next collective.
    pub(crate) fn next_in(&self, communicator: u32) -> u32 {
        self.next.get(&communicator).copied().unwrap_or(0)
    }

    /// Returns whether any collective is under way.
    pub(crate) fn is_active(&self) -> bool {
        !self.active.is_empty()
    }

    /// Returns whether a collective of the communicator is under way.
    pub(crate) fn is_active_in(&self, communicator: u32) -> bool {
        let of_it = (communicator, 0)..=(communicator, u32::MAX);
        self.active.range(of_it).next().is_some()
    }

    /// Returns the result of a collective without a destination.
    pub(crate) fn take_result(&mut self, communicator: u32, sequence: u32) -> Vec<u8> {
        self.results
            .remove(&(communicator, sequence))
            .unwrap_or_default()
    }

    /// Removes the state of a communicator.
    pub(crate) fn forget(&mut self, communicator: u32) {
        self.next.remove(&communicator);
        self.agreements.forget(communicator);
        self.arrived
            .retain(|(label, _), _| label.communicator != communicator);
        self.here.retain(|key, _| key.0 != communicator);
        self.calls.retain(|(key, _)| key.0 != communicator);
    }

    /// Returns whether calls of this rank may be unsent. [`Software::advance`] sends them.
    pub(crate) fn sends_calls(&self) -> bool {
        self.sends_calls
    }

    /// Queues this rank's call for all other members of a collective whose calls differ.
    pub(crate) fn send_call(&mut self, collective: &CollectiveDescriptor) {
        self.sends_calls = true;
        let words = collective.call.to_words();
        let data: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        for &member in collective.members.iter() {
            if member != self.mail.me() {
                self.mail
                    .enqueue(member, label_of_call(collective), data.clone());
            }
        }
        // A member that takes no messages must not make the queue grow.
        self.mail.keep_newest(KEPT_DIFFERENCES, is_of_call);
    }

    /// Returns whether [`Software::send_call`] has sent all of its messages, and the calls of all
    /// other members are known.
    pub(crate) fn has_compared(&self, collective: &CollectiveDescriptor) -> bool {
        let mut others = self.calls_of_others(collective).into_iter();
        let mine = label_of_call(collective);
        !self.mail.has_unsent(|label| label == mine) && others.all(|other| other.call.is_some())
    }

    /// Removes the unsent messages of [`Software::send_call`]. Their receivers take no messages.
    pub(crate) fn cancel_call(&mut self, collective: &CollectiveDescriptor) {
        self.mail.cancel(label_of_call(collective));
    }

    /// Returns the known calls of the other members of a collective whose calls differ.
    pub(crate) fn calls_of_others(&self, collective: &CollectiveDescriptor) -> Vec<MemberCall> {
        let label = label_of_call(collective);
        let key = (label.communicator, label.sequence);
        let found = self.calls.iter().find(|(of, _)| *of == key);
        let me = self.mail.me();
        let others = collective.members.iter().filter(|&&member| member != me);
        others
            .map(|&rank| MemberCall {
                rank,
                call: found.and_then(|(_, calls)| calls.get(&rank)).copied(),
            })
            .collect()
    }

    /// Keeps the call of another member.
    fn take_call(&mut self, message: &Message) {
        let mut words = CallWords::default();
        for (word, bytes) in words.iter_mut().zip(message.data.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let communicator = CommunicatorId(message.label.communicator);
        let Some(call) = Call::from_words(communicator, words) else {
            return;
        };
        let key = (message.label.communicator, message.label.sequence);
        let place = match self.calls.iter().position(|(of, _)| *of == key) {
            Some(place) => place,
            None => {
                if self.calls.len() == KEPT_DIFFERENCES {
                    self.calls.pop_front();
                }
                self.calls.push_back((key, BTreeMap::new()));
                self.calls.len() - 1
            }
        };
        self.calls[place].1.insert(message.from, call);
    }

    /// Returns the members that have sent no message for the communicator's present collective. If
    /// all members have, returns those whose messages are missing.
    pub(crate) fn missing(&self, communicator: u32) -> Vec<GlobalRank> {
        let of_it = (communicator, 0)..=(communicator, u32::MAX);
        let Some((key, active)) = self.active.range(of_it).next() else {
            return Vec::new();
        };
        let me = active.task.members[active.task.me];
        let here = self.here.get(key);
        let absent =
            |member: &GlobalRank| *member != me && !here.is_some_and(|here| here.contains(member));
        let mut ranks: Vec<GlobalRank> = active.task.members.iter().copied().collect();
        ranks.retain(absent);
        if !ranks.is_empty() {
            return ranks;
        }
        if active.distance < active.task.members.len() {
            ranks.push(active.speaker());
        }
        if let Some(Step::Store(from, _) | Step::Combine(from)) =
            active.task.schedule.steps.get(active.done)
        {
            ranks.push(*from);
        }
        ranks.dedup();
        ranks
    }

    /// Cycles until the next poll.
    pub(crate) fn pause(&self, now: Cycle) -> u64 {
        (now.0.saturating_sub(self.moved.0) / 8).clamp(*PAUSE.start(), *PAUSE.end())
    }

    /// Advances all collectives without waiting. Returns whether any made progress.
    pub(crate) fn advance(&mut self, progress: &mut Progress, now: Cycle) -> Result<bool> {
        // A collective that has just begun sends before the mail is read.
        let mut moved = self.step(progress, now)?;
        if !moved {
            moved = self.read_mail(progress)?;
            moved |= self.step(progress, now)?;
        }
        self.sends_calls = self.sends_calls && self.mail.has_unsent(is_of_call);
        for key in self.heads() {
            let is_lost = |active: &&Active| {
                let members = &active.task.members;
                progress.deaths.is_revoked(key.0)
                    || members.iter().any(|member| self.dead.contains(member))
            };
            let active = self.active.get(&key);
            let lost = active.filter(is_lost).map(|_| Status::RankReset);
            let status = active.and_then(Active::ended).or(lost);
            if let Some(status) = status
                && let Some(active) = self.active.remove(&key)
            {
                moved = true;
                self.end(progress, key, active, status)?;
            }
        }
        if moved {
            self.moved = now;
        }
        Ok(moved)
    }

    /// Handles the received messages. Returns whether any belongs to a collective.
    fn read_mail(&mut self, progress: &mut Progress) -> Result<bool> {
        let mut moved = false;
        // The messages that a rank has put before its death are read after the report of the death.
        let known = progress.deaths.known.len();
        for message in self.mail.take_in(progress)? {
            if !self.dead.contains(&message.from) {
                moved |= is_of_collective(message.label);
                self.deliver(message);
            }
        }
        if self.dead.len() < known {
            self.dead.extend(&progress.deaths.known[..known]);
            self.dead.iter().for_each(|&dead| self.mail.bury(dead));
        }
        self.agreements.advance(&mut self.mail, &self.dead);
        for revocation in std::mem::take(&mut self.revocations) {
            if progress.take_revocation(&revocation) {
                self.send_revocation(&revocation);
            }
        }
        Ok(moved)
    }

    /// Advances the present collectives by what has arrived, and sends. Returns whether any made
    /// progress.
    fn step(&mut self, progress: &mut Progress, now: Cycle) -> Result<bool> {
        let mut moved = false;
        for key in self.heads() {
            let Some(active) = self.active.get_mut(&key) else {
                continue;
            };
            active.load(progress)?;
            if active.advance(key, &mut self.mail, &mut self.arrived) {
                moved = true;
                active.moved = now;
            }
            // A rank that receives an announcement announces its own presence too.
            let waits = now.0.saturating_sub(active.moved.0) > self.patience
                || self.arrived.remove(&announcement(key)).is_some();
            if waits && !active.announced && !active.is_direct() {
                active.announce(key, &mut self.mail);
            }
        }
        let active = &mut self.active;
        self.mail.push(progress, |label| {
            moved |= is_of_collective(label);
            if let Some(active) = active.get_mut(&(label.communicator, label.sequence))
                && let Some(unsent) = active.unsent.get_mut(label.stream as usize)
            {
                *unsent = unsent.saturating_sub(1);
            }
        })?;
        Ok(moved)
    }

    /// The present collective of each communicator.
    fn heads(&self) -> Vec<(u32, u32)> {
        let mut heads: Vec<(u32, u32)> = self.active.keys().copied().collect();
        heads.dedup_by_key(|key| key.0);
        heads
    }

    fn deliver(&mut self, message: Message) {
        let label = message.label;
        let key = (label.communicator, label.sequence);
        if label.stream == Stream::Call {
            self.take_call(&message);
            return;
        }
        if label.stream == Stream::Agreed {
            self.agreements.deliver(&message);
            return;
        }
        if label.stream == Stream::Revoked {
            self.revocations.extend(Revocation::from_message(&message));
            return;
        }
        let begun = self.next_in(label.communicator);
        // A message for a collective that has ended comes from a member whose call differed.
        if label.sequence < begun && !self.active.contains_key(&key) {
            return;
        }
        self.here.entry(key).or_default().insert(message.from);
        let place = match label.stream {
            // One announcement is enough.
            Stream::Here => announcement(key),
            _ => (label, message.from),
        };
        self.arrived
            .entry(place)
            .or_default()
            .push_back(message.data);
    }

    fn end(
        &mut self,
        progress: &mut Progress,
        key: (u32, u32),
        mut active: Active,
        status: Status,
    ) -> Result<()> {
        if status == Status::Ok {
            let buffer = std::mem::take(&mut active.task.buffer);
            let keep = &active.task.schedule.keep;
            match &active.task.destination {
                Destination::Nothing => {}
                Destination::Result => {
                    self.results.insert(key, buffer);
                }
                Destination::Staged(block) => {
                    let ends = keep.iter().map(|(from, to)| to + from.len());
                    let mut contents = vec![0; ends.max().unwrap_or(0)];
                    for (from, to) in keep {
                        contents[*to..to + from.len()].copy_from_slice(&buffer[from.clone()]);
                    }
                    block.stage(contents);
                }
                Destination::Memory(base) => {
                    for (from, to) in keep {
                        if !from.is_empty() {
                            let at = NodeAddr(base.0 + *to as u32);
                            progress.port.write_memory(at, &buffer[from.clone()])?;
                        }
                    }
                }
            }
        } else {
            self.mail.cancel(Label {
                communicator: key.0,
                sequence: key.1,
                stream: Stream::Data,
            });
            self.arrived
                .retain(|(label, _), _| (label.communicator, label.sequence) != key);
        }
        self.here.remove(&key);
        self.arrived.remove(&announcement(key));
        progress.settle(active.outcome, status);
        Ok(())
    }
}

/// Returns whether the message advances a collective.
fn is_of_collective(label: Label) -> bool {
    matches!(label.stream, Stream::Agreement | Stream::Data)
}

/// Returns whether the message is a member's call after a difference.
fn is_of_call(label: Label) -> bool {
    label.stream == Stream::Call
}

/// The label of a member's call after a difference.
fn label_of_call(collective: &CollectiveDescriptor) -> Label {
    Label {
        communicator: collective.call.communicator.0,
        sequence: collective.sequence,
        stream: Stream::Call,
    }
}

/// The key under which an announcement is stored.
fn announcement((communicator, sequence): (u32, u32)) -> (Label, GlobalRank) {
    let label = Label {
        communicator,
        sequence,
        stream: Stream::Here,
    };
    (label, GlobalRank(0))
}

impl Active {
    /// Loads the buffer at the start of the collective.
    fn load(&mut self, progress: &mut Progress) -> Result<()> {
        if let Some(source) = self.task.source.take() {
            for (from, to) in &self.task.schedule.load {
                if !from.is_empty() {
                    let at = NodeAddr(source.0 + from.start as u32);
                    let part = &mut self.task.buffer[*to..to + from.len()];
                    progress.port.read_memory(at, part)?;
                }
            }
        }
        Ok(())
    }

    /// Announces this rank's presence to all members.
    fn announce(&mut self, (communicator, sequence): (u32, u32), mail: &mut Mail) {
        self.announced = true;
        let label = Label {
            communicator,
            sequence,
            stream: Stream::Here,
        };
        let me = self.task.members[self.task.me];
        for &member in self.task.members.iter().filter(|&&member| member != me) {
            mail.enqueue(member, label, Vec::new());
            self.unsent[Stream::Here as usize] += 1;
        }
    }

    /// Returns whether each member sends its call to all others. Otherwise the calls spread by
    /// dissemination, in rounds.
    fn is_direct(&self) -> bool {
        self.task.members.len() <= DIRECT_MEMBERS
    }

    /// The member that sends to this rank in this round of the agreement.
    fn speaker(&self) -> GlobalRank {
        let members = &self.task.members;
        members[(self.task.me + members.len() - self.distance) % members.len()]
    }

    fn agreed(&self) -> Option<Status> {
        (self.distance >= self.task.members.len()).then(|| self.signature.verdict())
    }

    /// Returns the status of the collective, if it has ended.
    fn ended(&self) -> Option<Status> {
        let heralded = match &self.herald {
            Some(herald) => herald.status()?,
            None => Status::Ok,
        };
        if heralded != Status::Ok {
            return Some(heralded);
        }
        match self.agreed()? {
            // The calls are the same, so a member's call has ended with an error.
            Status::Ok if self.is_cut => Some(Status::RankReset),
            Status::Ok => {
                let all = self.done == self.task.schedule.steps.len() && self.unsent == [0; 4];
                all.then_some(Status::Ok)
            }
            // The peers wait for this rank's message about the difference only.
            status => (self.unsent[Stream::Agreement as usize] == 0).then_some(status),
        }
    }

    fn advance(
        &mut self,
        (communicator, sequence): (u32, u32),
        mail: &mut Mail,
        arrived: &mut HashMap<(Label, GlobalRank), VecDeque<Vec<u8>>>,
    ) -> bool {
        let label = |stream| Label {
            communicator,
            sequence,
            stream,
        };
        let mut take = |stream, from: GlobalRank| {
            let queue = arrived.get_mut(&(label(stream), from))?;
            let data = queue.pop_front();
            if queue.is_empty() {
                arrived.remove(&(label(stream), from));
            }
            data
        };
        let mut moved = false;
        // The data goes first, because its path is longer. Steps behind wrong data would pass it on.
        while let Some(step) = self.task.schedule.steps.get(self.done)
            && !self.is_cut
        {
            match step {
                Step::Send(to, range) => {
                    let data = self.task.buffer[range.clone()].to_vec();
                    mail.enqueue(*to, label(Stream::Data), data);
                    self.unsent[Stream::Data as usize] += 1;
                }
                Step::Store(from, range) => {
                    let Some(data) = take(Stream::Data, *from) else {
                        break;
                    };
                    if data.len() == range.len() {
                        self.task.buffer[range.clone()].copy_from_slice(&data);
                    } else {
                        self.is_cut = true;
                    }
                }
                Step::Combine(from) => {
                    let Some(data) = take(Stream::Data, *from) else {
                        break;
                    };
                    if data.len() != self.task.buffer.len() {
                        self.is_cut = true;
                    } else if let Some((operation, combine)) = self.task.combine {
                        combine(operation, &mut self.task.buffer, &data);
                    }
                }
                Step::Fold(range, other) => {
                    let data = self.task.buffer[other.clone()].to_vec();
                    if let Some((operation, combine)) = self.task.combine {
                        combine(operation, &mut self.task.buffer[range.clone()], &data);
                    }
                }
            }
            self.done += 1;
            moved = true;
        }
        let members = self.task.members.len();
        while self.distance < members {
            if !self.spoken {
                let last = if self.is_direct() {
                    members
                } else {
                    self.distance + 1
                };
                for distance in self.distance..last {
                    let to = self.task.members[(self.task.me + distance) % members];
                    mail.enqueue(to, label(Stream::Agreement), self.signature.to_bytes());
                    self.unsent[Stream::Agreement as usize] += 1;
                }
                self.spoken = true;
                moved = true;
            }
            let Some(words) = take(Stream::Agreement, self.speaker()) else {
                break;
            };
            self.signature.join(&words);
            if self.is_direct() {
                self.distance += 1;
            } else {
                self.distance *= 2;
                self.spoken = false;
            }
            moved = true;
        }
        moved
    }
}
