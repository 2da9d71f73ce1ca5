//! The remaining time of a run, estimated from earlier durations of tests.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use alcor_test::{Case, Outcome};

/// A test on a backend: the index of the backend, and the test's name.
type Key = (usize, &'static str);

/// The rest of a run.
pub struct Estimate {
    boards: u32,
    /// Earlier durations of tests.
    known: BTreeMap<Key, Duration>,
    /// Cases that have not begun.
    waiting: BTreeMap<Key, u32>,
    running: BTreeMap<(Key, u64), Instant>,
    /// Total duration and number of the tests of this run without earlier durations.
    learned: (Duration, u32),
}

impl Estimate {
    /// The estimate before the run begins; `known` has the earlier durations for each backend.
    pub fn new(lanes: &[(&[Case], BTreeMap<&str, Duration>)], boards: usize) -> Estimate {
        let (mut waiting, mut known) = (BTreeMap::new(), BTreeMap::new());
        for (lane, (cases, durations)) in lanes.iter().enumerate() {
            for case in *cases {
                let key = (lane, case.test.name);
                *waiting.entry(key).or_default() += 1;
                if let Some(&duration) = durations.get(case.test.name) {
                    known.insert(key, duration);
                }
            }
        }
        let cases: usize = lanes.iter().map(|(cases, _)| cases.len()).sum();
        Estimate {
            boards: boards.clamp(1, cases.max(1)) as u32,
            known,
            waiting,
            running: BTreeMap::new(),
            learned: (Duration::ZERO, 0),
        }
    }

    /// A test begins.
    pub fn started(&mut self, lane: usize, case: Case, now: Instant) {
        let key = (lane, case.test.name);
        self.running.insert((key, case.seed), now);
        if let Some(waiting) = self.waiting.get_mut(&key) {
            *waiting = waiting.saturating_sub(1);
        }
    }

    /// A test has ended.
    pub fn ended(&mut self, lane: usize, outcome: &Outcome) {
        let key = (lane, outcome.test.name);
        self.running.remove(&(key, outcome.run_seed));
        if !self.known.contains_key(&key) {
            self.learned.0 += outcome.duration;
            self.learned.1 += 1;
        }
    }

    /// The remaining time; none as long as too little is known.
    ///
    /// The estimate shares the remaining tests evenly among boards. No board ends before its
    /// current test.
    pub fn left(&self, now: Instant) -> Option<Duration> {
        let guess = self.guess();
        let of = |key: &Key| self.known.get(key).copied().or(guess);
        let mut all = Duration::ZERO;
        for (key, &waiting) in self.waiting.iter().filter(|&(_, &waiting)| waiting > 0) {
            all += of(key)? * waiting;
        }
        let mut longest = Duration::ZERO;
        for ((key, _), &start) in &self.running {
            let rest = of(key)?.saturating_sub(now.saturating_duration_since(start));
            all += rest;
            longest = longest.max(rest);
        }
        Some(longest.max(all / self.boards))
    }

    /// The estimate for a test without an earlier duration: the mean of these tests in this run, or
    /// else of all known durations.
    fn guess(&self) -> Option<Duration> {
        let (sum, number) = match self.learned {
            (_, 0) => (self.known.values().sum(), self.known.len() as u32),
            learned => learned,
        };
        sum.checked_div(number)
    }
}

#[cfg(test)]
mod tests {
    use alcor::soft::SoftBoard;
    use alcor_conformance::tests;
    use alcor_test::{Settings, Test, run_test};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn three() -> [&'static Test; 3] {
        let mut tests = tests();
        [(); 3].map(|()| tests.next().unwrap())
    }

    fn cases() -> [Case; 3] {
        three().map(|test| Case { test, seed: 1 })
    }

    fn outcome(test: &'static Test, duration: Duration) -> Outcome {
        let settings = Settings {
            seed: 1,
            ..Settings::default()
        };
        Outcome {
            duration,
            ..run_test(test, SoftBoard::new(2), &settings)
        }
    }

    #[test]
    fn without_knowledge_there_is_no_estimate_until_a_test_has_ended() {
        let now = Instant::now();
        let mut estimate = Estimate::new(&[(&cases(), BTreeMap::new())], 1);
        assert_eq!(estimate.left(now), None);
        estimate.started(0, cases()[0], now);
        assert_eq!(estimate.left(now), None);
        estimate.ended(0, &outcome(three()[0], 3 * SECOND));
        assert_eq!(estimate.left(now), Some(6 * SECOND));
    }

    #[test]
    fn boards_share_what_is_left_but_not_a_test() {
        let now = Instant::now();
        let [a, b, c] = three().map(|test| test.name);
        let known = BTreeMap::from([(a, 10 * SECOND), (b, 2 * SECOND), (c, 2 * SECOND)]);
        let mut estimate = Estimate::new(&[(&cases(), known)], 2);
        assert_eq!(estimate.left(now), Some(7 * SECOND));
        estimate.started(0, cases()[0], now);
        estimate.started(0, cases()[1], now);
        assert_eq!(estimate.left(now), Some(10 * SECOND), "that of the longest");
        let later = now + SECOND;
        assert_eq!(estimate.left(later), Some(9 * SECOND));
        estimate.ended(0, &outcome(three()[0], 10 * SECOND));
        estimate.ended(0, &outcome(three()[1], SECOND));
        assert_eq!(estimate.left(later), Some(SECOND), "of two boards' time");
        estimate.started(0, cases()[2], later);
        assert_eq!(estimate.left(later + 9 * SECOND), Some(Duration::ZERO));
    }

    #[test]
    fn what_is_unknown_takes_as_long_as_the_known_take() {
        let [a, b, _] = three().map(|test| test.name);
        let known = BTreeMap::from([(a, 2 * SECOND), (b, 4 * SECOND)]);
        let estimate = Estimate::new(&[(&cases(), known)], 1);
        assert_eq!(estimate.left(Instant::now()), Some(9 * SECOND));
    }
}
