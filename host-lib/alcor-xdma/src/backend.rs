//! Opening boards by URI.

use std::path::{Path, PathBuf};

use alcor::{Backend, Cluster, Result};
use xdma::Machine;

use crate::{XdmaBoard, XdmaError};

/// Opens `xdma:<pci address>`, or `xdma:auto` where there is one card.
#[derive(Debug, Clone)]
pub struct XdmaBackend {
    machine: Machine,
    locks: PathBuf,
}

impl Default for XdmaBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl XdmaBackend {
    /// The scheme of its URIs.
    pub const SCHEME: &'static str = "xdma";

    /// For the cards of this machine.
    #[must_use]
    pub fn new() -> Self {
        Self::on(Machine::local())
    }

    /// For the cards of another: the stand-in's.
    #[must_use]
    pub fn on(machine: Machine) -> Self {
        Self {
            machine,
            locks: "/run/lock/alcor".into(),
        }
    }

    /// With lock files in another folder. All who share a board have to name the same.
    #[must_use]
    pub fn locks(mut self, folder: impl AsRef<Path>) -> Self {
        self.locks = folder.as_ref().to_owned();
        self
    }

    fn board(&self, rest: &str) -> std::result::Result<Cluster, XdmaError> {
        let address = match rest {
            "auto" => self.machine.only_card()?.address(),
            _ => rest
                .parse()
                .map_err(|_| XdmaError::BadUri { rest: rest.into() })?,
        };
        let board = XdmaBoard::open(&self.machine, address, &self.locks)?;
        Ok(Cluster::single(board))
    }
}

impl Backend for XdmaBackend {
    fn scheme(&self) -> &str {
        Self::SCHEME
    }

    fn open(&self, rest: &str) -> Result<Cluster> {
        self.board(rest)
            .map_err(|error| error.on(&format!("xdma:{rest}")))
    }
}
