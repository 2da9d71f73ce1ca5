//! The timing diagrams of the router of the switch.

use alcor_abi::packets::net_low;
use alcor_hw_bench::{Dut, Recipe, Waves};

use crate::switch_router::{HERE, Phit, Pins, SMALL};

/// A router with two links whose channels hold two phits each. Rank 0 is behind link 0, rank 1 on
/// this board.
fn start() -> (Dut, Pins) {
    let mut dut = Dut::start(&SMALL.recipe());
    let pins = Pins::new(&dut, SMALL);
    dut.reset();
    for (rank, port) in [(0u64, 0u64), (1, HERE)] {
        dut.drive("forward_write_i", 1, 0, true);
        dut.drive("forward_rank_i", 1, 0, rank);
        dut.drive("forward_port_i", 1, 0, port);
        dut.settle();
        dut.clock();
    }
    dut.drive("forward_write_i", 1, 0, false);
    (dut, pins)
}

/// A phit to a rank. `last` marks the only phit of a packet.
fn phit(rank: u32, data: u64, last: bool) -> Phit {
    Phit {
        data,
        header: u64::from(net_low::DEST.put(rank) | net_low::LAST.put(last.into())),
        position: 0,
    }
}

/// A packet of three phits leaves by a link whose channel has space for two. The third phit waits
/// for a credit.
#[test]
fn switch_router_out_waves() {
    let (mut dut, pins) = start();
    let mut sent = 0;
    Waves::new("switch", "router_out").record(
        &mut dut,
        16,
        |dut, cycle| {
            let now = cycle > 0 && sent < 3;
            dut.set(pins.local_valid_in, 0, now.into());
            for (lane, value) in phit(0, 0xA0 + sent, sent == 2)
                .lanes()
                .into_iter()
                .enumerate()
            {
                dut.set(pins.local_phit_in, lane, value);
            }
            dut.set(
                pins.link_credit_in,
                0,
                u64::from(matches!(cycle, 9 | 10 | 14)),
            );
            dut.settle();
            sent += u64::from(now) & dut.get(pins.local_ready_out, 0);
        },
        |dut, waves, _| {
            let data = |valid, pin| {
                let value = dut.get(pin, 0) & 0xff;
                (dut.get(valid, 0) == 1).then(|| format!("{value:X}"))
            };
            waves.bit("local_valid_i[0]", dut.get(pins.local_valid_in, 0));
            waves.bit("local_ready_o[0]", dut.get(pins.local_ready_out, 0));
            waves.data(
                "local_phit_i[0]",
                data(pins.local_valid_in, pins.local_phit_in),
            );
            waves.bit("link_o[0].valid", dut.get(pins.link_valid_out, 0));
            waves.data(
                "link_phit_o[0]",
                data(pins.link_valid_out, pins.link_phit_out),
            );
            let on = dut.get(pins.link_valid_out, 0) == 1;
            waves.data("link_o[0].vc", on.then(|| dut.get(pins.link_vc_out, 0)));
            waves.bit("link_i[0].credit", dut.get(pins.link_credit_in, 0));
            let credit = dut.get(pins.link_credit_in, 0) == 1;
            waves.data(
                "link_i[0].credit_vc",
                credit.then(|| dut.get(pins.link_credit_vc_in, 0)),
            );
        },
    );
}

/// Two phits for this board arrive on a link. The local output accepts the first phit late.
#[test]
fn switch_router_in_waves() {
    let (mut dut, pins) = start();
    Waves::new("switch", "router_in").record(
        &mut dut,
        14,
        |dut, cycle| {
            let now = matches!(cycle, 1 | 2);
            dut.set(pins.link_valid_in, 0, now.into());
            dut.set(pins.link_vc_in, 0, 0);
            let phit = phit(1, 0xB0 + cycle as u64 - u64::from(cycle > 0), cycle == 2);
            for (lane, value) in phit.lanes().into_iter().enumerate() {
                dut.set(pins.link_phit_in, lane, value);
            }
            dut.set(pins.local_ready_in, 0, u64::from(cycle > 6));
        },
        |dut, waves, _| {
            let data = |valid, pin| {
                let value = dut.get(pin, 0) & 0xff;
                (dut.get(valid, 0) == 1).then(|| format!("{value:X}"))
            };
            waves.bit("link_i[0].valid", dut.get(pins.link_valid_in, 0));
            let on = dut.get(pins.link_valid_in, 0) == 1;
            waves.data("link_i[0].vc", on.then(|| dut.get(pins.link_vc_in, 0)));
            waves.data(
                "link_phit_i[0]",
                data(pins.link_valid_in, pins.link_phit_in),
            );
            waves.bit("local_valid_o[0]", dut.get(pins.local_valid_out, 0));
            waves.bit("local_ready_i[0]", dut.get(pins.local_ready_in, 0));
            waves.data(
                "local_phit_o[0]",
                data(pins.local_valid_out, pins.local_phit_out),
            );
            waves.bit("link_o[0].credit", dut.get(pins.link_credit_out, 0));
            let credit = dut.get(pins.link_credit_out, 0) == 1;
            waves.data(
                "link_o[0].credit_vc",
                credit.then(|| dut.get(pins.link_credit_vc_out, 0)),
            );
        },
    );
}

/// A packet of three words becomes two phits of two words each.
#[test]
fn uplink_tx_waves() {
    let recipe = Recipe::new("uplink_tx", "uplink_tx")
        .blocks(&["abi", "common"])
        .source("switch/rtl/phit_check.sv")
        .source("switch/rtl/uplink_tx.sv")
        .param("PHIT_W", 64)
        .param("DATA_W", 32);
    let mut dut = Dut::start(&recipe);
    dut.reset();
    let mut sent = 0;
    Waves::new("switch", "uplink").scale(2).record(
        &mut dut,
        10,
        |dut, cycle| {
            let now = cycle > 0 && sent < 3;
            dut.drive("valid_i", 1, 0, now);
            dut.drive("data_i", 1, 0, 0xA0 + sent);
            dut.drive("last_i", 1, 0, sent == 2);
            dut.drive("ready_i", 1, 0, cycle != 4);
            dut.settle();
            sent += u64::from(now) & dut.look("ready_o", 1, 0);
        },
        |dut, waves, _| {
            for name in ["valid_i", "ready_o"] {
                waves.bit(name, dut.look(name, 1, 0));
            }
            let on = dut.look("valid_i", 1, 0);
            waves.data(
                "data_i",
                (on == 1).then(|| format!("{:X}", dut.look("data_i", 1, 0))),
            );
            waves.bit("last_i", on & dut.look("last_i", 1, 0));
            for name in ["valid_o", "ready_i"] {
                waves.bit(name, dut.look(name, 1, 0));
            }
            // Data is the lowest 64 of 144 bits.
            let words = [0, 2].map(|lane| dut.look("phit_o", 9, lane) & 0xff);
            let last = dut.look("phit_o", 9, 5) >> 15 & 1;
            let phit = match (words, last) {
                ([first, _], 1) => format!("{first:X}"),
                ([first, second], _) => format!("{first:X}, {second:X}"),
            };
            waves.data("phit_o", (dut.look("valid_o", 1, 0) == 1).then_some(phit));
        },
    );
}
