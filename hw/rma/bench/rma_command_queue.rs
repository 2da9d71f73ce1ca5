//! `rma_command_queue`: with one clock in every cycle against queues; with two unrelated clocks item by item.

use std::collections::VecDeque;

use alcor_abi::Opcode;
use alcor_hw_bench::{Pace, Random, Sink, soak};
use rand::Rng;

use crate::rma::Block;

/// Depths of the queues with one clock in `rma_bench`.
const DEPTHS: [usize; 2] = [2, 64];
/// Depths of the queues with two clocks.
const ASYNC_DEPTHS: [usize; 2] = [4, 64];

/// A write by the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Write {
    opcode: u8,
    data: u32,
}

fn random_write(rng: &mut Random, data: u32) -> Write {
    let opcode = match rng.random_range(0..20) {
        0 => Opcode::Abort as u8,
        1..=9 => Opcode::Data8 as u8,
        10..=16 => Opcode::ALL[rng.random_range(0..Opcode::ALL.len())] as u8,
        // Also what is no opcode: it is the pipeline that says so.
        _ => rng.random(),
    };
    Write { opcode, data }
}

#[test]
fn rma_command_queue_random() {
    for (lane, depth) in DEPTHS.into_iter().enumerate() {
        random(lane, depth);
    }
}

fn random(lane: usize, depth: usize) {
    let mut rng = Random::new("rma_command_queue_random");
    let mut block = Block::start("queue", DEPTHS.len(), lane);
    let mut commands: VecDeque<Write> = VecDeque::new();
    let mut triples: VecDeque<u32> = VecDeque::new();
    let mut gathered: Vec<u32> = Vec::new();
    let (mut taken, mut lost) = (0, 0);
    let paces = [
        (0.9, Pace::Chance(0.5), Pace::Chance(0.5)),
        (1.0, Pace::Always, Pace::Always),
        (1.0, Pace::Chance(0.2), Pace::Bursts { on: 90, off: 300 }),
        (0.3, Pace::Always, Pace::Always),
        (1.0, Pace::Bursts { on: 90, off: 90 }, Pace::Chance(0.05)),
    ];
    for (busy, command_pace, data8_pace) in paces {
        let (mut command_sink, mut data8_sink) = (Sink::new(command_pace), Sink::new(data8_pace));
        for _ in 0..soak(3_000) {
            let noise = rng.random();
            let write = rng.random_bool(busy).then(|| random_write(&mut rng, noise));
            let ready = (command_sink.ready(&mut *rng), data8_sink.ready(&mut *rng));
            block.set("write_i", write.is_some());
            block.set("opcode_i", write.map_or(noise as u8, |write| write.opcode));
            block.set("data_i", noise);
            block.set("command_ready_i", ready.0);
            block.set("data8_ready_i", ready.1);
            block.settle();

            let place = format!("depth {depth}, cycle {}", block.cycle());
            assert_eq!(block.is("command_valid_o"), !commands.is_empty(), "{place}");
            if let Some(&front) = commands.front() {
                let found = Write {
                    opcode: block.get("command_opcode_o") as u8,
                    data: block.word("command_data_o"),
                };
                assert_eq!(found, front, "{place}");
            }
            assert_eq!(block.is("data8_valid_o"), !triples.is_empty(), "{place}");
            if let Some(&front) = triples.front() {
                assert_eq!(block.word("data8_o"), front, "{place}");
            }

            // Room is what there was before this cycle's entry leaves.
            let (room, room8) = (commands.len() < depth, triples.len() < depth);
            if ready.0 {
                taken += u64::from(commands.pop_front().is_some());
            }
            if ready.1 {
                triples.pop_front();
            }
            let mut overflow = false;
            let is_abort = write.is_some_and(|write| write.opcode == Opcode::Abort as u8);
            match write {
                Some(write) if write.opcode == Opcode::Data8 as u8 => {
                    gathered.push(write.data & 0xff);
                    if let [dpid, len, off] = gathered[..] {
                        gathered.clear();
                        overflow = !room8;
                        if room8 {
                            triples.push_back(dpid << 16 | len << 8 | off);
                        }
                    }
                }
                Some(write) if !is_abort => {
                    overflow = !room;
                    if room {
                        commands.push_back(write);
                    }
                }
                _ => {}
            }
            lost += u64::from(overflow);
            assert_eq!(block.is("overflow_o"), overflow, "{place}");
            assert_eq!(block.is("written_o"), write.is_some(), "{place}");
            // At once, whatever is queued.
            assert_eq!(block.is("abort_o"), is_abort, "{place}");
            if is_abort {
                assert_eq!(block.word("abort_reason_o"), noise & 0xff, "{place}");
            }
            block.clock();
        }
    }
    assert!(
        taken > 2_000 && lost > 200,
        "{taken} commands taken, {lost} writes lost"
    );
}

/// A queue with two clocks, driven edge by edge.
struct Async {
    block: Block,
    depth: usize,
    now: u64,
    /// Next edge of the host's clock and of the coprocessor's.
    next: [u64; 2],
    period: [u64; 2],
    high: [bool; 2],
    /// What was written and has not come out.
    commands: VecDeque<Write>,
    triples: VecDeque<u32>,
    gathered: Vec<u32>,
    /// When something was taken: the host's side sees the place a little later.
    freed: VecDeque<u64>,
    /// Reasons of ABORTs that were written and not yet seen, with the time.
    aborts: Vec<(u32, u64)>,
    lost: u64,
    overflows: u64,
    taken: u64,
    /// The first write that was not yet announced, and the last one.
    written_at: Option<u64>,
    last_write: u64,
}

const HOST: usize = 0;
const CORE: usize = 1;

impl Async {
    fn new(lane: usize) -> Self {
        let mut block = Block::start("async", ASYNC_DEPTHS.len(), lane);
        let clocks = [
            block.dut().pin("async_host_clk_i"),
            block.dut().pin("async_clk_i"),
        ];
        let resets = [
            block.dut().pin("async_host_rst_ni"),
            block.dut().pin("async_rst_ni"),
        ];
        for value in [0, 1] {
            for reset in resets {
                block.dut().set(reset, 0, value);
            }
            for _ in 0..5 {
                for level in [1, 0] {
                    for clock in clocks {
                        block.dut().set(clock, 0, level);
                        block.settle();
                    }
                }
            }
        }
        Self {
            block,
            depth: ASYNC_DEPTHS[lane],
            now: 0,
            next: [1, 1],
            period: [1_000, 1_000],
            high: [false; 2],
            commands: VecDeque::new(),
            triples: VecDeque::new(),
            gathered: Vec::new(),
            freed: VecDeque::new(),
            aborts: Vec::new(),
            lost: 0,
            overflows: 0,
            taken: 0,
            written_at: None,
            last_write: 0,
        }
    }

    fn set_periods(&mut self, rng: &mut Random, host: u64, core: u64) {
        self.period = [host, core];
        for (side, high) in self.high.into_iter().enumerate() {
            // The next edge of each is somewhere in the half period that has begun.
            self.next[side] =
                self.now + 1 + rng.random_range(0..self.period[side] / 2 + u64::from(high));
        }
    }

    /// The longest that an event takes from one side to the other and back, with some to spare.
    fn crossing(&self) -> u64 {
        12 * (self.period[HOST] + self.period[CORE])
    }

    /// A write is sure to find room: counted are the entries inside and the places that the host's side may not see yet.
    fn has_credit(&mut self) -> bool {
        let seen = 6 * self.period[HOST];
        while self.freed.front().is_some_and(|&at| at + seen < self.now) {
            self.freed.pop_front();
        }
        self.commands.len().max(self.triples.len()) + self.freed.len() + 1 < self.depth
    }

    /// Goes to the next edge of either clock. `write` gives the host's write of its cycle, `ready` what the
    /// coprocessor takes in its own.
    fn edge(
        &mut self,
        rng: &mut Random,
        mut write: impl FnMut(&mut Random) -> Option<Write>,
        mut ready: impl FnMut(&mut Random) -> (bool, bool),
    ) {
        self.now = self.next[HOST].min(self.next[CORE]);
        let mut rising = [false; 2];
        for (side, name) in ["async_host_clk_i", "async_clk_i"].into_iter().enumerate() {
            if self.next[side] != self.now {
                continue;
            }
            self.high[side] = !self.high[side];
            rising[side] = self.high[side];
            let clock = self.block.dut().pin(name);
            self.block.dut().set(clock, 0, u64::from(self.high[side]));
            let half = self.period[side] / 2;
            self.next[side] += if self.high[side] {
                half
            } else {
                self.period[side] - half
            };
        }
        // What moves at an edge was decided by the levels before it.
        if rising[CORE] {
            self.take();
        }
        if rising[HOST] {
            self.record();
        }
        self.block.settle();
        if rising[HOST] {
            let write = write(rng);
            self.block.set("write_i", write.is_some());
            self.block
                .set("opcode_i", write.map_or(0x5a, |write| write.opcode));
            self.block
                .set("data_i", write.map_or(0xdead_beef, |write| write.data));
        }
        if rising[CORE] {
            let (command, data8) = ready(rng);
            self.block.set("command_ready_i", command);
            self.block.set("data8_ready_i", data8);
        }
        self.block.settle();
    }

    /// The edge of the host's clock: the write that is up.
    fn record(&mut self) {
        if !self.block.is("write_i") {
            return;
        }
        self.written_at.get_or_insert(self.now);
        self.last_write = self.now;
        let write = Write {
            opcode: self.block.get("opcode_i") as u8,
            data: self.block.word("data_i"),
        };
        if write.opcode == Opcode::Abort as u8 {
            self.aborts.push((write.data & 0xff, self.now));
        } else if write.opcode == Opcode::Data8 as u8 {
            self.gathered.push(write.data & 0xff);
            if let [dpid, len, off] = self.gathered[..] {
                self.gathered.clear();
                self.triples.push_back(dpid << 16 | len << 8 | off);
            }
        } else {
            self.commands.push_back(write);
        }
    }

    /// The edge of the coprocessor's clock: what comes out, and the events of this cycle.
    fn take(&mut self) {
        if self.block.is("command_valid_o") && self.block.is("command_ready_i") {
            let found = Write {
                opcode: self.block.get("command_opcode_o") as u8,
                data: self.block.word("command_data_o"),
            };
            // Data is numbered, so what is missing in front of it was lost.
            loop {
                let front = self
                    .commands
                    .pop_front()
                    .expect("a command that was never written");
                if front == found {
                    break;
                }
                self.lost += 1;
            }
            self.taken += 1;
            self.freed.push_back(self.now);
        }
        if self.block.is("data8_valid_o") && self.block.is("data8_ready_i") {
            let found = self.block.word("data8_o");
            loop {
                let front = self
                    .triples
                    .pop_front()
                    .expect("operands that were never written");
                if front == found {
                    break;
                }
                self.lost += 1;
            }
            self.freed.push_back(self.now);
        }
        if self.block.is("abort_o") {
            let reason = self.block.word("abort_reason_o");
            let at = self.aborts.iter().position(|&(given, _)| given == reason);
            let Some(at) = at else {
                panic!("ABORT with reason {reason}; given were {:?}", self.aborts);
            };
            // Several in a row may be seen as one.
            self.aborts.drain(..=at);
        }
        if let Some(&(_, written)) = self.aborts.first() {
            assert!(
                self.now <= written + self.crossing(),
                "ABORT of {written} is not seen at {}",
                self.now
            );
        }
        if self.block.is("overflow_o") {
            self.overflows += 1;
        }
        if self.block.is("written_o") {
            self.written_at = None;
            let age = self.now - self.last_write;
            assert!(age <= self.crossing(), "written_o without a write");
        }
        if let Some(written) = self.written_at {
            assert!(
                self.now <= written + self.crossing(),
                "the write of {written} is not seen at {}",
                self.now
            );
        }
    }
}

const PERIODS: [(u64, u64); 7] = [
    (1_000, 1_000),
    (1_000, 1_003),
    (1_003, 1_000),
    (300, 700),
    (700, 300),
    (100, 1_300),
    (1_300, 100),
];

/// Random writes that stay within the credits, so that nothing may be lost; then a flood.
#[test]
fn rma_command_queue_async() {
    for lane in 0..ASYNC_DEPTHS.len() {
        let mut rng = Random::new("rma_command_queue_async");
        let mut bench = Async::new(lane);
        let mut number: u32 = 0;
        for (host, core) in PERIODS {
            for flood in [false, true] {
                bench.set_periods(&mut rng, host, core);
                let end = bench.now + soak(300 + 8 * bench.depth as u64) * host.max(core);
                let mut sink = Sink::new(if flood {
                    Pace::Chance((0.2 * core as f64 / host as f64).min(0.2))
                } else {
                    Pace::Chance(0.7)
                });
                let before = (bench.lost, bench.overflows);
                while bench.now < end {
                    let room = flood || bench.has_credit();
                    let write = |rng: &mut Random| {
                        number += 1;
                        (room && rng.random_bool(0.8)).then(|| random_write(rng, number))
                    };
                    bench.edge(&mut rng, write, |rng| {
                        (sink.ready(&mut **rng), sink.ready(&mut **rng))
                    });
                }
                // Everything that was not lost comes out.
                let end = bench.now + (bench.depth as u64 + 20) * host.max(core);
                while bench.now < end {
                    bench.edge(&mut rng, |_| None, |_| (true, true));
                }
                // What is left was lost behind the last that came out.
                let left = bench.commands.len() + bench.triples.len();
                bench.commands.clear();
                bench.triples.clear();
                bench.lost += left as u64;
                let (lost, overflows) = (bench.lost - before.0, bench.overflows - before.1);
                let place = format!("depth {}, periods {host}/{core}", bench.depth);
                assert_eq!(
                    lost > 0,
                    overflows > 0,
                    "{place}: {lost} writes lost, {overflows} reports"
                );
                assert!(
                    flood || lost == 0,
                    "{place}: {lost} writes lost within the credits"
                );
                assert!(!flood || lost > 10, "{place}: the flood lost only {lost}");
                assert!(
                    overflows <= lost,
                    "{place}: {lost} writes lost, {overflows} reports"
                );
                assert!(
                    bench.aborts.is_empty() && bench.written_at.is_none(),
                    "{place}: an event is missing"
                );
            }
        }
        assert!(
            bench.taken > 1_000,
            "only {} commands came through",
            bench.taken
        );
    }
}

/// Two events in consecutive cycles of a fast host's clock must not cancel each other.
#[test]
fn rma_command_queue_async_events() {
    let mut bench = Async::new(0);
    let mut rng = Random::new("rma_command_queue_async_events");
    for (host, core) in PERIODS {
        for burst in 1..=6 {
            for _ in 0..5 {
                bench.set_periods(&mut rng, host, core);
                // ABORTs only, the coprocessor takes nothing.
                let mut left = burst;
                let mut reason = rng.random_range(0..100);
                let end = bench.now + 2 * bench.crossing() + burst * host;
                while bench.now < end {
                    let write = |_: &mut Random| {
                        reason += 1;
                        (left > 0).then(|| {
                            left -= 1;
                            Write {
                                opcode: Opcode::Abort as u8,
                                data: reason & 0xff,
                            }
                        })
                    };
                    bench.edge(&mut rng, write, |_| (false, false));
                }
                assert!(
                    bench.aborts.is_empty(),
                    "periods {host}/{core}: {burst} ABORTs in a row are lost"
                );
                // Exactly so many commands too many.
                let (before, lost_before) = (bench.overflows, bench.lost);
                let mut left = bench.depth as u64 + 1 + burst;
                let mut number = 0;
                let end = bench.now + (30 + left) * (host + core);
                while bench.now < end {
                    let write = |_: &mut Random| {
                        number += 1;
                        (left > 0).then(|| {
                            left -= 1;
                            Write {
                                opcode: Opcode::XOffset as u8,
                                data: number,
                            }
                        })
                    };
                    bench.edge(&mut rng, write, |_| (false, false));
                }
                assert!(
                    bench.overflows > before,
                    "periods {host}/{core}: {burst} lost writes are not reported"
                );
                let end = bench.now + 40 * host.max(core);
                while bench.now < end {
                    bench.edge(&mut rng, |_| None, |_| (true, true));
                }
                let lost = bench.lost - lost_before + bench.commands.len() as u64;
                assert!(
                    lost > 0 && bench.overflows - before <= lost,
                    "{lost} writes lost"
                );
                bench.commands.clear();
            }
        }
    }
}
