//! The summary of a run, as text.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::time::Duration;
use std::{env, fmt};

use alcor_report::{Change, Coverage};
use alcor_test::{Outcome, Verdict};

use super::compare::{Comparison, ago};
use super::coverage::Brief;
use super::lane::Lane;
use super::progress::name;
use crate::exit::Exit;
use crate::store::seconds_now;
use alcor_test::explain::{Explanation, is_explicable};

/// Number of tests that are listed for a reason of not being run; the others are counted.
const NAMED: usize = 10;

/// The results of one backend.
pub struct Summary<'a> {
    pub lane: &'a Lane,
    pub outcomes: &'a [Outcome],
    /// Explanations of failures, by the index of the outcome.
    pub explanations: &'a BTreeMap<usize, Explanation>,
    /// Differences from earlier runs, if there is a store.
    pub comparison: Option<&'a Comparison>,
    /// Coverage of the hardware, if it was counted.
    pub coverage: Option<&'a Coverage>,
    /// The time to open the first board, with the build of its model.
    pub opening: Duration,
    /// From the start of the first test to the end of the last.
    pub elapsed: Duration,
    pub digest: u32,
}

/// Numbers of tests by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
    pub not_run: usize,
}

impl Counts {
    /// Counts one more.
    pub fn add(&mut self, verdict: &Verdict) {
        *match verdict {
            Verdict::Passed => &mut self.passed,
            Verdict::Failed(_) => &mut self.failed,
            Verdict::Skipped(_) => &mut self.skipped,
            Verdict::NotRun(_) => &mut self.not_run,
        } += 1;
    }

    /// Number of all tests.
    pub fn all(&self) -> usize {
        self.passed + self.failed + self.skipped + self.not_run
    }

    /// The numbers in words.
    pub fn of<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Counts {
        let mut counts = Counts::default();
        for outcome in outcomes {
            counts.add(&outcome.verdict);
        }
        counts
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts {
            passed,
            failed,
            skipped,
            not_run,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")?;
        match not_run {
            0 => Ok(()),
            _ => write!(f, ", {not_run} not run"),
        }
    }
}

impl Summary<'_> {
    pub fn counts(&self) -> Counts {
        Counts::of(self.outcomes)
    }

    /// A test's name, with its seed if names are not unique.
    pub fn name(&self, outcome: &Outcome) -> String {
        name(outcome.test.name, outcome.run_seed, self.lane.is_repeated())
    }

    /// The difference of the outcome with this index.
    pub fn change(&self, place: usize) -> Option<Change> {
        self.comparison?.at(place)
    }

    /// Cycles of all tests.
    pub fn cycles(&self) -> u64 {
        self.outcomes.iter().map(|outcome| outcome.cycles).sum()
    }

    /// The exit code of this part of a run. If every test was skipped, the code is an error, unless
    /// the part is one of several shards.
    pub fn exit(&self) -> Exit {
        match self.counts() {
            Counts { failed: 1.., .. } => Exit::Failed,
            _ if self.lane.shard.is_some_and(|shard| shard.of > 1) || self.outcomes.is_empty() => {
                Exit::Passed
            }
            Counts { passed: 0, .. } => Exit::Environment,
            _ => Exit::Passed,
        }
    }

    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lane.is_repeated() {
            return self.table_of_repetitions(f);
        }
        let width = self.width();
        writeln!(
            f,
            "{:width$}  result   {:>12}  {:>9}",
            "test", "cycles", "time"
        )?;
        for outcome in self.outcomes {
            let (name, verdict) = (outcome.test.name, outcome.verdict.word());
            let (cycles, seconds) = (outcome.cycles, outcome.duration.as_secs_f64());
            write!(f, "{name:width$}  ")?;
            painted(f, verdict, "skipped".len())?;
            writeln!(f, "  {cycles:>12}  {seconds:>7.2} s")?;
        }
        Ok(())
    }

    /// A line for all repetitions of a test.
    fn table_of_repetitions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.width();
        writeln!(
            f,
            "{:width$}  {:>6}  {:>6}  {:>7}  {:>10}",
            "test", "passed", "failed", "skipped", "time"
        )?;
        let same = |a: &Outcome, b: &Outcome| a.test.name == b.test.name;
        for outcomes in self.outcomes.chunk_by(same) {
            let Counts {
                passed,
                failed,
                skipped,
                ..
            } = Counts::of(outcomes);
            let time: Duration = outcomes.iter().map(|outcome| outcome.duration).sum();
            let (name, seconds) = (outcomes[0].test.name, time.as_secs_f64());
            writeln!(
                f,
                "{name:width$}  {passed:>6}  {failed:>6}  {skipped:>7}  {seconds:>8.2} s"
            )?;
        }
        Ok(())
    }

    /// Width of the column of names.
    fn width(&self) -> usize {
        let names = self.outcomes.iter().map(|outcome| outcome.test.name.len());
        names.max().unwrap_or(0).max("test".len())
    }

    fn skipped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for outcome in self.outcomes {
            if let Verdict::Skipped(unmet) = &outcome.verdict {
                reasons
                    .entry(unmet.to_string())
                    .or_default()
                    .push(outcome.test.name);
            }
        }
        for (reason, mut names) in reasons {
            writeln!(f, "\nskipped {}: {reason}", names.len())?;
            // The repetitions of a test follow each other.
            names.dedup();
            names.iter().try_for_each(|name| writeln!(f, "  {name}"))?;
        }
        Ok(())
    }

    /// The tests that were not run, by reason.
    fn not_run(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for outcome in self.outcomes {
            if let Verdict::NotRun(reason) = &outcome.verdict {
                let names = reasons.entry(reason).or_default();
                names.push(self.name(outcome));
            }
        }
        for (reason, names) in reasons {
            writeln!(f, "\nnot run {}: {reason}", names.len())?;
            for name in names.iter().take(NAMED) {
                writeln!(f, "  {name}")?;
            }
            if names.len() > NAMED {
                writeln!(f, "  and {} more", names.len() - NAMED)?;
            }
        }
        Ok(())
    }

    fn failures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, outcome) in self.outcomes.iter().enumerate() {
            let Verdict::Failed(failure) = &outcome.verdict else {
                continue;
            };
            let name = self.name(outcome);
            writeln!(f)?;
            painted(f, "failed", 0)?;
            writeln!(f, " {name}, its own seed 0x{:016x}", outcome.seed)?;
            writeln!(f, "  {failure}")?;
            writeln!(f, "  repeat: {}", self.lane.repeat(outcome))?;
            let Some(explanation) = self.explanations.get(&place) else {
                continue;
            };
            for note in &explanation.notes {
                writeln!(f, "  note: {note}")?;
            }
            let (folder, files) = (explanation.folder.display(), explanation.files.join(", "));
            writeln!(f, "  explained in {folder}: {files}")?;
        }
        let failed = self.outcomes.iter().filter(|it| is_explicable(it)).count();
        let explained = self.explanations.len();
        if self.lane.explain > 0 && failed > explained {
            let more = failed - explained;
            writeln!(
                f,
                "\n{more} more failed and are not explained; --explain {failed} explains all"
            )?;
        }
        Ok(())
    }

    /// Differences from earlier runs.
    fn news(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(comparison) = self.comparison else {
            return Ok(());
        };
        let Comparison {
            changes,
            compared,
            unknown,
            latest,
        } = comparison;
        let Some(latest) = latest else {
            return writeln!(
                f,
                "\nnothing to compare with: no earlier run of these tests with {}, {} tier, {} is remembered",
                self.lane.backend,
                self.lane.tier(),
                self.lane.seeds()
            );
        };
        let when = ago(seconds_now().saturating_sub(*latest));
        let beside = match unknown {
            0 => String::new(),
            unknown => format!(", and {unknown} for the first time"),
        };
        let what = match changes.len() {
            0 => "nothing new".to_owned(),
            news => format!("{news} new"),
        };
        writeln!(
            f,
            "\n{what} of {compared} tests that ran before, last {when}{beside}"
        )?;
        let kinds = [
            Change::NewlyFailing,
            Change::NewlyPassing,
            Change::NewlySkipped,
        ];
        for kind in kinds.iter().map(Change::words).chain([Change::CYCLES]) {
            for (place, change) in changes.iter().filter(|(_, change)| change.words() == kind) {
                writeln!(f, "  {}: {change}", self.name(&self.outcomes[*place]))?;
            }
        }
        Ok(())
    }
}

impl Summary<'_> {
    /// Remarks below the table.
    fn findings(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.skipped(f)?;
        self.not_run(f)?;
        self.failures(f)?;
        if !self.outcomes.is_empty() {
            self.news(f)?;
        }
        match self.coverage {
            Some(coverage) => write!(f, "{}", Brief(coverage)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lane = self.lane;
        if self.outcomes.is_empty() {
            // The filter has matched a test; otherwise there is no run.
            writeln!(f, "this part has no tests; the other parts have them")?;
        } else {
            self.table(f)?;
        }
        self.findings(f)?;
        let part = lane.shard.map(|shard| format!(", part {shard}"));
        let built = match self.opening.as_secs() {
            0 => String::new(),
            seconds => format!(", after {seconds} s of opening the board"),
        };
        writeln!(
            f,
            "\n{}{}, {}: {}; {} cycles in {:.1} s{built}",
            lane.backend,
            part.unwrap_or_default(),
            lane.seeds(),
            self.counts(),
            self.cycles(),
            self.elapsed.as_secs_f64()
        )?;
        writeln!(f, "digest {:08x}", self.digest)
    }
}

/// The results of a run.
pub struct Whole<'a> {
    pub parts: Vec<Summary<'a>>,
    /// Wall-clock time from the start of the run.
    pub elapsed: Duration,
}

impl Whole<'_> {
    pub fn counts(&self) -> Counts {
        Counts::of(self.parts.iter().flat_map(|part| part.outcomes))
    }
}

impl fmt::Display for Whole<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [part] = self.parts.as_slice() {
            return part.fmt(f);
        }
        for part in &self.parts {
            writeln!(
                f,
                "== {}, {} tier, {}",
                part.lane.backend,
                part.lane.tier(),
                part.lane.seeds()
            )?;
            part.findings(f)?;
            writeln!(f)?;
        }
        let widths = self.parts.iter().map(|part| part.lane.backend.len());
        let width = widths.max().unwrap_or(0).max("backend".len());
        writeln!(
            f,
            "{:width$}  tier   seed                  passed  failed  skipped  not run  {:>12}  {:>9}  digest",
            "backend", "cycles", "time"
        )?;
        for part in &self.parts {
            let counts = part.counts();
            writeln!(
                f,
                "{:width$}  {:5}  {:<20}  {:>6}  {:>6}  {:>7}  {:>7}  {:>12}  {:>7.1} s  {:08x}",
                part.lane.backend,
                part.lane.tier(),
                part.lane.seed,
                counts.passed,
                counts.failed,
                counts.skipped,
                counts.not_run,
                part.cycles(),
                part.elapsed.as_secs_f64(),
                part.digest
            )?;
        }
        writeln!(
            f,
            "\n{} backends: {} in {:.1} s",
            self.parts.len(),
            self.counts(),
            self.elapsed.as_secs_f64()
        )
    }
}

/// Returns whether standard output is a terminal with colours.
pub fn is_coloured() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
    io::stdout().is_terminal() && !is_dumb && !is_set("NO_COLOR")
}

/// Writes a result's word in a column. With `{:#}`, "passed" is green and "failed" is red.
fn painted(f: &mut fmt::Formatter<'_>, word: &str, width: usize) -> fmt::Result {
    let colour = match word {
        "passed" => 32,
        "failed" => 31,
        _ => 0,
    };
    if colour == 0 || !f.alternate() {
        return write!(f, "{word:width$}");
    }
    let spaces = width.saturating_sub(word.len());
    write!(f, "\x1b[{colour}m{word}\x1b[0m{:spaces$}", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Words;

    impl fmt::Display for Words {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            for word in ["passed", "failed", "skipped"] {
                painted(f, word, 8)?;
                write!(f, "|")?;
            }
            Ok(())
        }
    }

    #[test]
    fn results_have_colours_and_other_words_none() {
        assert_eq!(Words.to_string(), "passed  |failed  |skipped |");
        let expected = "\x1b[32mpassed\x1b[0m  |\x1b[31mfailed\x1b[0m  |skipped |";
        assert_eq!(format!("{Words:#}"), expected);
    }
}
