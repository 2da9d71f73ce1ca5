//! The locks of a deployment.

use std::path::Path;

use xdma::{CardLock, LockError, PciAddress};

use crate::{Error, Result};

/// Largest number of ranks of a board.
const MOST_RANKS: u32 = 16;

/// Locks the card against other deployments.
pub(crate) fn deployment(folder: &Path, address: PciAddress) -> Result<CardLock> {
    // One lock for all functions of the card.
    let first = PciAddress {
        function: 0,
        ..address
    };
    take(folder, first, "deploy", "a deployment")
}

/// Takes the locks of all ranks of the card. The names of the locks are those of the backend for
/// cards (alcor-xdma); a test checks them.
pub(crate) fn ranks(folder: &Path, address: PciAddress) -> Result<Vec<CardLock>> {
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

fn take(folder: &Path, address: PciAddress, name: &str, what: &str) -> Result<CardLock> {
    CardLock::take(folder, address, name).map_err(|error| match error {
        LockError::Held { holder } => Error::Held {
            what: what.to_owned(),
            address,
            holder,
        },
        LockError::File { path, source } => Error::Lock { path, source },
    })
}
