//! The benchmarks' tables and pictures.

use maud::{Markup, PreEscaped, html};

use crate::page::Section;
use crate::results::FORGETFUL;
use crate::text::{self, count, date, decimal, figure};
use crate::{Bench, Page, Row};

impl Page {
    pub(crate) fn bench_section(&self) -> Section {
        let body = html! {
            @if !self.remembers { p { (FORGETFUL) } }
            @if !self.benches.is_empty() {
                p.small { "The last figures that are remembered of each benchmark, which this run has not measured anew. A ratio is the measured figure over the limit, which is the physical bound." }
            }
            @for bench in &self.benches { (shown(bench)) }
            @if !self.missing_benches.is_empty() {
                h3 { "Never run here" }
                ul { @for command in &self.missing_benches { li { code.command { (command) } } } }
            }
        };
        Section {
            id: "benches",
            title: "Benchmarks",
            beside: None,
            body,
        }
    }
}

fn shown(bench: &Bench) -> Markup {
    let changed = bench
        .rows
        .iter()
        .filter(|row| row.before.is_some_and(|before| before != row.measured))
        .count();
    html! { article.bench {
        h3 { (bench.name) " on " code { (bench.config) } }
        p.small {
            (date(bench.ended)) ", revision " code { (bench.revision) } ". "
            @match bench.before {
                None => "There is no earlier run to compare with.",
                Some(before) => {
                    @match changed { 0 => "No figure changed", some => { strong { (count(some, "figure")) } " changed" } }
                    " against " (date(before)) "."
                }
            }
            " Again: " code.command { (bench.command) }
        }
        @for plot in &bench.plots {
            figure {
                figcaption { (plot.title) }
                div.scroll { (PreEscaped(&plot.svg)) }
            }
        }
        details open[bench.plots.is_empty()] {
            summary { (count(bench.rows.len(), "figure")) }
            (rows(bench))
        }
    } }
}

fn rows(bench: &Bench) -> Markup {
    let has = |present: fn(&Row) -> bool| bench.rows.iter().any(present);
    let (paper, limit) = (
        has(|row| row.paper.is_some()),
        has(|row| row.limit.is_some()),
    );
    let (before, note) = (
        has(|row| row.before.is_some()),
        has(|row| row.note.is_some()),
    );
    let optional = |value: Option<f64>| value.map_or_else(String::new, figure);
    html! { div.scroll { table {
        caption { "Figures in " (bench.unit) @if note { ", where a note does not say otherwise" } }
        thead { tr {
            th { "row" } th.num { "measured" }
            @if paper { th.num { "paper" } }
            @if limit { th.num { "limit" } th.num { "ratio" } }
            @if before { th.num { "before" } th.num { "change" } }
            @if note { th { "note" } }
        } }
        tbody { @for row in &bench.rows { tr.changed[row.before.is_some_and(|before| before != row.measured)] {
            th scope="row" { code { (row.name) } }
            td.num { (figure(row.measured)) }
            @if paper { td.num { (optional(row.paper)) } }
            @if limit { td.num { (optional(row.limit)) } td.num { (ratio(row)) } }
            @if before {
                td.num { (optional(row.before)) }
                td.num { (row.before.map_or_else(String::new, |before| text::change(before, row.measured))) }
            }
            @if note { td { (row.note.as_deref().unwrap_or_default()) } }
        } } }
    } } }
}

fn ratio(row: &Row) -> String {
    match row.limit {
        Some(limit) if limit != 0.0 => decimal(row.measured / limit, 2),
        Some(_) => text::NONE.to_owned(),
        None => String::new(),
    }
}
