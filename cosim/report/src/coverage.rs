//! The section on coverage.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::page::Section;
use crate::results::bar;
use crate::text::{count, grouped, percent};
use crate::{Coverage, Hit, Module, Page, Point};

impl Page {
    pub(crate) fn coverage_section(&self) -> Section {
        let body = match (&self.coverage, &self.coverage_command) {
            (Some(coverage), _) => covered(coverage),
            (None, Some(command)) => {
                html! { p { "Not recorded in this run. This fills the section: " code.command { (command) } } }
            }
            (None, None) => {
                html! { p { "Not recorded: coverage is of simulated boards, such as " code { "cosim:rma4" } "." } }
            }
        };
        let lines = self
            .coverage
            .as_ref()
            .map(|coverage| sum(coverage, |module| module.lines));
        let beside = lines.and_then(Hit::share).map(|share| percent(Some(share)));
        Section {
            id: "coverage",
            title: "Coverage",
            beside,
            body,
        }
    }
}

fn sum(coverage: &Coverage, what: impl Fn(&Module) -> Hit) -> Hit {
    coverage.modules.iter().map(what).sum()
}

fn covered(coverage: &Coverage) -> Markup {
    let all = Module {
        name: "all modules".to_owned(),
        file: String::new(),
        lines: sum(coverage, |module| module.lines),
        branches: sum(coverage, |module| module.branches),
        toggles: sum(coverage, |module| module.toggles),
        ..Module::default()
    };
    let share = |module: &Module| module.lines.share().or(module.branches.share());
    let mut modules: Vec<&Module> = coverage.modules.iter().collect();
    // The least covered first; modules without procedural code last.
    modules.sort_by(|a, b| {
        let (a, b) = (share(a).unwrap_or(2.0), share(b).unwrap_or(2.0));
        a.total_cmp(&b)
    });
    if coverage.modules.is_empty() && coverage.points.is_empty() {
        return html! { p { "Nothing was counted: no test ran, or tests that were abandoned still hold the boards." } };
    }
    html! {
        h3 { "By module" }
        @if coverage.modules.is_empty() { p { "The model has no lines to cover." } }
        @else { div.scroll { table.coverage {
            thead { tr { th { "module" } th { "lines" } th { "branches" } th { "bit edges" } } }
            tbody { (module_row(&all)) }
            tbody { @for module in &modules { (module_row(module)) } }
        } } }
        h3 { "Never run" }
        (never_run(&modules))
        h3 { "Functional cover points" }
        @if coverage.points.is_empty() { p { "The model has no cover points." } }
        @else { (points(&coverage.points)) }
    }
}

fn module_row(module: &Module) -> Markup {
    html! { tr {
        th scope="row" title=[Some(&module.file).filter(|file| !file.is_empty())] { code { (module.name) } }
        @for hit in [module.lines, module.branches, module.toggles] { td { (share_of(hit)) } }
    } }
}

/// Lines and branches that no test has run.
fn never_run(modules: &[&Module]) -> Markup {
    let has_missed =
        |module: &&&Module| !module.missed_lines.is_empty() || !module.missed_branches.is_empty();
    let missed: Vec<&&Module> = modules.iter().filter(has_missed).collect();
    let stretch = |&(first, last): &(u32, u32)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}\u{2013}{last}")
        }
    };
    html! {
        @if missed.is_empty() { p { "Every line and branch was run." } }
        @for module in missed {
            @let lines: Vec<String> = module.missed_lines.iter().map(stretch).collect();
            @let arms: Vec<String> = module.missed_branches.iter().map(|(line, arm)| format!("{line} ({arm})")).collect();
            details.missed {
                summary { code { (module.file) } " " (grouped(lines.len() as u64)) " stretches of lines, " (grouped(arms.len() as u64)) " branches" }
                @if !lines.is_empty() { p { "Lines: " (lines.join(", ")) } }
                @if !arms.is_empty() { p { "Branches, by the line of the arm: " (arms.join(", ")) } }
            }
        }
    }
}

fn share_of(hit: Hit) -> Markup {
    html! {
        @if let Some(share) = hit.share() { (bar("covered", share)) }
        span.of { (percent(hit.share())) @if hit.of > 0 { ", " (grouped(hit.hit)) " of " (grouped(hit.of)) } }
    }
}

fn points(points: &[Point]) -> Markup {
    let mut groups: BTreeMap<&str, Vec<&Point>> = BTreeMap::new();
    for point in points {
        groups.entry(&point.group).or_default().push(point);
    }
    let is_hit = |points: &Vec<&Point>| points.iter().any(|point| point.hits > 0);
    let (hit, empty): (Vec<_>, Vec<_>) = groups.iter().partition(|(_, points)| is_hit(points));
    html! {
        @for (group, points) in hit { (group_of_points(group, points)) }
        @if !empty.is_empty() {
            details.empty {
                summary { (count(empty.len(), "group")) " without a hit" }
                @for (group, points) in empty { (group_of_points(group, points)) }
            }
        }
    }
}

fn group_of_points(group: &str, points: &[&Point]) -> Markup {
    html! {
        @let never: Vec<_> = points.iter().filter(|point| point.hits == 0).collect();
        @let hit = Hit { hit: (points.len() - never.len()) as u64, of: points.len() as u64 };
        article.points {
            h4 { code { (group) } } p { (share_of(hit)) }
            // The points of a group without a hit are all in the table below.
            @if !never.is_empty() && never.len() < points.len() {
                p { "Never hit:" }
                ul.names.never { @for point in &never { li { code { (point.name) } } } }
            }
            details {
                summary { "How often each was hit" }
                div.scroll { table {
                    thead { tr { th { "cover point" } th.num { "hits" } th { "module" } } }
                    tbody { @for point in points { tr {
                        th scope="row" { code { (point.name) } } td.num { (grouped(point.hits)) } td { code { (point.module) } }
                    } } }
                } }
            }
        }
    }
}
