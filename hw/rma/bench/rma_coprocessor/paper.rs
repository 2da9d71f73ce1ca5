//! Commands of the paper, as packets that are sent and as packets that are served.

use super::*;

/// Figure 6: dpid 8, packet type 3, packet length 5, offset 8, destination address 8.
pub(super) fn paper_word(rank: u32, kind: u32, length: u32, offset: u32, slot: u32) -> u32 {
    rank << 24 | kind << 21 | length << 16 | offset << 8 | slot
}

/// Every command of the paper becomes exactly the paper's packet.
pub(super) fn paper_packets(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_paper_packets");
    bench.begin();
    let bases = [0x0, 0x4000, 0x0104, 0xfffc];
    for (slot, base) in bases.into_iter().enumerate() {
        assert_eq!(bench.register(base, None, 0), (0, slot as u32));
    }
    let me = bench.me;
    for round in 0..soak(6) {
        if round > 0 {
            bench.set_paces();
        }
        let mut expected = Vec::new();
        for length in 1..=30 {
            let (dpid, offset) = (
                bench.rng.random_range(0..bench.nprocs),
                bench.rng.random_range(0..256),
            );
            let (to, from) = (
                bench.rng.random_range(0..4u32),
                bench.rng.random_range(0..4u32),
            );
            let word = bench.rng.random();
            // PUT-1: desaddr, the data word; then dpid, 1, offset.
            bench.command(Opcode::Put1, bases[to as usize]);
            bench.command(Opcode::Put1, word);
            bench.data8(dpid, 1, offset);
            expected.push(vec![paper_word(dpid, 0b001, 2, offset, to), word]);
            // PUT-n, from 2 words on: desaddr, srcaddr (any byte address here).
            if length > 1 {
                let source = bench.rng.random_range(0..NODE_BYTES - 120);
                bench.command(Opcode::PutN, bases[to as usize]);
                bench.command(Opcode::PutN, source);
                bench.data8(dpid, length, offset);
                let mut packet = vec![paper_word(dpid, 0b010, length + 1, offset, to)];
                packet.extend((0..length).map(|at| bench.word(source + 4 * at)));
                expected.push(packet);
            }
            // GET: desaddr (local), srcaddr (remote).
            bench.command(Opcode::Get, bases[to as usize]);
            bench.command(Opcode::Get, bases[from as usize]);
            bench.data8(dpid, length, offset);
            let answer = if length == 1 { 0b001 } else { 0b010 };
            expected.push(vec![
                paper_word(dpid, 0b011, 2, offset, from),
                paper_word(me, answer, length, 0, to),
            ]);
        }
        bench.drain();
        let sent = bench.take_sent(REQUEST);
        assert_eq!(sent.len(), expected.len());
        for (at, (sent, expected)) in sent.iter().zip(&expected).enumerate() {
            assert_eq!(
                sent, expected,
                "packet {at}: {sent:08x?}, expected {expected:08x?}, {config:?}"
            );
        }
        assert!(bench.take_sent(REPLY).is_empty());
        // Collective commands use none of the operands of the command ahead.
        if config.slots > 4 {
            for opcode in [Opcode::Register, Opcode::Deregister] {
                let length = bench.rng.random_range(2..=30);
                bench.command(Opcode::PutN, bases[0]);
                bench.command(Opcode::PutN, 0);
                bench.data8(me, length, 255);
                assert_eq!(bench.collective(opcode, 0x5550), (0, 4));
            }
            bench.drain();
            assert_eq!(bench.take_sent(REQUEST).len(), 2);
        }
    }
    assert_eq!(bench.events(), 0);
}

/// Received packets of the paper are written, or answered by packets of the paper.
pub(super) fn paper_served(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_paper_served");
    bench.begin();
    let bases = [0x1000, 0x2000, 0x3000, 0x4000];
    let sizes = [0x400, 120, 124, 4];
    for (slot, (base, size)) in bases.into_iter().zip(sizes).enumerate() {
        assert_eq!(bench.register(base, Some(size), 0), (0, slot as u32));
    }
    let me = bench.me;
    let mut refused = 0;
    for _ in 0..soak(6) {
        bench.set_paces();
        let mut memory = bench.memory.clone();
        let mut answers = Vec::new();
        for length in 1..=30u32 {
            let slot = bench.rng.random_range(0..5u32);
            let offset = if slot == 0 {
                bench.rng.random_range(0..256)
            } else {
                bench.rng.random_range(0..3)
            };
            let kind = if length == 1 { 0b001 } else { 0b010 };
            let fits = slot < 4 && 4 * (offset + length) <= sizes[slot as usize];
            // A PUT on either plane: a request, or the reply to a GET of this rank.
            let plane = bench.rng.random_range(0..2);
            let data: Vec<u32> = (0..length).map(|_| bench.rng.random()).collect();
            let mut packet = vec![paper_word(me, kind, length + 1, offset, slot)];
            packet.extend(&data);
            bench.receive(plane, &packet);
            refused += u32::from(!fits);
            let first = |slot: u32| bases[slot as usize] + 4 * offset;
            if fits {
                for (at, word) in data.iter().enumerate() {
                    let place = first(slot) as usize + 4 * at;
                    memory[place..place + 4].copy_from_slice(&word.to_le_bytes());
                }
            }
            bench.drain();
            assert!(
                bench.memory == memory,
                "{length} words to slot {slot}, offset {offset}, plane {plane}"
            );
            // A GET: the header of the reply is its second word with the length incremented.
            let (asker, to) = (bench.rng.random_range(0..6), bench.rng.random_range(0..256));
            let request = [
                paper_word(me, 0b011, 2, offset, slot),
                paper_word(asker, kind, length, 0, to),
            ];
            bench.receive(REQUEST, &request);
            refused += u32::from(!fits);
            if fits {
                let mut answer = vec![paper_word(asker, kind, length + 1, 0, to)];
                answer.extend((0..length).map(|at| bench.word(first(slot) + 4 * at)));
                answers.push(answer);
            }
            bench.drain();
        }
        bench.drain();
        assert_eq!(bench.take_sent(REPLY), answers);
        assert!(bench.take_sent(REQUEST).is_empty());
        assert_eq!(bench.read(rank::REFUSED_IN), refused);
        // A continuous sequence, faster than the memory: both queues behind the network fill.
        bench.write_grants = Sink::new(Pace::Chance(0.1));
        let plane = bench.rng.random_range(0..2);
        bench.sources[plane].set_pace(Pace::Always);
        for _ in 0..40 {
            let length = [1, 1, 1, 2, 9][bench.rng.random_range(0..5)];
            let offset = bench.rng.random_range(0..200);
            let kind = if length == 1 { 0b001 } else { 0b010 };
            let mut packet = vec![paper_word(me, kind, length + 1, offset, 0)];
            packet.extend((0..length).map(|_| bench.rng.random::<u32>()));
            for (at, word) in packet[1..].iter().enumerate() {
                let place = (bases[0] + 4 * offset) as usize + 4 * at;
                memory[place..place + 4].copy_from_slice(&word.to_le_bytes());
            }
            bench.receive(plane, &packet);
        }
        bench.drain();
        assert!(bench.memory == memory);
    }
    assert!(refused > 10);
    assert_eq!(bench.events(), rank::events::DROPPED.put(1));
}

// Extended packets.
