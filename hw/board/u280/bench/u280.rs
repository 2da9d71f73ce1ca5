//! Alcor's own logic in the top of the Alveo U280: the order of reads behind writes, the splitter of the
//! register BAR, the page of the links, interrupts.

use std::collections::VecDeque;

use alcor_abi::links;
use alcor_hw_bench::bundles::{DMA_ANSWER, DMA_REQUEST, LITE_ANSWER, LITE_REQUEST};
use alcor_hw_bench::{Dut, Pace, Pin, Random, Recipe, Sink, Source, Waves, soak};
use rand::Rng;

/// The members of a port, each with a lane for each struct.
fn members<const N: usize>(
    dut: &Dut,
    port: &str,
    lanes: usize,
    members: [(&str, usize); N],
) -> [Pin; N] {
    members.map(|(member, _)| dut.lanes(&format!("{port}.{member}"), lanes))
}

fn start(top: &str, params: &[(&str, u64)]) -> Dut {
    let mut recipe = Recipe::new(top, top)
        .blocks(&["abi", "common"])
        .source("core/rtl/axi_lite_port.sv")
        .source(&format!("board/u280/rtl/{top}.sv"))
        .bundle("bus_i", &LITE_REQUEST)
        .bundle("bus_o", &LITE_ANSWER)
        .bundle("slaves_o", &LITE_REQUEST)
        .bundle("slaves_i", &LITE_ANSWER);
    for (name, value) in params {
        recipe = recipe.param(name, *value);
    }
    let mut dut = Dut::start(&recipe);
    dut.reset();
    dut
}

/// Each access reaches the slave of its address once, and its answer returns. Each direction has
/// one access at a time.
#[test]
fn u280_lite_split() {
    let mut rng = Random::new("u280_lite_split");
    let mut dut = start("lite_split", &[]);
    let [
        awvalid,
        awaddr,
        wvalid,
        wdata,
        bready,
        arvalid,
        araddr,
        rready,
    ] = members(&dut, "bus_i", 1, LITE_REQUEST);
    let [awready, wready, bvalid, arready, rvalid, rdata] = members(&dut, "bus_o", 1, LITE_ANSWER);
    let [
        to_awvalid,
        to_awaddr,
        to_wvalid,
        to_wdata,
        to_bready,
        to_arvalid,
        to_araddr,
        to_rready,
    ] = members(&dut, "slaves_o", 2, LITE_REQUEST);
    let [s_awready, s_wready, s_bvalid, s_arready, s_rvalid, s_rdata] =
        members(&dut, "slaves_i", 2, LITE_ANSWER);
    let paces = [
        Pace::Always,
        Pace::Chance(0.5),
        Pace::Chance(0.1),
        Pace::Bursts { on: 10, off: 10 },
    ];
    let (mut addresses, mut data, mut reads) = (
        Source::<u64>::new(Pace::Always),
        Source::<u64>::new(Pace::Always),
        Source::<u64>::new(Pace::Always),
    );
    // Writes that a slave has not answered yet; reads with their expected data.
    let mut writes: [u64; 2] = [0; 2];
    let mut answers: [VecDeque<u64>; 2] = Default::default();
    let (mut written, mut done, mut read) = (0u64, 0u64, 0u64);
    let (mut expected, mut offered): (VecDeque<u64>, [bool; 4]) = (VecDeque::new(), [false; 4]);
    for _ in 0..soak(16) {
        let mut pace = || paces[rng.random_range(0..paces.len())];
        addresses.set_pace(pace());
        data.set_pace(pace());
        reads.set_pace(pace());
        let mut sinks: Vec<Sink> = (0..10).map(|_| Sink::new(pace())).collect();
        for _ in 0..1_000 {
            if addresses.len() < 3 {
                addresses.push(rng.random_range(0..1 << 18));
                data.push(rng.random::<u32>().into());
            }
            if reads.len() < 3 {
                reads.push(rng.random_range(0..1 << 18));
            }
            let ready: Vec<bool> = sinks.iter_mut().map(|sink| sink.ready(&mut *rng)).collect();
            let aw = addresses.offer(&mut *rng).copied();
            let w = data.offer(&mut *rng).copied();
            let ar = reads.offer(&mut *rng).copied();
            let noise = rng.random::<u64>();
            dut.set(awvalid, 0, u64::from(aw.is_some()));
            dut.set(awaddr, 0, aw.unwrap_or(noise));
            dut.set(wvalid, 0, u64::from(w.is_some()));
            dut.set(wdata, 0, w.unwrap_or(noise >> 32));
            dut.set(arvalid, 0, u64::from(ar.is_some()));
            dut.set(araddr, 0, ar.unwrap_or(noise));
            dut.set(bready, 0, u64::from(ready[0]));
            dut.set(rready, 0, u64::from(ready[1]));
            for s in 0..2 {
                dut.set(s_awready, s, u64::from(ready[2 + s]));
                dut.set(s_wready, s, u64::from(ready[2 + s]));
                dut.set(s_arready, s, u64::from(ready[4 + s]));
                // A pending answer remains.
                offered[s] = (offered[s] || ready[6 + s]) && writes[s] > 0;
                offered[2 + s] = (offered[2 + s] || ready[8 + s]) && !answers[s].is_empty();
                dut.set(s_bvalid, s, u64::from(offered[s]));
                dut.set(s_rvalid, s, u64::from(offered[2 + s]));
                let value = answers[s].front().copied().filter(|_| offered[2 + s]);
                dut.set(s_rdata, s, value.unwrap_or_else(|| rng.random()));
            }
            dut.settle();
            let now = dut.cycle();
            let is = |pin, lane| dut.get(pin, lane) == 1;
            let pending = written - done;
            assert!(
                pending <= 1 && expected.len() <= 1,
                "cycle {now}: more than one"
            );
            // A write goes to its slave when address and data are present and no write is pending.
            let goes = aw.is_some() && w.is_some() && pending == 0;
            let mut taken = false;
            for s in 0..2 {
                let mine = aw.is_some_and(|address| address >> 17 == s as u64);
                assert_eq!(is(to_awvalid, s), goes && mine, "cycle {now}: slave {s}");
                assert_eq!(is(to_wvalid, s), goes && mine, "cycle {now}: slave {s}");
                if goes && mine {
                    let seen = (dut.get(to_awaddr, s), dut.get(to_wdata, s));
                    assert_eq!((aw, w), (Some(seen.0), Some(seen.1)), "cycle {now}");
                }
                if goes && mine && ready[2 + s] {
                    writes[s] += 1;
                    taken = true;
                }
                if is(to_bready, s) && offered[s] {
                    writes[s] -= 1;
                    offered[s] = false;
                    done += 1;
                    assert!(is(bvalid, 0) && ready[0], "cycle {now}: an answer is lost");
                }
            }
            assert_eq!(
                (is(awready, 0), is(wready, 0)),
                (taken, taken),
                "cycle {now}"
            );
            written += u64::from(taken);
            addresses.take(taken);
            data.take(taken);
            let goes = ar.is_some() && expected.is_empty();
            let mut taken = false;
            for s in 0..2 {
                if is(to_rready, s) && offered[2 + s] {
                    let value = answers[s].pop_front();
                    offered[2 + s] = false;
                    assert!(is(rvalid, 0) && ready[1], "cycle {now}: an answer is lost");
                    assert_eq!(Some(dut.get(rdata, 0)), value, "cycle {now}");
                    assert_eq!(expected.pop_front(), value, "cycle {now}");
                    read += 1;
                }
            }
            for s in 0..2 {
                let mine = ar.is_some_and(|address| address >> 17 == s as u64);
                assert_eq!(is(to_arvalid, s), goes && mine, "cycle {now}: slave {s}");
                if goes && mine {
                    assert_eq!(ar, Some(dut.get(to_araddr, s)), "cycle {now}");
                }
                if goes && mine && ready[4 + s] {
                    let value = u64::from(rng.random::<u32>());
                    answers[s].push_back(value);
                    expected.push_back(value);
                    taken = true;
                }
            }
            assert_eq!(is(arready, 0), taken, "cycle {now}");
            reads.take(taken);
            dut.clock();
        }
    }
    assert!(done > 1_000 && read > 1_000, "{done} writes, {read} reads");
}

/// A request rises with its level, and stays until its message is sent and the level falls. A
/// persistent level is repeated.
#[test]
fn u280_user_irq() {
    const AGAIN: u64 = 50;
    const GAP: u64 = 4;
    let mut rng = Random::new("u280_user_irq");
    let mut dut = start("user_irq", &[("AGAIN", AGAIN), ("GAP", GAP)]);
    let (level_pin, request_pin, sent_pin) =
        (dut.pin("level_i"), dut.pin("request_o"), dut.pin("sent_i"));
    let (mut level, mut was, mut was_level) = (false, false, false);
    // Cycles since the message of this request; cycles until it is sent; cycles of a level without
    // a request.
    let (mut since, mut until, mut silent) = (None::<u64>, 0u64, 0u64);
    let (mut messages, mut repeats) = (0, 0);
    for _ in 0..soak(20_000) {
        level = rng.random_bool(if level { 0.985 } else { 0.05 });
        dut.set(level_pin, 0, u64::from(level));
        let sends = was && since.is_none() && until == 0;
        dut.set(sent_pin, 0, u64::from(sends));
        dut.settle();
        let request = dut.get(request_pin, 0) == 1;
        let now = dut.cycle();
        assert!(
            request || !was || since.is_some(),
            "cycle {now}: falls before its message"
        );
        if request && !was {
            assert!(was_level, "cycle {now}: without a level");
            messages += 1;
            until = rng.random_range(0..20);
            since = None;
        } else if request {
            match since {
                None if sends => since = Some(0),
                None => until = until.saturating_sub(1),
                Some(cycles) => {
                    since = Some(cycles + 1);
                    assert!(
                        cycles <= AGAIN,
                        "cycle {now}: a persistent level is not repeated"
                    );
                }
            }
        } else if was {
            let cycles = since.take().unwrap_or(0);
            repeats += u64::from(was_level);
            assert!(
                !was_level || cycles + GAP >= AGAIN - 2,
                "cycle {now}: falls after {cycles} cycles"
            );
        }
        silent = if request || !level { 0 } else { silent + 1 };
        assert!(silent <= GAP + 2, "cycle {now}: a level without a request");
        (was, was_level) = (request, level);
        dut.clock();
    }
    assert!(
        messages > 300 && repeats > 20,
        "{messages} messages, {repeats} again"
    );
}

/// Registers show the status and the counts of each port. Writes change nothing.
#[test]
fn u280_links_registers() {
    let mut rng = Random::new("u280_links_registers");
    let mut dut = start("links_registers", &[("LINKS", 2)]);
    let [
        awvalid,
        awaddr,
        wvalid,
        wdata,
        bready,
        arvalid,
        araddr,
        rready,
    ] = members(&dut, "bus_i", 1, LITE_REQUEST);
    let (rvalid, rdata) = (dut.pin("bus_o.rvalid"), dut.pin("bus_o.rdata"));
    let (status, counts) = (dut.lanes("status_i", 2), dut.lanes("counts_i", 16));
    let kinds = [
        links::LINK_DAMAGED,
        links::LINK_EARLY,
        links::LINK_REPEATED,
        links::LINK_FOREIGN,
        links::LINK_REPLAYS,
        links::LINK_TIMEOUTS,
        links::LINK_FALLS,
        links::LINK_RETRAINS,
    ];
    dut.set(bready, 0, 1);
    dut.set(rready, 0, 1);
    for _ in 0..soak(300) {
        let words: [u32; 2] = rng.random();
        let values: [u16; 16] = rng.random();
        for (port, &word) in words.iter().enumerate() {
            dut.set(status, port, u64::from(word));
        }
        for (lane, &value) in values.iter().enumerate() {
            dut.set(counts, lane, u64::from(value));
        }
        let mut expected = vec![(links::LINK_STATUS + 8, 0), (links::LINK_RETRAINS + 8, 0)];
        for (port, (&word, values)) in words.iter().zip(values.chunks(8)).enumerate() {
            let offset = 4 * port as u32;
            expected.push((links::LINK_STATUS + offset, word));
            for (&kind, &value) in kinds.iter().zip(values) {
                expected.push((kind + offset, u32::from(value)));
            }
        }
        expected.push((rng.random_range(0x50..0x3ff) * 4, 0));
        dut.set(awvalid, 0, 1);
        dut.set(wvalid, 0, 1);
        dut.set(awaddr, 0, rng.random_range(0..0x50) * 4);
        dut.set(wdata, 0, rng.random::<u32>().into());
        dut.settle();
        dut.clock();
        dut.set(awvalid, 0, 0);
        dut.set(wvalid, 0, 0);
        for (address, value) in expected {
            dut.set(arvalid, 0, 1);
            dut.set(araddr, 0, u64::from(address));
            dut.settle();
            dut.clock();
            dut.set(arvalid, 0, 0);
            dut.settle();
            assert_eq!(dut.get(rvalid, 0), 1);
            assert_eq!(dut.get(rdata, 0), u64::from(value), "register {address:#x}");
            dut.clock();
        }
    }
}

/// The level of an interrupt, with a repetition after 8 cycles instead of 65,536.
#[test]
fn u280_user_irq_waves() {
    let mut dut = start("user_irq", &[("AGAIN", 8), ("GAP", 4)]);
    dut.reset();
    Waves::new("board/u280", "user_irq").record(
        &mut dut,
        28,
        |dut, cycle| {
            dut.drive("level_i", 1, 0, (1..22).contains(&cycle));
            dut.drive("sent_i", 1, 0, matches!(cycle, 4 | 20));
        },
        |dut, waves, _| {
            for name in ["level_i", "request_o", "sent_i"] {
                waves.bit(name, dut.look(name, 1, 0));
            }
        },
    );
}

/// What a master of the join has under way.
struct Master {
    addresses: Source<u32>,
    beats: Source<(u32, bool)>,
    reads: Source<(u32, u8)>,
    b: Sink,
    r: Sink,
    /// Write bursts that the slave must see: address, data.
    writes: VecDeque<(u32, Vec<u32>)>,
    /// Bursts that the slave has seen whole, less those whose response has come.
    unanswered: u64,
    /// Beats of reads that must come: data, last.
    expected: VecDeque<(u32, bool)>,
    answers: u64,
    beats_read: u64,
}

/// Each burst of both masters reaches the core whole and undisturbed, and its answer reaches its
/// master. No master waits for more than one burst of the other.
#[test]
fn u280_dma_join() {
    let mut rng = Random::new("u280_dma_join");
    let recipe = Recipe::new("dma_join", "dma_join")
        .blocks(&["abi", "common"])
        .source("board/u280/rtl/dma_join.sv")
        .param("DATA_W", 32)
        .bundle("masters_i", &DMA_REQUEST)
        .bundle("masters_o", &DMA_ANSWER)
        .bundle("bus_o", &DMA_REQUEST)
        .bundle("bus_i", &DMA_ANSWER);
    let mut dut = Dut::start(&recipe);
    dut.reset();
    let paces = [
        Pace::Always,
        Pace::Chance(0.5),
        Pace::Chance(0.1),
        Pace::Bursts { on: 10, off: 10 },
    ];
    let mut masters: [Master; 2] = std::array::from_fn(|_| Master {
        addresses: Source::new(Pace::Always),
        beats: Source::new(Pace::Always),
        reads: Source::new(Pace::Always),
        b: Sink::new(Pace::Always),
        r: Sink::new(Pace::Always),
        writes: VecDeque::new(),
        unanswered: 0,
        expected: VecDeque::new(),
        answers: 0,
        beats_read: 0,
    });
    // The core: the write burst under way, its response, and the beats of the read under way.
    let mut writing: Option<(u32, Vec<u32>)> = None;
    let (mut answers, mut owner) = (false, 0);
    let mut reading: VecDeque<(u32, bool)> = VecDeque::new();
    let mut passed = [0_u64; 2];
    for _ in 0..soak(16) {
        let mut pace = || paces[rng.random_range(0..paces.len())];
        for master in &mut masters {
            master.addresses.set_pace(pace());
            master.beats.set_pace(pace());
            master.reads.set_pace(pace());
            (master.b, master.r) = (Sink::new(pace()), Sink::new(pace()));
        }
        let mut core: [Sink; 4] = std::array::from_fn(|_| Sink::new(pace()));
        for _ in 0..1_000 {
            for (number, master) in masters.iter_mut().enumerate() {
                if master.writes.len() < 3 {
                    // The highest bit is the master's number.
                    let address = (number as u32) << 31 | rng.random::<u32>() >> 1;
                    let data: Vec<u32> =
                        (0..rng.random_range(1..6)).map(|_| rng.random()).collect();
                    master.addresses.push(address);
                    for (at, &word) in data.iter().enumerate() {
                        master.beats.push((word, at + 1 == data.len()));
                    }
                    master.writes.push_back((address, data));
                }
                if master.expected.len() < 12 {
                    let (address, beats) = (rng.random::<u32>() >> 8, rng.random_range(0..5_u8));
                    master.reads.push((address, beats));
                    let beat = |at: u8| (address + u32::from(at), at == beats);
                    master.expected.extend((0..=beats).map(beat));
                }
                let aw = master.addresses.offer(&mut *rng).copied();
                let w = master.beats.offer(&mut *rng).copied();
                let ar = master.reads.offer(&mut *rng).copied();
                let noise: u64 = rng.random();
                let mut drive = |name: &str, value: u64| {
                    dut.drive(&format!("masters_i.{name}"), 2, number, value);
                };
                drive("awvalid", aw.is_some().into());
                drive("awaddr", aw.map_or(noise, u64::from));
                drive("wvalid", w.is_some().into());
                drive("wlast", w.map_or(noise & 1, |(_, last)| last.into()));
                drive("arvalid", ar.is_some().into());
                drive("araddr", ar.map_or(noise, |(address, _)| address.into()));
                drive("arlen", ar.map_or(noise, |(_, beats)| beats.into()));
                drive("bready", master.b.ready(&mut *rng).into());
                drive("rready", master.r.ready(&mut *rng).into());
                dut.drive(
                    "wdata_i",
                    2,
                    number,
                    w.map_or(noise, |(data, _)| data.into()),
                );
                dut.drive(
                    "wstrb_i",
                    2,
                    number,
                    w.map_or(noise, |(data, _)| data.into()) & 15,
                );
            }
            let ready: Vec<bool> = core.iter_mut().map(|sink| sink.ready(&mut *rng)).collect();
            let read = reading.front().copied().filter(|_| ready[3]);
            for (name, value) in [
                ("awready", ready[0] && writing.is_none() && !answers),
                ("wready", ready[1] && writing.is_some()),
                ("bvalid", answers),
                ("arready", ready[2] && reading.is_empty()),
                ("rvalid", read.is_some()),
                ("rlast", read.is_some_and(|(_, last)| last)),
            ] {
                dut.drive(&format!("bus_i.{name}"), 1, 0, value);
            }
            dut.settle();
            let bus = |name: &str| dut.look(&format!("bus_o.{name}"), 1, 0);
            let at =
                |name: &str, number: usize| dut.look(&format!("masters_o.{name}"), 2, number) == 1;
            let place = format!("cycle {}", dut.cycle());
            // Responses and data reach one master.
            for (number, master) in masters.iter_mut().enumerate() {
                if at("bvalid", number) && dut.look("masters_i.bready", 2, number) == 1 {
                    assert!(
                        master.unanswered > 0,
                        "{place}: no burst of {number} is whole"
                    );
                    master.unanswered -= 1;
                    master.answers += 1;
                }
                if at("rvalid", number) && dut.look("masters_i.rready", 2, number) == 1 {
                    let expected = master.expected.pop_front();
                    assert_eq!(expected, read, "{place}: read of {number}");
                    assert_eq!(at("rlast", number), read.is_some_and(|(_, last)| last));
                    master.beats_read += 1;
                }
            }
            // The core's side.
            if answers && bus("bready") == 1 {
                answers = false;
            }
            if bus("awvalid") == 1 && ready[0] && writing.is_none() && !answers {
                let address = bus("awaddr") as u32;
                owner = (address >> 31) as usize;
                passed =
                    std::array::from_fn(|number| if number == owner { 0 } else { passed[number] });
                let other = 1 - owner;
                if dut.look("masters_i.awvalid", 2, other) == 1 {
                    passed[other] += 1;
                    assert!(passed[other] <= 1, "{place}: master {other} waits too long");
                }
                writing = Some((address, Vec::new()));
            } else if bus("wvalid") == 1
                && ready[1]
                && let Some((address, mut data)) = writing.take()
            {
                let word = dut.look("wdata_o", 1, 0) as u32;
                assert_eq!(dut.look("wstrb_o", 1, 0), u64::from(word & 15), "{place}");
                data.push(word);
                if bus("wlast") == 1 {
                    let expected = masters[owner].writes.pop_front();
                    assert_eq!(expected, Some((address, data)), "{place}");
                    masters[owner].unanswered += 1;
                    answers = true;
                } else {
                    writing = Some((address, data));
                }
            }
            if read.is_some() && bus("rready") == 1 {
                reading.pop_front();
            } else if bus("arvalid") == 1 && ready[2] && reading.is_empty() {
                let (first, beats) = (bus("araddr") as u32, bus("arlen") as u32);
                reading.extend((0..=beats).map(|beat| (first + beat, beat == beats)));
            }
            let taken: [[bool; 3]; 2] = std::array::from_fn(|number| {
                ["awready", "wready", "arready"].map(|name| at(name, number))
            });
            for (master, taken) in masters.iter_mut().zip(taken) {
                master.addresses.take(taken[0]);
                master.beats.take(taken[1]);
                master.reads.take(taken[2]);
            }
            dut.clock();
        }
    }
    for master in &masters {
        assert!(master.answers > 100 && master.beats_read > 100);
    }
}

/// A write of the master of `read_order`, as the block sees it.
#[derive(Default)]
struct Write {
    /// Cycle in which its address or its first beat was offered for the first time.
    shown: Option<u64>,
    is_addressed: bool,
    beats_left: u64,
    is_answered: bool,
}

/// No read goes on before the response of a write that was shown before it, or in the same cycle, unless LATER
/// responses have come since. A read that nothing holds goes on in the next cycle.
#[test]
fn u280_read_order() {
    const LATER: u64 = 20;
    let mut rng = Random::new("u280_read_order");
    let mut dut = start("read_order", &[("OPEN", 15), ("LATER", LATER)]);
    let paces = [
        Pace::Always,
        Pace::Chance(0.5),
        Pace::Chance(0.1),
        Pace::Bursts { on: 10, off: 10 },
    ];
    let (mut reads, mut held, mut by_count) = (0, 0, 0);
    for round in 0..soak(64) {
        dut.reset();
        let mut pace = || paces[rng.random_range(0..paces.len())];
        let mut addresses = Source::<()>::new(pace());
        let mut beats = Source::<bool>::new(pace());
        let mut wanted = Source::<()>::new(pace());
        let mut sinks: [Sink; 4] = std::array::from_fn(|_| Sink::new(pace()));
        // In some rounds data comes before its address, or after all data of the last burst.
        let is_apart = rng.random_bool(0.5);
        let mut writes: VecDeque<Write> = VecDeque::new();
        let (mut is_answering, mut answers_since) = (false, 0);
        // Cycle in which the read under way was offered; whether nothing held it a cycle ago.
        let (mut shown, mut is_due): (Option<u64>, bool) = (None, false);
        for _ in 0..1_000 {
            let now = dut.cycle();
            if writes.len() < 8 && (round % 2 == 0 || rng.random_bool(0.01)) {
                let count = rng.random_range(1..5);
                writes.push_back(Write {
                    beats_left: count,
                    ..Write::default()
                });
                addresses.push(());
                for beat in 1..=count {
                    beats.push(beat == count);
                }
            }
            if wanted.len() < 2 {
                wanted.push(());
            }
            let [aw_ready, w_ready, ar_ready, b_goes] =
                sinks.each_mut().map(|sink| sink.ready(&mut *rng));
            let is_whole = |write: &Write| write.is_addressed && write.beats_left == 0;
            let open = |write: &Write| !write.is_answered;
            let first = writes.iter().position(open);
            is_answering |= b_goes && first.is_some_and(|at| is_whole(&writes[at]));
            let b_ready = rng.random_bool(0.7);
            let aw = addresses.offer(&mut *rng).is_some();
            let mut w = beats.offer(&mut *rng).copied();
            // The place of the next beat's burst, and of the next address.
            let by_data = writes.iter().position(|write| write.beats_left > 0);
            let by_address = writes.iter().position(|write| !write.is_addressed);
            if !is_apart && by_data.is_some() && by_data >= by_address {
                w = None;
            }
            let ar = wanted.offer(&mut *rng).is_some();
            for (offered, place) in [(aw, by_address), (w.is_some(), by_data)] {
                if let (true, Some(at)) = (offered, place) {
                    writes[at].shown.get_or_insert(now);
                }
            }
            if ar && shown.is_none() {
                (shown, answers_since) = (Some(now), 0);
            }
            for (name, value) in [
                ("aw_valid_i", aw),
                ("aw_ready_i", aw_ready),
                ("w_valid_i", w.is_some()),
                ("w_ready_i", w_ready),
                ("w_last_i", w.unwrap_or_else(|| rng.random())),
                ("b_valid_i", is_answering),
                ("b_ready_i", b_ready),
                ("ar_valid_i", ar),
                ("ar_ready_i", ar_ready),
            ] {
                dut.drive(name, 1, 0, value);
            }
            dut.settle();
            let goes = dut.look("ar_valid_o", 1, 0) == 1;
            if ar {
                let is_taken = dut.look("ar_ready_o", 1, 0) == 1;
                assert_eq!(is_taken, goes && ar_ready, "cycle {now}");
            }
            let mut earlier = writes
                .iter()
                .filter(|&write| open(write) && write.shown <= shown);
            let is_held = earlier.any(|write| write.shown.is_some());
            if goes {
                assert!(ar, "cycle {now}: a read that nobody asks for");
                assert!(
                    !is_held || answers_since >= LATER,
                    "cycle {now}: a read passes a write"
                );
            }
            assert!(
                goes || !ar || !is_due,
                "cycle {now}: a read waits for nothing"
            );
            assert!(
                goes || !ar || answers_since <= LATER + 1,
                "cycle {now}: a read waits for ever"
            );
            held += u64::from(ar && is_held);
            if goes && ar_ready {
                by_count += u64::from(is_held || answers_since >= LATER);
                reads += 1;
                shown = None;
            }
            let nothing_shown = !aw && w.is_none();
            is_due = ar && !(goes && ar_ready) && nothing_shown && {
                let mut shown = writes.iter().filter(|&write| open(write));
                !shown.any(|write| write.shown.is_some())
            };
            if aw
                && aw_ready
                && let Some(at) = by_address
            {
                writes[at].is_addressed = true;
            }
            if w.is_some()
                && w_ready
                && let Some(at) = by_data
            {
                writes[at].beats_left -= 1;
            }
            if is_answering
                && b_ready
                && let Some(at) = first
            {
                writes[at].is_answered = true;
                is_answering = false;
                answers_since += 1;
            }
            while writes.front().is_some_and(|write| write.is_answered) {
                writes.pop_front();
            }
            addresses.take(aw && aw_ready);
            if w.is_some() {
                beats.take(w_ready);
            }
            wanted.take(goes && ar_ready);
            dut.clock();
        }
    }
    assert!(
        reads > 1_000 && held > 2_000 && by_count > 20,
        "{reads} reads, {held} cycles held, {by_count} reads after {LATER} answers"
    );
}

/// The channels of `slr_axi`: name, bits of the payload, whether it goes from the host to the core.
const CHANNELS: [(&str, u32, bool); 5] = [
    ("aw", 32, true),
    ("w", 37, true),
    ("b", 0, false),
    ("ar", 40, true),
    ("r", 33, false),
];

/// Each channel delivers its words in order and without a wait for another channel.
#[test]
fn u280_slr_axi() {
    let mut rng = Random::new("u280_slr_axi");
    let recipe = Recipe::new("slr_axi", "slr_axi")
        .blocks(&["common"])
        .source("board/u280/rtl/slr_axi.sv");
    let mut dut = Dut::start(&recipe);
    let resets = ["host_rst_ni", "core_rst_ni"].map(|name| dut.pin(name));
    struct Channel {
        name: &'static str,
        bits: u32,
        valid: Pin,
        ready: Pin,
        word: Option<Pin>,
        out_valid: Pin,
        out_ready: Pin,
        out_word: Option<Pin>,
        source: Source<u64>,
        sink: Sink,
        way: VecDeque<u64>,
        moved: u64,
    }
    let mut channels = CHANNELS.map(|(name, bits, to_core)| {
        let (from, to) = if to_core {
            ("host", "core")
        } else {
            ("core", "host")
        };
        let word =
            |side: &str, way: &str| (bits != 0).then(|| dut.pin(&format!("{side}_{name}_{way}")));
        Channel {
            name,
            bits,
            valid: dut.pin(&format!("{from}_{name}valid_i")),
            ready: dut.pin(&format!("{from}_{name}ready_o")),
            word: word(from, "i"),
            out_valid: dut.pin(&format!("{to}_{name}valid_o")),
            out_ready: dut.pin(&format!("{to}_{name}ready_i")),
            out_word: word(to, "o"),
            source: Source::new(Pace::Always),
            sink: Sink::new(Pace::Always),
            way: VecDeque::new(),
            moved: 0,
        }
    });
    for channel in &channels {
        dut.set(channel.valid, 0, 0);
    }
    resets.iter().for_each(|&reset| dut.set(reset, 0, 0));
    for _ in 0..12 {
        dut.clock();
    }
    resets.iter().for_each(|&reset| dut.set(reset, 0, 1));
    let paces = [
        Pace::Always,
        Pace::Never,
        Pace::Chance(0.3),
        Pace::Bursts { on: 20, off: 20 },
    ];
    let rounds = soak(40);
    for round in 0..=rounds {
        for (at, channel) in channels.iter_mut().enumerate() {
            // In turn, one channel stands: the others go on.
            let stands = round % 8 == at as u64;
            let mut pace = || {
                if round % 8 < 5 {
                    Pace::Always
                } else {
                    paces[rng.random_range(0..paces.len())]
                }
            };
            channel.source.set_pace(pace());
            let sink = pace();
            channel
                .sink
                .set_pace(if stands { Pace::Never } else { sink });
            channel.moved = 0;
            // At last, all words on the way arrive.
            if round == rounds {
                channel.source.set_pace(Pace::Never);
                channel.sink.set_pace(Pace::Always);
            }
        }
        for _ in 0..200 {
            for channel in &mut channels {
                if channel.source.len() < 2 {
                    let mask = (1u64 << channel.bits) - 1;
                    channel.source.push(rng.random::<u64>() & mask);
                }
                let offer = channel.source.offer(&mut *rng).copied();
                dut.set(channel.valid, 0, u64::from(offer.is_some()));
                if let Some(word) = channel.word {
                    dut.set(word, 0, offer.unwrap_or(0));
                }
                dut.set(
                    channel.out_ready,
                    0,
                    u64::from(channel.sink.ready(&mut *rng)),
                );
            }
            dut.settle();
            let now = dut.cycle();
            for channel in &mut channels {
                let place = format!("channel {}, cycle {now}", channel.name);
                if dut.get(channel.out_valid, 0) == 1 {
                    let Some(&front) = channel.way.front() else {
                        panic!("a word from nowhere, {place}");
                    };
                    if let Some(word) = channel.out_word {
                        assert_eq!(dut.get(word, 0), front, "{place}");
                    }
                    if dut.was_set(channel.out_ready, 0) {
                        channel.way.pop_front();
                        channel.moved += 1;
                    }
                }
                let ready = dut.get(channel.ready, 0) == 1;
                channel.way.extend(channel.source.take(ready));
            }
            dut.clock();
        }
        if round % 8 < 5 && round < rounds {
            for (at, channel) in channels.iter().enumerate() {
                let stands = round % 8 == at as u64;
                assert_eq!(
                    channel.moved > 190,
                    !stands,
                    "round {round}: {} words of {}",
                    channel.moved,
                    channel.name
                );
            }
        }
    }
    for channel in &channels {
        assert!(channel.way.is_empty(), "words of {} are lost", channel.name);
    }
}
