//! The timing diagrams of hw/router/doc.

use alcor_hw_bench::{Dut, Recipe, Waves};

/// Both inputs of a router with two ports send packets to output 1, of two words and of one word.
/// The output stalls once.
#[test]
fn router_waves() {
    let mut recipe = Recipe::new("router2", "router").blocks(&["common", "router"]);
    let parameters = [
        ("PORTS", 2),
        ("WIDTH", 32),
        ("INPUT_DEPTH", 2),
        ("HEADER_DEPTH", 2),
        ("VOQ_DEPTH", 2),
        ("CROSSPOINT_DEPTH", 2),
        ("OUTPUT_DEPTH", 2),
    ];
    for (name, value) in parameters {
        recipe = recipe.param(name, value);
    }
    let mut dut = Dut::start(&recipe);
    // Both inputs' packets are for output 1.
    dut.drive("route_i", 2, 0, 2u64);
    dut.drive("route_i", 2, 1, 2u64);
    dut.reset();
    let packets = [[0x0100_00A0u64, 0xA1], [0x0100_00B0, 0xB1]];
    Waves::new("router", "packets").record(
        &mut dut,
        13,
        |dut, cycle| {
            for (input, packet) in packets.iter().enumerate() {
                let word = cycle.checked_sub(1).filter(|&word| word < 2);
                dut.drive("valid_i", 2, input, word.is_some());
                dut.drive("data_i", 2, input, word.map_or(0, |word| packet[word]));
                dut.drive("last_i", 2, input, word == Some(1));
                dut.drive("ready_i", 2, input, cycle != 6);
            }
        },
        |dut, waves, _| {
            let word = |valid: &str, data: &str, lane| {
                let value = dut.look(data, 2, lane) & 0xff;
                (dut.look(valid, 2, lane) == 1).then(|| format!("{value:X}"))
            };
            for input in 0..2 {
                for name in ["valid_i", "ready_o"] {
                    waves.bit(&format!("{name}[{input}]"), dut.look(name, 2, input));
                }
                waves.data(
                    &format!("data_i[{input}]"),
                    word("valid_i", "data_i", input),
                );
            }
            waves.bit("last_i", dut.look("last_i", 2, 0));
            for name in ["valid_o", "ready_i"] {
                waves.bit(&format!("{name}[1]"), dut.look(name, 2, 1));
            }
            waves.data("data_o[1]", word("valid_o", "data_o", 1));
            let last = dut.look("valid_o", 2, 1) & dut.look("last_o", 2, 1);
            waves.bit("last_o[1]", last);
            waves.bit("empty_o", dut.look("empty_o", 1, 0));
        },
    );
}
