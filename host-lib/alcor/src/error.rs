//! Errors of the library. Each one states the request, the finding, the place, and the next step.

use std::fmt;
use std::sync::Arc;

use alcor_abi::Status;

use crate::call::{Call, CommunicatorId, Difference, MemberCall, SoftwareReason};
use crate::takeover::what_is_missing;
use crate::transfer::Transfer;
use crate::watchdog::{Awaited, RankState, RankWait, describe_deadlock, describe_watchdog};
use crate::{
    Accumulate, Atomic, Cycle, ElementType, GlobalRank, LinkState, LocalRank, Message,
    MessageStatus, NodeAddr, Operation,
};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason of an abort: the eight bits of the ABORT command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AbortReason(pub u8);

impl AbortReason {
    /// A rank was dropped without [`crate::Rank::finish`].
    pub const DROPPED: AbortReason = AbortReason(0xFD);
    /// A rank's program returned an error.
    pub const FAILED: AbortReason = AbortReason(0xFE);
    /// A rank's program panicked.
    pub const PANICKED: AbortReason = AbortReason(0xFF);
}

impl fmt::Display for AbortReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            AbortReason::DROPPED => f.write_str("the rank was dropped without finish"),
            AbortReason::FAILED => f.write_str("the program of the rank returned an error"),
            AbortReason::PANICKED => f.write_str("the program of the rank panicked"),
            AbortReason(code) => write!(f, "the program of the rank called abort({code})"),
        }
    }
}

/// Every error of this library.
///
/// Later versions may add errors, and fields to errors. Backends make the errors of a board, of its
/// ranks and of their ends ([`Error::Board`], [`Error::PeerDied`], [`Error::RankAway`] and others),
/// so the fields of these errors stay as they are.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // ------------------------------------------------------------ opening a board
    /// No backend has the scheme of this URI.
    #[error(
        "no backend opens `{uri}`: known schemes are {}; write `<scheme>:<board>`, and check that the program includes this backend",
        list(known)
    )]
    #[non_exhaustive]
    UnknownScheme {
        /// The URI.
        uri: String,
        /// The known schemes.
        known: Vec<String>,
    },
    /// The board's registers read all ones.
    #[error(
        "{board}: MAGIC reads all ones: the link to the board is dead; check that the board is powered, programmed and enumerated"
    )]
    DeadLink {
        /// The board.
        board: String,
    },
    /// The board is not an Alcor board.
    #[error(
        "{board}: MAGIC reads 0x{found:08x} where an Alcor board has 0x{:08x}; program the board with one of Alcor's bitstreams",
        alcor_abi::MAGIC
    )]
    #[non_exhaustive]
    NotAlcor {
        /// The board.
        board: String,
        /// Value of MAGIC.
        found: u32,
    },
    /// The board has another major version of the ABI.
    #[error(
        "{board}: the board speaks ABI {found_major}.{found_minor}, this library speaks ABI {wanted_major}; use the library of the same version, or program another bitstream"
    )]
    #[non_exhaustive]
    AbiVersion {
        /// The board.
        board: String,
        /// The board's major version.
        found_major: u32,
        /// The board's minor version.
        found_minor: u32,
        /// The library's major version.
        wanted_major: u32,
    },
    /// The board was built from another register description.
    #[error(
        "{board}: ABI_HASH reads 0x{found:08x}, this library was built with 0x{wanted:08x}: hardware and library come from different sources; rebuild one of them"
    )]
    #[non_exhaustive]
    AbiHash {
        /// The board.
        board: String,
        /// The hash that the board reports.
        found: u32,
        /// The hash that the library was built with.
        wanted: u32,
    },
    /// The board lacks a required block.
    #[error(
        "{board}: the board has no {capability} (CAPABILITIES reads 0x{found:x}); choose a configuration with one"
    )]
    #[non_exhaustive]
    MissingCapability {
        /// The board.
        board: String,
        /// The block.
        capability: &'static str,
        /// Value of CAPABILITIES.
        found: u32,
    },
    /// The ID block contradicts itself.
    #[error(
        "{board}: {register} reads 0x{found:x}, but {rule}; the bitstream or its configuration is broken"
    )]
    #[non_exhaustive]
    BadIdentity {
        /// The board.
        board: String,
        /// The register.
        register: &'static str,
        /// Value of the register.
        found: u32,
        /// The violated rule.
        rule: &'static str,
    },

    /// Two boards of a cluster are built differently.
    #[error(
        "{board} and {other} are built differently: {property} {found} and {wanted}; load the same configuration on all boards of a cluster"
    )]
    #[non_exhaustive]
    BoardsDiffer {
        /// The board.
        board: String,
        /// The cluster's first board.
        other: String,
        /// The property that differs.
        property: &'static str,
        /// Value of the property on the board.
        found: u32,
        /// Value of the property on the first board.
        wanted: u32,
    },

    // ------------------------------------------------------------ launch
    /// The process was not started as a rank of a run.
    #[error(
        "{variable} is not set: this process was not started as a rank of a run; start it with `alcor run --config NAME -n RANKS -- PROGRAM`, or set the variables that `alcor serve` prints"
    )]
    #[non_exhaustive]
    NotLaunched {
        /// The missing variable.
        variable: &'static str,
    },
    /// An environment variable has an invalid value.
    #[error("{variable}={value}: {rule}")]
    #[non_exhaustive]
    BadVariable {
        /// The variable.
        variable: &'static str,
        /// Value of the variable.
        value: String,
        /// The violated rule.
        rule: &'static str,
    },

    // ------------------------------------------------------------ backends
    /// The board can't be reached, or its backend failed.
    #[error("{board}: {source}")]
    Board {
        /// The board.
        board: String,
        /// The backend's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The board has no such rank.
    #[error("{board}: there is no {rank}: the board has {ranks} ranks; use fewer ranks")]
    NoSuchRank {
        /// The board.
        board: String,
        /// The requested rank.
        rank: LocalRank,
        /// Number of ranks of the board.
        ranks: u32,
    },
    /// The boards have fewer ranks than the run needs.
    #[error(
        "{cluster}: the run needs {asked} ranks, and the boards have {ranks} ranks; use fewer ranks, or a larger configuration"
    )]
    #[non_exhaustive]
    TooFewRanks {
        /// The boards.
        cluster: String,
        /// Number of ranks of the run.
        asked: u32,
        /// Number of ranks of the boards.
        ranks: u32,
    },
    /// Another port is attached to the rank.
    #[error("{board}: {rank} is attached already; each rank has one port")]
    RankTaken {
        /// The board.
        board: String,
        /// The rank.
        rank: LocalRank,
    },
    /// The board is in use: a port is attached.
    #[error(
        "{board}: can't {operation} while {attached} ports are attached; drop the ranks of the last run first"
    )]
    BoardBusy {
        /// The board.
        board: String,
        /// The refused operation.
        operation: &'static str,
        /// Number of attached ports.
        attached: u32,
    },
    /// An access beyond the end of node memory.
    #[error(
        "{board}: {length} bytes at {at} of {rank} reach beyond its {node_bytes} bytes of node memory"
    )]
    BadNodeAddress {
        /// The board.
        board: String,
        /// The rank that owns the memory.
        rank: LocalRank,
        /// Address of the access.
        at: NodeAddr,
        /// Length of the access, in bytes.
        length: u64,
        /// Size of node memory, in bytes.
        node_bytes: u32,
    },
    /// A peer died: its process or thread ended without leaving the run.
    #[error(
        "{board}: {rank} died: its process ended, or its port was dropped, before it left the run; see the error of that rank"
    )]
    PeerDied {
        /// The boards.
        board: String,
        /// The rank that died first.
        rank: GlobalRank,
    },
    /// An operation needs ranks that are dead. The run survives deaths
    /// ([`Options::detect_deaths`](crate::Options::detect_deaths)).
    #[error(
        "{rank}: {operation} failed, because {} died; other operations go on; make a communicator of the living members (`Communicator::shrink`)",
        have(failed)
    )]
    #[non_exhaustive]
    ProcessFailed {
        /// The rank that reports the error.
        rank: GlobalRank,
        /// The operation.
        operation: String,
        /// The dead ranks that the operation needs.
        failed: Vec<GlobalRank>,
    },
    /// A member has revoked the communicator.
    #[error(
        "{rank}: {communicator} is revoked: a member has met a failure; make a communicator of the living members (`Communicator::shrink`)"
    )]
    #[non_exhaustive]
    Revoked {
        /// The rank that reports the error.
        rank: GlobalRank,
        /// The communicator.
        communicator: CommunicatorId,
    },
    /// Ranks have run host code for too long while their peers wait. Simulated time stands still
    /// then.
    #[error(
        "{board}: {} outside the library for {seconds:.1} s while {waiting} of the ranks wait: time stands still until every rank waits; ranks may block in the library only; or raise the limit (ALCOR_AWAY_SECONDS)",
        have_been(ranks)
    )]
    RankAway {
        /// The boards.
        board: String,
        /// The ranks that run host code.
        ranks: Vec<GlobalRank>,
        /// Duration in seconds of the wall clock.
        seconds: f64,
        /// Number of waiting ranks.
        waiting: u32,
    },
    /// Ranks did not attach while their peers waited. Simulated time begins when all ranks have
    /// attached.
    #[error(
        "{board}: {} not attached within {seconds:.1} s while {waiting} of the ranks wait: time begins when all ranks have attached; start every rank, or raise the limit (option `attach`)",
        have(ranks)
    )]
    RanksMissing {
        /// The boards.
        board: String,
        /// The ranks that did not attach.
        ranks: Vec<GlobalRank>,
        /// Duration of the peers' wait, in seconds of the wall clock.
        seconds: f64,
        /// Number of waiting ranks.
        waiting: u32,
    },

    /// The matching unit returned a result of an unknown kind.
    #[error(
        "{rank}: the matching unit's result 0x{word:08x} has an unknown kind; the bitstream is broken"
    )]
    #[non_exhaustive]
    BadAlpuResult {
        /// The rank of the matching unit.
        rank: GlobalRank,
        /// Value of ALPU_RESULT.
        word: u32,
    },

    // ------------------------------------------------------------ end of a run
    /// A wait exceeded the limit of the watchdog.
    #[error("{}", describe_watchdog(*rank, awaited, (*cycles, *still), states, waits, links))]
    #[non_exhaustive]
    Watchdog {
        /// The waiting rank.
        rank: GlobalRank,
        /// The awaited event.
        awaited: Awaited,
        /// Duration of the wait, in cycles.
        cycles: u64,
        /// Cycles of the wait since a packet of the run last moved: `cycles` if none has moved, or if
        /// the backend does not see the whole run.
        still: u64,
        /// Time at the end of the wait.
        at: Cycle,
        /// States of the ranks of the board at that time.
        states: Box<[RankState]>,
        /// Declared waits of ranks, if the backend knows them.
        waits: Box<[RankWait]>,
        /// State of the link ends, if this process has boards with link ends.
        links: Arc<Vec<LinkState>>,
    },
    /// Another program has reset the rank's board during the run.
    #[error(
        "{board}: another program reset the board during the run, so the run is over; let no other program use the boards of a run, then run again"
    )]
    BoardReset {
        /// The board.
        board: String,
    },
    /// A board of another run, which is cabled to this run's board, has the same key: the end of one
    /// run would abort the other.
    #[error("{link}, to a board of another run that has drawn the same key; start this run again")]
    KeyInUse {
        /// The link to the other run's board.
        link: LinkState,
    },
    /// Nothing will pass on a link between boards of the run, or has passed for longer than
    /// [`Options::lost_link_after`](crate::Options::lost_link_after).
    #[error("{rank}: {}", describe_lost(link, *cycles))]
    #[non_exhaustive]
    LinkLost {
        /// The waiting rank.
        rank: GlobalRank,
        /// The end of the link at a board of this process.
        link: LinkState,
        /// Time for which nothing has passed, in cycles; 0 if the link can't open again.
        cycles: u64,
    },
    /// No rank of the run can continue: every rank waits, and nothing is under way. Every rank gets
    /// this error at the same time.
    #[error("{}", describe_deadlock(*at, waits, links))]
    Deadlock {
        /// Time of the deadlock.
        at: Cycle,
        /// The awaited event of each rank. A rank that is missing here has left the run.
        waits: Vec<RankWait>,
        /// State of the link ends, if the boards have link ends.
        links: Arc<Vec<LinkState>>,
    },
    /// The run was aborted.
    #[error("the run was aborted by {by}: {reason}")]
    #[non_exhaustive]
    Aborted {
        /// The rank that aborted the run.
        by: GlobalRank,
        /// The reason.
        reason: AbortReason,
    },

    // ------------------------------------------------------------ takeover of a rank
    /// The last holder of the rank took part in a run over several boards. A reset of one rank
    /// can't end its part.
    #[error(
        "{rank}: its last holder was in a run of {nprocs} ranks, and the board has {ranks}: a reset of this rank does not reach the other boards; reset all boards of the run (`Cluster::prepare`)"
    )]
    #[non_exhaustive]
    RunOfManyBoards {
        /// The rank.
        rank: GlobalRank,
        /// Ranks of the run.
        nprocs: u32,
        /// Ranks of the board.
        ranks: u32,
    },
    /// The reset of a rank has not ended in time, so the next holder can't begin.
    #[error(
        "{rank}: after {cycles} cycles its reset still waits for {} (RESET_STATE 0x{state:08x}); the owner of this work is stuck or gone: reset the board",
        what_is_missing(*state)
    )]
    #[non_exhaustive]
    RankNotReset {
        /// The rank.
        rank: GlobalRank,
        /// Duration of the wait, in cycles.
        cycles: u64,
        /// Value of RESET_STATE.
        state: u32,
    },
    /// Another rank was reset during this run. Collective operations of the run can't continue.
    #[error(
        "{rank} at {awaited}: another rank was reset during the run, because its process had ended; puts, gets and messages continue; collective operations need all ranks to attach anew, in a run of several boards after a reset of the boards"
    )]
    #[non_exhaustive]
    PeerReset {
        /// The rank that reports the error.
        rank: GlobalRank,
        /// The operation of the rank.
        awaited: Awaited,
    },

    // ------------------------------------------------------------ put and get
    /// The hardware refused a put or get. The refused packets have changed no memory, unless the status is
    /// [`Status::Damaged`].
    #[error("{origin}: {transfer} was refused: {} {}", status.describe(), advice(*status))]
    #[non_exhaustive]
    Refused {
        /// The rank that started the transfer.
        origin: GlobalRank,
        /// The transfer.
        transfer: Transfer,
        /// The reason.
        status: Status,
    },
    /// The hardware refused an atomic operation. The operation has changed no memory.
    #[error("{origin}: {atomic} was refused: {} {}", status.describe(), advice(*status))]
    #[non_exhaustive]
    AtomicRefused {
        /// The rank that started the operation.
        origin: GlobalRank,
        /// The operation.
        atomic: Atomic,
        /// The reason.
        status: Status,
    },
    /// The hardware refused an accumulate. The accumulate has changed no memory, unless the status is
    /// [`Status::Damaged`].
    #[error("{origin}: {accumulate} was refused: {} {}", status.describe(), advice(*status))]
    #[non_exhaustive]
    AccumulateRefused {
        /// The rank that started the accumulate.
        origin: GlobalRank,
        /// The accumulate.
        accumulate: Accumulate,
        /// The reason.
        status: Status,
    },
    /// Transfers failed after their requests were dropped. The next flush reports them.
    #[error("{failed} operations failed after their requests were dropped; the first: {first}")]
    #[non_exhaustive]
    Unclaimed {
        /// Number of failed transfers.
        failed: u64,
        /// The error of the first one.
        #[source]
        first: Box<Error>,
    },
    /// A request was passed to a rank that has not issued it.
    #[error(
        "a request was passed to {rank}, which has not issued it; pass the request to the rank that issued it"
    )]
    #[non_exhaustive]
    ForeignRequest {
        /// The rank to which the request was passed.
        rank: GlobalRank,
    },

    // ------------------------------------------------------------ messages
    /// A message was longer than the receive buffer. The beginning that fits has been received.
    #[error(
        "{rank}: {receive}: the message from {} with tag {} has {} bytes, of which the first {} were received; receive into a larger region, or probe for the length first",
        found.pid, found.tag, found.length, receive.length
    )]
    #[non_exhaustive]
    Truncated {
        /// The receiving rank.
        rank: GlobalRank,
        /// The receive.
        receive: Message,
        /// The message.
        found: MessageStatus,
    },
    /// The hardware refused a message, a receive or a probe.
    #[error("{rank}: {message} was refused: {} {}", status.describe(), advice(*status))]
    #[non_exhaustive]
    MessageRefused {
        /// The calling rank.
        rank: GlobalRank,
        /// The message, receive or probe.
        message: Message,
        /// The reason.
        status: Status,
    },
    /// The call needs the request of a receive, and got another request.
    #[error(
        "{rank}: the request is not a receive; only receives can be cancelled and have a status"
    )]
    #[non_exhaustive]
    NotAReceive {
        /// The rank to which the request was passed.
        rank: GlobalRank,
    },
    /// The queues or the ring are too short for messages among this number of ranks.
    #[error(
        "{rank}: messages among {ranks} ranks need {needed} command ids, and {found} are available: fewer than the depth of the queues ({depth}), and at most three quarters of `Options::ring_entries` ({ring}); use a longer ring, fewer ranks, or a configuration with deeper queues"
    )]
    #[non_exhaustive]
    MessageRoom {
        /// The calling rank.
        rank: GlobalRank,
        /// Number of ranks of the run.
        ranks: u32,
        /// Number of command ids that messages need.
        needed: u32,
        /// Number of command ids that are available for messages.
        found: u32,
        /// Entries of a message queue.
        depth: u32,
        /// Entries of the completion ring.
        ring: u32,
    },

    /// The unexpected messages of a rank exceed the limit of host memory.
    #[error(
        "{rank}: {messages} messages without a receive and one more take {needed} bytes of host memory, the limit is {limit}; receive messages earlier, or raise `Options::unexpected_bytes`"
    )]
    #[non_exhaustive]
    UnexpectedMessages {
        /// The calling rank.
        rank: GlobalRank,
        /// Number of messages in host memory.
        messages: usize,
        /// Host memory of these messages and the next one, in bytes.
        needed: u64,
        /// [`Options::unexpected_bytes`](crate::Options::unexpected_bytes).
        limit: u64,
    },

    /// A matched probe found a message that a kernel has announced, or a message behind it.
    #[error(
        "{rank}: a kernel of {peer} has announced a message of {length} bytes with tag {tag}, which only a receive can take from the hardware; receive it before a matched probe of this source, or let the kernel send at most `BoardInfo::fragment_bytes`"
    )]
    #[non_exhaustive]
    MessageOfKernel {
        /// The calling rank.
        rank: GlobalRank,
        /// The rank of the kernel.
        peer: GlobalRank,
        /// Tag of the message.
        tag: u32,
        /// Length of the message in bytes.
        length: u32,
    },

    // ------------------------------------------------------------ windows and collectives
    /// A rank's registration table is full.
    #[error(
        "window at {base} of {rank}: a rank's registration table is full ({slots} slots); deregister a window first"
    )]
    #[non_exhaustive]
    TableFull {
        /// The rank that reports the error.
        rank: GlobalRank,
        /// The base of its window.
        base: NodeAddr,
        /// Slots of a registration table.
        slots: u32,
    },
    /// A rank has registered the base address already.
    #[error(
        "window at {base} of {rank}: a rank has registered its base address already; deregister it, or register another region"
    )]
    #[non_exhaustive]
    DuplicateWindow {
        /// The rank that reports the error.
        rank: GlobalRank,
        /// The base of its window.
        base: NodeAddr,
    },
    /// A rank's window reaches beyond the end of node memory.
    #[error(
        "window at {base} of {rank}, {} bytes: a rank's window reaches beyond its node memory; register fewer bytes",
        size(*bytes)
    )]
    #[non_exhaustive]
    WindowOutOfRange {
        /// The rank that reports the error.
        rank: GlobalRank,
        /// The base of its window.
        base: NodeAddr,
        /// Size of the window in bytes; `None` if it reaches to the end of node memory.
        bytes: Option<u32>,
    },
    /// The window is not registered.
    #[error("window at {base} of {rank}: a rank has no window registered at its base address")]
    #[non_exhaustive]
    NotRegistered {
        /// The rank that reports the error.
        rank: GlobalRank,
        /// The base of its window.
        base: NodeAddr,
    },
    /// The ranks called different collective operations.
    #[error("{}", describe_mismatch(*rank, awaited, others))]
    #[non_exhaustive]
    CollectiveMismatch {
        /// The rank that reports the error.
        rank: GlobalRank,
        /// The operation of the rank.
        awaited: Awaited,
        /// The operations of other ranks, as far as they are known: on backends that see the whole
        /// run, such as simulations.
        others: Vec<RankWait>,
    },
    /// A registration ended with an unexpected status.
    #[error("{rank} at {awaited}: the board answered {status} (REG_RESULT 0x{found:08x})", status = status_text(*status))]
    #[non_exhaustive]
    RegistrationRefused {
        /// The rank that reports the error.
        rank: GlobalRank,
        /// The operation of the rank.
        awaited: Awaited,
        /// The status; `None` if the code is unknown.
        status: Option<Status>,
        /// Value of REG_RESULT.
        found: u32,
    },

    // ------------------------------------------------------------ communicators
    /// The members of a communicator called a collective with different parameters. Every member
    /// gets this error.
    #[error("{}", describe_difference(*rank, call, *difference, others))]
    #[non_exhaustive]
    CollectivesDiffer {
        /// The rank that reports the error.
        rank: GlobalRank,
        /// The call of this rank.
        call: Call,
        /// The property in which the calls differ.
        difference: Difference,
        /// The calls of the other members, as far as they are known. For different lists of
        /// members: the members whose lists differ from the list of this rank.
        others: Vec<MemberCall>,
    },
    /// The collective unit refused a collective.
    #[error("{rank} called {call}: the board answered {}", status.describe())]
    #[non_exhaustive]
    CollectiveRefused {
        /// The calling rank.
        rank: GlobalRank,
        /// The call.
        call: Call,
        /// The status of the board.
        status: Status,
    },
    /// Hardware can't run a collective, and strict mode forbids software.
    #[error("{rank} called {call} in strict mode: not in hardware, {reason}")]
    #[non_exhaustive]
    NotInHardware {
        /// The calling rank.
        rank: GlobalRank,
        /// The call.
        call: Call,
        /// The reason why hardware can't run the collective.
        reason: SoftwareReason,
    },
    /// Floating-point numbers have no bitwise operations.
    #[error(
        "{rank}: there is no {operation} of {element}; reduce integers, or choose another operation"
    )]
    #[non_exhaustive]
    NoSuchOperation {
        /// The calling rank.
        rank: GlobalRank,
        /// The operation.
        operation: Operation,
        /// The type.
        element: ElementType,
    },
    /// The buffer for the old elements of an accumulate has a wrong length.
    #[error(
        "{rank}: the buffer for the old elements has {found} elements, but the accumulate has {expected}; use a buffer of the same length"
    )]
    #[non_exhaustive]
    OldElements {
        /// The calling rank.
        rank: GlobalRank,
        /// Number of elements of the buffer.
        found: usize,
        /// Number of elements of the accumulate.
        expected: usize,
    },
    /// A vector of a collective has a wrong length.
    #[error("{rank} called {call}: its {what} has {found} elements, but must have {expected}")]
    #[non_exhaustive]
    WrongLength {
        /// The calling rank.
        rank: GlobalRank,
        /// The call.
        call: Call,
        /// Name of the vector.
        what: &'static str,
        /// Number of elements of the vector.
        found: usize,
        /// Required number of elements.
        expected: usize,
    },
    /// Source and destination of a collective overlap without being the same place.
    #[error(
        "{rank} called {call}: source and destination overlap; use separate regions, or the same place for the same elements"
    )]
    #[non_exhaustive]
    Overlap {
        /// The calling rank.
        rank: GlobalRank,
        /// The call.
        call: Call,
    },
    /// A rank is no member of the communicator.
    #[error("{rank}: {what} {found} is not among the {size} ranks of {communicator}")]
    #[non_exhaustive]
    NoSuchMember {
        /// The calling rank.
        rank: GlobalRank,
        /// The communicator.
        communicator: CommunicatorId,
        /// Meaning of the number.
        what: &'static str,
        /// The number.
        found: u32,
        /// Number of members of the communicator.
        size: u32,
    },
    /// A list of members contains a rank twice.
    #[error("{rank}: rank {found} is twice in the list of members; list each member once")]
    #[non_exhaustive]
    RepeatedMember {
        /// The calling rank.
        rank: GlobalRank,
        /// The repeated rank.
        found: u32,
    },
    /// The communicator can't be used in this call.
    #[error("{rank}: {communicator}: {rule}")]
    #[non_exhaustive]
    BadCommunicator {
        /// The calling rank.
        rank: GlobalRank,
        /// The communicator.
        communicator: CommunicatorId,
        /// The violated rule.
        rule: &'static str,
    },
    /// The collective switch has fewer stages than the run's boards need.
    #[error(
        "{rank}: {boards} boards need {needed} stages of the collective switch, which has {stages}; run on fewer boards, or choose a configuration with more stages"
    )]
    #[non_exhaustive]
    TooManyBoards {
        /// The rank that begins the run.
        rank: GlobalRank,
        /// Number of boards of the run.
        boards: u32,
        /// Number of stages that the boards need.
        needed: u32,
        /// Number of stages of the switch.
        stages: u32,
    },

    // ------------------------------------------------------------ events
    /// A command write found a full FIFO and was lost.
    #[error(
        "{rank}: {told_by}: a command write met a full FIFO and was lost; writes past the library invalidate its count of credits"
    )]
    #[non_exhaustive]
    CommandLost {
        /// The rank.
        rank: GlobalRank,
        /// The register field that reports the loss, of the rank or of its matching unit.
        told_by: &'static str,
    },
    /// The completion ring was full and a completion was lost.
    #[error(
        "{rank}: EVENTS.cq_overflow: the completion ring was full and a completion was lost; another program has posted extended commands, or has reset the board during the run; let no other program use the board"
    )]
    #[non_exhaustive]
    CompletionLost {
        /// The rank.
        rank: GlobalRank,
    },
    /// A packet arrived on the wrong plane, or its number of beats contradicts its header.
    #[error(
        "{rank}: EVENTS.malformed: a packet arrived on the wrong plane, or with a wrong number of beats; the network or a neighbour is broken"
    )]
    #[non_exhaustive]
    MalformedPacket {
        /// The receiving rank.
        rank: GlobalRank,
    },
    /// A board dropped a packet because no link leads to the destination. The sender gets no
    /// answer.
    #[error(
        "{rank}: EVENTS.unrouted: its board dropped a packet, because no link leads to the packet's destination; prepare all boards of the cluster with the topology of their cables, and let no other program reset a board during the run"
    )]
    #[non_exhaustive]
    PacketUnrouted {
        /// A rank of the board.
        rank: GlobalRank,
    },
    /// A packet was damaged on its way from another board, at a place where no link repeats it. Until its
    /// reset, the receiving board drops the damaged part and all packets behind it. Their operations get no
    /// answer.
    #[error(
        "{rank}: EVENTS.damaged: a packet from another board arrived damaged, and this rank's board drops the packets behind it; run again, which resets the boards; if it happens again, a board or its clock is broken"
    )]
    #[non_exhaustive]
    PacketDamaged {
        /// A rank of the receiving board.
        rank: GlobalRank,
    },
    /// A completion matches no outstanding command of the library.
    #[error(
        "{rank}: entry {entry} of the completion ring reads 0x{word:08x}, which matches no outstanding command; only the library may post extended commands or write to the ring"
    )]
    #[non_exhaustive]
    BadCompletion {
        /// The rank that owns the ring.
        rank: GlobalRank,
        /// Number of the entry since the beginning of the run.
        entry: u32,
        /// First word of the entry.
        word: u32,
    },

    // ------------------------------------------------------------ checks in software
    /// Node memory has no free range that is large enough for a region.
    #[error(
        "{rank}: no room in node memory for a region of {bytes} bytes: the largest free piece has {largest} bytes; free regions, or use a board with more memory"
    )]
    #[non_exhaustive]
    OutOfNodeMemory {
        /// The rank that owns the memory.
        rank: GlobalRank,
        /// Requested size in bytes.
        bytes: u64,
        /// Size of the largest free range, in bytes.
        largest: u32,
    },
    /// The system has no memory for a [`HostRegion`](crate::HostRegion).
    #[error("{rank}: the system has no host memory of {bytes} bytes; allocate less")]
    #[non_exhaustive]
    OutOfHostMemory {
        /// The rank that asked.
        rank: GlobalRank,
        /// Requested size in bytes.
        bytes: u64,
    },
    /// An access beyond the end of a local region.
    #[error("{}", describe_bounds(*base, *start, *end, *count, *unit))]
    #[non_exhaustive]
    RegionBounds {
        /// The region's address.
        base: NodeAddr,
        /// First element of the access.
        start: usize,
        /// One past the last element of the access.
        end: usize,
        /// Elements of the region.
        count: usize,
        /// Bytes per element.
        unit: u32,
    },
    /// A number does not fit its hardware field.
    #[error("{what} {value} does not fit the hardware's field, whose largest value is {limit}")]
    #[non_exhaustive]
    OutOfRange {
        /// Meaning of the number.
        what: &'static str,
        /// The number.
        value: u64,
        /// The largest permitted value.
        limit: u64,
    },
    /// An option has an invalid value.
    #[error("{option} is {value}, but {rule}")]
    BadOption {
        /// The option.
        option: &'static str,
        /// Value of the option.
        value: u64,
        /// The violated rule.
        rule: &'static str,
    },
    /// A command that only the library may post.
    #[error("{rank}: `command` does not post {opcode:?}; use {instead}")]
    #[non_exhaustive]
    ReservedCommand {
        /// The calling rank.
        rank: GlobalRank,
        /// The command.
        opcode: alcor_abi::Opcode,
        /// The call that posts the command.
        instead: &'static str,
    },
    /// An error of the program that runs on a rank, not of the library.
    #[error("{source}")]
    Program {
        /// The program's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

alcor_errors::debug_as_text!(Error);

impl Error {
    /// Wraps an error of the program, so that a rank's closure can return it.
    ///
    /// # Examples
    /// ```
    /// let error = alcor::Error::program("element 3 is wrong");
    /// assert_eq!(error.to_string(), "element 3 is wrong");
    /// ```
    pub fn program(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Program {
            source: source.into(),
        }
    }

    /// Returns the status of the hardware, if the hardware caused this error.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Rights, Status, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc::<u32>(4)?;
    /// let window = rank.register(&region, Rights::NONE)?;
    /// let error = rank.put(&window, rank.pid(), 0, &[1]).unwrap_err();
    /// assert_eq!(error.status(), Some(Status::Denied));
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        match self {
            Error::Refused { status, .. } => Some(*status),
            Error::AtomicRefused { status, .. } | Error::AccumulateRefused { status, .. } => {
                Some(*status)
            }
            Error::MessageRefused { status, .. } => Some(*status),
            Error::Truncated { .. } => Some(Status::Truncated),
            Error::Unclaimed { first, .. } => first.status(),
            Error::TableFull { .. } => Some(Status::TableFull),
            Error::DuplicateWindow { .. } => Some(Status::Duplicate),
            Error::WindowOutOfRange { .. } => Some(Status::BadRange),
            Error::NotRegistered { .. } => Some(Status::NotRegistered),
            Error::CollectiveMismatch { .. } => Some(Status::Mismatch),
            Error::CollectivesDiffer { difference, .. } => Some(match difference {
                Difference::Collective | Difference::Members | Difference::Queues => {
                    Status::Mismatch
                }
                Difference::Count => Status::OtherCount,
                Difference::Type => Status::OtherType,
                Difference::Operation => Status::OtherOperation,
                Difference::Root => Status::OtherRoot,
            }),
            Error::PeerReset { .. } => Some(Status::RankReset),
            Error::CollectiveRefused { status, .. } => Some(*status),
            Error::RegistrationRefused { status, .. } => *status,
            _ => None,
        }
    }

    /// Returns whether this error only reports the failure of another rank.
    pub(crate) fn follows_from_another(&self, me: GlobalRank) -> bool {
        match self {
            Error::Aborted { by, .. } => *by != me,
            Error::PeerDied { .. } | Error::ProcessFailed { .. } | Error::Revoked { .. } => true,
            _ => false,
        }
    }
}

fn describe_lost(link: &LinkState, cycles: u64) -> String {
    match cycles {
        0 => format!("{link}; the run is over"),
        _ => {
            let silent = if link.is_down() {
                ""
            } else {
                ", but the other end is silent; check the other board, and reset it"
            };
            format!(
                "{link}{silent}; nothing has passed for {cycles} cycles, so the run is over (`Options::lost_link_after`)"
            )
        }
    }
}

fn describe_bounds(base: NodeAddr, start: usize, end: usize, count: usize, unit: u32) -> String {
    let elements = if unit == 1 { "bytes" } else { "elements" };
    let region = format!("the region at {base} has {count} {elements}");
    // A negative offset from C.
    let offset = start.cast_signed();
    if offset < 0 {
        return format!("{region}, and the access begins at offset {offset}");
    }
    format!("{region}, and the access is to {elements} {start} to {end} (the last one excluded)")
}

fn describe_difference(
    rank: GlobalRank,
    call: &Call,
    difference: Difference,
    others: &[MemberCall],
) -> String {
    // The members of each call, in the order of the first members.
    let mut groups: Vec<(Option<Call>, Vec<GlobalRank>)> = Vec::new();
    for other in others {
        match groups.iter_mut().find(|(call, _)| *call == other.call) {
            Some((_, members)) => members.push(other.rank),
            None => groups.push((other.call, vec![other.rank])),
        }
    }
    // Calls that differ come first, then equal calls, then unknown calls.
    groups.sort_by_key(|(other, _)| (other.is_none(), *other == Some(*call)));
    let of_members = groups.iter().map(|(other, ranks)| {
        let members = names(ranks);
        match other {
            Some(other) if other != call => format!("{members} called {}", other.describe()),
            Some(other) if difference == Difference::Members => {
                format!("{members} called {} with another list", other.collective)
            }
            Some(other) if difference == Difference::Queues => {
                format!(
                    "{members} called {} with another division",
                    other.collective
                )
            }
            Some(_) => format!("{members} called the same as {rank}"),
            None => format!(
                "the call of {members} is unknown, because {} not waited in the library since",
                have(ranks)
            ),
        }
    });
    let of_members: Vec<String> = of_members.collect();
    let colon = if of_members.is_empty() { "" } else { ": " };
    format!(
        "{rank} called {call}: the members differ in the {difference}{colon}{}; all members must \
         call the same collectives in the same order, with the same counts, types, operations and \
         roots",
        of_members.join("; ")
    )
}

fn describe_mismatch(rank: GlobalRank, awaited: &Awaited, others: &[RankWait]) -> String {
    let mine = awaited.to_string();
    // The ranks of each call. Calls that differ come first.
    let mut groups: Vec<(&str, Vec<GlobalRank>)> = Vec::new();
    for other in others {
        match groups.iter_mut().find(|(what, _)| *what == other.what) {
            Some((_, ranks)) => ranks.push(other.rank),
            None => groups.push((&other.what, vec![other.rank])),
        }
    }
    groups.sort_by_key(|(what, _)| *what == mine);
    let calls = groups
        .iter()
        .map(|(what, ranks)| format!("; {} called {what}", names(ranks)));
    format!(
        "{rank} called {mine}{}: the ranks called different collective operations, or named \
         different windows; every rank must make the same calls in the same order",
        calls.collect::<String>()
    )
}

/// Names ranks in words: "rank 1", "ranks 1 and 3", "ranks 0, 1 and 3".
fn names(ranks: &[GlobalRank]) -> String {
    let numbers: Vec<String> = ranks.iter().map(|rank| rank.0.to_string()).collect();
    match numbers.split_last() {
        None => "no rank".to_owned(),
        Some((only, [])) => format!("rank {only}"),
        Some((last, others)) => format!("ranks {} and {last}", others.join(", ")),
    }
}

/// Names ranks, with the matching form of "to have".
pub(crate) fn have(ranks: &[GlobalRank]) -> String {
    let verb = if ranks.len() == 1 { "has" } else { "have" };
    format!("{} {verb}", names(ranks))
}

fn have_been(ranks: &[GlobalRank]) -> String {
    format!("{} been", have(ranks))
}

fn list(schemes: &[String]) -> String {
    if schemes.is_empty() {
        return "none".to_owned();
    }
    let quoted: Vec<String> = schemes
        .iter()
        .map(|scheme| format!("`{scheme}:`"))
        .collect();
    quoted.join(", ")
}

fn size(bytes: Option<u32>) -> String {
    bytes.map_or_else(|| "all remaining".to_owned(), |bytes| bytes.to_string())
}

fn status_text(status: Option<Status>) -> &'static str {
    status.map_or("an unknown status", Status::describe)
}

/// Returns the advice for a refused transfer.
fn advice(status: Status) -> &'static str {
    match status {
        Status::BadSlot | Status::NotRegistered => {
            "Use a window only between its registration and its deregistration, at every rank."
        }
        Status::OutOfBounds => "Check offset and length against the target's window.",
        Status::Denied => "Register the window with rights that permit the access.",
        Status::BadRank => "Check the rank against `nprocs()`.",
        Status::BadLocal => "Check the local address and length against node memory.",
        Status::BadAlignment => {
            "Place the word or element at a multiple of its size in the window."
        }
        Status::BadOperation => {
            "Choose an operation that the type has, and a board with ACCUMULATE = 1."
        }
        Status::NotBegun => "Begin the run first.",
        Status::RankReset => {
            "The process of that rank has ended; repeat the message for the next holder of the rank."
        }
        Status::Damaged => {
            "Part of the data may be in the target's memory. Run again, which resets the boards; if it happens again, a board or its clock is broken."
        }
        _ => "",
    }
}
