//! `coll_pick`: each choice is a candidate, all candidates get turns, and candidates that cannot
//! proceed cost the others few cycles.

use alcor_hw_bench::{Random, soak};
use rand::Rng;

use crate::coll_units::block;
use crate::rma::Block;

/// One cycle: drives the candidates, and whether the present choice is useless. Returns the choice.
fn cycle(block: &mut Block, candidates: u32, useless: impl Fn(usize) -> bool) -> Option<usize> {
    block.set("candidates_i", candidates);
    block.settle();
    let choice = block.is("valid_o").then(|| block.get("row_o") as usize);
    block.set("failed_i", choice.is_some_and(useless));
    block.settle();
    block.clock();
    choice
}

/// Model of the rules for turns and naps.
#[derive(Default)]
struct Turns {
    /// The last choice. `None` after a reset.
    row: u32,
    chosen: bool,
    napping: u32,
    cycle: u32,
}

impl Turns {
    /// The choice for the next cycle.
    fn next(&mut self, candidates: u32, failed: bool) -> Option<usize> {
        let present = 1 << self.row;
        // Every 16 cycles all naps end, after the search among awake candidates.
        let all_wake = self.cycle.is_multiple_of(16);
        self.cycle += 1;
        let mut awake = candidates & !self.napping;
        if failed {
            awake &= !present;
        }
        if all_wake || awake == 0 {
            self.napping = 0;
        }
        if failed && awake != 0 {
            self.napping |= present;
        }
        if candidates == 0 {
            return None;
        }
        let pool = if awake == 0 { candidates } else { awake };
        let later = (0..32).find(|row| self.chosen && *row > self.row && pool >> row & 1 == 1);
        self.row = later.unwrap_or(pool.trailing_zeros());
        self.chosen = true;
        Some(self.row as usize)
    }
}

/// The choice comes from the candidates of the previous cycle, in turns.
#[test]
fn coll_pick_random() {
    let mut rng = Random::new("coll_pick_random");
    let mut block = block("pick");
    let mut turns = Turns::default();
    let (mut expected, mut candidates, mut useless) = (None, 0u32, 0u32);
    for at in 0..soak(200_000) {
        // Candidates change every cycle, or stay for a while, so that naps end in every way.
        if rng.random_bool(if at % 4_000 < 2_000 { 1.0 } else { 0.05 }) {
            candidates = match rng.random_range(0..4) {
                0 => 0,
                1 => 1 << rng.random_range(0..32),
                _ => rng.random::<u32>() & rng.random::<u32>(),
            };
            // At times no communicator can proceed, so that all nap.
            useless = if rng.random_bool(0.3) {
                u32::MAX
            } else {
                rng.random()
            };
        }
        let choice = cycle(&mut block, candidates, |row| useless >> row & 1 == 1);
        assert_eq!(choice, expected, "cycle {at}");
        let failed = choice.is_some_and(|row| useless >> row & 1 == 1);
        expected = turns.next(candidates, failed);
    }
}

/// Candidates that can always proceed take turns. A candidate that can never proceed is tried at
/// intervals only.
#[test]
fn coll_pick_fair() {
    let mut rng = Random::new("coll_pick_fair");
    let mut block = block("pick");
    for _ in 0..soak(200) {
        let good: u32 = rng.random::<u32>() & rng.random::<u32>() & rng.random::<u32>();
        let bad: u32 = rng.random::<u32>() & rng.random::<u32>() & !good;
        if good == 0 {
            continue;
        }
        let (goods, bads) = (good.count_ones(), bad.count_ones());
        // A cycle without candidates wakes all.
        cycle(&mut block, 0, |_| false);
        cycle(&mut block, good | bad, |_| false);
        let (mut turns, mut lost, mut gap) = ([0u32; 32], 0, [0u32; 32]);
        let cycles = 40 * goods + 4 * bads;
        for at in 0..cycles {
            let choice = cycle(&mut block, good | bad, |row| bad >> row & 1 == 1);
            let Some(row) = choice else {
                panic!("no choice")
            };
            lost += bad >> row & 1;
            turns[row] += 1;
            for other in (0..32).filter(|other| good >> other & 1 == 1) {
                gap[other] = if other == row { 0 } else { gap[other] + 1 };
                // One turn for all, with at most one attempt at each useless candidate.
                assert!(
                    gap[other] <= goods + bads + 2,
                    "{other} waits since {} cycles at {at}",
                    gap[other]
                );
            }
        }
        // Useless candidates nap after their first attempt. Each costs two attempts, because a
        // choice is made a cycle ahead. All wake every 16 cycles.
        let wakes = cycles / 16 + 2;
        assert!(
            lost <= (2 * bads + 2) * wakes,
            "{lost} of {cycles} cycles for {bads} that can't go, {goods} that can"
        );
        let counts: Vec<u32> = (0..32)
            .filter(|row| good >> row & 1 == 1)
            .map(|row| turns[row])
            .collect();
        let (least, most) = (counts.iter().min(), counts.iter().max());
        assert!(
            most.zip(least)
                .is_some_and(|(most, least)| most - least <= 4),
            "{counts:?}"
        );
    }
}

/// Every candidate is tried eventually: also a single candidate, and one of several that all nap.
#[test]
fn coll_pick_wakes() {
    let mut block = block("pick");
    for row in 0..32usize {
        for _ in 0..20 {
            cycle(&mut block, 1 << row, |_| true);
        }
        let seen = (0..4)
            .filter(|_| cycle(&mut block, 1 << row, |_| true) == Some(row))
            .count();
        assert_eq!(seen, 4);
        let two = 1u32 << row | 1 << ((row + 5) % 32);
        let seen = (0..40)
            .filter(|_| cycle(&mut block, two, |_| true) == Some(row))
            .count();
        assert!((15..=25).contains(&seen), "{seen}");
    }
}

/// A candidate that failed once is tried again soon, even beside a candidate that proceeds in every
/// cycle.
#[test]
fn coll_pick_forgives() {
    let mut block = block("pick");
    let (stream, late) = (3usize, 17usize);
    let both = 1u32 << stream | 1 << late;
    cycle(&mut block, 0, |_| false);
    for _ in 0..20 {
        // The candidate fails until its nap has lasted for a while, and can proceed afterwards.
        for _ in 0..5 {
            cycle(&mut block, both, |row| row == late);
        }
        let wait = (0..40).position(|_| cycle(&mut block, both, |_| false) == Some(late));
        assert!(wait.is_some_and(|cycles| cycles <= 20), "{wait:?}");
    }
}
