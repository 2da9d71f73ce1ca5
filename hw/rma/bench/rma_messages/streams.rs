//! Messages with serial numbers: a receiver without room refuses them, and the sender sends them
//! again in the same order.

use super::*;

/// Command ids of messages; the others are those of receives. A refused message keeps its id, so
/// fewer messages are unanswered than the 62 that serial numbers allow.
const IDS: u32 = 26;
/// The largest serial number. Number 2 follows it.
const LAST: u32 = 63;
/// Contexts. In the first one, each receive names its source; in the second one, none does.
const NAMED: u32 = 0;
const ANY: u32 = 200;
/// Kinds of receives of a rank: one for each named source, and those that name none.
const KINDS: usize = RANKS + 1;
/// Maximum number of receives of a kind that have not ended. Each kind has some to itself. So a
/// message that waits always gets its receive.
const PER_KIND: usize = 2;

/// What a sender knows of a message that is not taken.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Sent,
    /// Sent after a message that is refused, so it is refused too.
    Doomed,
    /// Refused, and not sent again.
    Kept,
}

#[derive(Debug, Clone)]
struct Numbered {
    way: Way,
    id: u32,
    kind: usize,
    /// Place among the messages of this kind from this sender to this receiver.
    place: u64,
    serial: u32,
    announced: bool,
    address: u32,
    length: u32,
    /// Number of refusals.
    refusals: u32,
}

impl Numbered {
    fn tag(&self) -> u32 {
        tag(self.place)
    }
}

/// Tag of a message by its place. Different places have different tags.
fn tag(place: u64) -> u32 {
    x_tag::TAG.get((place as u32).wrapping_mul(0x02f1_b4e5))
}

/// The messages from one rank to another.
#[derive(Default)]
struct Stream {
    /// Oldest first.
    untaken: VecDeque<Numbered>,
    /// The last serial number.
    last: u32,
    /// Number of messages of each kind.
    count: [u64; KINDS],
    /// Cycle before which no refused message is sent again.
    pause: u64,
    refused: u32,
}

struct Posted {
    id: u32,
    kind: usize,
    /// Place among the receives of this kind.
    place: u64,
    address: u32,
    capacity: u32,
}

/// A rank as a receiver.
#[derive(Default)]
struct Receiver {
    posted: Vec<Posted>,
    /// Number of receives of each kind.
    count: [u64; KINDS],
    /// Receives without a source: place of the receive, sender, and place of the message.
    any: Vec<(u64, usize, u64)>,
    /// Refusals that have come back to this rank: id half-words, oldest first.
    refusals: VecDeque<u32>,
    memory: Vec<u8>,
}

/// Numbers of events.
#[derive(Debug, Default)]
struct Counts {
    /// Refusals, by the number of sources that are refused.
    lines: [u64; RANKS],
    doomed: u64,
    again: u64,
    own: u64,
    announced: u64,
    empty: u64,
    truncated: u64,
    wrapped: u64,
}

struct Streams {
    bench: Bench,
    /// By sender and receiver.
    streams: [[Stream; RANKS]; RANKS],
    receivers: [Receiver; RANKS],
    /// Messages that no receive has taken: sender, receiver, kind and place.
    flying: HashMap<(usize, usize, usize, u64), Vec<u8>>,
    counts: Counts,
}

impl Streams {
    /// Sends a new message.
    fn send(&mut self, from: usize, to: usize, kind: usize) {
        let rng = &mut self.bench.rng;
        let is_used = |id: u32| {
            let mut untaken = self.streams[from].iter().flat_map(|stream| &stream.untaken);
            untaken.any(|message| message.id == id)
        };
        let first = rng.random_range(0..IDS);
        let Some(id) = (0..IDS)
            .map(|at| (first + at) % IDS)
            .find(|&id| !is_used(id))
        else {
            return;
        };
        let announced = rng.random_bool(0.3);
        let most = if announced { 700 } else { FRAGMENT };
        let length = match rng.random_range(0..6) {
            0 => 0,
            1 => most,
            _ => rng.random_range(0..=most),
        };
        let address = SENDS + ROOM * id + rng.random_range(0..8);
        let data = self.bench.bytes(from, address, length);
        let stream = &mut self.streams[from][to];
        stream.last = if stream.last == LAST {
            2
        } else {
            stream.last + 1
        };
        let message = Numbered {
            way: Way::Sent,
            id,
            kind,
            place: stream.count[kind],
            serial: stream.last,
            announced,
            address,
            length,
            refusals: 0,
        };
        stream.count[kind] += 1;
        self.counts.wrapped += u64::from(stream.last == LAST);
        self.counts.empty += u64::from(length == 0);
        self.flying.insert((from, to, kind, message.place), data);
        stream.untaken.push_back(message.clone());
        self.command(from, to, &message);
    }

    /// Writes the command of a message.
    fn command(&mut self, from: usize, to: usize, message: &Numbered) {
        let opcode = if message.announced {
            Opcode::XAnnounce
        } else {
            Opcode::XSend
        };
        let context = if message.kind == RANKS { ANY } else { NAMED };
        let id = x_message::SERIAL.put(message.serial) | x_message::ID.put(message.id);
        self.bench.message(
            from,
            opcode,
            [to as u32, context, message.tag(), id],
            [message.address, message.length],
        );
    }

    /// Sends the oldest refused message again, or a new one if `kind` names its kind.
    fn go_on(&mut self, from: usize, to: usize, kind: Option<usize>) {
        let now = self.bench.dut.cycle();
        let stream = &mut self.streams[from][to];
        let mut untaken = stream.untaken.iter_mut();
        match (untaken.find(|message| message.way != Way::Sent), kind) {
            (Some(message), _) if message.way == Way::Kept && stream.pause <= now => {
                message.way = Way::Sent;
                let message = message.clone();
                self.command(from, to, &message);
            }
            (None, Some(kind)) => self.send(from, to, kind),
            _ => {}
        }
    }

    fn receive(&mut self, at: usize, kind: usize) {
        let receiver = &self.receivers[at];
        let of_kind = receiver.posted.iter().filter(|posted| posted.kind == kind);
        if of_kind.count() == PER_KIND {
            return;
        }
        let is_used = |id: u32| receiver.posted.iter().any(|posted| posted.id == id);
        let id = (IDS..MESSAGES).find(|&id| !is_used(id)).expect("an id");
        let rng = &mut self.bench.rng;
        let address = RECEIVES + ROOM * id + rng.random_range(0..16);
        let capacity = match rng.random_range(0..4) {
            0 => rng.random_range(0..=FRAGMENT),
            _ => rng.random_range(600..=720),
        };
        let place = receiver.count[kind];
        let (source, context, word) = if kind == RANKS {
            let any = x_tag::ANY_SOURCE.put(1) | x_tag::ANY_TAG.put(1);
            (
                rng.random_range(0..256),
                ANY,
                any | rng.random_range(0..1 << 26),
            )
        } else if rng.random() {
            (kind as u32, NAMED, tag(place))
        } else {
            (kind as u32, NAMED, x_tag::ANY_TAG.put(1))
        };
        self.bench.message(
            at,
            Opcode::XReceive,
            [source, context, word, id],
            [address, capacity],
        );
        let receiver = &mut self.receivers[at];
        receiver.count[kind] += 1;
        receiver.posted.push(Posted {
            id,
            kind,
            place,
            address,
            capacity,
        });
    }

    fn step(&mut self) {
        self.bench.cycle();
        for at in 0..RANKS {
            self.look(at);
            for entry in self.bench.completions(at) {
                let place = format!("rank {at}, cycle {}: {entry:x?}", self.bench.dut.cycle());
                match entry.0 {
                    IDS..MESSAGES => self.received(at, entry, &place),
                    _ => self.sent(at, entry, &place),
                }
            }
        }
    }

    /// Compares messages that arrive, and notes refusals that come back.
    fn look(&mut self, at: usize) {
        while let Some(packet) = self.bench.nodes[at].received[REQUEST].pop_front() {
            if packet[0] >> 21 & 7 != PacketType::Message as u32 {
                continue;
            }
            let from = message::SRC.get(packet[0]) as usize;
            let mut untaken = self.streams[from][at].untaken.iter();
            let sent = untaken.find(|message| message.id == message_id::ID.get(packet[3]));
            let sent = sent.expect("a message that was sent");
            let last = message_id::SERIAL.put(sent.serial) | message_id::ID.put(sent.id);
            let expected = [sent.tag(), sent.length, last];
            assert_eq!(packet[1..4], expected, "{packet:x?}");
        }
        while let Some(packet) = self.bench.nodes[at].received[REPLY].pop_front() {
            let word = packet[0];
            let is_ack = x_ack::PTYPE.get(word) == PacketType::Xack as u32;
            if is_ack && x_ack::STATUS.get(word) == Status::NoRoom as u32 {
                self.receivers[at].refusals.push_back(x_ack::ID.get(word));
            }
        }
    }

    /// A command of a message has ended.
    fn sent(&mut self, from: usize, (half, status, source, ..): Entry, place: &str) {
        assert_eq!(source, 0, "{place}");
        let refused = status == Status::NoRoom as u32;
        let id = if refused {
            x_refusal::ID.get(half)
        } else {
            half
        };
        let (to, index) = (0..RANKS)
            .find_map(|to| {
                let mut untaken = self.streams[from][to].untaken.iter();
                Some((to, untaken.position(|message| message.id == id)?))
            })
            .unwrap_or_else(|| panic!("{place}: nothing is known of it"));
        let stream = &mut self.streams[from][to];
        let message = &mut stream.untaken[index];
        if !refused {
            assert_eq!(
                (status, message.way),
                (0, Way::Sent),
                "{place}: {message:x?}"
            );
            stream.untaken.remove(index);
            return;
        }
        let line = x_refusal::LINE.get(half);
        assert!(
            (1..=RANKS as u32).contains(&line),
            "{place}: {line} sources"
        );
        assert_eq!(x_refusal::ZERO.get(half), 0, "{place}");
        let told = self.receivers[from].refusals.pop_front();
        assert_eq!(told, Some(half), "{place}: the acknowledgement");
        assert_ne!(message.way, Way::Kept, "{place}: {message:x?}");
        let counts = &mut self.counts;
        counts.lines[line as usize - 1] += 1;
        counts.doomed += u64::from(message.way == Way::Doomed);
        counts.again += u64::from(message.refusals > 0 && message.way == Way::Sent);
        counts.own += u64::from(from == to);
        counts.announced += u64::from(message.announced);
        message.refusals += 1;
        message.way = Way::Kept;
        for later in stream.untaken.iter_mut().skip(index + 1) {
            if later.way == Way::Sent {
                later.way = Way::Doomed;
            }
        }
        stream.refused += 1;
        let longest = [1, 100, 400 * u64::from(line)][self.bench.rng.random_range(0..3)];
        stream.pause = self.bench.dut.cycle() + self.bench.rng.random_range(0..longest);
    }

    /// A receive has ended.
    fn received(&mut self, at: usize, entry: Entry, place: &str) {
        let (id, status, source, tag, length) = entry;
        let receiver = &mut self.receivers[at];
        let index = receiver.posted.iter().position(|posted| posted.id == id);
        let index = index.unwrap_or_else(|| panic!("{place}: nothing is known of it"));
        let posted = receiver.posted.remove(index);
        let from = source as usize;
        let number = if posted.kind == RANKS {
            // The message is found by its tag.
            let mut flying = self.flying.keys();
            let found = flying.find(|&&(sender, to, kind, number)| {
                (sender, to, kind) == (from, at, RANKS) && super::streams::tag(number) == tag
            });
            let &(.., number) = found.unwrap_or_else(|| panic!("{place}: no such message"));
            receiver.any.push((posted.place, from, number));
            number
        } else {
            assert_eq!(from, posted.kind, "{place}: source");
            assert_eq!(tag, super::streams::tag(posted.place), "{place}: the order");
            posted.place
        };
        let data = self.flying.remove(&(from, at, posted.kind, number));
        let data = data.unwrap_or_else(|| panic!("{place}: received twice, or never sent"));
        let kept = data.len().min(posted.capacity as usize);
        let expected = if kept < data.len() {
            Status::Truncated as u32
        } else {
            0
        };
        assert_eq!((status, length as usize), (expected, data.len()), "{place}");
        let found = self.bench.bytes(at, posted.address, kept as u32);
        assert!(found == data[..kept], "{place}: {} bytes", data.len());
        let start = posted.address as usize;
        receiver.memory[start..start + kept].copy_from_slice(&data[..kept]);
        self.counts.truncated += u64::from(kept < data.len());
    }

    /// Messages of a kind that were sent to a rank, up to now.
    fn sent_to(&self, at: usize, kind: usize) -> u64 {
        let streams = self.streams.iter();
        streams.map(|streams| streams[at].count[kind]).sum()
    }

    /// Random messages and receives for `cycles` cycles. Most of the messages go to one rank.
    fn traffic(&mut self, cycles: u32) {
        let paces = [0.01, 0.05, 0.3];
        let mut pace = || paces[self.bench.rng.random_range(0..paces.len())];
        let (sends, receives) = (pace(), pace());
        let most = self.bench.rng.random_range(0..RANKS);
        for _ in 0..cycles {
            for at in 0..RANKS {
                let rng = &mut self.bench.rng;
                let to = if rng.random_bool(0.9) { most } else { 1 - most };
                let kind = [at, RANKS][rng.random_range(0..2)];
                let new = rng.random_bool(sends).then_some(kind);
                let receive = rng.random_bool(receives);
                let kind = rng.random_range(0..KINDS);
                if self.bench.nodes[at].host.len() > 12 {
                    continue;
                }
                if receive {
                    self.receive(at, kind);
                }
                self.go_on(at, to, new);
            }
            self.step();
        }
    }

    /// Posts receives for all messages, and sends messages for all receives.
    fn clean(&mut self) {
        let start = self.bench.dut.cycle();
        loop {
            let mut is_even = true;
            for at in 0..RANKS {
                for kind in 0..KINDS {
                    let (sent, posted) = (self.sent_to(at, kind), self.receivers[at].count[kind]);
                    is_even &= sent == posted;
                    let from = if kind == RANKS { 1 - at } else { kind };
                    let host = [at, from].map(|rank| self.bench.nodes[rank].host.len());
                    if host[0] < 12 && sent > posted {
                        self.receive(at, kind);
                    }
                    if host[1] < 12 {
                        self.go_on(from, at, (sent < posted).then_some(kind));
                    }
                }
                if self.bench.nodes[at].host.len() < 12 {
                    self.go_on(at, at, None);
                }
            }
            let mut streams = self.streams.iter().flatten();
            let is_done = streams.all(|stream| stream.untaken.is_empty())
                && self
                    .receivers
                    .iter()
                    .all(|receiver| receiver.posted.is_empty());
            if is_even && is_done && self.bench.is_quiet() {
                break;
            }
            self.step();
            assert!(
                self.bench.dut.cycle() < start + 400_000,
                "{:?}: no end, {:?}",
                self.bench.config,
                self.streams
                    .each_ref()
                    .map(|streams| streams.each_ref().map(|stream| stream.untaken.clone()))
            );
        }
        assert!(self.flying.is_empty(), "{:?}", self.flying.keys());
        for at in 0..RANKS {
            let receiver = &mut self.receivers[at];
            let mut any = std::mem::take(&mut receiver.any);
            any.sort_unstable();
            for pair in (0..RANKS).map(|from| any.iter().filter(move |one| one.1 == from)) {
                let places: Vec<_> = pair.map(|&(.., place)| place).collect();
                assert!(places.is_sorted(), "rank {at}: {places:?}");
            }
            let wrong = (0..RING as usize)
                .find(|&byte| self.bench.nodes[at].memory[byte] != receiver.memory[byte]);
            assert_eq!(wrong, None, "rank {at}: the first wrong byte in memory");
            assert_eq!(self.bench.read(at, rank::MESSAGE_QUEUES), 0, "rank {at}");
            assert_eq!(self.bench.read(at, rank::EVENTS), 0, "rank {at}");
            let refused: u32 = self.streams.iter().map(|streams| streams[at].refused).sum();
            let found = self.bench.read(at, rank::MESSAGES_REFUSED);
            assert_eq!(found, refused, "rank {at}: refusals");
        }
    }
}

/// Random messages between the ranks and to themselves, without a quota. Each message is received
/// once, in order.
pub(super) fn streams(config: Config, rounds: u64, name: &'static str) {
    let mut bench = Bench::new(config, name);
    bench.begin();
    bench.drain();
    let receivers = std::array::from_fn(|at| Receiver {
        memory: bench.nodes[at].memory.clone(),
        ..Receiver::default()
    });
    let mut streams = Streams {
        bench,
        streams: Default::default(),
        receivers,
        flying: HashMap::new(),
        counts: Counts::default(),
    };
    for round in 0..rounds {
        streams.bench.set_paces();
        streams.bench.set_thresholds();
        streams.traffic(2_000);
        if round % 4 == 3 {
            streams.clean();
        }
    }
    streams.clean();
    let counts = &streams.counts;
    let often = [
        counts.lines[0],
        counts.lines[1],
        counts.doomed,
        counts.again,
        counts.own,
        counts.announced,
        counts.empty,
        counts.truncated,
        counts.wrapped,
    ];
    assert!(often.iter().all(|&some| some > rounds / 8), "{counts:?}");
}

impl Bench {
    /// Notes the ends of sends of a rank's kernel, and takes back a command that is taken.
    pub(super) fn kernel(&mut self, at: usize) {
        if !self.config.kernel {
            return;
        }
        let reply = self.word(at, "kernel_reply_o");
        if reply >> 8 == 1 {
            self.ended[at].push((reply >> 3 & 0x1f, reply & 7));
        }
    }

    /// Sends a message of a rank's kernel.
    fn kernel_sends(&mut self, at: usize, to: u32, serial: u32, slot: u32) {
        let id = x_message::SERIAL.put(serial) | (MESSAGES - 8 + slot);
        let commit = x_message::RANK.put(to) | x_message::CONTEXT.put(CONTEXT);
        for (name, value) in [
            ("kernel_opcode_i", Opcode::XSend as u32),
            ("kernel_data_i", commit | id),
            ("kernel_address_i", 0x1000),
            ("kernel_length_i", 8),
            ("kernel_tag_i", TAG),
            ("kernel_valid_i", 1),
        ] {
            self.set(at, name, value);
        }
        self.run_until("the kernel's turn", |bench| bench.is(at, "kernel_ready_o"));
        self.cycle();
        self.set(at, "kernel_valid_i", 0u64);
        self.run_until("the end of the operands", |bench| {
            bench.is(at, "kernel_done_o")
        });
        self.drain();
    }
}

/// Two ranks of which rank 1 has no room.
struct Alone {
    bench: Bench,
    /// Number of messages that rank 1 has refused.
    refused: u32,
}

impl Alone {
    /// Rank 1 has refused a message or not, and has raised an event or not.
    fn told(&mut self, refused: bool, is_event: bool, place: &str) {
        let event = rank::events::NO_ROOM.mask();
        let events = self.bench.read(1, rank::EVENTS);
        assert_eq!(events, if is_event { event } else { 0 }, "{place}");
        self.bench.register(1, rank::ACK_EVENTS, event);
        self.refused += u32::from(refused);
        let found = self.bench.read(1, rank::MESSAGES_REFUSED);
        assert_eq!(found, self.refused, "{place}");
        self.bench.drain();
    }

    /// Sends a message to rank 1: sender, command id and serial number. `line` is that of the
    /// refusal.
    fn send(&mut self, [from, id, serial]: [u32; 3], line: Option<u32>) {
        let place = format!("rank {from}: {id} with number {serial}");
        let opcode = [Opcode::XSend, Opcode::XAnnounce][id as usize % 2];
        let what = [1, CONTEXT, TAG, x_message::SERIAL.put(serial) | id];
        self.bench.message(from as usize, opcode, what, [0x1000, 8]);
        self.bench.drain();
        let half = |line: u32| x_refusal::ID.put(id) | x_refusal::LINE.put(line);
        let expected: Vec<_> = line
            .iter()
            .map(|&line| (half(line), Status::NoRoom as u32))
            .collect();
        assert_eq!(self.bench.statuses(from as usize), expected, "{place}");
        self.told(line.is_some(), line.is_some() && serial == 0, &place);
    }

    /// Sends a message of the kernel of rank 0. Its operand has a serial number of which only bit 5
    /// may be set: the others are bits of the id.
    fn kernel(&mut self, serial: u32, refused: bool) {
        let place = format!("kernel: number {serial}");
        let before = self.bench.ended[0].len();
        self.bench.kernel_sends(0, 1, serial, 5);
        let status = (Status::NoRoom as u32, 5);
        let expected = if refused { &[status][..] } else { &[] };
        assert_eq!(self.bench.ended[0][before..], *expected, "{place}");
        let packet = self.bench.nodes[1].received[REQUEST].back();
        let packet = packet.expect("a packet");
        let id = 1 << 15 | (MESSAGES - 3);
        assert_eq!((packet[1], packet[3]), (TAG, id), "{place}");
        self.told(refused, refused, &place);
    }

    /// Rank 1 receives the oldest message of a rank, so there is room for one.
    fn free(&mut self, from: u32) {
        let what = [from, CONTEXT, x_tag::ANY_TAG.put(1), 23];
        self.bench.message(1, Opcode::XReceive, what, [0x4000, 8]);
        self.bench.drain();
        let mut ends = self.bench.completions(1);
        ends.retain(|entry| entry.0 == 23);
        assert_eq!(ends, [(23, 0, from, TAG, 8)]);
        assert!(self.bench.statuses(0).iter().all(|end| end.1 == 0));
        self.bench.drain();
    }
}

/// Without room, a message without a serial number, of the host or the kernel, is refused alone.
/// With room, it is taken from a source whose other messages are refused.
pub(super) fn alone(config: Config) {
    let mut bench = Bench::new(config, "rma_messages_streams_alone");
    bench.begin();
    // The store is full.
    for (from, count) in [(0, 12), (1, 20)] {
        for id in 0..count {
            bench.message(from, Opcode::XSend, [1, CONTEXT, TAG, id], [0x1000, 8]);
        }
        bench.drain();
    }
    let full = rank::message_queues::UNEXPECTED.put(MESSAGES);
    assert_eq!(bench.read(1, rank::MESSAGE_QUEUES), full);
    let mut alone = Alone { bench, refused: 0 };
    alone.send([0, 12, 0], Some(0));
    alone.kernel(0, true);
    alone.send([1, 20, 1], Some(1));
    alone.kernel(32, true);
    alone.send([0, 13, 5], Some(2));
    alone.send([0, 12, 0], Some(0));
    alone.kernel(0, true);
    alone.send([0, 14, 6], Some(2));
    // There is room, but not for the messages behind a refused one.
    alone.free(0);
    alone.send([0, 14, 6], Some(2));
    alone.send([1, 21, 2], Some(2));
    alone.send([0, 15, 0], None);
    alone.send([0, 13, 5], Some(2));
    alone.free(0);
    alone.kernel(32, false);
    alone.send([0, 12, 0], Some(0));
    // The messages that are expected.
    alone.free(1);
    alone.send([0, 13, 5], None);
    alone.send([0, 14, 6], Some(2));
    alone.free(1);
    alone.send([0, 14, 6], None);
    alone.free(1);
    alone.send([1, 20, 1], None);
    alone.free(1);
    alone.send([1, 21, 2], None);
    alone.send([1, 22, 3], Some(1));
    for _ in 0..12 {
        alone.free(0);
    }
    let ended = alone.bench.ended[0].last();
    assert_eq!(ended, Some(&(0, 5)), "the kernel's message");
    // A reset of the sender ends the refusals.
    for id in 0..12 {
        alone.send([0, id, 0], None);
    }
    alone.send([0, 16, 9], Some(2));
    alone
        .bench
        .register(0, rank::RANK_RESET, rank::rank_reset::RESET.mask());
    for _ in 0..3 {
        alone.bench.cycle();
    }
    alone.bench.ends_reset(0);
    let ring = alone.bench.nodes[0].ring;
    alone.bench.register(0, rank::CQ_BASE, ring);
    alone.bench.register(0, rank::CQ_SIZE, RING_LOG2);
    alone.bench.command(0, Opcode::SetNprocs, RANKS as u32);
    alone.bench.command(0, Opcode::BeginRun, 0);
    alone.bench.drain();
    let left = rank::message_queues::UNEXPECTED.put(18);
    assert_eq!(alone.bench.read(1, rank::MESSAGE_QUEUES), left);
    alone.send([0, 0, 10], None);
    for id in 1..14 {
        alone.send([0, id, 0], None);
    }
    alone.send([0, 14, 11], Some(2));
    for (from, waiting) in [(0, 14), (1, 18)] {
        for _ in 0..waiting {
            alone.free(from);
        }
    }
    assert_eq!(alone.bench.read(1, rank::MESSAGE_QUEUES), 0);
    // Rank 0 is no longer refused.
    alone.send([0, 14, 1], None);
    for id in 0..14 {
        alone.send([0, id, 0], None);
    }
    for id in 0..17 {
        alone.send([1, id, 0], None);
    }
    alone.send([1, 22, 3], Some(1));
}
