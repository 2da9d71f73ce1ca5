//! The program from outside, on the software board.

use std::path::Path;
use std::process::{Command, Output};

fn alcor(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_alcor"))
        .args(arguments)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// `alcor regress` on a software board with three ranks.
fn regress(arguments: &[&str]) -> Output {
    alcor(&[&["regress", "--backend", "soft:3"], arguments].concat())
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
    let output = alcor(&["regress", "--backend", "soft:2", "--filter", r"^abort\."]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert!(
        text.contains("skipped 2: needs 3 ranks, there are 2"),
        "{text}"
    );
    assert!(text.contains(" 2 skipped"), "{text}");

    let output = alcor(&[
        "regress",
        "--backend",
        "soft:2",
        "--filter",
        "^abort.by_two$",
    ]);
    assert_eq!(output.status.code(), Some(3), "nothing was tested");
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

    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    assert_eq!(read(&path("report.txt")), stdout(&output));
    let json: serde_json::Value = serde_json::from_str(&read(&path("report.json"))).unwrap();
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
        let tests = json["tests"].as_array().unwrap().clone();
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
        (&["regress", "--backend", "tape:3"], "`cosim:`, `soft:`"),
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
        (&["regress", "--filter", "("], "regex"),
        (&["regress", "--seed", "x"], "random"),
        (&["regress", "--jobs", "0"], "0"),
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
        let regress = ["regress", "--backend", "cosim:rma2", "--filter", filter];
        alcor(&[&regress[..], &files].concat())
    };
    let plain = alcor(&[
        "regress",
        "--backend",
        "cosim:rma2",
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
        stderr(&many).contains("choose it with --filter"),
        "{}",
        stderr(&many)
    );
    let soft = regress(&[&["--filter", "^put.typed$"], &files[..]].concat());
    assert_eq!(soft.status.code(), Some(2));
    assert!(stderr(&soft).contains("tells no timeline"));
    let bench = alcor(&[&["bench", "rma"], &files[..]].concat());
    assert_eq!(bench.status.code(), Some(2));
    assert!(stderr(&bench).contains("--config"));
}
