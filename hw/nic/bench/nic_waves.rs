//! The timing diagrams of hw/nic/doc.

use alcor_hw_bench::{Dut, Recipe, Waves};

const SEARCH: u64 = 0;
const APPEND: u64 = 2;

/// A match queue without its matching unit: three entries are appended, then a search reaches the
/// third entry.
#[test]
fn match_queue_waves() {
    let recipe = Recipe::new("match_queue", "match_queue")
        .blocks(&["abi", "common", "alpu", "match", "nic"])
        .param("DEPTH", 200)
        .param("CELLS", 64)
        .param("BLOCK", 16)
        .param("MATCH_W", 42)
        .param("BATCH", 8)
        .param("POSTED", 1);
    let mut dut = Dut::start(&recipe);
    dut.drive("threshold_i", 1, 0, 0xffffu64);
    dut.reset();
    let operations = [(APPEND, 5u64), (APPEND, 6), (APPEND, 7), (SEARCH, 7)];
    let mut at = 0;
    Waves::new("nic", "match_queue").scale(2).record(
        &mut dut,
        14,
        |dut, cycle| {
            let now = operations.get(at).filter(|_| cycle > 0);
            dut.drive("result_ready_i", 1, 0, true);
            dut.drive("op_valid_i", 1, 0, now.is_some());
            if let Some(&(op, bits)) = now {
                dut.drive("op_i", 1, 0, op);
                dut.drive("op_match_i", 1, 0, bits);
                dut.drive("append_match_i", 1, 0, bits);
                dut.drive("op_entry_i", 1, 0, at as u64);
            }
            dut.settle();
            at += usize::from(now.is_some() && dut.look("op_ready_o", 1, 0) == 1);
        },
        |dut, waves, _| {
            for name in ["op_valid_i", "op_ready_o"] {
                waves.bit(name, dut.look(name, 1, 0));
            }
            let on = dut.look("op_valid_i", 1, 0) == 1;
            let op = if dut.look("op_i", 1, 0) == APPEND {
                "append"
            } else {
                "search"
            };
            waves.data("op_i", on.then_some(op));
            for (name, used) in [
                ("op_match_i", op == "search"),
                ("append_match_i", op == "append"),
            ] {
                waves.data(name, (on && used).then(|| dut.look(name, 1, 0)));
            }
            waves.data(
                "op_entry_i",
                (on && op == "append").then(|| dut.look("op_entry_i", 1, 0)),
            );
            waves.bit("result_valid_o", dut.look("result_valid_o", 1, 0));
            let found = dut.look("result_valid_o", 1, 0) & dut.look("result_found_o", 1, 0);
            waves.bit("result_found_o", found);
            waves.data(
                "result_entry_o",
                (found == 1).then(|| dut.look("result_entry_o", 1, 0)),
            );
            waves.data("count_o", Some(dut.look("count_o", 1, 0)));
        },
    );
}
