//! Differences from earlier runs.

use alcor_report::{Change, Ending};
use alcor_test::{Outcome, Verdict};

use super::lane::Lane;
use super::results::{Kept, Run};
use crate::store::Store;

/// The difference of a test from its last result, if it is reported.
fn between(before: &Kept, now: &Kept, percent: Option<f64>) -> Option<Change> {
    match (before.ending, now.ending) {
        (Ending::Passed, Ending::Passed) => {
            let (before, now) = (before.cycles, now.cycles);
            let change = before.abs_diff(now) as f64 * 100.0;
            let is_much = percent.is_some_and(|percent| change > percent * before as f64);
            is_much.then_some(Change::Cycles { before, now })
        }
        (before, now) if before == now => None,
        (_, Ending::Failed) => Some(Change::NewlyFailing),
        (_, Ending::Passed) => Some(Change::NewlyPassing),
        (_, Ending::Skipped) => Some(Change::NewlySkipped),
        // The run has no result of this test.
        (_, Ending::NotRun) => None,
    }
}

/// The differences of all tests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The differences, by the index of the outcome.
    pub changes: Vec<(usize, Change)>,
    /// Number of tests with a stored result of this backend, tier and seed.
    pub compared: usize,
    /// Number of tests without one.
    pub unknown: usize,
    /// End of the latest of their runs, in seconds since 1970.
    pub latest: Option<u64>,
}

impl Comparison {
    /// Compares each outcome with the last result of the test before the run `id`. Cycles are
    /// compared if `percent` gives their permitted change and the backend sees the traffic;
    /// otherwise they are not exact.
    pub fn with(
        store: &Store<Run>,
        id: u64,
        lane: &Lane,
        outcomes: &[Outcome],
        percent: Option<f64>,
    ) -> Comparison {
        let options = lane.options();
        let latest = store.latest(lane.full, &options, id);
        let mut comparison = Comparison::default();
        for (place, outcome) in outcomes.iter().enumerate() {
            if matches!(outcome.verdict, Verdict::NotRun(_)) {
                continue;
            }
            let Some(&(before, ended)) = latest.get(&(outcome.run_seed, outcome.test.name)) else {
                comparison.unknown += 1;
                continue;
            };
            comparison.compared += 1;
            comparison.latest = comparison.latest.max(Some(ended));
            let percent = percent.filter(|_| outcome.digest.is_some());
            if let Some(change) = between(before, &Kept::from(outcome), percent) {
                comparison.changes.push((place, change));
            }
        }
        comparison
    }

    /// The difference of the outcome with this index.
    pub fn at(&self, place: usize) -> Option<Change> {
        let found = self
            .changes
            .binary_search_by_key(&place, |&(place, _)| place);
        Some(self.changes[found.ok()?].1)
    }
}

/// A time span in words, rounded.
pub fn ago(seconds: u64) -> String {
    let (number, unit) = match seconds {
        ..60 => return "less than a minute ago".to_owned(),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{} ago", alcor_report::count(number as usize, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(ending: Ending, cycles: u64) -> Kept {
        Kept {
            test: "put.a".into(),
            seed: 1,
            ending,
            cycles,
            seconds: 0.0,
        }
    }

    #[test]
    fn endings_that_differ_are_new() {
        use Ending::{Failed, Passed, Skipped};
        for (before, now, change) in [
            (Passed, Failed, Some(Change::NewlyFailing)),
            (Skipped, Failed, Some(Change::NewlyFailing)),
            (Failed, Passed, Some(Change::NewlyPassing)),
            (Skipped, Passed, Some(Change::NewlyPassing)),
            (Passed, Skipped, Some(Change::NewlySkipped)),
            (Failed, Skipped, Some(Change::NewlySkipped)),
            (Failed, Failed, None),
            (Skipped, Skipped, None),
            (Passed, Passed, None),
        ] {
            // The cycles of a failed test are not compared.
            let cycles = if before == Passed && now == Passed {
                5
            } else {
                9
            };
            let found = between(&kept(before, 5), &kept(now, cycles), Some(0.0));
            assert_eq!(found, change, "{before:?} {now:?}");
        }
    }

    #[test]
    fn cycles_count_from_more_than_the_percentage_on() {
        let between = |before, now, percent| {
            between(
                &kept(Ending::Passed, before),
                &kept(Ending::Passed, now),
                percent,
            )
        };
        assert_eq!(between(1000, 1010, Some(1.0)), None);
        assert_eq!(between(1000, 990, Some(1.0)), None);
        let (before, now) = (1000, 1011);
        let change = between(before, now, Some(1.0)).unwrap();
        assert_eq!(change, Change::Cycles { before, now });
        assert_eq!(change.to_string(), "cycles 1000 to 1011 (+1.1 %)");
        assert!(between(1000, 989, Some(1.0)).is_some());
        assert!(between(1000, 1001, Some(0.0)).is_some());
        assert_eq!(between(1000, 2000, None), None, "time does not stand still");
        let from_nothing = between(0, 1, Some(50.0)).unwrap();
        assert_eq!(from_nothing.to_string(), "cycles 0 to 1");
    }

    #[test]
    fn times_are_told_in_one_unit() {
        for (seconds, text) in [
            (59, "less than a minute ago"),
            (60, "1 minute ago"),
            (7_199, "1 hour ago"),
            (86_400 * 3, "3 days ago"),
        ] {
            assert_eq!(ago(seconds), text);
        }
    }
}
