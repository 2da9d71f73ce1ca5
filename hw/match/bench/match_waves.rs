//! The timing diagram of hw/match/doc.

use alcor_hw_bench::{Dut, Waves};

use crate::match_store::Shape;

const RECEIVE: u64 = 0b0001;
const MESSAGE: u64 = 0b1001;
const NAMES: [&str; 5] = ["none", "found", "appended", "refused", "key"];

/// A receive of pair 0 is posted on port 1. A message of pair 0 then finds it, while a receive of pair 1 is
/// posted: both are under way at the same time.
#[test]
fn match_store_waves() {
    let mut dut = Dut::start(&Shape::example());
    dut.reset();
    while dut.look("ready_o", 1, 0) == 0 {
        dut.clock();
        dut.settle();
    }
    for pair in 0..2u64 {
        dut.drive("descriptor_write_i", 1, 0, true);
        dut.drive("descriptor_pair_i", 1, 0, pair);
        dut.drive("descriptor_posted_limit_i", 1, 0, 8u64);
        dut.drive("descriptor_unexpected_limit_i", 1, 0, 8u64);
        dut.clock();
    }
    dut.drive("descriptor_write_i", 1, 0, false);
    // By port: cycle; kind, pair, match bits, id.
    let mut ports: [&[(usize, [u64; 4])]; 2] = [
        &[(7, [MESSAGE, 0, 5, 1])],
        &[(1, [RECEIVE, 0, 5, 8]), (7, [RECEIVE, 1, 6, 9])],
    ];
    Waves::new("match", "store").scale(2).record(
        &mut dut,
        17,
        |dut, cycle| {
            dut.drive("result_ready_i", 1, 0, true);
            for (port, left) in ports.iter_mut().enumerate() {
                let now = left.first().filter(|op| op.0 <= cycle).copied();
                dut.drive("op_valid_i", 2, port, now.is_some());
                if let Some((_, [kind, pair, bits, id])) = now {
                    dut.drive("op_kind_i", 2, port, kind);
                    dut.drive("op_pair_i", 2, port, pair);
                    dut.drive("op_match_i", 4, 2 * port, bits);
                    dut.drive("op_id_i", 2, port, id);
                }
            }
            dut.settle();
            for (port, left) in ports.iter_mut().enumerate() {
                let on = dut.look("op_valid_i", 2, port) == 1;
                if on && dut.look("op_ready_o", 2, port) == 1 {
                    *left = &left[1..];
                }
            }
        },
        |dut, waves, _| {
            for port in 0..2 {
                for name in ["op_valid_i", "op_ready_o"] {
                    waves.bit(&format!("{name}[{port}]"), dut.look(name, 2, port));
                }
                let on = dut.look("op_valid_i", 2, port) == 1;
                let kind = if dut.look("op_kind_i", 2, port) == MESSAGE {
                    "message"
                } else {
                    "receive"
                };
                waves.data(&format!("op_kind_i[{port}]"), on.then_some(kind));
                for (name, lanes, lane) in [
                    ("op_pair_i", 2, port),
                    ("op_match_i", 4, 2 * port),
                    ("op_id_i", 2, port),
                ] {
                    let value = on.then(|| dut.look(name, lanes, lane));
                    waves.data(&format!("{name}[{port}]"), value);
                }
            }
            let valid = dut.look("result_valid_o", 1, 0);
            waves.bit("result_valid_o", valid);
            let on = valid == 1;
            let status = on.then(|| NAMES[dut.look("result_status_o", 1, 0) as usize]);
            waves.data("result_status_o", status);
            for name in ["result_port_o", "result_id_o"] {
                waves.data(name, on.then(|| dut.look(name, 1, 0)));
            }
            let found = status == Some("found");
            let entry = found.then(|| dut.look("result_found_o", 1, 0));
            waves.data("result_found_o", entry);
        },
    );
}
