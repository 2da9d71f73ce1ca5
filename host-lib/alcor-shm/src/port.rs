//! The port of a rank, over its mailbox.

use alcor::{
    Causes, Cycle, Error, GlobalRank, LocalRank, NodeAddr, Note, PageOffset, Port, RankWait,
    RunView, Sight, Wake,
};

use crate::ShmError;
use crate::mailbox::{Ask, RankEnd};
use crate::wire;

/// A port of a board that another process simulates.
pub(crate) struct ShmPort {
    board: String,
    rank: u32,
    end: RankEnd,
    now: u64,
    wants_notes: bool,
    has_left: bool,
}

impl ShmPort {
    pub(crate) fn new(
        board: String,
        rank: u32,
        end: RankEnd,
        now: u64,
        wants_notes: bool,
    ) -> ShmPort {
        ShmPort {
            board,
            rank,
            end,
            now,
            wants_notes,
            has_left: false,
        }
    }

    fn ask(&mut self, ask: Ask) -> Result<u32, Error> {
        self.check_here()?;
        let answer = self.end.ask(ask);
        let answer = answer.map_err(|_| ShmError::Gone.on(&self.board))?;
        self.now = answer.now;
        answer.result.map_err(|fault| fault.into_error(&self.board))
    }

    fn check_here(&self) -> Result<(), Error> {
        if self.has_left {
            return Err(ShmError::HasLeft { rank: self.rank }.on(&self.board));
        }
        Ok(())
    }

    /// Returns the length of an access to node memory, if the mailbox has room for the data. The
    /// cluster checks the bounds.
    fn length(&self, at: NodeAddr, bytes: usize) -> Result<u32, Error> {
        let room = self.end.data_bytes();
        if bytes > room {
            return Err(Error::BadNodeAddress {
                board: self.board.clone(),
                rank: LocalRank(self.rank),
                at,
                length: bytes as u64,
                node_bytes: room as u32,
            });
        }
        Ok(bytes as u32)
    }
}

pub(crate) fn check_register(offset: PageOffset, board: &str) -> Result<(), Error> {
    let PageOffset(offset) = offset;
    if offset.is_multiple_of(4) && offset < alcor_abi::PAGE_BYTES {
        Ok(())
    } else {
        Err(ShmError::BadRegister { offset }.on(board))
    }
}

impl Port for ShmPort {
    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<(), Error> {
        self.check_here()?;
        check_register(offset, &self.board)?;
        if !self.end.has_room() {
            self.ask(Ask::Take)?;
        }
        self.end.post(offset.0, value);
        Ok(())
    }

    fn read32(&mut self, offset: PageOffset) -> Result<u32, Error> {
        check_register(offset, &self.board)?;
        self.ask(Ask::Read { offset: offset.0 })
    }

    fn read_board32(&mut self, offset: PageOffset) -> Result<u32, Error> {
        check_register(offset, &self.board)?;
        self.ask(Ask::ReadBoard { offset: offset.0 })
    }

    fn write_memory(&mut self, at: NodeAddr, data: &[u8]) -> Result<(), Error> {
        let bytes = self.length(at, data.len())?;
        // The length has been checked.
        let _ = self.end.store(data);
        self.ask(Ask::WriteMemory { at: at.0, bytes }).map(drop)
    }

    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<(), Error> {
        let bytes = self.length(at, data.len())?;
        self.ask(Ask::ReadMemory { at: at.0, bytes })?;
        // The length has been checked.
        let _ = self.end.load(data);
        Ok(())
    }

    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake, Error> {
        match self.ask(Ask::Wait {
            awaited: awaited.0,
            deadline: deadline.0,
        })? {
            0 => Ok(Wake::Deadline),
            raised => Ok(Wake::Raised(Causes(raised))),
        }
    }

    fn now(&mut self) -> Result<Cycle, Error> {
        Ok(Cycle(self.now))
    }

    fn deaths(&mut self) -> Result<Option<Vec<GlobalRank>>, Error> {
        let Some(count) = self.ask(Ask::Deaths)?.checked_sub(1) else {
            return Ok(None);
        };
        let mut words = vec![0; (4 * count as usize).min(self.end.data_bytes())];
        let is_there = self.end.load(&mut words);
        let ranks = words.as_chunks::<4>().0.iter();
        let ranks = ranks.map(|word| GlobalRank(u32::from_le_bytes(*word)));
        Ok(is_there.then(|| ranks.collect()))
    }

    fn leave(&mut self) -> Result<(), Error> {
        if self.has_left {
            return Ok(());
        }
        let left = self.ask(Ask::Leave);
        self.has_left = true;
        left.map(drop)
    }

    fn run_view(&mut self) -> Option<&mut dyn RunView> {
        Some(self)
    }
}

impl RunView for ShmPort {
    fn tell_wait(&mut self, wait: Option<&RankWait>) -> Result<(), Error> {
        let text = wait.map_or_else(Vec::new, wire::bytes_of_wait);
        // A text without room is not sent. The cluster then does not see the wait, and the watchdog
        // remains.
        let bytes = if self.end.store(&text) {
            text.len() as u32
        } else {
            0
        };
        self.ask(Ask::TellWait { bytes }).map(drop)
    }

    fn sight(&mut self) -> Result<Option<Sight>, Error> {
        let bytes = self.ask(Ask::Sight)? as usize;
        let mut text = vec![0; bytes.min(self.end.data_bytes())];
        let is_there = self.end.load(&mut text);
        Ok(wire::sight_of(&text).filter(|_| is_there))
    }

    fn wants_notes(&mut self) -> bool {
        self.wants_notes
    }

    fn note(&mut self, note: Note) {
        if !self.wants_notes {
            return;
        }
        if !self.end.has_room() {
            // If the cluster is gone, the next call reports the error.
            let _ = self.ask(Ask::Take);
        }
        self.end.note(note);
    }
}

impl Drop for ShmPort {
    /// Waits until the boards know that the port is gone, so that later calls of this process find
    /// that state.
    fn drop(&mut self) {
        if !self.has_left {
            // If the cluster is gone, so is the port.
            let _ = self.end.ask(Ask::Drop);
        }
    }
}
