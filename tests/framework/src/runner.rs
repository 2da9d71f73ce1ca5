//! Runs one test on a board.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use alcor::{Cluster, Options};
use crc32fast::Hasher;

use crate::test::{Unmet, seed_of};
use crate::{Context, Failure, Test, Tier};

/// Settings of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The run's seed. The seed of each test is derived from this seed.
    pub seed: u64,
    /// The effort of the run.
    pub tier: Tier,
    /// Whether each test gets a newly opened board.
    pub own_boards: bool,
    /// Number of cycles after which a wait fails, in tests without a limit of their own.
    pub watchdog_cycles: u64,
    /// Time limit of a test by the wall clock, if any. [`run_test`] ignores this limit.
    pub time_limit: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            seed: 0,
            tier: Tier::default(),
            own_boards: false,
            watchdog_cycles: Options::SIMULATED_WATCHDOG,
            time_limit: None,
        }
    }
}

/// Result of a test.
#[derive(Debug)]
pub enum Verdict {
    /// The test passed.
    Passed,
    /// The test failed.
    Failed(Box<Failure>),
    /// The board lacks ranks or blocks that the test needs.
    Skipped(Unmet),
    /// The test was not run or was abandoned, for a reason outside the test.
    NotRun(String),
}

impl Verdict {
    /// Returns whether the test passed.
    #[must_use]
    pub fn is_passed(&self) -> bool {
        matches!(self, Verdict::Passed)
    }

    /// Returns whether the test failed.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        matches!(self, Verdict::Failed(_))
    }

    /// The result in one word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Passed => "passed",
            Verdict::Failed(_) => "failed",
            Verdict::Skipped(_) => "skipped",
            Verdict::NotRun(_) => "not run",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Passed => f.write_str("passed"),
            Verdict::Failed(failure) => write!(f, "failed: {failure}"),
            Verdict::Skipped(unmet) => write!(f, "skipped: {unmet}"),
            Verdict::NotRun(reason) => write!(f, "not run: {reason}"),
        }
    }
}

/// Outcome of a test.
#[derive(Debug)]
pub struct Outcome {
    /// The test.
    pub test: &'static Test,
    /// The seed of the run.
    pub run_seed: u64,
    /// Result of the test.
    pub verdict: Verdict,
    /// The test's own seed.
    pub seed: u64,
    /// Cycles of the board's clock in all runs of the test.
    pub cycles: u64,
    /// CRC-32 over the traffic digests of the test's runs; `None` if the backend has no digests.
    pub digest: Option<u32>,
    /// Duration by the wall clock.
    pub duration: Duration,
}

/// Resets the boards and runs a test on them.
pub fn run_test(test: &'static Test, boards: impl Into<Cluster>, settings: &Settings) -> Outcome {
    let cluster = boards.into();
    let start = Instant::now();
    let mut outcome = blank(test, settings);
    let checked = cluster.identify().map(|info| test.check(&info, &cluster));
    outcome.verdict = match checked {
        Err(error) => Verdict::Failed(Box::new(error.into())),
        Ok(Err(unmet)) => Verdict::Skipped(unmet),
        Ok(Ok(())) => match Context::new(cluster, outcome.seed, settings) {
            Err(error) => Verdict::Failed(Box::new(error.into())),
            Ok(context) => {
                let verdict = run_body(test, &context);
                let traffic = context.traffic();
                (outcome.cycles, outcome.digest) = (traffic.cycles, traffic.digest);
                verdict
            }
        },
    };
    outcome.duration = start.elapsed();
    outcome
}

/// The outcome of a test that has not run.
pub(crate) fn blank(test: &'static Test, settings: &Settings) -> Outcome {
    Outcome {
        test,
        run_seed: settings.seed,
        verdict: Verdict::Passed,
        seed: seed_of(settings.seed, test.name),
        cycles: 0,
        digest: None,
        duration: Duration::ZERO,
    }
}

fn run_body(test: &Test, context: &Context) -> Verdict {
    match catch_unwind(AssertUnwindSafe(|| (test.body)(context))) {
        Ok(Ok(())) => Verdict::Passed,
        Ok(Err(failure)) => Verdict::Failed(Box::new(failure)),
        Err(panic) => Verdict::Failed(Box::new(Failure::Panicked(message(&*panic)))),
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is not text".to_owned())
}

/// CRC-32 over the names and traffic digests of tests, in this order.
///
/// The record of a test is its name, a zero byte, and either 1 and the digest (4 bytes,
/// little-endian) or, without a digest, 0.
#[must_use]
pub fn digest<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> u32 {
    let mut hasher = Hasher::new();
    for outcome in outcomes {
        hasher.update(outcome.test.name.as_bytes());
        match outcome.digest {
            None => hasher.update(&[0, 0]),
            Some(digest) => {
                hasher.update(&[0, 1]);
                hasher.update(&digest.to_le_bytes());
            }
        }
    }
    hasher.finalize()
}
