//! What `alcor regress` can be told.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;

use alcor_conformance::{Settings, Tier};
use clap::ValueEnum;
use regex::Regex;

use crate::backends::{Logs, is_card};
use crate::exit::Error;

/// The board that is taken unless another is named.
pub const BACKEND: &str = "cosim:rma4";

/// The seed that is taken unless another is named.
pub const SEED: u64 = 1;

/// Run the conformance suite
///
/// Each test runs on a freshly reset board. Its own seed derives from the run's seed and its name,
/// so that a filter, or another number of jobs, changes nothing for it. The last line of standard
/// output is the digest of all traffic: the same for the same seed, tests and backend.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The board: cosim:CONFIG[?OPTION=VALUE&...] (simulated; configurations are in
    /// hw/core/configs.toml), xdma:PCI-ADDRESS or xdma:auto (a card), board:NAME (a card by its name
    /// in boards.toml), standin:CONFIG (what drives a
    /// card, over the device nodes of a simulated one) or soft:RANKS (plain Rust, to try the suite
    /// itself)
    #[arg(long, value_name = "URI", default_value = BACKEND)]
    pub backend: String,

    /// Only the tests whose names match this regular expression
    #[arg(long, value_name = "RE")]
    pub filter: Option<Regex>,

    /// The run's seed: a number, also as 0x..., or `random`
    #[arg(long, value_name = "N", value_parser = seed, default_value_t = SEED)]
    pub seed: u64,

    /// So many boards at once [default: the number of cores, or 1 for a card, which is one board]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,

    /// Write the results to this file as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Record waves: run failed tests again for it, or record all
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = WavesWhen::Never)]
    pub waves: WavesWhen,

    #[command(flatten)]
    pub logs: Logs,

    /// Write report.txt, report.json and waves to this folder [default for waves: alcor-report]
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,

    /// The full tier: about ten times the work
    #[arg(long)]
    pub full: bool,

    /// Show the tests and what they are about, and run none
    #[arg(long)]
    pub list: bool,
}

/// When waves are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WavesWhen {
    /// Not at all
    Never,
    /// Of tests that failed, in a second run
    OnFailure,
    /// Of every test
    Always,
}

/// Where waves go unless `--report` says so.
const WAVES_FOLDER: &str = "alcor-report";

impl Args {
    /// Boards at once.
    pub fn jobs(&self) -> Result<usize, Error> {
        let asked = self.jobs.map(NonZeroUsize::get);
        if is_card(&self.backend) {
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
            ..Settings::default()
        }
    }

    /// The folder that something goes to, if anything does.
    pub fn output_folder(&self) -> Option<&Path> {
        match (&self.report, self.waves) {
            (Some(folder), _) => Some(folder),
            (None, WavesWhen::Never) => None,
            (None, _) => Some(Path::new(WAVES_FOLDER)),
        }
    }

    /// Where waves of the test of that name go.
    pub fn waves_file(&self, test: &str) -> PathBuf {
        let folder = self.output_folder().unwrap_or(Path::new(WAVES_FOLDER));
        folder.join(format!("{test}.fst"))
    }

    /// The command line that runs one test again.
    pub fn repeat(&self, test: &str) -> String {
        let mut line = "alcor regress".to_owned();
        if self.backend != BACKEND {
            line += &format!(" --backend {}", quoted(&self.backend));
        }
        line += &format!(" --filter '^{}$' --seed {}", regex::escape(test), self.seed);
        if self.full {
            line += " --full";
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

/// For a shell.
fn quoted(text: &str) -> String {
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
    fn what_a_shell_would_take_apart_is_quoted() {
        assert_eq!(quoted("cosim:rma4"), "cosim:rma4");
        assert_eq!(
            quoted("cosim:rma4?profile=ideal&away=1"),
            "'cosim:rma4?profile=ideal&away=1'"
        );
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
