//! Profile gen3x16: the same board behind a PCIe link.

use alcor::{Board, Causes, Cycle, LocalRank, NodeAddr, PageOffset, Wake};
use alcor_cosim::profile::GEN3X16;

use crate::fixture::*;

/// A read of a register: down, the stand-in's bus, up.
const READ: u64 = GEN3X16.downstream + 4 + GEN3X16.upstream;

#[test]
fn reads_and_writes_take_their_time() {
    let board = board_with(2, "profile=gen3x16");
    board.expect(1).unwrap();
    let mut port = board.attach(LocalRank(0)).unwrap();
    assert_eq!(port.read_board32(PageOffset(0)).unwrap(), alcor_abi::MAGIC);
    // Down, some cycles on the bus (address, data), up.
    let once = port.now().unwrap().0;
    assert_eq!(once, READ);
    assert_eq!(port.read_board32(PageOffset(0)).unwrap(), alcor_abi::MAGIC);
    assert_eq!(port.now().unwrap().0, 2 * once);
    // A read pushes the writes before it.
    for n in 0..10 {
        port.write32(RETIRED_WAKE, 5_u32.wrapping_sub(n)).unwrap();
    }
    assert_eq!(port.now().unwrap().0, 2 * once);
    assert_eq!(port.read32(CAUSES).unwrap(), CREDIT);
    let took = port.now().unwrap().0 - 2 * once;
    assert!((once + 20..once + 60).contains(&took), "{took}");
    port.leave().unwrap();
}

#[test]
fn an_interrupt_takes_its_time() {
    let board = board_with(2, "profile=gen3x16");
    run_well(&board, |_, port| {
        port.write32(ENTER_BARRIER, 0)?;
        assert_eq!(
            port.wait(Causes(BARRIER), Cycle(10_000))?,
            Wake::Raised(Causes(BARRIER))
        );
        let now = port.now()?.0;
        // The wait reads CAUSES.
        let least = GEN3X16.downstream + GEN3X16.interrupt + READ;
        assert!((least..least + 40).contains(&now), "{now}");
        // It is known now, so that the next wait is short.
        assert_eq!(
            port.wait(Causes(BARRIER), Cycle(10_000))?,
            Wake::Raised(Causes(BARRIER))
        );
        assert_eq!(port.now()?.0, now + 1 + READ);
        let now = now + 1 + READ;
        // A deadline before it would be heard of again.
        port.write32(ACK, BARRIER)?;
        assert_eq!(
            port.wait(Causes(BARRIER), Cycle(now + 300))?,
            Wake::Deadline
        );
        assert_eq!(port.now()?.0, now + 300);
        Ok(())
    });
}

#[test]
fn transfers_arrive_and_take_their_time() {
    let board = board_with(2, "profile=gen3x16");
    run_well(&board, |rank, port| {
        for (at, len) in [
            (0, 1),
            (3, 2),
            (20, 16),
            (4094, 7),
            (4096, 4096),
            (1001, 5000),
            (0, 8192),
        ] {
            let data: Vec<u8> = (0..len).map(|n| (n * 31 + rank + at) as u8).collect();
            let start = port.now()?.0;
            port.write_memory(NodeAddr(at), &data)?;
            let words = len as u64 / 4;
            let took = port.now()?.0 - start;
            if len <= 2048 {
                // A posted write costs the host nothing.
                assert_eq!(took, 0);
            } else {
                // A cycle a word at least; no more than twice that, as the other rank's transfer may be first.
                assert!(took >= GEN3X16.dma_setup + words, "{len} bytes in {took}");
                assert!(
                    took <= GEN3X16.dma_setup + 4 * words + 60,
                    "{len} bytes in {took}"
                );
            }
            let start = port.now()?.0;
            let mut found = vec![0; len as usize];
            port.read_memory(NodeAddr(at), &mut found)?;
            assert!(found == data, "rank {rank}: {len} bytes at {at}");
            let took = port.now()?.0 - start;
            if len <= 16 {
                // Loads of 64 bytes at most, one after the other.
                let loads = u64::from((at + len).div_ceil(64) - at / 64);
                let least = loads * (READ - 4);
                assert!(
                    (least..least + 100).contains(&took),
                    "{len} bytes in {took}"
                );
            }
        }
        Ok(())
    });
}
