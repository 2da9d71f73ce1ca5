//! `uplink_tx` and `uplink_rx`: conversion of words to phits and back, each against its own model.

use std::collections::VecDeque;

use alcor_hw_bench::{Dut, Pace, Pin, Random, Recipe, Sink, Source, soak};
use rand::Rng;

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
}

/// Key of the run.
const KEY: u64 = 0xA5;
/// First bit of the key in the third lane of a header.
const KEY_AT: u64 = 6;

/// Expected phits of a packet, by the formats in hw/abi.
fn phits(packet: &[Lanes], size: Size) -> Vec<Lanes> {
    let dest = packet[0][1] >> 8;
    let count = packet.len().div_ceil(size.words());
    let phit = |(index, part): (usize, &[Lanes])| {
        let mut lanes = part.concat();
        lanes.resize(size.lanes(), 0);
        let header = &mut lanes[size.data()..];
        header[0] = dest;
        header[1] = u64::from(index + 1 == count) << 15;
        header[2] = KEY << KEY_AT;
        header[4] = (part.len() as u64 - 1) << 12;
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

struct Pins {
    valid_in: Pin,
    ready_out: Pin,
    valid_out: Pin,
    ready_in: Pin,
    empty: Pin,
}

fn start(top: &str, size: Size) -> (Dut, Pins) {
    let recipe = Recipe::new(top, top)
        .blocks(&["abi", "common"])
        .source(&format!("switch/rtl/{top}.sv"))
        .param("PHIT_W", size.phit as u64)
        .param("DATA_W", size.word as u64);
    let mut dut = Dut::start(&recipe);
    let key = dut.pin("key_i");
    dut.set(key, 0, KEY);
    dut.reset();
    let pins = Pins {
        valid_in: dut.pin("valid_i"),
        ready_out: dut.pin("ready_o"),
        valid_out: dut.pin("valid_o"),
        ready_in: dut.pin("ready_i"),
        empty: dut.pin("empty_o"),
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
        let (mut dut, pins) = start("uplink_tx", size);
        let (last, sent) = (dut.pin("last_i"), dut.pin("sent_o"));
        let data = dut.lanes("data_i", size.word / 16);
        let lanes = dut.lanes("phit_o", size.lanes());
        let mut rng = Random::new("uplink tx");
        for (source_pace, sink_pace) in PACES {
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
                        });
                    }
                    let all = phits(&packet, size);
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
        }
    }
}

#[test]
fn rx() {
    for size in SIZES {
        let (mut dut, pins) = start("uplink_rx", size);
        let (last, consumed) = (dut.pin("last_o"), dut.pin("consumed_o"));
        let data = dut.lanes("data_o", size.word / 16);
        let lanes = dut.lanes("phit_i", size.lanes());
        let header = size.data();
        let (hold, foreign) = (dut.pin("hold_i"), dut.pin("foreign_o"));
        let mut held = false;
        // Whether the last phit of a packet of another run was accepted in the previous cycle.
        let mut dropped = false;
        let mut rng = Random::new("uplink rx");
        for (source_pace, sink_pace) in PACES {
            let (mut source, mut sink) = (Source::new(source_pace), Sink::new(sink_pace));
            let mut expected: VecDeque<Word> = VecDeque::new();
            let mut inside = 0usize;
            let mut queued = 0;
            for cycle in 0..soak(2000) + 6000 {
                if cycle > soak(2000) && expected.is_empty() && queued == 0 {
                    break;
                }
                if queued < 20 && cycle < soak(2000) {
                    let packet = packet(&mut rng, size);
                    // Keys that differ in one bit are the hardest to distinguish.
                    let key = if rng.random_bool(0.3) {
                        KEY ^ 1 << rng.random_range(0..8)
                    } else {
                        KEY
                    };
                    for (index, data) in packet.iter().enumerate().filter(|_| key == KEY) {
                        expected.push_back(Word {
                            data: data.clone(),
                            last: index + 1 == packet.len(),
                        });
                    }
                    for mut phit in phits(&packet, size) {
                        // Only `last` and the key of the header matter, and only the number of
                        // words of the position.
                        for lane in [0, 2, 3] {
                            phit[header + lane] = u64::from(rng.random::<u16>());
                        }
                        phit[header + 2] = phit[header + 2] & !(0xFF << KEY_AT) | key << KEY_AT;
                        source.push(phit);
                        queued += 1;
                    }
                }
                let offer = source.offer(&mut *rng).cloned();
                dut.set(pins.valid_in, 0, u64::from(offer.is_some()));
                for lane in 0..size.lanes() {
                    let value = offer
                        .as_ref()
                        .map_or_else(|| rng.random(), |phit| phit[lane]);
                    dut.set(lanes, lane, value);
                }
                let ready = sink.ready(&mut *rng);
                dut.set(pins.ready_in, 0, u64::from(ready));
                // Holds for a while, at random times.
                held = rng.random_bool(if held { 0.9 } else { 0.01 });
                dut.set(hold, 0, u64::from(held));
                dut.settle();
                assert!(
                    !held || dut.get(pins.ready_out, 0) == 0,
                    "cycle {cycle}: takes a phit while held"
                );
                assert_eq!(
                    dut.get(pins.valid_out, 0) == 1,
                    inside > 0,
                    "cycle {cycle}: valid_o"
                );
                assert_eq!(
                    dut.get(pins.empty, 0) == 1,
                    inside == 0,
                    "cycle {cycle}: empty_o"
                );
                let mut ended = false;
                if inside > 0 {
                    let word = Word {
                        data: (0..size.word / 16)
                            .map(|lane| dut.get(data, lane))
                            .collect(),
                        last: dut.get(last, 0) == 1,
                    };
                    assert_eq!(Some(&word), expected.front(), "cycle {cycle}, {size:?}");
                    if ready {
                        expected.pop_front();
                        inside -= 1;
                        ended = word.last;
                    }
                }
                assert_eq!(
                    dut.get(consumed, 0) == 1,
                    ended,
                    "cycle {cycle}: consumed_o"
                );
                assert_eq!(
                    dut.get(foreign, 0) == 1,
                    dropped,
                    "cycle {cycle}: foreign_o"
                );
                dropped = false;
                if let Some(phit) = offer.filter(|_| dut.get(pins.ready_out, 0) == 1) {
                    source.take(true);
                    queued -= 1;
                    match phit[header + 2] >> KEY_AT & 0xFF {
                        KEY => inside += (phit[header + 4] >> 12) as usize + 1,
                        _ => dropped = phit[header + 1] >> 15 == 1,
                    }
                }
                dut.clock();
            }
            // One word per cycle: with a ready sink and a busy source valid_o stays high, as
            // asserted above.
            assert!(expected.is_empty(), "{} words did not come", expected.len());
        }
        dut.reset();
    }
}
