//! The ports of a soft board.

use std::sync::{Arc, MutexGuard, PoisonError};

use super::{SoftBoard, State};
use crate::{
    Causes, Cycle, Error, GlobalRank, LocalRank, NodeAddr, PageOffset, Port, Result, Wake,
};

pub(super) struct SoftPort {
    pub(super) board: Arc<SoftBoard>,
    pub(super) index: usize,
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

    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake> {
        let mut state = self.enter()?;
        state.ranks[self.index].awaited = awaited;
        state.ranks[self.index].waiting = Some(deadline.0);
        let wake = loop {
            state.advance(self.index);
            self.board.changed.notify_all();
            if let Some(rank) = state.died {
                break Err(self.board.peer_died(rank));
            }
            let raised = state.raised(self.index);
            if raised.meets(awaited) {
                break Ok(Wake::Raised(raised));
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

    fn deaths(&mut self) -> Result<Option<Vec<GlobalRank>>> {
        let mut state = self.enter()?;
        state.ranks[self.index].survives = true;
        Ok(Some(state.survived.clone()))
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
            state.die(self.index);
        }
        state.ranks[self.index].attached = false;
        self.board.changed.notify_all();
    }
}
