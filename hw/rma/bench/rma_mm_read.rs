//! `rma_mm_read` item by item against a byte-level model: every beat of every packet, every read,
//! and their cycles. A beat has one word, as in the paper, or eight.

use std::collections::VecDeque;

use alcor_hw_bench::{Answers, Pace, Random, Sink, Source, soak};
use rand::Rng;

use crate::rma::Block;

/// Bytes of the memory. Addresses wrap.
const MEMORY_BYTES: u32 = 4096;

/// Parameters of a controller in `rma_bench`.
#[derive(Debug, Clone, Copy)]
struct Config {
    lane: usize,
    /// Number of words of a beat.
    beat: u32,
    /// Number of words of the longest payload.
    words: u32,
    latency: usize,
    /// Beats of the Out FIFO.
    out: u64,
}

/// Beats of the largest Out FIFO.
const OUT_DEPTH: u64 = 512;

const CONFIGS: [Config; 6] = [
    config(0, 1, 129, 1, OUT_DEPTH),
    config(1, 1, 17, 1, 4),
    config(2, 1, 17, 3, 4),
    config(3, 1, 129, 3, OUT_DEPTH),
    config(0, 8, 129, 1, 128),
    config(1, 8, 17, 3, 4),
];

const fn config(lane: usize, beat: u32, words: u32, latency: usize, out: u64) -> Config {
    Config {
        lane,
        beat,
        words,
        latency,
        out,
    }
}

#[derive(Debug, Clone)]
struct Task {
    heads: Vec<u32>,
    words: u32,
    /// Address of byte 0 of the first payload word.
    address: u32,
    /// Byte lane at which the payload begins.
    lane: u32,
    /// Number of header words that are offered only in the cycle of the task: the last word, or
    /// none.
    together: bool,
    /// The task may be offered once the first header word is inside, in beats of a word.
    early: bool,
}

/// A step of making a packet: a read of memory, a beat for the Out FIFO, or both.
#[derive(Debug, Clone, Copy)]
struct Step {
    reads: bool,
    fills: bool,
}

/// A beat of a packet.
#[derive(Debug)]
struct Beat {
    /// Words of the beat. Words after the end of the payload may have any value.
    words: Vec<Option<u32>>,
    last: bool,
    /// Contribution of the beat to `outstanding`.
    weight: u64,
}

impl Config {
    fn beats(self, words: u32) -> u32 {
        words.div_ceil(self.beat)
    }

    /// The Out FIFO holds all beats in flight, `latency` + 2, so the FIFO never limits a stream
    /// that is accepted immediately.
    fn is_deep(self) -> bool {
        self.out >= self.latency as u64 + 2
    }

    /// Number of beats of a header.
    fn header(self, heads: u64) -> u64 {
        if self.beat == 1 { heads } else { 1 }
    }
}

struct Bench {
    config: Config,
    rng: Random,
    block: Block,
    memory: Vec<u8>,
    /// Header words to be offered. Words that must come together with a task are marked.
    heads: Source<(u32, bool)>,
    tasks: Source<Task>,
    /// Number of header words of each task that are still to be offered.
    heads_ahead: VecDeque<u32>,
    /// Number of header words behind their task that are still to be offered.
    heads_late: u32,
    grants: Sink,
    sink: Sink,
    /// Data of the reads in flight.
    flight: Answers<Vec<u32>>,
    expected_reads: VecDeque<u32>,
    expected: VecDeque<Beat>,
    /// All steps of the packets so far, and the number of reads that were granted.
    steps: Vec<Step>,
    granted: usize,
    /// Number of header words and payload beats that are inside or expected.
    outstanding: u64,
    /// Cycles in which beats left.
    left: Vec<u64>,
    /// Cycles in which tasks were accepted.
    taken: Vec<u64>,
}

impl Bench {
    fn new(config: Config, name: &'static str) -> Self {
        let mut rng = Random::new(name);
        let memory = (0..MEMORY_BYTES).map(|_| rng.random()).collect();
        Self {
            config,
            rng,
            block: if config.beat == 1 {
                Block::start("read", 4, config.lane)
            } else {
                Block::start("beat_read", 2, config.lane)
            },
            memory,
            heads: Source::new(Pace::Always),
            tasks: Source::new(Pace::Always),
            heads_ahead: VecDeque::new(),
            heads_late: 0,
            grants: Sink::new(Pace::Always),
            sink: Sink::new(Pace::Always),
            flight: Answers::new(config.latency),
            expected_reads: VecDeque::new(),
            expected: VecDeque::new(),
            steps: Vec::new(),
            granted: 0,
            outstanding: 0,
            left: Vec::new(),
            taken: Vec::new(),
        }
    }

    fn byte(&self, address: u32) -> u8 {
        self.memory[(address % MEMORY_BYTES) as usize]
    }

    fn word(&self, address: u32) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|lane| {
            self.byte(address.wrapping_add(lane as u32))
        }))
    }

    /// Queues a packet and its expected beats.
    fn push(&mut self, task: Task) {
        let count = task.heads.len();
        let (beat, beats) = (self.config.beat, self.config.beats(task.words));
        for (at, &head) in task.heads.iter().enumerate() {
            self.heads.push((head, task.together && at + 1 == count));
        }
        if beat == 1 {
            for (at, &head) in task.heads.iter().enumerate() {
                self.expected.push_back(Beat {
                    words: vec![Some(head)],
                    last: at + 1 == count && task.words == 0,
                    weight: 1,
                });
            }
        } else {
            let mut words = vec![Some(0); beat as usize];
            for (word, &head) in words.iter_mut().zip(&task.heads) {
                *word = Some(head);
            }
            self.expected.push_back(Beat {
                words,
                last: task.words == 0,
                weight: count as u64,
            });
        }
        for at in 0..beats {
            let words = (beat * at..beat * (at + 1))
                .map(|word| {
                    (word < task.words).then(|| self.word(task.address.wrapping_add(4 * word)))
                })
                .collect();
            self.expected.push_back(Beat {
                words,
                last: at + 1 == beats,
                weight: 1,
            });
        }
        let header = Step {
            reads: false,
            fills: true,
        };
        self.steps
            .extend((0..self.config.header(count as u64)).map(|_| header));
        if task.words > 0 {
            // The read that primes the shifter ends with the word of the first byte.
            let first = task.address / 4;
            let (first, extra) = match task.address % 4 {
                0 => (first, 0),
                _ => (first.wrapping_sub(beat - 1), 1),
            };
            for read in 0..beats + extra {
                self.expected_reads
                    .push_back(first.wrapping_add(beat * read) % (1 << 30));
                self.steps.push(Step {
                    reads: true,
                    fills: read >= extra,
                });
            }
        }
        self.heads_ahead.push_back(count as u32);
        self.tasks.push(task);
    }

    fn random_task(&mut self) -> Task {
        let rng = &mut self.rng;
        let words = match rng.random_range(0..4) {
            0 => 0,
            1 => rng.random_range(1..4),
            _ => rng.random_range(0..=self.config.words),
        };
        // Any address, and addresses that wrap.
        let address = if rng.random_bool(0.1) {
            0u32.wrapping_sub(rng.random_range(1..9))
        } else {
            rng.random()
        };
        let heads = (0..rng.random_range(1..=4)).map(|_| rng.random()).collect();
        Task {
            heads,
            words,
            address,
            lane: rng.random_range(0..4),
            together: rng.random(),
            early: rng.random(),
        }
    }

    fn cycle(&mut self) {
        let noise: u64 = self.rng.random();
        // Readiness does not depend on the offer. A header word that comes with a task waits for
        // both.
        self.block.settle();
        let (head_room, task_room) = (self.block.is("head_ready_o"), self.block.is("task_ready_o"));
        let task = self.tasks.offer(&mut *self.rng).cloned();
        let head = self.heads.offer(&mut *self.rng).copied();
        // A task is offered when its header words are inside, or together with the last of them.
        let ahead = self.heads_ahead.front().copied().unwrap_or(0);
        let goes_with =
            task.as_ref().is_some_and(|task| task.together) && ahead == 1 && self.heads_late == 0;
        let head = head.filter(|&(_, together)| !together || (goes_with && task_room));
        // With beats of several words, a packet's task precedes the next packet's header.
        let head = head.filter(|_| self.config.beat == 1 || ahead > 0);
        let task = task.filter(|task| {
            let early = task.early && !task.together && self.config.beat == 1;
            ahead == 0
                || (goes_with && head.is_some() && head_room)
                || (early && ahead < task.heads.len() as u32)
        });
        self.block.set("head_valid_i", head.is_some());
        self.block
            .set("head_i", head.map_or(noise, |(head, _)| u64::from(head)));
        self.block.set("task_valid_i", task.is_some());
        self.block.set(
            "task_heads_i",
            task.as_ref().map_or(noise, |task| task.heads.len() as u64),
        );
        self.block.set(
            "task_words_i",
            task.as_ref().map_or(noise, |task| u64::from(task.words)),
        );
        self.block.set(
            "task_address_i",
            task.as_ref().map_or(noise, |task| {
                u64::from(task.address.wrapping_add(task.lane))
            }),
        );
        self.block.set(
            "task_lane_i",
            task.as_ref().map_or(noise, |task| u64::from(task.lane)),
        );
        let (grant, ready) = (
            self.grants.ready(&mut *self.rng),
            self.sink.ready(&mut *self.rng),
        );
        self.block.set("ready_i", grant);
        self.block.set("out_ready_i", ready);
        let landing = self.flight.due();
        self.block.set("rvalid_i", landing.is_some());
        let beat = self.config.beat as usize;
        for word in 0..beat {
            let data = landing
                .as_ref()
                .map_or(noise, |words| u64::from(words[word]));
            self.block
                .set_part("data_i", word, beat, data & 0xffff_ffff);
        }
        self.block.settle();

        let now = self.block.cycle();
        // A task that is inside before its header waits for it.
        assert_eq!(
            self.block.is("idle_o"),
            self.outstanding == 0 && self.heads_late == 0,
            "cycle {now}: {} inside",
            self.outstanding
        );
        if self.block.is("out_valid_o") && ready {
            let found: Vec<u32> = (0..beat)
                .map(|word| self.block.get_part("out_data_o", word, beat) as u32)
                .collect();
            let last = self.block.is("out_last_o");
            let place = format!("cycle {now}, {:?}", self.config);
            let expected = self.expected.pop_front().expect("a beat of a packet");
            assert_eq!(last, expected.last, "{place}");
            for (word, (&found, &expected)) in found.iter().zip(&expected.words).enumerate() {
                assert!(
                    expected.is_none_or(|expected| expected == found),
                    "{place}: word {word} is {found:#x}, expected {expected:x?}"
                );
            }
            self.outstanding -= expected.weight;
            self.left.push(now);
        }
        if self.block.is("valid_o") && grant {
            let address = self.block.word("address_o");
            assert_eq!(
                Some(address),
                self.expected_reads.pop_front(),
                "cycle {now}, {:?}",
                self.config
            );
            self.granted += 1;
            let word = |at: u32| self.word(address.wrapping_add(at).wrapping_mul(4));
            let words = (0..self.config.beat).map(word).collect();
            self.flight.grant(words, &mut *self.rng);
        }
        if head.is_some() && self.heads.take(head_room).is_some() {
            self.outstanding += 1;
            if self.heads_late > 0 {
                self.heads_late -= 1;
            } else {
                let waiting = self.heads_ahead.iter_mut().find(|left| **left > 0);
                *waiting.expect("a task for every header") -= 1;
            }
        }
        if let Some(task) = task
            && self.tasks.take(task_room).is_some()
        {
            self.outstanding += u64::from(self.config.beats(task.words));
            self.heads_late += self.heads_ahead.pop_front().unwrap_or(0);
            self.taken.push(now);
        }
        self.block.clock();
    }

    fn drain(&mut self) {
        let end = self.block.cycle() + 220 * self.expected.len() as u64 + 4_000;
        while !self.expected.is_empty() {
            assert!(
                self.block.cycle() < end,
                "{:?}: {} beats do not come",
                self.config,
                self.expected.len()
            );
            self.cycle();
        }
        assert!(self.expected_reads.is_empty() && self.tasks.is_empty() && self.heads.is_empty());
        for _ in 0..4 {
            self.cycle();
        }
    }
}

fn random(config: Config) {
    let mut bench = Bench::new(config, "rma_mm_read_random");
    let paces = [
        Pace::Always,
        Pace::Chance(0.5),
        Pace::Chance(0.15),
        Pace::Bursts { on: 20, off: 40 },
    ];
    for _ in 0..soak(16) {
        let pace = |rng: &mut Random| paces[rng.random_range(0..paces.len())];
        let chosen: [Pace; 4] = std::array::from_fn(|_| pace(&mut bench.rng));
        bench.heads.set_pace(chosen[0]);
        bench.tasks.set_pace(chosen[1]);
        bench.grants.set_pace(chosen[2]);
        bench.sink.set_pace(chosen[3]);
        // The memory for which the queues are sized, slower memories, and memories with random
        // latency.
        let (shortest, longest) =
            [(0, 0), (0, 8), (30, 30), (0, 200)][bench.rng.random_range(0..4)];
        let own = config.latency as u64;
        bench.flight.set_latency(own + shortest..=own + longest);
        for _ in 0..if config.words > 100 { 20 } else { 60 } {
            let task = bench.random_task();
            bench.push(task);
        }
        bench.drain();
    }
}

/// Beats that are accepted immediately leave without a gap, except for the read that primes the
/// shifter.
fn rate(config: Config) {
    let mut bench = Bench::new(config, "rma_mm_read_rate");
    for shift in [0, 1, 2, 3] {
        // Headers are offered one word per cycle. A payload at least as long as the header keeps
        // headers ahead.
        let mut gaps = 0;
        bench.left.clear();
        for _ in 0..30 {
            let mut task = bench.random_task();
            let shortest = if config.beat == 1 {
                4
            } else {
                config.words / 2
            };
            task.words = shortest + bench.rng.random_range(0..config.words - shortest);
            task.address = (task.address & !3) | shift;
            task.together = false;
            task.early = false;
            gaps += u64::from(shift != 0);
            bench.push(task);
        }
        // The queues fill before the output is read.
        bench.sink.set_pace(Pace::Never);
        for _ in 0..20 {
            bench.cycle();
        }
        bench.sink.set_pace(Pace::Always);
        bench.drain();
        let (first, last) = (bench.left[0], bench.left[bench.left.len() - 1]);
        let beats = bench.left.len() as u64;
        // Beats that waited in the Out FIFO hide gaps.
        let took = last - first + 1;
        if config.is_deep() {
            assert!(
                took >= beats && took <= beats + gaps,
                "shift {shift}: {beats} beats took {took} cycles"
            );
        }
    }
}

/// Latency of a single packet, cycle by cycle, and streams without gaps from the first word on.
fn latency(config: Config) {
    let mut bench = Bench::new(config, "rma_mm_read_latency");
    // Headers do not wait for the memory.
    let way = 3;
    for heads in 1..=4u64 {
        for words in [0, 1, 2, 5, 17] {
            for shift in 0..4 {
                bench.left.clear();
                bench.taken.clear();
                let heads_words = (0..heads).map(|_| bench.rng.random()).collect();
                let address = (bench.rng.random::<u32>() & !3) | shift;
                let lane = bench.rng.random_range(0..4);
                bench.push(Task {
                    heads: heads_words,
                    words,
                    address,
                    lane,
                    together: heads == 1,
                    early: false,
                });
                bench.drain();
                let task = bench.taken[0];
                // Latency of a header beat from the task. The read for the payload is issued a
                // cycle after the header's last beat. Payload follows the answer of this read;
                // shifted payload takes one cycle more.
                let prime = u64::from(words > 0 && shift != 0);
                let (header, beats) = (config.header(heads), u64::from(config.beats(words)));
                let mut cycles: Vec<u64> = (0..header).map(|at| task + way + at).collect();
                let payload = task + way + header + config.latency as u64 - 1;
                cycles.extend((0..beats).map(|at| payload + prime + at));
                // A small Out FIFO frees an entry after the beat has left.
                if config.is_deep() || header + beats <= 4 {
                    assert_eq!(
                        bench.left, cycles,
                        "{heads} header words, {words} words, shift {shift}, {config:?}"
                    );
                }
            }
        }
    }
}

/// All queues fill, and the Out FIFO to its last place, but no further; then beats leave one by one.
fn full(config: Config) {
    let mut bench = Bench::new(config, "rma_mm_read_full");
    for _ in 0..3 {
        let mut beats = 0;
        bench.steps.clear();
        bench.granted = 0;
        while beats < OUT_DEPTH + 100 {
            let mut task = bench.random_task();
            task.words = task.words.max(config.words / 2);
            beats += u64::from(config.beats(task.words));
            bench.push(task);
        }
        bench.sink.set_pace(Pace::Never);
        for _ in 0..OUT_DEPTH + 200 {
            bench.cycle();
        }
        let mut room = config.out;
        let steps = bench.steps.iter().take_while(|step| {
            let has_room = room > 0;
            room -= u64::from(has_room && step.fills);
            has_room
        });
        let reads = steps.filter(|step| step.reads).count();
        assert_eq!(
            bench.granted, reads,
            "reads for a full Out FIFO, {config:?}"
        );
        for pace in [Pace::Chance(0.2), Pace::Bursts { on: 2, off: 9 }] {
            bench.sink.set_pace(pace);
            for _ in 0..200 {
                bench.cycle();
            }
        }
        bench.sink.set_pace(Pace::Always);
        bench.drain();
    }
}

#[test]
fn rma_mm_read_full() {
    CONFIGS.into_iter().for_each(full);
}

/// A reset at any time empties all queues, and what is offered during the reset has no effect.
fn reset(config: Config) {
    let mut bench = Bench::new(config, "rma_mm_read_reset");
    for _ in 0..soak(20) {
        for _ in 0..4 {
            let task = bench.random_task();
            bench.push(task);
        }
        bench.sink.set_pace(Pace::Chance(0.3));
        for _ in 0..bench.rng.random_range(1..40) {
            bench.cycle();
        }
        bench.block.dut().reset();
        bench.heads.clear();
        bench.tasks.clear();
        bench.heads_ahead.clear();
        bench.heads_late = 0;
        bench.flight = Answers::new(config.latency);
        bench.expected_reads.clear();
        bench.expected.clear();
        bench.outstanding = 0;
        let task = bench.random_task();
        bench.push(task);
        bench.drain();
    }
}

#[test]
fn rma_mm_read_reset() {
    CONFIGS.into_iter().for_each(reset);
}

#[test]
fn rma_mm_read_random() {
    CONFIGS.into_iter().for_each(random);
}

#[test]
fn rma_mm_read_rate() {
    CONFIGS.into_iter().for_each(rate);
}

#[test]
fn rma_mm_read_latency() {
    CONFIGS.into_iter().for_each(latency);
}
