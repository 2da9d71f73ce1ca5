//! Put: every length, every alignment, and nothing else changes.

use alcor::TransferKind::Put;
use alcor::{GlobalRank, NodeAddr, Rights, Transfer, WindowName};
use alcor_test::{Context, Result, after, alcor_test, before, same, same_bytes};

use crate::drills;

/// Lengths 0 to 70, all 16 alignments, all under way at once.
#[alcor_test(ranks >= 1)]
fn every_length_and_alignment(context: &Context) -> Result {
    drills::every_length_and_alignment(context, Put)
}

/// Lengths around the first multiples of a packet's payload, all 16 alignments.
#[alcor_test(ranks >= 1)]
fn packet_edges(context: &Context) -> Result {
    drills::packet_edges(context, Put)
}

/// One put after the other, each waited for.
#[alcor_test(ranks >= 1)]
fn one_by_one(context: &Context) -> Result {
    drills::one_by_one(context, Put)
}

/// Every rank to every rank in turn, itself included, in lengths of random size.
#[alcor_test(ranks >= 1)]
fn to_each_rank(context: &Context) -> Result {
    drills::each_rank(context, Put)
}

/// A rank puts to itself, at all lengths and alignments.
#[alcor_test(ranks >= 1)]
fn to_self(context: &Context) -> Result {
    drills::own_rank(context, Put)
}

/// A block of many packets is one command.
#[alcor_test(ranks >= 1)]
fn large_block(context: &Context) -> Result {
    drills::large_block(context, Put)
}

/// Host memory that the library moves in pieces arrives as a whole, or is refused as a whole.
#[alcor_test(ranks >= 1)]
fn long_slice(context: &Context) -> Result {
    drills::long_slice(context, Put)
}

/// Parts of host memory that the card reaches, at all alignments of a card's DMA, in both directions.
#[alcor_test(ranks >= 1)]
fn host_memory(context: &Context) -> Result {
    const BYTES: usize = 6000;
    context.run(|rank| {
        let me = rank.pid();
        let of = |of: GlobalRank| context.noise(&[7, u64::from(of.0)], BYTES);
        let memory = rank.alloc::<u8>(BYTES)?;
        let window = rank.register(&memory, Rights::ALL)?;
        let mut data = rank.alloc_host::<u8>(BYTES)?;
        same_bytes("new host memory", &[0; BYTES], &data)?;
        data.copy_from_slice(&of(me));
        let (to, from) = (after(rank, 1), before(rank, 1));
        let parts = [(0, 2049), (2049, 2051), (4100, 1), (4101, 1899)];
        for (first, length) in parts {
            let part = &data[first..first + length];
            rank.put_bytes(&window, to, first as u64, part)?;
        }
        rank.fence()?;
        let mut found = rank.alloc_host::<u8>(BYTES + 3)?;
        for skip in 0..4 {
            let place = skip..BYTES;
            rank.read(&memory, skip, &mut found[place.clone()])?;
            let expected = &of(from)[place.clone()];
            same_bytes(format_args!("{me}: window"), expected, &found[place])?;
        }
        for skip in 0..4 {
            found.fill(0);
            rank.get_bytes(&window, to, 0, &mut found[skip..skip + BYTES])?;
            let found = &found[skip..skip + BYTES];
            same_bytes(format_args!("{me}: what it got"), &of(me), found)?;
        }
        Ok(rank.barrier()?)
    })?;
    Ok(())
}

/// Of all node memory, a put changes the bytes that it is to change.
#[alcor_test(ranks >= 2)]
fn nothing_else_changes(context: &Context) -> Result {
    let bytes = context.info().node_bytes;
    context.run(|rank| {
        let me = rank.pid();
        let window = rank.alloc::<u8>(1000)?;
        let local = rank.alloc_from(&context.noise(&[3, u64::from(me.0)], 600))?;
        let window = rank.register(&window, Rights::ALL)?;
        // Behind all regions: nobody has any business there.
        let free = local.addr().0 + 1024;
        let fill = context.noise(&[4, u64::from(me.0)], (bytes - free) as usize);
        rank.lab().port().write_memory(NodeAddr(free), &fill)?;
        let before_puts = rank.read_vec(window.region())?;
        rank.barrier()?;
        for (offset, length) in [(0, 1), (3, 2), (17, 600), (999, 1), (700, 299)] {
            let part = local.slice(..length)?;
            rank.put_bytes(&window, after(rank, 1), offset, &part)?;
        }
        rank.barrier()?;
        let given = context.noise(&[3, u64::from(before(rank, 1).0)], 600);
        let mut expected = before_puts;
        for (offset, length) in [(0, 1), (3, 2), (17, 600), (999, 1), (700, 299)] {
            expected[offset..offset + length].copy_from_slice(&given[..length]);
        }
        same_bytes(
            format_args!("{me}: window"),
            &expected,
            &rank.read_vec(window.region())?,
        )?;
        let mut found = vec![0; fill.len()];
        rank.lab().port().read_memory(NodeAddr(free), &mut found)?;
        same_bytes(
            format_args!("{me}: memory from {}", NodeAddr(free)),
            &fill,
            &found,
        )
    })?;
    Ok(())
}

/// Elements of all sizes, by their number.
#[alcor_test(ranks >= 1)]
fn typed(context: &Context) -> Result {
    context.run(|rank| {
        let doubles = rank.alloc_from(&[0.0f64; 8])?;
        let shorts = rank.alloc_from(&[0i16; 8])?;
        let bytes = rank.alloc_from(&[0u8; 8])?;
        let (doubles, shorts, bytes) = (
            rank.register(&doubles, Rights::ALL)?,
            rank.register(&shorts, Rights::ALL)?,
            rank.register(&bytes, Rights::ALL)?,
        );
        let (to, from) = (after(rank, 1), before(rank, 1).0);
        let me = rank.pid().0;
        rank.put(&doubles, to, 5, &[f64::from(me), -0.5])?;
        rank.put(&shorts, to, 3, &[-1 - me as i16, i16::MIN])?;
        rank.put(&bytes, to, 7, &[me as u8 + 1])?;
        rank.fence()?;
        let place = |what: &str| format!("{} elements at {}", what, GlobalRank(me));
        let expected = vec![0.0, 0.0, 0.0, 0.0, 0.0, f64::from(from), -0.5, 0.0];
        same(place("f64"), expected, rank.read_vec(doubles.region())?)?;
        let expected = vec![0, 0, 0, -1 - from as i16, i16::MIN, 0, 0, 0];
        same(place("i16"), expected, rank.read_vec(shorts.region())?)?;
        let expected = vec![0, 0, 0, 0, 0, 0, 0, from as u8 + 1];
        same(place("u8"), expected, rank.read_vec(bytes.region())?)
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
        let region = rank.alloc_from(&[0u8; 40])?;
        let window = rank.register(&region, Rights::ALL)?;
        let local = rank.alloc_from(&[me.0 as u8 + 1; 9])?;
        let name = WindowName::Base(window.base());
        let transfer = Transfer::new(Put, after(rank, 1), name, local.addr(), 9);
        let request = rank.lab().transfer(transfer.at_offset(13))?;
        rank.wait(request)?;
        rank.barrier()?;
        let mut expected = [0; 40];
        expected[13..22].fill(before(rank, 1).0 as u8 + 1);
        same_bytes(
            format_args!("{me}: window"),
            &expected,
            &rank.read_vec(&region)?,
        )
    })?;
    Ok(())
}
