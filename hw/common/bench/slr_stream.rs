//! `slr_stream`: words arrive once and in order after a fixed number of cycles, whatever both sides
//! do, and a word moves in every cycle.

use std::collections::VecDeque;

use alcor_hw_bench::{Dut, Pace, Random, Sink, Source, soak};
use rand::Rng;

use crate::fifo::start;

/// Registers on each side of the border, of the instances of `common_bench`.
const STAGES: [u64; 2] = [1, 2];

struct Lane {
    stages: u64,
    source: Source<u64>,
    sink: Sink,
    /// Words on the way, each with the cycle in which it was taken.
    way: VecDeque<(u64, u64)>,
    moved: u64,
    /// Cycles in which a word was offered and not taken.
    refused: u64,
    /// Cycles until a word reached an empty sink: the least.
    latency: Option<u64>,
}

struct Bench {
    dut: Dut,
    lanes: Vec<Lane>,
}

impl Bench {
    fn new() -> Self {
        let dut = start();
        let lanes = STAGES
            .map(|stages| Lane {
                stages,
                source: Source::new(Pace::Always),
                sink: Sink::new(Pace::Always),
                way: VecDeque::new(),
                moved: 0,
                refused: 0,
                latency: None,
            })
            .into();
        let mut bench = Self { dut, lanes };
        bench.reset();
        bench
    }

    /// Longer than the words on the way need to arrive, while none is offered.
    fn reset(&mut self) {
        let reset = self.dut.pin("rst_ni");
        let valid = self.dut.lanes("slr_valid_i", STAGES.len());
        for at in 0..STAGES.len() {
            self.dut.set(valid, at, 0);
        }
        self.dut.set(reset, 0, 0);
        for _ in 0..12 {
            self.dut.clock();
        }
        // A side in reset takes no word.
        self.dut.settle();
        let ready = self.dut.lanes("slr_ready_o", STAGES.len());
        for (at, stages) in STAGES.iter().enumerate() {
            assert_eq!(self.dut.get(ready, at), 0, "{stages} stages, in reset");
        }
        self.dut.set(reset, 0, 1);
    }

    fn set_pace(&mut self, source: Pace, sink: Pace) {
        for lane in &mut self.lanes {
            lane.source.set_pace(source);
            lane.sink.set_pace(sink);
        }
    }

    fn cycle(&mut self, rng: &mut Random) {
        let Self { dut, lanes } = self;
        let [valid_in, ready_out, data_in, valid_out, ready_in, data_out] = [
            "slr_valid_i",
            "slr_ready_o",
            "slr_data_i",
            "slr_valid_o",
            "slr_ready_i",
            "slr_data_o",
        ]
        .map(|name| dut.lanes(name, STAGES.len()));
        for (at, lane) in lanes.iter_mut().enumerate() {
            if lane.source.len() < 2 {
                lane.source.push(rng.random::<u32>().into());
            }
            let offer = lane.source.offer(&mut **rng).copied();
            dut.set(valid_in, at, u64::from(offer.is_some()));
            // Data that is not offered is random.
            dut.set(
                data_in,
                at,
                offer.unwrap_or_else(|| rng.random::<u32>().into()),
            );
            dut.set(ready_in, at, u64::from(lane.sink.ready(&mut **rng)));
        }
        dut.settle();
        let now = dut.cycle();
        for (at, lane) in lanes.iter_mut().enumerate() {
            let place = || format!("{} stages, cycle {now}", lane.stages);
            let ready = dut.get(ready_out, at) == 1;
            lane.refused += u64::from(dut.was_set(valid_in, at) && !ready);
            if dut.get(valid_out, at) == 1 {
                let Some(&(word, taken)) = lane.way.front() else {
                    panic!("a word from nowhere, {}", place());
                };
                assert_eq!(dut.get(data_out, at), word, "{}", place());
                let least = 2 * lane.stages + 1;
                assert!(now - taken >= least, "a word is early, {}", place());
                lane.latency = Some(lane.latency.map_or(now - taken, |l| l.min(now - taken)));
                if dut.was_set(ready_in, at) {
                    lane.way.pop_front();
                    lane.moved += 1;
                }
            } else if let Some(&(_, taken)) = lane.way.front() {
                let most = 2 * lane.stages + 1;
                assert!(now - taken < most, "a word is late, {}", place());
            }
            lane.way
                .extend(lane.source.take(ready).map(|word| (word, now)));
        }
        dut.clock();
    }
}

#[test]
fn slr_stream_random() {
    let mut bench = Bench::new();
    let mut rng = Random::new("slr_stream_random");
    let paces = [
        (Pace::Always, Pace::Always),
        (Pace::Always, Pace::Chance(0.3)),
        (Pace::Chance(0.3), Pace::Always),
        (Pace::Chance(0.5), Pace::Chance(0.5)),
        (
            Pace::Bursts { on: 20, off: 20 },
            Pace::Bursts { on: 20, off: 20 },
        ),
        (Pace::Always, Pace::Never),
        (Pace::Never, Pace::Always),
        (Pace::Always, Pace::Bursts { on: 1, off: 30 }),
    ];
    for _ in 0..2 {
        for (source, sink) in paces {
            bench.set_pace(source, sink);
            for _ in 0..soak(1_000) {
                bench.cycle(&mut rng);
            }
        }
        // A reset loses the words on the way.
        bench.reset();
        for lane in &mut bench.lanes {
            lane.way.clear();
            lane.source.clear();
        }
    }
    for lane in &bench.lanes {
        let stages = lane.stages;
        assert!(
            lane.moved > 4_000,
            "{stages} stages: {} words moved",
            lane.moved
        );
        assert!(
            lane.refused > 1_000,
            "{stages} stages: refused {} times",
            lane.refused
        );
        assert_eq!(lane.latency, Some(2 * stages + 1), "{stages} stages");
    }
}

/// A word in every cycle, also after the sink has filled up and while it empties.
#[test]
fn slr_stream_full_rate() {
    let mut bench = Bench::new();
    let mut rng = Random::new("slr_stream_full_rate");
    for stall in [0, 3, 100] {
        bench.set_pace(Pace::Always, Pace::Never);
        for _ in 0..stall {
            bench.cycle(&mut rng);
        }
        bench.set_pace(Pace::Always, Pace::Always);
        // The first word of an empty slice takes its way.
        for _ in 0..10 {
            bench.cycle(&mut rng);
        }
        bench.lanes.iter_mut().for_each(|lane| lane.moved = 0);
        for _ in 0..100 {
            bench.cycle(&mut rng);
        }
        for lane in &bench.lanes {
            assert_eq!(lane.moved, 100, "{} stages, after {stall}", lane.stages);
        }
    }
}
