//! The meeting of the processes of a run: rank 0 listens, and the others connect.
//!
//! Messages are lines of text, so that a foreign process is recognised by its first line.
//!
//! | from | line | meaning |
//! |---|---|---|
//! | member | `alcor VERSION RUN CLUSTER SIZE RANK` | the first line |
//! | server | `welcome` | the rank takes part |
//! | server | `refused REASON` | the connection ends |
//! | member | `at STEP TEXT` | has reached a step |
//! | server | `all STEP TEXT TEXT ...` | all have, and said this, in the order of ranks |
//! | member | `failed REASON` | can't take part |
//! | server | `failed RANK REASON` | the same, to all |
//! | member | `left` | the rank has left the run |
//! | server | `died RANK` | a connection has ended before |
//! | server | `over` | all ranks have left or died |

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use alcor::{Error, GlobalRank};
use alcor_xdma::Peers;
use rustix::net::sockopt;

use crate::ClusterError;

/// Version of the messages.
const VERSION: &str = "1";
/// Longest line in bytes: the ID blocks of 255 boards.
const LINE: u64 = 128 << 10;
/// Interval of reports about missing ranks.
const REPORT: Duration = Duration::from_secs(10);
/// Interval of attempts to connect.
const RETRY: Duration = Duration::from_millis(100);
/// Limit of connections without a first line, beside one for each rank.
const GREETINGS: usize = 64;
/// Time after which a silent connection is closed, and for which a send may block.
const SILENCE: Duration = Duration::from_millis(if cfg!(test) { 500 } else { 10_000 });
/// Maximum time for which a process of rank 0 that can't take part serves the others.
const LINGER: Duration = Duration::from_secs(10);
/// Interval at which the server looks for new connections.
const LOOK: Duration = Duration::from_millis(20);

/// The parameters of a process, which those of a run have in common except for the rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) run: String,
    pub(crate) cluster: String,
    pub(crate) size: u32,
    pub(crate) rank: u32,
}

/// A text without spaces and control characters.
fn word(text: &str) -> String {
    let plain = |c: char| {
        if c.is_whitespace() || c.is_control() {
            '_'
        } else {
            c
        }
    };
    format!("-{}", text.chars().map(plain).collect::<String>())
}

/// A text without line breaks.
fn line(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(plain).take(4000).collect()
}

impl Hello {
    fn to_line(&self) -> String {
        let (run, cluster) = (word(&self.run), word(&self.cluster));
        format!(
            "alcor {VERSION} {run} {cluster} {} {}",
            self.size, self.rank
        )
    }

    /// Returns the rank of a first line, or the reason to refuse it. `self` is rank 0.
    fn check(&self, line: &str) -> Result<u32, String> {
        let words: Vec<&str> = line.split(' ').collect();
        let ["alcor", version, run, cluster, size, rank] = words[..] else {
            return Err("its first line is none of Alcor".into());
        };
        if version != VERSION {
            return Err(format!(
                "version {version} of the protocol; rank 0 has {VERSION}"
            ));
        }
        if run != word(&self.run) {
            return Err(format!("{OTHER_RUN} {}", word(&self.run)));
        }
        if cluster != word(&self.cluster) {
            return Err(format!("rank 0 runs on cluster {}", self.cluster));
        }
        if size != self.size.to_string() {
            return Err(format!("it has {size} ranks, and rank 0 has {}", self.size));
        }
        let rank = rank.parse().ok().filter(|&rank| rank < self.size);
        rank.ok_or_else(|| "there is no such rank".into())
    }
}

/// Begins the refusal of a process of another run, which tries again.
const OTHER_RUN: &str = "this is run";

/// The reason why processes did not meet.
#[derive(Debug)]
pub(crate) enum MeetError {
    Own(ClusterError),
    Died(GlobalRank),
}

impl MeetError {
    /// Converts into the library's error for the cluster `uri`.
    pub(crate) fn of(self, uri: &str) -> Error {
        match self {
            MeetError::Own(error) => error.on(uri),
            MeetError::Died(rank) => Error::PeerDied {
                board: uri.to_owned(),
                rank,
            },
        }
    }
}

/// A process of the run.
#[derive(Debug)]
pub(crate) struct Member {
    at: String,
    is_server: bool,
    stream: TcpStream,
    news: Mutex<Receiver<String>>,
    has_left: Arc<AtomicBool>,
}

impl Member {
    /// Meets the other processes. Rank 0 listens at `port`. `peers` gets the deaths of other ranks.
    pub(crate) fn join(
        host: &str,
        port: u16,
        hello: &Hello,
        peers: &Peers,
    ) -> Result<Arc<Member>, MeetError> {
        let is_server = hello.rank == 0;
        if is_server {
            listen(host, port, hello).map_err(MeetError::Own)?;
        }
        let host = if is_server { "localhost" } else { host };
        let (stream, lines) = connect(host, port, hello).map_err(MeetError::Own)?;
        let (sender, news) = mpsc::channel();
        let member = Member {
            at: format!("{host}:{port}"),
            is_server,
            stream,
            news: Mutex::new(news),
            has_left: Arc::default(),
        };
        let (peers, has_left) = (peers.clone(), Arc::clone(&member.has_left));
        thread::spawn(move || hear(lines, &sender, &peers, &has_left));
        Ok(Arc::new(member))
    }

    fn say(&self, line: &str) {
        // The reader sees the end of a broken connection.
        let _ = (&self.stream).write_all(format!("{line}\n").as_bytes());
    }

    fn hear(&self) -> Option<String> {
        let news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        news.recv().ok()
    }

    /// Waits until all ranks have reached `step`. Returns the texts of all ranks, in their order.
    pub(crate) fn gather(&self, step: &str, text: &str) -> Result<Vec<String>, MeetError> {
        self.say(&format!("at {step} {}", word(text)));
        let Some(found) = self.hear() else {
            return Err(MeetError::Died(GlobalRank(0)));
        };
        let mut words = found.split(' ');
        let rank = |text: Option<&str>| Some(GlobalRank(text?.parse().ok()?));
        match words.next() {
            Some("all") if words.next() == Some(step) => Ok(words
                .map(|text| text.get(1..).unwrap_or_default().to_owned())
                .collect()),
            Some("died") if let Some(rank) = rank(words.next()) => Err(MeetError::Died(rank)),
            Some("failed") if let Some(rank) = rank(words.next()) => {
                let reason = words.collect::<Vec<_>>().join(" ");
                Err(MeetError::Own(ClusterError::PeerFailed { rank, reason }))
            }
            _ => Err(MeetError::Own(self.unreadable(&found))),
        }
    }

    pub(crate) fn unreadable(&self, found: &str) -> ClusterError {
        ClusterError::Message {
            at: self.at.clone(),
            found: found.chars().take(80).collect(),
        }
    }

    /// Tells the others that this process can't take part. The process of rank 0 then serves them for
    /// a limited time: a process that connects late gets the reason, too.
    pub(crate) fn fail(&self, error: &Error) {
        self.say(&format!("failed {}", line(&error.to_string())));
        self.serve_others(LINGER);
        self.close();
    }

    /// Leaves the run. The process of rank 0 waits for the others, because it serves them.
    pub(crate) fn leave(&self) {
        if self.has_left.swap(true, Ordering::Relaxed) {
            return;
        }
        self.say("left");
        self.serve_others(Duration::MAX);
    }

    /// Waits, in the process of rank 0, until all ranks have ended, for a time at most.
    fn serve_others(&self, limit: Duration) {
        if !self.is_server {
            return;
        }
        let end = Instant::now().checked_add(limit);
        let news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = end.map_or(Duration::MAX, |end| end.duration_since(Instant::now()));
            match news.recv_timeout(left) {
                Ok(line) if line != "over" => {}
                _ => return,
            }
        }
    }

    /// Ends the connection. The others take the rank for dead unless it has left.
    pub(crate) fn close(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.close();
    }
}

/// Reads the server's lines. Passes on those that a call waits for, and reports deaths.
/// The end of the lines is the death of rank 0, but not for a rank that has left.
fn hear(mut lines: impl BufRead, sender: &Sender<String>, peers: &Peers, has_left: &AtomicBool) {
    while let Some(line) = read_line(&mut lines) {
        if let Some(rank) = line
            .strip_prefix("died ")
            .and_then(|rank| rank.parse().ok())
        {
            peers.report(GlobalRank(rank));
        }
        let _ = sender.send(line);
    }
    if !has_left.load(Ordering::Relaxed) {
        peers.report(GlobalRank(0));
    }
}

/// Reads a line. `None` at the end of the connection, and for a line that is too long.
fn read_line(lines: &mut impl BufRead) -> Option<String> {
    let mut text = String::new();
    lines.by_ref().take(LINE).read_line(&mut text).ok()?;
    text.ends_with('\n').then(|| text.trim_end().to_owned())
}

/// Reads the first line of a connection. `None` also after [`SILENCE`], however many bytes have come.
fn read_first(stream: &TcpStream, lines: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let ends = Instant::now() + SILENCE;
    let mut line = Vec::new();
    while (line.len() as u64) < LINE {
        let left = ends.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        stream.set_read_timeout(Some(left))?;
        let found = lines.fill_buf()?;
        if found.is_empty() {
            break;
        }
        let end = found.iter().position(|&byte| byte == b'\n');
        let taken = end.map_or(found.len(), |at| at + 1);
        line.extend_from_slice(&found[..taken]);
        lines.consume(taken);
        if end.is_some() {
            let line = String::from_utf8(line).ok();
            return Ok(line.map(|line| line.trim_end().to_owned()));
        }
    }
    Ok(None)
}

/// Lets the kernel find out that the other host is gone: within half a minute.
fn watch(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(10))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(5))?;
    sockopt::set_tcp_keepcnt(stream, 4)?;
    stream.set_nodelay(true)
}

/// Connects to rank 0, in any time. Reports the reason for the wait.
fn connect(
    host: &str,
    port: u16,
    hello: &Hello,
) -> Result<(TcpStream, BufReader<TcpStream>), ClusterError> {
    let at = format!("{host}:{port}");
    let attempt = || -> io::Result<_> {
        let stream = TcpStream::connect((host, port))?;
        if stream.local_addr()? == stream.peer_addr()? {
            // The kernel chose this port for the connection itself.
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        watch(&stream)?;
        (&stream).write_all(format!("{}\n", hello.to_line()).as_bytes())?;
        let mut lines = BufReader::new(stream.try_clone()?);
        // A foreign server may accept the connection and never answer.
        stream.set_read_timeout(Some(SILENCE))?;
        let answer = read_line(&mut lines).ok_or(io::ErrorKind::ConnectionReset)?;
        stream.set_read_timeout(None)?;
        Ok((stream, lines, answer))
    };
    let mut reported = Instant::now();
    loop {
        let why = match attempt() {
            Ok((stream, lines, answer)) if answer == "welcome" => return Ok((stream, lines)),
            Ok((_, _, answer)) => {
                let reason = answer.trim_start_matches("refused ").to_owned();
                if !reason.starts_with(OTHER_RUN) {
                    return Err(ClusterError::Refused { at, reason });
                }
                reason
            }
            Err(error) => error.to_string(),
        };
        if reported.elapsed() >= REPORT {
            reported = Instant::now();
            eprintln!("alcor: rank {} waits for rank 0 at {at}: {why}", hello.rank);
        }
        thread::sleep(RETRY);
    }
}

/// Starts the server of a run.
fn listen(host: &str, port: u16, hello: &Hello) -> Result<(), ClusterError> {
    let bound = if host == "localhost" {
        TcpListener::bind((Ipv4Addr::LOCALHOST, port))
    } else {
        TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
            .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))
    };
    let listening = bound.and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    let listener = listening.map_err(|source| ClusterError::Listen {
        at: format!("{host}:{port}"),
        source,
    })?;
    let hello = hello.clone();
    thread::spawn(move || Server::new(hello).serve(listener));
    Ok(())
}

/// An event of the server.
enum Event {
    /// A first line.
    Came(TcpStream, BufReader<TcpStream>, String),
    Said(u32, String),
    /// The connection of a rank has ended.
    Gone(u32),
}

/// The server of a run, in the process of rank 0. It knows nothing of boards.
struct Server {
    hello: Hello,
    members: BTreeMap<u32, TcpStream>,
    /// The step that ranks have reached, and their messages.
    step: String,
    reached: BTreeMap<u32, String>,
    /// Rank 0 has left in good order.
    has_finished: bool,
    /// Ranks that have left the run, in any way.
    ended: BTreeSet<u32>,
    /// Lines about the ranks that did not leave in good order, in the order of their ends.
    losses: Vec<String>,
    sender: Sender<Event>,
    events: Receiver<Event>,
}

impl Server {
    fn new(hello: Hello) -> Server {
        let (sender, events) = mpsc::channel();
        Server {
            hello,
            members: BTreeMap::new(),
            step: String::new(),
            reached: BTreeMap::new(),
            has_finished: false,
            ended: BTreeSet::new(),
            losses: Vec::new(),
            sender,
            events,
        }
    }

    fn serve(mut self, listener: TcpListener) {
        self.meet(&listener);
        // A process of the next run finds no listener, and tries again.
        drop(listener);
        let mut reported = Instant::now();
        while self.ended.len() < self.members.len() {
            match self.events.recv_timeout(REPORT) {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.has_finished && reported.elapsed() >= REPORT {
                reported = Instant::now();
                let missing = self.list(|rank| !self.ended.contains(&rank));
                eprintln!("alcor: rank 0 has finished, and waits for the end of {missing}");
            }
        }
        self.tell("over");
    }

    /// Waits until all processes have come.
    fn meet(&mut self, listener: &TcpListener) {
        let mut reported = Instant::now();
        let limit = GREETINGS + self.hello.size as usize;
        let greetings = Arc::new(());
        while self.members.len() < self.hello.size as usize {
            while let Ok((stream, _)) = listener.accept() {
                // A connection beyond the limit, or without a thread, is closed. A process tries again.
                if Arc::strong_count(&greetings) <= limit {
                    let (sender, greeting) = (self.sender.clone(), Arc::clone(&greetings));
                    let _ = thread::Builder::new().spawn(move || {
                        greet(stream, &sender);
                        drop(greeting);
                    });
                }
            }
            if let Ok(event) = self.events.recv_timeout(LOOK) {
                self.take(event);
            }
            if reported.elapsed() >= REPORT {
                reported = Instant::now();
                let missing = self.list(|rank| !self.members.contains_key(&rank));
                eprintln!(
                    "alcor: rank 0 of {} waits for {missing} to attach to cluster {}",
                    self.hello.size, self.hello.cluster
                );
            }
        }
    }

    fn list(&self, is_listed: impl Fn(u32) -> bool) -> String {
        let ranks: Vec<String> = (0..self.hello.size)
            .filter(|&rank| is_listed(rank))
            .map(|rank| rank.to_string())
            .collect();
        match &ranks[..] {
            [one] => format!("rank {one}"),
            [first @ .., last] => format!("ranks {} and {last}", first.join(", ")),
            [] => "no rank".into(),
        }
    }

    /// Tells all ranks.
    fn tell(&self, line: &str) {
        for mut stream in self.members.values() {
            let _ = stream.write_all(format!("{line}\n").as_bytes());
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Came(stream, lines, first) => self.welcome(stream, lines, &first),
            Event::Said(rank, line) => self.said(rank, &line),
            Event::Gone(rank) => {
                self.lost(rank, format!("died {rank}"));
            }
        }
    }

    /// Tells all ranks that a rank takes no part any more, unless it has left.
    fn lost(&mut self, rank: u32, line: String) {
        if self.ended.insert(rank) {
            self.tell(&line);
            self.losses.push(line);
        }
    }

    fn welcome(&mut self, mut stream: TcpStream, lines: BufReader<TcpStream>, first: &str) {
        let checked = self.hello.check(first).and_then(|rank| {
            if self.members.contains_key(&rank) {
                return Err(format!("there is a process of rank {rank} already"));
            }
            Ok(rank)
        });
        let answer = match &checked {
            Ok(_) => "welcome".to_owned(),
            Err(reason) => format!("refused {}", line(reason)),
        };
        let _ = stream.write_all(format!("{answer}\n").as_bytes());
        let Ok(rank) = checked else { return };
        // The losses before this process came.
        for lost in &self.losses {
            let _ = stream.write_all(format!("{lost}\n").as_bytes());
        }
        self.members.insert(rank, stream);
        let sender = self.sender.clone();
        thread::spawn(move || {
            let mut lines = lines;
            while let Some(line) = read_line(&mut lines) {
                let _ = sender.send(Event::Said(rank, line));
            }
            let _ = sender.send(Event::Gone(rank));
        });
    }

    fn said(&mut self, rank: u32, line: &str) {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        match what {
            "left" => {
                self.has_finished |= rank == 0;
                self.ended.insert(rank);
            }
            "failed" => {
                self.lost(rank, format!("failed {rank} {rest}"));
            }
            "at" => {
                let (step, text) = rest.split_once(' ').unwrap_or((rest, ""));
                if self.reached.is_empty() {
                    step.clone_into(&mut self.step);
                }
                if step == self.step {
                    self.reached.insert(rank, text.to_owned());
                }
                if self.reached.len() == self.hello.size as usize {
                    let texts: Vec<String> =
                        std::mem::take(&mut self.reached).into_values().collect();
                    self.tell(&format!("all {step} {}", texts.join(" ")));
                }
            }
            _ => {}
        }
    }
}

/// Reads the first line of a connection.
fn greet(stream: TcpStream, sender: &Sender<Event>) {
    let read = || -> io::Result<_> {
        // A listener that does not block has connections that do.
        stream.set_nonblocking(false)?;
        watch(&stream)?;
        stream.set_write_timeout(Some(SILENCE))?;
        let mut lines = BufReader::new(stream.try_clone()?);
        let first = read_first(&stream, &mut lines)?;
        stream.set_read_timeout(None)?;
        Ok((lines, first))
    };
    if let Ok((lines, Some(first))) = read() {
        let _ = sender.send(Event::Came(stream, lines, first));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU16;

    use super::*;

    fn hello(run: &str, rank: u32) -> Hello {
        Hello {
            run: run.into(),
            cluster: "lab".into(),
            size: 3,
            rank,
        }
    }

    /// A free port outside the range from which the kernel gives ports.
    fn port() -> u16 {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        loop {
            let next = NEXT.fetch_add(1, Ordering::Relaxed);
            let own = (std::process::id() as u16).wrapping_mul(16);
            let port = 8_000 + own.wrapping_add(next) % 12_000;
            if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return port;
            }
        }
    }

    fn join(port: u16, rank: u32) -> (Arc<Member>, Peers) {
        let peers = Peers::default();
        let member = Member::join("localhost", port, &hello("one", rank), &peers);
        (member.unwrap(), peers)
    }

    fn joined() -> [(Arc<Member>, Peers); 3] {
        let port = port();
        [0, 1, 2].map(|rank| join(port, rank))
    }

    /// Calls `action` for each rank in a thread of its own.
    fn each<T: Send>(
        all: &[(Arc<Member>, Peers)],
        action: impl Fn(usize, &Member) -> T + Sync,
    ) -> Vec<T> {
        thread::scope(|scope| {
            let threads: Vec<_> = (0..)
                .zip(all)
                .map(|(rank, (member, _))| (rank, member, &action))
                .map(|(rank, member, action)| scope.spawn(move || action(rank, member)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        })
    }

    fn died(peers: &Peers) -> GlobalRank {
        loop {
            match peers.died() {
                Some(rank) => return rank,
                None => thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    #[test]
    fn ranks_gather_step_by_step_and_leave() {
        let all = joined();
        for step in ["first", "second"] {
            let said = each(&all, |rank, member| {
                member.gather(step, &format!("{step}{rank}")).unwrap()
            });
            let expected = [0, 1, 2].map(|rank| format!("{step}{rank}"));
            assert!(said.iter().all(|said| *said == expected), "{said:?}");
        }
        // A text without characters, and one with those that separate texts.
        let said = each(&all, |rank, member| {
            member.gather("third", ["", "a b", "c\nd"][rank]).unwrap()
        });
        assert_eq!(said[1], ["", "a_b", "c_d"]);
        each(&all, |_, member| member.leave());
        each(&all, |_, member| member.close());
        assert_eq!(all[0].1.died(), None);
        assert_eq!(all[1].1.died(), None);
    }

    #[test]
    fn a_death_is_told_to_ranks_that_wait_and_to_ranks_that_do_not() {
        let all = joined();
        each(&all, |_, member| member.gather("step", "").unwrap());
        all[1].0.close();
        for (_, peers) in [&all[0], &all[2]] {
            assert_eq!(died(peers), GlobalRank(1));
        }
        let told = all[2].0.gather("next", "");
        assert!(matches!(told, Err(MeetError::Died(GlobalRank(1)))));
        // Rank 0 waits for no dead rank.
        all[2].0.leave();
        all[0].0.leave();
    }

    #[test]
    fn the_death_of_rank_0_is_the_end_of_its_connections() {
        let port = port();
        let (one, peers) = {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
            let one = thread::spawn(move || join(port, 1));
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"welcome\n").unwrap();
            one.join().unwrap()
        };
        assert_eq!(died(&peers), GlobalRank(0));
        assert!(matches!(
            one.gather("step", ""),
            Err(MeetError::Died(GlobalRank(0)))
        ));
    }

    /// The server ends with the process of rank 0, so a rank 0 that can't take part waits for the others.
    /// All get the reason of the rank that failed first.
    #[test]
    fn a_rank_that_comes_after_a_failure_is_told() {
        for failing in [0, 1] {
            let port = port();
            let (zero, _) = join(port, 0);
            let (one, _) = join(port, 1);
            let fail = |member: &Member, reason: &str| {
                member.fail(&Error::Board {
                    board: "lab".into(),
                    source: reason.into(),
                });
            };
            let is_told = |member: &Member| {
                let told = member.gather("step", "");
                let Err(MeetError::Own(ClusterError::PeerFailed { rank, reason })) = told else {
                    return false;
                };
                rank == GlobalRank(failing) && reason == "lab: no card"
            };
            thread::scope(|scope| {
                let late = if failing == 0 {
                    let zero = scope.spawn(move || fail(&zero, "no card"));
                    assert!(is_told(&one));
                    drop(one);
                    zero
                } else {
                    fail(&one, "no card");
                    assert!(is_told(&zero));
                    scope.spawn(move || fail(&zero, "rank 1 failed"))
                };
                thread::sleep(Duration::from_millis(50));
                assert!(!late.is_finished());
                let (two, _) = join(port, 2);
                assert!(is_told(&two));
            });
        }
    }

    #[test]
    fn strangers_are_refused_with_the_reason() {
        let port = port();
        let (_zero, _) = join(port, 0);
        let (_one, _) = join(port, 1);
        let answer = |first: &str| {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            (&stream).write_all(first.as_bytes()).unwrap();
            read_line(&mut BufReader::new(stream)).unwrap_or_default()
        };
        for (first, reason) in [
            ("GET / HTTP/1.1\n", "none of Alcor"),
            ("alcor 9 -one -lab 3 2\n", "version 9"),
            ("alcor 1 -two -lab 3 2\n", OTHER_RUN),
            ("alcor 1 -one -lob 3 2\n", "cluster lab"),
            ("alcor 1 -one -lab 4 2\n", "4 ranks"),
            ("alcor 1 -one -lab 3 3\n", "no such rank"),
            ("alcor 1 -one -lab 3 1\n", "rank 1 already"),
        ] {
            let found = answer(first);
            assert!(found.contains(reason), "{first}: {found}");
        }
        // Half a line, nothing, and a line without an end do not keep the others from coming.
        let half = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        (&half).write_all(b"alcor 1").unwrap();
        let _silent = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let endless = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let _ = (&endless).write_all(&vec![b'x'; LINE as usize + 1]);
        // A byte from time to time does not keep a connection open.
        let slow = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let began = Instant::now();
        while (&slow).write_all(b"x").is_ok() {
            assert!(began.elapsed() < 6 * SILENCE, "a slow stranger stays");
            thread::sleep(SILENCE / 4);
        }
        // Connections beyond the limit are closed at once.
        let connect = |_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let many: Vec<TcpStream> = (0..GREETINGS + 40).map(connect).collect();
        thread::sleep(SILENCE / 4);
        let is_closed = |stream: &&TcpStream| {
            stream.set_nonblocking(true).unwrap();
            matches!((&**stream).read(&mut [0]), Ok(0))
        };
        let closed = many.iter().filter(is_closed).count();
        assert!(closed >= 30, "{closed} of {} closed", many.len());
        let (two, _) = join(port, 2);
        two.say("at step -");
        two.leave();
    }

    #[test]
    fn a_server_that_never_answers_is_left() {
        let port = port();
        let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        thread::scope(|scope| {
            let one = scope.spawn(|| join(port, 1));
            let held = silent.accept().unwrap();
            drop(silent);
            let (_zero, _) = join(port, 0);
            let (one, _) = one.join().unwrap();
            one.leave();
            drop(held);
        });
    }
}
