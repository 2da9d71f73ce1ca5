//! `alcor regress`: the conformance suite on a board of any backend.

mod args;
mod compare;
mod coverage;
mod estimate;
mod explain;
mod junit;
mod page;
mod plan;
mod progress;
mod report;
pub(crate) mod results;
mod summary;

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use std::time::Instant;

use alcor::Cluster;
use alcor_conformance::{Case, Outcome, Settings, Test, digest, run_suite, tests};

pub use args::{Args, quoted};

use crate::backends;
use crate::exit::{Ended, Error, Exit};
use crate::store::Store;
use args::WavesWhen;
use compare::Comparison;
use coverage::Collector;
use estimate::Estimate;
use progress::Progress;
use results::Run;
use summary::Summary;

/// Runs the command.
pub fn run(args: &Args) -> Ended {
    let mut cases = plan::repeated(&select(args)?, args.seed, args.repeat);
    if let Some(shard) = args.shard {
        cases = shard.of(&cases);
    }
    if args.list {
        // The repetitions of a test follow each other.
        cases.dedup_by_key(|case| case.test.name);
        for Case { test, .. } in cases {
            println!("{}: {}", test.name, test.summary);
        }
        return Ok(Exit::Passed);
    }
    if args.waves() != WavesWhen::Never {
        backends::check_waves(&args.backend)?;
    }
    if args.logs.are_wanted() && cases.len() > 1 {
        return Err(Error::ManyTraces(cases.len()));
    }
    let mut board = args.logs.add_to_uri(&args.backend)?;
    if args.coverage {
        board = backends::with_coverage(&board)?;
    }
    let jobs = args.jobs()?;
    if args.report.is_some() || args.waves() == WavesWhen::Always {
        let folder = args.folder();
        fs::create_dir_all(folder).map_err(Error::write(folder))?;
    }
    let mut store = args.store.open(&args.backend)?;

    let collector = args.coverage.then(Collector::default);
    let start = Instant::now();
    let (outcomes, steady) = match cases.as_slice() {
        // A part without tests needs no board, and nothing that a board takes.
        [] => (Vec::new(), true),
        cases => {
            let open = |uri: &str| match &collector {
                Some(collector) => collector.open(uri),
                None => backends::open(uri),
            };
            run_cases(args, &board, &open, cases, jobs, store.as_ref())?
        }
    };
    let elapsed = start.elapsed();
    let coverage = collector.map(Collector::take).transpose()?;
    let explanations = explain::failures(args, &outcomes);

    let percent = steady.then_some(args.cycles_change);
    let comparison = store
        .as_ref()
        .map(|store| Comparison::with(store, args.full, &outcomes, percent));
    if let Some(store) = &mut store {
        store.remember(Run::now(args.full, &outcomes));
    }
    let summary = Summary {
        args,
        outcomes: &outcomes,
        explanations: &explanations,
        comparison: comparison.as_ref(),
        coverage: coverage.as_ref(),
        elapsed,
        digest: digest(&outcomes),
    };
    if let Some(file) = &args.junit {
        junit::write(&summary, file)?;
    }
    if let Some(folder) = &args.report {
        report::write(&summary, store.as_ref(), folder)?;
    }
    print!("{summary}");
    Ok(summary.exit())
}

/// Runs tests, the longest first; what came of them in their own order, and whether time stands still on the board while
/// host code runs. `board` is its URI, with the files that tell what happens on it, which `open_board` opens.
fn run_cases(
    args: &Args,
    board: &str,
    open_board: &(dyn Fn(&str) -> Result<Cluster, alcor::Error> + Sync),
    cases: &[Case],
    jobs: usize,
    store: Option<&Store<Run>>,
) -> Result<(Vec<Outcome>, bool), Error> {
    // The first board: what it takes to have one is missing now, or not at all.
    let first = open_board(board)?;
    first.identify()?;
    let steady = first.boards().iter().all(|board| board.time_stands_still());
    let waves = args.waves();
    let first = Mutex::new((waves != WavesWhen::Always).then_some(first));
    let open = |case| match waves {
        WavesWhen::Always => open_board(&explain::uri_with_waves(args, board, case)?),
        _ => match first.lock().ok().and_then(|mut first| first.take()) {
            Some(board) => Ok(board),
            None => open_board(board),
        },
    };

    let settings = Settings {
        own_boards: waves == WavesWhen::Always,
        ..args.settings()
    };
    let durations = store.map_or_else(BTreeMap::new, |store| store.durations(args.full));
    let order = plan::longest_first(cases, &durations);
    let ordered: Vec<Case> = order.iter().map(|&place| cases[place]).collect();
    let estimate = Estimate::new(cases, jobs, &durations);
    let progress = Progress::new(cases.len(), args.is_repeated(), estimate);
    let ended = run_suite(&ordered, jobs, &settings, &open, &|event| {
        progress.tell(&event);
    });
    progress.finish();
    let mut outcomes: Vec<(usize, Outcome)> = order.into_iter().zip(ended?).collect();
    outcomes.sort_by_key(|&(place, _)| place);
    let outcomes = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
    Ok((outcomes, steady))
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
