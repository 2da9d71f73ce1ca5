//! The files that a log is written to.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::chrome::{self, About};
use super::packet::{LoggedPacket, PacketHeader, PhitHeader, Place, words_of};
use super::story::{Entry, Setup, Story};
use super::{What, pcapng};
use crate::CosimError;

/// The format of a packet log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PacketFormat {
    Pcapng,
    Text,
}

impl PacketFormat {
    /// The format for a file's name.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "pcapng" => Some(PacketFormat::Pcapng),
            "txt" => Some(PacketFormat::Text),
            _ => None,
        }
    }
}

/// The contents of the logs of all boards.
pub(crate) struct Logs {
    pub(crate) setup: Setup,
    pub(crate) entries: Vec<Entry>,
    /// For each board: its name, the number of dropped records, and the limit.
    pub(crate) boards: Vec<(String, u64, usize)>,
}

impl Logs {
    /// The packets, in the order of their first words, boards and places.
    pub(crate) fn packets(&self) -> Vec<LoggedPacket> {
        let mut packets: Vec<LoggedPacket> = self
            .entries
            .iter()
            .filter_map(|it| self.packet(it))
            .collect();
        packets.sort_by_key(|packet| (packet.run, packet.cycle, packet.board));
        packets
    }

    fn packet(&self, entry: &Entry) -> Option<LoggedPacket> {
        let words = || words_of(&entry.words, self.setup.unit);
        let (place, words, phit, is_whole) = match entry.record.what {
            What::Packet { stream, is_whole } => {
                (Place::of_stream(stream), words(), None, is_whole)
            }
            What::Hop {
                port,
                channel,
                header,
                header_high,
                position,
                is_whole,
                ..
            } => {
                let place = Place::Link {
                    port: port.into(),
                    channel: channel.into(),
                };
                match channel {
                    0..=3 => (place, words(), None, is_whole),
                    _ => {
                        let phit = PhitHeader::of(header, header_high, position);
                        (place, entry.words.clone(), Some(phit), is_whole)
                    }
                }
            }
            _ => return None,
        };
        let mut header = match phit {
            None => PacketHeader::of(&words),
            Some(_) => PacketHeader::default(),
        };
        // Replies do not name their sender, and neither do the paper's puts.
        if let Place::RequestSent { rank } | Place::ReplySent { rank } = place {
            header.source = Some(entry.board * self.setup.ranks + rank);
        }
        Some(LoggedPacket {
            run: entry.record.run,
            cycle: entry.record.from,
            end: entry.record.to,
            board: entry.board,
            place,
            header,
            phit,
            words,
            is_whole,
        })
    }

    /// The begin of each run in a file.
    fn shifts(&self) -> BTreeMap<u32, u64> {
        chrome::shifts(self.entries.iter().map(|entry| {
            let record = entry.record;
            match record.what {
                What::Hop { arrived, .. } => (record.run, record.to.max(arrived)),
                _ => (record.run, record.to),
            }
        }))
    }

    /// Writes the timeline of boards that were opened as `name`.
    pub(crate) fn write_timeline(&self, name: &str, path: &Path) -> Result<(), CosimError> {
        let story = Story::of(&self.entries, self.setup);
        let about = About {
            name,
            boards: &self.boards,
            shifts: &self.shifts(),
        };
        write(path, |out| chrome::write(&story, &about, out))
    }

    /// Writes the packet log in the format for the file's name.
    pub(crate) fn write_packets(&self, path: &Path) -> Result<(), CosimError> {
        let packets = self.packets();
        let format = PacketFormat::of(path).unwrap_or(PacketFormat::Text);
        write(path, |out| match format {
            PacketFormat::Text => self.write_text(&packets, out),
            PacketFormat::Pcapng => {
                let shifts = self.shifts();
                pcapng::begin(out)?;
                packets
                    .iter()
                    .try_for_each(|packet| pcapng::packet(out, packet, shifts[&packet.run]))
            }
        })
    }

    fn write_text(&self, packets: &[LoggedPacket], out: &mut impl Write) -> io::Result<()> {
        for (name, dropped, limit) in &self.boards {
            if *dropped > 0 {
                writeln!(
                    out,
                    "{name}: {dropped} older records are gone, of which the log keeps {limit}"
                )?;
            }
        }
        packets
            .iter()
            .try_for_each(|packet| writeln!(out, "{packet}"))
    }
}

/// The temporary name of a file while it is written.
fn unfinished(path: &Path) -> PathBuf {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    unfinished.into()
}

/// Checks before the run that a file can be written.
pub(crate) fn check(path: &Path) -> Result<(), CosimError> {
    let unfinished = unfinished(path);
    let check = File::create(&unfinished).and_then(|_| fs::remove_file(&unfinished));
    check.map_err(|source| cannot_write(path, source))
}

fn cannot_write(path: &Path, source: io::Error) -> CosimError {
    CosimError::Write {
        path: path.to_owned(),
        source: Arc::new(source),
    }
}

/// Writes a file under a temporary name first, so that a file with the final name is complete.
fn write(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), CosimError> {
    let unfinished = unfinished(path);
    let write = || {
        let mut out = BufWriter::new(File::create(&unfinished)?);
        content(&mut out)?;
        out.flush()?;
        fs::rename(&unfinished, path)
    };
    write().map_err(|source| {
        let _ = fs::remove_file(&unfinished);
        cannot_write(path, source)
    })
}
