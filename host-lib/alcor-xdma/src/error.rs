//! What only a board can fail with.

use std::path::PathBuf;

use alcor::LocalRank;

/// An error of this backend; the library's [`alcor::Error::Board`] carries it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum XdmaError {
    /// The card or its driver.
    #[error(transparent)]
    Card(#[from] xdma::Error),
    /// The URI names no card.
    #[error(
        "`xdma:{rest}` names no card: write xdma:auto, or xdma:0000:3b:00.0 with an address of lspci -D"
    )]
    BadUri {
        /// What stands behind the scheme.
        rest: String,
    },
    /// The design's BAR is too short for what its ID block says.
    #[error(
        "the user BAR has {bytes} bytes, and {ranks} ranks need {needed}: the bitstream was built with another address map"
    )]
    ShortBar {
        /// Bytes that there are.
        bytes: u64,
        /// Ranks of the ID block.
        ranks: u32,
        /// Bytes that their pages take.
        needed: u64,
    },
    /// A lock file can't be used.
    #[error("can't lock {path}: {source}; the folder has to be writable for all who use the board", path = path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Another process holds a rank.
    #[error(
        "{rank} is held by process {holder}: end it, or wait for its end; the rank is free as soon as that process is gone"
    )]
    Held {
        /// The rank.
        rank: LocalRank,
        /// The holder's number, as it wrote it.
        holder: String,
    },
    /// The board does not come back.
    #[error(
        "the board is not ready {milliseconds} ms after its reset; STATUS reads {status:#x}: program it anew"
    )]
    NotReady {
        /// How long was waited.
        milliseconds: u128,
        /// The STATUS register.
        status: u32,
    },
}

alcor_errors::debug_as_text!(XdmaError);

impl XdmaError {
    /// As the library wants it.
    pub(crate) fn on(self, board: &str) -> alcor::Error {
        alcor::Error::Board {
            board: board.into(),
            source: Box::new(self),
        }
    }
}
