//! The packet controllers of both planes: the effects of each packet, compared item by item with a
//! model of the packet formats and the windows. A packet that is cut in its header has no effect
//! except its report. The paper's words are built from its figure 6, not from the ABI.

use std::collections::{HashMap, VecDeque};

use alcor_abi::packets::{
    message_id, x_atomic, x_data, x_header as x_field, x_old, x_operation, x_refusal,
};
use alcor_abi::{AtomicOperation, PacketType, Status};
use alcor_hw_bench::{Pace, Random, Sink, Source, soak};
use rand::Rng;

use crate::rma::Block;
use crate::rma_atomic::combined;

const LANES: usize = 4;

/// A controller in `rma_bench`.
#[derive(Debug, Clone, Copy)]
struct Config {
    lane: usize,
    requests: bool,
    /// Payload bytes of an extended packet.
    payload: u32,
}

const CONFIGS: [Config; LANES] = [
    Config {
        lane: 0,
        requests: true,
        payload: 512,
    },
    Config {
        lane: 1,
        requests: false,
        payload: 512,
    },
    Config {
        lane: 2,
        requests: true,
        payload: 64,
    },
    Config {
        lane: 3,
        requests: false,
        payload: 64,
    },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    base: u32,
    size: u32,
    deny_read: bool,
    deny_write: bool,
}

/// A packet, as intended by the sender.
#[derive(Debug, Clone, Copy)]
enum Packet {
    /// The paper's PUT-1 or PUT-n of `words` words.
    Put { slot: u8, offset: u8, words: u32 },
    /// The paper's GET.
    Get {
        slot: u8,
        offset: u8,
        words: u32,
        from: u8,
        answer_slot: u8,
    },
    /// A packet of an extended put. `left` is the number of remaining bytes of the command,
    /// including this packet.
    XPut {
        slot: u8,
        offset: u32,
        left: u32,
        last: bool,
        from: u8,
        id: u16,
    },
    /// A packet of an extended get.
    XGet {
        slot: u8,
        offset: u32,
        left: u32,
        last: bool,
        from: u8,
        id: u16,
        laddr: u32,
    },
    /// A packet that fetches the announced message, with any id.
    Fetch {
        announcement: u16,
        offset: u32,
        left: u32,
        last: bool,
        from: u8,
        id: u16,
        laddr: u32,
    },
    /// Data of an extended get, or, with a status, of a fetched message.
    XData {
        laddr: u32,
        bytes: u32,
        last: bool,
        id: u16,
        message: Option<u8>,
    },
    /// Old value of an atomic operation.
    Old { wide: bool, id: u16, value: u64 },
    /// A message, with the engine's answer to it.
    Message(Message),
    /// An atomic operation.
    Atomic {
        slot: u8,
        offset: u32,
        wide: bool,
        code: u32,
        value: u64,
        compare: u64,
        from: u8,
        id: u16,
    },
    /// Acknowledgement of an extended command.
    XAck { status: u8, id: u16 },
}

/// A message, and what the message engine does with it.
#[derive(Debug, Clone, Copy)]
struct Message {
    announce: bool,
    recall: bool,
    source: u8,
    context: u8,
    tag: u32,
    serial: u32,
    length: u32,
    id: u16,
    /// The engine refuses the message.
    refused: bool,
    /// Number of sources whose messages the engine refuses, as it says with a refusal.
    line: u32,
    /// The rank is being reset.
    closed: bool,
    verdict: Verdict,
}

impl Message {
    /// Whether the engine refuses the message.
    fn is_refused(&self) -> bool {
        self.refused && !self.recall
    }

    /// Whether the message waits for a match result.
    fn waits(&self) -> bool {
        !self.is_refused() && (self.recall || (!self.announce && self.length > 0))
    }
}

/// A match result: kind, byte address, number of bytes that are written, id of the receive.
#[derive(Debug, Clone, Copy)]
struct Verdict {
    kind: u32,
    address: u32,
    bytes: u32,
    receive: u16,
}

/// Kinds of match results, as in `hw/common/rtl/nic_types.svh`.
const STORE: u32 = 1;
const DIRECT: u32 = 2;
const REFUSE: u32 = 3;

/// Kinds of write-done tokens, as in `hw/common/rtl/nic_types.svh`.
const COMMAND: u32 = 0;
const STORED: u32 = 1;
const DELIVERED: u32 = 2;

/// Copy of a payload to its receive buffer.
#[derive(Debug, Clone, Copy)]
struct Copy {
    from: u32,
    to: u32,
    bytes: u32,
    receive: u16,
}

/// Cycles that a payload waits for its match result while another beat waits.
const PATIENCE: u64 = 31;

const ME: u32 = 5;

fn x_header(kind: PacketType, last: bool, from: u8, slot: u8) -> u32 {
    ME << 24 | (kind as u32) << 21 | u32::from(last) << 20 | u32::from(from) << 8 | u32::from(slot)
}

fn x_length(last: bool, id: u16, left: u32) -> u32 {
    if last {
        u32::from(id) << 16 | left
    } else {
        left
    }
}

impl Packet {
    /// Header words of the packet on the wire.
    fn heads(self) -> Vec<u32> {
        match self {
            // dpid 8, type 3, length 5, offset 8, destination address 8.
            Packet::Put {
                slot,
                offset,
                words,
            } => {
                let kind = if words == 1 { 0b001 } else { 0b010 };
                vec![
                    ME << 24
                        | kind << 21
                        | (words + 1) << 16
                        | u32::from(offset) << 8
                        | u32::from(slot),
                ]
            }
            // The second word: myid 8, type 3, data length 5, zeros 8, destination address 8.
            Packet::Get {
                slot,
                offset,
                words,
                from,
                answer_slot,
            } => {
                let kind = if words == 1 { 0b001 } else { 0b010 };
                vec![
                    ME << 24 | 0b011 << 21 | 2 << 16 | u32::from(offset) << 8 | u32::from(slot),
                    u32::from(from) << 24 | kind << 21 | words << 16 | u32::from(answer_slot),
                ]
            }
            Packet::XPut {
                slot,
                offset,
                left,
                last,
                from,
                id,
            } => {
                vec![
                    x_header(PacketType::Xput, last, from, slot),
                    offset,
                    x_length(last, id, left),
                ]
            }
            Packet::XGet {
                slot,
                offset,
                left,
                last,
                from,
                id,
                laddr,
            } => {
                vec![
                    x_header(PacketType::Xget, last, from, slot),
                    offset,
                    x_length(last, id, left),
                    laddr,
                ]
            }
            Packet::Fetch {
                announcement,
                offset,
                left,
                last,
                from,
                id,
                laddr,
            } => {
                let header = x_header(PacketType::Xget, last, from, announcement as u8);
                vec![
                    header
                        | x_field::HIGH.put(u32::from(announcement >> 8))
                        | x_field::MESSAGE.put(1),
                    offset,
                    x_length(last, id, left),
                    laddr,
                ]
            }
            Packet::XData {
                laddr,
                bytes,
                last,
                id,
                message,
            } => {
                let flags = message.map_or(0, |status| {
                    x_data::MESSAGE.put(1) | x_data::STATUS.put(status.into())
                });
                vec![
                    x_header(PacketType::Xdata, last, 0, 0) | flags,
                    laddr,
                    u32::from(id) << 16 | bytes,
                ]
            }
            Packet::Old { wide, id, value } => {
                let header = x_header(PacketType::Xdata, true, 0, 0)
                    | x_old::ATOMIC.put(1)
                    | x_old::WIDE.put(wide.into())
                    | x_old::ID.put(id.into());
                let mut heads = vec![header, value as u32];
                if wide {
                    heads.push((value >> 32) as u32);
                }
                heads
            }
            Packet::Atomic {
                slot,
                offset,
                wide,
                code,
                value,
                compare,
                from,
                id,
            } => {
                let compares = code == AtomicOperation::CompareSwap as u32;
                let header = x_header(PacketType::Xget, true, from, slot)
                    | x_atomic::COMPARE.put(compares.into())
                    | x_atomic::ATOMIC.put(1)
                    | x_atomic::WIDE.put(wide.into());
                let operation = x_operation::ID.put(id.into()) | x_operation::OPERATION.put(code);
                let mut heads = vec![header, offset, operation];
                for operand in [value, compare].into_iter().take(1 + usize::from(compares)) {
                    heads.push(operand as u32);
                    heads.extend(wide.then_some((operand >> 32) as u32));
                }
                heads
            }
            Packet::Message(message) => vec![
                ME << 24
                    | (PacketType::Message as u32) << 21
                    | u32::from(message.announce) << 20
                    | u32::from(message.recall) << 19
                    | u32::from(message.source) << 8
                    | u32::from(message.context),
                message.tag,
                message.length,
                message_id::SERIAL.put(message.serial) | message_id::ID.put(message.id.into()),
            ],
            Packet::XAck { status, id } => {
                vec![
                    ME << 24
                        | (PacketType::Xack as u32) << 21
                        | u32::from(status) << 16
                        | u32::from(id),
                ]
            }
        }
    }
}

/// Word of node memory that nobody has written.
fn initial(address: u32) -> u32 {
    address.wrapping_mul(0x9e37_79b1).rotate_left(7)
}

/// A header word as received.
#[derive(Debug, Clone, Copy)]
struct Head {
    word: u32,
    /// The controller is busy in the next cycle.
    busy: bool,
    /// The packet ends with this word, within its header.
    cut: bool,
    /// The packet has no payload, if this is the last word of the header.
    bare: bool,
}

/// A write task, with the fields that have a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Write {
    drop: bool,
    /// The packet has no payload.
    bare: bool,
    words: u32,
    /// Words that are written; `None` for a message that is dropped, where any number does.
    kept: Option<u32>,
    /// First byte and the lane of the last byte; `None` if nothing is written.
    place: Option<(u32, u32)>,
    /// Kind, rank (request plane), status, id.
    note: Option<(u32, u32, u32, u32)>,
}

/// A packet sent as a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Answer {
    heads: Vec<u32>,
    words: u32,
    /// Byte address of word 0 of the payload, if any.
    address: Option<u32>,
}

/// Contents of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Refusal {
    status: u32,
    kind: u32,
    dropped: bool,
}

#[derive(Debug, Clone, Copy)]
struct Ack {
    rank: u8,
    status: u8,
    id: u16,
}

impl Ack {
    fn answer(self) -> Answer {
        let Self { rank, status, id } = self;
        let kind = PacketType::Xack as u32;
        let head = u32::from(rank) << 24 | kind << 21 | u32::from(status) << 16 | u32::from(id);
        Answer {
            heads: vec![head],
            words: 0,
            address: None,
        }
    }
}

struct Bench {
    config: Config,
    rng: Random,
    block: Block,
    windows: Vec<Option<Window>>,
    /// Output of the table: the window looked up last.
    shown: Option<Window>,
    /// Output of the table for a slot without a window.
    stale: u64,
    heads: Source<Head>,
    acks: Source<Ack>,
    writes_sink: Sink,
    heads_sink: Sink,
    tasks_sink: Sink,
    writes: VecDeque<Write>,
    answers: VecDeque<Answer>,
    acked: VecDeque<Answer>,
    refusals: VecDeque<Refusal>,
    /// Number of malformed packets that have not been reported.
    malformed: u64,
    /// Header words of the reply in progress.
    sent: Vec<u32>,
    /// Task of the reply in progress: header words, payload words, address.
    told: Option<(u32, u32, Option<u32>)>,
    count: u64,
    /// Whether extended packets mark their offset as beyond 2^32.
    beyond: bool,
    /// Byte address and length from which those of the announced messages follow.
    announced: (u32, u32),
    /// Id of the announced message that was looked up last.
    looked_up: u16,
    /// Number of this rank.
    rank: u8,
    /// Messages whose arrival is expected.
    messages: VecDeque<Message>,
    arrivals_sink: Sink,
    verdicts: Source<Verdict>,
    /// A message waits for its match result: for how many cycles, and whether it is a recall.
    waiting: Option<(u64, bool)>,
    /// Number of times that a payload had to leave.
    late: u64,
    copies: Source<Copy>,
    copied: VecDeque<Answer>,
    /// Old values of atomic operations: value and id.
    answered: VecDeque<(u64, u16)>,
    answered_sink: Sink,
    /// Node memory by word address, as written by the controller, and as expected.
    memory: HashMap<u32, u32>,
    model: HashMap<u32, u32>,
    reads_sink: Sink,
    written_sink: Sink,
    /// Data of reads in flight, with their cycle.
    flight: VecDeque<(u64, u32)>,
    /// Cycles until all write tasks are done.
    unsettled: u32,
    /// The controller is busy in this cycle.
    busy: bool,
}

impl Bench {
    fn new(config: Config, name: &'static str) -> Self {
        let mut rng = Random::new(name);
        // Sizes at both ends, any rights, and slots without a window.
        let windows = (0..32)
            .map(|slot| {
                let size = match slot % 6 {
                    0 => 0,
                    1 => rng.random_range(1..200),
                    2 => 0xffff_ffff,
                    3 => 4 * rng.random_range(1..200),
                    _ => 1 << 20,
                };
                let (deny_read, deny_write) = (rng.random_bool(0.2), rng.random_bool(0.2));
                let window = Window {
                    base: rng.random::<u32>() & !3,
                    size,
                    deny_read,
                    deny_write,
                };
                rng.random_bool(0.85).then_some(window)
            })
            .collect();
        let rank = rng.random();
        let mut block = Block::start("packet", LANES, config.lane);
        block.set("rank_i", rank);
        Self {
            config,
            rng,
            block,
            windows,
            shown: None,
            stale: 0,
            heads: Source::new(Pace::Always),
            acks: Source::new(Pace::Always),
            writes_sink: Sink::new(Pace::Always),
            heads_sink: Sink::new(Pace::Always),
            tasks_sink: Sink::new(Pace::Always),
            writes: VecDeque::new(),
            answers: VecDeque::new(),
            acked: VecDeque::new(),
            refusals: VecDeque::new(),
            malformed: 0,
            sent: Vec::new(),
            told: None,
            count: 0,
            beyond: false,
            announced: (0, 0),
            looked_up: 0,
            rank,
            messages: VecDeque::new(),
            arrivals_sink: Sink::new(Pace::Always),
            verdicts: Source::new(Pace::Always),
            waiting: None,
            late: 0,
            copies: Source::new(Pace::Always),
            copied: VecDeque::new(),
            answered: VecDeque::new(),
            answered_sink: Sink::new(Pace::Always),
            memory: HashMap::new(),
            model: HashMap::new(),
            reads_sink: Sink::new(Pace::Always),
            written_sink: Sink::new(Pace::Always),
            flight: VecDeque::new(),
            unsettled: 0,
            busy: false,
        }
    }

    /// Announces other messages.
    fn announce(&mut self, address: u32, length: u32) {
        self.announced = (address, length);
    }

    /// Status of an access to bytes `offset .. offset + length` of a window.
    fn check(&self, slot: u8, offset: u32, length: u32, is_read: bool) -> Status {
        let Some(window) = self.windows.get(usize::from(slot)).copied().flatten() else {
            return Status::BadSlot;
        };
        if self.beyond || u64::from(offset) + u64::from(length) > u64::from(window.size) {
            Status::OutOfBounds
        } else if if is_read {
            window.deny_read
        } else {
            window.deny_write
        } {
            Status::Denied
        } else {
            Status::Ok
        }
    }

    fn base(&self, slot: u8) -> u32 {
        self.windows
            .get(usize::from(slot))
            .copied()
            .flatten()
            .map_or(0, |window| window.base)
    }

    fn refuse(&mut self, status: Status, kind: PacketType, dropped: bool) {
        self.refusals.push_back(Refusal {
            status: status as u32,
            kind: kind as u32,
            dropped,
        });
    }

    /// Status of a packet of an extended command whose payload begins in byte lane `lane`. The last
    /// packet must contain all remaining bytes, and other packets must not.
    fn check_piece(&self, found: Status, lane: u32, left: u32, last: bool) -> Status {
        let fits = u64::from(lane) + u64::from(left) <= u64::from(self.config.payload);
        match found {
            Status::Ok | Status::Denied if fits != last => Status::OutOfBounds,
            found => found,
        }
    }

    /// Number of bytes in one packet of an extended command whose payload begins in byte lane
    /// `lane`.
    fn piece(&self, lane: u32, left: u32, last: bool) -> u32 {
        if last {
            left
        } else {
            self.config.payload - lane
        }
    }

    /// Records an XDATA packet as expected: local address at its rank, number of bytes, the id of
    /// its command if it is the last packet, and the byte address of its data.
    fn data(&mut self, to: u8, flags: u32, (laddr, bytes): (u32, u32), id: Option<u16>, from: u32) {
        let words = if bytes == 0 {
            0
        } else {
            (laddr % 4 + bytes).div_ceil(4)
        };
        let header = u32::from(to) << 24 | (PacketType::Xdata as u32) << 21 | flags;
        self.answers.push_back(Answer {
            heads: vec![
                header | u32::from(id.is_some()) << 20,
                laddr,
                u32::from(id.unwrap_or(0)) << 16 | bytes,
            ],
            words,
            address: (words > 0).then_some(from.wrapping_sub(laddr % 4)),
        });
    }

    /// Sends the first header words of a packet. Returns whether the packet has no payload.
    /// With `ends`, the packet may have no more effect once its last word is taken.
    fn heads_of(&mut self, heads: &[u32], count: usize, ends: bool) -> bool {
        let mut bare = false;
        for (at, &word) in heads[..count].iter().enumerate() {
            bare = self.rng.random();
            let cut = at + 1 == count && count < heads.len();
            let last = at + 1 == heads.len();
            let busy = !(cut || (last && ends));
            self.heads.push(Head {
                word,
                busy,
                cut,
                bare,
            });
        }
        bare
    }

    /// Sends a packet that ends within its header, if the header has more than one word.
    fn send_cut(&mut self, packet: Packet) {
        let heads = packet.heads();
        if heads.len() > 1 {
            let count = self.rng.random_range(1..heads.len());
            self.heads_of(&heads, count, true);
            self.malformed += 1;
        }
    }

    /// Sends a packet and records its expected effects.
    fn send(&mut self, packet: Packet) {
        self.count += 1;
        let is_extended = matches!(
            packet,
            Packet::XPut { .. } | Packet::XGet { .. } | Packet::Fetch { .. }
        );
        self.beyond &= is_extended;
        let mut heads = packet.heads();
        heads[0] |= if is_extended {
            x_field::BEYOND.put(u32::from(self.beyond))
        } else {
            0
        };
        let ends = matches!(
            packet,
            Packet::Message(_) | Packet::Old { .. } | Packet::Atomic { .. }
        );
        let bare = self.heads_of(&heads, heads.len(), ends);
        match packet {
            Packet::Put {
                slot,
                offset,
                words,
            } => {
                let status = self.check(slot, 4 * u32::from(offset), 4 * words, false);
                let is_ok = status == Status::Ok;
                let first = self.base(slot).wrapping_add(4 * u32::from(offset));
                self.writes.push_back(Write {
                    drop: !is_ok,
                    bare,
                    words,
                    kept: Some(words),
                    place: is_ok.then_some((first, 3)),
                    note: None,
                });
                if !is_ok {
                    self.refuse(
                        status,
                        if words == 1 {
                            PacketType::Put1
                        } else {
                            PacketType::PutN
                        },
                        true,
                    );
                }
            }
            Packet::Get {
                slot,
                offset,
                words,
                from,
                answer_slot,
            } => {
                let status = self.check(slot, 4 * u32::from(offset), 4 * words, true);
                if status == Status::Ok {
                    // The second header word of the request, with its length incremented.
                    let kind = if words == 1 { 0b001 } else { 0b010 };
                    let head = u32::from(from) << 24
                        | kind << 21
                        | (words + 1) << 16
                        | u32::from(answer_slot);
                    let address = self.base(slot).wrapping_add(4 * u32::from(offset));
                    self.answers.push_back(Answer {
                        heads: vec![head],
                        words,
                        address: Some(address),
                    });
                } else {
                    self.refuse(status, PacketType::Get, true);
                }
            }
            Packet::XPut {
                slot,
                offset,
                left,
                last,
                from,
                id,
            } => {
                let found = self.check(slot, offset, left, false);
                let status = self.check_piece(found, offset % 4, left, last);
                let is_ok = status == Status::Ok;
                let bytes = self.piece(offset % 4, left, last);
                let words = if bytes == 0 {
                    0
                } else {
                    (offset % 4 + bytes).div_ceil(4)
                };
                let first = self.base(slot).wrapping_add(offset);
                let end_lane = offset.wrapping_add(bytes).wrapping_sub(1) % 4;
                let place = (is_ok && bytes > 0).then_some((first, end_lane));
                let note = last.then_some((COMMAND, u32::from(from), status as u32, u32::from(id)));
                self.writes.push_back(Write {
                    drop: !is_ok,
                    bare,
                    words,
                    kept: Some(words),
                    place,
                    note,
                });
                if !is_ok {
                    self.refuse(status, PacketType::Xput, false);
                }
            }
            Packet::XGet {
                slot,
                offset,
                left,
                last,
                from,
                id,
                laddr,
            } => {
                let found = self.check(slot, offset, left, true);
                let status = self.check_piece(found, laddr % 4, left, last);
                if status == Status::Ok {
                    let bytes = self.piece(laddr % 4, left, last);
                    let address = self.base(slot).wrapping_add(offset);
                    self.data(from, 0, (laddr, bytes), last.then_some(id), address);
                } else {
                    self.refuse(status, PacketType::Xget, false);
                    // Only the last packet of a command is acknowledged.
                    if last {
                        self.answers.push_back(
                            Ack {
                                rank: from,
                                status: status as u8,
                                id,
                            }
                            .answer(),
                        );
                    }
                }
            }
            Packet::Fetch {
                announcement,
                offset,
                left,
                last,
                from,
                id,
                laddr,
            } => {
                let (address, length) = self.fetched(announcement);
                let outside = self.beyond || u64::from(offset) + u64::from(left) > length.into();
                let found = if outside {
                    Status::OutOfBounds
                } else {
                    Status::Ok
                };
                let status = self.check_piece(found, laddr % 4, left, last);
                if status != Status::Ok && !last {
                    self.refuse(status, PacketType::Xget, false);
                    return;
                }
                // A refused fetch ends with the packet that reports the refusal.
                let bytes = if status == Status::Ok {
                    self.piece(laddr % 4, left, last)
                } else {
                    0
                };
                let flags = x_data::MESSAGE.put(1) | x_data::STATUS.put(status as u32);
                let address = address.wrapping_add(offset);
                self.data(from, flags, (laddr, bytes), last.then_some(id), address);
            }
            Packet::XData {
                laddr,
                bytes,
                last,
                id,
                message,
            } => {
                let words = if bytes == 0 {
                    0
                } else {
                    (laddr % 4 + bytes).div_ceil(4)
                };
                let place =
                    (bytes > 0).then_some((laddr, laddr.wrapping_add(bytes).wrapping_sub(1) % 4));
                // The status of a message arrives with the last packet of its payload.
                let (kind, status) =
                    message.map_or((COMMAND, 0), |status| (DELIVERED, u32::from(status)));
                let note = last.then_some((kind, 0, status, u32::from(id)));
                self.writes.push_back(Write {
                    drop: false,
                    bare,
                    words,
                    kept: Some(words),
                    place,
                    note,
                });
            }
            Packet::XAck { status, id } => {
                let note = Some((COMMAND, 0, u32::from(status), u32::from(id)));
                self.writes.push_back(Write {
                    drop: true,
                    bare,
                    words: 0,
                    kept: Some(0),
                    place: None,
                    note,
                });
            }
            Packet::Old { wide, id, value } => {
                let value = if wide { value } else { value & 0xffff_ffff };
                self.answered.push_back((value, id));
            }
            Packet::Atomic {
                slot,
                offset,
                wide,
                code,
                value,
                compare,
                from,
                id,
            } => {
                let status = match self.check(slot, offset, if wide { 8 } else { 4 }, true) {
                    Status::Ok => self.check(slot, offset, if wide { 8 } else { 4 }, false),
                    status => status,
                };
                if status != Status::Ok {
                    self.refuse(status, PacketType::Xget, false);
                    let (rank, status) = (from, status as u8);
                    self.answers.push_back(Ack { rank, status, id }.answer());
                    return;
                }
                let first = self.base(slot).wrapping_add(offset) / 4;
                let places = [first, first.wrapping_add(1) & 0x3fff_ffff];
                let [low, high] = places.map(|at| u64::from(self.model_word(at)));
                let old = if wide { high << 32 | low } else { low };
                let new = combined(code, wide, old, value, compare);
                self.model.insert(places[0], new as u32);
                if wide {
                    self.model.insert(places[1], (new >> 32) as u32);
                }
                let header = u32::from(from) << 24
                    | x_old::PTYPE.put(PacketType::Xdata as u32)
                    | x_old::LAST.put(1)
                    | x_old::ATOMIC.put(1)
                    | x_old::WIDE.put(wide.into())
                    | x_old::ID.put(id.into());
                let heads = [header, old as u32, (old >> 32) as u32];
                self.answers.push_back(Answer {
                    heads: heads[..2 + usize::from(wide)].to_vec(),
                    words: 0,
                    address: None,
                });
            }
            Packet::Message(message) => {
                self.messages.push_back(message);
                self.expect_message(message, bare);
            }
        }
    }

    /// Records the write task of a message, if it has one.
    fn expect_message(&mut self, message: Message, bare: bool) {
        let words = if message.announce {
            0
        } else {
            message.length.div_ceil(4)
        };
        let mut write = Write {
            drop: true,
            bare,
            words,
            kept: None,
            place: None,
            note: None,
        };
        let mut note = (COMMAND, message.source.into(), 0, message.id.into());
        let refusal = if message.closed {
            Status::RankReset
        } else {
            Status::NoRoom
        };
        if message.is_refused() {
            note.2 = refusal as u32;
            note.3 |= x_refusal::LINE.put(message.line);
            write.note = Some(note);
        } else if message.waits() {
            let verdict = message.verdict;
            match verdict.kind {
                STORE => note.0 = STORED,
                DIRECT => {
                    note.0 = DELIVERED;
                    note.3 = verdict.receive.into();
                }
                REFUSE => note.2 = refusal as u32,
                _ => {}
            }
            // The receive takes no byte: the payload is dropped in silence.
            write.note = (verdict.kind != 0).then_some(note);
            if matches!(verdict.kind, STORE | DIRECT) {
                write.drop = false;
                write.kept = Some(verdict.bytes.div_ceil(4));
                write.place = (verdict.bytes > 0)
                    .then_some((verdict.address, verdict.bytes.wrapping_sub(1) % 4));
            }
            if verdict.kind == 0 && words == 0 && bare {
                return;
            }
        } else if words == 0 && bare {
            // No payload, and the packet has none.
            return;
        }
        self.writes.push_back(write);
    }

    fn model_word(&self, at: u32) -> u32 {
        self.model.get(&at).copied().unwrap_or_else(|| initial(at))
    }

    fn random_atomic(&mut self) -> Packet {
        let slot = self.slot();
        let wide: bool = self.rng.random();
        let bytes = if wide { 8 } else { 4 };
        let (offset, _) = self.range(slot, 16);
        let offset = if self.rng.random_bool(0.5) {
            offset & !(bytes - 1)
        } else {
            bytes * self.rng.random_range(0..3)
        };
        let first = self.base(slot).wrapping_add(offset) / 4;
        let near = u64::from(self.model_word(first.wrapping_add(1) & 0x3fff_ffff)) << 32
            | u64::from(self.model_word(first));
        let rng = &mut *self.rng;
        let mut value = || match rng.random_range(0..4) {
            0 => near,
            1 => near ^ 1 << rng.random_range(0..64),
            _ => rng.random(),
        };
        let (value, compare) = (value(), value());
        Packet::Atomic {
            slot,
            offset,
            wide,
            code: match rng.random_range(0..3) {
                0 => AtomicOperation::CompareSwap as u32,
                _ => rng.random_range(0..11),
            },
            value,
            compare,
            from: rng.random(),
            id: rng.random(),
        }
    }

    fn random_message(&mut self) -> Message {
        let payload = self.config.payload;
        let rng = &mut *self.rng;
        let recall = rng.random_bool(0.1);
        let announce = recall || rng.random_bool(0.3);
        let length = if announce {
            rng.random()
        } else if rng.random_bool(0.2) {
            0
        } else {
            rng.random_range(1..=payload)
        };
        let bytes = match rng.random_range(0..4) {
            0 => 0,
            1 => rng.random_range(0..=length.min(payload)),
            _ => length.min(payload),
        };
        Message {
            announce,
            recall,
            source: rng.random(),
            context: rng.random(),
            tag: rng.random_range(0..1 << 26),
            serial: rng.random_range(0..1 << 6),
            length,
            id: rng.random(),
            refused: rng.random_bool(0.15),
            line: rng.random_range(0..1 << 5),
            closed: rng.random_bool(0.3),
            verdict: Verdict {
                kind: rng.random_range(0..4),
                address: rng.random(),
                bytes,
                receive: rng.random(),
            },
        }
    }

    /// Requests a copy of a payload from one place in memory to another.
    fn copy(&mut self) {
        let rng = &mut *self.rng;
        let (from, to, receive): (u32, u32, u16) = rng.random();
        let bytes = rng.random_range(0..=self.config.payload - to % 4);
        self.copies.push(Copy {
            from,
            to,
            bytes,
            receive,
        });
        let answers = std::mem::take(&mut self.answers);
        let flags = x_data::MESSAGE.put(1);
        self.data(self.rank, flags, (to, bytes), Some(receive), from);
        self.copied
            .extend(std::mem::replace(&mut self.answers, answers));
    }

    /// Byte address and length of an announced message.
    fn fetched(&self, announcement: u16) -> (u32, u32) {
        let (address, length) = self.announced;
        let step = u32::from(announcement);
        (
            address.wrapping_add(step << 6),
            length.wrapping_add(step & 0x3f),
        )
    }

    /// Delivers an acknowledgement.
    fn acknowledge(&mut self, ack: Ack) {
        self.acks.push(ack);
        self.acked.push_back(ack.answer());
    }

    fn slot(&mut self) -> u8 {
        // Includes slots beyond every table.
        if self.rng.random_bool(0.05) {
            self.rng.random()
        } else {
            self.rng.random_range(0..32)
        }
    }

    /// An offset and a length that are well inside, or at an edge of the slot's window or of 32
    /// bits.
    fn range(&mut self, slot: u8, longest: u32) -> (u32, u32) {
        let size = self
            .windows
            .get(usize::from(slot))
            .copied()
            .flatten()
            .map_or(1000, |window| window.size);
        let length = self.rng.random_range(0..=longest);
        let offset = match self.rng.random_range(0..6) {
            0 => size.wrapping_sub(length),
            1 => size.wrapping_sub(length).wrapping_add(1),
            2 => size,
            3 => 0u32.wrapping_sub(self.rng.random_range(0..=length.max(1))),
            _ => self.rng.random_range(0..=size.saturating_sub(length)),
        };
        (offset, length)
    }

    fn random_packet(&mut self) -> Packet {
        let slot = self.slot();
        let (from, id, last): (u8, u16, bool) = self.rng.random();
        let kind = self
            .rng
            .random_range(0..if self.config.requests { 6 } else { 4 });
        let words = if self.rng.random_bool(0.3) {
            1
        } else {
            self.rng.random_range(1..=30)
        };
        let payload = self.config.payload;
        let laddr: u32 = self.rng.random();
        if kind == 0 {
            let (offset, _) = self.range(slot, 4 * words);
            let offset = if self.rng.random() {
                (offset / 4).min(255) as u8
            } else {
                self.rng.random()
            };
            return Packet::Put {
                slot,
                offset,
                words,
            };
        }
        match (self.config.requests, kind) {
            (true, 4) => Packet::Message(self.random_message()),
            (true, 5) => self.random_atomic(),
            (true, 1) => {
                let (offset, _) = self.range(slot, 4 * words);
                let offset = if self.rng.random() {
                    (offset / 4).min(255) as u8
                } else {
                    self.rng.random()
                };
                Packet::Get {
                    slot,
                    offset,
                    words,
                    from,
                    answer_slot: self.rng.random(),
                }
            }
            (true, kind) => {
                let (offset, mut left) = self.range(slot, payload - 3);
                let lane = if kind == 2 { offset % 4 } else { laddr % 4 };
                if !last {
                    // More than one packet remains, up to the maximum of 32 bits.
                    let (_, more) = self.range(slot, 1 << 20);
                    left = if self.rng.random_bool(0.2) {
                        u32::MAX - (more % 8)
                    } else {
                        payload - lane + 1 + more
                    };
                    // No sender splits a command like this: the packet is full, and all remaining
                    // bytes fit into it.
                    if self.rng.random_bool(0.2) {
                        left = self.rng.random_range(0..=payload - lane);
                    }
                } else if kind == 3 && self.rng.random_bool(0.2) {
                    // The last packet contains more than a packet can; the surplus is often one bit.
                    left = if self.rng.random() {
                        left | 1 << self.rng.random_range(payload.ilog2() + 1..16)
                    } else {
                        self.rng.random_range(payload - lane + 1..1 << 16)
                    };
                }
                if kind == 3 && self.rng.random_bool(0.3) {
                    let announcement = self.rng.random_range(0..1024);
                    let length = self.fetched(announcement).1;
                    let offset = match self.rng.random_range(0..4) {
                        0 => 0,
                        1 => length,
                        2 => length.wrapping_sub(left),
                        _ => self.rng.random_range(0..=length),
                    };
                    Packet::Fetch {
                        announcement,
                        offset,
                        left,
                        last,
                        from,
                        id,
                        laddr,
                    }
                } else if kind == 2 {
                    Packet::XPut {
                        slot,
                        offset,
                        left,
                        last,
                        from,
                        id,
                    }
                } else {
                    Packet::XGet {
                        slot,
                        offset,
                        left,
                        last,
                        from,
                        id,
                        laddr,
                    }
                }
            }
            (false, 1) => Packet::XData {
                laddr,
                bytes: self.rng.random_range(0..=payload - laddr % 4),
                last,
                id: if last { id } else { 0 },
                message: self
                    .rng
                    .random_bool(0.5)
                    .then(|| self.rng.random_range(0..32)),
            },
            (false, 3) => Packet::Old {
                wide: self.rng.random(),
                id,
                value: self.rng.random(),
            },
            _ => Packet::XAck {
                status: self.rng.random_range(0..32),
                id,
            },
        }
    }

    fn cycle(&mut self) {
        let noise: u64 = self.rng.random();
        let head = self.heads.offer(&mut *self.rng).copied();
        let ack = self.acks.offer(&mut *self.rng).copied();
        let copy = self.copies.offer(&mut *self.rng).copied();
        let verdict = self.verdicts.offer(&mut *self.rng).copied();
        let (arrivals_ready, answered_ready) = (
            self.arrivals_sink.ready(&mut *self.rng),
            self.answered_sink.ready(&mut *self.rng),
        );
        let full = noise >> 63 == 1;
        let (reads, written) = (
            self.reads_sink.ready(&mut *self.rng),
            self.written_sink.ready(&mut *self.rng),
        );
        let now = self.block.cycle();
        let is_due = self.flight.front().is_some_and(|(at, _)| *at <= now);
        let landing = is_due.then(|| self.flight.pop_front()).flatten();
        let landing = landing.map(|(_, word)| word);
        let settled = self.unsettled == 0;
        self.unsettled = self.unsettled.saturating_sub(1);
        let message = self.messages.front().copied();
        let (fetch_base, fetch_size) = self.fetched(self.looked_up);
        let block = &mut self.block;
        block.set("fetch_base_i", fetch_base);
        block.set("fetch_size_i", fetch_size);
        block.set("arrival_ready_i", arrivals_ready);
        block.set(
            "arrival_refused_i",
            message.is_some_and(|message| message.refused),
        );
        let line = message.map_or(noise as u32 & 0x1f, |message| message.line);
        block.set("arrival_line_i", line);
        block.set("closed_i", message.is_some_and(|message| message.closed));
        block.set("full_i", full);
        block.set("verdict_valid_i", verdict.is_some());
        let result = verdict.unwrap_or(Verdict {
            kind: noise as u32 & 3,
            address: noise as u32,
            bytes: !noise as u32,
            receive: noise as u16,
        });
        block.set("verdict_i", result.kind);
        block.set("verdict_address_i", result.address);
        block.set("verdict_bytes_i", result.bytes);
        block.set("verdict_receive_i", result.receive);
        block.set("copy_valid_i", copy.is_some());
        let moved = copy.unwrap_or(Copy {
            from: !noise as u32,
            to: noise as u32,
            bytes: noise as u32 & 0xffff,
            receive: noise as u16,
        });
        block.set("copy_from_i", moved.from);
        block.set("copy_to_i", moved.to);
        block.set("copy_bytes_i", moved.bytes);
        block.set("copy_receive_i", moved.receive);
        block.set("answered_ready_i", answered_ready);
        block.set("settled_i", settled);
        block.set("atomic_gnt_i", reads);
        block.set("atomic_rvalid_i", landing.is_some());
        block.set("atomic_data_i", landing.map_or(noise >> 5, u64::from));
        block.set("atomic_written_i", written);
        block.set("head_valid_i", head.is_some());
        block.set("head_i", head.map_or(noise, |head| head.word.into()));
        block.set("head_cut_i", head.map_or(noise & 1 == 1, |head| head.cut));
        block.set("head_bare_i", head.is_some_and(|head| head.bare));
        block.set("ack_valid_i", ack.is_some());
        block.set("ack_rank_i", ack.map_or(noise, |ack| u64::from(ack.rank)));
        block.set(
            "ack_status_i",
            ack.map_or(noise, |ack| u64::from(ack.status)),
        );
        block.set("ack_id_i", ack.map_or(noise, |ack| u64::from(ack.id)));
        let (shown, stale) = (self.shown, self.stale);
        block.set("registered_i", shown.is_some());
        block.set(
            "base_i",
            shown.map_or(stale & !3, |window| u64::from(window.base)),
        );
        block.set(
            "size_i",
            shown.map_or(stale >> 8, |window| u64::from(window.size)),
        );
        let deny = shown.map_or(stale, |window| {
            u64::from(window.deny_read) | u64::from(window.deny_write) << 1
        });
        block.set("deny_i", deny);
        let ready = self.writes_sink.ready(&mut *self.rng);
        let (heads_ready, tasks_ready) = (
            self.heads_sink.ready(&mut *self.rng),
            self.tasks_sink.ready(&mut *self.rng),
        );
        block.set("write_ready_i", ready);
        block.set("reply_head_ready_i", heads_ready);
        block.set("reply_task_ready_i", tasks_ready);
        block.settle();

        let place = format!("cycle {}, {:?}", block.cycle(), self.config);
        if block.is("write_valid_o") && ready {
            let expected = self.writes.pop_front();
            let drop = block.is("write_drop_o");
            let noted = block.is("write_noted_o");
            let words = block.word("write_words_o");
            let kept = block.word("write_kept_o");
            let rank = if self.config.requests {
                block.word("note_rank_o")
            } else {
                0
            };
            let found = Write {
                drop: if kept > 0 {
                    drop
                } else {
                    expected.is_some_and(|write| write.drop)
                },
                bare: block.is("write_bare_o"),
                words,
                kept: expected.and_then(|write| write.kept).map(|_| kept),
                place: (!drop && kept > 0).then(|| {
                    (
                        block.word("write_address_o"),
                        block.word("write_end_lane_o"),
                    )
                }),
                note: noted.then(|| {
                    (
                        block.word("note_kind_o"),
                        rank,
                        block.word("note_status_o"),
                        block.word("note_id_o"),
                    )
                }),
            };
            assert_eq!(Some(found), expected, "{place}");
        }
        if block.is("refused_o") {
            let found = Refusal {
                status: block.word("refused_status_o"),
                kind: block.word("refused_type_o"),
                dropped: block.is("dropped_o"),
            };
            assert_eq!(Some(found), self.refusals.pop_front(), "{place}");
        } else {
            assert!(!block.is("dropped_o"), "{place}");
        }
        if block.is("malformed_o") {
            let left = self.malformed.checked_sub(1);
            self.malformed = left.unwrap_or_else(|| panic!("{place}: no packet is malformed"));
        }
        if block.is("reply_head_valid_o") && heads_ready {
            self.sent.push(block.word("reply_head_o"));
        }
        if block.is("reply_task_valid_o") && tasks_ready {
            let words = block.word("reply_task_words_o");
            let address = (words > 0).then(|| block.word("reply_task_address_o"));
            let heads = block.word("reply_task_heads_o");
            let before = self.told.replace((heads, words, address));
            assert_eq!(before, None, "{place}: a task before the last header word");
        }
        // The task of an atomic operation's answer comes with the first header word.
        let told = self.told.filter(|told| told.0 <= self.sent.len() as u32);
        if let Some((heads, words, address)) = told {
            self.told = None;
            let found = Answer {
                heads: std::mem::take(&mut self.sent),
                words,
                address,
            };
            assert_eq!(heads, found.heads.len() as u32, "{place}: {found:?}");
            // Replies, copies and acknowledgements each keep their order. The order between them is
            // free.
            let queue = if self.answers.front() == Some(&found) {
                &mut self.answers
            } else if self.copied.front() == Some(&found) {
                &mut self.copied
            } else {
                &mut self.acked
            };
            assert_eq!(Some(found), queue.pop_front(), "{place}");
        }
        assert!(!(self.busy && block.is("idle_o")), "{place}: idle");
        // Node memory: the atomic unit waits until all writes are done.
        let (reading, writing) = (block.is("atomic_read_o"), block.is("atomic_write_o"));
        assert!(settled || !(reading || writing), "{place}: writes remain");
        if reading && reads {
            let at = block.word("atomic_read_address_o");
            let word = self.memory.get(&at).copied().unwrap_or_else(|| initial(at));
            let latency = self.rng.random_range(1..4);
            let due = self.flight.back().map_or(0, |&(due, _)| due + 1);
            self.flight.push_back((due.max(now + latency), word));
        }
        if writing && written {
            let at = block.word("atomic_address_o");
            let mask = (0..4)
                .filter(|lane| block.word("atomic_strobe_o") >> lane & 1 == 1)
                .fold(0, |mask, lane| mask | 0xff << (8 * lane));
            let old = self.memory.get(&at).copied().unwrap_or_else(|| initial(at));
            let word = old & !mask | block.word("atomic_data_o") & mask;
            self.memory.insert(at, word);
        }
        if block.is("write_valid_o") && ready && !reading {
            self.unsettled = self.rng.random_range(0..8);
        }
        // The message engine: arrivals, match results and lookups of announced messages.
        if block.is("arrival_valid_o") && arrivals_ready {
            let message = self
                .messages
                .pop_front()
                .unwrap_or_else(|| panic!("{place}: no message"));
            let found = [
                ("arrival_announce_o", u64::from(message.announce)),
                ("arrival_recall_o", u64::from(message.recall)),
                ("arrival_source_o", u64::from(message.source)),
                ("arrival_context_o", u64::from(message.context)),
                ("arrival_tag_o", u64::from(message.tag)),
                ("arrival_serial_o", u64::from(message.serial)),
                ("arrival_length_o", u64::from(message.length)),
                ("arrival_id_o", u64::from(message.id)),
            ];
            for (name, expected) in found {
                assert_eq!(block.get(name), expected, "{place}: {name}");
            }
            if message.waits() {
                self.verdicts.push(message.verdict);
                self.waiting = Some((0, message.recall));
            }
        } else {
            let late = self.waiting.is_some_and(|(cycles, recall)| {
                cycles >= PATIENCE && !recall && (head.is_some() || full)
            });
            assert_eq!(block.is("late_o"), late, "{place}");
            self.late += u64::from(late);
            let taken = block.is("verdict_ready_o");
            assert_eq!(
                taken,
                verdict.is_some() && self.waiting.is_some(),
                "{place}: match result"
            );
            if let Some((cycles, _)) = &mut self.waiting {
                *cycles += 1;
            }
            if self.verdicts.take(taken).is_some() {
                self.waiting = None;
            }
        }
        if block.is("fetch_lookup_o") {
            self.looked_up = block.get("fetch_id_o") as u16;
        }
        if block.is("answered_valid_o") && answered_ready {
            let found = (
                block.get("answered_old_o"),
                block.get("answered_id_o") as u16,
            );
            assert_eq!(Some(found), self.answered.pop_front(), "{place}");
            assert!(block.is("answered_atomic_o"), "{place}");
            assert_eq!(
                block.word("answered_status_o"),
                Status::Ok as u32,
                "{place}"
            );
        }
        // The table answers a cycle later.
        if block.is("lookup_o") {
            let slot = block.get("slot_o") as usize;
            self.stale = noise;
            self.shown = self.windows.get(slot).copied().flatten();
        }
        let (head_ready, ack_ready) = (block.is("head_ready_o"), block.is("ack_ready_o"));
        let copy_ready = block.is("copy_ready_o");
        // Nothing begins before an acknowledgement that waits.
        assert!(
            ack.is_none() || ack_ready || !block.is("idle_o") || !(head_ready || copy_ready),
            "{place}: an acknowledgement waits"
        );
        self.copies.take(copy_ready);
        // Until a packet's effect is seen, its controller is busy.
        self.busy = self.heads.take(head_ready).is_some_and(|head| head.busy);
        self.acks.take(ack_ready);
        block.clock();
    }

    fn finished(&self) -> bool {
        self.heads.is_empty()
            && self.acks.is_empty()
            && self.messages.is_empty()
            && self.waiting.is_none()
            && self.copies.is_empty()
            && self.copied.is_empty()
            && self.answered.is_empty()
            && self.told.is_none()
            && self.writes.is_empty()
            && self.answers.is_empty()
            && self.acked.is_empty()
            && self.refusals.is_empty()
            && self.malformed == 0
    }

    fn drain(&mut self) -> u64 {
        let start = self.block.cycle();
        while !self.finished() {
            let left = (
                self.heads.len(),
                self.writes.len(),
                self.answers.len(),
                self.acked.len(),
            );
            assert!(
                self.block.cycle() < start + 40_000,
                "{:?}: left are {left:?}",
                self.config
            );
            self.cycle();
        }
        let took = self.block.cycle() - start;
        for _ in 0..10 {
            self.cycle();
        }
        for (&at, &word) in &self.memory {
            assert_eq!(word, self.model_word(at), "word {at:#x}");
        }
        for (&at, &word) in &self.model {
            let found = self.memory.get(&at).copied();
            assert_eq!(found.unwrap_or_else(|| initial(at)), word, "word {at:#x}");
        }
        assert!(self.block.is("idle_o"));
        took
    }
}

fn random(config: Config) {
    let mut bench = Bench::new(config, "rma_packet_controller_random");
    let paces = [
        Pace::Always,
        Pace::Chance(0.5),
        Pace::Chance(0.15),
        Pace::Bursts { on: 20, off: 20 },
    ];
    for _ in 0..soak(25) {
        let chosen: [Pace; 11] =
            std::array::from_fn(|_| paces[bench.rng.random_range(0..paces.len())]);
        bench.heads.set_pace(chosen[0]);
        bench.acks.set_pace(chosen[1]);
        bench.writes_sink.set_pace(chosen[2]);
        bench.heads_sink.set_pace(chosen[3]);
        bench.tasks_sink.set_pace(chosen[4]);
        bench.arrivals_sink.set_pace(chosen[5]);
        // Now and then longer than a payload may wait.
        bench.verdicts.set_pace(match chosen[6] {
            Pace::Bursts { .. } => Pace::Chance(0.03),
            pace => pace,
        });
        bench.copies.set_pace(chosen[7]);
        bench.answered_sink.set_pace(chosen[8]);
        bench.reads_sink.set_pace(chosen[9]);
        bench.written_sink.set_pace(chosen[10]);
        let address = bench.rng.random::<u32>() & !3;
        let length = match bench.rng.random_range(0..6) {
            0 => 0,
            1 => 60,
            2 => 5_000,
            _ => 1 << bench.rng.random_range(6..32),
        };
        bench.announce(address, length);
        for _ in 0..60 {
            if bench.rng.random_bool(0.1) {
                let packet = bench.random_packet();
                bench.send_cut(packet);
            }
            let packet = bench.random_packet();
            bench.beyond = bench.rng.random_bool(0.1);
            bench.send(packet);
            if config.requests && bench.rng.random_bool(0.2) {
                bench.copy();
            }
            if config.requests && bench.rng.random_bool(0.4) {
                let ack = Ack {
                    rank: bench.rng.random(),
                    status: bench.rng.random_range(0..32),
                    id: bench.rng.random(),
                };
                bench.acknowledge(ack);
            }
        }
        bench.drain();
    }
    assert!(bench.count >= 1_500);
    assert!(!config.requests || bench.late > 10, "{} late", bench.late);
}

/// The window check at each of its edges.
fn edges(config: Config) {
    let mut bench = Bench::new(config, "rma_packet_controller_edges");
    let window = |size| Window {
        base: 0x100,
        size,
        deny_read: false,
        deny_write: false,
    };
    let sizes = [
        0,
        1,
        3,
        4,
        5,
        120,
        124,
        1024,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_fffc,
        0xffff_ffff,
    ];
    for (slot, size) in sizes.into_iter().enumerate() {
        bench.windows[slot] = Some(window(size));
        let slot = slot as u8;
        for words in [1, 2, 29, 30] {
            for word_offset in [size / 4, 0, 1, 255]
                .into_iter()
                .chain((size / 4).checked_sub(words))
            {
                for offset in [
                    word_offset.saturating_sub(1),
                    word_offset,
                    word_offset.saturating_add(1),
                ] {
                    let offset = offset.min(255) as u8;
                    bench.send(Packet::Put {
                        slot,
                        offset,
                        words,
                    });
                    if config.requests {
                        bench.send(Packet::Get {
                            slot,
                            offset,
                            words,
                            from: 1,
                            answer_slot: 2,
                        });
                    }
                }
            }
        }
        if config.requests {
            let around = |at: u32| [at.wrapping_sub(1), at, at.wrapping_add(1)];
            for length in [0, 1, 2, 3, 4, 5, 60] {
                for offset in around(size.wrapping_sub(length))
                    .into_iter()
                    .chain(around(0))
                    .chain(around(size))
                {
                    bench.send(Packet::XPut {
                        slot,
                        offset,
                        left: length,
                        last: true,
                        from: 1,
                        id: 7,
                    });
                    bench.send(Packet::XGet {
                        slot,
                        offset,
                        left: length,
                        last: true,
                        from: 1,
                        id: 8,
                        laddr: 3,
                    });
                }
            }
            // The sum of offset and length exceeds 32 bits and would wrap to a small number.
            for length in [1 << 16, 1 << 31, u32::MAX - 1, u32::MAX] {
                for offset in around(size.wrapping_sub(length))
                    .into_iter()
                    .chain(around(0u32.wrapping_sub(length)))
                {
                    bench.send(Packet::XPut {
                        slot,
                        offset,
                        left: length,
                        last: false,
                        from: 1,
                        id: 7,
                    });
                    bench.send(Packet::XGet {
                        slot,
                        offset,
                        left: length,
                        last: false,
                        from: 1,
                        id: 8,
                        laddr: 3,
                    });
                }
            }
        }
        bench.drain();
    }
    bench.beyond = false;
    // Around a full packet, as the last packet and not, from each lane.
    bench.windows[0] = Some(window(1 << 20));
    bench.announce(0x400, 1 << 20);
    if config.requests {
        // A packet that is not the last, of a command of any length.
        bench.windows[1] = Some(window(u32::MAX));
        for bit in config.payload.ilog2() + 1..32 {
            bench.send(Packet::XGet {
                slot: 1,
                offset: 0,
                left: 1 << bit | 60,
                last: false,
                from: 1,
                id: 8,
                laddr: 0,
            });
        }
        // A last packet that would hold more than a packet can.
        for bit in config.payload.ilog2() + 1..16 {
            bench.send(Packet::XGet {
                slot: 0,
                offset: 0,
                left: 1 << bit | 60,
                last: true,
                from: 1,
                id: 8,
                laddr: 0,
            });
        }
        bench.drain();
        for lane in 0..4 {
            for left in config.payload - 8..config.payload + 8 {
                for last in [false, true] {
                    // The other address has another lane.
                    let (near, far) = (0x40 + lane, 0x80 + (lane + 1) % 4);
                    bench.send(Packet::XPut {
                        slot: 0,
                        offset: near,
                        left,
                        last,
                        from: 1,
                        id: 7,
                    });
                    bench.send(Packet::XGet {
                        slot: 0,
                        offset: far,
                        left,
                        last,
                        from: 1,
                        id: 8,
                        laddr: near,
                    });
                    bench.send(Packet::Fetch {
                        announcement: 1023,
                        offset: far,
                        left,
                        last,
                        from: 1,
                        id: 9,
                        laddr: near,
                    });
                }
            }
            bench.drain();
        }
    }
    // Rights, one by one and combined.
    for (slot, (deny_read, deny_write)) in [(true, false), (false, true), (true, true)]
        .into_iter()
        .enumerate()
    {
        bench.windows[slot] = Some(Window {
            base: 0x40,
            size: 64,
            deny_read,
            deny_write,
        });
        let slot = slot as u8;
        for words in [16, 17] {
            bench.send(Packet::Put {
                slot,
                offset: 0,
                words,
            });
            if config.requests {
                bench.send(Packet::Get {
                    slot,
                    offset: 0,
                    words,
                    from: 1,
                    answer_slot: 2,
                });
                for last in [false, true] {
                    let (left, from) = (if last { 60 } else { 4_000 }, 1);
                    bench.send(Packet::XPut {
                        slot,
                        offset: 0,
                        left,
                        last,
                        from,
                        id: 7,
                    });
                    bench.send(Packet::XGet {
                        slot,
                        offset: 0,
                        left,
                        last,
                        from,
                        id: 8,
                        laddr: 1,
                    });
                }
            }
        }
        bench.drain();
    }
    // Slots without a window, and slots that do not exist.
    for slot in [31, 32, 128, 255] {
        if let Some(window) = bench.windows.get_mut(slot) {
            *window = None;
        }
        let slot = slot as u8;
        bench.send(Packet::Put {
            slot,
            offset: 0,
            words: 1,
        });
        if config.requests {
            bench.send(Packet::XPut {
                slot,
                offset: 0,
                left: 0,
                last: true,
                from: 1,
                id: 9,
            });
            bench.send(Packet::XGet {
                slot,
                offset: 0,
                left: 0,
                last: true,
                from: 1,
                id: 9,
                laddr: 0,
            });
        }
        bench.drain();
    }
}

/// Cycles of each kind of packet in a continuous sequence.
fn rate(config: Config) {
    let mut bench = Bench::new(config, "rma_packet_controller_rate");
    bench.windows[0] = Some(Window {
        base: 0,
        size: 4096,
        deny_read: false,
        deny_write: false,
    });
    let (slot, offset, from, id, last) = (0, 4, 1, 1, true);
    let put = Packet::Put {
        slot,
        offset: 1,
        words: 3,
    };
    let kinds: Vec<(Packet, u64)> = if config.requests {
        vec![
            (put, 2),
            (
                Packet::Get {
                    slot,
                    offset: 1,
                    words: 3,
                    from,
                    answer_slot: 0,
                },
                3,
            ),
            (
                Packet::XPut {
                    slot,
                    offset,
                    left: 8,
                    last,
                    from,
                    id,
                },
                4,
            ),
            (
                Packet::XGet {
                    slot,
                    offset,
                    left: 8,
                    last,
                    from,
                    id,
                    laddr: 5,
                },
                8,
            ),
        ]
    } else {
        vec![
            (put, 2),
            (
                Packet::XData {
                    laddr: 5,
                    bytes: 9,
                    last,
                    id,
                    message: None,
                },
                4,
            ),
            (Packet::XAck { status: 1, id }, 2),
        ]
    };
    for (packet, cycles) in kinds {
        for _ in 0..20 {
            bench.send(packet);
        }
        assert_eq!(bench.drain(), 20 * cycles, "{packet:?}");
    }
    if config.requests {
        for id in 0..20 {
            bench.acknowledge(Ack {
                rank: 3,
                status: 0,
                id,
            });
        }
        assert_eq!(bench.drain(), 20, "an acknowledgement a cycle");
    }
}

#[test]
fn rma_packet_controller_random() {
    CONFIGS.into_iter().for_each(random);
}

#[test]
fn rma_packet_controller_edges() {
    CONFIGS.into_iter().for_each(edges);
}

#[test]
fn rma_packet_controller_rate() {
    CONFIGS.into_iter().for_each(rate);
}
