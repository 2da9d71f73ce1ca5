//! Requests: many under way, waited for in any order.

use alcor::{GlobalRank, Options, Rank, Region, Request, Rights, Window};
use alcor_test::{Context, Failure, Result, after, alcor_test, before, same, same_bytes};
use rand::Rng;
use rand::seq::SliceRandom;


/// More puts and gets under way than there are command ids, ring entries or credits.
#[alcor_test(ranks >= 1)]
fn many_in_flight(context: &Context) -> Result {
    let transfers = context.scale(600, 5000);
    flood(context, Options::default(), transfers, Ending::WaitAll)
}

/// The same with a ring of few entries, and of one.
#[alcor_test(ranks >= 1)]
fn small_rings(context: &Context) -> Result {
    for entries in [8, 2, 1] {
        let options = Options::default().ring_entries(entries);
        flood(context, options, context.scale(60, 500), Ending::WaitAll)?;
    }
    Ok(())
}

/// Requests are waited for in random order.
#[alcor_test(ranks >= 1)]
fn any_order(context: &Context) -> Result {
    flood(
        context,
        Options::default(),
        context.scale(200, 2000),
        Ending::Shuffled,
    )
}

/// Requests are asked for until they are complete, without a wait.
#[alcor_test(ranks >= 1)]
fn tested(context: &Context) -> Result {
    flood(
        context,
        Options::default(),
        context.scale(40, 400),
        Ending::Tested,
    )
}

/// Requests are dropped; a flush completes them all.
#[alcor_test(ranks >= 1)]
fn flushed(context: &Context) -> Result {
    flood(
        context,
        Options::default(),
        context.scale(200, 2000),
        Ending::Flushed,
    )
}

/// Requests are dropped; a fence completes them all.
#[alcor_test(ranks >= 1)]
fn fenced(context: &Context) -> Result {
    flood(
        context,
        Options::default(),
        context.scale(200, 2000),
        Ending::Fenced,
    )
}

/// A flush of one target completes what went to it, whatever goes on with others.
#[alcor_test(ranks >= 2)]
fn flush_of_one(context: &Context) -> Result {
    context.run(|rank| {
        let me = rank.pid();
        let inbox = rank.alloc_from(&[0u8; 256])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        if me == GlobalRank(0) {
            let mut data = rank.alloc_from(&[7u8; 128])?;
            let mut echo = rank.alloc_from(&[0u8; 128])?;
            for round in 0..20 {
                rank.write(&mut data, 0, &[round; 128])?;
                for target in (0..rank.nprocs()).map(GlobalRank) {
                    drop(rank.iput(&window, target, 64, &data)?);
                }
                rank.flush(GlobalRank(1))?;
                rank.get(&window, GlobalRank(1), 64, &mut echo)?;
                let found = rank.read_vec(&echo)?;
                same_bytes(
                    format_args!("{me}: what a flush has completed, round {round}"),
                    &[round; 128],
                    &found,
                )?;
                rank.flush_all()?;
            }
        }
        rank.barrier()?;
        let mut expected = [0; 256];
        expected[64..192].fill(19);
        same_bytes(
            format_args!("{me}: inbox"),
            &expected,
            &rank.read_vec(&inbox)?,
        )
    })?;
    Ok(())
}

/// Every command answers exactly once: as many completions as transfers.
#[alcor_test(ranks >= 1)]
fn once_each(context: &Context) -> Result {
    context.run(|rank| {
        let inbox = rank.alloc_from(&[0u8; 1024])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let data = rank.alloc_from(&[1u8; 1024])?;
        let mut rng = context.rng(&[u64::from(rank.pid().0)]);
        let transfers = 300;
        for _ in 0..transfers {
            let length = rng.random_range(0..1000);
            let target = GlobalRank(rng.random_range(0..rank.nprocs()));
            drop(rank.iput(&window, target, 0, &data.slice(..length)?)?);
        }
        rank.fence()?;
        let counters = rank.lab().counters()?;
        same(
            format_args!("{}: completions", rank.pid()),
            transfers,
            counters.completions,
        )?;
        rank.barrier()?;
        Ok(())
    })?;
    Ok(())
}

/// How requests end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    WaitAll,
    Shuffled,
    Tested,
    Flushed,
    Fenced,
}

const CELL: usize = 24;

/// Every rank puts `transfers` cells to the rank after it while it gets as many from the rank
/// before it.
fn flood(
    context: &Context,
    options: Options,
    transfers: usize,
    ending: Ending,
) -> Result {
    // Cells of four areas lie in node memory, beside the ring.
    let room = context.memory() as usize / 8 / CELL;
    let rounds = transfers.div_ceil(room);
    let cells = transfers.div_ceil(rounds);
    context.run_with(options, context.ranks(), |rank| {
        let mut flood = Flood::new(rank, cells)?;
        for round in 0..rounds as u64 {
            flood.round(context, rank, round, ending)?;
        }
        Ok(())
    })?;
    Ok(())
}

struct Flood {
    cells: usize,
    inbox: Window<u8>,
    outbox: Window<u8>,
    given: Region<u8>,
    gotten: Region<u8>,
}

impl Flood {
    fn new(rank: &mut Rank, cells: usize) -> Result<Flood, Failure> {
        let mut area = || rank.alloc::<u8>(cells * CELL);
        let (inbox, outbox, given, gotten) = (area()?, area()?, area()?, area()?);
        Ok(Flood {
            cells,
            inbox: rank.register(&inbox, Rights::WRITE)?,
            outbox: rank.register(&outbox, Rights::READ)?,
            given,
            gotten,
        })
    }

    fn round(
        &mut self,
        context: &Context,
        rank: &mut Rank,
        round: u64,
        ending: Ending,
    ) -> Result {
        let me = rank.pid();
        let bytes = self.cells * CELL;
        let data =
            |what: u64, of: GlobalRank| context.noise(&[what, u64::from(of.0), round], bytes);
        let (to, from) = (after(rank, 1), before(rank, 1));
        rank.write(&mut self.given, 0, &data(1, me))?;
        rank.write(&mut self.outbox.region().clone(), 0, &data(2, me))?;
        rank.write(&mut self.inbox.region().clone(), 0, &vec![0; bytes])?;
        rank.write(&mut self.gotten, 0, &vec![0; bytes])?;
        rank.barrier()?;

        let mut rng = context.rng(&[3, u64::from(me.0), round]);
        let mut requests = Vec::new();
        for cell in 0..self.cells {
            let range = cell * CELL..(cell + 1) * CELL;
            let given = self.given.slice(range.clone())?;
            let gotten = self.gotten.slice(range.clone())?;
            requests.push(rank.iput(&self.inbox, to, range.start, given.clone())?);
            requests.push(rank.iget(&self.outbox, from, range.start, gotten.clone())?);
        }
        end(rank, requests, ending, &mut rng)?;
        let gotten = rank.read_vec(&self.gotten)?;
        same_bytes(
            format_args!("{me}: gets from {from}"),
            &data(2, from),
            &gotten,
        )?;
        rank.barrier()?;
        let inbox = rank.read_vec(self.inbox.region())?;
        same_bytes(format_args!("{me}: puts by {from}"), &data(1, from), &inbox)
    }
}

fn end(
    rank: &mut Rank,
    mut requests: Vec<Request>,
    ending: Ending,
    rng: &mut impl Rng,
) -> Result {
    match ending {
        Ending::WaitAll => rank.wait_all(requests)?,
        Ending::Shuffled => {
            requests.shuffle(rng);
            for request in requests {
                rank.wait(request)?;
            }
        }
        Ending::Tested => {
            for mut request in requests {
                while !rank.test(&mut request)? {}
            }
        }
        Ending::Flushed => {
            drop(requests);
            rank.flush_all()?;
        }
        Ending::Fenced => {
            drop(requests);
            rank.fence()?;
        }
    }
    Ok(())
}
