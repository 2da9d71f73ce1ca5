//! All states of a protocol's model, and whether the protocol can always finish.
#![warn(missing_docs)]

use std::collections::HashMap;
use std::fmt::{Debug, Display, Write};
use std::hash::Hash;

use stateright::{Checker, Model, Property, StateRecorder};

/// A protocol as a state machine.
pub trait Protocol: Clone + Send + Sync + 'static {
    /// The state of all parts together.
    type State: Clone + Debug + Eq + Hash + Send + Sync + 'static;
    /// A step of one part, or a fault.
    type Action: Copy + Debug + PartialEq + Send + Sync + 'static;
    /// A broken property.
    type Broken: Copy + Debug + Display;

    /// Returns the first state.
    fn start(&self) -> Self::State;

    /// Returns whether the protocol has reached its end.
    fn is_done(&self, state: &Self::State) -> bool;

    /// Calls `each` with every possible step. A broken state has no step.
    fn steps(&self, state: &Self::State, each: impl FnMut(Self::Action));

    /// Takes a step.
    fn step(&self, state: &mut Self::State, action: Self::Action);

    /// Returns the broken property.
    fn broken(state: &Self::State) -> Option<Self::Broken>;

    /// Returns whether the step is a fault, or a decision of the hosts: the protocol can't rely on
    /// it, nor on its absence.
    fn is_from_outside(_action: Self::Action) -> bool {
        false
    }
}

/// A protocol in the form of `stateright`.
#[derive(Clone)]
struct Checked<P>(P);

impl<P: Protocol> Model for Checked<P> {
    type State = P::State;
    type Action = P::Action;

    fn init_states(&self) -> Vec<P::State> {
        vec![self.0.start()]
    }

    fn actions(&self, state: &P::State, actions: &mut Vec<P::Action>) {
        self.0.steps(state, |action| actions.push(action));
    }

    fn next_state(&self, state: &P::State, action: P::Action) -> Option<P::State> {
        let mut next = state.clone();
        self.0.step(&mut next, action);
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("nothing is broken", |_, state| {
            P::broken(state).is_none()
        })]
    }
}

/// Result of an exhaustive check.
#[derive(Debug)]
pub struct Explored<B> {
    /// Number of different states.
    pub states: usize,
    /// Number of states in which the protocol is done.
    pub done: usize,
    /// The broken property.
    pub broken: Option<B>,
    /// Text of the failure: the shortest way to a broken property, or a state from which no way
    /// without further faults leads to the end.
    pub failure: Option<String>,
}

/// Visits all states that a protocol can reach. From each state it looks for a way without further
/// faults to the end.
///
/// # Panics
/// If the recorder of states is used elsewhere, which it is not.
#[must_use]
pub fn explore<P: Protocol>(protocol: &P) -> Explored<P::Broken> {
    let (recorder, recorded) = StateRecorder::new_with_accessor();
    let model = Checked(protocol.clone());
    let checker = model.clone().checker().visitor(recorder);
    let checker = checker.spawn_bfs().join();
    let path = checker.discoveries().into_values().next();
    let path = path.map(|path| path.into_vec());
    let states = recorded();
    let done = states.iter().filter(|state| protocol.is_done(state));
    let last = path.as_ref().and_then(|path| path.last());
    Explored {
        states: states.len(),
        done: done.count(),
        broken: last.and_then(|(state, _)| P::broken(state)),
        failure: match path {
            Some(path) => Some(text_of::<P>(path)),
            None => stuck(&model, &states)
                .map(|state| format!("no way leads to the end from here: {state:#?}")),
        },
    }
}

/// Returns the steps of a way to a broken property as text.
fn text_of<P: Protocol>(path: Vec<(P::State, Option<P::Action>)>) -> String {
    let mut text = String::from("the steps:\n");
    for (state, step) in path {
        match (step, P::broken(&state)) {
            (Some(step), _) => writeln!(text, "{step:?}"),
            (None, Some(broken)) => writeln!(text, "{broken}: {state:#?}"),
            (None, None) => Ok(()),
        }
        .expect("a string takes all text");
    }
    text
}

fn stuck<'a, P: Protocol>(model: &Checked<P>, states: &'a [P::State]) -> Option<&'a P::State> {
    let places: HashMap<&P::State, u32> = states.iter().zip(0..).collect();
    let mut before = vec![Vec::new(); states.len()];
    for (state, place) in states.iter().zip(0..) {
        model.0.steps(state, |action| {
            if P::is_from_outside(action) {
                return;
            }
            let next = model.next_state(state, action);
            if let Some(next) = next.and_then(|next| places.get(&next)) {
                before[*next as usize].push(place);
            }
        });
    }
    let mut can_finish: Vec<bool> = states.iter().map(|state| model.0.is_done(state)).collect();
    let mut open: Vec<u32> = (0..)
        .zip(&can_finish)
        .filter(|(_, can)| **can)
        .map(|(place, _)| place)
        .collect();
    while let Some(place) = open.pop() {
        for &earlier in &before[place as usize] {
            if !std::mem::replace(&mut can_finish[earlier as usize], true) {
                open.push(earlier);
            }
        }
    }
    let place = can_finish.iter().position(|can| !can)?;
    states.get(place)
}
