//! Collectives in software: what is under way, and how it gets on.
//!
//! Every collective has two parts that run side by side: an agreement, in which the members find
//! out by dissemination whether all called the same (and whether all have come), and the
//! [`Schedule`] that moves the data. It ends when both have; when the calls differ, with what they
//! differ in, at every member alike and with no destination touched. Where the communicator has a
//! row, a herald in hardware has to agree as well: a member that called something hardware does
//! would never be heard of otherwise. Those of a communicator run
//! one after the other.
//!
//! A rank that waits for long tells all members that it is here, and so do those who hear it: what
//! is left is who has not come.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use alcor_abi::Status;

use crate::call::Call;
use crate::mail::{Label, Mail, Message, Stream};
use crate::operation::Combine;
use crate::progress::Progress;
use crate::request::{Held, Outcome, Request};
use crate::schedule::{Schedule, Step};
use crate::{Cycle, GlobalRank, NodeAddr, Operation, Result};

/// What the members agree on, as the smallest and the largest of all that is known of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Signature {
    /// Collective, count, type, operation, root: in the order in which differences are told.
    low: [u32; 5],
    high: [u32; 5],
}

/// The bytes of a [`Signature`].
const SIGNATURE: usize = 40;

impl Signature {
    fn of(call: &Call) -> Signature {
        let fields = [
            call.collective as u32,
            call.count,
            call.element.map_or(0, |element| 1 + element as u32),
            call.operation.map_or(0, |operation| 1 + operation as u32),
            call.root.map_or(0, |root| 1 + root.0),
        ];
        Signature {
            low: fields,
            high: fields,
        }
    }

    fn to_bytes(self) -> Vec<u8> {
        let words = self.low.into_iter().chain(self.high);
        words.flat_map(u32::to_le_bytes).collect()
    }

    /// Widens it by what another member knows.
    fn join(&mut self, bytes: &[u8]) {
        for (index, word) in bytes.as_chunks::<4>().0.iter().take(10).enumerate() {
            let word = u32::from_le_bytes(*word);
            match index {
                0..5 => self.low[index] = self.low[index].min(word),
                _ => self.high[index - 5] = self.high[index - 5].max(word),
            }
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

/// A collective to be done.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) call: Call,
    /// The members, in the order of the communicator.
    pub(crate) members: Arc<[GlobalRank]>,
    /// This rank's place among them.
    pub(crate) me: usize,
    pub(crate) schedule: Schedule,
    pub(crate) combine: Option<(Operation, Combine)>,
    /// The buffer as it is before the first step, but for what is loaded from the source.
    pub(crate) buffer: Vec<u8>,
    pub(crate) source: Option<NodeAddr>,
    /// Where what is kept goes to; without one, the buffer is kept for [`Software::take_result`].
    pub(crate) destination: Option<NodeAddr>,
    /// Keeps source and destination from being handed out again.
    pub(crate) _held: Held,
}

#[derive(Debug)]
struct Active {
    task: Task,
    outcome: Outcome,
    /// What the collective units say of the members' calls, where they are asked.
    herald: Option<Request<'static>>,
    signature: Signature,
    /// How far the members are apart that speak in this round of the agreement.
    distance: usize,
    spoken: bool,
    /// Steps done.
    done: usize,
    /// Messages that have not left, by stream.
    unsent: [u32; 3],
    /// When it moved last.
    moved: Cycle,
    /// Whether all members have been told that this rank is here.
    announced: bool,
}

/// The collectives of a rank that are done in software.
#[derive(Debug)]
pub(crate) struct Software {
    mail: Mail,
    active: BTreeMap<(u32, u32), Active>,
    arrived: HashMap<(Label, GlobalRank), VecDeque<Vec<u8>>>,
    /// The next sequence number, by communicator: of all its collectives, in hardware too.
    next: BTreeMap<u32, u32>,
    results: BTreeMap<(u32, u32), Vec<u8>>,
    /// Members that something has come of, by collective.
    here: BTreeMap<(u32, u32), BTreeSet<GlobalRank>>,
    /// Cycles without a move after which a rank says that it is here.
    patience: u64,
    /// When something moved last.
    moved: Cycle,
}

/// Cycles between two looks at the mail, which grow with the time that nothing has come.
const PAUSE: std::ops::RangeInclusive<u64> = 4..=1024;

impl Software {
    pub(crate) fn new(mail: Mail, patience: u64) -> Software {
        Software {
            mail,
            active: BTreeMap::new(),
            arrived: HashMap::new(),
            next: BTreeMap::new(),
            results: BTreeMap::new(),
            here: BTreeMap::new(),
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
                unsent: [0; 3],
                moved: now,
                announced: false,
            },
        );
    }

    fn take_number(&mut self, communicator: u32) -> u32 {
        let next = self.next.entry(communicator).or_default();
        let sequence = *next;
        *next += 1;
        sequence
    }

    /// A collective of the communicator is done in hardware: what came for it in software was
    /// sent by a member whose call differed.
    pub(crate) fn skip(&mut self, communicator: u32) {
        let key = (communicator, self.take_number(communicator));
        self.arrived
            .retain(|(label, _), _| (label.communicator, label.sequence) != key);
        self.here.remove(&key);
    }

    /// The sequence number that the communicator's next collective gets.
    pub(crate) fn next_in(&self, communicator: u32) -> u32 {
        self.next.get(&communicator).copied().unwrap_or(0)
    }

    /// Whether there is anything to look after.
    pub(crate) fn is_active(&self) -> bool {
        !self.active.is_empty()
    }

    /// Whether a collective of the communicator is under way.
    pub(crate) fn is_active_in(&self, communicator: u32) -> bool {
        let of_it = (communicator, 0)..=(communicator, u32::MAX);
        self.active.range(of_it).next().is_some()
    }

    /// What a collective without a destination has left in its buffer.
    pub(crate) fn take_result(&mut self, communicator: u32, sequence: u32) -> Vec<u8> {
        self.results
            .remove(&(communicator, sequence))
            .unwrap_or_default()
    }

    /// Forgets a communicator.
    pub(crate) fn forget(&mut self, communicator: u32) {
        self.next.remove(&communicator);
        self.arrived
            .retain(|(label, _), _| label.communicator != communicator);
        self.here.retain(|key, _| key.0 != communicator);
    }

    /// The members that nothing has come of for the collective that the communicator is in; where
    /// all are here, those whose messages are missing.
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

    /// How long to wait before the next look.
    pub(crate) fn pause(&self, now: Cycle) -> u64 {
        (now.0.saturating_sub(self.moved.0) / 8).clamp(*PAUSE.start(), *PAUSE.end())
    }

    /// Brings everything as far as it gets without waiting; whether anything moved.
    pub(crate) fn advance(&mut self, progress: &mut Progress, now: Cycle) -> Result<bool> {
        let mut moved = false;
        for message in self.mail.take_in(progress)? {
            moved |= message.label.stream != Stream::Here;
            self.deliver(message);
        }
        for key in self.heads() {
            let Some(active) = self.active.get_mut(&key) else {
                continue;
            };
            active.load(progress)?;
            if active.advance(key, &mut self.mail, &mut self.arrived) {
                moved = true;
                active.moved = now;
            }
            // Whoever hears of a rank that waits says so too.
            let waits = now.0.saturating_sub(active.moved.0) > self.patience
                || self.arrived.remove(&announcement(key)).is_some();
            if waits && !active.announced {
                active.announce(key, &mut self.mail);
            }
        }
        let active = &mut self.active;
        self.mail.push(progress, |label| {
            moved |= label.stream != Stream::Here;
            if let Some(active) = active.get_mut(&(label.communicator, label.sequence)) {
                let unsent = &mut active.unsent[label.stream as usize];
                *unsent = unsent.saturating_sub(1);
            }
        })?;
        for key in self.heads() {
            let status = self.active.get(&key).and_then(Active::ended);
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

    /// The collective that each communicator is in.
    fn heads(&self) -> Vec<(u32, u32)> {
        let mut heads: Vec<(u32, u32)> = self.active.keys().copied().collect();
        heads.dedup_by_key(|key| key.0);
        heads
    }

    fn deliver(&mut self, message: Message) {
        let label = message.label;
        let key = (label.communicator, label.sequence);
        let begun = self.next_in(label.communicator);
        // What comes for a collective that has ended was sent by a member whose call differed.
        if label.sequence < begun && !self.active.contains_key(&key) {
            return;
        }
        self.here.entry(key).or_default().insert(message.from);
        let place = match label.stream {
            // One is as good as many.
            Stream::Here => announcement(key),
            Stream::Agreement | Stream::Data => (label, message.from),
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
            match active.task.destination {
                None => {
                    self.results.insert(key, buffer);
                }
                Some(base) => {
                    for (from, to) in &active.task.schedule.keep {
                        if !from.is_empty() {
                            let at = NodeAddr(base.0 + *to as u32);
                            progress.port.write_memory(at, &buffer[from.clone()])?;
                        }
                    }
                }
            }
        } else {
            self.mail.cancel(key.0, key.1);
            self.arrived
                .retain(|(label, _), _| (label.communicator, label.sequence) != key);
        }
        self.here.remove(&key);
        self.arrived.remove(&announcement(key));
        progress.settle(active.outcome, status);
        Ok(())
    }
}

/// Where it is kept that somebody waits in a collective.
fn announcement((communicator, sequence): (u32, u32)) -> (Label, GlobalRank) {
    let label = Label {
        communicator,
        sequence,
        stream: Stream::Here,
    };
    (label, GlobalRank(0))
}

impl Active {
    /// Loads the buffer when the collective's turn has come.
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

    /// Tells all members that this rank is here.
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

    /// The member that speaks to this rank in this round of the agreement.
    fn speaker(&self) -> GlobalRank {
        let members = &self.task.members;
        members[(self.task.me + members.len() - self.distance) % members.len()]
    }

    fn agreed(&self) -> Option<Status> {
        (self.distance >= self.task.members.len()).then(|| self.signature.verdict())
    }

    /// How it ended, once it has.
    fn ended(&self) -> Option<Status> {
        let heralded = match &self.herald {
            Some(herald) => herald.status()?,
            None => Status::Ok,
        };
        if heralded != Status::Ok {
            return Some(heralded);
        }
        match self.agreed()? {
            Status::Ok => {
                let all = self.done == self.task.schedule.steps.len() && self.unsent == [0; 3];
                all.then_some(Status::Ok)
            }
            // Peers wait for what this rank has to say about the difference, and for nothing else.
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
        // The data first: it has the longer way.
        while let Some(step) = self.task.schedule.steps.get(self.done) {
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
                    // Another length comes of another call, which the agreement finds.
                    if data.len() == range.len() {
                        self.task.buffer[range.clone()].copy_from_slice(&data);
                    }
                }
                Step::Combine(from) => {
                    let Some(data) = take(Stream::Data, *from) else {
                        break;
                    };
                    if let Some((operation, combine)) = self.task.combine
                        && data.len() == self.task.buffer.len()
                    {
                        combine(operation, &mut self.task.buffer, &data);
                    }
                }
            }
            self.done += 1;
            moved = true;
        }
        let members = self.task.members.len();
        while self.distance < members {
            if !self.spoken {
                let to = self.task.members[(self.task.me + self.distance) % members];
                debug_assert_eq!(self.signature.to_bytes().len(), SIGNATURE);
                mail.enqueue(to, label(Stream::Agreement), self.signature.to_bytes());
                self.unsent[Stream::Agreement as usize] += 1;
                self.spoken = true;
                moved = true;
            }
            let Some(words) = take(Stream::Agreement, self.speaker()) else {
                break;
            };
            self.signature.join(&words);
            self.distance *= 2;
            self.spoken = false;
            moved = true;
        }
        moved
    }
}
