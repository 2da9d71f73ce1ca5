//! Looking again takes time.

use alcor::{Board, Causes, Cycle, LocalRank, NodeAddr, PageOffset, Wake};
use alcor_cosim::POLL_CYCLES;

use crate::fixture::*;

#[test]
fn each_second_look_is_a_poll() {
    let board = board(2);
    board.expect(1).unwrap();
    let mut port = board.attach(LocalRank(1)).unwrap();
    for n in 0..5 {
        port.read32(RETIRED).unwrap();
        port.read32(CAUSES).unwrap();
        port.read_board32(PageOffset(RETIRED.0)).unwrap();
        assert_eq!(port.now().unwrap(), Cycle(n * POLL_CYCLES));
    }
    let before = port.now().unwrap().0;
    let mut bytes = [0; 4];
    for n in 0..5 {
        port.read_memory(NodeAddr(0), &mut bytes).unwrap();
        port.read_memory(NodeAddr(1), &mut bytes).unwrap();
        port.write_memory(NodeAddr(8), &bytes).unwrap();
        assert_eq!(port.now().unwrap().0, before + n * POLL_CYCLES);
    }
    let before = port.now().unwrap().0;
    for n in 0..5 {
        assert_eq!(port.wait(Causes::NONE, Cycle(0)).unwrap(), Wake::Deadline);
        assert_eq!(port.now().unwrap().0, before + n * POLL_CYCLES);
    }
    port.leave().unwrap();
}

#[test]
fn an_expired_wait_tells_of_the_interrupt() {
    let board = board(2);
    run_well(&board, |_, port| {
        port.write32(ENTER_BARRIER, 0)?;
        assert_eq!(port.wait(Causes(BARRIER), Cycle(0))?, Wake::Deadline);
        assert_eq!(port.now()?, Cycle(0));
        assert_eq!(
            port.wait(Causes(BARRIER), Cycle(0))?,
            Wake::Raised(Causes(BARRIER))
        );
        assert_eq!(port.now()?, Cycle(POLL_CYCLES));
        Ok(())
    });
}

/// Ranks that only ever poll get through.
#[test]
fn polling_makes_progress() {
    let board = board(2);
    let ends = run_well(&board, |rank, port| {
        if rank == 0 {
            port.wait(Causes::NONE, Cycle(5000))?;
            port.write32(SEND, packet(1, 0x10, 0xbeef))?;
        } else {
            let mut word = [0; 4];
            while word != [0xef, 0xbe, 0, 0] {
                port.read_memory(NodeAddr(0x40), &mut word)?;
            }
        }
        Ok(port.now()?.0)
    });
    // Sent in cycle 5002, there in cycle 5009, looked at every 16 cycles; rank 0 leaves as soon as the write is through.
    assert_eq!(ends, [5000, 5009_u64.next_multiple_of(POLL_CYCLES)]);
    assert_eq!(board.read32(PageOffset(0)).unwrap(), alcor_abi::MAGIC);
}
