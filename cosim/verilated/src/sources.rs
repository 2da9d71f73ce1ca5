//! The source files of a model, as they were at one instant, under names that hold no path of this
//! machine.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::Error;

/// Endings of files that Verilator may read out of an include folder.
const INCLUDED: &[&str] = &["sv", "svh", "v", "vh"];
/// Endings of files that a C++ compiler may read out of an include folder.
const CPP_INCLUDED: &[&str] = &["h", "hh", "hpp", "hxx", "inc"];

/// The source files of a model, as they were when [`Sources::read`] read them; clones are cheap.
///
/// Each file has a name that does not depend on where the files lie: the path from the root folder,
/// with `/`. A file outside the root folder goes by its file name, with a number in front if
/// another file has that name. Verilator sees these names only, so messages of a model carry them,
/// and two copies of a tree give the same model.
#[derive(Clone)]
pub struct Sources {
    inner: Arc<Inner>,
}

struct Inner {
    /// Names in the order of compilation.
    order: Vec<String>,
    /// Names of the include folders, in the order of search.
    include_dirs: Vec<String>,
    /// Include folders as they were given, to find files that appear in them later.
    folders: Vec<Folder>,
    /// Endings of the files that count in include folders.
    endings: &'static [&'static str],
    files: BTreeMap<String, File>,
}

#[derive(Clone)]
struct Folder {
    name: String,
    path: PathBuf,
}

#[derive(Clone)]
struct File {
    /// Path of the file; none for a text.
    path: Option<PathBuf>,
    text: Vec<u8>,
    is_outside: bool,
}

impl Sources {
    /// Reads source files in the order of compilation, and all SystemVerilog files of include
    /// folders.
    ///
    /// # Errors
    /// If the root, a file or a folder cannot be read.
    pub fn read(root: &Path, sources: &[PathBuf], include_dirs: &[PathBuf]) -> Result<Self, Error> {
        Self::read_with(root, sources, include_dirs, INCLUDED)
    }

    /// The same for C++.
    pub(crate) fn read_cpp(
        root: &Path,
        sources: &[PathBuf],
        include_dirs: &[PathBuf],
    ) -> Result<Self, Error> {
        Self::read_with(root, sources, include_dirs, CPP_INCLUDED)
    }

    fn read_with(
        root: &Path,
        sources: &[PathBuf],
        include_dirs: &[PathBuf],
        endings: &'static [&'static str],
    ) -> Result<Self, Error> {
        let mut names = Names::below(root)?;
        let mut files = BTreeMap::new();
        let mut order = Vec::new();
        for path in sources {
            // A file may be a link to another name: the name by which it is given counts.
            let (folder, file) = (path.parent().unwrap_or(Path::new("")), path.file_name());
            let folder = real(folder)?;
            let path = folder.join(file.unwrap_or_default());
            let (name, is_outside) = names.of_file(&path);
            let text = fs::read(&path).map_err(Error::io("read source", &path))?;
            order.push(name.clone());
            files.insert(
                name,
                File {
                    path: Some(path),
                    text,
                    is_outside,
                },
            );
        }
        let mut folders = Vec::new();
        for folder in include_dirs {
            let path = real(folder).map_err(|_| {
                let gone = std::io::Error::from(std::io::ErrorKind::NotFound);
                Error::io("read include folder", folder)(gone)
            })?;
            let (name, is_outside) = names.of_folder(&path);
            for path in included(&path, endings)? {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                let text = fs::read(&path).map_err(Error::io("read source", &path))?;
                files.insert(
                    joined(&name, &file),
                    File {
                        path: Some(path),
                        text,
                        is_outside,
                    },
                );
            }
            folders.push(Folder { name, path });
        }
        Ok(Self {
            inner: Arc::new(Inner {
                order,
                include_dirs: folders.iter().map(|folder| folder.name.clone()).collect(),
                folders,
                endings,
                files,
            }),
        })
    }

    /// Sources that are in the program: of all `files`, names with texts, those that `order` names,
    /// in the order of compilation, and the SystemVerilog files in the include folders. Names are
    /// as [`Sources`] says, so the same files on a disk give the same model.
    ///
    /// # Errors
    /// If a name of `order` is not among the files, or a name leads out of the root.
    pub fn of_texts<'a>(
        order: &[String],
        include_dirs: &[&str],
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Error> {
        let is_included = |name: &str| {
            let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
            include_dirs.contains(&folder) && has_ending(Path::new(file), INCLUDED)
        };
        let mut found = BTreeMap::new();
        for (name, text) in files {
            let is_below = |part| matches!(part, Component::Normal(_));
            if !Path::new(name).components().all(is_below) {
                let refused = std::io::Error::from(ErrorKind::InvalidInput);
                return Err(Error::io("take the name of a source", name)(refused));
            }
            if is_included(name) || order.iter().any(|it| it == name) {
                let file = File {
                    path: None,
                    text: text.into(),
                    is_outside: false,
                };
                found.insert(name.to_owned(), file);
            }
        }
        if let Some(missing) = order.iter().find(|&name| !found.contains_key(name)) {
            return Err(Error::io("read source", missing)(
                ErrorKind::NotFound.into(),
            ));
        }
        Ok(Self {
            inner: Arc::new(Inner {
                order: order.to_vec(),
                include_dirs: include_dirs.iter().map(|&name| name.into()).collect(),
                folders: Vec::new(),
                endings: INCLUDED,
                files: found,
            }),
        })
    }

    /// These sources and one more, compiled after them: its name, its path (none if it is in the
    /// program), and its text. A source with this name is replaced, and keeps its place.
    #[must_use]
    pub fn and(&self, name: &str, path: Option<PathBuf>, text: String) -> Self {
        let inner = &self.inner;
        let mut order = inner.order.clone();
        if !order.iter().any(|known| known == name) {
            order.push(name.to_owned());
        }
        let mut files = inner.files.clone();
        let file = File {
            path,
            text: text.into_bytes(),
            is_outside: false,
        };
        files.insert(name.to_owned(), file);
        Self {
            inner: Arc::new(Inner {
                order,
                include_dirs: inner.include_dirs.clone(),
                folders: inner.folders.clone(),
                endings: inner.endings,
                files,
            }),
        }
    }

    /// The files that are no longer as they were read, or that have appeared in an include folder
    /// since, in order of their paths. A file that cannot be read counts as changed; a text never
    /// does.
    #[must_use]
    pub fn changed(&self) -> Vec<PathBuf> {
        let inner = &self.inner;
        let mut changed: Vec<PathBuf> = inner
            .files
            .values()
            .filter_map(|file| Some((file.path.clone()?, &file.text)))
            .filter(|(path, read)| fs::read(path).map_or(true, |text| text != **read))
            .map(|(path, _)| path)
            .collect();
        for folder in &inner.folders {
            for path in included(&folder.path, inner.endings).unwrap_or_default() {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                if !inner.files.contains_key(&joined(&folder.name, &file)) {
                    changed.push(path);
                }
            }
        }
        changed.sort();
        changed.dedup();
        changed
    }

    /// Names of the sources, in the order of compilation.
    pub(crate) fn order(&self) -> &[String] {
        &self.inner.order
    }

    /// Names of the include folders, in the order of search.
    pub(crate) fn include_dirs(&self) -> &[String] {
        &self.inner.include_dirs
    }

    /// All files, by name.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let files = self.inner.files.iter();
        files.map(|(name, file)| (name.as_str(), file.text.as_slice()))
    }

    /// Whether `path`, which is real, is one of the files.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let mut paths = self
            .inner
            .files
            .values()
            .filter_map(|file| file.path.as_ref());
        paths.any(|file| fs::canonicalize(file).is_ok_and(|real| real == path))
    }

    /// Writes the files below `folder`, by their names.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Error> {
        for name in self.include_dirs() {
            let path = folder.join(name);
            fs::create_dir_all(&path).map_err(Error::io("create", &path))?;
        }
        for (name, text) in self.texts() {
            let path = folder.join(name);
            let above = path.parent().unwrap_or(folder);
            fs::create_dir_all(above).map_err(Error::io("create", above))?;
            fs::write(&path, text).map_err(Error::io("write", &path))?;
        }
        Ok(())
    }

    /// `text` of a message of Verilator's, with paths in place of the names of files outside the
    /// root.
    pub(crate) fn with_paths(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, file) in &self.inner.files {
            if let (true, Some(path)) = (file.is_outside, &file.path) {
                let path = path.display();
                text = text.replace(&format!(" {name}:"), &format!(" {path}:"));
            }
        }
        text
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources")
            .field("order", &self.inner.order)
            .finish_non_exhaustive()
    }
}

fn real(path: &Path) -> Result<PathBuf, Error> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    fs::canonicalize(path).map_err(Error::io("find", path))
}

fn joined(folder: &str, file: &str) -> String {
    format!("{folder}/{file}")
}

/// The files of a folder with one of the endings, in order of their names.
fn included(folder: &Path, endings: &[&str]) -> Result<Vec<PathBuf>, Error> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(Error::io("read include folder", folder))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| has_ending(path, endings))
        .collect();
    found.sort();
    Ok(found)
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    let extension = path.extension();
    extension.is_some_and(|found| endings.iter().any(|known| found == *known))
}

/// Gives names to files and folders.
struct Names {
    root: PathBuf,
    /// Names of files outside the root, with the file.
    outside: BTreeMap<String, PathBuf>,
    /// Include folders outside the root.
    folders: Vec<PathBuf>,
}

/// The folder of a file outside the root that has the name of another.
const OUTSIDE: &str = "outside";

impl Names {
    fn below(root: &Path) -> Result<Self, Error> {
        Ok(Self {
            root: real(root)?,
            outside: BTreeMap::new(),
            folders: Vec::new(),
        })
    }

    /// The path from the root, if that is text and can't be the name of an outside file.
    fn inside(&self, path: &Path) -> Option<String> {
        let name = path.strip_prefix(&self.root).ok()?.to_str()?;
        let is_apart = name.contains('/') && !name.starts_with(OUTSIDE);
        is_apart.then(|| name.to_owned())
    }

    /// The name of a file, and whether the file is outside the root.
    fn of_file(&mut self, path: &Path) -> (String, bool) {
        if let Some(name) = self.inside(path) {
            return (name, false);
        }
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let mut name = file.clone().into_owned();
        let mut number = 1;
        while self.outside.get(&name).is_some_and(|other| other != path) {
            number += 1;
            name = format!("{OUTSIDE}{number}/{file}");
        }
        self.outside.insert(name.clone(), path.to_owned());
        (name, true)
    }

    /// The name of an include folder, and whether the folder is outside the root.
    fn of_folder(&mut self, path: &Path) -> (String, bool) {
        if let Some(name) = self.inside(&path.join("x")) {
            return (name[..name.len() - 2].to_owned(), false);
        }
        let known = self.folders.iter().position(|folder| folder == path);
        let number = known.unwrap_or_else(|| {
            self.folders.push(path.to_owned());
            self.folders.len() - 1
        });
        (format!("{OUTSIDE}/include{}", number + 1), true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with files, each of which has its path as its text.
    fn tree(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        folder
    }

    fn read(root: &Path, sources: &[PathBuf], includes: &[PathBuf]) -> Sources {
        Sources::read(root, sources, includes).unwrap()
    }

    fn names(sources: &Sources) -> Vec<String> {
        sources.texts().map(|(name, _)| name.to_owned()).collect()
    }

    #[test]
    fn names_hold_no_path_of_the_root_however_it_is_spelt() {
        let trees = [(); 2].map(|()| tree(&["hw/a/a.sv", "hw/inc/i.svh", "hw/inc/readme.md"]));
        for tree in &trees {
            for root in [tree.path().to_owned(), tree.path().join("hw/../hw/a/../..")] {
                let sources = read(&root, &[root.join("hw/a/a.sv")], &[root.join("hw/inc")]);
                assert_eq!(sources.order(), ["hw/a/a.sv"]);
                assert_eq!(sources.include_dirs(), ["hw/inc"]);
                assert_eq!(names(&sources), ["hw/a/a.sv", "hw/inc/i.svh"]);
                assert!(sources.changed().is_empty());
            }
        }
    }

    #[test]
    fn texts_are_as_the_same_files_on_a_disk() {
        let files = ["hw/a/a.sv", "hw/inc/i.svh", "hw/inc/readme.md", "hw/b.sv"];
        let tree = tree(&files);
        let at = |name: &str| tree.path().join(name);
        let order = ["hw/b.sv".to_owned(), "hw/a/a.sv".to_owned()];
        let read = read(
            tree.path(),
            &order.each_ref().map(|name| at(name)),
            &[at("hw/inc")],
        );
        let of_texts = |files: &[&'static str]| {
            Sources::of_texts(&order, &["hw/inc"], files.iter().map(|&name| (name, name)))
        };
        let embedded = of_texts(&files).unwrap();
        assert_eq!(embedded.order(), read.order());
        assert_eq!(embedded.include_dirs(), read.include_dirs());
        assert!(embedded.texts().eq(read.texts()));
        assert!(embedded.changed().is_empty());

        let says = |files: &[&'static str]| of_texts(files).unwrap_err().to_string();
        assert!(says(&["hw/b.sv"]).contains("cannot read source hw/a/a.sv"));
        for name in ["../out.sv", "/out.sv", "hw/../../out.sv"] {
            assert!(says(&[name]).contains(name), "{name}");
        }
    }

    #[test]
    fn files_outside_the_root_are_told_apart() {
        let root = tree(&["hw/t.sv"]);
        let other = tree(&["a/t.sv", "b/t.sv", "inc/t.svh"]);
        let at = |name: &str| other.path().join(name);
        let sources = read(
            root.path(),
            &[
                root.path().join("hw/t.sv"),
                at("a/t.sv"),
                at("b/t.sv"),
                at("a/t.sv"),
            ],
            &[at("inc")],
        );
        assert_eq!(
            sources.order(),
            ["hw/t.sv", "t.sv", "outside2/t.sv", "t.sv"]
        );
        assert_eq!(sources.include_dirs(), ["outside/include1"]);
        let texts: Vec<_> = sources.texts().map(|(_, text)| text).collect();
        assert_eq!(texts, [&b"hw/t.sv"[..], b"inc/t.svh", b"b/t.sv", b"a/t.sv"]);
        let said = sources.with_paths("%Error: outside2/t.sv:4: no");
        assert_eq!(said, format!("%Error: {}:4: no", at("b/t.sv").display()));
    }

    #[test]
    fn what_changes_is_named() {
        let tree = tree(&["hw/a.sv", "hw/b.sv", "inc/i.svh"]);
        let at = |name: &str| tree.path().join(name);
        let sources = read(tree.path(), &[at("hw/a.sv"), at("hw/b.sv")], &[at("inc")]);
        assert!(sources.changed().is_empty());
        fs::write(at("hw/a.sv"), "other").unwrap();
        fs::remove_file(at("inc/i.svh")).unwrap();
        fs::write(at("inc/new.sv"), "").unwrap();
        let real = fs::canonicalize(tree.path()).unwrap();
        let expected = ["hw/a.sv", "inc/i.svh", "inc/new.sv"].map(|name| real.join(name));
        assert_eq!(sources.changed(), expected);
        // The text that was read stays.
        assert!(sources.texts().any(|(_, text)| text == b"hw/a.sv"));
    }
}
