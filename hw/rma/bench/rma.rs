//! Common parts of the benches of the RMA coprocessor's blocks: the model with all blocks, and
//! access to one block.

use std::collections::HashMap;

use alcor_hw_bench::{Dut, Pin, Recipe};

/// Whether a beat ends its packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    No,
    Last,
    /// The beat ends a damaged packet, and holds no data.
    Cut,
}

impl End {
    pub fn of(is_last: bool) -> Self {
        if is_last { Self::Last } else { Self::No }
    }

    /// For the pins while no beat is offered.
    pub fn noise(bits: u64) -> Self {
        [Self::No, Self::Last, Self::Cut][(bits % 3) as usize]
    }

    pub fn is_last(self) -> bool {
        self != Self::No
    }

    pub fn is_cut(self) -> bool {
        self == Self::Cut
    }
}

/// One block of `rma_bench`: lane `lane` of the ports whose names begin with the block's name.
pub struct Block {
    dut: Dut,
    prefix: &'static str,
    lane: usize,
    lanes: usize,
    pins: HashMap<(&'static str, usize), Pin>,
}

impl Block {
    /// Starts the model with all inputs low, and resets it.
    pub fn start(prefix: &'static str, lanes: usize, lane: usize) -> Self {
        let recipe = Recipe::new("rma", "rma_bench")
            .blocks(&["abi", "common", "match", "nic", "alpu", "fp", "rma"])
            .source("rma/bench/rma_bench.sv");
        Self::of(&recipe, prefix, lanes, lane)
    }

    /// Starts a model with the structure of `rma_bench`, with all inputs low, and resets it.
    pub fn of(recipe: &Recipe, prefix: &'static str, lanes: usize, lane: usize) -> Self {
        let mut dut = Dut::start(recipe);
        dut.reset();
        Self {
            dut,
            prefix,
            lane,
            lanes,
            pins: HashMap::new(),
        }
    }

    /// The model that contains the block.
    pub fn dut(&mut self) -> &mut Dut {
        &mut self.dut
    }

    fn pin(&mut self, name: &'static str, parts: usize) -> Pin {
        let Self {
            dut,
            prefix,
            lanes,
            pins,
            ..
        } = self;
        *pins
            .entry((name, parts))
            .or_insert_with(|| dut.lanes(&format!("{prefix}_{name}"), *lanes * parts))
    }

    /// Drives an input.
    pub fn set(&mut self, name: &'static str, value: impl Into<u64>) {
        self.set_part(name, 0, 1, value);
    }

    /// Drives part `part` of `parts` equal parts of an input.
    pub fn set_part(
        &mut self,
        name: &'static str,
        part: usize,
        parts: usize,
        value: impl Into<u64>,
    ) {
        let pin = self.pin(name, parts);
        self.dut.set(pin, self.lane * parts + part, value.into());
    }

    /// Value of an output as of the last [`settle`](Self::settle), or of an input as driven.
    pub fn get(&mut self, name: &'static str) -> u64 {
        self.get_part(name, 0, 1)
    }

    /// Value of one of the equal parts of a port.
    pub fn get_part(&mut self, name: &'static str, part: usize, parts: usize) -> u64 {
        let pin = self.pin(name, parts);
        self.dut.get(pin, self.lane * parts + part)
    }

    /// Value of a port of up to 32 bits.
    pub fn word(&mut self, name: &'static str) -> u32 {
        self.get(name) as u32
    }

    /// Value of a one-bit port.
    pub fn is(&mut self, name: &'static str) -> bool {
        self.get(name) == 1
    }

    /// Evaluates the outputs.
    pub fn settle(&mut self) {
        self.dut.settle();
    }

    /// Performs a clock edge.
    pub fn clock(&mut self) {
        self.dut.clock();
    }

    /// Number of cycles so far.
    pub fn cycle(&self) -> u64 {
        self.dut.cycle()
    }
}
