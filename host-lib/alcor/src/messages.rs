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

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use alcor_abi::packets::{x_message, x_tag};
use alcor_abi::rank::{self, message_queues};
use alcor_abi::{Opcode, Status};

use crate::allocator::Block;
use crate::progress::{Progress, Wanted};
use crate::request::{Asked, Held, NOTHING, Outcome, Request};
use crate::transfer::fits;
use crate::watchdog::Awaited;
use crate::{
    BoardInfo, Communicator, CommunicatorId, Cycle, Datatype, Error, GlobalRank, NodeAddr, Rank,
    Region, Result, Wake,
};

/// The largest tag.
pub const TAG_UB: u32 = x_tag::TAG.max();

/// Contexts that there are.
const CONTEXTS: u32 = 1 + x_message::CONTEXT.max();
/// The world's.
pub(crate) const WORLD: u8 = 0;
/// Cycles between two looks for a message, which grow with the time that none has come.
const PAUSE: RangeInclusive<u64> = 64..=1024;

/// The next pause.
fn longer(pause: u64) -> u64 {
    (pause + pause / 4).min(*PAUSE.end())
}

/// Whose messages a receive or probe is for: of one rank, as the call counts ranks, or of any.
///
/// # Examples
/// ```
/// use alcor::{GlobalRank, Source};
/// assert_eq!(Source::from(GlobalRank(3)), Source::Rank(3));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// Any rank.
    Any,
    /// This rank.
    Rank(u32),
}

impl From<u32> for Source {
    fn from(rank: u32) -> Source {
        Source::Rank(rank)
    }
}

impl From<GlobalRank> for Source {
    fn from(rank: GlobalRank) -> Source {
        Source::Rank(rank.0)
    }
}

/// Which messages a receive or probe is for: those of one tag, or of any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tag {
    /// Any tag.
    Any,
    /// This tag, at most [`TAG_UB`].
    Is(u32),
}

impl From<u32> for Tag {
    fn from(tag: u32) -> Tag {
        Tag::Is(tag)
    }
}

/// What a [`Message`] is at the rank that asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// A message that is sent.
    Send,
    /// A receive.
    Receive,
    /// A look at messages that no receive has taken.
    Probe,
}

/// A send, receive or probe as the hardware takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Message {
    /// Send, receive or probe.
    pub kind: MessageKind,
    /// Where it goes to or comes from; `None` for any source.
    pub peer: Option<GlobalRank>,
    /// Its tag; `None` for any.
    pub tag: Option<u32>,
    /// Its communicator's context: 0 for the world.
    pub context: u8,
    /// Address in local node memory.
    pub local: NodeAddr,
    /// Bytes: of a receive, how many fit.
    pub length: u32,
}

impl Message {
    /// Whether this receive is for a message of this context that was found.
    fn is_for(&self, context: u8, found: &MessageStatus) -> bool {
        self.context == context
            && self.peer.is_none_or(|peer| peer == found.pid)
            && self.tag.is_none_or(|tag| tag == found.tag)
    }

    fn tag_operand(&self) -> u32 {
        x_tag::TAG.put(self.tag.unwrap_or(0))
            | x_tag::ANY_TAG.put(u32::from(self.tag.is_none()))
            | x_tag::ANY_SOURCE.put(u32::from(self.peer.is_none()))
    }

    fn commit(&self, id: u16) -> u32 {
        x_message::RANK.put(self.peer.map_or(0, |peer| peer.0))
            | x_message::CONTEXT.put(u32::from(self.context))
            | x_message::ID.put(u32::from(id))
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, way) = match self.kind {
            MessageKind::Send => ("send", "to"),
            MessageKind::Receive => ("receive", "from"),
            MessageKind::Probe => ("probe", "for a message from"),
        };
        write!(f, "{kind} ")?;
        if self.kind != MessageKind::Probe {
            write!(f, "of {} bytes ", self.length)?;
        }
        match self.peer {
            Some(peer) => write!(f, "{way} {peer}, ")?,
            None => write!(f, "{way} any rank, ")?,
        }
        match self.tag {
            Some(tag) => write!(f, "tag {tag}, ")?,
            None => write!(f, "any tag, ")?,
        }
        write!(f, "context {}", self.context)
    }
}

/// What a receive or probe found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageStatus {
    /// The rank that sent it, as the call counts ranks: in the run, or in the communicator.
    pub source: u32,
    /// The rank that sent it, in the run.
    pub pid: GlobalRank,
    /// Its tag.
    pub tag: u32,
    /// Bytes of the message, also where fewer were received.
    pub length: u32,
    /// The receive was cancelled: there is no message, and nothing else here means anything.
    pub cancelled: bool,
}

impl MessageStatus {
    /// The same, with its source as a communicator of these members counts it.
    pub(crate) fn counted(mut self, members: Option<&[GlobalRank]>) -> MessageStatus {
        if let Some(members) = members {
            let place = members.iter().position(|&member| member == self.pid);
            self.source = place.unwrap_or(0) as u32;
        }
        self
    }

    /// Elements of type `T` in the message; `None` when it ends in the middle of one.
    #[must_use]
    pub fn count<T: Datatype>(&self) -> Option<usize> {
        let whole = self.length.is_multiple_of(T::BYTES);
        whole.then_some((self.length / T::BYTES) as usize)
    }
}

/// What a rank's message engine has matched since the board's reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MatchCounters {
    /// Receives that are posted now.
    pub posted: u32,
    /// Unexpected messages that lie there now.
    pub unexpected: u32,
    /// Messages whose receive the matching unit found.
    pub posted_by_unit: u32,
    /// Messages whose receive was found by walking the rest of the queue.
    pub posted_by_walk: u32,
    /// Receives whose message the matching unit found.
    pub unexpected_by_unit: u32,
    /// Receives whose message was found by walking the rest of the queue.
    pub unexpected_by_walk: u32,
    /// Messages that were refused for want of room.
    pub refused: u32,
}

/// The contexts of a rank's communicators: a bit each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contexts([u32; Contexts::WORDS]);

impl Default for Contexts {
    fn default() -> Contexts {
        let mut contexts = Contexts([0; Contexts::WORDS]);
        contexts.take(WORLD);
        contexts
    }
}

impl Contexts {
    /// Words of such a set.
    pub(crate) const WORDS: usize = CONTEXTS as usize / 32;

    pub(crate) fn to_words(self) -> [u32; Contexts::WORDS] {
        self.0
    }

    pub(crate) fn from_words(words: [u32; Contexts::WORDS]) -> Contexts {
        Contexts(words)
    }

    pub(crate) fn join(&mut self, other: &Contexts) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word |= other;
        }
    }

    pub(crate) fn take(&mut self, context: u8) {
        self.0[usize::from(context) / 32] |= 1 << (context % 32);
    }

    pub(crate) fn give_back(&mut self, context: u8) {
        self.0[usize::from(context) / 32] &= !(1 << (context % 32));
    }

    /// A free one for a communicator of this number: one after the other, so that one that was
    /// given back is long out of use before it is another's.
    pub(crate) fn free(&self, id: u32) -> Option<u8> {
        let is_free = |context: &u32| self.0[*context as usize / 32] & 1 << (context % 32) == 0;
        let found = (0..CONTEXTS).map(|step| id.wrapping_add(step) % CONTEXTS);
        found.into_iter().find(is_free).map(|context| context as u8)
    }
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

impl Progress {
    /// Starts a send or receive: posts it, or has it wait for its turn.
    fn start_message(&mut self, asked: Asked, held: Held) -> Result<Request> {
        let line = match asked.message() {
            Some(&Message {
                kind: MessageKind::Send,
                peer: Some(target),
                ..
            }) => {
                self.messages.waiting += 1;
                Line::To(target.0 as usize)
            }
            _ => Line::Receives,
        };
        let (outcome, request) = self.begin(asked);
        let queued = Queued { outcome, held };
        self.messages.queue(line).push_back(queued);
        self.post_messages()?;
        Ok(request)
    }

    /// Posts what waits and may go; whether anything was.
    pub(crate) fn post_messages(&mut self) -> Result<bool> {
        // Posting may wait itself, and must find nothing to post then.
        if self.messages.busy || !self.messages.has_queue() {
            return Ok(false);
        }
        self.alone(|progress| {
            let mut moved = false;
            while let Some(line) = progress.messages.next() {
                progress.post_at(line, 0)?;
                moved = true;
            }
            Ok(progress.serve_receives()? | moved)
        })
    }

    /// Does something in whose waits no message is posted, and none looked for.
    fn alone<T>(&mut self, what: impl FnOnce(&mut Progress) -> Result<T>) -> Result<T> {
        self.messages.busy = true;
        let done = what(self);
        self.messages.busy = false;
        done
    }

    /// Looks for messages of the receives that wait here, and has them received; whether there
    /// were any.
    fn serve_receives(&mut self) -> Result<bool> {
        if self.messages.receives.is_empty() || self.port.now()? < self.messages.look_at {
            return Ok(false);
        }
        let mut moved = false;
        let mut asked = HashSet::new();
        let mut place = 0;
        while let Some(queued) = self.messages.receives.get(place) {
            let Some(&receive) = queued.outcome.message() else {
                break;
            };
            place += 1;
            if asked.insert((receive.peer, receive.tag, receive.context))
                && let Some(found) = self.look(Message {
                    kind: MessageKind::Probe,
                    ..receive
                })?
                && self.take_found(receive.context, &found)?
            {
                asked.clear();
                place = 0;
                moved = true;
            }
        }
        self.messages.pause = match moved {
            true => *PAUSE.start(),
            false => longer(self.messages.pause),
        };
        let now = self.port.now()?;
        self.messages.look_at = Cycle(now.0.saturating_add(self.messages.pause));
        Ok(moved)
    }

    /// Has a receive that waits here take a message that was found, or one that came before it;
    /// whether there is a receive for it.
    fn take_found(&mut self, context: u8, found: &MessageStatus) -> Result<bool> {
        let Some(mut place) = self.messages.first_for(context, found) else {
            return Ok(false);
        };
        // The receive takes the first message that it is for, which must be for none before it.
        let (number, receive) = loop {
            let outcome = &self.messages.receives[place].outcome;
            let number = outcome.number();
            let Some(&receive) = outcome.message() else {
                return Ok(false);
            };
            let first = self.look(Message {
                kind: MessageKind::Probe,
                ..receive
            })?;
            match first.and_then(|first| self.messages.first_for(context, &first)) {
                Some(before) if before < place => place = before,
                _ => break (number, receive),
            }
        };
        self.post_at(Line::Receives, place)?;
        self.wait_for(
            |progress| progress.awaited_message(receive),
            |progress| {
                let is_under_way = progress.outstanding.message_id(number).is_some();
                progress.completions(u32::from(is_under_way))
            },
        )?;
        Ok(true)
    }

    /// Posts what stands in this place of a line.
    fn post_at(&mut self, line: Line, place: usize) -> Result<()> {
        self.reserve_transfer()?;
        let Some(queued) = self.messages.queue(line).remove(place) else {
            return Ok(());
        };
        if let Line::To(_) = line {
            self.messages.waiting -= 1;
        }
        self.post_message(queued)
    }

    /// Posts a message, once it is known that it can be.
    fn post_message(&mut self, queued: Queued) -> Result<()> {
        let Queued { outcome, held } = queued;
        let lost = Error::CompletionLost { rank: self.me };
        let Some(&message) = outcome.message() else {
            return Err(lost);
        };
        if message.kind != MessageKind::Probe {
            self.operand(Opcode::XLaddr, message.local.0)?;
            self.operand(Opcode::XLength, message.length)?;
        }
        self.operand(Opcode::XTag, message.tag_operand())?;
        // There is an id for as many as `Messages` lets go, and one for a probe.
        let number = outcome.number();
        let id = self.outstanding.enter(outcome, held).ok_or(lost)?;
        self.messages.began(&message);
        let opcode = match message.kind {
            MessageKind::Send if message.length <= self.messages.fragment => Opcode::XSend,
            MessageKind::Send => Opcode::XAnnounce,
            MessageKind::Receive => Opcode::XReceive,
            MessageKind::Probe => Opcode::XProbe,
        };
        self.note_posting(number);
        self.post(opcode, message.commit(id))
    }

    /// Asks for the first unexpected message that matches.
    fn look(&mut self, probe: Message) -> Result<Option<MessageStatus>> {
        self.reserve_transfer()?;
        let (outcome, request) = self.begin(Asked::Message {
            message: probe,
            members: None,
        });
        self.post_message(Queued {
            outcome,
            held: NOTHING,
        })?;
        self.wait_for_one(&request, Request::is_known)?;
        self.outstanding.claim(&request)?;
        let is_there = request.status() == Some(Status::Ok);
        Ok(request.message_status().filter(|_| is_there))
    }

    /// Asks for the first message that no receive is for, neither one that is posted nor one that
    /// waits here.
    fn probe(&mut self, probe: Message) -> Result<Option<MessageStatus>> {
        // Who does nothing but probe sends what waits all the same.
        while self.drive()? {}
        self.alone(|progress| {
            loop {
                match progress.look(probe)? {
                    Some(found) if progress.take_found(probe.context, &found)? => {}
                    found => return Ok(found),
                }
            }
        })
    }

    /// Waits a little before the next look for a message.
    fn pause(
        &mut self,
        message: Message,
        deadline: &mut Option<(Cycle, Cycle)>,
        cycles: u64,
    ) -> Result<()> {
        self.check()?;
        if self.drive()? {
            *deadline = None;
        }
        let now = self.port.now()?;
        let (began, until) = match *deadline {
            Some(deadline) => deadline,
            None => *deadline.insert(self.deadline()?),
        };
        if now >= until {
            return Err(self.watchdog(self.awaited_message(message), began, now));
        }
        self.arm(&Wanted::Nothing)?;
        let look = Cycle(now.0.saturating_add(cycles));
        if let Wake::Interrupt = self.port.wait(look.min(until))? {
            self.take_in()?;
        }
        Ok(())
    }

    /// Cancels the receive of this number, unless it has ended.
    fn cancel_receive(&mut self, number: u64) -> Result<()> {
        // A wait for room may see its end, and then its id may be another's.
        self.reserve(1)?;
        if let Some(id) = self.outstanding.message_id(number) {
            return self.post(Opcode::XCancel, u32::from(id));
        }
        let receives = &mut self.messages.receives;
        let place = receives
            .iter()
            .position(|queued| queued.outcome.number() == number);
        if let Some(queued) = place.and_then(|place| receives.remove(place)) {
            self.settle(queued.outcome, Status::Cancelled);
        }
        Ok(())
    }

    /// Waits until all messages of this rank have been received, and cancels its receives.
    pub(crate) fn end_messages(&mut self) -> Result<()> {
        let ends = |kind: MessageKind| {
            move |progress: &Progress| {
                let first = progress.outstanding.first_message(kind);
                match first.or(progress.messages.first_waiting(kind)) {
                    Some(message) => progress.awaited_message(message),
                    None => Awaited::Completions { missing: 0 },
                }
            }
        };
        self.wait_for(ends(MessageKind::Send), |progress| {
            progress.completions(progress.messages.unsent())
        })?;
        for queued in std::mem::take(&mut self.messages.receives) {
            self.settle(queued.outcome, Status::Cancelled);
        }
        for number in self.outstanding.receives() {
            self.cancel_receive(number)?;
        }
        self.wait_for(ends(MessageKind::Receive), |progress| {
            progress.completions(progress.messages.posted)
        })
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

/// Ranks that exchange messages, as a call counts them.
pub(crate) struct Peers {
    id: CommunicatorId,
    context: u8,
    /// Those of a communicator; without, those of the run.
    members: Option<Arc<[GlobalRank]>>,
}

impl Peers {
    const RUN: Peers = Peers {
        id: CommunicatorId::WORLD,
        context: WORLD,
        members: None,
    };

    fn pid(&self, what: &'static str, number: u32, rank: &Rank) -> Result<GlobalRank> {
        let (found, size) = match &self.members {
            None => (Some(GlobalRank(number)), rank.nprocs()),
            Some(members) => (members.get(number as usize).copied(), members.len() as u32),
        };
        found
            .filter(|_| number < size)
            .ok_or_else(|| Error::NoSuchMember {
                rank: rank.pid(),
                communicator: self.id,
                what,
                found: number,
                size,
            })
    }

    /// A send, once its destination and tag are known to be possible.
    pub(crate) fn send(
        &self,
        rank: &mut Rank,
        to: u32,
        tag: u32,
        local: &Region<u8>,
    ) -> Result<Message> {
        let message = Message {
            kind: MessageKind::Send,
            peer: Some(self.pid("the destination", to, rank)?),
            tag: Some(fits("tag", u64::from(tag), TAG_UB)?),
            context: self.context,
            local: local.addr(),
            length: local.byte_len(),
        };
        rank.check_messages()?;
        Ok(message)
    }

    /// A receive or probe, once its source and tag are known to be possible.
    pub(crate) fn receive(
        &self,
        rank: &mut Rank,
        kind: MessageKind,
        source: Source,
        tag: Tag,
        local: Option<&Region<u8>>,
    ) -> Result<Message> {
        let message = Message {
            kind,
            peer: match source {
                Source::Any => None,
                Source::Rank(number) => Some(self.pid("the source", number, rank)?),
            },
            tag: match tag {
                Tag::Any => None,
                Tag::Is(tag) => Some(fits("tag", u64::from(tag), TAG_UB)?),
            },
            context: self.context,
            local: local.map_or(NodeAddr(0), Region::addr),
            length: local.map_or(0, Region::byte_len),
        };
        rank.check_messages()?;
        Ok(message)
    }

    fn start(&self, rank: &mut Rank, message: Message, held: Arc<Block>) -> Result<Request> {
        let asked = Asked::Message {
            message,
            members: self.members.clone(),
        };
        rank.progress.start_message(asked, [Some(held), None])
    }

    /// What was found, with its source as these count it.
    fn count(&self, found: MessageStatus) -> MessageStatus {
        found.counted(self.members.as_deref())
    }

    fn isend<T: Datatype>(
        &self,
        rank: &mut Rank,
        to: u32,
        tag: u32,
        local: &Region<T>,
    ) -> Result<Request> {
        let message = self.send(rank, to, tag, &local.bytes())?;
        self.start(rank, message, local.hold())
    }

    fn irecv<T: Datatype>(
        &self,
        rank: &mut Rank,
        source: Source,
        tag: Tag,
        local: &Region<T>,
    ) -> Result<Request> {
        let kind = MessageKind::Receive;
        let message = self.receive(rank, kind, source, tag, Some(&local.bytes()))?;
        self.start(rank, message, local.hold())
    }

    fn send_slice<T: Datatype>(
        &self,
        rank: &mut Rank,
        to: u32,
        tag: u32,
        values: &[T],
    ) -> Result<()> {
        let staged = rank.alloc_from(values)?;
        let request = self.isend(rank, to, tag, &staged)?;
        if staged.byte_len() > rank.board().fragment_bytes {
            return rank.wait(request);
        }
        // What is staged is held until the message completes.
        rank.progress.wait_for_one(&request, Request::is_posted)
    }

    fn recv_slice<T: Datatype>(
        &self,
        rank: &mut Rank,
        source: Source,
        tag: Tag,
        values: &mut [T],
    ) -> Result<MessageStatus> {
        let staged = rank.alloc::<T>(values.len())?;
        let request = self.irecv(rank, source, tag, &staged)?;
        rank.wait_for_all(std::slice::from_ref(&request))?;
        if let Some(status) = request.message_status() {
            let received = (status.length / T::BYTES) as usize;
            let received = received.min(values.len());
            rank.read(&staged, 0, &mut values[..received])?;
        }
        rank.wait_message(request)
    }

    fn iprobe(&self, rank: &mut Rank, source: Source, tag: Tag) -> Result<Option<MessageStatus>> {
        let probe = self.receive(rank, MessageKind::Probe, source, tag, None)?;
        let found = rank.progress.probe(probe)?;
        match found {
            Some(_) => rank.progress.asked_with_success(),
            None => {
                let awaited = |progress: &Progress| progress.awaited_message(probe);
                rank.progress.asked_in_vain(awaited)?;
            }
        }
        Ok(found.map(|found| self.count(found)))
    }

    fn probe(&self, rank: &mut Rank, source: Source, tag: Tag) -> Result<MessageStatus> {
        let mut deadline = None;
        let mut pause = *PAUSE.start();
        let probe = self.receive(rank, MessageKind::Probe, source, tag, None)?;
        loop {
            if let Some(found) = rank.progress.probe(probe)? {
                return Ok(self.count(found));
            }
            rank.progress.pause(probe, &mut deadline, pause)?;
            pause = longer(pause);
        }
    }
}

/// # Messages
///
/// Sends and receives as in MPI, between ranks of the run by their numbers;
/// [`Communicator`] has the same among its members, kept apart from all others. A receive takes the
/// first message that its source and tag are for, and between two ranks of one communicator none
/// overtakes another. The hardware matches them, without the host: a message that is expected goes
/// straight to where the receive wants it.
///
/// A short message travels at once, and completes when a receive has taken it; of one that is
/// longer than [`BoardInfo::fragment_bytes`], the receiver's hardware fetches the data. Nothing is
/// ever dropped: what its receiver has no room for waits in the sender's library. There is room for as
/// many messages of each rank as the queues' depth has to each of the run's ranks
/// ([`BoardInfo::message_depth`] / [`Rank::nprocs`], one at least). A rank that leaves so many of
/// another's messages and waits for one that was sent behind them waits in vain, until it has received
/// some of them: that is what programs for it have to heed beyond the rules of MPI.
///
/// All of them need a board with message engines, and fail with [`Error::MissingCapability`] on
/// others, with [`Error::MessageRoom`] when the ranks are too many for the queues or the ring, with
/// [`Error::NoSuchMember`] for a rank that there is not, and with [`Error::OutOfRange`] for a tag
/// beyond [`TAG_UB`].
impl Rank {
    /// Sends `values`, which are staged in node memory for as long as it takes. A short message is
    /// on its way when this returns, but need not have been received; a longer one has been.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general, and [`Error::OutOfNodeMemory`]; [`Error::Watchdog`]
    /// when the receiver has no room, or a longer message is not received.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Source, Tag, soft::SoftBoard};
    /// let sums = Job::new(SoftBoard::new(3))?.run(3, |rank| {
    ///     if rank.pid() != GlobalRank(0) {
    ///         rank.send(GlobalRank(0), 7, &[rank.pid().0, 10])?;
    ///         return Ok(0);
    ///     }
    ///     let mut sum = 0;
    ///     for _ in 1..rank.nprocs() {
    ///         let mut values = [0; 8];
    ///         let status = rank.recv(Source::Any, 7, &mut values)?;
    ///         assert_eq!(status.count::<u32>(), Some(2));
    ///         assert_eq!(values[0], status.source);
    ///         sum += values[0] * values[1];
    ///     }
    ///     Ok(sum)
    /// })?;
    /// assert_eq!(sums[0], 30);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn send<T: Datatype>(&mut self, to: GlobalRank, tag: u32, values: &[T]) -> Result<()> {
        Peers::RUN.send_slice(self, to.0, tag, values)
    }

    /// Waits for a message and fills `values` with its elements. Of an element that came in part,
    /// nothing is copied.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general, and [`Error::OutOfNodeMemory`]; [`Error::Truncated`]
    /// when the message was longer than `values`, which have what fits then; [`Error::Watchdog`].
    pub fn recv<T: Datatype>(
        &mut self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
        values: &mut [T],
    ) -> Result<MessageStatus> {
        Peers::RUN.recv_slice(self, source.into(), tag.into(), values)
    }

    /// Starts to send all of `local`, which must stay as it is until the request is complete: when a
    /// receive has taken the message.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, GlobalRank, Tag, soft::SoftBoard};
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     let other = GlobalRank(1 - rank.pid().0);
    ///     let mine = rank.alloc_from(&[rank.pid().0; 1000])?;
    ///     let theirs = rank.alloc::<u32>(1000)?;
    ///     let receive = rank.irecv(other, Tag::Any, &theirs)?;
    ///     let send = rank.isend(other, 5, &mine)?;
    ///     let status = rank.wait_message(receive)?;
    ///     assert_eq!((status.pid, status.tag, status.length), (other, 5, 4000));
    ///     rank.wait(send)
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn isend<T: Datatype>(
        &mut self,
        to: GlobalRank,
        tag: u32,
        local: &Region<T>,
    ) -> Result<Request> {
        Peers::RUN.isend(self, to.0, tag, local)
    }

    /// Posts a receive into `local`; [`Rank::wait_message`] says what it received.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general.
    pub fn irecv<T: Datatype>(
        &mut self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
        local: &Region<T>,
    ) -> Result<Request> {
        Peers::RUN.irecv(self, source.into(), tag.into(), local)
    }

    /// Waits until there is a message that a receive of this source and tag would take next, and
    /// leaves it there.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general; [`Error::Watchdog`].
    pub fn probe(
        &mut self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<MessageStatus> {
        Peers::RUN.probe(self, source.into(), tag.into())
    }

    /// The message that a receive of this source and tag would take now, if there is one.
    ///
    /// # Errors
    /// As [messages](Rank#messages) in general; [`Error::Watchdog`] when it was asked in vain for
    /// longer than a wait may last.
    pub fn iprobe(
        &mut self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Option<MessageStatus>> {
        Peers::RUN.iprobe(self, source.into(), tag.into())
    }

    /// Cancels a receive. It completes all the same: with [`MessageStatus::cancelled`], or, if a
    /// message was faster, with that message.
    ///
    /// # Errors
    /// [`Error::NotAReceive`], [`Error::ForeignRequest`], and what ends every wait.
    pub fn cancel(&mut self, request: &Request) -> Result<()> {
        self.check_receive(request)?;
        self.progress.check()?;
        self.progress.cancel_receive(request.number())
    }

    /// Waits until a receive is complete; what it received.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::NotAReceive`]; as [`Rank::wait`].
    pub fn wait_message(&mut self, request: Request) -> Result<MessageStatus> {
        self.check_receive(&request)?;
        self.wait_for_all(std::slice::from_ref(&request))?;
        self.progress.outstanding.claim(&request)?;
        // It is known, since it has been waited for.
        let rank = self.pid();
        request.message_status().ok_or(Error::NotAReceive { rank })
    }

    fn check_receive(&self, request: &Request) -> Result<()> {
        self.progress.outstanding.check(request)?;
        match request.message() {
            Some(message) if message.kind == MessageKind::Receive => Ok(()),
            _ => Err(Error::NotAReceive { rank: self.pid() }),
        }
    }

    fn check_messages(&mut self) -> Result<()> {
        self.progress.check()?;
        let info = self.board();
        if !info.has_messages() {
            return Err(Error::MissingCapability {
                board: format!("the board of {}", self.pid()),
                capability: "message engine",
                found: info.capabilities,
            });
        }
        let messages = &self.progress.messages;
        if messages.share() < self.nprocs() {
            return Err(Error::MessageRoom {
                rank: self.pid(),
                ranks: self.nprocs(),
                needed: (self.nprocs() * 4).div_ceil(3),
                found: messages.room,
                depth: messages.depth,
                ring: messages.ring,
            });
        }
        Ok(())
    }

    /// Sets the lengths from which on the engine moves entries of its queues into the matching
    /// units: of posted receives, and of unexpected messages; `None` for never.
    ///
    /// # Errors
    /// [`Error::MissingCapability`], and what the backend says.
    pub fn match_thresholds(&mut self, posted: Option<u16>, unexpected: Option<u16>) -> Result<()> {
        self.check_messages()?;
        let length = |threshold: Option<u16>| u32::from(threshold.unwrap_or(u16::MAX));
        self.progress
            .write(rank::POSTED_THRESHOLD, length(posted))?;
        self.progress
            .write(rank::UNEXPECTED_THRESHOLD, length(unexpected))
    }

    /// What the engine has matched, and the lengths of its queues.
    ///
    /// # Errors
    /// [`Error::MissingCapability`], and what the backend says.
    pub fn match_counters(&mut self) -> Result<MatchCounters> {
        self.check_messages()?;
        let mut read = |register| self.progress.read(register);
        let queues = read(rank::MESSAGE_QUEUES)?;
        Ok(MatchCounters {
            posted: message_queues::POSTED.get(queues),
            unexpected: message_queues::UNEXPECTED.get(queues),
            posted_by_unit: read(rank::POSTED_BY_UNIT)?,
            posted_by_walk: read(rank::POSTED_BY_WALK)?,
            unexpected_by_unit: read(rank::UNEXPECTED_BY_UNIT)?,
            unexpected_by_walk: read(rank::UNEXPECTED_BY_WALK)?,
            refused: read(rank::MESSAGES_REFUSED)?,
        })
    }
}

/// # Messages
///
/// As those of a rank ([messages](Rank#messages)), among the members, who are named by their ranks
/// in the communicator. Messages of different communicators never meet.
///
/// Each communicator has one of 256 contexts, of which one is the world's; those that share a rank
/// have different ones. Where none is left, messages fail with [`Error::BadCommunicator`], and all
/// else goes on; [`Communicator::free`] gives one back. Messages of a communicator that is freed
/// have to have been received.
impl Communicator {
    pub(crate) fn peers(&self, rank: &mut Rank) -> Result<Peers> {
        self.check(rank)?;
        let Some(context) = self.shape.context else {
            return Err(self.bad(
                rank.pid(),
                "all 256 contexts of messages are taken at its ranks; free a communicator",
            ));
        };
        Ok(Peers {
            id: self.id(),
            context,
            members: Some(Arc::clone(&self.shape.members)),
        })
    }

    /// As [`Rank::send`].
    ///
    /// # Errors
    /// As [`Rank::send`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Source, Tag, soft::SoftBoard};
    /// Job::new(SoftBoard::new(4))?.run(4, |rank| {
    ///     let world = rank.world()?;
    ///     let Some(half) = world.split(rank, Some(rank.pid().0 % 2), 0)? else {
    ///         return Ok(());
    ///     };
    ///     half.send(rank, 1 - half.rank(), 0, &[rank.pid().0])?;
    ///     let mut other = [0];
    ///     let status = half.recv(rank, Source::Any, Tag::Any, &mut other)?;
    ///     assert_eq!(status.source, 1 - half.rank());
    ///     assert_eq!(status.pid.0, other[0]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn send<T: Datatype>(
        &self,
        rank: &mut Rank,
        to: u32,
        tag: u32,
        values: &[T],
    ) -> Result<()> {
        self.peers(rank)?.send_slice(rank, to, tag, values)
    }

    /// As [`Rank::recv`].
    ///
    /// # Errors
    /// As [`Rank::recv`].
    pub fn recv<T: Datatype>(
        &self,
        rank: &mut Rank,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
        values: &mut [T],
    ) -> Result<MessageStatus> {
        let peers = self.peers(rank)?;
        peers.recv_slice(rank, source.into(), tag.into(), values)
    }

    /// As [`Rank::isend`].
    ///
    /// # Errors
    /// As [`Rank::isend`].
    pub fn isend<T: Datatype>(
        &self,
        rank: &mut Rank,
        to: u32,
        tag: u32,
        local: &Region<T>,
    ) -> Result<Request> {
        self.peers(rank)?.isend(rank, to, tag, local)
    }

    /// As [`Rank::irecv`].
    ///
    /// # Errors
    /// As [`Rank::irecv`].
    pub fn irecv<T: Datatype>(
        &self,
        rank: &mut Rank,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
        local: &Region<T>,
    ) -> Result<Request> {
        let peers = self.peers(rank)?;
        peers.irecv(rank, source.into(), tag.into(), local)
    }

    /// As [`Rank::probe`].
    ///
    /// # Errors
    /// As [`Rank::probe`].
    pub fn probe(
        &self,
        rank: &mut Rank,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<MessageStatus> {
        self.peers(rank)?.probe(rank, source.into(), tag.into())
    }

    /// As [`Rank::iprobe`].
    ///
    /// # Errors
    /// As [`Rank::iprobe`].
    pub fn iprobe(
        &self,
        rank: &mut Rank,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Option<MessageStatus>> {
        self.peers(rank)?.iprobe(rank, source.into(), tag.into())
    }
}
