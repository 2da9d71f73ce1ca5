//! Simulated boards that are joined by links.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use alcor::{Board, Cluster, Error, Topology};
use verimodel::{Coverage, Model};

use crate::chip::Chip;
use crate::log::files;
use crate::rank_set::MAX_RANKS;
use crate::scheduler::Scheduler;
use crate::{CosimError, LinkFigures, LoggedPacket, Options, Shape, SimBoard};

/// Boards of one model that share one time, joined by links; or a single board. See the
/// [crate](crate) for how time moves.
pub struct SimCluster {
    name: String,
    scheduler: Arc<Scheduler>,
    boards: Vec<Arc<SimBoard>>,
    topology: Topology,
    options: Options,
    threads: usize,
}

impl SimCluster {
    /// Boards over the given model, which has the ports of `hw/dpi/sim_top.sv`. The boards have
    /// been reset. Options that concern the build of a model have no effect.
    ///
    /// # Errors
    /// If the model lacks a port or a memory, has more or fewer links than a board of the topology,
    /// fails, or does not become ready; or if there are more ranks than the packet header can
    /// number.
    pub fn with_model(
        name: &str,
        model: &Model,
        shape: Shape,
        topology: Topology,
        options: Options,
    ) -> Result<Arc<Self>, CosimError> {
        if shape.links != topology.links() {
            return Err(CosimError::Links {
                links: shape.links,
                dims: topology.dims().to_vec(),
                needed: topology.links(),
            });
        }
        if topology.boards() * shape.ranks > MAX_RANKS {
            return Err(CosimError::TooManyRanks {
                boards: topology.boards(),
                ranks: shape.ranks,
                most: MAX_RANKS,
            });
        }
        [&options.trace, &options.packets]
            .into_iter()
            .flatten()
            .try_for_each(|path| files::check(path))?;
        let numbers = 0..topology.boards();
        let (names, chips) = chips(name, model, shape, &topology, &options)?;
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let threads = options.threads.unwrap_or(cores).min(chips.len());
        let scheduler = Arc::new(Scheduler::new(
            name, names, chips, &topology, &options, threads,
        ));
        let boards = numbers.map(|number| {
            Arc::new(SimBoard::new(
                &scheduler,
                number as usize,
                model,
                &of_board(&options, &topology, number),
            ))
        });
        Ok(Arc::new(Self {
            name: name.into(),
            boards: boards.collect(),
            scheduler,
            topology,
            options,
            threads,
        }))
    }

    /// URI with which the boards were opened.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The boards, in the order of their numbers; at least one.
    #[must_use]
    pub fn boards(&self) -> &[Arc<SimBoard>] {
        &self.boards
    }

    /// Topology of the boards.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Latency and rate of the links.
    #[must_use]
    pub fn link_figures(&self) -> LinkFigures {
        self.options.link_figures()
    }

    /// Options of the URI.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Number of threads that step the boards. Results do not depend on this number.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Returns the same boards in the library's type.
    ///
    /// # Errors
    /// None are known: the number of boards is that of the topology.
    pub fn cluster(&self) -> Result<Cluster, Error> {
        let boards = self.boards.iter().cloned();
        let boards: Vec<Arc<dyn Board>> = boards.map(|board| board as Arc<dyn Board>).collect();
        if self.topology.links() == 0 {
            return Ok(Cluster::single(Arc::clone(&boards[0])));
        }
        Cluster::new(boards, self.topology)
    }

    /// Total of cycles of all boards since the last reset.
    #[must_use]
    pub fn board_cycles(&self) -> u64 {
        self.boards.iter().map(|board| board.now()).sum()
    }

    /// Total of cycles that the boards have skipped since they were opened, because their state
    /// stayed the same and no event was due.
    #[must_use]
    pub fn skipped_cycles(&self) -> u64 {
        (0..self.boards.len())
            .map(|board| self.scheduler.with_chip(board, |chip| chip.skipped()))
            .sum()
    }

    /// Digest of all boards' traffic since the last reset, including the links.
    #[must_use]
    pub fn traffic_digest(&self) -> u32 {
        combined(
            self.boards
                .iter()
                .filter_map(|board| board.traffic_digest()),
        )
    }

    /// Digest of the links' traffic since the last reset.
    #[must_use]
    pub fn link_digest(&self) -> u32 {
        combined(self.boards.iter().filter_map(|board| board.link_digest()))
    }

    /// The packets in the boards' logs, oldest first: those on the coprocessors' streams and on the
    /// links. A packet is shown as a line of text. None without a log (options `log`, `trace` and
    /// `packets`).
    #[must_use]
    pub fn packets(&self) -> Vec<LoggedPacket> {
        self.scheduler.packets()
    }

    /// Writes the timeline and the packet log to the files that options `trace` and `packets` name.
    /// The files are also written when the boards are closed, and when a run ends because a rank
    /// died or is away or a model failed.
    ///
    /// # Errors
    /// If there is no log, or a file can't be written.
    pub fn write_log(&self) -> Result<(), CosimError> {
        self.scheduler.write_logs()
    }

    /// Coverage of the model since the boards were opened, across resets and failures: the counts
    /// of all boards together (option `coverage`). Takes no time, and may be called repeatedly.
    ///
    /// # Errors
    /// If the model was built without coverage, or the counts can't be read.
    pub fn coverage(&self) -> Result<Coverage, CosimError> {
        let mut coverage = Coverage::default();
        for board in 0..self.boards.len() {
            coverage.merge(self.scheduler.with_chip(board, Chip::coverage)?);
        }
        Ok(coverage)
    }

    /// Lets this number of cycles pass on every board, with no rank attached. Returns the
    /// wall-clock time. Boards that stopped in the middle of a window catch up with the most
    /// advanced board.
    ///
    /// # Errors
    /// If a port is attached, or a model fails.
    pub fn idle(&self, cycles: u64) -> Result<Duration, Error> {
        let start = Instant::now();
        self.scheduler.idle(cycles)?;
        Ok(start.elapsed())
    }
}

/// Makes all boards of a topology. Returns their names too.
pub(crate) fn chips(
    name: &str,
    model: &Model,
    shape: Shape,
    topology: &Topology,
    options: &Options,
) -> Result<(Vec<String>, Vec<Chip>), CosimError> {
    let boards = (0..topology.boards()).map(|number| {
        let name = match topology.boards() {
            1 => name.to_owned(),
            _ => format!("board {number} of {name}"),
        };
        let options = of_board(options, topology, number);
        let chip = Chip::new(&name, number, topology, model, shape, &options)?;
        Ok((name, chip))
    });
    boards.collect()
}

/// The options of a board.
fn of_board(options: &Options, topology: &Topology, number: u32) -> Options {
    let waves = options.waves.as_deref().map(|file| {
        if topology.boards() == 1 {
            file.to_owned()
        } else {
            numbered(file, number)
        }
    });
    Options {
        // No two boards start from the same values.
        power_up: options.power_up.map(|seed| seed.wrapping_add(number)),
        waves,
        ..options.clone()
    }
}

fn combined(digests: impl Iterator<Item = u32>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    digests.for_each(|digest| hasher.update(&digest.to_le_bytes()));
    hasher.finalize()
}

/// The file of a board: the name with the board's number before the extension.
fn numbered(file: &Path, board: u32) -> PathBuf {
    let extension = match file.extension() {
        Some(extension) => format!("{board}.{}", extension.to_string_lossy()),
        None => board.to_string(),
    };
    file.with_extension(extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_of_boards_go_to_files_of_their_own() {
        assert_eq!(
            numbered(Path::new("a/run.fst"), 3),
            Path::new("a/run.3.fst")
        );
        assert_eq!(numbered(Path::new("a.b/run"), 0), Path::new("a.b/run.0"));
    }
}
