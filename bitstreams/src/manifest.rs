//! The manifest of a build.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::build::check_name;
use crate::files::{printable, toml};
use crate::{Digest, Error, MOST_BIT_BYTES, Resource, Result, Timing, Word};

/// The version of the schema that this crate writes and reads.
pub const SCHEMA: i64 = 1;

/// Largest number of resources in a manifest.
const MOST_RESOURCES: usize = 32;

/// The description of a bitstream: board, sources, timing, utilisation and digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: i64,
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
    /// The tool and its version.
    pub tool: String,
    /// Time of the build, as the tool wrote it into the bitstream.
    pub built: String,
    /// The bitstream.
    pub bitstream: Bitstream,
    /// Slacks of the worst paths.
    pub timing: Timing,
    /// Utilisation of the part.
    #[serde(default)]
    pub utilisation: Vec<Resource>,
}

/// A bitstream's file and its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bitstream {
    /// File name, in the folder of the manifest.
    pub file: String,
    /// Length in bytes.
    pub bytes: u64,
    /// CRC-32, as eight hexadecimal digits.
    pub crc32: String,
    /// SHA-256, as 64 hexadecimal digits.
    pub sha256: String,
}

/// The part of the file that every version has.
#[derive(Deserialize)]
struct Version {
    schema: i64,
}

impl Manifest {
    /// Reads a manifest. Refuses values that this crate would not write. `path` is for errors.
    ///
    /// # Errors
    /// [`Error::Schema`] for another version, with any contents; [`Error::Toml`];
    /// [`Error::BadValue`]; [`Error::TimingFailed`].
    ///
    /// # Examples
    /// ```
    /// use alcor_bitstreams::{Error, Manifest};
    ///
    /// let later = Manifest::parse("schema = 2\nboards = []", "manifest.toml".as_ref());
    /// assert!(matches!(later, Err(Error::Schema { found: 2, .. })));
    /// ```
    pub fn parse(text: &str, path: &Path) -> Result<Manifest> {
        let Version { schema } = toml(text, path)?;
        if schema != SCHEMA {
            return Err(Error::Schema {
                path: path.to_owned(),
                found: schema,
                wanted: SCHEMA,
            });
        }
        let manifest: Manifest = toml(text, path)?;
        manifest.check(path)?;
        Ok(manifest)
    }

    /// Returns the manifest as TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // Serialisation cannot fail: strings and numbers come before tables, as TOML requires.
        ::toml::to_string(self).unwrap_or_default()
    }

    pub(crate) fn check(&self, path: &Path) -> Result<()> {
        let bad = |key, found: &dyn ToString, rule| Error::BadValue {
            path: path.to_owned(),
            key,
            found: printable(&found.to_string(), 40),
            rule,
        };
        for (key, value) in [
            ("board", &self.board),
            ("part", &self.part),
            ("configuration", &self.configuration),
            ("tool", &self.tool),
            ("built", &self.built),
            ("bitstream.file", &self.bitstream.file),
        ] {
            check_name(path, key, value)?;
        }
        let Bitstream {
            file,
            bytes,
            crc32,
            sha256,
        } = &self.bitstream;
        if !is_file_name(file) {
            let rule = "it is the name of a .bit file beside the manifest";
            return Err(bad("bitstream.file", file, rule));
        }
        if *bytes > MOST_BIT_BYTES {
            return Err(bad("bitstream.bytes", bytes, "no bitstream is that long"));
        }
        for (key, digits, count) in [
            ("bitstream.crc32", crc32, 8),
            ("bitstream.sha256", sha256, 64),
        ] {
            let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            if digits.len() != count || !digits.bytes().all(is_hex) {
                let rule = "it has eight hexadecimal digits, or 64 for a SHA-256, in lower case";
                return Err(bad(key, digits, rule));
            }
        }
        if !self.timing.is_met() {
            return Err(Error::TimingFailed {
                timing: self.timing,
                failing: 0,
            });
        }
        if self.utilisation.len() > MOST_RESOURCES {
            let rule = "no part has so many kinds of resources";
            return Err(bad("utilisation", &self.utilisation.len(), rule));
        }
        for resource in &self.utilisation {
            check_name(path, "utilisation.name", &resource.name)?;
            if !resource.is_possible() {
                let rule = "no more is used than there is";
                return Err(bad("utilisation.used", &resource.used, rule));
            }
        }
        Ok(())
    }
}

impl Bitstream {
    /// The first difference from a file's digest, if there is one: its name, the found and the
    /// expected value.
    pub(crate) fn differs(&self, digest: &Digest) -> Option<(&'static str, String, String)> {
        if self.bytes != digest.bytes {
            return Some(("length", digest.bytes.to_string(), self.bytes.to_string()));
        }
        for (what, found, wanted) in [
            ("CRC-32", &digest.crc32, &self.crc32),
            ("SHA-256", &digest.sha256, &self.sha256),
        ] {
            if found != wanted {
                return Some((what, found.clone(), wanted.clone()));
            }
        }
        None
    }
}

/// Returns whether a text is the name of a .bit file in the same folder.
fn is_file_name(name: &str) -> bool {
    let has_stem = name
        .strip_suffix(".bit")
        .is_some_and(|stem| !stem.is_empty());
    has_stem && !name.starts_with('.') && !name.contains(['/', '\\'])
}
