//! `rma_completion_queue` against a model that is exact to the cycle, and against a ring that a
//! host reads: order of the sources, each memory write, wrapping, losses when the ring is full,
//! registers written at any time, and readability of every counted entry. Beside it `rma_host_ring`:
//! a host that sees the copies alone takes every entry once, in order.

use std::collections::{HashMap, VecDeque};

use alcor_abi::Status;
use alcor_abi::packets::cq_entry;
use alcor_hw_bench::{Pace, Random, Sink, Source, soak};
use rand::Rng;

use crate::rma::Block;

/// Number of entries that can wait, for the instances in `rma_bench`. CQ_HEAD of the second one moves a cycle late.
const DEPTHS: [usize; 2] = [16, 2];
/// Sources in order of priority.
const SOURCES: usize = 4;
const COLLECTIVE: usize = 0;
const REPLY: usize = 1;
const LOCAL: usize = 2;
const MESSAGE: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Completion {
    status: u32,
    id: u32,
    /// Source of a message; 0 for other completions.
    source: u32,
    /// Words 2 and 3 of the entry, if they are written.
    value: Option<(u32, u32)>,
    /// The end of a barrier.
    is_barrier: bool,
}

impl Completion {
    /// Word 0 of the entry in a lap of the ring, with or without a count.
    fn first(&self, lap: bool, is_counted: bool) -> u32 {
        cq_entry::STATUS.put(self.status)
            | cq_entry::ID.put(self.id)
            | cq_entry::SOURCE.put(self.source)
            | cq_entry::BARRIER.put(u32::from(self.is_barrier))
            | cq_entry::LAP.put(u32::from(lap))
            | cq_entry::COUNTED.put(u32::from(is_counted))
    }

    /// The words of the entry in the order in which they are written; the count, if any, comes last.
    fn words(&self, retired: Option<u32>, lap: bool) -> Vec<(u32, u32)> {
        let value = self.value.map(|(low, high)| [(2, low), (3, high)]);
        [(0, self.first(lap, retired.is_some()))]
            .into_iter()
            .chain(value.into_iter().flatten())
            .chain(retired.map(|retired| (1, retired)))
            .collect()
    }
}

/// The entry of a barrier, with ST_MISMATCH if the ranks were at different commands.
fn end_of_barrier(is_mismatch: bool) -> Completion {
    Completion {
        status: if is_mismatch {
            Status::Mismatch as u32
        } else {
            0
        },
        id: 0,
        source: 0,
        value: None,
        is_barrier: true,
    }
}

struct Bench {
    rng: Random,
    block: Block,
    depth: usize,
    sources: [Source<Completion>; SOURCES],
    port: Sink,
    /// Waiting completions in order of arrival.
    waiting: VecDeque<Completion>,
    /// Number of words that have been written of the oldest entry, and whether it has a count.
    written: usize,
    is_counted: bool,
    /// Node memory, by word address.
    memory: HashMap<u32, u32>,
    /// Registers as the host has written them.
    base: u32,
    log2: u32,
    tail: u32,
    /// The host clears the count in this cycle.
    clears: bool,
    /// Registers as of the last cycle in which no write waited.
    used: (u32, u32, u32),
    /// A clear waits for a memory write.
    clearing: bool,
    /// The count was cleared in the cycle before.
    cleared: bool,
    head: u32,
    /// The count of the cycle before, where the host sees this one.
    late_head: Option<u32>,
    retired: u32,
    /// Entries that the host has not read, with the value of RETIRED at the write of word 1.
    entries: VecDeque<(Completion, Option<u32>)>,
    /// Entries without a count.
    uncounted: u64,
    read: u64,
    lost: u64,
    stalls: u64,
    /// A barrier has ended in this cycle; its entry waits.
    barrier: bool,
    barrier_waits: bool,
    is_mismatch: bool,
    /// The ring in host memory: its address, if copies are on, its words, and the entries that the
    /// host has taken from it.
    host: Option<u64>,
    copies: Sink,
    copied: HashMap<u64, u32>,
    host_taken: u32,
}

impl Bench {
    fn new(lane: usize, name: &'static str) -> Self {
        Self {
            rng: Random::new(name),
            block: Block::start("ring", DEPTHS.len(), lane),
            depth: DEPTHS[lane],
            sources: std::array::from_fn(|_| Source::new(Pace::Always)),
            port: Sink::new(Pace::Always),
            waiting: VecDeque::new(),
            written: 0,
            is_counted: false,
            memory: HashMap::new(),
            base: 0,
            log2: 0,
            tail: 0,
            clears: false,
            used: (0, 0, 0),
            clearing: false,
            cleared: false,
            head: 0,
            late_head: (lane == 1).then_some(0),
            retired: 0,
            entries: VecDeque::new(),
            uncounted: 0,
            read: 0,
            lost: 0,
            stalls: 0,
            barrier: false,
            barrier_waits: false,
            is_mismatch: false,
            host: None,
            copies: Sink::new(Pace::Always),
            copied: HashMap::new(),
            host_taken: 0,
        }
    }

    fn entries(&self) -> u32 {
        1 << self.log2
    }

    /// Sets up another ring, as the host does when no operation is in flight.
    fn set_ring(&mut self, base: u32, log2: u32) {
        assert!(self.waiting.is_empty(), "an operation is in flight");
        (self.base, self.log2, self.tail) = (base, log2, 0);
        self.clears = true;
        self.memory.clear();
        self.entries.clear();
        self.cycle();
        assert_eq!(self.head, 0);
    }

    /// One cycle, checked against the model.
    fn cycle(&mut self) {
        self.retired = match self.rng.random_range(0..100) {
            0 => self.rng.random(),
            step => self.retired.wrapping_add(step % 3),
        };
        let offers: [Option<Completion>; SOURCES] = self
            .sources
            .each_mut()
            .map(|source| source.offer(&mut *self.rng).copied());
        let grant = self.port.ready(&mut *self.rng);
        let noise: u64 = self.rng.random();
        let names = [
            (
                "collective_valid_i",
                "collective_status_i",
                "collective_id_i",
            ),
            ("reply_valid_i", "reply_status_i", "reply_id_i"),
            ("local_valid_i", "local_status_i", "local_id_i"),
            ("message_valid_i", "message_status_i", "message_id_i"),
        ];
        let block = &mut self.block;
        for (offer, (valid, status, id)) in offers.iter().zip(names) {
            block.set(valid, offer.is_some());
            block.set(status, offer.map_or(noise & 31, |one| one.status.into()));
            block.set(id, offer.map_or(noise >> 8 & 0xffff, |one| one.id.into()));
        }
        let (reply, message) = (offers[REPLY], offers[MESSAGE]);
        let old = reply.map(|reply| reply.value.unwrap_or((noise as u32, (noise >> 32) as u32)));
        let old = old.map_or(!noise, |(low, high)| u64::from(high) << 32 | u64::from(low));
        block.set("reply_old_i", old);
        block.set(
            "reply_atomic_i",
            reply.map_or(noise & 1 == 1, |reply| reply.value.is_some()),
        );
        let (word, length) = message
            .and_then(|message| message.value)
            .unwrap_or((noise as u32, !noise as u32));
        block.set(
            "message_source_i",
            message.map_or(noise >> 40 & 255, |message| message.source.into()),
        );
        block.set("message_word_i", word);
        block.set("message_length_i", length);
        block.set("write_ready_i", grant);
        block.set("retired_i", self.retired);
        block.set("tail_i", self.tail);
        block.set("base_i", self.base);
        block.set("log2_entries_i", self.log2);
        block.set("clear_i", self.clears);
        block.set("barrier_i", self.barrier);
        let mismatch = noise >> 60 & 1 == 1;
        block.set("mismatch_i", mismatch);
        block.set("copies_i", self.host.is_some());
        block.set("host_i", self.host.unwrap_or(noise));
        let copy_ready = self.copies.ready(&mut *self.rng);
        block.set("copy_ready_i", copy_ready);
        block.settle();

        let (base, log2, tail) = self.used;
        let size = 1u32 << log2;
        let place = format!("cycle {}, {size} entries", block.cycle());
        let shown = self.late_head.unwrap_or(self.head);
        assert_eq!(block.word("head_o"), shown, "{place}");
        let is_idle = self.waiting.is_empty() && !self.barrier_waits && shown == self.head;
        assert_eq!(block.is("idle_o"), is_idle, "{place}");
        // A full ring loses the entry that is next. The cycle behind a clear decides nothing.
        let next = self.waiting.front().copied().filter(|_| !self.cleared);
        let full = self.written == 0 && self.head.wrapping_sub(tail) >= size;
        assert_eq!(
            block.is("overflow_o"),
            next.is_some() && full,
            "{place}: {} in the ring",
            self.head.wrapping_sub(tail)
        );
        let writes = next.filter(|_| !full);
        assert_eq!(block.is("write_valid_o"), writes.is_some(), "{place}");
        let room = self.waiting.len() < self.depth;
        for (at, ready) in [
            "collective_ready_o",
            "reply_ready_o",
            "local_ready_o",
            "message_ready_o",
        ]
        .into_iter()
        .enumerate()
        {
            let first = offers[..at].iter().all(Option::is_none);
            assert_eq!(block.is(ready), room && first, "{place}: {ready}");
        }
        if next.is_some() && full {
            self.waiting.pop_front();
            self.lost += 1;
        }
        let mut advances = false;
        if let Some(next) = writes {
            // An entry behind which another one waits when it is begun has no count.
            if self.written == 0 {
                self.is_counted = self.waiting.len() == 1;
            }
            let retired = self.is_counted.then_some(self.retired);
            let words = next.words(retired, self.head & size == 0);
            let (word, data) = words[self.written];
            let slot = base / 4 + 4 * (self.head % size);
            let address = slot.wrapping_add(word) & 0x3fff_ffff;
            assert_eq!(
                block.word("write_address_o"),
                address,
                "{place}: word {word}"
            );
            assert_eq!(block.word("write_data_o"), data, "{place}: word {word}");
            if grant {
                self.memory.insert(address, data);
                self.written += 1;
                if self.written == words.len() {
                    self.written = 0;
                    self.waiting.pop_front();
                    self.entries.push_back((next, retired));
                    self.uncounted += u64::from(retired.is_none());
                    advances = true;
                }
            }
        }
        // One completion is accepted, as a whole, of the first source that has one.
        let mut open = room;
        for (source, offer) in self.sources.iter_mut().zip(offers) {
            if let Some(completion) = source.take(open) {
                self.waiting.push_back(completion);
            }
            open &= offer.is_none();
        }
        if self.barrier_waits && open {
            self.barrier_waits = false;
            self.waiting.push_back(end_of_barrier(self.is_mismatch));
        }
        if self.barrier {
            self.is_mismatch = mismatch;
        }
        self.barrier_waits |= std::mem::take(&mut self.barrier) && self.host.is_some();
        // Registers that the host writes while a memory write waits take effect after that write.
        let stalled = writes.is_some() && !grant;
        self.clearing |= self.clears;
        self.cleared = self.clearing && !stalled;
        self.late_head = self.late_head.map(|_| self.head);
        self.head = self.head.wrapping_add(u32::from(advances));
        if stalled {
            self.stalls += 1;
        } else {
            self.used = (self.base, self.log2, self.tail);
        }
        if self.cleared {
            self.head = 0;
            self.late_head = self.late_head.map(|_| 0);
            self.clearing = false;
        }
        self.clears = false;
        if self.block.is("copy_valid_o") && copy_ready {
            self.copy();
        }
        self.block.clock();
    }

    /// Carries out a copy: node memory, as it is now, into host memory.
    fn copy(&mut self) {
        let [source, bytes] = ["copy_source_o", "copy_bytes_o"].map(|name| self.block.word(name));
        let destination = self.block.get("copy_destination_o");
        assert!(bytes > 0 && bytes % 16 == 0, "{bytes} bytes");
        let host = self.host.expect("copies are on");
        let (offset, end) = (source - self.base, 16 * self.entries());
        assert_eq!(destination, host + u64::from(offset));
        assert!(offset.checked_add(bytes).is_some_and(|last| last <= end));
        for word in 0..bytes / 4 {
            let data = self.memory.get(&(source / 4 + word)).copied();
            self.copied
                .insert(u64::from(offset / 4 + word), data.unwrap_or(0));
        }
    }

    /// The host takes entries from its own memory alone.
    fn host_takes(&mut self, host: &mut Sink) {
        while host.ready(&mut *self.rng) {
            let index = self.host_taken % self.entries();
            let word = |word| self.copied.get(&u64::from(4 * index + word)).copied();
            let lap = (self.host_taken / self.entries()).is_multiple_of(2);
            let first = word(0).unwrap_or(0);
            if cq_entry::LAP.get(first) != u32::from(lap) {
                break;
            }
            let (completion, retired) = self.entries.pop_front().expect("an entry");
            for (place, data) in completion.words(retired, lap) {
                assert_eq!(word(place), Some(data), "{completion:?}, word {place}");
            }
            self.host_taken += 1;
            self.tail = self.tail.wrapping_add(1);
            self.read += 1;
        }
    }

    /// The host reads entries that CQ_HEAD counts.
    fn host_reads(&mut self, host: &mut Sink) {
        self.block.settle();
        let shown = self.block.word("head_o");
        if !host.ready(&mut *self.rng) || shown == self.tail {
            return;
        }
        for _ in 0..self.rng.random_range(1..=shown.wrapping_sub(self.tail)) {
            let (completion, retired) = self.entries.pop_front().expect("a counted entry");
            let slot = self.base / 4 + 4 * (self.tail % self.entries());
            let lap = self.tail & self.entries() == 0;
            for (word, data) in completion.words(retired, lap) {
                let found = self.memory.get(&(slot.wrapping_add(word) & 0x3fff_ffff));
                assert_eq!(found, Some(&data), "{completion:?}, word {word}");
            }
            self.tail = self.tail.wrapping_add(1);
            self.read += 1;
        }
    }

    /// Moves the host's tail to any distance behind the count, most often near the ring's size.
    fn jump(&mut self) {
        let size = self.entries();
        let behind = match self.rng.random_range(0..8) {
            0 => size,
            1 => size + self.rng.random_range(1..4),
            2 => size << self.rng.random_range(0..32 - self.log2),
            3 => self.rng.random_range(size..u32::MAX),
            4 | 5 => size - 1,
            _ => self.rng.random_range(0..size),
        };
        self.tail = self.head.wrapping_sub(behind);
    }

    fn completion(&mut self, source: usize) -> Completion {
        let rng = &mut *self.rng;
        let value = match source {
            REPLY => rng.random_bool(0.3).then(|| rng.random()),
            MESSAGE => Some((rng.random(), rng.random())),
            _ => None,
        };
        Completion {
            status: rng.random_range(0..32),
            id: rng.random_range(0..1 << 16),
            source: if source == MESSAGE {
                rng.random_range(0..256)
            } else {
                0
            },
            value,
            is_barrier: false,
        }
    }

    /// Keeps completions of a source on offer.
    fn supply(&mut self, source: usize) -> u64 {
        let mut offered = 0;
        while self.sources[source].len() < 2 {
            let completion = self.completion(source);
            self.sources[source].push(completion);
            offered += 1;
        }
        offered
    }

    /// Performs all that is on offer.
    fn drain(&mut self) {
        for source in &mut self.sources {
            source.set_pace(Pace::Always);
        }
        self.port = Sink::new(Pace::Always);
        let mut host = Sink::new(Pace::Always);
        for _ in 0..(4 * (self.depth as u64 + 10 + u64::from(self.entries()))) {
            self.cycle();
            self.host_reads(&mut host);
        }
        assert!(self.waiting.is_empty() && self.entries.is_empty());
    }
}

fn random(lane: usize) {
    let mut bench = Bench::new(lane, "rma_completion_queue_random");
    let paces = [
        Pace::Always,
        Pace::Chance(0.4),
        Pace::Chance(0.1),
        Pace::Bursts { on: 30, off: 60 },
    ];
    for log2 in [0, 1, 2, 4, 6] {
        for _ in 0..soak(6) {
            let base = bench.rng.random::<u32>() & !15;
            bench.set_ring(base, log2);
            let mut pace = || paces[bench.rng.random_range(0..paces.len())];
            for source in &mut bench.sources {
                source.set_pace(pace());
            }
            bench.port = Sink::new(pace());
            let mut host = Sink::new(pace());
            let before = bench.read + bench.lost;
            let mut offered = 0;
            for _ in 0..400 {
                for source in [COLLECTIVE, REPLY, LOCAL, MESSAGE] {
                    offered += bench.supply(source);
                }
                // Without copies, the end of a barrier has no entry.
                bench.barrier = bench.rng.random_bool(0.05);
                bench.cycle();
                bench.host_reads(&mut host);
            }
            // Every completion is in the ring once, or is lost and reported.
            bench.drain();
            assert_eq!(bench.read + bench.lost - before, offered);
        }
    }
    assert!(
        bench.read > 100 && bench.lost > 100 && bench.uncounted > 100,
        "{} read, {} lost, {} without a count",
        bench.read,
        bench.lost,
        bench.uncounted
    );
}

/// Copies into host memory: a host that makes no access to the board takes all entries, those of
/// barriers among them.
fn copied(lane: usize) {
    let mut bench = Bench::new(lane, "rma_completion_queue_copied");
    let paces = [Pace::Always, Pace::Chance(0.4), Pace::Chance(0.1)];
    let mut barriers = 0;
    for log2 in [0, 1, 2, 4, 6] {
        for _ in 0..soak(6) {
            let base = bench.rng.random::<u32>() & 0x3fff_fff0;
            bench.host = Some(bench.rng.random::<u64>() >> 1 & !63);
            (bench.host_taken, bench.copied) = (0, HashMap::new());
            bench.set_ring(base, log2);
            let mut pace = || paces[bench.rng.random_range(0..paces.len())];
            for source in &mut bench.sources {
                source.set_pace(pace());
            }
            (bench.port, bench.copies) = (Sink::new(pace()), Sink::new(pace()));
            let mut host = Sink::new(pace());
            for _ in 0..400 {
                for source in [COLLECTIVE, REPLY, LOCAL, MESSAGE] {
                    // Without losses, as the library takes care of.
                    if bench.rng.random_bool(0.1) {
                        bench.supply(source);
                    }
                }
                bench.barrier = !bench.barrier_waits && bench.rng.random_bool(0.02);
                barriers += u64::from(bench.barrier);
                bench.cycle();
                bench.host_takes(&mut host);
            }
            for source in &mut bench.sources {
                source.set_pace(Pace::Always);
            }
            (bench.port, bench.copies) = (Sink::new(Pace::Always), Sink::new(Pace::Always));
            let mut host = Sink::new(Pace::Always);
            for _ in 0..40 * (bench.depth + 40) {
                bench.cycle();
                bench.host_takes(&mut host);
            }
            assert!(bench.waiting.is_empty() && bench.entries.is_empty());
            bench.block.settle();
            assert!(bench.block.is("copies_idle_o"));
            bench.host = None;
            bench.cycle();
        }
    }
    assert!(
        bench.read > 1000 && barriers > 50,
        "{} read, {barriers}",
        bench.read
    );
}

#[test]
fn rma_completion_queue_copied() {
    (0..DEPTHS.len()).for_each(copied);
}

/// A clear that waits for a memory write begins no copy: the count is still that of the entries before it.
#[test]
fn rma_completion_queue_cleared() {
    for lane in 0..DEPTHS.len() {
        let mut bench = Bench::new(lane, "rma_completion_queue_cleared");
        bench.host = Some(1 << 40);
        bench.set_ring(0x1000, 4);
        for _ in 0..100 {
            if bench.head < 3 {
                bench.supply(REPLY);
            }
            bench.cycle();
        }
        assert!(bench.head >= 3 && bench.waiting.is_empty());
        assert_eq!(bench.copied.len(), 4 * bench.head as usize);
        bench.port = Sink::new(Pace::Never);
        bench.supply(REPLY);
        for cycle in 0..40 {
            bench.clears = cycle == 20;
            bench.cycle();
            bench.block.settle();
            assert!(!bench.block.is("copy_valid_o"), "cycle {cycle}");
        }
        assert!(bench.clearing);
        bench.port = Sink::new(Pace::Always);
        for _ in 0..100 {
            bench.cycle();
        }
        bench.block.settle();
        assert!(bench.block.is("copies_idle_o"));
    }
}

/// The count wraps at the largest ring, and the ring stays in place. The host's tail is at any
/// distance behind the count.
#[test]
fn rma_completion_queue_wraps() {
    for lane in 0..DEPTHS.len() {
        let mut bench = Bench::new(lane, "rma_completion_queue_wraps");
        bench.set_ring(0xfffe_0040, 15);
        while bench.head < 66_000 {
            bench.supply(REPLY);
            if bench.rng.random_bool(0.05) {
                bench.jump();
            }
            // A smaller ring, while the count goes on.
            if bench.rng.random_bool(0.002) {
                bench.log2 = bench.rng.random_range(6..16);
            }
            bench.cycle();
            bench.entries.clear();
            bench.memory.clear();
        }
        assert!(bench.lost > 0);
    }
}

/// The host writes the ring's registers at any time, even while a memory write waits. The write
/// that waits stays as it is. A new base clears the count, and a ring set up afterwards works.
fn rewritten(lane: usize) {
    let mut bench = Bench::new(lane, "rma_completion_queue_rewritten");
    for _ in 0..soak(100) {
        bench.port = Sink::new(Pace::Chance(0.3));
        for source in &mut bench.sources {
            source.set_pace(Pace::Chance(0.15));
        }
        for _ in 0..200 {
            for source in [COLLECTIVE, REPLY, LOCAL, MESSAGE] {
                bench.supply(source);
            }
            if bench.rng.random_bool(0.1) {
                bench.clears = bench.rng.random_bool(0.5);
                if bench.clears {
                    bench.base = bench.rng.random::<u32>() & !3;
                }
                if bench.rng.random_bool(0.4) {
                    bench.log2 = bench.rng.random_range(0..16);
                }
                if bench.rng.random_bool(0.6) {
                    bench.jump();
                }
            }
            if bench.clears {
                // The host's tail is not ahead of a count of 0.
                let behind = bench.rng.random_range(0..=bench.entries());
                bench.tail = 0u32.wrapping_sub(behind);
            }
            bench.cycle();
        }
        for source in &mut bench.sources {
            source.clear();
        }
        bench.port = Sink::new(Pace::Always);
        while !bench.waiting.is_empty() {
            bench.cycle();
        }
        bench.set_ring(64, 3);
        bench.supply(REPLY);
        bench.supply(MESSAGE);
        bench.drain();
        assert_eq!(bench.head, 4);
    }
    assert!(bench.stalls > 1000, "{}", bench.stalls);
}

#[test]
fn rma_completion_queue_rewritten() {
    (0..DEPTHS.len()).for_each(rewritten);
}

#[test]
fn rma_completion_queue_random() {
    (0..DEPTHS.len()).for_each(random);
}
