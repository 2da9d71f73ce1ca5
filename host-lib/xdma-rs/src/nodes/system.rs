//! Device nodes of the kernel.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use memmap2::{MmapOptions, MmapRaw};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{Dma, EventNode, Mapping, Nodes, Way, wide};

/// Opens the kernel's device nodes.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

/// Alignment assumed when the driver does not report one. Every configuration of the core accepts
/// it.
const USUAL_ALIGNMENT: u64 = 64;

mod request {
    // _IOR('q', 6, int) of the driver's cdev_sgdma.h.
    nix::ioctl_read!(align_get, b'q', 6, nix::libc::c_int);
}

impl Nodes for System {
    fn map(&self, path: &Path, first: u64, bytes: usize) -> io::Result<Box<dyn Mapping>> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let memory = MmapOptions::new().offset(first).len(bytes).map_raw(&file)?;
        Ok(Box::new(Bar(memory)))
    }

    fn dma(&self, path: &Path, way: Way) -> io::Result<Box<dyn Dma>> {
        let to_card = way == Way::ToCard;
        let file = OpenOptions::new()
            .read(!to_card)
            .write(to_card)
            .open(path)?;
        Ok(Box::new(Channel(file)))
    }

    fn event(&self, path: &Path) -> io::Result<Box<dyn EventNode>> {
        Ok(Box::new(Event(File::open(path)?)))
    }
}

/// A mapped BAR.
pub(crate) struct Bar(pub(crate) MmapRaw);

impl Bar {
    /// The address of an access, if the access is in the mapping and aligned.
    fn place<T>(&self, offset: usize) -> Option<*mut T> {
        let end = offset.checked_add(size_of::<T>())?;
        let is_there = end <= self.0.len() && offset.is_multiple_of(align_of::<T>());
        is_there.then(|| self.0.as_mut_ptr().wrapping_add(offset).cast())
    }

    /// The address of a unit, if the unit is in the mapping, aligned, and not too wide.
    fn unit(&self, offset: usize, width: usize) -> Option<*mut u8> {
        let end = offset.checked_add(width)?;
        let is_there = end <= self.0.len()
            && width <= wide::widest()
            && width.is_power_of_two()
            && offset.is_multiple_of(width);
        is_there.then(|| self.0.as_mut_ptr().wrapping_add(offset))
    }

    fn read<T: Copy>(&self, offset: usize, ones: T) -> T {
        match self.place::<T>(offset) {
            // SAFETY: `place` is in the mapping, which lives as long as `self`. `place` is aligned,
            // because mappings begin at a page. No reference to this memory exists, and every bit
            // pattern is a valid integer T.
            Some(place) => unsafe { place.read_volatile() },
            None => ones,
        }
    }

    fn write<T: Copy>(&self, offset: usize, value: T) {
        if let Some(place) = self.place::<T>(offset) {
            // SAFETY: as for `read`; the file was opened for writing, so the mapping is writable.
            unsafe { place.write_volatile(value) }
        }
    }
}

impl Mapping for Bar {
    fn bytes(&self) -> usize {
        self.0.len()
    }
    fn read32(&self, offset: usize) -> u32 {
        self.read(offset, u32::MAX)
    }
    fn write32(&self, offset: usize, value: u32) {
        self.write(offset, value);
    }
    fn read64(&self, offset: usize) -> u64 {
        self.read(offset, u64::MAX)
    }
    fn write64(&self, offset: usize, value: u64) {
        self.write(offset, value);
    }

    fn flush(&self) {
        wide::flush();
    }

    fn widest(&self) -> usize {
        wide::widest()
    }

    fn read_unit(&self, offset: usize, unit: &mut [u8]) {
        let width = unit.len();
        match self.unit(offset, width) {
            // SAFETY: `place` is in the mapping, which lives as long as `self`, and is a multiple of
            // `width`. `unit` has as many bytes. `unit` returns no wider place than the processor has
            // registers.
            Some(place) => unsafe { wide::copy(place, unit.as_mut_ptr(), width) },
            None => unit.fill(u8::MAX),
        }
    }

    fn write_unit(&self, offset: usize, unit: &[u8]) {
        if let Some(place) = self.unit(offset, unit.len()) {
            // SAFETY: as for `read_unit`; the mapping is writable.
            unsafe { wide::copy(unit.as_ptr(), place, unit.len()) }
        }
    }
}

struct Channel(File);

impl Dma for Channel {
    fn alignment(&self) -> io::Result<u64> {
        let mut bytes = 0;
        // SAFETY: the request writes one int, and `bytes` is an int that outlives the call.
        match unsafe { request::align_get(self.0.as_raw_fd(), &raw mut bytes) } {
            Ok(_) => Ok(u64::try_from(bytes).unwrap_or(1).max(1)),
            Err(Errno::ENOTTY | Errno::EINVAL) => Ok(USUAL_ALIGNMENT),
            Err(errno) => Err(errno.into()),
        }
    }

    fn pread(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        self.0.read_at(buffer, at)
    }

    fn pwrite(&self, buffer: &[u8], at: u64) -> io::Result<usize> {
        self.0.write_at(buffer, at)
    }
}

/// Waits until a file can be read, without limit if `timeout` is `None`.
pub(crate) fn wait_readable(file: BorrowedFd<'_>, timeout: Option<Duration>) -> io::Result<bool> {
    // Rounds up, because rounding a short time-out to 0 would cause a busy loop.
    let milliseconds = timeout.map(|timeout| timeout.as_micros().div_ceil(1000));
    let timeout = match milliseconds {
        None => PollTimeout::NONE,
        Some(milliseconds) => PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX),
    };
    let mut asked = [PollFd::new(file, PollFlags::POLLIN)];
    poll(&mut asked, timeout)?;
    match asked[0].revents() {
        Some(found) if found.intersects(PollFlags::POLLIN) => Ok(true),
        Some(found) if found.is_empty() => Ok(false),
        // For a card that has left the bus, the driver returns an error number in place of a
        // poll mask.
        _ => Err(Errno::ENODEV.into()),
    }
}

struct Event(File);

impl EventNode for Event {
    fn poll(&self, timeout: Option<Duration>) -> io::Result<bool> {
        wait_readable(self.0.as_fd(), timeout)
    }

    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.0).read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BarOffset;

    /// A temporary file of zeros.
    fn file(bytes: u64) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(bytes).expect("its length");
        file
    }

    #[test]
    fn a_mapping_is_read_and_written_by_words() {
        let file = file(4096);
        let bar = System.map(file.path(), 0, 4096).expect("a mapping");
        bar.write32(4, 0x0403_0201);
        bar.write64(4088, 0x0807_0605_0403_0201);
        assert_eq!((bar.read32(4), bar.read32(8)), (0x0403_0201, 0));
        assert_eq!(bar.read64(4088), 0x0807_0605_0403_0201);
        assert_eq!((bar.bytes(), bar.read32(4092)), (4096, 0x0807_0605));
    }

    #[test]
    fn a_mapping_may_begin_at_any_page() {
        let file = file(3 * 4096);
        let whole = System.map(file.path(), 0, 3 * 4096).expect("a mapping");
        let page = System.map(file.path(), 4096, 4096).expect("a mapping");
        page.write32(8, 3);
        assert_eq!((whole.read32(4096 + 8), page.bytes()), (3, 4096));
    }

    #[test]
    fn accesses_beyond_or_misaligned_read_ones() {
        let file = file(4096);
        let bar = System.map(file.path(), 0, 4096).expect("a mapping");
        for offset in [4096, 4094, 2, usize::MAX - 3, usize::MAX] {
            bar.write32(offset, 5);
            assert_eq!(bar.read32(offset), u32::MAX, "{offset:#x}");
        }
        for offset in [4092, 4, usize::MAX - 7] {
            bar.write64(offset, 5);
            assert_eq!(bar.read64(offset), u64::MAX, "{offset:#x}");
        }
        assert!((0..1024).all(|word| bar.read32(4 * word) == 0));
    }

    #[test]
    fn a_channel_moves_the_requested_bytes() {
        let file = file(64);
        let to_card = System.dma(file.path(), Way::ToCard).expect("a channel");
        assert_eq!(to_card.pwrite(&[1, 2, 3], 5).expect("a write"), 3);
        assert_eq!(
            to_card.alignment().expect("no ioctl on a file"),
            USUAL_ALIGNMENT
        );
        let from_card = System.dma(file.path(), Way::FromCard).expect("a channel");
        let mut found = [0; 4];
        assert_eq!(from_card.pread(&mut found, 4).expect("a read"), 4);
        assert_eq!(found, [0, 1, 2, 3]);
    }

    #[test]
    fn an_event_waits_for_its_time_out() {
        let (read, write) = std::io::pipe().expect("a pipe");
        let event = Event(File::from(std::os::fd::OwnedFd::from(read)));
        let timeout = Some(Duration::from_millis(1));
        assert!(!event.poll(timeout).expect("a poll"));
        std::io::Write::write_all(&mut &write, &[1, 0, 0, 0]).expect("a write");
        assert!(event.poll(None).expect("a poll"));
        let mut value = [0; 4];
        assert_eq!(event.read(&mut value).expect("a read"), 4);
        assert_eq!(value, [1, 0, 0, 0]);
        drop(write);
        assert!(event.poll(None).is_err(), "the other end is closed");
    }

    #[test]
    fn any_range_is_written_and_read_by_wide_accesses() {
        let bytes = 4096;
        let file = tempfile::tempfile().expect("a file");
        file.set_len(bytes as u64).expect("its length");
        let mapping = MmapOptions::new().len(bytes).map_raw(&file);
        let bar = crate::Bar::new(Box::new(Bar(mapping.expect("a mapping"))), "bar".into());
        let mut expected = vec![0; bytes];
        let mut seed = 1_u32;
        let mut below = |limit: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % limit
        };
        for round in 0..2000 {
            let words = below(80);
            let at = 4 * below(bytes / 4 - words + 1);
            let data: Vec<u8> = (0..4 * words)
                .map(|byte| (byte * 7 + round) as u8)
                .collect();
            bar.write(BarOffset(at as u64), &data).expect("a write");
            expected[at..at + data.len()].copy_from_slice(&data);
            let length = below(200);
            let from = below(bytes - length + 1);
            let mut found = vec![0; length];
            bar.read(BarOffset(from as u64), &mut found)
                .expect("a read");
            assert_eq!(found, expected[from..from + length], "round {round}");
        }
        assert!(bar.read(BarOffset(4090), &mut [0; 7]).is_err());
        assert!(bar.write(BarOffset(4092), &[0; 8]).is_err());
        assert!(bar.write(BarOffset(2), &[0; 2]).is_err());
        assert!(bar.write(BarOffset(2), &[0; 4]).is_err());
    }
}
