//! The timing diagrams of hw/link/doc.

use alcor_hw_bench::{Dut, Recipe, Waves};

/// One cycle of both clocks, which are equal here.
fn edge(dut: &mut Dut) {
    for level in [1u64, 0] {
        dut.drive("core_clk_i", 1, 0, level);
        dut.drive("mac_clk_i", 1, 0, level);
        dut.settle();
    }
}

/// A credit travels in a separate frame, and four phits in two frames. In one cycle the
/// controller accepts no word.
#[test]
fn link_frame_waves() {
    let recipe = Recipe::new("link_end", "link_bench")
        .blocks(&["abi", "common", "link"])
        .source("link/bench/link_bench.sv");
    let mut dut = Dut::start(&recipe);
    for name in ["mac_ready_i", "mac_aligned_i"] {
        dut.drive(name, 1, 0, true);
    }
    dut.drive("mac_taken_i", 1, 0, true);
    // The link end agrees with itself: its frames come back.
    for cycle in 0..600 {
        dut.drive("rst_ni", 1, 0, cycle > 8);
        dut.drive("key_i", 1, 0, u64::from(cycle > 8));
        let back = ["mac_valid_o", "mac_last_o"].map(|name| dut.look(name, 1, 0));
        let data: [u64; 8] = std::array::from_fn(|lane| dut.look("mac_data_o", 8, lane));
        edge(&mut dut);
        dut.drive("mac_valid_i", 1, 0, back[0]);
        dut.drive("mac_last_i", 1, 0, back[1]);
        for (lane, value) in data.into_iter().enumerate() {
            dut.drive("mac_data_i", 8, lane, value);
        }
    }
    dut.drive("mac_valid_i", 1, 0, false);
    assert_eq!(dut.look("open_o", 1, 0), 1);
    let mut waves = Waves::new("link", "frame");
    let mut word = 0;
    for cycle in 0..22 {
        let phit = (1..=4).contains(&cycle);
        dut.drive("valid_i", 1, 0, phit);
        dut.drive("vc_i", 1, 0, 2u64);
        dut.drive("phit_i", 7, 0, cycle as u64);
        dut.drive("credit_i", 1, 0, cycle == 1);
        dut.drive("credit_vc_i", 1, 0, 0u64);
        dut.drive("mac_taken_i", 1, 0, cycle != 12);
        dut.settle();
        waves.bit("valid_i", phit);
        waves.data("phit_i", phit.then(|| format!("P{cycle}")));
        waves.bit("credit_i", cycle == 1);
        let valid = dut.look("mac_valid_o", 1, 0);
        waves.bit("mac_valid_o", valid);
        waves.bit("mac_taken_i", dut.look("mac_taken_i", 1, 0));
        let name = match word {
            0 => "head",
            _ if word % 2 == 1 => "low",
            _ => "high",
        };
        waves.data("mac_data_o", (valid == 1).then_some(name));
        let last = valid & dut.look("mac_last_o", 1, 0);
        waves.bit("mac_last_o", last);
        if valid & dut.look("mac_taken_i", 1, 0) == 1 {
            word = if last == 1 { 0 } else { word + 1 };
        }
        waves.cycle();
        edge(&mut dut);
    }
    waves.check();
}
