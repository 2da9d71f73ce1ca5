//! Accumulates: all operations and types, all lengths, from all ranks at once.

use std::fmt::Debug;

use alcor::{
    Accumulate, AccumulateElement, AccumulateOperation, AtomicOperation, ElementType, Error,
    GlobalRank, NodeAddr, Operation, Rank, Region, Rights, Status,
};
use alcor_test::{Context, Result, after, alcor_test, before, fails, refused, same};
use rand::Rng;
use rand::seq::IndexedRandom;

/// A number whose bits the tests compare.
trait Number: AccumulateElement + Debug {
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
    /// Numbers at the ends, and special ones.
    fn ends() -> Vec<Self>;
}

macro_rules! integers {
    ($($number:ty),*) => {$(
        impl Number for $number {
            fn of(bits: u64) -> Self {
                bits as $number
            }

            fn bits(self) -> u64 {
                self as u64
            }

            fn ends() -> Vec<Self> {
                [0, 1, u64::MAX, u64::MAX >> 1, 1 << 31, 1 << 63, u64::MAX >> 33].map(Self::of).to_vec()
            }
        }
    )*};
}

macro_rules! floats {
    ($($number:ty, $bits:ty);*) => {$(
        impl Number for $number {
            fn of(bits: u64) -> Self {
                <$number>::from_bits(bits as $bits)
            }

            fn bits(self) -> u64 {
                self.to_bits().into()
            }

            fn ends() -> Vec<Self> {
                let bits = <$bits>::MAX;
                let tiny = <$number>::from_bits(1);
                let (least, most) = (<$number>::MIN_POSITIVE, <$number>::MAX);
                let odd = <$number>::from_bits(bits);
                let infinity = <$number>::INFINITY;
                vec![0.0, -0.0, 1.0, -1.5, tiny, least, most, infinity, -infinity, odd]
            }
        }
    )*};
}

integers!(i64, i32, u64, u32);
floats!(f64, u64; f32, u32);

/// Bits of numbers: two numbers that are none are equal if their bits are.
fn bits<T: Number>(numbers: &[T]) -> Vec<u64> {
    numbers.iter().map(|number| number.bits()).collect()
}

/// Every operation of every type, on numbers at both ends and on random ones, with and without the
/// old elements.
#[alcor_test(ranks >= 1, needs = [Accumulate])]
fn operations(context: &Context) -> Result {
    operations_of::<f64>(context)?;
    operations_of::<f32>(context)?;
    operations_of::<i64>(context)?;
    operations_of::<i32>(context)?;
    operations_of::<u64>(context)?;
    operations_of::<u32>(context)
}

fn operations_of<T: Number>(context: &Context) -> Result {
    const COUNT: usize = 40;
    context.run(|rank| {
        let region = rank.alloc_from(&[T::default(); COUNT + 2])?;
        let window = rank.register(&region, Rights::ALL)?;
        let peer = after(rank, 1);
        let mut rng = context.rng(&[u64::from(rank.pid().0), T::TYPE as u64]);
        let ends = T::ends();
        let mut draw = || {
            let random = |rng: &mut rand_chacha::ChaCha8Rng| {
                if rng.random_bool(0.5) {
                    *ends.choose(rng).unwrap_or(&T::default())
                } else {
                    T::of(rng.random())
                }
            };
            (0..COUNT).map(|_| random(&mut rng)).collect::<Vec<T>>()
        };
        for round in 0..context.scale(1, 10) {
            for &operation in AccumulateOperation::ALL {
                let (start, new) = (draw(), draw());
                rank.accumulate(&window, peer, 1, &start, AccumulateOperation::Replace)?;
                if matches!(operation, AccumulateOperation::Reduce(it) if T::IS_FLOAT && it.is_bitwise()) {
                    let is_it = |error: &Error| matches!(error, Error::NoSuchOperation { .. });
                    let ended = rank.accumulate(&window, peer, 1, &new, operation);
                    fails("a bitwise operation of floats", "NoSuchOperation", is_it, ended)?;
                    continue;
                }
                let mut old = vec![T::default(); COUNT];
                if round % 2 == 0 {
                    rank.get_accumulate(&window, peer, 1, &new, operation, &mut old)?;
                    same(format_args!("the old elements, {operation}"), bits(&start), bits(&old))?;
                } else {
                    rank.accumulate(&window, peer, 1, &new, operation)?;
                }
                let mut found = vec![T::default(); COUNT + 2];
                rank.get(&window, peer, 0, &mut found)?;
                let pairs = start.iter().zip(&new);
                let expected: Vec<T> = pairs.map(|(&old, &new)| operation.combine(old, new)).collect();
                let what = format_args!("{operation} of {}", T::TYPE);
                same(what, bits(&expected), bits(&found[1..=COUNT]))?;
                let around = [found[0], found[COUNT + 1]];
                same("the elements around", bits(&[T::default(); 2]), bits(&around))?;
            }
        }
        Ok(rank.barrier()?)
    })?;
    Ok(())
}

/// Vectors from no element to several packets, at all places of a window, from any address.
#[alcor_test(ranks >= 1, needs = [Accumulate])]
fn lengths(context: &Context) -> Result {
    let words = 2 * (context.info().packet_bytes / 4) as usize + 9;
    context.run(|rank| {
        let region = rank.alloc_from(&vec![0u32; words + 16])?;
        let window = rank.register(&region, Rights::ALL)?;
        let peer = after(rank, 1);
        let mut model = vec![0u32; words + 16];
        let mut rng = context.rng(&[u64::from(rank.pid().0)]);
        let mut lengths: Vec<usize> = (0..20).chain([words - 10, words - 9, words - 1, words]).collect();
        lengths.extend((0..context.scale(10, 100)).map(|_| rng.random_range(0..=words)));
        // The new elements lie at any byte address.
        let bytes = rank.alloc::<u8>(4 * words + 4)?;
        let olds = rank.alloc::<u32>(words + 1)?;
        for length in lengths {
            let offset = rng.random_range(0..16);
            let (shift, place) = (rng.random_range(0..4u32), rng.random_range(0..2));
            let new: Vec<u32> = (0..length).map(|_| rng.random()).collect();
            let mut data: Vec<u8> = new.iter().flat_map(|word| word.to_le_bytes()).collect();
            data.splice(0..0, (0..shift).map(|_| 0xEE));
            let mut all = bytes.clone();
            rank.write(&mut all, 0, &data)?;
            let fetches = rng.random();
            let mut one = Accumulate::new(
                Operation::Sum.into(),
                ElementType::U32,
                peer,
                window.slot(),
                NodeAddr(bytes.addr().0 + shift),
                4 * length as u32,
            )
            .at_offset(4 * offset as u32);
            if fetches {
                one = one.fetching(NodeAddr(olds.addr().0 + 4 * place));
            }
            let request = rank.lab().accumulate(one)?;
            rank.wait(request)?;
            if fetches {
                let found = rank.read_vec(&olds)?;
                let at = place as usize;
                let old = model[offset..offset + length].to_vec();
                same(format_args!("the old elements of {one}"), old, found[at..at + length].to_vec())?;
            }
            for (word, new) in model[offset..].iter_mut().zip(&new) {
                *word = word.wrapping_add(*new);
            }
        }
        let mut found = vec![0; words + 16];
        rank.get(&window, peer, 0, &mut found)?;
        same("the window", model, found)?;
        Ok(rank.barrier()?)
    })?;
    Ok(())
}

/// All ranks add to the same vector at the same time, elements of both sizes: no sum is lost, and of each
/// element no two ranks find the same number.
#[alcor_test(ranks >= 1, needs = [Accumulate])]
fn from_all_ranks(context: &Context) -> Result {
    const COUNT: usize = 24;
    let rounds = context.scale(6, 60);
    let found = context.run(|rank| {
        let region = rank.alloc_from(&[0u64; COUNT])?;
        let window = rank.register(&region, Rights::ALL)?;
        let sums = rank.alloc_from(&[0.0; COUNT])?;
        let sum_window = rank.register(&sums, Rights::ALL)?;
        let home = GlobalRank(rank.nprocs() - 1);
        let mut olds = Vec::new();
        for _ in 0..rounds {
            let mut old = [0; COUNT];
            let ones = [1; COUNT];
            let fetch = rank.iget_accumulate(&window, home, 0, &ones, Operation::Sum, &mut old)?;
            let halves = [0.5; COUNT];
            let sum = rank.iaccumulate(&sum_window, home, 0, &halves, Operation::Sum)?;
            // Words of the same vector.
            let word = rank.ifetch_add(&window, home, 3, 1 << 32)?;
            rank.wait_all([fetch, sum, word.into_request()])?;
            olds.push(old);
        }
        rank.barrier()?;
        Ok((olds, rank.read_vec(&region)?, rank.read_vec(&sums)?))
    })?;
    let all = found.len() as u64 * rounds;
    let (_, words, sums) = &found[found.len() - 1];
    let mut expected = vec![all; COUNT];
    expected[3] += all << 32;
    same("the sums", expected, words.clone())?;
    same("the sums of floats", vec![all as f64 / 2.0; COUNT], sums.clone())?;
    for place in 0..COUNT {
        let low = |old: &[u64; COUNT]| old[place] & 0xFFFF_FFFF;
        let mut numbers: Vec<u64> = found.iter().flat_map(|(olds, ..)| olds.iter().map(low)).collect();
        numbers.sort_unstable();
        same(format_args!("numbers found at {place}"), (0..all).collect(), numbers)?;
    }
    Ok(())
}

/// Puts, accumulates and atomic operations of a rank to a target are carried out in the order of its
/// calls, all under way at once.
#[alcor_test(ranks >= 1, needs = [Accumulate])]
fn order(context: &Context) -> Result {
    const COUNT: usize = 12;
    context.run(|rank| {
        let region = rank.alloc_from(&[0i32; COUNT])?;
        let window = rank.register(&region, Rights::ALL)?;
        let peer = after(rank, 1);
        let mut rng = context.rng(&[u64::from(rank.pid().0)]);
        let mut model = vec![0i32; COUNT];
        for _ in 0..context.scale(6, 60) {
            let mut requests = Vec::new();
            let mut olds: Vec<(Region<i32>, Vec<i32>)> = Vec::new();
            for _ in 0..8 {
                let at = rng.random_range(0..COUNT);
                let length = rng.random_range(1..=COUNT - at);
                let new: Vec<i32> = (0..length).map(|_| rng.random()).collect();
                let local = rank.alloc_from(&new)?;
                let reach = at..at + length;
                match rng.random_range(0..4) {
                    0 => {
                        requests.push(rank.iput(&window, peer, at, local)?);
                        model[reach].copy_from_slice(&new);
                    }
                    1 => {
                        let add = AtomicOperation::Add;
                        let fetch = rank.ifetch_op(&window, peer, at, add, new[0])?;
                        requests.push(fetch.into_request());
                        model[at] = model[at].wrapping_add(new[0]);
                    }
                    kind => {
                        let operation = *AccumulateOperation::ALL.choose(&mut rng).unwrap_or(&AccumulateOperation::Keep);
                        if kind == 2 {
                            requests.push(rank.iaccumulate(&window, peer, at, local, operation)?);
                        } else {
                            let old = rank.alloc::<i32>(length)?;
                            let request = rank.iget_accumulate(&window, peer, at, local, operation, old.clone())?;
                            requests.push(request);
                            olds.push((old, model[reach.clone()].to_vec()));
                        }
                        for (word, new) in model[reach].iter_mut().zip(&new) {
                            *word = operation.combine(*word, *new);
                        }
                    }
                }
            }
            rank.wait_all(requests)?;
            for (region, expected) in olds {
                same("the old elements", expected, rank.read_vec(&region)?)?;
            }
            let mut found = vec![0; COUNT];
            rank.get(&window, peer, 0, &mut found)?;
            same("the window", model.clone(), found)?;
        }
        Ok(rank.barrier()?)
    })?;
    Ok(())
}

/// What is refused changes no memory: bounds, rights, alignment, operations, ranks, local addresses.
#[alcor_test(ranks >= 1, needs = [Accumulate])]
fn refusals(context: &Context) -> Result {
    context.run(|rank| {
        let node = rank.board().node_bytes;
        let memory = rank.alloc_from(&[7u32; 16])?;
        let window = rank.register(&memory, Rights::ALL)?;
        let (readable, writable) = (rank.alloc_from(&[7u32; 4])?, rank.alloc_from(&[7u32; 4])?);
        let shown = rank.register(&readable, Rights::READ)?;
        let hidden = rank.register(&writable, Rights::WRITE)?;
        let source = rank.alloc_from(&[1u64; 16])?;
        let sum = AccumulateOperation::Reduce(Operation::Sum);
        let of = |element, slot, length| {
            Accumulate::new(sum, element, GlobalRank(rank.pid().0), slot, source.addr(), length)
        };
        let (u32s, u64s) = (ElementType::U32, ElementType::U64);
        let slot = window.slot();
        let mut band = of(ElementType::F32, slot, 4);
        band.operation = Operation::Band.into();
        let mut nobody = of(u32s, slot, 4);
        nobody.target = GlobalRank(rank.nprocs());
        let mut far = of(u32s, slot, 8);
        far.local = NodeAddr(node - 4);
        let mut short = of(ElementType::U16, slot, 4);
        short.operation = AccumulateOperation::Replace;
        let tries = [
            (of(u32s, slot, 68), Status::OutOfBounds),
            (of(u32s, slot, 8).at_offset(60), Status::OutOfBounds),
            (of(u64s, slot, 8).at_offset(0xFFFF_FFF8), Status::OutOfBounds),
            (of(u32s, shown.slot(), 4), Status::Denied),
            (of(u32s, hidden.slot(), 4), Status::Denied),
            (of(u32s, slot, 4).at_offset(2), Status::BadAlignment),
            (of(u32s, slot, 6), Status::BadAlignment),
            (of(u64s, slot, 8).at_offset(4), Status::BadAlignment),
            (of(u64s, slot, 12), Status::BadAlignment),
            (of(u32s, slot, 4).fetching(NodeAddr(source.addr().0 + 2)), Status::BadAlignment),
            (of(u32s, slot, 8).fetching(NodeAddr(node - 4)), Status::BadLocal),
            (far, Status::BadLocal),
            (band, Status::BadOperation),
            (short, Status::BadOperation),
            (nobody, Status::BadRank),
            (of(u32s, slot.wrapping_add(100), 4), Status::BadSlot),
        ];
        for length in [1, 3] {
            let mut old = vec![0u32; length];
            let ended = rank.get_accumulate(&window, rank.pid(), 0, &[1, 1], Operation::Sum, &mut old);
            let is_it = |error: &Error| matches!(error, Error::OldElements { .. });
            fails("a buffer of another length", "OldElements", is_it, ended)?;
        }
        for (accumulate, status) in tries {
            for fetches in [false, true] {
                let mut accumulate = accumulate;
                if fetches && accumulate.old.is_none() {
                    accumulate.old = Some(NodeAddr(source.addr().0 + 64));
                }
                let request = rank.lab().accumulate(accumulate)?;
                let ended = rank.wait(request);
                refused(format_args!("{accumulate}"), status, ended)?;
                same("memory after a refusal", vec![7; 16], rank.read_vec(&memory)?)?;
                same("the old elements", vec![1; 16], rank.read_vec(&source)?)?;
            }
        }
        Ok(rank.barrier()?)
    })?;
    Ok(())
}

/// Vectors of several packets to all ranks at once, among puts, gets and messages.
#[alcor_test(ranks >= 2, needs = [Accumulate])]
fn beside_other_traffic(context: &Context) -> Result {
    let length = (context.info().packet_bytes / 4) as usize + 30;
    let rounds = context.scale(4, 40) as u32;
    context.run(|rank| {
        let sums = rank.alloc_from(&vec![0u64; length])?;
        let window = rank.register(&sums, Rights::ALL)?;
        let plain = rank.alloc_from(&vec![0u32; 64 * rank.nprocs() as usize])?;
        let puts = rank.register(&plain, Rights::ALL)?;
        let (me, ranks) = (rank.pid().0, rank.nprocs());
        for round in 0..rounds {
            let mut requests = Vec::new();
            for step in 0..ranks {
                let target = after(rank, step);
                let new = rank.alloc_from(&vec![u64::from(me) + 1; length])?;
                requests.push(rank.iaccumulate(&window, target, 0, new, Operation::Sum)?);
                let words = rank.alloc_from(&[round * 1000 + me; 64])?;
                requests.push(rank.iput(&puts, target, 64 * me as usize, words)?);
                let ahead = rank.alloc::<u64>(length)?;
                requests.push(rank.iget(&window, target, 0, ahead)?);
            }
            exchange(rank, round)?;
            rank.wait_all(requests)?;
        }
        rank.barrier()?;
        let each = u64::from(ranks) * u64::from(ranks + 1) / 2 * u64::from(rounds);
        same("the sums", vec![each; length], rank.read_vec(&sums)?)?;
        let last = (rounds - 1) * 1000;
        let expected: Vec<u32> = (0..64 * ranks).map(|at| last + at / 64).collect();
        same("the puts", expected, rank.read_vec(&plain)?)
    })?;
    Ok(())
}

/// A message to the next rank, where boards have messages.
fn exchange(rank: &mut Rank, round: u32) -> Result {
    if !rank.board().has_messages() {
        return Ok(());
    }
    let (next, last) = (after(rank, 1), before(rank, 1));
    let data = [round; 5];
    let send = rank.isend(next, round, &data)?;
    let mut found = [0u32; 5];
    rank.recv(alcor::Source::Rank(last.0), round, &mut found)?;
    rank.wait(send)?;
    same("the message", data, found)
}
