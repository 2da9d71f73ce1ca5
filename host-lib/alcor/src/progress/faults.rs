//! Events, aborts, and their errors.

use alcor_abi::board::rank_state;
use alcor_abi::rank::{events, reset_state};
use alcor_abi::{Opcode, board, rank};

use super::Progress;
use crate::board::Sight;
use crate::events::{Events, LastError};
use crate::watchdog::{Awaited, RankState};
use crate::{
    AbortReason, Cycle, Error, GlobalRank, LinkState, LocalRank, PageOffset, RankWait, Result,
};

/// Maximum length of the wait for the calls of other ranks after a mismatch, in cycles. The ranks of
/// a run detect a mismatch within the latency of the links between them.
const CALLS_LIMIT: u64 = 2048;
/// Cycles for which a rank that knows all calls still declares its own call.
const CALLS_LINGER: u64 = 256;
/// Cycles between two polls of the declared calls.
const CALLS_PAUSE: u64 = 32;

impl Progress {
    pub(super) fn take_events(&mut self) -> Result<()> {
        let bits = self.read(rank::EVENTS)?;
        if bits == 0 {
            return Ok(());
        }
        if bits & (events::REFUSED.mask() | events::DROPPED.mask()) != 0 {
            self.events.last_error = Some(LastError::from_bits(self.read(rank::LAST_ERROR)?));
        }
        self.events.bits |= bits;
        self.faults |= bits;
        self.write(rank::ACK_EVENTS, bits)
    }

    /// Returns all events since the last call. These events no longer fail the next call.
    pub(crate) fn events(&mut self) -> Result<Events> {
        self.take_events()?;
        self.faults = 0;
        Ok(std::mem::take(&mut self.events))
    }

    pub(super) fn take_abort(&mut self) -> Result<()> {
        let status = self.read_board(board::STATUS)?;
        let by = GlobalRank(board::status::ABORT_RANK.get(status));
        let reason = AbortReason(board::status::ABORT_REASON.get(status) as u8);
        self.aborted = Some((by, reason));
        Ok(())
    }

    /// Returns whether this rank knows that the run is aborted.
    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted.is_some()
    }

    /// Ends the run for every rank.
    pub(crate) fn abort(&mut self, reason: AbortReason) -> Result<()> {
        if self.aborted.is_none() {
            self.aborted = Some((self.me, reason));
            self.post(Opcode::Abort, u32::from(reason.0))?;
        }
        Ok(())
    }

    /// Carries out `act`, which must not end in the middle while the run goes on. The run goes on after EVENTS.malformed and
    /// EVENTS.unrouted, so these events fail no wait of `act`, but the next wait.
    pub(crate) fn undivided<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        let is_within = std::mem::replace(&mut self.is_undivided, true);
        let result = act(self);
        self.is_undivided = is_within;
        result
    }

    /// Fails if the run was aborted, or an event reports a defect.
    pub(crate) fn check(&mut self) -> Result<()> {
        if let Some((by, reason)) = self.aborted {
            return Err(Error::Aborted { by, reason });
        }
        let rank = self.me;
        let is_set = |event: alcor_abi::Field| event.get(self.faults) != 0;
        let (event, error) = if is_set(events::OVERFLOW) {
            let told_by = "EVENTS.overflow";
            (events::OVERFLOW, Error::CommandLost { rank, told_by })
        } else if is_set(events::CQ_OVERFLOW) {
            (events::CQ_OVERFLOW, Error::CompletionLost { rank })
        } else if is_set(events::DAMAGED) {
            (events::DAMAGED, Error::PacketDamaged { rank })
        } else if self.is_undivided {
            return Ok(());
        } else if is_set(events::MALFORMED) {
            (events::MALFORMED, Error::MalformedPacket { rank })
        } else if is_set(events::UNROUTED) {
            (events::UNROUTED, Error::PacketUnrouted { rank })
        } else {
            return Ok(());
        };
        self.faults &= !event.mask();
        Err(error)
    }

    /// Fails if ranks were in different collective operations. Called when a collective operation
    /// has ended.
    pub(crate) fn check_mismatch(&mut self, awaited: Awaited) -> Result<()> {
        if events::MISMATCH.get(self.faults) == 0 {
            return Ok(());
        }
        Err(self.mismatch(awaited))
    }

    /// Returns the error of a barrier that can't end.
    pub(super) fn barrier_mismatch(&mut self, awaited: Awaited) -> Error {
        self.barriers = 0;
        self.mismatch(awaited)
    }

    /// Returns the error of a collective operation that has ended with a mismatch.
    pub(crate) fn mismatch(&mut self, awaited: Awaited) -> Error {
        // The event of a barrier, or of a barrier of the kernel, reports the same mismatch.
        self.faults &= !events::MISMATCH.mask();
        let rank = self.me;
        match self.read(rank::RESET_STATE) {
            Err(error) => error,
            Ok(state) if reset_state::ORPHANED.get(state) != 0 => {
                Error::PeerReset { rank, awaited }
            }
            Ok(_) => {
                // An error here only limits the contents of the error that the caller gets.
                let others = self.calls_at_mismatch(&awaited).unwrap_or_default();
                Error::CollectiveMismatch {
                    rank,
                    awaited,
                    others,
                }
            }
        }
    }

    /// Declares the call of this rank after a mismatch, and returns the calls that the other ranks
    /// declare. The result is empty if the backend does not see the whole run.
    fn calls_at_mismatch(&mut self, awaited: &Awaited) -> Result<Vec<RankWait>> {
        if self.sight()?.is_none() {
            return Ok(Vec::new());
        }
        let call = RankWait {
            is_over: true,
            ..RankWait::of(self.me, self.nprocs, awaited, true)
        };
        self.tell_wait(Some(&call))?;
        let found = self.declared_calls();
        self.tell_wait(None)?;
        found
    }

    /// Waits for the calls that the other ranks declare, and returns them.
    fn declared_calls(&mut self) -> Result<Vec<RankWait>> {
        let mut found: Vec<RankWait> = Vec::new();
        let others = (self.nprocs as usize).saturating_sub(1);
        let pause = |_| CALLS_PAUSE;
        self.poll_for_calls(CALLS_LIMIT, CALLS_LINGER, pause, |progress, _| {
            // A rank that has seen all calls may leave while others look.
            if found.len() < others
                && let Some(sight) = progress.sight()?
            {
                found = sight.waits;
                found.retain(|wait| wait.is_over && wait.rank != progress.me);
            }
            Ok(found.len() >= others)
        })?;
        Ok(found)
    }

    pub(super) fn watchdog(
        &mut self,
        awaited: Awaited,
        began: Cycle,
        at: Cycle,
        sight: Option<Sight>,
    ) -> Error {
        let cycles = at.0.saturating_sub(began.0);
        let moved = sight.as_ref().map_or(0, |sight| sight.moved);
        let still = cycles.min(at.0.saturating_sub(moved));
        let mut waits = sight.map_or_else(Vec::new, |sight| sight.waits);
        waits.retain(|wait| !wait.is_over);
        let awaited = match self.with_kernel_state(awaited) {
            Ok(awaited) => awaited,
            Err(error) => return error,
        };
        let queues = match awaited {
            Awaited::Message(_) => self.read(rank::MESSAGE_QUEUES),
            _ => Ok(0),
        };
        match queues.and_then(|queues| Ok((queues, self.rank_states()?, self.links()?))) {
            Err(error) => error,
            Ok((queues, states, links)) => Error::Watchdog {
                rank: self.me,
                awaited: awaited.seen_in(queues, &states),
                cycles,
                still,
                at,
                states: states.into(),
                waits: waits.into(),
                links: links.into(),
            },
        }
    }

    /// The state of the link ends, if this process has the boards.
    fn links(&self) -> Result<Vec<LinkState>> {
        let cluster = self.cluster.as_ref();
        cluster.map_or(Ok(Vec::new()), |cluster| cluster.links())
    }

    /// Reads the states of the ranks of the run: those of this board, and those of the other boards
    /// if this process has them.
    pub(crate) fn rank_states(&mut self) -> Result<Vec<RankState>> {
        let boards = match &self.cluster {
            Some(cluster) => cluster.boards().len() as u32,
            None => 1 + self.board,
        };
        let mut states = Vec::new();
        for board in 0..boards {
            for local in 0..self.info.ranks.min(board::RANK_STATE_COUNT) {
                let Some(state) = self.rank_state(board, LocalRank(local))? else {
                    continue;
                };
                if state.begun() || board * self.info.ranks + local < self.nprocs {
                    states.push(state);
                }
            }
        }
        Ok(states)
    }

    fn rank_state(&mut self, board: u32, local: LocalRank) -> Result<Option<RankState>> {
        let here = board == self.board;
        let other = self
            .cluster
            .as_ref()
            .and_then(|cluster| cluster.boards().get(board as usize))
            .cloned();
        let mut read = |register| {
            let offset = PageOffset(register + 4 * local.0);
            match &other {
                _ if here => self.port.read_board32(offset).map(Some),
                Some(other) => other.read32(offset).map(Some),
                None => Ok(None),
            }
        };
        let Some(mut bits) = read(board::RANK_STATE)? else {
            return Ok(None);
        };
        if rank_state::BEGUN.get(bits) == 0 {
            let pid = board * self.info.ranks + local.0;
            bits = bits & !rank_state::PID.mask() | rank_state::PID.put(pid);
        }
        let posted = if self.info.has_switch() {
            read(board::POSTED)?.unwrap_or(0)
        } else {
            0
        };
        Ok(Some(RankState {
            board,
            local,
            bits,
            posted,
        }))
    }
}
