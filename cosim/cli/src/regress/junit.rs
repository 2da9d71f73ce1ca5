//! `--junit`: the results of a run so far, as JUnit XML.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use alcor_test::{Case, Outcome, Verdict};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::compare::Comparison;
use super::lane::Lane;
use super::progress::name;
use crate::exit::Error;
use crate::store::replace;
use alcor_test::explain::Explanation;

/// The file is written after each test as long as writing takes less than this.
const CHEAP: Duration = Duration::from_millis(20);
/// Beyond that, writing takes one part in this many of the time at most.
const SHARE: u32 = 20;

/// The results of a backend so far.
pub struct Part<'a> {
    pub lane: &'a Lane,
    /// Outcomes in the order of the suite; none for a test that has not ended.
    pub outcomes: Vec<Option<&'a Outcome>>,
    pub explanations: Option<&'a BTreeMap<usize, Explanation>>,
    pub comparison: Option<&'a Comparison>,
}

/// The file, which is written again and again.
pub struct Junit {
    path: PathBuf,
    start: Instant,
    /// The time of the last writing, and its duration.
    last: Option<(Instant, Duration)>,
    is_due: bool,
    has_failed: bool,
}

impl Junit {
    pub fn new(path: &Path) -> Junit {
        Junit {
            path: path.to_owned(),
            start: Instant::now(),
            last: None,
            is_due: true,
            has_failed: false,
        }
    }

    /// Marks that results have changed since the last writing.
    pub fn touch(&mut self) {
        self.is_due = true;
    }

    /// Writes the file if results have changed and the last writing was long enough ago. Returns
    /// the first error, once.
    pub fn update<'a>(&mut self, parts: impl FnOnce() -> Vec<Part<'a>>) -> Option<Error> {
        let is_early = self
            .last
            .is_some_and(|(at, took)| took > CHEAP && at.elapsed() < took * SHARE);
        if !self.is_due || is_early {
            return None;
        }
        let result = self.write(&parts());
        match result {
            Err(error) if !self.has_failed => {
                self.has_failed = true;
                Some(error)
            }
            _ => None,
        }
    }

    /// Writes the file: the old one stays until the new one is complete.
    pub fn write(&mut self, parts: &[Part<'_>]) -> Result<(), Error> {
        let begin = Instant::now();
        self.is_due = false;
        let written = xml(parts, self.start.elapsed())
            .and_then(|xml| replace(&self.path, xml.as_bytes(), false));
        self.last = Some((Instant::now(), begin.elapsed()));
        written.map_err(Error::write(&self.path))
    }
}

fn xml(parts: &[Part<'_>], elapsed: Duration) -> std::io::Result<String> {
    let mut report = Report::new("alcor regress");
    report.set_time(elapsed);
    for part in parts {
        let lane = part.lane;
        let mut suite = TestSuite::new(lane.backend.as_str());
        let outcomes = part.outcomes.iter().flatten();
        suite.set_time(outcomes.map(|outcome| outcome.duration).sum());
        suite.add_property(("backend", lane.backend.as_str()));
        suite.add_property(("tier", lane.tier()));
        suite.add_property(("seed", lane.seed.to_string().as_str()));
        suite.add_property(("repeat", lane.repeat.to_string().as_str()));
        if let Some(shard) = lane.shard {
            suite.add_property(("shard", shard.to_string().as_str()));
        }
        for (place, (&case, &outcome)) in lane.cases.iter().zip(&part.outcomes).enumerate() {
            suite.add_test_case(test_case(part, place, case, outcome));
        }
        report.add_test_suite(suite);
    }
    report.to_string().map_err(std::io::Error::other)
}

/// A test that was not run is an error, so that the file alone does not look like a successful run.
fn not_run(reason: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(format!("not run: {reason}"));
    status.set_type("not run");
    status
}

fn test_case(part: &Part<'_>, place: usize, case: Case, outcome: Option<&Outcome>) -> TestCase {
    let lane = part.lane;
    let status = match outcome.map(|outcome| (outcome, &outcome.verdict)) {
        None => not_run("the run has not come to its end"),
        Some((_, Verdict::Passed)) => TestCaseStatus::success(),
        Some((_, Verdict::NotRun(reason))) => not_run(reason),
        Some((outcome, Verdict::Failed(failure))) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(failure.to_string());
            let repeat = lane.repeat(outcome);
            let mut text = format!("seed 0x{:016x}\nrepeat: {repeat}", outcome.seed);
            let explanation = part.explanations.and_then(|found| found.get(&place));
            if let Some(explanation) = explanation {
                text += &format!("\nexplained in {}", explanation.folder.display());
            }
            status.set_description(text);
            status
        }
        Some((_, Verdict::Skipped(unmet))) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(unmet.to_string());
            status
        }
    };
    let mut test_case = TestCase::new(name(case.test.name, case.seed, lane.is_repeated()), status);
    let (module, _) = case.test.name.split_once('.').unwrap_or_default();
    test_case.set_classname(format!("{}.{module}", lane.backend));
    test_case.add_property(("seed", case.seed.to_string().as_str()));
    if let Some(outcome) = outcome {
        test_case.set_time(outcome.duration);
        test_case.add_property(("cycles", outcome.cycles.to_string().as_str()));
    }
    if let Some(change) = part.comparison.and_then(|it| it.at(place)) {
        test_case.add_property(("new", change.to_string().as_str()));
    }
    test_case
}
