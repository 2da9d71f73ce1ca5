//! Collectives of ranks that come early, late or never, in every order, among other traffic.


use alcor::{
    Awaited, Collective, Communicator, ElementType, Error, GlobalRank, JobError,
    Options, Rank, Region, Request, Rights, Window,
};
use alcor_test::{Context, Failure, Result, after, alcor_test, holds, same, same_bytes};
use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::abort::one_dies;
use super::collectives::drive::{ALL, Case, Driver, UnderWay, nap};
use super::collectives::sample::{Flavour, HARDWARE, SHORT, operations};
use super::watchdog::ends_in_time;

/// Cycles that a wait may last where one is in vain.
const PATIENCE: u64 = 5000;

/// Nobody leaves a collective before the last has come.
#[alcor_test(ranks >= 2)]
fn last_to_come(context: &Context) -> Result {
    let all = ALL.into_iter().chain([Collective::Barrier]);
    let collectives: Vec<Collective> = if context.scale(true, false) { all
            .clone()
            .step_by(2)
            .chain([Collective::Barrier])
            .collect() } else { all.collect() };
    let times = context.run(|rank| {
        let world = rank.world()?;
        let driver = Driver {
            context,
            forced: false,
        };
        let mut times = Vec::new();
        for late in 0..rank.nprocs() {
            for (number, &collective) in (0..).zip(&collectives) {
                // All begin at about the same time.
                rank.barrier()?;
                if rank.pid().0 == late {
                    nap(rank, 900)?;
                }
                let root = (late + number) % world.size();
                let case = Case {
                    root,
                    number: 2 * u64::from(number),
                    ..Case::new(collective, ElementType::F64)
                };
                let posted = rank.now()?.0;
                driver.run(rank, &world, &case)?;
                times.push((posted, rank.now()?.0));
            }
        }
        Ok(times)
    })?;
    let rounds = times.first().map_or(0, Vec::len);
    for round in 0..rounds {
        let last = times.iter().map(|of| of[round].0).max().unwrap_or(0);
        for (rank, of) in (0..).map(GlobalRank).zip(&times) {
            let place = format!(
                "{rank}: when it left {} {round}",
                collectives[round % collectives.len()]
            );
            let expected = format!("not before {last}, when the last came");
            holds(place, expected, of[round].1 >= last, of[round].1)?;
        }
    }
    Ok(())
}

/// Delays at random at every rank do not change a bit of any result.
#[alcor_test(ranks >= 2)]
fn delays(context: &Context) -> Result {
    for round in 0..context.scale(3, 20) {
        context.run(|rank| {
            let world = rank.world()?;
            let driver = Driver {
                context,
                forced: false,
            };
            let mut rng = context.rng(&[1, round, u64::from(rank.pid().0)]);
            // The first time there are none.
            let most = [0, 60, 2000][round as usize % 3];
            for number in 0..14u64 {
                let element = HARDWARE[number as usize % HARDWARE.len()];
                let case = Case {
                    number: 2 * number,
                    count: 20,
                    root: number as u32 % world.size(),
                    flavour: Flavour::Special,
                    ..Case::new(ALL[number as usize % ALL.len()], element)
                };
                nap(rank, rng.random_range(0..=most))?;
                let under_way = driver.start(rank, &world, &case)?;
                nap(rank, rng.random_range(0..=most / 4))?;
                driver.finish(rank, under_way)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Several communicators, everything under way at once, called in another order by each rank,
/// among puts, gets and delays.
#[alcor_test(ranks >= 2)]
fn mixes(context: &Context) -> Result {
    for number in 0..context.scale(2, 30) {
        mix(context, number, Options::default())?;
    }
    Ok(())
}

/// Many communicators of the same boards, each with several long vectors under way.
#[alcor_test(ranks >= 2)]
fn crowds(context: &Context) -> Result {
    for number in 0..context.scale(2, 20) {
        crowd(context, number)?;
    }
    Ok(())
}

/// Mixes with all collectives in software.
#[alcor_test(ranks >= 2)]
fn software_mixes(context: &Context) -> Result {
    for number in 0..context.scale(1, 10) {
        mix(
            context,
            1000 + number,
            Options::default().software_collectives(true),
        )?;
    }
    Ok(())
}

/// Mixes with few entries in the completion ring.
#[alcor_test(ranks >= 2)]
fn small_rings(context: &Context) -> Result {
    for number in 0..context.scale(2, 20) {
        mix(
            context,
            2000 + number,
            Options::default().ring_entries(1 << (1 + number % 3)),
        )?;
    }
    Ok(())
}

/// A rank that does not come to a collective is named, and the communicator.
#[alcor_test(ranks >= 2, steady)]
fn absent(context: &Context) -> Result {
    for (collective, element) in [
        (Collective::Allreduce, ElementType::F64),
        (Collective::Bcast, ElementType::U32),
        (Collective::Barrier, ElementType::U32),
        // In software.
        (Collective::Allreduce, ElementType::U16),
    ] {
        for of_world in [true, false] {
            in_vain(context, collective, element, of_world)?;
        }
    }
    Ok(())
}

/// A rank is gone without a word: the others are told in the collectives that they wait in.
#[alcor_test(ranks >= 2)]
fn death(context: &Context) -> Result {
    for element in [ElementType::F64, ElementType::I8] {
        for victim in [0, context.ranks() - 1] {
            one_dies(context, victim, |rank| {
                live_or_die(context, rank, victim, element)
            })?;
            works_again(context)?;
        }
    }
    Ok(())
}

/// What ranks do side by side in a mix.
struct Mix<'a> {
    driver: Driver<'a>,
    number: u64,
    inbox: Window<u8>,
    outbox: Window<u8>,
    given: Region<u8>,
    gotten: Region<u8>,
}

/// Bytes that a rank puts to another in a batch of a mix.
const CELL: usize = 256;

/// A random program of batches, each of collectives of several communicators, puts and gets.
fn mix(context: &Context, number: u64, options: Options) -> Result {
    let batches = context.scale(3, 6);
    context.run_with(options, context.ranks(), |rank| {
        let me = rank.pid();
        let world = rank.world()?;
        // What all ranks agree on.
        let mut shared = context.rng(&[2, number]);
        let mut communicators = vec![world.clone()];
        for _ in 0..2 {
            let mut order: Vec<GlobalRank> = (0..rank.nprocs()).map(GlobalRank).collect();
            order.shuffle(&mut shared);
            order.truncate(shared.random_range(1..=order.len()));
            communicators.extend(world.create(rank, &order)?);
        }
        let bytes = CELL * rank.nprocs() as usize;
        let (mut inbox, mut outbox) = (rank.alloc::<u8>(bytes)?, rank.alloc::<u8>(CELL)?);
        rank.write(&mut inbox, 0, &vec![0; bytes])?;
        rank.write(
            &mut outbox,
            0,
            &context.noise(&[3, number, u64::from(me.0)], CELL),
        )?;
        let mut mix = Mix {
            driver: Driver {
                context,
                forced: options.software_collectives,
            },
            number,
            inbox: rank.register(&inbox, Rights::WRITE)?,
            outbox: rank.register(&outbox, Rights::READ)?,
            given: rank.alloc(CELL)?,
            gotten: rank.alloc(CELL)?,
        };
        for batch in 0..batches {
            mix.batch(rank, &communicators, batch)?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Pairs, triples and more of the same ranks, all of them reducing at the same time.
fn crowd(context: &Context, number: u64) -> Result {
    const VECTORS: u64 = 5;
    const COMMUNICATORS: u64 = 6;
    context.run(|rank| {
        let world = rank.world()?;
        let driver = Driver {
            context,
            forced: false,
        };
        // What all ranks agree on.
        let mut shared = context.rng(&[7, number]);
        let mut communicators = Vec::new();
        for _ in 0..COMMUNICATORS {
            let mut order: Vec<GlobalRank> = (0..rank.nprocs()).map(GlobalRank).collect();
            order.shuffle(&mut shared);
            order.truncate(shared.random_range(2..=order.len().clamp(2, 4)));
            communicators.extend(world.create(rank, &order)?);
        }
        communicators.push(world);
        let mut rng = context.rng(&[8, number, u64::from(rank.pid().0)]);
        let room = context.memory() as usize / 2 / ((COMMUNICATORS + 1) * VECTORS) as usize;
        let mut under_way = Vec::new();
        for turn in 0..VECTORS {
            communicators.shuffle(&mut rng);
            for communicator in &communicators {
                let collective = match number % 2 {
                    0 => Collective::Allreduce,
                    _ => [Collective::Allreduce, Collective::Bcast][turn as usize % 2],
                };
                let id = u64::from(communicator.id().0);
                let case = Case {
                    count: 300,
                    in_place: true,
                    number: 1000 * number + 50 * id + 2 * turn,
                    ..Case::new(collective, ElementType::I64)
                };
                let case = case.within(room / 2, communicator.size());
                under_way.push(driver.start(rank, communicator, &case)?);
            }
        }
        under_way.shuffle(&mut rng);
        for it in under_way {
            driver.finish(rank, it)?;
        }
        Ok(())
    })?;
    Ok(())
}

impl Mix<'_> {
    /// A communicator's collectives in a batch: the same at all its members.
    fn cases(&self, communicator: &Communicator, batch: u64) -> Vec<Case> {
        let context = self.driver.context;
        let id = u64::from(communicator.id().0);
        let mut rng = context.rng(&[4, self.number, batch, id]);
        (0..rng.random_range(1..=5u64))
            .map(|turn| {
                let element = if rng.random_bool(0.85) { HARDWARE[rng.random_range(0..HARDWARE.len())] } else { SHORT[rng.random_range(0..SHORT.len())] };
                let of_type: Vec<_> = operations(element).collect();
                let collective = if rng.random_bool(0.1) { Collective::Barrier } else { ALL[rng.random_range(0..ALL.len())] };
                let longest = if rng.random_bool(0.2) { 600 } else { 40 };
                Case {
                    operation: of_type[rng.random_range(0..of_type.len())],
                    count: rng.random_range(0..=longest),
                    root: rng.random_range(0..communicator.size()),
                    shift: (rng.random_range(0..8), rng.random_range(0..8)),
                    in_place: collective == Collective::Allreduce && rng.random_bool(0.3),
                    flavour: if rng.random_bool(0.5) {
                        Flavour::Plain
                    } else {
                        Flavour::Special
                    },
                    number: self.number * 100_000 + batch * 1000 + id * 50 + 2 * turn,
                    ..Case::new(collective, element)
                }
                .within(2048, communicator.size())
            })
            .collect()
    }

    fn batch(
        &mut self,
        rank: &mut Rank,
        communicators: &[Communicator],
        batch: u64,
    ) -> Result {
        let context = self.driver.context;
        let me = rank.pid();
        let mut rng = context.rng(&[5, self.number, batch, u64::from(me.0)]);
        // In each communicator the order is that of the others; between them it is any.
        let mut queues: Vec<(&Communicator, Vec<Case>)> = communicators
            .iter()
            .map(|communicator| {
                let mut cases = self.cases(communicator, batch);
                cases.reverse();
                (communicator, cases)
            })
            .collect();
        let data =
            |origin: GlobalRank| context.noise(&[6, self.number, batch, u64::from(origin.0)], CELL);
        rank.write(&mut self.given, 0, &data(me))?;
        rank.barrier()?;

        let mut under_way: Vec<UnderWay> = Vec::new();
        let mut transfers: Vec<Request> = Vec::new();
        let mut steps = 0;
        loop {
            queues.retain(|(_, cases)| !cases.is_empty());
            if queues.is_empty() {
                break;
            }
            let which = rng.random_range(0..queues.len());
            let (communicator, cases) = &mut queues[which];
            if let Some(case) = cases.pop() {
                under_way.push(self.driver.start(rank, communicator, &case)?);
            }
            self.in_between(rank, &mut rng, &mut under_way)?;
            if steps < rank.nprocs() {
                let at = CELL * me.0 as usize;
                transfers.push(rank.iput(&self.inbox, after(rank, steps), at, &self.given)?);
                steps += 1;
            }
        }
        let peer = after(rank, rng.random_range(0..rank.nprocs()));
        transfers.push(rank.iget(&self.outbox, peer, 0, self.gotten.clone())?);
        for step in steps..rank.nprocs() {
            let at = CELL * me.0 as usize;
            transfers.push(rank.iput(&self.inbox, after(rank, step), at, &self.given)?);
        }
        under_way.shuffle(&mut rng);
        for it in under_way {
            self.driver.finish(rank, it)?;
        }
        rank.wait_all(transfers)?;
        rank.fence()?;
        let found = rank.read_vec(&self.gotten)?;
        let expected = context.noise(&[3, self.number, u64::from(peer.0)], CELL);
        same_bytes(
            format_args!("{me}: get from {peer} in mix {}", self.number),
            &expected,
            &found,
        )?;
        let found = rank.read_vec(self.inbox.region())?;
        for (origin, found) in (0..).map(GlobalRank).zip(found.chunks(CELL)) {
            let place = format_args!("{me}: put by {origin} in mix {}", self.number);
            same_bytes(place, &data(origin), found)?;
        }
        rank.barrier()?;
        Ok(())
    }

    /// Waits a while, asks for something, or finishes it.
    fn in_between(
        &self,
        rank: &mut Rank,
        rng: &mut ChaCha8Rng,
        under_way: &mut Vec<UnderWay>,
    ) -> Result {
        match rng.random_range(0..6) {
            0 => nap(rank, rng.random_range(0..300)),
            1 if !under_way.is_empty() => {
                let which = rng.random_range(0..under_way.len());
                if under_way[which].test(rank)? {
                    let it = under_way.swap_remove(which);
                    self.driver.finish(rank, it)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The last rank does not come to a collective.
fn in_vain(
    context: &Context,
    collective: Collective,
    element: ElementType,
    of_world: bool,
) -> Result {
    let absent = GlobalRank(context.ranks() - 1);
    let options = Options::default().watchdog_cycles(PATIENCE);
    let ended = context.attempt(options, context.ranks(), |rank| {
        let world = rank.world()?;
        let communicator = if of_world { world } else { world.dup(rank)? };
        let driver = Driver {
            context,
            forced: false,
        };
        rank.barrier()?;
        if rank.pid() == absent {
            // By then the others have given up.
            nap(rank, 4 * PATIENCE)?;
        }
        driver.run(rank, &communicator, &Case::new(collective, element))
    });
    let error = match ended {
        Ok(_) => return Err(Failure::new("the run", "Error::Watchdog", "success")),
        Err(error) => match Failure::from(error) {
            Failure::Library { source, .. } => source,
            Failure::Run(JobError::Failed { source, .. }) => source,
            failure => return Err(failure),
        },
    };
    let message = error.to_string();
    let Error::Watchdog {
        awaited: Awaited::Collective(awaited),
        cycles,
        still,
        ..
    } = error
    else {
        return Err(Failure::new(
            "the run",
            "Error::Watchdog of a collective",
            message,
        ));
    };
    let number = u32::from(!of_world);
    same(
        "the collective that was awaited",
        collective,
        awaited.call.collective,
    )?;
    same("its communicator", number, awaited.call.communicator.0)?;
    let name = if of_world {
        "in the world".to_owned()
    } else {
        format!("in communicator {number}")
    };
    let missing = format!("{absent} has not arrived");
    for words in [name, missing] {
        holds(
            "what the watchdog says",
            &words,
            message.contains(&words),
            &message,
        )?;
    }
    same(
        "members that have not come",
        format!("{:?}", [absent]),
        format!("{:?}", awaited.missing),
    )?;
    ends_in_time(PATIENCE, cycles, still)?;
    works_again(context)
}

/// Begins a run as `rank`; the victim is gone in the middle of it.
fn live_or_die(
    context: &Context,
    rank: u32,
    victim: u32,
    element: ElementType,
) -> Result {
    let (board, local) = context.place(rank);
    let options = context.options();
    let mut it = Rank::attach(board, local, GlobalRank(rank), context.ranks(), &options)?;
    let world = it.world()?;
    let vector = it.alloc_from(&[1u32; 6])?;
    world.allreduce(&mut it, alcor::Operation::Sum, &vector, vector.clone())?;
    if rank == victim {
        drop(it);
        return Ok(());
    }
    let case = Case::new(Collective::Allreduce, element);
    // As itself, not as a rank's program: the library's own error is what is asked for.
    let result = match element {
        ElementType::I8 => {
            let vector = it.alloc::<i8>(case.count)?;
            world.allreduce(&mut it, case.operation, &vector, vector.clone())
        }
        _ => {
            let vector = it.alloc::<f64>(case.count)?;
            world.allreduce(&mut it, case.operation, &vector, vector.clone())
        }
    };
    Ok(result.map(drop)?)
}

/// A new run on the same boards is as if nothing had been.
fn works_again(context: &Context) -> Result {
    context.run(|rank| {
        let world = rank.world()?;
        let driver = Driver {
            context,
            forced: false,
        };
        let cases = [
            Collective::Allreduce,
            Collective::Bcast,
            Collective::Barrier,
        ];
        driver.run_all(
            rank,
            &world,
            cases.map(|collective| Case::new(collective, ElementType::F64)),
        )
    })?;
    Ok(())
}
