//! A board in plain Rust with the registers of the hardware, for tests and examples.
//!
//! The board implements the registers of `hw/abi/alcor.rdl` and has no timing. The commands of a
//! rank are executed when the rank waits or reads a register, and not before. So the board finds a
//! library that does not count its credits. The clock counts register accesses, and jumps to the
//! next deadline when all ranks wait. The cluster is a single board. There is no traffic, and cycle
//! counts have no meaning.
//!
//! # Examples
//! ```
//! use alcor::{Job, soft::{SoftBoard, SoftConfig}};
//!
//! let board = SoftBoard::with(SoftConfig { ranks: 2, slots: 8, ..SoftConfig::default() });
//! Job::new(board)?.run(2, |rank| rank.barrier())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alpu;
mod messages;

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use alcor_abi::packets::{cq_entry, x_commit, x_message};
use alcor_abi::rank::{
    ack, causes, events, identity, last_error, rank_reset, reg_result, reset_state,
};
use alcor_abi::{
    CQ_ENTRY_BYTES, Field, Opcode, PAPER_MAX_WORDS, PacketType, Status, SyncKind, board, rank,
};

use self::alpu::SoftAlpu;
use self::messages::SoftMessages;
use crate::{
    Backend, Board, Cluster, Cycle, Error, GlobalRank, LocalRank, NodeAddr, PageOffset, Port,
    Result, Wake,
};

/// The parameters of a [`SoftBoard`].
#[derive(Debug, Clone, Copy)]
pub struct SoftConfig {
    /// Ranks, 1 to 16.
    pub ranks: u32,
    /// Slots of a registration table.
    pub slots: u32,
    /// Bytes of node memory of each rank.
    pub node_bytes: u32,
    /// Entries of a command queue.
    pub commands: u32,
    /// Entries of each queue of a message engine: a power of two up to 1024, or 0 for no message
    /// engine.
    pub message_depth: u32,
    /// Maximum length of an eager message, in bytes.
    pub fragment_bytes: u32,
}

impl Default for SoftConfig {
    fn default() -> SoftConfig {
        SoftConfig {
            ranks: 4,
            slots: 32,
            node_bytes: 1 << 20,
            commands: 64,
            message_depth: 64,
            fragment_bytes: 256,
        }
    }
}

/// The backend of soft boards: `soft:4` opens a board of four ranks.
#[derive(Debug, Clone, Copy)]
pub struct Soft;

impl Backend for Soft {
    fn scheme(&self) -> &str {
        "soft"
    }

    fn open(&self, rest: &str) -> Result<Cluster> {
        match rest.parse() {
            Ok(ranks @ 1..=board::RANK_STATE_COUNT) => Ok(SoftBoard::new(ranks).into()),
            _ => Err(Error::Board {
                board: format!("soft:{rest}"),
                source: "`soft:` needs the number of ranks, 1 to 16".into(),
            }),
        }
    }
}

/// A board in plain Rust.
#[derive(Debug)]
pub struct SoftBoard {
    name: String,
    state: Mutex<State>,
    /// Signals an event that may end a wait.
    changed: Condvar,
}

impl SoftBoard {
    /// Makes a board of `ranks` ranks.
    #[must_use]
    pub fn new(ranks: u32) -> Arc<SoftBoard> {
        SoftBoard::with(SoftConfig {
            ranks,
            ..SoftConfig::default()
        })
    }

    /// Makes a board with these parameters.
    #[must_use]
    pub fn with(config: SoftConfig) -> Arc<SoftBoard> {
        let memory = || vec![0; config.node_bytes as usize];
        Arc::new(SoftBoard {
            name: format!("soft:{}", config.ranks),
            state: Mutex::new(State {
                config,
                run_ranks: config.ranks,
                now: 0,
                aborted: None,
                expected: 0,
                joined: 0,
                died: None,
                ranks: (0..config.ranks)
                    .map(|number| SoftRank::new(&config, number, memory()))
                    .collect(),
            }),
            changed: Condvar::new(),
        })
    }

    fn peer_died(&self, LocalRank(rank): LocalRank) -> Error {
        Error::PeerDied {
            board: self.name.clone(),
            rank: GlobalRank(rank),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn busy(&self, state: &State, operation: &'static str) -> Result<()> {
        match state.ranks.iter().filter(|rank| rank.attached).count() {
            0 => Ok(()),
            attached => Err(Error::BoardBusy {
                board: self.name.clone(),
                operation,
                attached: attached as u32,
            }),
        }
    }

    fn no_such_rank(&self, rank: LocalRank, state: &State) -> Error {
        Error::NoSuchRank {
            board: self.name.clone(),
            rank,
            ranks: state.config.ranks,
        }
    }
}

impl Board for SoftBoard {
    fn name(&self) -> &str {
        &self.name
    }

    fn read32(&self, offset: PageOffset) -> Result<u32> {
        Ok(self.lock().read_board(offset.0))
    }

    /// PLACE holds the number of ranks of the run. The other registers belong to boards with links.
    fn write32(&self, offset: PageOffset, value: u32) -> Result<()> {
        if offset.0 == board::PLACE {
            self.lock().run_ranks = board::place::RANKS.get(value);
        }
        Ok(())
    }

    fn reset(&self) -> Result<()> {
        let mut state = self.lock();
        self.busy(&state, "reset")?;
        let config = state.config;
        state.run_ranks = config.ranks;
        state.now = 0;
        state.aborted = None;
        state.died = None;
        state.expected = 0;
        state.joined = 0;
        for (number, rank) in (0..).zip(&mut state.ranks) {
            *rank = SoftRank::new(&config, number, std::mem::take(&mut rank.memory));
        }
        Ok(())
    }

    fn expect(&self, ports: u32) -> Result<()> {
        let mut state = self.lock();
        self.busy(&state, "begin a run")?;
        if ports > state.config.ranks {
            return Err(self.no_such_rank(LocalRank(ports - 1), &state));
        }
        state.expected = ports;
        state.joined = 0;
        Ok(())
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>> {
        let mut state = self.lock();
        let index = rank.0 as usize;
        if index >= state.ranks.len() {
            return Err(self.no_such_rank(rank, &state));
        }
        if state.ranks[index].attached {
            return Err(Error::RankTaken {
                board: self.name.clone(),
                rank,
            });
        }
        state.ranks[index].attached = true;
        state.ranks[index].left = false;
        state.joined += 1;
        drop(state);
        self.changed.notify_all();
        Ok(Box::new(SoftPort { board: self, index }))
    }

    fn traffic_digest(&self) -> Option<u32> {
        None
    }

    fn time_stands_still(&self) -> bool {
        true
    }
}

struct SoftPort {
    board: Arc<SoftBoard>,
    index: usize,
}

impl SoftPort {
    /// Locks the state. Fails if a peer has died.
    fn enter(&self) -> Result<MutexGuard<'_, State>> {
        let mut state = self.board.lock();
        state.now += 1;
        match state.died {
            Some(rank) => Err(self.board.peer_died(rank)),
            None => Ok(state),
        }
    }

    fn memory_range(
        &self,
        state: &State,
        at: NodeAddr,
        length: usize,
    ) -> Result<std::ops::Range<usize>> {
        let start = at.0 as usize;
        match start.checked_add(length) {
            Some(end) if end <= state.config.node_bytes as usize => Ok(start..end),
            _ => Err(Error::BadNodeAddress {
                board: self.board.name.clone(),
                rank: LocalRank(self.index as u32),
                at,
                length: length as u64,
                node_bytes: state.config.node_bytes,
            }),
        }
    }
}

impl Port for SoftPort {
    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<()> {
        self.enter()?.write(self.index, offset.0, value);
        Ok(())
    }

    fn read32(&mut self, offset: PageOffset) -> Result<u32> {
        let mut state = self.enter()?;
        state.advance(self.index);
        self.board.changed.notify_all();
        Ok(state.read(self.index, offset.0))
    }

    fn read_board32(&mut self, offset: PageOffset) -> Result<u32> {
        Ok(self.enter()?.read_board(offset.0))
    }

    fn write_memory(&mut self, at: NodeAddr, data: &[u8]) -> Result<()> {
        let mut state = self.enter()?;
        let range = self.memory_range(&state, at, data.len())?;
        state.ranks[self.index].memory[range].copy_from_slice(data);
        Ok(())
    }

    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<()> {
        let state = self.enter()?;
        let range = self.memory_range(&state, at, data.len())?;
        data.copy_from_slice(&state.ranks[self.index].memory[range]);
        Ok(())
    }

    fn wait(&mut self, deadline: Cycle) -> Result<Wake> {
        let mut state = self.enter()?;
        state.ranks[self.index].waiting = Some(deadline.0);
        let wake = loop {
            state.advance(self.index);
            self.board.changed.notify_all();
            if let Some(rank) = state.died {
                break Err(self.board.peer_died(rank));
            }
            if state.interrupt(self.index) {
                break Ok(Wake::Interrupt);
            }
            if state.now >= deadline.0 {
                break Ok(Wake::Deadline);
            }
            if let Some(next) = state.all_wait_until() {
                state.now = next;
                continue;
            }
            state = self
                .board
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        };
        state.ranks[self.index].waiting = None;
        wake
    }

    fn now(&mut self) -> Result<Cycle> {
        Ok(Cycle(self.enter()?.now))
    }

    fn leave(&mut self) -> Result<()> {
        let mut state = self.board.lock();
        state.advance(self.index);
        state.ranks[self.index].left = true;
        self.board.changed.notify_all();
        Ok(())
    }
}

impl Drop for SoftPort {
    fn drop(&mut self) {
        let mut state = self.board.lock();
        if !state.ranks[self.index].left {
            state.died.get_or_insert(LocalRank(self.index as u32));
        }
        state.ranks[self.index].attached = false;
        self.board.changed.notify_all();
    }
}

/// An entry of a registration table.
#[derive(Debug, Clone, Copy)]
struct Entry {
    base: u32,
    bytes: u32,
    deny_read: bool,
    deny_write: bool,
}

#[derive(Debug)]
struct SoftRank {
    memory: Vec<u8>,
    attached: bool,
    left: bool,
    waiting: Option<u64>,
    pid: u32,
    nprocs: u32,
    begun: bool,
    queue: VecDeque<(Opcode, u32)>,
    /// A collective command that waits for the other ranks. Extended commands pass it.
    sync: Option<(Opcode, u32)>,
    data8: VecDeque<[u32; 3]>,
    data8_part: Vec<u32>,
    /// Values of X_OFFSET, X_LADDR and X_LENGTH.
    operands: [u32; 3],
    x_window: Option<u32>,
    window_size: Option<u32>,
    table: Vec<Option<Entry>>,
    retired: u32,
    retired_wake: u32,
    cq_base: u32,
    cq_log2: u32,
    cq_head: u32,
    cq_tail: u32,
    cq_wake: u32,
    barrier_done: bool,
    registration_done: bool,
    reg_result: u32,
    events: u32,
    last_error: u32,
    refused_in: u32,
    refused_out: u32,
    barriers: u32,
    epoch_began: Option<u64>,
    epoch_cycles: u32,
    irq_enable: u32,
    /// Fields of RESET_STATE.
    used: bool,
    orphaned: bool,
    largest: u32,
    resets: u32,
    alpu: SoftAlpu,
    messages: SoftMessages,
}

impl SoftRank {
    fn new(config: &SoftConfig, number: u32, memory: Vec<u8>) -> SoftRank {
        SoftRank {
            memory,
            attached: false,
            left: false,
            waiting: None,
            pid: 0,
            nprocs: 0,
            begun: false,
            queue: VecDeque::new(),
            sync: None,
            data8: VecDeque::new(),
            data8_part: Vec::new(),
            operands: [0; 3],
            x_window: None,
            window_size: None,
            table: vec![None; config.slots as usize],
            retired: 0,
            retired_wake: 0,
            cq_base: 0,
            cq_log2: 0,
            cq_head: 0,
            cq_tail: 0,
            cq_wake: 0,
            barrier_done: false,
            registration_done: false,
            reg_result: 0,
            events: 0,
            last_error: 0,
            refused_in: 0,
            refused_out: 0,
            barriers: 0,
            epoch_began: None,
            epoch_cycles: 0,
            irq_enable: 0,
            used: false,
            orphaned: false,
            largest: 0,
            resets: 0,
            alpu: SoftAlpu::of(number),
            messages: SoftMessages::default(),
        }
    }

    fn event(&mut self, event: Field) {
        self.events |= event.mask();
    }

    /// Refuses BEGIN: the rank's number or the number of ranks is wrong.
    fn run_refused(&mut self, opcode: Opcode) {
        self.paper_error(events::REFUSED, Status::BadRank, opcode as u32);
    }

    fn paper_error(&mut self, event: Field, status: Status, opcode: u32) {
        self.event(event);
        self.last_error = last_error::STATUS.put(status as u32) | last_error::OPCODE.put(opcode);
    }

    fn slot_of(&self, base: u32) -> Option<u32> {
        let holds = |entry: &Option<Entry>| entry.is_some_and(|entry| entry.base == base);
        self.table.iter().position(holds).map(|slot| slot as u32)
    }

    /// The collective command that waits.
    fn sync_kind(&self) -> Option<SyncKind> {
        match self.sync?.0 {
            // The next barrier waits until this barrier is acknowledged. A registration does not
            // wait.
            Opcode::Barrier => (!self.barrier_done).then_some(SyncKind::Barrier),
            Opcode::Register => Some(SyncKind::Register),
            Opcode::Deregister => Some(SyncKind::Deregister),
            _ => None,
        }
    }

    /// Ends a collective command that other ranks can't join. Returns whether there was one.
    fn end_orphaned(&mut self, now: u64) -> bool {
        let Some(kind) = self.sync_kind().filter(|_| self.orphaned) else {
            return false;
        };
        self.sync = None;
        match kind {
            SyncKind::Barrier => {
                self.end_barrier(now);
                self.event(events::MISMATCH);
            }
            _ => self.end_registration(0, Status::RankReset),
        }
        true
    }

    fn end_barrier(&mut self, now: u64) {
        self.barrier_done = true;
        self.barriers += 1;
        self.epoch_cycles = (now - self.epoch_began.take().unwrap_or(now)) as u32;
    }

    fn end_registration(&mut self, slot: u32, status: Status) {
        self.registration_done = true;
        self.reg_result = reg_result::SLOT.put(slot)
            | reg_result::STATUS.put(status as u32)
            | reg_result::COUNT.put(reg_result::COUNT.get(self.reg_result) + 1);
    }

    fn pop(&mut self) -> u32 {
        self.retired = self.retired.wrapping_add(1);
        self.queue.pop_front().map_or(0, |(_, data)| data)
    }

    fn complete(&mut self, id: u32, status: Status) {
        let entry = cq_entry::ID.put(id) | cq_entry::STATUS.put(status as u32);
        self.enter(&[entry, self.retired]);
    }

    /// Writes a ring entry. Words that are not given keep their values.
    fn enter(&mut self, words: &[u32]) {
        let entries = 1 << self.cq_log2;
        if self.cq_head.wrapping_sub(self.cq_tail) >= entries {
            self.event(events::CQ_OVERFLOW);
            return;
        }
        let at = u64::from(self.cq_base) + u64::from(self.cq_head % entries * CQ_ENTRY_BYTES);
        for (index, word) in words.iter().enumerate() {
            let at = at as usize + 4 * index;
            if let Some(place) = self.memory.get_mut(at..at + 4) {
                place.copy_from_slice(&word.to_le_bytes());
            }
        }
        self.cq_head = self.cq_head.wrapping_add(1);
    }

    fn causes(&self, aborted: bool) -> u32 {
        let reached = |count: u32, wake: u32| count.wrapping_sub(wake) as i32 >= 0;
        let bit = |cause: Field, raised: bool| cause.put(u32::from(raised));
        bit(causes::COMPLETION, reached(self.cq_head, self.cq_wake))
            | bit(causes::BARRIER, self.barrier_done)
            | bit(causes::REGISTRATION, self.registration_done)
            | bit(causes::ABORTED, aborted)
            | bit(causes::EVENT, self.events != 0)
            | bit(causes::CREDIT, reached(self.retired, self.retired_wake))
    }
}

/// Returns whether a command passes a collective command that waits: extended commands do. A lookup
/// of a window does not: the collective command may change the table.
fn passes(opcode: Opcode) -> bool {
    use Opcode::*;
    matches!(
        opcode,
        XOffset
            | XLaddr
            | XLength
            | XTag
            | XPut
            | XGet
            | XSend
            | XAnnounce
            | XReceive
            | XProbe
            | XCancel
    )
}

/// Returns the rank with the PID `pid`, once that rank has set its PID.
fn target_of(ranks: &[SoftRank], pid: u32) -> Option<usize> {
    let is = |rank: &SoftRank| rank.nprocs > 0 && rank.pid == pid;
    ranks.iter().position(is)
}

#[derive(Debug)]
struct State {
    config: SoftConfig,
    /// Number of ranks of the run, on all boards.
    run_ranks: u32,
    now: u64,
    /// The rank that aborted the run, and its reason.
    aborted: Option<(u32, u32)>,
    expected: u32,
    joined: u32,
    died: Option<LocalRank>,
    ranks: Vec<SoftRank>,
}

/// Cycles in which the registration tables are cleared.
const CLEARING: u64 = 32;
const BEAT_BYTES: u32 = 4;
const PAYLOAD_WORDS: u32 = 64;
const DATA8_ENTRIES: usize = 64;

impl State {
    fn interrupt(&self, index: usize) -> bool {
        let rank = &self.ranks[index];
        rank.causes(self.aborted.is_some()) & rank.irq_enable != 0
    }

    /// The earliest deadline, if time may advance: all ranks of the run wait and none has been
    /// woken.
    fn all_wait_until(&self) -> Option<u64> {
        if self.joined < self.expected {
            return None;
        }
        let mut earliest = u64::MAX;
        for (index, rank) in self.ranks.iter().enumerate() {
            if rank.attached && !rank.left {
                let deadline = rank.waiting?;
                if self.interrupt(index) || deadline <= self.now {
                    return None;
                }
                earliest = earliest.min(deadline);
            }
        }
        Some(earliest)
    }

    // ------------------------------------------------------------ registers

    fn read_board(&self, offset: u32) -> u32 {
        match offset {
            board::MAGIC => alcor_abi::MAGIC,
            board::ABI_VERSION => board::abi_version::MAJOR.put(alcor_abi::ABI_MAJOR),
            board::ABI_HASH => alcor_abi::ABI_HASH,
            board::CAPABILITIES => {
                let has_messages = u32::from(self.config.message_depth > 0);
                board::capabilities::RMA.mask()
                    | board::capabilities::ALPU.mask()
                    | board::capabilities::MESSAGES.put(has_messages)
            }
            board::MESSAGES => {
                board::messages::DEPTH.put(self.config.message_depth)
                    | board::messages::FRAGMENT.put(self.config.fragment_bytes)
            }
            board::GEOMETRY => {
                board::geometry::RANKS.put(self.config.ranks)
                    | board::geometry::SLOTS.put(self.config.slots)
                    | board::geometry::BEAT.put(BEAT_BYTES)
            }
            board::NODE_MEMORY => self.config.node_bytes,
            board::QUEUES => {
                board::queues::COMMANDS.put(self.config.commands)
                    | board::queues::PAYLOAD.put(PAYLOAD_WORDS)
            }
            board::CLOCK => 250_000,
            board::SHAPE => {
                let log2 = |value: u32| value.next_power_of_two().ilog2();
                let messages = match self.config.message_depth {
                    0 => 0,
                    depth => {
                        board::shape::MESSAGES.put(log2(depth) + 1)
                            | board::shape::FRAGMENT.put(log2(self.config.fragment_bytes))
                    }
                };
                board::shape::RANKS.put(log2(self.config.ranks))
                    | board::shape::BEAT.put(log2(BEAT_BYTES))
                    | board::shape::PAYLOAD.put(log2(PAYLOAD_WORDS))
                    | messages
            }
            board::PLACE => board::place::RANKS.put(self.run_ranks),
            board::STATUS => {
                let (by, reason) = self.aborted.unwrap_or((0, 0));
                board::status::READY.put(u32::from(self.now >= CLEARING))
                    | board::status::ABORTED.put(u32::from(self.aborted.is_some()))
                    | board::status::ABORT_RANK.put(by)
                    | board::status::ABORT_REASON.put(reason)
            }
            board::CYCLE_LO => self.now as u32,
            board::CYCLE_HI => (self.now >> 32) as u32,
            _ => {
                let index = offset.wrapping_sub(board::RANK_STATE) as usize / 4;
                self.ranks.get(index).map_or(0, Self::rank_state)
            }
        }
    }

    fn rank_state(rank: &SoftRank) -> u32 {
        use board::rank_state as state;
        let sync = rank.sync_kind();
        let is_busy = !rank.queue.is_empty() || rank.sync.is_some();
        let commands = is_busy && sync.is_none();
        state::PID.put(rank.pid)
            | state::NPROCS.put(rank.nprocs)
            | state::BEGUN.put(u32::from(rank.begun))
            | state::IN_SYNC.put(u32::from(sync.is_some()))
            | state::SYNC_KIND.put(sync.map_or(0, |kind| kind as u32))
            | state::QUIET.put(1)
            | state::COMMANDS.put(u32::from(commands))
            | state::BARRIER_DONE.put(u32::from(rank.barrier_done))
    }

    fn read(&self, index: usize, offset: u32) -> u32 {
        let it = &self.ranks[index];
        match offset {
            rank::IDENTITY => {
                identity::PID.put(it.pid)
                    | identity::NPROCS.put(it.nprocs)
                    | identity::BEGUN.put(u32::from(it.begun))
            }
            rank::CAUSES => it.causes(self.aborted.is_some()),
            rank::RETIRED => it.retired,
            rank::CQ_HEAD => it.cq_head,
            rank::REG_RESULT => it.reg_result,
            rank::EPOCH_CYCLES => it.epoch_cycles,
            rank::EVENTS => it.events,
            rank::LAST_ERROR => it.last_error,
            rank::REFUSED_IN => it.refused_in,
            rank::REFUSED_OUT => it.refused_out,
            rank::BARRIERS => it.barriers,
            rank::RESET_STATE => {
                reset_state::USED.put(it.used.into())
                    | reset_state::ORPHANED.put(it.orphaned.into())
                    | reset_state::LARGEST.put(it.largest)
                    | reset_state::COUNT.put(it.resets)
            }
            _ => {
                let engine = it.messages.read(offset);
                engine.unwrap_or_else(|| it.alpu.read(offset))
            }
        }
    }

    fn write(&mut self, index: usize, offset: u32, value: u32) {
        let now = self.now;
        if offset == rank::RANK_RESET {
            if rank_reset::RESET.get(value) != 0 {
                self.reset_rank(index);
            }
            return;
        }
        let it = &mut self.ranks[index];
        it.used = true;
        match offset {
            0..0x400 => self.command(index, offset / 4, value),
            rank::ACK => {
                it.barrier_done &= ack::BARRIER.get(value) == 0;
                it.registration_done &= ack::REGISTRATION.get(value) == 0;
            }
            rank::ACK_EVENTS => it.events &= !value,
            rank::IRQ_ENABLE => it.irq_enable = value,
            rank::CQ_BASE => (it.cq_base, it.cq_head) = (value, 0),
            rank::CQ_SIZE => it.cq_log2 = rank::cq_size::LOG2_ENTRIES.get(value),
            rank::CQ_TAIL => it.cq_tail = value,
            rank::CQ_WAKE => it.cq_wake = value,
            rank::RETIRED_WAKE => it.retired_wake = value,
            rank::MESSAGE_QUOTA => it.messages.write(offset, value),
            _ => it.alpu.write(offset, value, now),
        }
    }

    /// Resets a rank. Other ranks lose only their operations with this rank.
    fn reset_rank(&mut self, index: usize) {
        let (config, number) = (self.config, index as u32);
        let it = &mut self.ranks[index];
        let begun = it.begun;
        let fresh = SoftRank::new(&config, number, std::mem::take(&mut it.memory));
        let old = std::mem::replace(it, fresh);
        it.attached = old.attached;
        it.left = old.left;
        it.waiting = old.waiting;
        it.largest = old.largest;
        it.resets = (old.resets + 1) & 0xFF;
        self.drop_messages(index, &old.messages);
        for (other, rank) in self.ranks.iter_mut().enumerate() {
            rank.orphaned |= begun && rank.begun && other != index;
        }
    }

    fn command(&mut self, index: usize, opcode: u32, value: u32) {
        let it = &mut self.ranks[index];
        it.epoch_began.get_or_insert(self.now);
        match Opcode::from_bits(opcode) {
            None => it.event(events::BAD_OPCODE),
            // ABORT does not wait for queued commands. The page identifies the rank, whatever PID
            // the rank has set.
            Some(Opcode::Abort) => {
                self.aborted.get_or_insert((index as u32, value & 0xFF));
            }
            // No command is accepted until the host has acknowledged the loss.
            Some(_) if events::OVERFLOW.get(it.events) != 0 => it.data8_part.clear(),
            Some(Opcode::Data8) => {
                it.data8_part.push(value & 0xFF);
                if let [dpid, length, offset] = it.data8_part[..] {
                    it.data8_part.clear();
                    if it.data8.len() < DATA8_ENTRIES {
                        it.data8.push_back([dpid, length, offset]);
                    } else {
                        it.event(events::OVERFLOW);
                    }
                }
            }
            Some(opcode) if it.queue.len() < self.config.commands as usize => {
                it.queue.push_back((opcode, value));
            }
            Some(_) => it.event(events::OVERFLOW),
        }
    }

    // ------------------------------------------------------------ commands

    /// Executes the queued commands of rank `caller` and of all ranks that wait.
    fn advance(&mut self, caller: usize) {
        let mut moved = true;
        while moved && self.aborted.is_none() {
            moved = false;
            for index in 0..self.ranks.len() {
                if index == caller || self.ranks[index].waiting.is_some() {
                    while self.serve(index) {
                        moved = true;
                    }
                }
            }
            moved |= self.meet();
        }
    }

    /// Executes one command. Returns whether a command could be executed.
    fn serve(&mut self, index: usize) -> bool {
        let it = &mut self.ranks[index];
        if it.end_orphaned(self.now) {
            return true;
        }
        let Some(&(opcode, data)) = it.queue.front() else {
            return false;
        };
        if it.sync.is_some() && !passes(opcode) {
            return false;
        }
        match opcode {
            Opcode::Barrier | Opcode::Register | Opcode::Deregister => {
                if it.begun {
                    it.sync = Some((opcode, it.pop()));
                }
                return it.begun;
            }
            Opcode::Put1 | Opcode::PutN | Opcode::Get => return self.serve_paper(index, opcode),
            // The message waits until its target takes part in the run.
            Opcode::XSend | Opcode::XAnnounce => {
                let target = x_message::RANK.get(data);
                if target < it.nprocs && target_of(&self.ranks, target).is_none() {
                    return false;
                }
            }
            _ => {}
        }
        let (me, ranks) = (index as u32, self.run_ranks);
        let it = &mut self.ranks[index];
        it.pop();
        match opcode {
            Opcode::SetPid if data & 0xFF != me => it.run_refused(opcode),
            Opcode::SetNprocs if data > ranks => it.run_refused(opcode),
            Opcode::BeginRun if me >= it.nprocs => it.run_refused(opcode),
            Opcode::SetPid => it.pid = data & 0xFF,
            Opcode::SetNprocs => it.nprocs = data,
            Opcode::BeginRun => {
                (it.begun, it.orphaned) = (true, false);
                it.largest = it.largest.max(it.nprocs);
            }
            Opcode::EndRun => it.begun = false,
            Opcode::WindowSize => it.window_size = Some(data),
            Opcode::XOffset => it.operands[0] = data,
            Opcode::XLaddr => it.operands[1] = data,
            Opcode::XLength => it.operands[2] = data,
            Opcode::XWindow => it.x_window = Some(data),
            Opcode::XTag => it.messages.tag = data,
            Opcode::XSend
            | Opcode::XAnnounce
            | Opcode::XReceive
            | Opcode::XProbe
            | Opcode::XCancel => match self.config.message_depth {
                0 => it.event(events::BAD_OPCODE),
                _ => self.message(index, opcode, data),
            },
            _ => {
                let put = opcode == Opcode::XPut;
                let status = self.extended(index, put, data).err().unwrap_or(Status::Ok);
                self.ranks[index].complete(x_commit::ID.get(data), status);
            }
        }
        true
    }

    fn extended(&mut self, index: usize, put: bool, commit: u32) -> Result<(), Status> {
        let it = &mut self.ranks[index];
        let [offset, local, length] = it.operands;
        let named = it.x_window.take();
        let slot = match named {
            None => Ok(x_commit::SLOT.get(commit)),
            Some(base) => it.slot_of(base).ok_or(Status::NotRegistered),
        };
        let begun = it.begun;
        let sent = (|| {
            if !begun {
                return Err(Status::NotBegun);
            }
            let slot = slot?;
            if u64::from(local) + u64::from(length) > u64::from(self.config.node_bytes) {
                return Err(Status::BadLocal);
            }
            Ok((slot, self.target(x_commit::DPID.get(commit))?))
        })();
        let (slot, target) = sent.inspect_err(|_| self.ranks[index].refused_out += 1)?;
        let remote = self.window(target, slot, offset, length, put)?;
        if put {
            self.copy(index, local, target, remote, length);
        } else {
            self.copy(target, remote, index, local, length);
        }
        Ok(())
    }

    /// Returns the rank with the PID `dpid`.
    fn target(&self, dpid: u32) -> Result<usize, Status> {
        target_of(&self.ranks, dpid)
            .filter(|&index| self.ranks[index].begun)
            .ok_or(Status::BadRank)
    }

    /// Checks an access at its target. Returns the address there.
    fn window(
        &mut self,
        target: usize,
        slot: u32,
        offset: u32,
        length: u32,
        write: bool,
    ) -> Result<u32, Status> {
        let it = &mut self.ranks[target];
        let checked = match it.table.get(slot as usize).copied().flatten() {
            None => Err(Status::BadSlot),
            Some(entry) if write && entry.deny_write => Err(Status::Denied),
            Some(entry) if !write && entry.deny_read => Err(Status::Denied),
            Some(entry) if u64::from(offset) + u64::from(length) > u64::from(entry.bytes) => {
                Err(Status::OutOfBounds)
            }
            Some(entry) => Ok(entry.base + offset),
        };
        checked.inspect_err(|_| it.refused_in += 1)
    }

    fn copy(&mut self, from: usize, source: u32, to: usize, destination: u32, length: u32) {
        let range = |start: u32| start as usize..start as usize + length as usize;
        let data = self.ranks[from].memory[range(source)].to_vec();
        self.ranks[to].memory[range(destination)].copy_from_slice(&data);
    }

    /// Executes a paper command: two entries of the queue and one of Data8.
    fn serve_paper(&mut self, index: usize, opcode: Opcode) -> bool {
        let it = &mut self.ranks[index];
        match it.queue.get(1) {
            None => return false,
            Some(&(second, _)) if second != opcode => {
                it.pop();
                it.event(events::BAD_OPCODE);
                return true;
            }
            Some(_) => {}
        }
        let Some([dpid, length, offset]) = it.data8.pop_front() else {
            return false;
        };
        let (desaddr, second) = (it.pop(), it.pop());
        if let Err(status) = self.paper(index, opcode, desaddr, second, dpid, length, offset) {
            let it = &mut self.ranks[index];
            it.refused_out += 1;
            it.paper_error(events::REFUSED, status, opcode as u32);
        }
        true
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the number of operands of the command"
    )]
    fn paper(
        &mut self,
        index: usize,
        opcode: Opcode,
        desaddr: u32,
        second: u32,
        dpid: u32,
        length: u32,
        offset: u32,
    ) -> Result<(), Status> {
        let it = &self.ranks[index];
        if !it.begun {
            return Err(Status::NotBegun);
        }
        let lengths = match opcode {
            Opcode::Put1 => 1..=1,
            Opcode::PutN => 2..=PAPER_MAX_WORDS,
            _ => 1..=PAPER_MAX_WORDS,
        };
        if !lengths.contains(&length) {
            return Err(Status::BadLength);
        }
        let destination = it.slot_of(desaddr).ok_or(Status::NotRegistered)?;
        let source = match opcode {
            Opcode::Get => it.slot_of(second).ok_or(Status::NotRegistered)?,
            _ => 0,
        };
        let bytes = 4 * length;
        let local = u64::from(second) + u64::from(bytes);
        if opcode == Opcode::PutN && local > u64::from(self.config.node_bytes) {
            return Err(Status::BadLocal);
        }
        let target = self.target(dpid)?;
        let put = match length {
            1 => PacketType::Put1,
            _ => PacketType::PutN,
        };
        if opcode == Opcode::Get {
            match self.window(target, source, 4 * offset, bytes, false) {
                Err(status) => self.dropped(target, status, PacketType::Get),
                Ok(from) => match self.window(index, destination, 0, bytes, true) {
                    Err(status) => self.dropped(index, status, put),
                    Ok(to) => self.copy(target, from, index, to, bytes),
                },
            }
            return Ok(());
        }
        match self.window(target, destination, 4 * offset, bytes, true) {
            Err(status) => self.dropped(target, status, put),
            Ok(to) if opcode == Opcode::Put1 => {
                self.ranks[target].memory[to as usize..][..4]
                    .copy_from_slice(&second.to_le_bytes());
            }
            Ok(to) => self.copy(index, second, target, to, bytes),
        }
        Ok(())
    }

    fn dropped(&mut self, at: usize, status: Status, packet: PacketType) {
        self.ranks[at].paper_error(events::DROPPED, status, packet as u32);
    }

    // ------------------------------------------------------------ collectives

    /// Ends a collective command when all ranks of the run have reached the same one. Returns
    /// whether one ended.
    fn meet(&mut self) -> bool {
        let begun: Vec<usize> = (0..self.ranks.len())
            .filter(|&index| self.ranks[index].begun)
            .collect();
        let Some(nprocs) = begun.first().map(|&index| self.ranks[index].nprocs) else {
            return false;
        };
        let kinds: Option<Vec<SyncKind>> = begun
            .iter()
            .map(|&index| &self.ranks[index])
            .map(|rank| rank.sync_kind().filter(|_| !rank.orphaned))
            .collect();
        let Some(kinds) = kinds.filter(|kinds| kinds.len() == nprocs as usize) else {
            return false;
        };
        let together = kinds.windows(2).all(|pair| pair[0] == pair[1]);
        let operands: Vec<(usize, u32)> = begun
            .into_iter()
            .map(|index| (index, self.ranks[index].sync.take().map_or(0, |it| it.1)))
            .collect();
        let result = match (together, kinds[0]) {
            (false, _) => Err(Status::Mismatch),
            (true, SyncKind::Barrier) => Ok(0),
            (true, SyncKind::Register) => self.register(&operands),
            (true, SyncKind::Deregister) => self.deregister(&operands),
        };
        for (&(index, _), kind) in operands.iter().zip(kinds) {
            let now = self.now;
            let it = &mut self.ranks[index];
            if kind == SyncKind::Barrier {
                it.end_barrier(now);
                if !together {
                    it.event(events::MISMATCH);
                }
                continue;
            }
            let (slot, status) = match result {
                Ok(slot) => (slot, Status::Ok),
                Err(status) => (0, status),
            };
            it.end_registration(slot, status);
        }
        true
    }

    fn register(&mut self, operands: &[(usize, u32)]) -> Result<u32, Status> {
        let node_bytes = self.config.node_bytes;
        let mut entries = Vec::new();
        for &(index, data) in operands {
            let it = &mut self.ranks[index];
            let base = data & !3;
            let rest = node_bytes.checked_sub(base);
            let asked = it.window_size.take();
            let bytes = rest.and_then(|rest| Some(asked.unwrap_or(rest)).filter(|&b| b <= rest));
            entries.push((index, base, bytes, data));
        }
        for &(index, base, bytes, _) in &entries {
            bytes.ok_or(Status::BadRange)?;
            if self.ranks[index].slot_of(base).is_some() {
                return Err(Status::Duplicate);
            }
        }
        let vacant = |slot: &usize| {
            operands
                .iter()
                .all(|&(index, _)| self.ranks[index].table[*slot].is_none())
        };
        let slot = (0..self.config.slots as usize)
            .find(vacant)
            .ok_or(Status::TableFull)?;
        for (index, base, bytes, data) in entries {
            self.ranks[index].table[slot] = bytes.map(|bytes| Entry {
                base,
                bytes,
                deny_read: data & 1 != 0,
                deny_write: data & 2 != 0,
            });
        }
        Ok(slot as u32)
    }

    fn deregister(&mut self, operands: &[(usize, u32)]) -> Result<u32, Status> {
        let slots: Option<Vec<u32>> = operands
            .iter()
            .map(|&(index, data)| self.ranks[index].slot_of(data & !3))
            .collect();
        let slots = slots.ok_or(Status::NotRegistered)?;
        if slots.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(Status::Mismatch);
        }
        for &(index, _) in operands {
            self.ranks[index].table[slots[0] as usize] = None;
        }
        Ok(slots[0])
    }
}
