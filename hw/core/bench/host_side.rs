//! The host's side of `core`: AXI4 and AXI4-Lite at the same time, to node memory and to the pages
//! behind both. Each register write leaves once; those of one port leave in order. Data written
//! through the AXI4 port is in memory before a register write behind it leaves. Reads give the bytes
//! of memory, and the value of the addressed register after all writes of its port that were answered.
//! Copies of both ranks into host memory leave one at a time, in turns. A command line, in pieces of any
//! order, is carried out once all of its words are there: the payload first, then the register writes.

use std::collections::VecDeque;

use alcor_abi::packets::line_head;
use alcor_hw_bench::bundles::{DMA_ANSWER, DMA_REQUEST, LITE_ANSWER, LITE_REQUEST};
use alcor_hw_bench::{Dut, Pace, Random, Recipe, Sink, Source, Waves, soak};
use rand::Rng;

/// Bytes of both node memories.
const MEMORY_BYTES: u64 = 8192;
/// Address of the pages on the AXI4 port.
const PAGES: u64 = 1 << 18;
/// Address of the pages for command lines, one for each rank.
const LINES: u64 = PAGES + (1 << 17);
/// Bits of a register's value that count the register writes so far.
const WRITES: u32 = 0x00ff_f000;

/// The memory port's beat, latency and jitter, and register slices at the ports.
type Variant = (u64, u64, u64, u64);

const VARIANTS: [Variant; 4] = [
    (32, 1, 0, 0),
    (256, 5, 0, 1),
    (512, 2, 20, 0),
    (64, 3, 9, 1),
];

/// A beat of a write burst.
#[derive(Debug, Clone)]
struct Beat {
    /// Address of its first byte.
    address: u64,
    words: Vec<u32>,
    strobe: u64,
    is_last: bool,
    /// Payload of a line that the beat completes: address in both memories, data.
    payload: Option<(usize, Vec<u8>)>,
}

/// A copy into host memory: byte address in node memory or on the AXI4 port, bus address, bytes.
type Copy = (u64, u64, u64);

/// A register write: byte address in the BAR, data.
type Write = (u64, u32);

fn recipe((bits, latency, jitter, slices): Variant) -> Recipe {
    Recipe::new("host-side", "host_side_bench")
        .core()
        .source("core/bench/host_side_bench.sv")
        .param("DATA_W", bits)
        .param("MEM_LATENCY", latency)
        .param("MEM_JITTER", jitter)
        .param("SLICES", slices)
        .bundle("lite_i", &LITE_REQUEST)
        .bundle("lite_o", &LITE_ANSWER)
        .bundle("dma_i", &DMA_REQUEST)
        .bundle("dma_o", &DMA_ANSWER)
        .bundle("board_o", &[("valid", 1), ("offset", 12), ("data", 32)])
}

struct Bench {
    rng: Random,
    dut: Dut,
    /// Bytes of a beat.
    bytes: u64,
    memory: Vec<u8>,
    /// Addresses of write bursts; beats.
    bursts: Source<u64>,
    beats: Source<Beat>,
    /// Read bursts: address and beats less one. Expected beats: address, last. Bursts that were taken: register writes
    /// that had left.
    reads: Source<(u64, u64)>,
    expected: VecDeque<(u64, bool)>,
    read_since: VecDeque<u64>,
    b: Sink,
    r: Sink,
    /// Bursts whose last beat has been taken.
    ended: u64,
    answered: u64,
    /// Register writes that have not left: of the AXI4 port, of AXI4-Lite.
    dma_writes: VecDeque<Write>,
    lite_writes: VecDeque<Write>,
    /// By rank: words of an incomplete command line. Lines so far: complete, with words of several beats.
    lines: [[Option<u32>; 16]; 2],
    complete: u64,
    lite_addresses: Source<u64>,
    lite_data: Source<u32>,
    lite_reads: Source<u64>,
    /// Address, and register writes that had left when the address was taken.
    lite_expected: VecDeque<(u64, u64)>,
    lite_b: Sink,
    lite_r: Sink,
    /// Chance that register writes of the AXI4 port wait for a cycle.
    hold: f64,
    /// Register writes that a read of a register must show at least.
    least: u32,
    /// Copies, by rank; the copy that is on offer; the rank whose turn it is.
    copies: [Source<Copy>; 2],
    copy: Option<Copy>,
    copy_turn: usize,
    copy_sink: Sink,
    /// Counts: register writes of either port, reads of either port, beats of memory, copies.
    counts: [u64; 6],
}

/// The value that the bench top gives for a register, without the number of writes so far.
fn register(address: u64) -> u32 {
    let page = [0xb000_0000, 0x0100_0000, 0x0200_0000];
    let page = page.get((address >> 12) as usize).copied();
    page.map_or(0, |page| page | (address & 0xfff) as u32)
}

/// Register writes of a line, and its payload with its address in both memories.
fn effects(line: [u32; 16], rank: u64) -> (Vec<Write>, Option<(usize, Vec<u8>)>) {
    let writes = line_head::WRITES.get(line[0]).min(8) as usize;
    let codes = [line[2].to_le_bytes(), line[3].to_le_bytes()].concat();
    let writes = codes
        .iter()
        .zip(&line[4..])
        .take(writes)
        .map(|(&code, &value)| {
            let offset = if code < 128 {
                4 * u64::from(code)
            } else {
                0x800 + 4 * u64::from(code - 128)
            };
            ((rank + 1) << 12 | offset, value)
        });
    let bytes = line_head::PAYLOAD.get(line[0]).min(32) as usize;
    let data: Vec<u8> = line[8..]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let at = rank as usize * 4096 + (line[1] as usize & 0xfe0);
    (
        writes.collect(),
        (bytes > 0).then(|| (at, data[..bytes].to_vec())),
    )
}

impl Bench {
    fn new(variant: Variant) -> Self {
        let mut dut = Dut::start(&recipe(variant));
        dut.reset();
        Self {
            rng: Random::new("host_side"),
            dut,
            bytes: variant.0 / 8,
            memory: vec![0; MEMORY_BYTES as usize],
            bursts: Source::new(Pace::Always),
            beats: Source::new(Pace::Always),
            reads: Source::new(Pace::Always),
            expected: VecDeque::new(),
            read_since: VecDeque::new(),
            b: Sink::new(Pace::Always),
            r: Sink::new(Pace::Always),
            ended: 0,
            answered: 0,
            dma_writes: VecDeque::new(),
            lite_writes: VecDeque::new(),
            lines: [[None; 16]; 2],
            complete: 0,
            lite_addresses: Source::new(Pace::Always),
            lite_data: Source::new(Pace::Always),
            lite_reads: Source::new(Pace::Always),
            lite_expected: VecDeque::new(),
            lite_b: Sink::new(Pace::Always),
            lite_r: Sink::new(Pace::Always),
            hold: 0.0,
            least: 0,
            copies: std::array::from_fn(|_| Source::new(Pace::Always)),
            copy: None,
            copy_turn: 0,
            copy_sink: Sink::new(Pace::Always),
            counts: [0; 6],
        }
    }

    fn words(&self) -> usize {
        (self.bytes / 4) as usize
    }

    fn is(&self, name: &str) -> bool {
        self.dut.look(name, 1, 0) == 1
    }

    /// Queues a write burst; to memory, or within a page.
    fn write(&mut self, first: u64, beats: u64, whole: bool) {
        let beats = (0..beats).map(|_| {
            let words = (0..self.words()).map(|_| self.rng.random()).collect();
            let all = u64::MAX >> (64 - self.bytes);
            let mut strobe = if whole {
                all
            } else {
                self.rng.random::<u64>() & all
            };
            if !whole && self.rng.random_bool(0.5) {
                // Some whole words.
                let words: u64 = self.rng.random();
                strobe = (0..self.bytes)
                    .fold(0, |strobe, byte| strobe | (words >> (byte / 4) & 1) << byte);
            }
            (words, strobe)
        });
        let beats = beats.collect();
        self.burst(first, beats);
    }

    /// Queues a burst of these beats: words and strobe.
    fn burst(&mut self, first: u64, beats: Vec<(Vec<u32>, u64)>) {
        let begin = first / self.bytes * self.bytes;
        let count = beats.len();
        self.bursts.push(first);
        for (at, (words, strobe)) in beats.into_iter().enumerate() {
            let mut beat = Beat {
                address: begin + at as u64 * self.bytes,
                words,
                strobe,
                is_last: at + 1 == count,
                payload: None,
            };
            self.expect(&mut beat);
            self.beats.push(beat);
        }
    }

    /// Expects the effects of a beat behind node memory.
    fn expect(&mut self, beat: &mut Beat) {
        let whole = |word: &usize| beat.strobe >> (4 * word) & 15 == 15;
        if beat.address >= LINES {
            let (rank, offset) = ((beat.address - LINES) / 4096, beat.address % 4096);
            let Some(line) = self.lines.get_mut(rank as usize) else {
                return;
            };
            if offset >= 64 {
                *line = [None; 16];
                return;
            }
            for word in (0..beat.words.len()).filter(whole) {
                line[offset as usize / 4 + word] = Some(beat.words[word]);
            }
            if line.iter().all(Option::is_some) {
                let words = std::mem::take(line).map(Option::unwrap_or_default);
                self.complete += 1;
                let (writes, payload) = effects(words, rank);
                self.dma_writes.extend(writes);
                beat.payload = payload;
            }
        } else if beat.address >= PAGES {
            for word in (0..beat.words.len()).filter(whole) {
                let address = beat.address - PAGES + 4 * word as u64;
                self.dma_writes.push_back((address, beat.words[word]));
            }
        }
    }

    /// Queues a line of these words in random pieces; the words of a piece share a beat.
    fn pieces(&mut self, rank: u64, line: [u32; 16]) -> Vec<(u64, Vec<u32>, u64)> {
        let words = self.words();
        let mut left: Vec<usize> = (0..16).collect();
        let mut pieces = Vec::new();
        while !left.is_empty() {
            let beat = left[self.rng.random_range(0..left.len())] / words;
            let chance = [1.0, 0.5, 0.2][self.rng.random_range(0..3)];
            let mut strobe = 0;
            left.retain(|&word| {
                let goes = word / words == beat && self.rng.random_bool(chance);
                if goes {
                    strobe |= 15 << (4 * (word % words));
                }
                !goes
            });
            let data = line[beat * words..(beat + 1) * words].to_vec();
            let address = LINES + rank * 4096 + beat as u64 * self.bytes;
            pieces.push((address, data, strobe));
        }
        pieces
    }

    fn read(&mut self, first: u64, beats: u64) {
        let begin = first / self.bytes * self.bytes;
        self.reads.push((first, beats - 1));
        let address = |at| {
            if at == 0 {
                first
            } else {
                begin + at * self.bytes
            }
        };
        self.expected
            .extend((0..beats).map(|at| (address(at), at + 1 == beats)));
    }

    fn cycle(&mut self) {
        let noise: u64 = self.rng.random();
        let hold = self.rng.random_bool(self.hold);
        let rng = &mut *self.rng;
        let aw = self.bursts.offer(rng).copied();
        let w = self.beats.offer(rng).cloned();
        let ar = self.reads.offer(rng).copied();
        let lite_aw = self.lite_addresses.offer(rng).copied();
        let lite_w = self.lite_data.offer(rng).copied();
        let lite_ar = self.lite_reads.offer(rng).copied();
        let copies = self.copies.each_mut().map(|from| from.offer(rng).copied());
        let copy_ready = self.copy_sink.ready(rng);
        let [b, r, lite_b, lite_r] = [&mut self.b, &mut self.r, &mut self.lite_b, &mut self.lite_r]
            .map(|sink| sink.ready(rng));
        for (name, value) in [
            ("dma_i.awvalid", u64::from(aw.is_some())),
            ("dma_i.awaddr", aw.unwrap_or(noise)),
            ("dma_i.wvalid", u64::from(w.is_some())),
            (
                "dma_i.wlast",
                w.as_ref().map_or(noise & 1, |beat| beat.is_last.into()),
            ),
            ("dma_i.bready", b.into()),
            ("dma_i.arvalid", u64::from(ar.is_some())),
            ("dma_i.araddr", ar.map_or(noise, |(address, _)| address)),
            ("dma_i.arlen", ar.map_or(noise, |(_, beats)| beats)),
            ("dma_i.rready", r.into()),
            ("wstrb_i", w.as_ref().map_or(noise, |beat| beat.strobe)),
            ("lite_i.awvalid", u64::from(lite_aw.is_some())),
            ("lite_i.awaddr", lite_aw.unwrap_or(noise)),
            ("lite_i.wvalid", u64::from(lite_w.is_some())),
            ("lite_i.wdata", lite_w.map_or(noise, u64::from)),
            ("lite_i.bready", lite_b.into()),
            ("lite_i.arvalid", u64::from(lite_ar.is_some())),
            ("lite_i.araddr", lite_ar.unwrap_or(noise)),
            ("lite_i.rready", lite_r.into()),
            ("hold_i", hold.into()),
            ("copy_ready_i", copy_ready.into()),
        ] {
            self.dut.drive(name, 1, 0, value);
        }
        for (rank, copy) in copies.iter().enumerate() {
            let (source, destination, bytes) =
                copy.unwrap_or((noise & 0xfff, noise.rotate_left(9), noise & 0x1fff));
            for (name, value) in [
                ("copies_valid_i", u64::from(copy.is_some())),
                ("copies_source_i", source),
                ("copies_destination_i", destination),
                ("copies_bytes_i", bytes),
            ] {
                self.dut.drive(name, 2, rank, value);
            }
        }
        let words = self.words();
        for word in 0..words {
            let data = w.as_ref().map_or(noise as u32, |beat| beat.words[word]);
            self.dut.drive("wdata_i", words, word, data);
        }
        self.dut.settle();
        let place = format!("cycle {}, beats of {} bytes", self.dut.cycle(), self.bytes);

        let left = self.counts[0] + self.counts[1];
        self.check_writes(&place);
        self.check_copies(copies, copy_ready, &place);
        if self.is("dma_o.rvalid") && r {
            let (address, is_last) = self.expected.pop_front().expect("data was asked for");
            assert_eq!(self.is("dma_o.rlast"), is_last, "{place}");
            self.check_read(address, &place);
            if is_last {
                self.read_since.pop_front();
            }
        }
        if self.is("lite_o.rvalid") && lite_r {
            let (address, since) = self.lite_expected.pop_front().expect("a read");
            let found = self.dut.look("lite_o.rdata", 1, 0) as u32;
            assert_eq!(found & !WRITES, register(address), "{place}: {address:#x}");
            self.check_count(address, found, since, &place);
            self.counts[3] += 1;
        }
        assert!(
            self.ended >= self.answered + u64::from(self.is("dma_o.bvalid")),
            "{place}"
        );
        self.answered += u64::from(self.is("dma_o.bvalid") && b);
        let is = |name: &str| self.dut.look(name, 1, 0) == 1;
        let ready = ["dma_o.awready", "dma_o.wready", "dma_o.arready"].map(is);
        let lite_ready = ["lite_o.awready", "lite_o.wready", "lite_o.arready"].map(is);
        self.bursts.take(ready[0]);
        if let Some(beat) = self.beats.take(ready[1]) {
            self.ended += u64::from(beat.is_last);
            if beat.address < PAGES {
                self.store(&beat);
            }
            if let Some((at, data)) = &beat.payload {
                self.memory[*at..*at + data.len()].copy_from_slice(data);
            }
        }
        if self.reads.take(ready[2]).is_some() {
            self.read_since.push_back(left);
        }
        self.lite_addresses.take(lite_ready[0]);
        self.lite_data.take(lite_ready[1]);
        if let Some(address) = self.lite_reads.take(lite_ready[2]) {
            self.lite_expected.push_back((address, left));
        }
        self.dut.clock();
    }

    /// Memory is the bench's at once. Tests read nothing while it is written.
    fn store(&mut self, beat: &Beat) {
        let bytes = beat.words.iter().flat_map(|word| word.to_le_bytes());
        for (at, byte) in bytes
            .enumerate()
            .filter(|(at, _)| beat.strobe >> at & 1 == 1)
        {
            self.memory[(beat.address as usize + at) % MEMORY_BYTES as usize] = byte;
        }
        self.counts[4] += 1;
    }

    fn check_read(&mut self, address: u64, place: &str) {
        let words = self.words();
        let begin = address / self.bytes * self.bytes;
        for word in 0..words {
            let found = self.dut.look("rdata_o", words, word) as u32;
            let at = begin + 4 * word as u64;
            if address < PAGES {
                let from = (at % MEMORY_BYTES) as usize;
                let bytes = self.memory[from..from + 4].try_into().expect("four bytes");
                assert_eq!(found, u32::from_le_bytes(bytes), "{place}: {at:#x}");
            } else if at == address / 4 * 4 {
                assert_eq!(found & !WRITES, register(at - PAGES), "{place}: {at:#x}");
                let more = (found & WRITES).wrapping_sub(self.least << 12) & WRITES;
                assert!(
                    more < WRITES / 2,
                    "{place}: {found:#x}, {} writes",
                    self.least
                );
                self.check_count(at - PAGES, found, self.read_since[0], place);
            }
        }
        self.counts[2] += 1;
    }

    /// The number of register writes that a register shows: of a time between a read's address and its data.
    fn check_count(&self, address: u64, found: u32, since: u64, place: &str) {
        if register(address) != 0 {
            let left = self.counts[0] + self.counts[1];
            let shown = u64::from((found & WRITES) >> 12).wrapping_sub(since) % 4096;
            assert!(
                shown <= left - since,
                "{place}: {address:#x} shows {shown} writes more than {since}, of {left}"
            );
        }
    }

    /// Register writes that leave in this cycle: each is the next one of its port.
    fn check_writes(&mut self, place: &str) {
        let mut left = Vec::new();
        if self.is("board_o.valid") {
            let [offset, data] =
                ["board_o.offset", "board_o.data"].map(|name| self.dut.look(name, 1, 0));
            left.push((offset, data as u32));
        }
        for rank in 0..2 {
            if self.dut.look("page_write_o", 2, rank) == 1 {
                let offset = self.dut.look("page_offset_o", 2, rank);
                let data = self.dut.look("page_data_o", 2, rank) as u32;
                left.push(((rank as u64 + 1) << 12 | offset, data));
            }
        }
        assert!(left.len() <= 1, "{place}: {left:x?}");
        for write in left {
            let port = if self.dma_writes.front() == Some(&write) {
                self.dma_writes.pop_front();
                0
            } else {
                assert_eq!(self.lite_writes.pop_front(), Some(write), "{place}");
                1
            };
            self.counts[port] += 1;
        }
    }

    /// A copy leaves a cycle after it was taken, and stays until the board takes it. The next one is
    /// taken in the cycle in which it leaves. Ranks take turns.
    fn check_copies(&mut self, copies: [Option<Copy>; 2], ready: bool, place: &str) {
        let found = self.is("copy_valid_o").then(|| {
            let look = |name: &str| self.dut.look(name, 1, 0);
            (
                look("copy_source_o"),
                look("copy_destination_o"),
                look("copy_bytes_o"),
            )
        });
        assert_eq!(found, self.copy, "{place}");
        let takes = found.is_none() || ready;
        let turns = [self.copy_turn, 1 - self.copy_turn];
        let rank = turns
            .into_iter()
            .find(|&rank| takes && copies[rank].is_some());
        for from in 0..2 {
            let taken = self.dut.look("copies_ready_o", 2, from) == 1;
            assert_eq!(taken, rank == Some(from), "{place}: copy of rank {from}");
        }
        if takes {
            self.copy = None;
        }
        if let Some(rank) = rank {
            let (source, destination, bytes) = self.copies[rank].take(true).expect("a copy");
            self.copy = Some((source + 4096 * rank as u64, destination, bytes));
            self.copy_turn = 1 - rank;
            self.counts[5] += 1;
        }
    }

    fn is_idle(&self) -> bool {
        self.bursts.len() + self.beats.len() + self.reads.len() + self.lite_reads.len() == 0
            && self.expected.is_empty()
            && self.ended == self.answered
            && self.dma_writes.is_empty()
            && self.lite_writes.is_empty()
            && self.lite_expected.is_empty()
            && self.copies.iter().all(Source::is_empty)
            && self.copy.is_none()
    }

    fn drain(&mut self) {
        for cycle in 0.. {
            if self.is_idle() {
                break;
            }
            assert!(
                cycle < 60_000,
                "not idle: {} beats, {:x?}",
                self.beats.len(),
                self.dma_writes
            );
            self.cycle();
        }
    }

    fn set_paces(&mut self) {
        let paces = [
            Pace::Always,
            Pace::Chance(0.5),
            Pace::Chance(0.1),
            Pace::Bursts { on: 10, off: 10 },
        ];
        let mut pace = || paces[self.rng.random_range(0..paces.len())];
        self.bursts.set_pace(pace());
        self.beats.set_pace(pace());
        self.reads.set_pace(pace());
        self.lite_addresses.set_pace(pace());
        self.lite_data.set_pace(pace());
        self.lite_reads.set_pace(pace());
        self.copies
            .iter_mut()
            .for_each(|copies| copies.set_pace(pace()));
        [self.b, self.r, self.lite_b, self.lite_r, self.copy_sink] =
            std::array::from_fn(|_| Sink::new(pace()));
        self.hold = [0.0, 0.5, 0.9][self.rng.random_range(0..3)];
    }

    /// An address of a register of the three pages that exist.
    fn register(&mut self) -> u64 {
        4 * self.rng.random_range(0..3 * 1024)
    }
}

fn random(variant: Variant) {
    let mut bench = Bench::new(variant);
    bench.write(0, MEMORY_BYTES / bench.bytes, true);
    bench.drain();
    for _ in 0..soak(20) {
        bench.set_paces();
        for _ in 0..12 {
            let first = bench.rng.random_range(0..MEMORY_BYTES);
            let beats = bench.rng.random_range(1..=8);
            bench.write(first, beats, false);
            // In a page, a burst has a beat or two.
            let first = PAGES + bench.register();
            let beats = bench
                .rng
                .random_range(1..=2)
                .min(1 + (3 * 4096 - (first - PAGES) - 1) / 4096);
            let end = (first / bench.bytes + beats) * bench.bytes;
            let beats = if end > PAGES + 3 * 4096 { 1 } else { beats };
            bench.write(first, beats, false);
            let address = bench.register();
            let data = bench.rng.random();
            bench.lite_addresses.push(address);
            bench.lite_data.push(data);
            bench.lite_writes.push_back((address, data));
            let address = bench.register();
            bench.lite_reads.push(address);
            let first = PAGES + bench.register();
            bench.read(first, 1);
            for rank in 0..2 {
                let [source, destination, bytes] =
                    [12, 64, 13].map(|bits| bench.rng.random::<u64>() >> (64 - bits));
                bench.copies[rank].push((source, destination, bytes));
            }
        }
        bench.drain();
        for _ in 0..12 {
            let first = bench.rng.random_range(0..MEMORY_BYTES);
            let beats = bench.rng.random_range(1..=20);
            bench.read(first, beats);
            let first = PAGES + bench.register();
            bench.read(first, 1);
        }
        bench.drain();
    }
    assert!(
        bench.counts.iter().all(|&count| count > 50),
        "{:?}",
        bench.counts
    );
}

#[test]
fn host_side_random() {
    VARIANTS.into_iter().for_each(random);
}

/// Lines of both ranks at the same time, in pieces, among data and register writes. Some lines lose words, and are completed by
/// words of later lines.
#[test]
fn host_side_lines() {
    for variant in [VARIANTS[1], VARIANTS[2]] {
        let mut bench = Bench::new(variant);
        bench.write(0, MEMORY_BYTES / bench.bytes, true);
        bench.drain();
        for _ in 0..soak(30) {
            bench.set_paces();
            let mut ranks: [VecDeque<_>; 2] = Default::default();
            for rank in 0..2 {
                for _ in 0..6 {
                    let mut line: [u32; 16] = bench.rng.random();
                    let payload = [0, 1, 8, 31, 32, 33, 63][bench.rng.random_range(0..7)];
                    let writes = bench.rng.random_range(0..10);
                    line[0] &= !(line_head::PAYLOAD.mask() | line_head::WRITES.mask());
                    line[0] |= line_head::PAYLOAD.put(payload) | line_head::WRITES.put(writes);
                    let pieces = bench.pieces(rank, line);
                    ranks[rank as usize].extend(pieces);
                }
            }
            while let [false, _] | [_, false] = ranks.each_ref().map(VecDeque::is_empty) {
                let rank = bench.rng.random_range(0..2);
                let Some((address, words, strobe)) = ranks[rank].pop_front() else {
                    continue;
                };
                match bench.rng.random_range(0..50) {
                    // The words that are there are forgotten.
                    0 => {
                        let place = LINES + 4096 * rank as u64 + 64 * bench.rng.random_range(1..64);
                        bench.write(place, 1, true);
                    }
                    // Bytes of words have no effect.
                    1 => bench.burst(
                        address,
                        vec![(words.clone(), strobe & 0x7777_7777_7777_7777)],
                    ),
                    2 => bench.write(PAGES + 0x1080, 1, false),
                    3 => {
                        let first = bench.rng.random_range(0..MEMORY_BYTES);
                        bench.write(first, 3, false);
                    }
                    // Pages of ranks that do not exist.
                    4 => {
                        let page = bench.rng.random_range(2..32);
                        bench.write(LINES + 4096 * page, 1, true);
                    }
                    // A read of a register waits for the lines before it.
                    5 => bench.read(PAGES + 0x1080, 1),
                    _ => {}
                }
                bench.burst(address, vec![(words, strobe)]);
            }
            bench.drain();
            bench.read(0, MEMORY_BYTES / bench.bytes);
            bench.drain();
        }
        assert!(bench.complete > 200, "{}", bench.complete);
    }
}

/// A whole line in one burst: the cycles of `hw/core/doc/host.md`. A read of memory behind the line
/// finds the payload.
#[test]
fn host_side_line_latency() {
    for (variant, beats) in [(VARIANTS[1], 2), (VARIANTS[2], 1)] {
        let mut bench = Bench::new((variant.0, 1, 0, 0));
        bench.write(0, MEMORY_BYTES / bench.bytes, true);
        bench.drain();
        for (payload, writes) in [(8, 4), (0, 4), (32, 1), (0, 8)] {
            let mut line: [u32; 16] = bench.rng.random();
            line[0] = line_head::PAYLOAD.put(payload) | line_head::WRITES.put(writes);
            let words = line.chunks(bench.words());
            let words = words.map(|words| (words.to_vec(), u64::MAX >> (64 - bench.bytes)));
            let words = words.collect();
            bench.burst(LINES, words);
            let begin = bench.dut.cycle();
            bench.read(0x1000, 1);
            while !bench.dma_writes.is_empty() {
                bench.cycle();
            }
            // Address; beats; payload; register writes.
            let cycles = 1 + beats + 1 + u64::from(writes);
            assert_eq!(bench.dut.cycle() - begin, cycles, "{payload} {writes}");
            bench.drain();
            bench.read(0, MEMORY_BYTES / bench.bytes);
            bench.drain();
        }
    }
}

/// The timing diagram of a line with a payload of 8 bytes and four register writes.
#[test]
fn host_side_waves() {
    let mut dut = Dut::start(&recipe((256, 1, 0, 0)));
    dut.reset();
    dut.drive("dma_i.bready", 1, 0, true);
    let line: [u32; 16] = [
        0x0408,
        0x40,
        0x2422_2120,
        0,
        0x200,
        0x40,
        8,
        0x101,
        0xD0,
        0xD1,
        0,
        0,
        0,
        0,
        0,
        0,
    ];
    let (mut address_left, mut beat) = (true, 0);
    Waves::new("core", "command_line").record(
        &mut dut,
        11,
        |dut, cycle| {
            dut.drive("dma_i.awvalid", 1, 0, cycle > 0 && address_left);
            dut.drive("dma_i.awaddr", 1, 0, LINES);
            dut.drive("dma_i.wvalid", 1, 0, cycle > 0 && beat < 2);
            dut.drive("dma_i.wlast", 1, 0, beat == 1);
            dut.drive("wstrb_i", 1, 0, u64::from(u32::MAX));
            for word in 0..8 {
                dut.drive("wdata_i", 8, word, line[(8 * beat + word) % 16]);
            }
            dut.settle();
            let moves =
                |dut: &Dut, valid, ready| dut.look(valid, 1, 0) & dut.look(ready, 1, 0) == 1;
            address_left &= !moves(dut, "dma_i.awvalid", "dma_o.awready");
            beat += usize::from(moves(dut, "dma_i.wvalid", "dma_o.wready"));
        },
        |dut, waves, _| {
            for name in [
                "dma_i.awvalid",
                "dma_i.wvalid",
                "dma_o.wready",
                "dma_o.bvalid",
            ] {
                waves.bit(name, dut.look(name, 1, 0));
            }
            let is_written = dut.look("page_write_o", 2, 0);
            waves.bit("page_write_o[0]", is_written);
            let offset =
                (is_written == 1).then(|| format!("{:X}", dut.look("page_offset_o", 2, 0)));
            waves.data("page_offset_o[0]", offset);
            let data = (is_written == 1).then(|| format!("{:X}", dut.look("page_data_o", 2, 0)));
            waves.data("page_data_o[0]", data);
        },
    );
}

/// Data written before a register write of the same port is in memory when the register write
/// leaves: a read behind it finds the data.
#[test]
fn host_side_order() {
    let mut bench = Bench::new(VARIANTS[1]);
    let mut behind = 0;
    for round in 0..soak(200) as u64 {
        let at = 32 * (round % 100);
        bench.write(at, 1, true);
        bench.write(PAGES + 0x1080, 1, true);
        let writes = bench.dma_writes.len();
        while bench.dma_writes.len() == writes {
            bench.cycle();
        }
        // The register write has left, so the data is in memory.
        assert!(bench.answered > 2 * round, "round {round}");
        behind += 1;
        bench.drain();
    }
    assert!(behind >= 200);
}

/// A read of a register that begins after the answer to a register write shows the write.
#[test]
fn host_side_read_behind_writes() {
    for variant in VARIANTS {
        let mut bench = Bench::new(variant);
        bench.hold = 0.8;
        for round in 0..soak(50) {
            bench.write(PAGES + 0x1080, 1, true);
            bench.least = (bench.least + bench.words() as u32) % 4096;
            while bench.ended == bench.answered || bench.bursts.len() + bench.beats.len() > 0 {
                bench.cycle();
            }
            while bench.ended > bench.answered {
                bench.cycle();
            }
            bench.read(PAGES + 0x80 + 4 * round, 1);
            bench.drain();
        }
    }
}

/// A beat that writes no whole word of a page is done at once, also while register writes wait.
#[test]
fn host_side_nothing_to_write() {
    for variant in VARIANTS {
        let mut bench = Bench::new(variant);
        bench.hold = 1.0;
        // The slice has room for two register writes.
        let waiting = 2 * variant.3;
        for at in 0..=waiting {
            bench.bursts.push(PAGES + 0x1080);
            let words: Vec<u32> = (0..bench.words()).map(|_| bench.rng.random()).collect();
            let strobe = if at < waiting { 15 } else { 0b0110 };
            if at < waiting {
                bench.dma_writes.push_back((0x1080, words[0]));
            }
            bench.beats.push(Beat {
                address: PAGES + 0x1080,
                words,
                strobe,
                is_last: true,
                payload: None,
            });
            for _ in 0..30 {
                bench.cycle();
            }
            assert_eq!(bench.answered, at + 1, "beats of {} bytes", bench.bytes);
        }
        assert_eq!(bench.counts[0], 0, "register writes wait");
        bench.hold = 0.0;
        bench.drain();
    }
}
