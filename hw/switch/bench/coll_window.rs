//! `coll_window` against a model with a queue for each communicator.

use std::collections::VecDeque;

use alcor_hw_bench::{Random, soak};
use rand::Rng;

use crate::coll_units::{WINDOW, block};

#[test]
fn coll_window_random() {
    let mut rng = Random::new("coll_window");
    let mut block = block("window");
    let mut rings: Vec<VecDeque<(u64, u64)>> = vec![VecDeque::new(); 32];
    let mut taken: Option<u64> = None;
    let (mut full, mut both, mut flushed, mut most) = (0, 0, 0, [0; 32]);
    let mut last_pop = None;
    for phase in 0..soak(60) {
        // Phases differ: some fill the rings, some empty them, some use few rings.
        let (fill, empty) =
            [(0.9, 0.2), (0.2, 0.9), (0.7, 0.7), (1.0, 0.0), (1.0, 1.0)][phase as usize % 5];
        let rows: Vec<usize> = match phase % 3 {
            0 => (0..32).collect(),
            1 => vec![rng.random_range(0..32)],
            _ => (0..3).map(|_| rng.random_range(0..32)).collect(),
        };
        for _ in 0..700 {
            let some: u64 = (0..32)
                .filter(|&row| !rings[row].is_empty())
                .map(|row| 1 << row)
                .sum();
            // The observed row, which may be empty.
            let head = rows[rng.random_range(0..rows.len())];
            let pop = !rings[head].is_empty() && rng.random_bool(empty);
            let row = if rng.random_bool(0.5) {
                head
            } else {
                rows[rng.random_range(0..rows.len())]
            };
            let push = rings[row].len() < WINDOW && rng.random_bool(fill);
            let (data, note) = (rng.random::<u64>() >> 16, rng.random_range(0..1u64 << 11));
            block.set("head_row_i", head as u64);
            block.set("pop_i", pop);
            // A ring that was read in the previous cycle and is not read in this one.
            let emptied = rows[rng.random_range(0..rows.len())];
            let flush =
                rng.random_bool(0.01) && !(pop && head == emptied) && last_pop != Some(emptied);
            last_pop = pop.then_some(head);
            block.set("flush_i", flush);
            block.set("flush_row_i", emptied as u64);
            block.set("push_i", push);
            block.set("push_row_i", row as u64);
            block.set("push_data_i", data);
            block.set("push_note_i", note);
            block.settle();
            assert_eq!(block.get("some_o"), some);
            if let Some(data) = taken {
                assert_eq!(block.get("data_o"), data);
            }
            if let Some(&(_, note)) = rings[head].front() {
                assert_eq!(block.get("head_note_o"), note, "row {head}");
            }
            block.clock();
            // The word read last stays on the output until the next read.
            if pop {
                taken = rings[head].pop_front().map(|(data, _)| data);
            }
            if flush {
                flushed += u32::from(!rings[emptied].is_empty());
                rings[emptied].clear();
            }
            if push {
                rings[row].push_back((data, note));
                most[row] = most[row].max(rings[row].len());
                full += u32::from(rings[row].len() == WINDOW);
                both += u32::from(pop && row == head && rings[row].len() == 1);
            }
        }
    }
    assert!(
        full > 100 && both > 100 && flushed > 100,
        "{full} times full, {both} times emptied and written at once, {flushed} times emptied"
    );
    assert_eq!(most, [WINDOW; 32], "rows that were never full");
}
