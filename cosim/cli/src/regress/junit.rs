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
    let mut modules: BTreeMap<&str, Vec<(usize, &Outcome)>> = BTreeMap::new();
    for (place, outcome) in summary.outcomes.iter().enumerate() {
        let (module, _) = outcome.test.name.split_once('.').unwrap_or_default();
        modules.entry(module).or_default().push((place, outcome));
    }
    let mut report = Report::new("alcor regress");
    report.set_time(summary.elapsed);
    for (module, outcomes) in modules {
        let mut suite = TestSuite::new(module);
        suite.set_time(outcomes.iter().map(|(_, outcome)| outcome.duration).sum());
        let args = summary.args;
        suite.add_property(("backend", args.backend.as_str()));
        suite.add_property(("tier", args.tier()));
        suite.add_property(("seed", args.seed.to_string().as_str()));
        suite.add_property(("repeat", args.repeat.to_string().as_str()));
        if let Some(shard) = args.shard {
            suite.add_property(("shard", shard.to_string().as_str()));
        }
        let cases = outcomes.into_iter();
        suite.add_test_cases(cases.map(|(place, outcome)| case(summary, place, outcome)));
        report.add_test_suite(suite);
    }
    let xml = report.to_string().map_err(|error| Error::Write {
        path: file.to_owned(),
        source: std::io::Error::other(error),
    })?;
    fs::write(file, xml).map_err(Error::write(file))
}

fn case(summary: &Summary<'_>, place: usize, outcome: &Outcome) -> TestCase {
    let status = match &outcome.verdict {
        Verdict::Passed => TestCaseStatus::success(),
        Verdict::Failed(failure) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(failure.to_string());
            let repeat = summary.args.repeat(outcome);
            let mut text = format!("seed 0x{:016x}\nrepeat: {repeat}", outcome.seed);
            if let Some(explanation) = summary.explanations.get(&place) {
                text += &format!("\nexplained in {}", explanation.folder.display());
            }
            status.set_description(text);
            status
        }
        Verdict::Skipped(unmet) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(unmet.to_string());
            status
        }
    };
    let mut case = TestCase::new(summary.name(outcome), status);
    case.set_time(outcome.duration);
    case.set_classname(summary.args.backend.as_str());
    case.add_property(("cycles", outcome.cycles.to_string().as_str()));
    case.add_property(("seed", outcome.run_seed.to_string().as_str()));
    if let Some(change) = summary.change(place) {
        case.add_property(("new", change.to_string().as_str()));
    }
    case
}
