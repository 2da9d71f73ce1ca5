//! Messages: sends and receives that the hardware matches.
//!
//! The queues of a message engine have a fixed depth. With [`FlowControl::Credits`](crate::FlowControl),
//! the library counts, so the hardware never refuses a message for lack of room: to each rank the
//! library has at most as many messages under way as that rank has room for. Further messages wait in
//! a queue per destination, and further receives wait in one queue. A message completes at its sender
//! when a receive has taken the message. So its completion is also the credit for the next message.
//! [`flow`] also has the other way, which sends refused messages again.
//!
//! # Command ids
//!
//! Messages and receives share the ids below the depth of the queues. Some may be outstanding for
//! any length of time. Receives use at most three quarters of the ids, and so do messages. One id
//! is reserved for each destination without a message under way. So posted receives take no id from
//! sends, messages take no id from receives, and no destination takes an id from another. A quarter
//! of the completion ring is reserved for puts, gets and collectives. One more id is reserved for a
//! probe, which ends at once.
//!
//! Unexpected messages beyond the room of the hardware's queue are in [`overflow`].
//!
//! A receive that waits in the library must not miss its message, even if the posted receives never
//! end. Its message is among the unexpected messages. So the library probes for that message from
//! time to time, and posts the receive with the id of the probe.

mod communicator;
mod context;
mod engine;
mod flow;
mod matched;
mod matching;
mod message;
mod overflow;
mod peers;
mod queues;
mod rank;

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use crate::request::{Descriptor, Held, Outcome};
use crate::{BoardInfo, Cycle, Options};

pub(crate) use context::Contexts;
pub use matched::MatchedMessage;
pub use matching::MatchCounters;
pub use message::{Message, MessageKind, MessageStatus, Source, TAG_UB, Tag};
pub(crate) use overflow::Overflow;
pub(crate) use queues::Lanes;
pub use queues::Queues;

/// Range of the cycles between two probes. The pause grows while no message comes.
const PAUSE: RangeInclusive<u64> = 64..=1024;

/// Cycles of a wait before the library takes over unexpected messages.
const LISTEN_AFTER: u64 = 4096;

/// Returns the next pause.
fn longer(pause: u64) -> u64 {
    (pause + pause / 4).min(*PAUSE.end())
}

/// An operation that waits to be posted.
#[derive(Debug)]
struct Queued {
    outcome: Outcome,
    held: Held,
    /// Serial number of a message that its destination has refused, among those to the destination.
    serial: Option<u64>,
}

impl Queued {
    fn new(outcome: Outcome, held: Held) -> Queued {
        Queued {
            outcome,
            held,
            serial: None,
        }
    }
}

/// A queue of operations that wait.
#[derive(Debug, Clone, Copy)]
enum Line {
    Receives,
    To(usize),
}

/// A rank's messages and receives: the waiting operations, and counts of those under way.
#[derive(Debug)]
pub(crate) struct Messages {
    depth: u32,
    fragment: u32,
    ring: u32,
    /// Number of ids for messages and receives together; less than `depth`.
    room: u32,
    /// Number of unexpected messages per source that this rank has room for.
    quota: u32,
    flow: flow::Flow,
    receives: VecDeque<Queued>,
    /// Waiting sends, by destination.
    sends: Vec<VecDeque<Queued>>,
    /// Number of messages in `sends`.
    waiting: u32,
    posted: u32,
    /// Messages under way, by destination.
    sent: Vec<u32>,
    /// Ids of messages under way, plus the ids reserved for destinations without one.
    claimed: u32,
    probing: u32,
    /// Whether waiting operations are being posted, or a probe is under way.
    busy: bool,
    /// Time of the next probe for waiting receives.
    look_at: Cycle,
    pause: u64,
    pub(crate) overflow: Overflow,
    /// Contexts of the rank's communicators.
    pub(crate) contexts: Contexts,
    /// Cycles of a wait before it listens for the cause `crowded`.
    pub(crate) listen_after: u64,
    /// Whether the library matches: receives of the program wait in `receives`, and the library
    /// takes each message over, or gives it to one of them.
    pub(crate) is_software: bool,
    /// Maximum length of a message that is sent with its header, at most `fragment`.
    pub(crate) eager: u32,
}

impl Messages {
    pub(crate) fn new(info: &BoardInfo, nprocs: u32, options: &Options) -> Messages {
        let ring = options.ring_entries;
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
            flow: flow::Flow::new(options.flow_control, quota, info, nprocs),
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
            overflow: Overflow::new(info, options),
            contexts: Contexts::default(),
            listen_after: LISTEN_AFTER,
            is_software: false,
            eager: info.fragment_bytes,
        }
    }

    /// Returns whether a wait listens for the cause `crowded`. Waits inside `busy` do not.
    pub(crate) fn listens(&self) -> bool {
        !self.busy && self.overflow.listens()
    }

    /// Ends listening for the cause `crowded`, unless a wait is a part of another wait.
    #[inline]
    pub(crate) fn stop_listening(&mut self) {
        if !self.busy {
            self.overflow.stop_listening();
        }
    }

    /// Number of operations that wait for the end of another one.
    pub(crate) fn waiting(&self) -> u32 {
        self.waiting + self.receives.len() as u32
    }

    pub(crate) fn has_queue(&self) -> bool {
        self.waiting() > 0 || self.overflow.is_active()
    }

    /// Returns whether the library probes for waiting receives. A library that matches takes messages
    /// over instead, except those that can't be taken over.
    fn looks(&self) -> bool {
        !self.receives.is_empty() && (!self.is_software || self.overflow.has_left())
    }

    /// Time of the next probe for waiting receives, or of the next repetition of refused messages.
    pub(crate) fn next_look(&self) -> Cycle {
        if self.busy {
            return Cycle(u64::MAX);
        }
        let look = if self.looks() {
            self.look_at
        } else {
            Cycle(u64::MAX)
        };
        look.min(self.next_resumption())
    }

    /// Number of posted messages, receives and probes that have not completed.
    pub(crate) fn under_way(&self) -> u32 {
        self.posted + self.sent.iter().sum::<u32>() + self.probing
    }

    /// Number of messages that have started and have not completed.
    fn unreceived(&self) -> u32 {
        self.sent.iter().sum::<u32>() + self.overflow.deferred()
    }

    /// Number of messages that have not completed, including the waiting ones.
    fn unsent(&self) -> u32 {
        self.unreceived() + self.waiting
    }

    /// Maximum number of receives, and of messages.
    fn share(&self) -> u32 {
        self.room * 3 / 4
    }

    /// Removes the waiting operations with such a descriptor. A message that its destination has
    /// refused goes on without its request, because the destination waits for it.
    pub(crate) fn take_waiting(&mut self, is_wanted: impl Fn(&Descriptor) -> bool) -> Vec<Outcome> {
        let is_wanted = |queued: &Queued| queued.outcome.descriptor().is_some_and(&is_wanted);
        let mut taken = Vec::new();
        let queues = std::iter::once(&mut self.receives).chain(&mut self.sends);
        for (place, queue) in queues.enumerate() {
            for mut queued in std::mem::take(queue) {
                if is_wanted(&queued) && queued.serial.is_some() {
                    if !queued.outcome.is_given_up() {
                        taken.push(queued.outcome.give_up());
                    }
                    queue.push_back(queued);
                } else if is_wanted(&queued) {
                    self.waiting -= u32::from(place > 0);
                    taken.push(queued.outcome);
                } else {
                    queue.push_back(queued);
                }
            }
        }
        taken
    }

    fn queue(&mut self, line: Line) -> &mut VecDeque<Queued> {
        match line {
            Line::Receives => &mut self.receives,
            Line::To(target) => &mut self.sends[target],
        }
    }

    /// Returns a queue whose first operation may be posted.
    fn next(&self) -> Option<Line> {
        let has_room = self.posted + self.claimed < self.room;
        if self.may_post_receive() && self.posted < self.share() && has_room {
            return Some(Line::Receives);
        }
        if self.waiting == 0 {
            return None;
        }
        let may_go = |&target: &usize| {
            let sent = self.sent[target];
            let stream = &self.flow.streams[target];
            let fits = sent == 0 || self.claimed < self.share() && has_room;
            let first = self.sends[target].front();
            first.is_some_and(|first| stream.may_send(first, sent)) && fits
        };
        (0..self.sends.len()).find(may_go).map(Line::To)
    }

    /// Returns whether the first waiting receive may be posted before its message is known. The
    /// receives of the library come first.
    fn may_post_receive(&self) -> bool {
        let first = self.receives.front();
        let first = first.and_then(|queued| queued.outcome.message());
        first.is_some_and(|receive| !self.is_software || receive.is_of_library())
    }

    /// Returns the first waiting receive that matches a message of this context.
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
        if let (MessageKind::Send, Some(target)) = (message.kind, message.peer) {
            self.flow.received(target.0 as usize);
        }
        self.left(message);
    }

    /// Counts an operation that is no longer under way.
    fn left(&mut self, message: &Message) {
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
    /// Returns the first waiting send or receive.
    fn first_waiting(&self, kind: MessageKind) -> Option<Message> {
        let first = match kind {
            MessageKind::Send => self.sends.iter().find_map(VecDeque::front),
            _ => self.receives.front(),
        };
        let first = first.and_then(|queued| queued.outcome.message().copied());
        match kind {
            MessageKind::Send => first.or_else(|| self.overflow.first_deferred()),
            _ => first,
        }
    }
}
