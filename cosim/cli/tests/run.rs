//! `alcor run` and `alcor serve` from outside, with real processes: what they compute, and what is left when any of them is killed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rustix::process::{Pid, Signal, kill_process};

/// Two ranks of one board: the model is built for other tests too.
const CONFIG: &str = "rma2";

/// Nothing here takes longer unless it hangs; building the model apart, which [`warm_up`] does.
const PATIENCE: Duration = Duration::from_secs(60);

/// What everything that a trial starts carries in its environment.
const MARK: &str = "ALCOR_TRIAL";

fn exchange() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_alcor")).with_file_name("examples/exchange");
    assert!(path.is_file(), "{path:?}: cargo build --examples makes it");
    path
}

/// A command of `alcor`, in a folder of its own for files and marked with a number that is nobody else's.
struct Trial {
    mark: String,
    folder: tempfile::TempDir,
    child: Child,
}

impl Trial {
    fn start(arguments: &[&str]) -> Trial {
        let folder = tempfile::tempdir().unwrap();
        let mark = format!("{}-{:016x}", std::process::id(), rand::random::<u64>());
        let child = Command::new(env!("CARGO_BIN_EXE_alcor"))
            .args(arguments)
            .env(MARK, &mark)
            .env("TMPDIR", folder.path())
            .env("ALCOR_ROOT", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Trial {
            mark,
            folder,
            child,
        }
    }

    /// `alcor run` of so many rounds of the example.
    fn run(config: &str, rounds: u32) -> Trial {
        let (program, rounds) = (exchange(), rounds.to_string());
        let program = program.to_str().unwrap();
        Trial::start(&["run", "--config", config, "--", program, &rounds])
    }

    /// The processes that carry the mark: (pid, what they were told of their rank).
    fn processes(&self) -> Vec<(u32, Option<u32>)> {
        let wanted = format!("{MARK}={}", self.mark).into_bytes();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
            else {
                continue;
            };
            let Ok(environment) = fs::read(entry.path().join("environ")) else {
                continue;
            };
            let mut variables = environment.split(|&byte| byte == 0);
            if !variables.clone().any(|variable| variable == wanted) {
                continue;
            }
            let rank = variables.find_map(|variable| {
                let rank = variable.strip_prefix(b"ALCOR_RANK=")?;
                std::str::from_utf8(rank).ok()?.parse().ok()
            });
            found.push((pid, rank));
        }
        found
    }

    fn kill(&self, pid: u32, signal: Signal) {
        // It may have ended by itself.
        let _ = kill_process(Pid::from_raw(pid as i32).unwrap(), signal);
    }

    /// Waits for its end, which has to come; what it printed.
    fn end(&mut self) -> Output {
        let start = Instant::now();
        // It would wait for a reader of its output.
        let out = drain(self.child.stdout.take().unwrap());
        let err = drain(self.child.stderr.take().unwrap());
        let status: ExitStatus = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "it hangs: {:?}",
                self.processes()
            );
            thread::sleep(Duration::from_millis(2));
        };
        Output {
            status,
            stdout: out.join().unwrap(),
            stderr: err.join().unwrap(),
        }
    }

    /// Checks that no process, file or name is left; what is killed is given a moment to be gone.
    fn leaves_nothing(&self) {
        let start = Instant::now();
        loop {
            let processes = self.processes();
            if processes.is_empty() {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "left behind: {processes:?}");
            thread::sleep(Duration::from_millis(2));
        }
        let files: Vec<_> = fs::read_dir(self.folder.path())
            .unwrap()
            .flatten()
            .collect();
        assert!(files.is_empty(), "left behind: {files:?}");
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn drain(mut from: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        bytes
    })
}

/// Names in the abstract name space that belong to clusters of that process.
fn names_of(pid: u32) -> Vec<String> {
    let sockets = fs::read_to_string("/proc/net/unix").unwrap();
    let name = format!("@alcor-{pid}-");
    let lines = sockets.lines().filter(|line| line.contains(&name));
    lines.map(str::to_owned).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn lines(bytes: &[u8]) -> BTreeSet<String> {
    text(bytes).lines().map(str::to_owned).collect()
}

/// Has the model built, which takes longer than anything here may.
fn warm_up() {
    of_threads(&format!("cosim:{CONFIG}"), 1);
}

/// What threads of one process print on these boards.
fn of_threads(uri: &str, rounds: u32) -> BTreeSet<String> {
    let output = Command::new(exchange())
        .args([&rounds.to_string(), uri])
        .env("ALCOR_ROOT", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    lines(&output.stdout)
}

#[test]
fn long_waits_are_reported_and_go_on() {
    warm_up();
    let program = exchange();
    let run = ["run", "--config", CONFIG, "--report-waits"];
    let with = |seconds: &str| {
        let rest = [seconds, "--", program.to_str().unwrap(), "2"];
        Trial::start(&[&run[..], &rest[..]].concat()).end()
    };
    // 25 cycles: any wait for the other rank is longer.
    let output = with("0.0000001");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("still waiting: rank "), "{errors}");
    let output = with("many");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn processes_take_the_cycles_that_threads_take() {
    // One board, and three that are joined.
    for (config, ranks) in [(CONFIG, 2), ("ring3-small", 3)] {
        let threads = of_threads(&format!("cosim:{config}"), 20);
        assert_eq!(threads.len(), ranks);
        let expected: BTreeSet<String> = threads
            .into_iter()
            .map(|line| {
                let rank = line.strip_prefix("rank ").unwrap().chars().next().unwrap();
                format!("[{rank}] {line}")
            })
            .collect();
        for _ in 0..3 {
            let mut trial = Trial::run(config, 20);
            let output = trial.end();
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            assert_eq!(lines(&output.stdout), expected);
            assert_eq!(text(&output.stderr), "");
            trial.leaves_nothing();
        }
    }
}

#[test]
fn the_timeline_of_processes_is_that_of_threads() {
    warm_up();
    let config = format!("{CONFIG}?trace=told.json");
    let mut trial = Trial::run(&config, 3);
    let output = trial.end();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told = |folder: &Path| fs::read_to_string(folder.join("told.json")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let threads = Command::new(exchange())
        .args(["3", &format!("cosim:{config}")])
        .env("ALCOR_ROOT", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(threads.status.success(), "{}", text(&threads.stderr));
    let (processes, threads) = (told(trial.folder.path()), told(folder.path()));
    assert!(threads.contains("allreduce"));
    assert!(processes == threads, "they differ");
}

#[test]
fn the_exit_code_is_that_of_the_rank_that_failed_first() {
    warm_up();
    let program = exchange();
    let program = program.to_str().unwrap();
    let run = |script: &str| {
        let mut trial = Trial::start(&["run", "--config", CONFIG, "--", "sh", "-c", script]);
        let output = trial.end();
        trial.leaves_nothing();
        output
    };
    // Rank 1 never comes; rank 0, which waits for it, learns that it is gone.
    let output = run(&format!("[ $ALCOR_RANK = 0 ] || exit 7; exec {program} 5"));
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    let says = text(&output.stderr);
    assert!(says.contains("rank 1 ended with exit code 7"), "{says}");
    assert!(
        says.contains("[0]") && says.contains(" died: its process ended"),
        "{says}"
    );
    // One that is killed by itself, and one that ends well without having been a rank at all.
    let output = run(&format!(
        "[ $ALCOR_RANK = 0 ] || kill -9 $$; exec {program} 5"
    ));
    assert_eq!(
        output.status.code(),
        Some(128 + 9),
        "{}",
        text(&output.stderr)
    );
    let output = run(&format!("[ $ALCOR_RANK = 0 ] || exit 0; exec {program} 5"));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    // Programs that are none of Alcor's are only started, and what they leave behind is ended.
    let output = run("echo $ALCOR_RANK of $ALCOR_SIZE; cat; sleep 1000 & exit 0");
    assert_eq!(output.status.code(), Some(0));
    let expected: BTreeSet<_> = ["[0] 0 of 2", "[1] 1 of 2"].map(str::to_owned).into();
    assert_eq!(lines(&output.stdout), expected);
}

/// A run that ends badly, by the example that does.
fn ends(mode: &str, config: &str) -> Output {
    let program = exchange().with_file_name("ends");
    let program = program.to_str().unwrap();
    let mut trial = Trial::start(&["run", "--config", config, "--", program, mode]);
    let output = trial.end();
    trial.leaves_nothing();
    output
}

#[test]
fn processes_survive_the_death_of_one() {
    warm_up();
    let program = exchange().with_file_name("ends");
    let program = program.to_str().unwrap();
    for config in ["rma4", "ring2"] {
        let mut trial = Trial::start(&[
            "run",
            "--survive",
            "--config",
            config,
            "--",
            program,
            "survive",
        ]);
        let output = trial.end();
        trial.leaves_nothing();
        let (says, errors) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(128 + 9), "{says}{errors}");
        for rank in [0, 2, 3] {
            let lines = [
                format!("[{rank}] rank {rank}: rank {rank}: allreduce"),
                "failed, because rank 1 has died; other operations go on".to_owned(),
                format!("[{rank}] rank {rank} goes on with 3 ranks"),
            ];
            for words in lines {
                assert!(says.contains(&words), "{words}: {says}{errors}");
            }
        }
    }
}

#[test]
fn processes_in_which_no_rank_can_go_on_are_told_as_threads_are() {
    warm_up();
    let program = exchange().with_file_name("ends");
    for (mode, words) in [
        (
            "receive",
            "rank 1 waits for receive of 4 bytes from rank 0, tag 7",
        ),
        (
            "receive-and-barrier",
            "rank 1 waits for BARRIER, where rank 0 has not arrived",
        ),
    ] {
        let threads = Command::new(&program)
            .args([mode, &format!("cosim:{CONFIG}")])
            .env("ALCOR_ROOT", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .output()
            .unwrap();
        let output = ends(mode, CONFIG);
        assert_eq!(output.status.code(), Some(1));
        // To the same cycle, at every rank.
        let says = text(&threads.stderr);
        let says = &says[says.find("no rank of the run can continue").expect(&says)..];
        assert!(
            says.contains(words) && says.contains("rank 0 -> rank 1 -> rank 0"),
            "{says}"
        );
        let processes = text(&output.stderr);
        assert_eq!(processes.matches(says.trim_end()).count(), 2, "{processes}");
    }
}

#[test]
fn processes_whose_calls_differ_are_told_what_the_others_called() {
    let config = "ring3-small";
    of_threads(&format!("cosim:{config}"), 1);
    let output = ends("differ", config);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    let (four, five) = ("allreduce of 4 f64, sum", "allreduce of 5 f64, sum");
    for words in [
        format!(
            "rank 0 called {four}, in the world: the members differ in the count: rank 2 called \
             {five}; rank 1 called the same as rank 0;"
        ),
        format!("rank 2 called {five}; rank 0 called the same as rank 1;"),
        format!("the members differ in the count: ranks 0 and 1 called {four};"),
    ] {
        assert!(said.contains(&words), "{words}: {said}");
    }
}

/// The ranks name each other's calls, as processes and as threads, and on boards joined by links.
#[test]
fn a_barrier_that_meets_a_registration_names_the_calls() {
    let config = "ring3-small";
    of_threads(&format!("cosim:{config}"), 1);
    let output = ends("mismatch", config);
    assert_eq!(output.status.code(), Some(1));
    let says = text(&output.stderr);
    for words in [
        "rank 0 called BARRIER; rank 2 called REGISTER of node address 0x",
        "; rank 1 called BARRIER: the ranks called different",
        "; ranks 0 and 1 called BARRIER: the ranks called different",
    ] {
        assert!(says.contains(words), "{words}: {says}");
    }
    let threads = Command::new(exchange().with_file_name("ends"))
        .args(["mismatch", &format!("cosim:{config}")])
        .env("ALCOR_ROOT", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .unwrap();
    let says = text(&threads.stderr);
    assert!(
        says.contains("rank 0 called BARRIER; rank 2 called REGISTER of node address 0x"),
        "{says}"
    );
}

#[test]
fn a_rank_that_ends_well_before_it_has_left_is_named_first() {
    warm_up();
    let output = ends("early", CONFIG);
    assert_eq!(output.status.code(), Some(1));
    let says = text(&output.stderr);
    assert!(
        says.contains("alcor: rank 1 ended with exit code 0 before it had left the run")
            && says.contains("[0] Error: cosim:rma2: rank 1 died"),
        "{says}"
    );
}

#[test]
fn a_rank_that_sleeps_is_ended_when_its_peers_have() {
    warm_up();
    let start = Instant::now();
    // It would sleep for 20 seconds.
    let config = format!("{CONFIG}?away=1");
    let output = ends("sleep", &config);
    assert_eq!(output.status.code(), Some(128 + 15));
    let says = text(&output.stderr);
    for words in [
        "rank 1 has been outside the library for 1.0 s while 1 of the ranks wait",
        "alcor: rank 1 still runs, and is ended",
        "alcor: rank 1 was ended by signal 15",
    ] {
        assert!(says.contains(words), "{words}: {says}");
    }
    assert!(start.elapsed() < Duration::from_secs(18), "nobody ended it");
}

#[test]
fn the_limit_of_a_wait_counts_from_the_last_packet() {
    warm_up();
    let output = ends("puts", CONFIG);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn what_can_not_be_run_is_said_once() {
    let run = |arguments: &[&str]| {
        let output = Trial::start(&[&["run"], arguments].concat()).end();
        (output.status.code(), text(&output.stderr))
    };
    let (code, says) = run(&["--", "no-such-program"]);
    assert_eq!(code, Some(2));
    assert!(says.contains("no program `no-such-program`"), "{says}");
    let (code, says) = run(&["--config", "nosuch", "--", "true"]);
    assert_eq!(code, Some(2));
    assert!(says.contains("no configuration `nosuch`"), "{says}");
    let (code, says) = run(&["--backend", "soft:2", "--", "true"]);
    assert_eq!(code, Some(2));
    assert!(says.contains("soft:2"), "{says}");
    let (code, says) = run(&[]);
    assert_eq!(code, Some(2));
    assert!(says.contains("PROGRAM"), "{says}");
    warm_up();
    // The URI of other commands names the configuration too.
    let uri = format!("cosim:{CONFIG}");
    let (code, says) = run(&["--config", &uri, "-n", "3", "--", "true"]);
    assert_eq!(code, Some(2));
    let wanted = "the run needs 3 ranks, and the boards have 2 ranks";
    assert!(says.contains(wanted), "{says}");
    // And a program that is started without any of this.
    let output = Command::new(exchange()).output().unwrap();
    assert!(text(&output.stderr).contains("not started as a rank of a run"));
}

#[test]
fn flags_change_what_they_say() {
    warm_up();
    let mut trial = Trial::start(&[
        "run",
        "--config",
        CONFIG,
        "-n",
        "1",
        "--no-prefix",
        "--",
        "sh",
        "-c",
        "echo $ALCOR_SIZE; echo oops >&2",
    ]);
    let output = trial.end();
    assert_eq!(text(&output.stdout), "1\n");
    assert_eq!(text(&output.stderr), "oops\n");
    let backend = format!("cosim:{CONFIG}");
    let mut trial = Trial::start(&["run", "--backend", &backend, "--", "true"]);
    assert_eq!(trial.end().status.code(), Some(0));
}

/// Who is killed, and how.
#[derive(Debug, Clone, Copy)]
enum Victim {
    Rank(Signal),
    Launcher(Signal),
}

/// SIGINT is not among them: whoever runs the tests may ignore it, which a launcher takes over until it waits for it.
const VICTIMS: [Victim; 4] = [
    Victim::Rank(Signal::KILL),
    Victim::Launcher(Signal::KILL),
    Victim::Rank(Signal::TERM),
    Victim::Launcher(Signal::TERM),
];

/// Kills one party of a run at a random moment; whether a peer said that it noticed.
fn kill_one(victim: Victim, random: &mut StdRng) -> bool {
    let mut trial = Trial::run(CONFIG, 1_000_000);
    let moment = Duration::from_micros(random.random_range(0..250_000));
    thread::sleep(moment);
    let launcher = trial.child.id();
    match victim {
        Victim::Launcher(signal) => trial.kill(launcher, signal),
        Victim::Rank(signal) => {
            // Until there is one.
            let start = Instant::now();
            let ranks = loop {
                let ranks: Vec<u32> = trial
                    .processes()
                    .iter()
                    .filter_map(|&(pid, rank)| rank.map(|_| pid))
                    .collect();
                if !ranks.is_empty() || start.elapsed() > PATIENCE {
                    break ranks;
                }
            };
            trial.kill(ranks[random.random_range(0..ranks.len())], signal);
        }
    }
    let output = trial.end();
    let says = text(&output.stderr);
    let seen = format!("{victim:?} after {moment:?}: {:?} {says}", output.status);
    match victim {
        Victim::Launcher(Signal::KILL) => {
            assert_eq!(output.status.signal(), Some(9), "{seen}");
        }
        // Before it waits for signals, one ends it.
        Victim::Launcher(signal) => assert!(
            output.status.code() == Some(128 + signal.as_raw())
                || output.status.signal() == Some(signal.as_raw()),
            "{seen}"
        ),
        Victim::Rank(signal) => {
            assert_eq!(output.status.code(), Some(128 + signal.as_raw()), "{seen}");
        }
    }
    trial.leaves_nothing();
    // A process that the launcher had just begun holds its sockets until it runs the program.
    let start = Instant::now();
    while !names_of(launcher).is_empty() && start.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(names_of(launcher), [""; 0], "{seen}");
    says.contains(" died: its process ended")
}

#[test]
fn whoever_is_killed_nobody_hangs_and_nothing_is_left() {
    warm_up();
    let seed: u64 =
        std::env::var("ALCOR_SEED").map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
    println!("ALCOR_SEED={seed}");
    let noticed: usize = thread::scope(|scope| {
        let workers = [0, 1].map(|worker| {
            scope.spawn(move || {
                let mut random = StdRng::seed_from_u64(seed ^ worker);
                (0..100)
                    .filter(|trial| kill_one(VICTIMS[trial % VICTIMS.len()], &mut random))
                    .count()
            })
        });
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .sum()
    });
    println!("peers noticed {noticed} times");
    assert!(
        noticed > 10,
        "in half of 200 trials a rank was killed, mostly in the middle of its run"
    );
}

/// A cluster that stays: the trial, and what it told of itself.
fn serve(arguments: &[&str]) -> (Trial, String) {
    let mut trial = Trial::start(&[&["serve", "--config", CONFIG], arguments].concat());
    let mut out = BufReader::new(trial.child.stdout.take().unwrap());
    let mut says = String::new();
    while !says.contains("PROGRAM") {
        assert!(out.read_line(&mut says).unwrap() > 0, "it ended: {says}");
    }
    trial.child.stdout = Some(out.into_inner());
    let ranks = if arguments == ["-n", "1"] {
        "1 rank"
    } else {
        "2 ranks"
    };
    let begins = format!("{CONFIG}, 1 board, {ranks}: shm:");
    assert!(says.starts_with(&begins), "{says}");
    let uri = says.lines().next().unwrap().rsplit(' ').next().unwrap();
    (trial, uri.to_owned())
}

/// Starts the example as the ranks of a run, by the variables of some launcher.
fn ranks(uri: &str, rounds: u32, variables: [&str; 2]) -> Vec<Child> {
    let start = |rank: u32| {
        Command::new(exchange())
            .arg(rounds.to_string())
            .env("ALCOR_CLUSTER", uri)
            .env(variables[0], rank.to_string())
            .env(variables[1], "2")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    vec![start(0), start(1)]
}

fn outputs(ranks: Vec<Child>) -> Vec<Output> {
    ranks
        .into_iter()
        .map(|rank| rank.wait_with_output().unwrap())
        .collect()
}

#[test]
fn a_cluster_that_stays_serves_run_after_run() {
    warm_up();
    let threads = of_threads(&format!("cosim:{CONFIG}"), 10);
    let name = format!("test-{}", std::process::id());
    let (mut trial, uri) = serve(&["--name", &name]);
    assert_eq!(uri, format!("shm:{name}"));
    for variables in [
        ["ALCOR_RANK", "ALCOR_SIZE"],
        ["PMI_RANK", "PMI_SIZE"],
        ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
        ["PMIX_RANK", "ALCOR_SIZE"],
        ["SLURM_PROCID", "SLURM_NTASKS"],
    ] {
        let found: BTreeSet<String> = outputs(ranks(&uri, 10, variables))
            .iter()
            .flat_map(|output| {
                assert!(output.status.success(), "{}", text(&output.stderr));
                lines(&output.stdout)
            })
            .collect();
        assert_eq!(found, threads, "{variables:?}");
    }
    // One is killed: its peer learns of it, and the cluster goes on.
    let mut killed = ranks(&uri, 1_000_000, ["ALCOR_RANK", "ALCOR_SIZE"]);
    thread::sleep(Duration::from_millis(200));
    killed[1].kill().unwrap();
    let output = outputs(killed).remove(0);
    assert!(
        text(&output.stderr).contains(" died: its process ended"),
        "{}",
        text(&output.stderr)
    );
    // Threads of another process can have it too.
    let threaded = Command::new(exchange())
        .args(["10", &uri])
        .output()
        .unwrap();
    assert_eq!(lines(&threaded.stdout), threads);
    // A second one of that name, and a rank that is none.
    let second = Trial::start(&["serve", "--config", CONFIG, "--name", &name]).end();
    assert_eq!(second.status.code(), Some(2));
    assert!(text(&second.stderr).contains("running already"));
    let stranger = Command::new(exchange())
        .envs([
            ("ALCOR_CLUSTER", uri.as_str()),
            ("ALCOR_RANK", "2"),
            ("ALCOR_SIZE", "3"),
        ])
        .output()
        .unwrap();
    assert!(
        text(&stranger.stderr).contains("the run needs 3 ranks"),
        "{}",
        text(&stranger.stderr)
    );
    // The suite runs there as on boards of its own, to the last word on every wire.
    let regress = |uri: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_alcor"))
            // One board after the other's: what tests leave in node memory travels beside the bytes that are sent.
            .args(["regress", "--backend", uri, "--jobs", "1", "--no-store"])
            .args(["--filter", r"^(put|abort|messages\.pairs)"])
            .env("ALCOR_ROOT", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).lines().last().map(str::to_owned)
    };
    assert_eq!(regress(&uri), regress(&format!("cosim:{CONFIG}")));
    // It is killed itself: ranks that wait in it learn that it is gone.
    let left = ranks(&uri, 1_000_000, ["ALCOR_RANK", "ALCOR_SIZE"]);
    thread::sleep(Duration::from_millis(200));
    trial.kill(trial.child.id(), Signal::KILL);
    for output in outputs(left) {
        let says = text(&output.stderr);
        assert!(
            !output.status.success() && says.contains("the simulator is gone"),
            "{says}"
        );
    }
    trial.end();
    trial.leaves_nothing();
    let late = Command::new(exchange()).args(["1", &uri]).output().unwrap();
    assert!(
        text(&late.stderr).contains("no cluster of this name is running"),
        "{}",
        text(&late.stderr)
    );
}

#[test]
fn a_cluster_that_stays_names_the_ranks_that_are_missing() {
    warm_up();
    let one_of_two = |uri: &str| {
        Command::new(exchange())
            .arg("1")
            .envs([
                ("ALCOR_CLUSTER", uri),
                ("ALCOR_RANK", "0"),
                ("ALCOR_SIZE", "2"),
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    // With a limit, the rank that waits is told.
    let (_trial, uri) = serve(&["--patience", "1"]);
    let output = one_of_two(&uri).wait_with_output().unwrap();
    let says = text(&output.stderr);
    assert!(
        says.contains("rank 1 has not attached within 1.0 s"),
        "{says}"
    );
    // Without one, it waits, also for longer than a rank may be away.
    let (mut trial, uri) = serve(&[]);
    let mut rank = one_of_two(&uri);
    thread::sleep(Duration::from_secs(7));
    assert!(rank.try_wait().unwrap().is_none(), "it waits");
    trial.kill(trial.child.id(), Signal::TERM);
    let says = text(&trial.end().stderr);
    let words = "1 of 2 ranks have attached; time begins with rank 1";
    assert!(says.contains(words), "{says}");
    assert!(!rank.wait().unwrap().success());
}

#[test]
fn a_cluster_that_stays_ends_when_it_is_told_to() {
    warm_up();
    let (mut trial, uri) = serve(&["-n", "1"]);
    let mut rank = Command::new(exchange())
        .arg("1000000")
        .envs([
            ("ALCOR_CLUSTER", uri.as_str()),
            ("ALCOR_RANK", "0"),
            ("ALCOR_SIZE", "1"),
        ])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(100));
    trial.kill(trial.child.id(), Signal::TERM);
    let output = trial.end();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(!rank.wait().unwrap().success());
    trial.leaves_nothing();
}
