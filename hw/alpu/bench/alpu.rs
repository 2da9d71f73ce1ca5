//! `alpu` against the list of `alpu_model.rs`: what comes out, in which order, and in which cycle.

use std::collections::VecDeque;
use std::env;

use alcor_abi::{AlpuOp, AlpuResult};
use alcor_hw_bench::{Dut, Pace, Pin, Random, Recipe, Sink, Source, soak};
use rand::Rng;

use crate::alpu_model::{Answer, Command, MATCH_W, Model, Request};

/// Cells, and cells of a block.
const SHAPES: [(usize, usize); 6] = [(256, 8), (256, 16), (256, 32), (128, 8), (128, 16), (128, 32)];
/// Results that the unit has room for.
const RESULTS: u64 = 8;
/// Cycles from a request to its result.
const LATENCY: u64 = 4;
/// Cycles within which all is decided that can be, once something has changed for what is held.
const SETTLE: u64 = 8;
/// Match bits.
const BITS: u64 = (1 << MATCH_W) - 1;

fn full() -> bool {
    env::var("ALCOR_FULL").is_ok_and(|value| value == "1")
}

struct Pins {
    request: [Pin; 6],
    command: [Pin; 7],
    result: [Pin; 5],
    count: Pin,
    inserting: Pin,
    discarded: Pin,
}

/// An answer that is due: offered in these cycles, or one cycle after the one before it was taken.
#[derive(Debug, Clone, Copy)]
struct Due {
    answer: Answer,
    from: u64,
    to: u64,
}

/// A unit with its streams, watched in every cycle.
struct Bench {
    dut: Dut,
    pins: Pins,
    block: u64,
    cells: usize,
    model: Model,
    requests: Source<Request>,
    commands: Source<Command>,
    sink: Sink,
    due: VecDeque<Due>,
    /// Cycles in which the last results were taken.
    taken: VecDeque<u64>,
    /// The front of `due` has been seen on offer.
    offered: bool,
    /// A result is owed for each request and command taken that has one.
    owed: u64,
    /// Entries deleted in the model whose results have not been on offer.
    leaving: VecDeque<u64>,
    /// Until when requests may be held up by what was held.
    troubled: u64,
    /// The command that takes longer than a cycle, since when.
    slow: Option<u64>,
    /// The command of the last cycle, with whether it may have found no cell.
    last_command: Option<(Command, bool)>,
    /// Requests and commands taken.
    operations: u64,
    cycle: u64,
    /// Answers taken, where a bench wants them.
    log: Option<Vec<(u64, Answer)>>,
    request_taken: bool,
    command_taken: bool,
}

impl Bench {
    fn new((cells, block): (usize, usize), posted: bool) -> Self {
        let recipe = Recipe::new("alpu", "alpu")
            .blocks(&["abi", "common", "alpu"])
            .param("CELLS", cells as u64)
            .param("BLOCK", block as u64)
            .param("POSTED", posted.into())
            .param("RESULTS", RESULTS);
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
            block: block as u64,
            cells,
            model: Model::new(cells, posted),
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
            last_command: None,
            operations: 0,
            cycle: 100,
            log: None,
            request_taken: false,
            command_taken: false,
        }
    }

    /// Forgets everything, as `rst_ni` does.
    fn reset(&mut self, posted: bool) {
        self.dut.set(self.pins.request[0], 0, 0);
        self.dut.set(self.pins.command[0], 0, 0);
        self.dut.reset();
        self.model = Model::new(self.cells, posted);
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

    /// Puts down what the model has answered.
    fn expect(&mut self, from: u64, to: u64) {
        // A result is only owed when there is room for it.
        for answer in self.model.answers() {
            if matches!(answer.kind, AlpuResult::MatchSuccess | AlpuResult::CancelSuccess) {
                self.leaving.push_back(0);
            }
            self.due.push_back(Due { answer, from, to });
        }
    }

    /// The command that was taken in the last cycle takes effect: behind a request of the same cycle.
    fn apply_command(&mut self) {
        let Some((command, maybe_full)) = self.last_command.take() else {
            return;
        };
        let at = self.cycle - 1;
        let op = AlpuOp::from_bits(command.op.into());
        let discarded = self.dut.get(self.pins.discarded, 0) as u32;
        let insert = op == Some(AlpuOp::Insert) && self.model.inserting();
        let full = if self.model.len() == self.cells {
            true
        } else {
            // A cell is surely free once the result that tells so is on offer.
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
        // Room for one result more may have to be waited for.
        let room = self.owed;
        let (from, to) = match op {
            Some(AlpuOp::StartInsert) => (at + LATENCY + 1, at + LATENCY + 1),
            Some(AlpuOp::Cancel) => (at + self.block + 5, at + self.block + 7),
            _ => (at + 3, at + SETTLE),
        };
        let waits = slow && (holds || troubled);
        self.expect(from, if waits { to + SETTLE } else { to });
        if slow && op != Some(AlpuOp::Reset) {
            self.owed += 1;
            if room >= RESULTS {
                // When there is room is known when a result is taken.
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
        let at = self.cycle;

        // What the unit is ready for.
        let command_ready = self.dut.get(command[1], 0) == 1;
        if command_ready {
            self.slow = None;
        }
        match self.slow {
            None => assert!(command_ready, "no command is under way, cycle {at}"),
            Some(since) if self.owed <= RESULTS => {
                let free = self.taken.back().copied().unwrap_or(0).max(since);
                assert!(
                    at <= free + self.block + 3 * SETTLE,
                    "the command of cycle {since} does not end"
                );
            }
            Some(_) => {}
        }
        let request_ready = self.dut.get(request[1], 0) == 1;
        if self.model.holds() {
            self.troubled = self.troubled.max(at + 2);
        }
        if self.slow.is_none() && at > self.troubled {
            assert_eq!(
                request_ready,
                self.owed < RESULTS,
                "ready for a request, cycle {at}, {} owed",
                self.owed
            );
        }
        assert_eq!(
            self.dut.get(self.pins.discarded, 0) as u32,
            self.model.discarded()
        );

        // Results.
        if self.dut.get(result[0], 0) == 1 {
            let Some(&Due { answer, from, to }) = self.due.front() else {
                panic!("a result that nobody has asked for, cycle {at}");
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
                if matches!(answer.kind, AlpuResult::MatchSuccess | AlpuResult::CancelSuccess) {
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
                // Room for the result that was not owed for lack of it.
                if let Some(last) = self.due.back_mut()
                    && last.to == u64::MAX
                {
                    last.to = at + self.block + 3 * SETTLE;
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

        // At rest, the number of entries and the mode show.
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
            let full = self.model.len() + self.leaving.len() >= self.cells;
            self.last_command = Some((command, full));
            self.operations += 1;
        }
    }

    /// Goes on until nothing is under way.
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

// ------------------------------------------------------------------------------------------------
// Random
// ------------------------------------------------------------------------------------------------

/// What entries and requests look like for a while.
struct Style {
    /// Match bits that entries and requests are made from.
    kinds: Vec<u64>,
    /// Chance of a bit that differs.
    near: f64,
    /// Chance of a mask that is not zero.
    wild: f64,
    probes: f64,
    tags: u16,
    /// Commands: to insert, to cancel, to reset, and none that is valid.
    burst: usize,
    cancel: f64,
    reset: f64,
    invalid: f64,
    /// Pause behind a burst, in requests.
    pause: usize,
}

impl Style {
    fn random(rng: &mut Random, cells: usize) -> Self {
        let most = [1, 4, 40][rng.random_range(0..3)];
        let kinds = rng.random_range(1..=most);
        Self {
            kinds: (0..kinds).map(|_| rng.random::<u64>() & BITS).collect(),
            near: [0.0, 0.2, 0.7][rng.random_range(0..3)],
            wild: [0.0, 0.2, 0.9][rng.random_range(0..3)],
            probes: [0.0, 0.2, 0.9][rng.random_range(0..3)],
            tags: [4, 64, u16::MAX][rng.random_range(0..3)],
            burst: [1, 4, 30, cells][rng.random_range(0..4)],
            cancel: [0.0, 0.02, 0.2][rng.random_range(0..3)],
            reset: [0.0, 0.0, 0.01][rng.random_range(0..3)],
            invalid: [0.0, 0.05, 0.3][rng.random_range(0..3)],
            pause: [0, 3, 60][rng.random_range(0..3)],
        }
    }

    fn bits(&self, rng: &mut Random) -> u64 {
        let mut bits = self.kinds[rng.random_range(0..self.kinds.len())];
        if rng.random_bool(self.near) {
            bits ^= 1 << rng.random_range(0..MATCH_W);
        }
        bits
    }

    fn mask(&self, rng: &mut Random) -> u64 {
        if !rng.random_bool(self.wild) {
            return 0;
        }
        match rng.random_range(0..5) {
            0 => BITS,
            1 => 1 << rng.random_range(0..MATCH_W),
            // A field, as of a source or a tag.
            2 => (BITS >> rng.random_range(0..MATCH_W)) & (BITS << rng.random_range(0..MATCH_W)),
            3 => BITS & !(1 << rng.random_range(0..MATCH_W)),
            _ => rng.random::<u64>() & BITS,
        }
    }

    fn request(&self, rng: &mut Random, model: &Model) -> Request {
        let mut request = Request {
            probe: rng.random_bool(self.probes),
            id: rng.random(),
            bits: self.bits(rng),
            mask: self.mask(rng),
        };
        // Often for an entry that is there, or is so but for a bit.
        if model.len() > 0 && rng.random_bool(0.5) {
            let (bits, mask, _) = model.entry(rng.random_range(0..model.len()));
            let any = rng.random::<u64>() & (mask | request.mask) & BITS;
            request.bits = bits ^ any;
            if rng.random_bool(0.2) {
                request.bits ^= 1 << rng.random_range(0..MATCH_W);
            }
        }
        request
    }

    fn command(&self, rng: &mut Random, model: &Model, op: u8) -> Command {
        let mut tag = rng.random_range(0..=self.tags);
        if op == AlpuOp::Cancel as u8 && model.len() > 0 && rng.random_bool(0.8) {
            tag = model.entry(rng.random_range(0..model.len())).2;
            if rng.random_bool(0.1) {
                tag ^= 1 << rng.random_range(0..16);
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

    /// The commands of a burst.
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
        // So that insert mode ends for sure.
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

/// Operations of all sorts, until there were so many.
fn random(bench: &mut Bench, rng: &mut Random, operations: u64, posted: bool) {
    let (mut most, mut least_since_most) = (0, usize::MAX);
    while bench.operations < operations {
        let style = Style::random(rng, bench.cells);
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
                pause = rng.random_range(0..=style.pause) * rng.random_range(0..=bench.cells / 16);
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
            if most == bench.cells {
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
    let stop = Style::random(rng, bench.cells).command(rng, &bench.model, AlpuOp::StopInsert as u8);
    bench.commands.push(stop);
    bench.finish(rng);
    assert_eq!(most, bench.cells, "the list was never full");
    assert_eq!(least_since_most, 0, "the list was never empty again");
}

fn random_of(posted: bool, name: &'static str) {
    let mut rng = Random::new(name);
    let operations = if full() { 1_000_000 } else { 40_000 };
    for shape in SHAPES {
        let mut bench = Bench::new(shape, posted);
        random(&mut bench, &mut rng, soak(operations), posted);
        println!(
            "{} cells, blocks of {}: {} operations in {} cycles",
            shape.0, shape.1, bench.operations, bench.cycle
        );
    }
}

#[test]
fn alpu_posted_random() {
    random_of(true, "alpu_posted_random");
}

#[test]
fn alpu_unexpected_random() {
    random_of(false, "alpu_unexpected_random");
}
