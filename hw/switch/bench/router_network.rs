//! Routers connected to rings and tori: random traffic of all classes with slow sinks, and a
//! watchdog that describes a deadlock.
//!
//! The router models are those of `router.rs`. Links, boards and traffic are in this file.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use alcor_hw_bench::{Dut, Pin, Random, full};
use rand::Rng;

use crate::switch_router::{CONTROL, Config, HERE, LARGE, MIDDLE, Phit, Pins, SMALL, VCS};

/// Number of cycles without movement after which the watchdog fires. Every sink sleeps for a much
/// shorter time.
const WATCH: u64 = 4000;
/// Maximum sleep of a board's sink for requests.
const SLEEP: u64 = 300;
/// Number of requests that a board holds while their replies wait.
const SERVED: usize = 2;

/// A network: boards in up to three dimensions.
#[derive(Debug, Clone, Copy)]
struct Shape {
    config: Config,
    size: [usize; 3],
    /// Cycles of a phit or a credit on a link.
    latency: u64,
    /// Whether the routers know their datelines.
    datelines: bool,
}

impl Shape {
    fn boards(self) -> usize {
        self.size.iter().product()
    }

    fn place(self, board: usize) -> [usize; 3] {
        [
            board % self.size[0],
            board / self.size[0] % self.size[1],
            board / self.size[0] / self.size[1],
        ]
    }

    fn board(self, place: [usize; 3]) -> usize {
        place[0] + self.size[0] * (place[1] + self.size[1] * place[2])
    }

    /// The board at the other end of a link port. The port at that board is the other port of the
    /// pair.
    fn peer(self, board: usize, port: usize) -> usize {
        let mut place = self.place(board);
        let (dimension, size) = (port / 2, self.size[port / 2]);
        let step = if port.is_multiple_of(2) { 1 } else { size - 1 };
        place[dimension] = (place[dimension] + step) % size;
        self.board(place)
    }

    /// The port from one board towards another: dimension by dimension, in the shorter direction.
    fn port(self, from: usize, to: usize) -> u64 {
        let (here, there) = (self.place(from), self.place(to));
        for dimension in 0..3 {
            let size = self.size[dimension];
            let ahead = (there[dimension] + size - here[dimension]) % size;
            if ahead == 0 {
                continue;
            }
            let back = size - ahead;
            let minus = back < ahead || (back == ahead && to % 2 == 1);
            return (2 * dimension + usize::from(minus)) as u64;
        }
        HERE
    }

    /// Link ports of a board that cross a dateline.
    fn dateline(self, board: usize) -> u64 {
        if !self.datelines {
            return 0;
        }
        let place = self.place(board);
        (0..self.config.links)
            .filter(|port| {
                let (here, size) = (place[port / 2], self.size[port / 2]);
                if port % 2 == 0 {
                    here + 1 == size
                } else {
                    here == 0
                }
            })
            .map(|port| 1 << port)
            .sum()
    }
}

/// A channel of a link, at the side of its buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Blocked {
    board: usize,
    port: usize,
    vc: usize,
    phits: usize,
}

/// Findings of the watchdog.
#[derive(Debug)]
struct Deadlock {
    cycle: u64,
    blocked: Vec<Blocked>,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "deadlock: nothing has moved since cycle {}; held are",
            self.cycle
        )?;
        for Blocked {
            board,
            port,
            vc,
            phits,
        } in &self.blocked
        {
            let class = ["request", "reply", "collective"][vc / 2];
            write!(
                f,
                " [board {board} port {port} {class}.{}: {phits}]",
                vc % 2
            )?;
        }
        Ok(())
    }
}

/// Phits in flight between two boards, or credits in the opposite direction.
type Wire<T> = VecDeque<(u64, T)>;

struct Board {
    dut: Dut,
    pins: Pins,
    /// Phits waiting for entry, by local port.
    queue: Vec<VecDeque<Phit>>,
    offered: Vec<bool>,
    /// Phits and credits in flight to this board, by link port.
    phits: Vec<Wire<(u64, Phit)>>,
    credits: Vec<Wire<u64>>,
    /// Number of phits in the buffers of this board's link inputs.
    held: Vec<[usize; VCS]>,
    /// Packets leaving the local ports: source board and port, next index.
    under_way: Vec<Option<(usize, usize)>>,
    sleeps_until: u64,
}

struct Network {
    shape: Shape,
    boards: Vec<Board>,
    rng: Random,
    /// Phits in flight, by source board and port and destination board and port.
    expected: BTreeMap<[usize; 4], VecDeque<Phit>>,
    outstanding: u64,
    delivered: u64,
    now: u64,
    moved_at: u64,
    /// Probability of a new packet, by local port and cycle.
    load: f64,
    /// If set, all packets go this number of boards ahead. Otherwise destinations are random.
    stride: Option<usize>,
}

impl Network {
    fn new(shape: Shape, bench: &'static str) -> Self {
        let boards = (0..shape.boards())
            .map(|board| Board::new(shape, board))
            .collect();
        Self {
            shape,
            boards,
            rng: Random::new(bench),
            expected: BTreeMap::new(),
            outstanding: 0,
            delivered: 0,
            now: 0,
            moved_at: 0,
            load: 1.0,
            stride: None,
        }
    }

    /// Queues a packet at a board's local port. The data contains the source.
    fn send(&mut self, from: usize, port: usize, to: usize, stage: usize, length: usize) {
        let out = if port < 2 { port } else { 2 + stage };
        let noise = self.rng.random::<u64>() & 0x3fff_7fff_0000 & !(7 << 32);
        for index in 0..length {
            let last = u64::from(index + 1 == length);
            let phit = Phit {
                data: (from as u64) << 56 | (port as u64) << 48 | self.rng.random::<u64>() >> 16,
                header: noise | to as u64 | last << 31 | (stage as u64) << 32,
                position: self.rng.random::<u64>() >> 32,
            };
            self.boards[from].queue[port].push_back(phit);
            self.expected
                .entry([from, port, to, out])
                .or_default()
                .push_back(phit);
        }
        self.outstanding += length as u64;
    }

    fn generate(&mut self) {
        let config = self.shape.config;
        for board in 0..self.boards.len() {
            for port in (0..config.locals()).filter(|&port| port != 1) {
                if self.boards[board].queue[port].len() < 4 && self.rng.random_bool(self.load) {
                    let to = match self.stride {
                        Some(stride) => (board + stride) % self.boards.len(),
                        None => self.rng.random_range(0..self.boards.len()),
                    };
                    let (stage, length) = if port == 0 {
                        (0, self.rng.random_range(1..6))
                    } else {
                        (self.rng.random_range(0..config.stages), 1)
                    };
                    self.send(board, port, to, stage, length);
                }
            }
        }
    }

    /// One cycle of all boards.
    fn cycle(&mut self, generate: bool) -> Result<(), Deadlock> {
        if generate {
            self.generate();
        }
        for board in 0..self.boards.len() {
            self.drive(board);
            self.boards[board].dut.settle();
        }
        for board in 0..self.boards.len() {
            self.links_out(board);
            self.locals_out(board);
            self.locals_in(board);
            self.boards[board].dut.clock();
        }
        self.now += 1;
        if self.outstanding > 0 && self.now - self.moved_at > WATCH {
            return Err(self.deadlock());
        }
        Ok(())
    }

    fn deadlock(&self) -> Deadlock {
        let blocked = self.boards.iter().enumerate().flat_map(|(board, state)| {
            state.held.iter().enumerate().flat_map(move |(port, held)| {
                held.iter()
                    .enumerate()
                    .filter(|&(_, &phits)| phits > 0)
                    .map(move |(vc, &phits)| Blocked {
                        board,
                        port,
                        vc,
                        phits,
                    })
            })
        });
        Deadlock {
            cycle: self.moved_at,
            blocked: blocked.collect(),
        }
    }

    fn links_out(&mut self, board: usize) {
        for port in 0..self.shape.config.links {
            let (peer, there) = (self.shape.peer(board, port), port ^ 1);
            let at = self.now + self.shape.latency;
            let state = &mut self.boards[board];
            if state.dut.get(state.pins.link_credit_out, port) == 1 {
                let vc = state.dut.get(state.pins.link_credit_vc_out, port);
                assert!(
                    state.held[port][vc as usize] > 0,
                    "board {board}: a credit for nothing"
                );
                state.held[port][vc as usize] -= 1;
                self.boards[peer].credits[there].push_back((at, vc));
            }
            let state = &self.boards[board];
            if state.dut.get(state.pins.link_valid_out, port) == 1 {
                let vc = state.dut.get(state.pins.link_vc_out, port);
                assert_ne!(vc, CONTROL, "unrequested control phit");
                let phit = state.phit(state.pins.link_phit_out, port);
                self.boards[peer].phits[there].push_back((at, (vc, phit)));
                self.moved_at = self.now;
            }
        }
    }

    fn locals_out(&mut self, board: usize) {
        for port in 0..self.shape.config.locals() {
            let state = &mut self.boards[board];
            assert_eq!(state.dut.get(state.pins.drop, 0), 0, "board {board} drops");
            if !state.dut.was_set(state.pins.local_ready_in, port)
                || state.dut.get(state.pins.local_valid_out, port) == 0
            {
                continue;
            }
            let phit = state.phit(state.pins.local_phit_out, port);
            let from = (
                (phit.data >> 56) as usize,
                (phit.data >> 48 & 0xff) as usize,
            );
            if let Some(before) = state.under_way[port] {
                assert_eq!(
                    before, from,
                    "board {board} port {port}: packets interleave"
                );
            }
            state.under_way[port] = (!phit.last()).then_some(from);
            let next = self
                .expected
                .get_mut(&[from.0, from.1, board, port])
                .and_then(VecDeque::pop_front);
            assert_eq!(
                next,
                Some(phit),
                "cycle {}: board {board} port {port}",
                self.now
            );
            self.outstanding -= 1;
            self.delivered += 1;
            self.moved_at = self.now;
            if port == 0 && phit.last() {
                let length = self.rng.random_range(1..5);
                self.send(board, 1, from.0, 0, length);
            }
        }
    }

    fn drive(&mut self, board: usize) {
        let now = self.now;
        let state = &mut self.boards[board];
        for port in 0..self.shape.config.links {
            let due = take_due(&mut state.phits[port], now);
            state
                .dut
                .set(state.pins.link_valid_in, port, u64::from(due.is_some()));
            if let Some((_, (vc, phit))) = due {
                state.dut.set(state.pins.link_vc_in, port, vc);
                state.set_phit(state.pins.link_phit_in, port, phit);
                state.held[port][vc as usize] += 1;
            }
            let due = take_due(&mut state.credits[port], now);
            state
                .dut
                .set(state.pins.link_credit_in, port, u64::from(due.is_some()));
            if let Some((_, vc)) = due {
                state.dut.set(state.pins.link_credit_vc_in, port, vc);
            }
        }
        for port in 0..self.shape.config.locals() {
            let phit = state.queue[port].front().copied();
            // An offer stays until it is accepted.
            let offer = state.offered[port] || (phit.is_some() && self.rng.random_ratio(7, 8));
            state
                .dut
                .set(state.pins.local_valid_in, port, u64::from(offer));
            state.offered[port] = offer;
            if let Some(phit) = phit.filter(|_| offer) {
                state.set_phit(state.pins.local_phit_in, port, phit);
            }
            let ready = match port {
                // Requests are accepted while there is space for their replies, with long sleeps.
                0 => {
                    if state.sleeps_until < now && self.rng.random_ratio(1, 200) {
                        state.sleeps_until = now + self.rng.random_range(0..SLEEP);
                    }
                    state.queue[1].len() < SERVED && state.sleeps_until < now
                }
                1 => true,
                _ => self.rng.random_bool(0.7),
            };
            state
                .dut
                .set(state.pins.local_ready_in, port, u64::from(ready));
        }
    }

    fn locals_in(&mut self, board: usize) {
        let state = &mut self.boards[board];
        for port in 0..self.shape.config.locals() {
            if state.offered[port] && state.dut.get(state.pins.local_ready_out, port) == 1 {
                state.queue[port].pop_front();
                state.offered[port] = false;
                self.moved_at = self.now;
            }
        }
    }

    /// Runs until `phits` phits have been delivered, then until all have been delivered.
    fn run(&mut self, phits: u64) -> Result<(), Deadlock> {
        let goal = self.delivered + phits;
        while self.delivered < goal {
            self.cycle(true)?;
        }
        while self.outstanding > 0 {
            self.cycle(false)?;
        }
        for _ in 0..2 * self.shape.latency + 20 {
            self.cycle(false)?;
        }
        for (board, state) in self.boards.iter().enumerate() {
            assert_eq!(
                state.dut.get(state.pins.idle, 0),
                1,
                "board {board} is not idle"
            );
            assert!(
                state.held.iter().flatten().all(|&held| held == 0),
                "board {board} keeps credits"
            );
        }
        Ok(())
    }
}

impl Board {
    fn new(shape: Shape, board: usize) -> Self {
        let config = shape.config;
        let mut dut = Dut::start(&config.recipe());
        let dateline = dut.pin("dateline_i");
        dut.set(dateline, 0, shape.dateline(board));
        dut.reset();
        let [write, rank, port] =
            ["forward_write_i", "forward_rank_i", "forward_port_i"].map(|name| dut.pin(name));
        for to in 0..shape.boards() {
            dut.set(write, 0, 1);
            dut.set(rank, 0, to as u64);
            dut.set(port, 0, shape.port(board, to));
            dut.clock();
        }
        dut.set(write, 0, 0);
        let pins = Pins::new(&dut, config);
        Self {
            dut,
            pins,
            queue: vec![VecDeque::new(); config.locals()],
            offered: vec![false; config.locals()],
            phits: vec![VecDeque::new(); config.links],
            credits: vec![VecDeque::new(); config.links],
            held: vec![[0; VCS]; config.links],
            under_way: vec![None; config.locals()],
            sleeps_until: 0,
        }
    }

    fn phit(&self, pin: Pin, lane: usize) -> Phit {
        Phit::from_lanes(std::array::from_fn(|index| {
            self.dut.get(pin, 3 * lane + index)
        }))
    }

    fn set_phit(&mut self, pin: Pin, lane: usize, phit: Phit) {
        for (index, value) in phit.lanes().into_iter().enumerate() {
            self.dut.set(pin, 3 * lane + index, value);
        }
    }
}

const RING: Shape = Shape {
    config: SMALL,
    size: [5, 1, 1],
    latency: 3,
    datelines: true,
};
const TORUS_2D: Shape = Shape {
    config: MIDDLE,
    size: [4, 3, 1],
    latency: 2,
    datelines: true,
};
const TORUS_3D: Shape = Shape {
    config: LARGE,
    size: [2, 2, 2],
    latency: 7,
    datelines: true,
};

fn soak_shape(shape: Shape, phits: u64, bench: &'static str) {
    let mut network = Network::new(shape, bench);
    // Saturated at first, then at a load with gaps.
    for (load, part) in [(1.0, 3), (0.05, 1)] {
        network.load = load;
        if let Err(deadlock) = network.run(phits * part / 4) {
            panic!("{deadlock}");
        }
    }
    eprintln!(
        "{bench}: {} phits in {} cycles",
        network.delivered, network.now
    );
}

#[test]
fn ring() {
    soak_shape(
        RING,
        if full() { 1_500_000 } else { 30_000 },
        "switch_router ring",
    );
}

#[test]
fn torus_2d() {
    soak_shape(
        TORUS_2D,
        if full() { 4_000_000 } else { 80_000 },
        "switch_router torus_2d",
    );
}

/// In the full tier, ten million phits of all classes.
#[test]
fn torus_3d() {
    let phits = if full() { 10_000_000 } else { 80_000 };
    soak_shape(TORUS_3D, phits, "switch_router torus_3d");
}

/// The traffic of `no_dateline_no_progress`, with datelines.
#[test]
fn ring_of_strides() {
    let mut network = Network::new(RING, "switch_router ring_of_strides");
    network.stride = Some(2);
    if let Err(deadlock) = network.run(if full() { 500_000 } else { 10_000 }) {
        panic!("{deadlock}");
    }
}

/// Checks the watchdog: without datelines, a ring of channels of bit 0 deadlocks.
#[test]
fn no_dateline_no_progress() {
    let mut network = Network::new(
        Shape {
            datelines: false,
            ..RING
        },
        "switch_router no_dateline_no_progress",
    );
    network.stride = Some(2);
    let Err(deadlock) = network.run(50_000) else {
        panic!("no deadlock without datelines: the soak has no teeth");
    };
    eprintln!("{deadlock}");
    // The five channels of one class and direction in a ring are full.
    let full = |port: usize, vc: usize| {
        (0..5).all(|board| {
            deadlock.blocked.iter().any(|at| {
                (at.board, at.port, at.vc) == (board, port, vc) && at.phits == SMALL.vc_depth
            })
        })
    };
    assert!(
        (0..2).any(|port| [0, 2, 4].into_iter().any(|vc| full(port, vc))),
        "{deadlock}"
    );
}

/// The item that arrives in this cycle.
fn take_due<T>(under_way: &mut VecDeque<(u64, T)>, now: u64) -> Option<(u64, T)> {
    let arrives = under_way.front().is_some_and(|&(at, _)| at == now);
    if arrives { under_way.pop_front() } else { None }
}
