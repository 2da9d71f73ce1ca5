//! Messages between ranks over puts, for collectives in software.
//!
//! Each rank owns a window of the library. The window holds a ring and two words for every other
//! rank. The other rank puts fragments of messages into the ring. The first word counts the bytes
//! that the other rank has put into the ring. The second word counts the bytes that the other rank
//! has taken from this rank's fragments.
//!
//! Fragments to one rank that are sent at the same time are one put. It begins at a multiple of
//! [`LINE`], so a host behind PCIe reads short fragments by one load. The count is put after it. Puts
//! of one rank to another arrive in the order in which they were posted. A rank that waits reads its
//! words, copies the received fragments into host memory at once, and returns its count from time to
//! time. So a ring never stays full while its owner is in the library, in whatever order messages
//! are received.
//!
//! Each ring has a mirror at its sender, the source of the puts. Ranks that get the same bytes
//! share the mirror of the last of them: a rank that sends a vector to all others writes node
//! memory once. The last rank gets its count last. The commands of a rank read their sources in order.
//! So the other puts have read the mirror before the last rank can take the bytes and give the room
//! back.

use std::collections::VecDeque;

use crate::progress::Progress;
use crate::transfer::{Transfer, TransferKind, WindowName};
use crate::{GlobalRank, NodeAddr, Region, Result};

/// Bytes before the payload of a fragment: space for the count behind the put, communicator, sequence,
/// [`kind`]. Fragments are padded to a multiple of this size.
const HEADER: usize = 16;
/// Every put of fragments takes a multiple of this size of the ring, in bytes.
const LINE: usize = alcor_abi::MEMORY_BAR_LINE;
/// Range of the size of a ring, in bytes.
const RING: std::ops::RangeInclusive<u32> = 256..=16 << 10;
/// All rings together take at most this fraction of node memory: 1/SHARE.
const SHARE: u32 = 8;

/// Identifies the stream of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Label {
    pub(crate) communicator: u32,
    /// Number of the collective among the collectives of the communicator in software.
    pub(crate) sequence: u32,
    pub(crate) stream: Stream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Stream {
    /// The comparison of the members' calls.
    Agreement,
    Data,
    /// The announcement that the sender has called the collective, sent to all members after a long
    /// wait.
    Here,
    /// The call of a member, sent to all members after the calls have turned out to differ.
    Call,
    /// A vote or decision of an agreement. The sequence counts the agreements of the communicator.
    Agreed,
    /// The revocation of a communicator, sent to all members.
    Revoked,
}

/// A received message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) from: GlobalRank,
    pub(crate) label: Label,
    pub(crate) data: Vec<u8>,
}

/// The fourth word of a fragment.
mod kind {
    use alcor_abi::Field;

    /// The [`Stream`](super::Stream).
    pub(super) const STREAM: Field = Field::new(0, 4);
    /// The message ends with this fragment.
    pub(super) const LAST: Field = Field::new(4, 1);
    /// No fragment follows up to the end of the line.
    pub(super) const PADDING: Field = Field::new(5, 1);
    /// Bytes of the payload.
    pub(super) const BYTES: Field = Field::new(8, 24);
}

#[derive(Debug)]
struct Outgoing {
    label: Label,
    data: Vec<u8>,
    sent: usize,
}

/// The traffic with one other rank.
#[derive(Debug, Default)]
struct Lane {
    queue: VecDeque<Outgoing>,
    /// The composed fragments.
    line: Vec<u8>,
    /// Bytes put into the other rank's ring, and bytes that the other rank has taken.
    put: u32,
    taken_there: u32,
    /// Bytes taken from the ring, and the count that the other rank has last received.
    taken: u32,
    acknowledged: u32,
    /// A message that has been received in part.
    partial: Option<Message>,
    /// Whether the other rank is dead.
    is_dead: bool,
}

/// The layout in node memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    ranks: u32,
    /// Bytes of a ring.
    ring: u32,
}

impl Shape {
    pub(crate) fn new(ranks: u32, node_bytes: u32) -> Shape {
        // A ring here, and a mirror of the ring at the other rank.
        let share = node_bytes / SHARE / (2 * ranks.max(1));
        let ring = share.clamp(*RING.start(), *RING.end());
        Shape {
            ranks,
            ring: 1 << ring.ilog2(),
        }
    }

    /// Size of the window in bytes: put counts, taken counts, rings.
    pub(crate) fn inbox_bytes(self) -> u32 {
        self.ring_of(self.ranks)
    }

    /// Size of the source of puts in bytes: taken counts, and mirrors of the rings at other ranks.
    pub(crate) fn outbox_bytes(self) -> u32 {
        self.mirror_of(self.ranks)
    }

    /// Size of the counts in bytes.
    pub(crate) fn counts_bytes(self) -> u32 {
        self.ranks * 8
    }

    fn put_count(self, of: u32) -> u32 {
        4 * of
    }

    fn taken_count(self, of: u32) -> u32 {
        4 * (self.ranks + of)
    }

    fn ring_of(self, rank: u32) -> u32 {
        self.counts_bytes().next_multiple_of(LINE as u32) + rank * self.ring
    }

    fn taken_cell(self, of: u32) -> u32 {
        4 * of
    }

    fn mirror_of(self, rank: u32) -> u32 {
        (4 * self.ranks).next_multiple_of(LINE as u32) + rank * self.ring
    }
}

/// The mail of a rank.
#[derive(Debug)]
pub(crate) struct Mail {
    me: u32,
    shape: Shape,
    slot: u8,
    inbox: Region<u8>,
    outbox: Region<u8>,
    lanes: Vec<Lane>,
    /// The counts at the last read.
    counts: Vec<u8>,
    scratch: Vec<u8>,
    /// The receivers of composed fragments.
    receivers: Vec<u32>,
}

fn word(bytes: &[u8], index: u32) -> u32 {
    let at = 4 * index as usize;
    match bytes.get(at..at + 4) {
        Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
        _ => 0,
    }
}

/// Adds a header, whose count is 0.
fn push_header(data: &mut Vec<u8>, label: Option<Label>, kind: u32) {
    let (communicator, sequence) = label.map_or((0, 0), |it| (it.communicator, it.sequence));
    let words = [0, communicator, sequence, kind];
    data.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

impl Mail {
    /// Makes the mail of `me`, whose window has the slot `slot`.
    pub(crate) fn new(
        me: GlobalRank,
        shape: Shape,
        slot: u8,
        inbox: Region<u8>,
        outbox: Region<u8>,
    ) -> Mail {
        Mail {
            me: me.0,
            shape,
            slot,
            inbox,
            outbox,
            lanes: (0..shape.ranks).map(|_| Lane::default()).collect(),
            counts: vec![0; shape.counts_bytes() as usize],
            scratch: Vec::new(),
            receivers: Vec::new(),
        }
    }

    pub(crate) fn me(&self) -> GlobalRank {
        GlobalRank(self.me)
    }

    /// Queues a message, which [`Mail::push`] sends.
    pub(crate) fn enqueue(&mut self, to: GlobalRank, label: Label, data: Vec<u8>) {
        // Members of communicators are ranks of the run.
        if let Some(lane) = self.lanes.get_mut(to.0 as usize)
            && !lane.is_dead
        {
            lane.queue.push_back(Outgoing {
                label,
                data,
                sent: 0,
            });
        }
    }

    /// Ends the traffic with a rank that is dead.
    pub(crate) fn bury(&mut self, dead: GlobalRank) {
        if let Some(lane) = self.lanes.get_mut(dead.0 as usize) {
            lane.queue.clear();
            lane.is_dead = true;
        }
    }

    /// Returns whether a message to this rank with such a label has not been sent completely.
    pub(crate) fn has_unsent_to(&self, to: GlobalRank, is_wanted: impl Fn(Label) -> bool) -> bool {
        let lane = self.lanes.get(to.0 as usize);
        lane.is_some_and(|lane| lane.queue.iter().any(|message| is_wanted(message.label)))
    }

    /// Returns whether a message with such a label has not been sent completely.
    pub(crate) fn has_unsent(&self, is_wanted: impl Fn(Label) -> bool) -> bool {
        let mut queued = self.lanes.iter().flat_map(|lane| &lane.queue);
        queued.any(|message| is_wanted(message.label))
    }

    /// Removes the oldest unsent messages with such a label, down to `most` for each receiver.
    pub(crate) fn keep_newest(&mut self, most: usize, is_wanted: impl Fn(Label) -> bool) {
        for lane in &mut self.lanes {
            let is_removable = |message: &Outgoing| message.sent == 0 && is_wanted(message.label);
            let queued = lane.queue.iter().filter(|it| is_removable(it)).count();
            let mut excess = queued.saturating_sub(most);
            lane.queue.retain(|message| {
                let is_removed = excess > 0 && is_removable(message);
                excess -= usize::from(is_removed);
                !is_removed
            });
        }
    }

    /// Removes the unsent messages of a stream. A message that was sent in part still gets an empty
    /// end.
    pub(crate) fn cancel(&mut self, label: Label) {
        for lane in &mut self.lanes {
            lane.queue
                .retain(|message| message.label != label || message.sent > 0);
            for message in &mut lane.queue {
                if message.label == label {
                    message.data.truncate(message.sent);
                }
            }
        }
    }

    /// Puts fragments as far as there is room. Calls `sent` with the label of each message that has
    /// been sent completely.
    pub(crate) fn push(
        &mut self,
        progress: &mut Progress,
        mut sent: impl FnMut(Label),
    ) -> Result<()> {
        // Composed fragments count as sent, so all of them are put.
        progress.undivided(|progress| {
            let mut receivers = std::mem::take(&mut self.receivers);
            receivers.clear();
            receivers.extend((0..self.shape.ranks).filter(|&to| self.compose(to, &mut sent)));
            let mut rest = &receivers[..];
            while let [first, ..] = *rest {
                let line = |to: u32| &self.lanes[to as usize].line;
                let group = rest.iter().take_while(|&&to| line(to) == line(first));
                let (group, others) = rest.split_at(group.count());
                self.put_line(progress, group)?;
                rest = others;
                // Further fragments, of long messages, share no source.
                for &to in group {
                    while self.compose(to, &mut sent) {
                        self.put_line(progress, &[to])?;
                    }
                }
            }
            self.receivers = receivers;
            Ok(())
        })
    }

    /// Puts the composed fragments, which are the same for all of `receivers`, and then the counts.
    fn put_line(&mut self, progress: &mut Progress, receivers: &[u32]) -> Result<()> {
        let Some(&last) = receivers.last() else {
            return Ok(());
        };
        let owner = &mut self.lanes[last as usize];
        // The count is a part of the first fragment, so it can't change before the put reads it.
        owner.line[..4].copy_from_slice(&owner.put.to_le_bytes());
        let (length, count) = (owner.line.len() as u32, owner.put);
        let source = self.mirror_of_line(last);
        progress
            .port
            .write_memory(source, &self.lanes[last as usize].line)?;
        for &to in receivers {
            let ring = self.shape.ring_of(self.me) + self.place_of_line(to);
            progress.quiet_put(&self.put(to, ring, source, length))?;
        }
        let counts = self.shape.put_count(self.me);
        for &to in receivers {
            let mut from = source;
            let put = self.lanes[to as usize].put;
            if put != count {
                from = self.mirror_of_line(to);
                progress.port.write_memory(from, &put.to_le_bytes())?;
            }
            progress.quiet_put(&self.put(to, counts, from, 4))?;
        }
        Ok(())
    }

    /// Place of the composed fragments in the ring at `to`.
    fn place_of_line(&self, to: u32) -> u32 {
        let lane = &self.lanes[to as usize];
        let lines = lane.line.len().next_multiple_of(LINE) as u32;
        lane.put.wrapping_sub(lines) % self.shape.ring
    }

    /// Place of the composed fragments in the mirror of the ring at `to`.
    fn mirror_of_line(&self, to: u32) -> NodeAddr {
        let mirror = self.shape.mirror_of(to) + self.place_of_line(to);
        NodeAddr(self.outbox.addr().0 + mirror)
    }

    /// A put from the outbox into the window of another rank.
    fn put(&self, to: u32, offset: u32, local: NodeAddr, length: u32) -> Transfer {
        Transfer {
            kind: TransferKind::Put,
            target: GlobalRank(to),
            window: WindowName::Slot(self.slot),
            offset,
            local,
            length,
        }
    }

    /// Composes fragments of the first messages to `to`, as many as one put has room for. Returns
    /// whether there are any.
    fn compose(&mut self, to: u32, sent: &mut impl FnMut(Label)) -> bool {
        let shape = self.shape;
        let lane = &mut self.lanes[to as usize];
        let line = &mut lane.line;
        let at = lane.put % shape.ring;
        let in_use = lane.put.wrapping_sub(lane.taken_there);
        let room = (shape.ring - in_use)
            .min(shape.ring - at)
            .min(shape.ring / 4);
        line.clear();
        while let Some(message) = lane.queue.front_mut()
            && line.len() + 2 * HEADER <= room as usize
        {
            let left = message.data.len() - message.sent;
            let payload = left.min(room as usize - line.len() - HEADER);
            let is_last = payload == left;
            let kind = kind::STREAM.put(message.label.stream as u32)
                | kind::LAST.put(u32::from(is_last))
                | kind::BYTES.put(payload as u32);
            push_header(line, Some(message.label), kind);
            line.extend_from_slice(&message.data[message.sent..message.sent + payload]);
            line.resize(line.len().next_multiple_of(HEADER), 0);
            message.sent += payload;
            if !is_last {
                break;
            }
            sent(message.label);
            lane.queue.pop_front();
        }
        if line.is_empty() {
            return false;
        }
        let lines = line.len().next_multiple_of(LINE);
        if line.len() < lines {
            push_header(line, None, kind::PADDING.mask());
        }
        lane.put = lane.put.wrapping_add(lines as u32);
        true
    }

    /// Reads the received fragments and returns the completed messages.
    pub(crate) fn take_in(&mut self, progress: &mut Progress) -> Result<Vec<Message>> {
        let shape = self.shape;
        let base = self.inbox.addr();
        progress.port.read_memory(base, &mut self.counts)?;
        let mut messages = Vec::new();
        for from in 0..shape.ranks {
            let put = word(&self.counts, from);
            let lane = &mut self.lanes[from as usize];
            lane.taken_there = word(&self.counts, shape.ranks + from);
            while lane.taken != put {
                let at = lane.taken % shape.ring;
                let here = put.wrapping_sub(lane.taken).min(shape.ring - at);
                self.scratch.clear();
                self.scratch.resize(here as usize, 0);
                let ring = NodeAddr(base.0 + shape.ring_of(from) + at);
                progress.port.read_memory(ring, &mut self.scratch)?;
                lane.taken = lane.taken.wrapping_add(here);
                let mut place = 0;
                while let Some(header) = self.scratch.get(place..place + HEADER) {
                    place += HEADER;
                    let kind = word(header, 3);
                    if kind::PADDING.get(kind) != 0 {
                        place = place.next_multiple_of(LINE);
                        continue;
                    }
                    let end = (place + kind::BYTES.get(kind) as usize).min(self.scratch.len());
                    messages.extend(lane.fragment(from, header, &self.scratch[place..end]));
                    place = end.next_multiple_of(HEADER);
                }
            }
            if lane.taken.wrapping_sub(lane.acknowledged) >= shape.ring / 4 {
                lane.acknowledged = lane.taken;
                let cell = NodeAddr(self.outbox.addr().0 + shape.taken_cell(from));
                progress
                    .port
                    .write_memory(cell, &lane.taken.to_le_bytes())?;
                let count = shape.taken_count(self.me);
                progress.quiet_put(&self.put(from, count, cell, 4))?;
            }
        }
        Ok(messages)
    }
}

impl Lane {
    /// Adds a fragment. Returns the message that the fragment completes.
    fn fragment(&mut self, from: u32, header: &[u8], payload: &[u8]) -> Option<Message> {
        let kind = word(header, 3);
        let mut message = self.partial.take().unwrap_or_else(|| Message {
            from: GlobalRank(from),
            label: Label {
                communicator: word(header, 1),
                sequence: word(header, 2),
                stream: match kind::STREAM.get(kind) {
                    0 => Stream::Agreement,
                    1 => Stream::Data,
                    2 => Stream::Here,
                    3 => Stream::Call,
                    4 => Stream::Agreed,
                    _ => Stream::Revoked,
                },
            },
            data: Vec::new(),
        });
        message.data.extend_from_slice(payload);
        if kind::LAST.get(kind) == 0 {
            self.partial = Some(message);
            return None;
        }
        Some(message)
    }
}
