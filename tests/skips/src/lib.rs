//! Reports and counts skipped tests.
//!
//! Rust's test harness has no result "skipped": a test that returns early counts as passed. Such a
//! test calls [`skip`], which appends a line to the file that the environment variable [`FILE`]
//! names. CI names the file, prints it at the end and counts its lines. The crate depends on
//! nothing, so every test of the workspace can use it.
//!
//! ```
//! fn picture_is_drawn() {
//!     if !std::path::Path::new("/usr/bin/dot").exists() {
//!         return alcor_skips::skip("there is no program `dot` (Debian: graphviz)");
//!     }
//!     // ...
//! }
//! # picture_is_drawn();
//! ```
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::{env, thread};

/// The environment variable that names the file of skipped tests.
pub const FILE: &str = "ALCOR_SKIPS";

/// Reports that the calling test is skipped, with the reason: on standard error, and in the file
/// that [`FILE`] names. A line of the file has the test program, the test and the reason.
///
/// # Panics
/// If the file cannot be written, so that no test is skipped silently.
pub fn skip(reason: &str) {
    let line = line(reason);
    eprint!("skipped: {line}");
    if let Some(file) = env::var_os(FILE).filter(|file| !file.is_empty()) {
        append(file, &line).expect("the file of skipped tests can be written");
    }
}

fn line(reason: &str) -> String {
    let program = env::args_os().next().unwrap_or_default();
    let program = std::path::Path::new(&program)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    // Cargo appends a hash to the name.
    let program = program
        .rsplit_once('-')
        .map_or(program.as_str(), |(name, _)| name);
    let thread = thread::current();
    // The harness names each test's thread after the test.
    let test = thread.name().unwrap_or("a test");
    format!("{program} {test}: {reason}\n")
}

/// Appends a line by one write, so that lines of concurrent programs do not mix.
fn append(file: OsString, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    file.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_test_and_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("skips.txt");
        append(file.clone().into(), &line("there is no moon")).unwrap();
        append(file.clone().into(), &line("there is no sun")).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let test = "tests::a_line_names_the_test_and_the_reason";
        assert_eq!(
            text,
            format!("alcor_skips {test}: there is no moon\nalcor_skips {test}: there is no sun\n")
        );
        assert!(append(folder.path().into(), "a folder").is_err());
    }
}
