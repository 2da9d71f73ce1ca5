//! The timing diagrams of hw/common/doc.

use alcor_hw_bench::Waves;

use crate::fifo;

/// A queue of three words is filled, read while it is full, and drained.
#[test]
fn fifo_waves() {
    const LANES: usize = 7;
    // Lane 1 has a depth of 3.
    const LANE: usize = 1;
    let mut dut = fifo::start();
    dut.reset();
    let mut sent = 0u64;
    Waves::new("common", "fifo").record(
        &mut dut,
        13,
        |dut, cycle| {
            let valid = cycle > 0 && sent < 5;
            dut.drive("fifo_valid_i", LANES, LANE, valid);
            dut.drive("fifo_data_i", LANES, LANE, 0xD0 + sent);
            dut.drive("fifo_ready_i", LANES, LANE, cycle == 5 || cycle > 7);
            dut.settle();
            sent += u64::from(valid) & dut.look("fifo_ready_o", LANES, LANE);
        },
        |dut, waves, _| {
            let look = |name: &str| dut.look(&format!("fifo_{name}"), LANES, LANE);
            let word = |valid, data| (look(valid) == 1).then(|| format!("{:X}", look(data)));
            waves.bit("valid_i", look("valid_i"));
            waves.bit("ready_o", look("ready_o"));
            waves.data("data_i", word("valid_i", "data_i"));
            waves.bit("valid_o", look("valid_o"));
            waves.bit("ready_i", look("ready_i"));
            waves.data("data_o", word("valid_o", "data_o"));
            waves.data("usage_o", Some(look("usage_o")));
        },
    );
}
