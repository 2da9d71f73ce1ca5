//! `rma_mm_write` in every cycle against a byte-level model: addresses, data, strobes and drops.
//! The write-done token follows in the cycle after the last beat of its packet. The block waits
//! only for its port and for the taker of the tokens. Packets with more or fewer beats than their
//! header declares do not affect later packets.

use std::collections::VecDeque;

use alcor_abi::Status;
use alcor_hw_bench::{Pace, Random, Sink, Source, soak};
use rand::Rng;

use crate::rma::{Block, End};

/// Parameters of a controller in `rma_bench`.
#[derive(Debug, Clone, Copy)]
struct Config {
    lane: usize,
    /// Number of words of a beat.
    beat: u32,
    /// Depth of the task queue.
    depth: usize,
    /// Number of words of the longest payload.
    longest: u32,
}

const CONFIGS: [Config; 4] = [
    config(0, 1, 16, 128),
    config(1, 1, 2, 16),
    config(0, 8, 16, 128),
    config(1, 8, 2, 16),
];

const fn config(lane: usize, beat: u32, depth: usize, longest: u32) -> Config {
    Config {
        lane,
        beat,
        depth,
        longest,
    }
}

impl Config {
    fn start(self) -> Block {
        let prefix = if self.beat == 1 {
            "write"
        } else {
            "beat_write"
        };
        Block::start(prefix, 2, self.lane)
    }
}
const MEMORY_BYTES: u32 = 1024;

#[derive(Debug, Clone, Copy)]
struct Task {
    drop: bool,
    address: u32,
    /// Number of payload bytes that are written.
    length: u32,
    /// Number of payload words in the packet's header.
    words: u32,
    /// Number of beats of the packet.
    beats: u32,
    /// The packet is damaged: its last beat holds no data.
    cut: bool,
    note: Option<u32>,
}

/// First bit of the status in a write-done token.
const STATUS: u32 = 16;

impl Task {
    /// Number of payload words that are written.
    fn kept(&self) -> u32 {
        if self.length == 0 {
            0
        } else {
            (self.address % 4 + self.length).div_ceil(4)
        }
    }
}

#[test]
fn rma_mm_write_random() {
    CONFIGS.into_iter().for_each(random);
}

fn random(config: Config) {
    let Config {
        beat,
        depth,
        longest,
        ..
    } = config;
    let parts = beat as usize;
    let mut rng = Random::new("rma_mm_write_random");
    let mut block = config.start();
    let mut tasks: Source<Task> = Source::new(Pace::Always);
    let mut payload: Source<(Vec<u32>, End)> = Source::new(Pace::Always);
    // Expected contents of the block, and number of completed beats of the first task.
    let mut inside: VecDeque<Task> = VecDeque::new();
    let mut done = 0;
    // The memory as written, and as expected from the completed tasks.
    let mut memory = vec![0u8; MEMORY_BYTES as usize];
    let mut expected = memory.clone();
    let mut words_of_task: Vec<u32> = Vec::new();
    let (mut notes, mut writes, mut malformed) = (0, 0, 0);
    let paces = [
        Pace::Always,
        Pace::Chance(0.5),
        Pace::Chance(0.1),
        Pace::Bursts { on: 30, off: 30 },
    ];
    for _ in 0..soak(24) {
        let mut pace = || paces[rng.random_range(0..paces.len())];
        let usual = pace();
        payload.set_pace(pace());
        let (mut port, mut taker) = (Sink::new(pace()), Sink::new(pace()));
        // Payload often waits for a task.
        tasks.set_pace(if rng.random_bool(0.3) {
            Pace::Chance(0.02)
        } else {
            usual
        });
        for _ in 0..1_200 {
            if tasks.len() < 3 {
                let long = rng.random_bool(0.2);
                let address = rng.random();
                let limit = if long {
                    4 * longest - address % 4
                } else {
                    12 * beat
                };
                let mut task = Task {
                    drop: rng.random_bool(0.25),
                    address,
                    length: rng.random_range(0..=limit),
                    words: 0,
                    beats: 0,
                    cut: false,
                    note: rng.random_bool(0.5).then(|| rng.random_range(0..1 << 29)),
                };
                if rng.random() {
                    task.note = task.note.map(|note| note & !(0x1f << STATUS));
                }
                task.words = task.kept();
                if rng.random_bool(0.2) {
                    task.words = rng.random_range(task.words..=longest.max(task.words));
                }
                task.beats = task.words.div_ceil(beat);
                if rng.random_bool(0.1) {
                    // Includes excesses beyond the range of the block's counter.
                    let most = [task.beats + 1, task.beats + 70][rng.random_range(0..2)];
                    task.beats = rng.random_range(0..=most);
                }
                task.cut = task.beats > 0 && rng.random_bool(0.1);
                // Payload arrives before or after its task.
                payload.extend((1..=task.beats).map(|at| {
                    let words = (0..beat).map(|_| rng.random()).collect();
                    let end = if task.cut { End::Cut } else { End::Last };
                    (words, if at == task.beats { end } else { End::No })
                }));
                tasks.push(task);
            }
            let noise: u64 = rng.random();
            let task = tasks.offer(&mut *rng).copied();
            let (words, end) = payload.offer(&mut *rng).cloned().unzip();
            let end = end.unwrap_or(End::noise(noise >> 3));
            let (grant, taken) = (port.ready(&mut *rng), taker.ready(&mut *rng));
            block.set("task_valid_i", task.is_some());
            block.set(
                "task_drop_i",
                task.map_or(noise & 1, |task| u64::from(task.drop)),
            );
            let bare = task.map_or(noise >> 2 & 1, |task| u64::from(task.beats == 0));
            block.set("task_bare_i", bare);
            let words_by_header = task.map_or(noise, |task| u64::from(task.words));
            block.set("task_words_i", words_by_header);
            let kept = task.map_or(noise, |task| u64::from(task.kept()));
            block.set("task_kept_i", kept);
            block.set(
                "task_address_i",
                task.map_or(noise, |task| u64::from(task.address)),
            );
            let end_lane = task.map_or(noise, |task| {
                u64::from((task.address % 4 + task.length).wrapping_sub(1) % 4)
            });
            block.set("task_end_lane_i", end_lane);
            block.set(
                "task_noted_i",
                task.map_or(noise >> 1 & 1, |task| u64::from(task.note.is_some())),
            );
            block.set(
                "task_note_i",
                task.map_or(noise, |task| {
                    u64::from(task.note.unwrap_or(task.address >> 3))
                }),
            );
            block.set("in_valid_i", words.is_some());
            block.set("in_last_i", end.is_last());
            block.set("in_cut_i", end.is_cut());
            for part in 0..parts {
                let data = words
                    .as_ref()
                    .map_or(noise & 0xffff_ffff, |words| words[part].into());
                block.set_part("in_data_i", part, parts, data);
            }
            block.set("ready_i", grant);
            block.set("note_ready_i", taken);
            block.settle();

            let place = format!("{config:?}, cycle {}", block.cycle());
            let current = inside.front().copied();
            let is_moving = current.is_some_and(|task| done < task.beats);
            let kept = current.map_or(0, |task| task.kept().div_ceil(beat));
            let drops = current.is_some_and(|task| task.drop || done >= kept);
            let is_wrong =
                current.is_some_and(|task| task.cut || task.beats != task.words.div_ceil(beat));
            assert_eq!(block.is("task_ready_o"), inside.len() < depth, "{place}");
            assert_eq!(block.is("idle_o"), inside.is_empty(), "{place}");
            // An available beat is offered or dropped immediately.
            assert_eq!(
                block.is("valid_o"),
                is_moving && !drops && words.is_some(),
                "{place}"
            );
            assert_eq!(
                block.is("in_ready_o"),
                is_moving && (drops || grant),
                "{place}"
            );
            let noting = current.filter(|_| !is_moving).and_then(|task| task.note);
            assert_eq!(block.is("note_valid_o"), noting.is_some(), "{place}");
            if let Some(mut note) = noting {
                if is_wrong && note >> STATUS & 0x1f == Status::Ok as u32 {
                    let status = if current.is_some_and(|task| task.cut) {
                        Status::Damaged
                    } else {
                        Status::BadLength
                    };
                    note |= (status as u32) << STATUS;
                }
                assert_eq!(block.word("note_o"), note, "{place}");
                // The data is in memory by now.
                assert_eq!(memory, expected, "{place}");
                notes += u64::from(taken);
            }

            let mut ends = false;
            if let (Some(task), true, Some(words)) = (current, is_moving, words) {
                if drops || grant {
                    done += 1;
                    words_of_task.extend(words);
                    ends = done == task.beats && task.note.is_none();
                    if !drops {
                        let address = block.word("address_o");
                        assert_eq!(
                            address,
                            (task.address / 4).wrapping_add(beat * (done - 1)) % (1 << 30),
                            "{place}"
                        );
                        let strobe = block.word("strobe_o");
                        let data = (0..parts)
                            .flat_map(|part| {
                                (block.get_part("data_o", part, parts) as u32).to_le_bytes()
                            })
                            .collect::<Vec<u8>>();
                        for (lane, byte) in data.into_iter().enumerate() {
                            if strobe >> lane & 1 == 1 {
                                let at = address.wrapping_mul(4).wrapping_add(lane as u32)
                                    % MEMORY_BYTES;
                                memory[at as usize] = byte;
                            }
                        }
                        writes += 1;
                        if done == kept.min(task.beats) {
                            // Byte i of the transfer is byte (address + i) mod 4 of its word. A
                            // packet that is too short ends with a complete beat. The beat that cuts
                            // a packet off is not written.
                            let written = done - u32::from(task.cut && done == task.beats);
                            let came = (4 * beat * written).saturating_sub(task.address % 4);
                            for byte in 0..task.length.min(came) {
                                let place = task.address % 4 + byte;
                                let data = words_of_task[place as usize / 4].to_le_bytes()
                                    [place as usize % 4];
                                expected
                                    [(task.address.wrapping_add(byte) % MEMORY_BYTES) as usize] =
                                    data;
                            }
                            assert_eq!(memory, expected, "{place}: {task:?}");
                        }
                    }
                }
            } else if let Some(task) = current {
                ends = !is_moving && (task.note.is_none() || taken);
            }
            assert_eq!(block.is("malformed_o"), ends && is_wrong, "{place}");
            if ends {
                malformed += u64::from(is_wrong);
                inside.pop_front();
                done = 0;
                words_of_task.clear();
            }
            payload.take(block.is("in_ready_o"));
            if let Some(task) = tasks.take(block.is("task_ready_o")) {
                inside.push_back(task);
            }
            block.clock();
        }
    }
    assert!(
        notes > 50 && writes > 1_000 && malformed > 20,
        "only {notes} notes, {writes} writes and {malformed} malformed packets"
    );
}

/// One beat per cycle from task to task. A token takes one cycle.
#[test]
fn rma_mm_write_rate() {
    let mut rng = Random::new("rma_mm_write_rate");
    for (config, noted) in [(0, false), (0, true), (2, false), (2, true)] {
        let config = CONFIGS[config];
        let mut block = config.start();
        let lengths: Vec<u32> = (0..12).map(|_| rng.random_range(1..=30)).collect();
        let cycles: u64 = lengths
            .iter()
            .map(|&words| u64::from(words.div_ceil(config.beat)) + u64::from(noted))
            .sum();
        block.set("ready_i", 0u64);
        block.set("note_ready_i", 1u64);
        block.set("task_end_lane_i", 3u64);
        block.set("task_noted_i", noted);
        for &words in &lengths {
            block.set("task_valid_i", 1u64);
            block.set("task_words_i", words);
            block.set("task_kept_i", words);
            block.settle();
            assert!(block.is("task_ready_o"));
            block.clock();
        }
        block.set("task_valid_i", 0u64);
        block.set("in_valid_i", 1u64);
        block.settle();
        assert!(!block.is("idle_o"));
        block.set("ready_i", 1u64);
        let beats = lengths.iter().map(|words| words.div_ceil(config.beat));
        let mut lasts = beats.flat_map(|beats| (1..=beats).map(move |at| at == beats));
        let mut last = lasts.next();
        let mut took = 0;
        while !block.is("idle_o") {
            block.set("in_last_i", last == Some(true));
            block.settle();
            if block.is("in_ready_o") {
                last = lasts.next();
            }
            block.clock();
            block.settle();
            took += 1;
        }
        assert_eq!(took, cycles, "{config:?}, notes {noted}");
    }
}
