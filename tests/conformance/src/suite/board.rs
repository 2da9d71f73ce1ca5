//! The board itself: what it says of itself, and what a reset does.

use alcor_abi::board::{self, shape};
use alcor_abi::rank::{self as page, identity};
use alcor::{GlobalRank, Options, PageOffset, Rights, Status, Transfer, TransferKind, WindowName};
use alcor_test::{Context, Result, after, alcor_test, holds, refused, same};


/// The ID block gives a board that can be used.
#[alcor_test(ranks >= 1)]
fn identity(context: &Context) -> Result {
    let info = context.info();
    let sane = |what: &str, value: u32, expected: &str, is: bool| {
        holds(format_args!("BoardInfo.{what}"), expected, is, value)
    };
    sane(
        "ranks",
        info.ranks,
        "1 to 16",
        (1..=16).contains(&info.ranks),
    )?;
    sane(
        "slots",
        info.slots,
        "1 to 256",
        (1..=256).contains(&info.slots),
    )?;
    let node = info.node_bytes;
    sane(
        "node_bytes",
        node,
        "a power of two, 4096 at least",
        node.is_power_of_two() && node >= 4096,
    )?;
    let packet = info.packet_bytes;
    sane(
        "packet_bytes",
        packet,
        "a multiple of 4",
        packet >= 4 && packet.is_multiple_of(4),
    )?;
    sane(
        "command_credits",
        info.command_credits,
        "5 at least",
        info.command_credits >= 5,
    )?;
    sane(
        "clock_khz",
        info.clock_khz,
        "more than 0",
        info.clock_khz > 0,
    )
}

/// SHAPE agrees with the registers that say the same one by one.
#[alcor_test(ranks >= 1)]
fn shape(context: &Context) -> Result {
    use shape::{BEAT, CHANNEL, FRAGMENT, MESSAGES, PAYLOAD, PHIT, RANKS, STAGES, WINDOW};
    let info = context.info();
    let log2 = |value: u32| value.next_power_of_two().ilog2();
    let (phit, stages) = if info.has_switch() { (log2(info.phit_bytes), info.stages) } else { (0, 0) };
    let (messages, fragment) = if info.has_messages() { (log2(info.message_depth) + 1, log2(info.fragment_bytes)) } else { (0, 0) };
    let expected = RANKS.put(log2(info.ranks))
        | BEAT.put(log2(info.beat_bytes))
        | PAYLOAD.put(log2(info.packet_bytes / 4))
        | PHIT.put(phit)
        | MESSAGES.put(messages)
        | FRAGMENT.put(fragment)
        | STAGES.put(stages);
    for each in context.cluster().boards() {
        // No other register tells the phits of windows and channels.
        let others = !(WINDOW.mask() | CHANNEL.mask());
        let found = each.read32(PageOffset(board::SHAPE))? & others;
        same(format_args!("{}: SHAPE", each.name()), expected, found)?;
    }
    Ok(())
}

/// Every rank is who it was told to be, and the board's page says the same.
#[alcor_test(ranks >= 1)]
fn ranks(context: &Context) -> Result {
    context.run(|rank| {
        rank.barrier()?;
        let me = rank.pid();
        let bits = rank.lab().port().read32(PageOffset(page::IDENTITY))?;
        let found = (
            identity::PID.get(bits),
            identity::NPROCS.get(bits),
            identity::BEGUN.get(bits),
        );
        same(
            format_args!("{me}: IDENTITY"),
            (me.0, rank.nprocs(), 1),
            found,
        )?;
        let states = rank.lab().rank_states()?;
        same(
            format_args!("{me}: ranks of RANK_STATE"),
            rank.nprocs() as usize,
            states.len(),
        )?;
        for (pid, state) in (0..).map(GlobalRank).zip(states) {
            let found = (state.pid(), state.begun());
            same(
                format_args!("{me}: RANK_STATE of {pid}"),
                (pid, true),
                found,
            )?;
        }
        rank.barrier()?;
        Ok(())
    })?;
    Ok(())
}

/// The cycle counter goes on, and never back.
#[alcor_test(ranks >= 1)]
fn clock(context: &Context) -> Result {
    context.run(|rank| {
        let mut last = rank.now()?;
        for round in 0..20 {
            rank.barrier()?;
            let now = rank.now()?;
            let place = format_args!("{}: time at barrier {round}", rank.pid());
            holds(
                place,
                format_args!("more than {}", last.0),
                now > last,
                now.0,
            )?;
            last = now;
        }
        let low = rank.lab().port().read_board32(PageOffset(board::CYCLE_LO))?;
        let place = format_args!("{}: CYCLE_LO", rank.pid());
        holds(
            place,
            format_args!("{} at least", last.0),
            u64::from(low) >= last.0,
            low,
        )
    })?;
    Ok(())
}

/// A reset forgets windows, counters and events.
#[alcor_test(ranks >= 1)]
fn reset(context: &Context) -> Result {
    let before = context.run(|rank| {
        let kept = rank.alloc_from(&[0xA5u8; 64])?;
        let window = rank.register(&kept, Rights::ALL)?;
        let last = GlobalRank(rank.nprocs() - 1);
        rank.lab().paper().put_1(kept.addr(), last, 200, 1)?;
        rank.barrier()?;
        rank.lab().events()?;
        Ok((kept.addr(), window.slot()))
    })?;
    context.run(|rank| {
        let me = rank.pid();
        let (kept, slot) = before[me.0 as usize];
        rank.barrier()?;
        let events = rank.lab().events()?;
        holds(
            format_args!("{me}: events after a reset"),
            "none",
            events.is_empty(),
            format_args!("{events:?}"),
        )?;
        let barriers = rank.lab().counters()?.barriers;
        same(
            format_args!("{me}: BARRIERS after a reset and a barrier"),
            1,
            barriers,
        )?;
        // What node memory holds after a reset is not said.
        rank.lab().port().write_memory(kept, &[0xA5; 64])?;
        let name = WindowName::Slot(slot);
        let transfer = Transfer::new(TransferKind::Get, after(rank, 1), name, kept, 4);
        let request = rank.lab().transfer(transfer)?;
        refused(
            format_args!("{me}: get from a window of the last run"),
            Status::BadSlot,
            rank.wait(request),
        )?;
        let mut bytes = [0; 64];
        rank.lab().port().read_memory(kept, &mut bytes)?;
        same(
            format_args!("{me}: node memory after a get that was refused"),
            [0xA5; 64],
            bytes,
        )?;
        rank.barrier()?;
        Ok(())
    })?;
    Ok(())
}

/// Runs of all numbers of ranks follow each other on one board.
#[alcor_test(ranks >= 1)]
fn runs(context: &Context) -> Result {
    for ranks in (1..=context.ranks()).chain([1, context.ranks()]) {
        let pids = context.run_with(Options::default(), ranks, |rank| {
            rank.barrier()?;
            let inbox = rank.alloc_from(&[u32::MAX; 4])?;
            let window = rank.register(&inbox, Rights::ALL)?;
            let me = rank.pid().0;
            rank.put(&window, after(rank, 1), 1, &[me])?;
            rank.barrier()?;
            Ok(rank.read_vec(&inbox)?)
        })?;
        for (me, inbox) in (0..ranks).zip(pids) {
            let expected = vec![u32::MAX, (me + ranks - 1) % ranks, u32::MAX, u32::MAX];
            same(
                format_args!("{} of {ranks} ranks", GlobalRank(me)),
                expected,
                inbox,
            )?;
        }
    }
    Ok(())
}
