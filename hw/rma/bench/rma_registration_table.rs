//! `rma_registration_table` in every cycle against a map: latencies, the next vacant slot,
//! concurrent lookups, cancelled operations, and clearing after reset.

use std::collections::HashMap;

use alcor_hw_bench::{Random, soak};
use rand::Rng;

use crate::rma::Block;

/// Slots of the tables in `rma_bench`.
const SLOTS: [usize; 4] = [2, 5, 32, 256];
/// Number of cycles of clearing.
const CLEARING: u64 = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    base: u32,
    size: u32,
    deny: u32,
}

/// A registration or deregistration in progress.
#[derive(Debug, Clone, Copy)]
struct Operation {
    deregister: bool,
    window: Window,
    /// Cycles since the operation began.
    age: u64,
    /// Age at which the operation is committed or cancelled.
    end: u64,
    commit: bool,
}

struct Bench {
    rng: Random,
    block: Block,
    slots: usize,
    /// Registered windows by slot, and slots by base.
    windows: Vec<Option<Window>>,
    by_base: HashMap<u32, usize>,
    bases: Vec<u32>,
    operation: Option<Operation>,
    must_pause: bool,
    /// Result of the last CAM lookup, while it is valid.
    matched: Option<Option<usize>>,
    /// Results of the last RAM lookups.
    looked_up: [Option<Option<Window>>; 2],
    /// Next vacant slot one cycle ago.
    vacant: Option<usize>,
    commits: u64,
    given_up: u64,
}

impl Bench {
    fn new(lane: usize, name: &'static str) -> Self {
        let mut rng = Random::new(name);
        let slots = SLOTS[lane];
        // Bases that differ in single bytes, to detect a row that is read at a wrong byte.
        let mut bytes = vec![0x00, 0x04, 0xfc];
        bytes.extend((0..if slots > 100 { 3 } else { 0 }).map(|_| rng.random::<u8>() & 0xfc));
        let mut bases = Vec::new();
        for &high in &bytes {
            for &upper in &bytes {
                for &lower in &bytes {
                    bases.extend(
                        bytes
                            .iter()
                            .map(|&low| u32::from_le_bytes([low, lower | 1, upper | 2, high | 3])),
                    );
                }
            }
        }
        bases.sort_unstable();
        bases.dedup();
        // Few bases, so that a base is often registered already.
        for at in 0..bases.len() {
            let other = rng.random_range(0..bases.len());
            bases.swap(at, other);
        }
        bases.truncate(2 * slots + 4);
        Self {
            rng,
            block: Block::start("table", SLOTS.len(), lane),
            slots,
            windows: vec![None; slots],
            by_base: HashMap::new(),
            bases,
            operation: None,
            must_pause: false,
            matched: None,
            looked_up: [None; 2],
            vacant: Some(0),
            commits: 0,
            given_up: 0,
        }
    }

    fn first_vacant(&self) -> Option<usize> {
        self.windows.iter().position(Option::is_none)
    }

    fn base(&mut self) -> u32 {
        self.bases[self.rng.random_range(0..self.bases.len())]
    }

    /// Waits for the clearing after a reset, and checks it.
    fn clear(&mut self) {
        let reset = self.block.dut().pin("rst_ni");
        self.block.dut().set(reset, 0, 0);
        self.block.set("op_valid_i", 0u64);
        self.block.set("commit_i", 0u64);
        self.block.set("lookup_i", 0u64);
        self.block.settle();
        self.block.clock();
        self.block.dut().set(reset, 0, 1);
        for cycle in 0..CLEARING {
            let slots: u64 = self.rng.random();
            self.block.set("slot_i", slots & 0xffff);
            self.block.set("slot_lookup_i", 3u64);
            self.block.settle();
            assert!(
                !self.block.is("ready_o"),
                "ready {cycle} cycles after reset"
            );
            if cycle > 0 {
                assert_eq!(
                    self.block.get("registered_o"),
                    0,
                    "a slot is registered {cycle} cycles after reset"
                );
            }
            self.block.clock();
        }
        self.block.set("slot_lookup_i", 0u64);
        self.block.settle();
        assert!(
            self.block.is("ready_o"),
            "not ready {CLEARING} cycles after reset"
        );
        self.windows.fill(None);
        self.by_base.clear();
        self.operation = None;
        self.must_pause = false;
        self.matched = None;
        self.looked_up = [None; 2];
        self.vacant = Some(0);
    }

    fn begin(&mut self) -> Option<Operation> {
        if self.must_pause || !self.rng.random_bool(0.4) {
            return None;
        }
        // The table fills up, then empties.
        let filling = (self.block.cycle() / 400).is_multiple_of(2);
        let deregister = self.rng.random_bool(if filling { 0.25 } else { 0.75 });
        let window = Window {
            base: self.base(),
            size: self.rng.random(),
            deny: self.rng.random_range(0..4),
        };
        let is_known = self.by_base.contains_key(&window.base);
        let possible = if deregister {
            is_known
        } else {
            !is_known && self.first_vacant().is_some()
        };
        let prepared = if deregister { 2 } else { 1 };
        let commit = possible && self.rng.random_bool(0.8);
        let late = if self.rng.random_bool(0.5) {
            0
        } else {
            self.rng.random_range(0..6)
        };
        // An operation may be cancelled before it is prepared.
        let end = if commit { prepared + late } else { late };
        Some(Operation {
            deregister,
            window,
            age: 0,
            end,
            commit,
        })
    }

    fn cycle(&mut self) {
        if self.operation.is_none() {
            self.operation = self.begin();
        }
        let operation = self.operation;
        let lookup = (operation.is_none() && self.rng.random_bool(0.6)).then(|| self.base());
        let slot_lookups: [Option<usize>; 2] = std::array::from_fn(|_| {
            let limit = if self.rng.random_bool(0.2) {
                256
            } else {
                self.slots
            };
            self.rng
                .random_bool(0.6)
                .then(|| self.rng.random_range(0..limit))
        });

        let noise: u64 = self.rng.random();
        let block = &mut self.block;
        block.set("lookup_i", u64::from(lookup.is_some()));
        block.set("key_i", lookup.map_or(noise, u64::from));
        block.set("op_valid_i", u64::from(operation.is_some()));
        block.set(
            "op_deregister_i",
            operation.map_or(noise >> 32 & 1, |operation| u64::from(operation.deregister)),
        );
        block.set(
            "op_base_i",
            operation.map_or(noise & !3, |operation| u64::from(operation.window.base)),
        );
        block.set(
            "op_size_i",
            operation.map_or(noise, |operation| u64::from(operation.window.size)),
        );
        block.set(
            "op_deny_i",
            operation.map_or(noise, |operation| u64::from(operation.window.deny)),
        );
        let commits =
            operation.filter(|operation| operation.commit && operation.age == operation.end);
        block.set("commit_i", u64::from(commits.is_some()));
        for (port, slot) in slot_lookups.into_iter().enumerate() {
            block.set_part("slot_lookup_i", port, 2, u64::from(slot.is_some()));
            block.set_part("slot_i", port, 2, slot.map_or(noise, |slot| slot as u64));
        }
        block.settle();

        let now = block.cycle();
        if let Some(matched) = self.matched {
            assert_eq!(
                block.is("match_o"),
                matched.is_some(),
                "cycle {now}: CAM answer"
            );
            if let Some(slot) = matched {
                assert_eq!(
                    block.get("match_slot_o"),
                    slot as u64,
                    "cycle {now}: CAM slot"
                );
            }
        }
        for (port, answer) in self.looked_up.into_iter().enumerate() {
            let Some(answer) = answer else { continue };
            let registered = block.get_part("registered_o", port, 2) == 1;
            assert_eq!(registered, answer.is_some(), "cycle {now}: port {port}");
            if let Some(window) = answer {
                let found = Window {
                    base: block.get_part("base_o", port, 2) as u32,
                    size: block.get_part("size_o", port, 2) as u32,
                    deny: block.get_part("deny_o", port, 2) as u32,
                };
                assert_eq!(found, window, "cycle {now}: port {port}");
            }
        }
        assert_eq!(
            block.is("full_o"),
            self.vacant.is_none(),
            "cycle {now}: full_o"
        );
        if let Some(slot) = self.vacant {
            assert_eq!(
                block.get("next_slot_o"),
                slot as u64,
                "cycle {now}: next vacant slot"
            );
        }
        if let Some(operation) = operation {
            let prepared = operation.age >= if operation.deregister { 2 } else { 1 };
            assert_eq!(
                block.is("op_ready_o"),
                prepared,
                "cycle {now}: {operation:?}"
            );
        }

        // Effects of this clock edge. Lookups see the table as it was before the edge.
        if operation.is_some_and(|operation| operation.age == 0) {
            self.matched = None;
        }
        if let Some(base) = lookup {
            self.matched = Some(self.by_base.get(&base).copied());
        }
        for (answer, slot) in self.looked_up.iter_mut().zip(slot_lookups) {
            if let Some(slot) = slot {
                *answer = Some(self.windows.get(slot).copied().flatten());
            }
        }
        self.vacant = self.first_vacant();
        self.must_pause = false;
        if let Some(operation) = &mut self.operation {
            if operation.age < operation.end {
                operation.age += 1;
            } else {
                let operation = *operation;
                self.operation = None;
                self.apply(operation);
            }
        }
        self.block.clock();
    }

    fn apply(
        &mut self,
        Operation {
            deregister,
            window,
            commit,
            ..
        }: Operation,
    ) {
        if !commit {
            self.given_up += 1;
            // The next operation may follow immediately only after a commit.
            self.must_pause = true;
        } else if deregister {
            let slot = self
                .by_base
                .remove(&window.base)
                .expect("only what is registered");
            self.windows[slot] = None;
            self.commits += 1;
        } else {
            let slot = self.first_vacant().expect("only where there is room");
            self.windows[slot] = Some(window);
            self.by_base.insert(window.base, slot);
            self.commits += 1;
        }
    }
}

impl Bench {
    /// Chooses bases for a small table, most of which differ from one in a single bit.
    fn choose_bases(&mut self) {
        let first = self.rng.random::<u32>() & !3;
        let mut bases = vec![first];
        while bases.len() < 2 * self.slots + 4 {
            let base = if self.rng.random_bool(0.8) {
                first ^ 1 << self.rng.random_range(2..32)
            } else {
                self.rng.random::<u32>() & !3
            };
            if !bases.contains(&base) {
                bases.push(base);
            }
            if bases.len() > 24 {
                break;
            }
        }
        self.bases = bases;
    }
}

fn random(lane: usize) {
    let mut bench = Bench::new(lane, "rma_registration_table_random");
    for round in 0..12 {
        if bench.slots < 100 && round > 0 {
            bench.choose_bases();
        }
        bench.clear();
        for _ in 0..soak(1_000) {
            bench.cycle();
        }
    }
    assert!(bench.commits > 300, "only {} operations", bench.commits);
    assert!(bench.given_up > 150, "only {} given up", bench.given_up);
}

impl Bench {
    /// Performs an operation, which must succeed.
    fn perform(&mut self, deregister: bool, base: u32) {
        let window = Window {
            base,
            size: self.rng.random(),
            deny: self.rng.random_range(0..4),
        };
        self.operation = Some(Operation {
            deregister,
            window,
            age: 0,
            end: if deregister { 2 } else { 1 },
            commit: true,
        });
        while self.operation.is_some() {
            self.cycle();
        }
    }

    /// Cycles without an operation.
    fn idle(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.must_pause = true;
            self.cycle();
        }
    }

    /// Looks up a base in the CAM.
    fn look_up(&mut self, base: u32) {
        let bases = std::mem::replace(&mut self.bases, vec![base]);
        self.idle(1);
        while self.matched.is_none() {
            self.idle(1);
        }
        self.bases = bases;
    }
}

/// A full table is emptied from the highest slot down, then from the lowest slot up. Every other
/// slot keeps its window.
fn empty(lane: usize) {
    let mut bench = Bench::new(lane, "rma_registration_table_empty");
    bench.clear();
    for round in 0..6 {
        // Other slots have a byte of their bases in common in each round.
        for at in 0..bench.bases.len() {
            let other = bench.rng.random_range(0..bench.bases.len());
            bench.bases.swap(at, other);
        }
        let bases: Vec<u32> = bench.bases[..bench.slots].to_vec();
        for &base in &bases {
            bench.perform(false, base);
        }
        for &base in &bases {
            bench.look_up(base);
        }
        let mut order = bases.clone();
        if round % 2 == 0 {
            order.reverse();
        }
        for (at, &base) in order.iter().enumerate() {
            bench.perform(true, base);
            bench.idle(2);
            if at.is_multiple_of(32) {
                for &base in &bases {
                    bench.look_up(base);
                }
            }
            for _ in 0..4 {
                let other = bases[bench.rng.random_range(0..bases.len())];
                bench.look_up(other);
            }
        }
        for &base in &bases {
            bench.look_up(base);
        }
    }
}

/// A reset clears every row of the CAM.
fn rows(lane: usize) {
    let mut bench = Bench::new(lane, "rma_registration_table_rows");
    let bases: Vec<u32> = (0..64).map(|byte| byte * 0x0404_0404).collect();
    for some in bases.chunks(bench.slots) {
        bench.clear();
        for &base in some {
            bench.perform(false, base);
        }
        bench.clear();
        for &base in some {
            bench.look_up(base);
        }
        bench.idle(2);
    }
}

/// Fills the table to the last slot. Slots are assigned from the lowest.
fn fill(lane: usize) {
    let mut bench = Bench::new(lane, "rma_registration_table_fill");
    bench.clear();
    let slots = bench.slots;
    let mut used = 0;
    for _ in 0..40 * slots as u64 + 2_000 {
        // Registrations only, until no slot is vacant.
        if bench.operation.is_none() {
            let free = bench
                .bases
                .iter()
                .find(|base| !bench.by_base.contains_key(base))
                .copied();
            if let (Some(base), Some(_)) = (free, bench.first_vacant()) {
                let window = Window {
                    base,
                    size: bench.rng.random(),
                    deny: 0,
                };
                bench.operation = Some(Operation {
                    deregister: false,
                    window,
                    age: 0,
                    end: 1,
                    commit: true,
                });
            } else {
                used = bench.by_base.len();
                break;
            }
        }
        bench.cycle();
    }
    assert_eq!(
        used, slots,
        "the table takes as many windows as it has slots"
    );
    bench.must_pause = true;
    for _ in 0..8 {
        bench.cycle();
    }
    // A reset during an operation leaves no trace.
    bench.clear();
    for _ in 0..500 {
        bench.must_pause = true;
        bench.cycle();
    }
}

#[test]
fn rma_registration_table_random() {
    for lane in 0..SLOTS.len() {
        random(lane);
    }
}

#[test]
fn rma_registration_table_fill() {
    for lane in 0..SLOTS.len() {
        fill(lane);
    }
}

#[test]
fn rma_registration_table_empty() {
    for lane in 0..SLOTS.len() {
        empty(lane);
    }
}

#[test]
fn rma_registration_table_rows() {
    for lane in 0..SLOTS.len() {
        rows(lane);
    }
}
