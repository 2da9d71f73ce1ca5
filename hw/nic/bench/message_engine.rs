//! `message_engine` against MPI's matching rules. The bench plays the coprocessor: messages arrive,
//! payloads wait for their match results and are written in that order, and the bench
//! copies, fetches, and accepts completions and acknowledgements, all at random paces.
//!
//! The engine begins one item at a time, so the model can follow: a command takes effect when it
//! is accepted, a message when its search begins. With a match store, searches overlap, and the order
//! of the beginnings is the order within each queue pair. A message holds an entry from its arrival
//! on. The entries of a pair are free from the cycle in which its acknowledgement appears.
//!
//! Some sources of the random benches number their messages and send those again that are refused,
//! as the protocol of the serial numbers demands. Another source has any numbers.

use std::collections::{BTreeMap, VecDeque};

use alcor_abi::packets::{cq_message, x_header, x_length, x_tag};
use alcor_abi::{PacketType, Status, rank};
use alcor_hw_bench::{Dut, Pace, Pin, Random, Recipe, Sink, Source, soak};
use rand::Rng;
use rand::seq::IndexedRandom;

/// Maximum number of messages in flight directly into receive buffers, without a fragment; also of
/// copies and fetches.
/// Registers of matches, by the queue and by the finder.
const MATCHES: [u32; 4] = [
    rank::POSTED_BY_UNIT,
    rank::POSTED_BY_WALK,
    rank::UNEXPECTED_BY_UNIT,
    rank::UNEXPECTED_BY_WALK,
];
const UNDER_WAY: usize = 8;
/// Threshold at which the unit is never used, and quota without effect.
const NEVER: u32 = 0xffff;

#[derive(Debug, Clone, Copy)]
struct Shape {
    depth: usize,
    cells: usize,
    block: usize,
    /// Matchers and queue pairs of the match store; 0 and 1 without one.
    matchers: usize,
    pairs: usize,
    fragment: u32,
    node_bytes: u32,
    payload_words: u32,
}

const TINY: Shape = Shape {
    depth: 8,
    cells: 4,
    block: 2,
    matchers: 0,
    pairs: 1,
    fragment: 16,
    node_bytes: 4096,
    payload_words: 16,
};
const SMALL: Shape = Shape {
    depth: 64,
    cells: 16,
    block: 8,
    matchers: 0,
    pairs: 1,
    fragment: 64,
    node_bytes: 65536,
    payload_words: 16,
};
/// With match stores.
const TINY_STORE: Shape = Shape {
    matchers: 3,
    pairs: 2,
    ..TINY
};
const STORE: Shape = Shape {
    matchers: 4,
    pairs: 8,
    ..SMALL
};

/// Commands, as in `hw/common/rtl/nic_types.svh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Receive,
    Probe,
    Cancel,
    /// Drops all unexpected messages.
    Flush,
}

/// Match results, as in `hw/common/rtl/nic_types.svh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Nothing,
    Store,
    Direct,
    Refuse,
}

impl Verdict {
    fn of(bits: u64) -> Self {
        [Self::Nothing, Self::Store, Self::Direct, Self::Refuse][bits as usize]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Command {
    op: Op,
    source: Option<u8>,
    context: u8,
    tag: Option<u32>,
    address: u32,
    capacity: u32,
    id: u16,
    /// Whether the payload of an announced message stays at its sender.
    defer: bool,
}

impl Command {
    fn takes(&self, message: &Message) -> bool {
        self.context == message.context
            && self.source.is_none_or(|source| source == message.source)
            && self.tag.is_none_or(|tag| tag == message.tag)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Message {
    announce: bool,
    source: u8,
    context: u8,
    tag: u32,
    length: u32,
    /// Serial number among the messages of its source; 0: none.
    serial: u8,
    /// Id of the sender's command.
    id: u16,
    /// A recall: the messages of the source that no receive has taken are dropped.
    recall: bool,
}

impl Message {
    /// Whether a kernel has announced the message.
    fn is_of_kernel(&self) -> bool {
        self.announce && self.id >= 1 << 15
    }
}

/// Largest serial number. Number 2 follows it.
const LAST_SERIAL: u8 = 63;
/// Maximum number of messages that a sender has numbered and that are not taken.
const MOST_UNTAKEN: usize = 62;

/// A source that numbers its messages and sends those again that are refused. The sender does not
/// use what the receiver has stored. It goes back at any time, and sends more messages until then, as
/// a sender does that learns late of a refusal.
#[derive(Debug, Default)]
struct Sender {
    /// Messages that were sent and not taken, oldest first, each with its place among all messages
    /// of the source.
    untaken: VecDeque<(u64, Message)>,
    /// Number of the untaken messages that were sent since the sender last went back.
    again: usize,
    /// Messages that were numbered, and those that the receiver has taken.
    sent: u64,
    taken: u64,
    /// The last number that was given to a message, and the one that follows number 1. The receiver
    /// does not know which number follows another.
    last: u8,
    second: u8,
    /// The sender must begin again with number 1: the receiver no longer keeps the order of the
    /// messages before.
    lost: bool,
}

impl Sender {
    fn number(&mut self) -> u8 {
        self.last = match self.last {
            1 => self.second,
            LAST_SERIAL => 2,
            last => last + 1,
        };
        self.last
    }

    /// Numbers the untaken messages from 1 on, and goes back to the first of them.
    fn begin_again(&mut self) {
        (self.last, self.again, self.lost) = (0, 0, false);
        for at in 0..self.untaken.len() {
            self.untaken[at].1.serial = self.number();
        }
    }

    /// The next message: an untaken one, or `message`.
    fn next(&mut self, message: Message) -> Message {
        if self.lost {
            self.begin_again();
        }
        if self.again == MOST_UNTAKEN {
            self.again = 0;
        }
        if let Some(&(_, next)) = self.untaken.get(self.again) {
            return next;
        }
        Message {
            serial: self.number(),
            ..message
        }
    }

    /// Processes the outcome of the message that [`Sender::next`] has returned last. The messages
    /// are taken in order.
    fn ended(&mut self, message: Message, refused: bool, place: &str) {
        if self.again == self.untaken.len() {
            self.untaken.push_back((self.sent, message));
            self.sent += 1;
        }
        if refused {
            self.again += 1;
            return;
        }
        assert_eq!(self.again, 0, "{place}: taken before an older message");
        let (number, taken) = self.untaken.pop_front().expect("a message");
        assert_eq!((number, taken), (self.taken, message), "{place}: the order");
        self.taken += 1;
    }
}

/// A held message.
#[derive(Debug, Clone, Copy)]
struct Held {
    message: Message,
    /// The fragment for its payload, and its number among all payloads in fragments.
    stored: Option<(u32, u64)>,
}

/// A message that has arrived and whose search has not begun.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    held: Held,
    /// The payload waits for a match result.
    awaits: bool,
}

/// Next step of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Direct,
    Empty,
    Deferred,
    Copy,
    Fetch,
    /// The message is dropped without a receive.
    Dropped,
    /// The message is refused, for the limit of its queue pair.
    Refused,
}

/// Id of a receive that does not exist.
const NO_RECEIVE: u16 = 0xffff;

/// Limits of a queue pair.
#[derive(Debug, Clone, Copy)]
struct Limits {
    posted: u32,
    unexpected: u32,
    /// Messages are refused.
    is_stopped: bool,
}

impl Limits {
    const NONE: Limits = Limits {
        posted: NEVER,
        unexpected: NEVER,
        is_stopped: false,
    };
}

#[derive(Debug, Clone, Copy)]
struct Pair {
    receive: Command,
    held: Held,
    way: Way,
    /// Number of the search that made the pair.
    search: u64,
}

/// Status, id, source, tag, length.
type Completion = (u32, u32, u32, u32, u32);

/// Cycles in which an item last appeared for the first time, or was accepted.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    arrival: u64,
    verdict: u64,
    command: u64,
    copy: u64,
    head: u64,
    word: u64,
    note: u64,
    completion: u64,
    ack: u64,
    idle: u64,
}

/// Numbers of events.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    refused_full: u64,
    refused_long: u64,
    refused_quota: u64,
    refused_limit: u64,
    direct: u64,
    direct_limit: u64,
    late: u64,
    late_met: u64,
    recalled: u64,
    flushed: u64,
    refused_closed: u64,
    /// A source is marked; a message behind the mark is refused though there is room, or the expected
    /// one for lack of room; a mark ends by the expected message, by number 1, or by a recall.
    marked: u64,
    refused_order: u64,
    refused_again: u64,
    goes_on: u64,
    begins_again: u64,
    mark_recalled: u64,
    /// Number 1 is refused, and is expected from then on in place of another number.
    expects_first: u64,
    /// A message without a number is taken from a marked source.
    passes_mark: u64,
    /// A numbered message is refused in a reset.
    closed_numbered: u64,
    /// Refusals while several sources are marked.
    lines: u64,
    /// A sender's last number is taken; number 2 follows.
    wrapped: u64,
    copies: u64,
    fetches: u64,
    empty: u64,
    deferred: u64,
    truncated: u64,
    cancelled: u64,
    found: u64,
    not_found: u64,
    bad_id: u64,
    by_message: u64,
    by_receive: u64,
}

struct Bench {
    dut: Dut,
    pins: Vec<(&'static str, Pin)>,
    shape: Shape,
    rng: Random,
    /// Number of this rank.
    me: u8,
    commands: Source<Command>,
    arrivals: Source<Message>,
    verdicts: Sink,
    copies: Sink,
    heads: Sink,
    tasks: Sink,
    acks: Sink,
    completions: Sink,
    notes: Sink,
    answers: Sink,
    registers: VecDeque<(u32, u32)>,

    quota: u32,
    wake: u32,
    /// Values of `crowded_o` that were checked.
    crowded: [u64; 2],
    /// Of each queue pair.
    limits: Vec<Limits>,
    /// Posted receives, oldest first.
    posted: Vec<Command>,
    unexpected: Vec<Held>,
    /// Messages whose search has not begun, in order.
    waiting: VecDeque<Waiting>,
    /// The message whose payload waits for its match result, after its search has begun, and the
    /// receive that it finds.
    judging: Option<(Message, Option<Command>)>,
    /// Number of the search of that message.
    judging_search: u64,
    /// A payload waits for its match result.
    awaits: bool,
    /// The coprocessor has asked for the match result of the payload at once.
    hurried: bool,
    /// Probability of that in a cycle.
    late: f64,
    /// Messages whose search has begun, and commands that were accepted.
    begun: [u64; 2],
    /// Matched pairs that are not free again.
    pairs: Vec<Pair>,
    /// Pairs whose transfer has not started, in order.
    begin: VecDeque<Pair>,
    /// Fragments with a message's payload.
    fragments: Vec<(u32, u8, u16)>,
    /// Payloads with writes in progress, in order: of a receive, or to a fragment.
    writes: VecDeque<Option<u16>>,
    /// Number of payloads sent to fragments, and number that have been written.
    stored: [u64; 2],
    /// Number of payloads sent to receive buffers, number that have been written, and number whose
    /// pairs are free.
    direct: [u64; 3],
    /// Receives with a copy or a fetch in progress.
    flights: Vec<u16>,
    /// The pair of the fetch in progress.
    fetching: Option<Pair>,
    /// Words of the packet in progress of the fetch. The packet's task comes with its last word.
    words: VecDeque<(u32, bool)>,
    /// Bytes of the fetch in earlier packets, and in this one.
    fetched: u32,
    expected: Vec<Completion>,
    /// Source, id and status.
    expected_acks: Vec<(u32, u32, u32)>,
    /// Cycle and source of pairs freed recently.
    freed: VecDeque<(u64, u8)>,
    /// Cycle of the end of the reset.
    since: u64,
    shown_arrival: bool,
    shown_verdict: bool,
    /// The match result that is shown.
    verdict: [u64; 4],
    shown_ack: bool,
    shown_idle: bool,
    shown: [bool; 3],
    times: Times,
    tally: Tally,
    refusals: u64,
    /// Refusals of which no sender sends the message again, and pulses of `no_room_o`.
    lost: u64,
    no_room: u64,
    /// Of each source that is marked: number of the message that is expected.
    expects: BTreeMap<u8, u8>,
    /// Whether the last message to arrive was refused, and the value of `arrival_line_o`.
    outcome: (bool, u32),
    /// Sources that number their messages.
    senders: BTreeMap<u8, Sender>,
    /// Probability that they send the untaken messages again.
    back: f64,
    /// A source whose messages have any number.
    any_serial: Option<u8>,
    sources: [u8; SOURCES.len()],
    contexts: [u8; CONTEXTS.len()],
    tag_values: [u32; TAGS.len()],
    /// Number of different tags.
    tags: usize,
    /// Whether receives have any capacity, and announced messages moderate lengths; otherwise
    /// announced messages have any length, and receives moderate capacities.
    roomy: bool,
    /// Whether both may have any length: their fetch does not end before the next reset.
    vast: bool,
    /// Whether fetches may fail.
    fail: bool,
    /// Whether the rank is being reset, so that all messages are refused.
    closed: bool,
    /// Probability of a recall among messages, and of a flush among commands.
    drops: f64,
    /// Whether most messages find a receive immediately, with slow payloads.
    rush: bool,
}

const TAG_BITS: u32 = 26;
/// Sources, contexts and tags of the fixed benches. Random benches choose others.
const SOURCES: [u8; 5] = [0, 1, 7, 128, 255];
const CONTEXTS: [u8; 3] = [0, 1, 200];
const TAGS: [u32; 8] = [
    0,
    1,
    5,
    1 << 25,
    (1 << 26) - 1,
    (1 << 25) | 1,
    1 << 24,
    1 << 16,
];

impl Bench {
    fn new(shape: Shape, name: &'static str) -> Self {
        let recipe = Recipe::new("message_engine", "message_engine_bench")
            .blocks(&["abi", "common", "alpu", "match", "nic"])
            .source("nic/bench/message_engine_bench.sv")
            .param("DEPTH", shape.depth as u64)
            .param("CELLS", shape.cells as u64)
            .param("BLOCK", shape.block as u64)
            .param("MATCHERS", shape.matchers as u64)
            .param("PAIRS", shape.pairs.max(2) as u64)
            .param("FRAGMENT", shape.fragment.into())
            .param("NODE_BYTES", shape.node_bytes.into())
            .param("PAYLOAD_WORDS", shape.payload_words.into());
        let mut bench = Self::fresh(Dut::start(&recipe), shape, Random::new(name));
        bench.begin();
        for _ in 0..2_000 {
            bench.dut.settle();
            assert_eq!(bench.is("ready_o"), bench.cleared(), "{}", bench.place());
            if bench.cleared() {
                break;
            }
            bench.dut.clock();
        }
        bench
    }

    /// The engine is reset, and begins anew without a pause.
    fn restart(self) -> Self {
        let mut bench = Self::fresh(self.dut, self.shape, self.rng);
        bench.begin();
        bench
    }

    fn fresh(dut: Dut, shape: Shape, mut rng: Random) -> Self {
        Self {
            dut,
            pins: Vec::new(),
            shape,
            me: rng.random(),
            rng,
            commands: Source::new(Pace::Always),
            arrivals: Source::new(Pace::Always),
            verdicts: Sink::new(Pace::Always),
            copies: Sink::new(Pace::Always),
            heads: Sink::new(Pace::Always),
            tasks: Sink::new(Pace::Always),
            acks: Sink::new(Pace::Always),
            completions: Sink::new(Pace::Always),
            notes: Sink::new(Pace::Always),
            answers: Sink::new(Pace::Always),
            registers: VecDeque::new(),
            quota: NEVER,
            wake: NEVER,
            crowded: [0; 2],
            limits: vec![Limits::NONE; shape.pairs],
            posted: Vec::new(),
            unexpected: Vec::new(),
            waiting: VecDeque::new(),
            judging: None,
            judging_search: 0,
            awaits: false,
            hurried: false,
            late: 0.0,
            begun: [0; 2],
            pairs: Vec::new(),
            begin: VecDeque::new(),
            fragments: Vec::new(),
            writes: VecDeque::new(),
            stored: [0; 2],
            direct: [0; 3],
            flights: Vec::new(),
            fetching: None,
            words: VecDeque::new(),
            fetched: 0,
            expected: Vec::new(),
            expected_acks: Vec::new(),
            freed: VecDeque::new(),
            since: 0,
            shown_arrival: false,
            shown_verdict: false,
            verdict: [0; 4],
            shown_ack: false,
            shown_idle: false,
            shown: [false; 3],
            times: Times::default(),
            tally: Tally::default(),
            refusals: 0,
            lost: 0,
            no_room: 0,
            expects: BTreeMap::new(),
            outcome: (false, 0),
            senders: BTreeMap::new(),
            back: 0.15,
            any_serial: None,
            sources: SOURCES,
            contexts: CONTEXTS,
            tag_values: TAGS,
            tags: TAGS.len(),
            roomy: true,
            vast: false,
            fail: false,
            closed: false,
            drops: 0.0,
            rush: false,
        }
    }

    fn begin(&mut self) {
        for name in [
            "register_write_i",
            "command_valid_i",
            "announce_i",
            "fetch_lookup_i",
            "arrival_valid_i",
            "arrival_recall_i",
            "closed_i",
            "late_i",
            "verdict_ready_i",
            "stored_i",
            "direct_i",
            "moved_i",
            "copy_ready_i",
            "head_ready_i",
            "task_ready_i",
            "ack_ready_i",
            "completion_ready_i",
        ] {
            self.set(name, 0u64);
        }
        let me = self.me;
        self.set("rank_i", me);
        self.dut.reset();
        self.set("rank_i", me);
        self.since = self.dut.cycle();
    }

    /// Whether the tables are cleared by now: a row in each cycle since the reset.
    fn cleared(&self) -> bool {
        self.dut.cycle() - self.since >= 256
    }

    fn pin(&mut self, name: &'static str) -> Pin {
        if let Some(&(_, pin)) = self.pins.iter().find(|(known, _)| *known == name) {
            return pin;
        }
        let pin = self.dut.pin(name);
        self.pins.push((name, pin));
        pin
    }

    fn set(&mut self, name: &'static str, value: impl Into<u64>) {
        let pin = self.pin(name);
        self.dut.set(pin, 0, value.into());
    }

    fn get(&mut self, name: &'static str) -> u64 {
        let pin = self.pin(name);
        self.dut.get(pin, 0)
    }

    fn word(&mut self, name: &'static str) -> u32 {
        self.get(name) as u32
    }

    fn is(&mut self, name: &'static str) -> bool {
        self.get(name) == 1
    }

    fn place(&self) -> String {
        format!("cycle {}, {:?}", self.dut.cycle(), self.shape)
    }

    fn read(&mut self, register: u32) -> u32 {
        self.set("read_offset_i", register);
        self.dut.settle();
        self.word("read_data_o")
    }

    // The model.

    /// Sources of the messages that hold an entry.
    fn holders(&self) -> impl Iterator<Item = u8> {
        // A recall holds none.
        let is_message = |message: &Message| !message.recall;
        let waiting = self.waiting.iter().map(|waiting| waiting.held.message);
        let waiting = waiting.filter(is_message);
        // A message that has found no receive is among the unexpected ones, or has left them.
        let judging = self.judging.iter().filter(|(_, found)| found.is_some());
        let judging = judging.map(|&(message, _)| message);
        let unexpected = self.unexpected.iter().map(|held| held.message);
        let pairs = self.pairs.iter().map(|pair| pair.held.message);
        waiting
            .chain(judging)
            .chain(unexpected)
            .chain(pairs)
            .map(|message| message.source)
    }

    /// Reports a pair after its payload has been written.
    fn tell(&mut self, pair: &Pair, status: u32) {
        let Message {
            source,
            tag,
            length,
            id,
            ..
        } = pair.held.message;
        let dropped = match pair.way {
            Way::Dropped => Some(Status::RankReset),
            Way::Refused => Some(Status::NoRoom),
            _ => None,
        };
        if let Some(status) = dropped {
            let ack = (source.into(), id.into(), status as u32);
            return self.expected_acks.push(ack);
        }
        let is_deferred = pair.way == Way::Deferred;
        let truncated = !is_deferred && length > pair.receive.capacity;
        let status = match status {
            0 if is_deferred => Status::Deferred as u32,
            0 if truncated => Status::Truncated as u32,
            status => status,
        };
        self.tally.truncated += u64::from(truncated);
        let receive = u32::from(pair.receive.id);
        self.expected
            .push((status, receive, source.into(), tag, length));
        let ended = if is_deferred {
            Status::Deferred
        } else {
            Status::Ok
        };
        self.expected_acks
            .push((source.into(), id.into(), ended as u32));
    }

    /// Number of the last search or command.
    fn search(&self) -> u64 {
        self.begun.iter().sum()
    }

    fn met(&mut self, receive: Command, held: Held, direct: bool, search: u64) {
        let kept = held.message.length.min(receive.capacity);
        let way = if direct {
            Way::Direct
        } else if held.message.announce && receive.defer {
            Way::Deferred
        } else if kept == 0 {
            Way::Empty
        } else if held.message.announce {
            Way::Fetch
        } else {
            Way::Copy
        };
        let pair = Pair {
            receive,
            held,
            way,
            search,
        };
        self.pairs.push(pair);
        match way {
            Way::Direct => self.tally.direct += 1,
            Way::Deferred => {
                self.tally.deferred += 1;
                self.tell(&pair, 0);
            }
            Way::Empty => {
                self.tally.empty += 1;
                self.tell(&pair, 0);
            }
            Way::Copy | Way::Fetch => {
                let at = self.begin.partition_point(|other| other.search < search);
                self.begin.insert(at, pair);
            }
            Way::Dropped | Way::Refused => unreachable!("no receive takes a dropped message"),
        }
    }

    /// Drops the unexpected messages of a source, or of all sources. Returns their number.
    fn drop_messages(&mut self, source: Option<u8>) -> u64 {
        let dropped = |held: &mut Held| source.is_none_or(|source| source == held.message.source);
        let dropped: Vec<Held> = self.unexpected.extract_if(.., dropped).collect();
        for &held in &dropped {
            self.drop_message(held, Way::Dropped);
        }
        dropped.len() as u64
    }

    fn drop_message(&mut self, held: Held, way: Way) {
        let receive = Command {
            op: Op::Flush,
            source: None,
            context: 0,
            tag: None,
            address: 0,
            capacity: 0,
            id: NO_RECEIVE,
            defer: false,
        };
        let pair = Pair {
            receive,
            held,
            way,
            search: self.search(),
        };
        self.pairs.push(pair);
        self.tell(&pair, 0);
    }

    /// Queue pair of a context.
    fn queue_pair(&self, context: u8) -> usize {
        usize::from(context) % self.shape.pairs
    }

    /// Whether the posted receives of a context's queue pair have reached their limit.
    fn is_full(&self, context: u8) -> bool {
        let at = self.queue_pair(context);
        let same = |receive: &&Command| self.queue_pair(receive.context) == at;
        self.posted.iter().filter(same).count() as u32 >= self.limits[at].posted
    }

    /// Whether the queue pair of a message, which no receive takes if `is_unexpected`, refuses the
    /// message.
    fn is_refused(&mut self, message: &Message, is_unexpected: bool) -> bool {
        let at = self.queue_pair(message.context);
        let same = |held: &&Held| self.queue_pair(held.message.context) == at;
        let length = self.unexpected.iter().filter(same).count() as u32;
        let limits = &mut self.limits[at];
        limits.is_stopped |= is_unexpected && length >= limits.unexpected;
        limits.is_stopped
    }

    fn result(&mut self, status: Status, id: u16, found: Option<Message>) {
        let (source, tag, length) = found.map_or((0, 0, 0), |message| {
            let kernel = cq_message::KERNEL.put(u32::from(message.is_of_kernel()));
            (message.source.into(), message.tag | kernel, message.length)
        });
        self.expected
            .push((status as u32, id.into(), source, tag, length));
    }

    fn commanded(&mut self, command: Command) {
        let id = command.id;
        match command.op {
            Op::Flush => {
                assert!(self.waiting.is_empty(), "a flush before a message");
                self.tally.flushed += self.drop_messages(None);
            }
            Op::Receive => {
                let mut taken = self
                    .posted
                    .iter()
                    .chain(self.pairs.iter().map(|p| &p.receive))
                    .chain(self.judging.iter().filter_map(|(_, found)| found.as_ref()));
                if taken.any(|receive| receive.id == id) {
                    self.tally.bad_id += 1;
                    return self.result(Status::BadId, id, None);
                }
                let place = self
                    .unexpected
                    .iter()
                    .position(|held| command.takes(&held.message));
                match place {
                    Some(place) => {
                        self.tally.by_receive += 1;
                        let held = self.unexpected.remove(place);
                        self.met(command, held, false, self.search());
                    }
                    None if self.is_full(command.context) => self.result(Status::NoRoom, id, None),
                    None => self.posted.push(command),
                }
            }
            Op::Probe => {
                let found = self
                    .unexpected
                    .iter()
                    .find(|held| command.takes(&held.message));
                let found = found.map(|held| held.message);
                self.tally.found += u64::from(found.is_some());
                self.tally.not_found += u64::from(found.is_none());
                let status = if found.is_some() {
                    Status::Ok
                } else {
                    Status::NotFound
                };
                self.result(status, id, found);
            }
            Op::Cancel => {
                if let Some(place) = self.posted.iter().position(|receive| receive.id == id) {
                    self.tally.cancelled += 1;
                    self.posted.remove(place);
                    self.result(Status::Cancelled, id, None);
                }
            }
        }
    }

    /// Processes a message that arrives.
    fn arrived(&mut self, message: Message, refused: bool) {
        let now = self.dut.cycle();
        let line = self.word("arrival_line_o");
        self.outcome = (refused, line);
        let place = format!("{}: {message:x?}", self.place());
        // An entry is free 3 cycles after the acknowledgement appears at the earliest, and 16 at
        // the latest, behind other messages that are dropped.
        let cycles = if refused { 16 } else { 3 };
        let late = |&&(at, _): &&(u64, u8)| at + cycles > now;
        let freed: Vec<u8> = self.freed.iter().filter(late).map(|&(_, at)| at).collect();
        let total = self.holders().count() + freed.len();
        let same = |&at: &u8| at == message.source;
        let held = self.holders().chain(freed).filter(same).count() as u32;
        let over_quota = self.quota != NEVER && held >= self.quota;
        // The sender's fragments are longer than this engine's.
        let too_long = !message.announce && message.length > self.shape.fragment;
        let is_numbered = message.serial != 0;
        let expected = self.expects.get(&message.source).copied();
        let is_expected = expected == Some(message.serial);
        let in_order = !is_numbered || expected.is_none() || is_expected || message.serial == 1;
        if message.recall {
            assert!(!refused, "{place}: a recall is refused");
            self.tally.mark_recalled += u64::from(expected.is_some());
            self.expects.remove(&message.source);
            if let Some(sender) = self.senders.get_mut(&message.source) {
                sender.lost = true;
            }
            self.awaits = true;
            self.hurried = false;
            let held = Held {
                message,
                stored: None,
            };
            self.waiting.push_back(Waiting { held, awaits: true });
            return;
        }
        if refused {
            assert!(
                self.closed || over_quota || too_long || total >= self.shape.depth || !in_order,
                "{place}: refused with {total} and {held}, expected is {expected:?}"
            );
            self.refusals += 1;
            self.refused(&message, line, &place);
            let is_for_order = !self.closed && !over_quota && !too_long && total < self.shape.depth;
            self.tally.refused_order += u64::from(is_for_order);
            self.tally.refused_long += u64::from(too_long);
            self.tally.refused_closed += u64::from(self.closed);
            self.tally.refused_full +=
                u64::from(!self.closed && in_order && !over_quota && !too_long);
            self.tally.refused_quota += u64::from(over_quota);
            self.times.verdict = now;
            return;
        }
        assert!(
            !self.closed && total < self.shape.depth && !over_quota && !too_long,
            "{place}: no room for it, {total} and {held} of {}",
            self.quota
        );
        assert!(in_order, "{place}: taken, expected is {expected:?}");
        if is_numbered {
            self.tally.goes_on += u64::from(is_expected);
            self.tally.begins_again += u64::from(expected.is_some() && !is_expected);
            self.expects.remove(&message.source);
            if let Some(sender) = self.senders.get_mut(&message.source) {
                sender.ended(message, false, &place);
                self.tally.wrapped += u64::from(message.serial == LAST_SERIAL);
            }
        } else {
            self.tally.passes_mark += u64::from(expected.is_some());
        }
        self.awaits = !message.announce && message.length > 0;
        self.hurried = false;
        let held = Held {
            message,
            stored: None,
        };
        let awaits = self.awaits;
        self.waiting.push_back(Waiting { held, awaits });
    }

    /// Checks the refusal of a message and marks its source.
    fn refused(&mut self, message: &Message, line: u32, place: &str) {
        let Message { source, serial, .. } = *message;
        let expected = self.expects.get(&source).copied();
        if serial == 0 {
            self.lost += 1;
            assert!(self.is("no_room_o"), "{place}: no event");
        }
        if serial == 0 || self.closed {
            assert_eq!(line, 0, "{place}: sources that are marked");
        } else {
            if expected.is_none() || serial == 1 {
                self.expects.insert(source, serial);
            }
            let marked = self.expects.len();
            assert_eq!(line as usize, marked.min(31), "{place}: sources");
            self.tally.marked += u64::from(expected.is_none());
            self.tally.refused_again += u64::from(expected == Some(serial));
            self.tally.expects_first +=
                u64::from(expected.is_some_and(|at| at != 1) && serial == 1);
            self.tally.lines += u64::from(marked > 1);
        }
        if serial != 0 {
            self.tally.closed_numbered += u64::from(self.closed);
            if let Some(sender) = self.senders.get_mut(&source) {
                sender.ended(*message, true, place);
                sender.lost |= self.closed;
            }
        }
    }

    /// Begins the search of the oldest message.
    fn begins(&mut self) {
        let Waiting { held, awaits } = self.waiting.pop_front().expect("a message that waits");
        self.begun[0] += 1;
        if awaits {
            self.judging_search = self.search();
        }
        if held.message.recall {
            self.tally.recalled += self.drop_messages(Some(held.message.source));
            self.judging = Some((held.message, None));
            return;
        }
        let found = self
            .posted
            .iter()
            .position(|receive| receive.takes(&held.message));
        if self.is_refused(&held.message, found.is_none()) {
            self.refusals += 1;
            self.lost += 1;
            self.tally.refused_limit += 1;
            self.drop_message(held, Way::Refused);
            self.judging = awaits.then_some((held.message, None)).or(self.judging);
            return;
        }
        let command = found.map(|found| self.posted.remove(found));
        self.tally.by_message += u64::from(command.is_some());
        if awaits {
            self.judging = Some((held.message, command));
        }
        match command {
            Some(_) if awaits => {}
            Some(command) => {
                self.tally.late_met += u64::from(held.stored.is_some());
                self.met(command, held, false, self.search());
            }
            None => self.unexpected.push(held),
        }
    }

    /// Processes a match result.
    fn judged(&mut self) {
        let verdict = Verdict::of(self.get("verdict_o"));
        let (address, bytes) = (self.word("verdict_address_o"), self.word("verdict_bytes_o"));
        let receive = self.word("verdict_receive_o");
        let judging = self.judging.take();
        let message = match (judging, self.waiting.back()) {
            (Some((message, _)), _) => message,
            (None, Some(waiting)) if waiting.awaits => waiting.held.message,
            _ => panic!("{}: a verdict on nothing", self.place()),
        };
        let place = format!("{}: {message:x?}", self.place());
        if message.recall {
            // The recall is answered when all its messages have been found.
            assert_eq!(
                (verdict, judging.is_some()),
                (Verdict::Refuse, true),
                "{place}"
            );
            return;
        }
        let mut stored = None;
        if verdict == Verdict::Store {
            let first = u64::from(self.shape.node_bytes)
                - self.shape.depth as u64 * u64::from(self.shape.fragment);
            let inside = u64::from(address) >= first && address < self.shape.node_bytes;
            assert!(
                inside && address % self.shape.fragment == 0 && bytes == message.length,
                "{place}: {bytes} bytes to {address:#x}"
            );
            assert!(
                self.fragments.iter().all(|&(at, ..)| at != address),
                "{place}: the fragment at {address:#x} is taken"
            );
            self.fragments.push((address, message.source, message.id));
            self.stored[0] += 1;
            stored = Some((address, self.stored[0]));
        }
        let held = Held { message, stored };
        let Some((_, command)) = judging else {
            // The search has not begun.
            assert!(
                verdict == Verdict::Store && self.hurried,
                "{place}: {verdict:?}"
            );
            self.tally.late += 1;
            let waiting = self.waiting.back_mut().expect("the message");
            *waiting = Waiting {
                held,
                awaits: false,
            };
            return;
        };
        let Some(command) = command else {
            assert_eq!(verdict, Verdict::Store, "{place}");
            // A receive may have taken the message since its search began, or a recall.
            let unexpected = self.unexpected.iter_mut();
            let pairs = self.pairs.iter_mut().chain(self.begin.iter_mut());
            unexpected
                .chain(pairs.map(|pair| &mut pair.held))
                .filter(|other| {
                    (other.message.source, other.message.id) == (message.source, message.id)
                })
                .for_each(|other| other.stored = stored);
            return;
        };
        let kept = message.length.min(command.capacity);
        if verdict == Verdict::Store && self.hurried {
            self.tally.late += 1;
        } else if kept == 0 {
            assert_eq!(verdict, Verdict::Nothing, "{place} to {command:x?}");
        } else if !command.address.is_multiple_of(4) {
            assert_eq!(verdict, Verdict::Store, "{place} to {command:x?}");
        } else if verdict == Verdict::Direct {
            let under_way = self.direct[0] - self.direct[1];
            assert!(
                under_way < UNDER_WAY as u64,
                "{place}: {under_way} in flight"
            );
            assert_eq!(
                (address, bytes, receive),
                (command.address, kept, command.id.into()),
                "{place} to {command:x?}"
            );
            self.direct[0] += 1;
        } else {
            assert_eq!(verdict, Verdict::Store, "{place} to {command:x?}");
            let under_way = self.direct[0] - self.direct[2];
            assert!(
                under_way >= UNDER_WAY as u64,
                "{place}: stored with {under_way} in flight"
            );
            self.tally.direct_limit += 1;
        }
        let search = self.judging_search;
        self.met(command, held, verdict == Verdict::Direct, search);
    }

    /// The words of a fetch's packet that begins at `offset`, and its bytes. Each packet except the last
    /// ends at the end of a payload.
    fn packet(&self, pair: &Pair, offset: u32) -> ([(u32, bool); 4], u32) {
        let message = pair.held.message;
        let left = message.length.min(pair.receive.capacity) - offset;
        let to = pair.receive.address.wrapping_add(offset);
        let most = 4 * self.shape.payload_words - to % 4;
        let last = left <= most;
        let head = u32::from(message.source) << 24
            | (PacketType::Xget as u32) << 21
            | x_header::LAST.put(u32::from(last))
            | x_header::MESSAGE.put(1)
            | x_header::HIGH.put(u32::from(message.id) >> 8 & 3)
            | x_header::SRC.put(self.me.into())
            | x_header::SLOT.put(u32::from(message.id) & 0xff);
        let length = if last {
            x_length::ID.put(pair.receive.id.into()) | left
        } else {
            left
        };
        let words = [(head, false), (offset, false), (length, false), (to, true)];
        (words, left.min(most))
    }

    // A cycle.

    fn drive(&mut self) {
        let noise: u64 = self.rng.random();
        let register = self.registers.pop_front();
        self.set("register_write_i", register.is_some());
        self.set(
            "register_offset_i",
            register.map_or(noise, |(offset, _)| offset.into()),
        );
        self.set(
            "register_data_i",
            register.map_or(noise, |(_, data)| data.into()),
        );
        let command = self.commands.offer(&mut *self.rng).copied();
        self.set("command_valid_i", command.is_some());
        let fields = command.map_or([noise; 7], |command| {
            let any = x_tag::ANY_SOURCE.put(command.source.is_none().into())
                | x_tag::ANY_TAG.put(command.tag.is_none().into())
                | x_tag::DEFER.put(command.defer.into());
            // Fields without a meaning are not compared. A command on offer stays as it is.
            let hidden = command.address.rotate_left(11);
            let tag = any | command.tag.unwrap_or(hidden & ((1 << 26) - 1));
            [
                command.op as u64,
                command.source.unwrap_or(hidden as u8).into(),
                command.context.into(),
                tag.into(),
                command.address.into(),
                command.capacity.into(),
                command.id.into(),
            ]
        });
        let names = [
            "command_i",
            "command_rank_i",
            "command_context_i",
            "command_tag_i",
            "command_address_i",
            "command_length_i",
            "command_id_i",
        ];
        for (name, value) in names.into_iter().zip(fields) {
            self.set(name, value);
        }
        // A message arrives after the match result of the message before.
        let message = if self.awaits {
            None
        } else {
            self.arrivals.offer(&mut *self.rng).copied()
        };
        let late = self.awaits && self.rng.random_bool(self.late);
        self.set("late_i", late);
        self.hurried |= late;
        self.set("arrival_valid_i", message.is_some());
        self.set("closed_i", self.closed);
        let fields = message.map_or([noise; 8], |message| {
            [
                message.recall.into(),
                message.announce.into(),
                message.source.into(),
                message.context.into(),
                message.tag.into(),
                message.serial.into(),
                message.length.into(),
                message.id.into(),
            ]
        });
        let names = [
            "arrival_recall_i",
            "arrival_announce_i",
            "arrival_source_i",
            "arrival_context_i",
            "arrival_tag_i",
            "arrival_serial_i",
            "arrival_length_i",
            "arrival_id_i",
        ];
        for (name, value) in names.into_iter().zip(fields) {
            self.set(name, value);
        }
        for (name, sink) in [
            ("verdict_ready_i", &mut self.verdicts),
            ("copy_ready_i", &mut self.copies),
            ("head_ready_i", &mut self.heads),
            ("task_ready_i", &mut self.tasks),
            ("ack_ready_i", &mut self.acks),
            ("completion_ready_i", &mut self.completions),
        ]
        .map(|(name, sink)| (name, sink.ready(&mut *self.rng)))
        {
            self.set(name, sink);
        }
    }

    /// Writes a payload in the order of the match results, or a copied or fetched payload in any
    /// order.
    fn write(&mut self) {
        let now = self.dut.cycle();
        let noise: u64 = self.rng.random();
        let write = if self.notes.ready(&mut *self.rng) {
            self.writes.pop_front()
        } else {
            None
        };
        self.set("stored_i", write == Some(None));
        self.set("direct_i", write.flatten().is_some());
        let status = self.failure();
        let status = write.flatten().map_or(noise as u32, |_| status);
        self.set("direct_status_i", status);
        self.set("direct_receive_i", write.flatten().map_or(noise, u64::from));
        match write {
            Some(None) => {
                self.stored[1] += 1;
                self.times.note = now;
            }
            Some(Some(id)) => {
                self.direct[1] += 1;
                self.times.note = now;
                self.delivered(id, status);
            }
            None => {}
        }
        let answers = self.answers.ready(&mut *self.rng) && !self.flights.is_empty();
        let mut moved = None;
        if answers {
            let place = self.rng.random_range(0..self.flights.len());
            let id = self.flights.remove(place);
            let status = self.failure();
            moved = Some((id, status));
            self.times.note = now;
            self.delivered(id, status);
        }
        self.set("moved_i", moved.is_some());
        self.set("moved_receive_i", moved.map_or(noise, |(id, _)| id.into()));
        self.set(
            "moved_status_i",
            moved.map_or(noise, |(_, status)| status.into()),
        );
    }

    /// Status of a payload. The engine hands any failure on; only a deferred message has a status of its own.
    fn failure(&mut self) -> u32 {
        let failed = self.fail && self.rng.random_bool(0.1);
        if failed {
            self.rng.random_range(1..Status::Deferred as u32)
        } else {
            0
        }
    }

    fn delivered(&mut self, id: u16, status: u32) {
        let pair = *self
            .pairs
            .iter()
            .find(|pair| pair.receive.id == id)
            .expect("a pair");
        self.tell(&pair, status);
    }

    fn cycle(&mut self) {
        self.drive();
        self.write();
        self.dut.settle();
        let now = self.dut.cycle();
        let place = self.place();

        assert_eq!(self.is("ready_o"), self.cleared(), "{place}");

        // Items that appear for the first time.
        let shows = [
            self.is("copy_valid_o"),
            self.is("head_valid_o"),
            self.is("completion_valid_o"),
        ];
        for (at, shows) in shows.into_iter().enumerate() {
            if shows && !self.shown[at] {
                *[
                    &mut self.times.copy,
                    &mut self.times.head,
                    &mut self.times.completion,
                ][at] = now;
            }
            self.shown[at] = shows;
        }
        if self.is("arrival_valid_i") && !self.shown_arrival {
            self.times.arrival = now;
        }
        self.shown_arrival = self.is("arrival_valid_i") && !self.is("arrival_ready_o");
        if self.is("idle_o") && !self.shown_idle {
            self.times.idle = now;
        }
        self.shown_idle = self.is("idle_o");

        // An acknowledgement: the pair's entries are free for all later items.
        if self.is("ack_valid_o") {
            let ack = (self.word("ack_rank_o"), self.word("ack_id_o"));
            let status = self.word("ack_status_o");
            if !self.shown_ack {
                self.times.ack = now;
                let is_it = |pair: &Pair| {
                    let message = pair.held.message;
                    (u32::from(message.source), u32::from(message.id)) == ack
                };
                let found = self.pairs.iter().position(is_it);
                let pair =
                    self.pairs.remove(found.unwrap_or_else(|| {
                        panic!("{place}: an acknowledgement of nothing, {ack:x?}")
                    }));
                self.direct[2] += u64::from(pair.way == Way::Direct);
                let message = pair.held.message;
                self.fragments
                    .retain(|&(_, source, id)| (source, id) != (message.source, message.id));
                self.freed.push_back((now, message.source));
                if self.freed.len() > 12 {
                    self.freed.pop_front();
                }
            }
            self.shown_ack = true;
            if self.is("ack_ready_i") {
                let found = self
                    .expected_acks
                    .iter()
                    .position(|&expected| expected == (ack.0, ack.1, status));
                let found = found.unwrap_or_else(|| {
                    panic!(
                        "{place}: acknowledged {ack:x?} with {status} of {:x?}",
                        self.expected_acks
                    )
                });
                self.expected_acks.swap_remove(found);
                self.shown_ack = false;
            }
        }

        // A payload that is being written belongs to the coprocessor, which reports it as traffic.
        if self.is("idle_o") && !self.is("direct_i") {
            assert!(
                self.cleared()
                    && self.expected.is_empty()
                    && self.expected_acks.is_empty()
                    && self.begin.is_empty()
                    && self.words.is_empty()
                    && self.fetched == 0
                    && self.flights.is_empty()
                    && self.waiting.is_empty()
                    && self.judging.is_none()
                    && !self.awaits
                    && !self.is("command_valid_i")
                    && !self.is("arrival_valid_i"),
                "{place}: idle with {:?}, {:?}, {:?}",
                self.expected,
                self.begin,
                self.flights
            );
        }
        self.no_room += u64::from(self.is("no_room_o"));

        // Searches, match results, commands and messages, in this order.
        if self.is("begins_o") {
            self.begins();
        }
        if self.is("verdict_valid_o") {
            assert!(self.awaits, "{place}: a verdict on nothing");
            let verdict = [
                "verdict_o",
                "verdict_address_o",
                "verdict_bytes_o",
                "verdict_receive_o",
            ]
            .map(|name| self.get(name));
            if !self.shown_verdict {
                self.times.verdict = now;
                self.verdict = verdict;
                self.judged();
            }
            assert_eq!(verdict, self.verdict, "{place}: a verdict that changes");
            self.shown_verdict = true;
            if self.is("verdict_ready_i") {
                self.shown_verdict = false;
                self.awaits = false;
                match Verdict::of(self.get("verdict_o")) {
                    Verdict::Store => self.writes.push_back(None),
                    Verdict::Direct => {
                        let id = self.get("verdict_receive_o") as u16;
                        self.writes.push_back(Some(id));
                    }
                    _ => {}
                }
            }
        }
        let taken = self.is("command_ready_o");
        if let Some(command) = self.commands.take(taken) {
            self.times.command = now;
            self.begun[1] += 1;
            self.commanded(command);
        }
        if self.is("arrival_valid_i") {
            let taken = self.is("arrival_ready_o");
            let refused = self.is("arrival_refused_o");
            if let Some(message) = self.arrivals.take(taken) {
                self.arrived(message, refused);
            }
        }
        assert!(
            self.no_room <= self.lost,
            "{place}: an event of no lost message"
        );
        self.moved(&place);
        self.completed(&place);
        self.dut.clock();
    }

    /// Checks copies and the words of fetches, in the order of the matches.
    fn moved(&mut self, place: &str) {
        if self.is("copy_valid_o") {
            let found = [
                self.word("copy_from_o"),
                self.word("copy_to_o"),
                self.word("copy_bytes_o"),
                self.word("copy_receive_o"),
            ];
            let id = found[3] as u16;
            let at = self.begin.iter().position(|pair| pair.receive.id == id);
            let at = at.unwrap_or_else(|| panic!("{place}: a copy to receive {id}"));
            let pair = self.begin[at];
            assert!(self.is_next(at), "{place}: a copy overtakes another");
            let (from, number) = pair.held.stored.unwrap_or((0, u64::MAX));
            let kept = pair.held.message.length.min(pair.receive.capacity);
            let expected = [from, pair.receive.address, kept, pair.receive.id.into()];
            assert_eq!((pair.way, found), (Way::Copy, expected), "{place}");
            assert!(
                number <= self.stored[1],
                "{place}: copied before it was stored"
            );
            if self.is("copy_ready_i") {
                self.begin.remove(at);
                self.tally.copies += 1;
                self.flights.push(pair.receive.id);
            }
        }
        let head = self.is("head_valid_o") && self.is("head_ready_i");
        let task = self.is("task_valid_o") && self.is("task_ready_i");
        assert!(head || !task, "{place}: a task without its word");
        if head {
            self.times.word = self.dut.cycle();
            let found = (self.word("head_o"), task);
            if self.words.is_empty() {
                if self.fetching.is_none() {
                    let is_it = |&at: &usize| {
                        let pair = &self.begin[at];
                        let is_next = pair.way == Way::Fetch && self.is_next(at);
                        is_next && self.packet(pair, 0).0[0] == found
                    };
                    let at = (0..self.begin.len()).find(is_it);
                    let at =
                        at.unwrap_or_else(|| panic!("{place}: {found:x?} of {:x?}", self.begin));
                    self.fetching = self.begin.remove(at);
                    self.tally.fetches += 1;
                }
                let pair = self.fetching.expect("a pair");
                let (words, bytes) = self.packet(&pair, self.fetched);
                self.words = words.into();
                self.fetched += bytes;
            }
            let expected = self.words.pop_front();
            assert_eq!(Some(found), expected, "{place}: {:x?}", self.fetching);
            let pair = self.fetching.expect("a pair");
            let kept = pair.held.message.length.min(pair.receive.capacity);
            if self.words.is_empty() && self.fetched == kept {
                (self.fetching, self.fetched) = (None, 0);
                self.flights.push(pair.receive.id);
            }
        }
        assert!(
            self.flights.len() <= UNDER_WAY,
            "{place}: {} copies and fetches in progress",
            self.flights.len()
        );
    }

    /// Whether no pair before this one, in the order of the matches, is of the same queue pair.
    fn is_next(&self, at: usize) -> bool {
        let of = |at: usize| self.queue_pair(self.begin[at].held.message.context);
        (0..at).all(|before| of(before) != of(at))
    }

    fn completed(&mut self, place: &str) {
        if self.is("completion_valid_o") && self.is("completion_ready_i") {
            let found = (
                self.word("completion_status_o"),
                self.word("completion_id_o"),
                self.word("completion_source_o"),
                self.word("completion_message_o"),
                self.word("completion_length_o"),
            );
            let at = self.expected.iter().position(|&expected| expected == found);
            let at = at
                .unwrap_or_else(|| panic!("{place}: completed {found:x?} of {:x?}", self.expected));
            self.expected.remove(at);
        }
    }

    // Stimuli.

    fn message(&mut self) -> Message {
        let announce = self.rng.random_bool(if self.rush { 0.05 } else { 0.3 });
        let most = if announce {
            match self.rng.random_range(0..20) {
                0 => 5_000,
                _ => 10 * self.shape.payload_words,
            }
        } else {
            self.shape.fragment
        };
        let payload = 4 * self.shape.payload_words;
        let length = match self.rng.random_range(0..9) {
            0 => 0,
            1 => most,
            2 if !announce && self.rng.random_bool(0.3) => most + self.rng.random_range(1..5_000),
            3 if announce && (self.vast || !self.roomy) => match self.rng.random_range(0..2) {
                0 => 1 << self.rng.random_range(0..32),
                _ => self.rng.random(),
            },
            // Around the end of a packet.
            2 if announce => payload * self.rng.random_range(1..3) - self.rng.random_range(0..6),
            _ => self.rng.random_range(0..=most),
        };
        loop {
            let message = Message {
                announce,
                source: *self.sources.choose(&mut *self.rng).expect("some"),
                context: *self.contexts.choose(&mut *self.rng).expect("some"),
                tag: self.tag_values[self.rng.random_range(0..self.tags)],
                length,
                id: self
                    .rng
                    .random_range(0..if announce { 1024 } else { 32_767 })
                    | u16::from(self.rng.random_bool(0.3)) << 15,
                serial: 0,
                recall: announce && self.rng.random_bool(self.drops),
            };
            if message.recall {
                // The number of a recall has no meaning.
                let serial = self.rng.random_range(0..=LAST_SERIAL);
                return Message { serial, ..message };
            }
            // Fetches name ten bits of the id.
            let same_id = |other: &Message| {
                other.source == message.source && (other.id ^ message.id) & 0x3ff == 0
            };
            let same = |held: &Held| same_id(&held.message);
            let waits = self.waiting.iter().any(|waiting| same(&waiting.held));
            let judged = self.judging.is_some_and(|(other, _)| same_id(&other));
            let mut senders = self.senders.values();
            let untaken =
                senders.any(|sender| sender.untaken.iter().any(|(_, other)| same_id(other)));
            if !waits
                && !judged
                && !untaken
                && !self.unexpected.iter().any(same)
                && !self.pairs.iter().any(|pair| same(&pair.held))
            {
                return self.numbered(message);
            }
        }
    }

    /// The message with the serial number that its source gives it, or in its place one that the
    /// source sends again.
    fn numbered(&mut self, message: Message) -> Message {
        if self.any_serial == Some(message.source) {
            // Few numbers, among them the first and the last ones.
            let few = [
                0,
                1,
                2,
                3,
                LAST_SERIAL - 1,
                LAST_SERIAL,
                self.rng.random_range(0..=LAST_SERIAL),
            ];
            let serial = *few.choose(&mut *self.rng).expect("some");
            return Message { serial, ..message };
        }
        // A kernel numbers no message.
        let is_of_kernel = self.rng.random_bool(0.1);
        let Some(sender) = self.senders.get_mut(&message.source) else {
            return message;
        };
        if is_of_kernel {
            return message;
        }
        if !sender.untaken.is_empty() {
            if self.rng.random_bool(self.back / 5.0) {
                sender.begin_again();
            } else if self.rng.random_bool(self.back) {
                sender.again = 0;
            }
        }
        if sender.again == 0 {
            // What does not fit into a fragment is announced when it is sent again.
            for (_, message) in &mut sender.untaken {
                message.announce |= message.length > self.shape.fragment;
            }
        }
        sender.next(message)
    }

    /// Chooses the sources that number their messages. They begin with number 1.
    fn choose_senders(&mut self) {
        let second = *[2, 50, 60, LAST_SERIAL]
            .choose(&mut *self.rng)
            .expect("some");
        let chosen = [1, 2].map(|at| {
            let sender = Sender {
                second,
                ..Sender::default()
            };
            (self.sources[at], sender)
        });
        self.senders = chosen.into();
        let other = self.sources[4];
        self.any_serial = (!self.senders.contains_key(&other)).then_some(other);
    }

    /// Sends the untaken messages of all sources again until they are taken.
    fn send_again(&mut self) {
        self.quota = NEVER;
        self.register(rank::MESSAGE_QUOTA, NEVER);
        for at in 0..self.shape.pairs * usize::from(self.shape.matchers > 0) {
            self.limit(at, NEVER, NEVER);
        }
        self.clean();
        let sources: Vec<u8> = self.senders.keys().copied().collect();
        for source in sources {
            loop {
                let sender = self.senders.get_mut(&source).expect("a sender");
                let Some(&(_, mut message)) = sender.untaken.front() else {
                    break;
                };
                message.announce |= message.length > self.shape.fragment;
                sender.untaken[0].1 = message;
                sender.again = 0;
                let message = sender.next(message);
                self.arrivals.push(message);
                self.settle();
                if self.outcome.0 {
                    self.clean();
                }
            }
            let sender = &self.senders[&source];
            assert_eq!(sender.taken, sender.sent, "messages of {source}");
        }
    }

    fn command(&mut self, receives: f64) -> Command {
        let op = match self.rng.random_bool(receives) {
            _ if self.rng.random_bool(self.drops / 4.0) => Op::Flush,
            true => Op::Receive,
            false if self.rng.random() => Op::Probe,
            false => Op::Cancel,
        };
        let depth = self.shape.depth as u16;
        let mut id = self.rng.random_range(0..depth);
        // Mostly an id without a receive.
        for _ in 0..20 {
            let posted = self.posted.iter().any(|receive| receive.id == id);
            let taken = posted || self.pairs.iter().any(|pair| pair.receive.id == id);
            let wanted = match op {
                Op::Receive => !taken || self.rng.random_bool(0.02),
                Op::Probe | Op::Flush => true,
                Op::Cancel => posted || self.rng.random_bool(0.1),
            };
            if wanted {
                break;
            }
            id = self.rng.random_range(0..depth);
        }
        // Often the id of a receive that may be free by the time the command is taken.
        if op == Op::Receive
            && self.rng.random_bool(0.1)
            && let Some(pair) = self.pairs.first()
            && pair.receive.id != NO_RECEIVE
        {
            id = pair.receive.id;
        }
        let address: u32 = self.rng.random();
        let capacity = match self.rng.random_range(0..10) {
            0 => 0,
            1..=3 => self.rng.random_range(0..=self.shape.fragment),
            4 | 5 if self.vast || self.roomy => match self.rng.random_range(0..2) {
                0 => 1 << self.rng.random_range(0..32),
                _ => self.rng.random(),
            },
            _ => self.rng.random_range(0..12 * self.shape.payload_words),
        };
        let any = if self.rush { 0.9 } else { 0.2 };
        let (any_source, any_tag) = (self.rng.random_bool(any), self.rng.random_bool(any));
        Command {
            op,
            source: (!any_source).then(|| *self.sources.choose(&mut *self.rng).expect("some")),
            context: *self.contexts.choose(&mut *self.rng).expect("some"),
            tag: (!any_tag).then(|| self.tag_values[self.rng.random_range(0..self.tags)]),
            address: if self.rng.random_bool(if self.rush { 0.95 } else { 0.6 }) {
                address & !3
            } else {
                address
            },
            capacity,
            id,
            defer: self.rng.random_bool(0.2),
        }
    }

    /// Chooses sources, contexts and tags that differ in few bits.
    fn choose_values(&mut self) {
        let rng = &mut *self.rng;
        let (source, context, tag): (u8, u8, u32) = rng.random();
        self.sources =
            std::array::from_fn(|at| source ^ (u8::from(at > 0) << rng.random_range(0..8)));
        self.contexts =
            std::array::from_fn(|at| context ^ (u8::from(at > 0) << rng.random_range(0..8)));
        self.tag_values = std::array::from_fn(|at| {
            let tag = tag & ((1 << TAG_BITS) - 1);
            tag ^ (u32::from(at > 0) << rng.random_range(0..TAG_BITS))
        });
    }

    fn register(&mut self, register: u32, value: u32) {
        self.registers.push_back((register, value));
    }

    /// Sets the limits of a queue pair. The pair takes messages again.
    fn limit(&mut self, pair: usize, posted: u32, unexpected: u32) {
        self.register(rank::QUEUE_PAIR, pair as u32);
        let limits = rank::queue_pair_limits::POSTED.put(posted)
            | rank::queue_pair_limits::UNEXPECTED.put(unexpected);
        self.register(rank::QUEUE_PAIR_LIMITS, limits);
        self.limits[pair] = Limits {
            posted,
            unexpected,
            is_stopped: false,
        };
    }

    fn set_paces(&mut self) {
        let paces = [
            Pace::Always,
            Pace::Always,
            Pace::Chance(0.5),
            Pace::Chance(0.1),
            Pace::Bursts { on: 40, off: 40 },
        ];
        let mut pace = || paces[self.rng.random_range(0..paces.len())];
        let chosen: [Pace; 10] = std::array::from_fn(|_| pace());
        self.commands.set_pace(chosen[0]);
        self.arrivals.set_pace(chosen[1]);
        for (sink, pace) in [
            &mut self.verdicts,
            &mut self.copies,
            &mut self.heads,
            &mut self.tasks,
            &mut self.acks,
            &mut self.completions,
            &mut self.notes,
            &mut self.answers,
        ]
        .into_iter()
        .zip(&chosen[2..])
        {
            sink.set_pace(*pace);
        }
    }

    fn at_ease(&mut self) {
        self.commands.set_pace(Pace::Always);
        self.arrivals.set_pace(Pace::Always);
        for sink in [
            &mut self.verdicts,
            &mut self.copies,
            &mut self.heads,
            &mut self.tasks,
            &mut self.acks,
            &mut self.completions,
            &mut self.notes,
            &mut self.answers,
        ] {
            sink.set_pace(Pace::Always);
        }
    }

    fn quiet(&self) -> bool {
        self.commands.is_empty()
            && self.arrivals.is_empty()
            && self.registers.is_empty()
            && self.waiting.is_empty()
            && !self.awaits
            && self.writes.is_empty()
            && self.pairs.is_empty()
            && self.begin.is_empty()
            && self.flights.is_empty()
            && self.expected.is_empty()
            && self.expected_acks.is_empty()
    }

    /// Cycles with commands and messages of given probabilities, and the share of receives among
    /// the commands.
    fn traffic(&mut self, cycles: u32, commands: f64, arrivals: f64, receives: f64) {
        for cycle in 0..cycles {
            if cycle % 100 == 0 {
                let thresholds = [0, 1, 3, self.shape.cells as u32, NEVER, NEVER];
                let some = *thresholds.choose(&mut *self.rng).expect("some");
                let register = [rank::POSTED_THRESHOLD, rank::UNEXPECTED_THRESHOLD]
                    [self.rng.random_range(0..2)];
                self.register(register, some);
            }
            if self.commands.len() < 2 && self.rng.random_bool(commands) {
                let command = self.command(receives);
                self.commands.push(command);
            }
            // Ids depend on all present items, so messages are sent one at a time.
            if self.arrivals.is_empty() && self.rng.random_bool(arrivals) {
                let message = self.message();
                self.arrivals.push(message);
            }
            // Now and then the rank is reset.
            let turns = if self.closed { 0.05 } else { 0.002 };
            self.closed ^= self.drops > 0.0 && self.rng.random_bool(turns);
            self.cycle();
        }
    }

    /// Runs until nothing is in progress.
    fn settle(&mut self) {
        let start = self.dut.cycle();
        loop {
            self.cycle();
            if self.quiet() && self.is("idle_o") {
                break;
            }
            assert!(
                self.dut.cycle() < start + 20_000,
                "{}: left are {:?}, {:?}, {:?}, {:?}",
                self.place(),
                self.pairs,
                self.begin,
                self.flights,
                self.expected
            );
        }
        for _ in 0..20 {
            self.cycle();
        }
        let queues = self.read(rank::MESSAGE_QUEUES);
        assert_eq!(
            (queues & 0xffff, queues >> 16),
            (self.posted.len() as u32, self.unexpected.len() as u32),
            "{}",
            self.place()
        );
        let crowded = self.unexpected.len() as u32 >= self.wake;
        assert_eq!(self.is("crowded_o"), crowded, "{}", self.place());
        self.crowded[usize::from(crowded)] += 1;
    }

    /// Cancels the posted receives and receives the unexpected messages.
    fn clean(&mut self) {
        self.at_ease();
        self.settle();
        while let Some(receive) = self.posted.first().copied() {
            self.commands.push(Command {
                op: Op::Cancel,
                ..receive
            });
            self.settle();
        }
        while let Some(held) = self.unexpected.first().copied() {
            let id = self.rng.random_range(0..self.shape.depth) as u16;
            self.commands.push(Command {
                op: Op::Receive,
                source: None,
                context: held.message.context,
                tag: None,
                address: 64,
                capacity: 300,
                id,
                defer: false,
            });
            self.settle();
        }
        let found: [u64; 4] = MATCHES.map(|register| self.read(register).into());
        assert_eq!(
            (found[0] + found[1], found[2] + found[3]),
            (self.tally.by_message, self.tally.by_receive)
        );
        assert_eq!(u64::from(self.read(rank::MESSAGES_REFUSED)), self.refusals);
        assert_eq!(self.no_room, self.lost);
        assert!(self.fragments.is_empty());
    }
}

fn random(shape: Shape, rounds: u64) {
    let mut bench = Bench::new(shape, "message_engine_random");
    bench.fail = true;
    bench.choose_senders();
    for round in 0..rounds {
        bench.set_paces();
        bench.tags = bench.rng.random_range(1..=TAGS.len());
        // Determines whether sends or receives are ahead.
        let mut commands = *[0.02, 0.1, 0.4, 0.9].choose(&mut *bench.rng).expect("some");
        let mut arrivals = *[0.02, 0.1, 0.4, 0.9].choose(&mut *bench.rng).expect("some");
        bench.late = [0.0, 0.2, 0.02, 0.2, 1.0][round as usize % 5];
        bench.rush = round % 5 == 4 && round % 10 != 9;
        if bench.rush {
            (commands, arrivals) = (0.9, 0.3);
            bench.late = 0.0;
            bench.at_ease();
            bench.notes.set_pace(Pace::Chance(0.004));
        }
        let receives = *[0.6, 0.95].choose(&mut *bench.rng).expect("some");
        bench.drops = [0.0, 0.04, 0.2][round as usize % 3];
        bench.back = *[0.005, 0.2, 0.5, 0.8]
            .choose(&mut *bench.rng)
            .expect("some");
        bench.traffic(800, commands, arrivals, receives);
        bench.closed = false;
        bench.at_ease();
        bench.settle();
        if round % 4 == 3 {
            bench.send_again();
            bench.clean();
            bench.choose_values();
            bench.choose_senders();
            bench.roomy ^= true;
        }
        let depth = shape.depth as u32;
        let any = bench.rng.random_range(1..=depth);
        let quotas = [0, 1, depth / 2, any, NEVER, NEVER, NEVER];
        let quota = *quotas.choose(&mut *bench.rng).expect("some");
        bench.register(rank::MESSAGE_QUOTA, quota);
        let waiting = bench.unexpected.len() as u32;
        let wakes = [0, 1, waiting, waiting + 1, NEVER];
        bench.wake = *wakes.choose(&mut *bench.rng).expect("some");
        bench.register(rank::MESSAGE_WAKE, bench.wake);
        for at in 0..shape.pairs * usize::from(shape.matchers > 0) {
            let limits = [0, 1, 3];
            let is_limited = bench.rng.random_bool(0.1);
            let limit = *limits.choose(&mut *bench.rng).expect("some");
            let limit = if is_limited { limit } else { NEVER };
            bench.limit(at, NEVER, limit);
        }
        bench.settle();
        bench.quota = quota;
    }
    bench.send_again();
    bench.clean();
    let tally = bench.tally;
    let often = [
        tally.refused_full,
        tally.refused_quota,
        tally.refused_long,
        tally.refused_closed,
        tally.marked,
        tally.refused_order,
        tally.refused_again,
        tally.goes_on,
        tally.begins_again,
        tally.mark_recalled,
        tally.expects_first,
        tally.passes_mark,
        tally.closed_numbered,
        tally.lines,
        tally.wrapped,
        tally.recalled,
        tally.flushed,
        tally.direct,
        tally.late,
        tally.copies,
        tally.fetches,
        tally.empty,
        tally.deferred,
        tally.truncated,
        tally.cancelled,
        tally.found,
        tally.not_found,
        tally.bad_id,
        tally.by_message,
        tally.by_receive,
        bench.crowded[0],
        bench.crowded[1],
    ];
    assert!(often.iter().all(|&some| some > rounds / 8), "{tally:?}");
    assert!(tally.late_met > rounds / 20, "{tally:?}");
    assert_eq!(
        tally.refused_limit > rounds / 8,
        shape.matchers > 0,
        "{tally:?}"
    );
    assert!(
        shape.depth <= UNDER_WAY || tally.direct_limit > rounds / 20,
        "{tally:?}"
    );
    let found = MATCHES.map(|register| bench.read(register));
    // All matches with a match store count as those of the walk.
    let units = [0, 2].map(|unit| found[unit] > 0);
    assert_eq!(units, [shape.matchers == 0; 2], "{found:?}");
    let is_often = |&some: &u32| some == 0 || u64::from(some) > rounds / 8;
    assert!(found.iter().all(is_often), "{found:?}");
}

/// Matches count as those of the unit or of the walk. With the lowest threshold, every entry is moved
/// into the unit; with the highest threshold, none is.
#[test]
fn message_engine_counts() {
    for shape in [TINY, SMALL] {
        let mut bench = Bench::new(shape, "message_engine_counts");
        let mut counts = [0; 4];
        for (round, by_walk) in [true, false, false, true, false].into_iter().enumerate() {
            let threshold = if by_walk { NEVER } else { 0 };
            for register in [rank::POSTED_THRESHOLD, rank::UNEXPECTED_THRESHOLD] {
                bench.register(register, threshold);
            }
            bench.settle();
            let receive = Command {
                op: Op::Receive,
                source: None,
                context: PLAIN.context,
                tag: None,
                address: 64,
                capacity: 8,
                id: round as u16,
                defer: false,
            };
            let message = Message {
                announce: false,
                ..PLAIN
            };
            for is_posted in [true, false] {
                // The entry is appended, and moved into the unit after some idle cycles.
                if is_posted {
                    bench.commands.push(receive);
                } else {
                    bench.arrivals.push(message);
                }
                bench.settle();
                for _ in 0..60 {
                    bench.cycle();
                }
                if is_posted {
                    bench.arrivals.push(message);
                } else {
                    bench.commands.push(receive);
                }
                bench.settle();
                counts[2 * usize::from(!is_posted) + usize::from(by_walk)] += 1;
                let found = MATCHES.map(|register| bench.read(register));
                assert_eq!(
                    found, counts,
                    "round {round}, posted: {is_posted}, {shape:?}"
                );
            }
        }
    }
}

#[test]
fn message_engine_random() {
    random(SMALL, soak(600));
}

#[test]
fn message_engine_random_tiny() {
    random(TINY, soak(400));
}

#[test]
fn message_engine_random_store() {
    random(STORE, soak(600));
}

#[test]
fn message_engine_random_tiny_store() {
    random(TINY_STORE, soak(400));
}

/// After a reset amid traffic, the engine knows nothing of the traffic before.
#[test]
fn message_engine_reset() {
    resets(SMALL);
    resets(TINY);
}

#[test]
fn message_engine_reset_store() {
    resets(STORE);
}

fn resets(shape: Shape) {
    let mut bench = Bench::new(shape, "message_engine_reset");
    for round in 0..soak(200) {
        bench.set_paces();
        bench.fail = true;
        bench.late = [0.0, 0.1][round as usize % 2];
        bench.drops = [0.0, 0.1][round as usize / 2 % 2];
        // The reset ends fetches of any length.
        bench.vast = round % 3 == 1;
        // The receiver has forgotten all numbers, and so have the senders.
        bench.choose_senders();
        let cycles = bench.rng.random_range(1..600);
        bench.traffic(cycles, 0.4, 0.4, 0.8);
        if round % 3 == 2 {
            bench.closed = false;
            bench.at_ease();
            bench.settle();
            bench.clean();
            bench.choose_values();
        }
        if round % 6 != 2 {
            bench = bench.restart();
        }
    }
}

/// A message without a payload. Context and tag are set by the bench.
const PLAIN: Message = Message {
    announce: true,
    source: 1,
    context: 0,
    tag: 0,
    length: 0,
    serial: 0,
    id: 0,
    recall: false,
};

/// The store holds as many messages as its depth. One more message is refused, and all entries can
/// be used again. The first messages after a reset get the fragments in their order.
#[test]
fn message_engine_full() {
    for shape in [TINY, SMALL, TINY_STORE, STORE] {
        let mut bench = Bench::new(shape, "message_engine_full");
        for round in 0..3 {
            for number in 0..shape.depth as u16 + 3 {
                bench.arrivals.push(Message {
                    announce: false,
                    length: 4,
                    id: number,
                    ..PLAIN
                });
            }
            bench.settle();
            assert_eq!(bench.unexpected.len(), shape.depth);
            if round == 0 {
                let first = shape.node_bytes - shape.depth as u32 * shape.fragment;
                let places = (first..shape.node_bytes).step_by(shape.fragment as usize);
                let taken = bench.fragments.iter().map(|&(address, ..)| address);
                assert_eq!(Vec::from_iter(taken), Vec::from_iter(places));
            }
            bench.clean();
        }
        assert_eq!(bench.refusals, 9);
        // The source of all these messages has no entry any more.
        bench.quota = 1;
        bench.register(rank::MESSAGE_QUOTA, 1);
        bench.settle();
        bench
            .arrivals
            .extend([1, 2].map(|id| Message { id, ..PLAIN }));
        bench.settle();
        assert_eq!((bench.unexpected.len(), bench.refusals), (1, 10));
    }
}

/// After a refusal, the messages of the source that have other serial numbers are refused until the
/// refused one, number 1 or a recall comes.
#[test]
fn message_engine_streams() {
    for shape in [TINY, TINY_STORE] {
        streams(shape);
    }
}

fn streams(shape: Shape) {
    let mut bench = Bench::new(shape, "message_engine_streams");
    let mut id = 0;
    /// Whether the message is refused, and then the value of `arrival_line_o`.
    type Outcome = (bool, u32);
    const TAKEN: Outcome = (false, 0);
    fn refused(line: u32) -> Outcome {
        (true, line)
    }
    let mut send = |bench: &mut Bench, source: u8, serials: &[u8]| -> Vec<Outcome> {
        let send = |&serial: &u8| {
            id = (id + 1) % 1024;
            bench.arrivals.push(Message {
                source,
                serial,
                id,
                ..PLAIN
            });
            bench.settle();
            match bench.outcome {
                (true, line) => refused(line),
                (false, _) => TAKEN,
            }
        };
        serials.iter().map(send).collect()
    };
    fn receive(bench: &mut Bench, count: usize) {
        for _ in 0..count {
            bench.commands.push(Command {
                op: Op::Receive,
                source: None,
                context: 0,
                tag: None,
                address: 64,
                capacity: 64,
                id: 3,
                defer: false,
            });
            bench.settle();
        }
    }
    fn recall(bench: &mut Bench, source: u8) {
        bench.arrivals.push(Message {
            recall: true,
            serial: 9,
            source,
            ..PLAIN
        });
        bench.settle();
    }
    let depth = shape.depth as u8;
    let full: Vec<u8> = (1..=depth).collect();
    assert_eq!(send(&mut bench, 7, &full), vec![TAKEN; full.len()]);
    // A message without a number marks no source.
    assert_eq!(send(&mut bench, 6, &[0]), [refused(0)]);
    // Number 9 is refused, and number 10 behind it though there is room by then.
    assert_eq!(send(&mut bench, 7, &[9]), [refused(1)]);
    receive(&mut bench, 3);
    assert_eq!(send(&mut bench, 7, &[10, 11, 8, 63]), [refused(1); 4]);
    // Other sources go on, as do messages without a number.
    assert_eq!(send(&mut bench, 6, &[5, 6]), [TAKEN; 2]);
    assert_eq!(send(&mut bench, 7, &[0]), [TAKEN]);
    // The refused message is refused again for lack of room, and its number remains.
    assert_eq!(send(&mut bench, 7, &[9, 10]), [refused(1); 2]);
    // So is a message without a number, which says nothing of the mark.
    assert_eq!(send(&mut bench, 7, &[0]), [refused(0)]);
    // Three sources are marked.
    assert_eq!(send(&mut bench, 6, &[7, 8]), [refused(2); 2]);
    assert_eq!(send(&mut bench, 135, &[63, 2]), [refused(3); 2]);
    receive(&mut bench, 5);
    assert_eq!(
        send(&mut bench, 7, &[10, 0, 10]),
        [refused(3), TAKEN, refused(3)]
    );
    assert_eq!(send(&mut bench, 7, &[9, 10]), [TAKEN; 2]);
    assert_eq!(send(&mut bench, 6, &[8, 7, 8]), [refused(2), TAKEN, TAKEN]);
    // A recall of another source leaves the mark, that of the source clears it.
    recall(&mut bench, 134);
    assert_eq!(send(&mut bench, 135, &[2]), [refused(1)]);
    recall(&mut bench, 135);
    let waiting = bench.unexpected.len();
    receive(&mut bench, waiting);
    assert_eq!(send(&mut bench, 135, &[2]), [TAKEN]);
    bench.clean();
    // Number 1 is taken in place of the stored number.
    assert_eq!(send(&mut bench, 7, &full), vec![TAKEN; full.len()]);
    assert_eq!(send(&mut bench, 7, &[30, 31]), [refused(1); 2]);
    receive(&mut bench, 3);
    assert_eq!(
        send(&mut bench, 7, &[31, 1, 2, 31]),
        [refused(1), TAKEN, TAKEN, TAKEN]
    );
    // Where number 1 is refused, it is stored, and the number before it is forgotten.
    assert_eq!(send(&mut bench, 7, &[40, 1, 2]), [refused(1); 3]);
    receive(&mut bench, 3);
    assert_eq!(
        send(&mut bench, 7, &[40, 2, 1, 2]),
        [refused(1), refused(1), TAKEN, TAKEN]
    );
    bench.clean();
    // A reset refuses messages, and marks no source; a recall clears a mark meanwhile.
    assert_eq!(send(&mut bench, 7, &full), vec![TAKEN; full.len()]);
    assert_eq!(send(&mut bench, 7, &[20]), [refused(1)]);
    bench.closed = true;
    assert_eq!(send(&mut bench, 7, &[20, 1]), [refused(0); 2]);
    assert_eq!(send(&mut bench, 6, &[20, 1, 0]), [refused(0); 3]);
    bench.closed = false;
    receive(&mut bench, 3);
    assert_eq!(send(&mut bench, 6, &[21]), [TAKEN]);
    // The mark of before the reset remains.
    assert_eq!(send(&mut bench, 7, &[2, 20]), [refused(1), TAKEN]);
    bench.clean();
    // A sender whose numbers all belong to refused messages: each is taken in its turn alone.
    let numbers: Vec<u8> = (5..=LAST_SERIAL).chain(2..5).collect();
    assert_eq!(send(&mut bench, 0, &full), vec![TAKEN; full.len()]);
    assert_eq!(
        send(&mut bench, 7, &numbers),
        vec![refused(1); MOST_UNTAKEN]
    );
    bench.clean();
    assert_eq!(
        send(&mut bench, 7, &numbers[1..]),
        vec![refused(1); MOST_UNTAKEN - 1]
    );
    for &serial in &numbers {
        assert_eq!(send(&mut bench, 7, &[serial]), [TAKEN]);
        receive(&mut bench, 1);
    }
    // A message that is too long marks its source, too.
    let long = Message {
        announce: false,
        length: shape.fragment + 1,
        serial: 50,
        ..PLAIN
    };
    bench.arrivals.push(long);
    bench.settle();
    assert_eq!(bench.outcome, (true, 1));
    assert_eq!(
        send(&mut bench, 1, &[51, 50, 51]),
        [refused(1), TAKEN, TAKEN]
    );
    bench.clean();
    // A mark that is set or cleared counts for the message of the next cycle.
    for (serial, bit) in [21, 42]
        .into_iter()
        .flat_map(|serial| (0..6).map(move |bit| (serial, bit)))
    {
        let refusals = bench.refusals;
        bench.arrivals.push(Message { serial, ..long });
        for (id, serial) in [(1, serial ^ 1 << bit), (2, serial), (3, serial ^ 1 << bit)] {
            bench.arrivals.push(Message {
                serial,
                id,
                ..PLAIN
            });
        }
        bench.settle();
        assert_eq!((bench.refusals - refusals, bench.unexpected.len()), (2, 2));
        bench.clean();
    }
    // All sources are marked. The number of marked sources ends at 31.
    assert_eq!(send(&mut bench, 0, &full), vec![TAKEN; full.len()]);
    let serial_of = |source: u8| 2 + source % (LAST_SERIAL - 1);
    let line_of = |source: u8| (u32::from(source) + 1).min(31);
    for source in 0..=u8::MAX {
        assert_eq!(
            send(&mut bench, source, &[serial_of(source)]),
            [refused(line_of(source))]
        );
    }
    receive(&mut bench, full.len());
    for source in (0..=u8::MAX).rev() {
        let serial = serial_of(source);
        assert_eq!(
            send(&mut bench, source, &[serial ^ 1, serial]),
            [refused(line_of(source)), TAKEN]
        );
        receive(&mut bench, 1);
    }
    assert!(bench.expects.is_empty());
    bench.clean();
    let lost = bench.lost;
    assert_eq!((lost, bench.no_room), (3, 3));
    assert!(bench.refusals > lost);
}

/// As many messages as there are entries wait for their search. A recall behind them waits for a
/// place.
#[test]
fn message_engine_recall_waits() {
    for shape in [SMALL, STORE] {
        recall_waits(shape);
    }
}

fn recall_waits(shape: Shape) {
    let mut bench = Bench::new(shape, "message_engine_recall_waits");
    let probe = Command {
        op: Op::Probe,
        source: None,
        context: 0,
        tag: None,
        address: 0,
        capacity: 0,
        id: 0,
        defer: false,
    };
    // The engine waits with a completion, so that no search begins.
    bench.completions.set_pace(Pace::Never);
    bench.commands.extend([probe; 40]);
    for _ in 0..400 {
        bench.cycle();
    }
    let begun = bench.begun[0];
    for id in 0..shape.depth as u16 {
        bench.arrivals.push(Message { id, ..PLAIN });
    }
    bench.arrivals.push(Message {
        recall: true,
        ..PLAIN
    });
    for _ in 0..400 {
        bench.cycle();
    }
    assert_eq!(bench.begun[0], begun);
    assert_eq!(
        (bench.waiting.len(), bench.arrivals.len()),
        (shape.depth, 1),
        "a recall that waits"
    );
    bench.at_ease();
    bench.settle();
    assert_eq!(bench.tally.recalled, shape.depth as u64);
    // The engine is not idle before the match result of a recall is taken.
    bench.verdicts.set_pace(Pace::Never);
    bench.arrivals.push(Message {
        recall: true,
        ..PLAIN
    });
    for _ in 0..400 {
        bench.cycle();
        assert!(!bench.is("idle_o"), "{}", bench.place());
    }
    assert!(bench.is("verdict_valid_o"), "{}", bench.place());
    bench.clean();
}

/// A payload that must leave before its search has ended goes to its fragment. In the cycle in which
/// the search ends, and later, the payload goes to the receive buffer. Neither depends on the entry,
/// which is a new one for each message, or the only free one.
#[test]
fn message_engine_late() {
    // The number of cycles from the arrival to the end of the search.
    for (shape, search) in [(SMALL, 5), (STORE, 10)] {
        let mut bench = Bench::new(shape, "message_engine_late");
        for is_crowded in [false, true] {
            // Messages of another queue pair.
            let others = if is_crowded {
                shape.depth as u16 - 1
            } else {
                0
            };
            bench.arrivals.extend((0..others).map(|id| Message {
                context: 1,
                id,
                ..PLAIN
            }));
            bench.settle();
            for delay in 1..search + 4 {
                late(&mut bench, delay, search);
            }
        }
        bench.clean();
    }
}

/// A message with a payload arrives, and must leave `delay` cycles later.
fn late(bench: &mut Bench, delay: u64, search: u64) {
    bench.commands.push(Command {
        op: Op::Receive,
        source: None,
        context: 0,
        tag: None,
        address: 64,
        capacity: 64,
        id: 5,
        defer: false,
    });
    bench.settle();
    bench.verdicts.set_pace(Pace::Never);
    bench.arrivals.push(Message {
        announce: false,
        length: 8,
        id: 1000,
        ..PLAIN
    });
    while !bench.awaits {
        bench.cycle();
    }
    let before = (bench.tally.late, bench.direct[0]);
    for _ in 1..delay {
        bench.cycle();
    }
    bench.late = 1.0;
    bench.cycle();
    bench.late = 0.0;
    bench.verdicts.set_pace(Pace::Always);
    bench.settle();
    let is_late = u64::from(delay < search);
    assert_eq!(
        (bench.tally.late, bench.direct[0]),
        (before.0 + is_late, before.1 + 1 - is_late),
        "{:?}, {delay} cycles",
        bench.shape
    );
}

/// A message searches as many receives as fit. Messages, receives and probes of
/// another queue pair take as long as without that search.
#[test]
fn message_engine_independence() {
    let shape = Shape {
        depth: 256,
        matchers: 3,
        pairs: 2,
        ..SMALL
    };
    let mut bench = Bench::new(shape, "message_engine_independence");
    let eager = |context, tag, id| Message {
        announce: false,
        length: 8,
        context,
        tag,
        id,
        ..PLAIN
    };
    let receive = |context, tag, id| Command {
        op: Op::Receive,
        source: Some(1),
        context,
        tag: Some(tag),
        address: 64,
        capacity: 64,
        id,
        defer: false,
    };
    let receives = 250;
    let mut took = Vec::new();
    for searches in [false, true] {
        for id in 0..receives {
            bench.commands.push(receive(0, id.into(), id));
        }
        bench.commands.push(receive(1, 7, 250));
        bench.arrivals.push(eager(1, 8, 1));
        bench.settle();
        if searches {
            // The longest search.
            bench.arrivals.push(Message {
                tag: u32::from(receives) - 1,
                ..PLAIN
            });
        }
        bench.arrivals.push(eager(1, 7, 2));
        bench.commands.push(receive(1, 8, 251));
        let begin = bench.dut.cycle();
        while bench.tally.direct + bench.tally.copies < 2 * took.len() as u64 + 2 {
            bench.cycle();
        }
        let end = bench.dut.cycle() - begin;
        let found = bench
            .expected
            .iter()
            .any(|&(_, id, ..)| id == u32::from(receives) - 1);
        assert_eq!(found, searches, "the long search is under way");
        took.push(end);
        bench.settle();
        bench.clean();
    }
    assert!(took[1] <= took[0] + 6 && took[0] < 40, "{took:?}");
}

/// Limits of a queue pair refuse receives, and messages until the next write of the limits.
#[test]
fn message_engine_limits() {
    let mut bench = Bench::new(STORE, "message_engine_limits");
    let send = |bench: &mut Bench, context, tag, ids: std::ops::Range<u16>| {
        let message = |id| Message {
            announce: id % 2 == 0,
            length: u32::from(4 * (id % 3)),
            context,
            tag,
            id,
            ..PLAIN
        };
        bench.arrivals.extend(ids.map(message));
        bench.settle();
    };
    let post = |context, tag, id| Command {
        op: Op::Receive,
        source: None,
        context,
        tag: Some(tag),
        address: 64,
        capacity: 64,
        id,
        defer: false,
    };
    let receive = |bench: &mut Bench, context, tag, id| {
        bench.commands.push(post(context, tag, id));
        bench.settle();
    };
    fn state(bench: &mut Bench, pair: u32) -> (u32, u32, u32) {
        bench.register(rank::QUEUE_PAIR, pair);
        bench.settle();
        let state = bench.read(rank::QUEUE_PAIR_STATE);
        use rank::queue_pair_state::{POSTED, STOPPED, UNEXPECTED};
        (POSTED.get(state), UNEXPECTED.get(state), STOPPED.get(state))
    }
    bench.limit(3, 2, 4);
    receive(&mut bench, 3, 50, 0);
    // Contexts 3 and 11 have the same queue pair.
    send(&mut bench, 3, 5, 0..3);
    send(&mut bench, 11, 5, 3..4);
    assert_eq!(state(&mut bench, 3), (1, 4, 0));
    send(&mut bench, 11, 5, 4..5);
    assert_eq!((bench.refusals, state(&mut bench, 3)), (1, (1, 4, 1)));
    // Later messages are refused, also those for which a receive waits, and those with room.
    send(&mut bench, 3, 50, 5..8);
    receive(&mut bench, 3, 5, 1);
    send(&mut bench, 3, 5, 8..9);
    assert_eq!((bench.refusals, state(&mut bench, 3)), (5, (1, 3, 1)));
    // Other pairs go on, also with the entries of the refused messages.
    send(&mut bench, 4, 5, 9..STORE.depth as u16);
    assert_eq!((bench.refusals, state(&mut bench, 4)), (5, (0, 55, 0)));
    bench.limit(3, 2, NEVER);
    send(&mut bench, 3, 50, 100..101);
    assert_eq!((bench.refusals, state(&mut bench, 3)), (5, (0, 3, 0)));
    // Receives: two wait, a third one is refused, and its id is free.
    for id in [2, 3, 4, 4] {
        receive(&mut bench, 11, 60, id);
    }
    assert_eq!(state(&mut bench, 3), (2, 3, 0));
    bench.limit(3, 3, NEVER);
    receive(&mut bench, 3, 60, 4);
    assert_eq!(state(&mut bench, 3), (3, 3, 0));
    // Receives of another pair enter while others are refused, whose ids are free afterwards.
    bench.commands.set_pace(Pace::Chance(0.5));
    for id in 10..30 {
        let both = [post(3, 60, id), post(4, 60, id + 20)];
        bench.commands.extend(both);
    }
    bench.settle();
    bench.commands.extend((10..30).map(|id| post(5, 60, id)));
    bench.settle();
    assert_eq!((state(&mut bench, 4).0, state(&mut bench, 5).0), (20, 20));
    bench.clean();
    // One pair after the other is stopped, and each shows its own state.
    let order = [6u16, 1, 4, 0, 7, 3, 2, 5];
    for (place, pair) in order.into_iter().enumerate() {
        bench.limit(pair.into(), NEVER, 0);
        send(&mut bench, pair as u8, 70, 200 + pair..201 + pair);
        for other in order {
            let is_stopped = order[..=place].contains(&other);
            let found = state(&mut bench, other.into());
            assert_eq!(found, (0, 0, is_stopped.into()), "{other}");
        }
    }
}

/// Continuous messages and continuous commands alternate.
#[test]
fn message_engine_turns() {
    let mut bench = Bench::new(SMALL, "message_engine_turns");
    let count = SMALL.depth / 2;
    for number in 0..count as u16 {
        bench.arrivals.push(Message {
            id: number,
            ..PLAIN
        });
        bench.commands.push(Command {
            op: Op::Probe,
            source: None,
            context: 1,
            tag: None,
            address: 0,
            capacity: 0,
            id: number,
            defer: false,
        });
    }
    while bench.begun.iter().all(|&begun| begun < count as u64) {
        bench.cycle();
        assert!(
            bench.begun[0].abs_diff(bench.begun[1]) <= 1,
            "{:?}",
            bench.begun
        );
    }
    bench.settle();
    bench.clean();
}

/// The number of concurrent copies and fetches is bounded. The next one begins when one has ended.
#[test]
fn message_engine_flights() {
    for (shape, announce) in [(SMALL, false), (SMALL, true), (STORE, false), (STORE, true)] {
        let mut bench = Bench::new(shape, "message_engine_flights");
        bench.answers.set_pace(Pace::Never);
        let count = 3 * UNDER_WAY as u16;
        for id in 0..count {
            bench.arrivals.push(Message {
                announce,
                length: 33,
                id,
                ..PLAIN
            });
        }
        bench.settle();
        for id in 0..count {
            bench.commands.push(Command {
                op: Op::Receive,
                source: None,
                context: 0,
                tag: None,
                address: 64,
                capacity: 64,
                id,
                defer: false,
            });
        }
        for _ in 0..1_000 {
            bench.cycle();
        }
        assert_eq!(bench.flights.len(), UNDER_WAY);
        bench.clean();
    }
}

impl Bench {
    /// A message of `length` bytes is announced, and a receive for it posted.
    fn announce(&mut self, length: u32, address: u32, capacity: u32) {
        self.arrivals.push(Message {
            length,
            id: 700,
            ..PLAIN
        });
        self.commands.push(Command {
            op: Op::Receive,
            source: None,
            context: 0,
            tag: None,
            address,
            capacity,
            id: 5,
            defer: false,
        });
    }
}

/// Packets of fetches up to the longest one, as far as they come in the time.
#[test]
fn message_engine_long_fetch() {
    let mut bench = Bench::new(SMALL, "message_engine_long_fetch");
    for cycles in [100_000, 2_000, 2_000, 2_000] {
        // The upper half of all lengths.
        let [length, capacity] = std::array::from_fn(|_| bench.rng.random::<u32>() | 1 << 31);
        let address = bench.rng.random();
        bench.announce(length, address, capacity);
        for _ in 0..cycles {
            bench.cycle();
        }
        // A packet each fifth cycle.
        assert!(bench.fetched > 10 * cycles, "{} bytes", bench.fetched);
        bench = bench.restart();
    }
}

/// The first packet of fetches of messages that are a little longer than their receive, or not.
#[test]
fn message_engine_fetch_lengths() {
    let mut bench = Bench::new(SMALL, "message_engine_fetch_lengths");
    for bit in 12..32 {
        for step in 0..bit {
            let rng = &mut bench.rng;
            let few = rng.random_range(0..1 << 12);
            let (capacity, length) = match step {
                0 => (1 << bit, 1 << bit),
                _ => (1 << bit | few, (1 << bit | few) + (1 << (step - 1))),
            };
            bench.announce(length, 0x100, capacity);
            for _ in 0..400 {
                bench.cycle();
                if bench.fetched > 0 {
                    break;
                }
            }
            assert!(
                bench.fetched > 0,
                "{length:#x} bytes, room for {capacity:#x}"
            );
            bench = bench.restart();
        }
    }
}

/// A fetch finds the message that this rank has announced.
#[test]
fn message_engine_announced() {
    let mut bench = Bench::new(SMALL, "message_engine_announced");
    let mut announced = vec![None; SMALL.depth];
    for _ in 0..soak(2_000) {
        let id = bench.rng.random_range(0..SMALL.depth);
        let (base, size): (u32, u32) = bench.rng.random();
        let announce = bench.rng.random_bool(0.3);
        bench.set("announce_i", announce);
        // A probe accepted in the same cycle is no announcement.
        let probes = bench.rng.random_bool(0.5);
        bench.set("command_valid_i", probes);
        bench.set("command_i", Op::Probe as u64);
        bench.set("completion_ready_i", 1u64);
        bench.set("command_id_i", id as u64);
        bench.set("command_address_i", base);
        bench.set("command_length_i", size);
        let asked = bench.rng.random_range(0..SMALL.depth);
        bench.set("fetch_lookup_i", 1u64);
        bench.set("fetch_id_i", asked as u64);
        bench.dut.settle();
        bench.dut.clock();
        bench.set("announce_i", 0u64);
        bench.set("command_valid_i", 0u64);
        bench.set("fetch_lookup_i", 0u64);
        for _ in 0..3 {
            bench.dut.settle();
            if let Some(known) = announced[asked] {
                let found = (bench.word("fetch_base_o"), bench.word("fetch_size_o"));
                assert_eq!(found, known, "{asked}");
            }
            bench.dut.clock();
        }
        if announce {
            announced[id] = Some((base, size));
        }
    }
}

/// Exact cycles, as in the document.
#[test]
fn message_engine_latency() {
    let mut bench = Bench::new(SMALL, "message_engine_latency");
    let receive = |id, tag| Command {
        op: Op::Receive,
        source: Some(1),
        context: 0,
        tag: Some(tag),
        address: 64,
        capacity: 64,
        id,
        defer: false,
    };
    let eager = |id, tag| Message {
        announce: false,
        length: 8,
        tag,
        id,
        ..PLAIN
    };
    fn judge(bench: &mut Bench, message: Message) -> u64 {
        bench.arrivals.push(message);
        bench.settle();
        bench.times.verdict - bench.times.arrival
    }
    fn take(bench: &mut Bench, command: Command) {
        bench.commands.push(command);
        bench.settle();
    }
    let thresholds = |bench: &mut Bench, value| {
        bench.register(rank::POSTED_THRESHOLD, value);
        bench.register(rank::UNEXPECTED_THRESHOLD, value);
        bench.settle();
        for _ in 0..200 {
            bench.cycle();
        }
    };

    // From messages to their match results.
    thresholds(&mut bench, NEVER);
    assert_eq!(judge(&mut bench, eager(1, 1)), 6, "no receive is posted");
    bench.clean();
    for bit in 7..16 {
        bench.quota = 1 << bit;
        bench.register(rank::MESSAGE_QUOTA, bench.quota);
        bench.settle();
        assert_eq!(judge(&mut bench, eager(1, 1)), 6, "quota {:#x}", 1 << bit);
        bench.clean();
    }
    bench.quota = NEVER;
    bench.register(rank::MESSAGE_QUOTA, NEVER);
    let longer = Message {
        length: bench.shape.fragment + 1,
        ..eager(1, 1)
    };
    assert_eq!(judge(&mut bench, longer), 1, "longer than a fragment");
    for id in 0..20 {
        take(&mut bench, receive(id, u32::from(id)));
    }
    assert_eq!(judge(&mut bench, eager(2, 99)), 6 + 20, "none fits");
    for tag in [12, 5, 0] {
        assert_eq!(
            judge(&mut bench, eager(3, tag)),
            7 + u64::from(tag),
            "by walking"
        );
        // From the write of the last byte to completion, acknowledgement, and the release of the entries.
        let times = bench.times;
        assert_eq!(
            [times.completion, times.ack, times.idle].map(|time| time - times.note),
            [4, 4, 7]
        );
    }
    thresholds(&mut bench, 0);
    for tag in [13, 1] {
        assert_eq!(judge(&mut bench, eager(4, tag)), 10, "by the unit");
    }
    bench.clean();
    bench.quota = 0;
    bench.register(rank::MESSAGE_QUOTA, 0);
    bench.settle();
    assert_eq!(judge(&mut bench, eager(4, 1)), 1, "refused");
    bench.quota = NEVER;
    bench.register(rank::MESSAGE_QUOTA, NEVER);
    bench.settle();

    // From receives to the actions of their messages.
    thresholds(&mut bench, NEVER);
    for tag in 0..20 {
        judge(&mut bench, eager(tag, tag.into()));
    }
    for tag in [12, 5, 0] {
        take(&mut bench, receive(0, tag));
        let times = bench.times;
        assert_eq!(times.copy - times.command, 6 + u64::from(tag), "by walking");
        assert_eq!(times.completion - times.note, 4);
    }
    thresholds(&mut bench, 0);
    take(&mut bench, receive(0, 13));
    assert_eq!(bench.times.copy - bench.times.command, 9, "by the unit");
    bench.clean();
    thresholds(&mut bench, NEVER);
    judge(
        &mut bench,
        Message {
            announce: true,
            length: 500,
            ..eager(1, 1)
        },
    );
    let fetched = Command {
        capacity: 500,
        ..receive(0, 1)
    };
    bench.commands.push(fetched);
    bench.cycle();
    let begun = bench.times.command;
    while !bench.is("head_valid_o") {
        bench.cycle();
    }
    assert_eq!(bench.times.head - begun, 7);
    let mut taken = Vec::new();
    while bench.fetched != 0 {
        let before = bench.times.word;
        bench.cycle();
        if bench.times.word != before {
            taken.push(bench.times.word);
        }
    }
    bench.settle();
    // The first word was already accepted.
    for packet in taken[3..].chunks_exact(4).collect::<Vec<_>>().windows(2) {
        assert_eq!(packet[1][0] - packet[0][0], 5, "a packet each fifth cycle");
    }

    // Both kinds: nothing to transfer, a probe, a cancelled receive.
    take(&mut bench, receive(0, 1));
    judge(&mut bench, PLAIN.with_tag(1));
    assert_eq!(bench.times.completion - bench.times.arrival, 12);
    let probe = Command {
        op: Op::Probe,
        ..receive(0, 1)
    };
    take(&mut bench, probe);
    assert_eq!(bench.times.completion - bench.times.command, 3, "not found");
    judge(&mut bench, eager(1, 1));
    take(&mut bench, probe);
    assert_eq!(bench.times.completion - bench.times.command, 4, "found");
    take(&mut bench, receive(5, 9));
    take(
        &mut bench,
        Command {
            op: Op::Cancel,
            ..receive(5, 9)
        },
    );
    assert_eq!(bench.times.completion - bench.times.command, 4, "cancelled");
}

/// Exact cycles with a match store, as in the document.
#[test]
fn message_engine_latency_store() {
    let mut bench = Bench::new(STORE, "message_engine_latency_store");
    let command = |op, id: u16| Command {
        op,
        source: Some(1),
        context: 0,
        tag: Some(id.into()),
        address: 64,
        capacity: 64,
        id,
        defer: false,
    };
    let eager = |id: u16| Message {
        announce: false,
        length: 8,
        tag: id.into(),
        id,
        ..PLAIN
    };
    fn judge(bench: &mut Bench, message: Message) -> u64 {
        bench.arrivals.push(message);
        bench.settle();
        bench.times.verdict - bench.times.arrival
    }
    fn take(bench: &mut Bench, command: Command) -> (u64, u64) {
        bench.commands.push(command);
        bench.settle();
        let times = bench.times;
        (
            times.copy.saturating_sub(times.command),
            times.completion.saturating_sub(times.command),
        )
    }
    let mut found = vec![judge(&mut bench, eager(40))];
    found.push(take(&mut bench, command(Op::Receive, 40)).0);
    take(&mut bench, command(Op::Receive, 1));
    found.push(judge(&mut bench, eager(1)));
    take(&mut bench, command(Op::Receive, 1));
    bench.arrivals.push(PLAIN.with_tag(1));
    bench.settle();
    found.push(bench.times.completion - bench.times.arrival);
    found.push(take(&mut bench, command(Op::Probe, 1)).1);
    judge(&mut bench, eager(1));
    found.push(take(&mut bench, command(Op::Probe, 1)).1);
    take(&mut bench, command(Op::Receive, 2));
    found.push(take(&mut bench, command(Op::Cancel, 2)).1);
    take(&mut bench, command(Op::Receive, 1));
    let recall = Message {
        recall: true,
        ..PLAIN
    };
    found.push(judge(&mut bench, recall));
    assert_eq!(found, [9, 12, 12, 17, 6, 9, 10, 59]);
    bench.clean();
}

impl Message {
    fn with_tag(self, tag: u32) -> Self {
        Self { tag, ..self }
    }
}
