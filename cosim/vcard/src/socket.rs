//! The vfio-user server of a card.

use std::fs::{self, File};
use std::io;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use vfio_bindings::bindings::vfio::{
    VFIO_IRQ_INFO_EVENTFD, VFIO_IRQ_INFO_NORESIZE, VFIO_IRQ_SET_ACTION_TRIGGER,
    VFIO_IRQ_SET_DATA_EVENTFD, VFIO_PCI_CONFIG_REGION_INDEX, VFIO_PCI_ERR_IRQ_INDEX,
    VFIO_PCI_MSIX_IRQ_INDEX, VFIO_PCI_NUM_IRQS, VFIO_PCI_NUM_REGIONS, VFIO_REGION_INFO_FLAG_READ,
    VFIO_REGION_INFO_FLAG_WRITE, vfio_region_info,
};
use vfio_user::{DmaMapFlags, DmaUnmapFlags, IrqInfo, Server, ServerBackend, ServerRegion};

use crate::pci;
use crate::{Error, VirtualCard};

/// A socket on which virtual machines find a card. The file of the socket is removed with the
/// value.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    listener: std::os::unix::net::UnixListener,
}

impl Socket {
    /// Makes the socket. The socket of a server that has died is replaced.
    ///
    /// # Errors
    /// [`Error::Served`], [`Error::Socket`].
    pub fn bind(path: &Path) -> Result<Socket, Error> {
        let failed = |doing| {
            move |source| Error::Socket {
                doing,
                path: path.to_owned(),
                source,
            }
        };
        match UnixStream::connect(path) {
            Ok(_) => {
                return Err(Error::Served {
                    path: path.to_owned(),
                });
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                fs::remove_file(path).map_err(failed("replace"))?;
            }
            Err(_) => {}
        }
        let listener = std::os::unix::net::UnixListener::bind(path).map_err(failed("make"))?;
        Ok(Socket {
            path: path.to_owned(),
            listener,
        })
    }

    /// Path of the socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file of the socket.
    pub fn close(&self) {
        // Nothing can be done about a file that cannot be removed; the next server replaces it.
        let _ = fs::remove_file(&self.path);
    }

    /// Serves one virtual machine after the other. Returns only if the socket fails. After the end
    /// of a connection for any reason, the card is as after a reset.
    ///
    /// # Errors
    /// [`Error::Socket`], [`Error::Connection`].
    pub fn serve(&self, card: &VirtualCard) -> Result<(), Error> {
        let listener = self.listener.try_clone().map_err(|source| Error::Socket {
            doing: "use",
            path: self.path.clone(),
            source,
        })?;
        let server = Server::from_owned_fd(listener.into(), true, irqs(card), regions(card));
        loop {
            // The crate of the protocol panics at some malformed messages of a virtual machine.
            let run = AssertUnwindSafe(|| server.run(&mut Connection { card }));
            let result = catch_unwind(run).unwrap_or(Err(vfio_user::Error::InvalidInput));
            card.disconnect();
            match result {
                Ok(()) => log::info!("{}: the virtual machine has ended", self.path.display()),
                Err(source @ vfio_user::Error::SocketAccept(_)) => {
                    return Err(Error::Connection {
                        path: self.path.clone(),
                        source,
                    });
                }
                // A virtual machine that dies in the middle of a message.
                Err(error) => log::warn!("{}: {error}", self.path.display()),
            }
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.close();
    }
}

fn irqs(card: &VirtualCard) -> Vec<IrqInfo> {
    let info = |index, count, flags| IrqInfo {
        index,
        flags,
        count,
    };
    (0..VFIO_PCI_NUM_IRQS)
        .map(|index| match index {
            VFIO_PCI_MSIX_IRQ_INDEX => {
                let flags = VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_NORESIZE;
                info(index, card.vectors(), flags)
            }
            // The event of fatal errors, of which the card has none.
            VFIO_PCI_ERR_IRQ_INDEX => info(index, 1, VFIO_IRQ_INFO_EVENTFD),
            _ => info(index, 0, 0),
        })
        .collect()
}

fn regions(card: &VirtualCard) -> Vec<ServerRegion> {
    let bars = card.bars();
    (0..VFIO_PCI_NUM_REGIONS)
        .map(|index| {
            let size = match index {
                VFIO_PCI_CONFIG_REGION_INDEX => pci::BYTES as u64,
                _ => bars.get(index as usize).copied().unwrap_or(0),
            };
            ServerRegion {
                region_info: vfio_region_info {
                    argsz: size_of::<vfio_region_info>() as u32,
                    flags: if size == 0 {
                        0
                    } else {
                        VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE
                    },
                    index,
                    size,
                    ..vfio_region_info::default()
                },
                sparse_areas: Vec::new(),
                mmap_fd: None,
            }
        })
        .collect()
}

/// The messages of one virtual machine.
struct Connection<'a> {
    card: &'a VirtualCard,
}

impl ServerBackend for Connection<'_> {
    fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]) -> io::Result<()> {
        if region == VFIO_PCI_CONFIG_REGION_INDEX {
            self.card.read_config(offset, data);
        } else {
            self.card.read_bar(region as usize, offset, data);
        }
        Ok(())
    }

    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) -> io::Result<()> {
        if region == VFIO_PCI_CONFIG_REGION_INDEX {
            self.card.write_config(offset, data);
        } else {
            self.card.write_bar(region as usize, offset, data);
        }
        Ok(())
    }

    fn dma_map(
        &mut self,
        flags: DmaMapFlags,
        offset: u64,
        address: u64,
        size: u64,
        fd: Option<File>,
    ) -> io::Result<()> {
        let rights = (
            flags.contains(DmaMapFlags::READ),
            flags.contains(DmaMapFlags::WRITE),
        );
        let result = self.card.map((address, size), fd, offset, rights);
        result.inspect_err(|error| log::warn!("memory {address:#x}+{size:#x}: {error}"))
    }

    fn dma_unmap(&mut self, flags: DmaUnmapFlags, address: u64, size: u64) -> io::Result<()> {
        if flags.contains(DmaUnmapFlags::UNMAP_ALL) {
            self.card.unmap(0, u64::MAX);
        } else {
            self.card.unmap(address, size);
        }
        Ok(())
    }

    fn reset(&mut self) -> io::Result<()> {
        self.card.reset();
        Ok(())
    }

    fn set_irqs(
        &mut self,
        index: u32,
        flags: u32,
        start: u32,
        count: u32,
        fds: Vec<File>,
    ) -> io::Result<()> {
        if index != VFIO_PCI_MSIX_IRQ_INDEX || flags & VFIO_IRQ_SET_ACTION_TRIGGER == 0 {
            return Ok(());
        }
        let vectors = self.card.vectors();
        // A count of 0 disables all vectors.
        let (start, count) = if count == 0 {
            (0, vectors)
        } else {
            (start, count)
        };
        let has_events = flags & VFIO_IRQ_SET_DATA_EVENTFD != 0;
        let mut fds = fds.into_iter().filter(|_| has_events);
        for vector in start..start.saturating_add(count).min(vectors) {
            self.card.set_vector(vector, fds.next());
        }
        Ok(())
    }
}
