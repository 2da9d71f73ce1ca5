//! Waves of tests.

use std::collections::BTreeMap;
use std::path::PathBuf;

use alcor::Cluster;
use alcor_conformance::{Outcome, Test, run_test};

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
pub fn open(args: &Args, test: &Test) -> Result<Cluster, alcor::Error> {
    let uri = args
        .logs
        .add_to_uri(&args.backend)
        .and_then(|uri| backends::with_waves(&uri, &args.waves_file(test.name)))
        .map_err(alcor::Error::program)?;
    backends::open(&uri)
}

/// The waves of all tests that failed, by name; runs them again if need be.
pub fn of_failures(
    args: &Args,
    outcomes: &[Outcome],
) -> Result<BTreeMap<&'static str, Waves>, Error> {
    let failed = outcomes
        .iter()
        .filter(|outcome| outcome.verdict.is_failed());
    failed
        .filter(|_| args.waves != WavesWhen::Never)
        .map(|outcome| {
            let test = outcome.test;
            let failed = match args.waves {
                WavesWhen::OnFailure => {
                    eprintln!("{} failed: once more, with waves", test.name);
                    let again = run_test(test, open(args, test)?, &args.settings());
                    again.verdict.is_failed()
                }
                _ => true,
            };
            let file = args.waves_file(test.name);
            Ok((test.name, Waves { file, failed }))
        })
        .collect()
}
