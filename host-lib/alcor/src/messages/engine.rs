//! Posts sends and receives, probes for messages, and ends both.

use std::collections::HashSet;

use alcor_abi::packets::{x_message, x_refusal};
use alcor_abi::{Opcode, Status};

use super::{Line, Message, MessageKind, MessageStatus, PAUSE, Queued, longer};
use crate::progress::{Progress, Wanted};
use crate::request::{Descriptor, Held, NOTHING, Request};
use crate::watchdog::Awaited;
use crate::{Cycle, Error, Result};

impl Progress {
    /// Starts a send or receive: posts the operation, or queues it. Operations of the library come
    /// before those of the program.
    pub(super) fn start_message(
        &mut self,
        descriptor: Descriptor,
        held: Held,
    ) -> Result<Request<'static>> {
        let line = match descriptor.message() {
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
        let is_own = descriptor.message().is_some_and(Message::is_of_library);
        let is_lost = self.is_lost(&descriptor);
        // Receives that wait have precedence over this one for a returned message.
        if self.messages.overflow.has_returned() {
            self.post_messages()?;
        }
        let (outcome, request) = self.begin(descriptor);
        let queued = match line {
            Line::Receives => self.receive_kept(Queued::new(outcome, held))?,
            Line::To(_) => Some(Queued::new(outcome, held)),
        };
        if is_lost {
            if let Line::To(_) = line {
                self.messages.waiting -= 1;
            }
            if let Some(queued) = queued {
                self.settle(queued.outcome, Status::RankReset);
            }
            return Ok(request);
        }
        let queue = self.messages.queue(line);
        match queued {
            Some(queued) if is_own => {
                let place = queue.partition_point(|refused| refused.serial.is_some());
                queue.insert(place, queued);
            }
            Some(queued) => queue.push_back(queued),
            None => {}
        }
        self.post_messages()?;
        Ok(request)
    }

    /// Posts waiting operations that may start. Returns whether any was posted.
    pub(crate) fn post_messages(&mut self) -> Result<bool> {
        // Posting may wait. That wait must not post further messages.
        if self.messages.busy || !self.messages.has_queue() {
            return Ok(false);
        }
        self.alone(|progress| {
            let mut moved = progress.advance_overflow()?;
            if progress.messages.is_paused() {
                let now = progress.port.now()?;
                progress.messages.resume(now);
            }
            while let Some(line) = progress.messages.next() {
                progress.post_at(line, 0)?;
                moved = true;
            }
            moved |= progress.serve_receives()?;
            if moved {
                progress.leave(0)?;
            }
            Ok(moved)
        })
    }

    /// Runs `what`. Waits inside `what` neither post messages nor probe.
    pub(super) fn alone<T>(&mut self, what: impl FnOnce(&mut Progress) -> Result<T>) -> Result<T> {
        self.messages.busy = true;
        let done = what(self);
        self.messages.busy = false;
        done
    }

    /// Probes for messages of the waiting receives, and posts the receives of found messages.
    /// Returns whether any message was found.
    fn serve_receives(&mut self) -> Result<bool> {
        if !self.messages.looks() || self.port.now()? < self.messages.look_at {
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
        self.messages.pause = if moved {
            *PAUSE.start()
        } else {
            longer(self.messages.pause)
        };
        let now = self.port.now()?;
        self.messages.look_at = Cycle(now.0.saturating_add(self.messages.pause));
        Ok(moved)
    }

    /// Posts the waiting receive that takes a found message or an earlier one. Returns whether a
    /// receive matches.
    pub(super) fn take_found(&mut self, context: u8, found: &MessageStatus) -> Result<bool> {
        let Some(mut place) = self.messages.first_for(context, found) else {
            return Ok(false);
        };
        // The receive takes the first message that matches it. No earlier receive may match that
        // message.
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
        // The receive may have ended since, by a death.
        let mut receives = self.messages.receives.iter();
        let Some(place) = receives.position(|queued| queued.outcome.number() == number) else {
            return Ok(true);
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

    /// Posts the operation at this place of a queue.
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

    /// Posts a message. The caller has checked that an id is free.
    fn post_message(&mut self, queued: Queued) -> Result<()> {
        let Queued {
            outcome,
            held,
            mut serial,
        } = queued;
        let lost = Error::CompletionLost { rank: self.me };
        let Some(&message) = outcome.message() else {
            return Err(lost);
        };
        if message.kind != MessageKind::Probe {
            self.operand(Opcode::XLaddr, message.local.0)?;
            self.operand(Opcode::XLength, message.length)?;
        }
        self.operand(Opcode::XTag, message.tag_operand())?;
        // `Messages` limits the number of messages, so an id is free for each of them and for one
        // probe.
        let number = outcome.number();
        let numbered = match (message.kind, message.peer) {
            (MessageKind::Send, Some(target)) => {
                let target = target.0 as usize;
                x_message::SERIAL.put(self.messages.flow.number(target, &mut serial))
            }
            _ => 0,
        };
        let id = self.outstanding.enter(outcome, held).ok_or(lost)?;
        self.messages.began(&message);
        self.messages.flow.posted(id, serial);
        let opcode = match message.kind {
            MessageKind::Send
                if message.length <= self.messages.eager && !message.is_synchronous =>
            {
                Opcode::XSend
            }
            // The library of the receiver cannot complete an announced message without a receive.
            MessageKind::Send => Opcode::XAnnounce,
            MessageKind::Receive => Opcode::XReceive,
            MessageKind::Probe => Opcode::XProbe,
        };
        self.note_posting(number);
        self.post(opcode, message.commit(id) | numbered)
    }

    /// Handles the completion of a send that the destination has refused for lack of room: the
    /// message is sent again later. `word` is the id as the hardware gives it. Returns whether it
    /// belongs to a send.
    pub(crate) fn go_back(&mut self, word: u32) -> Result<bool> {
        if !self.messages.goes_back() {
            return Ok(false);
        }
        let (id, line) = (x_refusal::ID.get(word), x_refusal::LINE.get(word));
        // Without a line, the message is beyond the limit of its queue pair, and marks no source.
        if line == 0 {
            return Ok(false);
        }
        let Some((outcome, held)) = self.outstanding.withdraw(id, MessageKind::Send) else {
            return Ok(false);
        };
        let now = self.port.now()?;
        self.messages.go_back(id as u16, outcome, held, line, now);
        Ok(true)
    }

    /// Probes for the first unexpected message that matches.
    pub(super) fn look(&mut self, probe: Message) -> Result<Option<MessageStatus>> {
        let ended = self.carry_out(probe)?;
        let is_there = ended.status() == Some(Status::Ok);
        Ok(ended.message_status().filter(|_| is_there))
    }

    /// Posts a probe, or the receive of a message that a probe has found, and waits for its end.
    pub(super) fn carry_out(&mut self, message: Message) -> Result<Request<'static>> {
        self.reserve_transfer()?;
        let (outcome, request) = self.begin(Descriptor::Message {
            message,
            members: None,
        });
        self.post_message(Queued::new(outcome, NOTHING))?;
        self.wait_for_one(&request, Request::is_known)?;
        self.outstanding.claim(&request)?;
        Ok(request)
    }

    /// Probes for the first message that matches no posted or waiting receive.
    pub(super) fn probe(&mut self, probe: Message) -> Result<Option<MessageStatus>> {
        // A program that only probes must still send its waiting messages.
        while self.drive()? {}
        if let Some(kept) = self.messages.overflow.first_for(&probe) {
            return Ok(Some(kept));
        }
        self.alone(|progress| {
            loop {
                match progress.look(probe)? {
                    Some(found) if progress.take_found(probe.context, &found)? => {}
                    found => return Ok(found),
                }
            }
        })
    }

    /// Waits for a short time before the next probe.
    pub(super) fn pause(
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
        let (began, mut until) = match *deadline {
            Some(deadline) => deadline,
            None => *deadline.insert(self.deadline()?),
        };
        if now >= until {
            until = self.give_up(
                |progress| progress.awaited_message(message),
                self.patience(),
                began,
                now,
            )?;
            *deadline = Some((began, until));
        }
        self.listen(began, now)?;
        let causes = self.causes_of(&Wanted::Nothing)?;
        let look = Cycle(now.0.saturating_add(cycles));
        self.wait_and_take_in(causes, look.min(until))
    }

    /// Cancels the receive of this number, unless the receive has ended.
    pub(crate) fn cancel_receive(&mut self, number: u64) -> Result<()> {
        // A wait for room may see the end of the receive. Its id may belong to another operation
        // then.
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

    /// Waits until all messages of this rank have been received, cancels its receives, and leaves
    /// unexpected messages in the hardware from then on.
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
        // After a death, a receiver may have left the exchange in which it would receive.
        self.wait_for(ends(MessageKind::Send), |progress| {
            let is_over = progress.deaths.has_losses();
            progress.completions(if is_over {
                0
            } else {
                progress.messages.unsent()
            })
        })?;
        self.end_relays()?;
        // From now on no receive is posted.
        self.messages.overflow.close();
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
