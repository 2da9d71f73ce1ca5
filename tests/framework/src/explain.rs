//! Failures explain themselves: a test that failed is run again at once, and what is seen of it is left in a folder.

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
use recorder::{RankLog, Recorder};
use view::{At, View};
use waits::Waits;

/// What a folder may hold of an earlier failure of the same test.
const FILES: [&str; 6] = [
    "failure.txt",
    "output.txt",
    "commands.txt",
    "waits.txt",
    "waits.dot",
    PACKETS,
];

/// The last packets of each board.
pub const PACKETS: &str = "packets.txt";
/// The waves; those of joined boards have their numbers behind the name.
const WAVES: &str = "waves.fst";
/// Cycles that waves go on after a failure: to see what did come, too late.
const AFTER: u64 = 100;

/// Cycles before a failure at which its waves begin, by default.
pub const WAVES_CYCLES: u64 = 10_000;

/// The waves of a test that is explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waves {
    /// There are none.
    Never,
    /// They are recorded in a run of their own.
    OnFailure,
    /// The whole test has been recorded, in this file.
    Recorded(PathBuf),
}

/// How a failure is explained.
pub struct Explainer<'a> {
    /// The URI of the board.
    pub backend: &'a str,
    /// Opens boards.
    pub open: &'a dyn Fn(&str) -> Result<Cluster, Error>,
    /// How the test was run.
    pub settings: Settings,
    /// The folder of the explanation.
    pub folder: PathBuf,
    /// The waves.
    pub waves: Waves,
    /// Cycles before the failure at which waves begin.
    pub waves_cycles: u64,
    /// The command that repeats the test.
    pub repeat: String,
}

/// What was found out about a failure.
#[derive(Debug)]
pub struct Explanation {
    /// The folder.
    pub folder: PathBuf,
    /// What lies there.
    pub files: Vec<String>,
    /// What could not be found out, or is strange.
    pub notes: Vec<String>,
    /// Who waits for whom, of a hang.
    pub waits: Option<String>,
    /// When it was: the cycle, and the resets of the board before, of which a test may have several.
    at: Option<(u64, u64)>,
}

/// Whether a failure can be explained. A test that has exceeded its time limit would do so again.
#[must_use]
pub fn is_explicable(outcome: &Outcome) -> bool {
    match &outcome.verdict {
        Verdict::Failed(failure) => !matches!(**failure, Failure::TimedOut { .. }),
        _ => false,
    }
}

/// What the second run of a test came to.
struct Again {
    outcome: Outcome,
    /// How it ended, in words that name the boards as the user did.
    verdict: String,
    /// What was recorded, by global rank.
    logs: BTreeMap<u32, RankLog>,
    /// Resets of each board before the run that failed, or was the last.
    resets: u64,
    /// The last cycle that a rank has seen of it.
    end: u64,
    steady: bool,
}

impl Again {
    /// What the library said.
    fn error(&self) -> Option<&Error> {
        match &self.outcome.verdict {
            Verdict::Failed(failure) => failure.error(),
            _ => None,
        }
    }

    /// The cycle of the failure, as far as it is known: else the end of the run.
    fn cycle(&self) -> u64 {
        match self.error() {
            Some(Error::Watchdog { at, .. }) => at.0.min(self.end),
            _ => self.end,
        }
    }
}

impl Explainer<'_> {
    /// Explains a failure: runs the test again, and writes its commands, packets, waits and waves into the folder.
    #[must_use]
    pub fn explain(&self, outcome: &Outcome) -> Explanation {
        let mut explanation = Explanation::begin(self.folder.clone());
        match self.run_again(outcome) {
            Err(error) => explanation.note(format!("the test can't be run again: {error}")),
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
                explanation.leave("commands.txt", &commands_text(&again));
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

    /// Runs a test as it was run, and records what its ranks post and, where the backend can, the packets, which are in
    /// the folder afterwards.
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

    /// The first cycle of waves that end with a failure.
    fn first_cycle(&self, again: &Again) -> u64 {
        again.cycle().saturating_sub(self.waves_cycles)
    }
}

/// Runs a test on boards that record what its ranks post.
fn observe(cluster: &Cluster, test: &'static Test, settings: &Settings) -> Result<Again, Error> {
    let local_ranks = cluster.identify()?.ranks;
    let boards = cluster.boards();
    let (recorded, recorder) = Recorder::over(cluster);
    let outcome = run_test_within(test, &recorded, settings);
    let logs = recorder
        .ranks()
        .into_iter()
        .map(|(rank, log)| (log.board * local_ranks + rank, log));
    Ok(Again {
        verdict: outcome.verdict.to_string(),
        outcome,
        logs: logs.collect(),
        resets: recorder.resets(),
        end: recorder.end(),
        steady: boards.iter().all(|board| board.time_stands_still()),
    })
}

/// Makes a folder, and takes away what an earlier failure has left there.
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

/// The last commands of each rank.
fn commands_text(again: &Again) -> String {
    let mut text =
        String::from("The last commands of each rank, at the cycles at which they were posted\n");
    if !again.steady {
        text += "(time goes on while host code runs: each cycle is that of the last look at the clock)\n";
    }
    for (rank, log) in &again.logs {
        let commands = &log.commands;
        let (kept, number) = (commands.last().count(), commands.number);
        // Writing to a String can't fail.
        let _ = writeln!(
            text,
            "\nrank {rank} {}: the last {kept} of {number} commands",
            log.doing
        );
        for (cycle, command) in commands.last() {
            let _ = writeln!(text, "{cycle:>12}  {command}");
        }
    }
    text
}

impl Explanation {
    /// An explanation in a folder, from which the files of an earlier failure of the same test are removed.
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
            explanation.note(format!("nothing can be left: {error}"));
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

    /// Leaves waves of the cycles before the failure, and what shows them.
    fn waves(&mut self, explainer: &Explainer<'_>, outcome: &Outcome, again: &Again) {
        let (traces, at) = match &explainer.waves {
            Waves::Recorded(file) => (traces(file), At::BeforeEnd(again.end - again.cycle())),
            Waves::OnFailure if again.outcome.verdict.is_failed() => (
                self.record_waves(explainer, outcome, again),
                At::AfterStart(again.cycle() - explainer.first_cycle(again)),
            ),
            Waves::Never | Waves::OnFailure => return,
        };
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

    /// Runs the test once more, with waves of the cycles before the failure.
    fn record_waves(
        &mut self,
        explainer: &Explainer<'_>,
        outcome: &Outcome,
        again: &Again,
    ) -> Vec<PathBuf> {
        let file = self.folder.join(WAVES);
        let from = explainer.first_cycle(again);
        let uri = match uri::with_waves(explainer.backend, &file) {
            Ok(uri) => {
                let (reset, to) = (again.resets, again.cycle() + AFTER);
                format!("{uri}&waves-reset={reset}&waves-from={from}&waves-to={to}")
            }
            Err(error) => {
                self.note(format!("no waves: {error}"));
                return Vec::new();
            }
        };
        let board = match (explainer.open)(&uri) {
            Ok(board) => board,
            Err(error) => {
                self.note(format!("no waves: {error}"));
                return Vec::new();
            }
        };
        // The traces are closed when the board is.
        let third = run_test_within(outcome.test, board, &explainer.settings(outcome));
        // What failed may name the board, which has another name with waves.
        let verdict = third.verdict.to_string().replace(&uri, explainer.backend);
        if verdict != again.verdict {
            self.note(format!("with waves, the test {verdict}"));
        }
        let traces = traces(&file);
        for trace in &traces {
            let name = trace.file_name().unwrap_or_default();
            self.files.push(name.to_string_lossy().into_owned());
        }
        if traces.is_empty() {
            self.note(format!(
                "no waves: the run did not come to cycle {from} again"
            ));
        }
        traces
    }

    /// What the folder holds, and how to see it.
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
        for note in &self.notes {
            let _ = writeln!(text, "note: {note}");
        }
        text.push('\n');
        for file in &self.files {
            let what = what(explainer.waves_cycles, file);
            let _ = writeln!(text, "{file:14}  {what}");
        }
        text
    }
}

/// What a file of an explanation has, or the command that shows it.
#[must_use]
pub fn what(waves_cycles: u64, file: &str) -> String {
    match (file, file.rsplit_once('.')) {
        ("failure.txt", _) => "the message, the cycle, and what is here".to_owned(),
        ("commands.txt", _) => "the last commands of each rank".to_owned(),
        (PACKETS, _) => "the last packets of each board".to_owned(),
        ("output.txt", _) => "what the program printed".to_owned(),
        ("waits.txt", _) => "who waits for whom".to_owned(),
        ("waits.dot", _) => "the same as a graph: dot -Tsvg waits.dot".to_owned(),
        (_, Some((_, "fst"))) => {
            format!("waves, from {waves_cycles} cycles before the failure on")
        }
        (_, Some((stem, "gtkw"))) => format!("gtkwave {stem}.fst {file}"),
        (_, Some((stem, "sucl"))) => format!("surfer {stem}.fst --command-file {file}"),
        _ => String::new(),
    }
}

/// The file that was named, or those of boards that are joined: the same with their numbers.
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
    use alcor::abi::command;
    use alcor::soft::SoftBoard;
    use alcor::{
        Board, BoardLayer, LocalRank, Opcode, PageOffset, Port, PortLayer, Result, Rights,
    };

    use super::*;

    /// A board whose transfers move a byte less than they were asked to.
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
            rank.put_slice(&window, to, 0, &[1, u32::MAX])?;
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
    fn a_test_that_finds_wrong_data_has_its_commands_told_and_no_graph() {
        let lossy: Arc<dyn Board> = Arc::new(Lossy(SoftBoard::new(2)));
        let again = observe(&lossy.into(), &PUT, &Settings::default()).unwrap();
        assert!(again.outcome.verdict.is_failed());
        assert!(again.error().is_none());
        assert!(again.end > 0 && again.cycle() == again.end);
        // One reset by the suite, and one by the job, at least.
        assert!(again.resets >= 2);
        let text = commands_text(&again);
        let put = text
            .lines()
            .find(|line| line.contains("X_PUT to rank 1, slot 0"));
        assert!(put.is_some(), "{text}");
        // The last word is that of the run that failed, in which nobody gave up before the end.
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
    fn a_folder_is_cleared_of_what_an_earlier_failure_left_and_of_nothing_else() {
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
