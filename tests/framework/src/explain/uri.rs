//! URIs of boards, extended by options that record waves or packets.

use std::path::{Path, PathBuf};

use alcor_cosim::CosimBackend;

/// The reason why a board cannot record waves.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UriError {
    /// The backend cannot record waves.
    #[error("`{0}` records no waves; omit --waves, or use a simulated board such as cosim:rma4")]
    NoWaves(String),
    /// The URI already names a file for waves.
    #[error("`{0}` names a file for waves, which each test would overwrite; use --waves instead")]
    WavesTwice(String),
    /// A path cannot be part of a URI.
    #[error(
        "cannot write waves to `{path}`: the path contains `&` or is not UTF-8; choose another --report \
         folder",
        path = .0.display()
    )]
    BadWavesPath(PathBuf),
}

/// Checks that a backend can record waves, and that its URI does not request waves yet.
///
/// # Errors
/// [`UriError::NoWaves`] or [`UriError::WavesTwice`].
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

/// `uri` with an option that writes waves to `file`.
///
/// # Errors
/// An error if the path cannot be part of a URI.
pub fn with_waves(uri: &str, file: &Path) -> Result<String, UriError> {
    let separator = if uri.contains('?') { '&' } else { '?' };
    match file.to_str() {
        Some(path) if !path.contains('&') => Ok(format!("{uri}{separator}waves={path}")),
        _ => Err(UriError::BadWavesPath(file.to_owned())),
    }
}

/// Number of packets of each board that are kept for a failure.
const KEPT: usize = 20_000;

/// `uri` with an option that writes the last packets of the boards to `file` when the boards are
/// closed. `None` if the backend has no packet log, or if the URI already sets an option of the
/// log.
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
