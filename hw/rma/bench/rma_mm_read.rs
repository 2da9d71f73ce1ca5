//! `rma_mm_read` item by item against a byte-level model: every word of every packet, every read that is asked for,
//! and when they come.

use std::collections::VecDeque;

use alcor_hw_bench::{Pace, Random, Sink, Source, soak};
use rand::Rng;

use crate::rma::Block;

/// Memory that the reads go to; addresses wrap.
const MEMORY_BYTES: u32 = 4096;

/// Sizes of a controller in `rma_bench`.
#[derive(Debug, Clone, Copy)]
struct Config {
    lane: usize,
    /// Longest payload.
    words: u32,
    latency: usize,
    /// Its Out FIFO holds what is under way, `latency` + 2 words, so it never limits a stream that is taken at once.
    deep: bool,
}

const LANES: usize = 4;
const CONFIGS: [Config; LANES] = [
    Config {
        lane: 0,
        words: 129,
        latency: 1,
        deep: true,
    },
    Config {
        lane: 1,
        words: 17,
        latency: 1,
        deep: true,
    },
    Config {
        lane: 2,
        words: 17,
        latency: 3,
        deep: false,
    },
    Config {
        lane: 3,
        words: 129,
        latency: 3,
        deep: true,
    },
];

#[derive(Debug, Clone)]
struct Task {
    heads: Vec<u32>,
    words: u32,
    address: u32,
    /// Header words that are offered only in the cycle of the task: the last, or none.
    together: bool,
}

struct Bench {
    config: Config,
    rng: Random,
    block: Block,
    memory: Vec<u8>,
    /// Header words to be offered; those that must come together with a task are marked.
    heads: Source<(u32, bool)>,
    tasks: Source<Task>,
    /// Header words of each task that are still to be offered.
    heads_ahead: VecDeque<u32>,
    grants: Sink,
    sink: Sink,
    /// Data of the reads under way, oldest first; one place a cycle.
    flight: VecDeque<Option<u32>>,
    expected_reads: VecDeque<u32>,
    expected: VecDeque<(u32, bool)>,
    /// Words that are inside or promised.
    outstanding: u64,
    /// Cycles in which words left.
    left: Vec<u64>,
    /// Cycles in which tasks were taken.
    taken: Vec<u64>,
}

impl Bench {
    fn new(config: Config, name: &'static str) -> Self {
        let mut rng = Random::new(name);
        let memory = (0..MEMORY_BYTES).map(|_| rng.random()).collect();
        Self {
            config,
            rng,
            block: Block::start("read", LANES, config.lane),
            memory,
            heads: Source::new(Pace::Always),
            tasks: Source::new(Pace::Always),
            heads_ahead: VecDeque::new(),
            grants: Sink::new(Pace::Always),
            sink: Sink::new(Pace::Always),
            flight: vec![None; config.latency].into(),
            expected_reads: VecDeque::new(),
            expected: VecDeque::new(),
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

    /// Queues a packet and what it should become.
    fn push(&mut self, task: Task) {
        let count = task.heads.len();
        for (at, &head) in task.heads.iter().enumerate() {
            self.heads.push((head, task.together && at + 1 == count));
            self.expected
                .push_back((head, at + 1 == count && task.words == 0));
        }
        for word in 0..task.words {
            let data = self.word(task.address.wrapping_add(4 * word));
            self.expected.push_back((data, word + 1 == task.words));
        }
        if task.words > 0 {
            let extra = u32::from(!task.address.is_multiple_of(4));
            for read in 0..task.words + extra {
                self.expected_reads
                    .push_back((task.address / 4 + read) % (1 << 30));
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
        // Anywhere, and where addresses wrap.
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
            together: rng.random(),
        }
    }

    fn cycle(&mut self) {
        let noise: u64 = self.rng.random();
        // Both have room or not whatever is offered; what comes together waits for both.
        self.block.settle();
        let (head_room, task_room) = (self.block.is("head_ready_o"), self.block.is("task_ready_o"));
        let task = self.tasks.offer(&mut *self.rng).cloned();
        let head = self.heads.offer(&mut *self.rng).copied();
        // A task is offered when its header words are inside, or with the last of them.
        let ahead = self.heads_ahead.front().copied().unwrap_or(0);
        let goes_with = task.as_ref().is_some_and(|task| task.together) && ahead == 1;
        let head = head.filter(|&(_, together)| !together || (goes_with && task_room));
        let task = task.filter(|task| {
            ahead == 0 || (task.together && ahead == 1 && head.is_some() && head_room)
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
            task.as_ref().map_or(noise, |task| u64::from(task.address)),
        );
        let (grant, ready) = (
            self.grants.ready(&mut *self.rng),
            self.sink.ready(&mut *self.rng),
        );
        self.block.set("ready_i", grant);
        self.block.set("out_ready_i", ready);
        let landing = self.flight.pop_front().flatten();
        self.block.set("data_i", landing.map_or(noise, u64::from));
        self.block.settle();

        let now = self.block.cycle();
        assert_eq!(
            self.block.is("idle_o"),
            self.outstanding == 0,
            "cycle {now}: {} words inside",
            self.outstanding
        );
        if self.block.is("out_valid_o") && ready {
            let found = (self.block.word("out_data_o"), self.block.is("out_last_o"));
            assert_eq!(
                Some(found),
                self.expected.pop_front(),
                "cycle {now}, {:?}",
                self.config
            );
            self.outstanding -= 1;
            self.left.push(now);
        }
        let mut read = None;
        if self.block.is("valid_o") && grant {
            let address = self.block.word("address_o");
            assert_eq!(
                Some(address),
                self.expected_reads.pop_front(),
                "cycle {now}, {:?}",
                self.config
            );
            read = Some(self.word(address.wrapping_mul(4)));
        }
        self.flight.push_back(read);
        if head.is_some() && self.heads.take(head_room).is_some() {
            self.outstanding += 1;
            let waiting = self.heads_ahead.iter_mut().find(|left| **left > 0);
            *waiting.expect("a task for every header") -= 1;
        }
        if let Some(task) = task
            && self.tasks.take(task_room).is_some()
        {
            self.outstanding += u64::from(task.words);
            self.heads_ahead.pop_front();
            self.taken.push(now);
        }
        self.block.clock();
    }

    fn drain(&mut self) {
        let end = self.block.cycle() + 20 * self.expected.len() as u64 + 4_000;
        while !self.expected.is_empty() {
            assert!(
                self.block.cycle() < end,
                "{:?}: {} words do not come",
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
        for _ in 0..if config.words > 100 { 20 } else { 60 } {
            let task = bench.random_task();
            bench.push(task);
        }
        bench.drain();
    }
}

/// What is taken at once leaves without a gap, but for the read that primes the shifter.
fn rate(config: Config) {
    let mut bench = Bench::new(config, "rma_mm_read_rate");
    for shift in [0, 1, 2, 3] {
        // Headers are offered a word a cycle, so payload must be as long as the headers at least to keep them ahead.
        let mut gaps = 0;
        bench.left.clear();
        for _ in 0..30 {
            let mut task = bench.random_task();
            task.words = 4 + bench.rng.random_range(0..config.words - 4);
            task.address = (task.address & !3) | shift;
            task.together = false;
            gaps += u64::from(shift != 0);
            bench.push(task);
        }
        // The queues fill before anything is taken.
        bench.sink.set_pace(Pace::Never);
        for _ in 0..20 {
            bench.cycle();
        }
        bench.sink.set_pace(Pace::Always);
        bench.drain();
        let (first, last) = (bench.left[0], bench.left[bench.left.len() - 1]);
        let words = bench.left.len() as u64;
        // Words that waited in the Out FIFO hide gaps.
        let took = last - first + 1;
        if config.deep {
            assert!(
                took >= words && took <= words + gaps,
                "shift {shift}: {words} words took {took} cycles"
            );
        }
    }
}

/// Latency of a lone packet, cycle by cycle, and streams without any gap from the first word on.
fn latency(config: Config) {
    let mut bench = Bench::new(config, "rma_mm_read_latency");
    let way = 2 + config.latency as u64;
    for heads in 1..=4u64 {
        for words in [0, 1, 2, 5, 17] {
            for shift in 0..4 {
                bench.left.clear();
                bench.taken.clear();
                let heads_words = (0..heads).map(|_| bench.rng.random()).collect();
                let address = (bench.rng.random::<u32>() & !3) | shift;
                bench.push(Task {
                    heads: heads_words,
                    words,
                    address,
                    together: heads == 1,
                });
                bench.drain();
                let task = bench.taken[0];
                // A word of a header is at the output so long after the task; payload follows in the next cycle, or,
                // shifted, in the one after.
                let prime = u64::from(words > 0 && shift != 0);
                let mut cycles: Vec<u64> = (0..heads).map(|at| task + way + at).collect();
                cycles.extend((0..u64::from(words)).map(|at| task + way + heads + prime + at));
                // A small Out FIFO gives a place back after the word has left.
                if config.deep || (heads + u64::from(words)) <= 4 {
                    assert_eq!(
                        bench.left, cycles,
                        "{heads} header words, {words} words, shift {shift}, {config:?}"
                    );
                }
            }
        }
    }
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
