//! A run is told again to the model alone.

use alcor::{Board, Causes, Cycle, NodeAddr};

use crate::fixture::*;

#[test]
fn a_recording_is_played_to_a_bare_model() {
    for query in ["", "profile=gen3x16"] {
        let board = board_with(2, query);
        board.record().unwrap();
        run_well(&board, |_, port| port.wait(Causes::NONE, Cycle(500)));
        // As a job does; the recording starts anew.
        board.reset().unwrap();
        run_well(&board, |rank, port| {
            port.write_memory(NodeAddr(0), &[rank as u8; 64])?;
            for n in 0..100 {
                port.write32(SEND, packet(1 - rank, n, n as u16))?;
            }
            port.wait(Causes::NONE, Cycle(20_000))
        });
        let recording = board.take_recording().unwrap();
        assert_eq!(recording.cycles(), 20_000);
        assert!(recording.calls().0 >= 100 && recording.calls().1 >= 20_000);
        assert_eq!(
            recording.memory_writes().count(),
            if query.is_empty() { 2 } else { 0 }
        );
        let replay = board.replay(&recording, u64::MAX).unwrap();
        assert_eq!(replay.cycles, 20_000);
        assert!(!replay.elapsed.is_zero());
        assert_eq!(board.replay(&recording, 50).unwrap().cycles, 50);
        assert!(board.take_recording().is_err());
        board.reset().unwrap();
    }
}
