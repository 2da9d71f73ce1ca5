//! Public types can grow without a break: enums, structs with public fields and the variants of
//! `Error` are `#[non_exhaustive]`, but for those listed here.

use std::fs;
use std::path::{Path, PathBuf};

/// Types that are complete as they are.
const COMPLETE: [&str; 7] = [
    // The two directions of a transfer.
    "TransferKind",
    // The two kinds of a matching unit, and the form of its match bits.
    "AlpuKind",
    "Pattern",
    // A port must handle each effect of a write.
    "LineStep",
    // The three numbers that define a stage of the hardware's tree.
    "Stage",
    // Hidden in documents; only this crate implements the trait that uses them.
    "Copied",
    "Place",
];

/// Errors that backends make.
const MADE_BY_BACKENDS: [&str; 14] = [
    "BadNodeAddress",
    "BadOption",
    "Board",
    "BoardBusy",
    "BoardReset",
    "DeadLink",
    "Deadlock",
    "KeyInUse",
    "NoSuchRank",
    "PeerDied",
    "Program",
    "RankAway",
    "RankTaken",
    "RanksMissing",
];

/// The source files of the library.
fn sources() -> Vec<PathBuf> {
    let mut sources = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                sources.push(path);
            }
        }
    }
    sources
}

/// The name in a declaration that begins with `prefix`.
fn declared<'a>(line: &'a str, prefix: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(prefix)?;
    Some(
        rest.split(|c: char| !c.is_alphanumeric())
            .next()
            .unwrap_or(rest),
    )
}

/// The public enums and structs with public fields of a source file, and whether each can grow.
fn types(source: &str) -> Vec<(String, bool)> {
    let source = source.split("\n#[cfg(test)]\n").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut can_grow = false;
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if line == "#[non_exhaustive]" {
            can_grow = true;
        } else if let Some(name) = declared(line, "pub enum ") {
            found.push((name.to_owned(), can_grow));
            can_grow = false;
        } else if let Some(name) = declared(line, "pub struct ") {
            if line.ends_with('{') {
                let fields = lines.by_ref().take_while(|line| *line != "}");
                // All fields, so that the body is read to its end.
                if fields.filter(|line| line.starts_with("    pub ")).count() > 0 {
                    found.push((name.to_owned(), can_grow));
                }
            }
            can_grow = false;
        }
    }
    found
}

#[test]
fn public_types_can_grow() {
    let (mut fixed, mut all) = (Vec::new(), 0);
    for path in sources() {
        for (name, can_grow) in types(&fs::read_to_string(path).unwrap()) {
            all += 1;
            if !can_grow {
                fixed.push(name);
            }
        }
    }
    assert!(all > 40, "{all} types");
    fixed.sort_unstable();
    let mut complete = COMPLETE.map(str::to_owned);
    complete.sort_unstable();
    assert_eq!(fixed, complete, "types without #[non_exhaustive]");
}

#[test]
fn errors_can_grow() {
    let source = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/error.rs")).unwrap();
    let (_, body) = source.split_once("pub enum Error {\n").unwrap();
    let (body, _) = body.split_once("\n}\n").unwrap();
    let (mut fixed, mut all, mut can_grow) = (Vec::new(), 0, false);
    for line in body.lines() {
        if line == "    #[non_exhaustive]" {
            can_grow = true;
        } else if line.starts_with("    ") && line.ends_with(" {") && !line.starts_with("     ") {
            all += 1;
            if !can_grow {
                fixed.push(line.trim().trim_end_matches(" {").to_owned());
            }
            can_grow = false;
        }
    }
    assert!(all > 50, "{all} errors");
    fixed.sort_unstable();
    assert_eq!(fixed, MADE_BY_BACKENDS, "errors without #[non_exhaustive]");
}
