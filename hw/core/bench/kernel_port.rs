//! `kernel_port` against a model of commands. Each command leaves the port once and unchanged. Each
//! completion returns once, with the tag of its command. No completion of a kernel before its reset
//! reaches the kernel after the reset.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use alcor_abi::packets::{kernel_head, kernel_result};
use alcor_abi::rank::{self as page, kernel_control, kernel_status};
use alcor_abi::{KernelOpcode, Opcode, Status};
use alcor_hw_bench::{Dut, Pace, Random, Recipe, Sink, Source, soak};
use rand::Rng;

/// Parameters of `kernel_port_bench`.
const MESSAGES: u32 = 64;
const FRAGMENT: u32 = 256;
/// Commands under way at most.
const LIMIT: usize = 8;

/// A command that the port has taken.
#[derive(Debug, Clone, Copy)]
struct Taken {
    words: [u32; 9],
    /// Number of the kernel's start.
    run: u32,
}

impl Taken {
    fn opcode(&self) -> Option<KernelOpcode> {
        KernelOpcode::from_bits(kernel_head::OPCODE.get(self.words[0]))
    }

    fn tag(&self) -> u32 {
        kernel_head::TAG.get(self.words[0])
    }

    /// Opcode of the coprocessor; none for a command that the coprocessor does not get.
    fn of_coprocessor(&self) -> Option<Opcode> {
        Some(match self.opcode()? {
            KernelOpcode::Put => Opcode::XPut,
            KernelOpcode::Get => Opcode::XGet,
            KernelOpcode::Send if self.words[2] > FRAGMENT => Opcode::XAnnounce,
            KernelOpcode::Send => Opcode::XSend,
            KernelOpcode::Receive => Opcode::XReceive,
            KernelOpcode::Probe => Opcode::XProbe,
            KernelOpcode::Barrier => Opcode::Barrier,
            // Bits 4 to 0 of the last word: size of the word, and operation.
            KernelOpcode::Atomic => Opcode::from_bits(0x40 + (self.words[8] & 0x1F))?,
            KernelOpcode::Collective => return None,
        })
    }
}

/// A completion that the kernel must get: tag, status, source, message tag, length.
type Owed = (u32, u32, u32, u32, u32);

/// An outstanding command, and the cycle of its end.
struct UnderWay {
    taken: Taken,
    ends: u64,
}

/// The port, after its reset.
pub(crate) fn start() -> Dut {
    let recipe = Recipe::new("kernel_port_bench", "kernel_port_bench")
        .blocks(&["abi", "common"])
        .source("core/rtl/kernel_port.sv")
        .source("core/bench/kernel_port_bench.sv");
    let mut dut = Dut::start(&recipe);
    dut.reset();
    dut
}

#[test]
fn kernel_port_random() {
    let mut rng = Random::new("kernel_port_random");
    let mut dut = start();
    let paces = [
        (Pace::Always, Pace::Always, 0.9, 20, 0.0),
        (Pace::Chance(0.5), Pace::Chance(0.5), 0.5, 60, 0.001),
        (Pace::Always, Pace::Chance(0.05), 0.9, 10, 0.002),
        (
            Pace::Bursts { on: 20, off: 60 },
            Pace::Bursts { on: 4, off: 60 },
            0.3,
            200,
            0.003,
        ),
        (Pace::Always, Pace::Always, 1.0, 3, 0.01),
    ];
    let (mut full, mut told, mut forgotten) = (0, 0, 0);
    for (give, take, ready, latency, restart) in paces {
        let mut source: Source<[u32; 9]> = Source::new(give);
        let mut sink = Sink::new(take);
        let (mut run, mut running) = (0u32, false);
        // The command in the port; the command whose operands are in use; outstanding commands;
        // expected completions.
        let mut waiting: Option<Taken> = None;
        let mut operands: Option<(Taken, u64)> = None;
        let mut under_way: BTreeMap<u32, UnderWay> = BTreeMap::new();
        let mut owed: Vec<Owed> = Vec::new();
        let mut starts: VecDeque<(u32, u32)> = VecDeque::new();
        let (mut commands, mut completions) = (
            counter(&mut dut, page::KERNEL_COMMANDS),
            counter(&mut dut, page::KERNEL_COMPLETIONS),
        );
        let mut last = 0;
        starts.push_back((page::KERNEL_CONTROL, kernel_control::START.mask()));
        for _ in 0..soak(15_000) {
            let now = dut.cycle();
            if source.len() < 4 {
                source.push(command(&mut rng));
            }
            // A page write.
            if rng.random_bool(restart) {
                let stop = rng.random_bool(0.3);
                if stop {
                    starts.push_back((page::KERNEL_CONTROL, kernel_control::STOP.mask()));
                }
                starts.push_back((page::KERNEL_CONTROL, kernel_control::START.mask()));
            }
            let drain = rng.random_bool(restart / 3.0);
            if drain {
                starts.push_back((page::KERNEL_CONTROL, kernel_control::START.mask()));
            }
            let write = starts.pop_front();
            dut.drive("drain_i", 1, 0, drain);
            dut.drive("page_write_i", 1, 0, write.is_some());
            dut.drive("page_offset_i", 1, 0, write.map_or(0, |(offset, _)| offset));
            dut.drive("page_data_i", 1, 0, write.map_or(0, |(_, data)| data));
            dut.drive("begun_i", 1, 0, 1u32);
            let memory_idle = rng.random_bool(0.9);
            dut.drive("memory_idle_i", 1, 0, memory_idle);

            // The kernel: in reset it gives no commands.
            dut.settle();
            let is_out_of_reset = dut.look("kernel_rst_no", 1, 0) == 1;
            let offered = if is_out_of_reset {
                source.offer(&mut *rng).copied()
            } else {
                source.clear();
                None
            };
            dut.drive("command_valid_i", 1, 0, offered.is_some());
            for (lane, word) in offered
                .unwrap_or_else(|| rng.random())
                .into_iter()
                .enumerate()
            {
                dut.drive("command_i", 9, lane, word);
            }
            let takes = sink.ready(&mut *rng);
            dut.drive("completion_ready_i", 1, 0, takes);

            // The rank.
            let accepts = rng.random_bool(ready);
            dut.drive("ready_i", 1, 0, accepts);
            dut.drive("post_ready_i", 1, 0, accepts);
            let operands_done = operands.is_some_and(|(_, at)| at <= now);
            dut.drive("done_i", 1, 0, operands_done);
            let mut lanes = BTreeSet::new();
            let mut barrier = None;
            for lane in 0..4 {
                dut.drive("end_valid_i", 4, lane, false);
                dut.drive("end_slot_i", 4, lane, rng.random_range(0..8u32));
                dut.drive("end_status_i", 4, lane, rng.random_range(0..24u32));
            }
            dut.drive("barrier_i", 1, 0, false);
            let (from, tag, length) = (
                rng.random::<u8>(),
                rng.random_range(0..1u32 << 26),
                rng.random::<u32>(),
            );
            dut.drive("source_i", 1, 0, from);
            dut.drive("message_tag_i", 1, 0, tag);
            dut.drive("message_length_i", 1, 0, length);
            let ending: Vec<u32> = under_way
                .iter()
                .filter(|(_, it)| it.ends <= now)
                .map(|(slot, _)| *slot)
                .collect();
            let mut ended = Vec::new();
            for slot in ending {
                let it = &under_way[&slot];
                let status = rng.random_range(0..24u32);
                let lane = match it.taken.opcode() {
                    Some(KernelOpcode::Barrier) => continue,
                    Some(KernelOpcode::Collective) => 2,
                    Some(KernelOpcode::Receive | KernelOpcode::Probe) => 3,
                    _ => rng.random_range(0..2),
                };
                if !lanes.insert(lane) {
                    continue;
                }
                dut.drive("end_valid_i", 4, lane, true);
                dut.drive("end_slot_i", 4, lane, slot);
                dut.drive("end_status_i", 4, lane, status);
                let (source, message_tag, bytes) = if lane == 3 {
                    (u32::from(from), tag, length)
                } else {
                    (0, 0, 0)
                };
                ended.push((slot, (it.taken.tag(), status, source, message_tag, bytes)));
            }
            // A barrier ends in the pipeline, with its operands.
            if let Some((it, _)) = operands
                .filter(|(it, _)| operands_done && it.opcode() == Some(KernelOpcode::Barrier))
            {
                let status = rng.random_range(0..24u32);
                dut.drive("barrier_i", 1, 0, true);
                dut.drive("barrier_status_i", 1, 0, status);
                let slot = *under_way
                    .iter()
                    .find(|(_, known)| known.taken.words == it.words && known.taken.run == it.run)
                    .unwrap()
                    .0;
                barrier = Some((slot, (it.tag(), status, 0, 0, 0)));
            }
            dut.settle();

            let place = format!("cycle {now}");
            let stops = write.is_some() || drain;
            // The command that leaves is the command that came.
            let valid = dut.look("valid_o", 1, 0) == 1;
            let posts = dut.look("post_o", 289, 288) == 1;
            let busy = dut.look("busy_o", 1, 0) == 1;
            assert_eq!(busy, posts || !memory_idle, "{place}: busy_o");
            if valid || posts {
                let it = waiting.unwrap_or_else(|| panic!("{place}: a command from nowhere"));
                let data;
                if valid {
                    let opcode = it
                        .of_coprocessor()
                        .unwrap_or_else(|| panic!("{place}: {it:?}"));
                    assert_eq!(dut.look("opcode_o", 1, 0), opcode as u64, "{place}");
                    if opcode != Opcode::Barrier {
                        let compare = u64::from(it.words[5]) << 32 | u64::from(it.words[4]);
                        assert_eq!(dut.look("compare_o", 1, 0), compare, "{place}");
                        for (name, word) in [
                            ("address_o", 1),
                            ("length_o", 2),
                            ("offset_o", 3),
                            ("tag_o", 3),
                        ] {
                            assert_eq!(
                                dut.look(name, 1, 0),
                                u64::from(it.words[word]),
                                "{place}: {name}"
                            );
                        }
                    }
                    data = dut.look("data_o", 1, 0) as u32;
                    assert_eq!(
                        data >> 24,
                        kernel_head::RANK.get(it.words[0]),
                        "{place}: rank"
                    );
                    assert_eq!(
                        data >> 16 & 0xFF,
                        kernel_head::SLOT.get(it.words[0]),
                        "{place}: slot"
                    );
                } else {
                    assert_eq!(it.opcode(), Some(KernelOpcode::Collective), "{place}");
                    // kernel_post_t, lowest first: go, then the operands in the order of the
                    // command.
                    let word = |number: usize| {
                        (0..32).fold(0, |word, bit| {
                            word | (dut.look("post_o", 289, 32 * number + bit) as u32) << bit
                        })
                    };
                    let found: Vec<u32> = (1..9).map(word).collect();
                    assert_eq!(found, it.words[1..], "{place}");
                    data = word(0);
                    assert_eq!(
                        data >> 16,
                        kernel_head::SLOT.get(it.words[0]) & 31,
                        "{place}: communicator"
                    );
                }
                if accepts {
                    let id = data & 0xFFFF;
                    assert!(
                        id >= MESSAGES - LIMIT as u32 && id < MESSAGES,
                        "{place}: id {id}"
                    );
                    let slot = id & 7;
                    let ends = now + 2 + rng.random_range(0..=latency);
                    let before = under_way.insert(slot, UnderWay { taken: it, ends });
                    assert!(before.is_none(), "{place}: slot {slot} has two commands");
                    let is_send = |it: &&UnderWay| it.taken.opcode() == Some(KernelOpcode::Send);
                    assert!(
                        under_way.values().filter(is_send).count() <= 1,
                        "{place}: two sends"
                    );
                    full += usize::from(under_way.len() == LIMIT);
                    waiting = None;
                    if valid {
                        operands = Some((it, now + rng.random_range(1..6)));
                    }
                }
            }
            let has_taken = offered.is_some() && dut.look("command_ready_o", 1, 0) == 1;
            if let Some(words) = source.take(has_taken) {
                assert!(waiting.is_none(), "{place}: two commands on their way");
                let it = Taken { words, run };
                commands += 1;
                last = words[0];
                let is_collective = it.opcode() == Some(KernelOpcode::Collective);
                if is_collective || it.of_coprocessor().is_some() {
                    waiting = Some(it);
                } else {
                    // A command without a meaning ends in the port.
                    owed.push((it.tag(), Status::BadCommand as u32, 0, 0, 0));
                }
            }
            // A completion belongs to a command of this start.
            if dut.look("completion_valid_o", 1, 0) == 1 && takes && running && is_out_of_reset {
                let word = |lane| dut.look("completion_o", 3, lane) as u32;
                let (result, message_tag, bytes) = (word(0), word(1), word(2));
                let found = (
                    kernel_result::TAG.get(result),
                    kernel_result::STATUS.get(result),
                    kernel_result::SOURCE.get(result),
                    message_tag,
                    bytes,
                );
                let known = owed.iter().position(|it| *it == found);
                owed.swap_remove(
                    known.unwrap_or_else(|| panic!("{place}: {found:?} of none of {owed:?}")),
                );
                completions += 1;
                told += 1;
            }
            for (slot, completion) in ended.into_iter().chain(barrier) {
                let it = under_way.remove(&slot).unwrap();
                // A completion in the cycle of a stop belongs to the stopped kernel.
                if it.taken.run == run && !stops {
                    owed.push(completion);
                } else {
                    forgotten += 1;
                }
            }
            if operands_done {
                operands = None;
            }
            if stops {
                run += 1;
                owed.clear();
            }
            running = is_out_of_reset && !stops;
            dut.clock();
        }
        // All commands end, and the kernel gets their completions.
        assert_eq!(counter(&mut dut, page::KERNEL_COMMANDS), commands);
        assert_eq!(counter(&mut dut, page::KERNEL_COMPLETIONS), completions);
        assert_eq!(counter(&mut dut, page::KERNEL_LAST), last);
        let status = counter(&mut dut, page::KERNEL_STATUS);
        let outstanding = kernel_status::OUTSTANDING.get(status) as usize;
        assert!(
            outstanding <= LIMIT && outstanding >= under_way.len(),
            "{outstanding} of {}",
            under_way.len()
        );
        dut.reset();
    }
    assert!(
        full > 20 && told > 500 && forgotten > 10,
        "{full} full, {told} told, {forgotten} forgotten"
    );
}

/// Start, end and reset of the kernel, and its registers, in random order and at random times.
#[test]
fn kernel_port_registers() {
    /// Cycles from the beginning of the kernel's reset to the earliest end.
    const RESET: u64 = 9;
    let mut rng = Random::new("kernel_port_registers");
    let mut dut = start();
    let mut arguments = [0u32; 16];
    // Model: a start is pending; the kernel runs; the kernel has been done since its start; the
    // cause is set.
    let (mut pending, mut runs, mut finished, mut done, mut code) = (false, false, false, false, 0);
    let (mut begun, mut drain, mut idle) = (false, false, true);
    let (mut was_begun, mut last_run) = (false, None::<u64>);
    let (mut ends, mut running) = (0, 0);
    for _ in 0..soak(40_000) {
        let now = dut.cycle();
        let place = format!("cycle {now}");
        // Levels that last for some cycles.
        if rng.random_bool(if begun { 0.005 } else { 0.1 }) {
            begun = !begun;
        }
        if rng.random_bool(if drain { 0.2 } else { 0.005 }) {
            drain = !drain;
        }
        if rng.random_bool(if idle { 0.02 } else { 0.1 }) {
            idle = !idle;
        }
        let is_control = rng.random_bool(0.5);
        let offset = if is_control {
            page::KERNEL_CONTROL
        } else {
            // All registers of the kernel, and those beside them.
            rng.random_range(0x5F0 / 4..0x810 / 4) * 4
        };
        // Few starts and stops, so that the kernel runs for some cycles.
        let bits = [
            (kernel_control::START, 0.08),
            (kernel_control::STOP, 0.03),
            (kernel_control::ACKNOWLEDGE, 0.3),
        ];
        let bits = bits.map(|(bit, chance)| {
            if rng.random_bool(chance) {
                bit.mask()
            } else {
                0
            }
        });
        let data = if offset == page::KERNEL_CONTROL {
            bits[0] | bits[1] | bits[2]
        } else {
            rng.random()
        };
        let write = rng.random_bool(0.5);
        let is_done = rng.random_bool(0.1);
        let given: u8 = rng.random();
        let results: [u32; 8] = rng.random();
        dut.drive("page_write_i", 1, 0, write);
        dut.drive("page_offset_i", 1, 0, offset);
        dut.drive("page_data_i", 1, 0, data);
        dut.drive("begun_i", 1, 0, begun);
        dut.drive("drain_i", 1, 0, drain);
        dut.drive("memory_idle_i", 1, 0, idle);
        dut.drive("kernel_done_i", 1, 0, is_done);
        dut.drive("code_i", 1, 0, given);
        for (lane, &result) in results.iter().enumerate() {
            dut.drive("results_i", 8, lane, result);
        }
        dut.settle();

        assert_eq!(
            dut.look("kernel_rst_no", 1, 0) == 1,
            runs,
            "{place}: kernel_rst_no"
        );
        assert_eq!(dut.look("done_o", 1, 0) == 1, done, "{place}: done_o");
        assert_eq!(dut.look("busy_o", 1, 0) == 1, !idle, "{place}: busy_o");
        for (lane, &argument) in arguments.iter().enumerate() {
            let found = dut.look("arguments_o", 16, lane) as u32;
            assert_eq!(found, argument, "{place}: argument {lane}");
        }
        // Any register; those of other blocks read as 0.
        let asked = if rng.random_bool(0.3) {
            page::KERNEL_STATUS
        } else {
            rng.random_range(0..0x400) * 4
        };
        dut.drive("read_offset_i", 1, 0, asked);
        dut.settle();
        let found = dut.look("read_data_o", 1, 0) as u32;
        let status = kernel_status::PRESENT.mask()
            | kernel_status::RUNNING.put(u32::from(runs || pending))
            | kernel_status::DONE.put(u32::from(done))
            | kernel_status::CODE.put(u32::from(code))
            | kernel_status::LIMIT.put(LIMIT as u32)
            | kernel_status::BEAT.put(4);
        let expected = match asked {
            page::KERNEL_STATUS => status,
            _ => {
                let lane = asked.wrapping_sub(page::KERNEL_RESULT) / 4;
                results.get(lane as usize).copied().unwrap_or(0)
            }
        };
        assert_eq!(found, expected, "{place}: register {asked:#x}");

        // The model's step.
        let control = if write && offset == page::KERNEL_CONTROL {
            data
        } else {
            0
        };
        let is_set = |bit: u32| control & bit != 0;
        let (starts, stops) = (
            is_set(kernel_control::START.mask()),
            is_set(kernel_control::STOP.mask()),
        );
        if write
            && let Some(argument) =
                arguments.get_mut(offset.wrapping_sub(page::KERNEL_ARGUMENT) as usize / 4)
        {
            *argument = data;
        }
        if runs {
            last_run = Some(now);
            running += 1;
        }
        if drain || begun != was_begun || starts || stops {
            pending = (starts || (pending && !stops)) && !drain;
            (runs, finished, done, code) = (false, false, false, 0);
        } else {
            if runs && is_done && !finished {
                (finished, done, code) = (true, true, given);
                ends += 1;
            } else if is_set(kernel_control::ACKNOWLEDGE.mask()) {
                done = false;
            }
            let is_cool = last_run.is_none_or(|last| now - last >= RESET);
            if pending && begun && idle && is_cool {
                (pending, runs) = (false, true);
            }
        }
        was_begun = begun;
        dut.clock();
    }
    assert!(
        ends > 100 && running > 1000,
        "{ends} ends, {running} cycles of running"
    );
}

/// A register's value.
fn counter(dut: &mut Dut, offset: u32) -> u32 {
    dut.drive("page_write_i", 1, 0, false);
    dut.drive("read_offset_i", 1, 0, offset);
    dut.settle();
    dut.look("read_data_o", 1, 0) as u32
}

fn command(rng: &mut Random) -> [u32; 9] {
    let mut words: [u32; 9] = rng.random();
    let opcode = if rng.random_bool(0.05) {
        // No opcode of a kernel: 0 or above the last one.
        rng.random_range(8..257) % 256
    } else {
        rng.random_range(1..8u32)
    };
    words[0] = words[0] & !kernel_head::OPCODE.mask() | opcode;
    // Short and long messages.
    if rng.random_bool(0.7) {
        words[2] = rng.random_range(0..2 * FRAGMENT);
    }
    words
}
