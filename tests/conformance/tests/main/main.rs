//! The suite itself: it passes on a board in plain Rust, and fails on boards with a fault.

mod collective_faults;
mod faults;
mod schedule;
mod skipping;
mod whole;

use std::sync::Arc;

use alcor::{Cluster, Error};
use alcor_test::{Case, Event, Lane, Outcome, Settings, run_suite};

/// Runs tests on boards of one backend; the outcomes are in the order of the cases.
fn outcomes(
    cases: Vec<Case>,
    jobs: usize,
    settings: &Settings,
    open: impl Fn(Case) -> Result<Cluster, Error> + Send + Sync + 'static,
) -> Vec<Outcome> {
    let lane = Lane {
        cases,
        boards: jobs,
        settings: *settings,
        open: Arc::new(open),
    };
    let mut outcomes = Vec::new();
    run_suite(&[lane], jobs, &|| None, &mut |event| {
        if let Event::Ended { place, outcome, .. } = event {
            outcomes.push((place, outcome));
        }
    });
    outcomes.sort_by_key(|&(place, _)| place);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}
