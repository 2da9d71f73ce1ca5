//! Joins the logs of several boards. An operation is followed from the call through command,
//! packets, hops, memory and completion to the end of the call.
//!
//! Extended packets and messages are identified by source and command id. The paper's packets have
//! neither, and are joined in their order. A packet is found at its next place by its header; among
//! equal headers the oldest packet comes first. Writes to memory are joined in the order of their
//! packets.

use std::collections::{BTreeSet, HashMap, VecDeque};

use alcor::{Status, Topology};
use alcor_abi::packets::{cq_entry, x_commit, x_message};
use alcor_abi::rank::{self, c_go};
use alcor_abi::{Channel, Opcode, PacketType, PhitKind};
use serde_json::{Map, Value};

use super::packet::{PacketHeader, PhitHeader, channel_name, counts, id_and_line, words_of};
use super::{COLLECTIVE_UNIT, Record, What};

/// Number of cycles without a phit, or without a written word, after which the next one of a
/// collective begins a new slice.
const PAUSE: u64 = 64;

/// A record of a board's log.
pub(crate) struct Entry {
    pub(crate) board: u32,
    pub(crate) record: Record,
    pub(crate) words: Vec<u32>,
}

/// The required properties of the boards.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) ranks: u32,
    /// Number of words of a beat.
    pub(crate) unit: usize,
    pub(crate) topology: Topology,
}

/// A line of the timeline. The variants are in the order of display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Track {
    Rank(u8, OfRank),
    Link(u8, OfLink),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum OfRank {
    Calls,
    Waits,
    Interrupt,
    Commands,
    Stream(u8),
    Memory(u8),
    Completions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum OfLink {
    Out(u8),
    In(u8),
}

impl Track {
    pub(crate) fn name(self) -> String {
        const STREAMS: [&str; super::STREAMS] = [
            "requests sent",
            "replies sent",
            "requests received",
            "replies received",
        ];
        const WRITERS: [&str; super::WRITERS] = [
            "memory, requests",
            "memory, replies",
            "memory, completions",
            "memory, collectives",
        ];
        let channel = |number: u8| match Channel::from_bits(number.into()) {
            Some(channel) => channel_name(channel).to_owned(),
            None => format!("channel {number}"),
        };
        match self {
            Track::Rank(rank, of) => {
                let of = match of {
                    OfRank::Calls => "calls",
                    OfRank::Waits => "waits",
                    OfRank::Interrupt => "interrupt",
                    OfRank::Commands => "commands",
                    OfRank::Stream(stream) => STREAMS[usize::from(stream)],
                    OfRank::Memory(writer) => WRITERS[usize::from(writer)],
                    OfRank::Completions => "completions",
                };
                format!("rank {rank} {of}")
            }
            Track::Link(port, OfLink::Out(number)) => {
                format!("link {port} out, {}", channel(number))
            }
            Track::Link(port, OfLink::In(number)) => format!("link {port} in, {}", channel(number)),
        }
    }
}

/// An activity from one cycle to another.
#[derive(Debug, Clone)]
pub(crate) struct Slice {
    pub(crate) run: u32,
    pub(crate) board: u32,
    pub(crate) track: Track,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) name: String,
    pub(crate) args: Map<String, Value>,
}

/// Cause and effect: the numbers of two slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrow {
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// The joined logs.
#[derive(Default)]
pub(crate) struct Story {
    pub(crate) slices: Vec<Slice>,
    pub(crate) arrows: Vec<Arrow>,
}

/// The identity of an operation over all runs: run, rank, and number of the rank's earlier
/// commands.
type Name = (u32, u32, u64);

impl Story {
    /// Joins records in any order.
    pub(crate) fn of(entries: &[Entry], setup: Setup) -> Self {
        let (story, refused) = build(entries, setup, &BTreeSet::new());
        // A refused packet writes to no memory, but the refusal is known only when its answer is
        // seen.
        if refused.is_empty() {
            story
        } else {
            build(entries, setup, &refused).0
        }
    }
}

/// An event at a point in time.
enum Happening<'a> {
    Record(&'a Entry, Option<u32>),
    /// Words written to node memory.
    Beat {
        board: u32,
        rank: u8,
        writer: u8,
        cycle: u64,
        address: u32,
        words: u32,
    },
}

impl Happening<'_> {
    fn cycle(&self) -> u64 {
        match self {
            Happening::Record(entry, _) => entry.record.from,
            Happening::Beat { cycle, .. } => *cycle,
        }
    }

    /// Returns the board, and the rank or port on the board.
    fn rank(&self) -> (u32, u8) {
        match self {
            Happening::Beat { board, rank, .. } => (*board, *rank),
            Happening::Record(entry, _) => (entry.board, entry.record.what.rank()),
        }
    }

    /// The order of events in the same cycle.
    fn order(&self) -> u8 {
        match self {
            Happening::Beat { .. } => 5,
            Happening::Record(entry, _) => match entry.record.what {
                What::Began { .. } => 0,
                What::Command { .. } => 1,
                What::Packet { stream, .. } if stream % 4 < 2 => 2,
                What::Hop { .. } => 3,
                What::Packet { .. } => 4,
                What::Completion { .. } => 6,
                _ => 7,
            },
        }
    }
}

fn build(entries: &[Entry], setup: Setup, refused: &BTreeSet<Name>) -> (Story, BTreeSet<Name>) {
    let mut runs: HashMap<u32, Vec<Happening<'_>>> = HashMap::new();
    for (entry, id) in entries.iter().zip(ids(entries, setup)) {
        let happenings = runs.entry(entry.record.run).or_default();
        let What::Write {
            rank,
            writer,
            address,
        } = entry.record.what
        else {
            happenings.push(Happening::Record(entry, id));
            continue;
        };
        let mut address = address;
        for beat in &entry.words {
            let (cycle, words) = (entry.record.from + u64::from(beat >> 8), beat & 0xff);
            happenings.push(Happening::Beat {
                board: entry.board,
                rank,
                writer,
                cycle,
                address,
                words,
            });
            address += 4 * words;
        }
    }
    let mut runs: Vec<_> = runs.into_iter().collect();
    runs.sort_by_key(|&(run, _)| run);
    let mut story = Story::default();
    let mut found = BTreeSet::new();
    for (run, mut happenings) in runs {
        // The log has the notes of host threads at one instant in any order, so they are sorted by
        // rank.
        happenings
            .sort_by_key(|happening| (happening.cycle(), happening.order(), happening.rank()));
        let mut teller = StoryBuilder {
            setup,
            run,
            refused,
            found: &mut found,
            story: &mut story,
            ops: Vec::new(),
            known: Known::default(),
            end: 0,
        };
        happenings.iter().for_each(|it| teller.take(it));
        teller.finish();
    }
    (story, found)
}

/// Returns the command id of each entry that is a packet on its way out. Only the last packet of an
/// extended command, and of the data that answers it, carries the id.
fn ids(entries: &[Entry], setup: Setup) -> Vec<Option<u32>> {
    let mut ids = vec![None; entries.len()];
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|&index| (entries[index].record.run, entries[index].record.from));
    let mut last = HashMap::new();
    for &index in order.iter().rev() {
        let Entry {
            board,
            record,
            words,
        } = &entries[index];
        if let What::Packet { stream, .. } = record.what
            && stream % 4 < 2
        {
            let header = PacketHeader::of(&words_of(words, setup.unit));
            let line = (record.run, *board, stream, header.target, header.message);
            match (header.id, header.last) {
                (Some(id), _) => {
                    last.insert(line, id);
                }
                (None, true) => {
                    last.remove(&line);
                }
                (None, false) => {}
            }
            ids[index] = header.id.or_else(|| last.get(&line).copied());
        }
    }
    ids
}

/// An operation.
struct Op {
    name: Name,
    command: usize,
    /// The last known events of the requests at their target, and of the replies at their return.
    request: Option<usize>,
    reply: Option<usize>,
    /// Requests for data at their target that have not been answered completely.
    gets: VecDeque<usize>,
    completion: Option<usize>,
    is_receive: bool,
    /// Row of the communicator, if the operation is a collective.
    context: Option<u32>,
}

impl Op {
    /// Returns the event that a reply answers.
    fn cause(&mut self, reply: &PacketHeader) -> Option<usize> {
        let get = match reply.kind {
            Some(PacketType::Xdata) => self.gets.pop_front(),
            _ => None,
        };
        // Data that was in memory before the request is copied.
        Some(get.or(self.request).unwrap_or(self.command))
    }
}

/// A packet under way.
struct Flight {
    board: u32,
    last: usize,
    op: Option<usize>,
}

/// A message that has arrived.
struct Arrival {
    source: u32,
    tag: u32,
    serial: Option<u32>,
    slice: usize,
}

/// A packet whose payload is to be written to memory.
struct PendingWrite {
    slice: usize,
    op: Option<usize>,
    left: usize,
    begun: Option<(usize, u32)>,
}

/// Phits of a collective that follow each other on a link.
struct Stretch {
    out: usize,
    back: usize,
    last: u64,
}

/// The state at a point in time. Ranks are those of the run.
#[derive(Default)]
struct Known {
    calls: HashMap<(u32, u64), usize>,
    committed: HashMap<(u32, u64), usize>,
    by_id: HashMap<(u32, u32), usize>,
    commands: HashMap<u32, u64>,
    /// First writes of the paper's commands, whose second writes have not come.
    halves: HashMap<(u32, u32), bool>,
    paper: HashMap<u32, VecDeque<usize>>,
    paper_gets: HashMap<u32, VecDeque<(Option<usize>, usize)>>,
    flights: HashMap<(bool, Vec<u32>), Vec<Flight>>,
    pending_writes: HashMap<(u32, u8), VecDeque<PendingWrite>>,
    /// Writes to memory without a known packet, and those of collectives: the slice, and the next
    /// address.
    strays: HashMap<(u32, u8), (usize, u32)>,
    /// Messages that have arrived and that no receive has taken, by receiver.
    messages: HashMap<u32, Vec<Arrival>>,
    memory_of: HashMap<usize, usize>,
    interrupts: HashMap<u32, usize>,
    stretches: HashMap<(u32, u8, u8, PhitHeader), Stretch>,
    /// By board and row: the last command, and the last received phits.
    collectives: HashMap<(u32, u32), usize>,
    came: HashMap<(u32, u32), usize>,
    /// The last collective of each rank.
    collective_of: HashMap<u32, usize>,
    /// The last command of each rank that ends as a barrier does.
    barrier_of: HashMap<u32, usize>,
}

struct StoryBuilder<'a> {
    setup: Setup,
    run: u32,
    refused: &'a BTreeSet<Name>,
    found: &'a mut BTreeSet<Name>,
    story: &'a mut Story,
    ops: Vec<Op>,
    known: Known,
    end: u64,
}

impl StoryBuilder<'_> {
    fn slice(&mut self, board: u32, track: Track, span: (u64, u64), name: String) -> usize {
        let (from, to) = span;
        self.end = self.end.max(to);
        self.story.slices.push(Slice {
            run: self.run,
            board,
            track,
            from,
            to,
            name,
            args: Map::new(),
        });
        self.story.slices.len() - 1
    }

    fn say(&mut self, slice: usize, key: &str, value: impl Into<Value>) {
        self.story.slices[slice]
            .args
            .insert(key.into(), value.into());
    }

    fn extend(&mut self, slice: usize, to: u64) {
        let slice = &mut self.story.slices[slice];
        slice.to = slice.to.max(to);
        self.end = self.end.max(to);
    }

    fn arrow(&mut self, from: Option<usize>, to: usize) {
        if let Some(from) = from {
            self.story.arrows.push(Arrow { from, to });
        }
    }

    fn global(&self, board: u32, rank: u8) -> u32 {
        board * self.setup.ranks + u32::from(rank)
    }

    /// Sets the operation of a slice.
    fn belongs(&mut self, slice: usize, op: Option<usize>) {
        if let Some(op) = op {
            let (_, rank, number) = self.ops[op].name;
            self.say(slice, "operation", format!("rank {rank} #{number}"));
        }
    }

    fn take(&mut self, happening: &Happening<'_>) {
        let (entry, id) = match happening {
            Happening::Record(entry, id) => (entry, *id),
            &Happening::Beat {
                board,
                rank,
                writer,
                cycle,
                address,
                words,
            } => return self.beat(board, rank, writer, cycle, address, words),
        };
        let (board, span) = (entry.board, (entry.record.from, entry.record.to));
        match entry.record.what {
            What::Began {
                rank,
                operation,
                activity,
                peer,
                bytes,
            } => {
                let track = Track::Rank(rank, OfRank::Calls);
                let slice = self.slice(board, track, span, activity.to_string());
                if let Some(peer) = peer {
                    self.say(slice, "peer", peer.0);
                }
                self.say(slice, "bytes", bytes);
                let rank = self.global(board, rank);
                self.known.calls.insert((rank, operation), slice);
            }
            What::Ended {
                rank,
                operation,
                status,
            } => self.ended((self.global(board, rank), operation), span.1, status),
            What::Command {
                rank,
                offset,
                data,
                operation,
            } => self.command(board, rank, span, (offset.into(), data), operation),
            What::Wait {
                rank,
                waited,
                is_over,
            } => {
                let track = Track::Rank(rank, OfRank::Waits);
                let slice = self.slice(board, track, span, waited.name().into());
                if !is_over {
                    self.say(slice, "unfinished", true);
                }
            }
            What::Interrupt { rank, is_raised } => {
                let key = self.global(board, rank);
                if is_raised {
                    let track = Track::Rank(rank, OfRank::Interrupt);
                    let slice = self.slice(board, track, span, "raised".into());
                    self.known.interrupts.insert(key, slice);
                } else if let Some(slice) = self.known.interrupts.remove(&key) {
                    self.extend(slice, span.1);
                }
            }
            What::Packet { stream, is_whole } => {
                let words = words_of(&entry.words, self.setup.unit);
                self.packet(board, stream, span, &words, id, is_whole);
            }
            What::Hop { .. } => self.hop(entry),
            What::Write { .. } => {}
            What::Completion { rank, entry, tag } => self.completion(board, rank, span, entry, tag),
        }
    }

    fn ended(&mut self, name: (u32, u64), at: u64, status: Status) {
        if let Some(call) = self.known.calls.remove(&name) {
            self.extend(call, at);
            self.say(call, "status", format!("{status:?}"));
            let op = self.known.committed.get(&name).copied();
            let completion = op.and_then(|op| self.ops[op].completion);
            self.arrow(completion, call);
        }
    }

    fn command(
        &mut self,
        board: u32,
        local: u8,
        span: (u64, u64),
        (offset, data): (u32, u32),
        operation: Option<u64>,
    ) {
        let rank = self.global(board, local);
        let track = Track::Rank(local, OfRank::Commands);
        let slice = self.slice(board, track, span, register(offset));
        self.say(slice, "data", format!("{data:#010x}"));
        let opcode = Opcode::from_bits(offset / 4).filter(|_| offset < rank::IDENTITY);
        let id = match opcode {
            Some(Opcode::XPut | Opcode::XGet | Opcode::XAccumulate | Opcode::XFetchAccumulate) => {
                Some(x_commit::ID.get(data))
            }
            Some(opcode) if opcode.atomic().is_some() => Some(x_commit::ID.get(data)),
            Some(Opcode::XSend | Opcode::XAnnounce | Opcode::XReceive | Opcode::XProbe) => {
                Some(x_message::ID.get(data))
            }
            None if offset == rank::C_GO => Some(c_go::ID.get(data)),
            _ => None,
        };
        let is_paper = match opcode {
            Some(opcode @ (Opcode::Put1 | Opcode::PutN | Opcode::Get)) => {
                let half = self.known.halves.entry((rank, opcode as u32)).or_default();
                *half = !*half;
                !*half
            }
            _ => false,
        };
        let is_barrier = matches!(
            opcode,
            Some(Opcode::Barrier | Opcode::Register | Opcode::Deregister)
        );
        if id.is_none() && operation.is_none() && !is_paper && !is_barrier {
            return;
        }
        let count = self.known.commands.entry(rank).or_default();
        *count += 1;
        let name = (self.run, rank, *count);
        let call = operation.and_then(|number| self.known.calls.get(&(rank, number)).copied());
        let context = (offset == rank::C_GO).then(|| c_go::CONTEXT.get(data));
        let op = self.ops.len();
        self.ops.push(Op {
            name,
            command: slice,
            request: None,
            reply: None,
            gets: VecDeque::new(),
            completion: None,
            is_receive: opcode == Some(Opcode::XReceive),
            context,
        });
        self.belongs(slice, Some(op));
        if let Some(call) = call {
            self.belongs(call, Some(op));
        }
        self.arrow(call, slice);
        if let Some(id) = id {
            self.say(slice, "id", id);
            self.known.by_id.insert((rank, id), op);
        }
        if let Some(number) = operation {
            self.known.committed.insert((rank, number), op);
        }
        if is_paper {
            self.known.paper.entry(rank).or_default().push_back(op);
        }
        if is_barrier {
            self.known.barrier_of.insert(rank, op);
        }
        if let Some(context) = context {
            self.known.collectives.insert((board, context), op);
            self.known.collective_of.insert(rank, op);
        }
    }

    fn packet(
        &mut self,
        board: u32,
        stream: u8,
        span: (u64, u64),
        words: &[u32],
        id: Option<u32>,
        is_whole: bool,
    ) {
        let mut header = PacketHeader::of(words);
        let local = stream / 4;
        let rank = self.global(board, local);
        if stream % 4 < 2 {
            // Replies and the paper's puts do not name their sender.
            header.source = Some(rank);
        }
        let track = Track::Rank(local, OfRank::Stream(stream % 4));
        let slice = self.slice(board, track, span, header.to_string());
        self.say(slice, "words", words.len());
        if !is_whole {
            self.say(slice, "unfinished", true);
        }
        let key = key(stream % 2 == 1, &header, words);
        let op = match stream % 4 {
            0 => {
                let op = match (id, header.kind) {
                    (Some(id), _) => self.known.by_id.get(&(rank, id)).copied(),
                    (None, Some(PacketType::Put1 | PacketType::PutN | PacketType::Get)) => {
                        let line = self.known.paper.entry(rank).or_default();
                        line.pop_front()
                    }
                    (None, _) => None,
                };
                self.arrow(op.map(|op| self.ops[op].command), slice);
                self.depart(key, board, slice, op);
                op
            }
            1 => {
                let (op, cause) = match id {
                    Some(id) => {
                        let op = self.known.by_id.get(&(header.target, id)).copied();
                        (op, op.and_then(|op| self.ops[op].cause(&header)))
                    }
                    None => {
                        let line = self.known.paper_gets.entry(rank).or_default();
                        line.pop_front()
                            .map_or((None, None), |(op, slice)| (op, Some(slice)))
                    }
                };
                if let (Some(op), Some(status)) = (op, header.status)
                    && status != Status::Ok
                    && header.kind == Some(PacketType::Xack)
                {
                    self.found.insert(self.ops[op].name);
                }
                self.arrow(cause, slice);
                self.depart(key, board, slice, op);
                op
            }
            _ => {
                let flight = self.arrive(&key, board, span.0);
                self.arrow(flight.as_ref().map(|flight| flight.last), slice);
                let op = flight.and_then(|flight| flight.op);
                self.received(rank, stream % 4 == 3, slice, op, &header, words);
                op
            }
        };
        self.belongs(slice, op);
    }

    /// A coprocessor has received a packet.
    fn received(
        &mut self,
        rank: u32,
        is_reply: bool,
        slice: usize,
        op: Option<usize>,
        header: &PacketHeader,
        words: &[u32],
    ) {
        if let Some(op) = op {
            if is_reply {
                self.ops[op].reply = Some(slice);
            } else {
                self.ops[op].request = Some(slice);
            }
            if header.kind == Some(PacketType::Xget) {
                self.ops[op].gets.push_back(slice);
            }
        }
        if header.kind == Some(PacketType::Get) {
            let line = self.known.paper_gets.entry(rank).or_default();
            line.push_back((op, slice));
        }
        if let (Some(PacketType::Message), Some(source), Some(tag)) =
            (header.kind, header.source, header.tag)
        {
            let messages = self.known.messages.entry(rank).or_default();
            // A message that comes again has been refused before.
            let serial = header.serial;
            messages.retain(|it| it.serial.is_none() || (it.source, it.serial) != (source, serial));
            messages.push(Arrival {
                source,
                tag,
                serial,
                slice,
            });
        }
        let (_, payload) = counts(words);
        let is_refused = op.is_some_and(|op| self.refused.contains(&self.ops[op].name));
        if payload > 0 && !is_refused {
            let line = self.known.pending_writes.entry((rank, u8::from(is_reply)));
            line.or_default().push_back(PendingWrite {
                slice,
                op,
                left: payload,
                begun: None,
            });
        }
    }

    fn depart(&mut self, key: (bool, Vec<u32>), board: u32, last: usize, op: Option<usize>) {
        let flights = self.known.flights.entry(key).or_default();
        flights.push(Flight { board, last, op });
    }

    /// Removes and returns the oldest packet with that header that is on a board in that cycle.
    fn arrive(&mut self, key: &(bool, Vec<u32>), board: u32, cycle: u64) -> Option<Flight> {
        let flights = self.known.flights.get_mut(key)?;
        let slices = &self.story.slices;
        // A packet that is still on a link is not on the board yet.
        let is_there = |flight: &Flight| flight.board == board && slices[flight.last].from <= cycle;
        let place = flights.iter().position(is_there)?;
        let flight = flights.remove(place);
        if flights.is_empty() {
            self.known.flights.remove(key);
        }
        Some(flight)
    }

    fn hop(&mut self, entry: &Entry) {
        let What::Hop {
            port,
            channel,
            header: low,
            header_high,
            position,
            arrives,
            arrived,
            is_whole,
        } = entry.record.what
        else {
            return;
        };
        let (board, span) = (entry.board, (entry.record.from, entry.record.to));
        let neighbour = self.setup.topology.neighbour(board, port.into());
        let out = Track::Link(port, OfLink::Out(channel));
        if channel > 3 {
            let phit = PhitHeader {
                word: 0,
                ..PhitHeader::of(low, header_high, position)
            };
            return self.phit(board, (port, channel), span, (arrives, arrived), phit);
        }
        let words = words_of(&entry.words, self.setup.unit);
        let header = PacketHeader::of(&words);
        let slice = self.slice(board, out, span, header.to_string());
        self.say(slice, "words", words.len());
        if !is_whole {
            self.say(slice, "unfinished", true);
        }
        let key = key(channel >= 2, &header, &words);
        let flight = self.arrive(&key, board, span.0);
        self.arrow(flight.as_ref().map(|flight| flight.last), slice);
        let op = flight.and_then(|flight| flight.op);
        self.belongs(slice, op);
        if let Some((other, back)) = neighbour {
            let track = Track::Link(back as u8, OfLink::In(channel));
            let there = self.slice(other, track, (arrives, arrived), header.to_string());
            self.belongs(there, op);
            self.arrow(Some(slice), there);
            self.depart(key, other, there, op);
        }
    }

    /// A phit of a collective, or of the boards' own traffic.
    fn phit(
        &mut self,
        board: u32,
        (port, channel): (u8, u8),
        span: (u64, u64),
        arrives: (u64, u64),
        phit: PhitHeader,
    ) {
        let place = (board, port, channel, phit);
        if let Some(stretch) = self.known.stretches.get_mut(&place)
            && span.0 <= stretch.last + PAUSE
        {
            stretch.last = span.1;
            let (out, back) = (stretch.out, stretch.back);
            self.extend(out, span.1);
            self.extend(back, arrives.1);
            return;
        }
        let name = match channel {
            4 | 5 => phit.name(),
            _ => "control".into(),
        };
        let out = self.slice(
            board,
            Track::Link(port, OfLink::Out(channel)),
            span,
            name.clone(),
        );
        let Some((other, there)) = self.setup.topology.neighbour(board, port.into()) else {
            return;
        };
        let back = Track::Link(there as u8, OfLink::In(channel));
        let back = self.slice(other, back, arrives, name);
        for slice in [out, back] {
            self.say(slice, "row", phit.context);
            self.say(slice, "stage", phit.stage);
            self.say(slice, "parity", phit.parity);
        }
        self.arrow(Some(out), back);
        // A credit belongs to later collectives.
        if phit.kind != PhitKind::Credit as u32 {
            let op = self.known.collectives.get(&(board, phit.context)).copied();
            self.arrow(op.map(|op| self.ops[op].command), out);
            self.belongs(out, op);
            self.known.came.insert((other, phit.context), back);
        }
        let last = span.1;
        self.known
            .stretches
            .insert(place, Stretch { out, back, last });
    }

    /// A beat of words is written to node memory.
    fn beat(&mut self, board: u32, local: u8, writer: u8, cycle: u64, address: u32, words: u32) {
        let rank = self.global(board, local);
        let track = Track::Rank(local, OfRank::Memory(writer));
        let span = (cycle, cycle + 1);
        loop {
            let line = self.known.pending_writes.entry((rank, writer)).or_default();
            let Some(pending) = line.front_mut() else {
                break;
            };
            let (packet, op) = (pending.slice, pending.op);
            match pending.begun {
                // The write was cut short, as for a message that is longer than its receive.
                Some((_, next)) if next != address => {
                    line.pop_front();
                    continue;
                }
                Some((slice, _)) => {
                    pending.begun = Some((slice, address + 4 * words));
                    self.extend(slice, span.1);
                }
                None => {
                    let name = format!("write at {address:#x}");
                    let slice = self.slice(board, track, span, name);
                    self.belongs(slice, op);
                    self.arrow(Some(packet), slice);
                    self.known.memory_of.insert(packet, slice);
                    if let Some(op) = op {
                        match writer {
                            0 => self.ops[op].request = Some(slice),
                            _ => self.ops[op].reply = Some(slice),
                        }
                    }
                    let line = self.known.pending_writes.entry((rank, writer)).or_default();
                    if let Some(pending) = line.front_mut() {
                        pending.begun = Some((slice, address + 4 * words));
                    }
                }
            }
            let line = self.known.pending_writes.entry((rank, writer)).or_default();
            if let Some(pending) = line.front_mut() {
                pending.left = pending.left.saturating_sub(words as usize);
                if pending.left == 0 {
                    line.pop_front();
                }
            }
            return;
        }
        let is_collective = usize::from(writer) == COLLECTIVE_UNIT;
        let stray = self.known.strays.get(&(rank, writer)).copied();
        let follows = stray.filter(|&(slice, next)| {
            let is_near = cycle <= self.story.slices[slice].to + PAUSE;
            is_near && (is_collective || next == address)
        });
        let slice = match follows {
            Some((slice, _)) => {
                self.extend(slice, span.1);
                slice
            }
            None => {
                let slice = self.slice(board, track, span, format!("write at {address:#x}"));
                if is_collective && let Some(&op) = self.known.collective_of.get(&rank) {
                    let came = self.came(board, op);
                    self.arrow(Some(came.unwrap_or(self.ops[op].command)), slice);
                    self.belongs(slice, Some(op));
                    self.ops[op].reply = Some(slice);
                }
                slice
            }
        };
        self.known
            .strays
            .insert((rank, writer), (slice, address + 4 * words));
    }

    fn completion(&mut self, board: u32, local: u8, span: (u64, u64), entry: u32, tag: u32) {
        let rank = self.global(board, local);
        let status = Status::from_bits(cq_entry::STATUS.get(entry));
        let (id, _) = id_and_line(status, cq_entry::ID.get(entry));
        let source = cq_entry::SOURCE.get(entry);
        let track = Track::Rank(local, OfRank::Completions);
        let is_barrier = cq_entry::BARRIER.get(entry) != 0;
        let name = if is_barrier {
            "end of a barrier".into()
        } else {
            format!("completion {id}")
        };
        let slice = self.slice(board, track, span, name);
        self.say(
            slice,
            "status",
            format!("{status:?}").replace("Some(", "").replace(')', ""),
        );
        let op = if is_barrier {
            self.known.barrier_of.get(&rank)
        } else {
            self.known.by_id.get(&(rank, id))
        };
        let Some(&op) = op else {
            return;
        };
        self.belongs(slice, Some(op));
        let message = if self.ops[op].is_receive && status == Some(Status::Ok) {
            self.message(rank, source, tag)
        } else {
            None
        };
        let Op { reply, command, .. } = self.ops[op];
        let came = self.came(board, op);
        if message.is_some() && reply.is_some() {
            self.arrow(message, slice);
        }
        let cause = reply.or(message).or(came).unwrap_or(command);
        self.arrow(Some(cause), slice);
        self.ops[op].completion = Some(slice);
    }

    /// If the operation is a collective, returns the last phits of its communicator that came to a
    /// board.
    fn came(&self, board: u32, op: usize) -> Option<usize> {
        let context = self.ops[op].context?;
        self.known.came.get(&(board, context)).copied()
    }

    /// Removes and returns the oldest message of that source and tag that has arrived at a rank.
    fn message(&mut self, rank: u32, source: u32, tag: u32) -> Option<usize> {
        let messages = self.known.messages.get_mut(&rank)?;
        let is_it = |message: &Arrival| (message.source, message.tag) == (source, tag);
        let place = messages.iter().position(is_it)?;
        let Arrival { slice, .. } = messages.remove(place);
        Some(self.known.memory_of.get(&slice).copied().unwrap_or(slice))
    }

    /// Activities that have not ended last until the end.
    fn finish(mut self) {
        let open: Vec<usize> = self.known.calls.values().copied().collect();
        for call in open {
            self.story.slices[call].to = self.end;
            self.say(call, "unfinished", true);
        }
        let raised: Vec<usize> = self.known.interrupts.values().copied().collect();
        for slice in raised {
            self.story.slices[slice].to = self.end;
        }
    }
}

/// Returns the key by which a packet is found at its next place: its header, or the whole packet
/// for the paper's packets.
fn key(is_reply: bool, header: &PacketHeader, words: &[u32]) -> (bool, Vec<u32>) {
    let (count, _) = counts(words);
    let count = match header.kind {
        Some(PacketType::Put1 | PacketType::PutN) => words.len(),
        _ => count,
    };
    (is_reply, words[..count].to_vec())
}

/// Returns the name of a written register of a rank's page.
fn register(offset: u32) -> String {
    if let Some(opcode) = Opcode::from_bits(offset / 4).filter(|_| offset < rank::IDENTITY) {
        return format!("{opcode:?}");
    }
    let name = match offset {
        rank::ACK => "ACK",
        rank::ACK_EVENTS => "ACK_EVENTS",
        rank::IRQ_ENABLE => "IRQ_ENABLE",
        rank::CQ_BASE => "CQ_BASE",
        rank::CQ_SIZE => "CQ_SIZE",
        rank::CQ_TAIL => "CQ_TAIL",
        rank::CQ_WAKE => "CQ_WAKE",
        rank::RETIRED_WAKE => "RETIRED_WAKE",
        rank::C_SOURCE => "C_SOURCE",
        rank::C_FIRST => "C_FIRST",
        rank::C_WORDS => "C_WORDS",
        rank::C_DESTINATION => "C_DESTINATION",
        rank::C_LOW => "C_LOW",
        rank::C_HIGH => "C_HIGH",
        rank::C_COUNT => "C_COUNT",
        rank::C_WHAT => "C_WHAT",
        rank::C_GO => "C_GO",
        rank::MESSAGE_QUOTA => "MESSAGE_QUOTA",
        _ => return format!("register {offset:#05x}"),
    };
    name.into()
}
