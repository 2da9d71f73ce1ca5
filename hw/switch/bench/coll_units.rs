//! Common parts of the benches of the collective unit's blocks: the model with all blocks.

use alcor_hw_bench::Recipe;

use crate::rma::Block;

/// Ranks of the board that contains the table.
pub const RANKS: usize = 3;
/// Stages of the collective unit.
pub const STAGES: usize = 7;
/// Boards of the barrier.
pub const BOARDS: usize = 5;
/// Phits of a window.
pub const WINDOW: usize = 16;

/// The block whose ports begin with `prefix`.
pub fn block(prefix: &'static str) -> Block {
    let recipe = Recipe::new("coll_units", "coll_units_bench")
        .blocks(&["abi", "common", "fp", "switch"])
        .source("core/rtl/cluster_sync.sv")
        .source("switch/bench/coll_units_bench.sv")
        .param("RANKS", RANKS as u64)
        .param("STAGES", STAGES as u64)
        .param("BOARDS", BOARDS as u64)
        .param("WINDOW", WINDOW as u64);
    Block::of(&recipe, prefix, 1, 0)
}

/// Value of COMM_SHAPE.
pub fn shape(boards: usize, label: usize, members: u32) -> u32 {
    boards as u32 | (label as u32) << 8 | members << 16
}

/// For each stage, the pairs of labels in the tree over `n` labels.
pub fn pairs(n: usize) -> Vec<Vec<(usize, usize)>> {
    let (mut stages, mut n) = (Vec::new(), n);
    while n > 1 {
        let mut half = 1;
        while half * 2 < n {
            half *= 2;
        }
        let folded = n - half;
        stages.push((0..folded).map(|label| (label, label + half)).collect());
        n = half;
    }
    stages
}
