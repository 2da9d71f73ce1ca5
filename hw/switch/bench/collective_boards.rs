//! Boards with a collective unit each, connected by a model of the network. The network keeps the
//! order of phits from the same stage to the same board, and no other order. It delays phits, and
//! can hold the phits between two boards while others overtake them.

use std::collections::VecDeque;

use alcor_hw_bench::{self as bench, Dut, Recipe};

/// A port of all boards. The lanes of the first board come first, then those of the second board,
/// and so on.
#[derive(Debug, Clone, Copy)]
pub struct Pin {
    pin: bench::Pin,
    /// Number of lanes at each board.
    lanes: usize,
}

/// A phit in flight, with the earliest cycle of its arrival.
struct UnderWay {
    due: u64,
    phit: Vec<u64>,
}

/// Phits in flight to a stage of a board.
#[derive(Default)]
struct Arrivals {
    /// Queues by sending board.
    queues: Vec<VecDeque<UnderWay>>,
    /// The board whose phit arrives in this cycle.
    taken: Option<usize>,
    /// The board with priority.
    next: usize,
}

/// Boards with a common clock.
pub struct Boards {
    duts: Vec<Dut>,
    ranks: usize,
    stages: usize,
    tx_valid: bench::Pin,
    tx_ready: bench::Pin,
    tx_dest: bench::Pin,
    tx_phit: bench::Pin,
    rx_valid: bench::Pin,
    rx_phit: bench::Pin,
    /// Number of words of a phit.
    words: usize,
    /// Arrivals by receiving board and stage.
    arrivals: Vec<Arrivals>,
    /// Minimum number of cycles of a phit in flight, 1 or more.
    pub delay: u64,
    /// By sending and receiving board: whether phits in flight are held.
    pub hold: Vec<bool>,
    /// By board and stage: whether the stage cannot send in this cycle.
    pub stall: Vec<bool>,
    /// By board and stage: number of sent phits.
    pub sent: Vec<u64>,
}

impl Boards {
    pub fn start(recipe: &Recipe, boards: usize, ranks: usize, stages: usize) -> Self {
        let duts = Dut::start_several(recipe, boards);
        let dut = &duts[0];
        let words = dut.width("tx_phit_o") / 64 / stages;
        let [tx_valid, tx_ready, tx_dest, rx_valid] =
            ["tx_valid_o", "tx_ready_i", "tx_dest_o", "rx_valid_i"]
                .map(|name| dut.lanes(name, stages));
        let [tx_phit, rx_phit] =
            ["tx_phit_o", "rx_phit_i"].map(|name| dut.lanes(name, stages * words));
        let arrivals = || Arrivals {
            queues: (0..boards).map(|_| VecDeque::new()).collect(),
            ..Arrivals::default()
        };
        Self {
            ranks,
            stages,
            tx_valid,
            tx_ready,
            tx_dest,
            tx_phit,
            rx_valid,
            rx_phit,
            words,
            arrivals: (0..boards * stages).map(|_| arrivals()).collect(),
            delay: 1,
            hold: vec![false; boards * boards],
            stall: vec![false; boards * stages],
            sent: vec![0; boards * stages],
            duts,
        }
    }

    /// A port with `lanes` lanes at each board.
    pub fn pin(&self, name: &str, lanes: usize) -> Pin {
        let pin = self.duts[0].lanes(name, lanes);
        Pin { pin, lanes }
    }

    pub fn set(&mut self, pin: Pin, lane: usize, value: u64) {
        self.duts[lane / pin.lanes].set(pin.pin, lane % pin.lanes, value);
    }

    pub fn get(&self, pin: Pin, lane: usize) -> u64 {
        self.duts[lane / pin.lanes].get(pin.pin, lane % pin.lanes)
    }

    pub fn was_set(&self, pin: Pin, lane: usize) -> bool {
        self.get(pin, lane) == 1
    }

    /// High bits of the header of the phit that a board sends (`sends`) or receives in a stage.
    pub fn phit(&self, sends: bool, board: usize, stage: usize) -> Option<u32> {
        let (valid, phit) = if sends {
            (self.tx_valid, self.tx_phit)
        } else {
            (self.rx_valid, self.rx_phit)
        };
        let dut = &self.duts[board];
        // The word above the data contains the low 32 bits and the high 16 bits of the header.
        let word = dut.get(phit, stage * self.words + self.words - 2);
        dut.was_set(valid, stage)
            .then_some((word >> 32) as u32 & 0xffff)
    }

    pub fn cycle(&self) -> u64 {
        self.duts[0].cycle()
    }

    pub fn reset(&mut self) {
        self.duts.iter_mut().for_each(Dut::reset);
    }

    /// Delivers phits to the boards, and evaluates the boards.
    pub fn settle(&mut self) {
        let (boards, now) = (self.duts.len(), self.cycle());
        for (lane, arrivals) in self.arrivals.iter_mut().enumerate() {
            let (to, stage) = (lane / self.stages, lane % self.stages);
            let waits = |from: &usize| {
                let oldest = arrivals.queues[*from].front();
                oldest.is_some_and(|oldest| oldest.due <= now) && !self.hold[from * boards + to]
            };
            arrivals.taken = (arrivals.next..boards).chain(0..arrivals.next).find(waits);
            let dut = &mut self.duts[to];
            dut.set(self.rx_valid, stage, u64::from(arrivals.taken.is_some()));
            if let Some(from) = arrivals.taken {
                for (word, &value) in arrivals.queues[from][0].phit.iter().enumerate() {
                    dut.set(self.rx_phit, stage * self.words + word, value);
                }
            }
            dut.set(self.tx_ready, stage, u64::from(!self.stall[lane]));
        }
        self.duts.iter_mut().for_each(Dut::settle);
    }

    /// Clock edge of all boards, after [`settle`](Self::settle). Accepted phits enter the network.
    pub fn clock(&mut self) {
        let (boards, due) = (self.duts.len(), self.cycle() + self.delay);
        for arrivals in &mut self.arrivals {
            if let Some(from) = arrivals.taken.take() {
                arrivals.queues[from].pop_front();
                arrivals.next = (from + 1) % boards;
            }
        }
        for from in 0..boards {
            for stage in 0..self.stages {
                let dut = &self.duts[from];
                if !dut.was_set(self.tx_valid, stage) || !dut.was_set(self.tx_ready, stage) {
                    continue;
                }
                let to = dut.get(self.tx_dest, stage) as usize / self.ranks;
                assert!(
                    to < boards,
                    "board {from} sent a phit to board {to}, which is not there"
                );
                let words = stage * self.words..(stage + 1) * self.words;
                let phit = words.map(|word| dut.get(self.tx_phit, word)).collect();
                let queue = &mut self.arrivals[to * self.stages + stage].queues[from];
                queue.push_back(UnderWay { due, phit });
                self.sent[from * self.stages + stage] += 1;
            }
        }
        self.duts.iter_mut().for_each(Dut::clock);
    }

    /// Returns whether no phit is offered or in flight.
    pub fn is_quiet(&self) -> bool {
        let offers = |dut: &Dut| (0..self.stages).any(|stage| dut.was_set(self.tx_valid, stage));
        let is_empty = |arrivals: &Arrivals| arrivals.queues.iter().all(VecDeque::is_empty);
        !self.duts.iter().any(offers) && self.arrivals.iter().all(is_empty)
    }
}
