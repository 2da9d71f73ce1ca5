//! Boards of any backend with ports that record commands.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alcor::{
    Board, BoardLayer, Causes, Cluster, Cycle, LocalRank, Opcode, PageOffset, Port, PortLayer,
    Result, Wake,
};
use alcor_abi::command;

use super::commands::Commands;

/// State of a rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Doing {
    /// No port of the rank is attached.
    #[default]
    Nothing,
    /// The rank runs host code or reads registers since the end of its last wait.
    Host,
    /// The rank has waited for its interrupt since this cycle.
    Waits(u64),
    /// The rank has left the run.
    Left,
    /// The rank has aborted the run.
    Aborted,
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doing::Nothing => f.write_str("is not attached"),
            Doing::Host => f.write_str("runs host code"),
            Doing::Waits(since) => write!(f, "waits in the library since cycle {since}"),
            Doing::Left => f.write_str("has left the run"),
            Doing::Aborted => f.write_str("has aborted the run"),
        }
    }
}

/// Record of a rank since the last reset of its board, up to the first ABORT of any rank. Commands
/// after an ABORT would displace the commands that led to the failure.
#[derive(Debug, Clone, Default)]
pub(super) struct RankLog {
    pub(super) board: u32,
    pub(super) commands: Commands,
    pub(super) doing: Doing,
    /// Cycle of the rank's last observation.
    pub(super) now: u64,
}

/// Record of all ranks of a cluster.
#[derive(Debug, Default)]
struct Log {
    /// By board, then by local rank.
    ranks: Vec<Vec<RankLog>>,
    /// Number of resets of each board.
    resets: Vec<u64>,
    aborted: bool,
    /// Cycle of the last observation of any rank since the last reset.
    end: u64,
}

/// Recorder of the commands that the ranks of a cluster post.
#[derive(Debug, Clone)]
pub struct Recorder {
    log: Arc<Mutex<Log>>,
    /// Ranks of a board.
    local_ranks: u32,
    /// Whether time stands still while host code runs.
    steady: bool,
}

impl Recorder {
    /// Returns the same cluster with ports that report their accesses to the recorder.
    ///
    /// # Errors
    /// If a board can't be identified.
    pub fn over(cluster: &Cluster) -> Result<(Cluster, Recorder)> {
        let recorder = Recorder {
            log: Arc::default(),
            local_ranks: cluster.identify()?.ranks,
            steady: cluster
                .boards()
                .iter()
                .all(|board| board.time_stands_still()),
        };
        let boards = cluster.boards().len();
        {
            let mut log = recorder.lock();
            log.ranks.resize_with(boards, Vec::new);
            log.resets.resize(boards, 0);
        }
        let recorded = cluster.layered(|number, board| RecordedBoard {
            board,
            number,
            recorder: recorder.clone(),
        });
        Ok((recorded, recorder))
    }

    /// The record of each rank, by global rank.
    pub(super) fn ranks(&self) -> BTreeMap<u32, RankLog> {
        let log = self.lock();
        let boards = log.ranks.iter();
        boards
            .flat_map(|ranks| (0..).zip(ranks))
            .map(|(rank, log)| (log.board * self.local_ranks + rank, log.clone()))
            .collect()
    }

    /// Returns the last commands of each rank as text.
    #[must_use]
    pub fn commands(&self) -> String {
        let mut text = String::from(
            "The last commands of each rank, at the cycles at which they were posted\n",
        );
        if !self.steady {
            text += "(time advances while host code runs: each cycle is that of the last read of the clock)\n";
        }
        for (rank, log) in self.ranks() {
            let commands = &log.commands;
            let (kept, number) = (commands.last().count(), commands.number);
            // Writing to a String can't fail.
            let _ = writeln!(
                text,
                "\nrank {rank} {}: the last {kept} of {number} commands",
                log.doing
            );
            for (cycle, command) in commands.last() {
                let _ = writeln!(text, "{cycle:>12}  {command}");
            }
        }
        text
    }

    /// Cycle of the last observation of any rank since the last reset.
    pub(super) fn end(&self) -> u64 {
        self.lock().end
    }

    /// Returns whether no rank has attached since the last reset.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().ranks.iter().all(Vec::is_empty)
    }

    /// Number of resets of the first board.
    #[must_use]
    pub fn resets(&self) -> u64 {
        self.lock().resets.first().copied().unwrap_or(0)
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        // After a panic in another thread, at most one command is missing.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct RecordedBoard {
    board: Arc<dyn Board>,
    number: usize,
    recorder: Recorder,
}

impl BoardLayer for RecordedBoard {
    fn below(&self) -> &Arc<dyn Board> {
        &self.board
    }

    fn reset(&self) -> Result<()> {
        self.board.reset()?;
        let mut log = self.recorder.lock();
        log.ranks[self.number].clear();
        log.resets[self.number] += 1;
        log.aborted = false;
        log.end = 0;
        Ok(())
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>> {
        let port = Arc::clone(&self.board).attach(rank)?;
        let place = (self.number, rank.0 as usize);
        let mut log = self.recorder.lock();
        let ranks = &mut log.ranks[self.number];
        if ranks.len() <= place.1 {
            let board = self.number as u32;
            ranks.resize_with(place.1 + 1, || RankLog {
                board,
                ..RankLog::default()
            });
        }
        ranks[place.1].doing = Doing::Host;
        Ok(Box::new(RecordedPort {
            port,
            place,
            // On other boards, reading the clock takes time.
            tells_time: self.board.time_stands_still(),
            recorder: self.recorder.clone(),
        }))
    }
}

struct RecordedPort {
    port: Box<dyn Port>,
    place: (usize, usize),
    tells_time: bool,
    recorder: Recorder,
}

impl RecordedPort {
    /// Changes the record of the rank, with the present cycle.
    fn record(&mut self, change: impl FnOnce(&mut RankLog, u64)) {
        let now = if self.tells_time {
            self.port.now().ok()
        } else {
            None
        };
        let mut log = self.recorder.lock();
        if let Some(Cycle(now)) = now {
            log.end = log.end.max(now);
        }
        if log.aborted {
            return;
        }
        let (board, rank) = self.place;
        let Some(log) = log.ranks[board].get_mut(rank) else {
            return;
        };
        if let Some(Cycle(now)) = now {
            log.now = now;
        }
        change(log, log.now);
    }
}

impl PortLayer for RecordedPort {
    fn below(&mut self) -> &mut dyn Port {
        &mut *self.port
    }

    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<()> {
        let aborts = offset.0 == command(Opcode::Abort);
        self.record(|log, now| {
            log.doing = if aborts { Doing::Aborted } else { Doing::Host };
            log.commands.write(now, offset.0, value);
        });
        if aborts {
            self.recorder.lock().aborted = true;
        }
        self.port.write32(offset, value)
    }

    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake> {
        self.record(|log, now| {
            // Consecutive waits without a command between them count as one.
            if !matches!(log.doing, Doing::Waits(_)) {
                log.doing = Doing::Waits(now);
            }
        });
        let woken = self.port.wait(awaited, deadline);
        if !matches!(woken, Ok(Wake::Deadline)) {
            self.record(|log, _| log.doing = Doing::Host);
        }
        woken
    }

    fn now(&mut self) -> Result<Cycle> {
        let now = self.port.now();
        if let Ok(Cycle(cycle)) = now {
            let (board, rank) = self.place;
            let mut log = self.recorder.lock();
            log.end = log.end.max(cycle);
            if let Some(log) = log.ranks[board].get_mut(rank) {
                log.now = cycle;
            }
        }
        now
    }

    fn leave(&mut self) -> Result<()> {
        self.record(|log, _| log.doing = Doing::Left);
        self.port.leave()
    }
}

#[cfg(test)]
mod tests {
    use alcor::soft::SoftBoard;
    use alcor::{GlobalRank, Job, Options};

    use super::*;

    #[test]
    fn a_run_is_recorded_from_its_reset_to_its_first_abort() {
        let (cluster, recorder) = Recorder::over(&Cluster::from(SoftBoard::new(2))).unwrap();
        let job = Job::new(&cluster).unwrap();
        job.run(2, |rank| {
            for _ in 0..5 {
                rank.barrier()?;
            }
            Ok(())
        })
        .unwrap();
        let texts = |rank: u32| -> Vec<String> {
            let ranks = recorder.ranks();
            let last = ranks[&rank].commands.last();
            last.map(|(_, command)| command.to_string()).collect()
        };
        let barriers = |rank| texts(rank).iter().filter(|text| *text == "BARRIER").count();
        assert!(barriers(0) >= 5 && barriers(1) >= 5, "{:?}", texts(0));
        assert_eq!(recorder.ranks()[&1].doing, Doing::Left);

        let resets = recorder.resets();
        let options = Options::default().watchdog_cycles(1000);
        let failed = Job::with_options(&cluster, options)
            .unwrap()
            .run(2, |rank| match rank.pid().0 {
                0 => rank.barrier(),
                _ => rank.recv(GlobalRank(0), 3, &mut [0u8]).map(drop),
            });
        assert!(failed.is_err());
        assert!(recorder.resets() > resets);
        let last = |rank| texts(rank).last().cloned().unwrap();
        let lasts = [last(0), last(1)];
        assert!(
            lasts.iter().any(|text| text.starts_with("ABORT")),
            "{lasts:?}"
        );
        let doing = |rank: u32| recorder.ranks()[&rank].doing;
        let aborted = [0, 1].map(|rank| usize::from(doing(rank) == Doing::Aborted));
        assert_eq!(aborted.iter().sum::<usize>(), 1);
        let waits = |rank: u32| matches!(doing(rank), Doing::Waits(_));
        assert!(
            waits(0) || waits(1),
            "the one that did not abort still waits"
        );
    }
}
