//! Programs that a regression runs: the tables `[[program]]` of the configuration file.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use alcor_test::explain::{COMMANDS, Explanation, PACKETS, Span};
use alcor_test::{Capability, Case, Context, Failure, Outcome, Result, Test};
use regex::Regex;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

use super::args::{Args, BACKEND, SEED, WavesWhen};
use super::lane::Lane;
use super::profile::{Expression, Seed};
use crate::backends;

/// A table `[[program]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    name: String,
    /// The program and its arguments; `{seed}` in one of them is replaced by the seed.
    run: Vec<String>,
    #[serde(default = "default_backends")]
    backends: Vec<String>,
    ranks: Option<u32>,
    #[serde(default)]
    seeds: Vec<Seed>,
    /// More arguments: a run for each list.
    #[serde(default)]
    arguments: Vec<Vec<String>>,
    #[serde(default)]
    exit: i32,
    stdout: Option<Expression>,
    timeout: Option<f64>,
    #[serde(default)]
    tags: Vec<String>,
    /// The expected cycles, by backend.
    #[serde(default)]
    cycles: BTreeMap<String, u64>,
    /// The permitted difference of the cycles, in per cent.
    #[serde(default)]
    drift: f64,
}

fn default_backends() -> Vec<String> {
    vec![BACKEND.to_owned()]
}

/// The default time limit of a program.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The scheduler's time limit is this much longer than the program's.
const LATER: Duration = Duration::from_secs(30);
/// Time between the request to end and the kill. It is longer than the time that `alcor run` gives
/// its ranks.
const GRACE: Duration = Duration::from_secs(10);
/// Largest output in bytes; a program that prints more fails.
const OUTPUT: u64 = 16 << 20;
/// Number of lines of output that a failure shows.
const SHOWN: usize = 10;
/// The file of an explanation that has the program's output.
const OUTPUT_FILE: &str = "output.txt";

/// The programs of a backend.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    /// Each with its seed.
    pub cases: Vec<Case>,
    /// Runs by the names of the tests.
    runs: BTreeMap<&'static str, Arc<Run>>,
}

/// One run of a program.
#[derive(Debug)]
struct Run {
    /// The folder of the configuration file.
    folder: PathBuf,
    program: Vec<String>,
    backend: String,
    ranks: Option<u32>,
    exit: i32,
    stdout: Option<Regex>,
    limit: Duration,
    /// Expected cycles, and per cent that they may differ.
    cycles: Option<(u64, f64)>,
}

/// The backends of programs, each with its cases. The programs are those that the options select.
pub fn lanes(args: &Args, path: &Path, programs: &[Program]) -> Result<Vec<Lane>, String> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut lanes: BTreeMap<&str, Lane> = BTreeMap::new();
    for program in programs {
        program.check()?;
        let has_tag = |tag: &String| program.tags.contains(tag);
        if !args.tag.is_empty() && !args.tag.iter().any(has_tag) {
            continue;
        }
        let is_asked = |uri: &&String| args.backend.is_empty() || args.backend.contains(uri);
        for backend in program.backends.iter().filter(is_asked) {
            let lane = lanes
                .entry(backend)
                .or_insert_with(|| Lane::new(args, backend));
            let longest = lane.timeout.unwrap_or_default();
            lane.timeout = Some(longest.max(program.limit()? + LATER));
            program.add(args, &folder, lane)?;
        }
    }
    Ok(lanes.into_values().collect())
}

impl Program {
    fn check(&self) -> Result<(), String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if self.name.is_empty() || !self.name.chars().all(is_plain) {
            return Err("`name` must consist of letters, digits, `-` and `_`".to_owned());
        }
        if self.run.is_empty() {
            return Err("`run` names no program".to_owned());
        }
        if let Some(backend) = self.cycles.keys().find(|it| !self.backends.contains(it)) {
            return Err(format!(
                "`cycles` names `{backend}`, which `backends` does not"
            ));
        }
        if !self.cycles.is_empty() && self.arguments.len() > 1 {
            let reason = "`cycles` apply to one list of arguments";
            return Err(format!("{reason}; give each list a table of its own"));
        }
        Ok(())
    }

    fn limit(&self) -> Result<Duration, String> {
        self.timeout.map_or(Ok(TIMEOUT), |limit| {
            super::args::seconds(&limit.to_string())
        })
    }

    /// Adds a case for each list of arguments and each seed.
    fn add(&self, args: &Args, folder: &Path, lane: &mut Lane) -> Result<(), String> {
        let none = [Vec::new()];
        let lists = match self.arguments.as_slice() {
            [] => &none[..],
            lists => lists,
        };
        let seeds: Vec<u64> = match (args.seed, self.seeds.as_slice()) {
            (Some(seed), _) => vec![seed],
            (None, []) => vec![SEED],
            (None, seeds) => seeds.iter().map(|&Seed(seed)| seed).collect(),
        };
        for arguments in lists {
            let name = match arguments.as_slice() {
                [] => format!("program.{}", self.name),
                list => format!("program.{}({})", self.name, list.join(" ")),
            };
            let run = Run {
                folder: folder.to_owned(),
                program: [self.run.as_slice(), arguments].concat(),
                backend: lane.backend.clone(),
                ranks: self.ranks,
                exit: self.exit,
                stdout: self.stdout.as_ref().map(|Expression(regex)| regex.clone()),
                limit: self.limit()?,
                cycles: self
                    .cycles
                    .get(&lane.backend)
                    .map(|&cycles| (cycles, self.drift)),
            };
            let summary = format!("{} on {}.", run.program.join(" "), lane.backend);
            let run = Arc::new(run);
            let test = test(name, summary, Arc::clone(&run));
            let programs = lane.programs.get_or_insert_default();
            if programs.runs.insert(test.name, run).is_some() {
                return Err(format!("there are two programs `{}`", test.name));
            }
            programs
                .cases
                .extend(seeds.iter().map(|&seed| Case { test, seed }));
        }
        Ok(())
    }
}

/// A test that runs a program. It lives as long as this process, as those of the suite do.
fn test(name: String, summary: String, run: Arc<Run>) -> &'static Test {
    let body = Box::leak(Box::new(move |context: &Context| run.test(context)));
    Box::leak(Box::new(Test {
        name: name.leak(),
        summary: summary.leak(),
        ranks: 1,
        needs: &[] as &[Capability],
        kernel: None,
        steady: false,
        line: 0,
        body,
    }))
}

impl Programs {
    /// Explains a failure: runs the program again, and leaves its output, the last commands of each
    /// rank, the last packets of each board, and waves of the last cycles.
    pub fn explain(&self, lane: &Lane, outcome: &Outcome) -> Explanation {
        let mut explanation = Explanation::begin(lane.failure_folder(outcome));
        if let Some(run) = self.runs.get(outcome.test.name) {
            run.explain(lane, outcome.run_seed, &mut explanation);
        }
        let text = format!(
            "{} {}\n\nbackend {}, seed {}\nrepeat: {}\n{}",
            outcome.test.name,
            outcome.verdict,
            lane.backend,
            outcome.run_seed,
            lane.repeat(outcome),
            explanation.contents(lane.waves_cycles)
        );
        explanation.leave("failure.txt", &text);
        explanation
    }
}

/// A run of a program that has ended.
struct Ended {
    /// None if it exceeded its time limit.
    status: Option<ExitStatus>,
    stdout: String,
    stderr: String,
    /// Cycles and digest.
    stats: Option<Stats>,
}

/// The file of `alcor run --stats`.
#[derive(Deserialize)]
struct Stats {
    cycles: u64,
    digest: Option<u32>,
    /// Number of resets of the boards before the end of the run, if the run was recorded and a
    /// rank attached.
    resets: Option<u64>,
}

impl Run {
    fn test(&self, context: &Context) -> Result {
        let command = self.command(context.run_seed()).join(" ");
        let ended = self
            .run(&self.backend, context.run_seed(), None)
            .map_err(|error| Failure::new(&command, "a run", error))?;
        if let Some(stats) = &ended.stats {
            context.count(stats.cycles, stats.digest);
        }
        let Some(status) = ended.status else {
            let limit = format!("an end within {} s", self.limit.as_secs_f64());
            return Err(Failure::new(command, limit, ended.last("it running")));
        };
        // A signal ends `alcor run` only if it was sent to it.
        let code = status.code().unwrap_or(-1);
        if code != self.exit {
            let found = ended.last(&format!("exit code {code}"));
            return Err(Failure::new(
                command,
                format_args!("exit code {}", self.exit),
                found,
            ));
        }
        if let Some(regex) = &self.stdout
            && !regex.is_match(&ended.stdout)
        {
            let expected = format!("output that matches `{regex}`");
            return Err(Failure::new(command, expected, ended.last("none")));
        }
        let Some((expected, percent)) = self.cycles else {
            return Ok(());
        };
        let found = ended.stats.as_ref().map_or(0, |stats| stats.cycles);
        let drift = expected.abs_diff(found) as f64 * 100.0;
        if drift <= percent * expected as f64 {
            return Ok(());
        }
        let expected = format!("{expected} cycles, {percent} % more or less");
        Err(Failure::new(command, expected, found))
    }

    /// Runs the program again, and again with waves, and leaves the records.
    fn explain(&self, lane: &Lane, seed: u64, explanation: &mut Explanation) {
        let records = std::path::absolute(&explanation.folder)
            .and_then(|folder| self.run(&self.backend, seed, Some(&folder)));
        let again = match records {
            Ok(again) => again,
            Err(error) => {
                return explanation.note(format!("the program can't be run again: {error}"));
            }
        };
        explanation.leave(OUTPUT_FILE, &(again.stdout.clone() + &again.stderr));
        for file in [COMMANDS, PACKETS] {
            if explanation.folder.join(file).is_file() {
                explanation.files.push(file.to_owned());
            }
        }
        let Some((cycles, resets)) = again
            .stats
            .as_ref()
            .and_then(|stats| Some((stats.cycles, stats.resets?)))
            .filter(|_| lane.waves() != WavesWhen::Never)
        else {
            return;
        };
        let span = Span {
            resets,
            failed: cycles,
            before: lane.waves_cycles,
        };
        explanation.record_waves(&self.backend, span, |uri| {
            // Builds the model with waves, which the time limit of the program does not include.
            drop(backends::open(uri).map_err(|error| error.to_string())?);
            let third = self
                .run(uri, seed, None)
                .map_err(|error| error.to_string())?;
            let is_same = third.status == again.status && third.lines() == again.lines();
            Ok((!is_same)
                .then(|| format!("with waves, {}", third.last("the program ended otherwise"))))
        });
    }

    /// The program and its arguments.
    fn command(&self, seed: u64) -> Vec<String> {
        let seed = seed.to_string();
        let parts = self.program.iter();
        parts.map(|part| part.replace("{seed}", &seed)).collect()
    }

    /// Runs the program on a backend. Writes commands and packets to the folder `records`, if the
    /// boards are simulated.
    fn run(&self, uri: &str, seed: u64, records: Option<&Path>) -> io::Result<Ended> {
        let stats = std::env::temp_dir().join(format!("alcor-{:016x}.json", rand::random::<u64>()));
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["run", "--no-prefix", "--backend", uri]);
        if uri.starts_with("cosim:") {
            command.arg("--stats").arg(&stats);
            if let Some(folder) = records {
                command.arg("--record").arg(folder);
            }
        }
        if let Some(ranks) = self.ranks {
            command.args(["--ranks", &ranks.to_string()]);
        }
        let text = seed.to_string();
        let mut child = command
            .arg("--")
            .args(self.command(seed))
            .env("ALCOR_SEED", &text)
            .envs(crate::build::own())
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let readers = (reader(child.stdout.take()), reader(child.stderr.take()));
        let status = wait(&mut child, self.limit)?;
        let text = |reader: thread::JoinHandle<Vec<u8>>| {
            String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
        };
        let (stdout, stderr) = (text(readers.0), text(readers.1));
        let read = fs::read_to_string(&stats).ok();
        // The file may not exist.
        let _ = fs::remove_file(&stats);
        Ok(Ended {
            status,
            stdout,
            stderr,
            stats: read.and_then(|text| serde_json::from_str(&text).ok()),
        })
    }
}

impl Ended {
    /// The lines of the output, sorted: ranks print at the same time.
    fn lines(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.stdout.lines().collect();
        lines.sort_unstable();
        lines
    }

    /// Describes how it ended, with its last lines of output.
    fn last(&self, how: &str) -> String {
        let lines: Vec<_> = self.stdout.lines().chain(self.stderr.lines()).collect();
        let shown = &lines[lines.len().saturating_sub(SHOWN)..];
        match shown {
            [] => format!("{how}; it printed nothing"),
            lines => format!(
                "{how}; the last lines that it printed:\n  {}",
                lines.join("\n  ")
            ),
        }
    }
}

/// Reads the output of a process to its end, and keeps the first [`OUTPUT`] bytes.
fn reader(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut kept = Vec::new();
        if let Some(mut pipe) = pipe {
            // Output that can't be read counts as none.
            let _ = pipe.by_ref().take(OUTPUT).read_to_end(&mut kept);
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        kept
    })
}

/// Waits for `alcor run`. After the limit, asks the process to end, so that it still writes its
/// records, and kills it if it does not end. Its ranks end with it.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    let mut is_asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((!is_asked).then_some(status));
        }
        if start.elapsed() > limit && !is_asked {
            is_asked = true;
            let pid = Pid::from_child(child);
            kill_process(pid, Signal::TERM)?;
        }
        if start.elapsed() > limit + GRACE {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(5));
    }
}
