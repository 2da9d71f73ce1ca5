//! The program from outside, on the software board.

mod program;

use std::path::Path;
use std::process::{Command, Output};

use program::{ALCOR, HANG, LATE_RANK, program};

fn alcor(arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path()).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// `alcor regress` on a software board with three ranks, which remembers nothing.
fn regress(arguments: &[&str]) -> Output {
    let common = ["regress", "--backend", "soft:3", "--no-store"];
    alcor(&[&common, arguments].concat())
}

/// The same, with a result store.
fn remembering(store: &Path, arguments: &[&str]) -> Output {
    let store = store.to_str().unwrap();
    let common = ["regress", "--backend", "soft:3", "--store", store];
    alcor(&[&common, arguments].concat())
}

/// Changes what a store remembers.
fn edit_store(store: &Path, from: &str, to: &str) {
    for entry in std::fs::read_dir(store).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace(from, to)).unwrap();
    }
}

/// The report that a run leaves in a folder, beside its output.
fn reported(folder: &Path, arguments: &[&str]) -> (Output, serde_json::Value) {
    let output = regress(&[arguments, &["--report", folder.to_str().unwrap()]].concat());
    let json = std::fs::read_to_string(folder.join("report.json")).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&json).unwrap();
    (output, json["backends"][0].take())
}

fn last_line(output: &Output) -> String {
    stdout(output).lines().last().unwrap().to_owned()
}

#[test]
fn the_digest_is_last_and_depends_on_no_number_of_jobs() {
    let filter = ["--filter", r"^(put|window)\."];
    let one = regress(&[&filter[..], &["--jobs", "1"]].concat());
    let four = regress(&[&filter[..], &["--jobs", "4"]].concat());
    assert_eq!(one.status.code(), Some(0), "{}", stderr(&one));
    assert_eq!(last_line(&one), last_line(&four));
    let line = last_line(&one);
    let digits = line.strip_prefix("digest ").unwrap();
    assert!(digits.len() == 8 && u32::from_str_radix(digits, 16).is_ok());
    // The board has no terminal here: a plain line for each test.
    assert!(stderr(&one).contains("put.typed passed"));
}

#[test]
fn what_is_skipped_is_counted_with_its_reason() {
    let two = ["regress", "--backend", "soft:2", "--no-store", "--filter"];
    let output = alcor(&[&two[..], &[r"^abort\."]].concat());
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert!(
        text.contains("skipped 2: needs 3 ranks, there are 2"),
        "{text}"
    );
    assert!(text.contains(" 2 skipped"), "{text}");

    let output = alcor(&[&two[..], &["^abort.by_two$"]].concat());
    assert_eq!(output.status.code(), Some(3), "nothing was tested");
    let output = alcor(&[&two[..], &["^abort.by_two$", "--shard", "1/2"]].concat());
    assert_eq!(output.status.code(), Some(0), "others may test something");
}

#[test]
fn reports_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join("a/b").join(name);
    let report = path("");
    let junit = folder.path().join("junit.xml");
    let (report, junit) = (report.to_str().unwrap(), junit.to_str().unwrap());
    let options = [
        "--report", report, "--junit", junit, "--filter", "^get", "--seed", "0x10",
    ];
    let output = regress(&options);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));

    assert_eq!(read(path("report.txt")), stdout(&output));
    let json: serde_json::Value = serde_json::from_str(&read(path("report.json"))).unwrap();
    assert_eq!((&json["failed"], &json["exit"]), (&0.into(), &0.into()));
    let json = &json["backends"][0];
    assert_eq!(json["seed"], 16);
    assert_eq!(json["failed"], 0);
    let digest = json["digest"].as_str().unwrap();
    assert_eq!(last_line(&output), format!("digest {digest}"));
    let tests = json["tests"].as_array().unwrap();
    assert_eq!(tests.len() as u64, json["passed"].as_u64().unwrap());
    assert!(
        tests
            .iter()
            .all(|test| test["cycles"].as_u64().unwrap() > 0)
    );

    let xml = read(Path::new(junit));
    assert_eq!(xml.matches("<testcase ").count(), tests.len());
    assert!(xml.contains(r#"name="get.typed""#));
}

#[test]
fn a_filter_does_not_change_a_test() {
    let seed_line = |options: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let report = folder.path().to_str().unwrap();
        regress(&[options, &["--report", report]].concat());
        let json = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let tests = json["backends"][0]["tests"].as_array().unwrap().clone();
        let test = tests
            .iter()
            .find(|test| test["name"] == "put.typed")
            .unwrap();
        (test["seed"].clone(), test["digest"].clone())
    };
    let alone = seed_line(&["--filter", r"^put\.typed$"]);
    assert_eq!(alone, seed_line(&["--filter", "^put"]));
    assert_ne!(alone, seed_line(&["--filter", "^put", "--seed", "2"]));
}

#[test]
fn a_wrong_command_ends_with_2_and_says_what_would_do() {
    for (arguments, words) in [
        (&["regress", "--backend", "soft:17"][..], "1 to 16"),
        (
            &["regress", "--backend", "tape:3"],
            "`cosim:`, `serve:`, `shm:`, `soft:`",
        ),
        (&["regress", "--backend", "cosim:none"], "rma4"),
        (&["regress", "--backend", "cosim:rma4?speed=9"], "profile"),
        (
            &["regress", "--backend", "soft:2", "--filter", "^nothing$"],
            "--list",
        ),
        (
            &["regress", "--backend", "soft:2", "--waves", "always"],
            "no waves",
        ),
        (
            &["regress", "--backend", "soft:2", "--waves", "on-failure"],
            "no waves",
        ),
        (&["regress", "--waves-cycles", "0"], "0"),
        (&["regress", "--explain", "many"], "invalid digit"),
        (&["regress", "--filter", "("], "regex"),
        (&["regress", "--seed", "x"], "random"),
        (&["regress", "--jobs", "0"], "0"),
        (&["regress", "--repeat", "0"], "1..=100000"),
        (&["regress", "--shard", "0/4"], "K/N"),
        (&["regress", "--shard", "5/4"], "K/N"),
        (&["regress", "--watchdog", "0"], "0"),
        (&["regress", "--cycles-change", "-1"], "unexpected"),
        (&["regress", "--cycles-change=-1"], "2.5"),
        (&["regress", "--store", "x", "--no-store"], "cannot be used"),
        (&["sing"], "Usage"),
        (&[], "regress"),
    ] {
        let output = alcor(arguments);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert!(
            stderr(&output).contains(words),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn what_the_environment_lacks_ends_with_3_and_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_alcor"))
        .args(["regress", "--backend", "cosim:rma2"])
        .env("ALCOR_VERILATOR", folder.path().join("verilator"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("ci/setup"), "{}", stderr(&output));

    let output = Command::new(env!("CARGO_BIN_EXE_alcor"))
        .arg("doctor")
        .env("ALCOR_VERILATOR", folder.path().join("verilator"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(stdout(&output).contains("ci/setup"), "{}", stdout(&output));
}

#[test]
fn tests_are_listed_with_what_they_are_about() {
    let output = alcor(&["regress", "--list", "--filter", "^put.typed$"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        stdout(&output),
        "put.typed: Elements of all sizes, by their number.\n"
    );
}

#[test]
fn help_tells_of_every_flag_with_examples_and_exit_codes() {
    let output = alcor(&["regress", "--help"]);
    let text = stdout(&output);
    for words in [
        "--backend",
        "--filter",
        "--full",
        "--seed",
        "--repeat",
        "--shard",
        "--list",
        "--exclude",
        "--failed",
        "--profile",
        "--config-file",
        "--timeout",
        "--fail-fast",
        "--max-failures",
        "--format",
        "--jobs",
        "--watchdog",
        "--explain",
        "--waves-cycles",
        "--waves",
        "--report",
        "--coverage",
        "--junit",
        "--store",
        "--no-store",
        "--cycles-change",
        "NO_COLOR",
        "Examples:",
        "Exit codes:",
        "Files:",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100));
    let short = stdout(&alcor(&["regress", "-h"]));
    assert!(short.lines().count() < text.lines().count());
}

#[test]
fn shards_are_complete_and_disjoint_with_a_filter_and_without() {
    for filter in [&[][..], &["--filter", r"^(put|get)\."]] {
        let list = |options: &[&str]| -> Vec<String> {
            let output = alcor(&[&["regress", "--list"], filter, options].concat());
            assert_eq!(output.status.code(), Some(0));
            stdout(&output).lines().map(str::to_owned).collect()
        };
        let mut all = list(&[]);
        let parts: Vec<_> = (1..=3)
            .map(|part| list(&["--shard", &format!("{part}/3")]))
            .collect();
        let lengths = || parts.iter().map(Vec::len);
        assert!(lengths().max().unwrap() - lengths().min().unwrap() <= 1);
        let mut together = parts.concat();
        together.sort_unstable();
        all.sort_unstable();
        assert_eq!(together, all);
    }
}

#[test]
fn an_empty_shard_passes_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let junit = folder.path().join("junit.xml");
    // There is no such card, and no test needs it.
    let options = [
        "--filter",
        "^put.typed$",
        "--shard",
        "2/2",
        "--junit",
        junit.to_str().unwrap(),
    ];
    let output = alcor(
        &[
            &["regress", "--backend", "xdma:0000:7f:00.0", "--no-store"],
            &options[..],
        ]
        .concat(),
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("this part has no tests"), "{text}");
    assert!(
        text.contains("part 2/2, seed 1: 0 passed, 0 failed, 0 skipped"),
        "{text}"
    );
    assert!(
        std::fs::read_to_string(junit)
            .unwrap()
            .contains("tests=\"0\"")
    );
}

#[test]
fn repetitions_have_seeds_of_their_own_each_of_which_repeats() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let junit = folder.join("junit.xml");
    let filter = [
        "--filter",
        "^put.typed$",
        "--junit",
        junit.to_str().unwrap(),
    ];
    let (output, json) = reported(
        folder,
        &[&filter[..], &["--repeat", "4", "--seed", "7"]].concat(),
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.contains("seeds 7 and the 3 after it: 4 passed"),
        "{text}"
    );
    let tests = json["tests"].as_array().unwrap();
    let seeds: Vec<_> = tests
        .iter()
        .map(|test| test["run_seed"].as_u64().unwrap())
        .collect();
    assert_eq!(seeds, [7, 8, 9, 10]);
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains(r#"name="put.typed seed 9""#), "{xml}");
    assert!(
        xml.contains(r#"<property name="repeat" value="4"/>"#),
        "{xml}"
    );

    let (_, alone) = reported(folder, &["--filter", "^put.typed$", "--seed", "9"]);
    // Cycles of the software board depend on its threads.
    for key in ["seed", "digest"] {
        assert_eq!(alone["tests"][0][key], tests[2][key], "{key}");
    }
    assert_ne!(tests[2]["seed"], tests[1]["seed"]);

    let shared = |part| {
        let options = [
            "--filter",
            "^put.typed$",
            "--repeat",
            "4",
            "--seed",
            "7",
            "--shard",
            part,
        ];
        let (_, json) = reported(folder, &options);
        assert_eq!(json["shard"], part);
        let tests = json["tests"].as_array().unwrap();
        tests
            .iter()
            .map(|test| test["run_seed"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!((shared("1/2"), shared("2/2")), (vec![7, 9], vec![8, 10]));
}

#[test]
fn failing_repetitions_name_their_seeds_and_the_command_that_repeats_them() {
    let simulated = [
        "regress",
        "--backend",
        "cosim:rma2",
        "--no-store",
        "--explain",
        "0",
    ];
    let output = alcor(
        &[
            &simulated[..],
            &[
                "--filter",
                "^barrier.many$|^put.typed$",
                "--repeat",
                "2",
                HANG,
            ],
        ]
        .concat(),
    );
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    let text = stdout(&output);
    let repeat =
        "alcor regress --backend cosim:rma2 --filter '^put\\.typed$' --seed 2 --watchdog 1";
    for words in ["failed put.typed seed 2, its own seed 0x", repeat] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // As the reader of the report would.
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("  repeat: alcor "));
    let line = format!("{ALCOR} {} --no-store --explain 0", line.unwrap());
    let again = Command::new("sh").args(["-c", &line]).output().unwrap();
    assert_eq!(again.status.code(), Some(1), "{line}: {}", stderr(&again));
    let reason = |output: &Output| {
        let text = stdout(output);
        let failed = text.lines().skip_while(|line| !line.starts_with("failed "));
        failed.skip(1).take(1).map(str::to_owned).next()
    };
    assert_eq!(reason(&again), reason(&output));
    assert!(reason(&again).unwrap().contains("waited"), "{text}");
}

#[test]
fn what_is_new_is_told_against_the_last_result_of_each_test() {
    let store = tempfile::tempdir().unwrap();
    let report = tempfile::tempdir().unwrap();
    let report = report.path();
    let run = |options: &[&str]| {
        let common = [
            "--filter",
            "^put.typed$|^get.typed$",
            "--report",
            report.to_str().unwrap(),
        ];
        stdout(&remembering(store.path(), &[&common[..], options].concat()))
    };
    let contains = |text: &str, words: &str| assert!(text.contains(words), "{words}: {text}");
    contains(
        &run(&[]),
        "nothing to compare with: no earlier run of these tests with soft:3, quick tier, seed 1",
    );
    contains(
        &run(&[]),
        "nothing new of 2 tests that ran before, last less than a minute ago",
    );
    contains(&run(&["--seed", "2"]), "nothing to compare with");
    contains(&run(&["--full"]), "nothing to compare with");
    contains(&run(&["--jobs=1"]), "nothing new");

    // Options that change results make a run of another kind.
    contains(&run(&[HANG]), "nothing to compare with");
    contains(&run(&[]), "nothing new of 2 tests");
    edit_store(store.path(), "\"failed\"", "\"passed\"");
    let text = run(&[HANG]);
    contains(&text, "2 new of 2 tests");
    contains(&text, "  put.typed: newly failing\n");
    let json = std::fs::read_to_string(report.join("report.json")).unwrap();
    contains(&json, r#""new": "newly failing""#);
    edit_store(store.path(), "\"passed\"", "\"failed\"");
    contains(&run(&["--jobs=2"]), "  get.typed: newly passing\n");
    run(&["--seed", "2"]);
    // With a third repetition, of which nothing is known.
    contains(
        &run(&["--repeat", "3"]),
        "nothing new of 4 tests that ran before, last less than a minute ago, and 2 for the first time",
    );
}

#[test]
fn cycles_that_changed_are_told_from_the_percentage_on() {
    let store = tempfile::tempdir().unwrap();
    let run = |options: &[&str]| {
        let common = [
            "regress",
            "--backend",
            "cosim:rma2",
            "--filter",
            "^put.typed$",
            "--store",
        ];
        let store = [store.path().to_str().unwrap()];
        stdout(&alcor(&[&common[..], &store, options].concat()))
    };
    run(&[]);
    // The last run of the store had a hundredth more of cycles.
    let file = std::fs::read_dir(store.path())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let file = file
        .into_iter()
        .find(|path| path.extension().is_some_and(|it| it == "jsonl"))
        .unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let (_, rest) = text.split_once("\"cycles\":").unwrap();
    let cycles: u64 = rest.split_once(',').unwrap().0.parse().unwrap();
    let more = format!("\"cycles\":{}", cycles + cycles / 50);
    let change =
        || std::fs::write(&file, text.replace(&format!("\"cycles\":{cycles}"), &more)).unwrap();
    change();
    let found = run(&[]);
    let words = format!("put.typed: cycles {} to {cycles} (-", cycles + cycles / 50);
    assert!(found.contains(&words), "{words}: {found}");
    change();
    assert!(run(&["--cycles-change", "3%"]).contains("nothing new"));
}

#[test]
fn a_damaged_store_is_told_of_and_begun_anew() {
    let store = tempfile::tempdir().unwrap();
    let filter = ["--filter", "^put.typed$"];
    remembering(store.path(), &filter);
    for entry in std::fs::read_dir(store.path()).unwrap() {
        std::fs::write(entry.unwrap().path(), b"\0\xff{]").unwrap();
    }
    let output = remembering(store.path(), &filter);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        stderr(&output).contains("a new file was begun, and the damaged file is now"),
        "{}",
        stderr(&output)
    );
    assert!(stdout(&output).contains("nothing to compare with"));
    let output = remembering(store.path(), &filter);
    assert!(
        stdout(&output).contains("nothing new of 1 tests"),
        "{}",
        stdout(&output)
    );
    assert!(!stderr(&output).contains("damaged"));
}

#[test]
fn a_store_that_can_not_be_had_is_an_error_before_anything_runs() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let output = remembering(file.path(), &["--filter", "^put.typed$"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("--no-store"),
        "{}",
        stderr(&output)
    );
    assert_eq!(stdout(&output), "");
}

#[test]
fn the_default_store_is_below_target_of_the_clone_or_the_current_folder() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let [clone, other] = ["clone", "other"].map(path);
    std::fs::create_dir(&other).unwrap();
    std::fs::create_dir_all(clone.join("hw/core")).unwrap();
    std::fs::write(clone.join("hw/core/configs.toml"), "").unwrap();
    let run = |folder: &Path, root: &Path| {
        let mut command = Command::new(ALCOR);
        command.args(["regress", "--backend", "soft:2", "--filter", "^put.typed$"]);
        let output = command.env("ALCOR_ROOT", root).current_dir(folder).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let (first, again) = ("nothing to compare with", "nothing new of 1");
    for folder in [&clone, &other] {
        let says = run(folder, Path::new(""));
        assert!(says.contains(first), "{says}");
        assert!(folder.join("target/alcor-results").is_dir());
    }
    for (folder, root) in [(clone.join("hw"), ""), (path(""), clone.to_str().unwrap())] {
        let says = run(&folder, Path::new(root));
        assert!(says.contains(again), "{says}");
    }
}

#[test]
fn two_runs_at_once_are_both_remembered() {
    let store = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for seed in ["1", "2", "3", "4"] {
            let store = store.path();
            scope.spawn(move || {
                let output = remembering(store, &["--filter", "^put.typed$", "--seed", seed]);
                assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            });
        }
    });
    let output = remembering(store.path(), &["--filter", "^put.typed$", "--repeat", "4"]);
    assert!(
        stdout(&output).contains("nothing new of 4 tests"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn results_are_in_the_order_of_the_suite_whatever_is_remembered() {
    let store = tempfile::tempdir().unwrap();
    let filter = ["--filter", r"^(put|random)\.", "--jobs", "2"];
    let first = remembering(store.path(), &filter);
    let second = remembering(store.path(), &filter);
    let names = |output: &Output| -> Vec<String> {
        let text = stdout(output);
        let lines = text.lines().take_while(|line| !line.is_empty());
        lines
            .map(|line| line.split(' ').next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&first), names(&second));
    assert_eq!(last_line(&first), last_line(&second));
    // Which of the tests is the longest is for the machine to say: by far it is none of the first module.
    let began = |output: &Output| stderr(output).lines().next().unwrap().to_owned();
    assert!(began(&first).contains("put."), "{}", began(&first));
}

/// What the program writes to a terminal of so many columns; nothing where there is no program `script` to make one.
fn on_a_terminal(columns: u32, variables: &str, arguments: &str) -> Option<String> {
    if Command::new("script").arg("--version").output().is_err() {
        alcor_skips::skip("there is no program `script` (Debian: bsdutils)");
        return None;
    }
    let command = format!(
        "stty cols {columns} rows 24; env {variables} {ALCOR} regress --backend soft:3 --no-store --explain 0 {arguments}"
    );
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    Some(stdout(&output))
}

/// The text without what moves the cursor and colours it, as lines that were on the screen of so many columns at some
/// time.
fn screen_lines(columns: usize, text: &str) -> Vec<String> {
    let escapes = regex::Regex::new("\x1b\\[[0-9;?]*[A-Za-z]").unwrap();
    let mut lines = Vec::new();
    for line in text.split(['\n', '\r']) {
        let line: Vec<char> = escapes.replace_all(line, "").chars().collect();
        // What is longer goes on in the next line.
        let rows = line.chunks(columns).map(|row| row.iter().collect());
        lines.extend(rows.filter(|row: &String| !row.trim().is_empty()));
    }
    lines
}

#[test]
fn a_terminal_shows_what_runs_and_what_is_left_in_80_columns() {
    let Some(text) = on_a_terminal(80, "A=b", "--jobs 2") else {
        return;
    };
    let lines = screen_lines(80, &text);
    let bar = regex::Regex::new(
        "^[█▉▊▋▌▍▎▏░]{3,} [0-9]+/[0-9]+: [0-9]+ passed, 0 failed, 0 skipped, [0-9]:[0-9][0-9] left$",
    );
    let bar = bar.unwrap();
    assert!(lines.iter().any(|line| bar.is_match(line)), "{lines:?}");
    // A running test: a spinner, for how long, and its name, which no plain line has.
    let running = regex::Regex::new(r"^\S +\d+s \w+\.\w+").unwrap();
    assert!(lines.iter().any(|line| running.is_match(line)), "{lines:?}");
    let plain = regex::Regex::new(r"^\[ *\d+/\d+\] ").unwrap();
    assert!(!lines.iter().any(|line| plain.is_match(line)), "{lines:?}");
    let row = regex::Regex::new(r"^put\.\w+ +passed +\d+ +\d+\.\d\d s$").unwrap();
    assert!(
        lines.iter().filter(|line| row.is_match(line)).count() > 5,
        "{lines:?}"
    );
    // A rank of this test has nothing to wait for.
    let hung = regex::Regex::new(r"^abort\.in_many_collectives +passed ").unwrap();
    assert!(lines.iter().any(|line| hung.is_match(line)), "{lines:?}");
    // The second colour of a terminal is green: of the bar, and of the results below.
    assert!(text.contains("\x1b[32m"), "{text:?}");
    assert!(text.contains(" \x1b[32mpassed\x1b[0m "), "{text:?}");
}

#[test]
fn a_failure_stays_on_the_terminal_above_what_runs() {
    let arguments = format!("--filter '^put.typed$' {HANG}");
    let Some(text) = on_a_terminal(80, "A=b", &arguments) else {
        return;
    };
    let lines = screen_lines(80, &text);
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("put.typed failed: ")),
        "{lines:?}"
    );
    assert!(text.contains(" \x1b[31mfailed\x1b[0m "), "{text:?}");
}

#[test]
fn no_color_and_dumb_terminals_are_honoured() {
    let Some(text) = on_a_terminal(80, "NO_COLOR=1", "--filter '^(put|random)'") else {
        return;
    };
    let colour = regex::Regex::new("\x1b\\[[0-9;]*m").unwrap();
    let colours: Vec<_> = colour
        .find_iter(&text)
        .map(|found| found.as_str())
        .collect();
    assert!(
        colours
            .iter()
            .all(|&found| found == "\x1b[0m" || found == "\x1b[m"),
        "{colours:?}"
    );
    let text = on_a_terminal(80, "TERM=dumb", "--filter '^put.typed$'").unwrap();
    assert!(!text.contains('\x1b'), "{text:?}");
    assert!(text.contains("[  1/1] put.typed passed"), "{text}");
}

/// `alcor regress` in a folder, in which what it leaves can be looked at.
fn regress_in(folder: &Path, arguments: &[&str]) -> Output {
    let command = ["regress", "--no-store"];
    program(folder)
        .args(command)
        .args(arguments)
        .output()
        .unwrap()
}

/// The text of a file.
fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Start, end and signals of a trace, the signals with their scopes and ranges.
fn trace(path: &Path) -> (u64, u64, Vec<String>) {
    use fst_reader::{FstHierarchyEntry as Entry, FstReader};
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = FstReader::open(file).unwrap();
    let header = reader.get_header();
    let (mut scopes, mut signals) = (Vec::new(), Vec::new());
    let entries = |entry| match entry {
        Entry::Scope { name, .. } => scopes.push(name),
        Entry::UpScope => drop(scopes.pop()),
        Entry::Var { name, .. } => {
            signals.push(format!("{}.{}", scopes.join("."), name.replace(' ', "")));
        }
        _ => {}
    };
    reader.read_hierarchy(entries).unwrap();
    (header.start_time, header.end_time, signals)
}

/// Picoseconds of a cycle of a model's clock.
const PERIOD: u64 = 4000;

#[test]
fn a_hang_explains_itself_with_waves_of_the_last_cycles() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let hang = LATE_RANK;
    let output = regress_in(folder, &[&hang[..], &["--waves-cycles", "200"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let left = folder.join("alcor-report/skew.last_to_come");
    let text = stdout(&output);
    let files = "commands.txt, waits.txt, waits.dot, packets.txt, waves.fst, waves.gtkw, waves.sucl, failure.txt";
    let words = format!("explained in alcor-report/skew.last_to_come: {files}");
    assert!(text.contains(&words), "{words}: {text}");
    assert!(
        !text.contains("note:"),
        "it fails in the same way each time: {text}"
    );

    let waits = read(left.join("waits.txt"));
    let first = waits.lines().next().unwrap();
    let gave_up = regex::Regex::new(
        r"^rank 1 gave up at cycle (\d+), after \d+ cycles of waiting for allreduce",
    )
    .unwrap();
    let cycle: u64 = gave_up.captures(first).unwrap_or_else(|| panic!("{waits}"))[1]
        .parse()
        .unwrap();
    assert!(waits.contains("  -> rank 0: allreduce of 5 f64"), "{waits}");
    assert!(waits.contains("  last command: X_PUT to rank 0"), "{waits}");
    let dot = read(left.join("waits.dot"));
    assert!(
        dot.contains("r1 -> r0 [label=\"allreduce of 5 f64"),
        "{dot}"
    );

    let packets = read(left.join("packets.txt"));
    assert!(
        packets.lines().any(|line| line.contains("0->1")),
        "{packets}"
    );
    let commands = read(left.join("commands.txt"));
    assert!(
        commands.contains("\nrank 1 has aborted the run: "),
        "{commands}"
    );
    let abort = commands
        .lines()
        .find(|line| line.contains("ABORT"))
        .unwrap();
    assert_eq!(
        abort.split_whitespace().next(),
        Some(cycle.to_string().as_str()),
        "{commands}"
    );
    assert_eq!(
        commands.matches("  BEGIN\n").count(),
        2,
        "of the last run alone: {commands}"
    );

    let (start, end, signals) = trace(&left.join("waves.fst"));
    // 200 cycles before the failure and 100 after it; the late rank's pause lasts longer.
    assert_eq!((end - start).div_ceil(PERIOD), 300, "{start} to {end}");
    let gtkw = read(left.join("waves.gtkw"));
    let shown: Vec<_> = gtkw
        .lines()
        .filter(|line| line.starts_with("sim_top."))
        .collect();
    assert!(shown.len() > 50, "{gtkw}");
    for signal in &shown {
        assert!(
            signals.iter().any(|it| it == signal),
            "{signal} is not in the trace"
        );
    }
    for wanted in [
        "command_opcode_o",
        "tx_data_o",
        "rx_data_i",
        "head_q",
        "sync_o.valid",
    ] {
        let in_ranks = (0..2).all(|rank| {
            let rank = format!("g_rank[{rank}].");
            shown
                .iter()
                .any(|signal| signal.contains(&rank) && signal.contains(wanted))
        });
        assert!(in_ranks, "{wanted}: {gtkw}");
    }
    let marker = gtkw
        .lines()
        .find_map(|line| line.strip_prefix("*-"))
        .unwrap();
    let marker: u64 = marker.split(' ').nth(1).unwrap().parse().unwrap();
    let before = (marker - start) / PERIOD;
    assert_eq!(before, 200, "cycles from the start to the failure");
    let sucl = read(left.join("waves.sucl"));
    assert!(sucl.contains(&format!("cursor_set {marker}\n")), "{sucl}");

    let failure = read(left.join("failure.txt"));
    assert!(
        failure.contains("gtkwave waves.fst waves.gtkw"),
        "{failure}"
    );
    let repeat = "repeat: alcor regress --backend cosim:rma2 --filter '^skew\\.last_to_come$' --seed 1 --watchdog 300\n";
    assert!(failure.contains(repeat), "{failure}");

    // Once more, without waves: what the first failure has left is gone.
    regress_in(folder, &[&hang[..], &["--waves", "never"]].concat());
    assert!(left.join("waits.txt").exists());
    assert!(!left.join("waves.fst").exists() && !left.join("waves.gtkw").exists());
    assert_eq!(
        read(left.join("waits.txt")),
        waits,
        "time is a function of the program"
    );
}

#[test]
fn waves_are_of_the_run_that_failed_and_not_of_those_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let hang = [
        "--backend",
        "cosim:rma2",
        "--filter",
        "^skew.delays$",
        "--watchdog",
        "300",
    ];
    let output = regress_in(folder, &[&hang[..], &["--waves-cycles", "200"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let left = folder.join("alcor-report/skew.delays");
    let failure = read(left.join("failure.txt"));
    // The suite resets the board once, and each run once: this is the third.
    assert!(
        failure.contains("of the run after reset 4 of the board"),
        "{failure}"
    );
    // Ranks that had not failed went on for long; the waves did not. The runs before took 4000 cycles.
    let (start, end, _) = trace(&left.join("waves.fst"));
    let cycles = (end - start) / PERIOD;
    assert!((299..=300).contains(&cycles), "{cycles} cycles");
    assert!(start / PERIOD > 3000, "from cycle {} on", start / PERIOD);
}

#[test]
fn waves_of_all_tests_are_shown_too() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let report = folder.join("r");
    let output = regress_in(
        folder,
        &[
            "--backend",
            "cosim:rma2",
            "--waves",
            "always",
            "--report",
            "r",
            "--watchdog",
            "30",
            "--filter",
            "^barrier.busy_rank$|^put.typed$",
        ],
    );
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(report.join("put.typed.fst").exists() && !report.join("put.typed").exists());
    let gtkw = read(report.join("barrier.busy_rank/barrier.busy_rank.gtkw"));
    let trace = std::fs::canonicalize(report.join("barrier.busy_rank.fst")).unwrap();
    assert!(
        gtkw.contains(&format!("[dumpfile] \"{}\"", trace.display())),
        "{gtkw}"
    );
    assert!(read(report.join("report.json")).contains(r#""explained": "r/barrier.busy_rank""#));
}

#[test]
fn a_failure_on_any_backend_leaves_commands_and_so_many_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let failing = [
        "--backend",
        "soft:3",
        "--watchdog",
        "1",
        "--filter",
        r"^put\.(typed|by_address|to_self)$",
    ];
    let left = || -> Vec<_> {
        let entries = std::fs::read_dir(folder.join("alcor-report"));
        let entries = entries.into_iter().flatten();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    let output = regress_in(folder, &[&failing[..], &["--explain", "0"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(left().is_empty() && !stdout(&output).contains("explain"));

    let junit = ["--explain", "1", "--junit", "junit.xml"];
    let output = regress_in(folder, &[&failing[..], &junit].concat());
    assert_eq!(left(), ["put.to_self"], "the first of the suite");
    assert!(
        stdout(&output).contains("2 more failed and are not explained; --explain 3 explains all"),
        "{}",
        stdout(&output)
    );
    let commands = read(folder.join("alcor-report/put.to_self/commands.txt"));
    assert!(commands.contains("rank 2 "), "{commands}");
    assert!(read(folder.join("junit.xml")).contains("explained in alcor-report/put.to_self"));

    // Repetitions have folders of their own.
    regress_in(
        folder,
        &[&failing[..4], &["--filter", "^put.typed$", "--repeat", "2"]].concat(),
    );
    assert!(
        left().contains(&"put.typed-1".to_owned()) && left().contains(&"put.typed-2".to_owned())
    );

    // A run without failures leaves nothing.
    let clean = tempfile::tempdir().unwrap();
    let output = regress_in(
        clean.path(),
        &["--backend", "soft:2", "--filter", "^put.typed$"],
    );
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(std::fs::read_dir(clean.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_can_not_be_made_costs_the_explanation_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("alcor-report"), "").unwrap();
    let output = regress_in(
        folder.path(),
        &[
            "--backend",
            "soft:3",
            "--watchdog",
            "1",
            "--filter",
            "^put.typed$",
        ],
    );
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("note: the folder of the explanation cannot be created: "),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_timeline_is_of_one_test_on_a_simulated_board() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, packets) = (folder.path().join("t.json"), folder.path().join("p.txt"));
    let files = [
        "--trace",
        trace.to_str().unwrap(),
        "--packets",
        packets.to_str().unwrap(),
    ];
    let cosim = |filter| {
        let regress = ["regress", "--backend", "cosim:rma2", "--no-store"];
        alcor(&[&regress[..], &["--filter", filter], &files].concat())
    };
    let plain = alcor(&[
        "regress",
        "--backend",
        "cosim:rma2",
        "--no-store",
        "--filter",
        "^put.typed$",
    ]);
    let traced = cosim("^put.typed$");
    assert_eq!(traced.status.code(), Some(0), "{}", stderr(&traced));
    assert_eq!(last_line(&plain), last_line(&traced));
    let told: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&trace).unwrap()).unwrap();
    let events = told["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|event| event["name"] == "put"));
    let lines = std::fs::read_to_string(&packets).unwrap();
    assert!(lines.lines().all(|line| line.starts_with("run ")) && lines.contains("XPUT"));

    let many = cosim("^put");
    assert_eq!(many.status.code(), Some(2));
    assert!(
        stderr(&many).contains("select one with --filter"),
        "{}",
        stderr(&many)
    );
    let soft = regress(&[&["--filter", "^put.typed$"], &files[..]].concat());
    assert_eq!(soft.status.code(), Some(2));
    assert!(stderr(&soft).contains("records no timeline"));
    let bench = alcor(&[&["bench", "rma"], &files[..]].concat());
    assert_eq!(bench.status.code(), Some(2));
    assert!(stderr(&bench).contains("--config"));
}
