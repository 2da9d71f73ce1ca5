//! One device node of a card: its name in messages, and what its errors mean.

use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;

use crate::{At, CardAddr, Doing, Error, PciAddress, Result};

/// How often a call that a signal interrupted is made again.
const AGAIN: u32 = 16;
/// ERESTARTSYS, which is the kernel's own: the driver lets it out when its wait was cut short, and whether the engine
/// has stopped is not known.
const RESTART: i32 = 512;

#[derive(Debug, Clone)]
pub(crate) struct Node {
    path: PathBuf,
    address: PciAddress,
    /// The card's folder in sysfs, there as long as the card is.
    folder: PathBuf,
}

impl Node {
    pub(crate) fn new(path: PathBuf, address: PciAddress, folder: PathBuf) -> Node {
        Node {
            path,
            address,
            folder,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn into_path(self) -> PathBuf {
        self.path
    }

    /// What an error of the system's means here.
    pub(crate) fn error(&self, doing: Doing, at: At, source: io::Error) -> Error {
        // A card that has left the bus fails in any way it likes.
        if !self.folder.exists() {
            return Error::Gone {
                address: self.address,
            };
        }
        let node = self.path.clone();
        match source.raw_os_error() {
            Some(errno)
                if at != At::NODE && (errno == Errno::ETIMEDOUT as i32 || errno == RESTART) =>
            {
                Error::TransferTimedOut { node, doing, at }
            }
            _ => Error::Node {
                node,
                doing,
                at,
                source,
            },
        }
    }

    /// Makes one call that moves `bytes`, all of them or none. A signal before anything has moved
    /// interrupts nothing: the addresses are memory's, so the same call can be made again.
    pub(crate) fn transfer(
        &self,
        doing: Doing,
        card: CardAddr,
        bytes: usize,
        mut call: impl FnMut() -> io::Result<usize>,
    ) -> Result<()> {
        let at = At::bytes(card.0, bytes as u64);
        let mut again = AGAIN;
        loop {
            match call() {
                Ok(done) if done == bytes => return Ok(()),
                Ok(done) => {
                    return Err(Error::Short {
                        node: self.path.clone(),
                        doing,
                        at,
                        done: done as u64,
                    });
                }
                Err(source) if source.kind() == io::ErrorKind::Interrupted && again > 0 => {
                    again -= 1
                }
                Err(source) => return Err(self.error(doing, at, source)),
            }
        }
    }
}
