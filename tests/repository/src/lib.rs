//! Small copies of the repository, in which tests edit sources and build models.
//!
//! A copy contains the files that `alcor` and `alcor_cosim` need below a repository's root: `hw`
//! with its lists of sources and its configurations, and links to the tools. Functions panic on
//! errors, because only tests use this crate.
#![forbid(unsafe_code)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Root of the repository that contains this crate.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// A small replacement for a board's core, which compiles in seconds.
const STAND_IN: &str = "cosim/engine/tests/sv";

/// A copy of the repository. The copy is deleted when the value is dropped.
#[derive(Debug)]
pub struct Repository {
    folder: TempDir,
}

impl Repository {
    /// A copy with the replacement core and the given configurations.
    ///
    /// # Panics
    /// If a file cannot be written, or if `ci/setup` has not installed the tools into
    /// `target/tools`.
    #[must_use]
    pub fn of_stand_in(configs: &str) -> Self {
        let copy = Self::empty();
        for (source, file) in [
            ("stand_in.sv", "core/stand_in.sv"),
            ("sim_top.sv", "dpi/sim_top.sv"),
        ] {
            let text = fs::read_to_string(Path::new(ROOT).join(STAND_IN).join(source));
            copy.write(&format!("hw/{file}"), &text.unwrap());
        }
        for (file, text) in [
            ("core/configs.toml", configs),
            ("core/blocks", "core\n"),
            ("core/files.f", "core/stand_in.sv\n"),
            ("link/files.f", ""),
            ("dpi/files.f", "dpi/sim_top.sv\n"),
            ("common/rtl/unused.svh", "// nothing\n"),
        ] {
            copy.write(&format!("hw/{file}"), text);
        }
        copy
    }

    /// A copy with the hardware of the repository.
    ///
    /// # Panics
    /// As for [`of_stand_in`](Self::of_stand_in).
    #[must_use]
    pub fn of_hardware() -> Self {
        let copy = Self::empty();
        copy_folder(&Path::new(ROOT).join("hw"), &copy.path().join("hw"));
        copy
    }

    fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        fs::create_dir(&target).unwrap();
        let tools = Path::new(ROOT).join("target/tools");
        symlink(fs::canonicalize(tools).unwrap(), target.join("tools")).unwrap();
        Self { folder }
    }

    /// The root of the copy.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file, named relative to the root. Creates the file's folder if necessary.
    ///
    /// # Panics
    /// If writing fails.
    pub fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Replaces the text of a file by the result of `change`. Returns the previous text.
    ///
    /// # Panics
    /// If reading or writing fails.
    pub fn change(&self, file: &str, change: impl FnOnce(&str) -> String) -> String {
        let text = fs::read_to_string(self.path().join(file)).unwrap();
        self.write(file, &change(&text));
        text
    }

    /// Replaces the only occurrence of `from` in a file.
    ///
    /// # Panics
    /// If there is no occurrence, or more than one.
    pub fn replace(&self, file: &str, from: &str, to: &str) {
        self.change(file, |text| {
            assert_eq!(text.matches(from).count(), 1, "{file}: {from}");
            text.replace(from, to)
        });
    }

    /// Adds a comment to a file. Returns the previous text.
    ///
    /// # Panics
    /// If reading or writing fails.
    pub fn edit(&self, file: &str) -> String {
        let comment = if file.ends_with(".toml") { "#" } else { "//" };
        self.change(file, |text| format!("{text}{comment} edited\n"))
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, to): (PathBuf, _) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_folder(&path, &to);
        } else {
            fs::copy(path, to).unwrap();
        }
    }
}
