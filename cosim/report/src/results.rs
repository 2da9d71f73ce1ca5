//! The sections on tests: failures, differences, skips, the slowest, and all tests.

use std::collections::BTreeMap;
use std::time::Duration;

use maud::{Markup, html};

use crate::page::Section;
use crate::text::{self, count, date, grouped, seconds};
use crate::{Change, Comparison, Ending, Explanation, Page, Test};

/// Number of failures, and of changes of each kind, that the page lists.
const MOST: usize = 200;
/// Number of tests in each chart of the slowest.
const SLOWEST: usize = 15;

/// The text without a result store.
pub(crate) const FORGETFUL: &str = "This run has no result store, so it is compared with no earlier run. Either --no-store was given, or there is no folder for the store; --store names one.";

impl Page {
    pub(crate) fn failures(&self) -> Option<Section> {
        let failed: Vec<&Test> = self
            .tests
            .iter()
            .filter(|test| test.ending == Ending::Failed)
            .collect();
        let more = failed.len().saturating_sub(MOST);
        let body = html! {
            @if failed.len() > 3 {
                ul.names { @for test in failed.iter().take(MOST) { li { (self.link(test)) } } }
            }
            @for test in failed.iter().take(MOST) { (self.failure(test)) }
            @if more > 0 { p { (grouped(more as u64)) " more failed; " a href="report.json" { "report.json" } " has all." } }
        };
        (!failed.is_empty()).then(|| Section {
            id: "failures",
            title: "Failures",
            beside: Some(grouped(failed.len() as u64)),
            body,
        })
    }

    fn failure(&self, test: &Test) -> Markup {
        html! {
            article.failure id=(self.anchor(test)) {
                h3 { code { (self.name(test)) } @if let Some(change) = &test.change { " " (badge(change)) } }
                @if !test.summary.is_empty() { p { (test.summary) } }
                pre.message { (test.message.as_deref().unwrap_or_default()) }
                @if let Some(repeat) = &test.repeat { p { "Again: " code.command { (repeat) } } }
                p.small {
                    "Seed " (test.run_seed) ", its own " code { (hex(test.seed)) }
                    @if test.cycles > 0 { ", " (grouped(test.cycles)) " cycles" }
                    ", " (seconds(test.time))
                    @if test.earlier.len() > 1 { ". Its last runs, this one last: " (strip(&test.earlier)) }
                }
                @if let Some(explanation) = &test.explanation { (explained(explanation)) }
                @else { p.small { "Not explained; " code { "--explain" } " says how many are." } }
            }
        }
    }

    pub(crate) fn news(&self) -> Section {
        let changed: Vec<(&Test, &Change)> = self
            .tests
            .iter()
            .filter_map(|test| Some((test, test.change.as_ref()?)))
            .collect();
        let Comparison {
            compared,
            unknown,
            latest,
        } = self.comparison;
        let body = match latest {
            _ if !self.remembers => html! { p { (FORGETFUL) } },
            None => {
                html! { p { "Nothing to compare with: no earlier run of these tests on this backend, in this tier, with this seed is remembered." } }
            }
            Some(latest) => html! {
                p {
                    (count(compared, "test")) " ran before, last at " (date(latest)) "; "
                    @match changed.len() { 0 => "nothing is new", some => { strong { (grouped(some as u64)) } " new" } }
                    @if unknown > 0 { "; " (grouped(unknown as u64)) " ran for the first time" }
                    ". Each test is compared with its own last result."
                }
                @if !changed.is_empty() { (self.changes(&changed)) }
            },
        };
        let beside = latest.map(|_| grouped(changed.len() as u64));
        Section {
            id: "news",
            title: "New against earlier runs",
            beside,
            body,
        }
    }

    fn changes(&self, changed: &[(&Test, &Change)]) -> Markup {
        let kinds = [
            Change::NewlyFailing,
            Change::NewlyPassing,
            Change::NewlySkipped,
        ];
        let endings = kinds.iter().flat_map(|kind| {
            changed
                .iter()
                .filter(move |(_, change)| *change == kind)
                .take(MOST)
        });
        let cycles: Vec<_> = changed
            .iter()
            .filter_map(|(test, change)| match **change {
                Change::Cycles { before, now } => Some((test, before, now)),
                _ => None,
            })
            .take(MOST)
            .collect();
        html! {
            ul.news { @for (test, change) in endings { li { (badge(change)) " " (self.link(test)) } } }
            @if !cycles.is_empty() {
                div.scroll { table {
                    caption { "Cycles that changed" }
                    thead { tr { th { "test" } th.num { "before, cycles" } th.num { "now, cycles" } th.num { "change" } } }
                    tbody { @for (test, before, now) in cycles { tr {
                        th scope="row" { (self.link(test)) }
                        td.num { (grouped(before)) }
                        td.num { (grouped(now)) }
                        td.num { (text::change(before as f64, now as f64)) }
                    } } }
                } }
            }
        }
    }

    pub(crate) fn skips(&self) -> Section {
        let mut reasons: BTreeMap<&str, Vec<&Test>> = BTreeMap::new();
        for test in self
            .tests
            .iter()
            .filter(|test| matches!(test.ending, Ending::Skipped | Ending::NotRun))
        {
            reasons
                .entry(test.message.as_deref().unwrap_or("no reason was given"))
                .or_default()
                .push(test);
        }
        let body = html! {
            @if reasons.is_empty() { p { "No test was skipped." } }
            @for (reason, tests) in &reasons {
                h3 { (count(tests.len(), "test")) ": " (reason) }
                ul.names { @for name in distinct(tests) { li { code { (name) } } } }
            }
        };
        let not_run = self.ended(Ending::NotRun);
        let beside = Some(grouped((self.ended(Ending::Skipped) + not_run) as u64));
        Section {
            id: "skips",
            title: if not_run > 0 {
                "Skipped or not run"
            } else {
                "Skipped"
            },
            beside,
            body,
        }
    }

    pub(crate) fn slowest(&self) -> Section {
        let by_time = |test: &Test| test.time.as_secs_f64();
        let by_cycles = |test: &Test| test.cycles as f64;
        let charts = [
            (
                "By wall time",
                self.chart(by_time, |test| seconds(test.time)),
            ),
            (
                "By simulated cycles",
                self.chart(by_cycles, |test| format!("{} cycles", grouped(test.cycles))),
            ),
        ];
        let is_empty = charts.iter().all(|(_, chart)| chart.is_none());
        let body = html! {
            @if is_empty { p { "No test took any time." } }
            div.beside-each-other { @for (title, chart) in charts {
                @if let Some(chart) = chart { div { h3 { (title) } (chart) } }
            } }
        };
        Section {
            id: "slowest",
            title: "Slowest tests",
            beside: None,
            body,
        }
    }

    /// Bars of the tests with the largest values; none if all are zero.
    fn chart(
        &self,
        figure: impl Fn(&Test) -> f64,
        text: impl Fn(&Test) -> String,
    ) -> Option<Markup> {
        let mut tests: Vec<&Test> = self
            .tests
            .iter()
            .filter(|test| {
                !matches!(test.ending, Ending::Skipped | Ending::NotRun) && figure(test) > 0.0
            })
            .collect();
        tests.sort_by(|a, b| figure(b).total_cmp(&figure(a)));
        tests.truncate(SLOWEST);
        let most = figure(tests.first()?);
        Some(html! {
            table.bars { tbody { @for test in tests { tr {
                th scope="row" { code { (self.name(test)) } }
                td.bar { (bar("", figure(test) / most)) }
                td.num { (text(test)) }
            } } } }
        })
    }

    pub(crate) fn all_tests(&self) -> Section {
        let body = html! {
            @if self.tests.is_empty() { p { "This part has no tests: others run them." } }
            @else {
                p.small { "A test's own seed derives from the run's seed and its name." }
                div.scroll { table.tests {
                    thead { tr {
                        th { "test" } th { "result" } th.num { "cycles" } th.num { "time" } th { "its own seed" }
                        th { "tested property" }
                    } }
                    @for module in self.tests.chunk_by(|a, b| module(&a.name) == module(&b.name)) {
                        tbody { @for tests in module.chunk_by(|a, b| a.name == b.name) { (self.row(tests)) } }
                    }
                } }
            }
        };
        Section {
            id: "tests",
            title: "All tests",
            beside: Some(grouped(self.tests.len() as u64)),
            body,
        }
    }

    /// A test, with all of its repetitions.
    fn row(&self, tests: &[Test]) -> Markup {
        let cycles: u64 = tests.iter().map(|test| test.cycles).sum();
        let time: Duration = tests.iter().map(|test| test.time).sum();
        let of = |ending| tests.iter().filter(|test| test.ending == ending).count();
        let worst = [
            Ending::Failed,
            Ending::NotRun,
            Ending::Passed,
            Ending::Skipped,
        ]
        .into_iter()
        .find(|&ending| of(ending) > 0);
        let ending = worst.unwrap_or_default();
        let ran = !matches!(ending, Ending::NotRun | Ending::Skipped) || time > Duration::ZERO;
        html! { tr class=(ending.class()) {
            @match tests {
                [test] => {
                    th scope="row" { (self.link(test)) @if let Some(change) = &test.change { " " (badge(change)) } }
                    td { (status(test.ending)) }
                }
                _ => {
                    th scope="row" { code { (tests[0].name) } }
                    td { (status(ending)) ": " (grouped(of(ending) as u64)) " of " (grouped(tests.len() as u64)) }
                }
            }
            td.num { @if cycles > 0 { (grouped(cycles)) } @else { (text::NONE) } }
            td.num { @if ran { (seconds(time)) } @else { (text::NONE) } }
            td { @if let [test] = tests { code { (hex(test.seed)) } } @else { (text::NONE) } }
            td.property { (tests.first().map_or("", |test| &test.summary)) }
        } }
    }

    /// A test's name, with its seed if names are not unique.
    fn name(&self, test: &Test) -> String {
        let is_repeated = self
            .tests
            .first()
            .is_some_and(|first| self.tests.iter().any(|it| it.run_seed != first.run_seed));
        if is_repeated {
            format!("{} seed {}", test.name, test.run_seed)
        } else {
            test.name.clone()
        }
    }

    /// The anchor of a failed test.
    fn anchor(&self, test: &Test) -> String {
        format!("{}-{}", test.name, test.run_seed)
    }

    /// A test's name, with a link to its failure if there is one.
    fn link(&self, test: &Test) -> Markup {
        let name = self.name(test);
        html! {
            @if test.ending == Ending::Failed { a href={ "#" (self.anchor(test)) } { code { (name) } } }
            @else { code { (name) } }
        }
    }
}

/// The part of a name before its first dot.
fn module(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The names of tests that follow each other in repetitions.
fn distinct<'a>(tests: &[&'a Test]) -> Vec<&'a str> {
    let mut names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    names.dedup();
    names
}

fn hex(seed: u64) -> String {
    format!("0x{seed:016x}")
}

fn status(ending: Ending) -> Markup {
    html! { span.status.(ending.class()) { (ending.word()) } }
}

fn badge(change: &Change) -> Markup {
    html! { span.badge { (change.words()) } }
}

/// A bar of a share of one.
pub(crate) fn bar(class: &str, share: f64) -> Markup {
    let width = (share * 100.0).clamp(0.0, 100.0);
    html! { span.track { span.fill.(class) style=(format!("width:{width:.2}%")) {} } }
}

/// A sign for each ending.
fn strip(endings: &[Ending]) -> Markup {
    html! { span.strip { @for ending in endings {
        span.(ending.class()) title=(ending.word()) { (match ending {
            Ending::Passed => "✔",
            Ending::Failed => "✘",
            Ending::Skipped => "○",
            Ending::NotRun => "–",
        }) }
    } } }
}

fn explained(explanation: &Explanation) -> Markup {
    html! {
        @for note in &explanation.notes { p.note { "Note: " (note) } }
        @if let Some(waits) = &explanation.waits {
            details open { summary { "Who waits for whom" } pre { (waits) } }
        }
        @if !explanation.files.is_empty() {
            ul.files { @for file in &explanation.files {
                li { a href=(file.path) { (file.path.rsplit('/').next().unwrap_or(&file.path)) } " " (file.what) }
            } }
        }
    }
}
