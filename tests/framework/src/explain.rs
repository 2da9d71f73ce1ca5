//! Explanation of a failure: runs the failed test again at once, and writes the observations into a
//! folder.

mod commands;
mod recorder;
pub mod uri;
mod view;
mod waits;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use alcor::{Cluster, Error};

use crate::{Failure, Outcome, Settings, Test, Verdict, run_test_within};
use recorder::RankLog;
pub use recorder::Recorder;
use view::{At, View};
use waits::Waits;

/// Files that an earlier failure of the same test may have left in the folder.
const FILES: [&str; 6] = [
    "failure.txt",
    "output.txt",
    COMMANDS,
    "waits.txt",
    "waits.dot",
    PACKETS,
];

/// File with the last commands of each rank.
pub const COMMANDS: &str = "commands.txt";
/// File with the last packets of each board.
pub const PACKETS: &str = "packets.txt";
/// File with the waves. For joined boards, the number of the board follows the name.
const WAVES: &str = "waves.fst";
/// Cycles that waves continue after a failure. They show responses that arrive too late.
const AFTER: u64 = 100;

/// Default number of cycles before a failure at which its waves begin.
pub const WAVES_CYCLES: u64 = 10_000;

/// Recording of waves for an explained test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waves {
    /// No waves.
    Never,
    /// Waves are recorded in a further run.
    OnFailure,
    /// Waves of the whole test have been recorded in this file.
    Recorded(PathBuf),
}

/// Settings for the explanation of a failure.
pub struct Explainer<'a> {
    /// The URI of the board.
    pub backend: &'a str,
    /// Opens boards.
    pub open: &'a dyn Fn(&str) -> Result<Cluster, Error>,
    /// Settings of the failed run.
    pub settings: Settings,
    /// The folder for the explanation.
    pub folder: PathBuf,
    /// Recording of waves.
    pub waves: Waves,
    /// Cycles before the failure at which waves begin.
    pub waves_cycles: u64,
    /// The command that repeats the test.
    pub repeat: String,
}

/// The explanation of a failure.
#[derive(Debug)]
pub struct Explanation {
    /// The folder.
    pub folder: PathBuf,
    /// Names of the files in the folder.
    pub files: Vec<String>,
    /// Notes about missing or unexpected observations.
    pub notes: Vec<String>,
    /// For a hang: the graph of waiting ranks, as text.
    pub waits: Option<String>,
    /// Cycle of the failure, and number of resets of the board before. A test may reset the board
    /// several times.
    at: Option<(u64, u64)>,
}

/// The cycles of a run that waves show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Number of resets of the boards before the run.
    pub resets: u64,
    /// Cycle of the failure.
    pub failed: u64,
    /// Number of cycles before the failure at which the waves begin.
    pub before: u64,
}

impl Span {
    /// The first cycle.
    fn first(self) -> u64 {
        self.failed.saturating_sub(self.before)
    }
}

/// Returns whether a failure can be explained. A test that exceeded its time limit would exceed it
/// again.
#[must_use]
pub fn is_explicable(outcome: &Outcome) -> bool {
    match &outcome.verdict {
        Verdict::Failed(failure) => !matches!(**failure, Failure::TimedOut { .. }),
        _ => false,
    }
}

/// Observations of the second run of a test.
struct Again {
    outcome: Outcome,
    /// The result as text, with the boards named as in the user's URI.
    verdict: String,
    /// Recorded commands by global rank.
    logs: BTreeMap<u32, RankLog>,
    /// Number of resets of each board before the failed run, or before the last run.
    resets: u64,
    /// The last cycle that a rank observed.
    end: u64,
    /// The recorded commands as text.
    commands: String,
}

impl Again {
    /// The library's error, if the run failed with one.
    fn error(&self) -> Option<&Error> {
        match &self.outcome.verdict {
            Verdict::Failed(failure) => failure.error(),
            _ => None,
        }
    }

    /// The cycle of the failure if known, else the end of the run.
    fn cycle(&self) -> u64 {
        match self.error() {
            Some(Error::Watchdog { at, .. } | Error::Deadlock { at, .. }) => at.0.min(self.end),
            _ => self.end,
        }
    }
}

impl Explainer<'_> {
    /// Explains a failure: runs the test again, and writes its commands, packets, waits and waves
    /// into the folder.
    #[must_use]
    pub fn explain(&self, outcome: &Outcome) -> Explanation {
        let mut explanation = Explanation::begin(self.folder.clone());
        match self.run_again(outcome) {
            Err(error) => explanation.note(format!(
                "the second run of the test could not start: {error}"
            )),
            Ok(again) => {
                if !again.outcome.verdict.is_failed() {
                    explanation.note(format!(
                        "run again, the test {}",
                        again.outcome.verdict.word()
                    ));
                } else if again.verdict != outcome.verdict.to_string() {
                    explanation.note(format!("run again, it {}", again.verdict));
                }
                explanation.at = Some((again.cycle(), again.resets));
                explanation.leave(COMMANDS, &again.commands);
                if let Some(waits) = again
                    .error()
                    .and_then(|error| Waits::of(error, &again.logs))
                {
                    let text = waits.to_string();
                    explanation.leave("waits.txt", &text);
                    explanation.leave("waits.dot", &waits.dot());
                    explanation.waits = Some(text);
                }
                if explanation.folder.join(PACKETS).is_file() {
                    explanation.files.push(PACKETS.to_owned());
                }
                explanation.waves(self, outcome, &again);
            }
        }
        let text = explanation.text(self, outcome);
        explanation.leave("failure.txt", &text);
        explanation
    }

    /// Runs the test with the same settings. Records the commands of the ranks and, if the backend
    /// can, the packets, which are then in the folder.
    fn run_again(&self, outcome: &Outcome) -> Result<Again, Error> {
        let with_packets = uri::with_packets(self.backend, &self.folder.join(PACKETS));
        let uri = with_packets.as_deref().unwrap_or(self.backend);
        let cluster = (self.open)(uri)?;
        let mut again = observe(&cluster, outcome.test, &self.settings(outcome))?;
        again.verdict = again.verdict.replace(uri, self.backend);
        Ok(again)
    }

    fn settings(&self, outcome: &Outcome) -> Settings {
        Settings {
            seed: outcome.run_seed,
            ..self.settings
        }
    }
}

/// Runs a test on boards that record the commands of their ranks.
fn observe(cluster: &Cluster, test: &'static Test, settings: &Settings) -> Result<Again, Error> {
    let (recorded, recorder) = Recorder::over(cluster)?;
    let outcome = run_test_within(test, &recorded, settings);
    Ok(Again {
        verdict: outcome.verdict.to_string(),
        outcome,
        logs: recorder.ranks(),
        resets: recorder.resets(),
        end: recorder.end(),
        commands: recorder.commands(),
    })
}

/// Creates a folder, and deletes the files of an earlier failure.
fn empty(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if FILES.contains(&&*name) || name.starts_with("waves") {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

impl Explanation {
    /// Starts an explanation in a folder. Deletes the files of an earlier failure of the same test.
    #[must_use]
    pub fn begin(folder: PathBuf) -> Explanation {
        let mut explanation = Explanation {
            folder,
            files: Vec::new(),
            notes: Vec::new(),
            waits: None,
            at: None,
        };
        if let Err(error) = empty(&explanation.folder) {
            explanation.note(format!(
                "the folder of the explanation cannot be created: {error}"
            ));
        }
        explanation
    }

    /// Adds a note.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Writes a file into the folder.
    pub fn leave(&mut self, name: &str, text: &str) {
        match fs::write(self.folder.join(name), text) {
            Ok(()) => self.files.push(name.to_owned()),
            Err(error) => self.note(format!("{name} can't be written: {error}")),
        }
    }

    /// Writes waves of the cycles before the failure, and view files for wave viewers.
    fn waves(&mut self, explainer: &Explainer<'_>, outcome: &Outcome, again: &Again) {
        match &explainer.waves {
            Waves::Recorded(file) => {
                self.views(traces(file), At::BeforeEnd(again.end - again.cycle()));
            }
            Waves::OnFailure if again.outcome.verdict.is_failed() => {
                let span = Span {
                    resets: again.resets,
                    failed: again.cycle(),
                    before: explainer.waves_cycles,
                };
                self.record_waves(explainer.backend, span, |uri| {
                    // Dropping the board closes the traces.
                    let board = (explainer.open)(uri).map_err(|error| error.to_string())?;
                    let third = run_test_within(outcome.test, board, &explainer.settings(outcome));
                    // The failure may name the board, whose URI differs when waves are recorded.
                    let verdict = third.verdict.to_string().replace(uri, explainer.backend);
                    Ok((verdict != again.verdict)
                        .then(|| format!("with waves, the test {verdict}")))
                });
            }
            Waves::Never | Waves::OnFailure => {}
        }
    }

    /// Writes view files for wave viewers.
    fn views(&mut self, traces: Vec<PathBuf>, at: At) {
        for trace in traces {
            let stem = trace.file_stem().unwrap_or_default().to_string_lossy();
            match View::of(&trace, at) {
                Ok(view) => {
                    let whole = fs::canonicalize(&trace).unwrap_or_else(|_| trace.clone());
                    self.leave(
                        &format!("{stem}.gtkw"),
                        &view.gtkw(&whole.to_string_lossy()),
                    );
                    self.leave(&format!("{stem}.sucl"), &view.sucl());
                }
                Err(error) => self.note(format!("no view of {}: {error}", trace.display())),
            }
        }
    }

    /// Records waves of the cycles before a failure, and writes view files for wave viewers. `run`
    /// repeats the run on the boards of a URI, and returns a note if the run ended differently.
    pub fn record_waves(
        &mut self,
        backend: &str,
        span: Span,
        run: impl FnOnce(&str) -> Result<Option<String>, String>,
    ) {
        let file = self.folder.join(WAVES);
        let from = span.first();
        let with_waves = std::path::absolute(&file)
            .map_err(|error| error.to_string())
            .and_then(|file| uri::with_waves(backend, &file).map_err(|error| error.to_string()));
        let ended = with_waves.and_then(|uri| {
            let (reset, to) = (span.resets, span.failed + AFTER);
            run(&format!(
                "{uri}&waves-reset={reset}&waves-from={from}&waves-to={to}"
            ))
        });
        match ended {
            Ok(note) => self.notes.extend(note),
            Err(error) => return self.note(format!("no waves: {error}")),
        }
        let traces = traces(&file);
        for trace in &traces {
            let name = trace.file_name().unwrap_or_default();
            self.files.push(name.to_string_lossy().into_owned());
        }
        if traces.is_empty() {
            self.note(format!(
                "no waves: the run did not reach cycle {from} again"
            ));
        }
        self.views(traces, At::AfterStart(span.failed - from));
    }

    /// The contents of the folder, and the commands that show them.
    fn text(&self, explainer: &Explainer<'_>, outcome: &Outcome) -> String {
        let mut text = format!(
            "{} {}\n\nbackend {}, {} tier, seed {}, its own seed 0x{:016x}\nrepeat: {}\n",
            outcome.test.name,
            outcome.verdict,
            explainer.backend,
            explainer.settings.tier,
            outcome.run_seed,
            outcome.seed,
            explainer.repeat
        );
        if let Some((cycle, resets)) = self.at {
            let _ = writeln!(
                text,
                "at cycle {cycle} of the run after reset {resets} of the board"
            );
        }
        text + &self.contents(explainer.waves_cycles)
    }

    /// The notes, and the files with their descriptions.
    #[must_use]
    pub fn contents(&self, waves_cycles: u64) -> String {
        let mut text = String::new();
        // Writing to a String can't fail.
        for note in &self.notes {
            let _ = writeln!(text, "note: {note}");
        }
        text.push('\n');
        for file in &self.files {
            let _ = writeln!(text, "{file:14}  {}", what(waves_cycles, file));
        }
        text
    }
}

/// Describes a file of an explanation, or gives the command that shows it.
#[must_use]
pub fn what(waves_cycles: u64, file: &str) -> String {
    match (file, file.rsplit_once('.')) {
        ("failure.txt", _) => "the message, the cycle, and the list of files".to_owned(),
        (COMMANDS, _) => "the last commands of each rank".to_owned(),
        (PACKETS, _) => "the last packets of each board".to_owned(),
        ("output.txt", _) => "what the program printed".to_owned(),
        ("waits.txt", _) => "the ranks that wait for each other".to_owned(),
        ("waits.dot", _) => "the same as a graph: dot -Tsvg waits.dot".to_owned(),
        (_, Some((_, "fst"))) => {
            format!("waves, from {waves_cycles} cycles before the failure on")
        }
        (_, Some((stem, "gtkw"))) => format!("gtkwave {stem}.fst {file}"),
        (_, Some((stem, "sucl"))) => format!("surfer {stem}.fst --command-file {file}"),
        _ => String::new(),
    }
}

/// The named trace file, or for joined boards the files with the boards' numbers.
#[must_use]
pub fn traces(file: &Path) -> Vec<PathBuf> {
    if file.is_file() {
        return vec![file.to_owned()];
    }
    let (Some(folder), Some(stem)) = (file.parent(), file.file_stem()) else {
        return Vec::new();
    };
    let stem = stem.to_string_lossy();
    let numbered = (0..).map(|number| folder.join(format!("{stem}.{number}.fst")));
    numbered.take_while(|path| path.is_file()).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{Context, after, same};
    use alcor::soft::SoftBoard;
    use alcor::{
        Board, BoardLayer, LocalRank, Opcode, PageOffset, Port, PortLayer, Result, Rights,
    };
    use alcor_abi::command;

    use super::*;

    /// A board whose transfers move one byte less than requested.
    struct Lossy(Arc<dyn Board>);

    impl BoardLayer for Lossy {
        fn below(&self) -> &Arc<dyn Board> {
            &self.0
        }

        fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>> {
            Ok(Box::new(LossyPort(Arc::clone(&self.0).attach(rank)?)))
        }
    }

    struct LossyPort(Box<dyn Port>);

    impl PortLayer for LossyPort {
        fn below(&mut self) -> &mut dyn Port {
            &mut *self.0
        }

        fn write32(&mut self, offset: PageOffset, value: u32) -> Result<()> {
            let lost = u32::from(offset.0 == command(Opcode::XLength));
            self.0.write32(offset, value.saturating_sub(lost))
        }
    }

    fn put(context: &Context) -> crate::Result {
        context.run(|rank| {
            let region = rank.alloc::<u32>(2)?;
            let window = rank.register(&region, Rights::ALL)?;
            let to = after(rank, 1);
            rank.put(&window, to, 0, &[1, u32::MAX])?;
            rank.fence()?;
            same(
                "the window",
                vec![1, u32::MAX],
                rank.read_vec(window.region())?,
            )
        })?;
        Ok(())
    }

    static PUT: Test = Test {
        name: "explain.put",
        summary: "Each rank puts to the next.",
        ranks: 2,
        needs: &[],
        kernel: None,
        steady: false,
        line: 1,
        body: &put,
    };

    #[test]
    fn wrong_data_is_explained_by_commands_without_a_graph() {
        let lossy: Arc<dyn Board> = Arc::new(Lossy(SoftBoard::new(2)));
        let again = observe(&lossy.into(), &PUT, &Settings::default()).unwrap();
        assert!(again.outcome.verdict.is_failed());
        assert!(again.error().is_none());
        assert!(again.end > 0 && again.cycle() == again.end);
        // At least one reset by the suite and one by the job.
        assert!(again.resets >= 2);
        let text = again.commands.as_str();
        let put = text
            .lines()
            .find(|line| line.contains("X_PUT to rank 1, slot 0"));
        assert!(put.is_some(), "{text}");
        // The final text comes from the failed run, in which no rank gave up before the end.
        assert!(text.contains("rank 1 "), "{text}");
    }

    #[test]
    fn waves_of_joined_boards_are_found_by_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        assert!(traces(&path("put.typed.fst")).is_empty());
        for name in ["put.typed.0.fst", "put.typed.1.fst", "put.typed.3.fst"] {
            fs::write(path(name), "").unwrap();
        }
        let found = traces(&path("put.typed.fst"));
        assert_eq!(found, [path("put.typed.0.fst"), path("put.typed.1.fst")]);
        fs::write(path("put.typed.fst"), "").unwrap();
        assert_eq!(traces(&path("put.typed.fst")), [path("put.typed.fst")]);
    }

    #[test]
    fn only_files_of_an_earlier_failure_are_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("a/put.typed");
        empty(&folder).unwrap();
        for name in ["waits.txt", "waves.0.fst", "waves.gtkw", "notes.md"] {
            fs::write(folder.join(name), "").unwrap();
        }
        empty(&folder).unwrap();
        let left = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        assert_eq!(left.collect::<Vec<_>>(), ["notes.md"]);
    }
}
