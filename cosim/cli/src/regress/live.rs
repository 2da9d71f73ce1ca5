//! The results of a run as they come: each is written before it is shown.

use std::cell::Cell;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use alcor_test::{Event, Outcome, Verdict};
use serde::Serialize;

use super::args::{Args, Format};
use super::github;
use super::junit::{Junit, Part};
use super::lane::Lane;
use super::progress::Progress;
use super::report::Entry;
use super::results::{Kept, Run};
use crate::exit::{Error, Exit, of_board};
use crate::store::{Journal, Store};

/// The results of a lane so far.
pub struct Track {
    pub lane: Arc<Lane>,
    /// Outcomes in the order of the suite.
    pub outcomes: Vec<Option<Outcome>>,
    /// The indices of the cases, in the order in which they begin.
    pub order: Vec<usize>,
    pub store: Option<Store<Run>>,
    journal: Option<Journal>,
    /// Whether time stands still while host code runs.
    pub steady: bool,
    /// The time to open the first board.
    pub opening: Duration,
    started: Option<Instant>,
    ended: Option<Instant>,
    /// The exit code when a board can't be opened.
    pub lost: Option<Exit>,
}

impl Track {
    pub fn new(lane: Arc<Lane>, order: Vec<usize>, store: Option<Store<Run>>) -> Track {
        Track {
            outcomes: lane.cases.iter().map(|_| None).collect(),
            lane,
            order,
            store,
            journal: None,
            steady: true,
            opening: Duration::ZERO,
            started: None,
            ended: None,
            lost: None,
        }
    }

    /// From the start of the first test to the end of the last.
    pub fn elapsed(&self) -> Duration {
        match (self.started, self.ended) {
            (Some(started), Some(ended)) => ended.saturating_duration_since(started),
            _ => Duration::ZERO,
        }
    }

    fn part(&self) -> Part<'_> {
        Part {
            lane: &self.lane,
            outcomes: self.outcomes.iter().map(Option::as_ref).collect(),
            explanations: None,
            comparison: None,
        }
    }
}

/// A line of `--format json`.
#[derive(Serialize)]
struct Line<'a> {
    event: &'static str,
    backend: &'a str,
    #[serde(flatten)]
    test: Entry<'a>,
}

/// The results of a run as they come.
pub struct Live<'a> {
    pub tracks: Vec<Track>,
    progress: &'a Progress,
    format: Format,
    pub junit: Option<Junit>,
    /// The identity of this run of the program.
    pub id: u64,
    /// Tests that have failed.
    failures: &'a Cell<usize>,
    is_annotated: bool,
    /// Whether a file could not be written.
    pub is_unwritten: bool,
    /// Whether a test was abandoned; its thread still runs.
    pub is_abandoned: bool,
}

impl<'a> Live<'a> {
    pub fn new(
        args: &Args,
        tracks: Vec<Track>,
        progress: &'a Progress,
        failures: &'a Cell<usize>,
    ) -> Live<'a> {
        Live {
            tracks,
            progress,
            format: args.format,
            junit: args.junit.as_deref().map(Junit::new),
            id: rand::random(),
            failures,
            is_annotated: github::is_there(),
            is_unwritten: false,
            is_abandoned: false,
        }
    }

    /// Handles an event of the scheduler.
    pub fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Opened {
                lane,
                cluster,
                took,
            } => {
                let track = &mut self.tracks[lane];
                let boards = cluster.boards();
                track.steady = track.lane.programs.is_some()
                    || boards.iter().all(|board| board.time_stands_still());
                track.opening = took;
            }
            Event::NotOpened { lane, error } => {
                self.tracks[lane].lost = Some(of_board(error));
                self.tell(&format!("alcor: {error}"));
                if self.is_annotated {
                    let title = format!("no board of {}", self.tracks[lane].lane.backend);
                    self.tell(&github::error(&title, &error.to_string()));
                }
            }
            Event::Started { lane, place } => {
                let track = &mut self.tracks[lane];
                track.started.get_or_insert_with(Instant::now);
                let case = track.lane.cases[track.order[place]];
                self.progress.started(lane, case);
            }
            Event::Ended {
                lane,
                place,
                outcome,
            } => self.ended(lane, place, outcome),
            Event::Tick => self.update_junit(),
        }
    }

    fn ended(&mut self, lane: usize, place: usize, outcome: Outcome) {
        let track = &mut self.tracks[lane];
        let place = track.order[place];
        match &outcome.verdict {
            Verdict::NotRun(_) => {}
            verdict => {
                track.ended = Some(Instant::now());
                self.failures
                    .set(self.failures.get() + usize::from(verdict.is_failed()));
                self.is_abandoned |= is_timed_out(verdict);
                self.remember(lane, &outcome);
            }
        }
        self.tracks[lane].outcomes[place] = Some(outcome);
        if let Some(junit) = &mut self.junit {
            junit.touch();
        }
        self.update_junit();
        let track = &self.tracks[lane];
        let Some(outcome) = &track.outcomes[place] else {
            return;
        };
        self.progress.ended(lane, outcome);
        if self.is_annotated
            && let Some(text) = github::annotation(&track.lane, outcome)
        {
            self.progress.println(&text);
        }
        if self.format == Format::Json {
            let line = Line {
                event: "test",
                backend: &track.lane.backend,
                test: Entry::new(&track.lane, outcome),
            };
            if let Err(error) = print_line(&line) {
                self.unwritten(&error);
            }
        }
    }

    /// Writes a result to the journal of the result store.
    fn remember(&mut self, lane: usize, outcome: &Outcome) {
        let track = &mut self.tracks[lane];
        let Some(store) = &track.store else { return };
        let added = match &mut track.journal {
            Some(journal) => journal.add(&Kept::from(outcome)),
            None => {
                let run = Run::new(self.id, lane, &track.lane);
                store.journal(&run).and_then(|mut journal| {
                    let added = journal.add(&Kept::from(outcome));
                    track.journal = Some(journal);
                    added
                })
            }
        };
        if let Err(error) = added {
            self.unwritten(&error.into());
        }
    }

    fn update_junit(&mut self) {
        let Some(junit) = &mut self.junit else { return };
        let tracks = &self.tracks;
        let error = junit.update(|| tracks.iter().map(Track::part).collect());
        if let Some(error) = error {
            self.unwritten(&error);
        }
    }

    /// Reports the first file that could not be written.
    pub fn unwritten(&mut self, error: &Error) {
        if !self.is_unwritten {
            self.is_unwritten = true;
            self.tell(&format!("alcor: {error}"));
        }
    }

    fn tell(&self, line: &str) {
        self.progress.println(line);
    }

    /// Ends the run: moves its results from the journals to the store.
    pub fn close_stores(&mut self) {
        for place in 0..self.tracks.len() {
            let id = self.id;
            let track = &mut self.tracks[place];
            let elapsed = track.elapsed().as_secs_f64();
            let Some(store) = &mut track.store else {
                continue;
            };
            let ended = track.outcomes.iter().flatten();
            let kept = ended.filter(|it| !matches!(it.verdict, Verdict::NotRun(_)));
            let mut run = Run::new(id, place, &track.lane);
            run.elapsed = Some(elapsed);
            run.results = kept.take(crate::store::RESULTS).map(Kept::from).collect();
            let is_remembered = store.remember(run);
            match track.journal.take() {
                Some(journal) if is_remembered => journal.remove(),
                // The next run takes the journal.
                _ => {}
            }
            self.is_unwritten |= !is_remembered;
        }
    }
}

fn is_timed_out(verdict: &Verdict) -> bool {
    use alcor_test::Failure;
    match verdict {
        Verdict::Failed(failure) => matches!(**failure, Failure::TimedOut { .. }),
        _ => false,
    }
}

/// Writes a value to standard output as a line of JSON.
pub fn print_line(value: &impl Serialize) -> Result<(), Error> {
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    print_text(&text)
}

/// Writes to standard output, at once.
pub fn print_text(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Error::write("standard output"))
}
