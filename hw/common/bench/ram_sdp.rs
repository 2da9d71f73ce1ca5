//! `ram_sdp` against an array: lanes, read enable, and old contents when a word is read and written
//! in one cycle.

use alcor_hw_bench::{Random, soak};
use rand::Rng;

use crate::fifo::start;

/// (width, depth, lanes) of the RAMs in `common_bench`.
const RAMS: [(u32, u64, u32); 3] = [(32, 13, 4), (64, 512, 2), (9, 6, 1)];

#[test]
fn ram_sdp_random() {
    let mut rng = Random::new("ram_sdp_random");
    let mut dut = start();
    let pin = |name| dut.lanes(name, RAMS.len());
    let (we, waddr, wdata) = (pin("ram_we_i"), pin("ram_waddr_i"), pin("ram_wdata_i"));
    let (re, raddr, rdata) = (pin("ram_re_i"), pin("ram_raddr_i"), pin("ram_rdata_o"));
    dut.reset();
    let mut contents = RAMS.map(|(_, depth, _)| vec![None; depth as usize]);
    let mut expected: [Option<u64>; RAMS.len()] = [None; RAMS.len()];
    let mut collisions = 0;
    for _ in 0..soak(10_000) {
        for (at, (width, depth, lanes)) in RAMS.into_iter().enumerate() {
            let memory = &mut contents[at];
            let write = rng.random_range(0..depth);
            let read = if rng.random_bool(0.3) {
                write
            } else {
                rng.random_range(0..depth)
            };
            // The first write of a word writes all lanes, because the word is undefined before.
            let full = (1 << lanes) - 1;
            let strobes = if memory[write as usize].is_none() {
                full
            } else {
                rng.random::<u64>() & full
            };
            let data: u64 = rng.random();
            let enable = rng.random_bool(0.7);
            for (pin, value) in [
                (we, strobes),
                (waddr, write),
                (wdata, data),
                (re, u64::from(enable)),
                (raddr, read),
            ] {
                dut.set(pin, at, value);
            }
            if enable {
                expected[at] = memory[read as usize];
                collisions += u64::from(read == write && strobes != 0);
            }
            let lane = width / lanes;
            let mask: u64 = (0..lanes)
                .filter(|index| strobes >> index & 1 == 1)
                .map(|index| (u64::MAX >> (64 - lane)) << (index * lane))
                .sum();
            if strobes != 0 {
                let old: u64 = memory[write as usize].unwrap_or(0);
                memory[write as usize] = Some((old & !mask) | (data & mask));
            }
        }
        dut.settle();
        dut.clock();
        dut.settle();
        for (at, (_, depth, _)) in RAMS.into_iter().enumerate() {
            if let Some(word) = expected[at] {
                assert_eq!(
                    dut.get(rdata, at),
                    word,
                    "RAM of {depth} words, cycle {}",
                    dut.cycle()
                );
            }
        }
    }
    assert!(
        collisions > 1_000,
        "only {collisions} reads of a word being written"
    );
}
