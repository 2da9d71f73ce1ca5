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
    seed: String,
    cycles: u64,
    digest: Option<String>,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waves: Option<String>,
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
    let entry = |outcome| entry(summary, outcome);
    Report {
        backend: &summary.args.backend,
        seed: summary.args.seed,
        tier: if summary.args.full { "full" } else { "quick" },
        digest: hex(summary.digest),
        passed,
        failed,
        skipped,
        cycles: summary.cycles(),
        seconds: summary.elapsed.as_secs_f64(),
        tests: summary.outcomes.iter().map(entry).collect(),
    }
}

fn entry<'a>(summary: &Summary<'_>, outcome: &'a Outcome) -> Entry<'a> {
    let name = outcome.test.name;
    let waves = summary.waves.get(name);
    Entry {
        name,
        status: outcome.verdict.word(),
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
            .then(|| summary.args.repeat(name)),
        waves: waves.map(|waves| waves.file.display().to_string()),
    }
}

fn hex(digest: u32) -> String {
    format!("{digest:08x}")
}
