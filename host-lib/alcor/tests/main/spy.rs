//! A board that logs the library's accesses, and may return false values of registers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use alcor::{
    Board, BoardLayer, Causes, Cycle, Error, LocalRank, NodeAddr, Note, PageOffset, Port,
    PortLayer, RankWait, Result, RunView, Sight, Wake,
};
use alcor_abi::CQ_ENTRY_BYTES;
use alcor_abi::packets::cq_entry;

/// An access of the library to a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Write(u32, u32),
    Read(u32),
    ReadMemory(u32, usize),
    /// Only if writes of memory are wanted.
    WriteMemory(u32, usize),
    /// Bits of the awaited causes.
    Wait(u32),
    /// Only if notes are wanted.
    Note(Note),
}

pub type Log = Arc<Mutex<Vec<Access>>>;

pub struct Spy {
    below: Arc<dyn Board>,
    /// Values that registers of the board's page return instead of their own.
    pub lies: HashMap<u32, u32>,
    /// Whether the ports record notes.
    pub wants_notes: bool,
    /// Whether the log has writes of memory.
    pub wants_writes: bool,
    /// Whether entries of the completion ring have no count, and an old value in its place. The
    /// program must read no other memory.
    pub uncounts: bool,
    /// The rank whose accesses are logged; `None` logs the accesses to any port.
    pub rank: Option<LocalRank>,
    pub log: Log,
}

impl Spy {
    pub fn new(below: Arc<dyn Board>) -> Spy {
        Spy {
            below,
            lies: HashMap::new(),
            wants_notes: false,
            wants_writes: false,
            uncounts: false,
            rank: None,
            log: Log::default(),
        }
    }
}

impl BoardLayer for Spy {
    fn below(&self) -> &Arc<dyn Board> {
        &self.below
    }

    fn name(&self) -> &str {
        "spy"
    }
    fn read32(&self, offset: PageOffset) -> Result<u32> {
        match self.lies.get(&offset.0) {
            Some(&lie) => Ok(lie),
            None => self.below.read32(offset),
        }
    }
    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>> {
        let below = Arc::clone(&self.below).attach(rank)?;
        if self.rank.is_some_and(|logged| logged != rank) {
            return Ok(below);
        }
        Ok(Box::new(SpyPort {
            below,
            wants_notes: self.wants_notes,
            wants_writes: self.wants_writes,
            uncounts: self.uncounts,
            lies: self.lies.clone(),
            log: Arc::clone(&self.log),
        }))
    }
}

struct SpyPort {
    below: Box<dyn Port>,
    wants_notes: bool,
    wants_writes: bool,
    uncounts: bool,
    lies: HashMap<u32, u32>,
    log: Log,
}

impl SpyPort {
    fn saw(&self, access: Access) {
        self.log.lock().unwrap().push(access);
    }
}

impl PortLayer for SpyPort {
    fn below(&mut self) -> &mut dyn Port {
        &mut *self.below
    }

    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<(), Error> {
        self.saw(Access::Write(offset.0, value));
        self.below.write32(offset, value)
    }
    fn read32(&mut self, offset: PageOffset) -> Result<u32, Error> {
        self.saw(Access::Read(offset.0));
        self.below.read32(offset)
    }
    fn read_board32(&mut self, offset: PageOffset) -> Result<u32, Error> {
        match self.lies.get(&offset.0) {
            Some(&lie) => Ok(lie),
            None => self.below.read_board32(offset),
        }
    }
    fn write_memory(&mut self, at: NodeAddr, data: &[u8]) -> Result<(), Error> {
        if self.wants_writes {
            self.saw(Access::WriteMemory(at.0, data.len()));
        }
        self.below.write_memory(at, data)
    }
    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<(), Error> {
        self.saw(Access::ReadMemory(at.0, data.len()));
        self.below.read_memory(at, data)?;
        if self.uncounts {
            for entry in data.as_chunks_mut::<{ CQ_ENTRY_BYTES as usize }>().0 {
                entry[0] &= !(cq_entry::COUNTED.mask() as u8);
                entry[4..8].copy_from_slice(&0x4000_0000u32.to_le_bytes());
            }
        }
        Ok(())
    }
    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake, Error> {
        self.saw(Access::Wait(awaited.0));
        self.below.wait(awaited, deadline)
    }
    fn run_view(&mut self) -> Option<&mut dyn RunView> {
        Some(self)
    }
}

impl RunView for SpyPort {
    fn wants_notes(&mut self) -> bool {
        self.wants_notes
    }
    fn note(&mut self, note: Note) {
        self.saw(Access::Note(note));
    }
    fn tell_wait(&mut self, _: Option<&RankWait>) -> Result<(), Error> {
        Ok(())
    }
    fn sight(&mut self) -> Result<Option<Sight>, Error> {
        Ok(None)
    }
}
