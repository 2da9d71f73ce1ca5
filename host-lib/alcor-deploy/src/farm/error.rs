//! Errors of the file of a farm.

use std::io;
use std::path::PathBuf;

use super::SCHEMA;

/// An error of a farm's file, or of a request for a board.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum FarmError {
    /// The file can't be read.
    #[error("can't read {path}: {source}; docs/deploy.md describes the file", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Cause of the error.
        source: io::Error,
    },
    /// The file is not TOML, or has other keys.
    #[error("{path}, line {line}: {message}", path = path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Message of the parser.
        message: String,
    },
    /// The file is of another version.
    #[error("{path} has schema {found}, and this program reads {SCHEMA}", path = path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// Schema version of the file.
        found: i64,
    },
    /// The file has an invalid value.
    #[error("{path}: {what}", path = path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Name of the value, and the rule that the value breaks.
        what: String,
    },
    /// No board has that name.
    #[error("{path} has no board `{name}`; {}", listed(known), path = path.display())]
    NoBoard {
        /// The file.
        path: PathBuf,
        /// The requested board.
        name: String,
        /// The boards of the file.
        known: Vec<String>,
    },
    /// No cluster has that name.
    #[error("{path} has no cluster `{name}`; {}", listed(known), path = path.display())]
    NoCluster {
        /// The file.
        path: PathBuf,
        /// The requested cluster.
        name: String,
        /// The clusters of the file.
        known: Vec<String>,
    },
    /// The board is in another host.
    #[error("board `{name}` is in host {host}, and this host is {here}: run the command on {host}")]
    OtherHost {
        /// The board.
        name: String,
        /// Host of the board.
        host: String,
        /// This host.
        here: String,
    },
}

alcor_errors::debug_as_text!(FarmError);

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        "it has none".into()
    } else {
        format!("it has {}", names.join(", "))
    }
}
