//! `axi_dma_port` and two node memories: bursts in both directions at once, with a coprocessor's
//! reads and writes beside them and every channel stalling, against a byte-level model; and whose
//! turn it is.

use std::collections::VecDeque;

use alcor_hw_bench::{Dut, Pace, Pin, Random, Sink, Source, soak};
use rand::Rng;

use crate::axi_lite_port::start;

/// Latencies of the memories in `core_bench`. The second ones take up to 40 cycles more, at random.
const LATENCIES: [usize; 2] = [1, 3];
/// Words of both memories.
const WORDS: u64 = 256;

/// A beat of a write burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Beat {
    address: u64,
    data: u64,
    strobe: u64,
    last: bool,
}

/// A granted read: its address, the values that it may return, and whether it is its burst's last.
struct Read {
    address: u64,
    values: Vec<u64>,
    last: bool,
}

struct Bench {
    rng: Random,
    dut: Dut,
    lane: usize,
    memory: Vec<[u8; 4]>,
    write_bursts: Source<u64>,
    beats: Source<Beat>,
    read_bursts: Source<(u64, u64)>,
    b: Sink,
    r: Sink,
    /// Writes that the memory is to see, reads it is to see with what is their burst's last, and
    /// data to come.
    writes: VecDeque<Beat>,
    reads: VecDeque<(u64, bool)>,
    data: VecDeque<Read>,
    answers: u64,
    answered: u64,
    /// The coprocessor: a read, a write, and the data of reads under way.
    reading: Option<u64>,
    writing: Option<(u64, u64, u64)>,
    flight: [VecDeque<Read>; 2],
    busy: (f64, f64),
    /// Cycles in a row in which each waited: host's read, its write, coprocessor's read, its write.
    waited: [u64; 4],
    moved: [u64; 4],
}

impl Bench {
    fn new(lane: usize, name: &'static str) -> Self {
        let mut dut = start();
        dut.reset();
        Self {
            rng: Random::new(name),
            dut,
            lane,
            memory: vec![[0; 4]; WORDS as usize],
            write_bursts: Source::new(Pace::Always),
            beats: Source::new(Pace::Always),
            read_bursts: Source::new(Pace::Always),
            b: Sink::new(Pace::Always),
            r: Sink::new(Pace::Always),
            writes: VecDeque::new(),
            reads: VecDeque::new(),
            data: VecDeque::new(),
            answers: 0,
            answered: 0,
            reading: None,
            writing: None,
            flight: [VecDeque::new(), VecDeque::new()],
            busy: (0.0, 0.0),
            waited: [0; 4],
            moved: [0; 4],
        }
    }

    fn pin(&self, name: &str) -> Pin {
        self.dut.lanes(&format!("dma_{name}"), LATENCIES.len())
    }

    fn set(&mut self, name: &str, value: u64) {
        let pin = self.pin(name);
        self.dut.set(pin, self.lane, value);
    }

    fn grant(&self, address: u64, last: bool) -> Read {
        Read {
            address,
            values: vec![self.word(address)],
            last,
        }
    }

    fn get(&self, name: &str) -> u64 {
        self.dut.get(self.pin(name), self.lane)
    }

    fn is(&self, name: &str) -> bool {
        self.get(name) == 1
    }

    /// Queues a write burst; addresses wrap at the end of the memory.
    fn write(&mut self, first: u64, beats: u64, whole: bool) {
        self.write_bursts
            .push(4 * first + self.rng.random_range(0..4));
        for at in 0..beats {
            let strobe = if whole {
                15
            } else {
                self.rng.random_range(0..16)
            };
            let address = (first + at) % WORDS;
            let beat = Beat {
                address,
                data: u64::from(self.rng.random::<u32>()),
                strobe,
                last: at + 1 == beats,
            };
            self.beats.push(beat);
            self.writes.push_back(beat);
        }
    }

    fn read(&mut self, first: u64, beats: u64) {
        self.read_bursts
            .push((4 * first + self.rng.random_range(0..4), beats - 1));
        self.reads
            .extend((0..beats).map(|at| ((first + at) % WORDS, at + 1 == beats)));
    }

    fn word(&self, address: u64) -> u64 {
        u64::from(u32::from_le_bytes(self.memory[address as usize]))
    }

    fn store(&mut self, address: u64, data: u64, strobe: u64) {
        for (lane, byte) in (data as u32).to_le_bytes().into_iter().enumerate() {
            if strobe >> lane & 1 == 1 {
                self.memory[address as usize][lane] = byte;
            }
        }
        // A read that is under way may see it.
        let word = self.word(address);
        for read in self.flight.iter_mut().flatten().chain(&mut self.data) {
            if read.address == address {
                read.values.push(word);
            }
        }
    }

    fn cycle(&mut self) {
        let noise: u64 = self.rng.random();
        let aw = self.write_bursts.offer(&mut *self.rng).copied();
        let w = self.beats.offer(&mut *self.rng).copied();
        let ar = self.read_bursts.offer(&mut *self.rng).copied();
        if self.reading.is_none() && self.rng.random_bool(self.busy.0) {
            self.reading = Some(self.rng.random_range(0..WORDS));
        }
        if self.writing.is_none() && self.rng.random_bool(self.busy.1) {
            self.writing = Some((
                self.rng.random_range(0..WORDS),
                noise >> 32,
                self.rng.random_range(0..16),
            ));
        }
        let (b, r) = (self.b.ready(&mut *self.rng), self.r.ready(&mut *self.rng));
        let (reading, writing) = (self.reading, self.writing);
        for (name, value) in [
            ("awvalid_i", u64::from(aw.is_some())),
            ("awaddr_i", aw.unwrap_or(noise)),
            ("wvalid_i", u64::from(w.is_some())),
            ("wdata_i", w.map_or(noise, |beat| beat.data)),
            ("wstrb_i", w.map_or(noise, |beat| beat.strobe)),
            ("wlast_i", w.map_or(noise & 1, |beat| u64::from(beat.last))),
            ("bready_i", u64::from(b)),
            ("arvalid_i", u64::from(ar.is_some())),
            ("araddr_i", ar.map_or(noise, |(address, _)| address)),
            ("arlen_i", ar.map_or(noise, |(_, length)| length)),
            ("rready_i", u64::from(r)),
            ("read_valid_i", u64::from(reading.is_some())),
            ("read_address_i", reading.unwrap_or(noise)),
            ("write_valid_i", u64::from(writing.is_some())),
            (
                "write_address_i",
                writing.map_or(noise, |(address, _, _)| address),
            ),
            ("write_data_i", writing.map_or(noise, |(_, data, _)| data)),
            (
                "write_strobe_i",
                writing.map_or(noise, |(_, _, strobe)| strobe),
            ),
        ] {
            self.set(name, value);
        }
        self.dut.settle();
        let place = format!(
            "cycle {}, latency {}",
            self.dut.cycle(),
            LATENCIES[self.lane]
        );

        let (answers, data) = (
            self.dut.lanes("dma_answer_o", 4),
            self.dut.lanes("dma_data_o", 4),
        );
        for memory in 0..2 {
            if self.dut.get(answers, 2 * self.lane + memory) == 1 {
                let read = self.flight[memory].pop_front().expect("a read under way");
                let found = self.dut.get(data, 2 * self.lane + memory);
                assert!(
                    read.values.contains(&found),
                    "{place}: a read of the coprocessor: {found:#x}, not {:x?}",
                    read.values
                );
            }
        }
        assert!(
            self.is("rvalid_o") <= !self.data.is_empty(),
            "{place}: data that nobody asked for"
        );
        if self.is("rvalid_o") && r {
            let (found, last) = (self.get("rdata_o"), self.is("rlast_o"));
            let read = self.data.pop_front().expect("data that was asked for");
            assert!(
                read.values.contains(&found),
                "{place}: {found:#x}, not {:x?}",
                read.values
            );
            assert_eq!(last, read.last, "{place}");
        }
        assert_eq!(self.is("bvalid_o"), self.answers > self.answered, "{place}");
        if self.is("bvalid_o") && b {
            self.answered += 1;
        }
        let host = [self.is("mem_read_o"), self.is("mem_write_o")];
        let granted = [self.is("mem_read_gnt_o"), self.is("mem_write_gnt_o")];
        let reads = reading.is_some() && self.is("read_ready_o");
        let writes = writing.is_some() && self.is("write_ready_o");
        if let Some(address) = reading.filter(|_| reads) {
            let read = self.grant(address, false);
            self.flight[(2 * address / WORDS) as usize].push_back(read);
        }
        if host[0] && granted[0] {
            let address = self.get("mem_read_address_o");
            let (expected, last) = self.reads.pop_front().expect("a read that was asked for");
            assert_eq!(address, expected, "{place}");
            let read = self.grant(address, last);
            self.data.push_back(read);
            self.moved[0] += 1;
        }
        if host[1] && granted[1] {
            let beat = self.writes.pop_front().expect("a beat that was sent");
            let found = (
                self.get("mem_write_address_o"),
                self.get("mem_data_o"),
                self.get("mem_strobe_o"),
            );
            assert_eq!(found, (beat.address, beat.data, beat.strobe), "{place}");
            self.store(beat.address, beat.data, beat.strobe);
            self.answers += u64::from(beat.last);
            self.moved[1] += 1;
        }
        if reads {
            self.reading = None;
            self.moved[2] += 1;
        }
        if let Some((address, data, strobe)) = writing.filter(|_| writes) {
            self.store(address, data, strobe);
            self.writing = None;
            self.moved[3] += 1;
        }
        // With memories that are always ready no user waits for two cycles in a row.
        for (waited, waits) in self.waited.iter_mut().zip([
            host[0] && !granted[0],
            host[1] && !granted[1],
            reading.is_some() && !reads,
            writing.is_some() && !writes,
        ]) {
            *waited = if waits { *waited + 1 } else { 0 };
            let most = if self.lane == 0 { 1 } else { 60 };
            assert!(*waited <= most, "{place}: passed over {waited} times");
        }
        let (aw_ready, w_ready, ar_ready) = (
            self.is("awready_o"),
            self.is("wready_o"),
            self.is("arready_o"),
        );
        self.write_bursts.take(aw_ready);
        self.beats.take(w_ready);
        self.read_bursts.take(ar_ready);
        self.dut.clock();
    }

    fn drain(&mut self) {
        let end = self.dut.cycle() + 60_000;
        while !(self.writes.is_empty()
            && self.reads.is_empty()
            && self.data.is_empty()
            && self.answers == self.answered)
        {
            assert!(
                self.dut.cycle() < end,
                "left are {} writes, {} reads",
                self.writes.len(),
                self.reads.len()
            );
            self.cycle();
        }
    }

    /// Gives all of the memory known contents.
    fn fill(&mut self) {
        self.write(0, WORDS, true);
        self.drain();
    }
}

fn random(lane: usize) {
    let mut bench = Bench::new(lane, "axi_dma_port_random");
    bench.fill();
    let paces = [
        Pace::Always,
        Pace::Chance(0.5),
        Pace::Chance(0.2),
        Pace::Bursts { on: 20, off: 20 },
    ];
    for _ in 0..soak(12) {
        let chosen: [Pace; 5] =
            std::array::from_fn(|_| paces[bench.rng.random_range(0..paces.len())]);
        bench.write_bursts.set_pace(chosen[0]);
        bench.beats.set_pace(chosen[1]);
        bench.read_bursts.set_pace(chosen[2]);
        bench.b = Sink::new(chosen[3]);
        bench.r = Sink::new(chosen[4]);
        let busy = [0.0, 0.3, 1.0];
        bench.busy = (
            busy[bench.rng.random_range(0..3)],
            busy[bench.rng.random_range(0..3)],
        );
        for _ in 0..10 {
            let long = bench.rng.random_bool(0.1);
            let beats = bench.rng.random_range(1..=if long { 256 } else { 12 });
            let first = bench.rng.random_range(0..WORDS);
            bench.write(first, beats, false);
            let first = bench.rng.random_range(0..WORDS);
            bench.read(first, beats);
        }
        bench.drain();
    }
    assert!(
        bench.moved.iter().all(|&moved| moved > 100),
        "{:?}",
        bench.moved
    );
}

/// A beat a cycle alone; with a coprocessor that never pauses the two take turns.
fn rate() {
    let mut bench = Bench::new(0, "axi_dma_port_rate");
    bench.fill();
    for (busy, factor) in [(0.0, 1), (1.0, 2)] {
        bench.busy = (busy, busy);
        for is_read in [false, true] {
            let start = bench.dut.cycle();
            if is_read {
                bench.read(7, 200)
            } else {
                bench.write(7, 200, true)
            }
            bench.drain();
            let took = bench.dut.cycle() - start;
            assert!(took <= factor * 200 + 10, "200 beats took {took} cycles");
        }
        // Both directions at once.
        let start = bench.dut.cycle();
        bench.write(3, 100, true);
        bench.read(90, 100);
        bench.drain();
        let took = bench.dut.cycle() - start;
        assert!(
            took <= factor * 100 + 10,
            "2 x 100 beats took {took} cycles"
        );
    }
}

#[test]
fn axi_dma_port_random() {
    (0..LATENCIES.len()).for_each(random);
}

#[test]
fn axi_dma_port_rate() {
    rate();
}
