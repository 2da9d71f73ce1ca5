//! The timing diagrams of hw/rma/doc: each records a short exchange at one block's ports.

use std::cell::Cell;

use alcor_abi::{Opcode, PacketType, SyncKind};
use alcor_hw_bench::Waves;

use crate::rma::Block;

/// Records `cycles` cycles: `drive` sets the inputs of a cycle, `show` records the ports.
pub fn record(
    block: &mut Block,
    waves: &mut Waves,
    cycles: usize,
    mut drive: impl FnMut(&mut Block, usize),
    mut show: impl FnMut(&mut Block, &mut Waves, usize),
) {
    for cycle in 0..cycles {
        drive(block, cycle);
        block.settle();
        show(block, waves, cycle);
        waves.cycle();
        block.clock();
    }
    waves.check();
}

/// Records ports of one bit.
fn bits(block: &mut Block, waves: &mut Waves, names: &[&'static str]) {
    for name in names {
        waves.bit(name, block.get(name));
    }
}

/// Records a wider port while `valid` is high.
fn value(block: &mut Block, waves: &mut Waves, name: &'static str, valid: &'static str) {
    let value = block.is(valid).then(|| format!("{:X}", block.get(name)));
    waves.data(name, value);
}

/// Records a port that carries an opcode, while `valid` is high.
fn opcode(block: &mut Block, waves: &mut Waves, name: &'static str, valid: &'static str) {
    let name_of = |code: u64| match Opcode::ALL.iter().find(|&&known| known as u64 == code) {
        Some(Opcode::XTag) => "X_TAG",
        Some(Opcode::XPut) => "X_PUT",
        Some(Opcode::Barrier) => "BARRIER",
        _ => "?",
    };
    let value = block.is(valid).then(|| name_of(block.get(name)));
    waves.data(name, value);
}

#[test]
fn rma_command_queue_waves() {
    // Command queue of two entries: the third write is lost, and each write until the host
    // acknowledges.
    let mut waves = Waves::new("rma", "command_write").scale(2);
    let mut block = Block::start("queue", 2, 0);
    let writes = [
        None,
        Some(Opcode::XTag),
        Some(Opcode::XPut),
        Some(Opcode::Barrier),
        None,
        Some(Opcode::Barrier),
        None,
        Some(Opcode::Barrier),
        None,
        None,
    ];
    record(
        &mut block,
        &mut waves,
        writes.len(),
        |block, cycle| {
            let write = writes[cycle];
            block.set("write_i", write.is_some());
            block.set("opcode_i", write.map_or(0, |opcode| opcode as u64));
            block.set("data_i", cycle as u64);
            block.set("blocked_i", matches!(cycle, 4 | 5));
            block.set("command_ready_i", cycle >= 4);
        },
        |block, waves, _| {
            bits(block, waves, &["write_i"]);
            opcode(block, waves, "opcode_i", "write_i");
            bits(
                block,
                waves,
                &["overflow_o", "blocked_i", "command_valid_o"],
            );
            opcode(block, waves, "command_opcode_o", "command_valid_o");
            bits(block, waves, &["command_ready_i"]);
        },
    );
}

#[test]
fn rma_mm_read_waves() {
    // A packet of two header words and three words of payload; the memory answers after 3 cycles.
    let mut waves = Waves::new("rma", "packet_out");
    let mut block = Block::start("read", 4, 3);
    let mut reads = Vec::new();
    let grants = |cycle| cycle != 6;
    record(
        &mut block,
        &mut waves,
        14,
        |block, cycle| {
            block.set("head_valid_i", matches!(cycle, 1 | 2));
            block.set("head_i", 0xA0 + cycle as u64 - 1.min(cycle as u64));
            block.set("task_valid_i", cycle == 2);
            block.set("task_heads_i", 2u64);
            block.set("task_words_i", 3u64);
            block.set("task_address_i", 0x40u64);
            block.set("ready_i", grants(cycle));
            let due = reads.iter().position(|&(at, _)| at + 3 == cycle);
            block.set("rvalid_i", due.is_some());
            block.set("data_i", due.map_or(0, |at| 0xD0 + reads[at].1 - 0x10));
            block.set("out_ready_i", cycle != 5);
            block.settle();
            if block.is("valid_o") && grants(cycle) {
                reads.push((cycle, block.get("address_o")));
            }
        },
        |block, waves, _| {
            bits(block, waves, &["head_valid_i", "head_ready_o"]);
            value(block, waves, "head_i", "head_valid_i");
            bits(block, waves, &["task_valid_i", "task_ready_o"]);
            for (name, port) in [("read_o.req", "valid_o"), ("read_i.gnt", "ready_i")] {
                waves.bit(name, block.get(port));
            }
            let address = block
                .is("valid_o")
                .then(|| format!("{:X}", block.get("address_o")));
            waves.data("read_o.address", address);
            waves.bit("read_i.rvalid", block.get("rvalid_i"));
            value(block, waves, "data_i", "rvalid_i");
            bits(block, waves, &["out_valid_o", "out_ready_i"]);
            value(block, waves, "out_data_o", "out_valid_o");
            let last = block.is("out_valid_o").then(|| block.get("out_last_o"));
            waves.bit("out_last_o", last.unwrap_or(0));
        },
    );
}

#[test]
fn rma_mm_write_waves() {
    // A task of ten bytes from byte 40 on: three words, the last with two strobes, then the task's
    // note.
    let mut waves = Waves::new("rma", "packet_in");
    let mut block = Block::start("write", 2, 0);
    let mut sent = 0u64;
    record(
        &mut block,
        &mut waves,
        10,
        |block, cycle| {
            block.set("task_valid_i", cycle == 1);
            block.set("task_words_i", 3u64);
            block.set("task_kept_i", 3u64);
            block.set("task_address_i", 0x40u64);
            block.set("task_end_lane_i", 1u64);
            block.set("task_noted_i", true);
            block.set("task_note_i", 0xEu64);
            block.set("in_valid_i", sent < 3);
            block.set("in_data_i", 0xD0 + sent);
            block.set("in_last_i", sent == 2);
            block.set("ready_i", cycle != 3);
            block.set("note_ready_i", cycle != 6);
            block.settle();
            sent += u64::from(sent < 3 && block.is("in_ready_o"));
        },
        |block, waves, _| {
            bits(block, waves, &["task_valid_i", "task_ready_o"]);
            bits(block, waves, &["in_valid_i", "in_ready_o"]);
            value(block, waves, "in_data_i", "in_valid_i");
            bits(block, waves, &["in_last_i"]);
            waves.bit("write_o.req", block.get("valid_o"));
            waves.bit("write_gnt_i", block.get("ready_i"));
            for (name, port) in [
                ("write_o.address", "address_o"),
                ("write_data_o", "data_o"),
                ("write_strobe_o", "strobe_o"),
            ] {
                let value = block
                    .is("valid_o")
                    .then(|| format!("{:X}", block.get(port)));
                waves.data(name, value);
            }
            bits(block, waves, &["note_valid_o", "note_ready_i"]);
        },
    );
}

#[test]
fn rma_packet_controller_waves() {
    // Two packets of a put: the first is within its window, the second is not and drops its
    // payload.
    let mut waves = Waves::new("rma", "packet_check").scale(2);
    let mut block = Block::start("packet", 4, 0);
    let header = |last: u32| (PacketType::Xput as u32) << 21 | last << 20 | 2 << 8 | 3;
    // Header, offset, id and what is left: 8 bytes at offset 16, and 8 bytes at offset 60 of a
    // window of 64 bytes.
    let words = [header(1), 16, 7 << 16 | 8, header(1), 60, 8 << 16 | 8];
    let names = [
        "header",
        "offset 16",
        "length 8",
        "header",
        "offset 60",
        "length 8",
    ];
    let at = Cell::new(0);
    record(
        &mut block,
        &mut waves,
        12,
        |block, cycle| {
            block.set("head_valid_i", cycle > 0 && at.get() < words.len());
            block.set("head_i", words.get(at.get()).copied().unwrap_or(0));
            block.set("registered_i", true);
            block.set("base_i", 0x100u64);
            block.set("size_i", 64u64);
            block.set("write_ready_i", cycle != 4);
        },
        |block, waves, _| {
            bits(block, waves, &["head_valid_i", "head_ready_o"]);
            let name = block.is("head_valid_i").then(|| names[at.get()]);
            waves.data("head_i", name);
            waves.bit("lookup_o.valid", block.get("lookup_o"));
            let slot = block.is("lookup_o").then(|| block.get("slot_o"));
            waves.data("lookup_o.slot", slot);
            waves.bit("write_valid_o", block.get("write_valid_o"));
            waves.bit("write_ready_i", block.get("write_ready_i"));
            let drop = block.is("write_valid_o").then(|| {
                if block.is("write_drop_o") {
                    "drop".into()
                } else {
                    format!("to {:X}", block.get("write_address_o"))
                }
            });
            waves.data("write_o", drop);
            waves.bit("refusal_o.refused", block.get("refused_o"));
            let taken = block.is("head_valid_i") && block.is("head_ready_o");
            at.set(at.get() + usize::from(taken));
        },
    );
}

#[test]
fn rma_completion_queue_waves() {
    // A command's completion: two words are written, then CQ_HEAD moves.
    let mut waves = Waves::new("rma", "completion").scale(2);
    let mut block = Block::start("ring", 2, 0);
    block.set("base_i", 0x40u64);
    block.set("log2_entries_i", 2u64);
    block.set("clear_i", true);
    block.settle();
    block.clock();
    block.set("clear_i", false);
    record(
        &mut block,
        &mut waves,
        9,
        |block, cycle| {
            block.set("reply_valid_i", cycle == 1);
            block.set("reply_id_i", 5u64);
            block.set("retired_i", 3u64);
            block.set("write_ready_i", cycle != 3);
        },
        |block, waves, _| {
            bits(block, waves, &["reply_valid_i", "reply_ready_o"]);
            let id = block
                .is("reply_valid_i")
                .then(|| format!("id {}", block.get("reply_id_i")));
            waves.data("reply_i", id);
            bits(block, waves, &["write_valid_o", "write_ready_i"]);
            let address = block
                .is("write_valid_o")
                .then(|| format!("{:X}", block.get("write_address_o")));
            waves.data("write_address_o", address);
            let word = block.is("write_valid_o").then(|| {
                if block.get("write_address_o").is_multiple_of(4) {
                    "id, status"
                } else {
                    "RETIRED"
                }
            });
            waves.data("write_data_o", word);
            waves.data("state_o.head", Some(block.get("head_o")));
            bits(block, waves, &["idle_o"]);
        },
    );
}

#[test]
fn rma_sync_waves() {
    const PORTS: usize = 16;
    // A barrier of two ranks: fire two cycles after all are there and all is quiet.
    let mut waves = Waves::new("rma", "barrier");
    let mut block = Block::start("sync", 3, 0);
    record(
        &mut block,
        &mut waves,
        12,
        |block, cycle| {
            for rank in 0..2 {
                let here = if rank == 0 { 1..8 } else { 3..8 };
                block.set_part("valid_i", rank, PORTS, here.contains(&cycle));
                block.set_part("quiet_i", rank, PORTS, rank == 1 || cycle > 3);
                block.set_part("kind_i", rank, PORTS, SyncKind::Barrier as u64);
                block.set_part("begun_i", rank, PORTS, true);
                block.set_part("nprocs_i", rank, PORTS, 2u64);
            }
            block.set("network_empty_i", cycle > 4);
        },
        |block, waves, _| {
            for (name, port) in [
                ("request_i.valid", "valid_i"),
                ("request_i.quiet", "quiet_i"),
            ] {
                for rank in 0..2 {
                    waves.bit(
                        &format!("{name}[{rank}]"),
                        block.get_part(port, rank, PORTS),
                    );
                }
            }
            bits(block, waves, &["network_empty_i", "fire_o"]);
            let status = block.is("fire_o").then(|| {
                if block.get("verdict_o") == 0 {
                    "OK"
                } else {
                    "?"
                }
            });
            waves.data("status", status);
        },
    );
}

#[test]
fn rma_registration_table_waves() {
    // A registration, and a lookup by slot before and after its commit.
    let mut waves = Waves::new("rma", "registration").scale(2);
    let mut block = Block::start("table", 4, 2);
    while !block.is("ready_o") {
        block.clock();
        block.settle();
    }
    record(
        &mut block,
        &mut waves,
        9,
        |block, cycle| {
            block.set("op_valid_i", (1..=4).contains(&cycle));
            block.set("op_base_i", 0x100u64);
            block.set("op_size_i", 0x40u64);
            block.set("commit_i", cycle == 4);
            block.set_part("slot_lookup_i", 0, 2, matches!(cycle, 3 | 6));
        },
        |block, waves, cycle| {
            bits(block, waves, &["op_valid_i", "op_ready_o", "commit_i"]);
            let slot = block.is("op_valid_i").then(|| block.get("next_slot_o"));
            waves.data("next_slot_o", slot);
            waves.bit("slot_i.valid", block.get_part("slot_lookup_i", 0, 2));
            let window = matches!(cycle, 4 | 7).then(|| {
                if block.get_part("registered_o", 0, 2) == 1 {
                    "base 100"
                } else {
                    "none"
                }
            });
            waves.data("window_o", window);
        },
    );
}
