//! Programmers: commands that configure the FPGA.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use std::{env, thread};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use xdma::PciAddress;

use crate::{Error, Result};

/// The script for Vivado's hardware server.
const TCL: &str = include_str!("program.tcl");
/// Time for a programmer to end by itself after the request to end.
const GRACE: Duration = Duration::from_secs(5);
/// Time for which the last output of a programmer is read.
const DRAIN: Duration = Duration::from_secs(1);
/// Interval of checks for the end of a programmer.
const LOOK: Duration = Duration::from_millis(20);
/// Number of lines that an error shows.
const LAST_LINES: usize = 12;
/// Number of bytes of a line that are shown.
const LINE: u64 = 2000;

/// A programmer: the words of its command. `{bit}` stands for the bitstream, `{serial}` for the
/// cable's serial number, `{address}` for the card's PCI address, and `{tcl}` for a script for
/// Vivado's hardware server.
///
/// # Examples
/// ```
/// use alcor_deploy::{Job, Programmer};
///
/// let job = Job { bit: "/b/u280.bit".into(), serial: Some("1234".into()), address: "3b:00.0".parse()? };
/// let command = Programmer::openfpgaloader().command(&job, "/t".as_ref())?;
/// assert_eq!(command.join(" "), "openFPGALoader --cable ft4232 --ftdi-serial 1234 /b/u280.bit");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programmer {
    /// Name of the programmer.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
}

/// A job for a programmer.
#[derive(Debug, Clone)]
pub struct Job {
    /// The bitstream.
    pub bit: PathBuf,
    /// The serial number of the card's cable.
    pub serial: Option<String>,
    /// The card's address.
    pub address: PciAddress,
}

impl Programmer {
    fn new(name: &str, command: &[&str]) -> Programmer {
        Programmer {
            name: name.into(),
            command: command.iter().map(|&word| word.into()).collect(),
        }
    }

    /// Vivado, or Vivado Lab, and its hardware server on this host.
    #[must_use]
    pub fn vivado() -> Programmer {
        let command = [
            "vivado",
            "-mode",
            "batch",
            "-nolog",
            "-nojournal",
            "-notrace",
            "-source",
            "{tcl}",
            "-tclargs",
            "{serial}",
            "{bit}",
        ];
        Programmer::new("vivado", &command)
    }

    /// openFPGALoader, with the cable that is on Alveo cards.
    #[must_use]
    pub fn openfpgaloader() -> Programmer {
        let command = [
            "openFPGALoader",
            "--cable",
            "ft4232",
            "--ftdi-serial",
            "{serial}",
            "{bit}",
        ];
        Programmer::new("openfpgaloader", &command)
    }

    /// The known programmers.
    #[must_use]
    pub fn known() -> Vec<Programmer> {
        vec![Programmer::vivado(), Programmer::openfpgaloader()]
    }

    /// The words of the command for a job; `{tcl}` becomes `script`.
    ///
    /// # Errors
    /// [`Error::Placeholder`] for an unknown placeholder, and for a serial number without a value;
    /// [`Error::NoBit`].
    pub fn command(&self, job: &Job, script: &Path) -> Result<Vec<String>> {
        if !self.command.iter().any(|word| word.contains("{bit}")) {
            return Err(Error::NoBit {
                programmer: self.name.clone(),
            });
        }
        self.command
            .iter()
            .map(|word| self.fill(word, job, script))
            .collect()
    }

    fn fill(&self, word: &str, job: &Job, script: &Path) -> Result<String> {
        let mut filled = String::new();
        let mut rest = word;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((placeholder, after)) = after.split_once('}') else {
                break;
            };
            let bad = |advice| Error::Placeholder {
                programmer: self.name.clone(),
                placeholder: placeholder.chars().take(40).collect(),
                advice,
            };
            filled += before;
            filled += &match placeholder {
                "bit" => job.bit.to_string_lossy().into_owned(),
                "tcl" => script.to_string_lossy().into_owned(),
                "address" => job.address.to_string(),
                "serial" => job.serial.clone().ok_or_else(|| {
                    bad("the cable's serial number is not known: give it with --serial, or in boards.toml")
                })?,
                _ => return Err(bad("there are {bit}, {serial}, {address} and {tcl}")),
            };
            rest = after;
        }
        Ok(filled + rest)
    }

    /// Checks that the program is installed.
    pub(crate) fn check(&self) -> Result<()> {
        let program = self.command.first().cloned().unwrap_or_default();
        let path = env::var_os("PATH").unwrap_or_default();
        let is_there = if program.contains('/') {
            Path::new(&program).is_file()
        } else {
            env::split_paths(&path).any(|folder| folder.join(&program).is_file())
        };
        if is_there && !program.is_empty() {
            Ok(())
        } else {
            Err(Error::NoProgram {
                programmer: self.name.clone(),
                program,
            })
        }
    }

    /// Runs the programmer, and reports its output line by line. Ends it, with all its child
    /// processes, at the time limit or when `stop` is set.
    pub(crate) fn run(
        &self,
        job: &Job,
        timeout: Duration,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let script = tempfile::Builder::new().suffix(".tcl").tempfile();
        let started = |source| Error::Start {
            program: self.command.first().cloned().unwrap_or_default(),
            source,
        };
        let mut script = script.map_err(started)?;
        std::io::Write::write_all(&mut script, TCL.as_bytes()).map_err(started)?;
        let words = self.command(job, script.path())?;
        let (program, arguments) = words.split_first().ok_or_else(|| Error::NoBit {
            programmer: self.name.clone(),
        })?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A separate process group: this process handles Ctrl-C, and child processes end with
            // the group.
            .process_group(0)
            .spawn()
            .map_err(started)?;
        let (to, lines) = sync_channel(64);
        if let Some(output) = child.stdout.take() {
            read_lines(output, to.clone());
        }
        if let Some(output) = child.stderr.take() {
            read_lines(output, to);
        }
        let mut last = VecDeque::new();
        let ended = watch(&mut child, &lines, timeout, stop, &mut |line| {
            if last.len() == LAST_LINES {
                last.pop_front();
            }
            last.push_back(line.clone());
            tell(&line);
        });
        let (program, lines) = (program.clone(), Vec::from(last));
        match ended.map_err(started)? {
            Ended::By(status) if status.success() => Ok(()),
            Ended::By(status) => Err(Error::Programmer {
                program,
                status,
                lines,
            }),
            Ended::TimedOut => Err(Error::ProgrammerTimedOut {
                program,
                after: timeout,
                lines,
            }),
            Ended::Stopped => Err(Error::Stopped),
        }
    }
}

/// The end of a programmer.
enum Ended {
    By(ExitStatus),
    TimedOut,
    Stopped,
}

fn watch(
    child: &mut Child,
    lines: &Receiver<String>,
    timeout: Duration,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(String),
) -> std::io::Result<Ended> {
    let began = Instant::now();
    loop {
        match lines.recv_timeout(LOOK) {
            Ok(line) => tell(line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK),
        }
        if let Some(status) = child.try_wait()? {
            // The last output. A server that the programmer has started may hold the output open,
            // and continue to write.
            let ended = Instant::now();
            while let (true, Ok(line)) = (ended.elapsed() < DRAIN, lines.recv_timeout(LOOK)) {
                tell(line);
            }
            return Ok(Ended::By(status));
        }
        let is_late = began.elapsed() > timeout;
        if is_late || stop.load(Ordering::Relaxed) {
            end(child)?;
            return Ok(if is_late {
                Ended::TimedOut
            } else {
                Ended::Stopped
            });
        }
    }
}

/// Ends a programmer and its child processes, first by SIGTERM.
fn end(child: &mut Child) -> std::io::Result<()> {
    let group = i32::try_from(child.id()).map(Pid::from_raw);
    let signal = |signal| {
        // A group that has ended needs no signal.
        let _ = group.as_ref().map(|&group| killpg(group, signal));
    };
    signal(Signal::SIGTERM);
    let asked = Instant::now();
    while child.try_wait()?.is_none() {
        if asked.elapsed() > GRACE {
            signal(Signal::SIGKILL);
            child.kill()?;
            child.wait()?;
        }
        thread::sleep(LOOK);
    }
    // Child processes may have outlived the programmer.
    signal(Signal::SIGKILL);
    Ok(())
}

/// Sends a programmer's output line by line, with control characters escaped.
fn read_lines(output: impl Read + Send + 'static, to: SyncSender<String>) {
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        loop {
            let mut line = Vec::new();
            match (&mut output).take(LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let line = String::from_utf8_lossy(&line);
            let shown = |c: char| if c.is_control() { ' ' } else { c };
            let line: String = line.trim_end().chars().map(shown).collect();
            if !line.is_empty() && to.send(line).is_err() {
                return;
            }
        }
    });
}
