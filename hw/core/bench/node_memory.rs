//! `node_memory`: words, beats and phits at any address against an array, and nobody waits for ever.

use std::collections::VecDeque;

use alcor_hw_bench::{Dut, Pin, Random, Recipe, soak};
use rand::Rng;

const BYTES: u64 = 1024;
const WORDS: usize = BYTES as usize / 4;

/// How long anyone may wait: each of the others goes before once.
const PATIENCE: u32 = 2;

struct Bench {
    dut: Dut,
    banks: usize,
    /// Words of the coprocessor's beat.
    words: usize,
    latency: usize,
    /// Contents; what was never written may be anything.
    memory: Vec<u32>,
}

/// A request that stays until it is granted, and how long it has waited.
#[derive(Debug, Clone, Copy, Default)]
struct Request {
    on: bool,
    address: usize,
    strobe: u64,
    waited: u32,
}

impl Request {
    /// A new one, if there is none.
    fn step(&mut self, chance: f64, strobes: u64, rng: &mut Random) {
        if !self.on && rng.random_bool(chance) {
            *self = Self {
                on: true,
                // Now and then where others are, and about the end.
                address: match rng.random_range(0..3) {
                    0 => rng.random_range(0..16),
                    1 => rng.random_range(WORDS - 20..WORDS),
                    _ => rng.random_range(0..WORDS),
                },
                strobe: rng.random_range(0..1u64 << strobes),
                waited: 0,
            };
        }
    }

    /// Whether it is over; a cycle in which it is `held` up by something else than the memory does not
    /// count.
    fn settle(&mut self, granted: bool, held: bool, name: &str) -> bool {
        let over = self.on && granted;
        if over {
            self.on = false;
        } else if self.on && !held {
            self.waited += 1;
            assert!(self.waited <= PATIENCE, "{name} waits");
        }
        over
    }
}

impl Bench {
    fn new(banks: usize, words: usize, latency: usize) -> Self {
        let recipe = Recipe::new("node_memory", "node_memory")
            .blocks(&["common"])
            .source("core/rtl/node_memory.sv")
            .param("NODE_BYTES", BYTES)
            .param("BANKS", banks as u64)
            .param("WORDS", words as u64)
            .param("LATENCY", latency as u64);
        let mut dut = Dut::start(&recipe);
        dut.reset();
        Self {
            dut,
            banks,
            words,
            latency,
            memory: vec![0; WORDS],
        }
    }

    fn pin(&self, name: &str) -> Pin {
        self.dut.pin(name)
    }

    /// Random requests of all ports, each with its chance.
    fn run(&mut self, rng: &mut Random, cycles: u64, chances: [f64; 6]) {
        let banks = self.banks;
        let pins: Vec<Pin> = [
            "read_valid_i",
            "read_ready_o",
            "read_address_i",
            "write_valid_i",
            "write_ready_o",
            "write_address_i",
            "write_strobe_i",
            "phit_want_i",
            "phit_ready_o",
            "phit_read_i",
            "phit_address_i",
            "phit_write_valid_i",
            "phit_write_ready_o",
            "phit_write_address_i",
            "phit_write_strobe_i",
            "host_valid_i",
            "host_ready_o",
            "host_write_i",
            "host_address_i",
            "host_data_i",
            "host_strobe_i",
        ]
        .into_iter()
        .map(|name| self.pin(name))
        .collect();
        let count = self.words;
        let (phit_data, beat_data, data_out) = (
            self.dut.lanes("phit_write_data_i", banks),
            self.dut.lanes("write_data_i", count),
            self.dut.lanes("data_o", banks),
        );
        let [mut read, mut write, mut phit, mut phit_write, mut host] = [Request::default(); 5];
        let mut host_writes = false;
        // Reads under way, with what they should give.
        let mut reads_due: VecDeque<(u64, Vec<u32>)> = VecDeque::new();
        for _ in 0..cycles {
            let Self { dut, memory, .. } = self;
            let cycle = dut.cycle();
            read.step(chances[0], 1, rng);
            write.step(chances[1], 4 * count as u64, rng);
            phit.step(chances[2], 1, rng);
            phit_write.step(chances[3], banks as u64, rng);
            if !host.on {
                host_writes = rng.random();
            }
            host.step(chances[4], 4, rng);
            // A phit of another rank may be late: the read is wanted, but doesn't take place.
            let other = rng.random_bool(chances[5]);
            // Beats and phits don't go beyond the end.
            read.address = read.address.min(WORDS - count);
            write.address = write.address.min(WORDS - count);
            phit.address = phit.address.min(WORDS - banks);
            phit_write.address = phit_write.address.min(WORDS - banks);
            let beat: Vec<u32> = (0..count).map(|_| rng.random()).collect();
            let host_value: u32 = rng.random();
            let values: Vec<u32> = (0..banks).map(|_| rng.random()).collect();
            for (pin, request) in [
                (0, read),
                (3, write),
                (7, phit),
                (11, phit_write),
                (15, host),
            ] {
                dut.set(pins[pin], 0, u64::from(request.on));
            }
            for (pin, request) in [
                (2, read),
                (5, write),
                (10, phit),
                (13, phit_write),
                (18, host),
            ] {
                dut.set(pins[pin], 0, request.address as u64);
            }
            dut.set(pins[6], 0, write.strobe);
            dut.set(pins[14], 0, phit_write.strobe);
            dut.set(pins[17], 0, u64::from(host_writes));
            dut.set(pins[19], 0, u64::from(host_value));
            dut.set(pins[20], 0, host.strobe);
            for (lane, &value) in values.iter().enumerate() {
                dut.set(phit_data, lane, u64::from(value));
            }
            for (lane, &value) in beat.iter().enumerate() {
                dut.set(beat_data, lane, u64::from(value));
            }
            dut.set(pins[9], 0, 0);
            dut.settle();
            // It depends on what is wanted, not on whether it takes place.
            let phit_goes = phit.on && !other && dut.get(pins[8], 0) == 1;
            dut.set(pins[9], 0, u64::from(phit_goes));
            dut.settle();
            let granted = [1, 4, 12, 16].map(|pin| dut.get(pins[pin], 0) == 1);
            // What was read LATENCY cycles ago.
            if reads_due.front().is_some_and(|&(due, _)| due == cycle)
                && let Some((_, expected)) = reads_due.pop_front()
            {
                let found: Vec<u32> = (0..expected.len())
                    .map(|lane| dut.get(data_out, lane) as u32)
                    .collect();
                assert_eq!(found, expected, "{} words", expected.len());
            }
            let due = cycle + self.latency as u64;
            // Reads give what was there before the writes of the same cycle.
            let (mut reads, mut writes) = (0, 0);
            let host_at = host.address;
            let (read_at, phit_at, write_at, phit_write_at) = (
                read.address,
                phit.address,
                write.address,
                phit_write.address,
            );
            let host_strobe = host.strobe;
            // A phit whose turn it is keeps it while another memory makes it wait.
            let held = phit.on && other;
            if read.settle(granted[0], held, "a read") {
                reads_due.push_back((due, memory[read_at..read_at + count].to_vec()));
                reads += 1;
            }
            if phit.settle(phit_goes, held, "a phit's read") {
                reads_due.push_back((due, memory[phit_at..phit_at + banks].to_vec()));
                reads += 1;
            }
            let host_over = host.settle(granted[3], held && !host_writes, "the host");
            if host_over && !host_writes {
                reads_due.push_back((due, vec![memory[host_at]]));
                reads += 1;
            }
            assert!(reads <= 1, "{reads} reads in a cycle");
            let mut store = |at: usize, strobe: u64, value: u32| {
                let mask = (0..4)
                    .filter(|byte| strobe >> byte & 1 == 1)
                    .fold(0, |mask, byte| mask | 0xff << (8 * byte));
                memory[at] = memory[at] & !mask | value & mask;
            };
            if host_over && host_writes {
                store(host_at, host_strobe, host_value);
                writes += 1;
            }
            if write.settle(granted[1], false, "a write") {
                for (lane, &value) in beat.iter().enumerate() {
                    store(write_at + lane, write.strobe >> (4 * lane), value);
                }
                writes += 1;
            }
            if phit_write.settle(granted[2], false, "a phit's write") {
                for (lane, &value) in values.iter().enumerate() {
                    if phit_write.strobe >> lane & 1 == 1 {
                        store(phit_write_at + lane, 0xf, value);
                    }
                }
                writes += 1;
            }
            assert!(writes <= 1, "{writes} writes in a cycle");
            dut.clock();
        }
    }

    /// Gives every word a value.
    fn fill(&mut self, rng: &mut Random) {
        let [valid, ready, write, address, data, strobe] = [
            "host_valid_i",
            "host_ready_o",
            "host_write_i",
            "host_address_i",
            "host_data_i",
            "host_strobe_i",
        ]
        .map(|name| self.pin(name));
        for at in 0..WORDS {
            let value: u32 = rng.random();
            self.memory[at] = value;
            for (pin, value) in [
                (valid, 1),
                (write, 1),
                (address, at as u64),
                (data, u64::from(value)),
                (strobe, 15),
            ] {
                self.dut.set(pin, 0, value);
            }
            self.dut.settle();
            assert_eq!(self.dut.get(ready, 0), 1, "nobody else wants anything");
            self.dut.clock();
        }
        self.dut.set(valid, 0, 0);
    }
}

fn random(banks: usize, words: usize, latency: usize, bench: &'static str) {
    let mut rng = Random::new(bench);
    let mut memory = Bench::new(banks, words, latency);
    memory.fill(&mut rng);
    for _ in 0..soak(3) {
        for chances in [
            [0.3, 0.3, 0.3, 0.3, 0.3, 0.0],
            // Everybody nearly always, and two of three in every cycle.
            [1.0, 1.0, 0.8, 0.8, 0.8, 0.0],
            [1.0, 1.0, 0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 1.0, 1.0, 1.0, 0.0],
            [1.0, 1.0, 1.0, 1.0, 0.0, 0.0],
            [0.8, 0.8, 0.8, 0.8, 0.8, 0.4],
        ] {
            memory.run(&mut rng, 1000, chances);
        }
    }
}

#[test]
fn node_memory_words() {
    random(1, 1, 1, "node_memory_words");
}

#[test]
fn node_memory_banks() {
    random(8, 1, 1, "node_memory_banks");
}

#[test]
fn node_memory_beats() {
    random(8, 8, 1, "node_memory_beats");
}

#[test]
fn node_memory_beats_and_phits() {
    random(8, 4, 5, "node_memory_beats_and_phits");
}

#[test]
fn node_memory_late() {
    random(16, 1, 3, "node_memory_late");
}

/// Everybody in every cycle.
#[test]
fn node_memory_saturated() {
    let mut rng = Random::new("node_memory_saturated");
    let mut memory = Bench::new(8, 1, 1);
    memory.fill(&mut rng);
    memory.run(&mut rng, 1000, [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
}
