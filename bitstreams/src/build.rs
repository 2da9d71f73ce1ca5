//! `build.toml`: the description of a build.

use std::path::Path;

use serde::Deserialize;

use crate::files::{printable, toml};
use crate::{Error, Result, Word};

/// The description that the board build writes beside the bitstream.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// The board: `u280`.
    pub board: String,
    /// The part, with package and speed.
    pub part: String,
    /// The configuration of hw/core/configs.toml.
    pub configuration: String,
    /// CRC-32 of hw/abi/alcor.rdl, as the ID block reads it.
    pub abi_hash: Word,
    /// First 32 bits of the source revision, as the ID block reads them.
    pub revision: Word,
    /// The tool and its version: `Vivado 2023.1`.
    pub tool: String,
}

impl Build {
    /// Reads a `build.toml`; `path` is for errors.
    ///
    /// # Errors
    /// [`Error::Toml`], [`Error::BadValue`].
    pub fn parse(text: &str, path: &Path) -> Result<Build> {
        let build: Build = toml(text, path)?;
        for (key, value) in [
            ("board", &build.board),
            ("part", &build.part),
            ("configuration", &build.configuration),
            ("tool", &build.tool),
        ] {
            check_name(path, key, value)?;
        }
        Ok(build)
    }
}

/// Characters of the longest name.
const MOST: usize = 128;

/// Checks that a name is short and of printable ASCII, so that it can be shown in terminals and
/// tables.
pub(crate) fn check_name(path: &Path, key: &'static str, value: &str) -> Result<()> {
    let is_plain = value.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if is_plain && (1..=MOST).contains(&value.len()) && value.trim() == value {
        Ok(())
    } else {
        Err(Error::BadValue {
            path: path.to_owned(),
            key,
            found: printable(value, 40),
            rule: "a name must have 1 to 128 printable ASCII characters",
        })
    }
}
