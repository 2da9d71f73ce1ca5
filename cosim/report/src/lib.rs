//! The page of `alcor regress --report`. [`Page`] holds the data, [`Page::render`] makes one HTML
//! file that needs no other file, no network and no script. The crate does not depend on boards or
//! tests: the caller fills the structs. All text is escaped, except the pictures, which are SVG.
//!
//! ```
//! use alcor_report::{Ending, Page, Run, Test};
//!
//! let page = Page {
//!     run: Run { backend: "soft:2".into(), ..Run::default() },
//!     tests: vec![Test { name: "put.typed".into(), ending: Ending::Passed, cycles: 1200, ..Test::default() }],
//!     ..Page::default()
//! };
//! assert!(page.render().contains("1,200"));
//! ```
#![forbid(unsafe_code)]

mod benches;
mod change;
mod coverage;
mod history;
mod overview;
mod page;
mod results;
mod text;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use change::Change;
pub use overview::{Overview, OverviewRow};
pub use text::count;

/// The data of the page.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The run.
    pub run: Run,
    /// The tests, in the order of the suite; the repetitions of a test follow each other.
    pub tests: Vec<Test>,
    /// Whether runs are stored, and this run was compared with earlier ones.
    pub remembers: bool,
    /// Comparison with earlier results.
    pub comparison: Comparison,
    /// The stored runs, the oldest first, including this one.
    pub history: Vec<PastRun>,
    /// Coverage of the hardware.
    pub coverage: Option<Coverage>,
    /// The command that records coverage; none if the backend has no model.
    pub coverage_command: Option<String>,
    /// The last values of the benchmarks.
    pub benches: Vec<Bench>,
    /// Benchmarks that were never run, by the commands that run them.
    pub missing_benches: Vec<String>,
}

/// A run.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// The URI of the board.
    pub backend: String,
    /// The tier.
    pub tier: String,
    /// The seeds, in words.
    pub seeds: String,
    /// The part of the tests and the number of parts, if the run is a shard.
    pub part: Option<String>,
    /// Number of boards that ran tests in parallel.
    pub jobs: usize,
    /// The source revision.
    pub revision: String,
    /// End of the run, in seconds since 1970.
    pub ended: u64,
    /// Wall-clock time from the start of the first test to the end of the last.
    pub elapsed: Duration,
    /// Time to open the first board, with the build of its model.
    pub opening: Duration,
    /// The digest of all traffic.
    pub digest: String,
    /// The command that repeats the run.
    pub command: String,
    /// The path of the program, if the first word of the commands does not start the program.
    pub program: Option<String>,
}

/// The result of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// The test passed.
    Passed,
    /// The test failed.
    Failed,
    /// The board can't run the test.
    #[default]
    Skipped,
    /// The run ended before the test, or had no board for it.
    NotRun,
}

impl Ending {
    /// The result in one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Ending::Passed => "passed",
            Ending::Failed => "failed",
            Ending::Skipped => "skipped",
            Ending::NotRun => "not run",
        }
    }

    /// Style of the line.
    fn class(self) -> &'static str {
        match self {
            Ending::NotRun => "lost",
            _ => self.word(),
        }
    }
}

/// A test.
#[derive(Debug, Clone, Default)]
pub struct Test {
    /// Name of the test; the part before the first dot is the module.
    pub name: String,
    /// The tested property, in a sentence.
    pub summary: String,
    /// Result of the test.
    pub ending: Ending,
    /// The run's seed, or the repetition's.
    pub run_seed: u64,
    /// The test's own seed.
    pub seed: u64,
    /// Cycles of the test's runs.
    pub cycles: u64,
    /// Wall-clock time.
    pub time: Duration,
    /// Reason of the failure or skip.
    pub message: Option<String>,
    /// The command that repeats a failed test.
    pub repeat: Option<String>,
    /// The difference from earlier runs.
    pub change: Option<Change>,
    /// Results of the test in the stored runs, the oldest first, this run last.
    pub earlier: Vec<Ending>,
    /// The explanation of the failure.
    pub explanation: Option<Explanation>,
}

/// The explanation of a failure.
#[derive(Debug, Clone, Default)]
pub struct Explanation {
    /// The files.
    pub files: Vec<File>,
    /// Remarks on missing or contradictory findings.
    pub notes: Vec<String>,
    /// For a hang: which rank waits for which.
    pub waits: Option<String>,
}

/// A file of an explanation.
#[derive(Debug, Clone, Default)]
pub struct File {
    /// Path of the file, from the folder of the page.
    pub path: String,
    /// Contents of the file, in words.
    pub what: String,
}

/// Comparison of the run with earlier results.
#[derive(Debug, Clone, Copy, Default)]
pub struct Comparison {
    /// Number of tests with an earlier result.
    pub compared: usize,
    /// Number of tests without an earlier result.
    pub unknown: usize,
    /// End of the latest of the earlier runs, in seconds since 1970.
    pub latest: Option<u64>,
}

/// A stored run.
#[derive(Debug, Clone, Default)]
pub struct PastRun {
    /// End of the run, in seconds since 1970.
    pub ended: u64,
    /// The tier.
    pub tier: String,
    /// Tests that passed.
    pub passed: usize,
    /// Tests that failed.
    pub failed: usize,
    /// Tests that were skipped.
    pub skipped: usize,
    /// Cycles of all tests.
    pub cycles: u64,
    /// Wall-clock time from the start of the first test to the end of the last; none for a run
    /// that was ended from outside.
    pub elapsed: Option<Duration>,
}

/// Coverage of the hardware.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Coverage {
    /// The modules of the hardware.
    pub modules: Vec<Module>,
    /// Cover points: conditions that tests should reach.
    pub points: Vec<Point>,
}

/// The coverage of a module.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// Source file of the module.
    pub file: String,
    /// Lines.
    pub lines: Hit,
    /// Branches.
    pub branches: Hit,
    /// Bit toggles, up and down.
    pub toggles: Hit,
    /// Source lines that no test has run: first and last of each stretch.
    pub missed_lines: Vec<(u32, u32)>,
    /// Arms of branches that no test has taken: source line and kind.
    pub missed_branches: Vec<(u32, String)>,
}

/// A part and a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Hit {
    /// The covered number.
    pub hit: u64,
    /// The total number.
    pub of: u64,
}

impl Hit {
    /// The share from 0 to 1; none if the total is 0.
    #[must_use]
    pub fn share(self) -> Option<f64> {
        (self.of > 0).then(|| self.hit as f64 / self.of as f64)
    }
}

impl std::iter::Sum for Hit {
    fn sum<I: Iterator<Item = Hit>>(hits: I) -> Hit {
        hits.fold(Hit::default(), |sum, hit| Hit {
            hit: sum.hit + hit.hit,
            of: sum.of + hit.of,
        })
    }
}

/// A functional cover point.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Point {
    /// Group of the cover point, for example a module.
    pub group: String,
    /// Its name.
    pub name: String,
    /// Module of the cover point.
    pub module: String,
    /// Number of hits.
    pub hits: u64,
}

/// The last values of a benchmark.
#[derive(Debug, Clone, Default)]
pub struct Bench {
    /// Its name.
    pub name: String,
    /// The configuration of the hardware.
    pub config: String,
    /// The unit of the values.
    pub unit: String,
    /// The source revision.
    pub revision: String,
    /// Time of the run, in seconds since 1970.
    pub ended: u64,
    /// The command that repeats the benchmark.
    pub command: String,
    /// Time of the run before, in seconds since 1970.
    pub before: Option<u64>,
    /// The values.
    pub rows: Vec<Row>,
    /// Plots of the values.
    pub plots: Vec<Plot>,
}

/// A value of a benchmark.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The measured value.
    pub measured: f64,
    /// The paper's value.
    pub paper: Option<f64>,
    /// The physical limit.
    pub limit: Option<f64>,
    /// The value of the run before.
    pub before: Option<f64>,
    /// A note.
    pub note: Option<String>,
}

/// A plot.
#[derive(Debug, Clone, Default)]
pub struct Plot {
    /// Caption of the plot.
    pub title: String,
    /// The picture as SVG, inserted unchanged.
    pub svg: String,
}
