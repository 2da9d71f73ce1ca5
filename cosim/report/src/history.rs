//! The section on stored runs.

use maud::{Markup, html};

use crate::page::Section;
use crate::results::FORGETFUL;
use crate::text::{NONE, date, grouped, seconds};
use crate::{Page, PastRun};

impl Page {
    pub(crate) fn history_section(&self) -> Section {
        let body = html! {
            @if !self.remembers { p { (FORGETFUL) } }
            @else if self.history.is_empty() { p { "No run is remembered." } }
            @else {
                p.small { "Runs on this backend, this one first; those of other tests, seeds or tiers, too." }
                div.scroll { table.history {
                    thead { tr {
                        th { "ended" } th { "tier" } th { "results" } th.num { "passed" } th.num { "failed" }
                        th.num { "skipped" } th.num { "cycles" } th.num { "wall time of the tests" }
                    } }
                    tbody { @for run in self.history.iter().rev() { (row(run)) } }
                } }
            }
        };
        Section {
            id: "history",
            title: "Run history",
            beside: Some(grouped(self.history.len() as u64)),
            body,
        }
    }
}

fn row(run: &PastRun) -> Markup {
    let parts = [
        ("passed", run.passed),
        ("failed", run.failed),
        ("skipped", run.skipped),
    ];
    let all = parts.iter().map(|(_, count)| count).sum::<usize>().max(1);
    html! { tr {
        th scope="row" { (date(run.ended)) }
        td { (run.tier) }
        td.bar { span.track { @for (class, count) in parts { @if count > 0 {
            span.fill.(class) style=(format!("width:{:.2}%", count as f64 * 100.0 / all as f64)) {}
        } } } }
        @for (_, count) in parts { td.num { (grouped(count as u64)) } }
        td.num { (grouped(run.cycles)) }
        td.num { (run.elapsed.map_or_else(|| NONE.to_owned(), seconds)) }
    } }
}
