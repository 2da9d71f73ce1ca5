//! The boards of a run of processes: the board of this process, and those of the others.

use std::sync::Arc;

use alcor::{Board, BoardLayer, GlobalRank, LocalRank, PageOffset, Port, PortLayer, Result};

use crate::ClusterError;
use crate::rendezvous::Member;

/// Words of the ID block and of the registers beside it.
const WORDS: u32 = 32;

/// The board of this process. Its port tells the other processes when its rank leaves the run or
/// dies.
pub(crate) struct JoinedBoard {
    below: Arc<dyn Board>,
    member: Arc<Member>,
}

impl JoinedBoard {
    pub(crate) fn new(below: Arc<dyn Board>, member: Arc<Member>) -> JoinedBoard {
        JoinedBoard { below, member }
    }
}

impl BoardLayer for JoinedBoard {
    fn below(&self) -> &Arc<dyn Board> {
        &self.below
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>> {
        Ok(Box::new(JoinedPort {
            below: Arc::clone(&self.below).attach(rank)?,
            member: Arc::clone(&self.member),
        }))
    }
}

struct JoinedPort {
    below: Box<dyn Port>,
    member: Arc<Member>,
}

impl PortLayer for JoinedPort {
    fn below(&mut self) -> &mut dyn Port {
        &mut *self.below
    }

    /// `None`: no process can reset the rank of a process on another host.
    fn deaths(&mut self) -> Result<Option<Vec<GlobalRank>>> {
        Ok(None)
    }

    fn leave(&mut self) -> Result<()> {
        self.below.leave()?;
        self.member.leave();
        Ok(())
    }
}

impl Drop for JoinedPort {
    fn drop(&mut self) {
        // After `leave`, this has no effect. Otherwise the rank has died.
        self.member.close();
    }
}

/// The board of another process: its ID block.
pub(crate) struct RemoteBoard {
    name: String,
    words: Vec<u32>,
}

impl RemoteBoard {
    /// The registers of `board` that the other processes need, as text.
    pub(crate) fn words(board: &dyn Board) -> Result<String> {
        let words = (0..WORDS).map(|word| {
            let value = board.read32(PageOffset(4 * word))?;
            Ok(format!("{value:x}"))
        });
        Ok(words.collect::<Result<Vec<_>>>()?.join(","))
    }

    /// The board of these registers. A word that can't be read counts as zero, which is no ID block.
    pub(crate) fn new(name: &str, words: &str) -> RemoteBoard {
        let word = |text| u32::from_str_radix(text, 16).unwrap_or(0);
        RemoteBoard {
            name: name.to_owned(),
            words: words.split(',').map(word).collect(),
        }
    }

    fn elsewhere<T>(&self, operation: &'static str) -> Result<T> {
        let board = self.name.clone();
        Err(ClusterError::Elsewhere { board, operation }.on(&self.name))
    }
}

impl Board for RemoteBoard {
    fn name(&self) -> &str {
        &self.name
    }

    fn read32(&self, offset: PageOffset) -> Result<u32> {
        match self.words.get((offset.0 / 4) as usize) {
            Some(&word) => Ok(word),
            None => self.elsewhere("read this register"),
        }
    }

    fn write32(&self, _: PageOffset, _: u32) -> Result<()> {
        self.elsewhere("write registers")
    }

    fn reset(&self) -> Result<()> {
        self.elsewhere("reset the board")
    }

    fn expect(&self, _: u32) -> Result<()> {
        self.elsewhere("begin a run")
    }

    fn attach(self: Arc<Self>, _: LocalRank) -> Result<Box<dyn Port>> {
        self.elsewhere("attach to a rank")
    }

    fn traffic_digest(&self) -> Option<u32> {
        None
    }

    fn time_stands_still(&self) -> bool {
        false
    }
}
