//! `--report`: what came of a run, as a page, as text and as JSON.

use std::fs;
use std::path::Path;

use alcor_conformance::{Outcome, Verdict};
use serde::Serialize;

use super::page::page;
use super::results::Run;
use super::summary::{Counts, Summary};
use crate::exit::Error;
use crate::store::Store;

/// The whole of `report.json`.
#[derive(Serialize)]
struct Report<'a> {
    backend: &'a str,
    seed: u64,
    repeat: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<String>,
    tier: &'static str,
    digest: String,
    passed: usize,
    failed: usize,
    skipped: usize,
    cycles: u64,
    seconds: f64,
    tests: Vec<Entry<'a>>,
}

/// A test in it.
#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    status: &'static str,
    /// The run's seed, or the repetition's.
    run_seed: u64,
    /// The test's own.
    seed: String,
    cycles: u64,
    digest: Option<String>,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<String>,
    /// What is new against earlier runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explained: Option<String>,
}

/// Writes the files of a report to a folder that exists.
pub fn write(
    summary: &Summary<'_>,
    store: Option<&Store<Run>>,
    folder: &Path,
) -> Result<(), Error> {
    let file = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text).map_err(Error::write(&path))
    };
    file("report.txt", summary.to_string())?;
    file("report.json", json(&report(summary)))?;
    let coverage = folder.join("coverage.json");
    match summary.coverage {
        Some(counts) => file("coverage.json", json(counts))?,
        // That of an earlier run is not of this one.
        None if coverage.exists() => fs::remove_file(&coverage).map_err(Error::write(&coverage))?,
        None => {}
    }
    file("index.html", page(summary, store, folder)?.render())?;
    eprintln!("report: {}", folder.join("index.html").display());
    Ok(())
}

/// Pretty-printed, with a line feed at its end.
fn json(value: &impl Serialize) -> String {
    // What is not a number is null: there is nothing that can't be written.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

fn report<'a>(summary: &'a Summary<'a>) -> Report<'a> {
    let Counts {
        passed,
        failed,
        skipped,
    } = summary.counts();
    let entry = |(place, outcome)| entry(summary, place, outcome);
    Report {
        backend: &summary.args.backend,
        seed: summary.args.seed,
        repeat: summary.args.repeat,
        shard: summary.args.shard.map(|shard| shard.to_string()),
        tier: summary.args.tier(),
        digest: hex(summary.digest),
        passed,
        failed,
        skipped,
        cycles: summary.cycles(),
        seconds: summary.elapsed.as_secs_f64(),
        tests: summary.outcomes.iter().enumerate().map(entry).collect(),
    }
}

fn entry<'a>(summary: &Summary<'_>, place: usize, outcome: &'a Outcome) -> Entry<'a> {
    let name = outcome.test.name;
    let explanation = summary.explanations.get(&place);
    Entry {
        name,
        status: outcome.verdict.word(),
        run_seed: outcome.run_seed,
        seed: format!("0x{:016x}", outcome.seed),
        cycles: outcome.cycles,
        digest: outcome.digest.map(hex),
        seconds: outcome.duration.as_secs_f64(),
        message: match &outcome.verdict {
            Verdict::Passed => None,
            Verdict::Failed(failure) => Some(failure.to_string()),
            Verdict::Skipped(unmet) => Some(unmet.to_string()),
        },
        repeat: outcome
            .verdict
            .is_failed()
            .then(|| summary.args.repeat(outcome)),
        new: summary.change(place).map(|change| change.to_string()),
        explained: explanation.map(|explanation| explanation.folder.display().to_string()),
    }
}

pub fn hex(digest: u32) -> String {
    format!("{digest:08x}")
}
