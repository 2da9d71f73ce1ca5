//! A folder of finished builds: an entry is either absent or whole, whoever else builds at the same time.

use std::env;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::Error;

/// The environment variable that names the folder of built models.
pub const MODELS_VARIABLE: &str = "ALCOR_MODELS";

/// Bytes of models and objects above which a build removes those that were not used for the longest time.
const MOST_BYTES: u64 = 8_000_000_000;
/// An entry that was used within this time stays, whatever the size of the cache.
const IN_USE: Duration = Duration::from_secs(60 * 60);

/// The file of an entry whose time of change is that of the entry's last use.
const USED: &str = "used";
/// The folder of builds that are under way, and of their locks.
const BUILDING: &str = ".building";
/// The folder of object files.
const OBJECTS: &str = "objects";
/// The file whose lock builds share while they use objects, and which the remover of an object has alone.
const OBJECTS_LOCK: &str = "objects.lock";

/// A folder of built models, which any number of processes may use at once.
///
/// The folder may lie on a file system that several machines share, if that file system has locks.
#[derive(Debug, Clone)]
pub struct ModelCache {
    folder: PathBuf,
}

/// A built model in a [`ModelCache`], or objects that several models share.
#[derive(Debug, Clone)]
pub struct CacheEntry {
    name: String,
    path: PathBuf,
    is_model: bool,
    bytes: u64,
    last_use: SystemTime,
}

impl CacheEntry {
    /// The name: of a model its own name, `-` and the first digits of its key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When a process last loaded the model or linked the object.
    pub fn last_use(&self) -> SystemTime {
        self.last_use
    }

    /// Whether the entry is a model, which can be loaded.
    pub fn is_model(&self) -> bool {
        self.is_model
    }
}

fn named(variable: &str) -> Option<PathBuf> {
    let value = env::var_os(variable).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// A folder of `alcor` in the user's cache folder.
pub(crate) fn user_folder(name: &str) -> Result<PathBuf, Error> {
    // A relative path is to be ignored, as the XDG base directory specification says.
    let user = named("XDG_CACHE_HOME").filter(|folder| folder.is_absolute());
    let user = user.or_else(|| env::home_dir().map(|home| home.join(".cache")));
    Ok(user.ok_or(Error::NoCache)?.join("alcor").join(name))
}

impl ModelCache {
    /// The folder that `ALCOR_MODELS` names, else `alcor/models` in the user's cache folder (`XDG_CACHE_HOME`, else
    /// `.cache` in the home folder).
    ///
    /// # Errors
    /// If no variable names a folder and the user has no home folder, or the current folder is needed and cannot be read.
    pub fn find() -> Result<Self, Error> {
        match named(MODELS_VARIABLE) {
            Some(folder) => Self::at(folder),
            None => Self::at(user_folder("models")?),
        }
    }

    /// A given folder, which need not exist.
    ///
    /// # Errors
    /// If the current folder is needed and cannot be read.
    pub fn at(folder: impl Into<PathBuf>) -> Result<Self, Error> {
        let folder = folder.into();
        let folder = std::path::absolute(&folder).map_err(Error::io("find", &folder))?;
        Ok(Self { folder })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Everything that is there: models and objects, without builds that are under way.
    ///
    /// # Errors
    /// If the folder exists and cannot be read.
    pub fn entries(&self) -> Result<Vec<CacheEntry>, Error> {
        let mut entries = Vec::new();
        for (folder, is_objects) in [(self.folder.clone(), false), (self.objects(), true)] {
            let found = match fs::read_dir(&folder) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                found => found.map_err(Error::io("read", &folder))?,
            };
            for file in found.flatten() {
                let name = file.file_name().to_string_lossy().into_owned();
                let path = file.path();
                if path.is_dir() == is_objects
                    || (!is_objects && [BUILDING, OBJECTS].contains(&&*name))
                {
                    continue;
                }
                // An entry may disappear while it is looked at.
                let used = if is_objects {
                    path.clone()
                } else {
                    path.join(USED)
                };
                let Ok(last_use) = fs::metadata(&used)
                    .or_else(|_| fs::metadata(&path))
                    .and_then(|data| data.modified())
                else {
                    continue;
                };
                let bytes = size(&path);
                entries.push(CacheEntry {
                    name,
                    path,
                    is_model: !is_objects,
                    bytes,
                    last_use,
                });
            }
        }
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(entries)
    }

    /// Removes an entry, unless a process is building the entry at this moment; of objects, unless a process is building
    /// any model. Gives whether the entry is gone.
    ///
    /// A process that has loaded the model keeps the model.
    ///
    /// # Errors
    /// If the entry is there and cannot be removed.
    pub fn remove(&self, entry: &CacheEntry) -> Result<bool, Error> {
        let gone = |result: std::io::Result<()>| match result {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Error::io("remove", &entry.path)(error))
            }
            _ => Ok(true),
        };
        if !entry.is_model() {
            let path = self.folder.join(OBJECTS_LOCK);
            let file = File::create(&path).map_err(Error::io("create", &path))?;
            return match file.try_lock() {
                Ok(()) => gone(fs::remove_file(&entry.path)),
                Err(TryLockError::WouldBlock) => Ok(false),
                Err(TryLockError::Error(error)) => Err(Error::io("lock", &path)(error)),
            };
        }
        let scratch = self.folder.join(BUILDING);
        fs::create_dir_all(&scratch).map_err(Error::io("create", &scratch))?;
        let Some(_lock) = Lock::attempt(&self.lock_path(&entry.name))? else {
            return Ok(false);
        };
        // The entry disappears at once, not file by file.
        let trash = self.work(&entry.name)?;
        gone(fs::rename(&entry.path, &trash.0))
    }

    /// Removes the entries that were not used for the longest time, until the others have no more than 8 GB. An entry that
    /// was used within the last hour stays.
    pub(crate) fn trim(&self) -> Result<(), Error> {
        self.trim_to(MOST_BYTES)
    }

    fn trim_to(&self, most: u64) -> Result<(), Error> {
        let mut entries = self.entries()?;
        let mut bytes: u64 = entries.iter().map(CacheEntry::bytes).sum();
        entries.sort_by_key(CacheEntry::last_use);
        let now = SystemTime::now();
        for entry in entries {
            let is_in_use = now
                .duration_since(entry.last_use)
                .is_ok_and(|age| age < IN_USE);
            if bytes <= most || is_in_use {
                break;
            }
            if self.remove(&entry)? {
                bytes -= entry.bytes;
            }
        }
        Ok(())
    }

    /// Removes what builds have left behind that were killed, and gives its bytes.
    ///
    /// # Errors
    /// If a lock cannot be used.
    pub fn sweep(&self) -> Result<u64, Error> {
        self.abandoned(true, None)
    }

    /// Bytes that builds have left behind that were killed.
    ///
    /// # Errors
    /// If a lock cannot be used.
    pub fn abandoned_bytes(&self) -> Result<u64, Error> {
        self.abandoned(false, None)
    }

    /// Bytes of abandoned builds. The caller may have the lock of the entry `own`.
    fn abandoned(&self, remove: bool, own: Option<&str>) -> Result<u64, Error> {
        let mut bytes = 0;
        let scratch = self.folder.join(BUILDING);
        for file in fs::read_dir(&scratch).into_iter().flatten().flatten() {
            let file_name = file.file_name().to_string_lossy().into_owned();
            let name = file_name.split('.').next().unwrap_or_default();
            // A process holds the lock of what it builds for as long as it lives. A lock that is let go removes its file.
            let lock = match own == Some(name) {
                true => None,
                false => Lock::attempt(&self.lock_path(name))?,
            };
            let path = file.path();
            if path.is_dir() && (lock.is_some() || own == Some(name)) {
                bytes += size(&path);
                if remove {
                    // While compilers of a killed build still write there, a rest may stay for the next sweep.
                    let _ = fs::remove_dir_all(&path);
                }
            }
        }
        Ok(bytes)
    }

    /// The entry `name`, which holds the file `marker`; built by `fill` in a folder of its own if it is absent.
    ///
    /// `waiting` is called if another process (or thread) is building the same entry. Gives whether the entry was there.
    pub(crate) fn entry(
        &self,
        name: &str,
        marker: &str,
        waiting: impl FnOnce(),
        fill: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let folder = self.folder.join(name);
        let found = || {
            touch(&folder.join(USED));
            Ok(true)
        };
        if folder.join(marker).is_file() {
            return found();
        }
        let scratch = self.folder.join(BUILDING);
        fs::create_dir_all(&scratch).map_err(Error::io("create", &scratch))?;

        let lock_path = self.lock_path(name);
        let _lock = match Lock::attempt(&lock_path)? {
            Some(lock) => lock,
            None => {
                waiting();
                Lock::wait(&lock_path)?
            }
        };
        if folder.join(marker).is_file() {
            return found();
        }
        self.abandoned(true, Some(name))?;
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))?;
        }
        let work = self.work(name)?;
        let _objects = self.share_objects()?;
        fill(&work.0)?;
        touch(&work.0.join(USED));
        fs::rename(&work.0, &folder).map_err(Error::io("move to the cache", &folder))?;
        Ok(false)
    }

    /// Whether the object of that name is there.
    pub(crate) fn has_object(&self, name: &str) -> bool {
        self.objects().join(name).is_file()
    }

    /// The object of that name. If the object is absent, `make` writes the object to a file in `work`, a folder of the
    /// cache. Gives whether the object was there.
    pub(crate) fn object(
        &self,
        name: &str,
        work: &Path,
        make: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<(PathBuf, bool), Error> {
        let objects = self.objects();
        let object = objects.join(name);
        if object.is_file() {
            touch(&object);
            return Ok((object, true));
        }
        fs::create_dir_all(&objects).map_err(Error::io("create", &objects))?;
        // Two processes may compile the same unit at once: both objects are the same, and either will do.
        let part = work.join(name);
        make(&part)?;
        fs::rename(&part, &object).map_err(Error::io("move to the cache", &object))?;
        Ok((object, false))
    }

    /// Keeps objects from being removed, until the file is dropped.
    fn share_objects(&self) -> Result<File, Error> {
        let path = self.folder.join(OBJECTS_LOCK);
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        file.lock_shared().map_err(Error::io("lock", &path))?;
        Ok(file)
    }

    /// An empty folder for the entry `name`, whose lock the caller has. No build before this one had the folder: compilers
    /// of a killed build may still be running.
    fn work(&self, name: &str) -> Result<Work, Error> {
        let scratch = self.folder.join(BUILDING);
        let mut number = 0u64;
        loop {
            let folder = scratch.join(format!("{name}.{}-{number}", std::process::id()));
            match fs::create_dir(&folder) {
                Ok(()) => return Ok(Work(folder)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(Error::io("create", &folder)(error)),
            }
        }
    }

    fn objects(&self) -> PathBuf {
        self.folder.join(OBJECTS)
    }

    fn lock_path(&self, name: &str) -> PathBuf {
        self.folder.join(BUILDING).join(format!("{name}.lock"))
    }
}

/// Sets a file's time of change to now. Where that can't be, in a cache that is only read, the last use stays unknown.
fn touch(file: &Path) {
    let _ = File::options()
        .append(true)
        .create(true)
        .open(file)
        .and_then(|file| file.set_modified(SystemTime::now()));
}

/// Bytes of a file, or of all files below a folder.
fn size(path: &Path) -> u64 {
    let Ok(data) = fs::symlink_metadata(path) else {
        return 0;
    };
    if !data.is_dir() {
        return data.len();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size(&entry.path())).sum()
}

/// A lock on a file that exists for the lock alone. The kernel ends the lock with the process.
struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// The lock, unless another thread or process has it, or there is no folder for it.
    fn attempt(path: &Path) -> Result<Option<Self>, Error> {
        loop {
            let file = File::create(path).map_err(Error::io("create", path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", path)(error)),
            }
            if let Some(lock) = Self::of(path, file) {
                return Ok(Some(lock));
            }
        }
    }

    fn wait(path: &Path) -> Result<Self, Error> {
        loop {
            let file = File::create(path).map_err(Error::io("create", path))?;
            file.lock().map_err(Error::io("lock", path))?;
            if let Some(lock) = Self::of(path, file) {
                return Ok(lock);
            }
        }
    }

    /// A lock of value: whoever had the lock before may have removed the file.
    fn of(path: &Path, file: File) -> Option<Self> {
        let here = file.metadata().ok()?;
        let there = fs::metadata(path).ok()?;
        ((here.dev(), here.ino()) == (there.dev(), there.ino())).then(|| Self {
            path: path.into(),
            _file: file,
        })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While the lock is held: nobody else can hold a lock on this file.
        let _ = fs::remove_file(&self.path);
    }
}

/// A folder that disappears unless it was moved away.
struct Work(PathBuf);

impl Drop for Work {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_cache_loses_what_was_not_used_for_the_longest_time() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ModelCache::at(folder.path()).unwrap();
        let hour = Duration::from_secs(60 * 60);
        for (name, hours) in [("old", 9), ("older", 10), ("new", 0), ("recent", 2)] {
            let write = |work: &Path| {
                fs::write(work.join("model"), [0; 1000]).map_err(Error::io("write", work))
            };
            cache.entry(name, "model", || {}, write).unwrap();
            let used = File::options()
                .append(true)
                .open(folder.path().join(name).join(USED))
                .unwrap();
            used.set_modified(SystemTime::now() - hour * hours).unwrap();
        }
        let names = || {
            let entries = cache.entries().unwrap();
            entries
                .iter()
                .map(|entry| entry.name().to_owned())
                .collect::<Vec<_>>()
        };
        cache.trim_to(4000).unwrap();
        assert_eq!(names(), ["new", "old", "older", "recent"]);
        cache.trim_to(2500).unwrap();
        assert_eq!(names(), ["new", "recent"]);
        cache.trim_to(0).unwrap();
        assert_eq!(names(), ["new"]);
    }
}
