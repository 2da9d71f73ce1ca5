//! The timing diagrams of hw/alpu/doc.

use alcor_abi::{AlpuOp, AlpuResult};
use alcor_hw_bench::{Dut, Recipe, Waves};

/// A unit with six cells for posted receives, and 5 match bits and 5 mask bits.
fn start() -> Dut {
    let recipe = Recipe::new("alpu", "alpu")
        .blocks(&["abi", "common", "alpu"])
        .param("CELLS", 6)
        .param("BLOCK", 2)
        .param("POSTED", 1)
        .param("MATCH_W", 5)
        .param("TAG_W", 3)
        .param("RESULTS", 4);
    let mut dut = Dut::start(&recipe);
    dut.reset();
    dut
}

fn command(dut: &mut Dut, command: Option<(AlpuOp, u64, u64)>) {
    dut.drive("command_valid_i", 1, 0, command.is_some());
    if let Some((op, tag, bits)) = command {
        dut.drive("command_op_i", 1, 0, op as u64);
        dut.drive("command_tag_i", 1, 0, tag);
        dut.drive("command_match_i", 1, 0, bits);
        dut.drive("command_mask_i", 1, 0, 0u64);
    }
}

fn command_name(dut: &Dut) -> Option<String> {
    let valid = dut.look("command_valid_i", 1, 0) == 1;
    let op = dut.look("command_op_i", 1, 0);
    let name = AlpuOp::ALL.iter().find(|&&known| known as u64 == op);
    let tag = dut.look("command_tag_i", 1, 0);
    valid.then(|| match name {
        Some(AlpuOp::Insert) => format!("INSERT {tag}"),
        Some(AlpuOp::StartInsert) => "START".into(),
        Some(AlpuOp::StopInsert) => "STOP".into(),
        _ => "?".into(),
    })
}

fn result_name(dut: &Dut) -> Option<String> {
    let valid = dut.look("result_valid_o", 1, 0) == 1;
    let (kind, value) = (
        dut.look("result_kind_o", 1, 0),
        dut.look("result_value_o", 1, 0),
    );
    let name = AlpuResult::ALL.iter().find(|&&known| known as u64 == kind);
    valid.then(|| match name {
        Some(AlpuResult::StartAcknowledge) => format!("{value} free"),
        Some(AlpuResult::MatchSuccess) => format!("tag {value}"),
        Some(AlpuResult::MatchFailure) => "failure".into(),
        _ => "?".into(),
    })
}

/// Insert mode: two entries are appended.
#[test]
fn alpu_insert_waves() {
    let waves = Waves::new("alpu", "insert").scale(2);
    let commands = [
        (AlpuOp::StartInsert, 0, 0),
        (AlpuOp::Insert, 1, 5),
        (AlpuOp::Insert, 2, 9),
        (AlpuOp::StopInsert, 0, 0),
    ];
    let mut at = 0;
    waves.record(
        &mut start(),
        11,
        |dut, cycle| {
            dut.drive("result_ready_i", 1, 0, true);
            let now = commands.get(at).copied().filter(|_| cycle > 0);
            command(dut, now);
            dut.settle();
            at += usize::from(now.is_some() && dut.look("command_ready_o", 1, 0) == 1);
        },
        |dut, waves, _| {
            for name in ["command_valid_i", "command_ready_o"] {
                waves.bit(name, dut.look(name, 1, 0));
            }
            waves.data("command_op_i", command_name(dut));
            waves.bit("inserting_o", dut.look("inserting_o", 1, 0));
            waves.bit("result_valid_o", dut.look("result_valid_o", 1, 0));
            waves.data("result_o", result_name(dut));
            waves.data("count_o", Some(dut.look("count_o", 1, 0)));
        },
    );
}

/// Four requests in four cycles. Two entries match and are deleted. The second request for the same
/// entry fails.
#[test]
fn alpu_match_waves() {
    let mut dut = start();
    dut.drive("result_ready_i", 1, 0, true);
    let setup = [
        (AlpuOp::StartInsert, 0, 0),
        (AlpuOp::Insert, 1, 5),
        (AlpuOp::Insert, 2, 9),
        (AlpuOp::StopInsert, 0, 0),
    ];
    for step in setup {
        command(&mut dut, Some(step));
        dut.settle();
        while dut.look("command_ready_o", 1, 0) == 0 {
            dut.clock();
            dut.settle();
        }
        dut.clock();
    }
    command(&mut dut, None);
    for _ in 0..8 {
        dut.settle();
        dut.clock();
    }
    Waves::new("alpu", "match").scale(2).record(
        &mut dut,
        10,
        |dut, cycle| {
            let requests = [0, 9, 9, 5, 5];
            let bits = requests.get(cycle).filter(|_| cycle > 0);
            dut.drive("request_valid_i", 1, 0, bits.is_some());
            dut.drive("request_match_i", 1, 0, bits.copied().unwrap_or(0u64));
            dut.drive("request_id_i", 1, 0, cycle as u64);
        },
        |dut, waves, _| {
            for name in ["request_valid_i", "request_ready_o"] {
                waves.bit(name, dut.look(name, 1, 0));
            }
            let valid = dut.look("request_valid_i", 1, 0) == 1;
            for name in ["request_match_i", "request_id_i"] {
                waves.data(name, valid.then(|| dut.look(name, 1, 0)));
            }
            waves.bit("result_valid_o", dut.look("result_valid_o", 1, 0));
            waves.data("result_o", result_name(dut));
            let id = result_name(dut).map(|_| dut.look("result_id_o", 1, 0));
            waves.data("result_id_o", id);
            waves.data("count_o", Some(dut.look("count_o", 1, 0)));
        },
    );
}
