//! The receiver of the messages of many sources.

use std::fmt;

use crate::{Message, Rules, Sizes};

/// Outcome of the arrival of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The message has an entry.
    Taken,
    /// The message is refused.
    Refused {
        /// Number of marked sources, with this one.
        line: u32,
    },
}

/// A broken property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Broken {
    /// A message has been taken before an earlier one of its source.
    Early,
    /// A message has been taken twice, or after a later one of its source.
    Again,
    /// Nothing more can happen, and messages are left.
    Unfinished,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Broken::Early => "a message has been taken before an earlier one",
            Broken::Again => "a message has been taken again, or after a later one",
            Broken::Unfinished => "nothing can happen, and messages are left",
        })
    }
}

/// What the receiver keeps of a source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Stream {
    /// Number of the refused message, if the source is marked.
    refused: Option<u32>,
    /// Fact: place of the next message.
    expected: u32,
}

/// The receiver.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Receiver {
    streams: Vec<Stream>,
    marked: u32,
    free: u32,
}

impl Receiver {
    /// A receiver of so many sources, with so many entries.
    #[must_use]
    pub fn new(sources: usize, room: u32) -> Receiver {
        Receiver {
            streams: vec![Stream::default(); sources],
            marked: 0,
            free: room,
        }
    }

    /// A message arrives.
    ///
    /// # Errors
    /// If a property is broken.
    pub fn arrives(
        &mut self,
        source: usize,
        message: Message,
        sizes: &Sizes,
        rules: &Rules,
    ) -> Result<Answer, Broken> {
        let stream = &mut self.streams[source];
        let is_first = message.serial == 1;
        let is_in_order = match stream.refused {
            Some(refused) => message.serial == refused || is_first || !rules.compares,
            None => true,
        };
        if is_in_order && self.free > 0 {
            self.free -= 1;
            self.marked -= u32::from(stream.refused.take().is_some());
            if message.place > stream.expected {
                return Err(Broken::Early);
            } else if message.place < stream.expected {
                return Err(Broken::Again);
            }
            stream.expected += 1;
            return Ok(Answer::Taken);
        }
        let stores = stream.refused.is_none() || is_first || !rules.keeps_first;
        if stores && rules.marks {
            self.marked += u32::from(stream.refused.is_none());
            stream.refused = Some(message.serial);
        }
        Ok(Answer::Refused {
            line: self.marked.min(sizes.line),
        })
    }

    /// A receive takes a message, whose entry is then free.
    pub fn release(&mut self) {
        self.free += 1;
    }

    /// Fact: number of messages of a source that have been taken.
    #[must_use]
    pub fn taken(&self, source: usize) -> u32 {
        self.streams[source].expected
    }
}
