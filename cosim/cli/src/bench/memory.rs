//! Stored benchmark results, and their presentation on the report's page.

use std::collections::BTreeMap;

use alcor_paper::{Report, plot};
use alcor_report::{Bench, Plot, Row};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::Subject;
use crate::build;
use crate::exit::Error;
use crate::regress::quoted;
use crate::store::{Entry, Store, StoreArgs, seconds_now};

/// The stored result of a benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The time of its end, in seconds since 1970.
    ended: u64,
    full: bool,
    report: Report,
}

impl Measured {
    /// A benchmark that ends now.
    pub fn now(full: bool, mut report: Report) -> Measured {
        // JSON has no other numbers: a file with them would be damaged.
        report.rows.retain(|row| row.measured.is_finite());
        Measured {
            ended: seconds_now(),
            full,
            report,
        }
    }

    /// The key of the results that it is compared with.
    fn key(&self) -> (bool, u64, &str) {
        (self.full, self.report.seed, &self.report.config)
    }

    /// The command that measures it again.
    fn command(&self) -> String {
        let Report {
            bench,
            config,
            seed,
            ..
        } = &self.report;
        let mut line = format!("alcor bench {bench}");
        // The default is several configurations.
        if !config.contains('+') {
            line += &format!(" --config {}", quoted(config));
        }
        if *seed != 1 {
            line += &format!(" --seed {seed}");
        }
        if self.full {
            line += " --full";
        }
        line
    }

    /// The values for the page, beside earlier ones.
    fn bench(&self, before: Option<&Measured>) -> Result<Bench, Error> {
        let Report {
            bench,
            config,
            unit,
            revision,
            rows,
            ..
        } = &self.report;
        let earlier: BTreeMap<&str, f64> = before
            .into_iter()
            .flat_map(|before| &before.report.rows)
            .map(|row| (row.name.as_str(), row.measured))
            .collect();
        let rows = rows.iter().map(|row| Row {
            name: row.name.clone(),
            measured: row.measured,
            paper: row.paper,
            limit: row.limit,
            before: earlier.get(row.name.as_str()).copied(),
            note: row.note.clone(),
        });
        let pictures = plot::all(&self.report)?.into_iter();
        Ok(Bench {
            name: bench.clone(),
            config: config.clone(),
            unit: unit.clone(),
            revision: revision.clone(),
            ended: self.ended,
            command: self.command(),
            before: before.map(|before| before.ended),
            rows: rows.collect(),
            plots: pictures
                .map(|plot::Picture { title, svg }| Plot { title, svg })
                .collect(),
        })
    }
}

impl Entry for Measured {
    fn results(&self) -> usize {
        self.report.rows.len()
    }

    fn keys(&self) -> impl Iterator<Item = (&str, bool, u64, &str)> {
        let (full, seed, config) = self.key();
        std::iter::once(("", full, seed, config))
    }

    fn from_journal(_: &str, _: &[&str]) -> Option<Measured> {
        None
    }

    fn ended(&self) -> u64 {
        self.ended
    }

    fn is_same(&self, _: &Measured) -> bool {
        false
    }
}

/// The last values of each benchmark on each configuration, and the commands for benchmarks that
/// were never run.
pub fn remembered(args: &StoreArgs) -> Result<(Vec<Bench>, Vec<String>), Error> {
    let (mut benches, mut missing) = (Vec::new(), Vec::new());
    for &subject in Subject::value_variants() {
        let store: Option<Store<Measured>> = args.open(&subject.key())?;
        let mut latest: BTreeMap<_, Vec<&Measured>> = BTreeMap::new();
        for measured in store.iter().flat_map(Store::runs) {
            latest.entry(measured.key()).or_default().push(measured);
        }
        if latest.is_empty() {
            missing.push(format!("alcor bench {}", subject.name()));
            continue;
        }
        let first = benches.len();
        for measured in latest.values() {
            let [earlier @ .., last] = measured.as_slice() else {
                continue;
            };
            benches.push(last.bench(earlier.last().copied())?);
        }
        if subject == Subject::Collectives {
            let mut last: Vec<&Measured> = latest
                .values()
                .filter_map(|them| them.last().copied())
                .collect();
            last.sort_by_key(|measured| std::cmp::Reverse(measured.ended));
            benches[first].plots.extend(over_boards(&last)?);
        }
    }
    Ok((benches, missing))
}

/// Collectives over the number of boards, for all stored configurations, the latest first.
fn over_boards(measured: &[&Measured]) -> Result<Vec<Plot>, Error> {
    // Without the configurations, no number of boards is known, so no plot is drawn.
    let configs = build::backend().configs().ok();
    let boards = |config: &str| {
        let found = configs.as_ref()?.get(config).ok()?;
        Some(found.topology.iter().product())
    };
    let mut plots = Vec::new();
    for bytes in [8, 1024, 16_384] {
        let reports = measured.iter().map(|measured| &measured.report);
        match plot::boards(reports, bytes, boards) {
            Ok(svg) => plots.push(Plot {
                title: format!(
                    "Cycles over boards, {bytes} bytes, for the measured configurations; --config ring2 and others add points"
                ),
                svg,
            }),
            Err(plot::PlotError::NoRows(..)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(plots)
}
