//! What happens in which cycle.

use alcor::{Board, Causes, Cycle, LocalRank, NodeAddr, PageOffset, Wake};
use alcor_cosim::{EFFECT_CYCLES, PORT_QUEUE, SETTLE_CYCLES};

use crate::fixture::*;

/// With two ranks the stand-in serves rank 0 in even cycles and rank 1 in odd ones, counted from reset.
#[test]
fn writes_and_interrupts_are_where_they_belong() {
    let board = board(2);
    let ends = run_well(&board, |rank, port| {
        assert_eq!(port.now()?, Cycle(0));
        port.write32(RETIRED_WAKE, 1)?;
        port.write32(SEND, packet(1 - rank, rank, 7))?;
        assert_eq!(port.now()?, Cycle(0));
        let wake = port.wait(Causes(CREDIT), Cycle(1000))?;
        assert_eq!(wake, Wake::Raised(Causes(CREDIT)));
        Ok(port.now()?.0)
    });
    // Offered in cycles 1 and 2, before IRQ_ENABLE; the command is queued in cycle 3, where rank 1 is served and rank 0 is
    // a cycle later; RETIRED counts in the next cycle, the interrupt is raised in the one after, and seen at the edge
    // that ends it.
    assert_eq!(ends, [4 + 3, 3 + 3]);
}

#[test]
fn a_deadline_is_met_exactly() {
    let board = board(2);
    assert!(board.time_stands_still());
    let ends = run_well(&board, |rank, port| {
        let mut ends = Vec::new();
        for step in [1, 2, 3, 100, 4096, 77_777] {
            let deadline = Cycle(port.now()?.0 + step + u64::from(rank));
            assert_eq!(port.wait(Causes::NONE, deadline)?, Wake::Deadline);
            assert_eq!(port.now()?, deadline);
            ends.push(deadline.0);
        }
        Ok(ends)
    });
    assert_eq!(board.now(), *ends[1].last().unwrap());
}

#[test]
fn an_interrupt_at_the_deadline_is_an_interrupt() {
    let board = board(2);
    let wakes = run_well(&board, |rank, port| {
        if rank == 1 {
            return Ok(vec![]);
        }
        port.write32(RETIRED_WAKE, 1)?;
        port.write32(SEND, packet(0, 0, 0))?;
        Ok(vec![port.wait(Causes(CREDIT), Cycle(7))?])
    });
    assert_eq!(wakes[0], [Wake::Raised(Causes(CREDIT))]);
    board.reset().unwrap();
    let wakes = run_well(&board, |rank, port| {
        if rank == 1 {
            return Ok(vec![]);
        }
        port.write32(RETIRED_WAKE, 1)?;
        port.write32(SEND, packet(0, 0, 0))?;
        Ok(vec![
            port.wait(Causes(CREDIT), Cycle(6))?,
            port.wait(Causes(CREDIT), Cycle(100))?,
        ])
    });
    assert_eq!(wakes[0], [Wake::Deadline, Wake::Raised(Causes(CREDIT))]);
}

#[test]
fn a_read_sees_what_was_posted_and_costs_no_more() {
    let board = board(2);
    board.expect(1).unwrap();
    let mut port = board.attach(LocalRank(0)).unwrap();
    assert_eq!(port.read32(CAUSES).unwrap(), 0);
    assert_eq!(port.now().unwrap(), Cycle(0));
    for n in 1..=10 {
        port.write32(RETIRED_WAKE, 1_u32.wrapping_sub(n)).unwrap();
    }
    assert_eq!(port.read32(CAUSES).unwrap(), CREDIT);
    // Ten cycles in which they are offered, 1 to 10.
    assert_eq!(port.now().unwrap(), Cycle(10 + EFFECT_CYCLES));
    // Other registers at the same instant, and memory, cost nothing.
    port.read32(RETIRED).unwrap();
    port.read_board32(PageOffset(0)).unwrap();
    let mut bytes = [0; 5];
    port.write_memory(NodeAddr(3), &[1, 2, 3, 4, 5]).unwrap();
    port.read_memory(NodeAddr(3), &mut bytes).unwrap();
    assert_eq!(bytes, [1, 2, 3, 4, 5]);
    assert_eq!(port.now().unwrap(), Cycle(10 + EFFECT_CYCLES));
    port.leave().unwrap();
}

/// A wait after an acknowledgement must not see the interrupt that was acknowledged.
#[test]
fn a_stale_interrupt_is_not_seen() {
    let board = board(2);
    run_well(&board, |_, port| {
        for _ in 0..50 {
            port.write32(ENTER_BARRIER, 0)?;
            assert_eq!(
                pass(port, Causes(BARRIER), 100)?,
                Wake::Raised(Causes(BARRIER))
            );
            port.write32(ACK, BARRIER)?;
            let before = port.now()?.0;
            assert_eq!(
                port.wait(Causes(BARRIER), Cycle(before + 20))?,
                Wake::Deadline
            );
            assert_eq!(port.now()?.0, before + 20);
        }
        Ok(())
    });
    // And it is seen no later than it may be: the write that enables is offered in the first cycle.
    board.reset().unwrap();
    run_well(&board, |rank, port| {
        port.write32(ENTER_BARRIER, 0)?;
        port.wait(Causes::NONE, Cycle(100))?;
        port.wait(Causes(BARRIER), Cycle(200))?;
        assert_eq!(port.now()?, Cycle(101 + SETTLE_CYCLES), "rank {rank}");
        Ok(())
    });
}

#[test]
fn a_raised_interrupt_ends_a_wait_after_a_cycle() {
    let board = board(2);
    run_well(&board, |_, port| {
        port.write32(ENTER_BARRIER, 0)?;
        port.wait(Causes(BARRIER), Cycle(100))?;
        let before = port.now()?.0;
        for n in 1..10 {
            assert_eq!(
                port.wait(Causes(BARRIER), Cycle(100))?,
                Wake::Raised(Causes(BARRIER))
            );
            assert_eq!(port.now()?.0, before + n);
        }
        Ok(())
    });
}

#[test]
fn the_queue_is_bounded() {
    let board = board(2);
    board.expect(1).unwrap();
    let mut port = board.attach(LocalRank(0)).unwrap();
    // The first wait writes IRQ_ENABLE.
    pass(&mut *port, Causes::NONE, 10).unwrap();
    for n in 0..PORT_QUEUE {
        port.write32(RETIRED_WAKE, n as u32).unwrap();
    }
    assert_eq!(port.now().unwrap(), Cycle(10));
    port.write32(RETIRED_WAKE, 0).unwrap();
    assert_eq!(port.now().unwrap(), Cycle(10 + PORT_QUEUE as u64));
    // What is handed over counts too.
    pass(&mut *port, Causes::NONE, 1).unwrap();
    for _ in 0..PORT_QUEUE {
        port.write32(RETIRED_WAKE, 0).unwrap();
    }
    pass(&mut *port, Causes::NONE, 10).unwrap();
    // Ten of them are offered by now.
    let before = port.now().unwrap().0;
    for _ in 0..10 {
        port.write32(RETIRED_WAKE, 0).unwrap();
    }
    assert_eq!(port.now().unwrap().0, before);
    port.write32(RETIRED_WAKE, 0).unwrap();
    assert_eq!(port.now().unwrap().0, before + PORT_QUEUE as u64);
    port.leave().unwrap();
}

#[test]
fn waves_cover_the_cycles_that_were_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.fst");
    let board = board_with(
        2,
        &format!("waves={}&waves-from=50&waves-to=60", file.display()),
    );
    run_well(&board, |_, port| port.wait(Causes::NONE, Cycle(40)));
    assert!(!file.exists());
    run_well(&board, |_, port| port.wait(Causes::NONE, Cycle(300)));
    assert!(file.metadata().unwrap().len() > 0);
    assert_eq!(board.now(), 300);
}
