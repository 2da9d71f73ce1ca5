//! Messages: sends and receives that the hardware matches.
//!
//! A message engine holds as many posted receives, and as many unexpected messages, as its queues
//! are deep. Nothing is ever refused for want of room, because the library counts: to each rank it
//! has as many messages under way as that rank keeps room for, and what has to wait, waits here in
//! a queue for each destination and one for receives. A message completes at its sender when a
//! receive has taken it, so its completion is also the credit for the next.
//!
//! # Command ids
//!
//! Messages and receives share the ids below the queues' depth, and some of them may last for as
//! long as the peers like. So receives have three quarters of the ids at most, and messages as well,
//! and an id is kept for each destination that none is on its way to: posted receives take no send
//! its id, messages take no receive its id, and no destination takes another's. A quarter of
//! the completion ring is left to puts, gets and collectives, and one id more to a probe, which
//! ends at once.
//!
//! Receives that wait here must not miss their messages, even if those that are posted wait for
//! ever. What they are for lies among the unexpected messages, so the library looks for it there from
//! time to time, and posts the receive that is to have it by the id of the probe.

mod communicator;
mod context;
mod engine;
mod matching;
mod message;
mod peers;
mod rank;

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use crate::request::{Held, Outcome};
use crate::{BoardInfo, Cycle};

pub(crate) use context::{Contexts, WORLD};
pub use matching::MatchCounters;
pub use message::{Message, MessageKind, MessageStatus, Source, TAG_UB, Tag};

/// Cycles between two looks for a message, which grow with the time that none has come.
const PAUSE: RangeInclusive<u64> = 64..=1024;

/// The next pause.
fn longer(pause: u64) -> u64 {
    (pause + pause / 4).min(*PAUSE.end())
}

/// What waits for its turn.
#[derive(Debug)]
struct Queued {
    outcome: Outcome,
    held: Held,
}

/// A queue of what waits.
#[derive(Debug, Clone, Copy)]
enum Line {
    Receives,
    To(usize),
}

/// A rank's messages and receives: those that wait for their turn, and counts of those under way.
#[derive(Debug)]
pub(crate) struct Messages {
    depth: u32,
    fragment: u32,
    ring: u32,
    /// Ids that messages and receives may have together; less than `depth`.
    room: u32,
    /// Unexpected messages of each source that this rank keeps room for.
    quota: u32,
    /// How many messages of this rank's host may be on their way to each destination.
    credit: u32,
    receives: VecDeque<Queued>,
    /// By destination.
    sends: Vec<VecDeque<Queued>>,
    /// Messages in `sends`.
    waiting: u32,
    posted: u32,
    /// By destination.
    sent: Vec<u32>,
    /// Ids of messages, and those kept for destinations that none is on its way to.
    claimed: u32,
    probing: u32,
    /// What waits is being posted, or a probe is under way.
    busy: bool,
    /// When to look for messages of receives that wait.
    look_at: Cycle,
    pause: u64,
}

impl Messages {
    pub(crate) fn new(info: &BoardInfo, nprocs: u32, ring: u32) -> Messages {
        let depth = info.message_depth;
        let own = info.kernel_messages();
        let quota = (depth / nprocs.max(1)).max(1);
        Messages {
            depth,
            quota,
            fragment: info.fragment_bytes,
            ring,
            room: (depth - own)
                .saturating_sub(1)
                .min(ring - (ring / 4).max(1)),
            // A kernel sends one message at a time.
            credit: quota.saturating_sub(own.min(1)).max(1),
            receives: VecDeque::new(),
            sends: (0..nprocs).map(|_| VecDeque::new()).collect(),
            waiting: 0,
            posted: 0,
            sent: vec![0; nprocs as usize],
            claimed: nprocs,
            probing: 0,
            busy: false,
            look_at: Cycle(0),
            pause: *PAUSE.start(),
        }
    }

    /// Unexpected messages of each source that this rank keeps room for.
    pub(crate) fn quota(&self) -> u32 {
        self.quota
    }

    /// What waits here for something else to end.
    pub(crate) fn waiting(&self) -> u32 {
        self.waiting + self.receives.len() as u32
    }

    pub(crate) fn has_queue(&self) -> bool {
        self.waiting() > 0
    }

    /// When to look for messages of receives that wait here.
    pub(crate) fn next_look(&self) -> Cycle {
        match self.receives.is_empty() || self.busy {
            true => Cycle(u64::MAX),
            false => self.look_at,
        }
    }

    /// Messages and receives that are posted and have not completed.
    pub(crate) fn under_way(&self) -> u32 {
        self.posted + self.sent.iter().sum::<u32>() + self.probing
    }

    /// Messages that have not completed, and those that wait.
    fn unsent(&self) -> u32 {
        self.sent.iter().sum::<u32>() + self.waiting
    }

    /// How many receives there may be, and how many messages.
    fn share(&self) -> u32 {
        self.room * 3 / 4
    }

    fn queue(&mut self, line: Line) -> &mut VecDeque<Queued> {
        match line {
            Line::Receives => &mut self.receives,
            Line::To(target) => &mut self.sends[target],
        }
    }

    /// A line whose first may be posted.
    fn next(&self) -> Option<Line> {
        let has_room = self.posted + self.claimed < self.room;
        if !self.receives.is_empty() && self.posted < self.share() && has_room {
            return Some(Line::Receives);
        }
        if self.waiting == 0 {
            return None;
        }
        let may_go = |&target: &usize| {
            let sent = self.sent[target];
            let fits = sent == 0 || self.claimed < self.share() && has_room;
            !self.sends[target].is_empty() && sent < self.credit && fits
        };
        (0..self.sends.len()).find(may_go).map(Line::To)
    }

    /// The first receive that waits here and is for a message of this context.
    fn first_for(&self, context: u8, found: &MessageStatus) -> Option<usize> {
        self.receives.iter().position(|queued| {
            let message = queued.outcome.message();
            message.is_some_and(|message| message.is_for(context, found))
        })
    }

    fn began(&mut self, message: &Message) {
        match (message.kind, message.peer) {
            (MessageKind::Send, Some(target)) => {
                let sent = &mut self.sent[target.0 as usize];
                self.claimed += u32::from(*sent > 0);
                *sent += 1;
            }
            (MessageKind::Probe, _) => self.probing += 1,
            _ => self.posted += 1,
        }
    }

    pub(crate) fn ended(&mut self, message: &Message) {
        match (message.kind, message.peer) {
            (MessageKind::Send, Some(target)) => {
                let sent = &mut self.sent[target.0 as usize];
                *sent -= 1;
                self.claimed -= u32::from(*sent > 0);
            }
            (MessageKind::Probe, _) => self.probing -= 1,
            _ => self.posted -= 1,
        }
    }
}

impl Messages {
    /// The first that waits, of sends or receives.
    fn first_waiting(&self, kind: MessageKind) -> Option<Message> {
        let first = match kind {
            MessageKind::Send => self.sends.iter().find_map(VecDeque::front),
            _ => self.receives.front(),
        };
        first.and_then(|queued| queued.outcome.message().copied())
    }
}
