//! Communicators: how they are made of each other, side by side, and out of rows.

use std::sync::Mutex;

use alcor::{
    Collective, Communicator, CommunicatorId, Difference, ElementType, Error, GlobalRank,
    Operation, Options, Path, Rank, SoftwareReason, Stage,
};
use alcor_test::{At, Context, Failure, Result, alcor_test, fails, holds, same};
use rand::Rng;
use rand::seq::SliceRandom;

use super::collectives::drive::{ALL, Case, Driver};
use super::collectives::on_world;
use super::collectives::sample::{Flavour, HARDWARE, operations};

/// Splits by color and key: who belongs to whom, and in which order.
#[alcor_test(ranks >= 1)]
fn split(context: &Context) -> Result {
    on_world(context, |driver, rank, world| {
        let me = rank.pid().0;
        let everybody = 0..rank.nprocs();
        for colors in 1..=3.min(rank.nprocs()) {
            for backwards in [false, true] {
                let key = |of: u32| if backwards { -(of as i32) } else { 0 };
                let made = world.split(rank, Some(me % colors), key(me))?;
                let mut members: Vec<GlobalRank> = everybody
                    .clone()
                    .filter(|of| of % colors == me % colors)
                    .map(GlobalRank)
                    .collect();
                if backwards {
                    members.reverse();
                }
                let made = expect_members(rank, made, &members)?;
                a_few(driver, rank, &made, u64::from(colors))?;
                made.free(rank)?;
            }
        }
        // Only even ranks name a color, and keys matter more than places.
        let color = me.is_multiple_of(2).then_some(9);
        let made = world.split(
            rank,
            color,
            if me == 0 {
                i32::MAX
            } else {
                i32::MIN + me as i32
            },
        )?;
        let mut members: Vec<GlobalRank> =
            everybody.filter(|of| of % 2 == 0).map(GlobalRank).collect();
        members.rotate_left(1);
        match color {
            None => same(
                format_args!("{}: a split without a color", rank.pid()),
                true,
                made.is_none(),
            )?,
            Some(_) => {
                let made = expect_members(rank, made, &members)?;
                a_few(driver, rank, &made, 5)?;
            }
        }
        Ok(())
    })
}

/// Communicators of every size, of ranks in any order.
#[alcor_test(ranks >= 1)]
fn shapes(context: &Context) -> Result {
    let each = context.scale(1, 12);
    on_world(context, |driver, rank, world| {
        for size in 1..=rank.nprocs() {
            for number in 0..each {
                let mut order: Vec<GlobalRank> = (0..rank.nprocs()).map(GlobalRank).collect();
                order.shuffle(&mut context.rng(&[1, u64::from(size), number]));
                let members = &order[..size as usize];
                let made = world.create(rank, members)?;
                if !members.contains(&rank.pid()) {
                    same(
                        format_args!("{}: a communicator of others", rank.pid()),
                        true,
                        made.is_none(),
                    )?;
                    continue;
                }
                let made = expect_members(rank, made, members)?;
                tree_is_documented(context, &made)?;
                for (turn, collective) in (0..).zip(ALL) {
                    let element = HARDWARE[(turn + size as usize) % HARDWARE.len()];
                    let number = number * 100 + 2 * turn as u64 + 1000 * u64::from(size);
                    let case = Case {
                        count: 11,
                        number,
                        root: turn as u32 % size,
                        ..Case::new(collective, element)
                    };
                    driver.run(rank, &made, &case)?;
                }
                made.free(rank)?;
            }
        }
        Ok(())
    })
}

/// The world in reverse and in random orders: reductions go by the tree of each.
#[alcor_test(ranks >= 2)]
fn orders(context: &Context) -> Result {
    let rounds = context.scale(3, 20);
    on_world(context, |driver, rank, world| {
        for round in 0..rounds {
            let mut order: Vec<GlobalRank> = (0..rank.nprocs()).rev().map(GlobalRank).collect();
            if round > 0 {
                order.shuffle(&mut context.rng(&[2, round]));
            }
            let made = world.create(rank, &order)?;
            let made = expect_members(rank, made, &order)?;
            tree_is_documented(context, &made)?;
            for (turn, collective) in (0..).zip(ALL) {
                let case = Case {
                    number: 2 * turn,
                    count: 9,
                    root: turn as u32 % made.size(),
                    ..Case::new(collective, ElementType::F32)
                };
                driver.run(rank, &made, &case)?;
            }
            made.free(rank)?;
        }
        Ok(())
    })
}

/// Communicators that share no rank, and others that share boards, all at work at once.
#[alcor_test(ranks >= 2)]
fn side_by_side(context: &Context) -> Result {
    let rounds = context.scale(3, 30);
    on_world(context, |driver, rank, world| {
        let me = rank.pid().0;
        let halves = expect(world.split(rank, Some(me % 2), 0)?)?;
        let pairs = expect(world.split(rank, Some(me / 2), -(me as i32))?)?;
        for round in 0..rounds {
            let mut under_way = Vec::new();
            for turn in 0..3u64 {
                // Ranks differ in their order of communicators.
                for which in (0..3).map(|step| (step + u64::from(me)) % 3) {
                    let communicator = [world, &halves, &pairs][which as usize];
                    let number = 100 * round + 10 * which + 2 * turn;
                    let collective = ALL[(round + turn + which) as usize % ALL.len()];
                    let element = HARDWARE[(round + which) as usize % HARDWARE.len()];
                    let case = Case {
                        number,
                        count: 17,
                        ..Case::new(collective, element)
                    };
                    under_way.push(driver.start(rank, communicator, &case)?);
                }
            }
            under_way.shuffle(&mut context.rng(&[3, round, u64::from(me)]));
            for it in under_way {
                driver.finish(rank, it)?;
            }
        }
        pairs.free(rank)?;
        halves.free(rank).at("freeing")
    })
}

/// A copy has the same members and is another communicator: order between the two is free.
#[alcor_test(ranks >= 1)]
fn dup(context: &Context) -> Result {
    on_world(context, |driver, rank, world| {
        let copy = world.dup(rank)?;
        let copy = expect_members(rank, Some(copy), world.members())?;
        holds(
            "the copy's number",
            "another than the world's",
            copy.id() != world.id(),
            copy.id(),
        )?;
        let case = |number| Case {
            number,
            count: 21,
            ..Case::new(Collective::Allreduce, ElementType::F64)
        };
        for round in 0..4 {
            let (first, second) = match rank.pid().0 % 2 {
                0 => (
                    driver.start(rank, world, &case(round * 10))?,
                    driver.start(rank, &copy, &case(round * 10 + 4))?,
                ),
                _ => {
                    let second = driver.start(rank, &copy, &case(round * 10 + 4))?;
                    (driver.start(rank, world, &case(round * 10))?, second)
                }
            };
            driver.finish(rank, second)?;
            driver.finish(rank, first)?;
        }
        // Of a communicator that was made, others can be made in turn, and outlive it.
        let backwards = expect(copy.split(rank, Some(0), -(rank.pid().0 as i32))?)?;
        copy.free(rank)?;
        a_few(driver, rank, &backwards, 50)
    })
}

/// Once a communicator is freed, no handle of it is of use; the world can't be freed.
#[alcor_test(ranks >= 1)]
fn freed(context: &Context) -> Result {
    on_world(context, |driver, rank, world| {
        let copy = world.dup(rank)?;
        let other = copy.clone();
        copy.free(rank)?;
        let bad = |error: &Error| matches!(error, Error::BadCommunicator { .. });
        fails(
            "a barrier of a freed communicator",
            "BadCommunicator",
            bad,
            other.barrier(rank),
        )?;
        fails("freeing again", "BadCommunicator", bad, other.free(rank))?;
        fails(
            "freeing the world",
            "BadCommunicator",
            bad,
            world.clone().free(rank),
        )?;
        a_few(driver, rank, world, 1)
    })
}

/// A handle is its rank's own.
#[alcor_test(ranks >= 2)]
fn foreign_handle(context: &Context) -> Result {
    let handles = Mutex::new(Vec::new());
    context.run(|rank| {
        let world = rank.world()?;
        let lock = || {
            handles
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        };
        lock().push((rank.pid(), world.clone()));
        rank.barrier()?;
        let foreign = lock()
            .iter()
            .find(|(of, _)| *of != rank.pid())
            .map(|(_, handle)| handle.clone());
        let bad = |error: &Error| matches!(error, Error::BadCommunicator { .. });
        fails(
            "the handle of another rank",
            "BadCommunicator",
            bad,
            expect(foreign)?.barrier(rank),
        )?;
        rank.barrier()?;
        a_few(
            Driver {
                context,
                forced: false,
            },
            rank,
            &world,
            1,
        )
    })?;
    Ok(())
}

/// Lists that can't be, and lists that differ.
#[alcor_test(ranks >= 2)]
fn bad_lists(context: &Context) -> Result {
    on_world(context, |driver, rank, world| {
        let last = GlobalRank(rank.nprocs() - 1);
        let none = |error: &Error| matches!(error, Error::NoSuchMember { .. });
        let stranger = GlobalRank(rank.nprocs());
        fails(
            "a rank that is none",
            "NoSuchMember",
            none,
            world.create(rank, &[last, stranger]),
        )?;
        fails(
            "a rank twice",
            "RepeatedMember",
            |error| matches!(error, Error::RepeatedMember { found, .. } if *found == last.0),
            world.create(rank, &[last, GlobalRank(0), last]),
        )?;
        let list = if rank.pid() == last { [GlobalRank(0), last] } else { [last, GlobalRank(0)] };
        let differ = |error: &Error| {
            matches!(
                error,
                Error::CollectivesDiffer {
                    difference: Difference::Members,
                    ..
                }
            )
        };
        fails(
            "lists that differ",
            "CollectivesDiffer",
            differ,
            world.create(rank, &list),
        )?;
        let differ = |error: &Error| {
            matches!(
                error,
                Error::CollectivesDiffer {
                    difference: Difference::Collective,
                    ..
                }
            )
        };
        let result = if rank.pid() == last { world.dup(rank).map(drop) } else { world.split(rank, None, 0).map(drop) };
        fails(
            "a split that meets a dup",
            "CollectivesDiffer",
            differ,
            result,
        )?;
        let result = if rank.pid() == last { world.barrier(rank).map(drop) } else { world.dup(rank).map(drop) };
        fails(
            "a dup that meets a barrier",
            "CollectivesDiffer",
            differ,
            result,
        )?;
        a_few(driver, rank, world, 1)
    })
}

/// When all rows are taken, communicators run in software, with the same result and a receipt
/// that says so; a row that is given back is used again.
#[alcor_test(ranks >= 2)]
fn out_of_rows(context: &Context) -> Result {
    on_world(context, |driver, rank, world| {
        let has_switch = context.info().has_switch();
        // Two ranks are quick to make copies of what they have.
        let color = rank.pid().0 == 0 || rank.pid().0 == rank.nprocs() - 1;
        let Some(pair) = world.split(rank, color.then_some(0), 0)? else {
            return Ok(());
        };
        let rows = context.info().communicators as usize;
        let mut made = vec![pair];
        // The world's, and the barrier's.
        let mut used = vec![0, (rows as u32).wrapping_sub(1)];
        while has_switch && used.len() < rows {
            let newest = expect(made.last().cloned())?;
            let row = newest
                .row()
                .ok_or_else(|| Failure::new("a row", "one that is free", "none"))?;
            same(
                format_args!("whether row {row} is in use already"),
                false,
                used.contains(&row),
            )?;
            used.push(row);
            if used.len() < rows {
                made.push(made[0].dup(rank)?);
            }
        }
        let without = made[0].dup(rank)?;
        same("row of one too many", None, without.row())?;
        for (number, collective) in (0..).zip(ALL) {
            let case = Case {
                number: 2 * number,
                ..Case::new(collective, ElementType::F64)
            };
            driver.run(rank, &without, &case)?;
        }
        let strict = without.strict(true);
        let reason = if has_switch { SoftwareReason::NoRow } else { SoftwareReason::NoSwitch };
        not_in_hardware(strict.barrier(rank), reason)?;
        for (number, one) in (0..).zip(made.iter().step_by(7)) {
            a_few(driver, rank, one, 100 + 2 * number)?;
        }
        let middle = made.len() / 2;
        let given_back = made[middle].row();
        made.swap_remove(middle).free(rank)?;
        if let Some(one) = made.first() {
            let again = one.dup(rank)?;
            same("the row that was given back", given_back, again.row())?;
            a_few(driver, rank, &again, 200)?;
        }
        a_few(driver, rank, &without, 300)
    })
}

/// A message longer than a window on every communicator that has a row: one by one, then eight at
/// once, with members that start them in different orders.
#[alcor_test(ranks >= 2)]
fn every_row(context: &Context) -> Result {
    on_world(context, |driver, rank, world| {
        let rows = if context.info().has_switch() {
            // The last row is the barrier's.
            context.info().communicators as usize - 1
        } else {
            1
        };
        let mut made = vec![world.clone()];
        while made.len() < rows {
            made.push(world.dup(rank)?);
        }
        // Eight sources and destinations fit into node memory.
        let bytes = 24_000.min(context.memory() as usize / 32);
        let case = |number| {
            Case {
                number,
                count: bytes,
                ..Case::new(Collective::Allreduce, ElementType::F64)
            }
            .within(bytes, world.size())
        };
        for (number, communicator) in (0..).zip(&made) {
            driver.run(rank, communicator, &case(2 * number))?;
        }
        let me = rank.pid().0 as usize;
        for (number, eight) in (100..).step_by(100).zip(made.rchunks(8)) {
            let mut under_way = Vec::new();
            for at in (0..eight.len()).map(|at| (at + me) % eight.len()) {
                let case = case(number + 2 * at as u64);
                under_way.push(driver.start(rank, &eight[at], &case)?);
            }
            for it in under_way {
                driver.finish(rank, it)?;
            }
        }
        Ok(())
    })
}

/// Communicators come and go, more than there are rows.
#[alcor_test(ranks >= 1)]
fn come_and_go(context: &Context) -> Result {
    let rounds = context.scale(12, 200);
    on_world(context, |driver, rank, world| {
        let mut rng = context.rng(&[4]);
        for round in 0..rounds {
            let colors = rng.random_range(1..=2);
            let backwards = rng.random_bool(0.5);
            let me = rank.pid().0;
            let key = if backwards { -(me as i32) } else { me as i32 };
            let made = expect(world.split(rank, Some((me + round) % colors), key)?)?;
            let case = Case {
                number: 2 * u64::from(round),
                ..Case::new(Collective::Allreduce, ElementType::F64)
            };
            driver.run(rank, &made, &case)?;
            if context.info().has_switch() {
                holds("a communicator's row", "one", made.row().is_some(), "none")?;
            }
            made.free(rank)?;
        }
        Ok(())
    })
}

/// In strict mode, what hardware can't do fails and nothing is posted.
#[alcor_test(ranks >= 1)]
fn strict(context: &Context) -> Result {
    let has_switch = context.info().has_switch();
    context.run_with(Options::default().strict(true), context.ranks(), |rank| {
        let world = rank.world()?;
        let driver = Driver {
            context,
            forced: false,
        };
        let mut bytes = rank.alloc::<u8>(8)?;
        let reason = if has_switch { SoftwareReason::Type(ElementType::U8) } else { SoftwareReason::NoSwitch };
        not_in_hardware(
            world.allreduce_in_place(rank, Operation::Sum, &mut bytes),
            reason,
        )?;
        not_in_hardware(world.bcast(rank, 0, &mut bytes), reason)?;
        if has_switch {
            a_few(driver, rank, &world, 1)?;
        } else {
            not_in_hardware(world.barrier(rank), reason)?;
        }
        // By this handle it is allowed.
        a_few(driver, rank, &world.strict(false), 10)?;
        let case = Case {
            number: 20,
            ..Case::new(Collective::Allreduce, ElementType::U8)
        };
        driver.run(rank, &world.strict(false), &case)
    })?;
    Ok(())
}

/// All collectives in software, by an option, have the same results.
#[alcor_test(ranks >= 1)]
fn in_software(context: &Context) -> Result {
    let options = Options::default().software_collectives(true);
    context.run_with(options, context.ranks(), |rank| {
        let world = rank.world()?;
        let driver = Driver {
            context,
            forced: true,
        };
        let mut number = 0;
        for element in HARDWARE {
            for operation in operations(element) {
                number += 2;
                let collective = ALL[number as usize / 2 % 3];
                driver.run(
                    rank,
                    &world,
                    &Case {
                        operation,
                        count: 10,
                        root: number as u32 % world.size(),
                        flavour: Flavour::Special,
                        number,
                        ..Case::new(collective, element)
                    },
                )?;
            }
        }
        for (turn, collective) in (0..).zip(ALL) {
            let case = Case {
                number: 500 + 2 * turn,
                count: 3000,
                ..Case::new(collective, ElementType::F32)
            };
            driver.run(
                rank,
                &world,
                &case.within(context.memory() as usize / 16, world.size()),
            )?;
        }
        Ok(())
    })?;
    Ok(())
}

fn expect<T>(what: Option<T>) -> Result<T, Failure> {
    what.ok_or_else(|| Failure::new("a communicator", "one that this rank belongs to", "none"))
}

/// Checks that a communicator has these members, this rank among them.
fn expect_members(
    rank: &Rank,
    made: Option<Communicator>,
    members: &[GlobalRank],
) -> Result<Communicator, Failure> {
    let me = rank.pid();
    let made = expect(made)?;
    same(
        format_args!("{me}: members of {}", made.id()),
        members,
        made.members(),
    )?;
    same(
        format_args!("{me}: size of {}", made.id()),
        members.len() as u32,
        made.size(),
    )?;
    let place = members.iter().position(|&member| member == me);
    same(
        format_args!("{me}: rank in {}", made.id()),
        place,
        Some(made.rank() as usize),
    )?;
    holds(
        "its number",
        "not the world's",
        made.id() != CommunicatorId::WORLD,
        made.id(),
    )?;
    Ok(made)
}

/// A few short collectives.
fn a_few(
    driver: Driver<'_>,
    rank: &mut Rank,
    communicator: &Communicator,
    number: u64,
) -> Result {
    for (turn, collective) in [
        Collective::Allreduce,
        Collective::Bcast,
        Collective::Allgather,
    ]
    .into_iter()
    .enumerate()
    {
        driver.run(
            rank,
            communicator,
            &Case {
                root: number as u32 % communicator.size(),
                count: 1 + number as usize % 7,
                number: 1_000_000 + 10 * number + 2 * turn as u64,
                ..Case::new(
                    collective,
                    HARDWARE[(number as usize + turn) % HARDWARE.len()],
                )
            },
        )?;
    }
    Ok(())
}

fn not_in_hardware(
    result: alcor::Result<alcor::Receipt>,
    reason: SoftwareReason,
) -> Result {
    let is = |error: &Error| matches!(error, Error::NotInHardware { reason: found, .. } if *found == reason);
    let expected = format!("NotInHardware: {}", Path::Software(reason));
    fails("a call in strict mode", &expected, is, result)
}

/// The tree is one of what the words say: boards, their members in ascending order, and stages
/// that halve the labels.
fn tree_is_documented(context: &Context, communicator: &Communicator) -> Result {
    let tree = communicator.tree();
    let ranks = context.info().ranks;
    let mut listed = Vec::new();
    for board in tree.boards() {
        let of_board: Vec<GlobalRank> = (board.board * ranks..(board.board + 1) * ranks)
            .map(GlobalRank)
            .filter(|rank| communicator.members().contains(rank))
            .collect();
        same(
            format_args!("members of board {}", board.board),
            &of_board,
            &board.members,
        )?;
        listed.extend(of_board);
    }
    let mut members = communicator.members().to_vec();
    members.sort_unstable();
    listed.sort_unstable();
    same("members of all boards", members, listed)?;
    let mut labels = tree.boards().len() as u32;
    let mut stages = Vec::new();
    while labels > 1 {
        let distance = 1 << (31 - (labels - 1).leading_zeros());
        stages.push((distance, labels - distance));
        labels = distance;
    }
    let found: Vec<_> = tree
        .stages()
        .iter()
        .map(
            |&Stage {
                 distance, pairs, ..
             }| (distance, pairs),
        )
        .collect();
    same("stages, as distances and pairs", stages, found)
}
