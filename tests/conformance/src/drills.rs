//! The drills that put and get share: which transfers, in which order.

use alcor::{GlobalRank, Rights, Status, TransferKind};
use alcor_test::{Context, Result, after, before, refused, same_bytes};
use rand::Rng;

use crate::sheet::{Pace, Shape, area, drill, shapes};

/// Lengths from 0 on, all 16 alignments, all under way at once.
pub(crate) fn every_length_and_alignment(context: &Context, kind: TransferKind) -> Result {
    drill(
        context,
        kind,
        1,
        Pace::AllAtOnce,
        shapes(0..=context.scale(70, 300)),
    )
}

/// Lengths around the first multiples of a packet's payload, all 16 alignments.
pub(crate) fn packet_edges(context: &Context, kind: TransferKind) -> Result {
    let around = context.scale(6, 20);
    let packet = context.info().packet_bytes;
    let edges = (1..=context.scale(3, 5)).map(|packets| packets * packet);
    let lengths = edges.flat_map(|edge| edge - around.min(edge)..=edge + around);
    drill(context, kind, 1, Pace::AllAtOnce, shapes(lengths))
}

/// One transfer after the other, each waited for.
pub(crate) fn one_by_one(context: &Context, kind: TransferKind) -> Result {
    drill(
        context,
        kind,
        1,
        Pace::OneByOne,
        shapes(0..=context.scale(20, 70)),
    )
}

/// Every rank with every rank in turn, itself included, in lengths of random size.
pub(crate) fn each_rank(context: &Context, kind: TransferKind) -> Result {
    let packet = context.info().packet_bytes;
    for steps in 0..context.ranks() {
        let mut rng = context.rng(&[9, u64::from(steps)]);
        let shapes = (0..context.scale(60, 600)).map(|_| Shape {
            length: rng.random_range(0..=3 * packet),
            source: rng.random_range(0..4),
            target: rng.random_range(0..4),
        });
        drill(context, kind, steps, Pace::AllAtOnce, shapes)?;
    }
    Ok(())
}

/// A rank with itself, at all lengths and alignments.
pub(crate) fn own_rank(context: &Context, kind: TransferKind) -> Result {
    drill(
        context,
        kind,
        0,
        Pace::AllAtOnce,
        shapes(0..=context.scale(40, 150)),
    )
}

/// A block of many packets is one command.
pub(crate) fn large_block(context: &Context, kind: TransferKind) -> Result {
    let length = area(context) - 64;
    let shapes = [(0, 0), (1, 0), (0, 3), (2, 1)];
    let shapes = shapes.map(|(source, target)| Shape {
        length,
        source,
        target,
    });
    drill(context, kind, 1, Pace::AllAtOnce, shapes)?;
    drill(context, kind, 0, Pace::AllAtOnce, shapes)
}

/// Host memory of more than two of the library's pieces, at an odd place of a window. Then the same at
/// a place that the window does not have.
pub(crate) fn long_slice(context: &Context, kind: TransferKind) -> Result {
    const LENGTH: usize = (256 << 10) + 4099;
    const PLACE: usize = 5;
    const WINDOW: usize = LENGTH + PLACE + 7;
    // The window, two pieces, and what the library keeps for itself.
    if context.info().node_bytes < 1 << 20 {
        return Ok(());
    }
    context.run(|rank| {
        let me = rank.pid();
        let of_window = |of: GlobalRank| context.noise(&[0, u64::from(of.0)], WINDOW);
        let of_host = |of: GlobalRank| context.noise(&[1, u64::from(of.0)], LENGTH);
        let memory = rank.alloc_from(&of_window(me))?;
        let window = rank.register(&memory, Rights::ALL)?;
        let (to, from) = (after(rank, 1), before(rank, 1));
        let (mut found, mut expected) = (of_host(me), of_window(me));
        let beyond = (WINDOW - LENGTH + 1) as u64;
        let late = match kind {
            TransferKind::Put => {
                rank.put_bytes(&window, to, PLACE as u64, &found)?;
                expected[PLACE..PLACE + LENGTH].copy_from_slice(&of_host(from));
                rank.put_bytes(&window, to, beyond, &found)
            }
            TransferKind::Get => {
                rank.get_bytes(&window, to, PLACE as u64, &mut found)?;
                let there = &of_window(to)[PLACE..PLACE + LENGTH];
                same_bytes(format_args!("{me}: what it got"), there, &found)?;
                let late = rank.get_bytes(&window, to, beyond, &mut found);
                same_bytes(format_args!("{me}: after the refusal"), there, &found)?;
                late
            }
        };
        refused("a transfer beyond the window", Status::OutOfBounds, late)?;
        rank.fence()?;
        same_bytes(
            format_args!("{me}: window"),
            &expected,
            &rank.read_vec(&memory)?,
        )
    })?;
    Ok(())
}
