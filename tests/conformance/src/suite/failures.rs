//! Runs that survive deaths: operations with a dead rank fail at each rank that calls them, all others go on, and the survivors
//! agree and continue in a communicator of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use alcor::{
    Agreement, Board, BoardLayer, Causes, Cluster, Communicator, Cycle, Error, FlowControl, GlobalRank, JobError, LocalRank, NodeAddr,
    Operation, Options, PageOffset, Port, PortLayer, Queues, Rank, Rights, Source, Tag, Wake,
};
use alcor_test::{Context, Result, alcor_test, fails, holds, same};
use rand::Rng;

use super::registration::idle;

/// Cycles between two looks for deaths.
const DETECTION: u64 = 500;

fn options() -> Options {
    Options::default().detect_deaths(DETECTION)
}

/// The error with which a rank of these tests dies.
fn dies<T>() -> Result<T> {
    Err(Error::program("the rank dies").into())
}

/// Checks that the operation has failed because of these deaths.
fn is_lost<T>(what: &str, victims: &[GlobalRank], result: alcor::Result<T>) -> Result {
    let names = |error: &Error| matches!(error, Error::ProcessFailed { failed, .. } if failed == victims);
    fails(what, &format!("ProcessFailed that names {victims:?}"), names, result)
}

/// Waits until the deaths of so many ranks are known.
fn until_known(rank: &mut Rank, deaths: usize) -> Result {
    while rank.failed()?.len() < deaths {}
    Ok(())
}

/// Runs `program` with the victims, which die in it. The values of the others are equal.
fn survive<T: Send + PartialEq + std::fmt::Debug>(
    context: &Context,
    options: Options,
    victims: &[GlobalRank],
    program: impl Fn(&mut Rank) -> Result<T> + Sync,
) -> Result {
    let results = context.attempt_each(context.cluster(), options, program)?;
    let (mut values, mut errors) = (Vec::new(), Vec::new());
    for (rank, result) in (0..).map(GlobalRank).zip(results) {
        match result {
            Ok(value) => values.push(value),
            Err(JobError::Failed { source: Error::Program { .. }, .. }) if victims.contains(&rank) => {}
            Err(error) => errors.push(error.to_string()),
        }
    }
    // The death of a rank by an error may be the cause of errors of other ranks.
    holds("errors of survivors", "none", errors.is_empty(), errors.join("; "))?;
    same("survivors", context.ranks() - victims.len() as u32, values.len() as u32)?;
    let first = values.first();
    holds("values of survivors", format_args!("all {first:?}"), values.iter().all(|value| Some(value) == first), format_args!("{values:?}"))
}

/// The sum of the members' numbers, by an allreduce.
fn sum(rank: &mut Rank, communicator: &Communicator) -> Result<u32, Error> {
    let mut sum = [rank.pid().0 + 1];
    communicator.allreduce_in_place(rank, Operation::Sum, &mut sum)?;
    Ok(sum[0])
}

fn expected_sum(communicator: &Communicator) -> u32 {
    communicator.members().iter().map(|member| member.0 + 1).sum()
}

/// The survivors shrink the communicator, and reduce in the new one.
fn go_on(rank: &mut Rank, old: &Communicator, victims: &[GlobalRank]) -> Result<Communicator> {
    let new = old.shrink(rank)?;
    let expected: Vec<GlobalRank> = old.members().iter().filter(|member| !victims.contains(member)).copied().collect();
    same("members of the new communicator", &expected[..], new.members())?;
    same("a sum of the survivors", expected_sum(&new), sum(rank, &new)?)?;
    new.barrier(rank)?;
    Ok(new)
}

fn victims_of(context: &Context) -> [GlobalRank; 2] {
    [GlobalRank(0), GlobalRank(context.ranks() - 1)]
}

/// A rank dies, and all others know of it. All that needs the rank fails, all else goes on.
#[alcor_test(ranks >= 2, needs = [Rma, Messages])]
fn known(context: &Context) -> Result {
    for victim in victims_of(context) {
        for software in [false, true] {
            survive(context, options().software_collectives(software), &[victim], |rank| {
                let me = rank.pid();
                let memory = rank.alloc_from(&vec![0u32; context.ranks() as usize])?;
                let window = rank.register(&memory, Rights::ALL)?;
                let world = rank.world()?;
                let others = world.split(rank, (me != victim).then_some(0), 0)?;
                rank.barrier()?;
                if me == victim {
                    return dies();
                }
                until_known(rank, 1)?;
                same("dead ranks", vec![victim], rank.failed()?)?;
                let more = rank.alloc::<u32>(1)?;
                is_lost("a barrier of all ranks", &[victim], rank.barrier())?;
                is_lost("a registration", &[victim], rank.register(&more, Rights::ALL))?;
                is_lost("a barrier of the world", &[victim], world.barrier(rank))?;
                is_lost("a sum of the world", &[victim], sum(rank, &world))?;
                is_lost("a split of the world", &[victim], world.split(rank, Some(0), 0))?;
                is_lost("a put", &[victim], rank.put(&window, victim, 0, &[1]))?;
                is_lost("a get", &[victim], rank.get(&window, victim, 0, &mut [1]))?;
                is_lost("an atomic operation", &[victim], rank.fetch_add(&window, victim, 0, 1))?;
                is_lost("a send", &[victim], rank.ssend(victim, 0, &[1u32]))?;
                is_lost("a receive", &[victim], rank.recv(victim, 0, &mut [1u32]))?;
                is_lost("a probe", &[victim], rank.probe(victim, 0))?;
                is_lost("a receive from any source", &[victim], rank.recv(Source::Any, 0, &mut [1u32]))?;
                let exchange = rank.sendrecv(victim, 0, &[1u32], Source::Any, 0, &mut [1u32]);
                is_lost("an exchange", &[victim], exchange)?;
                if let Some(others) = &others {
                    same("a sum without the dead rank", expected_sum(others), sum(rank, others)?)?;
                }
                let new = go_on(rank, &world, &[victim])?;
                // Receives from any source go on now, so only the send fails.
                let exchange = rank.sendrecv(victim, 0, &[1u32], Source::Any, 0, &mut [1u32]);
                is_lost("an exchange after the shrink", &[victim], exchange)?;
                let exchange = rank.sendrecv_replace(victim, 0, Source::Any, 0, &mut [1u32]);
                is_lost("an exchange in place after the shrink", &[victim], exchange)?;
                for &peer in new.members() {
                    rank.put(&window, peer, me.0 as usize, &[me.0 + 1])?;
                    let mut found = [0];
                    rank.get(&window, peer, me.0 as usize, &mut found)?;
                    same("the word that was put", me.0 + 1, found[0])?;
                }
                // The shrink has acknowledged the death.
                let (place, size) = (new.rank(), new.size());
                let word = [me.0];
                let send = new.isend(rank, (place + 1) % size, 7, &word)?;
                let mut found = [0];
                new.recv(rank, Source::Any, Tag::Any, &mut found)?;
                same("a message of a survivor", new.members()[((place + size - 1) % size) as usize].0, found[0])?;
                rank.wait(send)?;
                new.barrier(rank)?;
                if let Some(others) = others {
                    others.free(rank)?;
                }
                world.free(rank).expect_err("the world can't be freed");
                Ok(rank.read_vec(&memory)?.iter().sum::<u32>())
            })?;
        }
    }
    Ok(())
}

/// A rank dies while all others wait for it, each time in another operation.
#[alcor_test(ranks >= 2, needs = [Rma, Messages])]
fn awaited(context: &Context) -> Result {
    type Wait = fn(&mut Rank, &Communicator, GlobalRank) -> alcor::Result<()>;
    let waits: [(&str, Wait); 9] = [
        ("a barrier of all ranks", |rank, _, _| rank.barrier()),
        ("a registration", |rank, _, _| {
            let memory = rank.alloc::<u8>(64)?;
            rank.register(&memory, Rights::ALL).map(drop)
        }),
        ("a barrier", |rank, world, _| world.barrier(rank).map(drop)),
        ("a sum", |rank, world, _| sum(rank, world).map(drop)),
        ("a long sum", |rank, world, _| {
            let mut vector = vec![1u32; 2000];
            world.allreduce_in_place(rank, Operation::Sum, &mut vector).map(drop)
        }),
        ("a broadcast", |rank, world, victim| world.bcast(rank, victim.0, &mut [0u64; 30]).map(drop)),
        ("a receive", |rank, _, victim| rank.recv(victim, 0, &mut [0u8]).map(drop)),
        ("a receive from any source", |rank, _, _| rank.recv(Source::Any, 0, &mut [0u8]).map(drop)),
        ("a synchronous send", |rank, _, victim| rank.ssend(victim, 0, &[0u8; 1000])),
    ];
    for (victim, software) in victims_of(context).into_iter().zip([false, true]) {
        for (what, wait) in waits {
            survive(context, options().software_collectives(software), &[victim], |rank| {
                let world = rank.world()?;
                rank.barrier()?;
                if rank.pid() == victim {
                    idle(rank, 1_500)?;
                    return dies();
                }
                is_lost(what, &[victim], wait(rank, &world, victim))?;
                go_on(rank, &world, &[victim])?;
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// A rank dies right after an operation, with others of its operations under way. The others' operations end with success or
/// because of the death.
#[alcor_test(ranks >= 2, needs = [Rma, Messages])]
fn behind_an_operation(context: &Context) -> Result {
    for victim in victims_of(context) {
        survive(context, options(), &[victim], |rank| {
            let me = rank.pid();
            let world = rank.world()?;
            let memory = rank.alloc_from(&vec![0u32; context.ranks() as usize])?;
            let window = rank.register(&memory, Rights::ALL)?;
            let block = rank.alloc_from(&vec![me.0; 600])?;
            let entered = world.barrier(rank);
            if me == victim {
                for peer in (0..context.ranks()).map(GlobalRank).filter(|&peer| peer != victim) {
                    drop(rank.isend(peer, 1, &block)?);
                    drop(rank.iput(&window, peer, me.0 as usize, &[1])?);
                }
                drop(world.ibarrier(rank)?);
                return dies();
            }
            let may_fail = |what: &str, result: alcor::Result<()>| match result {
                Ok(()) => Ok(()),
                failed => is_lost(what, &[victim], failed),
            };
            may_fail("the barrier before", entered.map(drop))?;
            for _ in 0..20 {
                may_fail("a put", rank.put(&window, victim, me.0 as usize, &[1]))?;
                may_fail("a short send", rank.send(victim, 2, &[1u8]))?;
                let mut found = [0];
                may_fail("a get", rank.get(&window, victim, 0, &mut found))?;
            }
            may_fail("a receive", rank.recv(victim, 1, &mut [0u32; 600]).map(drop))?;
            may_fail("a barrier", world.barrier(rank).map(drop))?;
            until_known(rank, 1)?;
            go_on(rank, &world, &[victim])?;
            Ok(())
        })?;
    }
    Ok(())
}

/// The time from a death until a rank that waits for the dead rank learns of it is at most the option's, and some hundred cycles.
#[alcor_test(ranks >= 2, needs = [Rma, Messages], steady)]
fn detection_time(context: &Context) -> Result {
    let victim = GlobalRank(1);
    for cycles in [200, 5_000, 40_000] {
        let results = context.attempt_each(context.cluster(), Options::default().detect_deaths(cycles), |rank| {
            rank.barrier()?;
            if rank.pid() == victim {
                idle(rank, 10_000)?;
                return dies();
            }
            let before = rank.now()?.0 + 10_000;
            is_lost("a receive", &[victim], rank.recv(victim, 0, &mut [0u8]))?;
            let after = rank.now()?.0;
            holds("cycles to detect a death", format_args!("up to {cycles} and 800"), after <= before + cycles + 800, after - before)
        })?;
        for result in results.into_iter().filter(|result| !matches!(result, Err(JobError::Failed { source: Error::Program { .. }, .. }))) {
            result?;
        }
    }
    Ok(())
}

/// Members wait for a member that has revoked the communicator.
#[alcor_test(ranks >= 2, needs = [Rma, Messages])]
fn revocation(context: &Context) -> Result {
    let revoked = |error: &Error| matches!(error, Error::Revoked { .. });
    for software in [false, true] {
        survive(context, options().software_collectives(software), &[], |rank| {
            let world = rank.world()?;
            let is_first = rank.pid() == GlobalRank(0);
            // With several contexts, all of them are revoked.
            let mut now = world.dup_with_queues(rank, Queues::ByTag(3))?;
            for kind in 0..4 {
                if is_first {
                    idle(rank, 1_000)?;
                    now.revoke(rank)?;
                    fails("a sum", "Revoked", revoked, sum(rank, &now))?;
                } else if kind == 0 {
                    fails("a sum", "Revoked", revoked, sum(rank, &now))?;
                } else if kind == 1 {
                    fails("a receive", "Revoked", revoked, now.recv(rank, 0, 2, &mut [0u8]))?;
                } else if kind == 2 {
                    fails("a receive from any source", "Revoked", revoked, now.recv(rank, Source::Any, 0, &mut [0u8]))?;
                } else {
                    fails("a probe", "Revoked", revoked, now.probe(rank, 0, 1))?;
                }
                fails("a later barrier", "Revoked", revoked, now.barrier(rank))?;
                fails("a later send", "Revoked", revoked, now.send(rank, 0, 0, &[0u8]))?;
                same("an agreement", 3, now.agree(rank, 7 - 4 * u32::from(is_first))?.flags)?;
                let next = go_on(rank, &now, &[])?;
                now.free(rank)?;
                now = next;
                same("a sum of the world", expected_sum(&world), sum(rank, &world)?)?;
            }
            rank.barrier()?;
            Ok(())
        })?;
    }
    Ok(())
}

/// The root revokes the communicator while a long collective in software is under way: a member has all of the root's data, or
/// gets the error.
#[alcor_test(ranks >= 2, needs = [Rma, Messages])]
fn revocation_of_a_long_collective(context: &Context) -> Result {
    survive(context, options().software_collectives(true), &[], |rank| {
        let bytes = rank.board().node_bytes as usize / 4;
        let world = rank.world()?;
        let now = world.dup(rank)?;
        let is_root = rank.pid() == GlobalRank(0);
        let mut data = vec![if is_root { 7 } else { 0u8 }; bytes];
        let done = if is_root {
            let request = now.ibcast(rank, 0, &mut data)?;
            now.revoke(rank)?;
            rank.wait(request)
        } else {
            now.bcast(rank, 0, &mut data).map(drop)
        };
        match done {
            Ok(()) => same("elements that are not the root's", 0, data.iter().filter(|&&element| element != 7).count())?,
            Err(Error::Revoked { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        rank.barrier()?;
        Ok(())
    })
}

/// A receiver keeps a long message at its sender, which revokes the communicator.
#[alcor_test(ranks >= 2, needs = [Rma, Messages])]
fn revocation_of_a_kept_message(context: &Context) -> Result {
    let is_revoked = |error: &Error| matches!(error, Error::Revoked { .. });
    survive(context, options(), &[], |rank| {
        let world = rank.world()?;
        let now = world.dup(rank)?;
        let (me, long) = (rank.pid().0, vec![7u8; 4096]);
        if me == 0 {
            let send = now.isend(rank, 1, 5, &long[..])?;
            rank.barrier()?;
            now.revoke(rank)?;
            fails("the send", "Revoked", is_revoked, rank.wait(send))?;
        } else if me == 1 {
            while now.improbe(rank, 0, 5)?.is_none() {}
            rank.barrier()?;
            fails("the receive", "Revoked", is_revoked, now.recv(rank, 0, 5, &mut vec![0u8; 4096]))?;
        } else {
            rank.barrier()?;
        }
        // Messages of other communicators go on, the kept ones too.
        if me == 0 {
            world.send(rank, 1, 6, &long[..])?;
        } else if me == 1 {
            let kept = loop {
                if let Some(found) = world.improbe(rank, 0, 6)? {
                    break found;
                }
            };
            let mut received = vec![0u8; 4096];
            kept.recv(rank, &mut received)?;
            same("wrong elements", 0, received.iter().filter(|&&element| element != 7).count())?;
        }
        rank.barrier()?;
        Ok(())
    })
}

/// Messages of a revoked communicator that their receiver has refused hold up no later ones.
#[alcor_test(ranks >= 2, needs = [Rma, Messages])]
fn revocation_of_refused_messages(context: &Context) -> Result {
    let is_revoked = |error: &Error| matches!(error, Error::Revoked { .. });
    let count = context.info().message_depth.min(128);
    let options = options().flow_control(FlowControl::GoBackN);
    survive(context, options, &[], |rank| {
        let world = rank.world()?;
        let now = world.dup(rank)?;
        let me = rank.pid().0;
        let numbers: Vec<u32> = (0..count).collect();
        if me == 0 {
            rank.barrier()?;
            now.revoke(rank)?;
            for source in (1..rank.nprocs()).map(GlobalRank) {
                for number in 0..count {
                    let mut found = [0];
                    world.recv(rank, source.0, 6, &mut found)?;
                    same(format_args!("a message of {source}"), number, found[0])?;
                }
            }
        } else {
            let sends = (0..count as usize).map(|number| now.isend(rank, 0, 5, &numbers[number..=number]));
            let sends = sends.collect::<alcor::Result<Vec<_>>>()?;
            rank.barrier()?;
            for send in sends {
                // The library of the receiver may have taken the message over before.
                match rank.wait(send) {
                    Ok(()) => {}
                    failed => fails("the send", "Revoked", is_revoked, failed)?,
                }
            }
            for number in 0..count {
                world.send(rank, 0, 6, &[number])?;
            }
        }
        rank.barrier()?;
        Ok(())
    })
}

/// A board whose ranks can be made to die at any access of their ports.
struct MortalBoard {
    below: Arc<dyn Board>,
    fuses: Arc<[AtomicU32]>,
    first: u32,
}

impl BoardLayer for MortalBoard {
    fn below(&self) -> &Arc<dyn Board> {
        &self.below
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> alcor::Result<Box<dyn Port>> {
        Ok(Box::new(MortalPort {
            below: Arc::clone(&self.below).attach(rank)?,
            fuses: Arc::clone(&self.fuses),
            rank: (self.first + rank.0) as usize,
        }))
    }
}

struct MortalPort {
    below: Box<dyn Port>,
    /// Accesses that each rank has left.
    fuses: Arc<[AtomicU32]>,
    rank: usize,
}

impl MortalPort {
    fn burn(&mut self) -> alcor::Result<&mut dyn Port> {
        let spend = |left: u32| (left != u32::MAX).then(|| left.saturating_sub(1));
        let spent = self.fuses[self.rank].fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend);
        match spent {
            Ok(0) => Err(Error::program("the rank dies")),
            _ => Ok(&mut *self.below),
        }
    }
}

impl PortLayer for MortalPort {
    fn below(&mut self) -> &mut dyn Port {
        &mut *self.below
    }

    fn write32(&mut self, offset: PageOffset, value: u32) -> alcor::Result<()> {
        self.burn()?.write32(offset, value)
    }

    fn read32(&mut self, offset: PageOffset) -> alcor::Result<u32> {
        self.burn()?.read32(offset)
    }

    fn write_memory(&mut self, at: NodeAddr, data: &[u8]) -> alcor::Result<()> {
        self.burn()?.write_memory(at, data)
    }

    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> alcor::Result<()> {
        self.burn()?.read_memory(at, data)
    }

    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> alcor::Result<Wake> {
        self.burn()?.wait(awaited, deadline)
    }
}

/// The cluster under test, with accesses that the ranks have left.
fn mortal(context: &Context) -> (Cluster, Arc<[AtomicU32]>) {
    let fuses: Arc<[AtomicU32]> = (0..context.ranks()).map(|_| AtomicU32::new(u32::MAX)).collect();
    let ranks = context.info().ranks;
    let cluster = context.cluster().layered(|number, below| MortalBoard {
        below,
        fuses: Arc::clone(&fuses),
        first: number as u32 * ranks,
    });
    (cluster, fuses)
}

/// Lights the fuses of the victims and runs `program`. Returns the values of the ranks that live, which are not less than those
/// that are no victims.
fn with_fuses<T: Send>(
    context: &Context,
    options: Options,
    victims: &[(GlobalRank, u32)],
    program: impl Fn(&mut Rank) -> Result<T> + Sync,
) -> Result<Vec<(GlobalRank, T)>> {
    let (cluster, fuses) = mortal(context);
    let results = context.attempt_each(&cluster, options, |rank| {
        let mine = victims.iter().find(|(victim, _)| *victim == rank.pid());
        match rank.barrier() {
            Ok(()) | Err(Error::ProcessFailed { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(&(_, accesses)) = mine {
            fuses[rank.pid().0 as usize].store(accesses, Ordering::Relaxed);
        }
        program(rank)
    })?;
    let (mut values, mut errors) = (Vec::new(), Vec::new());
    for (rank, result) in (0..).map(GlobalRank).zip(results) {
        let is_victim = victims.iter().any(|(victim, _)| *victim == rank);
        match result {
            Ok(value) => values.push((rank, value)),
            Err(error) if is_victim && error.to_string().contains("the rank dies") => {}
            Err(error) => errors.push(error.to_string()),
        }
    }
    holds("errors of survivors", "none", errors.is_empty(), errors.join("; "))?;
    Ok(values)
}

fn all_equal<T: PartialEq + std::fmt::Debug>(place: &str, values: &[(GlobalRank, T)]) -> Result {
    let is_first = |value: &(GlobalRank, T)| value.1 == values[0].1;
    holds(place, "the same at all survivors", values.iter().all(is_first), format_args!("{values:?}"))
}

/// Ranks die at some access in an agreement. All survivors agree on the same flags and deaths, also if one of those that died
/// had returned.
#[alcor_test(ranks >= 2, needs = [Rma, Messages])]
fn in_an_agreement(context: &Context) -> Result {
    let ranks = context.ranks();
    for round in 0..context.scale(16, 120) {
        let mut rng = context.rng(&[1, round]);
        let first = rng.random_range(0..ranks.min(2));
        let mut victims = vec![(GlobalRank(first), rng.random_range(1..100))];
        if ranks > 2 && rng.random() {
            victims.push((GlobalRank((first + 1) % ranks), rng.random_range(1..200)));
        }
        let agreed = with_fuses(context, options(), &victims, |rank| {
            let world = rank.world()?;
            let Agreement { flags, failed, .. } = world.agree(rank, !(1 << rank.pid().0))?;
            let second = world.agree(rank, 1)?;
            let new = world.shrink(rank)?;
            Ok((flags, failed, second.failed, new.members().to_vec()))
        })?;
        all_equal(&format!("agreements of round {round}"), &agreed)?;
        for (_, (flags, failed, later, members)) in &agreed {
            let missing = |rank: &GlobalRank| flags & 1 << rank.0 != 0;
            let absent: Vec<GlobalRank> = (0..ranks).map(GlobalRank).filter(missing).collect();
            holds("ranks without a vote", format_args!("among {failed:?}"), absent.iter().all(|rank| failed.contains(rank)), format_args!("{absent:?}"))?;
            holds("deaths of the second agreement", format_args!("with {failed:?}"), failed.iter().all(|rank| later.contains(rank)), format_args!("{later:?}"))?;
            holds("members", format_args!("without {later:?}"), later.iter().all(|rank| !members.contains(rank)), format_args!("{members:?}"))?;
        }
    }
    Ok(())
}

/// Random programs: collectives, messages and puts on a communicator. Ranks die at some access. After each operation the members
/// agree on its success. After a failure the survivors shrink the communicator and repeat the operation.
#[alcor_test(ranks >= 2, needs = [Rma, Messages])]
fn random(context: &Context) -> Result {
    let ranks = context.ranks();
    for round in 0..context.scale(6, 60) {
        let mut rng = context.rng(&[2, round]);
        let deaths = rng.random_range(1..ranks.min(3));
        let first = rng.random_range(0..ranks);
        let victims: Vec<(GlobalRank, u32)> = (0..deaths)
            .map(|death| (GlobalRank((first + death) % ranks), rng.random_range(1..1500)))
            .collect();
        let operations: Vec<(u8, usize)> = (0..8).map(|_| (rng.random_range(0..5), rng.random_range(1..300))).collect();
        let options = options().software_collectives(rng.random_bool(0.3));
        let histories = with_fuses(context, options, &victims, |rank| history(rank, &operations))?;
        all_equal(&format!("histories of round {round}"), &histories)?;
    }
    Ok(())
}

/// The members and the results of each operation.
fn history(rank: &mut Rank, operations: &[(u8, usize)]) -> Result<Vec<(Vec<GlobalRank>, u32)>> {
    let mut now = rank.world()?;
    let memory = rank.alloc_from(&vec![0u32; 300])?;
    let window = match rank.register(&memory, Rights::ALL) {
        Ok(window) => Some(window),
        Err(Error::ProcessFailed { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    // A death may come between the ends of the registration.
    let has_windows = now.agree(rank, window.is_some().into())?.flags == 1;
    let mut history = Vec::new();
    for &(operation, length) in operations {
        loop {
            let members = now.members().to_vec();
            let (place, size) = (now.rank(), now.size());
            let next = (place + 1) % size;
            let mut vector = vec![rank.pid().0 + 1; length];
            let done = match operation {
                0 => now.barrier(rank).map(drop),
                1 => now.allreduce_in_place(rank, Operation::Sum, &mut vector).map(drop),
                2 => now.bcast(rank, length as u32 % size, &mut vector).map(drop),
                3 => now.sendrecv(rank, (next, 3, &vector.clone()), (Source::Any, 3, &mut vector)).map(drop),
                _ => match &window {
                    Some(window) if has_windows => {
                        let target = members[next as usize];
                        rank.put(window, target, 0, &vector).and_then(|()| rank.get(window, target, 0, &mut vector))
                    }
                    _ => Ok(()),
                },
            };
            let is_done = match done {
                Ok(()) => true,
                Err(Error::ProcessFailed { .. } | Error::Revoked { .. }) => false,
                Err(error) => return Err(error.into()),
            };
            if !is_done {
                now.revoke(rank)?;
            }
            let agreed = now.agree(rank, is_done.into())?;
            if agreed.flags == 1 && agreed.failed.is_empty() {
                let own = rank.pid().0 + 1;
                let all = members.iter().map(|member| member.0 + 1).sum::<u32>();
                let expected = match operation {
                    1 => all,
                    2 => members[length % size as usize].0 + 1,
                    3 => members[((place + size - 1) % size) as usize].0 + 1,
                    _ => own,
                };
                same("elements of the result", vec![expected; length], vector)?;
                history.push((members, if operation == 1 || operation == 2 { expected } else { 0 }));
                break;
            }
            now = now.shrink(rank)?;
        }
    }
    Ok(history)
}
