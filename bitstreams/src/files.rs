//! Files that are not trusted: plain ones, of a bounded length.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::{Error, Result};

/// For `map_err`: an error of an action on a file.
pub(crate) fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io {
        doing,
        path,
        source,
    }
}

/// Opens a plain file of at most `most` bytes, and returns its length. Links are not followed.
/// Pipes are refused, because opening one would wait.
pub(crate) fn open(path: &Path, most: u64, advice: &'static str) -> Result<(File, u64)> {
    let about = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Error::Missing {
                path: path.to_owned(),
                advice,
            });
        }
        other => other.map_err(failed("look at", path))?,
    };
    if !about.is_file() {
        return Err(Error::NotAFile {
            path: path.to_owned(),
        });
    }
    let bytes = about.len();
    if bytes > most {
        return Err(Error::TooLong {
            path: path.to_owned(),
            bytes,
            most,
        });
    }
    let file = File::open(path).map_err(failed("open", path))?;
    Ok((file, bytes))
}

/// Reads a text file of at most `most` bytes.
pub(crate) fn text(path: &Path, most: u64, advice: &'static str) -> Result<String> {
    let (file, _) = open(path, most, advice)?;
    let mut bytes = Vec::new();
    // The file may have grown since.
    let read = file.take(most + 1).read_to_end(&mut bytes);
    read.map_err(failed("read", path))?;
    if bytes.len() as u64 > most {
        return Err(Error::TooLong {
            path: path.to_owned(),
            bytes: bytes.len() as u64,
            most,
        });
    }
    String::from_utf8(bytes).map_err(|error| Error::NotText {
        path: path.to_owned(),
        at: error.utf8_error().valid_up_to(),
    })
}

/// Reads TOML. The parser's excerpt of the text is left out, because the text may be long or
/// contain control characters.
pub(crate) fn toml<T: serde::de::DeserializeOwned>(text: &str, path: &Path) -> Result<T> {
    ::toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        Error::Toml {
            path: path.to_owned(),
            line: 1 + before.unwrap_or_default().matches('\n').count(),
            message: printable(error.message(), 200),
        }
    })
}

/// The beginning of a text, with control characters escaped.
pub(crate) fn printable(text: &str, most: usize) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(most).map(shown).collect()
}
