//! `kernel_memory` against a model of AXI4 bursts: each access to node memory, each beat and response at the kernel, bursts
//! beyond node memory, and stops in the middle of bursts.

use std::collections::VecDeque;

use alcor_hw_bench::{Answers, Dut, Pace, Random, Recipe, Sink, Source, soak};
use rand::Rng;

/// Bits of `memory_answer_t`.
pub(crate) const RVALID: usize = 0;
pub(crate) const GNT: usize = 1;
/// Bits of the address in `memory_request_t`; the request is the bit above.
const ADDRESS_BITS: usize = 30;
/// Responses of AXI4.
const OKAY: u64 = 0;
const DECODE_ERROR: u64 = 3;
/// Cycles without progress after which the bench fails. The longest wait is for memory.
const PATIENCE: u64 = 1000;
/// Cycles from the last progress to `idle_o`.
const SETTLE: u64 = 2;

/// Parameters of `kernel_memory`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    /// Words of a beat.
    words: usize,
    /// Beats of node memory.
    beats: usize,
    latency: usize,
}

pub(crate) const WORDS: Config = Config {
    words: 1,
    beats: 512,
    latency: 1,
};
const WIDE: Config = Config {
    words: 8,
    beats: 300,
    latency: 5,
};

impl Config {
    fn node_bytes(self) -> usize {
        (4 * self.words * self.beats).next_power_of_two()
    }

    /// The port, after its reset.
    pub(crate) fn start(self) -> Dut {
        let recipe = Recipe::new("kernel_memory", "kernel_memory")
            .blocks(&["abi", "common"])
            .source("core/rtl/kernel_memory.sv")
            .param("WIDTH", 32 * self.words as u64)
            .param("NODE_BYTES", self.node_bytes() as u64)
            .param("LATENCY", self.latency as u64);
        let mut dut = Dut::start(&recipe);
        dut.reset();
        dut
    }
}

/// Returns whether a memory port requests an access.
pub(crate) fn requests(dut: &Dut, port: &str) -> bool {
    dut.look(port, ADDRESS_BITS + 1, ADDRESS_BITS) == 1
}

type Beat = Vec<u32>;

/// A burst that the kernel has started.
#[derive(Debug, Clone, Default)]
struct Burst {
    /// Number of the first beat in node memory; none for a burst beyond node memory.
    first: Option<usize>,
    length: usize,
    /// Beats requested from memory, or taken from the kernel.
    begun: usize,
    /// Beats delivered to the kernel, or written to memory.
    ended: usize,
    /// Beats that have come from memory and have not been delivered.
    arrived: VecDeque<Beat>,
}

/// Address and AxLEN of a burst.
type Address = (u32, u32);
/// A beat of the kernel: data and strobes.
type Strobed = (Beat, u64);

/// Paces of a phase: read and write addresses, write data, both responses, both grants of memory.
#[derive(Debug, Clone, Copy)]
struct Paces {
    addresses: Pace,
    data: Pace,
    responses: Pace,
    grants: Pace,
    /// Latency of memory.
    latency: (u64, u64),
    /// Probability of a stop in each cycle.
    stop: f64,
    /// Largest number of beats of most bursts.
    length: u32,
}

#[derive(Debug, Default)]
struct Counts {
    read_beats: u64,
    write_beats: u64,
    refused: [u64; 2],
    longest: u64,
    /// Stops with a burst or an access under way; stops with an offered request.
    stops: u64,
    offered: [u64; 2],
}

struct Bench {
    config: Config,
    dut: Dut,
    rng: Random,
    memory: Vec<u32>,
    answers: Answers<Beat>,
    read_addresses: Source<Address>,
    write_addresses: Source<Address>,
    write_data: Source<Strobed>,
    read_sink: Sink,
    write_sink: Sink,
    grants: [Sink; 2],
    reads: VecDeque<Burst>,
    writes: VecDeque<Burst>,
    /// Beats that the port must write: number of the beat in memory, data and strobes.
    to_write: VecDeque<(usize, Strobed)>,
    /// Granted reads without an answer.
    under_way: usize,
    /// Read request that stays after a stop, as a number of a beat.
    left: Option<usize>,
    /// Cycles since the stop; none while the kernel runs.
    stopped: Option<u64>,
    progress: u64,
    counts: Counts,
}

impl Bench {
    fn new(config: Config, name: &'static str) -> Self {
        let mut rng = Random::new(name);
        let memory = (0..config.node_bytes() / 4).map(|_| rng.random()).collect();
        Self {
            config,
            dut: config.start(),
            rng,
            memory,
            answers: Answers::new(config.latency),
            read_addresses: Source::new(Pace::Always),
            write_addresses: Source::new(Pace::Always),
            write_data: Source::new(Pace::Always),
            read_sink: Sink::new(Pace::Always),
            write_sink: Sink::new(Pace::Always),
            grants: [Sink::new(Pace::Always), Sink::new(Pace::Always)],
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            to_write: VecDeque::new(),
            under_way: 0,
            left: None,
            stopped: None,
            progress: 0,
            counts: Counts::default(),
        }
    }

    fn set_paces(&mut self, paces: Paces) {
        self.read_addresses.set_pace(paces.addresses);
        self.write_addresses.set_pace(paces.addresses);
        self.write_data.set_pace(paces.data);
        self.read_sink.set_pace(paces.responses);
        self.write_sink.set_pace(paces.responses);
        for grants in &mut self.grants {
            grants.set_pace(paces.grants);
        }
        self.answers.set_latency(paces.latency.0..=paces.latency.1);
    }

    /// A random burst: within memory, up to its end or beyond it, or far away.
    fn address(&mut self, longest: u32) -> Address {
        let (rng, bytes) = (&mut self.rng, self.config.node_bytes() as u32);
        let beat = 4 * self.config.words as u32;
        let length = match rng.random_range(0..40) {
            0 => 256,
            1..10 => 1,
            _ => rng.random_range(1..=longest),
        };
        let first = match rng.random_range(0..10) {
            // The last beat of the burst is the last of memory, or one of its neighbours.
            0..3 => bytes / beat + rng.random_range(0..3) - 1 - length.min(bytes / beat - 1),
            _ => rng.random_range(0..bytes / beat),
        };
        // The port ignores the bits below a beat.
        let mut address = first * beat + rng.random_range(0..beat);
        if rng.random_bool(0.05) {
            address |= 1 << rng.random_range(bytes.ilog2()..32);
        }
        (address, length - 1)
    }

    /// A burst as the model sees it.
    fn burst(&self, (address, length): Address) -> Burst {
        let beat = 4 * self.config.words as u64;
        let first = u64::from(address) / beat;
        let length = u64::from(length) + 1;
        let fits = (first + length) * beat <= self.config.node_bytes() as u64;
        Burst {
            first: fits.then_some(first as usize),
            length: length as usize,
            ..Burst::default()
        }
    }

    fn push(&mut self, longest: u32) {
        if self.read_addresses.len() < 2 {
            let address = self.address(longest);
            self.read_addresses.push(address);
        }
        if self.write_addresses.len() < 2 {
            let address = self.address(longest);
            self.push_write(address);
        }
    }

    fn push_write(&mut self, address: Address) {
        self.write_addresses.push(address);
        for _ in 0..=address.1 {
            let data: Beat = (0..self.config.words).map(|_| self.rng.random()).collect();
            let bits = 4 * self.config.words;
            let strobes = match self.rng.random_range(0..4) {
                0 => u64::MAX,
                1 => 0,
                _ => self.rng.random(),
            } >> (64 - bits);
            self.write_data.push((data, strobes));
        }
    }

    fn beat(&self, name: &str) -> Beat {
        let lanes = self.config.words;
        (0..lanes)
            .map(|lane| self.dut.look(name, lanes, lane) as u32)
            .collect()
    }

    fn drive_beat(&mut self, name: &str, beat: Option<&Beat>) {
        let lanes = self.config.words;
        for lane in 0..lanes {
            let value = beat.map_or_else(|| self.rng.random(), |beat| beat[lane]);
            self.dut.drive(name, lanes, lane, value);
        }
    }

    /// Number of a beat in memory that the port addresses.
    fn place(&self, name: &str) -> usize {
        let word = self.dut.look(name, 1, 0) as usize & ((1 << ADDRESS_BITS) - 1);
        let words = self.config.words;
        assert_eq!(
            word % words,
            0,
            "{name}: {word} is not the first word of a beat"
        );
        assert!(
            word / words < self.memory.len() / words,
            "{name}: {word} is beyond memory"
        );
        word / words
    }

    /// Begins a stop, or ends a stop of `cycles` cycles once the port is idle.
    fn stop(&mut self, cycles: u64) {
        match self.stopped {
            None => {
                self.stopped = Some(0);
                let accesses = self.under_way + self.to_write.len();
                let bursts = self.reads.len() + self.writes.len();
                self.counts.stops += u64::from(accesses + bursts > 0);
            }
            Some(since) if since >= cycles => {
                self.dut.settle();
                if self.dut.look("idle_o", 1, 0) == 1 {
                    self.stopped = None;
                }
            }
            Some(_) => (),
        }
    }

    /// One cycle.
    fn cycle(&mut self) {
        let now = self.dut.cycle();
        let place = format!("cycle {now}");
        let words = self.config.words;
        // The kernel's outputs change in the cycle after the beginning of its reset.
        let runs = self.stopped.is_none();
        let has_kernel = self.stopped.is_none_or(|since| since == 0);
        if !has_kernel {
            self.read_addresses.clear();
            self.write_addresses.clear();
            self.write_data.clear();
        }
        self.dut.drive("stop_i", 1, 0, !runs);
        let rng = &mut *self.rng;
        let noise = !has_kernel && rng.random_bool(0.5);
        let read_address = self.read_addresses.offer(rng).copied();
        let write_address = self.write_addresses.offer(rng).copied();
        let write_data = self.write_data.offer(rng).cloned();
        let rready = self.read_sink.ready(rng);
        let bready = self.write_sink.ready(rng);
        for (names, address) in [
            (["arvalid_i", "araddr_i", "arlen_i"], read_address),
            (["awvalid_i", "awaddr_i", "awlen_i"], write_address),
        ] {
            let (at, length) = address.unwrap_or((rng.random(), rng.random_range(0..256)));
            self.dut.drive(names[0], 1, 0, address.is_some() || noise);
            self.dut.drive(names[1], 1, 0, at);
            self.dut.drive(names[2], 1, 0, length);
        }
        self.dut
            .drive("wvalid_i", 1, 0, write_data.is_some() || noise);
        let strobes = write_data.as_ref().map_or_else(|| rng.random(), |it| it.1);
        self.dut.drive("wstrb_i", 1, 0, strobes);
        self.drive_beat("wdata_i", write_data.as_ref().map(|it| &it.0));
        self.dut.drive("rready_i", 1, 0, rready);
        self.dut.drive("bready_i", 1, 0, bready);

        // Memory answers a read with the contents of the cycle of its grant.
        let answer = self.answers.due();
        self.dut.drive("read_i", 2, RVALID, answer.is_some());
        self.drive_beat("read_data_i", answer.as_ref());
        self.dut.drive("read_i", 2, GNT, false);
        self.dut.drive("write_gnt_i", 1, 0, false);
        self.dut.settle();
        let [read_req, write_req] = ["read_o", "write_o"].map(|name| requests(&self.dut, name));
        let read_gnt = self.grants[0].ready(&mut *self.rng) && read_req;
        let write_gnt = self.grants[1].ready(&mut *self.rng) && write_req;
        self.dut.drive("read_i", 2, GNT, read_gnt);
        self.dut.drive("write_gnt_i", 1, 0, write_gnt);
        self.dut.settle();
        let look = |dut: &Dut, name| dut.look(name, 1, 0) == 1;

        // The port is idle only if it has no access and no burst.
        let idle = look(&self.dut, "idle_o");
        let reading = self
            .reads
            .iter()
            .any(|it| it.first.is_some() && it.begun < it.length);
        let owes = read_req
            || write_req
            || self.under_way > 0
            || !self.to_write.is_empty()
            || (runs && (reading || !self.writes.is_empty()));
        assert!(!(idle && owes), "{place}: idle with accesses under way");
        let mut moved = answer.is_some() || read_gnt || write_gnt;

        // Reads: the request, and the beat at the kernel.
        if read_req {
            let found = self.place("read_o");
            let burst = self
                .reads
                .iter_mut()
                .find(|it| it.first.is_some() && it.begun < it.length);
            let expected = self.left.or_else(|| {
                let burst = burst.as_ref()?;
                Some(burst.first? + burst.begun)
            });
            assert_eq!(Some(found), expected, "{place}: a read request");
            if read_gnt {
                let data = self.memory[found * words..(found + 1) * words].to_vec();
                if let Some(burst) = burst {
                    burst.begun += 1;
                }
                self.left = None;
                self.answers.grant(data, &mut *self.rng);
                self.under_way += 1;
            }
        }
        let rvalid = look(&self.dut, "rvalid_o");
        if rvalid && has_kernel {
            let burst = self
                .reads
                .front_mut()
                .unwrap_or_else(|| panic!("{place}: a beat of no burst"));
            let expected = match burst.first {
                None => (vec![0; words], DECODE_ERROR),
                Some(_) => {
                    let data = burst.arrived.front();
                    let data =
                        data.unwrap_or_else(|| panic!("{place}: a beat that memory has not given"));
                    (data.clone(), OKAY)
                }
            };
            let last = burst.ended + 1 == burst.length;
            let lanes = (0..words).map(|lane| self.dut.look("rdata_o", words, lane) as u32);
            let found = (lanes.collect(), self.dut.look("rresp_o", 1, 0));
            assert_eq!(found, expected, "{place}: a beat");
            assert_eq!(look(&self.dut, "rlast_o"), last, "{place}: rlast_o");
            if rready && runs {
                moved = true;
                burst.ended += 1;
                burst.arrived.pop_front();
                self.counts.read_beats += 1;
                if last {
                    self.counts.refused[0] += u64::from(burst.first.is_none());
                    self.counts.longest += u64::from(burst.length == 256 && burst.first.is_some());
                    self.reads.pop_front();
                }
            }
        }
        assert!(
            has_kernel || !rvalid,
            "{place}: a beat for a stopped kernel"
        );
        if let Some(data) = answer {
            self.under_way -= 1;
            // Answers come in the order of the grants, so the first burst that lacks a beat gets the beat. A stop discards
            // all answers.
            let lacks =
                |it: &&mut Burst| it.first.is_some() && it.ended + it.arrived.len() < it.begun;
            if let Some(burst) = self.reads.iter_mut().find(lacks) {
                burst.arrived.push_back(data);
            }
        }

        // Writes: the request, and the response.
        let bvalid = look(&self.dut, "bvalid_o");
        if bvalid && has_kernel {
            let burst = self
                .writes
                .front()
                .unwrap_or_else(|| panic!("{place}: a response to no burst"));
            assert_eq!(
                burst.begun, burst.length,
                "{place}: beats before the response"
            );
            assert!(
                self.to_write.is_empty(),
                "{place}: a response before the last write"
            );
            let response = burst.first.map_or(DECODE_ERROR, |_| OKAY);
            assert_eq!(self.dut.look("bresp_o", 1, 0), response, "{place}: bresp_o");
            if bready && runs {
                moved = true;
                self.counts.refused[1] += u64::from(burst.first.is_none());
                self.counts.longest += u64::from(burst.length == 256 && burst.first.is_some());
                self.writes.pop_front();
            }
        }
        assert!(
            has_kernel || !bvalid,
            "{place}: a response for a stopped kernel"
        );
        if write_req {
            let at = self.place("write_o");
            let strobes = self.dut.look("write_strobe_o", 1, 0);
            let found = (at, (self.beat("write_data_o"), strobes));
            assert_eq!(Some(&found), self.to_write.front(), "{place}: a write");
            if write_gnt {
                for byte in (0..4 * words).filter(|byte| strobes >> byte & 1 == 1) {
                    let (word, shift) = (at * words + byte / 4, 8 * (byte % 4));
                    let data = found.1.0[byte / 4] & 0xFF << shift;
                    self.memory[word] = self.memory[word] & !(0xFF << shift) | data;
                }
                self.to_write.pop_front();
                self.counts.write_beats += 1;
            }
        }

        // The kernel's handshakes.
        let ready = ["arready_o", "awready_o", "wready_o"].map(|name| look(&self.dut, name));
        assert!(
            runs || ready == [false; 3],
            "{place}: ready for a stopped kernel"
        );
        if let Some((data, strobes)) = self.write_data.take(ready[2]) {
            moved = true;
            let burst = self.writes.iter_mut().find(|it| it.begun < it.length);
            let burst = burst.unwrap_or_else(|| panic!("{place}: a beat before its address"));
            if let Some(first) = burst.first {
                self.to_write
                    .push_back((first + burst.begun, (data, strobes)));
            }
            burst.begun += 1;
        }
        if let Some(address) = self.read_addresses.take(ready[0]) {
            moved = true;
            self.reads.push_back(self.burst(address));
        }
        if let Some(address) = self.write_addresses.take(ready[1]) {
            moved = true;
            self.writes.push_back(self.burst(address));
        }

        // A stop ends the bursts; only requests that are at memory remain.
        if let Some(since) = self.stopped {
            if since == 0 {
                moved = true;
                self.reads.clear();
                self.writes.clear();
                let has_read = read_req && !read_gnt;
                let has_write = write_req && !write_gnt;
                self.left = has_read.then(|| self.place("read_o"));
                self.to_write.truncate(usize::from(has_write));
                self.counts.offered[0] += u64::from(has_read);
                self.counts.offered[1] += u64::from(has_write);
            }
            self.stopped = Some(since + 1);
        }

        // Other blocks write to memory.
        if self.rng.random_bool(0.1) {
            let word = self.rng.random_range(0..self.memory.len());
            self.memory[word] = self.rng.random();
        }
        if moved {
            self.progress = now;
        }
        let offers = read_address.is_some() || write_address.is_some();
        let waits = now - self.progress;
        assert!(
            waits < PATIENCE || !(owes || offers || !self.reads.is_empty()),
            "{place}: no progress for {waits} cycles"
        );
        let quiet = !owes && self.reads.is_empty() && !moved;
        assert!(
            idle || !quiet || waits < SETTLE,
            "{place}: nothing is under way, and the port is not idle"
        );
        self.dut.clock();
    }

    /// Ends all bursts.
    fn drain(&mut self) {
        while !self.read_addresses.is_empty()
            || !self.write_data.is_empty()
            || !self.reads.is_empty()
            || !self.writes.is_empty()
        {
            self.cycle();
        }
        for _ in 0..2 * SETTLE {
            self.cycle();
        }
    }
}

fn random(config: Config, name: &'static str) {
    let mut bench = Bench::new(config, name);
    let latency = config.latency as u64;
    let base = Paces {
        addresses: Pace::Always,
        data: Pace::Always,
        responses: Pace::Always,
        grants: Pace::Always,
        latency: (latency, latency),
        stop: 0.0,
        length: 12,
    };
    let phases = [
        base,
        Paces {
            addresses: Pace::Chance(0.2),
            data: Pace::Chance(0.4),
            responses: Pace::Chance(0.4),
            grants: Pace::Chance(0.4),
            latency: (1, 30),
            stop: 0.002,
            ..base
        },
        // Memory is slow; the kernel is fast.
        Paces {
            grants: Pace::Bursts { on: 3, off: 40 },
            latency: (1, 60),
            stop: 0.005,
            ..base
        },
        // The kernel is slow; memory is fast.
        Paces {
            data: Pace::Bursts { on: 5, off: 30 },
            responses: Pace::Chance(0.05),
            stop: 0.003,
            ..base
        },
        // Short bursts and many stops.
        Paces {
            grants: Pace::Chance(0.3),
            latency: (1, 8),
            stop: 0.04,
            length: 3,
            ..base
        },
    ];
    for _ in 0..soak(1) {
        for paces in phases {
            bench.set_paces(paces);
            for _ in 0..8_000 {
                let stops = match bench.stopped {
                    None => bench.rng.random_bool(paces.stop),
                    Some(_) => true,
                };
                if stops {
                    let cycles = bench.rng.random_range(1..20);
                    bench.stop(cycles);
                }
                if bench.stopped.is_none() {
                    bench.push(paces.length);
                }
                bench.cycle();
            }
            while bench.stopped.is_some() {
                bench.stop(1);
                bench.cycle();
            }
            bench.drain();
        }
    }
    let counts = &bench.counts;
    assert!(
        counts.read_beats > 5000 && counts.write_beats > 5000 && counts.longest > 10,
        "{counts:?}"
    );
    assert!(
        counts
            .refused
            .iter()
            .chain(&counts.offered)
            .all(|&count| count > 20)
            && counts.stops > 50,
        "{counts:?}"
    );
}

#[test]
fn kernel_memory_words() {
    random(WORDS, "kernel_memory_words");
}

#[test]
fn kernel_memory_wide() {
    random(WIDE, "kernel_memory_wide");
}

/// Free memory: a beat per cycle in both directions at once, and the latency of the first beat and of the response, also
/// after a stop.
#[test]
fn kernel_memory_rate() {
    for config in [WORDS, WIDE] {
        for length in [1u64, 2, 17, 256] {
            let mut bench = Bench::new(config, "kernel_memory_rate");
            // A stop in the middle of a burst leaves no trace.
            bench.read_addresses.push((0, 255));
            for _ in 0..20 {
                bench.cycle();
            }
            bench.stop(0);
            while bench.stopped.is_some() {
                bench.cycle();
                bench.stop(8);
            }
            bench.counts.read_beats = 0;
            bench.read_addresses.push((0, length as u32 - 1));
            bench.push_write((0, length as u32 - 1));
            let begin = bench.dut.cycle();
            let (mut read, mut written) = (None, None);
            while read.is_none() || written.is_none() {
                bench.cycle();
                let cycles = bench.dut.cycle() - 1 - begin;
                if bench.counts.read_beats == length {
                    read.get_or_insert(cycles);
                }
                if bench.writes.is_empty() && bench.write_addresses.is_empty() {
                    written.get_or_insert(cycles);
                }
            }
            // The address is taken in cycle 0.
            let latency = config.latency as u64;
            assert_eq!(
                read,
                Some(2 + latency + length - 1),
                "{config:?}, {length} beats: the last beat"
            );
            assert_eq!(
                written,
                Some(2 + length),
                "{config:?}, {length} beats: the response"
            );
        }
    }
}
