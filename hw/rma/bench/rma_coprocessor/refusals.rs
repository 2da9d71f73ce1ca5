//! Commands and packets that are refused, each with its reason.

use super::*;

/// Commands that are refused before their first packet, and their reports.
pub(super) fn refusals(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_refusals");
    bench.register_write(rank::CQ_BASE, RING);
    bench.register_write(rank::CQ_SIZE, RING_LOG2);
    let me = bench.me;
    // Before BEGIN, no command is executed.
    bench.extended(Opcode::XPut, 0, 0, 11, [0, 0, 4]);
    bench.extended(Opcode::XGet, 0, 0, 12, [0, 0, 4]);
    bench.drain();
    let not_begun = Status::NotBegun as u32;
    assert_eq!(bench.completions(), [(11, not_begun), (12, not_begun)]);
    assert_eq!(bench.read(rank::REFUSED_OUT), 2);
    assert_eq!(bench.events(), 0);
    assert_eq!(bench.collective(Opcode::Register, 0).0, not_begun);
    for opcode in [Opcode::Put1, Opcode::PutN, Opcode::Get, Opcode::Barrier] {
        bench.clear_events();
        bench.command(opcode, 0);
        if opcode != Opcode::Barrier {
            bench.command(opcode, 0);
            bench.data8(0, 1, 0);
        }
        bench.drain();
        assert_eq!(bench.events(), rank::events::REFUSED.put(1), "{opcode:?}");
        let error = bench.read(rank::LAST_ERROR);
        assert_eq!(rank::last_error::STATUS.get(error), not_begun);
        assert_eq!(rank::last_error::OPCODE.get(error), opcode as u32);
    }
    bench.clear_events();

    bench.begin();
    bench.drain();
    assert_eq!(bench.register(0x400, Some(256), 0), (0, 0));
    // Each command has its status and its id in the completion ring, in order.
    let nprocs = bench.nprocs;
    bench.extended(Opcode::XPut, nprocs, 0, 1, [0, 0, 4]);
    bench.extended(Opcode::XGet, 255, 0, 2, [0, 0, 4]);
    bench.extended(Opcode::XPut, me, 0, 3, [0, NODE_BYTES - 4, 5]);
    bench.extended(Opcode::XGet, me, 0, 4, [0, NODE_BYTES + 1, 0]);
    bench.extended(Opcode::XPut, me, 0, 5, [0, u32::MAX, 2]);
    bench.extended(Opcode::XGet, me, 0, 6, [0, 8, u32::MAX]);
    bench.command(Opcode::XWindow, 0x404);
    bench.extended(Opcode::XPut, me, 0, 7, [0, 0, 4]);
    bench.drain();
    let (rank_status, local, unknown) = (
        Status::BadRank as u32,
        Status::BadLocal as u32,
        Status::NotRegistered as u32,
    );
    assert_eq!(
        bench.completions(),
        [
            (1, rank_status),
            (2, rank_status),
            (3, local),
            (4, local),
            (5, local),
            (6, local),
            (7, unknown)
        ]
    );
    // A buffer with any bit of its address or length beyond node memory, whichever of both is written last.
    for bit in NODE_BYTES.ilog2()..32 {
        for operands in [
            [(Opcode::XLength, 1 << bit), (Opcode::XLaddr, 4)],
            [(Opcode::XLaddr, 1 << bit), (Opcode::XLength, 4)],
            [(Opcode::XLaddr, 4), (Opcode::XLength, 1 << bit)],
            [(Opcode::XLength, 4), (Opcode::XLaddr, 1 << bit)],
        ] {
            for (opcode, operand) in operands {
                bench.command(opcode, operand);
                bench.command(Opcode::XOffset, 0);
            }
            bench.command(Opcode::XPut, x_commit::DPID.put(me) | x_commit::ID.put(bit));
            bench.drain();
            assert_eq!(bench.completions(), [(bit, local)], "{operands:x?}");
        }
    }
    assert!(bench.take_sent(REQUEST).is_empty());
    if config.lane == 0 {
        old_elements(&mut bench);
    }
    // An id of a message that does not exist; without a message engine, none exists. There is nothing to be cancelled.
    for (at, opcode) in [
        Opcode::XSend,
        Opcode::XAnnounce,
        Opcode::XReceive,
        Opcode::XProbe,
        Opcode::XCancel,
    ]
    .into_iter()
    .enumerate()
    {
        let id = config.messages + at as u32;
        bench.command(Opcode::XLength, 0);
        bench.command(opcode, x_commit::ID.put(id));
        bench.drain();
        let refused = (id, Status::BadId as u32);
        let expected: &[_] = match opcode {
            Opcode::XCancel => &[],
            _ => &[refused],
        };
        assert_eq!(bench.completions(), expected, "{opcode:?}");
    }
    // The refused command has used the base.
    bench.extended(Opcode::XPut, me, 0, 8, [0, 0, 4]);
    bench.drain();
    assert_eq!(bench.take_sent(REQUEST).len(), 1, "only the last was sent");
    assert_eq!(bench.events(), 0);

    // Commands of the paper have no completion. LAST_ERROR has the reason.
    let cases = [
        (Opcode::Put1, 0x400, 0, [nprocs, 1, 0], Status::BadRank),
        (Opcode::Put1, 0x404, 0, [me, 1, 0], Status::NotRegistered),
        (Opcode::Put1, 0x400, 0, [me, 2, 0], Status::BadLength),
        (Opcode::Put1, 0x400, 0, [me, 0, 0], Status::BadLength),
        (Opcode::PutN, 0x400, 0, [me, 31, 0], Status::BadLength),
        (Opcode::PutN, 0x400, 0, [me, 1, 0], Status::BadLength),
        (Opcode::PutN, 0x400, 0, [me, 0, 0], Status::BadLength),
        (Opcode::PutN, 0x400, 0, [me, 255, 0], Status::BadLength),
        (
            Opcode::PutN,
            0x400,
            NODE_BYTES - 116,
            [me, 30, 0],
            Status::BadLocal,
        ),
        (
            Opcode::PutN,
            0x400,
            u32::MAX - 3,
            [me, 4, 0],
            Status::BadLocal,
        ),
        (Opcode::Get, 0x404, 0x400, [me, 4, 0], Status::NotRegistered),
        (Opcode::Get, 0x400, 0x404, [me, 4, 0], Status::NotRegistered),
        (Opcode::Get, 0x400, 0x400, [me, 31, 0], Status::BadLength),
        (Opcode::Get, 0x400, 0x400, [nprocs, 4, 0], Status::BadRank),
    ];
    // Any bit of the address beyond node memory, and an end that is a byte beyond.
    let bits = (NODE_BYTES.ilog2()..32).map(|bit| 1 << bit);
    let beyond = bits
        .map(|place| (Opcode::PutN, 0x400, place, [me, 4, 0], Status::BadLocal))
        .chain([(
            Opcode::PutN,
            0x400,
            NODE_BYTES - 119,
            [me, 30, 0],
            Status::BadLocal,
        )]);
    for (opcode, first, second, [dpid, length, offset], status) in cases.into_iter().chain(beyond) {
        bench.clear_events();
        bench.command(opcode, first);
        bench.command(opcode, second);
        bench.data8(dpid, length, offset);
        bench.drain();
        assert_eq!(
            bench.events(),
            rank::events::REFUSED.put(1),
            "{opcode:?} {second:#x} {length}"
        );
        let error = bench.read(rank::LAST_ERROR);
        assert_eq!(
            rank::last_error::STATUS.get(error),
            status as u32,
            "{opcode:?} {second:#x} {length}"
        );
        assert_eq!(rank::last_error::OPCODE.get(error), opcode as u32);
    }
    // Commands at the limits are sent.
    bench.clear_events();
    bench.command(Opcode::PutN, 0x400);
    bench.command(Opcode::PutN, NODE_BYTES - 120);
    bench.data8(me, 30, 0);
    bench.extended(
        Opcode::XPut,
        nprocs - 1,
        0,
        9,
        [u32::MAX, NODE_BYTES - 5, 5],
    );
    bench.drain();
    assert_eq!(bench.take_sent(REQUEST).len(), 2);
    assert_eq!(bench.events(), 0);

    // No rank may declare more ranks than the run has, use another rank's number, or begin beyond
    // the run.
    let identity = |bench: &mut Bench| {
        let bits = bench.read(rank::IDENTITY);
        let (pid, ranks) = (
            rank::identity::PID.get(bits),
            rank::identity::NPROCS.get(bits),
        );
        (pid, ranks, rank::identity::BEGUN.get(bits))
    };
    let mut numbers = vec![
        (Opcode::SetNprocs, config.ranks + 1),
        (Opcode::SetNprocs, 255),
        (Opcode::SetPid, me + 1),
    ];
    // A bit of its own.
    numbers.extend((8..32).map(|bit| (Opcode::SetNprocs, nprocs | 1 << bit)));
    numbers.extend((0..8).map(|bit| (Opcode::SetPid, me ^ 1 << bit)));
    for (opcode, data) in numbers {
        bench.command(opcode, data);
        bench.drain();
        assert_eq!(
            bench.events(),
            rank::events::REFUSED.put(1),
            "{opcode:?} {data}"
        );
        assert_eq!(identity(&mut bench), (me, nprocs, 1), "{opcode:?} {data}");
        bench.clear_events();
    }
    bench.extended(Opcode::XPut, DESTS, 0, 10, [0, 0, 4]);
    bench.drain();
    assert_eq!(bench.completions().last(), Some(&(10, rank_status)));
    // The run may have more ranks than the network reaches. Commands to those are refused.
    bench.command(Opcode::SetNprocs, config.ranks);
    bench.drain();
    assert_eq!(identity(&mut bench), (me, config.ranks, 1));
    for dpid in (0..DESTS + 4).chain([255]) {
        let is_known = dpid < config.ranks.min(DESTS);
        bench.extended(Opcode::XPut, dpid, 0, dpid, [0, 0, 4]);
        bench.command(Opcode::Put1, 0x400);
        bench.command(Opcode::Put1, dpid);
        bench.data8(dpid, 1, 0);
        bench.drain();
        let sent = bench.take_sent(REQUEST);
        assert_eq!(sent.len(), if is_known { 2 } else { 0 }, "rank {dpid}");
        assert!(sent.iter().all(|packet| packet[0] >> 24 == dpid));
        let refused = (dpid, rank_status);
        let expected: &[_] = if is_known { &[] } else { &[refused] };
        assert_eq!(bench.completions(), expected, "rank {dpid}");
        let refused = rank::events::REFUSED.put((!is_known).into());
        assert_eq!(bench.events(), refused, "rank {dpid}");
        bench.clear_events();
    }
    bench.command(Opcode::EndRun, 0);
    bench.command(Opcode::SetNprocs, me);
    bench.command(Opcode::BeginRun, 0);
    bench.drain();
    assert_eq!(bench.events(), rank::events::REFUSED.put(1));
    assert_eq!(identity(&mut bench), (me, me, 0));
}

/// The old elements of a fetching accumulate end with node memory, or a word behind it.
fn old_elements(bench: &mut Bench) {
    let me = bench.me;
    for length in [4, 12, 0x40, 0x1000, 0x1040, 0x5554] {
        for (beyond, length_last) in [(0, false), (0, true), (4, false), (4, true)] {
            let old = NODE_BYTES - length + beyond;
            let mut operands = [(Opcode::XLength, length), (Opcode::XOperandHigh, old)];
            if length_last {
                operands.reverse();
            }
            bench.command(Opcode::XLaddr, 0);
            bench.command(Opcode::XOffset, 0);
            let reduction = x_reduction::DATATYPE.put(Datatype::U32 as u32);
            bench.command(Opcode::XOperand, reduction);
            for (opcode, operand) in operands {
                bench.command(opcode, operand);
            }
            let commit = x_commit::DPID.put(me) | x_commit::ID.put(1);
            bench.command(Opcode::XFetchAccumulate, commit);
            bench.drain();
            let packets = bench.take_sent(REQUEST).len() as u32;
            let refused = (1, Status::BadLocal as u32);
            let place = format!("{length:#x} bytes to {old:#x}");
            if beyond == 0 {
                let expected = length.div_ceil(bench.config.payload);
                assert_eq!(packets, expected, "{place}");
                assert_eq!(bench.completions(), [], "{place}");
            } else {
                assert_eq!(packets, 0, "{place}");
                assert_eq!(bench.completions(), [refused], "{place}");
            }
        }
    }
    bench.command(Opcode::XLength, 4);
}
