//! A folder of finished builds: an entry is either absent or whole, whoever else builds at the same time.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Error;

/// The cache below one folder.
pub(crate) struct Cache<'a> {
    pub(crate) folder: &'a Path,
}

/// What [`Cache::entry`] found.
pub(crate) struct Entry {
    pub(crate) folder: PathBuf,
    pub(crate) hit: bool,
}

impl Cache<'_> {
    /// The entry `name`, which holds the file `marker`; built by `fill` in a folder of its own if it is absent.
    ///
    /// `waiting` is called if another process (or thread) is building the same entry.
    pub(crate) fn entry(
        &self,
        name: &str,
        marker: &str,
        waiting: impl FnOnce(),
        fill: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<Entry, Error> {
        let folder = self.folder.join(name);
        if folder.join(marker).is_file() {
            return Ok(Entry { folder, hit: true });
        }
        let scratch = self.folder.join(".building");
        fs::create_dir_all(&scratch).map_err(Error::io("create", &scratch))?;

        let lock_path = scratch.join(format!("{name}.lock"));
        let lock = File::create(&lock_path).map_err(Error::io("create", &lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waiting();
                lock.lock().map_err(Error::io("lock", &lock_path))?;
            }
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", &lock_path)(error)),
        }
        if folder.join(marker).is_file() {
            return Ok(Entry { folder, hit: true });
        }
        // Whoever holds the lock is alone with this entry: what is left of it is of a build that was killed.
        self.sweep(&scratch, name);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))?;
        }

        static NEXT: AtomicU64 = AtomicU64::new(0);
        let unique = NEXT.fetch_add(1, Ordering::Relaxed);
        let work = Work(scratch.join(format!("{name}.{}.{unique}", process::id())));
        fs::create_dir_all(&work.0).map_err(Error::io("create", &work.0))?;
        fill(&work.0)?;
        fs::rename(&work.0, &folder).map_err(Error::io("move to the cache", &folder))?;
        Ok(Entry { folder, hit: false })
    }

    fn sweep(&self, scratch: &Path, name: &str) {
        let Ok(entries) = fs::read_dir(scratch) else {
            return;
        };
        for entry in entries.flatten() {
            let is_mine = entry
                .file_name()
                .to_str()
                .and_then(|file| file.strip_prefix(name))
                .is_some_and(|rest| rest.starts_with('.') && rest != ".lock");
            if is_mine {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// A folder that disappears unless it was moved away.
struct Work(PathBuf);

impl Drop for Work {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
