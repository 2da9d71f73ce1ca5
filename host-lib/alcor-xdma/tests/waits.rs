//! Waits on a card: the registers that a wait reads and writes, and the interrupts that it leaves enabled.

use std::sync::{Arc, Mutex};

use alcor::{Backend, Causes, Cycle, LocalRank, Port, Wake};
use alcor_abi::rank::{CAUSES, IRQ_ENABLE, causes};
use alcor_abi::{self as abi, board, rank_page};
use alcor_xdma::XdmaBackend;
use xdma::standin::{Device, Memory, StandIn};

/// A board of one rank whose clock advances by a cycle when it is read, and if asked with each read of CAUSES, and the values that IRQ_ENABLE has had.
struct Clocked {
    memory: Memory,
    clock: Arc<Mutex<Clock>>,
    enabled: Arc<Mutex<Vec<u32>>>,
    /// The cycle from which on CAUSES has the cause of a barrier.
    barrier_at: u64,
    moves_by_polls: bool,
}

#[derive(Default)]
struct Clock {
    cycle: u64,
    /// Reads of each word.
    low_reads: u32,
    high_reads: u32,
}

impl Device for Clocked {
    fn read32(&self, offset: u64) -> u32 {
        let mut clock = self.clock.lock().expect("no panic");
        match offset as u32 {
            board::CYCLE_LO => {
                clock.cycle += 1;
                clock.low_reads += 1;
                clock.cycle as u32
            }
            board::CYCLE_HI => {
                clock.high_reads += 1;
                (clock.cycle >> 32) as u32
            }
            at if at == rank_page(0) + CAUSES => {
                let is_there = clock.cycle >= self.barrier_at;
                // Time passes between two polls, too.
                clock.cycle += u64::from(self.moves_by_polls);
                causes::CREDIT.mask() | causes::BARRIER.put(u32::from(is_there))
            }
            _ => self.memory.read32(offset),
        }
    }

    fn write32(&self, offset: u64, value: u32) {
        if offset == u64::from(rank_page(0) + IRQ_ENABLE) {
            self.enabled.lock().expect("no panic").push(value);
        }
        self.memory.write32(offset, value);
    }

    fn read(&self, at: u64, buffer: &mut [u8]) -> bool {
        self.memory.read(at, buffer)
    }

    fn write(&self, at: u64, data: &[u8]) -> bool {
        self.memory.write(at, data)
    }
}

struct Card {
    _standin: StandIn,
    port: Box<dyn Port>,
    enabled: Arc<Mutex<Vec<u32>>>,
    clock: Arc<Mutex<Clock>>,
}

/// A port of a board whose clock counts `khz` kilohertz by the host's estimate.
fn card(khz: u32, barrier_at: u64, moves_by_polls: bool) -> Card {
    let memory = Memory::new(0x1000);
    for (register, value) in [
        (board::MAGIC, abi::MAGIC),
        (board::GEOMETRY, board::geometry::RANKS.put(1)),
        (board::CLOCK, khz),
        (board::STATUS, board::status::READY.put(1)),
    ] {
        memory.write32(u64::from(register), value);
    }
    let enabled = Arc::default();
    let clock: Arc<Mutex<Clock>> = Arc::default();
    let device = Clocked {
        memory,
        clock: Arc::clone(&clock),
        enabled: Arc::clone(&enabled),
        barrier_at,
        moves_by_polls,
    };
    let standin = StandIn::new(device).expect("a stand-in");
    let cluster = XdmaBackend::on(standin.machine())
        .locks(standin.sys().join("locks"))
        .open("auto")
        .expect("a board");
    let port = Arc::clone(&cluster.boards()[0]).attach(LocalRank(0));
    Card {
        _standin: standin,
        port: port.expect("a port"),
        enabled,
        clock,
    }
}

impl Card {
    /// The values written to IRQ_ENABLE since the last call.
    fn enabled(&self) -> Vec<u32> {
        std::mem::take(&mut *self.enabled.lock().expect("no panic"))
    }

    /// The reads of the clock's low and high word since the last call.
    fn clock_reads(&self) -> (u32, u32) {
        let mut clock = self.clock.lock().expect("no panic");
        (
            std::mem::take(&mut clock.low_reads),
            std::mem::take(&mut clock.high_reads),
        )
    }

    fn set_clock(&self, cycle: u64) {
        self.clock.lock().expect("no panic").cycle = cycle;
    }
}

const BARRIER: Causes = Causes(causes::BARRIER.mask());

#[test]
fn a_port_disables_the_interrupt_that_a_former_holder_has_left() {
    let mut card = card(250_000, 0, false);
    assert_eq!(card.enabled(), [0]);
    card.port.leave().expect("the end");
}

#[test]
fn a_short_wait_takes_no_interrupt() {
    let mut card = card(1, 5, true);
    card.enabled();
    let wake = card.port.wait(BARRIER, Cycle(u64::MAX)).expect("a wait");
    assert_eq!(
        wake,
        Wake::Raised(BARRIER | causes::CREDIT.into()),
        "the wake has all raised causes"
    );
    card.port.leave().expect("the end");
    assert_eq!(card.enabled(), [] as [u32; 0]);
}

#[test]
fn a_long_wait_enables_the_interrupt_while_it_sleeps_only() {
    // By the host's estimate, the deadline is 5 ms away.
    let mut card = card(1, u64::MAX, false);
    card.enabled();
    let wake = card.port.wait(BARRIER, Cycle(5)).expect("a wait");
    assert_eq!(wake, Wake::Deadline);
    assert_eq!(card.enabled(), [BARRIER.0, 0]);
    // Without a cause, the rank sleeps as well.
    let wake = card.port.wait(Causes::NONE, Cycle(10)).expect("a wait");
    assert_eq!(wake, Wake::Deadline);
    card.port.leave().expect("the end");
    assert_eq!(card.enabled(), [] as [u32; 0]);
}

#[test]
fn a_cause_that_rises_with_the_deadline_is_found() {
    let mut card = card(250_000, 3, false);
    // The third read of the clock raises the cause and reaches the deadline.
    let wake = card.port.wait(BARRIER, Cycle(3)).expect("a wait");
    assert!(matches!(wake, Wake::Raised(_)), "{wake:?}");
    card.port.leave().expect("the end");
}

#[test]
fn a_spin_reads_no_clock_and_enables_no_interrupt() {
    for (barrier_at, expected) in [(0, true), (u64::MAX, false)] {
        let mut card = card(250_000, barrier_at, false);
        card.enabled();
        card.clock_reads();
        let wake = card.port.spin(BARRIER).expect("a spin");
        let barrier = Wake::Raised(BARRIER | causes::CREDIT.into());
        assert_eq!(wake, expected.then_some(barrier));
        assert_eq!((card.clock_reads(), card.enabled()), ((0, 0), vec![]));
        card.port.leave().expect("the end");
    }
}

#[test]
fn the_time_is_one_load_but_for_each_lap_of_the_low_word() {
    let mut card = card(250_000, 0, false);
    let now = |card: &mut Card| card.port.now().expect("the time").0;
    card.clock_reads();
    card.set_clock(0x2_ffff_fff0);
    assert_eq!(
        (now(&mut card), card.clock_reads()),
        (0x2_ffff_fff1, (1, 2))
    );
    assert_eq!(
        (now(&mut card), card.clock_reads()),
        (0x2_ffff_fff2, (1, 0))
    );
    card.set_clock(0x3_0000_0005);
    assert_eq!(
        (now(&mut card), card.clock_reads()),
        (0x3_0000_0007, (2, 2))
    );
    assert_eq!(
        (now(&mut card), card.clock_reads()),
        (0x3_0000_0008, (1, 0))
    );
    // A reset sets the clock back.
    card.set_clock(3);
    let error = card.port.now().expect_err("a reset");
    assert!(matches!(error, alcor::Error::BoardReset { .. }), "{error}");
}
