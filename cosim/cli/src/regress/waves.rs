//! Waves of tests.

use std::collections::BTreeMap;
use std::path::PathBuf;

use alcor::Cluster;
use alcor_conformance::{Case, Outcome, Settings, run_test};

use super::args::{Args, WavesWhen};
use crate::backends;
use crate::exit::Error;

/// A file with waves, and what the run was like that it was recorded in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waves {
    pub file: PathBuf,
    /// Whether the test failed in that run too.
    pub failed: bool,
}

/// A board, or boards, that record the waves of a test.
pub fn open(args: &Args, case: Case) -> Result<Cluster, alcor::Error> {
    let uri = backends::with_waves(&args.backend, &args.waves_file(case))
        .map_err(alcor::Error::program)?;
    backends::open(&uri)
}

/// The waves of all tests that failed, by name and seed; runs them again if need be.
pub fn of_failures(
    args: &Args,
    outcomes: &[Outcome],
) -> Result<BTreeMap<(&'static str, u64), Waves>, Error> {
    let failed = outcomes
        .iter()
        .filter(|outcome| outcome.verdict.is_failed());
    failed
        .filter(|_| args.waves != WavesWhen::Never)
        .map(|outcome| {
            let (test, seed) = (outcome.test, outcome.run_seed);
            let case = Case { test, seed };
            let failed = match args.waves {
                WavesWhen::OnFailure => {
                    eprintln!("{} failed: once more, with waves", test.name);
                    let settings = Settings {
                        seed,
                        ..args.settings()
                    };
                    let again = run_test(test, open(args, case)?, &settings);
                    again.verdict.is_failed()
                }
                _ => true,
            };
            let file = args.waves_file(case);
            Ok(((test.name, seed), Waves { file, failed }))
        })
        .collect()
}
