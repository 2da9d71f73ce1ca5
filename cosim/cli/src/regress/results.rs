//! What is kept of runs.

use std::collections::BTreeMap;
use std::time::Duration;

use alcor_conformance::{Outcome, Verdict};
use alcor_report::Ending;
use serde::{Deserialize, Serialize};

use crate::store::{Entry, RESULTS, Store, seconds_now};

/// How a test ended, in one word.
pub fn ending(verdict: &Verdict) -> Ending {
    match verdict {
        Verdict::Passed => Ending::Passed,
        Verdict::Failed(_) => Ending::Failed,
        Verdict::Skipped(_) => Ending::Skipped,
    }
}

/// What is kept of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    pub test: String,
    /// The run's seed, or that of the repetition.
    pub seed: u64,
    pub ending: Ending,
    pub cycles: u64,
    pub seconds: f64,
}

impl From<&Outcome> for Kept {
    fn from(outcome: &Outcome) -> Kept {
        Kept {
            test: outcome.test.name.to_owned(),
            seed: outcome.run_seed,
            ending: ending(&outcome.verdict),
            cycles: outcome.cycles,
            seconds: outcome.duration.as_secs_f64(),
        }
    }
}

/// What is kept of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// When it ended: seconds since 1970.
    pub ended: u64,
    pub full: bool,
    pub results: Vec<Kept>,
}

impl Run {
    /// A run that ends now.
    pub fn now(full: bool, outcomes: &[Outcome]) -> Run {
        Run {
            ended: seconds_now(),
            full,
            results: outcomes.iter().take(RESULTS).map(Kept::from).collect(),
        }
    }
}

impl Entry for Run {
    fn results(&self) -> usize {
        self.results.len()
    }

    fn keys(&self) -> impl Iterator<Item = (bool, u64, &str)> {
        let keys = self.results.iter();
        keys.map(|kept| (self.full, kept.seed, kept.test.as_str()))
    }
}

impl Store<Run> {
    /// How long a test took last.
    pub fn durations(&self, full: bool) -> BTreeMap<&str, Duration> {
        let runs = self.runs().iter().filter(|run| run.full == full);
        let results = runs.flat_map(|run| &run.results);
        results
            .filter_map(|kept| {
                let duration = Duration::try_from_secs_f64(kept.seconds).ok()?;
                Some((kept.test.as_str(), duration))
            })
            .collect()
    }

    /// What each test came to last, by seed and name, and when that was.
    pub fn latest(&self, full: bool) -> BTreeMap<(u64, &str), (&Kept, u64)> {
        let runs = self.runs().iter().filter(|run| run.full == full);
        runs.flat_map(|run| run.results.iter().map(move |kept| (kept, run.ended)))
            .map(|(kept, ended)| ((kept.seed, kept.test.as_str()), (kept, ended)))
            .collect()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A run of tests, all of which passed.
    pub fn run(ended: u64, tests: &[&str]) -> Run {
        let kept = |test: &&str| Kept {
            test: (*test).to_owned(),
            seed: 1,
            ending: Ending::Passed,
            cycles: 10 * ended,
            seconds: ended as f64,
        };
        Run {
            ended,
            full: false,
            results: tests.iter().map(kept).collect(),
        }
    }

    #[test]
    fn the_latest_of_each_test_counts() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(folder.path(), "soft:2").unwrap();
        let (mut store, _) = open();
        store.add(run(1, &["a", "b"])).unwrap();
        store.add(run(2, &["b", "c"])).unwrap();
        let mut full = run(3, &["c"]);
        full.full = true;
        store.add(full).unwrap();
        store.add(run(4, &[])).unwrap();
        let (store, _) = open();
        assert_eq!(
            store.runs().iter().map(|run| run.ended).collect::<Vec<_>>(),
            [1, 2, 3]
        );
        let latest = store.latest(false);
        let ended = |test| latest[&(1, test)].1;
        assert_eq!((ended("a"), ended("b"), ended("c")), (1, 2, 2));
        let durations = store.durations(false);
        assert_eq!(durations["b"], Duration::from_secs(2));
        assert_eq!(store.durations(true).len(), 1);
    }
}
