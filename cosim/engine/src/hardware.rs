//! The origin of the hardware's sources.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use alcor_hw::{AROUND, CONFIGS, INCLUDES};
use verimodel::{Sources, Toolchain};

use crate::CosimError;

/// The environment variable that names a clone of Alcor's repository, whose hardware is simulated.
pub const ROOT_VARIABLE: &str = "ALCOR_ROOT";

/// The origin of configurations and SystemVerilog.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hardware {
    /// From the files of a clone of Alcor's repository: the root of the clone.
    Clone(PathBuf),
    /// From the program itself: the files of the crate `alcor-hw` that the program was built with.
    Embedded,
}

impl Hardware {
    /// The clone that `ALCOR_ROOT` names, if the variable is set; else the nearest folder, from the
    /// current one upwards, that has `hw/core/configs.toml`; else the copy in the program.
    ///
    /// # Errors
    /// If `ALCOR_ROOT` names a folder without `hw/core/configs.toml`.
    pub fn find() -> Result<Self, CosimError> {
        let is_clone = |folder: &Path| folder.join(CONFIGS).is_file();
        if let Some(root) = env::var_os(ROOT_VARIABLE).filter(|root| !root.is_empty()) {
            let root = PathBuf::from(root);
            return if is_clone(&root) {
                Ok(Self::Clone(root))
            } else {
                Err(CosimError::NoRoot { root })
            };
        }
        let current = env::current_dir().unwrap_or_default();
        let found = current.ancestors().find(|folder| is_clone(folder));
        Ok(found.map_or(Self::Embedded, |root| Self::Clone(root.into())))
    }

    /// The root of the clone; none if the hardware is embedded.
    #[must_use]
    pub fn root(&self) -> Option<&Path> {
        match self {
            Self::Clone(root) => Some(root),
            Self::Embedded => None,
        }
    }

    /// The tools that build models of it: those below the clone first.
    ///
    /// # Errors
    /// As [`Toolchain::find`].
    pub fn toolchain(&self) -> Result<Toolchain, CosimError> {
        let found = self.root().map_or_else(Toolchain::find, Toolchain::find_in);
        Ok(found?)
    }

    /// A file's path, as messages have it; `name` is the path from the root.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().unwrap_or(Path::new("")).join(name)
    }

    /// The text of a file.
    pub(crate) fn text(&self, name: &str) -> Result<String, CosimError> {
        let path = self.path(name);
        let text = match self {
            Self::Clone(_) => fs::read_to_string(&path),
            Self::Embedded => alcor_hw::text(name)
                .map(str::to_owned)
                .ok_or_else(|| std::io::ErrorKind::NotFound.into()),
        };
        text.map_err(|source| CosimError::Read {
            path,
            source: Arc::new(source),
        })
    }

    /// The sources of a simulated board. A model's key in the cache covers their names, texts and
    /// order, and no path.
    pub(crate) fn sources(
        &self,
        read: impl FnMut(&str) -> Result<String, CosimError>,
    ) -> Result<Sources, CosimError> {
        let names = alcor_hw::sources(&AROUND, read)?;
        Ok(match self {
            Self::Clone(root) => {
                let paths: Vec<_> = names.iter().map(|name| root.join(name)).collect();
                Sources::read(root, &paths, &[root.join(INCLUDES)])?
            }
            Self::Embedded => Sources::of_texts(&names, &[INCLUDES], alcor_hw::files())?,
        })
    }
}

impl fmt::Display for Hardware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clone(root) => write!(f, "{}", root.display()),
            Self::Embedded => write!(f, "alcor-hw {}, in this program", alcor_hw::VERSION),
        }
    }
}

/// The sources of `core`, one whole board, in the order of compilation, and their include folders;
/// `root` is that of a clone of the repository.
///
/// # Errors
/// If a list of sources can't be read.
pub fn core_sources(root: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), CosimError> {
    let hardware = Hardware::Clone(root.into());
    let names = alcor_hw::sources(&[], |name| hardware.text(name))?;
    let paths = names.iter().map(|name| root.join(name)).collect();
    Ok((paths, vec![root.join(INCLUDES)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Project;

    fn here() -> Hardware {
        Hardware::Clone(concat!(env!("CARGO_MANIFEST_DIR"), "/../..").into())
    }

    #[test]
    fn what_is_embedded_is_what_the_repository_has_and_has_the_same_models() {
        for (name, text) in alcor_hw::files() {
            assert_eq!(here().text(name).unwrap(), text, "{name}");
        }
        let [ours, embedded] =
            [here(), Hardware::Embedded].map(|hardware| Project::read(hardware, None).unwrap());
        assert!(ours.configs.iter().eq(embedded.configs.iter()));
        assert!(embedded.changed().is_empty());
        let names = ours.entry_names().unwrap();
        assert!(names.len() > 100, "{}", names.len());
        assert_eq!(embedded.entry_names().unwrap(), names);
    }
}
