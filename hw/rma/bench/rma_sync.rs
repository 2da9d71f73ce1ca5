//! `rma_sync` with ranks that arrive and leave at random. The block fires two cycles after all
//! ranks are present and no traffic is in flight, never earlier. The decision is checked too.

use std::collections::VecDeque;

use alcor_abi::{Status, SyncKind};
use alcor_hw_bench::{Random, soak};
use rand::Rng;

use crate::rma::Block;

/// Number of ranks of the instances in `rma_bench`. The ports have 16 lanes.
const RANKS: [usize; 3] = [2, 4, 16];
const PORTS: usize = 16;

/// Inputs of a rank in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rank {
    valid: bool,
    quiet: bool,
    kind: u8,
    status: u8,
    slot: u8,
    begun: bool,
    nprocs: u8,
}

const OUTSIDE: Rank = Rank {
    valid: false,
    quiet: true,
    kind: 0,
    status: 0,
    slot: 0,
    begun: false,
    nprocs: 1,
};

/// Expected decision of the ranks of a run. The first rank with a reason decides, unless the ranks
/// are at different commands or slots.
fn verdict(ranks: &[Rank]) -> u8 {
    let reason = ranks
        .iter()
        .map(|rank| rank.status)
        .find(|&status| status != Status::Ok as u8);
    if ranks.iter().any(|rank| rank.kind != ranks[0].kind) {
        Status::Mismatch as u8
    } else if let Some(reason) = reason {
        reason
    } else if ranks.iter().any(|rank| rank.slot != ranks[0].slot) {
        Status::Mismatch as u8
    } else {
        Status::Ok as u8
    }
}

struct Bench {
    rng: Random,
    block: Block,
    ranks: Vec<Rank>,
    network_empty: bool,
    /// Number of the board's first rank.
    first: u8,
    /// For this cycle and the next: whether all ranks of the run are present, and the common
    /// decision if there is no traffic.
    coming: VecDeque<(bool, Option<u8>)>,
    /// For this cycle and the next: the first rank's command and slot.
    named: VecDeque<(u8, u8)>,
    /// Number of cycles for which each rank's command has been offered.
    offered: Vec<u64>,
    fired: u64,
}

impl Bench {
    fn new(lane: usize, name: &'static str) -> Self {
        Self {
            rng: Random::new(name),
            block: Block::start("sync", RANKS.len(), lane),
            ranks: vec![OUTSIDE; RANKS[lane]],
            network_empty: true,
            first: 0,
            coming: VecDeque::from([(false, None); 2]),
            named: VecDeque::from([(0, 0); 2]),
            offered: vec![0; RANKS[lane]],
            fired: 0,
        }
    }

    /// Number of ranks of the run on this board.
    fn needed(&self) -> usize {
        let most = self
            .ranks
            .iter()
            .filter(|rank| rank.begun)
            .map(|rank| usize::from(rank.nprocs))
            .max();
        most.unwrap_or(0)
            .saturating_sub(usize::from(self.first))
            .min(self.ranks.len())
    }

    /// One cycle. Returns the decision if `fire_o` is high.
    fn cycle(&mut self) -> Option<u8> {
        for (at, rank) in self.ranks.iter().enumerate() {
            let values = [
                ("valid_i", u64::from(rank.valid)),
                ("quiet_i", u64::from(rank.quiet)),
                ("kind_i", u64::from(rank.kind)),
                ("status_i", u64::from(rank.status)),
                ("slot_i", u64::from(rank.slot)),
                ("begun_i", u64::from(rank.begun)),
                ("nprocs_i", u64::from(rank.nprocs)),
            ];
            for (name, value) in values {
                self.block.set_part(name, at, PORTS, value);
            }
        }
        self.block.set("network_empty_i", self.network_empty);
        self.block.set("first_rank_i", self.first);
        self.block.settle();
        let fire = self.block.is("fire_o");
        let found = fire.then(|| self.block.get("verdict_o") as u8);
        let expected = self.coming.pop_front();
        assert_eq!(
            Some((self.block.is("present_o"), found)),
            expected,
            "cycle {}: {:?}",
            self.block.cycle(),
            self.ranks
        );
        let names = (
            self.block.get("kind_o") as u8,
            self.block.get("slot_o") as u8,
        );
        let named = self.named.pop_front().expect("two cycles of them");
        assert!(!fire || names == named, "{names:?} for {named:?}");
        self.named
            .push_back((self.ranks[0].kind, self.ranks[0].slot));

        let run = &self.ranks[..self.needed()];
        let present = !run.is_empty() && run.iter().all(|rank| rank.valid);
        let here = present && self.network_empty && run.iter().all(|rank| rank.quiet);
        self.coming.push_back((present, here.then(|| verdict(run))));
        for (rank, offered) in self.ranks.iter().zip(&mut self.offered) {
            *offered = if rank.valid { *offered + 1 } else { 0 };
        }
        self.block.clock();
        found
    }
}

fn random(lane: usize) {
    let mut bench = Bench::new(lane, "rma_sync_random");
    let ranks = RANKS[lane];
    for round in 0..soak(60) {
        // A run of some of the ranks. The other ranks have arbitrary inputs.
        let nprocs = if round % 3 == 0 {
            ranks
        } else {
            bench.rng.random_range(1..=ranks)
        };
        for at in 0..ranks {
            let outside = Rank {
                valid: bench.rng.random(),
                kind: 2,
                status: 9,
                slot: 77,
                ..OUTSIDE
            };
            bench.ranks[at] = if at < nprocs {
                Rank {
                    begun: true,
                    nprocs: nprocs as u8,
                    ..OUTSIDE
                }
            } else {
                Rank {
                    begun: false,
                    nprocs: 255,
                    ..outside
                }
            };
        }
        bench.network_empty = true;
        for _ in 0..3 {
            bench.cycle();
        }
        let mut entered = vec![0u64; nprocs];
        let mut completed = vec![0u64; nprocs];
        for _ in 0..120 {
            for (at, entered) in entered.iter_mut().enumerate() {
                let (busy, stays) = (bench.rng.random_bool(0.3), bench.rng.random_bool(0.8));
                let rank = &mut bench.ranks[at];
                // Traffic may arrive while a rank waits, so quiet periods alternate with traffic.
                rank.quiet = !busy;
                if !rank.valid && !stays {
                    rank.valid = true;
                    *entered += 1;
                    let (kind, slot) = (bench.rng.random_range(0..3), bench.rng.random());
                    let odd = bench.rng.random_bool(0.2);
                    rank.kind = if odd { kind } else { SyncKind::Barrier as u8 };
                    rank.slot = if odd { slot } else { 4 };
                    rank.status = if bench.rng.random_bool(0.1) {
                        bench.rng.random_range(1..13)
                    } else {
                        0
                    };
                }
            }
            bench.network_empty = bench.rng.random_bool(0.7);
            if bench.cycle().is_some() {
                // For a command shorter than three cycles, this is the end of the previous command.
                for (at, count) in completed.iter_mut().enumerate() {
                    if bench.offered[at] >= 3 {
                        bench.ranks[at].valid = false;
                        bench.offered[at] = 0;
                        *count += 1;
                    }
                }
                bench.fired += 1;
                assert!(
                    completed.iter().all(|&count| count == completed[0]),
                    "some left and some did not: {completed:?}"
                );
            }
            // No rank leaves before all have entered, and each rank leaves once.
            let least = entered.iter().min();
            assert!(
                completed
                    .iter()
                    .all(|count| least.is_some_and(|least| count <= least))
            );
        }
        let most = completed.iter().max().copied().unwrap_or(0);
        assert!(most > 0 || nprocs > 4, "{nprocs} ranks never met");
    }
    assert!(bench.fired > 50, "fired only {} times", bench.fired);
}

/// Inputs that change in every cycle: the decision is about the inputs of two cycles ago alone.
fn decisions(lane: usize) {
    let mut bench = Bench::new(lane, "rma_sync_decisions");
    let ranks = RANKS[lane];
    for _ in 0..soak(1_250 * ranks as u64) {
        let rng = &mut *bench.rng;
        bench.first = match rng.random_range(0..4) {
            0 => 0,
            1 => (ranks * rng.random_range(0..=255 / ranks)) as u8,
            _ => rng.random(),
        };
        // Most often the run ends on this board, or beyond.
        let end = usize::from(bench.first) + rng.random_range(1..=ranks + 1);
        let nprocs = if rng.random_bool(0.9) {
            end.min(255) as u8
        } else {
            rng.random()
        };
        let all = rng.random_bool(0.6).then_some(rng.random_range(0..ranks));
        let (kind, slot) = (rng.random_range(0..4), rng.random());
        let chance = [0.0, 0.0, 0.3][rng.random_range(0..3)];
        for (at, rank) in bench.ranks.iter_mut().enumerate() {
            // All ranks have begun, or one alone knows how many ranks there are.
            let begun = all.is_none_or(|one| one == at);
            *rank = Rank {
                valid: !rng.random_bool(chance),
                quiet: !rng.random_bool(chance),
                kind,
                status: Status::Ok as u8,
                slot,
                begun,
                nprocs: if begun { nprocs } else { rng.random() },
            };
        }
        for _ in 0..[0, 1, 1, 2][rng.random_range(0..4)] {
            // Often the last rank of the run, or the one behind it.
            let last = end - usize::from(bench.first);
            let at = if rng.random() {
                last - rng.random_range(0..2)
            } else {
                rng.random_range(0..ranks)
            };
            let rank = &mut bench.ranks[at.min(ranks - 1)];
            match rng.random_range(0..6) {
                0 => rank.valid ^= true,
                1 => rank.quiet ^= true,
                2 => rank.kind ^= 1 << rng.random_range(0..2),
                3 => rank.slot ^= 1 << rng.random_range(0..8),
                4 => rank.status = rng.random_range(0..32),
                _ => rank.status = 1 << rng.random_range(0..5),
            }
        }
        bench.network_empty = rng.random_bool(0.9);
        let fires = bench.cycle().is_some();
        bench.fired += u64::from(fires);
    }
    assert!(bench.fired > 250, "fired only {} times", bench.fired);
}

/// Each rule of the decision.
fn verdicts(lane: usize) {
    let mut bench = Bench::new(lane, "rma_sync_verdicts");
    let ranks = RANKS[lane];
    let run = Rank {
        begun: true,
        nprocs: ranks as u8,
        valid: true,
        kind: SyncKind::Register as u8,
        ..OUTSIDE
    };
    let (full, duplicate) = (Status::TableFull as u8, Status::Duplicate as u8);
    let last = ranks - 1;
    let cases: Vec<(Vec<(usize, Rank)>, u8)> = vec![
        (vec![], Status::Ok as u8),
        (
            vec![(
                last,
                Rank {
                    status: full,
                    ..run
                },
            )],
            full,
        ),
        // The reason of the first rank, in any order of arrival.
        (
            vec![
                (
                    0,
                    Rank {
                        status: duplicate,
                        ..run
                    },
                ),
                (
                    last,
                    Rank {
                        status: full,
                        ..run
                    },
                ),
            ],
            duplicate,
        ),
        (
            vec![
                (
                    0,
                    Rank {
                        status: full,
                        ..run
                    },
                ),
                (
                    last,
                    Rank {
                        status: duplicate,
                        ..run
                    },
                ),
            ],
            full,
        ),
        // Another slot is a mismatch, unless a rank has a reason.
        (
            vec![(last, Rank { slot: 1, ..run })],
            Status::Mismatch as u8,
        ),
        (
            vec![(
                last,
                Rank {
                    slot: 1,
                    status: full,
                    ..run
                },
            )],
            full,
        ),
        // Another command is always a mismatch.
        (
            vec![(
                last,
                Rank {
                    kind: SyncKind::Barrier as u8,
                    ..run
                },
            )],
            Status::Mismatch as u8,
        ),
        (
            vec![(
                last,
                Rank {
                    kind: SyncKind::Barrier as u8,
                    status: full,
                    ..run
                },
            )],
            Status::Mismatch as u8,
        ),
    ];
    for (changes, expected) in cases {
        bench.ranks = vec![run; ranks];
        for (at, rank) in changes {
            bench.ranks[at] = rank;
        }
        for rank in &mut bench.ranks {
            rank.valid = false;
        }
        // The previous announcement must end first.
        for _ in 0..4 {
            bench.cycle();
        }
        for rank in &mut bench.ranks {
            rank.valid = true;
        }
        // Two cycles from the request to the announcement.
        assert_eq!(bench.cycle(), None);
        assert_eq!(bench.cycle(), None);
        assert_eq!(bench.cycle(), Some(expected));
    }
}

#[test]
fn rma_sync_random() {
    (0..RANKS.len()).for_each(random);
}

#[test]
fn rma_sync_verdicts() {
    (0..RANKS.len()).for_each(verdicts);
}

#[test]
fn rma_sync_decisions() {
    (0..RANKS.len()).for_each(decisions);
}
