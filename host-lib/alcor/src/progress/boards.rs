//! Boards that are lost while a rank waits for them.
//!
//! Another program may reset a board in the middle of a run, or a board may lose its power. Nothing
//! then ends the waits of the run's ranks. So a rank that waits looks at its own board and at the
//! links of the boards that its process has. Boards whose time stands still have no other user, and
//! are not watched.

use std::sync::Arc;

use alcor_abi::board::{PLACE, place};
use alcor_abi::links::{LINK_RETRAINS, LINK_STATUS};

use super::Progress;
use crate::{Board, Cycle, Error, LinkState, Options, PageOffset, Result};

/// Range of the milliseconds between two looks. The pause grows with the length of the wait.
const PAUSE: [u64; 2] = [1, 100];

/// Cycles for each retraining of a link on which nothing passes, at most. A link whose other end is
/// silent retrains after 8,192 cycles of the controller's clock, again and again.
const RETRAINS_WITHIN: u64 = 65_536;
/// Value at which the counters of a link end stay.
const FULL: u32 = 0xFFFF;
/// Looks at which a link must be up, before it counts as working again, if its counter is full. A
/// link whose other end is silent is down for a fifth of the time.
const CALM_LOOKS: u32 = 64;

/// A link of the run as the watch has seen it.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// LINK_RETRAINS at the last look, if it followed closely on the one before.
    retrains: Option<u32>,
    /// Time of the first look at which nothing passed, if nothing has passed since.
    still: Option<Cycle>,
    /// Looks since one at which nothing passed.
    calm: u32,
}

impl Seen {
    /// Takes in the state at a look, `gap` cycles after the last one. Returns the cycles for which
    /// nothing has passed.
    fn look(&mut self, is_down: bool, retrains: u32, now: Cycle, gap: u64) -> u64 {
        let before = self.retrains.replace(retrains);
        let more = before.map_or(0, |before| retrains.saturating_sub(before));
        if is_down || u64::from(more) * RETRAINS_WITHIN > gap {
            self.calm = 0;
            return now.0.saturating_sub(self.still.get_or_insert(now).0);
        }
        self.calm += 1;
        if self.calm >= if retrains == FULL { CALM_LOOKS } else { 1 } {
            self.still = None;
        }
        0
    }
}

/// The state of the watch.
pub(super) struct Watch {
    /// The rank's own board.
    home: Arc<dyn Board>,
    /// The boards that this process has, with their numbers.
    boards: Vec<(u32, Arc<dyn Board>)>,
    /// Link ports of a board that lead to another board of the run, by number of the board.
    ports: Vec<Vec<(u32, Seen)>>,
    /// PLACE of the rank's board, which has the key of the run.
    run: u32,
    /// Maximum time for which nothing may pass on a link.
    limit: Option<u64>,
    pause: [u64; 2],
    /// Times of the next look and of the last one.
    next: Cycle,
    looked: Cycle,
}

impl Progress {
    /// Begins to watch the boards of the run. `home` is the rank's own board.
    pub(super) fn begin_watch(&mut self, home: Arc<dyn Board>, options: &Options) -> Result<()> {
        if home.time_stands_still() {
            return Ok(());
        }
        let run = self.read_board(PLACE)?;
        if place::BOARD.get(run) != self.board || place::RANKS.get(run) < self.nprocs {
            return Err(board_reset(&*home));
        }
        let boards = self.nprocs.div_ceil(self.info.ranks);
        let topology = &options.topology;
        let leads = |board, port| {
            let other = topology.neighbour(board, port);
            other.is_some_and(|(other, _)| other != board && other < boards)
        };
        let ports = |board| {
            (0..topology.links())
                .filter(|&port| leads(board, port))
                .map(|port| (port, Seen::default()))
                .collect()
        };
        let clock = u64::from(self.info.clock_khz);
        let limit = options
            .lost_link_after
            .map(|limit| limit.as_nanos() * u128::from(clock) / 1_000_000);
        self.watch = Some(Watch {
            boards: match &self.cluster {
                Some(cluster) => (0..boards).zip(cluster.boards().iter().cloned()).collect(),
                None => vec![(self.board, Arc::clone(&home))],
            },
            home,
            ports: (0..boards).map(ports).collect(),
            run,
            limit: limit.map(|limit| u64::try_from(limit).unwrap_or(u64::MAX)),
            pause: PAUSE.map(|pause| pause * clock),
            next: Cycle(0),
            looked: Cycle(0),
        });
        Ok(())
    }

    /// Whether the rank's board was reset during the run.
    pub(crate) fn board_is_reset(&mut self) -> Result<bool> {
        match self.watch.as_ref().map(|watch| watch.run) {
            Some(run) => Ok(self.read_board(PLACE)? != run),
            None => Ok(false),
        }
    }

    /// The rank's own board, if it is watched.
    pub(crate) fn home(&self) -> Option<Arc<dyn Board>> {
        self.watch.as_ref().map(|watch| Arc::clone(&watch.home))
    }

    /// Time of the next look in a wait that began at `began`.
    pub(super) fn next_watch(&mut self, began: Cycle) -> Cycle {
        let Some(watch) = &mut self.watch else {
            return Cycle(u64::MAX);
        };
        // Short waits need no look.
        watch.next = watch
            .next
            .max(Cycle(began.0.saturating_add(watch.pause[0])));
        watch.next
    }

    /// Looks at the boards if it is time, in a wait that began at `began`.
    pub(super) fn watch_boards(&mut self, began: Cycle, now: Cycle) -> Result<()> {
        if now < self.next_watch(began) {
            return Ok(());
        }
        let Some(mut watch) = self.watch.take() else {
            return Ok(());
        };
        let looked = self.look_at_boards(&mut watch, now);
        let [least, most] = watch.pause;
        let pause = (now.0.saturating_sub(began.0) / 8).clamp(least, most);
        watch.next = Cycle(now.0.saturating_add(pause));
        self.watch = Some(watch);
        looked
    }

    fn look_at_boards(&mut self, watch: &mut Watch, now: Cycle) -> Result<()> {
        let rank = self.me;
        if self.read_board(PLACE)? != watch.run {
            return Err(board_reset(&*watch.home));
        }
        let gap = now
            .0
            .saturating_sub(std::mem::replace(&mut watch.looked, now).0);
        // After a time without looks, as while the rank computes, nothing is known of the links before.
        let is_close = gap <= 4 * watch.pause[1];
        for (number, board) in &watch.boards {
            for (port, seen) in watch.ports.get_mut(*number as usize).into_iter().flatten() {
                let read = |base| board.read_links32(PageOffset(base + 4 * *port));
                let (Some(status), Some(retrains)) = (read(LINK_STATUS)?, read(LINK_RETRAINS)?)
                else {
                    continue;
                };
                if !is_close {
                    *seen = Seen::default();
                }
                let link = LinkState::of_registers(*number, *port, status, [0; 8]);
                let cycles = seen.look(link.is_down(), retrains, now, gap);
                if link.is_stale() || watch.limit.is_some_and(|limit| cycles > limit) {
                    let read = |offset| board.read_links32(offset);
                    let link = LinkState::read(*number, *port, read)?.unwrap_or(link);
                    return Err(Error::LinkLost { rank, link, cycles });
                }
            }
        }
        Ok(())
    }
}

fn board_reset(board: &dyn Board) -> Error {
    let board = board.name().to_owned();
    Error::BoardReset { board }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_link_is_still_until_it_is_calm() {
        let mut seen = Seen::default();
        let mut now = 0;
        let mut look = |is_down, retrains, gap| {
            now += gap;
            seen.look(is_down, retrains, Cycle(now), gap)
        };
        let gap = 1_000_000;
        // A few retrainings, as after noise, and a count of which nothing is known.
        assert_eq!(look(false, 900, gap), 0);
        assert_eq!(look(false, 910, gap), 0);
        // Retrainings one after the other, seen up or down.
        assert_eq!(look(false, 1_010, gap), 0);
        assert_eq!(look(false, 1_110, gap), gap);
        assert_eq!(look(true, 1_110, gap), 2 * gap);
        assert_eq!(look(false, 1_110, gap), 0);
        assert_eq!(look(true, 1_110, gap), 0);
        // A full counter tells nothing more.
        assert_eq!(look(false, FULL, gap), gap);
        for _ in 1..CALM_LOOKS {
            assert_eq!(look(false, FULL, gap), 0);
        }
        assert!(look(true, FULL, gap) > 50 * gap);
        for _ in 0..CALM_LOOKS {
            assert_eq!(look(false, FULL, gap), 0);
        }
        assert_eq!(look(true, FULL, gap), 0);
    }
}
