//! What a deployment keeps others from.

use std::path::Path;

use xdma::{CardLock, LockError, PciAddress};

use crate::{Error, Result};

/// Ranks that a board may have.
const MOST_RANKS: u32 = 16;

/// Keeps all others from deploying to the card.
pub(crate) fn deployment(folder: &Path, address: PciAddress) -> Result<CardLock> {
    // One lock for all functions of the card.
    let first = PciAddress {
        function: 0,
        ..address
    };
    take(folder, first, "deploy", "a deployment")
}

/// Takes all ranks of the card: their locks have the names that the backend for boards (alcor-xdma)
/// gives them, as a test checks.
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
