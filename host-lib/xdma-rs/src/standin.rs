//! A stand-in for a card: device nodes served in this process, for tests without a card.
//!
//! A [`StandIn`] has its own sysfs tree in a scratch folder and serves the nodes of one card. It
//! reproduces the driver's properties: it rejects mappings longer than the BAR, buffers that cannot
//! be pinned, and misaligned buffers, and its events are flags. On request it returns short counts,
//! any error number, or removes the card. A [`Device`] is behind the nodes: [`Memory`], or a
//! simulated design.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::errno::Errno;

use crate::nodes::{Dma, EventNode, Mapping, Nodes, Way};
use crate::{At, Doing, Error, Machine, PciAddress, Result};

/// PCI address of the card.
const ADDRESS: &str = "0000:3b:00.0";
/// The driver's number of the card. It is not 0, so that a program that assumes 0 fails.
const NUMBER: u32 = 2;

/// The design behind the nodes.
pub trait Device: Send + Sync {
    /// Reads a register.
    fn read32(&self, offset: u64) -> u32;
    /// Writes a register.
    fn write32(&self, offset: u64, value: u32);
    /// Reads memory for a DMA engine. Returns whether the range exists.
    fn read(&self, at: u64, buffer: &mut [u8]) -> bool;
    /// Writes memory for a DMA engine. Returns whether the range exists.
    fn write(&self, at: u64, data: &[u8]) -> bool;

    /// Reads through the bypass BAR. Returns whether the range exists.
    fn load(&self, at: u64, data: &mut [u8]) -> bool {
        self.read(at, data)
    }
    /// Writes through the bypass BAR. Returns whether the range exists.
    fn store(&self, at: u64, data: &[u8]) -> bool {
        self.write(at, data)
    }

    /// Returns whether a signal breaks off the call that waits for an event.
    fn is_signalled(&self) -> bool {
        false
    }

    /// Advances simulated time by a small step. Called while the host waits for an event. Returns a
    /// bit for each interrupt raised since the last call, or `None` if the device's time advances
    /// by itself.
    fn pass(&self) -> Option<u32> {
        None
    }
}

/// A design that consists of memory: registers that keep the written value, and memory that starts
/// at 0.
#[derive(Debug)]
pub struct Memory {
    registers: Mutex<HashMap<u64, u32>>,
    bytes: Mutex<Vec<u8>>,
}

impl Memory {
    /// A design with `bytes` of memory.
    #[must_use]
    pub fn new(bytes: usize) -> Memory {
        Memory {
            registers: Mutex::default(),
            bytes: Mutex::new(vec![0; bytes]),
        }
    }
}

/// The range of `length` bytes at `at`, if it is within `all` bytes.
fn within(at: u64, length: usize, all: usize) -> Option<std::ops::Range<usize>> {
    let begin = usize::try_from(at).ok()?;
    let end = begin.checked_add(length)?;
    (end <= all).then_some(begin..end)
}

impl Device for Memory {
    fn read32(&self, offset: u64) -> u32 {
        lock(&self.registers).get(&offset).copied().unwrap_or(0)
    }
    fn write32(&self, offset: u64, value: u32) {
        lock(&self.registers).insert(offset, value);
    }
    fn read(&self, at: u64, buffer: &mut [u8]) -> bool {
        let bytes = lock(&self.bytes);
        let place = within(at, buffer.len(), bytes.len());
        place.is_some_and(|place| {
            buffer.copy_from_slice(&bytes[place]);
            true
        })
    }
    fn write(&self, at: u64, data: &[u8]) -> bool {
        let mut bytes = lock(&self.bytes);
        let place = within(at, data.len(), bytes.len());
        place.is_some_and(|place| {
            bytes[place].copy_from_slice(data);
            true
        })
    }
}

/// Properties of the card of a stand-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of the BAR of the design's registers; 0 for none.
    pub user_bytes: u64,
    /// Bytes of the bypass BAR, which reaches the memory; 0 for none.
    pub bypass_bytes: u64,
    /// DMA channels each way.
    pub channels: u32,
    /// User interrupts.
    pub events: u32,
    /// Host and card addresses of a transfer must be equal modulo this number.
    pub alignment: u64,
}

impl Default for Shape {
    /// 64 KiB of registers, no bypass, one channel in each direction, 16 interrupts, an alignment
    /// of 64.
    fn default() -> Shape {
        Shape {
            user_bytes: 0x1_0000,
            bypass_bytes: 0,
            channels: 1,
            events: 16,
            alignment: 64,
        }
    }
}

/// A call on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// Opening or mapping the node.
    Open,
    /// `pread`, `pwrite`, or the read of an event.
    Move,
    /// Polling an event.
    Poll,
}

/// A fault that is injected into a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call fails with this error number. 512 is the driver's ERESTARTSYS.
    Errno(i32),
    /// The call moves this number of bytes, at most the requested number.
    Short(usize),
}

/// Counts of the host's accesses to the nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Stores of 4 or 8 bytes into mapped BARs: posted writes.
    pub stores: u64,
    /// Loads of 4 or 8 bytes from mapped BARs: round trips.
    pub loads: u64,
    /// System calls: transfers, polls and reads of events.
    pub calls: u64,
}

#[derive(Debug, Default)]
struct Counters {
    stores: AtomicU64,
    loads: AtomicU64,
    calls: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// The served nodes of one card.
///
/// # Examples
/// ```
/// use xdma::nodes::Nodes;
/// use xdma::standin::{Call, Fault, Memory, Shape, StandIn};
/// use xdma::{BarOffset, CardAddr};
///
/// let shape = Shape { events: 4, ..Shape::default() };
/// let standin = StandIn::with(shape, Memory::new(0x1000))?;
/// let card = standin.machine().card(standin.address())?;
/// assert_eq!(card.events(), [0, 1, 2, 3]);
/// standin.interrupt(1);
/// assert!(card.event(1)?.wait(None)?);
/// card.user_bar()?.write32(BarOffset(4), 1)?;
/// assert_eq!((standin.counts().stores, standin.counts().loads), (1, 0));
///
/// standin.fail("h2c_0", Call::Move, Fault::Errno(5)); // EIO
/// assert_eq!(standin.faults_left(), 1);
/// assert!(card.h2c(0)?.write(CardAddr(0x10), &[1, 2]).is_err());
/// assert_eq!((standin.faults_left(), standin.transfers("h2c_0")), (0, vec![(0x10, 2)]));
///
/// // A mapping that is longer than the BAR.
/// assert!(standin.nodes().map("/dev/xdma2_user".as_ref(), 0, 0x2_0000).is_err());
/// assert!(standin.sys().join("bus/pci/devices").is_dir());
///
/// // The card leaves the bus, and then the kernel notices.
/// standin.remove_by_surprise();
/// assert!(card.is_present() && card.user_bar().is_err());
/// standin.unplug()?;
/// assert!(!card.is_present());
/// # Ok::<(), xdma::Error>(())
/// ```
pub struct StandIn {
    shared: Arc<Shared>,
}

impl fmt::Debug for StandIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}

struct Shared {
    tree: tempfile::TempDir,
    shape: Shape,
    device: Box<dyn Device>,
    state: Mutex<State>,
    counters: Counters,
    /// Notified when an event's flag is set or the card is removed.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    gone: bool,
    flags: HashMap<String, bool>,
    faults: HashMap<(String, Call), VecDeque<Fault>>,
    calls: HashMap<String, Vec<(u64, usize)>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StandIn")
            .field("tree", &self.tree.path())
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // After a panic, other tests should fail only for their own reasons.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StandIn {
    /// Serves the nodes of a card with the default [`Shape`].
    ///
    /// # Errors
    /// [`Error::Node`] when the scratch folder cannot be created.
    pub fn new(device: impl Device + 'static) -> Result<StandIn> {
        StandIn::with(Shape::default(), device)
    }

    /// Serves the nodes of a card with the given shape.
    ///
    /// # Errors
    /// [`Error::Node`] when the scratch folder cannot be created.
    pub fn with(shape: Shape, device: impl Device + 'static) -> Result<StandIn> {
        let tree = tempfile::tempdir().and_then(|tree| {
            write_sysfs(tree.path(), shape)?;
            Ok(tree)
        });
        let tree = tree.map_err(|source| Error::Node {
            node: std::env::temp_dir(),
            doing: Doing::Write,
            at: At::NODE,
            source,
        })?;
        Ok(StandIn {
            shared: Arc::new(Shared {
                tree,
                shape,
                device: Box::new(device),
                state: Mutex::default(),
                counters: Counters::default(),
                changed: Condvar::new(),
            }),
        })
    }

    /// A machine with this card only.
    #[must_use]
    pub fn machine(&self) -> Machine {
        Machine::at(
            self.sys(),
            "/dev",
            Arc::new(Served(Arc::clone(&self.shared))),
        )
    }

    /// PCI address of the card.
    #[must_use]
    pub fn address(&self) -> PciAddress {
        ADDRESS.parse().expect("an address, as the tests check")
    }

    /// The opener of the nodes, for tests of a node's own properties.
    #[must_use]
    pub fn nodes(&self) -> impl Nodes + use<> {
        Served(Arc::clone(&self.shared))
    }

    /// Root of the sysfs tree: plain files, which tests may read and change.
    #[must_use]
    pub fn sys(&self) -> PathBuf {
        self.shared.tree.path().to_owned()
    }

    /// Counts of the accesses so far. Opening and mapping are not counted.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let counters = &self.shared.counters;
        Counts {
            stores: counters.stores.load(Ordering::Relaxed),
            loads: counters.loads.load(Ordering::Relaxed),
            calls: counters.calls.load(Ordering::Relaxed),
        }
    }

    /// Raises a user interrupt.
    pub fn interrupt(&self, event: u32) {
        let mut state = lock(&self.shared.state);
        state.flags.insert(format!("events_{event}"), true);
        self.shared.changed.notify_all();
    }

    /// Injects a fault into the next call of this kind on a node (such as `h2c_0`). Several faults
    /// for one node are used in order.
    pub fn fail(&self, node: &str, call: Call, fault: Fault) {
        let mut state = lock(&self.shared.state);
        let faults = state.faults.entry((node.to_owned(), call)).or_default();
        faults.push_back(fault);
    }

    /// Number of injected faults that no call has used yet.
    #[must_use]
    pub fn faults_left(&self) -> usize {
        lock(&self.shared.state)
            .faults
            .values()
            .map(VecDeque::len)
            .sum()
    }

    /// Address and length of the transfers requested of a node, including failed transfers.
    #[must_use]
    pub fn transfers(&self, node: &str) -> Vec<(u64, usize)> {
        lock(&self.shared.state)
            .calls
            .get(node)
            .cloned()
            .unwrap_or_default()
    }

    /// Removes the card before the kernel notices: registers read all ones, transfers fail.
    pub fn remove_by_surprise(&self) {
        lock(&self.shared.state).gone = true;
        self.shared.changed.notify_all();
    }

    /// Removes the card from the bus and from sysfs.
    ///
    /// # Errors
    /// [`Error::Node`] when the folder of the card cannot be removed.
    pub fn unplug(&self) -> Result<()> {
        self.remove_by_surprise();
        let folder = self.sys().join("bus/pci/devices").join(ADDRESS);
        fs::remove_dir_all(&folder).map_err(|source| Error::Node {
            node: folder,
            doing: Doing::Write,
            at: At::NODE,
            source,
        })
    }
}

/// Writes the files of sysfs that this crate reads.
fn write_sysfs(sys: &Path, shape: Shape) -> io::Result<()> {
    let folder = sys.join("bus/pci/devices").join(ADDRESS);
    let class = folder.join("xdma");
    fs::create_dir_all(&class)?;
    fs::create_dir_all(sys.join("bus/pci/drivers/xdma"))?;
    fs::create_dir_all(sys.join("module/xdma"))?;
    fs::write(sys.join("module/xdma/version"), "2025.2.0\n")?;
    fs::write(sys.join("bus/pci/rescan"), "")?;
    std::os::unix::fs::symlink("../../drivers/xdma", folder.join("driver"))?;
    for (name, text) in [
        ("vendor", "0x10ee\n"),
        ("device", "0x903f\n"),
        ("remove", ""),
        ("reset", ""),
        ("reset_method", "flr bus\n"),
    ] {
        fs::write(folder.join(name), text)?;
    }
    let bars = [shape.user_bytes, 0x1_0000, shape.bypass_bytes];
    let mut first = 0xf000_0000;
    let mut resources = String::new();
    for bytes in bars.into_iter().filter(|&bytes| bytes != 0) {
        resources += &format!(
            "{first:#018x} {:#018x} {:#018x}\n",
            first + bytes - 1,
            0x40200
        );
        first += bytes.next_power_of_two();
    }
    let lines = resources.lines().count();
    resources += &format!("{0:#018x} {0:#018x} {0:#018x}\n", 0).repeat(13 - lines);
    fs::write(folder.join("resource"), resources)?;

    let mut nodes = vec!["control".to_owned()];
    nodes.extend((shape.user_bytes != 0).then(|| "user".to_owned()));
    nodes.extend((shape.bypass_bytes != 0).then(|| "bypass".to_owned()));
    for channel in 0..shape.channels {
        nodes.extend([format!("h2c_{channel}"), format!("c2h_{channel}")]);
    }
    nodes.extend((0..shape.events).map(|event| format!("events_{event}")));
    for node in nodes {
        fs::create_dir(class.join(format!("xdma{NUMBER}_{node}")))?;
    }
    Ok(())
}

#[derive(Debug)]
struct Served(Arc<Shared>);

impl Served {
    /// The node's name, if the node can be opened.
    fn open(&self, path: &Path) -> io::Result<String> {
        let prefix = format!("/dev/xdma{NUMBER}_");
        let name = path
            .to_string_lossy()
            .strip_prefix(&prefix)
            .map(str::to_owned);
        let name = name.ok_or(Errno::ENOENT)?;
        self.0.take_fault(&name, Call::Open, 0)?;
        if lock(&self.0.state).gone {
            return Err(Errno::ENODEV.into());
        }
        Ok(name)
    }
}

impl Shared {
    /// Applies an injected fault to a call: returns an error, or the number of bytes to move.
    fn take_fault(&self, node: &str, call: Call, bytes: usize) -> io::Result<usize> {
        let mut state = lock(&self.state);
        let faults = state.faults.get_mut(&(node.to_owned(), call));
        match faults.and_then(VecDeque::pop_front) {
            None => Ok(bytes),
            Some(Fault::Errno(errno)) => Err(io::Error::from_raw_os_error(errno)),
            Some(Fault::Short(most)) => Ok(bytes.min(most)),
        }
    }

    fn is_gone(&self) -> bool {
        lock(&self.state).gone
    }
}

impl Nodes for Served {
    fn map(&self, path: &Path, first: u64, bytes: usize) -> io::Result<Box<dyn Mapping>> {
        let name = self.open(path)?;
        let there = match name.as_str() {
            "user" => self.0.shape.user_bytes,
            "bypass" => self.0.shape.bypass_bytes,
            _ => return Err(Errno::ENODEV.into()),
        };
        let end = first.checked_add(bytes as u64);
        if bytes == 0 || !first.is_multiple_of(4096) || end.is_none_or(|end| end > there) {
            return Err(Errno::EINVAL.into());
        }
        Ok(Box::new(Mapped {
            shared: Arc::clone(&self.0),
            first,
            bytes,
            is_memory: name == "bypass",
        }))
    }

    fn dma(&self, path: &Path, way: Way) -> io::Result<Box<dyn Dma>> {
        Ok(Box::new(Channel {
            shared: Arc::clone(&self.0),
            name: self.open(path)?,
            way,
        }))
    }

    fn event(&self, path: &Path) -> io::Result<Box<dyn EventNode>> {
        Ok(Box::new(Flag {
            shared: Arc::clone(&self.0),
            name: self.open(path)?,
        }))
    }
}

struct Mapped {
    shared: Arc<Shared>,
    first: u64,
    bytes: usize,
    is_memory: bool,
}

impl Mapped {
    /// The address of an access in the BAR, if the card answers.
    fn place(&self, offset: usize, bytes: usize) -> Option<u64> {
        let is_there = !self.shared.is_gone() && within(offset as u64, bytes, self.bytes).is_some();
        is_there.then(|| self.first + offset as u64)
    }
}

impl Mapping for Mapped {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn read32(&self, offset: usize) -> u32 {
        count(&self.shared.counters.loads);
        self.load(offset)
    }

    fn write32(&self, offset: usize, value: u32) {
        count(&self.shared.counters.stores);
        self.store(offset, value);
    }

    fn read64(&self, offset: usize) -> u64 {
        count(&self.shared.counters.loads);
        let high = offset
            .checked_add(4)
            .map_or(u32::MAX, |offset| self.load(offset));
        u64::from(high) << 32 | u64::from(self.load(offset))
    }

    fn write64(&self, offset: usize, value: u64) {
        count(&self.shared.counters.stores);
        if self.place(offset, 8).is_some() {
            self.store(offset, value as u32);
            self.store(offset + 4, (value >> 32) as u32);
        }
    }
}

impl Mapped {
    fn load(&self, offset: usize) -> u32 {
        let mut bytes = [0; 4];
        let device = &self.shared.device;
        match self.place(offset, 4) {
            Some(place) if !self.is_memory => device.read32(place),
            Some(place) if device.load(place, &mut bytes) => u32::from_le_bytes(bytes),
            _ => u32::MAX,
        }
    }

    fn store(&self, offset: usize, value: u32) {
        let device = &self.shared.device;
        match self.place(offset, 4) {
            Some(place) if !self.is_memory => device.write32(place, value),
            Some(place) => _ = device.store(place, &value.to_le_bytes()),
            None => {}
        }
    }
}

struct Channel {
    shared: Arc<Shared>,
    name: String,
    way: Way,
}

impl Channel {
    /// Checks a transfer before it starts. Returns the number of bytes that it will move.
    fn begin(&self, way: Way, host: *const u8, bytes: usize, at: u64) -> io::Result<usize> {
        count(&self.shared.counters.calls);
        let mut state = lock(&self.shared.state);
        let calls = state.calls.entry(self.name.clone()).or_default();
        calls.push((at, bytes));
        drop(state);
        let moved = self.shared.take_fault(&self.name, Call::Move, bytes)?;
        if self.shared.is_gone() {
            return Err(Errno::EIO.into());
        }
        // The system checks the file offset. The driver checks the engine and the addresses.
        let alignment = self.shared.shape.alignment;
        if i64::try_from(at).is_err()
            || way != self.way
            || bytes == 0
            || host as u64 % alignment != at % alignment
        {
            return Err(Errno::EINVAL.into());
        }
        if !is_writable(host as usize, bytes)? {
            return Err(Errno::EFAULT.into());
        }
        Ok(moved)
    }
}

/// Returns whether the memory can be pinned for writing.
fn is_writable(begin: usize, bytes: usize) -> io::Result<bool> {
    let end = begin + bytes;
    let mut covered = begin;
    for line in fs::read_to_string("/proc/self/maps")?.lines() {
        let mut fields = line.split_whitespace();
        let range = fields.next().and_then(|range| range.split_once('-'));
        let (Some((first, last)), Some(rights)) = (range, fields.next()) else {
            continue;
        };
        let parse = |text| usize::from_str_radix(text, 16).unwrap_or(0);
        if (parse(first)..parse(last)).contains(&covered) && rights.contains('w') {
            covered = parse(last);
        }
    }
    Ok(covered >= end)
}

impl Dma for Channel {
    fn alignment(&self) -> io::Result<u64> {
        Ok(self.shared.shape.alignment)
    }

    fn pread(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let bytes = self.begin(Way::FromCard, buffer.as_ptr(), buffer.len(), at)?;
        if self.shared.device.read(at, &mut buffer[..bytes]) {
            Ok(bytes)
        } else {
            Err(Errno::EIO.into())
        }
    }

    fn pwrite(&self, buffer: &[u8], at: u64) -> io::Result<usize> {
        let bytes = self.begin(Way::ToCard, buffer.as_ptr(), buffer.len(), at)?;
        if self.shared.device.write(at, &buffer[..bytes]) {
            Ok(bytes)
        } else {
            Err(Errno::EIO.into())
        }
    }
}

struct Flag {
    shared: Arc<Shared>,
    name: String,
}

impl Flag {
    /// Waits for the flag until the time-out. Returns whether the flag is set.
    fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut state = lock(&self.shared.state);
        loop {
            if state.gone {
                return Err(Errno::ENODEV.into());
            }
            if state.flags.get(&self.name) == Some(&true) {
                return Ok(true);
            }
            if end.is_none_or(|end| Instant::now() < end) {
                drop(state);
                let raised = self.shared.device.pass();
                state = lock(&self.shared.state);
                if let Some(raised) = raised {
                    for event in (0..32).filter(|event| raised >> event & 1 != 0) {
                        state.flags.insert(format!("events_{event}"), true);
                    }
                    continue;
                }
                // The flag may have been set while the lock was not held.
                if state.gone || state.flags.get(&self.name) == Some(&true) {
                    continue;
                }
            }
            let changed = &self.shared.changed;
            state = match end.map(|end| end.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return Ok(false),
                Some(left) => {
                    let waited = changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl EventNode for Flag {
    fn poll(&self, timeout: Option<Duration>) -> io::Result<bool> {
        count(&self.shared.counters.calls);
        self.shared.take_fault(&self.name, Call::Poll, 0)?;
        if self.shared.device.is_signalled() {
            return Err(Errno::EINTR.into());
        }
        self.wait(timeout)
    }

    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        count(&self.shared.counters.calls);
        if buffer.len() != 4 {
            return Err(Errno::EPROTO.into());
        }
        let bytes = self.shared.take_fault(&self.name, Call::Move, 4)?;
        self.wait(None)?;
        lock(&self.shared.state)
            .flags
            .insert(self.name.clone(), false);
        buffer.copy_from_slice(&1_u32.to_le_bytes());
        Ok(bytes)
    }
}
