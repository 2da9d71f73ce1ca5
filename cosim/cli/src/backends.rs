//! The backends that the program is built with.

use std::path::PathBuf;

use alcor::{Backends, Cluster, soft::Soft};
use alcor_cosim::CosimBackend;
use alcor_farm::{ClusterBackend, FarmBackend};
use alcor_shm::ShmBackend;
use alcor_standin::StandInBackend;
use alcor_xdma::XdmaBackend;

use crate::build;
use crate::exit::Error;
use crate::served::ServedBackend;

/// Opens boards.
#[derive(Debug, Clone, Default)]
pub struct Opening {
    /// Number of threads that step the boards of a cluster, unless its URI gives one.
    pub threads: Option<usize>,
}

impl Opening {
    /// Simulated boards.
    pub fn cosim(&self) -> CosimBackend {
        build::backend().threads(self.threads)
    }

    /// All backends. The URI of a board selects one of them.
    fn all(&self) -> Backends {
        Backends::new()
            .with(XdmaBackend::new())
            .with(FarmBackend::new())
            .with(ClusterBackend::new())
            .with(self.cosim())
            .with(ShmBackend)
            .with(StandInBackend::over(self.cosim()))
            .with(ServedBackend {
                threads: self.threads,
            })
            .with(Soft)
    }

    /// Opens the board or boards that `uri` names.
    pub fn open(&self, uri: &str) -> Result<Cluster, alcor::Error> {
        self.all().open(uri)
    }
}

/// Opens the board or boards that `uri` names.
pub fn open(uri: &str) -> Result<Cluster, alcor::Error> {
    Opening::default().open(uri)
}

/// Checks what can be checked of a URI without opening it: its scheme, and the configuration and
/// options of boards that are simulated.
pub fn check(uri: &str) -> Result<(), alcor::Error> {
    let backends = Opening::default().all();
    let (scheme, rest) = uri.split_once(':').unwrap_or((uri, ""));
    match scheme {
        StandInBackend::SCHEME => StandInBackend::over(build::backend()).check(rest),
        CosimBackend::SCHEME | ServedBackend::SCHEME => {
            let checked = build::backend().check(rest);
            checked.map_err(|error| error.on(uri))
        }
        _ if backends.schemes().any(|known| known == scheme) => Ok(()),
        _ => backends.open(uri).map(drop),
    }
}

/// Whether a URI names boards that exist once, however often they are opened: a card, or a running
/// cluster.
pub fn is_shared(uri: &str) -> bool {
    matches!(
        uri.split_once(':'),
        Some(("xdma" | "board" | "cluster" | "shm", _))
    )
}

/// `uri`, with a model that counts coverage.
pub fn with_coverage(uri: &str) -> Result<String, Error> {
    match uri.split_once(':') {
        Some((CosimBackend::SCHEME, _)) => {
            let separator = if uri.contains('?') { '&' } else { '?' };
            Ok(format!("{uri}{separator}coverage=1"))
        }
        _ => Err(Error::NoCoverage(uri.to_owned())),
    }
}

/// Records of the activity of simulated boards.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Logs {
    /// Write a timeline of a simulated board to this file, for Perfetto or chrome://tracing: calls,
    /// commands, packets, hops, memory and completions, in cycles
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// Write all packets of a simulated board to this file: .pcapng for Wireshark, or .txt
    #[arg(long, value_name = "FILE")]
    pub packets: Option<PathBuf>,
}

impl Logs {
    /// Whether there is a file to write.
    pub fn are_wanted(&self) -> bool {
        self.trace.is_some() || self.packets.is_some()
    }

    /// `rest`, the part of a URI after the scheme, with the files.
    pub fn add_to(&self, rest: &str) -> Result<String, Error> {
        let mut with_files = rest.to_owned();
        for (option, file) in [("trace", &self.trace), ("packets", &self.packets)] {
            let Some(file) = file else { continue };
            let path = file.to_str().filter(|path| !path.contains('&'));
            let path = path.ok_or_else(|| Error::BadLogPath(file.clone()))?;
            with_files.push(if with_files.contains('?') { '&' } else { '?' });
            with_files += &format!("{option}={path}");
        }
        Ok(with_files)
    }

    /// The URI `uri` with the files.
    pub fn add_to_uri(&self, uri: &str) -> Result<String, Error> {
        match uri.split_once(':') {
            _ if !self.are_wanted() => Ok(uri.to_owned()),
            Some((CosimBackend::SCHEME, _)) => self.add_to(uri),
            _ => Err(Error::NoTrace(uri.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_once_is_told_from_what_is_opened_anew() {
        for uri in [
            "xdma:auto",
            "xdma:0000:3b:00.0",
            "board:left",
            "cluster:lab",
            "shm:lab",
        ] {
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
    fn coverage_is_of_simulated_boards() {
        let with = |uri| with_coverage(uri).ok();
        assert_eq!(with("cosim:rma4").unwrap(), "cosim:rma4?coverage=1");
        assert_eq!(
            with("cosim:rma4?away=1").unwrap(),
            "cosim:rma4?away=1&coverage=1"
        );
        for uri in ["soft:2", "standin:rma2", "xdma:auto", "cosim"] {
            assert_eq!(with(uri), None, "{uri}");
        }
    }

    #[test]
    fn files_are_added_to_what_a_uri_says() {
        let logs = Logs {
            trace: Some("a/t.json".into()),
            packets: Some("p.txt".into()),
        };
        assert_eq!(
            logs.add_to_uri("cosim:rma4?away=9").unwrap(),
            "cosim:rma4?away=9&trace=a/t.json&packets=p.txt"
        );
        assert_eq!(
            logs.add_to("rma2").unwrap(),
            "rma2?trace=a/t.json&packets=p.txt"
        );
        assert!(matches!(
            logs.add_to_uri("xdma:auto"),
            Err(Error::NoTrace(_))
        ));
        assert_eq!(
            Logs::default().add_to_uri("xdma:auto").unwrap(),
            "xdma:auto"
        );
        let odd = Logs {
            trace: Some("a&b".into()),
            packets: None,
        };
        assert!(matches!(odd.add_to("rma2"), Err(Error::BadLogPath(_))));
    }
}
