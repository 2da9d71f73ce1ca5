//! The page of `--report`, filled with what there is.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use alcor_conformance::{Case, Outcome, Verdict};
use alcor_report as report;
use alcor_report::{Comparison, Ending, Explanation, File, Page, PastRun, Test};

use super::explain::{traces, what};
use super::report::hex;
use super::results::{Run, ending};
use super::summary::Summary;
use crate::backends;
use crate::bench;
use crate::exit::Error;
use crate::revision::revision;
use crate::store::{Store, seconds_now};

/// Runs of a test whose endings stand beside its failure.
const EARLIER: usize = 12;

/// The page. The store knows this run already.
pub fn page(
    summary: &Summary<'_>,
    store: Option<&Store<Run>>,
    folder: &Path,
) -> Result<Page, Error> {
    let args = summary.args;
    let runs = store.map_or(&[][..], Store::runs);
    let (benches, missing_benches) = match store {
        Some(_) => bench::remembered(&args.store)?,
        None => (Vec::new(), Vec::new()),
    };
    let tests = summary.outcomes.iter().enumerate();
    let comparison = summary.comparison.map(|it| Comparison {
        compared: it.compared,
        unknown: it.unknown,
        latest: it.latest,
    });
    let coverage_command = backends::with_coverage(&args.backend).is_ok().then(|| {
        let folder = super::args::quoted(&folder.to_string_lossy());
        format!("{} --coverage --report {folder}", args.command())
    });
    Ok(Page {
        run: report::Run {
            backend: args.backend.clone(),
            tier: format!("{} tier", args.tier()),
            seeds: args.seeds(),
            part: args.shard.map(|shard| shard.to_string()),
            jobs: args.jobs()?,
            revision: revision(),
            ended: seconds_now(),
            elapsed: summary.elapsed,
            digest: hex(summary.digest),
            command: args.command(),
        },
        tests: tests
            .map(|(place, outcome)| test(summary, runs, folder, place, outcome))
            .collect(),
        remembers: store.is_some(),
        comparison: comparison.unwrap_or_default(),
        history: runs.iter().map(past).collect(),
        coverage: summary.coverage.cloned(),
        coverage_command,
        benches,
        missing_benches,
    })
}

fn test(
    summary: &Summary<'_>,
    runs: &[Run],
    folder: &Path,
    place: usize,
    outcome: &Outcome,
) -> Test {
    let args = summary.args;
    let is_failed = outcome.verdict.is_failed();
    Test {
        name: outcome.test.name.to_owned(),
        ending: ending(&outcome.verdict),
        run_seed: outcome.run_seed,
        seed: outcome.seed,
        cycles: outcome.cycles,
        time: outcome.duration,
        message: match &outcome.verdict {
            Verdict::Passed => None,
            Verdict::Failed(failure) => Some(failure.to_string()),
            Verdict::Skipped(unmet) => Some(unmet.to_string()),
        },
        repeat: is_failed.then(|| args.repeat(outcome)),
        change: summary.change(place),
        // Nobody looks for it elsewhere.
        earlier: match is_failed {
            true => earlier(runs, args.full, outcome),
            false => Vec::new(),
        },
        explanation: explanation(summary, folder, place, outcome),
    }
}

/// How a test ended in the last runs that had it.
fn earlier(runs: &[Run], full: bool, outcome: &Outcome) -> Vec<Ending> {
    let runs = runs.iter().rev().filter(|run| run.full == full);
    let is_it = |kept: &&super::results::Kept| {
        (kept.seed, kept.test.as_str()) == (outcome.run_seed, outcome.test.name)
    };
    let endings = runs
        .filter_map(|run| run.results.iter().find(is_it))
        .map(|kept| kept.ending);
    let mut last: Vec<Ending> = endings.take(EARLIER).collect();
    last.reverse();
    last
}

fn explanation(
    summary: &Summary<'_>,
    folder: &Path,
    place: usize,
    outcome: &Outcome,
) -> Option<Explanation> {
    let args = summary.args;
    let found = summary.explanations.get(&place)?;
    // What explains failures lies in the page's folder.
    let relative = |path: &Path| {
        path.strip_prefix(folder)
            .unwrap_or(path)
            .to_string_lossy()
            .into_owned()
    };
    let mut files: Vec<File> = found
        .files
        .iter()
        .map(|file| File {
            path: relative(&found.folder.join(file)),
            what: what(args, file),
        })
        .collect();
    // Those of whole tests lie beside the page.
    let case = Case {
        test: outcome.test,
        seed: outcome.run_seed,
    };
    let whole = traces(&args.waves_file(case));
    files.extend(whole.iter().map(|trace| File {
        path: relative(trace),
        what: "waves of the whole test".to_owned(),
    }));
    Some(Explanation {
        files,
        notes: found.notes.clone(),
        waits: found.waits.clone(),
    })
}

fn past(run: &Run) -> PastRun {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for kept in &run.results {
        *counts.entry(kept.ending.word()).or_default() += 1;
    }
    let count = |ending: Ending| counts.get(ending.word()).copied().unwrap_or_default();
    let seconds: f64 = run.results.iter().map(|kept| kept.seconds).sum();
    PastRun {
        ended: run.ended,
        tier: if run.full { "full" } else { "quick" }.to_owned(),
        passed: count(Ending::Passed),
        failed: count(Ending::Failed),
        skipped: count(Ending::Skipped),
        cycles: run.results.iter().map(|kept| kept.cycles).sum(),
        time: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
    }
}
