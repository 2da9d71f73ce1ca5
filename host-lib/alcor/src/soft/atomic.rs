//! The atomic operations of a soft board.

use alcor_abi::packets::x_commit;
use alcor_abi::{AtomicOperation, Opcode, Status};

use super::State;

/// Combines two values of as many bits as `T` has.
macro_rules! combine {
    ($signed:ty, $unsigned:ty, $operation:expr, $old:expr, $value:expr, $compare:expr) => {{
        let (old, value) = ($old as $unsigned, $value as $unsigned);
        u64::from(match $operation {
            AtomicOperation::Swap => value,
            AtomicOperation::CompareSwap if old == $compare as $unsigned => value,
            AtomicOperation::CompareSwap => old,
            AtomicOperation::Add => old.wrapping_add(value),
            AtomicOperation::And => old & value,
            AtomicOperation::Or => old | value,
            AtomicOperation::Xor => old ^ value,
            AtomicOperation::Min => (old as $signed).min(value as $signed) as $unsigned,
            AtomicOperation::Max => (old as $signed).max(value as $signed) as $unsigned,
            AtomicOperation::MinUnsigned => old.min(value),
            AtomicOperation::MaxUnsigned => old.max(value),
        })
    }};
}

impl State {
    /// Carries an atomic operation out. Returns the word as it was before.
    pub(super) fn atomic(
        &mut self,
        index: usize,
        opcode: Opcode,
        commit: u32,
    ) -> Result<u64, Status> {
        let (operation, is_wide) = opcode.atomic().ok_or(Status::BadCommand)?;
        let bytes = if is_wide { 8 } else { 4 };
        let it = &mut self.ranks[index];
        let slot = it.named_slot(commit);
        let offset = it.operands[0];
        let [low, high, compare_low, compare_high] = it.values.map(u64::from);
        let (value, compare) = (high << 32 | low, compare_high << 32 | compare_low);
        let begun = it.begun;
        let sent = (|| {
            if !begun {
                return Err(Status::NotBegun);
            }
            let slot = slot?;
            let target = self.target(x_commit::DPID.get(commit))?;
            if !offset.is_multiple_of(bytes) {
                return Err(Status::BadAlignment);
            }
            Ok((slot, target))
        })();
        let (slot, target) = sent.inspect_err(|_| self.ranks[index].refused_out += 1)?;
        let both = |entry: super::rank::Entry| entry.deny_read || entry.deny_write;
        let at = self.checked(target, slot, offset, bytes, both)? as usize;
        let word = &mut self.ranks[target].memory[at..at + bytes as usize];
        let mut old = [0; 8];
        old[..word.len()].copy_from_slice(word);
        let old = u64::from_le_bytes(old);
        let new = if is_wide {
            combine!(i64, u64, operation, old, value, compare)
        } else {
            combine!(i32, u32, operation, old, value, compare)
        };
        word.copy_from_slice(&new.to_le_bytes()[..bytes as usize]);
        Ok(old)
    }
}
