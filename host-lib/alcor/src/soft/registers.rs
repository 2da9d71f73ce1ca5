//! The registers of a soft board: its page, and the page of each rank.

use alcor_abi::rank::{ack, events, identity, rank_reset, reset_state};
use alcor_abi::{Opcode, board, rank};

use super::State;
use super::rank::SoftRank;

/// Cycles in which the registration tables are cleared.
const CLEARING: u64 = 32;
const BEAT_BYTES: u32 = 4;
const PAYLOAD_WORDS: u32 = 64;
const DATA8_ENTRIES: usize = 64;

impl State {
    pub(super) fn read_board(&self, offset: u32) -> u32 {
        match offset {
            board::MAGIC => alcor_abi::MAGIC,
            board::ABI_VERSION => board::abi_version::MAJOR.put(alcor_abi::ABI_MAJOR),
            board::ABI_HASH => alcor_abi::ABI_HASH,
            board::CAPABILITIES => {
                let has_messages = u32::from(self.config.message_depth > 0);
                board::capabilities::RMA.mask()
                    | board::capabilities::ACCUMULATE.mask()
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

    pub(super) fn read(&self, index: usize, offset: u32) -> u32 {
        let it = &self.ranks[index];
        match offset {
            rank::IDENTITY => {
                identity::PID.put(it.pid)
                    | identity::NPROCS.put(it.nprocs)
                    | identity::BEGUN.put(u32::from(it.begun))
            }
            rank::CAUSES => it.causes(self.aborted.is_some()).0,
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

    pub(super) fn write(&mut self, index: usize, offset: u32, value: u32) {
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
            rank::CQ_BASE => (it.cq_base, it.cq_head) = (value, 0),
            rank::CQ_SIZE => it.cq_log2 = rank::cq_size::LOG2_ENTRIES.get(value),
            rank::CQ_TAIL => it.cq_tail = value,
            rank::CQ_WAKE => it.cq_wake = value,
            rank::RETIRED_WAKE => it.retired_wake = value,
            rank::MESSAGE_QUOTA | rank::MESSAGE_WAKE => it.messages.write(offset, value),
            _ => it.alpu.write(offset, value, now),
        }
    }

    /// Resets a rank. Other ranks lose only their operations with this rank.
    pub(super) fn reset_rank(&mut self, index: usize) {
        let (config, number) = (self.config, index as u32);
        let it = &mut self.ranks[index];
        let begun = it.begun;
        let fresh = SoftRank::new(&config, number, std::mem::take(&mut it.memory));
        let old = std::mem::replace(it, fresh);
        it.attached = old.attached;
        it.left = old.left;
        it.survives = old.survives;
        it.waiting = old.waiting;
        it.largest = old.largest;
        it.resets = (old.resets + 1) & 0xFF;
        self.drop_messages(index, old.pid, &old.messages);
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
}
