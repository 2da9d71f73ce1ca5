//! `router` against a scoreboard: each output must deliver exactly the packets of each input for
//! that output, in order, complete and not interleaved. The cycle of each word is compared with
//! `router_model.rs`, a model of queues and turns.

use std::collections::VecDeque;

use alcor_hw_bench::{Dut, Pace, Pin, Random, Recipe, Sink, Source, soak};
use rand::Rng;

use crate::router_model::{Model, Offer, Sizes};

/// Cycles from a word's acceptance to its appearance on the output of an idle router.
const LATENCY: u64 = 4;

/// Parameters of a router.
#[derive(Debug, Clone, Copy)]
struct Config {
    name: &'static str,
    ports: usize,
    width: u32,
    input: usize,
    header: usize,
    voq: usize,
    crosspoint: usize,
    output: usize,
}

const TWO: Config = Config {
    name: "router2",
    ports: 2,
    width: 32,
    input: 2,
    header: 2,
    voq: 2,
    crosspoint: 2,
    output: 2,
};
const THREE: Config = Config {
    name: "router3",
    ports: 3,
    width: 40,
    input: 5,
    header: 3,
    voq: 3,
    crosspoint: 3,
    output: 5,
};
/// The defaults: the paper's sizes.
const FOUR: Config = Config {
    name: "router4",
    ports: 4,
    width: 32,
    input: 512,
    header: 16,
    voq: 16,
    crosspoint: 16,
    output: 16,
};
const EIGHT: Config = Config {
    name: "router8",
    ports: 8,
    width: 32,
    input: 64,
    header: 4,
    voq: 8,
    crosspoint: 4,
    output: 3,
};

impl Config {
    fn model(self) -> Model {
        let sizes = Sizes {
            input: self.input,
            header: self.header,
            voq: self.voq,
            crosspoint: self.crosspoint,
            output: self.output,
        };
        Model::new(self.ports, sizes)
    }
}

#[derive(Debug, Clone)]
struct Word {
    data: u64,
    first: bool,
    last: bool,
    /// Destination output; none for a packet that is to be dropped.
    output: Option<usize>,
}

/// A delivered word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Arrival {
    cycle: u64,
    source: usize,
    first: bool,
    last: bool,
}

struct Pins {
    valid_in: Pin,
    ready_out: Pin,
    data_in: Pin,
    last_in: Pin,
    route_in: Pin,
    valid_out: Pin,
    ready_in: Pin,
    data_out: Pin,
    last_out: Pin,
    empty: Pin,
    drop: Pin,
}

struct Bench {
    config: Config,
    dut: Dut,
    pins: Pins,
    rng: Random,
    sources: Vec<Source<Word>>,
    sinks: Vec<Sink>,
    sequence: u64,
    /// Words in flight, by source and output, in order.
    expected: Vec<Vec<VecDeque<Word>>>,
    /// Per output, the source whose packet is under way.
    under_way: Vec<Option<usize>>,
    /// Number of accepted words in the router that have an output.
    inside: u64,
    /// Per input: packets without an output that were accepted completely and not yet reported as
    /// dropped.
    doomed: Vec<u64>,
    /// Per input: a packet without an output has begun and not ended.
    doomed_open: Vec<bool>,
    dropped: Vec<u64>,
    /// Cycle in which each word was accepted, by source.
    accepted: Vec<Vec<u64>>,
    /// Delivered words, by output.
    arrivals: Vec<Vec<Arrival>>,
    model: Model,
}

impl Bench {
    fn new(config: Config, name: &'static str) -> Self {
        let rng = Random::new(name);
        let ports = config.ports;
        let parameters = [
            ("PORTS", ports),
            ("WIDTH", config.width as usize),
            ("INPUT_DEPTH", config.input),
            ("HEADER_DEPTH", config.header),
            ("VOQ_DEPTH", config.voq),
            ("CROSSPOINT_DEPTH", config.crosspoint),
            ("OUTPUT_DEPTH", config.output),
        ];
        let mut recipe = Recipe::new(config.name, "router").blocks(&["common", "router"]);
        for (parameter, value) in parameters {
            recipe = recipe.param(parameter, value as u64);
        }
        let mut dut = Dut::start(&recipe);
        let pin = |name| dut.lanes(name, ports);
        let pins = Pins {
            valid_in: pin("valid_i"),
            ready_out: pin("ready_o"),
            data_in: pin("data_i"),
            last_in: pin("last_i"),
            route_in: pin("route_i"),
            valid_out: pin("valid_o"),
            ready_in: pin("ready_i"),
            data_out: pin("data_o"),
            last_out: pin("last_o"),
            empty: dut.pin("empty_o"),
            drop: pin("drop_o"),
        };
        dut.reset();
        Self {
            config,
            dut,
            pins,
            rng,
            sources: vec![Source::new(Pace::Always); ports],
            sinks: vec![Sink::new(Pace::Always); ports],
            sequence: 0,
            expected: vec![vec![VecDeque::new(); ports]; ports],
            under_way: vec![None; ports],
            inside: 0,
            doomed: vec![0; ports],
            doomed_open: vec![false; ports],
            dropped: vec![0; ports],
            accepted: vec![Vec::new(); ports],
            arrivals: vec![Vec::new(); ports],
            model: config.model(),
        }
    }

    fn ports(&self) -> usize {
        self.config.ports
    }

    /// Queues a packet at an input, for an output or to be dropped.
    fn queue(&mut self, source: usize, output: Option<usize>, length: usize) {
        let mask = u64::MAX >> (64 - self.config.width);
        for index in 0..length {
            let noise = self.rng.random::<u64>() & mask;
            let data = if index == 0 {
                // The header holds the packet's source for the scoreboard.
                let header = (source as u64) << 20 | (self.sequence & 0xf_ffff);
                (noise & !0xff_ffff) | header
            } else {
                noise
            };
            self.sources[source].push(Word {
                data,
                first: index == 0,
                last: index + 1 == length,
                output,
            });
        }
        self.sequence += 1;
    }

    fn send(&mut self, source: usize, output: usize, length: usize) {
        self.queue(source, Some(output), length);
    }

    /// Queues a packet without a route.
    fn send_nowhere(&mut self, source: usize, length: usize) {
        self.queue(source, None, length);
    }

    fn set_sinks(&mut self, pace: Pace) {
        self.sinks.iter_mut().for_each(|sink| sink.set_pace(pace));
    }

    fn set_sources(&mut self, pace: Pace) {
        self.sources
            .iter_mut()
            .for_each(|source| source.set_pace(pace));
    }

    fn cycle(&mut self) {
        let now = self.dut.cycle();
        let mut offers = vec![None; self.ports()];
        let mut taken = vec![false; self.ports()];
        for port in 0..self.ports() {
            let noise = Word {
                data: self.rng.random(),
                first: false,
                last: self.rng.random(),
                output: None,
            };
            let noise_route = self.rng.random::<u64>() & ((1 << self.ports()) - 1);
            let offer = self.sources[port].offer(&mut *self.rng);
            let word = offer.unwrap_or(&noise);
            offers[port] = offer.map(|word| Offer {
                data: word.data,
                last: word.last,
                route: word.output,
            });
            self.dut
                .set(self.pins.valid_in, port, u64::from(offer.is_some()));
            self.dut.set(self.pins.data_in, port, word.data);
            self.dut.set(self.pins.last_in, port, u64::from(word.last));
            // The route is valid with the first word of a packet only.
            let route = if word.first {
                word.output.map_or(0, |output| 1 << output)
            } else {
                noise_route
            };
            self.dut.set(self.pins.route_in, port, route);
            let ready = self.sinks[port].ready(&mut *self.rng);
            self.dut.set(self.pins.ready_in, port, u64::from(ready));
            taken[port] = ready;
        }
        self.dut.settle();
        self.check_model(now);
        self.check_empty(now);
        for port in 0..self.ports() {
            self.receive(port, now);
        }
        for port in 0..self.ports() {
            self.accept(port, now);
        }
        self.dut.clock();
        self.model.clock(&offers, &taken);
    }

    /// Compares all outputs with the model.
    fn check_model(&self, now: u64) {
        for port in 0..self.ports() {
            let place = format!("port {port}, cycle {now}");
            let [ready, drop, valid, last] = [
                self.pins.ready_out,
                self.pins.drop,
                self.pins.valid_out,
                self.pins.last_out,
            ]
            .map(|pin| self.dut.get(pin, port) == 1);
            assert_eq!(ready, self.model.is_ready(port), "ready_o, {place}");
            assert_eq!(drop, self.model.drops(port), "drop_o, {place}");
            let offer = valid.then(|| (self.dut.get(self.pins.data_out, port), last));
            assert_eq!(offer, self.model.offer(port), "output, {place}");
        }
        let empty = self.dut.get(self.pins.empty, 0) == 1;
        assert_eq!(empty, self.model.is_empty(), "empty_o, cycle {now}");
    }

    /// `empty_o` is exact: the bench counts the words in the router.
    fn check_empty(&self, now: u64) {
        let empty = self.dut.get(self.pins.empty, 0) == 1;
        let doomed: u64 = self.doomed.iter().sum();
        if self.inside + doomed > 0 {
            assert!(
                !empty,
                "cycle {now}: empty_o with {} words and {doomed} doomed packets inside",
                self.inside
            );
        } else if !self.doomed_open.contains(&true) {
            // The words of a dropped packet are not visible, so the state is unknown until its last
            // word.
            assert!(empty, "cycle {now}: no empty_o with nothing inside");
        }
    }

    fn receive(&mut self, output: usize, now: u64) {
        if self.dut.get(self.pins.valid_out, output) == 0
            || !self.dut.was_set(self.pins.ready_in, output)
        {
            return;
        }
        let data = self.dut.get(self.pins.data_out, output);
        let last = self.dut.get(self.pins.last_out, output) == 1;
        let first = self.under_way[output].is_none();
        let source = self.under_way[output].unwrap_or((data >> 20 & 0xf) as usize);
        let place = format!("output {output}, source {source}, cycle {now}");
        assert!(
            source < self.ports(),
            "{place}: a header from nowhere: {data:#x}"
        );
        let Some(word) = self.expected[source][output].pop_front() else {
            panic!("{place}: {data:#x} was never sent");
        };
        assert_eq!((data, last), (word.data, word.last), "{place}");
        self.under_way[output] = (!last).then_some(source);
        self.inside -= 1;
        self.arrivals[output].push(Arrival {
            cycle: now,
            source,
            first,
            last,
        });
    }

    fn accept(&mut self, input: usize, now: u64) {
        if self.dut.get(self.pins.drop, input) == 1 {
            assert!(
                self.doomed[input] > 0,
                "input {input}, cycle {now}: dropped what was to be delivered"
            );
            self.doomed[input] -= 1;
            self.dropped[input] += 1;
        }
        let ready = self.dut.get(self.pins.ready_out, input) == 1;
        let Some(word) = self.sources[input].take(ready) else {
            return;
        };
        self.accepted[input].push(now);
        match word.output {
            Some(output) => {
                self.inside += 1;
                self.expected[input][output].push_back(word);
            }
            None => {
                self.doomed[input] += u64::from(word.last);
                self.doomed_open[input] = !word.last;
            }
        }
    }

    fn reset(&mut self) {
        for source in &mut self.sources {
            source.clear();
        }
        self.dut.set_all(self.pins.valid_in, 0);
        self.dut.reset();
        self.expected.iter_mut().flatten().for_each(VecDeque::clear);
        self.under_way.fill(None);
        self.model = self.config.model();
        self.inside = 0;
        self.doomed.fill(0);
        self.doomed_open.fill(false);
    }

    fn cycles(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.cycle();
        }
    }

    fn idle(&self) -> bool {
        self.sources.iter().all(Source::is_empty)
            && self.inside == 0
            && self.doomed.iter().all(|&count| count == 0)
    }

    /// Runs until all words have arrived, and some cycles more.
    fn drain(&mut self, limit: u64) {
        let end = self.dut.cycle() + limit;
        while !self.idle() {
            assert!(
                self.dut.cycle() < end,
                "{}: {} words still inside after {limit} cycles",
                self.config.name,
                self.inside
            );
            self.cycle();
        }
        self.cycles(3 * LATENCY);
    }

    fn forget_times(&mut self) {
        self.accepted.iter_mut().for_each(Vec::clear);
        self.arrivals.iter_mut().for_each(Vec::clear);
    }
}

/// Each packet arrives exactly once, unchanged, in order and not interleaved.
fn random(config: Config) {
    let mut bench = Bench::new(config, "router_random");
    let ports = bench.ports();
    let paces = [
        (Pace::Always, Pace::Always),
        (Pace::Always, Pace::Chance(0.4)),
        (Pace::Chance(0.3), Pace::Always),
        (Pace::Chance(0.6), Pace::Chance(0.6)),
        (
            Pace::Bursts { on: 40, off: 40 },
            Pace::Bursts { on: 40, off: 40 },
        ),
        (Pace::Always, Pace::Bursts { on: 200, off: 200 }),
    ];
    for (source_pace, sink_pace) in paces {
        for lengths in [1..=1, 1..=4, 1..=40] {
            bench.set_sources(source_pace);
            bench.set_sinks(sink_pace);
            // Some outputs have more traffic than others, and some packets have no route.
            let favourite = bench.rng.random_range(0..ports);
            let end = bench.dut.cycle() + soak(400);
            while bench.dut.cycle() < end {
                for source in 0..ports {
                    while bench.sources[source].len() < 50 {
                        let length = bench.rng.random_range(lengths.clone());
                        let output = bench.rng.random_range(0..ports);
                        let output = if bench.rng.random_bool(0.2) {
                            favourite
                        } else {
                            output
                        };
                        if bench.rng.random_bool(0.05) {
                            bench.send_nowhere(source, length);
                        } else {
                            bench.send(source, output, length);
                        }
                    }
                }
                bench.cycle();
            }
            bench.set_sinks(Pace::Always);
            bench.set_sources(Pace::Always);
            bench.drain(20_000);
        }
    }
    let arrived: usize = bench.arrivals.iter().map(Vec::len).sum();
    assert!(arrived > 3_000, "only {arrived} words arrived");
}

/// Through an idle router each word takes four cycles, from any input to any output.
fn latency(config: Config) {
    let mut bench = Bench::new(config, "router_latency");
    for length in [1, 2, 3, 7, 20] {
        for source in 0..bench.ports() {
            for output in 0..bench.ports() {
                bench.forget_times();
                bench.send(source, output, length);
                bench.drain(200);
                let expected: Vec<u64> = bench.accepted[source]
                    .iter()
                    .map(|cycle| cycle + LATENCY)
                    .collect();
                let found: Vec<u64> = bench.arrivals[output]
                    .iter()
                    .map(|arrival| arrival.cycle)
                    .collect();
                assert_eq!(found, expected, "{length} words from {source} to {output}");
                assert_eq!(
                    expected.last(),
                    Some(&(expected[0] + length as u64 - 1)),
                    "the input stalled"
                );
            }
        }
    }
}

/// A word per port and cycle, without gaps between packets: one flow, and all permutations that
/// are shifts.
fn throughput(config: Config) {
    let mut bench = Bench::new(config, "router_throughput");
    let ports = bench.ports();
    let words = 300;
    for lengths in [1..=1, 2..=2, 1..=9] {
        for shift in 0..=ports {
            // The round after the last shift is the single flow.
            let active = if shift == ports { 1 } else { ports };
            bench.forget_times();
            for source in 0..active {
                while bench.sources[source].len() < words {
                    let length = bench.rng.random_range(lengths.clone());
                    bench.send(source, (source + shift) % ports, length);
                }
            }
            bench.drain(2_000);
            for source in 0..active {
                let accepted = &bench.accepted[source];
                let arrived: Vec<u64> = bench.arrivals[(source + shift) % ports]
                    .iter()
                    .map(|arrival| arrival.cycle)
                    .collect();
                let place = format!("shift {shift}, source {source}, lengths {lengths:?}");
                assert!(
                    accepted.windows(2).all(|pair| pair[1] == pair[0] + 1),
                    "{place}: the input stalled"
                );
                assert!(
                    arrived.windows(2).all(|pair| pair[1] == pair[0] + 1),
                    "{place}: a gap on the output"
                );
                assert_eq!(arrived[0], accepted[0] + LATENCY, "{place}");
            }
        }
    }
}

/// While an output is stalled, its packets wait in its VOQs and crosspoints, and all other packets
/// proceed.
fn stalled_output(config: Config) {
    let mut bench = Bench::new(config, "router_stalled_output");
    let ports = bench.ports();
    for stalled in 0..ports {
        // Packets that fit beside the other traffic without filling any VOQ.
        let room = config.crosspoint + config.voq;
        let mut waiting = vec![room; ports];
        let packets = 200;
        let mut load = vec![0; ports];
        for _ in 0..packets {
            for (source, waiting) in waiting.iter_mut().enumerate() {
                let length = bench.rng.random_range(1..=6);
                if *waiting >= length && bench.rng.random_bool(0.3) {
                    bench.send(source, stalled, length);
                    *waiting -= length;
                }
                let output = (stalled + bench.rng.random_range(1..ports)) % ports;
                let length = bench.rng.random_range(1..=6);
                bench.send(source, output, length);
                load[output] += length as u64;
            }
        }
        let before: Vec<usize> = bench.arrivals.iter().map(Vec::len).collect();
        bench.sinks[stalled].set_pace(Pace::Never);
        let sent: u64 = load.iter().sum();
        // All inputs send in all cycles, so the transfer takes no longer than all words one after
        // the other through a single port.
        bench.cycles(sent + 100);
        for output in (0..ports).filter(|&output| output != stalled) {
            let arrived = (bench.arrivals[output].len() - before[output]) as u64;
            assert_eq!(
                arrived, load[output],
                "output {output} suffers while {stalled} is stalled"
            );
        }
        assert!(bench.sources.iter().all(Source::is_empty));
        assert_eq!(bench.arrivals[stalled].len(), before[stalled]);

        // More packets than fit: inputs stop. After the release all packets arrive.
        for source in 0..ports {
            for _ in 0..(config.input + room) {
                bench.send(source, stalled, 2);
                let output = bench.rng.random_range(0..ports);
                bench.send(source, output, 3);
            }
        }
        bench.cycles(2_000);
        assert!(
            bench.sources.iter().any(|source| !source.is_empty()),
            "nothing ever stalled"
        );
        bench.set_sinks(Pace::Always);
        bench.drain(60_000);
    }
}

/// Inputs that all want one output are served strictly in turn.
fn output_takes_turns(config: Config) {
    let mut bench = Bench::new(config, "router_output_takes_turns");
    let ports = bench.ports();
    for output in 0..ports {
        for length in [1, 3] {
            bench.forget_times();
            for source in 0..ports {
                for _ in 0..100 {
                    bench.send(source, output, length);
                }
            }
            bench.drain(5_000);
            let turns: Vec<usize> = bench.arrivals[output]
                .iter()
                .filter(|arrival| arrival.first)
                .map(|arrival| arrival.source)
                .collect();
            assert_eq!(turns.len(), 100 * ports);
            for (at, pair) in turns.windows(2).enumerate() {
                assert_eq!(
                    pair[1],
                    (pair[0] + 1) % ports,
                    "output {output}, packet {}",
                    at + 1
                );
            }
        }
    }
}

/// A VOQ of an input is served although another VOQ of that input can always send.
fn input_takes_turns(config: Config) {
    let mut bench = Bench::new(config, "router_input_takes_turns");
    let ports = bench.ports();
    let room = config.voq + config.crosspoint + config.output;
    for busy in 0..ports {
        for patient in (0..ports).filter(|&patient| patient != busy) {
            bench.forget_times();
            let source = bench.rng.random_range(0..ports);
            // Both VOQs fill while their outputs are stalled ...
            bench.set_sinks(Pace::Never);
            for _ in 0..room {
                bench.send(source, busy, 1);
                bench.send(source, patient, 1);
            }
            let long = 20 * room;
            for _ in 0..long {
                bench.send(source, busy, 1);
            }
            bench.cycles(3 * room as u64);
            // ... then the busy output is released, and later the other output.
            bench.sinks[busy].set_pace(Pace::Always);
            bench.cycles(10);
            assert!(bench.arrivals[patient].is_empty());
            bench.set_sinks(Pace::Always);
            bench.cycles(4 * room as u64);
            assert_eq!(
                bench.arrivals[patient].len(),
                room,
                "VOQ {patient} starves beside {busy}"
            );
            assert!(
                bench.arrivals[busy].len() < room + long,
                "too short to tell"
            );
            bench.drain(10_000);
        }
    }
}

/// An input stays with a packet to its end: with both VOQs backed up, the words of a packet follow
/// each other without gaps.
fn input_stays_with_packet(config: Config) {
    let mut bench = Bench::new(config, "router_input_stays");
    let length = 4;
    assert!(
        config.voq >= 2 * length,
        "a VOQ that cannot hold two packets runs empty in the middle of one"
    );
    bench.set_sinks(Pace::Never);
    for _ in 0..400 {
        bench.send(0, 0, length);
        bench.send(0, 1, length);
    }
    bench.cycles(200);
    bench.set_sinks(Pace::Always);
    // Output memories and crosspoints run empty; from then on the input's row sets the pace.
    bench.cycles(500);
    bench.forget_times();
    bench.cycles(1_000);
    for output in [0, 1] {
        let arrivals = &bench.arrivals[output];
        assert!(
            arrivals.len() > 450,
            "output {output} got {} words",
            arrivals.len()
        );
        for pair in arrivals.windows(2).filter(|pair| !pair[1].first) {
            assert_eq!(
                pair[1].cycle,
                pair[0].cycle + 1,
                "output {output}: a gap inside a packet"
            );
        }
    }
    bench.drain(10_000);
}

/// Packets without a route are dropped and counted, and delay no other packet.
fn without_route(config: Config) {
    let mut bench = Bench::new(config, "router_without_route");
    let ports = bench.ports();
    let mut bad = vec![0; ports];
    for _ in 0..100 {
        for (source, bad) in bad.iter_mut().enumerate() {
            if bench.rng.random_bool(0.5) {
                let length = bench.rng.random_range(1..=30);
                bench.send_nowhere(source, length);
                *bad += 1;
            } else {
                let output = bench.rng.random_range(0..ports);
                let length = bench.rng.random_range(1..=5);
                bench.send(source, output, length);
            }
        }
    }
    bench.drain(20_000);
    assert_eq!(bench.dropped, bad);
    // They are consumed at full speed, with all outputs stalled too.
    bench.set_sinks(Pace::Never);
    bench.forget_times();
    for source in 0..ports {
        for _ in 0..50 {
            bench.send_nowhere(source, 3);
        }
    }
    bench.cycles(160);
    assert!(bench.idle());
    for accepted in &bench.accepted {
        assert!(
            accepted.windows(2).all(|pair| pair[1] == pair[0] + 1),
            "the input stalled"
        );
    }
}

/// A reset during traffic leaves an empty router that works.
fn reset(config: Config) {
    let mut bench = Bench::new(config, "router_reset");
    let ports = bench.ports();
    for _ in 0..12 {
        for source in 0..ports {
            for _ in 0..20 {
                let output = bench.rng.random_range(0..ports);
                bench.send(source, output, 5);
            }
        }
        bench.set_sinks(Pace::Chance(0.3));
        let cycles = bench.rng.random_range(10..60);
        bench.cycles(cycles);
        bench.reset();
        // All turns restart.
        for source in 0..ports {
            for _ in 0..12 {
                let output = bench.rng.random_range(0..ports);
                let length = bench.rng.random_range(1..4);
                bench.send(source, output, length);
            }
        }
        bench.set_sinks(Pace::Chance(0.6));
        bench.drain(4_000);
    }
}

/// The second turn of an input after a reset, with two VOQs that can send: the first VOQ had the
/// first turn.
fn second_turn(config: Config) {
    let mut bench = Bench::new(config, "router_second_turn");
    let ports = bench.ports();
    // A packet that fills all queues behind the VOQ of a stalled output.
    let length = config.output + config.crosspoint;
    for source in 0..ports {
        for output in 0..ports {
            // In one of these cycles both VOQs can send for the first time.
            for delay in 0..10 {
                bench.reset();
                bench.sinks[output].set_pace(Pace::Never);
                bench.send(source, output, length);
                bench.send(source, output, 1);
                bench.send(source, (output + 1) % ports, 1);
                bench.cycles(length as u64 + delay);
                bench.set_sinks(Pace::Always);
                bench.drain(200);
            }
        }
    }
}

macro_rules! benches {
    ($($module:ident($config:expr) and $($extra:ident)*;)*) => {
        $(mod $module {
            benches!(@ $config; random latency throughput stalled_output output_takes_turns input_takes_turns reset second_turn
                without_route                 $($extra)*);
        })*
    };
    (@ $config:expr; $($bench:ident)*) => {
        $(#[test]
        fn $bench() {
            super::$bench($config);
        })*
    };
}

// The test that an input stays with a packet needs VOQs that hold two packets.
benches! {
    ports_2(super::TWO) and ;
    ports_3(super::THREE) and ;
    ports_4(super::FOUR) and input_stays_with_packet;
    ports_8(super::EIGHT) and input_stays_with_packet;
}
