//! Progress: nothing freezes, however much is under way in all directions.
//!
//! With one queue for reads and writes of node memory, a read that waits for room in the outgoing
//! FIFO keeps the write behind it from draining the incoming one, and ranks that put large blocks
//! to each other stand still. A freeze shows as [`alcor::Error::Watchdog`].

use alcor::{GlobalRank, Operation, Options, Rights};
use alcor_test::{At, Context, Result, after, alcor_test, before, same, same_bytes};

/// Two ranks put large blocks to each other.
#[alcor_test(ranks >= 2)]
fn two_put_to_each_other(context: &Context) -> Result {
    exchange(
        context,
        2,
        Flows {
            puts: 1,
            gets: 0,
            to_self: false,
        },
    )
}

/// Two ranks put to each other and get from each other at the same time.
#[alcor_test(ranks >= 2)]
fn two_put_and_get(context: &Context) -> Result {
    exchange(
        context,
        2,
        Flows {
            puts: 2,
            gets: 2,
            to_self: false,
        },
    )
}

/// All ranks put large blocks to all.
#[alcor_test(ranks >= 2)]
fn all_put(context: &Context) -> Result {
    exchange(
        context,
        context.ranks(),
        Flows {
            puts: 1,
            gets: 0,
            to_self: true,
        },
    )
}

/// All ranks get large blocks from all.
#[alcor_test(ranks >= 2)]
fn all_get(context: &Context) -> Result {
    exchange(
        context,
        context.ranks(),
        Flows {
            puts: 0,
            gets: 1,
            to_self: true,
        },
    )
}

/// All ranks put to all and get from all at the same time.
#[alcor_test(ranks >= 2)]
fn all_put_and_get(context: &Context) -> Result {
    exchange(
        context,
        context.ranks(),
        Flows {
            puts: 2,
            gets: 2,
            to_self: true,
        },
    )
}

/// A rank that puts to itself and gets from itself is in nobody's way, its own included.
#[alcor_test(ranks >= 1)]
fn with_oneself(context: &Context) -> Result {
    exchange(
        context,
        1,
        Flows {
            puts: 3,
            gets: 3,
            to_self: true,
        },
    )
}

/// A stream of small commands to all ranks while a large block comes in from all.
#[alcor_test(ranks >= 2)]
fn small_among_large(context: &Context) -> Result {
    let bytes = block_bytes(context, 2);
    let rounds = context.scale(150, 1500);
    context.run(|rank| {
        let me = rank.pid();
        let nprocs = rank.nprocs() as usize;
        let large = rank.alloc::<u8>(bytes * nprocs)?;
        let small = rank.alloc_from(&vec![0u8; 16 * nprocs])?;
        let (large, small) = (
            rank.register(&large, Rights::ALL)?,
            rank.register(&small, Rights::ALL)?,
        );
        let block = rank.alloc_from(&context.noise(&[u64::from(me.0)], bytes))?;
        let word = rank.alloc_from(&context.noise(&[99, u64::from(me.0)], 5))?;
        rank.barrier()?;
        for steps in 1..rank.nprocs() {
            drop(rank.iput(&large, after(rank, steps), bytes * me.0 as usize, &block)?);
        }
        for round in 0..rounds {
            let peer = after(rank, round as u32);
            let request = rank.iput(&small, peer, 16 * me.0 as usize + 3, &word)?;
            if round % 3 == 0 {
                rank.wait(request)
                    .at(format_args!("{me}: small put {round}"))?;
            }
        }
        rank.fence()?;
        for from in (0..rank.nprocs()).map(GlobalRank) {
            let found = rank.read_vec(
                &small
                    .region()
                    .slice(16 * from.0 as usize..16 * (from.0 as usize + 1))?,
            )?;
            let mut expected = vec![0; 16];
            expected[3..8].copy_from_slice(&context.noise(&[99, u64::from(from.0)], 5));
            same_bytes(format_args!("{me}: small put of {from}"), &expected, &found)?;
            if from != me {
                let found = rank.read_vec(
                    &large
                        .region()
                        .slice(bytes * from.0 as usize..bytes * (from.0 as usize + 1))?,
                )?;
                same_bytes(
                    format_args!("{me}: large put of {from}"),
                    &context.noise(&[u64::from(from.0)], bytes),
                    &found,
                )?;
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// Blocks with each peer at once.
#[derive(Clone, Copy)]
struct Flows {
    puts: usize,
    gets: usize,
    to_self: bool,
}

/// So large that no FIFO holds it, where node memory allows it; a rank has room for `areas` of
/// them for every rank.
fn block_bytes(context: &Context, areas: usize) -> usize {
    let room = context.memory() as usize * 3 / 4;
    let share = room / (areas.max(1) * context.ranks() as usize);
    share.min(context.scale(8192, 32768)) & !63
}

/// Ranks move blocks in all directions at the same time.
fn exchange(context: &Context, ranks: u32, flows: Flows) -> Result {
    let (puts, gets) = (flows.puts, flows.gets);
    // An inbox and gotten blocks for each rank, and one given and one offered block.
    let bytes = block_bytes(context, puts + gets + 2);
    let rounds = context.scale(2, 10);
    context.run_with(alcor::Options::default(), ranks, |rank| {
        let me = rank.pid();
        let nprocs = rank.nprocs() as usize;
        let inbox = rank.alloc::<u8>(bytes * nprocs * puts)?;
        let gotten = rank.alloc::<u8>(bytes * nprocs * gets)?;
        let (mut given, offered) = (rank.alloc::<u8>(bytes)?, rank.alloc::<u8>(bytes)?);
        let inbox = rank.register(&inbox, Rights::WRITE)?;
        let offered = rank.register(&offered, Rights::READ)?;
        let first = u32::from(!flows.to_self);
        for round in 0..rounds {
            let data =
                |what: u64, of: GlobalRank| context.noise(&[what, u64::from(of.0), round], bytes);
            rank.write(&mut given, 0, &data(1, me))?;
            rank.write(&mut offered.region().clone(), 0, &data(2, me))?;
            rank.barrier()?;
            for number in 0..puts.max(gets) {
                for steps in first..rank.nprocs() {
                    let peer = after(rank, steps);
                    if number < puts {
                        let at = (number * nprocs + me.0 as usize) * bytes;
                        drop(rank.iput(&inbox, peer, at, &given)?);
                    }
                    if number < gets {
                        let at = (number * nprocs + peer.0 as usize) * bytes;
                        let mut local = gotten.slice(at..at + bytes)?;
                        drop(rank.iget(&offered, peer, 0, &mut local)?);
                    }
                }
            }
            rank.fence().at(format_args!(
                "{me}: {puts} puts and {gets} gets of {bytes} bytes with each"
            ))?;
            let inbox = rank.read_vec(inbox.region())?;
            let gotten = rank.read_vec(&gotten)?;
            for steps in first..rank.nprocs() {
                let from = before(rank, steps);
                for number in 0..puts {
                    let at = (number * nprocs + from.0 as usize) * bytes;
                    let place = format_args!("{me}: block {number} put by {from}, round {round}");
                    same_bytes(place, &data(1, from), &inbox[at..at + bytes])?;
                }
                for number in 0..gets {
                    let at = (number * nprocs + from.0 as usize) * bytes;
                    let place = format_args!("{me}: block {number} of {from}, round {round}");
                    same_bytes(place, &data(2, from), &gotten[at..at + bytes])?;
                }
            }
            rank.barrier()?;
        }
        Ok(())
    })?;
    Ok(())
}

/// One rank begins a collective in software and then waits in `barrier`, `fence`, `register` and `deregister`. The others
/// wait for the collective first. They finish only if the first rank's waits move the collective on.
#[alcor_test(ranks >= 2)]
fn collective_during_waits_of_all(context: &Context) -> Result {
    let options = Options::default().software_collectives(true);
    context.run_with(options, context.ranks(), |rank| {
        let (me, ranks) = (rank.pid(), rank.nprocs());
        let world = rank.world()?;
        let area = rank.alloc::<u32>(16)?;
        let other = rank.alloc::<u32>(16)?;
        for first in 0..context.scale(2.min(ranks), ranks) {
            for wait in 0..4 {
                let given = rank.register(&other, Rights::ALL)?;
                let vector = [me.0 + 1, wait, first];
                let mut sum = [0; 3];
                let request = world.iallreduce(rank, Operation::Sum, &vector, &mut sum)?;
                let mut pending = Some(request);
                if me.0 != first {
                    rank.wait(pending.take().unwrap())?;
                }
                match wait {
                    0 => rank.barrier()?,
                    1 => rank.fence()?,
                    2 => {
                        let window = rank.register(&area, Rights::ALL)?;
                        rank.deregister(window)?;
                    }
                    _ => (),
                }
                rank.deregister(given)?;
                pending.map_or(Ok(()), |request| rank.wait(request))?;
                let all = ranks * (ranks + 1) / 2;
                same(format_args!("{me}: sums"), [all, ranks * wait, ranks * first], sum)?;
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// Each rank sends more messages than the receiver has room for and waits in `barrier`. The receiver takes them before
/// its `barrier`.
#[alcor_test(ranks >= 2, needs = [Messages])]
fn messages_during_a_barrier(context: &Context) -> Result {
    let messages = context.scale(80, 300);
    context.run(|rank| {
        let me = rank.pid();
        let sends = me.0 % 2 == 0 && me.0 + 1 < rank.nprocs();
        for round in 0..2 {
            if sends {
                let data: Vec<u32> = (0..messages).collect();
                let mut requests = Vec::new();
                for (tag, word) in (0..).zip(data.chunks(1)) {
                    requests.push(rank.isend(after(rank, 1), tag, word)?);
                }
                rank.barrier()?;
                for request in requests {
                    rank.wait(request)?;
                }
            } else {
                if me.0 % 2 == 1 {
                    for tag in 0..messages {
                        let mut word = [0u32];
                        rank.recv(before(rank, 1), tag, &mut word)?;
                        same(format_args!("{me}: message {tag} of round {round}"), tag, word[0])?;
                    }
                }
                rank.barrier()?;
            }
        }
        Ok(())
    })?;
    Ok(())
}
