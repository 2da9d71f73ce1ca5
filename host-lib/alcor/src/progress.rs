//! The progress engine: posts commands within their credits, and takes in what comes back.
//!
//! Nothing is read to find out whether there is room. Every wait of the library is
//! [`Progress::wait_for`]: it says which one interrupt would bring it further, sleeps until
//! then, and lets [`Progress::take_in`] handle everything that is pending.

use std::sync::Arc;

use alcor_abi::rank::{ack, causes, events, kernel_control, reset_state};
use alcor_abi::{CQ_ENTRY_BYTES, Opcode, Status, board, packets::cq_entry, rank};

use crate::call::Path;
use crate::credits::{Credits, after};
use crate::ending::Ended;
use crate::events::{Events, LastError};
use crate::hardware::{CollectiveUnit, Operands};
use crate::messages::{Message, Messages};
use crate::request::{Answered, Asked, Asking, NOTHING, Outcome, Outstanding, Request};
use crate::software::{Software, Task};
use crate::transfer::{Transfer, WindowName};
use crate::watchdog::{Awaited, AwaitedCollective, AwaitedMessage, RankState};
use crate::{
    AbortReason, Activity, BoardInfo, Cluster, Cycle, Error, GlobalRank, LocalRank, NodeAddr, Note,
    PageOffset, Port, Result, Wake,
};

/// What would bring a wait further.
pub(crate) enum Wanted {
    /// Nothing: it is over.
    Nothing,
    /// So many more completions, at least; no more than are outstanding.
    Completions(u32),
    /// So many free entries in the command queue.
    Credits(u32),
    /// BARRIER_DONE.
    Barrier,
    /// The end of a registration.
    Registration,
    /// The kernel to be done.
    Kernel,
    /// What no interrupt tells of: a collective in software, or one that waits for its turn.
    Collective,
}

/// The completion ring in node memory.
#[derive(Debug)]
struct Ring {
    base: NodeAddr,
    entries: u32,
    /// Entries taken.
    taken: u32,
    /// Entries taken as CQ_TAIL has it.
    told: u32,
    /// Where entries are read to.
    read: Box<[[u8; CQ_ENTRY_BYTES as usize]; ENTRIES_AT_ONCE]>,
}

pub(crate) struct Progress {
    pub(crate) port: Box<dyn Port>,
    /// Whether the port takes notes.
    takes_notes: bool,
    pub(crate) me: GlobalRank,
    nprocs: u32,
    info: BoardInfo,
    /// The board's number.
    board: u32,
    /// The boards of the run, where they are at hand.
    cluster: Option<Cluster>,
    watchdog_cycles: u64,
    credits: Credits,
    ring: Ring,
    pub(crate) outstanding: Outstanding,
    pub(crate) unit: CollectiveUnit,
    pub(crate) messages: Messages,
    /// Collectives in software; none before the first communicator.
    pub(crate) software: Option<Software>,
    /// X_OFFSET, X_LADDR, X_LENGTH, X_TAG as the hardware has them.
    operands: [Option<u32>; 4],
    irq_enable: u32,
    cq_wake: u32,
    retired_wake: Option<u32>,
    /// Barriers posted that have not been acknowledged.
    barriers: u32,
    /// The kernel has said that it is done, since it was started.
    pub(crate) kernel_is_done: bool,
    /// Registrations posted whose end has not been seen.
    registrations: u32,
    /// REG_RESULT of the last registration.
    pub(crate) registered: u32,
    /// Events that nobody has asked for yet.
    events: Events,
    /// Events that the next call fails with.
    faults: u32,
    aborted: Option<(GlobalRank, AbortReason)>,
    polls: u32,
    polling_since: Option<Cycle>,
}

/// Where in a run a rank stands.
pub(crate) struct Place {
    pub(crate) me: GlobalRank,
    pub(crate) nprocs: u32,
    /// The board's number.
    pub(crate) board: u32,
    /// The boards of the run, where they are at hand.
    pub(crate) cluster: Option<Cluster>,
}

/// Bytes of node memory that a ring takes, from address 0.
pub(crate) fn ring_bytes(entries: u32) -> u32 {
    entries * CQ_ENTRY_BYTES
}

/// Entries of the ring that are read at once, at most.
const ENTRIES_AT_ONCE: usize = 64;
/// Cycles between two looks at a register that raises no interrupt.
const REGISTER_POLL: u64 = 8;
/// Cycles between two looks at STATUS while a board gets ready.
const READY_POLL: u64 = 64;
/// Polls, or wakes of one wait, between two looks at the clock.
const LOOK_AT_CLOCK: u32 = 64;
/// Command writes of an extended command at most: three operands, window, commit.
pub(crate) const TRANSFER_WRITES: u32 = 5;
/// Those of a transfer come first.
const OPERANDS: [Opcode; 4] = [
    Opcode::XOffset,
    Opcode::XLaddr,
    Opcode::XLength,
    Opcode::XTag,
];
/// What every wait ends at.
const ALWAYS: u32 = causes::ABORTED.mask() | causes::EVENT.mask();

impl Progress {
    /// Brings a rank's page to a known state: ring at address 0, no credit in use.
    pub(crate) fn start(
        mut port: Box<dyn Port>,
        info: BoardInfo,
        place: Place,
        issuer: u64,
        ring_entries: u32,
        watchdog_cycles: u64,
    ) -> Result<Progress> {
        write(&mut *port, rank::IRQ_ENABLE, 0)?;
        write(&mut *port, rank::CQ_SIZE, ring_entries.ilog2())?;
        write(&mut *port, rank::CQ_BASE, 0)?;
        write(&mut *port, rank::CQ_TAIL, 0)?;
        write(&mut *port, rank::CQ_WAKE, 1)?;
        let messages = Messages::new(&info, place.nprocs, ring_entries);
        if info.has_messages() {
            write(&mut *port, rank::MESSAGE_QUOTA, messages.quota())?;
        }
        let mut progress = Progress {
            takes_notes: port.wants_notes(),
            port,
            me: place.me,
            nprocs: place.nprocs,
            board: place.board,
            cluster: place.cluster,
            watchdog_cycles,
            credits: Credits::of(info.command_credits, 0),
            ring: Ring {
                base: NodeAddr(0),
                entries: ring_entries,
                taken: 0,
                told: 0,
                read: Box::new([[0; CQ_ENTRY_BYTES as usize]; ENTRIES_AT_ONCE]),
            },
            outstanding: Outstanding::new(
                issuer,
                place.me,
                ring_entries,
                info.message_depth,
                info.kernel_messages(),
            ),
            unit: CollectiveUnit::default(),
            messages,
            software: None,
            operands: [None; 4],
            irq_enable: 0,
            cq_wake: 1,
            retired_wake: None,
            barriers: 0,
            kernel_is_done: false,
            registrations: 0,
            registered: 0,
            events: Events::default(),
            faults: 0,
            aborted: None,
            polls: 0,
            polling_since: None,
            info,
        };
        progress.wait_until_ready()?;
        // A run before this one has left its count.
        let retired = progress.read(rank::RETIRED)?;
        progress.credits = Credits::of(progress.credits.limit, retired);
        Ok(progress)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        self.look_until(READY_POLL, &Awaited::Ready, |progress| {
            let status = progress.read_board(board::STATUS)?;
            Ok((board::status::READY.get(status) != 0).then_some(()))
        })
    }

    // ------------------------------------------------------------ notes

    /// An operation that was called and is no transfer, and its request.
    pub(crate) fn begin(&mut self, asked: Asked) -> (Outcome, Request) {
        let number = self.outstanding.number();
        if self.takes_notes {
            let (activity, peer) = asked.activity();
            self.note_began(number, activity, peer, asked.bytes());
        }
        self.outstanding.begin(number, asked)
    }

    /// The number of an operation that was called and has no outcome of its own.
    pub(crate) fn begin_all(&mut self, activity: Activity) -> u64 {
        let number = self.outstanding.number();
        if self.takes_notes {
            self.note_began(number, activity, None, 0);
        }
        number
    }

    #[cold]
    fn note_began(
        &mut self,
        operation: u64,
        activity: Activity,
        peer: Option<GlobalRank>,
        bytes: u64,
    ) {
        self.port.note(Note::Began {
            operation,
            activity,
            peer,
            bytes,
        });
    }

    /// Notes that the next register write commits an operation.
    pub(crate) fn note_posting(&mut self, operation: u64) {
        if self.takes_notes {
            self.port.note(Note::Posting { operation });
        }
    }

    /// Notes that an operation has ended.
    pub(crate) fn note_ended(&mut self, operation: u64, status: Status) {
        if self.takes_notes {
            self.port.note(Note::Ended { operation, status });
        }
    }

    /// Makes known how an operation ended that no completion tells of.
    pub(crate) fn settle(&mut self, outcome: Outcome, status: Status) {
        self.note_ended(outcome.number(), status);
        self.outstanding.settle(outcome, status);
    }

    // ------------------------------------------------------------ the way out

    /// Posts a command, once there is a credit for it.
    pub(crate) fn post(&mut self, opcode: Opcode, data: u32) -> Result<()> {
        match opcode {
            // These have no place in the command queue.
            Opcode::Data8 | Opcode::Abort => {}
            _ => {
                self.reserve(1)?;
                self.credits.post();
            }
        }
        if let Some(index) = OPERANDS.iter().position(|&operand| operand == opcode) {
            self.operands[index] = Some(data);
        }
        match opcode {
            Opcode::Barrier => self.barriers += 1,
            Opcode::Register | Opcode::Deregister => self.registrations += 1,
            _ => {}
        }
        self.write(alcor_abi::command(opcode), data)
    }

    /// Posts the last write of an extended command, for which there is room by [`Progress::reserve_transfer`].
    #[inline]
    fn commit(&mut self, opcode: Opcode, data: u32) -> Result<()> {
        self.credits.post();
        self.write(alcor_abi::command(opcode), data)
    }

    /// Posts an operand, unless the hardware has it.
    #[inline]
    pub(crate) fn operand(&mut self, operand: Opcode, data: u32) -> Result<()> {
        let index = OPERANDS.iter().position(|&known| known == operand);
        match index.and_then(|index| self.operands[index]) {
            Some(kept) if kept == data => Ok(()),
            _ => self.post(operand, data),
        }
    }

    /// Waits until `commands` writes can be posted, [`TRANSFER_WRITES`] at most.
    #[inline]
    pub(crate) fn reserve(&mut self, commands: u32) -> Result<()> {
        match self.credits.free() >= commands {
            true => Ok(()),
            false => self.wait_for_credits(commands),
        }
    }

    fn wait_for_credits(&mut self, commands: u32) -> Result<()> {
        // Half a queue at once, so that a long stream wakes seldom.
        let batch = commands.max(self.credits.limit / 2);
        self.wait_for(
            |_| Awaited::Credits,
            |progress| match progress.credits.free() >= commands {
                true => Wanted::Nothing,
                false => Wanted::Credits(batch),
            },
        )
    }

    /// Posts an extended command: its operands where they have changed, and the commit.
    #[inline]
    pub(crate) fn transfer(&mut self, transfer: &Transfer) -> Result<Request> {
        self.start_transfer(transfer, false)
    }

    /// Posts a put of the library's own, whose failure is nobody's: its target has left the run.
    pub(crate) fn quiet_put(&mut self, transfer: &Transfer) -> Result<()> {
        self.start_transfer(transfer, true).map(drop)
    }

    #[inline]
    fn start_transfer(&mut self, transfer: &Transfer, is_quiet: bool) -> Result<Request> {
        let number = self.outstanding.number();
        if self.takes_notes {
            let (activity, peer) = (transfer.activity(), Some(transfer.target));
            self.note_began(number, activity, peer, u64::from(transfer.length));
        }
        self.reserve_transfer()?;
        self.operand(Opcode::XOffset, transfer.offset)?;
        self.operand(Opcode::XLaddr, transfer.local.0)?;
        self.operand(Opcode::XLength, transfer.length)?;
        if let WindowName::Base(base) = transfer.window {
            self.post(Opcode::XWindow, base.0)?;
        }
        let entered = self.outstanding.enter_transfer(number, transfer, is_quiet);
        let Some((id, request)) = entered else {
            // `reserve_transfer` has seen to it that there is a free id.
            return Err(Error::CompletionLost { rank: self.me });
        };
        self.note_posting(number);
        self.commit(transfer.opcode(), transfer.commit(id))?;
        Ok(request)
    }

    /// Waits until an extended command can be posted as a whole, and the ring has room for its
    /// completion: whatever waits brings collectives in software and waiting messages further,
    /// which post commands of their own, and these must not come between the writes of this one.
    #[inline]
    pub(crate) fn reserve_transfer(&mut self) -> Result<()> {
        loop {
            self.reserve(TRANSFER_WRITES)?;
            if self.make_ring_room()? {
                return Ok(());
            }
            self.wait_for_ring_room()?;
        }
    }

    fn wait_for_ring_room(&mut self) -> Result<()> {
        let entries = self.ring.entries;
        self.wait_for(
            |_| Awaited::RingRoom,
            |progress| match progress.outstanding.len() < entries {
                true => Wanted::Nothing,
                // What a message waits for may never come.
                false => {
                    let others = entries.saturating_sub(progress.messages.under_way());
                    Wanted::Completions((entries / 2).min(others).max(1))
                }
            },
        )
    }

    /// Whether the ring has room for one more completion, once it knows what has been taken.
    #[inline]
    pub(crate) fn make_ring_room(&mut self) -> Result<bool> {
        let entries = self.ring.entries;
        if self.outstanding.len() >= entries {
            return Ok(false);
        }
        let untold = self.ring.taken.wrapping_sub(self.ring.told);
        if self.outstanding.len() + untold >= entries {
            self.tell_tail()?;
        }
        Ok(true)
    }

    // ------------------------------------------------------------ waiting

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

    /// Brings collectives in software and waiting messages further; whether anything moved.
    pub(crate) fn drive(&mut self) -> Result<bool> {
        let posted = self.post_messages()?;
        // Posting may wait itself, and must find nothing to drive then.
        let Some(mut software) = self.software.take() else {
            return Ok(posted);
        };
        let moved = match software.is_active() {
            true => match self.port.now() {
                Ok(now) => software.advance(self, now),
                Err(error) => Err(error),
            },
            false => Ok(false),
        };
        self.software = Some(software);
        Ok(moved? | posted)
    }

    /// When to look at the mail next, or for messages.
    fn next_look(&mut self) -> Result<Cycle> {
        let messages = self.messages.next_look();
        match &self.software {
            Some(software) if software.is_active() => {
                let now = self.port.now()?;
                let mail = Cycle(now.0.saturating_add(software.pause(now)));
                Ok(mail.min(messages))
            }
            _ => Ok(messages),
        }
    }

    /// Whether no collective is under way.
    pub(crate) fn collectives_are_over(&self) -> bool {
        self.unit.is_idle() && !self.has_software()
    }

    /// Whether no collective of a communicator is under way.
    pub(crate) fn is_over(&self, communicator: u32, row: Option<u32>) -> bool {
        let software = self.software.as_ref();
        row.is_none_or(|row| self.unit.is_idle_in(row))
            && !software.is_some_and(|software| software.is_active_in(communicator))
    }

    fn has_software(&self) -> bool {
        self.software.as_ref().is_some_and(Software::is_active)
    }

    /// Begins a collective in software; its request, and its number among those of the
    /// communicator. Where the communicator has a row, the herald posted there finds members that
    /// called what hardware does.
    pub(crate) fn begin_software(
        &mut self,
        task: Task,
        path: Path,
        herald: Option<(u32, Operands)>,
    ) -> Result<(Request, u32)> {
        let now = self.port.now()?;
        let herald = match herald {
            Some((context, operands)) => {
                let asked = Asked::Herald { context };
                Some(self.post_collective(context, operands, asked, NOTHING)?)
            }
            None => None,
        };
        let (outcome, request) = self.begin(Asked::Collective(Asking {
            call: task.call,
            path,
            members: Arc::clone(&task.members),
            context: None,
            bytes: 0,
        }));
        let Some(software) = &mut self.software else {
            // Communicators are made of the world, which has seen to it.
            return Err(Error::BadCommunicator {
                rank: self.me,
                communicator: task.call.communicator,
                rule: "it belongs to no run",
            });
        };
        let sequence = software.next_in(task.call.communicator.0);
        software.begin(task, outcome, herald, now);
        while self.drive()? {}
        Ok((request, sequence))
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
            Wanted::Kernel => causes::KERNEL.mask(),
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

    // ------------------------------------------------------------ the way in

    /// Takes in everything that is pending.
    pub(crate) fn take_in(&mut self) -> Result<()> {
        let pending = self.read(rank::CAUSES)?;
        let is = |cause: alcor_abi::Field| cause.get(pending) != 0;
        if is(causes::EVENT) {
            self.take_events()?;
        }
        if is(causes::COMPLETION) && after(self.cq_wake, self.ring.taken) {
            self.take_completions()?;
        }
        if is(causes::REGISTRATION) {
            self.registered = self.read(rank::REG_RESULT)?;
            self.registrations = self.registrations.saturating_sub(1);
            self.write(rank::ACK, ack::REGISTRATION.mask())?;
        }
        if is(causes::BARRIER) {
            self.barriers = self.barriers.saturating_sub(1);
            self.write(rank::ACK, ack::BARRIER.mask())?;
        }
        if is(causes::CREDIT) && self.retired_wake.take().is_some() {
            let retired = self.read(rank::RETIRED)?;
            self.credits.retired_is(retired);
        }
        if is(causes::KERNEL) {
            self.kernel_is_done = true;
            self.write(rank::KERNEL_CONTROL, kernel_control::ACKNOWLEDGE.mask())?;
        }
        if is(causes::ABORTED) {
            self.take_abort()?;
        }
        Ok(())
    }

    /// Takes the new entries of the ring, in as few reads as it takes.
    fn take_completions(&mut self) -> Result<()> {
        // The cause says that CQ_WAKE is reached. If no more are outstanding, that is all.
        let known = self.cq_wake.wrapping_sub(self.ring.taken);
        let mut new = match known >= self.outstanding.len() {
            true => known,
            false => self.read(rank::CQ_HEAD)?.wrapping_sub(self.ring.taken),
        };
        if new > self.ring.entries {
            self.faults |= events::CQ_OVERFLOW.mask();
            return self.check();
        }
        while new > 0 {
            let index = self.ring.taken % self.ring.entries;
            let run = new
                .min(self.ring.entries - index)
                .min(ENTRIES_AT_ONCE as u32);
            let at = NodeAddr(self.ring.base.0 + index * CQ_ENTRY_BYTES);
            let read = &mut self.ring.read[..run as usize];
            self.port.read_memory(at, read.as_flattened_mut())?;
            for place in 0..run as usize {
                let entry = self.ring.read[place];
                let word = |index| u32::from_le_bytes(entry.as_chunks::<4>().0[index]);
                self.take_completion([word(0), word(1), word(2), word(3)])?;
            }
            new -= run;
        }
        if self.ring.taken.wrapping_sub(self.ring.told) >= (self.ring.entries / 2).max(1) {
            self.tell_tail()?;
        }
        if self.unit.has_queue() {
            self.post_queued()?;
        }
        Ok(())
    }

    fn take_completion(&mut self, [word, retired, tag, length]: [u32; 4]) -> Result<()> {
        let entry = self.ring.taken;
        self.ring.taken = entry.wrapping_add(1);
        let status = Status::from_bits(cq_entry::STATUS.get(word));
        let answered = status.and_then(|status| {
            let ended = Ended {
                status,
                source: GlobalRank(cq_entry::SOURCE.get(word)),
                tag,
                length,
            };
            self.outstanding.complete(cq_entry::ID.get(word), ended)
        });
        match answered {
            None => {
                return Err(Error::BadCompletion {
                    rank: self.me,
                    entry,
                    word,
                });
            }
            Some(Answered {
                number,
                context,
                message,
            }) => {
                if let Some(status) = status {
                    self.note_ended(number, status);
                }
                if let Some(context) = context {
                    self.unit.ended(context);
                }
                if let Some(message) = message {
                    self.messages.ended(&message);
                }
            }
        }
        self.credits.retired_is(retired);
        Ok(())
    }

    fn tell_tail(&mut self) -> Result<()> {
        self.ring.told = self.ring.taken;
        self.write(rank::CQ_TAIL, self.ring.taken)
    }

    fn take_events(&mut self) -> Result<()> {
        let bits = self.read(rank::EVENTS)?;
        if bits == 0 {
            return Ok(());
        }
        if bits & (events::REFUSED.mask() | events::DROPPED.mask()) != 0 {
            self.events.last_error = Some(LastError::from_bits(self.read(rank::LAST_ERROR)?));
        }
        self.events.bits |= bits;
        self.faults |= bits;
        self.write(rank::ACK_EVENTS, bits)
    }

    /// All events since the last call; they no longer fail the next one.
    pub(crate) fn events(&mut self) -> Result<Events> {
        self.take_events()?;
        self.faults = 0;
        Ok(std::mem::take(&mut self.events))
    }

    fn take_abort(&mut self) -> Result<()> {
        let status = self.read_board(board::STATUS)?;
        let by = GlobalRank(board::status::ABORT_RANK.get(status));
        let reason = AbortReason(board::status::ABORT_REASON.get(status) as u8);
        self.aborted = Some((by, reason));
        Ok(())
    }

    /// Ends the run for every rank.
    pub(crate) fn abort(&mut self, reason: AbortReason) -> Result<()> {
        if self.aborted.is_none() {
            self.aborted = Some((self.me, reason));
            self.post(Opcode::Abort, u32::from(reason.0))?;
        }
        Ok(())
    }

    // ------------------------------------------------------------ errors

    /// Fails when the run was aborted, or an event tells of something broken.
    pub(crate) fn check(&mut self) -> Result<()> {
        if let Some((by, reason)) = self.aborted {
            return Err(Error::Aborted { by, reason });
        }
        let rank = self.me;
        let told = |event: alcor_abi::Field| event.get(self.faults) != 0;
        let (event, error) = if told(events::OVERFLOW) {
            let told_by = "EVENTS.overflow";
            (events::OVERFLOW, Error::CommandLost { rank, told_by })
        } else if told(events::CQ_OVERFLOW) {
            (events::CQ_OVERFLOW, Error::CompletionLost { rank })
        } else if told(events::MALFORMED) {
            (events::MALFORMED, Error::MalformedPacket { rank })
        } else if told(events::UNROUTED) {
            (events::UNROUTED, Error::PacketUnrouted { rank })
        } else {
            return Ok(());
        };
        self.faults &= !event.mask();
        Err(error)
    }

    /// Fails when ranks met in different collective operations; told where one has ended.
    pub(crate) fn check_mismatch(&mut self, awaited: Awaited) -> Result<()> {
        if events::MISMATCH.get(self.faults) == 0 {
            return Ok(());
        }
        self.faults &= !events::MISMATCH.mask();
        Err(self.mismatch(awaited))
    }

    /// Why a barrier ended that brought nobody together.
    fn mismatch(&mut self, awaited: Awaited) -> Error {
        let rank = self.me;
        match self.read(rank::RESET_STATE) {
            Err(error) => error,
            Ok(state) if reset_state::ORPHANED.get(state) != 0 => {
                Error::PeerReset { rank, awaited }
            }
            Ok(_) => Error::CollectiveMismatch { rank, awaited },
        }
    }

    pub(crate) fn watchdog(&mut self, awaited: Awaited, began: Cycle, at: Cycle) -> Error {
        let awaited = match awaited {
            Awaited::Kernel(_) => match self.kernel_state() {
                Ok(state) => Awaited::Kernel(state),
                Err(error) => return error,
            },
            other => other,
        };
        let queues = match awaited {
            Awaited::Message(_) => self.read(rank::MESSAGE_QUEUES),
            _ => Ok(0),
        };
        match queues.and_then(|queues| Ok((queues, self.rank_states()?))) {
            Err(error) => error,
            Ok((queues, states)) => Error::Watchdog {
                rank: self.me,
                awaited: awaited.seen_in(queues, &states),
                cycles: at.0.saturating_sub(began.0),
                at,
                states,
            },
        }
    }

    /// What the ranks that take part in the run are doing: those of this board, and of the others
    /// where they are at hand.
    pub(crate) fn rank_states(&mut self) -> Result<Vec<RankState>> {
        let boards = match &self.cluster {
            Some(cluster) => cluster.boards().len() as u32,
            None => 1 + self.board,
        };
        let mut states = Vec::new();
        for board in 0..boards {
            for local in 0..self.info.ranks.min(board::RANK_STATE_COUNT) {
                let Some(state) = self.rank_state(board, LocalRank(local))? else {
                    continue;
                };
                if state.begun() || board * self.info.ranks + local < self.nprocs {
                    states.push(state);
                }
            }
        }
        Ok(states)
    }

    fn rank_state(&mut self, board: u32, local: LocalRank) -> Result<Option<RankState>> {
        let here = board == self.board;
        let other = self
            .cluster
            .as_ref()
            .and_then(|cluster| cluster.boards().get(board as usize))
            .cloned();
        let mut read = |register| {
            let offset = PageOffset(register + 4 * local.0);
            match &other {
                _ if here => self.port.read_board32(offset).map(Some),
                Some(other) => other.read32(offset).map(Some),
                None => Ok(None),
            }
        };
        let Some(bits) = read(board::RANK_STATE)? else {
            return Ok(None);
        };
        let posted = match self.info.has_switch() {
            true => read(board::POSTED)?.unwrap_or(0),
            false => 0,
        };
        Ok(Some(RankState {
            board,
            local,
            bits,
            posted,
        }))
    }

    // ------------------------------------------------------------ small things

    pub(crate) fn info(&self) -> &BoardInfo {
        &self.info
    }

    pub(crate) fn board(&self) -> u32 {
        self.board
    }

    pub(crate) fn nprocs(&self) -> u32 {
        self.nprocs
    }

    pub(crate) fn barrier_pending(&self) -> bool {
        self.barriers > 0
    }

    pub(crate) fn registration_pending(&self) -> bool {
        self.registrations > 0
    }

    pub(crate) fn queue_is_empty(&self) -> bool {
        self.credits.all_retired()
    }

    pub(crate) fn queue_depth(&self) -> u32 {
        self.credits.limit
    }

    pub(crate) fn read(&mut self, register: u32) -> Result<u32> {
        self.port.read32(PageOffset(register))
    }

    pub(crate) fn read_board(&mut self, register: u32) -> Result<u32> {
        self.port.read_board32(PageOffset(register))
    }

    pub(crate) fn write(&mut self, register: u32, value: u32) -> Result<()> {
        write(&mut *self.port, register, value)
    }
}

fn write(port: &mut dyn Port, register: u32, value: u32) -> Result<()> {
    port.write32(PageOffset(register), value)
}
