//! Progress of the suite: live on a terminal, plain lines elsewhere.

use std::collections::BTreeMap;
use std::env;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use alcor_test::{Case, Outcome, Verdict};
use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};

use super::estimate::Estimate;
use super::summary::Counts;

/// Largest number of lines for running tests.
const LINES: usize = 8;
/// Time between two updates.
const TICK: Duration = Duration::from_millis(200);

/// Shows the begin and end of tests on standard error.
pub struct Progress {
    state: Arc<Mutex<State>>,
    screen: Option<Screen>,
    backends: Vec<String>,
    /// Whether several tests differ in their seeds alone.
    repeated: bool,
}

/// A test on a backend: the index of the backend, the test's name, and its seed.
type Key = (usize, &'static str, u64);

struct State {
    counts: Counts,
    total: usize,
    estimate: Estimate,
}

/// The lines on the terminal.
struct Screen {
    all: MultiProgress,
    /// The last line: the number of tests by result, and the remaining time.
    bar: ProgressBar,
    running: Mutex<BTreeMap<Key, ProgressBar>>,
}

impl Progress {
    /// `backends` are those of the run; if there are several, they precede the names of their
    /// tests.
    pub fn new(
        total: usize,
        backends: Vec<String>,
        repeated: bool,
        estimate: Estimate,
    ) -> Progress {
        let state = Arc::new(Mutex::new(State {
            counts: Counts::default(),
            total,
            estimate,
        }));
        Progress {
            screen: is_live().then(|| Screen::new(total, &state)),
            state,
            backends,
            repeated,
        }
    }

    /// A test begins.
    pub fn started(&self, lane: usize, case: Case) {
        lock(&self.state)
            .estimate
            .started(lane, case, Instant::now());
        if let Some(screen) = &self.screen {
            screen.started(
                (lane, case.test.name, case.seed),
                self.name(lane, case.test.name, case.seed),
            );
        }
    }

    /// A test has ended, or will not run.
    pub fn ended(&self, lane: usize, outcome: &Outcome) {
        let (ended, total) = {
            let mut state = lock(&self.state);
            state.counts.add(&outcome.verdict);
            state.estimate.ended(lane, outcome);
            (state.counts.all(), state.total)
        };
        let (test, seed) = (outcome.test.name, outcome.run_seed);
        let name = self.name(lane, test, seed);
        if let Some(screen) = &self.screen {
            screen.ended((lane, test, seed), &outcome.verdict, &name);
            return;
        }
        let (verdict, seconds) = (outcome.verdict.word(), outcome.duration.as_secs_f64());
        match &outcome.verdict {
            // The table names them with their reason.
            Verdict::NotRun(_) => {}
            Verdict::Failed(failure) => {
                eprintln!("[{ended:>3}/{total}] {name} {verdict} {seconds:.2} s\n  {failure}")
            }
            _ => eprintln!("[{ended:>3}/{total}] {name} {verdict} {seconds:.2} s"),
        }
    }

    /// Prints a line that stays.
    pub fn println(&self, line: &str) {
        match &self.screen {
            // Errors of a closed terminal have no receiver.
            Some(screen) => drop(screen.all.println(line)),
            None => eprintln!("{line}"),
        }
    }

    pub fn finish(&self) {
        if let Some(screen) = &self.screen {
            screen.bar.finish_and_clear();
            // The text above the lines stays on the screen. A closed terminal needs no clearing.
            let _ = screen.all.clear();
        }
    }

    fn name(&self, lane: usize, test: &str, seed: u64) -> String {
        let name = name(test, seed, self.repeated);
        match self.backends.as_slice() {
            [_] => name,
            backends => format!("{} {name}", backends[lane]),
        }
    }
}

impl Screen {
    fn new(total: usize, state: &Arc<Mutex<State>>) -> Screen {
        let all = crate::build::screen();
        let bar = all.add(ProgressBar::new(total as u64));
        let style = styled(
            "{wide_bar} {ended}/{len}: {passed:.green} passed, {failed:.red} failed, {skipped:.yellow} skipped{left}",
        );
        let count = |of: fn(&Counts) -> usize| {
            let state = Arc::clone(state);
            move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = write!(out, "{}", of(&lock(&state).counts));
            }
        };
        let clock = Arc::clone(state);
        let left = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
            if let Some(left) = lock(&clock).estimate.left(Instant::now()) {
                let _ = write!(out, ", {} left", clock_time(left));
            }
        };
        bar.set_style(
            style
                .with_key("ended", count(Counts::all))
                .with_key("passed", count(|counts| counts.passed))
                .with_key("failed", count(|counts| counts.failed))
                .with_key("skipped", count(|counts| counts.skipped))
                .with_key("left", left),
        );
        bar.enable_steady_tick(TICK);
        Screen {
            all,
            bar,
            running: Mutex::default(),
        }
    }

    fn started(&self, key: Key, name: String) {
        let mut running = lock(&self.running);
        if running.len() >= LINES {
            return;
        }
        let line = self
            .all
            .insert_before(&self.bar, ProgressBar::new_spinner());
        line.set_style(styled("{spinner:.cyan} {elapsed:>4} {wide_msg}"));
        line.set_message(name);
        line.enable_steady_tick(TICK);
        running.insert(key, line);
    }

    fn ended(&self, key: Key, verdict: &Verdict, name: &str) {
        let line = lock(&self.running).remove(&key);
        if let Some(line) = line {
            line.finish_and_clear();
            self.all.remove(&line);
        }
        if let Verdict::Failed(failure) = verdict {
            // Errors of a closed terminal have no receiver.
            let _ = self.all.println(format!("{name} failed: {failure}"));
        }
        self.bar.inc(1);
    }
}

/// Whether lines can be overwritten: on a terminal that supports it.
fn is_live() -> bool {
    let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    std::io::stderr().is_terminal() && !dumb
}

/// A style; the plain one if the template is wrong.
fn styled(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Locks, also after a panic of another thread: at worst a count is too small.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A test's name, with its seed if names are not unique.
pub fn name(test: &str, seed: u64, repeated: bool) -> String {
    if repeated {
        format!("{test} seed {seed}")
    } else {
        test.to_owned()
    }
}

/// Minutes and seconds, with hours before them if need be.
fn clock_time(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_a_clock() {
        for (seconds, text) in [(0, "0:00"), (61, "1:01"), (3_661, "1:01:01")] {
            assert_eq!(clock_time(Duration::from_secs(seconds)), text);
        }
    }
}
