//! `reset_pipe`: reset is active at power-up, and afterwards equals its input some cycles earlier.

use alcor_hw_bench::{Dut, Random, Recipe, soak};
use rand::Rng;

fn follows(name: &'static str, stages: usize) {
    let mut dut = Dut::start(
        &Recipe::new(name, "reset_pipe")
            .blocks(&["common"])
            .param("STAGES", stages as u64),
    );
    let mut rng = Random::new(name);
    let (input, output) = (dut.pin("rst_ni"), dut.pin("rst_no"));
    // Active at power-up.
    let mut sent = vec![0; stages];
    for _ in 0..soak(2_000) {
        // Long and short pulses.
        let before = sent[sent.len() - 1];
        let value = if sent.len() == stages || rng.random_bool(0.3) {
            rng.random_range(0..2)
        } else {
            before
        };
        sent.push(value);
        dut.set(input, 0, value);
        dut.settle();
        let due = sent[sent.len() - 1 - stages];
        assert_eq!(dut.get(output, 0), due, "cycle {}", dut.cycle());
        dut.clock();
    }
}

#[test]
fn one() {
    follows("reset_pipe1", 1);
}

#[test]
fn three() {
    follows("reset_pipe3", 3);
}
