//! The whole coprocessor, with beats of one word and of eight words. Sent packets are compared word
//! by word: the paper's packets with words built from the paper's figures 5 and 6, extended packets
//! with a model that splits transfers. The effects of received packets are compared in memory and
//! in the completion ring, with the network looped back to the coprocessor.
//!
//! The bench models node memory, network and the other ranks, all with random stalls.

use std::collections::{BTreeMap, VecDeque};

use alcor_abi::packets::{
    cq_entry, message, x_accumulate, x_atomic, x_commit, x_data, x_header, x_length, x_message,
    x_operation, x_reduction, x_tag,
};
use alcor_abi::rank;
use alcor_abi::{
    AccumulateOperation, AtomicOperation, Datatype, Opcode, PacketType, Status, SyncKind,
};
use alcor_hw_bench::{Answers, Pace, Random, Recipe, Sink, Source, soak};
use rand::Rng;

use crate::rma::Block;

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

/// A beat of a packet, and whether it is the last.
type Beat = (Vec<u32>, bool);

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
        let last = |(at, beat)| (beat, at + 1 == count);
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
            self.block.set_part(
                "rx_last_i",
                plane,
                2,
                offer.map_or(noise & 1, |(_, last)| u64::from(last)),
            );
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
                        self.sources[plane].extend(beats.map(|(at, beat)| (beat, at + 1 == count)));
                    }
                    self.sent[plane].push(self.config.words(beats));
                }
                if self.looped {
                    self.network[plane].push_back((beat, last));
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

/// Figure 6: dpid 8, packet type 3, packet length 5, offset 8, destination address 8.
fn paper_word(rank: u32, kind: u32, length: u32, offset: u32, slot: u32) -> u32 {
    rank << 24 | kind << 21 | length << 16 | offset << 8 | slot
}

/// Every command of the paper becomes exactly the paper's packet.
fn paper_packets(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_paper_packets");
    bench.begin();
    let bases = [0x0, 0x4000, 0x0104, 0xfffc];
    for (slot, base) in bases.into_iter().enumerate() {
        assert_eq!(bench.register(base, None, 0), (0, slot as u32));
    }
    let me = bench.me;
    for round in 0..soak(6) {
        if round > 0 {
            bench.set_paces();
        }
        let mut expected = Vec::new();
        for length in 1..=30 {
            let (dpid, offset) = (
                bench.rng.random_range(0..bench.nprocs),
                bench.rng.random_range(0..256),
            );
            let (to, from) = (
                bench.rng.random_range(0..4u32),
                bench.rng.random_range(0..4u32),
            );
            let word = bench.rng.random();
            // PUT-1: desaddr, the data word; then dpid, 1, offset.
            bench.command(Opcode::Put1, bases[to as usize]);
            bench.command(Opcode::Put1, word);
            bench.data8(dpid, 1, offset);
            expected.push(vec![paper_word(dpid, 0b001, 2, offset, to), word]);
            // PUT-n, from 2 words on: desaddr, srcaddr (any byte address here).
            if length > 1 {
                let source = bench.rng.random_range(0..NODE_BYTES - 120);
                bench.command(Opcode::PutN, bases[to as usize]);
                bench.command(Opcode::PutN, source);
                bench.data8(dpid, length, offset);
                let mut packet = vec![paper_word(dpid, 0b010, length + 1, offset, to)];
                packet.extend((0..length).map(|at| bench.word(source + 4 * at)));
                expected.push(packet);
            }
            // GET: desaddr (local), srcaddr (remote).
            bench.command(Opcode::Get, bases[to as usize]);
            bench.command(Opcode::Get, bases[from as usize]);
            bench.data8(dpid, length, offset);
            let answer = if length == 1 { 0b001 } else { 0b010 };
            expected.push(vec![
                paper_word(dpid, 0b011, 2, offset, from),
                paper_word(me, answer, length, 0, to),
            ]);
        }
        bench.drain();
        let sent = bench.take_sent(REQUEST);
        assert_eq!(sent.len(), expected.len());
        for (at, (sent, expected)) in sent.iter().zip(&expected).enumerate() {
            assert_eq!(
                sent, expected,
                "packet {at}: {sent:08x?}, expected {expected:08x?}, {config:?}"
            );
        }
        assert!(bench.take_sent(REPLY).is_empty());
        // Collective commands use none of the operands of the command ahead.
        if config.slots > 4 {
            for opcode in [Opcode::Register, Opcode::Deregister] {
                let length = bench.rng.random_range(2..=30);
                bench.command(Opcode::PutN, bases[0]);
                bench.command(Opcode::PutN, 0);
                bench.data8(me, length, 255);
                assert_eq!(bench.collective(opcode, 0x5550), (0, 4));
            }
            bench.drain();
            assert_eq!(bench.take_sent(REQUEST).len(), 2);
        }
    }
    assert_eq!(bench.events(), 0);
}

/// Received packets of the paper are written, or answered by packets of the paper.
fn paper_served(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_paper_served");
    bench.begin();
    let bases = [0x1000, 0x2000, 0x3000, 0x4000];
    let sizes = [0x400, 120, 124, 4];
    for (slot, (base, size)) in bases.into_iter().zip(sizes).enumerate() {
        assert_eq!(bench.register(base, Some(size), 0), (0, slot as u32));
    }
    let me = bench.me;
    let mut refused = 0;
    for _ in 0..soak(6) {
        bench.set_paces();
        let mut memory = bench.memory.clone();
        let mut answers = Vec::new();
        for length in 1..=30u32 {
            let slot = bench.rng.random_range(0..5u32);
            let offset = if slot == 0 {
                bench.rng.random_range(0..256)
            } else {
                bench.rng.random_range(0..3)
            };
            let kind = if length == 1 { 0b001 } else { 0b010 };
            let fits = slot < 4 && 4 * (offset + length) <= sizes[slot as usize];
            // A PUT on either plane: a request, or the reply to a GET of this rank.
            let plane = bench.rng.random_range(0..2);
            let data: Vec<u32> = (0..length).map(|_| bench.rng.random()).collect();
            let mut packet = vec![paper_word(me, kind, length + 1, offset, slot)];
            packet.extend(&data);
            bench.receive(plane, &packet);
            refused += u32::from(!fits);
            let first = |slot: u32| bases[slot as usize] + 4 * offset;
            if fits {
                for (at, word) in data.iter().enumerate() {
                    let place = first(slot) as usize + 4 * at;
                    memory[place..place + 4].copy_from_slice(&word.to_le_bytes());
                }
            }
            bench.drain();
            assert!(
                bench.memory == memory,
                "{length} words to slot {slot}, offset {offset}, plane {plane}"
            );
            // A GET: the header of the reply is its second word with the length incremented.
            let (asker, to) = (bench.rng.random_range(0..6), bench.rng.random_range(0..256));
            let request = [
                paper_word(me, 0b011, 2, offset, slot),
                paper_word(asker, kind, length, 0, to),
            ];
            bench.receive(REQUEST, &request);
            refused += u32::from(!fits);
            if fits {
                let mut answer = vec![paper_word(asker, kind, length + 1, 0, to)];
                answer.extend((0..length).map(|at| bench.word(first(slot) + 4 * at)));
                answers.push(answer);
            }
            bench.drain();
        }
        bench.drain();
        assert_eq!(bench.take_sent(REPLY), answers);
        assert!(bench.take_sent(REQUEST).is_empty());
        assert_eq!(bench.read(rank::REFUSED_IN), refused);
        // A continuous sequence, faster than the memory: both queues behind the network fill.
        bench.write_grants = Sink::new(Pace::Chance(0.1));
        let plane = bench.rng.random_range(0..2);
        bench.sources[plane].set_pace(Pace::Always);
        for _ in 0..40 {
            let length = [1, 1, 1, 2, 9][bench.rng.random_range(0..5)];
            let offset = bench.rng.random_range(0..200);
            let kind = if length == 1 { 0b001 } else { 0b010 };
            let mut packet = vec![paper_word(me, kind, length + 1, offset, 0)];
            packet.extend((0..length).map(|_| bench.rng.random::<u32>()));
            for (at, word) in packet[1..].iter().enumerate() {
                let place = (bases[0] + 4 * offset) as usize + 4 * at;
                memory[place..place + 4].copy_from_slice(&word.to_le_bytes());
            }
            bench.receive(plane, &packet);
        }
        bench.drain();
        assert!(bench.memory == memory);
    }
    assert!(refused > 10);
    assert_eq!(bench.events(), rank::events::DROPPED.put(1));
}

// Extended packets.

/// Packets of an extended put or get: header words, and payload bytes where they have a meaning.
fn extended_packets(
    bench: &Bench,
    is_get: bool,
    dpid: u32,
    slot: u32,
    id: u32,
    [offset, mut laddr, mut left]: [u32; 3],
) -> Vec<(Vec<u32>, Vec<Option<u8>>)> {
    let kind = if is_get {
        PacketType::Xget
    } else {
        PacketType::Xput
    } as u32;
    // An offset may exceed 2^32, but must not wrap into the window.
    let mut offset = u64::from(offset);
    let mut packets = Vec::new();
    loop {
        // Payload is aligned as at its destination, so the first word may be partial.
        let lane = if is_get { laddr } else { offset as u32 } % 4;
        let bytes = left.min(bench.config.payload - lane);
        let last = bytes == left;
        let mut heads = vec![
            dpid << 24
                | kind << 21
                | u32::from(last) << 20
                | x_header::BEYOND.put((offset >> 32) as u32)
                | bench.me << 8
                | slot,
            offset as u32,
            if last { id << 16 | left } else { left },
        ];
        let mut payload = Vec::new();
        if is_get {
            heads.push(laddr);
        } else if bytes > 0 {
            payload.resize(lane as usize, None);
            payload.extend((0..bytes).map(|at| Some(bench.memory[(laddr + at) as usize])));
            payload.resize(payload.len().next_multiple_of(4), None);
        }
        packets.push((heads, payload));
        if last {
            return packets;
        }
        (offset, laddr, left) = (offset + u64::from(bytes), laddr + bytes, left - bytes);
    }
}

/// A window without a given size ends with node memory: its last word can be read, and no byte behind it.
fn window_ends(bench: &mut Bench, bases: &[u32]) {
    let (me, from) = (bench.me, (bench.me + 1) % bench.nprocs);
    for (slot, &base) in bases.iter().enumerate() {
        for beyond in 0..2 {
            let offset = NODE_BYTES - base - 4 + beyond;
            let head = x_header::DPID.put(me)
                | x_header::PTYPE.put(PacketType::Xget as u32)
                | x_header::LAST.put(1)
                | x_header::SRC.put(from)
                | x_header::SLOT.put(slot as u32);
            let length = x_length::ID.put(9) | x_length::LENGTH.put(4);
            bench.receive(REQUEST, &[head, offset, length, 0x20]);
            bench.drain();
            let answer = if beyond == 0 {
                let head = x_data::DPID.put(from) | x_data::PTYPE.put(PacketType::Xdata as u32);
                let head = head | x_data::LAST.put(1);
                vec![head, 0x20, length, bench.word(NODE_BYTES - 4)]
            } else {
                vec![x_ack(from, Status::OutOfBounds, 9)]
            };
            assert_eq!(bench.take_sent(REPLY), [answer], "window of {base:#x}");
        }
    }
}

fn extended(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_extended");
    bench.begin();
    let bases = [0x100, 0x8000, 0x0, 0x40];
    for (slot, base) in bases.into_iter().enumerate() {
        assert_eq!(bench.register(base, None, 0), (0, slot as u32));
    }
    window_ends(&mut bench, &bases);
    // After a reset, all operands are zero.
    for (opcode, is_get) in [(Opcode::XPut, false), (Opcode::XGet, true)] {
        bench.command(opcode, x_commit::SLOT.put(2) | x_commit::ID.put(5));
        bench.drain();
        let expected = extended_packets(&bench, is_get, 0, 2, 5, [0; 3]);
        assert_eq!(bench.take_sent(REQUEST), [expected[0].0.clone()]);
    }
    for round in 0..soak(20) {
        if round > 0 {
            bench.set_paces();
        }
        let mut expected = Vec::new();
        for _ in 0..10 {
            let is_get = bench.rng.random();
            let payload = config.payload;
            let length = match bench.rng.random_range(0..5) {
                0 => [0, bench.rng.random_range(0..9)][bench.rng.random_range(0..2)],
                1 => (payload * bench.rng.random_range(1..3) + bench.rng.random_range(0..7))
                    .saturating_sub(3),
                _ => bench.rng.random_range(0..4 * payload),
            };
            let laddr = if bench.rng.random_bool(if length == 0 { 0.7 } else { 0.2 }) {
                // Up to the end of node memory, and from its start.
                [NODE_BYTES - length, 0][bench.rng.random_range(0..2)]
            } else {
                bench.rng.random_range(0..=NODE_BYTES - length)
            };
            let offset = match bench.rng.random_range(0..10) {
                0 => bench.rng.random(),
                1 => u32::MAX - bench.rng.random_range(0..2 * payload),
                _ => bench.rng.random_range(0..5_000),
            };
            let (dpid, id) = (
                bench.rng.random_range(0..bench.nprocs),
                bench.rng.random_range(0..1 << 16),
            );
            let opcode = if is_get { Opcode::XGet } else { Opcode::XPut };
            // By slot, or by the window's base, which has priority over the slot.
            let named = bench.rng.random_bool(0.4);
            let slot = bench.rng.random_range(0..4u32);
            if named {
                bench.command(Opcode::XWindow, bases[slot as usize]);
            }
            let given = if named {
                bench.rng.random_range(0..256)
            } else {
                slot
            };
            bench.extended(opcode, dpid, given, id, [offset, laddr, length]);
            expected.extend(extended_packets(
                &bench,
                is_get,
                dpid,
                slot,
                id,
                [offset, laddr, length],
            ));
        }
        bench.drain();
        let sent = bench.take_sent(REQUEST);
        for (at, (packet, (heads, payload))) in sent.iter().zip(&expected).enumerate() {
            let place = format!("packet {at}: {packet:08x?}, {config:?}");
            assert_eq!(
                packet.len(),
                heads.len() + payload.len() / 4,
                "{place}, expected {heads:08x?}"
            );
            assert_eq!(&packet[..heads.len()], &heads[..], "{place}");
            let bytes: Vec<u8> = packet[heads.len()..]
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .collect();
            for (found, expected) in bytes.iter().zip(payload) {
                assert!(
                    expected.is_none_or(|expected| expected == *found),
                    "{place}, expected {payload:02x?}"
                );
            }
        }
        assert_eq!(sent.len(), expected.len());
    }
}

// Atomic operations and accumulates.

/// Operands of extended commands. The coprocessor keeps them from command to command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Operands {
    offset: u32,
    laddr: u32,
    length: u32,
    /// Value of an atomic operation; reduction and address of the old elements of an accumulate.
    value: [u32; 2],
    compare: [u32; 2],
}

impl Operands {
    fn words(self) -> [(Opcode, u32); 7] {
        [
            (Opcode::XOffset, self.offset),
            (Opcode::XLaddr, self.laddr),
            (Opcode::XLength, self.length),
            (Opcode::XOperand, self.value[0]),
            (Opcode::XOperandHigh, self.value[1]),
            (Opcode::XCompare, self.compare[0]),
            (Opcode::XCompareHigh, self.compare[1]),
        ]
    }

    /// Any operands, most of them legal for some command.
    fn random(rng: &mut Random, kept: Self, payload: u32) -> Self {
        let mut next = kept;
        if rng.random_bool(0.5) {
            next.length = match rng.random_range(0..9) {
                0 => rng.random(),
                // A bit of its own beyond node memory.
                8 => NODE_BYTES << rng.random_range(0..16),
                1 => rng.random_range(0..3 * payload),
                2 => 8 * rng.random_range(0..3 * payload / 8),
                3 => payload,
                _ => 4 * rng.random_range(0..10),
            };
        }
        // Buffers in node memory, at its end, and beyond the end.
        let size = next.length.min(NODE_BYTES);
        let mut address = || match rng.random_range(0..9) {
            8 => NODE_BYTES << rng.random_range(0..16),
            0 => NODE_BYTES - size,
            1 => NODE_BYTES - size + 4,
            2 => rng.random(),
            _ => rng.random_range(0..=NODE_BYTES - size),
        };
        let addresses = [address(), address()];
        if rng.random_bool(0.5) {
            next.laddr = addresses[0];
        }
        if rng.random_bool(0.5) {
            next.value[1] = match rng.random_range(0..8) {
                0 => addresses[1],
                1 => rng.random(),
                _ => addresses[1] & !3,
            };
        }
        if rng.random_bool(0.5) {
            let operation = rng.random_range(0..=AccumulateOperation::ALL.len() as u32);
            let datatype = rng.random_range(0..=Datatype::ALL.len() as u32);
            next.value[0] = match rng.random_range(0..6) {
                0 => rng.random(),
                _ => x_reduction::OPERATION.put(operation) | x_reduction::DATATYPE.put(datatype),
            };
        }
        if rng.random_bool(0.5) {
            next.offset = match rng.random_range(0..8) {
                0 => rng.random(),
                1 => 4 * rng.random_range(0..1 << 12),
                2 => 8u32.wrapping_mul(rng.random_range(0..4)).wrapping_sub(16),
                _ => 8 * rng.random_range(0..1 << 12),
            };
        }
        if rng.random_bool(0.5) {
            next.compare = [rng.random(), rng.random()];
        }
        next
    }

    /// Why the commands of an accumulate with these operands are refused.
    fn refuses(self, fetches: bool, is_able: bool) -> Status {
        use AccumulateOperation::{Band, Bor, Bxor};
        let operation = AccumulateOperation::from_bits(x_reduction::OPERATION.get(self.value[0]));
        let datatype = Datatype::from_bits(x_reduction::DATATYPE.get(self.value[0]));
        let is_float = matches!(datatype, Some(Datatype::F32 | Datatype::F64));
        let has_operation = match operation {
            None => false,
            Some(Band | Bor | Bxor) => !is_float,
            Some(_) => true,
        };
        let has_type = !matches!(datatype, None | Some(Datatype::Software));
        if !has_operation || !has_type || !is_able {
            return Status::BadOperation;
        }
        let size = match datatype {
            Some(Datatype::F64 | Datatype::I64 | Datatype::U64) => 8,
            _ => 4,
        };
        let old_is_odd = fetches && !self.value[1].is_multiple_of(4);
        if !self.offset.is_multiple_of(size) || !self.length.is_multiple_of(size) || old_is_odd {
            return Status::BadAlignment;
        }
        let is_beyond =
            |address: u32| u64::from(address) + u64::from(self.length) > u64::from(NODE_BYTES);
        if is_beyond(self.laddr) || (fetches && is_beyond(self.value[1])) {
            return Status::BadLocal;
        }
        Status::Ok
    }
}

/// Packets of an accumulate.
fn accumulate_packets(
    bench: &Bench,
    fetches: bool,
    [dpid, slot, id]: [u32; 3],
    operands: Operands,
) -> Vec<Vec<u32>> {
    let mut packets = Vec::new();
    let mut done = 0;
    loop {
        let left = operands.length - done;
        let bytes = left.min(bench.config.payload);
        let is_last = bytes == left;
        let offset = u64::from(operands.offset) + u64::from(done);
        let head = x_accumulate::DPID.put(dpid)
            | x_accumulate::PTYPE.put(PacketType::Xput as u32)
            | x_accumulate::LAST.put(is_last.into())
            | x_accumulate::BEYOND.put((offset >> 32) as u32)
            | x_accumulate::ACCUMULATE.put(1)
            | x_accumulate::FETCH.put(fetches.into())
            | x_accumulate::SRC.put(bench.me)
            | x_accumulate::SLOT.put(slot);
        let length = if is_last {
            x_length::ID.put(id) | x_length::LENGTH.put(left)
        } else {
            left
        };
        let reduction =
            operands.value[0] & (x_reduction::OPERATION.mask() | x_reduction::DATATYPE.mask());
        let mut packet = vec![head, offset as u32, length, reduction];
        packet.extend(fetches.then(|| operands.value[1].wrapping_add(done)));
        packet.extend((0..bytes / 4).map(|word| bench.word(operands.laddr + done + 4 * word)));
        packets.push(packet);
        if is_last {
            return packets;
        }
        done += bytes;
    }
}

/// The packet of an atomic operation.
fn atomic_packet(
    bench: &Bench,
    opcode: u32,
    [dpid, slot, id]: [u32; 3],
    operands: Operands,
) -> Vec<u32> {
    let is_wide = opcode & 0x10 != 0;
    let compares = opcode & 0xf == AtomicOperation::CompareSwap as u32;
    let head = x_atomic::DPID.put(dpid)
        | x_atomic::PTYPE.put(PacketType::Xget as u32)
        | x_atomic::LAST.put(1)
        | x_atomic::COMPARE.put(compares.into())
        | x_atomic::ATOMIC.put(1)
        | x_atomic::WIDE.put(is_wide.into())
        | x_atomic::SRC.put(bench.me)
        | x_atomic::SLOT.put(slot);
    let operation = x_operation::ID.put(id) | x_operation::OPERATION.put(opcode & 0xf);
    let mut packet = vec![head, operands.offset, operation];
    let halves = 1 + usize::from(is_wide);
    packet.extend(&operands.value[..halves]);
    if compares {
        packet.extend(&operands.compare[..halves]);
    }
    packet
}

/// Every atomic operation and every accumulate becomes exactly its packets, or is refused. Operands
/// are kept from command to command.
fn operations(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_operations");
    bench.begin();
    let bases = [0x100, 0x8000, 0x0, 0x40];
    for (slot, base) in bases.into_iter().enumerate() {
        assert_eq!(bench.register(base, None, 0), (0, slot as u32));
    }
    let opcodes: Vec<Opcode> = Opcode::ALL
        .iter()
        .copied()
        .filter(|&opcode| opcode as u32 >= Opcode::XSwap as u32)
        .chain([Opcode::XAccumulate; 10])
        .chain([Opcode::XFetchAccumulate; 10])
        .collect();
    let mut kept = Operands::default();
    let (mut sent, mut refused) = (0, 0);
    for round in 0..soak(30) {
        if round > 0 {
            bench.set_paces();
        }
        let (mut expected, mut statuses) = (Vec::new(), Vec::new());
        for _ in 0..12 {
            let wanted = Operands::random(&mut bench.rng, kept, config.payload);
            for ((opcode, word), (_, old)) in wanted.words().into_iter().zip(kept.words()) {
                if word != old || bench.rng.random_bool(0.2) {
                    bench.command(opcode, word);
                }
            }
            bench.stray();
            kept = wanted;
            let opcode = opcodes[bench.rng.random_range(0..opcodes.len())];
            let id = bench.rng.random_range(0..1 << 16);
            let dpid = if bench.rng.random_bool(0.05) {
                bench.rng.random_range(bench.nprocs..256)
            } else {
                bench.rng.random_range(0..bench.nprocs)
            };
            let mut slot = bench.rng.random_range(0..256);
            let mut is_known = true;
            let mut given = slot;
            if bench.rng.random_bool(0.3) {
                let window = bench.rng.random_range(0..5);
                let base = bases.get(window as usize).copied();
                bench.command(Opcode::XWindow, base.unwrap_or(0x44));
                (slot, is_known) = (window, base.is_some());
                given = bench.rng.random_range(0..256);
            }
            let code = opcode as u32;
            let is_atomic = code >= Opcode::XSwap as u32;
            let fetches = opcode == Opcode::XFetchAccumulate;
            let size = if code & 0x10 == 0 { 4 } else { 8 };
            let status = if !is_known {
                Status::NotRegistered
            } else if dpid >= bench.nprocs {
                Status::BadRank
            } else if !is_atomic {
                // The second instance has no unit for accumulates.
                wanted.refuses(fetches, config.lane == 0)
            } else if !wanted.offset.is_multiple_of(size) {
                Status::BadAlignment
            } else {
                Status::Ok
            };
            bench.command(
                opcode,
                x_commit::DPID.put(dpid) | x_commit::SLOT.put(given) | x_commit::ID.put(id),
            );
            if status != Status::Ok {
                statuses.push((id, status as u32));
            } else if is_atomic {
                expected.push(atomic_packet(&bench, code, [dpid, slot, id], wanted));
            } else {
                let packets = accumulate_packets(&bench, fetches, [dpid, slot, id], wanted);
                expected.extend(packets);
            }
        }
        bench.drain();
        let packets = bench.take_sent(REQUEST);
        for (at, (found, expected)) in packets.iter().zip(&expected).enumerate() {
            assert_eq!(
                found, expected,
                "packet {at}: {found:08x?}, expected {expected:08x?}, {config:?}"
            );
        }
        assert_eq!(packets.len(), expected.len(), "{config:?}");
        assert_eq!(bench.completions(), statuses, "{config:?}");
        sent += packets.len();
        refused += statuses.len();
    }
    assert!(sent > 100 && refused > 50, "{sent} sent, {refused} refused");
    bench.check_strays();
}

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

/// Commands that are refused before their first packet, and their reports.
fn refusals(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_refusals");
    bench.register_write(rank::CQ_BASE, RING);
    bench.register_write(rank::CQ_SIZE, RING_LOG2);
    let me = bench.me;
    // Before BEGIN, no command is executed.
    bench.extended(Opcode::XPut, 0, 0, 11, [0, 0, 4]);
    bench.extended(Opcode::XGet, 0, 0, 12, [0, 0, 4]);
    bench.drain();
    let not_begun = Status::NotBegun as u32;
    assert_eq!(bench.completions(), [(11, not_begun), (12, not_begun)]);
    assert_eq!(bench.read(rank::REFUSED_OUT), 2);
    assert_eq!(bench.events(), 0);
    assert_eq!(bench.collective(Opcode::Register, 0).0, not_begun);
    for opcode in [Opcode::Put1, Opcode::PutN, Opcode::Get, Opcode::Barrier] {
        bench.clear_events();
        bench.command(opcode, 0);
        if opcode != Opcode::Barrier {
            bench.command(opcode, 0);
            bench.data8(0, 1, 0);
        }
        bench.drain();
        assert_eq!(bench.events(), rank::events::REFUSED.put(1), "{opcode:?}");
        let error = bench.read(rank::LAST_ERROR);
        assert_eq!(rank::last_error::STATUS.get(error), not_begun);
        assert_eq!(rank::last_error::OPCODE.get(error), opcode as u32);
    }
    bench.clear_events();

    bench.begin();
    bench.drain();
    assert_eq!(bench.register(0x400, Some(256), 0), (0, 0));
    // Each command has its status and its id in the completion ring, in order.
    let nprocs = bench.nprocs;
    bench.extended(Opcode::XPut, nprocs, 0, 1, [0, 0, 4]);
    bench.extended(Opcode::XGet, 255, 0, 2, [0, 0, 4]);
    bench.extended(Opcode::XPut, me, 0, 3, [0, NODE_BYTES - 4, 5]);
    bench.extended(Opcode::XGet, me, 0, 4, [0, NODE_BYTES + 1, 0]);
    bench.extended(Opcode::XPut, me, 0, 5, [0, u32::MAX, 2]);
    bench.extended(Opcode::XGet, me, 0, 6, [0, 8, u32::MAX]);
    bench.command(Opcode::XWindow, 0x404);
    bench.extended(Opcode::XPut, me, 0, 7, [0, 0, 4]);
    bench.drain();
    let (rank_status, local, unknown) = (
        Status::BadRank as u32,
        Status::BadLocal as u32,
        Status::NotRegistered as u32,
    );
    assert_eq!(
        bench.completions(),
        [
            (1, rank_status),
            (2, rank_status),
            (3, local),
            (4, local),
            (5, local),
            (6, local),
            (7, unknown)
        ]
    );
    // A buffer with any bit of its address or length beyond node memory, whichever of both is written last.
    for bit in NODE_BYTES.ilog2()..32 {
        for operands in [
            [(Opcode::XLength, 1 << bit), (Opcode::XLaddr, 4)],
            [(Opcode::XLaddr, 1 << bit), (Opcode::XLength, 4)],
            [(Opcode::XLaddr, 4), (Opcode::XLength, 1 << bit)],
            [(Opcode::XLength, 4), (Opcode::XLaddr, 1 << bit)],
        ] {
            for (opcode, operand) in operands {
                bench.command(opcode, operand);
                bench.command(Opcode::XOffset, 0);
            }
            bench.command(Opcode::XPut, x_commit::DPID.put(me) | x_commit::ID.put(bit));
            bench.drain();
            assert_eq!(bench.completions(), [(bit, local)], "{operands:x?}");
        }
    }
    assert!(bench.take_sent(REQUEST).is_empty());
    if config.lane == 0 {
        old_elements(&mut bench);
    }
    // An id of a message that does not exist; without a message engine, none exists. There is nothing to be cancelled.
    for (at, opcode) in [
        Opcode::XSend,
        Opcode::XAnnounce,
        Opcode::XReceive,
        Opcode::XProbe,
        Opcode::XCancel,
    ]
    .into_iter()
    .enumerate()
    {
        let id = config.messages + at as u32;
        bench.command(Opcode::XLength, 0);
        bench.command(opcode, x_commit::ID.put(id));
        bench.drain();
        let refused = (id, Status::BadId as u32);
        let expected: &[_] = match opcode {
            Opcode::XCancel => &[],
            _ => &[refused],
        };
        assert_eq!(bench.completions(), expected, "{opcode:?}");
    }
    // The refused command has used the base.
    bench.extended(Opcode::XPut, me, 0, 8, [0, 0, 4]);
    bench.drain();
    assert_eq!(bench.take_sent(REQUEST).len(), 1, "only the last was sent");
    assert_eq!(bench.events(), 0);

    // Commands of the paper have no completion. LAST_ERROR has the reason.
    let cases = [
        (Opcode::Put1, 0x400, 0, [nprocs, 1, 0], Status::BadRank),
        (Opcode::Put1, 0x404, 0, [me, 1, 0], Status::NotRegistered),
        (Opcode::Put1, 0x400, 0, [me, 2, 0], Status::BadLength),
        (Opcode::Put1, 0x400, 0, [me, 0, 0], Status::BadLength),
        (Opcode::PutN, 0x400, 0, [me, 31, 0], Status::BadLength),
        (Opcode::PutN, 0x400, 0, [me, 1, 0], Status::BadLength),
        (Opcode::PutN, 0x400, 0, [me, 0, 0], Status::BadLength),
        (Opcode::PutN, 0x400, 0, [me, 255, 0], Status::BadLength),
        (
            Opcode::PutN,
            0x400,
            NODE_BYTES - 116,
            [me, 30, 0],
            Status::BadLocal,
        ),
        (
            Opcode::PutN,
            0x400,
            u32::MAX - 3,
            [me, 4, 0],
            Status::BadLocal,
        ),
        (Opcode::Get, 0x404, 0x400, [me, 4, 0], Status::NotRegistered),
        (Opcode::Get, 0x400, 0x404, [me, 4, 0], Status::NotRegistered),
        (Opcode::Get, 0x400, 0x400, [me, 31, 0], Status::BadLength),
        (Opcode::Get, 0x400, 0x400, [nprocs, 4, 0], Status::BadRank),
    ];
    for (opcode, first, second, [dpid, length, offset], status) in cases {
        bench.clear_events();
        bench.command(opcode, first);
        bench.command(opcode, second);
        bench.data8(dpid, length, offset);
        bench.drain();
        assert_eq!(
            bench.events(),
            rank::events::REFUSED.put(1),
            "{opcode:?} {second:#x} {length}"
        );
        let error = bench.read(rank::LAST_ERROR);
        assert_eq!(
            rank::last_error::STATUS.get(error),
            status as u32,
            "{opcode:?} {second:#x} {length}"
        );
        assert_eq!(rank::last_error::OPCODE.get(error), opcode as u32);
    }
    // Commands at the limits are sent.
    bench.clear_events();
    bench.command(Opcode::PutN, 0x400);
    bench.command(Opcode::PutN, NODE_BYTES - 120);
    bench.data8(me, 30, 0);
    bench.extended(
        Opcode::XPut,
        nprocs - 1,
        0,
        9,
        [u32::MAX, NODE_BYTES - 5, 5],
    );
    bench.drain();
    assert_eq!(bench.take_sent(REQUEST).len(), 2);
    assert_eq!(bench.events(), 0);

    // No rank may declare more ranks than the run has, use another rank's number, or begin beyond
    // the run.
    let identity = |bench: &mut Bench| {
        let bits = bench.read(rank::IDENTITY);
        let (pid, ranks) = (
            rank::identity::PID.get(bits),
            rank::identity::NPROCS.get(bits),
        );
        (pid, ranks, rank::identity::BEGUN.get(bits))
    };
    let mut numbers = vec![
        (Opcode::SetNprocs, config.ranks + 1),
        (Opcode::SetNprocs, 255),
        (Opcode::SetPid, me + 1),
    ];
    // A bit of its own.
    numbers.extend((8..32).map(|bit| (Opcode::SetNprocs, nprocs | 1 << bit)));
    numbers.extend((0..8).map(|bit| (Opcode::SetPid, me ^ 1 << bit)));
    for (opcode, data) in numbers {
        bench.command(opcode, data);
        bench.drain();
        assert_eq!(
            bench.events(),
            rank::events::REFUSED.put(1),
            "{opcode:?} {data}"
        );
        assert_eq!(identity(&mut bench), (me, nprocs, 1), "{opcode:?} {data}");
        bench.clear_events();
    }
    bench.extended(Opcode::XPut, DESTS, 0, 10, [0, 0, 4]);
    bench.drain();
    assert_eq!(bench.completions().last(), Some(&(10, rank_status)));
    // The run may have more ranks than the network reaches. Commands to those are refused.
    bench.command(Opcode::SetNprocs, config.ranks);
    bench.drain();
    assert_eq!(identity(&mut bench), (me, config.ranks, 1));
    for dpid in (0..DESTS + 4).chain([255]) {
        let is_known = dpid < config.ranks.min(DESTS);
        bench.extended(Opcode::XPut, dpid, 0, dpid, [0, 0, 4]);
        bench.command(Opcode::Put1, 0x400);
        bench.command(Opcode::Put1, dpid);
        bench.data8(dpid, 1, 0);
        bench.drain();
        let sent = bench.take_sent(REQUEST);
        assert_eq!(sent.len(), if is_known { 2 } else { 0 }, "rank {dpid}");
        assert!(sent.iter().all(|packet| packet[0] >> 24 == dpid));
        let refused = (dpid, rank_status);
        let expected: &[_] = if is_known { &[] } else { &[refused] };
        assert_eq!(bench.completions(), expected, "rank {dpid}");
        let refused = rank::events::REFUSED.put((!is_known).into());
        assert_eq!(bench.events(), refused, "rank {dpid}");
        bench.clear_events();
    }
    bench.command(Opcode::EndRun, 0);
    bench.command(Opcode::SetNprocs, me);
    bench.command(Opcode::BeginRun, 0);
    bench.drain();
    assert_eq!(bench.events(), rank::events::REFUSED.put(1));
    assert_eq!(identity(&mut bench), (me, me, 0));
}

/// The old elements of a fetching accumulate end with node memory, or a word behind it.
fn old_elements(bench: &mut Bench) {
    let me = bench.me;
    for length in [4, 12, 0x40, 0x1000, 0x1040, 0x5554] {
        for (beyond, length_last) in [(0, false), (0, true), (4, false), (4, true)] {
            let old = NODE_BYTES - length + beyond;
            let mut operands = [(Opcode::XLength, length), (Opcode::XOperandHigh, old)];
            if length_last {
                operands.reverse();
            }
            bench.command(Opcode::XLaddr, 0);
            bench.command(Opcode::XOffset, 0);
            let reduction = x_reduction::DATATYPE.put(Datatype::U32 as u32);
            bench.command(Opcode::XOperand, reduction);
            for (opcode, operand) in operands {
                bench.command(opcode, operand);
            }
            let commit = x_commit::DPID.put(me) | x_commit::ID.put(1);
            bench.command(Opcode::XFetchAccumulate, commit);
            bench.drain();
            let packets = bench.take_sent(REQUEST).len() as u32;
            let refused = (1, Status::BadLocal as u32);
            let place = format!("{length:#x} bytes to {old:#x}");
            if beyond == 0 {
                let expected = length.div_ceil(bench.config.payload);
                assert_eq!(packets, expected, "{place}");
                assert_eq!(bench.completions(), [], "{place}");
            } else {
                assert_eq!(packets, 0, "{place}");
                assert_eq!(bench.completions(), [refused], "{place}");
            }
        }
    }
    bench.command(Opcode::XLength, 4);
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
    // The other ranks are at a barrier.
    bench.peers_kind = Some(SyncKind::Barrier);
    assert_eq!(
        bench.collective(Opcode::Deregister, 0x2000).0,
        Status::Mismatch as u32
    );
    bench.barrier();
    assert_eq!(bench.events(), 0);
}

// Packets of a wrong length.

/// Word of an XACK.
fn x_ack(rank: u32, status: Status, id: u32) -> u32 {
    rank << 24 | (PacketType::Xack as u32) << 21 | (status as u32) << 16 | id
}

/// A continuous sequence of packets of all kinds on both planes, some with more or fewer beats than
/// their header declares. These packets are reported and answered, and later packets are not
/// affected.
fn lengths(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_lengths");
    bench.begin();
    // Areas: written by extended packets, read, written by the paper's packets.
    let bases = [0x1000, 0x9000, 0xa000];
    for (slot, base) in bases.into_iter().enumerate() {
        assert_eq!(bench.register(base, Some(0x1000), 0), (0, slot as u32));
    }
    let me = bench.me;
    // There is no space for messages.
    bench.register_write(rank::MESSAGE_QUOTA, 0);
    let (mut cut, mut short, mut long) = (0, 0, 0);
    for round in 0..soak(30) {
        bench.set_paces();
        let share = [0.0, 0.1, 0.5][round as usize % 3];
        let mut memory = bench.memory.clone();
        let (mut answers, mut completions, mut is_malformed) = (Vec::new(), Vec::new(), false);
        let (mut place, mut paper_place) = (bases[0], bases[2]);
        for id in 1..=30u32 {
            let rng = &mut bench.rng;
            let from = rng.random_range(0..6);
            let x_head = |kind: PacketType, slot: u32| {
                me << 24 | (kind as u32) << 21 | x_header::LAST.put(1) | from << 8 | slot
            };
            let mut address = place + rng.random_range(0..8);
            place += 128;
            let mut length = rng.random_range(0..=config.payload.min(120) - 3);
            // Reads of whole words: address and words.
            let (source, words) = (4 * rng.random_range(0..200), rng.random_range(2..=14u32));
            let kind = rng.random_range(0..7);
            let (plane, mut packet, header) = match kind {
                0 => {
                    (address, length) = (paper_place, 4 * words);
                    paper_place += 4 * words;
                    let offset = (address - bases[2]) / 4;
                    let plane = rng.random_range(0..2);
                    (plane, vec![paper_word(me, 0b010, words + 1, offset, 2)], 1)
                }
                1 => {
                    let head = x_head(PacketType::Xput, 0);
                    let packet = vec![head, address - bases[0], id << 16 | length];
                    (REQUEST, packet, 3)
                }
                2 => {
                    let head = x_head(PacketType::Xdata, 0);
                    (REPLY, vec![head, address, id << 16 | length], 3)
                }
                3 => {
                    let (offset, answer) = (source / 4, paper_word(from, 0b010, words, 0, 7));
                    let packet = vec![paper_word(me, 0b011, 2, offset, 1), answer];
                    (REQUEST, packet, 2)
                }
                4 => {
                    let head = x_head(PacketType::Xget, 1);
                    let packet = vec![head, source, (id << 16) | (4 * words), 4 * id];
                    (REQUEST, packet, 4)
                }
                5 => (REPLY, vec![x_ack(me, Status::Denied, id)], 1),
                // A message without space for it.
                _ => (REQUEST, vec![from << 8, 5, length, id], 4),
            };
            let data: Vec<u8> = (0..length).map(|_| rng.random()).collect();
            let carries = matches!(kind, 0 | 1 | 2 | 6);
            let lane = if kind == 6 { 0 } else { address % 4 };
            if carries && length > 0 {
                let mut bytes = vec![0; lane as usize];
                bytes.extend(&data);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
                let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("a word"));
                packet.extend(bytes.chunks(4).map(word));
            }

            let mut beats = config.beats(&packet, rng);
            let right = beats.len();
            let header = if config.beat == 1 { header } else { 1 };
            let mut count = right;
            while count == right && rng.random_bool(share) {
                count = rng.random_range(1..right + 4);
            }
            beats.resize_with(count, || {
                let words = (0..config.beat).map(|_| rng.random()).collect();
                (words, false)
            });
            for (at, (_, last)) in beats.iter_mut().enumerate() {
                *last = at + 1 == count;
            }
            bench.sources[plane].extend(beats);
            is_malformed |= count != right;
            if count < header {
                cut += 1;
                continue;
            }
            short += u32::from(count < right);
            long += u32::from(count > right);
            let status = if count == right {
                Status::Ok
            } else {
                Status::BadLength
            };
            let read: Vec<u32> = (0..words)
                .map(|at| bench.word(bases[1] + source + 4 * at))
                .collect();
            match kind {
                1 => answers.push(vec![x_ack(from, status, id)]),
                2 => completions.push((id, status as u32)),
                3 => answers.push([vec![paper_word(from, 0b010, words + 1, 0, 7)], read].concat()),
                4 => {
                    let head =
                        from << 24 | (PacketType::Xdata as u32) << 21 | x_header::LAST.put(1);
                    answers.push([vec![head, 4 * id, (id << 16) | (4 * words)], read].concat());
                }
                5 => completions.push((id, Status::Denied as u32)),
                6 => answers.push(vec![x_ack(from, Status::NoRoom, id)]),
                _ => {}
            }
            if matches!(kind, 0..=2) {
                let came = (4 * config.beat * (count - header)).saturating_sub(lane as usize);
                let came = came.min(data.len());
                memory[address as usize..address as usize + came].copy_from_slice(&data[..came]);
            }
        }
        bench.drain();
        let mut sent = bench.take_sent(REPLY);
        sent.sort_unstable();
        answers.sort_unstable();
        assert_eq!(sent, answers, "round {round}, {config:?}");
        let mut entered = bench.completions();
        entered.sort_unstable();
        completions.sort_unstable();
        assert_eq!(entered, completions, "round {round}, {config:?}");
        let ring = RING as usize;
        let wrong = (0..ring).find(|&at| bench.memory[at] != memory[at]);
        assert_eq!(wrong, None, "round {round}, {config:?}: a byte of memory");
        let found = is_set(rank::events::MALFORMED, bench.events());
        assert_eq!(found, is_malformed, "round {round}, {config:?}");
        bench.clear_events();
    }
    let often = [cut, short, long];
    let least = if config.beat == 1 { 20 } else { 0 };
    assert!(cut >= least && short > 5 && long > 20, "{often:?}");
}

// Loopback.

/// A window of the random programs.
#[derive(Debug, Clone, Copy)]
struct Window {
    base: u32,
    size: u32,
    deny_read: bool,
    deny_write: bool,
}

/// Random programs whose packets are looped back to the coprocessor over a network that stalls.
/// After each barrier, memory and completions are compared with the effects of the commands.
fn programs(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_programs");
    bench.looped = true;
    bench.begin();
    let me = bench.me;
    // Sources below 0x8000, destinations above, so that the order within a batch does not matter.
    let windows = [
        Window {
            base: 0x8000,
            size: 0x6000,
            deny_read: false,
            deny_write: false,
        },
        Window {
            base: 0x0,
            size: 0x8000,
            deny_read: false,
            deny_write: true,
        },
        Window {
            base: 0x9004,
            size: 1_003,
            deny_read: true,
            deny_write: false,
        },
        Window {
            base: 0x7ffc,
            size: 4,
            deny_read: false,
            deny_write: true,
        },
    ];
    for (slot, window) in windows.iter().enumerate() {
        let deny = u32::from(window.deny_read) | u32::from(window.deny_write) << 1;
        assert_eq!(
            bench.register(window.base, Some(window.size), deny),
            (0, slot as u32)
        );
    }
    let (mut done, mut refused) = (0, 0);
    let mut next_id = 0;
    for _ in 0..soak(40) {
        bench.set_paces();
        let mut memory = bench.memory.clone();
        let mut claimed: Vec<(u32, u32)> = Vec::new();
        let mut claim = |first: u32, length: u32| {
            let clear = claimed
                .iter()
                .all(|&(at, size)| first + length <= at || at + size <= first);
            if clear {
                claimed.push((first, length));
            }
            clear
        };
        let mut expected = Vec::new();
        for _ in 0..24 {
            let rng = &mut bench.rng;
            let slot = rng.random_range(0..5usize);
            let window = windows.get(slot).copied();
            let long = rng.random_bool(0.3);
            let length = rng.random_range(0..if long { 3 * config.payload } else { 40 });
            let size = window.map_or(100, |window| window.size);
            let offset = match rng.random_range(0..5) {
                // Around 2^32, back to the start of the window.
                2 => 0u32.wrapping_sub(rng.random_range(0..=length)),
                0 => size.saturating_sub(length),
                1 => (size + rng.random_range(0..3)).saturating_sub(length),
                _ => rng.random_range(0..=size.saturating_sub(length)),
            };
            let is_get = rng.random();
            let status = match window {
                None => Status::BadSlot,
                Some(_) if u64::from(offset) + u64::from(length) > u64::from(size) => {
                    Status::OutOfBounds
                }
                Some(window)
                    if if is_get {
                        window.deny_read
                    } else {
                        window.deny_write
                    } =>
                {
                    Status::Denied
                }
                Some(_) => Status::Ok,
            };
            let remote = window.map_or(0, |window| window.base).wrapping_add(offset);
            let laddr = rng.random_range(0..0x8000 - length) + if is_get { 0x8000 } else { 0 };
            // Reads are below, writes above.
            let (from, to) = if is_get {
                (remote, laddr)
            } else {
                (laddr, remote)
            };
            let within = from <= 0x8000 - length && to >= 0x8000 && to <= RING - length;
            let paper = rng.random_bool(0.3);
            if paper {
                // A PUT of the paper into the first window, in words.
                let (words, at) = (rng.random_range(1..=30u32), rng.random_range(0..256u32));
                let source = rng.random_range(0..0x8000 - 120);
                let to = windows[0].base + 4 * at;
                if !claim(to, 4 * words) {
                    continue;
                }
                let data: Vec<u8> = memory[source as usize..(source + 4 * words) as usize].to_vec();
                memory[to as usize..(to + 4 * words) as usize].copy_from_slice(&data);
                if words == 1 {
                    let word = u32::from_le_bytes(std::array::from_fn(|lane| data[lane]));
                    bench.command(Opcode::Put1, windows[0].base);
                    bench.command(Opcode::Put1, word);
                } else {
                    bench.command(Opcode::PutN, windows[0].base);
                    bench.command(Opcode::PutN, source);
                }
                bench.data8(me, words, at);
                done += 1;
                continue;
            }
            if status == Status::Ok && !(within && claim(to, length)) {
                continue;
            }
            if status == Status::Ok {
                let data: Vec<u8> = memory[from as usize..(from + length) as usize].to_vec();
                memory[to as usize..(to + length) as usize].copy_from_slice(&data);
                done += 1;
            } else {
                refused += 1;
            }
            next_id = (next_id + 1) % (1 << 16);
            let opcode = if is_get { Opcode::XGet } else { Opcode::XPut };
            bench.extended(opcode, me, slot as u32, next_id, [offset, laddr, length]);
            expected.push((next_id, status as u32));
        }
        bench.barrier();
        let mut completions = bench.completions();
        completions.sort_unstable();
        expected.sort_unstable();
        assert_eq!(completions, expected, "{config:?}");
        let ring = RING as usize;
        let wrong = (0..ring).find(|&at| bench.memory[at] != memory[at]);
        assert_eq!(wrong, None, "the first wrong byte in memory, {config:?}");
        assert_eq!(bench.events(), 0);
        assert_eq!(bench.read(rank::REFUSED_IN) > 0, refused > 0);
        // Sometimes a GET of the paper after all other commands. Its data arrives at the start of
        // its window.
        let (words, at) = (
            bench.rng.random_range(1..=30u32),
            bench.rng.random_range(0..256u32),
        );
        bench.command(Opcode::Get, windows[0].base);
        bench.command(Opcode::Get, windows[1].base);
        bench.data8(me, words, at);
        bench.barrier();
        let from = (windows[1].base + 4 * at) as usize;
        let to = windows[0].base as usize;
        let data = memory[from..from + 4 * words as usize].to_vec();
        memory[to..to + data.len()].copy_from_slice(&data);
        assert!(
            bench.memory[..ring] == memory[..ring],
            "a GET of {words} words, {config:?}"
        );
    }
    assert!(
        done > 200 && refused > 100,
        "{done} done, {refused} refused"
    );
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

/// A receive that waits.
#[derive(Debug, Clone)]
struct Posted {
    id: u32,
    /// Any source, or any tag, if there is none.
    source: Option<u32>,
    context: u32,
    tag: Option<u32>,
    address: u32,
    capacity: u32,
}

/// A message that has arrived.
#[derive(Debug, Clone)]
struct Arrived {
    source: u32,
    context: u32,
    tag: u32,
    /// Id of the sender's command.
    id: u32,
    data: Vec<u8>,
}

impl Posted {
    fn takes(&self, message: &Arrived) -> bool {
        self.context == message.context
            && self.source.is_none_or(|source| source == message.source)
            && self.tag.is_none_or(|tag| tag == message.tag)
    }
}

/// Id, status, source, tag and length of a completion.
type Entry = [u32; 5];

/// A model of the rank's messages.
#[derive(Debug, Default)]
struct Mail {
    /// Oldest first.
    posted: Vec<Posted>,
    unexpected: Vec<Arrived>,
    /// Address, length and id of announced messages.
    announced: BTreeMap<u32, (u32, u32)>,
    /// Operands that the coprocessor keeps: address, length and tag.
    kept: [u32; 3],
    /// Expected packets, acknowledgements and completions.
    packets: Vec<Vec<u32>>,
    acks: Vec<Vec<u32>>,
    entries: Vec<Entry>,
    /// Commands that other ranks have to answer.
    asked: Vec<u32>,
}

impl Mail {
    /// A receive and a message have met.
    fn meet(&mut self, bench: &mut [u8], receive: &Posted, message: &Arrived) {
        let whole = message.data.len();
        let kept = whole.min(receive.capacity as usize);
        let start = receive.address as usize;
        bench[start..start + kept].copy_from_slice(&message.data[..kept]);
        let status = if kept < whole {
            Status::Truncated
        } else {
            Status::Ok
        };
        let Arrived {
            source, tag, id, ..
        } = *message;
        self.entries
            .push([receive.id, status as u32, source, tag, whole as u32]);
        self.acks.push(vec![x_ack(source, Status::Ok, id)]);
    }

    /// A completion that says no more than a status.
    fn end(&mut self, id: u32, status: Status) {
        self.entries.push([id, status as u32, 0, 0, 0]);
    }
}

/// Number of ranks of the runs, and their contexts and tags. A receive's buffer is in the area of its id.
const CONTEXTS: [u32; 3] = [0, 1, 200];
const TAGS: [u32; 4] = [0, 1, 0x155_5555, (1 << 26) - 1];
const AREA: u32 = 0x600;

impl Bench {
    /// Queues the operands of a command that are not kept, and some that are.
    fn operands(&mut self, mail: &mut Mail, wanted: [u32; 3]) {
        let opcodes = [Opcode::XLaddr, Opcode::XLength, Opcode::XTag];
        let first = self.rng.random_range(0..3);
        for turn in 0..3 {
            let at = (first + turn) % 3;
            if wanted[at] != mail.kept[at] || self.rng.random_bool(0.2) {
                self.command(opcodes[at], wanted[at]);
            }
        }
        mail.kept = wanted;
    }

    /// Queues a random command of messages, and adds what must come of it.
    fn message_command(&mut self, mail: &mut Mail, memory: &mut [u8]) {
        let messages = self.config.messages;
        let rng = &mut self.rng;
        let opcode = [
            Opcode::XSend,
            Opcode::XAnnounce,
            Opcode::XReceive,
            Opcode::XReceive,
            Opcode::XProbe,
            Opcode::XCancel,
        ][rng.random_range(0..6)];
        // A receive's id is in use up to its completion.
        let in_use = |id: u32| {
            let mut ids = mail.posted.iter().map(|receive| receive.id);
            ids.any(|of| of == id) || mail.entries.iter().any(|entry| entry[0] == id)
        };
        let mut id = rng.random_range(0..messages);
        while opcode == Opcode::XReceive && in_use(id) {
            id = rng.random_range(0..messages);
        }
        if rng.random_bool(0.1) {
            // One bit is wrong.
            id |= 1 << rng.random_range(messages.ilog2()..16);
        }
        let context = if rng.random_bool(0.2) {
            rng.random_range(0..256)
        } else {
            CONTEXTS[rng.random_range(0..3)]
        };
        let mut tag = TAGS[rng.random_range(0..4)];
        let (any_source, any_tag): (bool, bool) = (rng.random_bool(0.3), rng.random_bool(0.3));
        tag |= x_tag::ANY_SOURCE.put(any_source.into()) | x_tag::ANY_TAG.put(any_tag.into());
        // Packets to this rank do not come back.
        let mut peer = (self.me + rng.random_range(1..self.nprocs)) % self.nprocs;
        if rng.random_bool(0.1) {
            peer = rng.random_range(self.nprocs..256);
        }
        let mut length = match rng.random_range(0..5) {
            0 => FRAGMENT,
            1 => FRAGMENT + 1,
            2 => 4 * rng.random_range(0..=FRAGMENT / 4),
            _ => rng.random_range(0..=FRAGMENT),
        };
        let mut address = match opcode {
            Opcode::XReceive => AREA * (id % messages) + rng.random_range(0..8),
            _ => rng.random_range(AREA * messages..RING - FRAGMENT),
        };
        if opcode == Opcode::XAnnounce && rng.random() {
            address = rng.random_range(0..RING);
            length = rng.random_range(0..=RING - address);
        }
        if rng.random_bool(0.1) {
            // Beyond node memory, by a byte or by a bit.
            match rng.random_range(0..4) {
                0 => length = NODE_BYTES + 1 - address,
                1 => length |= NODE_BYTES << rng.random_range(0..16),
                2 => address |= NODE_BYTES << rng.random_range(0..16),
                _ => address = NODE_BYTES + 1 - length.clamp(1, FRAGMENT),
            }
        }
        self.operands(mail, [address, length, tag]);
        self.stray();
        let commit =
            x_message::RANK.put(peer) | x_message::CONTEXT.put(context) | x_message::ID.put(id);
        self.command(opcode, commit);

        let sends = matches!(opcode, Opcode::XSend | Opcode::XAnnounce);
        let is_beyond = u64::from(address) + u64::from(length) > u64::from(NODE_BYTES);
        let status = if peer >= self.nprocs && (sends || !any_source) {
            Status::BadRank
        } else if id >= messages {
            Status::BadId
        } else if opcode == Opcode::XSend && length > FRAGMENT {
            Status::BadLength
        } else if opcode != Opcode::XProbe && is_beyond {
            Status::BadLocal
        } else {
            Status::Ok
        };
        if opcode == Opcode::XCancel {
            if let Some(at) = mail.posted.iter().position(|receive| receive.id == id) {
                mail.posted.remove(at);
                mail.end(id, Status::Cancelled);
            }
            return;
        }
        if status != Status::Ok {
            mail.end(id, status);
            return;
        }
        if sends {
            let head = message::DPID.put(peer)
                | message::PTYPE.put(PacketType::Message as u32)
                | message::ANNOUNCE.put((opcode == Opcode::XAnnounce).into())
                | message::SRC.put(self.me)
                | message::CONTEXT.put(context);
            let mut packet = vec![head, x_tag::TAG.get(tag), length, id];
            if opcode == Opcode::XSend {
                packet.extend((0..length.div_ceil(4)).map(|at| self.word(address + 4 * at)));
            } else {
                mail.announced.insert(id, (address, length));
            }
            mail.packets.push(packet);
            mail.asked.push(id);
            return;
        }
        let receive = Posted {
            id,
            source: (!any_source).then_some(peer),
            context,
            tag: (!any_tag).then_some(x_tag::TAG.get(tag)),
            address,
            capacity: length,
        };
        let found = mail.unexpected.iter().position(|m| receive.takes(m));
        match (opcode, found) {
            (Opcode::XReceive, Some(at)) => {
                let message = mail.unexpected.remove(at);
                mail.meet(memory, &receive, &message);
            }
            (Opcode::XReceive, None) => mail.posted.push(receive),
            (_, Some(at)) => {
                let Arrived {
                    source, tag, data, ..
                } = &mail.unexpected[at];
                mail.entries.push([id, 0, *source, *tag, data.len() as u32]);
            }
            (_, None) => mail.end(id, Status::NotFound),
        }
    }

    /// A random message arrives.
    fn message_arrives(&mut self, mail: &mut Mail, memory: &mut [u8]) {
        let rng = &mut self.rng;
        let length = [0, FRAGMENT, rng.random_range(0..=FRAGMENT)][rng.random_range(0..3)];
        let mut arrived = Arrived {
            source: (self.me + rng.random_range(1..self.nprocs)) % self.nprocs,
            context: CONTEXTS[rng.random_range(0..3)],
            tag: TAGS[rng.random_range(0..4)],
            id: rng.random_range(0..1 << 16),
            data: (0..length).map(|_| rng.random()).collect(),
        };
        if !mail.posted.is_empty() && rng.random_bool(0.7) {
            // For some receive.
            let receive = &mail.posted[rng.random_range(0..mail.posted.len())];
            arrived.source = receive.source.unwrap_or(arrived.source);
            arrived.context = receive.context;
            arrived.tag = receive.tag.unwrap_or(arrived.tag);
        }
        let Arrived {
            source,
            context,
            tag,
            id,
            ref data,
        } = arrived;
        let head = message::DPID.put(self.me) | message::SRC.put(source);
        let mut packet = vec![head | message::CONTEXT.put(context), tag, length, id];
        packet.extend(data.chunks(4).map(|bytes| {
            let byte = |at: usize| bytes.get(at).copied().unwrap_or(0x5a);
            u32::from_le_bytes(std::array::from_fn(byte))
        }));
        self.receive(REQUEST, &packet);
        match mail
            .posted
            .iter()
            .position(|receive| receive.takes(&arrived))
        {
            Some(at) => {
                let receive = mail.posted.remove(at);
                mail.meet(memory, &receive, &arrived);
            }
            None => mail.unexpected.push(arrived),
        }
    }

    /// Another rank refuses commands of this rank.
    fn answer(&mut self, ids: Vec<u32>, mail: &mut Mail) {
        for id in ids {
            let statuses = [Status::NoRoom, Status::RankReset, Status::OutOfBounds];
            let status = statuses[self.rng.random_range(0..3)];
            let me = self.me;
            self.receive(REPLY, &[x_ack(me, status, id)]);
            mail.end(id, status);
        }
    }

    /// Waits for what is under way, and compares it with what is expected.
    fn compare_mail(&mut self, mail: &mut Mail, memory: &[u8], what: &str) {
        self.drain();
        let place = format!("{what}, cycle {}, {:?}", self.block.cycle(), self.config);
        let packets = std::mem::take(&mut mail.packets);
        let sent = self.take_sent(REQUEST);
        assert_eq!(sent.len(), packets.len(), "{place}: packets");
        for (sent, expected) in sent.iter().zip(&packets) {
            // The last word of a payload may have bytes behind the message.
            let bytes = |packet: &[u32]| -> Vec<u8> {
                let length = if is_set(message::ANNOUNCE, packet[0]) {
                    0
                } else {
                    packet[2] as usize
                };
                let bytes = packet.iter().flat_map(|word| word.to_le_bytes());
                bytes.take(16 + length).collect()
            };
            assert_eq!(sent.len(), expected.len(), "{place}: {sent:x?}");
            assert_eq!(bytes(sent), bytes(expected), "{place}: {sent:x?}");
        }
        // Copies of this rank to itself are no answers.
        let me = self.me;
        let mut answers = self.take_sent(REPLY);
        answers.retain(|packet| packet[0] >> 24 != me);
        answers.sort_unstable();
        let mut expected = std::mem::take(&mut mail.acks);
        expected.sort_unstable();
        assert_eq!(answers, expected, "{place}: acknowledgements");
        let mut entries = self.entries();
        for entry in &mut entries {
            // Other completions have no source, tag and length.
            if ![Status::Ok, Status::Truncated]
                .map(|status| status as u32)
                .contains(&entry[1])
            {
                entry[2..].fill(0);
            }
        }
        entries.sort_unstable();
        mail.entries.sort_unstable();
        assert_eq!(entries, mail.entries, "{place}: completions");
        mail.entries.clear();
        let wrong = (0..RING as usize).find(|&at| self.memory[at] != memory[at]);
        assert_eq!(wrong, None, "{place}: a byte of memory");
        let queues = rank::message_queues::POSTED.put(mail.posted.len() as u32)
            | rank::message_queues::UNEXPECTED.put(mail.unexpected.len() as u32);
        assert_eq!(self.read(rank::MESSAGE_QUEUES), queues, "{place}: queues");
    }

    /// Another rank fetches parts of the announced messages, and more than there is.
    fn fetch_announced(&mut self, mail: &mut Mail) {
        for (&id, &(address, size)) in &mail.announced {
            if size == 0 {
                continue;
            }
            let rng = &mut self.rng;
            let length = rng.random_range(1..=size.min(self.config.payload - 4));
            let offset =
                [0, size - length, rng.random_range(0..=size - length)][rng.random_range(0..3)];
            let laddr: u32 = rng.random_range(0..NODE_BYTES);
            let (peer, receive) = (
                rng.random_range(0..self.nprocs),
                rng.random_range(0..1 << 10),
            );
            let peer = if peer == self.me {
                (peer + 1) % self.nprocs
            } else {
                peer
            };
            let head = x_header::DPID.put(self.me)
                | x_header::PTYPE.put(PacketType::Xget as u32)
                | x_header::LAST.put(1)
                | x_header::MESSAGE.put(1)
                | x_header::SRC.put(peer)
                | x_header::SLOT.put(id);
            let more = rng.random_range(1..size.max(2)).min(0x100);
            for (length, is_beyond) in [(length, false), (size - offset + more, true)] {
                if length >= 1 << 16 {
                    continue;
                }
                let word = x_length::ID.put(receive) | x_length::LENGTH.put(length);
                self.receive(REQUEST, &[head, offset, word, laddr]);
                self.drain();
                let answers = self.take_sent(REPLY);
                let place = format!("{offset:#x} of {address:#x}, {size:#x} bytes: {answers:x?}");
                assert_eq!(answers.len(), 1, "{place}");
                let answer = &answers[0];
                assert_eq!(x_data::DPID.get(answer[0]), peer, "{place}");
                if is_beyond {
                    let status = x_data::STATUS.get(answer[0]);
                    assert_eq!(status, Status::OutOfBounds as u32, "{place}");
                    continue;
                }
                assert_eq!(answer[1], laddr, "{place}");
                let lane = (laddr % 4) as usize;
                let bytes: Vec<u8> = answer[3..]
                    .iter()
                    .flat_map(|word| word.to_le_bytes())
                    .skip(lane)
                    .take(length as usize)
                    .collect();
                let from = (address + offset) as usize;
                assert!(
                    bytes == self.memory[from..from + length as usize],
                    "{place}"
                );
            }
        }
    }

    /// The rank is reset while other ranks owe it answers. The reset ends with the last answer, and leaves nothing behind.
    fn reset_rank(&mut self, mail: &mut Mail) {
        use rank::reset_state::{ANSWERS, BUSY};
        let resets = rank::reset_state::COUNT.get(self.read(rank::RESET_STATE));
        // Commands of all kinds, each of which is answered once.
        let count = self.rng.random_range(1..=6);
        for id in 100..100 + count {
            let opcode = [
                Opcode::XPut,
                Opcode::XGet,
                Opcode::XAdd64,
                Opcode::XAccumulate,
                Opcode::XFetchAccumulate,
                Opcode::XSend,
                Opcode::XAnnounce,
            ][self.rng.random_range(0..7)];
            let peer = (self.me + 1) % self.nprocs;
            let length = match opcode {
                Opcode::XSend => 12,
                _ => 8 * self.rng.random_range(0..2 * self.config.payload / 8),
            };
            let id = match opcode {
                Opcode::XSend | Opcode::XAnnounce => id % self.config.messages,
                _ => id,
            };
            self.command(Opcode::XOperand, 0);
            self.command(Opcode::XOperandHigh, 0x100);
            self.command(Opcode::XCompare, 0xffff_ffff);
            self.command(Opcode::XCompareHigh, 0xffff_ffff);
            self.extended(opcode, peer, 3, id, [8, 0x108, length]);
            mail.asked.push(id);
        }
        for opcode in [
            Opcode::XOffset,
            Opcode::XLaddr,
            Opcode::XTag,
            Opcode::XOperand,
        ] {
            self.command(opcode, 0xffff_ffff);
        }
        self.command(Opcode::XOperandHigh, 0xffff_ffff);
        let length = [0, 0xffff_ffff][self.rng.random_range(0..2)];
        self.command(Opcode::XLength, length);
        self.command(Opcode::XWindow, 0x5554);
        if self.rng.random() {
            // A packet of the paper is the last one ahead of the recalls.
            self.command(Opcode::Put1, 0x400);
            self.command(Opcode::Put1, 0);
            self.data8(0, 1, 0);
        }
        self.drain();
        self.take_sent(REQUEST);
        self.entries();
        self.run_until("the ring's tail", |bench| bench.host.is_empty());
        self.register_write(rank::RANK_RESET, 1);
        let nprocs = self.nprocs as usize;
        self.run_until("the recalls", |bench| {
            bench.host.is_empty() && bench.sent[REQUEST].len() == nprocs
        });
        let recall = |dpid: u32| {
            message::DPID.put(dpid)
                | message::ANNOUNCE.put(1)
                | message::RECALL.put(1)
                | message::SRC.put(self.me)
        };
        let recalls: Vec<_> = (0..self.nprocs)
            .map(|at| vec![recall(at), 0, 0, 0])
            .collect();
        assert_eq!(self.take_sent(REQUEST), recalls, "{:?}", self.config);
        let mut ids = std::mem::take(&mut mail.asked);
        ids.extend(vec![0; nprocs]);
        let last = ids.split_off(ids.len() - 1);
        self.answer(ids, mail);
        self.run_until("the answers", |bench| bench.sources[REPLY].is_empty());
        self.cycles(300);
        let state = self.read(rank::RESET_STATE);
        let waits = (BUSY.get(state), ANSWERS.get(state));
        assert_eq!(waits, (1, 1), "an answer is missing, {:?}", self.config);
        self.answer(last, mail);
        self.run_until("the end of the reset", |bench| {
            BUSY.get(bench.read(rank::RESET_STATE)) == 0
        });
        // Messages that waited are returned.
        let mut acks: Vec<_> = mail
            .unexpected
            .iter()
            .map(|message| vec![x_ack(message.source, Status::RankReset, message.id)])
            .collect();
        acks.sort_unstable();
        let mut answers = self.take_sent(REPLY);
        answers.sort_unstable();
        assert_eq!(answers, acks, "messages that waited, {:?}", self.config);
        *mail = Mail::default();
        self.commands = 0;
        let state = rank::reset_state::LARGEST.put(self.nprocs)
            | rank::reset_state::COUNT.put((resets + 1) & 0xff);
        assert_eq!(self.read(rank::RESET_STATE), state);
        let identity = rank::identity::PID.put(self.me) | rank::identity::NPROCS.put(1);
        assert_eq!(self.read(rank::IDENTITY), identity);
        for register in [
            rank::RETIRED,
            rank::CQ_HEAD,
            rank::MESSAGE_QUEUES,
            rank::EVENTS,
        ] {
            assert_eq!(self.read(register), 0, "{register:#x}, {:?}", self.config);
        }
    }

    /// After a reset, all operands are zero, and no window is named. Opcodes of no command change none of them.
    fn check_operands(&mut self, mail: &mut Mail) {
        let is_known = |opcode: u32| Opcode::ALL.iter().any(|&known| known as u32 == opcode);
        for opcode in (0..256).filter(|&opcode| !is_known(opcode)) {
            let data = self.rng.random();
            self.host.push((4 * opcode, data));
        }
        self.strayed = true;
        let peer = (self.me + 1) % self.nprocs;
        let put = x_commit::DPID.put(peer) | x_commit::SLOT.put(7) | x_commit::ID.put(99);
        self.command(Opcode::XPut, put);
        self.command(Opcode::XCompareSwap64, put);
        self.command(Opcode::XFetchAccumulate, put);
        self.command(
            Opcode::XSend,
            x_message::RANK.put(peer) | x_message::ID.put(9),
        );
        self.drain();
        let mut expected = vec![
            extended_packets(self, false, peer, 7, 99, [0; 3])[0]
                .0
                .clone(),
        ];
        let code = Opcode::XCompareSwap64 as u32;
        let operands = Operands::default();
        expected.push(atomic_packet(self, code, [peer, 7, 99], operands));
        expected.extend(accumulate_packets(self, true, [peer, 7, 99], operands));
        expected.push(vec![
            message::DPID.put(peer) | message::SRC.put(self.me),
            0,
            0,
            9,
        ]);
        assert_eq!(self.take_sent(REQUEST), expected, "{:?}", self.config);
        mail.asked.extend([99, 99, 99, 9]);
    }
}

/// Commands of messages become exactly their packets, take effect in the message engine, or are refused. Between runs
/// the rank is reset.
fn messages(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_messages");
    bench.returns = true;
    let mut mail = Mail::default();
    let [mut met, mut announced] = [0; 2];
    for round in 0..soak(16) {
        bench.begin();
        bench.drain();
        if round > 0 {
            bench.set_paces();
        }
        bench.check_operands(&mut mail);
        assert_eq!(bench.register(0x400, None, 0), (0, 0));
        for _ in 0..6 {
            let mut memory = bench.memory.clone();
            for _ in 0..8 {
                bench.message_command(&mut mail, &mut memory);
                bench.stray();
            }
            bench.compare_mail(&mut mail, &memory, "commands");
            bench.fetch_announced(&mut mail);
            announced += mail.announced.len();
            let asked = std::mem::take(&mut mail.asked);
            bench.answer(asked, &mut mail);
            for _ in 0..bench.rng.random_range(0..8) {
                if mail.unexpected.len() < 12 {
                    bench.message_arrives(&mut mail, &mut memory);
                }
            }
            met += mail.acks.len();
            bench.compare_mail(&mut mail, &memory, "arrivals");
            mail.announced.clear();
        }
        bench.check_strays();
        bench.reset_rank(&mut mail);
    }
    assert!(
        met > 40 && announced > 20,
        "{met} met, {announced} announced"
    );
}

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
