//! A folder of finished builds. An entry is either absent or complete, even with concurrent builds.

use std::env;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::Error;

/// The environment variable that names the folder of built models.
pub const MODELS_VARIABLE: &str = "ALCOR_MODELS";

/// Size of models and objects in bytes above which a build removes the least recently used ones.
const MOST_BYTES: u64 = 8_000_000_000;
/// An entry used within this time stays, independent of the size of the cache.
const IN_USE: Duration = Duration::from_secs(60 * 60);

/// File of an entry; its modification time is the time of the entry's last use.
const USED: &str = "used";
/// Folder of running builds and their locks.
const BUILDING: &str = ".building";
/// The folder of object files.
const OBJECTS: &str = "objects";
/// Lock file of the objects: builds that use objects share the lock, and removal of an object takes
/// it exclusively.
const OBJECTS_LOCK: &str = "objects.lock";

/// A folder of built models. Any number of processes may use the folder concurrently.
///
/// The folder may be on a file system shared by several machines, if that file system supports
/// locks.
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
    /// Name of the entry. For a model, the model's name, `-` and the first digits of its key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Size of all files in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Time at which a process last loaded the model or linked the object.
    pub fn last_use(&self) -> SystemTime {
        self.last_use
    }

    /// Returns whether the entry is a model.
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
    // The XDG base directory specification requires programs to ignore relative paths.
    let user = named("XDG_CACHE_HOME").filter(|folder| folder.is_absolute());
    let user = user.or_else(|| env::home_dir().map(|home| home.join(".cache")));
    Ok(user.ok_or(Error::NoCache)?.join("alcor").join(name))
}

impl ModelCache {
    /// The folder that `ALCOR_MODELS` names, else `alcor/models` in the user's cache folder
    /// (`XDG_CACHE_HOME`, else `.cache` in the home folder).
    ///
    /// # Errors
    /// If no variable names a folder and the user has no home folder, or the current folder is
    /// needed and cannot be read.
    pub fn find() -> Result<Self, Error> {
        match named(MODELS_VARIABLE) {
            Some(folder) => Self::at(folder),
            None => Self::at(user_folder("models")?),
        }
    }

    /// The cache in `folder`, which need not exist.
    ///
    /// # Errors
    /// If the current folder is needed and cannot be read.
    pub fn at(folder: impl Into<PathBuf>) -> Result<Self, Error> {
        let folder = folder.into();
        let folder = std::path::absolute(&folder).map_err(Error::io("find", &folder))?;
        Ok(Self { folder })
    }

    /// Path of the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All models and objects, without running builds.
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
                // An entry may disappear during this loop.
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

    /// Removes an entry. Keeps a model that a process is building at this moment, and keeps objects
    /// while a process is building any model. Returns whether the entry is gone.
    ///
    /// A process that has loaded the model can continue to use it.
    ///
    /// # Errors
    /// If the entry exists and cannot be removed.
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
        // The rename makes the entry disappear at once instead of file by file.
        let trash = self.work(&entry.name)?;
        gone(fs::rename(&entry.path, &trash.0))
    }

    /// Removes the least recently used entries until the others have at most 8 GB. Keeps entries
    /// that were used within the last hour.
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

    /// Removes the files of killed builds. Returns their size in bytes.
    ///
    /// # Errors
    /// If a lock cannot be used.
    pub fn sweep(&self) -> Result<u64, Error> {
        self.abandoned(true, None)
    }

    /// Size in bytes of the files of killed builds.
    ///
    /// # Errors
    /// If a lock cannot be used.
    pub fn abandoned_bytes(&self) -> Result<u64, Error> {
        self.abandoned(false, None)
    }

    /// Size in bytes of abandoned builds, which are removed if `remove` is set. The caller may hold
    /// the lock of the entry `own`.
    fn abandoned(&self, remove: bool, own: Option<&str>) -> Result<u64, Error> {
        let mut bytes = 0;
        let scratch = self.folder.join(BUILDING);
        for file in fs::read_dir(&scratch).into_iter().flatten().flatten() {
            let file_name = file.file_name().to_string_lossy().into_owned();
            let name = file_name.split('.').next().unwrap_or_default();
            // A process holds the lock of its build as long as the process lives. Releasing the
            // lock deletes the lock file.
            let lock = if own == Some(name) {
                None
            } else {
                Lock::attempt(&self.lock_path(name))?
            };
            let path = file.path();
            if path.is_dir() && (lock.is_some() || own == Some(name)) {
                bytes += size(&path);
                if remove {
                    // Compilers of a killed build may still write. The next sweep removes the
                    // remainder.
                    let _ = fs::remove_dir_all(&path);
                }
            }
        }
        Ok(bytes)
    }

    /// Returns the entry `name`, which contains the file `marker`. If the entry is absent, `fill`
    /// builds it in a separate folder.
    ///
    /// Calls `waiting` if another process or thread is building the same entry. Also returns
    /// whether the entry existed.
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

    /// Returns whether the named object exists.
    pub(crate) fn has_object(&self, name: &str) -> bool {
        self.objects().join(name).is_file()
    }

    /// Returns the named object. If the object is absent, `make` writes it to a file in `work`, a
    /// folder of the cache. Also returns whether the object existed.
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
        // Two processes may compile the same unit concurrently. Both objects are equal, so either
        // may stay.
        let part = work.join(name);
        make(&part)?;
        fs::rename(&part, &object).map_err(Error::io("move to the cache", &object))?;
        Ok((object, false))
    }

    /// Prevents the removal of objects until the file is dropped.
    fn share_objects(&self) -> Result<File, Error> {
        let path = self.folder.join(OBJECTS_LOCK);
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        file.lock_shared().map_err(Error::io("lock", &path))?;
        Ok(file)
    }

    /// An empty folder for the entry `name`. The caller holds the entry's lock. The folder is new,
    /// because compilers of a killed build may still write to an old folder.
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

/// Sets a file's modification time to now. In a read-only cache, the last use stays unknown.
fn touch(file: &Path) {
    let _ = File::options()
        .append(true)
        .create(true)
        .open(file)
        .and_then(|file| file.set_modified(SystemTime::now()));
}

/// Size in bytes of a file, or of all files below a folder.
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

/// A lock on a lock file. The kernel releases the lock when the process ends.
struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Takes the lock. `None` if another thread or process has the lock, or if the folder does not
    /// exist.
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

    /// The lock, if the file still exists: the previous holder may have deleted the file.
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
        // The lock is still held, so no other thread or process can hold a lock on this file.
        let _ = fs::remove_file(&self.path);
    }
}

/// A temporary folder, deleted on drop unless it has been moved.
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
