//! A driver of the XDMA core in user space, over a [`Function`].
//!
//! A transfer needs no system call, unless it is long: descriptors and data are in memory that the
//! card reaches, and the engine writes the count of completed descriptors to this memory (poll
//! mode). The register map is that of AMD's product guide PG195.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{sleep, yield_now};
use std::time::{Duration, Instant};

use nix::errno::Errno;

use crate::buffer::Buffers;
use crate::fault::{COMPLETED_COUNT, ERRORS, Ended, EngineFault, WRITTEN_ERROR};
use crate::function::{DmaMemory, Function};
use crate::nodes::{Dma, EventNode, Mapping, Nodes, Way};
use crate::{DmaBuffer, Error, Result};

/// Maximum number of channels in each direction.
const CHANNELS: usize = 4;
/// Distance of the registers of two channels.
const CHANNEL: usize = 0x100;
/// First registers of the channels from card to host; those from host to card begin at 0.
const C2H: usize = 0x1000;
/// From the registers of a channel to those of its descriptor fetch.
const SGDMA: usize = 0x4000;
/// The IRQ block, and the configuration block.
const IRQ: usize = 0x2000;
const CONFIG: usize = 0x3000;
/// Upper half of identifiers, without the target in the low bits.
const IDENTIFIER: u32 = 0x1fc0;
/// Bit of a channel's identifier: a stream, which this driver does not support.
const STREAM: u32 = 1 << 15;

/// Registers of a channel.
mod channel {
    pub(super) const CONTROL: usize = 0x04;
    pub(super) const CONTROL_W1C: usize = 0x0c;
    pub(super) const STATUS: usize = 0x40;
    pub(super) const ALIGNMENTS: usize = 0x4c;
    pub(super) const POLL_LO: usize = 0x88;
    pub(super) const POLL_HI: usize = 0x8c;
    pub(super) const FIRST_LO: usize = super::SGDMA + 0x80;
    pub(super) const FIRST_HI: usize = super::SGDMA + 0x84;
    pub(super) const FIRST_ADJACENT: usize = super::SGDMA + 0x88;
}

/// Registers of the IRQ block.
mod irq {
    pub(super) const USER_ENABLE_W1S: usize = super::IRQ + 0x08;
    pub(super) const USER_ENABLE_W1C: usize = super::IRQ + 0x0c;
    pub(super) const CHANNEL_ENABLE_W1C: usize = super::IRQ + 0x18;
    pub(super) const USER_VECTORS: usize = super::IRQ + 0x80;
}

const RUN: u32 = 1;
const BUSY: u32 = 1;
const POLL_WRITE_BACK: u32 = 1 << 26;
/// Start of a run: statuses are logged and end the run if they are errors.
const START: u32 = RUN | POLL_WRITE_BACK | 0b11 << 1 | ERRORS;

/// Magic number of a descriptor.
const MAGIC: u32 = 0xad4b << 16;
/// Bits of a descriptor: the last one; count it; end of a packet.
const STOP: u32 = 1;
const COMPLETED: u32 = 1 << 1;
const END_OF_PACKET: u32 = 1 << 4;
/// Bytes of a descriptor.
const DESCRIPTOR: usize = 32;

/// Bytes that one descriptor moves. The time limit begins anew with each descriptor.
const PIECE: usize = 64 << 10;
/// Bytes of a channel's copy buffer.
const BUFFER: usize = 1 << 20;
/// Bytes of the longest chain of descriptors.
const CHAIN: usize = COUNT / DESCRIPTOR * PIECE;
/// Offset of the buffer in the channel's memory. The descriptors are before it, from 0.
const DATA: usize = 4096;
/// Offset of the word that the engine writes back in the channel's memory.
const COUNT: usize = 2048;
/// Time for which a transfer is polled without a pause.
const SPIN: Duration = Duration::from_micros(100);
/// Pause between two polls of a long transfer.
const PAUSE: Duration = Duration::from_micros(50);
/// Interval of the reads of an engine's status during a transfer.
const LOOK: Duration = Duration::from_millis(1);
/// Time for an engine to end its descriptor after a stop.
const STOPPING: Duration = Duration::from_millis(100);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The core of a card, driven from user space. Its nodes have the names of the vendor's driver.
pub(crate) struct Driven {
    function: Arc<dyn Function>,
    core: Arc<dyn Mapping>,
    core_bar: usize,
    h2c: Vec<Arc<Mutex<Channel>>>,
    c2h: Vec<Arc<Mutex<Channel>>>,
    events: u32,
    buffers: Arc<Buffers>,
}

impl fmt::Debug for Driven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driven")
            .field("function", &self.function)
            .finish_non_exhaustive()
    }
}

impl Driven {
    /// Takes the core over: stops its engines, disables its interrupts, and assigns vectors. A
    /// transfer fails if an engine completes no descriptor within `limit`.
    pub(crate) fn new(function: Arc<dyn Function>, limit: Duration) -> io::Result<Driven> {
        let (core_bar, core) = find_core(&*function)?;
        let channels = |first: usize, way: Way| -> io::Result<Vec<_>> {
            let target = IDENTIFIER | (way == Way::FromCard) as u32;
            (0..CHANNELS)
                .map(|index| first + index * CHANNEL)
                .take_while(|&at| {
                    let identifier = core.read32(at);
                    identifier >> 16 == target && identifier & STREAM == 0
                })
                .map(|at| {
                    let channel = Channel::new(&*function, Arc::clone(&core), at, way, limit)?;
                    Ok(Arc::new(Mutex::new(channel)))
                })
                .collect()
        };
        let h2c = channels(0, Way::ToCard)?;
        let c2h = channels(C2H, Way::FromCard)?;
        core.write32(irq::USER_ENABLE_W1C, u32::MAX);
        core.write32(irq::CHANNEL_ENABLE_W1C, u32::MAX);
        // The engines are polled. The first vectors are left to them, as in the vendor's driver.
        let first = (h2c.len() + c2h.len()) as u32;
        let events = function.vectors().saturating_sub(first).min(16);
        for register in 0..events.div_ceil(4) {
            let vector = |lane: u32| ((first + 4 * register + lane) & 0x1f) << (8 * lane);
            let value = (0..4).map(vector).fold(0, |value, vector| value | vector);
            core.write32(irq::USER_VECTORS + 4 * register as usize, value);
        }
        Ok(Driven {
            function,
            core,
            core_bar,
            h2c,
            c2h,
            events,
            buffers: Arc::default(),
        })
    }

    /// Allocates memory for the card, and starts a channel to the host that takes its descriptors
    /// from the design.
    pub(crate) fn pin(&self, channel: usize, bytes: usize) -> io::Result<Box<dyn DmaMemory>> {
        let engine = self.c2h.get(channel).ok_or(Errno::ENOENT)?;
        let memory = self.function.memory(bytes)?;
        lock(engine).write(channel::CONTROL, RUN);
        Ok(memory)
    }

    /// Allocates memory for the program's data. `None` if the program reaches such memory by calls only, or if the memory
    /// can't be that long.
    pub(crate) fn buffer(&self, bytes: usize) -> io::Result<Option<DmaBuffer>> {
        if bytes > self.function.longest_memory() {
            return Ok(None);
        }
        let memory = self.function.memory(bytes.max(1))?;
        Ok(self.buffers.add(memory.into(), bytes))
    }

    /// Fails if the system asks for the function.
    pub(crate) fn check(&self) -> Result<()> {
        if self.function.is_asked_back() {
            let address = self.function.address();
            return Err(Error::AskedBack { address });
        }
        Ok(())
    }

    /// Names of the nodes.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = vec!["control".to_owned()];
        names.extend(self.bar("user").map(|_| "user".into()));
        names.extend(self.bar("bypass").map(|_| "bypass".into()));
        names.extend((0..self.h2c.len()).map(|index| format!("h2c_{index}")));
        names.extend((0..self.c2h.len()).map(|index| format!("c2h_{index}")));
        names.extend((0..self.events).map(|index| format!("events_{index}")));
        names
    }

    /// The BAR of a node. The core's order is user, control, bypass.
    fn bar(&self, name: &str) -> Option<usize> {
        let bars = self.function.bars();
        let mut present = (0..bars.len()).filter(|&bar| bars[bar] != 0);
        match name {
            "user" => present.next().filter(|&bar| bar < self.core_bar),
            "control" => Some(self.core_bar),
            "bypass" => present.find(|&bar| bar > self.core_bar),
            _ => None,
        }
    }
}

/// The BAR with the identifiers of the IRQ block and of the configuration block.
fn find_core(function: &dyn Function) -> io::Result<(usize, Arc<dyn Mapping>)> {
    let bars = function.bars();
    for (bar, &bytes) in bars.iter().enumerate() {
        // The registers of all targets below the MSI-X table.
        if bytes < 0x8000 {
            continue;
        }
        let core = function.map(bar, 0, 0x8000)?;
        let is_there = |at: usize, target: u32| core.read32(at) >> 16 == IDENTIFIER | target;
        if is_there(IRQ, 2) && is_there(CONFIG, 3) {
            return Ok((bar, core.into()));
        }
    }
    Err(io::Error::other(
        "no BAR has the identifiers of an XDMA core: another design, or the link is dead",
    ))
}

/// Name of a node in its path.
fn name_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// The number after a prefix.
fn number(name: &str, prefix: &str) -> Option<usize> {
    name.strip_prefix(prefix)?.parse().ok()
}

impl Nodes for Driven {
    fn map(&self, path: &Path, first: u64, bytes: usize) -> io::Result<Box<dyn Mapping>> {
        let bar = name_of(path).and_then(|name| self.bar(name));
        self.function.map(bar.ok_or(Errno::ENOENT)?, first, bytes)
    }

    fn dma(&self, path: &Path, way: Way) -> io::Result<Box<dyn Dma>> {
        let (channels, prefix) = match way {
            Way::ToCard => (&self.h2c, "h2c_"),
            Way::FromCard => (&self.c2h, "c2h_"),
        };
        let index = name_of(path).and_then(|name| number(name, prefix));
        let channel = index.and_then(|index| channels.get(index));
        Ok(Box::new(Port {
            function: Arc::clone(&self.function),
            channel: Arc::clone(channel.ok_or(Errno::ENOENT)?),
            buffers: Arc::clone(&self.buffers),
        }))
    }

    fn event(&self, path: &Path) -> io::Result<Box<dyn EventNode>> {
        let index = name_of(path).and_then(|name| number(name, "events_"));
        let index = index.filter(|&index| index < self.events as usize);
        let index = index.ok_or(Errno::ENOENT)?;
        let first = self.h2c.len() + self.c2h.len();
        let event = self.function.interrupt((first + index) as u32)?;
        self.core.write32(irq::USER_ENABLE_W1S, 1 << index);
        Ok(event)
    }
}

/// A channel for one user of it.
struct Port {
    function: Arc<dyn Function>,
    channel: Arc<Mutex<Channel>>,
    buffers: Arc<Buffers>,
}

impl Port {
    /// Takes the channel for a transfer.
    fn channel(&self, way: Way, bytes: usize, at: u64) -> io::Result<MutexGuard<'_, Channel>> {
        if self.function.is_asked_back() {
            return Err(io::Error::other(Ended::AskedBack));
        }
        let channel = lock(&self.channel);
        channel.check(way, bytes, at)?;
        Ok(channel)
    }

    /// Moves data that is in memory which the card reaches. Returns false, and moves nothing, if the
    /// data is in other memory, or at another offset than the core's alignment allows.
    fn reaches(&self, channel: &mut Channel, buffer: &[u8], at: u64) -> io::Result<bool> {
        let Some((reached, host)) = self.buffers.find(buffer) else {
            return Ok(false);
        };
        if host % channel.alignment != at % channel.alignment {
            return Ok(false);
        }
        for (at, part) in pieces(at, buffer.len(), CHAIN) {
            let moved = channel.transfer(at, host + part.start as u64, part.len());
            if channel.memory.is_none() {
                reached.lose();
            }
            moved?;
        }
        Ok(true)
    }
}

impl Dma for Port {
    fn alignment(&self) -> io::Result<u64> {
        Ok(lock(&self.channel).alignment)
    }

    fn pread(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let mut channel = self.channel(Way::FromCard, buffer.len(), at)?;
        if self.reaches(&mut channel, buffer, at)? {
            // To the compiler, this may write the buffer, as the card has done.
            std::hint::black_box(buffer.as_mut_ptr());
        } else {
            for (at, part) in pieces(at, buffer.len(), BUFFER) {
                let host = channel.memory()?.address() + facing(at) as u64;
                channel.transfer(at, host, part.len())?;
                channel.memory()?.read(facing(at), &mut buffer[part]);
            }
        }
        Ok(buffer.len())
    }

    fn pwrite(&self, buffer: &[u8], at: u64) -> io::Result<usize> {
        let mut channel = self.channel(Way::ToCard, buffer.len(), at)?;
        if !self.reaches(&mut channel, buffer, at)? {
            for (at, part) in pieces(at, buffer.len(), BUFFER) {
                let data = &buffer[part];
                let memory = channel.memory()?;
                memory.write(facing(at), data);
                let host = memory.address() + facing(at) as u64;
                channel.transfer(at, host, data.len())?;
            }
        }
        Ok(buffer.len())
    }

    fn is_interruptible(&self) -> bool {
        false
    }

    fn takes_any_memory(&self) -> bool {
        true
    }
}

/// Parts of a transfer of at most `most` bytes.
fn pieces(at: u64, bytes: usize, most: usize) -> impl Iterator<Item = (u64, Range<usize>)> {
    (0..bytes).step_by(most).map(move |begin| {
        let end = bytes.min(begin + most);
        (at + begin as u64, begin..end)
    })
}

/// Offset in a channel's memory of data that faces the card address `at`: the same offset in a page.
fn facing(at: u64) -> usize {
    DATA + (at % DATA as u64) as usize
}

struct Channel {
    core: Arc<dyn Mapping>,
    /// Offset of the channel's registers.
    at: usize,
    way: Way,
    alignment: u64,
    limit: Duration,
    /// Descriptors, count and buffer; `None` after a transfer whose engine did not stop.
    memory: Option<Box<dyn DmaMemory>>,
}

impl Channel {
    fn new(
        function: &dyn Function,
        core: Arc<dyn Mapping>,
        at: usize,
        way: Way,
        limit: Duration,
    ) -> io::Result<Channel> {
        let memory = function.memory(DATA + BUFFER + DATA)?;
        let alignment = u64::from(core.read32(at + channel::ALIGNMENTS) >> 16 & 0xff);
        let channel = Channel {
            core,
            at,
            way,
            alignment: alignment.max(1),
            limit,
            memory: Some(memory),
        };
        // A former owner of the card may have left the engine running, and errors in its status.
        let status = channel.stop();
        if status == u32::MAX {
            return Err(channel.dead());
        }
        if status & BUSY != 0 {
            return Err(Errno::EBUSY.into());
        }
        channel.write(channel::STATUS, ERRORS);
        let count = channel.memory()?.address() + COUNT as u64;
        channel.write(channel::POLL_LO, count as u32);
        channel.write(channel::POLL_HI, (count >> 32) as u32);
        Ok(channel)
    }

    fn read(&self, register: usize) -> u32 {
        self.core.read32(self.at + register)
    }

    fn write(&self, register: usize, value: u32) {
        self.core.write32(self.at + register, value);
    }

    /// The status register reads all ones, so no device answers.
    fn dead(&self) -> io::Error {
        io::Error::other(Ended::Dead((self.at + channel::STATUS) as u64))
    }

    /// The memory of the channel.
    fn memory(&self) -> io::Result<&dyn DmaMemory> {
        self.memory.as_deref().ok_or_else(|| {
            // The users of a channel that fails for a dead link get the same error.
            if self.read(channel::STATUS) == u32::MAX {
                return self.dead();
            }
            io::Error::other(Ended::Lost)
        })
    }

    fn check(&self, way: Way, bytes: usize, at: u64) -> io::Result<()> {
        if way != self.way || bytes == 0 || at.checked_add(bytes as u64).is_none() {
            return Err(Errno::EINVAL.into());
        }
        Ok(())
    }

    /// Moves at most [`CHAIN`] bytes between the card and the address `host` of host memory, all of
    /// them or an error.
    fn transfer(&mut self, at: u64, host: u64, bytes: usize) -> io::Result<()> {
        let memory = self.memory()?;
        let count = bytes.div_ceil(PIECE);
        for index in 0..count {
            let from = index * PIECE;
            let length = PIECE.min(bytes - from);
            let (host, card) = (host + from as u64, at + from as u64);
            let (source, destination) = match self.way {
                Way::ToCard => (host, card),
                Way::FromCard => (card, host),
            };
            let left = (count - 1 - index) as u32;
            let last = if left == 0 { STOP | END_OF_PACKET } else { 0 };
            // Number of descriptors that follow the next one.
            let adjacent = left.saturating_sub(1);
            let next = match left {
                0 => 0,
                _ => memory.address() + ((index + 1) * DESCRIPTOR) as u64,
            };
            let words = [
                MAGIC | adjacent << 8 | COMPLETED | last,
                length as u32,
                source as u32,
                (source >> 32) as u32,
                destination as u32,
                (destination >> 32) as u32,
                next as u32,
                (next >> 32) as u32,
            ];
            for (word, value) in words.into_iter().enumerate() {
                memory.write(index * DESCRIPTOR + 4 * word, &value.to_le_bytes());
            }
        }
        memory.write(COUNT, &[0; 4]);
        let first = memory.address();
        self.write(channel::FIRST_LO, first as u32);
        self.write(channel::FIRST_HI, (first >> 32) as u32);
        self.write(channel::FIRST_ADJACENT, count as u32 - 1);
        // The card sees the descriptors and the data before the start.
        fence(Ordering::SeqCst);
        self.write(channel::CONTROL, START);
        let is_over = self.wait(count as u32)?;
        // The engine may write its count before it is idle, and before the card's AXI bus has
        // answered the last write. The next run needs an idle engine.
        let status = self.stop();
        // A read on the bus returns after the writes before it, also that of the count.
        let written_back = self.memory()?.load32(COUNT);
        let is_dead = status == u32::MAX;
        let is_idle = !is_dead && status & BUSY == 0;
        if !is_idle {
            // The engine may still use the memory, which is therefore never freed.
            std::mem::forget(self.memory.take());
        }
        if is_dead {
            return Err(self.dead());
        }
        let has_error = status & ERRORS != 0 || written_back & WRITTEN_ERROR != 0;
        let is_complete = written_back & COMPLETED_COUNT >= count as u32;
        if has_error || is_over && is_idle && !is_complete {
            // The start of the next run does not clear all errors.
            self.write(channel::STATUS, status & ERRORS);
            return Err(io::Error::other(Ended::Fault(EngineFault {
                way: self.way,
                status,
                written_back,
                descriptors: count as u32,
                is_idle,
            })));
        }
        if !is_over || !is_idle {
            return Err(Errno::ETIMEDOUT.into());
        }
        fence(Ordering::SeqCst);
        Ok(())
    }

    /// Waits until the engine has completed `count` descriptors, or has ended otherwise. Returns
    /// false if the engine has completed no descriptor for the time limit.
    fn wait(&self, count: u32) -> io::Result<bool> {
        let memory = self.memory()?;
        let began = Instant::now();
        let (mut completed, mut progress, mut looked) = (0, began, began);
        loop {
            let word = memory.load32(COUNT);
            let found = word & COMPLETED_COUNT;
            if found >= count || word & WRITTEN_ERROR != 0 {
                return Ok(true);
            }
            let now = Instant::now();
            if found != completed {
                (completed, progress) = (found, now);
            }
            if now - looked >= LOOK {
                looked = now;
                // The engine may write no word back when it stops. All ones: no device answers.
                let status = self.read(channel::STATUS);
                if status & ERRORS != 0 || status & BUSY == 0 {
                    return Ok(true);
                }
            }
            if now - progress >= self.limit {
                return Ok(false);
            }
            if now - began < SPIN {
                std::hint::spin_loop();
            } else {
                sleep(PAUSE);
            }
        }
    }

    /// Stops the engine. Returns its last status: with [`BUSY`] if the engine does not stop, and all
    /// ones if no device answers.
    fn stop(&self) -> u32 {
        self.write(channel::CONTROL_W1C, RUN);
        let began = Instant::now();
        loop {
            let status = self.read(channel::STATUS);
            let is_over = began.elapsed() > STOPPING.max(self.limit / 10);
            if status & BUSY == 0 || status == u32::MAX || is_over {
                return status;
            }
            yield_now();
        }
    }
}
