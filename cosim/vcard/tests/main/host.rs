//! A host whose driver reaches a card without a kernel: the functions that the driver drives.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use alcor_vcard::VirtualCard;
use alcor_vcard::xdma::{Core, HostMemory, Shape};
use alcor_xdma::{Peers, XdmaBoard, XdmaError};
use memmap2::{MmapOptions, MmapRaw};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use xdma::nodes::{EventNode, Mapping};
use xdma::{Card, DmaMemory, Function, Machine, PciAddress};

use crate::bytes::Bytes;

/// First address of host memory for the card: above 4 GiB.
pub const BASE: u64 = 0x3_0000_0000;
/// Bytes of host memory.
const BYTES: u64 = 16 << 20;

/// Shared memory, as that of a virtual machine.
#[derive(Debug)]
pub struct Host {
    pub file: File,
    next: AtomicU64,
    /// Bytes of memory whose owner has not been dropped.
    pub in_use: Arc<AtomicU64>,
    /// Bytes that the driver has read and written by calls.
    pub copied: Arc<AtomicU64>,
    /// Memory that was taken from the card.
    pub revoked: Arc<AtomicU64>,
    /// Memory whose owner has been dropped: its length and its first byte.
    free: Arc<Mutex<Vec<(u64, u64)>>>,
}

impl Host {
    pub fn new() -> Host {
        let file =
            rustix::fs::memfd_create("host", rustix::fs::MemfdFlags::CLOEXEC).expect("memory");
        let file = File::from(file);
        file.set_len(BYTES).expect("its length");
        Host {
            file,
            next: AtomicU64::new(0),
            in_use: Arc::default(),
            copied: Arc::default(),
            revoked: Arc::default(),
            free: Arc::default(),
        }
    }

    pub fn clone_file(&self) -> File {
        self.file.try_clone().expect("a file")
    }

    pub fn bytes(&self) -> u64 {
        BYTES
    }

    pub fn memory(&self, bytes: usize) -> io::Result<Box<dyn DmaMemory>> {
        let bytes = (bytes as u64).next_multiple_of(4096);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let first = match free.iter().position(|&(length, _)| length == bytes) {
            Some(place) => free.swap_remove(place).1,
            None => self.next.fetch_add(bytes, Ordering::Relaxed),
        };
        if first + bytes > BYTES {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.file.write_all_at(&vec![0; bytes as usize], first)?;
        self.in_use.fetch_add(bytes, Ordering::Relaxed);
        let mut options = MmapOptions::new();
        let pages = options.offset(first).len(bytes as usize);
        Ok(Box::new(Memory {
            file: self.file.try_clone()?,
            pages: pages.map_raw(&self.file)?,
            first,
            bytes,
            in_use: Arc::clone(&self.in_use),
            copied: Arc::clone(&self.copied),
            revoked: Arc::clone(&self.revoked),
            free: Arc::clone(&self.free),
        }))
    }
}

impl HostMemory for Host {
    fn read(&self, at: u64, data: &mut [u8]) -> bool {
        let at = at.checked_sub(BASE);
        at.is_some_and(|at| self.file.read_exact_at(data, at).is_ok())
    }

    fn write(&self, at: u64, data: &[u8]) -> bool {
        let place = at
            .checked_sub(BASE)
            .filter(|at| at + data.len() as u64 <= BYTES);
        place.is_some_and(|at| self.file.write_all_at(data, at).is_ok())
    }
}

struct Memory {
    file: File,
    pages: MmapRaw,
    first: u64,
    bytes: u64,
    in_use: Arc<AtomicU64>,
    copied: Arc<AtomicU64>,
    revoked: Arc<AtomicU64>,
    free: Arc<Mutex<Vec<(u64, u64)>>>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.in_use.fetch_sub(self.bytes, Ordering::Relaxed);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.push((self.bytes, self.first));
    }
}

impl DmaMemory for Memory {
    fn address(&self) -> u64 {
        BASE + self.first
    }

    fn read(&self, offset: usize, data: &mut [u8]) {
        self.copied.fetch_add(data.len() as u64, Ordering::Relaxed);
        let result = self.file.read_exact_at(data, self.first + offset as u64);
        result.expect("memory");
    }

    fn write(&self, offset: usize, data: &[u8]) {
        self.copied.fetch_add(data.len() as u64, Ordering::Relaxed);
        let result = self.file.write_all_at(data, self.first + offset as u64);
        result.expect("memory");
    }

    fn load32(&self, offset: usize) -> u32 {
        let mut bytes = [0; 4];
        let result = self
            .file
            .read_exact_at(&mut bytes, self.first + offset as u64);
        result.expect("memory");
        u32::from_le_bytes(bytes)
    }

    fn cells(&self) -> &[AtomicU8] {
        // SAFETY: the mapping has this length, lives as long as `self`, and is reached through
        // pointers only. `AtomicU8` has the layout of `u8`.
        unsafe { std::slice::from_raw_parts(self.pages.as_ptr().cast(), self.pages.len()) }
    }

    fn revoke(&self) {
        self.revoked.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

/// An event file.
pub struct Event(pub File);

pub fn event() -> File {
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    File::from(eventfd(0, flags).expect("an event"))
}

impl EventNode for Event {
    fn poll(&self, timeout: Option<Duration>) -> io::Result<bool> {
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs() as i64,
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let mut asked = [PollFd::new(&self.0, PollFlags::IN)];
        Ok(poll(&mut asked, timeout.as_ref())? != 0)
    }

    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        io::Read::read_exact(&mut &self.0, &mut [0; 8])?;
        buffer.copy_from_slice(&1_u32.to_le_bytes());
        Ok(4)
    }
}

fn address() -> PciAddress {
    "0000:5e:00.0".parse().expect("an address")
}

/// A virtual card with a simulated board, in this process.
#[derive(Debug)]
pub struct CardFunction {
    pub card: Arc<VirtualCard>,
    pub host: Host,
    /// Whether the card has no power: reads return all ones, and writes have no effect.
    pub is_gone: Arc<AtomicBool>,
}

impl CardFunction {
    pub fn new(card: VirtualCard) -> CardFunction {
        let host = Host::new();
        let range = (BASE, host.bytes());
        let mapped = card.map(range, Some(host.clone_file()), 0, (true, true));
        mapped.expect("memory of the host");
        card.write_config(4, &[6, 0]);
        CardFunction {
            card: Arc::new(card),
            host,
            is_gone: Arc::default(),
        }
    }
}

/// The board of a card that this process drives, with its locks in a folder.
pub fn open_board(
    function: Arc<dyn Function>,
    locks: &Path,
    peers: &Peers,
) -> Result<Arc<XdmaBoard>, XdmaError> {
    let limit = Duration::from_secs(60);
    let card = Card::driven(&Machine::local(), function, limit).expect("a card");
    XdmaBoard::open_with(card, locks, peers)
}

struct CardBar {
    card: Arc<VirtualCard>,
    is_gone: Arc<AtomicBool>,
    bar: usize,
    first: u64,
    bytes: usize,
}

impl Access for CardBar {
    fn bytes(&self) -> usize {
        self.bytes
    }
    fn read(&self, offset: usize, data: &mut [u8]) {
        data.fill(0xff);
        if offset + data.len() <= self.bytes && !self.is_gone.load(Ordering::Relaxed) {
            self.card
                .read_bar(self.bar, self.first + offset as u64, data);
        }
    }
    fn write(&self, offset: usize, data: &[u8]) {
        if offset + data.len() <= self.bytes && !self.is_gone.load(Ordering::Relaxed) {
            self.card
                .write_bar(self.bar, self.first + offset as u64, data);
        }
    }
}

/// Accesses to a BAR, of any length.
pub trait Access: Send + Sync {
    fn bytes(&self) -> usize;
    fn read(&self, offset: usize, data: &mut [u8]);
    fn write(&self, offset: usize, data: &[u8]);
}

/// The mapping of a BAR.
pub struct ByBytes<A>(pub A);

impl<A: Access> ByBytes<A> {
    fn read<const BYTES: usize>(&self, offset: usize) -> [u8; BYTES] {
        let mut data = [0; BYTES];
        self.0.read(offset, &mut data);
        data
    }
}

impl<A: Access> Mapping for ByBytes<A> {
    fn bytes(&self) -> usize {
        self.0.bytes()
    }
    fn read32(&self, offset: usize) -> u32 {
        u32::from_le_bytes(self.read(offset))
    }
    fn write32(&self, offset: usize, value: u32) {
        self.0.write(offset, &value.to_le_bytes());
    }
    fn read64(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self.read(offset))
    }
    fn write64(&self, offset: usize, value: u64) {
        self.0.write(offset, &value.to_le_bytes());
    }
}

impl Function for CardFunction {
    fn address(&self) -> PciAddress {
        address()
    }
    fn identity(&self) -> (u16, u16) {
        let mut id = [0; 4];
        self.card.read_config(0, &mut id);
        (
            u16::from_le_bytes([id[0], id[1]]),
            u16::from_le_bytes([id[2], id[3]]),
        )
    }
    fn folder(&self) -> &Path {
        Path::new("/")
    }
    fn bars(&self) -> [u64; 6] {
        self.card.bars()
    }
    fn vectors(&self) -> u32 {
        self.card.vectors()
    }

    fn map(&self, bar: usize, first: u64, bytes: usize) -> io::Result<Box<dyn Mapping>> {
        Ok(Box::new(ByBytes(CardBar {
            card: Arc::clone(&self.card),
            is_gone: Arc::clone(&self.is_gone),
            bar,
            first,
            bytes,
        })))
    }

    fn memory(&self, bytes: usize) -> io::Result<Box<dyn DmaMemory>> {
        self.host.memory(bytes)
    }

    fn interrupt(&self, vector: u32) -> io::Result<Box<dyn EventNode>> {
        let file = event();
        self.card.set_vector(vector, Some(file.try_clone()?));
        Ok(Box::new(Event(file)))
    }
}

/// The model of the core with plain card memory behind it. A thread moves it.
pub struct Model {
    pub core: Mutex<Core>,
    pub host: Host,
    pub card: Bytes,
    /// Whether the card has left the bus.
    pub is_gone: AtomicBool,
    /// Whether the engines move.
    pub moves: AtomicBool,
    vectors: Mutex<Vec<Option<File>>>,
    has_ended: AtomicBool,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").finish_non_exhaustive()
    }
}

impl Model {
    pub fn start(shape: Shape, card: Bytes) -> Arc<Model> {
        let mut core = Core::new(shape);
        core.set_bus_master(true);
        let vectors = core.shape().vectors();
        let model = Arc::new(Model {
            core: Mutex::new(core),
            host: Host::new(),
            card,
            is_gone: AtomicBool::new(false),
            moves: AtomicBool::new(true),
            vectors: Mutex::new((0..vectors).map(|_| None).collect()),
            has_ended: AtomicBool::new(false),
        });
        let moved = Arc::clone(&model);
        thread::spawn(move || {
            while !moved.has_ended.load(Ordering::Relaxed) {
                if !moved.moves.load(Ordering::Relaxed) || !moved.tick() {
                    thread::sleep(Duration::from_micros(20));
                }
            }
        });
        model
    }

    fn tick(&self) -> bool {
        self.with(|core| core.step(&self.host, &self.card))
    }

    /// Changes the core, and delivers interrupts.
    pub fn with<T>(&self, change: impl FnOnce(&mut Core) -> T) -> T {
        let mut core = self.core.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut core);
        let vectors = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        for (vector, event) in vectors.iter().enumerate() {
            if let Some(event) = event
                && core.take_messages(1 << vector) != 0
            {
                io::Write::write_all(&mut &*event, &1_u64.to_ne_bytes()).expect("an event");
            }
        }
        result
    }

    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}

/// BAR 0: the core alone, unless `user` says that BAR 0 is another.
#[derive(Debug)]
pub struct ModelFunction(pub Arc<Model>);

struct ModelBar(Arc<Model>, u64, usize);

impl Mapping for ModelBar {
    fn bytes(&self) -> usize {
        self.2
    }
    fn read32(&self, offset: usize) -> u32 {
        if self.0.is_gone.load(Ordering::Relaxed) {
            return u32::MAX;
        }
        self.0.with(|core| core.read(self.1 as u32 + offset as u32))
    }
    fn write32(&self, offset: usize, value: u32) {
        if !self.0.is_gone.load(Ordering::Relaxed) {
            self.0
                .with(|core| core.write(self.1 as u32 + offset as u32, value));
        }
    }
    fn read64(&self, _: usize) -> u64 {
        u64::MAX
    }
    fn write64(&self, _: usize, _: u64) {}
}

impl Function for ModelFunction {
    fn address(&self) -> PciAddress {
        address()
    }
    fn identity(&self) -> (u16, u16) {
        (0x10ee, 0x903f)
    }
    fn folder(&self) -> &Path {
        Path::new("/")
    }
    fn bars(&self) -> [u64; 6] {
        [0x1_0000, 0, 0, 0, 0, 0]
    }
    fn vectors(&self) -> u32 {
        self.0.with(|core| core.shape().vectors())
    }
    fn map(&self, bar: usize, first: u64, bytes: usize) -> io::Result<Box<dyn Mapping>> {
        assert_eq!(bar, 0, "the only one");
        Ok(Box::new(ModelBar(Arc::clone(&self.0), first, bytes)))
    }
    fn memory(&self, bytes: usize) -> io::Result<Box<dyn DmaMemory>> {
        self.0.host.memory(bytes)
    }
    fn interrupt(&self, vector: u32) -> io::Result<Box<dyn EventNode>> {
        let file = event();
        let mut vectors = self
            .0
            .vectors
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        vectors[vector as usize] = Some(file.try_clone()?);
        Ok(Box::new(Event(file)))
    }
}
