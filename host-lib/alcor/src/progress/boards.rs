//! Boards that are lost while a rank waits for them.
//!
//! Another program may reset a board in the middle of a run, or a board may lose its power. Nothing
//! then ends the waits of the run's ranks. So a rank that waits looks at its own board and at the
//! links of the boards that its process has. Boards whose time stands still have no other user, and
//! are not watched.

use std::sync::Arc;

use alcor_abi::board::{PLACE, place};
use alcor_abi::links::LINK_STATUS;

use super::Progress;
use crate::{Board, Cycle, Error, LinkState, Options, PageOffset, Result};

/// Range of the milliseconds between two looks. The pause grows with the length of the wait.
const PAUSE: [u64; 2] = [1, 100];

/// The state of the watch.
pub(super) struct Watch {
    /// The rank's own board.
    home: Arc<dyn Board>,
    /// The boards that this process has, with their numbers.
    boards: Vec<(u32, Arc<dyn Board>)>,
    /// Link ports of a board that lead to another board of the run, by number of the board.
    ports: Vec<Vec<u32>>,
    /// PLACE of the rank's board, which has the key of the run.
    run: u32,
    /// Maximum time for which a link may be down.
    limit: Option<u64>,
    pause: [u64; 2],
    /// Times of the next look and of the last one.
    next: Cycle,
    looked: Cycle,
    /// Time of the first look at which some link was down, if one was down at each look since.
    down: Option<Cycle>,
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
            down: None,
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
        // After a time without looks, as while the rank computes, nothing is known of the links before.
        let most = watch.pause[1];
        let gap = now
            .0
            .saturating_sub(std::mem::replace(&mut watch.looked, now).0);
        watch.down = watch.down.filter(|_| gap <= 4 * most);
        let mut is_down = false;
        for (number, board) in &watch.boards {
            for &port in watch.ports.get(*number as usize).into_iter().flatten() {
                let offset = PageOffset(LINK_STATUS + 4 * port);
                let Some(status) = board.read_links32(offset)? else {
                    continue;
                };
                let link = LinkState::of_registers(*number, port, status, [0; 8]);
                let cycles = match watch.down {
                    Some(since) if link.is_down() => now.0.saturating_sub(since.0),
                    _ => 0,
                };
                is_down |= link.is_down();
                if link.is_stale() || watch.limit.is_some_and(|limit| cycles > limit) {
                    return Err(Error::LinkLost { rank, link, cycles });
                }
            }
        }
        watch.down = is_down.then_some(watch.down.unwrap_or(now));
        Ok(())
    }
}

fn board_reset(board: &dyn Board) -> Error {
    let board = board.name().to_owned();
    Error::BoardReset { board }
}
