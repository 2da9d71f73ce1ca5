//! `--report`: the results of a run as a page, as text and as JSON.

use std::fs;
use std::path::Path;

use alcor_test::{Outcome, Verdict};
use serde::Serialize;

use super::lane::Lane;
use super::page::{overview, page};
use super::results::Run;
use super::summary::{Counts, Summary, Whole};
use crate::exit::{Error, Exit};
use crate::store::{Store, StoreArgs, replace};

/// The whole of `report.json`, and the last line of `--format json`.
#[derive(Serialize)]
pub struct Report<'a> {
    passed: usize,
    failed: usize,
    skipped: usize,
    not_run: usize,
    seconds: f64,
    exit: u8,
    backends: Vec<Backend<'a>>,
}

/// A backend in it.
#[derive(Serialize)]
struct Backend<'a> {
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
    not_run: usize,
    cycles: u64,
    /// From the start of the first test to the end of the last.
    seconds: f64,
    /// The time to open the first board, with the build of its model.
    opening_seconds: f64,
    command: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tests: Vec<Entry<'a>>,
}

/// A test in it, and a line of `--format json`.
#[derive(Serialize)]
pub struct Entry<'a> {
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
    /// Differences from earlier runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explained: Option<String>,
}

impl<'a> Entry<'a> {
    /// A test that has ended.
    pub fn new(lane: &Lane, outcome: &'a Outcome) -> Entry<'a> {
        Entry {
            name: outcome.test.name,
            status: outcome.verdict.word(),
            run_seed: outcome.run_seed,
            seed: format!("0x{:016x}", outcome.seed),
            cycles: outcome.cycles,
            digest: outcome.digest.map(hex),
            seconds: outcome.duration.as_secs_f64(),
            message: message(&outcome.verdict),
            repeat: outcome.verdict.is_failed().then(|| lane.repeat(outcome)),
            new: None,
            explained: None,
        }
    }
}

/// Message of a test that did not pass.
pub fn message(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Passed => None,
        Verdict::Failed(failure) => Some(failure.to_string()),
        Verdict::Skipped(unmet) => Some(unmet.to_string()),
        Verdict::NotRun(reason) => Some(reason.clone()),
    }
}

impl<'a> Report<'a> {
    /// The results of a run; with its tests, or without.
    pub fn new(whole: &'a Whole<'a>, exit: Exit, with_tests: bool) -> Report<'a> {
        let Counts {
            passed,
            failed,
            skipped,
            not_run,
        } = whole.counts();
        Report {
            passed,
            failed,
            skipped,
            not_run,
            seconds: whole.elapsed.as_secs_f64(),
            exit: exit.code(),
            backends: whole
                .parts
                .iter()
                .map(|part| backend(part, with_tests))
                .collect(),
        }
    }
}

/// Writes the files of a report to a folder that exists. With several backends, each has a page of
/// its own, to which the page of the run leads.
pub fn write(
    whole: &Whole<'_>,
    stores: &[Option<&Store<Run>>],
    store_args: &StoreArgs,
    exit: Exit,
    folder: &Path,
) -> Result<(), Error> {
    write_file(folder, "report.txt", &whole.to_string())?;
    write_file(
        folder,
        "report.json",
        &json(&Report::new(whole, exit, true)),
    )?;
    for (part, store) in whole.parts.iter().zip(stores) {
        let folder = part.lane.folder.as_path();
        fs::create_dir_all(folder).map_err(Error::write(folder))?;
        let coverage = folder.join("coverage.json");
        match part.coverage {
            Some(counts) => write_file(folder, "coverage.json", &json(counts))?,
            // A file of an earlier run does not belong to this run.
            None if coverage.exists() => {
                fs::remove_file(&coverage).map_err(Error::write(&coverage))?;
            }
            None => {}
        }
        let page = page(part, *store, store_args)?;
        write_file(folder, "index.html", &page.render())?;
    }
    if whole.parts.len() > 1 {
        write_file(folder, "index.html", &overview(whole, folder).render())?;
    }
    eprintln!("report: {}", folder.join("index.html").display());
    Ok(())
}

fn write_file(folder: &Path, name: &str, text: &str) -> Result<(), Error> {
    let path = folder.join(name);
    replace(&path, text.as_bytes(), false).map_err(Error::write(&path))
}

/// Pretty-printed, with a line feed at its end.
fn json(value: &impl Serialize) -> String {
    // Values that are not numbers become null, so serialisation cannot fail.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

fn backend<'a>(summary: &'a Summary<'a>, with_tests: bool) -> Backend<'a> {
    let lane = summary.lane;
    let Counts {
        passed,
        failed,
        skipped,
        not_run,
    } = summary.counts();
    let entry = |(place, outcome)| Entry {
        new: summary.change(place).map(|change| change.to_string()),
        explained: summary
            .explanations
            .get(&place)
            .map(|explanation| explanation.folder.display().to_string()),
        ..Entry::new(lane, outcome)
    };
    let tests = summary.outcomes.iter().enumerate().filter(|_| with_tests);
    Backend {
        backend: &lane.backend,
        seed: lane.seed,
        repeat: lane.repeat,
        shard: lane.shard.map(|shard| shard.to_string()),
        tier: lane.tier(),
        digest: hex(summary.digest),
        passed,
        failed,
        skipped,
        not_run,
        cycles: summary.cycles(),
        seconds: summary.elapsed.as_secs_f64(),
        opening_seconds: summary.opening.as_secs_f64(),
        command: lane.command(),
        tests: tests.map(entry).collect(),
    }
}

pub fn hex(digest: u32) -> String {
    format!("{digest:08x}")
}
