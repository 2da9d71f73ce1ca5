use std::sync::{Arc, Mutex};
use std::time::Duration;

use alcor::soft::{SoftBoard, SoftConfig};
use alcor::{
    Awaited, Board, Error, FlowControl, GlobalRank, Job, MessageKind, Options, PageOffset, Rank,
    Request, Result, Rights, Source, Status, TAG_UB, Tag,
};
use alcor_abi::packets::{x_message, x_tag};
use alcor_abi::{Opcode, board, command, rank as page};

use crate::spy::{Access, Spy};
use crate::{right, run, run_with};

const ZERO: GlobalRank = GlobalRank(0);
const ONE: GlobalRank = GlobalRank(1);

fn config(ranks: u32, message_depth: u32) -> SoftConfig {
    SoftConfig::default()
        .ranks(ranks)
        .message_depth(message_depth)
}

fn pattern(length: usize, seed: u32) -> Vec<u8> {
    (0..length as u32)
        .map(|place| (place * 7 + seed * 31 + place / 251) as u8)
        .collect()
}

#[test]
fn every_length_to_everybody_and_to_oneself() {
    run(3, |rank| {
        for length in [0, 1, 3, 4, 255, 256, 257, 5000] {
            for steps in 0..rank.nprocs() {
                let to = GlobalRank((rank.pid().0 + steps) % rank.nprocs());
                let from = GlobalRank((rank.pid().0 + rank.nprocs() - steps) % rank.nprocs());
                let place = rank.alloc_from(&vec![0xEE; length + 8])?;
                let receive = rank.irecv(from, 9, place.slice(3..3 + length)?)?;
                rank.send(to, 9, &pattern(length, rank.pid().0))?;
                let status = rank.wait_message(receive)?;
                assert_eq!(
                    (status.source, status.pid, status.tag),
                    (from.0, from, 9),
                    "{length}"
                );
                assert_eq!(status.count::<u8>(), Some(length));
                let found = rank.read_vec(&place)?;
                assert_eq!(found[3..3 + length], pattern(length, from.0));
                assert_eq!(found[..3], [0xEE; 3]);
                assert_eq!(found[3 + length..], [0xEE; 5]);
            }
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn unexpected_messages_wait_in_order_and_are_found_by_probes() {
    run(2, |rank| {
        if rank.pid() == ONE {
            for tag in [5, 6, 5] {
                rank.send(ZERO, tag, &[tag, tag + 1])?;
            }
            rank.send(ZERO, 7, &[1u8, 2, 3])?;
            return rank.barrier();
        }
        rank.barrier()?;
        assert_eq!(rank.iprobe(ONE, 8)?, None);
        let first = rank.probe(Source::Any, 6)?;
        assert_eq!(
            (first.source, first.tag, first.count::<u32>()),
            (1, 6, Some(2))
        );
        let odd = rank.iprobe(ONE, 7)?.unwrap();
        assert_eq!((odd.length, odd.count::<u32>()), (3, None));
        assert_eq!(rank.lab().match_counters()?.unexpected, 4);
        let mut values = [0u32; 2];
        let mut tags = Vec::new();
        for _ in 0..3 {
            tags.push(rank.recv(Source::Any, Tag::Any, &mut values)?.tag);
            assert_eq!(values[1], values[0] + 1);
        }
        assert_eq!(tags, [5, 6, 5]);
        let mut words = [9u16; 3];
        assert_eq!(rank.recv(ONE, 7, &mut words)?.length, 3);
        // The incomplete last element is not copied.
        assert_eq!(words, [0x0201, 9, 9]);
        let counters = rank.lab().match_counters()?;
        assert_eq!((counters.unexpected, counters.refused), (0, 0));
        assert_eq!(counters.unexpected_by_unit + counters.unexpected_by_walk, 4);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_message_that_is_too_long_is_cut_and_reported() {
    run(1, |rank| {
        for length in [8usize, 1000] {
            for expected in [false, true] {
                let place = rank.alloc_from(&[0xEEu8; 8])?;
                let data = rank.alloc_from(&pattern(length, 1))?;
                let mut fits = place.slice(1..6)?;
                let (receive, send) = if expected {
                    let receive = rank.irecv(ZERO, 4, &mut fits)?;
                    (receive, rank.isend(ZERO, 4, &data)?)
                } else {
                    let send = rank.isend(ZERO, 4, &data)?;
                    (rank.irecv(ZERO, 4, &mut fits)?, send)
                };
                let error = rank.wait_message(receive).unwrap_err();
                let Error::Truncated { receive, found, .. } = &error else {
                    panic!("{error}");
                };
                assert_eq!((receive.length, found.length), (5, length as u32));
                assert_eq!(error.status(), Some(Status::Truncated));
                assert_eq!(
                    error.to_string(),
                    format!(
                        "rank 0: receive of 5 bytes from rank 0, tag 4, context 0: the message from rank 0 with \
                         tag 4 has {length} bytes, of which the first 5 were received; receive into a larger \
                         region, or probe for the length first"
                    )
                );
                rank.wait(send)?;
                let found = rank.read_vec(&place)?;
                assert_eq!(found[1..6], pattern(length, 1)[..5]);
                assert_eq!((found[0], &found[6..]), (0xEE, &[0xEE; 2][..]));
            }
        }
        rank.send(ZERO, 1, &[1u32, 2, 3])?;
        let mut values = [0; 2];
        assert!(rank.recv(ZERO, 1, &mut values).is_err());
        assert_eq!(values, [1, 2]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_cancelled_receive_ends_once() {
    run(1, |rank| {
        let mut place = rank.alloc::<u32>(1)?;
        let receive = rank.irecv(Source::Any, Tag::Any, &mut place)?;
        rank.cancel(&receive)?;
        assert!(rank.wait_message(receive)?.cancelled);

        // The receive has completed, so the cancellation has no effect.
        let receive = rank.irecv(Source::Any, 3, &mut place)?;
        rank.send(ZERO, 3, &[7u32])?;
        rank.cancel(&receive)?;
        let status = rank.wait_message(receive)?;
        assert!(!status.cancelled);
        assert_eq!((status.tag, rank.read_vec(&place)?), (3, vec![7]));

        // Receives that wait in the library, and receives behind them.
        let receives: Vec<Request> = (0..200)
            .map(|tag| rank.irecv(ZERO, tag, place.clone()))
            .collect::<Result<_>>()?;
        for receive in receives.iter().skip(1) {
            rank.cancel(receive)?;
            rank.cancel(receive)?;
        }
        rank.send(ZERO, 0, &[8u32])?;
        for (tag, receive) in (0..).zip(receives) {
            let status = rank.wait_message(receive)?;
            assert_eq!(status.cancelled, tag > 0);
        }
        let send = rank.isend(ZERO, 0, &place)?;
        let error = rank.cancel(&send).unwrap_err();
        assert!(
            matches!(error, Error::NotAReceive { rank: ZERO, .. }),
            "{error}"
        );
        rank.recv(ZERO, 0, &mut [0u32])?;
        rank.wait(send)
    })
    .unwrap();
}

#[test]
fn more_messages_than_there_is_room_for() {
    for (ranks, depth, ring) in [(2, 4, 256), (2, 64, 8), (3, 8, 16), (4, 64, 256)] {
        let options = Options::default().ring_entries(ring);
        run_with(config(ranks, depth), options, |rank| {
            let to = right(rank);
            let data = rank.alloc_from(&(0..300).collect::<Vec<u32>>())?;
            let mut sends = Vec::new();
            for number in 0..300 {
                sends.push(rank.isend(to, 1, data.slice(number..=number)?)?);
            }
            rank.barrier()?;
            for number in 0..300 {
                let mut value = [0];
                rank.recv(Source::Any, 1, &mut value)?;
                assert_eq!(value[0], number);
            }
            rank.wait_all(sends)?;
            assert_eq!(rank.lab().match_counters()?.refused, 0);
            rank.barrier()
        })
        .unwrap();
    }
}

#[test]
fn one_that_does_not_receive_holds_up_nobody_else() {
    run(3, |rank| match rank.pid().0 {
        0 => {
            let data = rank.alloc_from(&[5u32; 100])?;
            let mut sends = Vec::new();
            for number in 0..100 {
                sends.push(rank.isend(ONE, 0, data.slice(number..=number)?)?);
            }
            for number in 0..100u32 {
                rank.send(GlobalRank(2), 0, &[number])?;
            }
            // Puts, gets and collectives continue too.
            let world = rank.world()?;
            world.barrier(rank)?;
            rank.recv(GlobalRank(2), 0, &mut [0u8])?;
            rank.send(ONE, 1, &[0u8])?;
            rank.wait_all(sends)
        }
        1 => {
            let world = rank.world()?;
            world.barrier(rank)?;
            let mut count = 0;
            while count < 100 {
                count += 1;
                rank.recv(ZERO, 0, &mut [0u32])?;
            }
            rank.recv(ZERO, 1, &mut [0u8]).map(drop)
        }
        _ => {
            for number in 0..100 {
                let mut value = [0u32];
                rank.recv(ZERO, 0, &mut value)?;
                assert_eq!(value[0], number);
            }
            let world = rank.world()?;
            world.barrier(rank)?;
            rank.send(ZERO, 0, &[0u8])
        }
    })
    .unwrap();
}

/// A message behind 10,000 unmatched messages of its source, which take turns with messages of
/// other lengths, is received. Long messages stay at their sender.
#[test]
fn a_message_behind_ten_thousand_others() {
    const COUNT: u32 = 10_000;
    run(2, |rank| {
        if rank.pid() == ZERO {
            let long = rank.alloc_from(&pattern(700, 1))?;
            let short = rank.alloc_from(&[0u32; 4])?;
            let mut sends = Vec::new();
            for number in 0..COUNT {
                let part = match number % 3 {
                    0 => long.slice(..301 + number as usize % 399)?,
                    _ => short.bytes().slice(..number as usize % 16)?,
                };
                sends.push(rank.isend(ONE, 1, part)?);
            }
            let last = rank.alloc_from(&[2u8])?;
            sends.push(rank.isend(ONE, 2, last)?);
            rank.wait_all(sends)?;
        } else {
            let free = largest_piece(rank);
            let mut value = [0u8];
            rank.recv(ZERO, 2, &mut value)?;
            assert_eq!(value, [2]);
            // Node memory does not hold the messages that were not received.
            assert_eq!(largest_piece(rank), free);
            for number in 0..COUNT {
                let mut found = [9u8; 700];
                let status = rank.recv(ZERO, Tag::Any, &mut found)?;
                let expected = match number % 3 {
                    0 => pattern(301 + number as usize % 399, 1),
                    _ => vec![0; number as usize % 16],
                };
                assert_eq!((status.tag, status.length), (1, expected.len() as u32));
                assert_eq!(&found[..expected.len()], expected);
            }
        }
        Ok(())
    })
    .unwrap();
}

fn largest_piece(rank: &mut Rank) -> u32 {
    match rank.alloc::<u8>(usize::MAX) {
        Err(Error::OutOfNodeMemory { largest, .. }) => largest,
        other => panic!("{other:?}"),
    }
}

/// Programs that poll, and probes that wait, make room for the message that they look for.
#[test]
fn polls_and_probes_take_messages_over() {
    type Look = fn(&mut Rank) -> Result<()>;
    let looks: [Look; 3] = [
        |rank| {
            let last = rank.alloc::<u8>(0)?;
            let mut receive = rank.irecv(ZERO, 2, last)?;
            while !rank.test(&mut receive)? {}
            Ok(())
        },
        |rank| {
            while rank.iprobe(ZERO, 2)?.is_none() {}
            rank.recv(ZERO, 2, &mut [0u8; 0]).map(drop)
        },
        |rank| {
            rank.probe(ZERO, 2)?;
            rank.recv(ZERO, 2, &mut [0u8; 0]).map(drop)
        },
    ];
    for look in looks {
        run(2, |rank| {
            let count = 3 * 64;
            let nothing = rank.alloc::<u8>(0)?;
            if rank.pid() == ZERO {
                let mut sends = Vec::new();
                for _ in 0..count {
                    sends.push(rank.isend(ONE, 1, nothing.clone())?);
                }
                sends.push(rank.isend(ONE, 2, nothing)?);
                rank.wait_all(sends)?;
            } else {
                look(rank)?;
                for _ in 0..count {
                    rank.recv(ZERO, 1, nothing.clone())?;
                }
            }
            Ok(())
        })
        .unwrap();
    }
}

/// Waits for unexpected messages in the hardware, which are not taken over meanwhile.
fn await_unexpected(rank: &mut Rank, messages: u32) -> Result<()> {
    for _ in 0..1_000_000 {
        if rank.lab().match_counters()?.unexpected >= messages {
            return Ok(());
        }
        std::thread::yield_now();
    }
    panic!("{messages} unexpected messages never came");
}

/// Waits for so long that all unexpected messages are taken over.
fn wait_for_take_over(rank: &mut Rank) -> Result<()> {
    rank.lab().take_over_after(0);
    let nothing = rank.alloc::<u8>(0)?;
    let mut never = rank.irecv(rank.pid(), 77, nothing)?;
    await_unexpected(rank, 1)?;
    assert!(!rank.wait_timeout(&mut never, Duration::from_micros(100))?);
    assert_eq!(rank.lab().match_counters()?.unexpected, 0);
    rank.cancel(&never)?;
    rank.wait_message(never).map(drop)
}

/// A rank that ends still receives a message for which it has called, and its sender ends well.
#[test]
fn a_called_message_comes_before_the_end() {
    run(2, |rank| {
        let long = rank.alloc_from(&pattern(700, 5))?;
        if rank.pid() == ZERO {
            let send = rank.isend(ONE, 1, long)?;
            rank.wait(send)?;
        } else {
            wait_for_take_over(rank)?;
            let receive = rank.irecv(ZERO, 1, long)?;
            // The message is found, so the receive is not cancelled.
            rank.cancel(&receive)?;
            drop(receive);
        }
        Ok(())
    })
    .unwrap();
}

/// The limit of host memory for messages without a receive.
#[test]
fn messages_without_a_receive_have_a_limit() {
    let ended = run_with(
        config(2, 64),
        Options::default().unexpected_bytes(1000),
        |rank| {
            let data = rank.alloc_from(&[0u8; 100])?;
            if rank.pid() == ZERO {
                for _ in 0..10 {
                    drop(rank.isend(ONE, 1, data.clone())?);
                }
                rank.recv(ONE, 9, data)?;
            } else {
                await_unexpected(rank, 10)?;
                rank.lab().take_over_after(0);
                rank.recv(ZERO, 9, data)?;
            }
            Ok(())
        },
    );
    let error = ended.unwrap_err().to_string();
    let says = "rank 1: 6 messages without a receive and one more take 1148 bytes of host memory, \
                the limit is 1000; receive messages earlier, or raise `Options::unexpected_bytes`";
    assert!(error.contains(says), "{error}");
}

/// A message that could not be taken over, and is gone, does not count against later messages. Here
/// it is the payload of a deferred message: with this ring, its receive waits in the library.
#[test]
fn messages_that_are_gone_hold_up_no_others() {
    let options = Options::default().ring_entries(4);
    run_with(config(2, 64), options, |rank| {
        let long = rank.alloc_from(&pattern(700, 5))?;
        if rank.pid() == ZERO {
            let send = rank.isend(ONE, 1, long)?;
            rank.wait(send)?;
            rank.send(ONE, 2, &[1u8])?;
            rank.recv(ONE, 3, &mut [0u8])?;
            return Ok(());
        }
        wait_for_take_over(rank)?;
        let nothing = rank.alloc::<u8>(0)?;
        let mut never = rank.irecv(ONE, 77, nothing)?;
        let mut receive = rank.irecv(ZERO, 1, long)?;
        for _ in 0..100 {
            assert!(!rank.wait_timeout(&mut never, Duration::from_micros(20))?);
        }
        assert_eq!(rank.lab().match_counters()?.unexpected, 0);
        assert!(rank.test(&mut receive)?);
        rank.recv(ZERO, 2, &mut [0u8])?;
        rank.send(ZERO, 3, &[0u8])?;
        rank.cancel(&never)?;
        rank.wait_message(never).map(drop)
    })
    .unwrap();
}

/// A message in a context that no communicator has does not keep a rank awake, and does not hold up
/// others.
#[test]
fn a_message_of_no_communicator_is_left_alone() {
    let spy = Spy::new(SoftBoard::new(2));
    let log = Arc::clone(&spy.log);
    Job::new(Arc::new(spy))
        .unwrap()
        .run(2, |rank| {
            // Both ranks have begun.
            rank.barrier()?;
            if rank.pid() == ZERO {
                for (id, context) in [77, 254, 255].into_iter().enumerate() {
                    let message = x_message::RANK.put(1)
                        | x_message::CONTEXT.put(context)
                        | x_message::ID.put(40 + id as u32);
                    let port = rank.lab().port();
                    port.write32(PageOffset(command(Opcode::XLength)), 0)?;
                    port.write32(PageOffset(command(Opcode::XSend)), message)?;
                }
                let nothing = rank.alloc::<u8>(0)?;
                let mut late = rank.irecv(ONE, 9, nothing)?;
                assert!(!rank.wait_timeout(&mut late, Duration::from_millis(1))?);
                let accesses = log.lock().unwrap().len();
                assert!(accesses < 500, "{accesses} accesses in 250,000 cycles");
                rank.send(ONE, 1, &[7u8])?;
            } else {
                let mut value = [0u8];
                rank.recv(ZERO, 1, &mut value)?;
                assert_eq!(value, [7]);
                assert_eq!(rank.lab().match_counters()?.unexpected, 3);
            }
            Ok(())
        })
        .unwrap();
}

/// Messages to a rank that computes hold the command ids of their source. A message of the same
/// source to a rank that waits goes on all the same.
#[test]
fn messages_to_others_hold_up_no_rank_that_waits() {
    // A short ring leaves few ids for messages.
    let options = Options::default().ring_entries(32);
    run_with(config(3, 64), options, |rank| {
        match rank.pid().0 {
            0 => {
                let mut sends = Vec::new();
                for number in 0..100u32 {
                    let data = rank.alloc_from(&[number])?;
                    for to in [1, 2] {
                        sends.push(rank.isend(GlobalRank(to), 1, data.clone())?);
                    }
                }
                let last = rank.alloc_from(&[1u32])?;
                sends.push(rank.isend(ONE, 2, last)?);
                rank.wait_all(sends)?;
            }
            1 => {
                rank.recv(ZERO, 2, &mut [0u32])?;
                rank.send(GlobalRank(2), 3, &[0u32])?;
            }
            _ => while rank.iprobe(ONE, 3)?.is_none() {},
        }
        if rank.pid() != ZERO {
            for number in 0..100u32 {
                let mut value = [0];
                rank.recv(ZERO, 1, &mut value)?;
                assert_eq!(value, [number]);
            }
        }
        if rank.pid().0 == 2 {
            rank.recv(ONE, 3, &mut [0u32])?;
        }
        Ok(())
    })
    .unwrap();
}

/// Waits with a limit, one after the other, make room for the message that the program waits for.
#[test]
fn waits_with_a_limit_take_messages_over() {
    run(2, |rank| {
        let count = 3 * 128;
        if rank.pid() == ZERO {
            let data = rank.alloc_from(&[3u8])?;
            let mut sends = Vec::new();
            for _ in 0..count {
                sends.push(rank.isend(ONE, 1, data.clone())?);
            }
            sends.push(rank.isend(ONE, 2, data)?);
            rank.wait_all(sends)?;
        } else {
            let last = rank.alloc::<u8>(1)?;
            let mut receive = rank.irecv(ZERO, 2, last)?;
            let tries = (0..10_000).find(|_| {
                let done = rank.wait_timeout(&mut receive, Duration::from_micros(1));
                done.unwrap()
            });
            assert!(tries.is_some());
            for _ in 0..count {
                rank.recv(ZERO, 1, &mut [0u8])?;
            }
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn receives_beyond_the_queue_get_their_messages_though_others_wait() {
    for depth in [4, 16, 64] {
        run_with(config(2, depth), Options::default(), |rank| {
            let to = right(rank);
            let places = rank.alloc::<u32>(200)?;
            let receives: Vec<Request> = (0..200)
                .map(|tag| rank.irecv(to, tag as u32, places.slice(tag..=tag)?))
                .collect::<Result<_>>()?;
            // Sends in reverse order.
            for tag in (0..200).rev() {
                rank.send(to, tag, &[tag])?;
            }
            for (tag, receive) in (0..).zip(receives).collect::<Vec<_>>().into_iter().rev() {
                assert_eq!(rank.wait_message(receive)?.tag, tag);
            }
            assert_eq!(rank.read_vec(&places)?, (0..200).collect::<Vec<u32>>());
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn a_probe_leaves_out_what_a_waiting_receive_is_for() {
    run_with(config(1, 8), Options::default(), |rank| {
        let places = rank.alloc::<u32>(20)?;
        let mut receives: Vec<Request> = (0..20)
            .map(|tag| rank.irecv(ZERO, tag as u32, places.slice(tag..=tag)?))
            .collect::<Result<_>>()?;
        rank.send(ZERO, 19, &[1u32])?;
        rank.send(ZERO, 19, &[2u32])?;
        let second = rank.probe(ZERO, 19)?;
        assert_eq!(second.length, 4);
        let mut value = [0];
        rank.recv(ZERO, 19, &mut value)?;
        assert_eq!(value, [2]);
        assert!(rank.test(&mut receives[19])?);
        assert_eq!(rank.read_vec(&places)?[19], 1);
        rank.wait_message(receives.swap_remove(19)).map(drop)
    })
    .unwrap();
}

#[test]
fn communicators_are_apart_and_count_their_own_ranks() {
    run(4, |rank| {
        let world = rank.world()?;
        let me = rank.pid().0;
        // A communicator in reverse order.
        let Some(turned) = world.split(rank, Some(0), -(me as i32))? else {
            panic!("all are members");
        };
        assert_eq!(turned.rank(), 3 - me);
        let to = (turned.rank() + 1) % 4;
        turned.send(rank, to, 1, &[me])?;
        world.send(rank, (me + 1) % 4, 1, &[me + 100])?;
        rank.send(GlobalRank((me + 1) % 4), 1, &[me + 200])?;
        let mut value = [0];
        assert_eq!(turned.iprobe(rank, to, Tag::Any)?, None);
        let status = turned.probe(rank, Source::Any, Tag::Any)?;
        let from = (turned.rank() + 3) % 4;
        assert_eq!((status.source, status.pid.0), (from, 3 - from));
        let mut place = rank.alloc::<u32>(1)?;
        let receive = turned.irecv(rank, from, 1, &mut place)?;
        let status = rank.wait_message(receive)?;
        assert_eq!((status.source, status.pid.0), (from, 3 - from));
        assert_eq!(rank.read_vec(&place)?, [3 - from]);
        // Messages of the world count the ranks of the run.
        for expected in [100, 200] {
            let status = rank.recv((me + 3) % 4, 1, &mut value)?;
            assert_eq!(
                (status.source, value[0]),
                ((me + 3) % 4, (me + 3) % 4 + expected)
            );
        }
        let error = turned.send(rank, 4, 1, &[0u8]).unwrap_err();
        assert!(
            matches!(error, Error::NoSuchMember { found: 4, .. }),
            "{error}"
        );
        turned.free(rank)
    })
    .unwrap();
}

#[test]
fn contexts_end_and_come_back() {
    run(2, |rank| {
        let world = rank.world()?;
        let mut held = Vec::new();
        for _ in 1..254 {
            held.push(world.dup(rank)?);
        }
        let more = world.dup(rank)?;
        let error = more.send(rank, 0, 0, &[0u8]).unwrap_err();
        assert!(matches!(error, Error::BadCommunicator { .. }), "{error}");
        // All other calls succeed.
        more.barrier(rank)?;
        held.swap_remove(17).free(rank)?;
        let again = world.dup(rank)?;
        again.send(rank, rank.pid().0, 0, &[3u8])?;
        let mut value = [0u8];
        for other in held.iter().take(3) {
            assert_eq!(other.iprobe(rank, Source::Any, Tag::Any)?, None);
        }
        again.recv(rank, Source::Any, 0, &mut value)?;
        assert_eq!(value, [3]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_can_not_be_is_refused_before_anything_is_posted() {
    run(2, |rank| {
        let mut place = rank.alloc::<u8>(1)?;
        let error = rank.isend(ONE, TAG_UB + 1, &place).unwrap_err();
        assert!(
            matches!(error, Error::OutOfRange { what: "tag", .. }),
            "{error}"
        );
        assert!(rank.irecv(ONE, TAG_UB + 1, &mut place).is_err());
        let error = rank.send(GlobalRank(2), 0, &[0u8]).unwrap_err();
        assert!(
            matches!(
                error,
                Error::NoSuchMember {
                    found: 2,
                    size: 2,
                    ..
                }
            ),
            "{error}"
        );
        assert!(rank.iprobe(2, 0).is_err());
        for opcode in [
            Opcode::XSend,
            Opcode::XReceive,
            Opcode::XProbe,
            Opcode::XCancel,
        ] {
            assert!(rank.lab().command(opcode, 0).is_err());
        }
        // The largest tag is valid.
        rank.send(rank.pid(), TAG_UB, &[1u8])?;
        assert_eq!(rank.recv(Source::Any, Tag::Any, &mut [0u8])?.tag, TAG_UB);
        Ok(())
    })
    .unwrap();

    run_with(config(1, 0), Options::default(), |rank| {
        let error = rank.send(ZERO, 0, &[0u8]).unwrap_err();
        assert!(
            matches!(
                error,
                Error::MissingCapability {
                    capability: "message engine",
                    ..
                }
            ),
            "{error}"
        );
        assert!(rank.lab().match_counters().is_err());
        Ok(())
    })
    .unwrap();

    for (ranks, depth, ring) in [(4, 4, 256), (4, 64, 4), (1, 64, 1)] {
        let options = Options::default().ring_entries(ring);
        run_with(config(ranks, depth), options, |rank| {
            let mut nothing = rank.alloc::<u8>(0)?;
            let error = rank.irecv(0, 0, &mut nothing).unwrap_err();
            assert!(matches!(error, Error::MessageRoom { .. }), "{error}");
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn a_request_for_a_message_belongs_to_its_rank() {
    let left_over: Mutex<Option<Request>> = Mutex::new(None);
    run(2, |rank| {
        if rank.pid() == ZERO {
            let place = rank.alloc::<u8>(1)?;
            *left_over.lock().unwrap() = Some(rank.irecv(Source::Any, 0, place)?);
        }
        rank.barrier()?;
        if rank.pid() == ONE {
            let request = left_over.lock().unwrap().take().unwrap();
            let foreign = |error| matches!(error, Error::ForeignRequest { .. });
            assert!(foreign(rank.cancel(&request).unwrap_err()));
            assert!(foreign(rank.wait_any(&[request]).unwrap_err()));
        }
        rank.barrier()
    })
    .unwrap();
}

#[test]
fn the_watchdog_says_which_message_did_not_come() {
    let options = Options::default().watchdog_cycles(5000);
    let stuck = |program: fn(&mut Rank) -> Result<()>| {
        run_with(config(2, 64), options, program).unwrap_err()
    };
    let error = stuck(|rank| match rank.pid() {
        ZERO => rank.recv(1, 5, &mut [0u8]).map(drop),
        _ => rank.send(ZERO, 6, &[1u8]),
    });
    let Some(Error::Watchdog {
        awaited: Awaited::Message(it),
        ..
    }) = error.error()
    else {
        panic!("{error}");
    };
    let kind = it.message.kind;
    assert!(
        matches!(kind, MessageKind::Receive | MessageKind::Send),
        "{error}"
    );
    assert!(error.to_string().contains("tag "), "{error}");

    let error = stuck(|rank| match rank.pid() {
        ZERO => rank.recv(Source::Any, Tag::Any, &mut [0u8]).map(drop),
        _ => rank.barrier(),
    });
    let text = error.to_string();
    assert!(
        text.contains("for receive of 1 bytes from any rank, any tag, context 0 (1 receives posted, 0 unexpected messages, 0 more of this rank queued): ")
            || text.contains("for BARRIER: "),
        "{text}"
    );

    for kind in [0, 1] {
        let error = run_with(config(1, 64), options, |rank| match kind {
            0 => rank.probe(Source::Any, 3).map(drop),
            _ => loop {
                if rank.iprobe(Source::Any, 3)?.is_some() {
                    return Ok(());
                }
            },
        })
        .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("probe for a message from any rank, tag 3, context 0"),
            "{error}"
        );
    }

    // A message without a receive.
    let error = run_with(config(1, 64), options, |rank| rank.send(ZERO, 3, &[0u8])).unwrap_err();
    assert!(
        error.to_string().contains(
            "for send of 1 bytes to rank 0, tag 3, context 0 (0 receives posted, 1 unexpected"
        ),
        "{error}"
    );
}

#[test]
fn a_rank_ends_with_receives_that_nothing_came_for() {
    run(2, |rank| {
        let place = rank.alloc::<u32>(100)?;
        for tag in 0..100 {
            drop(rank.irecv(Source::Any, tag as u32, place.slice(tag..=tag)?)?);
        }
        // Requests that are dropped. Their messages are received later.
        let data = rank.alloc_from(&[1u32, 2])?;
        drop(rank.isend(right(rank), 500, &data)?);
        rank.recv(Source::Any, 500, &mut [0u32; 2]).map(drop)
    })
    .unwrap();
}

#[test]
fn messages_and_puts_share_the_ring() {
    for ring in [4, 8, 256] {
        let options = Options::default().ring_entries(ring);
        run_with(config(2, 64), options, |rank| {
            let inbox = rank.alloc_from(&[0u32; 50])?;
            let window = rank.register(&inbox, Rights::ALL)?;
            let to = right(rank);
            let place = rank.alloc::<u32>(1)?;
            let receives: Vec<Request> = (0..100)
                .map(|tag| rank.irecv(to, tag, place.clone()))
                .collect::<Result<_>>()?;
            for place in 0..50 {
                rank.put(&window, to, place, &[place as u32])?;
                let staged = rank.alloc_from(&[place as u32])?;
                drop(rank.iput(&window, to, place, &staged)?);
            }
            rank.fence()?;
            assert_eq!(rank.read_vec(&inbox)?, (0..50).collect::<Vec<u32>>());
            for tag in 0..100 {
                rank.send(to, tag, &[tag])?;
            }
            rank.wait_all(receives)
        })
        .unwrap();
    }
}

#[test]
fn what_a_message_writes() {
    let spy = Spy::new(SoftBoard::new(1));
    let log = Arc::clone(&spy.log);
    Job::new(Arc::new(spy))
        .unwrap()
        .run(1, |rank| {
            let take = || -> Vec<(u32, u32)> {
                let log = std::mem::take(&mut *log.lock().unwrap());
                let writes = log.into_iter().filter_map(|access| match access {
                    Access::Write(offset, value) => Some((offset, value)),
                    _ => None,
                });
                writes.collect()
            };
            assert!(take().contains(&(page::MESSAGE_QUOTA, 64)));
            let data = rank.alloc::<u8>(1000)?;
            let message = |context, id| {
                x_message::RANK.put(0) | x_message::CONTEXT.put(context) | x_message::ID.put(id)
            };
            let at = data.addr().0;
            let receive = rank.irecv(0, Tag::Any, data.clone())?;
            assert_eq!(
                take(),
                [
                    (command(Opcode::XLaddr), at),
                    (command(Opcode::XLength), 1000),
                    (command(Opcode::XTag), x_tag::ANY_TAG.mask()),
                    (command(Opcode::XReceive), message(0, 0)),
                ]
            );
            let cancelled = rank.irecv(Source::Any, 7, data.clone())?;
            let tag = x_tag::ANY_SOURCE.mask() | x_tag::TAG.put(7);
            assert_eq!(
                take(),
                [
                    (command(Opcode::XTag), tag),
                    (command(Opcode::XReceive), message(0, 1)),
                ]
            );
            rank.cancel(&cancelled)?;
            assert_eq!(take(), [(command(Opcode::XCancel), 1)]);
            // A message that is longer than a fragment.
            let send = rank.isend(ZERO, 5, data.slice(..257)?)?;
            assert_eq!(
                take(),
                [
                    (command(Opcode::XLength), 257),
                    (command(Opcode::XTag), 5),
                    (command(Opcode::XAnnounce), message(0, 2)),
                ]
            );
            rank.wait_all([send, receive, cancelled])?;
            take();
            let send = rank.isend(ZERO, 5, data.slice(..256)?)?;
            assert_eq!(
                take(),
                [
                    (command(Opcode::XLength), 256),
                    (command(Opcode::XSend), message(0, 2)),
                ]
            );
            rank.recv(Source::Any, Tag::Any, &mut [0u8; 256])?;
            rank.wait(send)?;
            rank.lab().match_thresholds(Some(9), None)?;
            let thresholds = take();
            assert!(thresholds.ends_with(&[
                (page::POSTED_THRESHOLD, 9),
                (page::UNEXPECTED_THRESHOLD, 0xFFFF)
            ]));
            Ok(())
        })
        .unwrap();
}

#[test]
fn messages_without_credits_have_serial_numbers_and_no_quota() {
    let spy = Spy::new(SoftBoard::with(config(2, 64)));
    let log = Arc::clone(&spy.log);
    let options = Options::default().flow_control(FlowControl::GoBackN);
    Job::with_options(Arc::new(spy) as Arc<dyn Board>, options)
        .unwrap()
        .run(2, |rank| {
            let nothing = rank.alloc::<u8>(0)?;
            if rank.pid() == ZERO {
                for _ in 0..70 {
                    rank.send(ONE, 0, &nothing)?;
                }
            } else {
                for _ in 0..70 {
                    rank.recv(ZERO, 0, &mut [0u8; 0])?;
                }
            }
            Ok(())
        })
        .unwrap();
    let writes = log.lock().unwrap();
    let of = |wanted: u32| {
        let values = writes.iter().filter_map(move |access| match *access {
            Access::Write(offset, value) if offset == wanted => Some(value),
            _ => None,
        });
        values.collect::<Vec<_>>()
    };
    assert_eq!(of(page::MESSAGE_QUOTA), [0xFFFF, 0xFFFF]);
    let sends = of(command(Opcode::XSend));
    let serials: Vec<u32> = sends
        .iter()
        .map(|&send| x_message::SERIAL.get(send))
        .collect();
    let expected: Vec<u32> = (1..=63).chain(2..9).collect();
    assert_eq!(serials, expected);
}

#[test]
fn a_board_whose_queues_can_not_be_is_refused() {
    for engine in [0x0100_0003, 0x0100_0000, 0xFFFF_0400] {
        let mut spy = Spy::new(SoftBoard::new(1));
        spy.lies.insert(board::MESSAGES, engine);
        let error = Job::new(Arc::new(spy)).err().unwrap();
        assert!(
            matches!(
                error,
                Error::BadIdentity {
                    register: "MESSAGES",
                    ..
                }
            ),
            "{error}"
        );
    }
}
