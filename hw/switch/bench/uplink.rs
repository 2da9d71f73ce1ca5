//! `uplink_tx` and `uplink_rx`: conversion of words to phits and back, each against its own model. Phits are damaged, lost
//! and repeated on their way.

use std::collections::VecDeque;

use alcor_hw_bench::{Dut, Pace, Pin, Random, Recipe, Sink, Source, soak};
use crc32fast::Hasher;
use rand::Rng;
use rand::seq::IndexedRandom;

/// Widths of a model.
#[derive(Debug, Clone, Copy)]
struct Size {
    /// Data bits of a phit.
    phit: usize,
    /// Bits of a word.
    word: usize,
}

const SIZES: [Size; 4] = [size(64, 32), size(512, 32), size(512, 256), size(256, 256)];

const fn size(phit: usize, word: usize) -> Size {
    Size { phit, word }
}

impl Size {
    /// Number of words in a phit.
    fn words(self) -> usize {
        self.phit / self.word
    }

    /// Number of lanes in the data of a phit.
    fn data(self) -> usize {
        self.phit / 16
    }

    /// Number of lanes of a phit.
    fn lanes(self) -> usize {
        self.data() + 5
    }
}

/// Lanes of 16 bits: of a word, or of a phit's data, header and position.
type Lanes = Vec<u64>;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    data: Lanes,
    last: bool,
    /// The packet is damaged, and the word is none of its words.
    cut: bool,
}

/// First bit of the key in the third lane of a header.
const KEY_AT: u64 = 6;

/// Adds a phit to the check of its packet: its data, and what the check covers of its header.
fn cover(check: &mut Hasher, phit: &[u64], size: Size) {
    let (data, header) = phit.split_at(size.data());
    for lane in data.iter().chain([&header[0]]) {
        check.update(&(*lane as u16).to_le_bytes());
    }
    let last = (header[1] >> 15 & 1) << 7;
    check.update(&[(header[2] >> KEY_AT) as u8, (last | header[4] >> 12) as u8]);
}

/// The check that a phit carries.
fn carried(phit: &[u64], size: Size) -> u32 {
    let header = &phit[size.data()..];
    ((header[1] & 0xf) << 28 | (header[4] & 0xfff) << 16 | header[3]) as u32
}

/// Expected phits of a packet, by the formats in hw/abi.
fn phits(packet: &[Lanes], size: Size, key: u64) -> Vec<Lanes> {
    let dest = packet[0][1] >> 8;
    let count = packet.len().div_ceil(size.words());
    let mut all = Hasher::new();
    let phit = |(index, part): (usize, &[Lanes])| {
        let mut lanes = part.concat();
        lanes.resize(size.lanes(), 0);
        let header = &mut lanes[size.data()..];
        header[0] = dest;
        header[1] = u64::from(index + 1 == count) << 15;
        header[2] = key << KEY_AT;
        header[4] = (part.len() as u64 - 1) << 12;
        cover(&mut all, &lanes, size);
        let check = u64::from(all.clone().finalize());
        let header = &mut lanes[size.data()..];
        header[1] |= check >> 28;
        header[3] = check & 0xffff;
        header[4] |= check >> 16 & 0xfff;
        lanes
    };
    packet.chunks(size.words()).enumerate().map(phit).collect()
}

fn word(rng: &mut Random, size: Size) -> Lanes {
    (0..size.word / 16)
        .map(|_| u64::from(rng.random::<u16>()))
        .collect()
}

fn packet(rng: &mut Random, size: Size) -> Vec<Lanes> {
    let longest = if rng.random() { 4 } else { 40 };
    let length = rng.random_range(1..longest);
    (0..length).map(|_| word(rng, size)).collect()
}

/// The shortest reset. The other inputs do not change.
fn reset(dut: &mut Dut) {
    let pin = dut.pin("rst_ni");
    dut.set(pin, 0, 0);
    dut.clock();
    dut.set(pin, 0, 1);
}

struct Pins {
    valid_in: Pin,
    ready_out: Pin,
    valid_out: Pin,
    ready_in: Pin,
    empty: Pin,
    key: Pin,
}

fn start(top: &str, size: Size) -> (Dut, Pins) {
    let recipe = Recipe::new(top, top)
        .blocks(&["abi", "common"])
        .source("switch/rtl/phit_check.sv")
        .source(&format!("switch/rtl/{top}.sv"))
        .param("PHIT_W", size.phit as u64)
        .param("DATA_W", size.word as u64);
    let mut dut = Dut::start(&recipe);
    dut.reset();
    let pins = Pins {
        valid_in: dut.pin("valid_i"),
        ready_out: dut.pin("ready_o"),
        valid_out: dut.pin("valid_o"),
        ready_in: dut.pin("ready_i"),
        empty: dut.pin("empty_o"),
        key: dut.pin("key_i"),
    };
    (dut, pins)
}

const PACES: [(Pace, Pace); 5] = [
    (Pace::Always, Pace::Always),
    (Pace::Chance(0.4), Pace::Always),
    (Pace::Always, Pace::Chance(0.1)),
    (Pace::Chance(0.5), Pace::Chance(0.5)),
    (
        Pace::Bursts { on: 40, off: 20 },
        Pace::Bursts { on: 10, off: 30 },
    ),
];

#[test]
fn tx() {
    for size in SIZES {
        let words = size.words();
        let mut rng = Random::new("uplink tx");
        let (mut dut, pins) = start("uplink_tx", size);
        let (last, sent) = (dut.pin("last_i"), dut.pin("sent_o"));
        let data = dut.lanes("data_i", size.word / 16);
        let lanes = dut.lanes("phit_o", size.lanes());
        for (source_pace, sink_pace) in PACES {
            let key = rng.random::<u8>().into();
            dut.set(pins.key, 0, key);
            let (mut source, mut sink) = (Source::new(source_pace), Sink::new(sink_pace));
            let mut expected: VecDeque<(Lanes, bool)> = VecDeque::new();
            let (mut begins, mut stalled, mut queued) = (true, 0, 0);
            let (mut accepted, mut complete) = (0usize, VecDeque::new());
            for cycle in 0..soak(2000) + 6000 {
                // Whole packets only, and no packet near the end.
                if cycle > soak(2000) && expected.is_empty() {
                    break;
                }
                if queued < 200 && cycle < soak(2000) {
                    let packet = packet(&mut rng, size);
                    for (index, data) in packet.iter().enumerate() {
                        source.push(Word {
                            data: data.clone(),
                            last: index + 1 == packet.len(),
                            cut: false,
                        });
                    }
                    let all = phits(&packet, size, key);
                    let count = all.len();
                    for (index, phit) in all.into_iter().enumerate() {
                        expected.push_back((phit, index + 1 == count));
                        let length = if index + 1 < count {
                            words
                        } else {
                            packet.len() - index * words
                        };
                        complete.push_back(length);
                    }
                    queued += packet.len();
                }
                let offer = source.offer(&mut *rng).cloned();
                dut.set(pins.valid_in, 0, u64::from(offer.is_some()));
                let offered = offer.is_some();
                let word = offer.unwrap_or_else(|| Word {
                    data: word(&mut rng, size),
                    last: rng.random(),
                    cut: false,
                });
                for (lane, &value) in word.data.iter().enumerate() {
                    dut.set(data, lane, value);
                }
                dut.set(last, 0, u64::from(word.last));
                let ready = sink.ready(&mut *rng);
                dut.set(pins.ready_in, 0, u64::from(ready));
                dut.settle();
                // A phit is offered in the cycle after its last word, unless another phit is still
                // offered.
                let due = complete.front().is_some_and(|&length| accepted >= length);
                assert_eq!(
                    dut.get(pins.valid_out, 0) == 1,
                    due,
                    "cycle {cycle}: valid_o"
                );
                let held = accepted > 0 || !begins;
                assert_eq!(dut.get(pins.empty, 0) == 0, held, "cycle {cycle}: empty_o");
                if due && ready {
                    let phit: Lanes = (0..size.lanes()).map(|lane| dut.get(lanes, lane)).collect();
                    let next = expected.pop_front().map(|(phit, _)| phit);
                    assert_eq!(Some(phit), next, "cycle {cycle}, {size:?}");
                    accepted -= complete.pop_front().unwrap_or(0);
                }
                let take = offered && dut.get(pins.ready_out, 0) == 1;
                assert_eq!(
                    dut.get(sent, 0) == 1,
                    take && begins,
                    "cycle {cycle}: sent_o"
                );
                if take {
                    source.take(true);
                    accepted += 1;
                    queued -= 1;
                    begins = word.last;
                    stalled = 0;
                } else if offered {
                    stalled += 1;
                    assert!(
                        sink_pace != Pace::Always,
                        "cycle {cycle}: a word waits for nothing"
                    );
                }
                assert!(stalled < 2000, "cycle {cycle}: stuck");
                dut.clock();
            }
            assert!(expected.is_empty(), "{} phits did not come", expected.len());
            // Resets in the middle of a packet.
            dut.set(pins.valid_in, 0, 1);
            dut.set(last, 0, 0);
            for _ in 0..20 {
                for _ in 0..rng.random_range(1..=2 * words) {
                    dut.set(pins.ready_in, 0, rng.random_range(0..2));
                    dut.clock();
                }
                reset(&mut dut);
                dut.settle();
                let state = [pins.valid_out, pins.empty].map(|pin| dut.get(pin, 0));
                assert_eq!(state, [0, 1], "valid_o and empty_o after a reset");
            }
        }
    }
}

/// Effects of a phit on the receiver.
#[derive(Debug, Clone, Default)]
struct Effect {
    words: Vec<Word>,
    damaged: bool,
    /// A packet of another run has ended.
    foreign: bool,
}

/// Model of the receiver, by the phits that it has taken.
struct Receiver {
    /// Key of the run.
    key: u64,
    /// Check of the packet that comes, and whether it is one of another run.
    packet: Option<(Hasher, bool)>,
    is_shut: bool,
}

impl Receiver {
    fn new(key: u64) -> Self {
        Self {
            key,
            packet: None,
            is_shut: false,
        }
    }

    fn take(&mut self, phit: &[u64], size: Size) -> Effect {
        let header = &phit[size.data()..];
        let last = header[1] >> 15 & 1 == 1;
        let foreign = header[2] >> KEY_AT & 0xff != self.key;
        let mut effect = Effect::default();
        if self.is_shut {
            return effect;
        }
        let begun = self.packet.take();
        let is_passed_on = begun.as_ref().is_some_and(|(_, foreign)| !foreign);
        let mut check = begun.map_or_else(Hasher::new, |(check, _)| check);
        cover(&mut check, phit, size);
        if check.clone().finalize() != carried(phit, size) {
            self.is_shut = true;
            effect.damaged = true;
            if is_passed_on {
                effect.words.push(Word {
                    data: Vec::new(),
                    last: true,
                    cut: true,
                });
            }
            return effect;
        }
        self.packet = (!last).then_some((check, foreign));
        effect.foreign = foreign && last;
        if !foreign {
            let count = (header[4] >> 12) as usize + 1;
            let words = phit.chunks(size.word / 16).take(count).enumerate();
            effect.words.extend(words.map(|(at, data)| Word {
                data: data.to_vec(),
                last: last && at + 1 == count,
                cut: false,
            }));
        }
        effect
    }
}

/// Damages a phit of a packet, or loses, repeats or exchanges phits. `kind` chooses.
fn damage(phits: &mut Vec<Lanes>, kind: u32, rng: &mut Random, size: Size) {
    let at = rng.random_range(0..phits.len());
    match kind {
        0 => drop(phits.remove(at)),
        1 => phits.insert(at, phits[at].clone()),
        2 => {
            let behind = (at + 1) % phits.len();
            phits.swap(at, behind);
        }
        _ => {
            // Bits that the check covers, or of the check: data, dest, check, last, key, words.
            let header = 16 * size.data();
            let covered: Vec<usize> = (0..header + 20)
                .chain([header + 31])
                .chain(header + 32 + KEY_AT as usize..header + 32 + KEY_AT as usize + 8)
                .chain(header + 48..header + 80)
                .collect();
            let count = [1, 1, 2, 9][rng.random_range(0..4)];
            for bit in covered.choose_multiple(&mut **rng, count) {
                phits[at][bit / 16] ^= 1 << (bit % 16);
            }
        }
    }
}

#[test]
fn rx() {
    for size in SIZES {
        let mut rng = Random::new("uplink rx");
        let (mut dut, pins) = start("uplink_rx", size);
        let mut reports = 0;
        for round in 0..soak(400) {
            let (source, sink) = PACES[round as usize % PACES.len()];
            let is_long = round < PACES.len() as u64;
            let is_reset = !is_long && rng.random();
            let key = rng.random::<u8>().into();
            dut.set(pins.key, 0, key);
            let mut bench = Receive {
                size,
                key,
                // A damaged packet is the last one that the receiver looks at.
                damage: if is_long || is_reset { 0.0 } else { 0.2 },
                cycles: if is_long { soak(2000) } else { 200 },
                is_reset,
                source: Source::new(source),
                sink: Sink::new(sink),
                rng: &mut rng,
            };
            let reported = bench.run(&mut dut, &pins);
            assert!(!(is_long && reported), "{size:?}: damage is reported");
            reports += u32::from(reported);
            reset(&mut dut);
        }
        assert!(reports > 50, "{reports} reports of damage");
    }
}

/// A run of the receiver from its reset on.
struct Receive<'a> {
    size: Size,
    key: u64,
    /// The share of damaged packets.
    damage: f64,
    cycles: u64,
    /// The run ends in the middle of the traffic.
    is_reset: bool,
    source: Source<Lanes>,
    sink: Sink,
    rng: &'a mut Random,
}

impl Receive<'_> {
    /// Phits of a random packet.
    fn phits(&mut self) -> Vec<Lanes> {
        let (size, rng) = (self.size, &mut *self.rng);
        // Keys that differ in one bit are the hardest to distinguish.
        let key = if rng.random_bool(0.3) {
            self.key ^ 1 << rng.random_range(0..8)
        } else {
            self.key
        };
        let mut phits = phits(&packet(rng, size), size, key);
        if rng.random_bool(self.damage) {
            let kind = rng.random_range(0..9);
            damage(&mut phits, kind, rng, size);
        }
        for phit in &mut phits {
            // What the check does not cover does not matter.
            let noise = [0, 0x7ff0, !(0xff << KEY_AT)];
            for (lane, mask) in phit[size.data()..].iter_mut().zip(noise) {
                let random = u64::from(rng.random::<u16>()) & mask & 0xffff;
                *lane = *lane & !mask | random;
            }
        }
        phits
    }

    /// Returns whether damage was reported.
    fn run(&mut self, dut: &mut Dut, pins: &Pins) -> bool {
        let size = self.size;
        let (last, cut) = (dut.pin("last_o"), dut.pin("cut_o"));
        let (consumed, damaged) = (dut.pin("consumed_o"), dut.pin("damaged_o"));
        let (hold, foreign) = (dut.pin("hold_i"), dut.pin("foreign_o"));
        let data = dut.lanes("data_o", size.word / 16);
        let lanes = dut.lanes("phit_i", size.lanes());
        let mut receiver = Receiver::new(self.key);
        let mut expected: VecDeque<Word> = VecDeque::new();
        // Effect of the phit that was taken in the previous cycle.
        let mut before = Effect::default();
        let (mut queued, mut held, mut reported) = (0, false, false);
        for cycle in 0..self.cycles + 6000 {
            let place = format!("cycle {cycle}, {size:?}");
            if cycle > self.cycles && (self.is_reset || expected.is_empty() && queued == 0) {
                break;
            }
            if queued < 20 && cycle < self.cycles {
                let phits = self.phits();
                queued += phits.len();
                self.source.extend(phits);
            }
            let offer = self.source.offer(&mut **self.rng).cloned();
            dut.set(pins.valid_in, 0, u64::from(offer.is_some()));
            for lane in 0..size.lanes() {
                let value = offer
                    .as_ref()
                    .map_or_else(|| self.rng.random(), |phit| phit[lane]);
                dut.set(lanes, lane, value);
            }
            let ready = self.sink.ready(&mut **self.rng);
            dut.set(pins.ready_in, 0, u64::from(ready));
            // Holds for a while, at random times.
            held = self.rng.random_bool(if held { 0.9 } else { 0.01 });
            dut.set(hold, 0, u64::from(held));
            dut.settle();
            let takes = dut.get(pins.ready_out, 0) == 1;
            assert!(!(takes && held), "{place}: takes a phit while held");
            // One word per cycle: with a ready sink and a busy source valid_o stays high.
            let valid = dut.get(pins.valid_out, 0) == 1;
            assert_eq!(valid, !expected.is_empty(), "{place}: valid_o");
            let empty = dut.get(pins.empty, 0) == 1;
            assert_eq!(empty, expected.is_empty(), "{place}: empty_o");
            let mut ended = false;
            if let Some(next) = expected.front() {
                let cut = dut.get(cut, 0) == 1;
                let word = Word {
                    data: (0..if cut { 0 } else { size.word / 16 })
                        .map(|lane| dut.get(data, lane))
                        .collect(),
                    last: dut.get(last, 0) == 1,
                    cut,
                };
                assert_eq!(&word, next, "{place}");
                if ready {
                    expected.pop_front();
                    ended = word.last && !cut;
                }
            }
            let counts = dut.get(consumed, 0) == 1;
            assert_eq!(counts, ended, "{place}: consumed_o");
            let is = dut.get(foreign, 0) == 1;
            assert_eq!(is, before.foreign, "{place}: foreign_o");
            let is = dut.get(damaged, 0) == 1;
            assert_eq!(is, before.damaged, "{place}: damaged_o");
            reported |= is;
            before = Effect::default();
            if let Some(phit) = offer.filter(|_| takes) {
                self.source.take(true);
                queued -= 1;
                before = receiver.take(&phit, size);
                expected.extend(before.words.drain(..));
            }
            dut.clock();
        }
        let is_done = self.is_reset || expected.is_empty();
        assert!(is_done, "{} words did not come", expected.len());
        reported
    }
}
