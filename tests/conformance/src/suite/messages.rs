//! Messages: what is received, in which order, and what of it is left alone.

mod plan;
mod rules;

use std::collections::BTreeMap;

use alcor::{
    Communicator, Difference, Error, FlowControl, GlobalRank, MatchCounters, Opcode, Operation, Options, PageOffset,
    Queues, Rank, Region, Request, Rights, Source, Status, TAG_UB, Tag,
};
use alcor_test::{At, Context, Failure, Result, after, alcor_test, before, fails, holds, refused, same, same_bytes};
use alcor_abi::command;
use alcor_abi::packets::x_message;
use rand::Rng;
use rand::seq::SliceRandom;

use self::plan::Plan;
use super::registration::idle;
use crate::sheet::{Shape, shapes};

const ZERO: GlobalRank = GlobalRank(0);

/// Between every two ranks, and from each to itself, a message of every length that is an edge
/// arrives, whether its receive is posted before or after.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn pairs(context: &Context) -> Result {
    let lengths: Vec<Shape> = edges(context)
        .into_iter()
        .map(|length| Shape { length, source: length % 4, target: 0 })
        .collect();
    for steps in 0..context.ranks() {
        for expected in [true, false] {
            exchange(context, steps, expected, &lengths)?;
        }
    }
    Ok(())
}

/// Messages of every length that is an edge arrive from all four byte lanes at all four, and
/// nothing beside them is touched.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn lanes(context: &Context) -> Result {
    let all: Vec<Shape> = shapes(edges(context)).collect();
    exchange(context, 1, true, &all)?;
    exchange(context, 1, false, &all)
}

/// Messages of one rank are received in the order in which they were sent, long ones and short
/// ones, by receives of this source and of any.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn order(context: &Context) -> Result {
    let count = context.scale(120, 1200);
    run(context, |rank| {
        let (to, from) = (after(rank, 1), before(rank, 1));
        let fragment = rank.board().fragment_bytes as usize;
        let length = |number: u64| match number % 5 {
            0 => fragment + 1,
            _ => 8 + number as usize % 13,
        };
        let mut sends = Vec::new();
        for number in 0..count {
            let data = payload(context, rank.pid(), number, length(number));
            let data = rank.alloc_from(&data)?;
            sends.push(rank.isend(to, 3, data.clone())?);
            if sends.len() == 24 {
                receive_in_order(context, rank, from, number + 1 - 24, 24, length)?;
                rank.wait_all(sends.drain(..))?;
            }
        }
        rank.wait_all(sends)?;
        Ok(())
    })
}

/// Messages of different communicators never meet, whatever their tags, and are received in any
/// order of the communicators.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn contexts(context: &Context) -> Result {
    run(context, |rank| {
        let world = rank.world()?;
        let all = [world.dup(rank)?, world.clone(), world.dup(rank)?];
        let me = rank.pid().0;
        let (to, from) = (after(rank, 1).0, before(rank, 1).0);
        for mut order in [vec![0, 1, 2], vec![2, 1, 0], vec![1, 0, 2]] {
            order.truncate(room(context));
            for (number, communicator) in (0..).zip(&all) {
                if order.contains(&(number as usize)) {
                    communicator.send(rank, to, 5, &[me * 10 + number])?;
                }
            }
            rank.barrier()?;
            for which in order {
                let mut value = [0];
                let status = all[which].recv(rank, Source::Any, Tag::Any, &mut value)?;
                same(format_args!("rank {me}: source"), from, status.source)?;
                same(format_args!("rank {me}: value"), from * 10 + which as u32, value[0])?;
            }
        }
        let [one, _, two] = all;
        one.free(rank)?;
        two.free(rank)?;
        Ok(())
    })
}

/// Of two receives that a message matches, the one that was posted first takes it, whichever of
/// them has the wildcard; of two messages that a receive matches, the first.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn wildcards(context: &Context) -> Result {
    run(context, |rank| {
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        let any: (Source, Tag) = (Source::Any, Tag::Any);
        let tag: (Source, Tag) = (Source::Any, Tag::Is(2));
        let source: (Source, Tag) = (from.into(), Tag::Any);
        let both: (Source, Tag) = (from.into(), Tag::Is(2));
        let selectors = [any, tag, source, both];
        let place = rank.alloc::<u32>(2)?;
        for first in selectors {
            for second in selectors {
                let one = rank.irecv(first.0, first.1, place.slice(..1)?)?;
                let two = rank.irecv(second.0, second.1, place.slice(1..)?)?;
                rank.barrier()?;
                rank.send(to, 2, &[1u32])?;
                rank.send(to, 2, &[2u32])?;
                rank.wait_all([two, one])?;
                let found = rank.read_vec(&place)?;
                let what = format_args!("{me}: expected, by {first:?} and {second:?}");
                same(what, vec![1, 2], found)?;

                rank.send(to, 2, &[3u32])?;
                rank.send(to, 2, &[4u32])?;
                rank.barrier()?;
                let one = rank.irecv(first.0, first.1, place.slice(..1)?)?;
                let two = rank.irecv(second.0, second.1, place.slice(1..)?)?;
                rank.wait_all([two, one])?;
                let found = rank.read_vec(&place)?;
                let what = format_args!("{me}: unexpected, by {first:?} and {second:?}");
                same(what, vec![3, 4], found)?;
                rank.barrier()?;
            }
        }
        // A receive of another tag is passed over.
        let other = rank.irecv(from, 7, place.slice(..1)?)?;
        let this = rank.irecv(Source::Any, 8, place.slice(1..)?)?;
        rank.send(to, 8, &[8u32])?;
        rank.send(to, 7, &[7u32])?;
        rank.wait_all([other, this])?;
        same(format_args!("{me}: two tags"), vec![7, 8], rank.read_vec(&place)?)
    })
}

/// Receives of any source take the messages of all ranks, each once, and those of each rank in
/// their order.
#[alcor_test(ranks >= 2, needs = [Messages])]
fn any_source(context: &Context) -> Result {
    let each = context.scale(30, 300);
    run(context, |rank| {
        if rank.pid() != ZERO {
            for number in 0..each {
                rank.send(ZERO, number % 3, &[rank.pid().0, number])?;
            }
            return Ok(());
        }
        let mut next = vec![0; rank.nprocs() as usize];
        for _ in 1..rank.nprocs() {
            for _ in 0..each {
                let mut value = [0; 2];
                let status = rank.recv(Source::Any, Tag::Any, &mut value)?;
                let expected = (value[0], next[value[0] as usize] % 3);
                same("source and tag", expected, (status.source, status.tag))?;
                same("number", next[value[0] as usize], value[1])?;
                next[value[0] as usize] += 1;
            }
        }
        Ok(())
    })
}

/// Messages that stream in while receives are posted, so that entries move into the matching unit
/// at the same time, each find theirs, at all thresholds.
#[alcor_test(ranks >= 2, needs = [Messages])]
fn posting_under_load(context: &Context) -> Result {
    let count = context.scale(60, 240);
    for threshold in [Some(0), Some(1), Some(5), None] {
        run(context, |rank| {
            rank.lab().match_thresholds(threshold, threshold)?;
            let (to, from) = (after(rank, 1), before(rank, 1));
            let mut rng = context.rng(&[u64::from(rank.pid().0)]);
            rank.barrier()?;
            let data = rank.alloc_from(&(0..count).collect::<Vec<u32>>())?;
            let places = rank.alloc::<u32>(count as usize)?;
            let mut order: Vec<u32> = (0..count).collect();
            order.shuffle(&mut rng);
            let (mut sends, mut receives) = (Vec::new(), Vec::new());
            for number in 0..count {
                // Posted a little ahead, so that there is always something to move.
                let tag = number as usize;
                receives.push(rank.irecv(from, number, places.slice(tag..=tag)?)?);
                if number % 8 == 7 {
                    let mut window = order.split_off(order.len().saturating_sub(8));
                    window.sort_unstable();
                    for tag in window {
                        let one = data.slice(tag as usize..=tag as usize)?;
                        sends.push(rank.isend(to, tag, one.clone())?);
                    }
                }
            }
            for tag in order {
                let one = data.slice(tag as usize..=tag as usize)?;
                sends.push(rank.isend(to, tag, one.clone())?);
            }
            rank.wait_all(receives)?;
            rank.wait_all(sends)?;
            let expected: Vec<u32> = (0..count).collect();
            same(format_args!("{}: values", rank.pid()), expected, rank.read_vec(&places)?)
        })?;
    }
    Ok(())
}

/// A receive that is cancelled completes once and takes no message; those beside it are not
/// touched.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn cancel(context: &Context) -> Result {
    run(context, |rank| {
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        for count in [1u32, 2, 5, 20] {
            for cancelled in [0, count / 2, count - 1] {
                let places = rank.alloc_from(&vec![99u32; count as usize])?;
                let mut receives = Vec::new();
                for place in 0..count as usize {
                    receives.push(rank.irecv(from, 1, places.slice(place..=place)?)?);
                }
                rank.cancel(&receives[cancelled as usize])?;
                let gone = receives.remove(cancelled as usize);
                let status = rank.wait_message(gone)?;
                same(format_args!("{me}: cancelled"), true, status.cancelled)?;
                rank.barrier()?;
                for number in 0..count {
                    rank.send(to, 1, &[number])?;
                }
                rank.wait_all(receives)?;
                let mut expected: Vec<u32> = (0..count - 1).collect();
                expected.insert(cancelled as usize, 99);
                same(format_args!("{me}: values"), expected, rank.read_vec(&places)?)?;
                let mut last = [0];
                rank.recv(from, 1, &mut last)?;
                same(format_args!("{me}: what nobody took"), count - 1, last[0])?;
                rank.barrier()?;
            }
        }
        Ok(())
    })
}

/// A receive that is cancelled while its message is on its way either takes it, or leaves it to
/// the next.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn cancel_race(context: &Context) -> Result {
    let rounds = context.scale(60, 600);
    run(context, |rank| {
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        let mut rng = context.rng(&[1, u64::from(me.0)]);
        let fragment = rank.board().fragment_bytes as usize;
        for round in 0..rounds {
            let length = [4, fragment, fragment + 9][round as usize % 3];
            let data = payload(context, me, round, length);
            let data = rank.alloc_from(&data)?;
            let first = Landing::new(rank, length, 1)?;
            let second = Landing::new(rank, length, 2)?;
            let receive = rank.irecv(from, 0, first.place.clone())?;
            rank.barrier()?;
            idle(rank, rng.random_range(0..80))?;
            let send = rank.isend(to, 0, &data)?;
            idle(rank, rng.random_range(0..80))?;
            rank.cancel(&receive)?;
            let next = rank.irecv(from, 0, second.place.clone())?;
            let cancelled = rank.wait_message(receive)?.cancelled;
            if !cancelled {
                rank.cancel(&next)?;
            }
            let status = rank.wait_message(next)?;
            let what = format_args!("{me}: round {round}, the second was cancelled");
            same(what, !cancelled, status.cancelled)?;
            rank.wait(send)?;
            let expected = payload(context, from, round, length);
            let (taken, left) = if cancelled { (second, first) } else { (first, second) };
            taken.check(rank, format_args!("{me}: round {round}, received"), &expected)?;
            left.check(rank, format_args!("{me}: round {round}, cancelled"), &[])?;
        }
        rank.barrier()?;
        Ok(())
    })
}

/// A probe says what the next receive of the same source and tag takes, and takes nothing.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn probe(context: &Context) -> Result {
    run(context, |rank| {
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        let fragment = rank.board().fragment_bytes as usize;
        same(format_args!("{me}: nothing there"), None, rank.iprobe(Source::Any, Tag::Any)?)?;
        rank.barrier()?;
        let mut lengths = vec![4, fragment, fragment + 4, 0];
        lengths.truncate(room(context));
        let mut sends = Vec::new();
        for (number, &length) in (0..).zip(&lengths) {
            let data = rank.alloc_from(&payload(context, me, number, length))?;
            sends.push(rank.isend(to, 10 + number as u32, data.clone())?);
        }
        for number in [2, 0, 3, 1].into_iter().filter(|&number| number < sends.len() as u64) {
            let (tag, length) = (10 + number as u32, lengths[number as usize]);
            let found = rank.probe(from, tag)?;
            same(format_args!("{me}: probed again"), Some(found), rank.iprobe(Source::Any, tag)?)?;
            let expected = (from, tag, length as u32);
            let said = (found.pid, found.tag, found.length);
            same(format_args!("{me}: probed"), expected, said)?;
            let mut bytes = vec![0; length];
            let status = rank.recv(found.pid, found.tag, &mut bytes)?;
            same(format_args!("{me}: received"), found, status)?;
            let what = format_args!("{me}: bytes");
            same_bytes(what, &payload(context, from, number, length), &bytes)?;
            same(format_args!("{me}: gone"), None, rank.iprobe(Source::Any, tag)?)?;
        }
        rank.wait_all(sends)?;
        Ok(())
    })
}

/// Of a message that is longer than its receive, what fits is received and the receive says so,
/// expected or not, eager or not; memory behind it is not touched.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn truncation(context: &Context) -> Result {
    run(context, |rank| {
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        let fragment = rank.board().fragment_bytes as usize;
        let cases = [(1, 0), (fragment, 1), (fragment, fragment - 1), (fragment + 1, fragment),
            (3 * fragment, 0), (3 * fragment, 5), (3 * fragment + 3, 3 * fragment + 2)];
        for (number, (length, room)) in (0..).zip(cases) {
            // A payload goes straight to a buffer that begins with a word, to others by way of its fragment.
            for (expected, lane) in [(true, 0), (true, 1), (false, 0), (false, 3)] {
                let data = rank.alloc_from(&payload(context, me, number, length))?;
                let landing = Landing::new(rank, room, lane)?;
                rank.barrier()?;
                let (send, receive);
                if expected {
                    receive = rank.irecv(from, 1, landing.place.clone())?;
                    rank.barrier()?;
                    send = rank.isend(to, 1, &data)?;
                } else {
                    send = rank.isend(to, 1, &data)?;
                    rank.barrier()?;
                    receive = rank.irecv(from, 1, landing.place.clone())?;
                }
                let place = format!("{me}: {length} bytes, room for {room} at lane {lane}, expected {expected}");
                let result = rank.wait_message(receive);
                let found = match &result {
                    Err(Error::Truncated { found, .. }) => (found.pid, found.tag, found.length),
                    _ => (me, 0, 0),
                };
                refused(&place, Status::Truncated, result)?;
                same(&place, (from, 1, length as u32), found)?;
                let all = payload(context, from, number, length);
                landing.check(rank, &place, &all[..room])?;
                rank.wait(send).at(place)?;
            }
        }
        Ok(())
    })
}

/// Who sends more than there is room for is slowed down, and nothing is lost; others are not held
/// up by it.
#[alcor_test(ranks >= 3, needs = [Messages])]
fn flood(context: &Context) -> Result {
    run(context, |rank| {
        let (me, n) = (rank.pid().0, rank.nprocs());
        let count = 2 * rank.board().message_depth.min(128) + 3;
        let data = rank.alloc_from(&(0..count).collect::<Vec<u32>>())?;
        let one = |number: u32| data.slice(number as usize..=number as usize);
        match me {
            0 => {
                let mut sends = Vec::new();
                for number in 0..count {
                    sends.push(rank.isend(GlobalRank(1), 0, one(number)?)?);
                }
                // Rank 1 receives nothing before rank 2 has all of this.
                for number in 0..count {
                    rank.send(GlobalRank(2), 0, &[number])?;
                }
                rank.wait_all(sends)?;
            }
            1 => {
                rank.recv(2, 1, &mut [0u32])?;
                for number in 0..count {
                    let mut value = [0];
                    rank.recv(0, 0, &mut value)?;
                    same("rank 1: value", number, value[0])?;
                }
            }
            2 => {
                for number in 0..count {
                    let mut value = [0];
                    rank.recv(0, 0, &mut value)?;
                    same("rank 2: value", number, value[0])?;
                }
                rank.send(GlobalRank(1), 1, &[0u32])?;
            }
            _ => {
                // These have to do with each other alone.
                let others = n - 3;
                let to = GlobalRank(3 + (me - 2) % others);
                for number in 0..count {
                    rank.send(to, 0, &[number])?;
                    let mut value = [0];
                    rank.recv(Source::Any, 0, &mut value)?;
                    same("other ranks: value", number, value[0])?;
                }
            }
        }
        Ok(())
    })
}

/// Senders share the room of a receiver, which refuses what it has no room for: each message comes
/// once, and those of each source in their order, whether the receiver begins late or receives all
/// the time. In the next run, no earlier refusal counts.
#[alcor_test(ranks >= 2, needs = [Messages])]
fn go_back_n(context: &Context) -> Result {
    let senders = context.ranks() - 1;
    let room = context.info().message_depth;
    let count = 2 * room.min(128) / senders + 3;
    let fragment = context.info().fragment_bytes as usize;
    let options = Options::default().flow_control(FlowControl::GoBackN);
    // Every fourth message is announced.
    let length = |number: u32| if number % 4 == 3 { fragment + 4 } else { 4 * (number as usize % 3) };
    for (round, is_late) in [(0, true), (1, false), (2, false)] {
        let payload = |of: GlobalRank, number: u32| {
            payload(context, of, u64::from(round * count + number), length(number))
        };
        context.run_with(options, context.ranks(), |rank| {
            if rank.pid() != ZERO {
                let data: Vec<Vec<u8>> = (0..count).map(|number| payload(rank.pid(), number)).collect();
                let mut sends = Vec::new();
                for (number, data) in (0..count).zip(&data) {
                    sends.push(rank.isend(ZERO, number % 5, &data[..])?);
                }
                if is_late {
                    rank.barrier()?;
                }
                return Ok(rank.wait_all(sends)?);
            }
            if is_late {
                // By now as many messages have come as there is room for.
                rank.barrier()?;
            }
            let mut next = vec![0; rank.nprocs() as usize];
            for _ in 0..count * senders {
                let mut found = vec![0u8; fragment + 4];
                let status = rank.recv(Source::Any, Tag::Any, &mut found)?;
                let number = next[status.source as usize];
                next[status.source as usize] += 1;
                let place = format!("message {number} of {}", status.pid);
                let expected = (number % 5, length(number));
                same(format_args!("{place}: tag and length"), expected, (status.tag, status.length as usize))?;
                same_bytes(place, &payload(status.pid, number), &found[..status.length as usize])?;
            }
            // A sender has at most three quarters of its ids, and 62 messages, under way.
            let is_full = room < count * senders && room < senders * (room * 3 / 4).min(62);
            let refused = rank.lab().match_counters()?.refused;
            holds("messages refused", "at least one", !is_late || !is_full || refused > 0, refused)
        })?;
    }
    Ok(())
}

/// A message behind more unmatched messages of its source than the hardware holds is received, and
/// the unmatched messages afterwards, in their order.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn behind_unmatched(context: &Context) -> Result {
    for patience in [None, Some(0)] {
        run(context, |rank| {
            take_over_after(rank, patience);
            let flood = Flood::new(context, rank)?;
            let sends = flood.send(rank, None)?;
            let mut value = [0];
            rank.recv(flood.from, LAST, &mut value)?;
            same(format_args!("{}: value of the last message", rank.pid()), 77, value[0])?;
            flood.receive(rank)?;
            rank.wait_all(sends)?;
            Ok(())
        })?;
    }
    Ok(())
}

/// Messages to a rank that waits for something else hold the command ids of their source, and no
/// rank has as many of them as one source may have. They hold up no message to another rank.
#[alcor_test(ranks >= 3, needs = [Messages])]
fn ids_held_elsewhere(context: &Context) -> Result {
    // A short ring leaves few ids for messages.
    let ring = (4 * context.ranks()).next_power_of_two().max(32);
    let options = Options::default().ring_entries(ring);
    context.run_with(options, context.ranks(), |rank| {
        let me = rank.pid().0;
        let count = context.info().message_depth;
        match me {
            0 => {
                let data = rank.alloc_from(&(0..count).collect::<Vec<u32>>())?;
                let mut sends = Vec::new();
                for number in 0..count as usize {
                    for to in [1, 2] {
                        sends.push(rank.isend(GlobalRank(to), 1, data.slice(number..=number)?)?);
                    }
                }
                sends.push(rank.isend(GlobalRank(1), 2, data.slice(..1)?)?);
                rank.wait_all(sends)?;
            }
            1 => {
                rank.recv(0, 2, &mut [0u32])?;
                rank.send(GlobalRank(2), 3, &[0u32])?;
            }
            2 => {
                rank.recv(1, 3, &mut [0u32])?;
            }
            _ => return nothing_refused(rank),
        }
        for number in (0..count).filter(|_| me != 0) {
            let mut value = [0];
            rank.recv(0, 1, &mut value)?;
            same(format_args!("rank {me}: value"), number, value[0])?;
        }
        nothing_refused(rank)
    })?;
    Ok(())
}

/// Ranks that wait for each other at a barrier leave room for messages that nobody receives
/// before the barrier.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn unmatched_at_a_barrier(context: &Context) -> Result {
    for patience in [None, Some(0)] {
        run(context, |rank| {
            take_over_after(rank, patience);
            let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
            let count = 2 * room(context) as u32 + 3;
            for number in 0..count {
                rank.send(to, 4, &[number])?;
            }
            rank.barrier()?;
            for number in 0..count {
                let mut value = [0];
                rank.recv(from, 4, &mut value)?;
                same(format_args!("{me}: value"), number, value[0])?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Messages that the library has taken over are found by probes, by receives with wildcards and in
/// their communicators only. They are truncated as others are, and their receives cannot be
/// cancelled.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn taken_over(context: &Context) -> Result {
    run(context, |rank| {
        take_over_after(rank, Some(0));
        let world = rank.world()?;
        let other = world.dup(rank)?;
        let flood = Flood::new(context, rank)?;
        let sends = flood.send(rank, Some(&other))?;
        let (me, from) = (rank.pid(), flood.from.0);
        rank.recv(flood.from, LAST, &mut [0])?;
        same(format_args!("{me}: in the world"), None, rank.iprobe(Source::Any, Tag::Any)?)?;
        let found = other.probe(rank, Source::Any, Tag::Any)?;
        same(format_args!("{me}: probed"), (from, FLOOD, flood.length(0) as u32), (found.source, found.tag, found.length))?;
        for number in 0..flood.count {
            let length = flood.length(number);
            // Whole, into too little, and into more than it takes.
            let room = [length, length / 2, length + 9][number % 3];
            let landing = Landing::new(rank, room, number as u32 % 4)?;
            let (source, tag): (Source, Tag) = match number % 4 {
                0 => (Source::Any, Tag::Any),
                1 => (from.into(), Tag::Any),
                2 => (Source::Any, FLOOD.into()),
                _ => (from.into(), FLOOD.into()),
            };
            let receive = other.irecv(rank, source, tag, landing.place.clone())?;
            rank.cancel(&receive)?;
            let place = format!("{me}: message {number} of {length} bytes into {room}");
            let found = match rank.wait_message(receive) {
                Err(Error::Truncated { found, .. }) if room < length => found,
                Ok(_) if room < length => return Err(Failure::new(&place, "Truncated", "a success")),
                found => found?,
            };
            same(&place, (from, FLOOD, length as u32, false), (found.source, found.tag, found.length, found.cancelled))?;
            landing.check(rank, &place, &flood.payload(number)[..length.min(room)])?;
        }
        same(format_args!("{me}: left over"), None, other.iprobe(rank, Source::Any, Tag::Any)?)?;
        rank.wait_all(sends)?;
        other.free(rank)?;
        Ok(())
    })
}

/// A receive may call for a deferred message before the sender learns that the message is deferred:
/// the call is a request, and this news is a reply, which waits behind the data of other messages.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn called_early(context: &Context) -> Result {
    const WAITING: u32 = 1;
    const DATA: u32 = 4;
    const DEFERRED: u32 = 3;
    run(context, |rank| {
        take_over_after(rank, Some(0));
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        let long = rank.board().fragment_bytes as usize + 1;
        let of = |rank: GlobalRank, number| payload(context, rank, number, long);
        // While this message is deferred, its sender has posted a receive for calls.
        let waiting = rank.alloc_from(&of(me, 0))?;
        let waiting = rank.isend(to, WAITING, waiting)?;
        let mut rng = context.rng(&[63, u64::from(me.0)]);
        for round in 1..context.scale(20u64, 200) {
            let landing = rank.alloc::<u8>(4 * long)?;
            let (mut sends, mut receives) = (Vec::new(), Vec::new());
            for number in 0..room(context).min(4) {
                let part = landing.slice(number * long..(number + 1) * long)?;
                receives.push(rank.irecv(from, DATA, part)?);
            }
            rank.barrier()?;
            let data = rank.alloc_from(&of(me, round))?;
            sends.push(rank.isend(to, DEFERRED, data.clone())?);
            sends.push(rank.isend(to, LAST, data.slice(..1)?)?);
            idle(rank, rng.random_range(0..200))?;
            for _ in 0..receives.len() {
                sends.push(rank.isend(to, DATA, data.clone())?);
            }
            let mut found = vec![0; long];
            rank.recv(from, LAST, &mut found[..1])?;
            rank.recv(from, DEFERRED, &mut found)?;
            let place = format_args!("{me}: round {round}");
            same_bytes(place, &of(from, round), &found)?;
            rank.wait_all(receives)?;
            rank.wait_all(sends)?;
        }
        let mut found = vec![0; long];
        rank.recv(from, WAITING, &mut found)?;
        same_bytes(format_args!("{me}: the first message"), &of(from, 0), &found)?;
        rank.wait(waiting)?;
        Ok(())
    })
}

/// A rank that ends leaves unexpected messages in the hardware: outside a run it cannot probe.
#[alcor_test(ranks >= 2, needs = [Messages])]
fn left_at_the_end(context: &Context) -> Result {
    context.run(|rank| {
        // All ranks have begun.
        rank.barrier()?;
        match rank.pid().0 {
            0 => {
                // No communicator has this context, so no receive takes the message.
                let message = x_message::RANK.put(1) | x_message::CONTEXT.put(77);
                let port = rank.lab().port();
                port.write32(PageOffset(command(Opcode::XLength)), 0)?;
                port.write32(PageOffset(command(Opcode::XSend)), message)?;
            }
            1 => {
                let is_there = |rank: &mut Rank| -> Result<bool, Failure> {
                    Ok(rank.lab().match_counters()?.unexpected > 0)
                };
                let mut looks = 0;
                while !is_there(rank)? && looks < 1000 {
                    idle(rank, 100)?;
                    looks += 1;
                }
                same("rank 1: a message is there", true, is_there(rank)?)?;
                take_over_after(rank, Some(0));
                // The last of these polls sees the message, and nothing follows but the end.
                for _ in 0..64 {
                    same("rank 1: in the world", None, rank.iprobe(Source::Any, Tag::Any)?)?;
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(())
}

/// More messages of one tag to the next rank than the hardware holds, of all kinds, and a message
/// of another tag.
struct Flood {
    to: GlobalRank,
    from: GlobalRank,
    count: usize,
    fragment: usize,
    data: Region<u8>,
    theirs: Vec<u8>,
}

const FLOOD: u32 = 1;
const LAST: u32 = 2;

impl Flood {
    fn new(context: &Context, rank: &mut Rank) -> Result<Flood, Failure> {
        let (to, from) = (after(rank, 1), before(rank, 1));
        let fragment = rank.board().fragment_bytes as usize;
        let count = context.scale(2 * room(context) as u64 + 3, 10_000) as usize;
        let size = count + 3 * fragment;
        let data = rank.alloc_from(&payload(context, rank.pid(), 0, size))?;
        let theirs = payload(context, from, 0, size);
        Ok(Flood { to, from, count, fragment, data, theirs })
    }

    fn length(&self, number: usize) -> usize {
        [5, self.fragment, 2 * self.fragment + 3, 0][number % 4]
    }

    fn payload(&self, number: usize) -> &[u8] {
        &self.theirs[number..number + self.length(number)]
    }

    /// Sends the flood in a communicator or the world, and the last message in the world.
    fn send(&self, rank: &mut Rank, other: Option<&Communicator>) -> Result<Vec<Request<'static>>, Failure> {
        let mut sends = Vec::new();
        for number in 0..self.count {
            let part = self.data.slice(number..number + self.length(number))?;
            sends.push(match other {
                Some(other) => other.isend(rank, self.to.0, FLOOD, part)?,
                None => rank.isend(self.to, FLOOD, part)?,
            });
        }
        let last = rank.alloc_from(&[77u32])?;
        sends.push(rank.isend(self.to, LAST, last)?);
        Ok(sends)
    }

    fn receive(&self, rank: &mut Rank) -> Result {
        let landing = rank.alloc::<u8>(3 * self.fragment)?;
        for number in 0..self.count {
            let place = format!("{}: message {number} of the flood", rank.pid());
            let status = rank.recv(self.from, FLOOD, landing.clone())?;
            let expected = self.payload(number);
            same(&place, expected.len() as u32, status.length)?;
            let found = rank.read_vec(&landing.slice(..expected.len())?)?;
            same_bytes(&place, expected, &found)?;
        }
        Ok(())
    }
}

/// Sets the wait after which the library takes unexpected messages over.
fn take_over_after(rank: &mut Rank, cycles: Option<u64>) {
    if let Some(cycles) = cycles {
        rank.lab().take_over_after(cycles);
    }
}

/// Of posted receives of every number up to more than the queue holds, the first, the last and
/// the one in the middle are found, with the matching unit and without.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn posted_lengths(context: &Context) -> Result {
    each_length(context, |rank, length| {
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        let places = rank.alloc_from(&vec![0u32; length as usize + 1])?;
        let mut receives = Vec::new();
        for tag in 0..=length as usize {
            receives.push(rank.irecv(from, tag as u32, places.slice(tag..=tag)?)?);
        }
        rank.barrier()?;
        let wanted = some_of(length);
        for &tag in &wanted {
            rank.send(to, tag, &[tag + 1])?;
        }
        let mut last_first: Vec<(u32, Request)> = (0..).zip(receives).collect();
        last_first.reverse();
        for (tag, receive) in last_first {
            if wanted.contains(&tag) {
                same(format_args!("{me}: tag"), tag, rank.wait_message(receive)?.tag)?;
            } else {
                rank.cancel(&receive)?;
                let status = rank.wait_message(receive)?;
                same(format_args!("{me}: nothing for {tag}"), true, status.cancelled)?;
            }
        }
        let expected: Vec<u32> =
            (0..=length).map(|tag| u32::from(wanted.contains(&tag)) * (tag + 1)).collect();
        same(format_args!("{me}: values"), expected, rank.read_vec(&places)?)?;
        Ok(wanted.len() as u32)
    })
}

/// Of unexpected messages of every number up to more than the queue holds, the first, the last
/// and the one in the middle are found, with the matching unit and without.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn unexpected_lengths(context: &Context) -> Result {
    each_length(context, |rank, length| {
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        let data = rank.alloc_from(&(1..length + 2).collect::<Vec<u32>>())?;
        let mut sends = Vec::new();
        for tag in 0..=length as usize {
            sends.push(rank.isend(to, tag as u32, data.slice(tag..=tag)?)?);
        }
        rank.barrier()?;
        // What the sender still holds back can't be wanted before what came first is gone.
        let there = length.min(rank.lab().match_counters()?.unexpected.saturating_sub(1));
        let mut order = some_of(there);
        order.extend((0..=length).filter(|tag| !some_of(there).contains(tag)));
        for tag in order {
            let mut value = [0];
            rank.recv(from, tag, &mut value)?;
            same(format_args!("{me}: value"), tag + 1, value[0])?;
        }
        rank.wait_all(sends)?;
        Ok(length + 1)
    })
}

/// The largest tag is a tag, one more is refused, and tags that differ in one bit are different.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn tags(context: &Context) -> Result {
    run(context, |rank| {
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        let mut tags = vec![TAG_UB, 0];
        tags.extend((0..26).map(|bit| 1 << bit));
        same(format_args!("{me}: largest tag"), (1 << 26) - 1, TAG_UB)?;
        for tags in tags.chunks(room(context)) {
            let (mut sends, data) = (Vec::new(), rank.alloc_from(tags)?);
            for (place, &tag) in tags.iter().enumerate() {
                sends.push(rank.isend(to, tag, data.slice(place..=place)?)?);
            }
            for &tag in tags.iter().rev() {
                let mut value = [99];
                let status = rank.recv(from, tag, &mut value)?;
                same(format_args!("{me}: tag"), (tag, tag), (status.tag, value[0]))?;
            }
            rank.wait_all(sends)?;
        }
        let too_large = |error: &Error| matches!(error, Error::OutOfRange { .. });
        let result = rank.send(to, TAG_UB + 1, &[0u8]);
        fails(format_args!("{me}: a larger tag"), "a refusal", too_large, result)
    })
}

/// Ranks are those of the communicator, in what is sent, received and probed, and what is told.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn communicators(context: &Context) -> Result {
    run(context, |rank| {
        let world = rank.world()?;
        let me = rank.pid().0;
        let key = -(me as i32);
        let Some(half) = world.split(rank, Some(me % 2), key)? else {
            return Err(Failure::new("a split", "a communicator", "none"));
        };
        let (size, mine) = (half.size(), half.rank());
        let (to, from) = ((mine + 1) % size, (mine + size - 1) % size);
        half.send(rank, to, 1, &[mine, me])?;
        let found = half.probe(rank, from, Tag::Any)?;
        let mut value = [0; 2];
        let status = half.recv(rank, Source::Any, 1, &mut value)?;
        same(format_args!("rank {me}: probed"), status, found)?;
        let expected = (from, half.members()[from as usize]);
        same(format_args!("rank {me}: source"), expected, (status.source, status.pid))?;
        let said = [expected.0, expected.1.0];
        same(format_args!("rank {me}: value"), said, value)?;
        let nobody = |error: &Error| matches!(error, Error::NoSuchMember { .. });
        let result = half.send(rank, size, 0, &[0u8]);
        fails(format_args!("rank {me}: beyond the last"), "a refusal", nobody, result)?;
        half.free(rank)?;
        Ok(())
    })
}

/// Messages that are divided among queues by source or tag: a receive takes the first message of its source and tag, in
/// any order of sources and tags, short and long ones, expected and not. A receive that does not name what chooses the
/// queue is refused.
#[alcor_test(ranks >= 2, needs = [Messages])]
fn queues(context: &Context) -> Result {
    const TAGS: u32 = 5;
    let count = context.scale(120, 1200) / context.ranks();
    for (number, queues) in (0..).zip([Queues::BySource(3), Queues::ByTag(2), Queues::BySource(200), Queues::ByTag(4)]) {
        run(context, |rank| {
            let divided = rank.world()?.dup_with_queues(rank, queues)?;
            same("the division", queues, divided.queues())?;
            let (me, size, fragment) = (divided.rank(), divided.size(), rank.board().fragment_bytes);
            let data = |source, at: usize, length| payload(context, GlobalRank(source), at as u64, length);
            // Tag and length of each message from one rank to another, as both know them.
            let plan = |from: u32, to: u32| -> Vec<(u32, usize)> {
                let mut rng = context.rng(&[51, number, from.into(), to.into()]);
                let lengths = [0, 4, 8, fragment, fragment + 4].map(|length| length as usize);
                (0..count).map(|_| (rng.random_range(0..TAGS), lengths[rng.random_range(0..5)])).collect()
            };
            // Messages to this rank by source and tag, the first one last; and in which order they are received.
            let mut messages = BTreeMap::<(u32, u32), Vec<(usize, usize)>>::new();
            for source in 0..size {
                for (at, (tag, length)) in plan(source, me).into_iter().enumerate().rev() {
                    messages.entry((source, tag)).or_default().push((at, length));
                }
            }
            let of_key = messages.iter().map(|(&key, of)| vec![key; of.len()]);
            let mut order: Vec<(u32, u32)> = of_key.flatten().collect();
            order.shuffle(&mut context.rng(&[52, number, me.into()]));
            let mut order = order.into_iter().filter_map(|key| Some((key, messages.get_mut(&key)?.pop()?)));
            let mut posted = Vec::new();
            for ((source, tag), (at, length)) in order.by_ref().take(count as usize / 2) {
                let place = rank.alloc::<u8>(length + 4)?;
                posted.push((divided.irecv(rank, source, tag, place.clone())?, place, data(source, at, length)));
            }
            let mut sends = Vec::new();
            for to in 0..size {
                for (at, (tag, length)) in plan(me, to).into_iter().enumerate() {
                    let local = rank.alloc_from(&data(me, at, length))?;
                    sends.push(divided.isend(rank, to, tag, local)?);
                }
            }
            for ((source, tag), (at, length)) in order {
                let mut found = vec![0; length + 4];
                let status = divided.recv(rank, source, tag, &mut found)?;
                let place = format_args!("rank {me}: message {at} from rank {source}, tag {tag}");
                same(place, (source, tag, length as u32), (status.source, status.tag, status.length))?;
                same_bytes(place, &data(source, at, length), &found[..length])?;
            }
            for (receive, place, expected) in posted {
                let status = rank.wait_message(receive)?;
                let found = rank.read_vec(&place)?;
                let what = format_args!("rank {me}: a posted receive from rank {}, tag {}", status.source, status.tag);
                same_bytes(what, &expected, &found[..status.length as usize])?;
            }
            rank.wait_all(sends)?;
            let unnamed = |error: &Error| matches!(error, Error::BadCommunicator { .. });
            let result = match queues {
                Queues::ByTag(_) => divided.irecv(rank, 0, Tag::Any, &mut [0u8]).map(drop),
                _ => divided.irecv(rank, Source::Any, 0, &mut [0u8]).map(drop),
            };
            fails(format_args!("rank {me}: a receive of any"), "a refusal", unnamed, result)?;
            divided.free(rank)?;
            Ok(())
        })?;
    }
    // Contexts are given back: there are enough for as many again.
    let differ = |error: &Error| matches!(error, Error::CollectivesDiffer { difference: Difference::Queues, .. });
    context.run(|rank| {
        let world = rank.world()?;
        for _ in 0..3 {
            let divided = world.dup_with_queues(rank, Queues::ByTag(200))?;
            divided.free(rank)?;
        }
        let queues = Queues::BySource(2 + u32::from(rank.pid() == ZERO));
        fails("different divisions", "CollectivesDiffer", differ, world.dup_with_queues(rank, queues))
    })?;
    Ok(())
}

/// Messages, puts, gets, collectives and barriers go on side by side.
#[alcor_test(ranks >= 2, needs = [Messages])]
fn mixed(context: &Context) -> Result {
    let rounds = context.scale(8, 80);
    run(context, |rank| {
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        let world = rank.world()?;
        let bytes = rank.board().fragment_bytes as usize + 40;
        let inbox = rank.alloc_from(&vec![0u8; bytes])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        for round in 0..rounds {
            let data = |of: GlobalRank, what: u64| payload(context, of, 10 * round + what, bytes);
            let mut landings = Vec::new();
            let mut receives = Vec::new();
            for what in 0..4 {
                let landing = Landing::new(rank, bytes, what)?;
                receives.push(rank.irecv(from, what, landing.place.clone())?);
                landings.push(landing);
            }
            let ones = rank.alloc_from(&[1u32; 8])?;
            let mut sums = rank.alloc::<u32>(8)?;
            let sum = world.iallreduce(rank, Operation::Sum, &ones, &mut sums)?;
            let put = rank.alloc_from(&data(me, 9))?;
            let put = rank.iput(&window, to, 0, &put)?;
            let mut sends = Vec::new();
            for what in [3u32, 1, 0, 2] {
                let short = if what % 2 == 0 { 8 } else { bytes };
                let local = rank.alloc_from(&data(me, u64::from(what))[..short])?;
                sends.push(rank.isend(to, what, local)?);
            }
            rank.wait(put)?;
            rank.barrier()?;
            let mut back = vec![0; bytes];
            rank.get(&window, to, 0, &mut back)?;
            same_bytes(format_args!("{me}: what a put left"), &data(me, 9), &back)?;
            rank.wait_all(receives)?;
            for (what, landing) in (0..).zip(&landings) {
                let short = if what % 2 == 0 { 8 } else { bytes };
                let expected = data(from, what);
                let place = format_args!("{me}: round {round}, message {what}");
                landing.check(rank, place, &expected[..short])?;
            }
            rank.wait_all(sends)?;
            rank.wait(sum)?;
            let expected = vec![rank.nprocs(); 8];
            same(format_args!("{me}: sum"), expected, rank.read_vec(&sums)?)?;
            rank.barrier()?;
        }
        Ok(())
    })
}

/// What a rank leaves behind when it ends, receives that nothing came for and requests that were
/// dropped, is in nobody's way.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn leftovers(context: &Context) -> Result {
    for round in 0..3 {
        context.run(|rank| {
            let (to, from) = (after(rank, 1), before(rank, 1));
            let place = rank.alloc::<u32>(64)?;
            for tag in 0..64 {
                drop(rank.irecv(from, 100 + tag as u32, place.slice(tag..=tag)?)?);
            }
            let data = rank.alloc_from(&[round])?;
            drop(rank.isend(to, 1, &data)?);
            let mut value = [99];
            rank.recv(Source::Any, 1, &mut value)?;
            same("value", round, value[0])
        })?;
    }
    Ok(())
}

/// A synchronous send completes when a receive has taken its message, and not when the library of
/// the receiver could take the message over; a short send may complete then.
#[alcor_test(ranks >= 2, needs = [Messages])]
fn synchronous(context: &Context) -> Result {
    let fragment = context.info().fragment_bytes as usize;
    run(context, |rank| {
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        rank.lab().take_over_after(0);
        for length in [0, 1, 8, fragment, fragment + 1] {
            let data = payload(context, me, length as u64, length);
            let mut send = rank.issend(to, 1, &data)?;
            // All ranks wait here, and take over what has arrived.
            rank.barrier()?;
            idle(rank, 2000)?;
            rank.barrier()?;
            for _ in 0..20 {
                let place = format_args!("{me}: a send of {length} bytes is complete");
                same(place, false, rank.test(&mut send)?)?;
            }
            rank.barrier()?;
            let mut found = vec![0; length];
            let status = rank.recv(from, 1, &mut found)?;
            same(format_args!("{me}: length"), length as u32, status.length)?;
            let expected = payload(context, from, length as u64, length);
            same_bytes(format_args!("{me}: bytes"), &expected, &found)?;
            rank.wait(send)?;
        }
        // A blocking call returns after the receive, too.
        if me == ZERO {
            rank.ssend(GlobalRank(1), 2, &[1u8])?;
            same("received before the end of ssend", true, rank.iprobe(1, 3)?.is_some())?;
            rank.recv(1, 3, &mut [0u8])?;
        } else if me == GlobalRank(1) {
            idle(rank, 5000)?;
            rank.send(ZERO, 3, &[2u8])?;
            idle(rank, 2000)?;
            rank.recv(ZERO, 2, &mut [0u8])?;
        }
        rank.barrier()?;
        Ok(())
    })
}

/// A message above the eager limit waits at its sender for a receive, also where the library of the
/// receiver takes messages over; a message at the limit does not.
#[alcor_test(ranks >= 2, needs = [Messages])]
fn eager_limit(context: &Context) -> Result {
    let fragment = context.info().fragment_bytes;
    run(context, |rank| {
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        rank.lab().take_over_after(0);
        for (limit, length) in [(0, 0), (0, 1), (8, 8), (8, 9), (u32::MAX, fragment), (u32::MAX, fragment + 1)] {
            rank.lab().eager_limit(limit);
            let data = payload(context, me, u64::from(length), length as usize);
            let data = rank.alloc_from(&data)?;
            let mut send = rank.isend(to, 1, data)?;
            // A rank that waits takes over what has arrived. The last rank at a barrier may not wait.
            for _ in 0..8 {
                rank.barrier()?;
                idle(rank, 300)?;
            }
            let mut is_complete = false;
            for _ in 0..20 {
                is_complete = is_complete || rank.test(&mut send)?;
            }
            let place = format_args!("{me}: a send of {length} bytes, limit {limit}, is complete");
            same(place, length <= limit.min(fragment), is_complete)?;
            rank.barrier()?;
            let mut found = vec![0; length as usize];
            let status = rank.recv(from, 1, &mut found)?;
            same(format_args!("{me}: length"), length, status.length)?;
            let expected = payload(context, from, u64::from(length), length as usize);
            same_bytes(format_args!("{me}: bytes"), &expected, &found)?;
            if !is_complete {
                rank.wait(send)?;
            }
        }
        Ok(())
    })
}

/// With matching in the library, the same receives take the same messages, and the hardware matches
/// none.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn in_software(context: &Context) -> Result {
    // The first seven messages meet the receives that wait; the others are unexpected.
    let patterns = [Some(5), None, None, Some(7), None, Some(5), Some(6)];
    let tags = [5, 7, 6, 5, 5, 6, 7, 5, 6, 7, 7, 5, 6, 5];
    let later = [7, 7, 6, 6, 5, 5, 5];
    // Calls for longer messages would be matched in the hardware.
    let fragment = context.info().fragment_bytes;
    let lengths: Vec<u32> = edges(context).into_iter().filter(|&length| length <= fragment).collect();
    run(context, |rank| {
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        let mut outcomes = Vec::new();
        for is_software in [false, true] {
            rank.lab().match_in_software(is_software);
            let matched = |rank: &mut Rank| {
                let counters = rank.lab().match_counters()?;
                Ok::<u32, Error>(counters.posted_by_unit + counters.posted_by_walk)
            };
            let start = matched(rank)?;
            let mut receives = Vec::new();
            for (number, tag) in patterns.into_iter().enumerate() {
                let source = if number % 2 == 0 { from.into() } else { Source::Any };
                let place = rank.alloc::<u8>(fragment as usize)?;
                let tag = tag.map_or(Tag::Any, Tag::from);
                receives.push((rank.irecv(source, tag, place.clone())?, place));
            }
            if is_software {
                let posted = rank.lab().match_counters()?.posted;
                same(format_args!("{me}: receives in the hardware"), 0, posted)?;
            }
            rank.barrier()?;
            let mut sends = Vec::new();
            for ((number, tag), &length) in (0..).zip(tags).zip(lengths.iter().cycle()) {
                let data = rank.alloc_from(&payload(context, me, number, length as usize))?;
                sends.push(rank.isend(to, tag, data)?);
            }
            for tag in later {
                let place = rank.alloc::<u8>(fragment as usize)?;
                receives.push((rank.irecv(Source::Any, tag, place.clone())?, place));
            }
            let mut outcome = Vec::new();
            for (receive, place) in receives {
                let status = rank.wait_message(receive)?;
                let bytes = rank.read_vec(&place.slice(..status.length as usize)?)?;
                outcome.push((status.source, status.tag, bytes));
            }
            rank.wait_all(sends)?;
            rank.barrier()?;
            let found = matched(rank)? - start;
            let place = format_args!("{me}: messages that found a receive in the hardware: {found}");
            same(place, !is_software, found > 0)?;
            outcomes.push(outcome);
        }
        rank.lab().match_in_software(false);
        same(format_args!("{me}: messages by receive"), &outcomes[0], &outcomes[1])
    })
}

/// Only its own receive takes a message that a matched probe has found: other receives, probes and
/// matched probes pass it over, in the hardware and in host memory, for messages of every length.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn matched(context: &Context) -> Result {
    run(context, |rank| {
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        for take_over in [u64::MAX, 0] {
            rank.lab().take_over_after(take_over);
            for length in edges(context) {
                let length = length as usize;
                let data = |of, number| payload(context, of, number, length);
                let mut sends = Vec::new();
                for number in 0..3 {
                    let local = rank.alloc_from(&data(me, number))?;
                    sends.push(rank.isend(to, 4, local)?);
                }
                rank.barrier()?;
                let first = rank.mprobe(from, 4)?;
                let second = rank.mprobe(Source::Any, Tag::Any)?;
                let what = |which: &str| format!("{me}: {which} of {length} bytes");
                // The third is the next for a probe and a receive.
                let mut found = vec![0; length];
                rank.probe(from, 4)?;
                rank.recv(from, Tag::Any, &mut found)?;
                same_bytes(what("third"), &data(from, 2), &found)?;
                same(what("nothing"), None, rank.iprobe(Source::Any, 4)?)?;
                let none = rank.improbe(Source::Any, 4)?.map(|message| message.status());
                same(what("nothing matched"), None, none)?;
                let place = rank.alloc::<u8>(length)?;
                let mut receive = rank.irecv(from, 4, place)?;
                same(what("a receive is complete"), false, rank.test(&mut receive)?)?;
                rank.cancel(&receive)?;
                same(what("cancelled"), true, rank.wait_message(receive)?.cancelled)?;
                // In the other order, and truncated.
                second.recv(rank, &mut found)?;
                same_bytes(what("second"), &data(from, 1), &found)?;
                let mut short = vec![0; length / 2];
                match first.recv(rank, &mut short) {
                    Err(Error::Truncated { found, .. }) if length > 0 => {
                        same(what("truncated"), length as u32, found.length)?;
                    }
                    Ok(_) if length == 0 => {}
                    other => return Err(Failure::new(what("first"), "truncation", format!("{other:?}"))),
                }
                same_bytes(what("first"), &data(from, 0)[..length / 2], &short)?;
                rank.wait_all(sends)?;
                rank.barrier()?;
            }
        }
        Ok(())
    })
}

/// A matched message that is dropped is the next for a probe and a receive, before the later
/// messages of its source, and goes to a receive that has been waiting for it.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn returned(context: &Context) -> Result {
    let fragment = context.info().fragment_bytes as usize;
    run(context, |rank| {
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        for length in [0, 8, fragment + 3] {
            let data = |of, number| payload(context, of, number, length);
            let what = |which: &str| format!("{me}: {which} of {length} bytes");
            let mut sends = Vec::new();
            for number in 0..3 {
                let local = rank.alloc_from(&data(me, number))?;
                sends.push(rank.isend(to, number as u32, local)?);
            }
            rank.barrier()?;
            // The second message, and with it the first, leave the hardware.
            let second = rank.mprobe(from, 1)?;
            drop(second);
            let mut found = vec![0; length];
            for number in 0..2 {
                let status = rank.recv(from, Tag::Any, &mut found)?;
                same(what("tag"), number, status.tag)?;
                same_bytes(what("returned"), &data(from, u64::from(number)), &found)?;
            }
            // A receive is posted before the third message is returned.
            let third = rank.mprobe(Source::Any, 2)?;
            let landing = Landing::new(rank, length, 1)?;
            let place = rank.alloc::<u8>(4)?;
            let other = rank.irecv(from, 9, place)?;
            let receive = rank.irecv(from, Tag::Any, landing.place.clone())?;
            rank.barrier()?;
            drop(third);
            // A receive behind the return comes later than the one that waits.
            let place = rank.alloc::<u8>(4)?;
            let later = rank.irecv(Source::Any, Tag::Any, place)?;
            same(what("waiting"), 2, rank.wait_message(receive)?.tag)?;
            rank.cancel(&later)?;
            same(what("later"), true, rank.wait_message(later)?.cancelled)?;
            landing.check(rank, what("third"), &data(from, 2))?;
            rank.cancel(&other)?;
            same(what("other"), true, rank.wait_message(other)?.cancelled)?;
            rank.wait_all(sends)?;
            rank.barrier()?;
        }
        Ok(())
    })
}

/// Exchanges in a ring, of which every rank waits for the one before, in two buffers and in one.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn exchanges(context: &Context) -> Result {
    run(context, |rank| {
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        for length in edges(context) {
            let length = length as usize;
            let (mine, theirs) = (payload(context, me, 7, length), payload(context, from, 7, length));
            let mut found = vec![0; length];
            let status = rank.sendrecv(to, 3, &mine, from, 3, &mut found)?;
            let expected = (from, 3, length as u32);
            same(format_args!("{me}: exchanged"), expected, (status.pid, status.tag, status.length))?;
            same_bytes(format_args!("{me}: exchanged"), &theirs, &found)?;
            // In host memory and in node memory.
            let mut values = mine.clone();
            rank.sendrecv_replace(to, 4, Source::Any, 4, &mut values)?;
            same_bytes(format_args!("{me}: replaced"), &theirs, &values)?;
            let mut values = rank.alloc_from(&mine)?;
            rank.sendrecv_replace(to, 5, from, Tag::Any, &mut values)?;
            let values = rank.read_vec(&values)?;
            same_bytes(format_args!("{me}: replaced in node memory"), &theirs, &values)?;
            rank.barrier()?;
        }
        // A message that is too long for its receive leaves both sides complete.
        let mut short = [0u8; 2];
        let truncated = |error: &Error| matches!(error, Error::Truncated { .. });
        let result = rank.sendrecv(to, 6, &[1u8, 2, 3], from, 6, &mut short);
        fails(format_args!("{me}: too long"), "truncation", truncated, result)?;
        same(format_args!("{me}: its beginning"), [1, 2], short)?;
        let nobody = |error: &Error| matches!(error, Error::NoSuchMember { .. });
        let beyond = GlobalRank(rank.nprocs());
        let result = rank.sendrecv(beyond, 6, &[1u8], from, 6, &mut short);
        fails(format_args!("{me}: no such rank"), "a refusal", nobody, result)?;
        rank.barrier()?;
        Ok(())
    })
}

/// Calls over lists of requests return every complete request, and no other.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn lists(context: &Context) -> Result {
    run(context, |rank| {
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        same(format_args!("{me}: none"), Vec::<usize>::new(), rank.wait_some(&[])?)?;
        same(format_args!("{me}: none"), None, rank.test_any(&[])?)?;
        same(format_args!("{me}: none"), true, rank.test_all(&mut [])?)?;
        let count = 6u32;
        for done in 1..1 << count {
            let arrives = |tag: u32| done >> tag & 1 != 0;
            let places = rank.alloc_from(&vec![0u8; count as usize])?;
            let mut requests = Vec::new();
            for tag in 0..count {
                let place = places.slice(tag as usize..=tag as usize)?;
                requests.push(rank.irecv(from, tag, place)?);
            }
            same(format_args!("{me}: too early"), None, rank.test_any(&requests)?)?;
            rank.barrier()?;
            for tag in (0..count).filter(|&tag| arrives(tag)) {
                rank.send(to, tag, &[tag as u8 + 1])?;
            }
            rank.barrier()?;
            let expected: Vec<usize> = (0..count).filter(|&tag| arrives(tag)).map(|tag| tag as usize).collect();
            let what = |call: &str| format!("{me}: {call} of {done:#b}");
            // On a small board, receives that wait in the library complete after the others, in later calls.
            let mut some = rank.wait_some(&requests)?;
            for _ in 0..1000 {
                if some.len() >= expected.len() {
                    break;
                }
                some = rank.wait_some(&requests)?;
            }
            same(what("some"), expected.clone(), some)?;
            same(what("any"), expected.first().copied(), rank.test_any(&requests)?)?;
            let are_all = expected.len() == count as usize;
            same(what("all"), are_all, rank.test_all(&mut requests)?)?;
            rank.barrier()?;
            for tag in (0..count).filter(|&tag| !arrives(tag)) {
                rank.send(to, tag, &[tag as u8 + 1])?;
            }
            while !rank.test_all(&mut requests)? {}
            let expected: Vec<u8> = (1..=count as u8).collect();
            same(what("values"), expected, rank.read_vec(&places)?)?;
            rank.barrier()?;
        }
        Ok(())
    })
}

/// Random sends, receives, cancels, probes, matched probes and exchanges on all ranks; what comes of them is what the rules
/// of MPI allow.
#[alcor_test(ranks >= 1, needs = [Messages])]
fn random(context: &Context) -> Result {
    for number in 0..context.scale(8, 120) {
        let plan = Plan::new(context, number);
        // With a short ring, most receives wait in the library.
        let short = (2 * context.ranks()).next_power_of_two().max(4);
        let ring = [256, short, 64, 2 * short][number as usize % 4].max(short);
        let flow = [FlowControl::Credits, FlowControl::GoBackN][number as usize / 4 % 2];
        let options = Options::default().ring_entries(ring).flow_control(flow);
        let outcomes = context.run_with(options, context.ranks(), |rank| {
            let outcome = plan.execute(context, rank)?;
            if flow == FlowControl::Credits {
                nothing_refused(rank)?;
            }
            Ok(outcome)
        })?;
        let (received, holds): (Vec<_>, Vec<_>) = outcomes.into_iter().unzip();
        rules::check(&plan.sends(), &received.concat(), &holds.concat()).map_err(|violation| {
            let place = format_args!("program {number} of seed {:#x}", context.seed());
            Failure::new(place, "what MPI's rules allow", violation)
        })?;
    }
    Ok(())
}

/// Runs `program` on all ranks; no message may have been refused.
fn run(
    context: &Context,
    program: impl Fn(&mut Rank) -> Result + Sync,
) -> Result {
    context.run(|rank| {
        program(rank)?;
        nothing_refused(rank)
    })?;
    Ok(())
}

fn nothing_refused(rank: &mut Rank) -> Result {
    let place = format!("{}: messages refused", rank.pid());
    same(place, 0, rank.lab().match_counters()?.refused)
}

/// Messages of one rank that another may leave for later, while it receives those behind them.
fn room(context: &Context) -> usize {
    (context.info().message_depth / context.ranks()).max(1) as usize
}

/// Lengths in bytes at which something changes.
fn edges(context: &Context) -> Vec<u32> {
    let fragment = context.info().fragment_bytes;
    let long = 3001.min(context.info().node_bytes / 16);
    vec![0, 1, 3, 4, fragment - 1, fragment, fragment + 1, long]
}

/// What message `number` of a rank holds.
fn payload(context: &Context, of: GlobalRank, number: u64, length: usize) -> Vec<u8> {
    context.noise(&[50, u64::from(of.0), number], length)
}

/// Memory to receive into, with bytes around it that nobody may touch.
struct Landing {
    all: Region<u8>,
    place: Region<u8>,
}

/// Bytes before and behind it.
const GUARD: usize = 8;
const UNTOUCHED: u8 = 0xEE;

impl Landing {
    /// For so many bytes, from this byte lane on.
    fn new(rank: &mut Rank, length: usize, lane: u32) -> Result<Landing, Failure> {
        let start = GUARD + lane as usize;
        let all = rank.alloc_from(&vec![UNTOUCHED; start + length + GUARD])?;
        let place = all.slice(start..start + length)?;
        Ok(Landing { all, place })
    }

    /// Fails unless it begins with `expected`, and is untouched otherwise.
    fn check(
        &self,
        rank: &mut Rank,
        place: impl std::fmt::Display,
        expected: &[u8],
    ) -> Result {
        let start = (self.place.addr().0 - self.all.addr().0) as usize;
        let mut whole = vec![UNTOUCHED; self.all.len()];
        whole[start..start + expected.len()].copy_from_slice(expected);
        same_bytes(place, &whole, &rank.read_vec(&self.all)?)
    }
}

/// Each rank sends messages of these shapes to the one `steps` after it, and has its receives posted
/// before or after.
fn exchange(
    context: &Context,
    steps: u32,
    expected: bool,
    shapes: &[Shape],
) -> Result {
    let room = context.info().node_bytes / 8;
    let mut batches: Vec<Vec<Shape>> = vec![Vec::new()];
    let mut bytes = 0;
    for &shape in shapes {
        bytes += 2 * (shape.length + 128);
        if bytes > room {
            batches.push(Vec::new());
            bytes = 0;
        }
        if let Some(batch) = batches.last_mut() {
            batch.push(shape);
        }
    }
    run(context, |rank| {
        let me = rank.pid();
        let (to, from) = (after(rank, steps), before(rank, steps));
        let data = |of, number, shape: &Shape| payload(context, of, number, shape.length as usize);
        for batch in &batches {
            let (mut sources, mut landings) = (Vec::new(), Vec::new());
            for (number, shape) in (0..).zip(batch) {
                let mut source = Landing::new(rank, shape.length as usize, shape.source)?;
                rank.write(&mut source.place, 0, &data(me, number, shape))?;
                sources.push(source);
                landings.push(Landing::new(rank, shape.length as usize, shape.target)?);
            }
            let receive = |rank: &mut Rank| -> Result<Vec<Request>, Failure> {
                let all = (0..).zip(&landings);
                all.map(|(tag, landing)| Ok(rank.irecv(from, tag, landing.place.clone())?))
                    .collect()
            };
            let mut receives = Vec::new();
            if expected {
                receives = receive(rank)?;
                rank.barrier()?;
            }
            let mut sends = Vec::new();
            for (tag, source) in (0..).zip(&sources) {
                sends.push(rank.isend(to, tag, &source.place)?);
            }
            if !expected {
                rank.barrier()?;
                receives = receive(rank)?;
            }
            for (number, ((shape, landing), receive)) in
                (0..).zip(batch.iter().zip(&landings).zip(receives))
            {
                let place = format!("{me}: {shape:?} from {from}, expected {expected}");
                let status = rank.wait_message(receive).at(&place)?;
                let said = (status.pid, status.tag, status.length);
                same(&place, (from, number as u32, shape.length), said)?;
                landing.check(rank, &place, &data(from, number, shape))?;
            }
            rank.wait_all(sends)?;
            rank.barrier()?;
        }
        Ok(())
    })
}

/// Receives `count` messages from number `first` on, by receives of their source and of any.
fn receive_in_order(
    context: &Context,
    rank: &mut Rank,
    from: GlobalRank,
    first: u64,
    count: u64,
    length: impl Fn(u64) -> usize,
) -> Result {
    let mut receives = Vec::new();
    for number in first..first + count {
        let landing = Landing::new(rank, length(number), number as u32 % 4)?;
        let source = match number % 2 {
            0 => Source::Any,
            _ => from.into(),
        };
        receives.push((number, rank.irecv(source, 3, landing.place.clone())?, landing));
    }
    for (number, receive, landing) in receives {
        let place = format!("{}: message {number}", rank.pid());
        rank.wait_message(receive).at(&place)?;
        let expected = payload(context, from, number, length(number));
        landing.check(rank, place, &expected)?;
    }
    Ok(())
}

/// Numbers of entries at which something changes.
fn lengths(context: &Context) -> Vec<u32> {
    let (cells, depth) = (context.info().matching_cells, context.info().message_depth);
    let mut lengths = vec![0, 1, 4, 5, 6, depth * 3 / 4, depth, depth + 5];
    lengths.extend([cells.saturating_sub(1), cells, cells + 1]);
    // Of deep queues, what is beyond them takes long.
    let most = context.scale(100, u32::MAX);
    lengths.retain(|&length| length <= most);
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

/// The first, the last and the one in the middle, from the last on.
fn some_of(length: u32) -> Vec<u32> {
    let mut some = vec![length, length / 2, 0];
    some.dedup();
    some
}

/// Does something with queues of each length, with low thresholds and without the matching units; it
/// says how many messages were received.
fn each_length(
    context: &Context,
    body: impl Fn(&mut Rank, u32) -> Result<u32, Failure> + Sync,
) -> Result {
    for threshold in [Some(1), None] {
        run(context, |rank| {
            rank.lab().match_thresholds(threshold, threshold)?;
            rank.barrier()?;
            for length in lengths(context) {
                let matched = |counters: MatchCounters| {
                    counters.posted_by_unit
                        + counters.posted_by_walk
                        + counters.unexpected_by_unit
                        + counters.unexpected_by_walk
                };
                let before = matched(rank.lab().match_counters()?);
                let received = body(rank, length)?;
                let counters = rank.lab().match_counters()?;
                let place = format!("{}: with {length} entries", rank.pid());
                same(&place, before + received, matched(counters))?;
                if threshold.is_none() {
                    let by_unit = counters.posted_by_unit + counters.unexpected_by_unit;
                    same(format_args!("{place}: by a unit that has none"), 0, by_unit)?;
                }
                same(&place, (0, 0), (counters.posted, counters.unexpected))?;
                rank.barrier()?;
            }
            Ok(())
        })?;
    }
    Ok(())
}
