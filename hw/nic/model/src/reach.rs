//! All states of the model, and whether the senders can always finish.

use std::collections::HashMap;

use stateright::{Checker, Model, StateRecorder};

use crate::{Action, State, Streams};

/// Result of an exhaustive check.
#[derive(Debug)]
pub struct Explored {
    /// Number of different states.
    pub states: usize,
    /// Number of states in which all messages have been received.
    pub done: usize,
    /// The shortest way to a broken property.
    pub broken: Option<Vec<(State, Option<Action>)>>,
    /// A state from which no way leads to the end.
    pub stuck: Option<State>,
}

/// Visits all states that the senders and the receiver can reach. From each state it looks for a way
/// on which all messages are received.
///
/// # Panics
/// If the recorder of states is used elsewhere, which it is not.
#[must_use]
pub fn explore(streams: &Streams) -> Explored {
    let (recorder, recorded) = StateRecorder::new_with_accessor();
    let checker = streams.clone().checker().visitor(recorder);
    let checker = checker.spawn_bfs().join();
    let broken = checker
        .discoveries()
        .into_values()
        .next()
        .map(|path| path.into_vec());
    let states = recorded();
    let done = states.iter().filter(|state| streams.is_done(state)).count();
    let stuck = match broken {
        Some(_) => None,
        None => stuck(streams, &states),
    };
    Explored {
        states: states.len(),
        done,
        broken,
        stuck,
    }
}

fn stuck(streams: &Streams, states: &[State]) -> Option<State> {
    let places: HashMap<&State, u32> = states.iter().zip(0..).collect();
    let mut before = vec![Vec::new(); states.len()];
    for (state, place) in states.iter().zip(0..) {
        streams.steps(state, |action| {
            let next = streams.next_state(state, action);
            if let Some(next) = next.and_then(|next| places.get(&next)) {
                before[*next as usize].push(place);
            }
        });
    }
    let mut can_finish: Vec<bool> = states.iter().map(|state| streams.is_done(state)).collect();
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
    states.get(place).cloned()
}
