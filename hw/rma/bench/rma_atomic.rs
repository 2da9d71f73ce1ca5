//! The request plane's receive side with its atomic unit: random packets of atomic operations and
//! puts, in memory that answers at any time. After each operation, memory and answer are compared
//! with a model that carries out one packet after the other.

use std::collections::VecDeque;

use alcor_abi::packets::{x_ack, x_atomic, x_header, x_length, x_old, x_operation};
use alcor_abi::{AtomicOperation, PacketType, Status};
use alcor_hw_bench::{Answers, Pace, Random, Recipe, Sink, Source, soak};
use rand::Rng;
use rand::seq::IndexedRandom;

use crate::rma::Block;

const LANES: usize = 2;
/// Words of a beat of each instance.
const BEATS: [usize; LANES] = [1, 8];
const ME: u32 = 5;
const MEMORY: u32 = 1024;

#[derive(Debug, Clone, Copy)]
struct Window {
    base: u32,
    size: u32,
    deny_read: bool,
    deny_write: bool,
}

#[derive(Debug, Clone)]
enum Packet {
    Atomic {
        slot: u8,
        offset: u32,
        is_wide: bool,
        /// An undefined code leaves the word unchanged.
        code: u32,
        value: u64,
        compare: u64,
        from: u8,
        id: u16,
        /// The packet ends after this number of header words.
        cut: Option<usize>,
    },
    Put {
        slot: u8,
        offset: u32,
        data: Vec<u8>,
        from: u8,
        id: u16,
    },
}

impl Packet {
    /// Header words, and payload words.
    fn words(&self) -> (Vec<u32>, Vec<u32>) {
        let halves = |value: u64, is_wide: bool| {
            let both = [value as u32, (value >> 32) as u32];
            both[..1 + usize::from(is_wide)].to_vec()
        };
        match self {
            Packet::Atomic {
                slot,
                offset,
                is_wide,
                code,
                value,
                compare,
                from,
                id,
                ..
            } => {
                let compares = *code == AtomicOperation::CompareSwap as u32;
                let head = x_atomic::DPID.put(ME)
                    | x_atomic::PTYPE.put(PacketType::Xget as u32)
                    | x_atomic::LAST.put(1)
                    | x_atomic::COMPARE.put(u32::from(compares))
                    | x_atomic::ATOMIC.put(1)
                    | x_atomic::WIDE.put(u32::from(*is_wide))
                    | x_atomic::SRC.put(u32::from(*from))
                    | x_atomic::SLOT.put(u32::from(*slot));
                let operation =
                    x_operation::ID.put(u32::from(*id)) | x_operation::OPERATION.put(*code);
                let mut words = vec![head, *offset, operation];
                words.extend(halves(*value, *is_wide));
                if compares {
                    words.extend(halves(*compare, *is_wide));
                }
                (words, Vec::new())
            }
            Packet::Put {
                slot,
                offset,
                data,
                from,
                id,
            } => {
                let head = x_header::DPID.put(ME)
                    | x_header::PTYPE.put(PacketType::Xput as u32)
                    | x_header::LAST.put(1)
                    | x_header::SRC.put(u32::from(*from))
                    | x_header::SLOT.put(u32::from(*slot));
                let length =
                    x_length::ID.put(u32::from(*id)) | x_length::LENGTH.put(data.len() as u32);
                let mut bytes = vec![0; (offset % 4) as usize];
                bytes.extend(data);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
                let payload = bytes.as_chunks::<4>().0;
                let payload = payload
                    .iter()
                    .map(|word| u32::from_le_bytes(*word))
                    .collect();
                (vec![head, *offset, length], payload)
            }
        }
    }
}

/// The word after an operation, computed with the numbers' own types.
fn combined(code: u32, is_wide: bool, old: u64, value: u64, compare: u64) -> u64 {
    let Some(operation) = AtomicOperation::from_bits(code) else {
        return old;
    };
    let mask = if is_wide {
        u64::MAX
    } else {
        u64::from(u32::MAX)
    };
    let (value, compare) = (value & mask, compare & mask);
    let signed = |bits: u64| {
        if is_wide {
            bits as i64
        } else {
            i64::from(bits as u32 as i32)
        }
    };
    let chosen = |takes_value: bool| if takes_value { value } else { old };
    mask & match operation {
        AtomicOperation::Swap => value,
        AtomicOperation::CompareSwap => chosen(old == compare),
        AtomicOperation::Add => old.wrapping_add(value),
        AtomicOperation::And => old & value,
        AtomicOperation::Or => old | value,
        AtomicOperation::Xor => old ^ value,
        AtomicOperation::Min => chosen(signed(value) < signed(old)),
        AtomicOperation::Max => chosen(signed(value) > signed(old)),
        AtomicOperation::MinUnsigned => chosen(value < old),
        AtomicOperation::MaxUnsigned => chosen(value > old),
    }
}

/// Expected answers; for the answer of an operation, also the memory at that time.
type Expected = (Vec<u32>, Option<Vec<u8>>);

struct Bench {
    lane: usize,
    rng: Random,
    block: Block,
    windows: Vec<Option<Window>>,
    shown: Option<Window>,
    /// Beats with their `last`.
    beats: Source<([u32; 8], bool)>,
    /// Memory written by the block, and memory written by the model.
    memory: Vec<u8>,
    model: Vec<u8>,
    flight: Answers<u32>,
    reads: Sink,
    writes: Sink,
    heads: Sink,
    tasks: Sink,
    /// Answers of operations, and acknowledgements of puts.
    answers: VecDeque<Expected>,
    acks: VecDeque<Vec<u32>>,
    sent: Vec<u32>,
    /// Header words that the packet in progress has by its task.
    told: VecDeque<usize>,
    refusals: u64,
    malformed: u64,
    packets: u64,
    /// Cycles of header words of answers.
    times: Vec<u64>,
}

impl Bench {
    fn new(lane: usize, name: &'static str) -> Self {
        let recipe = Recipe::new("rma-atomic", "rma_atomic_bench")
            .blocks(&["abi", "common", "nic", "alpu", "rma"])
            .source("rma/bench/rma_atomic_bench.sv");
        let mut rng = Random::new(name);
        let windows = (0..12u32)
            .map(|slot| {
                let base = 4 * rng.random_range(0..MEMORY / 8);
                let size = match slot % 4 {
                    0 => rng.random_range(0..20),
                    _ => rng.random_range(1..=MEMORY - base),
                };
                let window = Window {
                    base,
                    size,
                    deny_read: slot == 9,
                    deny_write: slot == 10,
                };
                (slot != 11).then_some(window)
            })
            .collect();
        let memory: Vec<u8> = (0..MEMORY).map(|_| rng.random()).collect();
        Self {
            lane,
            rng,
            block: Block::of(&recipe, "target", LANES, lane),
            windows,
            shown: None,
            beats: Source::new(Pace::Always),
            model: memory.clone(),
            memory,
            flight: Answers::new(1),
            reads: Sink::new(Pace::Always),
            writes: Sink::new(Pace::Always),
            heads: Sink::new(Pace::Always),
            tasks: Sink::new(Pace::Always),
            answers: VecDeque::new(),
            acks: VecDeque::new(),
            sent: Vec::new(),
            told: VecDeque::new(),
            refusals: 0,
            malformed: 0,
            packets: 0,
            times: Vec::new(),
        }
    }

    fn window(&self, slot: u8) -> Option<Window> {
        self.windows.get(usize::from(slot)).copied().flatten()
    }

    /// Address of an access, or the reason of its refusal.
    fn check(&self, slot: u8, offset: u32, length: u32, reads: bool) -> Result<usize, Status> {
        let window = self.window(slot).ok_or(Status::BadSlot)?;
        if u64::from(offset) + u64::from(length) > u64::from(window.size) {
            return Err(Status::OutOfBounds);
        }
        if window.deny_write || (reads && window.deny_read) {
            return Err(Status::Denied);
        }
        Ok((window.base + offset) as usize)
    }

    /// Sends a packet, and carries it out in the model.
    fn send(&mut self, packet: &Packet) {
        let (mut heads, payload) = packet.words();
        let ack = |status: Status, from: u8, id: u16| {
            x_ack::DPID.put(u32::from(from))
                | x_ack::PTYPE.put(PacketType::Xack as u32)
                | x_ack::STATUS.put(status as u32)
                | x_ack::ID.put(u32::from(id))
        };
        self.packets += 1;
        match packet {
            Packet::Atomic {
                cut: Some(words), ..
            } => {
                heads.truncate(*words);
                self.malformed += 1;
            }
            &Packet::Atomic {
                slot,
                offset,
                is_wide,
                code,
                value,
                compare,
                from,
                id,
                cut: None,
            } => {
                let bytes = if is_wide { 8 } else { 4 };
                let answer = match self.check(slot, offset, bytes, true) {
                    Err(status) => {
                        self.refusals += 1;
                        vec![ack(status, from, id)]
                    }
                    Ok(at) => {
                        let word = &mut self.model[at..at + bytes as usize];
                        let mut old = [0; 8];
                        old[..word.len()].copy_from_slice(word);
                        let old = u64::from_le_bytes(old);
                        let new = combined(code, is_wide, old, value, compare);
                        word.copy_from_slice(&new.to_le_bytes()[..bytes as usize]);
                        let head = x_old::DPID.put(u32::from(from))
                            | x_old::PTYPE.put(PacketType::Xdata as u32)
                            | x_old::LAST.put(1)
                            | x_old::ATOMIC.put(1)
                            | x_old::WIDE.put(u32::from(is_wide))
                            | x_old::ID.put(u32::from(id));
                        let both = [head, old as u32, (old >> 32) as u32];
                        both[..2 + usize::from(is_wide)].to_vec()
                    }
                };
                self.answers.push_back((answer, Some(self.model.clone())));
            }
            Packet::Put {
                slot,
                offset,
                data,
                from,
                id,
            } => {
                let status = match self.check(*slot, *offset, data.len() as u32, false) {
                    Err(status) => {
                        self.refusals += 1;
                        status
                    }
                    Ok(at) => {
                        self.model[at..at + data.len()].copy_from_slice(data);
                        Status::Ok
                    }
                };
                self.acks.push_back(vec![ack(status, *from, *id)]);
            }
        }
        let width = BEATS[self.lane];
        let noise: [u32; 8] = self.rng.random();
        let mut words = Vec::new();
        if width == 1 {
            words.extend(heads.into_iter().chain(payload).map(|word| vec![word]));
        } else {
            words.push(heads);
            words.extend(payload.chunks(width).map(<[u32]>::to_vec));
        }
        let count = words.len();
        for (index, words) in words.into_iter().enumerate() {
            let mut beat = noise;
            beat[..words.len()].copy_from_slice(&words);
            self.beats.push((beat, index + 1 == count));
        }
    }

    fn random(&mut self) -> Packet {
        let slot = self.rng.random_range(0..13);
        let size = self.window(slot).map_or(40, |window| window.size);
        let (from, id): (u8, u16) = self.rng.random();
        if self.rng.random_bool(0.3) {
            let length = self.rng.random_range(1..=50);
            return Packet::Put {
                slot,
                offset: self.rng.random_range(0..size.max(1)),
                data: (0..length).map(|_| self.rng.random()).collect(),
                from,
                id: id | 1 << 15,
            };
        }
        let is_wide = self.rng.random();
        let bytes = if is_wide { 8 } else { 4 };
        let offset = match self.rng.random_range(0..8) {
            0 => 0,
            1 => size / bytes * bytes,
            2 => (size / bytes * bytes).saturating_sub(bytes),
            3 => self.rng.random::<u32>() / bytes * bytes,
            _ => self.rng.random_range(0..=size) / bytes * bytes,
        };
        let near = self.check(slot, offset, bytes, true).map_or(0, |at| {
            let mut word = [0; 8];
            word[..bytes as usize].copy_from_slice(&self.model[at..at + bytes as usize]);
            u64::from_le_bytes(word)
        });
        // Values near the word, with the same and with another sign, and any values.
        let mut value = || match self.rng.random_range(0..6) {
            0 => near,
            1 => near ^ 1 << self.rng.random_range(0..64),
            2 => !near,
            3 => near
                .wrapping_add(self.rng.random_range(0..3))
                .wrapping_sub(1),
            _ => self.rng.random(),
        };
        let (value, compare) = (value(), value());
        let code = match self.rng.random_range(0..40) {
            0 => self.rng.random_range(10..16),
            1..13 => AtomicOperation::CompareSwap as u32,
            _ => *AtomicOperation::ALL
                .choose(&mut *self.rng)
                .expect("operations") as u32,
        };
        let mut packet = Packet::Atomic {
            slot,
            offset,
            is_wide,
            code,
            value,
            compare,
            from,
            id: id & !(1 << 15),
            cut: None,
        };
        let words = packet.words().0.len();
        // A beat of several words holds the whole header.
        if BEATS[self.lane] == 1
            && self.rng.random_bool(0.08)
            && let Packet::Atomic { cut, .. } = &mut packet
        {
            *cut = Some(self.rng.random_range(1..words));
        }
        packet
    }

    fn cycle(&mut self) {
        let width = BEATS[self.lane];
        let noise: u64 = self.rng.random();
        let offer = self.beats.offer(&mut *self.rng).copied();
        self.block.set("in_valid_i", offer.is_some());
        self.block.set(
            "in_last_i",
            offer.map_or(noise & 1, |(_, last)| last.into()),
        );
        let landing = self.flight.due();
        self.block.set("read_rvalid_i", landing.is_some());
        for part in 0..8 {
            let data = offer.map_or(noise as u32, |(beat, _)| beat[part]);
            self.block.set_part("in_data_i", part, 8, data);
            let data = landing
                .filter(|_| part < width)
                .map_or(noise as u32, |address| {
                    self.word(address.wrapping_add(part as u32))
                });
            self.block.set_part("read_data_i", part, 8, data);
        }
        let window = self.shown;
        let hidden = Window {
            base: noise as u32 & !3,
            size: (noise >> 32) as u32,
            deny_read: false,
            deny_write: false,
        };
        let shown = window.unwrap_or(hidden);
        self.block.set("registered_i", window.is_some());
        self.block
            .set("base_i", if window.is_some() { shown.base } else { 64 });
        self.block
            .set("size_i", if window.is_some() { shown.size } else { 64 });
        let deny = u64::from(shown.deny_write) << 1 | u64::from(shown.deny_read);
        self.block.set("deny_i", deny);
        let (reads, writes) = (
            self.reads.ready(&mut *self.rng),
            self.writes.ready(&mut *self.rng),
        );
        let (heads, tasks) = (
            self.heads.ready(&mut *self.rng),
            self.tasks.ready(&mut *self.rng),
        );
        self.block.set("read_gnt_i", reads);
        self.block.set("write_gnt_i", writes);
        self.block.set("head_ready_i", heads);
        self.block.set("task_ready_i", tasks);
        self.block.settle();
        let place = format!("cycle {}", self.block.cycle());

        if self.block.is("read_o") && reads {
            let address = self.block.word("read_address_o");
            self.flight.grant(address, &mut *self.rng);
        }
        if self.block.is("lookup_o") {
            let slot = self.block.word("slot_o");
            self.shown = self.window(slot as u8);
        }
        if self.block.is("write_o") && writes {
            let address = self.block.word("write_address_o").wrapping_mul(4);
            let strobe = self.block.word("write_strobe_o");
            for lane in (0..4 * width as u32).filter(|lane| strobe >> lane & 1 == 1) {
                let at = address.wrapping_add(lane);
                let covered = self.windows.iter().flatten().any(|window| {
                    !window.deny_write && at >= window.base && at - window.base < window.size
                });
                assert!(covered, "{place}: a write to {at:#x}, in no window");
                let word = self.block.get_part("write_data_o", lane as usize / 4, 8) as u32;
                self.memory[at as usize] = (word >> (8 * (lane % 4))) as u8;
            }
        }
        if self.block.is("task_valid_o") && tasks {
            assert_eq!(self.block.word("task_words_o"), 0, "{place}");
            self.told
                .push_back(self.block.word("task_heads_o") as usize);
        }
        if self.block.is("head_valid_o") && heads {
            self.times.push(self.block.cycle());
            self.sent.push(self.block.word("head_o"));
            self.answer(&place);
        }
        self.refusals -= u64::from(self.block.is("refused_o"));
        self.malformed -= u64::from(self.block.is("malformed_o"));
        let ready = self.block.is("in_ready_o");
        self.beats.take(ready);
        self.block.clock();
    }

    /// Compares a packet of the reply plane once it is whole.
    fn answer(&mut self, place: &str) {
        let Some(&words) = self.told.front() else {
            return;
        };
        if self.sent.len() < words {
            return;
        }
        self.told.pop_front();
        let sent = std::mem::take(&mut self.sent);
        let is_put = PacketType::from_bits(x_ack::PTYPE.get(sent[0])) == Some(PacketType::Xack)
            && x_ack::ID.get(sent[0]) >> 15 == 1;
        if is_put {
            let expected = self.acks.pop_front().expect("an acknowledgement is due");
            assert_eq!(sent, expected, "{place}: acknowledgement of a put");
            return;
        }
        let (expected, memory) = self.answers.pop_front().expect("an answer is due");
        assert_eq!(
            sent, expected,
            "{place}: answer, {sent:x?}, not {expected:x?}"
        );
        // The data of all earlier packets is in memory, and no data of later packets.
        let is_refusal = sent.len() == 1;
        if let Some(memory) = memory.filter(|_| !is_refusal) {
            let differs = memory.iter().zip(&self.memory).position(|(a, b)| a != b);
            assert_eq!(
                differs, None,
                "{place}: memory with the answer of an operation"
            );
        }
    }

    fn word(&self, address: u32) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|lane| {
            self.memory[(address.wrapping_mul(4).wrapping_add(lane as u32) % MEMORY) as usize]
        }))
    }

    fn is_done(&mut self) -> bool {
        self.beats.is_empty()
            && self.answers.is_empty()
            && self.acks.is_empty()
            && self.block.is("idle_o")
    }

    fn drain(&mut self) {
        let mut patience = 20_000;
        while !self.is_done() {
            self.cycle();
            patience -= 1;
            assert!(
                patience > 0,
                "packets remain: {} answers, {} acknowledgements",
                self.answers.len(),
                self.acks.len()
            );
        }
        // Pulses of the last packet.
        for _ in 0..4 {
            self.cycle();
        }
        assert_eq!(self.memory, self.model, "memory after all packets");
        assert_eq!(
            (self.refusals, self.malformed),
            (0, 0),
            "refusals and malformed packets not reported"
        );
    }
}

#[test]
fn rma_atomic_random() {
    for lane in 0..LANES {
        let mut bench = Bench::new(lane, "rma_atomic_random");
        let paces = [
            Pace::Always,
            Pace::Chance(0.5),
            Pace::Chance(0.15),
            Pace::Bursts { on: 6, off: 12 },
        ];
        for round in 0..soak(30) {
            let mut pace = || *paces.choose(&mut *bench.rng).expect("paces");
            let chosen = [(); 5].map(|()| pace());
            bench.beats.set_pace(chosen[0]);
            bench.reads = Sink::new(chosen[1]);
            bench.writes = Sink::new(chosen[2]);
            bench.heads = Sink::new(chosen[3]);
            bench.tasks = Sink::new(chosen[4]);
            bench.flight.set_latency(match round % 3 {
                0 => 1..=1,
                1 => 5..=5,
                _ => 1..=40,
            });
            for _ in 0..60 {
                let packet = bench.random();
                bench.send(&packet);
            }
            bench.drain();
        }
        assert!(bench.packets >= 1800, "{} packets", bench.packets);
    }
}

/// A packet of an operation at each time: cycles from its first beat to its answer's words.
#[test]
fn rma_atomic_latency() {
    for (lane, is_wide, expected) in [(0, false, 5), (0, true, 8), (1, false, 5), (1, true, 7)] {
        let mut bench = Bench::new(lane, "rma_atomic_latency");
        bench.windows[1] = Some(Window {
            base: 64,
            size: 64,
            deny_read: false,
            deny_write: false,
        });
        bench.send(&Packet::Atomic {
            slot: 1,
            offset: 8,
            is_wide,
            code: AtomicOperation::Add as u32,
            value: 1,
            compare: 0,
            from: 3,
            id: 4,
            cut: None,
        });
        let begin = bench.block.cycle();
        bench.drain();
        // The first beat is in the Head FIFO's output a cycle after it came.
        let last = bench.times.last().expect("an answer") - begin - 1;
        assert_eq!(last, expected, "lane {lane}, 64 bits: {is_wide}");
    }
}
