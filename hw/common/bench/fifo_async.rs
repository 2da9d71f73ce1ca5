//! `fifo_async` between two unrelated clocks, driven edge by edge.

use std::collections::VecDeque;

use alcor_hw_bench::{Dut, Pace, Pin, Random, Sink, Source, soak};
use rand::Rng;

use crate::fifo::start;

/// Depths of the dual-clock FIFOs in `common_bench`.
const DEPTHS: [usize; 3] = [4, 8, 16];
/// Edges of the read clock from the edge that accepts a word to the edge that shows the word.
const LATENCY: u64 = 3;

struct Lane {
    source: Source<u64>,
    sink: Sink,
    held: VecDeque<u64>,
    offer: Option<u64>,
    ready: bool,
    sent: u64,
    received: u64,
    /// Read edges since the FIFO received its only word.
    waited: u64,
}

struct Bench {
    dut: Dut,
    wclk: Pin,
    rclk: Pin,
    valid_in: Pin,
    ready_out: Pin,
    data_in: Pin,
    valid_out: Pin,
    ready_in: Pin,
    data_out: Pin,
    lanes: Vec<Lane>,
    now: u64,
    /// Times of the next edges of the write clock and of the read clock: rising, then falling half
    /// a period later.
    next: [u64; 2],
    period: [u64; 2],
    high: [bool; 2],
}

impl Bench {
    fn new() -> Self {
        let dut = start();
        let pin = |name| dut.lanes(name, DEPTHS.len());
        let lane = |_| Lane {
            source: Source::new(Pace::Always),
            sink: Sink::new(Pace::Always),
            held: VecDeque::new(),
            offer: None,
            ready: false,
            sent: 0,
            received: 0,
            waited: 0,
        };
        let mut bench = Self {
            wclk: dut.pin("async_wclk_i"),
            rclk: dut.pin("async_rclk_i"),
            valid_in: pin("async_valid_i"),
            ready_out: pin("async_ready_o"),
            data_in: pin("async_data_i"),
            valid_out: pin("async_valid_o"),
            ready_in: pin("async_ready_i"),
            data_out: pin("async_data_o"),
            lanes: DEPTHS.map(lane).into(),
            now: 0,
            next: [1, 1],
            period: [1_000, 1_000],
            high: [false, false],
            dut,
        };
        let resets = [
            bench.dut.pin("async_wrst_ni"),
            bench.dut.pin("async_rrst_ni"),
        ];
        for value in [0, 1] {
            for reset in resets {
                bench.dut.set(reset, 0, value);
            }
            for _ in 0..4 {
                for (clock, level) in [
                    (bench.wclk, 1),
                    (bench.rclk, 1),
                    (bench.wclk, 0),
                    (bench.rclk, 0),
                ] {
                    bench.dut.set(clock, 0, level);
                    bench.dut.settle();
                }
            }
        }
        bench
    }

    fn set_clocks(&mut self, rng: &mut Random, write: u64, read: u64) {
        self.period = [write, read];
        let phase = rng.random_range(0..read);
        self.next = [self.now + write, self.now + write + phase];
        for (high, clock) in [(0, self.wclk), (1, self.rclk)] {
            self.high[high] = false;
            self.dut.set(clock, 0, 0);
        }
        self.dut.settle();
    }

    /// Advances to the next edge of either clock, or of both clocks when the edges coincide.
    fn edge(&mut self, rng: &mut Random) {
        self.now = self.next[0].min(self.next[1]);
        let mut rising = [false; 2];
        for (at, clock) in [self.wclk, self.rclk].into_iter().enumerate() {
            if self.next[at] == self.now {
                self.high[at] = !self.high[at];
                rising[at] = self.high[at];
                self.dut.set(clock, 0, u64::from(self.high[at]));
                let half = self.period[at] / 2;
                self.next[at] += if self.high[at] {
                    half
                } else {
                    self.period[at] - half
                };
            }
        }
        // The levels before an edge determine the transfers at this edge.
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            let was_empty = lane.held.is_empty();
            if rising[1] {
                let valid = self.dut.get(self.valid_out, at) == 1;
                if valid {
                    let front = *lane.held.front().expect("a word that was never sent");
                    assert_eq!(
                        self.dut.get(self.data_out, at),
                        front,
                        "depth {}, word {}",
                        DEPTHS[at],
                        lane.received
                    );
                    lane.waited = 0;
                    if lane.ready {
                        lane.held.pop_front();
                        lane.received += 1;
                    }
                } else if !was_empty {
                    lane.waited += 1;
                    assert!(
                        lane.waited <= LATENCY,
                        "depth {}: word {} is late",
                        DEPTHS[at],
                        lane.received
                    );
                }
            }
            if rising[0] {
                let ready = self.dut.get(self.ready_out, at) == 1;
                if let Some(word) = lane.source.take(ready) {
                    assert!(
                        lane.held.len() <= DEPTHS[at],
                        "depth {}: taken while full",
                        DEPTHS[at]
                    );
                    lane.held.push_back(word);
                    lane.sent += 1;
                }
            }
        }
        self.dut.settle();
        // The inputs of a side change with its clock.
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            if rising[0] {
                if lane.source.len() < 2 {
                    lane.source.push(u64::from(rng.random::<u32>()));
                }
                lane.offer = lane.source.offer(&mut **rng).copied();
                self.dut
                    .set(self.valid_in, at, u64::from(lane.offer.is_some()));
                self.dut.set(
                    self.data_in,
                    at,
                    lane.offer.unwrap_or_else(|| u64::from(rng.random::<u32>())),
                );
            }
            if rising[1] {
                lane.ready = lane.sink.ready(&mut **rng);
                self.dut.set(self.ready_in, at, u64::from(lane.ready));
            }
        }
        self.dut.settle();
    }

    fn set_pace(&mut self, source: Pace, sink: Pace) {
        for lane in &mut self.lanes {
            lane.source.set_pace(source);
            lane.sink.set_pace(sink);
        }
    }

    fn run_until(&mut self, rng: &mut Random, end: u64) {
        while self.now < end {
            self.edge(rng);
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

#[test]
fn fifo_async_random() {
    let mut rng = Random::new("fifo_async_random");
    let mut bench = Bench::new();
    for (write, read) in PERIODS {
        let slower = write.max(read);
        let paces = [
            (Pace::Always, Pace::Always),
            (Pace::Chance(0.4), Pace::Always),
            (Pace::Always, Pace::Chance(0.4)),
            (
                Pace::Bursts { on: 30, off: 60 },
                Pace::Bursts { on: 30, off: 60 },
            ),
            (Pace::Chance(0.05), Pace::Always),
        ];
        for (source, sink) in paces {
            bench.set_clocks(&mut rng, write, read);
            bench.set_pace(source, sink);
            let end = bench.now + soak(400) * slower;
            bench.run_until(&mut rng, end);
            // The drained FIFO is empty.
            bench.set_pace(Pace::Never, Pace::Always);
            let end = bench.now + 40 * slower;
            bench.run_until(&mut rng, end);
            for (lane, depth) in bench.lanes.iter().zip(DEPTHS) {
                // A pending offer remains, so one more word may be in flight.
                assert!(
                    lane.held.is_empty(),
                    "depth {depth}: {} words stay inside",
                    lane.held.len()
                );
                assert_eq!(lane.sent, lane.received);
            }
        }
    }
    for (lane, depth) in bench.lanes.iter().zip(DEPTHS) {
        assert!(
            lane.received > 3_000,
            "depth {depth} moved only {} words",
            lane.received
        );
    }
}

/// Without reads, the FIFO holds DEPTH words and one more in the output register.
#[test]
fn fifo_async_capacity() {
    let mut rng = Random::new("fifo_async_capacity");
    let mut bench = Bench::new();
    for (write, read) in PERIODS {
        bench.set_clocks(&mut rng, write, read);
        bench.set_pace(Pace::Always, Pace::Never);
        let end = bench.now + 40 * write.max(read);
        bench.run_until(&mut rng, end);
        for (lane, depth) in bench.lanes.iter().zip(DEPTHS) {
            assert_eq!(
                lane.held.len(),
                depth + 1,
                "depth {depth}, periods {write}/{read}"
            );
        }
        bench.set_pace(Pace::Never, Pace::Always);
        let end = bench.now + 40 * write.max(read);
        bench.run_until(&mut rng, end);
    }
}

/// A depth of 8 or more sustains one word per cycle of the slower clock.
#[test]
fn fifo_async_full_rate() {
    let mut rng = Random::new("fifo_async_full_rate");
    let mut bench = Bench::new();
    for (write, read) in PERIODS {
        let slower = write.max(read);
        bench.set_clocks(&mut rng, write, read);
        bench.set_pace(Pace::Always, Pace::Always);
        let end = bench.now + 50 * slower;
        bench.run_until(&mut rng, end);
        let before: Vec<u64> = bench.lanes.iter().map(|lane| lane.received).collect();
        let end = bench.now + 200 * slower;
        bench.run_until(&mut rng, end);
        for ((lane, depth), before) in bench.lanes.iter().zip(DEPTHS).zip(before) {
            let moved = lane.received - before;
            assert!(
                depth < 8 || moved >= 199,
                "depth {depth}, periods {write}/{read}: {moved} words in 200 cycles"
            );
        }
    }
}
