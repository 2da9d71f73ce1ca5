//! The PCIe link of a profile with latencies. Host accesses travel through it to the AXI pins.

use std::collections::VecDeque;

use alcor_abi::{LINE_PAGES, MEMORY_BAR_LINE, PAGE_BYTES, memory_pages, rank_page};

use crate::Shape;
use crate::dma::{DmaIn, DmaMaster, DmaOut, Done, Purpose};
use crate::profile::Figures;

/// Words of the AXI pins in front of read data, and in front of write data.
const HEAD_IN: usize = 6;
const HEAD_OUT: usize = 10;

/// The pin by which the host takes copies.
pub(crate) const TAKES_COPIES: u32 = 1 << 14;

/// A copy of bytes of node memory into host memory that a board asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostCopy {
    /// Address of the DMA engines ([`FreeBoard::load`](crate::FreeBoard::load)).
    pub source: u32,
    /// Address of host memory on the bus.
    pub destination: u64,
    /// Length in bytes.
    pub bytes: u32,
}

impl HostCopy {
    /// The copy on the AXI pins, if there is one.
    pub(crate) fn of(input: &[u32]) -> Option<Self> {
        (input[0] >> 14 & 1 != 0).then(|| Self {
            source: input[2],
            destination: u64::from(input[4]) << 32 | u64::from(input[3]),
            bytes: input[5],
        })
    }
}

/// An event at the host's end of the link.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Posted writes have taken effect on the board. The host does not see this.
    Posted { rank: usize, posts: usize },
    /// The data of a load from the memory BAR; the loads of an access arrive in order.
    Loaded { rank: usize, data: Vec<u8> },
    /// A DMA transfer is over; data of a read.
    Moved { rank: usize, data: Vec<u8> },
    /// Data reaches host memory.
    Copied { destination: u64, data: Vec<u8> },
}

/// A link with an XDMA at its board end.
pub(crate) struct Link {
    pub(crate) figures: &'static Figures,
    node_bytes: u32,
    /// Address on the AXI4 port of the board's page.
    pages: u32,
    beat: usize,
    dma: DmaMaster,
    /// The board may hand over a copy in this cycle.
    takes_copies: bool,
    /// Copies on their way to host memory, with the edges at which they arrive.
    copies: VecDeque<(u64, Arrival)>,
}

impl Link {
    pub(crate) fn new(figures: &'static Figures, shape: Shape) -> Self {
        let beat = 4 * shape.banks();
        Self {
            figures,
            node_bytes: shape.node_bytes,
            pages: memory_pages(shape.ranks, shape.node_bytes),
            beat,
            dma: DmaMaster::new(beat),
            takes_copies: false,
            copies: VecDeque::new(),
        }
    }

    /// Drops all accesses under way.
    pub(crate) fn reset(&mut self) {
        self.dma = DmaMaster::new(self.beat);
        self.takes_copies = false;
        self.copies.clear();
    }

    fn place(&self, rank: usize, at: u32) -> u32 {
        rank as u32 * self.node_bytes + at
    }

    /// Sends a posted register write of a rank off at `now`. Posted writes arrive in the order of
    /// these calls.
    pub(crate) fn write(&mut self, now: u64, rank: usize, offset: u32, value: u32) {
        let address = self.pages + rank_page(rank as u32) + offset;
        let due = now + self.figures.downstream;
        self.dma.post(due, rank, 1, address, &value.to_le_bytes());
    }

    /// Sends a posted write to node memory off, in order with register writes. Returns the number
    /// of writes.
    pub(crate) fn post(&mut self, now: u64, rank: usize, at: u32, data: &[u8]) -> usize {
        let due = now + self.figures.downstream;
        let (mut place, mut left, mut posts) = (self.place(rank, at), data, 0);
        while !left.is_empty() {
            let room = MEMORY_BAR_LINE - place as usize % MEMORY_BAR_LINE;
            let (now, rest) = left.split_at(room.min(left.len()));
            self.dma.post(due, rank, 1, place, now);
            (place, left, posts) = (place + now.len() as u32, rest, posts + 1);
        }
        posts
    }

    /// Sends a command line with this number of register writes off, in order with posted writes.
    pub(crate) fn line(&mut self, now: u64, rank: usize, words: [u32; 16], writes: usize) {
        let address = self.pages + LINE_PAGES + rank as u32 * PAGE_BYTES;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let due = now + self.figures.downstream;
        self.dma.post(due, rank, writes, address, &bytes);
    }

    /// Sends a load of a register off. It returns after all earlier posted writes have taken effect.
    pub(crate) fn read(&mut self, now: u64, rank: usize, address: u32) {
        let due = now + self.figures.downstream;
        self.dma.load_bar(due, rank, self.pages + address, 4);
    }

    /// Number of loads of this range through the BAR.
    pub(crate) fn loads(&self, rank: usize, at: u32, len: usize) -> usize {
        let place = self.place(rank, at) as usize;
        (place + len).div_ceil(MEMORY_BAR_LINE) - place / MEMORY_BAR_LINE
    }

    /// Loads from node memory through the BAR, one load after the other. Returns the number of loads.
    pub(crate) fn load_bar(&mut self, now: u64, rank: usize, at: u32, len: usize) -> usize {
        let round_trip = self.figures.downstream + self.figures.upstream;
        let (mut place, mut left, mut loads) = (self.place(rank, at), len, 0);
        while left > 0 {
            let bytes = left.min(MEMORY_BAR_LINE - place as usize % MEMORY_BAR_LINE);
            let due = now + self.figures.downstream + loads as u64 * round_trip;
            self.dma.load_bar(due, rank, place, bytes);
            (place, left, loads) = (place + bytes as u32, left - bytes, loads + 1);
        }
        loads
    }

    /// Calls for a DMA transfer to node memory.
    pub(crate) fn store(&mut self, now: u64, rank: usize, at: u32, data: &[u8]) {
        let due = now + self.figures.dma_setup;
        self.dma.store(due, rank, self.place(rank, at), data);
    }

    /// Calls for a DMA transfer from node memory.
    pub(crate) fn load(&mut self, now: u64, rank: usize, at: u32, len: usize) {
        let due = now + self.figures.dma_setup;
        self.dma.load(due, rank, self.place(rank, at), len);
    }

    /// The next edge at which it may act; the next one while a transfer is at the pins.
    pub(crate) fn due(&self, now: u64) -> u64 {
        let copied = self.copies.front();
        let copied = copied.map_or(u64::MAX, |&(due, _)| due.max(now + 1));
        self.dma.due(now).min(copied)
    }

    /// An edge: takes the AXI pins of the cycle that ends. Returns those of the cycle that begins,
    /// and the arrivals.
    pub(crate) fn tick(
        &mut self,
        now: u64,
        input: &[u32],
        output: &mut [u32],
    ) -> [Option<Arrival>; 3] {
        let bit = |at: u32| input[0] >> at & 1 != 0;
        if let Some(copy) = HostCopy::of(input).filter(|_| self.takes_copies) {
            let due = now + self.figures.copy;
            let bytes = copy.bytes as usize;
            self.dma.copy(due, copy.source, copy.destination, bytes);
        }
        self.takes_copies = true;
        let pins = DmaIn {
            awready: bit(8),
            wready: bit(9),
            bvalid: bit(10),
            arready: bit(11),
            rvalid: bit(12),
            rdata: &input[HEAD_IN..],
        };
        let (head, data) = output.split_at_mut(HEAD_OUT);
        let (dma, ended) = self.dma.tick(now, pins, data);
        drive(dma, head);
        let [written, read] = ended.map(|done| done.and_then(|done| self.arrival(now, done)));
        let copied = match self.copies.front() {
            Some(&(due, _)) if due <= now => self.copies.pop_front().map(|(_, copied)| copied),
            _ => None,
        };
        [written, read, copied]
    }

    fn arrival(&mut self, now: u64, Done { purpose, data }: Done) -> Option<Arrival> {
        Some(match purpose {
            Purpose::Posted { rank, posts } => Arrival::Posted { rank, posts },
            Purpose::Bar { rank } => Arrival::Loaded { rank, data },
            Purpose::Dma { rank } => Arrival::Moved { rank, data },
            Purpose::Copy { destination } => {
                let due = now + self.figures.posted;
                let copied = Arrival::Copied { destination, data };
                self.copies.push_back((due, copied));
                return None;
            }
        })
    }
}

/// A register write over the AXI4-Lite pins without link latency, before time begins.
pub(crate) struct Setting {
    address: u32,
    value: u32,
    /// Whether address and data are still offered.
    has_address: bool,
    has_data: bool,
    has_begun: bool,
}

impl Setting {
    pub(crate) fn new(address: u32, value: u32) -> Self {
        Self {
            address,
            value,
            has_address: true,
            has_data: true,
            has_begun: false,
        }
    }

    /// An edge; whether the board has answered, which leaves the pins idle.
    pub(crate) fn tick(&mut self, input: &[u32], output: &mut [u32]) -> bool {
        let bit = |at: u32| input[0] >> at & 1 != 0;
        if std::mem::replace(&mut self.has_begun, true) {
            self.has_address &= !bit(0);
            self.has_data &= !bit(1);
            if !self.has_address && !self.has_data && bit(2) {
                output[0] = 0;
                return true;
            }
        }
        let bits = [(self.has_address, 0), (self.has_data, 1), (true, 2)];
        output[0] = pins(&bits);
        output[1] = self.address;
        output[2] = self.value;
        false
    }
}

/// One-bit pins in a word.
fn pins(bits: &[(bool, u32)]) -> u32 {
    bits.iter()
        .fold(0, |word, &(on, at)| word | u32::from(on) << at)
}

/// The pins of the AXI4 port; those of AXI4-Lite are idle.
fn drive(dma: DmaOut, output: &mut [u32]) {
    output[0] = pins(&[
        (dma.awvalid, 8),
        (dma.wvalid, 9),
        (dma.wlast, 10),
        (dma.bready, 11),
        (dma.arvalid, 12),
        (dma.rready, 13),
    ]) | TAKES_COPIES;
    output[4] = dma.awaddr;
    output[5] = dma.araddr;
    output[6] = dma.arlen;
    output[8] = dma.wstrb as u32;
    output[9] = (dma.wstrb >> 32) as u32;
}
