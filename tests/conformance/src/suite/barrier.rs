//! Barrier: nobody leaves before the last has come and all earlier traffic has landed.

use alcor::{GlobalRank, Opcode, Options, Rank, Rights};
use alcor_test::{Context, Result, after, alcor_test, before, holds, same, same_bytes};
use rand::Rng;

use super::registration::idle;

/// Thousands in a row, each once.
#[alcor_test(ranks >= 1)]
fn many_in_a_row(context: &Context) -> Result {
    let rounds = context.scale(300, 20000);
    context.run(|rank| {
        for _ in 0..rounds {
            rank.barrier()?;
        }
        let counters = rank.lab().counters()?;
        same(
            format_args!("{}: BARRIERS", rank.pid()),
            rounds,
            counters.barriers,
        )?;
        rank.barrier()?;
        Ok(())
    })?;
    Ok(())
}

/// Whoever comes late, nobody leaves earlier.
#[alcor_test(ranks >= 2)]
fn stragglers(context: &Context) -> Result {
    let rounds = context.scale(100, 1000);
    meet(context, context.ranks(), rounds, |rank, round| {
        let mut rng = context.rng(&[u64::from(rank.pid().0), round]);
        match rng.random_range(0..4) {
            0 => idle(rank, rng.random_range(1..400)),
            _ => Ok(()),
        }
    })
}

/// One rank, each in turn, is far behind all others.
#[alcor_test(ranks >= 2)]
fn one_is_late(context: &Context) -> Result {
    let rounds = u64::from(context.ranks()) * context.scale(4, 20);
    meet(context, context.ranks(), rounds, |rank, round| {
        if u64::from(rank.pid().0) == round % u64::from(rank.nprocs()) { idle(rank, 2000) } else { Ok(()) }
    })
}

/// A rank that still sends holds up the barrier of all.
#[alcor_test(ranks >= 2)]
fn busy_rank(context: &Context) -> Result {
    let bytes = (context.info().node_bytes / 8).min(8192) as usize;
    context.run(|rank| {
        let me = rank.pid();
        let inbox = rank.alloc_from(&vec![0u8; bytes])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let mut data = rank.alloc::<u8>(bytes)?;
        for round in 0..u64::from(rank.nprocs()) {
            let sender = GlobalRank(round as u32);
            let target = GlobalRank((round as u32 + 1) % rank.nprocs());
            rank.write(&mut data, 0, &context.noise(&[round], bytes))?;
            rank.barrier()?;
            if me == sender {
                drop(rank.iput(&window, target, 0, &data)?);
            }
            rank.barrier()?;
            if me == target {
                let found = rank.read_vec(&inbox)?;
                same_bytes(
                    format_args!("{me}: block of {sender} after the barrier"),
                    &context.noise(&[round], bytes),
                    &found,
                )?;
            }
            rank.barrier()?;
        }
        Ok(())
    })?;
    Ok(())
}

/// What was put before the barrier is visible after it, without a wait for the requests.
#[alcor_test(ranks >= 1)]
fn completes_puts(context: &Context) -> Result {
    let rounds = context.scale(40, 400);
    context.run(|rank| {
        let me = rank.pid();
        let nprocs = rank.nprocs();
        let cell = 33;
        let inbox = rank.alloc_from(&vec![0u8; cell * nprocs as usize])?;
        let window = rank.register(&inbox, Rights::WRITE)?;
        let mut data = rank.alloc::<u8>(cell)?;
        for round in 0..rounds {
            rank.write(&mut data, 0, &context.noise(&[u64::from(me.0), round], cell))?;
            for steps in 0..nprocs {
                drop(rank.iput(&window, after(rank, steps), cell * me.0 as usize, &data)?);
            }
            rank.barrier()?;
            let found = rank.read_vec(&inbox)?;
            for from in 0..nprocs {
                let expected = context.noise(&[u64::from(from), round], cell);
                let found = &found[cell * from as usize..][..cell];
                same_bytes(
                    format_args!("{me}: from {} after barrier {round}", GlobalRank(from)),
                    &expected,
                    found,
                )?;
            }
            rank.barrier()?;
        }
        rank.flush_all()?;
        Ok(())
    })?;
    Ok(())
}

/// The paper's puts have no completion of their own: the barrier is theirs.
#[alcor_test(ranks >= 1)]
fn completes_paper_puts(context: &Context) -> Result {
    let rounds = context.scale(60, 600);
    context.run(|rank| {
        let me = rank.pid();
        let inbox = rank.alloc_from(&[0u32; 8])?;
        let window = rank.register(&inbox, Rights::WRITE)?;
        for round in 1..=rounds {
            let to = after(rank, 1 + round % rank.nprocs());
            rank.lab().paper()
                .put_1(window.base(), to, round % 8, round << 8 | me.0)?;
            rank.barrier()?;
            let from = before(rank, 1 + round % rank.nprocs()).0;
            let found = rank.read_vec(&inbox)?[(round % 8) as usize];
            same(
                format_args!("{me}: word after barrier {round}"),
                round << 8 | from,
                found,
            )?;
            rank.barrier()?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Barriers that are posted ahead are all completed, one by one.
#[alcor_test(ranks >= 1)]
fn posted_ahead(context: &Context) -> Result {
    context.run(|rank| {
        for round in 1..=20 {
            // Not all ranks post as many at once.
            let ahead = (rank.pid().0 + round) % 4;
            for _ in 0..ahead {
                rank.lab().command(Opcode::Barrier, 0)?;
            }
            for _ in ahead..4 {
                rank.barrier()?;
            }
            rank.barrier()?;
            let counters = rank.lab().counters()?;
            same(
                format_args!("{}: BARRIERS in round {round}", rank.pid()),
                5 * round,
                counters.barriers,
            )?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Runs of fewer ranks than the board has do not wait for the others.
#[alcor_test(ranks >= 1)]
fn subsets(context: &Context) -> Result {
    for ranks in 1..=context.ranks() {
        meet(context, ranks, context.scale(30, 300), |rank, round| {
            let mut rng = context.rng(&[u64::from(rank.pid().0), round]);
            idle(rank, rng.random_range(0..60))
        })?;
    }
    Ok(())
}

/// A barrier directly behind another collective command and a second BEGIN waits for all ranks, although
/// that command has only just ended.
#[alcor_test(ranks >= 1)]
fn behind_a_second_begin(context: &Context) -> Result {
    let rounds = u64::from(context.ranks()) * context.scale(4, 20);
    meet(context, context.ranks(), rounds, |rank, round| {
        let late = u64::from(rank.pid().0) == round % u64::from(rank.nprocs());
        // The other ranks have queued all their commands by then.
        idle(rank, if late { 500 } else { 0 })?;
        rank.lab().command(Opcode::Deregister, NO_WINDOW)?;
        if late {
            return idle(rank, 500);
        }
        Ok(rank.lab().command(Opcode::BeginRun, 0)?)
    })
}

/// A barrier directly behind the end of a run and the beginning of the next one ends, too.
#[alcor_test(ranks >= 1)]
fn in_a_new_run_at_once(context: &Context) -> Result {
    meet(context, context.ranks(), context.scale(20, 200), |rank, round| {
        let mut rng = context.rng(&[u64::from(rank.pid().0), round]);
        idle(rank, rng.random_range(0..60))?;
        rank.lab().command(Opcode::Deregister, NO_WINDOW)?;
        rank.lab().command(Opcode::EndRun, 0)?;
        Ok(rank.lab().command(Opcode::BeginRun, 0)?)
    })
}

/// A barrier takes a number of cycles that does not depend on how many were before.
#[alcor_test(ranks >= 1, steady)]
fn steady(context: &Context) -> Result {
    let lasts = context.run(|rank| {
        let mut lasts = Vec::new();
        for _ in 0..50 {
            rank.barrier()?;
            lasts.push(rank.lab().epoch_cycles()?);
        }
        Ok(lasts)
    })?;
    let longest = lasts.iter().flatten().max().copied().unwrap_or(0);
    let settled = lasts.iter().map(|lasts| lasts[10]).max().unwrap_or(0);
    let found = lasts.iter().map(|lasts| lasts[49]).max().unwrap_or(0);
    holds(
        "EPOCH_CYCLES of barrier 50",
        format_args!("{settled}, as of barrier 11"),
        found <= settled.max(1) * 2,
        format_args!("{found}, at most {longest}"),
    )
}

/// No window begins at this address, so a deregistration fails at all ranks together.
const NO_WINDOW: u32 = 4;

/// All ranks meet at barriers, and none leaves before the last has come.
fn meet(
    context: &Context,
    ranks: u32,
    rounds: u64,
    before: impl Fn(&mut Rank, u64) -> Result + Sync,
) -> Result {
    let times = context.run_with(Options::default(), ranks, |rank| {
        let mut times = Vec::new();
        for round in 0..rounds {
            before(rank, round)?;
            let came = rank.now()?;
            rank.barrier()?;
            times.push((came.0, rank.now()?.0));
        }
        let barriers = rank.lab().counters()?.barriers;
        let place = format_args!("{}: BARRIERS", rank.pid());
        same(place, rounds, u64::from(barriers))?;
        rank.barrier()?;
        Ok(times)
    })?;
    let times: Vec<_> = (0..).map(GlobalRank).zip(times).collect();
    // Boards with real time have clocks of their own.
    let has_one_clock = context.cluster().boards().iter().all(|board| board.time_stands_still());
    let of_a_clock = if has_one_clock { ranks } else { context.info().ranks };
    let clocks = times.chunks(of_a_clock as usize);
    for (round, times) in (0..rounds as usize).flat_map(|round| clocks.clone().map(move |times| (round, times))) {
        let (last, last_came) = times
            .iter()
            .map(|(rank, times)| (*rank, times[round].0))
            .max_by_key(|&(_, came)| came)
            .unwrap_or((GlobalRank(0), 0));
        for (rank, times) in times {
            holds(
                format_args!("{rank}, barrier {round} of {ranks} ranks"),
                format_args!("to leave it after cycle {last_came}, when {last} came"),
                times[round].1 > last_came,
                format_args!("that it left in cycle {}", times[round].1),
            )?;
        }
    }
    Ok(())
}
