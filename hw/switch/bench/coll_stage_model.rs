//! Cycle-accurate model of a stage of the collective unit: windows, turns, latency of the vector
//! unit, credits, and the path to the partner.

use std::collections::VecDeque;

use alcor_abi::{Datatype, Operation, PhitKind};

pub const ROWS: usize = 32;
/// Places of the results.
const RESULTS: usize = 32;
/// Users of credits in a cycle.
const USERS: u32 = 3;
/// Cycles from the choice of a token to its result.
const LATENCY: usize = 7;

pub const COMBINE: u64 = PhitKind::Combine as u64;
pub const COPY: u64 = PhitKind::Copy as u64;
pub const SIGNATURE: u64 = PhitKind::Signature as u64;
pub const CREDIT: u64 = PhitKind::Credit as u64;

/// Words of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Body {
    pub word: u64,
    pub words: u64,
    pub data: [u64; 4],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Token {
    pub row: usize,
    pub signature: bool,
    pub body: Body,
}

/// Function of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Call {
    pub datatype: u64,
    pub operation: u64,
    pub algorithm: u64,
    pub opcode: u64,
}

impl Call {
    /// The combination of both data.
    pub fn combine(self, own: &Body, other: &Body) -> Body {
        let mut body = *own;
        for (lane, (word, b)) in body.data.iter_mut().zip(other.data).enumerate() {
            let a = *word;
            let syncs = self.operation == Operation::Sync as u64;
            *word = if self.operation == Operation::Band as u64 || (syncs && lane >= 2) {
                a & b
            } else if self.operation == Operation::Bxor as u64 {
                a ^ b
            } else if syncs {
                a.wrapping_add(b)
            } else if self.operation == Operation::Bor as u64 {
                a | b
            } else if self.datatype == Datatype::U32 as u64 {
                let low = (a as u32).wrapping_add(b as u32);
                let high = ((a >> 32) as u32).wrapping_add((b >> 32) as u32);
                u64::from(high) << 32 | u64::from(low)
            } else {
                a.wrapping_add(b)
            };
        }
        body
    }
}

/// Signatures agree bit by bit.
pub fn both(own: &Body, other: &Body) -> Body {
    let band = Call {
        operation: Operation::Band as u64,
        ..Call::default()
    };
    band.combine(own, other)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Plan {
    pub sends: bool,
    pub keeps: bool,
    pub halves: bool,
    pub high: bool,
    pub middle: u64,
}

impl Plan {
    /// Whether data is kept, and sent.
    pub fn divides(self, body: &Body) -> (bool, bool) {
        let low = body.word < self.middle;
        let high = ((body.word + body.words) & 0xfff_ffff) >= self.middle;
        let (mine, theirs) = if self.high { (high, low) } else { (low, high) };
        (
            self.keeps && (mine || !self.halves),
            self.sends && (theirs || !self.halves),
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape {
    pub row: usize,
    pub flush: bool,
    /// The partner of this stage is notified.
    pub revokes: bool,
    pub stages: u64,
    pub folds: bool,
    pub upper: bool,
    pub lower: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ask {
    pub row: usize,
    pub signature: bool,
    pub own: bool,
    pub other: bool,
}

/// A phit on the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Phit {
    pub row: usize,
    pub kind: u64,
    pub parity: bool,
    pub key: u64,
    pub stage: u64,
    pub dest: u64,
    pub call: Call,
    pub body: Body,
    /// With `CREDIT`: the phit announces a collective.
    pub announces: bool,
}

/// Announcement of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Announce {
    /// This board announces the collective.
    pub tells: bool,
    pub flow: u64,
}

/// State of a communicator outside the stage.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context {
    pub partner: u64,
    pub key: u64,
    pub closed: bool,
    pub active: bool,
    pub parity: bool,
    pub copies: bool,
    pub call: Call,
    /// The copy unit holds a phit.
    pub holds: bool,
    /// There is a credit for a result.
    pub credit: bool,
    /// A credit is used for a result.
    pub fold: bool,
}

/// All inputs in a cycle.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    pub contexts: [Context; ROWS],
    pub shape: Option<Shape>,
    pub pause: bool,
    pub begin: Option<(usize, Plan, Announce)>,
    pub end: Option<usize>,
    pub ask: Ask,
    pub ask_take: bool,
    /// With whether the token is only kept, or only sent.
    pub token: Option<(Token, bool, bool)>,
    pub next_room: bool,
    pub result_ready: bool,
    pub copy_take: bool,
    pub look_row: [usize; 2],
    pub look_take: [bool; 2],
    /// With its parity.
    pub send: Option<(Token, bool)>,
    pub rx: Option<Phit>,
    pub tx_ready: bool,
}

/// All outputs in a cycle.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outputs {
    pub busy: bool,
    pub stale: bool,
    pub revoked: Option<usize>,
    pub owes: u32,
    pub leaving: u32,
    pub ask_room: bool,
    pub next_take: Option<(usize, bool)>,
    pub out: Option<Token>,
    pub result: Option<Token>,
    pub copy_soon: bool,
    pub copy: Option<(usize, bool)>,
    /// The phit that was last taken out of the window.
    pub copy_body: Option<Body>,
    pub result_take: Option<usize>,
    pub fold_credit: u32,
    pub look_credit: [bool; 2],
    pub send_ready: bool,
    pub tx: Option<Phit>,
}

/// Action of the chosen communicator.
#[derive(Debug, Clone, Copy, Default)]
struct Act {
    copy: bool,
    matches: bool,
    alone: bool,
    drop_head: bool,
    drop_own: bool,
    combine: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Arrival {
    kind: u64,
    parity: bool,
    body: Body,
}

#[derive(Debug, Clone, Default)]
struct Row {
    shape: Shape,
    plan: Plan,
    arrived: VecDeque<Arrival>,
    own: VecDeque<(bool, Body)>,
    /// The head was examined, and is no phit to copy.
    passed: bool,
    nap: bool,
    left: u32,
    stored: u32,
    unpaid: u32,
    owes: bool,
    leaving: bool,
    /// The announcement of the present collective has not left.
    due: bool,
    flow: u64,
    /// The partner's last announcement: its parity and call, and whether it came before the collective began here.
    heard: (bool, u64),
    ahead: bool,
    /// The partner's call differs.
    spoilt: bool,
}

/// A tap: parity and token.
type Tap = (bool, Token);

/// Changes that are counted one cycle later.
#[derive(Debug, Clone, Default)]
struct Kept {
    tapped: Option<usize>,
    looked: [Option<usize>; 2],
    reserved: Option<usize>,
    unsent: Option<usize>,
    unkept: Option<usize>,
    freed: Option<usize>,
    popped: Option<usize>,
    returned: Option<(usize, u32)>,
}

#[derive(Debug, Clone)]
pub struct Model {
    stage: u64,
    window: u32,
    depth: usize,
    rows: Vec<Row>,
    kept: Kept,
    pick: Option<usize>,
    pick_row: usize,
    above: u32,
    time: u32,
    /// Chosen tokens by cycle, with whether they are results.
    chosen: VecDeque<Option<(Token, bool)>>,
    results: VecDeque<Token>,
    results_count: usize,
    copy_body: Option<Body>,
    taps: VecDeque<Tap>,
    taps_count: usize,
    tap_returned: bool,
    turn: bool,
    tx: Option<Phit>,
    pay: Option<usize>,
    tell: Option<usize>,
}

fn lowest(rows: u32) -> Option<usize> {
    (rows != 0).then(|| rows.trailing_zeros() as usize)
}

impl Model {
    pub fn new(stage: u64, window: usize, depth: usize) -> Self {
        let window = window as u32;
        Self {
            stage,
            window,
            depth,
            rows: vec![
                Row {
                    left: window - 2,
                    ..Row::default()
                };
                ROWS
            ],
            kept: Kept::default(),
            pick: None,
            pick_row: 0,
            above: 0,
            time: 0,
            chosen: vec![None; LATENCY].into(),
            results: VecDeque::new(),
            results_count: 0,
            copy_body: None,
            taps: VecDeque::new(),
            taps_count: 0,
            tap_returned: false,
            turn: false,
            tx: None,
            pay: None,
            tell: None,
        }
    }

    fn set(&self, is: impl Fn(&Row) -> bool) -> u32 {
        (0..ROWS)
            .filter(|&row| is(&self.rows[row]))
            .fold(0, |set, row| set | 1 << row)
    }

    fn takes(&self, row: usize) -> bool {
        self.stage == 0 && self.rows[row].shape.upper
    }

    fn is_alone(&self, row: usize) -> bool {
        let shape = self.rows[row].shape;
        self.stage == 0 && shape.folds && !shape.upper && !shape.lower
    }

    fn is_final(&self, row: usize) -> bool {
        self.rows[row].shape.stages == self.stage + 1
    }

    /// Whether a signature is kept, and sent.
    fn divides_signature(&self, row: usize, own: bool, other: bool) -> (bool, bool) {
        let shape = self.rows[row].shape;
        let folds = self.stage == 0 && shape.folds;
        let keeps = !(self.stage == 0 && shape.upper);
        let sends = if folds { shape.upper } else { !shape.upper };
        (keeps && !other, sends && !own)
    }

    fn act(&self, inputs: &Inputs) -> Act {
        let mut act = Act::default();
        let Some(row) = self.pick.filter(|&row| inputs.contexts[row].active) else {
            return act;
        };
        let (context, state) = (&inputs.contexts[row], &self.rows[row]);
        let own = state.own.front().map(|&(signature, _)| signature);
        match (state.arrived.front(), own) {
            (Some(head), _)
                if head.parity == context.parity && state.spoilt && head.kind != SIGNATURE =>
            {
                act.drop_head = true;
            }
            (Some(head), own) if head.parity == context.parity => match (head.kind, own) {
                (COMBINE, _) if self.takes(row) => act.drop_head = true,
                (_, _) if self.takes(row) => act.copy = true,
                (COPY, _) if context.copies => act.copy = true,
                (COPY, _) => act.drop_head = true,
                (COMBINE, _) if context.copies => act.drop_head = true,
                (COMBINE, Some(true)) => act.drop_head = true,
                (COMBINE, Some(false)) | (_, Some(true)) => act.matches = true,
                (COMBINE, None) | (_, None) => {}
                (_, Some(false)) => act.drop_own = true,
            },
            (None, Some(_)) => act.alone = self.is_alone(row),
            _ => {}
        }
        act.drop_own |= state.spoilt && own == Some(false);
        let signature = own == Some(true);
        let room = if self.is_final(row) {
            self.results_count < RESULTS && (context.credit || signature)
        } else {
            inputs.next_room
        };
        act.combine = (act.matches || act.alone) && room && !(signature && context.holds);
        act
    }

    fn candidates(&self, inputs: &Inputs) -> (u32, u32) {
        let (mut copyable, mut all) = (0, 0);
        for (row, state) in self.rows.iter().enumerate() {
            let context = &inputs.contexts[row];
            let arrived = !state.arrived.is_empty();
            let copies = arrived && (context.copies || self.takes(row)) && !state.passed;
            let own = !state.own.is_empty() && (arrived || self.is_alone(row));
            copyable |= u32::from(context.active && copies) << row;
            let drops = state.spoilt && (arrived || !state.own.is_empty());
            all |= u32::from(context.active && (copies || own || drops)) << row;
        }
        (copyable, all)
    }

    fn has_credit(&self, row: usize) -> bool {
        let used = self.kept.tapped == Some(row) || self.kept.looked.contains(&Some(row));
        self.rows[row].left >= if used { 2 * USERS } else { USERS }
    }

    fn is_copy_next(&self, inputs: &Inputs) -> bool {
        let urgent = self.tell.is_some() || self.pay.is_some();
        !urgent && inputs.send.is_some() && (self.taps.is_empty() || self.turn)
    }

    pub fn outputs(&self, inputs: &Inputs) -> Outputs {
        let act = self.act(inputs);
        let ask = inputs.ask;
        let places = self.window
            - if self.kept.reserved == Some(ask.row) {
                2
            } else {
                1
            };
        let free = self.tx.is_none() || inputs.tx_ready;
        let out = self.chosen[LATENCY - 1];
        let signature = |row: usize| self.rows[row].own.front().is_some_and(|own| own.0);
        Outputs {
            busy: self.pick.is_some()
                || self.chosen.iter().flatten().any(|chosen| !chosen.1)
                || self.results_count > 0
                || self.taps_count > 0,
            stale: inputs.rx.is_some_and(|rx| !self.is_fresh(inputs, &rx)),
            revoked: inputs
                .rx
                .filter(|rx| self.is_fresh(inputs, rx) && rx.kind == CREDIT && !rx.announces)
                .filter(|rx| rx.body.word == 0)
                .map(|rx| rx.row),
            owes: self.set(|row| row.owes),
            leaving: self.set(|row| row.leaving),
            ask_room: (self.has_credit(ask.row) || ask.signature)
                && self.rows[ask.row].stored < places
                && self.taps_count < self.depth,
            next_take: self
                .pick
                .filter(|&row| act.combine && !self.is_final(row))
                .map(|row| (row, signature(row))),
            out: out.filter(|out| !out.1).map(|out| out.0),
            result: self.results.front().copied(),
            copy_soon: self.candidates(inputs).0 != 0,
            copy: self.pick.filter(|_| act.copy).map(|row| {
                let head = self.rows[row].arrived.front();
                (row, head.is_some_and(|head| head.kind == SIGNATURE))
            }),
            copy_body: self.copy_body,
            result_take: self.chosen[0]
                .filter(|chosen| chosen.1 && !chosen.0.signature)
                .map(|chosen| chosen.0.row),
            fold_credit: self.set(|row| row.left >= USERS),
            look_credit: inputs.look_row.map(|row| self.has_credit(row)),
            send_ready: self.is_copy_next(inputs) && free,
            tx: self.tx,
        }
    }

    fn is_fresh(&self, inputs: &Inputs, rx: &Phit) -> bool {
        let context = &inputs.contexts[rx.row];
        rx.key == context.key && !context.closed
    }

    /// The clock edge.
    pub fn clock(&mut self, inputs: &Inputs) {
        let act = self.act(inputs);
        let (_, candidates) = self.candidates(inputs);
        let pops_head =
            (act.copy && inputs.copy_take) || act.drop_head || (act.combine && act.matches);
        let pops_own = act.combine || act.drop_own;
        let mut kept = Kept::default();

        // The vector unit, and results.
        if let Some((token, true)) = self.chosen.pop_back().flatten() {
            // A pushed entry is visible in the next cycle; a taken entry was visible before.
            self.results.push_back(token);
            if inputs.result_ready && self.results.len() > 1 {
                self.results.pop_front();
                self.results_count -= 1;
            }
        } else if inputs.result_ready && self.results.pop_front().is_some() {
            self.results_count -= 1;
        }
        let mut chosen = None;
        if let Some(row) = self.pick {
            let passes = inputs.contexts[row].active && !self.rows[row].arrived.is_empty();
            let is_final = self.is_final(row);
            let state = &mut self.rows[row];
            let head = if pops_head {
                state.arrived.pop_front()
            } else {
                None
            };
            let own = if pops_own {
                state.own.pop_front()
            } else {
                None
            };
            if passes && !act.copy {
                state.passed = true;
            }
            if let Some(head) = head {
                state.passed = false;
                self.copy_body = Some(head.body);
                kept.popped = (head.kind != SIGNATURE).then_some(row);
            }
            if let Some((signature, own)) = own {
                kept.freed = Some(row);
                if act.combine {
                    let body = match head {
                        Some(head) if signature => both(&own, &head.body),
                        Some(head) => inputs.contexts[row].call.combine(&own, &head.body),
                        None => own,
                    };
                    let token = Token {
                        row,
                        signature,
                        body,
                    };
                    chosen = Some((token, is_final));
                    self.results_count += usize::from(is_final);
                }
            }
        }
        self.chosen.push_front(chosen);

        self.choose(
            if inputs.pause { 0 } else { candidates },
            self.pick.is_some() && !pops_head && !pops_own,
        );
        if let Some(row) = inputs.end {
            self.rows[row].passed = false;
        }

        // The path to the partner.
        let free = self.tx.is_none() || inputs.tx_ready;
        let from_copy = self.is_copy_next(inputs);
        let tells = self.tell.filter(|_| free);
        let pays = self.pay.filter(|_| free && self.tell.is_none());
        let urgent = self.tell.is_some() || self.pay.is_some();
        let some = urgent || !self.taps.is_empty() || inputs.send.is_some();
        let mut leaves = false;
        if free {
            self.tx = None;
            let phit = |token: &Token, kind, parity| Phit {
                row: token.row,
                kind: if token.signature { SIGNATURE } else { kind },
                parity,
                key: inputs.contexts[token.row].key,
                stage: self.stage,
                dest: inputs.contexts[token.row].partner,
                call: inputs.contexts[token.row].call,
                body: token.body,
                announces: false,
            };
            if let Some(row) = tells {
                let body = Body {
                    word: self.rows[row].flow,
                    ..Body::default()
                };
                let token = Token {
                    row,
                    signature: false,
                    body,
                };
                self.tx = Some(Phit {
                    announces: true,
                    ..phit(&token, CREDIT, inputs.contexts[row].parity)
                });
            } else if let Some(row) = pays {
                let body = Body {
                    word: self.rows[row].unpaid.into(),
                    ..Body::default()
                };
                let token = Token {
                    row,
                    signature: false,
                    body,
                };
                self.tx = Some(phit(&token, CREDIT, false));
            } else if from_copy {
                self.tx = inputs
                    .send
                    .map(|(token, parity)| phit(&token, COPY, parity));
            } else if let Some((parity, token)) = self.taps.pop_front() {
                self.tx = Some(phit(&token, COMBINE, parity));
                leaves = true;
                if token.signature {
                    self.rows[token.row].leaving = false;
                }
            }
            if some && !urgent {
                self.turn = !from_copy;
            }
        }
        self.taps_count -= usize::from(leaves) + usize::from(self.tap_returned);
        self.tap_returned = false;

        // Tokens, and room for them.
        let ask = inputs.ask;
        if inputs.ask_take {
            let plan = self.rows[ask.row].plan;
            let (keeps, sends) = if ask.signature {
                self.divides_signature(ask.row, ask.own, ask.other)
            } else {
                (plan.keeps, plan.sends)
            };
            kept.tapped = (sends && !ask.signature).then_some(ask.row);
            kept.reserved = keeps.then_some(ask.row);
            self.taps_count += usize::from(sends);
        }
        for (kept, (row, take)) in kept
            .looked
            .iter_mut()
            .zip(inputs.look_row.iter().zip(inputs.look_take))
        {
            *kept = take.then_some(*row);
        }
        let emptied = inputs.shape.filter(|shape| shape.flush);
        if let Some(shape) = emptied {
            self.rows[shape.row].arrived.clear();
            self.rows[shape.row].own.clear();
        }
        if let Some((token, own, other)) = inputs.token {
            let plan = self.rows[token.row].plan;
            let (keeps, sends) = if token.signature {
                self.divides_signature(token.row, own, other)
            } else {
                plan.divides(&token.body)
            };
            if !token.signature {
                kept.unkept = (plan.keeps && !keeps).then_some(token.row);
                kept.unsent = (plan.sends && !sends).then_some(token.row);
            }
            self.tap_returned = kept.unsent.is_some();
            let state = &mut self.rows[token.row];
            if keeps {
                state.own.push_back((token.signature, token.body));
            }
            if sends {
                state.leaving |= token.signature;
                self.taps
                    .push_back((inputs.contexts[token.row].parity, token));
            }
        }
        if let Some(rx) = inputs.rx.filter(|rx| self.is_fresh(inputs, rx)) {
            if rx.announces && rx.kind == CREDIT {
                // Counted below.
            } else if rx.kind == CREDIT {
                kept.returned = Some((rx.row, rx.body.word as u32));
            } else {
                self.rows[rx.row].arrived.push_back(Arrival {
                    kind: rx.kind,
                    parity: rx.parity,
                    body: rx.body,
                });
            }
        }
        self.count(inputs, pays);
        self.announce(inputs, tells);
        self.kept = kept;

        // Roles.
        if let Some(shape) = inputs.shape {
            self.rows[shape.row].shape = shape;
            self.rows[shape.row].passed = false;
        }
        if let Some((row, plan, _)) = inputs.begin {
            self.rows[row].plan = plan;
        }
    }

    /// Announcements to the partner and of the partner.
    fn announce(&mut self, inputs: &Inputs, tells: Option<usize>) {
        let written = inputs.shape.map(|shape| shape.row);
        let due = lowest(self.set(|row| row.due));
        if let Some(row) = self.tell {
            if tells.is_some() || written == Some(row) {
                self.tell = None;
            }
        } else {
            self.tell = due.filter(|&row| written != Some(row));
        }
        if let Some(row) = tells {
            self.rows[row].due = false;
        }
        let heard = inputs
            .rx
            .filter(|rx| self.is_fresh(inputs, rx) && rx.kind == CREDIT && rx.announces);
        if let Some((row, _, announce)) = inputs.begin {
            let stage = self.stage;
            let parity = inputs.contexts[row].parity;
            let state = &mut self.rows[row];
            let shape = state.shape;
            let sends = if stage == 0 && shape.folds {
                shape.upper
            } else {
                !shape.upper
            };
            state.due |= announce.tells && sends && stage < shape.stages;
            state.flow = announce.flow;
            let told = match heard.filter(|rx| rx.row == row) {
                Some(rx) => Some(rx.body.word),
                None => Some(state.heard.1).filter(|_| state.ahead && state.heard.0 != parity),
            };
            state.spoilt = told.is_some_and(|told| told != announce.flow);
            state.ahead = false;
        }
        if let Some(rx) = heard {
            let context = &inputs.contexts[rx.row];
            let begins = inputs.begin.is_some_and(|begin| begin.0 == rx.row);
            let state = &mut self.rows[rx.row];
            state.heard = (rx.parity, rx.body.word);
            if context.active && rx.parity == context.parity {
                state.spoilt |= rx.body.word != state.flow;
            } else if !begins {
                state.ahead = true;
            }
        }
        if let Some(shape) = inputs.shape {
            let state = &mut self.rows[shape.row];
            state.due = false;
            state.ahead &= !shape.flush;
        }
    }

    /// The choice of the next cycle.
    fn choose(&mut self, candidates: u32, failed: bool) {
        let naps = self.set(|row| row.nap);
        let awake = candidates & !naps;
        let this = 1 << self.pick_row;
        let others = if failed { awake & !this } else { awake };
        let row = lowest(awake & self.above)
            .or(lowest(others))
            .or(lowest(candidates & self.above))
            .or(lowest(candidates));
        let clears = self.time == 0 || others == 0;
        for state in &mut self.rows {
            state.nap &= !clears;
        }
        if failed && others != 0 {
            self.rows[self.pick_row].nap = true;
        }
        self.time = (self.time + 1) % 16;
        self.pick = row;
        if let Some(row) = row {
            self.pick_row = row;
            self.above = (!1u32) << row;
        }
    }

    /// Counts credits, places and returned credits.
    fn count(&mut self, inputs: &Inputs, pays: Option<usize>) {
        let written = inputs.shape.map(|shape| shape.row);
        // The receiver of the next credit is chosen a cycle earlier.
        let due = lowest(self.set(|row| row.owes));
        if let Some(row) = self.pay {
            if pays.is_some() || written == Some(row) {
                self.pay = None;
            }
        } else {
            self.pay = due.filter(|&row| written != Some(row));
        }
        let kept = &self.kept;
        for (at, row) in self.rows.iter_mut().enumerate() {
            let is = |kept: Option<usize>| u32::from(kept == Some(at));
            let returned = kept.returned.filter(|kept| kept.0 == at);
            row.left += returned.map_or(0, |kept| kept.1) + is(kept.unsent);
            row.left -= is(kept.tapped)
                + is(kept.looked[0])
                + is(kept.looked[1])
                + u32::from(inputs.contexts[at].fold);
            row.stored += is(kept.reserved);
            row.stored -= is(kept.unkept) + is(kept.freed);
            if pays == Some(at) {
                (row.unpaid, row.owes) = (0, false);
            }
            row.unpaid += is(kept.popped);
            row.owes |= row.unpaid >= self.window / 4;
            row.owes |= inputs.end == Some(at) && row.unpaid != 0;
            if written == Some(at) {
                row.left = self.window - 2;
                let revokes = inputs.shape.is_some_and(|shape| shape.revokes);
                (row.stored, row.unpaid, row.owes) = (0, 0, revokes);
            }
        }
    }
}
