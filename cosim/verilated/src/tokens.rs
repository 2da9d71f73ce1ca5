//! Limit on the number of compilers that run concurrently on the machine.
//!
//! Tokens come from the jobserver of GNU make or Cargo, if there is one. Otherwise a token is a
//! lock on one of a set of files, one file for each core. The kernel releases the lock when the
//! process ends, in any way.

use std::env;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use jobserver::{Acquired, Client, HelperThread};

/// Interval between attempts to lock a file. A compiler runs for seconds.
const RETRY: Duration = Duration::from_millis(10);

/// The right to run one compiler, until the token is dropped.
pub(crate) enum Token {
    /// The token that each client of a jobserver has from its start.
    Own(Arc<Pool>),
    Server {
        _acquired: Acquired,
    },
    Locked {
        _file: File,
    },
    /// No folder for token files is known, so the number of compilers is unlimited.
    Unlimited,
}

impl Drop for Token {
    fn drop(&mut self) {
        if let Token::Own(pool) = self {
            pool.lock().own_is_free = true;
            pool.changed.notify_one();
        }
    }
}

/// Tokens of a jobserver, on their way to threads of this process.
pub(crate) struct Pool {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    own_is_free: bool,
    acquired: Vec<Acquired>,
    /// Number of threads that wait for a token.
    waiting: usize,
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client of a jobserver.
struct Server {
    pool: Arc<Pool>,
    helper: HelperThread,
}

impl Server {
    fn new(client: Client) -> Option<Self> {
        let pool = Arc::new(Pool {
            state: Mutex::new(State {
                own_is_free: true,
                acquired: Vec::new(),
                waiting: 0,
            }),
            changed: Condvar::new(),
        });
        let arrivals = Arc::clone(&pool);
        let arrive = move |acquired: std::io::Result<Acquired>| {
            let mut state = arrivals.lock();
            // A token without a waiting thread goes back to the server.
            if state.waiting > state.acquired.len() {
                state.acquired.extend(acquired);
                arrivals.changed.notify_one();
            }
        };
        let helper = client.into_helper_thread(arrive).ok()?;
        Some(Self { pool, helper })
    }

    /// Returns the own token or a token of the server, whichever is free first. Below `make -j1`,
    /// only the own token ever becomes free.
    fn acquire(&self) -> Token {
        let mut state = self.pool.lock();
        if std::mem::take(&mut state.own_is_free) {
            return Token::Own(Arc::clone(&self.pool));
        }
        state.waiting += 1;
        self.helper.request_token();
        let token = loop {
            state = self
                .pool
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            if let Some(acquired) = state.acquired.pop() {
                break Token::Server {
                    _acquired: acquired,
                };
            }
            if std::mem::take(&mut state.own_is_free) {
                break Token::Own(Arc::clone(&self.pool));
            }
        };
        state.waiting -= 1;
        token
    }
}

static SERVER: LazyLock<Option<Server>> = LazyLock::new(|| {
    // SAFETY: make opened the file descriptors in MAKEFLAGS for this process. The crate checks that
    // they are open pipes. This process closes no descriptor that it has not opened.
    unsafe { Client::from_env() }.and_then(Server::new)
});

static FILES: LazyLock<Option<Vec<PathBuf>>> = LazyLock::new(|| {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    files(&folder()?, cores)
});

/// Waits until the machine may run one more compiler.
pub(crate) fn acquire() -> Token {
    match &*SERVER {
        Some(server) => server.acquire(),
        None => FILES.as_deref().map_or(Token::Unlimited, lock_one),
    }
}

/// A folder of this user with the same path in all processes, independent of TMPDIR.
fn folder() -> Option<PathBuf> {
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    if let Some(runtime) = runtime.filter(|folder| folder.is_dir()) {
        return Some(runtime.join("alcor-compilers"));
    }
    let user = fs::metadata("/proc/self").ok()?.uid();
    Some(PathBuf::from(format!("/tmp/alcor-compilers-{user}")))
}

/// Opens the token files in a folder. `None` if that fails.
fn files(folder: &Path, count: usize) -> Option<Vec<PathBuf>> {
    fs::create_dir_all(folder).ok()?;
    let files: Vec<PathBuf> = (0..count)
        .map(|number| folder.join(number.to_string()))
        .collect();
    let can_be_opened = files.iter().all(|file| open(file).is_some());
    can_be_opened.then_some(files)
}

fn open(file: &Path) -> Option<File> {
    File::options().append(true).create(true).open(file).ok()
}

/// Locks a free file; waits until there is one.
fn lock_one(files: &[PathBuf]) -> Token {
    loop {
        for file in files {
            // Another program may have cleaned the folder of temporary files.
            let Some(file) = open(file) else {
                return Token::Unlimited;
            };
            if file.try_lock().is_ok() {
                return Token::Locked { _file: file };
            }
        }
        thread::sleep(RETRY);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn no_more_tokens_than_files_are_out() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), 3).unwrap();
        let (out, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| {
                    let token = lock_one(&files);
                    assert!(matches!(token, Token::Locked { .. }));
                    most.fetch_max(out.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(5));
                    out.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(most.load(Ordering::SeqCst), 3);
    }

    #[test]
    fn a_jobserver_without_tokens_leaves_the_own_one() {
        for (tokens, allowed) in [(0, 1), (2, 3)] {
            let client = Client::new(tokens).unwrap();
            let server = Server::new(client.clone()).unwrap();
            let (out, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..5 {
                            let token = server.acquire();
                            most.fetch_max(
                                out.fetch_add(1, Ordering::SeqCst) + 1,
                                Ordering::SeqCst,
                            );
                            thread::sleep(Duration::from_millis(3));
                            out.fetch_sub(1, Ordering::SeqCst);
                            drop(token);
                        }
                    });
                }
            });
            assert!(most.load(Ordering::SeqCst) <= allowed);
            // All taken tokens are released.
            drop(server);
            let back: Vec<_> = (0..tokens).map(|_| client.acquire().unwrap()).collect();
            assert_eq!(back.len(), tokens);
        }
    }

    #[test]
    fn the_token_of_a_killed_process_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), 1).unwrap();
        let mut holder = Command::new("flock")
            .arg(&files[0])
            .args(["sh", "-c", "echo; exec sleep 600"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("util-linux has flock");
        let mut line = String::new();
        let out = holder.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
        assert!(open(&files[0]).unwrap().try_lock().is_err());
        let acquired = thread::scope(|scope| {
            let waiting = scope.spawn(|| lock_one(&files));
            thread::sleep(Duration::from_millis(30));
            assert!(!waiting.is_finished());
            // The process with the lock: flock itself, and its child by inheritance.
            let children = format!("/proc/{0}/task/{0}/children", holder.id());
            let children = fs::read_to_string(children).unwrap();
            let pids = children.split_whitespace().map(str::to_owned);
            let pids = pids.chain([holder.id().to_string()]);
            assert!(
                Command::new("kill")
                    .arg("-9")
                    .args(pids)
                    .status()
                    .unwrap()
                    .success()
            );
            waiting.join().unwrap()
        });
        holder.wait().unwrap();
        assert!(matches!(acquired, Token::Locked { .. }));
    }
}
