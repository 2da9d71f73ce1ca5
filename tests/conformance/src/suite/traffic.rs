//! Traffic of all ranks to all, at once.

use alcor::{GlobalRank, Rights};
use alcor_test::{Context, Result, after, alcor_test, before, same, same_bytes};
use rand::Rng;
use rand::seq::SliceRandom;


/// All ranks put to all, each into a place of its own.
#[alcor_test(ranks >= 1)]
fn all_put(context: &Context) -> Result {
    Mix {
        puts: true,
        gets: false,
        longest: 200,
        each: 12,
    }
    .run(context)
}

/// All ranks get from all.
#[alcor_test(ranks >= 1)]
fn all_get(context: &Context) -> Result {
    Mix {
        puts: false,
        gets: true,
        longest: 200,
        each: 12,
    }
    .run(context)
}

/// Puts and gets of all ranks with all, mixed.
#[alcor_test(ranks >= 1)]
fn all_mixed(context: &Context) -> Result {
    Mix {
        puts: true,
        gets: true,
        longest: 200,
        each: 12,
    }
    .run(context)
}

/// The same with short transfers only: commands, headers and answers weigh most.
#[alcor_test(ranks >= 1)]
fn all_short(context: &Context) -> Result {
    Mix {
        puts: true,
        gets: true,
        longest: 8,
        each: 60,
    }
    .run(context)
}

/// The same with transfers of several packets.
#[alcor_test(ranks >= 1)]
fn all_long(context: &Context) -> Result {
    let longest = 4 * context.info().packet_bytes as usize;
    Mix {
        puts: true,
        gets: true,
        longest,
        each: 6,
    }
    .run(context)
}

/// Everybody puts to one rank, and gets from it.
#[alcor_test(ranks >= 2)]
fn hot_spot(context: &Context) -> Result {
    let rounds = context.scale(6, 60);
    context.run(|rank| {
        let me = rank.pid();
        let cell = 400;
        let nprocs = rank.nprocs() as usize;
        let inbox = rank.alloc_from(&vec![0u8; cell * nprocs])?;
        let outbox = rank.alloc::<u8>(cell)?;
        let (inbox, outbox) = (
            rank.register(&inbox, Rights::ALL)?,
            rank.register(&outbox, Rights::ALL)?,
        );
        let (mut given, gotten) = (rank.alloc::<u8>(cell)?, rank.alloc::<u8>(cell)?);
        for round in 0..rounds {
            let hot = GlobalRank(round as u32 % rank.nprocs());
            rank.write(
                &mut given,
                0,
                &context.noise(&[1, u64::from(me.0), round], cell),
            )?;
            rank.write(
                &mut outbox.region().clone(),
                0,
                &context.noise(&[2, u64::from(me.0), round], cell),
            )?;
            rank.barrier()?;
            for part in 0..4 {
                let part = part * cell / 4..(part + 1) * cell / 4;
                let at = me.0 as usize * cell + part.start;
                drop(rank.iput(&inbox, hot, at, &given.slice(part.clone())?)?);
                drop(rank.iget(&outbox, hot, part.start, gotten.slice(part)?)?);
            }
            rank.fence()?;
            let expected = context.noise(&[2, u64::from(hot.0), round], cell);
            same_bytes(
                format_args!("{me}: gets from {hot}, round {round}"),
                &expected,
                &rank.read_vec(&gotten)?,
            )?;
            if me == hot {
                let expected: Vec<u8> = (0..u64::from(rank.nprocs()))
                    .flat_map(|from| context.noise(&[1, from, round], cell))
                    .collect();
                let found = rank.read_vec(inbox.region())?;
                same_bytes(
                    format_args!("{me}: puts by all, round {round}"),
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

/// Neighbouring bytes of one word are put by different ranks at the same time.
#[alcor_test(ranks >= 2)]
fn shared_words(context: &Context) -> Result {
    let rounds = context.scale(20, 200);
    let words = 64;
    context.run(|rank| {
        let me = rank.pid();
        let nprocs = rank.nprocs() as usize;
        let mut inbox = rank.alloc::<u8>(words * nprocs)?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let mut data = rank.alloc::<u8>(words)?;
        for round in 0..rounds {
            rank.write(&mut inbox, 0, &vec![0; words * nprocs])?;
            rank.write(&mut data, 0, &context.noise(&[u64::from(me.0), round], words))?;
            rank.barrier()?;
            let target = GlobalRank(round as u32 % rank.nprocs());
            for index in 0..words {
                let byte = data.slice(index..index + 1)?;
                drop(rank.iput(&window, target, index * nprocs + me.0 as usize, &byte)?);
            }
            rank.fence()?;
            if me == target {
                let columns: Vec<_> = (0..nprocs as u64)
                    .map(|from| context.noise(&[from, round], words))
                    .collect();
                let expected: Vec<u8> = (0..words * nprocs)
                    .map(|at| columns[at % nprocs][at / nprocs])
                    .collect();
                same_bytes(
                    format_args!("{me}: bytes of all ranks side by side, round {round}"),
                    &expected,
                    &rank.read_vec(&inbox)?,
                )?;
            }
            rank.barrier()?;
        }
        Ok(())
    })?;
    Ok(())
}

/// No word is lost or made up: what all ranks have sent is what all have received.
#[alcor_test(ranks >= 1)]
fn words_are_conserved(context: &Context) -> Result {
    let counters = context.run(|rank| {
        let inbox = rank.alloc_from(&[0u8; 2000])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let local = rank.alloc_from(&[0u8; 2000])?;
        let mut rng = context.rng(&[u64::from(rank.pid().0)]);
        for _ in 0..100 {
            let peer = GlobalRank(rng.random_range(0..rank.nprocs()));
            let mut part = local.slice(..rng.random_range(0..1000))?;
            let offset = rng.random_range(0..1500);
            if rng.random_bool(0.5) { drop(rank.iput(&window, peer, offset, &part)?) } else { drop(rank.iget(&window, peer, offset, &mut part)?) }
        }
        rank.barrier()?;
        // Some of these were refused, as it is meant.
        let _ = rank.flush_all();
        let counters = rank.lab().counters()?;
        rank.barrier()?;
        Ok(counters)
    })?;
    let sum = |of: fn(&alcor::Counters) -> u32| {
        counters.iter().map(|it| u64::from(of(it))).sum::<u64>()
    };
    same(
        "request words sent and received",
        sum(|it| it.tx_request_words),
        sum(|it| it.rx_request_words),
    )?;
    same(
        "reply words sent and received",
        sum(|it| it.tx_reply_words),
        sum(|it| it.rx_reply_words),
    )
}

/// Transfers of every rank with every rank.
#[derive(Clone, Copy)]
struct Mix {
    puts: bool,
    gets: bool,
    longest: usize,
    /// Transfers with each rank.
    each: usize,
}

impl Mix {
    fn run(self, context: &Context) -> Result {
        // Four areas of a cell for every transfer with every rank lie in node memory.
        let room = context.memory() as usize / 8;
        let cell = self.longest + 8;
        let each = self
            .each
            .min(room / (context.ranks() as usize * cell))
            .max(1);
        let rounds = context.scale(3, 30);
        context.run(|rank| {
            let me = u64::from(rank.pid().0);
            let share = each * cell;
            let bytes = share * rank.nprocs() as usize;
            let mut area = || rank.alloc::<u8>(bytes);
            let (inbox, outbox, mut given, mut gotten) = (area()?, area()?, area()?, area()?);
            let inbox = rank.register(&inbox, Rights::WRITE)?;
            let outbox = rank.register(&outbox, Rights::READ)?;
            for round in 0..rounds {
                let data = |what: u64, of: u64| context.noise(&[what, of, round], bytes);
                rank.write(&mut given, 0, &data(1, me))?;
                rank.write(&mut outbox.region().clone(), 0, &data(2, me))?;
                rank.write(&mut inbox.region().clone(), 0, &data(3, me))?;
                rank.write(&mut gotten, 0, &data(4, me))?;
                rank.barrier()?;

                // Where a transfer lies is for both sides to know: by origin, target, number.
                let place = |origin: u64, target: u64, number: usize| {
                    let mut rng = context.rng(&[5, origin, target, number as u64, round]);
                    let length = rng.random_range(0..=self.longest);
                    (rng.random_range(0..=cell - length), length)
                };
                let mut order: Vec<(u32, usize)> = (0..rank.nprocs())
                    .flat_map(|steps| (0..each).map(move |number| (steps, number)))
                    .collect();
                order.shuffle(&mut context.rng(&[6, me, round]));
                for (steps, number) in order {
                    let peer = after(rank, steps);
                    let there = u64::from(peer.0) as usize * share + number * cell;
                    let here = me as usize * share + number * cell;
                    let (at, length) = place(me, u64::from(peer.0), number);
                    if self.puts {
                        let local = given.slice(there + at..there + at + length)?;
                        drop(rank.iput(&inbox, peer, here + at, &local)?);
                    }
                    if self.gets {
                        let mut local = gotten.slice(there + at..there + at + length)?;
                        drop(rank.iget(&outbox, peer, here + at, &mut local)?);
                    }
                }
                rank.fence()?;

                let (mut inbox_then, mut gotten_then) = (data(3, me), data(4, me));
                for steps in 0..rank.nprocs() {
                    let from = u64::from(before(rank, steps).0);
                    let (puts, outs) = (data(1, from), data(2, from));
                    for number in 0..each {
                        let mine = me as usize * share + number * cell;
                        let theirs = from as usize * share + number * cell;
                        if self.puts {
                            let (at, length) = place(from, me, number);
                            inbox_then[theirs + at..][..length]
                                .copy_from_slice(&puts[mine + at..][..length]);
                        }
                        if self.gets {
                            let (at, length) = place(me, from, number);
                            gotten_then[theirs + at..][..length]
                                .copy_from_slice(&outs[mine + at..][..length]);
                        }
                    }
                }
                let me = rank.pid();
                let found = rank.read_vec(inbox.region())?;
                same_bytes(
                    format_args!("{me}: inbox, round {round}"),
                    &inbox_then,
                    &found,
                )?;
                let found = rank.read_vec(&gotten)?;
                same_bytes(
                    format_args!("{me}: gets, round {round}"),
                    &gotten_then,
                    &found,
                )?;
                rank.barrier()?;
            }
            Ok(())
        })?;
        Ok(())
    }
}
