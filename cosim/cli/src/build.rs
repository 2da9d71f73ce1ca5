//! `alcor build`: models of several configurations at a time; and the progress of builds.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::IsTerminal;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
use std::thread;

use alcor_cosim::{BuildEvent, CosimBackend, CosimError, OWN_VARIABLE};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::exit::{CommandResult, Error, Exit};

/// Number of files between two plain lines.
const LINE_EVERY: usize = 10;

/// Build the models of simulated boards, several in parallel, without opening a board
///
/// Models in the cache are not built again. All models are built from the sources as they are when
/// the command starts. A failure does not stop the other builds; all failures are shown.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alcor build rma2 rma4 torus8
  alcor build --all
  the model with waves, for the explanation of a failed test
      alcor build 'rma2?waves=run.fst'")]
pub struct Args {
    /// Configurations of hw/core/configs.toml, with options as after cosim:
    #[arg(value_name = "CONFIG[?OPTIONS]", required_unless_present = "all")]
    configs: Vec<String>,

    /// Build all configurations of hw/core/configs.toml
    #[arg(long, conflicts_with = "configs")]
    all: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> CommandResult {
    let backend = backend();
    let configs = backend
        .configs()
        .map_err(|error| error.on(CosimBackend::SCHEME))?;
    let wanted: Vec<&str> = if args.all {
        configs.iter().map(|(name, _)| name).collect()
    } else {
        args.configs.iter().map(|config| rest(config)).collect()
    };
    let wrong: Vec<_> = wanted
        .iter()
        .filter_map(|rest| Some((*rest, backend.check(rest).err()?)))
        .collect();
    if !wrong.is_empty() {
        return Ok(shown(wrong));
    }

    let queue = Mutex::new(wanted.iter().copied());
    let failures = Mutex::new(Vec::new());
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        // One more than there are cores: some build is always between two steps.
        for _ in 0..wanted.len().min(cores + 1) {
            scope.spawn(|| {
                let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                while let Some(rest) = next() {
                    if let Err(error) = backend.build(rest) {
                        let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
                        failures.push((rest, error));
                    }
                }
            });
        }
    });
    let failures = failures
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let (all, failed) = (wanted.len(), failures.len());
    let exit = shown(failures);
    println!("{} of {all} models are ready", all - failed);
    Ok(exit)
}

/// The configuration that a command line names: `NAME`, or its URI `cosim:NAME`, as other commands
/// take it.
pub fn config(text: &str) -> Result<String, Infallible> {
    Ok(rest(text).to_owned())
}

/// Configurations may be given as URIs, like for other commands.
fn rest(config: &str) -> &str {
    config.strip_prefix("cosim:").unwrap_or(config)
}

/// Prints errors. Returns the exit code: that of the first error of the environment or the command,
/// if there is one.
fn shown(errors: Vec<(&str, CosimError)>) -> Exit {
    let mut exits = Vec::new();
    for (rest, error) in errors {
        let error = Error::from(error.on(&format!("{}:{rest}", CosimBackend::SCHEME)));
        eprintln!("alcor: {error}");
        exits.push(Exit::from(&error));
    }
    let other = exits.iter().find(|exit| **exit != Exit::Failed);
    other.or(exits.first()).copied().unwrap_or(Exit::Passed)
}

/// The folder of the user's own hardware that the command line names.
static OWN: OnceLock<PathBuf> = OnceLock::new();

/// Takes configurations and kernels from this folder, too.
pub fn take_own(folder: PathBuf) {
    // The command line names one folder. Children may run elsewhere.
    OWN.get_or_init(|| std::fs::canonicalize(&folder).unwrap_or(folder));
}

/// The environment variable that passes the folder of the user's own hardware to children.
pub fn own() -> Option<(&'static str, &'static PathBuf)> {
    Some((OWN_VARIABLE, OWN.get()?))
}

/// Simulated boards, whose builds are shown on standard error. All boards that the program opens
/// have one version of the RTL, see [`CosimBackend`].
pub fn backend() -> CosimBackend {
    static BACKEND: LazyLock<CosimBackend> = LazyLock::new(|| {
        let display = std::io::stderr().is_terminal().then(Display::default);
        CosimBackend::new()
            .own(OWN.get().cloned())
            .progress(move |model, event| match &display {
                Some(display) => display.draw(model, &event),
                None if is_worth_a_line(&event) => eprintln!("model {model}: {event}"),
                None => {}
            })
    });
    BACKEND.clone()
}

/// The lines at the end of the terminal: those of builds, and those of a regression. All writers of
/// lines share this.
pub fn screen() -> MultiProgress {
    static SCREEN: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);
    SCREEN.clone()
}

/// A line on the terminal for each model that is being built.
struct Display {
    lines: MultiProgress,
    bars: Mutex<BTreeMap<String, ProgressBar>>,
}

impl Default for Display {
    fn default() -> Self {
        Self {
            lines: screen(),
            bars: Mutex::default(),
        }
    }
}

impl Display {
    fn draw(&self, model: &str, event: &BuildEvent) {
        // After a panic of another thread, at worst an outdated bar remains.
        let mut bars = self.bars.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            BuildEvent::CacheHit => {}
            BuildEvent::Done { .. } | BuildEvent::Failed => {
                if let Some(bar) = bars.remove(model) {
                    bar.finish_and_clear();
                    self.lines.remove(&bar);
                }
                // Above the bars that are left; a terminal that refuses the line would refuse the
                // next one too.
                let _ = self.lines.println(format!("model {model}: {event}"));
            }
            _ => {
                let bar = bars
                    .entry(model.into())
                    .or_insert_with(|| self.lines.add(bar()));
                if let BuildEvent::Compiling { done, total } = event {
                    bar.set_length(*total as u64);
                    bar.set_position(*done as u64);
                }
                bar.set_message(format!("model {model}: {event}"));
                bar.tick();
            }
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new(1);
    // A template that is wrong leaves the bar in its plain style.
    match ProgressStyle::with_template("{bar:30} {elapsed:>4} {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn is_worth_a_line(event: &BuildEvent) -> bool {
    match event {
        BuildEvent::CacheHit | BuildEvent::Linking => false,
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

    #[test]
    fn a_bar_goes_when_its_build_ends_however_it_ends() {
        let display = Display::default();
        for end in [
            BuildEvent::Failed,
            BuildEvent::Done {
                elapsed: std::time::Duration::ZERO,
            },
        ] {
            display.draw("one", &BuildEvent::Verilating);
            display.draw("two", &BuildEvent::Compiling { done: 1, total: 2 });
            assert_eq!(display.bars.lock().unwrap().len(), 2);
            display.draw("one", &end);
            display.draw("two", &end);
            assert!(display.bars.lock().unwrap().is_empty());
        }
    }
}
