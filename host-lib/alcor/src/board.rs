//! The seam between the library and what it runs on.
//!
//! A backend implements [`Board`] and [`Port`]; the library sees nothing else of it. What
//! these traits offer is what a stock XDMA in memory-mapped mode gives a host: 32-bit
//! registers, bulk access to node memory, and an interrupt.

use std::fmt;
use std::sync::Arc;

use alcor_abi::Status;

use crate::{Cluster, Collective, Error, RankWait};

/// A rank's number on its board, 0 to [`BoardInfo::ranks`] - 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalRank(pub u32);

/// A rank's number in the run: board × ranks a board + local rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GlobalRank(pub u32);

/// Byte offset of a register within a 4 KiB page, a multiple of 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageOffset(pub u32);

/// Byte address in a rank's node memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeAddr(pub u32);

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

/// Commands that a kernel may have under way, and ids of messages that are the kernel's.
pub(crate) const KERNEL_COMMANDS: u32 = 8;

/// What a board says of itself once its ID block has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BoardInfo {
    /// Ranks on the board.
    pub ranks: u32,
    /// Link ports.
    pub links: u32,
    /// Slots of each rank's registration table.
    pub slots: u32,
    /// Bytes that the coprocessors and the crossbar move in a cycle, each way.
    pub beat_bytes: u32,
    /// Bytes of each rank's node memory.
    pub node_bytes: u32,
    /// Command writes that a rank may have outstanding.
    pub command_credits: u32,
    /// Payload bytes of an extended packet.
    pub packet_bytes: u32,
    /// Clock in kHz.
    pub clock_khz: u32,
    /// Source revision the hardware was built from; 0 in simulation.
    pub revision: u32,
    /// Parameters that boards on one link must share: the SHAPE register.
    pub shape: u32,
    /// Blocks on the board: the CAPABILITIES register.
    pub capabilities: u32,
    /// Stages of the collective switch; 0 without one.
    pub stages: u32,
    /// Rows of the communicator table, that of the barrier included; 0 without a switch.
    pub communicators: u32,
    /// Data bytes of a phit; 0 without a switch.
    pub phit_bytes: u32,
    /// Entries of each queue of a message engine; 0 without one.
    pub message_depth: u32,
    /// Bytes of a message that travels at once; of longer ones, the receiver fetches the data.
    pub fragment_bytes: u32,
    /// Cells of each matching unit of a message engine.
    pub matching_cells: u32,
    /// Four characters that name the kernel of the ranks; zeros without one.
    pub kernel: [u8; 4],
}

impl BoardInfo {
    /// Whether the board has a collective switch.
    #[must_use]
    pub fn has_switch(&self) -> bool {
        alcor_abi::board::capabilities::SWITCH.get(self.capabilities) != 0
    }

    /// Whether the board has message engines.
    #[must_use]
    pub fn has_messages(&self) -> bool {
        alcor_abi::board::capabilities::MESSAGES.get(self.capabilities) != 0
    }

    /// Whether each rank has a kernel.
    #[must_use]
    pub fn has_kernel(&self) -> bool {
        alcor_abi::board::capabilities::KERNEL.get(self.capabilities) != 0
    }

    /// Ids of messages that are the kernel's.
    pub(crate) fn kernel_messages(&self) -> u32 {
        match self.has_kernel() && self.has_messages() {
            true => KERNEL_COMMANDS,
            false => 0,
        }
    }

    /// The first property that a board of the same cluster has to share with this one and does not: its name, its value
    /// here, its value there. Clock and revision may differ.
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
                ("registration slots", info.slots),
                ("bytes of node memory", info.node_bytes),
                ("command credits", info.command_credits),
                ("capabilities", info.capabilities),
                ("name of the kernel", u32::from_le_bytes(info.kernel)),
                // The parameters of SHAPE without a name of their own above: phits of windows and channels.
                ("register SHAPE", info.shape),
            ]
        };
        (properties(self).into_iter().zip(properties(other)))
            .find(|((_, here), (_, there))| here != there)
            .map(|((name, here), (_, there))| (name, here, there))
    }

    /// Where the unexpected message buffer begins, which reaches to the end of node memory: the
    /// end, without a message engine.
    pub(crate) fn usable_bytes(&self) -> u32 {
        self.node_bytes
            .saturating_sub(self.message_depth * self.fragment_bytes)
    }
}

/// Why [`Port::wait`] came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The rank's interrupt is raised; CAUSES says why.
    Interrupt,
    /// The deadline has come and the interrupt is not raised.
    Deadline,
}

/// What a rank's operation is, as [`Note::Began`] has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Activity {
    /// A put.
    Put,
    /// A get.
    Get,
    /// A message that is sent.
    Send,
    /// A receive.
    Receive,
    /// A look for a message.
    Probe,
    /// A collective of a communicator.
    Collective(Collective),
    /// What goes ahead of a collective, so that members who call different ones learn of it.
    Herald,
    /// The barrier of all ranks.
    Barrier,
    /// The registration of a window.
    Register,
    /// The end of a window.
    Deregister,
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Activity::Put => "put",
            Activity::Get => "get",
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

/// What a rank tells its port of an operation, for backends that show what happened when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// An operation was called.
    Began {
        /// Tells the operations of this port apart.
        operation: u64,
        /// What it is.
        activity: Activity,
        /// The target, source or root, where there is one.
        peer: Option<GlobalRank>,
        /// Bytes.
        bytes: u64,
    },
    /// The next register write commits the operation.
    Posting {
        /// The operation.
        operation: u64,
    },
    /// The library has seen the operation end.
    Ended {
        /// The operation.
        operation: u64,
        /// How.
        status: Status,
    },
}

/// A board: what a run is opened on.
pub trait Board: Send + Sync {
    /// A name for messages: the URI it was opened with.
    fn name(&self) -> &str;

    /// Reads a register of the board's page; also before the first port attaches and after the
    /// last has left.
    ///
    /// # Errors
    /// When the board can't be reached.
    fn read32(&self, offset: PageOffset) -> Result<u32, Error>;

    /// Writes a register of the board's page; between a reset and the first port's attaching.
    ///
    /// # Errors
    /// When the board can't be reached.
    fn write32(&self, offset: PageOffset, value: u32) -> Result<(), Error>;

    /// Brings every rank, table and router to their state after power-up, once all ports are
    /// dropped. [`Board::reset_clears_memory`] says what node memory holds then.
    ///
    /// # Errors
    /// When a port is still attached or the board can't be reached.
    fn reset(&self) -> Result<(), Error>;

    /// Says how many ports will be attached; where time is simulated, it starts when all have.
    ///
    /// # Errors
    /// When a run is under way, or the board has fewer ranks.
    fn expect(&self, ports: u32) -> Result<(), Error>;

    /// Attaches to a rank's page and memory. One port a rank.
    ///
    /// # Errors
    /// When the rank does not exist or is attached already.
    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>, Error>;

    /// CRC-32 of the traffic on every port of the routers since the last reset, where the
    /// backend can see it.
    fn traffic_digest(&self) -> Option<u32>;

    /// Whether time stands still while a rank runs host code, so that cycle counts are functions of
    /// the program alone. Where it does not, a rank may find any number of cycles gone between two calls.
    fn time_stands_still(&self) -> bool;

    /// Whether node memory is zero after a reset. Hardware keeps its contents; a simulation that is to be the same each
    /// time has zeros.
    fn reset_clears_memory(&self) -> bool {
        false
    }
}

/// A rank's way to its board: its register page, its node memory and its interrupt.
///
/// Dropping a port before [`Port::leave`] tells the backend that the rank died.
pub trait Port: Send {
    /// Posts a register write. Writes of one port take effect in order.
    ///
    /// # Errors
    /// When the board can't be reached or the run was ended by a watchdog.
    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<(), Error>;

    /// Reads a register of this rank's page, after all writes posted before have taken effect.
    ///
    /// # Errors
    /// As [`Port::write32`].
    fn read32(&mut self, offset: PageOffset) -> Result<u32, Error>;

    /// Reads a register of the board's page.
    ///
    /// # Errors
    /// As [`Port::write32`].
    fn read_board32(&mut self, offset: PageOffset) -> Result<u32, Error>;

    /// Copies `data` into this rank's node memory; it is there on return.
    ///
    /// # Errors
    /// When the range does not lie in node memory, or as [`Port::write32`].
    fn write_memory(&mut self, at: NodeAddr, data: &[u8]) -> Result<(), Error>;

    /// Fills `data` from this rank's node memory.
    ///
    /// # Errors
    /// When the range does not lie in node memory, or as [`Port::write32`].
    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<(), Error>;

    /// Waits until the rank's interrupt is raised (all writes posted before having taken
    /// effect), or until `deadline`; with no interrupt enabled, until then.
    ///
    /// # Errors
    /// When a peer died, a watchdog ended the run, or the board can't be reached.
    fn wait(&mut self, deadline: Cycle) -> Result<Wake, Error>;

    /// The present time.
    ///
    /// # Errors
    /// As [`Port::write32`].
    fn now(&mut self) -> Result<Cycle, Error>;

    /// Ends this rank's part of the run in good order: its peers do not count it as dead.
    ///
    /// # Errors
    /// As [`Port::write32`].
    fn leave(&mut self) -> Result<(), Error>;

    /// Whether [`Port::note`] does anything. Asked once, when the rank begins.
    fn wants_notes(&mut self) -> bool {
        false
    }

    /// Takes a note of an operation; costs no time and changes nothing.
    fn note(&mut self, note: Note) {
        let _ = note;
    }

    /// Says what this rank waits for, once a wait has lasted for a while; `None` when that wait is
    /// over. In between, each [`Port::wait`] is a part of it: a deadline is no timer of the
    /// program's, but one at which the rank looks again, or gives up.
    ///
    /// A backend that knows all ranks of the run ends their waits with [`Error::Deadlock`] when all
    /// of them have said so and nothing is under way.
    ///
    /// # Errors
    /// As [`Port::write32`].
    fn tell_wait(&mut self, wait: Option<&RankWait>) -> Result<(), Error> {
        let _ = wait;
        Ok(())
    }

    /// What is known of the whole run; `None` where the backend does not know it.
    ///
    /// # Errors
    /// As [`Port::write32`].
    fn sight(&mut self) -> Result<Option<Sight>, Error> {
        Ok(None)
    }
}

/// What a backend knows of a whole run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sight {
    /// The least that [`Options::watchdog_cycles`](crate::Options::watchdog_cycles) counts for.
    pub least_watchdog: u64,
    /// The last cycle in which a packet moved on a board or a link.
    pub moved: u64,
    /// What ranks have said that they [wait](Port::tell_wait) for.
    pub waits: Vec<RankWait>,
}

/// Opens boards of one URI scheme.
pub trait Backend: Send + Sync {
    /// The scheme, as in `cosim:rma4`: `cosim`.
    fn scheme(&self) -> &str;
    /// Opens the board or boards that `rest`, the URI after its scheme and colon, names.
    ///
    /// # Errors
    /// When there is no such board, or its environment lacks something.
    fn open(&self, rest: &str) -> Result<Cluster, Error>;
}
