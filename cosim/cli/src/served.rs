//! `serve:CONFIG`: boards that another process (`alcor serve`) simulates. The process ends with the
//! boards, and with this process.

use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use alcor::{Backend, Board, BoardLayer, Cluster, Error, Result};
use alcor_shm::ShmBackend;

use crate::exit::Exit;

/// The backend of `serve:CONFIG`.
pub struct ServedBackend {
    /// Number of threads that step the boards of a cluster, unless its URI gives one.
    pub threads: Option<usize>,
}

impl ServedBackend {
    /// The scheme of its URIs.
    pub const SCHEME: &'static str = "serve";
}

/// An error of the server's process.
#[derive(Debug, thiserror::Error)]
pub enum ServedError {
    /// The server can't be started.
    #[error("cannot start `alcor serve`: {0}")]
    Start(#[from] io::Error),
    /// The server ended before it was ready.
    #[error("`alcor serve` ended before it was ready ({0}); its message is above")]
    Ended(ExitStatus),
}

impl ServedError {
    /// The exit code of the program: that of the server.
    pub fn exit(&self) -> Exit {
        match self {
            ServedError::Ended(status) if status.code() == Some(1) => Exit::Failed,
            ServedError::Ended(status) if status.code() == Some(2) => Exit::Usage,
            _ => Exit::Environment,
        }
    }
}

impl Backend for ServedBackend {
    fn scheme(&self) -> &str {
        Self::SCHEME
    }

    fn open(&self, rest: &str) -> Result<Cluster> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let uri = format!("{}:{rest}", Self::SCHEME);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("regress-{}-{number}", std::process::id());
        let config = match self.threads {
            Some(threads) if !rest.contains("threads=") => {
                let separator = if rest.contains('?') { '&' } else { '?' };
                format!("{rest}{separator}threads={threads}")
            }
            _ => rest.to_owned(),
        };
        let server = Server::start(&config, &name).map_err(|error| Error::Board {
            board: uri.clone(),
            source: error.into(),
        })?;
        let server = Arc::new(server);
        let cluster = ShmBackend.open(&name)?;
        let served = cluster.layered(|_, board| ServedBoard {
            board,
            _server: Arc::clone(&server),
        });
        Ok(served.with_name(uri))
    }
}

/// A process of `alcor serve`. It ends when this value is dropped and when this process ends,
/// because this process holds the other end of the server's standard input.
struct Server(Mutex<Child>);

impl Server {
    fn start(config: &str, name: &str) -> std::result::Result<Server, ServedError> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["serve", "--attended", "--config", config, "--name", name])
            .envs(crate::build::own())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C is for this process to take; the tests on the server are not to fail by it.
            .process_group(0)
            .spawn()?;
        let ready = child.stdout.take().map(|out| {
            // The server writes one line when it is ready. Its text is for people.
            BufReader::new(out).read_line(&mut String::new())
        });
        if !matches!(ready, Some(Ok(1..))) {
            return Err(ServedError::Ended(child.wait()?));
        }
        Ok(Server(Mutex::new(child)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let child = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The server leaves no files, and a server that has ended needs no signal.
        let _ = child.kill();
        let _ = child.wait();
    }
}

struct ServedBoard {
    board: Arc<dyn Board>,
    _server: Arc<Server>,
}

impl BoardLayer for ServedBoard {
    fn below(&self) -> &Arc<dyn Board> {
        &self.board
    }
}
