//! Collectives in software, each compared with a reference in the documented order.

use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use alcor::soft::SoftConfig;
use alcor::{
    Awaited, Causes, Collective, Communicator, Datatype, Difference, Error, GlobalRank, MemberCall,
    Operation, Options, Path, Rank, Reducible, Result, SoftwareReason, Status,
};

use crate::{run, run_with};

/// Pseudo-random numbers of a type, including special values.
trait Sample: Reducible + Debug {
    fn sample(noise: u64) -> Self;
    fn bits(self) -> u64;
    /// The expected result, computed in another way.
    fn expected(operation: Operation, a: Self, b: Self) -> Self;
}

macro_rules! integers {
    ($($number:ty),*) => {$(
        impl Sample for $number {
            fn sample(noise: u64) -> Self {
                match noise % 8 {
                    0 => Self::MAX,
                    1 => Self::MIN,
                    _ => (noise >> 3) as Self,
                }
            }
            fn bits(self) -> u64 {
                self as u64
            }
            fn expected(operation: Operation, a: Self, b: Self) -> Self {
                let (wide, other) = (i128::from(a), i128::from(b));
                (match operation {
                    Operation::Sum => wide + other,
                    Operation::Prod => wide.wrapping_mul(other),
                    Operation::Min => wide.min(other),
                    Operation::Max => wide.max(other),
                    Operation::Band => wide & other,
                    Operation::Bor => wide | other,
                    Operation::Bxor => wide ^ other,
                    unknown => unreachable!("{unknown} has no reference here"),
                }) as Self
            }
        }
    )*};
}

macro_rules! floats {
    ($($number:ty, $bits:ty, $nan:literal);*) => {$(
        impl Sample for $number {
            fn sample(noise: u64) -> Self {
                match noise % 12 {
                    0 => Self::INFINITY,
                    1 => Self::NEG_INFINITY,
                    2 => 0.0,
                    3 => -0.0,
                    4 => Self::from_bits(1),
                    5 => -Self::from_bits($nan | 3),
                    6 => Self::MAX,
                    _ => ((noise >> 8) % 20011) as Self * 1.1 - 9000.3,
                }
            }
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }
            fn expected(operation: Operation, a: Self, b: Self) -> Self {
                if a.is_nan() || b.is_nan() {
                    return Self::from_bits($nan);
                }
                let key = |value: Self| (value, !value.is_sign_negative());
                let first = key(a).partial_cmp(&key(b)) == Some(std::cmp::Ordering::Less);
                let result = match operation {
                    Operation::Sum => a + b,
                    Operation::Prod => a * b,
                    Operation::Min => if first { a } else { b },
                    _ => if first { b } else { a },
                };
                if result.is_nan() { Self::from_bits($nan) } else { result }
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, i8, i16, i32, i64);
floats!(f32, u32, 0x7FC0_0000; f64, u64, 0x7FF8_0000_0000_0000);

fn mix(words: [u64; 3]) -> u64 {
    words
        .into_iter()
        .fold(0x9E37_79B9_7F4A_7C15, |state, word| {
            let state = (state ^ word).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            state ^ state >> 29
        })
}

/// The contribution of a rank of the run.
fn vector<T: Sample>(rank: u32, length: usize, seed: u64) -> Vec<T> {
    (0..length as u64)
        .map(|index| T::sample(mix([u64::from(rank), index, seed])))
        .collect()
}

fn bits<T: Sample>(values: &[T]) -> Vec<u64> {
    values.iter().map(|value| value.bits()).collect()
}

/// Combines the members' vectors in the documented order.
fn reduced<T: Sample>(
    communicator: &Communicator,
    operation: Operation,
    length: usize,
    seed: u64,
) -> Vec<T> {
    let join = |a: Vec<T>, b: Vec<T>| -> Vec<T> {
        let pairs = a.into_iter().zip(b);
        pairs.map(|(a, b)| T::expected(operation, a, b)).collect()
    };
    let tree = communicator.tree();
    let mut x: Vec<Vec<T>> = tree
        .boards()
        .iter()
        .map(|board| {
            let vectors = board.members.iter();
            let vectors = vectors.map(|member| vector(member.0, length, seed));
            vectors.reduce(join).unwrap()
        })
        .collect();
    for stage in tree.stages() {
        for i in 0..stage.pairs as usize {
            x[i] = join(x[i].clone(), x[i + stage.distance as usize].clone());
        }
    }
    x.swap_remove(0)
}

/// Runs every collective with every operation and root on vectors of one length.
fn everything<T: Sample>(
    rank: &mut Rank,
    communicator: &Communicator,
    length: usize,
    seed: u64,
) -> Result<()> {
    let size = communicator.size() as usize;
    let me = communicator.rank() as usize;
    let pid = rank.pid().0;
    let mine = vector::<T>(pid, length, seed);
    let blocks = vector::<T>(pid, length * size, seed);
    let of =
        |member: usize, length: usize| vector::<T>(communicator.members()[member].0, length, seed);
    let gathered: Vec<T> = (0..size).flat_map(|member| of(member, length)).collect();
    for &operation in Operation::ALL {
        if T::IS_FLOAT && operation.is_bitwise() {
            let error = communicator
                .allreduce(rank, operation, &mine, &mut vec![T::default(); length])
                .unwrap_err();
            assert!(matches!(error, Error::NoSuchOperation { .. }), "{error}");
            continue;
        }
        let expected = bits(&reduced::<T>(communicator, operation, length, seed));
        let mut all = vec![T::default(); length];
        let receipt = communicator.allreduce(rank, operation, &mine, &mut all)?;
        assert_eq!(bits(&all), expected, "allreduce {operation}");
        assert_eq!(receipt.path, Path::Software(SoftwareReason::NoSwitch));
        assert_eq!(receipt.call.collective, Collective::Allreduce);
        let whole = reduced::<T>(communicator, operation, length * size, seed);
        let mut part = vec![T::default(); length];
        communicator.reduce_scatter(rank, operation, &blocks, &mut part)?;
        assert_eq!(bits(&part), bits(&whole[me * length..(me + 1) * length]));
        let root = (seed as usize + operation as usize) % size;
        let mut at_root = vec![T::default(); if me == root { length } else { 0 }];
        communicator.reduce(rank, operation, root as u32, &mine, &mut at_root)?;
        assert!(me != root || bits(&at_root) == expected);
    }
    for root in 0..size as u32 {
        let mut copy = mine.clone();
        communicator.bcast(rank, root, &mut copy)?;
        assert_eq!(bits(&copy), bits(&of(root as usize, length)));
        let source: &[T] = if me == root as usize { &blocks } else { &[] };
        let mut block = vec![T::default(); length];
        communicator.scatter(rank, root, source, &mut block)?;
        let whole = of(root as usize, length * size);
        assert_eq!(bits(&block), bits(&whole[me * length..(me + 1) * length]));
        let mut all = vec![T::default(); length * size];
        communicator.gather(rank, root, &mine, &mut all)?;
        // Only the root's destination is written.
        let untouched = vec![T::default(); length * size];
        let expected = if me == root as usize {
            &gathered
        } else {
            &untouched
        };
        assert_eq!(bits(&all), bits(expected));
    }
    let mut all = vec![T::default(); length * size];
    communicator.allgather(rank, &mine, &mut all)?;
    assert_eq!(bits(&all), bits(&gathered));
    let from_each: Vec<T> = (0..size)
        .flat_map(|member| of(member, length * size)[me * length..(me + 1) * length].to_vec())
        .collect();
    communicator.alltoall(rank, &blocks, &mut all)?;
    assert_eq!(bits(&all), bits(&from_each));
    // In place.
    let place = rank.alloc_from(&blocks)?;
    communicator.alltoall(rank, &place, place.clone())?;
    assert_eq!(bits(&rank.read_vec(&place)?), bits(&from_each));
    communicator.barrier(rank)?;
    Ok(())
}

#[test]
fn every_collective_of_every_type() {
    // More than eight members compare their calls in another way.
    for ranks in [1, 2, 3, 7, 9] {
        run(ranks, |rank| {
            let world = rank.world()?;
            for (seed, length) in [(1, 0), (2, 1), (3, 17)] {
                everything::<f64>(rank, &world, length, seed)?;
                everything::<f32>(rank, &world, length, seed)?;
                everything::<i64>(rank, &world, length, seed)?;
                everything::<i32>(rank, &world, length, seed)?;
                everything::<u64>(rank, &world, length, seed)?;
                everything::<u32>(rank, &world, length, seed)?;
                everything::<i16>(rank, &world, length, seed)?;
                everything::<u16>(rank, &world, length, seed)?;
                everything::<i8>(rank, &world, length, seed)?;
                everything::<u8>(rank, &world, length, seed)?;
            }
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn vectors_that_are_longer_than_the_rings() {
    for (ranks, length) in [(2, 20_000), (3, 9_001), (5, 5_000)] {
        run(ranks, |rank| {
            let world = rank.world()?;
            let mine = vector::<f64>(rank.pid().0, length, 9);
            let mut all = vec![0.0; length];
            world.allreduce(rank, Operation::Sum, &mine, &mut all)?;
            let expected = reduced::<f64>(&world, Operation::Sum, length, 9);
            assert_eq!(bits(&all), bits(&expected));
            let mut all = vec![0.0; length / 8 * ranks as usize];
            world.allgather(rank, &mine[..length / 8], &mut all)?;
            let last = vector::<f64>(ranks - 1, length, 9);
            assert_eq!(
                bits(&all[all.len() - length / 8..]),
                bits(&last[..length / 8])
            );
            let mut copy = mine.clone();
            world.bcast(rank, 1, &mut copy)?;
            assert_eq!(bits(&copy), bits(&vector::<f64>(1, length, 9)));
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn small_rings_and_few_completions() {
    let config = SoftConfig::default()
        .ranks(4)
        .node_bytes(32 << 10)
        .commands(5);
    run_with(config, Options::default().ring_entries(2), |rank| {
        let world = rank.world()?;
        for seed in 0..3 {
            everything::<f32>(rank, &world, 301, seed)?;
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn several_are_under_way_at_once_in_any_order() {
    run(4, |rank| {
        let world = rank.world()?;
        let me = rank.pid().0;
        let pairs = world.split(rank, Some(me / 2), 0)?.unwrap();
        let ends = world.split(rank, Some(me % 2), -(me as i32))?.unwrap();
        assert_eq!(ends.members()[0].0, me % 2 + 2);
        let source = rank.alloc_from(&vector::<i64>(me, 3000, 4))?;
        let make = |rank: &mut Rank| rank.alloc::<i64>(3000);
        let (a, b, c, mut d) = (make(rank)?, make(rank)?, make(rank)?, make(rank)?);
        // Ranks begin the collectives in different orders.
        let mut requests = Vec::new();
        let orders = [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]];
        for which in orders[me as usize] {
            requests.push(match which {
                0 => world.iallreduce(rank, Operation::Sum, &source, a.clone())?,
                1 => pairs.iallreduce(rank, Operation::Bxor, &source, b.clone())?,
                _ => ends.iallreduce(rank, Operation::Max, &source, c.clone())?,
            });
        }
        let second = world.iallreduce(rank, Operation::Min, &source, &mut d)?;
        let mut barrier = world.ibarrier(rank)?;
        assert!(second.receipt().is_some() && second.transfer().is_none());
        rank.wait(second)?;
        // A barrier of the coprocessor in between, and puts under way, block no collective.
        rank.barrier()?;
        rank.wait_all(requests)?;
        while !rank.test(&mut barrier)? {}
        let check = |rank: &mut Rank, communicator: &Communicator, operation, region: &_| {
            let expected = reduced::<i64>(communicator, operation, 3000, 4);
            assert_eq!(rank.read_vec(region)?, expected);
            Ok::<_, Error>(())
        };
        check(rank, &world, Operation::Sum, &a)?;
        check(rank, &pairs, Operation::Bxor, &b)?;
        check(rank, &ends, Operation::Max, &c)?;
        check(rank, &world, Operation::Min, &d)
    })
    .unwrap();
}

#[test]
fn a_request_that_is_dropped_ends_all_the_same() {
    let sums = run(3, |rank| {
        let world = rank.world()?;
        let mut vector = rank.alloc_from(&[rank.pid().0; 500])?;
        drop(world.iallreduce_in_place(rank, Operation::Sum, &mut vector)?);
        drop(world.ibarrier(rank)?);
        if rank.pid() == GlobalRank(0) {
            // Only the end of the run waits for this collective.
            return Ok(0);
        }
        world.barrier(rank)?;
        Ok(rank.read_vec(&vector)?[499])
    });
    // Rank 0 does not call the last barrier.
    assert!(sums.is_err());

    let sums = run(3, |rank| {
        let world = rank.world()?;
        let mut vector = rank.alloc_from(&[rank.pid().0; 9000])?;
        let request = world.iallreduce_in_place(rank, Operation::Sum, &mut vector)?;
        if rank.pid() == GlobalRank(0) {
            // The end of the run completes the collective.
            drop(request);
            return Ok(3);
        }
        rank.wait(request)?;
        Ok(rank.read_vec(&vector)?[8999])
    });
    assert_eq!(sums.unwrap(), [3; 3]);

    let sums = run(3, |rank| {
        let world = rank.world()?;
        let mut vector = rank.alloc_from(&[rank.pid().0; 500])?;
        drop(world.iallreduce_in_place(rank, Operation::Sum, &mut vector)?);
        world.barrier(rank)?;
        rank.fence()?;
        drop(world.ibarrier(rank)?);
        Ok(rank.read_vec(&vector)?[499])
    });
    assert_eq!(sums.unwrap(), [3; 3]);
}

/// Checks the error of each of three ranks when the second rank makes a different call.
fn differ(call: impl Fn(&mut Rank, &Communicator, bool) -> Result<()> + Sync, what: Difference) {
    run(3, |rank| {
        let world = rank.world()?;
        let odd = rank.pid() == GlobalRank(1);
        match call(rank, &world, odd) {
            Err(Error::CollectivesDiffer {
                rank: reporter,
                difference,
                ..
            }) => {
                assert_eq!((reporter, difference), (rank.pid(), what));
            }
            other => panic!("{other:?}"),
        }
        // The communicator works as before.
        everything::<u32>(rank, &world, 5, 1)
    })
    .unwrap();
}

#[test]
fn calls_that_differ_are_reported_to_every_member() {
    let sum = Operation::Sum;
    differ(
        |rank, world, odd| {
            if odd {
                world.barrier(rank).map(drop)
            } else {
                world.allreduce(rank, sum, &[1u32], &mut [0]).map(drop)
            }
        },
        Difference::Collective,
    );
    differ(
        |rank, world, odd| {
            let mut values = vec![1.0f64; if odd { 20_000 } else { 3 }];
            world.allreduce_in_place(rank, sum, &mut values).map(drop)
        },
        Difference::Count,
    );
    differ(
        |rank, world, odd| {
            if odd {
                world.reduce(rank, sum, 0, &[1u32], &mut [0]).map(drop)
            } else {
                world.reduce(rank, sum, 0, &[1f32], &mut [0.0]).map(drop)
            }
        },
        Difference::Type,
    );
    differ(
        |rank, world, odd| {
            let operation = if odd { Operation::Max } else { sum };
            world
                .reduce_scatter(rank, operation, &[1u8; 6], &mut [0; 2])
                .map(drop)
        },
        Difference::Operation,
    );
    differ(
        |rank, world, odd| {
            let root = u32::from(odd);
            world.bcast(rank, root, &mut [7u16; 3]).map(drop)
        },
        Difference::Root,
    );
    differ(
        |rank, world, odd| {
            if odd {
                world.dup(rank).map(drop)
            } else {
                world.split(rank, None, 0).map(drop)
            }
        },
        Difference::Collective,
    );
    differ(
        |rank, world, odd| {
            let list = [GlobalRank(0), GlobalRank(1 + u32::from(odd))];
            world.create(rank, &list).map(drop)
        },
        Difference::Members,
    );
}

/// The text of the error of each of `ranks` ranks, where the calls differ.
fn texts(
    ranks: u32,
    call: impl Fn(&mut Rank, &Communicator) -> Result<()> + Sync,
) -> Vec<(Vec<MemberCall>, String)> {
    run(ranks, |rank| {
        let world = rank.world()?;
        let error = call(rank, &world).expect_err("the calls differ");
        let text = error.to_string();
        let Error::CollectivesDiffer { others, .. } = error else {
            panic!("{text}");
        };
        everything::<u32>(rank, &world, 5, 1)?;
        Ok((others, text))
    })
    .unwrap()
}

#[test]
fn a_difference_names_the_call_of_each_member() {
    let counts = texts(4, |rank, world| {
        let mut values = vec![1.0f64; if world.rank() == 2 { 5 } else { 4 }];
        world
            .allreduce_in_place(rank, Operation::Sum, &mut values)
            .map(drop)
    });
    for (me, (others, text)) in (0..).zip(&counts) {
        let found: Vec<(u32, Option<u32>)> = others
            .iter()
            .map(|other| (other.rank.0, other.call.map(|call| call.count)))
            .collect();
        let expected: Vec<(u32, Option<u32>)> = (0..4)
            .filter(|&other| other != me)
            .map(|other| (other, Some(if other == 2 { 5 } else { 4 })))
            .collect();
        assert_eq!(found, expected, "{text}");
    }
    assert_eq!(
        counts[0].1,
        "rank 0 called allreduce of 4 f64, sum, in the world: the members differ in the count: \
         rank 2 called allreduce of 5 f64, sum; ranks 1 and 3 called the same as rank 0; all \
         members must call the same collectives in the same order, with the same counts, types, \
         operations and roots"
    );
    assert!(
        counts[2]
            .1
            .contains("in the count: ranks 0, 1 and 3 called allreduce of 4 f64, sum; all members"),
        "{}",
        counts[2].1
    );

    // More than eight members find the difference in another way.
    let many = texts(10, |rank, world| {
        let mut values = vec![1.0f64; if world.rank() == 2 { 5 } else { 4 }];
        world
            .allreduce_in_place(rank, Operation::Sum, &mut values)
            .map(drop)
    });
    for (others, text) in many {
        assert!(text.contains("in the count: "), "{text}");
        assert!(others.len() == 9 && others.iter().all(|other| other.call.is_some()));
    }

    // Root, operation and type are those of each member, whatever the first difference is.
    let mixed = texts(3, |rank, world| {
        match world.rank() {
            0 => world.bcast(rank, 1, &mut [0i16; 3]),
            1 => world.reduce(rank, Operation::Bxor, 2, &[1u8], &mut [0]),
            _ => world.barrier(rank),
        }
        .map(drop)
    });
    for part in [
        "in the collective",
        "rank 1 called reduce of 1 u8, bitwise exclusive or, root rank 2;",
        "rank 2 called barrier;",
    ] {
        assert!(mixed[0].1.contains(part), "{}", mixed[0].1);
    }
    assert!(
        mixed[2]
            .1
            .contains("rank 0 called bcast of 3 i16, root rank 1;"),
        "{}",
        mixed[2].1
    );

    // Long data goes before the calls in the mail.
    let long = texts(2, |rank, world| {
        let (root, mut sum) = (1 - world.rank(), [0; 4320]);
        world
            .reduce(rank, Operation::Sum, root, &[1u32; 4320], &mut sum)
            .map(drop)
    });
    for (others, text) in &long {
        assert!(others.iter().all(|other| other.call.is_some()), "{text}");
    }

    let lists = texts(3, |rank, world| {
        let list = [GlobalRank(0), GlobalRank(1 + u32::from(rank.pid().0 == 1))];
        world.create(rank, &list).map(drop)
    });
    assert!(
        lists[0]
            .1
            .contains("rank 1 called create with another list"),
        "{}",
        lists[0].1
    );
    assert!(
        lists[1]
            .1
            .contains("ranks 0 and 2 called create with another list"),
        "{}",
        lists[1].1
    );
}

#[test]
fn members_that_end_the_run_with_the_error_leave_time_for_the_others() {
    let texts = std::sync::Mutex::new(Vec::new());
    let failed = run(4, |rank| {
        let world = rank.world()?;
        let mut values = vec![1u8; 1 + world.rank() as usize / 3];
        let called = world.allreduce_in_place(rank, Operation::Sum, &mut values);
        let error = called.expect_err("the counts differ");
        texts.lock().unwrap().push(error.to_string());
        Err::<(), _>(error)
    });
    failed.expect_err("the counts differ");
    let texts = texts.into_inner().unwrap();
    assert_eq!(texts.len(), 4);
    for text in texts {
        assert!(!text.contains("unknown"), "{text}");
    }
}

/// A member reports its call while it waits for anything, whether it claims, keeps or drops the
/// request.
#[test]
fn a_member_that_does_not_claim_its_request_reports_its_call() {
    for keeps in [false, true] {
        run(3, |rank| {
            let world = rank.world()?;
            let is_other = rank.pid() == GlobalRank(1);
            let mut vector = rank.alloc_from(&vec![1u32; if is_other { 2 } else { 3 }])?;
            let request = world.iallreduce_in_place(rank, Operation::Sum, &mut vector)?;
            if is_other {
                let kept = keeps.then_some(request);
                rank.barrier()?;
                drop(kept);
                let error = rank.flush_all().expect_err("the counts differ");
                assert!(error.to_string().contains("in the count"), "{error}");
                return Ok(());
            }
            let text = rank
                .wait(request)
                .expect_err("the counts differ")
                .to_string();
            assert!(text.contains("rank 1 called allreduce of 2 u32"), "{text}");
            assert!(!text.contains("unknown"), "{text}");
            rank.barrier()
        })
        .unwrap();
    }
}

#[test]
fn a_member_outside_the_library_leaves_its_call_unknown_and_stops_no_one() {
    // Whether rank 1 has begun, and the number of ranks that have their errors.
    let (has_begun, told) = (AtomicBool::new(false), AtomicU32::new(0));
    run(3, |rank| {
        let world = rank.world()?;
        let is_outside = rank.pid() == GlobalRank(1);
        while !is_outside && !has_begun.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let count = if is_outside { 2 } else { 3 };
        let mut vector = rank.alloc_from(&vec![1u32; count])?;
        let mut request = world.iallreduce_in_place(rank, Operation::Sum, &mut vector)?;
        // Rank 1 sends its messages, and then stays outside the library until the others have their
        // errors.
        if is_outside {
            assert!(!rank.test(&mut request)?);
            has_begun.store(true, Ordering::Relaxed);
            while told.load(Ordering::Relaxed) < 2 {
                // The clock of the soft board moves with each access.
                rank.now()?;
            }
        }
        let error = rank.wait(request).expect_err("the counts differ");
        let text = error.to_string();
        let Error::CollectivesDiffer { others, .. } = &error else {
            panic!("{text}");
        };
        let known = |member: u32| {
            let mut others = others.iter();
            others.any(|other| other.rank == GlobalRank(member) && other.call.is_some())
        };
        if is_outside {
            assert!(known(0) && known(2), "{text}");
            let words = "ranks 0 and 2 called allreduce of 3 u32";
            assert!(text.contains(words), "{text}");
        } else {
            assert!(!known(1) && text.contains("is unknown"), "{text}");
            told.fetch_add(1, Ordering::Relaxed);
        }
        rank.barrier()
    })
    .unwrap();
}

#[test]
fn differences_write_no_destination_and_a_flush_reports_dropped_ones() {
    run(2, |rank| {
        let world = rank.world()?;
        let mut vector = rank.alloc_from(&[5u32; 4])?;
        let count = if rank.pid() == GlobalRank(0) { 3 } else { 4 };
        let mut part = vector.slice(..count)?;
        let request = world.iallreduce_in_place(rank, Operation::Sum, &mut part)?;
        drop(request);
        world.barrier(rank)?;
        assert_eq!(rank.read_vec(&vector)?, [5; 4]);
        let operation = match rank.pid().0 {
            0 => Operation::Sum,
            _ => Operation::Prod,
        };
        let error = world.allreduce_in_place(rank, operation, &mut vector);
        assert_eq!(error.unwrap_err().status(), Some(Status::OtherOperation));
        assert_eq!(rank.read_vec(&vector)?, [5; 4]);
        let error = rank.flush_all().unwrap_err();
        assert!(
            matches!(error, Error::Unclaimed { failed: 1, .. }),
            "{error}"
        );
        assert!(
            error
                .to_string()
                .contains("the members differ in the count; all members"),
            "{error}"
        );
        rank.flush_all()
    })
    .unwrap();
}

#[test]
fn what_a_rank_alone_can_see_is_refused_before_anything_is_posted() {
    run(2, |rank| {
        let world = rank.world()?;
        let (mut short, mut long) = (rank.alloc::<f64>(3)?, rank.alloc::<f64>(7)?);
        let sum = Operation::Sum;
        let wrong = |result: Result<_>| {
            let error = result.map(|_: alcor::Receipt| ()).unwrap_err();
            assert!(matches!(error, Error::WrongLength { .. }), "{error}");
        };
        wrong(world.allreduce(rank, sum, &short, &mut long));
        wrong(world.reduce_scatter(rank, sum, &long, &mut short));
        wrong(world.allgather(rank, &short, &mut long));
        if rank.pid() == GlobalRank(0) {
            wrong(world.reduce(rank, sum, 0, &short, &mut []));
            wrong(world.scatter(rank, 0, &long, &mut short));
            wrong(world.scatter(rank, 0, &[], &mut short));
        }
        let error = world.bcast(rank, 2, &mut short).unwrap_err();
        let says = format!("{}: root 2 is not among the 2 ranks of ", rank.pid());
        assert!(error.to_string().starts_with(&says), "{error}");
        let overlapping = world.iallreduce(rank, sum, long.slice(..4)?, long.slice(3..)?);
        assert!(matches!(overlapping, Err(Error::Overlap { .. })));
        let strict = world.strict(true);
        let error = strict.barrier(rank).unwrap_err();
        assert!(
            error.to_string().contains(
                "called barrier, in the world in strict mode: not in hardware, the board has no collective switch"
            ),
            "{error}"
        );
        everything::<f64>(rank, &world, 3, 5)
    })
    .unwrap();
    let strict = Options::default().strict(true);
    run_with(SoftConfig::default(), strict, |rank| {
        let world = rank.world()?;
        let error = world.barrier(rank).unwrap_err();
        assert!(matches!(error, Error::NotInHardware { .. }), "{error}");
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_member_that_does_not_come_is_named() {
    let options = Options::default().watchdog_cycles(5000);
    let error = run_with(SoftConfig::default(), options, |rank| {
        let world = rank.world()?;
        let mine = vector::<f64>(rank.pid().0, 4, 1);
        match rank.pid().0 {
            2 => {
                let until = alcor::Cycle(rank.now()?.0 + 1_000_000);
                rank.lab().port().wait(Causes::NONE, until).map(drop)
            }
            _ => world
                .allreduce_in_place(rank, Operation::Sum, &mut mine.clone())
                .map(drop),
        }
    })
    .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("cycles for allreduce of 4 f64, sum, in the world: "),
        "{text}"
    );
    assert!(
        text.contains("rank 2 has not arrived: it has no command queued"),
        "{text}"
    );
}

#[test]
fn a_rank_that_comes_late_changes_nothing() {
    run(4, |rank| {
        let world = rank.world()?;
        for late in 0..4 {
            if rank.pid().0 == late {
                let until = alcor::Cycle(rank.now()?.0 + 30_000);
                rank.lab().port().wait(Causes::NONE, until)?;
            }
            everything::<f64>(rank, &world, 33, u64::from(late))?;
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn puts_and_collectives_side_by_side() {
    run(4, |rank| {
        let world = rank.world()?;
        let memory = rank.alloc_from(&[0u32; 256])?;
        let window = rank.register(&memory, alcor::Rights::ALL)?;
        let local = rank.alloc_from(&[rank.pid().0 + 1; 256])?;
        for round in 0..20 {
            let target = GlobalRank((rank.pid().0 + 1) % 4);
            let put = rank.iput(&window, target, 0, &local)?;
            everything::<i32>(rank, &world, 7, round)?;
            rank.wait(put)?;
            rank.fence()?;
            let from = (rank.pid().0 + 3) % 4 + 1;
            assert_eq!(rank.read_vec(&memory)?, [from; 256]);
        }
        assert!(rank.lab().events()?.is_empty());
        Ok(())
    })
    .unwrap();
}

#[test]
fn collectives_of_types_are_named_in_receipts() {
    run(1, |rank| {
        let world = rank.world()?;
        let mut all = vec![0; 2 * world.members().len()];
        let receipt = world.allgather(rank, &[1u8, 2], &mut all)?;
        assert_eq!(receipt.call.element, Some(u8::TYPE));
        assert_eq!(receipt.call.to_string(), "allgather of 2 u8, in the world");
        assert!(!receipt.is_hardware());
        assert_eq!(
            receipt.path.to_string(),
            "in software: the board has no collective switch"
        );
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_member_that_does_not_come_is_named_in_every_collective() {
    for ranks in [2, 3, 5] {
        for what in 0..4 {
            let config = SoftConfig::default().ranks(ranks);
            let patience = 20_000;
            let options = Options::default().watchdog_cycles(patience);
            let error = run_with(config, options, |rank| {
                let communicator = match what % 2 {
                    0 => rank.world()?,
                    _ => rank.world()?.dup(rank)?,
                };
                rank.barrier()?;
                if rank.pid().0 == ranks - 1 {
                    let until = alcor::Cycle(rank.now()?.0 + 4 * patience);
                    rank.lab().port().wait(Causes::NONE, until)?;
                }
                match what {
                    0 => communicator.barrier(rank).map(drop),
                    1 => {
                        let mut mine = vector::<u16>(rank.pid().0, 4, 1);
                        communicator
                            .allreduce_in_place(rank, Operation::Sum, &mut mine)
                            .map(drop)
                    }
                    2 => {
                        let mut mine = vector::<u32>(rank.pid().0, 4, 1);
                        communicator.bcast(rank, 0, &mut mine).map(drop)
                    }
                    _ => {
                        let mut all = vec![0; ranks as usize];
                        communicator.gather(rank, 1, &[1u8], &mut all).map(drop)
                    }
                }
            })
            .unwrap_err();
            match error.error() {
                Some(Error::Watchdog {
                    awaited: Awaited::Collective(awaited),
                    cycles,
                    ..
                }) => {
                    assert_eq!(awaited.missing, [GlobalRank(ranks - 1)], "{error}");
                    assert_eq!(awaited.call.communicator.0, what % 2);
                    assert!((patience..patience + 2000).contains(cycles), "{error}");
                }
                _ => panic!("{error}"),
            }
            let expected = format!(
                "rank {} has not arrived: it has no command queued",
                ranks - 1
            );
            assert!(error.to_string().contains(&expected), "{error}");
        }
    }
}
