//! The backend of `shm:` URIs.

use std::io;
use std::sync::{Arc, Mutex};

use alcor::{Backend, Board, Cluster, Error, Topology};

use crate::ShmError;
use crate::board::ShmBoard;
use crate::channel::Channel;
use crate::wire::{Description, Hello, VERSION, Welcome};

/// Opens running clusters by their names: `shm:<name>`.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShmBackend;

impl ShmBackend {
    /// The scheme of the backend's URIs.
    pub const SCHEME: &'static str = "shm";
}

/// Connects to the cluster of this name. Returns the connection and the cluster's description.
pub(crate) fn connect(name: &str) -> Result<(Channel, Description), ShmError> {
    let channel = Channel::connect(name).map_err(|source| match source.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => ShmError::NoCluster,
        _ => ShmError::Io {
            action: "connect to the cluster",
            source,
        },
    })?;
    let welcome = channel
        .send(&Hello { version: VERSION })
        .and_then(|()| channel.receive());
    match welcome {
        Ok(Welcome::Cluster(description)) => Ok((channel, description)),
        Ok(Welcome::OtherVersion { version }) => Err(ShmError::OtherVersion {
            found: version,
            wanted: VERSION,
        }),
        // The process ended after the kernel had accepted the connection for it.
        Err(error) if has_ended(&error) => Err(ShmError::Gone),
        Err(error) => Err(ShmError::NoWelcome(error)),
    }
}

/// Returns whether the other process has closed the connection.
fn has_ended(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

impl Backend for ShmBackend {
    fn scheme(&self) -> &str {
        Self::SCHEME
    }

    fn open(&self, rest: &str) -> Result<Cluster, Error> {
        let uri = format!("{}:{rest}", Self::SCHEME);
        let (channel, description) = connect(rest).map_err(|error| error.on(&uri))?;
        let channel = Arc::new(Mutex::new(channel));
        let boards = (0..).zip(description.boards).map(|(number, name)| {
            let board = ShmBoard::new(rest, name, number, Arc::clone(&channel));
            Arc::new(board) as Arc<dyn Board>
        });
        let boards: Vec<_> = boards.collect();
        let topology = match description.dims.as_slice() {
            [] => Topology::single(),
            dims => Topology::torus(dims)?,
        };
        Ok(Cluster::new(boards, topology)?.with_name(uri))
    }
}
