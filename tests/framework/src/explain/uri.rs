//! URIs of boards that record waves or packets.

use std::path::{Path, PathBuf};

use alcor_cosim::CosimBackend;

/// A board can't record waves in this way.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UriError {
    /// A backend records no waves.
    #[error(
        "`{0}` records no waves; leave --waves out, or take a simulated board such as cosim:rma4"
    )]
    NoWaves(String),
    /// The URI says already where waves go.
    #[error(
        "`{0}` names a file for waves, which the tests would overwrite in turn; use --waves instead"
    )]
    WavesTwice(String),
    /// A path can't stand in a URI.
    #[error("waves can't go to `{path}`: the path has `&` in it, or is not text; choose another --report folder", path = .0.display())]
    BadWavesPath(PathBuf),
}

/// Checks that a backend records waves, and does not yet.
///
/// # Errors
/// If it records none, or its URI names a file for them.
pub fn check_waves(uri: &str) -> Result<(), UriError> {
    let Some((CosimBackend::SCHEME, rest)) = uri.split_once(':') else {
        return Err(UriError::NoWaves(uri.to_owned()));
    };
    let (_, options) = rest.split_once('?').unwrap_or_default();
    if options
        .split('&')
        .any(|option| option.starts_with("waves="))
    {
        return Err(UriError::WavesTwice(uri.to_owned()));
    }
    Ok(())
}

/// `uri`, with waves that go to `file`.
///
/// # Errors
/// If the path can't stand in a URI.
pub fn with_waves(uri: &str, file: &Path) -> Result<String, UriError> {
    let separator = if uri.contains('?') { '&' } else { '?' };
    match file.to_str() {
        Some(path) if !path.contains('&') => Ok(format!("{uri}{separator}waves={path}")),
        _ => Err(UriError::BadWavesPath(file.to_owned())),
    }
}

/// Packets of each board that are kept for a failure.
const KEPT: usize = 20_000;

/// `uri`, with the last packets of its boards that go to `file` when they are closed; none where the backend has no log, or the URI
/// says itself what to do with it.
#[must_use]
pub fn with_packets(uri: &str, file: &Path) -> Option<String> {
    let (CosimBackend::SCHEME, rest) = uri.split_once(':')? else {
        return None;
    };
    let (_, options) = rest.split_once('?').unwrap_or_default();
    let is_own = |option: &str| {
        ["trace=", "packets=", "log="]
            .iter()
            .any(|own| option.starts_with(own))
    };
    let path = file.to_str().filter(|path| !path.contains('&'))?;
    let separator = if uri.contains('?') { '&' } else { '?' };
    (!options.split('&').any(is_own)).then(|| format!("{uri}{separator}packets={path}&log={KEPT}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_logged_where_they_can_be_and_nobody_else_does() {
        let with = |uri| with_packets(uri, Path::new("out/packets.txt"));
        assert_eq!(
            with("cosim:rma4?away=1").unwrap(),
            "cosim:rma4?away=1&packets=out/packets.txt&log=20000"
        );
        assert!(with("cosim:rma4").unwrap().contains("rma4?packets="));
        for uri in [
            "soft:2",
            "standin:rma2",
            "cosim:rma4?log=5",
            "cosim:rma4?away=1&trace=t.json",
        ] {
            assert_eq!(with(uri), None, "{uri}");
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
