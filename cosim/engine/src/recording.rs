//! What a board was told, to be told again without a library: what a model costs by itself.

use std::time::Duration;

use crate::chip::MemoryWrite;

/// All that the host's side told a board from a reset on; see [`SimBoard::record`](crate::SimBoard::record).
#[derive(Debug, Clone)]
pub struct BoardRecording {
    pub(crate) calls: verimodel::Recording,
    /// Writes to the board's page before it began.
    pub(crate) settings: Vec<(u32, u32)>,
    /// Node memory of each rank when recording began.
    pub(crate) memories: Vec<Vec<u8>>,
    pub(crate) writes: Vec<MemoryWrite>,
    pub(crate) cycles: u64,
}

impl BoardRecording {
    /// Cycles from the start of the recording to its end.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Calls in which the model was told something, and their number of all.
    #[must_use]
    pub fn calls(&self) -> (u64, u64) {
        (self.calls.iter().count() as u64, self.calls.calls())
    }

    /// Writes to node memory from the host's side: cycle, rank and bytes of each.
    pub fn memory_writes(&self) -> impl Iterator<Item = (u64, u32, usize)> {
        self.writes
            .iter()
            .map(|write| (write.cycle, write.rank as u32, write.data.len()))
    }
}

/// What a replay took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replay {
    /// Cycles that were clocked.
    pub cycles: u64,
    /// How long the bare loop took.
    pub elapsed: Duration,
}
