//! The page that `alcor regress --report` leaves: [`Page`] is what there is to show, [`Page::render`] makes one HTML
//! file of it that needs no other file, no network and no script.
//!
//! The crate knows nothing of boards and tests: whoever runs them fills the structs. All text in them is taken for
//! text, whatever stands in it, but for the pictures, which are SVG.
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

/// All that the page shows.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// What was run.
    pub run: Run,
    /// What came of it, in the order of the suite; the repetitions of a test follow each other.
    pub tests: Vec<Test>,
    /// Whether runs are remembered, and this one was compared with those before.
    pub remembers: bool,
    /// What it was compared with.
    pub comparison: Comparison,
    /// The runs that are remembered, the oldest first, this one among them.
    pub history: Vec<PastRun>,
    /// What of the hardware the tests have exercised.
    pub coverage: Option<Coverage>,
    /// The command that records coverage; none where the backend has no model to record it of.
    pub coverage_command: Option<String>,
    /// The benchmarks' last figures.
    pub benches: Vec<Bench>,
    /// Benchmarks that were never run, by the commands that run them.
    pub missing_benches: Vec<String>,
}

/// What was run.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// The URI of the board.
    pub backend: String,
    /// How thorough it was.
    pub tier: String,
    /// The seeds, in words.
    pub seeds: String,
    /// Which part of the tests, of how many, where others run the rest.
    pub part: Option<String>,
    /// Boards that ran tests at once.
    pub jobs: usize,
    /// The source revision.
    pub revision: String,
    /// When it ended: seconds since 1970.
    pub ended: u64,
    /// How long its tests took by the wall clock, from the start of the first to the end of the last.
    pub elapsed: Duration,
    /// How long it took to open the first board, with the build of its model.
    pub opening: Duration,
    /// The digest of all traffic.
    pub digest: String,
    /// The command that does it again.
    pub command: String,
}

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// It did what it should.
    Passed,
    /// It did not.
    Failed,
    /// The board can't run it.
    #[default]
    Skipped,
    /// The run ended before it did, or had no board for it.
    NotRun,
}

impl Ending {
    /// One word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Ending::Passed => "passed",
            Ending::Failed => "failed",
            Ending::Skipped => "skipped",
            Ending::NotRun => "not run",
        }
    }

    /// Its style.
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
    /// Its name; what stands before the first dot is its module.
    pub name: String,
    /// How it ended.
    pub ending: Ending,
    /// The run's seed, or the repetition's.
    pub run_seed: u64,
    /// The test's own seed.
    pub seed: u64,
    /// Cycles that its runs took.
    pub cycles: u64,
    /// How long it took by the wall clock.
    pub time: Duration,
    /// Why it failed or was skipped.
    pub message: Option<String>,
    /// The command that runs it again, of one that failed.
    pub repeat: Option<String>,
    /// What is new of it.
    pub change: Option<Change>,
    /// How it ended in the runs that are remembered, the oldest first, this one last.
    pub earlier: Vec<Ending>,
    /// What was found out about its failure.
    pub explanation: Option<Explanation>,
}

/// What was found out about a failure.
#[derive(Debug, Clone, Default)]
pub struct Explanation {
    /// What was left.
    pub files: Vec<File>,
    /// What could not be found out, or is strange.
    pub notes: Vec<String>,
    /// Who waits for whom, of a hang.
    pub waits: Option<String>,
}

/// A file that was left.
#[derive(Debug, Clone, Default)]
pub struct File {
    /// Its path, from the page's folder.
    pub path: String,
    /// What it has.
    pub what: String,
}

/// What the run was compared with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Comparison {
    /// Tests that an earlier run has run, too.
    pub compared: usize,
    /// Tests of which no earlier run is remembered.
    pub unknown: usize,
    /// When the latest of the earlier runs ended: seconds since 1970.
    pub latest: Option<u64>,
}

/// A run that is remembered.
#[derive(Debug, Clone, Default)]
pub struct PastRun {
    /// When it ended: seconds since 1970.
    pub ended: u64,
    /// How thorough it was.
    pub tier: String,
    /// Tests that passed.
    pub passed: usize,
    /// Tests that failed.
    pub failed: usize,
    /// Tests that were skipped.
    pub skipped: usize,
    /// Cycles of all tests.
    pub cycles: u64,
    /// Time of all tests together.
    pub time: Duration,
}

/// What of the hardware the tests have exercised.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Coverage {
    /// The modules of the hardware.
    pub modules: Vec<Module>,
    /// What the hardware's authors want to see happen.
    pub points: Vec<Point>,
}

/// How much of a module was exercised.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// Its source file.
    pub file: String,
    /// Lines.
    pub lines: Hit,
    /// Branches.
    pub branches: Hit,
    /// Edges of bits, up and down.
    pub toggles: Hit,
    /// Source lines that no test has run: first and last of each stretch.
    pub missed_lines: Vec<(u32, u32)>,
    /// Arms of branches that no test has taken: source line and kind.
    pub missed_branches: Vec<(u32, String)>,
}

/// So many of so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Hit {
    /// Those that were exercised.
    pub hit: u64,
    /// All that there are.
    pub of: u64,
}

impl Hit {
    /// A share of one; none where there is nothing to exercise.
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
    /// The module, or whatever else its kind belongs to.
    pub group: String,
    /// Its name.
    pub name: String,
    /// The module that it stands in.
    pub module: String,
    /// How often it happened.
    pub hits: u64,
}

/// A benchmark's last figures.
#[derive(Debug, Clone, Default)]
pub struct Bench {
    /// Its name.
    pub name: String,
    /// The configuration of the hardware.
    pub config: String,
    /// The figures' unit.
    pub unit: String,
    /// The source revision.
    pub revision: String,
    /// When it was run: seconds since 1970.
    pub ended: u64,
    /// The command that runs it again.
    pub command: String,
    /// When it was run before: seconds since 1970.
    pub before: Option<u64>,
    /// Figures.
    pub rows: Vec<Row>,
    /// Pictures of them.
    pub plots: Vec<Plot>,
}

/// A figure of a benchmark.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// What it is of.
    pub name: String,
    /// What was measured.
    pub measured: f64,
    /// The paper's figure.
    pub paper: Option<f64>,
    /// The physical bound.
    pub limit: Option<f64>,
    /// What was measured in the run before.
    pub before: Option<f64>,
    /// What else is to be said.
    pub note: Option<String>,
}

/// A picture.
#[derive(Debug, Clone, Default)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// The picture, which stands in the page as it is.
    pub svg: String,
}
