//! `axi_lite_port` under random stalls on all five channels. Each write is performed once, in
//! order, and answered once. Each read returns the register's value in the cycle that accepts its
//! address. With register slices, the bus transfers address and data in an earlier cycle, and the
//! bus observes free space in the slice.

use std::collections::VecDeque;

use alcor_hw_bench::{Dut, Pace, Random, Recipe, Sink, Source, soak};
use rand::Rng;

/// The model with the blocks of `hw/core`.
pub fn start() -> Dut {
    let recipe = Recipe::new("core-blocks", "core_bench")
        .core()
        .source("core/bench/core_bench.sv");
    Dut::start(&recipe)
}

/// Number of words that a register slice holds.
const SLICE: usize = 2;

/// A channel behind the slice: the bus itself, or the oldest word in the slice.
fn offered(slice: Option<&VecDeque<u64>>, bus: Option<u64>) -> Option<u64> {
    slice.map_or(bus, |slice| slice.front().copied())
}

#[test]
fn axi_lite_port_random() {
    (0..2).for_each(random);
}

/// Lane 1 has register slices.
fn random(lane: usize) {
    let mut rng = Random::new("axi_lite_port_random");
    let mut dut = start();
    let pin = |dut: &Dut, name: &str| dut.lanes(&format!("lite_{name}"), 2);
    let [
        awvalid,
        awaddr,
        wvalid,
        wdata,
        bready,
        arvalid,
        araddr,
        rready,
        write_ready,
        read_data,
    ] = [
        "awvalid_i",
        "awaddr_i",
        "wvalid_i",
        "wdata_i",
        "bready_i",
        "arvalid_i",
        "araddr_i",
        "rready_i",
        "write_ready_i",
        "read_data_i",
    ]
    .map(|name| pin(&dut, name));
    let [awready, wready, bvalid, arready, rvalid, rdata] = [
        "awready_o",
        "wready_o",
        "bvalid_o",
        "arready_o",
        "rvalid_o",
        "rdata_o",
    ]
    .map(|name| pin(&dut, name));
    let read_ready = pin(&dut, "read_ready_i");
    let [write_valid, write_address, write_data, read_address] = [
        "write_valid_o",
        "write_address_o",
        "write_data_o",
        "read_address_o",
    ]
    .map(|name| pin(&dut, name));
    dut.reset();
    let (mut addresses, mut data, mut reads) = (
        Source::<u64>::new(Pace::Always),
        Source::<u64>::new(Pace::Always),
        Source::<u64>::new(Pace::Always),
    );
    let mut answers: VecDeque<u64> = VecDeque::new();
    let mut unanswered = 0u64;
    // Write addresses, write data and read addresses in the slices.
    let mut slices: Option<[VecDeque<u64>; 3]> = (lane == 1).then(Default::default);
    let (mut writes, mut read) = (0, 0);
    let paces = [
        Pace::Always,
        Pace::Chance(0.5),
        Pace::Chance(0.1),
        Pace::Bursts { on: 10, off: 10 },
    ];
    for _ in 0..soak(16) {
        let mut pace = || paces[rng.random_range(0..paces.len())];
        addresses.set_pace(pace());
        data.set_pace(pace());
        reads.set_pace(pace());
        let (mut b, mut r, mut taker) = (Sink::new(pace()), Sink::new(pace()), Sink::new(pace()));
        let mut reader = Sink::new(pace());
        for _ in 0..1_000 {
            if addresses.len() < 3 {
                addresses.push(rng.random_range(0..1 << 17));
                data.push(u64::from(rng.random::<u32>()));
            }
            if reads.len() < 3 {
                reads.push(rng.random_range(0..1 << 17));
            }
            let noise: u64 = rng.random();
            let aw = addresses.offer(&mut *rng).copied();
            let w = data.offer(&mut *rng).copied();
            let ar = reads.offer(&mut *rng).copied();
            let (b_ready, r_ready, takes) = (
                b.ready(&mut *rng),
                r.ready(&mut *rng),
                taker.ready(&mut *rng),
            );
            let reads_now = reader.ready(&mut *rng);
            // The register has another value in each cycle.
            let value = u64::from(rng.random::<u32>());
            for (pin, value) in [
                (awvalid, u64::from(aw.is_some())),
                (awaddr, aw.unwrap_or(noise)),
                (wvalid, u64::from(w.is_some())),
                (wdata, w.unwrap_or(noise)),
                (bready, u64::from(b_ready)),
                (arvalid, u64::from(ar.is_some())),
                (araddr, ar.unwrap_or(noise)),
                (rready, u64::from(r_ready)),
                (write_ready, u64::from(takes)),
                (read_ready, u64::from(reads_now)),
                (read_data, value),
            ] {
                dut.set(pin, lane, value);
            }
            dut.settle();
            let is = |pin| dut.get(pin, lane) == 1;
            let now = dut.cycle();
            assert_eq!(is(bvalid), unanswered > 0, "cycle {now}");
            let slice = |channel: usize| slices.as_ref().map(|slices| &slices[channel]);
            let (aw_in, w_in, ar_in) = (
                offered(slice(0), aw),
                offered(slice(1), w),
                offered(slice(2), ar),
            );
            let writes_now = aw_in.is_some() && w_in.is_some() && unanswered == 0;
            assert_eq!(is(write_valid), writes_now, "cycle {now}");
            let written = writes_now && takes;
            // Address and data are accepted together.
            let room = |channel: usize, taken: bool| {
                slice(channel).map_or(taken, |slice| slice.len() < SLICE)
            };
            assert_eq!(
                (is(awready), is(wready)),
                (room(0, written), room(1, written)),
                "cycle {now}"
            );
            if writes_now {
                assert_eq!(
                    (
                        Some(dut.get(write_address, lane)),
                        Some(dut.get(write_data, lane))
                    ),
                    (aw_in, w_in),
                    "cycle {now}"
                );
            }
            assert_eq!(is(rvalid), !answers.is_empty(), "cycle {now}");
            let may_read = answers.is_empty() && reads_now;
            assert_eq!(is(arready), room(2, may_read), "cycle {now}");
            if let Some(&answer) = answers.front() {
                assert_eq!(dut.get(rdata, lane), answer, "cycle {now}");
            }
            let accepts = may_read && ar_in.is_some();
            if accepts {
                assert_eq!(Some(dut.get(read_address, lane)), ar_in, "cycle {now}");
            }
            if unanswered > 0 && b_ready {
                unanswered -= 1;
            }
            if !answers.is_empty() && r_ready {
                answers.pop_front();
                read += 1;
            }
            let taken = [written, written, accepts];
            let ready = [is(awready), is(wready), is(arready)];
            for (channel, source) in [&mut addresses, &mut data, &mut reads]
                .into_iter()
                .enumerate()
            {
                let word = source.take(ready[channel]);
                if let Some(slices) = &mut slices {
                    if taken[channel] {
                        slices[channel].pop_front();
                    }
                    slices[channel].extend(word);
                }
            }
            if written {
                unanswered += 1;
                writes += 1;
            }
            if accepts {
                answers.push_back(value);
            }
            dut.clock();
        }
    }
    assert!(
        writes > 1_000 && read > 1_000,
        "{writes} writes, {read} reads"
    );
}
