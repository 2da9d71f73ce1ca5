//! Tests of a user's crate. Ignored tests fail on purpose: other tests run them in a process of
//! their own and check the explanation.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use alcor::{GlobalRank, Rank, Rights};
use alcor_test::{Context, Result, after, alcor_test, before, same};

/// Each rank puts its number to the next one, as in the README.
#[alcor_test(ranks >= 2)]
fn exchange(context: &Context) -> Result {
    context.run(|rank| {
        let inbox = rank.alloc::<u32>(1)?;
        let window = rank.register(&inbox, Rights::ALL)?;
        rank.put(&window, after(rank, 1), 0, &[rank.pid().0])?;
        rank.fence()?;
        same("the inbox", before(rank, 1).0, rank.read_vec(&inbox)?[0])
    })?;
    Ok(())
}

/// Puts the rank's number to the next rank. Returns the number of the previous rank.
fn exchanged(rank: &mut Rank) -> Result<u32> {
    let inbox = rank.alloc::<u32>(1)?;
    let window = rank.register(&inbox, Rights::ALL)?;
    let me = rank.pid().0;
    rank.put(&window, after(rank, 1), 0, &[me])?;
    rank.fence()?;
    Ok(rank.read_vec(&inbox)?[0])
}

#[alcor_test(ranks >= 2)]
#[ignore = "fails on purpose; another test runs it and reads its explanation"]
fn wrong(context: &Context) -> Result {
    context.run(|rank| {
        let expected = before(rank, 1).0 + u32::from(rank.pid() == GlobalRank(1));
        same("the inbox", expected, exchanged(rank)?)
    })?;
    Ok(())
}

#[alcor_test(ranks >= 2)]
#[ignore = "fails on purpose; another test runs it and reads its explanation"]
fn hangs(context: &Context) -> Result {
    context.run(|rank| match rank.pid().0 {
        0 => Ok(rank.barrier()?),
        _ => {
            let mut word = [0u32];
            rank.recv(GlobalRank(0), 7, &mut word)?;
            Ok(())
        }
    })?;
    Ok(())
}

#[alcor_test]
#[ignore = "fails on purpose; another test runs it and reads its explanation"]
fn panics(context: &Context) -> Result {
    context.run(|_| -> Result { panic!("out of ideas") })?;
    Ok(())
}

#[alcor_test(ranks >= 1000)]
#[ignore = "no board has the ranks; another test runs it and reads the reason"]
fn crowd(_: &Context) -> Result {
    unreachable!("no board has 1000 ranks")
}

/// Runs one of the ignored tests in Rust's harness.
fn run(test: &str, folder: &Path, variables: &[(&str, &str)]) -> (bool, String) {
    let this = std::env::current_exe().unwrap();
    let mut command = Command::new(this);
    command
        .args(["--ignored", "--exact", "--nocapture", test])
        .env("ALCOR_TEST_BACKEND", "cosim:rma2")
        .env("ALCOR_TEST_REPORT", folder)
        .env_remove("ALCOR_SKIPS")
        .envs(variables.iter().copied());
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let text = [stdout, stderr].concat();
    (status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn the_readmes_test_is_the_one_above() {
    let readme = include_str!("../../../README.md");
    let (_, shown) = readme.split_once("```rust,ignore\n").unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    assert!(include_str!("own.rs").contains(shown), "{shown}");
}

#[test]
fn wrong_data_is_explained_with_commands_packets_and_waves() {
    let folder = tempfile::tempdir().unwrap();
    let (passed, text) = run("wrong", folder.path(), &[("ALCOR_TEST_SEED", "9")]);
    assert!(!passed, "{text}");
    for line in [
        "own.wrong failed: the inbox: expected 1, found 0",
        "backend cosim:rma2, quick tier, seed 9, its own seed 0x",
        "repeat: ALCOR_TEST_BACKEND='cosim:rma2' ALCOR_TEST_SEED=9 ALCOR_TEST_TIER=quick cargo test wrong",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let read = |name: &str| fs::read_to_string(folder.path().join("own.wrong").join(name));
    assert!(read("commands.txt").unwrap().contains("X_PUT to rank 1"));
    assert!(read("packets.txt").unwrap().contains("PUT"));
    assert!(read("failure.txt").unwrap().contains("waves.fst"));
    assert!(folder.path().join("own.wrong/waves.fst").is_file());
}

#[test]
fn a_hang_is_explained_by_its_wait_graph() {
    let folder = tempfile::tempdir().unwrap();
    let variables = [
        ("ALCOR_TEST_WATCHDOG", "20000"),
        ("ALCOR_TEST_WAVES", "never"),
    ];
    let (passed, text) = run("hangs", folder.path(), &variables);
    assert!(!passed, "{text}");
    let waits = fs::read_to_string(folder.path().join("own.hangs/waits.txt")).unwrap();
    assert!(waits.contains("rank 1"), "{waits}");
    assert!(text.contains(waits.trim_end()), "{text}");
    assert!(!folder.path().join("own.hangs/waves.fst").exists());
}

#[test]
fn a_panic_of_a_rank_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let (passed, text) = run("panics", folder.path(), &[("ALCOR_TEST_BACKEND", "soft:2")]);
    assert!(!passed, "{text}");
    assert!(text.contains("own.panics failed: "), "{text}");
    assert!(text.contains("out of ideas"), "{text}");
}

#[test]
fn a_test_that_the_board_cannot_run_fails_or_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let soft = ("ALCOR_TEST_BACKEND", "soft:2");
    let (passed, text) = run("crowd", folder.path(), &[soft]);
    assert!(!passed, "{text}");
    let words = "own.crowd can't run on soft:2: it needs 1000 ranks, there are 2.";
    assert!(text.contains(words), "{text}");

    let file = folder.path().join("skips");
    let (passed, text) = run(
        "crowd",
        folder.path(),
        &[soft, ("ALCOR_SKIPS", file.to_str().unwrap())],
    );
    assert!(passed, "{text}");
    let skips = fs::read_to_string(file).unwrap();
    assert_eq!(
        skips,
        "own crowd: own.crowd on soft:2: needs 1000 ranks, there are 2\n"
    );
}

#[test]
fn a_board_that_cannot_be_opened_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (backend, words) in [("cosim:rma99", "rma99"), ("cosmic:rma2", "cosmic")] {
        let (passed, text) = run("wrong", folder.path(), &[("ALCOR_TEST_BACKEND", backend)]);
        assert!(!passed && text.contains(words), "{text}");
    }
}
