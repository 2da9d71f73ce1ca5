//! `alpu` against the list of `alpu_model.rs`: answers, their order, and their cycles.

use std::collections::VecDeque;

use alcor_abi::{AlpuOp, AlpuResult};
use alcor_hw_bench::{Dut, Pace, Pin, Random, Recipe, Sink, Source, full, soak};
use rand::Rng;

use crate::alpu_model::{Answer, Command, Model, Request};

/// Parameters of a unit.
#[derive(Debug, Clone, Copy)]
struct Shape {
    cells: usize,
    block: usize,
    match_w: usize,
    tag_w: usize,
    results: u64,
}

impl Shape {
    const fn new(cells: usize, block: usize) -> Self {
        Self {
            cells,
            block,
            match_w: 42,
            tag_w: 16,
            results: 8,
        }
    }

    /// All match bits.
    fn bits(self) -> u64 {
        (1 << self.match_w) - 1
    }

    /// All tag bits.
    fn tags(self) -> u16 {
        u16::MAX >> (16 - self.tag_w)
    }
}

/// Shapes of the paper.
const SHAPES: [Shape; 6] = [
    Shape::new(256, 8),
    Shape::new(256, 16),
    Shape::new(256, 32),
    Shape::new(128, 8),
    Shape::new(128, 16),
    Shape::new(128, 32),
];
/// Small units, which are often full and often empty, with odd widths.
const SMALL: [Shape; 3] = [
    Shape {
        match_w: 5,
        tag_w: 3,
        results: 4,
        ..Shape::new(6, 2)
    },
    Shape {
        match_w: 1,
        tag_w: 1,
        results: 4,
        ..Shape::new(4, 4)
    },
    Shape {
        match_w: 9,
        tag_w: 5,
        results: 5,
        ..Shape::new(24, 8)
    },
];
/// Cycles from a request to its result.
const LATENCY: u64 = 4;
/// Number of cycles within which all decisions are made after a change that affects held requests.
const SETTLE: u64 = 8;

struct Pins {
    request: [Pin; 6],
    command: [Pin; 7],
    result: [Pin; 5],
    count: Pin,
    inserting: Pin,
    discarded: Pin,
}

/// An expected answer: offered in these cycles, or one cycle after the previous answer was
/// accepted.
#[derive(Debug, Clone, Copy)]
struct Due {
    answer: Answer,
    from: u64,
    to: u64,
}

/// A unit with its streams, checked in every cycle.
struct Bench {
    dut: Dut,
    pins: Pins,
    shape: Shape,
    model: Model,
    requests: Source<Request>,
    commands: Source<Command>,
    sink: Sink,
    due: VecDeque<Due>,
    /// Cycles in which the last results were accepted.
    taken: VecDeque<u64>,
    /// Whether the front of `due` has been offered.
    offered: bool,
    /// Number of outstanding results of accepted requests and commands.
    owed: u64,
    /// Entries deleted in the model whose results have not been offered.
    leaving: VecDeque<u64>,
    /// Last cycle in which requests may be delayed by held requests.
    troubled: u64,
    /// Start of a command that takes more than one cycle.
    slow: Option<u64>,
    /// Cycle of the last offered result.
    last_offer: u64,
    /// The command of the last cycle, and whether it may have found no cell.
    last_command: Option<(Command, bool)>,
    /// Number of accepted requests and commands.
    operations: u64,
    cycle: u64,
    /// Accepted answers, if a bench records them.
    log: Option<Vec<(u64, Answer)>>,
    request_taken: bool,
    command_taken: bool,
}

impl Bench {
    fn new(shape: Shape, posted: bool) -> Self {
        let recipe = Recipe::new("alpu", "alpu")
            .blocks(&["abi", "common", "alpu"])
            .param("CELLS", shape.cells as u64)
            .param("BLOCK", shape.block as u64)
            .param("POSTED", posted.into())
            .param("MATCH_W", shape.match_w as u64)
            .param("TAG_W", shape.tag_w as u64)
            .param("RESULTS", shape.results);
        let mut dut = Dut::start(&recipe);
        let pin = |name: &str| dut.pin(name);
        let pins = Pins {
            request: [
                "request_valid_i",
                "request_ready_o",
                "request_probe_i",
                "request_id_i",
                "request_match_i",
                "request_mask_i",
            ]
            .map(pin),
            command: [
                "command_valid_i",
                "command_ready_o",
                "command_op_i",
                "command_id_i",
                "command_tag_i",
                "command_match_i",
                "command_mask_i",
            ]
            .map(pin),
            result: [
                "result_valid_o",
                "result_ready_i",
                "result_kind_o",
                "result_id_o",
                "result_value_o",
            ]
            .map(pin),
            count: dut.pin("count_o"),
            inserting: dut.pin("inserting_o"),
            discarded: dut.pin("discarded_o"),
        };
        dut.reset();
        Self {
            dut,
            pins,
            shape,
            model: Model::new(shape.cells, posted),
            requests: Source::new(Pace::Always),
            commands: Source::new(Pace::Always),
            sink: Sink::new(Pace::Always),
            due: VecDeque::new(),
            taken: VecDeque::new(),
            offered: false,
            owed: 0,
            leaving: VecDeque::new(),
            troubled: 0,
            slow: None,
            last_offer: 0,
            last_command: None,
            operations: 0,
            cycle: 100,
            log: None,
            request_taken: false,
            command_taken: false,
        }
    }

    /// Resets the unit and the model by `rst_ni`.
    fn reset(&mut self, posted: bool) {
        self.dut.set(self.pins.request[0], 0, 0);
        self.dut.set(self.pins.command[0], 0, 0);
        // One cycle is enough.
        let reset = self.dut.pin("rst_ni");
        self.dut.set(reset, 0, 0);
        self.dut.settle();
        self.dut.clock();
        self.dut.set(reset, 0, 1);
        self.dut.settle();
        self.model = Model::new(self.shape.cells, posted);
        self.requests.clear();
        self.commands.clear();
        self.due.clear();
        self.leaving.clear();
        self.last_command = None;
        self.slow = None;
        self.offered = false;
        self.owed = 0;
        self.troubled = 0;
    }

    /// Records the model's answers as expected.
    fn expect(&mut self, from: u64, to: u64) {
        // A result counts as outstanding only when there is space for it.
        for answer in self.model.answers() {
            if matches!(
                answer.kind,
                AlpuResult::MatchSuccess | AlpuResult::CancelSuccess
            ) {
                self.leaving.push_back(0);
            }
            self.due.push_back(Due { answer, from, to });
        }
    }

    /// Applies the command accepted in the last cycle, after a request of the same cycle.
    fn apply_command(&mut self) {
        let Some((command, maybe_full)) = self.last_command.take() else {
            return;
        };
        let at = self.cycle - 1;
        let op = AlpuOp::from_bits(command.op.into());
        let discarded = self.dut.get(self.pins.discarded, 0) as u32;
        let insert = op == Some(AlpuOp::Insert) && self.model.inserting();
        let full = if self.model.len() == self.shape.cells {
            true
        } else {
            // A cell is certainly free once the corresponding result is offered.
            insert && maybe_full && discarded == self.model.discarded() + 1
        };
        let slow = match op {
            Some(AlpuOp::StartInsert) => !self.model.inserting(),
            Some(AlpuOp::Reset | AlpuOp::Cancel) => true,
            _ => false,
        };
        let holds = self.model.holds();
        let troubled = at <= self.troubled;
        self.model.command(command, full);
        assert_eq!(
            discarded,
            self.model.discarded(),
            "discarded commands, cycle {at}: {command:?}"
        );
        // Space for one more result may have to be awaited.
        let (room, block) = (self.owed, self.shape.block as u64);
        let (from, to) = match op {
            Some(AlpuOp::StartInsert) => (at + LATENCY + 1, at + LATENCY + 1),
            Some(AlpuOp::Cancel) => (at + block + 5, at + block + 7),
            _ => (at + 3, at + SETTLE),
        };
        let waits = slow && (holds || troubled);
        self.expect(from, if waits { to + SETTLE } else { to });
        if slow && op != Some(AlpuOp::Reset) {
            self.owed += 1;
            if room >= self.shape.results {
                // The time of free space is known when a result is accepted.
                if let Some(due) = self.due.back_mut() {
                    due.to = u64::MAX;
                }
            }
        }
        if holds {
            self.troubled = at + SETTLE;
        }
        if slow {
            self.slow = Some(at);
        }
    }

    /// One cycle.
    fn step(&mut self, rng: &mut Random) {
        let Pins {
            request,
            command,
            result,
            ..
        } = self.pins;
        let offer = self.requests.offer(rng).copied();
        self.dut.set(request[0], 0, offer.is_some().into());
        if let Some(offer) = offer {
            self.dut.set(request[2], 0, offer.probe.into());
            self.dut.set(request[3], 0, offer.id.into());
            self.dut.set(request[4], 0, offer.bits);
            self.dut.set(request[5], 0, offer.mask);
        }
        let offer = self.commands.offer(rng).copied();
        self.dut.set(command[0], 0, offer.is_some().into());
        if let Some(offer) = offer {
            self.dut.set(command[2], 0, offer.op.into());
            self.dut.set(command[3], 0, offer.id.into());
            self.dut.set(command[4], 0, offer.tag.into());
            self.dut.set(command[5], 0, offer.bits);
            self.dut.set(command[6], 0, offer.mask);
        }
        let ready = self.sink.ready(rng);
        self.dut.set(result[1], 0, ready.into());
        self.dut.settle();
        self.apply_command();
        let (at, block, room) = (self.cycle, self.shape.block as u64, self.shape.results);

        // Readiness of the unit.
        let command_ready = self.dut.get(command[1], 0) == 1;
        if command_ready {
            self.slow = None;
        }
        match self.slow {
            None => assert!(command_ready, "no command in progress, cycle {at}"),
            // The command may wait for space while there are results to be accepted.
            Some(since) => assert!(
                at <= since.max(self.last_offer) + block + 3 * SETTLE,
                "the command of cycle {since} does not end"
            ),
        }
        let request_ready = self.dut.get(request[1], 0) == 1;
        if self.model.holds() {
            self.troubled = self.troubled.max(at + 2);
        }
        if self.slow.is_none() && at > self.troubled {
            assert_eq!(
                request_ready,
                self.owed < room,
                "ready for a request, cycle {at}, {} outstanding",
                self.owed
            );
        }
        assert_eq!(
            self.dut.get(self.pins.discarded, 0) as u32,
            self.model.discarded()
        );

        // Results.
        if self.dut.get(result[0], 0) == 1 {
            self.last_offer = at;
            let Some(&Due { answer, from, to }) = self.due.front() else {
                panic!("an unrequested result, cycle {at}");
            };
            let found = Answer {
                kind: AlpuResult::from_bits(self.dut.get(result[2], 0) as u32)
                    .expect("a kind of result"),
                id: self.dut.get(result[3], 0) as u8,
                value: self.dut.get(result[4], 0),
            };
            assert_eq!(found, answer, "cycle {at}");
            if !self.offered {
                let after = self.taken.back().map_or(0, |cycle| cycle + 1);
                assert!(
                    at >= from.max(after) && at <= to.max(after),
                    "{answer:?} is offered in cycle {at}, and due in {from} to {to}, {after} at the earliest"
                );
                self.offered = true;
                if matches!(
                    answer.kind,
                    AlpuResult::MatchSuccess | AlpuResult::CancelSuccess
                ) {
                    self.leaving.pop_front();
                }
            }
            if ready {
                self.due.pop_front();
                self.offered = false;
                self.owed -= 1;
                self.taken.push_back(at);
                if self.taken.len() > 16 {
                    self.taken.pop_front();
                }
                // Space for the result that had no space.
                if let Some(last) = self.due.back_mut()
                    && last.to == u64::MAX
                {
                    last.to = at + block + 3 * SETTLE;
                }
                if let Some(log) = &mut self.log {
                    log.push((at, found));
                }
            }
        } else if let Some(due) = self.due.front() {
            let after = self.taken.back().map_or(0, |cycle| cycle + 1);
            assert!(
                at < due.to.max(after),
                "{due:?} is not offered in cycle {at}"
            );
        }

        // At rest, the number of entries and the mode are visible.
        if self.due.is_empty() && !self.model.holds() && self.slow.is_none() {
            assert_eq!(
                self.dut.get(self.pins.count, 0),
                self.model.len() as u64,
                "entries, cycle {at}"
            );
            assert_eq!(
                self.dut.get(self.pins.inserting, 0) == 1,
                self.model.inserting(),
                "mode, cycle {at}"
            );
        }

        self.dut.clock();
        self.cycle += 1;
        let request = self.requests.take(request_ready);
        self.request_taken = request.is_some();
        if let Some(request) = request {
            let exact = at > self.troubled && !self.model.holds();
            self.model.request(request);
            self.owed += 1;
            self.expect(
                at + LATENCY,
                if exact {
                    at + LATENCY
                } else {
                    at + LATENCY + SETTLE
                },
            );
            self.operations += 1;
        }
        let command = self.commands.take(command_ready);
        self.command_taken = command.is_some();
        if let Some(command) = command {
            let full = self.model.len() + self.leaving.len() >= self.shape.cells;
            self.last_command = Some((command, full));
            self.operations += 1;
        }
    }

    /// Runs until no operation is in progress.
    fn finish(&mut self, rng: &mut Random) {
        self.requests.set_pace(Pace::Always);
        self.commands.set_pace(Pace::Always);
        self.sink.set_pace(Pace::Always);
        let begin = self.cycle;
        while !self.requests.is_empty()
            || !self.commands.is_empty()
            || !self.due.is_empty()
            || self.last_command.is_some()
            || self.slow.is_some()
        {
            self.step(rng);
            assert!(self.cycle < begin + 20_000, "the unit has come to a halt");
        }
        for _ in 0..SETTLE {
            self.step(rng);
        }
    }
}

// Random operations

/// Properties of entries and requests for a while.
struct Style {
    shape: Shape,
    /// Match bits of entries and requests.
    kinds: Vec<u64>,
    /// Probability of a bit that differs.
    near: f64,
    /// Probability of a nonzero mask.
    wild: f64,
    probes: f64,
    tags: u16,
    /// Numbers of commands: inserts, cancels, resets, and invalid commands.
    burst: usize,
    cancel: f64,
    reset: f64,
    invalid: f64,
    /// Pause after a burst, in requests.
    pause: usize,
}

impl Style {
    fn random(rng: &mut Random, shape: Shape) -> Self {
        let most = [1, 4, 40][rng.random_range(0..3)];
        let kinds = rng.random_range(1..=most);
        Self {
            shape,
            kinds: (0..kinds)
                .map(|_| rng.random::<u64>() & shape.bits())
                .collect(),
            near: [0.0, 0.2, 0.7][rng.random_range(0..3)],
            wild: [0.0, 0.2, 0.9][rng.random_range(0..3)],
            probes: [0.0, 0.2, 0.9][rng.random_range(0..3)],
            tags: [4, 64, u16::MAX][rng.random_range(0..3)].min(shape.tags()),
            burst: [1, 4, 30, shape.cells][rng.random_range(0..4)],
            cancel: [0.0, 0.02, 0.2][rng.random_range(0..3)],
            reset: [0.0, 0.0, 0.01][rng.random_range(0..3)],
            invalid: [0.0, 0.05, 0.3][rng.random_range(0..3)],
            pause: [0, 3, 60][rng.random_range(0..3)],
        }
    }

    fn bits(&self, rng: &mut Random) -> u64 {
        let mut bits = self.kinds[rng.random_range(0..self.kinds.len())];
        if rng.random_bool(self.near) {
            bits ^= 1 << rng.random_range(0..self.shape.match_w);
        }
        bits
    }

    fn mask(&self, rng: &mut Random) -> u64 {
        if !rng.random_bool(self.wild) {
            return 0;
        }
        match rng.random_range(0..5) {
            0 => self.shape.bits(),
            1 => 1 << rng.random_range(0..self.shape.match_w),
            // A field, such as a source or a tag.
            2 => {
                let (low, high) = (
                    rng.random_range(0..self.shape.match_w),
                    rng.random_range(0..self.shape.match_w),
                );
                (self.shape.bits() >> low) & (self.shape.bits() << high)
            }
            3 => self.shape.bits() & !(1 << rng.random_range(0..self.shape.match_w)),
            _ => rng.random::<u64>() & self.shape.bits(),
        }
    }

    fn request(&self, rng: &mut Random, model: &Model) -> Request {
        let mut request = Request {
            probe: rng.random_bool(self.probes),
            id: rng.random(),
            bits: self.bits(rng),
            mask: self.mask(rng),
        };
        // Often for an existing entry, or for one that differs in one bit.
        if model.len() > 0 && rng.random_bool(0.5) {
            let (bits, mask, _) = model.entry(rng.random_range(0..model.len()));
            let any = rng.random::<u64>() & (mask | request.mask) & self.shape.bits();
            request.bits = bits ^ any;
            if rng.random_bool(0.2) {
                request.bits ^= 1 << rng.random_range(0..self.shape.match_w);
            }
        }
        request
    }

    fn command(&self, rng: &mut Random, model: &Model, op: u8) -> Command {
        let mut tag = rng.random_range(0..=self.tags);
        if op == AlpuOp::Cancel as u8 && model.len() > 0 && rng.random_bool(0.8) {
            tag = model.entry(rng.random_range(0..model.len())).2;
            if rng.random_bool(0.1) {
                tag ^= 1 << rng.random_range(0..self.shape.tag_w);
            }
        }
        Command {
            op,
            id: rng.random(),
            tag,
            bits: self.bits(rng),
            mask: self.mask(rng),
        }
    }

    /// Commands of a burst.
    fn commands(&self, rng: &mut Random) -> Vec<u8> {
        let mut ops = vec![AlpuOp::StartInsert as u8];
        let inserts = rng.random_range(0..=self.burst);
        ops.extend(std::iter::repeat_n(AlpuOp::Insert as u8, inserts));
        ops.push(AlpuOp::StopInsert as u8);
        let mut all = Vec::new();
        for op in ops {
            if rng.random_bool(self.invalid) {
                all.push(rng.random_range(0..16));
            }
            if rng.random_bool(self.cancel) {
                all.push(AlpuOp::Cancel as u8);
            }
            if rng.random_bool(self.reset) {
                all.push(AlpuOp::Reset as u8);
            }
            all.push(op);
        }
        // Ensures that insert mode ends.
        all.push(AlpuOp::StopInsert as u8);
        all
    }
}

fn pace(rng: &mut Random) -> Pace {
    match rng.random_range(0..5) {
        0 | 1 => Pace::Always,
        2 => Pace::Chance(0.5),
        3 => Pace::Chance(0.1),
        _ => Pace::Bursts { on: 12, off: 12 },
    }
}

/// Random operations of all kinds, until `operations` have been accepted.
fn random(bench: &mut Bench, rng: &mut Random, operations: u64, posted: bool) {
    let (mut most, mut least_since_most) = (0, usize::MAX);
    while bench.operations < operations {
        let style = Style::random(rng, bench.shape);
        bench.requests.set_pace(pace(rng));
        bench.commands.set_pace(pace(rng));
        bench.sink.set_pace(pace(rng));
        let mut ops = VecDeque::new();
        let mut pause = 0usize;
        for _ in 0..rng.random_range(100..1500) {
            if bench.requests.is_empty() {
                let request = style.request(rng, &bench.model);
                bench.requests.push(request);
            }
            if ops.is_empty() && pause == 0 {
                ops = style.commands(rng).into();
                pause = rng.random_range(0..=style.pause)
                    * rng.random_range(0..=bench.shape.cells.div_ceil(16));
            }
            if bench.commands.is_empty() {
                if let Some(op) = ops.pop_front() {
                    let command = style.command(rng, &bench.model, op);
                    bench.commands.push(command);
                } else {
                    pause = pause.saturating_sub(1);
                }
            }
            bench.step(rng);
            most = most.max(bench.model.len());
            if most == bench.shape.cells {
                least_since_most = least_since_most.min(bench.model.len());
            }
        }
        for op in ops {
            let command = style.command(rng, &bench.model, op);
            bench.commands.push(command);
        }
        if rng.random_bool(0.02) {
            bench.reset(posted);
        }
    }
    let stop = Style::random(rng, bench.shape).command(rng, &bench.model, AlpuOp::StopInsert as u8);
    bench.commands.push(stop);
    bench.finish(rng);
    assert_eq!(most, bench.shape.cells, "the list was never full");
    assert_eq!(least_since_most, 0, "the list was never empty again");
}

fn random_of(shapes: &[Shape], posted: bool, name: &'static str) {
    let mut rng = Random::new(name);
    let operations = soak(if full() { 1_000_000 } else { 100_000 });
    for &shape in shapes {
        let mut bench = Bench::new(shape, posted);
        random(&mut bench, &mut rng, operations, posted);
        println!(
            "{} cells, blocks of {}: {} operations in {} cycles",
            shape.cells, shape.block, bench.operations, bench.cycle
        );
    }
}

#[test]
fn alpu_posted_random() {
    random_of(&SHAPES, true, "alpu_posted_random");
}

#[test]
fn alpu_unexpected_random() {
    random_of(&SHAPES, false, "alpu_unexpected_random");
}

#[test]
fn alpu_small_random() {
    random_of(&SMALL, true, "alpu_small_random");
    random_of(&SMALL, false, "alpu_small_random");
}

// Individual properties

fn command(op: AlpuOp, tag: u16, bits: u64) -> Command {
    Command {
        op: op as u8,
        id: tag as u8,
        tag,
        bits,
        mask: 0,
    }
}

fn request(bits: u64) -> Request {
    Request {
        probe: false,
        id: bits as u8,
        bits,
        mask: 0,
    }
}

/// Average number of cycles between consecutive events.
fn interval(cycles: &[u64]) -> f64 {
    (cycles[cycles.len() - 1] - cycles[0]) as f64 / (cycles.len() - 1) as f64
}

impl Bench {
    /// Appends entries. Returns the cycles in which the insertions were accepted.
    fn fill(&mut self, rng: &mut Random, bits: impl Iterator<Item = u64>) -> Vec<u64> {
        self.commands.push(command(AlpuOp::StartInsert, 0, 0));
        for (tag, bits) in (0..).zip(bits) {
            let tag = tag & self.shape.tags();
            self.commands.push(command(AlpuOp::Insert, tag, bits));
        }
        self.commands.push(command(AlpuOp::StopInsert, 0, 0));
        let mut cycles = Vec::new();
        while !self.commands.is_empty() {
            self.step(rng);
            if self.command_taken {
                cycles.push(self.cycle - 1);
            }
        }
        self.finish(rng);
        cycles.pop();
        cycles.remove(0);
        cycles
    }

    /// Sends requests in consecutive cycles as far as possible. Returns the cycles of acceptance
    /// and the cycles of the results.
    fn requests(
        &mut self,
        rng: &mut Random,
        bits: impl Iterator<Item = u64>,
    ) -> (Vec<u64>, Vec<(u64, Answer)>) {
        self.log = Some(Vec::new());
        self.requests.extend(bits.map(request));
        let mut cycles = Vec::new();
        while !self.requests.is_empty() {
            self.step(rng);
            if self.request_taken {
                cycles.push(self.cycle - 1);
            }
        }
        self.finish(rng);
        (cycles, self.log.take().unwrap_or_default())
    }
}

/// Intervals and latencies in cycles.
fn figures(posted: bool, name: &'static str) {
    let mut rng = Random::new(name);
    for shape in SHAPES {
        let cells = shape.cells as u64;
        let mut bench = Bench::new(shape, posted);
        let rng = &mut rng;

        let different: Vec<u64> = (0..cells).map(|at| at * 0x01_0001_0001).collect();
        let inserts = bench.fill(rng, different.iter().copied());
        let insert = interval(&inserts);
        // From the tail, so that gaps appear above. Each request hits another entry.
        let (taken, answers) = bench.requests(rng, different.iter().rev().copied());
        let results: Vec<u64> = answers.iter().map(|answer| answer.0).collect();
        let apart = interval(&taken).max(interval(&results));
        let latencies: Vec<u64> = taken.iter().zip(&results).map(|(a, b)| b - a).collect();
        let latency = latencies.iter().copied().max().unwrap_or(0);
        assert!(latencies.iter().all(|&cycles| cycles == latency));
        let tags: Vec<u64> = answers.iter().map(|answer| answer.1.value).collect();
        assert_eq!(tags, (0..cells).rev().collect::<Vec<u64>>());

        bench.fill(rng, (0..cells).map(|_| 7));
        let (taken, answers) = bench.requests(rng, (0..cells).map(|_| 7));
        let results: Vec<u64> = answers.iter().map(|answer| answer.0).collect();
        let same = interval(&taken).max(interval(&results));
        let tags: Vec<u64> = answers.iter().map(|answer| answer.1.value).collect();
        assert_eq!(tags, (0..cells).collect::<Vec<u64>>());

        // All fail.
        let (taken, answers) = bench.requests(rng, 0..cells);
        let results: Vec<u64> = answers.iter().map(|answer| answer.0).collect();
        let failing = interval(&taken).max(interval(&results));

        // A request and an insertion in each cycle.
        bench.commands.push(command(AlpuOp::StartInsert, 0, 0));
        for tag in 0..4 {
            bench.commands.push(command(AlpuOp::Insert, tag, 9));
        }
        bench.finish(rng);
        for tag in 0..1000 {
            bench.commands.push(command(AlpuOp::Insert, tag, 9));
            bench.requests.push(request(9));
        }
        for _ in 0..1000 {
            bench.step(rng);
            assert!(bench.request_taken && bench.command_taken);
        }
        bench.commands.push(command(AlpuOp::Reset, 0, 0));
        bench.finish(rng);

        // Held requests, from the insertion that ends the hold.
        let mut held = [0; 9];
        for (at, held) in held.iter_mut().enumerate() {
            bench.commands.push(command(AlpuOp::StartInsert, 0, 0));
            bench.finish(rng);
            bench.requests.push(request(3));
            for _ in 0..20 + at {
                bench.step(rng);
            }
            bench.log = Some(Vec::new());
            bench.commands.push(command(AlpuOp::Insert, 1, 3));
            bench.step(rng);
            assert!(bench.command_taken);
            let since = bench.cycle - 1;
            bench.finish(rng);
            *held = bench.log.take().unwrap_or_default()[0].0 - since;
            bench.commands.push(command(AlpuOp::StopInsert, 0, 0));
            bench.finish(rng);
        }
        let (soonest, latest) = (held.iter().min(), held.iter().max());
        assert_eq!((soonest, latest), (Some(&4), Some(&6)));

        // A start and a cancellation alone.
        let mut slow = [0; 2];
        for (slow, op) in slow.iter_mut().zip([AlpuOp::StartInsert, AlpuOp::Cancel]) {
            bench.log = Some(Vec::new());
            bench.commands.push(command(op, 1, 0));
            bench.step(rng);
            let since = bench.cycle - 1;
            bench.finish(rng);
            *slow = bench.log.take().unwrap_or_default()[0].0 - since;
        }
        assert_eq!(slow, [LATENCY + 1, shape.block as u64 + 5]);

        println!(
            "| {cells}/{} | {apart} | {same} | {failing} | {insert} | {latency} | {} | {} |",
            shape.block, slow[0], slow[1]
        );
        assert_eq!(
            (apart, same, failing, insert, latency),
            (1.0, 1.0, 1.0, 1.0, LATENCY)
        );
    }
}

#[test]
fn alpu_posted_figures() {
    figures(true, "alpu_posted_figures");
}

#[test]
fn alpu_unexpected_figures() {
    figures(false, "alpu_unexpected_figures");
}

impl Bench {
    /// Sends a command. Returns the cycles after the command in which the unit is not ready for a
    /// request.
    fn stalls(&mut self, rng: &mut Random, op: AlpuOp, cycles: usize) -> Vec<usize> {
        self.commands.push(command(op, 0, 0));
        let mut stalls = Vec::new();
        for cycle in 0..cycles {
            self.step(rng);
            if self.dut.get(self.pins.request[1], 0) == 0 {
                stalls.push(cycle);
            }
        }
        stalls
    }
}

/// Cycles in which a command delays requests: in an idle unit, and in a unit with a request in each
/// cycle.
#[test]
fn alpu_stalls() {
    let mut rng = Random::new("alpu_stalls");
    let rng = &mut rng;
    for shape in [SHAPES[3], SMALL[0], SMALL[1], SMALL[2]] {
        let scan = shape.block;
        for posted in [true, false] {
            let mut bench = Bench::new(shape, posted);
            // Each command, with the stalls of an idle unit and of a busy unit. Requests after the
            // start of an insertion fail, and are held from the fifth cycle on.
            let expected: [(AlpuOp, Vec<usize>, Vec<usize>); 3] = [
                (AlpuOp::StartInsert, vec![1], vec![1]),
                (
                    AlpuOp::Cancel,
                    (1..=scan + 3).collect(),
                    (1..=scan + 5).collect(),
                ),
                (AlpuOp::Reset, vec![1], vec![1, 2, 3]),
            ];
            for (op, idle, busy) in expected {
                for delay in 0..12 {
                    bench.fill(rng, (0..shape.cells as u64).map(|_| 1));
                    let found = bench.stalls(rng, op, scan + 10);
                    assert_eq!(found, idle, "{op:?} of an idle unit");
                    bench.commands.push(command(AlpuOp::Reset, 0, 0));
                    bench.finish(rng);
                    // Fewer results in flight than the unit's latency also delay requests.
                    if shape.results < 8 {
                        continue;
                    }
                    bench.fill(rng, (0..shape.cells as u64).map(|_| 1));
                    let start = op == AlpuOp::StartInsert;
                    let cycles = if start { 5 } else { scan + 10 };
                    bench
                        .requests
                        .extend((0..8 + delay + cycles).map(|_| request(0)));
                    for _ in 0..8 + delay {
                        bench.step(rng);
                    }
                    let found = bench.stalls(rng, op, cycles);
                    assert_eq!(found, busy, "{op:?} among requests");
                    bench.commands.push(command(AlpuOp::StopInsert, 0, 0));
                    bench.finish(rng);
                }
            }
        }
    }
}

/// States in which the unit is interrupted.
fn situations() -> Vec<Vec<Command>> {
    let (start, stop) = (
        command(AlpuOp::StartInsert, 1, 0),
        command(AlpuOp::StopInsert, 2, 0),
    );
    let (insert, cancel) = (command(AlpuOp::Insert, 3, 5), command(AlpuOp::Cancel, 3, 0));
    let reset = command(AlpuOp::Reset, 4, 0);
    vec![
        vec![],
        vec![start],
        vec![cancel],
        vec![reset],
        vec![start, insert],
        vec![start, insert, insert, cancel],
        vec![start, insert, stop],
        vec![start, insert, stop, start],
        vec![start, stop, cancel],
        vec![start, reset],
        vec![start, start, stop, stop, insert],
    ]
}

/// RESET at each number of cycles after every command, with requests that match, fail, and are
/// held; the same for `rst_ni`. Afterwards the unit is in its initial state.
#[test]
fn alpu_reset_anywhere() {
    let mut rng = Random::new("alpu_reset_anywhere");
    let rng = &mut rng;
    for (shape, posted) in [SHAPES[3], SMALL[0], SMALL[1]]
        .into_iter()
        .flat_map(|shape| [(shape, true), (shape, false)])
    {
        let mut bench = Bench::new(shape, posted);
        let most = shape.bits().min(5);
        for situation in situations() {
            for delay in 0..shape.block + 14 {
                for requests in 0..6 {
                    for ready in [true, false] {
                        for pin in [false, true] {
                            // Small units are sometimes full.
                            let full = shape.cells < 8 && requests % 2 == 1;
                            let entries = if full { shape.cells } else { 3 };
                            let bits = [5 & most, 5 & most, 1].into_iter();
                            bench.fill(rng, bits.cycle().take(entries));
                            bench
                                .sink
                                .set_pace(if ready { Pace::Always } else { Pace::Never });
                            bench.requests.extend(
                                [5 & most, 0, 5 & most, 1, 0, 5 & most]
                                    .map(request)
                                    .into_iter()
                                    .take(requests),
                            );
                            bench
                                .commands
                                .extend(situation.iter().map(|command| Command {
                                    tag: command.tag & shape.tags(),
                                    ..*command
                                }));
                            for _ in 0..delay {
                                bench.step(rng);
                            }
                            if pin {
                                bench.reset(posted);
                            } else {
                                bench.commands.push(command(AlpuOp::Reset, 0, 0));
                            }
                            bench.finish(rng);
                            assert_eq!(bench.model.len(), 0);
                            assert!(!bench.model.inserting());
                        }
                    }
                }
            }
        }
        // The unit has its full capacity again.
        bench.fill(rng, (0..shape.cells as u64).map(|_| 1));
        let (_, answers) = bench.requests(rng, (0..=shape.cells as u64).map(|_| 1));
        assert!(
            answers
                .iter()
                .take(shape.cells)
                .all(|answer| answer.1.kind == AlpuResult::MatchSuccess)
        );
        assert_eq!(answers[shape.cells].1.kind, AlpuResult::MatchFailure);
    }
}

/// Entries deleted at every position, by a match or by a cancellation, while the list is full.
#[test]
fn alpu_every_place() {
    let mut rng = Random::new("alpu_every_place");
    let rng = &mut rng;
    for (shape, posted) in [(SHAPES[3], true), (SHAPES[5], false), (SMALL[2], true)] {
        let mut bench = Bench::new(shape, posted);
        bench.fill(rng, (0..shape.cells as u64).map(|at| at & shape.bits()));
        for _ in 0..3 * shape.cells {
            let at = rng.random_range(0..shape.cells);
            let (bits, _, tag) = bench.model.entry(at);
            if rng.random_bool(0.5) {
                bench.requests.push(request(bits));
            } else {
                bench.commands.push(command(AlpuOp::Cancel, tag, 0));
            }
            let pause = rng.random_range(0..4);
            for _ in 0..pause {
                bench.step(rng);
            }
            bench.finish(rng);
            let bits = rng.random::<u64>() & shape.bits();
            bench.fill(rng, [bits].into_iter());
            assert_eq!(bench.model.len(), shape.cells);
        }
    }
}
