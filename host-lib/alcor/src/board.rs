//! The interface between the library and its backends.
//!
//! A backend implements [`Board`] and [`Port`], and the library uses nothing else of the backend.
//! These traits offer the functions of a stock XDMA in memory-mapped mode: 32-bit registers, bulk
//! access to node memory, and an interrupt.

use std::fmt;
use std::sync::Arc;

use alcor_abi::Status;

use crate::{Cluster, Collective, Error, HostBytes, Launch, RankWait};

/// A rank's number on its board, 0 to [`BoardInfo::ranks`] - 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalRank(pub u32);

/// A rank's number in the run: board × ranks per board + local rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GlobalRank(pub u32);

/// Byte offset of a register within a 4 KiB page, a multiple of 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageOffset(pub u32);

/// Byte address in a rank's node memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeAddr(pub u32);

/// Address of host memory on the bus of a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BusAddr(pub u64);

/// A point in time, in cycles of the board's clock since its last reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cycle(pub u64);

impl fmt::Display for LocalRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "local rank {}", self.0)
    }
}
impl fmt::Display for GlobalRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}", self.0)
    }
}
impl fmt::Display for PageOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "register 0x{:03x}", self.0)
    }
}
impl fmt::Display for NodeAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node address 0x{:x}", self.0)
    }
}
impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cycle {}", self.0)
    }
}

/// Maximum of outstanding commands of a kernel, and number of message ids that belong to the
/// kernel.
pub(crate) const KERNEL_COMMANDS: u32 = 8;

/// The properties of a board, from its checked ID block.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BoardInfo {
    /// Ranks on the board.
    pub ranks: u32,
    /// Link ports.
    pub links: u32,
    /// Slots of the registration table of each rank.
    pub slots: u32,
    /// Bytes that the coprocessors and the crossbar move per cycle in each direction.
    pub beat_bytes: u32,
    /// Bytes of each rank's node memory.
    pub node_bytes: u32,
    /// Maximum of outstanding command writes of a rank.
    pub command_credits: u32,
    /// Maximum payload of an extended packet, in bytes.
    pub packet_bytes: u32,
    /// Clock frequency in kHz.
    pub clock_khz: u32,
    /// Source revision of the hardware; 0 in simulation.
    pub revision: u32,
    /// The SHAPE register: parameters that two boards on one link must share.
    pub shape: u32,
    /// The CAPABILITIES register: blocks on the board.
    pub capabilities: u32,
    /// Stages of the collective switch; 0 without one.
    pub stages: u32,
    /// Rows of the communicator table, including the row of the barrier; 0 without a switch.
    pub communicators: u32,
    /// Data bytes of a phit; 0 without a switch.
    pub phit_bytes: u32,
    /// Entries of each queue of a message engine; 0 without one.
    pub message_depth: u32,
    /// Maximum length of an eager message, in bytes. The receiver fetches the data of longer
    /// messages.
    pub fragment_bytes: u32,
    /// Cells of each matching unit of a message engine; 0 with a match store.
    pub matching_cells: u32,
    /// Matchers of a message engine's match store; 0 without one.
    pub matchers: u32,
    /// Queue pairs of a match store; 0 without one. The low bits of a message's context are the
    /// number of its pair.
    pub queue_pairs: u32,
    /// Name of the ranks' kernel, four characters; zeros without a kernel.
    pub kernel: [u8; 4],
}

impl BoardInfo {
    /// Returns whether the board has a collective switch.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// let job = Job::new(SoftBoard::new(4))?;
    /// let info = job.info();
    /// assert!(info.has_messages() && info.has_accumulate());
    /// assert!(!info.has_switch() && !info.has_kernel());
    /// # Ok::<(), alcor::Error>(())
    /// ```
    #[must_use]
    pub fn has_switch(&self) -> bool {
        alcor_abi::board::capabilities::SWITCH.get(self.capabilities) != 0
    }

    /// Returns whether the board has message engines.
    #[must_use]
    pub fn has_messages(&self) -> bool {
        alcor_abi::board::capabilities::MESSAGES.get(self.capabilities) != 0
    }

    /// Returns whether each rank has a kernel.
    #[must_use]
    pub fn has_kernel(&self) -> bool {
        alcor_abi::board::capabilities::KERNEL.get(self.capabilities) != 0
    }

    /// Returns whether ranks have command lines ([`CommandLine`](crate::CommandLine)).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// assert!(!Job::new(SoftBoard::new(4))?.info().has_lines());
    /// # Ok::<(), alcor::Error>(())
    /// ```
    #[must_use]
    pub fn has_lines(&self) -> bool {
        alcor_abi::board::capabilities::LINES.get(self.capabilities) != 0
    }

    /// Returns whether each rank has a unit for accumulates.
    #[must_use]
    pub fn has_accumulate(&self) -> bool {
        alcor_abi::board::capabilities::ACCUMULATE.get(self.capabilities) != 0
    }

    /// Number of message ids that belong to the kernel.
    pub(crate) fn kernel_messages(&self) -> u32 {
        if self.has_kernel() && self.has_messages() {
            KERNEL_COMMANDS
        } else {
            0
        }
    }

    /// Returns the first property that differs from another board of the same cluster: its name,
    /// its value here, and its value there. Clock and revision may differ.
    pub(crate) fn difference(&self, other: &BoardInfo) -> Option<(&'static str, u32, u32)> {
        let properties = |info: &BoardInfo| {
            [
                ("ranks", info.ranks),
                ("links", info.links),
                ("bytes of a beat", info.beat_bytes),
                ("payload bytes of a packet", info.packet_bytes),
                ("bytes of a phit", info.phit_bytes),
                ("stages", info.stages),
                ("communicators", info.communicators),
                ("entries of a message queue", info.message_depth),
                ("bytes of a fragment", info.fragment_bytes),
                ("cells of a matching unit", info.matching_cells),
                ("matchers", info.matchers),
                ("queue pairs", info.queue_pairs),
                ("registration slots", info.slots),
                ("bytes of node memory", info.node_bytes),
                ("command credits", info.command_credits),
                ("capabilities", info.capabilities),
                ("name of the kernel", u32::from_le_bytes(info.kernel)),
                // The parameters in SHAPE that have no name above: phits of windows and channels.
                ("register SHAPE", info.shape),
            ]
        };
        (properties(self).into_iter().zip(properties(other)))
            .find(|((_, here), (_, there))| here != there)
            .map(|((name, here), (_, there))| (name, here, there))
    }

    /// First address of the fragment through which the library takes over unexpected messages. The
    /// unexpected message buffer follows and reaches to the end of node memory. Without a
    /// message engine, the end of node memory.
    pub(crate) fn usable_bytes(&self) -> u32 {
        let fragments = self.message_depth + u32::from(self.has_messages());
        self.node_bytes
            .saturating_sub(fragments * self.fragment_bytes)
    }
}

/// Causes of a rank's interrupt: bits of the register CAUSES.
///
/// # Examples
/// ```
/// use alcor::Causes;
/// use alcor_abi::rank::causes;
///
/// let awaited = Causes::from(causes::COMPLETION) | Causes::from(causes::EVENT);
/// assert!(awaited.has(causes::EVENT) && !awaited.has(causes::BARRIER));
/// assert!(awaited.meets(Causes::from(causes::COMPLETION)));
/// assert!(!awaited.meets(Causes::NONE));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Causes(pub u32);

impl Causes {
    /// No cause.
    pub const NONE: Causes = Causes(0);

    /// Returns whether the cause `field` is among these causes.
    #[must_use]
    pub const fn has(self, field: alcor_abi::Field) -> bool {
        field.get(self.0) != 0
    }

    /// Returns whether these causes and `others` have a cause in common.
    #[must_use]
    pub const fn meets(self, others: Causes) -> bool {
        self.0 & others.0 != 0
    }
}

impl From<alcor_abi::Field> for Causes {
    fn from(field: alcor_abi::Field) -> Causes {
        Causes(field.mask())
    }
}

impl std::ops::BitOr for Causes {
    type Output = Causes;

    fn bitor(self, other: Causes) -> Causes {
        Causes(self.0 | other.0)
    }
}

/// The reason why [`Port::wait`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wake {
    /// An awaited cause is raised. The value is the register CAUSES: all raised causes, awaited or
    /// not.
    Raised(Causes),
    /// The deadline has passed, and no awaited cause is raised.
    Deadline,
    /// Entries have reached the [pinned ring](HostRing::pin).
    Copied,
}

/// The kind of an operation in [`Note::Began`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Activity {
    /// A put.
    Put,
    /// A get.
    Get,
    /// An atomic operation.
    Atomic,
    /// An accumulate.
    Accumulate,
    /// A send.
    Send,
    /// A receive.
    Receive,
    /// A probe for a message.
    Probe,
    /// A collective of a communicator.
    Collective(Collective),
    /// A collective without data that precedes another collective, and detects different calls.
    Herald,
    /// The barrier of all ranks.
    Barrier,
    /// The registration of a window.
    Register,
    /// The deregistration of a window.
    Deregister,
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Activity::Put => "put",
            Activity::Get => "get",
            Activity::Atomic => "atomic operation",
            Activity::Accumulate => "accumulate",
            Activity::Send => "send",
            Activity::Receive => "receive",
            Activity::Probe => "probe",
            Activity::Collective(collective) => return collective.fmt(f),
            Activity::Herald => "herald",
            Activity::Barrier => "barrier of all ranks",
            Activity::Register => "register",
            Activity::Deregister => "deregister",
        })
    }
}

/// An event of an operation, for backends that record a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// An operation was called.
    Began {
        /// Identifies the operation among those of this port.
        operation: u64,
        /// The kind of the operation.
        activity: Activity,
        /// The target, source or root, if there is one.
        peer: Option<GlobalRank>,
        /// Length in bytes.
        bytes: u64,
    },
    /// The next register write commits the operation.
    Posting {
        /// The operation.
        operation: u64,
    },
    /// The library has detected the end of the operation.
    Ended {
        /// The operation.
        operation: u64,
        /// The final status.
        status: Status,
    },
}

/// A board on which a run can be opened.
pub trait Board: Send + Sync {
    /// Name of the board for error texts: the URI with which it was opened.
    fn name(&self) -> &str;

    /// Reads a register of the board's page. The call is also valid before the first port attaches
    /// and after the last port has left.
    ///
    /// # Errors
    /// If the board can't be reached.
    fn read32(&self, offset: PageOffset) -> Result<u32, Error>;

    /// Reads a register of the page of the board's link ends. `None` if the board has no such page.
    ///
    /// # Errors
    /// If the board can't be reached.
    fn read_links32(&self, offset: PageOffset) -> Result<Option<u32>, Error> {
        let _ = offset;
        Ok(None)
    }

    /// Writes a register of the board's page. The call is valid between a reset and the first
    /// attachment.
    ///
    /// # Errors
    /// If the board can't be reached.
    fn write32(&self, offset: PageOffset, value: u32) -> Result<(), Error>;

    /// Resets every rank, table and router. All ports must have been dropped.
    /// [`Board::reset_clears_memory`] states the content of node memory after the reset.
    ///
    /// # Errors
    /// If a port is attached, or the board can't be reached.
    fn reset(&self) -> Result<(), Error>;

    /// Sets the number of ports of the run. Simulated time starts when all of them have attached.
    ///
    /// # Errors
    /// If a run is under way, or the board has fewer ranks.
    fn expect(&self, ports: u32) -> Result<(), Error>;

    /// Attaches to a rank's page and memory. Each rank has one port.
    ///
    /// # Errors
    /// If the rank does not exist or is attached already.
    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>, Error>;

    /// Returns the CRC-32 of the traffic on every port of the routers since the last reset, if the
    /// backend can observe the traffic.
    fn traffic_digest(&self) -> Option<u32>;

    /// Returns whether time stands still while a rank runs host code. Cycle counts then depend on
    /// the program alone. Otherwise any number of cycles may pass between two calls.
    fn time_stands_still(&self) -> bool;

    /// Returns whether a reset clears node memory. Hardware keeps the contents. A reproducible
    /// simulation clears them.
    fn reset_clears_memory(&self) -> bool {
        false
    }
}

/// A rank's connection to its board: register page, node memory and interrupt.
///
/// Dropping a port without [`Port::leave`] tells the backend that the rank died.
pub trait Port: Send {
    /// Posts a register write. Writes of one port take effect in order.
    ///
    /// # Errors
    /// If the board can't be reached, or a watchdog has ended the run.
    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<(), Error>;

    /// Reads a register of this rank's page. All earlier writes have taken effect before.
    ///
    /// # Errors
    /// As [`Port::write32`].
    fn read32(&mut self, offset: PageOffset) -> Result<u32, Error>;

    /// Reads a register of the board's page.
    ///
    /// # Errors
    /// As [`Port::write32`].
    fn read_board32(&mut self, offset: PageOffset) -> Result<u32, Error>;

    /// Copies `data` into this rank's node memory. The data is in memory before any later write or
    /// read of this port takes effect.
    ///
    /// # Errors
    /// If the range is not in node memory; as [`Port::write32`].
    fn write_memory(&mut self, at: NodeAddr, data: &[u8]) -> Result<(), Error>;

    /// Copies `data` into this rank's node memory, for the next command of this port. The data is in
    /// memory before that command takes effect, and before any later write or read of this port does,
    /// but not before one of them is called.
    ///
    /// # Errors
    /// As [`Port::write_memory`].
    fn write_ahead(&mut self, at: NodeAddr, data: &[u8]) -> Result<(), Error> {
        self.write_memory(at, data)
    }

    /// Fills `data` from this rank's node memory.
    ///
    /// # Errors
    /// If the range is not in node memory; as [`Port::write32`].
    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<(), Error>;

    /// Allocates host memory of which [`Port::write_memory`] and [`Port::read_memory`] move any part
    /// without a copy by the processor. `None` if the backend knows no better memory than any other.
    ///
    /// # Errors
    /// If the system has no memory; as [`Port::write32`].
    fn host_memory(&mut self, bytes: usize) -> Result<Option<Box<dyn HostBytes>>, Error> {
        let _ = bytes;
        Ok(None)
    }

    /// Waits until one of the causes `awaited` is raised, or `deadline` has passed. All earlier
    /// writes have taken effect before. Without a cause, the wait lasts until the deadline.
    ///
    /// With a [pinned ring](HostRing::pin), entries tell of the causes of completions and barriers: if
    /// one of them is awaited, the wait ends when entries have reached the ring.
    ///
    /// The register IRQ_ENABLE belongs to the port, which may enable the interrupt during the wait.
    /// Where host code takes real time, no interrupt is enabled outside a wait.
    ///
    /// # Errors
    /// If a peer died, a watchdog ended the run, or the board can't be reached.
    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake, Error>;

    /// Waits for one of the causes for so short a time that the port needs no clock. Returns `None` if
    /// none was raised, or if the port has no need for such waits: the caller then waits with
    /// [`Port::wait`].
    ///
    /// The clock of a card is in its registers, and a load of a register takes longer than most waits.
    ///
    /// # Errors
    /// As [`Port::wait`].
    fn spin(&mut self, awaited: Causes) -> Result<Option<Wake>, Error> {
        let _ = awaited;
        Ok(None)
    }

    /// Returns the present time. On a card, this is a load of a register.
    ///
    /// # Errors
    /// As [`Port::write32`].
    fn now(&mut self) -> Result<Cycle, Error>;

    /// Leaves the run in good order. Peers do not see the rank as dead.
    ///
    /// # Errors
    /// As [`Port::write32`].
    fn leave(&mut self) -> Result<(), Error>;

    /// Returns the ring of completions in host memory. `None` if the backend can't give a board access
    /// to host memory: then the ring in node memory is read.
    fn host_ring(&mut self) -> Option<&mut dyn HostRing> {
        None
    }

    /// Returns the backend's view of the whole run. `None` if the backend sees this rank alone, as on a
    /// card.
    fn run_view(&mut self) -> Option<&mut dyn RunView> {
        None
    }

    /// Returns the ranks of the run that have died, in the order of their deaths. `None` if the
    /// backend can't continue a run after a death.
    ///
    /// If all ports that are attached have called this method, a death ends no wait of another
    /// rank. The backend then resets the dead rank
    /// ([`RANK_RESET`](alcor_abi::rank::RANK_RESET)), so the operations of other ranks with that
    /// rank end.
    ///
    /// # Errors
    /// As [`Port::write32`].
    fn deaths(&mut self) -> Result<Option<Vec<GlobalRank>>, Error> {
        Ok(None)
    }
}

/// A ring of completions in host memory, into which the board copies the rank's completion ring.
pub trait HostRing {
    /// Pins host memory for a ring of `entries` completions, all zero, and returns its bus address, a
    /// multiple of 64. `None` if the ring in node memory is to be read.
    ///
    /// # Errors
    /// As [`Port::write32`], and if the memory can't be pinned.
    fn pin(&mut self, entries: u32) -> Result<Option<BusAddr>, Error>;

    /// Reads an entry of the pinned ring: host memory, no access to the board. An entry that was not
    /// written is zero.
    ///
    /// # Errors
    /// As [`Port::write32`].
    fn entry(&mut self, index: u32) -> Result<[u32; 4], Error>;
}

/// The view of a backend that sees all ranks of the run: simulated boards.
pub trait RunView {
    /// Returns whether [`RunView::note`] has an effect. The library asks once, when the rank begins.
    fn wants_notes(&mut self) -> bool;

    /// Records an event of an operation. The call takes no simulated time and changes no behaviour.
    fn note(&mut self, note: Note);

    /// Declares the wait of this rank, once the wait has lasted for a while; `None` ends the
    /// declaration. In between, each [`Port::wait`] is a part of the declared wait. A deadline in
    /// between is no timer of the program: the rank polls then, or gives up.
    ///
    /// The backend ends the waits with [`Error::Deadlock`] if all ranks have declared one and nothing
    /// is under way.
    ///
    /// # Errors
    /// As [`Port::write32`].
    fn tell_wait(&mut self, wait: Option<&RankWait>) -> Result<(), Error>;

    /// Returns the state of the whole run; `None` if the state does not fit into a mailbox between
    /// processes.
    ///
    /// # Errors
    /// As [`Port::write32`].
    fn sight(&mut self) -> Result<Option<Sight>, Error>;
}

/// The state of a whole run, as seen by a backend.
///
/// # Examples
/// ```
/// use alcor::{GlobalRank, RankWait, Sight};
///
/// let mut sight = Sight::default();
/// sight.moved = 1200;
/// sight.waits.push(RankWait::new(GlobalRank(1), "a message"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sight {
    /// Lower bound of [`Options::watchdog_cycles`](crate::Options::watchdog_cycles).
    pub least_watchdog: u64,
    /// The last cycle in which a packet moved on a board or a link.
    pub moved: u64,
    /// The [declared waits](RunView::tell_wait) of ranks.
    pub waits: Vec<RankWait>,
}

/// Opens boards of one URI scheme.
pub trait Backend: Send + Sync {
    /// The scheme: `cosim` in `cosim:rma4`.
    fn scheme(&self) -> &str;
    /// Opens the boards of `rest`, the URI without scheme and colon.
    ///
    /// # Errors
    /// If there is no such board, or the environment lacks something.
    fn open(&self, rest: &str) -> Result<Cluster, Error>;

    /// Opens the boards of `rest` for the rank of this process, in a run whose ranks are processes.
    /// The boards have been prepared when the call returns. By default the launcher has prepared
    /// them, and this is [`Backend::open`].
    ///
    /// # Errors
    /// As [`Backend::open`], and if the processes of the run can't meet.
    fn join(&self, rest: &str, launch: &Launch) -> Result<Cluster, Error> {
        let _ = launch;
        self.open(rest)
    }
}
