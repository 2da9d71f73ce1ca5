//! One device node of a card: its path for messages, and the meaning of its errors.

use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow};

use crate::fault::Ended;
use crate::{At, BarOffset, CardAddr, Doing, Error, PciAddress, Result};

/// Maximum number of times that a call is repeated after a signal.
const AGAIN: u32 = 16;
/// ERESTARTSYS, an error number internal to the kernel. The driver returns it when a signal
/// interrupted its wait. The engine may still be running then.
const RESTART: i32 = 512;

/// Makes a call of the driver with all signals of this thread blocked. The driver's wait for the
/// engine ends with any signal. The driver then reports a time-out while the engine still runs.
fn without_signals<T>(call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    let result = call();
    mask.thread_set_mask()?;
    result
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
    path: PathBuf,
    address: PciAddress,
    /// The card's folder in sysfs, which exists as long as the card.
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

    /// Converts an error of the system into an error of this crate.
    pub(crate) fn error(&self, doing: Doing, at: At, source: io::Error) -> Error {
        // A card that has left the bus can cause any error number.
        if !self.folder.exists() {
            return Error::Gone {
                address: self.address,
            };
        }
        let node = self.path.clone();
        let ended = source.get_ref().and_then(|inner| inner.downcast_ref());
        match ended.copied() {
            Some(Ended::Fault(fault)) => {
                return Error::Engine {
                    node,
                    doing,
                    at,
                    fault,
                };
            }
            Some(Ended::Dead(offset)) => {
                let offset = BarOffset(offset);
                return Error::DeadLink { node, offset };
            }
            Some(Ended::Lost) => return Error::ChannelLost { node, doing, at },
            Some(Ended::AskedBack) => {
                return Error::AskedBack {
                    address: self.address,
                };
            }
            None => {}
        }
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

    /// Makes one call that moves all of `bytes`. Repeats the call if a signal that can't be blocked
    /// interrupted it before any byte moved: a transfer to memory can be repeated safely.
    pub(crate) fn transfer(
        &self,
        doing: Doing,
        card: CardAddr,
        bytes: usize,
        is_interruptible: bool,
        mut call: impl FnMut() -> io::Result<usize>,
    ) -> Result<()> {
        let at = At::bytes(card.0, bytes as u64);
        let mut again = AGAIN;
        loop {
            let result = if is_interruptible {
                without_signals(&mut call)
            } else {
                call()
            };
            match result {
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
