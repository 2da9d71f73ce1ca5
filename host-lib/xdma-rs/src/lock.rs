//! Locks between the processes that share a card.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};

use crate::PciAddress;

/// A card, or a part of it, that no other process has: until this is dropped, or the process ends, however it does.
///
/// It is a lock on a file, so it holds among those who name the same folder. What the parts of a card are called is theirs to agree on.
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
pub struct CardLock(#[expect(dead_code, reason = "what counts is when it is dropped")] Flock<File>);

/// No lock.
#[derive(thiserror::Error)]
pub enum LockError {
    /// Another has it.
    #[error("process {holder} holds it")]
    Held {
        /// Its process number, as it wrote it down.
        holder: String,
    },
    /// The file can't be made, opened or locked.
    #[error("the lock file {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

alcor_errors::debug_as_text!(LockError);

impl CardLock {
    /// Takes the lock of this name on a card, if nobody has it. Its file lies in `folder`, which is made if it is not there.
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
                // For whoever meets the lock; it is none by itself.
                let holder = format!("{}\n", std::process::id());
                let noted = lock
                    .set_len(0)
                    .and_then(|()| lock.write_all(holder.as_bytes()));
                noted.map_err(failed)?;
                Ok(CardLock(lock))
            }
            Err((file, Errno::EWOULDBLOCK)) => {
                let mut holder = String::new();
                // A process number, and no more of whatever else is there.
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

/// Opens a lock file, and makes it if it is not there: for all, since who deploys is root and who uses the board is not.
fn open(folder: &Path, path: &Path) -> io::Result<File> {
    if !folder.exists() {
        fs::create_dir_all(folder)?;
        // As /run/lock: everybody makes files, and removes no others'.
        fs::set_permissions(folder, Permissions::from_mode(0o1777))?;
    }
    let mut options = OpenOptions::new();
    // In a folder of everybody's, a link may be anybody's.
    options
        .read(true)
        .write(true)
        .custom_flags(OFlag::O_NOFOLLOW.bits());
    // First without making it, which the system refuses for a file of somebody else's in such a folder.
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match options.create_new(true).open(path) {
                // Somebody was first.
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
