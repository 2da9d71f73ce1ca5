//! Locks on files, which the kernel lets go when their holder ends.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use xdma::PciAddress;

use crate::{Error, Result};

/// Ranks that a board may have.
const MOST_RANKS: u32 = 16;

/// What is held until this is dropped.
pub(crate) type Held = Flock<File>;

/// Keeps all others from deploying to the card.
pub(crate) fn deployment(folder: &Path, address: PciAddress) -> Result<Held> {
    // One lock for all functions of the card.
    let first = PciAddress {
        function: 0,
        ..address
    };
    take(folder, first, "deploy", "a deployment")
}

/// Takes all ranks of the card: their locks have the names that the backend for boards (alcor-xdma) gives them, as a test checks.
pub(crate) fn ranks(folder: &Path, address: PciAddress) -> Result<Vec<Held>> {
    (0..MOST_RANKS)
        .map(|rank| {
            take(
                folder,
                address,
                &format!("rank{rank}"),
                &format!("rank {rank}"),
            )
        })
        .collect()
}

fn take(folder: &Path, address: PciAddress, name: &str, what: &str) -> Result<Held> {
    let path = folder.join(format!("{address}-{name}"));
    let failed = |source| Error::Lock {
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
            Ok(lock)
        }
        Err((file, Errno::EWOULDBLOCK)) => {
            let mut holder = String::new();
            // A process number, and no more of whatever else is there.
            let read = file.take(20).read_to_string(&mut holder);
            Err(Error::Held {
                what: what.to_owned(),
                address,
                holder: match read {
                    Ok(_) if !holder.trim().is_empty() => holder.trim().to_owned(),
                    _ => "(unknown)".into(),
                },
            })
        }
        Err((_, errno)) => Err(failed(errno.into())),
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
            let file = options.create_new(true).open(path)?;
            file.set_permissions(Permissions::from_mode(0o666))?;
            Ok(file)
        }
        other => other,
    }
}
