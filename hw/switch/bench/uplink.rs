//! `uplink_tx` and `uplink_rx`: words to phits and back, each against a model of its own.

use std::collections::VecDeque;

use alcor_hw_bench::{Dut, Pace, Pin, Random, Recipe, Sink, Source, soak};
use rand::Rng;

/// (bits of data in a phit, words in it) of the models.
const SIZES: [(u64, usize); 2] = [(64, 2), (512, 16)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Word {
    data: u64,
    last: bool,
}

/// A phit as lanes of 16 bits: data, header, position.
type Lanes = Vec<u64>;

/// The phits of a packet, as the formats in hw/abi say.
fn phits(packet: &[u64], words: usize) -> Vec<Lanes> {
    let dest = packet[0] >> 24;
    let count = packet.len().div_ceil(words);
    let phit = |(index, part): (usize, &[u64])| {
        let mut lanes = vec![0; 2 * words + 5];
        for (at, word) in part.iter().enumerate() {
            lanes[2 * at] = word & 0xffff;
            lanes[2 * at + 1] = word >> 16;
        }
        lanes[2 * words] = dest;
        lanes[2 * words + 1] = u64::from(index + 1 == count) << 15;
        lanes[2 * words + 4] = (part.len() as u64 - 1) << 12;
        lanes
    };
    packet.chunks(words).enumerate().map(phit).collect()
}

fn packet(rng: &mut Random) -> Vec<u64> {
    let longest = if rng.random() { 4 } else { 40 };
    let length = rng.random_range(1..longest);
    (0..length)
        .map(|_| u64::from(rng.random::<u32>()))
        .collect()
}

struct Pins {
    valid_in: Pin,
    ready_out: Pin,
    valid_out: Pin,
    ready_in: Pin,
    empty: Pin,
}

fn start(top: &str, phit_w: u64) -> (Dut, Pins) {
    let recipe = Recipe::new(top, top)
        .blocks(&["abi", "common"])
        .source(&format!("switch/rtl/{top}.sv"))
        .param("PHIT_W", phit_w);
    let mut dut = Dut::start(&recipe);
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
    for (phit_w, words) in SIZES {
        let (mut dut, pins) = start("uplink_tx", phit_w);
        let (data, last, sent) = (dut.pin("data_i"), dut.pin("last_i"), dut.pin("sent_o"));
        let lanes = dut.lanes("phit_o", 2 * words + 5);
        let mut rng = Random::new("uplink tx");
        for (source_pace, sink_pace) in PACES {
            let (mut source, mut sink) = (Source::new(source_pace), Sink::new(sink_pace));
            let mut expected: VecDeque<(Lanes, bool)> = VecDeque::new();
            let (mut begins, mut stalled, mut queued) = (true, 0, 0);
            let (mut accepted, mut complete) = (0usize, VecDeque::new());
            for cycle in 0..soak(2000) + 6000 {
                // Whole packets only, and none near the end.
                if cycle > soak(2000) && expected.is_empty() {
                    break;
                }
                if queued < 200 && cycle < soak(2000) {
                    let packet = packet(&mut rng);
                    for (index, &data) in packet.iter().enumerate() {
                        source.push(Word {
                            data,
                            last: index + 1 == packet.len(),
                        });
                    }
                    let all = phits(&packet, words);
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
                let offer = source.offer(&mut *rng).copied();
                let word = offer.unwrap_or(Word {
                    data: u64::from(rng.random::<u32>()),
                    last: rng.random(),
                });
                dut.set(pins.valid_in, 0, u64::from(offer.is_some()));
                dut.set(data, 0, word.data);
                dut.set(last, 0, u64::from(word.last));
                let ready = sink.ready(&mut *rng);
                dut.set(pins.ready_in, 0, u64::from(ready));
                dut.settle();
                // A phit is on offer in the cycle after its last word, unless one is in its way.
                let due = complete.front().is_some_and(|&length| accepted >= length);
                assert_eq!(
                    dut.get(pins.valid_out, 0) == 1,
                    due,
                    "cycle {cycle}: valid_o"
                );
                let held = accepted > 0 || !begins;
                assert_eq!(dut.get(pins.empty, 0) == 0, held, "cycle {cycle}: empty_o");
                if due && ready {
                    let phit: Lanes = (0..2 * words + 5)
                        .map(|lane| dut.get(lanes, lane))
                        .collect();
                    let next = expected.pop_front().map(|(phit, _)| phit);
                    assert_eq!(Some(phit), next, "cycle {cycle}, {phit_w} bits");
                    accepted -= complete.pop_front().unwrap_or(0);
                }
                let take = offer.is_some() && dut.get(pins.ready_out, 0) == 1;
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
                } else if offer.is_some() {
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
    for (phit_w, words) in SIZES {
        let (mut dut, pins) = start("uplink_rx", phit_w);
        let (data, last, consumed) = (dut.pin("data_o"), dut.pin("last_o"), dut.pin("consumed_o"));
        let lanes = dut.lanes("phit_i", 2 * words + 5);
        let hold = dut.pin("hold_i");
        let mut held = false;
        let mut rng = Random::new("uplink rx");
        for (source_pace, sink_pace) in PACES {
            let (mut source, mut sink) = (Source::new(source_pace), Sink::new(sink_pace));
            let mut expected: VecDeque<Word> = VecDeque::new();
            let mut inside = 0usize;
            let mut queued = 0;
            for cycle in 0..soak(2000) + 6000 {
                if cycle > soak(2000) && expected.is_empty() {
                    break;
                }
                if queued < 20 && cycle < soak(2000) {
                    let packet = packet(&mut rng);
                    for (index, &data) in packet.iter().enumerate() {
                        expected.push_back(Word {
                            data,
                            last: index + 1 == packet.len(),
                        });
                    }
                    for mut phit in phits(&packet, words) {
                        // Of the header only `last` counts, of the position only the number of words.
                        phit[2 * words] = rng.random::<u64>() & 0xffff;
                        phit[2 * words + 2] = rng.random::<u64>() & 0xffff;
                        phit[2 * words + 3] = rng.random::<u64>() & 0xffff;
                        source.push(phit);
                        queued += 1;
                    }
                }
                let offer = source.offer(&mut *rng).cloned();
                dut.set(pins.valid_in, 0, u64::from(offer.is_some()));
                for lane in 0..2 * words + 5 {
                    let value = offer
                        .as_ref()
                        .map_or_else(|| rng.random(), |phit| phit[lane]);
                    dut.set(lanes, lane, value);
                }
                let ready = sink.ready(&mut *rng);
                dut.set(pins.ready_in, 0, u64::from(ready));
                // For a while now and then.
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
                        data: dut.get(data, 0),
                        last: dut.get(last, 0) == 1,
                    };
                    assert_eq!(
                        Some(&word),
                        expected.front(),
                        "cycle {cycle}, {phit_w} bits"
                    );
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
                if let Some(phit) = offer.filter(|_| dut.get(pins.ready_out, 0) == 1) {
                    source.take(true);
                    queued -= 1;
                    inside += (phit[2 * words + 4] >> 12) as usize + 1;
                }
                dut.clock();
            }
            // A word a cycle: with ready sinks and a busy source valid_o never falls, as is asserted above.
            assert!(expected.is_empty(), "{} words did not come", expected.len());
        }
        dut.reset();
    }
}
