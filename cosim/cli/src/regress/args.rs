//! The command line of `alcor regress`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use regex::Regex;

use super::plan::Shard;
use crate::backends::Logs;
use crate::store::StoreArgs;

/// The default board.
pub const BACKEND: &str = "cosim:rma4";

/// The default seed.
pub const SEED: u64 = 1;

/// The largest number of repetitions of a test.
pub const REPETITIONS: i64 = 100_000;

/// Run the conformance suite
///
/// Each test runs on a freshly reset board. --jobs boards run tests in parallel, beginning with the
/// tests that took longest last time. The seed of a test derives from the seed of the run and the
/// name of the test. So a filter, a shard or another number of jobs does not change the test, and
/// the command that is printed with a failure repeats the failure.
///
/// Standard output has the results in the order of the suite, the differences from earlier runs,
/// and in its last line the digest of all traffic. The digest is the same for the same seed, tests
/// and backend. Standard error has the progress: on a terminal the running tests, the number of
/// results and the remaining time, elsewhere a line for each test. NO_COLOR in the environment
/// disables colours.
///
/// Several --backend, or a --profile, make one run with one table and one report. The models of
/// later backends are built while tests of earlier ones run.
///
/// Results are written as tests end: to the result store, to the file of --junit, and as lines of
/// --format json. Ctrl-C or SIGTERM ends the run: tests that have not ended are reported as not
/// run, and everything else is written. A second Ctrl-C ends the program at once.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The board: cosim:CONFIG[?OPTION=VALUE&...] (simulated; configurations are in
    /// hw/core/configs.toml), serve:CONFIG (simulated in another process), xdma:PCI-ADDRESS or
    /// xdma:auto (a card), board:NAME (a card by its name in boards.toml), standin:CONFIG (the
    /// driver code for cards, over the device nodes of a simulated card), shm:NAME (a cluster of
    /// `alcor serve`) or soft:RANKS (plain Rust, to test the suite itself); may be given several
    /// times [default: cosim:rma4]
    #[arg(
        long,
        value_name = "URI",
        conflicts_with = "profile",
        help_heading = "Selection"
    )]
    pub backend: Vec<String>,

    /// Run the backends of this profile of the configuration file
    ///
    /// A profile is a table [profile.NAME] with a list `backends`, and with `programs = true` to
    /// run the programs too. Each entry has a `backend`, and may have `filter`, `exclude`, `full`,
    /// `seed`, `repeat`, `jobs`, `watchdog` and `timeout`, with the meaning of the options of these
    /// names. The options of the command line apply to all entries: --filter and --exclude select
    /// among the tests of each entry, all others replace the values of the entry.
    #[arg(long, value_name = "NAME", help_heading = "Selection")]
    pub profile: Option<String>,

    /// Run the programs of the configuration file, and no tests
    ///
    /// Each table `[[program]]` has a `name`, and `run`: the program with its arguments. Optional
    /// keys: `backends`, `ranks`, `seeds`, `arguments` (a run for each list), `exit` (the exit
    /// code), `stdout` (a regular expression), `timeout`, `tags`, `cycles` (the expected number, by
    /// backend) and `drift` (the permitted change of cycles in per cent). The seed replaces
    /// `{seed}` in `run`, and is in the environment as ALCOR_SEED. With --backend, only the
    /// programs of that backend run.
    #[arg(long, conflicts_with = "profile", help_heading = "Selection")]
    pub programs: bool,

    /// Run the programs with this tag, and no tests; may be given several times
    #[arg(
        long,
        value_name = "TAG",
        conflicts_with = "profile",
        help_heading = "Selection"
    )]
    pub tag: Vec<String>,

    /// The configuration file [default: the nearest regress.toml in the current folder or above it]
    #[arg(long, value_name = "FILE", help_heading = "Selection")]
    pub config_file: Option<PathBuf>,

    /// Run only the tests whose names match this regular expression; may be given several times
    ///
    /// A match of a part of the name is enough; `^put\.` selects the tests of module `put`. --list
    /// shows the names. With several expressions, a test runs if one of them matches.
    #[arg(long, value_name = "RE", help_heading = "Selection")]
    pub filter: Vec<Regex>,

    /// Run no test whose name matches this regular expression; may be given several times
    #[arg(long, value_name = "RE", help_heading = "Selection")]
    pub exclude: Vec<Regex>,

    /// Run only the tests that failed in the backend's last run in the result store, with their
    /// seeds
    #[arg(long, conflicts_with_all = ["no_store", "seed", "repeat"], help_heading = "Selection")]
    pub failed: bool,

    #[command(flatten)]
    pub logs: Logs,

    /// Run the full tier: about ten times the work
    #[arg(long, help_heading = "Selection")]
    pub full: bool,

    /// Seed of the run: a number, also as 0x..., or `random` [default: 1]
    #[arg(long, value_name = "N", value_parser = seed, help_heading = "Selection")]
    pub seed: Option<u64>,

    /// Number of times to run each test, each time with the next seed
    ///
    /// The first time has the run's seed N, the second N + 1, and so on. The seeds of failures are
    /// printed, so --seed alone repeats a failure. `--seed 101 --repeat 100` continues where
    /// `--repeat 100` ended.
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u32).range(1..=REPETITIONS), help_heading = "Selection")]
    pub repeat: Option<u32>,

    /// Run part K of N parts of the tests, 1/N to N/N
    ///
    /// Each test, and each repetition of one, is in one part. The part depends only on the names of
    /// the tests that the filter selects, so machines need no communication. Parts differ by one
    /// test at most, and tests of the same kind are spread over the parts. A part without tests
    /// passes, and reports that it is empty.
    #[arg(long, value_name = "K/N", help_heading = "Selection")]
    pub shard: Option<Shard>,

    /// Show the tests and their descriptions, and run none
    #[arg(long, help_heading = "Selection")]
    pub list: bool,

    /// Number of boards to run in parallel [default: the number of cores, or 1 for a card]
    ///
    /// At most as many threads as cores step simulated boards, for any number of boards.
    #[arg(long, value_name = "N", help_heading = "Execution")]
    pub jobs: Option<NonZeroUsize>,

    /// Report a hang when a wait lasts longer than this many cycles, for tests without a limit of
    /// their own [default: 2000000]
    #[arg(long, value_name = "CYCLES", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Execution")]
    pub watchdog: Option<u64>,

    /// Fail a test that takes longer than this many seconds of wall-clock time [default: 600, or
    /// 3600 with --full]
    ///
    /// The failure shows the state of each rank. A thread that loops can't be ended: the program
    /// abandons the test together with its board, and runs the next test on another board. A card
    /// can't be opened again while the abandoned test holds it, and its remaining tests are not
    /// run.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Execution")]
    pub timeout: Option<Duration>,

    /// Start no further test when one has failed
    #[arg(long, conflicts_with = "max_failures", help_heading = "Execution")]
    pub fail_fast: bool,

    /// Start no further test when this many have failed
    #[arg(long, value_name = "N", help_heading = "Execution")]
    pub max_failures: Option<NonZeroUsize>,

    /// Number of failed tests to explain, the first ones; 0 explains none
    ///
    /// Each of these tests runs again from its seed. A folder below that of --report then has the
    /// message of the test, and the command that repeats it; the last commands of each rank, with
    /// their cycles; for a hang, which rank waits for which, as text and as a graph for Graphviz;
    /// and waves of the cycles before the failure, with views for GTKWave and Surfer. Tests that
    /// pass take no extra time.
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Failures")]
    pub explain: usize,

    /// Record waves of the explained tests, or of all tests [default: on-failure where the backend
    /// records waves]
    ///
    /// The first time, the model is built once more, with waves, which takes a minute or a few. The
    /// failure is reported before this build.
    #[arg(long, value_enum, value_name = "WHEN", help_heading = "Failures")]
    pub waves: Option<WavesWhen>,

    /// Number of cycles before a failure at which the waves of an explained test begin
    #[arg(long, value_name = "CYCLES", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Failures")]
    pub waves_cycles: u64,

    /// Write index.html, report.txt, report.json and the explanations of failures to this folder
    /// [default for explanations: alcor-report]
    ///
    /// index.html is a page for people: results, failures with their explanations, the slowest
    /// tests, coverage, the last values of each benchmark, and the differences from earlier runs.
    /// It needs no other file and no network.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,

    /// Measure the coverage of the hardware: lines, branches and bits of each module, and cover
    /// points
    ///
    /// Only simulated boards count coverage. The first time, the model is built once more, with
    /// coverage, which takes a minute or a few. This model is slower, and has the same cycles. The
    /// page and coverage.json in the folder of --report have all counts.
    #[arg(long, help_heading = "Output")]
    pub coverage: bool,

    /// Write the results to this file as JUnit XML, with a test suite for each backend; the file is
    /// complete after each test
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,

    /// Format of standard output: a table at the end, or JSON with a line for each test as it ends
    /// and a last line for the run; applies to --list too
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Format::Text, help_heading = "Output")]
    pub format: Format,

    #[command(flatten)]
    pub store: StoreArgs,

    /// List tests whose cycles changed by more than this many per cent
    ///
    /// 0 lists every change. Cycles are compared on simulated boards, where they are exact.
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
  random tests with a new seed, and waves of the last 50,000 cycles before a failure
      alcor regress --seed random --waves-cycles 50000
  two backends in one run, until three tests have failed
      alcor regress --backend cosim:rma2 --backend soft:4 --max-failures 3
  the tests that failed last time
      alcor regress --failed
  all backends of the project's CI
      alcor regress --profile ci --junit ci.xml --report out

Exit codes:
  0  all passed; tests that the board can't run are skipped and counted, with reasons
  1  a test failed
  2  the command was wrong
  3  the environment lacks something: tests were not run because a board could not
     be opened, a result could not be written, or all tests were skipped
  128 + N  signal N ended the run (130: Ctrl-C, 143: SIGTERM)

Files:
  regress.toml          profiles and programs
  target/alcor-results  the results of the last runs, a file for each backend
  alcor-report          a folder for each explained failure; --report names
                        another place";

/// Format of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Tests with recorded waves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WavesWhen {
    /// Not at all
    Never,
    /// For explained tests, in a separate run
    OnFailure,
    /// For every test
    Always,
}

/// Default folder of waves and explanations; `--report` names another one.
const FOLDER: &str = "alcor-report";

impl Args {
    /// The folder that waves and explanations go to, and the report if there is one.
    pub fn folder(&self) -> &Path {
        self.report.as_deref().unwrap_or(Path::new(FOLDER))
    }

    /// The number of failures after which no test begins.
    pub fn max_failures(&self) -> usize {
        match self.max_failures {
            _ if self.fail_fast => 1,
            Some(number) => number.get(),
            None => usize::MAX,
        }
    }
}

/// A number of seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let parsed = text.parse().ok().filter(|seconds| *seconds > 0.0);
    parsed
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "a time limit is a number of seconds above 0, as 90 or 0.5".to_owned())
}

/// A seed; a random one for `random`.
pub fn seed(text: &str) -> Result<u64, String> {
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
}
