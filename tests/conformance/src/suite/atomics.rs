//! Atomic operations: on words of all sizes, from all ranks at once, and puts with a signal.

use std::fmt::Debug;

use alcor::{
    Atomic, AtomicOperation, AtomicWord, Error, GlobalRank, Opcode, Rank, Region, Rights, Signal,
    Status,
};
use alcor_test::{Context, Result, after, alcor_test, before, fails, holds, refused, same};
use rand::seq::IndexedRandom;
use rand::{Rng, RngCore};

/// The hardware's word, with the arithmetic that the tests compute themselves.
trait Word: AtomicWord + Debug + Ord + Send {
    const WIDTH: u32;

    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
    /// The word after an operation with `value`.
    fn after(self, operation: AtomicOperation, value: Self) -> Self {
        let (old, new) = (self.bits(), value.bits());
        match operation {
            AtomicOperation::Swap => value,
            AtomicOperation::Add => Self::of(old.wrapping_add(new)),
            AtomicOperation::And => Self::of(old & new),
            AtomicOperation::Or => Self::of(old | new),
            AtomicOperation::Xor => Self::of(old ^ new),
            AtomicOperation::Min => std::cmp::min(self, value),
            AtomicOperation::Max => std::cmp::max(self, value),
            other => panic!("{other:?}"),
        }
    }
}

macro_rules! words {
    ($($word:ty),*) => {$(
        impl Word for $word {
            const WIDTH: u32 = <$word>::BITS;

            fn of(bits: u64) -> Self {
                bits as $word
            }

            fn bits(self) -> u64 {
                self as u64
            }
        }
    )*};
}

words!(u32, i32, u64, i64);

/// All ranks add to one word: the sum is right, and no two of them find the same value.
#[alcor_test(ranks >= 1)]
fn counter(context: &Context) -> Result {
    counts::<u32>(context, 0xFFFF_FFF0)?;
    counts::<u64>(context, 0xFFFF_FFF0)
}

fn counts<T: Word>(context: &Context, start: u64) -> Result {
    let rounds = context.scale(40, 400);
    let found = context.run(|rank| {
        let word = rank.alloc_from(&[T::of(start)])?;
        let window = rank.register(&word, Rights::ALL)?;
        let home = GlobalRank(rank.nprocs() - 1);
        let mut olds = Vec::new();
        for _ in 0..rounds / 4 {
            olds.push(rank.fetch_add(&window, home, 0, T::of(1))?);
            let several = [(); 3].map(|()| rank.ifetch_add(&window, home, 0, T::of(1)));
            for fetch in several {
                olds.push(rank.wait_fetch(fetch?)?);
            }
        }
        rank.barrier()?;
        Ok((olds, rank.read_vec(&word)?))
    })?;
    let ranks = found.len() as u64;
    let sum = T::of(start.wrapping_add(ranks * rounds));
    same("the sum", vec![sum], found[ranks as usize - 1].1.clone())?;
    for (olds, _) in &found {
        let place = |old: &T| T::of(old.bits().wrapping_sub(start));
        holds(
            "the values of one rank",
            "in the order of its calls",
            olds.is_sorted_by_key(place),
            format_args!("{olds:?}"),
        )?;
    }
    let mut olds: Vec<T> = found.into_iter().flat_map(|(olds, _)| olds).collect();
    olds.sort();
    let mut all: Vec<T> = (0..ranks * rounds)
        .map(|place| T::of(start.wrapping_add(place)))
        .collect();
    all.sort();
    same("the values that the ranks found", all, olds)
}

/// Every operation on every type, with values at both ends.
#[alcor_test(ranks >= 1)]
fn operations(context: &Context) -> Result {
    operations_of::<u32>(context)?;
    operations_of::<i32>(context)?;
    operations_of::<u64>(context)?;
    operations_of::<i64>(context)
}

fn operations_of<T: Word>(context: &Context) -> Result {
    let top = T::of(1 << (T::WIDTH - 1));
    let ends = [0, 1, u64::MAX, u64::MAX >> 1, 1 << 31, u64::MAX >> 33, 5 << 30];
    let values: Vec<T> = ends.map(T::of).into_iter().chain([top]).collect();
    context.run(|rank| {
        // Words on both sides, which stay as they are.
        let guard = T::of(0x5A5A_5A5A_5A5A_5A5A);
        let words = rank.alloc_from(&[guard; 3])?;
        let window = rank.register(&words, Rights::ALL)?;
        let peer = after(rank, 1);
        let mut word = guard;
        let mut rng = context.rng(&[u64::from(rank.pid().0), u64::from(T::WIDTH)]);
        for &operation in AtomicOperation::ALL {
            for _ in 0..context.scale(6, 60) {
                let value = *values.choose(&mut rng).unwrap_or(&top);
                let start = *values.choose(&mut rng).unwrap_or(&top);
                same("swapped", word, rank.swap(&window, peer, 1, start)?)?;
                let old = rank.fetch_op(&window, peer, 1, operation, value)?;
                same(format_args!("{operation:?} of {value:?}"), start, old)?;
                word = start.after(operation, value);
                let expected = *[word, value].choose(&mut rng).unwrap_or(&word);
                let new = T::of(rng.next_u64());
                let old = rank.compare_swap(&window, peer, 1, expected, new)?;
                let what = format_args!("{start:?} after {operation:?} of {value:?}");
                same(what, word, old)?;
                if expected == word {
                    word = new;
                }
            }
        }
        rank.barrier()?;
        let around = rank.read_vec(&words)?;
        same("the words around", [guard; 2], [around[0], around[2]])
    })?;
    Ok(())
}

/// A compare-and-swap that differs in one bit changes nothing.
#[alcor_test(ranks >= 1)]
fn compares_all_bits(context: &Context) -> Result {
    context.run(|rank| {
        let words = rank.alloc_from(&[0x0123_4567_89AB_CDEFu64])?;
        let window = rank.register(&words, Rights::ALL)?;
        let narrow = rank.alloc_from(&[0x89AB_CDEFu32])?;
        let narrow_window = rank.register(&narrow, Rights::ALL)?;
        let peer = after(rank, 1);
        for bit in 0..64 {
            let wrong = 0x0123_4567_89AB_CDEF ^ 1u64 << bit;
            let old = rank.compare_swap(&window, peer, 0, wrong, bit)?;
            same("the word", 0x0123_4567_89AB_CDEF, old)?;
        }
        for bit in 0..32 {
            let wrong = 0x89AB_CDEF ^ 1u32 << bit;
            let old = rank.compare_swap(&narrow_window, peer, 0, wrong, bit)?;
            same("the word of 32 bits", 0x89AB_CDEF, old)?;
        }
        rank.barrier()
            .map_err(Into::into)
            .and_then(|()| same("memory", vec![0x89AB_CDEFu32], rank.read_vec(&narrow)?))
    })?;
    Ok(())
}

/// A lock by compare-and-swap protects a counter that puts and gets change.
#[alcor_test(ranks >= 1)]
fn lock(context: &Context) -> Result {
    let rounds = context.scale(4, 40);
    let words = context.run(|rank| {
        let words = rank.alloc_from(&[0u64; 2])?;
        let window = rank.register(&words, Rights::ALL)?;
        let (home, me) = (GlobalRank(0), u64::from(rank.pid().0) + 1);
        for _ in 0..rounds {
            while rank.compare_swap(&window, home, 0, 0, me)? != 0 {}
            let mut count = [0];
            rank.get(&window, home, 1, &mut count)?;
            rank.put(&window, home, 1, &[count[0] + 1])?;
            same("the holder of the lock", me, rank.swap(&window, home, 0, 0)?)?;
        }
        rank.barrier()?;
        Ok(rank.read_vec(&words)?)
    })?;
    let count = u64::from(context.ranks()) * rounds;
    same("the lock, and its counter", vec![0, count], words[0].clone())
}

/// All ranks swap their values into one word: each value is found once, or is in the word at the end.
#[alcor_test(ranks >= 1)]
fn swaps(context: &Context) -> Result {
    let rounds = context.scale(30, 300);
    let found = context.run(|rank| {
        let word = rank.alloc_from(&[u32::MAX])?;
        let window = rank.register(&word, Rights::ALL)?;
        let mut found = Vec::new();
        for round in 0..rounds {
            let mine = rank.pid().0 * rounds + round;
            found.push(rank.swap(&window, GlobalRank(0), 0, mine)?);
        }
        rank.barrier()?;
        if rank.pid() == GlobalRank(0) {
            found.extend(rank.read_vec(&word)?);
        }
        Ok(found)
    })?;
    let mut found = found.concat();
    found.sort_unstable();
    let all: Vec<u32> = (0..context.ranks() * rounds).chain([u32::MAX]).collect();
    same("all values", all, found)
}

/// The owner of a window writes its counter by the same unit as the others.
#[alcor_test(ranks >= 2)]
fn owner_and_others(context: &Context) -> Result {
    let rounds = context.scale(50, 500);
    let words = context.run(|rank| {
        let words = rank.alloc_from(&[0u32; 2])?;
        let window = rank.register(&words, Rights::ALL)?;
        let mut mine = Vec::new();
        for _ in 0..rounds {
            mine.push(rank.ifetch_add(&window, rank.pid(), 0, 1)?.into_request());
            mine.push(rank.ifetch_add(&window, after(rank, 1), 0, 0x1_0000)?.into_request());
            mine.push(rank.ifetch_op(&window, before(rank, 1), 1, AtomicOperation::Xor, 1)?.into_request());
        }
        rank.wait_all(mine)?;
        rank.barrier()?;
        Ok(rank.read_vec(&words)?)
    })?;
    let expected = [0x1_0001 * rounds, rounds & 1];
    same("words of all ranks", vec![expected.to_vec(); words.len()], words)
}

/// Memory with a window, for operations whose outcome is known.
struct Tried {
    slot: u8,
    memory: Region<u32>,
}

impl Tried {
    fn tries(&self, rank: &mut Rank, opcode: Opcode, offset: u32, status: Status) -> Result {
        let value = 0x1111_1111_1111_1111;
        let atomic = Atomic::new(opcode, rank.pid(), self.slot, value).at_offset(offset);
        let before = rank.read_vec(&self.memory)?;
        let request = rank.lab().atomic(atomic)?;
        let ended = rank.wait(request);
        if status == Status::Ok {
            return Ok(ended?);
        }
        refused(format_args!("{atomic}"), status, ended)?;
        same("memory after a refusal", before, rank.read_vec(&self.memory)?)
    }
}

/// Words at the ends of windows, of any size of the window, and with any rights.
#[alcor_test(ranks >= 1)]
fn refusals(context: &Context) -> Result {
    let opcodes = [
        (Opcode::XAdd, 4),
        (Opcode::XCompareSwap, 4),
        (Opcode::XSwap64, 8),
        (Opcode::XCompareSwap64, 8),
    ];
    for size in [3, 4, 7, 8, 11, 12, 16] {
        context.run(|rank| {
            let memory = rank.alloc_from(&[0u32; 8])?;
            let mut lab = rank.lab();
            let base = memory.slice(2..)?.addr();
            let range = lab.register_range(base, Some(size), Rights::ALL)?;
            let tried = Tried {
                slot: range.slot,
                memory: memory.clone(),
            };
            for (opcode, bytes) in opcodes {
                for offset in (0..24).step_by(bytes as usize) {
                    let status = if offset + bytes <= size { Status::Ok } else { Status::OutOfBounds };
                    tried.tries(rank, opcode, offset, status)?;
                }
                for wrong in (0..20).filter(|offset| offset % bytes != 0) {
                    tried.tries(rank, opcode, wrong, Status::BadAlignment)?;
                }
                let far = 0u32.wrapping_sub(bytes);
                tried.tries(rank, opcode, far, Status::OutOfBounds)?;
                tried.tries(rank, opcode, 0x8000_0000, Status::OutOfBounds)?;
            }
            let found = rank.read_vec(&memory)?;
            let inside = (size / 4) as usize;
            same("memory in front", [0; 2], [found[0], found[1]])?;
            let behind = &found[2 + inside..];
            same("memory behind", vec![0; behind.len()], behind.to_vec())?;
            rank.lab().deregister_range(base)?;
            Ok(())
        })?;
    }
    Ok(())
}

/// An operation needs both rights, a window, and a rank of the run.
#[alcor_test(ranks >= 1)]
fn rights(context: &Context) -> Result {
    for rights in [Rights::READ, Rights::WRITE, Rights::NONE] {
        context.run(|rank| {
            let memory = rank.alloc_from(&[7u32; 4])?;
            let window = rank.register(&memory, rights)?;
            rank.barrier()?;
            let tried = Tried {
                slot: window.slot(),
                memory: memory.clone(),
            };
            for opcode in [Opcode::XSwap, Opcode::XAdd64, Opcode::XCompareSwap] {
                tried.tries(rank, opcode, 0, Status::Denied)?;
                tried.tries(rank, opcode, 16, Status::OutOfBounds)?;
                tried.tries(rank, opcode, 2, Status::BadAlignment)?;
            }
            let nobody = GlobalRank(rank.nprocs());
            let ended = rank.fetch_add(&window, nobody, 0, 1);
            refused("a rank beyond the run", Status::BadRank, ended)?;
            let far = GlobalRank(256);
            let is_out = |error: &Error| matches!(error, Error::OutOfRange { .. });
            let ended = rank.fetch_add(&window, far, 0, 1);
            fails("a rank of no register", "OutOfRange", is_out, ended)?;
            rank.barrier()?;
            rank.deregister(window)?;
            Ok(())
        })?;
    }
    context.run(|rank| {
        let memory = rank.alloc_from(&[7u32; 4])?;
        let window = rank.register(&memory, Rights::ALL)?;
        let slot = window.slot();
        rank.deregister(window)?;
        let atomic = Atomic::new(Opcode::XAdd, after(rank, 1), slot, 1);
        let request = rank.lab().atomic(atomic)?;
        refused("no window", Status::BadSlot, rank.wait(request))?;
        // A refusal whose request is dropped is reported by a flush.
        drop(rank.lab().atomic(atomic)?);
        refused("a flush", Status::BadSlot, rank.flush(after(rank, 1)))?;
        // The rank may name the window by its base, if there is one.
        rank.lab().command(Opcode::XWindow, memory.addr().0)?;
        let request = rank.lab().atomic(atomic)?;
        refused("a base", Status::NotRegistered, rank.wait(request))?;
        rank.barrier()?;
        same("memory", vec![7; 4], rank.read_vec(&memory)?)
    })?;
    Ok(())
}

/// A window that is named by its base.
#[alcor_test(ranks >= 1)]
fn by_base(context: &Context) -> Result {
    context.run(|rank| {
        let memory = rank.alloc_from(&[7u32; 4])?;
        let window = rank.register(&memory, Rights::ALL)?;
        rank.barrier()?;
        rank.lab().command(Opcode::XWindow, memory.addr().0)?;
        let me = rank.pid();
        let add = Atomic::new(Opcode::XAdd, me, window.slot() ^ 1, 1);
        let request = rank.lab().atomic(add.at_offset(12))?;
        rank.wait(request)?;
        same("memory", vec![7, 7, 7, 8], rank.read_vec(&memory)?)?;
        rank.barrier()?;
        Ok(())
    })?;
    Ok(())
}

/// An operation follows the puts that its rank has started before, and precedes those after it.
#[alcor_test(ranks >= 1)]
fn order(context: &Context) -> Result {
    let rounds = context.scale(20, 200);
    let words = (context.info().packet_bytes / 4 * 2 + 5) as usize;
    context.run(|rank| {
        let inbox = rank.alloc_from(&vec![0u32; words])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let peer = after(rank, 1);
        let mut rng = context.rng(&[u64::from(rank.pid().0)]);
        let mut outbox = rank.alloc::<u32>(words)?;
        rank.barrier()?;
        for round in 0..rounds {
            let length = rng.random_range(1..=words);
            let start = rng.random_range(0..=words - length);
            let place = rng.random_range(start..start + length);
            let value = rng.random();
            rank.write(&mut outbox, 0, &vec![value; length])?;
            let data = outbox.slice(..length)?;
            let put = rank.iput(&window, peer, start, &data)?;
            let first = rank.ifetch_add(&window, peer, place, 1)?;
            let second = rank.ifetch_op(&window, peer, place, AtomicOperation::Xor, round)?;
            let put_again = rank.iput(&window, peer, place, data.slice(..1)?)?;
            let third = rank.ifetch_add(&window, peer, place, 0)?;
            let added = value.wrapping_add(1);
            same("after the put", value, rank.wait_fetch(first)?)?;
            same("after the sum", added, rank.wait_fetch(second)?)?;
            same("after the second put", value, rank.wait_fetch(third)?)?;
            rank.wait_all([put, put_again])?;
        }
        rank.barrier()?;
        Ok(())
    })?;
    Ok(())
}

/// Random programs: between two fences, a word is changed by one rank.
#[alcor_test(ranks >= 1)]
fn programs(context: &Context) -> Result {
    program::<u32>(context)?;
    program::<i64>(context)
}

fn program<T: Word>(context: &Context) -> Result {
    const WORDS: usize = 24;
    let ranks = context.ranks() as usize;
    let epochs = context.scale(4, 40);
    let found = context.run(|rank| {
        let me = rank.pid().0 as usize;
        let memory = rank.alloc_from(&[T::of(0); WORDS])?;
        let window = rank.register(&memory, Rights::ALL)?;
        // All ranks compute the words of all ranks.
        let mut model = vec![[T::of(0); WORDS]; ranks];
        rank.fence()?;
        for epoch in 0..epochs {
            for author in 0..ranks {
                let mut rng = context.rng(&[epoch, author as u64, u64::from(T::WIDTH)]);
                let mut under_way = std::collections::VecDeque::new();
                for _ in 0..context.scale(30, 60) {
                    let target = rng.random_range(0..ranks);
                    // The words of this author, in this epoch.
                    let turn = author + epoch as usize;
                    let word = (rng.random_range(0..WORDS / ranks) * ranks + turn) % (WORDS / ranks * ranks);
                    let old = model[target][word];
                    let value = T::of(rng.next_u64() >> [0, 33, 62][rng.random_range(0..3)]);
                    let operation = *AtomicOperation::ALL.choose(&mut rng).unwrap_or(&AtomicOperation::Add);
                    let compares = rng.random_bool(0.3).then(|| *[old, value].choose(&mut rng).unwrap_or(&old));
                    let new = match compares {
                        Some(expected) if expected == old => value,
                        Some(_) => old,
                        None => old.after(operation, value),
                    };
                    model[target][word] = new;
                    let waits = rng.random_bool(0.3);
                    if author != me {
                        continue;
                    }
                    let target = GlobalRank(target as u32);
                    let fetch = match compares {
                        Some(expected) => rank.icompare_swap(&window, target, word, expected, value)?,
                        None => rank.ifetch_op(&window, target, word, operation, value)?,
                    };
                    under_way.push_back((old, fetch));
                    if waits || under_way.len() > 5 {
                        for (old, fetch) in under_way.drain(..) {
                            same("an old value", old, rank.wait_fetch(fetch)?)?;
                        }
                    }
                }
                for (old, fetch) in under_way {
                    same("an old value", old, rank.wait_fetch(fetch)?)?;
                }
            }
            rank.fence()?;
            let found = rank.read_vec(&memory)?;
            same(format_args!("memory after epoch {epoch}"), model[me].to_vec(), found)?;
            rank.fence()?;
        }
        Ok(())
    })?;
    same("ranks", ranks, found.len())
}

/// The data of a put is there when its signal is.
#[alcor_test(ranks >= 2)]
fn put_signal(context: &Context) -> Result {
    let rounds = context.scale(15, 150);
    context.run(|rank| {
        let bytes = 700;
        let inbox = rank.alloc_from(&vec![0u8; bytes])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let signals = rank.alloc_from(&[0u64; 2])?;
        let signal = rank.register(&signals, Rights::ALL)?;
        let (next, last) = (after(rank, 1), before(rank, 1));
        rank.barrier()?;
        for round in 1..=rounds {
            let data = context.noise(&[u64::from(rank.pid().0), round], bytes);
            let length = 1 + data[0] as usize * 2;
            let how = match round % 2 {
                0 => Signal::Add(1),
                _ => Signal::Set(round),
            };
            rank.put_signal(&window, next, 0, &data[..length], &signal, 0, how)?;
            let found = rank.wait_until(&signals, 0, |count| count == round)?;
            same("the signal", round, found)?;
            let expected = context.noise(&[u64::from(last.0), round], bytes);
            let length = 1 + expected[0] as usize * 2;
            let found = rank.read_vec(&inbox)?;
            same("the data", expected[..length].to_vec(), found[..length].to_vec())?;
            // The other rank may write again.
            rank.fetch_add(&signal, last, 1, 1)?;
            rank.wait_until(&signals, 1, |count| count >= round)?;
        }
        rank.barrier()?;
        Ok(())
    })?;
    Ok(())
}

/// Puts, gets, messages and atomic operations of all ranks at the same time.
#[alcor_test(ranks >= 2, needs = [Rma, Messages])]
fn beside_other_traffic(context: &Context) -> Result {
    let rounds = context.scale(12, 120);
    let words = context.run(|rank| {
        let me = rank.pid().0;
        let counter = rank.alloc_from(&[0u32])?;
        let counters = rank.register(&counter, Rights::ALL)?;
        let inbox = rank.alloc_from(&[0u32; 200])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let (next, last) = (after(rank, 1), before(rank, 1));
        rank.barrier()?;
        for round in 0..rounds {
            let data = vec![me << 16 | round; 100];
            let put = rank.iput(&window, next, 0, &data)?;
            let mut message = [0u32; 60];
            let receive = rank.irecv(last, 1, &mut message)?;
            let send = rank.isend(next, 1, &data[..60])?;
            let mut fetches = Vec::new();
            for target in 0..rank.nprocs() {
                fetches.push(rank.ifetch_add(&counters, GlobalRank(target), 0, 1)?.into_request());
            }
            let mut back = [9; 100];
            rank.wait(put)?;
            rank.get(&window, next, 0, &mut back)?;
            same("the block that came back", &data[..], &back[..])?;
            rank.wait(receive)?;
            same("the message", [last.0 << 16 | round; 60], message)?;
            rank.wait(send)?;
            rank.wait_all(fetches)?;
        }
        rank.barrier()?;
        Ok(rank.read_vec(&counter)?)
    })?;
    let expected = vec![rounds * context.ranks()];
    same("all counters", vec![expected; words.len()], words)
}
