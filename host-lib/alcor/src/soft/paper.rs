//! The paper commands of a soft board.

use alcor_abi::rank::events;
use alcor_abi::{Opcode, PAPER_MAX_WORDS, PacketType, Status};

use super::State;

impl State {
    /// Executes a paper command: two entries of the queue and one of Data8.
    pub(super) fn serve_paper(&mut self, index: usize, opcode: Opcode) -> bool {
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
}
