//! Who holds which rank of a board.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use alcor::LocalRank;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use xdma::PciAddress;

use crate::XdmaError;

/// The locks of one board's ranks.
#[derive(Debug, Clone)]
pub(crate) struct Locks {
    folder: PathBuf,
    address: PciAddress,
}

/// A rank that is held; let go when this is dropped, or by the kernel when the process ends.
#[derive(Debug)]
pub(crate) struct Held(
    #[expect(dead_code, reason = "what counts is when it is dropped")] Flock<File>,
);

impl Locks {
    pub(crate) fn new(folder: &Path, address: PciAddress) -> Locks {
        Locks {
            folder: folder.to_owned(),
            address,
        }
    }

    /// Takes a rank, if nobody has it.
    pub(crate) fn take(&self, rank: LocalRank) -> Result<Held, XdmaError> {
        let path = self.folder.join(format!("{}-rank{}", self.address, rank.0));
        let failed = |source| XdmaError::Lock {
            path: path.clone(),
            source,
        };
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(mut lock) => {
                // For whoever meets the lock; it is none by itself.
                let holder = format!("{}\n", std::process::id());
                let noted = lock
                    .set_len(0)
                    .and_then(|()| lock.write_all(holder.as_bytes()));
                noted.map_err(failed)?;
                Ok(Held(lock))
            }
            Err((mut file, Errno::EWOULDBLOCK)) => {
                let mut holder = String::new();
                let read = file.read_to_string(&mut holder);
                Err(XdmaError::Held {
                    rank,
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
