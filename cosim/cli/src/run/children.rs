//! The processes of a run.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use alcor::GlobalRank;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::{Handle, Signals};

use super::forward::{forward, to_stderr, to_stdout};
use super::variables;
use crate::exit::{Error, Exit};

/// How long ranks may go on when one of them has failed, or after a signal that asks them to end.
const GRACE: Duration = Duration::from_secs(2);

/// What is to be started.
pub struct Start<'a> {
    pub program: &'a [String],
    pub cluster: &'a str,
    pub ranks: u32,
    pub prefix: bool,
}

/// What the waiting thread is told.
enum News {
    Ended(u32, io::Result<Option<WaitIdStatus>>),
    Signal(i32),
}

/// A rank's process. It is reaped when this is dropped: until then, its process group can't be that of others.
struct Process {
    child: Child,
    ended: Option<i32>,
}

impl Process {
    fn group(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended, or was killed.
        let _ = self.child.wait();
    }
}

/// The processes of a run, one a rank. Dropped before their end, they are killed.
pub struct Children {
    processes: Vec<Process>,
    news: Receiver<News>,
    signals: Handle,
    readers: Vec<JoinHandle<()>>,
}

/// How the ranks ended: each one's exit code, and which failed first by the wall clock.
#[derive(Debug)]
pub struct AllEnded {
    codes: Vec<i32>,
    first: Option<u32>,
}

impl AllEnded {
    /// The code of the rank that failed first; `blamed` is what the boards know of it.
    pub fn exit(&self, blamed: Option<GlobalRank>) -> Exit {
        let code = |rank: u32| self.codes.get(rank as usize).copied().unwrap_or_default();
        let blamed = blamed.map(|rank| rank.0).filter(|&rank| code(rank) != 0);
        match blamed.or(self.first).map(code) {
            None => Exit::Passed,
            Some(code) => Exit::Program(code as u8),
        }
    }
}

impl Children {
    /// Starts all ranks.
    pub fn start(start: &Start) -> Result<Children, Error> {
        let (sender, news) = mpsc::channel();
        let failed = |source| Error::Program {
            program: start.program[0].clone(),
            source,
        };
        let signals = watch_signals(sender.clone()).map_err(failed)?;
        let mut children = Children {
            processes: Vec::new(),
            news,
            signals,
            readers: Vec::new(),
        };
        for rank in 0..start.ranks {
            children.add(start, rank, &sender).map_err(failed)?;
        }
        Ok(children)
    }

    fn add(&mut self, start: &Start, rank: u32, news: &Sender<News>) -> io::Result<()> {
        let stdin = match rank {
            // Another process group may not read from a terminal.
            0 if !io::IsTerminal::is_terminal(&io::stdin()) => Stdio::inherit(),
            _ => Stdio::null(),
        };
        let mut child = Command::new(std::env::current_exe()?)
            .args([
                "exec-rank",
                "--parent",
                &std::process::id().to_string(),
                "--",
            ])
            .args(start.program)
            .envs(variables(start, rank))
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let pid = Pid::from_child(&child);
        self.processes.push(Process { child, ended: None });
        let prefix = match start.prefix {
            true => format!("[{rank}] "),
            false => String::new(),
        };
        let name = format!("rank {rank}");
        if let Some(out) = out {
            let prefix = prefix.clone();
            let reader = move || forward(out, &mut to_stdout, &prefix);
            self.readers.push(spawn(&name, reader)?);
        }
        if let Some(err) = err {
            let reader = move || forward(err, &mut to_stderr, &prefix);
            self.readers.push(spawn(&name, reader)?);
        }
        let news = news.clone();
        spawn(&name, move || wait_for(pid, rank, &news))?;
        Ok(())
    }

    /// Waits until all have ended, and ends them when one has failed. `ended` is told of each, with its code.
    pub fn wait(mut self, ended: impl Fn(GlobalRank, i32)) -> AllEnded {
        let mut first = None;
        // When those that are left are sent SIGTERM, and when SIGKILL.
        let (mut ask_at, mut kill_at) = (None, None);
        while self.processes.iter().any(|process| process.ended.is_none()) {
            match self.next(ask_at.or(kill_at)) {
                Some(News::Ended(rank, status)) => {
                    let code = code(status);
                    self.processes[rank as usize].ended = Some(code);
                    ended(GlobalRank(rank), code);
                    if code != 0 && first.is_none() {
                        first = Some(rank);
                        eprintln!("alcor: rank {rank} {}", describe(code));
                        ask_at = ask_at.or(Some(Instant::now() + GRACE));
                    }
                }
                Some(News::Signal(signal)) => {
                    self.signal(Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
                    if matches!(signal, SIGINT | SIGTERM | SIGHUP | SIGQUIT) {
                        // The second time is meant.
                        let grace = if kill_at.is_some() {
                            Duration::ZERO
                        } else {
                            GRACE
                        };
                        (ask_at, kill_at) = (None, Some(Instant::now() + grace));
                    }
                }
                None if ask_at.take().is_some() => {
                    self.signal(Signal::TERM);
                    kill_at = kill_at.or(Some(Instant::now() + GRACE));
                }
                None => {
                    self.signal(Signal::KILL);
                    kill_at = None;
                }
            }
        }
        // What they have started and left behind ends too, and with it the last that holds their output open.
        self.kill_groups();
        for reader in self.readers.drain(..) {
            // It has no result that could be lost.
            let _ = reader.join();
        }
        let codes = self.processes.iter();
        AllEnded {
            codes: codes
                .map(|process| process.ended.unwrap_or_default())
                .collect(),
            first,
        }
    }

    /// The next that happens, or nothing if `until` comes before.
    fn next(&self, until: Option<Instant>) -> Option<News> {
        let Some(until) = until else {
            return self.news.recv().ok();
        };
        let left = until.saturating_duration_since(Instant::now());
        self.news.recv_timeout(left).ok()
    }

    /// Sends a signal to those that have not ended, and to what they have started.
    fn signal(&self, signal: Signal) {
        let left = self
            .processes
            .iter()
            .filter(|process| process.ended.is_none());
        for group in left.map(Process::group) {
            // One that has ended meanwhile needs none.
            let _ = kill_process_group(group, signal);
        }
    }

    fn kill_groups(&self) {
        for group in self.processes.iter().map(Process::group) {
            // Mostly there is nobody left.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        self.signals.close();
        if self.processes.iter().any(|process| process.ended.is_none()) {
            self.kill_groups();
        }
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(body)
}

/// Waits for the end of a process, and does not reap it.
fn wait_for(pid: Pid, rank: u32, news: &Sender<News>) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let ended = loop {
        match waitid(WaitId::Pid(pid), options) {
            Err(Errno::INTR) => {}
            ended => break ended,
        }
    };
    // Nobody is there to be told only when all have been killed.
    let _ = news.send(News::Ended(rank, ended.map_err(Into::into)));
}

fn watch_signals(news: Sender<News>) -> io::Result<Handle> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2])?;
    let handle = signals.handle();
    spawn("signals", move || {
        for signal in signals.forever() {
            if news.send(News::Signal(signal)).is_err() {
                break;
            }
        }
    })?;
    Ok(handle)
}

/// An exit code as a shell gives it.
fn code(status: io::Result<Option<WaitIdStatus>>) -> i32 {
    let code = status.ok().flatten().and_then(|status| {
        let signal = || Some(128 + status.terminating_signal()?);
        status.exit_status().or_else(signal)
    });
    code.unwrap_or(1)
}

fn describe(code: i32) -> String {
    match code {
        129.. => format!("was ended by signal {}", code - 128),
        code => format!("ended with exit code {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boards_know_best_who_failed_first() {
        let ended = AllEnded {
            codes: vec![0, 7, 137],
            first: Some(1),
        };
        assert_eq!(ended.exit(None), Exit::Program(7));
        assert_eq!(ended.exit(Some(GlobalRank(2))), Exit::Program(137));
        // One that died for the boards and ended well is not to blame.
        assert_eq!(ended.exit(Some(GlobalRank(0))), Exit::Program(7));
        let well = AllEnded {
            codes: vec![0, 0],
            first: None,
        };
        assert_eq!(well.exit(None), Exit::Passed);
    }

    #[test]
    fn codes_are_as_in_a_shell() {
        for (script, wanted) in [("exit 3", 3), ("kill -9 $$", 137), ("exit 0", 0)] {
            let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
            let (sender, news) = mpsc::channel();
            wait_for(Pid::from_child(&child), 2, &sender);
            let Ok(News::Ended(2, status)) = news.recv() else {
                panic!("{script}");
            };
            assert_eq!(code(status), wanted, "{script}");
            // It was not reaped.
            assert!(child.wait().is_ok());
        }
        assert!(describe(137).contains("signal 9") && describe(3).contains("code 3"));
    }
}
