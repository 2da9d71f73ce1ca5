//! Stored results of runs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use alcor_report::Ending;
use alcor_test::{Outcome, Verdict};
use serde::{Deserialize, Serialize};

use super::lane::Lane;
use crate::store::{Entry, Store, seconds_now};

/// End of a test, as one word.
pub fn ending(verdict: &Verdict) -> Ending {
    match verdict {
        Verdict::Passed => Ending::Passed,
        Verdict::Failed(_) => Ending::Failed,
        Verdict::Skipped(_) => Ending::Skipped,
        Verdict::NotRun(_) => Ending::NotRun,
    }
}

/// The stored result of a test.
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

/// The stored results of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The identity of the run of the program, the same for all backends.
    pub id: u64,
    /// The part of a run, if the same backend has several.
    pub part: usize,
    /// The time of its end, in seconds since 1970.
    pub ended: u64,
    pub full: bool,
    /// Options that change results, as on the command line; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub options: String,
    /// Wall-clock time from the start of the first test to the end of the last, in seconds; none
    /// for a run that was ended from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed: Option<f64>,
    pub results: Vec<Kept>,
}

impl Run {
    /// A run without results.
    pub fn new(id: u64, part: usize, lane: &Lane) -> Run {
        Run {
            id,
            part,
            ended: seconds_now(),
            full: lane.full,
            options: lane.options(),
            elapsed: None,
            results: Vec::new(),
        }
    }
}

impl Entry for Run {
    fn results(&self) -> usize {
        self.results.len()
    }

    fn keys(&self) -> impl Iterator<Item = (&str, bool, u64, &str)> {
        let keys = self.results.iter();
        keys.map(|kept| {
            let test = kept.test.as_str();
            (self.options.as_str(), self.full, kept.seed, test)
        })
    }

    fn from_journal(begin: &str, results: &[&str]) -> Option<Run> {
        let mut run: Run = serde_json::from_str(begin).ok()?;
        // The last line of a run that was killed may be cut off.
        let results = results
            .iter()
            .map_while(|line| serde_json::from_str(line).ok());
        run.results.extend(results);
        Some(run)
    }

    fn ended(&self) -> u64 {
        self.ended
    }

    fn is_same(&self, other: &Run) -> bool {
        (self.id, self.part) == (other.id, other.part)
    }
}

impl Store<Run> {
    /// The last duration of each test.
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

    /// The last result of each test in other runs than `id` with the same options, by seed and
    /// name, with its time.
    pub fn latest(
        &self,
        full: bool,
        options: &str,
        id: u64,
    ) -> BTreeMap<(u64, &str), (&Kept, u64)> {
        let is_like = |run: &&Run| run.full == full && run.options == options && run.id != id;
        let runs = self.runs().iter().filter(is_like);
        runs.flat_map(|run| run.results.iter().map(move |kept| (kept, run.ended)))
            .map(|(kept, ended)| ((kept.seed, kept.test.as_str()), (kept, ended)))
            .collect()
    }

    /// The tests that failed in the last run, with their seeds. None without a stored run.
    pub fn failed(&self) -> Option<BTreeSet<(&str, u64)>> {
        let id = self.runs().last()?.id;
        let runs = self.runs().iter().filter(|run| run.id == id);
        let results = runs.flat_map(|run| &run.results);
        Some(
            results
                .filter(|kept| kept.ending == Ending::Failed)
                .map(|kept| (kept.test.as_str(), kept.seed))
                .collect(),
        )
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A run of tests that all passed.
    pub fn run(ended: u64, tests: &[&str]) -> Run {
        let kept = |test: &&str| Kept {
            test: (*test).to_owned(),
            seed: 1,
            ending: Ending::Passed,
            cycles: 10 * ended,
            seconds: ended as f64,
        };
        Run {
            id: ended,
            part: 0,
            ended,
            full: false,
            options: String::new(),
            elapsed: None,
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
        let latest = store.latest(false, "", 0);
        let ended = |test| latest[&(1, test)].1;
        assert_eq!((ended("a"), ended("b"), ended("c")), (1, 2, 2));
        let durations = store.durations(false);
        assert_eq!(durations["b"], Duration::from_secs(2));
        assert_eq!(store.durations(true).len(), 1);
    }

    #[test]
    fn runs_with_other_options_are_not_compared_and_the_last_run_names_its_failures() {
        let folder = tempfile::tempdir().unwrap();
        let (mut store, _) = Store::open(folder.path(), "soft:2").unwrap();
        assert_eq!(store.failed(), None);
        store.add(run(1, &["a"])).unwrap();
        let mut other = run(2, &["a", "b"]);
        other.options = "--watchdog 1".into();
        other.results[1].ending = Ending::Failed;
        store.add(other).unwrap();
        assert_eq!(store.latest(false, "", 0)[&(1, "a")].1, 1);
        assert_eq!(store.latest(false, "--watchdog 1", 0)[&(1, "a")].1, 2);
        assert_eq!(store.failed().unwrap(), BTreeSet::from([("b", 1)]));
        assert_eq!(store.durations(false)["a"], Duration::from_secs(2));
    }

    #[test]
    fn the_journal_of_a_run_that_was_killed_is_added_once() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::<Run>::open(folder.path(), "soft:2").unwrap().0;
        let store = open();
        assert_eq!(
            files(folder.path()),
            0,
            "nothing is there of a backend without runs"
        );
        let whole = run(7, &["a", "b", "c"]);
        let begin = Run {
            results: Vec::new(),
            ..whole.clone()
        };
        let mut journal = store.journal(&begin).unwrap();
        for kept in &whole.results {
            journal.add(kept).unwrap();
        }
        assert!(open().runs().is_empty(), "the run goes on");
        drop(journal);
        assert_eq!(open().runs(), std::slice::from_ref(&whole));
        assert_eq!(open().runs(), std::slice::from_ref(&whole), "once");
        assert_eq!(files(folder.path()), 2, "the file and its lock");

        // A line that is cut off costs one result.
        let mut journal = store
            .journal(&Run {
                id: 8,
                ended: 8,
                ..begin.clone()
            })
            .unwrap();
        journal.add(&whole.results[0]).unwrap();
        journal.add(&"half").unwrap();
        drop(journal);
        assert_eq!(open().runs()[1].results.len(), 1);

        // A run that was killed between its end and the removal of its journal.
        let mut journal = store
            .journal(&Run {
                id: 9,
                ended: 9,
                ..begin
            })
            .unwrap();
        journal.add(&whole.results[0]).unwrap();
        open()
            .add(Run {
                id: 9,
                ended: 9,
                ..whole
            })
            .unwrap();
        drop(journal);
        assert_eq!(open().runs().len(), 3);
    }

    fn files(folder: &std::path::Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }
}
