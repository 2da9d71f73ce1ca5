//! Faults in the block under test, for `ci/mutate`.

use std::fs;
use std::path::{Path, PathBuf};

/// Input of the netlist that selects the active fault. 0 selects none.
pub const ACTIVE: &str = "mutant_i";

/// Value of `ALCOR_MUTANTS`: a folder of models with faults, and the number of the active fault.
#[derive(Debug, Clone)]
pub struct Mutants {
    folder: PathBuf,
    active: u32,
}

impl Mutants {
    /// Reads the environment. `None` if no faults are requested.
    ///
    /// # Panics
    /// If `ALCOR_MUTANTS` is not `FOLDER,NUMBER`.
    pub fn from_env() -> Option<Self> {
        let text = std::env::var("ALCOR_MUTANTS").ok()?;
        let parsed = text
            .rsplit_once(',')
            .and_then(|(folder, active)| Some((folder.into(), active.parse().ok()?)));
        let Some((folder, active)) = parsed else {
            panic!("ALCOR_MUTANTS is FOLDER,NUMBER, not {text}");
        };
        Some(Self { folder, active })
    }

    /// Number of the active fault.
    pub fn active(&self) -> u32 {
        self.active
    }

    /// The source with faults that replaces a model's sources: a netlist (`.v`), which has the
    /// model's parameters, or all sources in one (`.sv`). If there is none for the model, the model
    /// has no faults, and its top, parameters and sources are written for `ci/mutate`.
    ///
    /// # Panics
    /// If a file cannot be written.
    pub fn source(
        &self,
        top: &str,
        params: &[(String, u64)],
        sources: &[PathBuf],
    ) -> Option<PathBuf> {
        let mut name = top.to_owned();
        let mut recipe = format!("top {top}\n");
        for (param, value) in params {
            name += &format!("-{param}={value}");
            recipe += &format!("param {param} {value}\n");
        }
        for source in sources {
            recipe += &format!("source {}\n", source.display());
        }
        for kind in ["v", "sv"] {
            let path = self.folder.join(format!("{name}.{kind}"));
            if path.exists() {
                return Some(path);
            }
        }
        write(&self.folder, &format!("{name}.recipe"), &recipe);
        None
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, text))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
