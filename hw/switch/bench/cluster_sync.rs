//! `cluster_sync`: boards that send each other packets which are under way for as long as they
//! like, and rounds that each board takes part in at a time of its own.

#![expect(
    clippy::needless_range_loop,
    reason = "a board is its number in several tables"
)]

use std::collections::VecDeque;

use alcor_abi::Status;
use alcor_hw_bench::{Random, soak};
use rand::Rng;

use crate::coll_units::{BOARDS, block};
use crate::rma::Block;

const KINDS: u64 = 3;

/// A board's part in a round.
#[derive(Debug, Clone, Default)]
struct Board {
    here: bool,
    /// The commands of its ranks are on offer, be they quiet or not.
    present: bool,
    verdict: u64,
    kind: u64,
    slot: u64,
    /// What it gave to the round that it is in, and when its result comes.
    given: Option<[u64; 4]>,
    due: Option<u64>,
    /// Requests have to wait in this cycle.
    holds: bool,
}

struct Bench {
    block: Block,
    boards: Vec<Board>,
    /// Results that are to come, by board.
    rounds: u64,
}

impl Bench {
    fn new() -> Self {
        Self {
            block: block("sync"),
            boards: vec![Board::default(); BOARDS],
            rounds: 0,
        }
    }

    /// A cycle. `sent` and `consumed` are pulses by board; gives who fires, with the verdict.
    fn cycle(
        &mut self,
        sent: &[u64],
        consumed: &[u64],
        delay: &mut impl FnMut() -> u64,
        ready: &[bool],
    ) -> Vec<Option<u64>> {
        let Self { block, boards, .. } = self;
        let now = block.cycle();
        // What all have given: the two lowest lanes are added, the others anded.
        let all: Option<Vec<[u64; 4]>> = boards.iter().map(|board| board.given).collect();
        if let Some(all) = all
            && boards.iter().all(|board| board.due.is_none())
        {
            let mut result = [0, 0, u64::MAX, u64::MAX];
            for given in &all {
                result[0] = u64::wrapping_add(result[0], given[0]);
                result[1] = u64::wrapping_add(result[1], given[1]);
                result[2] &= given[2];
                result[3] &= given[3];
            }
            for board in 0..BOARDS {
                for (lane, &value) in result.iter().enumerate() {
                    block.set_part("result_data_i", board * 4 + lane, BOARDS * 4, value);
                }
                boards[board].due = Some(now + 1 + delay());
            }
        }
        for (at, board) in boards.iter_mut().enumerate() {
            let result = board.due == Some(now);
            if result {
                (board.due, board.given) = (None, None);
            }
            block.set_part("result_i", at, BOARDS, result);
            block.set_part("here_i", at, BOARDS, board.here);
            block.set_part("present_i", at, BOARDS, board.present);
            block.set_part("verdict_i", at, BOARDS, board.verdict);
            block.set_part("kind_i", at, BOARDS, board.kind);
            block.set_part("slot_i", at, BOARDS, board.slot);
            block.set_part("sent_i", at, BOARDS, sent[at]);
            block.set_part("consumed_i", at, BOARDS, consumed[at]);
            // The switch can't while a round of this board is under way.
            let waits = board.given.is_some() || result;
            block.set_part("round_ready_i", at, BOARDS, ready[at] && !waits);
        }
        block.settle();
        for (at, board) in boards.iter_mut().enumerate() {
            if block.get_part("round_o", at, BOARDS) == 1 {
                assert!(
                    board.here && board.given.is_none(),
                    "board {at} begins a round that it can't"
                );
                let mut given = [0; 4];
                for (lane, value) in given.iter_mut().enumerate() {
                    *value = block.get_part("round_data_o", at * 4 + lane, BOARDS * 4);
                }
                board.given = Some(given);
                self.rounds += 1;
            }
            board.holds = block.get_part("hold_o", at, BOARDS) == 1;
        }
        let fires = (0..BOARDS)
            .map(|at| {
                (block.get_part("fire_o", at, BOARDS) == 1)
                    .then(|| block.get_part("fire_verdict_o", at, BOARDS))
            })
            .collect();
        block.clock();
        fires
    }
}

/// What a barrier ends with.
fn verdict(boards: &[Board]) -> u64 {
    let first = &boards[0];
    let least = boards
        .iter()
        .map(|board| board.verdict)
        .filter(|&verdict| verdict != 0)
        .min();
    if boards.iter().any(|board| board.kind != first.kind) {
        Status::Mismatch as u64
    } else if let Some(least) = least {
        least
    } else if boards.iter().any(|board| board.slot != first.slot) {
        Status::Mismatch as u64
    } else {
        0
    }
}

/// Traffic until all boards are quiet; packets may wait long, wake their receivers, and make these
/// send again. A barrier must not fire before the last has landed. Where one board has fired, the
/// others hold up requests until they have.
#[test]
fn cluster_sync_random() {
    let mut rng = Random::new("cluster_sync_random");
    let mut bench = Bench::new();
    let mut early = 0;
    for _ in 0..soak(300) {
        let odd = rng.random_bool(0.3);
        for board in &mut bench.boards {
            board.verdict = if odd && rng.random_bool(0.4) {
                rng.random_range(0..18)
            } else {
                0
            };
            board.kind = if odd && rng.random_bool(0.1) {
                rng.random_range(0..KINDS)
            } else {
                1
            };
            board.slot = if odd && rng.random_bool(0.2) {
                rng.random_range(0..256)
            } else {
                9
            };
        }
        let expected = verdict(&bench.boards);
        // Each board comes at a time of its own, and sends until then.
        let comes: Vec<u64> = (0..BOARDS).map(|_| rng.random_range(0..60)).collect();
        // Packets under way, by receiver and plane: when they arrive.
        let mut flying: Vec<[VecDeque<u64>; 2]> = vec![Default::default(); BOARDS];
        let mut awake = [0u64; BOARDS];
        let (far, chain) = (
            [3, 30, 200][rng.random_range(0..3)],
            rng.random_range(0.0..0.8),
        );
        let mut fired = [None; BOARDS];
        let start = bench.block.cycle();
        let mut complete = None;
        while fired.iter().any(Option::is_none) {
            let now = bench.block.cycle() - start;
            let (mut sent, mut consumed) = ([0; BOARDS], [0; BOARDS]);
            for at in 0..BOARDS {
                for plane in 0..2 {
                    let may_come = plane == 1 || !bench.boards[at].holds;
                    if may_come
                        && flying[at][plane].front().is_some_and(|&due| due <= now)
                        && rng.random_bool(0.5)
                    {
                        flying[at][plane].pop_front();
                        consumed[at] |= 1 << plane;
                        // It may have to be answered.
                        awake[at] = now
                            + 2
                            + if rng.random_bool(chain) {
                                rng.random_range(1..40)
                            } else {
                                0
                            };
                    }
                    let active =
                        now < comes[at] || (awake[at] > now + 2 && chain > 0.0 && now < 600);
                    if active && rng.random_bool(0.1) {
                        let to = (at + rng.random_range(1..BOARDS)) % BOARDS;
                        let due = now + rng.random_range(1..=far);
                        let queue = &mut flying[to][plane];
                        queue.push_back(due.max(queue.back().copied().unwrap_or(0)));
                        sent[at] |= 1 << plane;
                    }
                }
                bench.boards[at].present =
                    now >= comes[at] && fired[at].is_none_or(|when| now < when + 3);
                bench.boards[at].here = bench.boards[at].present
                    && awake[at] <= now
                    && sent[at] == 0
                    && consumed[at] == 0;
            }
            let under_way = flying.iter().flatten().any(|queue| !queue.is_empty());
            let settled = !under_way && (0..BOARDS).all(|at| now >= comes[at] && awake[at] <= now);
            if settled && complete.is_none() {
                complete = Some((now, bench.rounds));
            }
            let ready: Vec<bool> = (0..BOARDS).map(|_| rng.random_bool(0.8)).collect();
            let fires = bench.cycle(&sent, &consumed, &mut || rng.random_range(0..6), &ready);
            for (at, fire) in fires.into_iter().enumerate() {
                let Some(verdict) = fire else { continue };
                assert!(fired[at].is_none(), "board {at} fires twice");
                assert!(
                    complete.is_some_and(|(when, _)| when < now),
                    "board {at} fires early"
                );
                assert_eq!(verdict, expected, "board {at}: {:?}", bench.boards);
                fired[at] = Some(now);
            }
            if fired.iter().any(Option::is_some) {
                for at in 0..BOARDS {
                    assert!(
                        fired[at].is_some() || bench.boards[at].holds,
                        "board {at} does not wait for the end"
                    );
                }
            }
            assert!(now < 20_000, "no barrier");
            early += u64::from(
                complete.is_none() && bench.boards.iter().any(|board| board.given.is_some()),
            );
        }
        // At most the round under way, which counted too early, and two whole ones.
        if let Some((_, before)) = complete {
            let more = bench.rounds - before;
            assert!(
                more <= 3 * BOARDS as u64,
                "{more} parts in rounds after all was quiet"
            );
        }
        // Of the board that fired last, what it shows is old for two cycles more.
        for _ in 0..2 + rng.random_range(0..4) {
            for (board, fired) in bench.boards.iter_mut().zip(fired) {
                let stale = fired.is_some_and(|when| bench.block.cycle() - start < when + 3);
                (board.here, board.present) = (stale, stale);
            }
            let fires = bench.cycle(&[0; BOARDS], &[0; BOARDS], &mut || 0, &[true; BOARDS]);
            assert!(fires.iter().all(Option::is_none));
        }
    }
    assert!(
        early > 1000,
        "rounds were hardly ever too early: {early} cycles"
    );
}

/// Where nothing was ever under way, a barrier takes two rounds, neither more nor less.
#[test]
fn cluster_sync_two_rounds() {
    let mut bench = Bench::new();
    for _ in 0..6 {
        for board in &mut bench.boards {
            (board.here, board.present) = (true, true);
        }
        let before = bench.rounds;
        let mut fires = 0;
        while fires == 0 {
            let found = bench.cycle(&[0; BOARDS], &[0; BOARDS], &mut || 0, &[true; BOARDS]);
            fires = found.iter().flatten().count();
        }
        // The ranks' next commands are there at once, and show two cycles later.
        for _ in 0..2 {
            bench.cycle(&[0; BOARDS], &[0; BOARDS], &mut || 0, &[true; BOARDS]);
        }
        assert_eq!((fires, bench.rounds - before), (BOARDS, 2 * BOARDS as u64));
    }
}

/// The same sums twice are not enough: what was sent must have been consumed. Nor are equal sums of
/// what was sent and consumed: a packet may have been counted at its receiver alone, another at its
/// sender alone.
#[test]
fn cluster_sync_counts() {
    let mut bench = Bench::new();
    let quiet = [0; BOARDS];
    let mut one = quiet;
    one[2] = 1;
    bench.cycle(&one, &quiet, &mut || 0, &[true; BOARDS]);
    for board in &mut bench.boards {
        (board.here, board.present) = (true, true);
    }
    for _ in 0..100 {
        let fires = bench.cycle(&quiet, &quiet, &mut || 0, &[true; BOARDS]);
        assert!(fires.iter().all(Option::is_none), "a packet is under way");
    }
    // Consumed on two planes, of which one was sent by a board that was counted before it was.
    let mut others = [true; BOARDS];
    others[4] = false;
    for _ in 0..10 {
        bench.cycle(&quiet, &quiet, &mut || 0, &others);
    }
    let mut late = quiet;
    late[4] = 1;
    bench.cycle(&quiet, &late, &mut || 0, &others);
    let rounds = bench.rounds;
    let fired = (0..40)
        .map(|_| bench.cycle(&quiet, &quiet, &mut || 0, &[true; BOARDS]))
        .map(|fires| fires.iter().flatten().count())
        .find(|&count| count > 0);
    assert_eq!(fired, Some(BOARDS));
    assert!(
        bench.rounds - rounds > BOARDS as u64,
        "fired in the first round that agrees"
    );
}

/// A board whose commands are broken off while a round is under way takes no part in what the round
/// decides: its next commands wait for rounds of their own.
#[test]
fn cluster_sync_broken_off() {
    let quiet = [0; BOARDS];
    for gone in 0..BOARDS {
        let mut bench = Bench::new();
        for board in &mut bench.boards {
            (board.here, board.present) = (true, true);
        }
        while bench.rounds < 2 * BOARDS as u64 {
            let fires = bench.cycle(&quiet, &quiet, &mut || 9, &[true; BOARDS]);
            assert!(fires.iter().all(Option::is_none));
        }
        let board = &mut bench.boards[gone];
        (board.here, board.present) = (false, false);
        bench.cycle(&quiet, &quiet, &mut || 9, &[true; BOARDS]);
        let board = &mut bench.boards[gone];
        (board.here, board.present) = (true, true);
        let mut first = Vec::new();
        let mut second = Vec::new();
        for _ in 0..100 {
            let fires = bench.cycle(&quiet, &quiet, &mut || 9, &[true; BOARDS]);
            let fired: Vec<usize> = (0..BOARDS).filter(|&at| fires[at].is_some()).collect();
            if first.is_empty() {
                first = fired;
            } else if second.is_empty() {
                second = fired;
            }
        }
        let others: Vec<usize> = (0..BOARDS).filter(|&at| at != gone).collect();
        assert_eq!(
            first, others,
            "board {gone} is not at the command that ends"
        );
        assert_eq!(second, (0..BOARDS).collect::<Vec<_>>());
    }
}
