//! A packet log as a pcapng file, of link type USER0; docs/timeline.md describes the records.

use std::io::{self, Write};

use super::packet::{LoggedPacket, Place};

/// LINKTYPE_USER0.
const LINK_TYPE: u16 = 147;
/// Version of the header in front of a packet's words.
const VERSION: u8 = 1;
/// Bytes of that header.
const HEADER: usize = 24;
/// Nanoseconds of a cycle at 250 MHz.
const CYCLE_NS: u64 = 4;

/// Bits of the header's flags.
const RECEIVED: u8 = 1;
const REPLY: u8 = 2;
const LINK: u8 = 4;
const CUT: u8 = 8;

/// Writes section header and interface description.
pub(crate) fn begin(out: &mut impl Write) -> io::Result<()> {
    let mut section = Vec::new();
    section.extend(0x1A2B_3C4D_u32.to_le_bytes());
    section.extend(1_u16.to_le_bytes());
    section.extend(0_u16.to_le_bytes());
    section.extend(u64::MAX.to_le_bytes());
    block(out, 0x0A0D_0D0A, &section)?;
    let mut interface = Vec::new();
    interface.extend(LINK_TYPE.to_le_bytes());
    interface.extend([0; 2]);
    // No limit to a packet's length.
    interface.extend(0_u32.to_le_bytes());
    // if_tsresol: nanoseconds; then the end of the options.
    interface.extend([9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    block(out, 1, &interface)
}

/// Writes a packet; its run began in cycle `shift` of the file.
pub(crate) fn packet(out: &mut impl Write, packet: &LoggedPacket, shift: u64) -> io::Result<()> {
    let data = record(packet);
    let time = (packet.cycle + shift) * CYCLE_NS;
    let mut body = Vec::with_capacity(20 + data.len());
    body.extend(0_u32.to_le_bytes());
    body.extend(((time >> 32) as u32).to_le_bytes());
    body.extend((time as u32).to_le_bytes());
    body.extend((data.len() as u32).to_le_bytes());
    body.extend((data.len() as u32).to_le_bytes());
    body.extend(data);
    block(out, 6, &body)
}

/// PacketHeader and words.
fn record(packet: &LoggedPacket) -> Vec<u8> {
    let (place, number, channel) = match packet.place {
        Place::RequestSent { rank } => (0, rank, 0),
        Place::ReplySent { rank } => (REPLY, rank, 0),
        Place::RequestReceived { rank } => (RECEIVED, rank, 0),
        Place::ReplyReceived { rank } => (RECEIVED | REPLY, rank, 0),
        Place::Link { port, channel } => (LINK, port, channel),
    };
    let flags = place | if packet.is_whole { 0 } else { CUT };
    let mut data = Vec::with_capacity(HEADER + 4 * packet.words.len());
    data.extend([VERSION, HEADER as u8, flags, channel as u8]);
    data.extend((packet.board as u16).to_le_bytes());
    data.extend((number as u16).to_le_bytes());
    data.extend(packet.cycle.to_le_bytes());
    let duration = packet.end.saturating_sub(packet.cycle);
    data.extend((duration.min(u32::MAX.into()) as u32).to_le_bytes());
    data.extend(packet.run.to_le_bytes());
    for word in &packet.words {
        data.extend(word.to_le_bytes());
    }
    data
}

/// A block: type, length, body up to a whole word, and the length again.
fn block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let padding = body.len().next_multiple_of(4) - body.len();
    let length = (12 + body.len() + padding) as u32;
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(body)?;
    out.write_all(&[0; 3][..padding])?;
    out.write_all(&length.to_le_bytes())
}
