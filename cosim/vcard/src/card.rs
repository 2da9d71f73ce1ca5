//! A virtual card: the board, the core and configuration space, with the clock that moves them.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use alcor_abi::board::{CONTROL, control};
use alcor_abi::rank::{HOST_RING, IRQ_ENABLE, host_ring};
use alcor_abi::{COPY_CHANNEL, LINE_PAGES, memory_pages};
use alcor_cosim::{CosimError, FreeBoard, HostCopy};

use crate::guest::Guest;
use crate::pci::{Bar, Space};
use crate::xdma::{self, AxiResponse, CardMemory, Core, Shape};

/// The BAR of the design's registers.
pub const USER_BAR: usize = 0;
/// The BAR of the XDMA core.
pub const CORE_BAR: usize = 1;
/// The BAR of node memory, and of the design's registers behind it.
pub const BYPASS_BAR: usize = 2;

/// Bytes of the BAR of the design's registers in the bitstreams of Alcor.
const USER_BYTES: u64 = 256 << 10;
/// Channels in each direction in the bitstreams of Alcor.
const CHANNELS: u32 = 2;
/// Time for which simulated time passes after an access of a guest that waits for copies.
const AWAKE: Duration = Duration::from_millis(50);
/// No burst crosses a multiple of this number of bytes.
const PAGE: u64 = 4096;
/// Cycles after which a level that stays makes another message (`AGAIN` of `user_irq.sv`).
const AGAIN: u64 = 65536;
/// Longest time without a look at an idle card. Each write ends this time.
const PAUSE: Duration = Duration::from_millis(20);

/// A virtual card with an XDMA core and a simulated board.
///
/// A thread moves the card: it runs the engines, lets simulated time pass, and delivers interrupts.
/// The thread ends with the value.
#[derive(Debug)]
pub struct VirtualCard {
    shared: Arc<Shared>,
    clock: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    board: FreeBoard,
    bars: [Bar; 6],
    state: Mutex<State>,
    guest: RwLock<Guest>,
    /// Notified at each write, which ends the pause of an idle card.
    accessed: Condvar,
    has_ended: AtomicBool,
    /// Whether a failure of the model has been logged.
    has_failed: AtomicBool,
}

#[derive(Debug)]
struct State {
    core: Core,
    space: Space,
    /// Event file of each MSI-X vector, as the virtual machine set it.
    vectors: Vec<Option<File>>,
    user: UserInterrupts,
    /// Ranks whose interrupt is enabled, a bit for each: a guest waits for them.
    armed: u32,
    /// Whether a write may have given the card work since its last round.
    has_news: bool,
    /// Ranks whose completions are copied into host memory, a bit for each.
    copying: u32,
    /// The last write to the board.
    written: Option<Instant>,
    /// Copies that the core has not taken.
    copies: VecDeque<HostCopy>,
}

/// Requests of the ranks' interrupts to the core, as `hw/board/u280/rtl/user_irq.sv` makes them.
#[derive(Debug, Default)]
struct UserInterrupts {
    requests: u32,
    /// Cycle of the last rising edge of each request.
    risen: [u64; 32],
}

impl UserInterrupts {
    /// Returns the requests that fall before they rise again, given the levels, the levels that
    /// have risen since the last call, and the cycle.
    fn update(&mut self, levels: u32, risen: u32, cycle: u64) -> u32 {
        let stays = levels & self.requests;
        let mut falls = stays & risen;
        for (bit, since) in self.risen.iter_mut().enumerate() {
            let bit = 1 << bit;
            if stays & bit != 0 && cycle.saturating_sub(*since) >= AGAIN {
                falls |= bit;
            }
            if (levels & !self.requests | falls) & bit != 0 {
                *since = cycle;
            }
        }
        self.requests = levels;
        falls
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl VirtualCard {
    /// A card in the state after power-up, over a simulated board.
    #[must_use]
    pub fn new(board: FreeBoard) -> VirtualCard {
        let ranks = board.shape().ranks;
        let mut bars = [Bar::default(); 6];
        let registers = u64::from(board.register_bytes());
        bars[USER_BAR].bytes = registers.next_power_of_two().max(USER_BYTES);
        bars[CORE_BAR].bytes = u64::from(xdma::BAR_BYTES);
        bars[BYPASS_BAR] = Bar {
            bytes: 2 * u64::from(memory_pages(ranks, board.shape().node_bytes)),
            is_wide: true,
        };
        let shape = Shape {
            h2c: CHANNELS,
            c2h: CHANNELS,
            user_interrupts: ranks,
            bypassed: Some(COPY_CHANNEL),
            ..Shape::default()
        };
        let core = Core::new(shape);
        let vectors = core.shape().vectors();
        let shared = Arc::new(Shared {
            board,
            bars,
            state: Mutex::new(State {
                space: Space::new(&bars, vectors),
                vectors: (0..vectors).map(|_| None).collect(),
                core,
                user: UserInterrupts::default(),
                armed: 0,
                has_news: false,
                copying: 0,
                written: None,
                copies: VecDeque::new(),
            }),
            guest: RwLock::default(),
            accessed: Condvar::new(),
            has_ended: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
        });
        let moved = Arc::clone(&shared);
        let clock = thread::Builder::new()
            .name("virtual card".into())
            .spawn(move || moved.run())
            .map_err(|error| log::error!("no thread for the card, which stands still: {error}"))
            .ok();
        VirtualCard { shared, clock }
    }

    /// Length of each BAR in bytes; 0 for a BAR that is absent.
    #[must_use]
    pub fn bars(&self) -> [u64; 6] {
        self.shared.bars.map(|bar| bar.bytes)
    }

    /// Number of MSI-X vectors.
    #[must_use]
    pub fn vectors(&self) -> u32 {
        lock(&self.shared.state).vectors.len() as u32
    }

    /// Reads from a BAR. Bytes that do not exist read ones.
    pub fn read_bar(&self, bar: usize, offset: u64, data: &mut [u8]) {
        let shared = &self.shared;
        data.fill(0xff);
        match bar {
            USER_BAR => {
                read_words(offset, data, |at| {
                    let is_there = shared.board.has_register(at);
                    is_there.then(|| shared.answer(shared.board.read32(at as u32)))?
                });
            }
            CORE_BAR => {
                let mut state = lock(&shared.state);
                read_words(offset, data, |at| {
                    let is_there = at < u64::from(xdma::BAR_BYTES);
                    is_there.then(|| state.core.read(at as u32))
                });
            }
            BYPASS_BAR if offset >= shared.pages() => {
                self.read_bar(USER_BAR, offset - shared.pages(), data);
            }
            BYPASS_BAR => {
                for (at, part) in bursts(offset, data.len()) {
                    let part = &mut data[part];
                    if CardMemory::read(&**shared, at, part) != AxiResponse::Okay {
                        part.fill(0xff);
                    }
                }
            }
            _ => {}
        }
    }

    /// Writes to a BAR. The design and the core have registers of 32 bits: narrower writes to them
    /// have no effect, and neither have writes to bytes that do not exist.
    pub fn write_bar(&self, bar: usize, offset: u64, data: &[u8]) {
        let shared = &self.shared;
        match bar {
            USER_BAR => {
                let is_there = |&(at, _): &(u64, u32)| shared.board.has_register(at);
                for (at, value) in words(offset, data).filter(is_there) {
                    shared.answer(shared.board.write32(at as u32, value));
                    shared.follow_page(at, value);
                }
            }
            CORE_BAR => {
                let mut state = lock(&shared.state);
                let end = u64::from(xdma::BAR_BYTES);
                for (at, value) in words(offset, data).filter(|&(at, _)| at < end) {
                    state.core.write(at as u32, value);
                }
                state.has_news = true;
                state.deliver();
            }
            BYPASS_BAR if offset >= shared.pages() + u64::from(LINE_PAGES) => {
                let first = offset - shared.pages() - u64::from(LINE_PAGES);
                for (at, value) in words(first, data) {
                    let writes = shared.answer(shared.board.write_line(at, value));
                    for (address, value) in writes.into_iter().flatten() {
                        shared.follow_page(address.into(), value);
                    }
                }
            }
            BYPASS_BAR if offset >= shared.pages() => {
                self.write_bar(USER_BAR, offset - shared.pages(), data);
            }
            BYPASS_BAR => {
                for (at, part) in bursts(offset, data.len()) {
                    CardMemory::write(&**shared, at, &data[part]);
                }
            }
            _ => {}
        }
        shared.touch();
    }

    /// Reads from configuration space; ones beyond its end.
    pub fn read_config(&self, offset: u64, data: &mut [u8]) {
        lock(&self.shared.state).space.read(offset, data);
    }

    /// Writes to configuration space. The function-level reset bit resets the core.
    pub fn write_config(&self, offset: u64, data: &[u8]) {
        let mut state = lock(&self.shared.state);
        if state.space.write(offset, data).is_reset {
            state.reset(&self.shared.bars);
        }
        state.follow_configuration();
        state.has_news = true;
        drop(state);
        self.shared.touch();
    }

    /// Makes the bytes of `file` from `offset` the host memory of a range (address and length).
    /// Without a file, DMA accesses to the range fail.
    ///
    /// # Errors
    /// The system's error; a range that overlaps another is invalid.
    pub fn map(
        &self,
        range: (u64, u64),
        file: Option<File>,
        offset: u64,
        rights: (bool, bool),
    ) -> io::Result<()> {
        self.guest_mut(|guest| guest.map(range, file, offset, rights))
    }

    /// Takes host memory away. No engine uses the range when the call returns.
    pub fn unmap(&self, address: u64, bytes: u64) {
        self.guest_mut(|guest| guest.unmap(address, bytes));
    }

    fn guest_mut<T>(&self, change: impl FnOnce(&mut Guest) -> T) -> T {
        let guest = self.shared.guest.write();
        change(&mut guest.unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets the event file of an MSI-X vector, which gets an 8-byte 1 at each message. Messages
    /// that came before are delivered now. Vectors that do not exist are ignored.
    pub fn set_vector(&self, vector: u32, event: Option<File>) {
        let mut state = lock(&self.shared.state);
        if let Some(place) = state.vectors.get_mut(vector as usize) {
            *place = event;
        }
        state.deliver();
    }

    /// Resets the function: the core and configuration space. The board keeps its state, as a
    /// design does whose reset is that of the slot.
    pub fn reset(&self) {
        lock(&self.shared.state).reset(&self.shared.bars);
    }

    /// Ends the use by a virtual machine: resets the function, and forgets memory and vectors.
    pub fn disconnect(&self) {
        let mut state = lock(&self.shared.state);
        state.reset(&self.shared.bars);
        for vector in &mut state.vectors {
            *vector = None;
        }
        drop(state);
        self.guest_mut(Guest::clear);
    }
}

impl Drop for VirtualCard {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::Relaxed);
        self.shared.accessed.notify_all();
        if let Some(clock) = self.clock.take()
            && clock.join().is_err()
        {
            log::error!("the thread of the card has panicked");
        }
    }
}

impl State {
    fn reset(&mut self, bars: &[Bar; 6]) {
        self.core.reset();
        self.copies.clear();
        self.space = Space::new(bars, self.vectors.len() as u32);
        self.follow_configuration();
    }

    /// Whether a guest may poll its memory for completions.
    fn awaits_copies(&self) -> bool {
        let is_awake = self
            .written
            .is_some_and(|written| written.elapsed() < AWAKE);
        self.copying != 0 && is_awake
    }

    fn follow_configuration(&mut self) {
        self.core.set_bus_master(self.space.is_bus_master());
        let is_msix_enabled = self.space.is_msix_enabled();
        self.core.set_msix_enabled(is_msix_enabled);
    }

    /// Delivers the messages of the vectors that have an event file.
    fn deliver(&mut self) {
        let routed = self.vectors.iter().enumerate();
        let routed = routed.fold(0, |bits, (vector, event)| {
            bits | u32::from(event.is_some()) << vector
        });
        let due = self.core.take_messages(routed);
        for (vector, event) in self.vectors.iter_mut().enumerate() {
            if due >> vector & 1 != 0
                && let Some(event) = event
                && let Err(error) = event.write_all(&1_u64.to_ne_bytes())
            {
                log::warn!("interrupt {vector} is lost: {error}");
            }
        }
    }
}

impl Shared {
    /// Passes on a result. A failed model behaves as a card that does not answer; the first failure
    /// is logged.
    fn answer<T>(&self, result: Result<T, CosimError>) -> Option<T> {
        result
            .map_err(|error| {
                if !self.has_failed.swap(true, Ordering::Relaxed) {
                    log::error!("the board has failed and answers no more: {error}");
                }
            })
            .ok()
    }

    /// Ends the pause of an idle card.
    fn touch(&self) {
        self.accessed.notify_all();
    }

    /// Address of the design's registers in the BAR of node memory.
    fn pages(&self) -> u64 {
        let shape = self.board.shape();
        memory_pages(shape.ranks, shape.node_bytes).into()
    }

    /// Notes a reset of the board, and writes to a rank's interrupt enable register and to its host ring. While
    /// completions are copied, a guest may wait for them without an access.
    fn follow_page(&self, at: u64, value: u32) {
        let (page, register) = (at / PAGE, (at % PAGE) as u32);
        if (page, register) == (0, CONTROL) && control::RESET.get(value) != 0 {
            let mut state = lock(&self.state);
            (state.armed, state.copying) = (0, 0);
        }
        let Some(rank) = page.checked_sub(1).filter(|&rank| rank < 32) else {
            return;
        };
        let mut state = lock(&self.state);
        let bit = 1 << rank;
        let set = |bits: u32, is_set: bool| if is_set { bits | bit } else { bits & !bit };
        match register {
            IRQ_ENABLE => state.armed = set(state.armed, value != 0),
            HOST_RING => {
                let is_on = host_ring::ENABLE.get(value) != 0;
                if is_on && state.copying == 0 {
                    // The reset of the board has cancelled copies of the run before.
                    drop(self.answer(self.board.take_copies()));
                    state.copies.clear();
                }
                state.copying = set(state.copying, is_on);
            }
            _ => {}
        }
        state.written = Some(Instant::now());
        state.has_news = true;
    }

    /// Gives copies of completions to the core.
    fn copy(&self, state: &mut State) {
        if state.copying == 0 {
            return;
        }
        // While the core takes no copies, the board joins them into longer ones.
        if state.copies.is_empty() {
            let copies = self.answer(self.board.take_copies());
            state.copies.extend(copies.into_iter().flatten());
        }
        while let Some(copy) = state.copies.front() {
            let source = u64::from(copy.source);
            if !state.core.copy(source, copy.destination, copy.bytes) {
                break;
            }
            state.copies.pop_front();
        }
    }

    /// Moves the card until it ends.
    fn run(&self) {
        while !self.has_ended.load(Ordering::Relaxed) {
            if self.tick().is_break() {
                let state = lock(&self.state);
                if !state.has_news {
                    let waited = self.accessed.wait_timeout(state, PAUSE);
                    drop(waited.unwrap_or_else(PoisonError::into_inner));
                }
            }
        }
    }

    /// One round: work of the engines, or else a short simulated time if a guest waits for an
    /// interrupt; then interrupts. Breaks if the card is idle.
    fn tick(&self) -> ControlFlow<()> {
        let (worked, is_awaited) = {
            let guest = self.guest.read().unwrap_or_else(PoisonError::into_inner);
            let mut state = lock(&self.state);
            state.has_news = false;
            self.copy(&mut state);
            let worked = state.core.step(&*guest, self);
            let is_armed = state.armed & state.core.enabled_user_interrupts() != 0;
            (worked, is_armed || state.awaits_copies())
        };
        let risen = if worked || !is_awaited {
            self.board.take_risen()
        } else {
            self.answer(self.board.pass()).unwrap_or(0)
        };
        let (levels, cycle) = self.board.interrupts();
        let mut state = lock(&self.state);
        let falls = state.user.update(levels, risen, cycle);
        if falls != 0 {
            state.core.set_user_requests(levels & !falls);
        }
        state.core.set_user_requests(levels);
        state.deliver();
        let has_failed = self.has_failed.load(Ordering::Relaxed);
        if has_failed || !(worked || is_awaited) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

impl CardMemory for Shared {
    fn read(&self, at: u64, data: &mut [u8]) -> AxiResponse {
        response(self.answer(self.board.load(at, data)))
    }

    fn write(&self, at: u64, data: &[u8]) -> AxiResponse {
        response(self.answer(self.board.store(at, data)))
    }
}

fn response(exists: Option<bool>) -> AxiResponse {
    match exists {
        Some(true) => AxiResponse::Okay,
        Some(false) => AxiResponse::DecodeError,
        None => AxiResponse::SlaveError,
    }
}

/// Fills `data` from the words that contain it. Bytes of words that do not exist stay.
fn read_words(offset: u64, data: &mut [u8], mut read: impl FnMut(u64) -> Option<u32>) {
    let mut last = None;
    for (index, byte) in data.iter_mut().enumerate() {
        let Some(at) = offset.checked_add(index as u64) else {
            return;
        };
        let word = at / 4 * 4;
        let value = match last {
            Some((place, value)) if place == word => value,
            _ => read(word),
        };
        last = Some((word, value));
        if let Some(value) = value {
            *byte = value.to_le_bytes()[(at % 4) as usize];
        }
    }
}

/// The whole words of an access.
fn words(offset: u64, data: &[u8]) -> impl Iterator<Item = (u64, u32)> {
    let skip = (offset.next_multiple_of(4) - offset) as usize;
    let (whole, _) = data.get(skip..).unwrap_or_default().as_chunks();
    whole.iter().enumerate().filter_map(move |(index, word)| {
        let at = offset.checked_add((skip + 4 * index) as u64)?;
        Some((at, u32::from_le_bytes(*word)))
    })
}

/// Parts of an access that are bursts.
fn bursts(offset: u64, length: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset.checked_add(done as u64)?;
        let room = (PAGE - at % PAGE) as usize;
        let end = length.min(done + room);
        let part = done..end;
        done = end;
        (!part.is_empty()).then_some((at, part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_stays_makes_a_message_again() {
        let mut user = UserInterrupts::default();
        assert_eq!(user.update(0b01, 0b01, 100), 0, "rises");
        assert_eq!(user.requests, 0b01);
        assert_eq!(user.update(0b01, 0, 100 + AGAIN - 1), 0);
        assert_eq!(user.update(0b01, 0, 100 + AGAIN), 0b01);
        assert_eq!(user.update(0b01, 0, 101 + AGAIN), 0);
        // Between two looks, rank 0's level fell and rose, and rank 1's rose.
        assert_eq!(user.update(0b11, 0b11, 102 + AGAIN), 0b01);
        assert_eq!(user.update(0b00, 0, 103 + AGAIN), 0);
        assert_eq!(user.requests, 0);
    }

    #[test]
    fn accesses_consist_of_words() {
        let found: Vec<_> = words(6, &[1, 2, 3, 0, 0, 0, 4, 0, 0, 0, 5]).collect();
        assert_eq!(found, [(8, 3), (12, 4)]);
        assert_eq!(words(5, &[1, 2]).count(), 0);
        let mut data = [0xff; 6];
        let mut asked = Vec::new();
        read_words(2, &mut data, |at| {
            asked.push(at);
            (at < 4).then_some(0x0403_0201)
        });
        assert_eq!((data, asked), ([3, 4, 0xff, 0xff, 0xff, 0xff], vec![0, 4]));
    }

    /// Compares the virtual card with the properties of XDMA in the build for the U280.
    #[test]
    fn the_card_is_that_of_the_build() {
        let script = include_str!("../../../hw/board/u280/build.tcl");
        let (_, properties) = script
            .split_once("ip xdma 4.1 xdma_u280 [dict create")
            .unwrap();
        let (properties, _) = properties.split_once("\nip ").unwrap();
        let given = |name: &str| {
            let line = properties
                .lines()
                .find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(' '));
            let value = line.unwrap_or_else(|| panic!("build.tcl does not set {name}"));
            value.trim_end_matches('\\').trim()
        };
        let hex = |name: &str| u32::from_str_radix(given(name), 16).unwrap();
        let shape = Shape::default();
        let mut bars = [Bar::default(); 6];
        bars[BYPASS_BAR] = Bar {
            bytes: 1 << 23,
            is_wide: true,
        };
        let space = Space::new(&bars, shape.vectors());
        let word = |at: u64| {
            let mut bytes = [0; 4];
            space.read(at, &mut bytes);
            u32::from_le_bytes(bytes)
        };
        assert_eq!(word(0) >> 16, hex("pf0_device_id"));
        // Linux offers a write-combining mapping of prefetchable BARs alone.
        assert_eq!(word(0x10 + 4 * BYPASS_BAR as u64) & 0xf, 0xc);
        assert_eq!(given("axi_bypass_prefetchable"), "true");
        assert_eq!(given("axi_bypass_64bit_en"), "true");
        assert_eq!(given("pf0_msix_enabled"), "true");
        assert_eq!(shape.vectors() - 1, hex("pf0_msix_cap_table_size"));
        assert_eq!(xdma::MSIX_TABLE, hex("pf0_msix_cap_table_offset"));
        assert_eq!(xdma::MSIX_PENDING, hex("pf0_msix_cap_pba_offset"));
        for table in ["pf0_msix_cap_table_bir", "pf0_msix_cap_pba_bir"] {
            assert_eq!(given(table), format!("BAR_{CORE_BAR}"));
        }
        for channels in ["xdma_rnum_chnl", "xdma_wnum_chnl"] {
            assert_eq!(given(channels), CHANNELS.to_string());
        }
        // A digit for each channel, the first one last.
        let bypassed = given("dsc_bypass_wr")
            .chars()
            .rev()
            .position(|bit| bit == '1');
        assert_eq!(bypassed, Some(COPY_CHANNEL as usize));
        assert_eq!(given("axilite_master_scale"), "Kilobytes");
        assert_eq!(given("axilite_master_size"), (USER_BYTES >> 10).to_string());
    }

    #[test]
    fn bursts_end_at_pages() {
        let found: Vec<_> = bursts(4094, 4100).collect();
        assert_eq!(found, [(4094, 0..2), (4096, 2..4098), (8192, 4098..4100)]);
        assert_eq!(bursts(u64::MAX, 1).collect::<Vec<_>>(), [(u64::MAX, 0..1)]);
        assert_eq!(bursts(0, 0).count(), 0);
    }
}
