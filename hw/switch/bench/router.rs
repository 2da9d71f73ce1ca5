//! `switch_router` against an independent model: each phit leaves once, unmodified, in order, and
//! at the port of the forwarding table. Packets do not interleave, and credits are never exceeded.

use std::collections::VecDeque;

use alcor_hw_bench::{Dut, Pace, Pin, Random, Recipe, soak};
use rand::Rng;
use rand::seq::IndexedRandom;

/// Number of channels of a link that store phits.
pub(crate) const VCS: usize = 6;
/// The channel of control phits.
pub(crate) const CONTROL: u64 = 7;
/// Entry of the forwarding table for this board.
pub(crate) const HERE: u64 = 15;
/// Data bits of a phit in these benches. The router does not use the data.
const PHIT_W: u64 = 64;
/// Width of a lane. A phit has three lanes.
const LANE_W: u32 = 48;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    pub(crate) links: usize,
    pub(crate) stages: usize,
    pub(crate) vc_depth: usize,
    pub(crate) dests: usize,
}

/// As few inputs and outputs as there can be, and room for full rate.
const NARROW: Config = Config {
    links: 2,
    stages: 1,
    vc_depth: 8,
    dests: 8,
};
pub(crate) const SMALL: Config = Config {
    links: 2,
    stages: 1,
    vc_depth: 2,
    dests: 8,
};
pub(crate) const MIDDLE: Config = Config {
    links: 4,
    stages: 5,
    vc_depth: 4,
    dests: 100,
};
pub(crate) const LARGE: Config = Config {
    links: 6,
    stages: 3,
    vc_depth: 16,
    dests: 256,
};

/// A test of each function, which takes a configuration, for each of these configurations.
macro_rules! tests {
    ($($size:ident: $config:ident, $($name:ident)*;)*) => {
        $(mod $size {
            $(#[test]
            fn $name() {
                super::$name(super::$config);
            })*
        })*
    };
}
tests! {
    smallest: SMALL, random;
    narrow: NARROW, random latency room throughput neighbours_without_credits reset turns turns_of_a_pair turns_after_a_pause turns_of_an_input turns_of_packets packets_follow waiting_packet_is_next reservations_do_not_meet classes_share_a_link credits scarce_credits merging no_starvation old_phits_stay_on_offer offers_give_way classes_do_not_meet control dropped forwarding_table;
    middle: MIDDLE, random;
    large: LARGE, random latency room throughput neighbours_without_credits reset turns turns_of_a_pair turns_of_channels turns_of_an_input turns_of_packets classes_share_a_link credits scarce_credits merging no_starvation classes_do_not_meet control dropped forwarding_table;
}

/// Members of `link_flow_t`.
const FLOW: [(&str, usize); 4] = [("valid", 1), ("vc", 3), ("credit", 1), ("credit_vc", 3)];

impl Config {
    pub(crate) fn locals(self) -> usize {
        2 + self.stages
    }

    fn ports(self) -> usize {
        self.links + self.locals()
    }

    pub(crate) fn recipe(self) -> Recipe {
        Recipe::new("switch_router", "switch_router")
            .blocks(&["abi", "common"])
            .source("switch/rtl/switch_router_links.sv")
            .source("switch/rtl/switch_router_routes.sv")
            .source("switch/rtl/switch_router_choice.sv")
            .source("switch/rtl/switch_router_input.sv")
            .source("switch/rtl/switch_router_reserve.sv")
            .source("switch/rtl/switch_router_allocator.sv")
            .source("switch/rtl/switch_router_eject.sv")
            .source("switch/rtl/switch_router.sv")
            .param("LINKS", self.links as u64)
            .param("STAGES", self.stages as u64)
            .param("PHIT_W", PHIT_W)
            .param("VC_DEPTH", self.vc_depth as u64)
            .param("DESTS", self.dests as u64)
            .bundle("link_i", &FLOW)
            .bundle("link_o", &FLOW)
    }

    /// Class of a local port.
    pub(crate) fn class(local: usize) -> usize {
        local.min(2)
    }
}

/// A phit as on the wires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Phit {
    pub(crate) data: u64,
    pub(crate) header: u64,
    pub(crate) position: u64,
}

impl Phit {
    pub(crate) fn dest(self) -> usize {
        (self.header & 0xffff) as usize
    }

    pub(crate) fn last(self) -> bool {
        self.header >> 31 & 1 == 1
    }

    pub(crate) fn stage(self) -> usize {
        (self.header >> 32 & 7) as usize
    }

    pub(crate) fn lanes(self) -> [u64; 3] {
        [
            self.data & ((1 << LANE_W) - 1),
            self.data >> LANE_W | (self.header & 0xffff_ffff) << 16,
            self.header >> 32 | self.position << 16,
        ]
    }

    pub(crate) fn from_lanes(lanes: [u64; 3]) -> Self {
        Self {
            data: lanes[0] | (lanes[1] & 0xffff) << 48,
            header: (lanes[1] >> 16) | (lanes[2] & 0xffff) << 32,
            position: lanes[2] >> 16,
        }
    }
}

/// Entry or exit of a phit: a port (links first) and a channel. Local ports have channel 0.
type Place = (usize, usize);

#[derive(Debug, Clone, Copy)]
struct Coming {
    phit: Phit,
    from: Place,
    packet: u64,
    /// Cycle of entry.
    since: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Arrival {
    cycle: u64,
    from: Place,
    latency: u64,
    /// The phit is the last of its packet.
    is_last: bool,
}

pub(crate) struct Pins {
    pub(crate) link_valid_in: Pin,
    pub(crate) link_vc_in: Pin,
    pub(crate) link_phit_in: Pin,
    pub(crate) link_credit_in: Pin,
    pub(crate) link_credit_vc_in: Pin,
    pub(crate) link_valid_out: Pin,
    pub(crate) link_vc_out: Pin,
    pub(crate) link_phit_out: Pin,
    pub(crate) link_credit_out: Pin,
    pub(crate) link_credit_vc_out: Pin,
    pub(crate) local_valid_in: Pin,
    pub(crate) local_ready_out: Pin,
    pub(crate) local_phit_in: Pin,
    pub(crate) local_valid_out: Pin,
    pub(crate) local_ready_in: Pin,
    pub(crate) local_phit_out: Pin,
    pub(crate) control_in: Pin,
    pub(crate) control_data_in: Pin,
    pub(crate) control_out: Pin,
    pub(crate) control_data_out: Pin,
    pub(crate) drop: Pin,
    pub(crate) tx: Pin,
    pub(crate) rx: Pin,
    pub(crate) idle: Pin,
}

impl Pins {
    pub(crate) fn new(dut: &Dut, config: Config) -> Self {
        let links = |name: &str| dut.lanes(name, config.links);
        let locals = |name: &str| dut.lanes(name, config.locals());
        Self {
            link_valid_in: links("link_i.valid"),
            link_vc_in: links("link_i.vc"),
            link_phit_in: dut.lanes("link_phit_i", 3 * config.links),
            link_credit_in: links("link_i.credit"),
            link_credit_vc_in: links("link_i.credit_vc"),
            link_valid_out: links("link_o.valid"),
            link_vc_out: links("link_o.vc"),
            link_phit_out: dut.lanes("link_phit_o", 3 * config.links),
            link_credit_out: links("link_o.credit"),
            link_credit_vc_out: links("link_o.credit_vc"),
            local_valid_in: locals("local_valid_i"),
            local_ready_out: locals("local_ready_o"),
            local_phit_in: dut.lanes("local_phit_i", 3 * config.locals()),
            local_valid_out: locals("local_valid_o"),
            local_ready_in: locals("local_ready_i"),
            local_phit_out: dut.lanes("local_phit_o", 3 * config.locals()),
            control_in: dut.pin("control_i"),
            control_data_in: dut.pin("control_data_i"),
            control_out: dut.pin("control_o"),
            control_data_out: dut.pin("control_data_o"),
            drop: dut.pin("drop_o"),
            tx: links("link_tx_o"),
            rx: links("link_rx_o"),
            idle: dut.pin("idle_o"),
        }
    }
}

/// A queue of phits that wait at an input channel.
#[derive(Debug, Clone)]
struct Line {
    queue: VecDeque<(Phit, u64)>,
    pace: Pace,
    /// Whether a local port offers its phit. An offer stays until it is accepted.
    on_offer: bool,
}

struct Rig {
    config: Config,
    dut: Dut,
    pins: Pins,
    rng: Random,
    forward: Vec<Option<u64>>,
    dateline: u64,
    /// By port and channel.
    lines: Vec<Vec<Line>>,
    /// Credits for entering phits, by link and channel.
    credits: Vec<[usize; VCS]>,
    /// Phits in the router whose credits have not been returned, by link and channel.
    held: Vec<[usize; VCS]>,
    /// Pace at which each link returns credits, by channel, and at which each local port accepts
    /// phits.
    sinks: Vec<[Pace; VCS]>,
    /// By output port and channel, and by source.
    expected: Vec<[Vec<VecDeque<Coming>>; VCS]>,
    /// The packet in progress with its source, by output port and channel.
    under_way: Vec<[Option<(Place, u64)>; VCS]>,
    inside: usize,
    packets: u64,
    drops_due: u64,
    drops_seen: u64,
    arrivals: Vec<Vec<Arrival>>,
    rx_before: u64,
    control_rx: u64,
    /// A control phit that will arrive on a link.
    control_in: Option<(usize, u64)>,
    /// Control phits that left: link and phit.
    control_sent: Vec<(usize, Phit)>,
    control_heard: Vec<u64>,
}

impl Rig {
    fn new(config: Config, bench: &'static str) -> Self {
        let mut rng = Random::new(bench);
        let dateline = rng.random::<u64>() & ((1 << config.links) - 1);
        Self::with_dateline(config, rng, dateline)
    }

    /// With the given link ports at the dateline.
    fn with_dateline(config: Config, rng: Random, dateline: u64) -> Self {
        let mut dut = Dut::start(&config.recipe());
        let pins = Pins::new(&dut, config);
        let pin = dut.pin("dateline_i");
        dut.set(pin, 0, dateline);
        dut.reset();
        let ports = config.ports();
        let line = Line {
            queue: VecDeque::new(),
            pace: Pace::Always,
            on_offer: false,
        };
        let sources = ports * VCS;
        let mut rig = Self {
            config,
            dut,
            pins,
            rng,
            forward: vec![None; config.dests],
            dateline,
            lines: vec![vec![line; VCS]; ports],
            credits: vec![[config.vc_depth; VCS]; config.links],
            held: vec![[0; VCS]; config.links],
            sinks: vec![[Pace::Always; VCS]; ports],
            expected: (0..ports)
                .map(|_| std::array::from_fn(|_| vec![VecDeque::new(); sources]))
                .collect(),
            under_way: vec![[None; VCS]; ports],
            inside: 0,
            packets: 0,
            drops_due: 0,
            drops_seen: 0,
            arrivals: vec![Vec::new(); ports],
            rx_before: 0,
            control_rx: 0,
            control_in: None,
            control_sent: Vec::new(),
            control_heard: Vec::new(),
        };
        rig.fill_table();
        rig
    }

    /// Fills the table. Every link and this board have at least one destination. Some entries name
    /// no existing link, some are absent.
    fn fill_table(&mut self) {
        let links = self.config.links as u64;
        for rank in 0..self.config.dests {
            let port = match rank as u64 {
                link if link < links => Some(link),
                link if link == links => Some(HERE),
                _ => match self.rng.random_range(0..8) {
                    0 => None,
                    1 => Some(links + self.rng.random_range(0..15 - links)),
                    2 | 3 => Some(HERE),
                    _ => Some(self.rng.random_range(0..links)),
                },
            };
            // The last entry stays empty.
            let port = port.filter(|_| rank + 1 < self.config.dests);
            self.forward[rank] = port;
            if let Some(port) = port {
                self.write_forward(rank, port);
            }
        }
    }

    fn write_forward(&mut self, rank: usize, port: u64) {
        let [write, place, value] =
            ["forward_write_i", "forward_rank_i", "forward_port_i"].map(|name| self.dut.pin(name));
        self.dut.set(write, 0, 1);
        self.dut.set(place, 0, rank as u64);
        self.dut.set(value, 0, port);
        self.dut.clock();
        self.dut.set(write, 0, 0);
        self.dut.settle();
    }

    /// Expected exit of a phit from its entry; `None` if it is dropped.
    fn route(&self, from: Place, phit: Phit) -> Option<Place> {
        let (port, vc) = from;
        let links = self.config.links;
        let class = if port < links {
            vc / 2
        } else {
            Config::class(port - links)
        };
        let to = (*self.forward.get(phit.dest())?)?;
        if to == HERE {
            return match class {
                0 | 1 => Some((links + class, 0)),
                _ if phit.stage() < self.config.stages => Some((links + 2 + phit.stage(), 0)),
                _ => None,
            };
        }
        let to = to as usize;
        if to >= links {
            return None;
        }
        let stays = port < links && port / 2 == to / 2;
        let crossed = (stays && vc % 2 == 1) || self.dateline >> to & 1 == 1;
        Some((to, 2 * class + usize::from(crossed)))
    }

    /// A rank behind the given link, or on this board for `None`.
    fn rank_to(&mut self, link: Option<usize>) -> usize {
        let port = link.map_or(HERE, |link| link as u64);
        let ranks: Vec<usize> = (0..self.config.dests)
            .filter(|&rank| self.forward[rank] == Some(port))
            .collect();
        *ranks.choose(&mut *self.rng).expect("every way has a rank")
    }

    /// Queues a packet.
    fn send(&mut self, from: Place, dest: usize, stage: usize, length: usize) {
        let shared = (self.rng.random::<u64>() & 0xffff_7fff_0000) & !(7 << 32);
        for index in 0..length {
            let last = u64::from(index + 1 == length);
            let phit = Phit {
                data: self.rng.random(),
                header: shared | dest as u64 | last << 31 | (stage as u64) << 32,
                position: self.rng.random::<u64>() & 0xffff_ffff,
            };
            self.lines[from.0][from.1]
                .queue
                .push_back((phit, self.packets));
        }
        self.packets += 1;
    }

    fn random_packet(&mut self, from: Place, longest: usize) {
        let dest = match self.rng.random_range(0..40) {
            0 => self.rng.random_range(0..65536),
            1 => self.config.dests - 1,
            _ => self.rng.random_range(0..self.config.dests),
        };
        let stages = if self.rng.random_ratio(1, 20) {
            8
        } else {
            self.config.stages
        };
        let stage = self.rng.random_range(0..stages);
        let length = self.rng.random_range(1..=longest);
        self.send(from, dest, stage, length);
    }

    fn willing(&mut self, pace: Pace) -> bool {
        match pace {
            Pace::Always => true,
            Pace::Never => false,
            Pace::Chance(chance) => self.rng.random_bool(chance),
            Pace::Bursts { .. } => self.rng.random_bool(0.5),
        }
    }

    fn set_sinks(&mut self, pace: Pace) {
        self.sinks.iter_mut().for_each(|sink| *sink = [pace; VCS]);
    }

    fn set_lines(&mut self, pace: Pace) {
        self.lines
            .iter_mut()
            .flatten()
            .for_each(|line| line.pace = pace);
    }

    fn set_phit(&mut self, pin: Pin, lane: usize, phit: Phit) {
        for (index, value) in phit.lanes().into_iter().enumerate() {
            self.dut.set(pin, 3 * lane + index, value);
        }
    }

    fn get_phit(&self, pin: Pin, lane: usize) -> Phit {
        Phit::from_lanes(std::array::from_fn(|index| {
            self.dut.get(pin, 3 * lane + index)
        }))
    }

    fn cycle(&mut self) {
        let now = self.dut.cycle();
        let sent: Vec<Option<usize>> = (0..self.config.links)
            .map(|link| self.drive_link(link))
            .collect();
        for link in 0..self.config.links {
            self.drive_credit(link);
        }
        for local in 0..self.config.locals() {
            self.drive_local(local);
        }
        self.dut.settle();
        self.check_state(now);
        for link in 0..self.config.links {
            self.receive_link(link, now);
        }
        for local in 0..self.config.locals() {
            self.receive_local(local, now);
        }
        let mut rx = std::mem::take(&mut self.control_rx);
        for (link, vc) in sent.into_iter().enumerate() {
            if let Some(vc) = vc {
                self.enter((link, vc), now);
                rx |= 1 << link;
            }
        }
        self.rx_before = rx;
        for local in 0..self.config.locals() {
            if self.dut.was_set(self.pins.local_valid_in, local)
                && self.dut.get(self.pins.local_ready_out, local) == 1
            {
                self.lines[self.config.links + local][0].on_offer = false;
                self.enter((self.config.links + local, 0), now);
            }
        }
        let noise = self.rng.random();
        self.dut.clock();
        self.dut.set(self.pins.control_in, 0, 0);
        self.dut.set(self.pins.control_data_in, 0, noise);
    }

    fn drive_link(&mut self, link: usize) -> Option<usize> {
        if let Some((_, data)) = self.control_in.take_if(|&mut (at, _)| at == link) {
            self.dut.set(self.pins.link_valid_in, link, 1);
            self.dut.set(self.pins.link_vc_in, link, CONTROL);
            self.set_phit(
                self.pins.link_phit_in,
                link,
                Phit {
                    data,
                    ..Phit::default()
                },
            );
            self.control_rx = 1 << link;
            return None;
        }
        let able: Vec<usize> = (0..VCS)
            .filter(|&vc| {
                let line = &self.lines[link][vc];
                !line.queue.is_empty() && self.credits[link][vc] > 0
            })
            .collect();
        let mut chosen = None;
        if let Some(&vc) = able.choose(&mut *self.rng) {
            let pace = self.lines[link][vc].pace;
            if self.willing(pace) {
                chosen = Some(vc);
            }
        }
        let phit = match chosen {
            Some(vc) => self.lines[link][vc].queue[0].0,
            None => Phit {
                data: self.rng.random(),
                header: self.rng.random::<u64>() >> 16,
                position: 0,
            },
        };
        let vc = chosen.unwrap_or_else(|| self.rng.random_range(0..VCS));
        self.dut
            .set(self.pins.link_valid_in, link, u64::from(chosen.is_some()));
        self.dut.set(self.pins.link_vc_in, link, vc as u64);
        self.set_phit(self.pins.link_phit_in, link, phit);
        chosen
    }

    fn drive_credit(&mut self, link: usize) {
        let able: Vec<usize> = (0..VCS)
            .filter(|&vc| self.held[link][vc] > 0 && self.sinks[link][vc] != Pace::Never)
            .collect();
        let mut chosen = None;
        if let Some(&vc) = able.choose(&mut *self.rng) {
            let pace = self.sinks[link][vc];
            if self.willing(pace) {
                chosen = Some(vc);
                self.held[link][vc] -= 1;
            }
        }
        self.dut
            .set(self.pins.link_credit_in, link, u64::from(chosen.is_some()));
        let vc = chosen.unwrap_or_else(|| self.rng.random_range(0..VCS));
        self.dut.set(self.pins.link_credit_vc_in, link, vc as u64);
    }

    fn drive_local(&mut self, local: usize) {
        let port = self.config.links + local;
        let line = &self.lines[port][0];
        let (pace, on_offer, empty) = (line.pace, line.on_offer, line.queue.is_empty());
        let offer = on_offer || (!empty && self.willing(pace));
        let phit = match self.lines[port][0].queue.front() {
            Some(&(phit, _)) if offer => phit,
            _ => Phit {
                data: self.rng.random(),
                header: self.rng.random::<u64>() >> 16,
                position: 0,
            },
        };
        self.lines[port][0].on_offer = offer;
        self.dut
            .set(self.pins.local_valid_in, local, u64::from(offer));
        self.set_phit(self.pins.local_phit_in, local, phit);
        let ready = self.willing(self.sinks[port][0]);
        self.dut
            .set(self.pins.local_ready_in, local, u64::from(ready));
    }

    fn check_state(&mut self, now: u64) {
        self.drops_seen += self.dut.get(self.pins.drop, 0);
        assert!(
            self.drops_seen <= self.drops_due,
            "cycle {now}: drop_o for no packet"
        );
        let idle = self.dut.get(self.pins.idle, 0) == 1;
        assert!(
            !(idle && self.inside > 0),
            "cycle {now}: idle_o with {} phits inside",
            self.inside
        );
        let rx = (0..self.config.links)
            .map(|link| self.dut.get(self.pins.rx, link) << link)
            .sum();
        assert_eq!(self.rx_before, rx, "cycle {now}: link_rx_o");
        for link in 0..self.config.links {
            assert_eq!(
                self.dut.get(self.pins.tx, link),
                self.dut.get(self.pins.link_valid_out, link),
                "cycle {now}: link_tx_o of {link}"
            );
            if self.dut.get(self.pins.link_credit_out, link) == 1 {
                let vc = self.dut.get(self.pins.link_credit_vc_out, link) as usize;
                self.credits[link][vc] += 1;
                assert!(
                    self.credits[link][vc] <= self.config.vc_depth,
                    "cycle {now}: link {link} gives back a credit of channel {vc} too many"
                );
            }
        }
        if self.dut.get(self.pins.control_out, 0) == 1 {
            self.control_heard
                .push(self.dut.get(self.pins.control_data_out, 0));
        }
    }

    /// Records the entry of a phit.
    fn enter(&mut self, from: Place, now: u64) {
        let Some((phit, packet)) = self.lines[from.0][from.1].queue.pop_front() else {
            panic!("nothing was queued at {from:?}");
        };
        if from.0 < self.config.links {
            self.credits[from.0][from.1] -= 1;
        }
        match self.route(from, phit) {
            Some(to) => {
                self.expected[to.0][to.1][from.0 * VCS + from.1].push_back(Coming {
                    phit,
                    from,
                    packet,
                    since: now,
                });
                self.inside += 1;
            }
            None => self.drops_due += u64::from(phit.last()),
        }
    }

    fn receive_link(&mut self, link: usize, now: u64) {
        if self.dut.get(self.pins.link_valid_out, link) == 0 {
            return;
        }
        let vc = self.dut.get(self.pins.link_vc_out, link);
        let phit = self.get_phit(self.pins.link_phit_out, link);
        if vc == CONTROL {
            self.control_sent.push((link, phit));
            return;
        }
        let vc = vc as usize;
        assert!(vc < VCS, "cycle {now}: link {link} sends on channel {vc}");
        self.held[link][vc] += 1;
        assert!(
            self.held[link][vc] <= self.config.vc_depth,
            "cycle {now}: link {link} over-runs channel {vc}"
        );
        self.arrive((link, vc), phit, now);
    }

    fn receive_local(&mut self, local: usize, now: u64) {
        if self.dut.get(self.pins.local_valid_out, local) == 0
            || !self.dut.was_set(self.pins.local_ready_in, local)
        {
            return;
        }
        let phit = self.get_phit(self.pins.local_phit_out, local);
        self.arrive((self.config.links + local, 0), phit, now);
    }

    fn arrive(&mut self, to: Place, phit: Phit, now: u64) {
        let at = format!("cycle {now}, output {to:?}");
        let lines = &mut self.expected[to.0][to.1];
        let coming = match self.under_way[to.0][to.1] {
            // Within a packet, only its own next phit may follow.
            Some((from, packet)) => {
                let next = lines[from.0 * VCS + from.1].pop_front();
                next.filter(|next| next.packet == packet && next.phit == phit)
            }
            None => {
                let found = lines
                    .iter()
                    .position(|line| line.front().is_some_and(|next| next.phit == phit));
                found.and_then(|line| lines[line].pop_front())
            }
        };
        let Some(coming) = coming else {
            panic!(
                "{at}: {phit:x?} is unexpected; in progress: {:?}",
                self.under_way[to.0][to.1]
            );
        };
        self.under_way[to.0][to.1] = (!phit.last()).then_some((coming.from, coming.packet));
        self.inside -= 1;
        self.arrivals[to.0].push(Arrival {
            cycle: now,
            from: coming.from,
            latency: now - coming.since,
            is_last: phit.last(),
        });
    }

    fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.cycle();
        }
    }

    fn queued(&self) -> usize {
        self.lines
            .iter()
            .flatten()
            .map(|line| line.queue.len())
            .sum()
    }

    /// Drains the router, and forgets the arrivals.
    fn drain_and_forget(&mut self) {
        self.drain();
        self.arrivals.iter_mut().for_each(Vec::clear);
    }

    /// Waits until all phits have arrived, then checks that the router is empty.
    fn drain(&mut self) {
        self.set_sinks(Pace::Always);
        self.set_lines(Pace::Always);
        let most = 100 * (self.queued() + self.inside) as u64 + 2000;
        let start = self.dut.cycle();
        while self.queued() + self.inside > 0 {
            assert!(
                self.dut.cycle() - start < most,
                "{} phits wait outside, {} inside, and nothing moves",
                self.queued(),
                self.inside
            );
            self.cycle();
        }
        // Credits return one per cycle and link. Drops are reported one per cycle in total.
        self.run(20 + 6 * self.config.vc_depth as u64 + self.drops_due - self.drops_seen);
        assert_eq!(
            self.dut.get(self.pins.idle, 0),
            1,
            "idle_o when all has arrived"
        );
        assert_eq!(self.drops_seen, self.drops_due, "packets dropped");
        for (link, credits) in self.credits.iter().enumerate() {
            assert_eq!(
                *credits, [self.config.vc_depth; VCS],
                "credits of link {link}"
            );
        }
    }

    fn places(&self) -> Vec<Place> {
        let links = self.config.links;
        (0..self.config.ports())
            .flat_map(|port| (0..if port < links { VCS } else { 1 }).map(move |vc| (port, vc)))
            .collect()
    }
}

fn random(config: Config) {
    let mut rig = Rig::new(config, "switch_router random");
    let places = rig.places();
    let paces = [
        (Pace::Always, Pace::Always, 4),
        (Pace::Chance(0.3), Pace::Always, 1),
        (Pace::Always, Pace::Chance(0.3), 9),
        (Pace::Chance(0.6), Pace::Chance(0.6), 3),
        (Pace::Chance(0.05), Pace::Chance(0.9), 3),
    ];
    for (source, sink, longest) in paces {
        rig.set_lines(source);
        rig.set_sinks(sink);
        for cycle in 0..soak(1500) {
            if cycle % 8 == 0 {
                for &place in &places {
                    if rig.lines[place.0][place.1].queue.len() < 8 {
                        rig.random_packet(place, longest);
                    }
                }
            }
            rig.cycle();
        }
        rig.drain();
    }
}

/// A reset leaves nothing of the traffic before it: the same phits pass in the same cycles after other traffic.
fn reset(config: Config) {
    let mut rig = Rig::new(config, "switch_router reset");
    for _ in 0..soak(12) {
        let start = rig.rng.clone();
        let first = rig.program();
        rig.set_sinks(Pace::Chance(0.3));
        let cycles = rig.rng.random_range(100..400);
        rig.random_traffic(cycles, 9);
        rig.reset();
        let rest = std::mem::replace(&mut *rig.rng, start);
        assert!(
            rig.program() == first,
            "phits pass in another order, or later"
        );
        *rig.rng = rest;
        let cycles = rig.rng.random_range(100..400);
        rig.random_traffic(cycles, 9);
        rig.reset();
    }
}

impl Rig {
    fn random_traffic(&mut self, cycles: u64, longest: usize) {
        for _ in 0..cycles {
            for place in self.places() {
                if self.lines[place.0][place.1].queue.len() < 8 {
                    self.random_packet(place, longest);
                }
            }
            self.cycle();
        }
    }

    /// Random traffic until the router is empty. Returns the arrivals at each port, with cycles since the beginning.
    fn program(&mut self) -> Vec<Vec<Arrival>> {
        let start = self.dut.cycle();
        self.set_lines(Pace::Always);
        self.set_sinks(Pace::Chance(0.3));
        self.random_traffic(300, 9);
        self.drain();
        for arrival in self.arrivals.iter_mut().flatten() {
            arrival.cycle -= start;
        }
        self.arrivals.iter_mut().map(std::mem::take).collect()
    }

    /// Resets the router amid its traffic, which is lost, and writes the forwarding table again.
    fn reset(&mut self) {
        for (pin, lanes) in [
            (self.pins.link_valid_in, self.config.links),
            (self.pins.link_credit_in, self.config.links),
            (self.pins.local_valid_in, self.config.locals()),
        ] {
            (0..lanes).for_each(|lane| self.dut.set(pin, lane, 0));
        }
        self.dut.reset();
        for (rank, port) in self.forward.clone().into_iter().enumerate() {
            if let Some(port) = port {
                self.write_forward(rank, port);
            }
        }
        for line in self.lines.iter_mut().flatten() {
            line.queue.clear();
            line.on_offer = false;
        }
        self.credits.fill([self.config.vc_depth; VCS]);
        self.held.fill([0; VCS]);
        for lines in self.expected.iter_mut().flatten().flatten() {
            lines.clear();
        }
        self.under_way.fill([None; VCS]);
        self.arrivals.iter_mut().for_each(Vec::clear);
        (self.inside, self.drops_due, self.drops_seen) = (0, 0, 0);
        (self.rx_before, self.control_rx) = (0, 0);
    }

    /// Sends a packet to a link or, for `None`, to this board's port of the packet's class and
    /// stage 0.
    fn send_to(&mut self, from: Place, link: Option<usize>, length: usize) {
        let dest = self.rank_to(link);
        self.send(from, dest, 0, length);
    }

    fn is_collective(&self, from: Place) -> bool {
        let links = self.config.links;
        if from.0 < links {
            from.1 >= 4
        } else {
            from.0 >= links + 2
        }
    }

    /// Arrivals at a port since the last call.
    fn take_arrivals(&mut self, port: usize) -> Vec<Arrival> {
        std::mem::take(&mut self.arrivals[port])
    }

    /// Fills the queue of a source with packets of the given length.
    fn keep_busy(&mut self, from: Place, link: Option<usize>, length: usize) {
        while self.lines[from.0][from.1].queue.len() < 4 * length.max(4) {
            self.send_to(from, link, length);
        }
    }
}

/// Cycles through an idle router.
const LATENCY: u64 = 4;

fn latency(config: Config) {
    let mut rig = Rig::new(config, "switch_router latency");
    for from in rig.places() {
        for to in (0..config.links).map(Some).chain([None]) {
            let length = if rig.is_collective(from) { 1 } else { 3 };
            rig.send_to(from, to, length);
            rig.run(20);
            for port in 0..config.ports() {
                for arrival in rig.take_arrivals(port) {
                    assert_eq!(
                        (arrival.from, arrival.latency),
                        (from, LATENCY),
                        "to {to:?}"
                    );
                }
            }
        }
    }
    rig.drain();
}

/// Capacity in phits of the queue of a local input, and of a local output.
const LOCAL_IN: usize = 8;
const LOCAL_OUT: usize = 4;

/// An input accepts exactly as many phits as it has space for while nothing leaves.
fn room(config: Config) {
    let mut rig = Rig::new(config, "switch_router room");
    for from in rig.places() {
        for to in [Some(1), None] {
            rig.set_sinks(Pace::Never);
            for _ in 0..120 {
                rig.keep_busy(from, to, 1);
                rig.cycle();
            }
            let input = if from.0 < config.links {
                config.vc_depth
            } else {
                LOCAL_IN
            };
            let output = if to.is_none() { LOCAL_OUT } else { 0 };
            assert_eq!(rig.inside, input + output, "from {from:?} to {to:?}");
            rig.drain();
        }
    }
}

/// Checks that every port transfers a phit in every cycle, from its first phit on.
fn assert_no_bubbles(rig: &mut Rig, ports: impl Iterator<Item = usize>, cycles: u64, what: &str) {
    for port in ports {
        let arrivals = rig.take_arrivals(port);
        let first = arrivals.first().map_or(0, |arrival| arrival.cycle);
        let last = arrivals.last().map_or(0, |arrival| arrival.cycle);
        assert_eq!(
            last - first + 1,
            arrivals.len() as u64,
            "{what}: bubbles at output {port}"
        );
        assert!(
            arrivals.len() as u64 + 30 > cycles,
            "{what}: output {port} is slow"
        );
    }
}

fn throughput(config: Config) {
    let cycles = 120;
    let mut rig = Rig::new(config, "switch_router throughput");
    let (links, locals) = (config.links, config.locals());
    for shift in 0..links {
        for (vc, length) in (0..VCS).flat_map(|vc| [1, 2, 3, 7].map(|length| (vc, length))) {
            for _ in 0..cycles {
                (0..links).for_each(|link| {
                    rig.keep_busy((link, vc), Some((link + shift) % links), length)
                });
                rig.cycle();
            }
            assert_no_bubbles(
                &mut rig,
                0..links,
                cycles,
                &format!("shift {shift}, channel {vc}, length {length}"),
            );
            rig.drain();
            (0..config.ports()).for_each(|port| drop(rig.take_arrivals(port)));
        }
    }
    // Local ports to links and links to local ports, concurrently, as many local ports at a time as there are links.
    let rounds = (0..locals)
        .step_by(links)
        .flat_map(|first| [(first, 1), (first, 3)]);
    for (first, length) in rounds {
        let pairs: Vec<(usize, usize)> = (first..locals.min(first + links))
            .map(|local| (local, local - first))
            .collect();
        for _ in 0..cycles {
            for &(local, link) in &pairs {
                let class = Config::class(local);
                rig.keep_busy((links + local, 0), Some(link), length);
                let dest = rig.rank_to(None);
                while rig.lines[link][2 * class].queue.len() < 20 {
                    rig.send((link, 2 * class), dest, local.saturating_sub(2), length);
                }
            }
            rig.cycle();
        }
        assert_no_bubbles(
            &mut rig,
            pairs
                .iter()
                .flat_map(|&(local, link)| [link, links + local]),
            cycles,
            &format!("local ports from {first} on, length {length}"),
        );
        rig.drain();
        (0..config.ports()).for_each(|port| drop(rig.take_arrivals(port)));
    }
    // An input whose channels lead to different links is busy in every cycle.
    for _ in 0..cycles {
        (0..VCS).for_each(|vc| rig.keep_busy((0, vc), Some(vc % links), 1));
        rig.cycle();
    }
    let arrived: usize = (0..links).map(|port| rig.take_arrivals(port).len()).sum();
    assert!(
        arrived as u64 + 30 > cycles,
        "one input to all links: {arrived} phits in {cycles} cycles"
    );
}

/// A packet on a channel whose neighbours have no credits at any link loses no cycle. The next packet
/// follows a cycle later, as others wait for the same link.
fn neighbours_without_credits(config: Config) {
    let cycles = 100;
    let mut rig = Rig::with_dateline(config, Random::new("switch_router neighbours"), 0);
    let links = config.links;
    for vc in 0..VCS {
        for (link, other) in (0..links).flat_map(|link| (0..VCS).map(move |other| (link, other))) {
            if other != vc {
                rig.sinks[link][other] = Pace::Never;
            }
        }
        // More phits than there are credits, through the ring of the link: an odd channel stays odd there.
        for _ in 0..200 {
            for (link, other) in (0..links).flat_map(|link| (0..VCS).map(move |at| (link, at))) {
                if other != vc {
                    rig.keep_busy((link ^ 1, other), Some(link), 1);
                }
            }
            rig.cycle();
        }
        let shifts: &[usize] = if vc % 2 == 0 { &[2, 3, 4] } else { &[] };
        let ways = (0..2)
            .map(|flip| (0..links).map(|link| link ^ flip).collect())
            .chain(shifts.iter().map(|shift| {
                (0..links)
                    .map(|link| (link + shift) % links)
                    .collect::<Vec<_>>()
            }));
        for way in ways.collect::<Vec<_>>() {
            (0..config.ports()).for_each(|port| drop(rig.take_arrivals(port)));
            for _ in 0..cycles {
                (0..links).for_each(|link| rig.keep_busy((link, vc), Some(way[link]), 7));
                rig.cycle();
            }
            for link in 0..links {
                let arrived = rig.take_arrivals(link).len() as u64;
                assert!(
                    8 * arrived > 7 * (cycles - 15),
                    "channel {vc} beside others, to {way:?}: {arrived} phits at link {link}"
                );
            }
            while (0..links).any(|link| !rig.lines[link][vc].queue.is_empty()) {
                rig.cycle();
            }
            rig.run(40);
        }
        rig.drain();
    }
}

/// Inputs that share an output take turns phit by phit, whatever output and class: all get the same
/// share, also while another input is busy with another output.
fn turns(config: Config) {
    let links = config.links;
    for dateline in [0, (1 << links) - 1] {
        let mut rig = Rig::with_dateline(config, Random::new("switch_router turns"), dateline);
        let outputs = (0..links)
            .flat_map(|link| (0..3).map(move |class| (Some(link), class, 0)))
            .chain((0..config.locals()).map(|local| (None, Config::class(local), local)));
        for (to, class, local) in outputs.collect::<Vec<_>>() {
            for aside in (0..links).map(Some).chain([None]) {
                let shares = rig.shares(to, class, local, aside);
                let (least, most) = (shares.iter().min(), shares.iter().max());
                assert!(
                    least
                        .zip(most)
                        .is_some_and(|(least, most)| 10 * least >= 9 * most),
                    "to {to:?}, class {class}, local {local}, beside {aside:?}: {shares:?}"
                );
            }
        }
    }
}

impl Rig {
    /// Phits of each input that get through while all inputs of a class have phits for one output; one
    /// input, aside, sends to another link instead.
    fn shares(
        &mut self,
        to: Option<usize>,
        class: usize,
        local: usize,
        aside: Option<usize>,
    ) -> Vec<u64> {
        let links = self.config.links;
        let locals = (0..self.config.locals()).filter(|&k| Config::class(k) == class);
        let sources: Vec<Place> = (0..links)
            .map(|link| (link, 2 * class))
            .chain(locals.map(|k| (links + k, 0)))
            .filter(|from| Some(from.0) != aside)
            .collect();
        for _ in 0..150 {
            for &from in &sources {
                while self.lines[from.0][from.1].queue.len() < 8 {
                    let dest = self.rank_to(to);
                    self.send(from, dest, local.saturating_sub(2), 1);
                }
            }
            if let Some(aside) = aside {
                let other = to.map_or(0, |link| (link + 1) % links);
                self.keep_busy((aside, 2 * ((class + 1) % 3)), Some(other), 1);
            }
            self.cycle();
        }
        let mut counts = vec![0u64; self.config.ports()];
        for arrival in self.take_arrivals(to.unwrap_or(links + local)) {
            counts[arrival.from.0] += 1;
        }
        self.drain();
        self.arrivals.iter_mut().for_each(Vec::clear);
        sources.iter().map(|from| counts[from.0]).collect()
    }
}

/// The two channels of a class of an input take turns, if both lead to the same channel of a link.
fn turns_of_a_pair(config: Config) {
    let links = config.links;
    let dateline = (1 << links) - 1;
    let mut rig = Rig::with_dateline(config, Random::new("switch_router pair"), dateline);
    for (link, class) in (0..links).flat_map(|link| (0..3).map(move |class| (link, class))) {
        let to = (link + 1) % links;
        // Both channels are full when the link gets credits again.
        rig.set_sinks(Pace::Never);
        for cycle in 0..200 {
            if cycle == 100 {
                rig.take_arrivals(to);
                rig.set_sinks(Pace::Always);
            }
            for odd in 0..2 {
                rig.keep_busy((link, 2 * class + odd), Some(to), 1);
            }
            rig.cycle();
        }
        let first = rig.take_arrivals(to);
        let odd = first[..24].iter().filter(|a| a.from.1 % 2 == 1).count();
        assert!(
            (10..=14).contains(&odd),
            "link {link}, class {class}: {odd} of 24"
        );
        rig.drain_and_forget();
    }
}

/// The channels of a link take turns, if each has an input of its own.
fn turns_of_channels(config: Config) {
    let links = config.links;
    let mut rig = Rig::with_dateline(config, Random::new("switch_router channels"), 0);
    for (to, odd) in (0..links).flat_map(|to| [1, 3].map(move |odd| (to, odd))) {
        let others: Vec<usize> = (0..links).filter(|link| link / 2 != to / 2).collect();
        // A packet stays on an odd channel within its ring alone.
        let even = (0..3).map(|class| (others[class], 2 * class));
        let sources: Vec<Place> = even.chain([(to ^ 1, odd), (to, 5)]).collect();
        for _ in 0..300 {
            for &from in &sources {
                rig.keep_busy(from, Some(to), 1);
            }
            rig.cycle();
        }
        let mut counts = [0u64; VCS];
        for arrival in rig.take_arrivals(to) {
            counts[arrival.from.1] += 1;
        }
        let shares = sources.iter().map(|from| counts[from.1]);
        assert!(
            shares
                .clone()
                .min()
                .zip(shares.max())
                .is_some_and(|(least, most)| 10 * least >= 9 * most),
            "to {to}: {counts:?}"
        );
        rig.drain_and_forget();
    }
}

/// Two channels of a link that are asked for at the same time, after a pause, are first in turns.
fn turns_after_a_pause(config: Config) {
    let mut rig = Rig::with_dateline(config, Random::new("switch_router pause"), 0);
    for to in 0..config.links {
        let dest = rig.rank_to(Some(to));
        let head = Phit {
            header: dest as u64,
            ..Phit::default()
        };
        let channel = |from: Place| rig.route(from, head).map(|place| place.1);
        let sources: Vec<(Place, usize)> = rig
            .places()
            .into_iter()
            .filter_map(|from| Some((from, channel(from)?)))
            .collect();
        let pairs = sources
            .iter()
            .flat_map(|a| sources.iter().map(move |b| (*a, *b)))
            .filter(|(a, b)| a.0.0 < b.0.0 && a.1 != b.1);
        for ((a, _), (b, _)) in pairs {
            let mut firsts = Vec::new();
            for _ in 0..6 {
                rig.send(a, dest, 0, 1);
                rig.send(b, dest, 0, 1);
                rig.run(12);
                let arrivals = rig.take_arrivals(to);
                assert_eq!(arrivals.len(), 2, "to {to}, from {a:?} and {b:?}");
                firsts.push(arrivals[0].from);
            }
            assert!(
                firsts.windows(2).all(|two| two[0] != two[1]),
                "to {to}: first are {firsts:?}"
            );
        }
    }
    rig.drain();
}

/// The classes of an input take turns, and so do the two channels of a class, if each channel of the input has a
/// channel of the link for itself.
fn turns_of_an_input(config: Config) {
    let mut rig = Rig::with_dateline(config, Random::new("switch_router input"), 0);
    // Phits that are in the input at first, for each channel. No credit comes back before they are gone.
    let depth = config.vc_depth;
    let inputs = (0..config.links).flat_map(|link| (1u32..1 << VCS).map(move |used| (link, used)));
    // All of them in the smallest configuration.
    for (link, used) in inputs.step_by(config.links - 1) {
        let channels: Vec<usize> = (0..VCS).filter(|vc| used >> vc & 1 == 1).collect();
        let classes: Vec<Vec<usize>> = (0..3)
            .map(|class| {
                channels
                    .iter()
                    .copied()
                    .filter(|vc| vc / 2 == class)
                    .collect()
            })
            .filter(|class: &Vec<usize>| !class.is_empty())
            .collect();
        rig.set_sinks(Pace::Never);
        // Control phits keep the links busy while the input fills up.
        for _ in 0..channels.len() * depth + 20 {
            for &vc in &channels {
                rig.keep_busy((link, vc), Some(link ^ 1), 1);
            }
            rig.dut.set(rig.pins.control_in, 0, 1);
            rig.cycle();
        }
        // Until a class with one channel has sent its phits.
        rig.run((classes.len() * depth) as u64);
        let arrivals = rig.take_arrivals(link ^ 1);
        let count = |class: &[usize]| {
            let of = |arrival: &&Arrival| class.contains(&arrival.from.1);
            arrivals.iter().filter(of).count()
        };
        for class in &classes {
            let share = arrivals.len() / classes.len();
            assert!(
                count(class).abs_diff(share) <= 2,
                "link {link}, channels {channels:?}: {} of {class:?}, {share} expected",
                count(class)
            );
            for &vc in class {
                assert!(
                    count(&[vc]).abs_diff(count(class) / class.len()) <= 2,
                    "link {link}, channels {channels:?}: {} of channel {vc}",
                    count(&[vc])
                );
            }
        }
        rig.control_sent.clear();
        rig.drain_and_forget();
    }
}

/// A channel of an output, and the inputs that lead there.
struct Outlet {
    port: usize,
    dest: usize,
    stage: usize,
    sources: Vec<Place>,
}

impl Rig {
    /// The channels of outputs that more than one input channel leads to.
    fn outlets(&mut self) -> Vec<Outlet> {
        let links = self.config.links;
        let targets = (0..links)
            .map(Some)
            .chain([None])
            .flat_map(|to| (0..self.config.stages).map(move |stage| (to, stage)))
            .filter(|&(to, stage)| to.is_none() || stage == 0)
            .collect::<Vec<_>>();
        let mut outlets = Vec::new();
        for (to, stage) in targets {
            let dest = self.rank_to(to);
            let head = Phit {
                header: dest as u64 | (stage as u64) << 32,
                ..Phit::default()
            };
            // Outputs have the channels that inputs have.
            for place in self.places() {
                let leads = |&from: &Place| self.route(from, head) == Some(place);
                let sources: Vec<Place> = self.places().into_iter().filter(leads).collect();
                // Requests and replies have no stage.
                let again = stage > 0 && place.0 < links + 2;
                if sources.len() > 1 && !again {
                    outlets.push(Outlet {
                        port: place.0,
                        dest,
                        stage,
                        sources,
                    });
                }
            }
        }
        outlets
    }

    /// Fills the queues of sources with packets.
    fn fill(&mut self, sources: &[Place], dest: usize, stage: usize, length: usize) {
        for &from in sources {
            while self.lines[from.0][from.1].queue.len() < 4 * length {
                self.send(from, dest, stage, length);
            }
        }
    }

    /// Runs while the given sources send packets.
    fn send_for(
        &mut self,
        cycles: u64,
        sources: &[Place],
        dest: usize,
        stage: usize,
        length: usize,
    ) {
        for _ in 0..cycles {
            self.fill(sources, dest, stage, length);
            self.cycle();
        }
    }

    /// The sources of the packets that have left at a port since the last call.
    fn take_packets(&mut self, port: usize) -> Vec<Place> {
        let mut arrivals = self.take_arrivals(port);
        arrivals.retain(|arrival| arrival.is_last);
        arrivals.into_iter().map(|arrival| arrival.from).collect()
    }
}

/// Long packets that wait for the same channel of an output get it in turns, one packet of each source.
fn turns_of_packets(config: Config) {
    let links = config.links;
    for dateline in [0, (1 << links) - 1] {
        let mut rig = Rig::with_dateline(config, Random::new("switch_router packets"), dateline);
        // Each packet takes as long as it takes the router to look at all input channels twice.
        let length = 2 * rig.places().len() + 4;
        // All of them in the smallest configuration.
        for outlet in rig.outlets().into_iter().step_by(links - 1) {
            let Outlet {
                port,
                dest,
                stage,
                sources,
            } = outlet;
            for _ in 0..5 * sources.len() * (length + 3) {
                for &from in &sources {
                    while rig.lines[from.0][from.1].queue.len() < length + config.vc_depth {
                        rig.send(from, dest, stage, length);
                    }
                }
                rig.cycle();
            }
            let packets = rig.take_packets(port);
            // The first packets come before all others wait.
            let turns = &packets[sources.len()..];
            assert!(turns.len() >= 3 * sources.len(), "port {port}: {packets:?}");
            for round in turns.windows(sources.len()) {
                assert!(
                    sources.iter().all(|from| round.contains(from)),
                    "port {port} of {sources:?}: {packets:?}"
                );
            }
            rig.drain_and_forget();
        }
    }
}

/// A packet that has waited for a channel until the router has seen it is the next one there, whatever sources its
/// own packet, the one before and a later one have.
fn waiting_packet_is_next(config: Config) {
    for dateline in [0, (1 << config.links) - 1] {
        let mut rig = Rig::with_dateline(config, Random::new("switch_router next"), dateline);
        let visits = rig.places().len();
        for outlet in rig.outlets() {
            let Outlet {
                port,
                dest,
                stage,
                sources,
            } = outlet;
            for &keeper in &sources {
                for &waits in sources.iter().filter(|&&from| from != keeper) {
                    for &late in sources
                        .iter()
                        .filter(|&&from| from != keeper && from != waits)
                    {
                        rig.send(keeper, dest, stage, visits + 40);
                        rig.run(10);
                        rig.send(waits, dest, stage, 2);
                        rig.run(visits as u64 + 10);
                        rig.send(late, dest, stage, 2);
                        while rig.queued() + rig.inside > 0 {
                            rig.cycle();
                        }
                        assert_eq!(
                            rig.take_packets(port),
                            [keeper, waits, late],
                            "port {port}, stage {stage}"
                        );
                    }
                }
            }
        }
        rig.drain();
    }
}

impl Rig {
    /// Two sources have sent as many packets to a port as each other. Drains the router.
    fn check_halves(&mut self, port: usize, before: Place, from: Place) {
        let packets = self.take_packets(port);
        let share = packets.iter().filter(|&&at| at == from).count();
        assert!(
            share.abs_diff(packets.len() - share) <= 2,
            "port {port}, from {before:?} and {from:?}: {packets:?}"
        );
        self.drain_and_forget();
    }
}

/// Packets of one input channel follow each other without a gap after another channel has sent to the same output.
/// Short packets of two inputs share the output.
fn packets_follow(config: Config) {
    let cycles = 60;
    let links = config.links;
    for dateline in [0, (1 << links) - 1] {
        let mut rig = Rig::with_dateline(config, Random::new("switch_router follow"), dateline);
        for outlet in rig.outlets() {
            let Outlet {
                port,
                dest,
                stage,
                sources,
            } = outlet;
            let pairs = sources
                .iter()
                .flat_map(|&before| sources.iter().map(move |&from| (before, from)));
            for (before, from) in pairs.filter(|(before, from)| before != from) {
                rig.send(before, dest, stage, 2);
                rig.run(12);
                rig.take_arrivals(port);
                rig.send_for(cycles, &[from], dest, stage, 3);
                assert_no_bubbles(
                    &mut rig,
                    [port].into_iter(),
                    cycles,
                    &format!("{from:?} after {before:?}"),
                );
                rig.drain_and_forget();
                // Channels of one link get phits at random.
                if before.0 == from.0 {
                    continue;
                }
                rig.send_for(cycles, &[before, from], dest, stage, 2);
                rig.check_halves(port, before, from);
                // Also while another channel of the input waits for a local output that takes no phit.
                if from.0 >= links {
                    continue;
                }
                for aside in from.1 + 1..VCS {
                    let local = links + aside / 2;
                    if local != port {
                        let here = rig.rank_to(None);
                        rig.sinks[local][0] = Pace::Never;
                        rig.send_for(20, &[(from.0, aside)], here, 0, 1);
                        rig.send_for(cycles, &[before, from], dest, stage, 2);
                        rig.check_halves(port, before, from);
                    }
                }
            }
        }
    }
}

/// A reservation of one outlet stays when that of another one ends.
fn reservations_do_not_meet(config: Config) {
    let mut rig = Rig::with_dateline(config, Random::new("switch_router two"), 0);
    let visits = rig.places().len();
    let length = 2 * visits + 60;
    let outlets = rig.outlets();
    let pairs = (0..outlets.len()).flat_map(|a| (0..outlets.len()).map(move |b| (a, b)));
    for (a, b) in pairs.filter(|(a, b)| a != b) {
        let (a, b) = (&outlets[a], &outlets[b]);
        let first: Vec<Place> = a.sources[..2].to_vec();
        let mut second = b.sources.clone();
        second.retain(|from| !first.contains(from));
        if second.len() < 3 {
            continue;
        }
        for (waits, late) in [(second[1], second[2]), (second[2], second[1])] {
            let keeper = second[0];
            rig.send(first[0], a.dest, a.stage, length);
            rig.send(keeper, b.dest, b.stage, length + 60);
            rig.run(10);
            rig.send(first[1], a.dest, a.stage, 2);
            rig.send(waits, b.dest, b.stage, 2);
            while rig.arrivals[a.port]
                .iter()
                .filter(|arrival| arrival.is_last)
                .count()
                < 2
            {
                rig.cycle();
            }
            rig.send(late, b.dest, b.stage, 2);
            while rig.queued() + rig.inside > 0 {
                rig.cycle();
            }
            let mut packets = rig.take_packets(b.port);
            packets.retain(|from| second.contains(from));
            assert_eq!(
                packets,
                [keeper, waits, late],
                "ports {} and {}",
                a.port,
                b.port
            );
            rig.arrivals.iter_mut().for_each(Vec::clear);
        }
    }
    rig.drain();
}

/// Phits of one class take turns with those of a long packet of another class, if both go to the same link.
fn classes_share_a_link(config: Config) {
    let links = config.links;
    let mut rig = Rig::with_dateline(config, Random::new("switch_router share"), 0);
    let sources = |to: usize, class: usize| {
        let local = if class < 2 { links + class } else { links + 2 };
        [(to, 2 * class), (to ^ 1, 2 * class), (local, 0)]
    };
    let pairs = (0..3)
        .flat_map(|a| (0..3).map(move |b| (a, b)))
        .filter(|(a, b)| a != b);
    for (to, (a, b)) in (0..links).flat_map(|to| pairs.clone().map(move |pair| (to, pair))) {
        for (long, short) in sources(to, a)
            .into_iter()
            .flat_map(|long| sources(to, b).map(|short| (long, short)))
            .filter(|(long, short)| long.0 != short.0)
        {
            for _ in 0..100 {
                for (from, length) in [(long, 20), (short, 1)] {
                    if rig.lines[from.0][from.1].queue.len() < 8 {
                        rig.send_to(from, Some(to), length);
                    }
                }
                rig.cycle();
            }
            let arrivals = rig.take_arrivals(to);
            let shares =
                [long, short].map(|from| arrivals.iter().filter(|a| a.from == from).count());
            assert!(
                shares[0].abs_diff(shares[1]) <= 8,
                "to {to}, from {long:?} and {short:?}: {shares:?}"
            );
            rig.drain_and_forget();
        }
    }
}

/// Without credits that come back, a channel of a link sends as many phits as it has credits. Each credit that comes
/// back lets one more phit go.
fn credits(config: Config) {
    let mut rig = Rig::with_dateline(config, Random::new("switch_router credits"), 0);
    let depth = config.vc_depth;
    for (to, vc) in (0..config.links).flat_map(|link| (0..VCS).map(move |vc| (link, vc))) {
        rig.set_sinks(Pace::Never);
        // The credits come back one by one, then several in a row.
        let mut sent = 0;
        for come_back in [0, 1, 1, 1, 2, 3, depth / 2 + 1, depth - 1, depth, 1] {
            rig.sinks[to][vc] = Pace::Always;
            for cycle in 0..come_back + depth + 12 {
                if cycle == come_back {
                    rig.sinks[to][vc] = Pace::Never;
                }
                rig.keep_busy((to ^ 1, vc), Some(to), 1);
                rig.cycle();
            }
            sent += if sent == 0 { depth } else { come_back };
            let arrived = rig.arrivals[to].len();
            assert_eq!(
                arrived, sent,
                "link {to}, channel {vc}, {come_back} credits"
            );
            assert_eq!(rig.held[to][vc], depth, "link {to}, channel {vc}");
        }
        rig.drain_and_forget();
    }
}

/// Credits of a channel that several inputs use come back slowly: the channel is never over-run.
fn scarce_credits(config: Config) {
    let links = config.links;
    for dateline in [0, (1 << links) - 1] {
        let mut rig = Rig::with_dateline(config, Random::new("switch_router scarce"), dateline);
        for (to, vc) in (0..links).flat_map(|link| (0..VCS).map(move |vc| (link, vc))) {
            rig.set_sinks(Pace::Chance(0.9));
            for _ in 0..150 {
                for link in 0..links {
                    rig.keep_busy((link, vc), Some(to), 1);
                }
                if let Some(local) = (0..config.locals()).find(|&k| Config::class(k) == vc / 2) {
                    rig.keep_busy((links + local, 0), Some(to), 1);
                }
                rig.cycle();
            }
            rig.drain();
        }
    }
}

/// Many inputs share an output. The output is busy in every cycle, and every input gets a share.
fn merging(config: Config) {
    let cycles = 3000;
    for length in [1, 4] {
        let mut rig = Rig::new(config, "switch_router merging");
        for to in [Some(config.links - 1), None] {
            // All inputs use the same output channel. Input 0 has two channels for it.
            let sources: Vec<Place> = (0..config.links)
                .map(|link| (link, 0))
                .chain([(0, 1), (config.links, 0)])
                .collect();
            for _ in 0..cycles {
                sources
                    .iter()
                    .for_each(|&from| rig.keep_busy(from, to, length));
                rig.cycle();
            }
            let port = to.unwrap_or(config.links);
            let arrivals = rig.take_arrivals(port);
            if length == 1 {
                assert_eq!(
                    arrivals[arrivals.len() - 1].cycle - arrivals[0].cycle + 1,
                    arrivals.len() as u64,
                    "bubbles at a shared output"
                );
            }
            // Inputs alternate by phit. Channels that wait for the end of a packet alternate by
            // packet: input 0 has one or two shares.
            let mut counts = vec![0u64; config.links + 1];
            let mut by_channel = [0u64; 2];
            for arrival in &arrivals {
                counts[arrival.from.0] += 1;
                if arrival.from.0 == 0 {
                    by_channel[arrival.from.1] += 1;
                }
            }
            // With two links, three inputs share the output, in an order that their packets' lengths fix.
            let fair = if length > 1 && config.links == 2 {
                5
            } else {
                7
            };
            for (counts, ratio) in [
                (&counts[..1], 1),
                (&counts[1..], 1),
                (&counts[..], 2),
                (&by_channel[..], 1),
            ] {
                let (least, most) = (counts.iter().min(), counts.iter().max());
                assert!(
                    least
                        .zip(most)
                        .is_some_and(|(least, most)| 10 * least * ratio > fair * most),
                    "length {length}, to {to:?}: shares {counts:?}"
                );
            }
            rig.drain();
        }
    }
}

/// Every input gets access to a free output, for any behaviour of the other inputs.
fn no_starvation(config: Config) {
    let mut rig = Rig::new(config, "switch_router no_starvation");
    let places = rig.places();
    for round in 0..soak(12) {
        // All phits go to one link or to this board, at the pace of a few credits.
        let to = if round % 3 == 0 {
            None
        } else {
            Some(rig.rng.random_range(0..config.links))
        };
        // With equal shares and packets of up to three phits, a link carries less than three phits of each
        // source between two packets of a source. The bound is larger, because an input does not always offer
        // the phit that an output channel waits for.
        let (pace, bound) = if round % 2 == 0 {
            (Pace::Always, 20 * places.len() as u64)
        } else {
            (Pace::Chance(0.3), 30 * places.len() as u64)
        };
        rig.set_sinks(pace);
        let mut longest = 0;
        let length = rig.rng.random_range(1..4);
        let mut last_seen: Vec<u64> = vec![rig.dut.cycle(); config.ports() * VCS];
        for _ in 0..1500 {
            for &from in &places {
                // The next packet follows after the arrival of the previous packet.
                let index = from.0 * VCS + from.1;
                let inside = rig
                    .expected
                    .iter()
                    .flatten()
                    .any(|lines| !lines[index].is_empty());
                if !inside && rig.lines[from.0][from.1].queue.is_empty() {
                    let length = if rig.is_collective(from) { 1 } else { length };
                    rig.send_to(from, to, length);
                }
            }
            rig.cycle();
            for port in 0..config.ports() {
                for arrival in rig.take_arrivals(port) {
                    last_seen[arrival.from.0 * VCS + arrival.from.1] = arrival.cycle;
                }
            }
            for &from in &places {
                longest = longest.max(rig.dut.cycle() - last_seen[from.0 * VCS + from.1]);
                assert!(
                    longest <= bound,
                    "round {round}, to {to:?}: {from:?} waits too long"
                );
            }
        }
        eprintln!("to {to:?}, {pace:?}, packets of {length}: longest wait {longest}");
        rig.drain();
        (0..config.ports()).for_each(|port| drop(rig.take_arrivals(port)));
    }
}

/// A phit of any channel of a link waits for a busy output, while all other channels of its input send to
/// an idle one. It is old after 64 cycles, and then stays on offer until its turn comes.
fn old_phits_stay_on_offer(config: Config) {
    let mut rig = Rig::new(config, "switch_router old_phits_stay_on_offer");
    let links = config.links;
    for (link, vc) in (0..links).flat_map(|link| (0..VCS).map(move |vc| (link, vc))) {
        let other_link = (link + 1) % links;
        for (busy, idle) in [(Some(other_link), link), (None, other_link)] {
            let class = vc / 2;
            let rivals: Vec<Place> = (0..links)
                .filter(|&other| other != link)
                .flat_map(|other| [(other, 2 * class), (other, 2 * class + 1)])
                .chain((0..config.locals()).filter_map(|local| {
                    let rival = busy.is_some() || Config::class(local) == class;
                    rival.then_some((links + local, 0))
                }))
                .collect();
            let mut last = rig.dut.cycle();
            let mut longest = 0;
            for _ in 0..400 {
                for &from in rivals.iter().chain([&(link, vc)]) {
                    rig.keep_busy(from, busy, 1);
                }
                for other in (0..VCS).filter(|&other| other != vc) {
                    rig.keep_busy((link, other), Some(idle), 1);
                }
                rig.cycle();
                for arrival in (0..config.ports()).flat_map(|port| rig.take_arrivals(port)) {
                    if arrival.from == (link, vc) {
                        longest = longest.max(arrival.cycle - last);
                        last = arrival.cycle;
                    }
                }
            }
            longest = longest.max(rig.dut.cycle() - last);
            assert!(
                longest <= 64 + 16,
                "link {link}, channel {vc}, to {busy:?}: a wait of {longest} cycles"
            );
            rig.drain();
            rig.arrivals.iter_mut().for_each(Vec::clear);
        }
    }
}

/// A phit waits for a link that all other inputs send to. Its offers give way to those of another channel of its
/// input, which sends to an idle output in every other cycle.
fn offers_give_way(config: Config) {
    let cycles = 600;
    let mut rig = Rig::with_dateline(config, Random::new("switch_router give way"), 0);
    let links = config.links;
    for (link, vc) in (0..links).flat_map(|link| (0..VCS).map(move |vc| (link, vc))) {
        let busy = link ^ 1;
        let rivals: Vec<Place> = (0..links)
            .filter(|&at| at != link)
            .map(|at| (at, vc))
            .chain((0..config.locals()).map(|local| (links + local, 0)))
            .collect();
        let mut passed = 0;
        for other in (0..VCS).filter(|&other| other != vc) {
            for _ in 0..cycles {
                for &from in rivals.iter().chain([&(link, vc)]) {
                    rig.keep_busy(from, Some(busy), 1);
                }
                rig.keep_busy((link, other), Some(link), 1);
                rig.cycle();
            }
            passed += rig.take_arrivals(link).len();
            rig.drain_and_forget();
        }
        let share = passed as f64 / f64::from(5 * cycles);
        // Less than a half, as an old phit stays on offer.
        assert!(share >= 0.46, "link {link}, beside channel {vc}: {share}");
    }
}

/// Requests that are not accepted stop only requests. A link without credits for requests also
/// stops only requests.
fn classes_do_not_meet(config: Config) {
    let cycles = 600;
    let mut rig = Rig::new(config, "switch_router classes_do_not_meet");
    let links = config.links;
    rig.sinks[links][0] = Pace::Never;
    for link in 0..links {
        rig.sinks[link][0] = Pace::Never;
        rig.sinks[link][1] = Pace::Never;
    }
    for cycle in 0..cycles + 200 {
        if cycle == 200 {
            (0..config.ports()).for_each(|port| drop(rig.take_arrivals(port)));
        }
        for link in 0..links {
            rig.keep_busy((link, 0), (link % 2 == 0).then_some((link + 1) % links), 3);
            rig.keep_busy((link, 1), (link % 2 == 1).then_some((link + 1) % links), 1);
            rig.keep_busy(
                (link, 2 + 2 * (cycle as usize % 2)),
                Some((link + 1) % links),
                1,
            );
        }
        rig.keep_busy((links, 0), Some(0), 2);
        rig.cycle();
    }
    for link in 0..links {
        let arrivals = rig.take_arrivals(link);
        assert!(
            arrivals.iter().all(|arrival| arrival.from.1 >= 2),
            "requests passed link {link}"
        );
        assert_eq!(
            arrivals.len() as u64,
            cycles,
            "link {link} is slowed down by requests"
        );
    }
    rig.drain();
}

/// A control phit passes ahead of all traffic, once on every link, and does not change other
/// traffic. A control phit of another run is dropped.
fn control(config: Config) {
    let mut rig = Rig::new(config, "switch_router control");
    let links = config.links;
    let key = u64::from(rig.rng.random::<u8>());
    let pin = rig.dut.pin("key_i");
    rig.dut.set(pin, 0, key);
    for round in 0..soak(40) {
        for _ in 0..10 {
            (0..links).for_each(|link| rig.keep_busy((link, 2), Some((link + 1) % links), 3));
            rig.cycle();
        }
        let data = u64::from(rig.rng.random::<u16>());
        rig.dut.set(rig.pins.control_in, 0, 1);
        rig.dut.set(rig.pins.control_data_in, 0, data);
        rig.cycle();
        rig.run(4);
        let sent = std::mem::take(&mut rig.control_sent);
        let phit = Phit {
            data: key << 16 | data,
            ..Phit::default()
        };
        let expected: Vec<_> = (0..links).map(|link| (link, phit)).collect();
        assert_eq!(sent, expected, "round {round}");
        // A control phit arrives on a link that is otherwise idle in this cycle.
        let link = rig.rng.random_range(0..links);
        rig.control_in = Some((link, (key ^ 1 << (round % 8)) << 16 | data));
        rig.cycle();
        rig.control_in = Some((link, key << 16 | data ^ 0xfff));
        rig.cycle();
        rig.run(2);
        assert_eq!(
            std::mem::take(&mut rig.control_heard),
            [data ^ 0xfff],
            "round {round}"
        );
    }
    rig.drain();
    for (link, other) in (0..links).flat_map(|link| (1..256).map(move |other| (link, other))) {
        rig.control_in = Some((link, (key ^ other) << 16));
        rig.cycle();
    }
    rig.run(2);
    assert_eq!(rig.control_heard, [], "control phits of other runs");
}

/// An entry of the forwarding table is valid once it has been written, until the next reset. A write for a rank beyond
/// the table changes nothing.
fn forwarding_table(config: Config) {
    let mut rig = Rig::new(config, "switch_router forwarding_table");
    let (links, dests) = (config.links, config.dests);
    for absent in (0..dests).step_by(dests.div_ceil(8)) {
        rig.dut.reset();
        for rank in 0..256 {
            let link = rig.rng.random_range(0..=links as u64);
            let port = if link < links as u64 { link } else { HERE };
            if rank != absent {
                rig.write_forward(rank, port);
            }
            if rank < dests {
                rig.forward[rank] = (rank != absent).then_some(port);
            }
        }
        for rank in 0..256 {
            rig.send((0, 0), rank, 0, 1);
            rig.send((links, 0), rank, 0, 1);
        }
        rig.drain();
    }
}

/// Phits without a destination are dropped at full rate. Their credits are returned, and the drops
/// are counted by packet.
fn dropped(config: Config) {
    let mut rig = Rig::new(config, "switch_router dropped");
    let links = config.links;
    let cycles = 100;
    for (vc, length) in (0..VCS).flat_map(|vc| [(vc, 1), (vc, 4)]) {
        let before = rig.drops_due;
        for _ in 0..cycles {
            for link in 0..links {
                while rig.lines[link][vc].queue.len() < 12 {
                    rig.send((link, vc), config.dests - 1, 0, length);
                }
            }
            rig.cycle();
        }
        let phits = (rig.drops_due - before) * length as u64;
        assert!(
            phits + 30 > cycles * links as u64,
            "slow: {phits} phits of channel {vc}"
        );
        rig.drain();
    }
    // A phit that is dropped takes a cycle of its input, as any other.
    for from in rig.places() {
        for to in (0..links).map(Some).chain([None]) {
            for _ in 0..cycles {
                while rig.lines[from.0][from.1].queue.len() < 8 {
                    rig.send_to(from, to, 1);
                    rig.send(from, config.dests - 1, 0, 1);
                }
                rig.cycle();
            }
            let arrived: usize = (0..config.ports())
                .map(|port| rig.take_arrivals(port).len())
                .sum();
            assert!(
                2 * arrived as u64 + 16 > cycles,
                "slow: {arrived} phits from {from:?} between others that are dropped"
            );
            rig.drain_and_forget();
        }
    }
    let dest = rig.rank_to(None);
    for stage in config.stages..8 {
        rig.send((0, 4), dest, stage, 1);
        rig.send((links + 2, 0), dest, stage, 1);
    }
    rig.send((0, 0), 256, 0, 2);
    rig.send((links, 0), 0xff00, 0, 2);
    let before = rig.drops_due;
    rig.drain();
    assert_eq!(rig.drops_seen - before, 2 * (8 - config.stages) as u64 + 2);
}
