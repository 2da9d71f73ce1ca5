//! Locks between processes that share a card.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};

use crate::PciAddress;

/// An exclusive lock on a card, or on a part of a card. The lock ends when this value is dropped or
/// when the process ends, in any way.
///
/// The lock is a file lock, so it excludes only processes that use the same folder. The processes
/// must agree on the names of the parts.
///
/// # Examples
/// ```
/// use xdma::{CardLock, LockError};
///
/// let folder = tempfile::tempdir()?;
/// let card = "0000:3b:00.0".parse()?;
/// let lock = CardLock::take(folder.path(), card, "half")?;
/// assert!(matches!(
///     CardLock::take(folder.path(), card, "half"),
///     Err(LockError::Held { .. })
/// ));
/// # drop(lock);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CardLock(
    #[expect(dead_code, reason = "dropping the file releases the lock")] Flock<File>,
);

/// The reason why a lock was not taken.
#[derive(thiserror::Error)]
pub enum LockError {
    /// Another process has the lock.
    #[error("process {holder} holds the lock")]
    Held {
        /// Number of the process, as the process wrote it into the lock file.
        holder: String,
    },
    /// The lock file cannot be created, opened or locked.
    #[error("cannot use the lock file {}: {source}", path.display())]
    File {
        /// Path of the lock file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

alcor_errors::debug_as_text!(LockError);

impl CardLock {
    /// Takes the lock `name` of a card unless another process has it. The lock file is in `folder`,
    /// which is created if it does not exist.
    ///
    /// # Errors
    /// [`LockError::Held`], or [`LockError::File`].
    pub fn take(folder: &Path, address: PciAddress, name: &str) -> Result<CardLock, LockError> {
        let path = folder.join(format!("{address}-{name}"));
        let failed = |source| LockError::File {
            path: path.clone(),
            source,
        };
        let file = open(folder, &path).map_err(failed)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(mut lock) => {
                // The number is for error messages of other processes. It is not part of the lock.
                let holder = format!("{}\n", std::process::id());
                let noted = lock
                    .set_len(0)
                    .and_then(|()| lock.write_all(holder.as_bytes()));
                noted.map_err(failed)?;
                Ok(CardLock(lock))
            }
            Err((file, Errno::EWOULDBLOCK)) => {
                let mut holder = String::new();
                // Reads a process number and ignores any other content of the file.
                let read = file.take(20).read_to_string(&mut holder);
                Err(LockError::Held {
                    holder: match read {
                        Ok(_) if !holder.trim().is_empty() => holder.trim().to_owned(),
                        _ => "(unknown)".into(),
                    },
                })
            }
            Err((_, errno)) => Err(failed(errno.into())),
        }
    }
}

/// Opens a lock file, or creates it with access for all users: root deploys, and other users use
/// the board.
fn open(folder: &Path, path: &Path) -> io::Result<File> {
    if !folder.exists() {
        fs::create_dir_all(folder)?;
        // Same mode as /run/lock: every user can create files, and delete only their own.
        fs::set_permissions(folder, Permissions::from_mode(0o1777))?;
    }
    let mut options = OpenOptions::new();
    // Every user can create a link in this folder.
    options
        .read(true)
        .write(true)
        .custom_flags(OFlag::O_NOFOLLOW.bits());
    // First tries without O_CREAT: the kernel rejects O_CREAT for another user's file in a sticky
    // folder.
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match options.create_new(true).open(path) {
                // Another process created the file first.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    options.create_new(false).open(path)
                }
                made => {
                    let file = made?;
                    file.set_permissions(Permissions::from_mode(0o666))?;
                    Ok(file)
                }
            }
        }
        other => other,
    }
}
