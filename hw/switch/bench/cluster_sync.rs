//! `cluster_sync`: boards exchange packets with arbitrary delays, and each board joins a round at
//! its own time.

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

const KINDS: u64 = 4;

/// State of a board in a round.
#[derive(Debug, Clone, Default)]
struct Board {
    here: bool,
    /// The commands of the board's ranks are offered, with or without traffic in flight.
    present: bool,
    /// A rank of the run was reset, on any board.
    lost: bool,
    verdict: u64,
    kind: u64,
    slot: u64,
    /// A round has begun in the last cycle.
    begins: bool,
    /// Contribution to the present round, and the cycle of its result.
    given: Option<[u64; 4]>,
    due: Option<u64>,
    /// The board holds requests in this cycle.
    holds: bool,
    /// The board took part in the round before for the same commands.
    stayed: bool,
    /// The last result can be the first of two.
    seen: bool,
    /// The board fires in the next cycle.
    fires: bool,
    /// In the last two cycles, the youngest first: a packet was consumed, the board fired.
    consumed: [bool; 2],
    fired: [bool; 2],
}

/// Bit of a result's third lane: all boards were quiet.
const ALL_QUIET: u64 = 1 << 16;

struct Bench {
    block: Block,
    boards: Vec<Board>,
    /// The part of all other boards of the cluster in the sums: packets sent and consumed. The next parts, one a round.
    others: [u64; 2],
    plan: VecDeque<[u64; 2]>,
    /// The last result, and the one before.
    result: [u64; 4],
    last: [u64; 4],
    /// Outstanding results by board.
    rounds: u64,
    /// The last result had equal sums, and all boards were quiet: the next round may be the second,
    /// in which boards take part in any case.
    is_settled: bool,
}

impl Bench {
    fn new() -> Self {
        Self {
            block: block("sync"),
            boards: vec![Board::default(); BOARDS],
            others: [0; 2],
            plan: VecDeque::new(),
            result: [0; 4],
            last: [0; 4],
            rounds: 0,
            is_settled: false,
        }
    }

    /// One cycle. `sent` and `consumed` are pulses by board. Returns the boards that fire, each
    /// with its result.
    fn cycle(
        &mut self,
        sent: &[u64],
        consumed: &[u64],
        delay: &mut impl FnMut() -> u64,
        ready: &[bool],
    ) -> Vec<Option<u64>> {
        let Self { block, boards, .. } = self;
        let now = block.cycle();
        // Combined contributions: the two lowest lanes are added, the others anded.
        let all: Option<Vec<[u64; 4]>> = boards.iter().map(|board| board.given).collect();
        if let Some(all) = all
            && boards.iter().all(|board| board.due.is_none())
        {
            let mut result = [self.others[0], self.others[1], u64::MAX, u64::MAX];
            self.others = self.plan.pop_front().unwrap_or(self.others);
            for given in &all {
                result[0] = u64::wrapping_add(result[0], given[0]);
                result[1] = u64::wrapping_add(result[1], given[1]);
                result[2] &= given[2];
                result[3] &= given[3];
            }
            self.is_settled = result[0] == result[1] && result[2] & ALL_QUIET != 0;
            (self.last, self.result) = (self.result, result);
            for board in &mut *boards {
                board.due = Some(now + 1 + delay());
            }
        }
        let (mut due, mut begins) = ([false; BOARDS], [false; BOARDS]);
        for (at, board) in boards.iter_mut().enumerate() {
            let result = board.due == Some(now);
            due[at] = std::mem::take(&mut board.fires);
            let is_quiet = board.here && board.consumed == [false; 2];
            let is_second = board.present && board.stayed && board.seen && self.is_settled;
            if result {
                (board.due, board.given) = (None, None);
                // Two results in a row with the same sums, as many packets consumed as sent, all boards quiet in the first.
                let [sent, consumed, ..] = self.result;
                let is_first = self.last[0] == self.last[1] && self.last[2] & ALL_QUIET != 0;
                let is_same = [sent, consumed] == self.last[..2] && sent == consumed;
                let agrees = board.seen && is_first && is_same;
                board.fires = agrees && board.stayed && !board.lost;
                board.seen = !agrees;
            }
            board.seen &= !board.lost;
            // Without a result, its data means nothing.
            for (lane, value) in self.result.into_iter().enumerate() {
                let noise = (now + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (value >> 1);
                let value = if result { value } else { noise };
                block.set_part("result_data_i", at * 4 + lane, BOARDS * 4, value);
            }
            block.set_part("result_i", at, BOARDS, result);
            block.set_part("here_i", at, BOARDS, board.here);
            block.set_part("present_i", at, BOARDS, board.present);
            block.set_part("lost_i", at, BOARDS, board.lost);
            block.set_part("verdict_i", at, BOARDS, board.verdict);
            block.set_part("kind_i", at, BOARDS, board.kind);
            block.set_part("slot_i", at, BOARDS, board.slot);
            block.set_part("sent_i", at, BOARDS, sent[at]);
            block.set_part("consumed_i", at, BOARDS, consumed[at]);
            // The switch accepts no contribution while a round of this board is in progress.
            let waits = board.begins || board.given.is_some() || result;
            block.set_part("round_ready_i", at, BOARDS, ready[at] && !waits);
            let is_over = due[at] || board.fired != [false; 2];
            begins[at] = (is_quiet || is_second) && ready[at] && !waits && !is_over;
            board.consumed = [consumed[at] != 0, board.consumed[0]];
            board.fired = [due[at], board.fired[0]];
        }
        block.settle();
        for (at, board) in boards.iter_mut().enumerate() {
            if std::mem::take(&mut board.begins) {
                board.given = Some(
                    [0, 1, 2, 3]
                        .map(|lane| block.get_part("round_data_o", at * 4 + lane, BOARDS * 4)),
                );
            }
            let round = block.get_part("round_o", at, BOARDS) == 1;
            assert_eq!(round, begins[at], "cycle {now}: board {at} begins a round");
            if round {
                let is_second = board.present && board.stayed && self.is_settled;
                assert!(
                    (board.here || is_second) && board.given.is_none(),
                    "board {at} begins a round that it can't"
                );
                board.stayed = true;
                board.begins = true;
                self.rounds += 1;
            }
            board.holds = block.get_part("hold_o", at, BOARDS) == 1;
            board.stayed &= board.present;
        }
        let fires: Vec<Option<u64>> = (0..BOARDS)
            .map(|at| {
                (block.get_part("fire_o", at, BOARDS) == 1)
                    .then(|| block.get_part("fire_verdict_o", at, BOARDS))
            })
            .collect();
        for at in 0..BOARDS {
            assert_eq!(
                fires[at].is_some(),
                due[at],
                "cycle {now}: board {at} fires"
            );
        }
        block.clock();
        fires
    }
}

/// Expected result of a barrier.
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

/// Traffic until all boards are quiet. Packets may take long, wake their receivers, and cause
/// further packets. A barrier must not fire before the last packet has arrived. After one board has
/// fired, the other boards hold requests until they have fired.
#[test]
fn cluster_sync_random() {
    let mut rng = Random::new("cluster_sync_random");
    let mut bench = Bench::new();
    let mut early = 0;
    for _ in 0..soak(500) {
        // All boards are at one command, or one differs in one bit, or some have a status, or all differ.
        let (kind, slot) = (rng.random_range(0..KINDS), rng.random_range(0..256));
        let odd = rng.random_range(0..7);
        for board in &mut bench.boards {
            (board.verdict, board.kind, board.slot) = (0, kind, slot);
            if odd >= 5 && rng.random_bool(0.4) {
                board.verdict = rng.random_range(0..32);
            }
            if odd == 6 && rng.random_bool(0.1) {
                board.kind = rng.random_range(0..KINDS);
            }
            if odd == 6 && rng.random_bool(0.2) {
                board.slot = rng.random_range(0..256);
            }
        }
        let one = &mut bench.boards[rng.random_range(0..BOARDS)];
        match odd {
            3 => one.slot ^= 1 << rng.random_range(0..8),
            4 => one.kind ^= 1 << rng.random_range(0..2),
            _ => {}
        }
        let expected = verdict(&bench.boards);
        // Each board arrives at its own time and sends until then.
        let comes: Vec<u64> = (0..BOARDS).map(|_| rng.random_range(0..60)).collect();
        // Packets in flight, by receiver and plane: times of arrival.
        let mut flying: Vec<[VecDeque<u64>; 2]> = vec![Default::default(); BOARDS];
        let mut awake = [0u64; BOARDS];
        let (far, chain) = (
            [3, 30, 200][rng.random_range(0..3)],
            rng.random_range(0.0..0.8),
        );
        // Other boards have packets under way, or have exchanged packets since the last round: a bit of a sum differs,
        // one that the packets of these boards do not reach.
        let [mut sum, _] = bench.others;
        for _ in 0..rng.random_range(0..5) {
            let other = sum ^ 1 << rng.random_range(16..64);
            match rng.random_range(0..3) {
                0 => bench.plan.extend([[other, sum]; 2]),
                1 => bench.plan.extend([[sum, other]; 2]),
                _ => sum = other,
            }
            bench.plan.push_back([sum, sum]);
        }
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
                        // The packet may need a reply.
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
                // A board has work without packets, too, for some cycles after the last one.
                let may_work = complete.is_none_or(|(when, _)| now < when + 10);
                let works = may_work && rng.random_bool(0.3);
                bench.boards[at].here = bench.boards[at].present
                    && !works
                    && awake[at] <= now
                    && sent[at] == 0
                    && consumed[at] == 0;
            }
            let under_way = flying.iter().flatten().any(|queue| !queue.is_empty());
            let settled = !under_way
                && bench.plan.is_empty()
                && (0..BOARDS).all(|at| now >= comes[at] && awake[at] <= now);
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
        // At most the present round, which counted too early, and two complete rounds.
        if let Some((_, before)) = complete {
            let more = bench.rounds - before;
            assert!(
                more <= 3 * BOARDS as u64,
                "{more} parts in rounds after all was quiet"
            );
        }
        // The outputs of the board that fired last are stale for two more cycles.
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

/// Without any traffic, a barrier takes exactly two rounds.
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
            assert!(bench.block.cycle() < 1_000, "no barrier");
            let found = bench.cycle(&[0; BOARDS], &[0; BOARDS], &mut || 0, &[true; BOARDS]);
            fires = found.iter().flatten().count();
        }
        // The ranks' next commands are present at once, and take effect two cycles later.
        for _ in 0..2 {
            bench.cycle(&[0; BOARDS], &[0; BOARDS], &mut || 0, &[true; BOARDS]);
        }
        assert_eq!((fires, bench.rounds - before), (BOARDS, 2 * BOARDS as u64));
    }
}

/// Two equal sums are not sufficient: all sent packets must have been consumed. Equal sums of sent
/// and consumed packets are not sufficient either: one packet may have been counted only at its
/// receiver, another only at its sender.
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
        assert!(fires.iter().all(Option::is_none), "a packet is in flight");
    }
    // Consumed on two planes. One packet was sent by a board that was counted before it sent.
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

/// A board whose commands are cancelled during a round ignores the result of the round. Its next
/// commands wait for new rounds.
#[test]
fn cluster_sync_broken_off() {
    let quiet = [0; BOARDS];
    for gone in 0..BOARDS {
        let mut bench = Bench::new();
        for board in &mut bench.boards {
            (board.here, board.present) = (true, true);
        }
        while bench.rounds < 2 * BOARDS as u64 {
            assert!(bench.block.cycle() < 1_000, "no second round");
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

/// After the loss of a rank, no round has an effect, and no board waits for a second round. The
/// commands of the next run end on all boards.
#[test]
fn cluster_sync_lost() {
    let quiet = [0; BOARDS];
    let mut held = 0;
    for begin in 0..24 {
        let mut bench = Bench::new();
        for board in &mut bench.boards {
            (board.here, board.present) = (true, true);
        }
        // Boards learn of the loss one after the other. Without the loss, the barrier ends in this time.
        let mut before = [false; BOARDS];
        for now in 0..40 {
            for at in 0..BOARDS {
                bench.boards[at].lost = now >= begin + at;
            }
            let fires = bench.cycle(&quiet, &quiet, &mut || 3, &[true; BOARDS]);
            for at in 0..BOARDS {
                let board = &bench.boards[at];
                held += u64::from(board.holds && board.lost);
                assert!(!before[at] || !board.holds, "board {at} waits after a loss");
                assert!(
                    !before[at] || fires[at].is_none(),
                    "board {at} fires after a loss"
                );
                if fires[at].is_some() {
                    bench.boards[at].here = false;
                    bench.boards[at].present = false;
                }
                before[at] = bench.boards[at].lost;
            }
        }
        for board in &mut bench.boards {
            (board.here, board.present, board.lost) = (false, false, false);
        }
        for _ in 0..3 {
            let fires = bench.cycle(&quiet, &quiet, &mut || 3, &[true; BOARDS]);
            assert!(fires.iter().all(Option::is_none));
        }
        for board in &mut bench.boards {
            (board.here, board.present) = (true, true);
        }
        // A round that began before the loss may be the first of the two.
        let fired = (0..100)
            .map(|_| bench.cycle(&quiet, &quiet, &mut || 3, &[true; BOARDS]))
            .map(|fires| fires.iter().flatten().count())
            .find(|&count| count > 0);
        assert_eq!(fired, Some(BOARDS));
    }
    assert!(held > 10, "no loss during a second round");
}
