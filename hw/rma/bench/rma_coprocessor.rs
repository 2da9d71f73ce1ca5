//! The whole coprocessor, with beats of one word and of eight words. Sent packets are compared word
//! by word: the paper's packets with words built from the paper's figures 5 and 6, extended packets
//! with a model that splits transfers. The effects of received packets are compared in memory and
//! in the completion ring, with the network looped back to the coprocessor.
//!
//! The bench models node memory, network and the other ranks, all with random stalls.

use std::collections::{BTreeMap, VecDeque};

use alcor_abi::packets::{
    cq_entry, message, message_id, x_accumulate, x_atomic, x_commit, x_data, x_header, x_length,
    x_message, x_old, x_operation, x_reduction, x_tag,
};
use alcor_abi::rank;
use alcor_abi::{
    AccumulateOperation, AtomicOperation, Datatype, Opcode, PacketType, Status, SyncKind,
};
use alcor_hw_bench::{Answers, Pace, Random, Recipe, Sink, Source, soak};
use rand::Rng;

use crate::rma::{Block, End};

#[path = "rma_coprocessor/extended.rs"]
mod extended;
#[path = "rma_coprocessor/messages.rs"]
mod messages;
#[path = "rma_coprocessor/operations.rs"]
mod operations;
#[path = "rma_coprocessor/paper.rs"]
mod paper;
#[path = "rma_coprocessor/programs.rs"]
mod programs;
#[path = "rma_coprocessor/refusals.rs"]
mod refusals;

use extended::{cut_headers, extended, extended_packets, lengths};
use messages::{Entry, messages};
use operations::{Operands, accumulate_packets, atomic_packet, operations};
use paper::{paper_packets, paper_served, paper_word};
use programs::programs;
use refusals::refusals;

const LANES: usize = 2;
const NODE_BYTES: u32 = 65_536;
const REQUEST: usize = 0;
const REPLY: usize = 1;
/// Number of ranks that the network of the instances reaches.
const DESTS: u32 = 16;
/// Maximum number of bytes of an eager message.
const FRAGMENT: u32 = 64;

/// An instance in `rma_coprocessor_bench`.
#[derive(Debug, Clone, Copy)]
struct Config {
    lane: usize,
    /// Number of words of a beat.
    beat: usize,
    slots: u32,
    /// Payload bytes of an extended packet.
    payload: u32,
    /// Maximum number of outstanding commands of the host.
    commands: u32,
    latency: usize,
    /// Number of ids of messages; 0 without a message engine.
    messages: u32,
    /// Number of ranks that the board admits to a run.
    ranks: u32,
}

const CONFIGS: [Config; 4] = [
    DEFAULT,
    SMALLEST,
    Config { beat: 8, ..DEFAULT },
    Config {
        beat: 8,
        ..SMALLEST
    },
];

const DEFAULT: Config = Config {
    lane: 0,
    beat: 1,
    slots: 32,
    payload: 512,
    commands: 64,
    latency: 1,
    messages: 32,
    ranks: 20,
};

const SMALLEST: Config = Config {
    lane: 1,
    beat: 1,
    slots: 4,
    payload: 64,
    commands: 8,
    latency: 3,
    messages: 0,
    ranks: 6,
};

/// A beat of a packet, and whether it ends the packet.
type Beat = (Vec<u32>, End);

/// Number of header words of a packet, by type. The data of a PUT-1 is one of them.
fn header_words(packet: &[u32]) -> usize {
    match packet[0] >> 21 & 7 {
        0b101 if is_set(x_atomic::ATOMIC, packet[0]) => {
            let values = 1 + x_atomic::COMPARE.get(packet[0]);
            3 + (values << x_atomic::WIDE.get(packet[0])) as usize
        }
        0b100 if is_set(x_accumulate::ACCUMULATE, packet[0]) => {
            4 + x_accumulate::FETCH.get(packet[0]) as usize
        }
        0b000 | 0b101 => 4,
        0b100 | 0b110 => 3,
        0b001 | 0b011 => 2,
        _ => 1,
    }
}

impl Config {
    /// Beats of a packet. With beats of several words, each header word has a separate beat, and
    /// the payload starts in the next beat.
    fn beats(self, packet: &[u32], rng: &mut Random) -> Vec<Beat> {
        let (header, payload) = match self.beat {
            1 => packet.split_at(0),
            _ => packet.split_at(header_words(packet)),
        };
        let mut beats: Vec<Vec<u32>> = [header]
            .into_iter()
            .filter(|header| !header.is_empty())
            .chain(payload.chunks(self.beat))
            .map(<[u32]>::to_vec)
            .collect();
        for beat in &mut beats {
            beat.resize_with(self.beat, || rng.random());
        }
        let count = beats.len();
        let last = |(at, beat)| (beat, End::of(at + 1 == count));
        beats.into_iter().enumerate().map(last).collect()
    }

    /// Words of a packet received in beats.
    fn words(self, beats: Vec<Vec<u32>>) -> Vec<u32> {
        if self.beat == 1 {
            return beats.concat();
        }
        let header = &beats[0];
        let alone = beats.len() == 1;
        let kind = header[0] >> 21 & 7;
        // The reply to a GET of one word is a PUT-1 with data from memory, which has a beat of its
        // own.
        let heads = if kind == 0b001 && !alone {
            1
        } else {
            header_words(header)
        };
        assert!(header[heads..].iter().all(|&word| word == 0));
        let is_last = is_set(x_header::LAST, header[0]);
        let (lane, length) = (header[1] % 4, header[2]);
        let bytes = match kind {
            0b010 | 0b001 if !alone => 4 * ((header[0] >> 16 & 31) - 1),
            0b100 if is_last => length & 0xffff,
            0b100 => self.payload - lane,
            0b110 => length & 0xffff,
            // An eager message: its first byte is in lane 0.
            0b000 if !is_set(message::ANNOUNCE, header[0]) => length,
            _ => 0,
        };
        let lane = if kind & 0b100 == 0 { 0 } else { lane };
        let words = if bytes == 0 {
            0
        } else {
            (lane + bytes).div_ceil(4) as usize
        };
        assert_eq!(beats.len() - 1, words.div_ceil(self.beat), "{beats:x?}");
        let payload = beats[1..].concat();
        [&header[..heads], &payload[..words]].concat()
    }
}

/// Address and size of the completion ring.
const RING: u32 = 0xf000;
const RING_LOG2: u32 = 6;

/// Returns whether a one-bit field is set.
fn is_set(field: alcor_abi::Field, word: u32) -> bool {
    field.get(word) != 0
}

struct Bench {
    config: Config,
    rng: Random,
    block: Block,
    me: u32,
    nprocs: u32,
    memory: Vec<u8>,
    /// Reads in flight: address, and the words at the time of the grant.
    flight: Answers<(u32, Vec<u32>)>,
    /// Writes by the host: offset in the page, data.
    host: Source<(u32, u32)>,
    /// Number of written commands that use credits.
    commands: u32,
    read_grants: Sink,
    write_grants: Sink,
    sinks: [Sink; 2],
    sources: [Source<Beat>; 2],
    /// Whether the network is looped back.
    looped: bool,
    /// Whether an opcode of no command has been written.
    strayed: bool,
    /// Whether replies to this rank come back, while all other packets go to other ranks.
    returns: bool,
    network: [VecDeque<Beat>; 2],
    network_depth: usize,
    /// Sent packets, and the packet in progress.
    sent: [Vec<Vec<u32>>; 2],
    partial: [Vec<Vec<u32>>; 2],
    /// Cycles of sent beats.
    times: [Vec<u64>; 2],
    /// Status of the other ranks for a collective command, and their delay.
    peers_status: Option<Status>,
    peers_kind: Option<SyncKind>,
    delay: u64,
    /// Whether the other ranks never reach a collective command.
    absent: bool,
    /// Common decision of the ranks, for this cycle and the next.
    here: VecDeque<Option<u8>>,
    cq_tail: u32,
}

impl Bench {
    fn new(config: Config, name: &'static str) -> Self {
        let mut rng = Random::new(name);
        let recipe = Recipe::new("rma-coprocessor", "rma_coprocessor_bench")
            .blocks(&["abi", "common", "match", "nic", "alpu", "fp", "rma"])
            .source("rma/bench/rma_coprocessor_bench.sv")
            .param("DATA_W", 32 * config.beat as u64);
        let block = Block::of(&recipe, "cop", LANES, config.lane);
        let memory = (0..NODE_BYTES).map(|_| rng.random()).collect();
        let me = rng.random_range(0..4);
        let mut bench = Self {
            config,
            rng,
            block,
            me,
            nprocs: 6,
            memory,
            flight: Answers::new(config.latency),
            host: Source::new(Pace::Always),
            commands: 0,
            read_grants: Sink::new(Pace::Always),
            write_grants: Sink::new(Pace::Always),
            sinks: [Sink::new(Pace::Always), Sink::new(Pace::Always)],
            sources: [Source::new(Pace::Always), Source::new(Pace::Always)],
            looped: false,
            strayed: false,
            returns: false,
            network: [VecDeque::new(), VecDeque::new()],
            network_depth: 8,
            sent: [Vec::new(), Vec::new()],
            partial: [Vec::new(), Vec::new()],
            times: [Vec::new(), Vec::new()],
            peers_status: None,
            peers_kind: None,
            delay: 0,
            absent: false,
            here: VecDeque::from([None, None]),
            cq_tail: 0,
        };
        bench.block.set("rank_i", u64::from(me));
        bench.run_until("the table to be cleared", |bench| bench.block.is("ready_o"));
        bench
    }

    fn read(&mut self, register: u32) -> u32 {
        self.block.set("read_offset_i", u64::from(register));
        self.block.settle();
        self.block.word("read_data_o")
    }

    /// Queues a command.
    fn command(&mut self, opcode: Opcode, data: u32) {
        self.host.push((4 * opcode as u32, data));
    }

    /// Sometimes queues a write with an opcode that no command has, and any data.
    fn stray(&mut self) {
        if self.rng.random_bool(0.2) {
            // Most of them differ from an operand's in a bit.
            let opcode = match self.rng.random_range(0..3) {
                0 => self.rng.random_range(0..256),
                _ => self.rng.random_range(0x20..0x32) ^ 1 << self.rng.random_range(0..8),
            };
            if Opcode::ALL.iter().all(|&known| known as u32 != opcode) {
                let data = self.rng.random();
                self.host.push((4 * opcode, data));
                self.strayed = true;
            }
        }
    }

    /// Compares and clears EVENTS, in which nothing but opcodes of no command may be reported.
    fn check_strays(&mut self) {
        let strayed = std::mem::take(&mut self.strayed);
        let expected = rank::events::BAD_OPCODE.put(strayed.into());
        assert_eq!(self.events(), expected, "{:?}", self.config);
        self.clear_events();
    }

    /// Queues a write to a register.
    fn register_write(&mut self, register: u32, data: u32) {
        self.host.push((register, data));
    }

    /// Queues SET_PID, SET_NPROCS, BEGIN, and the registers of a completion ring.
    fn begin(&mut self) {
        let (me, nprocs) = (self.me, self.nprocs);
        self.register_write(rank::CQ_BASE, RING);
        self.register_write(rank::CQ_SIZE, RING_LOG2);
        self.register_write(rank::CQ_TAIL, 0);
        self.cq_tail = 0;
        self.command(Opcode::SetPid, me);
        self.command(Opcode::SetNprocs, nprocs);
        self.command(Opcode::BeginRun, 0);
    }

    /// Queues the three operands of a command of the paper.
    fn data8(&mut self, dpid: u32, length: u32, offset: u32) {
        for operand in [dpid, length, offset] {
            self.command(Opcode::Data8, operand);
        }
    }

    /// Queues an extended command. The order of its operands depends on the id.
    fn extended(
        &mut self,
        opcode: Opcode,
        dpid: u32,
        slot: u32,
        id: u32,
        [offset, laddr, length]: [u32; 3],
    ) {
        let operands = [
            (Opcode::XOffset, offset),
            (Opcode::XLaddr, laddr),
            (Opcode::XLength, length),
        ];
        for turn in 0..3 {
            let (operand, value) = operands[(id as usize + turn) % 3];
            self.command(operand, value);
        }
        self.command(
            opcode,
            x_commit::DPID.put(dpid) | x_commit::SLOT.put(slot) | x_commit::ID.put(id),
        );
    }

    fn word(&self, address: u32) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|lane| {
            self.memory[((address + lane as u32) % NODE_BYTES) as usize]
        }))
    }

    /// Sends a packet to the coprocessor.
    fn receive(&mut self, plane: usize, packet: &[u32]) {
        let beats = self.config.beats(packet, &mut self.rng);
        self.sources[plane].extend(beats);
    }

    /// Drives the host's inputs of this cycle.
    fn host_inputs(&mut self) {
        let noise: u64 = self.rng.random();
        let retired = self.read(rank::RETIRED);
        let offer = self
            .host
            .offer(&mut *self.rng)
            .copied()
            .filter(|&(offset, _)| {
                let is_command = offset < 0x400;
                let counts = is_command
                    && ![Opcode::Data8, Opcode::Abort]
                        .map(|op| 4 * op as u32)
                        .contains(&offset);
                let credit = self.commands.wrapping_sub(retired) < self.config.commands;
                !counts || credit
            });
        let command = offer.filter(|&(offset, _)| offset < 0x400);
        let register = offer.filter(|&(offset, _)| offset >= 0x400);
        self.block.set("command_write_i", command.is_some());
        self.block.set(
            "command_opcode_i",
            command.map_or(noise, |(offset, _)| u64::from(offset / 4)),
        );
        self.block.set(
            "command_data_i",
            command.map_or(noise, |(_, data)| u64::from(data)),
        );
        self.block.set("register_write_i", register.is_some());
        self.block.set(
            "register_offset_i",
            register.map_or(noise, |(offset, _)| u64::from(offset)),
        );
        self.block.set(
            "register_data_i",
            register.map_or(noise, |(_, data)| u64::from(data)),
        );
    }

    /// Processes the acceptance of the host's inputs.
    fn host_taken(&mut self, register: bool) {
        let name = if register {
            "register_write_i"
        } else {
            "command_write_i"
        };
        if self.block.is(name)
            && let Some((offset, _)) = self.host.take(true)
        {
            let uncounted = [Opcode::Data8, Opcode::Abort].map(|op| 4 * op as u32);
            self.commands += u32::from(offset < 0x400 && !uncounted.contains(&offset));
        }
    }

    fn cycle(&mut self) {
        self.host_inputs();
        let noise: u64 = self.rng.random();
        let beat = self.config.beat;
        for plane in 0..2 {
            if self.looped {
                // The network passes beats in order, up to its depth.
                while self.sources[plane].len() < 2 && !self.network[plane].is_empty() {
                    let beat = self.network[plane].pop_front().expect("not empty");
                    self.sources[plane].push(beat);
                }
            }
            let room = !self.looped || self.network[plane].len() < self.network_depth;
            let ready = self.sinks[plane].ready(&mut *self.rng) && room;
            self.block.set_part("tx_ready_i", plane, 2, ready);
            let offer = self.sources[plane].offer(&mut *self.rng).cloned();
            self.block.set_part("rx_valid_i", plane, 2, offer.is_some());
            for word in 0..beat {
                self.block.set_part(
                    "rx_data_i",
                    plane * beat + word,
                    2 * beat,
                    offer
                        .as_ref()
                        .map_or(noise & 0xffff_ffff, |(words, _)| words[word].into()),
                );
            }
            let end = offer.map_or(End::noise(noise), |(_, end)| end);
            self.block.set_part("rx_last_i", plane, 2, end.is_last());
            self.block.set_part("rx_cut_i", plane, 2, end.is_cut());
        }
        let (read, write) = (
            self.read_grants.ready(&mut *self.rng),
            self.write_grants.ready(&mut *self.rng),
        );
        self.block.set("read_ready_i", read);
        self.block.set("write_ready_i", write);
        // Between a read's grant and its data, the memory may sample the word at any time.
        let landing = self.flight.due().map(|(address, words)| {
            if self.rng.random() {
                words
            } else {
                self.beat(address)
            }
        });
        self.block.set("read_rvalid_i", landing.is_some());
        for word in 0..beat {
            let data = landing
                .as_ref()
                .map_or(noise & 0xffff_ffff, |words| words[word].into());
            self.block.set_part("read_beat_i", word, beat, data);
        }
        let fire = self.here.pop_front().flatten();
        self.block.set("sync_fire_i", fire.is_some());
        self.block
            .set("sync_verdict_i", fire.map_or(noise, u64::from));
        self.block.settle();

        // Values of this cycle: transfers at the clock edge are counted at their source.
        let empty = self.network.iter().all(VecDeque::is_empty)
            && self.sources.iter().all(Source::is_empty);
        self.move_beats();
        self.move_memory(read, write);
        self.synchronise(empty);
        self.host_taken(false);
        self.host_taken(true);
        self.block.clock();
    }

    fn move_beats(&mut self) {
        let parts = self.config.beat;
        for plane in 0..2 {
            let valid = self.block.get_part("tx_valid_o", plane, 2) == 1;
            if valid && self.block.get_part("tx_ready_i", plane, 2) == 1 {
                let beat: Vec<u32> = (plane * parts..(plane + 1) * parts)
                    .map(|part| self.block.get_part("tx_data_o", part, 2 * parts) as u32)
                    .collect();
                let last = self.block.get_part("tx_last_o", plane, 2) == 1;
                self.partial[plane].push(beat.clone());
                self.times[plane].push(self.block.cycle());
                if last {
                    let beats = std::mem::take(&mut self.partial[plane]);
                    if self.returns && plane == REPLY && beats[0][0] >> 24 == self.me {
                        let count = beats.len();
                        let beats = beats.iter().cloned().enumerate();
                        self.sources[plane]
                            .extend(beats.map(|(at, beat)| (beat, End::of(at + 1 == count))));
                    }
                    self.sent[plane].push(self.config.words(beats));
                }
                if self.looped {
                    self.network[plane].push_back((beat, End::of(last)));
                }
            }
            let ready = self.block.get_part("rx_ready_o", plane, 2) == 1;
            self.sources[plane].take(ready);
        }
    }

    /// The beat at a word address of node memory.
    fn beat(&self, address: u32) -> Vec<u32> {
        (0..self.config.beat as u32)
            .map(|part| self.word(address.wrapping_add(part).wrapping_mul(4) % NODE_BYTES))
            .collect()
    }

    fn move_memory(&mut self, read: bool, write: bool) {
        let parts = self.config.beat;
        if self.block.is("read_valid_o") && read {
            let address = self.block.word("read_address_o");
            // A beat may begin before its first byte, also where that is the first of node memory.
            let place = (address + self.config.beat as u32) & ((1 << 30) - 1);
            assert!(
                place <= NODE_BYTES / 4 + self.config.beat as u32,
                "a read of {address:#x}, which is outside node memory"
            );
            let words = self.beat(address);
            self.flight.grant((address, words), &mut *self.rng);
        }
        if self.block.is("write_valid_o") && write {
            let address = self.block.word("write_address_o").wrapping_mul(4);
            let strobe = self.block.word("write_strobe_o");
            assert!(
                address < NODE_BYTES,
                "a write to {address:#x}, which is outside node memory"
            );
            let data: Vec<u8> = (0..parts)
                .flat_map(|part| {
                    (self.block.get_part("write_beat_o", part, parts) as u32).to_le_bytes()
                })
                .collect();
            for (lane, byte) in data.into_iter().enumerate() {
                if strobe >> lane & 1 == 1 {
                    self.memory[address as usize + lane] = byte;
                }
            }
        }
    }

    /// Models the other ranks and the combination of all ranks' commands.
    fn synchronise(&mut self, empty: bool) {
        let valid = self.block.is("sync_valid_o");
        if !valid {
            self.delay = self.rng.random_range(0..20);
        } else if self.delay > 0 {
            self.delay -= 1;
        }
        let all = valid
            && self.block.is("quiet_o")
            && self.delay == 0
            && !self.absent
            && (empty || !self.looped);
        let own = self.block.get("sync_status_o") as u8;
        let kind = self.block.get("sync_kind_o") as u8;
        let mut verdict = self
            .peers_status
            .filter(|_| own == 0)
            .map_or(own, |status| status as u8);
        if self.peers_kind.is_some_and(|peers| peers as u8 != kind) {
            verdict = Status::Mismatch as u8;
        }
        self.here.push_back(all.then_some(verdict));
    }

    fn run_until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let start = self.block.cycle();
        loop {
            self.block.settle();
            if done(self) {
                return;
            }
            assert!(
                self.block.cycle() < start + 60_000,
                "{:?}: {what} did not come",
                self.config
            );
            self.cycle();
        }
    }

    fn cycles(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.cycle();
        }
    }

    /// Runs until all commands are complete and no traffic is in flight, without a barrier.
    fn drain(&mut self) {
        self.run_until("quiet", |bench| {
            let commands = bench.commands;
            bench.host.is_empty()
                && bench.read(rank::RETIRED) == commands
                && bench.block.is("quiet_o")
                && !is_set(
                    alcor_abi::board::rank_state::COMMANDS,
                    bench.block.word("state_o"),
                )
                && bench.network.iter().all(VecDeque::is_empty)
                && bench.sources.iter().all(Source::is_empty)
        });
    }

    fn barrier(&mut self) {
        let before = self.read(rank::BARRIERS);
        self.command(Opcode::Barrier, 0);
        self.run_until("the barrier", |bench| {
            bench.read(rank::BARRIERS) == before.wrapping_add(1)
        });
        assert!(is_set(rank::causes::BARRIER, self.read(rank::CAUSES)));
        self.register_write(rank::ACK, rank::ack::BARRIER.put(1));
        self.cycles(1);
        self.run_until("the acknowledgement", |bench| bench.host.is_empty());
    }

    /// Executes a REGISTER or DEREGISTER. Returns status and slot.
    fn collective(&mut self, opcode: Opcode, data: u32) -> (u32, u32) {
        let before = rank::reg_result::COUNT.get(self.read(rank::REG_RESULT));
        self.command(opcode, data);
        self.run_until("the registration", |bench| {
            rank::reg_result::COUNT.get(bench.read(rank::REG_RESULT)) == (before + 1) % 65_536
        });
        let result = self.read(rank::REG_RESULT);
        (
            rank::reg_result::STATUS.get(result),
            rank::reg_result::SLOT.get(result),
        )
    }

    fn register(&mut self, base: u32, size: Option<u32>, deny: u32) -> (u32, u32) {
        if let Some(size) = size {
            self.command(Opcode::WindowSize, size);
        }
        self.collective(Opcode::Register, base | deny)
    }

    /// Completions that the host has not read: id, status.
    fn completions(&mut self) -> Vec<(u32, u32)> {
        let entries = self.entries().into_iter();
        entries.map(|[id, status, ..]| (id, status)).collect()
    }

    /// Completions that the host has not read.
    fn entries(&mut self) -> Vec<Entry> {
        let head = self.read(rank::CQ_HEAD);
        let mut entries = Vec::new();
        while self.cq_tail != head {
            let place = RING + 16 * (self.cq_tail % (1 << RING_LOG2));
            let first = self.word(place);
            entries.push([
                cq_entry::ID.get(first),
                cq_entry::STATUS.get(first),
                cq_entry::SOURCE.get(first),
                self.word(place + 8),
                self.word(place + 12),
            ]);
            self.cq_tail = self.cq_tail.wrapping_add(1);
        }
        let tail = self.cq_tail;
        self.register_write(rank::CQ_TAIL, tail);
        entries
    }

    fn events(&mut self) -> u32 {
        self.read(rank::EVENTS)
    }

    fn clear_events(&mut self) {
        self.register_write(rank::ACK_EVENTS, u32::MAX);
        self.run_until("the events to be cleared", |bench| {
            bench.host.is_empty() && bench.events() == 0
        });
    }

    fn set_paces(&mut self) {
        let paces = [
            Pace::Always,
            Pace::Chance(0.5),
            Pace::Chance(0.2),
            Pace::Bursts { on: 20, off: 20 },
        ];
        let mut pace = || paces[self.rng.random_range(0..paces.len())];
        self.host.set_pace(pace());
        self.read_grants = Sink::new(pace());
        self.write_grants = Sink::new(pace());
        for plane in 0..2 {
            self.sinks[plane] = Sink::new(pace());
            self.sources[plane].set_pace(pace());
        }
        self.network_depth = self.rng.random_range(1..10);
        // The memory for which the queues are sized, or a memory with random latency.
        let latency = self.config.latency as u64;
        let longest = latency + [0, 10, 40][self.rng.random_range(0..3)];
        self.flight.set_latency(latency..=longest);
    }

    fn take_sent(&mut self, plane: usize) -> Vec<Vec<u32>> {
        std::mem::take(&mut self.sent[plane])
    }
}

// The paper's packets.

/// A long put leaves without a gap. Packets of a get leave every fifth cycle.
fn rate(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_rate");
    bench.begin();
    assert_eq!(bench.register(0, None, 0), (0, 0));
    let packets = 30;
    let length = packets * config.payload;
    bench.extended(Opcode::XPut, 0, 0, 1, [0, 0, length]);
    bench.drain();
    let times = std::mem::take(&mut bench.times[REQUEST]);
    // Header words in separate beats, or in one beat.
    let heads = |words| if config.beat == 1 { words } else { 1 };
    let beats = length / (4 * config.beat as u32);
    assert_eq!(times.len() as u32, packets * heads(3) + beats);
    assert!(
        times.windows(2).all(|pair| pair[1] == pair[0] + 1),
        "a gap in a long put"
    );
    bench.extended(Opcode::XGet, 0, 0, 2, [0, 0, length]);
    bench.drain();
    let times = std::mem::take(&mut bench.times[REQUEST]);
    let first = times[0];
    let expected: Vec<u64> = (0..u64::from(packets))
        .flat_map(|packet| (0..heads(4)).map(move |beat| first + 5 * packet + u64::from(beat)))
        .collect();
    assert_eq!(times, expected);
}

/// A registration with commands directly after it, broken pairs, undefined opcodes, and refusals
/// at other ranks.
fn interlock(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_interlock");
    bench.begin();
    let me = bench.me;
    for round in 0..soak(12) {
        if round > 0 {
            bench.set_paces();
        }
        // Without a pause: the PUT's window is being registered, then deregistered.
        let base = 0x400 * (1 + round as u32 % 8);
        let word = bench.rng.random();
        let other = bench.rng.random();
        bench.command(Opcode::Register, base);
        bench.command(Opcode::Put1, base);
        bench.command(Opcode::Put1, word);
        bench.data8(me, 1, 7);
        bench.command(Opcode::XWindow, base);
        bench.extended(Opcode::XPut, me, 200, 21, [0, 0, 0]);
        bench.command(Opcode::Deregister, base);
        bench.command(Opcode::Put1, base);
        bench.command(Opcode::Put1, other);
        bench.data8(me, 1, 7);
        bench.command(Opcode::XWindow, base);
        bench.extended(Opcode::XPut, me, 0, 22, [0, 0, 0]);
        bench.drain();
        let sent = bench.take_sent(REQUEST);
        assert_eq!(sent.len(), 2, "round {round}: {sent:08x?}, {config:?}");
        assert_eq!(sent[0], [paper_word(me, 0b001, 2, 7, 0), word]);
        assert_eq!(sent[1][0] & 0xff, 0);
        assert_eq!(bench.completions(), [(22, Status::NotRegistered as u32)]);
        assert_eq!(bench.events(), rank::events::REFUSED.put(1));
        bench.clear_events();
    }

    // Collective commands without a pause between them.
    for _ in 0..soak(10) {
        let (barriers, results) = (bench.read(rank::BARRIERS), bench.read(rank::REG_RESULT));
        let results = rank::reg_result::COUNT.get(results);
        bench.command(Opcode::Register, 0x3000);
        bench.command(Opcode::Barrier, 0);
        bench.command(Opcode::Deregister, 0x3000);
        bench.run_until("three collective commands", |bench| {
            bench.read(rank::BARRIERS) == barriers + 1
                && rank::reg_result::COUNT.get(bench.read(rank::REG_RESULT))
                    == (results + 2) % 65_536
        });
        assert_eq!(
            rank::reg_result::STATUS.get(bench.read(rank::REG_RESULT)),
            0
        );
        bench.register_write(rank::ACK, rank::ack::BARRIER.put(1));
        bench.drain();
    }

    // The end of a collective command is signalled for two more cycles. It must not end a later
    // command, not even after BEGIN.
    for begins in 0..3 {
        let before = (bench.read(rank::BARRIERS), bench.read(rank::REG_RESULT));
        bench.command(Opcode::Deregister, 0x3000);
        for _ in 0..begins {
            bench.command(Opcode::BeginRun, 0);
        }
        bench.command(Opcode::Barrier, 0);
        bench.run_until("the first of them", |bench| {
            bench.read(rank::REG_RESULT) != before.1
        });
        bench.absent = true;
        bench.cycles(30);
        let barriers = bench.read(rank::BARRIERS);
        assert_eq!(
            barriers, before.0,
            "a barrier behind {begins} BEGIN ends without the others"
        );
        bench.absent = false;
        bench.run_until("the barrier", |bench| {
            bench.read(rank::BARRIERS) == before.0 + 1
        });
        bench.register_write(rank::ACK, rank::ack::BARRIER.put(1));
        bench.drain();
    }

    // A pair whose second write is another command: reported, and the new command is valid.
    let word = bench.rng.random();
    assert_eq!(bench.register(0x800, None, 0), (0, 0));
    bench.command(Opcode::PutN, 0x800);
    bench.command(Opcode::Put1, 0x800);
    bench.command(Opcode::Put1, word);
    bench.data8(me, 1, 0);
    bench.drain();
    assert_eq!(
        bench.take_sent(REQUEST),
        [[paper_word(me, 0b001, 2, 0, 0), word]]
    );
    assert_eq!(bench.events(), rank::events::BAD_OPCODE.put(1));
    bench.clear_events();
    bench.command(Opcode::Put1, 0x800);
    bench.command(Opcode::XOffset, 0);
    bench.drain();
    assert_eq!(bench.events(), rank::events::BAD_OPCODE.put(1));
    bench.clear_events();
    for opcode in [0x00, 0x06, 0x7f, 0xff] {
        bench.host.push((4 * opcode, 0));
        bench.drain();
        assert_eq!(
            bench.events(),
            rank::events::BAD_OPCODE.put(1),
            "opcode {opcode:#x}"
        );
        bench.clear_events();
    }
    assert!(bench.take_sent(REQUEST).is_empty());

    // The same window twice, a window beyond node memory, and registrations that the other ranks
    // refuse.
    assert_eq!(bench.register(0x800, None, 0).0, Status::Duplicate as u32);
    assert_eq!(
        bench.register(0x900, Some(NODE_BYTES - 0x900 + 1), 0).0,
        Status::BadRange as u32
    );
    assert_eq!(
        bench.register(NODE_BYTES + 4, None, 0).0,
        Status::BadRange as u32
    );
    assert_eq!(
        bench.register(0x900, Some(u32::MAX), 0).0,
        Status::BadRange as u32
    );
    // Any bit beyond node memory.
    for bit in NODE_BYTES.ilog2()..32 {
        let bad = Status::BadRange as u32;
        assert_eq!(bench.register(0x900, Some(1 << bit), 0).0, bad, "{bit}");
        assert_eq!(bench.register(0x900 | 1 << bit, Some(4), 0).0, bad, "{bit}");
    }
    assert_eq!(
        bench.collective(Opcode::Deregister, 0x900).0,
        Status::NotRegistered as u32
    );
    bench.peers_status = Some(Status::TableFull);
    assert_eq!(bench.register(0x900, None, 0).0, Status::TableFull as u32);
    assert_eq!(
        bench.collective(Opcode::Deregister, 0x800).0,
        Status::TableFull as u32
    );
    bench.peers_status = None;
    // Neither registration has changed a table.
    assert_eq!(bench.register(0x800, None, 0).0, Status::Duplicate as u32);
    assert_eq!(
        bench.collective(Opcode::Deregister, 0x900).0,
        Status::NotRegistered as u32
    );
    // The size belonged to the refused registration, and has been used.
    assert_eq!(bench.register(0x900, Some(NODE_BYTES - 0x900), 0), (0, 1));
    for slot in 2..config.slots {
        assert_eq!(bench.register(0x1000 + 4 * slot, None, 0), (0, slot));
    }
    // Each slot is found by its base, by commands of both kinds.
    for slot in 2..config.slots {
        let base = 0x1000 + 4 * slot;
        bench.command(Opcode::XWindow, base);
        bench.extended(Opcode::XPut, me, 0, 31, [0, 0, 0]);
        bench.command(Opcode::Put1, base);
        bench.command(Opcode::Put1, slot);
        bench.data8(me, 1, 0);
        bench.drain();
        let sent = bench.take_sent(REQUEST);
        let slots: Vec<u32> = sent.iter().map(|packet| packet[0] & 0xff).collect();
        assert_eq!(slots, [slot; 2], "{config:?}");
    }
    assert_eq!(bench.register(0x2000, None, 0).0, Status::TableFull as u32);
    assert_eq!(bench.collective(Opcode::Deregister, 0x900), (0, 1));
    assert_eq!(bench.register(0x2000, None, 0), (0, 1));
    // The other ranks are at a command, of the same kind or of another.
    let other = Status::Mismatch;
    for (peers, removed, made) in [
        (SyncKind::Barrier, other, other),
        (SyncKind::Register, other, Status::Duplicate),
        (SyncKind::Deregister, Status::Ok, other),
    ] {
        bench.peers_kind = Some(peers);
        let found = bench.collective(Opcode::Deregister, 0x2000).0;
        assert_eq!(found, removed as u32, "{peers:?}");
        assert_eq!(bench.register(0x2000, None, 0).0, made as u32, "{peers:?}");
    }
    bench.peers_kind = Some(SyncKind::Barrier);
    bench.barrier();
    // A barrier waits until the host has acknowledged the one before.
    let before = bench.read(rank::BARRIERS);
    for _ in 0..2 {
        bench.command(Opcode::Barrier, 0);
    }
    bench.cycles(300);
    assert_eq!(bench.read(rank::BARRIERS), before + 1);
    assert!(!bench.block.is("sync_valid_o"));
    bench.register_write(rank::ACK, rank::ack::BARRIER.put(1));
    bench.run_until("the second barrier", |bench| {
        bench.read(rank::BARRIERS) == before + 2
    });
    bench.drain();
    assert_eq!(bench.events(), 0);
}

// Packets of a wrong length.

/// Word of an XACK.
fn x_ack(rank: u32, status: Status, id: u32) -> u32 {
    rank << 24 | (PacketType::Xack as u32) << 21 | (status as u32) << 16 | id
}

/// Commands behind a collective command that waits, and collective commands once another rank of the
/// run has been reset: they end at once and report the reset, until the next BEGIN.
fn orphaned(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_orphaned");
    bench.begin();
    let me = bench.me;
    assert_eq!(bench.register(0x400, None, 0), (0, 0));
    let is_orphaned = |bench: &mut Bench| {
        let state = bench.read(rank::RESET_STATE);
        rank::reset_state::ORPHANED.get(state) == 1
    };
    let lose = |bench: &mut Bench| {
        bench.block.set("peer_lost_i", true);
        bench.cycle();
        bench.block.set("peer_lost_i", false);
    };
    for round in 0..soak(12) {
        if round > 0 {
            bench.set_paces();
        }
        let (kind, data) = [
            (Opcode::Barrier, 0),
            (Opcode::Register, 0x800),
            (Opcode::Deregister, 0x400),
        ][round as usize % 3];
        let ends = |bench: &mut Bench| {
            let count = rank::reg_result::COUNT.get(bench.read(rank::REG_RESULT));
            (bench.read(rank::BARRIERS), count)
        };
        let reports_reset = |bench: &mut Bench, before: (u32, u32)| {
            let is_barrier = u32::from(kind == Opcode::Barrier);
            let after = (before.0 + is_barrier, (before.1 + 1 - is_barrier) % 65_536);
            bench.run_until("the end of the collective command", |bench| {
                ends(bench) == after
            });
            if kind == Opcode::Barrier {
                assert_eq!(bench.events(), rank::events::MISMATCH.put(1));
                bench.register_write(rank::ACK, rank::ack::BARRIER.put(1));
            } else {
                let result = bench.read(rank::REG_RESULT);
                let status = rank::reg_result::STATUS.get(result);
                assert_eq!(status, Status::RankReset as u32, "{kind:?}, {config:?}");
                assert_eq!(bench.events(), 0);
            }
            bench.clear_events();
        };
        bench.absent = true;
        let before = ends(&mut bench);
        if kind == Opcode::Register {
            bench.command(Opcode::WindowSize, 4);
        }
        bench.command(kind, data);
        bench.extended(Opcode::XPut, me, 7, 3, [round as u32, 0, 0]);
        bench.run_until("the commands", |bench| bench.host.is_empty());
        bench.cycles(200);
        assert_eq!(ends(&mut bench), before, "{kind:?} ends without the others");
        let sent = bench.take_sent(REQUEST);
        assert_eq!(
            sent.len(),
            1,
            "an extended command passes {kind:?}: {sent:x?}"
        );
        assert_eq!(sent[0][1], round as u32);
        // A command of the paper, and a command that looks into the table, do not.
        let word = bench.rng.random();
        if round % 2 == 0 {
            bench.command(Opcode::Put1, 0x400);
            bench.command(Opcode::Put1, word);
            bench.data8(me, 1, 0);
        } else {
            bench.command(Opcode::XWindow, 0x400);
            bench.extended(Opcode::XPut, me, 7, 4, [word, 0, 0]);
        }
        bench.run_until("the commands", |bench| bench.host.is_empty());
        bench.cycles(200);
        assert!(
            bench.take_sent(REQUEST).is_empty(),
            "a command passes {kind:?}"
        );
        lose(&mut bench);
        reports_reset(&mut bench, before);
        assert!(is_orphaned(&mut bench));
        bench.drain();
        let sent = bench.take_sent(REQUEST);
        assert_eq!((sent.len(), sent[0][1]), (1, word), "{sent:x?}, {config:?}");
        assert_eq!(sent[0][0] & 0xff, 0, "the slot of the window");
        // The next one ends at once.
        let before = ends(&mut bench);
        bench.command(kind, data);
        reports_reset(&mut bench, before);
        // A rank that has not begun is not concerned.
        bench.command(Opcode::EndRun, 0);
        bench.drain();
        assert!(is_orphaned(&mut bench));
        lose(&mut bench);
        bench.command(Opcode::BeginRun, 0);
        bench.drain();
        assert!(!is_orphaned(&mut bench));
        bench.absent = false;
        bench.barrier();
        // Neither the table nor the size of a window is left behind.
        assert_eq!(bench.register(0x800, None, 0), (0, 1));
        assert_eq!(bench.collective(Opcode::Deregister, 0x800), (0, 1));
        assert_eq!(bench.events(), 0);
    }
}

// Commands of messages, and resets of the rank.

/// Each bench with beats of one word in each size, and with beats of eight words.
macro_rules! each_shape {
    ($($body:ident: $name:ident, $smallest:ident, $wide:ident;)*) => {$(
        #[test]
        fn $name() {
            $body(DEFAULT);
        }

        #[test]
        fn $smallest() {
            $body(SMALLEST);
        }

        #[test]
        fn $wide() {
            CONFIGS.into_iter().filter(|config| config.beat != 1).for_each($body);
        }
    )*};
}

each_shape! {
    paper_packets: rma_coprocessor_paper_packets, rma_coprocessor_paper_packets_smallest, rma_coprocessor_paper_packets_wide;
    paper_served: rma_coprocessor_paper_served, rma_coprocessor_paper_served_smallest, rma_coprocessor_paper_served_wide;
    extended: rma_coprocessor_extended, rma_coprocessor_extended_smallest, rma_coprocessor_extended_wide;
    operations: rma_coprocessor_operations, rma_coprocessor_operations_smallest, rma_coprocessor_operations_wide;
    orphaned: rma_coprocessor_orphaned, rma_coprocessor_orphaned_smallest, rma_coprocessor_orphaned_wide;
    refusals: rma_coprocessor_refusals, rma_coprocessor_refusals_smallest, rma_coprocessor_refusals_wide;
    interlock: rma_coprocessor_interlock, rma_coprocessor_interlock_smallest, rma_coprocessor_interlock_wide;
    lengths: rma_coprocessor_lengths, rma_coprocessor_lengths_smallest, rma_coprocessor_lengths_wide;
    programs: rma_coprocessor_programs, rma_coprocessor_programs_smallest, rma_coprocessor_programs_wide;
}

#[test]
fn rma_coprocessor_cut_headers() {
    cut_headers(DEFAULT);
}

#[test]
fn rma_coprocessor_cut_headers_smallest() {
    cut_headers(SMALLEST);
}

#[test]
fn rma_coprocessor_messages() {
    messages(CONFIGS[0]);
}

#[test]
fn rma_coprocessor_messages_wide() {
    messages(CONFIGS[2]);
}

#[test]
fn rma_coprocessor_rate() {
    // With the smallest queues and a slow memory, the Out FIFO is the limit.
    rate(CONFIGS[0]);
}

#[test]
fn rma_coprocessor_rate_wide() {
    rate(CONFIGS[2]);
}
