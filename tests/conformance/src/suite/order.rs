//! Order: what is complete is seen by what follows.

use alcor::{Cycle, GlobalRank, Rights};
use alcor_test::{Context, Result, after, alcor_test, before, holds, same, same_bytes};
use rand::Rng;


/// Cycles that a rank looks at its memory for, before it gives up.
const PATIENCE: u64 = 20_000_000;

/// A put that is complete is seen before the flag that is put after it.
#[alcor_test(ranks >= 2)]
fn flag_after_data(context: &Context) -> Result {
    let rounds = context.scale(15, 150);
    let bytes = 700;
    context.run(|rank| {
        let me = rank.pid();
        let inbox = rank.alloc_from(&vec![0u8; bytes])?;
        let flag = rank.alloc_from(&[0u32; 1])?;
        let (inbox, flag) = (
            rank.register(&inbox, Rights::ALL)?,
            rank.register(&flag, Rights::ALL)?,
        );
        rank.barrier()?;
        for round in 1..=rounds {
            if me == GlobalRank(0) {
                let target = GlobalRank(1);
                rank.put(
                    &inbox,
                    target,
                    0,
                    &context.noise(&[u64::from(round)], bytes),
                )?;
                rank.put(&flag, target, 0, &[round])?;
            } else if me == GlobalRank(1) {
                let until = Cycle(rank.now()?.0 + PATIENCE);
                while rank.read_vec(flag.region())? != [round] {
                    let now = rank.now()?;
                    holds(
                        format_args!("{me}: flag in round {round}"),
                        "to come",
                        now < until,
                        "nothing",
                    )?;
                }
                let found = rank.read_vec(inbox.region())?;
                let expected = context.noise(&[u64::from(round)], bytes);
                same_bytes(
                    format_args!("{me}: data once the flag was there, round {round}"),
                    &expected,
                    &found,
                )?;
            }
            rank.barrier()?;
        }
        Ok(())
    })?;
    Ok(())
}

/// A get sees what the same rank has put and completed before.
#[alcor_test(ranks >= 1)]
fn get_after_put(context: &Context) -> Result {
    let rounds = context.scale(30, 300);
    let bytes = 900;
    context.run(|rank| {
        let me = rank.pid();
        let inbox = rank.alloc_from(&vec![0u8; bytes])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let local = rank.alloc::<u8>(bytes)?;
        let mut rng = context.rng(&[u64::from(me.0)]);
        for round in 0..rounds {
            let peer = after(rank, 1);
            let length = rng.random_range(1..bytes);
            let at = rng.random_range(0..=bytes - length);
            let data = context.noise(&[u64::from(me.0), round], length);
            rank.put(&window, peer, at, &data)?;
            let mut part = local.slice(..length)?;
            rank.get(&window, peer, at, &mut part)?;
            let place =
                format_args!("{me}: {length} bytes at {at}, put to {peer} and got back");
            same_bytes(place, &data, &rank.read_vec(&part)?)?;
        }
        rank.barrier()?;
        Ok(())
    })?;
    Ok(())
}

/// Of puts to the same bytes, each complete before the next, the last counts.
#[alcor_test(ranks >= 1)]
fn last_put_counts(context: &Context) -> Result {
    let rounds = context.scale(40, 400);
    context.run(|rank| {
        let me = rank.pid();
        let inbox = rank.alloc_from(&[0u8; 300])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let mut expected = vec![0; 300];
        // What the rank before this one does, computed here.
        let mut theirs = context.rng(&[u64::from(before(rank, 1).0)]);
        let mut mine = context.rng(&[u64::from(me.0)]);
        for _ in 0..rounds {
            let next = |rng: &mut rand_chacha::ChaCha8Rng| {
                let start = rng.random_range(0..300);
                (start..rng.random_range(start..=300), rng.random())
            };
            let (range, byte): (std::ops::Range<usize>, u8) = next(&mut mine);
            rank.put(
                &window,
                after(rank, 1),
                range.start,
                &vec![byte; range.len()],
            )?;
            let (range, byte) = next(&mut theirs);
            expected[range].fill(byte);
        }
        rank.barrier()?;
        same_bytes(
            format_args!("{me}: window"),
            &expected,
            &rank.read_vec(&inbox)?,
        )
    })?;
    Ok(())
}

/// A get that is complete has what was there then: later puts do not change it.
#[alcor_test(ranks >= 1)]
fn get_is_a_copy(context: &Context) -> Result {
    context.run(|rank| {
        let me = rank.pid();
        let outbox = rank.alloc_from(&context.noise(&[1, u64::from(me.0)], 500))?;
        let window = rank.register(&outbox, Rights::ALL)?;
        rank.barrier()?;
        let peer = after(rank, 1);
        let mut local = rank.alloc::<u8>(500)?;
        rank.get(&window, peer, 0, &mut local)?;
        rank.put(&window, peer, 0, &[0; 500])?;
        rank.barrier()?;
        let expected = context.noise(&[1, u64::from(peer.0)], 500);
        same_bytes(
            format_args!("{me}: what it got"),
            &expected,
            &rank.read_vec(&local)?,
        )?;
        same_bytes(
            format_args!("{me}: what was put later"),
            &[0; 500],
            &rank.read_vec(&outbox)?,
        )
    })?;
    Ok(())
}

/// A token goes around: each rank adds to what the one before has put, a fence between.
#[alcor_test(ranks >= 2)]
fn token(context: &Context) -> Result {
    let rounds = context.scale(10, 100) * context.ranks();
    context.run(|rank| {
        let cell = rank.alloc_from(&[0u64; 1])?;
        let window = rank.register(&cell, Rights::ALL)?;
        rank.fence()?;
        for round in 0..rounds {
            if rank.pid().0 == round % rank.nprocs() {
                let value = rank.read_vec(&cell)?[0];
                rank.put(&window, after(rank, 1), 0, &[value + 1])?;
            }
            rank.fence()?;
        }
        if rank.pid() == GlobalRank(0) {
            let found = rank.read_vec(&cell)?;
            same("rank 0: token", vec![u64::from(rounds)], found)?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Halos: in each epoch all ranks put to their neighbours what they computed from what these
/// put in the epoch before.
#[alcor_test(ranks >= 1)]
fn epochs(context: &Context) -> Result {
    let rounds = context.scale(25, 250);
    let sums = context.run(|rank| {
        let halo = rank.alloc_from(&[0u64; 4])?;
        let window = rank.register(&halo, Rights::WRITE)?;
        let mut value = u64::from(rank.pid().0) + 1;
        rank.fence()?;
        for round in 0..rounds {
            // Two halves, so that no rank writes what another still reads.
            let half = round % 2 * 2;
            rank.put(&window, after(rank, 1), half, &[value])?;
            rank.put(&window, before(rank, 1), half + 1, &[value])?;
            rank.fence()?;
            let halo = rank.read_vec(&halo)?;
            value = value
                .wrapping_mul(3)
                .wrapping_add(halo[half] ^ halo[half + 1].rotate_left(7));
        }
        Ok(value)
    })?;
    let count = sums.len();
    let mut values: Vec<u64> = (1..=count as u64).collect();
    for _ in 0..rounds {
        values = (0..count)
            .map(|me| {
                let (left, right) =
                    (values[(me + count - 1) % count], values[(me + 1) % count]);
                values[me]
                    .wrapping_mul(3)
                    .wrapping_add(left ^ right.rotate_left(7))
            })
            .collect();
    }
    same("values of all ranks", values, sums)
}
