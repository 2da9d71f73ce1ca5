//! The page of `alcor regress --report`, of real runs and real failures.

#[path = "../../report/tests/checks/mod.rs"]
mod checks;
mod program;

use std::fs;
use std::path::Path;
use std::process::Output;

use checks::{select, text};
use program::{HANG, LATE_RANK, program};
use scraper::Html;

/// `alcor` in a folder, where what it leaves can be looked at.
fn alcor(folder: &Path, arguments: &[&str]) -> Output {
    program(folder).args(arguments).output().unwrap()
}

/// Runs the suite on a software board with three ranks, with a store and a report; its exit code and the page, whose links
/// lead to files.
fn reported(folder: &Path, arguments: &[&str]) -> (Option<i32>, Html) {
    let common = ["regress", "--report", "out"];
    let output = alcor(folder, &[&common, arguments].concat());
    let page = fs::read_to_string(folder.join("out/index.html"));
    let page =
        page.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let (html, files) = checks::read(&page);
    for file in files {
        assert!(
            folder.join("out").join(&file).is_file(),
            "{file} is not there"
        );
    }
    (output.status.code(), html)
}

/// Changes what the store remembers.
fn edit_store(folder: &Path, from: &str, to: &str) {
    for entry in fs::read_dir(folder.join("store")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace(from, to)).unwrap();
    }
}

const SOFT: [&str; 4] = ["--backend", "soft:3", "--store", "store"];

#[test]
fn failures_stand_first_with_what_explains_and_repeats_them() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let two = ["--filter", r"^put\.(typed|by_address)$"];
    let (code, html) = reported(folder, &[&SOFT[..], &two].concat());
    assert_eq!(code, Some(0));
    assert_eq!(text(&html, "h1"), "✔ All is well: 2 tests passed");
    assert!(text(&html, "#news").contains("Nothing to compare with"));
    assert_eq!(select(&html, "#history tbody tr").len(), 1);
    // The time in the headline is that of the history, and leaves out the opening of the board.
    let elapsed = text(&html, "#history tbody tr td:last-child");
    let tiles = text(&html, ".tiles");
    let wall = format!("wall time of the tests {elapsed}");
    assert!(
        elapsed.ends_with(" s") && tiles.contains(&wall),
        "{elapsed}: {tiles}"
    );
    let row = text(&html, "#tests tbody tr:first-child .property");
    assert!(row.ends_with('.'), "{row}");
    // The commands say `alcor`, which a shell finds only where PATH has the folder.
    let run = text(&html, "#run");
    assert!(
        run.contains(&format!("The program of this run is {}", program::ALCOR)),
        "{run}"
    );
    let path = Path::new(program::ALCOR).parent().unwrap();
    let mut in_path = program(folder);
    in_path.args([
        "regress",
        "--report",
        "out",
        "--no-store",
        "--filter",
        "^put.typed$",
    ]);
    in_path.args(&SOFT[..2]).env("PATH", path).output().unwrap();
    let page = fs::read_to_string(folder.join("out/index.html")).unwrap();
    assert!(!page.contains("The program of this run"));

    // A run with this option is compared with its like alone; the store is told that the first one passed.
    let hang = [&SOFT[..], &two, &[HANG, "--explain", "1"]].concat();
    reported(folder, &hang);
    edit_store(folder, "\"failed\"", "\"passed\"");
    let (code, html) = reported(folder, &hang);
    assert_eq!(code, Some(1));
    assert_eq!(text(&html, "h1"), "✘ 2 of 2 tests failed");
    assert_eq!(
        select(&html, "main section")[0].value().attr("id"),
        Some("failures")
    );
    let failures = text(&html, "#failures");
    let repeat = r"alcor regress --backend soft:3 --filter '^put\.typed$' --seed 1 --watchdog 1";
    for words in [
        repeat,
        " cycles for ",
        "newly failing",
        "Not explained",
        "gave up at cycle",
    ] {
        assert!(failures.contains(words), "{words}: {failures}");
    }
    assert_eq!(
        select(&html, ".failure .files a").len(),
        4,
        "commands, waits twice, and failure.txt"
    );
    assert_eq!(text(&html, ".failure .strip"), "✔ ✘ ✔ ✘");
    let again = format!(
        r"alcor regress --backend soft:3 --filter '{}' --seed 1 --watchdog 1",
        two[1]
    );
    assert!(
        text(&html, "#run").contains(&again),
        "{}",
        text(&html, "#run")
    );
    assert_eq!(select(&html, "#news .news li").len(), 2);
    assert_eq!(select(&html, "#history tbody tr").len(), 3);
    let first = text(&html, "#history tbody tr:first-child");
    assert!(
        first.contains("quick 0 2 0"),
        "no test passed in the latest, two failed: {first}"
    );

    edit_store(folder, "\"passed\"", "\"failed\"");
    let (_, html) = reported(folder, &[&SOFT[..], &two].concat());
    assert!(
        text(&html, "#news").contains("newly passing put.typed"),
        "{}",
        text(&html, "#news")
    );
    assert!(select(&html, "#failures").is_empty());
}

#[test]
fn what_a_hang_on_the_hardware_leaves_is_linked() {
    let folder = tempfile::tempdir().unwrap();
    let hang = LATE_RANK;
    let without = ["--no-store", "--waves", "never"];
    let (code, html) = reported(folder.path(), &[&hang[..], &without].concat());
    assert_eq!(code, Some(1));
    let files: Vec<_> = select(&html, ".files a")
        .iter()
        .map(|link| link.value().attr("href").unwrap())
        .collect();
    let expected = [
        "commands.txt",
        "waits.txt",
        "waits.dot",
        "packets.txt",
        "failure.txt",
    ];
    assert_eq!(
        files,
        expected.map(|file| format!("skew.last_to_come/{file}"))
    );
    assert!(text(&html, ".failure details").contains("-> rank 0: allreduce of 5 f64"));
    let command = text(&html, "#coverage .command");
    assert!(command.ends_with("--coverage --report out"), "{command}");
}

#[test]
fn runs_that_show_nothing_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let no_ranks = [
        "--backend",
        "soft:2",
        "--no-store",
        "--filter",
        "^abort.by_two$",
    ];
    let (code, html) = reported(folder, &no_ranks);
    assert_eq!(code, Some(3));
    assert!(text(&html, "h1").contains("Nothing was tested"));
    assert_eq!(
        text(&html, "#skips h3"),
        "1 test: needs 3 ranks, there are 2"
    );
    assert!(text(&html, "#benches").contains("--no-store"));
    assert!(text(&html, "#coverage").contains("coverage is of simulated boards"));

    let (code, html) = reported(folder, &[&no_ranks[..], &["--shard", "2/2"]].concat());
    assert_eq!(code, Some(0));
    assert!(text(&html, "h1").contains("This part has no tests"));
    assert!(text(&html, "#run").contains("2/2 of the tests"));

    // What was filtered is escaped on its way to the page.
    let filter = r#"^put\.typed$|<script>&""#;
    let (_, html) = reported(
        folder,
        &["--backend", "soft:3", "--no-store", "--filter", filter],
    );
    assert!(text(&html, "#run").contains(filter));
}

#[test]
fn coverage_needs_a_simulated_board() {
    let folder = tempfile::tempdir().unwrap();
    let output = alcor(
        folder.path(),
        &["regress", "--backend", "soft:3", "--coverage", "--no-store"],
    );
    assert_eq!(output.status.code(), Some(2));
    let says = String::from_utf8_lossy(&output.stderr);
    assert!(
        says.contains("counts no coverage") && says.contains("cosim:rma4"),
        "{says}"
    );
}

/// What each job and each board has counted is added up, those of tests that failed too.
#[test]
fn coverage_is_of_all_boards_that_tests_ran_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let run = |filter: &str, options: &[&str]| {
        let common = [
            "--backend",
            "cosim:rma2?optimise=quick",
            "--no-store",
            "--coverage",
            "--filter",
            filter,
        ];
        let (_, html) = reported(folder, &[&common, options].concat());
        let counts: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(folder.join("out/coverage.json")).unwrap())
                .unwrap();
        let modules = counts["modules"].as_array().unwrap().iter();
        let is_missed = |of: &str| {
            modules
                .clone()
                .any(|module| !module[of].as_array().unwrap().is_empty())
        };
        assert!(is_missed("missed_lines") && is_missed("missed_branches"));
        let toggles: u64 = modules
            .map(|module| module["toggles"]["hit"].as_u64().unwrap())
            .sum();
        (html, toggles)
    };
    let (html, one) = run("^put.typed$", &["--jobs", "1"]);
    let table = text(&html, "#coverage table");
    assert!(
        table.contains("rma_coprocessor") && table.contains("all modules"),
        "{table}"
    );
    assert!(text(&html, ".tiles").contains("of lines covered"));
    let report = fs::read_to_string(folder.join("out/report.txt")).unwrap();
    assert!(
        report.contains("\ncoverage of ") && report.contains("bit edges"),
        "{report}"
    );
    assert!(
        report.lines().last().unwrap().starts_with("digest "),
        "{report}"
    );
    let (_, two) = run("^(put|get).typed$", &["--jobs", "2"]);
    assert!(two > one, "{two} edges with a test more, {one} without");
    // The board of a test that failed is not used again, and has counted.
    let hang = [
        "--jobs",
        "1",
        "--watchdog",
        "300",
        "--waves",
        "never",
        "--explain",
        "0",
    ];
    let (html, failed) = run("^skew.last_to_come$|^put.typed$", &hang);
    assert_eq!(text(&html, "h1"), "✘ 1 of 2 tests failed");
    assert!(
        failed > one,
        "{failed} edges with a test that failed, {one} without"
    );

    let (_, html) = reported(
        folder,
        &[
            "--backend",
            "cosim:rma2",
            "--no-store",
            "--filter",
            "^put.typed$",
        ],
    );
    assert!(text(&html, "#coverage").contains("Not recorded in this run"));
    assert!(
        !folder.join("out/coverage.json").exists(),
        "that of an earlier run is not of this one"
    );
}

#[test]
fn benchmarks_are_remembered_and_compared_with_the_run_before() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let measure = || {
        let bench = [
            "bench", "rma", "--config", "rma2", "--store", "store", "--format", "csv",
        ];
        let output = alcor(folder, &bench);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    let page = || reported(folder, &[&SOFT[..], &["--filter", "^put.typed$"]].concat()).1;
    let never = text(&page(), "#benches");
    assert!(
        never.contains("Never run here alcor bench rma alcor bench alpu alcor bench messages"),
        "{never}"
    );

    measure();
    let html = page();
    let shown = text(&html, "#benches");
    assert!(
        shown.contains("There is no earlier run to compare with"),
        "{shown}"
    );
    assert!(
        shown.contains("Again: alcor bench rma --config rma2"),
        "{shown}"
    );
    assert!(!shown.contains("Never run here alcor bench rma"), "{shown}");
    assert_eq!(
        select(&html, "#benches svg").len(),
        3,
        "instructions, exchange, streams"
    );
    let barrier = text(&html, "#benches tbody tr:first-child");
    assert!(
        barrier.starts_with("barrier 7 8 1 7.00"),
        "measured, paper, limit and ratio: {barrier}"
    );

    measure();
    assert!(text(&page(), "#benches").contains("No figure changed against"));
    // The figure that was measured first was another one.
    let mut entries = fs::read_dir(folder.join("store"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_ours = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("bench-rma") && name.ends_with(".jsonl")
    };
    let file = entries.find(is_ours).unwrap();
    let kept = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        kept.replacen(
            "\"name\":\"barrier\",\"measured\":7.0",
            "\"name\":\"barrier\",\"measured\":14.0",
            1,
        ),
    )
    .unwrap();
    let html = page();
    assert!(
        text(&html, "#benches").contains("1 figure changed against"),
        "{}",
        text(&html, "#benches")
    );
    assert_eq!(text(&html, "tr.changed"), "barrier 7 8 1 7.00 14 −50.0 %");
    // A damaged file costs what it had, and nothing else.
    fs::write(&file, "no JSON").unwrap();
    assert!(text(&page(), "#benches").contains("Never run here alcor bench rma"));
}
