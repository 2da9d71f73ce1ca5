//! The log of a board's activity, for a timeline and a packet log.
//!
//! The log is a ring: beyond its limit, the oldest records are dropped. Logging costs no simulated
//! time. Without a log, the mailbox has none, and each of its calls costs a branch.

pub(crate) mod chrome;
pub(crate) mod files;
pub(crate) mod packet;
pub(crate) mod pcapng;
pub(crate) mod story;

use std::collections::VecDeque;

use alcor::{Activity, GlobalRank, Note, Status};
use alcor_abi::rank::CQ_BASE;
use alcor_abi::{CQ_ENTRY_BYTES, packets::net_low};

use crate::Shape;
use crate::mailbox::Want;

/// Default number of stored records per board.
pub(crate) const RECORDS: usize = 1 << 18;
/// Number of words stored per record, on average.
const WORDS_PER_RECORD: usize = 16;
/// Maximum number of words of a packet; the log stores no further words.
const LONGEST: usize = 8192;
/// Maximum number of beats of a record of writes to node memory.
const BEATS: usize = 256;
/// Streams of a coprocessor: requests sent, replies sent, requests received, replies received.
pub(crate) const STREAMS: usize = 4;
/// Writer to a node memory: request plane, reply plane, completion ring, collective unit.
pub(crate) const WRITERS: usize = 4;
/// The collective unit among them.
pub(crate) const COLLECTIVE_UNIT: usize = 3;
/// The completion ring among them.
const RING: usize = 2;
/// Virtual channels of a link.
const CHANNELS: usize = 8;

/// An activity in cycles `from` to `to`, without the latter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    /// Number of resets before the record.
    pub(crate) run: u32,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) what: What,
    /// Number of words of the record.
    words: u32,
}

/// The kind of an activity. Ranks are local ranks of the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// The library was called.
    Began {
        rank: u8,
        operation: u64,
        activity: Activity,
        peer: Option<GlobalRank>,
        bytes: u64,
    },
    /// The library has seen the end of the operation.
    Ended {
        rank: u8,
        operation: u64,
        status: Status,
    },
    /// A register write was on the pins; `operation` is the committed operation.
    Command {
        rank: u8,
        offset: u16,
        data: u32,
        operation: Option<u64>,
    },
    /// A rank waited.
    Wait {
        rank: u8,
        waited: Waited,
        is_over: bool,
    },
    /// A rank's interrupt rose or fell.
    Interrupt { rank: u8, is_raised: bool },
    /// A packet on a coprocessor's stream; its words are the beats.
    Packet { stream: u8, is_whole: bool },
    /// A packet on a link. The neighbour sees the first phit in cycle `arrives` and the last phit
    /// before cycle `arrived`. The words of the record are the used words of the phits.
    Hop {
        port: u8,
        channel: u8,
        header: u32,
        header_high: u16,
        position: u32,
        arrives: u64,
        arrived: u64,
        is_whole: bool,
    },
    /// Consecutive beats were written to node memory. The words of the record are, for each beat,
    /// the cycles after `from` and the number of words.
    Write { rank: u8, writer: u8, address: u32 },
    /// An entry was written to the completion ring: its words 0 and 2.
    Completion { rank: u8, entry: u32, tag: u32 },
}

impl What {
    /// Rank of the event; for an event on a link, the port.
    pub(crate) fn rank(&self) -> u8 {
        match *self {
            What::Began { rank, .. }
            | What::Ended { rank, .. }
            | What::Command { rank, .. }
            | What::Wait { rank, .. }
            | What::Interrupt { rank, .. }
            | What::Write { rank, .. }
            | What::Completion { rank, .. } => rank,
            What::Packet { stream, .. } => stream / STREAMS as u8,
            What::Hop { port, .. } => port,
        }
    }
}

/// The event that a rank waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    Interrupt,
    Effect,
    Room,
    Time,
    Read,
    Load,
    Store,
}

impl Waited {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Waited::Interrupt => "waits for the interrupt",
            Waited::Effect => "waits for its writes to take effect",
            Waited::Room => "waits for room in the port",
            Waited::Time => "polls",
            Waited::Read => "reads a register",
            Waited::Load => "reads node memory",
            Waited::Store => "writes node memory",
        }
    }
}

impl From<&Want> for Waited {
    fn from(want: &Want) -> Self {
        match want {
            Want::Interrupt { .. } => Waited::Interrupt,
            Want::Effect => Waited::Effect,
            Want::Room => Waited::Room,
            Want::Until(_) => Waited::Time,
            Want::Read { .. } | Want::Reply => Waited::Read,
            Want::Load { .. } => Waited::Load,
            Want::Store { .. } => Waited::Store,
        }
    }
}

/// A record that has begun and not ended.
#[derive(Default)]
struct Open {
    record: Option<Record>,
    words: Vec<u32>,
    /// For writes to memory: address of the next write of the same transfer.
    next: u32,
}

/// Activities of a rank that have not ended.
#[derive(Default)]
struct Lane {
    /// Register writes that have been on the pins since reset.
    offered: u64,
    /// Writes on their way over the link to the host: offset and data.
    on_link: VecDeque<(u32, u32)>,
    /// Writes that commit operations: number of writes before, and operation.
    commits: VecDeque<(u64, u64)>,
    wait: Option<(u64, Waited)>,
    /// Word address of the rank's completion ring.
    ring_base: u32,
    /// The entry of the ring that is being written.
    entry: Option<Record>,
}

/// The log of a board.
pub(crate) struct Log {
    run: u32,
    limit: usize,
    records: VecDeque<Record>,
    words: VecDeque<u32>,
    dropped: u64,
    /// Number of records since the log was created.
    pushed: u64,
    /// Open records: for each stream of each rank, each writer of its memory, and each channel of
    /// each link.
    open: Vec<Open>,
    lanes: Vec<Lane>,
    interrupts: u32,
    phit_words: usize,
}

impl Log {
    /// An empty log for a board of this shape, with at most `limit` records.
    pub(crate) fn new(shape: Shape, limit: usize) -> Self {
        let ranks = shape.ranks as usize;
        let open = (STREAMS + WRITERS) * ranks + CHANNELS * shape.links as usize;
        Self {
            run: 0,
            limit: limit.max(1),
            records: VecDeque::new(),
            words: VecDeque::new(),
            dropped: 0,
            pushed: 0,
            open: (0..open).map(|_| Open::default()).collect(),
            lanes: (0..ranks).map(|_| Lane::default()).collect(),
            interrupts: 0,
            phit_words: shape.phit_bits as usize / 32,
        }
    }

    /// The records, oldest first in the order of their ends, each with its words; and those that
    /// have not ended, up to `now`.
    pub(crate) fn each(&self, now: u64, mut tell: impl FnMut(&Record, &[u32])) {
        let mut words = self.words.iter().copied();
        let mut buffer = Vec::new();
        for record in &self.records {
            buffer.clear();
            buffer.extend(words.by_ref().take(record.words as usize));
            tell(record, &buffer);
        }
        self.each_open(now, |record, words| tell(&record, words));
    }

    /// Activities that have not ended.
    fn each_open(&self, now: u64, mut tell: impl FnMut(Record, &[u32])) {
        for open in &self.open {
            if let Some(record) = open.record {
                tell(record, &open.words);
            }
        }
        for (rank, lane) in self.lanes.iter().enumerate() {
            if let Some(record) = lane.entry {
                tell(record, &[]);
            }
            if let Some((from, waited)) = lane.wait {
                let what = What::Wait {
                    rank: rank as u8,
                    waited,
                    is_over: false,
                };
                tell(self.record(from, now.max(from), what), &[]);
            }
        }
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Changes with every record.
    pub(crate) fn version(&self) -> u64 {
        self.pushed
    }

    /// The board was reset: ends all open records.
    pub(crate) fn reset(&mut self, now: u64) {
        let mut open = Vec::new();
        self.each_open(now, |record, words| open.push((record, words.to_vec())));
        for (record, words) in open {
            self.push(record, &words);
        }
        self.open
            .iter_mut()
            .for_each(|open| *open = Open::default());
        self.lanes
            .iter_mut()
            .for_each(|lane| *lane = Lane::default());
        self.interrupts = 0;
    }

    /// Begins run `run`.
    pub(crate) fn begin_run(&mut self, run: u32) {
        self.run = run;
    }

    fn record(&self, from: u64, to: u64, what: What) -> Record {
        Record {
            run: self.run,
            from,
            to,
            what,
            words: 0,
        }
    }

    fn push(&mut self, mut record: Record, words: &[u32]) {
        record.words = words.len() as u32;
        self.pushed += 1;
        let most = self.limit.saturating_mul(WORDS_PER_RECORD).max(LONGEST);
        while self.records.len() >= self.limit || self.words.len() + words.len() > most {
            let Some(oldest) = self.records.pop_front() else {
                break;
            };
            self.words.drain(..oldest.words as usize);
            self.dropped += 1;
        }
        self.words.extend(words);
        self.records.push_back(record);
    }

    fn note_now(&mut self, now: u64, what: What) {
        self.push(self.record(now, now, what), &[]);
    }

    /// Records a note of the library on an operation. `ahead` register writes of the rank precede
    /// its next write.
    #[cold]
    pub(crate) fn note(&mut self, rank: usize, now: u64, ahead: usize, note: Note) {
        match note {
            Note::Began {
                operation,
                activity,
                peer,
                bytes,
            } => self.note_now(
                now,
                What::Began {
                    rank: rank as u8,
                    operation,
                    activity,
                    peer,
                    bytes,
                },
            ),
            Note::Posting { operation } => {
                let lane = &mut self.lanes[rank];
                lane.commits
                    .push_back((lane.offered + ahead as u64, operation));
            }
            Note::Ended { operation, status } => self.note_now(
                now,
                What::Ended {
                    rank: rank as u8,
                    operation,
                    status,
                },
            ),
            // A later kind of note has no place in a timeline.
            _ => {}
        }
    }

    /// A register write is on the pins in cycle `cycle`.
    #[cold]
    pub(crate) fn offered(&mut self, rank: usize, cycle: u64, offset: u32, data: u32) {
        let lane = &mut self.lanes[rank];
        let commits = lane.commits.front();
        let is_commit = commits.is_some_and(|&(before, _)| before == lane.offered);
        lane.offered += 1;
        if offset == CQ_BASE {
            lane.ring_base = data / 4;
        }
        let operation = if is_commit {
            lane.commits.pop_front().map(|(_, operation)| operation)
        } else {
            None
        };
        let what = What::Command {
            rank: rank as u8,
            offset: offset as u16,
            data,
            operation,
        };
        self.push(self.record(cycle, cycle + 1, what), &[]);
    }

    /// A register write goes on its way over the link to the host.
    #[cold]
    pub(crate) fn sent(&mut self, rank: usize, offset: u32, data: u32) {
        self.lanes[rank].on_link.push_back((offset, data));
    }

    /// The board has taken the oldest register write on the link.
    #[cold]
    pub(crate) fn taken(&mut self, rank: usize, cycle: u64) {
        if let Some((offset, data)) = self.lanes[rank].on_link.pop_front() {
            self.offered(rank, cycle, offset, data);
        }
    }

    #[cold]
    pub(crate) fn wait_began(&mut self, rank: usize, now: u64, want: &Want) {
        self.lanes[rank].wait = Some((now, want.into()));
    }

    #[cold]
    pub(crate) fn wait_ended(&mut self, rank: usize, now: u64, is_over: bool) {
        if let Some((from, waited)) = self.lanes[rank].wait.take() {
            let what = What::Wait {
                rank: rank as u8,
                waited,
                is_over,
            };
            self.push(self.record(from, now, what), &[]);
        }
    }

    /// The interrupts' levels in cycle `cycle`.
    #[cold]
    pub(crate) fn interrupts(&mut self, cycle: u64, levels: u32) {
        let mut changed = levels ^ self.interrupts;
        self.interrupts = levels;
        while changed != 0 {
            let rank = changed.trailing_zeros();
            changed &= changed - 1;
            let is_raised = levels >> rank & 1 != 0;
            let rank = rank as u8;
            self.note_now(cycle, What::Interrupt { rank, is_raised });
        }
    }

    /// A beat passed a stream in cycle `cycle`.
    #[cold]
    pub(crate) fn beat(&mut self, stream: usize, cycle: u64, is_last: bool, words: &[u32]) {
        let what = What::Packet {
            stream: stream as u8,
            is_whole: false,
        };
        let begun = self.record(cycle, cycle, what);
        let open = &mut self.open[stream];
        open.words.extend_from_slice(words);
        let record = open.record.get_or_insert(begun);
        record.to = cycle + 1;
        if is_last || open.words.len() >= LONGEST {
            if let What::Packet { is_whole, .. } = &mut record.what {
                *is_whole = is_last;
            }
            self.close(stream);
        }
    }

    /// A phit was on a link in cycle `cycle`, and is at the other end in cycle `arrives`.
    #[cold]
    pub(crate) fn phit(
        &mut self,
        port: usize,
        channel: u32,
        cycle: u64,
        arrives: u64,
        phit: &[u32],
        unit: usize,
    ) {
        let (data, above) = phit.split_at(self.phit_words);
        let low = above[0];
        let position = above[1] >> 16 | above[2] << 16;
        // The coprocessors' phits count beats, those of collectives words.
        let units = 1 + alcor_abi::packets::net_position::WORDS.get(position) as usize;
        let (count, is_last) = match channel {
            0..=3 => (units * unit, net_low::LAST.get(low) != 0),
            _ => (units, true),
        };
        let what = What::Hop {
            port: port as u8,
            channel: channel as u8,
            header: low,
            header_high: above[1] as u16,
            position,
            arrives,
            arrived: arrives,
            is_whole: false,
        };
        let begun = self.record(cycle, cycle, what);
        let slot = (STREAMS + WRITERS) * self.lanes.len() + CHANNELS * port + channel as usize;
        let open = &mut self.open[slot];
        open.words
            .extend_from_slice(&data[..count.min(self.phit_words)]);
        let record = open.record.get_or_insert(begun);
        record.to = cycle + 1;
        if let What::Hop {
            arrived, is_whole, ..
        } = &mut record.what
        {
            *arrived = arrives + 1;
            *is_whole = is_last;
        }
        if is_last || open.words.len() >= LONGEST {
            self.close(slot);
        }
    }

    /// Node memory was written to in cycle `cycle`: `words` from word address `address` on, of
    /// which `first` is the first.
    #[cold]
    pub(crate) fn written(
        &mut self,
        rank: usize,
        writer: usize,
        cycle: u64,
        address: u32,
        words: u32,
        first: u32,
    ) {
        if writer == RING {
            self.ring_written(rank, cycle, address, first);
            return;
        }
        let slot = STREAMS * self.lanes.len() + WRITERS * rank + writer;
        let open = &self.open[slot];
        if open.next != address || open.words.len() >= BEATS {
            self.close(slot);
        }
        let what = What::Write {
            rank: rank as u8,
            writer: writer as u8,
            address: address * 4,
        };
        let begun = self.record(cycle, cycle, what);
        let open = &mut self.open[slot];
        let record = open.record.get_or_insert(begun);
        record.to = cycle + 1;
        let after = (cycle - record.from).min(u64::from(u32::MAX >> 8)) as u32;
        open.words.push(after << 8 | words & 0xff);
        open.next = address + words;
    }

    /// A word of the completion ring's entries. The count of retired commands, word 1, comes last. An
    /// entry without a count is complete when the next one begins.
    fn ring_written(&mut self, rank: usize, cycle: u64, address: u32, word: u32) {
        const ENTRY: u32 = CQ_ENTRY_BYTES / 4;
        let lane = &self.lanes[rank];
        let index = address.wrapping_sub(lane.ring_base) % ENTRY;
        let what = What::Completion {
            rank: rank as u8,
            entry: word,
            tag: 0,
        };
        let begun = self.record(cycle, cycle + 1, what);
        let lane = &mut self.lanes[rank];
        match index {
            0 => {
                if let Some(record) = lane.entry.replace(begun) {
                    self.push(record, &[]);
                }
            }
            1 => {
                if let Some(mut record) = lane.entry.take() {
                    record.to = cycle + 1;
                    self.push(record, &[]);
                }
            }
            _ => {
                if let Some(Record {
                    to,
                    what: What::Completion { tag, .. },
                    ..
                }) = &mut lane.entry
                {
                    *to = cycle + 1;
                    if index == 2 {
                        *tag = word;
                    }
                }
            }
        }
    }

    /// Ends the open record there. The buffer stays allocated for the next record.
    fn close(&mut self, slot: usize) {
        let open = &mut self.open[slot];
        let Some(record) = open.record.take() else {
            return;
        };
        let mut words = std::mem::take(&mut open.words);
        self.push(record, &words);
        words.clear();
        self.open[slot].words = words;
    }
}
