//! The processes of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use alcor::GlobalRank;
use alcor_serve::Event;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::{Handle, Signals};

use super::forward::{forward, to_stderr, to_stdout};
use super::variables;
use crate::exit::{Error, Exit};

/// Time for which ranks may continue after the failure of a rank, or after a signal that asks them
/// to end.
const GRACE: Duration = Duration::from_secs(2);

/// The processes to be started.
pub struct Start<'a> {
    pub program: &'a [String],
    pub cluster: &'a str,
    pub ranks: u32,
    pub prefix: bool,
    /// Whether the other ranks continue when a rank fails.
    pub survives: bool,
    /// Minimum length of a wait that a rank reports, in seconds.
    pub report_waits: Option<f64>,
}

/// A message to the thread that waits for the processes.
enum Message {
    Ended(u32, io::Result<Option<WaitIdStatus>>),
    Signal(i32),
    Event(Event),
}

/// Sends the boards' events to the thread that waits for the processes.
#[derive(Clone)]
pub struct EventSender(Sender<Message>);

impl EventSender {
    /// Sends an event.
    pub fn send(&self, event: Event) {
        // The channel is closed only after all processes have been killed.
        let _ = self.0.send(Message::Event(event));
    }
}

/// The receiving end of an [`EventSender`].
pub struct EventReceiver(Receiver<Message>);

/// Makes the channel of the thread that waits for the processes.
pub fn event_channel() -> (EventSender, EventReceiver) {
    let (sender, receiver) = mpsc::channel();
    (EventSender(sender), EventReceiver(receiver))
}

/// The process of a rank. Dropping reaps the process. Until then, no other process group can have
/// the same number.
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
        // The process has ended, or was killed.
        let _ = self.child.wait();
    }
}

/// The processes of a run, one per rank. Processes that still run are killed on drop.
pub struct Children {
    processes: Vec<Process>,
    messages: Receiver<Message>,
    signals: Handle,
    readers: Vec<JoinHandle<()>>,
    /// Whether the other ranks continue when a rank fails.
    survives: bool,
}

/// The ends of the ranks, and the events that explain them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Exit codes of ended processes, by rank.
    codes: BTreeMap<u32, i32>,
    /// The rank that failed first by the wall clock.
    first: Option<u32>,
    /// Ranks that have attached.
    attached: BTreeSet<u32>,
    /// Ranks that have left the run in good order.
    left: BTreeSet<u32>,
    /// The first rank that died: it went without leaving the run.
    gone: Option<u32>,
    /// Ranks that stayed outside the library for too long.
    away: BTreeSet<u32>,
    /// Whether the report on the first failure has been returned.
    is_reported: bool,
}

impl Outcomes {
    /// Records an event of the boards.
    fn saw(&mut self, event: Event) {
        match event {
            Event::Attached(rank) => {
                self.attached.insert(rank.0);
            }
            Event::Left(rank) => {
                self.left.insert(rank.0);
            }
            Event::Died(rank) => {
                self.gone.get_or_insert(rank.0);
            }
            Event::Away(rank) => {
                self.away.insert(rank.0);
                self.gone.get_or_insert(rank.0);
            }
            _ => {}
        }
    }

    /// Records the end of a process.
    fn ended(&mut self, rank: u32, code: i32) {
        self.codes.insert(rank, code);
        if code != 0 {
            self.first.get_or_insert(rank);
        }
        if !self.left.contains(&rank) {
            self.gone.get_or_insert(rank);
        }
    }

    /// Returns the rank that caused the failure of the others.
    fn blamed(&self) -> Option<u32> {
        let is_blamed = |rank: &u32| self.codes.get(rank).is_some_and(|&code| code != 0);
        self.gone.filter(is_blamed).or(self.first)
    }

    /// Returns the report on the first failure or early end, once it is known; only once.
    fn report(&mut self) -> Option<String> {
        let first = self.first.filter(|_| !self.is_reported)?;
        // Ranks of programs that do not use Alcor never attach.
        let gone = self.gone.filter(|_| !self.attached.is_empty());
        let mut text = match gone {
            Some(gone) => {
                let code = *self.codes.get(&gone)?;
                match code {
                    0 if self.attached.contains(&gone) => format!(
                        "rank {gone} ended with exit code 0 before it had left the run (Rank::finish, alcor_finish)"
                    ),
                    0 => format!("rank {gone} ended with exit code 0 without attaching"),
                    _ => format!("rank {gone} {}", describe(code)),
                }
            }
            None => format!("rank {first} {}", describe(self.codes[&first])),
        };
        self.is_reported = true;
        if gone.is_some_and(|gone| gone != first) {
            text += &format!("; rank {first} {}", describe(self.codes[&first]));
        }
        Some(text)
    }

    /// Returns the exit code of the rank that failed first, as far as the boards know.
    pub fn exit(&self) -> Exit {
        match self.blamed() {
            None => Exit::Passed,
            Some(rank) => Exit::Program(self.codes[&rank] as u8),
        }
    }
}

impl Children {
    /// Starts all ranks.
    pub fn start(
        start: &Start,
        EventSender(sender): EventSender,
        EventReceiver(messages): EventReceiver,
    ) -> Result<Children, Error> {
        let failed = |source| Error::Program {
            program: start.program[0].clone(),
            source,
        };
        let signals = watch_signals(sender.clone()).map_err(failed)?;
        let mut children = Children {
            processes: Vec::new(),
            messages,
            signals,
            readers: Vec::new(),
            survives: start.survives,
        };
        for rank in 0..start.ranks {
            children.add(start, rank, &sender).map_err(failed)?;
        }
        Ok(children)
    }

    fn add(&mut self, start: &Start, rank: u32, sender: &Sender<Message>) -> io::Result<()> {
        let stdin = match rank {
            // A process of another process group can't read from a terminal.
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
        let prefix = if start.prefix {
            format!("[{rank}] ")
        } else {
            String::new()
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
        let sender = sender.clone();
        spawn(&name, move || wait_for(pid, rank, &sender))?;
        Ok(())
    }

    /// Waits until all processes have ended. Ends the remaining processes when a rank has failed,
    /// or when they stay outside the library. Calls `ended` with each rank that has ended.
    pub fn wait(mut self, ended: impl Fn(GlobalRank)) -> Outcomes {
        let mut all = Outcomes::default();
        // Times at which the remaining processes get SIGTERM and SIGKILL.
        let (mut ask_at, mut kill_at) = (None, None);
        while self.processes.iter().any(|process| process.ended.is_none()) {
            match self.next(ask_at.or(kill_at)) {
                Some(Message::Ended(rank, status)) => {
                    let code = code(status);
                    self.processes[rank as usize].ended = Some(code);
                    let had_failed = all.first.is_some();
                    all.ended(rank, code);
                    ended(GlobalRank(rank));
                    if all.first.is_some() && !had_failed && !self.survives {
                        ask_at = ask_at.or(Some(Instant::now() + GRACE));
                    }
                }
                Some(Message::Event(event)) => all.saw(event),
                Some(Message::Signal(signal)) => {
                    self.signal(Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
                    if matches!(signal, SIGINT | SIGTERM | SIGHUP | SIGQUIT) {
                        // A second signal ends the processes at once.
                        let grace = if kill_at.is_some() {
                            Duration::ZERO
                        } else {
                            GRACE
                        };
                        (ask_at, kill_at) = (None, Some(Instant::now() + grace));
                    }
                }
                None if ask_at.take().is_some() => {
                    let left = self.left().map(|rank| format!("rank {rank}"));
                    let left: Vec<String> = left.collect();
                    if !left.is_empty() {
                        eprintln!("alcor: {} still runs, and is ended", left.join(", "));
                    }
                    self.signal(Signal::TERM);
                    kill_at = kill_at.or(Some(Instant::now() + GRACE));
                }
                None => {
                    self.signal(Signal::KILL);
                    kill_at = None;
                }
            }
            let only_away = self.left().all(|rank| all.away.contains(&rank));
            if only_away && !all.away.is_empty() && (ask_at, kill_at) == (None, None) {
                ask_at = Some(Instant::now() + GRACE);
            }
            if let Some(text) = all.report() {
                eprintln!("alcor: {text}");
            }
        }
        if let Some(first) = all.first.filter(|_| !all.is_reported) {
            eprintln!("alcor: rank {first} {}", describe(all.codes[&first]));
        }
        // The descendants of the processes end too, and with them the last writers of the output
        // pipes.
        self.kill_groups();
        for reader in self.readers.drain(..) {
            // The thread has no result.
            let _ = reader.join();
        }
        all
    }

    /// The ranks whose processes have not ended.
    fn left(&self) -> impl Iterator<Item = u32> {
        let numbered = (0..).zip(&self.processes);
        let left = numbered.filter(|(_, process)| process.ended.is_none());
        left.map(|(rank, _)| rank)
    }

    /// Waits for the next message. Returns `None` if the time `until` comes first.
    fn next(&self, until: Option<Instant>) -> Option<Message> {
        let Some(until) = until else {
            return self.messages.recv().ok();
        };
        let left = until.saturating_duration_since(Instant::now());
        self.messages.recv_timeout(left).ok()
    }

    /// Sends a signal to the process groups that have not ended.
    fn signal(&self, signal: Signal) {
        let left = self
            .processes
            .iter()
            .filter(|process| process.ended.is_none());
        for group in left.map(Process::group) {
            // A process that has just ended needs no signal.
            let _ = kill_process_group(group, signal);
        }
    }

    fn kill_groups(&self) {
        for group in self.processes.iter().map(Process::group) {
            // The process group is usually empty.
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

/// Waits for the end of a process without reaping it.
fn wait_for(pid: Pid, rank: u32, sender: &Sender<Message>) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let ended = loop {
        match waitid(WaitId::Pid(pid), options) {
            Err(Errno::INTR) => {}
            ended => break ended,
        }
    };
    // The channel is closed only after all processes have been killed.
    let _ = sender.send(Message::Ended(rank, ended.map_err(Into::into)));
}

fn watch_signals(sender: Sender<Message>) -> io::Result<Handle> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2])?;
    let handle = signals.handle();
    spawn("signals", move || {
        for signal in signals.forever() {
            if sender.send(Message::Signal(signal)).is_err() {
                break;
            }
        }
    })?;
    Ok(handle)
}

/// The exit code as a shell reports it.
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

    /// Returns the ends of ranks in this order, after these events of the boards.
    fn ended(events: &[Event], codes: &[(u32, i32)]) -> Outcomes {
        let mut all = Outcomes::default();
        events.iter().for_each(|&event| all.saw(event));
        codes.iter().for_each(|&(rank, code)| all.ended(rank, code));
        all
    }

    #[test]
    fn the_boards_know_best_who_failed_first() {
        let died = |rank| [Event::Died(GlobalRank(rank))];
        let codes = [(0, 0), (1, 7), (2, 137)];
        assert_eq!(ended(&died(2), &codes).exit(), Exit::Program(137));
        // A rank that died for the boards and has the exit code 0 is not to blame.
        assert_eq!(ended(&died(0), &codes).exit(), Exit::Program(7));
        assert_eq!(ended(&[], &codes[1..]).exit(), Exit::Program(7));
        assert_eq!(ended(&[], &[(0, 0), (1, 0)]).exit(), Exit::Passed);
    }

    #[test]
    fn the_one_that_left_first_is_named_first() {
        let all = [0, 1].map(|rank| Event::Attached(GlobalRank(rank)));
        // Rank 1 ends during the run with the exit code 0, and rank 0 fails because of that.
        let early = "rank 1 ended with exit code 0 before it had left the run (Rank::finish, alcor_finish); \
                     rank 0 ended with exit code 1";
        let mut found = ended(&all, &[(1, 0), (0, 1)]);
        assert_eq!(found.report().as_deref(), Some(early));
        assert_eq!(found.report(), None, "the report is returned once");
        // The boards report the death before the process has ended.
        let events = [all[0], all[1], Event::Died(GlobalRank(1))];
        let mut found = ended(&events, &[(0, 1)]);
        assert_eq!(found.report(), None);
        found.ended(1, 0);
        assert_eq!(found.report().as_deref(), Some(early));
        // A rank that stays outside the library is to blame, even if its peers ended before with
        // the exit code 0.
        let events = [all[0], all[1], Event::Away(GlobalRank(1))];
        let mut found = ended(&events, &[(0, 0), (1, 143)]);
        let says = "rank 1 was ended by signal 15";
        assert_eq!(found.report().as_deref(), Some(says));
        // A rank that has left the run is not to blame.
        let events = [all[0], all[1], Event::Left(GlobalRank(1))];
        let mut found = ended(&events, &[(1, 0), (0, 3)]);
        assert_eq!(
            found.report().as_deref(),
            Some("rank 0 ended with exit code 3")
        );
        // A rank that never attached.
        let mut found = ended(&all[..1], &[(1, 0), (0, 1)]);
        let says = found.report().unwrap();
        assert!(
            says.contains("rank 1 ended with exit code 0 without attaching"),
            "{says}"
        );
        // A rank that fails by itself is named alone.
        let mut found = ended(&all, &[(1, 7)]);
        assert_eq!(
            found.report().as_deref(),
            Some("rank 1 ended with exit code 7")
        );
        assert_eq!(ended(&all, &[(1, 0), (0, 0)]).report(), None);
        // Programs that do not use Alcor.
        let mut found = ended(&[], &[(1, 0), (0, 1)]);
        assert_eq!(
            found.report().as_deref(),
            Some("rank 0 ended with exit code 1")
        );
    }

    #[test]
    fn codes_are_as_in_a_shell() {
        for (script, wanted) in [("exit 3", 3), ("kill -9 $$", 137), ("exit 0", 0)] {
            let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
            let (sender, receiver) = mpsc::channel();
            wait_for(Pid::from_child(&child), 2, &sender);
            let Ok(Message::Ended(2, status)) = receiver.recv() else {
                panic!("{script}");
            };
            assert_eq!(code(status), wanted, "{script}");
            // The process has not been reaped.
            assert!(child.wait().is_ok());
        }
        assert!(describe(137).contains("signal 9") && describe(3).contains("code 3"));
    }
}
