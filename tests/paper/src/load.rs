//! Programs that load a simulated board, for measurements of simulation speed.

use alcor::{GlobalRank, Operation, Rank, Rights};

/// Words that each rank sends to each other rank in a round of [`exchange`].
pub const EXCHANGE_WORDS: usize = 1024;

/// The total exchange of the coprocessor paper at H = 1024, repeated `rounds` times, with extended
/// packets. Checks the data of the last round.
///
/// # Errors
/// The error that ends the run.
pub fn exchange(rank: &mut Rank, rounds: u32) -> alcor::Result<()> {
    let (me, ranks) = (rank.pid().0, rank.nprocs());
    let word = |from: u32, at: usize| from << 24 | at as u32;
    let all = EXCHANGE_WORDS * ranks as usize;
    let source = rank.alloc_from(&(0..all).map(|at| word(me, at)).collect::<Vec<u32>>())?;
    let target = rank.alloc::<u32>(all)?;
    let window = rank.register(&target, Rights::ALL)?;
    for _ in 0..rounds {
        for k in 0..ranks {
            let peer = ((me + k) % ranks) as usize;
            let piece = source.slice(peer * EXCHANGE_WORDS..(peer + 1) * EXCHANGE_WORDS)?;
            drop(rank.iput(
                &window,
                GlobalRank(peer as u32),
                me as usize * EXCHANGE_WORDS,
                &piece,
            )?);
        }
        rank.fence()?;
    }
    let found = rank.read_vec(&target)?;
    for (at, found) in found.into_iter().enumerate() {
        let from = (at / EXCHANGE_WORDS) as u32;
        let expected = word(from, me as usize * EXCHANGE_WORDS + at % EXCHANGE_WORDS);
        assert_eq!(
            found, expected,
            "exchange: word {at} at rank {me} is not what rank {from} sent"
        );
    }
    Ok(())
}

/// A stream of `count` puts of 8 bytes from each rank to the next. Checks the data at the end.
///
/// # Errors
/// The error that ends the run.
pub fn put_8_stream(rank: &mut Rank, count: u32) -> alcor::Result<()> {
    const SLOTS: u32 = 64;
    let (me, ranks) = (rank.pid().0, rank.nprocs());
    let source = rank.alloc_from(
        &(0..SLOTS)
            .map(|i| u64::from(me) << 32 | u64::from(i))
            .collect::<Vec<_>>(),
    )?;
    let target = rank.alloc::<u64>(SLOTS as usize)?;
    let window = rank.register(&target, Rights::ALL)?;
    let pieces = (0..SLOTS as usize)
        .map(|i| source.slice(i..=i))
        .collect::<alcor::Result<Vec<_>>>()?;
    let next = GlobalRank((me + 1) % ranks);
    for i in 0..count {
        let slot = (i % SLOTS) as usize;
        drop(rank.iput(&window, next, slot, &pieces[slot])?);
    }
    rank.fence()?;
    let before = (me + ranks - 1) % ranks;
    for (i, found) in rank
        .read_vec(&target)?
        .into_iter()
        .enumerate()
        .take(count as usize)
    {
        assert_eq!(
            found,
            u64::from(before) << 32 | i as u64,
            "put stream: word {i} at rank {me}"
        );
    }
    Ok(())
}

/// Number of elements of an [`allreduce`]: 16 KiB.
pub const ALLREDUCE_ELEMENTS: usize = 2048;

/// `rounds` consecutive allreduces over all ranks. Checks the last result.
///
/// # Errors
/// The error that ends the run.
pub fn allreduce(rank: &mut Rank, rounds: u32) -> alcor::Result<()> {
    let world = rank.world()?;
    let value = |from: u32, at: usize| u64::from(from + 1) * (at as u64 + 1);
    let mine: Vec<u64> = (0..ALLREDUCE_ELEMENTS)
        .map(|at| value(rank.pid().0, at))
        .collect();
    let source = rank.alloc_from(&mine)?;
    let mut target = rank.alloc::<u64>(ALLREDUCE_ELEMENTS)?;
    for _ in 0..rounds {
        world.allreduce(rank, Operation::Sum, &source, &mut target)?;
    }
    for (at, found) in rank.read_vec(&target)?.into_iter().enumerate() {
        let expected = (0..rank.nprocs()).map(|from| value(from, at)).sum::<u64>();
        assert_eq!(found, expected, "allreduce: element {at} at {}", rank.pid());
    }
    Ok(())
}
