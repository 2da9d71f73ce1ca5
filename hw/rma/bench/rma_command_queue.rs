//! `rma_command_queue` in every cycle, against a model of its queues.

use std::collections::VecDeque;

use alcor_abi::Opcode;
use alcor_hw_bench::{Pace, Random, Sink, soak};
use rand::Rng;

use crate::rma::Block;

/// Depths of the queues in `rma_bench`.
const DEPTHS: [usize; 2] = [2, 64];

/// A register write by the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Write {
    opcode: u8,
    data: u32,
}

fn random_write(rng: &mut Random, data: u32) -> Write {
    let opcode = match rng.random_range(0..20) {
        0 => Opcode::Abort as u8,
        1..=9 => Opcode::Data8 as u8,
        10..=16 => Opcode::ALL[rng.random_range(0..Opcode::ALL.len())] as u8,
        // Includes invalid opcodes: the pipeline rejects them, not the queue.
        _ => rng.random(),
    };
    Write { opcode, data }
}

#[test]
fn rma_command_queue_random() {
    for (lane, depth) in DEPTHS.into_iter().enumerate() {
        random(lane, depth);
    }
}

fn random(lane: usize, depth: usize) {
    let mut rng = Random::new("rma_command_queue_random");
    let mut block = Block::start("queue", DEPTHS.len(), lane);
    let mut commands: VecDeque<Write> = VecDeque::new();
    let mut triples: VecDeque<u32> = VecDeque::new();
    let mut gathered: Vec<u32> = Vec::new();
    let (mut taken, mut lost, mut barred) = (0, 0, 0);
    // A loss that the host has not acknowledged.
    let mut blocked = false;
    let paces = [
        (0.9, Pace::Chance(0.5), Pace::Chance(0.5)),
        (1.0, Pace::Always, Pace::Always),
        (1.0, Pace::Chance(0.2), Pace::Bursts { on: 90, off: 300 }),
        (0.3, Pace::Always, Pace::Always),
        (1.0, Pace::Bursts { on: 90, off: 90 }, Pace::Chance(0.05)),
    ];
    for (busy, command_pace, data8_pace) in paces {
        let (mut command_sink, mut data8_sink) = (Sink::new(command_pace), Sink::new(data8_pace));
        for _ in 0..soak(3_000) {
            let noise = rng.random();
            let write = rng.random_bool(busy).then(|| random_write(&mut rng, noise));
            let ready = (command_sink.ready(&mut *rng), data8_sink.ready(&mut *rng));
            block.set("write_i", write.is_some());
            block.set("opcode_i", write.map_or(noise as u8, |write| write.opcode));
            block.set("data_i", noise);
            block.set("blocked_i", blocked);
            block.set("command_ready_i", ready.0);
            block.set("data8_ready_i", ready.1);
            block.settle();

            let place = format!("depth {depth}, cycle {}", block.cycle());
            assert_eq!(block.is("command_valid_o"), !commands.is_empty(), "{place}");
            if let Some(&front) = commands.front() {
                let found = Write {
                    opcode: block.get("command_opcode_o") as u8,
                    data: block.word("command_data_o"),
                };
                assert_eq!(found, front, "{place}");
            }
            assert_eq!(block.is("data8_valid_o"), !triples.is_empty(), "{place}");
            if let Some(&front) = triples.front() {
                assert_eq!(block.word("data8_o"), front, "{place}");
            }

            // Free space is the space before this cycle's entry leaves.
            let (room, room8) = (commands.len() < depth, triples.len() < depth);
            if ready.0 {
                taken += u64::from(commands.pop_front().is_some());
            }
            if ready.1 {
                triples.pop_front();
            }
            let mut overflow = false;
            let is_abort = write.is_some_and(|write| write.opcode == Opcode::Abort as u8);
            match write {
                _ if blocked => {
                    gathered.clear();
                    overflow = write.is_some() && !is_abort;
                    barred += u64::from(overflow);
                }
                Some(write) if write.opcode == Opcode::Data8 as u8 => {
                    gathered.push(write.data & 0xff);
                    if let [dpid, len, off] = gathered[..] {
                        gathered.clear();
                        overflow = !room8;
                        if room8 {
                            triples.push_back(dpid << 16 | len << 8 | off);
                        }
                    }
                }
                Some(write) if !is_abort => {
                    overflow = !room;
                    if room {
                        commands.push_back(write);
                    }
                }
                _ => {}
            }
            lost += u64::from(overflow);
            blocked = overflow || (blocked && rng.random_bool(0.8));
            assert_eq!(block.is("overflow_o"), overflow, "{place}");
            assert_eq!(block.is("written_o"), write.is_some(), "{place}");
            // Immediately, for any contents of the queue.
            assert_eq!(block.is("abort_o"), is_abort, "{place}");
            if is_abort {
                assert_eq!(block.word("abort_reason_o"), noise & 0xff, "{place}");
            }
            block.clock();
        }
    }
    assert!(
        taken > 2_000 && lost > 200 && barred > 100,
        "{taken} commands taken, {lost} writes lost, {barred} of them behind another"
    );
}
