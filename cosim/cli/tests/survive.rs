//! Runs of `alcor regress` that are interrupted, lose a board, or find the disk full; and runs on several backends.

#[allow(dead_code, reason = "each test file uses a part")]
mod program;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use program::{ALCOR, HANG, program};
use rand::Rng;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Tells the processes of a test from others.
const MARK: &str = "ALCOR_TEST_MARK";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn alcor(folder: &Path, arguments: &[&str]) -> Output {
    program(folder).args(arguments).output().unwrap()
}

/// `alcor regress` with a store in the folder.
fn regress(folder: &Path, arguments: &[&str]) -> Output {
    alcor(
        folder,
        &[&["regress", "--store", "store"], arguments].concat(),
    )
}

#[track_caller]
fn ends(output: &Output, code: i32) {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
}

#[track_caller]
fn contains(text: &str, words: &str) {
    assert!(text.contains(words), "{words}: {text}");
}

/// The processes that carry a mark, with their arguments.
fn processes(mark: &str) -> Vec<(i32, String)> {
    let wanted = format!("{MARK}={mark}").into_bytes();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let found = processes.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let is_marked = environment.split(|&byte| byte == 0).any(|it| it == wanted);
        let line = text(&fs::read(entry.path().join("cmdline")).ok()?).replace('\0', " ");
        is_marked.then_some((pid, line))
    });
    found.collect()
}

fn mark() -> String {
    format!("{}-{:016x}", std::process::id(), rand::random::<u64>())
}

/// Waits until no process carries a mark.
fn leaves_nothing(mark: &str) {
    let start = Instant::now();
    while !processes(mark).is_empty() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{:?}",
            processes(mark)
        );
        thread::sleep(Duration::from_millis(20));
    }
}

fn signal(child: &Child, signal: Signal) {
    // It may have ended by itself.
    let _ = kill_process(Pid::from_child(child), signal);
}

/// A test and its seed.
type Key = (String, u64);

/// The tests that lines of JSON tell of.
fn told(out: &str) -> BTreeSet<Key> {
    let lines = out
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let tests = lines.filter(|line: &Value| line["event"] == "test" && line["status"] != "not run");
    tests
        .map(|line| {
            let seed = line["run_seed"].as_u64().unwrap();
            (line["name"].as_str().unwrap().to_owned(), seed)
        })
        .collect()
}

/// The tests that have ended according to a JUnit file, and all.
fn of_junit(path: &Path) -> (BTreeSet<Key>, usize) {
    let report = quick_junit::Report::deserialize_from_str(&fs::read_to_string(path).unwrap());
    let report = report.unwrap();
    let cases: Vec<_> = report
        .test_suites
        .iter()
        .flat_map(|it| &it.test_cases)
        .collect();
    let is_ended = |case: &&&quick_junit::TestCase| {
        use quick_junit::{NonSuccessKind, TestCaseStatus};
        !matches!(
            case.status,
            TestCaseStatus::NonSuccess {
                kind: NonSuccessKind::Error,
                ..
            }
        )
    };
    let ended = cases.iter().filter(is_ended).map(|case| {
        let (name, seed) = case.name.as_str().split_once(" seed ").unwrap();
        (name.to_owned(), seed.parse().unwrap())
    });
    (ended.collect(), cases.len())
}

/// The tests of the last run that the store has.
fn of_store(folder: &Path) -> BTreeSet<Key> {
    // Any use of the store takes the journals of runs that were killed.
    let listed = regress(folder, &["--backend", "soft:2", "--failed", "--list"]);
    if text(&listed.stderr).contains("has no run on") {
        return BTreeSet::new();
    }
    ends(&listed, 0);
    assert_eq!(text(&listed.stderr), "");
    let names: Vec<_> = fs::read_dir(folder.join("store"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(names.len() <= 2, "{names:?}");
    let file = names
        .iter()
        .find(|it| it.extension().is_some_and(|it| it == "jsonl"));
    let last = fs::read_to_string(file.unwrap()).unwrap();
    let last: Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    let results = last["results"].as_array().unwrap().iter();
    results
        .map(|kept| {
            (
                kept["test"].as_str().unwrap().to_owned(),
                kept["seed"].as_u64().unwrap(),
            )
        })
        .collect()
}

/// Number of tests whose name matches.
fn count(filter: &str) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let list = ["--backend", "soft:2", "--list", "--filter", filter];
    let listed = regress(folder.path(), &list);
    ends(&listed, 0);
    text(&listed.stdout).lines().count()
}

#[test]
fn a_run_that_is_killed_at_any_moment_keeps_what_it_has_learned() {
    let mut random = rand::rng();
    let tests = count(r"^(put|get)\.");
    let mut cut = 0;
    for round in 0..51 {
        let folder = tempfile::tempdir().unwrap();
        let (folder, mark) = (folder.path(), mark());
        let sent = [Signal::INT, Signal::TERM, Signal::KILL][round % 3];
        let options = [
            "--backend",
            "soft:2",
            "--filter",
            r"^(put|get)\.",
            "--repeat",
            "12",
            "--jobs",
            "2",
            "--format",
            "json",
            "--junit",
            "junit.xml",
        ];
        let child = program(folder)
            .args([&["regress", "--store", "store"], &options[..]].concat())
            .env(MARK, &mark)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let delay = Duration::from_millis(random.random_range(0..250));
        let timer = thread::spawn({
            let pid = Pid::from_child(&child);
            move || {
                thread::sleep(delay);
                let _ = kill_process(pid, sent);
            }
        });
        let output = child.wait_with_output().unwrap();
        timer.join().unwrap();
        let place = format!("round {round}, {sent:?} after {delay:?}");
        let out = text(&output.stdout);
        let told = told(&out);
        let is_over = output.status.code() == Some(0);
        // Before it takes signals, the program ends by them; it has learned nothing then.
        let is_killed = output.status.signal() == Some(sent.as_raw());
        let code = 128 + sent.as_raw();
        assert!(
            is_over || is_killed || output.status.code() == Some(code),
            "{place}: {} {}",
            output.status,
            text(&output.stderr)
        );
        cut += usize::from(!is_over && !told.is_empty());

        let kept = of_store(folder);
        assert!(told.is_subset(&kept), "{place}: {told:?} {kept:?}");
        let junit = folder.join("junit.xml");
        if junit.exists() {
            let (ended, all) = of_junit(&junit);
            assert_eq!(all, tests * 12, "{place}");
            assert!(ended.is_subset(&kept), "{place}: nothing is made up");
            // A file that takes long to write is not written after each test.
            assert!(is_killed || told.is_subset(&ended), "{place}");
        } else {
            assert!(told.is_empty(), "{place}");
        }
        if !is_killed {
            let last: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
            assert_eq!(last["event"], "summary", "{place}");
            assert_eq!(
                last["exit"].as_u64().map(|it| it as i32),
                Some(0).filter(|_| is_over).or(Some(code))
            );
            assert_eq!(last["passed"], told.len(), "{place}");
            assert_eq!(last["not_run"], tests * 12 - told.len(), "{place}");
        }
        leaves_nothing(&mark);
    }
    assert!(cut > 15, "only {cut} runs were cut");
}

#[test]
fn a_second_signal_ends_the_program_at_once_and_the_first_shows_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut child = program(folder)
        .args([
            "regress",
            "--backend",
            "soft:3",
            "--no-store",
            "--repeat",
            "200",
        ])
        .args(["--report", "out"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    err.read_line(&mut String::new()).unwrap();
    let drain = thread::spawn(move || err.read_to_end(&mut Vec::new()));
    signal(&child, Signal::TERM);
    let start = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(20));
    drain.join().unwrap().unwrap();
    ends(&output, 143);
    let out = text(&output.stdout);
    contains(&out, ": SIGTERM ended the run\n");
    contains(&out, " not run; ");
    let page = fs::read_to_string(folder.join("out/index.html")).unwrap();
    contains(&page, "not run");
    assert_eq!(
        fs::read_to_string(folder.join("out/report.txt")).unwrap(),
        out
    );
}

/// Runs the program with files that may have so many blocks of 512 bytes.
fn with_small_files(folder: &Path, blocks: u32, arguments: &str) -> Output {
    // A process that ignores the signal gets an error, as on a full disk.
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec {ALCOR} {arguments}");
    program(folder);
    Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder)
        .output()
        .unwrap()
}

#[test]
fn a_full_disk_costs_files_and_no_results() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let line = r"regress --backend soft:2 --filter '^(put|get)\.' --store store --junit j.xml --report out";
    let output = with_small_files(folder, 1, line);
    ends(&output, 3);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    contains(&out, " 0 failed, ");
    assert!(!out.contains("not run"), "{out}");
    contains(&err, "cannot write");
    let passed = out
        .lines()
        .filter(|line| line.contains("  passed  "))
        .count();
    assert_eq!(passed, count(r"^(put|get)\."), "{out}");
    // What was written first is complete; halves of what came later are not there.
    let xml = fs::read_to_string(folder.join("j.xml")).unwrap_or_default();
    assert!(xml.is_empty() || xml.ends_with("</testsuites>\n"), "{xml}");
    assert!(!folder.join("j.xml.new").exists());
    // The journal holds what the disk had room for, and the next run takes it.
    let kept = of_store(folder);
    assert!((1..passed).contains(&kept.len()), "{kept:?}");
}

#[test]
fn devices_are_written_to_and_stay_devices() {
    let folder = tempfile::tempdir().unwrap();
    let run = ["--backend", "soft:2", "--filter", "^put.typed$"];
    let output = regress(
        folder.path(),
        &[&run[..], &["--junit", "/dev/full"]].concat(),
    );
    ends(&output, 3);
    contains(&text(&output.stdout), "1 passed");
    contains(&text(&output.stderr), "/dev/full");
    let kind = fs::metadata("/dev/full").unwrap().file_type();
    assert!(kind.is_char_device());
    for format in ["text", "json"] {
        let full = fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let output = program(folder.path())
            .args(["regress", "--store", "store", "--format", format])
            .args(run)
            .stdout(full)
            .output()
            .unwrap();
        ends(&output, 3);
        contains(&text(&output.stderr), "standard output");
        assert!(!text(&output.stderr).contains("panicked"));
    }
}

#[test]
fn a_test_that_exceeds_its_time_fails_with_its_ranks_and_the_others_run() {
    let folder = tempfile::tempdir().unwrap();
    let options = [
        "--backend",
        "cosim:rma2",
        "--filter",
        "^random",
        "--filter",
        "^put.typed$",
        "--timeout",
        "0.1",
        "--jobs",
        "1",
        "--junit",
        "j.xml",
    ];
    let output = regress(folder.path(), &options);
    ends(&output, 1);
    let out = text(&output.stdout);
    contains(
        &out,
        "expected the test to end within 0.1 s, found it running: rank ",
    );
    contains(&out, "1 passed");
    assert!(!out.contains("not run"), "{out}");
    // It would exceed it again.
    assert!(!out.contains("explain"), "{out}");
    contains(
        &fs::read_to_string(folder.path().join("j.xml")).unwrap(),
        "found it running",
    );
}

/// A cluster of `alcor serve` and its name.
fn server(folder: &Path) -> (Child, String) {
    let name = format!("survive-{}", mark());
    let mut child = program(folder)
        .args(["serve", "--config", "rma2", "--name", &name])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    (child, format!("shm:{name}"))
}

#[test]
fn a_cluster_that_dies_costs_its_own_tests_that_have_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (mut server, uri) = server(folder);
    let mut child = program(folder)
        .args([
            "regress",
            "--backend",
            &uri,
            "--backend",
            "soft:2",
            "--no-store",
        ])
        .args([
            "--filter",
            r"^(put|get|messages|collectives)\.",
            "--explain",
            "0",
        ])
        .args(["--junit", "j.xml", "--report", "out"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap()).lines();
    let passed = format!("] {uri} ");
    let mut lines: Vec<String> = Vec::new();
    while lines.iter().filter(|line| line.contains(&passed)).count() < 3 {
        lines.push(err.next().unwrap().unwrap());
    }
    server.kill().unwrap();
    server.wait().unwrap();
    lines.extend(err.map(Result::unwrap));
    let output = child.wait_with_output().unwrap();
    ends(&output, 3);
    let out = text(&output.stdout);
    contains(&out, ": no board: ");
    // Its process may have ended just before the connection or just after.
    let says = |reason| out.contains(reason);
    assert!(
        says("no cluster of this name") || says("the simulator is gone"),
        "{out}"
    );
    let row = |backend: &str| -> Vec<u32> {
        let line = out
            .lines()
            .find(|line| line.starts_with(backend) && line.contains(" quick "));
        let words = line.unwrap().split_whitespace().skip(3);
        words.take(4).map(|word| word.parse().unwrap()).collect()
    };
    let (lost, soft) = (row(&uri), row("soft:2"));
    assert!(
        lost[0] >= 3 && (1..=2).contains(&lost[1]) && lost[3] > 10,
        "{out}"
    );
    assert!(soft[0] > 30 && soft[1] == 0 && soft[3] == 0, "{out}");
    let xml = fs::read_to_string(folder.join("j.xml")).unwrap();
    assert_eq!(xml.matches("<testsuite ").count(), 2);
    assert_eq!(xml.matches("<error ").count() as u32, lost[3]);
    let page = fs::read_to_string(folder.join("out/index.html")).unwrap();
    contains(&page, "soft-2/index.html");
    assert!(folder.join("out/soft-2/index.html").is_file());
}

#[test]
fn a_server_of_the_run_is_replaced_when_it_dies_and_ends_with_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mark = mark();
    let start = |arguments: &[&str]| {
        program(folder)
            .args([
                "regress",
                "--backend",
                "serve:rma2",
                "--no-store",
                "--jobs",
                "1",
            ])
            .args(["--explain", "0"])
            .args(arguments)
            .env(MARK, &mark)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let servers = || -> Vec<i32> {
        let all = processes(&mark).into_iter();
        all.filter(|(_, line)| line.contains("--attended"))
            .map(|(pid, _)| pid)
            .collect()
    };
    let mut child = start(&["--filter", r"^(put|get)\.(t|by|large|nothing|from)"]);
    let mut err = BufReader::new(child.stderr.take().unwrap()).lines();
    err.by_ref()
        .find(|line| line.as_ref().unwrap().contains("] "))
        .unwrap()
        .unwrap();
    let pid = servers()[0];
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    err.for_each(drop);
    let output = child.wait_with_output().unwrap();
    ends(&output, 1);
    contains(&text(&output.stdout), "10 passed, 1 failed, 0 skipped");
    leaves_nothing(&mark);

    // Killed, the run leaves no server.
    let mut child = start(&["--repeat", "50"]);
    let mut err = BufReader::new(child.stderr.take().unwrap()).lines();
    err.by_ref()
        .find(|line| line.as_ref().unwrap().contains("] "))
        .unwrap()
        .unwrap();
    assert_eq!(servers().len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    leaves_nothing(&mark);

    let output = start(&["--filter", "^put.typed$"])
        .wait_with_output()
        .unwrap();
    ends(&output, 0);
    // What has the same traffic as in one process.
    let local = alcor(
        folder,
        &[
            "regress",
            "--backend",
            "cosim:rma2",
            "--no-store",
            "--filter",
            "^put.typed$",
        ],
    );
    let last = |output: &Output| text(&output.stdout).lines().last().unwrap().to_owned();
    assert_eq!(last(&output), last(&local));
}

#[test]
fn a_profile_is_one_run_with_one_report() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(
        folder.join("p.toml"),
        r#"
        [profile.two]
        backends = [
            { backend = "soft:2", filter = '^put\.' },
            { backend = "soft:3", filter = '^get\.', exclude = "typed" },
            { backend = "soft:2", filter = '^put\.typed$', seed = "random" },
        ]
        [profile.wrong]
        backends = [
            { backend = "soft:2" },
            { backend = "soft:3", filter = '^nothing$' },
        ]
        "#,
    )
    .unwrap();
    let file = ["--config-file", "p.toml"];
    let run = |options: &[&str]| regress(folder, &[&file, options].concat());
    let output = run(&["--profile", "two", "--junit", "j.xml", "--report", "out"]);
    ends(&output, 0);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let passed = count(r"^(put|get)\.");
    contains(
        &out,
        &format!("3 backends: {passed} passed, 0 failed, 0 skipped"),
    );
    // The random seed, in the command that repeats it.
    let line = err
        .lines()
        .find(|line| line.contains("--filter '^put\\.typed$'"))
        .unwrap();
    let seed = line.rsplit(' ').next().unwrap();
    contains(&out, &format!("  quick  {seed} "));
    let xml = fs::read_to_string(folder.join("j.xml")).unwrap();
    assert_eq!(xml.matches("<testsuite ").count(), 3);
    assert_eq!(xml.matches("<testcase ").count(), passed);
    for page in ["", "soft-2/", "soft-2-2/", "soft-3/"] {
        assert!(
            folder.join(format!("out/{page}index.html")).is_file(),
            "{page}"
        );
    }
    let json: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("out/report.json")).unwrap()).unwrap();
    assert_eq!(json["backends"].as_array().unwrap().len(), 3);

    // The same alone, and with any number of jobs.
    let digest = |out: &str, backend: &str| -> String {
        let line = out
            .lines()
            .find(|line| line.starts_with(backend) && line.contains(" quick "));
        line.unwrap().rsplit(' ').next().unwrap().to_owned()
    };
    let again = text(&run(&["--profile", "two", "--jobs", "1", "--seed", "1"]).stdout);
    assert_eq!(digest(&out, "soft:3"), digest(&again, "soft:3"));
    let alone = regress(folder, &["--backend", "soft:2", "--filter", r"^put\."]);
    assert_eq!(
        text(&alone.stdout).lines().last().unwrap(),
        format!("digest {}", digest(&out, "soft:2"))
    );

    // A filter of the command line may leave nothing for a backend, but not for all.
    let output = run(&["--profile", "two", "--filter", "^get"]);
    ends(&output, 0);
    let passed = count(r"^get\.") - 1;
    contains(
        &text(&output.stdout),
        &format!("3 backends: {passed} passed"),
    );
    let output = run(&["--profile", "two", "--filter", "^alpu"]);
    ends(&output, 2);
    // One of the file may not: the backend would silently not be tested.
    let output = run(&["--profile", "wrong"]);
    ends(&output, 2);
    contains(
        &text(&output.stderr),
        "[profile.wrong], soft:3: `filter` matches no test",
    );
    assert!(text(&output.stdout).is_empty());
    ends(&run(&["--profile", "three"]), 2);
    // A backend that is not there is told before any test runs.
    let output = regress(folder, &["--backend", "soft:2", "--backend", "cosim:none"]);
    ends(&output, 2);
    assert!(text(&output.stdout).is_empty());
}

#[test]
fn a_part_of_the_tests_is_chosen_by_what_failed_and_ended_by_failures() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let run = |options: &[&str]| {
        regress(
            folder,
            &[&["--backend", "soft:3", "--explain", "0"], options].concat(),
        )
    };
    let output = run(&["--failed"]);
    ends(&output, 2);
    contains(&text(&output.stderr), "has no run on");
    assert_eq!(fs::read_dir(folder.join("store")).unwrap().count(), 0);

    let put = [
        "--filter",
        r"^put\.",
        "--exclude",
        "large",
        "--exclude",
        "typed",
    ];
    ends(&run(&[&put[..], &[HANG]].concat()), 1);
    let listed = run(&["--failed", "--list"]);
    let listed = text(&listed.stdout);
    assert!(
        listed.contains("put.to_self: ") && !listed.contains("typed"),
        "{listed}"
    );
    let output = run(&["--failed"]);
    ends(&output, 0);
    contains(
        &text(&output.stdout),
        &format!(" {} passed", listed.lines().count()),
    );
    // Nothing failed in that run.
    let output = run(&["--failed"]);
    ends(&output, 0);
    contains(&text(&output.stdout), " 0 passed, 0 failed");

    let most = |options: &[&str]| {
        let output = run(&[&[HANG, "--jobs", "1", "--filter", "^put"], options].concat());
        ends(&output, 1);
        text(&output.stdout)
    };
    contains(
        &most(&["--fail-fast"]),
        &format!(
            " 0 passed, 1 failed, 0 skipped, {} not run",
            count("^put") - 1
        ),
    );
    contains(
        &most(&["--max-failures", "3"]),
        "the run ended after 3 failures",
    );

    let output = run(&["--list", "--format", "json", "--filter", "^put.typed$"]);
    let line: Value = serde_json::from_str(text(&output.stdout).trim()).unwrap();
    assert_eq!(
        (&line["name"], &line["ranks"]),
        (&"put.typed".into(), &1.into())
    );
}

#[test]
fn github_is_told_of_failures() {
    let folder = tempfile::tempdir().unwrap();
    let run = |github: bool| {
        let mut command = program(folder.path());
        command.args([
            "regress",
            "--backend",
            "soft:3",
            "--no-store",
            "--explain",
            "0",
        ]);
        command.args(["--filter", "^put.typed$", HANG]);
        command
            .env_remove("GITHUB_ACTIONS")
            .env_remove("GITHUB_STEP_SUMMARY");
        if github {
            command.env("GITHUB_ACTIONS", "true");
            command.env("GITHUB_STEP_SUMMARY", folder.path().join("summary.md"));
        }
        command.output().unwrap()
    };
    contains(
        &text(&run(true).stderr),
        "::error title=put.typed on soft%3A3::",
    );
    let summary = fs::read_to_string(folder.path().join("summary.md")).unwrap();
    contains(&summary, "| `soft:3` | quick | 1 | 0 | 1 | 0 | 0 |");
    contains(&summary, "--filter '^put\\.typed$'");
    assert!(!text(&run(false).stderr).contains("::error"));
}

#[test]
fn a_mistyped_backend_leaves_no_file_and_completions_know_configurations() {
    let folder = tempfile::tempdir().unwrap();
    let output = regress(folder.path(), &["--backend", "soft:x"]);
    ends(&output, 2);
    assert_eq!(
        fs::read_dir(folder.path().join("store")).unwrap().count(),
        0
    );
    let script = text(&alcor(folder.path(), &["completions", "bash"]).stdout);
    contains(&script, "torus8");
    contains(&script, "cosim:torus8");
}
