//! `rma_completion_queue` against a ring that a host reads: order, wrapping, losses when the ring
//! is full, and readability of every counted entry.

use std::collections::VecDeque;

use alcor_abi::packets::cq_entry;
use alcor_hw_bench::{Pace, Random, Sink, Source, soak};
use rand::Rng;

use crate::rma::Block;

/// Number of entries that can wait, for the instances in `rma_bench`.
const DEPTHS: [usize; 2] = [16, 2];
const MEMORY_WORDS: usize = 1 << 10;

/// A completion: status and id.
type Completion = (u32, u32);

struct Bench {
    rng: Random,
    block: Block,
    reply: Source<Completion>,
    local: Source<Completion>,
    port: Sink,
    /// Waiting completions in order of arrival.
    waiting: VecDeque<Completion>,
    memory: Vec<u32>,
    base: u32,
    log2: u32,
    head: u32,
    tail: u32,
    /// The tail one cycle ago and two cycles ago.
    tails: [u32; 2],
    retired: u32,
    /// Entries that the host has not read, with the value of RETIRED at the write of the second
    /// word.
    entries: VecDeque<(Completion, u32)>,
    read: u64,
    lost: u64,
    /// Pace of the host's reads.
    host: Pace,
}

impl Bench {
    fn new(lane: usize, name: &'static str) -> Self {
        Self {
            rng: Random::new(name),
            block: Block::start("ring", DEPTHS.len(), lane),
            reply: Source::new(Pace::Always),
            local: Source::new(Pace::Always),
            port: Sink::new(Pace::Always),
            waiting: VecDeque::new(),
            memory: vec![0xffff_ffff; MEMORY_WORDS],
            base: 0,
            log2: 0,
            head: 0,
            tail: 0,
            tails: [0; 2],
            retired: 0,
            entries: VecDeque::new(),
            read: 0,
            lost: 0,
            host: Pace::Always,
        }
    }

    fn entries(&self) -> u32 {
        1 << self.log2
    }

    /// Sets up another ring, as the host does when no operation is in flight.
    fn set_ring(&mut self, base: u32, log2: u32) {
        (self.base, self.log2) = (base, log2);
        (self.head, self.tail, self.tails) = (0, 0, [0; 2]);
        self.block.set("base_i", base);
        self.block.set("log2_entries_i", log2);
        self.block.set("tail_i", 0u64);
        self.block.set("clear_i", 1u64);
        self.block.settle();
        self.block.clock();
        self.block.set("clear_i", 0u64);
        self.block.settle();
        assert_eq!(self.block.word("head_o"), 0);
    }

    fn cycle(&mut self, host: &mut Sink) {
        self.retired = self.retired.wrapping_add(self.rng.random_range(0..3));
        let reply = self.reply.offer(&mut *self.rng).copied();
        let local = self.local.offer(&mut *self.rng).copied();
        let grant = self.port.ready(&mut *self.rng);
        let noise: u64 = self.rng.random();
        let block = &mut self.block;
        block.set("reply_valid_i", reply.is_some());
        block.set(
            "reply_status_i",
            reply.map_or(noise, |(status, _)| u64::from(status)),
        );
        block.set("reply_id_i", reply.map_or(noise, |(_, id)| u64::from(id)));
        block.set("local_valid_i", local.is_some());
        block.set(
            "local_status_i",
            local.map_or(noise, |(status, _)| u64::from(status)),
        );
        block.set("local_id_i", local.map_or(noise, |(_, id)| u64::from(id)));
        block.set("write_ready_i", grant);
        block.set("retired_i", self.retired);
        block.set("tail_i", self.tail);
        block.settle();

        let place = format!("cycle {}, {} entries", block.cycle(), 1 << self.log2);
        assert_eq!(block.word("head_o"), self.head, "{place}");
        assert_eq!(block.is("idle_o"), self.waiting.is_empty(), "{place}");
        let filled = |tail: u32| self.head.wrapping_sub(tail);
        let size = 1u32 << self.log2;
        let (reply_ready, local_ready) = (block.is("reply_ready_o"), block.is("local_ready_o"));
        let overflow = block.is("overflow_o");
        let writes = block.is("write_valid_o");
        if overflow {
            // Full, as far as the block knew the host's head one cycle ago.
            assert!(
                filled(self.tails[0]) >= size,
                "{place}: lost with {} in the ring",
                filled(self.tails[0])
            );
            assert!(!writes, "{place}");
            self.waiting.pop_front().expect("something to be lost");
            self.lost += 1;
        }
        if writes && grant {
            let (address, data) = (block.word("write_address_o"), block.word("write_data_o"));
            let slot = self.base / 4 + 4 * (self.head % size);
            assert!(
                filled(self.tail) < size,
                "{place}: an entry is overwritten that the host has not taken"
            );
            let front = *self.waiting.front().expect("something to be written");
            let word = address.wrapping_sub(slot);
            assert!(
                word < 2,
                "{place}: a write to {address:#x}, the entry is at {slot:#x}"
            );
            self.memory[address as usize] = data;
            if word == 1 {
                assert_eq!(data, self.retired, "{place}");
                let first = self.memory[slot as usize];
                assert_eq!(
                    (cq_entry::STATUS.get(first), cq_entry::ID.get(first)),
                    front,
                    "{place}"
                );
                assert_eq!(
                    first & !(cq_entry::STATUS.mask() | cq_entry::ID.mask()),
                    0,
                    "{place}"
                );
                self.waiting.pop_front();
                self.entries.push_back((front, data));
                self.head = self.head.wrapping_add(1);
            }
        }
        // Completions have priority over refusals. Each is accepted as a whole or not at all.
        if let Some(completion) = self.reply.take(reply_ready) {
            self.waiting.push_back(completion);
            assert!(!local_ready || local.is_none(), "{place}: both are taken");
        } else if let Some(completion) = self.local.take(local_ready && reply.is_none()) {
            self.waiting.push_back(completion);
        }
        // The host reads the entries counted by CQ_HEAD.
        self.tails = [self.tail, self.tails[0]];
        let shown = block.word("head_o");
        if host.ready(&mut *self.rng) && shown != self.tail {
            let count = self.rng.random_range(1..=shown.wrapping_sub(self.tail));
            for _ in 0..count {
                let (completion, retired) = self.entries.pop_front().expect("a counted entry");
                let slot = (self.base / 4 + 4 * (self.tail % size)) as usize;
                let first = self.memory[slot];
                assert_eq!(
                    (cq_entry::STATUS.get(first), cq_entry::ID.get(first)),
                    completion,
                    "{place}"
                );
                assert_eq!(self.memory[slot + 1], retired, "{place}");
                self.tail = self.tail.wrapping_add(1);
                self.read += 1;
            }
        }
        self.block.clock();
    }

    fn completion(&mut self) -> Completion {
        (
            self.rng.random_range(0..13),
            self.rng.random_range(0..1 << 16),
        )
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
            let base = 16
                * bench
                    .rng
                    .random_range(0..(MEMORY_WORDS as u32 / 4 - (1 << log2)));
            bench.set_ring(base, log2);
            bench.memory.fill(0xffff_ffff);
            let mut pace = || paces[bench.rng.random_range(0..paces.len())];
            bench.reply.set_pace(pace());
            bench.local.set_pace(pace());
            bench.port = Sink::new(pace());
            bench.host = pace();
            let mut host = Sink::new(bench.host);
            let before = bench.read + bench.lost;
            let mut offered = 0;
            for _ in 0..400 {
                if bench.reply.len() < 2 {
                    let completion = bench.completion();
                    bench.reply.push(completion);
                    offered += 1;
                }
                if bench.local.len() < 2 {
                    let completion = bench.completion();
                    bench.local.push(completion);
                    offered += 1;
                }
                bench.cycle(&mut host);
            }
            // Every completion is in the ring once, or is lost and reported.
            bench.reply.set_pace(Pace::Always);
            bench.local.set_pace(Pace::Always);
            bench.port = Sink::new(Pace::Always);
            let mut host = Sink::new(Pace::Always);
            for _ in 0..(4 * (DEPTHS[lane] as u64 + 8 + u64::from(bench.entries()))) {
                bench.cycle(&mut host);
            }
            assert!(bench.waiting.is_empty() && bench.entries.is_empty());
            assert_eq!(bench.read + bench.lost - before, offered);
        }
    }
    assert!(
        bench.read > 100 && bench.lost > 100,
        "{} read, {} lost",
        bench.read,
        bench.lost
    );
}

/// The count wraps at 2^16, and the ring stays in place. An entry of two words takes two cycles.
#[test]
fn rma_completion_queue_wraps() {
    let mut bench = Bench::new(0, "rma_completion_queue_wraps");
    bench.set_ring(64, 3);
    let mut host = Sink::new(Pace::Always);
    for _ in 0..66_500 {
        while bench.reply.len() < 2 {
            let completion = bench.completion();
            bench.reply.push(completion);
        }
        bench.cycle(&mut host);
        bench.cycle(&mut host);
    }
    assert!(
        bench.head > 65_536 && bench.lost == 0,
        "{} entries, {} lost",
        bench.head,
        bench.lost
    );
}

/// The host writes the ring's registers at any time, even while a memory write waits. The offered
/// write stays stable until it completes. A new base then clears the count, and a ring set up
/// afterwards works.
#[test]
fn rma_completion_queue_rewritten() {
    let mut bench = Bench::new(0, "rma_completion_queue_rewritten");
    let mut stalls = 0;
    for _ in 0..soak(200) {
        let mut port = Sink::new(Pace::Chance(0.2));
        let mut offered = None;
        let mut cleared = false;
        for cycle in 0..300 {
            let rng = &mut *bench.rng;
            let block = &mut bench.block;
            // The queue is empty at the end.
            block.set("reply_valid_i", cycle < 100 && rng.random_bool(0.3));
            block.set("local_valid_i", false);
            let rewrites = cycle < 200 && rng.random_bool(0.1);
            let clears = rewrites && rng.random_bool(0.3);
            block.set("clear_i", clears);
            if clears {
                block.set("base_i", rng.random_range(0..MEMORY_WORDS as u32 / 4) * 16);
            }
            if rewrites && rng.random_bool(0.3) {
                block.set("log2_entries_i", rng.random_range(0..8u32));
            }
            if rewrites && rng.random_bool(0.3) {
                block.set("tail_i", rng.random::<u32>() >> rng.random_range(0..32));
            }
            block.set("write_ready_i", cycle >= 200 || port.ready(rng));
            block.settle();
            let address = block.word("write_address_o");
            let now = block.is("write_valid_o").then_some(address);
            if offered.is_some() {
                assert_eq!(now, offered, "cycle {}: a write that waits", block.cycle());
                stalls += 1;
            }
            offered = now.filter(|_| !block.is("write_ready_i"));
            cleared |= clears;
            block.clock();
            block.settle();
            // The count restarts when no write waits.
            if cleared && offered.is_none() {
                assert_eq!(block.word("head_o"), 0, "cycle {}", block.cycle());
                cleared = false;
            }
        }
        assert!(bench.block.is("idle_o"));
        bench.set_ring(64, 3);
        bench.reply.set_pace(Pace::Always);
        let mut host = Sink::new(Pace::Always);
        for _ in 0..4 {
            let completion = bench.completion();
            bench.reply.push(completion);
        }
        for _ in 0..60 {
            bench.cycle(&mut host);
        }
        assert!(bench.waiting.is_empty() && bench.entries.is_empty() && bench.head == 4);
    }
    assert!(stalls > 1000, "{stalls}");
}

#[test]
fn rma_completion_queue_random() {
    (0..DEPTHS.len()).for_each(random);
}
