//! The atomic operations and accumulates of a soft board.

use alcor_abi::packets::{x_commit, x_reduction};
use alcor_abi::{AccumulateOperation, AtomicOperation, Datatype, Opcode, Status};

use super::State;
use crate::operation::{Combine, combine_bytes};
use crate::{AccumulateOperation as Accumulation, Operation};

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

    /// Carries an accumulate out.
    pub(super) fn accumulate(
        &mut self,
        index: usize,
        fetches: bool,
        commit: u32,
    ) -> Result<(), Status> {
        let it = &mut self.ranks[index];
        let [offset, local, length] = it.operands;
        let [reduction, old_at, ..] = it.values;
        let operation = AccumulateOperation::from_bits(x_reduction::OPERATION.get(reduction));
        let datatype = Datatype::from_bits(x_reduction::DATATYPE.get(reduction));
        let slot = it.named_slot(commit);
        let begun = it.begun;
        let sent = (|| {
            if !begun {
                return Err(Status::NotBegun);
            }
            let slot = slot?;
            let target = self.target(x_commit::DPID.get(commit))?;
            let how = combination(operation, datatype).ok_or(Status::BadOperation)?;
            let bytes = match datatype {
                Some(Datatype::F64 | Datatype::I64 | Datatype::U64) => 8,
                _ => 4,
            };
            let is_aligned = |at: u32| at.is_multiple_of(bytes);
            if !is_aligned(offset) || !is_aligned(length) || (fetches && !old_at.is_multiple_of(4))
            {
                return Err(Status::BadAlignment);
            }
            let fits =
                |at: u32| u64::from(at) + u64::from(length) <= u64::from(self.config.node_bytes);
            if !fits(local) || (fetches && !fits(old_at)) {
                return Err(Status::BadLocal);
            }
            Ok((slot, target, how))
        })();
        let (slot, target, (operation, combine)) =
            sent.inspect_err(|_| self.ranks[index].refused_out += 1)?;
        let both = |entry: super::rank::Entry| entry.deny_read || entry.deny_write;
        let at = self.checked(target, slot, offset, length, both)?;
        let range = |start: u32| start as usize..start as usize + length as usize;
        let new = self.ranks[index].memory[range(local)].to_vec();
        let old = self.ranks[target].memory[range(at)].to_vec();
        let elements = &mut self.ranks[target].memory[range(at)];
        match operation {
            Accumulation::Reduce(operation) => combine(operation, elements, &new),
            Accumulation::Replace => elements.copy_from_slice(&new),
            Accumulation::Keep => {}
        }
        if fetches {
            self.ranks[index].memory[range(old_at)].copy_from_slice(&old);
        }
        Ok(())
    }
}

/// The operation of an accumulate, and the function that combines elements of the type. `None` if the
/// type does not have the operation.
fn combination(
    operation: Option<AccumulateOperation>,
    datatype: Option<Datatype>,
) -> Option<(Accumulation, Combine)> {
    let datatype = datatype?;
    let combine = match datatype {
        Datatype::F64 => combine_bytes::<f64>,
        Datatype::F32 => combine_bytes::<f32>,
        Datatype::I64 => combine_bytes::<i64>,
        Datatype::I32 => combine_bytes::<i32>,
        Datatype::U64 => combine_bytes::<u64>,
        Datatype::U32 => combine_bytes::<u32>,
        Datatype::Software => return None,
    };
    let reduction = match operation? {
        AccumulateOperation::Replace => return Some((Accumulation::Replace, combine)),
        AccumulateOperation::None => return Some((Accumulation::Keep, combine)),
        AccumulateOperation::Sum => Operation::Sum,
        AccumulateOperation::Min => Operation::Min,
        AccumulateOperation::Max => Operation::Max,
        AccumulateOperation::Prod => Operation::Prod,
        AccumulateOperation::Band => Operation::Band,
        AccumulateOperation::Bor => Operation::Bor,
        AccumulateOperation::Bxor => Operation::Bxor,
    };
    let is_float = matches!(datatype, Datatype::F64 | Datatype::F32);
    (!is_float || !reduction.is_bitwise()).then_some((Accumulation::Reduce(reduction), combine))
}
