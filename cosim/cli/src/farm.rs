//! The board farm: its file, and this host in it.

pub use alcor_farm::path;

use alcor_deploy::host_name;

use crate::exit::Error;

/// The name of this host.
pub fn here() -> Result<String, Error> {
    host_name().map_err(Error::HostName)
}
