//! `alcor regress`: the conformance suite on boards of any backends.

mod args;
mod compare;
mod coverage;
mod estimate;
mod github;
mod junit;
mod lane;
mod live;
mod page;
mod plan;
mod profile;
mod programs;
mod progress;
mod report;
pub(crate) mod results;
mod signals;
mod summary;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use alcor::soft::SoftBoard;
use alcor_test::explain::{self, Explainer, Explanation, Waves, uri};
use alcor_test::{Case, Lane as SuiteLane, Open, Outcome, Stop, digest, run_suite};
use serde::Serialize;

pub use args::Args;
pub use lane::quoted;
pub use profile::{ProfileError, names as profiles};

use crate::backends::{self, Opening};
use crate::exit::{CommandResult, Error, Exit};
use crate::store::Store;
use args::{BACKEND, Format, WavesWhen};
use compare::Comparison;
use coverage::Collector;
use estimate::Estimate;
use junit::Part;
use lane::{Lane, cores};
use live::{Live, Track, print_line, print_text};
use progress::Progress;
use results::Run;
use signals::Signals;
use summary::{Counts, Summary, Whole};

/// Time between two checks for signals.
const TICK: Duration = Duration::from_millis(100);

/// Runs the command.
pub fn run(args: &Args) -> CommandResult {
    let mut lanes = lanes(args)?;
    let mut stores = Vec::new();
    if args.failed {
        stores = lanes
            .iter()
            .map(|lane| args.store.open(&lane.backend))
            .collect::<Result<_, _>>()?;
    }
    select(args, &mut lanes, &stores)?;
    if args.list {
        return list(args, &lanes);
    }
    check(args, &lanes)?;
    if stores.is_empty() {
        let open = |lane: &Lane| args.store.open(&lane.backend);
        stores = lanes.iter().map(open).collect::<Result<_, _>>()?;
    }
    let lanes = lanes.into_iter().map(Arc::new).collect();
    Regression::new(args, lanes, stores)?.run()
}

/// The backends of the run; their tests are not selected yet.
fn lanes(args: &Args) -> Result<Vec<Lane>, Error> {
    let mut lanes = match (&args.profile, args.backend.as_slice()) {
        _ if args.programs || !args.tag.is_empty() => profile::programs(args)?,
        (Some(profile), _) => profile::lanes(args, profile)?,
        (None, []) => match profile::default(args)? {
            Some(lanes) => lanes,
            None => vec![Lane::new(args, BACKEND)],
        },
        (None, backends) => backends.iter().map(|uri| Lane::new(args, uri)).collect(),
    };
    if lanes.len() > 1 {
        let mut names: BTreeMap<String, u32> = BTreeMap::new();
        for lane in &mut lanes {
            let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
            let name: String = lane.backend.chars().map(plain).collect();
            let times = names.entry(name.clone()).or_default();
            *times += 1;
            lane.folder.push(match *times {
                1 => name,
                times => format!("{name}-{times}"),
            });
        }
    }
    Ok(lanes)
}

/// Selects the tests of each backend.
fn select(args: &Args, lanes: &mut [Lane], stores: &[Option<Store<Run>>]) -> Result<(), Error> {
    let mut retried = Vec::new();
    for (place, lane) in lanes.iter_mut().enumerate() {
        let mut cases = lane.selected();
        if args.failed {
            let store = stores[place].as_ref().ok_or(Error::NoStore)?;
            let failed = store.failed();
            let failed = failed.ok_or_else(|| Error::NoLastRun(lane.backend.clone()))?;
            let mut seeds: Vec<u64> = failed.iter().map(|&(_, seed)| seed).collect();
            seeds.sort_unstable();
            seeds.dedup();
            let mut tests: Vec<_> = cases.iter().map(|case| case.test).collect();
            tests.dedup_by_key(|test| test.name);
            cases = tests
                .iter()
                .flat_map(|&test| seeds.iter().map(move |&seed| plan::case(test, seed)))
                .filter(|case| failed.contains(&(case.test.name, case.seed)))
                .collect();
            // The store has one last run of a backend, whatever the number of its parts.
            if retried.contains(&lane.backend) {
                cases.clear();
            }
            retried.push(lane.backend.clone());
            lane.seed = cases.first().map_or(lane.seed, |case| case.seed);
        }
        lane.cases = match lane.shard {
            Some(shard) => shard.of(&cases),
            None => cases,
        };
    }
    if lanes.iter().all(|lane| lane.selected().is_empty()) {
        let filters = args.filter.iter().map(ToString::to_string);
        return Err(Error::NoTest(filters.collect::<Vec<_>>().join("|")));
    }
    Ok(())
}

/// A test, as `--list --format json` shows it.
#[derive(Serialize)]
struct Listed<'a> {
    backend: &'a str,
    name: &'a str,
    summary: &'a str,
    ranks: u32,
    needs: Vec<String>,
    steady: bool,
}

/// Shows the tests.
fn list(args: &Args, lanes: &[Lane]) -> CommandResult {
    let mut text = String::new();
    for lane in lanes {
        if lanes.len() > 1 && args.format == Format::Text {
            text += &format!("== {}\n", lane.backend);
        }
        // The repetitions of a test follow each other.
        let mut cases = lane.cases.clone();
        cases.dedup_by_key(|case| case.test.name);
        for test in cases.iter().map(|case| case.test) {
            match args.format {
                Format::Text => text += &format!("{}: {}\n", test.name, test.summary),
                Format::Json => print_line(&Listed {
                    backend: &lane.backend,
                    name: test.name,
                    summary: test.summary,
                    ranks: test.ranks,
                    needs: test.needs.iter().map(ToString::to_string).collect(),
                    steady: test.steady,
                })?,
            }
        }
    }
    print_text(&text)?;
    Ok(Exit::Passed)
}

/// Checks that are possible before the first board is opened.
fn check(args: &Args, lanes: &[Lane]) -> Result<(), Error> {
    let mut shared = BTreeSet::new();
    for lane in lanes.iter().filter(|lane| !lane.cases.is_empty()) {
        backends::check(&lane.backend)?;
        if backends::is_shared(&lane.backend) && !shared.insert(&lane.backend) {
            return Err(Error::SharedTwice(lane.backend.clone()));
        }
        if lane.waves() != WavesWhen::Never {
            uri::check_waves(&lane.backend)?;
        }
        let folder = lane.folder.as_path();
        if args.report.is_some() || lane.waves() == WavesWhen::Always {
            fs::create_dir_all(folder).map_err(Error::write(folder))?;
        }
        if let (Some(jobs @ 2..), 1) = (args.jobs.map(usize::from), lanes.len())
            && backends::is_shared(&lane.backend)
        {
            let uri = lane.backend.clone();
            return Err(Error::OneBoard { uri, jobs });
        }
    }
    let cases: usize = lanes.iter().map(|lane| lane.cases.len()).sum();
    if args.logs.are_wanted() && cases > 1 {
        return Err(Error::ManyTraces(cases));
    }
    Ok(())
}

/// The places of the failures that are explained.
fn explained(lane: &Lane, outcomes: &[Outcome]) -> Vec<usize> {
    let failed = outcomes.iter().enumerate();
    failed
        .filter(|(_, outcome)| explain::is_explicable(outcome))
        .map(|(place, _)| place)
        .take(lane.explain)
        .collect()
}

fn explanation(lane: &Lane, outcome: &Outcome) -> Explanation {
    match &lane.programs {
        Some(programs) => programs.explain(lane, outcome),
        None => explainer(lane, outcome).explain(outcome),
    }
}

/// Settings for the explanation of a failure.
fn explainer<'a>(lane: &'a Lane, outcome: &Outcome) -> Explainer<'a> {
    Explainer {
        backend: &lane.backend,
        open: &backends::open,
        settings: lane.settings(),
        folder: lane.failure_folder(outcome),
        waves: match lane.waves() {
            WavesWhen::Never => Waves::Never,
            WavesWhen::OnFailure => Waves::OnFailure,
            WavesWhen::Always => Waves::Recorded(lane.waves_file(Case {
                test: outcome.test,
                seed: outcome.run_seed,
            })),
        },
        waves_cycles: lane.waves_cycles,
        repeat: lane.repeat(outcome),
    }
}

/// A run.
struct Regression<'a> {
    args: &'a Args,
    lanes: Vec<Arc<Lane>>,
    collectors: Vec<Option<Arc<Collector>>>,
    boards: Vec<String>,
    stores: Vec<Option<Store<Run>>>,
    signals: Signals,
    jobs: usize,
}

impl<'a> Regression<'a> {
    fn new(
        args: &'a Args,
        lanes: Vec<Arc<Lane>>,
        stores: Vec<Option<Store<Run>>>,
    ) -> Result<Self, Error> {
        let board = |lane: &Arc<Lane>| {
            let uri = args.logs.add_to_uri(&lane.backend)?;
            if lane.coverage {
                backends::with_coverage(&uri)
            } else {
                Ok(uri)
            }
        };
        let collector = |lane: &Arc<Lane>| lane.coverage.then(Arc::default);
        let boards: usize = lanes.iter().map(|lane| lane.boards()).sum();
        let most = args.jobs.map_or_else(cores, usize::from);
        Ok(Regression {
            args,
            boards: lanes.iter().map(board).collect::<Result<_, _>>()?,
            collectors: lanes.iter().map(collector).collect(),
            stores,
            signals: Signals::take()?,
            jobs: most.min(boards).max(1),
            lanes,
        })
    }

    fn run(mut self) -> CommandResult {
        for lane in self.lanes.iter().filter(|_| self.lanes.len() > 1) {
            eprintln!(
                "{}: {} tests: {}",
                lane.backend,
                lane.cases.len(),
                lane.command()
            );
        }
        let stores = std::mem::take(&mut self.stores);
        let durations = |place: usize| {
            let store = stores[place].as_ref();
            store.map_or_else(BTreeMap::new, |it| it.durations(self.lanes[place].full))
        };
        let orders: Vec<Vec<usize>> = (0..self.lanes.len())
            .map(|place| plan::longest_first(&self.lanes[place].cases, &durations(place)))
            .collect();
        let known: Vec<_> = (0..self.lanes.len())
            .map(|place| (self.lanes[place].cases.as_slice(), durations(place)))
            .collect();
        let progress = Progress::new(
            self.lanes.iter().map(|lane| lane.cases.len()).sum(),
            self.lanes.iter().map(|lane| lane.backend.clone()).collect(),
            self.lanes.iter().any(|lane| lane.is_repeated()),
            Estimate::new(&known, self.jobs),
        );
        drop(known);
        let suite = self.suite(&orders);
        let tracks = self.lanes.iter().zip(orders).zip(stores);
        let tracks =
            tracks.map(|((lane, order), store)| Track::new(Arc::clone(lane), order, store));
        let failures = Cell::new(0);
        let mut live = Live::new(self.args, tracks.collect(), &progress, &failures);
        let start = Instant::now();
        run_suite(
            &suite,
            self.jobs,
            &|| self.stop(failures.get()),
            &mut |event| {
                live.take(event);
            },
        );
        drop(suite);
        progress.finish();
        let elapsed = start.elapsed();
        self.explain_and_end(live, elapsed)
    }

    /// The backends as the suite runs them.
    fn suite(&self, orders: &[Vec<usize>]) -> Vec<SuiteLane> {
        let opening = Opening {
            threads: Some((cores() / self.jobs).max(1)),
        };
        let lane = |(place, order): (usize, &Vec<usize>)| {
            let lane = Arc::clone(&self.lanes[place]);
            SuiteLane {
                cases: order.iter().map(|&at| lane.cases[at]).collect(),
                boards: lane.boards(),
                settings: lane.settings(),
                open: self.open(place, opening.clone()),
            }
        };
        orders.iter().enumerate().map(lane).collect()
    }

    /// Opens boards of a backend.
    fn open(&self, place: usize, opening: Opening) -> Open {
        let lane = Arc::clone(&self.lanes[place]);
        let collector = self.collectors[place].clone();
        let board = self.boards[place].clone();
        Arc::new(move |case| {
            // A program opens its boards in another process. They are opened here to build
            // their model and to report missing tools.
            if lane.programs.is_some() {
                opening.open(&board)?;
                return Ok(SoftBoard::new(1).into());
            }
            let uri = match lane.waves() {
                WavesWhen::Always => uri::with_waves(&board, &lane.waves_file(case))
                    .map_err(alcor::Error::program)?,
                _ => board.clone(),
            };
            let cluster = match &collector {
                Some(collector) => collector.open(&opening, &uri)?,
                None => opening.open(&uri)?,
            };
            // A missing requirement of the board shows here, before the first test.
            cluster.identify()?;
            Ok(cluster)
        })
    }

    /// Whether and why the run must end before its last test.
    fn stop(&self, failures: usize) -> Option<Stop> {
        if let Some(signal) = self.signals.came() {
            let name = signals::name(signal);
            return Some(Stop::Now(format!("{name} ended the run")));
        }
        let most = self.args.max_failures();
        (failures >= most).then(|| {
            let failures = alcor_report::count(most, "failure");
            Stop::Soon(format!("the run ended after {failures}"))
        })
    }

    /// Explains failures, and writes all results.
    fn explain_and_end(&self, mut live: Live<'_>, elapsed: Duration) -> CommandResult {
        live.close_stores();
        let mut tracks = std::mem::take(&mut live.tracks);
        let outcomes: Vec<Vec<Outcome>> = tracks
            .iter_mut()
            .map(|track| {
                std::mem::take(&mut track.outcomes)
                    .into_iter()
                    .flatten()
                    .collect()
            })
            .collect();
        let is_cut = live.is_abandoned || self.signals.came().is_some();
        let ended = |live: &mut Live<'_>, explanations: &[BTreeMap<usize, Explanation>]| {
            self.end(live, &tracks, &outcomes, explanations, elapsed)
        };
        tell_of_changed_sources();
        let mut explanations: Vec<_> = tracks.iter().map(|_| BTreeMap::new()).collect();
        let end: CommandResult = thread::scope(|scope| {
            let (sender, found) = mpsc::channel();
            let (lanes, all) = (&self.lanes, &outcomes);
            if self.signals.came().is_none() {
                scope.spawn(move || {
                    for (at, (lane, outcomes)) in lanes.iter().zip(all).enumerate() {
                        for place in explained(lane, outcomes) {
                            let outcome = &outcomes[place];
                            eprintln!("{} failed: run again to explain it", outcome.test.name);
                            let found = (at, place, explanation(lane, outcome));
                            if sender.send(found).is_err() {
                                return;
                            }
                        }
                    }
                });
            } else {
                drop(sender);
            }
            loop {
                match found.recv_timeout(TICK) {
                    Ok((lane, place, explanation)) => {
                        explanations[lane].insert(place, explanation);
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) if self.signals.came().is_none() => {}
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        let ended = ended(&mut live, &explanations);
                        leave(&ended);
                    }
                    Err(mpsc::RecvTimeoutError::Disconnected) => break,
                }
            }
            ended(&mut live, &explanations)
        });
        if is_cut {
            leave(&end);
        }
        end
    }

    /// Writes all outputs of the end of a run.
    fn end(
        &self,
        live: &mut Live<'_>,
        tracks: &[Track],
        outcomes: &[Vec<Outcome>],
        explanations: &[BTreeMap<usize, Explanation>],
        elapsed: Duration,
    ) -> CommandResult {
        let compare = |(track, outcomes): (&Track, &Vec<Outcome>)| {
            let lane = &track.lane;
            let percent = track.steady.then_some(lane.cycles_change);
            let store = track.store.as_ref()?;
            Some(Comparison::with(store, live.id, lane, outcomes, percent))
        };
        let comparisons: Vec<_> = tracks.iter().zip(outcomes).map(compare).collect();
        let collectors = self.collectors.iter();
        let coverage: Vec<_> = collectors
            .map(|it| it.as_ref().map(|it| it.take()).transpose())
            .collect::<Result<_, _>>()?;
        let summary = |place: usize| Summary {
            lane: &tracks[place].lane,
            outcomes: &outcomes[place],
            explanations: &explanations[place],
            comparison: comparisons[place].as_ref(),
            coverage: coverage[place].as_ref(),
            opening: tracks[place].opening,
            elapsed: tracks[place].elapsed(),
            digest: digest(&outcomes[place]),
        };
        let whole = Whole {
            parts: (0..tracks.len()).map(summary).collect(),
            elapsed,
        };
        if let Some(mut junit) = live.junit.take() {
            let part = |place: usize| Part {
                lane: &tracks[place].lane,
                outcomes: outcomes[place].iter().map(Some).collect(),
                explanations: Some(&explanations[place]),
                comparison: comparisons[place].as_ref(),
            };
            let parts: Vec<_> = (0..tracks.len()).map(part).collect();
            if let Err(error) = junit.write(&parts) {
                // Reported even after an earlier error: this is the state in which the file
                // stays.
                live.is_unwritten = false;
                live.unwritten(&error);
            }
        }
        let exit = |live: &Live<'_>| match self.signals.came() {
            Some(signal) => Exit::Signal(signal),
            None => exit(self.args, tracks, &whole, live.is_unwritten),
        };
        if let Some(folder) = &self.args.report {
            let stores: Vec<_> = tracks.iter().map(|track| track.store.as_ref()).collect();
            let now = exit(live);
            if let Err(error) = report::write(&whole, &stores, &self.args.store, now, folder) {
                live.unwritten(&error);
            }
        }
        if let Err(error) = github::add_summary(&whole) {
            live.unwritten(&Error::write("the summary of the step")(error));
        }
        let is_learned = whole.counts().all() > whole.counts().not_run || whole.counts().all() == 0;
        let printed = match self.args.format {
            Format::Json => print_line(&Last {
                event: "summary",
                report: report::Report::new(&whole, exit(live), false),
            }),
            // A run without an executed test has no results; its error is shown.
            Format::Text if !is_learned && self.signals.came().is_none() => Ok(()),
            Format::Text if summary::is_coloured() => print_text(&format!("{whole:#}")),
            Format::Text => print_text(&whole.to_string()),
        };
        if let Err(error) = printed {
            live.unwritten(&error);
        }
        Ok(exit(live))
    }
}

/// The last line of `--format json`.
#[derive(Serialize)]
struct Last<'a> {
    event: &'static str,
    #[serde(flatten)]
    report: report::Report<'a>,
}

/// The exit code of a run that no signal ended.
fn exit(args: &Args, tracks: &[Track], whole: &Whole<'_>, is_unwritten: bool) -> Exit {
    let Counts {
        failed, not_run, ..
    } = whole.counts();
    let lost = tracks.iter().find_map(|track| track.lost);
    match lost.filter(|_| not_run > 0) {
        // No test was run, so the error decides.
        Some(lost) if whole.counts().all() == not_run => return lost,
        Some(_) => return Exit::Environment,
        None => {}
    }
    match (failed, is_unwritten) {
        (_, true) => Exit::Environment,
        (1.., _) => Exit::Failed,
        _ if args.failed => Exit::Passed,
        _ => {
            let ends = whole.parts.iter().map(Summary::exit);
            ends.into_iter()
                .find(|&end| end != Exit::Passed)
                .unwrap_or(Exit::Passed)
        }
    }
}

/// Ends the program while threads still run: those of abandoned tests, and of boards that are being
/// opened.
fn leave(ended: &CommandResult) -> ! {
    let exit = match ended {
        Ok(exit) => *exit,
        Err(error) => {
            eprintln!("alcor: {error}");
            Exit::from(error)
        }
    };
    signal_hook::low_level::exit(exit.code().into())
}

/// Reports sources that have changed since the run read them. All models of the run are built from
/// the sources as they were read.
fn tell_of_changed_sources() {
    let changed = crate::build::backend().changed_sources();
    if !changed.is_empty() {
        let names: Vec<_> = changed
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        eprintln!(
            "alcor: these sources changed during the run, and none of its models has the changes: {}",
            names.join(", ")
        );
    }
}
