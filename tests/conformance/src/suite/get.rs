//! Get: every length, every alignment, and nothing else changes.

use alcor::TransferKind::Get;
use alcor::{GlobalRank, Rights, Transfer, WindowName};
use alcor_test::{Context, Result, after, alcor_test, same, same_bytes};

use crate::drills;

/// Lengths 0 to 70, all 16 alignments, all under way at once.
#[alcor_test(ranks >= 1)]
fn every_length_and_alignment(context: &Context) -> Result {
    drills::every_length_and_alignment(context, Get)
}

/// Lengths around the first multiples of a packet's payload, all 16 alignments.
#[alcor_test(ranks >= 1)]
fn packet_edges(context: &Context) -> Result {
    drills::packet_edges(context, Get)
}

/// One get after the other, each waited for.
#[alcor_test(ranks >= 1)]
fn one_by_one(context: &Context) -> Result {
    drills::one_by_one(context, Get)
}

/// Every rank from every rank in turn, itself included, in lengths of random size.
#[alcor_test(ranks >= 1)]
fn from_each_rank(context: &Context) -> Result {
    drills::each_rank(context, Get)
}

/// A rank gets from itself, at all lengths and alignments.
#[alcor_test(ranks >= 1)]
fn from_self(context: &Context) -> Result {
    drills::own_rank(context, Get)
}

/// A block of many packets is one command.
#[alcor_test(ranks >= 1)]
fn large_block(context: &Context) -> Result {
    drills::large_block(context, Get)
}

/// Host memory that the library moves in pieces arrives as a whole, or is refused as a whole.
#[alcor_test(ranks >= 1)]
fn long_slice(context: &Context) -> Result {
    drills::long_slice(context, Get)
}

/// Elements of all sizes, by their number.
#[alcor_test(ranks >= 1)]
fn typed(context: &Context) -> Result {
    context.run(|rank| {
        let me = rank.pid().0;
        let doubles = rank.alloc_from(&[0.0, f64::from(me), f64::INFINITY, -0.0])?;
        let longs = rank.alloc_from(&[u64::from(me) << 40, u64::MAX, 0, 7])?;
        let (doubles, longs) = (
            rank.register(&doubles, Rights::READ)?,
            rank.register(&longs, Rights::READ)?,
        );
        rank.barrier()?;
        let from = after(rank, 1);
        let place = format_args!("f64 elements at {}", GlobalRank(me));
        let mut found = [0.0; 2];
        rank.get(&doubles, from, 1, &mut found)?;
        same(place, [f64::from(from.0), f64::INFINITY], found)?;
        let place = format_args!("u64 elements at {}", GlobalRank(me));
        let mut found = [0];
        rank.get(&longs, from, 0, &mut found)?;
        same(place, [u64::from(from.0) << 40], found)?;
        rank.barrier()?;
        Ok(())
    })?;
    Ok(())
}

/// A command that names its window by address reaches the same memory, wherever the window
/// lies at the target.
#[alcor_test(ranks >= 1)]
fn by_address(context: &Context) -> Result {
    context.run(|rank| {
        let me = rank.pid();
        let _shift = rank.alloc::<u8>(64 * (me.0 as usize + 1))?;
        let region = rank.alloc_from(&context.noise(&[1, u64::from(me.0)], 40))?;
        let window = rank.register(&region, Rights::ALL)?;
        let local = rank.alloc_from(&[0u8; 16])?;
        let from = after(rank, 1);
        let name = WindowName::Base(window.base());
        let transfer = Transfer::new(Get, from, name, local.bytes().slice(3..)?.addr(), 9);
        let request = rank.lab().transfer(transfer.at_offset(13))?;
        rank.wait(request)?;
        let mut expected = [0; 16];
        expected[3..12].copy_from_slice(&context.noise(&[1, u64::from(from.0)], 40)[13..22]);
        same_bytes(
            format_args!("{me}: local memory"),
            &expected,
            &rank.read_vec(&local)?,
        )?;
        rank.barrier()?;
        Ok(())
    })?;
    Ok(())
}
