//! Memory for the model of the core: of the host, and of the card.

use std::sync::{Mutex, MutexGuard, PoisonError};

use alcor_vcard::xdma::{AxiResponse, CardMemory, HostMemory};

/// Bytes from an address on.
pub struct Bytes {
    pub base: u64,
    bytes: Mutex<Vec<u8>>,
    /// Accesses to this range get a slave error.
    pub refused: std::ops::Range<u64>,
}

impl Bytes {
    pub fn new(base: u64, bytes: usize) -> Bytes {
        Bytes {
            base,
            bytes: Mutex::new(vec![0; bytes]),
            refused: 0..0,
        }
    }

    pub fn all(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with(&self, at: u64, length: usize, access: impl FnOnce(&mut [u8])) -> bool {
        let mut bytes = self.all();
        let begin = at
            .checked_sub(self.base)
            .and_then(|at| usize::try_from(at).ok());
        let place = begin.and_then(|begin| Some(begin..begin.checked_add(length)?));
        place
            .and_then(|place| bytes.get_mut(place))
            .map(access)
            .is_some()
    }

    pub fn get(&self, at: u64, length: usize) -> Vec<u8> {
        let mut found = vec![0; length];
        assert!(HostMemory::read(self, at, &mut found), "{at:#x}+{length}");
        found
    }

    pub fn put(&self, at: u64, data: &[u8]) {
        assert!(HostMemory::write(self, at, data), "{at:#x}+{}", data.len());
    }
}

impl HostMemory for Bytes {
    fn read(&self, at: u64, data: &mut [u8]) -> bool {
        self.with(at, data.len(), |found| data.copy_from_slice(found))
    }

    fn write(&self, at: u64, data: &[u8]) -> bool {
        self.with(at, data.len(), |place| place.copy_from_slice(data))
    }
}

impl CardMemory for Bytes {
    fn read(&self, at: u64, data: &mut [u8]) -> AxiResponse {
        assert!(
            at % 4096 + data.len() as u64 <= 4096,
            "a burst crosses a page"
        );
        if self.refused.contains(&at) {
            return AxiResponse::SlaveError;
        }
        if HostMemory::read(self, at, data) {
            AxiResponse::Okay
        } else {
            AxiResponse::DecodeError
        }
    }

    fn write(&self, at: u64, data: &[u8]) -> AxiResponse {
        assert!(
            at % 4096 + data.len() as u64 <= 4096,
            "a burst crosses a page"
        );
        if self.refused.contains(&at) {
            return AxiResponse::SlaveError;
        }
        if HostMemory::write(self, at, data) {
            AxiResponse::Okay
        } else {
            AxiResponse::DecodeError
        }
    }
}

/// A descriptor.
#[derive(Debug, Clone, Copy)]
pub struct Descriptor {
    pub flags: u32,
    pub adjacent: u32,
    pub length: u32,
    pub source: u64,
    pub destination: u64,
    pub next: u64,
}

pub const STOP: u32 = 1;
pub const COMPLETED: u32 = 2;

impl Descriptor {
    pub fn new(flags: u32, source: u64, destination: u64, length: u32) -> Descriptor {
        Descriptor {
            flags,
            adjacent: 0,
            length,
            source,
            destination,
            next: 0,
        }
    }

    pub fn to_bytes(self) -> Vec<u8> {
        let words = [
            0xad4b_0000 | self.adjacent << 8 | self.flags,
            self.length,
            self.source as u32,
            (self.source >> 32) as u32,
            self.destination as u32,
            (self.destination >> 32) as u32,
            self.next as u32,
            (self.next >> 32) as u32,
        ];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}
