//! The same program gives the same run, whatever the threads do.

use std::thread;
use std::time::Duration;

use alcor::{Board, Causes, Cycle, Error, NodeAddr, Port};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::fixture::*;

/// A program of random posts, waits, polls and barriers, with random rests of the host in between.
fn wander(rank: u32, ranks: u32, port: &mut dyn Port, rests: u64) -> Result<Vec<u64>, Error> {
    let mut random = ChaCha8Rng::seed_from_u64(u64::from(rank) + 1);
    let mut rest = ChaCha8Rng::seed_from_u64(rests * 100 + u64::from(rank));
    let (mut sent, mut trace) = (0, Vec::new());
    port.write_memory(NodeAddr(0), &[0; 256])?;
    for round in 0..30 {
        if rests > 0 {
            match rest.random_range(0..4) {
                0 => thread::sleep(Duration::from_micros(rest.random_range(0..1500))),
                1 => thread::yield_now(),
                _ => {}
            }
        }
        for _ in 0..random.random_range(0..6) {
            port.write32(
                SEND,
                packet(
                    random.random_range(0..ranks),
                    random.random_range(0..64),
                    random.random(),
                ),
            )?;
            sent += 1;
        }
        match random.random_range(0..4) {
            0 => trace.push(u64::from(port.read32(RECEIVED)?)),
            1 => {
                let mut bytes = [0; 256];
                port.read_memory(NodeAddr(0), &mut bytes)?;
                trace.push(u64::from(crc32fast::hash(&bytes)));
            }
            2 => {
                port.write32(RETIRED_WAKE, sent)?;
                pass(port, Causes(CREDIT), 10_000)?;
            }
            _ => {
                pass(port, Causes(CREDIT), random.random_range(0..40))?;
            }
        }
        trace.push(port.now()?.0);
        if round % 10 == 9 {
            let entered = port.read32(BARRIERS)?;
            port.write32(ENTER_BARRIER, 0)?;
            sent += 1;
            while port.read32(BARRIERS)? == entered {}
        }
    }
    Ok(trace)
}

#[test]
fn the_host_has_no_say_in_it() {
    for (ranks, query) in [(2, ""), (4, ""), (4, "profile=gen3x16")] {
        let board = board_with(ranks, query);
        let mut first = None;
        for rests in 0..20 {
            board.reset().unwrap();
            let traces = run_well(&board, |rank, port| wander(rank, ranks, port, rests));
            let outcome = (traces, board.now(), board.traffic_digest().unwrap());
            assert_ne!(outcome.2, 0);
            let first = first.get_or_insert_with(|| outcome.clone());
            assert!(
                *first == outcome,
                "{ranks} ranks, {query}: run {rests} differs from run 0"
            );
        }
    }
}

#[test]
fn digests_tell_runs_apart() {
    let digest = |data| {
        let board = board(2);
        run_well(&board, |rank, port| {
            port.write32(SEND, packet(1 - rank, 0, data))?;
            port.wait(Causes::NONE, Cycle(100))
        });
        board.traffic_digest().unwrap()
    };
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));

    // As the definition says: cycle, stream, last, word, of a packet each way.
    let mut plain = Vec::new();
    for (cycle, stream, word) in [
        (3, 0u8, packet(1, 0, 1)),
        (4, 4, packet(0, 0, 1)),
        (9, 6, 1),
        (10, 2, 1),
    ] {
        plain.extend_from_slice(&u64::to_le_bytes(cycle));
        plain.extend_from_slice(&[stream, 0]);
        plain.extend_from_slice(&word.to_le_bytes());
    }
    assert_eq!(digest(1), crc32fast::hash(&plain));
}
