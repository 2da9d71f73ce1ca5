//! The graph of ranks that wait for each other in a hang.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use alcor::{Awaited, Cycle, Error, GlobalRank, RankState, RankWait, SyncKind};
use alcor_abi::board::rank_state;

use super::commands::Command;
use super::recorder::{Doing, RankLog};

/// The reason why a rank waits for another rank.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: u32,
    to: u32,
    why: String,
    /// Whether the hardware or the library reports the reason. Otherwise the rank's last command
    /// that names a peer suggests it.
    certain: bool,
}

/// The state of a rank in the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    board: u32,
    /// Current activity of the rank, as text.
    at: String,
    /// Busy units of the rank's part of the board.
    hardware: Vec<String>,
    /// Last command of the rank, as text.
    last: Option<String>,
    /// Whether the wait of this rank exceeded the watchdog's limit.
    gave_up: bool,
}

impl Node {
    /// Creates a node from the record of a rank.
    fn of(log: &RankLog) -> Node {
        let last = log.commands.last().rfind(|(_, command)| !is_abort(command));
        Node {
            board: log.board,
            at: log.doing.to_string(),
            hardware: Vec::new(),
            last: last.map(|(cycle, command)| format!("{command}, at cycle {cycle}")),
            gave_up: false,
        }
    }
}

/// The wait graph of the ranks of a run that hung.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waits {
    headline: String,
    nodes: BTreeMap<u32, Node>,
    edges: BTreeSet<Edge>,
}

impl Waits {
    /// Builds the graph from the error of a hang and the recorded commands. `None` if the error is
    /// not a hang.
    ///
    /// `logs` has for each global rank the local rank and its record.
    pub fn of(error: &Error, logs: &BTreeMap<u32, RankLog>) -> Option<Waits> {
        match error {
            Error::Deadlock {
                at, waits: told, ..
            } => {
                let mut waits = Waits::new(logs);
                waits.headline = format!(
                    "no rank could go on at {at}: every rank waited, and nothing was under way"
                );
                told.iter().for_each(|wait| waits.add_told(wait, told));
                Some(waits)
            }
            Error::Watchdog {
                rank,
                awaited,
                cycles,
                at,
                states,
                waits: told,
                ..
            } => Some(Waits::of_watchdog(
                *rank,
                awaited,
                (*cycles, *at),
                (states, told),
                logs,
            )),
            _ => None,
        }
    }

    /// A graph of the recorded commands, without waits.
    fn new(logs: &BTreeMap<u32, RankLog>) -> Waits {
        let nodes = logs.iter().map(|(&pid, log)| (pid, Node::of(log)));
        Waits {
            headline: String::new(),
            nodes: nodes.collect(),
            edges: BTreeSet::new(),
        }
    }

    /// The graph of [`Error::Watchdog`]: the rank that gave up, its wait with duration and end, the
    /// states of the ranks, and the waits that they have reported.
    fn of_watchdog(
        rank: GlobalRank,
        awaited: &Awaited,
        (cycles, at): (u64, Cycle),
        (states, told): (&[RankState], &[RankWait]),
        logs: &BTreeMap<u32, RankLog>,
    ) -> Waits {
        let mut waits = Waits::new(logs);
        waits.headline =
            format!("{rank} gave up at {at}, after {cycles} cycles of waiting for {awaited}");
        for state in states.iter().filter(|state| state.begun()) {
            waits.add_node(state, logs);
        }
        if let Some(node) = waits.nodes.get_mut(&rank.0) {
            node.at = format!("waits for {awaited}");
            node.gave_up = true;
        }
        for to in awaited_ranks(rank, awaited, states, logs) {
            waits.add_edge(rank.0, to, awaited.to_string(), true);
        }
        for state in states.iter().filter(|state| state.begun()) {
            if state.pid() == rank {
                continue;
            }
            match told.iter().find(|wait| wait.rank == state.pid()) {
                Some(wait) => waits.add_told(wait, told),
                None => waits.add_edges_of_peer(state, states, logs),
            }
        }
        waits
    }

    /// Adds the wait that a rank has reported.
    fn add_told(&mut self, wait: &RankWait, all: &[RankWait]) {
        let node = self.nodes.entry(wait.rank.0);
        let node = node.or_insert_with(|| Node::of(&RankLog::default()));
        node.at = format!("waits for {}", wait.what);
        for to in wait.awaits(all) {
            self.add_edge(wait.rank.0, to.0, wait.what.clone(), true);
        }
    }

    /// Adds the state of a rank in the board's registers.
    fn add_node(&mut self, state: &RankState, logs: &BTreeMap<u32, RankLog>) {
        let pid = state.pid().0;
        let log = logs.get(&pid).cloned().unwrap_or(RankLog {
            board: state.board,
            ..RankLog::default()
        });
        let mut node = Node::of(&log);
        if let Some(kind) = state.at() {
            node.at = format!("waits at {}", sync_name(kind));
        }
        node.hardware = hardware(state);
        self.nodes.insert(pid, node);
    }

    /// Adds the ranks for which a peer waits: from the hardware's state, or else from its commands.
    fn add_edges_of_peer(
        &mut self,
        state: &RankState,
        states: &[RankState],
        logs: &BTreeMap<u32, RankLog>,
    ) {
        let pid = state.pid().0;
        if let Some(kind) = state.at() {
            for to in absent_from(kind, state.pid(), states) {
                self.add_edge(pid, to, sync_name(kind).to_owned(), true);
            }
            return;
        }
        let Some(log) = logs
            .get(&pid)
            .filter(|log| matches!(log.doing, Doing::Waits(_)))
        else {
            return;
        };
        let naming = log
            .commands
            .last()
            .rev()
            .find_map(|(_, command)| Some((command, command.peer()?)));
        if let Some((command, to)) = naming {
            self.add_edge(pid, to, command.to_string(), false);
        }
    }

    fn add_edge(&mut self, from: u32, to: u32, why: String, certain: bool) {
        self.edges.insert(Edge {
            from,
            to,
            why,
            certain,
        });
    }

    /// A cycle of ranks that wait for each other, if there is one.
    fn ring(&self) -> Option<Vec<u32>> {
        let next = |rank: u32| self.edges.iter().filter(move |edge| edge.from == rank);
        // Ranks from which no cycle can be reached.
        let mut free = BTreeSet::new();
        for &start in self.nodes.keys() {
            let mut path: Vec<u32> = vec![start];
            let mut turns: Vec<_> = vec![next(start)];
            while let Some(turn) = turns.last_mut() {
                let Some(edge) = turn.next() else {
                    turns.pop();
                    free.extend(path.pop());
                    continue;
                };
                if let Some(at) = path.iter().position(|&rank| rank == edge.to) {
                    return Some(path.split_off(at));
                }
                if !free.contains(&edge.to) {
                    path.push(edge.to);
                    turns.push(next(edge.to));
                }
            }
        }
        None
    }

    /// The graph in the language of Graphviz.
    pub fn dot(&self) -> String {
        let mut dot = String::from("digraph waits {\n  node [shape=box];\n");
        for (rank, node) in &self.nodes {
            let style = if node.gave_up { ", style=bold" } else { "" };
            let label = format!("rank {rank} (board {})\n{}", node.board, node.at);
            // Writing to a String can't fail.
            let _ = writeln!(dot, "  r{rank} [label={}{style}];", quoted(&label));
        }
        for edge in &self.edges {
            let style = if edge.certain { "" } else { ", style=dashed" };
            let Edge { from, to, why, .. } = edge;
            let _ = writeln!(dot, "  r{from} -> r{to} [label={}{style}];", quoted(why));
        }
        dot + "}\n"
    }
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.headline)?;
        for (rank, node) in &self.nodes {
            writeln!(f, "rank {rank} (board {}) {}", node.board, node.at)?;
            if !node.hardware.is_empty() {
                writeln!(f, "  its part of the board: {}", node.hardware.join(", "))?;
            }
            if let Some(last) = &node.last {
                writeln!(f, "  last command: {last}")?;
            }
            if node.gave_up && !self.edges.iter().any(|edge| edge.from == *rank) {
                writeln!(f, "  -> no rank: the hardware has to make progress")?;
            }
            for edge in self.edges.iter().filter(|edge| edge.from == *rank) {
                let Edge { to, why, .. } = edge;
                if edge.certain {
                    writeln!(f, "  -> rank {to}: {why}")?
                } else {
                    writeln!(f, "  -> rank {to}, as its last commands suggest: {why}")?
                }
            }
        }
        let Some(ring) = self.ring() else {
            return Ok(());
        };
        let next = ring.iter().cycle().skip(1);
        let is_certain = |(&from, &to): (&u32, &u32)| {
            let mut edges = self.edges.iter();
            edges.any(|edge| edge.certain && (edge.from, edge.to) == (from, to))
        };
        let verb = if ring.iter().zip(next).all(is_certain) {
            "wait"
        } else {
            "may wait"
        };
        let names = ring
            .iter()
            .chain(&ring[..1])
            .map(|rank| format!("rank {rank}"));
        let names: Vec<String> = names.collect();
        writeln!(f, "\nthey {verb} for each other: {}", names.join(" -> "))
    }
}

/// The busy units in a rank's registers: queues, packets, collectives.
fn hardware(state: &RankState) -> Vec<String> {
    let parts = [
        (rank_state::COMMANDS, "commands in its queue or pipeline"),
        (rank_state::TX_REQUEST, "request packets being sent"),
        (rank_state::TX_REPLY, "reply packets being sent"),
        (rank_state::RX_REQUEST, "request packets being received"),
        (rank_state::RX_REPLY, "reply packets being received"),
    ];
    let busy = parts.iter().filter(|(field, _)| field.get(state.bits) != 0);
    let mut busy: Vec<String> = busy.map(|(_, words)| (*words).to_owned()).collect();
    if busy.is_empty() && !state.quiet() {
        busy.push("traffic in flight".to_owned());
    }
    let rows = (0..u32::BITS).filter(|row| state.posted & (1 << row) != 0);
    busy.extend(rows.map(|row| format!("an outstanding collective of communicator {row}")));
    busy
}

/// The ranks for which the rank that gave up waited.
fn awaited_ranks(
    rank: GlobalRank,
    awaited: &Awaited,
    states: &[RankState],
    logs: &BTreeMap<u32, RankLog>,
) -> Vec<u32> {
    let others = |all: &[GlobalRank]| -> Vec<u32> {
        let others = all.iter().filter(|&&other| other != rank);
        others.map(|other| other.0).collect()
    };
    match awaited {
        Awaited::Barrier => absent_from(SyncKind::Barrier, rank, states),
        Awaited::Registration { .. } => absent_from(SyncKind::Register, rank, states),
        Awaited::Deregistration { .. } => absent_from(SyncKind::Deregister, rank, states),
        Awaited::Collective(it) if it.missing.is_empty() => others(&it.members),
        Awaited::Collective(it) => others(&it.missing),
        Awaited::Message(it) => it.message.peer.map(|peer| peer.0).into_iter().collect(),
        // Only the last posted commands can be outstanding.
        Awaited::Completions { missing } => {
            let commands = logs
                .get(&rank.0)
                .into_iter()
                .flat_map(|log| log.commands.last().rev());
            let transfers = commands.filter(|(_, command)| command.is_transfer());
            let targets = transfers.take(*missing as usize);
            let targets: BTreeSet<u32> =
                targets.filter_map(|(_, command)| command.peer()).collect();
            targets.into_iter().collect()
        }
        // The rank waited for its own hardware.
        _ => Vec::new(),
    }
}

/// Ranks of the run that have not posted or reached a collective command that needs all ranks.
fn absent_from(kind: SyncKind, rank: GlobalRank, states: &[RankState]) -> Vec<u32> {
    let others = states
        .iter()
        .filter(|state| state.begun() && state.pid() != rank);
    let absent = others.filter(|state| state.at() != Some(kind));
    absent.map(|state| state.pid().0).collect()
}

fn sync_name(kind: SyncKind) -> &'static str {
    match kind {
        SyncKind::Barrier => "BARRIER",
        SyncKind::Register => "REGISTER",
        SyncKind::Deregister => "DEREGISTER",
    }
}

/// An ABORT, the last command of a rank, does not show the cause.
fn is_abort(command: &Command) -> bool {
    matches!(
        command,
        Command::Other {
            opcode: Some(alcor::Opcode::Abort),
            ..
        }
    )
}

/// Quotes a string for Graphviz.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use alcor::{LocalRank, NodeAddr, Opcode};
    use alcor_abi::command;
    use alcor_abi::packets::x_message;

    use super::*;

    fn state(pid: u32, at: Option<SyncKind>) -> RankState {
        let at = at.map_or(0, |kind| {
            rank_state::IN_SYNC.mask() | rank_state::SYNC_KIND.put(kind as u32)
        });
        let begun = rank_state::BEGUN.mask() | rank_state::QUIET.mask();
        let bits = begun | rank_state::PID.put(pid) | at;
        RankState::new(pid / 2, LocalRank(pid % 2), bits)
    }

    fn watchdog(awaited: &Awaited, states: &[RankState], logs: &BTreeMap<u32, RankLog>) -> Waits {
        Waits::of_watchdog(
            GlobalRank(0),
            awaited,
            (500, Cycle(1234)),
            (states, &[]),
            logs,
        )
    }

    /// Record of a rank that has posted a receive and waits.
    fn receiver(from: u32) -> RankLog {
        let mut log = RankLog {
            doing: Doing::Waits(700),
            ..RankLog::default()
        };
        let receive = x_message::RANK.put(from);
        log.commands.write(690, command(Opcode::XReceive), receive);
        log.commands.write(700, command(Opcode::Abort), 1);
        log
    }

    #[test]
    fn a_barrier_waits_for_the_absent_ranks() {
        let barrier = Some(SyncKind::Barrier);
        let mut states = vec![state(0, barrier), state(1, None), state(2, barrier)];
        states[1].bits |= rank_state::TX_REPLY.mask() | rank_state::COMMANDS.mask();
        states[1].posted = 1 << 3;
        let logs = BTreeMap::from([(1, receiver(2))]);
        let waits = watchdog(&Awaited::Barrier, &states, &logs);
        let text = waits.to_string();
        for line in [
            "rank 0 gave up at cycle 1234, after 500 cycles of waiting for BARRIER",
            "rank 0 (board 0) waits for BARRIER",
            "  -> rank 1: BARRIER",
            "rank 1 (board 0) waits in the library since cycle 700",
            "  its part of the board: commands in its queue or pipeline, reply packets being sent, \
             an outstanding collective of communicator 3",
            "  last command: X_RECEIVE from rank 2, tag 0, context 0, 0 bytes at 0x0, id 0, at cycle 690",
            "  -> rank 2, as its last commands suggest: X_RECEIVE from rank 2, tag 0, context 0, 0 bytes at 0x0, id 0",
            "rank 2 (board 1) waits at BARRIER",
            "they may wait for each other: rank 1 -> rank 2 -> rank 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        let dot = waits.dot();
        for line in [
            "digraph waits {",
            r#"  r0 [label="rank 0 (board 0)\nwaits for BARRIER", style=bold];"#,
            r#"  r0 -> r1 [label="BARRIER"];"#,
            r#"  r1 -> r2 [label="X_RECEIVE from rank 2, tag 0, context 0, 0 bytes at 0x0, id 0", style=dashed];"#,
            "}",
        ] {
            assert!(dot.lines().any(|found| found == line), "{line}: {dot}");
        }
    }

    #[test]
    fn a_cycle_of_certain_waits_is_reported_as_certain() {
        let states = vec![state(0, None), state(1, Some(SyncKind::Barrier))];
        let awaited = Awaited::Registration { base: NodeAddr(8) };
        let waits = watchdog(&awaited, &states, &BTreeMap::new()).to_string();
        let ring = "they wait for each other: rank 0 -> rank 1 -> rank 0";
        assert!(waits.contains(ring), "{waits}");
    }

    #[test]
    fn a_deadlock_is_a_graph_of_what_ranks_have_told() {
        let wait = |rank: u32, on: &[u32], meets: Option<&str>| {
            let mut wait = RankWait::new(GlobalRank(rank), meets.unwrap_or("a message"));
            wait.on = on.iter().copied().map(GlobalRank).collect();
            wait.meets = meets.map(str::to_owned);
            wait
        };
        let barrier = Some("BARRIER");
        let waits = vec![
            wait(0, &[1], None),
            wait(1, &[0, 2], barrier),
            wait(2, &[0, 1], barrier),
        ];
        let at = Cycle(4200);
        let waits = Waits::of(
            &Error::Deadlock {
                at,
                waits,
                links: Default::default(),
            },
            &BTreeMap::new(),
        )
        .unwrap();
        let text = waits.to_string();
        for line in [
            "no rank could go on at cycle 4200: every rank waited, and nothing was under way",
            "rank 0 (board 0) waits for a message",
            "  -> rank 1: a message",
            "  -> rank 0: BARRIER",
            "they wait for each other: rank 0 -> rank 1 -> rank 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        assert!(!text.contains("-> rank 2: BARRIER"), "{text}");
    }

    #[test]
    fn no_rank_is_named_when_all_are_present() {
        let barrier = Some(SyncKind::Barrier);
        let states = vec![state(0, barrier), state(1, barrier)];
        let waits = watchdog(&Awaited::Barrier, &states, &BTreeMap::new());
        assert!(waits.edges.is_empty());
        assert!(waits.to_string().contains("  -> no rank: "), "{waits}");
    }

    #[test]
    fn completions_wait_for_the_targets_of_the_last_transfers() {
        let mut log = RankLog::default();
        for rank in [3, 1, 2] {
            let put = alcor_abi::packets::x_commit::DPID.put(rank);
            log.commands.write(5, command(Opcode::XPut), put);
        }
        let states = vec![state(0, None), state(1, None)];
        let awaited = Awaited::Completions { missing: 2 };
        let waits = watchdog(&awaited, &states, &BTreeMap::from([(0, log)]));
        let targets: Vec<u32> = waits.edges.iter().map(|edge| edge.to).collect();
        assert_eq!(targets, [1, 2]);
        assert!(waits.ring().is_none());
        assert!(!waits.to_string().contains("each other"));
    }

    #[test]
    fn other_errors_have_no_graph() {
        let error = Error::BadOption {
            option: "x",
            value: 1,
            rule: "y",
        };
        assert!(Waits::of(&error, &BTreeMap::new()).is_none());
    }

    #[test]
    fn labels_are_quoted() {
        assert_eq!(quoted("a\"b\\c\nd"), r#""a\"b\\c\nd""#);
    }
}
