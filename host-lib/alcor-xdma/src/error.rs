//! Errors that only cards can cause.

use std::path::PathBuf;

use alcor::LocalRank;

/// An error of this backend. The library's [`alcor::Error::Board`] contains it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum XdmaError {
    /// An error of the card or its driver.
    #[error(transparent)]
    Card(#[from] xdma::Error),
    /// The URI does not name a card.
    #[error(
        "`xdma:{rest}` names no card: write xdma:auto, or xdma:0000:3b:00.0, an address of lspci -D; \
         add ?driver=vfio for a card that vfio-pci holds, and &iommu=none on a machine without an IOMMU"
    )]
    BadUri {
        /// The part of the URI after the scheme.
        rest: String,
    },
    /// The design's BAR is shorter than the ID block requires.
    #[error(
        "the user BAR has {bytes} bytes, and {ranks} ranks need {needed}: the bitstream was built with \
         another address map; program a bitstream of this version"
    )]
    ShortBar {
        /// Length of the BAR in bytes.
        bytes: u64,
        /// Number of ranks in the ID block.
        ranks: u32,
        /// Bytes that the pages of these ranks need.
        needed: u64,
    },
    /// A lock file cannot be used.
    #[error(
        "can't lock {path}: {source}; give all users of the board write access to the folder",
        path = path.display()
    )]
    Lock {
        /// Path of the lock file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// Another process owns a rank.
    #[error(
        "{rank} is held by process {holder}; end that process, or wait for its end: the rank is free \
         afterwards"
    )]
    Held {
        /// The rank.
        rank: LocalRank,
        /// Number of the process, as the process wrote it into the lock file.
        holder: String,
    },
    /// The board is not ready after a reset.
    #[error(
        "the board is not ready {milliseconds} ms after its reset; STATUS reads {status:#x}: program \
         the board again"
    )]
    NotReady {
        /// The time limit in milliseconds.
        milliseconds: u128,
        /// Value of the STATUS register.
        status: u32,
    },
}

alcor_errors::debug_as_text!(XdmaError);

impl XdmaError {
    /// Converts into the library's error for the board named `board`.
    pub(crate) fn on(self, board: &str) -> alcor::Error {
        alcor::Error::Board {
            board: board.into(),
            source: Box::new(self),
        }
    }
}
