//! Errors of a virtual card.

use std::path::PathBuf;

/// The reason why a virtual card cannot be served.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The socket cannot be used.
    #[error(
        "can't {doing} the socket {path}: {source}; name a folder that this process may write to",
        path = path.display()
    )]
    Socket {
        /// The operation.
        doing: &'static str,
        /// Path of the socket.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// Another process serves the socket.
    #[error(
        "another process serves {path}; end that process, or name another folder",
        path = path.display()
    )]
    Served {
        /// Path of the socket.
        path: PathBuf,
    },
    /// The connection to the virtual machine has failed.
    #[error(
        "the connection of {path} failed: {source}; QEMU 10.1 or later with vfio-user-pci and shared \
         memory is needed",
        path = path.display()
    )]
    Connection {
        /// Path of the socket.
        path: PathBuf,
        /// Error of the protocol.
        source: vfio_user::Error,
    },
}

alcor_errors::debug_as_text!(Error);
