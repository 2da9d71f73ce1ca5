//! The progress engine: posts commands within their credits, and handles completions and events.
//!
//! The library reads no register to find out whether a queue has room. Every wait of the library is
//! [`Progress::wait_for`], in three steps: enable the one interrupt that advances the wait, sleep
//! until that interrupt, and let [`Progress::take_in`] handle all pending events.

mod boards;
mod comparing;
mod completions;
mod driving;
mod faults;
mod notes;
mod posting;
mod waiting;

use std::sync::Arc;

use alcor_abi::rank::causes;
use alcor_abi::{CQ_ENTRY_BYTES, Opcode, board, rank};

use boards::Watch;
use waiting::Reports;

use crate::credits::Credits;
use crate::events::Events;
use crate::failures::Deaths;
use crate::hardware::CollectiveUnit;
use crate::messages::Messages;
use crate::request::Outstanding;
use crate::software::Software;
use crate::watchdog::Awaited;
use crate::{
    AbortReason, Board, BoardInfo, BusAddr, Causes, Cluster, Cycle, Error, GlobalRank, NodeAddr,
    Options, PageOffset, Port, Result,
};

/// The event that advances a wait.
pub(crate) enum Wanted {
    /// No event: the wait is over.
    Nothing,
    /// At least this number of further completions, and no more than are outstanding.
    Completions(u32),
    /// This number of free entries in the command queue.
    Credits(u32),
    /// BARRIER_DONE.
    Barrier,
    /// The end of a registration.
    Registration,
    /// The end of the kernel.
    Kernel,
    /// An event without interrupt: a collective in software, or a collective that waits in a queue.
    Collective,
}

/// The completion ring in node memory.
#[derive(Debug)]
struct Ring {
    base: NodeAddr,
    entries: u32,
    /// Number of entries taken.
    taken: u32,
    /// Value of CQ_TAIL: number of entries taken at its last write.
    tail: u32,
    /// The board copies the ring into host memory.
    is_pinned: bool,
    /// Number of entries taken that are ends of barriers.
    barriers: u32,
    /// Buffer into which entries are read.
    read: Box<[[u8; CQ_ENTRY_BYTES as usize]; ENTRIES_AT_ONCE]>,
}

impl Ring {
    /// Maximum number of operations that may wait for their entry. In host memory, one entry is kept
    /// for the end of a barrier.
    fn room(&self) -> u32 {
        self.entries - u32::from(self.is_pinned)
    }
}

pub(crate) struct Progress {
    pub(crate) port: Box<dyn Port>,
    /// Whether the port records notes.
    takes_notes: bool,
    pub(crate) me: GlobalRank,
    nprocs: u32,
    info: BoardInfo,
    /// Number of the board.
    board: u32,
    /// The boards of the run, if this process has them.
    cluster: Option<Cluster>,
    /// Limit of a wait in cycles.
    watchdog_cycles: u64,
    report: Option<Reports>,
    /// Limit of a wait that depends on the hardware alone, in cycles.
    hardware_limit: u64,
    credits: Credits,
    ring: Ring,
    pub(crate) outstanding: Outstanding,
    pub(crate) unit: CollectiveUnit,
    pub(crate) messages: Messages,
    /// Collectives in software; `None` before the first communicator.
    pub(crate) software: Option<Software>,
    /// Values of [`OPERANDS`] in the hardware; `None` if unknown.
    operands: [Option<u32>; OPERANDS.len()],
    cq_wake: u32,
    retired_wake: Option<u32>,
    /// Waits that entries of a ring in host memory have ended.
    copied_wakes: u32,
    /// Number of posted barriers that have not been acknowledged.
    barriers: u32,
    /// Whether the kernel has reported its end since its start.
    pub(crate) kernel_is_done: bool,
    /// Number of posted registrations whose end has not been detected.
    registrations: u32,
    /// Value of REG_RESULT after the last registration.
    pub(crate) registered: u32,
    /// Events that [`Progress::events`] has not returned yet.
    events: Events,
    /// Events that fail the next call.
    faults: u32,
    /// Whether EVENTS.malformed and EVENTS.unrouted wait ([`Progress::undivided`]).
    is_undivided: bool,
    aborted: Option<(GlobalRank, AbortReason)>,
    pub(crate) deaths: Deaths,
    polls: u32,
    polling_since: Option<Cycle>,
    calls_without_wait: u32,
    /// Whether the present wait has been declared to the port.
    has_declared: bool,
    /// The watch over the boards of the run; `None` if their time stands still.
    watch: Option<Watch>,
}

/// The place of a rank in a run.
pub(crate) struct Place {
    pub(crate) me: GlobalRank,
    pub(crate) nprocs: u32,
    /// Number of the board.
    pub(crate) board: u32,
    /// The rank's own board; `None` if nobody else can use it.
    pub(crate) home: Option<Arc<dyn Board>>,
    /// The boards of the run, if this process has them.
    pub(crate) cluster: Option<Cluster>,
}

/// Size of a ring in node memory, from address 0, in bytes.
pub(crate) fn ring_bytes(entries: u32) -> u32 {
    entries * CQ_ENTRY_BYTES
}

/// Rings with fewer entries stay in node memory alone.
const SHORT_RING: u32 = 16;
/// Maximum number of ring entries per read.
const ENTRIES_AT_ONCE: usize = 64;
/// Cycles between two reads of a register without interrupt.
const REGISTER_POLL: u64 = 8;
/// Cycles between two reads of STATUS while a board gets ready.
const READY_POLL: u64 = 64;
/// Number of polls, or of wakes of one wait, between two reads of the clock.
const LOOK_AT_CLOCK: u32 = 64;
/// Maximum number of command writes of an extended command: three operands, window, commit.
pub(crate) const TRANSFER_WRITES: u32 = 5;
/// The operand registers. Those of a transfer come first.
const OPERANDS: [Opcode; 8] = [
    Opcode::XOffset,
    Opcode::XLaddr,
    Opcode::XLength,
    Opcode::XTag,
    Opcode::XOperand,
    Opcode::XOperandHigh,
    Opcode::XCompare,
    Opcode::XCompareHigh,
];
/// Causes that end every wait.
const ALWAYS: Causes = Causes(causes::ABORTED.mask() | causes::EVENT.mask());

impl Progress {
    /// Brings a rank's page to a known state: ring at address 0, no credit in use.
    pub(crate) fn start(
        mut port: Box<dyn Port>,
        info: BoardInfo,
        place: Place,
        issuer: u64,
        options: &Options,
    ) -> Result<Progress> {
        let ring_entries = options.ring_entries;
        write(&mut *port, rank::CQ_SIZE, ring_entries.ilog2())?;
        write(&mut *port, rank::CQ_BASE, 0)?;
        write(&mut *port, rank::CQ_TAIL, 0)?;
        write(&mut *port, rank::CQ_WAKE, 1)?;
        // One entry is kept for the end of a barrier, which a short ring can't spare.
        let pinned = match ring_entries {
            0..SHORT_RING => None,
            _ => (port.host_ring()).map_or(Ok(None), |ring| ring.pin(ring_entries))?,
        };
        if let Some(BusAddr(address)) = pinned {
            write(&mut *port, rank::HOST_RING_HIGH, (address >> 32) as u32)?;
            let enable = rank::host_ring::ENABLE.mask();
            write(&mut *port, rank::HOST_RING, address as u32 | enable)?;
        }
        let messages = Messages::new(&info, place.nprocs, options);
        if info.has_messages() {
            write(&mut *port, rank::MESSAGE_QUOTA, messages.quota())?;
        }
        if let Some(cycles) = options.detection_cycles
            && port.deaths()?.is_none()
        {
            return Err(Error::BadOption {
                option: "detection_cycles",
                value: cycles,
                rule: "the backend can't continue this run after a death",
            });
        }
        let mut progress = Progress {
            takes_notes: port.run_view().is_some_and(|view| view.wants_notes()),
            port,
            me: place.me,
            nprocs: place.nprocs,
            board: place.board,
            cluster: place.cluster,
            watchdog_cycles: options.watchdog_cycles.unwrap_or(u64::MAX),
            report: options.report.map(|report| Reports::new(&report, &info)),
            hardware_limit: options.hardware_limit(),
            credits: Credits::of(info.command_credits, 0),
            ring: Ring {
                base: NodeAddr(0),
                entries: ring_entries,
                taken: 0,
                tail: 0,
                is_pinned: pinned.is_some(),
                barriers: 0,
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
            operands: [None; OPERANDS.len()],
            cq_wake: 1,
            retired_wake: None,
            copied_wakes: 0,
            barriers: 0,
            kernel_is_done: false,
            registrations: 0,
            registered: 0,
            events: Events::default(),
            faults: 0,
            is_undivided: false,
            aborted: None,
            deaths: Deaths::new(options.detection_cycles),
            polls: 0,
            polling_since: None,
            calls_without_wait: 0,
            has_declared: false,
            watch: None,
            info,
        };
        if let Some(home) = place.home {
            progress.begin_watch(home, options)?;
        }
        progress.wait_until_ready()?;
        // An earlier run has left its count.
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

    /// Number of entries of the ring that were ends of barriers.
    pub(crate) fn barrier_entries(&self) -> u32 {
        self.ring.barriers
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
