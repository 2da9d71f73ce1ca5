//! The request plane's receive side with its atomic unit and its unit for accumulates: random packets
//! of atomic operations, accumulates, puts, gets and messages, in memory that answers at any time. After each
//! atomic operation, memory and answer are compared with a model that carries out one packet after the other.
//! The bench is the message engine, too.

use std::collections::VecDeque;

use alcor_abi::packets::{
    get_header1, get_header2, message, message_id, put_header, x_accumulate, x_ack, x_atomic,
    x_data, x_header, x_length, x_old, x_operation, x_reduction, x_refusal,
};
use alcor_abi::{AccumulateOperation, AtomicOperation, Datatype, PacketType, Status};
use alcor_hw_bench::{Answers, Pace, Random, Recipe, Sink, Source, soak};
use rand::Rng;
use rand::seq::IndexedRandom;

use crate::rma::{Block, End};

const LANES: usize = 3;
/// Words of a beat of each instance.
const BEATS: [usize; LANES] = [1, 8, 1];
/// The instance without a unit for accumulates.
const UNABLE: usize = 2;
/// Payload words of a packet.
const LONGEST: u32 = 16;
const ME: u32 = 5;
const MEMORY: u32 = 1024;

#[derive(Debug, Clone, Copy)]
struct Window {
    base: u32,
    size: u32,
    deny_read: bool,
    deny_write: bool,
}

#[derive(Debug, Clone)]
enum Packet {
    Atomic {
        slot: u8,
        offset: u32,
        is_wide: bool,
        /// An undefined code leaves the word unchanged.
        code: u32,
        value: u64,
        compare: u64,
        from: u8,
        id: u16,
        /// The packet ends after this number of header words.
        cut: Option<usize>,
    },
    Put {
        slot: u8,
        offset: u32,
        data: Vec<u8>,
        from: u8,
        id: u16,
    },
    Accumulate {
        slot: u8,
        offset: u32,
        data: Vec<u8>,
        /// Codes of operation and type, of which some do not exist.
        operation: u32,
        datatype: u32,
        /// Bytes of the command behind this packet: not its last one, unless zero.
        more: u32,
        /// Local address of the old elements at the origin.
        fetch: Option<u32>,
        from: u8,
        id: u16,
    },
    /// A PUT-1 or PUT-N of the paper. It has no answer.
    Paper {
        slot: u8,
        offset: u8,
        data: Vec<u8>,
        /// In wide beats: the only word of data is in the beat of the header.
        joined: bool,
    },
    /// A GET of the paper, and the second header word.
    PaperGet { slot: u8, offset: u8, answer: u32 },
    Get {
        slot: u8,
        offset: u32,
        length: u32,
        /// The offset has passed 2³².
        beyond: bool,
        /// Local address at the origin, up to its place in a word.
        address: u32,
        from: u8,
        id: u16,
    },
    Message {
        announce: bool,
        context: u8,
        tag: u32,
        serial: u32,
        from: u8,
        id: u16,
        data: Vec<u8>,
        fate: Fate,
        /// More payload than the header says.
        surplus: bool,
    },
}

/// What the message engine decides.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// The message is refused, while the rank is being reset or not.
    Refused {
        closed: bool,
        /// Number of sources whose messages the engine refuses.
        line: u32,
    },
    Nothing,
    Store {
        address: u32,
    },
    Direct {
        address: u32,
        kept: u32,
        receive: u16,
    },
}

/// A message that the engine must see.
#[derive(Debug)]
struct Arrival {
    announce: bool,
    matching: u64,
    serial: u32,
    id: u16,
    length: u32,
    refused: bool,
    /// Number of sources whose messages the engine refuses.
    line: u32,
    closed: bool,
    /// Kind, receive, address and bytes.
    verdict: Option<[u32; 4]>,
}

/// What the engine must be told once a number of bytes is written.
#[derive(Debug)]
struct Note {
    /// Status and receive of a payload in its receive buffer; none of one in its fragment.
    delivered: Option<(u32, u32)>,
    bytes: u64,
}

/// Malformed packets of one kind at a time, so that no two are reported in one cycle.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Malformed {
    /// Operations that end within their headers.
    Cut,
    /// Payload of packets that have none.
    Surplus,
    /// Messages with too much payload.
    Message,
    /// Puts and accumulates that are damaged: their last beat holds no data.
    Damaged,
}

/// Payload words of data that begins at any byte of a word.
fn laid_out(offset: u32, data: &[u8]) -> Vec<u32> {
    if data.is_empty() {
        return Vec::new();
    }
    let mut bytes = vec![0; (offset % 4) as usize];
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|word| u32::from_le_bytes(*word)).collect()
}

impl Packet {
    /// Header words, and payload words.
    fn words(&self) -> (Vec<u32>, Vec<u32>) {
        let halves = |value: u64, is_wide: bool| {
            let both = [value as u32, (value >> 32) as u32];
            both[..1 + usize::from(is_wide)].to_vec()
        };
        match self {
            Packet::Atomic {
                slot,
                offset,
                is_wide,
                code,
                value,
                compare,
                from,
                id,
                ..
            } => {
                let compares = *code == AtomicOperation::CompareSwap as u32;
                let head = x_atomic::DPID.put(ME)
                    | x_atomic::PTYPE.put(PacketType::Xget as u32)
                    | x_atomic::LAST.put(1)
                    | x_atomic::COMPARE.put(u32::from(compares))
                    | x_atomic::ATOMIC.put(1)
                    | x_atomic::WIDE.put(u32::from(*is_wide))
                    | x_atomic::SRC.put(u32::from(*from))
                    | x_atomic::SLOT.put(u32::from(*slot));
                let operation =
                    x_operation::ID.put(u32::from(*id)) | x_operation::OPERATION.put(*code);
                let mut words = vec![head, *offset, operation];
                words.extend(halves(*value, *is_wide));
                if compares {
                    words.extend(halves(*compare, *is_wide));
                }
                (words, Vec::new())
            }
            Packet::Put {
                slot,
                offset,
                data,
                from,
                id,
            } => {
                let head = x_header::DPID.put(ME)
                    | x_header::PTYPE.put(PacketType::Xput as u32)
                    | x_header::LAST.put(1)
                    | x_header::SRC.put(u32::from(*from))
                    | x_header::SLOT.put(u32::from(*slot));
                let length =
                    x_length::ID.put(u32::from(*id)) | x_length::LENGTH.put(data.len() as u32);
                (vec![head, *offset, length], laid_out(*offset, data))
            }
            Packet::Accumulate {
                slot,
                offset,
                data,
                operation,
                datatype,
                more,
                fetch,
                from,
                id,
            } => {
                let is_last = *more == 0;
                let head = x_accumulate::DPID.put(ME)
                    | x_accumulate::PTYPE.put(PacketType::Xput as u32)
                    | x_accumulate::LAST.put(u32::from(is_last))
                    | x_accumulate::ACCUMULATE.put(1)
                    | x_accumulate::FETCH.put(u32::from(fetch.is_some()))
                    | x_accumulate::SRC.put(u32::from(*from))
                    | x_accumulate::SLOT.put(u32::from(*slot));
                let left = data.len() as u32 + more;
                let id = if is_last { u32::from(*id) } else { 0 };
                let length = x_length::ID.put(id) | left;
                let reduction =
                    x_reduction::OPERATION.put(*operation) | x_reduction::DATATYPE.put(*datatype);
                let mut words = vec![head, *offset, length, reduction];
                words.extend(fetch);
                (words, laid_out(*offset, data))
            }
            Packet::Paper {
                slot,
                offset,
                data,
                joined,
            } => {
                let kind = match data.len() {
                    4 => PacketType::Put1,
                    _ => PacketType::PutN,
                };
                let mut words = vec![
                    put_header::DPID.put(ME)
                        | put_header::PTYPE.put(kind as u32)
                        | put_header::LENGTH.put(1 + data.len() as u32 / 4)
                        | put_header::OFFSET.put(u32::from(*offset))
                        | put_header::SLOT.put(u32::from(*slot)),
                ];
                let mut payload = laid_out(0, data);
                if *joined {
                    words.append(&mut payload);
                }
                (words, payload)
            }
            Packet::PaperGet {
                slot,
                offset,
                answer,
            } => {
                let head = get_header1::DPID.put(ME)
                    | get_header1::PTYPE.put(PacketType::Get as u32)
                    | get_header1::LENGTH.put(2)
                    | get_header1::OFFSET.put(u32::from(*offset))
                    | get_header1::SLOT.put(u32::from(*slot));
                (vec![head, *answer], Vec::new())
            }
            Packet::Get {
                slot,
                offset,
                length,
                beyond,
                address,
                from,
                id,
            } => {
                let head = x_header::DPID.put(ME)
                    | x_header::PTYPE.put(PacketType::Xget as u32)
                    | x_header::LAST.put(1)
                    | x_header::BEYOND.put(u32::from(*beyond))
                    | x_header::SRC.put(u32::from(*from))
                    | x_header::SLOT.put(u32::from(*slot));
                let length = x_length::ID.put(u32::from(*id)) | length;
                (vec![head, *offset, length, *address], Vec::new())
            }
            Packet::Message {
                announce,
                context,
                tag,
                serial,
                from,
                id,
                data,
                ..
            } => {
                let head = message::DPID.put(ME)
                    | message::PTYPE.put(PacketType::Message as u32)
                    | message::ANNOUNCE.put(u32::from(*announce))
                    | message::SRC.put(u32::from(*from))
                    | message::CONTEXT.put(u32::from(*context));
                let id = message_id::SERIAL.put(*serial) | message_id::ID.put(u32::from(*id));
                let words = vec![head, *tag, data.len() as u32, id];
                let payload = if *announce { &[][..] } else { data };
                (words, laid_out(0, payload))
            }
        }
    }
}

/// The word after an operation, computed with the numbers' own types.
pub(crate) fn combined(code: u32, is_wide: bool, old: u64, value: u64, compare: u64) -> u64 {
    let Some(operation) = AtomicOperation::from_bits(code) else {
        return old;
    };
    let mask = if is_wide {
        u64::MAX
    } else {
        u64::from(u32::MAX)
    };
    let (value, compare) = (value & mask, compare & mask);
    let signed = |bits: u64| {
        if is_wide {
            bits as i64
        } else {
            i64::from(bits as u32 as i32)
        }
    };
    let chosen = |takes_value: bool| if takes_value { value } else { old };
    mask & match operation {
        AtomicOperation::Swap => value,
        AtomicOperation::CompareSwap => chosen(old == compare),
        AtomicOperation::Add => old.wrapping_add(value),
        AtomicOperation::And => old & value,
        AtomicOperation::Or => old | value,
        AtomicOperation::Xor => old ^ value,
        AtomicOperation::Min => chosen(signed(value) < signed(old)),
        AtomicOperation::Max => chosen(signed(value) > signed(old)),
        AtomicOperation::MinUnsigned => chosen(value < old),
        AtomicOperation::MaxUnsigned => chosen(value > old),
    }
}

/// An element after an accumulate, computed with the numbers' own types. An operation that the type does
/// not have gives zero.
fn accumulated(operation: u32, datatype: u32, old: u64, new: u64) -> u64 {
    use AccumulateOperation::{Band, Bor, Bxor, Max, Min, None, Prod, Replace, Sum};
    let Some(operation) = AccumulateOperation::from_bits(operation) else {
        return 0;
    };
    macro_rules! integers {
        ($signed:ty, $unsigned:ty) => {{
            let (a, b) = (old as $signed, new as $signed);
            let result = match operation {
                Sum => a.wrapping_add(b),
                Prod => a.wrapping_mul(b),
                Min => a.min(b),
                Max => a.max(b),
                Band => a & b,
                Bor => a | b,
                Bxor => a ^ b,
                Replace => b,
                None => a,
            };
            u64::from(result as $unsigned)
        }};
    }
    macro_rules! floats {
        ($float:ty, $bits:ty, $nan:expr) => {{
            let (a, b) = (
                <$float>::from_bits(old as $bits),
                <$float>::from_bits(new as $bits),
            );
            let orders = a < b || (a == b && a.is_sign_negative());
            let result = match operation {
                Replace => return u64::from(new as $bits),
                None => return u64::from(old as $bits),
                Sum => a + b,
                Prod => a * b,
                Min if !a.is_nan() && !b.is_nan() => [b, a][usize::from(orders)],
                Max if !a.is_nan() && !b.is_nan() => [a, b][usize::from(orders)],
                Min | Max => <$float>::NAN,
                Band | Bor | Bxor => return 0,
            };
            u64::from(if result.is_nan() {
                $nan
            } else {
                result.to_bits()
            })
        }};
    }
    match Datatype::from_bits(datatype) {
        Some(Datatype::F64) => floats!(f64, u64, 0x7ff8 << 48),
        Some(Datatype::F32) => floats!(f32, u32, 0x7fc0 << 16),
        Some(Datatype::I64) => integers!(i64, u64),
        Some(Datatype::U64) => integers!(u64, u64),
        Some(Datatype::I32) => integers!(i32, u32),
        Some(Datatype::U32) => integers!(u32, u32),
        _ => match operation {
            Replace => u64::from(new as u32),
            None => u64::from(old as u32),
            _ => 0,
        },
    }
}

fn has_64_bits(datatype: u32) -> bool {
    use Datatype::{F64, I64, U64};
    matches!(Datatype::from_bits(datatype), Some(F64 | I64 | U64))
}

/// Expected answers; for the answer of an operation, also the memory at that time. For an answer with the data of
/// a get, the number of words of it: later packets may change them before they are read.
type Expected = (Vec<u32>, Option<Vec<u8>>, usize);

struct Bench {
    lane: usize,
    rng: Random,
    block: Block,
    windows: Vec<Option<Window>>,
    shown: Option<Window>,
    beats: Source<([u32; 8], End)>,
    /// Address of the memory's first byte. No other address has memory.
    origin: u32,
    /// Memory written by the block, and memory written by the model.
    memory: Vec<u8>,
    model: Vec<u8>,
    flight: Answers<u32>,
    reads: Sink,
    writes: Sink,
    heads: Sink,
    tasks: Sink,
    /// Answers of operations, and acknowledgements of puts.
    answers: VecDeque<Expected>,
    /// With the number of bytes that are written by then.
    acks: VecDeque<(Vec<u32>, u64)>,
    sent: Vec<u32>,
    /// Packets of the reply plane by their tasks: header words, payload words and their address.
    told: VecDeque<(usize, u32, u32)>,
    /// Payload words of the packet in progress that are to be read.
    replying: u32,
    payload: Vec<u32>,
    /// Chance that the reply plane reads a word in a cycle.
    reply_chance: f64,
    refusals: u64,
    malformed: u64,
    packets: u64,
    /// Cycles of header words of answers.
    times: Vec<u64>,
    /// Cycles of writes.
    written: Vec<u64>,
    /// Bytes that the packets so far write, and bytes that the block has written.
    bytes_due: u64,
    bytes_written: u64,
    /// Messages that have not come to the engine, a verdict that it offers, and notes for it.
    arrivals: VecDeque<Arrival>,
    arrival_pace: Sink,
    verdict: Option<[u32; 4]>,
    notes: VecDeque<Note>,
    /// Memory that messages may be written to.
    buffers: Vec<(u32, u32)>,
    /// Acknowledgements of the engine: rank, status and id.
    engine_acks: Source<[u32; 3]>,
    engine_acked: VecDeque<u32>,
    /// The chance that `hold_i` changes in a cycle, and its value. A packet is under way.
    hold_chance: f64,
    holds: bool,
    in_packet: bool,
    /// A beat was offered in the last cycle, and not taken.
    waits: bool,
    kind: Malformed,
}

impl Bench {
    fn new(lane: usize, name: &'static str) -> Self {
        let recipe = Recipe::new("rma-atomic", "rma_atomic_bench")
            .blocks(&["abi", "common", "match", "nic", "alpu", "fp", "rma"])
            .source("rma/bench/rma_atomic_bench.sv");
        let mut rng = Random::new(name);
        let origin = rng.random::<u32>() / MEMORY * MEMORY;
        let windows = (0..12u32)
            .map(|slot| {
                let base = 4 * rng.random_range(0..MEMORY / 8);
                let size = match slot % 4 {
                    0 => rng.random_range(0..20),
                    _ => rng.random_range(1..=MEMORY - base),
                };
                let window = Window {
                    base: origin + base,
                    size,
                    deny_read: slot == 9,
                    deny_write: slot == 10,
                };
                (slot != 11).then_some(window)
            })
            .collect();
        let memory: Vec<u8> = (0..MEMORY).map(|_| rng.random()).collect();
        Self {
            lane,
            rng,
            block: Block::of(&recipe, "target", LANES, lane),
            windows,
            shown: None,
            beats: Source::new(Pace::Always),
            origin,
            model: memory.clone(),
            memory,
            flight: Answers::new(1),
            reads: Sink::new(Pace::Always),
            writes: Sink::new(Pace::Always),
            heads: Sink::new(Pace::Always),
            tasks: Sink::new(Pace::Always),
            answers: VecDeque::new(),
            acks: VecDeque::new(),
            sent: Vec::new(),
            told: VecDeque::new(),
            replying: 0,
            payload: Vec::new(),
            reply_chance: 0.4,
            refusals: 0,
            malformed: 0,
            packets: 0,
            times: Vec::new(),
            written: Vec::new(),
            bytes_due: 0,
            bytes_written: 0,
            arrivals: VecDeque::new(),
            arrival_pace: Sink::new(Pace::Always),
            verdict: None,
            notes: VecDeque::new(),
            buffers: Vec::new(),
            engine_acks: Source::new(Pace::Always),
            engine_acked: VecDeque::new(),
            hold_chance: 0.0,
            holds: false,
            in_packet: false,
            waits: false,
            kind: Malformed::Cut,
        }
    }

    /// Moves memory and windows to other addresses. Nothing may be under way.
    fn relocate(&mut self) {
        let origin = self.rng.random::<u32>() / MEMORY * MEMORY;
        for window in self.windows.iter_mut().flatten() {
            window.base = window.base.wrapping_sub(self.origin).wrapping_add(origin);
        }
        self.origin = origin;
        self.shown = None;
        self.buffers.clear();
    }

    fn window(&self, slot: u8) -> Option<Window> {
        self.windows.get(usize::from(slot)).copied().flatten()
    }

    /// Address of an access that writes and may read, or the reason of its refusal.
    fn check(&self, slot: u8, offset: u32, length: u32, reads: bool) -> Result<usize, Status> {
        self.check_access(slot, offset, length, reads, true)
    }

    fn check_access(
        &self,
        slot: u8,
        offset: u32,
        length: u32,
        reads: bool,
        writes: bool,
    ) -> Result<usize, Status> {
        let window = self.window(slot).ok_or(Status::BadSlot)?;
        if u64::from(offset) + u64::from(length) > u64::from(window.size) {
            return Err(Status::OutOfBounds);
        }
        if (writes && window.deny_write) || (reads && window.deny_read) {
            return Err(Status::Denied);
        }
        Ok((window.base - self.origin + offset) as usize)
    }

    /// Carries an accumulate out in the model, word by word. Returns the old words.
    fn accumulate(&mut self, at: usize, data: &[u8], operation: u32, datatype: u32) -> Vec<u32> {
        if data.is_empty() {
            return Vec::new();
        }
        let payload = laid_out(at as u32, data);
        let first = at / 4 * 4;
        let size = if has_64_bits(datatype) { 2 } else { 1 };
        let mut bytes = Vec::new();
        let mut olds = Vec::new();
        for (index, element) in payload.chunks(size).enumerate() {
            let place = first + 4 * size * index;
            let old: Vec<u32> = (0..element.len())
                .map(|word| {
                    let at = place + 4 * word;
                    u32::from_le_bytes(self.model[at..at + 4].try_into().expect("a word"))
                })
                .collect();
            let whole = |words: &[u32]| {
                let high = words.get(1).copied().unwrap_or_default();
                u64::from(high) << 32 | u64::from(words[0])
            };
            let result = accumulated(operation, datatype, whole(&old), whole(element));
            bytes.extend(&result.to_le_bytes()[..4 * element.len()]);
            olds.extend(old);
        }
        if AccumulateOperation::from_bits(operation) != Some(AccumulateOperation::None) {
            self.model[at..at + data.len()].copy_from_slice(&bytes[at - first..][..data.len()]);
            self.bytes_due += data.len() as u64;
        }
        olds
    }

    /// Sends a packet, and carries it out in the model.
    fn send(&mut self, packet: &Packet) {
        let (mut heads, payload) = packet.words();
        let ack = |status: Status, from: u8, id: u16| {
            x_ack::DPID.put(u32::from(from))
                | x_ack::PTYPE.put(PacketType::Xack as u32)
                | x_ack::STATUS.put(status as u32)
                | x_ack::ID.put(u32::from(id))
        };
        self.packets += 1;
        let width = BEATS[self.lane];
        // Bytes of data in front of the last beat of a damaged packet. No element lies in two beats.
        let mut came = None;
        if self.kind == Malformed::Damaged && self.rng.random_bool(0.3) {
            let before = |lane: u32| {
                let words = (payload.len().max(1) - 1) / width * width;
                (4 * words).saturating_sub(lane as usize)
            };
            came = match packet {
                Packet::Put { offset, .. } => Some(before(offset % 4)),
                &Packet::Accumulate {
                    offset,
                    datatype,
                    fetch: None,
                    ..
                } if width > 1
                    || [Datatype::U32, Datatype::I32, Datatype::F32]
                        .map(|narrow| narrow as u32)
                        .contains(&datatype) =>
                {
                    Some(before(offset % 4))
                }
                _ => None,
            };
            came = came.filter(|_| !payload.is_empty());
        }
        self.malformed += u64::from(came.is_some());
        // Status of a packet that is not refused. Payload that is too long ends with its last beat, or is cut off.
        let whole = if came.is_some() {
            Status::Damaged
        } else {
            Status::Ok
        };
        let is_cut = came.is_some() || self.rng.random();
        match packet {
            Packet::Atomic {
                cut: Some(words), ..
            } => {
                heads.truncate(*words);
                self.malformed += 1;
            }
            &Packet::Atomic {
                slot,
                offset,
                is_wide,
                code,
                value,
                compare,
                from,
                id,
                cut: None,
            } => {
                let bytes = if is_wide { 8 } else { 4 };
                let answer = match self.check(slot, offset, bytes, true) {
                    Err(status) => {
                        self.refusals += 1;
                        vec![ack(status, from, id)]
                    }
                    Ok(at) => {
                        let word = &mut self.model[at..at + bytes as usize];
                        let mut old = [0; 8];
                        old[..word.len()].copy_from_slice(word);
                        let old = u64::from_le_bytes(old);
                        let new = combined(code, is_wide, old, value, compare);
                        let writes = match AtomicOperation::from_bits(code) {
                            Some(AtomicOperation::CompareSwap) => {
                                let mask = if is_wide {
                                    u64::MAX
                                } else {
                                    u64::from(u32::MAX)
                                };
                                old == compare & mask
                            }
                            _ => true,
                        };
                        self.bytes_due += if writes { u64::from(bytes) } else { 0 };
                        word.copy_from_slice(&new.to_le_bytes()[..bytes as usize]);
                        let head = x_old::DPID.put(u32::from(from))
                            | x_old::PTYPE.put(PacketType::Xdata as u32)
                            | x_old::LAST.put(1)
                            | x_old::ATOMIC.put(1)
                            | x_old::WIDE.put(u32::from(is_wide))
                            | x_old::ID.put(u32::from(id));
                        let both = [head, old as u32, (old >> 32) as u32];
                        both[..2 + usize::from(is_wide)].to_vec()
                    }
                };
                self.answers
                    .push_back((answer, Some(self.model.clone()), 0));
            }
            Packet::Put {
                slot,
                offset,
                data,
                from,
                id,
            } => {
                let status = match self.check(*slot, *offset, data.len() as u32, false) {
                    Err(status) => {
                        self.refusals += 1;
                        status
                    }
                    Ok(at) => {
                        self.write(at, &data[..came.unwrap_or(data.len())]);
                        whole
                    }
                };
                let ack = vec![ack(status, *from, *id)];
                self.acks.push_back((ack, self.bytes_due));
            }
            Packet::Accumulate {
                slot,
                offset,
                data,
                operation,
                datatype,
                more,
                fetch,
                from,
                id,
            } => {
                let length = data.len() as u32 + more;
                let checked = self.check(*slot, *offset, length, true);
                let able = checked.and_then(|at| match self.lane {
                    UNABLE => Err(Status::BadOperation),
                    _ => Ok(at),
                });
                let status = match able {
                    Err(status) => {
                        self.refusals += 1;
                        status
                    }
                    Ok(at) => {
                        let data = &data[..came.unwrap_or(data.len())];
                        let old = self.accumulate(at, data, *operation, *datatype);
                        if let Some(address) = fetch {
                            let head = x_data::DPID.put(u32::from(*from))
                                | x_data::PTYPE.put(PacketType::Xdata as u32);
                            let mut answer = vec![head, *address, data.len() as u32];
                            answer.extend(old);
                            self.answers.push_back((answer, None, 0));
                        }
                        whole
                    }
                };
                if *more == 0 {
                    let ack = vec![ack(status, *from, *id)];
                    self.acks.push_back((ack, self.bytes_due));
                }
            }
            Packet::Paper {
                slot, offset, data, ..
            } => match self.check(*slot, 4 * u32::from(*offset), data.len() as u32, false) {
                Err(_) => self.refusals += 1,
                Ok(at) => self.write(at, data),
            },
            Packet::PaperGet {
                slot,
                offset,
                answer,
            } => {
                let words = get_header2::LENGTH.get(*answer);
                let offset = 4 * u32::from(*offset);
                match self.check_access(*slot, offset, 4 * words, true, false) {
                    Err(_) => self.refusals += 1,
                    Ok(_) => {
                        // The answer counts its header word.
                        let head = answer & !get_header2::LENGTH.mask()
                            | get_header2::LENGTH.put(words + 1);
                        self.answers.push_back((vec![head], None, words as usize));
                    }
                }
            }
            Packet::Get {
                slot,
                offset,
                length,
                beyond,
                address,
                from,
                id,
            } => match self.check_access(*slot, *offset, *length, true, false) {
                Ok(_) | Err(Status::Denied) if *beyond => {
                    self.refusals += 1;
                    let refusal = vec![ack(Status::OutOfBounds, *from, *id)];
                    self.answers.push_back((refusal, None, 0));
                }
                Err(status) => {
                    self.refusals += 1;
                    self.answers
                        .push_back((vec![ack(status, *from, *id)], None, 0));
                }
                Ok(_) => {
                    let head = x_data::DPID.put(u32::from(*from))
                        | x_data::PTYPE.put(PacketType::Xdata as u32)
                        | x_data::LAST.put(1);
                    let length_word = x_length::ID.put(u32::from(*id)) | length;
                    let words = match *length {
                        0 => 0,
                        length => (address % 4 + length).div_ceil(4),
                    };
                    let heads = vec![head, *address, length_word];
                    self.answers.push_back((heads, None, words as usize));
                }
            },
            Packet::Message {
                announce,
                context,
                tag,
                serial,
                from,
                id,
                data,
                fate,
                surplus,
            } => {
                let length = data.len() as u32;
                let waits = !announce && length > 0;
                let verdict = match *fate {
                    _ if !waits => None,
                    Fate::Refused { .. } => None,
                    Fate::Nothing => Some([0, self.rng.random(), self.rng.random(), 0]),
                    Fate::Store { address } => Some([1, self.rng.random(), address, length]),
                    Fate::Direct {
                        address,
                        kept,
                        receive,
                    } => Some([2, receive.into(), address, kept]),
                };
                let (refused, closed, line) = match *fate {
                    Fate::Refused { closed, line } => (true, closed, line),
                    _ => (false, self.rng.random(), self.rng.random_range(0..1 << 5)),
                };
                self.arrivals.push_back(Arrival {
                    announce: *announce,
                    matching: u64::from(*from) << 34
                        | u64::from(*context) << 26
                        | u64::from(*tag & ((1 << 26) - 1)),
                    serial: *serial,
                    id: *id,
                    length,
                    refused,
                    line,
                    closed,
                    verdict,
                });
                self.malformed += u64::from(*surplus);
                match *fate {
                    Fate::Refused { closed, line } => {
                        let status = if closed {
                            Status::RankReset
                        } else {
                            Status::NoRoom
                        };
                        let line = x_refusal::LINE.put(line);
                        let ack = vec![ack(status, *from, *id) | line];
                        self.acks.push_back((ack, self.bytes_due));
                    }
                    Fate::Store { address } if waits => {
                        self.buffers.push((address, length));
                        self.write((address - self.origin) as usize, data);
                        self.notes.push_back(Note {
                            delivered: None,
                            bytes: self.bytes_due,
                        });
                    }
                    Fate::Direct {
                        address,
                        kept,
                        receive,
                    } if waits => {
                        self.buffers.push((address, kept));
                        self.write((address - self.origin) as usize, &data[..kept as usize]);
                        let status = match surplus {
                            true if is_cut => Status::Damaged as u32,
                            true => Status::BadLength as u32,
                            false => 0,
                        };
                        self.notes.push_back(Note {
                            delivered: Some((status, receive.into())),
                            bytes: self.bytes_due,
                        });
                    }
                    _ => {}
                }
            }
        }
        let surplus = match packet {
            Packet::Message { surplus, .. } => usize::from(*surplus),
            Packet::Atomic { cut: None, .. } | Packet::Get { .. } | Packet::PaperGet { .. }
                if self.kind == Malformed::Surplus && self.rng.random_bool(0.1) =>
            {
                self.malformed += 1;
                self.rng.random_range(1..4)
            }
            _ => 0,
        };
        let noise: [u32; 8] = self.rng.random();
        let mut words = Vec::new();
        if width == 1 {
            words.extend(heads.into_iter().chain(payload).map(|word| vec![word]));
        } else {
            words.push(heads);
            words.extend(payload.chunks(width).map(<[u32]>::to_vec));
        }
        words.resize(words.len() + surplus, Vec::new());
        let is_wrong = came.is_some() || surplus > 0;
        let last = if is_wrong && is_cut {
            End::Cut
        } else {
            End::Last
        };
        let count = words.len();
        for (index, words) in words.into_iter().enumerate() {
            let mut beat = noise;
            beat[..words.len()].copy_from_slice(&words);
            let end = if index + 1 == count { last } else { End::No };
            self.beats.push((beat, end));
        }
    }

    /// Writes data in the model.
    fn write(&mut self, at: usize, data: &[u8]) {
        self.model[at..at + data.len()].copy_from_slice(data);
        self.bytes_due += data.len() as u64;
    }

    fn random(&mut self) -> Packet {
        let slot = self.rng.random_range(0..13);
        let size = self.window(slot).map_or(40, |window| window.size);
        let (from, id): (u8, u16) = self.rng.random();
        // Ids of the engine's acknowledgements have this bit.
        let id = id & !(1 << 14);
        match self.rng.random_range(0..12) {
            0 | 1 => return self.random_message(from, id | 1 << 15),
            2 => return self.random_paper(slot, size),
            3 => {
                let offset = self.rng.random_range(0..=size);
                let length = self.rng.random_range(0..=4 * LONGEST - 4);
                return Packet::Get {
                    slot,
                    offset,
                    length,
                    beyond: self.rng.random_bool(0.1),
                    address: self.rng.random::<u32>() & !3 | offset & 3,
                    from,
                    id: id & !(1 << 15),
                };
            }
            _ => {}
        }
        if self.rng.random_bool(0.3) {
            let length = self.rng.random_range(1..=50);
            return Packet::Put {
                slot,
                offset: self.rng.random_range(0..size.max(1)),
                data: (0..length).map(|_| self.rng.random()).collect(),
                from,
                id: id | 1 << 15,
            };
        }
        if self.rng.random_bool(0.5) {
            return self.random_accumulate(slot, size, from, id | 1 << 15);
        }
        let is_wide = self.rng.random();
        let bytes = if is_wide { 8 } else { 4 };
        let offset = match self.rng.random_range(0..8) {
            0 => 0,
            1 => size / bytes * bytes,
            2 => (size / bytes * bytes).saturating_sub(bytes),
            3 => self.rng.random::<u32>() / bytes * bytes,
            _ => self.rng.random_range(0..=size) / bytes * bytes,
        };
        let near = self.check(slot, offset, bytes, true).map_or(0, |at| {
            let mut word = [0; 8];
            word[..bytes as usize].copy_from_slice(&self.model[at..at + bytes as usize]);
            u64::from_le_bytes(word)
        });
        // Values near the word, with the same and with another sign, and any values.
        let mut value = || match self.rng.random_range(0..6) {
            0 => near,
            1 => near ^ 1 << self.rng.random_range(0..64),
            2 => !near,
            3 => near
                .wrapping_add(self.rng.random_range(0..3))
                .wrapping_sub(1),
            _ => self.rng.random(),
        };
        let (value, compare) = (value(), value());
        let code = match self.rng.random_range(0..40) {
            0 => self.rng.random_range(10..16),
            1..13 => AtomicOperation::CompareSwap as u32,
            _ => *AtomicOperation::ALL
                .choose(&mut *self.rng)
                .expect("operations") as u32,
        };
        let mut packet = Packet::Atomic {
            slot,
            offset,
            is_wide,
            code,
            value,
            compare,
            from,
            id: id & !(1 << 15),
            cut: None,
        };
        let words = packet.words().0.len();
        // A beat of several words holds the whole header.
        if BEATS[self.lane] == 1
            && self.kind == Malformed::Cut
            && self.rng.random_bool(0.08)
            && let Packet::Atomic { cut, .. } = &mut packet
        {
            *cut = Some(self.rng.random_range(1..words));
        }
        packet
    }

    fn random_paper(&mut self, slot: u8, size: u32) -> Packet {
        let offset = self.rng.random_range(0..=size / 4).min(255) as u8;
        if self.rng.random_bool(0.4) {
            // Any rank, type, slot: the word becomes the answer's header.
            let kind = [PacketType::Put1, PacketType::PutN][self.rng.random_range(0..2)];
            let answer = self.rng.random::<u32>()
                & !(get_header2::LENGTH.mask() | get_header2::PTYPE.mask())
                | get_header2::PTYPE.put(kind as u32)
                | get_header2::LENGTH.put(self.rng.random_range(1..=LONGEST));
            return Packet::PaperGet {
                slot,
                offset,
                answer,
            };
        }
        let words = match self.rng.random_range(0..2) {
            0 => 1,
            _ => self.rng.random_range(2..=LONGEST),
        };
        let data: Vec<u8> = (0..4 * words).map(|_| self.rng.random()).collect();
        Packet::Paper {
            slot,
            offset,
            joined: words == 1 && self.rng.random(),
            data,
        }
    }

    fn random_message(&mut self, from: u8, id: u16) -> Packet {
        let length = match self.rng.random_range(0..6) {
            0 => 0,
            _ => self.rng.random_range(1..=4 * LONGEST),
        };
        let data: Vec<u8> = (0..length).map(|_| self.rng.random()).collect();
        let place = self.rng.random_range(0..(MEMORY - 4 * LONGEST) / 4);
        let address = self.origin + 4 * place;
        let fate = match self.rng.random_range(0..5) {
            0 => Fate::Refused {
                closed: self.rng.random(),
                // Bit 14 of an id tells acknowledgements of the engine from others.
                line: self.rng.random_range(0..1 << 4),
            },
            1 => Fate::Nothing,
            2 => Fate::Store { address },
            _ => Fate::Direct {
                address,
                kept: self.rng.random_range(0..=length),
                receive: self.rng.random(),
            },
        };
        Packet::Message {
            announce: self.rng.random_bool(0.3),
            context: self.rng.random(),
            tag: self.rng.random(),
            serial: self.rng.random_range(0..1 << 6),
            from,
            id,
            data,
            fate,
            surplus: self.kind == Malformed::Message && self.rng.random_bool(0.2),
        }
    }

    fn random_accumulate(&mut self, slot: u8, size: u32, from: u8, id: u16) -> Packet {
        let datatype = if self.rng.random_bool(0.05) {
            self.rng.random_range(6..8)
        } else {
            self.rng.random_range(0..6)
        };
        let operation = if self.rng.random_bool(0.05) {
            self.rng.random_range(0..16)
        } else {
            *AccumulateOperation::ALL
                .choose(&mut *self.rng)
                .expect("operations") as u32
        };
        let element = if has_64_bits(datatype) { 8 } else { 4 };
        let mut offset = self.rng.random_range(0..=size) / element * element;
        let mut length = element * self.rng.random_range(0..=4 * LONGEST / element);
        let mut more = 0;
        // Packets that no library sends: elements across beats, bytes of elements, half an element. In wide
        // beats, the upper half of such an element is any word.
        if self.rng.random_bool(0.1) && (element == 4 || BEATS[self.lane] == 1) {
            offset = self.rng.random_range(0..=size);
            length = self.rng.random_range(0..=4 * LONGEST - offset % 4);
        } else if self.rng.random_bool(0.2) {
            length = 4 * LONGEST;
            more = element * self.rng.random_range(1..20);
        }
        // Small numbers as well as any bits.
        let is_small = self.rng.random_bool(0.5);
        let mut data = Vec::new();
        while data.len() < length as usize {
            let small = f64::from(self.rng.random_range(-8i32..8));
            let bits = match Datatype::from_bits(datatype) {
                Some(Datatype::F64) if is_small => small.to_bits(),
                Some(Datatype::F32) if is_small => u64::from((small as f32).to_bits()),
                _ => self.rng.random(),
            };
            data.extend(&bits.to_le_bytes()[..element as usize]);
        }
        data.truncate(length as usize);
        let fetch = self
            .rng
            .random_bool(0.4)
            .then(|| 4 * self.rng.random_range(0..1 << 20));
        Packet::Accumulate {
            slot,
            offset,
            data,
            operation,
            datatype,
            more,
            // Old elements are fetched in whole words.
            fetch: fetch.filter(|_| offset % 4 == 0 && length % 4 == 0),
            from,
            id,
        }
    }

    fn cycle(&mut self) {
        let width = BEATS[self.lane];
        let noise: u64 = self.rng.random();
        let offer = self.beats.offer(&mut *self.rng).copied();
        self.block.set("in_valid_i", offer.is_some());
        let end = offer.map_or(End::noise(noise), |(_, end)| end);
        self.block.set("in_last_i", end.is_last());
        self.block.set("in_cut_i", end.is_cut());
        self.holds ^= self.rng.random_bool(self.hold_chance);
        self.holds &= self.hold_chance > 0.0;
        let holds = self.holds;
        self.block.set("hold_i", holds);
        self.drive_engine();
        let landing = self.flight.due();
        self.block.set("read_rvalid_i", landing.is_some());
        for part in 0..8 {
            let data = offer.map_or(noise as u32, |(beat, _)| beat[part]);
            self.block.set_part("in_data_i", part, 8, data);
            let data = landing
                .filter(|_| part < width)
                .map_or(noise as u32, |address| {
                    self.word(address.wrapping_add(part as u32))
                });
            self.block.set_part("read_data_i", part, 8, data);
        }
        let window = self.shown;
        let hidden = Window {
            base: noise as u32 & !3,
            size: (noise >> 32) as u32,
            deny_read: false,
            deny_write: false,
        };
        let shown = window.unwrap_or(hidden);
        self.block.set("registered_i", window.is_some());
        self.block
            .set("base_i", if window.is_some() { shown.base } else { 64 });
        self.block
            .set("size_i", if window.is_some() { shown.size } else { 64 });
        let deny = u64::from(shown.deny_write) << 1 | u64::from(shown.deny_read);
        self.block.set("deny_i", deny);
        let (reads, writes) = (
            self.reads.ready(&mut *self.rng),
            self.writes.ready(&mut *self.rng),
        );
        // The reply plane takes a packet when it has read the data of the one before.
        let idle = self.replying == 0;
        let (heads, tasks) = (
            self.heads.ready(&mut *self.rng) && idle,
            self.tasks.ready(&mut *self.rng) && idle,
        );
        self.block.set("read_gnt_i", reads);
        self.block.set("write_gnt_i", writes);
        self.block.set("head_ready_i", heads);
        self.block.set("task_ready_i", tasks);
        // The reply plane reads a word at a time.
        if self.replying != 0 && self.rng.random_bool(self.reply_chance) {
            let &(_, words, address) = self.told.front().expect("a task");
            let at = address / 4 + words - self.replying;
            self.payload.push(self.word(at));
            self.replying -= 1;
            if self.replying == 0 {
                let place = format!("cycle {}", self.block.cycle());
                self.answer(&place);
            }
        }
        self.block.set("replied_i", self.told.is_empty());
        self.block.settle();
        let place = format!("cycle {}", self.block.cycle());

        self.watch_engine(&place);
        if self.block.is("read_o") && reads {
            let address = self.block.word("read_address_o");
            self.flight.grant(address, &mut *self.rng);
        }
        if self.block.is("lookup_o") {
            let slot = self.block.word("slot_o");
            self.shown = self.window(slot as u8);
        }
        if self.block.is("write_o") && writes {
            self.written.push(self.block.cycle());
            let address = self.block.word("write_address_o").wrapping_mul(4);
            let strobe = self.block.word("write_strobe_o");
            for lane in (0..4 * width as u32).filter(|lane| strobe >> lane & 1 == 1) {
                let at = address.wrapping_add(lane);
                self.bytes_written += 1;
                let covered = self.windows.iter().flatten().any(|window| {
                    !window.deny_write && at >= window.base && at - window.base < window.size
                });
                let covered = covered
                    || self
                        .buffers
                        .iter()
                        .any(|&(address, length)| at.wrapping_sub(address) < length);
                assert!(covered, "{place}: a write to {at:#x}, in no window");
                let word = self.block.get_part("write_data_o", lane as usize / 4, 8) as u32;
                self.memory[(at - self.origin) as usize] = (word >> (8 * (lane % 4))) as u8;
            }
        }
        if self.block.is("task_valid_o") && tasks {
            let heads = self.block.word("task_heads_o") as usize;
            let words = self.block.word("task_words_o");
            assert!(self.told.is_empty(), "{place}: replies one by one");
            self.replying = words;
            let address = self.block.word("task_address_o");
            self.told.push_back((heads, words, address));
        }
        if self.block.is("head_valid_o") && heads {
            self.times.push(self.block.cycle());
            self.sent.push(self.block.word("head_o"));
            self.answer(&place);
        }
        self.refusals -= u64::from(self.block.is("refused_o"));
        self.malformed -= u64::from(self.block.is("malformed_o"));
        let ready = self.block.is("in_ready_o");
        // A beat that waits for the Head FIFO is let in.
        let is_let_in = !holds || self.in_packet || self.waits;
        assert!(is_let_in || !ready, "{place}: a packet is let in");
        self.waits = offer.is_some() && is_let_in && !ready;
        if let Some((_, end)) = self.beats.take(ready) {
            self.in_packet = !end.is_last();
        }
        self.block.clock();
    }

    /// Drives what the message engine answers.
    fn drive_engine(&mut self) {
        let noise: u64 = self.rng.random();
        let ready = self.arrival_pace.ready(&mut *self.rng);
        let (refused, closed, line) = match self.arrivals.front() {
            Some(arrival) => (arrival.refused, arrival.closed, arrival.line),
            None => (noise & 1 == 1, noise & 2 == 2, noise as u32 >> 2 & 0x1f),
        };
        self.block.set("arrival_ready_i", ready);
        self.block.set("arrival_refused_i", refused);
        self.block.set("arrival_line_i", line);
        self.block.set("closed_i", closed);
        let verdict = self.verdict.filter(|_| noise >> 8 & 3 != 0);
        let [kind, receive, address, bytes] = verdict.unwrap_or([noise as u32; 4]);
        self.block.set("verdict_valid_i", verdict.is_some());
        self.block.set("verdict_i", kind & 3);
        self.block.set("verdict_receive_i", receive & 0xffff);
        self.block.set("verdict_address_i", address);
        self.block.set("verdict_bytes_i", bytes);
        let ack = self.engine_acks.offer(&mut *self.rng).copied();
        let [rank, status, id] = ack.unwrap_or([noise as u32 & 0xff, 0, 0]);
        self.block.set("ack_valid_i", ack.is_some());
        self.block.set(
            "ack_i",
            u64::from(rank) << 21 | u64::from(status) << 16 | u64::from(id),
        );
    }

    /// Compares what comes to the message engine.
    fn watch_engine(&mut self, place: &str) {
        let taken = self.block.is("ack_ready_o");
        if let Some([rank, status, id]) = self.engine_acks.take(taken) {
            self.engine_acked.push_back(
                x_ack::DPID.put(rank)
                    | x_ack::PTYPE.put(PacketType::Xack as u32)
                    | x_ack::STATUS.put(status)
                    | x_ack::ID.put(id),
            );
        }
        if self.block.is("verdict_ready_o") && self.block.is("verdict_valid_i") {
            self.verdict = None;
        }
        if self.block.is("arrival_valid_o") {
            let arrival = self.arrivals.front().expect("a message was sent");
            let expected = (
                u64::from(arrival.announce),
                arrival.matching,
                arrival.serial,
                arrival.id.into(),
                arrival.length,
            );
            let found = (
                self.block.get("arrival_kind_o"),
                self.block.get("arrival_match_o"),
                self.block.word("arrival_serial_o"),
                self.block.word("arrival_id_o"),
                self.block.word("arrival_length_o"),
            );
            assert_eq!(found, expected, "{place}: a message");
            if self.block.is("arrival_ready_i") {
                let arrival = self.arrivals.pop_front().expect("a message");
                self.verdict = arrival.verdict;
            }
        }
        let delivered = self.block.is("delivered_o").then(|| {
            (
                self.block.word("delivered_status_o"),
                self.block.word("delivered_receive_o"),
            )
        });
        if self.block.is("stored_o") || delivered.is_some() {
            assert!(!self.block.is("stored_o") || delivered.is_none(), "{place}");
            let note = self.notes.pop_front();
            let note = note.unwrap_or_else(|| panic!("{place}: a note of nothing"));
            assert_eq!(delivered, note.delivered, "{place}: a payload");
            assert!(
                self.bytes_written >= note.bytes,
                "{place}: a note too early"
            );
        }
    }

    /// Compares a packet of the reply plane once it is whole.
    fn answer(&mut self, place: &str) {
        let Some(&(heads, ..)) = self.told.front() else {
            return;
        };
        if self.sent.len() < heads || self.replying != 0 {
            return;
        }
        self.told.pop_front();
        let mut sent = std::mem::take(&mut self.sent);
        sent.append(&mut self.payload);
        // Also of an accumulate.
        let is_ack = PacketType::from_bits(x_ack::PTYPE.get(sent[0])) == Some(PacketType::Xack);
        let id = x_ack::ID.get(sent[0]);
        if is_ack && id >> 14 == 3 {
            let expected = self.engine_acked.pop_front();
            assert_eq!(Some(sent), expected.map(|ack| vec![ack]), "{place}");
            return;
        }
        if is_ack && id >> 15 == 1 {
            let (expected, bytes) = self.acks.pop_front().expect("an acknowledgement is due");
            assert!(
                self.bytes_written >= bytes,
                "{place}: an acknowledgement before the data is written"
            );
            assert_eq!(sent, expected, "{place}: acknowledgement of a put");
            return;
        }
        let (expected, memory, unread) = self.answers.pop_front().expect("an answer is due");
        assert_eq!(
            sent.len(),
            expected.len() + unread,
            "{place}: words of the answer"
        );
        sent.truncate(expected.len());
        assert_eq!(
            sent, expected,
            "{place}: answer, {sent:x?}, not {expected:x?}"
        );
        // The data of all earlier packets is in memory, and no data of later packets.
        let is_refusal = sent.len() == 1;
        if let Some(memory) = memory.filter(|_| !is_refusal) {
            let differs = memory.iter().zip(&self.memory).position(|(a, b)| a != b);
            assert_eq!(
                differs, None,
                "{place}: memory with the answer of an operation"
            );
        }
    }

    /// A word of memory; where there is none, any value.
    fn word(&self, address: u32) -> u32 {
        let at = address.wrapping_mul(4).wrapping_sub(self.origin) as usize;
        let word = self.memory.get(at..).and_then(<[u8]>::first_chunk);
        word.map_or(!address, |word| u32::from_le_bytes(*word))
    }

    fn is_done(&mut self) -> bool {
        self.beats.is_empty()
            && self.answers.is_empty()
            && self.acks.is_empty()
            && self.arrivals.is_empty()
            && self.verdict.is_none()
            && self.notes.is_empty()
            && self.engine_acks.is_empty()
            && self.engine_acked.is_empty()
            && self.told.is_empty()
            && self.block.is("idle_o")
    }

    fn drain(&mut self) {
        let mut patience = 20_000;
        while !self.is_done() {
            self.cycle();
            patience -= 1;
            assert!(
                patience > 0,
                "packets remain: {} answers, {} acknowledgements, {:?}, {:?}, {:?}",
                self.answers.len(),
                self.acks.len(),
                self.arrivals.front(),
                self.verdict,
                self.notes.front()
            );
        }
        // Pulses of the last packet.
        for _ in 0..4 {
            self.cycle();
        }
        assert_eq!(self.memory, self.model, "memory after all packets");
        assert_eq!(
            (self.refusals, self.malformed),
            (0, 0),
            "refusals and malformed packets not reported"
        );
        assert_eq!(self.bytes_written, self.bytes_due, "bytes written");
    }
}

#[test]
fn rma_atomic_random() {
    for lane in 0..LANES {
        let mut bench = Bench::new(lane, "rma_atomic_random");
        let paces = [
            Pace::Always,
            Pace::Chance(0.5),
            Pace::Chance(0.15),
            Pace::Bursts { on: 6, off: 12 },
        ];
        for round in 0..soak(90) {
            let mut pace = || *paces.choose(&mut *bench.rng).expect("paces");
            let chosen = [(); 7].map(|()| pace());
            bench.beats.set_pace(chosen[0]);
            bench.reads = Sink::new(chosen[1]);
            bench.writes = Sink::new(chosen[2]);
            bench.heads = Sink::new(chosen[3]);
            bench.tasks = Sink::new(chosen[4]);
            bench.arrival_pace = Sink::new(chosen[5]);
            bench.engine_acks.set_pace(chosen[6]);
            bench.hold_chance = [0.0, 0.1][round as usize / 3 % 2];
            bench.kind = [
                Malformed::Cut,
                Malformed::Surplus,
                Malformed::Message,
                Malformed::Damaged,
            ][bench.rng.random_range(0..4)];
            bench.flight.set_latency(match round % 3 {
                0 => 1..=1,
                1 => 5..=5,
                _ => 1..=40,
            });
            bench.relocate();
            for _ in 0..60 {
                let packet = bench.random();
                bench.send(&packet);
                if bench.rng.random_bool(0.3) {
                    let status = bench.rng.random_range(0..32);
                    let id = 3 << 14 | bench.rng.random::<u32>() & 0x3fff;
                    let rank = bench.rng.random::<u8>().into();
                    bench.engine_acks.push([rank, status, id]);
                }
            }
            bench.drain();
        }
        assert!(bench.packets >= 5400, "{} packets", bench.packets);
    }
}

/// A packet of an operation at each time: cycles from its first beat to its answer's words.
#[test]
fn rma_atomic_latency() {
    for (lane, is_wide, expected) in [(0, false, 5), (0, true, 8), (1, false, 5), (1, true, 7)] {
        let mut bench = Bench::new(lane, "rma_atomic_latency");
        bench.windows[1] = Some(Window {
            base: bench.origin + 64,
            size: 64,
            deny_read: false,
            deny_write: false,
        });
        bench.send(&Packet::Atomic {
            slot: 1,
            offset: 8,
            is_wide,
            code: AtomicOperation::Add as u32,
            value: 1,
            compare: 0,
            from: 3,
            id: 4,
            cut: None,
        });
        let begin = bench.block.cycle();
        bench.drain();
        // The first beat is in the Head FIFO's output a cycle after it came.
        let last = bench.times.last().expect("an answer") - begin - 1;
        assert_eq!(last, expected, "lane {lane}, 64 bits: {is_wide}");
    }
}

/// One accumulate at a time: cycles from its first beat to its last write and to its acknowledgement.
#[test]
fn rma_accumulate_latency() {
    let (f64, u32) = (Datatype::F64 as u32, Datatype::U32 as u32);
    let rows = [
        (0, u32, 1, false),
        (0, f64, 2, false),
        (0, u32, 16, false),
        // No type of 32 bits is combined in pairs.
        (0, Datatype::I32 as u32, 16, false),
        (0, Datatype::F32 as u32, 16, false),
        (0, f64, 16, false),
        (0, u32, 1, true),
        (1, f64, 8, false),
        (1, f64, 16, false),
    ];
    let mut found = Vec::new();
    for (lane, datatype, words, fetches) in rows {
        let mut bench = Bench::new(lane, "rma_accumulate_latency");
        bench.reply_chance = 1.0;
        bench.windows[1] = Some(Window {
            base: bench.origin + 64,
            size: 64,
            deny_read: false,
            deny_write: false,
        });
        bench.send(&Packet::Accumulate {
            slot: 1,
            offset: 0,
            data: vec![0; 4 * words],
            operation: AccumulateOperation::Sum as u32,
            datatype,
            more: 0,
            fetch: fetches.then_some(0),
            from: 3,
            id: 4 | 1 << 15,
        });
        let begin = bench.block.cycle();
        bench.drain();
        let last = |times: &[u64]| times.last().expect("a cycle") - begin - 1;
        found.push((last(&bench.written), last(&bench.times)));
    }
    let expected = [
        (13, 15),
        (15, 17),
        (28, 30),
        (28, 30),
        (28, 30),
        (29, 31),
        (19, 21),
        (13, 15),
        (14, 16),
    ];
    assert_eq!(
        found, expected,
        "cycles to the last write and to the acknowledgement"
    );
}
