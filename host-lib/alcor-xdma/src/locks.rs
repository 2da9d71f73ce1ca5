//! Locks that assign the ranks of a board to processes.

use std::path::{Path, PathBuf};

use alcor::LocalRank;
use xdma::{CardLock, LockError, PciAddress};

use crate::XdmaError;

/// The locks of one board's ranks.
#[derive(Debug, Clone)]
pub(crate) struct Locks {
    folder: PathBuf,
    address: PciAddress,
}

impl Locks {
    pub(crate) fn new(folder: &Path, address: PciAddress) -> Locks {
        Locks {
            folder: folder.to_owned(),
            address,
        }
    }

    /// Takes the lock of a rank, unless another process has it.
    pub(crate) fn take(&self, rank: LocalRank) -> Result<CardLock, XdmaError> {
        let name = format!("rank{}", rank.0);
        CardLock::take(&self.folder, self.address, &name).map_err(|error| match error {
            LockError::Held { holder } => XdmaError::Held { rank, holder },
            LockError::File { path, source } => XdmaError::Lock { path, source },
        })
    }
}
