//! What is new of a test.

use std::fmt;

/// What is new of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It fails, and did not.
    NewlyFailing,
    /// It passes, and did not.
    NewlyPassing,
    /// The board can't run it, and could.
    NewlySkipped,
    /// It passed then and now, in other numbers of cycles.
    Cycles {
        /// Then.
        before: u64,
        /// Now.
        now: u64,
    },
}

impl Change {
    /// What changes of cycles are called.
    pub const CYCLES: &str = "cycles";

    /// In one or two words.
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
