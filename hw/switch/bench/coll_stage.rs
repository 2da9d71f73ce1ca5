//! `coll_stage` against a model of the stage, with models of the blocks around it and of its
//! partner.
//!
//! The bench models the stage before, the next stage, the copy unit, the reader, the communicator
//! table and the partner, each with random idle cycles and back-pressure. The bench compares every
//! output with `coll_stage_model.rs` in every cycle. It also compares results and copies with the
//! data of their collective, independently of the model.

use std::collections::VecDeque;

use alcor_abi::{Datatype, Operation};
use alcor_hw_bench::{Dut, Pin, Random, Recipe, soak};
use rand::Rng;
use rand::seq::IndexedRandom;

use crate::coll_stage_model::{
    Announce, Ask, Body, COMBINE, COPY, CREDIT, Call, Context, Inputs, Model, Outputs, Phit, Plan,
    ROWS, SIGNATURE, Shape, Token, both,
};

const WINDOW: usize = 8;
/// Maximum number of taps.
const DEPTH: usize = 4;
/// Maximum number of data phits without returned credits.
const CREDITS: u32 = WINDOW as u32 - 2;
/// Maximum number of cycles until a collective has ended.
const WATCH: u64 = 30_000;

/// A value of several words, built from its lowest bits up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Bits {
    words: [u64; 7],
    width: usize,
}

impl Bits {
    fn with(mut self, value: u64, width: usize) -> Self {
        for bit in 0..width {
            let at = self.width + bit;
            self.words[at / 64] |= (value >> bit & 1) << (at % 64);
        }
        self.width += width;
        self
    }

    fn of_data(data: &[u64; 4]) -> Self {
        let mut bits = Self {
            width: 256,
            ..Self::default()
        };
        bits.words[..4].copy_from_slice(data);
        bits
    }

    fn of_body(body: &Body) -> Self {
        Self::of_data(&body.data)
            .with(body.words, 4)
            .with(body.word, 28)
    }

    fn of_token(token: &Token) -> Self {
        Self::of_body(&token.body)
            .with(token.signature.into(), 1)
            .with(token.row as u64, 5)
    }

    fn of_phit(phit: &Phit) -> Self {
        Self::of_data(&phit.body.data)
            .with(phit.dest, 16)
            .with(phit.row as u64, 5)
            .with(phit.call.opcode, 4)
            .with(phit.call.algorithm, 2)
            .with(phit.call.operation, 4)
            .with(1, 1)
            .with(phit.stage, 3)
            .with(phit.kind, 2)
            .with(phit.parity.into(), 1)
            .with(phit.key, 8)
            .with(phit.announces.into(), 1)
            .with(0, 1)
            .with(phit.body.word, 28)
            .with(phit.body.words, 4)
    }

    fn lane(&self, lane: usize, lanes: usize) -> u64 {
        let width = self.width / lanes;
        let (word, shift) = (lane * width / 64, lane * width % 64);
        let mut value = self.words[word] >> shift;
        if shift + width > 64 {
            value |= self.words[word + 1] << (64 - shift);
        }
        value & (u64::MAX >> (64 - width))
    }
}

/// Kind of an announcement in the list of a partner's phits.
const ANNOUNCEMENT: u64 = 4;
/// Lanes of a port of a token, a body or a phit.
const LANES: usize = 6;

/// Probabilities per cycle.
#[derive(Debug, Clone, Copy)]
struct Weather {
    ask: f64,
    come: f64,
    copy: f64,
    pay: f64,
    tx_ready: f64,
    next_room: f64,
    result_ready: f64,
    copy_take: f64,
    fold: f64,
    /// Per row: the credit of a result appears or disappears, a copy is held or sent.
    shift: f64,
    /// Longest time from reserved room to its token, and from the end of a collective on this board
    /// to the next one.
    flight: u64,
    pause: f64,
    /// Phits of other keys.
    foreign: f64,
    /// The calls of members differ.
    wrong: f64,
}

const CALM: Weather = Weather {
    ask: 1.0,
    come: 1.0,
    copy: 1.0,
    pay: 1.0,
    tx_ready: 1.0,
    next_room: 1.0,
    result_ready: 1.0,
    copy_take: 1.0,
    fold: 0.2,
    shift: 0.0,
    flight: 1,
    pause: 0.0,
    foreign: 0.0,
    wrong: 0.0,
};
const WINDY: Weather = Weather {
    ask: 0.7,
    come: 0.7,
    copy: 0.6,
    pay: 0.5,
    tx_ready: 0.7,
    next_room: 0.7,
    result_ready: 0.7,
    copy_take: 0.7,
    fold: 0.4,
    shift: 0.02,
    flight: 8,
    pause: 0.02,
    foreign: 0.1,
    wrong: 0.4,
};
/// Nothing takes results.
const DAM: Weather = Weather {
    result_ready: 0.0,
    ..CALM
};
/// The stage is faster than all its receivers.
const STORM: Weather = Weather {
    ask: 0.9,
    come: 0.9,
    copy: 0.9,
    pay: 0.2,
    tx_ready: 0.3,
    next_room: 0.3,
    result_ready: 0.05,
    copy_take: 0.3,
    fold: 0.9,
    shift: 0.05,
    flight: 20,
    pause: 0.02,
    foreign: 0.05,
    wrong: 0.3,
};

struct Pins {
    /// `rows_i` in lanes of 32, 8 and 16 bits: closed, keys, partners.
    rows: [Pin; 3],
    /// `gates_i` by bit.
    gates: Pin,
    /// `state_o` by bit.
    state: Pin,
    collectives: Pin,
    fold_take: Pin,
    inputs: [Pin; 15],
    wide_inputs: [Pin; 3],
    outputs: [Pin; 11],
    wide_outputs: [Pin; 4],
}

/// Sets of communicators in `state_o` and `gates_i`, by their lowest bit.
const FOLD_CREDIT: usize = 0;
const LEAVING: usize = 32;
const OWES: usize = 64;
const BUSY: usize = 96;
const RESULT_CREDIT: usize = 0;
const COPY_HOLDS: usize = 32;
const PAUSE: usize = 64;

/// A collective as it appears to this stage.
#[derive(Debug, Clone, Default)]
struct Script {
    copies: bool,
    call: Call,
    plan: Plan,
    announce: Announce,
    /// First cycle in which the collective may begin.
    due: u64,
    /// Tokens of the stage before, with whether they are only kept, or only sent.
    tokens: VecDeque<(Token, bool, bool)>,
    /// Copies for the partner, and whether a signature follows.
    to_copy: u32,
    copy_signature: bool,
    /// Expected results and copies of collectives whose members agree.
    combined: VecDeque<(bool, Body)>,
    copied: VecDeque<(bool, Body)>,
    agreed: bool,
}

/// A row of the table, with its traffic outside the stage.
#[derive(Debug, Clone, Default)]
struct Row {
    used: bool,
    shape: Shape,
    /// The collective under way, and the next one.
    now: Script,
    next: Option<Script>,
    /// Phits of the partner, by parity, in order.
    to_come: VecDeque<(u64, bool, Body)>,
    /// Tokens with reserved room that have not arrived.
    flying: u32,
    /// Outstanding signatures and combined data of the present collective.
    left: usize,
    copies_left: usize,
    /// Copies in flight to the partner.
    sending: u32,
    /// Phits that the partner may send, and credits that it has not returned.
    partner_left: u32,
    partner_due: u32,
    ends: Option<u64>,
    begun: u64,
    /// In this cycle the row accepts phits before its first write.
    written: Option<u64>,
}

/// The time before a row is taken out of use: no token comes, and no copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Eve {
    Far,
    /// No collective begins until nothing is under way.
    Quiet,
    /// Until this cycle collectives begin, but no token follows.
    Begins(u64),
}

#[derive(Debug, Default)]
struct Seen {
    collectives: u32,
    retired: u32,
    sent: [u32; 4],
    stale: u32,
    revoked: u32,
    folds: u32,
    full: u32,
    alone: u32,
    wrong: u32,
    announced: u32,
    told: u32,
}

struct Bench {
    dut: Dut,
    pins: Pins,
    rng: Random,
    stage: u64,
    model: Model,
    weather: Weather,
    now: u64,
    rows: Vec<Row>,
    contexts: [Context; ROWS],
    fold_before: u32,
    fold_next: [bool; ROWS],
    coming: VecDeque<(u64, (Token, bool, bool))>,
    /// Copies for the partner, each with its parity.
    sends: VecDeque<(Token, bool)>,
    send_offered: bool,
    /// The time before a row is taken out of use.
    eve: Eve,
    /// The port is closed from the begin of the last collectives until the row is out of use, so announcements wait.
    shut: bool,
    /// The port opens in the cycle before the row is out of use.
    opens: bool,
    /// A row that is to be taken out of use.
    retiring: Option<usize>,
    quiet: u32,
    /// Rows in use at once.
    wanted: usize,
    /// The first row in use, and the distance to the next row.
    first: usize,
    step: usize,
    renew: bool,
    seen: Seen,
    /// Next expected data at the copy unit.
    copied: Option<Body>,
}

impl Bench {
    fn new(stage: u64, name: &'static str) -> Self {
        let operations = [
            Operation::Sum,
            Operation::Band,
            Operation::Bor,
            Operation::Bxor,
            Operation::Sync,
        ];
        let types = [Datatype::I64, Datatype::U32];
        let recipe = Recipe::new("coll_stage", "coll_stage")
            .blocks(&["abi", "common", "fp", "router", "switch"])
            .param("STAGE", stage)
            .param("WINDOW", WINDOW as u64)
            .param("TX_DEPTH", DEPTH as u64)
            .param_bits(
                "OPS",
                9,
                operations.iter().map(|&one| 1 << one as u64).sum(),
            )
            .param_bits("TYPES", 6, types.iter().map(|&one| 1 << one as u64).sum());
        let dut = Dut::start(&recipe);
        let pins = Pins {
            rows: [25, 100, 50].map(|lanes| dut.lanes("rows_i", lanes)),
            gates: dut.lanes("gates_i", PAUSE + 1),
            state: dut.lanes("state_o", BUSY + 1),
            collectives: dut.lanes("collectives_i", 8),
            fold_take: dut.pin("fold_take_i"),
            inputs: [
                "shape_i",
                "events_i",
                "ask_i",
                "ask_take_i",
                "in_valid_i",
                "in_part_i",
                "next_room_i",
                "result_ready_i",
                "copy_take_i",
                "look_row_i",
                "look_take_i",
                "send_valid_i",
                "send_parity_i",
                "tx_ready_i",
                "rx_valid_i",
            ]
            .map(|name| dut.pin(name)),
            wide_inputs: ["in_i", "send_i", "rx_phit_i"].map(|name| dut.lanes(name, LANES)),
            outputs: [
                "report_o",
                "ask_room_o",
                "next_o",
                "next_take_o",
                "out_valid_o",
                "result_valid_o",
                "copy_o",
                "result_take_o",
                "look_credit_o",
                "send_ready_o",
                "tx_valid_o",
            ]
            .map(|name| dut.pin(name)),
            wide_outputs: ["out_o", "result_o", "copy_body_o", "tx_phit_o"]
                .map(|name| dut.lanes(name, LANES)),
        };
        let mut bench = Self {
            dut,
            pins,
            rng: Random::new(name),
            stage,
            model: Model::new(stage, WINDOW, DEPTH),
            weather: CALM,
            now: 0,
            rows: vec![Row::default(); ROWS],
            contexts: [Context::default(); ROWS],
            fold_before: 0,
            fold_next: [false; ROWS],
            coming: VecDeque::new(),
            sends: VecDeque::new(),
            send_offered: false,
            eve: Eve::Far,
            shut: false,
            opens: false,
            retiring: None,
            quiet: 0,
            wanted: 4,
            first: 0,
            step: 1,
            renew: false,
            seen: Seen::default(),
            copied: None,
        };
        bench.reset();
        bench
    }

    fn reset(&mut self) {
        self.model = Model::new(self.stage, WINDOW, DEPTH);
        self.rows = vec![Row::default(); ROWS];
        self.contexts = [Context {
            closed: true,
            credit: true,
            ..Context::default()
        }; ROWS];
        // Partners and keys of rows that are not in use.
        for context in &mut self.contexts {
            context.partner = self.rng.random_range(0..1 << 16);
            context.key = self.rng.random_range(0..1 << 8);
        }
        self.coming.clear();
        self.sends.clear();
        self.send_offered = false;
        self.eve = Eve::Far;
        self.retiring = None;
        self.copied = None;
        self.fold_before = 0;
        self.fold_next = [false; ROWS];
        // In a reset, all that is offered has no effect.
        let row = self.rng.random_range(0..ROWS);
        let token = Token {
            row,
            signature: false,
            body: self.data(0),
        };
        let phit = Phit {
            row,
            kind: self.rng.random_range(0..4),
            key: self.contexts[row].key,
            body: token.body,
            ..Phit::default()
        };
        let mut contexts = self.contexts;
        contexts[row].closed = false;
        let offered = Inputs {
            contexts,
            ask: Ask {
                row,
                ..Ask::default()
            },
            ask_take: true,
            token: Some((token, false, false)),
            look_row: [row; 2],
            look_take: [true; 2],
            send: Some((token, false)),
            rx: Some(phit),
            end: Some(row),
            ..Inputs::default()
        };
        self.drive(&offered);
        self.dut.reset();
        self.drive(&Inputs {
            contexts: self.contexts,
            ..Inputs::default()
        });
    }

    // --------------------------------------------------------------------------------------------
    // Ports
    // --------------------------------------------------------------------------------------------

    fn put(&mut self, pin: Pin, bits: Option<Bits>) {
        for lane in 0..LANES {
            let value = bits.map_or_else(|| self.rng.random(), |bits| bits.lane(lane, LANES));
            self.dut.set(pin, lane, value);
        }
    }

    /// Drives all inputs; inputs that are not valid get random values.
    fn drive(&mut self, inputs: &Inputs) {
        let (mut calls, mut active, mut parity, mut copies) = (Bits::default(), 0u64, 0u64, 0u64);
        let (mut folds, mut closed) = (0u64, 0u64);
        // Lowest first: copies, parity, active, calls.
        for (row, context) in inputs.contexts.iter().enumerate() {
            active |= u64::from(context.active) << row;
            parity |= u64::from(context.parity) << row;
            copies |= u64::from(context.copies) << row;
            folds |= u64::from(context.fold) << row;
            calls = calls
                .with(context.call.opcode, 4)
                .with(context.call.algorithm, 2)
                .with(context.call.operation, 4)
                .with(context.call.datatype, 3);
            // Lowest first: closed, keys, partners.
            let [_, keys, partners] = self.pins.rows;
            closed |= u64::from(context.closed) << row;
            self.dut.set(keys, 4 + row, context.key);
            self.dut.set(partners, 18 + row, context.partner);
            let gates = self.pins.gates;
            let (holds, credit) = (context.holds, context.credit);
            self.dut.set(gates, COPY_HOLDS + row, holds.into());
            self.dut.set(gates, RESULT_CREDIT + row, credit.into());
        }
        self.dut.set(self.pins.rows[0], 0, closed);
        self.dut.set(self.pins.gates, PAUSE, inputs.pause.into());
        let low = Bits::default()
            .with(copies, 32)
            .with(parity, 32)
            .with(active, 32);
        let mut all = [0u64; 8];
        all[0] = low.words[0];
        all[1] = low.words[1] | calls.words[0] << 32;
        for (value, pair) in all[2..].iter_mut().zip(calls.words.windows(2)) {
            *value = pair[0] >> 32 | pair[1] << 32;
        }
        for (lane, value) in all.into_iter().enumerate() {
            self.dut.set(self.pins.collectives, lane, value);
        }
        self.dut.set(self.pins.fold_take, 0, folds);
        let noise: [u64; 6] = self.rng.random();
        let shape = inputs.shape.map_or(noise[0] & 0x7_ffff, |shape| {
            // The notification of this stage's partner, and of others.
            let this = 1 << self.stage;
            let revokes = noise[0] & 0x7f & !this | if shape.revokes { this } else { 0 };
            Bits::default()
                .with(shape.lower.into(), 1)
                .with(shape.upper.into(), 1)
                .with(shape.folds.into(), 1)
                .with(shape.stages, 3)
                .with(revokes, 7)
                .with(shape.flush.into(), 1)
                .with(shape.row as u64, 5)
                .with(1, 1)
                .words[0]
        });
        let pulse =
            |row: Option<usize>, noise: u64| row.map_or(noise & 0x1f, |row| 0x20 | row as u64);
        let plan = inputs.begin.map_or(noise[1], |(_, plan, _)| {
            Bits::default()
                .with(plan.middle, 28)
                .with(plan.high.into(), 1)
                .with(plan.halves.into(), 1)
                .with(plan.keeps.into(), 1)
                .with(plan.sends.into(), 1)
                .words[0]
        });
        let announce = inputs.begin.map_or(noise[1] >> 32, |(_, _, announce)| {
            u64::from(announce.tells) << 12 | announce.flow
        });
        let events = Bits::default()
            .with(pulse(inputs.end, noise[3]), 6)
            .with(announce, 13)
            .with(plan, 32)
            .with(pulse(inputs.begin.map(|begin| begin.0), noise[2]), 6);
        let ask = Bits::default()
            .with(inputs.ask.other.into(), 1)
            .with(inputs.ask.own.into(), 1)
            .with(inputs.ask.signature.into(), 1)
            .with(inputs.ask.row as u64, 5);
        let values = [
            shape,
            events.words[0],
            ask.words[0],
            inputs.ask_take.into(),
            inputs.token.is_some().into(),
            inputs.token.map_or(noise[4], |token| {
                u64::from(token.1) << 1 | u64::from(token.2)
            }),
            inputs.next_room.into(),
            inputs.result_ready.into(),
            inputs.copy_take.into(),
            (inputs.look_row[1] << 5 | inputs.look_row[0]) as u64,
            u64::from(inputs.look_take[1]) << 1 | u64::from(inputs.look_take[0]),
            inputs.send.is_some().into(),
            inputs.send.map_or(noise[5], |send| send.1.into()),
            inputs.tx_ready.into(),
            inputs.rx.is_some().into(),
        ];
        for (pin, value) in self.pins.inputs.into_iter().zip(values) {
            self.dut.set(pin, 0, value);
        }
        let [token, send, rx] = self.pins.wide_inputs;
        self.put(token, inputs.token.map(|token| Bits::of_token(&token.0)));
        self.put(send, inputs.send.map(|send| Bits::of_token(&send.0)));
        self.put(rx, inputs.rx.map(|rx| Bits::of_phit(&rx)));
    }

    fn output(&self, at: usize) -> u64 {
        self.dut.get(self.pins.outputs[at], 0)
    }

    /// The set of communicators in `state_o` whose lowest bit is `low`.
    fn set(&self, low: usize) -> u32 {
        (0..ROWS).fold(0, |set, row| {
            set | (self.dut.get(self.pins.state, low + row) as u32) << row
        })
    }

    fn is_busy(&self) -> bool {
        self.dut.get(self.pins.state, BUSY) == 1
    }

    fn check_wide(&self, at: usize, bits: Bits, what: &str) {
        for lane in 0..LANES {
            assert_eq!(
                self.dut.get(self.pins.wide_outputs[at], lane),
                bits.lane(lane, LANES),
                "cycle {}: {what}, lane {lane}",
                self.now
            );
        }
    }

    /// Compares all outputs with the model. Data is compared only while it is valid.
    fn check(&self, outputs: &Outputs) {
        let now = self.now;
        let is = |at: usize| self.output(at) == 1;
        for (at, expected, what) in [
            (1, outputs.ask_room, "ask_room_o"),
            (3, outputs.next_take.is_some(), "next_take_o"),
            (4, outputs.out.is_some(), "out_valid_o"),
            (5, outputs.result.is_some(), "result_valid_o"),
            (9, outputs.send_ready, "send_ready_o"),
            (10, outputs.tx.is_some(), "tx_valid_o"),
        ] {
            assert_eq!(is(at), expected, "cycle {now}: {what}");
        }
        assert_eq!(self.is_busy(), outputs.busy, "cycle {now}: state_o.busy");
        for (low, expected, what) in [
            (OWES, outputs.owes, "state_o.owes"),
            (LEAVING, outputs.leaving, "state_o.leaving"),
            (FOLD_CREDIT, outputs.fold_credit, "state_o.fold_credit"),
        ] {
            assert_eq!(self.set(low), expected, "cycle {now}: {what}");
        }
        if let Some((row, signature)) = outputs.next_take {
            let next = (row << 3 | usize::from(signature) << 2) as u64;
            assert_eq!(self.output(2), next, "cycle {now}: next_o");
        }
        let copy = self.output(6);
        let (soon, valid) = (copy >> 7 == 1, copy >> 6 & 1 == 1);
        assert_eq!(soon, outputs.copy_soon, "cycle {now}: copy_o.soon");
        assert_eq!(valid, outputs.copy.is_some(), "cycle {now}: copy_o.valid");
        if let Some((row, signature)) = outputs.copy {
            let head = (row << 1 | usize::from(signature)) as u64;
            assert_eq!(copy & 0x3f, head, "cycle {now}: copy_o.head");
        }
        let take = self.output(7);
        assert_eq!(
            take >> 5 == 1,
            outputs.result_take.is_some(),
            "cycle {now}: result_take_o"
        );
        if let Some(row) = outputs.result_take {
            assert_eq!(take, 0x20 | row as u64, "cycle {now}: result_take_o");
        }
        let report = self.output(0);
        assert_eq!(
            report >> 6 == 1,
            outputs.stale,
            "cycle {now}: report_o.stale"
        );
        let row = (report >> 5 & 1 == 1).then_some(report as usize & 0x1f);
        assert_eq!(row, outputs.revoked, "cycle {now}: report_o.revoked");
        let look = outputs.look_credit;
        let look = u64::from(look[1]) << 1 | u64::from(look[0]);
        assert_eq!(self.output(8), look, "cycle {now}: look_credit_o");
        if let Some(out) = &outputs.out {
            self.check_wide(0, Bits::of_token(out), "out_o");
        }
        if let Some(result) = &outputs.result {
            self.check_wide(1, Bits::of_token(result), "result_o");
        }
        if let Some(body) = &outputs.copy_body {
            self.check_wide(2, Bits::of_body(body), "copy_body_o");
        }
        if let Some(phit) = &outputs.tx {
            self.check_wide(3, Bits::of_phit(phit), "tx_phit_o");
        }
    }

    // --------------------------------------------------------------------------------------------
    // Collectives
    // --------------------------------------------------------------------------------------------

    /// A row of the table, of random shape.
    fn write_row(&mut self, row: usize) -> Shape {
        let folds = self.rng.random_bool(0.6);
        let upper = folds && self.rng.random_bool(0.4);
        // The write of a row that accepts phits before its first write does not empty the row.
        let early = self.rng.random_bool(0.3);
        let shape = Shape {
            row,
            flush: !early,
            stages: self.stage + self.rng.random_range(1..=2),
            folds,
            upper,
            lower: folds && !upper && self.rng.random_bool(0.4),
            revokes: false,
        };
        self.rows[row] = Row {
            used: true,
            shape,
            partner_left: CREDITS,
            written: early.then_some(self.now + 30),
            ..Row::default()
        };
        self.contexts[row] = Context {
            partner: self.rng.random_range(0..1 << 16),
            key: (self.contexts[row].key + self.rng.random_range(1..1 << 8)) % (1 << 8),
            credit: true,
            ..Context::default()
        };
        shape
    }

    fn data(&mut self, at: u64) -> Body {
        Body {
            word: at & 0xfff_ffff,
            words: self.rng.random_range(0..16),
            data: self.rng.random(),
        }
    }

    /// The next collective of a row: the actions of all blocks around the stage.
    fn prepare(&mut self, row: usize) {
        let shape = self.rows[row].shape;
        let folds = self.stage == 0 && shape.folds;
        let (takes, lower) = (folds && shape.upper, folds && shape.lower);
        let alone = folds && !takes && !lower;
        let sends_signature = if folds { takes } else { !shape.upper };
        let longest = *[2u64, 6, 20].choose(&mut *self.rng).unwrap_or(&2);
        let length = self.rng.random_range(0..longest);
        // Place in the message.
        let place = self.rng.random_range(0..(1 << 28) - 200);
        let copies = self.rng.random_bool(0.4);
        let (datatype, operation) = *[
            (Datatype::I64, Operation::Sum),
            (Datatype::U32, Operation::Sum),
            (Datatype::U32, Operation::Bor),
            (Datatype::I64, Operation::Band),
            (Datatype::U32, Operation::Bxor),
            (Datatype::I64, Operation::Sync),
        ]
        .choose(&mut *self.rng)
        .unwrap_or(&(Datatype::I64, Operation::Sum));
        // Without combined data, type and operation mean nothing.
        let any = self.rng.random_range(0..1 << 7);
        let (datatype, operation) = if copies || alone {
            (any >> 4, any & 0xf)
        } else {
            (datatype as u64, operation as u64)
        };
        let call = Call {
            datatype,
            operation,
            algorithm: self.rng.random_range(0..4),
            opcode: self.rng.random_range(0..16),
        };
        let mut plan = Plan {
            high: self.rng.random(),
            // Often at the begin of a token, or a word behind.
            middle: if self.rng.random() {
                place + 8 * self.rng.random_range(0..=length) + self.rng.random_range(0..2)
            } else {
                place + self.rng.random_range(0..=8 * length + 8)
            },
            ..Plan::default()
        };
        let mut come: Vec<(u64, Body)> = Vec::new();
        let has_data;
        if takes {
            plan.sends = self.rng.random_bool(0.6);
            has_data = plan.sends;
            for _ in 0..self.rng.random_range(0..longest) {
                let at = self.rng.random();
                come.push((COPY, self.data(at)));
            }
        } else if alone {
            plan.keeps = !copies;
            has_data = plan.keeps;
        } else if copies {
            has_data = false;
            for _ in 0..length {
                let at = self.rng.random();
                come.push((COPY, self.data(at)));
            }
        } else {
            plan.keeps = self.rng.random_bool(0.8);
            plan.sends = !folds && (!plan.keeps || self.rng.random_bool(0.6));
            plan.halves = plan.keeps && plan.sends && self.rng.random_bool(0.8);
            has_data = plan.keeps || plan.sends;
        }
        let mut tokens = VecDeque::new();
        let (mut combined, mut copied) = (VecDeque::new(), VecDeque::new());
        for at in 0..if has_data { length } else { 0 } {
            let body = self.data(place + 8 * at);
            tokens.push_back((
                Token {
                    row,
                    signature: false,
                    body,
                },
                false,
                false,
            ));
            if !plan.divides(&body).0 {
                continue;
            }
            if alone {
                combined.push_back((false, body));
                continue;
            }
            let other = Body {
                data: self.rng.random(),
                ..body
            };
            combined.push_back((false, call.combine(&body, &other)));
            come.push((COMBINE, other));
        }
        let agreed = alone || !self.rng.random_bool(self.weather.wrong);
        if !agreed {
            // The partner sends other data.
            self.seen.wrong += 1;
            if self.rng.random_bool(0.5) {
                come.truncate(self.rng.random_range(0..=come.len()));
            }
            for _ in 0..self.rng.random_range(0..5) {
                let at = self.rng.random_range(0..=come.len());
                let kind = *[COMBINE, COPY].choose(&mut *self.rng).unwrap_or(&COPY);
                let body = self.data(at as u64);
                come.insert(at, (kind, body));
            }
        }
        let signature = Body {
            word: 0,
            words: 15,
            data: self.rng.random(),
        };
        let other = Body {
            data: self.rng.random(),
            ..signature
        };
        let token = Token {
            row,
            signature: true,
            body: signature,
        };
        // A message in parts has two signatures: one is sent, and one is kept.
        let parts = self.stage == 0 && !folds && sends_signature && self.rng.random_bool(0.4);
        match (parts, self.rng.random::<bool>()) {
            (false, _) => tokens.push_back((token, false, false)),
            (true, false) => tokens.extend([(token, true, false), (token, false, true)]),
            (true, true) => tokens.extend([(token, false, true), (token, true, false)]),
        }
        if takes {
            for &(kind, body) in &come {
                if kind == COPY {
                    copied.push_back((false, body));
                }
            }
            copied.push_back((true, other));
        } else if alone {
            combined.push_back((true, signature));
        } else {
            if copies {
                copied.extend(come.iter().map(|&(_, body)| (false, body)));
            }
            combined.push_back((true, both(&signature, &other)));
        }
        let announce = Announce {
            tells: self.rng.random(),
            flow: self.rng.random_range(0..1 << 12),
        };
        let parity = !self.contexts[row].parity;
        let delay = self.rng.random_range(0..=3 * self.weather.flight);
        let state = &mut self.rows[row];
        if !alone {
            come.push((SIGNATURE, other));
            if self.rng.random() {
                let changes = if agreed {
                    0
                } else {
                    1 << self.rng.random_range(0..12)
                };
                let body = Body {
                    word: announce.flow ^ changes,
                    ..signature
                };
                come.insert(0, (ANNOUNCEMENT, body));
            }
        }
        state
            .to_come
            .extend(come.into_iter().map(|(kind, body)| (kind, parity, body)));
        let mut script = Script {
            copies,
            call,
            plan,
            announce,
            due: self.now + delay,
            tokens,
            combined,
            copied,
            agreed,
            ..Script::default()
        };
        // Copies go to a folded label, and to partners that take copies.
        if (copies && !takes && !alone) || lower {
            script.to_copy = self.rng.random_range(0..longest as u32);
        }
        script.copy_signature = lower;
        state.next = Some(script);
    }

    /// Returns whether the present collective has ended at this stage.
    fn is_over(&self, row: usize) -> bool {
        let (state, context) = (&self.rows[row], &self.contexts[row]);
        let next = |parity: bool| parity != context.parity;
        state.now.tokens.is_empty()
            && state.flying == 0
            && state.left == 0
            && state.copies_left == 0
            && state.now.to_copy == 0
            && !state.now.copy_signature
            && state.sending == 0
            && state.to_come.front().is_none_or(|phit| next(phit.1))
    }

    /// Begins and ends collectives, writes rows and takes them out of use.
    fn steer(&mut self, inputs: &mut Inputs) {
        // All tokens and phits in flight arrive, and no collective begins.
        let still =
            self.coming.is_empty() && self.sends.is_empty() && !self.fold_next.contains(&true);
        self.quiet = if still && !self.is_busy() {
            self.quiet + 1
        } else {
            0
        };
        if let Some(row) = self.retiring {
            inputs.pause = true;
            if self.quiet > 3 {
                self.quiet = 0;
                self.retiring = None;
                self.seen.retired += 1;
                inputs.shape = Some(Shape {
                    row,
                    flush: true,
                    revokes: self.rng.random(),
                    ..Shape::default()
                });
                self.rows[row] = Row::default();
                self.contexts[row] = Context {
                    closed: true,
                    key: self.contexts[row].key,
                    credit: true,
                    // Until the pulse is counted.
                    active: self.contexts[row].active,
                    parity: self.contexts[row].parity,
                    ..Context::default()
                };
            }
            return;
        }
        let used: Vec<usize> = (0..ROWS).filter(|&row| self.rows[row].used).collect();
        if used.len() < self.wanted {
            let row = (self.first + self.rng.random_range(0..self.wanted) * self.step) % ROWS;
            if !self.rows[row].used {
                let shape = self.write_row(row);
                inputs.shape = Some(shape).filter(|shape| shape.flush);
                return;
            }
        }
        let early = used.iter().copied();
        let mut early =
            early.filter(|&row| self.rows[row].written.is_some_and(|at| at <= self.now));
        if let Some(row) = early.next() {
            self.rows[row].written = None;
            inputs.shape = Some(self.rows[row].shape);
        }
        let may = self.renew && !used.is_empty() && inputs.shape.is_none();
        match self.eve {
            Eve::Far if may && self.rng.random_bool(self.weather.pause) => {
                self.eve = Eve::Quiet;
                self.quiet = 0;
            }
            Eve::Quiet if self.quiet > 3 => {
                self.eve = Eve::Begins(self.now + self.rng.random_range(0..12));
                self.shut = self.rng.random_bool(0.8);
                self.opens = self.rng.random();
                for next in self.rows.iter_mut().filter_map(|row| row.next.as_mut()) {
                    next.due = self.now;
                    next.announce.tells = true;
                }
            }
            Eve::Begins(end) if may && end <= self.now => {
                // Rows whose announcements may wait.
                let begun = |&row: &usize| {
                    self.contexts[row].active && self.rows[row].begun + 12 >= self.now
                };
                let recent: Vec<usize> = used.iter().copied().filter(begun).collect();
                // The lowest row's announcement is the next to leave.
                let recent = if self.rng.random() {
                    recent.first()
                } else {
                    recent.choose(&mut *self.rng)
                };
                let any = used.choose(&mut *self.rng);
                self.retiring = recent.or(any).copied();
                self.eve = Eve::Far;
                self.quiet = 0;
            }
            _ => {}
        }
        // One row begins in a cycle, and one ends.
        let first = self.rng.random_range(0..ROWS);
        for row in (0..ROWS).map(|at| (first + at) % ROWS) {
            // No collective begins in a row in the cycle of its write.
            if !self.rows[row].used || inputs.shape.is_some_and(|shape| shape.row == row) {
                continue;
            }
            let active = self.contexts[row].active;
            if self.rows[row].next.is_none()
                && (!active || (self.rows[row].ends.is_some() && self.rng.random_bool(0.3)))
            {
                self.prepare(row);
            }
            let leaving = self.set(LEAVING) >> row & 1 == 1;
            let state = &mut self.rows[row];
            let may = !active && inputs.begin.is_none() && !leaving && state.written.is_none();
            let may = may && self.eve != Eve::Quiet;
            let due = |next: &mut Script| may && next.due <= self.now;
            if let Some(script) = state.next.take_if(due) {
                inputs.begin = Some((row, script.plan, script.announce));
                state.left = script.combined.len();
                state.copies_left = script.copied.len();
                if !script.agreed {
                    // The signature is the last output.
                    state.left = usize::from(!script.combined.is_empty());
                    state.copies_left =
                        usize::from(script.copied.back().is_some_and(|last| last.0));
                }
                state.begun = self.now;
                state.now = script;
                self.seen.collectives += 1;
                self.contexts[row].copies = state.now.copies;
                self.contexts[row].call = state.now.call;
            }
            if active && self.rows[row].ends.is_none() && self.is_over(row) {
                let delay = self.rng.random_range(0..=self.weather.flight);
                self.rows[row].ends = Some(self.now + delay);
            }
            if active && inputs.end.is_none() {
                inputs.end = self.rows[row]
                    .ends
                    .take_if(|ends| *ends <= self.now)
                    .map(|_| row);
            }
            assert!(
                !active || self.now < self.rows[row].begun + WATCH,
                "cycle {}: a collective of row {row} does not end: {:?}",
                self.now,
                self.rows[row]
            );
        }
    }

    // --------------------------------------------------------------------------------------------
    // Cycles
    // --------------------------------------------------------------------------------------------

    fn cycle(&mut self) {
        let weather = self.weather;
        let mut inputs = Inputs::default();
        self.steer(&mut inputs);
        let paused = inputs.pause;
        for context in &mut self.contexts {
            if self.rng.random_bool(weather.shift) {
                context.credit = !context.credit;
            }
            if self.rng.random_bool(weather.shift) {
                context.holds = !context.holds;
            }
        }
        if weather.shift == 0.0 || self.retiring.is_some() {
            for context in &mut self.contexts {
                (context.credit, context.holds) = (true, false);
            }
        }
        for row in 0..ROWS {
            self.contexts[row].fold = std::mem::take(&mut self.fold_next[row]);
        }
        inputs.contexts = self.contexts;
        let active: Vec<usize> = (0..ROWS).filter(|&row| self.contexts[row].active).collect();

        let holds = paused || self.eve != Eve::Far;
        // The stage before requests room.
        let asking: Vec<usize> = active
            .iter()
            .copied()
            .filter(|&row| !self.rows[row].now.tokens.is_empty())
            .collect();
        let mut asks = None;
        inputs.ask = Ask {
            row: self.rng.random_range(0..ROWS),
            signature: self.rng.random(),
            ..Ask::default()
        };
        if let Some(&row) = asking.choose(&mut *self.rng)
            && let Some(&(token, own, other)) = self.rows[row].now.tokens.front()
        {
            inputs.ask = Ask {
                row,
                signature: token.signature,
                own,
                other,
            };
            // A signature waits while credits are outstanding.
            let waits = token.signature && self.set(OWES) >> row & 1 == 1;
            asks = (!holds && !waits && self.rng.random_bool(weather.ask)).then_some(row);
        }
        // Tokens with reserved room arrive.
        if self
            .coming
            .front()
            .is_some_and(|coming| coming.0 <= self.now)
        {
            inputs.token = self.coming.pop_front().map(|coming| coming.1);
            if let Some((token, ..)) = inputs.token {
                self.rows[token.row].flying -= 1;
            }
        }
        // The copy unit and the reader request credits.
        let mut copies = [None; 2];
        for user in 0..2 {
            inputs.look_row[user] = self.rng.random_range(0..ROWS);
            let Some(&row) = active.choose(&mut *self.rng) else {
                continue;
            };
            inputs.look_row[user] = row;
            let state = &self.rows[row];
            // Folded rows with results use their credits for these alone.
            let may = state.now.to_copy
                > copies.iter().filter(|copy| **copy == Some(row)).count() as u32
                && !state.now.copy_signature;
            copies[user] = (may && !holds && self.rng.random_bool(weather.copy)).then_some(row);
        }
        if self.sends.front().is_some() && (self.send_offered || self.rng.random_bool(weather.copy))
        {
            inputs.send = self.sends.front().copied();
        }
        self.send_offered = inputs.send.is_some();
        // The partner.
        inputs.rx = self.partner_sends();
        let ends = matches!(self.eve, Eve::Begins(_)) || self.retiring.is_some();
        let opens = self.opens && self.retiring.is_some() && self.quiet == 3;
        let is_closed = ends && self.shut && !self.is_busy() && !opens;
        inputs.tx_ready = !is_closed && self.rng.random_bool(weather.tx_ready);
        inputs.next_room = self.rng.random_bool(weather.next_room);
        inputs.result_ready = self.rng.random_bool(weather.result_ready);

        // Inputs that follow outputs of the same cycle.
        let outputs = self.model.outputs(&inputs);
        inputs.ask_take = asks.is_some() && outputs.ask_room;
        inputs.copy_take = outputs.copy.is_some() && self.rng.random_bool(weather.copy_take);
        for (take, (row, credit)) in inputs
            .look_take
            .iter_mut()
            .zip(copies.iter().zip(outputs.look_credit))
        {
            *take = row.is_some() && credit;
        }
        self.drive(&inputs);
        self.dut.settle();
        self.check(&outputs);
        self.follow(&inputs, &outputs, copies);
        self.dut.clock();
        self.model.clock(&inputs);
        self.now += 1;
    }

    /// A phit of the partner: credits, data of a collective, or a phit that does not belong to this
    /// stage.
    fn partner_sends(&mut self) -> Option<Phit> {
        let weather = self.weather;
        let row = self.rng.random_range(0..ROWS);
        let phit = Phit {
            row,
            key: self.contexts[row].key,
            stage: self.stage,
            dest: self.rng.random_range(0..1 << 16),
            ..Phit::default()
        };
        if self.rng.random_bool(weather.foreign) || !self.rows[row].used {
            if !self.rng.random_bool(weather.foreign) {
                return self.partner_data();
            }
            // Closed rows accept no phit with any key.
            let bit = 1 << self.rng.random_range(0..8);
            let wrong = if self.contexts[row].closed { 0 } else { bit };
            self.seen.stale += 1;
            return Some(Phit {
                key: phit.key ^ wrong,
                kind: self.rng.random_range(0..4),
                parity: self.rng.random(),
                body: self.data(3),
                announces: self.rng.random(),
                ..phit
            });
        }
        // The partner has taken the row out of use. The models of the other blocks ignore this.
        if self.rng.random_bool(0.08 * weather.pay) {
            self.seen.revoked += 1;
            return Some(Phit {
                kind: CREDIT,
                parity: self.rng.random(),
                ..phit
            });
        }
        let due = self.rows[row].partner_due;
        if due > 0 && self.rng.random_bool(weather.pay) {
            let paid = self.rng.random_range(1..=due);
            self.rows[row].partner_due -= paid;
            return Some(Phit {
                kind: CREDIT,
                parity: self.rng.random(),
                body: Body {
                    word: paid.into(),
                    ..Body::default()
                },
                ..phit
            });
        }
        self.partner_data()
    }

    fn partner_data(&mut self) -> Option<Phit> {
        let rows: Vec<usize> = (0..ROWS)
            .filter(|&row| {
                let state = &self.rows[row];
                let first = state.to_come.front().map(|phit| phit.0);
                let free = matches!(first, Some(SIGNATURE | ANNOUNCEMENT));
                free || (first.is_some() && state.partner_left > 0)
            })
            .collect();
        let &row = rows.choose(&mut *self.rng)?;
        if !self.rng.random_bool(self.weather.come) {
            return None;
        }
        let state = &mut self.rows[row];
        let (kind, parity, body) = state.to_come.pop_front()?;
        let announces = kind == ANNOUNCEMENT;
        if announces {
            self.seen.announced += 1;
        } else if kind != SIGNATURE {
            state.partner_left -= 1;
        }
        Some(Phit {
            row,
            kind: if announces { CREDIT } else { kind },
            announces,
            parity,
            key: self.contexts[row].key,
            stage: self.stage,
            body,
            ..Phit::default()
        })
    }

    /// Updates the blocks around the stage from its outputs.
    fn follow(&mut self, inputs: &Inputs, outputs: &Outputs, copies: [Option<usize>; 2]) {
        let now = self.now;
        if inputs.ask_take {
            let row = inputs.ask.row;
            let state = &mut self.rows[row];
            state.flying += 1;
            if let Some(token) = state.now.tokens.pop_front() {
                let last = self.coming.back().map_or(0, |coming| coming.0);
                let flight = self.rng.random_range(1..=self.weather.flight);
                self.coming.push_back(((now + flight).max(last + 1), token));
            }
        }
        for (user, row) in copies.into_iter().enumerate() {
            let Some(row) = row.filter(|_| inputs.look_take[user]) else {
                continue;
            };
            self.copy(row, false);
        }
        for row in 0..ROWS {
            if self.contexts[row].fold {
                self.copy(row, false);
                self.seen.folds += 1;
            }
            let state = &self.rows[row];
            let may = self.contexts[row].active
                && state.now.copy_signature
                && self.retiring.is_none()
                && self.eve == Eve::Far;
            if may && state.now.to_copy == 0 && state.sending == 0 {
                self.copy(row, true);
            } else if may
                && state.now.to_copy > u32::from(self.contexts[row].fold)
                && outputs.fold_credit >> row & 1 == 1
            {
                self.fold_next[row] = self.rng.random_bool(self.weather.fold);
            }
        }
        if inputs.send.is_some() && outputs.send_ready {
            self.send_offered = false;
            if let Some((token, _)) = self.sends.pop_front() {
                self.rows[token.row].sending -= 1;
            }
        }
        if let Some(phit) = outputs.tx.filter(|_| inputs.tx_ready) {
            self.seen.sent[phit.kind as usize] += 1;
            let state = &mut self.rows[phit.row];
            // The partner drops a phit that has waited here since the row was out of use.
            let stale = phit.key != self.contexts[phit.row].key;
            match phit.kind {
                _ if stale => {}
                CREDIT if phit.announces => self.seen.told += 1,
                CREDIT => state.partner_left += phit.body.word as u32,
                SIGNATURE => {}
                _ => state.partner_due += 1,
            }
            assert!(state.partner_left <= CREDITS, "cycle {now}: paid twice");
        }
        if let Some(body) = self.copied.take() {
            assert_eq!(
                outputs.copy_body,
                Some(body),
                "cycle {now}: the copied data"
            );
        }
        if let Some((row, signature)) = outputs.copy.filter(|_| inputs.copy_take) {
            let state = &mut self.rows[row];
            if state.now.agreed {
                let expected = state.now.copied.pop_front();
                assert_eq!(
                    expected.map(|copy| copy.0),
                    Some(signature),
                    "cycle {now}: row {row}"
                );
                self.copied = expected.map(|copy| copy.1);
                state.copies_left -= 1;
            } else if signature {
                state.copies_left -= 1;
            }
        }
        for token in [outputs.out, outputs.result.filter(|_| inputs.result_ready)]
            .into_iter()
            .flatten()
        {
            let state = &mut self.rows[token.row];
            if state.now.agreed {
                let expected = state.now.combined.pop_front();
                assert_eq!(
                    expected,
                    Some((token.signature, token.body)),
                    "cycle {now}: row {}",
                    token.row
                );
                state.left -= 1;
            } else if token.signature {
                state.left -= 1;
            }
            self.seen.alone +=
                u32::from(state.shape.folds && !state.shape.upper && !state.shape.lower);
        }
        self.seen.full += u32::from(!outputs.ask_room);

        // Begins and ends of collectives take effect in the next cycle.
        if let Some((row, ..)) = inputs.begin {
            self.contexts[row].active = true;
            self.contexts[row].parity = !self.contexts[row].parity;
        }
        if let Some(row) = inputs.end {
            self.contexts[row].active = false;
        }
        if let Some(shape) = inputs.shape {
            self.contexts[shape.row].active = false;
            self.contexts[shape.row].parity = false;
        }
    }

    /// A copy for the partner, whose credit is used.
    fn copy(&mut self, row: usize, signature: bool) {
        let at = self.rng.random();
        let body = self.data(at);
        let parity = self.contexts[row].parity;
        let state = &mut self.rows[row];
        if signature {
            state.now.copy_signature = false;
        } else {
            state.now.to_copy -= 1;
        }
        state.sending += 1;
        self.sends.push_back((
            Token {
                row,
                signature,
                body,
            },
            parity,
        ));
    }

    fn cycles(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.cycle();
        }
    }
}

/// All rows, `at_once` at a time, each group for the given number of cycles.
fn random(stage: u64, name: &'static str, at_once: usize, cycles: u64) {
    // The rows of a group are new in each round.
    let groups = (ROWS / at_once).max(8);
    grouped(
        Bench::new(stage, name),
        at_once,
        ROWS / at_once,
        0..groups,
        cycles,
    );
}

/// Rows `step` apart, `at_once` at a time, from each of the first rows on.
fn grouped(
    mut bench: Bench,
    at_once: usize,
    step: usize,
    firsts: impl IntoIterator<Item = usize>,
    cycles: u64,
) {
    let stage = bench.stage;
    bench.wanted = at_once;
    bench.step = step;
    for first in firsts {
        bench.first = first;
        for weather in [CALM, DAM, WINDY, STORM, WINDY] {
            bench.weather = weather;
            bench.renew = weather.pause > 0.0;
            let dammed = weather.result_ready == 0.0;
            bench.cycles(if dammed { 200 } else { soak(cycles) });
        }
        // The reset, in the midst of collectives, leaves nothing behind in the same rows.
        bench.reset();
        bench.cycles(300);
        bench.reset();
    }
    println!("{:?}", bench.seen);
    let seen = &bench.seen;
    assert!(seen.collectives > 100 && seen.retired > 10 && seen.stale > 50 && seen.full > 100);
    assert!(seen.sent.iter().all(|&sent| sent > 100) && seen.wrong > 10 && seen.alone > 20);
    assert!((stage > 0 || seen.folds > 50) && seen.revoked > 4);
    assert!(seen.announced > 50 && seen.told > 50);
}

#[test]
fn few_rows() {
    random(0, "coll_stage_few_rows", 4, 3_000);
}

#[test]
fn some_rows() {
    random(0, "coll_stage_some_rows", 8, 1_500);
}

/// Rows beside each other, each pair of them.
#[test]
fn neighbours() {
    let bench = Bench::new(0, "coll_stage_neighbours");
    grouped(bench, 4, 1, (0..ROWS).step_by(3), 1_000);
}

#[test]
fn one_row() {
    random(0, "coll_stage_one_row", 1, 1_000);
}

#[test]
fn all_rows() {
    random(0, "coll_stage_all_rows", ROWS, 4_000);
}

#[test]
fn second_stage() {
    random(1, "coll_stage_second_stage", 8, 500);
}
