//! The drills that put and get share: which transfers, in which order.

use alcor::TransferKind;
use alcor_test::{Context, Result};
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
