//! All states of a link, and whether the ends can always finish.

use std::collections::HashMap;

use stateright::{Checker, Model, StateRecorder};

use crate::{Action, Link, State};

/// Result of an exhaustive check.
#[derive(Debug)]
pub struct Explored {
    /// Number of different states.
    pub states: usize,
    /// Number of states in which the ends are done.
    pub done: usize,
    /// The shortest way to a broken property.
    pub broken: Option<Vec<(State, Option<Action>)>>,
    /// A state from which the ends can't finish by themselves, if no more faults happen.
    pub stuck: Option<State>,
}

/// Visits all states that a link can reach. From each state it looks for a way without further
/// faults on which the ends finish.
///
/// # Panics
/// If the recorder of states is used elsewhere, which it is not.
#[must_use]
pub fn explore(link: &Link) -> Explored {
    let (recorder, recorded) = StateRecorder::new_with_accessor();
    let checker = link.clone().checker().visitor(recorder).spawn_bfs().join();
    let broken = checker
        .discoveries()
        .into_values()
        .next()
        .map(|path| path.into_vec());
    let states = recorded();
    let done = states.iter().filter(|state| link.is_done(state)).count();
    let stuck = match broken {
        Some(_) => None,
        None => stuck(link, &states),
    };
    Explored {
        states: states.len(),
        done,
        broken,
        stuck,
    }
}

fn stuck(link: &Link, states: &[State]) -> Option<State> {
    let places: HashMap<&State, u32> = states.iter().zip(0..).collect();
    let mut before = vec![Vec::new(); states.len()];
    for (state, place) in states.iter().zip(0..) {
        link.steps(state, |action| {
            if action.is_from_outside() {
                return;
            }
            let next = link.next_state(state, action);
            if let Some(next) = next.and_then(|next| places.get(&next)) {
                before[*next as usize].push(place);
            }
        });
    }
    let mut can_finish: Vec<bool> = states.iter().map(|state| link.is_done(state)).collect();
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
