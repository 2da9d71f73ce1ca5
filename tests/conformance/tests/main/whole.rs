//! The whole suite on sound boards.

use std::sync::Arc;

use alcor::soft::{SoftBoard, SoftConfig};
use alcor::{Board, BoardLayer};
use alcor_conformance::tests;
use alcor_test::{Case, Outcome, Settings, Unmet, Verdict, digest, run_test};

use crate::outcomes;

fn all(seed: u64) -> Vec<Case> {
    tests().map(|test| Case { test, seed }).collect()
}

fn run(config: SoftConfig, settings: &Settings) -> Vec<Outcome> {
    let cases = all(settings.seed);
    let open = move |_| Ok(SoftBoard::with(config).into());
    outcomes(cases, 2, settings, open)
}

fn complaints(outcomes: &[Outcome]) -> Vec<String> {
    outcomes
        .iter()
        .filter(|outcome| outcome.verdict.is_failed())
        .map(|outcome| {
            format!(
                "{} (seed {:#x}) {}",
                outcome.test.name, outcome.seed, outcome.verdict
            )
        })
        .collect()
}

#[test]
fn passes_on_four_ranks() {
    let outcomes = run(SoftConfig::default(), &Settings::default());
    assert_eq!(complaints(&outcomes), [""; 0]);
    for outcome in &outcomes {
        // A soft board has no kernel; it has all else.
        let lacks_kernel = matches!(outcome.verdict, Verdict::Skipped(_));
        assert_eq!(
            lacks_kernel,
            outcome.test.kernel.is_some(),
            "{}",
            outcome.test.name
        );
        assert!(lacks_kernel || outcome.verdict.is_passed());
    }
}

#[test]
fn passes_on_two_ranks_with_little_of_everything() {
    let config = SoftConfig::default()
        .ranks(2)
        .slots(4)
        .node_bytes(65536)
        .commands(16)
        .message_depth(16)
        .fragment_bytes(64);
    let settings = Settings {
        seed: 7,
        ..Settings::default()
    };
    assert_eq!(complaints(&run(config, &settings)), [""; 0]);
}

#[test]
fn what_a_board_can_not_run_is_skipped_with_its_reason() {
    let config = SoftConfig::default().ranks(1);
    let outcomes = run(config, &Settings::default());
    assert_eq!(complaints(&outcomes), [""; 0]);
    for outcome in &outcomes {
        match &outcome.verdict {
            Verdict::Skipped(unmet) => {
                let reason = unmet.to_string();
                assert!(
                    outcome.test.ranks > 1 && reason.contains("needs"),
                    "{reason}"
                );
            }
            verdict => assert!(outcome.test.ranks == 1 && verdict.is_passed()),
        }
    }
}

/// A board that says that its time goes on while host code runs.
struct Unsteady(Arc<dyn Board>);

impl BoardLayer for Unsteady {
    fn below(&self) -> &Arc<dyn Board> {
        &self.0
    }

    fn time_stands_still(&self) -> bool {
        false
    }
}

#[test]
fn what_counts_on_steady_time_is_skipped_without_it() {
    let cases = all(0);
    let open = |_| Ok(Arc::new(Unsteady(SoftBoard::new(4))).into());
    let outcomes = outcomes(cases, 2, &Settings::default(), open);
    assert_eq!(complaints(&outcomes), [""; 0]);
    let mut skipped = 0;
    for outcome in &outcomes {
        let is_skipped = matches!(outcome.verdict, Verdict::Skipped(Unmet::SteadyTime));
        let runs = outcome.test.kernel.is_none();
        let is_steady = outcome.test.steady && runs;
        assert_eq!(is_skipped, is_steady, "{}", outcome.test.name);
        assert!(is_skipped || !runs || outcome.verdict.is_passed());
        skipped += u32::from(is_skipped && outcome.test.module() != "watchdog");
    }
    // A deadlock is reported only where time stands still. Few other tests need that: properties of
    // boards are tested on boards.
    assert!((1..8).contains(&skipped), "{skipped} are skipped");
}

#[test]
fn names_are_unique_and_summaries_are_there() {
    let mut names: Vec<_> = tests().map(|test| test.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), tests().count());
    assert!(names.len() > 80, "only {} tests", names.len());
    assert!(tests().all(|test| test.summary.ends_with('.')));
}

#[test]
fn a_test_has_its_seed_from_the_run_and_its_name() {
    let test = tests().next().unwrap();
    let seed = |seed| {
        let settings = Settings {
            seed,
            ..Settings::default()
        };
        run_test(test, SoftBoard::new(2), &settings).seed
    };
    assert_eq!(seed(1), seed(1));
    assert_ne!(seed(1), seed(2));
}

#[test]
fn the_digest_depends_on_names_and_order() {
    let outcomes = run(SoftConfig::default(), &Settings::default());
    assert_ne!(digest(&outcomes), digest(outcomes.iter().rev()));
    assert_ne!(digest(&outcomes), digest(&outcomes[1..]));
}
