//! Memory that two processes share.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use memmap2::MmapRaw;
use rustix::fs::{MemfdFlags, SealFlags};

/// Seals that fix the length of the memory, so no access to it can fault.
const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::SEAL);

/// Anonymous memory in words of 32 bits, which can be sent to another process.
///
/// The other process may write the memory at any time. So every access is atomic, and no reference
/// to plain memory is made.
pub struct Segment {
    file: OwnedFd,
    map: MmapRaw,
}

impl Segment {
    /// Makes zeroed memory of `bytes` bytes, rounded up to whole words.
    ///
    /// # Errors
    /// If the system has no memory.
    pub fn create(bytes: usize) -> io::Result<Segment> {
        let file = rustix::fs::memfd_create(
            c"alcor-mailbox",
            MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING,
        )?;
        rustix::fs::ftruncate(&file, bytes.next_multiple_of(4) as u64)?;
        rustix::fs::fcntl_add_seals(&file, SEALS)?;
        Segment::map(file)
    }

    /// Maps the memory of a file descriptor that another process has sent.
    ///
    /// # Errors
    /// If the descriptor is not memory of whole words with a fixed length, or can't be mapped.
    pub fn open(file: OwnedFd) -> io::Result<Segment> {
        if !rustix::fs::fcntl_get_seals(&file)?.contains(SEALS) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the length of the memory is not sealed",
            ));
        }
        Segment::map(file)
    }

    fn map(file: OwnedFd) -> io::Result<Segment> {
        let file = File::from(file);
        let map = MmapRaw::map_raw(&file)?;
        if map.len() == 0 || !map.len().is_multiple_of(4) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the memory is not a whole number of words",
            ));
        }
        Ok(Segment {
            file: file.into(),
            map,
        })
    }

    /// The file descriptor, to be sent.
    #[must_use]
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// All words.
    #[must_use]
    pub fn words(&self) -> &[AtomicU32] {
        // SAFETY: the mapping is aligned to a page, readable and writable, and lives as long as
        // `self`. It has the given length, which was sealed before the mapping, so no access
        // faults. Any bits are a valid AtomicU32. This process accesses the words as atomics only,
        // whatever other processes write.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().cast(), self.map.len() / 4) }
    }

    /// Copies `data` to the words from `first` on. Returns false and copies nothing if the range is
    /// out of bounds.
    #[must_use]
    pub fn store(&self, first: usize, data: &[u8]) -> bool {
        let Some(words) = self.range(first, data.len()) else {
            return false;
        };
        for (word, bytes) in words.iter().zip(data.chunks(4)) {
            let mut value = [0; 4];
            value[..bytes.len()].copy_from_slice(bytes);
            word.store(u32::from_le_bytes(value), Ordering::Relaxed);
        }
        true
    }

    /// Fills `data` from the words from `first` on. Returns false and copies nothing if the range
    /// is out of bounds.
    #[must_use]
    pub fn load(&self, first: usize, data: &mut [u8]) -> bool {
        let Some(words) = self.range(first, data.len()) else {
            return false;
        };
        for (word, bytes) in words.iter().zip(data.chunks_mut(4)) {
            let value = word.load(Ordering::Relaxed).to_le_bytes();
            bytes.copy_from_slice(&value[..bytes.len()]);
        }
        true
    }

    fn range(&self, first: usize, bytes: usize) -> Option<&[AtomicU32]> {
        self.words()
            .get(first..first.checked_add(bytes.div_ceil(4))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_side_stores_the_other_loads() {
        let ours = Segment::create(64).unwrap();
        let theirs = Segment::open(ours.file().try_clone_to_owned().unwrap()).unwrap();
        for length in 0..9 {
            let data: Vec<u8> = (1..=length).collect();
            assert!(ours.store(3, &data));
            let mut found = vec![0; data.len()];
            assert!(theirs.load(3, &mut found));
            assert_eq!(found, data);
        }
        assert!(!ours.store(15, &[0; 5]) && !ours.store(17, &[]) && !ours.store(usize::MAX, &[0]));
        assert!(!theirs.load(16, &mut [0]));
    }

    #[test]
    fn memory_whose_length_may_change_is_refused() {
        let open = rustix::fs::memfd_create(c"t", MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::fs::ftruncate(&open, 64).unwrap();
        assert!(Segment::open(open).is_err());
        let ours = Segment::create(64).unwrap();
        assert!(rustix::fs::ftruncate(ours.file(), 0).is_err());
        let empty = Segment::create(0);
        assert!(empty.is_err());
    }
}
