//! Atomic operations and accumulates: their packets.

use super::*;

/// Operands of extended commands. The coprocessor keeps them from command to command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Operands {
    offset: u32,
    laddr: u32,
    length: u32,
    /// Value of an atomic operation; reduction and address of the old elements of an accumulate.
    value: [u32; 2],
    compare: [u32; 2],
}

impl Operands {
    fn words(self) -> [(Opcode, u32); 7] {
        [
            (Opcode::XOffset, self.offset),
            (Opcode::XLaddr, self.laddr),
            (Opcode::XLength, self.length),
            (Opcode::XOperand, self.value[0]),
            (Opcode::XOperandHigh, self.value[1]),
            (Opcode::XCompare, self.compare[0]),
            (Opcode::XCompareHigh, self.compare[1]),
        ]
    }

    /// Any operands, most of them legal for some command.
    fn random(rng: &mut Random, kept: Self, payload: u32) -> Self {
        let mut next = kept;
        if rng.random_bool(0.5) {
            next.length = match rng.random_range(0..9) {
                0 => rng.random(),
                // A bit of its own beyond node memory.
                8 => NODE_BYTES << rng.random_range(0..16),
                1 => rng.random_range(0..3 * payload),
                2 => 8 * rng.random_range(0..3 * payload / 8),
                3 => payload,
                _ => 4 * rng.random_range(0..10),
            };
        }
        // Buffers in node memory, at its end, and beyond the end.
        let size = next.length.min(NODE_BYTES);
        let mut address = || match rng.random_range(0..9) {
            8 => NODE_BYTES << rng.random_range(0..16),
            0 => NODE_BYTES - size,
            1 => NODE_BYTES - size + 4,
            2 => rng.random(),
            _ => rng.random_range(0..=NODE_BYTES - size),
        };
        let addresses = [address(), address()];
        if rng.random_bool(0.5) {
            next.laddr = addresses[0];
        }
        if rng.random_bool(0.5) {
            next.value[1] = match rng.random_range(0..8) {
                0 => addresses[1],
                1 => rng.random(),
                _ => addresses[1] & !3,
            };
        }
        if rng.random_bool(0.5) {
            let operation = rng.random_range(0..=AccumulateOperation::ALL.len() as u32);
            let datatype = rng.random_range(0..=Datatype::ALL.len() as u32);
            next.value[0] = match rng.random_range(0..6) {
                0 => rng.random(),
                _ => x_reduction::OPERATION.put(operation) | x_reduction::DATATYPE.put(datatype),
            };
        }
        if rng.random_bool(0.5) {
            next.offset = match rng.random_range(0..8) {
                0 => rng.random(),
                1 => 4 * rng.random_range(0..1 << 12),
                2 => 8u32.wrapping_mul(rng.random_range(0..4)).wrapping_sub(16),
                _ => 8 * rng.random_range(0..1 << 12),
            };
        }
        if rng.random_bool(0.5) {
            next.compare = [rng.random(), rng.random()];
        }
        next
    }

    /// Why the commands of an accumulate with these operands are refused.
    fn refuses(self, fetches: bool, is_able: bool) -> Status {
        use AccumulateOperation::{Band, Bor, Bxor};
        let operation = AccumulateOperation::from_bits(x_reduction::OPERATION.get(self.value[0]));
        let datatype = Datatype::from_bits(x_reduction::DATATYPE.get(self.value[0]));
        let is_float = matches!(datatype, Some(Datatype::F32 | Datatype::F64));
        let has_operation = match operation {
            None => false,
            Some(Band | Bor | Bxor) => !is_float,
            Some(_) => true,
        };
        let has_type = !matches!(datatype, None | Some(Datatype::Software));
        if !has_operation || !has_type || !is_able {
            return Status::BadOperation;
        }
        let size = match datatype {
            Some(Datatype::F64 | Datatype::I64 | Datatype::U64) => 8,
            _ => 4,
        };
        let old_is_odd = fetches && !self.value[1].is_multiple_of(4);
        if !self.offset.is_multiple_of(size) || !self.length.is_multiple_of(size) || old_is_odd {
            return Status::BadAlignment;
        }
        let is_beyond =
            |address: u32| u64::from(address) + u64::from(self.length) > u64::from(NODE_BYTES);
        if is_beyond(self.laddr) || (fetches && is_beyond(self.value[1])) {
            return Status::BadLocal;
        }
        Status::Ok
    }
}

/// Packets of an accumulate.
pub(super) fn accumulate_packets(
    bench: &Bench,
    fetches: bool,
    [dpid, slot, id]: [u32; 3],
    operands: Operands,
) -> Vec<Vec<u32>> {
    let mut packets = Vec::new();
    let mut done = 0;
    loop {
        let left = operands.length - done;
        let bytes = left.min(bench.config.payload);
        let is_last = bytes == left;
        let offset = u64::from(operands.offset) + u64::from(done);
        let head = x_accumulate::DPID.put(dpid)
            | x_accumulate::PTYPE.put(PacketType::Xput as u32)
            | x_accumulate::LAST.put(is_last.into())
            | x_accumulate::BEYOND.put((offset >> 32) as u32)
            | x_accumulate::ACCUMULATE.put(1)
            | x_accumulate::FETCH.put(fetches.into())
            | x_accumulate::SRC.put(bench.me)
            | x_accumulate::SLOT.put(slot);
        let length = if is_last {
            x_length::ID.put(id) | x_length::LENGTH.put(left)
        } else {
            left
        };
        let reduction =
            operands.value[0] & (x_reduction::OPERATION.mask() | x_reduction::DATATYPE.mask());
        let mut packet = vec![head, offset as u32, length, reduction];
        packet.extend(fetches.then(|| operands.value[1].wrapping_add(done)));
        packet.extend((0..bytes / 4).map(|word| bench.word(operands.laddr + done + 4 * word)));
        packets.push(packet);
        if is_last {
            return packets;
        }
        done += bytes;
    }
}

/// The packet of an atomic operation.
pub(super) fn atomic_packet(
    bench: &Bench,
    opcode: u32,
    [dpid, slot, id]: [u32; 3],
    operands: Operands,
) -> Vec<u32> {
    let is_wide = opcode & 0x10 != 0;
    let compares = opcode & 0xf == AtomicOperation::CompareSwap as u32;
    let head = x_atomic::DPID.put(dpid)
        | x_atomic::PTYPE.put(PacketType::Xget as u32)
        | x_atomic::LAST.put(1)
        | x_atomic::COMPARE.put(compares.into())
        | x_atomic::ATOMIC.put(1)
        | x_atomic::WIDE.put(is_wide.into())
        | x_atomic::SRC.put(bench.me)
        | x_atomic::SLOT.put(slot);
    let operation = x_operation::ID.put(id) | x_operation::OPERATION.put(opcode & 0xf);
    let mut packet = vec![head, operands.offset, operation];
    let halves = 1 + usize::from(is_wide);
    packet.extend(&operands.value[..halves]);
    if compares {
        packet.extend(&operands.compare[..halves]);
    }
    packet
}

/// Every atomic operation and every accumulate becomes exactly its packets, or is refused. Operands
/// are kept from command to command.
pub(super) fn operations(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_operations");
    bench.begin();
    let bases = [0x100, 0x8000, 0x0, 0x40];
    for (slot, base) in bases.into_iter().enumerate() {
        assert_eq!(bench.register(base, None, 0), (0, slot as u32));
    }
    let opcodes: Vec<Opcode> = Opcode::ALL
        .iter()
        .copied()
        .filter(|&opcode| opcode as u32 >= Opcode::XSwap as u32)
        .chain([Opcode::XAccumulate; 10])
        .chain([Opcode::XFetchAccumulate; 10])
        .collect();
    let mut kept = Operands::default();
    let (mut sent, mut refused) = (0, 0);
    for round in 0..soak(30) {
        if round > 0 {
            bench.set_paces();
        }
        let (mut expected, mut statuses) = (Vec::new(), Vec::new());
        for _ in 0..12 {
            let wanted = Operands::random(&mut bench.rng, kept, config.payload);
            for ((opcode, word), (_, old)) in wanted.words().into_iter().zip(kept.words()) {
                if word != old || bench.rng.random_bool(0.2) {
                    bench.command(opcode, word);
                }
            }
            bench.stray();
            kept = wanted;
            let opcode = opcodes[bench.rng.random_range(0..opcodes.len())];
            let id = bench.rng.random_range(0..1 << 16);
            let dpid = if bench.rng.random_bool(0.05) {
                bench.rng.random_range(bench.nprocs..256)
            } else {
                bench.rng.random_range(0..bench.nprocs)
            };
            let mut slot = bench.rng.random_range(0..256);
            let mut is_known = true;
            let mut given = slot;
            if bench.rng.random_bool(0.3) {
                let window = bench.rng.random_range(0..5);
                let base = bases.get(window as usize).copied();
                bench.command(Opcode::XWindow, base.unwrap_or(0x44));
                (slot, is_known) = (window, base.is_some());
                given = bench.rng.random_range(0..256);
            }
            let code = opcode as u32;
            let is_atomic = code >= Opcode::XSwap as u32;
            let fetches = opcode == Opcode::XFetchAccumulate;
            let size = if code & 0x10 == 0 { 4 } else { 8 };
            let status = if !is_known {
                Status::NotRegistered
            } else if dpid >= bench.nprocs {
                Status::BadRank
            } else if !is_atomic {
                // The second instance has no unit for accumulates.
                wanted.refuses(fetches, config.lane == 0)
            } else if !wanted.offset.is_multiple_of(size) {
                Status::BadAlignment
            } else {
                Status::Ok
            };
            bench.command(
                opcode,
                x_commit::DPID.put(dpid) | x_commit::SLOT.put(given) | x_commit::ID.put(id),
            );
            if status != Status::Ok {
                statuses.push((id, status as u32));
            } else if is_atomic {
                expected.push(atomic_packet(&bench, code, [dpid, slot, id], wanted));
            } else {
                let packets = accumulate_packets(&bench, fetches, [dpid, slot, id], wanted);
                expected.extend(packets);
            }
        }
        bench.drain();
        let packets = bench.take_sent(REQUEST);
        for (at, (found, expected)) in packets.iter().zip(&expected).enumerate() {
            assert_eq!(
                found, expected,
                "packet {at}: {found:08x?}, expected {expected:08x?}, {config:?}"
            );
        }
        assert_eq!(packets.len(), expected.len(), "{config:?}");
        assert_eq!(bench.completions(), statuses, "{config:?}");
        sent += packets.len();
        refused += statuses.len();
    }
    assert!(sent > 100 && refused > 50, "{sent} sent, {refused} refused");
    bench.check_strays();
}
