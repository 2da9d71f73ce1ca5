//! How far the build of a model is: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::sync::Mutex;

use alcor_cosim::{BuildEvent, CosimBackend};
use indicatif::{MultiProgress, ProgressBar, ProgressFinish, ProgressStyle};

/// Files between two plain lines.
const LINE_EVERY: usize = 10;

/// Simulated boards, whose builds are shown on standard error.
pub fn backend() -> CosimBackend {
    backend_on(None)
}

/// The same; on a terminal, bars are among the lines of `screen`, where there is one.
pub fn backend_on(screen: Option<MultiProgress>) -> CosimBackend {
    let screen = screen.unwrap_or_default();
    let bar: Mutex<Option<ProgressBar>> = Mutex::new(None);
    let terminal = std::io::stderr().is_terminal();
    CosimBackend::new().progress(move |model, event| {
        if terminal {
            // A listener that panicked elsewhere left at worst an old bar behind.
            let mut bar = bar.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            draw(&screen, &mut bar, model, &event);
        } else if is_worth_a_line(&event) {
            eprintln!("model {model}: {event}");
        }
    })
}

fn draw(screen: &MultiProgress, bar: &mut Option<ProgressBar>, model: &str, event: &BuildEvent) {
    match event {
        BuildEvent::CacheHit => {}
        BuildEvent::Done { .. } => {
            if let Some(bar) = bar.take() {
                bar.finish_and_clear();
            }
            // A terminal that is gone has nobody to tell.
            let _ = screen.println(format!("model {model}: {event}"));
        }
        _ => {
            let bar = bar.get_or_insert_with(|| {
                // The build of a model that fails drops the bar.
                let bar = ProgressBar::new(1).with_finish(ProgressFinish::AndClear);
                let bar = screen.insert(0, bar);
                // A template that is wrong leaves the bar in its plain style.
                if let Ok(style) = ProgressStyle::with_template("{wide_bar} {elapsed} {msg}") {
                    bar.set_style(style);
                }
                bar
            });
            if let BuildEvent::Compiling { done, total } = event {
                bar.set_length(*total as u64);
                bar.set_position(*done as u64);
            }
            bar.set_message(format!("model {model}: {event}"));
            bar.tick();
        }
    }
}

fn is_worth_a_line(event: &BuildEvent) -> bool {
    match event {
        BuildEvent::CacheHit => false,
        BuildEvent::Compiling { done, .. } => done % LINE_EVERY == 0,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_gets_a_line_every_few_files_and_none_for_the_cache() {
        let lines =
            (0..=45).filter(|&done| is_worth_a_line(&BuildEvent::Compiling { done, total: 45 }));
        assert_eq!(lines.count(), 5);
        assert!(!is_worth_a_line(&BuildEvent::CacheHit));
        assert!(is_worth_a_line(&BuildEvent::Verilating));
    }
}
