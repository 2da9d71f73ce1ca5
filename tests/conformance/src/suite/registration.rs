//! Registering and deregistering: together, or not at all.

use alcor::{Causes, Error, GlobalRank, NodeAddr, Rank, RankWait, RegisteredRange, Rights, Status};
use alcor_test::{At, Context, Result, after, alcor_test, before, fails, refused, same, same_bytes};


/// The table takes as many windows as it has slots, lowest first; the next is refused
/// everywhere, and all windows are as they were.
#[alcor_test(ranks >= 1)]
fn table_full(context: &Context) -> Result {
    context.run(|rank| {
        let me = rank.pid();
        let slots = rank.board().slots;
        let mut registered = Vec::new();
        for slot in 0..slots {
            let range = register_word(rank, slot)?;
            same(
                format_args!("{me}: slot of window {slot}"),
                slot,
                u32::from(range.slot),
            )?;
            registered.push(range);
        }
        for _ in 0..2 {
            let result = register_word(rank, slots);
            refused(
                format_args!("{me}: one window more than {slots} slots"),
                Status::TableFull,
                result,
            )?;
        }
        echo(context, rank, &registered)
    })?;
    Ok(())
}

/// In random order of registering and deregistering, a window gets the lowest vacant slot.
#[alcor_test(ranks >= 1)]
fn lowest_vacant_slot(context: &Context) -> Result {
    let rounds = context.scale(30, 300);
    context.run(|rank| {
        let mut windows = Windows::default();
        let mut rng = context.rng(&[1]);
        for _ in 0..rounds {
            windows.change(rank, &mut rng)?;
        }
        let live: Vec<RegisteredRange> = windows.live.into_values().collect();
        echo(context, rank, &live)
    })?;
    Ok(())
}

/// An address that one rank has registered already is refused everywhere.
#[alcor_test(ranks >= 1)]
fn duplicate(context: &Context) -> Result {
    for culprit in culprits(context) {
        context.run(|rank| {
            let first = register_word(rank, 0)?;
            let mut base = word(1);
            if rank.pid() == culprit {
                base = first.base;
            }
            let place = format!("{}: {culprit} registers an address again", rank.pid());
            refused(
                place,
                Status::Duplicate,
                rank.lab().register_range(base, Some(4), Rights::ALL),
            )?;
            let next = register_word(rank, 2)?;
            same(
                format_args!("{}: next slot", rank.pid()),
                first.slot + 1,
                next.slot,
            )?;
            echo(context, rank, &[first, next])
        })?;
    }
    Ok(())
}

/// A range beyond one rank's node memory is refused everywhere.
#[alcor_test(ranks >= 1)]
fn bad_range(context: &Context) -> Result {
    let end = context.info().node_bytes;
    let bad = [
        (end - 4, Some(5)),
        (end, Some(1)),
        (end - 4, Some(u32::MAX)),
        (0xffff_fffc, Some(4)),
        (0xffff_fffc, Some(u32::MAX)),
        (end + 4, None),
        (0, Some(end + 1)),
        (0x8000_0000, Some(0x8000_0000)),
    ];
    for culprit in culprits(context) {
        context.run(|rank| {
            let me = rank.pid();
            for (base, bytes) in bad {
                let place = format!("{me}: {culprit} registers {bytes:?} bytes at {base:#x}");
                let (base, bytes) = if me == culprit { (NodeAddr(base), bytes) } else { (word(1), Some(4)) };
                refused(
                    place,
                    Status::BadRange,
                    rank.lab().register_range(base, bytes, Rights::ALL),
                )?;
            }
            let good = rank
                .lab()
                .register_range(NodeAddr(end - 4), Some(4), Rights::ALL)
                .at(format_args!("{me}: last word"))?;
            same(format_args!("{me}: its slot"), 0, good.slot)?;
            echo(context, rank, &[good])
        })?;
    }
    Ok(())
}

/// Ranks that deregister different windows are told so, and both windows stay.
#[alcor_test(ranks >= 2)]
fn different_windows(context: &Context) -> Result {
    for culprit in culprits(context) {
        context.run(|rank| {
            let me = rank.pid();
            let windows = [register_word(rank, 0)?, register_word(rank, 1)?];
            let named = windows[usize::from(me == culprit)];
            let place = format!("{me}: {culprit} deregisters another window");
            refused(place, Status::Mismatch, rank.lab().deregister_range(named.base))?;
            echo(context, rank, &windows)?;
            let slot = rank.lab().deregister_range(windows[0].base)?;
            same(
                format_args!("{me}: slot of what was deregistered"),
                windows[0].slot,
                slot,
            )?;
            echo(context, rank, &windows[1..])
        })?;
    }
    Ok(())
}

/// A window that one rank does not have is deregistered nowhere.
#[alcor_test(ranks >= 1)]
fn not_registered(context: &Context) -> Result {
    for culprit in culprits(context) {
        context.run(|rank| {
            let window = register_word(rank, 0)?;
            let base = if rank.pid() == culprit {
                word(5)
            } else {
                window.base
            };
            let place = format!(
                "{}: {culprit} deregisters what is not registered",
                rank.pid()
            );
            refused(place, Status::NotRegistered, rank.lab().deregister_range(base))?;
            echo(context, rank, &[window])
        })?;
    }
    Ok(())
}

/// Ranks that meet in a registration, a deregistration and a barrier are told so; the tables
/// stay, and the ranks meet again.
#[alcor_test(ranks >= 2)]
fn different_collectives(context: &Context) -> Result {
    for culprit in culprits(context) {
        context.run(|rank| {
            let me = rank.pid();
            let window = register_word(rank, 0)?;
            for round in 0..6 {
                let collective = (round + usize::from(me == culprit) * (1 + round / 3)) % 3;
                let result = match collective {
                    0 => rank.barrier(),
                    1 => rank.lab().register_range(word(1), Some(4), Rights::ALL).map(drop),
                    _ => rank.lab().deregister_range(window.base).map(drop),
                };
                let place = format!("{me}: {culprit} is in another collective, round {round}");
                // The backend knows the calls of all other ranks, or of none.
                let is_mismatch = |error: &Error| {
                    let Error::CollectiveMismatch { others, .. } = error else { return false };
                    let called = |wait: &RankWait| {
                        let number = (round + usize::from(wait.rank == culprit) * (1 + round / 3)) % 3;
                        wait.what.starts_with(["BARRIER", "REGISTER", "DEREGISTER"][number])
                    };
                    let is_whole = others.len() as u32 + 1 == context.ranks();
                    (is_whole || others.is_empty()) && others.iter().all(called)
                };
                fails(place, "Error::CollectiveMismatch", is_mismatch, result)?;
                rank.barrier()
                    .at(format_args!("{me}: barrier after round {round}"))?;
            }
            echo(context, rank, &[window])
        })?;
    }
    Ok(())
}

/// Puts that were under way when their window was deregistered have landed; what follows is
/// refused.
#[alcor_test(ranks >= 2)]
fn deregister_in_use(context: &Context) -> Result {
    let bytes = (context.info().node_bytes / 8).min(8192);
    context.run(|rank| {
        let me = rank.pid();
        let region = rank.alloc_from(&vec![0u8; bytes as usize])?;
        let data = rank.alloc_from(&context.noise(&[u64::from(me.0)], bytes as usize))?;
        let window = rank.register(&region, Rights::ALL)?;
        let slot = window.slot();
        let peer = after(rank, 1);
        let mut requests = Vec::new();
        for part in 0..4 {
            let part = part * region.len() / 4..(part + 1) * region.len() / 4;
            requests.push(rank.iput(&window, peer, part.start, data.slice(part.clone())?)?);
        }
        rank.deregister(window)?;
        let expected = context.noise(&[u64::from(before(rank, 1).0)], bytes as usize);
        let found = rank.read_vec(&region)?;
        same_bytes(
            format_args!("{me}: memory once its window was deregistered"),
            &expected,
            &found,
        )?;
        rank.wait_all(requests).at(format_args!(
            "{me}: puts before the window was deregistered"
        ))?;
        rank.barrier()?;
        for kind in [alcor::TransferKind::Put, alcor::TransferKind::Get] {
            let window = alcor::WindowName::Slot(slot);
            let transfer = alcor::Transfer::new(kind, peer, window, data.addr(), 8);
            let request = rank.lab().transfer(transfer)?;
            refused(
                format_args!("{me}: {kind:?} after the window was deregistered"),
                Status::BadSlot,
                rank.wait(request),
            )?;
        }
        rank.barrier()?;
        same_bytes(
            format_args!("{me}: memory after refused puts"),
            &expected,
            &rank.read_vec(&region)?,
        )
    })?;
    Ok(())
}

/// A window can be used as soon as its registration has ended here: no rank is behind.
#[alcor_test(ranks >= 2)]
fn used_at_once(context: &Context) -> Result {
    let rounds = context.scale(20, 200);
    context.run(|rank| {
        let me = rank.pid();
        for round in 0..rounds {
            let region = rank.alloc_from(&vec![0u8; 4 * rank.nprocs() as usize])?;
            let data = rank.alloc_from(&[round as u8 + 1; 4])?;
            // One of the ranks comes late.
            idle(rank, u64::from((me.0 + round) % rank.nprocs()) * 40)?;
            let window = rank.register(&region, Rights::ALL)?;
            for steps in 0..rank.nprocs() {
                let target = after(rank, steps);
                rank.put(&window, target, 4 * me.0 as usize, &data)
                    .at(format_args!("{me}: put to {target} at once, round {round}"))?;
            }
            rank.barrier()?;
            let found = rank.read_vec(&region)?;
            same_bytes(
                format_args!("{me}: round {round}"),
                &vec![round as u8 + 1; found.len()],
                &found,
            )?;
            rank.deregister(window)?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Registered and deregistered over and over, a slot is none the worse for it.
#[alcor_test(ranks >= 1)]
fn again_and_again(context: &Context) -> Result {
    let rounds = context.scale(200, 2000);
    context.run(|rank| {
        let me = rank.pid();
        for round in 0..rounds {
            let range = rank.lab().register_range(word(round % 7), Some(4), Rights::ALL)?;
            same(format_args!("{me}: slot in round {round}"), 0, range.slot)?;
            let slot = rank.lab().deregister_range(range.base)?;
            same(
                format_args!("{me}: slot given back in round {round}"),
                0,
                slot,
            )?;
        }
        let range = register_word(rank, 0)?;
        echo(context, rank, &[range])
    })?;
    Ok(())
}

/// An address that is not a multiple of 4 is refused before anything is sent.
#[alcor_test(ranks >= 1)]
fn unaligned(context: &Context) -> Result {
    context.run(|rank| {
        for base in [1, 2, 3, 4097] {
            let is_expected = |error: &Error| matches!(error, Error::BadOption { .. });
            let result = rank.lab().register_range(NodeAddr(base), Some(4), Rights::ALL);
            fails(
                format_args!("{}: register at {base}", rank.pid()),
                "Error::BadOption",
                is_expected,
                result,
            )?;
            let result = rank.lab().deregister_range(NodeAddr(base));
            fails(
                format_args!("{}: deregister at {base}", rank.pid()),
                "Error::BadOption",
                is_expected,
                result,
            )?;
        }
        rank.barrier()?;
        Ok(())
    })?;
    Ok(())
}

/// Where windows of one word lie: past the ring, a word apart so that edges matter.
fn word(index: u32) -> NodeAddr {
    NodeAddr(8192 + 8 * index)
}

fn register_word(rank: &mut Rank, index: u32) -> alcor::Result<RegisteredRange> {
    rank.lab().register_range(word(index), Some(4), Rights::ALL)
}

/// The first rank, and the last.
fn culprits(context: &Context) -> impl Iterator<Item = GlobalRank> {
    let last = (context.ranks() > 1).then(|| GlobalRank(context.ranks() - 1));
    std::iter::once(GlobalRank(0)).chain(last)
}

/// Lets so many cycles pass.
pub(super) fn idle(rank: &mut Rank, cycles: u64) -> Result {
    let until = alcor::Cycle(rank.now()?.0 + cycles);
    while rank.now()? < until {
        rank.lab().port().wait(Causes::NONE, until)?;
    }
    Ok(())
}

/// Every window works: each rank puts a word into the next rank's part, and gets it back.
fn echo(context: &Context, rank: &mut Rank, windows: &[RegisteredRange]) -> Result {
    let me = rank.pid();
    let peer = after(rank, 1);
    let mut local = rank.alloc::<u8>(8)?;
    rank.barrier()?;
    for (number, window) in (0..).zip(windows) {
        let value = context.noise(&[77, u64::from(me.0), number], 4);
        rank.write(&mut local, 0, &value)?;
        for kind in [alcor::TransferKind::Put, alcor::TransferKind::Get] {
            let name = alcor::WindowName::Slot(window.slot);
            let place = NodeAddr(local.addr().0 + 4 * (kind as u32));
            let transfer = alcor::Transfer::new(kind, peer, name, place, 4);
            let request = rank.lab().transfer(transfer)?;
            rank.wait(request).at(format_args!("{me}: {transfer}"))?;
        }
        let found = rank.read_vec(&local)?;
        let place = format_args!("{me}: what came back from slot {} of {peer}", window.slot);
        same_bytes(place, &value, &found[4..])?;
    }
    rank.barrier()?;
    for (number, window) in (0..).zip(windows) {
        let from = before(rank, 1);
        let mut found = [0; 4];
        rank.lab().port().read_memory(window.base, &mut found)?;
        let expected = context.noise(&[77, u64::from(from.0), number], 4);
        let place = format_args!("{me}: what {from} put into slot {}", window.slot);
        same_bytes(place, &expected, &found)?;
    }
    rank.barrier()?;
    Ok(())
}

/// The windows there are, by slot.
#[derive(Default)]
struct Windows {
    live: std::collections::BTreeMap<u8, RegisteredRange>,
    made: u32,
}

impl Windows {
    /// Registers or deregisters, and checks the slot.
    fn change(&mut self, rank: &mut Rank, rng: &mut impl rand::Rng) -> Result {
        let me = rank.pid();
        let slots = rank.board().slots;
        let is_full = self.live.len() as u32 == slots;
        if is_full || (!self.live.is_empty() && rng.random_bool(0.45)) {
            let index = rng.random_range(0..self.live.len());
            let Some((&slot, range)) = self.live.iter().nth(index) else {
                return Ok(());
            };
            let found = rank.lab().deregister_range(range.base)?;
            self.live.remove(&slot);
            return same(format_args!("{me}: slot given back"), slot, found);
        }
        let vacant = (0..=u8::MAX).find(|slot| !self.live.contains_key(slot));
        let range = register_word(rank, self.made % 4096)?;
        self.made += 1;
        self.live.insert(range.slot, range);
        same(
            format_args!("{me}: lowest vacant slot"),
            vacant,
            Some(range.slot),
        )
    }
}
