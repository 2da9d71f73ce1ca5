//! Waits: what would bring each further, its deadline, and its end.

use alcor_abi::rank::{self, causes, events};

use super::{ALWAYS, LOOK_AT_CLOCK, Progress, REGISTER_POLL, Wanted};
use crate::messages::Message;
use crate::request::{Asked, Request};
use crate::software::Software;
use crate::watchdog::{Awaited, AwaitedCollective, AwaitedMessage};
use crate::{Cycle, Result, Wake};

impl Progress {
    /// Waits until `wanted` says that nothing is wanted any more.
    pub(crate) fn wait_for(
        &mut self,
        awaited: impl Fn(&Progress) -> Awaited,
        wanted: impl Fn(&Progress) -> Wanted,
    ) -> Result<()> {
        let mut deadline = None;
        let mut wakes: u32 = 0;
        loop {
            let want = wanted(self);
            if let Wanted::Nothing = want {
                return Ok(());
            }
            self.check()?;
            if self.drive()? {
                deadline = None;
                continue;
            }
            let (began, until) = match deadline {
                Some(deadline) => deadline,
                None => *deadline.insert(self.deadline()?),
            };
            self.arm(&want)?;
            let look = self.next_look()?;
            match self.port.wait(until.min(look))? {
                Wake::Deadline if look < until => {}
                Wake::Interrupt => {
                    self.take_in()?;
                    // An interrupt that never falls must not keep a wait going for ever.
                    wakes += 1;
                    if wakes.is_multiple_of(LOOK_AT_CLOCK) && self.port.now()? >= until {
                        return Err(self.watchdog(awaited(self), began, until));
                    }
                }
                Wake::Deadline => {
                    let awaited = awaited(self);
                    if events::MISMATCH.get(self.faults) != 0 {
                        self.faults &= !events::MISMATCH.mask();
                        self.barriers = 0;
                        return Err(self.mismatch(awaited));
                    }
                    return Err(self.watchdog(awaited, began, until));
                }
            }
        }
    }

    /// Waits until a request is as far as `is_over` says.
    pub(crate) fn wait_for_one(
        &mut self,
        request: &Request,
        is_over: impl Fn(&Request) -> bool,
    ) -> Result<()> {
        self.wait_for(
            |progress| progress.awaited(std::iter::once(request)),
            |progress| progress.completions(u32::from(!is_over(request))),
        )
    }

    /// Waits until a register that raises no interrupt is as it should be; its value then.
    pub(crate) fn wait_for_register(
        &mut self,
        register: u32,
        awaited: &Awaited,
        done: impl Fn(u32) -> bool,
    ) -> Result<u32> {
        self.look_until(REGISTER_POLL, awaited, |progress| {
            while progress.drive()? {}
            let value = progress.read(register)?;
            if done(value) {
                return Ok(Some(value));
            }
            progress.check()?;
            // Driving may have waited for something else.
            progress.arm(&Wanted::Nothing)?;
            Ok(None)
        })
    }

    /// Looks every so many cycles for what no interrupt tells of, until it is there.
    pub(crate) fn look_until<T>(
        &mut self,
        every: u64,
        awaited: &Awaited,
        mut look: impl FnMut(&mut Progress) -> Result<Option<T>>,
    ) -> Result<T> {
        let (began, deadline) = self.deadline()?;
        loop {
            if let Some(found) = look(self)? {
                return Ok(found);
            }
            let now = self.port.now()?;
            if now >= deadline {
                return Err(self.watchdog(awaited.clone(), began, now));
            }
            let again = Cycle(now.0.saturating_add(every));
            if let Wake::Interrupt = self.port.wait(again.min(deadline))? {
                self.take_in()?;
            }
        }
    }

    /// What a wait for requests waits for.
    pub(crate) fn awaited<'a>(&self, requests: impl Iterator<Item = &'a Request>) -> Awaited {
        let mut missing = 0;
        for request in requests.filter(|request| !request.is_known()) {
            missing += 1;
            if let Some(message) = request.message() {
                return self.awaited_message(message);
            }
            if let Some(Asked::Collective(asking)) = request.other().as_deref() {
                let missing = |software: &Software| software.missing(asking.call.communicator.0);
                return Awaited::Collective(Box::new(AwaitedCollective {
                    call: asking.call,
                    context: asking.context,
                    members: asking.members.to_vec(),
                    missing: match asking.context {
                        None => self.software.as_ref().map_or_else(Vec::new, missing),
                        Some(_) => Vec::new(),
                    },
                }));
            }
        }
        Awaited::Completions { missing }
    }

    /// A wait for a message.
    pub(crate) fn awaited_message(&self, message: Message) -> Awaited {
        Awaited::Message(Box::new(AwaitedMessage {
            message,
            waiting: self.messages.waiting(),
            queues: None,
        }))
    }

    /// What brings `missing` completions or ends of collectives nearer.
    pub(crate) fn completions(&self, missing: u32) -> Wanted {
        match (missing, self.outstanding.len()) {
            (0, _) => Wanted::Nothing,
            (_, 0) => Wanted::Collective,
            // Each end may be what something else in the queue waits for.
            _ if self.unit.has_queue() || self.has_software() || self.messages.has_queue() => {
                Wanted::Completions(1)
            }
            (missing, posted) => Wanted::Completions(missing.min(posted)),
        }
    }

    /// Now, and when a wait that begins now is given up.
    pub(crate) fn deadline(&mut self) -> Result<(Cycle, Cycle)> {
        let now = self.port.now()?;
        Ok((now, Cycle(now.0.saturating_add(self.patience()))))
    }

    /// Cycles that a wait may last: data under way has a cycle more for each byte.
    fn patience(&self) -> u64 {
        self.watchdog_cycles
            .saturating_add(self.outstanding.bytes())
    }

    /// Sees to it that what is wanted raises the interrupt, and nothing else does.
    pub(crate) fn arm(&mut self, want: &Wanted) -> Result<()> {
        let cause = match *want {
            Wanted::Nothing | Wanted::Collective => 0,
            Wanted::Completions(more) => {
                self.wake_at_completion(more)?;
                causes::COMPLETION.mask()
            }
            Wanted::Credits(free) => {
                let in_use = self.credits.limit.saturating_sub(free);
                let wake = self.credits.posted.wrapping_sub(in_use);
                if self.retired_wake != Some(wake) {
                    self.write(rank::RETIRED_WAKE, wake)?;
                    self.retired_wake = Some(wake);
                }
                causes::CREDIT.mask()
            }
            Wanted::Barrier => causes::BARRIER.mask(),
            Wanted::Registration => causes::REGISTRATION.mask(),
        };
        if self.irq_enable != cause | ALWAYS {
            self.irq_enable = cause | ALWAYS;
            self.write(rank::IRQ_ENABLE, self.irq_enable)?;
        }
        Ok(())
    }

    fn wake_at_completion(&mut self, more: u32) -> Result<()> {
        let wake = self.ring.taken.wrapping_add(more);
        if self.cq_wake != wake {
            self.write(rank::CQ_WAKE, wake)?;
            self.cq_wake = wake;
        }
        Ok(())
    }

    /// One look at what is pending, for who does not want to wait; whether `done` holds then.
    pub(crate) fn poll(
        &mut self,
        awaited: impl Fn(&Progress) -> Awaited,
        done: impl Fn(&Progress) -> bool,
    ) -> Result<bool> {
        if !done(self) {
            self.check()?;
            self.wake_at_completion(1)?;
            self.take_in()?;
            while self.drive()? {
                self.polling_since = None;
            }
        }
        if done(self) {
            self.asked_with_success();
            return Ok(true);
        }
        self.asked_in_vain(awaited)?;
        Ok(false)
    }

    /// Fails when what did not come has been asked for longer than a wait may last.
    pub(crate) fn asked_in_vain(&mut self, awaited: impl Fn(&Progress) -> Awaited) -> Result<()> {
        self.polls += 1;
        if self.polls.is_multiple_of(LOOK_AT_CLOCK) {
            let now = self.port.now()?;
            let since = *self.polling_since.get_or_insert(now);
            if now.0.saturating_sub(since.0) > self.patience() {
                return Err(self.watchdog(awaited(self), since, now));
            }
        }
        Ok(())
    }

    /// What was asked for has come.
    pub(crate) fn asked_with_success(&mut self) {
        self.polls = 0;
        self.polling_since = None;
    }
}
