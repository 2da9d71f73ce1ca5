//! `fifo` and `skid_buffer` against a queue: the model predicts every output in every cycle.

use std::collections::VecDeque;

use alcor_hw_bench::{Dut, Pace, Pin, Random, Recipe, Sink, Source, soak};
use rand::Rng;

/// Width and depth of the FIFOs in `common_bench`. The last three are in block RAM.
const FIFOS: [(u32, usize); 7] = [
    (32, 2),
    (32, 3),
    (1, 5),
    (64, 16),
    (32, 2),
    (33, 130),
    (40, 512),
];
/// Width of the skid buffers in `common_bench`. Each holds two words.
const SKIDS: [u32; 2] = [1, 64];

pub fn start() -> Dut {
    Dut::start(
        &Recipe::new("common", "common_bench")
            .blocks(&["common"])
            .source("common/bench/common_bench.sv"),
    )
}

struct Pins {
    valid_in: Pin,
    ready_out: Pin,
    data_in: Pin,
    valid_out: Pin,
    ready_in: Pin,
    data_out: Pin,
    empty: Pin,
    usage: Option<Pin>,
}

impl Pins {
    fn new(dut: &Dut, block: &str, lanes: usize, usage: bool) -> Self {
        let pin = |name: &str| dut.lanes(&format!("{block}_{name}"), lanes);
        Self {
            valid_in: pin("valid_i"),
            ready_out: pin("ready_o"),
            data_in: pin("data_i"),
            valid_out: pin("valid_o"),
            ready_in: pin("ready_i"),
            data_out: pin("data_o"),
            empty: pin("empty_o"),
            usage: usage.then(|| pin("usage_o")),
        }
    }
}

/// One instance: its two streams and its expected contents.
struct Lane {
    width: u32,
    depth: usize,
    source: Source<u64>,
    sink: Sink,
    held: VecDeque<u64>,
    moved: u64,
}

impl Lane {
    fn new(width: u32, depth: usize) -> Self {
        Self {
            width,
            depth,
            source: Source::new(Pace::Always),
            sink: Sink::new(Pace::Always),
            held: VecDeque::new(),
            moved: 0,
        }
    }

    fn set_pace(&mut self, source: Pace, sink: Pace) {
        self.source.set_pace(source);
        self.sink.set_pace(sink);
    }
}

struct Bench {
    dut: Dut,
    pins: Pins,
    lanes: Vec<Lane>,
}

impl Bench {
    fn new(block: &str, sizes: impl Iterator<Item = (u32, usize)>, usage: bool) -> Self {
        let lanes: Vec<Lane> = sizes
            .map(|(width, depth)| Lane::new(width, depth))
            .collect();
        let mut dut = start();
        let pins = Pins::new(&dut, block, lanes.len(), usage);
        dut.reset();
        Self { dut, pins, lanes }
    }

    fn cycle(&mut self, rng: &mut Random) {
        let Self { dut, pins, lanes } = self;
        for (at, lane) in lanes.iter_mut().enumerate() {
            if lane.source.len() < 2 {
                lane.source
                    .push(rng.random::<u64>() & (u64::MAX >> (64 - lane.width)));
            }
            let offer = lane.source.offer(&mut **rng).copied();
            dut.set(pins.valid_in, at, u64::from(offer.is_some()));
            // Data that is not offered is random.
            dut.set(pins.data_in, at, offer.unwrap_or_else(|| rng.random()));
            dut.set(pins.ready_in, at, u64::from(lane.sink.ready(&mut **rng)));
        }
        dut.settle();
        for (at, lane) in lanes.iter_mut().enumerate() {
            let cycle = dut.cycle();
            let place = || format!("lane {at} (depth {}), cycle {cycle}", lane.depth);
            let (ready, valid) = (
                dut.get(pins.ready_out, at) == 1,
                dut.get(pins.valid_out, at) == 1,
            );
            assert_eq!(ready, lane.held.len() < lane.depth, "ready, {}", place());
            assert_eq!(valid, !lane.held.is_empty(), "valid, {}", place());
            assert_eq!(
                dut.get(pins.empty, at) == 1,
                lane.held.is_empty(),
                "empty, {}",
                place()
            );
            if let Some(usage) = pins.usage {
                assert_eq!(
                    dut.get(usage, at),
                    lane.held.len() as u64,
                    "usage, {}",
                    place()
                );
            }
            if let Some(&front) = lane.held.front() {
                assert_eq!(dut.get(pins.data_out, at), front, "data, {}", place());
            }
            if valid && dut.was_set(pins.ready_in, at) {
                lane.held.pop_front();
                lane.moved += 1;
            }
            lane.held.extend(lane.source.take(ready));
        }
        dut.clock();
    }

    fn cycles(&mut self, rng: &mut Random, cycles: u64) {
        for _ in 0..cycles {
            self.cycle(rng);
        }
    }
}

fn random_traffic(mut bench: Bench, mut rng: Random) {
    let paces = [
        (Pace::Always, Pace::Always),
        (Pace::Always, Pace::Chance(0.3)),
        (Pace::Chance(0.3), Pace::Always),
        (Pace::Chance(0.5), Pace::Chance(0.5)),
        (
            Pace::Bursts { on: 20, off: 20 },
            Pace::Bursts { on: 20, off: 20 },
        ),
        (
            Pace::Bursts { on: 600, off: 600 },
            Pace::Bursts { on: 600, off: 600 },
        ),
        (Pace::Always, Pace::Never),
        (Pace::Never, Pace::Always),
        (Pace::Always, Pace::Bursts { on: 1, off: 2 }),
    ];
    for _ in 0..2 {
        for (source, sink) in paces {
            for lane in &mut bench.lanes {
                lane.set_pace(source, sink);
            }
            bench.cycles(&mut rng, soak(1_000));
        }
        // A reset during traffic empties all queues.
        bench.dut.reset();
        for lane in &mut bench.lanes {
            lane.held.clear();
            lane.source.clear();
        }
    }
    for (at, lane) in bench.lanes.iter().enumerate() {
        assert!(
            lane.moved > 5_000,
            "lane {at} moved only {} words",
            lane.moved
        );
    }
}

/// One word in and one word out in every cycle, for every fill level: the level remains.
fn full_rate(mut bench: Bench, mut rng: Random) {
    let deepest = bench.lanes.iter().map(|lane| lane.depth).max().unwrap_or(0);
    for level in 0..=deepest.min(20) {
        // Fills to the level (or completely), then runs both sides at full rate.
        for lane in &mut bench.lanes {
            lane.set_pace(Pace::Never, Pace::Always);
        }
        bench.cycles(&mut rng, deepest as u64 + 2);
        for lane in &mut bench.lanes {
            lane.set_pace(Pace::Always, Pace::Never);
        }
        bench.cycles(&mut rng, level as u64);
        for lane in &mut bench.lanes {
            lane.set_pace(Pace::Always, Pace::Always);
            lane.moved = 0;
        }
        bench.cycles(&mut rng, 101);
        for (at, lane) in bench.lanes.iter().enumerate() {
            // In an empty queue the first word takes a cycle. Afterwards no cycle is lost.
            let expected = if level == 0 { 100 } else { 101 };
            assert_eq!(
                lane.moved, expected,
                "lane {at} (depth {}) from level {level}",
                lane.depth
            );
        }
    }
}

#[test]
fn fifo_random() {
    random_traffic(
        Bench::new("fifo", FIFOS.into_iter(), true),
        Random::new("fifo_random"),
    );
}

#[test]
fn fifo_full_rate() {
    full_rate(
        Bench::new("fifo", FIFOS.into_iter(), true),
        Random::new("fifo_full_rate"),
    );
}

#[test]
fn skid_buffer_random() {
    random_traffic(
        Bench::new("skid", SKIDS.map(|width| (width, 2)).into_iter(), false),
        Random::new("skid_random"),
    );
}

#[test]
fn skid_buffer_full_rate() {
    full_rate(
        Bench::new("skid", SKIDS.map(|width| (width, 2)).into_iter(), false),
        Random::new("skid_full_rate"),
    );
}
