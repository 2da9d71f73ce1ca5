//! A rank of a soft board: memory, tables, queues and completion ring.

use std::collections::VecDeque;

use crate::Causes;
use alcor_abi::packets::{cq_entry, x_commit};
use alcor_abi::rank::{causes, events, last_error, reg_result};
use alcor_abi::{CQ_ENTRY_BYTES, Field, Opcode, Status, SyncKind};

use super::SoftConfig;
use super::alpu::SoftAlpu;
use super::messages::SoftMessages;

/// An entry of a registration table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) base: u32,
    pub(super) bytes: u32,
    pub(super) deny_read: bool,
    pub(super) deny_write: bool,
}

#[derive(Debug)]
pub(super) struct SoftRank {
    pub(super) memory: Vec<u8>,
    pub(super) attached: bool,
    pub(super) left: bool,
    /// Whether the rank's port has asked for deaths.
    pub(super) survives: bool,
    pub(super) waiting: Option<u64>,
    pub(super) pid: u32,
    pub(super) nprocs: u32,
    pub(super) begun: bool,
    pub(super) queue: VecDeque<(Opcode, u32)>,
    /// A collective command that waits for the other ranks. Extended commands pass it.
    pub(super) sync: Option<(Opcode, u32)>,
    pub(super) data8: VecDeque<[u32; 3]>,
    pub(super) data8_part: Vec<u32>,
    /// Values of X_OFFSET, X_LADDR and X_LENGTH.
    pub(super) operands: [u32; 3],
    /// Values of X_OPERAND, X_OPERAND_HIGH, X_COMPARE and X_COMPARE_HIGH.
    pub(super) values: [u32; 4],
    pub(super) x_window: Option<u32>,
    pub(super) window_size: Option<u32>,
    pub(super) table: Vec<Option<Entry>>,
    pub(super) retired: u32,
    pub(super) retired_wake: u32,
    pub(super) cq_base: u32,
    pub(super) cq_log2: u32,
    pub(super) cq_head: u32,
    pub(super) cq_tail: u32,
    pub(super) cq_wake: u32,
    pub(super) barrier_done: bool,
    pub(super) registration_done: bool,
    pub(super) reg_result: u32,
    pub(super) events: u32,
    pub(super) last_error: u32,
    pub(super) refused_in: u32,
    pub(super) refused_out: u32,
    pub(super) barriers: u32,
    pub(super) epoch_began: Option<u64>,
    pub(super) epoch_cycles: u32,
    /// The causes that end the present wait.
    pub(super) awaited: Causes,
    /// Fields of RESET_STATE.
    pub(super) used: bool,
    pub(super) orphaned: bool,
    pub(super) largest: u32,
    pub(super) resets: u32,
    pub(super) alpu: SoftAlpu,
    pub(super) messages: SoftMessages,
}

impl SoftRank {
    pub(super) fn new(config: &SoftConfig, number: u32, memory: Vec<u8>) -> SoftRank {
        SoftRank {
            memory,
            attached: false,
            left: false,
            survives: false,
            waiting: None,
            pid: 0,
            nprocs: 0,
            begun: false,
            queue: VecDeque::new(),
            sync: None,
            data8: VecDeque::new(),
            data8_part: Vec::new(),
            operands: [0; 3],
            values: [0; 4],
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
            awaited: Causes::NONE,
            used: false,
            orphaned: false,
            largest: 0,
            resets: 0,
            alpu: SoftAlpu::of(number),
            messages: SoftMessages::default(),
        }
    }

    pub(super) fn event(&mut self, event: Field) {
        self.events |= event.mask();
    }

    /// Refuses BEGIN: the rank's number or the number of ranks is wrong.
    pub(super) fn run_refused(&mut self, opcode: Opcode) {
        self.paper_error(events::REFUSED, Status::BadRank, opcode as u32);
    }

    pub(super) fn paper_error(&mut self, event: Field, status: Status, opcode: u32) {
        self.event(event);
        self.last_error = last_error::STATUS.put(status as u32) | last_error::OPCODE.put(opcode);
    }

    pub(super) fn slot_of(&self, base: u32) -> Option<u32> {
        let holds = |entry: &Option<Entry>| entry.is_some_and(|entry| entry.base == base);
        self.table.iter().position(holds).map(|slot| slot as u32)
    }

    /// The slot that an extended command names, by its base or in its commit.
    pub(super) fn named_slot(&mut self, commit: u32) -> Result<u32, Status> {
        match self.x_window.take() {
            None => Ok(x_commit::SLOT.get(commit)),
            Some(base) => self.slot_of(base).ok_or(Status::NotRegistered),
        }
    }

    /// Enters the completion of an atomic operation: its old value, or the reason of a refusal.
    pub(super) fn end_atomic(&mut self, id: u32, done: Result<u64, Status>) {
        match done {
            Err(status) => self.complete(id, status),
            Ok(old) => {
                let entry = cq_entry::ID.put(id) | cq_entry::STATUS.put(Status::Ok as u32);
                self.enter(entry, &[old as u32, (old >> 32) as u32]);
            }
        }
    }

    /// The collective command that waits.
    pub(super) fn sync_kind(&self) -> Option<SyncKind> {
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
    pub(super) fn end_orphaned(&mut self, now: u64) -> bool {
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

    pub(super) fn end_barrier(&mut self, now: u64) {
        self.barrier_done = true;
        self.barriers += 1;
        self.epoch_cycles = (now - self.epoch_began.take().unwrap_or(now)) as u32;
    }

    pub(super) fn end_registration(&mut self, slot: u32, status: Status) {
        self.registration_done = true;
        self.reg_result = reg_result::SLOT.put(slot)
            | reg_result::STATUS.put(status as u32)
            | reg_result::COUNT.put(reg_result::COUNT.get(self.reg_result) + 1);
    }

    pub(super) fn pop(&mut self) -> u32 {
        self.retired = self.retired.wrapping_add(1);
        self.queue.pop_front().map_or(0, |(_, data)| data)
    }

    pub(super) fn complete(&mut self, id: u32, status: Status) {
        let entry = cq_entry::ID.put(id) | cq_entry::STATUS.put(status as u32);
        self.enter(entry, &[]);
    }

    /// Writes a ring entry of id, status and source, with the words behind the count. Words that are
    /// not given keep their values.
    pub(super) fn enter(&mut self, entry: u32, values: &[u32]) {
        let counted = [entry | cq_entry::COUNTED.mask(), self.retired];
        let words = counted.iter().chain(values);
        let entries = 1 << self.cq_log2;
        if self.cq_head.wrapping_sub(self.cq_tail) >= entries {
            self.event(events::CQ_OVERFLOW);
            return;
        }
        let at = u64::from(self.cq_base) + u64::from(self.cq_head % entries * CQ_ENTRY_BYTES);
        for (index, word) in words.enumerate() {
            let at = at as usize + 4 * index;
            if let Some(place) = self.memory.get_mut(at..at + 4) {
                place.copy_from_slice(&word.to_le_bytes());
            }
        }
        self.cq_head = self.cq_head.wrapping_add(1);
    }

    pub(super) fn causes(&self, aborted: bool) -> Causes {
        let reached = |count: u32, wake: u32| count.wrapping_sub(wake) as i32 >= 0;
        let bit = |cause: Field, raised: bool| cause.put(u32::from(raised));
        Causes(
            bit(causes::COMPLETION, reached(self.cq_head, self.cq_wake))
                | bit(causes::BARRIER, self.barrier_done)
                | bit(causes::REGISTRATION, self.registration_done)
                | bit(causes::ABORTED, aborted)
                | bit(causes::EVENT, self.events != 0)
                | bit(causes::CREDIT, reached(self.retired, self.retired_wake))
                | bit(causes::CROWDED, self.messages.is_crowded()),
        )
    }
}

/// Returns the rank with the PID `pid`, once that rank has set its PID.
pub(super) fn target_of(ranks: &[SoftRank], pid: u32) -> Option<usize> {
    let is = |rank: &SoftRank| rank.nprocs > 0 && rank.pid == pid;
    ranks.iter().position(is)
}
