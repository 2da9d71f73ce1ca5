//! A PCI function through the kernel's VFIO: the driver `vfio-pci` with an IOMMU, or without one by request.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use memmap2::{Advice, MmapOptions, MmapRaw};
use nix::errno::Errno;
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::function::{DmaMemory, Function};
use crate::nodes::{Bar, EventNode, Mapping, wait_readable};
use crate::{At, Doing, Error, PciAddress, Result};

/// Path of VFIO's container.
const CONTAINER: &str = "/dev/vfio/vfio";
/// Version of the interface.
const API: i32 = 0;
/// The IOMMU interface with mappings of any pages.
const TYPE1_V2: i32 = 3;
/// The interface without an IOMMU, and the name of such groups.
const NO_IOMMU: i32 = 8;
const NO_IOMMU_NAME: &str = "vfio-noiommu";
/// Region of configuration space.
const CONFIG: u32 = 7;
/// Interrupts by MSI-X.
const MSIX: u32 = 2;
/// The interrupt by which the kernel asks for the function.
const REQUEST: u32 = 4;
/// Interval of the looks at this interrupt. Each is a system call.
const LOOK: Duration = Duration::from_millis(20);
/// The command register, and its memory space and bus master bits.
const COMMAND: u64 = 4;
const MEMORY_AND_MASTER: u16 = 0b110;
/// First address for DMA: above 4 GiB, so above the window of interrupts.
const FIRST_ADDRESS: u64 = 1 << 32;
/// Alignment of the addresses for DMA.
const PAGE: usize = 4096;
/// Bytes of a huge page, and their logarithm.
const HUGE_PAGE: usize = 1 << HUGE_PAGE_BITS;
const HUGE_PAGE_BITS: u8 = 21;
/// Physical page numbers of this process: an entry of 64 bits for each page of 4 KiB.
const PAGE_MAP: &str = "/proc/self/pagemap";
/// Bits of an entry: the page number, and whether the page is in memory.
const PAGE_NUMBER: u64 = (1 << 55) - 1;
const IS_PRESENT: u64 = 1 << 63;

/// Requests of `linux/vfio.h`, and their arguments.
mod request {
    use nix::libc::c_ulong;

    pub(super) const VIABLE: u32 = 1;
    pub(super) const READ_AND_WRITE: u32 = 0b11;
    /// Data of the request are event files; the action is to trigger them.
    pub(super) const EVENTS: u32 = 1 << 2 | 1 << 5;

    #[repr(C)]
    #[derive(Default)]
    pub(super) struct GroupStatus {
        pub(super) size: u32,
        pub(super) flags: u32,
    }

    #[repr(C)]
    #[derive(Default)]
    pub(super) struct RegionInfo {
        pub(super) size: u32,
        pub(super) flags: u32,
        pub(super) index: u32,
        pub(super) capabilities: u32,
        pub(super) bytes: u64,
        pub(super) offset: u64,
    }

    #[repr(C)]
    #[derive(Default)]
    pub(super) struct IrqInfo {
        pub(super) size: u32,
        pub(super) flags: u32,
        pub(super) index: u32,
        pub(super) count: u32,
    }

    /// The head of a request; `count` event files follow.
    #[repr(C)]
    #[derive(Default)]
    pub(super) struct IrqSet {
        pub(super) size: u32,
        pub(super) flags: u32,
        pub(super) index: u32,
        pub(super) start: u32,
        pub(super) count: u32,
        pub(super) events: [i32; 32],
    }

    #[repr(C)]
    #[derive(Default)]
    pub(super) struct Map {
        pub(super) size: u32,
        pub(super) flags: u32,
        pub(super) memory: u64,
        pub(super) address: u64,
        pub(super) bytes: u64,
    }

    #[repr(C)]
    #[derive(Default)]
    pub(super) struct Unmap {
        pub(super) size: u32,
        pub(super) flags: u32,
        pub(super) address: u64,
        pub(super) bytes: u64,
    }

    const fn number(index: u8) -> c_ulong {
        nix::request_code_none!(b';', 100 + index)
    }

    nix::ioctl_none_bad!(api_version, number(0));
    nix::ioctl_write_int_bad!(set_iommu, number(2));
    nix::ioctl_read_bad!(group_status, number(3), GroupStatus);
    nix::ioctl_write_ptr_bad!(set_container, number(4), i32);
    nix::ioctl_write_ptr_bad!(device, number(6), nix::libc::c_char);
    nix::ioctl_read_bad!(region_info, number(8), RegionInfo);
    nix::ioctl_read_bad!(irq_info, number(9), IrqInfo);
    nix::ioctl_write_ptr_bad!(set_irqs, number(10), IrqSet);
    nix::ioctl_write_ptr_bad!(map_dma, number(13), Map);
    nix::ioctl_read_bad!(unmap_dma, number(14), Unmap);
}

/// Whether an IOMMU limits the memory that a card reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The card reaches memory that the process maps for it.
    Mapped,
    /// The card reaches all memory of the machine.
    All,
}

/// The default time limit of a transfer, as in the vendor's driver.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// A function that `vfio-pci` holds for this process.
pub(crate) struct Vfio {
    address: PciAddress,
    identity: (u16, u16),
    folder: PathBuf,
    bars: [(u64, u64); 6],
    device: File,
    /// The address space of the function, unless the function reaches all memory.
    container: Option<Arc<Container>>,
    events: Vec<Arc<EventFd>>,
    request: Request,
    /// Keeps the function's group in the container.
    _group: (File, File),
}

impl fmt::Debug for Vfio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vfio")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// The physical address of a page of this process.
fn physical(at: u64) -> io::Result<u64> {
    let mut entry = [0; 8];
    let map = File::open(PAGE_MAP)?;
    map.read_exact_at(&mut entry, at / PAGE as u64 * size_of::<u64>() as u64)?;
    address_of(u64::from_ne_bytes(entry)).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the kernel hides physical addresses from this process: run as root (CAP_SYS_ADMIN)",
        )
    })
}

/// The physical address in an entry of the page map. Processes without the right to see it find page 0.
fn address_of(entry: u64) -> Option<u64> {
    let page = entry & PAGE_NUMBER;
    (entry & IS_PRESENT != 0 && page != 0).then_some(page * PAGE as u64)
}

/// The address space of the function.
struct Container {
    file: File,
    next: AtomicU64,
}

impl Vfio {
    /// Opens the function, whose folder in sysfs is `folder`, and makes it bus master. The kernel
    /// resets the function.
    ///
    /// The function has the reach that the caller asks for, or the call fails.
    pub(crate) fn open(
        address: PciAddress,
        identity: (u16, u16),
        folder: &Path,
        dev: &Path,
        reach: Reach,
    ) -> Result<Vfio> {
        let group = group(folder);
        let path = match (&group, reach) {
            (Some((number, Reach::Mapped)), Reach::Mapped) => number.clone(),
            (Some((number, Reach::All)), Reach::All) => format!("noiommu-{number}"),
            (Some((_, Reach::Mapped)), Reach::All) => return Err(Error::HasIommu { address }),
            (Some((_, Reach::All)) | None, Reach::Mapped) => {
                return Err(Error::NoIommu { address });
            }
            (None, Reach::All) => return Err(Error::NoGroup { address }),
        };
        let path = dev.join("vfio").join(path);
        let failed = |path: &Path, doing: Doing| {
            let node = path.to_owned();
            move |source: io::Error| Error::Node {
                node,
                doing,
                at: At::NODE,
                source,
            }
        };
        let open = |path: &Path| {
            let file = OpenOptions::new().read(true).write(true).open(path);
            file.map_err(failed(path, Doing::Open))
        };
        let container_path = dev.join(CONTAINER.trim_start_matches("/dev/"));
        let container = open(&container_path)?;
        let group = open(&path)?;
        let joined = join(&container, &group, reach);
        joined.map_err(failed(&path, Doing::Open))?;
        let device = device(&group, address).map_err(failed(&path, Doing::Open))?;
        let set_up = || -> io::Result<Vfio> {
            let mut bars = [(0, 0); 6];
            for (index, bar) in bars.iter_mut().enumerate() {
                *bar = region(&device, index as u32)?;
            }
            let vectors = events(&device, MSIX)?;
            // Old kernels make no requests.
            let request = events(&device, REQUEST).ok();
            let request = Request::new(request.and_then(|mut events| events.pop()));
            let (_, config) = region(&device, CONFIG)?;
            let mut command = [0; 2];
            device.read_exact_at(&mut command, config + COMMAND)?;
            let command = u16::from_le_bytes(command) | MEMORY_AND_MASTER;
            device.write_all_at(&command.to_le_bytes(), config + COMMAND)?;
            Ok(Vfio {
                address,
                identity,
                folder: folder.to_owned(),
                bars,
                device: device.try_clone()?,
                container: match reach {
                    Reach::Mapped => Some(Arc::new(Container {
                        file: container.try_clone()?,
                        next: AtomicU64::new(FIRST_ADDRESS),
                    })),
                    Reach::All => None,
                },
                events: vectors,
                request,
                _group: (container.try_clone()?, group.try_clone()?),
            })
        };
        set_up().map_err(failed(&path, Doing::Open))
    }
}

/// The number of the function's group, and whether an IOMMU is behind the group. VFIO makes a group of its own for a
/// function without an IOMMU if its module permits the use of such functions.
fn group(folder: &Path) -> Option<(String, Reach)> {
    let link = folder.join("iommu_group");
    let number = fs::read_link(&link).ok()?;
    let name = fs::read_to_string(link.join("name")).unwrap_or_default();
    let reach = if name.trim() == NO_IOMMU_NAME {
        Reach::All
    } else {
        Reach::Mapped
    };
    Some((number.file_name()?.to_string_lossy().into_owned(), reach))
}

/// Returns whether a function without a driver has no IOMMU group, which is why `vfio-pci` does not take the function.
pub(crate) fn lacks_group(folder: &Path) -> bool {
    group(folder).is_none()
}

/// Puts the group into the container, and makes the container an address space.
fn join(container: &File, group: &File, reach: Reach) -> io::Result<()> {
    // SAFETY: the request takes no argument.
    let api = unsafe { request::api_version(container.as_raw_fd()) }?;
    if api != API {
        return Err(io::Error::other(format!(
            "VFIO has version {api}, not {API}"
        )));
    }
    let mut status = request::GroupStatus {
        size: size_of::<request::GroupStatus>() as u32,
        ..Default::default()
    };
    // SAFETY: the request writes at most `size` bytes of `status`, which outlives the call.
    unsafe { request::group_status(group.as_raw_fd(), &raw mut status) }?;
    if status.flags & request::VIABLE == 0 {
        return Err(io::Error::other(
            "another function of its IOMMU group has another driver: bind all of them to vfio-pci",
        ));
    }
    let file = container.as_raw_fd();
    // SAFETY: the request reads one int, which outlives the call.
    unsafe { request::set_container(group.as_raw_fd(), &raw const file) }?;
    let interface = match reach {
        Reach::Mapped => TYPE1_V2,
        Reach::All => NO_IOMMU,
    };
    // SAFETY: the argument is a number.
    unsafe { request::set_iommu(container.as_raw_fd(), interface) }?;
    Ok(())
}

/// Opens the function.
fn device(group: &File, address: PciAddress) -> io::Result<File> {
    let name = std::ffi::CString::new(address.to_string()).map_err(io::Error::other)?;
    // SAFETY: the request reads a string up to its NUL; the string outlives the call.
    let file = unsafe { request::device(group.as_raw_fd(), name.as_ptr()) }?;
    // SAFETY: the request returned a new file, which nothing else owns.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(file) }))
}

/// Length and offset of a region of the function. The length is 0 if there is no region.
fn region(device: &File, index: u32) -> io::Result<(u64, u64)> {
    let mut info = request::RegionInfo {
        size: size_of::<request::RegionInfo>() as u32,
        index,
        ..Default::default()
    };
    // SAFETY: the request writes at most `size` bytes of `info`, which outlives the call.
    unsafe { request::region_info(device.as_raw_fd(), &raw mut info) }?;
    Ok((info.bytes, info.offset))
}

/// Enables all interrupts of a kind, each with an event file.
fn events(device: &File, kind: u32) -> io::Result<Vec<Arc<EventFd>>> {
    let mut info = request::IrqInfo {
        size: size_of::<request::IrqInfo>() as u32,
        index: kind,
        ..Default::default()
    };
    // SAFETY: the request writes at most `size` bytes of `info`, which outlives the call.
    unsafe { request::irq_info(device.as_raw_fd(), &raw mut info) }?;
    let mut set = request::IrqSet {
        size: size_of::<request::IrqSet>() as u32,
        flags: request::EVENTS,
        index: kind,
        ..Default::default()
    };
    set.count = info.count.min(set.events.len() as u32);
    let mut events = Vec::new();
    for place in set.events.iter_mut().take(set.count as usize) {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let event = EventFd::from_value_and_flags(0, flags)?;
        *place = event.as_raw_fd();
        events.push(Arc::new(event));
    }
    if set.count != 0 {
        // SAFETY: the request reads `size` bytes of `set`, which outlives the call. The kernel holds
        // the event files itself.
        unsafe { request::set_irqs(device.as_raw_fd(), &raw const set) }?;
    }
    Ok(events)
}

/// The kernel's request for the function.
struct Request {
    /// `None` in a kernel without such requests.
    event: Option<Arc<EventFd>>,
    opened: Instant,
    /// Time of the last look, in milliseconds from `opened`.
    looked: AtomicU64,
    is_made: AtomicBool,
}

impl Request {
    fn new(event: Option<Arc<EventFd>>) -> Request {
        Request {
            event,
            opened: Instant::now(),
            looked: AtomicU64::new(0),
            is_made: AtomicBool::new(false),
        }
    }

    fn is_made(&self) -> bool {
        let now = self.opened.elapsed().as_millis() as u64;
        let looked = self.looked.load(Ordering::Relaxed);
        if now.saturating_sub(looked) >= LOOK.as_millis() as u64
            && let Some(event) = &self.event
        {
            self.looked.store(now, Ordering::Relaxed);
            if event.read().is_ok() {
                self.is_made.store(true, Ordering::Relaxed);
            }
        }
        self.is_made.load(Ordering::Relaxed)
    }
}

impl Function for Vfio {
    fn address(&self) -> PciAddress {
        self.address
    }

    fn identity(&self) -> (u16, u16) {
        self.identity
    }

    fn folder(&self) -> &Path {
        &self.folder
    }

    fn bars(&self) -> [u64; 6] {
        self.bars.map(|(bytes, _)| bytes)
    }

    fn vectors(&self) -> u32 {
        self.events.len() as u32
    }

    fn map(&self, bar: usize, first: u64, bytes: usize) -> io::Result<Box<dyn Mapping>> {
        let &(length, offset) = self.bars.get(bar).ok_or(Errno::EINVAL)?;
        if first
            .checked_add(bytes as u64)
            .is_none_or(|end| end > length)
        {
            return Err(Errno::EINVAL.into());
        }
        let mut options = MmapOptions::new();
        let memory = options
            .offset(offset + first)
            .len(bytes)
            .map_raw(&self.device)?;
        Ok(Box::new(Bar(memory)))
    }

    fn memory(&self, bytes: usize) -> io::Result<Box<dyn DmaMemory>> {
        Ok(Box::new(match &self.container {
            Some(container) => Pages::new(container, bytes)?,
            None => Pages::huge(bytes)?,
        }))
    }

    fn longest_memory(&self) -> usize {
        match self.container {
            Some(_) => usize::MAX,
            None => HUGE_PAGE,
        }
    }

    fn is_asked_back(&self) -> bool {
        self.request.is_made()
    }

    fn interrupt(&self, vector: u32) -> io::Result<Box<dyn EventNode>> {
        let event = self.events.get(vector as usize).ok_or(Errno::EINVAL)?;
        Ok(Box::new(Interrupt(Arc::clone(event))))
    }
}

/// Pages that the function reaches.
struct Pages {
    memory: MmapRaw,
    address: u64,
    /// The address space in which the pages are mapped; `None` if the address is physical.
    container: Option<Arc<Container>>,
}

impl Pages {
    fn new(container: &Arc<Container>, bytes: usize) -> io::Result<Pages> {
        let bytes = bytes.next_multiple_of(PAGE);
        let memory = MmapRaw::from(memmap2::MmapMut::map_anon(bytes)?);
        let address = container.next.fetch_add(bytes as u64, Ordering::Relaxed);
        let map = request::Map {
            size: size_of::<request::Map>() as u32,
            flags: request::READ_AND_WRITE,
            memory: memory.as_ptr() as u64,
            address,
            bytes: bytes as u64,
        };
        // SAFETY: the request reads `map`, which outlives the call. The pages belong to `memory`,
        // which `drop` unmaps for the function before they are freed. Nothing has a reference to
        // them, so that the function may write them at any time.
        unsafe { request::map_dma(container.file.as_raw_fd(), &raw const map) }?;
        Ok(Pages {
            memory,
            address,
            container: Some(Arc::clone(container)),
        })
    }

    /// A huge page: contiguous memory that the kernel does not swap, and that goes back to the pool of huge pages after
    /// the end of the process.
    fn huge(bytes: usize) -> io::Result<Pages> {
        if bytes > HUGE_PAGE {
            return Err(io::Error::new(
                io::ErrorKind::OutOfMemory,
                "memory without an IOMMU is a huge page of 2 MiB at most",
            ));
        }
        let mut options = MmapOptions::new();
        options.len(HUGE_PAGE).huge(Some(HUGE_PAGE_BITS)).populate();
        let memory = options.map_anon().map_err(|error| {
            let text = format!(
                "no huge page of 2 MiB is free ({error}): as root, write a number such as 64 to \
                 /proc/sys/vm/nr_hugepages"
            );
            io::Error::new(io::ErrorKind::OutOfMemory, text)
        })?;
        let memory = MmapRaw::from(memory);
        memory.lock()?;
        // After a fork, the next write of this process would move the data to another page.
        memory.advise(Advice::DontFork)?;
        let address = physical(memory.as_ptr() as u64)?;
        Ok(Pages {
            memory,
            address,
            container: None,
        })
    }

    /// The place of an access, if it is in the pages.
    fn place(&self, offset: usize, bytes: usize) -> Option<*mut u8> {
        let end = offset.checked_add(bytes)?;
        (end <= self.memory.len()).then(|| self.memory.as_mut_ptr().wrapping_add(offset))
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.revoke();
    }
}

impl DmaMemory for Pages {
    fn revoke(&self) {
        // Nothing takes memory from a function that reaches all memory.
        let Some(container) = &self.container else {
            return;
        };
        let mut unmap = request::Unmap {
            size: size_of::<request::Unmap>() as u32,
            address: self.address,
            bytes: self.memory.len() as u64,
            ..Default::default()
        };
        let container = container.file.as_raw_fd();
        // SAFETY: the request reads and writes `unmap`, which outlives the call. If it fails, the
        // kernel keeps the pages of the mapping until the container is closed.
        let _ = unsafe { request::unmap_dma(container, &raw mut unmap) };
    }

    fn cells(&self) -> &[AtomicU8] {
        // SAFETY: the mapping is that long, and lives as long as `self`. `AtomicU8` has the layout of
        // `u8`, and all accesses of this process to the memory are through pointers.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), self.memory.len()) }
    }

    fn address(&self) -> u64 {
        self.address
    }

    fn read(&self, offset: usize, data: &mut [u8]) {
        match self.place(offset, data.len()) {
            // SAFETY: the place is in the mapping, which lives as long as `self`, and `data` is not,
            // because nothing has a reference to the mapping. The bytes are any bytes.
            Some(place) => unsafe {
                std::ptr::copy_nonoverlapping(place, data.as_mut_ptr(), data.len());
            },
            None => data.fill(0),
        }
    }

    fn write(&self, offset: usize, data: &[u8]) {
        if let Some(place) = self.place(offset, data.len()) {
            // SAFETY: as for `read`; the mapping is writable.
            unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), place, data.len()) }
        }
    }

    fn load32(&self, offset: usize) -> u32 {
        match self.place(offset, 4).filter(|_| offset.is_multiple_of(4)) {
            // SAFETY: as for `read`. The place is aligned, because the mapping begins at a page.
            Some(place) => unsafe { place.cast::<u32>().read_volatile() },
            None => 0,
        }
    }
}

/// The event file of a vector.
struct Interrupt(Arc<EventFd>);

impl EventNode for Interrupt {
    fn poll(&self, timeout: Option<Duration>) -> io::Result<bool> {
        wait_readable(self.0.as_fd(), timeout)
    }

    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.len() != 4 {
            return Err(Errno::EPROTO.into());
        }
        // As with the vendor's driver: one flag for any number of interrupts.
        self.0.read()?;
        buffer.copy_from_slice(&1_u32.to_le_bytes());
        Ok(4)
    }
}

#[cfg(test)]
mod tests {
    use super::{HUGE_PAGE, Pages, address_of};

    #[test]
    fn hidden_and_absent_pages_have_no_address() {
        let present = 1 << 63;
        assert_eq!(address_of(present | 0x12_3456), Some(0x1_2345_6000));
        // Bits 55 to 62 are flags.
        assert_eq!(address_of(present | 0xff << 55 | 7), Some(0x7000));
        assert_eq!(address_of(present), None, "hidden");
        assert_eq!(address_of(7), None, "absent");
    }

    #[test]
    fn memory_without_an_iommu_is_a_huge_page_at_most() {
        let error = Pages::huge(HUGE_PAGE + 1).err().expect("too long");
        assert!(error.to_string().contains("2 MiB at most"), "{error}");
    }
}
