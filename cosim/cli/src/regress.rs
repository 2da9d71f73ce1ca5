//! `alcor regress`: the conformance suite on a board of any backend.

mod args;
mod junit;
mod progress;
mod report;
mod summary;
mod waves;

use std::fs;
use std::sync::Mutex;
use std::time::Instant;

use alcor_conformance::{Settings, Test, digest, run_suite, tests};

pub use args::Args;

use crate::backends;
use crate::exit::{Ended, Error, Exit};
use args::WavesWhen;
use progress::Progress;
use summary::Summary;

/// Runs the command.
pub fn run(args: &Args) -> Ended {
    let tests = select(args)?;
    if args.list {
        for test in tests {
            println!("{}: {}", test.name, test.summary);
        }
        return Ok(Exit::Passed);
    }
    if args.waves != WavesWhen::Never {
        backends::check_waves(&args.backend)?;
    }
    if args.logs.are_wanted() && tests.len() > 1 {
        return Err(Error::ManyTraces(tests.len()));
    }
    let board = args.logs.add_to_uri(&args.backend)?;
    let jobs = args.jobs()?;
    if let Some(folder) = args.output_folder() {
        fs::create_dir_all(folder).map_err(Error::write(folder))?;
    }

    // The first board: what it takes to have one is missing now, or not at all.
    let first = backends::open(&board)?;
    first.identify()?;
    let first = Mutex::new((args.waves != WavesWhen::Always).then_some(first));
    let open = |test: &'static Test| match args.waves {
        WavesWhen::Always => waves::open(args, test),
        _ => match first.lock().ok().and_then(|mut first| first.take()) {
            Some(board) => Ok(board),
            None => backends::open(&board),
        },
    };

    let settings = Settings {
        own_boards: args.waves == WavesWhen::Always,
        ..args.settings()
    };
    let start = Instant::now();
    let progress = Progress::new(tests.len());
    let outcomes = run_suite(&tests, jobs, &settings, &open, &|outcome| {
        progress.ended(outcome);
    })?;
    progress.finish();
    let elapsed = start.elapsed();
    let waves = waves::of_failures(args, &outcomes)?;

    let summary = Summary {
        args,
        outcomes: &outcomes,
        waves: &waves,
        elapsed,
        digest: digest(&outcomes),
    };
    if let Some(file) = &args.junit {
        junit::write(&summary, file)?;
    }
    if let Some(folder) = &args.report {
        report::write(&summary, folder)?;
    }
    print!("{summary}");
    Ok(summary.exit())
}

/// The tests that the filter lets through.
fn select(args: &Args) -> Result<Vec<&'static Test>, Error> {
    let is_wanted = |test: &&Test| args.filter.as_ref().is_none_or(|re| re.is_match(test.name));
    let selected: Vec<_> = tests().filter(is_wanted).collect();
    match &args.filter {
        Some(filter) if selected.is_empty() => Err(Error::NoTest(filter.to_string())),
        _ => Ok(selected),
    }
}
