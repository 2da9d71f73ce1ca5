//! The results of earlier runs: a file for each backend and for each benchmark. Each line is a run.
//!
//! The first line is a header. An unreadable file is renamed and replaced by a new one, so damage
//! costs only the earlier results. A file is changed under a lock and replaced by a
//! rename: runs may end at the same time, and a killed run leaves the file unchanged.
//!
//! A run that has not ended appends each result to a journal, a separate file that the run keeps
//! locked. The next program that opens the store adds the journals of runs that were killed, whose
//! locks are free.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::revision::project;

/// The version of the format. It is in the first line and in the names of the files, so programs
/// with another version use other files.
const VERSION: u32 = 2;
/// Number of runs that are kept of a backend or benchmark.
const RUNS: usize = 24;
/// Number of results that are kept of all runs of a backend together: about 20 MB.
pub const RESULTS: usize = 200_000;
/// Largest size of a file that is read, in bytes.
const FILE_BYTES: u64 = 64 << 20;

/// The default folder of results, relative to the project's folder.
const FOLDER: &str = "target/alcor-results";

/// The folder of the result store, or none.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct StoreArgs {
    /// Folder of the result store, for comparisons with earlier runs [default: target/alcor-results
    /// in the current folder, or of the clone of Alcor that the folder is in]
    ///
    /// Each test is compared with its last result on the same backend, in the same tier, with the
    /// same seed; each benchmark with its last values for the same configuration. The store keeps
    /// the last runs of each backend and benchmark. Several programs may use a folder at the same
    /// time. A damaged file is renamed, and a new file begun.
    #[arg(long, value_name = "DIR", help_heading = "Comparing with earlier runs")]
    pub store: Option<PathBuf>,

    /// Store no results, and compare with none
    #[arg(
        long,
        conflicts_with = "store",
        help_heading = "Comparing with earlier runs"
    )]
    pub no_store: bool,
}

impl StoreArgs {
    /// The folder of the result store, if there is one.
    pub fn folder(&self) -> Option<PathBuf> {
        match (&self.store, self.no_store) {
            (_, true) => None,
            (Some(folder), _) => Some(folder.clone()),
            (None, _) => Some(project().join(FOLDER)),
        }
    }

    /// The stored results of a backend or benchmark. If `--store` names a folder that can't be
    /// used, this fails before the run; otherwise an unusable store is reported, and the run
    /// continues without it.
    pub fn open<E: Entry>(&self, backend: &str) -> Result<Option<Store<E>>, StoreError> {
        let Some(folder) = self.folder() else {
            return Ok(None);
        };
        match Store::open(&folder, backend) {
            Ok((store, damage)) => {
                if let Some(damage) = damage {
                    eprintln!("alcor: {damage}");
                }
                Ok(Some(store))
            }
            Err(error) if self.store.is_some() => Err(error),
            Err(error) => {
                eprintln!("alcor: {error}");
                Ok(None)
            }
        }
    }
}

/// A stored run.
pub trait Entry: Serialize + DeserializeOwned {
    /// Number of results of the run.
    fn results(&self) -> usize;

    /// The keys of its results. A run is outdated when later runs have results for all of its keys.
    fn keys(&self) -> impl Iterator<Item = (&str, bool, u64, &str)>;

    /// The run that a journal holds: `begin` is its second line, `results` are the others. None
    /// where runs have no journals.
    fn from_journal(begin: &str, results: &[&str]) -> Option<Self>;

    /// Orders runs: the time of the end, in seconds since 1970.
    fn ended(&self) -> u64;

    /// Whether two entries are the same run.
    fn is_same(&self, other: &Self) -> bool;
}

/// Seconds since 1970.
pub fn seconds_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// The first line of a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    #[serde(rename = "alcor-results")]
    version: u32,
    /// The URI of a backend, or `bench:` and the name of a benchmark.
    backend: String,
}

/// An error of the store. Tests run without the store then.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or folder can't be used.
    #[error("cannot {verb} {path}: {source}; --store names another folder, --no-store does without", path = path.display())]
    Io {
        verb: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A file holds no results.
    #[error("{path} is damaged: {problem}; a new file was begun, and the damaged file is now {aside}", path = path.display(), aside = aside.display())]
    Damaged {
        path: PathBuf,
        problem: String,
        aside: PathBuf,
    },
}

/// An error of `path`.
fn failed(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError::Io {
        verb,
        path: path.to_owned(),
        source,
    }
}

/// Suffix of journals' names.
const JOURNAL: &str = ".journal";

/// The results of a run that has not ended, each in a line.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Appends a line.
    pub fn add(&mut self, line: &impl Serialize) -> Result<(), StoreError> {
        let mut text =
            serde_json::to_vec(line).map_err(|error| failed("write", &self.path)(error.into()))?;
        text.push(b'\n');
        self.file
            .write_all(&text)
            .map_err(failed("write", &self.path))
    }

    /// Removes the journal of a run that the store holds.
    pub fn remove(self) {
        // The results of a remaining journal are in the store.
        let _ = fs::remove_file(&self.path);
    }
}

/// The runs of a backend or benchmark.
#[derive(Debug)]
pub struct Store<E> {
    path: PathBuf,
    backend: String,
    runs: Vec<E>,
}

impl<E: Entry> Store<E> {
    /// Reads the results of a backend or benchmark below a folder, which is created if it does not
    /// exist. If the file is damaged, the store is empty.
    pub fn open(folder: &Path, backend: &str) -> Result<(Self, Option<StoreError>), StoreError> {
        fs::create_dir_all(folder).map_err(failed("make", folder))?;
        let mut store = Store {
            path: folder.join(file_name(backend)),
            backend: backend.to_owned(),
            runs: Vec::new(),
        };
        let journals = store.journals()?;
        // A backend without results has no files, not even a lock.
        if journals.is_empty() && !store.path.exists() {
            return Ok((store, None));
        }
        let _lock = store.lock()?;
        let damage = store.read()?;
        if store.adopt(&journals) {
            store.write()?;
            for (journal, _) in journals {
                fs::remove_file(&journal).map_err(failed("remove", &journal))?;
            }
        }
        Ok((store, damage))
    }

    /// The journals of runs that were killed, locked.
    fn journals(&self) -> Result<Vec<(PathBuf, File)>, StoreError> {
        let Some(folder) = self.path.parent() else {
            return Ok(Vec::new());
        };
        let stem = self.journal_stem();
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed("read", folder))? {
            let path = entry.map_err(failed("read", folder))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with(&stem) || !name.ends_with(JOURNAL) {
                continue;
            }
            // A journal that is gone has been added by another program.
            if let Ok(file) = File::open(&path)
                && file.try_lock().is_ok()
                && path.exists()
            {
                found.push((path, file));
            }
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(found)
    }

    /// Adds the runs of journals. Whether there was a journal.
    fn adopt(&mut self, journals: &[(PathBuf, File)]) -> bool {
        for (path, _) in journals {
            let text = fs::read(path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let mut lines = text.lines().skip(1);
            let begin = lines.next().unwrap_or_default();
            let run = E::from_journal(begin, &lines.collect::<Vec<_>>());
            // A run that was killed after it was added is in the store already.
            if let Some(run) = run.filter(|run| run.results() > 0)
                && !self.runs.iter().any(|it| it.is_same(&run))
            {
                self.runs.push(run);
            }
        }
        self.runs.sort_by_key(Entry::ended);
        trim(&mut self.runs, RUNS, RESULTS);
        !journals.is_empty()
    }

    /// Begins the journal of a run.
    pub fn journal(&self, begin: &impl Serialize) -> Result<Journal, StoreError> {
        let name = format!(
            "{}{}-{:08x}{JOURNAL}",
            self.journal_stem(),
            std::process::id(),
            rand::random::<u32>()
        );
        let path = self.path.with_file_name(name);
        // Under the store's lock, no other program takes the journal for that of a run that was
        // killed.
        let _lock = self.lock()?;
        let file = File::create(&path).map_err(failed("make", &path))?;
        file.lock().map_err(failed("lock", &path))?;
        let mut journal = Journal { path, file };
        let header = Header {
            version: VERSION,
            backend: self.backend.clone(),
        };
        journal.add(&header)?;
        journal.add(begin)?;
        Ok(journal)
    }

    fn journal_stem(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        format!("{}.", name.trim_end_matches(".jsonl"))
    }

    /// The runs, the oldest first.
    pub fn runs(&self) -> &[E] {
        &self.runs
    }

    /// Adds a run to the present contents of the file. A run without results is not added.
    pub fn add(&mut self, run: E) -> Result<Option<StoreError>, StoreError> {
        if run.results() == 0 {
            return Ok(None);
        }
        let _lock = self.lock()?;
        let damage = self.read()?;
        self.runs.push(run);
        trim(&mut self.runs, RUNS, RESULTS);
        self.write()?;
        Ok(damage)
    }

    /// Adds a run that has ended. Reports an error, and returns whether all went well.
    pub fn remember(&mut self, run: E) -> bool {
        match self.add(run) {
            Ok(None) => true,
            Ok(Some(damage)) => {
                eprintln!("alcor: {damage}");
                true
            }
            Err(error) => {
                eprintln!("alcor: {error}");
                false
            }
        }
    }

    /// Waits until no other process changes the file. The lock ends when the value is dropped.
    fn lock(&self) -> Result<File, StoreError> {
        let path = self.path.with_extension("lock");
        let file = File::create(&path).map_err(failed("make", &path))?;
        file.lock().map_err(failed("lock", &path))?;
        Ok(file)
    }

    /// Reads the file under the lock. A damaged file is renamed.
    fn read(&mut self) -> Result<Option<StoreError>, StoreError> {
        self.runs.clear();
        let length = match fs::metadata(&self.path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("read", &self.path)(error)),
        };
        let parsed = match length {
            ..=FILE_BYTES => {
                let bytes = fs::read(&self.path).map_err(failed("read", &self.path))?;
                parse(&bytes, &self.backend)
            }
            _ => Err(format!("it has {length} bytes, more than {FILE_BYTES}")),
        };
        match parsed {
            Ok(runs) => {
                self.runs = runs;
                Ok(None)
            }
            Err(problem) => {
                let aside = self.path.with_extension("damaged");
                fs::rename(&self.path, &aside).map_err(failed("put aside", &self.path))?;
                Ok(Some(StoreError::Damaged {
                    path: self.path.clone(),
                    problem,
                    aside,
                }))
            }
        }
    }

    /// Writes the file under the lock.
    fn write(&self) -> Result<(), StoreError> {
        let header = Header {
            version: VERSION,
            backend: self.backend.clone(),
        };
        let write = || {
            let mut text = serde_json::to_vec(&header)?;
            for run in &self.runs {
                text.push(b'\n');
                serde_json::to_writer(&mut text, run)?;
            }
            text.push(b'\n');
            replace(&self.path, &text, true)
        };
        write().map_err(failed("write", &self.path))
    }
}

/// Writes a file as a whole: at any time it holds its old bytes or its new ones. Other files, such
/// as pipes, are written to directly.
pub fn replace(path: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
    let path = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => &fs::canonicalize(path)?,
        _ => path,
    };
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return fs::write(path, bytes);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let write = || {
        let mut file = File::create(&new)?;
        file.write_all(bytes)?;
        if sync {
            file.sync_all()?;
        }
        fs::rename(&new, path)
    };
    write().inspect_err(|_| {
        // A disk that is full is not to be filled with halves.
        let _ = fs::remove_file(&new);
    })
}

/// A file name that is unique for a backend, and readable.
fn file_name(backend: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = backend.chars().take(60).map(plain).collect();
    let digest = crc32fast::hash(backend.as_bytes());
    format!("{name}-{digest:08x}.v{VERSION}.jsonl")
}

/// The runs that a file holds, or a description of its damage.
fn parse<E: Entry>(bytes: &[u8], backend: &str) -> Result<Vec<E>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let mut lines = text.lines();
    let header: Header = serde_json::from_str(lines.next().unwrap_or_default())
        .map_err(|error| format!("line 1: {error}"))?;
    if (header.version, header.backend.as_str()) != (VERSION, backend) {
        return Err(format!(
            "it holds version {} of {}, in place of version {VERSION} of {backend}",
            header.version, header.backend
        ));
    }
    let runs = lines.zip(2..).map(|(line, number)| {
        serde_json::from_str(line).map_err(|error| format!("line {number}: {error}"))
    });
    runs.collect()
}

/// Removes runs until their number and the number of their results are within the limits. The
/// oldest runs that later runs have outdated whole go first, so that a few tests, run often, do not
/// displace the run of all tests.
fn trim<E: Entry>(runs: &mut Vec<E>, most: usize, results: usize) {
    let held = |runs: &[E]| runs.iter().map(Entry::results).sum::<usize>();
    while runs.len() > most || (runs.len() > 1 && held(runs) > results) {
        let outdated = outdated(runs).unwrap_or(0);
        runs.remove(outdated);
    }
}

/// The oldest run whose results are all in later runs too.
fn outdated<E: Entry>(runs: &[E]) -> Option<usize> {
    let mut later = BTreeSet::new();
    let mut oldest = None;
    for (index, run) in runs.iter().enumerate().rev() {
        if run.keys().all(|key| later.contains(&key)) {
            oldest = Some(index);
        }
        later.extend(run.keys());
    }
    oldest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regress::results::{Run, tests::run};

    fn open(folder: &Path) -> Store<Run> {
        let (store, damage) = Store::open(folder, "soft:2").unwrap();
        assert!(damage.is_none(), "{damage:?}");
        store
    }

    fn times(runs: &[Run]) -> Vec<u64> {
        runs.iter().map(|run| run.ended).collect()
    }

    #[test]
    fn backends_keep_files_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        open(folder.path()).add(run(1, &["a"])).unwrap();
        let (other, _) = Store::<Run>::open(folder.path(), "soft:2?x").unwrap();
        assert!(other.runs.is_empty());
        assert_ne!(file_name("soft:2"), file_name("soft-2"));
        assert!(file_name(&"/".repeat(5000)).len() < 100);
    }

    #[test]
    fn a_damaged_file_is_put_aside_and_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file_name("soft:2"));
        open(folder.path()).add(run(1, &["a"])).unwrap();
        let good = fs::read_to_string(&path).unwrap();
        let half = &good[..good.len() - 10];
        let other = good.replace("soft:2", "soft:3");
        let newer = good.replace("results\":2", "results\":9");
        let cases: [(&[u8], &str); 7] = [
            (b"", "line 1"),
            (b"{}\n", "line 1: missing field `alcor-results`"),
            (b"\xff\n", "utf-8"),
            (half.as_bytes(), "line 2: EOF"),
            (&[b'[', b'\n'].repeat(100_000), "line 1"),
            (other.as_bytes(), "version 2 of soft:3"),
            (newer.as_bytes(), "version 9"),
        ];
        for (bytes, words) in cases {
            fs::write(&path, bytes).unwrap();
            let (mut store, damage) = Store::open(folder.path(), "soft:2").unwrap();
            let damage = damage.unwrap().to_string();
            assert!(damage.contains(words), "{words}: {damage}");
            assert_eq!(fs::read(path.with_extension("damaged")).unwrap(), bytes);
            assert!(store.add(run(5, &["a"])).unwrap().is_none());
            assert_eq!(times(&open(folder.path()).runs), [5]);
        }
        // A file that is too long is not read at all.
        File::create(&path)
            .unwrap()
            .set_len(FILE_BYTES + 1)
            .unwrap();
        let (_, damage) = Store::<Run>::open(folder.path(), "soft:2").unwrap();
        assert!(damage.unwrap().to_string().contains("more than"));
    }

    #[test]
    fn what_later_runs_have_goes_first_and_else_the_oldest() {
        let mut runs = vec![
            run(1, &["a", "b", "c"]),
            run(2, &["a"]),
            run(3, &["a"]),
            run(4, &["b"]),
        ];
        trim(&mut runs, 3, 100);
        assert_eq!(times(&runs), [1, 3, 4], "2 is outdated by 3");
        trim(&mut runs, 2, 100);
        assert_eq!(times(&runs), [3, 4], "nothing is outdated");
        runs.push(run(5, &["c"; 10]));
        trim(&mut runs, 9, 10);
        assert_eq!(times(&runs), [5], "a run may have all results to itself");
        runs.push(run(6, &["c"]));
        trim(&mut runs, 9, 10);
        assert_eq!(times(&runs), [6]);
    }

    #[test]
    fn the_store_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = open(folder.path());
        for ended in 0..2 * RUNS as u64 {
            store.add(run(ended, &["a"])).unwrap();
        }
        assert_eq!(open(folder.path()).runs.len(), RUNS);
    }

    #[test]
    fn runs_that_end_at_once_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for ended in 1..=8 {
                let mut store = open(folder.path());
                scope.spawn(move || store.add(run(ended, &["a"])).unwrap());
            }
        });
        let mut times = times(&open(folder.path()).runs);
        times.sort_unstable();
        assert_eq!(times, [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn a_folder_that_is_a_file_is_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Store::<Run>::open(file.path(), "soft:2")
            .unwrap_err()
            .to_string();
        assert!(error.contains("--no-store"), "{error}");
    }
}
