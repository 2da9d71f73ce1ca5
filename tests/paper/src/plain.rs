//! A board of plain memory, for measurements of the library alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use alcor::soft::SoftBoard;
use alcor::{
    Board, Causes, Cycle, Error, LocalRank, NodeAddr, Opcode, PageOffset, Port, Result, Status,
    Wake,
};
use alcor_abi::packets::{cq_entry, x_commit};
use alcor_abi::rank::{self, causes};
use alcor_abi::{CQ_ENTRY_BYTES, PAGE_BYTES};

/// Entries of the completion ring: the default.
const RING: u32 = 256;

/// A board whose registers and node memory are memory of this process. A put completes at its
/// commit, by the same ring entry that a board would write. The put moves no data.
///
/// A [`SoftBoard`] performs the steps before [`PlainBoard::begin`], such as the registration of a
/// window. After [`PlainBoard::begin`], only puts have an effect, and the run must end without
/// [`alcor::Rank::finish`].
pub struct PlainBoard {
    inner: Arc<SoftBoard>,
    is_plain: Arc<AtomicBool>,
}

impl PlainBoard {
    /// A board with one rank.
    #[must_use]
    pub fn new() -> Arc<PlainBoard> {
        Arc::new(PlainBoard {
            inner: SoftBoard::new(1),
            is_plain: Arc::default(),
        })
    }

    /// Switches the board to plain memory.
    pub fn begin(&self) {
        self.is_plain.store(true, Ordering::Relaxed);
    }
}

impl Board for PlainBoard {
    fn name(&self) -> &str {
        "plain memory"
    }

    fn read32(&self, offset: PageOffset) -> Result<u32> {
        self.inner.read32(offset)
    }

    fn write32(&self, offset: PageOffset, value: u32) -> Result<()> {
        self.inner.write32(offset, value)
    }

    fn reset(&self) -> Result<()> {
        self.inner.reset()
    }

    fn expect(&self, ports: u32) -> Result<()> {
        self.inner.expect(ports)
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>> {
        Ok(Box::new(PlainPort {
            inner: Arc::clone(&self.inner).attach(rank)?,
            is_plain: Arc::clone(&self.is_plain),
            plain: None,
        }))
    }

    fn traffic_digest(&self) -> Option<u32> {
        None
    }

    fn time_stands_still(&self) -> bool {
        true
    }
}

struct PlainPort {
    inner: Box<dyn Port>,
    is_plain: Arc<AtomicBool>,
    plain: Option<Plain>,
}

/// State of the plain board.
struct Plain {
    registers: [u32; PAGE_BYTES as usize / 4],
    ring: [u8; (RING * CQ_ENTRY_BYTES) as usize],
    head: u32,
    retired: u32,
}

impl PlainPort {
    /// The state, if the board is plain memory. Takes over the counters of the soft board.
    #[inline]
    fn plain(&mut self) -> Result<Option<&mut Plain>> {
        if self.plain.is_none() && self.is_plain.load(Ordering::Relaxed) {
            let mut registers = [0; PAGE_BYTES as usize / 4];
            registers[rank::CQ_WAKE as usize / 4] = self.inner.read32(PageOffset(rank::CQ_WAKE))?;
            self.plain = Some(Plain {
                registers,
                ring: [0; (RING * CQ_ENTRY_BYTES) as usize],
                head: self.inner.read32(PageOffset(rank::CQ_HEAD))?,
                retired: self.inner.read32(PageOffset(rank::RETIRED))?,
            });
        }
        Ok(self.plain.as_mut())
    }
}

const PUT: u32 = alcor_abi::command(Opcode::XPut);

impl Plain {
    fn write(&mut self, offset: u32, value: u32) {
        self.registers[offset as usize / 4] = value;
        // Command pages are below the registers.
        self.retired = self
            .retired
            .wrapping_add(u32::from(offset < rank::IDENTITY));
        if offset == PUT {
            let at = (self.head % RING * CQ_ENTRY_BYTES) as usize;
            let entry = cq_entry::STATUS.put(Status::Ok as u32)
                | cq_entry::COUNTED.mask()
                | cq_entry::ID.put(x_commit::ID.get(value));
            self.ring[at..at + 4].copy_from_slice(&entry.to_le_bytes());
            self.ring[at + 4..at + 8].copy_from_slice(&self.retired.to_le_bytes());
            self.head = self.head.wrapping_add(1);
        }
    }

    fn read(&self, offset: u32) -> u32 {
        match offset {
            rank::CQ_HEAD => self.head,
            rank::RETIRED => self.retired,
            rank::CAUSES => {
                let wake = self.registers[rank::CQ_WAKE as usize / 4];
                let is_reached = self.head.wrapping_sub(wake) as i32 >= 0;
                causes::COMPLETION.put(u32::from(is_reached))
            }
            _ => self.registers[offset as usize / 4],
        }
    }
}

fn beyond(at: NodeAddr, length: usize) -> Error {
    Error::BadNodeAddress {
        board: "plain memory".into(),
        rank: LocalRank(0),
        at,
        length: length as u64,
        node_bytes: RING * CQ_ENTRY_BYTES,
    }
}

impl Port for PlainPort {
    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<()> {
        match self.plain()? {
            Some(plain) => {
                plain.write(offset.0, value);
                Ok(())
            }
            None => self.inner.write32(offset, value),
        }
    }

    fn read32(&mut self, offset: PageOffset) -> Result<u32> {
        match self.plain()? {
            Some(plain) => Ok(plain.read(offset.0)),
            None => self.inner.read32(offset),
        }
    }

    fn read_board32(&mut self, offset: PageOffset) -> Result<u32> {
        self.inner.read_board32(offset)
    }

    fn write_memory(&mut self, at: NodeAddr, data: &[u8]) -> Result<()> {
        self.inner.write_memory(at, data)
    }

    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<()> {
        match self.plain()? {
            Some(plain) => {
                let from = at.0 as usize..at.0 as usize + data.len();
                let ring = plain.ring.get(from).ok_or_else(|| beyond(at, data.len()))?;
                data.copy_from_slice(ring);
                Ok(())
            }
            None => self.inner.read_memory(at, data),
        }
    }

    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake> {
        match self.plain()? {
            Some(plain) => Ok(match plain.read(rank::CAUSES) {
                0 => Wake::Deadline,
                raised => Wake::Raised(Causes(raised)),
            }),
            None => self.inner.wait(awaited, deadline),
        }
    }

    fn now(&mut self) -> Result<Cycle> {
        match self.plain()? {
            Some(plain) => Ok(Cycle(plain.head.into())),
            None => self.inner.now(),
        }
    }

    fn leave(&mut self) -> Result<()> {
        self.inner.leave()
    }
}
