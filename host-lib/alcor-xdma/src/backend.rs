//! Opens boards by URI.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use alcor::{Backend, Cluster, Result};
use xdma::{Card, Machine};

use crate::{Peers, XdmaBoard, XdmaError};

/// Opens `xdma:<pci address>`, or `xdma:auto` on a machine with one card. With `?driver=vfio`, this
/// process drives the card through the kernel's `vfio-pci` instead of the vendor's driver. With
/// `?driver=vfio&iommu=none`, it does so on a machine without an IOMMU, where the card can write all memory
/// ([`Card::vfio_without_iommu`](xdma::Card::vfio_without_iommu)).
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

    /// Opens the board of `rest`, a URI without its scheme. The boards of a run share `peers`.
    ///
    /// # Errors
    /// Errors of the card; [`XdmaError::BadUri`].
    pub fn board(
        &self,
        rest: &str,
        peers: &Peers,
    ) -> std::result::Result<Arc<XdmaBoard>, XdmaError> {
        let bad = || XdmaError::BadUri { rest: rest.into() };
        let (name, options) = rest.split_once('?').unwrap_or((rest, "driver=vendor"));
        let drive: fn(Card) -> xdma::Result<Card> = match options {
            "driver=vendor" => Ok,
            "driver=vfio" => |card| card.vfio(),
            "driver=vfio&iommu=none" | "iommu=none&driver=vfio" => |card| card.vfio_without_iommu(),
            _ => return Err(bad()),
        };
        let card = match name {
            "auto" => self.machine.only_card()?,
            _ => self.machine.card(name.parse().map_err(|_| bad())?)?,
        };
        let card = drive(card)?;
        XdmaBoard::open_with(card, &self.locks, peers)
    }
}

impl Backend for XdmaBackend {
    fn scheme(&self) -> &str {
        Self::SCHEME
    }

    fn open(&self, rest: &str) -> Result<Cluster> {
        let board = self.board(rest, &Peers::default());
        let board = board.map_err(|error| error.on(&format!("xdma:{rest}")))?;
        Ok(Cluster::single(board))
    }
}
