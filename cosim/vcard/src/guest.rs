//! Memory of the guest, as the virtual machine shares it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::xdma::HostMemory;

/// Ranges of addresses that the card can reach by DMA, by their first address. With a virtual
/// IOMMU, these are the ranges that a driver in the guest has mapped.
///
/// The files are not mapped: a client that truncates a mapped file would kill this process, and with it the other
/// clients, by SIGBUS.
#[derive(Debug, Default)]
pub(crate) struct Guest {
    ranges: BTreeMap<u64, Range>,
}

#[derive(Debug)]
struct Range {
    file: File,
    /// Place of the range in the file.
    offset: u64,
    bytes: u64,
    is_readable: bool,
    is_writable: bool,
}

impl Range {
    /// Writes within the length of the file.
    fn write(&self, data: &[u8], place: u64) -> io::Result<()> {
        if place + data.len() as u64 > self.file.metadata()?.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.file.write_all_at(data, place)
    }
}

fn invalid(problem: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

impl Guest {
    /// Adds a range that `file` holds from `offset`.
    pub(crate) fn map(
        &mut self,
        (address, bytes): (u64, u64),
        file: Option<File>,
        offset: u64,
        (is_readable, is_writable): (bool, bool),
    ) -> io::Result<()> {
        // Memory that is not shared, and windows of other devices, come without a file. A DMA
        // access to such a range fails.
        let Some(file) = file else { return Ok(()) };
        let end = address.checked_add(bytes);
        let (Some(end), Some(_)) = (end, offset.checked_add(bytes)) else {
            return Err(invalid("a range that wraps"));
        };
        if bytes == 0
            || self
                .ranges
                .range(..end)
                .next_back()
                .is_some_and(|(&at, range)| at + range.bytes > address)
        {
            return Err(invalid("an empty range, or one that overlaps another"));
        }
        let range = Range {
            file,
            offset,
            bytes,
            is_readable,
            is_writable,
        };
        self.ranges.insert(address, range);
        Ok(())
    }

    /// Removes the ranges between two addresses.
    pub(crate) fn unmap(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        self.ranges
            .retain(|&at, range| at.saturating_add(range.bytes) <= address || at >= end);
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Calls `access` with each part of an access, its place in the file of its range, and its position. Returns
    /// whether all of it exists.
    fn each(
        &self,
        at: u64,
        length: usize,
        mut access: impl FnMut(&Range, u64, std::ops::Range<usize>) -> bool,
    ) -> bool {
        let mut done = 0;
        while done < length {
            let Some(address) = at.checked_add(done as u64) else {
                return false;
            };
            let Some((&first, range)) = self.ranges.range(..=address).next_back() else {
                return false;
            };
            let inside = address - first;
            if inside >= range.bytes {
                return false;
            }
            let part = usize::try_from(range.bytes - inside).unwrap_or(usize::MAX);
            let end = length.min(done.saturating_add(part));
            if !access(range, range.offset + inside, done..end) {
                return false;
            }
            done = end;
        }
        true
    }
}

impl HostMemory for Guest {
    fn read(&self, at: u64, data: &mut [u8]) -> bool {
        self.each(at, data.len(), |range, place, part| {
            range.is_readable && range.file.read_exact_at(&mut data[part], place).is_ok()
        })
    }

    fn write(&self, at: u64, data: &[u8]) -> bool {
        self.each(at, data.len(), |range, place, part| {
            range.is_writable && range.write(&data[part], place).is_ok()
        })
    }
}
