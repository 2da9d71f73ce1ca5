//! The board farm: which file it is in, and its boards as a backend.

use std::env;
use std::path::{Path, PathBuf};

use alcor::{Backend, Cluster};
use alcor_deploy::{Farm, FarmError, host_name};
use alcor_xdma::XdmaBackend;

use crate::exit::Error;

/// The file of the farm: the file that the command or the environment names, or that of the current
/// folder.
pub fn path(named: Option<&Path>) -> PathBuf {
    let environment = || env::var_os("ALCOR_BOARDS").map(PathBuf::from);
    let named = named.map(Path::to_owned).or_else(environment);
    named.unwrap_or_else(|| "boards.toml".into())
}

/// The name of this host.
pub fn here() -> Result<String, Error> {
    host_name().map_err(Error::HostName)
}

/// `board:<name>`: a board of the farm that is in this host, as `xdma:<its address>`.
pub struct FarmBackend {
    boards: XdmaBackend,
    path: PathBuf,
    here: Option<String>,
}

impl FarmBackend {
    /// Makes the backend over the backend that opens boards of this host.
    pub fn over(boards: XdmaBackend) -> FarmBackend {
        FarmBackend {
            boards,
            path: path(None),
            here: host_name().ok(),
        }
    }
}

impl Backend for FarmBackend {
    fn scheme(&self) -> &str {
        "board"
    }

    fn open(&self, name: &str) -> alcor::Result<Cluster> {
        let uri = format!("board:{name}");
        let failed = |error: FarmError| alcor::Error::Board {
            board: uri.clone(),
            source: Box::new(error),
        };
        let farm = Farm::read(&self.path).map_err(failed)?;
        // A host without a name has boards of `localhost` only.
        let here = self.here.as_deref().unwrap_or_default();
        let board = farm.board_on(name, here).map_err(failed)?;
        let cluster = self.boards.open(&board.address.to_string())?;
        Ok(cluster.with_name(uri))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use alcor_abi::{self as abi, board};
    use xdma::BarOffset;
    use xdma::standin::{Memory, StandIn};

    use super::*;

    #[test]
    fn a_board_of_this_host_is_its_card() {
        let standin = StandIn::new(Memory::new(64)).unwrap();
        let registers = standin.machine().only_card().unwrap().user_bar().unwrap();
        for (register, value) in [(board::MAGIC, abi::MAGIC), (board::REVISION, 0x1234)] {
            registers
                .write32(BarOffset(register.into()), value)
                .unwrap();
        }
        let path = standin.sys().join("boards.toml");
        let card = standin.address();
        let farm = format!(
            "schema = 1\n\
             [boards.left]\nhost = \"one\"\naddress = \"{card}\"\n\
             [boards.far]\nhost = \"two\"\naddress = \"{card}\"\n\
             [boards.empty]\nhost = \"one\"\naddress = \"0000:7f:00.0\"\n"
        );
        fs::write(&path, farm).unwrap();
        let backend = FarmBackend {
            boards: XdmaBackend::on(standin.machine()),
            path,
            here: Some("one".into()),
        };
        let cluster = backend.open("left").unwrap();
        assert_eq!(cluster.name(), "board:left");
        let revision = cluster.boards()[0].read32(alcor::PageOffset(board::REVISION));
        assert_eq!(revision.unwrap(), 0x1234);
        for (name, words) in [
            ("far", "run the command on"),
            ("none", "empty, far, left"),
            ("empty", "0000:7f:00.0"),
        ] {
            let error = backend.open(name).err().unwrap();
            assert!(error.to_string().contains(words), "{name}: {error}");
        }
    }
}
