//! The timing diagrams of hw/core/doc.

use alcor_abi::KernelOpcode;
use alcor_abi::packets::{kernel_head, kernel_result};
use alcor_abi::rank::{self as page, kernel_control};
use alcor_hw_bench::{Dut, Recipe, Waves};

use crate::coll_units::{BOARDS, block};
use crate::{kernel_memory, kernel_port};

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
            dut.drive("lite_read_ready_i", 2, 0, 1u64);
            dut.drive("lite_read_data_i", 2, 0, 0x5Au64);
        },
        |dut, waves, _| {
            let look = |name: &str| dut.look(&format!("lite_{name}"), 2, 0);
            let value = |valid, name| (look(valid) == 1).then(|| format!("{:X}", look(name)));
            let label = |name: &str| match name.rsplit_once('_') {
                Some((member, side)) => format!("bus_{side}.{member}"),
                None => name.to_owned(),
            };
            for name in ["awvalid_i", "awready_o"] {
                waves.bit(&label(name), look(name));
            }
            waves.data("bus_i.awaddr", value("awvalid_i", "awaddr_i"));
            for name in ["wvalid_i", "wready_o"] {
                waves.bit(&label(name), look(name));
            }
            waves.data("bus_i.wdata", value("wvalid_i", "wdata_i"));
            for name in ["bvalid_o", "bready_i"] {
                waves.bit(&label(name), look(name));
            }
            waves.bit("write_valid_o", look("write_valid_o"));
            waves.data("write_address_o", value("write_valid_o", "write_address_o"));
            for name in ["arvalid_i", "arready_o"] {
                waves.bit(&label(name), look(name));
            }
            waves.data("bus_i.araddr", value("arvalid_i", "araddr_i"));
            for name in ["rvalid_o", "rready_i"] {
                waves.bit(&label(name), look(name));
            }
            waves.data("bus_o.rdata", value("rvalid_o", "rdata_o"));
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
        if results.contains(&(cycle + 5)) {
            given = [0, 1, 2, 3].map(|lane| block.get_part("round_data_o", lane, 4 * BOARDS));
        }
        if round == 1 {
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

/// The kernel's port: a start, the end of the kernel, and a second start.
#[test]
fn kernel_start_waves() {
    let mut dut = kernel_port::start();
    let control = |cycle: usize| match cycle {
        2 | 10 => Some(("start", kernel_control::START)),
        8 => Some(("ack", kernel_control::ACKNOWLEDGE)),
        _ => None,
    };
    Waves::new("core", "kernel_start").record(
        &mut dut,
        23,
        |dut, cycle| {
            let bits = control(cycle).map_or(0, |(_, bit)| bit.mask());
            dut.drive("begun_i", 1, 0, true);
            dut.drive("memory_idle_i", 1, 0, true);
            dut.drive("page_write_i", 1, 0, bits != 0);
            dut.drive("page_offset_i", 1, 0, page::KERNEL_CONTROL);
            dut.drive("page_data_i", 1, 0, bits);
            dut.drive("kernel_done_i", 1, 0, (6..12).contains(&cycle));
        },
        |dut, waves, cycle| {
            waves.bit("page_i.valid", dut.look("page_write_i", 1, 0));
            waves.data("KERNEL_CONTROL", control(cycle).map(|(name, _)| name));
            waves.bit("kernel_rst_no", dut.look("kernel_rst_no", 1, 0));
            waves.bit("done_i", dut.look("kernel_done_i", 1, 0));
            waves.bit("rank_o.done", dut.look("done_o", 1, 0));
        },
    );
}

/// Two puts of a kernel: from the stream to the coprocessor, and the completion of the first.
#[test]
fn kernel_command_waves() {
    let mut dut = kernel_port::start();
    dut.drive("begun_i", 1, 0, true);
    dut.drive("memory_idle_i", 1, 0, true);
    dut.drive("page_write_i", 1, 0, true);
    dut.drive("page_offset_i", 1, 0, page::KERNEL_CONTROL);
    dut.drive("page_data_i", 1, 0, kernel_control::START.mask());
    dut.settle();
    dut.clock();
    dut.drive("page_write_i", 1, 0, false);
    dut.settle();
    while dut.look("kernel_rst_no", 1, 0) == 0 {
        dut.clock();
        dut.settle();
    }
    let mut taken = 0;
    Waves::new("core", "kernel_command").record(
        &mut dut,
        14,
        |dut, cycle| {
            // Commands with tags 1 and 2.
            let head = KernelOpcode::Put as u32 | kernel_head::TAG.put(taken + 1);
            dut.drive("command_valid_i", 1, 0, cycle > 0 && taken < 2);
            dut.drive("command_i", 9, 0, head);
            dut.drive("ready_i", 1, 0, cycle != 2);
            dut.drive("done_i", 1, 0, cycle == 5 || cycle == 9);
            // The reply to the first put.
            dut.drive("end_valid_i", 4, 0, cycle == 9);
            dut.drive("end_slot_i", 4, 0, 0u32);
            dut.drive("completion_ready_i", 1, 0, cycle == 12);
            dut.settle();
            let takes =
                dut.look("command_valid_i", 1, 0) == 1 && dut.look("command_ready_o", 1, 0) == 1;
            taken += u32::from(takes);
        },
        |dut, waves, _| {
            let look = |name: &str| dut.look(name, 1, 0);
            waves.bit("command_tvalid", look("command_valid_i"));
            waves.bit("command_tready", look("command_ready_o"));
            let valid = look("command_valid_i") == 1;
            let tag = kernel_head::TAG.get(dut.look("command_i", 9, 0) as u32);
            waves.data("tag of the command", valid.then_some(tag));
            waves.bit("rank_o.valid", look("valid_o"));
            waves.bit("rank_i.ready", look("ready_i"));
            let offers = look("valid_o") == 1;
            waves.data(
                "rank_o.data",
                offers.then(|| format!("{:X}", look("data_o") & 0xFFFF)),
            );
            waves.bit("rank_i.done", look("done_i"));
            waves.bit("rank_i.reply", dut.look("end_valid_i", 4, 0));
            waves.bit("completion_tvalid", look("completion_valid_o"));
            waves.bit("completion_tready", look("completion_ready_i"));
            let valid = look("completion_valid_o") == 1;
            let tag = kernel_result::TAG.get(dut.look("completion_o", 3, 0) as u32);
            waves.data("tag of the completion", valid.then_some(tag));
        },
    );
}

/// The kernel's memory port: a read burst of three beats and a write burst of two, with a memory that is free.
#[test]
fn kernel_memory_waves() {
    let mut dut = kernel_memory::WORDS.start();
    let mut granted = false;
    let mut written = 0u32;
    Waves::new("core", "kernel_memory").scale(2).record(
        &mut dut,
        9,
        |dut, cycle| {
            for (names, address, length) in [
                (["arvalid_i", "araddr_i", "arlen_i"], 0x40u32, 2u32),
                (["awvalid_i", "awaddr_i", "awlen_i"], 0x80, 1),
            ] {
                dut.drive(names[0], 1, 0, cycle == 1);
                dut.drive(names[1], 1, 0, address);
                dut.drive(names[2], 1, 0, length);
            }
            dut.drive("wvalid_i", 1, 0, (1..4).contains(&cycle));
            dut.drive("wdata_i", 1, 0, 0xC0 + written);
            dut.drive("wstrb_i", 1, 0, 0xFu32);
            dut.drive("rready_i", 1, 0, true);
            dut.drive("bready_i", 1, 0, true);
            dut.drive("read_i", 2, kernel_memory::RVALID, granted);
            dut.drive(
                "read_data_i",
                1,
                0,
                0xA0 + cycle as u32 - if granted { 3 } else { 0 },
            );
            dut.settle();
            let [read, write] =
                ["read_o", "write_o"].map(|name| kernel_memory::requests(dut, name));
            dut.drive("read_i", 2, kernel_memory::GNT, read);
            dut.drive("write_gnt_i", 1, 0, write);
            granted = read;
            let takes = dut.look("wvalid_i", 1, 0) & dut.look("wready_o", 1, 0);
            written += takes as u32;
        },
        |dut, waves, _| {
            let look = |name: &str| dut.look(name, 1, 0);
            let value =
                |valid: &str, name: &str| (look(valid) == 1).then(|| format!("{:X}", look(name)));
            for name in ["arvalid_i", "arready_o"] {
                waves.bit(name, look(name));
            }
            let requests = |name| u64::from(kernel_memory::requests(dut, name));
            waves.bit("read_o.req", requests("read_o"));
            waves.bit(
                "read_i.rvalid",
                dut.look("read_i", 2, kernel_memory::RVALID),
            );
            waves.bit("rvalid_o", look("rvalid_o"));
            waves.data("rdata_o", value("rvalid_o", "rdata_o"));
            let last = look("rvalid_o") & look("rlast_o");
            waves.bit("rlast_o", last);
            for name in ["awvalid_i", "awready_o", "wvalid_i", "wready_o"] {
                waves.bit(name, look(name));
            }
            waves.data("wdata_i", value("wvalid_i", "wdata_i"));
            let written = (requests("write_o") == 1).then(|| format!("{:X}", look("write_data_o")));
            waves.bit("write_o.req", requests("write_o"));
            waves.data("write_data_o", written);
            for name in ["bvalid_o", "bready_i", "idle_o"] {
                waves.bit(name, look(name));
            }
        },
    );
}
