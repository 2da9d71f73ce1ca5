//! A test that runs itself again in child processes with roles. Test programs of several crates have this file.

#![allow(dead_code, reason = "each test program uses a part")]

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

/// Variables that tell a process its role and the folder of sockets and locks.
pub const ROLE: &str = "ALCOR_TEST_ROLE";
pub const FOLDER: &str = "ALCOR_TEST_FOLDER";

/// A child process with a role. It is killed when this value is dropped.
pub struct Process {
    child: Child,
    says: BufReader<ChildStderr>,
}

impl Process {
    /// Starts the test `test` of this program with a role and further variables.
    pub fn start(test: &str, role: &str, folder: &Path, variables: &[(&str, &str)]) -> Process {
        let mut child = Command::new(env::current_exe().expect("this program"))
            .args(["--exact", test, "--nocapture"])
            .env(ROLE, role)
            .env(FOLDER, folder)
            .envs(variables.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a process");
        let says = BufReader::new(child.stderr.take().expect("what it says"));
        Process { child, says }
    }

    /// The next line, except for reports about missing ranks, which a slow machine causes.
    pub fn line(&mut self) -> String {
        loop {
            let mut line = String::new();
            self.says.read_line(&mut line).expect("a line");
            if !line.starts_with("alcor: rank") {
                return line.trim_end().to_owned();
            }
        }
    }

    /// Waits for a line behind any others, such as the progress of a model's build.
    pub fn expect(&mut self, line: &str) {
        let mut said = String::new();
        while said.lines().next_back() != Some(line) {
            let bytes = self.says.read_line(&mut said).expect("a line");
            assert_ne!(
                bytes, 0,
                "the process ended without the line {line:?}: {said}"
            );
        }
    }

    /// Kills the process. Returns its output behind the lines that were read.
    pub fn kill(mut self) -> String {
        self.child.kill().expect("it dies");
        let mut said = String::new();
        self.says.read_to_string(&mut said).expect("its output");
        said
    }

    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("its state").is_none()
    }

    pub fn ends_well(self) {
        all_end_well([self]);
    }

    /// Waits for the end. Returns all lines of a process that has failed.
    fn failure(mut self) -> Option<String> {
        let mut said = String::new();
        self.says.read_to_string(&mut said).expect("what it says");
        let ended = self.child.wait().expect("its end");
        (!ended.success()).then_some(said)
    }
}

/// Waits for the ends of processes. Shows the lines of each process that has failed.
pub fn all_end_well(all: impl IntoIterator<Item = Process>) {
    let failures: Vec<String> = all.into_iter().filter_map(Process::failure).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
