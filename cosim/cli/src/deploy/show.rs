//! Progress of a deployment: plain lines, and on a terminal an activity indicator below them.

use std::io::IsTerminal;
use std::time::Duration;

use alcor_deploy::{Event, Step};
use indicatif::ProgressBar;

/// Shows the progress of a deployment on standard error.
pub struct Show {
    spinner: Option<ProgressBar>,
}

/// The line of a step.
pub fn line(step: Step, what: &str) -> String {
    format!(
        "[{:>2}/{}] {step:<13} {what}",
        step.number(),
        Step::ALL.len()
    )
}

impl Show {
    pub fn new() -> Show {
        let spinner = std::io::stderr().is_terminal().then(|| {
            let spinner = ProgressBar::new_spinner();
            spinner.enable_steady_tick(Duration::from_millis(120));
            spinner
        });
        Show { spinner }
    }

    pub fn tell(&mut self, event: &Event<'_>) {
        match event {
            Event::Begins(step, what) => {
                self.print(&line(*step, what));
                if let Some(spinner) = &self.spinner {
                    spinner.set_message(step.name());
                }
            }
            Event::Line(text) => self.print(&format!("        | {text}")),
            Event::Undone(undone) => self.print(&match &undone.result {
                Ok(()) => format!("[undo ] {}", undone.what),
                Err(error) => format!("[undo ] FAILED: {}: {error}", undone.what),
            }),
            _ => {}
        }
    }

    fn print(&self, text: &str) {
        match &self.spinner {
            Some(spinner) => spinner.println(text),
            None => eprintln!("{text}"),
        }
    }

    pub fn finish(&self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }
}
