//! Extended transfers: packets of puts and gets, ends of windows, and packets of false lengths.

use super::*;

/// Packets of an extended put or get: header words, and payload bytes where they have a meaning.
pub(super) fn extended_packets(
    bench: &Bench,
    is_get: bool,
    dpid: u32,
    slot: u32,
    id: u32,
    [offset, mut laddr, mut left]: [u32; 3],
) -> Vec<(Vec<u32>, Vec<Option<u8>>)> {
    let kind = if is_get {
        PacketType::Xget
    } else {
        PacketType::Xput
    } as u32;
    // An offset may exceed 2^32, but must not wrap into the window.
    let mut offset = u64::from(offset);
    let mut packets = Vec::new();
    loop {
        // Payload is aligned as at its destination, so the first word may be partial.
        let lane = if is_get { laddr } else { offset as u32 } % 4;
        let bytes = left.min(bench.config.payload - lane);
        let last = bytes == left;
        let mut heads = vec![
            dpid << 24
                | kind << 21
                | u32::from(last) << 20
                | x_header::BEYOND.put((offset >> 32) as u32)
                | bench.me << 8
                | slot,
            offset as u32,
            if last { id << 16 | left } else { left },
        ];
        let mut payload = Vec::new();
        if is_get {
            heads.push(laddr);
        } else if bytes > 0 {
            payload.resize(lane as usize, None);
            payload.extend((0..bytes).map(|at| Some(bench.memory[(laddr + at) as usize])));
            payload.resize(payload.len().next_multiple_of(4), None);
        }
        packets.push((heads, payload));
        if last {
            return packets;
        }
        (offset, laddr, left) = (offset + u64::from(bytes), laddr + bytes, left - bytes);
    }
}

/// A window without a given size ends with node memory: its last word can be read, and no byte behind it.
fn window_ends(bench: &mut Bench, bases: &[u32]) {
    let (me, from) = (bench.me, (bench.me + 1) % bench.nprocs);
    for (slot, &base) in bases.iter().enumerate() {
        for beyond in 0..2 {
            let offset = NODE_BYTES - base - 4 + beyond;
            let head = x_header::DPID.put(me)
                | x_header::PTYPE.put(PacketType::Xget as u32)
                | x_header::LAST.put(1)
                | x_header::SRC.put(from)
                | x_header::SLOT.put(slot as u32);
            let length = x_length::ID.put(9) | x_length::LENGTH.put(4);
            bench.receive(REQUEST, &[head, offset, length, 0x20]);
            bench.drain();
            let answer = if beyond == 0 {
                let head = x_data::DPID.put(from) | x_data::PTYPE.put(PacketType::Xdata as u32);
                let head = head | x_data::LAST.put(1);
                vec![head, 0x20, length, bench.word(NODE_BYTES - 4)]
            } else {
                vec![x_ack(from, Status::OutOfBounds, 9)]
            };
            assert_eq!(bench.take_sent(REPLY), [answer], "window of {base:#x}");
        }
    }
}

pub(super) fn extended(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_extended");
    bench.begin();
    // Each bit of an address is set in one of the first two.
    let bases = [0x5554, 0xaaa8, 0x0, 0x40];
    for (slot, base) in bases.into_iter().enumerate() {
        assert_eq!(bench.register(base, None, 0), (0, slot as u32));
    }
    window_ends(&mut bench, &bases);
    // After a reset, all operands are zero.
    for (opcode, is_get) in [(Opcode::XPut, false), (Opcode::XGet, true)] {
        bench.command(opcode, x_commit::SLOT.put(2) | x_commit::ID.put(5));
        bench.drain();
        let expected = extended_packets(&bench, is_get, 0, 2, 5, [0; 3]);
        assert_eq!(bench.take_sent(REQUEST), [expected[0].0.clone()]);
    }
    for round in 0..soak(20) {
        if round > 0 {
            bench.set_paces();
        }
        let mut expected = Vec::new();
        for _ in 0..10 {
            let is_get = bench.rng.random();
            let payload = config.payload;
            let length = match bench.rng.random_range(0..5) {
                0 => [0, bench.rng.random_range(0..9)][bench.rng.random_range(0..2)],
                1 => (payload * bench.rng.random_range(1..3) + bench.rng.random_range(0..7))
                    .saturating_sub(3),
                _ => bench.rng.random_range(0..4 * payload),
            };
            let laddr = if bench.rng.random_bool(if length == 0 { 0.7 } else { 0.2 }) {
                // Up to the end of node memory, and from its start.
                [NODE_BYTES - length, 0][bench.rng.random_range(0..2)]
            } else {
                bench.rng.random_range(0..=NODE_BYTES - length)
            };
            let offset = match bench.rng.random_range(0..10) {
                0 => bench.rng.random(),
                1 => u32::MAX - bench.rng.random_range(0..2 * payload),
                _ => bench.rng.random_range(0..5_000),
            };
            let (dpid, id) = (
                bench.rng.random_range(0..bench.nprocs),
                bench.rng.random_range(0..1 << 16),
            );
            let opcode = if is_get { Opcode::XGet } else { Opcode::XPut };
            // By slot, or by the window's base, which has priority over the slot.
            let named = bench.rng.random_bool(0.4);
            let slot = bench.rng.random_range(0..4u32);
            if named {
                bench.command(Opcode::XWindow, bases[slot as usize]);
            }
            let given = if named {
                bench.rng.random_range(0..256)
            } else {
                slot
            };
            bench.extended(opcode, dpid, given, id, [offset, laddr, length]);
            expected.extend(extended_packets(
                &bench,
                is_get,
                dpid,
                slot,
                id,
                [offset, laddr, length],
            ));
        }
        bench.drain();
        let sent = bench.take_sent(REQUEST);
        for (at, (packet, (heads, payload))) in sent.iter().zip(&expected).enumerate() {
            let place = format!("packet {at}: {packet:08x?}, {config:?}");
            assert_eq!(
                packet.len(),
                heads.len() + payload.len() / 4,
                "{place}, expected {heads:08x?}"
            );
            assert_eq!(&packet[..heads.len()], &heads[..], "{place}");
            let bytes: Vec<u8> = packet[heads.len()..]
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .collect();
            for (found, expected) in bytes.iter().zip(payload) {
                assert!(
                    expected.is_none_or(|expected| expected == *found),
                    "{place}, expected {payload:02x?}"
                );
            }
        }
        assert_eq!(sent.len(), expected.len());
    }
}

// Atomic operations and accumulates.

/// A continuous sequence of packets of all kinds on both planes, some with more or fewer beats than
/// their header declares. These packets are reported and answered, and later packets are not
/// affected.
pub(super) fn lengths(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_lengths");
    bench.begin();
    // Areas: written by extended packets, read, written by the paper's packets.
    let bases = [0x1000, 0x9000, 0xa000];
    for (slot, base) in bases.into_iter().enumerate() {
        assert_eq!(bench.register(base, Some(0x1000), 0), (0, slot as u32));
    }
    let me = bench.me;
    // There is no space for messages.
    bench.register_write(rank::MESSAGE_QUOTA, 0);
    let (mut cut, mut short, mut long, mut damaged) = (0, 0, 0, 0);
    for round in 0..soak(30) {
        bench.set_paces();
        let share = [0.0, 0.1, 0.5][round as usize % 3];
        let mut memory = bench.memory.clone();
        let (mut answers, mut completions, mut is_malformed) = (Vec::new(), Vec::new(), false);
        let (mut place, mut paper_place) = (bases[0], bases[2]);
        for id in 1..=30u32 {
            let rng = &mut bench.rng;
            let from = rng.random_range(0..6);
            let x_head = |kind: PacketType, slot: u32| {
                me << 24 | (kind as u32) << 21 | x_header::LAST.put(1) | from << 8 | slot
            };
            let mut address = place + rng.random_range(0..8);
            place += 128;
            let mut length = rng.random_range(0..=config.payload.min(120) - 3);
            // Reads of whole words: address and words.
            let (source, words) = (4 * rng.random_range(0..200), rng.random_range(2..=14u32));
            let kind = rng.random_range(0..7);
            let (plane, mut packet, header) = match kind {
                0 => {
                    (address, length) = (paper_place, 4 * words);
                    paper_place += 4 * words;
                    let offset = (address - bases[2]) / 4;
                    let plane = rng.random_range(0..2);
                    (plane, vec![paper_word(me, 0b010, words + 1, offset, 2)], 1)
                }
                1 => {
                    let head = x_head(PacketType::Xput, 0);
                    let packet = vec![head, address - bases[0], id << 16 | length];
                    (REQUEST, packet, 3)
                }
                2 => {
                    let head = x_head(PacketType::Xdata, 0);
                    (REPLY, vec![head, address, id << 16 | length], 3)
                }
                3 => {
                    let (offset, answer) = (source / 4, paper_word(from, 0b010, words, 0, 7));
                    let packet = vec![paper_word(me, 0b011, 2, offset, 1), answer];
                    (REQUEST, packet, 2)
                }
                4 => {
                    let head = x_head(PacketType::Xget, 1);
                    let packet = vec![head, source, (id << 16) | (4 * words), 4 * id];
                    (REQUEST, packet, 4)
                }
                5 => (REPLY, vec![x_ack(me, Status::Denied, id)], 1),
                // A message without space for it.
                _ => (REQUEST, vec![from << 8, 5, length, id], 4),
            };
            let data: Vec<u8> = (0..length).map(|_| rng.random()).collect();
            let carries = matches!(kind, 0 | 1 | 2 | 6);
            let lane = if kind == 6 { 0 } else { address % 4 };
            if carries && length > 0 {
                let mut bytes = vec![0; lane as usize];
                bytes.extend(&data);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
                let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("a word"));
                packet.extend(bytes.chunks(4).map(word));
            }

            let mut beats = config.beats(&packet, rng);
            let right = beats.len();
            let header = if config.beat == 1 { header } else { 1 };
            let mut count = right;
            while count == right && rng.random_bool(share) {
                count = rng.random_range(1..right + 4);
            }
            beats.resize_with(count, || {
                let words = (0..config.beat).map(|_| rng.random()).collect();
                (words, End::No)
            });
            for (at, (_, end)) in beats.iter_mut().enumerate() {
                *end = End::of(at + 1 == count);
            }
            // A damaged packet ends with a beat that is none of its beats, behind the first one, which several words share.
            let is_damaged =
                (count > header || (config.beat == 1 && count > 1)) && rng.random_bool(share / 2.0);
            if is_damaged {
                beats[count - 1].1 = End::Cut;
                damaged += 1;
            }
            bench.sources[plane].extend(beats);
            is_malformed |= count != right || is_damaged;
            if count < header + usize::from(is_damaged) {
                cut += 1;
                continue;
            }
            short += u32::from(count < right);
            long += u32::from(count > right);
            let status = if is_damaged && carries {
                Status::Damaged
            } else if count == right {
                Status::Ok
            } else {
                Status::BadLength
            };
            let read: Vec<u32> = (0..words)
                .map(|at| bench.word(bases[1] + source + 4 * at))
                .collect();
            match kind {
                1 => answers.push(vec![x_ack(from, status, id)]),
                2 => completions.push((id, status as u32)),
                3 => answers.push([vec![paper_word(from, 0b010, words + 1, 0, 7)], read].concat()),
                4 => {
                    let head =
                        from << 24 | (PacketType::Xdata as u32) << 21 | x_header::LAST.put(1);
                    answers.push([vec![head, 4 * id, (id << 16) | (4 * words)], read].concat());
                }
                5 => completions.push((id, Status::Denied as u32)),
                6 => answers.push(vec![x_ack(from, Status::NoRoom, id)]),
                _ => {}
            }
            if matches!(kind, 0..=2) {
                let came = count - header - usize::from(is_damaged);
                let came = (4 * config.beat * came).saturating_sub(lane as usize);
                let came = came.min(data.len());
                memory[address as usize..address as usize + came].copy_from_slice(&data[..came]);
            }
        }
        bench.drain();
        let mut sent = bench.take_sent(REPLY);
        sent.sort_unstable();
        answers.sort_unstable();
        assert_eq!(sent, answers, "round {round}, {config:?}");
        let mut entered = bench.completions();
        entered.sort_unstable();
        completions.sort_unstable();
        assert_eq!(entered, completions, "round {round}, {config:?}");
        let ring = RING as usize;
        let wrong = (0..ring).find(|&at| bench.memory[at] != memory[at]);
        assert_eq!(wrong, None, "round {round}, {config:?}: a byte of memory");
        let found = is_set(rank::events::MALFORMED, bench.events());
        assert_eq!(found, is_malformed, "round {round}, {config:?}");
        bench.clear_events();
    }
    let often = [cut, short, long, damaged];
    let least = if config.beat == 1 { 20 } else { 0 };
    assert!(
        cut >= least && short > 5 && long > 20 && damaged > 20,
        "{often:?}"
    );
}

/// One packet at a time ends within its header, with a last beat or with a beat that cuts the packet
/// off. The packet raises the event and has no other effect, and the next reply is complete.
pub(super) fn cut_headers(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_cut_headers");
    bench.begin();
    let base = 0x1000;
    assert_eq!(bench.register(base, Some(0x1000), 0), (0, 0));
    let me = bench.me;
    let head = |kind: PacketType, flags: u32| {
        me << 24 | (kind as u32) << 21 | x_header::LAST.put(1) | flags
    };
    // The header words of old values, of data, of a put, and of a get.
    let old = x_old::ATOMIC.put(1) | x_old::ID.put(7);
    let packets = [
        (REPLY, vec![head(PacketType::Xdata, old), 1]),
        (
            REPLY,
            vec![head(PacketType::Xdata, old | x_old::WIDE.put(1)), 1, 2],
        ),
        (REPLY, vec![head(PacketType::Xdata, 0), base, 7 << 16 | 4]),
        (REQUEST, vec![head(PacketType::Xput, 0), 0, 7 << 16 | 4]),
        (REQUEST, vec![head(PacketType::Xget, 0), 0, 7 << 16 | 4, 0]),
    ];
    let next = [head(PacketType::Xdata, 0), base + 8, 9 << 16 | 4];
    let mut word = 0;
    for (plane, packet) in packets {
        for count in 1..packet.len() {
            for end in [End::Last, End::Cut] {
                bench.set_paces();
                let beats = |words: &[u32], end: End| -> Vec<_> {
                    let last = words.len() - 1;
                    let ends = (0..=last).map(|at| if at == last { end } else { End::No });
                    words.iter().map(|&word| vec![word]).zip(ends).collect()
                };
                // A beat that cuts the packet off holds no word of the packet.
                let words = match end {
                    End::Cut => packet[..=count].to_vec(),
                    _ => packet[..count].to_vec(),
                };
                let memory = bench.memory.clone();
                let what = format!("{packet:x?}, {count} words, {end:?}");
                bench.sources[plane].extend(beats(&words, end));
                bench.drain();
                bench.cycles(40);
                let events = bench.events();
                assert!(
                    is_set(rank::events::MALFORMED, events),
                    "{what}: {events:x}"
                );
                assert_eq!(bench.completions(), [], "{what}");
                assert!(bench.take_sent(REPLY).is_empty(), "{what}: an answer");
                assert!(bench.memory == memory, "{what}: a write");
                bench.clear_events();
                word += 1;
                bench.sources[REPLY].extend(beats(&[&next[..], &[word]].concat(), End::Last));
                bench.drain();
                assert_eq!(bench.completions(), [(9, 0)], "{what}: the next packet");
                assert_eq!(bench.word(base + 8), word, "{what}: the next packet");
                assert_eq!(bench.events(), 0, "{what}: the next packet");
            }
        }
    }
}

// Loopback.
