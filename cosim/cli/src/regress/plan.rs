//! Which tests run, with which seeds, and in which order.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use alcor_test::{Case, Test};

/// Parts that tests can be shared among.
const PARTS: u32 = 10_000;

/// One of several parts of all tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which: 1 to `of`.
    pub part: u32,
    /// How many there are.
    pub of: u32,
}

impl Shard {
    /// The cases of this part, in the order in which they were.
    ///
    /// Parts take cases in turn, by name and then by seed: so they depend on the names alone, have
    /// as many cases but for one, and share out tests that are alike, which bear names that are
    /// alike.
    pub fn of(self, cases: &[Case]) -> Vec<Case> {
        let mut sorted: Vec<usize> = (0..cases.len()).collect();
        sorted.sort_by_key(|&place| (cases[place].test.name, place));
        let mut mine: Vec<usize> = sorted
            .into_iter()
            .skip(self.part as usize - 1)
            .step_by(self.of as usize)
            .collect();
        mine.sort_unstable();
        mine.into_iter().map(|place| cases[place]).collect()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parsed = text
            .split_once('/')
            .and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match parsed {
            Some((part, of)) if (1..=of).contains(&part) && of <= PARTS => Ok(Shard { part, of }),
            _ => Err(format!(
                "a part is K/N, as 2/4, with K from 1 to N, and N {PARTS} at most"
            )),
        }
    }
}

/// A test with the seed of a run.
pub fn case(test: &'static Test, seed: u64) -> Case {
    Case { test, seed }
}

/// Tests so many times, the repetitions of each one after the other: the first with the seed, each
/// other with the next.
pub fn repeated(tests: &[&'static Test], seed: u64, repeat: u32) -> Vec<Case> {
    let cases = tests.iter().flat_map(|&test| {
        (0..repeat).map(move |times| Case {
            test,
            seed: seed.wrapping_add(u64::from(times)),
        })
    });
    cases.collect()
}

/// The order in which cases begin: those that took longest first, so that none of them is left over
/// at the end for one board alone; before them, those of which nothing is known, which may take
/// longer still.
pub fn longest_first(cases: &[Case], durations: &BTreeMap<&str, Duration>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cases.len()).collect();
    order.sort_by_key(|&place| {
        let known = durations.get(cases[place].test.name);
        Reverse(known.copied().unwrap_or(Duration::MAX))
    });
    order
}

#[cfg(test)]
mod tests {
    use alcor_conformance::tests;

    use super::*;

    fn all() -> Vec<&'static Test> {
        tests().collect()
    }

    fn keys(cases: &[Case]) -> Vec<(&'static str, u64)> {
        cases
            .iter()
            .map(|case| (case.test.name, case.seed))
            .collect()
    }

    #[test]
    fn parts_are_complete_disjoint_and_balanced() {
        let cases = repeated(&all(), 1, 3);
        for of in [1, 2, 3, 7, 64, 10_000] {
            let parts: Vec<_> = (1..=of).map(|part| Shard { part, of }.of(&cases)).collect();
            let mut together: Vec<_> = parts.iter().flat_map(|part| keys(part)).collect();
            let mut wanted = keys(&cases);
            together.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(together, wanted, "{of} parts");
            let lengths = || parts.iter().map(Vec::len);
            assert!(lengths().max().unwrap() - lengths().min().unwrap() <= 1);
        }
    }

    #[test]
    fn parts_depend_on_names_and_not_on_the_order_of_tests() {
        let shard = Shard { part: 2, of: 5 };
        let mut tests = all();
        let mut parts = vec![keys(&shard.of(&repeated(&tests, 1, 1)))];
        tests.reverse();
        parts.push(keys(&shard.of(&repeated(&tests, 1, 1))));
        parts[1].reverse();
        assert_eq!(parts[0], parts[1]);
    }

    #[test]
    fn a_part_keeps_the_order_of_tests() {
        let cases = repeated(&all(), 1, 1);
        let part = keys(&Shard { part: 1, of: 3 }.of(&cases));
        let places: Vec<_> = part
            .iter()
            .map(|key| keys(&cases).iter().position(|other| other == key))
            .collect();
        assert!(places.is_sorted());
    }

    #[test]
    fn parts_are_written_with_a_slash() {
        assert_eq!("2/4".parse(), Ok(Shard { part: 2, of: 4 }));
        for text in [
            "", "2", "0/4", "5/4", "1/0", "-1/4", "1/10001", "a/b", "1/2/3",
        ] {
            let error = text.parse::<Shard>().unwrap_err();
            assert!(error.contains("K/N"), "{text}: {error}");
        }
    }

    #[test]
    fn repetitions_have_seeds_that_follow_each_other() {
        let test = all()[0];
        let seeds: Vec<_> = repeated(&[test], u64::MAX, 3)
            .iter()
            .map(|case| case.seed)
            .collect();
        assert_eq!(seeds, [u64::MAX, 0, 1]);
    }

    #[test]
    fn the_longest_begin_first_and_the_unknown_before_them() {
        let cases = repeated(&all()[..5], 1, 1);
        let name = |place: usize| cases[place].test.name;
        let durations = [(1, 3), (2, 5), (4, 3)]
            .map(|(place, seconds)| (name(place), Duration::from_secs(seconds)));
        let order = longest_first(&cases, &BTreeMap::from(durations));
        assert_eq!(order, [0, 3, 2, 1, 4]);
        assert_eq!(longest_first(&cases, &BTreeMap::new()), [0, 1, 2, 3, 4]);
    }
}
