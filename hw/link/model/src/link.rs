//! Two ends, the wire between them, their boards' resets, and faults.

use std::collections::VecDeque;

use alcor_reach::Protocol;

use crate::{Broken, End, Frame, Rules, Session, Sizes};

/// Number of faults of each kind, at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Frames that disappear.
    pub losses: u8,
    /// Frames whose checksum is wrong.
    pub damages: u8,
    /// Frames that arrive twice.
    pub repeats: u8,
    /// Falls of the link, which lose the frames on the wire.
    pub falls: u8,
    /// Resets of one board, which gets the key of the run again.
    pub resets: u8,
    /// Losses of power of one board. The board counts from 0 again, and gets a key in a new run.
    pub outages: u8,
    /// New runs: both boards are reset, in any order, and then get a new key, in any order.
    pub runs: u8,
}

/// An end of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// One.
    Left,
    /// The other.
    Right,
}

impl Side {
    /// Both ends.
    pub const BOTH: [Side; 2] = [Side::Left, Side::Right];

    fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }
}

/// The link.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// The ends.
    pub ends: [End; 2],
    /// Frames on their way to each end.
    pub wires: [VecDeque<Frame>; 2],
    /// Faults that may still happen.
    pub left: Budget,
    /// Key of the run.
    run: u8,
    /// Boards that a new run has not reset.
    unreset: [bool; 2],
    /// Boards that lost power, and take no part in the run.
    dark: [bool; 2],
    starts: u32,
    /// Fact: a board was reset alone since the run has begun.
    disturbed: bool,
    /// The first broken property.
    pub broken: Option<Broken>,
}

/// A step of one end, of the wire or of the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A frame with a number is sent.
    Send(Side),
    /// A frame without a number is sent.
    Tell(Side),
    /// A frame arrives.
    Hear(Side),
    /// The timer of the last frame ends.
    Expire(Side),
    /// The host writes PLACE.
    Key(Side),
    /// A new run resets a board.
    Prepare(Side),
    /// A frame to this end disappears.
    Lose(Side),
    /// A frame to this end is damaged.
    Damage(Side),
    /// A frame to this end arrives twice.
    Repeat(Side),
    /// The link goes down and comes up again.
    Fall,
    /// One board is reset.
    Reset(Side),
    /// One board loses its power, and its count of resets.
    Outage(Side),
    /// A new run begins.
    Run,
}

/// The model: sizes, rules and faults.
#[derive(Debug, Clone)]
pub struct Link {
    /// Sizes of the protocol.
    pub sizes: Sizes,
    /// Rules of the protocol.
    pub rules: Rules,
    /// Faults.
    pub budget: Budget,
}

impl Protocol for Link {
    type State = State;
    type Action = Action;
    type Broken = Broken;

    /// The state in which the host of a first run has reset both boards.
    fn start(&self) -> State {
        State {
            ends: [
                End::new(0, 0, self.sizes.phits[0]),
                End::new(0, 1, self.sizes.phits[1]),
            ],
            wires: [VecDeque::new(), VecDeque::new()],
            left: self.budget,
            run: 1,
            unreset: [false; 2],
            dark: [false; 2],
            starts: 2,
            disturbed: false,
            broken: None,
        }
    }

    /// Whether everything has arrived, or a new run is needed: an end reports that the other board
    /// was reset, or a board lost power.
    fn is_done(&self, state: &State) -> bool {
        let is_whole = |end: &End| end.session == Session::Open && end.is_settled();
        let is_stale = |end: &End| end.session == Session::Stale;
        state.ends.iter().all(is_whole)
            || state.ends.iter().any(is_stale)
            || state.dark != [false; 2]
    }

    /// Calls `each` with every step that is possible.
    fn steps(&self, state: &State, mut each: impl FnMut(Action)) {
        if state.broken.is_some() {
            return;
        }
        let is_reset = state.unreset == [false; 2];
        for side in Side::BOTH {
            let at = side as usize;
            let (end, wire) = (&state.ends[at], &state.wires[at]);
            let has_room = state.wires[side.other() as usize].len() < self.sizes.wire;
            let left = &state.left;
            let is_begun = is_reset && end.epoch.key != 0;
            let can_begin = is_reset || !(self.rules.resets_first || state.unreset[at]);
            let is_waiting = end.epoch.key == 0 && !state.dark[at];
            let steps = [
                (Action::Send(side), has_room && end.can_send(&self.sizes)),
                (Action::Tell(side), has_room && end.can_tell(&self.sizes)),
                (Action::Hear(side), !wire.is_empty()),
                (Action::Expire(side), end.can_expire(&self.rules)),
                (Action::Key(side), can_begin && is_waiting),
                (Action::Prepare(side), state.unreset[at]),
                (Action::Lose(side), left.losses > 0 && !wire.is_empty()),
                (
                    Action::Damage(side),
                    left.damages > 0 && wire.front().is_some_and(|frame| !frame.damaged),
                ),
                (
                    Action::Repeat(side),
                    left.repeats > 0 && !wire.is_empty() && wire.len() < self.sizes.wire,
                ),
                (Action::Reset(side), left.resets > 0 && is_begun),
                (Action::Outage(side), left.outages > 0 && is_begun),
            ];
            steps
                .into_iter()
                .filter(|(_, is_possible)| *is_possible)
                .for_each(|(step, _)| each(step));
        }
        if state.left.falls > 0 {
            each(Action::Fall);
        }
        if state.left.runs > 0 && is_reset {
            each(Action::Run);
        }
    }

    /// Takes a step.
    fn step(&self, state: &mut State, action: Action) {
        match action {
            Action::Send(side) => {
                let frame = state.ends[side as usize].send(&self.sizes);
                state.wires[side.other() as usize].push_back(frame);
            }
            Action::Tell(side) => {
                let frame = state.ends[side as usize].tell();
                state.wires[side.other() as usize].push_back(frame);
            }
            Action::Hear(side) => self.hear(state, side),
            Action::Expire(side) => state.ends[side as usize].expire(),
            Action::Key(side) => state.ends[side as usize].set_key(state.run),
            Action::Prepare(side) => {
                self.reset(state, side);
                state.unreset[side as usize] = false;
                state.dark[side as usize] = false;
                state.disturbed &= state.unreset != [false; 2];
            }
            Action::Lose(side) => {
                state.left.losses -= 1;
                state.wires[side as usize].pop_front();
            }
            Action::Damage(side) => {
                state.left.damages -= 1;
                if let Some(frame) = state.wires[side as usize].front_mut() {
                    frame.damaged = true;
                }
            }
            Action::Repeat(side) => {
                state.left.repeats -= 1;
                let wire = &mut state.wires[side as usize];
                if let Some(&frame) = wire.front() {
                    wire.push_front(frame);
                }
            }
            Action::Fall => {
                state.left.falls -= 1;
                for (end, wire) in state.ends.iter_mut().zip(&mut state.wires) {
                    wire.clear();
                    end.fall(&self.rules);
                }
            }
            Action::Reset(side) => {
                state.left.resets -= 1;
                self.reset(state, side);
                state.disturbed = true;
            }
            Action::Outage(side) => {
                state.left.outages -= 1;
                self.reset(state, side);
                state.ends[side as usize].epoch.resets = 0;
                state.wires = [VecDeque::new(), VecDeque::new()];
                state.ends[side.other() as usize].fall(&self.rules);
                state.dark[side as usize] = true;
                state.disturbed = true;
            }
            Action::Run => {
                state.left.runs -= 1;
                state.run = state.run % u8::MAX + 1;
                state.unreset = [true; 2];
                // The boards are reset one after the other.
                state.disturbed = true;
            }
        }
    }

    fn broken(state: &State) -> Option<Broken> {
        state.broken
    }

    fn is_from_outside(action: Action) -> bool {
        matches!(
            action,
            Action::Lose(_)
                | Action::Damage(_)
                | Action::Repeat(_)
                | Action::Fall
                | Action::Reset(_)
                | Action::Outage(_)
                | Action::Run
        )
    }
}

impl Link {
    fn hear(&self, state: &mut State, side: Side) {
        let Some(frame) = state.wires[side as usize].pop_front() else {
            return;
        };
        let end = &mut state.ends[side as usize];
        let heard = end.hear(&frame, &self.sizes, &self.rules);
        let is_closed = end.session == Session::Stale;
        state.broken = state.broken.or(heard.err());
        let (here, there) = (
            &state.ends[side as usize],
            &state.ends[side.other() as usize],
        );
        let is_with = here.with() == Some(there.start) && there.with() == Some(here.start);
        if is_with && here.forgotten(&self.sizes) > there.received {
            state.broken = state.broken.or(Some(Broken::Forgotten));
        }
        if is_closed && !state.disturbed {
            state.broken = state.broken.or(Some(Broken::Closed));
        }
    }

    fn reset(&self, state: &mut State, side: Side) {
        let end = &mut state.ends[side as usize];
        let resets = (end.epoch.resets + 1) & (self.sizes.resets - 1);
        *end = End::new(resets, state.starts, self.sizes.phits[side as usize]);
        state.starts += 1;
    }
}
