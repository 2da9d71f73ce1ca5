//! What `alcor regress` can be told.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;

use alcor_conformance::{Case, Outcome, Settings, Tier};
use clap::ValueEnum;
use regex::Regex;

use super::plan::Shard;
use crate::backends::{Logs, check_waves, is_shared};
use crate::exit::Error;
use crate::store::StoreArgs;

/// The board that is taken unless another is named.
pub const BACKEND: &str = "cosim:rma4";

/// The seed that is taken unless another is named.
pub const SEED: u64 = 1;

/// Run the conformance suite
///
/// Each test runs on a freshly reset board, and as many boards as --jobs says run tests at once, those that took
/// longest last time first. A test's own seed derives from the run's seed and its name, so that a filter, a shard,
/// or another number of jobs changes nothing for it, and a failure comes back from the command that is printed with
/// it.
///
/// Standard output has the results, in the order of the suite whatever the order of the tests was; what is new
/// against earlier runs; and in its last line the digest of all traffic, the same for the same seed, tests and
/// backend. Standard error has the progress: on a terminal the tests that run, how many ended how and the time that
/// is left, elsewhere a line for each test. NO_COLOR in the environment does away with colours.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The board: cosim:CONFIG[?OPTION=VALUE&...] (simulated; configurations are in
    /// hw/core/configs.toml), xdma:PCI-ADDRESS or xdma:auto (a card), board:NAME (a card by its name
    /// in boards.toml), standin:CONFIG (what drives a
    /// card, over the device nodes of a simulated one) or soft:RANKS (plain Rust, to try the suite
    /// itself)
    #[arg(long, value_name = "URI", default_value = BACKEND, help_heading = "What runs")]
    pub backend: String,

    /// Only the tests whose names match this regular expression
    ///
    /// It need match no more than a part of the name; `^put\.` are the tests of module `put`. --list shows the names.
    #[arg(long, value_name = "RE", help_heading = "What runs")]
    pub filter: Option<Regex>,

    #[command(flatten)]
    pub logs: Logs,

    /// The full tier: about ten times the work
    #[arg(long, help_heading = "What runs")]
    pub full: bool,

    /// The run's seed: a number, also as 0x..., or `random`
    #[arg(long, value_name = "N", value_parser = seed, default_value_t = SEED, help_heading = "What runs")]
    pub seed: u64,

    /// Run each test so many times, each time with the next seed
    ///
    /// The first time has the run's seed N, the second N + 1, and so on; the seeds of those that failed are printed.
    /// So each is repeated by --seed alone, and `--seed 101 --repeat 100` goes on where `--repeat 100` ended.
    #[arg(long, value_name = "TIMES", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "What runs")]
    pub repeat: u32,

    /// Run part K of N, 1/N to N/N, that share the tests
    ///
    /// Each test, and each repetition of one, is in one part. Which one depends on nothing but the names of the
    /// tests that the filter lets through, so machines need not talk to each other; parts differ by one test at
    /// most, and share out tests of the same kind. A part without tests passes, and says so.
    #[arg(long, value_name = "K/N", help_heading = "What runs")]
    pub shard: Option<Shard>,

    /// Show the tests and what they are about, and run none
    #[arg(long, help_heading = "What runs")]
    pub list: bool,

    /// So many boards at once [default: the number of cores, or 1 for a card, which is one board]
    #[arg(long, value_name = "N", help_heading = "How it runs")]
    pub jobs: Option<NonZeroUsize>,

    /// Take a wait that lasts so many cycles for a hang, where a test has no limit of its own
    #[arg(long, value_name = "CYCLES", default_value_t = Settings::default().watchdog_cycles, value_parser = clap::value_parser!(u64).range(1..), help_heading = "How it runs")]
    pub watchdog: u64,

    /// Explain the first N tests that failed; 0 explains none
    ///
    /// Each is run again from its seed, and leaves a folder below that of --report: its message and the command that
    /// repeats it, the last commands of each rank with their cycles, for a hang who waits for whom, as text and as a
    /// graph for Graphviz, and waves of the cycles before the failure, with what GTKWave and Surfer need to show
    /// them. Tests that pass pay nothing for it.
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Failures")]
    pub explain: usize,

    /// Record waves: of tests that are explained, or of all [default: on-failure where the backend records waves]
    ///
    /// The first time, the model is built once more, with waves, which takes a minute or a few: what failed has been
    /// told by then.
    #[arg(long, value_enum, value_name = "WHEN", help_heading = "Failures")]
    pub waves: Option<WavesWhen>,

    /// Waves of an explained test begin so many cycles before its failure
    #[arg(long, value_name = "CYCLES", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Failures")]
    pub waves_cycles: u64,

    /// Write index.html, report.txt, report.json and what explains failures to this folder [default for the latter:
    /// alcor-report]
    ///
    /// index.html is a page for people: results, failures with what explains them, the slowest tests, coverage, the last
    /// figures of each benchmark, and what is new against earlier runs. It needs no other file and no network.
    #[arg(long, value_name = "DIR", help_heading = "What it leaves")]
    pub report: Option<PathBuf>,

    /// Count what of the hardware the tests exercise: lines, branches and bits of each module, and cover points
    ///
    /// Of simulated boards. The first time, the model is built once more, with coverage, which takes a minute or a few;
    /// it is slower, and has the same cycles. The page and coverage.json in the folder of --report have all figures.
    #[arg(long, help_heading = "What it leaves")]
    pub coverage: bool,

    /// Write the results to this file as JUnit XML
    #[arg(long, value_name = "FILE", help_heading = "What it leaves")]
    pub junit: Option<PathBuf>,

    #[command(flatten)]
    pub store: StoreArgs,

    /// Name tests whose cycles changed by more than so many per cent
    ///
    /// 0 names every change. Cycles are compared on simulated boards, where they are exact.
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent, help_heading = "Comparing with earlier runs")]
    pub cycles_change: f64,
}

const EXAMPLES: &str = "\
Examples:
  all tests on cosim:rma4
      alcor regress
  collectives on eight boards
      alcor regress --backend cosim:torus8 --filter '^coll'
  one test with the seeds 1 to 100
      alcor regress --filter '^put.typed$' --repeat 100
  the second quarter, on one of four machines of a CI
      alcor regress --shard 2/4 --junit part2.xml
  a page with results, coverage and benchmarks: out/index.html
      alcor regress --coverage --report out
  other programs each time, the last 50,000 cycles of those that fail
      alcor regress --seed random --waves-cycles 50000

Exit codes:
  0  all passed; what the board can't run is skipped, counted, and told why
  1  a test failed
  2  the command was wrong
  3  the environment lacks something, or all tests were skipped

Files:
  target/alcor-results  what the last runs came to, a file for each backend
  alcor-report          a folder for each test that failed, unless --report
                        names another place";

/// When waves are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WavesWhen {
    /// Not at all
    Never,
    /// Of tests that are explained, in a run of their own
    OnFailure,
    /// Of every test
    Always,
}

/// Where waves and explanations go unless `--report` says so.
const FOLDER: &str = "alcor-report";

impl Args {
    /// Boards at once.
    pub fn jobs(&self) -> Result<usize, Error> {
        let asked = self.jobs.map(NonZeroUsize::get);
        if is_shared(&self.backend) {
            return match asked {
                None | Some(1) => Ok(1),
                Some(jobs) => Err(Error::OneBoard {
                    uri: self.backend.clone(),
                    jobs,
                }),
            };
        }
        let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Ok(asked.unwrap_or_else(cores))
    }

    /// What the suite is given.
    pub fn settings(&self) -> Settings {
        Settings {
            seed: self.seed,
            tier: if self.full { Tier::Full } else { Tier::Quick },
            watchdog_cycles: self.watchdog,
            ..Settings::default()
        }
    }

    /// When waves are recorded.
    pub fn waves(&self) -> WavesWhen {
        self.waves.unwrap_or(match check_waves(&self.backend) {
            Ok(()) => WavesWhen::OnFailure,
            Err(_) => WavesWhen::Never,
        })
    }

    /// The folder that waves and explanations go to, and reports if there are to be any.
    pub fn folder(&self) -> &Path {
        self.report.as_deref().unwrap_or(Path::new(FOLDER))
    }

    /// Where the explanation of a failure goes.
    pub fn failure_folder(&self, outcome: &Outcome) -> PathBuf {
        self.folder()
            .join(self.file_name(outcome.test.name, outcome.run_seed))
    }

    /// What files of a test are called.
    fn file_name(&self, test: &str, seed: u64) -> String {
        match self.is_repeated() {
            true => format!("{test}-{seed}"),
            false => test.to_owned(),
        }
    }

    /// Whether the tests are each run several times.
    pub fn is_repeated(&self) -> bool {
        self.repeat > 1
    }

    /// The tier's name.
    pub fn tier(&self) -> &'static str {
        if self.full { "full" } else { "quick" }
    }

    /// The seeds of the run, in words.
    pub fn seeds(&self) -> String {
        match self.repeat {
            1 => format!("seed {}", self.seed),
            repeat => format!("seeds {} and the {} after it", self.seed, repeat - 1),
        }
    }

    /// Where waves of a whole test go.
    pub fn waves_file(&self, case: Case) -> PathBuf {
        let name = self.file_name(case.test.name, case.seed);
        self.folder().join(format!("{name}.fst"))
    }

    /// The command line that runs one test again, as it was.
    pub fn repeat(&self, outcome: &Outcome) -> String {
        let test = regex::escape(outcome.test.name);
        self.line(Some(&format!("^{test}$")), outcome.run_seed)
    }

    /// The command line that runs the same tests again, as they were.
    pub fn command(&self) -> String {
        let mut line = self.line(self.filter.as_ref().map(Regex::as_str), self.seed);
        if self.is_repeated() {
            line += &format!(" --repeat {}", self.repeat);
        }
        if let Some(shard) = self.shard {
            line += &format!(" --shard {shard}");
        }
        if self.coverage {
            line += " --coverage";
        }
        line
    }

    fn line(&self, filter: Option<&str>, seed: u64) -> String {
        let mut line = "alcor regress".to_owned();
        if self.backend != BACKEND {
            line += &format!(" --backend {}", quoted(&self.backend));
        }
        if let Some(filter) = filter {
            line += &format!(" --filter {}", quoted(filter));
        }
        line += &format!(" --seed {seed}");
        if self.full {
            line += " --full";
        }
        if self.watchdog != Settings::default().watchdog_cycles {
            line += &format!(" --watchdog {}", self.watchdog);
        }
        line
    }
}

fn seed(text: &str) -> Result<u64, String> {
    if text == "random" {
        return Ok(rand::random());
    }
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    }
    .map_err(|error| format!("{error}; a seed is a number, also as 0x..., or `random`"))
}

fn percent(text: &str) -> Result<f64, String> {
    let parsed = text.trim_end_matches('%').trim_end().parse().ok();
    parsed
        .filter(|percent: &f64| percent.is_finite() && *percent >= 0.0)
        .ok_or_else(|| "a percentage is a number from 0 on, as 2.5".to_owned())
}

/// For a shell.
pub fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,".contains(c);
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_numbers_in_two_ways() {
        assert_eq!(seed("12"), Ok(12));
        assert_eq!(seed("0xff"), Ok(255));
        assert!(seed("random").is_ok());
        assert!(seed("-1").unwrap_err().contains("random"));
    }

    #[test]
    fn percentages_are_numbers_from_0_on() {
        assert_eq!(percent("2.5"), Ok(2.5));
        assert_eq!(percent("10%"), Ok(10.0));
        for text in ["-1", "NaN", "inf", "", "much"] {
            assert!(percent(text).unwrap_err().contains("2.5"), "{text}");
        }
    }

    #[test]
    fn what_a_shell_would_take_apart_is_quoted() {
        assert_eq!(quoted("cosim:rma4"), "cosim:rma4");
        assert_eq!(
            quoted("cosim:rma4?profile=ideal&away=1"),
            "'cosim:rma4?profile=ideal&away=1'"
        );
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
