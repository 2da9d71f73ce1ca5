//! Windows: what lies beyond their edges and rights is refused, and untouched.

use alcor::TransferKind::{Get, Put};
use alcor::{
    Error, GlobalRank, NodeAddr, Rank, Region, Rights, Status, Transfer, TransferKind, Window,
    WindowName,
};
use alcor_test::{At, Context, Failure, Result, after, alcor_test, fails, refused, same, same_bytes};


/// The last byte can be put and got, the next can't, for windows of many sizes.
#[alcor_test(ranks >= 1)]
fn edges(context: &Context) -> Result {
    let packet = context.info().packet_bytes;
    let sizes = [
        1,
        2,
        3,
        4,
        5,
        7,
        64,
        packet - 1,
        packet,
        packet + 1,
        2 * packet + 3,
    ];
    // A slot may be the only one.
    for size in sizes {
        guarded(context, size, |rank, it| {
            let peer = after(rank, 1);
            for kind in [Put, Get] {
                it.tries(rank, kind, peer, size - 1, 1, Status::Ok)?;
                it.tries(rank, kind, peer, 0, size, Status::Ok)?;
                it.tries(rank, kind, peer, size, 1, Status::OutOfBounds)?;
                it.tries(rank, kind, peer, size - 1, 2, Status::OutOfBounds)?;
                it.tries(rank, kind, peer, 0, size + 1, Status::OutOfBounds)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// A command of many packets of which only the last crosses the end is refused as a whole.
#[alcor_test(ranks >= 1)]
fn whole_command(context: &Context) -> Result {
    let packet = context.info().packet_bytes;
    for size in [packet, 3 * packet, 3 * packet + 1] {
        guarded(context, size, |rank, it| {
            let peer = after(rank, 1);
            for kind in [Put, Get] {
                for offset in [0, 1, packet / 2] {
                    let length = size - offset;
                    it.tries(rank, kind, peer, offset, length + 1, Status::OutOfBounds)?;
                    it.tries(
                        rank,
                        kind,
                        peer,
                        offset,
                        length + packet,
                        Status::OutOfBounds,
                    )?;
                    it.tries(rank, kind, peer, offset, length, Status::Ok)?;
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Offsets near 2^32 do not wrap around into the window.
#[alcor_test(ranks >= 1)]
fn far_offsets(context: &Context) -> Result {
    let packet = context.info().packet_bytes;
    guarded(context, 64, |rank, it| {
        let peer = after(rank, 1);
        for kind in [Put, Get] {
            for back in [1, 2, 3, 4, 8, 60, 64, packet - 1, packet, packet + 1] {
                // A packet that begins past 2^32 would be within the window.
                for length in [1, 4, 8, 64, 100, packet - 1, packet, packet + 1, 2 * packet] {
                    it.tries(
                        rank,
                        kind,
                        peer,
                        0u32.wrapping_sub(back),
                        length,
                        Status::OutOfBounds,
                    )?;
                }
            }
            for offset in [
                0x8000_0000,
                0x7fff_ffff,
                0xffff_ff00,
                rank.board().node_bytes,
            ] {
                it.tries(rank, kind, peer, offset, 4, Status::OutOfBounds)?;
            }
        }
        Ok(())
    })
}

/// A transfer of no bytes is checked, and moves nothing.
#[alcor_test(ranks >= 1)]
fn zero_length(context: &Context) -> Result {
    guarded(context, 16, |rank, it| {
        let peer = after(rank, 1);
        for kind in [Put, Get] {
            for offset in [0, 1, 15, 16] {
                it.tries(rank, kind, peer, offset, 0, Status::Ok)?;
            }
            it.tries(rank, kind, peer, 17, 0, Status::OutOfBounds)?;
            it.tries(rank, kind, peer, u32::MAX, 0, Status::OutOfBounds)?;
        }
        Ok(())
    })
}

/// A window without a byte takes transfers of no bytes, and nothing else.
#[alcor_test(ranks >= 1)]
fn zero_size(context: &Context) -> Result {
    guarded(context, 0, |rank, it| {
        let peer = after(rank, 1);
        for kind in [Put, Get] {
            it.tries(rank, kind, peer, 0, 0, Status::Ok)?;
            it.tries(rank, kind, peer, 0, 1, Status::OutOfBounds)?;
            it.tries(rank, kind, peer, 1, 0, Status::OutOfBounds)?;
        }
        Ok(())
    })
}

/// Each rank's part has its own size and place; the target's counts.
#[alcor_test(ranks >= 2)]
fn own_sizes(context: &Context) -> Result {
    context.run(|rank| {
        let me = rank.pid();
        let size = |of: GlobalRank| 16 + 36 * of.0;
        let _shift = rank.alloc::<u8>(64 * (me.0 as usize + 1))?;
        let region = rank.alloc_from(&vec![0u8; size(me) as usize])?;
        let window = rank.register(&region, Rights::ALL)?;
        let data = rank.alloc_from(&[me.0 as u8 + 1; 4])?;
        let wide = rank.alloc_from(&[0xFFu8; 5])?;
        for steps in 0..rank.nprocs() {
            let peer = after(rank, steps);
            let last = u64::from(size(peer)) - 4;
            if steps == 1 {
                rank.put_bytes(&window, peer, last, &data)
                    .at(format_args!("{me}: put to the end of {peer}'s part"))?;
            }
            let place = format_args!("{me}: put across the end of {peer}'s part");
            refused(
                place,
                Status::OutOfBounds,
                rank.put_bytes(&window, peer, last, &wide),
            )?;
        }
        rank.barrier()?;
        let mut expected = vec![0; size(me) as usize];
        let from = (me.0 + rank.nprocs() - 1) % rank.nprocs();
        expected[size(me) as usize - 4..].fill(from as u8 + 1);
        same_bytes(
            format_args!("{me}: window"),
            &expected,
            &rank.read_vec(&region)?,
        )
    })?;
    Ok(())
}

/// A window without a size reaches to the end of node memory.
#[alcor_test(ranks >= 1)]
fn to_the_end(context: &Context) -> Result {
    context.run(|rank| {
        let me = rank.pid();
        let bytes = rank.board().node_bytes;
        let base = NodeAddr(bytes - 256);
        let range = rank.lab().register_range(base, None, Rights::ALL)?;
        let local = rank.alloc_from(&[me.0 as u8 + 1; 8])?;
        let (target, name) = (after(rank, 1), WindowName::Slot(range.slot));
        let transfer = |kind, offset| {
            Transfer::new(kind, target, name, local.addr(), 8).at_offset(offset)
        };
        let (last, beyond) = (transfer(Put, 248), [transfer(Put, 249), transfer(Get, 256)]);
        let request = rank.lab().transfer(last)?;
        rank.wait(request).at(format_args!("{me}: {last}"))?;
        for beyond in beyond {
            let request = rank.lab().transfer(beyond)?;
            refused(
                format_args!("{me}: {beyond}"),
                Status::OutOfBounds,
                rank.wait(request),
            )?;
        }
        rank.barrier()?;
        let mut found = [0; 256];
        rank.lab().port().read_memory(base, &mut found)?;
        let from = (me.0 + rank.nprocs() - 1) % rank.nprocs();
        let mut expected = [0; 256];
        expected[248..].fill(from as u8 + 1);
        same_bytes(format_args!("{me}: end of node memory"), &expected, &found)
    })?;
    Ok(())
}

/// A window allows what its rights say, at the target: read, write, both, nothing.
#[alcor_test(ranks >= 1)]
fn rights(context: &Context) -> Result {
    let all = [Rights::ALL, Rights::READ, Rights::WRITE, Rights::NONE];
    for shift in 0..all.len() {
        context.run(|rank| {
            let rights = |of: GlobalRank| all[(of.0 as usize + shift) % all.len()];
            let mut it = Guarded::new(context, rank, 40, rights(rank.pid()))?;
            for peer in (0..rank.nprocs()).map(GlobalRank) {
                let verdict = |is_allowed| {
                    if is_allowed {
                        Status::Ok
                    } else {
                        Status::Denied
                    }
                };
                it.tries(rank, Put, peer, 0, 0, verdict(rights(peer).remote_write))?;
                it.tries(rank, Put, peer, 5, 33, verdict(rights(peer).remote_write))?;
                it.tries(rank, Get, peer, 5, 33, verdict(rights(peer).remote_read))?;
            }
            it.check_untouched(rank)
        })?;
    }
    Ok(())
}

/// A slot that was never registered, one that no longer is, and one beyond the table.
#[alcor_test(ranks >= 1)]
fn bad_slot(context: &Context) -> Result {
    guarded(context, 32, |rank, it| {
        let peer = after(rank, 1);
        let slots = rank.board().slots;
        // Where the table has one slot, it is the window's.
        let vacant = (0..slots)
            .rev()
            .find(|&slot| slot != u32::from(it.window.slot()));
        for slot in vacant.into_iter().chain(
            [slots, 255]
                .into_iter()
                .filter(|&slot| (slots..256).contains(&slot)),
        ) {
            for kind in [Put, Get] {
                let name = WindowName::Slot(slot as u8);
                it.tries_by(rank, name, kind, peer, 0, 4, Status::BadSlot)?;
                it.tries_by(rank, name, kind, peer, 0, 0, Status::BadSlot)?;
            }
        }
        Ok(())
    })
}

/// A window that is named by an address at which there is none.
#[alcor_test(ranks >= 1)]
fn bad_address(context: &Context) -> Result {
    guarded(context, 32, |rank, it| {
        let peer = after(rank, 1);
        for base in [
            it.window.base().0 + 4,
            it.window.base().0 - 4,
            rank.board().node_bytes - 4,
            0xffff_fffc,
        ] {
            for kind in [Put, Get] {
                let name = WindowName::Base(NodeAddr(base));
                it.tries_by(rank, name, kind, peer, 0, 4, Status::NotRegistered)?;
            }
        }
        // The name holds for one command: the next goes by its slot again.
        it.tries(rank, Get, peer, 0, 4, Status::Ok)
    })
}

/// A rank that is not part of the run: beyond it, beyond the board, beyond the field.
#[alcor_test(ranks >= 2)]
fn bad_rank(context: &Context) -> Result {
    for ranks in [context.ranks() - 1, context.ranks()] {
        guarded_with(context, ranks, 32, |rank, it| {
            for pid in [rank.nprocs(), rank.nprocs() + 1, 128, 255] {
                for kind in [Put, Get] {
                    it.tries(rank, kind, GlobalRank(pid), 0, 4, Status::BadRank)?;
                }
            }
            let place = format_args!("{}: put to rank 256", rank.pid());
            let result = rank.put_bytes(&it.window, GlobalRank(256), 0, &it.local);
            fails(
                place,
                "Error::OutOfRange",
                |error| matches!(error, Error::OutOfRange { .. }),
                result,
            )
        })?;
    }
    Ok(())
}

/// A local range that does not lie in node memory.
#[alcor_test(ranks >= 1)]
fn bad_local(context: &Context) -> Result {
    guarded(context, 64, |rank, it| {
        let peer = after(rank, 1);
        let bytes = rank.board().node_bytes;
        let ranges = [
            (bytes - 3, 4),
            (bytes, 1),
            (bytes - 1, 2),
            (u32::MAX, 1),
            (u32::MAX, 64),
            (0, bytes + 1),
            (64, u32::MAX),
            (1, u32::MAX),
            (u32::MAX, u32::MAX),
        ];
        for (local, length) in ranges {
            for kind in [Put, Get] {
                let transfer = it.transfer(kind, peer, 0, NodeAddr(local), length);
                let request = rank.lab().transfer(transfer)?;
                refused(
                    format_args!("{}: {transfer}", rank.pid()),
                    Status::BadLocal,
                    rank.wait(request),
                )?;
            }
        }
        let transfer = it.transfer(Get, peer, 0, NodeAddr(bytes - 4), 4);
        let request = rank.lab().transfer(transfer)?;
        rank.wait(request)
            .at(format_args!("{}: {transfer}", rank.pid()))
    })
}

/// Refused commands in a stream of good ones: each gets its own answer.
#[alcor_test(ranks >= 1)]
fn in_a_stream(context: &Context) -> Result {
    let rounds = context.scale(40, 400);
    context.run(|rank| {
        let me = rank.pid();
        let size = 4 * rounds;
        let region = rank.alloc_from(&vec![0u8; size as usize])?;
        let window = rank.register(&region, Rights::ALL)?;
        let data = rank.alloc_from(&[me.0 as u8 + 1; 4])?;
        let peer = after(rank, 1);
        let mut requests = Vec::new();
        for round in 0..rounds {
            let good = rank.iput_bytes(&window, peer, 4 * u64::from(round), &data)?;
            requests.push((good, Status::Ok));
            let (slot, target, offset, local, status) = match round % 4 {
                0 => (
                    window.slot(),
                    peer.0,
                    size - 3,
                    data.addr(),
                    Status::OutOfBounds,
                ),
                1 => (window.slot(), 200, 0, data.addr(), Status::BadRank),
                2 => (
                    window.slot(),
                    peer.0,
                    0,
                    NodeAddr(u32::MAX - 1),
                    Status::BadLocal,
                ),
                _ if rank.board().slots < 256 => (255, peer.0, 0, data.addr(), Status::BadSlot),
                _ => continue,
            };
            let kind = if round % 3 == 0 { Get } else { Put };
            let name = WindowName::Slot(slot);
            let transfer = Transfer::new(kind, GlobalRank(target), name, local, 4);
            requests.push((rank.lab().transfer(transfer.at_offset(offset))?, status));
        }
        for (request, status) in requests {
            let transfer = request.transfer();
            let place = transfer.map_or_else(String::new, |it| format!("{me}: {it}"));
            match status {
                Status::Ok => rank.wait(request).at(place)?,
                status => refused(place, status, rank.wait(request))?,
            }
        }
        rank.barrier()?;
        let from = (me.0 + rank.nprocs() - 1) % rank.nprocs();
        same_bytes(
            format_args!("{me}: window"),
            &vec![from as u8 + 1; size as usize],
            &rank.read_vec(&region)?,
        )
    })?;
    Ok(())
}

/// What is refused at the target is counted there; what is refused before anything was sent is
/// counted at its origin.
#[alcor_test(ranks >= 1)]
fn counted(context: &Context) -> Result {
    context.run(|rank| {
        let mut it = Guarded::new(context, rank, 16, Rights::READ)?;
        let peer = after(rank, 1);
        for _ in 0..5 {
            it.tries(rank, Put, peer, 0, 4, Status::Denied)?;
            it.tries(rank, Get, peer, 13, 4, Status::OutOfBounds)?;
            it.tries(rank, Get, peer, 0, 4, Status::Ok)?;
        }
        for _ in 0..3 {
            it.tries(rank, Put, GlobalRank(250), 0, 4, Status::BadRank)?;
        }
        rank.barrier()?;
        let counters = rank.lab().counters()?;
        let me = rank.pid();
        same(
            format_args!("{me}: REFUSED_IN after 10 refused accesses"),
            10,
            counters.refused_in,
        )?;
        same(
            format_args!("{me}: REFUSED_OUT after 3 refused commands"),
            3,
            counters.refused_out,
        )?;
        same(
            format_args!("{me}: completions of 18 commands"),
            18,
            counters.completions,
        )?;
        it.check_untouched(rank)
    })?;
    Ok(())
}

/// What is refused to a dropped request is told by the next flush, once.
#[alcor_test(ranks >= 2)]
fn told_by_flush(context: &Context) -> Result {
    context.run(|rank| {
        let me = rank.pid();
        let it = Guarded::new(context, rank, 16, Rights::READ)?;
        let (peer, other) = (after(rank, 1), rank.pid());
        for _ in 0..3 {
            drop(rank.iput_bytes(&it.window, peer, 0, &it.local.slice(..4)?)?);
        }
        rank.flush(other)
            .at(format_args!("{me}: flush of a target that refused nothing"))?;
        let is_expected = |error: &Error| {
            matches!(error, Error::Unclaimed { failed: 3, .. })
                && error.status() == Some(Status::Denied)
        };
        let told = rank.flush(peer);
        fails(
            format_args!("{me}: flush"),
            "Error::Unclaimed with 3 failures, Denied",
            is_expected,
            told,
        )?;
        rank.flush_all().at(format_args!("{me}: next flush"))?;
        it.check_untouched(rank)
    })?;
    Ok(())
}

/// A window in the middle of memory that nobody may touch.
struct Guarded {
    around: Region<u8>,
    before: Vec<u8>,
    window: Window<u8>,
    local: Region<u8>,
    local_before: Vec<u8>,
}

const AROUND: usize = 64;

impl Guarded {
    fn new(
        context: &Context,
        rank: &mut Rank,
        size: u32,
        rights: Rights,
    ) -> Result<Guarded, Failure> {
        // Commands that are refused may ask for more than the window has.
        let local_bytes = size as usize + 2 * context.info().packet_bytes as usize + 128;
        // All bytes are the same everywhere, so that what is allowed changes nothing.
        let around = rank.alloc_from(&vec![0x5A; 2 * AROUND + size as usize])?;
        let region = around.slice(AROUND..AROUND + size as usize)?;
        let window = rank.register(&region, rights)?;
        let local = rank.alloc_from(&vec![0x5A; local_bytes])?;
        let guarded = Guarded {
            before: rank.read_vec(&around)?,
            local_before: rank.read_vec(&local)?,
            around,
            window,
            local,
        };
        rank.barrier()?;
        Ok(guarded)
    }

    fn transfer(
        &self,
        kind: TransferKind,
        target: GlobalRank,
        offset: u32,
        local: NodeAddr,
        length: u32,
    ) -> Transfer {
        let name = WindowName::Slot(self.window.slot());
        Transfer::new(kind, target, name, local, length).at_offset(offset)
    }

    fn tries(
        &mut self,
        rank: &mut Rank,
        kind: TransferKind,
        target: GlobalRank,
        offset: u32,
        length: u32,
        status: Status,
    ) -> Result {
        let name = WindowName::Slot(self.window.slot());
        self.tries_by(rank, name, kind, target, offset, length, status)
    }

    /// What is allowed to be put is what stands there already; what is refused is something else.
    #[expect(
        clippy::too_many_arguments,
        reason = "a command has as many, and its outcome"
    )]
    fn tries_by(
        &mut self,
        rank: &mut Rank,
        window: WindowName,
        kind: TransferKind,
        target: GlobalRank,
        offset: u32,
        length: u32,
        status: Status,
    ) -> Result {
        let me = rank.pid();
        let mut transfer = self.transfer(kind, target, offset, self.local.addr(), length);
        transfer.window = window;
        let place = format!("{me}: {transfer}");
        let (mut local, is_good) = (self.local_before.clone(), status == Status::Ok);
        if kind == TransferKind::Get || !is_good {
            local.fill(0xC3);
        }
        rank.write(&mut self.local, 0, &local)?;
        let request = rank.lab().transfer(transfer)?;
        let ended = rank.wait(request);
        if is_good { ended.at(&place)? } else { refused(&place, status, ended)? }
        if kind == TransferKind::Get && is_good {
            local[..length as usize].fill(0x5A);
        }
        let found = rank.read_vec(&self.local)?;
        same_bytes(format_args!("{place}: local memory"), &local, &found)?;
        rank.write(&mut self.local, 0, &self.local_before)?;
        Ok(())
    }

    /// Nothing has changed here.
    fn check_untouched(&self, rank: &mut Rank) -> Result {
        rank.barrier()?;
        let found = rank.read_vec(&self.around)?;
        let place = format!("{}: a window and what is around it", rank.pid());
        same_bytes(place, &self.before, &found)?;
        rank.barrier()?;
        Ok(())
    }
}

/// Every rank has a guarded window of this size; all of them do `what`, and then nothing must have
/// changed anywhere.
fn guarded(
    context: &Context,
    size: u32,
    what: impl Fn(&mut Rank, &mut Guarded) -> Result + Sync,
) -> Result {
    guarded_with(context, context.ranks(), size, what)
}

fn guarded_with(
    context: &Context,
    ranks: u32,
    size: u32,
    what: impl Fn(&mut Rank, &mut Guarded) -> Result + Sync,
) -> Result {
    context.run_with(alcor::Options::default(), ranks, |rank| {
        let mut guarded = Guarded::new(context, rank, size, Rights::ALL)?;
        what(rank, &mut guarded)?;
        guarded.check_untouched(rank)
    })?;
    Ok(())
}
