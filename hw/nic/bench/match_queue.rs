//! `match_queue` against a plain list: what is found, by whom, and in how many cycles.

use std::collections::VecDeque;

use alcor_hw_bench::{Dut, Pin, Random, Recipe, soak};
use rand::Rng;
use rand::seq::IndexedRandom;

/// Operations, as `hw/common/rtl/nic_types.svh` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Search,
    Probe,
    Append,
    Remove,
}

/// Match and mask bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Pattern {
    bits: u64,
    mask: u64,
}

#[derive(Debug, Clone, Copy)]
struct Shape {
    depth: usize,
    cells: usize,
    block: usize,
    match_w: usize,
    batch: u64,
    posted: bool,
}

impl Shape {
    const fn new(depth: usize, cells: usize, block: usize, posted: bool) -> Self {
        Self {
            depth,
            cells,
            block,
            match_w: 42,
            batch: 8,
            posted,
        }
    }
}

/// The unit is never used.
const NEVER: u64 = 0xFFFF;
/// Cycles within which an operation is taken, and within which it ends, beside an entry a cycle.
const SLACK: u64 = 80;

/// What became of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Answer {
    found: Option<usize>,
    by_unit: bool,
    /// Cycles from the one in which it was taken to the one with the result.
    cycles: u64,
}

struct Pins {
    threshold: Pin,
    valid: Pin,
    ready: Pin,
    op: [Pin; 4],
    result: [Pin; 4],
    count: Pin,
}

struct Bench {
    dut: Dut,
    pins: Pins,
    shape: Shape,
    /// Oldest first.
    list: VecDeque<(usize, Pattern)>,
    free: Vec<usize>,
    /// Found by the unit, found by walking, not found.
    tally: [u64; 3],
    /// The most cycles that an operation was on offer before it was taken.
    waited: u64,
}

impl Bench {
    fn new(shape: Shape) -> Self {
        let recipe = Recipe::new("match_queue", "match_queue")
            .blocks(&["abi", "common", "alpu", "nic"])
            .param("DEPTH", shape.depth as u64)
            .param("CELLS", shape.cells as u64)
            .param("BLOCK", shape.block as u64)
            .param("MATCH_W", shape.match_w as u64)
            .param("BATCH", shape.batch)
            .param("POSTED", shape.posted.into());
        let mut dut = Dut::start(&recipe);
        let pins = Pins {
            threshold: dut.pin("threshold_i"),
            valid: dut.pin("op_valid_i"),
            ready: dut.pin("op_ready_o"),
            op: ["op_i", "op_match_i", "op_mask_i", "op_entry_i"].map(|name| dut.pin(name)),
            result: [
                "result_valid_o",
                "result_found_o",
                "result_entry_o",
                "result_unit_o",
            ]
            .map(|name| dut.pin(name)),
            count: dut.pin("count_o"),
        };
        dut.set(pins.valid, 0, 0);
        dut.set(pins.threshold, 0, 0);
        dut.reset();
        Self {
            dut,
            pins,
            shape,
            list: VecDeque::new(),
            free: (0..shape.depth).rev().collect(),
            tally: [0; 3],
            waited: 0,
        }
    }

    fn threshold(&mut self, entries: u64) {
        self.dut.set(self.pins.threshold, 0, entries);
    }

    /// Cycles in which nothing is asked for, and nothing comes.
    fn idle(&mut self, cycles: u64) {
        self.dut.set(self.pins.valid, 0, 0);
        for _ in 0..cycles {
            self.dut.settle();
            assert_eq!(self.dut.get(self.pins.result[0], 0), 0, "{}", self.place());
            assert_eq!(
                self.dut.get(self.pins.count, 0),
                self.list.len() as u64,
                "{}",
                self.place()
            );
            self.dut.clock();
        }
    }

    fn place(&self) -> String {
        format!("cycle {}, {:?}", self.dut.cycle(), self.shape)
    }

    /// Offers an operation until it is taken; the cycle in which it was.
    fn offer(&mut self, op: Op, pattern: Pattern, entry: usize) -> u64 {
        let values = [op as u64, pattern.bits, pattern.mask, entry as u64];
        for (pin, value) in self.pins.op.into_iter().zip(values) {
            self.dut.set(pin, 0, value);
        }
        self.dut.set(self.pins.valid, 0, 1);
        let since = self.dut.cycle();
        loop {
            self.dut.settle();
            assert_eq!(self.dut.get(self.pins.result[0], 0), 0, "{}", self.place());
            let taken = self.dut.get(self.pins.ready, 0) == 1;
            let now = self.dut.cycle();
            self.dut.clock();
            if taken {
                self.waited = self.waited.max(now - since);
                self.dut.set(self.pins.valid, 0, 0);
                // The queue has copied the operation.
                for (pin, value) in self.pins.op.into_iter().zip(values) {
                    self.dut.set(pin, 0, !value);
                }
                return now;
            }
            assert!(now - since < SLACK, "{}: {op:?} is not taken", self.place());
        }
    }

    /// The result of what was taken in cycle `since`.
    fn answer(&mut self, since: u64) -> Answer {
        loop {
            self.dut.settle();
            let [valid, found, entry, unit] = self.pins.result.map(|pin| self.dut.get(pin, 0));
            let now = self.dut.cycle();
            if valid == 1 {
                return Answer {
                    found: (found == 1).then_some(entry as usize),
                    by_unit: unit == 1,
                    cycles: now - since,
                };
            }
            let most = SLACK + self.list.len() as u64;
            assert!(now - since < most, "{}: no result", self.place());
            self.dut.clock();
        }
    }

    fn append(&mut self, pattern: Pattern) -> usize {
        let entry = self.free.pop().expect("room");
        self.offer(Op::Append, pattern, entry);
        self.list.push_back((entry, pattern));
        entry
    }

    fn hits(&self, entry: Pattern, request: Pattern) -> bool {
        let mask = match self.shape.posted {
            true => entry.mask,
            false => request.mask,
        };
        (entry.bits ^ request.bits) & !mask & ((1 << self.shape.match_w) - 1) == 0
    }

    fn search(&mut self, op: Op, pattern: Pattern) -> Answer {
        let since = self.offer(op, pattern, 0);
        let place = self
            .list
            .iter()
            .position(|&(_, entry)| self.hits(entry, pattern));
        let expected = place.map(|place| self.list[place].0);
        let answer = self.answer(since);
        assert_eq!(
            answer.found,
            expected,
            "{}: {op:?} {pattern:x?}",
            self.place()
        );
        self.tally[match answer.found {
            Some(_) if answer.by_unit => 0,
            Some(_) => 1,
            None => 2,
        }] += 1;
        if let (Some(place), Op::Search) = (place, op) {
            let gone = self.list.remove(place);
            self.free.extend(gone.map(|(entry, _)| entry));
        }
        self.dut.clock();
        answer
    }

    fn remove(&mut self, place: usize) -> Answer {
        let (entry, _) = self.list[place];
        let since = self.offer(Op::Remove, Pattern::default(), entry);
        let answer = self.answer(since);
        assert_eq!(answer.found, Some(entry), "{}: removal", self.place());
        self.list.remove(place);
        self.free.push(entry);
        self.dut.clock();
        answer
    }
}

/// Random operations find what a list finds, whatever lies in the unit.
fn random(shape: Shape, operations: u64) {
    let mut rng = Random::new("match_queue_random");
    let mut bench = Bench::new(shape);
    let words: Vec<u64> = (0..16).map(|_| rng.random()).collect();
    let pattern = |rng: &mut Random| {
        // Each bit decides alone now and then, and is ignored alone.
        let one = 1 << rng.random_range(0..shape.match_w);
        // Some are asked for often, some seldom.
        let bits = words[rng.random_range(0..16) >> rng.random_range(0..3)];
        Pattern {
            bits: if rng.random_bool(0.2) {
                bits ^ one
            } else {
                bits
            },
            mask: match rng.random_range(0..10) {
                0 if rng.random_bool(0.3) => (1 << shape.match_w) - 1,
                1 => 3,
                2 => one,
                _ => 0,
            },
        }
    };
    // Of each kind of operation, by how full the queue is to be.
    let mut appends = 0.5;
    for number in 0..operations {
        if number % 64 == 0 {
            appends = *[0.2, 0.45, 0.6, 0.9].choose(&mut *rng).expect("some");
            let thresholds = [0, 1, 4, shape.cells as u64, NEVER, NEVER];
            bench.threshold(*thresholds.choose(&mut *rng).expect("some"));
        }
        let some = pattern(&mut rng);
        if rng.random_bool(appends) {
            if !bench.free.is_empty() {
                bench.append(some);
            }
        } else if rng.random_bool(0.2) && !bench.list.is_empty() {
            let place = rng.random_range(0..bench.list.len());
            bench.remove(place);
        } else {
            let op = if rng.random_bool(0.3) {
                Op::Probe
            } else {
                Op::Search
            };
            bench.search(op, some);
        }
        if rng.random_bool(0.3) {
            let cycles = rng.random_range(1..40);
            bench.idle(cycles);
        }
    }
    assert!(
        bench.tally.iter().all(|&some| some > operations / 200),
        "found by the unit, by walking, and not: {:?}",
        bench.tally
    );
}

#[test]
fn match_queue_random() {
    for posted in [true, false] {
        random(Shape { posted, ..SMALL }, soak(20_000));
        random(Shape::new(200, 64, 16, posted), soak(20_000));
        let odd = Shape {
            match_w: 5,
            batch: 1,
            ..Shape::new(7, 2, 2, posted)
        };
        random(odd, soak(20_000));
    }
}

/// Cycles from an operation to its result: what the unit finds, what is walked to, and what is
/// walked to behind the unit; and from one operation to the next.
#[test]
fn match_queue_latency() {
    for posted in [true, false] {
        let mut bench = Bench::new(Shape::new(200, 64, 16, posted));
        let exact = |bits| Pattern { bits, mask: 0 };
        let cycles = |bench: &mut Bench, bits| {
            let answer = bench.search(Op::Probe, exact(bits));
            (answer.found.is_some(), answer.by_unit, answer.cycles)
        };
        assert_eq!(cycles(&mut bench, 1), (false, false, 1), "nothing to walk");
        // The unit never used: an entry a cycle.
        bench.threshold(NEVER);
        for number in 0..100 {
            bench.append(exact(number));
        }
        bench.idle(300);
        for number in [0, 1, 50, 99] {
            assert_eq!(cycles(&mut bench, number), (true, false, 2 + number));
        }
        assert_eq!(cycles(&mut bench, 100), (false, false, 2 + 99));
        // Filled: the same whatever the place, and an entry a cycle behind it.
        bench.threshold(5);
        bench.idle(300);
        for number in [0, 1, 50, 63] {
            assert_eq!(cycles(&mut bench, number), (true, true, 5));
        }
        for number in [64, 65, 99] {
            assert_eq!(cycles(&mut bench, number), (true, false, 6 + number - 64));
        }
        assert_eq!(cycles(&mut bench, 100), (false, false, 6 + 35));
        // The next operation is taken in the cycle behind the result.
        let since = bench.offer(Op::Probe, exact(1), 0);
        let answer = bench.answer(since);
        bench.dut.clock();
        let again = bench.offer(Op::Search, exact(1), 0);
        assert_eq!(again, since + answer.cycles + 1);
        let answer = bench.answer(again);
        bench.dut.clock();
        let next = bench.offer(Op::Probe, exact(2), 0);
        assert_eq!(next, again + answer.cycles + 1);
    }
}

/// Cycles from a removal to its result, with nothing in the unit and with something.
#[test]
fn match_queue_removal() {
    let mut bench = Bench::new(Shape::new(200, 64, 16, true));
    bench.threshold(NEVER);
    for bits in 0..20 {
        bench.append(Pattern { bits, mask: 0 });
    }
    assert_eq!(bench.remove(10).cycles, 2);
    bench.threshold(0);
    bench.idle(100);
    let answer = bench.remove(10);
    assert_eq!((answer.by_unit, answer.cycles), (true, 16 + 7));
}

/// Operations that come without a pause neither keep entries out of the unit nor wait for longer
/// than a batch takes.
#[test]
fn match_queue_fills_under_load() {
    let shape = Shape::new(200, 64, 16, true);
    let mut bench = Bench::new(shape);
    bench.threshold(NEVER);
    for bits in 0..150 {
        bench.append(Pattern { bits, mask: 0 });
    }
    bench.threshold(0);
    let mut by_unit = 0;
    for _ in 0..40 {
        let answer = bench.search(Op::Probe, Pattern { bits: 63, mask: 0 });
        by_unit += u64::from(answer.by_unit);
    }
    assert!(by_unit >= 30, "{by_unit} of 40 found by the unit");
    assert_eq!(bench.waited, shape.batch + 9);
}

/// Small batches of a small unit.
const SMALL: Shape = Shape {
    batch: 3,
    ..Shape::new(40, 8, 4, true)
};
/// Cycles without an operation after which less than a batch goes into the unit.
const PATIENCE: u64 = 15;

/// The cycles in which a queue is not ready while entries go into its unit, by the number of
/// entries and the threshold; and how many are in the unit afterwards.
#[test]
fn match_queue_batches() {
    for posted in [true, false] {
        let shape = Shape { posted, ..SMALL };
        let cells = shape.cells as u64;
        for entries in 0..=12 {
            for threshold in [0, 1, 2, 3, 5, 8, 9, 12, 13, NEVER] {
                let mut bench = Bench::new(shape);
                bench.threshold(NEVER);
                for bits in 0..entries {
                    bench.append(Pattern { bits, mask: 0 });
                }
                bench.threshold(threshold);
                let mut busy = Vec::new();
                for cycle in 0..60 {
                    bench.dut.settle();
                    if bench.dut.get(bench.pins.ready, 0) == 0 {
                        busy.push(cycle);
                    }
                    bench.dut.clock();
                }
                let moves = entries > 0 && entries >= threshold;
                let begin = if entries < shape.batch { PATIENCE } else { 1 };
                let inside = if moves { entries.min(cells) } else { 0 };
                let expected = if moves {
                    begin..begin + inside + 8
                } else {
                    0..0
                };
                assert_eq!(
                    busy,
                    expected.collect::<Vec<u64>>(),
                    "{entries} entries, threshold {threshold}"
                );
                for place in 0..entries {
                    let pattern = Pattern {
                        bits: place,
                        mask: 0,
                    };
                    let answer = bench.search(Op::Probe, pattern);
                    assert_eq!(answer.by_unit, place < inside);
                    let walked = 2 + place - inside.min(place) + if inside > 0 { 4 } else { 0 };
                    assert_eq!(answer.cycles, if answer.by_unit { 5 } else { walked });
                }
            }
        }
    }
}

/// An operation of any length ends a pause: less than a batch goes into the unit 15 cycles behind
/// it.
#[test]
fn match_queue_patience() {
    for (entries, probes) in [(1, 1), (2, 1), (2, 2)] {
        for pause in 0..PATIENCE {
            let mut bench = Bench::new(SMALL);
            bench.threshold(0);
            for bits in 0..entries {
                bench.append(Pattern { bits, mask: 0 });
            }
            bench.idle(pause);
            for _ in 0..probes {
                // It walks to the last entry. The queue is idle again in the cycle of the result.
                let pattern = Pattern {
                    bits: entries - 1,
                    mask: 0,
                };
                assert_eq!(bench.search(Op::Probe, pattern).cycles, 1 + entries);
            }
            for cycle in 1..=PATIENCE {
                bench.dut.settle();
                let ready = bench.dut.get(bench.pins.ready, 0) == 1;
                assert_eq!(
                    ready,
                    cycle < PATIENCE,
                    "cycle {cycle} behind a pause of {pause}"
                );
                bench.dut.clock();
            }
        }
    }
}

/// Operations without a pause: each waits for a batch at most, and the unit is full after the
/// fewest batches.
#[test]
fn match_queue_batches_under_load() {
    for (pause, waits) in [
        (0, [0, 12, 12, 0]),
        (1, [12, 12, 0, 0]),
        (2, [11, 12, 0, 0]),
    ] {
        let mut bench = Bench::new(SMALL);
        bench.threshold(NEVER);
        for bits in 0..20 {
            bench.append(Pattern { bits, mask: 0 });
        }
        bench.threshold(0);
        bench.idle(pause);
        for wait in waits {
            bench.waited = 0;
            bench.search(Op::Probe, Pattern { bits: 19, mask: 0 });
            assert_eq!(bench.waited, wait, "{pause} cycles of pause");
        }
        // An entry of 20 behind 8 in the unit.
        let answer = bench.search(Op::Probe, Pattern { bits: 19, mask: 0 });
        assert_eq!(answer.cycles, 6 + 11);
    }
}
