//! Opens boards by URI.

use std::path::{Path, PathBuf};

use alcor::{Backend, Cluster, Result};
use xdma::Machine;

use crate::{XdmaBoard, XdmaError};

/// Opens `xdma:<pci address>`, or `xdma:auto` on a machine with one card.
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
    /// Scheme of the backend's URIs.
    pub const SCHEME: &'static str = "xdma";

    /// A backend for the cards of this machine.
    #[must_use]
    pub fn new() -> Self {
        Self::on(Machine::local())
    }

    /// A backend for the cards of another machine, such as that of the stand-in.
    #[must_use]
    pub fn on(machine: Machine) -> Self {
        Self {
            machine,
            locks: "/run/lock/alcor".into(),
        }
    }

    /// Sets the folder of the lock files. All users of a board must use the same folder.
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
