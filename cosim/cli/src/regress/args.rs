//! The command line of `alcor regress`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use regex::Regex;

use super::plan::Shard;
use crate::backends::Logs;
use crate::store::StoreArgs;

/// The board that is taken unless another is named.
pub const BACKEND: &str = "cosim:rma4";

/// The seed that is taken unless another is named.
pub const SEED: u64 = 1;

/// The most repetitions of a test.
pub const REPETITIONS: i64 = 100_000;

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
///
/// Several --backend, or a --profile, make one run with one table and one report. The models of later backends are
/// built while tests of earlier ones run.
///
/// Results are written as tests end: the result store, the file of --junit, and the lines of --format json. Ctrl-C or
/// SIGTERM ends the run: tests that have not ended are reported as not run, and everything else is written. A second
/// Ctrl-C ends the program at once.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The board: cosim:CONFIG[?OPTION=VALUE&...] (simulated; configurations are in
    /// hw/core/configs.toml), serve:CONFIG (simulated in another process), xdma:PCI-ADDRESS or
    /// xdma:auto (a card), board:NAME (a card by its name in boards.toml), standin:CONFIG (what
    /// drives a card, over the device nodes of a simulated one), shm:NAME (a cluster of `alcor
    /// serve`) or soft:RANKS (plain Rust, to try the suite itself); may be given several times
    /// [default: cosim:rma4]
    #[arg(
        long,
        value_name = "URI",
        conflicts_with = "profile",
        help_heading = "What runs"
    )]
    pub backend: Vec<String>,

    /// Run the backends of this profile of the configuration file
    ///
    /// A profile is a table [profile.NAME] with a list `backends`, and with `programs = true` if the programs run, too. Each entry has a `backend`, and may have `filter`,
    /// `exclude`, `full`, `seed`, `repeat`, `jobs`, `watchdog` and `timeout`, which mean what the options of these
    /// names mean. The options of the command line apply to all entries: --filter and --exclude select among the tests
    /// of each entry, all others take the place of the entry's.
    #[arg(long, value_name = "NAME", help_heading = "What runs")]
    pub profile: Option<String>,

    /// Run the programs of the configuration file, and no tests
    ///
    /// Each table `[[program]]` has a `name` and the program with its arguments, `run`. It may have `backends`, `ranks`,
    /// `seeds`, `arguments` (a run for each list), `exit` (the exit code), `stdout` (a regular expression), `timeout`,
    /// `tags`, and the `cycles` that it takes, by backend, from which it may `drift` by so many per cent. The seed is
    /// `{seed}` in `run`, and ALCOR_SEED in the environment. With --backend, only the programs of that backend run.
    #[arg(long, conflicts_with = "profile", help_heading = "What runs")]
    pub programs: bool,

    /// Run the programs that have this tag, and no tests; may be given several times
    #[arg(
        long,
        value_name = "TAG",
        conflicts_with = "profile",
        help_heading = "What runs"
    )]
    pub tag: Vec<String>,

    /// The configuration file [default: the nearest regress.toml in the current folder or above it]
    #[arg(long, value_name = "FILE", help_heading = "What runs")]
    pub config_file: Option<PathBuf>,

    /// Only the tests whose names match this regular expression; may be given several times
    ///
    /// It need match no more than a part of the name; `^put\.` are the tests of module `put`. --list shows the names.
    /// A test runs if one of several expressions matches.
    #[arg(long, value_name = "RE", help_heading = "What runs")]
    pub filter: Vec<Regex>,

    /// No test whose name matches this regular expression; may be given several times
    #[arg(long, value_name = "RE", help_heading = "What runs")]
    pub exclude: Vec<Regex>,

    /// Only the tests that failed in the last run that the result store has of the backend, with their seeds
    #[arg(long, conflicts_with_all = ["no_store", "seed", "repeat"], help_heading = "What runs")]
    pub failed: bool,

    #[command(flatten)]
    pub logs: Logs,

    /// The full tier: about ten times the work
    #[arg(long, help_heading = "What runs")]
    pub full: bool,

    /// The run's seed: a number, also as 0x..., or `random` [default: 1]
    #[arg(long, value_name = "N", value_parser = seed, help_heading = "What runs")]
    pub seed: Option<u64>,

    /// Run each test so many times, each time with the next seed
    ///
    /// The first time has the run's seed N, the second N + 1, and so on; the seeds of those that failed are printed.
    /// So each is repeated by --seed alone, and `--seed 101 --repeat 100` goes on where `--repeat 100` ended.
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u32).range(1..=REPETITIONS), help_heading = "What runs")]
    pub repeat: Option<u32>,

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

    /// Number of boards to run in parallel [default: the number of cores, or 1 for a card]
    ///
    /// The threads that step simulated boards are never more than the cores, whatever the number of boards.
    #[arg(long, value_name = "N", help_heading = "How it runs")]
    pub jobs: Option<NonZeroUsize>,

    /// Report a hang when a wait lasts longer than this many cycles, where a test has no limit of its own
    /// [default: 2000000]
    #[arg(long, value_name = "CYCLES", value_parser = clap::value_parser!(u64).range(1..), help_heading = "How it runs")]
    pub watchdog: Option<u64>,

    /// Fail a test that takes longer than this by the wall clock [default: 600, or 3600 with --full]
    ///
    /// The failure names the ranks and what they are doing. A thread that loops can't be ended: the program abandons
    /// the test together with its board, and runs the next test on another board. A card can't be opened
    /// again while the abandoned test holds it, and its remaining tests are not run.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "How it runs")]
    pub timeout: Option<Duration>,

    /// Begin no further test when one has failed
    #[arg(long, conflicts_with = "max_failures", help_heading = "How it runs")]
    pub fail_fast: bool,

    /// Begin no further test when this many have failed
    #[arg(long, value_name = "N", help_heading = "How it runs")]
    pub max_failures: Option<NonZeroUsize>,

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

    /// Write the results to this file as JUnit XML, which is complete after each test; a test suite for each backend
    #[arg(long, value_name = "FILE", help_heading = "What it leaves")]
    pub junit: Option<PathBuf>,

    /// The form of standard output: a table at the end, or JSON with a line for each test as it ends and a last line
    /// for the run; also of --list
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Format::Text, help_heading = "What it leaves")]
    pub format: Format,

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
  two backends in one run, until three tests have failed
      alcor regress --backend cosim:rma2 --backend soft:4 --max-failures 3
  what failed last time
      alcor regress --failed
  all backends of the project's CI
      alcor regress --profile ci --junit ci.xml --report out

Exit codes:
  0  all passed; what the board can't run is skipped, counted, and told why
  1  a test failed
  2  the command was wrong
  3  the environment lacks something: a board could not be opened, so that tests
     were not run, a result could not be written, or all tests were skipped
  128 + N  signal N ended the run (130: Ctrl-C, 143: SIGTERM)

Files:
  regress.toml          profiles and programs
  target/alcor-results  what the last runs came to, a file for each backend
  alcor-report          a folder for each test that failed, unless --report
                        names another place";

/// The form of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

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
