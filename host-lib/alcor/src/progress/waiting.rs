//! Waits: their events, their deadlines and their ends.

use alcor_abi::rank::{self, causes, events};

use super::{ALWAYS, LOOK_AT_CLOCK, Progress, REGISTER_POLL, Wanted};
use crate::job::WaitReport;
use crate::messages::Message;
use crate::request::{Descriptor, Request};
use crate::software::Software;
use crate::watchdog::{Awaited, AwaitedCollective, AwaitedMessage};
use crate::{BoardInfo, Causes, Cycle, Error, RankWait, Result, Sight, Wake};

/// Cycles of a wait after which the wait is declared to the port.
const DECLARE_AFTER: u64 = 4096;
/// Maximum length of a wait while packets move, as a multiple of the watchdog's limit.
const PROGRESS_FACTOR: u64 = 64;

/// Reports of long waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reports {
    /// Length of a wait that is reported, in cycles.
    after: u64,
    tell: fn(&Error),
}

impl Reports {
    pub(super) fn new(report: &WaitReport, info: &BoardInfo) -> Reports {
        let cycles = report.after.as_nanos() * u128::from(info.clock_khz) / 1_000_000;
        Reports {
            after: u64::try_from(cycles).unwrap_or(u64::MAX).max(1),
            tell: report.tell,
        }
    }
}

impl Progress {
    /// Returns the time of the first report of a wait that begins now.
    fn first_report(&self, began: Cycle) -> Cycle {
        let after = self.report.map_or(u64::MAX, |report| report.after);
        Cycle(began.0.saturating_add(after))
    }

    /// Reports a wait whose report is due, and sets the time of the next report.
    fn report(
        &mut self,
        awaited: impl Fn(&Progress) -> Awaited,
        began: Cycle,
        now: Cycle,
        due: &mut Cycle,
    ) -> Result<()> {
        let Some(report) = self.report.filter(|_| now >= *due) else {
            return Ok(());
        };
        let sight = self.sight()?;
        match self.watchdog(awaited(self), began, now, sight) {
            wait @ Error::Watchdog { .. } => (report.tell)(&wait),
            error => return Err(error),
        }
        *due = Cycle(now.0.saturating_add(now.0 - began.0));
        Ok(())
    }

    /// Waits until `wanted` returns [`Wanted::Nothing`].
    pub(crate) fn wait_for(
        &mut self,
        awaited: impl Fn(&Progress) -> Awaited,
        wanted: impl Fn(&Progress) -> Wanted,
    ) -> Result<()> {
        let waited = self.wait_in_turns(awaited, wanted);
        waited.and(self.wait_is_over())
    }

    fn wait_in_turns(
        &mut self,
        awaited: impl Fn(&Progress) -> Awaited,
        wanted: impl Fn(&Progress) -> Wanted,
    ) -> Result<()> {
        // This wait may be a part of another wait.
        self.wait_is_over()?;
        self.messages.stop_listening();
        let mut deadline = None;
        let mut report_at = Cycle(u64::MAX);
        let mut wakes: u32 = 0;
        loop {
            let want = wanted(self);
            if let Wanted::Nothing = want {
                return Ok(());
            }
            self.check()?;
            if self.drive()? {
                deadline = None;
                self.wait_is_over()?;
                continue;
            }
            let next_look = self.next_look()?;
            let has_looks = next_look < Cycle(u64::MAX);
            let mut causes = self.causes_of(&want)?;
            // Most waits end soon, without a look at the clock. Where each wait takes over unexpected
            // messages at once, it does so before it spins.
            let listens_at_once = self.messages.listen_after == 0;
            let may_spin =
                deadline.is_none() && !has_looks && !listens_at_once && wakes < LOOK_AT_CLOCK;
            if may_spin && let Some(wake) = self.port.spin(causes)? {
                self.take_in_wake(wake)?;
                wakes += 1;
                continue;
            }
            let (began, until) = match deadline {
                Some(deadline) => deadline,
                None => {
                    let (began, until) = self.deadline()?;
                    report_at = self.first_report(began);
                    *deadline.insert((began, until))
                }
            };
            if listens_at_once {
                self.listen(began, began)?;
                causes = self.causes_of(&want)?;
            }
            // A declared wait ends only by an interrupt, so the last time to listen comes first. A
            // rank that polls declares its wait at one of its polls.
            let declare_after = DECLARE_AFTER.max(self.last_listening().unwrap_or(0));
            let declare_at = Cycle(began.0.saturating_add(declare_after));
            let look = if self.has_declared || has_looks {
                next_look
            } else {
                declare_at
            };
            let look = look
                .min(self.next_listening(began))
                .min(report_at)
                .min(self.next_watch(began));
            let wake = match self.port.wait(causes, until.min(look)) {
                Err(Error::Deadlock { .. }) if events::MISMATCH.get(self.faults) != 0 => {
                    return Err(self.barrier_mismatch(awaited(self)));
                }
                wake => wake?,
            };
            match wake {
                Wake::Deadline if look < until => {
                    let now = self.port.now()?;
                    self.listen(began, now)?;
                    self.watch_boards(began, now)?;
                    self.report(&awaited, began, now, &mut report_at)?;
                    if !self.has_declared && now >= declare_at {
                        self.declare_wait(&awaited(self), has_looks)?;
                    }
                }
                Wake::Raised(_) | Wake::Copied => {
                    self.take_in_wake(wake)?;
                    // A cause that never falls must not keep a wait going for ever.
                    wakes += 1;
                    if wakes.is_multiple_of(LOOK_AT_CLOCK) {
                        let now = self.port.now()?;
                        self.watch_boards(began, now)?;
                        if now >= until {
                            deadline = Some((
                                began,
                                self.give_up(&awaited, self.patience(), began, until)?,
                            ));
                        }
                    }
                }
                Wake::Deadline => {
                    if events::MISMATCH.get(self.faults) != 0 {
                        return Err(self.barrier_mismatch(awaited(self)));
                    }
                    deadline = Some((
                        began,
                        self.give_up(&awaited, self.patience(), began, until)?,
                    ));
                }
            }
        }
    }

    /// Waits until `wanted` returns [`Wanted::Nothing`], or until `limit`. Returns whether nothing
    /// is wanted.
    pub(crate) fn wait_at_most(
        &mut self,
        limit: Cycle,
        wanted: impl Fn(&Progress) -> Wanted,
    ) -> Result<bool> {
        loop {
            let want = wanted(self);
            if let Wanted::Nothing = want {
                self.messages.stop_listening();
                return Ok(true);
            }
            self.check()?;
            if self.drive()? {
                continue;
            }
            let now = self.port.now()?;
            if now >= limit {
                // Completions since the last check count too.
                self.wake_at_completion(1)?;
                self.take_in_pending()?;
                return Ok(matches!(wanted(self), Wanted::Nothing));
            }
            // Short waits one after the other count as one.
            let began = self.messages.overflow.waits_since(now);
            self.listen(began, now)?;
            let causes = self.causes_of(&want)?;
            self.watch_boards(began, now)?;
            let look = self.next_look()?.min(self.next_listening(began));
            let look = look.min(self.next_watch(began));
            self.wait_and_take_in(causes, limit.min(look))?;
        }
    }

    /// Waits until `is_over` holds for a request.
    pub(crate) fn wait_for_one<'a>(
        &mut self,
        request: &Request<'a>,
        is_over: impl Fn(&Request<'a>) -> bool,
    ) -> Result<()> {
        self.wait_for(
            |progress| progress.awaited(std::iter::once(request)),
            |progress| progress.completions(u32::from(!is_over(request))),
        )
    }

    /// Waits until a register without interrupt has an accepted value. Returns the value.
    pub(crate) fn wait_for_register(
        &mut self,
        register: u32,
        awaited: &Awaited,
        done: impl Fn(u32) -> bool,
    ) -> Result<u32> {
        self.look_until(REGISTER_POLL, awaited, |progress| {
            let value = progress.read(register)?;
            Ok(done(value).then_some(value))
        })
    }

    /// Polls every `every` cycles for an event without interrupt, until the event occurs.
    pub(crate) fn look_until<T>(
        &mut self,
        every: u64,
        awaited: &Awaited,
        mut look: impl FnMut(&mut Progress) -> Result<Option<T>>,
    ) -> Result<T> {
        self.wait_is_over()?;
        self.messages.stop_listening();
        let began = self.port.now()?;
        let limit = match awaited {
            // The wait depends on other ranks.
            Awaited::Word { .. } | Awaited::Agreement { .. } => self.patience(),
            _ => self.hardware_limit.saturating_add(self.outstanding.bytes()),
        };
        let mut deadline = Cycle(began.0.saturating_add(limit));
        let mut report_at = self.first_report(began);
        loop {
            while self.drive()? {}
            if let Some(found) = look(self)? {
                return Ok(found);
            }
            self.check()?;
            let causes = self.causes_of(&Wanted::Nothing)?;
            let now = self.port.now()?;
            if now >= deadline {
                deadline = self.give_up(|_| awaited.clone(), limit, began, now)?;
            }
            self.listen(began, now)?;
            self.watch_boards(began, now)?;
            self.report(|_| awaited.clone(), began, now, &mut report_at)?;
            let again = Cycle(now.0.saturating_add(every));
            self.wait_and_take_in(causes, again.min(deadline))?;
        }
    }

    /// Returns the awaited event of a wait for requests.
    pub(crate) fn awaited<'a>(&self, requests: impl Iterator<Item = &'a Request<'a>>) -> Awaited {
        let mut missing = 0;
        for request in requests.filter(|request| !request.is_known()) {
            missing += 1;
            if let Some(message) = request.message() {
                return self.awaited_message(message);
            }
            if let Some(Descriptor::Collective(collective)) = request.other().as_deref() {
                let missing =
                    |software: &Software| software.missing(collective.call.communicator.0);
                return Awaited::Collective(Box::new(AwaitedCollective {
                    call: collective.call,
                    context: collective.context,
                    members: collective.members.to_vec(),
                    missing: match collective.context {
                        None => self.software.as_ref().map_or_else(Vec::new, missing),
                        Some(_) => Vec::new(),
                    },
                }));
            }
        }
        Awaited::Completions { missing }
    }

    /// Returns the awaited event of a wait for a message.
    pub(crate) fn awaited_message(&self, message: Message) -> Awaited {
        Awaited::Message(Box::new(AwaitedMessage {
            message,
            waiting: self.messages.waiting(),
            queues: None,
        }))
    }

    /// Returns the event that advances a wait for `missing` completions or ends of collectives.
    pub(crate) fn completions(&self, missing: u32) -> Wanted {
        match (missing, self.outstanding.len()) {
            (0, _) => Wanted::Nothing,
            (_, 0) => Wanted::Collective,
            // Each completion may allow a queued operation to start.
            _ if self.has_queue() => Wanted::Completions(1),
            (missing, posted) => Wanted::Completions(missing.min(posted)),
        }
    }

    /// Returns whether operations wait for completions of others before they start, or may have to
    /// start again.
    fn has_queue(&self) -> bool {
        self.unit.has_queue()
            || self.has_software()
            || self.messages.has_queue()
            || self.messages.may_go_back()
    }

    /// Returns the present time, and the deadline of a wait that begins now.
    pub(crate) fn deadline(&mut self) -> Result<(Cycle, Cycle)> {
        let now = self.port.now()?;
        Ok((now, Cycle(now.0.saturating_add(self.patience()))))
    }

    /// Maximum length of a wait in cycles. Each byte under way adds a cycle.
    pub(crate) fn patience(&self) -> u64 {
        self.watchdog_cycles
            .saturating_add(self.outstanding.bytes())
    }

    /// The state of the whole run; `None` if the backend does not see the whole run.
    pub(crate) fn sight(&mut self) -> Result<Option<Sight>> {
        let view = self.port.run_view();
        view.map_or(Ok(None), |view| view.sight())
    }

    /// Declares a wait to a backend that sees the whole run.
    pub(crate) fn tell_wait(&mut self, wait: Option<&RankWait>) -> Result<()> {
        let view = self.port.run_view();
        view.map_or(Ok(()), |view| view.tell_wait(wait))
    }

    /// Ends a wait that has exceeded its limit of `patience` cycles. If the run makes progress, or the backend has a
    /// larger limit, returns a new deadline instead.
    pub(crate) fn give_up(
        &mut self,
        awaited: impl Fn(&Progress) -> Awaited,
        patience: u64,
        began: Cycle,
        now: Cycle,
    ) -> Result<Cycle> {
        let sight = self.sight()?;
        if let Some(sight) = &sight {
            let patience = patience.max(sight.least_watchdog);
            let most = began
                .0
                .saturating_add(patience.saturating_mul(PROGRESS_FACTOR));
            let since_progress = sight.moved.saturating_add(patience).min(most);
            let later = since_progress.max(began.0.saturating_add(patience));
            if later > now.0 {
                return Ok(Cycle(later));
            }
        }
        Err(self.watchdog(awaited(self), began, now, sight))
    }

    /// Declares the awaited event to the port. `looks` states whether this rank polls at deadlines.
    pub(crate) fn declare_wait(&mut self, awaited: &Awaited, looks: bool) -> Result<()> {
        self.has_declared = true;
        let awaited = self.with_kernel_state(awaited.clone())?;
        let wait = RankWait::of(self.me, self.nprocs, &awaited, looks);
        self.tell_wait(Some(&wait))
    }

    /// Ends the declaration of the wait to the port.
    #[inline]
    pub(crate) fn wait_is_over(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.has_declared) {
            return Ok(());
        }
        self.tell_wait(None)
    }

    /// Waits for `causes` until `deadline`, and handles all pending events if one of them is raised.
    pub(crate) fn wait_and_take_in(&mut self, causes: Causes, deadline: Cycle) -> Result<()> {
        let wake = self.port.wait(causes, deadline)?;
        self.take_in_wake(wake)
    }

    fn take_in_wake(&mut self, wake: Wake) -> Result<()> {
        match wake {
            Wake::Raised(pending) => self.take_in(pending),
            Wake::Copied => self.take_in_copied(),
            Wake::Deadline => Ok(()),
        }
    }

    /// Returns the causes that end a wait for the wanted event, and tells the hardware the numbers
    /// of completions and credits that raise them. If operations are queued, each completion ends
    /// the wait too, because it may allow one of them to start.
    pub(crate) fn causes_of(&mut self, want: &Wanted) -> Result<Causes> {
        let mut awaited = match *want {
            Wanted::Nothing | Wanted::Collective => Causes::NONE,
            Wanted::Completions(more) => {
                self.wake_at_completion(more)?;
                causes::COMPLETION.into()
            }
            Wanted::Credits(free) => {
                let in_use = self.credits.limit.saturating_sub(free);
                let wake = self.credits.posted.wrapping_sub(in_use);
                if self.retired_wake != Some(wake) {
                    self.write(rank::RETIRED_WAKE, wake)?;
                    self.retired_wake = Some(wake);
                }
                // An entry of a ring in host memory has the count of credits, and reaches the host
                // before an interrupt.
                if self.ring.is_pinned && self.outstanding.len() > 0 {
                    Causes(causes::CREDIT.mask() | causes::COMPLETION.mask())
                } else {
                    causes::CREDIT.into()
                }
            }
            Wanted::Barrier => causes::BARRIER.into(),
            Wanted::Registration => causes::REGISTRATION.into(),
            Wanted::Kernel => causes::KERNEL.into(),
        };
        // The command queue drains without the host. A collective of hardware may end with a
        // difference between the members' calls, which this rank then reports to the others.
        let is_enough = matches!(want, Wanted::Completions(_) | Wanted::Credits(_));
        let has_more = self.has_queue() || !self.unit.is_idle();
        if !is_enough && has_more && self.outstanding.len() > 0 {
            self.wake_at_completion(1)?;
            awaited = awaited | causes::COMPLETION.into();
        }
        if self.messages.listens() {
            awaited = awaited | causes::CROWDED.into();
        }
        Ok(awaited | ALWAYS)
    }

    fn wake_at_completion(&mut self, more: u32) -> Result<()> {
        let wake = self.ring.taken.wrapping_add(more);
        if self.cq_wake != wake {
            self.write(rank::CQ_WAKE, wake)?;
            self.cq_wake = wake;
        }
        Ok(())
    }

    /// Polls once. Returns whether `done` holds afterwards.
    pub(crate) fn poll(
        &mut self,
        awaited: impl Fn(&Progress) -> Awaited,
        done: impl Fn(&Progress) -> bool,
    ) -> Result<bool> {
        if !done(self) {
            self.check()?;
            self.poll_once()?;
        }
        if done(self) {
            self.reset_polls();
            return Ok(true);
        }
        self.check_polls(awaited)?;
        Ok(false)
    }

    /// Looks for events in each 64th call that has nothing to wait for: a rank that makes only such
    /// calls learns of the end of the run, too.
    pub(crate) fn look_without_wait(&mut self) -> Result<()> {
        self.calls_without_wait = self.calls_without_wait.wrapping_add(1);
        if self.calls_without_wait.is_multiple_of(LOOK_AT_CLOCK) {
            self.take_in_pending()?;
        }
        Ok(())
    }

    /// Handles all pending events, and advances operations that wait in queues.
    fn poll_once(&mut self) -> Result<()> {
        // With a ring in host memory, most polls make no access to the board.
        if self.ring.is_pinned && !(self.polls + 1).is_multiple_of(LOOK_AT_CLOCK) {
            self.take_in_copied()?;
        } else {
            self.wake_at_completion(1)?;
            self.take_in_pending()?;
        }
        while self.drive()? {
            self.polling_since = None;
        }
        Ok(())
    }

    /// Fails if the program has polled for longer than a wait may last.
    pub(crate) fn check_polls(&mut self, awaited: impl Fn(&Progress) -> Awaited) -> Result<()> {
        self.polls += 1;
        if self.polls.is_multiple_of(LOOK_AT_CLOCK) {
            let now = self.port.now()?;
            let since = *self.polling_since.get_or_insert(now);
            self.look_for_crowd(now.0.saturating_sub(since.0))?;
            self.watch_boards(since, now)?;
            if now.0.saturating_sub(since.0) > self.patience() {
                self.give_up(awaited, self.patience(), since, now)?;
            }
        }
        Ok(())
    }

    /// Resets the count of polls.
    pub(crate) fn reset_polls(&mut self) {
        self.polls = 0;
        self.polling_since = None;
    }
}
