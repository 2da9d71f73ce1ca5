//! What can go wrong: what was asked, what was found, where, and what to do next.

use std::fmt;

use alcor_abi::Status;

use crate::call::{Call, CommunicatorId, Difference, SoftwareReason};
use crate::takeover::what_is_missing;
use crate::transfer::Transfer;
use crate::watchdog::{Awaited, RankState, RankWait, describe_deadlock, describe_watchdog};
use crate::{
    Cycle, ElementType, GlobalRank, LocalRank, Message, MessageStatus, NodeAddr, Operation,
};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a rank aborted the run: the eight bits that its ABORT command carries.
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
            AbortReason::DROPPED => f.write_str("it was dropped without finishing"),
            AbortReason::FAILED => f.write_str("its program returned an error"),
            AbortReason::PANICKED => f.write_str("its program panicked"),
            AbortReason(code) => write!(f, "its program called abort({code})"),
        }
    }
}

/// Everything that a call of this library can fail with.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // ------------------------------------------------------------ opening a board
    /// No backend of this URI's scheme is registered.
    #[error(
        "no backend opens `{uri}`: known schemes are {}; write `<scheme>:<board>`, and check that the program was built with the backend you mean",
        list(known)
    )]
    UnknownScheme {
        /// What was to be opened.
        uri: String,
        /// The schemes that are known.
        known: Vec<String>,
    },
    /// The board's registers read all ones.
    #[error(
        "{board}: MAGIC reads all ones, the link to the board is dead; check that it is powered, programmed and enumerated"
    )]
    DeadLink {
        /// The board.
        board: String,
    },
    /// What is there is not an Alcor board.
    #[error(
        "{board}: MAGIC reads 0x{found:08x} where an Alcor board has 0x{:08x}; program the board with one of Alcor's bitstreams",
        alcor_abi::MAGIC
    )]
    NotAlcor {
        /// The board.
        board: String,
        /// What MAGIC holds.
        found: u32,
    },
    /// The board speaks another major version of the ABI.
    #[error(
        "{board}: the board speaks ABI {found_major}.{found_minor}, this library speaks ABI {wanted_major}; use the library that belongs to the bitstream, or program another"
    )]
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
    AbiHash {
        /// The board.
        board: String,
        /// The hash that the board reports.
        found: u32,
        /// The hash that the library was built with.
        wanted: u32,
    },
    /// The board lacks a block that is needed.
    #[error(
        "{board}: the board has no {capability} (CAPABILITIES reads 0x{found:x}); choose a configuration that has"
    )]
    MissingCapability {
        /// The board.
        board: String,
        /// The block.
        capability: &'static str,
        /// What CAPABILITIES holds.
        found: u32,
    },
    /// The ID block contradicts itself.
    #[error(
        "{board}: {register} reads 0x{found:x}, but {rule}; the bitstream or its configuration is broken"
    )]
    BadIdentity {
        /// The board.
        board: String,
        /// The register.
        register: &'static str,
        /// What it holds.
        found: u32,
        /// What it has to hold.
        rule: &'static str,
    },

    /// Two boards of a cluster are built differently.
    #[error(
        "{board} and {other} are built differently: {property} {found} and {wanted}; load the same configuration on all boards of a cluster"
    )]
    BoardsDiffer {
        /// The board.
        board: String,
        /// The cluster's first board.
        other: String,
        /// The property that differs.
        property: &'static str,
        /// Its value on the board.
        found: u32,
        /// Its value on the first board.
        wanted: u32,
    },

    // ------------------------------------------------------------ being launched
    /// The process was not started as a rank of a run.
    #[error(
        "{variable} is not set: this process was not started as a rank of a run; start it with `alcor run --config NAME -n RANKS -- PROGRAM`, or set the variables that `alcor serve` shows"
    )]
    NotLaunched {
        /// What should say so.
        variable: &'static str,
    },
    /// A variable of the environment is not what it should be.
    #[error("{variable}={value}: {rule}")]
    BadVariable {
        /// The variable.
        variable: &'static str,
        /// What it is.
        value: String,
        /// What it should be.
        rule: &'static str,
    },

    // ------------------------------------------------------------ backends
    /// The board can't be reached, or its backend failed.
    #[error("{board}: {source}")]
    Board {
        /// The board.
        board: String,
        /// What its backend says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The board has no such rank.
    #[error("{board}: there is no {rank}, the board has {ranks} ranks; ask for fewer ranks")]
    NoSuchRank {
        /// The board.
        board: String,
        /// The rank that was asked for.
        rank: LocalRank,
        /// How many there are.
        ranks: u32,
    },
    /// The boards have fewer ranks than the run is to have.
    #[error(
        "{cluster}: a run of {asked} ranks was asked for, and the boards have {ranks} ranks together; ask for fewer ranks, or for a larger configuration"
    )]
    TooFewRanks {
        /// The boards.
        cluster: String,
        /// Ranks that the run is to have.
        asked: u32,
        /// Ranks that there are.
        ranks: u32,
    },
    /// Somebody is attached to the rank already.
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
        /// What was asked for.
        operation: &'static str,
        /// How many ports are attached.
        attached: u32,
    },
    /// An access beyond node memory.
    #[error(
        "{board}: {length} bytes at {at} of {rank} reach beyond its {node_bytes} bytes of node memory"
    )]
    BadNodeAddress {
        /// The board.
        board: String,
        /// Whose memory.
        rank: LocalRank,
        /// Where.
        at: NodeAddr,
        /// How many bytes.
        length: u64,
        /// Bytes of node memory.
        node_bytes: u32,
    },
    /// A peer is gone: its process or thread ended without leaving the run.
    #[error(
        "{board}: {rank} died: its process ended, or its port was dropped, before it left the run; look for its own error"
    )]
    PeerDied {
        /// The boards.
        board: String,
        /// The rank that died first.
        rank: GlobalRank,
    },
    /// Ranks' host code stays outside the library while their peers wait, so time stands still.
    #[error(
        "{board}: {} outside the library for {seconds:.1} s while {waiting} of the ranks wait: time stands still until every rank waits; let a rank block on nothing but the library, or raise the limit (ALCOR_AWAY_SECONDS)",
        have_been(ranks)
    )]
    RankAway {
        /// The boards.
        board: String,
        /// The ranks that are outside.
        ranks: Vec<GlobalRank>,
        /// For how long, by the wall clock.
        seconds: f64,
        /// How many ranks wait.
        waiting: u32,
    },
    /// Ranks of the run were not attached while their peers waited: time begins with all of them.
    #[error(
        "{board}: {} not attached within {seconds:.1} s while {waiting} of the ranks wait: time begins when all ranks have attached; start every rank, or raise the limit (option `attach`)",
        have(ranks)
    )]
    RanksMissing {
        /// The boards.
        board: String,
        /// The ranks that never attached.
        ranks: Vec<GlobalRank>,
        /// For how long the others have waited, by the wall clock.
        seconds: f64,
        /// How many ranks wait.
        waiting: u32,
    },

    /// The matching unit gave a result of no known kind.
    #[error(
        "{rank}: the matching unit's result 0x{word:08x} is of no known kind; the bitstream is broken"
    )]
    BadAlpuResult {
        /// Whose unit.
        rank: GlobalRank,
        /// ALPU_RESULT.
        word: u32,
    },

    // ------------------------------------------------------------ the end of a run
    /// A wait was longer than the watchdog allows.
    #[error("{}", describe_watchdog(*rank, awaited, *cycles, states, waits))]
    Watchdog {
        /// Who waited.
        rank: GlobalRank,
        /// For what.
        awaited: Awaited,
        /// For how long.
        cycles: u64,
        /// When the wait was given up.
        at: Cycle,
        /// What every rank of the board was doing then.
        states: Vec<RankState>,
        /// What ranks have said that they wait for, where the backend knows it.
        waits: Vec<RankWait>,
    },
    /// No rank of the run can go on: every rank waits, and nothing is under way. Told to all of them
    /// at once.
    #[error("{}", describe_deadlock(*at, waits))]
    Deadlock {
        /// When.
        at: Cycle,
        /// What each rank waits for; a rank that is missing here has left the run.
        waits: Vec<RankWait>,
    },
    /// The run was aborted.
    #[error("the run was aborted by {by}: {reason}")]
    Aborted {
        /// Who aborted it.
        by: GlobalRank,
        /// Why.
        reason: AbortReason,
    },

    // ------------------------------------------------------------ taking a rank over
    /// The rank's last holder took part in a run over several boards, of which a rank's reset can't free it.
    #[error(
        "{rank}: its last holder was in a run of {nprocs} ranks, and the board has {ranks}: the other boards can't be told of its end; reset all boards of the run (`Cluster::prepare`)"
    )]
    RunOfManyBoards {
        /// The rank.
        rank: GlobalRank,
        /// Ranks of the run.
        nprocs: u32,
        /// Ranks of the board.
        ranks: u32,
    },
    /// The reset of a rank, before its next holder may have it, has not come to its end.
    #[error(
        "{rank}: its reset still waits after {cycles} cycles, for {}; who owes that is stuck or gone: reset the board (RESET_STATE 0x{state:08x})",
        what_is_missing(*state)
    )]
    RankNotReset {
        /// The rank.
        rank: GlobalRank,
        /// How long it has been waited for.
        cycles: u64,
        /// What RESET_STATE held.
        state: u32,
    },
    /// Another rank of the board, which had begun a run, was reset since this one began: what ranks do together has ended.
    #[error(
        "{rank} at {awaited}: another rank of the board was reset in the middle of the run, since its process had ended; puts, gets and messages go on, but for what ranks do together all have to attach anew"
    )]
    PeerReset {
        /// Who was told.
        rank: GlobalRank,
        /// What it was in.
        awaited: Awaited,
    },

    // ------------------------------------------------------------ put and get
    /// The hardware refused a put or get; no memory was touched by what was refused.
    #[error("{origin}: {transfer} was refused: {} {}", status.describe(), advice(*status))]
    Refused {
        /// Who asked.
        origin: GlobalRank,
        /// What was asked.
        transfer: Transfer,
        /// Why it was refused.
        status: Status,
    },
    /// Transfers failed whose requests had been dropped; told at the next flush.
    #[error("{failed} transfers failed whose requests had been dropped, the first: {first}")]
    Unclaimed {
        /// How many.
        failed: u64,
        /// The first of them.
        #[source]
        first: Box<Error>,
    },
    /// A request was handed to a rank that has not issued it.
    #[error("a request was handed to {rank}, which has not issued it; wait where it was issued")]
    ForeignRequest {
        /// The rank it was handed to.
        rank: GlobalRank,
    },

    // ------------------------------------------------------------ messages
    /// A message was longer than its receive; what fits has been received.
    #[error(
        "{rank}: {receive}: the message from {} with tag {} has {} bytes, of which the first {} were received; receive into a larger region, or probe for the length first",
        found.pid, found.tag, found.length, receive.length
    )]
    Truncated {
        /// Who received.
        rank: GlobalRank,
        /// What was asked.
        receive: Message,
        /// What was found.
        found: MessageStatus,
    },
    /// The hardware refused a message, a receive or a probe.
    #[error("{rank}: {message} was refused: {} {}", status.describe(), advice(*status))]
    MessageRefused {
        /// Who asked.
        rank: GlobalRank,
        /// What was asked.
        message: Message,
        /// Why it was refused.
        status: Status,
    },
    /// A request that is no receive was handed to what takes receives alone.
    #[error("{rank}: the request is no receive; only receives can be cancelled, and have a status")]
    NotAReceive {
        /// The rank it was handed to.
        rank: GlobalRank,
    },
    /// The queues or the ring are too short for messages among so many ranks.
    #[error(
        "{rank}: messages among {ranks} ranks need {needed} command ids, and there are {found}: less than the queues' depth ({depth}), and three quarters of `Options::ring_entries` ({ring}); have a longer ring, fewer ranks, or a configuration with deeper queues"
    )]
    MessageRoom {
        /// Who was to send or receive.
        rank: GlobalRank,
        /// Ranks of the run.
        ranks: u32,
        /// Ids that messages need.
        needed: u32,
        /// Ids that there are for messages.
        found: u32,
        /// Entries of a queue.
        depth: u32,
        /// Entries of the completion ring.
        ring: u32,
    },

    // ------------------------------------------------------------ windows and collectives
    /// A rank's registration table is full.
    #[error(
        "window at {base} of {rank}: a rank's registration table is full ({slots} slots); deregister a window first"
    )]
    TableFull {
        /// Who was told.
        rank: GlobalRank,
        /// Its window.
        base: NodeAddr,
        /// Slots of a table.
        slots: u32,
    },
    /// A rank has registered the address already.
    #[error(
        "window at {base} of {rank}: a rank has registered its base address already; deregister it, or register another region"
    )]
    DuplicateWindow {
        /// Who was told.
        rank: GlobalRank,
        /// Its window.
        base: NodeAddr,
    },
    /// A rank's window reaches beyond node memory.
    #[error(
        "window at {base} of {rank}, {} bytes: a rank's window reaches beyond its node memory; register less",
        size(*bytes)
    )]
    WindowOutOfRange {
        /// Who was told.
        rank: GlobalRank,
        /// Its window.
        base: NodeAddr,
        /// Its size; `None` when it was to reach to the end of memory.
        bytes: Option<u32>,
    },
    /// A window was deregistered that is not registered.
    #[error("window at {base} of {rank}: a rank has no window registered at its base address")]
    NotRegistered {
        /// Who was told.
        rank: GlobalRank,
        /// Its window.
        base: NodeAddr,
    },
    /// The ranks met in different collective operations.
    #[error(
        "{rank} at {awaited}: the ranks met in different collective operations, or named different windows; every rank must call the same ones in the same order"
    )]
    CollectiveMismatch {
        /// Who was told.
        rank: GlobalRank,
        /// What it was in.
        awaited: Awaited,
    },
    /// A registration ended with a status that it should not end with.
    #[error("{rank} at {awaited}: the board answered {status} (REG_RESULT 0x{found:08x})", status = status_text(*status))]
    RegistrationRefused {
        /// Who was told.
        rank: GlobalRank,
        /// What it was in.
        awaited: Awaited,
        /// The status, if it is one.
        status: Option<Status>,
        /// What REG_RESULT held.
        found: u32,
    },

    // ------------------------------------------------------------ communicators
    /// The members of a communicator called a collective differently; told to each of them.
    #[error(
        "{rank} called {call}: another member's call differs in its {difference}; all members must call the same collectives in the same order, with the same counts, types, operations and roots"
    )]
    CollectivesDiffer {
        /// Who was told.
        rank: GlobalRank,
        /// What it called.
        call: Call,
        /// In what the calls differ.
        difference: Difference,
    },
    /// The collective unit refused a collective.
    #[error("{rank} called {call}: the board answered {}", status.describe())]
    CollectiveRefused {
        /// Who called.
        rank: GlobalRank,
        /// What it called.
        call: Call,
        /// What the board answered.
        status: Status,
    },
    /// A collective that was to be done in hardware can't be.
    #[error("{rank} called {call}: not in hardware, {reason}; it was called in strict mode")]
    NotInHardware {
        /// Who called.
        rank: GlobalRank,
        /// What it called.
        call: Call,
        /// Why hardware can't do it.
        reason: SoftwareReason,
    },
    /// Floating-point numbers have no bitwise operations.
    #[error(
        "{rank}: there is no {operation} of {element}; reduce integers, or choose another operation"
    )]
    NoSuchOperation {
        /// Who called.
        rank: GlobalRank,
        /// The operation.
        operation: Operation,
        /// The type.
        element: ElementType,
    },
    /// A vector of a collective has not the length that it must have.
    #[error("{rank} called {call}: its {what} has {found} elements, but must have {expected}")]
    WrongLength {
        /// Who called.
        rank: GlobalRank,
        /// What it called.
        call: Call,
        /// Which vector.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that it must have.
        expected: usize,
    },
    /// Source and destination of a collective overlap, and are not the same place.
    #[error(
        "{rank} called {call}: source and destination overlap; use regions of their own, or the same place for the same elements"
    )]
    Overlap {
        /// Who called.
        rank: GlobalRank,
        /// What it called.
        call: Call,
    },
    /// A rank that is no member, where a member of a communicator is meant.
    #[error("{rank}: {what} {found} is not among the {size} ranks of {communicator}")]
    NoSuchMember {
        /// Who called.
        rank: GlobalRank,
        /// The communicator.
        communicator: CommunicatorId,
        /// What the number is.
        what: &'static str,
        /// The number.
        found: u32,
        /// Members of the communicator.
        size: u32,
    },
    /// A rank that is named twice in a list of members.
    #[error("{rank}: rank {found} is named twice in the list of members; name each member once")]
    RepeatedMember {
        /// Who called.
        rank: GlobalRank,
        /// The rank.
        found: u32,
    },
    /// A communicator that can't be used so.
    #[error("{rank}: {communicator}: {rule}")]
    BadCommunicator {
        /// Who called.
        rank: GlobalRank,
        /// The communicator.
        communicator: CommunicatorId,
        /// What is wrong.
        rule: &'static str,
    },
    /// The communicator table's row of the barrier has fewer partners than the run's boards need.
    #[error(
        "{rank}: {boards} boards need {needed} stages of the collective switch, which has {stages}; run on fewer boards, or choose a configuration with more stages"
    )]
    TooManyBoards {
        /// Who was to begin.
        rank: GlobalRank,
        /// Boards of the run.
        boards: u32,
        /// Stages that they need.
        needed: u32,
        /// Stages that there are.
        stages: u32,
    },

    // ------------------------------------------------------------ events
    /// A command write met a full FIFO and was lost.
    #[error(
        "{rank}: {told_by}: a command write met a full FIFO and was lost; posting past the library spoils its count of credits"
    )]
    CommandLost {
        /// Whose.
        rank: GlobalRank,
        /// The field that says so, be it of the rank or of its matching unit.
        told_by: &'static str,
    },
    /// The completion ring was full and a completion was lost.
    #[error(
        "{rank}: EVENTS.cq_overflow: the completion ring was full and a completion was lost; nothing but the library may post extended commands"
    )]
    CompletionLost {
        /// Whose.
        rank: GlobalRank,
    },
    /// A packet arrived on the wrong plane, or with more or fewer beats than its header says.
    #[error(
        "{rank}: EVENTS.malformed: a packet's type does not belong on the plane that it came on, or the packet lost or gained beats; the network or a neighbour is broken"
    )]
    MalformedPacket {
        /// Who received it.
        rank: GlobalRank,
    },
    /// A board dropped a packet because no link leads to its destination. The sender gets no answer.
    #[error(
        "{rank}: EVENTS.unrouted: its board dropped a packet, as no link leads to the packet's destination; prepare all boards of the cluster with the topology of their cables"
    )]
    PacketUnrouted {
        /// A rank of the board.
        rank: GlobalRank,
    },
    /// A completion that belongs to no command of the library.
    #[error(
        "{rank}: entry {entry} of the completion ring reads 0x{word:08x}, which answers no command under way; nothing but the library may post extended commands or write to the ring"
    )]
    BadCompletion {
        /// Whose ring.
        rank: GlobalRank,
        /// Which entry, counted since the run began.
        entry: u32,
        /// Its first word.
        word: u32,
    },

    // ------------------------------------------------------------ what software checks
    /// There is no room for a region.
    #[error(
        "{rank}: no room in node memory for a region of {bytes} bytes, the largest free piece has {largest}; free regions, or use a board with more memory"
    )]
    OutOfNodeMemory {
        /// Whose memory.
        rank: GlobalRank,
        /// What was asked for.
        bytes: u64,
        /// What there is.
        largest: u32,
    },
    /// An access beyond a local region.
    #[error("{}", describe_bounds(*base, *start, *end, *count, *unit))]
    RegionBounds {
        /// The region's address.
        base: NodeAddr,
        /// First element.
        start: usize,
        /// One past the last element.
        end: usize,
        /// Elements of the region.
        count: usize,
        /// Bytes of an element.
        unit: u32,
    },
    /// A number that does not fit the field it has to go to.
    #[error("{what} {value} does not fit the hardware's field, whose largest value is {limit}")]
    OutOfRange {
        /// What the number is.
        what: &'static str,
        /// The number.
        value: u64,
        /// The largest there is.
        limit: u64,
    },
    /// An option that can't be.
    #[error("{option} is {value}, but {rule}")]
    BadOption {
        /// The option.
        option: &'static str,
        /// Its value.
        value: u64,
        /// What it has to be.
        rule: &'static str,
    },
    /// A command that the library itself must post.
    #[error("{rank}: `command` does not post {opcode:?}; use {instead}")]
    ReservedCommand {
        /// Who asked.
        rank: GlobalRank,
        /// The command.
        opcode: alcor_abi::Opcode,
        /// What does.
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

    /// The status that the hardware answered with, where this error comes from one.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        match self {
            Error::Refused { status, .. } => Some(*status),
            Error::MessageRefused { status, .. } => Some(*status),
            Error::Truncated { .. } => Some(Status::Truncated),
            Error::Unclaimed { first, .. } => first.status(),
            Error::TableFull { .. } => Some(Status::TableFull),
            Error::DuplicateWindow { .. } => Some(Status::Duplicate),
            Error::WindowOutOfRange { .. } => Some(Status::BadRange),
            Error::NotRegistered { .. } => Some(Status::NotRegistered),
            Error::CollectiveMismatch { .. } => Some(Status::Mismatch),
            Error::CollectivesDiffer { difference, .. } => Some(match difference {
                Difference::Collective | Difference::Members => Status::Mismatch,
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

    /// Whether this only tells of another rank's end.
    pub(crate) fn follows_from_another(&self, me: GlobalRank) -> bool {
        match self {
            Error::Aborted { by, .. } => *by != me,
            Error::PeerDied { .. } => true,
            _ => false,
        }
    }
}

fn describe_bounds(base: NodeAddr, start: usize, end: usize, count: usize, unit: u32) -> String {
    let elements = if unit == 1 { "bytes" } else { "elements" };
    let region = format!("the region at {base} has {count} {elements}");
    // A negative number in C.
    let offset = start.cast_signed();
    if offset < 0 {
        return format!("{region}, and the access begins at offset {offset}");
    }
    format!("{region}, and the access is to {elements} {start} to {end} (the last one excluded)")
}

/// Ranks as words: "rank 1", "ranks 1 and 3", "ranks 0, 1 and 3".
fn names(ranks: &[GlobalRank]) -> String {
    let numbers: Vec<String> = ranks.iter().map(|rank| rank.0.to_string()).collect();
    match numbers.split_last() {
        None => "no rank".to_owned(),
        Some((only, [])) => format!("rank {only}"),
        Some((last, others)) => format!("ranks {} and {last}", others.join(", ")),
    }
}

/// Ranks and the verb that goes with them.
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

/// What to do about a refused transfer.
fn advice(status: Status) -> &'static str {
    match status {
        Status::BadSlot | Status::NotRegistered => {
            "Register the window at every rank before it is used, and use it no longer once it is deregistered."
        }
        Status::OutOfBounds => "Check offset and length against the target's window.",
        Status::Denied => "Register the window with rights that allow it.",
        Status::BadRank => "Check the rank against `nprocs()`.",
        Status::BadLocal => "Check the local address and length against node memory.",
        Status::NotBegun => "Begin the run first.",
        Status::RankReset => {
            "Its process has ended; send to its next holder what that one is to have."
        }
        _ => "",
    }
}
