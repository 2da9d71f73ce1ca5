//! What it costs to pass time from rank to rank.

use std::time::Instant;

use alcor::{Cycle, Port};
use alcor_cosim::{Options, Shape, SimBoard};

use crate::fixture::*;

/// Four ranks stream small sends and wake for each half queue, as a program that never waits for data does; beside it
/// the same traffic in a bare loop.
#[test]
#[ignore = "a measurement; run it alone with --release"]
fn handover_cost() {
    const ROUNDS: u32 = 2000;
    const BATCH: u32 = 8;
    for load in [0, 300, 1000] {
        let model = model(4, load, false);
        let shape = Shape {
            ranks: 4,
            node_bytes: NODE_BYTES,
        };
        let board =
            SimBoard::with_model("stand-in", &model, shape, Options::new().unwrap()).unwrap();
        for attempt in 0..3 {
            let stream = |rank: u32, port: &mut dyn Port| {
                port.write32(IRQ_ENABLE, CREDIT)?;
                let mut waits = 0u64;
                for round in 0..ROUNDS {
                    for n in 0..BATCH {
                        port.write32(SEND, packet((rank + 1) % 4, n, round as u16))?;
                    }
                    port.write32(RETIRED_WAKE, BATCH * round + BATCH / 2)?;
                    port.wait(Cycle(u64::MAX))?;
                    waits += 1;
                }
                Ok(waits)
            };
            board.record().unwrap();
            run_well(&board, stream);
            let recording = board.take_recording().unwrap();
            alcor::Board::reset(&*board).unwrap();
            let start = Instant::now();
            let waits: u64 = run_well(&board, stream).iter().sum();
            let elapsed = start.elapsed();
            let bare = board.replay(&recording, u64::MAX).unwrap();
            let cycles = bare.cycles as f64;
            println!(
                "load {load}, attempt {attempt}: bare {:.0} ns a cycle, through ports {:.0} ns; {:.1} cycles and {:.2} us \
                 of overhead a wait; efficiency {:.2}",
                bare.elapsed.as_nanos() as f64 / cycles,
                elapsed.as_nanos() as f64 / cycles,
                cycles / waits as f64,
                (elapsed.as_secs_f64() - bare.elapsed.as_secs_f64()) * 1e6 / waits as f64,
                bare.elapsed.as_secs_f64() / elapsed.as_secs_f64(),
            );
        }
    }
}
