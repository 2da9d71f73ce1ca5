//! The commands of a soft board: execution of the queues, puts and gets.

use alcor_abi::packets::{x_commit, x_message};
use alcor_abi::rank::events;
use alcor_abi::{Opcode, Status};

use super::rank::Entry;
use super::{State, target_of};

/// Returns whether a command passes a collective command that waits: extended commands do. A lookup
/// of a window does not: the collective command may change the table.
fn passes(opcode: Opcode) -> bool {
    use Opcode::*;
    opcode.atomic().is_some()
        || matches!(
            opcode,
            XOffset
                | XLaddr
                | XLength
                | XTag
                | XOperand
                | XOperandHigh
                | XCompare
                | XCompareHigh
                | XPut
                | XGet
                | XAccumulate
                | XFetchAccumulate
                | XSend
                | XAnnounce
                | XReceive
                | XProbe
                | XCancel
        )
}

impl State {
    /// Executes the queued commands of rank `caller` and of all ranks that wait.
    pub(super) fn advance(&mut self, caller: usize) {
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
                let (nprocs, orphaned) = (it.nprocs, it.orphaned);
                let is_absent = target < nprocs && target_of(&self.ranks, target).is_none();
                if is_absent && orphaned {
                    // A rank was reset, perhaps this one.
                    let it = &mut self.ranks[index];
                    it.pop();
                    it.complete(x_message::ID.get(data), Status::RankReset);
                    return true;
                }
                if is_absent {
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
            Opcode::XOperand => it.values[0] = data,
            Opcode::XOperandHigh => it.values[1] = data,
            Opcode::XCompare => it.values[2] = data,
            Opcode::XCompareHigh => it.values[3] = data,
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
            _ if opcode.atomic().is_some() => {
                let done = self.atomic(index, opcode, data);
                self.ranks[index].end_atomic(x_commit::ID.get(data), done);
            }
            Opcode::XAccumulate | Opcode::XFetchAccumulate => {
                let fetches = opcode == Opcode::XFetchAccumulate;
                let status = self.accumulate(index, fetches, data).err();
                self.ranks[index].complete(x_commit::ID.get(data), status.unwrap_or(Status::Ok));
            }
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
        let slot = it.named_slot(commit);
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
    pub(super) fn target(&self, dpid: u32) -> Result<usize, Status> {
        target_of(&self.ranks, dpid)
            .filter(|&index| self.ranks[index].begun)
            .ok_or(Status::BadRank)
    }

    /// Checks a put or get at its target. Returns the address there.
    pub(super) fn window(
        &mut self,
        target: usize,
        slot: u32,
        offset: u32,
        length: u32,
        write: bool,
    ) -> Result<u32, Status> {
        self.checked(target, slot, offset, length, |entry| {
            if write {
                entry.deny_write
            } else {
                entry.deny_read
            }
        })
    }

    /// Checks an access at its target. Returns the address there.
    pub(super) fn checked(
        &mut self,
        target: usize,
        slot: u32,
        offset: u32,
        length: u32,
        denied: impl Fn(Entry) -> bool,
    ) -> Result<u32, Status> {
        let it = &mut self.ranks[target];
        let checked = match it.table.get(slot as usize).copied().flatten() {
            None => Err(Status::BadSlot),
            Some(entry) if u64::from(offset) + u64::from(length) > u64::from(entry.bytes) => {
                Err(Status::OutOfBounds)
            }
            Some(entry) if denied(entry) => Err(Status::Denied),
            Some(entry) => Ok(entry.base + offset),
        };
        checked.inspect_err(|_| it.refused_in += 1)
    }

    pub(super) fn copy(
        &mut self,
        from: usize,
        source: u32,
        to: usize,
        destination: u32,
        length: u32,
    ) {
        let range = |start: u32| start as usize..start as usize + length as usize;
        let data = self.ranks[from].memory[range(source)].to_vec();
        self.ranks[to].memory[range(destination)].copy_from_slice(&data);
    }
}
