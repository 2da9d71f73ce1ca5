//! The book in docs/book: its pages are all there, what they link to and include exists, and every `alcor` command in it is one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use alcor::{Backends, Job};
use alcor_cosim::{CosimBackend, Hardware};
use regex::Regex;

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src")
}

fn read(name: &str) -> String {
    fs::read_to_string(source().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The pages that the summary lists.
fn pages() -> BTreeSet<String> {
    let link = Regex::new(r"\]\(([^)]+\.md)\)").unwrap();
    let summary = read("SUMMARY.md");
    link.captures_iter(&summary)
        .map(|found| found[1].to_owned())
        .collect()
}

#[test]
fn the_summary_lists_every_page() {
    let there: BTreeSet<String> = fs::read_dir(source())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".md") && name != "SUMMARY.md")
        .collect();
    assert_eq!(pages(), there);
}

#[test]
fn what_is_linked_or_included_exists() {
    let link = Regex::new(r"\]\(([^):#]+)\)|\{\{#include ([^:}]+)").unwrap();
    let mut seen = 0;
    for page in pages() {
        for found in link.captures_iter(&read(&page)) {
            let target = found.get(1).or(found.get(2)).unwrap().as_str();
            assert!(source().join(target).exists(), "{page}: {target}");
            seen += 1;
        }
    }
    assert!(seen > 3);
}

#[test]
fn every_command_is_one() {
    let command = Regex::new(r"(?m)^(?:sudo )?(?:target/release/)?alcor (.*)$").unwrap();
    let block = Regex::new(r"(?s)```sh\n(.*?)```").unwrap();
    let mut seen = 0;
    for page in pages() {
        for script in block.captures_iter(&read(&page)) {
            for line in command.captures_iter(&script[1]) {
                let words = line[1].split("  #").next().unwrap();
                // What a program's own arguments are is not for us.
                let own = words.split(" -- ").next().unwrap();
                let words = own.split_whitespace().map(|word| word.trim_matches('\''));
                let output = Command::new(env!("CARGO_BIN_EXE_alcor"))
                    .args(words)
                    .arg("--help")
                    .output()
                    .unwrap();
                let says = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{page}: alcor {own}: {says}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 10, "{seen}");
    let wrong = Command::new(env!("CARGO_BIN_EXE_alcor"))
        .args(["regress", "--no-such-flag", "--help"])
        .output()
        .unwrap();
    assert!(!wrong.status.success(), "a wrong flag is seen");
}

/// The page of limits has the figures of the hardware, and parameters that there are.
#[test]
fn limits_are_as_stated() {
    let page = read("configurations.md")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let hardware = Hardware::Clone(source().join("../../.."));
    let backend = CosimBackend::new().of_hardware(hardware);
    let mut seen = 0;
    for uri in Regex::new(r"cosim:([a-z]\w*(?:\?\w+=\d+)?)")
        .unwrap()
        .captures_iter(&page)
    {
        backend.check(&uri[1]).unwrap();
        seen += 1;
    }
    assert!(seen >= 5, "{seen}");

    let configs = backend.configs().unwrap();
    let bytes = configs.get("rma4").unwrap().params["NODE_BYTES"];
    assert!(page.contains(&format!("node memory of a rank: {} bytes", grouped(bytes))));
    let boards = Backends::new().with(backend).open("cosim:rma2").unwrap();
    let largest = Job::new(boards)
        .unwrap()
        .run(1, |rank| match rank.alloc::<u8>(bytes as usize) {
            Err(alcor::Error::OutOfNodeMemory { largest, .. }) => Ok(largest),
            Err(error) => Err(error),
            Ok(_) => panic!("node memory holds more than node memory"),
        });
    let largest = grouped(largest.unwrap()[0].into());
    let says = format!("the largest allocation is {largest} bytes");
    assert!(page.contains(&says), "{says}");
}

/// A number with commas between its thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups
        .map(|group| std::str::from_utf8(group).unwrap())
        .collect();
    groups.join(",")
}

#[test]
fn blocks_that_are_synthesised_are_there() {
    let script = fs::read_to_string(source().join("../../../ci/synth")).unwrap();
    let command = Regex::new(r"ci/synth --only ([^\n`]+)").unwrap();
    let block = Regex::new(r#"(?m)^        \("([^"]+)""#).unwrap();
    let blocks: Vec<&str> = block
        .captures_iter(&script)
        .map(|found| found.get(1).unwrap().as_str())
        .collect();
    let mut seen = 0;
    for page in pages() {
        for found in command.captures_iter(&read(&page)) {
            let name = &found[1];
            assert!(
                blocks.iter().any(|block| block.contains(name)),
                "{page}: {name}"
            );
            seen += 1;
        }
    }
    assert!(seen > 0);
    // One that is not there is refused, with those that are.
    let output = Command::new("python3")
        .args(["ci/synth", "--only", "no such block"])
        .current_dir(source().join("../../.."))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let says = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        says.contains("no block is called no such block") && says.contains("crosspoint"),
        "{says}"
    );
}

/// The page for users of MPI names functions that exist, in Rust and in C.
#[test]
fn functions_for_users_of_mpi_are_there() {
    let root = source().join("../../..");
    let mut library = String::new();
    let mut folders = vec![root.join("host-lib/alcor/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                library += &fs::read_to_string(path).unwrap();
            }
        }
    }
    // The functions of each type: those between the line of an `impl` and its last line.
    let begins = Regex::new(r"^impl(?:<[^>]*>)? (\w+)").unwrap();
    let function = Regex::new(r"^    pub fn (\w+)").unwrap();
    let mut there = BTreeSet::new();
    let mut owner = String::new();
    for line in library.lines() {
        if let Some(found) = begins.captures(line) {
            owner = found[1].to_owned();
        } else if let Some(found) = function.captures(line) {
            there.insert(format!("{owner}::{}", &found[1]));
        }
    }
    let header = fs::read_to_string(root.join("host-lib/capi/include/alcor.h")).unwrap();
    let page = read("mpi.md");
    let name = Regex::new(r"`([A-Z]\w+::\w+)`|`(alcor_\w+)`").unwrap();
    let mut seen = 0;
    for found in name.captures_iter(&page) {
        match (found.get(1), found.get(2)) {
            (Some(name), _) => assert!(there.contains(name.as_str()), "{}", name.as_str()),
            (_, Some(name)) => assert!(
                header.contains(&format!(" {}(", name.as_str())),
                "{}",
                name.as_str()
            ),
            _ => {}
        }
        seen += 1;
    }
    assert!(seen > 90, "{seen}");
    // Elements and the largest tag.
    assert_eq!(alcor::TAG_UB, (1 << 26) - 1);
    assert!(page.contains("2^26 − 1"));
}
