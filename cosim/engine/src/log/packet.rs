//! Packets as words, and the fields of their headers.

use std::fmt;

use alcor::Status;
use alcor_abi::packets::{
    get_header1, get_header2, message, message_id, put_header, x_accumulate, x_ack, x_atomic,
    x_data, x_header, x_length, x_old, x_operation, x_refusal,
};
use alcor_abi::packets::{net_high, net_low, net_position};
use alcor_abi::{Channel, Collective, Operation, PacketType, PhitKind};

/// The place at which a packet was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Sent by a coprocessor on its request plane.
    RequestSent {
        /// Local rank.
        rank: u32,
    },
    /// Sent by a coprocessor on its reply plane.
    ReplySent {
        /// Local rank.
        rank: u32,
    },
    /// Received by a coprocessor on its request plane.
    RequestReceived {
        /// Local rank.
        rank: u32,
    },
    /// Received by a coprocessor on its reply plane.
    ReplyReceived {
        /// Local rank.
        rank: u32,
    },
    /// Sent on a link to another board.
    Link {
        /// Link port.
        port: u32,
        /// Virtual channel.
        channel: u32,
    },
}

impl Place {
    /// The place of a stream, by its number in the traffic digest.
    pub(crate) fn of_stream(stream: u8) -> Self {
        let rank = u32::from(stream / 4);
        match stream % 4 {
            0 => Place::RequestSent { rank },
            1 => Place::ReplySent { rank },
            2 => Place::RequestReceived { rank },
            _ => Place::ReplyReceived { rank },
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::RequestSent { rank } => write!(f, "rank {rank} request sent"),
            Place::ReplySent { rank } => write!(f, "rank {rank} reply sent"),
            Place::RequestReceived { rank } => write!(f, "rank {rank} request received"),
            Place::ReplyReceived { rank } => write!(f, "rank {rank} reply received"),
            Place::Link { port, channel } => match Channel::from_bits(*channel) {
                Some(known) => write!(f, "link {port} {} sent", channel_name(known)),
                None => write!(f, "link {port} channel {channel} sent"),
            },
        }
    }
}

/// The name of a virtual channel.
pub(crate) fn channel_name(channel: Channel) -> &'static str {
    match channel {
        Channel::Request => "requests",
        Channel::Request1 => "requests (1)",
        Channel::Reply => "replies",
        Channel::Reply1 => "replies (1)",
        Channel::Collective => "collectives",
        Channel::Collective1 => "collectives (1)",
        Channel::Control => "control",
    }
}

/// The fields of a packet's header; `None` for fields that the packet does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacketHeader {
    /// Packet type; none on the collectives' channels.
    pub kind: Option<PacketType>,
    /// Source rank.
    pub source: Option<u32>,
    /// The target rank.
    pub target: u32,
    /// Command id. Of an extended put, a get and its data, only the last packet has the id.
    pub id: Option<u32>,
    /// Window slot.
    pub slot: Option<u32>,
    /// Byte offset in the window. For data of a get: byte address in the memory of the rank that
    /// issued the get.
    pub offset: Option<u32>,
    /// Bytes; for a packet of an extended command before the last, all remaining bytes of the
    /// command.
    pub bytes: Option<u32>,
    /// Whether the packet is the last of its command.
    pub last: bool,
    /// Whether the packet belongs to a fetched message.
    pub message: bool,
    /// Status.
    pub status: Option<Status>,
    /// A message's tag.
    pub tag: Option<u32>,
    /// A message's serial number, unless it has none.
    pub serial: Option<u32>,
    /// Of the refusal of a message with a serial number: the number of sources that are refused.
    pub line: Option<u32>,
}

/// Number of words of a packet's header, and of its payload if the payload ends before the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) header: usize,
    pub(crate) payload: Option<usize>,
}

/// Extracts the words from beats of `unit` words: header words begin in the first beat, payload in
/// the second. Words after their ends have no meaning.
pub(crate) fn words_of(beats: &[u32], unit: usize) -> Vec<u32> {
    let Some(&first) = beats.first() else {
        return Vec::new();
    };
    if unit == 1 {
        return beats.to_vec();
    }
    let Extent { header, payload } = extent(beats, first);
    // A put of one word from a command carries it in the header's beat.
    let is_short = beats.len() <= unit;
    let mut words: Vec<u32> = beats.iter().take(header).copied().collect();
    match payload {
        Some(count) if is_short => words.extend(beats.iter().skip(header).take(count)),
        Some(count) => words.extend(beats.iter().skip(unit).take(count)),
        None => words.extend(beats.iter().skip(unit)),
    }
    words
}

fn extent(words: &[u32], first: u32) -> Extent {
    let at = |index: usize| words.get(index).copied().unwrap_or(0);
    let shifted = |from: u32, bytes: u32| Some(((from & 3) + bytes).div_ceil(4) as usize);
    let is_last = x_header::LAST.get(first) != 0;
    let (header, payload) = match PacketType::from_bits(put_header::PTYPE.get(first)) {
        Some(PacketType::Put1 | PacketType::PutN) => {
            let length = put_header::LENGTH.get(first) as usize;
            (1, Some(length.saturating_sub(1)))
        }
        Some(PacketType::Get) => (2, Some(0)),
        Some(PacketType::Xput) => {
            let bytes = x_length::LENGTH.get(at(2));
            let payload = is_last.then(|| shifted(at(1), bytes)).flatten();
            let more = match x_accumulate::ACCUMULATE.get(first) {
                0 => 0,
                _ => 1 + x_accumulate::FETCH.get(first) as usize,
            };
            (3 + more, payload)
        }
        Some(PacketType::Xget) if is_atomic(first) => {
            let words = 1 + x_atomic::WIDE.get(first) as usize;
            let values = 1 + x_atomic::COMPARE.get(first) as usize;
            (3 + values * words, Some(0))
        }
        Some(PacketType::Xget) => (4, Some(0)),
        Some(PacketType::Xdata) if x_old::ATOMIC.get(first) != 0 => {
            (2 + x_old::WIDE.get(first) as usize, Some(0))
        }
        Some(PacketType::Xdata) => (3, shifted(at(1), x_length::LENGTH.get(at(2)))),
        Some(PacketType::Message) if message::ANNOUNCE.get(first) != 0 => (4, Some(0)),
        Some(PacketType::Message) => (4, shifted(0, at(2))),
        Some(PacketType::Xack) | None => (1, Some(0)),
    };
    Extent { header, payload }
}

/// Returns the command id of an acknowledgement or completion with this id half-word and, of the
/// refusal of a message with a serial number, the number of sources that are refused.
pub(crate) fn id_and_line(status: Option<Status>, half: u32) -> (u32, Option<u32>) {
    match x_refusal::LINE.get(half) {
        line @ 1.. if status == Some(Status::NoRoom) => (x_refusal::ID.get(half), Some(line)),
        _ => (half, None),
    }
}

/// Returns whether an XGET with this first word is an atomic operation.
fn is_atomic(first: u32) -> bool {
    x_atomic::ATOMIC.get(first) != 0 && x_atomic::MESSAGE.get(first) == 0
}

/// The words of a packet's header and payload, as far as they were seen.
pub(crate) fn counts(words: &[u32]) -> (usize, usize) {
    let Some(&first) = words.first() else {
        return (0, 0);
    };
    let Extent { header, payload } = extent(words, first);
    let rest = words.len().saturating_sub(header);
    (
        header.min(words.len()),
        payload.map_or(rest, |count| count.min(rest)),
    )
}

impl PacketHeader {
    /// The header of a packet of the coprocessors.
    pub(crate) fn of(words: &[u32]) -> Self {
        let at = |index: usize| words.get(index).copied();
        let Some(first) = at(0) else {
            return Self::default();
        };
        let kind = PacketType::from_bits(put_header::PTYPE.get(first));
        let base = Self {
            kind,
            target: put_header::DPID.get(first),
            ..Self::default()
        };
        let is_last = x_header::LAST.get(first) != 0;
        match kind {
            Some(PacketType::Put1 | PacketType::PutN) => Self {
                slot: Some(put_header::SLOT.get(first)),
                offset: Some(4 * put_header::OFFSET.get(first)),
                bytes: Some(4 * put_header::LENGTH.get(first).saturating_sub(1)),
                last: true,
                ..base
            },
            Some(PacketType::Get) => Self {
                source: at(1).map(|word| get_header2::MYID.get(word)),
                slot: Some(get_header1::SLOT.get(first)),
                offset: Some(4 * get_header1::OFFSET.get(first)),
                bytes: at(1).map(|word| 4 * get_header2::LENGTH.get(word)),
                last: true,
                ..base
            },
            Some(PacketType::Xget) if is_atomic(first) => Self {
                source: Some(x_atomic::SRC.get(first)),
                slot: Some(x_atomic::SLOT.get(first)),
                offset: at(1),
                id: at(2).map(|word| x_operation::ID.get(word)),
                bytes: Some(4 << x_atomic::WIDE.get(first)),
                last: true,
                ..base
            },
            Some(PacketType::Xdata) if x_old::ATOMIC.get(first) != 0 => Self {
                id: Some(x_old::ID.get(first)),
                bytes: Some(4 << x_old::WIDE.get(first)),
                last: true,
                ..base
            },
            Some(PacketType::Xput | PacketType::Xget) => Self {
                source: Some(x_header::SRC.get(first)),
                slot: Some(x_header::SLOT.get(first)),
                offset: at(1),
                id: at(2).filter(|_| is_last).map(|word| x_length::ID.get(word)),
                bytes: at(2).map(|word| {
                    if is_last {
                        x_length::LENGTH.get(word)
                    } else {
                        word
                    }
                }),
                last: is_last,
                message: kind == Some(PacketType::Xget) && x_header::MESSAGE.get(first) != 0,
                ..base
            },
            Some(PacketType::Xdata) => Self {
                offset: at(1),
                id: at(2).filter(|_| is_last).map(|word| x_length::ID.get(word)),
                bytes: at(2).map(|word| x_length::LENGTH.get(word)),
                last: is_last,
                message: x_data::MESSAGE.get(first) != 0,
                status: Status::from_bits(x_data::STATUS.get(first))
                    .filter(|_| is_last && x_data::MESSAGE.get(first) != 0),
                ..base
            },
            Some(PacketType::Xack) => {
                let status = Status::from_bits(x_ack::STATUS.get(first));
                let (id, line) = id_and_line(status, x_ack::ID.get(first));
                Self {
                    id: Some(id),
                    line,
                    status,
                    last: true,
                    ..base
                }
            }
            Some(PacketType::Message) => Self {
                source: Some(message::SRC.get(first)),
                tag: at(1),
                serial: at(3)
                    .map(|word| message_id::SERIAL.get(word))
                    .filter(|&serial| serial > 0),
                bytes: at(2),
                id: at(3).map(|word| message_id::ID.get(word)),
                last: true,
                message: true,
                ..base
            },
            None => base,
        }
    }

    /// The type's name.
    pub(crate) fn name(&self) -> &'static str {
        match self.kind {
            Some(PacketType::Message) => "MESSAGE",
            Some(PacketType::Put1) => "PUT_1",
            Some(PacketType::PutN) => "PUT_N",
            Some(PacketType::Get) => "GET",
            Some(PacketType::Xput) => "XPUT",
            Some(PacketType::Xget) => "XGET",
            Some(PacketType::Xdata) => "XDATA",
            Some(PacketType::Xack) => "XACK",
            None => "unknown",
        }
    }
}

impl fmt::Display for PacketHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self.source {
            Some(source) => write!(f, " {source}->{}", self.target)?,
            None => write!(f, " ?->{}", self.target)?,
        }
        let fields = [
            ("id", self.id),
            ("tag", self.tag),
            ("serial", self.serial),
            ("line", self.line),
            ("slot", self.slot),
            ("offset", self.offset),
            ("bytes", self.bytes),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                write!(f, " {name}={value}")?;
            }
        }
        if !self.last {
            f.write_str(" more")?;
        }
        match self.status {
            Some(status) => write!(f, " status={status:?}"),
            None => Ok(()),
        }
    }
}

/// The header of a phit of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PhitHeader {
    /// A rank on the destination board.
    pub target: u32,
    /// The communicator's row.
    pub context: u32,
    /// The collective's code.
    pub collective: u32,
    /// The operation's code.
    pub operation: u32,
    /// Stage at the target.
    pub stage: u32,
    /// The kind of the phit.
    pub kind: u32,
    /// With a credit: the phit announces a collective.
    pub announces: bool,
    /// Alternates from one collective of the communicator to the next.
    pub parity: u32,
    /// Place of the first word in the message.
    pub word: u32,
}

impl PhitHeader {
    pub(crate) fn of(low: u32, high: u16, position: u32) -> Self {
        let high = u32::from(high);
        Self {
            target: net_low::DEST.get(low),
            context: net_low::CONTEXT.get(low),
            collective: net_low::OPCODE.get(low),
            operation: net_low::OPERATION.get(low),
            stage: net_high::STAGE.get(high),
            kind: net_high::KIND.get(high),
            announces: net_high::ANNOUNCES.get(high) != 0,
            parity: net_high::PARITY.get(high),
            word: net_position::WORD.get(position),
        }
    }

    /// The collective, and the kind of the phit.
    pub(crate) fn name(&self) -> String {
        let collective = match Collective::from_bits(self.collective) {
            _ if self.operation == Operation::Sync as u32 => "barrier of all ranks".to_owned(),
            Some(Collective::Software) => "of software".to_owned(),
            Some(collective) => format!("{collective:?}").to_lowercase(),
            None => format!("collective {}", self.collective),
        };
        let kind = match PhitKind::from_bits(self.kind) {
            Some(PhitKind::Combine) => "data to combine",
            Some(PhitKind::Copy) => "data",
            Some(PhitKind::Signature) => "signature",
            Some(PhitKind::Credit) if self.announces => "announcement",
            Some(PhitKind::Credit) => "credit",
            None => "unknown",
        };
        format!("{collective} {kind}")
    }
}

impl fmt::Display for PhitHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ?->{} row={} stage={} parity={} word={}",
            self.name(),
            self.target,
            self.context,
            self.stage,
            self.parity,
            self.word
        )
    }
}

/// A packet that was seen on a stream or a link.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoggedPacket {
    /// Number of resets before the packet.
    pub run: u32,
    /// Cycle of the first word, since reset.
    pub cycle: u64,
    /// Cycle after the last word.
    pub end: u64,
    /// The board's number.
    pub board: u32,
    /// Place of the observation.
    pub place: Place,
    /// Fields of the header.
    pub header: PacketHeader,
    /// For a phit of a collective, the fields of its header; those of the coprocessors' packets
    /// have no meaning then.
    pub phit: Option<PhitHeader>,
    /// Observed words of the packet.
    pub words: Vec<u32>,
    /// Whether the last word of the packet was observed.
    pub is_whole: bool,
}

impl fmt::Display for LoggedPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            run, cycle, board, ..
        } = self;
        write!(
            f,
            "run {run} cycle {cycle:>6} board {board} {}: ",
            self.place
        )?;
        match &self.phit {
            Some(phit) => phit.fmt(f)?,
            None => self.header.fmt(f)?,
        }
        write!(f, " words={}", self.words.len())?;
        if self.is_whole {
            Ok(())
        } else {
            f.write_str(" (its end was not seen)")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_are_taken_apart() {
        // Three header words and 6 bytes from byte 3 on: three words of payload.
        let first = x_header::PTYPE.put(PacketType::Xput as u32) | x_header::LAST.put(1);
        let mut beats = vec![0; 24];
        beats[..3].copy_from_slice(&[first, 3, x_length::LENGTH.put(6) | x_length::ID.put(7)]);
        beats[8..12].copy_from_slice(&[1, 2, 3, 99]);
        assert_eq!(words_of(&beats, 8)[3..], [1, 2, 3]);
        let header = PacketHeader::of(&words_of(&beats, 8));
        assert_eq!(
            (header.id, header.bytes, header.offset),
            (Some(7), Some(6), Some(3))
        );
        // A put of one word, in one beat and in two.
        let first = put_header::PTYPE.put(PacketType::Put1 as u32) | put_header::LENGTH.put(2);
        let mut beats = vec![first, 5, 0, 0];
        assert_eq!(words_of(&beats, 4), [first, 5]);
        beats.extend([6, 0, 0, 0]);
        assert_eq!(words_of(&beats, 4), [first, 6]);
        assert!(words_of(&[], 8).is_empty());
        // An accumulate has two header words more if it fetches the old elements.
        let bits = x_accumulate::ACCUMULATE.put(1) | x_accumulate::FETCH.put(1);
        let first = x_header::PTYPE.put(PacketType::Xput as u32) | x_header::LAST.put(1) | bits;
        let words = [first, 8, x_length::LENGTH.put(8), 0, 64, 1, 2];
        assert_eq!(counts(&words), (5, 2));
    }

    #[test]
    fn what_is_cut_short_is_no_panic() {
        for kind in 0..8 {
            for count in 0..5 {
                let words = vec![x_header::PTYPE.put(kind) | x_header::LAST.put(kind & 1); count];
                let _ = (PacketHeader::of(&words), counts(&words));
                assert!(words_of(&words, 1).len() == count && words_of(&words, 8).len() <= count);
            }
        }
    }
}
