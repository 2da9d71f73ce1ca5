//! The page as a whole.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::text::{count, date, decimal, grouped, percent, seconds};
use crate::{Change, Ending, Hit, Page};

/// A section: its anchor, its title in the table of contents, and its contents.
pub(crate) struct Section {
    pub id: &'static str,
    pub title: &'static str,
    /// The text beside the title in the table of contents.
    pub beside: Option<String>,
    pub body: Markup,
}

/// The overall result.
struct Verdict {
    /// CSS class of the colour.
    class: &'static str,
    sign: &'static str,
    text: String,
}

impl Page {
    /// The page as one HTML file.
    #[must_use]
    pub fn render(&self) -> String {
        let verdict = self.verdict();
        let sections = self.sections();
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (verdict.sign) " " (verdict.text) ", " (self.run.backend) }
                    style { (PreEscaped(include_str!("style.css"))) }
                }
                body {
                    header class=(verdict.class) {
                        p.what { "Alcor, regression of " code { (self.run.backend) } ", " (date(self.run.ended)) }
                        h1 { span.sign aria-hidden="true" { (verdict.sign) } " " (verdict.text) }
                        (self.tiles())
                    }
                    nav aria-label="Contents" {
                        ul {
                            @for section in &sections {
                                li {
                                    a href={ "#" (section.id) } { (section.title) }
                                    @if let Some(beside) = &section.beside { " " span.beside { (beside) } }
                                }
                            }
                        }
                    }
                    main {
                        @for section in &sections {
                            section id=(section.id) {
                                h2 { (section.title) }
                                (section.body)
                            }
                        }
                    }
                }
            }
        };
        page.into_string()
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections = self.failures().into_iter().collect::<Vec<_>>();
        sections.extend([
            self.news(),
            self.what_was_run(),
            self.skips(),
            self.slowest(),
            self.all_tests(),
            self.coverage_section(),
            self.bench_section(),
            self.history_section(),
        ]);
        sections
    }

    /// The number of tests with this result.
    pub(crate) fn ended(&self, ending: Ending) -> usize {
        self.tests
            .iter()
            .filter(|test| test.ending == ending)
            .count()
    }

    fn verdict(&self) -> Verdict {
        let [passed, failed] = [Ending::Passed, Ending::Failed].map(|ending| self.ended(ending));
        let lost = self.ended(Ending::NotRun);
        let (class, sign, text) = match (failed, passed, self.tests.len()) {
            (0, _, all) if lost > 0 => (
                "bad",
                "✘",
                format!("{} of {} not run", grouped(lost as u64), count(all, "test")),
            ),
            (0, 0, 0) => ("nothing", "○", "This part has no tests".to_owned()),
            (0, 0, _) => (
                "nothing",
                "○",
                "Nothing was tested: all tests were skipped".to_owned(),
            ),
            (0, passed, all) if passed == all => (
                "good",
                "✔",
                format!("All is well: {} passed", count(passed, "test")),
            ),
            (0, passed, all) => {
                let skipped = grouped((all - passed) as u64);
                (
                    "good",
                    "✔",
                    format!(
                        "All is well: {} passed, {skipped} skipped",
                        count(passed, "test")
                    ),
                )
            }
            (failed, _, all) => {
                let failed = grouped(failed as u64);
                (
                    "bad",
                    "✘",
                    format!("{failed} of {} failed", count(all, "test")),
                )
            }
        };
        Verdict { class, sign, text }
    }

    /// The numbers beside the overall result.
    fn tiles(&self) -> Markup {
        let cycles: u64 = self.tests.iter().map(|test| test.cycles).sum();
        let new = |words: &str| {
            let is_so = |change: &Change| change.words() == words;
            self.tests
                .iter()
                .filter(|test| test.change.as_ref().is_some_and(is_so))
                .count()
        };
        let mut tiles = [Ending::Passed, Ending::Failed, Ending::Skipped]
            .map(|ending| (ending.word(), grouped(self.ended(ending) as u64)))
            .to_vec();
        for change in [Change::NewlyFailing, Change::NewlyPassing] {
            match new(change.words()) {
                0 => {}
                some => tiles.push((change.words(), grouped(some as u64))),
            }
        }
        match self.ended(Ending::NotRun) {
            0 => {}
            lost => tiles.push((Ending::NotRun.word(), grouped(lost as u64))),
        }
        tiles.push(("cycles", grouped(cycles)));
        tiles.push(("wall time of the tests", seconds(self.run.elapsed)));
        let modules = self.coverage.iter().flat_map(|coverage| &coverage.modules);
        if let Some(share) = modules.map(|module| module.lines).sum::<Hit>().share() {
            tiles.push(("of lines covered", percent(Some(share))));
        }
        html! {
            dl.tiles {
                @for (name, figure) in tiles {
                    div { dt { (name) } dd { (figure) } }
                }
            }
        }
    }

    fn what_was_run(&self) -> Section {
        let run = &self.run;
        let cycles: u64 = self.tests.iter().map(|test| test.cycles).sum();
        let elapsed = run.elapsed.as_secs_f64();
        let speed = (elapsed > 0.0 && cycles > 0).then(|| decimal(cycles as f64 / elapsed, 0));
        let body = html! {
            dl.facts {
                dt { "Backend" } dd { code { (run.backend) } }
                dt { "Tier, seed" } dd { (run.tier) ", " (run.seeds) }
                @if let Some(part) = &run.part { dt { "Part" } dd { (part) " of the tests; others run the rest" } }
                dt { "Revision" } dd { code { (run.revision) } }
                dt { "Ended" } dd { (date(run.ended)) }
                dt { "Took" } dd {
                    (seconds(run.elapsed)) ", " (count(run.jobs, "board")) " at once"
                    @if let Some(speed) = speed { ", " (speed) " cycles a second" }
                }
                @if run.opening.as_secs() > 0 {
                    dt { "Before it" } dd { (seconds(run.opening)) " to open the board, with the build of its model" }
                }
                dt { "Digest of all traffic" } dd { code { (run.digest) } }
                dt { "Again" } dd {
                    code.command { (run.command) }
                    @if let Some(program) = &run.program {
                        p.small { "The word " code { "alcor" } " starts no program here, or another one. The program of this run is " code { (program) } "." }
                    }
                }
            }
        };
        Section {
            id: "run",
            title: "What was run",
            beside: None,
            body,
        }
    }
}
