//! The sender of the messages to one destination.

use std::collections::VecDeque;

/// Sizes of the protocol.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Serial numbers of the messages after the first one; 62 in the RTL.
    pub numbers: u32,
    /// Maximum number of messages under way.
    pub window: u32,
    /// Maximum of the line, the number of refused sources that a refusal tells; 31 in the RTL.
    pub line: u32,
    /// Cycles of a first pause, for each source in the line.
    pub pause: u64,
    /// Maximum of the cycles of a pause, for each source in the line.
    pub longest_pause: u64,
}

impl Sizes {
    /// Sizes of the RTL and the library.
    pub const RTL: Sizes = Sizes {
        numbers: 62,
        window: 62,
        line: 31,
        pause: 64,
        longest_pause: 1024,
    };
}

/// Rules of the protocol. A test turns one off and sees that the check fails.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// A refusal sets back the number of the next message.
    pub goes_back: bool,
    /// Only the message with the next number is sent: the sender waits for the refusals of messages
    /// that it has sent after a refused one.
    pub waits_for_refusals: bool,
    /// A refused message goes before all later ones in the queue.
    pub sorts: bool,
    /// The receiver marks the source of a refused message.
    pub marks: bool,
    /// The receiver takes only the refused message of a marked source.
    pub compares: bool,
    /// The receiver keeps the number of the first refused message.
    pub keeps_first: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            goes_back: true,
            waits_for_refusals: true,
            sorts: true,
            marks: true,
            compares: true,
            keeps_first: true,
        }
    }
}

/// A message on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message {
    /// Serial number: 1 for the first message of a source, 2 and more for the later ones.
    pub serial: u32,
    /// Place among all messages of the source, from 0 on. The sender knows it, the receiver does not.
    pub place: u32,
}

/// The messages of one source to the receiver.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sender {
    /// Places of the messages that are not under way and that no receive has taken.
    queue: VecDeque<u32>,
    /// Place of the next message to be sent. All later ones have been refused, or are new.
    next: u32,
    under_way: u32,
    window: u32,
    /// Time at which the refused messages are sent again; `None`: now.
    resume_at: Option<u64>,
    /// Cycles until then, for each source in the line.
    pause: u64,
}

impl Sender {
    /// A sender with so many messages.
    #[must_use]
    pub fn new(messages: u32, sizes: &Sizes) -> Sender {
        Sender {
            queue: (0..messages).collect(),
            next: 0,
            under_way: 0,
            window: sizes.window,
            resume_at: None,
            pause: sizes.pause,
        }
    }

    /// Whether receives have taken all messages, as far as the sender knows.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.queue.is_empty() && self.under_way == 0
    }

    /// Time at which the pause ends, if there is one.
    #[must_use]
    pub fn resume_at(&self) -> Option<u64> {
        self.resume_at
    }

    /// Returns whether the first message of the queue may be sent.
    #[must_use]
    pub fn may_send(&self, rules: &Rules) -> bool {
        let is_next = |place| place == self.next || !rules.waits_for_refusals;
        let has_next = self.queue.front().is_some_and(|&place| is_next(place));
        has_next && self.under_way < self.window && self.resume_at.is_none()
    }

    /// Sends the first message of the queue.
    pub fn send(&mut self, sizes: &Sizes) -> Option<Message> {
        let place = self.queue.pop_front()?;
        if place == self.next {
            self.next += 1;
        }
        self.under_way += 1;
        let serial = match place.checked_sub(1) {
            None => 1,
            Some(later) => 2 + later % sizes.numbers,
        };
        Some(Message { serial, place })
    }

    /// The receiver has refused a message.
    pub fn refused(&mut self, place: u32, line: u32, now: u64, sizes: &Sizes, rules: &Rules) {
        let before = if rules.sorts {
            self.queue.partition_point(|&queued| queued < place)
        } else {
            self.queue.len()
        };
        self.queue.insert(before, place);
        if rules.goes_back {
            self.next = self.next.min(place);
        }
        self.under_way -= 1;
        self.window = self.window.min(self.under_way + 1);
        if before == 0 {
            self.resume_at = Some(now + self.pause * u64::from(line.max(1)));
            self.pause = (self.pause + self.pause / 4).min(sizes.longest_pause);
        }
    }

    /// A receive has taken a message.
    pub fn received(&mut self, sizes: &Sizes) {
        self.under_way -= 1;
        self.window = (self.window + 1).min(sizes.window);
        self.pause = sizes.pause;
        self.resume_at = None;
    }

    /// The pause ends.
    pub fn resume(&mut self) {
        self.resume_at = None;
    }
}
