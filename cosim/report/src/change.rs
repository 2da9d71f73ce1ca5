//! Differences of a test from earlier runs.

use std::fmt;

/// The difference of a test from its last result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The test fails, and did not fail before.
    NewlyFailing,
    /// The test passes, and did not pass before.
    NewlyPassing,
    /// The board can't run the test, and could before.
    NewlySkipped,
    /// The test passed before and now, with different cycle counts.
    Cycles {
        /// Cycles before.
        before: u64,
        /// Cycles now.
        now: u64,
    },
}

impl Change {
    /// The name of changes of cycle counts.
    pub const CYCLES: &str = "cycles";

    /// The change in one or two words.
    #[must_use]
    pub fn words(&self) -> &'static str {
        match self {
            Change::NewlyFailing => "newly failing",
            Change::NewlyPassing => "newly passing",
            Change::NewlySkipped => "newly skipped",
            Change::Cycles { .. } => Change::CYCLES,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())?;
        if let Change::Cycles { before, now } = *self {
            write!(f, " {before} to {now}")?;
            if before > 0 {
                let percent = (now as f64 / before as f64 - 1.0) * 100.0;
                write!(f, " ({percent:+.1} %)")?;
            }
        }
        Ok(())
    }
}
