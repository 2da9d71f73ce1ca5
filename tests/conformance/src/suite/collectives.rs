//! Collectives: every one, of every type, of all lengths, against a reference that combines in
//! the documented order, bit for bit.

pub(super) mod drive;
pub(super) mod sample;

use alcor::{
    Call, Collective, Communicator, Difference, ElementType, Error, GlobalRank, Operation,
    Rank,
};
use alcor_test::{At, Context, Result, after, alcor_test, fails, same, same_bytes};

use drive::{ALL, Case, Driver};
use sample::{Flavour, HARDWARE, SHORT, bytes_of, operations};

/// The reductions.
const REDUCTIONS: [Collective; 3] = [
    Collective::Allreduce,
    Collective::Reduce,
    Collective::ReduceScatter,
];

/// Those that copy.
const COPIES: [Collective; 4] = [
    Collective::Bcast,
    Collective::Scatter,
    Collective::Gather,
    Collective::Allgather,
];

/// Every reduction of every type with every operation, in ordinary and in special numbers.
#[alcor_test(ranks >= 1)]
fn every_operation(context: &Context) -> Result {
    on_world(context, |driver, rank, world| {
        let mut number = 0;
        for element in HARDWARE {
            for operation in operations(element) {
                for collective in REDUCTIONS {
                    number += 2;
                    let flavour = [Flavour::Special, Flavour::Plain][number as usize / 2 % 2];
                    driver.run(
                        rank,
                        world,
                        &Case {
                            operation,
                            count: 1 + number as usize % 11,
                            root: number as u32 % world.size(),
                            flavour,
                            number,
                            ..Case::new(collective, element)
                        },
                    )?;
                }
            }
        }
        Ok(())
    })
}

/// Every copy of every type, from or to every rank.
#[alcor_test(ranks >= 1)]
fn every_root(context: &Context) -> Result {
    on_world(context, |driver, rank, world| {
        let mut number = 0;
        for root in 0..world.size() {
            for collective in COPIES.into_iter().chain([Collective::Reduce]) {
                let elements = context.scale(1, HARDWARE.len());
                for _ in 0..elements {
                    number += 2;
                    let element = HARDWARE[number as usize / 2 % HARDWARE.len()];
                    let case = Case {
                        root,
                        number,
                        count: 6,
                        ..Case::new(collective, element)
                    };
                    driver.run(rank, world, &case)?;
                }
            }
        }
        Ok(())
    })
}

/// No element, one, and numbers of elements around those that a phit, or a few, hold.
#[alcor_test(ranks >= 1)]
fn counts(context: &Context) -> Result {
    on_world(context, |driver, rank, world| {
        let counts = context.scale(
            vec![0, 1, 2, 3, 7, 8, 9, 16, 33, 65],
            (0..40)
                .chain([63, 64, 65, 127, 128, 129, 255, 256, 257])
                .collect(),
        );
        let mut number = 0;
        for count in counts {
            for collective in ALL {
                number += 2;
                let element = HARDWARE[number as usize / 2 % HARDWARE.len()];
                let root = (number / 2) as u32 % world.size();
                let case = Case {
                    count,
                    root,
                    number,
                    ..Case::new(collective, element)
                };
                driver.run(rank, world, &case)?;
            }
        }
        Ok(())
    })
}

/// A few hundred phits, and more than the windows between boards hold.
#[alcor_test(ranks >= 1)]
fn long_vectors(context: &Context) -> Result {
    let most = context.memory() as usize / 8;
    on_world(context, |driver, rank, world| {
        let mut number = 0;
        let lengths = context.scale(
            vec![9_001, 18_600],
            vec![4096, 9_001, 16_384, 18_600, 30_000],
        );
        for bytes in lengths {
            for collective in ALL {
                number += 2;
                let element = HARDWARE[number as usize / 2 % HARDWARE.len()];
                let case = Case {
                    count: bytes,
                    number,
                    ..Case::new(collective, element)
                };
                let case = Case {
                    root: number as u32 % world.size(),
                    ..case
                };
                driver.run(rank, world, &case.within(bytes.min(most), world.size()))?;
            }
        }
        Ok(())
    })
}

/// The longest vectors, 4 MiB where node memory has room for it, in the full tier.
#[alcor_test(ranks >= 1)]
fn longest_vectors(context: &Context) -> Result {
    let room = context.memory() as usize / 16 * 5;
    let most = context.scale(24 << 10, 4 << 20).min(room) & !63;
    on_world(context, |driver, rank, world| {
        let few = [Collective::Allreduce, Collective::Bcast];
        let cases = context.scale(&few[..], &ALL[..]);
        for (number, &collective) in (0..).zip(cases) {
            let element = [ElementType::F64, ElementType::U32][number as usize % 2];
            let case = Case {
                count: most,
                number: 2 * number,
                ..Case::new(collective, element)
            };
            driver.run(rank, world, &case.within(most, world.size()))?;
        }
        Ok(())
    })
}

/// Vectors at all places within a phit, the source at another than the destination.
#[alcor_test(ranks >= 1)]
fn alignments(context: &Context) -> Result {
    on_world(context, |driver, rank, world| {
        let mut number = 0;
        for source in 0..8 {
            for collective in ALL {
                let destinations = if context.scale(true, false) {
                        (source * 3 + number as usize) % 8
                            ..(source * 3 + number as usize) % 8 + 1
                    } else { 0..8 };
                for destination in destinations {
                    number += 2;
                    driver.run(
                        rank,
                        world,
                        &Case {
                            shift: (source, destination),
                            count: 7 + number as usize % 13,
                            root: number as u32 % world.size(),
                            number,
                            ..Case::new(collective, ElementType::I32)
                        },
                    )?;
                }
            }
        }
        // Elements of 8 bytes begin at even words only.
        for collective in ALL {
            number += 2;
            let case = Case {
                shift: (3, 2),
                count: 11,
                number,
                ..Case::new(collective, ElementType::F64)
            };
            driver.run(rank, world, &case)?;
        }
        Ok(())
    })
}

/// Source and destination at the same place.
#[alcor_test(ranks >= 1)]
fn in_place(context: &Context) -> Result {
    on_world(context, |driver, rank, world| {
        let mut number = 0;
        for element in HARDWARE {
            for (collective, count) in [
                (Collective::Allreduce, 13),
                (Collective::Allreduce, 700),
                (Collective::Reduce, 13),
                (Collective::ReduceScatter, 5),
                (Collective::Allgather, 5),
                (Collective::Scatter, 3),
                (Collective::Gather, 3),
            ] {
                number += 2;
                if number / 2 % 3 != 0 && context.scale(true, false) && count < 13 {
                    continue;
                }
                let case = Case {
                    count,
                    number,
                    in_place: true,
                    shift: (number as usize / 2 % 5, 0),
                    ..Case::new(collective, element)
                };
                let case = Case {
                    root: number as u32 % world.size(),
                    ..case
                };
                driver.run(rank, world, &case)?;
            }
        }
        Ok(())
    })
}

/// Alltoall, which the library runs on every board: blocks of several lengths, in the world and in
/// halves of it. A member that calls another collective is reported to all.
#[alcor_test(ranks >= 1)]
fn alltoall(context: &Context) -> Result {
    context.run(|rank| {
        let world = rank.world()?;
        let me = rank.pid();
        let half = world.split(rank, Some(me.0 % 2), 0)?;
        for (number, count) in (0u64..).zip([0, 1, 5, 64, context.scale(700, 9000)]) {
            for communicator in [Some(&world), half.as_ref()].into_iter().flatten() {
                let members = communicator.members();
                let block = |from: GlobalRank, to: GlobalRank| {
                    let id = u64::from(communicator.id().0);
                    context.noise(&[number, id, from.0.into(), to.0.into()], count)
                };
                let blocks: Vec<u8> = members.iter().flat_map(|&to| block(me, to)).collect();
                let expected: Vec<u8> = members.iter().flat_map(|&from| block(from, me)).collect();
                let mut found = vec![0; blocks.len()];
                let receipt = communicator.alltoall(rank, &blocks, &mut found)?;
                same_bytes(format_args!("{me}: {count} bytes in {}", communicator.id()), &expected, &found)?;
                same(format_args!("{me}: in hardware"), false, receipt.is_hardware())?;
            }
        }
        let all = vec![me.0; world.size() as usize];
        if world.size() > 1 {
            let mut found = all.clone();
            let ended = match me.0 {
                0 => world.allgather(rank, &[me.0], &mut found),
                _ => world.alltoall(rank, &all, &mut found),
            };
            let difference = match &ended {
                Err(Error::CollectivesDiffer { difference, .. }) => Some(*difference),
                _ => None,
            };
            same(format_args!("{me}: another collective"), Some(Difference::Collective), difference)?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Infinities, NaNs, subnormals, signed zeros and ties: floating-point reductions in each pair.
#[alcor_test(ranks >= 1)]
fn special_numbers(context: &Context) -> Result {
    on_world(context, |driver, rank, world| {
        let mut number = 0;
        for element in [ElementType::F64, ElementType::F32] {
            for operation in operations(element) {
                number += 2;
                driver.run(
                    rank,
                    world,
                    &Case {
                        operation,
                        count: context.scale(400, 1500),
                        flavour: Flavour::Special,
                        number,
                        ..Case::new(Collective::Allreduce, element)
                    },
                )?;
            }
        }
        Ok(())
    })
}

/// Barriers among other collectives.
#[alcor_test(ranks >= 1)]
fn barriers(context: &Context) -> Result {
    let rounds = context.scale(30, 300);
    on_world(context, |driver, rank, world| {
        for number in 0..rounds {
            let barrier = Case {
                number: 2 * number,
                ..Case::new(Collective::Barrier, ElementType::U32)
            };
            driver.run(rank, world, &barrier)?;
            if number % 5 == 0 {
                let case = Case {
                    number: 2 * number,
                    ..Case::new(ALL[number as usize / 5 % ALL.len()], ElementType::U64)
                };
                driver.run(rank, world, &case)?;
            }
        }
        Ok(())
    })
}

/// The same collective over and over has the same result each time.
#[alcor_test(ranks >= 1)]
fn same_again(context: &Context) -> Result {
    let rounds = context.scale(12, 200);
    on_world(context, |driver, rank, world| {
        let cases = |_| {
            let sum = Case {
                count: 40,
                number: 2,
                ..Case::new(Collective::Allreduce, ElementType::F64)
            };
            [
                sum,
                Case {
                    collective: Collective::ReduceScatter,
                    count: 3,
                    ..sum
                },
            ]
        };
        driver.run_all(rank, world, (0..rounds).flat_map(cases))
    })
}

/// Types of less than 4 bytes, by software: with the same result, and a receipt that says so.
#[alcor_test(ranks >= 1)]
fn short_types(context: &Context) -> Result {
    on_world(context, |driver, rank, world| {
        let mut number = 0;
        for element in SHORT {
            for collective in ALL {
                number += 2;
                let operation = Operation::ALL[number as usize / 2 % Operation::ALL.len()];
                let case = Case {
                    operation,
                    count: 13,
                    number,
                    shift: (1, 3),
                    ..Case::new(collective, element)
                };
                let case = Case {
                    root: number as u32 % world.size(),
                    ..case
                };
                driver.run(rank, world, &case)?;
            }
        }
        // Hardware and software take turns.
        for number in 0..6u64 {
            let element =
                [ElementType::U8, ElementType::F32, ElementType::I16][number as usize % 3];
            let case = Case {
                number: 1000 + 2 * number,
                ..Case::new(Collective::Allreduce, element)
            };
            driver.run(rank, world, &case)?;
        }
        Ok(())
    })
}

/// Slices instead of regions.
#[alcor_test(ranks >= 1)]
fn slices(context: &Context) -> Result {
    on_world(context, |_, rank, world| {
        let (me, size) = (u64::from(world.rank()), u64::from(world.size()));
        let total = size * (size + 1) / 2;
        let mine = [me + 1, 7];
        let mut sum = [0; 2];
        world.allreduce(rank, Operation::Sum, &mine, &mut sum)?;
        same("allreduce", [total, 7 * size], sum)?;
        let mut largest = [0; 2];
        world.reduce(rank, Operation::Max, 0, &mine, &mut largest)?;
        same("reduce", if me == 0 { [size, 7] } else { [0; 2] }, largest)?;
        let blocks: Vec<u64> = (0..size).map(|block| block * 10 + me).collect();
        let mut block = [0];
        world.reduce_scatter(rank, Operation::Min, &blocks, &mut block)?;
        same("reduce_scatter", [me * 10], block)?;
        let mut copy = mine;
        let root = world.size() - 1;
        world.bcast(rank, root, &mut copy)?;
        same("bcast", [size, 7], copy)?;
        let source: &[u64] = if world.rank() == root { &blocks } else { &[] };
        let mut block = [0];
        world.scatter(rank, root, source, &mut block)?;
        same("scatter", [me * 10 + size - 1], block)?;
        let all: Vec<u64> = (0..size).flat_map(|member| [member + 1, 7]).collect();
        let none = vec![0; all.len()];
        let mut gathered = none.clone();
        world.gather(rank, root, &mine, &mut gathered)?;
        same("gather", if world.rank() == root { &all } else { &none }, &gathered)?;
        let mut gathered = none;
        world.allgather(rank, &mine, &mut gathered)?;
        same("allgather", all, gathered)
    })
}

/// Members whose calls differ are all told in what, and the communicator works again.
#[alcor_test(ranks >= 2)]
fn differences(context: &Context) -> Result {
    on_world(context, |driver, rank, world| {
        let size = world.size();
        let usual = |collective| Case {
            count: 6,
            root: 0,
            ..Case::new(collective, ElementType::U32)
        };
        let sum = usual(Collective::Allreduce);
        let pairs = [
            (Difference::Collective, sum, usual(Collective::Barrier)),
            (
                Difference::Collective,
                usual(Collective::Bcast),
                usual(Collective::Scatter),
            ),
            (Difference::Collective, usual(Collective::Allgather), sum),
            (Difference::Count, sum, Case { count: 7, ..sum }),
            (Difference::Count, sum, Case { count: 600, ..sum }),
            (Difference::Count, sum, Case { count: 0, ..sum }),
            (
                Difference::Count,
                usual(Collective::Gather),
                Case {
                    count: 1,
                    ..usual(Collective::Gather)
                },
            ),
            (
                Difference::Count,
                usual(Collective::Bcast),
                Case {
                    count: 60,
                    ..usual(Collective::Bcast)
                },
            ),
            (
                Difference::Type,
                sum,
                Case {
                    element: ElementType::I32,
                    ..sum
                },
            ),
            (
                Difference::Type,
                usual(Collective::Bcast),
                Case {
                    element: ElementType::F32,
                    ..usual(Collective::Bcast)
                },
            ),
            // Types that software knows, and hardware does not.
            (
                Difference::Type,
                sum,
                Case {
                    element: ElementType::I8,
                    ..sum
                },
            ),
            (
                Difference::Type,
                Case {
                    element: ElementType::U16,
                    ..usual(Collective::ReduceScatter)
                },
                usual(Collective::ReduceScatter),
            ),
            (
                Difference::Count,
                Case {
                    element: ElementType::I16,
                    ..sum
                },
                Case {
                    element: ElementType::I16,
                    count: 60,
                    ..sum
                },
            ),
            (
                Difference::Operation,
                sum,
                Case {
                    operation: Operation::Max,
                    ..sum
                },
            ),
            (
                Difference::Operation,
                usual(Collective::ReduceScatter),
                Case {
                    operation: Operation::Bxor,
                    ..usual(Collective::ReduceScatter)
                },
            ),
            (
                Difference::Root,
                usual(Collective::Reduce),
                Case {
                    root: size - 1,
                    ..usual(Collective::Reduce)
                },
            ),
            (
                Difference::Root,
                usual(Collective::Bcast),
                Case {
                    root: size - 1,
                    ..usual(Collective::Bcast)
                },
            ),
            (
                Difference::Root,
                usual(Collective::Scatter),
                Case {
                    root: 1,
                    ..usual(Collective::Scatter)
                },
            ),
            (
                Difference::Root,
                usual(Collective::Gather),
                Case {
                    root: 1,
                    ..usual(Collective::Gather)
                },
            ),
        ];
        in_turn(&driver, rank, world, &pairs, usual)
    })
}

/// Members whose calls differ get an error for messages that are longer than any window, too. The
/// next collective of the communicator is correct.
#[alcor_test(ranks >= 2)]
fn different_and_long(context: &Context) -> Result {
    context.run(|rank| {
        let driver = Driver { context, forced: false };
        let world = rank.world()?;
        let size = world.size();
        // More than the 512 phits of a window.
        let all = 4320;
        let long = |collective| Case {
            // Scatter and the like have a block of it for each member.
            count: match collective {
                Collective::Reduce | Collective::Allreduce | Collective::Bcast => all,
                _ => all / size as usize,
            },
            root: 0,
            ..Case::new(collective, ElementType::U32)
        };
        let rooted = |collective| {
            let last = Case { root: size - 1, ..long(collective) };
            (Difference::Root, long(collective), last)
        };
        let sum = long(Collective::Allreduce);
        let pairs = [
            rooted(Collective::Reduce),
            rooted(Collective::Bcast),
            rooted(Collective::Scatter),
            rooted(Collective::Gather),
            (Difference::Count, sum, Case { count: all - 1, ..sum }),
            (Difference::Count, sum, Case { count: 1, ..sum }),
            (Difference::Type, sum, Case { element: ElementType::I32, ..sum }),
            (Difference::Type, sum, Case { element: ElementType::I16, ..sum }),
            (Difference::Operation, sum, Case { operation: Operation::Max, ..sum }),
            (Difference::Collective, sum, long(Collective::Bcast)),
            (Difference::Collective, long(Collective::Allgather), long(Collective::ReduceScatter)),
            (Difference::Collective, sum, long(Collective::Barrier)),
        ];
        in_turn(&driver, rank, &world, &pairs, long)?;
        Ok(())
    })?;
    Ok(())
}

/// The last rank drops the request of a collective whose calls differ, and waits at a barrier. The
/// other ranks learn its call all the same.
#[alcor_test(ranks >= 2)]
fn unclaimed_difference(context: &Context) -> Result {
    context.run(|rank| {
        let world = rank.world()?;
        let is_last = rank.pid().0 + 1 == rank.nprocs();
        let count = if is_last { 2 } else { 3 };
        let mut vector = rank.alloc_from(&vec![1u32; count])?;
        let request = world.iallreduce_in_place(rank, Operation::Sum, &mut vector)?;
        let differs = |error: &Error| matches!(error, Error::CollectivesDiffer { .. });
        if is_last {
            drop(request);
            rank.barrier()?;
            let is_reported =
                |error: &Error| matches!(error, Error::Unclaimed { first, .. } if differs(first));
            return fails("the flush", "Error::Unclaimed", is_reported, rank.flush_all());
        }
        let result = rank.wait(request);
        if let Err(Error::CollectivesDiffer { others, .. }) = &result {
            let last = others.last().and_then(|other| other.call);
            same("the count of the last rank", Some(2), last.map(|call| call.count))?;
        }
        fails("the request", "Error::CollectivesDiffer", differs, result)?;
        Ok(rank.barrier()?)
    })?;
    Ok(())
}

/// What a rank alone can see to be wrong is refused before anything is posted.
#[alcor_test(ranks >= 1)]
fn bad_arguments(context: &Context) -> Result {
    on_world(context, |driver, rank, world| {
        let me = rank.pid();
        let size = world.size();
        let (mut short, mut long) = (
            rank.alloc::<f64>(3)?,
            rank.alloc::<f64>(3 * size as usize + 1)?,
        );
        let sum = Operation::Sum;
        for root in [size, size + 1, u32::MAX] {
            let no_root = |error: &Error| {
                matches!(
                    error,
                    Error::NoSuchMember { what: "root", found, .. } if *found == root
                )
            };
            let place = format!("{me}: root {root}");
            fails(
                &place,
                "NoSuchMember",
                no_root,
                world.bcast(rank, root, &mut short),
            )?;
            fails(
                &place,
                "NoSuchMember",
                no_root,
                world.reduce(rank, sum, root, &short, short.clone()),
            )?;
            fails(
                &place,
                "NoSuchMember",
                no_root,
                world.gather(rank, root, &short, &mut []),
            )?;
            fails(
                &place,
                "NoSuchMember",
                no_root,
                world.scatter(rank, root, &[], &mut short),
            )?;
        }
        for operation in [Operation::Band, Operation::Bor, Operation::Bxor] {
            let place = format!("{me}: {operation} of f64");
            let none = |error: &Error| {
                matches!(
                    error,
                    Error::NoSuchOperation { operation: found, .. } if *found == operation
                )
            };
            fails(
                &place,
                "NoSuchOperation",
                none,
                world.allreduce_in_place(rank, operation, &mut short),
            )?;
            fails(
                &place,
                "NoSuchOperation",
                none,
                world.reduce(rank, operation, 0, &short, short.clone()),
            )?;
            let whole = long.slice(..3 * size as usize)?;
            fails(
                &place,
                "NoSuchOperation",
                none,
                world.reduce_scatter(rank, operation, &whole, &mut short),
            )?;
        }
        let wrong = |error: &Error| matches!(error, Error::WrongLength { .. });
        let place = format!("{me}: vectors of the wrong length");
        fails(
            &place,
            "WrongLength",
            wrong,
            world.allreduce(rank, sum, &short, &mut long),
        )?;
        fails(
            &place,
            "WrongLength",
            wrong,
            world.reduce_scatter(rank, sum, &long, &mut short),
        )?;
        fails(
            &place,
            "WrongLength",
            wrong,
            world.allgather(rank, &short, &mut long),
        )?;
        if world.rank() == 0 {
            fails(
                &place,
                "WrongLength",
                wrong,
                world.reduce(rank, sum, 0, &short, &mut []),
            )?;
            fails(
                &place,
                "WrongLength",
                wrong,
                world.gather(rank, 0, &short, &mut []),
            )?;
            fails(
                &place,
                "WrongLength",
                wrong,
                world.scatter(rank, 0, &[], &mut short),
            )?;
            fails(
                &place,
                "WrongLength",
                wrong,
                world.scatter(rank, 0, &long, &mut short),
            )?;
        }
        let overlaps = |error: &Error| matches!(error, Error::Overlap { .. });
        let (mut low, mut high) = (long.slice(..3)?, long.slice(1..4)?);
        let place = format!("{me}: overlapping vectors");
        fails(
            &place,
            "Overlap",
            overlaps,
            world.allreduce(rank, sum, &low, &mut high),
        )?;
        fails(
            &place,
            "Overlap",
            overlaps,
            world.allreduce(rank, sum, &high, &mut low),
        )?;
        driver.run_all(
            rank,
            world,
            ALL.map(|collective| Case::new(collective, ElementType::F64)),
        )
    })
}

/// Puts and gets under way at the same time, and fences in between, are as without.
#[alcor_test(ranks >= 1)]
fn among_puts(context: &Context) -> Result {
    let rounds = context.scale(8, 80);
    on_world(context, |driver, rank, world| {
        let me = rank.pid();
        let length = 900;
        let inbox = rank.alloc_from(&vec![0u8; length])?;
        let window = rank.register(&inbox, alcor::Rights::ALL)?;
        let mut local = rank.alloc::<u8>(length)?;
        let mut gotten = rank.alloc::<u8>(length)?;
        for round in 0..rounds {
            rank.write(
                &mut local,
                0,
                &context.noise(&[1, u64::from(me.0), round], length),
            )?;
            rank.barrier()?;
            let put = rank.iput(&window, after(rank, 1), 0, &local)?;
            let case = Case {
                number: 2 * round,
                count: 30,
                ..Case::new(ALL[round as usize % ALL.len()], ElementType::F64)
            };
            let under_way = driver.start(rank, world, &case)?;
            rank.wait(put).at("a put among collectives")?;
            driver.finish(rank, under_way)?;
            rank.fence()?;
            let get = rank.iget(&window, after(rank, 2), 0, &mut gotten)?;
            let case = Case {
                number: 2 * round,
                ..Case::new(Collective::Allreduce, ElementType::U64)
            };
            driver.run(rank, world, &case)?;
            rank.wait(get).at("a get among collectives")?;
            let from = after(rank, rank.nprocs() - 1);
            let expected = context.noise(&[1, u64::from(from.0), round], length);
            same_bytes(
                format_args!("{me}: put by {from}"),
                &expected,
                &rank.read_vec(&inbox)?,
            )?;
            let of = after(rank, 1);
            let expected = context.noise(&[1, u64::from(of.0), round], length);
            same_bytes(
                format_args!("{me}: get of what {of} put"),
                &expected,
                &rank.read_vec(&gotten)?,
            )?;
        }
        Ok(())
    })
}

/// Many requests of one communicator: waited for in any order, tested, or dropped.
#[alcor_test(ranks >= 1)]
fn requests(context: &Context) -> Result {
    on_world(context, |driver, rank, world| {
        let cases: Vec<Case> = (0..12u64)
            .map(|number| Case {
                number: 2 * number,
                count: 9,
                root: number as u32 % world.size(),
                ..Case::new(
                    ALL[number as usize % ALL.len()],
                    HARDWARE[number as usize % HARDWARE.len()],
                )
            })
            .collect();
        let mut under_way = Vec::new();
        for case in &cases {
            under_way.push(driver.start(rank, world, case)?);
        }
        // The last first.
        while let Some(last) = under_way.pop() {
            driver.finish(rank, last)?;
        }
        for case in &cases {
            let mut last = driver.start(rank, world, case)?;
            while !last.test(rank)? {}
            driver.finish(rank, last)?;
        }
        let mut vector = rank.alloc_from(&[1u32; 50])?;
        drop(world.iallreduce_in_place(rank, Operation::Sum, &mut vector)?);
        drop(world.ibarrier(rank)?);
        let mut other = rank.alloc_from(&[2u32; 50])?;
        drop(world.iallreduce_in_place(rank, Operation::Sum, &mut other)?);
        world.barrier(rank)?;
        let size = world.size();
        same(
            "a vector whose requests were dropped",
            vec![size; 50],
            rank.read_vec(&vector)?,
        )?;
        rank.flush_all()?;
        Ok(())
    })
}

/// Runs `what` with the world.
pub(super) fn on_world(
    context: &Context,
    what: impl Fn(Driver<'_>, &mut Rank, &Communicator) -> Result + Sync,
) -> Result {
    context.run(|rank| {
        let world = rank.world()?;
        what(
            Driver {
                context,
                forced: false,
            },
            rank,
            &world,
        )
    })?;
    Ok(())
}

/// One pair of calls after another that differ, by the member that calls the second in turn; after
/// each the communicator works again, with a call of `works`.
fn in_turn(
    driver: &Driver<'_>,
    rank: &mut Rank,
    world: &Communicator,
    pairs: &[(Difference, Case, Case)],
    works: impl Fn(Collective) -> Case,
) -> Result {
    for (number, &(difference, most, other)) in (0..).zip(pairs) {
        let odd = number % world.size();
        let of = |member| if member == odd { other } else { most };
        let case = of(world.rank());
        let calls: Vec<(GlobalRank, Option<Call>)> = (0..world.size())
            .filter(|&member| member != world.rank())
            .map(|member| (world.members()[member as usize], Some(of(member).call(world))))
            .collect();
        differs(rank, world, &case, difference, &calls)?;
        let case = Case {
            number: 2 * u64::from(number),
            ..works(ALL[number as usize % ALL.len()])
        };
        driver.run(rank, world, &case)?;
    }
    Ok(())
}

/// Calls what another member calls differently: this member has to be told, with the calls of the
/// others, and nothing but its destination may have changed.
fn differs(
    rank: &mut Rank,
    communicator: &Communicator,
    case: &Case,
    difference: Difference,
    calls: &[(GlobalRank, Option<Call>)],
) -> Result {
    let me = rank.pid();
    let size = communicator.size() as usize;
    let elements = if case.has_blocks() {
        size * case.count
    } else {
        case.count
    };
    let (gives, keeps) = match case.collective {
        Collective::ReduceScatter | Collective::Scatter => (elements, case.count),
        Collective::Gather | Collective::Allgather => (case.count, elements),
        _ => (elements, elements),
    };
    let place = format!(
        "{me}: {} of {} {}, root {}",
        case.collective, case.count, case.element, case.root
    );
    let result = sample::with_type!(case.element, T => {
        let (from, to) = (rank.alloc::<T>(gives)?, rank.alloc::<T>(keeps + 16)?);
        rank.write(&mut to.bytes(), 0, &vec![0x5A; (keeps + 16) * bytes_of(case.element)])?;
        let result = call::<T>(rank, communicator, case, &from, &to.slice(8..8 + keeps)?);
        let found = rank.read_vec(&to.bytes())?;
        let (guard, end) = (8 * bytes_of(case.element), found.len());
        let outside = [&found[..guard], &found[end - guard..]].concat();
        let around = format_args!("{place}: what is around its destination");
        same_bytes(around, &vec![0x5A; 2 * guard], &outside)?;
        result
    });
    let told = |error: &Error| {
        matches!(
            error,
            Error::CollectivesDiffer { rank, difference: found, call, .. }
                if *rank == me && *found == difference && *call == case.call(communicator)
        )
    };
    if let Err(Error::CollectivesDiffer { others, .. }) = &result {
        let found: Vec<_> = others.iter().map(|other| (other.rank, other.call)).collect();
        same(format_args!("{place}: the calls of the other members"), calls.to_vec(), found)?;
    }
    fails(
        &place,
        &format!("CollectivesDiffer in the {difference}"),
        told,
        result,
    )
}

fn call<T: sample::Sample>(
    rank: &mut Rank,
    communicator: &Communicator,
    case: &Case,
    source: &alcor::Region<T>,
    destination: &alcor::Region<T>,
) -> alcor::Result<()> {
    let (operation, root) = (case.operation, case.root);
    let at_root = communicator.rank() == root;
    match case.collective {
        Collective::Allreduce => communicator.allreduce(rank, operation, source, destination.clone()),
        Collective::Reduce => communicator.reduce(rank, operation, root, source, destination.clone()),
        Collective::ReduceScatter => {
            communicator.reduce_scatter(rank, operation, source, destination.clone())
        }
        Collective::Bcast => communicator.bcast(rank, root, destination.clone()),
        Collective::Scatter if at_root => {
            communicator.scatter(rank, root, source, destination.clone())
        }
        Collective::Scatter => communicator.scatter(rank, root, &[], destination.clone()),
        Collective::Gather => communicator.gather(rank, root, source, destination.clone()),
        Collective::Allgather => communicator.allgather(rank, source, destination.clone()),
        _ => communicator.barrier(rank),
    }
    .map(drop)
}
