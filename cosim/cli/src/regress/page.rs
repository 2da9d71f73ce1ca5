//! Fills the page of `--report`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use std::{env, fs};

use alcor_report as report;
use alcor_report::{
    Comparison, Ending, Explanation, File, Overview, OverviewRow, Page, PastRun, Test,
};
use alcor_test::{Case, Outcome, Verdict};

use super::lane::{Lane, quoted};
use super::report::{hex, message};
use super::results::{Run, ending};
use super::summary::{Summary, Whole};
use crate::backends;
use crate::bench;
use crate::exit::Error;
use crate::revision::revision;
use crate::store::{Store, StoreArgs, seconds_now};
use alcor_test::explain::{traces, what};

/// Number of earlier runs of a test whose results are shown beside its failure.
const EARLIER: usize = 12;

/// The page. The store has this run already.
pub fn page(
    summary: &Summary<'_>,
    store: Option<&Store<Run>>,
    store_args: &StoreArgs,
) -> Result<Page, Error> {
    let lane = summary.lane;
    let folder = lane.folder.as_path();
    let runs = store.map_or(&[][..], Store::runs);
    let (benches, missing_benches) = match store {
        Some(_) => bench::remembered(store_args)?,
        None => (Vec::new(), Vec::new()),
    };
    let tests = summary.outcomes.iter().enumerate();
    let comparison = summary.comparison.map(|it| Comparison {
        compared: it.compared,
        unknown: it.unknown,
        latest: it.latest,
    });
    let coverage_command = backends::with_coverage(&lane.backend).is_ok().then(|| {
        let folder = quoted(&folder.to_string_lossy());
        format!("{} --coverage --report {folder}", lane.command())
    });
    Ok(Page {
        run: report::Run {
            backend: lane.backend.clone(),
            tier: format!("{} tier", lane.tier()),
            seeds: lane.seeds(),
            part: lane.shard.map(|shard| shard.to_string()),
            jobs: lane.boards(),
            revision: revision(),
            ended: seconds_now(),
            elapsed: summary.elapsed,
            opening: summary.opening,
            digest: hex(summary.digest),
            command: lane.command(),
            program: other_program(),
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

/// Returns the path of this program, unless a shell finds it under the name in the commands.
fn other_program() -> Option<String> {
    let program = env::current_exe().and_then(fs::canonicalize).ok()?;
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path)
        .map(|folder| folder.join("alcor"))
        .find(|file| file.is_file());
    let is_found = found.and_then(|file| fs::canonicalize(file).ok()) == Some(program.clone());
    (!is_found).then(|| program.to_string_lossy().into_owned())
}

fn test(
    summary: &Summary<'_>,
    runs: &[Run],
    folder: &Path,
    place: usize,
    outcome: &Outcome,
) -> Test {
    let lane = summary.lane;
    let is_failed = outcome.verdict.is_failed();
    Test {
        name: outcome.test.name.to_owned(),
        summary: outcome.test.summary.to_owned(),
        ending: ending(&outcome.verdict),
        run_seed: outcome.run_seed,
        seed: outcome.seed,
        cycles: outcome.cycles,
        time: outcome.duration,
        message: message(&outcome.verdict),
        repeat: is_failed.then(|| lane.repeat(outcome)),
        change: summary.change(place),
        // Nobody looks for it elsewhere.
        earlier: if is_failed {
            earlier(runs, lane, outcome)
        } else {
            Vec::new()
        },
        explanation: explanation(summary, folder, place, outcome),
    }
}

/// The results of a test in the last runs with this test.
fn earlier(runs: &[Run], lane: &Lane, outcome: &Outcome) -> Vec<Ending> {
    let is_like = |run: &&Run| run.full == lane.full && run.options == lane.options();
    let runs = runs.iter().rev().filter(is_like);
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
    let lane = summary.lane;
    let found = summary.explanations.get(&place)?;
    // The folders of explanations are in the page's folder.
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
            what: what(lane.waves_cycles, file),
        })
        .collect();
    // Waves of whole tests are beside the page.
    let case = Case {
        test: outcome.test,
        seed: outcome.run_seed,
    };
    let whole = traces(&lane.waves_file(case));
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
    PastRun {
        ended: run.ended,
        tier: if run.full { "full" } else { "quick" }.to_owned(),
        passed: count(Ending::Passed),
        failed: count(Ending::Failed),
        skipped: count(Ending::Skipped),
        cycles: run.results.iter().map(|kept| kept.cycles).sum(),
        elapsed: run
            .elapsed
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
    }
}

/// The page of a run on several backends, with links to their pages.
pub fn overview(whole: &Whole<'_>, folder: &Path) -> Overview {
    let rows = whole.parts.iter().map(|part| {
        let counts = part.counts();
        let lane = part.lane;
        let own = lane.folder.strip_prefix(folder).unwrap_or(&lane.folder);
        let failed = part.outcomes.iter().filter(|it| it.verdict.is_failed());
        let reason = part
            .outcomes
            .iter()
            .find_map(|outcome| match &outcome.verdict {
                Verdict::NotRun(reason) => Some(reason.clone()),
                _ => None,
            });
        OverviewRow {
            backend: lane.backend.clone(),
            page: own.join("index.html").to_string_lossy().into_owned(),
            tier: lane.tier().to_owned(),
            seeds: lane.seeds(),
            passed: counts.passed,
            failed: counts.failed,
            skipped: counts.skipped,
            not_run: counts.not_run,
            reason,
            cycles: part.cycles(),
            time: part.elapsed,
            opening: part.opening,
            digest: hex(part.digest),
            failures: failed.map(|it| part.name(it)).collect(),
        }
    });
    Overview {
        revision: revision(),
        ended: seconds_now(),
        elapsed: whole.elapsed,
        rows: rows.collect(),
    }
}
