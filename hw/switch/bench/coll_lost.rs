//! `coll_lost`: the communicators that a lost rank cancels, against a record of losses for each
//! rank.

use alcor_hw_bench::{Dut, Random, Recipe, soak};
use rand::Rng;

const RANKS: usize = 3;
/// Maximum number of cycles until the outputs follow.
const LATENCY: u32 = 3;

/// Ranks begin runs, are reset and drain, while communicators change in every cycle. A rank's
/// communicator must be cancelled if one of its members was lost since the rank began. It must not
/// be cancelled if none of its members was lost since the time when no rank missed another.
/// Otherwise, when a member was lost only to other ranks, both outcomes are accepted.
#[test]
fn coll_lost_random() {
    let mut rng = Random::new("coll_lost_random");
    let recipe =
        Recipe::new("coll_lost", "coll_lost").blocks(&["abi", "common", "fp", "router", "switch"]);
    let mut dut = Dut::start(&recipe.param("RANKS", RANKS as u64));
    let [lost, cancel, member, cancelled] =
        ["lost_i", "cancel_i", "member_i", "cancel_o"].map(|pin| dut.lanes(pin, RANKS));
    let out_of_use = dut.lanes("closed_i", 1);
    dut.reset();

    let mut members = [0u32; RANKS];
    // For each rank: whether it is in a run, and the other ranks lost to it.
    let mut begun = [false; RANKS];
    let mut lost_to = [[false; RANKS]; RANKS];
    // Ranks lost since the time when no rank missed another.
    let mut missed = [false; RANKS];
    let (mut others_live, mut drained, mut closes) = (0, 0, 0);
    for _ in 0..soak(3_000) {
        let mut pulse = [false; RANKS];
        let mut drains = [false; RANKS];
        for rank in 0..RANKS {
            match rng.random_range(0..8) {
                0 | 1 => members[rank] = rng.random(),
                2 => members[rank] = 1 << rng.random_range(0..32),
                3 | 4 => (begun[rank], lost_to[rank]) = (true, [false; RANKS]),
                5 if begun[rank] => {
                    pulse[rank] = true;
                    (begun[rank], lost_to[rank]) = (false, [false; RANKS]);
                }
                6 => drains[rank] = true,
                _ => {}
            }
        }
        // Of ranks that are reset in the same cycle, none remains.
        for rank in (0..RANKS).filter(|&rank| begun[rank]) {
            for other in 0..RANKS {
                lost_to[rank][other] |= pulse[other];
            }
        }
        let is_orphaned = lost_to.map(|lost| lost.contains(&true));
        for rank in 0..RANKS {
            missed[rank] = (missed[rank] || pulse[rank]) && is_orphaned.contains(&true);
        }
        // Rows out of use, which their members lose.
        let closed: u32 = if rng.random_bool(0.3) {
            rng.random::<u32>() & rng.random::<u32>()
        } else {
            0
        };
        dut.set(out_of_use, 0, closed.into());
        let hold = rng.random_range(LATENCY + 3..LATENCY + 20);
        for cycle in 0..hold {
            for rank in 0..RANKS {
                dut.set(lost, rank, (cycle == 0 && pulse[rank]).into());
                // A loss reaches a rank one cycle later.
                let hears = is_orphaned[rank] && (cycle > 0 || pulse == [false; RANKS]);
                dut.set(
                    cancel,
                    rank,
                    u64::from(drains[rank]) << 1 | u64::from(hears),
                );
                dut.set(member, rank, members[rank].into());
            }
            dut.settle();
            dut.clock();
            dut.settle();
            if cycle < LATENCY {
                continue;
            }
            for rank in 0..RANKS {
                let of = |lost: &dyn Fn(usize) -> bool| {
                    (0..RANKS)
                        .filter(|&other| lost(other))
                        .fold(0, |rows, other| rows | members[other])
                };
                let must = of(&|other| lost_to[rank][other]);
                let may = of(&|other| missed[other]);
                let found = dut.get(cancelled, rank) as u32;
                let out = closed & members[rank];
                assert_eq!(out & !found, 0, "rank {rank}, cycle {}", dut.cycle());
                closes += out.count_ones();
                if drains[rank] {
                    assert_eq!(found, u32::MAX, "rank {rank} drains, cycle {}", dut.cycle());
                    drained += 1;
                    continue;
                }
                assert_eq!(
                    must & !found,
                    0,
                    "rank {rank}, cycle {}: found {found:08x}",
                    dut.cycle()
                );
                let most = out | if is_orphaned[rank] { may } else { 0 };
                assert_eq!(
                    found & !most,
                    0,
                    "rank {rank}, cycle {}: found {found:08x}",
                    dut.cycle()
                );
                others_live += u32::from(is_orphaned[rank] && found != u32::MAX);
            }
        }
    }
    assert!(
        others_live > 100 && drained > 100 && closes > 100,
        "{others_live} {drained} {closes}"
    );
}
