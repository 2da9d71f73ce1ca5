//! The listening server, and the state that all connections share.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use alcor::{Board, Cluster, Error, GlobalRank, LocalRank, Port};
use alcor_cosim::{SimBoard, SimCluster};
use alcor_shm::channel::{self, Channel};
use alcor_shm::wire::Description;

use crate::{Event, connection};

/// Largest number of connections.
const CONNECTIONS: usize = 1024;

/// Time within which the end of a connection must be noticed.
const SETTLE: Duration = Duration::from_secs(5);

/// Errors of serving a cluster.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Another cluster has this name.
    #[error("a cluster `{0}` is running already; choose another name")]
    NameTaken(String),
    /// The system refused a call.
    #[error("cannot serve the cluster `{name}`: {source}")]
    Io {
        /// The cluster's name.
        name: String,
        /// Cause of the error.
        source: io::Error,
    },
    /// The boards can't be made ready.
    #[error("{0}")]
    Board(#[from] Error),
}

alcor_errors::debug_as_text!(ServeError);

/// Whether a new run follows when all ranks have left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// The next rank that attaches begins the next run.
    Many,
    /// No run follows: a rank that attaches too late gets an error that names the dead rank.
    One,
}

/// A cluster that other processes attach to, until it is dropped.
pub struct Server {
    name: String,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

impl Server {
    /// Makes the boards ready for a run of this number of ranks, and listens under the given name,
    /// or a unique name.
    ///
    /// # Errors
    /// When the name is taken, or the boards have fewer ranks.
    pub fn start(
        cluster: Arc<SimCluster>,
        ranks: u32,
        runs: Runs,
        name: Option<String>,
        watch: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Server, ServeError> {
        let boards = cluster.cluster()?;
        Server::start_over(cluster, boards, ranks, runs, name, watch)
    }

    /// As [`Server::start`], with the boards of the simulation under layers: `boards` are the
    /// boards of `cluster`, and ranks use the ports of `boards`.
    ///
    /// # Errors
    /// As for [`Server::start`].
    pub fn start_over(
        cluster: Arc<SimCluster>,
        boards: Cluster,
        ranks: u32,
        runs: Runs,
        name: Option<String>,
        watch: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Server, ServeError> {
        let name =
            name.unwrap_or_else(|| format!("{}-{:08x}", std::process::id(), rand::random::<u32>()));
        boards.prepare(ranks)?;
        let failed = |name: &str| {
            let name = name.to_owned();
            move |source: io::Error| match source.kind() {
                io::ErrorKind::AddrInUse => ServeError::NameTaken(name),
                _ => ServeError::Io { name, source },
            }
        };
        let listener = channel::listen(&name).map_err(failed(&name))?;
        let shared = Arc::new(Shared {
            sim: cluster,
            boards,
            ranks,
            runs,
            watch: Box::new(watch),
            run: Mutex::new(Run {
                attached: 0,
                is_fresh: true,
                dead: None,
                away: BTreeSet::new(),
            }),
            connections: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        let listening = Arc::clone(&shared);
        let listener = thread::Builder::new()
            .name("listener".into())
            .spawn(move || listen(&listener, &listening))
            .map_err(failed(&name))?;
        Ok(Server {
            name,
            shared,
            listener: Some(listener),
        })
    }

    /// The URI for programs: `shm:<name>`.
    #[must_use]
    pub fn uri(&self) -> String {
        format!("{}:{}", alcor_shm::ShmBackend::SCHEME, self.name)
    }

    /// Ranks of a run.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.shared.ranks
    }

    /// The boards.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        &self.shared.boards
    }

    /// Notifies the boards that a rank's process has ended. If the rank had yet to attach or to
    /// leave, its peers get an error.
    pub fn ended(&self, rank: GlobalRank) {
        let per_board = self.shared.sim.boards()[0].shape().ranks;
        if let Some(board) = self.shared.sim.boards().get((rank.0 / per_board) as usize) {
            board.kill(LocalRank(rank.0 % per_board));
        }
    }
}

impl Drop for Server {
    /// Ends all connections. Attached ranks get an error that the simulator is gone.
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // This connection wakes the listener. If the connection fails, the listener has ended.
        let _ = Channel::connect(&self.name);
        if let Some(listener) = self.listener.take() {
            // The thread has no result.
            let _ = listener.join();
        }
    }
}

/// Accepts connections, each with a separate thread.
fn listen(listener: &UnixListener, shared: &Arc<Shared>) {
    thread::scope(|scope| {
        for number in 0.. {
            let accepted = listener.accept();
            if shared.stop.load(Ordering::SeqCst) {
                break;
            }
            let Ok((stream, _)) = accepted else {
                // Most likely too many files are open: others will be closed.
                thread::sleep(Duration::from_millis(10));
                continue;
            };
            let Ok(channel) = Channel::accept(stream) else {
                continue;
            };
            if !shared.enter(number, &channel) {
                continue;
            }
            let thread = thread::Builder::new().name(format!("connection {number}"));
            let spawned = thread.spawn_scoped(scope, move || {
                connection::serve(channel, shared);
                shared.connections().remove(&number);
            });
            if spawned.is_err() {
                shared.connections().remove(&number);
            }
        }
        // The waits of connections end with the connections.
        for connection in shared.connections().values() {
            connection.hang_up();
        }
    });
}

/// The state of the run.
struct Run {
    /// Ports that are attached.
    attached: u32,
    /// Whether the boards have been made ready since the last run.
    is_fresh: bool,
    /// The rank that died first in the last run.
    dead: Option<GlobalRank>,
    /// Ranks that stayed outside the library for too long.
    away: BTreeSet<u32>,
}

/// The state that all connections share.
pub(crate) struct Shared {
    pub(crate) sim: Arc<SimCluster>,
    boards: Cluster,
    ranks: u32,
    runs: Runs,
    watch: Box<dyn Fn(Event) + Send + Sync>,
    run: Mutex<Run>,
    connections: Mutex<BTreeMap<u64, Channel>>,
    stop: AtomicBool,
}

impl Shared {
    fn run(&self) -> MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> MutexGuard<'_, BTreeMap<u64, Channel>> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a connection, if there is room for it.
    fn enter(&self, number: u64, channel: &Channel) -> bool {
        let mut connections = self.connections();
        match channel.try_clone() {
            Ok(channel) if connections.len() < CONNECTIONS => {
                connections.insert(number, channel);
                true
            }
            _ => false,
        }
    }

    /// The description of the boards for clients.
    pub(crate) fn description(&self) -> Description {
        Description {
            uri: self.sim.name().to_owned(),
            dims: self.boards.topology().dims().to_vec(),
            boards: self
                .sim
                .boards()
                .iter()
                .map(|board| board.name().to_owned())
                .collect(),
        }
    }

    /// Waits until the connections of ended processes have ended, so that the next process does not
    /// find their ports attached.
    fn settle(&self) {
        let start = Instant::now();
        while start.elapsed() < SETTLE && self.connections().values().any(Channel::is_gone) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The same board under the layers.
    fn layered(&self, board: &SimBoard) -> &Arc<dyn Board> {
        &self.boards.boards()[board.number() as usize]
    }

    /// Resets a board for a client that begins a run.
    pub(crate) fn reset(&self, board: &SimBoard) -> Result<(), Error> {
        self.settle();
        let mut run = self.run();
        self.layered(board).reset()?;
        run.is_fresh = true;
        Ok(())
    }

    /// Attaches a rank; the first after a run begins the next, if there is to be one.
    pub(crate) fn attach(&self, board: &SimBoard, rank: u32) -> Result<Box<dyn Port>, Error> {
        let mut run = self.run();
        if run.attached == 0 && !run.is_fresh {
            if let (Runs::One, Some(rank)) = (self.runs, run.dead) {
                let board = self.sim.name().to_owned();
                return Err(Error::PeerDied { board, rank });
            }
            self.boards.prepare(self.ranks)?;
            (run.dead, run.away) = (None, BTreeSet::new());
        }
        let port = Arc::clone(self.layered(board)).attach(LocalRank(rank))?;
        run.is_fresh = false;
        run.attached += 1;
        (self.watch)(Event::Attached(global(board, rank)));
        Ok(port)
    }

    /// Reports ranks that have been away for too long. Each rank is reported once in a run.
    pub(crate) fn are_away(&self, ranks: &[GlobalRank]) {
        let away = &mut self.run().away;
        for &rank in ranks.iter().filter(|rank| away.insert(rank.0)) {
            (self.watch)(Event::Away(rank));
        }
    }

    /// Notifies all ranks of the death of a rank's process, before any consequence of the death.
    pub(crate) fn died(&self, board: &SimBoard, rank: u32) {
        self.note_death(&mut self.run(), board, rank);
        board.kill(LocalRank(rank));
    }

    fn note_death(&self, run: &mut Run, board: &SimBoard, rank: u32) {
        run.dead.get_or_insert(global(board, rank));
        (self.watch)(Event::Died(global(board, rank)));
    }

    /// Drops the port of a rank that has left or died. [`Shared::died`] has reported the death of a
    /// process.
    pub(crate) fn part(&self, board: &SimBoard, rank: u32, port: Box<dyn Port>, end: End) {
        let mut run = self.run();
        match end {
            End::Left => (self.watch)(Event::Left(global(board, rank))),
            End::Dropped => self.note_death(&mut run, board, rank),
            End::Died => {}
        }
        drop(port);
        run.attached -= 1;
    }
}

/// The end of a rank's port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The rank left the run.
    Left,
    /// The process dropped the port before.
    Dropped,
    /// The process died.
    Died,
}

fn global(board: &SimBoard, rank: u32) -> GlobalRank {
    GlobalRank(board.number() * board.shape().ranks + rank)
}
