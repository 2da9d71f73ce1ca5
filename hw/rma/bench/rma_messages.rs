//! Two coprocessors with message engines send messages to each other and to themselves: by eager
//! packets into receive buffers, through fragments, and by rendezvous, with concurrent puts and
//! gets. The bench models node memories, hosts, and a network with random stalls.
//!
//! The matching does not depend on the pace: messages in order of arrival at a rank, and receives
//! in order of the rank's commands, have exactly one matching without overtaking. The model matches
//! them as they appear, and each completion must belong to the model's pair.

use std::collections::{HashMap, VecDeque};

use alcor_abi::packets::{
    cq_entry, message, message_id, x_ack, x_commit, x_header, x_message, x_refusal, x_tag,
};
use alcor_abi::{Opcode, PacketType, Status, board, command, rank};
use alcor_hw_bench::{Answers, Dut, Pace, Pin, Random, Recipe, Sink, Source, soak};
use rand::Rng;

#[path = "rma_messages/streams.rs"]
mod streams;
#[path = "rma_messages/values.rs"]
mod values;

use streams::{alone, streams};

const RANKS: usize = 2;
const NODE_BYTES: u32 = 65_536;
/// Number of ids of messages and of receives, and number of entries of each queue.
const MESSAGES: u32 = 32;
const FRAGMENT: u32 = 64;
const REQUEST: usize = 0;
const REPLY: usize = 1;
/// Lowest address and size of the completion ring.
const RING: u32 = 0xe000;
const RING_LOG2: u32 = 6;
/// Bytes for the buffer of each receive, and of each sent message.
const ROOM: u32 = 768;
const RECEIVES: u32 = 19;
const SENDS: u32 = 0x6000;
/// A window. Puts write its first half, gets read its second half.
const WINDOW: u32 = 0xc000;
const BLOCK: u32 = 512;
/// Maximum number of outstanding messages of a rank, and of receives. With those of the clean-up,
/// the total is below the number of ids.
const SENDS_AT_MOST: usize = 10;
const RECEIVES_AT_MOST: usize = 18;

/// Parameters of the coprocessors.
#[derive(Debug, Clone, Copy)]
struct Config {
    payload: u32,
    commands: u32,
    fifo: u64,
    head: u64,
    tasks: u64,
    latency: usize,
    /// Bits of the counters that the host reads, and of the count of outstanding answers.
    counts: u32,
    /// Whether the ranks have kernels.
    kernel: bool,
}

/// Usual queues, and counters that benches can count to the end.
const USUAL: Config = Config {
    payload: 512,
    commands: 64,
    fifo: 512,
    head: 16,
    tasks: 16,
    latency: 1,
    counts: 10,
    kernel: false,
};
const SMALLEST: Config = Config {
    payload: 64,
    commands: 8,
    fifo: 4,
    head: 5,
    tasks: 2,
    latency: 3,
    counts: 32,
    kernel: false,
};

/// An entry of the completion ring: id, status, source, tag, length.
type Entry = (u32, u32, u32, u32, u32);

/// One rank with its environment.
struct Node {
    memory: Vec<u8>,
    /// Reads in flight: address, and the word at the time of the grant.
    flight: Answers<(u32, u32)>,
    /// Writes by the host: offset in the page, data.
    host: Source<(u32, u32)>,
    commands: u32,
    read_grants: Sink,
    write_grants: Sink,
    copy_grants: Sink,
    /// Number of completions that were copied into host memory.
    copied: u32,
    sinks: [Sink; 2],
    sources: [Source<(u32, bool)>; 2],
    /// Address of the completion ring.
    ring: u32,
    tail: u32,
    /// Sent words, each with its arrival time. A packet stays contiguous.
    network: [VecDeque<(u32, bool, u64)>; 2],
    /// Sender of the packet that is arriving.
    from: [Option<usize>; 2],
    /// Received packets in order.
    received: [VecDeque<Vec<u32>>; 2],
    partial: [Vec<u32>; 2],
}

struct Bench {
    config: Config,
    dut: Dut,
    pins: HashMap<(&'static str, usize), Pin>,
    rng: Random,
    nodes: [Node; RANKS],
    network_depth: usize,
    /// Damage to a word of the request plane, and the number of words before it.
    damage: Option<(u32, Damage)>,
    /// Damage of the packet in progress.
    damaged: Option<Damage>,
    /// Cycles of a word from one rank to the other.
    crossing: u64,
    here: VecDeque<bool>,
    /// Cycles of the first word of each packet leaving and entering each rank's planes, newest
    /// last.
    out: [[Vec<u64>; 2]; RANKS],
    into: [[Vec<u64>; 2]; RANKS],
    /// Number of cycles in which a request was held outside a rank that was being cleared.
    kept_out: u64,
    /// A request is under way; recalls by sender and receiver.
    sending: [bool; RANKS],
    recalling: [bool; RANKS],
    recalls: [[u32; RANKS]; RANKS],
    pages: [Page; RANKS],
    /// Whether registers are compared with `pages` in each cycle, and with what chance else.
    watches: bool,
    watched: u64,
    /// Whether the hosts write commands without room for them.
    floods: bool,
    /// Whether completion rings may lie beyond node memory. Writes to them are lost.
    has_far_rings: bool,
    /// Number of cycles in which each rank was cleared since the last one that a bench has counted.
    cleared: [u32; RANKS],
    /// Ends of sends of each rank's kernel: status and slot.
    ended: [Vec<(u32, u32)>; RANKS],
}

/// What a rank's registers must show, by what has passed at its ports.
#[derive(Debug, Default, Clone)]
struct Page {
    /// Words in this cycle and up to the one before: requests and replies sent, then received.
    passed: [bool; 4],
    words: [u32; 4],
    /// Newest values of IRQ_ENABLE, CQ_WAKE and RETIRED_WAKE.
    enable: u32,
    wakes: [u32; 2],
    /// Newest values of HOST_RING and HOST_RING_HIGH.
    host_ring: [u32; 2],
    /// The write of this cycle: offset and data.
    write: Option<(u32, u32)>,
    /// Cycle of the first command since the last barrier.
    first: Option<u64>,
    /// The page has been written since the reset.
    is_used: bool,
    /// ABORTED, and the pulses of the board in this cycle.
    aborted: bool,
    pulses: u32,
    seen: Option<Seen>,
}

/// Registers in a cycle.
#[derive(Debug, Clone)]
struct Seen {
    causes: u32,
    enable: u32,
    events: u32,
    barriers: u32,
    results: u32,
    refused_out: u32,
    /// Acknowledged in the cycle: by ACK and by ACK_EVENTS.
    acks: [u32; 2],
    /// Pulses of the board, as bits of EVENTS, and whether it denied a write.
    raised: u32,
    denied: bool,
}

/// Damage of a word in the network.
#[derive(Clone, Copy, PartialEq)]
enum Damage {
    Lost,
    Doubled,
}

/// Value of a counter of `config.counts` bits.
fn count(config: Config, value: u32) -> u32 {
    value & u32::MAX >> (32 - config.counts)
}

impl Bench {
    fn new(config: Config, name: &'static str) -> Self {
        let mut rng = Random::new(name);
        let recipe = Recipe::new("rma-messages", "rma_messages_bench")
            .blocks(&["abi", "common", "match", "nic", "alpu", "fp", "rma"])
            .source("rma/bench/rma_messages_bench.sv")
            .param("PAYLOAD_WORDS", u64::from(config.payload / 4))
            .param("COMMAND_DEPTH", config.commands.into())
            .param("IN_DEPTH", config.fifo)
            .param("OUT_DEPTH", config.fifo)
            .param("HEAD_DEPTH", config.head)
            .param("MM_DEPTH", config.tasks)
            .param("MEM_LATENCY", config.latency as u64)
            .param("COUNT_W", config.counts.into());
        let recipe = if config.kernel {
            recipe.param_bits("KERNEL", 1, 1)
        } else {
            recipe
        };
        let mut dut = Dut::start(&recipe);
        dut.reset();
        let nodes = std::array::from_fn(|_| Node {
            memory: (0..NODE_BYTES).map(|_| rng.random()).collect(),
            flight: Answers::new(config.latency),
            host: Source::new(Pace::Always),
            commands: 0,
            read_grants: Sink::new(Pace::Always),
            write_grants: Sink::new(Pace::Always),
            copy_grants: Sink::new(Pace::Always),
            copied: 0,
            sinks: [Sink::new(Pace::Always), Sink::new(Pace::Always)],
            sources: [Source::new(Pace::Always), Source::new(Pace::Always)],
            ring: RING,
            tail: 0,
            network: Default::default(),
            from: [None; 2],
            received: Default::default(),
            partial: Default::default(),
        });
        let mut bench = Self {
            config,
            dut,
            pins: HashMap::new(),
            rng,
            nodes,
            network_depth: 8,
            damage: None,
            damaged: None,
            crossing: 4,
            here: VecDeque::from([false; 2]),
            out: Default::default(),
            into: Default::default(),
            kept_out: 0,
            sending: Default::default(),
            recalling: Default::default(),
            recalls: Default::default(),
            pages: Default::default(),
            watches: false,
            watched: 0,
            floods: false,
            has_far_rings: false,
            cleared: [0; RANKS],
            ended: Default::default(),
        };
        bench.run_until("the tables to be cleared", |bench| {
            (0..RANKS).all(|at| bench.is(at, "ready_o"))
        });
        for at in 0..RANKS {
            assert_eq!(bench.read(at, rank::RESET_STATE), 0, "rank {at}");
        }
        bench.cleared = [0; RANKS];
        bench
    }

    fn pin(&mut self, name: &'static str, parts: usize) -> Pin {
        let Self { dut, pins, .. } = self;
        *pins
            .entry((name, parts))
            .or_insert_with(|| dut.lanes(name, RANKS * parts))
    }

    fn set(&mut self, at: usize, name: &'static str, value: impl Into<u64>) {
        let pin = self.pin(name, 1);
        self.dut.set(pin, at, value.into());
    }

    fn set_plane(&mut self, at: usize, plane: usize, name: &'static str, value: impl Into<u64>) {
        let pin = self.pin(name, 2);
        self.dut.set(pin, 2 * at + plane, value.into());
    }

    fn word(&mut self, at: usize, name: &'static str) -> u32 {
        let pin = self.pin(name, 1);
        self.dut.get(pin, at) as u32
    }

    fn is(&mut self, at: usize, name: &'static str) -> bool {
        self.word(at, name) == 1
    }

    fn plane(&mut self, at: usize, plane: usize, name: &'static str) -> u32 {
        let pin = self.pin(name, 2);
        self.dut.get(pin, 2 * at + plane) as u32
    }

    fn read(&mut self, at: usize, register: u32) -> u32 {
        self.set(at, "read_offset_i", register);
        self.dut.settle();
        self.word(at, "read_data_o")
    }

    fn command(&mut self, at: usize, opcode: Opcode, data: u32) {
        self.nodes[at].host.push((command(opcode), data));
    }

    fn register(&mut self, at: usize, register: u32, data: u32) {
        self.nodes[at].host.push((register, data));
    }

    /// Queues a message command: target or source, context, tag, id with serial number, and its
    /// buffer's address and length.
    fn message(
        &mut self,
        at: usize,
        opcode: Opcode,
        [rank, context, tag, id]: [u32; 4],
        [address, length]: [u32; 2],
    ) {
        self.command(at, Opcode::XLaddr, address);
        self.command(at, Opcode::XLength, length);
        self.command(at, Opcode::XTag, tag);
        self.command(
            at,
            opcode,
            x_message::RANK.put(rank) | x_message::CONTEXT.put(context) | id,
        );
    }

    fn begin(&mut self) {
        for at in 0..RANKS {
            // Fragments of the unexpected message buffer are at the end of node memory.
            let room = NODE_BYTES - MESSAGES * FRAGMENT - RING - (16 << RING_LOG2);
            let ring = RING + 16 * self.rng.random_range(0..=room / 16);
            self.nodes[at].ring = ring;
            self.register(at, rank::CQ_BASE, ring);
            self.register(at, rank::CQ_SIZE, RING_LOG2);
            self.register(at, rank::CQ_TAIL, 0);
            self.command(at, Opcode::SetNprocs, RANKS as u32);
            self.command(at, Opcode::BeginRun, 0);
        }
    }

    // A cycle.

    fn host(&mut self, at: usize) {
        let noise: u64 = self.rng.random();
        let retired = self.read(at, rank::RETIRED);
        let most = self.config.commands;
        let node = &mut self.nodes[at];
        let ahead = count(self.config, node.commands.wrapping_sub(retired));
        let credit = self.floods || ahead < most;
        let offer = node.host.offer(&mut *self.rng).copied();
        let offer = offer.filter(|&(offset, _)| offset >= 0x400 || credit);
        let command = offer.filter(|&(offset, _)| offset < 0x400);
        let register = offer.filter(|&(offset, _)| (0x400..0x800).contains(&offset));
        let message = offer.filter(|&(offset, _)| offset >= 0xa00);
        let written = register.or(message);
        self.set(at, "command_write_i", command.is_some());
        self.set(
            at,
            "command_opcode_i",
            command.map_or(noise, |(offset, _)| u64::from(offset / 4)),
        );
        self.set(
            at,
            "command_data_i",
            command.map_or(noise, |(_, data)| data.into()),
        );
        self.set(at, "register_write_i", register.is_some());
        self.set(at, "message_write_i", message.is_some());
        self.set(
            at,
            "register_offset_i",
            written.map_or(noise, |(offset, _)| offset.into()),
        );
        self.set(
            at,
            "register_data_i",
            written.map_or(noise, |(_, data)| data.into()),
        );
        let page = &mut self.pages[at];
        page.write = offer;
        let pulses = if self.watches && self.rng.random_bool(0.1) {
            1 << self.rng.random_range(0..4)
        } else {
            0
        };
        page.aborted ^= self.watches && self.rng.random_bool(0.02);
        page.pulses = pulses;
        let aborted = page.aborted;
        self.set(at, "aborted_i", aborted);
        self.set(at, "events_i", pulses);
        // A written word is accepted: the bus has no other case.
        if let Some((offset, _)) = offer {
            self.nodes[at].host.take(true);
            // The operands of a command of the paper are no commands.
            let counts = command.is_some() && offset != self::command(Opcode::Data8);
            self.nodes[at].commands += u32::from(counts);
        }
    }

    /// Delivers words that have crossed the network to their rank, one packet at a time.
    fn cross(&mut self, at: usize, plane: usize) {
        let now = self.dut.cycle();
        let waits = |node: &Node| match node.network[plane].front() {
            Some(&(word, last, due)) if due <= now => Some((word, last)),
            _ => None,
        };
        while self.nodes[at].sources[plane].len() < 2 {
            let start = self.rng.random_range(0..RANKS);
            let from = self.nodes[at].from[plane].or_else(|| {
                (0..RANKS)
                    .map(|other| (start + other) % RANKS)
                    .find(|&other| {
                        // A sender with a packet in progress to the other rank keeps its words for
                        // that rank.
                        let taken = self.nodes[1 - at].from[plane] == Some(other);
                        waits(&self.nodes[other])
                            .is_some_and(|(word, _)| !taken && word >> 24 == at as u32)
                    })
            });
            let Some(from) = from else { return };
            let Some((word, last)) = waits(&self.nodes[from]) else {
                return;
            };
            self.nodes[from].network[plane].pop_front();
            self.nodes[at].sources[plane].push((word, last));
            self.nodes[at].from[plane] = (!last).then_some(from);
        }
    }

    fn cycle(&mut self) {
        let fire = self.here.pop_front().unwrap_or_default();
        for at in 0..RANKS {
            self.host(at);
            let noise: u64 = self.rng.random();
            for plane in 0..2 {
                self.cross(at, plane);
                let node = &mut self.nodes[at];
                let room = node.network[plane].len() < self.network_depth;
                let ready = node.sinks[plane].ready(&mut *self.rng) && room;
                let offer = node.sources[plane].offer(&mut *self.rng).copied();
                self.set_plane(at, plane, "tx_ready_i", ready);
                self.set_plane(at, plane, "rx_valid_i", offer.is_some());
                self.set_plane(
                    at,
                    plane,
                    "rx_data_i",
                    offer.map_or(noise, |(word, _)| word.into()),
                );
                self.set_plane(
                    at,
                    plane,
                    "rx_last_i",
                    offer.map_or(noise & 1, |(_, last)| last.into()),
                );
            }
            let node = &mut self.nodes[at];
            let read = node.read_grants.ready(&mut *self.rng);
            let write = node.write_grants.ready(&mut *self.rng);
            let copy = node.copy_grants.ready(&mut *self.rng);
            // Between a read's grant and its data, the memory may sample the word at any time.
            let landing = node.flight.due().map(|(address, word)| {
                if self.rng.random() {
                    word
                } else {
                    self.load(at, address)
                }
            });
            self.set(at, "read_rvalid_i", landing.is_some());
            self.set(at, "read_ready_i", read);
            self.set(at, "write_ready_i", write);
            self.set(at, "copy_ready_i", copy);
            self.set(at, "read_word_i", landing.map_or(noise, u64::from));
            self.set(at, "sync_fire_i", fire);
        }
        self.dut.settle();
        let now = self.dut.cycle();
        for at in 0..RANKS {
            for plane in 0..2 {
                self.pass(at, plane, now);
            }
            self.access(at);
            self.copy(at);
            self.watch(at);
            self.kernel(at);
        }
        let all = (0..RANKS).all(|at| self.is(at, "sync_valid_o") && self.is(at, "quiet_o"));
        let empty = self.nodes.iter().all(|node| {
            node.network.iter().all(VecDeque::is_empty) && node.sources.iter().all(Source::is_empty)
        });
        self.here.push_back(all && empty);
        self.dut.clock();
    }

    fn pass(&mut self, at: usize, plane: usize, now: u64) {
        let sent =
            self.plane(at, plane, "tx_valid_o") == 1 && self.plane(at, plane, "tx_ready_i") == 1;
        if sent {
            let word = self.plane(at, plane, "tx_data_o");
            let last = self.plane(at, plane, "tx_last_o") == 1;
            if plane == REQUEST {
                let is_message = word >> 21 & 7 == PacketType::Message as u32;
                if !self.sending[at] {
                    self.recalling[at] = is_message && message::RECALL.get(word) == 1;
                    if self.recalling[at] {
                        self.recalls[at][message::DPID.get(word) as usize] += 1;
                    }
                } else if self.recalling[at] {
                    assert_eq!(word, 0, "rank {at}: a header word of a recall");
                }
                self.sending[at] = !last;
            }
            let due = now + self.crossing;
            let network = &mut self.nodes[at].network[plane];
            match &mut self.damage {
                Some((0, damage)) if plane == REQUEST => {
                    if *damage == Damage::Doubled {
                        network.extend([(word, false, due), (word, last, due)]);
                    }
                    self.damaged = self.damage.take().map(|(_, damage)| damage);
                }
                damage => {
                    network.push_back((word, last, due));
                    if let (REQUEST, Some((words, _))) = (plane, damage) {
                        *words -= 1;
                    }
                }
            }
            self.out[at][plane].push(now);
        }
        let ready = self.plane(at, plane, "rx_ready_o") == 1;
        if plane == REQUEST && self.is(at, "clear_o") {
            let offered = self.plane(at, plane, "rx_valid_i") == 1;
            assert!(
                !(offered && ready),
                "rank {at}, cycle {now}: a request comes in while the rank is cleared"
            );
            self.kept_out += u64::from(offered);
        }
        let node = &mut self.nodes[at];
        if let Some((word, last)) = node.sources[plane].take(ready) {
            self.into[at][plane].push(now);
            node.partial[plane].push(word);
            let words = node.partial[plane].len() as u32;
            // A message may be complete before its payload arrives, if no receive needs the
            // payload.
            let heads = &node.partial[plane];
            let is_message = plane == REQUEST && heads[0] >> 21 & 7 == PacketType::Message as u32;
            if is_message && words == 4 {
                node.received[plane].push_back(heads.clone());
            }
            if is_message && last {
                let announced = message::ANNOUNCE.get(heads[0]) == 1;
                let payload = if announced { 0 } else { heads[2].div_ceil(4) };
                let expected = match self.damaged.take() {
                    None => 4 + payload,
                    Some(Damage::Lost) => 3 + payload,
                    Some(Damage::Doubled) => 5 + payload,
                };
                assert_eq!(words, expected, "rank {at}: {heads:08x?}");
            }
            if last {
                let packet = std::mem::take(&mut node.partial[plane]);
                if !is_message {
                    node.received[plane].push_back(packet);
                }
            }
        }
    }

    /// Compares the registers of a rank with what has passed, and notes what passes in this cycle.
    fn watch(&mut self, at: usize) {
        if self.is(at, "clear_o") {
            self.cleared[at] += 1;
            self.pages[at] = Page {
                aborted: self.pages[at].aborted,
                ..Page::default()
            };
            return;
        }
        self.pages[at].seen = if self.watches || self.rng.random_bool(0.02) {
            Some(self.compare(at))
        } else {
            None
        };
        // A word is counted two cycles after it has passed.
        for plane in 0..2 {
            for (way, valid, ready) in [
                (0, "tx_valid_o", "tx_ready_i"),
                (2, "rx_valid_i", "rx_ready_o"),
            ] {
                let passes = self.plane(at, plane, valid) & self.plane(at, plane, ready) == 1;
                let page = &mut self.pages[at];
                page.words[way + plane] += u32::from(page.passed[way + plane]);
                page.passed[way + plane] = passes;
            }
        }
        let now = self.dut.cycle();
        let page = &mut self.pages[at];
        let Some((offset, data)) = page.write else {
            return;
        };
        page.is_used |= offset != rank::RANK_RESET || data & 1 == 0;
        match offset {
            0..0x400 => page.first = page.first.or(Some(now)),
            rank::IRQ_ENABLE => page.enable = data & 0xff,
            rank::CQ_WAKE => page.wakes[0] = data,
            rank::RETIRED_WAKE => page.wakes[1] = data,
            rank::HOST_RING => page.host_ring[0] = data,
            rank::HOST_RING_HIGH => page.host_ring[1] = data,
            _ => {}
        }
    }

    fn compare(&mut self, at: usize) -> Seen {
        use rank::{ack, causes, events};
        self.watched += 1;
        let place = format!("rank {at}, cycle {}", self.dut.cycle());
        let irq = self.is(at, "irq_o");
        let page = self.pages[at].clone();
        let words = [
            rank::TX_REQUEST_WORDS,
            rank::TX_REPLY_WORDS,
            rank::RX_REQUEST_WORDS,
            rank::RX_REPLY_WORDS,
        ]
        .map(|register| self.read(at, register));
        let passed = page.words.map(|words| count(self.config, words));
        assert_eq!(words, passed, "{place}: words");
        let written = |register| match page.write {
            Some((offset, data)) if offset == register => data,
            _ => 0,
        };
        let pulse = |bit: u32, event: u32| {
            if page.pulses >> bit & 1 == 1 {
                event
            } else {
                0
            }
        };
        let denied = page.pulses & 1 == 1;
        let seen = Seen {
            causes: self.read(at, rank::CAUSES),
            enable: page.enable,
            events: self.read(at, rank::EVENTS),
            barriers: self.read(at, rank::BARRIERS),
            results: rank::reg_result::COUNT.get(self.read(at, rank::REG_RESULT)),
            refused_out: self.read(at, rank::REFUSED_OUT),
            acks: [written(rank::ACK), written(rank::ACK_EVENTS)],
            raised: pulse(4, events::UNROUTED.mask())
                | pulse(3, events::FOREIGN.mask())
                | pulse(2, events::STALE.mask())
                | pulse(1, events::DAMAGED.mask())
                | pulse(0, events::REFUSED.mask()),
            denied,
        };
        let is = |yes: bool, cause: u32| if yes { cause } else { 0 };
        let [head, retired] = [rank::CQ_HEAD, rank::RETIRED].map(|of| self.read(at, of));
        let sign = self.config.counts - 1;
        let reached = |value: u32, wake: u32| value.wrapping_sub(wake) >> sign & 1 == 0;
        let levels = is(reached(head, page.wakes[0]), causes::COMPLETION.mask())
            | is(reached(retired, page.wakes[1]), causes::CREDIT.mask())
            | is(page.aborted, causes::ABORTED.mask())
            | is(seen.events != 0, causes::EVENT.mask());
        // The message engine and its bench have the other causes.
        let sticky = causes::BARRIER.mask() | causes::REGISTRATION.mask();
        let others = sticky | causes::CROWDED.mask();
        assert_eq!(seen.causes & !others, levels, "{place}: causes");
        let state = self.read(at, rank::RESET_STATE);
        if rank::reset_state::BUSY.get(state) == 0 {
            use rank::reset_state::{ANSWERS, COLLECTIVES, COMMANDS, MESSAGES, PACKETS, USED};
            assert_eq!(USED.get(state), u32::from(page.is_used), "{place}: used");
            for field in [COMMANDS, ANSWERS, MESSAGES, COLLECTIVES, PACKETS] {
                assert_eq!(field.get(state), 0, "{place}: RESET_STATE {state:#x}");
            }
        }
        // Offsets without a register, and registers that are only written.
        let none = self.rng.random_range(0x440..0x600) & !3;
        assert_eq!(self.read(at, none), 0, "{place}: {none:#x}");
        let Some(before) = page.seen else { return seen };
        assert_eq!(
            irq,
            before.causes & before.enable != 0,
            "{place}: interrupt"
        );
        let ends = seen.barriers != before.barriers;
        let registers = seen.results != before.results;
        let barriers = count(self.config, before.barriers + u32::from(ends));
        assert_eq!(seen.barriers, barriers, "{place}");
        let kept = before.causes
            & !(is(
                ack::BARRIER.get(before.acks[0]) == 1,
                causes::BARRIER.mask(),
            ) | is(
                ack::REGISTRATION.get(before.acks[0]) == 1,
                causes::REGISTRATION.mask(),
            ));
        let expected = kept & sticky
            | is(ends, causes::BARRIER.mask())
            | is(registers, causes::REGISTRATION.mask());
        assert_eq!(seen.causes & sticky, expected, "{place}: causes");
        let kept = before.events & !before.acks[1] | before.raised;
        let of_board = events::UNROUTED.mask()
            | events::FOREIGN.mask()
            | events::STALE.mask()
            | events::DAMAGED.mask();
        assert_eq!(seen.events & of_board, kept & of_board, "{place}: events");
        if self.watches {
            assert_eq!(seen.events, kept, "{place}: events");
        } else {
            assert_eq!(seen.events & kept, kept, "{place}: events");
        }
        if before.denied {
            let error = self.read(at, rank::LAST_ERROR);
            assert_eq!(error, Status::Denied as u32, "{place}: LAST_ERROR");
        }
        if self.watches {
            let refused = count(self.config, before.refused_out + u32::from(before.denied));
            assert_eq!(seen.refused_out, refused, "{place}: REFUSED_OUT");
        }
        if ends {
            // A command in the cycle of the barrier's end belongs to no epoch.
            let now = self.dut.cycle();
            let epoch = match page.first {
                Some(first) if first + 1 < now => now - first,
                _ => 2,
            };
            assert_eq!(
                self.read(at, rank::EPOCH_CYCLES),
                count(self.config, epoch as u32),
                "{place}: epoch"
            );
            self.pages[at].first = None;
        }
        seen
    }

    fn access(&mut self, at: usize) {
        if self.is(at, "read_valid_o") && self.is(at, "read_ready_i") {
            let address = self.word(at, "read_address_o");
            // A word may begin before the first byte of node memory, and end behind the last.
            let place = (address + 1) & ((1 << 30) - 1);
            assert!(
                place <= NODE_BYTES / 4 + 1,
                "rank {at}: a read of {address:#x}"
            );
            let address = address.wrapping_mul(4);
            let word = self.load(at, address);
            self.nodes[at].flight.grant((address, word), &mut *self.rng);
        }
        if self.is(at, "write_valid_o") && self.is(at, "write_ready_i") {
            let address = self.word(at, "write_address_o").wrapping_mul(4);
            let strobe = self.word(at, "write_strobe_o");
            let word = self.word(at, "write_word_o");
            let ends = 16 << RING_LOG2;
            if self.has_far_rings && address.wrapping_sub(self.nodes[at].ring) < ends {
                return;
            }
            assert!(address < NODE_BYTES, "rank {at}: a write to {address:#x}");
            for (lane, byte) in word.to_le_bytes().into_iter().enumerate() {
                if strobe >> lane & 1 == 1 {
                    self.nodes[at].memory[address as usize + lane] = byte;
                }
            }
        }
    }

    /// A copy of completions: the next ones that have not been copied, up to the ring's end.
    fn copy(&mut self, at: usize) {
        if !self.is(at, "copy_valid_o") {
            return;
        }
        let place = format!("rank {at}, cycle {}: a copy", self.dut.cycle());
        let [low, high] = self.pages[at].host_ring;
        assert_eq!(rank::host_ring::ENABLE.get(low), 1, "{place}");
        let bytes = self.word(at, "copy_bytes_o");
        let copied = self.nodes[at].copied;
        let index = copied % (1 << RING_LOG2);
        let ring = u64::from(high) << 32 | u64::from(low & rank::host_ring::ADDRESS.mask());
        let pin = self.pin("copy_destination_o", 1);
        let found = (
            self.word(at, "copy_source_o"),
            self.dut.get(pin, at),
            bytes % 16,
        );
        let expected = (
            self.nodes[at].ring.wrapping_add(16 * index),
            ring.wrapping_add(16 * u64::from(index)),
            0,
        );
        assert_eq!(found, expected, "{place}");
        let entries = bytes / 16;
        let head = self.read(at, rank::CQ_HEAD);
        let most = ((1 << RING_LOG2) - index).min(head.wrapping_sub(copied));
        assert!(
            (1..=most).contains(&entries),
            "{place} of {entries} entries"
        );
        if self.is(at, "copy_ready_i") {
            self.nodes[at].copied = copied.wrapping_add(entries);
        }
    }

    fn load(&self, at: usize, address: u32) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|lane| {
            self.nodes[at].memory[((address + lane as u32) % NODE_BYTES) as usize]
        }))
    }

    fn run_until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let start = self.dut.cycle();
        loop {
            self.dut.settle();
            if done(self) {
                return;
            }
            assert!(
                self.dut.cycle() < start + 60_000,
                "{:?}: {what} did not come",
                self.config
            );
            self.cycle();
        }
    }

    /// Runs until all commands are complete and no traffic is in flight.
    fn drain(&mut self) {
        self.run_until("quiet", Self::is_quiet);
    }

    fn is_quiet(&mut self) -> bool {
        (0..RANKS).all(|at| {
            let commands = self.nodes[at].commands;
            let state = self.word(at, "state_o");
            self.nodes[at].host.is_empty()
                && self.read(at, rank::RETIRED) == count(self.config, commands)
                && self.is(at, "quiet_o")
                && board::rank_state::COMMANDS.get(state) == 0
                && self.nodes[at].network.iter().all(VecDeque::is_empty)
                && self.nodes[at].sources.iter().all(Source::is_empty)
        })
    }

    /// Completions that the host of a rank has not read.
    fn completions(&mut self, at: usize) -> Vec<Entry> {
        let head = self.read(at, rank::CQ_HEAD);
        let mut entries = Vec::new();
        let mut tail = self.nodes[at].tail;
        while tail != head {
            let place = self.nodes[at].ring + 16 * (tail % (1 << RING_LOG2));
            let first = self.load(at, place);
            entries.push((
                cq_entry::ID.get(first),
                cq_entry::STATUS.get(first),
                cq_entry::SOURCE.get(first),
                self.load(at, place + 8),
                self.load(at, place + 12),
            ));
            tail = tail.wrapping_add(1);
        }
        if tail != self.nodes[at].tail {
            self.nodes[at].tail = tail;
            self.register(at, rank::CQ_TAIL, tail);
        }
        entries
    }

    /// Status and id of completions, for commands with no other result.
    fn statuses(&mut self, at: usize) -> Vec<(u32, u32)> {
        let entries = self.completions(at).into_iter();
        entries.map(|(id, status, ..)| (id, status)).collect()
    }

    /// Sets the thresholds of both matching units of each rank at random.
    fn set_thresholds(&mut self) {
        let thresholds = [0, 1, 4, 0xffff];
        for at in 0..RANKS {
            for register in [rank::POSTED_THRESHOLD, rank::UNEXPECTED_THRESHOLD] {
                let value = thresholds[self.rng.random_range(0..4)];
                self.register(at, register, value);
            }
        }
    }

    fn set_paces(&mut self) {
        let paces = [
            Pace::Always,
            Pace::Always,
            Pace::Chance(0.5),
            Pace::Chance(0.2),
            Pace::Bursts { on: 20, off: 20 },
        ];
        for node in &mut self.nodes {
            let mut pace = || paces[self.rng.random_range(0..paces.len())];
            node.host.set_pace(pace());
            node.read_grants.set_pace(pace());
            node.write_grants.set_pace(pace());
            for plane in 0..2 {
                node.sinks[plane].set_pace(pace());
                node.sources[plane].set_pace(pace());
            }
            // The memory for which the queues are sized, or a memory with random latency.
            let latency = self.config.latency as u64;
            let longest = [latency, latency, latency + 10, 200][self.rng.random_range(0..4)];
            node.flight.set_latency(latency..=longest);
        }
        self.network_depth = self.rng.random_range(1..10);
        self.crossing = self.rng.random_range(1..6);
    }

    fn bytes(&self, at: usize, address: u32, length: u32) -> Vec<u8> {
        self.nodes[at].memory[address as usize..(address + length) as usize].to_vec()
    }
}

// The model.

#[derive(Debug, Clone)]
struct Sent {
    from: usize,
    to: usize,
    id: u32,
    context: u32,
    tag: u32,
    announced: bool,
    /// Whether the message's header has arrived.
    arrived: bool,
    data: Vec<u8>,
}

#[derive(Debug, Clone)]
struct Receive {
    id: u32,
    source: Option<usize>,
    context: u32,
    tag: Option<u32>,
    address: u32,
    capacity: u32,
}

impl Receive {
    fn takes(&self, message: &Sent) -> bool {
        self.context == message.context
            && self.source.is_none_or(|source| source == message.from)
            && self.tag.is_none_or(|tag| tag == message.tag)
    }
}

/// The model's state of a rank.
#[derive(Default)]
struct Known {
    /// Messages sent and not completed.
    sent: Vec<Sent>,
    posted: Vec<Receive>,
    /// Messages that have arrived.
    unexpected: Vec<Sent>,
    /// Receives that have matched a message and are not completed.
    met: Vec<(Receive, Sent)>,
    /// Puts and gets: id, and the expected data with its place.
    moves: Vec<(u32, usize, u32, Vec<u8>)>,
    /// Expected contents of memory.
    memory: Vec<u8>,
}

/// Numbers of events.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    own: u64,
    empty: u64,
    truncated: u64,
    fetches: u64,
    in_packets: u64,
    copies: u64,
    direct: u64,
    moves: u64,
    recalls: u64,
    recalled: u64,
    returned: u64,
    unplaced: u64,
    taken_back: u64,
}

struct Program {
    bench: Bench,
    known: [Known; RANKS],
    tally: Tally,
    next_move: u32,
    /// The rank that is being reset. Its later results are not checked.
    lost: Option<usize>,
    /// Receives that the rank may have posted, and ids of the other rank's messages that had
    /// arrived without a match.
    lost_posted: Vec<Receive>,
    lost_unexpected: Vec<u32>,
    /// The rank that has been reset and has not begun a run.
    silent: Option<usize>,
}

const TAGS: [u32; 4] = [0, 7, 1 << 25, (1 << 26) - 1];
const CONTEXTS: [u32; 2] = [0, 200];

impl Program {
    fn free_id(&mut self, at: usize) -> u32 {
        let known = &self.known[at];
        loop {
            let id = self.bench.rng.random_range(0..MESSAGES);
            let taken = known.sent.iter().any(|sent| sent.id == id)
                || known.posted.iter().any(|receive| receive.id == id)
                || known.met.iter().any(|(receive, _)| receive.id == id);
            if !taken {
                return id;
            }
        }
    }

    fn send(&mut self, at: usize, to: usize, context: u32, tag: u32) {
        let announced = self.bench.rng.random_bool(0.4);
        let most = if announced { 700 } else { FRAGMENT };
        let length = match self.bench.rng.random_range(0..6) {
            0 => 0,
            1 => most,
            _ => self.bench.rng.random_range(0..=most),
        };
        let id = self.free_id(at);
        let address = SENDS + ROOM * id + self.bench.rng.random_range(0..8);
        let data = self.bench.bytes(at, address, length);
        let opcode = if announced {
            Opcode::XAnnounce
        } else {
            Opcode::XSend
        };
        self.bench
            .message(at, opcode, [to as u32, context, tag, id], [address, length]);
        self.tally.own += u64::from(at == to);
        self.tally.empty += u64::from(length == 0);
        self.known[at].sent.push(Sent {
            from: at,
            to,
            id,
            context,
            tag,
            announced,
            arrived: false,
            data,
        });
    }

    fn receive(&mut self, at: usize, source: Option<usize>, context: u32, tag: Option<u32>) {
        let id = self.free_id(at);
        let aligned = self.bench.rng.random_bool(0.6);
        let offset = if aligned {
            4 * self.bench.rng.random_range(0..4)
        } else {
            self.bench.rng.random_range(0..16)
        };
        let capacity = match self.bench.rng.random_range(0..8) {
            0 => 0,
            1..=3 => self.bench.rng.random_range(0..=FRAGMENT),
            _ => self.bench.rng.random_range(0..=720),
        };
        let receive = Receive {
            id,
            source,
            context,
            tag,
            address: RECEIVES + ROOM * id + 16 + offset,
            capacity,
        };
        let word = tag.unwrap_or_else(|| self.bench.rng.random_range(0..1 << 26))
            | x_tag::ANY_SOURCE.put(source.is_none().into())
            | x_tag::ANY_TAG.put(tag.is_none().into());
        // Any value is legal for a source that is not used.
        let named = source.map_or_else(|| self.bench.rng.random_range(0..256), |at| at as u32);
        self.bench.message(
            at,
            Opcode::XReceive,
            [named, context, word, id],
            [receive.address, capacity],
        );
        let known = &mut self.known[at];
        match known.unexpected.iter().position(|m| receive.takes(m)) {
            Some(place) => {
                let message = known.unexpected.remove(place);
                known.met.push((receive, message));
            }
            None => known.posted.push(receive),
        }
    }

    /// A put or get of the window, in separate blocks.
    fn transfer(&mut self, at: usize) {
        let other = self.bench.rng.random_range(0..RANKS);
        let block = BLOCK * (4 * at as u32 + self.bench.rng.random_range(0..4));
        let taken = self.known[at]
            .moves
            .iter()
            .any(|&(_, _, place, _)| (place - WINDOW) / BLOCK == block / BLOCK);
        if taken {
            return;
        }
        let shift = self.bench.rng.random_range(0..4);
        let length = self.bench.rng.random_range(0..BLOCK - 4);
        let id = 1_000 + self.next_move;
        self.next_move = (self.next_move + 1) % 1_000;
        let source = WINDOW + 0x1000 + self.bench.rng.random_range(0..0x1000 - BLOCK);
        // A get writes one block, a put the other. Only this rank's gets and puts write these
        // blocks of either rank.
        let is_get = self.bench.rng.random();
        let place = WINDOW + block + shift;
        let (opcode, offset, laddr, from, to) = if is_get {
            (Opcode::XGet, source - WINDOW, place, other, at)
        } else {
            (Opcode::XPut, place - WINDOW, source, at, other)
        };
        let data = self.bench.bytes(from, source, length);
        self.bench.command(at, Opcode::XOffset, offset);
        self.bench.command(at, Opcode::XLaddr, laddr);
        self.bench.command(at, Opcode::XLength, length);
        self.bench.command(
            at,
            opcode,
            x_commit::DPID.put(other as u32) | x_commit::SLOT.put(0) | x_commit::ID.put(id),
        );
        self.known[at].moves.push((id, to, place, data));
        self.tally.moves += 1;
    }

    fn step(&mut self) {
        self.bench.cycle();
        for at in 0..RANKS {
            if self.lost == Some(at) {
                self.bench.nodes[at].received = Default::default();
                continue;
            }
            self.look(at);
            self.complete(at);
        }
    }

    /// Processes received packets.
    fn look(&mut self, at: usize) {
        while let Some(packet) = self.bench.nodes[at].received[REQUEST].pop_front() {
            let kind = packet[0] >> 21 & 7;
            if kind == PacketType::Message as u32 {
                let from = (packet[0] >> 8 & 0xff) as usize;
                if message::RECALL.get(packet[0]) == 1 {
                    assert_eq!(self.lost, Some(from), "rank {at}: a recall");
                    self.tally.recalls += 1;
                    let unexpected = &mut self.known[at].unexpected;
                    let before = unexpected.len();
                    unexpected.retain(|message| message.from != from);
                    self.tally.recalled += (before - unexpected.len()) as u64;
                    continue;
                }
                let mut sent = self.known[from].sent.iter_mut();
                let sent = sent.find(|sent| sent.id == packet[3]);
                let sent = sent.expect("a message that was sent");
                sent.arrived = true;
                let message = sent.clone();
                assert_eq!(packet[1], message.tag);
                assert_eq!(packet[2], message.data.len() as u32);
                assert_eq!(packet[0] & 0xff, message.context);
                assert_eq!(packet[0] >> 20 & 1, u32::from(message.announced));
                let known = &mut self.known[at];
                match known.posted.iter().position(|r| r.takes(&message)) {
                    Some(place) => {
                        let receive = known.posted.remove(place);
                        known.met.push((receive, message));
                    }
                    None => known.unexpected.push(message),
                }
            } else if kind == PacketType::Xget as u32 && x_header::MESSAGE.get(packet[0]) == 1 {
                self.tally.fetches += 1;
                self.tally.in_packets += u64::from(x_header::LAST.get(packet[0]) == 0);
            }
        }
        while let Some(packet) = self.bench.nodes[at].received[REPLY].pop_front() {
            let is_data = packet[0] >> 21 & 7 == PacketType::Xdata as u32;
            if is_data && packet[0] >> 19 & 1 == 1 && packet[0] >> 20 & 1 == 1 {
                let id = packet[2] >> 16;
                let met = self.known[at].met.iter();
                let mut met = met.filter(|(receive, _)| receive.id == id);
                let (_, message) = met.next().expect("a receive that has met its message");
                self.tally.copies += u64::from(!message.announced);
            }
        }
    }

    fn complete(&mut self, at: usize) {
        for entry in self.bench.completions(at) {
            let (id, status, source, tag, length) = entry;
            let place = format!("rank {at}, cycle {}: {entry:x?}", self.bench.dut.cycle());
            if id >= 1_000 {
                let moves = &mut self.known[at].moves;
                let found = moves.iter().position(|&(known, ..)| known == id);
                let (_, to, address, data) = moves.remove(found.expect("a put or get"));
                if self.lost.is_some() && status == Status::BadSlot as u32 {
                    self.tally.unplaced += 1;
                    continue;
                }
                assert_eq!(status, 0, "{place}");
                assert!(
                    self.bench.bytes(to, address, data.len() as u32) == data,
                    "{place}"
                );
                let range = address as usize..address as usize + data.len();
                self.known[to].memory[range].copy_from_slice(&data);
                continue;
            }
            let known = &mut self.known[at];
            if let Some(found) = known.sent.iter().position(|sent| sent.id == id) {
                let sent = known.sent.remove(found);
                if self.lost == Some(sent.to) {
                    if status == Status::RankReset as u32 {
                        self.tally.returned += 1;
                        continue;
                    }
                    let received = if sent.arrived {
                        !self.lost_unexpected.contains(&id)
                    } else {
                        self.lost_posted.iter().any(|r| r.takes(&sent))
                    };
                    assert!(received, "{place}: {sent:x?}: no receive was there for it");
                }
                assert_eq!((status, source), (0, 0), "{place}: {sent:x?}");
                // No command waits for this completion any more.
                let waits = self.known.iter().any(|known| {
                    known
                        .unexpected
                        .iter()
                        .any(|m| (m.from, m.id) == (at, sent.id))
                });
                assert!(!waits, "{place}: sent, but no rank has it");
                continue;
            }
            let found = known.met.iter().position(|(receive, _)| receive.id == id);
            let found = found.unwrap_or_else(|| panic!("{place}: nothing is known of it"));
            let (receive, message) = known.met.remove(found);
            let whole = message.data.len() as u32;
            let kept = whole.min(receive.capacity);
            let expected = if kept < whole {
                Status::Truncated as u32
            } else {
                0
            };
            assert_eq!(
                (status, source, tag, length),
                (expected, message.from as u32, message.tag, whole),
                "{place}: {receive:x?}"
            );
            let data = &message.data[..kept as usize];
            assert!(
                self.bench.bytes(at, receive.address, kept) == data,
                "{place}: {receive:x?}, {message:x?}"
            );
            let start = receive.address as usize;
            self.known[at].memory[start..start + kept as usize].copy_from_slice(data);
            self.tally.truncated += u64::from(kept < whole);
            self.tally.direct += u64::from(!message.announced && kept > 0);
        }
    }

    fn run_until(&mut self, what: &str, done: impl Fn(&mut Self) -> bool) {
        let start = self.bench.dut.cycle();
        while !done(self) {
            self.step();
            assert!(
                self.bench.dut.cycle() < start + 400_000,
                "{:?}: {what} did not come; met {:?}, posted {:?}, unexpected {:?}, sent {:?}",
                self.bench.config,
                self.known.each_ref().map(|known| known.met.clone()),
                self.known.each_ref().map(|known| known.posted.clone()),
                self.known.each_ref().map(|known| known.unexpected.clone()),
                self.known.each_ref().map(|known| known.sent.clone()),
            );
        }
    }

    /// Begins a run at both ranks, with a window each.
    fn begin(mut bench: Bench) -> Program {
        bench.begin();
        for at in 0..RANKS {
            // As many as each may have outstanding, so that no message is refused.
            bench.register(at, rank::MESSAGE_QUOTA, 1 + SENDS_AT_MOST as u32);
            bench.command(at, Opcode::WindowSize, 0x2000);
            bench.command(at, Opcode::Register, WINDOW);
        }
        bench.run_until("the registration", |bench| {
            (0..RANKS).all(|at| rank::reg_result::COUNT.get(bench.read(at, rank::REG_RESULT)) == 1)
        });
        for at in 0..RANKS {
            let result = rank::reg_result::COUNT.put(1);
            assert_eq!(bench.read(at, rank::REG_RESULT), result, "slot 0");
        }
        let known = std::array::from_fn(|at| Known {
            memory: bench.nodes[at].memory.clone(),
            ..Known::default()
        });
        Program {
            bench,
            known,
            tally: Tally::default(),
            next_move: 0,
            lost: None,
            lost_posted: Vec::new(),
            lost_unexpected: Vec::new(),
            silent: None,
        }
    }

    /// Random messages, puts and gets for `cycles` cycles. Nothing is expected of a rank that is
    /// being reset.
    fn traffic(&mut self, cycles: u32) {
        // Whether sends or receives are ahead, and whether there are puts and gets.
        let paces = [0.01, 0.05, 0.2];
        let mut pace = || paces[self.bench.rng.random_range(0..3)];
        let (sends, receives, moves) = (pace(), pace(), pace());
        let tags = self.bench.rng.random_range(1..=TAGS.len());
        for _ in 0..cycles {
            for at in 0..RANKS {
                let known = &self.known[at];
                let (sent, moved) = (known.sent.len(), known.moves.len());
                let received = known.posted.len() + known.met.len();
                let busy = self.bench.nodes[at].host.len() > 12;
                let rng = &mut self.bench.rng;
                let tag = TAGS[rng.random_range(0..tags)];
                let context = CONTEXTS[rng.random_range(0..2)];
                let peer = rng.random_range(0..RANKS);
                if self.lost == Some(at) || self.silent == Some(at) {
                    continue;
                }
                if sent < SENDS_AT_MOST && !busy && rng.random_bool(sends) {
                    self.send(at, peer, context, tag);
                } else if received < RECEIVES_AT_MOST && !busy && rng.random_bool(receives) {
                    let any = self.lost.is_none() && rng.random_bool(0.3);
                    // Flushed messages cannot be received, and the time of the flush is unknown.
                    let peer = self.lost.map_or(peer, |_| at);
                    let source = (!any).then_some(peer);
                    let tag = (!rng.random_bool(0.3)).then_some(tag);
                    self.receive(at, source, context, tag);
                } else if moved < 4 && !busy && rng.random_bool(moves / 4.0) {
                    self.transfer(at);
                }
            }
            self.step();
        }
    }

    /// Waits for all outstanding operations. Then sends messages for all receives, and posts
    /// receives for all messages.
    fn clean(&mut self) {
        loop {
            self.run_until("the end", |program| {
                program
                    .known
                    .iter()
                    .all(|known| known.met.is_empty() && known.moves.is_empty())
                    && program.bench.is_quiet()
            });
            let lonely = (0..RANKS).find(|&at| !self.known[at].posted.is_empty());
            if let Some(at) = lonely {
                let receive = self.known[at].posted[0].clone();
                let from = receive.source.unwrap_or(1 - at);
                let tag = receive.tag.unwrap_or(TAGS[1]);
                self.send(from, at, receive.context, tag);
                continue;
            }
            let lonely = (0..RANKS).find(|&at| !self.known[at].unexpected.is_empty());
            let Some(at) = lonely else { break };
            let context = self.known[at].unexpected[0].context;
            self.receive(at, None, context, None);
        }
        self.run_until("all sends", |program| {
            program.known.iter().all(|known| known.sent.is_empty())
        });
        for at in 0..RANKS {
            let wrong = (0..RING as usize)
                .find(|&byte| self.bench.nodes[at].memory[byte] != self.known[at].memory[byte]);
            assert_eq!(wrong, None, "rank {at}: the first wrong byte in memory");
            let queues = self.bench.read(at, rank::MESSAGE_QUEUES);
            assert_eq!(queues, 0, "rank {at}: nothing waits");
        }
    }
}

/// Random messages between the ranks and to themselves, with concurrent puts and gets, over a
/// network that stalls.
fn programs(config: Config, rounds: u64) {
    let mut program = Program::begin(Bench::new(config, "rma_messages_programs"));
    for round in 0..rounds {
        program.bench.set_paces();
        program.bench.set_thresholds();
        program.traffic(800);
        if round % 4 == 3 {
            program.clean();
        }
    }
    program.clean();
    let tally = program.tally;
    let often = [
        tally.own,
        tally.empty,
        tally.truncated,
        tally.fetches,
        tally.in_packets,
        tally.copies,
        tally.direct.saturating_sub(tally.copies),
        tally.moves,
    ];
    assert!(often.iter().all(|&some| some > rounds / 8), "{tally:?}");
    for at in 0..RANKS {
        assert_eq!(program.bench.read(at, rank::EVENTS), 0);
        assert_eq!(program.bench.read(at, rank::MESSAGES_REFUSED), 0);
        assert_eq!(program.bench.read(at, rank::REFUSED_IN), 0);
        assert_eq!(program.bench.read(at, rank::REFUSED_OUT), 0);
        let found = [
            rank::POSTED_BY_UNIT,
            rank::POSTED_BY_WALK,
            rank::UNEXPECTED_BY_UNIT,
            rank::UNEXPECTED_BY_WALK,
        ]
        .map(|register| u64::from(program.bench.read(at, register)));
        assert!(found.iter().all(|&some| some > rounds / 8), "{found:?}");
    }
}

#[test]
fn rma_messages_programs() {
    programs(USUAL, soak(150));
}

#[test]
fn rma_messages_programs_smallest() {
    programs(SMALLEST, soak(300));
}

// Reset of a rank.

impl Program {
    /// The owner of a rank ends at a random time, and the next owner resets the rank, while the
    /// other rank continues.
    fn lose(&mut self, victim: usize) {
        let other = 1 - victim;
        // The other rank now receives only its own messages, so the matching does not depend on the
        // time of the flush.
        self.run_until("the other's commands", |program| {
            let bench = &mut program.bench;
            let state = bench.word(other, "state_o");
            let retired = bench.read(other, rank::RETIRED);
            bench.nodes[other].host.is_empty()
                && retired == count(bench.config, bench.nodes[other].commands)
                && board::rank_state::COMMANDS.get(state) == 0
        });
        // Last action of the process: a barrier without the other rank, or half a command of the
        // paper.
        match self.bench.rng.random_range(0..3) {
            0 => self.bench.command(victim, Opcode::Barrier, 0),
            1 => {
                self.bench.command(victim, Opcode::Put1, WINDOW);
                self.bench.command(victim, Opcode::Data8, 1);
            }
            _ => {}
        }
        for _ in 0..self.bench.rng.random_range(0..60) {
            self.step();
        }
        self.bench.nodes[victim].host.clear();
        self.lost = Some(victim);
        let lost = &mut self.known[victim];
        lost.met.clear();
        self.lost_posted = std::mem::take(&mut lost.posted);
        let unexpected = std::mem::take(&mut lost.unexpected).into_iter();
        let unexpected = unexpected.filter(|message| message.from == other);
        self.lost_unexpected = unexpected.map(|message| message.id).collect();
        let moves = std::mem::take(&mut lost.moves);
        let resets = rank::reset_state::COUNT.get(self.bench.read(victim, rank::RESET_STATE));
        self.bench
            .register(victim, rank::RANK_RESET, rank::rank_reset::RESET.mask());
        self.bench.recalls[victim] = Default::default();
        let start = self.bench.dut.cycle();
        while !self.bench.nodes[victim].host.is_empty()
            || rank::reset_state::BUSY.get(self.bench.read(victim, rank::RESET_STATE)) == 1
        {
            self.traffic(1);
            // A put or get at each of its steps.
            if self.known[other].moves.len() < 4
                && self.silent != Some(other)
                && self.bench.nodes[other].host.len() < 12
            {
                self.transfer(other);
            }
            let waited = self.bench.dut.cycle() - start;
            let state = self.bench.read(victim, rank::RESET_STATE);
            assert!(waited < 400_000, "rank {victim}: RESET_STATE {state:#x}");
        }
        let node = &mut self.bench.nodes[victim];
        (node.tail, node.commands, node.copied) = (0, 0, 0);
        assert_eq!(self.bench.recalls[victim], [1; RANKS], "rank {victim}");
        self.is_fresh(victim, (resets + 1) & 0xff);
        let left = self.bench.bytes(victim, 0, RING);

        // Its transfers to the other rank's window have arrived completely or not at all.
        for (_, to, place, data) in moves {
            if to == other {
                let found = self.bench.bytes(to, place, data.len() as u32);
                let range = place as usize..place as usize + data.len();
                let before = &mut self.known[to].memory[range];
                assert!(found == data || found == before, "half a put at {place:#x}");
                before.copy_from_slice(&found);
            }
        }
        self.known[victim].sent.clear();
        // Later messages of the other rank belong to the next owner. No earlier message arrives any
        // more.
        self.run_until("the other's traffic", |program| {
            let known = &program.known[other];
            known.moves.is_empty() && known.met.is_empty() && program.bench.is_quiet()
        });
        let waiting = self.known[other].sent.iter();
        let waiting = waiting.filter(|sent| sent.to == victim).count() as u32;
        assert_eq!(
            self.bench.read(victim, rank::MESSAGE_QUEUES),
            rank::message_queues::UNEXPECTED.put(waiting),
            "rank {victim}: messages since"
        );
        assert!(left == self.bench.bytes(victim, 0, RING), "a late write");
        let memory = self.bench.bytes(victim, 0, NODE_BYTES);
        self.known[victim].memory = memory;
    }

    /// Cancels receives. Messages dropped for the reset of the other rank have used no receive:
    /// most waiting receives are answered that their id is in use, and are cancelled.
    fn take_back(&mut self, at: usize) {
        let posted = std::mem::take(&mut self.known[at].posted);
        let (back, kept): (Vec<_>, Vec<_>) = posted
            .into_iter()
            .partition(|_| self.bench.rng.random_bool(0.7));
        self.known[at].posted = kept;
        for (opcode, status) in [
            (Opcode::XReceive, Status::BadId),
            (Opcode::XCancel, Status::Cancelled),
        ] {
            for &Receive { id, context, .. } in &back {
                let buffer = [RECEIVES + ROOM * id, 0];
                self.bench
                    .message(at, opcode, [at as u32, context, TAGS[0], id], buffer);
            }
            self.bench.drain();
            let mut found = self.bench.statuses(at);
            let mut expected: Vec<_> = back.iter().map(|r| (r.id, status as u32)).collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "rank {at}: {opcode:?}");
        }
        self.tally.taken_back += back.len() as u64;
    }

    /// Checks that every register has its value after a board reset.
    fn is_fresh(&mut self, at: usize, resets: u32) {
        let zero = [
            rank::RETIRED,
            rank::CQ_HEAD,
            rank::REG_RESULT,
            rank::EPOCH_CYCLES,
            rank::EVENTS,
            rank::LAST_ERROR,
            rank::REFUSED_IN,
            rank::REFUSED_OUT,
            rank::BARRIERS,
            rank::POSTED_BY_UNIT,
            rank::POSTED_BY_WALK,
            rank::UNEXPECTED_BY_UNIT,
            rank::UNEXPECTED_BY_WALK,
            rank::MESSAGES_REFUSED,
        ];
        for register in zero {
            let found = self.bench.read(at, register);
            // Packets that arrived after the clearing are legal.
            let late = [rank::EVENTS, rank::REFUSED_IN, rank::MESSAGES_REFUSED];
            assert!(
                found == 0 || late.contains(&register),
                "rank {at}: {register:#x}: {found:#x}"
            );
        }
        let identity = rank::identity::PID.put(at as u32) | rank::identity::NPROCS.put(1);
        assert_eq!(self.bench.read(at, rank::IDENTITY), identity);
        let state =
            rank::reset_state::COUNT.put(resets) | rank::reset_state::LARGEST.put(RANKS as u32);
        assert_eq!(self.bench.read(at, rank::RESET_STATE), state);
        let queues = self.bench.read(at, rank::MESSAGE_QUEUES);
        assert_eq!(rank::message_queues::POSTED.get(queues), 0);
    }

    /// Checks that every operation that needs all ranks reports the reset of the peer, and that the
    /// rank can continue.
    fn is_orphaned(&mut self, at: usize) {
        use rank::{events, reg_result, reset_state};
        assert_eq!(
            reset_state::ORPHANED.get(self.bench.read(at, rank::RESET_STATE)),
            1
        );
        let barriers = self.bench.read(at, rank::BARRIERS);
        let count = reg_result::COUNT.get(self.bench.read(at, rank::REG_RESULT));
        self.bench.command(at, Opcode::Barrier, 0);
        self.bench.command(at, Opcode::Deregister, WINDOW);
        self.run_until("its end", |program| program.bench.is_quiet());
        let next = self::count(self.bench.config, barriers + 1);
        assert_eq!(self.bench.read(at, rank::BARRIERS), next);
        assert_eq!(self.bench.read(at, rank::EVENTS), events::MISMATCH.mask());
        let result = self.bench.read(at, rank::REG_RESULT);
        assert_eq!(reg_result::COUNT.get(result), count + 1);
        assert_eq!(reg_result::STATUS.get(result), Status::RankReset as u32);
    }
}

/// A rank is reset during messages, puts and gets, while the other rank continues. Each operation
/// of the other rank is correct to the last byte, or reports the reset. The reset rank is in its
/// initial state.
fn resets(config: Config, rounds: u64, name: &'static str) {
    let mut bench = Bench::new(config, name);
    let mut tally = Tally::default();
    for round in 0..rounds {
        let mut program = Program::begin(bench);
        program.tally = tally;
        program.bench.set_paces();
        let cycles = program.bench.rng.random_range(1..900);
        program.traffic(cycles);
        let victim = (round % 2) as usize;
        program.lose(victim);
        let other = 1 - victim;
        program.take_back(other);
        program.is_orphaned(other);
        program.silent = Some(victim);
        // The other rank also ends its run. Its sent messages are dropped.
        program.lose(other);
        assert_eq!(program.bench.read(victim, rank::MESSAGE_QUEUES), 0);
        // The rank had not begun a run.
        let state = program.bench.read(victim, rank::RESET_STATE);
        assert_eq!(rank::reset_state::ORPHANED.get(state), 0);
        // In a new run of both ranks, all operations work.
        program = Program {
            tally: program.tally,
            ..Program::begin(program.bench)
        };
        program.traffic(600);
        program.clean();
        tally = program.tally;
        bench = program.bench;
        // The next round must begin as the first.
        for at in 0..RANKS {
            bench.register(at, rank::RANK_RESET, 1);
        }
        bench.run_until("the ranks' resets", |bench| {
            (0..RANKS).all(|at| {
                let state = bench.read(at, rank::RESET_STATE);
                bench.nodes[at].host.is_empty()
                    && rank::reset_state::BUSY.get(state) == 0
                    && rank::reset_state::USED.get(state) == 0
            })
        });
        for node in &mut bench.nodes {
            (node.tail, node.commands, node.copied) = (0, 0, 0);
            node.received = Default::default();
        }
    }
    let often = [
        tally.recalls,
        tally.recalled,
        tally.returned,
        tally.unplaced,
        tally.taken_back,
        bench.kept_out,
    ];
    assert!(often.iter().all(|&some| some > rounds / 8), "{often:?}");
}

#[test]
fn rma_messages_reset() {
    resets(USUAL, soak(12), "rma_messages_reset");
}

#[test]
fn rma_messages_reset_long() {
    resets(USUAL, soak(28), "rma_messages_reset_long");
}

#[test]
fn rma_messages_reset_smallest() {
    resets(SMALLEST, soak(80), "rma_messages_reset_smallest");
}

/// A rank is reset while another rank owes it answers, which come one by one. The reset ends with the last one. A rank
/// that has not begun a run sends no recalls.
#[test]
fn rma_messages_reset_answers() {
    let mut bench = Bench::new(USUAL, "rma_messages_reset_answers");
    for round in 0..soak(6) {
        let victim = round as usize % 2;
        let other = 1 - victim;
        bench.begin();
        bench.drain();
        // Every packet of a put without payload has a task, and there is room for 16 of them.
        let stops = bench.rng.random();
        if stops {
            bench.nodes[victim].sinks[REQUEST].set_pace(Pace::Never);
        }
        bench.nodes[other].sinks[REPLY].set_pace(Pace::Never);
        let count = bench.rng.random_range(1..40);
        bench.command(victim, Opcode::XLength, 0);
        for id in 0..count {
            let (opcode, id) = if id % 8 == 3 {
                // The message waits, and is answered after the recall.
                (Opcode::XSend, id % MESSAGES)
            } else {
                (Opcode::XPut, 1_000 + id)
            };
            let commit = x_commit::DPID.put(other as u32) | x_commit::ID.put(id);
            bench.command(victim, opcode, commit);
        }
        bench.run_until("the commands", |bench| bench.nodes[victim].host.is_empty());
        for _ in 0..200 {
            bench.cycle();
        }
        bench.recalls[victim] = Default::default();
        let answered = bench.out[other][REPLY].len();
        let resets = bench.read(victim, rank::RESET_STATE);
        bench.register(victim, rank::RANK_RESET, rank::rank_reset::RESET.mask());
        let mut asked = count;
        if stops {
            // Commands in the queue are dropped.
            for _ in 0..100 {
                bench.cycle();
            }
            bench.nodes[victim].sinks[REQUEST].set_pace(Pace::Chance(0.05));
        }
        bench.run_until("the recalls", |bench| {
            bench.recalls[victim] == [1; RANKS] && !bench.sending[victim]
        });
        if stops {
            asked = bench.asked(victim, other);
        }
        bench.nodes[victim].sinks[REQUEST].set_pace(Pace::Always);
        // The reset was told to the other rank once.
        bench.command(other, Opcode::EndRun, 0);
        bench.command(other, Opcode::BeginRun, 0);
        for _ in 0..300 {
            bench.cycle();
        }
        for left in (1..=asked + 1).rev() {
            use rank::reset_state::{ANSWERS, BUSY, ORPHANED};
            let state = bench.read(victim, rank::RESET_STATE);
            let waits = (BUSY.get(state), ANSWERS.get(state));
            assert_eq!(waits, (1, 1), "{left} of {asked} answers are missing");
            let state = bench.read(other, rank::RESET_STATE);
            assert_eq!(ORPHANED.get(state), 0, "begun after the reset");
            let passed = bench.out[other][REPLY].len();
            bench.nodes[other].sinks[REPLY].set_pace(Pace::Always);
            bench.run_until("an answer", |bench| bench.out[other][REPLY].len() > passed);
            bench.nodes[other].sinks[REPLY].set_pace(Pace::Never);
            for _ in 0..40 {
                bench.cycle();
            }
        }
        bench.ends_reset(victim);
        assert_eq!(bench.out[other][REPLY].len() - answered, asked as usize + 1);
        bench.nodes[other].sinks[REPLY].set_pace(Pace::Always);
        let state = bench.read(victim, rank::RESET_STATE);
        let count = |state| rank::reset_state::COUNT.get(state);
        assert_eq!(count(state), count(resets) + 1);
        // Now the rank has not begun: nobody is told.
        let sent = bench.out[victim][REQUEST].len();
        bench.register(victim, rank::RANK_RESET, rank::rank_reset::RESET.mask());
        bench.cycle();
        bench.cycle();
        bench.ends_reset(victim);
        assert_eq!(bench.out[victim][REQUEST].len(), sent, "a recall");
        assert_eq!(
            count(bench.read(victim, rank::RESET_STATE)),
            count(state) + 1
        );
        bench.register(other, rank::RANK_RESET, rank::rank_reset::RESET.mask());
        bench.cycle();
        bench.cycle();
        bench.ends_reset(other);
    }
}

impl Bench {
    /// Number of packets, but recalls, that have come from a rank to another since the last reset.
    fn asked(&mut self, from: usize, to: usize) -> u32 {
        let mut packets = self.nodes[to].received[REQUEST].iter();
        let is_own = |packet: &&Vec<u32>| {
            packet[0] >> 8 & 0xff == from as u32
                && !(packet[0] >> 21 & 7 == PacketType::Message as u32
                    && message::RECALL.get(packet[0]) == 1)
        };
        let count = packets.by_ref().filter(is_own).count();
        count as u32
    }

    /// Waits for the end of a rank's reset. The rank is ready then.
    fn ends_reset(&mut self, at: usize) {
        self.run_until("the end of the reset", |bench| {
            let state = bench.read(at, rank::RESET_STATE);
            rank::reset_state::BUSY.get(state) == 0
        });
        assert!(self.is(at, "ready_o"), "rank {at}: cleared tables");
        assert_eq!(std::mem::take(&mut self.cleared[at]), 4, "rank {at}");
        let node = &mut self.nodes[at];
        (node.tail, node.commands, node.copied) = (0, 0, 0);
        for node in &mut self.nodes {
            node.received = Default::default();
        }
    }

    /// Compares a rank's reports of refusals: events but those given, last error, and numbers of refusals.
    fn reports(&mut self, at: usize, expected: (u32, u32, [u32; 2]), place: &str) {
        let found = (
            self.read(at, rank::EVENTS),
            self.read(at, rank::LAST_ERROR),
            [rank::REFUSED_IN, rank::REFUSED_OUT].map(|register| self.read(at, register)),
        );
        assert_eq!(found, expected, "rank {at}: {place}");
    }
}

/// Commands and packets of the paper that are refused, and reads at the start of node memory.
#[test]
fn rma_messages_refused_paper() {
    use Opcode::{Get, Put1, PutN};
    use rank::{events, last_error};
    let mut bench = Bench::new(USUAL, "rma_messages_refused_paper");
    bench.begin();
    // The second window has room for no word. The third one denies writes.
    let windows = [(WINDOW, 0x40), (WINDOW + 0x1000, 3), (WINDOW + 0x800, 0x40)];
    for (number, (base, size)) in windows.into_iter().enumerate() {
        for at in 0..RANKS {
            bench.command(at, Opcode::WindowSize, size);
            let denies = if number == 2 { 2 } else { 0 };
            bench.command(at, Opcode::Register, base | denies);
        }
        bench.run_until("the registration", |bench| {
            (0..RANKS).all(|at| {
                let result = bench.read(at, rank::REG_RESULT);
                rank::reg_result::COUNT.get(result) == number as u32 + 1
            })
        });
        for at in 0..RANKS {
            let result = bench.read(at, rank::REG_RESULT);
            assert_eq!(rank::reg_result::SLOT.get(result), number as u32);
            assert_eq!(rank::reg_result::STATUS.get(result), 0);
        }
    }
    let [(first, _), (small, _), (denied, _)] = windows;
    let (put, reply) = (PacketType::Put1 as u32, PacketType::PutN as u32);
    let get = PacketType::Get as u32;
    // Last error and numbers of refusals of each rank.
    let mut errors = [0; RANKS];
    let mut refused = [[0; 2]; RANKS];
    for round in 0..soak(4) {
        if round > 0 {
            bench.set_paces();
        }
        for at in 0..RANKS {
            let other = 1 - at;
            let peer = other as u32;
            let end = NODE_BYTES - 116;
            let (unknown, beyond, denial) =
                (Status::NotRegistered, Status::OutOfBounds, Status::Denied);
            // The origin refuses the command, the target a packet of a type, or the origin that of the reply.
            let here = |status| Err(status);
            let there = |kind, status| Ok((other, kind, status));
            let back = |kind, status| Ok((at, kind, status));
            // Command, its operands, and its outcome.
            let cases = [
                (Put1, small + 4, 1, [peer, 1, 0], here(unknown)),
                (PutN, small + 4, 0, [peer, 2, 0], here(unknown)),
                (Get, first, small + 4, [peer, 2, 0], here(unknown)),
                (Put1, first, 1, [2, 1, 0], here(Status::BadRank)),
                (PutN, first, 0, [peer, 31, 0], here(Status::BadLength)),
                (PutN, first, end, [peer, 30, 0], here(Status::BadLocal)),
                (Put1, first, 1, [peer, 1, 16], there(put, beyond)),
                (PutN, first, 0, [peer, 5, 12], there(reply, beyond)),
                (Put1, denied, 1, [peer, 1, 0], there(put, denial)),
                (Get, first, first, [peer, 2, 15], there(get, beyond)),
                (Get, small, first, [peer, 1, 0], back(put, beyond)),
                (Get, denied, first, [peer, 1, 0], back(put, denial)),
                (Get, denied, first, [peer, 2, 0], back(reply, denial)),
                (Get, small, first, [peer, 2, 0], back(reply, beyond)),
                (Get, small, first, [at as u32, 1, 3], back(put, beyond)),
            ];
            for (opcode, window, operand, operands, outcome) in cases {
                bench.command(at, opcode, window);
                bench.command(at, opcode, operand);
                for operand in operands {
                    bench.command(at, Opcode::Data8, operand);
                }
                bench.drain();
                // Commands that are refused are counted a cycle after their event.
                bench.cycle();
                let mut raised = [0; RANKS];
                match outcome {
                    Err(status) => {
                        raised[at] = events::REFUSED.mask();
                        refused[at][1] += 1;
                        errors[at] = last_error::STATUS.put(status as u32)
                            | last_error::OPCODE.put(opcode as u32);
                    }
                    Ok((victim, kind, status)) => {
                        raised[victim] = events::DROPPED.mask();
                        refused[victim][0] += 1;
                        errors[victim] =
                            last_error::STATUS.put(status as u32) | last_error::OPCODE.put(kind);
                    }
                }
                let place = format!("{opcode:?} {window:#x} {operands:x?}");
                for rank in 0..RANKS {
                    let expected = (raised[rank], errors[rank], refused[rank]);
                    bench.reports(rank, expected, &place);
                    bench.register(rank, rank::ACK_EVENTS, raised[rank]);
                }
                bench.drain();
            }
            // Bytes from the start of node memory, whose first word begins before it in a packet.
            let data = bench.bytes(at, 0, 5);
            for (opcode, operand) in [
                (Opcode::XLaddr, 0),
                (Opcode::XLength, 5),
                (Opcode::XOffset, 3),
                (
                    Opcode::XPut,
                    x_commit::DPID.put(other as u32) | x_commit::ID.put(1_000),
                ),
            ] {
                bench.command(at, opcode, operand);
            }
            bench.drain();
            assert_eq!(bench.statuses(at), [(1_000, 0)]);
            assert_eq!(bench.bytes(other, WINDOW + 3, 5), data);
        }
    }
}

/// Commands for which there is no room are lost, and so are those behind them, until the host has acknowledged it.
#[test]
fn rma_messages_overflow() {
    use rank::events;
    let mut bench = Bench::new(USUAL, "rma_messages_overflow");
    bench.begin();
    bench.drain();
    for at in [0, 1, 0] {
        // The barrier waits, and commands that look into the table wait for it.
        bench.command(at, Opcode::Barrier, 0);
        bench.floods = true;
        for _ in 0..USUAL.commands {
            bench.command(at, Opcode::XWindow, WINDOW);
        }
        bench.run_until("the commands", |bench| bench.nodes[at].host.is_empty());
        assert_eq!(bench.read(at, rank::EVENTS), 0, "rank {at}: there is room");
        for _ in 0..USUAL.commands {
            bench.command(at, Opcode::XWindow, WINDOW);
        }
        let kept = events::OVERFLOW.mask();
        bench.register(at, rank::ACK_EVENTS, !kept);
        bench.run_until("the commands", |bench| bench.nodes[at].host.is_empty());
        assert_eq!(bench.read(at, rank::EVENTS), kept, "rank {at}");
        bench.floods = false;
        bench.command(1 - at, Opcode::Barrier, 0);
        let barriers = bench.read(at, rank::BARRIERS);
        bench.run_until("the barrier", |bench| {
            bench.read(at, rank::BARRIERS) > barriers
        });
        for _ in 0..4 * USUAL.commands {
            bench.cycle();
        }
        // Lost commands never retire, and commands are lost as long as the event stays.
        let retired = bench.read(at, rank::RETIRED);
        assert!(retired < bench.nodes[at].commands, "rank {at}: {retired}");
        bench.nodes[at].commands = retired;
        bench.command(at, Opcode::XLength, 0);
        bench.run_until("the command", |bench| bench.nodes[at].host.is_empty());
        for _ in 0..20 {
            bench.cycle();
        }
        assert_eq!(bench.read(at, rank::RETIRED), retired, "rank {at}");
        bench.nodes[at].commands = retired;
        for rank in 0..RANKS {
            bench.register(rank, rank::ACK, rank::ack::BARRIER.mask());
        }
        bench.register(at, rank::ACK_EVENTS, kept);
        bench.command(at, Opcode::XLength, 0);
        bench.drain();
        assert_eq!(bench.read(at, rank::EVENTS), 0, "rank {at}");
        assert_eq!(bench.read(at, rank::RETIRED), retired + 1, "rank {at}");
    }
}

/// A rank is reset while another sends puts to it without a pause. No request is let in once all answers have come, so the
/// reset ends.
#[test]
fn rma_messages_reset_crowd() {
    let mut bench = Bench::new(USUAL, "rma_messages_reset_crowd");
    bench.network_depth = 64;
    for victim in [0, 1] {
        let other = 1 - victim;
        bench.begin();
        bench.drain();
        bench.command(other, Opcode::XLength, 0);
        for _ in 0..1_500 {
            let commit = x_commit::DPID.put(victim as u32) | x_commit::ID.put(1_000);
            bench.command(other, Opcode::XPut, commit);
        }
        for _ in 0..200 {
            bench.cycle();
        }
        bench.cleared = [0; RANKS];
        bench.register(victim, rank::RANK_RESET, rank::rank_reset::RESET.mask());
        for _ in 0..1_500 {
            bench.cycle();
        }
        bench.ends_reset(victim);
        assert!(!bench.nodes[other].host.is_empty(), "puts still come in");
        bench.run_until("the puts", |bench| bench.nodes[other].host.is_empty());
        bench.drain();
        bench.register(other, rank::RANK_RESET, rank::rank_reset::RESET.mask());
        bench.cycle();
        bench.cycle();
        bench.ends_reset(other);
    }
}

/// A rank is reset while its message engine has fetches to send: recalls and fetches take turns.
#[test]
fn rma_messages_reset_fetches() {
    let mut bench = Bench::new(USUAL, "rma_messages_reset_fetches");
    let count = 8;
    for round in 0..soak(8) {
        let victim = round as usize % 2;
        let other = 1 - victim;
        bench.begin();
        bench.drain();
        for id in 0..count {
            let message = [victim as u32, CONTEXT, id, id];
            bench.message(other, Opcode::XAnnounce, message, [0x1000, 100]);
        }
        bench.drain();
        let sink = &mut bench.nodes[victim].sinks[REQUEST];
        sink.set_pace(Pace::Never);
        for id in 0..count {
            let receive = [other as u32, CONTEXT, id, id];
            let buffer = [0x2000 + 0x100 * id, 100];
            bench.message(victim, Opcode::XReceive, receive, buffer);
        }
        bench.run_until("the receives", |bench| bench.nodes[victim].host.is_empty());
        for _ in 0..200 {
            bench.cycle();
        }
        bench.recalls[victim] = Default::default();
        bench.register(victim, rank::RANK_RESET, rank::rank_reset::RESET.mask());
        for _ in 0..100 {
            bench.cycle();
        }
        let pace = [Pace::Always, Pace::Chance(0.3)][round as usize / 2 % 2];
        bench.nodes[victim].sinks[REQUEST].set_pace(pace);
        bench.run_until("the recalls", |bench| {
            bench.recalls[victim] == [1; RANKS] && !bench.sending[victim]
        });
        bench.nodes[victim].sinks[REQUEST].set_pace(Pace::Always);
        for _ in 0..400 {
            bench.cycle();
        }
        let packets = bench.nodes[other].received[REQUEST].iter();
        let mut places: Vec<u32> = packets
            .filter(|packet| packet[0] >> 21 & 7 == PacketType::Xget as u32)
            .map(|packet| packet[3])
            .collect();
        places.sort_unstable();
        let expected: Vec<u32> = (0..count).map(|id| 0x2000 + 0x100 * id).collect();
        assert_eq!(places, expected, "fetches of rank {victim}");
        bench.ends_reset(victim);
        bench.drain();
        bench.register(other, rank::RANK_RESET, rank::rank_reset::RESET.mask());
        bench.cycle();
        bench.cycle();
        bench.ends_reset(other);
    }
}

/// More answers are outstanding than any rank of a program has.
#[test]
fn rma_messages_reset_many() {
    use rank::reset_state::{ANSWERS, BUSY};
    let mut bench = Bench::new(USUAL, "rma_messages_reset_many");
    bench.begin();
    bench.drain();
    bench.network_depth = usize::MAX;
    bench.nodes[0].sources[REPLY].set_pace(Pace::Never);
    bench.command(0, Opcode::XLength, 0);
    // With the recalls, as many as can be counted.
    let most = (1 << USUAL.counts) - 1;
    for _ in 0..most - RANKS {
        let commit = x_commit::DPID.put(1) | x_commit::ID.put(1_000);
        bench.command(0, Opcode::XPut, commit);
    }
    bench.run_until("the puts", |bench| {
        let node = &bench.nodes[0];
        let commands = count(USUAL, node.commands);
        node.host.is_empty() && bench.read(0, rank::RETIRED) == commands
    });
    bench.recalls[0] = Default::default();
    bench.register(0, rank::RANK_RESET, rank::rank_reset::RESET.mask());
    bench.run_until("the recalls", |bench| bench.recalls[0] == [1; RANKS]);
    for (left, pace) in [
        (most, Pace::Never),
        (1 << (USUAL.counts - 1), Pace::Always),
        (40, Pace::Always),
        (0, Pace::Never),
    ] {
        bench.nodes[0].sources[REPLY].set_pace(pace);
        if left > 0 {
            bench.run_until("the answers", |bench| {
                bench.nodes[1].network[REPLY].len() <= left
            });
        } else {
            for _ in 0..300 {
                bench.cycle();
            }
        }
        let state = bench.read(0, rank::RESET_STATE);
        let waits = (BUSY.get(state), ANSWERS.get(state));
        assert_eq!(waits, (1, 1), "{left} answers are missing");
    }
    bench.nodes[0].sources[REPLY].set_pace(Pace::Always);
    bench.ends_reset(0);
    bench.drain();
}

/// Refusals, barriers and cycles of an epoch are counted beyond the ends of their counters.
#[test]
fn rma_messages_counts() {
    let mut bench = Bench::new(USUAL, "rma_messages_counts");
    bench.begin();
    bench.drain();
    let wrap = 1 << USUAL.counts;
    let mut pulses = 0;
    // With all bits set, and beyond.
    for more in [wrap - 1, 2 * wrap + bench.rng.random_range(0..wrap)] {
        for at in 0..RANKS {
            bench.set(at, "events_i", 1u64);
        }
        for _ in 0..more {
            bench.dut.clock();
        }
        pulses += more;
        for at in 0..RANKS {
            bench.set(at, "events_i", 0u64);
        }
        bench.dut.settle();
        for at in 0..RANKS {
            let refused = bench.read(at, rank::REFUSED_OUT);
            assert_eq!(refused, count(USUAL, pulses), "rank {at}");
        }
    }
    for at in 0..RANKS {
        let error = bench.read(at, rank::LAST_ERROR);
        assert_eq!(error, Status::Denied as u32, "rank {at}");
        // The epoch has lasted since the first command.
        bench.pages[at].seen = None;
        bench.command(at, Opcode::Barrier, 0);
    }
    bench.watches = true;
    let epochs = [0, 1].map(|at| bench.pages[at].first.expect("a command"));
    bench.run_until("the barrier", |bench| {
        (0..RANKS).all(|at| bench.read(at, rank::BARRIERS) == 1)
    });
    bench.cycle();
    for (at, first) in epochs.into_iter().enumerate() {
        let epoch = bench.read(at, rank::EPOCH_CYCLES);
        let cycles = (bench.dut.cycle() - first) as u32;
        let late = count(USUAL, cycles.wrapping_sub(epoch));
        assert!(late < 8, "rank {at}: {epoch} of {cycles} cycles");
    }
    bench.watches = false;
    for round in 2..wrap + 10 {
        for at in 0..RANKS {
            bench.register(at, rank::ACK, rank::ack::BARRIER.mask());
            bench.command(at, Opcode::Barrier, 0);
        }
        bench.run_until("the barrier", |bench| {
            (0..RANKS).all(|at| bench.read(at, rank::BARRIERS) == count(USUAL, round))
        });
        bench.cycle();
        for page in &mut bench.pages {
            page.first = None;
        }
    }
    // Puts beyond the end of a window.
    for at in 0..RANKS {
        bench.register(at, rank::ACK, rank::ack::BARRIER.mask());
        bench.command(at, Opcode::WindowSize, 16);
        bench.command(at, Opcode::Register, WINDOW);
    }
    bench.drain();
    let mut refused = 0;
    for more in [wrap - 1, bench.rng.random_range(1..100)] {
        for at in 0..RANKS {
            for _ in 0..more {
                bench.command(at, Opcode::Put1, WINDOW);
                bench.command(at, Opcode::Put1, 1);
                for operand in [1 - at as u32, 1, 16] {
                    bench.command(at, Opcode::Data8, operand);
                }
            }
        }
        bench.run_until("the puts", |bench| {
            bench.nodes.iter().all(|node| node.host.is_empty())
        });
        bench.drain();
        refused += more;
        for at in 0..RANKS {
            let found = bench.read(at, rank::REFUSED_IN);
            assert_eq!(found, count(USUAL, refused), "rank {at}");
        }
    }
}

/// Completions are copied into host memory, each once and in order, while copies are on.
#[test]
fn rma_messages_copies() {
    use rank::host_ring;
    let mut bench = Bench::new(USUAL, "rma_messages_copies");
    bench.begin();
    bench.drain();
    bench.has_far_rings = true;
    let mut last = [false; RANKS];
    for round in 0..soak(24) {
        for (at, is_on) in last.iter_mut().enumerate() {
            let paces = [Pace::Always, Pace::Chance(0.05), Pace::Chance(0.3)];
            let pace = paces[bench.rng.random_range(0..paces.len())];
            bench.nodes[at].copy_grants.set_pace(pace);
            if round % 4 == 3 {
                // Copies are off after a reset.
                bench.register(at, rank::RANK_RESET, rank::rank_reset::RESET.mask());
                bench.run_until("the write", |bench| bench.nodes[at].host.is_empty());
                bench.cycle();
                bench.ends_reset(at);
                let ring = bench.rng.random::<u32>() & !3;
                bench.nodes[at].ring = ring;
                bench.register(at, rank::CQ_BASE, ring);
                bench.register(at, rank::CQ_SIZE, RING_LOG2);
                bench.command(at, Opcode::BeginRun, 0);
                *is_on = false;
            } else {
                // The number of copies goes on where copies are already on.
                let goes_on = bench.rng.random_bool(0.7);
                let [low, high]: [u32; 2] = bench.rng.random();
                bench.register(at, rank::HOST_RING_HIGH, high);
                let low = low & !host_ring::ENABLE.mask() | host_ring::ENABLE.put(goes_on.into());
                bench.register(at, rank::HOST_RING, low);
                bench.drain();
                if !*is_on {
                    bench.nodes[at].copied = bench.read(at, rank::CQ_HEAD);
                }
                *is_on = goes_on;
            }
            bench.drain();
        }
        for at in 0..RANKS {
            bench.command(at, Opcode::XLength, 0);
            // A window that no rank has registered.
            for id in 0..bench.rng.random_range(1..60) {
                let commit = x_commit::DPID.put(1 - at as u32) | x_commit::ID.put(1_000 + id);
                bench.command(at, Opcode::XPut, commit);
            }
        }
        bench.drain();
        for (at, is_on) in last.into_iter().enumerate() {
            let head = bench.read(at, rank::CQ_HEAD);
            if is_on {
                assert_eq!(bench.nodes[at].copied, head, "rank {at}, round {round}");
            }
            bench.nodes[at].tail = head;
            bench.register(at, rank::CQ_TAIL, head);
        }
    }
}

/// The reset of a rank ends while nobody takes its copies, as on a card whose host has not started XDMA's channel. A rank
/// may turn copies on by one write.
#[test]
fn rma_messages_reset_untaken_copies() {
    let mut bench = Bench::new(USUAL, "rma_messages_reset_untaken_copies");
    bench.begin();
    bench.drain();
    for at in 0..RANKS {
        bench.nodes[at].copy_grants.set_pace(Pace::Chance(0.0));
        bench.register(at, rank::HOST_RING, rank::host_ring::ENABLE.mask());
        bench.command(at, Opcode::XLength, 0);
        // A window that no rank has registered.
        let commit = x_commit::DPID.put(1 - at as u32) | x_commit::ID.put(1_000);
        bench.command(at, Opcode::XPut, commit);
        bench.run_until("a copy", |bench| bench.is(at, "copy_valid_o"));
        bench.register(at, rank::RANK_RESET, rank::rank_reset::RESET.mask());
        bench.run_until("the write", |bench| bench.nodes[at].host.is_empty());
        bench.cycle();
        bench.ends_reset(at);
        assert!(
            !bench.is(at, "copy_valid_o"),
            "rank {at}: a copy of the last holder"
        );
    }
}

/// Registers, causes and interrupt in each cycle, beside random traffic, barriers, and events of the board.
#[test]
fn rma_messages_registers() {
    let mut bench = Bench::new(USUAL, "rma_messages_registers");
    bench.watches = true;
    let mut program = Program::begin(bench);
    for round in 0..soak(8) {
        program.bench.set_paces();
        for _ in 0..80 {
            for at in 0..RANKS {
                if program.bench.nodes[at].host.len() < 4 {
                    program.bench.disturb(at);
                }
            }
            program.traffic(3);
        }
        if round % 4 == 3 {
            program.clean();
        }
        for _ in 0..program.bench.rng.random_range(0..3) {
            for at in 0..RANKS {
                let before = program.bench.read(at, rank::BARRIERS);
                program.bench.command(at, Opcode::Barrier, 0);
                for _ in 0..program.bench.rng.random_range(0..3) {
                    program.bench.command(at, Opcode::XLength, before);
                }
            }
            program.run_until("the barrier", |program| program.bench.is_quiet());
            for at in 0..RANKS {
                program
                    .bench
                    .register(at, rank::ACK, rank::ack::BARRIER.mask());
            }
        }
    }
    program.clean();
    assert!(program.bench.watched > 10_000, "{}", program.bench.watched);
}

impl Bench {
    /// Writes one of the registers for causes and interrupt.
    fn disturb(&mut self, at: usize) {
        let near = |rng: &mut Random, value: u32| match rng.random_range(0..4) {
            0 => rng.random(),
            1 | 2 => value ^ 1 << rng.random_range(0..32),
            _ => value.wrapping_add(rng.random_range(0..8)).wrapping_sub(2),
        };
        let (head, retired) = (self.read(at, rank::CQ_HEAD), self.read(at, rank::RETIRED));
        let (register, data) = match self.rng.random_range(0..6) {
            // An offset without a register.
            5 => (self.rng.random_range(0x4c0..0x600) & !3, self.rng.random()),
            0 => (rank::IRQ_ENABLE, self.rng.random()),
            1 => (rank::CQ_WAKE, near(&mut self.rng, head)),
            2 => (rank::RETIRED_WAKE, near(&mut self.rng, retired)),
            3 => (rank::ACK, self.rng.random_range(0..8)),
            _ => (rank::ACK_EVENTS, self.rng.random()),
        };
        self.register(at, register, data);
    }
}

// Individual properties.

/// Context and tag of a message from rank 0 to rank 1.
const CONTEXT: u32 = 3;
const TAG: u32 = 0x012_3456;

/// A message loses a word of its payload, whether or not the message fits into its receive buffer.
/// The receive reports the loss, and the next message is complete.
#[test]
fn rma_messages_lost_word() {
    let mut bench = Bench::new(USUAL, "rma_messages_lost_word");
    bench.begin();
    let data = bench.bytes(1, 0x500, 32);
    // Header words are 4, payload words 8.
    for (room, lost) in [(32, 4), (32, 10), (16, 4), (16, 9)] {
        for (id, room) in [(1, room), (2, 32)] {
            bench.message(
                0,
                Opcode::XReceive,
                [1, CONTEXT, TAG, id],
                [0x100 * id, room],
            );
        }
        bench.drain();
        bench.damage = Some((lost, Damage::Lost));
        for id in [1, 2] {
            bench.message(1, Opcode::XSend, [0, CONTEXT, TAG, id], [0x500, 32]);
        }
        bench.drain();
        let statuses = [(1, Status::BadLength as u32), (2, 0)];
        assert_eq!(bench.statuses(0), statuses, "room for {room}, lost {lost}");
        assert_eq!(bench.bytes(0, 0x200, 32), data);
        assert_eq!(bench.statuses(1), [(1, 0), (2, 0)]);
        let events = bench.read(0, rank::EVENTS);
        assert_eq!(events, rank::events::MALFORMED.put(1));
        bench.register(0, rank::ACK_EVENTS, events);
        bench.drain();
    }
}

/// An announcement with an extra word after its header: the message is fetched, and the next
/// message is complete.
#[test]
fn rma_messages_surplus_word() {
    let mut bench = Bench::new(USUAL, "rma_messages_surplus_word");
    bench.begin();
    for id in [1, 2] {
        let receive = [1, CONTEXT, TAG, id];
        bench.message(0, Opcode::XReceive, receive, [0x100 * id, 32]);
    }
    bench.drain();
    bench.damage = Some((3, Damage::Doubled));
    bench.message(1, Opcode::XAnnounce, [0, CONTEXT, TAG, 1], [0x500, 32]);
    bench.message(1, Opcode::XSend, [0, CONTEXT, TAG, 2], [0x540, 32]);
    bench.drain();
    for at in 0..RANKS {
        // A fetched message may complete after the next eager message.
        let mut statuses = bench.statuses(at);
        statuses.sort_unstable();
        assert_eq!(statuses, [(1, 0), (2, 0)], "rank {at}");
    }
    for (to, from) in [(0x100, 0x500), (0x200, 0x540)] {
        assert_eq!(bench.bytes(0, to, 32), bench.bytes(1, from, 32));
    }
    let events = bench.read(0, rank::EVENTS);
    assert_eq!(events, rank::events::MALFORMED.put(1));
}

/// Senders number their messages, keep to no quota, and send refused messages again.
#[test]
fn rma_messages_streams() {
    streams(USUAL, soak(40), "rma_messages_streams");
}

#[test]
fn rma_messages_streams_smallest() {
    streams(SMALLEST, soak(40), "rma_messages_streams_smallest");
}

/// Refusals of a message without a serial number, of the host or the kernel, and of messages with
/// serial numbers.
#[test]
fn rma_messages_streams_alone() {
    alone(Config {
        kernel: true,
        ..SMALLEST
    });
}

/// Commands that are refused before their first packet, and commands without a match.
#[test]
fn rma_messages_refusals() {
    let mut bench = Bench::new(SMALLEST, "rma_messages_refusals");
    for at in 0..RANKS {
        bench.register(at, rank::CQ_BASE, RING);
        bench.register(at, rank::CQ_SIZE, RING_LOG2);
        bench.register(at, rank::CQ_TAIL, 0);
    }
    let of = |status: Status| status as u32;
    bench.message(0, Opcode::XSend, [1, CONTEXT, TAG, 4], [0, 4]);
    bench.message(0, Opcode::XReceive, [1, CONTEXT, TAG, 5], [0, 4]);
    bench.message(0, Opcode::XCancel, [1, CONTEXT, TAG, 5], [0, 4]);
    bench.drain();
    let not_begun = of(Status::NotBegun);
    assert_eq!(bench.statuses(0), [(4, not_begun), (5, not_begun)]);
    bench.begin();
    bench.drain();
    bench.nodes[0].tail = 0;
    bench.nodes[1].tail = 0;
    let any = x_tag::ANY_SOURCE.put(1);
    let cases = [
        (Opcode::XSend, [2, CONTEXT, TAG, 1], [0, 4], Status::BadRank),
        (
            Opcode::XSend,
            [1, CONTEXT, TAG, 1],
            [0, FRAGMENT + 1],
            Status::BadLength,
        ),
        (
            Opcode::XSend,
            [1, CONTEXT, TAG, MESSAGES],
            [0, 4],
            Status::BadId,
        ),
        (
            Opcode::XSend,
            [1, CONTEXT, TAG, 1],
            [NODE_BYTES - 3, 4],
            Status::BadLocal,
        ),
        // A source must be valid unless any source is accepted.
        (
            Opcode::XAnnounce,
            [255, CONTEXT, any, 1],
            [0, 4],
            Status::BadRank,
        ),
        (
            Opcode::XAnnounce,
            [1, CONTEXT, TAG, 1 << 9],
            [0, 4],
            Status::BadId,
        ),
        (
            Opcode::XAnnounce,
            [1, CONTEXT, TAG, 1],
            [0, NODE_BYTES + 1],
            Status::BadLocal,
        ),
        (
            Opcode::XReceive,
            [2, CONTEXT, TAG, 1],
            [0, 4],
            Status::BadRank,
        ),
        (
            Opcode::XReceive,
            [0, CONTEXT, TAG, MESSAGES],
            [0, 4],
            Status::BadId,
        ),
        (
            Opcode::XReceive,
            [0, CONTEXT, TAG, 1],
            [NODE_BYTES, 1],
            Status::BadLocal,
        ),
        (
            Opcode::XProbe,
            [9, CONTEXT, TAG, 1],
            [0, 4],
            Status::BadRank,
        ),
        (
            Opcode::XProbe,
            [0, CONTEXT, TAG, MESSAGES],
            [0, 4],
            Status::BadId,
        ),
        // A probe has no buffer.
        (
            Opcode::XProbe,
            [9, CONTEXT, any, 1],
            [NODE_BYTES, 4],
            Status::NotFound,
        ),
    ];
    for (opcode, what, buffer, status) in cases {
        bench.message(0, opcode, what, buffer);
        bench.drain();
        let expected = (what[3], of(status));
        assert_eq!(bench.statuses(0), [expected], "{opcode:?} {what:x?}");
    }
    assert!(bench.nodes[0].received[REQUEST].is_empty());
    assert!(bench.nodes[1].received[REQUEST].is_empty());
    // Cancelling an id that is not in use, in range or out of range, has no completion.
    for id in [3, MESSAGES, 0xffff] {
        bench.command(0, Opcode::XCancel, id);
    }
    bench.drain();
    assert_eq!(bench.statuses(0), []);
    // An id out of range must not alias a receive whose id is equal modulo the number of ids.
    bench.message(0, Opcode::XReceive, [1, CONTEXT, TAG, 0], [0x100, 8]);
    bench.command(0, Opcode::XCancel, MESSAGES);
    bench.command(0, Opcode::XCancel, 1 << 15);
    bench.drain();
    assert_eq!(bench.read(0, rank::MESSAGE_QUEUES), 1);
    bench.command(0, Opcode::XCancel, 0);
    bench.drain();
    assert_eq!(bench.statuses(0), [(0, of(Status::Cancelled))]);
    // A named window is for the next put or get, even with messages in between.
    bench.command(0, Opcode::XWindow, 0x100);
    bench.message(0, Opcode::XSend, [0, CONTEXT, TAG + 1, 8], [0, 4]);
    bench.message(0, Opcode::XReceive, [0, CONTEXT, TAG + 1, 9], [0x100, 4]);
    bench.command(0, Opcode::XPut, x_commit::ID.put(77));
    bench.drain();
    let mut statuses = bench.statuses(0);
    statuses.sort_unstable();
    assert_eq!(statuses, [(8, 0), (9, 0), (77, of(Status::NotRegistered))]);
    // An id in use by a receive. The receive is then cancelled, and its id is free.
    bench.message(0, Opcode::XReceive, [1, CONTEXT, TAG, 6], [0x100, 8]);
    bench.message(0, Opcode::XReceive, [1, CONTEXT, TAG, 6], [0x200, 8]);
    bench.drain();
    assert_eq!(bench.statuses(0), [(6, of(Status::BadId))]);
    assert_eq!(bench.read(0, rank::MESSAGE_QUEUES), 1);
    bench.command(0, Opcode::XCancel, 6);
    bench.drain();
    assert_eq!(bench.statuses(0), [(6, of(Status::Cancelled))]);
    bench.message(0, Opcode::XReceive, [1, CONTEXT, TAG, 6], [0x300, 8]);
    bench.drain();
    // A message uses the id; a probe finds the next message.
    let data = bench.bytes(1, 0x500, 8);
    for (id, length) in [(1, 8), (2, 7)] {
        bench.message(1, Opcode::XSend, [0, CONTEXT, TAG, id], [0x500, length]);
    }
    bench.drain();
    assert_eq!(bench.completions(0), [(6, 0, 1, TAG, 8)]);
    assert_eq!(bench.bytes(0, 0x300, 8), data);
    assert_eq!(bench.statuses(1), [(1, 0)]);
    for _ in 0..2 {
        bench.message(0, Opcode::XProbe, [0, CONTEXT, TAG | any, 9], [0, 0]);
        bench.drain();
        assert_eq!(bench.completions(0), [(9, 0, 1, TAG, 7)]);
    }
    bench.message(0, Opcode::XProbe, [0, CONTEXT, TAG, 9], [0, 0]);
    bench.drain();
    assert_eq!(bench.statuses(0), [(9, of(Status::NotFound))]);
    assert_eq!(bench.read(0, rank::EVENTS), 0);
}

/// Messages beyond a quota, and beyond the capacity of the store, are refused and reported. Earlier
/// messages are received.
#[test]
fn rma_messages_no_room() {
    for config in [USUAL, SMALLEST] {
        let mut bench = Bench::new(config, "rma_messages_no_room");
        bench.begin();
        bench.register(1, rank::MESSAGE_QUOTA, 2);
        let no_room = Status::NoRoom as u32;
        let mut data = Vec::new();
        for id in 0..5 {
            let opcode = [Opcode::XSend, Opcode::XAnnounce][id as usize % 2];
            let address = 0x1000 + 100 * id;
            bench.message(0, opcode, [1, CONTEXT, id, id], [address, 61]);
            data.push(bench.bytes(0, address, 61));
        }
        bench.drain();
        let refused: Vec<_> = (2..5).map(|id| (id, no_room)).collect();
        assert_eq!(bench.statuses(0), refused, "{config:?}");
        assert_eq!(bench.read(1, rank::MESSAGES_REFUSED), 3);
        assert_eq!(bench.read(1, rank::EVENTS), rank::events::NO_ROOM.put(1));
        // The quota is per source: messages of another source are held.
        bench.message(1, Opcode::XSend, [1, CONTEXT, 9, 31], [0x1000, 8]);
        bench.drain();
        assert_eq!(bench.read(1, rank::MESSAGE_QUEUES), 3 << 16);
        bench.register(1, rank::MESSAGE_QUOTA, 0xffff);
        // The total capacity.
        for id in 2..31 {
            bench.message(0, Opcode::XSend, [1, CONTEXT, id, id], [0x2000, 64]);
        }
        bench.drain();
        assert_eq!(bench.read(1, rank::MESSAGE_QUEUES), MESSAGES << 16);
        bench.message(0, Opcode::XSend, [1, CONTEXT, 50, 31], [0x2000, 64]);
        bench.drain();
        assert_eq!(bench.statuses(0), [(31, no_room)], "{config:?}");
        assert_eq!(bench.read(1, rank::MESSAGES_REFUSED), 4);
        // In order of arrival, for any source: the first two are those before the quota.
        let any = x_tag::ANY_SOURCE.put(1) | x_tag::ANY_TAG.put(1);
        for id in 0..MESSAGES {
            bench.message(
                1,
                Opcode::XReceive,
                [0, CONTEXT, any, id % 31],
                [0x4001, 64],
            );
            bench.drain();
            let received = bench.completions(1);
            let (source, tag, length) = match id {
                0 | 1 => (0, id, 61),
                2 => (1, 9, 8),
                _ => (0, id - 1, 64),
            };
            let own: Vec<_> = received.iter().filter(|entry| entry.0 != 31).collect();
            assert_eq!(own, [&(id % 31, 0, source, tag, length)], "{config:?}");
            if let Some(data) = data.get(id as usize).filter(|_| id < 2) {
                assert_eq!(&bench.bytes(1, 0x4001, 61), data);
            }
        }
        assert_eq!(bench.read(1, rank::MESSAGE_QUEUES), 0);
        let done: Vec<_> = (0..31).map(|id| (id, 0)).collect();
        assert_eq!(bench.statuses(0), done);
    }
}

/// A fetch requests more bytes than the announced message has, because its sender has since
/// announced a shorter message with the same id. The fetch fails and reports the failure.
#[test]
fn rma_messages_shrunk() {
    let mut bench = Bench::new(SMALLEST, "rma_messages_shrunk");
    bench.begin();
    bench.message(0, Opcode::XAnnounce, [1, CONTEXT, TAG, 5], [0x1000, 300]);
    bench.message(0, Opcode::XAnnounce, [1, CONTEXT, TAG, 5], [0x1000, 299]);
    bench.drain();
    let before = bench.bytes(1, 0x2000, 300);
    bench.message(1, Opcode::XReceive, [0, CONTEXT, TAG, 1], [0x2000, 300]);
    bench.drain();
    let status = Status::OutOfBounds as u32;
    assert_eq!(bench.completions(1), [(1, status, 0, TAG, 300)]);
    assert_eq!(bench.bytes(1, 0x2000, 300), before);
    bench.message(1, Opcode::XReceive, [0, CONTEXT, TAG, 1], [0x2000, 300]);
    bench.drain();
    assert_eq!(bench.completions(1), [(1, 0, 0, TAG, 299)]);
    assert_eq!(bench.bytes(1, 0x2000, 299), bench.bytes(0, 0x1000, 299));
    assert_eq!(bench.statuses(0), [(5, 0), (5, 0)]);
    // Remains of the refused fetch do not reach a copy.
    bench.message(0, Opcode::XAnnounce, [1, CONTEXT, TAG, 5], [0x1000, 300]);
    bench.message(0, Opcode::XAnnounce, [1, CONTEXT, TAG, 5], [0x1000, 0]);
    bench.message(1, Opcode::XSend, [0, CONTEXT, TAG, 3], [0x3000, 33]);
    bench.message(1, Opcode::XReceive, [0, CONTEXT, TAG, 1], [0x2000, 300]);
    bench.drain();
    assert_eq!(bench.completions(1), [(1, status, 0, TAG, 300)]);
    bench.message(0, Opcode::XReceive, [1, CONTEXT, TAG, 2], [0x2001, 64]);
    bench.drain();
    assert_eq!(bench.completions(0)[1..], [(2, 0, 1, TAG, 33)]);
    assert_eq!(bench.bytes(0, 0x2001, 33), bench.bytes(1, 0x3000, 33));
}

/// A copy does not wait for the end of incoming traffic.
#[test]
fn rma_messages_turns() {
    let mut bench = Bench::new(USUAL, "rma_messages_turns");
    bench.begin();
    bench.message(0, Opcode::XSend, [1, CONTEXT, TAG, 1], [0x1000, 40]);
    bench.command(0, Opcode::XLength, 0);
    bench.drain();
    // Puts to a window that does not exist: a continuous sequence of headers, each with an
    // acknowledgement.
    for _ in 0..400 {
        bench.command(0, Opcode::XPut, x_commit::DPID.put(1));
    }
    for _ in 0..200 {
        bench.cycle();
    }
    bench.message(1, Opcode::XReceive, [0, CONTEXT, TAG, 1], [0x2001, 64]);
    let start = bench.dut.cycle();
    bench.run_until("the copy", |bench| bench.read(1, rank::CQ_HEAD) == 1);
    let cycles = bench.dut.cycle() - start;
    assert!(cycles < 200, "{cycles} cycles");
    assert!(!bench.nodes[0].host.is_empty(), "puts still come in");
    assert_eq!(bench.bytes(1, 0x2001, 40), bench.bytes(0, 0x1000, 40));
}

/// Cycles of a message from the write of its commit or, if `posted` is false, of its receive's
/// commit: its first word out, and into the receiver; the acknowledgement out, and into the sender;
/// the entry in the receiver's ring and in the sender's ring. Four cycles are between the ranks, as
/// through the routers of a board.
fn timed(bench: &mut Bench, opcode: Opcode, length: u32, posted: bool) -> [u64; 6] {
    let receive = |bench: &mut Bench| {
        bench.message(1, Opcode::XReceive, [0, CONTEXT, TAG, 1], [0x1000, length]);
    };
    if posted {
        receive(bench);
        bench.drain();
    }
    for rank in 0..RANKS {
        bench.out[rank] = Default::default();
        bench.into[rank] = Default::default();
    }
    let heads = [0, 1].map(|at| bench.read(at, rank::CQ_HEAD));
    bench.message(0, opcode, [1, CONTEXT, TAG, 2], [0x2000, length]);
    let mut start = bench.dut.cycle() + 3;
    if !posted {
        bench.drain();
        receive(bench);
        start = bench.dut.cycle() + 3;
    }
    let done = [1, 0].map(|at| {
        bench.run_until("the completion", |bench| {
            bench.read(at, rank::CQ_HEAD) == heads[at] + 1
        });
        bench.dut.cycle() - start
    });
    bench.drain();
    for at in 0..RANKS {
        bench.completions(at);
    }
    bench.drain();
    assert_eq!(
        bench.bytes(1, 0x1000, length),
        bench.bytes(0, 0x2000, length)
    );
    let last = |times: &[u64]| times.last().map_or(0, |&at| at.saturating_sub(start));
    let first = |times: &[u64]| times.first().map_or(0, |&at| at.saturating_sub(start));
    [
        first(&bench.out[0][REQUEST]),
        first(&bench.into[1][REQUEST]),
        last(&bench.out[1][REPLY]),
        last(&bench.into[0][REPLY]),
        done[0],
        done[1],
    ]
}

/// The latency budgets of hw/nic/doc/nic.md.
#[test]
fn rma_messages_latency() {
    let mut bench = Bench::new(USUAL, "rma_messages_latency");
    bench.network_depth = 64;
    bench.begin();
    bench.drain();
    for (opcode, length, posted, expected) in [
        (Opcode::XSend, 0, true, [10, 14, 32, 36, 34, 42]),
        (Opcode::XSend, 8, true, [10, 14, 35, 39, 37, 45]),
        (Opcode::XSend, 64, true, [10, 14, 49, 53, 51, 59]),
        (Opcode::XSend, 0, false, [0, 0, 17, 21, 19, 27]),
        (Opcode::XSend, 8, false, [0, 0, 35, 39, 37, 45]),
        (Opcode::XAnnounce, 8, true, [10, 14, 67, 71, 69, 77]),
        (Opcode::XAnnounce, 512, true, [10, 14, 193, 197, 195, 203]),
        (Opcode::XAnnounce, 8, false, [0, 0, 52, 56, 54, 62]),
    ] {
        let found = timed(&mut bench, opcode, length, posted);
        assert_eq!(found, expected, "{opcode:?} of {length}, posted {posted}");
    }
}

/// Empty messages that follow each other, with receives that wait: a message each fourth cycle, by
/// the unit and by walking to the first receive.
#[test]
fn rma_messages_rate() {
    let mut bench = Bench::new(USUAL, "rma_messages_rate");
    bench.network_depth = 64;
    bench.begin();
    for threshold in [0, 0xffff] {
        bench.register(1, rank::POSTED_THRESHOLD, threshold);
        let count = MESSAGES / 2;
        for id in 0..count {
            bench.message(1, Opcode::XReceive, [0, CONTEXT, TAG, id], [0x1000, 0]);
        }
        bench.message(0, Opcode::XCancel, [1, CONTEXT, TAG, 0], [0x2000, 0]);
        bench.drain();
        let heads = [0, 1].map(|at| bench.read(at, rank::CQ_HEAD));
        for id in 0..count {
            let commit = x_message::RANK.put(1) | x_message::CONTEXT.put(CONTEXT);
            bench.command(0, Opcode::XSend, commit | x_message::ID.put(id));
        }
        let mut at = [[0; 2]; 2];
        for (place, entries) in [count / 2, count].into_iter().enumerate() {
            for rank in [1, 0] {
                bench.run_until("the completions", |bench| {
                    bench.read(rank, rank::CQ_HEAD) >= heads[rank] + entries
                });
                at[place][rank] = bench.dut.cycle();
            }
        }
        let cycles = at[1][0] - at[0][0];
        let most = u64::from(4 * (count - count / 2) + 2);
        assert!(cycles <= most, "threshold {threshold}: {cycles} cycles");
        bench.drain();
        for at in 0..RANKS {
            assert!(bench.completions(at).iter().all(|entry| entry.1 == 0));
        }
        bench.drain();
    }
}

/// A bench whose rank 1 has unexpected messages, which each search walks through.
fn crowded(name: &'static str, messages: u32) -> Bench {
    let mut bench = Bench::new(USUAL, name);
    bench.network_depth = 64;
    bench.begin();
    bench.register(1, rank::UNEXPECTED_THRESHOLD, 0xffff);
    for id in 0..messages {
        bench.message(0, Opcode::XSend, [1, CONTEXT, 1, id], [0x2000, 0]);
        bench.drain();
    }
    bench.drain();
    bench
}

/// Queues the operands of an empty transfer.
fn nothing(bench: &mut Bench, at: usize) {
    for (opcode, operand) in [
        (Opcode::XOffset, 0),
        (Opcode::XLaddr, 0x2000),
        (Opcode::XLength, 0),
    ] {
        bench.command(at, opcode, operand);
    }
}

/// Cycles from now to the completion of an empty put to the other rank.
fn put_cycles(bench: &mut Bench, at: usize) -> u64 {
    let begin = bench.read(at, rank::CQ_HEAD);
    let target = x_commit::DPID.put(1 - at as u32) | x_commit::SLOT.put(0);
    bench.command(at, Opcode::XPut, target | x_commit::ID.put(2_000));
    let start = bench.dut.cycle();
    bench.run_until("the put", |bench| bench.read(at, rank::CQ_HEAD) > begin);
    bench.dut.cycle() - start
}

/// A put behind receives of its own rank takes as long while the engine searches the whole queue for each of
/// them as without a search. The last one takes the last place of the queue.
#[test]
fn rma_messages_put_behind_receives() {
    const RECEIVES: u32 = 19;
    let cycles = [0, MESSAGES - 2].map(|messages| {
        let mut bench = crowded("rma_messages_put_behind_receives", messages);
        // The receives match no message.
        for id in 0..RECEIVES {
            bench.message(1, Opcode::XReceive, [0, CONTEXT, 2, id], [0x1000, 8]);
        }
        nothing(&mut bench, 1);
        put_cycles(&mut bench, 1)
    });
    assert_eq!(cycles[0], cycles[1]);
}

/// A put after an empty message takes as long while the engine searches the whole queue as without
/// a search.
#[test]
fn rma_messages_put_during_walk() {
    let cycles = [0, MESSAGES - 2].map(|messages| {
        let mut bench = crowded("rma_messages_put_during_walk", messages);
        nothing(&mut bench, 0);
        bench.command(0, Opcode::XTag, TAG);
        bench.drain();
        // The receive matches no message. The search begins when the put is on its way.
        bench.message(1, Opcode::XReceive, [0, CONTEXT, 2, 1], [0x1000, 8]);
        bench.cycle();
        bench.cycle();
        let send = x_message::RANK.put(1) | x_message::CONTEXT.put(CONTEXT);
        bench.command(0, Opcode::XSend, send | x_message::ID.put(MESSAGES - 2));
        put_cycles(&mut bench, 0)
    });
    assert_eq!(cycles[0], cycles[1]);
}
