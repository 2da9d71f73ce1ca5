//! `rr_arbiter` against a model with a pointer and a search.

use alcor_hw_bench::{Dut, Pin, Random, soak};
use rand::Rng;

use crate::fifo::start;

/// Requesters of the arbiters in `common_bench`.
const SIZES: [usize; 6] = [1, 2, 3, 5, 8, 16];

struct Bench {
    dut: Dut,
    req: Pin,
    advance: Pin,
    valid: Pin,
    grant: Pin,
    index: Pin,
    /// Start of the search in each arbiter.
    pointers: [usize; SIZES.len()],
}

impl Bench {
    fn new() -> Self {
        let mut dut = start();
        let pin = |name| dut.lanes(name, SIZES.len());
        let (req, advance, valid) = (pin("arb_req_i"), pin("arb_advance_i"), pin("arb_valid_o"));
        let (grant, index) = (pin("arb_grant_o"), pin("arb_index_o"));
        dut.reset();
        Self {
            dut,
            req,
            advance,
            valid,
            grant,
            index,
            pointers: [0; SIZES.len()],
        }
    }

    /// One cycle of all arbiters. Returns the granted index of each arbiter.
    fn cycle(
        &mut self,
        requests: [u64; SIZES.len()],
        advance: [bool; SIZES.len()],
    ) -> [Option<usize>; SIZES.len()] {
        for at in 0..SIZES.len() {
            self.dut.set(self.req, at, requests[at]);
            self.dut.set(self.advance, at, u64::from(advance[at]));
        }
        self.dut.settle();
        let mut granted = [None; SIZES.len()];
        for (at, size) in SIZES.into_iter().enumerate() {
            let cycle = self.dut.cycle();
            let expected = (0..size)
                .map(|step| (self.pointers[at] + step) % size)
                .find(|candidate| requests[at] >> candidate & 1 == 1);
            let grant = expected.map_or(0, |index| 1 << index);
            assert_eq!(
                self.dut.get(self.grant, at),
                grant,
                "grant, N={size}, cycle {cycle}"
            );
            assert_eq!(
                self.dut.get(self.index, at),
                expected.unwrap_or(0) as u64,
                "index, N={size}, cycle {cycle}"
            );
            assert_eq!(
                self.dut.get(self.valid, at) == 1,
                expected.is_some(),
                "valid, N={size}, cycle {cycle}"
            );
            if let (Some(index), true) = (expected, advance[at]) {
                self.pointers[at] = (index + 1) % size;
            }
            granted[at] = expected;
        }
        self.dut.clock();
        granted
    }
}

#[test]
fn rr_arbiter_random() {
    let mut rng = Random::new("rr_arbiter_random");
    let mut bench = Bench::new();
    for _ in 0..soak(10_000) {
        if rng.random_bool(0.05) {
            bench.dut.reset();
            bench.pointers = [0; SIZES.len()];
        }
        let density = rng.random_range(0..5);
        let requests = SIZES.map(|size| {
            let mut few =
                |count| (0..count).fold(0, |word, _| word | 1 << rng.random_range(0..size));
            let word: u64 = match density {
                // Two or three requesters, so that every pair competes.
                3 => few(2),
                4 => few(3),
                0 => rng.random::<u64>() & rng.random::<u64>() & rng.random::<u64>(),
                1 => rng.random(),
                _ => rng.random::<u64>() | rng.random::<u64>(),
            };
            word & ((1 << size) - 1)
        });
        let advance = SIZES.map(|_| rng.random_bool(0.7));
        bench.cycle(requests, advance);
    }
}

/// A persistent requester is served after at most N-1 grants to other requesters.
#[test]
fn rr_arbiter_serves_everyone() {
    let mut rng = Random::new("rr_arbiter_serves_everyone");
    let mut bench = Bench::new();
    for patient in 0..16 {
        let mut waited = [0; SIZES.len()];
        for _ in 0..200 {
            let requests =
                SIZES.map(|size| (rng.random::<u64>() | 1 << (patient % size)) & ((1 << size) - 1));
            let granted = bench.cycle(requests, [true; SIZES.len()]);
            for (at, size) in SIZES.into_iter().enumerate() {
                waited[at] = if granted[at] == Some(patient % size) {
                    0
                } else {
                    waited[at] + 1
                };
                assert!(
                    waited[at] < size,
                    "N={size}: requester {} passed over {} times",
                    patient % size,
                    waited[at]
                );
            }
        }
    }
}
