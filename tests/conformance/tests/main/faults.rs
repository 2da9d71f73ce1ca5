//! Boards with a fault, each of which some test has to catch.
//!
//! A [`FaultyBoard`] stands between the library and a sound board, and spoils what passes.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use alcor::soft::{SoftBoard, SoftConfig};
use alcor::{
    Board, BoardLayer, Causes, Cycle, Error, LocalRank, NodeAddr, Opcode, PageOffset, Port,
    PortLayer, Wake,
};
use alcor_abi::rank::{self as page, ack, causes};
use alcor_abi::{CQ_ENTRY_BYTES, board, command};
use alcor_conformance::tests;
use alcor_test::{Case, Settings};

use crate::outcomes;

/// Tests that run before it is known whether one has failed.
const TOGETHER: usize = 10;

/// What is wrong with a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A transfer moves a byte less than it was asked to.
    DropsLastByte,
    /// A transfer of more than 200 bytes moves 4 bytes less.
    DropsLastWordOfLong,
    /// Transfers begin at a multiple of 4 in the window.
    IgnoresByteOffset,
    /// The local address is a multiple of 4.
    IgnoresLocalAlignment,
    /// Windows are a byte longer than they were registered.
    BoundIsOneOff,
    /// Windows reach far beyond their end.
    ForgetsBounds,
    /// Everybody may do everything.
    ForgetsRights,
    /// Rank 1 does not wait in barriers.
    ReleasesBarrierEarly,
    /// Every 50th barrier is no barrier for rank 0.
    ReleasesFewBarriersEarly,
    /// A barrier counts twice.
    CountsBarriersTwice,
    /// Two neighbouring completions exchange their outcomes.
    SwapsOutcomes,
    /// Every refusal looks like another.
    ConfusesStatus,
    /// Refused accesses are not counted.
    ForgetsToCount,
    /// What the paper's commands do wrong is not told.
    SwallowsEvents,
    /// An abort comes without its reason.
    LosesReason,
    /// The command queue holds half of what the board says.
    OverstatesQueue,
    /// The paper's offset has 7 bits.
    CutsPaperOffset,
    /// Word 30 of the paper's packets is lost.
    CutsPaperLength,
    /// A window that is deregistered stays.
    KeepsWindows,
}

const FAULTS: [Fault; 19] = [
    Fault::DropsLastByte,
    Fault::DropsLastWordOfLong,
    Fault::IgnoresByteOffset,
    Fault::IgnoresLocalAlignment,
    Fault::BoundIsOneOff,
    Fault::ForgetsBounds,
    Fault::ForgetsRights,
    Fault::ReleasesBarrierEarly,
    Fault::ReleasesFewBarriersEarly,
    Fault::CountsBarriersTwice,
    Fault::SwapsOutcomes,
    Fault::ConfusesStatus,
    Fault::ForgetsToCount,
    Fault::SwallowsEvents,
    Fault::LosesReason,
    Fault::OverstatesQueue,
    Fault::CutsPaperOffset,
    Fault::CutsPaperLength,
    Fault::KeepsWindows,
];

struct FaultyBoard {
    sound: Arc<dyn Board>,
    fault: Fault,
}

impl BoardLayer for FaultyBoard {
    fn below(&self) -> &Arc<dyn Board> {
        &self.sound
    }

    fn read32(&self, offset: PageOffset) -> Result<u32, Error> {
        let value = self.sound.read32(offset)?;
        Ok(match (self.fault, offset.0) {
            // The depth is in the low half.
            (Fault::OverstatesQueue, board::QUEUES) => value + board::queues::COMMANDS.get(value),
            _ => value,
        })
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>, Error> {
        let sound = Arc::clone(&self.sound).attach(rank)?;
        Ok(Box::new(FaultyPort {
            sound,
            fault: self.fault,
            rank: rank.0,
            barriers: 0,
            feigned: false,
            owed: 0,
            data8: 0,
            ring: (0, 0),
        }))
    }
}

struct FaultyPort {
    sound: Box<dyn Port>,
    fault: Fault,
    rank: u32,
    barriers: u32,
    /// BARRIER_DONE is shown, and is not true.
    feigned: bool,
    /// Barriers whose true ends the library must not see.
    owed: u32,
    data8: u32,
    /// The completion ring: base and entries.
    ring: (u32, u32),
}

impl FaultyPort {
    /// Whether the barrier that is being posted is to be released early.
    fn feigns(&mut self) -> bool {
        self.barriers += 1;
        match self.fault {
            Fault::ReleasesBarrierEarly => self.rank == 1,
            Fault::ReleasesFewBarriersEarly => self.rank == 0 && self.barriers.is_multiple_of(50),
            _ => false,
        }
    }

    /// Takes the true ends of barriers that the library believes to be over.
    fn absorb(&mut self) -> Result<(), Error> {
        if self.owed > 0 {
            let pending = self.sound.read32(PageOffset(page::CAUSES))?;
            if causes::BARRIER.get(pending) != 0 {
                self.owed -= 1;
                self.sound
                    .write32(PageOffset(page::ACK), ack::BARRIER.mask())?;
            }
        }
        Ok(())
    }

    /// CAUSES as the library is told.
    fn told(&self, value: u32) -> u32 {
        match (self.feigned, self.owed) {
            (true, _) => value | causes::BARRIER.mask(),
            (false, 0) => value,
            (false, _) => value & !causes::BARRIER.mask(),
        }
    }

    /// What the library writes, as it arrives.
    fn spoilt(&mut self, offset: u32, value: u32) -> u32 {
        let is = |opcode| offset == command(opcode);
        match self.fault {
            Fault::DropsLastByte if is(Opcode::XLength) => value.saturating_sub(1),
            Fault::DropsLastWordOfLong if is(Opcode::XLength) && value > 200 => value - 4,
            Fault::IgnoresByteOffset if is(Opcode::XOffset) => value & !3,
            Fault::IgnoresLocalAlignment if is(Opcode::XLaddr) => value & !3,
            Fault::BoundIsOneOff if is(Opcode::WindowSize) => value.wrapping_add(1),
            Fault::ForgetsBounds if is(Opcode::WindowSize) => value.saturating_add(1 << 14),
            Fault::ForgetsRights if is(Opcode::Register) => value & !3,
            Fault::KeepsWindows if is(Opcode::Deregister) => value ^ 4,
            Fault::CutsPaperOffset | Fault::CutsPaperLength if is(Opcode::Data8) => {
                self.data8 = (self.data8 + 1) % 3;
                match (self.fault, self.data8) {
                    (Fault::CutsPaperLength, 2) if value == 30 => 29,
                    (Fault::CutsPaperOffset, 0) => value & 0x7F,
                    _ => value,
                }
            }
            _ => value,
        }
    }
}

impl PortLayer for FaultyPort {
    fn below(&mut self) -> &mut dyn Port {
        &mut *self.sound
    }

    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<(), Error> {
        self.absorb()?;
        match offset.0 {
            page::CQ_BASE => self.ring.0 = value,
            page::CQ_SIZE => self.ring.1 = 1 << value,
            page::ACK if self.feigned && ack::BARRIER.get(value) != 0 => {
                self.feigned = false;
                return self.sound.write32(offset, value & !ack::BARRIER.mask());
            }
            at if at == command(Opcode::Barrier) && self.feigns() => {
                self.feigned = true;
                self.owed += 1;
            }
            _ => {}
        }
        let value = self.spoilt(offset.0, value);
        self.sound.write32(offset, value)
    }

    fn read32(&mut self, offset: PageOffset) -> Result<u32, Error> {
        self.absorb()?;
        let value = self.sound.read32(offset)?;
        Ok(match (self.fault, offset.0) {
            (_, page::CAUSES) => self.told(value),
            (Fault::CountsBarriersTwice, page::BARRIERS) => 2 * value,
            (Fault::ForgetsToCount, page::REFUSED_IN) => 0,
            (Fault::SwallowsEvents, page::EVENTS) => 0,
            (Fault::OverstatesQueue, page::RETIRED) => value + 40,
            _ => value,
        })
    }

    fn read_board32(&mut self, offset: PageOffset) -> Result<u32, Error> {
        let value = self.sound.read_board32(offset)?;
        Ok(match (self.fault, offset.0) {
            (Fault::LosesReason, board::STATUS) => value & !board::status::ABORT_REASON.mask(),
            _ => value,
        })
    }

    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<(), Error> {
        self.sound.read_memory(at, data)?;
        let (base, entries) = self.ring;
        if (base..base + entries * CQ_ENTRY_BYTES).contains(&at.0) {
            match self.fault {
                Fault::SwapsOutcomes => {
                    for pair in data.chunks_exact_mut(2 * CQ_ENTRY_BYTES as usize) {
                        // The status is in the first byte of an entry.
                        pair.swap(0, CQ_ENTRY_BYTES as usize);
                    }
                }
                Fault::ConfusesStatus => {
                    for entry in data.chunks_exact_mut(CQ_ENTRY_BYTES as usize) {
                        if entry[0] != 0 {
                            entry[0] = 1 + entry[0] % 5;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake, Error> {
        if self.feigned {
            let raised = self.sound.read32(PageOffset(page::CAUSES))?;
            return Ok(Wake::Raised(Causes(self.told(raised))));
        }
        self.absorb()?;
        Ok(match self.sound.wait(awaited, deadline)? {
            Wake::Raised(raised) => Wake::Raised(Causes(self.told(raised.0))),
            other => other,
        })
    }
}

#[test]
fn every_fault_is_caught() {
    let missed = Mutex::new(Vec::new());
    let next = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(&fault) = FAULTS.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                    let caught = catchers(fault);
                    println!("{fault:?}: {}", caught.join(", "));
                    if caught.is_empty() {
                        missed.lock().unwrap().push(fault);
                    }
                }
            });
        }
    });
    assert_eq!(missed.into_inner().unwrap(), []);
}

/// The first tests that fail on a board with a fault.
fn catchers(fault: Fault) -> Vec<&'static str> {
    let config = SoftConfig::default().ranks(3);
    let open = move |_| {
        Ok(Arc::new(FaultyBoard {
            sound: SoftBoard::with(config),
            fault,
        })
        .into())
    };
    let cases: Vec<_> = tests().map(|test| Case { test, seed: 0 }).collect();
    let caught = cases.chunks(TOGETHER).map(|cases| {
        let outcomes = outcomes(cases.to_vec(), 1, &Settings::default(), open);
        let failed = outcomes
            .iter()
            .filter(|outcome| outcome.verdict.is_failed());
        failed.map(|outcome| outcome.test.name).collect::<Vec<_>>()
    });
    let mut caught = caught.filter(|failed| !failed.is_empty());
    caught.next().unwrap_or_default()
}
