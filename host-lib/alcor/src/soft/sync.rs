//! Barriers and registrations of a soft board, in which all ranks of the run meet.

use alcor_abi::rank::events;
use alcor_abi::{Status, SyncKind};

use super::State;
use super::rank::Entry;

impl State {
    /// Ends a collective command when all ranks of the run have reached the same one. Returns
    /// whether one ended.
    pub(super) fn meet(&mut self) -> bool {
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
