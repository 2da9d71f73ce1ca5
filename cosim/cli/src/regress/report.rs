//! `--report`: what came of a run, as text and as JSON.

use std::fs;
use std::path::Path;

use alcor_conformance::{Outcome, Verdict};
use serde::Serialize;

use super::summary::{Counts, Summary};
use crate::exit::Error;

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

/// Writes `report.txt` and `report.json` to a folder that exists.
pub fn write(summary: &Summary<'_>, folder: &Path) -> Result<(), Error> {
    let text = folder.join("report.txt");
    fs::write(&text, summary.to_string()).map_err(Error::write(&text))?;
    let json = folder.join("report.json");
    serde_json::to_string_pretty(&report(summary))
        .map_err(std::io::Error::from)
        .and_then(|report| fs::write(&json, report + "\n"))
        .map_err(Error::write(&json))
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

fn hex(digest: u32) -> String {
    format!("{digest:08x}")
}
