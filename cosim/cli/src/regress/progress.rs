//! How far the suite is: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};

use alcor_conformance::{Outcome, Verdict};
use indicatif::{ProgressBar, ProgressStyle};

/// Tells of tests on standard error as they end.
pub struct Progress {
    total: usize,
    ended: AtomicUsize,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub fn new(total: usize) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(total as u64);
            // A template that is wrong leaves the bar in its plain style.
            if let Ok(style) =
                ProgressStyle::with_template("{wide_bar} {pos}/{len} {elapsed} {msg}")
            {
                bar.set_style(style);
            }
            bar
        });
        Progress {
            total,
            ended: AtomicUsize::new(0),
            bar,
        }
    }

    /// Tells of one more test.
    pub fn ended(&self, outcome: &Outcome) {
        let name = outcome.test.name;
        let ended = 1 + self.ended.fetch_add(1, Ordering::Relaxed);
        match &self.bar {
            None => {
                let (verdict, seconds) = (outcome.verdict.word(), outcome.duration.as_secs_f64());
                eprintln!(
                    "[{ended:>3}/{}] {name} {verdict} {seconds:.2} s",
                    self.total
                );
            }
            Some(bar) => {
                if let Verdict::Failed(failure) = &outcome.verdict {
                    bar.println(format!("{name} failed: {failure}"));
                }
                bar.set_message(name);
                bar.inc(1);
            }
        }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
