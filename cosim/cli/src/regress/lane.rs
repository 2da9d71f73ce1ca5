//! Lanes: the tests of one backend in a run, and their settings.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use alcor_conformance::tests;
use alcor_test::explain::uri::check_waves;
use alcor_test::{Case, Outcome, Settings, Test, Tier};
use regex::Regex;

use super::args::{Args, BACKEND, SEED, WavesWhen};
use super::plan::{self, Shard};
use super::programs::Programs;
use crate::backends::is_shared;

/// The tests of one backend in a run, and their settings.
#[derive(Debug, Clone)]
pub struct Lane {
    /// The URI of the board.
    pub backend: String,
    /// A test runs if each list is empty or has an expression that matches.
    pub filters: [Vec<Regex>; 2],
    pub excludes: Vec<Regex>,
    /// Only the tests that failed in the last run.
    pub failed: bool,
    pub full: bool,
    pub seed: u64,
    pub repeat: u32,
    pub shard: Option<Shard>,
    /// The largest number of boards.
    pub jobs: Option<NonZeroUsize>,
    pub watchdog: Option<u64>,
    pub timeout: Option<Duration>,
    pub explain: usize,
    waves: Option<WavesWhen>,
    pub waves_cycles: u64,
    pub coverage: bool,
    pub cycles_change: f64,
    /// The folder that waves and explanations go to, and the report if there is one.
    pub folder: PathBuf,
    /// The programs that run in place of the suite.
    pub programs: Option<Programs>,
    /// The tests, in the order of the suite.
    pub cases: Vec<Case>,
}

impl Lane {
    /// A backend with the options of the command line; the tests are not selected yet.
    pub fn new(args: &Args, backend: &str) -> Lane {
        Lane {
            backend: backend.to_owned(),
            filters: [Vec::new(), args.filter.clone()],
            excludes: args.exclude.clone(),
            failed: args.failed,
            full: args.full,
            seed: args.seed.unwrap_or(SEED),
            repeat: args.repeat.unwrap_or(1),
            shard: args.shard,
            jobs: args.jobs,
            watchdog: args.watchdog,
            timeout: args.timeout,
            explain: args.explain,
            waves: args.waves,
            waves_cycles: args.waves_cycles,
            coverage: args.coverage,
            cycles_change: args.cycles_change,
            folder: args.folder().to_owned(),
            programs: None,
            cases: Vec::new(),
        }
    }

    /// Whether the filters select a test.
    pub fn selects(&self, test: &Test) -> bool {
        let matches = |regex: &Regex| regex.is_match(test.name);
        let lets_through = |list: &Vec<Regex>| list.is_empty() || list.iter().any(matches);
        self.filters.iter().all(lets_through) && !self.excludes.iter().any(matches)
    }

    /// The selected tests, with their seeds.
    pub fn selected(&self) -> Vec<Case> {
        match &self.programs {
            Some(programs) => {
                let cases = programs.cases.iter().copied();
                cases.filter(|case| self.selects(case.test)).collect()
            }
            None => {
                let tests: Vec<_> = tests().filter(|test| self.selects(test)).collect();
                plan::repeated(&tests, self.seed, self.repeat)
            }
        }
    }

    /// The largest number of boards that are open at the same time.
    pub fn boards(&self) -> usize {
        if is_shared(&self.backend) {
            return 1;
        }
        self.jobs.map_or_else(cores, NonZeroUsize::get)
    }

    /// The wall-clock limit of a test.
    pub fn time_limit(&self) -> Duration {
        let default = if self.full { 3600 } else { 600 };
        self.timeout.unwrap_or(Duration::from_secs(default))
    }

    /// The lane in the form of the scheduler.
    pub fn settings(&self) -> Settings {
        let default = Settings::default();
        Settings {
            seed: self.seed,
            tier: if self.full { Tier::Full } else { Tier::Quick },
            watchdog_cycles: self.watchdog.unwrap_or(default.watchdog_cycles),
            time_limit: Some(self.time_limit()),
            own_boards: self.programs.is_none() && self.waves() == WavesWhen::Always,
        }
    }

    /// The options that change results, as on the command line, but for tier and seed.
    pub fn options(&self) -> String {
        let default = Settings::default().watchdog_cycles;
        match self.watchdog {
            Some(cycles) if cycles != default => format!("--watchdog {cycles}"),
            _ => String::new(),
        }
    }

    /// Tests with recorded waves. Programs have waves of failed runs only.
    pub fn waves(&self) -> WavesWhen {
        if let (Some(_), Some(WavesWhen::Always)) = (&self.programs, self.waves) {
            return WavesWhen::OnFailure;
        }
        self.waves.unwrap_or(match check_waves(&self.backend) {
            Ok(()) => WavesWhen::OnFailure,
            Err(_) => WavesWhen::Never,
        })
    }

    /// The folder of the explanation of a failure.
    pub fn failure_folder(&self, outcome: &Outcome) -> PathBuf {
        self.folder
            .join(self.file_name(outcome.test.name, outcome.run_seed))
    }

    /// The name of a test's files.
    fn file_name(&self, test: &str, seed: u64) -> String {
        if self.is_repeated() {
            format!("{test}-{seed}")
        } else {
            test.to_owned()
        }
    }

    /// Whether several tests differ in their seeds alone.
    pub fn is_repeated(&self) -> bool {
        self.repeat > 1 || self.cases.iter().any(|case| case.seed != self.seed)
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

    /// The file for waves of a whole test.
    pub fn waves_file(&self, case: Case) -> PathBuf {
        let name = self.file_name(case.test.name, case.seed);
        self.folder.join(format!("{name}.fst"))
    }

    /// The command line that runs one test again, as it was.
    pub fn repeat(&self, outcome: &Outcome) -> String {
        let test = regex::escape(outcome.test.name);
        self.line(&[format!("^{test}$")], &[], outcome.run_seed)
    }

    /// The command line that runs the same tests again, as they were.
    pub fn command(&self) -> String {
        let texts = |list: &[Regex]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let filters = match &self.filters {
            // No option requires two expressions to match, or names the tests that failed once.
            [own, asked] if self.failed || !own.is_empty() && !asked.is_empty() => {
                let mut names: Vec<_> = self.cases.iter().map(|case| case.test.name).collect();
                names.dedup();
                vec![format!("^({})$", names.join("|").replace('.', r"\."))]
            }
            [own, asked] => [texts(own), texts(asked)].concat(),
        };
        let mut line = self.line(&filters, &texts(&self.excludes), self.seed);
        if self.repeat > 1 {
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

    fn line(&self, filters: &[String], excludes: &[String], seed: u64) -> String {
        let mut line = "alcor regress".to_owned();
        if self.programs.is_some() {
            line += " --programs";
        }
        if self.backend != BACKEND || self.programs.is_some() {
            line += &format!(" --backend {}", quoted(&self.backend));
        }
        for filter in filters {
            line += &format!(" --filter {}", quoted(filter));
        }
        for exclude in excludes {
            line += &format!(" --exclude {}", quoted(exclude));
        }
        line += &format!(" --seed {seed}");
        if self.full {
            line += " --full";
        }
        let options = self.options();
        if !options.is_empty() {
            line += &format!(" {options}");
        }
        line
    }
}

/// The cores of the machine.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Quotes a word for a shell.
pub fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,".contains(c);
    if text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
