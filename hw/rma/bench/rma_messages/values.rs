//! Values of registers and header words that programs seldom have.

use super::*;

/// Queues commands with their operands.
fn post(bench: &mut Bench, at: usize, commands: &[(Opcode, u32)]) {
    for &(opcode, operand) in commands {
        bench.command(at, opcode, operand);
    }
}

/// A put from beyond node memory. The rank refuses it.
fn refused_put(bench: &mut Bench, at: usize) {
    let commit = x_commit::DPID.put(1 - at as u32) | x_commit::ID.put(1_000);
    let commands = [
        (Opcode::XLaddr, NODE_BYTES),
        (Opcode::XLength, 4),
        (Opcode::XPut, commit),
    ];
    post(bench, at, &commands);
}

/// Registers or removes a window of all ranks. Returns their results.
fn registration(bench: &mut Bench, opcode: Opcode) -> [u32; RANKS] {
    use rank::reg_result::COUNT;
    let results = |bench: &mut Bench| std::array::from_fn(|at| bench.read(at, rank::REG_RESULT));
    let before: [u32; RANKS] = results(bench);
    for at in 0..RANKS {
        bench.command(at, opcode, WINDOW);
    }
    bench.run_until("the registration", |bench| {
        let now: [u32; RANKS] = results(bench);
        (0..RANKS).all(|at| COUNT.get(now[at]) != COUNT.get(before[at]))
    });
    results(bench)
}

/// An entry of the completion ring is lost if and only if the ring is full by CQ_TAIL. Each refused
/// command is counted.
#[test]
fn rma_messages_tails() {
    use rank::events::CQ_OVERFLOW;
    let mut bench = Bench::new(USUAL, "rma_messages_tails");
    bench.begin();
    bench.drain();
    let size = 1 << RING_LOG2;
    for round in 0..soak(400) {
        let at = round as usize % 2;
        let head = bench.read(at, rank::CQ_HEAD);
        let distance = match round / 2 % 4 {
            0 => 1 << bench.rng.random_range(0..32),
            _ => bench.rng.random_range(size - 9..size + 9),
        };
        bench.register(at, rank::CQ_TAIL, head.wrapping_sub(distance));
        bench.drain();
        for _ in 0..bench.rng.random_range(0..4) {
            bench.cycle();
        }
        let refused = bench.read(at, rank::REFUSED_OUT);
        refused_put(&mut bench, at);
        bench.drain();
        // Reports come a few cycles after the command.
        for _ in 0..10 {
            bench.cycle();
        }
        let is_full = distance >= size;
        let place = format!("rank {at}: {distance} entries are not taken, with the head at {head}");
        let found = bench.read(at, rank::CQ_HEAD);
        assert_eq!(found, head + u32::from(!is_full), "{place}");
        let events = bench.read(at, rank::EVENTS);
        assert_eq!(CQ_OVERFLOW.get(events), u32::from(is_full), "{place}");
        let expected = count(USUAL, refused + 1);
        assert_eq!(bench.read(at, rank::REFUSED_OUT), expected, "{place}");
        bench.register(at, rank::ACK_EVENTS, events);
        bench.drain();
    }
}

/// The number of registrations has 16 bits.
#[test]
fn rma_messages_registrations() {
    use rank::reg_result;
    let mut bench = Bench::new(USUAL, "rma_messages_registrations");
    bench.begin();
    for at in 0..RANKS {
        bench.command(at, Opcode::WindowSize, 16);
    }
    for round in 1..=soak(300) as u32 {
        let opcode = [Opcode::Deregister, Opcode::Register][round as usize % 2];
        for (at, result) in registration(&mut bench, opcode).into_iter().enumerate() {
            let found = reg_result::COUNT.get(result);
            assert_eq!(found, round & 0xffff, "rank {at}");
            assert_eq!(reg_result::STATUS.get(result), 0, "rank {at}: {round}");
        }
    }
}

/// Offsets of each power of two: a put beyond the window is refused, and one within it arrives.
#[test]
fn rma_messages_offsets() {
    let mut bench = Bench::new(USUAL, "rma_messages_offsets");
    bench.begin();
    for at in 0..RANKS {
        bench.command(at, Opcode::WindowSize, 0x1000);
    }
    registration(&mut bench, Opcode::Register);
    for bit in 2..32 {
        for at in 0..RANKS {
            let other = 1 - at;
            let offset = 1 << bit;
            let data = bench.bytes(at, SENDS, 4);
            let before = bench.nodes[other].memory.clone();
            let commands = [
                (Opcode::XWindow, WINDOW),
                (Opcode::XLaddr, SENDS),
                (Opcode::XLength, 4),
                (Opcode::XOffset, offset),
                (
                    Opcode::XPut,
                    x_commit::DPID.put(other as u32) | x_commit::ID.put(1_000),
                ),
            ];
            post(&mut bench, at, &commands);
            bench.drain();
            let is_within = offset < 0x1000;
            let status = if is_within {
                Status::Ok
            } else {
                Status::OutOfBounds
            };
            assert_eq!(bench.statuses(at), [(1_000, status as u32)], "{offset:#x}");
            if is_within {
                assert_eq!(bench.bytes(other, WINDOW + offset, 4), data, "{offset:#x}");
            } else {
                assert_eq!(bench.nodes[other].memory, before, "{offset:#x}");
            }
        }
    }
}

/// An atomic operation ends with its last header word, as it has no task then: a fetch of the
/// message engine and a recall go out after it.
#[test]
fn rma_messages_after_atomic() {
    let mut bench = Bench::new(USUAL, "rma_messages_after_atomic");
    bench.begin();
    for at in 0..RANKS {
        bench.command(at, Opcode::WindowSize, 0x1000);
    }
    registration(&mut bench, Opcode::Register);
    for round in 0..soak(8) {
        bench.set_paces();
        let at = round as usize % 2;
        let other = 1 - at;
        let data = bench.bytes(other, SENDS, 100);
        let message = [at as u32, CONTEXT, TAG, 1];
        bench.message(other, Opcode::XAnnounce, message, [SENDS, 100]);
        bench.drain();
        let place = WINDOW + 4 * round as u32;
        let old = bench.load(other, place);
        let commands = [
            (Opcode::XWindow, WINDOW),
            (Opcode::XOffset, 4 * round as u32),
            (Opcode::XOperand, 5),
            (
                Opcode::XAdd,
                x_commit::DPID.put(other as u32) | x_commit::ID.put(1_000),
            ),
        ];
        post(&mut bench, at, &commands);
        bench.drain();
        assert_eq!(bench.load(other, place), old.wrapping_add(5));
        let receive = [other as u32, CONTEXT, TAG, 2];
        bench.message(at, Opcode::XReceive, receive, [RECEIVES, 100]);
        bench.drain();
        assert_eq!(bench.statuses(at), [(1_000, 0), (2, 0)]);
        assert_eq!(bench.statuses(other), [(1, 0)]);
        assert_eq!(bench.bytes(at, RECEIVES, 100), data);
    }
}
