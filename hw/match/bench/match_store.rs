//! `match_store` against a model of MPI matching for each queue pair: a list of posted receives and
//! a list of unexpected messages, which know nothing but their order.

use std::collections::VecDeque;

use alcor_hw_bench::{Dut, Pin, Random, Recipe, soak};
use rand::Rng;

/// Operations, as `match_kind_t` of the hardware: posted, by id, keep, append.
const MESSAGE: Kind = Kind(0b1001);
const RECEIVE: Kind = Kind(0b0001);
const PROBE: Kind = Kind(0b0010);
const TAKE: Kind = Kind(0b0000);
const CANCEL: Kind = Kind(0b1100);
const DRAIN: Kind = Kind(0b1000);
/// Looks for a posted receive, and leaves it.
const LOOK: Kind = Kind(0b1010);
const KINDS: [Kind; 6] = [MESSAGE, RECEIVE, PROBE, TAKE, CANCEL, DRAIN];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind(u64);

impl Kind {
    /// Index of the queue that the operation searches: 1 has posted receives.
    fn searched(self) -> usize {
        usize::from(self.0 & 8 != 0)
    }

    fn by_id(self) -> bool {
        self.0 & 4 != 0
    }

    fn keeps(self) -> bool {
        self.0 & 2 != 0
    }

    fn appends(self) -> bool {
        self.0 & 1 != 0
    }
}

/// Outcomes, as `match_status_e` of the hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    None,
    Found,
    Appended,
    Refused,
    Key,
}

const STATUSES: [Status; 5] = [
    Status::None,
    Status::Found,
    Status::Appended,
    Status::Refused,
    Status::Key,
];

#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    lanes: usize,
    entries: usize,
    pairs: usize,
    contexts: usize,
    ahead: usize,
    burst: usize,
    ports: usize,
    match_w: usize,
    age_w: usize,
}

impl Shape {
    const fn new(lanes: usize, entries: usize, pairs: usize) -> Self {
        Self {
            lanes,
            entries,
            pairs,
            contexts: 16,
            ahead: 2,
            burst: 4,
            ports: 2,
            match_w: 72,
            age_w: 56,
        }
    }

    /// Eight lanes and eight queue pairs, for a timing diagram.
    pub(crate) fn example() -> Recipe {
        Self::new(8, 8, 8).recipe()
    }

    fn recipe(&self) -> Recipe {
        Recipe::new("match_store", "match_store")
            .blocks(&["abi", "common", "match"])
            .param("LANES", self.lanes as u64)
            .param("ENTRIES", self.entries as u64)
            .param("PAIRS", self.pairs as u64)
            .param("CONTEXTS", self.contexts as u64)
            .param("AHEAD", self.ahead as u64)
            .param("BURST", self.burst as u64)
            .param("PORTS", self.ports as u64)
            .param("MATCH_W", self.match_w as u64)
            .param("AGE_W", self.age_w as u64)
    }

    fn headers(&self) -> usize {
        self.lanes * self.entries
    }

    fn all_bits(&self) -> u128 {
        (1 << self.match_w) - 1
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Descriptor {
    source_mask: u128,
    tag_mask: u128,
    key: u64,
    /// Maximum numbers of unexpected messages and of posted receives.
    limits: [usize; 2],
    attr: u64,
}

#[derive(Debug, Clone, Copy)]
struct Op {
    kind: Kind,
    pair: usize,
    key: u64,
    any_source: bool,
    any_tag: bool,
    bits: u128,
    mask: u128,
    id: u64,
}

impl Op {
    fn new(kind: Kind, pair: usize, bits: u128, id: u64) -> Self {
        Self {
            kind,
            pair,
            key: 0,
            any_source: false,
            any_tag: false,
            bits,
            mask: 0,
            id,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Header {
    bits: u128,
    mask: u128,
    id: u64,
    /// Number of appends to the store before this one.
    age: u64,
}

/// An operation under way, with the values that it has read from the descriptor.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    op: Op,
    port: usize,
    mask: u128,
    denied: bool,
    taken: u64,
}

#[derive(Debug, Clone, Default)]
struct Pair {
    descriptor: Descriptor,
    /// Earlier descriptors, with the cycles of the writes that replaced them; the last first.
    before: VecDeque<(Descriptor, u64)>,
    /// Unexpected messages and posted receives, oldest first.
    queues: [VecDeque<Header>; 2],
    stopped: bool,
    under_way: VecDeque<UnderWay>,
}

#[derive(Debug, Clone, Copy)]
struct Outcome {
    op: Op,
    status: Status,
    found: u64,
    /// Cycles from acceptance to the result.
    cycles: u64,
    /// Place of the entry found, from 1 on.
    place: usize,
}

struct Pins {
    valid: Pin,
    ready: Pin,
    kind: Pin,
    pair: Pin,
    key: Pin,
    wild: Pin,
    bits: Pin,
    mask: Pin,
    id: Pin,
    result: [Pin; 7],
    taken: Pin,
    write: [Pin; 7],
    source_mask: Pin,
    tag_mask: Pin,
    stopped: Pin,
    look: Pin,
    counts: Pin,
    compares: Pin,
    is_ready: Pin,
    idle: Pin,
}

struct Bench {
    dut: Dut,
    pins: Pins,
    shape: Shape,
    pairs: Vec<Pair>,
    /// By port: the operation on offer.
    offers: Vec<Option<Op>>,
    /// Headers in the store, and appends so far.
    used: usize,
    appends: u64,
    /// A result is on offer and has been compared.
    seen: bool,
    accept: bool,
    /// Pair that is resumed in this cycle, and descriptor that is written in this cycle.
    resume: Option<usize>,
    /// Pair that was resumed in the last cycle.
    resumed: Option<usize>,
    write: Option<(usize, Descriptor)>,
    looked: usize,
    /// Entries compared.
    compared: u64,
    outcomes: Vec<Outcome>,
    /// By kind and status: number of results.
    tally: [[u64; 5]; 16],
    /// Maximum number of operations under way, and of pairs with an operation under way.
    most: [usize; 2],
}

impl Bench {
    fn new(shape: Shape) -> Self {
        let dut = Dut::start(&shape.recipe());
        let ports = shape.ports;
        let pins = Pins {
            valid: dut.lanes("op_valid_i", ports),
            ready: dut.lanes("op_ready_o", ports),
            kind: dut.lanes("op_kind_i", ports),
            pair: dut.lanes("op_pair_i", ports),
            key: dut.lanes("op_key_i", ports),
            wild: dut.lanes("op_wild_i", ports),
            // Match words in two halves: a lane has up to 64 bits.
            bits: dut.lanes("op_match_i", 2 * ports),
            mask: dut.lanes("op_mask_i", 2 * ports),
            id: dut.lanes("op_id_i", ports),
            result: [
                "result_valid_o",
                "result_status_o",
                "result_port_o",
                "result_pair_o",
                "result_attr_o",
                "result_id_o",
                "result_found_o",
            ]
            .map(|name| dut.pin(name)),
            taken: dut.pin("result_ready_i"),
            write: [
                "descriptor_write_i",
                "descriptor_pair_i",
                "descriptor_key_i",
                "descriptor_posted_limit_i",
                "descriptor_unexpected_limit_i",
                "descriptor_attr_i",
                "resume_i",
            ]
            .map(|name| dut.pin(name)),
            source_mask: dut.lanes("descriptor_source_mask_i", 2),
            tag_mask: dut.lanes("descriptor_tag_mask_i", 2),
            stopped: dut.lanes("stopped_o", shape.pairs),
            look: dut.pin("look_pair_i"),
            counts: dut.lanes("look_counts_o", 2),
            compares: dut.pin("compares_o"),
            is_ready: dut.pin("ready_o"),
            idle: dut.pin("idle_o"),
        };
        let mut bench = Self {
            dut,
            pins,
            shape,
            pairs: Vec::new(),
            offers: Vec::new(),
            used: 0,
            appends: 0,
            seen: false,
            accept: true,
            resume: None,
            resumed: None,
            write: None,
            looked: 0,
            compared: 0,
            outcomes: Vec::new(),
            tally: [[0; 5]; 16],
            most: [0; 2],
        };
        bench.reset();
        bench
    }

    /// A reset empties all queues and clears all descriptors.
    fn reset(&mut self) {
        for port in 0..self.shape.ports {
            self.dut.set(self.pins.valid, port, 0);
        }
        self.dut.set(self.pins.write[0], 0, 0);
        self.dut.set(self.pins.write[6], 0, 0);
        self.dut.reset();
        self.pairs = vec![Pair::default(); self.shape.pairs];
        self.offers = vec![None; self.shape.ports];
        (self.used, self.appends, self.seen) = (0, 0, false);
        (self.resume, self.resumed, self.write) = (None, None, None);
        let since = self.dut.cycle();
        while self.dut.get(self.pins.is_ready, 0) == 0 {
            assert!(self.dut.cycle() - since < 10_000, "not ready");
            self.dut.clock();
            self.dut.settle();
        }
    }

    fn set_word(&mut self, pin: Pin, lane: usize, word: u128) {
        let half = self.shape.match_w / 2;
        self.dut
            .set(pin, 2 * lane, (word & ((1 << half) - 1)) as u64);
        self.dut.set(pin, 2 * lane + 1, (word >> half) as u64);
    }

    fn place(&self) -> String {
        format!("cycle {}, {:?}", self.dut.cycle(), self.shape)
    }

    /// One cycle with the operations on offer.
    fn cycle(&mut self) {
        for port in 0..self.shape.ports {
            let offer = self.offers[port];
            self.dut.set(self.pins.valid, port, offer.is_some().into());
            if let Some(op) = offer {
                self.dut.set(self.pins.kind, port, op.kind.0);
                self.dut.set(self.pins.pair, port, op.pair as u64);
                self.dut.set(self.pins.key, port, op.key);
                let wild = u64::from(op.any_source) | u64::from(op.any_tag) << 1;
                self.dut.set(self.pins.wild, port, wild);
                self.set_word(self.pins.bits, port, op.bits);
                self.set_word(self.pins.mask, port, op.mask);
                self.dut.set(self.pins.id, port, op.id);
            }
        }
        self.dut.set(self.pins.taken, 0, self.accept.into());
        self.dut
            .set(self.pins.write[0], 0, self.write.is_some().into());
        self.dut
            .set(self.pins.write[6], 0, self.resume.is_some().into());
        if let Some((pair, descriptor)) = self.write {
            let values = [
                pair as u64,
                descriptor.key,
                descriptor.limits[1] as u64,
                descriptor.limits[0] as u64,
                descriptor.attr,
            ];
            for (index, value) in values.into_iter().enumerate() {
                self.dut.set(self.pins.write[index + 1], 0, value);
            }
            self.set_word(self.pins.source_mask, 0, descriptor.source_mask);
            self.set_word(self.pins.tag_mask, 0, descriptor.tag_mask);
        } else if let Some(pair) = self.resume {
            self.dut.set(self.pins.write[1], 0, pair as u64);
        }
        let looked = (self.looked + 1) % self.shape.pairs;
        self.dut.set(self.pins.look, 0, looked as u64);
        self.dut.settle();

        let idle = self.pairs.iter().all(|pair| pair.under_way.is_empty());
        let result = self.dut.get(self.pins.result[0], 0) == 1;
        let is_idle = self.dut.get(self.pins.idle, 0) == 1;
        assert_eq!(is_idle, idle && !result, "{}: idle", self.place());
        self.result();
        for port in 0..self.shape.ports {
            if self.dut.get(self.pins.ready, port) == 1 && self.offers[port].is_some() {
                self.take(port);
            }
        }
        self.compared += self.dut.get(self.pins.compares, 0);
        if let Some((pair, descriptor)) = self.write.take() {
            let pair = &mut self.pairs[pair];
            pair.before.push_front((pair.descriptor, self.dut.cycle()));
            pair.descriptor = descriptor;
        }
        self.resumed = self.resume.take();
        self.dut.clock();
        self.looked = looked;
    }

    fn take(&mut self, port: usize) {
        let Some(op) = self.offers[port].take() else {
            return;
        };
        let taken = self.dut.cycle();
        let pair = &mut self.pairs[op.pair];
        let mut mask = op.mask;
        if op.any_source {
            mask |= pair.descriptor.source_mask;
        }
        if op.any_tag {
            mask |= pair.descriptor.tag_mask;
        }
        pair.under_way.push_back(UnderWay {
            op,
            port,
            mask,
            denied: op.key != pair.descriptor.key,
            taken,
        });
        let ahead = pair.under_way.len();
        assert!(ahead <= self.shape.ahead, "{}", self.place());
        let under_way = self.pairs.iter().map(|pair| pair.under_way.len());
        self.most[0] = self.most[0].max(under_way.sum());
        let busy = self.pairs.iter().filter(|pair| !pair.under_way.is_empty());
        self.most[1] = self.most[1].max(busy.count());
    }

    /// Compares a result in the first cycle in which it is on offer.
    fn result(&mut self) {
        let [valid, status, port, pair, attr, id, found] =
            self.pins.result.map(|pin| self.dut.get(pin, 0));
        // A refusal in the cycle of the resumption has the last word.
        let mut resumed = self.resumed.take();
        if valid == 1 && !self.seen {
            let status = STATUSES[status as usize];
            let index = pair as usize;
            let place = self.place();
            let Some(under_way) = self.pairs[index].under_way.pop_front() else {
                panic!("{place}: a result of pair {pair}, which has no operation under way");
            };
            let op = under_way.op;
            assert_eq!(
                (port, id),
                (under_way.port as u64, op.id),
                "{place}: {op:?}"
            );
            let (expected, hit) = self.model(under_way, attr);
            if !expected.contains(&status) {
                panic!("{place}: {op:?}: {status:?} in place of {expected:?}, {hit:?}");
            }
            let mut where_ = 0;
            let queue = op.kind.searched();
            match (status, hit) {
                (Status::Found, Some(at)) => {
                    let entry = self.pairs[index].queues[queue][at];
                    assert_eq!(found, entry.id, "{place}: {op:?} at {at}");
                    where_ = at + 1;
                    if !op.kind.keeps() {
                        self.pairs[index].queues[queue].remove(at);
                        self.used -= 1;
                    }
                }
                (Status::Appended, _) => {
                    self.pairs[index].queues[1 - queue].push_back(Header {
                        bits: op.bits,
                        mask: under_way.mask,
                        id: op.id,
                        age: self.appends,
                    });
                    self.appends += 1;
                    self.used += 1;
                }
                (Status::Refused, _) if op.kind == MESSAGE && !self.pairs[index].stopped => {
                    self.pairs[index].stopped = true;
                    resumed = resumed.filter(|&pair| pair != index);
                }
                _ => {}
            }
            self.tally[op.kind.0 as usize][status as usize] += 1;
            self.outcomes.push(Outcome {
                op,
                status,
                found,
                cycles: self.dut.cycle() - under_way.taken,
                place: where_,
            });
        }
        self.seen = valid == 1 && !self.accept;
        if let Some(pair) = resumed {
            self.pairs[pair].stopped = false;
        }
        for (index, pair) in self.pairs.iter().enumerate() {
            let stopped = self.dut.get(self.pins.stopped, index) == 1;
            assert_eq!(stopped, pair.stopped, "{}: pair {index}", self.place());
        }
    }

    /// Statuses that the oldest operation of a pair may have, and the place of the entry found.
    fn model(&self, under_way: UnderWay, attr: u64) -> (Vec<Status>, Option<usize>) {
        let op = under_way.op;
        let pair = &self.pairs[op.pair];
        // A descriptor that was written while the operation was under way may count or not.
        let before = pair.before.iter();
        let before = before.take_while(|&&(_, replaced)| replaced >= under_way.taken);
        let mut descriptors = vec![pair.descriptor];
        descriptors.extend(before.map(|&(descriptor, _)| descriptor));
        assert!(
            descriptors.iter().any(|descriptor| descriptor.attr == attr),
            "{}: {op:?}: attributes",
            self.place()
        );
        if under_way.denied {
            return (vec![Status::Key], None);
        }
        let queue = op.kind.searched();
        let hit = pair.queues[queue].iter().position(|entry| {
            if op.kind.by_id() {
                entry.id == op.id
            } else {
                (entry.bits ^ op.bits) & !(entry.mask | under_way.mask) == 0
            }
        });
        if op.kind == MESSAGE && pair.stopped {
            return (vec![Status::Refused], None);
        }
        if hit.is_some() {
            return (vec![Status::Found], hit);
        }
        if !op.kind.appends() {
            return (vec![Status::None], None);
        }
        let other = 1 - queue;
        let statuses = descriptors.iter().map(|descriptor| {
            let has_room = pair.queues[other].len() < descriptor.limits[other]
                && self.used < self.shape.headers();
            if has_room {
                Status::Appended
            } else {
                Status::Refused
            }
        });
        (statuses.collect(), None)
    }

    /// Writes a descriptor in a cycle of its own.
    fn describe(&mut self, pair: usize, descriptor: Descriptor) {
        self.write = Some((pair, descriptor));
        self.cycle();
    }

    /// Descriptors without a key, each with all of the store.
    fn describe_all(&mut self) {
        let half = self.shape.match_w / 2;
        for pair in 0..self.shape.pairs {
            self.describe(
                pair,
                Descriptor {
                    source_mask: self.shape.all_bits() >> half << half,
                    tag_mask: (1 << half) - 1,
                    limits: [self.shape.headers(); 2],
                    attr: pair as u64,
                    key: 0,
                },
            );
        }
    }

    /// Performs an operation alone, through port 0. Returns its outcome.
    fn alone(&mut self, op: Op) -> Outcome {
        let count = self.outcomes.len();
        self.offers[0] = Some(op);
        let since = self.dut.cycle();
        while self.outcomes.len() == count {
            assert!(self.dut.cycle() - since < 5000, "{}: {op:?}", self.place());
            self.cycle();
        }
        self.cycle();
        self.outcomes[count]
    }

    /// Posts receives with tags from `first` on, one after the other.
    fn post(&mut self, pair: usize, first: usize, count: usize) {
        for tag in first..first + count {
            let outcome = self.alone(Op::new(RECEIVE, pair, tag as u128, tag as u64));
            assert_eq!(outcome.status, Status::Appended);
        }
    }

    fn compare_counts(&mut self) {
        for _ in 0..self.shape.pairs {
            self.cycle();
            self.dut.settle();
            for queue in 0..2 {
                let count = self.dut.get(self.pins.counts, queue);
                let expected = self.pairs[self.looked].queues[queue].len() as u64;
                assert_eq!(count, expected, "{}: counts", self.place());
            }
        }
    }
}

/// A random descriptor; the limits of all pairs together may exceed the store.
fn descriptor(rng: &mut Random, shape: &Shape) -> Descriptor {
    let half = shape.match_w / 2;
    let headers = shape.headers();
    let tags = rng.random_range(0..4u128);
    Descriptor {
        source_mask: shape.all_bits() >> half << half,
        // Any tag of a few bits, or of all.
        tag_mask: if tags == 0 { (1 << half) - 1 } else { tags },
        key: rng.random_range(0..3),
        limits: [0, 1].map(|_| rng.random_range(0..=headers / 2 + 1)),
        attr: rng.random_range(0..1 << 16),
    }
}

/// A random operation of a pair.
fn operation(rng: &mut Random, bench: &Bench, pair: usize, id: u64) -> Op {
    let shape = &bench.shape;
    let half = shape.match_w / 2;
    let state = &bench.pairs[pair];
    let spread = shape.all_bits() / 3;
    let word = |rng: &mut Random| {
        let source = rng.random_range(0..3u128) << half;
        // Words differ in low and in high bits.
        let tag = rng.random_range(0..4u128);
        (source | tag) ^ if rng.random_bool(0.1) { spread } else { 0 }
    };
    let kind = match rng.random_range(0..100) {
        0..42 => MESSAGE,
        42..80 => RECEIVE,
        80..86 => PROBE,
        86..90 => TAKE,
        90..97 => CANCEL,
        _ => DRAIN,
    };
    let mut op = Op::new(kind, pair, word(rng), id);
    op.key = state.descriptor.key;
    if rng.random_bool(0.03) {
        op.key ^= 1;
    }
    if kind != MESSAGE {
        op.any_source = rng.random_bool(0.3);
        op.any_tag = rng.random_bool(0.3);
        if rng.random_bool(0.1) {
            op.mask = 1 << rng.random_range(0..shape.match_w);
        }
    }
    if kind == CANCEL && !state.queues[1].is_empty() && rng.random_bool(0.8) {
        op.id = state.queues[1][rng.random_range(0..state.queues[1].len())].id;
    }
    // A header must not wait for longer than its age is wide.
    for (queue, kind) in [(0, TAKE), (1, DRAIN)] {
        let waits = |header: &Header| bench.appends - header.age > 1 << (shape.age_w - 2);
        if state.queues[queue].front().is_some_and(waits) {
            op = Op::new(kind, pair, 0, id);
            op.mask = shape.all_bits();
            op.key = state.descriptor.key;
        }
    }
    op
}

/// Random operations of all pairs at random paces, with descriptors that change under load.
fn random(bench: &mut Bench, rng: &mut Random, cycles: u64) {
    for pair in 0..bench.shape.pairs {
        let descriptor = descriptor(rng, &bench.shape);
        bench.describe(pair, descriptor);
    }
    let mut id = 0;
    let (mut offer, mut accept) = (1.0, 1.0);
    let mut pairs = bench.shape.pairs;
    for cycle in 0..cycles {
        if cycle % 512 == 0 {
            offer = [1.0, 0.5, 0.1][rng.random_range(0..3)];
            accept = [1.0, 1.0, 0.5, 0.1][rng.random_range(0..4)];
            // Few pairs, so that operations of a pair wait for each other, or all.
            pairs = [1, 2, bench.shape.pairs][rng.random_range(0..3)].min(bench.shape.pairs);
        }
        for port in 0..bench.shape.ports {
            if bench.offers[port].is_none() && rng.random_bool(offer) {
                let pair = rng.random_range(0..pairs);
                id += 1;
                bench.offers[port] = Some(operation(rng, bench, pair, id));
            }
        }
        bench.accept = rng.random_bool(accept);
        if rng.random_bool(0.005) {
            let pair = rng.random_range(0..bench.shape.pairs);
            bench.write = Some((pair, descriptor(rng, &bench.shape)));
        } else if rng.random_bool(0.05) {
            bench.resume = Some(rng.random_range(0..bench.shape.pairs));
        }
        bench.cycle();
    }
    bench.accept = true;
    for _ in 0..4000 {
        bench.cycle();
        if bench.offers.iter().all(Option::is_none)
            && bench.pairs.iter().all(|pair| pair.under_way.is_empty())
        {
            bench.cycle();
            bench.compare_counts();
            return;
        }
    }
    panic!("{}: operations do not end", bench.place());
}

fn random_of(name: &'static str, shapes: &[Shape]) {
    let mut rng = Random::new(name);
    for &shape in shapes {
        let mut bench = Bench::new(shape);
        for _ in 0..2 {
            random(&mut bench, &mut rng, soak(20_000));
            bench.reset();
        }
        let tally = |kind: Kind| bench.tally[kind.0 as usize];
        for (kind, statuses) in [
            (MESSAGE, &[1, 2, 3, 4][..]),
            (RECEIVE, &[1, 2, 3, 4]),
            (PROBE, &[0, 1, 4]),
            (TAKE, &[0, 1, 4]),
            (CANCEL, &[0, 1, 4]),
            (DRAIN, &[0, 1]),
        ] {
            for &status in statuses {
                let count = tally(kind)[status];
                assert!(count >= 5, "{shape:?}: {kind:?} {status}: {count}");
            }
        }
        assert!(bench.most[1] >= 2, "{shape:?}: {:?}", bench.most);
        assert!(KINDS.iter().all(|kind| tally(*kind)[1] > 0));
    }
}

#[test]
fn match_store_random() {
    random_of("match_store_random", &[Shape::new(8, 8, 8)]);
}

/// Other numbers of lanes, and the smallest stores: full lanes, full stores, ages that wrap.
#[test]
fn match_store_random_shapes() {
    let tiny = Shape {
        contexts: 3,
        ahead: 3,
        ports: 1,
        match_w: 42,
        age_w: 8,
        ..Shape::new(2, 2, 2)
    };
    let single = Shape {
        contexts: 4,
        ahead: 1,
        ports: 3,
        age_w: 10,
        ..Shape::new(1, 8, 4)
    };
    let odd = Shape {
        contexts: 7,
        age_w: 10,
        ..Shape::new(3, 5, 8)
    };
    random_of("match_store_random_shapes", &[tiny, single, odd]);
}

/// Cycles from acceptance to the result, in a store that does nothing else.
#[test]
fn match_store_latency() {
    let mut bench = Bench::new(Shape::new(8, 128, 8));
    bench.describe_all();
    let empty = bench.alone(Op::new(MESSAGE, 0, 1, 1));
    assert_eq!((empty.status, empty.cycles), (Status::Appended, 5));
    let first = bench.alone(Op::new(RECEIVE, 0, 1, 2));
    assert_eq!((first.status, first.cycles), (Status::Found, 8));
    let nothing = bench.alone(Op::new(TAKE, 0, 1, 2));
    assert_eq!((nothing.status, nothing.cycles), (Status::None, 5));
    let mut denied = Op::new(RECEIVE, 0, 1, 2);
    denied.key = 1;
    assert_eq!(bench.alone(denied).cycles, 5);
    bench.post(0, 0, 1);
    let one = bench.alone(Op::new(LOOK, 0, 1, 2));
    assert_eq!((one.status, one.cycles), (Status::None, 7));
    bench.post(0, 1, 999);
    for (place, cycles) in [
        (1, 10),
        (8, 10),
        (9, 11),
        (10, 11),
        (100, 22),
        (992, 131),
        (1000, 132),
    ] {
        let outcome = bench.alone(Op::new(LOOK, 0, place as u128 - 1, 0));
        assert_eq!((outcome.status, outcome.place), (Status::Found, place));
        assert_eq!(outcome.cycles, cycles, "place {place}");
    }
    let nothing = bench.alone(Op::new(LOOK, 0, 5000, 0));
    assert_eq!((nothing.status, nothing.cycles), (Status::None, 131));
    // All lanes find an entry. The hits of other lanes leave when that of the oldest is reported.
    let most = (0..8).map(|_| {
        let mut any = Op::new(LOOK, 0, 0, 0);
        any.mask = (1 << 72) - 1;
        let outcome = bench.alone(any);
        assert_eq!((outcome.status, outcome.place), (Status::Found, 1));
        outcome.cycles
    });
    assert_eq!(most.max(), Some(9));
}

/// A search of one entry takes at most a cycle longer while another pair's long queue is walked.
#[test]
fn match_store_independence() {
    let mut bench = Bench::new(Shape::new(8, 128, 8));
    bench.describe_all();
    bench.post(0, 0, 1);
    bench.post(1, 0, 1000);
    let alone = bench.alone(Op::new(LOOK, 0, 0, 0)).cycles;
    for wait in 10..40 {
        bench.offers[1] = Some(Op::new(LOOK, 1, 5000, 0));
        for _ in 0..wait {
            bench.cycle();
        }
        let outcome = bench.alone(Op::new(LOOK, 0, 0, 0));
        assert_eq!(outcome.op.pair, 0, "the walk has ended after {wait} cycles");
        let extra = outcome.cycles - alone;
        assert!(
            extra <= 1,
            "{extra} cycles more, {wait} cycles after the walk began"
        );
        while !bench.pairs[1].under_way.is_empty() {
            bench.cycle();
        }
    }
}

/// One queue fills the store. One more header is refused, and all entries serve again.
#[test]
fn match_store_full() {
    let shape = Shape::new(8, 8, 8);
    let mut bench = Bench::new(shape);
    bench.describe_all();
    for round in 0..3 {
        let pair = round;
        bench.post(pair, 0, shape.headers());
        let more = bench.alone(Op::new(RECEIVE, pair, 0, 0));
        assert_eq!(more.status, Status::Refused);
        let other = bench.alone(Op::new(RECEIVE, pair + 1, 0, 0));
        assert_eq!(other.status, Status::Refused);
        bench.compare_counts();
        // Each message takes a receive from another place.
        for index in 0..shape.headers() {
            let tag = index * 37 % shape.headers();
            let outcome = bench.alone(Op::new(MESSAGE, pair, tag as u128, 0));
            assert_eq!((outcome.status, outcome.found), (Status::Found, tag as u64));
        }
    }
}

/// A queue overflows: the pair refuses all messages until software has taken the queue over and
/// resumes the pair. Receives go on meanwhile, and so do other pairs.
#[test]
fn match_store_overflow() {
    let mut bench = Bench::new(Shape::new(8, 8, 8));
    bench.describe_all();
    let mut descriptor = bench.pairs[0].descriptor;
    descriptor.limits = [4, 4];
    bench.describe(0, descriptor);
    for id in 0..4 {
        let outcome = bench.alone(Op::new(MESSAGE, 0, id.into(), id));
        assert_eq!(outcome.status, Status::Appended);
    }
    let fifth = bench.alone(Op::new(MESSAGE, 0, 4, 4));
    assert_eq!(fifth.status, Status::Refused);
    bench.post(0, 5, 1);
    // The receive waits, and the message would overtake the fifth one.
    let sixth = bench.alone(Op::new(MESSAGE, 0, 5, 5));
    assert_eq!(sixth.status, Status::Refused);
    let other = bench.alone(Op::new(MESSAGE, 1, 4, 4));
    assert_eq!(other.status, Status::Appended);
    let received = bench.alone(Op::new(RECEIVE, 0, 2, 9));
    assert_eq!((received.status, received.found), (Status::Found, 2));
    // Room alone does not end it.
    assert_eq!(
        bench.alone(Op::new(MESSAGE, 0, 4, 4)).status,
        Status::Refused
    );
    for id in [0, 1, 3] {
        let mut take = Op::new(TAKE, 0, 0, 9);
        take.mask = bench.shape.all_bits();
        let taken = bench.alone(take);
        assert_eq!((taken.status, taken.found), (Status::Found, id));
    }
    bench.resume = Some(0);
    bench.cycle();
    assert_eq!(
        bench.alone(Op::new(MESSAGE, 0, 4, 4)).status,
        Status::Appended
    );
    let sixth = bench.alone(Op::new(MESSAGE, 0, 5, 5));
    assert_eq!((sixth.status, sixth.found), (Status::Found, 5));
}

/// Room goes from one pair to another one while both are busy. The first pair keeps its entries, and
/// the second pair gets the room of each header that leaves.
#[test]
fn match_store_division() {
    let shape = Shape::new(8, 8, 8);
    let mut bench = Bench::new(shape);
    bench.describe_all();
    bench.post(0, 0, shape.headers());
    let mut descriptor = bench.pairs[0].descriptor;
    descriptor.limits = [0, 8];
    bench.describe(0, descriptor);
    let (mut moved, mut refused) = (0, 0);
    while moved < shape.headers() - 8 {
        // A message takes a receive of pair 0, which gets no other one: pair 1 gets the room.
        bench.offers[0] = Some(Op::new(MESSAGE, 0, moved as u128, 0));
        while bench.offers[0].is_some() {
            bench.cycle();
        }
        bench.offers[0] = Some(Op::new(RECEIVE, 0, 99, 0));
        bench.offers[1] = Some(Op::new(RECEIVE, 1, 99, 0));
        bench.outcomes.clear();
        while bench.outcomes.len() < 3 {
            bench.cycle();
        }
        moved += 1;
        let of = |pair: usize| {
            bench
                .outcomes
                .iter()
                .filter(move |outcome| outcome.op.pair == pair)
        };
        if moved < shape.headers() - 8 {
            refused += of(0)
                .filter(|outcome| outcome.status == Status::Refused)
                .count();
        }
        // The room may come too late for this receive.
        if of(1).any(|outcome| outcome.status == Status::Refused) {
            let again = bench.alone(Op::new(RECEIVE, 1, 99, 0));
            assert_eq!(again.status, Status::Appended);
        }
        bench.cycle();
    }
    assert_eq!(refused, moved - 1);
    assert_eq!(bench.pairs[1].queues[1].len(), shape.headers() - 8);
}

/// A queue of `length` receives for each of eight pairs. Then each pair has messages that match its
/// last receive, each followed by a new receive, as fast as the store takes them. Returns
/// thousandths per cycle: entries up to and including each match; and operations.
fn rate(bench: &mut Bench, length: usize) -> (u64, u64) {
    let busy = bench.shape.pairs;
    bench.reset();
    bench.describe_all();
    bench.outcomes.clear();
    let mut posted = vec![0; busy];
    while bench.outcomes.len() < busy * length {
        for (pair, posted) in posted.iter_mut().enumerate() {
            if bench.offers[pair].is_none() && *posted < length {
                bench.offers[pair] = Some(Op::new(RECEIVE, pair, *posted as u128, 7));
                *posted += 1;
            }
        }
        bench.cycle();
    }
    let mut next = vec![MESSAGE; busy];
    let mut run = |bench: &mut Bench, rounds: usize| {
        bench.outcomes.clear();
        let since = bench.dut.cycle();
        while bench.outcomes.len() < 2 * rounds * busy {
            for (pair, next) in next.iter_mut().enumerate() {
                if bench.offers[pair].is_none() {
                    bench.offers[pair] = Some(Op::new(*next, pair, length as u128 - 1, 7));
                    *next = if *next == MESSAGE { RECEIVE } else { MESSAGE };
                }
            }
            bench.cycle();
        }
        bench.dut.cycle() - since
    };
    // The first rounds fill the store's stages.
    run(bench, 4);
    let rounds = (4000 / length).clamp(8, 100);
    let spent = run(bench, rounds);
    assert!(bench.outcomes.iter().all(|outcome| match outcome.op.kind {
        MESSAGE => outcome.status == Status::Found && outcome.place == length,
        _ => outcome.status == Status::Appended,
    }));
    let places: usize = bench.outcomes.iter().map(|outcome| outcome.place).sum();
    (
        places as u64 * 1000 / spent,
        bench.outcomes.len() as u64 * 1000 / spent,
    )
}

/// The table of the document.
#[test]
fn match_store_rates() {
    let document = include_str!("../doc/match.md");
    let lengths = [1, 4, 8, 16, 24, 64, 200];
    let mut rows = Vec::new();
    for lanes in [1, 2, 4, 8, 16] {
        let mut bench = Bench::new(Shape {
            ports: 8,
            ..Shape::new(lanes, 2048 / lanes, 8)
        });
        let mut row = format!("| `match-rate-{lanes}` |");
        for length in lengths {
            let (compared, operations) = rate(&mut bench, length);
            row += &format!(" {:.2} |", compared as f64 / 1000.0);
            if lanes == 8 && length >= 16 {
                assert!(compared >= 7500, "{length}: {compared}");
            }
            if lanes >= 8 && length <= 8 {
                assert!(operations >= 990, "{lanes} {length}: {operations}");
            }
        }
        rows.push(row);
    }
    let rows = rows.join("\n");
    assert!(document.contains(&rows), "the document lacks\n{rows}");
}
