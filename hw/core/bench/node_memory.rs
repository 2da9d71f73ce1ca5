//! `node_memory` behind a `memory_arbiter`: words at any address against an array, the order of
//! answers, the legal values of a read beside writes, and a bound on each wait.

use std::collections::VecDeque;

use alcor_hw_bench::{Dut, Pin, Random, Recipe, soak};
use rand::Rng;

const BYTES: u64 = 1024;
const WORDS: usize = BYTES as usize / 4;
const READERS: usize = 4;
const WRITERS: usize = 5;

#[derive(Debug, Clone, Copy)]
struct Config {
    banks: usize,
    latency: u64,
    jitter: u64,
    stages: u64,
}

const fn config(banks: usize, latency: u64, jitter: u64, stages: u64) -> Config {
    Config {
        banks,
        latency,
        jitter,
        stages,
    }
}

/// A request that is held until it is granted, and the cycle since which it waits.
#[derive(Debug, Clone, Default)]
struct Request {
    on: bool,
    address: usize,
    strobe: u64,
    data: Vec<u32>,
    since: u64,
}

/// A granted read: reader, cycle, and for each word its legal values.
#[derive(Debug)]
struct Read {
    reader: usize,
    granted: u64,
    address: usize,
    words: Vec<Vec<u32>>,
}

struct Bench {
    config: Config,
    dut: Dut,
    rng: Random,
    /// Expected contents.
    memory: Vec<u32>,
    readers: Vec<Request>,
    writers: Vec<Request>,
    under_way: VecDeque<Read>,
    /// Number of granted reads and writes; number of reads that returned words written after their
    /// grant.
    grants: [u64; 2],
    late: u64,
    /// Minimum and maximum number of cycles from a read's grant to its data.
    times: (u64, u64),
}

impl Bench {
    fn new(config: Config, name: &'static str) -> Self {
        let recipe = Recipe::new("node_memory", "node_memory_bench")
            .blocks(&["abi", "common"])
            .source("core/rtl/node_memory.sv")
            .source("core/bench/node_memory_bench.sv")
            .param("NODE_BYTES", BYTES)
            .param("BANKS", config.banks as u64)
            .param("LATENCY", config.latency)
            .param("JITTER", config.jitter)
            .param("STAGES", config.stages);
        let mut dut = Dut::start(&recipe);
        dut.reset();
        let mut bench = Self {
            config,
            dut,
            rng: Random::new(name),
            memory: vec![0; WORDS],
            readers: vec![Request::default(); READERS],
            writers: vec![Request::default(); WRITERS],
            under_way: VecDeque::new(),
            grants: [0; 2],
            late: 0,
            times: (u64::MAX, 0),
        };
        bench.fill();
        bench
    }

    /// Writes every word through the last writer, without other requests.
    fn fill(&mut self) {
        for address in (0..WORDS).step_by(self.config.banks) {
            let data = (0..self.config.banks).map(|_| self.rng.random()).collect();
            self.writers[WRITERS - 1] = Request {
                on: true,
                address,
                strobe: u64::MAX >> (64 - 4 * self.config.banks),
                data,
                since: self.dut.cycle(),
            };
            while self.writers[WRITERS - 1].on {
                self.cycle(0.0, 0.0);
            }
        }
    }

    /// Maximum wait of a request: each other user is served once before, and a second stage adds a
    /// cycle. A memory that is not always ready takes a few times as long, or until there is free
    /// space.
    fn patience(&self, others: u64) -> u64 {
        match self.config.jitter {
            0 => others + self.config.stages - 1,
            jitter => 10 * (others + 1) + jitter + self.config.latency,
        }
    }

    fn lanes(&self, name: &str, count: usize) -> Pin {
        self.dut.lanes(name, count)
    }

    /// One cycle. Readers and writers without a request start one with these probabilities.
    fn cycle(&mut self, reads: f64, writes: f64) {
        let banks = self.config.banks;
        let now = self.dut.cycle();
        for at in 0..READERS + WRITERS {
            let (request, chance) = match at.checked_sub(READERS) {
                None => (&mut self.readers[at], reads),
                Some(at) => (&mut self.writers[at], writes),
            };
            if request.on || !self.rng.random_bool(chance) {
                continue;
            }
            *request = Request {
                on: true,
                // Some addresses are near those of others, some near the end. Addresses wrap.
                address: match self.rng.random_range(0..3) {
                    0 => self.rng.random_range(0..16),
                    1 => self.rng.random_range(WORDS - 20..WORDS),
                    _ => self.rng.random_range(0..WORDS),
                },
                strobe: self.rng.random::<u64>() >> (64 - 4 * banks),
                data: (0..banks).map(|_| self.rng.random()).collect(),
                since: now,
            };
        }
        let [read_req, read_gnt, read_address, read_rvalid] = [
            "read_req_i",
            "read_gnt_o",
            "read_address_i",
            "read_rvalid_o",
        ]
        .map(|name| self.lanes(name, READERS));
        let [write_req, write_gnt, write_address, write_strobe] = [
            "write_req_i",
            "write_gnt_o",
            "write_address_i",
            "write_strobe_i",
        ]
        .map(|name| self.lanes(name, WRITERS));
        let (write_data, data) = (
            self.lanes("write_data_i", WRITERS * banks),
            self.lanes("data_o", banks),
        );
        for (at, request) in self.readers.iter().enumerate() {
            self.dut.set(read_req, at, u64::from(request.on));
            self.dut.set(read_address, at, request.address as u64);
        }
        for (at, request) in self.writers.iter().enumerate() {
            self.dut.set(write_req, at, u64::from(request.on));
            self.dut.set(write_address, at, request.address as u64);
            self.dut.set(write_strobe, at, request.strobe);
            for (lane, &value) in request.data.iter().enumerate() {
                self.dut
                    .set(write_data, at * banks + lane, u64::from(value));
            }
        }
        self.dut.settle();

        // Answers are in order of the grants.
        let answered: Vec<usize> = (0..READERS)
            .filter(|&at| self.dut.get(read_rvalid, at) == 1)
            .collect();
        if !answered.is_empty() {
            let read = self.under_way.pop_front().expect("a read under way");
            assert_eq!(answered, [read.reader], "cycle {now}: whose answer it is");
            for (lane, values) in read.words.iter().enumerate() {
                let found = self.dut.get(data, lane) as u32;
                let place = values.iter().rposition(|&value| value == found);
                assert!(
                    place.is_some(),
                    "cycle {now}: word {lane} of {} is {found:#x}, not one of {values:x?}",
                    read.address
                );
                self.late += u64::from(place != Some(0));
            }
            let took = now - read.granted;
            let Config {
                latency, jitter, ..
            } = self.config;
            assert!(
                (latency..=latency + jitter).contains(&took),
                "cycle {now}: a read took {took} cycles"
            );
            self.times = (self.times.0.min(took), self.times.1.max(took));
        }

        // A read returns all writes granted before. It may return writes from its own cycle on.
        let granted: Vec<usize> = (0..READERS)
            .filter(|&at| self.dut.get(read_gnt, at) == 1)
            .collect();
        assert!(
            granted.len() <= 1,
            "cycle {now}: reads {granted:?} are granted"
        );
        for reader in granted {
            let request = &mut self.readers[reader];
            assert!(request.on, "cycle {now}: a grant that nobody asked for");
            request.on = false;
            let address = request.address;
            self.under_way.push_back(Read {
                reader,
                granted: now,
                address,
                words: (0..banks)
                    .map(|lane| vec![self.memory[(address + lane) % WORDS]])
                    .collect(),
            });
            self.grants[0] += 1;
        }
        let granted: Vec<usize> = (0..WRITERS)
            .filter(|&at| self.dut.get(write_gnt, at) == 1)
            .collect();
        assert!(
            granted.len() <= 1,
            "cycle {now}: writes {granted:?} are granted"
        );
        for writer in granted {
            let request = &mut self.writers[writer];
            assert!(request.on, "cycle {now}: a grant that nobody asked for");
            request.on = false;
            for (lane, &value) in request.data.iter().enumerate() {
                let mask = (0..4)
                    .filter(|byte| request.strobe >> (4 * lane + byte) & 1 == 1)
                    .fold(0, |mask, byte| mask | 0xff << (8 * byte));
                let at = (request.address + lane) % WORDS;
                self.memory[at] = self.memory[at] & !mask | value & mask;
                for read in &mut self.under_way {
                    let offset = (at + WORDS - read.address) % WORDS;
                    if let Some(values) = read.words.get_mut(offset) {
                        values.push(self.memory[at]);
                    }
                }
            }
            self.grants[1] += 1;
        }
        for (requests, others, name) in [
            (&self.readers, READERS as u64 - 1, "reader"),
            (&self.writers, WRITERS as u64 - 1, "writer"),
        ] {
            for (at, request) in requests
                .iter()
                .enumerate()
                .filter(|(_, request)| request.on)
            {
                let waits = now + 1 - request.since;
                assert!(
                    waits <= self.patience(others),
                    "cycle {now}: {name} {at} waits for {waits} cycles"
                );
            }
        }
        self.dut.clock();
    }
}

fn random(config: Config, name: &'static str) {
    let mut bench = Bench::new(config, name);
    for _ in 0..soak(3) {
        for (reads, writes) in [
            (0.1, 0.1),
            (0.3, 0.3),
            (1.0, 1.0),
            (1.0, 0.2),
            (0.05, 1.0),
            (0.01, 0.0),
        ] {
            for _ in 0..1000 {
                bench.cycle(reads, writes);
            }
        }
    }
    assert!(
        bench.late > 0 || config.jitter == 0,
        "{config:?}: no read was late"
    );
    let Config {
        latency, jitter, ..
    } = config;
    assert_eq!(bench.times.0, latency, "{config:?}");
    assert!(
        bench.times.1 > latency + jitter * 3 / 4 || jitter == 0,
        "{config:?}: {:?}",
        bench.times
    );
}

#[test]
fn node_memory_words() {
    random(config(1, 1, 0, 1), "node_memory_words");
}

#[test]
fn node_memory_banks() {
    random(config(8, 1, 0, 1), "node_memory_banks");
}

#[test]
fn node_memory_late() {
    random(config(8, 5, 0, 2), "node_memory_late");
}

#[test]
fn node_memory_wide() {
    random(config(16, 3, 0, 1), "node_memory_wide");
}

/// Random latencies from 4 to 200 cycles.
#[test]
fn node_memory_jitter() {
    random(config(8, 4, 196, 2), "node_memory_jitter");
}

#[test]
fn node_memory_jitter_short() {
    random(config(1, 2, 5, 1), "node_memory_jitter_short");
}

/// A read and a write in each cycle: by all users, and by a single reader and a single writer.
#[test]
fn node_memory_saturated() {
    for stages in [1, 2] {
        let mut bench = Bench::new(config(8, 5, 0, stages), "node_memory_saturated");
        for _ in 0..10 {
            bench.cycle(1.0, 1.0);
        }
        bench.grants = [0; 2];
        for _ in 0..1000 {
            bench.cycle(1.0, 1.0);
        }
        assert_eq!(bench.grants, [1000; 2], "everybody, {stages} stages");
        for _ in 0..20 {
            bench.cycle(0.0, 0.0);
        }
        bench.grants = [0; 2];
        for _ in 0..1000 {
            for requests in [&mut bench.readers, &mut bench.writers] {
                let one = &mut requests[2];
                one.on = true;
                one.data = vec![1; 8];
                one.since = bench.dut.cycle();
            }
            bench.cycle(0.0, 0.0);
        }
        assert!(
            bench.grants.iter().all(|&grants| grants > 1000 - stages),
            "one, {stages} stages: {:?}",
            bench.grants
        );
    }
}
