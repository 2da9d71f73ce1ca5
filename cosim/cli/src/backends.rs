//! The backends that the program is built with.

use std::path::Path;

use alcor::{Backends, Cluster, soft::Soft};
use alcor_cosim::CosimBackend;
use alcor_shm::ShmBackend;
use alcor_standin::StandInBackend;
use alcor_xdma::XdmaBackend;

use crate::build;
use crate::exit::Error;
use crate::farm::FarmBackend;

/// All backends; which one opens a board is for its URI to say.
pub fn all() -> Backends {
    Backends::new()
        .with(XdmaBackend::new())
        .with(FarmBackend::over(XdmaBackend::new()))
        .with(build::backend())
        .with(ShmBackend)
        .with(StandInBackend::over(build::backend()))
        .with(Soft)
}

/// Opens the board or boards that `uri` names.
pub fn open(uri: &str) -> Result<Cluster, alcor::Error> {
    all().open(uri)
}

/// Whether a URI names boards of which there is one lot, however often they are opened: a card, or a running cluster.
pub fn is_shared(uri: &str) -> bool {
    matches!(uri.split_once(':'), Some(("xdma" | "board" | "shm", _)))
}

/// Checks that a backend records waves, and does not yet.
pub fn check_waves(uri: &str) -> Result<(), Error> {
    let Some((CosimBackend::SCHEME, rest)) = uri.split_once(':') else {
        return Err(Error::NoWaves(uri.to_owned()));
    };
    let (_, options) = rest.split_once('?').unwrap_or_default();
    if options
        .split('&')
        .any(|option| option.starts_with("waves="))
    {
        return Err(Error::WavesTwice(uri.to_owned()));
    }
    Ok(())
}

/// `uri`, with waves that go to `file`.
pub fn with_waves(uri: &str, file: &Path) -> Result<String, Error> {
    let separator = if uri.contains('?') { '&' } else { '?' };
    match file.to_str() {
        Some(path) if !path.contains('&') => Ok(format!("{uri}{separator}waves={path}")),
        _ => Err(Error::BadWavesPath(file.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_once_is_told_from_what_is_opened_anew() {
        for uri in ["xdma:auto", "xdma:0000:3b:00.0", "board:left", "shm:lab"] {
            assert!(is_shared(uri), "{uri}");
        }
        for uri in [
            "cosim:rma4",
            "standin:rma2",
            "soft:2",
            "xdma",
            "boards:left",
        ] {
            assert!(!is_shared(uri), "{uri}");
        }
    }

    #[test]
    fn waves_are_added_to_what_a_uri_says() {
        let file = Path::new("out/put.fst");
        assert_eq!(
            with_waves("cosim:rma4", file).unwrap(),
            "cosim:rma4?waves=out/put.fst"
        );
        assert_eq!(
            with_waves("cosim:rma4?profile=ideal", file).unwrap(),
            "cosim:rma4?profile=ideal&waves=out/put.fst"
        );
        assert!(with_waves("cosim:rma4", Path::new("a&b.fst")).is_err());
        assert!(check_waves("soft:4").is_err());
        assert!(check_waves("cosim:rma4?waves=f.fst").is_err());
        assert!(check_waves("cosim:rma4?profile=ideal").is_ok());
    }
}
