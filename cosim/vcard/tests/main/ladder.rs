//! The ladder of checks for a new card, over virtual cards with and without planted faults.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use alcor::{Board, Cluster, Topology};
use alcor_abi::board::{MAGIC, PLACE};
use alcor_cosim::CosimBackend;
use alcor_vcard::{BYPASS_BAR, USER_BAR, VirtualCard};
use alcor_xdma::{Ladder, Peers, Rung, RungResult, XdmaBoard};
use xdma::nodes::{EventNode, Mapping};
use xdma::{DmaMemory, Function, PciAddress};

use crate::host::{CardFunction, Event, event, open_board};

/// A fault of a card or of its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// MAGIC reads as another design's.
    Id,
    /// A read of PLACE returns the value before the last write.
    ReadOvertakesWrite,
    /// A byte of long DMA reads is wrong.
    Dma,
    /// Register writes of ranks arrive in pairs, the second one first.
    SwappedWrites,
    /// Data of DMA writes arrives with the next write.
    DoorbellOvertakesDma,
    /// Interrupts of rank 1 are lost.
    LostInterrupt,
    /// The interrupt of rank 0 is always raised.
    Storm,
    /// The flag of rank 1 is set when its event is opened, as an earlier run leaves it.
    OldInterrupt,
}

/// Address of the pages in the BAR of node memory: behind two memories of 1 MiB.
const PAGES: u64 = 2 << 20;

/// A virtual card with a fault.
#[derive(Debug)]
struct Faulty(CardFunction, Fault);

/// A BAR with a fault.
struct FaultyBar {
    below: Box<dyn Mapping>,
    fault: Fault,
    /// First address in the BAR of the design.
    first: u64,
    /// A write that has not arrived.
    held: Mutex<Option<(usize, u32)>>,
    /// The value of PLACE before the last write.
    old: Mutex<u32>,
}

impl Mapping for FaultyBar {
    fn bytes(&self) -> usize {
        self.below.bytes()
    }
    fn read32(&self, offset: usize) -> u32 {
        let found = self.below.read32(offset);
        let at = self.first + offset as u64;
        match self.fault {
            Fault::Id if at == u64::from(MAGIC) => 0x1234_5678,
            Fault::ReadOvertakesWrite if at == u64::from(PLACE) => *self.old.lock().unwrap(),
            _ => found,
        }
    }
    fn write32(&self, offset: usize, value: u32) {
        if self.fault == Fault::ReadOvertakesWrite && self.first + offset as u64 == u64::from(PLACE)
        {
            *self.old.lock().unwrap() = self.below.read32(offset);
        }
        if self.fault != Fault::SwappedWrites || self.first < 4096 {
            return self.below.write32(offset, value);
        }
        let held = self.held.lock().unwrap().take();
        match held {
            None => *self.held.lock().unwrap() = Some((offset, value)),
            Some((before, old)) => {
                self.below.write32(offset, value);
                self.below.write32(before, old);
            }
        }
    }
    fn read64(&self, offset: usize) -> u64 {
        self.below.read64(offset)
    }
    fn write64(&self, offset: usize, value: u64) {
        self.below.write64(offset, value);
    }
}

/// Memory of the host with a fault.
struct FaultyMemory {
    below: Box<dyn DmaMemory>,
    fault: Fault,
    /// Data that has not arrived.
    held: Mutex<Vec<u8>>,
}

impl DmaMemory for FaultyMemory {
    fn address(&self) -> u64 {
        self.below.address()
    }
    fn read(&self, offset: usize, data: &mut [u8]) {
        self.below.read(offset, data);
        if self.fault == Fault::Dma && data.len() > 1000 {
            data[1000] ^= 4;
        }
    }
    fn write(&self, offset: usize, data: &[u8]) {
        // The library's writes of 64 bytes alone.
        if self.fault != Fault::DoorbellOvertakesDma || data.len() != 4096 || data[0] != data[4] {
            return self.below.write(offset, data);
        }
        let mut held = self.held.lock().unwrap();
        let late = std::mem::replace(&mut *held, data.to_vec());
        self.below
            .write(offset, if late.is_empty() { data } else { &late });
    }
    fn load32(&self, offset: usize) -> u32 {
        self.below.load32(offset)
    }
}

impl Function for Faulty {
    fn address(&self) -> PciAddress {
        self.0.address()
    }
    fn identity(&self) -> (u16, u16) {
        self.0.identity()
    }
    fn folder(&self) -> &Path {
        self.0.folder()
    }
    fn bars(&self) -> [u64; 6] {
        self.0.bars()
    }
    fn vectors(&self) -> u32 {
        self.0.vectors()
    }
    fn map(&self, bar: usize, first: u64, bytes: usize) -> io::Result<Box<dyn Mapping>> {
        let below = self.0.map(bar, first, bytes)?;
        let first = match bar {
            USER_BAR => first,
            BYPASS_BAR if first >= PAGES => first - PAGES,
            _ => return Ok(below),
        };
        Ok(Box::new(FaultyBar {
            below,
            fault: self.1,
            first,
            held: Mutex::default(),
            old: Mutex::default(),
        }))
    }
    fn memory(&self, bytes: usize) -> io::Result<Box<dyn DmaMemory>> {
        Ok(Box::new(FaultyMemory {
            below: self.0.memory(bytes)?,
            fault: self.1,
            held: Mutex::default(),
        }))
    }
    fn interrupt(&self, vector: u32) -> io::Result<Box<dyn EventNode>> {
        match (self.1, vector) {
            // Vectors 0 to 3 are those of channels.
            (Fault::LostInterrupt, 5) => Ok(Box::new(Event(event()))),
            (Fault::Storm, 4) => Ok(Box::new(Raised)),
            (Fault::OldInterrupt, 5) => Ok(Box::new(Once(true.into(), self.0.interrupt(5)?))),
            _ => self.0.interrupt(vector),
        }
    }
}

/// An event that is always there.
struct Raised;

impl EventNode for Raised {
    fn poll(&self, _: Option<Duration>) -> io::Result<bool> {
        Ok(true)
    }
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        buffer.copy_from_slice(&1_u32.to_le_bytes());
        Ok(4)
    }
}

/// An event whose flag is set at first.
struct Once(AtomicBool, Box<dyn EventNode>);

impl EventNode for Once {
    fn poll(&self, timeout: Option<Duration>) -> io::Result<bool> {
        if self.0.load(Ordering::Relaxed) {
            return Ok(true);
        }
        self.1.poll(timeout)
    }
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.swap(false, Ordering::Relaxed) {
            return Raised.read(buffer);
        }
        self.1.read(buffer)
    }
}

/// Boards over virtual cards with a fault.
fn boards(config: &str, fault: Fault) -> (tempfile::TempDir, Vec<Arc<XdmaBoard>>) {
    let boards = CosimBackend::new().open_free(config).expect("boards");
    let locks = tempfile::tempdir().expect("a folder");
    let peers = Peers::default();
    let boards = boards.into_iter().enumerate().map(|(number, board)| {
        let function = Faulty(CardFunction::new(VirtualCard::new(board)), fault);
        let locks = locks.path().join(number.to_string());
        open_board(Arc::new(function), &locks, &peers).expect("a board")
    });
    let boards = boards.collect();
    (locks, boards)
}

fn climb(ladder: Ladder, board: &Arc<XdmaBoard>) -> Vec<(Rung, RungResult)> {
    let mut found = Vec::new();
    let all = ladder.board(board, |rung, result| found.push((rung, result)));
    assert_eq!(all, found.iter().all(|(_, result)| result.is_ok()));
    found
}

#[test]
fn cards_without_faults_pass_and_meet() {
    let (_locks, boards) = boards("ring2", Fault::None);
    for board in &boards {
        let found = climb(Ladder::default(), board);
        assert_eq!(found.len(), 7);
        for (rung, result) in found {
            assert!(result.is_ok(), "{rung}: {result:?}");
        }
    }
    let boards: Vec<_> = boards
        .into_iter()
        .map(|board| board as Arc<dyn Board>)
        .collect();
    let topology = Topology::torus(&[2]).expect("a ring");
    let cluster = Cluster::new(boards, topology).expect("a cluster");
    let mut found = Vec::new();
    assert!(
        Ladder::default().cluster(&cluster, |rung, result| found.push((rung, result))),
        "{found:?}"
    );
    assert_eq!(
        found.iter().map(|found| found.0).collect::<Vec<_>>(),
        [Rung::Links, Rung::Across]
    );
}

#[test]
fn an_interrupt_of_an_earlier_run_is_no_fault() {
    let (_locks, boards) = boards("rma2", Fault::OldInterrupt);
    for (rung, result) in climb(Ladder::default(), &boards[0]) {
        assert!(result.is_ok(), "{rung}: {result:?}");
    }
}

#[test]
fn each_fault_stops_at_its_rung() {
    for (fault, rung, words) in [
        (Fault::Id, Rung::Id, "0x12345678"),
        (
            Fault::ReadOvertakesWrite,
            Rung::Registers,
            "PLACE.board after it was written",
        ),
        (Fault::Dma, Rung::Dma, "byte 1000"),
        (
            Fault::DoorbellOvertakesDma,
            Rung::Order,
            "a word that was put",
        ),
        (
            Fault::LostInterrupt,
            Rung::Interrupt,
            "rank 1: no interrupt",
        ),
        (
            Fault::Storm,
            Rung::Interrupt,
            "an interrupt of rank 0 in place of rank 1",
        ),
    ] {
        let (_locks, boards) = boards("rma2", fault);
        let mut found = climb(Ladder::default(), &boards[0]);
        let (at, result) = found.pop().expect("a result");
        assert!(found.iter().all(|(_, result)| result.is_ok()), "{found:?}");
        assert_eq!(at, rung, "{fault:?}: {result:?}");
        let error = result.expect_err("a fault");
        assert!(error.contains(words), "{fault:?}: {error}");
        assert!(at.remedy().contains(':'), "{}", at.remedy());
    }
    // Commands whose words are swapped: a rank waits for ever. The clock of a virtual card runs on
    // while a busy machine keeps a rank from its CPU, so all others have the default patience.
    let impatient = Ladder {
        watchdog_cycles: 100_000,
    };
    let (_locks, boards) = boards("rma2", Fault::SwappedWrites);
    let (at, result) = climb(impatient, &boards[0]).pop().expect("a result");
    assert!(result.is_err());
    assert_eq!(at, Rung::Order, "{result:?}");
}
