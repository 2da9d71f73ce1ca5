//! Messages between ranks over put, for what is done in software.
//!
//! Each rank has, in a window of the library's own, a ring for every other rank to put fragments
//! of messages into, and two words for each: how many bytes that rank has put there, and how many
//! bytes it has taken from this rank's fragments. A fragment is put first and the count after it;
//! puts of one rank to another land in the order in which they were posted. Whoever waits looks
//! at its words, takes what has come into its host's memory at once, and tells the sender now and
//! then, so a ring never stays full while its owner is in the library, whatever the order in
//! which messages are wanted.

use std::collections::VecDeque;

use crate::progress::Progress;
use crate::transfer::{Transfer, TransferKind, WindowName};
use crate::{GlobalRank, NodeAddr, Region, Result};

/// Bytes before a fragment's payload; fragments are padded to a multiple of it, so that there is
/// always room for one in front of a ring's end.
const HEADER: u32 = 32;
/// Bytes of a ring.
const RING: std::ops::RangeInclusive<u32> = 256..=16 << 10;
/// The part of node memory that all rings together may take.
const SHARE: u32 = 8;

/// What a message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Label {
    pub(crate) communicator: u32,
    /// The how many-th collective of the communicator in software.
    pub(crate) sequence: u32,
    pub(crate) stream: Stream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Stream {
    /// Whether all members called the same.
    Agreement,
    Data,
    /// That the sender has called the collective: told to all when it waits for long.
    Here,
}

/// A message that has come.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) from: GlobalRank,
    pub(crate) label: Label,
    pub(crate) data: Vec<u8>,
}

#[derive(Debug)]
struct Outgoing {
    label: Label,
    data: Vec<u8>,
    sent: usize,
}

/// What goes to and comes from one other rank.
#[derive(Debug, Default)]
struct Lane {
    queue: VecDeque<Outgoing>,
    /// Bytes put into its ring here, and taken from it there.
    put: u32,
    taken_there: u32,
    /// Bytes taken from its ring, and what it was told of that.
    taken: u32,
    told: u32,
    /// A message of which a part has come.
    partial: Option<Message>,
}

/// Where things lie in node memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    ranks: u32,
    /// Bytes of a ring.
    ring: u32,
}

impl Shape {
    pub(crate) fn new(ranks: u32, node_bytes: u32) -> Shape {
        // A ring here and its mirror there.
        let share = node_bytes / SHARE / (2 * ranks.max(1));
        let ring = share.clamp(*RING.start(), *RING.end());
        Shape {
            ranks,
            ring: 1 << ring.ilog2(),
        }
    }

    /// Bytes of the window: put counts, taken counts, rings.
    pub(crate) fn inbox_bytes(self) -> u32 {
        self.ranks * (8 + self.ring)
    }

    /// Bytes that fragments are put from: taken counts, mirrors of the rings elsewhere.
    pub(crate) fn outbox_bytes(self) -> u32 {
        self.ranks * (4 + self.ring)
    }

    /// Bytes of the counts.
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
        8 * self.ranks + rank * self.ring
    }

    fn taken_cell(self, of: u32) -> u32 {
        4 * of
    }

    fn mirror_of(self, rank: u32) -> u32 {
        4 * self.ranks + rank * self.ring
    }
}

/// A rank's mail.
#[derive(Debug)]
pub(crate) struct Mail {
    me: u32,
    shape: Shape,
    slot: u8,
    inbox: Region<u8>,
    outbox: Region<u8>,
    lanes: Vec<Lane>,
    /// The counts, as they were read last.
    counts: Vec<u8>,
    scratch: Vec<u8>,
}

fn word(bytes: &[u8], index: u32) -> u32 {
    let at = 4 * index as usize;
    match bytes.get(at..at + 4) {
        Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
        _ => 0,
    }
}

impl Mail {
    /// The mail of `me`, whose window is registered in `slot`.
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
        }
    }

    /// Takes a message to be sent; [`Mail::push`] sends it.
    pub(crate) fn enqueue(&mut self, to: GlobalRank, label: Label, data: Vec<u8>) {
        // Members of communicators are ranks of the run.
        if let Some(lane) = self.lanes.get_mut(to.0 as usize) {
            lane.queue.push_back(Outgoing {
                label,
                data,
                sent: 0,
            });
        }
    }

    /// Takes back what has not left of a collective's data. Of a message that has left in part,
    /// an empty end is still to go.
    pub(crate) fn cancel(&mut self, communicator: u32, sequence: u32) {
        let data = Label {
            communicator,
            sequence,
            stream: Stream::Data,
        };
        for lane in &mut self.lanes {
            lane.queue
                .retain(|message| message.label != data || message.sent > 0);
            for message in &mut lane.queue {
                if message.label == data {
                    message.data.truncate(message.sent);
                }
            }
        }
    }

    /// Puts what there is room for; calls `sent` with the label of each message that has left.
    pub(crate) fn push(
        &mut self,
        progress: &mut Progress,
        mut sent: impl FnMut(Label),
    ) -> Result<()> {
        for to in 0..self.shape.ranks {
            while let Some(label) = self.push_fragment(progress, to)? {
                sent(label);
            }
        }
        Ok(())
    }

    /// Puts fragments of the first message to `to` until it has left, whose label comes back, or
    /// there is no room.
    fn push_fragment(&mut self, progress: &mut Progress, to: u32) -> Result<Option<Label>> {
        let shape = self.shape;
        let lane = &mut self.lanes[to as usize];
        let Some(message) = lane.queue.front_mut() else {
            return Ok(None);
        };
        loop {
            let at = lane.put % shape.ring;
            let in_use = lane.put.wrapping_sub(lane.taken_there);
            let room = (shape.ring - in_use)
                .min(shape.ring - at)
                .min(shape.ring / 4);
            if room < HEADER {
                return Ok(None);
            }
            let left = message.data.len() - message.sent;
            let payload = left.min((room - HEADER) as usize);
            let end = (HEADER + payload as u32).next_multiple_of(HEADER);
            let put = lane.put.wrapping_add(end);
            let part = &message.data[message.sent..message.sent + payload];
            let header = [
                put,
                message.label.communicator,
                message.label.sequence,
                message.label.stream as u32,
                message.data.len() as u32,
                payload as u32,
                0,
                0,
            ];
            self.scratch.clear();
            self.scratch
                .extend(header.iter().flat_map(|word| word.to_le_bytes()));
            self.scratch.extend_from_slice(part);
            let mirror = NodeAddr(self.outbox.addr().0 + shape.mirror_of(to) + at);
            progress.port.write_memory(mirror, &self.scratch)?;
            let target = GlobalRank(to);
            let to_me = |offset, local, length| Transfer {
                kind: TransferKind::Put,
                target,
                window: WindowName::Slot(self.slot),
                offset,
                local,
                length,
            };
            progress.quiet_put(&to_me(
                shape.ring_of(self.me) + at,
                mirror,
                HEADER + payload as u32,
            ))?;
            // The count stands in the fragment, so that it is the same when it is read.
            progress.quiet_put(&to_me(shape.put_count(self.me), mirror, 4))?;
            lane.put = put;
            message.sent += payload;
            if message.sent == message.data.len() {
                let label = message.label;
                lane.queue.pop_front();
                return Ok(Some(label));
            }
        }
    }

    /// Takes in what has come.
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
                let mut rest = &self.scratch[..];
                while let Some((header, after)) = rest.split_at_checked(HEADER as usize) {
                    let payload = (word(header, 5) as usize).min(after.len());
                    let padded = payload.next_multiple_of(HEADER as usize).min(after.len());
                    messages.extend(lane.fragment(from, header, &after[..payload]));
                    rest = &after[padded..];
                }
            }
            if lane.taken.wrapping_sub(lane.told) >= shape.ring / 4 {
                lane.told = lane.taken;
                let cell = NodeAddr(self.outbox.addr().0 + shape.taken_cell(from));
                progress
                    .port
                    .write_memory(cell, &lane.taken.to_le_bytes())?;
                progress.quiet_put(&Transfer {
                    kind: TransferKind::Put,
                    target: GlobalRank(from),
                    window: WindowName::Slot(self.slot),
                    offset: shape.taken_count(self.me),
                    local: cell,
                    length: 4,
                })?;
            }
        }
        Ok(messages)
    }
}

impl Lane {
    /// Takes in a fragment; the message that it ends.
    fn fragment(&mut self, from: u32, header: &[u8], payload: &[u8]) -> Option<Message> {
        let mut message = self.partial.take().unwrap_or_else(|| Message {
            from: GlobalRank(from),
            label: Label {
                communicator: word(header, 1),
                sequence: word(header, 2),
                stream: match word(header, 3) {
                    0 => Stream::Agreement,
                    1 => Stream::Data,
                    _ => Stream::Here,
                },
            },
            data: Vec::new(),
        });
        message.data.extend_from_slice(payload);
        if message.data.len() < word(header, 4) as usize {
            self.partial = Some(message);
            return None;
        }
        Some(message)
    }
}
