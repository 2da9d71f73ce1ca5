//! `--junit`: what came of a run, for the tools that read JUnit's XML.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use alcor_conformance::{Outcome, Verdict};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::summary::Summary;
use crate::exit::Error;

/// Writes the file; a module of the suite is a test suite in it.
pub fn write(summary: &Summary<'_>, file: &Path) -> Result<(), Error> {
    let mut modules: BTreeMap<&str, Vec<&Outcome>> = BTreeMap::new();
    for outcome in summary.outcomes {
        let (module, _) = outcome.test.name.split_once('.').unwrap_or_default();
        modules.entry(module).or_default().push(outcome);
    }
    let mut report = Report::new("alcor regress");
    report.set_time(summary.elapsed);
    for (module, outcomes) in modules {
        let mut suite = TestSuite::new(module);
        suite.set_time(outcomes.iter().map(|outcome| outcome.duration).sum());
        suite.add_property(("backend", summary.args.backend.as_str()));
        suite.add_property(("seed", summary.args.seed.to_string().as_str()));
        suite.add_test_cases(outcomes.into_iter().map(|outcome| case(summary, outcome)));
        report.add_test_suite(suite);
    }
    let xml = report.to_string().map_err(|error| Error::Write {
        path: file.to_owned(),
        source: std::io::Error::other(error),
    })?;
    fs::write(file, xml).map_err(Error::write(file))
}

fn case(summary: &Summary<'_>, outcome: &Outcome) -> TestCase {
    let name = outcome.test.name;
    let status = match &outcome.verdict {
        Verdict::Passed => TestCaseStatus::success(),
        Verdict::Failed(failure) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(failure.to_string());
            let repeat = summary.args.repeat(name);
            status.set_description(format!("seed 0x{:016x}\nrepeat: {repeat}", outcome.seed));
            status
        }
        Verdict::Skipped(unmet) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(unmet.to_string());
            status
        }
    };
    let mut case = TestCase::new(name, status);
    case.set_time(outcome.duration);
    case.set_classname(summary.args.backend.as_str());
    case.add_property(("cycles", outcome.cycles.to_string().as_str()));
    case
}
