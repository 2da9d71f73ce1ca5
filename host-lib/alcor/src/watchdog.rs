//! Awaited events, and the texts of waits that exceeded their limit.

use std::fmt;

use alcor_abi::SyncKind;
use alcor_abi::board::rank_state;
use alcor_abi::rank::message_queues;

use crate::error::have;
use crate::links;
use crate::{
    Call, CommunicatorId, Cycle, GlobalRank, KernelState, LinkState, LocalRank, Message, NodeAddr,
};

/// The event for which a rank waits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Awaited {
    /// The board is ready to execute commands after its reset.
    Ready,
    /// The command queue has room.
    Credits,
    /// The completion ring has room.
    RingRoom,
    /// All commands have left the queue.
    Retirement,
    /// Completions of puts and gets.
    Completions {
        /// Number of missing completions.
        missing: u32,
    },
    /// The barrier has ended.
    Barrier,
    /// A window is registered.
    Registration {
        /// Base of the window at this rank.
        base: NodeAddr,
    },
    /// A window is deregistered.
    Deregistration {
        /// Base of the window at this rank.
        base: NodeAddr,
    },
    /// Collectives have ended whose requests were dropped.
    Collectives,
    /// A collective has ended.
    Collective(Box<AwaitedCollective>),
    /// A send, a receive or a probe has ended.
    Message(Box<AwaitedMessage>),
    /// The living members of a communicator have agreed.
    Agreement {
        /// The communicator.
        communicator: CommunicatorId,
    },
    /// The board has carried out writes to its communicator table.
    Rows,
    /// A FIFO of the matching unit has room.
    AlpuRoom,
    /// The matching unit has carried out its commands.
    AlpuCommands,
    /// The matching unit has answered.
    AlpuAnswer,
    /// The kernel is done.
    Kernel(Box<KernelState>),
    /// A word of the rank's node memory has the value for which [`crate::Rank::wait_until`] waits.
    Word {
        /// The address of the word.
        address: NodeAddr,
    },
}

/// A collective for which a rank waits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AwaitedCollective {
    /// The call of this rank.
    pub call: Call,
    /// Row of the communicator, if hardware runs the collective.
    pub context: Option<u32>,
    /// The members.
    pub members: Vec<GlobalRank>,
    /// The missing members. In hardware, these are members whose registers show no call. In
    /// software, these are members that have sent no message. If all members have called, these are
    /// the members whose messages are missing.
    pub missing: Vec<GlobalRank>,
}

/// A send, receive or probe for which a rank waits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AwaitedMessage {
    /// The message, receive or probe.
    pub message: Message,
    /// Number of sends and receives of this rank that wait for others of this rank to end.
    pub waiting: u32,
    /// Number of posted receives at this rank, and number of unexpected messages.
    pub queues: Option<(u32, u32)>,
}

impl Awaited {
    /// Returns the same event with the data of MESSAGE_QUEUES and the states of the ranks.
    pub(crate) fn seen_in(mut self, queues: u32, states: &[RankState]) -> Awaited {
        if let Awaited::Message(it) = &mut self {
            it.queues = Some((
                message_queues::POSTED.get(queues),
                message_queues::UNEXPECTED.get(queues),
            ));
        }
        if let Awaited::Collective(it) = &mut self
            && let Some(context) = it.context
        {
            let absent = states
                .iter()
                .filter(|state| state.begun() && state.posted & 1 << context == 0)
                .map(RankState::pid);
            it.missing = absent.filter(|rank| it.members.contains(rank)).collect();
        }
        self
    }

    fn sync_kind(&self) -> Option<SyncKind> {
        match self {
            Awaited::Barrier => Some(SyncKind::Barrier),
            Awaited::Registration { .. } => Some(SyncKind::Register),
            Awaited::Deregistration { .. } => Some(SyncKind::Deregister),
            _ => None,
        }
    }
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Awaited::Ready => f.write_str("STATUS.ready"),
            Awaited::Credits => f.write_str("room in the command queue"),
            Awaited::RingRoom => f.write_str("room in the completion ring"),
            Awaited::Retirement => f.write_str("the end of its queued commands"),
            Awaited::Completions { missing: 1 } => f.write_str("the completion of a put or get"),
            Awaited::Completions { missing } => {
                write!(f, "{missing} completions of puts and gets")
            }
            Awaited::Barrier => f.write_str("BARRIER"),
            Awaited::Word { address } => write!(f, "another value of its word at {address}"),
            Awaited::Registration { base } => write!(f, "REGISTER of {base}"),
            Awaited::Deregistration { base } => write!(f, "DEREGISTER of {base}"),
            Awaited::Collectives => f.write_str("its collectives"),
            Awaited::Collective(it) => write!(f, "{}", it.call),
            Awaited::Message(it) => {
                write!(f, "{}", it.message)?;
                if let Some((posted, unexpected)) = it.queues {
                    write!(
                        f,
                        " ({posted} receives posted, {unexpected} unexpected messages"
                    )?;
                    write!(f, ", {} more of this rank queued)", it.waiting)?;
                }
                Ok(())
            }
            Awaited::Agreement { communicator } => write!(f, "an agreement, in {communicator}"),
            Awaited::Rows => f.write_str("its writes to the communicator table (ROW_WRITES)"),
            Awaited::AlpuRoom => f.write_str("room in a FIFO of the matching unit"),
            Awaited::AlpuCommands => f.write_str("the end of its commands of the matching unit"),
            Awaited::AlpuAnswer => f.write_str("an answer of the matching unit"),
            Awaited::Kernel(state) => write!(f, "the end of its kernel ({state})"),
        }
    }
}

/// The declared wait of a rank: its awaited event, and the ranks that must act.
///
/// # Examples
/// ```
/// use alcor::{Error, GlobalRank, RankWait};
///
/// /// Names the ranks that the ranks of a deadlock wait for.
/// fn explain(error: &Error) {
///     if let Error::Deadlock { waits, .. } = error {
///         for wait in waits {
///             let ranks: Vec<GlobalRank> = wait.awaits(waits);
///             println!("{} waits for {ranks:?}", wait.rank);
///         }
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RankWait {
    /// The rank.
    pub rank: GlobalRank,
    /// The awaited event, in words.
    pub what: String,
    /// The ranks that must act.
    pub on: Vec<GlobalRank>,
    /// Whether one of these ranks is enough.
    pub is_any: bool,
    /// Name of a collective operation. A rank does not wait for ranks that have reached the same
    /// operation.
    pub meets: Option<String>,
    /// Whether the rank polls at deadlines, besides waiting for its interrupt.
    pub looks: bool,
    /// Whether the wait is over. The declaration then tells other ranks for which event this rank
    /// has waited, and the rank can continue.
    pub is_over: bool,
}

impl RankWait {
    /// Makes the declaration of a rank that waits for no other rank.
    ///
    /// # Examples
    /// ```
    /// use alcor::{GlobalRank, RankWait};
    ///
    /// let mut wait = RankWait::new(GlobalRank(0), "BARRIER");
    /// wait.on = vec![GlobalRank(1)];
    /// wait.meets = Some("BARRIER".to_owned());
    /// assert_eq!(wait.awaits(&[]), [GlobalRank(1)]);
    /// ```
    #[must_use]
    pub fn new(rank: GlobalRank, what: impl Into<String>) -> RankWait {
        RankWait {
            rank,
            what: what.into(),
            on: Vec::new(),
            is_any: false,
            meets: None,
            looks: false,
            is_over: false,
        }
    }

    /// Makes the declaration for `rank` of `nprocs` ranks.
    pub(crate) fn of(rank: GlobalRank, nprocs: u32, awaited: &Awaited, looks: bool) -> RankWait {
        let others = || (0..nprocs).map(GlobalRank).filter(|&other| other != rank);
        let (on, is_any, meets) = match awaited {
            Awaited::Barrier | Awaited::Registration { .. } | Awaited::Deregistration { .. } => {
                (others().collect(), false, awaited.sync_kind().map(name))
            }
            Awaited::Collective(it) => {
                let members = it.members.iter().copied();
                let others = members.filter(|&member| member != rank).collect();
                return RankWait {
                    rank,
                    what: it.call.to_string(),
                    on: others,
                    is_any: false,
                    meets: Some(format!(
                        "{} in {}",
                        it.call.collective, it.call.communicator
                    )),
                    looks,
                    is_over: false,
                };
            }
            Awaited::Message(it) => match it.message.peer {
                Some(peer) => (vec![peer], false, None),
                None => (others().collect(), true, None),
            },
            // The hardware must act.
            _ => (Vec::new(), false, None),
        };
        RankWait {
            rank,
            what: awaited.to_string(),
            on,
            is_any,
            meets: meets.map(str::to_owned),
            looks,
            is_over: false,
        }
    }

    /// Returns the ranks for which this rank waits, given the waits of all ranks.
    #[must_use]
    pub fn awaits(&self, all: &[RankWait]) -> Vec<GlobalRank> {
        let is_there = |rank: &&GlobalRank| {
            let other = all.iter().find(|wait| wait.rank == **rank);
            self.meets.is_some() && other.is_some_and(|other| other.meets == self.meets)
        };
        let absent = self.on.iter().filter(|rank| !is_there(rank));
        absent.copied().collect()
    }

    /// Describes the wait as a part of a sentence.
    fn describe(&self, all: &[RankWait]) -> String {
        let awaits = self.awaits(all);
        let gone = awaits
            .iter()
            .filter(|&&rank| !all.iter().any(|wait| wait.rank == rank));
        let gone: Vec<GlobalRank> = gone.copied().collect();
        let mut text = format!("{} waits for {}", self.rank, self.what);
        if self.meets.is_some() && !awaits.is_empty() {
            text += &format!(", where {} not arrived", have(&awaits));
        }
        if !gone.is_empty() {
            text += &format!(" ({} left the run)", have(&gone));
        }
        text
    }
}

/// Returns a cycle of waiting ranks, if there is one: each waits for the next, and the last for the
/// first.
pub(crate) fn ring(waits: &[RankWait]) -> Option<Vec<GlobalRank>> {
    let next = |rank: GlobalRank| -> Vec<GlobalRank> {
        let wait = waits.iter().find(|wait| wait.rank == rank);
        wait.map_or_else(Vec::new, |wait| wait.awaits(waits))
    };
    // Ranks from which no cycle can be reached.
    let mut free: Vec<GlobalRank> = Vec::new();
    for start in waits.iter().map(|wait| wait.rank) {
        let mut path = vec![start];
        let mut turns = vec![next(start).into_iter()];
        while let Some(turn) = turns.last_mut() {
            let Some(to) = turn.next() else {
                turns.pop();
                free.extend(path.pop());
                continue;
            };
            if let Some(at) = path.iter().position(|&rank| rank == to) {
                return Some(path.split_off(at));
            }
            if !free.contains(&to) {
                path.push(to);
                turns.push(next(to).into_iter());
            }
        }
    }
    None
}

/// Makes the text of [`crate::Error::Deadlock`].
pub(crate) fn describe_deadlock(at: Cycle, waits: &[RankWait], links: &[LinkState]) -> String {
    let mut text = format!(
        "no rank of the run can continue at {at}: every rank waits, and nothing is under way"
    );
    for wait in waits {
        text += &format!("; {}", wait.describe(waits));
    }
    if let Some(ring) = ring(waits) {
        let names = ring.iter().chain(&ring[..1]).map(ToString::to_string);
        let names: Vec<String> = names.collect();
        text += &format!("; they wait for each other: {}", names.join(" -> "));
    }
    text + &links::describe(links)
}

/// The state of a rank: its RANK_STATE register on the board's page.
///
/// # Examples
/// ```
/// # use alcor::{Job, soft::SoftBoard};
/// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
/// for state in rank.lab().rank_states()? {
///     println!("{}: begun {}, at {:?}, quiet {}", state.pid(), state.begun(), state.at(), state.quiet());
/// }
/// # Ok(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RankState {
    /// Number of the board.
    pub board: u32,
    /// The rank on the board.
    pub local: LocalRank,
    /// Value of RANK_STATE.
    pub bits: u32,
    /// Value of POSTED: a bit for each row of the communicator table with an unfinished collective
    /// of the rank.
    pub posted: u32,
}

impl RankState {
    /// Makes the state of a rank with a value of RANK_STATE, and no collective.
    ///
    /// # Examples
    /// ```
    /// use alcor::{LocalRank, RankState};
    ///
    /// let state = RankState::new(1, LocalRank(0), 0);
    /// assert!(!state.begun() && state.posted == 0);
    /// ```
    #[must_use]
    pub fn new(board: u32, local: LocalRank, bits: u32) -> RankState {
        RankState {
            board,
            local,
            bits,
            posted: 0,
        }
    }

    /// The rank's number in the run. Before BEGIN, the number that the rank would have.
    #[must_use]
    pub fn pid(&self) -> GlobalRank {
        GlobalRank(rank_state::PID.get(self.bits))
    }

    /// Returns whether the rank is between BEGIN and END.
    #[must_use]
    pub fn begun(&self) -> bool {
        rank_state::BEGUN.get(self.bits) != 0
    }

    /// The collective command that the rank has reached.
    #[must_use]
    pub fn at(&self) -> Option<SyncKind> {
        if rank_state::IN_SYNC.get(self.bits) == 0 {
            return None;
        }
        SyncKind::from_bits(rank_state::SYNC_KIND.get(self.bits))
    }

    /// Returns whether no traffic of this rank is under way.
    #[must_use]
    pub fn quiet(&self) -> bool {
        rank_state::QUIET.get(self.bits) != 0
    }

    /// Describes the activity of the rank in words.
    fn activity(&self) -> String {
        let busy: Vec<&str> = [
            (
                rank_state::COMMANDS,
                "its commands are queued or in the pipeline",
            ),
            (rank_state::TX_REQUEST, "it sends requests"),
            (rank_state::TX_REPLY, "it sends replies"),
            (rank_state::RX_REQUEST, "it serves requests"),
            (rank_state::RX_REPLY, "it receives replies"),
            (
                rank_state::BARRIER_DONE,
                "it has not acknowledged its last barrier",
            ),
        ]
        .into_iter()
        .filter(|(field, _)| field.get(self.bits) != 0)
        .map(|(_, words)| words)
        .collect();
        match (busy.is_empty(), self.quiet()) {
            (false, _) => busy.join(", "),
            (true, true) => {
                "it has no command queued (it computes, or waits for another event)".to_owned()
            }
            (true, false) => "it has no command queued, but traffic under way".to_owned(),
        }
    }

    /// Describes the rank in a sentence about a wait at `waited_at`.
    fn describe(&self, waited_at: Option<SyncKind>) -> String {
        let pid = self.pid();
        if !self.begun() {
            let outside = "it has not begun the run, or has ended it";
            return match waited_at {
                Some(_) => format!("{pid} has not arrived: {outside}"),
                None => format!("{pid}: {outside}"),
            };
        }
        match (self.at(), waited_at) {
            (Some(at), Some(waited_at)) if at != waited_at => {
                format!("{pid} has not arrived: it waits at {} instead", name(at))
            }
            (Some(at), _) => format!("{pid} waits at {}", name(at)),
            (None, Some(_)) => format!("{pid} has not arrived: {}", self.activity()),
            (None, None) => format!("{pid}: {}", self.activity()),
        }
    }
}

fn name(kind: SyncKind) -> &'static str {
    match kind {
        SyncKind::Barrier => "BARRIER",
        SyncKind::Register => "REGISTER",
        SyncKind::Deregister => "DEREGISTER",
    }
}

/// Returns whether a text begins with the name of a rank.
fn names(text: &str, rank: GlobalRank) -> bool {
    text.starts_with(&format!("{rank} ")) || text.starts_with(&format!("{rank}:"))
}

/// Makes the text of [`crate::Error::Watchdog`].
pub(crate) fn describe_watchdog(
    rank: GlobalRank,
    awaited: &Awaited,
    (cycles, still): (u64, u64),
    states: &[RankState],
    waits: &[RankWait],
    links: &[LinkState],
) -> String {
    let kind = awaited.sync_kind();
    // Packets moved for a large part of the wait: the run is slow, or other ranks go on without this one.
    let still = if still < cycles - cycles / 4 {
        format!(" (no packet of the run moved in the last {still})")
    } else {
        String::new()
    };
    let missing: &[GlobalRank] = match awaited {
        Awaited::Collective(it) => &it.missing,
        _ => &[],
    };
    let lags =
        |state: &&RankState| missing.is_empty() || missing.contains(&state.pid()) || !state.begun();
    let describe = |state: &RankState| {
        if !state.begun() || !missing.contains(&state.pid()) {
            return state.describe(kind);
        }
        let at = state.at().map(|at| format!("it waits at {}", name(at)));
        let does = at.unwrap_or_else(|| state.activity());
        format!("{} has not arrived: {does}", state.pid())
    };
    let mut states: Vec<String> = states.iter().filter(lags).map(describe).collect();
    let unseen: Vec<String> = missing
        .iter()
        .filter(|&&rank| !states.iter().any(|state| names(state, rank)))
        .map(|rank| format!("{rank} has not arrived"))
        .collect();
    states.extend(unseen);
    let others = waits.iter().filter(|wait| wait.rank != rank);
    states.extend(others.map(|wait| wait.describe(waits)));
    // In hardware, members that have all called may still wait for each other.
    let advice = match awaited {
        Awaited::Collective(it) if it.context.is_some() && missing.is_empty() => {
            "no member is missing: raise the watchdog"
        }
        Awaited::Message(_) => {
            "check that each message has a receive with the same communicator, tag and ranks, or raise the watchdog"
        }
        Awaited::Kernel(_) => {
            "check in the waves for which event the kernel waits, and at the other ranks whether they cause that event, or raise the watchdog"
        }
        _ => "correct the rank that is late, or raise the watchdog",
    };
    format!(
        "{rank} waited {cycles} cycles{still} for {awaited}: {}{}; {advice}",
        states.join("; "),
        links::describe(links)
    )
}
