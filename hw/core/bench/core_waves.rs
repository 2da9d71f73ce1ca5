//! The timing diagrams of hw/core/doc.

use alcor_hw_bench::{Dut, Recipe, Waves};

use crate::coll_units::{BOARDS, block};

/// Two readers and one writer of a memory with one bank. Data follows one cycle after the grant.
#[test]
fn node_memory_waves() {
    let recipe = Recipe::new("node_memory", "node_memory_bench")
        .blocks(&["abi", "common"])
        .source("core/rtl/node_memory.sv")
        .source("core/bench/node_memory_bench.sv")
        .param("NODE_BYTES", 1024)
        .param("BANKS", 8)
        .param("LATENCY", 5)
        .param("JITTER", 0)
        .param("STAGES", 2);
    let mut dut = Dut::start(&recipe);
    dut.reset();
    // Words 8 and 16 hold A and B.
    for (address, data) in [(8u64, 0xAu64), (16, 0xB)] {
        dut.drive("write_req_i", 5, 0, true);
        dut.drive("write_address_i", 5, 0, address);
        dut.drive("write_data_i", 5 * 8, 0, data);
        dut.drive("write_strobe_i", 5 * 8, 0, 0xfu64);
        dut.settle();
        while dut.look("write_gnt_o", 5, 0) == 0 {
            dut.clock();
            dut.settle();
        }
        dut.clock();
    }
    dut.drive("write_req_i", 5, 0, false);
    let (mut left, mut written) = ([2, 1], false);
    Waves::new("core", "memory").record(
        &mut dut,
        13,
        |dut, cycle| {
            for (reader, &left) in left.iter().enumerate() {
                dut.drive("read_req_i", 4, reader, cycle > 0 && left > 0);
                let address = if reader == 1 { 16u64 } else { 8 };
                dut.drive("read_address_i", 4, reader, address);
            }
            dut.drive("write_req_i", 5, 0, cycle > 2 && !written);
            dut.drive("write_address_i", 5, 0, 8u64);
            dut.drive("write_data_i", 5 * 8, 0, 0xCu64);
            dut.settle();
            for (reader, left) in left.iter_mut().enumerate() {
                *left -= dut.look("read_gnt_o", 4, reader);
            }
            written |= dut.look("write_gnt_o", 5, 0) == 1;
        },
        |dut, waves, _| {
            for reader in 0..2 {
                for name in ["read_req_i", "read_gnt_o"] {
                    waves.bit(&format!("{name}[{reader}]"), dut.look(name, 4, reader));
                }
                let on = dut.look("read_req_i", 4, reader) == 1;
                let address = on.then(|| dut.look("read_address_i", 4, reader));
                waves.data(&format!("read_address_i[{reader}]"), address);
            }
            for name in ["write_req_i", "write_gnt_o"] {
                waves.bit(&format!("{name}[0]"), dut.look(name, 5, 0));
            }
            let on = dut.look("write_req_i", 5, 0) == 1;
            waves.data(
                "write_address_i[0]",
                on.then(|| dut.look("write_address_i", 5, 0)),
            );
            let data = on.then(|| format!("{:X}", dut.look("write_data_i", 5 * 8, 0)));
            waves.data("write_data_i[0]", data);
            let valid = [0, 1].map(|reader| dut.look("read_rvalid_o", 4, reader));
            for (reader, valid) in valid.into_iter().enumerate() {
                waves.bit(&format!("read_rvalid_o[{reader}]"), valid);
            }
            let data = (valid != [0, 0]).then(|| format!("{:X}", dut.look("data_o", 8, 0)));
            waves.data("data_o", data);
        },
    );
}

/// The host's port: a write whose address precedes its data, and a read.
#[test]
fn axi_lite_port_waves() {
    let recipe = Recipe::new("core-blocks", "core_bench")
        .core()
        .source("core/bench/core_bench.sv");
    let mut dut = Dut::start(&recipe);
    dut.reset();
    Waves::new("core", "axi_lite").scale(2).record(
        &mut dut,
        11,
        |dut, cycle| {
            let inputs = [
                ("awvalid_i", (1..=2).contains(&cycle), 0x40u64),
                ("wvalid_i", cycle == 2, 7),
                ("bready_i", cycle == 4, 0),
                ("arvalid_i", cycle == 6, 0x44),
                ("rready_i", cycle == 8, 0),
                ("write_ready_i", true, 0),
            ];
            for (name, high, value) in inputs {
                dut.drive(&format!("lite_{name}"), 2, 0, high);
                match name {
                    "awvalid_i" => dut.drive("lite_awaddr_i", 2, 0, value),
                    "wvalid_i" => dut.drive("lite_wdata_i", 2, 0, value),
                    "arvalid_i" => dut.drive("lite_araddr_i", 2, 0, value),
                    _ => (),
                }
            }
            dut.drive("lite_read_data_i", 2, 0, 0x5Au64);
        },
        |dut, waves, _| {
            let look = |name: &str| dut.look(&format!("lite_{name}"), 2, 0);
            let value = |valid, name| (look(valid) == 1).then(|| format!("{:X}", look(name)));
            for name in ["awvalid_i", "awready_o"] {
                waves.bit(name, look(name));
            }
            waves.data("awaddr_i", value("awvalid_i", "awaddr_i"));
            for name in ["wvalid_i", "wready_o"] {
                waves.bit(name, look(name));
            }
            waves.data("wdata_i", value("wvalid_i", "wdata_i"));
            for name in ["bvalid_o", "bready_i", "write_valid_o"] {
                waves.bit(name, look(name));
            }
            waves.data("write_address_o", value("write_valid_o", "write_address_o"));
            for name in ["arvalid_i", "arready_o"] {
                waves.bit(name, look(name));
            }
            waves.data("araddr_i", value("arvalid_i", "araddr_i"));
            for name in ["rvalid_o", "rready_i"] {
                waves.bit(name, look(name));
            }
            waves.data("rdata_o", value("rvalid_o", "rdata_o"));
        },
    );
}

/// A barrier over several boards, as seen by one board: two rounds with equal sums, and the end of
/// the command.
#[test]
fn cluster_sync_waves() {
    let mut block = block("sync");
    let mut given = [0u64; 4];
    let mut results = Vec::new();
    let mut waves = Waves::new("core", "cluster_barrier");
    let mut ended = false;
    for cycle in 0..19 {
        let here = cycle > 0 && !ended;
        block.set_part("here_i", 0, BOARDS, here);
        block.set_part("present_i", 0, BOARDS, here);
        block.set_part("round_ready_i", 0, BOARDS, true);
        let result = results.contains(&cycle);
        block.set_part("result_i", 0, BOARDS, result);
        for (lane, &value) in given.iter().enumerate() {
            block.set_part("result_data_i", lane, 4 * BOARDS, value);
        }
        block.settle();
        let round = block.get_part("round_o", 0, BOARDS);
        if round == 1 {
            given = [0, 1, 2, 3].map(|lane| block.get_part("round_data_o", lane, 4 * BOARDS));
            results.push(cycle + 6);
        }
        waves.bit("here_i", here);
        waves.bit("round_o", round);
        waves.bit("result_i", result);
        waves.bit("hold_o", block.get_part("hold_o", 0, BOARDS));
        let fire = block.get_part("fire_o", 0, BOARDS);
        waves.bit("fire_o", fire);
        ended |= fire == 1;
        waves.cycle();
        block.clock();
    }
    waves.check();
}
