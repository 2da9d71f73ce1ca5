//! The progress engine: posts commands within their credits, and takes in what comes back.
//!
//! Nothing is read to find out whether there is room. Every wait of the library is
//! [`Progress::wait_for`]: it says which one interrupt would bring it further, sleeps until
//! then, and lets [`Progress::take_in`] handle everything that is pending.

mod completions;
mod driving;
mod faults;
mod notes;
mod posting;
mod waiting;

use alcor_abi::rank::causes;
use alcor_abi::{CQ_ENTRY_BYTES, Opcode, board, rank};

use crate::credits::Credits;
use crate::events::Events;
use crate::hardware::CollectiveUnit;
use crate::messages::Messages;
use crate::request::Outstanding;
use crate::software::Software;
use crate::watchdog::Awaited;
use crate::{
    AbortReason, BoardInfo, Cluster, Cycle, GlobalRank, NodeAddr, PageOffset, Port, Result,
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
    /// The end of the kernel.
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
    /// The kernel has reported its end since its start.
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
    /// The port was told what the wait that is under way is for.
    has_told: bool,
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
            has_told: false,
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
