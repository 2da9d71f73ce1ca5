//! What came of a run, for a reader.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use alcor_conformance::{Outcome, Verdict};

use super::args::Args;
use super::waves::Waves;
use crate::exit::Exit;

/// What came of a run.
pub struct Summary<'a> {
    pub args: &'a Args,
    pub outcomes: &'a [Outcome],
    pub waves: &'a BTreeMap<&'static str, Waves>,
    pub elapsed: Duration,
    pub digest: u32,
}

/// How many tests ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
}

impl Summary<'_> {
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for outcome in self.outcomes {
            *match outcome.verdict {
                Verdict::Passed => &mut counts.passed,
                Verdict::Failed(_) => &mut counts.failed,
                Verdict::Skipped(_) => &mut counts.skipped,
            } += 1;
        }
        counts
    }

    /// Cycles of all tests.
    pub fn cycles(&self) -> u64 {
        self.outcomes.iter().map(|outcome| outcome.cycles).sum()
    }

    /// The program's exit code. A run in which every test was skipped has shown nothing.
    pub fn exit(&self) -> Exit {
        match self.counts() {
            Counts { failed: 1.., .. } => Exit::Failed,
            Counts { passed: 0, .. } => Exit::Environment,
            _ => Exit::Passed,
        }
    }

    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.outcomes.iter().map(|outcome| outcome.test.name.len());
        let width = names.max().unwrap_or(0).max("test".len());
        writeln!(
            f,
            "{:width$}  result   {:>12}  {:>9}",
            "test", "cycles", "time"
        )?;
        for outcome in self.outcomes {
            let (name, verdict) = (outcome.test.name, outcome.verdict.word());
            let (cycles, seconds) = (outcome.cycles, outcome.duration.as_secs_f64());
            writeln!(
                f,
                "{name:width$}  {verdict:7}  {cycles:>12}  {seconds:>7.2} s"
            )?;
        }
        Ok(())
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
        for (reason, names) in reasons {
            writeln!(f, "\nskipped {}: {reason}", names.len())?;
            names.iter().try_for_each(|name| writeln!(f, "  {name}"))?;
        }
        Ok(())
    }

    fn failures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for outcome in self.outcomes {
            let Verdict::Failed(failure) = &outcome.verdict else {
                continue;
            };
            let name = outcome.test.name;
            writeln!(f, "\nfailed {name}, seed 0x{:016x}", outcome.seed)?;
            writeln!(f, "  {failure}")?;
            writeln!(f, "  repeat: {}", self.args.repeat(name))?;
            if let Some(Waves { file, failed }) = self.waves.get(name) {
                let passed = if *failed {
                    ""
                } else {
                    " (the test passed in this run)"
                };
                writeln!(f, "  waves: {}{passed}", file.display())?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table(f)?;
        self.skipped(f)?;
        self.failures(f)?;
        let Counts {
            passed,
            failed,
            skipped,
        } = self.counts();
        writeln!(
            f,
            "\n{}, seed {}: {passed} passed, {failed} failed, {skipped} skipped; \
             {} cycles in {:.1} s",
            self.args.backend,
            self.args.seed,
            self.cycles(),
            self.elapsed.as_secs_f64()
        )?;
        writeln!(f, "digest {:08x}", self.digest)
    }
}
