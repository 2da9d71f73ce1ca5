//! `match_queue` against a list: the entry found, the part that finds it, and the number of cycles.

use std::collections::VecDeque;

use alcor_hw_bench::{Dut, Pin, Random, Recipe, soak};
use rand::Rng;
use rand::seq::IndexedRandom;

/// Operations, as in `hw/common/rtl/nic_types.svh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Search,
    Probe,
    Append,
    Remove,
}

/// Match bits and mask bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Pattern {
    bits: u64,
    mask: u64,
}

/// Values of the pins of an operation. The queue does not use the match bits of the other kind of operation: they are
/// inverted.
fn operation(op: Op, pattern: Pattern, entry: usize, tag: u64) -> [u64; 6] {
    let (searched, appended) = if op == Op::Append {
        (!pattern.bits, pattern.bits)
    } else {
        (pattern.bits, !pattern.bits)
    };
    [
        op as u64,
        searched,
        appended,
        pattern.mask,
        entry as u64,
        tag,
    ]
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

/// Threshold at which the unit is never used.
const NEVER: u64 = 0xFFFF;
/// Maximum number of cycles until an operation is accepted, and until it ends, in addition to one
/// cycle for each entry.
const SLACK: u64 = 80;

/// Result of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Answer {
    found: Option<usize>,
    by_unit: bool,
    /// Cycles from acceptance to the result.
    cycles: u64,
}

struct Pins {
    threshold: Pin,
    valid: Pin,
    ready: Pin,
    op: [Pin; 6],
    result: [Pin; 5],
    taken: Pin,
    count: Pin,
}

struct Bench {
    dut: Dut,
    pins: Pins,
    shape: Shape,
    /// Entries, oldest first.
    list: VecDeque<(usize, Pattern)>,
    free: Vec<usize>,
    /// Number of entries found by the unit, found by walking, and not found.
    tally: [u64; 3],
    /// Maximum number of cycles that an operation was offered before acceptance.
    waited: u64,
    /// Tag of the last operation.
    tag: u64,
}

impl Bench {
    fn new(shape: Shape) -> Self {
        let recipe = Recipe::new("match_queue", "match_queue")
            .blocks(&["abi", "common", "alpu", "match", "nic"])
            .param("DEPTH", shape.depth as u64)
            .param("CELLS", shape.cells as u64)
            .param("BLOCK", shape.block as u64)
            .param("MATCH_W", shape.match_w as u64)
            .param("BATCH", shape.batch)
            .param("POSTED", shape.posted.into());
        let dut = Dut::start(&recipe);
        let pins = Pins {
            threshold: dut.pin("threshold_i"),
            valid: dut.pin("op_valid_i"),
            ready: dut.pin("op_ready_o"),
            op: [
                "op_i",
                "op_match_i",
                "append_match_i",
                "op_mask_i",
                "op_entry_i",
                "op_tag_i",
            ]
            .map(|name| dut.pin(name)),
            result: [
                "result_valid_o",
                "result_found_o",
                "result_entry_o",
                "result_unit_o",
                "result_tag_o",
            ]
            .map(|name| dut.pin(name)),
            taken: dut.pin("result_ready_i"),
            count: dut.pin("count_o"),
        };
        let mut bench = Self {
            dut,
            pins,
            shape,
            list: VecDeque::new(),
            free: Vec::new(),
            tally: [0; 3],
            waited: 0,
            tag: 0,
        };
        bench.reset();
        bench
    }

    /// A reset empties the queue.
    fn reset(&mut self) {
        self.dut.set(self.pins.valid, 0, 0);
        self.dut.set(self.pins.taken, 0, 1);
        self.threshold(0);
        self.dut.reset();
        self.list.clear();
        self.free = (0..self.shape.depth).rev().collect();
    }

    fn threshold(&mut self, entries: u64) {
        self.dut.set(self.pins.threshold, 0, entries);
    }

    /// Cycles without an operation. No result may appear.
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

    /// Offers an operation until it is accepted. Returns the cycle of acceptance.
    fn offer(&mut self, op: Op, pattern: Pattern, entry: usize) -> u64 {
        self.tag = self.next_tag();
        let values = operation(op, pattern, entry, self.tag);
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

    /// A tag that differs from the last one in many bits; tags are as wide as entries.
    fn next_tag(&self) -> u64 {
        let tags = (self.shape.depth as u64).next_power_of_two();
        (self.tag * 5 + 3) % tags
    }

    /// Result of the operation accepted in cycle `since`.
    fn answer(&mut self, since: u64) -> Answer {
        loop {
            self.dut.settle();
            let [valid, found, entry, unit, tag] = self.pins.result.map(|pin| self.dut.get(pin, 0));
            let now = self.dut.cycle();
            if valid == 1 {
                assert_eq!(tag, self.tag, "{}: tag", self.place());
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

    /// Operations that are always offered, with results that are always taken: the cycles from each
    /// operation to the next one. Searches that find an entry are not in the list afterwards.
    fn gaps(&mut self, operations: &[(Op, u64)]) -> Vec<u64> {
        let mut taken = Vec::new();
        while taken.len() < operations.len() {
            let (op, bits) = operations[taken.len()];
            let values = operation(op, Pattern { bits, mask: 0 }, 0, 0);
            for (pin, value) in self.pins.op.into_iter().zip(values) {
                self.dut.set(pin, 0, value);
            }
            self.dut.set(self.pins.valid, 0, 1);
            self.dut.settle();
            if self.dut.get(self.pins.ready, 0) == 1 {
                taken.push(self.dut.cycle());
                if op == Op::Search
                    && let Some(at) = self.list.iter().position(|(_, entry)| entry.bits == bits)
                {
                    let gone = self.list.remove(at);
                    self.free.extend(gone.map(|(entry, _)| entry));
                }
            }
            self.dut.clock();
            assert!(self.dut.cycle() < 10_000, "{}", self.place());
        }
        self.dut.set(self.pins.valid, 0, 0);
        taken.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// Cycles from now on in which the queue is not ready for an operation, of `cycles`.
    fn busy(&mut self, cycles: u64) -> Vec<u64> {
        let mut busy = Vec::new();
        for cycle in 0..cycles {
            self.dut.settle();
            if self.dut.get(self.pins.ready, 0) == 0 {
                busy.push(cycle);
            }
            self.dut.clock();
        }
        busy
    }

    /// Appends entries with match bits 0, 1, ... none of which moves into the unit.
    fn fill(&mut self, entries: u64) {
        self.threshold(NEVER);
        for bits in 0..entries {
            self.append(Pattern { bits, mask: 0 });
        }
    }

    fn append(&mut self, pattern: Pattern) -> usize {
        let entry = self.free.pop().expect("room");
        self.offer(Op::Append, pattern, entry);
        self.list.push_back((entry, pattern));
        entry
    }

    fn hits(&self, entry: Pattern, request: Pattern) -> bool {
        let mask = if self.shape.posted {
            entry.mask
        } else {
            request.mask
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

/// Random operations find the same entries as a list, for any contents of the unit.
fn random(shape: Shape, operations: u64) {
    let mut rng = Random::new("match_queue_random");
    let mut bench = Bench::new(shape);
    let words: Vec<u64> = (0..16).map(|_| rng.random()).collect();
    let pattern = |rng: &mut Random| {
        // Single bits decide, and single bits are ignored.
        let one = 1 << rng.random_range(0..shape.match_w);
        // Some patterns are frequent, some rare.
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
    // Probabilities of each kind of operation depend on the intended fill level.
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
    random(SMALL, soak(20_000));
}

#[test]
fn match_queue_random_shapes() {
    let unexpected = Shape {
        posted: false,
        ..SMALL
    };
    random(unexpected, soak(20_000));
    for posted in [true, false] {
        random(Shape::new(200, 64, 16, posted), soak(20_000));
        let odd = Shape {
            match_w: 5,
            batch: 1,
            ..Shape::new(7, 2, 2, posted)
        };
        random(odd, soak(20_000));
    }
}

/// Cycles from an operation to its result: for entries found by the unit, found by walking, and
/// found by the walk after the unit. Also cycles from one operation to the next.
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
        // Without the unit: one entry per cycle.
        bench.threshold(NEVER);
        for number in 0..100 {
            bench.append(exact(number));
        }
        bench.idle(300);
        for number in [0, 1, 50, 99] {
            assert_eq!(cycles(&mut bench, number), (true, false, 2 + number));
        }
        assert_eq!(cycles(&mut bench, 100), (false, false, 2 + 99));
        // With a full unit: constant time in the unit, and one entry per cycle behind it.
        bench.threshold(5);
        bench.idle(300);
        for number in [0, 1, 50, 63] {
            assert_eq!(cycles(&mut bench, number), (true, true, 5));
        }
        for number in [64, 65, 99] {
            assert_eq!(cycles(&mut bench, number), (true, false, 6 + number - 64));
        }
        assert_eq!(cycles(&mut bench, 100), (false, false, 6 + 35));
        // The next operation is accepted in the cycle after the result.
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

/// Cycles from a removal to its result, with an empty unit and with entries in the unit.
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
    // An empty unit of any size is not asked: no answer of it meets a later operation.
    for posted in [true, false] {
        let mut bench = Bench::new(Shape { posted, ..SMALL });
        bench.fill(20);
        for place in [19, 7, 0] {
            assert_eq!(bench.remove(place).cycles, 2);
            bench.idle(30);
        }
    }
}

/// A walk takes one cycle for each entry, at any length of the list.
#[test]
fn match_queue_walk_lengths() {
    let mut bench = Bench::new(SMALL);
    bench.threshold(NEVER);
    for entries in 1..=SMALL.depth as u64 {
        let last = Pattern {
            bits: entries,
            mask: 0,
        };
        bench.append(last);
        assert_eq!(bench.search(Op::Probe, last).cycles, entries + 1);
        let nothing = Pattern { bits: 0, mask: 0 };
        assert_eq!(bench.search(Op::Probe, nothing).cycles, entries + 1);
    }
}

/// Each match bit alone decides, and each mask bit hides its match bit alone, in the unit and in a
/// walk.
#[test]
fn match_queue_bits() {
    for posted in [true, false] {
        for threshold in [NEVER, 0] {
            let mut bench = Bench::new(Shape { posted, ..SMALL });
            bench.threshold(threshold);
            for masked in 0..SMALL.match_w {
                let mask = 1 << masked;
                bench.append(Pattern {
                    bits: 0x155_5555_5555,
                    mask,
                });
                bench.idle(30);
                for flipped in 0..SMALL.match_w {
                    let bits = 0x155_5555_5555 ^ 1 << flipped;
                    let answer = bench.search(Op::Probe, Pattern { bits, mask });
                    assert_eq!(answer.found.is_some(), flipped == masked);
                    let both = bits ^ mask;
                    bench.search(Op::Probe, Pattern { bits: both, mask });
                }
                bench.remove(0);
            }
        }
    }
}

/// An operation is taken in the cycle of the result before it: of a search in an empty queue, of a
/// probe in the unit, of a probe by a walk.
#[test]
fn match_queue_probe_rate() {
    for posted in [true, false] {
        let mut bench = Bench::new(Shape { posted, ..SMALL });
        let nothing = bench.gaps(&[(Op::Search, 1), (Op::Probe, 1), (Op::Search, 1)]);
        assert_eq!(nothing, [1, 1]);
        bench.dut.clock();
        bench.fill(20);
        let probes = [0, 5, 19, 20, 3].map(|bits| (Op::Probe, bits));
        assert_eq!(bench.gaps(&probes), [2, 7, 21, 21]);
        bench.busy(40);
        bench.threshold(0);
        bench.idle(100);
        let probes = [0, 5, 7, 8, 19, 20, 3].map(|bits| (Op::Probe, bits));
        assert_eq!(bench.gaps(&probes), [5, 5, 5, 6, 17, 17]);
    }
}

/// Searches without a pause in a queue that is longer than the unit: a batch begins before the next
/// search as soon as a batch of cells is free.
#[test]
fn match_queue_batches_between_searches() {
    for posted in [true, false] {
        let mut bench = Bench::new(Shape { posted, ..SMALL });
        bench.fill(40);
        bench.threshold(0);
        bench.idle(100);
        let searches: Vec<_> = (0..24).map(|bits| (Op::Search, bits)).collect();
        let gaps = bench.gaps(&searches);
        // The search after the one that frees the third cell is taken before the batch. It ends after
        // 6 cycles, and 4 entries move in 8 + 4 cycles.
        for (number, gap) in gaps.into_iter().enumerate() {
            let expected = if number % 4 == 3 { 6 + 8 + 4 } else { 4 };
            assert_eq!(gap, expected, "after search {number}");
        }
    }
}

/// A result that waits lets one batch pass, not more: an operation that is offered has its turn.
#[test]
fn match_queue_turn_of_a_waiting_operation() {
    for held in 20..60 {
        let mut bench = Bench::new(SMALL);
        bench.fill(20);
        bench.dut.set(bench.pins.taken, 0, 0);
        let since = bench.offer(Op::Probe, Pattern { bits: 0, mask: 0 }, 0);
        assert_eq!(bench.answer(since).found, Some(bench.list[0].0));
        bench.threshold(0);
        let values = operation(Op::Probe, Pattern { bits: 7, mask: 0 }, 0, bench.tag);
        for (pin, value) in bench.pins.op.into_iter().zip(values) {
            bench.dut.set(pin, 0, value);
        }
        bench.dut.set(bench.pins.valid, 0, 1);
        assert_eq!(bench.busy(held).len() as u64, held, "the result waits");
        bench.dut.set(bench.pins.taken, 0, 1);
        bench.dut.settle();
        assert_eq!(bench.dut.get(bench.pins.ready, 0), 1, "held for {held}");
        let since = bench.dut.cycle();
        bench.dut.clock();
        bench.dut.set(bench.pins.valid, 0, 0);
        let answer = bench.answer(since);
        // A batch of 3 entries, and the one that was on its way.
        assert!(!answer.by_unit, "held for {held}");
        assert_eq!(answer.cycles, 6 + 3);
    }
}

/// A threshold that falls during a pause: entries move into the unit at once if the pause is long
/// enough, otherwise at its end.
#[test]
fn match_queue_threshold_falls() {
    for entries in [1, 2] {
        for pause in 0..60 {
            let mut bench = Bench::new(SMALL);
            bench.fill(entries);
            bench.idle(pause);
            bench.threshold(0);
            let begin = PATIENCE.saturating_sub(pause).max(1);
            let busy = begin..begin + entries + 8;
            assert_eq!(bench.busy(60), busy.collect::<Vec<u64>>(), "pause {pause}");
        }
    }
}

/// A batch right behind an operation by a walk takes as long as any other.
#[test]
fn match_queue_batch_behind_a_walk() {
    for op in [Op::Probe, Op::Search] {
        for place in 0..12 {
            let mut bench = Bench::new(SMALL);
            bench.fill(20);
            bench.threshold(0);
            let since = bench.offer(
                op,
                Pattern {
                    bits: place,
                    mask: 0,
                },
                0,
            );
            let walk = bench.dut.cycle() - since + place + u64::from(op == Op::Search);
            let busy: Vec<u64> = (0..walk + 8 + SMALL.cells as u64).collect();
            assert_eq!(bench.busy(60), busy, "{op:?} {place}");
        }
    }
}

/// Continuous operations neither keep entries out of the unit nor wait longer than the transfer of
/// a batch.
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
        let answer = bench.search(Op::Probe, Pattern { bits: 55, mask: 0 });
        by_unit += u64::from(answer.by_unit);
    }
    assert!(by_unit >= 30, "{by_unit} of 40 found by the unit");
    assert_eq!(bench.waited, shape.batch + 8);
}

/// A small unit with small batches.
const SMALL: Shape = Shape {
    batch: 3,
    ..Shape::new(40, 8, 4, true)
};
/// Number of cycles without an operation after which less than a batch moves into the unit.
const PATIENCE: u64 = 15;

/// The cycles in which a queue is not ready while entries move into the unit, by number of entries
/// and threshold; and the number of entries in the unit afterwards.
#[test]
fn match_queue_batches() {
    for posted in [true, false] {
        let shape = Shape { posted, ..SMALL };
        let cells = shape.cells as u64;
        for entries in 0..=12 {
            // A threshold of one high bit, or of all bits but one, is above each length.
            let high = 1 << (4 + entries % 12);
            for threshold in [0, 1, 2, 3, 5, 8, 9, 12, 13, high, NEVER ^ high, NEVER] {
                let mut bench = Bench::new(shape);
                bench.threshold(NEVER);
                for bits in 0..entries {
                    bench.append(Pattern { bits, mask: 0 });
                }
                bench.threshold(threshold);
                let busy = bench.busy(60);
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

/// Any operation ends a pause. Less than a batch moves into the unit 15 cycles after the operation.
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
                // The operation walks to the last entry. The queue is idle again in the cycle of
                // the result.
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

/// Continuous operations: each waits for one batch at most, and the unit is full after the minimum
/// number of batches.
#[test]
fn match_queue_batches_under_load() {
    for (pause, waits) in [
        (0, [0, 11, 11, 0]),
        (1, [12, 11, 0, 0]),
        (2, [11, 11, 0, 0]),
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
        // One of 20 entries behind 8 entries in the unit.
        let answer = bench.search(Op::Probe, Pattern { bits: 19, mask: 0 });
        assert_eq!(answer.cycles, 6 + 11);
    }
}

/// An operation ends a batch that has moved enough entries already. Entry `n` moves in cycle 7 + n,
/// and the queue is ready 2 cycles after the last one.
#[test]
fn match_queue_batch_ends_for_an_operation() {
    for pause in 1..24u64 {
        let mut bench = Bench::new(SMALL);
        bench.threshold(NEVER);
        for bits in 0..20 {
            bench.append(Pattern { bits, mask: 0 });
        }
        bench.threshold(0);
        bench.idle(pause);
        let moved = pause
            .saturating_sub(7)
            .clamp(SMALL.batch + 1, SMALL.cells as u64);
        bench.search(Op::Probe, Pattern { bits: 19, mask: 0 });
        let expected = (7 + moved + 2).saturating_sub(pause);
        assert_eq!(bench.waited, expected, "{pause} cycles of pause");
        let answer = bench.search(
            Op::Probe,
            Pattern {
                bits: moved - 1,
                mask: 0,
            },
        );
        assert!(answer.by_unit, "{pause} cycles of pause: {moved} moved");
    }
}

/// Searches in a full unit wait for a batch once as many cells are free as a batch has entries, or
/// half of the cells.
#[test]
fn match_queue_batches_of_free_cells() {
    for (batch, free) in [(1, 1), (3, 3), (6, 4)] {
        let mut bench = Bench::new(Shape { batch, ..SMALL });
        bench.threshold(NEVER);
        for bits in 0..40 {
            bench.append(Pattern { bits, mask: 0 });
        }
        bench.threshold(0);
        bench.idle(100);
        bench.waited = 0;
        for bits in 0..24 {
            assert!(
                bench.search(Op::Search, Pattern { bits, mask: 0 }).by_unit,
                "{bits}"
            );
            // The search after the one that frees the last of the cells is taken before the batch.
            let waits = bits > 0 && bits % (free + 1) == 0;
            assert_eq!(bench.waited > 0, waits, "batch {batch}, search {bits}");
            bench.waited = 0;
        }
    }
}

/// Operations that are always offered, with results that wait: each result is that of a list, in
/// the order of the operations.
#[test]
fn match_queue_stream() {
    for posted in [true, false] {
        let shape = Shape { posted, ..SMALL };
        let mut rng = Random::new("match_queue_stream");
        let mut bench = Bench::new(shape);
        let mut tally = [0u64; 3];
        for round in 0..soak(400) {
            let threshold = [0, 0, 4, NEVER][rng.random_range(0..4)];
            bench.threshold(threshold);
            let patterns = rng.random_range(1..8);
            let searches = [0.3, 0.6, 0.9][rng.random_range(0..3)];
            let taken = if round % 2 == 0 { 1.0 } else { 0.2 };
            let mut expected = VecDeque::new();
            let mut next: Option<(Op, Pattern, usize)> = None;
            // Every other round ends with a reset, amid the operations.
            let last = if round / 2 % 2 == 0 {
                400
            } else {
                rng.random_range(1..300)
            };
            for cycle in 0..last {
                let some = Pattern {
                    bits: rng.random_range(0..patterns),
                    mask: u64::from(rng.random_bool(0.1)),
                };
                let ends = cycle >= 300;
                if next.is_none() && !ends {
                    bench.tag = bench.next_tag();
                    // Results that are not taken yet may free entries.
                    let draw = rng.random::<f64>();
                    next = if draw < searches {
                        Some((Op::Search, some, 0))
                    } else if draw < searches + 0.05 {
                        Some((Op::Probe, some, 0))
                    } else if draw < searches + 0.1 && !bench.list.is_empty() {
                        let place = rng.random_range(0..bench.list.len());
                        Some((Op::Remove, some, bench.list[place].0))
                    } else {
                        bench.free.pop().map(|entry| (Op::Append, some, entry))
                    };
                }
                let (op, pattern, entry) = next.unwrap_or((Op::Search, some, 0));
                let values = operation(op, pattern, entry, bench.tag);
                for (pin, value) in bench.pins.op.into_iter().zip(values) {
                    bench.dut.set(pin, 0, value);
                }
                bench.dut.set(bench.pins.valid, 0, next.is_some().into());
                let ready = ends || rng.random_bool(taken);
                bench.dut.set(bench.pins.taken, 0, ready.into());
                bench.dut.settle();
                let place = bench.place();
                let [valid, found, found_entry, unit, tag] =
                    bench.pins.result.map(|pin| bench.dut.get(pin, 0));
                if valid == 1 && ready {
                    let answer = (found == 1).then_some(found_entry as usize);
                    assert_eq!(expected.pop_front(), Some((answer, tag)), "{place}");
                    tally[match answer {
                        Some(_) if unit == 1 => 0,
                        Some(_) => 1,
                        None => 2,
                    }] += 1;
                }
                if next.is_some() && bench.dut.get(bench.pins.ready, 0) == 1 {
                    next = None;
                    match op {
                        Op::Append => bench.list.push_back((entry, pattern)),
                        Op::Remove => {
                            bench.list.retain(|&(at, _)| at != entry);
                            bench.free.push(entry);
                            expected.push_back((Some(entry), bench.tag));
                        }
                        Op::Search | Op::Probe => {
                            let hit = bench
                                .list
                                .iter()
                                .position(|&(_, entry)| bench.hits(entry, pattern));
                            expected.push_back((hit.map(|hit| bench.list[hit].0), bench.tag));
                            if let (Some(hit), Op::Search) = (hit, op) {
                                let gone = bench.list.remove(hit);
                                bench.free.extend(gone.map(|(entry, _)| entry));
                            }
                        }
                    }
                }
                bench.dut.clock();
            }
            bench.dut.settle();
            if last < 400 {
                bench.reset();
                continue;
            }
            assert!(expected.is_empty() && next.is_none(), "{}", bench.place());
            assert_eq!(
                bench.dut.get(bench.pins.count, 0),
                bench.list.len() as u64,
                "{}",
                bench.place()
            );
        }
        assert!(tally.iter().all(|&some| some > 1_000), "{tally:?}");
    }
}

/// Searches in the unit follow each other every fourth cycle.
fn rate(shape: Shape, entries: u64) {
    let mut bench = Bench::new(shape);
    bench.threshold(0);
    for bits in 0..entries {
        bench.append(Pattern { bits, mask: 0 });
    }
    bench.idle(300);
    let mut taken = Vec::new();
    let mut results = 0;
    while results < entries {
        // Out of order, so that entries leave from the middle.
        let bits = (taken.len() as u64 * 7) % entries;
        let values = operation(Op::Search, Pattern { bits, mask: 0 }, 0, 0);
        for (pin, value) in bench.pins.op.into_iter().zip(values) {
            bench.dut.set(pin, 0, value);
        }
        let valid = taken.len() < entries as usize;
        bench.dut.set(bench.pins.valid, 0, valid.into());
        bench.dut.settle();
        results += bench.dut.get(bench.pins.result[1], 0) * bench.dut.get(bench.pins.result[0], 0);
        if valid && bench.dut.get(bench.pins.ready, 0) == 1 {
            taken.push(bench.dut.cycle());
        }
        bench.dut.clock();
        assert!(bench.dut.cycle() < 10_000, "{}", bench.place());
    }
    assert!(
        taken.windows(2).all(|pair| pair[1] - pair[0] == 4),
        "{taken:?}"
    );
}

#[test]
fn match_queue_rate() {
    for posted in [true, false] {
        rate(Shape::new(200, 64, 16, posted), 60);
        rate(Shape { posted, ..SMALL }, SMALL.cells as u64);
    }
}
