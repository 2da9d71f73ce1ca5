//! Messages among the ranks of the run or of a communicator.

use std::sync::Arc;

use super::context::WORLD;
use super::{
    MatchedMessage, Message, MessageKind, MessageStatus, PAUSE, Source, TAG_UB, Tag, longer,
};
use crate::allocator::Block;
use crate::buffer::Copied;
use crate::communicator::Shape;
use crate::progress::Progress;
use crate::request::{Descriptor, Request};
use crate::transfer::fits;
use crate::{Buffer, BufferMut, CommunicatorId, Error, GlobalRank, NodeAddr, Rank, Region, Result};

/// The ranks among which a call sends messages: the members of a communicator, or all ranks of the
/// run.
#[derive(Clone)]
pub(crate) struct Peers(pub(super) Option<Arc<Shape>>);

impl Peers {
    pub(super) const RUN: Peers = Peers(None);

    fn id(&self) -> CommunicatorId {
        self.0.as_ref().map_or(CommunicatorId::WORLD, |of| of.id)
    }

    /// The members of the communicator; `None` for the ranks of the run.
    fn members(&self) -> Option<&Arc<[GlobalRank]>> {
        self.0.as_ref().map(|of| &of.members)
    }

    /// Returns the context of the messages of a source and tag.
    fn context(&self, source: Option<u32>, tag: Option<u32>, rank: &Rank) -> Result<u8> {
        let Some(of) = &self.0 else { return Ok(WORLD) };
        of.lanes
            .context(source, tag)
            .map_err(|rule| Error::BadCommunicator {
                rank: rank.pid(),
                communicator: of.id,
                rule,
            })
    }

    fn pid(&self, what: &'static str, number: u32, rank: &Rank) -> Result<GlobalRank> {
        let (found, size) = match self.members() {
            None => (Some(GlobalRank(number)), rank.nprocs()),
            Some(members) => (members.get(number as usize).copied(), members.len() as u32),
        };
        found
            .filter(|_| number < size)
            .ok_or_else(|| Error::NoSuchMember {
                rank: rank.pid(),
                communicator: self.id(),
                what,
                found: number,
                size,
            })
    }

    /// Makes a send after a check of destination and tag.
    pub(crate) fn send_of(
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
            context: self.context(self.0.as_ref().map(|of| of.me as u32), Some(tag), rank)?,
            local: local.addr(),
            length: local.byte_len(),
            takes_over: false,
            is_synchronous: false,
        };
        rank.check_messages()?;
        Ok(message)
    }

    /// Makes a receive or probe after a check of source and tag.
    pub(crate) fn receive_of(
        &self,
        rank: &mut Rank,
        kind: MessageKind,
        source: Source,
        tag: Tag,
        local: Option<&Region<u8>>,
    ) -> Result<Message> {
        let source = match source {
            Source::Any => None,
            Source::Rank(number) => Some(number),
        };
        let tag = match tag {
            Tag::Any => None,
            Tag::Is(tag) => Some(fits("tag", u64::from(tag), TAG_UB)?),
        };
        let pid = |number| self.pid("the source", number, rank);
        let message = Message {
            kind,
            peer: source.map(pid).transpose()?,
            tag,
            context: self.context(source, tag, rank)?,
            local: local.map_or(NodeAddr(0), Region::addr),
            length: local.map_or(0, Region::byte_len),
            takes_over: false,
            is_synchronous: false,
        };
        rank.check_messages()?;
        Ok(message)
    }

    fn start(
        &self,
        rank: &mut Rank,
        message: Message,
        held: Arc<Block>,
    ) -> Result<Request<'static>> {
        let descriptor = self.descriptor(message);
        rank.progress.start_message(descriptor, [Some(held), None])
    }

    fn descriptor(&self, message: Message) -> Descriptor {
        Descriptor::Message {
            message,
            members: self.members().cloned(),
        }
    }

    /// Returns a found message with its source as these peers count it.
    fn count(&self, found: MessageStatus) -> MessageStatus {
        found.counted(self.members().map(|members| &**members))
    }

    pub(super) fn isend<'a>(
        &self,
        rank: &mut Rank,
        to: u32,
        tag: u32,
        local: impl Buffer + 'a,
    ) -> Result<Request<'a>> {
        let local = local.source(rank)?;
        let message = self.send_of(rank, to, tag, &local.bytes())?;
        self.start(rank, message, local.hold())
    }

    pub(super) fn issend<'a>(
        &self,
        rank: &mut Rank,
        to: u32,
        tag: u32,
        local: impl Buffer + 'a,
    ) -> Result<Request<'a>> {
        let local = local.source(rank)?;
        let message = Message {
            is_synchronous: true,
            ..self.send_of(rank, to, tag, &local.bytes())?
        };
        self.start(rank, message, local.hold())
    }

    /// Sends one message and receives another. Both are under way at the same time.
    pub(super) fn sendrecv(
        &self,
        rank: &mut Rank,
        (to, send_tag, values): (u32, u32, impl Buffer),
        (source, tag, local): (Source, Tag, impl BufferMut),
    ) -> Result<MessageStatus> {
        // All arguments are checked before anything starts.
        let values = values.source(rank)?;
        let message = self.send_of(rank, to, send_tag, &values.bytes())?;
        let receive = self.irecv(rank, source, tag, local)?;
        let send = self.start(rank, message, values.hold())?;
        wait_for_both(rank, receive, send)
    }

    /// As [`Peers::sendrecv`], with one buffer for both messages.
    pub(super) fn sendrecv_replace(
        &self,
        rank: &mut Rank,
        (to, send_tag): (u32, u32),
        (source, tag): (Source, Tag),
        local: impl BufferMut,
    ) -> Result<MessageStatus> {
        let (local, copy_back) = local.destination(rank, Copied::Loaded)?;
        // The message leaves from a copy, because the receive may overwrite the buffer before.
        let values = rank.read_vec(&local.bytes())?;
        let values = rank.alloc_from(&values)?;
        let message = self.send_of(rank, to, send_tag, &values)?;
        let kind = MessageKind::Receive;
        let receive = self.receive_of(rank, kind, source, tag, Some(&local.bytes()))?;
        let receive = self.start(rank, receive, local.hold())?;
        let send = self.start(rank, message, values.hold())?;
        wait_for_both(rank, receive.with_copy_back(copy_back), send)
    }

    pub(super) fn irecv<'a>(
        &self,
        rank: &mut Rank,
        source: Source,
        tag: Tag,
        local: impl BufferMut + 'a,
    ) -> Result<Request<'a>> {
        let (local, copy_back) = local.destination(rank, Copied::Fresh)?;
        let kind = MessageKind::Receive;
        let message = self.receive_of(rank, kind, source, tag, Some(&local.bytes()))?;
        let request = self.start(rank, message, local.hold())?;
        Ok(request.with_copy_back(copy_back))
    }

    pub(super) fn send(
        &self,
        rank: &mut Rank,
        to: u32,
        tag: u32,
        local: impl Buffer,
    ) -> Result<()> {
        let local = local.source(rank)?;
        let message = self.send_of(rank, to, tag, &local.bytes())?;
        let request = self.start(rank, message, local.hold())?;
        if local.is_copy() && message.length <= rank.board().fragment_bytes {
            // The copy is held until the message completes.
            let is_over = |request: &Request<'_>| request.is_posted() || request.is_known();
            rank.progress.wait_for_one(&request, is_over)?;
            if !request.is_known() {
                return Ok(());
            }
        }
        rank.wait(request)
    }

    pub(super) fn recv(
        &self,
        rank: &mut Rank,
        source: Source,
        tag: Tag,
        local: impl BufferMut,
    ) -> Result<MessageStatus> {
        let request = self.irecv(rank, source, tag, local)?;
        rank.wait_message(request)
    }

    pub(super) fn iprobe(
        &self,
        rank: &mut Rank,
        source: Source,
        tag: Tag,
    ) -> Result<Option<MessageStatus>> {
        let probe = self.receive_of(rank, MessageKind::Probe, source, tag, None)?;
        let found = rank.progress.probe(probe)?;
        match found {
            Some(_) => rank.progress.reset_polls(),
            None => {
                let awaited = |progress: &Progress| progress.awaited_message(probe);
                rank.progress.check_polls(awaited)?;
                rank.progress.check_probe(&self.descriptor(probe))?;
            }
        }
        Ok(found.map(|found| self.count(found)))
    }

    pub(super) fn improbe(
        self,
        rank: &mut Rank,
        source: Source,
        tag: Tag,
    ) -> Result<Option<MatchedMessage>> {
        let probe = self.receive_of(rank, MessageKind::Probe, source, tag, None)?;
        let found = rank.progress.match_message(probe)?;
        match found {
            Some(_) => rank.progress.reset_polls(),
            None => {
                let awaited = |progress: &Progress| progress.awaited_message(probe);
                rank.progress.check_polls(awaited)?;
                rank.progress.check_probe(&self.descriptor(probe))?;
            }
        }
        let issuer = rank.progress.outstanding.issuer();
        Ok(found.map(|(found, claim)| MatchedMessage {
            status: self.count(found),
            context: probe.context,
            members: self.members().cloned(),
            claim,
            issuer,
        }))
    }

    pub(super) fn mprobe(
        self,
        rank: &mut Rank,
        source: Source,
        tag: Tag,
    ) -> Result<MatchedMessage> {
        // No other call of this rank can take the message between probe and match.
        loop {
            self.probe(rank, source, tag)?;
            if let Some(message) = self.clone().improbe(rank, source, tag)? {
                return Ok(message);
            }
        }
    }

    pub(super) fn probe(&self, rank: &mut Rank, source: Source, tag: Tag) -> Result<MessageStatus> {
        let mut deadline = None;
        let mut pause = *PAUSE.start();
        let probe = self.receive_of(rank, MessageKind::Probe, source, tag, None)?;
        loop {
            if let Some(found) = rank.progress.probe(probe)? {
                return Ok(self.count(found));
            }
            rank.progress.check_probe(&self.descriptor(probe))?;
            rank.progress.pause(probe, &mut deadline, pause)?;
            pause = longer(pause);
        }
    }
}

impl Rank {
    pub(super) fn check_messages(&mut self) -> Result<()> {
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
}

/// Waits for a receive and a send. If the send fails first, the receive is cancelled: its message may
/// depend on the send, and then never comes.
fn wait_for_both(
    rank: &mut Rank,
    receive: Request<'_>,
    send: Request<'_>,
) -> Result<MessageStatus> {
    let waited = rank.progress.wait_for(
        |progress| progress.awaited([&receive, &send].into_iter()),
        |progress| progress.completions(u32::from(!receive.is_known() && !send.is_known())),
    );
    if waited.is_ok() && !receive.is_known() {
        let sent = rank.wait(send);
        if sent.is_err() {
            rank.cancel(&receive)?;
        }
        let status = rank.wait_message(receive)?;
        return sent.map(|()| status);
    }
    let received = rank.wait_message(receive);
    let sent = rank.wait(send);
    let status = received?;
    sent.map(|()| status)
}
