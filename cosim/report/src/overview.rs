//! The page of a run on several backends, with links to their pages.

use std::time::Duration;

use maud::{DOCTYPE, PreEscaped, html};

use crate::text::{count, date, grouped, seconds};

/// Number of failures of a backend that the page lists; it counts the others.
const NAMED: usize = 20;

/// The data of the page.
#[derive(Debug, Clone, Default)]
pub struct Overview {
    /// The source revision.
    pub revision: String,
    /// Time of the end of the run, in seconds since 1970.
    pub ended: u64,
    /// Wall-clock time of the run.
    pub elapsed: Duration,
    /// The backends, in the order in which they were named.
    pub rows: Vec<OverviewRow>,
}

/// A backend.
#[derive(Debug, Clone, Default)]
pub struct OverviewRow {
    /// URI of the backend.
    pub backend: String,
    /// Path of the backend's page, from the folder of this page.
    pub page: String,
    /// Tier of the run.
    pub tier: String,
    /// Seeds of the run, in words.
    pub seeds: String,
    /// Tests that passed.
    pub passed: usize,
    /// Tests that failed.
    pub failed: usize,
    /// Tests that were skipped.
    pub skipped: usize,
    /// Tests that were not run.
    pub not_run: usize,
    /// The reason for the first test that was not run.
    pub reason: Option<String>,
    /// Cycles of all tests.
    pub cycles: u64,
    /// From the start of the first test to the end of the last, by the wall clock.
    pub time: Duration,
    /// Time to open the first board, including the build of its model.
    pub opening: Duration,
    /// The digest of all traffic.
    pub digest: String,
    /// The names of the tests that failed.
    pub failures: Vec<String>,
}

impl Overview {
    /// The page as one HTML file.
    #[must_use]
    pub fn render(&self) -> String {
        let sum = |of: fn(&OverviewRow) -> usize| self.rows.iter().map(of).sum::<usize>();
        let (failed, lost) = (sum(|row| row.failed), sum(|row| row.not_run));
        let passed = sum(|row| row.passed);
        let (class, sign, verdict) = match (failed, lost) {
            (0, 0) => (
                "good",
                "✔",
                format!("All is well: {} passed", count(passed, "test")),
            ),
            (0, lost) => ("bad", "✘", format!("{} not run", count(lost, "test"))),
            (failed, _) => ("bad", "✘", format!("{} failed", count(failed, "test"))),
        };
        let title = format!("{verdict} on {}", count(self.rows.len(), "backend"));
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (sign) " " (title) }
                    style { (PreEscaped(include_str!("style.css"))) }
                }
                body {
                    header class=(class) {
                        p.what { "Alcor, regression, revision " code { (self.revision) } ", " (date(self.ended)) }
                        h1 { span.sign aria-hidden="true" { (sign) } " " (title) }
                        p { (seconds(self.elapsed)) " by the wall clock" }
                    }
                    main {
                        section id="backends" {
                            h2 { "Backends" }
                            div.scroll { table.history {
                                thead { tr {
                                    th { "backend" } th { "tier, seed" } th.num { "passed" } th.num { "failed" }
                                    th.num { "skipped" } th.num { "not run" } th.num { "cycles" } th.num { "time" }
                                    th.num { "opening" } th { "digest" }
                                } }
                                tbody { @for row in &self.rows { tr {
                                    th scope="row" { a href=(row.page) { code { (row.backend) } } }
                                    td { (row.tier) ", " (row.seeds) }
                                    @for number in [row.passed, row.failed, row.skipped, row.not_run] {
                                        td.num { (grouped(number as u64)) }
                                    }
                                    td.num { (grouped(row.cycles)) }
                                    td.num { (seconds(row.time)) }
                                    td.num { (seconds(row.opening)) }
                                    td { code { (row.digest) } }
                                } } }
                            } }
                        }
                        @if failed + lost > 0 {
                            section id="failures" {
                                h2 { "Failures" }
                                @for row in self.rows.iter().filter(|row| row.failed + row.not_run > 0) {
                                    h3 { a href=(row.page) { code { (row.backend) } } }
                                    @if let Some(reason) = &row.reason {
                                        p { (count(row.not_run, "test")) " not run: " (reason) }
                                    }
                                    ul.names { @for name in row.failures.iter().take(NAMED) { li { code { (name) } } } }
                                    @if row.failures.len() > NAMED {
                                        p { "and " (grouped((row.failures.len() - NAMED) as u64)) " more" }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        };
        page.into_string()
    }
}
