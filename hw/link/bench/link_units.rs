//! Small blocks of a link end, each against a model: `link_reset`, `link_counts`, `link_bringup` and
//! `link_closer`.

use std::collections::VecDeque;

use alcor_hw_bench::{Dut, Pin, Random, Recipe, soak};
use rand::Rng;
use rand::seq::IndexedRandom;

/// Kinds of events that are counted.
const KINDS: usize = 8;
/// The last value of a counter.
const LAST_COUNT: u64 = 0xffff;
/// Cycles without a fault until the link is up, as in the model.
const QUIET: u64 = 20;
/// Cycles that a reset lasts, as in the model.
const HOLD: u64 = 8;
/// Edges of both clocks after which the core must see a count: 6 of its own and 4 of the other clock, which
/// wait for one another.
const LATEST: u64 = 24;
/// Lanes of 64 bits of a word.
const LANES: usize = 8;

struct Bench {
    dut: Dut,
    rng: Random,
    core_clk: Pin,
    mac_clk: Pin,
}

impl Bench {
    fn new(name: &'static str) -> Self {
        let recipe = Recipe::new("link_units", "link_units_bench")
            .blocks(&["abi", "common", "link"])
            .source("link/bench/link_units_bench.sv")
            .param("QUIET", QUIET)
            .param("HOLD", HOLD);
        let dut = Dut::start(&recipe);
        let mut bench = Self {
            rng: Random::new(name),
            core_clk: dut.pin("core_clk_i"),
            mac_clk: dut.pin("mac_clk_i"),
            dut,
        };
        for name in [
            "core_clk_i",
            "mac_clk_i",
            "events_i",
            "retrain_i",
            "valid_i",
            "mac_taken_i",
        ] {
            bench.set(name, false);
        }
        bench.reset();
        bench
    }

    fn reset(&mut self) {
        const RESETS: [&str; 5] = [
            "rst_ni",
            "mac_rst_ni",
            "closer_rst_ni",
            "mac_ready_i",
            "board_rst_ni",
        ];
        for name in RESETS {
            self.set(name, false);
        }
        for _ in 0..4 {
            self.edge(true, true);
        }
        for name in RESETS {
            self.set(name, true);
        }
    }

    fn set(&mut self, name: &str, value: impl Into<u64>) {
        let pin = self.dut.pin(name);
        self.dut.set(pin, 0, value.into());
    }

    fn is(&self, name: &str) -> bool {
        self.dut.get(self.dut.pin(name), 0) == 1
    }

    /// An edge of the core's clock, of the controller's clock, or of both at once.
    fn edge(&mut self, core: bool, mac: bool) {
        for high in [true, false] {
            self.dut.set(self.core_clk, 0, (core && high).into());
            self.dut.set(self.mac_clk, 0, (mac && high).into());
            self.dut.settle();
        }
    }
}

/// The board is reset at any time, and both clocks stop at any time. The core works only after both sides
/// were in reset together since the board's last reset, and only while neither is.
#[test]
fn link_reset() {
    let mut bench = Bench::new("link_reset");
    let mut runs = true;
    // Edges of both clocks in the reset of both sides, since the board's last reset.
    let mut together = [0; 2];
    let (mut clocks, mut reset_share, mut left) = ([1.0; 2], 0.0, 0);
    let (mut resets, mut worked, mut stood) = (0, 0, 0);
    for step in 0..soak(200_000) {
        if left == 0 {
            let mut one_of = |shares: [f64; 4]| *shares.choose(&mut *bench.rng).unwrap_or(&1.0);
            clocks = [one_of([0.1, 0.5, 1.0, 1.0]), one_of([0.0, 0.05, 1.0, 1.0])];
            reset_share = one_of([0.0, 0.02, 0.02, 0.2]);
            left = bench.rng.random_range(1..40);
        }
        left -= 1;
        let edges = clocks.map(|share| bench.rng.random_bool(share));
        let both = !bench.is("core_rst_no") && !bench.is("mac_rst_no");
        for (count, edge) in together.iter_mut().zip(edges) {
            *count += u64::from(both && edge);
        }
        if edges[0] && !runs {
            together = [0; 2];
        }
        bench.edge(edges[0], edges[1]);
        if edges[0] {
            let begins = runs && bench.rng.random_bool(reset_share);
            runs = !begins && (runs || bench.rng.random_bool(0.3));
            bench.set("board_rst_ni", runs);
            bench.dut.settle();
            resets += u64::from(begins);
            stood += u64::from(begins && clocks[1] == 0.0);
        }
        if bench.is("works_o") {
            assert!(runs, "step {step}: the core works in the board's reset");
            assert!(
                bench.is("core_rst_no") && bench.is("mac_rst_no"),
                "step {step}: the core works while a side is in reset"
            );
            assert!(
                together.iter().all(|&edges| edges >= HOLD),
                "step {step}: only {together:?} edges in reset"
            );
            worked += 1;
        }
        if step % 2_000 == 0 {
            bench.set("board_rst_ni", true);
            for _ in 0..6 * HOLD {
                bench.edge(true, true);
            }
            assert!(bench.is("works_o"), "step {step}: the core does not work");
            runs = true;
            together = [HOLD; 2];
        }
    }
    assert!(
        resets > 1_000 && worked > 1_000 && stood > 100,
        "{resets} resets, {stood} with a clock that stands, {worked} cycles of work"
    );
    println!("{resets} resets, {stood} with a clock that stands, {worked} cycles of work");
}

/// With equal clocks, a reset of the board has an exact length, also after the controller's clock stood. A reset in any
/// phase of an earlier one is no longer than one alone, and both sides are in reset for HOLD edges twice: until the core
/// drops its request, and behind it.
#[test]
fn link_reset_latency() {
    // One by one: the request, heard, obeyed, known to the core; dropped, no longer heard, left, known to the core.
    const ALONE: u64 = 2 * HOLD + 14;
    // From the end of a reset of the board that both sides have heard.
    const HEARD: u64 = 2 * HOLD + 8;
    const IN_RESET: u64 = 2 * HOLD + 7;
    let mut bench = Bench::new("link_reset_latency");
    // Edges until the core works, and those of them in which each side was in reset.
    let until_it_works = |bench: &mut Bench| {
        let mut low = [0; 2];
        for edges in 1..10 * HOLD {
            bench.edge(true, true);
            low[0] += u64::from(!bench.is("core_rst_no"));
            low[1] += u64::from(!bench.is("mac_rst_no"));
            if bench.is("works_o") {
                return (edges, low);
            }
        }
        panic!("the core does not work");
    };
    let reset = |bench: &mut Bench, edges: u64, mac: bool| {
        bench.set("board_rst_ni", false);
        for _ in 0..edges {
            bench.edge(true, mac);
        }
        bench.set("board_rst_ni", true);
    };
    until_it_works(&mut bench);
    for edges in [1, 2, 20] {
        reset(&mut bench, edges, true);
        let expected = match edges {
            20 => (HEARD, [IN_RESET, IN_RESET - 3]),
            _ => (ALONE + 1 - edges, [IN_RESET; 2]),
        };
        assert_eq!(until_it_works(&mut bench), expected, "{edges} edges");
        reset(&mut bench, edges, false);
        let found = until_it_works(&mut bench);
        assert_eq!(
            found,
            (ALONE, [IN_RESET; 2]),
            "the controller's clock stood"
        );
    }
    for behind in 1..2 * ALONE {
        reset(&mut bench, 1, true);
        for _ in 0..behind {
            bench.edge(true, true);
        }
        reset(&mut bench, 1, true);
        let (edges, low) = until_it_works(&mut bench);
        let place =
            format!("{behind} edges behind a reset: {edges} edges, {low:?} of them in reset");
        assert!((HEARD..=ALONE).contains(&edges), "{place}");
        assert!(low.iter().all(|&low| low >= 2 * HOLD), "{place}");
    }
}

/// Counts at some time, and the edges of both clocks by then.
struct Snapshot {
    counts: [u64; KINDS],
    edges: [u64; 2],
}

/// The core sees all counts of one moment, one moment after the other, and soon.
fn counts(bench: &mut Bench, steps: u64, core: f64, share: f64) {
    bench.reset();
    let events_in = bench.dut.pin("events_i");
    let counts_out = bench.dut.lanes("counts_o", KINDS);
    let mut edges = [0; 2];
    // The snapshot that the core sees, and all later ones.
    let mut history = VecDeque::from([Snapshot {
        counts: [0; KINDS],
        edges,
    }]);
    for step in 0..steps + 100 {
        let is_quiet = step >= steps;
        let (core, mac) = if is_quiet {
            (true, true)
        } else {
            (bench.rng.random_bool(core), bench.rng.random_bool(0.5))
        };
        let mut events = 0u64;
        for kind in 0..KINDS {
            let happens = !is_quiet && bench.rng.random_bool(share);
            events |= u64::from(happens) << kind;
        }
        bench.dut.set(events_in, 0, events);
        bench.edge(core, mac);
        edges[0] += u64::from(core);
        edges[1] += u64::from(mac);
        let mut counts = history.back().map_or([0; KINDS], |last| last.counts);
        if mac && events != 0 {
            for (kind, count) in counts.iter_mut().enumerate() {
                *count = LAST_COUNT.min(*count + (events >> kind & 1));
            }
            history.push_back(Snapshot { counts, edges });
        }
        let found: [u64; KINDS] = std::array::from_fn(|kind| bench.dut.get(counts_out, kind));
        let place = format!("step {step}, edges {edges:?}");
        let seen = history.iter().position(|snapshot| snapshot.counts == found);
        let Some(seen) = seen else {
            panic!("{place}: {found:?} are the counts of no moment");
        };
        history.drain(..seen);
        if let Some(next) = history.get(1) {
            let is_late = (0..2).all(|clock| edges[clock] - next.edges[clock] > LATEST);
            assert!(
                !is_late || next.counts == found,
                "{place}: {found:?} are too old, {:?} are due",
                next.counts
            );
        }
    }
    assert_eq!(
        history.back().map(|last| last.counts),
        history.front().map(|seen| seen.counts)
    );
}

#[test]
fn link_counts() {
    let mut bench = Bench::new("link_counts");
    for _ in 0..soak(4) {
        for (core, share) in [(0.5, 0.02), (0.9, 0.3), (0.1, 0.002), (0.3, 1.0)] {
            counts(&mut bench, 3_000, core, share);
        }
    }
    // Beyond the last value of each counter.
    counts(&mut bench, 150_000, 0.5, 0.9);
    for kind in 0..KINDS {
        let pin = bench.dut.lanes("counts_o", KINDS);
        assert_eq!(bench.dut.get(pin, kind), LAST_COUNT);
    }
}

/// Frames and the link's state follow from alignment, faults and training.
#[test]
fn link_bringup() {
    let mut bench = Bench::new("link_bringup");
    // Cycles without a fault so far, and the first cycle behind the training.
    let (mut calm, mut trained) = (0, 0);
    let (mut enabled, mut up, mut falls) = (false, false, false);
    let (mut ups, mut fallen) = (0, 0);
    let [
        mut aligned_share,
        mut fault_share,
        mut train_share,
        mut reset_share,
    ] = [0.0; 4];
    for now in 0..soak(40_000) {
        if now % 64 == 0 {
            let mut one_of = |shares: [f64; 4]| *shares.choose(&mut *bench.rng).unwrap_or(&0.0);
            aligned_share = one_of([0.0, 0.5, 0.99, 1.0]);
            fault_share = one_of([0.0, 0.0, 0.01, 0.5]);
            train_share = one_of([0.0, 0.0, 0.01, 0.1]);
            reset_share = one_of([0.0, 0.0, 0.0, 0.02]);
        }
        let [aligned, fault, trains, resets] =
            [aligned_share, fault_share, train_share, reset_share]
                .map(|share| bench.rng.random_bool(share));
        bench.set("aligned_i", aligned);
        bench.set("remote_fault_i", fault);
        bench.set("retrain_i", trains);
        bench.set("mac_rst_ni", !resets);
        bench.dut.settle();
        let found = ["tx_enable_o", "send_fault_o", "up_o", "fall_o"].map(|name| bench.is(name));
        assert_eq!(found, [enabled, !enabled, up, falls], "cycle {now}");
        let core = bench.rng.random();
        bench.edge(core, true);
        let is_training = now < trained;
        let is_fine = aligned && !fault && !is_training && !resets;
        falls = up && !is_fine;
        fallen += u64::from(falls);
        enabled = aligned && !is_training && !resets;
        up = is_fine && calm >= QUIET;
        ups += u64::from(up);
        calm = if is_fine { calm + 1 } else { 0 };
        if resets {
            trained = 0;
        } else if trains {
            trained = now + 1 + QUIET;
        }
    }
    assert!(
        ups > 1_000 && fallen > 20,
        "{ups} cycles up, {fallen} falls"
    );
}

/// A word of a frame: a number in all lanes.
#[derive(Debug, Clone, Copy)]
struct Word {
    number: u64,
    last: bool,
}

/// Frames stay whole, whichever side is reset.
#[test]
fn link_closer() {
    let mut bench = Bench::new("link_closer");
    let [data_in, data_out] = ["data_i", "mac_data_o"].map(|name| bench.dut.lanes(name, LANES));
    // A word that is offered until it is taken.
    let mut offer: Option<Word> = None;
    // A frame of the link end is under way, and was cut off; a frame of the controller is under way.
    let (mut within, mut cut, mut inside) = (false, false, false);
    let (mut closed, mut whole, mut dropped) = (0, 0, 0);
    let [
        mut word_share,
        mut taken_share,
        mut reset_share,
        mut mac_reset_share,
    ] = [0.0; 4];
    let (mut reset_left, mut mac_reset_left) = (0u32, 0u32);
    for now in 0..soak(40_000) {
        if now % 64 == 0 {
            let mut one_of = |shares: [f64; 3]| *shares.choose(&mut *bench.rng).unwrap_or(&0.0);
            word_share = one_of([0.1, 0.6, 1.0]);
            taken_share = one_of([0.1, 0.6, 1.0]);
            reset_share = one_of([0.0, 0.02, 0.1]);
            mac_reset_share = one_of([0.0, 0.02, 0.1]);
        }
        for (left, share) in [
            (&mut reset_left, reset_share),
            (&mut mac_reset_left, mac_reset_share),
        ] {
            *left = if bench.rng.random_bool(share) {
                bench.rng.random_range(1..8)
            } else {
                left.saturating_sub(1)
            };
        }
        let (works, ready) = (reset_left == 0, mac_reset_left == 0);
        if !works {
            offer = None;
        } else if offer.is_none() && bench.rng.random_bool(word_share) {
            offer = Some(Word {
                number: bench.rng.random(),
                last: bench.rng.random_bool(0.3),
            });
        }
        let taken = bench.rng.random_bool(taken_share);
        let noise = bench.rng.random::<u64>();
        bench.set("closer_rst_ni", works);
        bench.set("mac_ready_i", ready);
        bench.set("valid_i", offer.is_some());
        bench.set("last_i", offer.map_or(noise & 1, |word| word.last.into()));
        bench.set("mac_taken_i", taken);
        for lane in 0..LANES {
            let number = offer.map_or(noise, |word| word.number.rotate_left(lane as u32));
            bench.dut.set(data_in, lane, number);
        }
        bench.dut.settle();
        // What the link end's reset has cut off is ended, what the controller's reset has cut off is dropped.
        let closes = inside && !works;
        let drops = cut || !ready;
        let valid = closes || (offer.is_some() && !drops);
        let accepts = (taken || drops) && !closes;
        let found = ["mac_valid_o", "ready_o", "mac_error_o"].map(|name| bench.is(name));
        assert_eq!(found, [valid, accepts, closes], "cycle {now}: {offer:?}");
        if valid {
            let last = closes || offer.is_some_and(|word| word.last);
            assert_eq!(bench.is("mac_last_o"), last, "cycle {now}");
            if let Some(word) = offer.filter(|_| !closes) {
                for lane in 0..LANES {
                    let found = bench.dut.get(data_out, lane);
                    assert_eq!(found, word.number.rotate_left(lane as u32), "cycle {now}");
                }
            }
            inside = if taken { !last } else { inside };
            closed += u64::from(taken && closes && ready);
            whole += u64::from(taken && last && !closes);
        }
        inside &= ready;
        let accepted = offer.filter(|_| accepts);
        dropped += u64::from(accepted.is_some() && drops);
        if !works || accepted.is_some_and(|word| word.last) {
            cut = false;
        } else if !ready {
            cut = within || accepted.is_some();
        }
        if let Some(word) = accepted {
            within = !word.last;
            offer = None;
        }
        within &= works;
        let core = bench.rng.random();
        bench.edge(core, true);
    }
    assert!(
        closed > 50 && whole > 1_000 && dropped > 100,
        "{closed} closed, {whole} whole, {dropped} dropped"
    );
}
