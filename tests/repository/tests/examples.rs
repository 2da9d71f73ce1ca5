//! Every public function of the libraries has an example, or an example of the same file calls it.

use std::fs;
use std::path::{Path, PathBuf};

/// The libraries, and the least number of their public functions.
const LIBRARIES: [(&str, usize); 2] = [("host-lib/alcor", 200), ("host-lib/xdma-rs", 60)];

/// The source files of a crate.
fn sources(library: &str) -> Vec<PathBuf> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut sources = Vec::new();
    let mut folders = vec![Path::new(root).join(library).join("src")];
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

/// The name of a public function that a line declares.
fn declared(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub ")?;
    let rest = rest.strip_prefix("const ").unwrap_or(rest);
    let rest = rest.strip_prefix("fn ")?;
    rest.split(['<', '(']).next()
}

/// Whether a text calls a function: `name(` or `name::<`, behind a character of no name.
fn calls(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = &text[at + name.len()..];
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
            && (after.starts_with('(') || after.starts_with("::<"))
    })
}

/// The public functions of a source file without an example, and the number of all.
fn without_example(source: &str) -> (Vec<String>, usize) {
    let source = source.split("\n#[cfg(test)]\n").next().unwrap_or_default();
    let (mut examples, mut functions) = (String::new(), Vec::new());
    let (mut is_code, mut has_example) = (false, false);
    for line in source.lines() {
        let line = line.trim_start();
        let doc = line.strip_prefix("///").or(line.strip_prefix("//!"));
        if let Some(doc) = doc {
            if doc.trim_start().starts_with("```") {
                (is_code, has_example) = (!is_code, true);
            } else if is_code {
                examples.push_str(doc);
                examples.push('\n');
            }
        } else if let Some(name) = declared(line) {
            functions.push((name.to_owned(), has_example));
            has_example = false;
        } else if line.is_empty() || line.ends_with(['{', '}', ';']) {
            has_example = false;
        }
    }
    let all = functions.len();
    functions.retain(|(name, has_example)| !has_example && !calls(&examples, name));
    (functions.into_iter().map(|(name, _)| name).collect(), all)
}

#[test]
fn every_public_function_has_an_example() {
    for (library, least) in LIBRARIES {
        let (mut missing, mut all) = (Vec::new(), 0);
        for path in sources(library) {
            let (names, count) = without_example(&fs::read_to_string(&path).unwrap());
            all += count;
            let place = |name| format!("{}: {name}", path.display());
            missing.extend(names.into_iter().map(place));
        }
        assert!(all > least, "{library}: {all} functions");
        assert_eq!(missing, [""; 0], "functions without an example");
    }
}

#[test]
fn functions_without_an_example_are_found() {
    let source = "/// Text.\n    pub fn lonely(&self) {\n}\n/// ```\n/// it.shown();\n/// ```\n\
                  pub fn own<T>() {}\npub const fn shown() {}\n/// Alone.\npub fn ow() {}\n\
                  #[cfg(test)]\npub fn tested() {}";
    let (missing, all) = without_example(source);
    assert_eq!(
        (missing, all),
        (vec!["lonely".to_owned(), "ow".to_owned()], 4)
    );
}
