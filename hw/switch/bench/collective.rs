//! `collective_unit`: several boards with node memories and a network between them, against the
//! model of `collective_model.rs`.

use std::collections::{BTreeMap, VecDeque};

use alcor_abi::packets::net_high;
use alcor_abi::{Collective, Datatype, Operation, PhitKind, Status, rank};
use alcor_hw_bench::{Random, Recipe, Waves, full, soak};
use rand::Rng;
use rand::seq::{IndexedRandom, SliceRandom};

use crate::coll_units::shape;
use crate::collective_boards::{Boards, Pin};
use crate::collective_model::{Call, Communicator, DATATYPES, Part, verdict, width};

/// Number of cycles without movement after which the watchdog fires. Every participant sleeps for a
/// shorter time.
const WATCH: u64 = 6000;
/// Bit of a cancel_t: the rank is being reset.
const DRAIN: u64 = 2;
/// The row of the barrier over all boards.
const SYNC: usize = 31;
const NODE_BYTES: u64 = 32768;
/// Phits of a window on a board: `Window` of alcor_switch_pkg.sv.
const REAL_WINDOW: usize = 512;
const NODE_WORDS: usize = NODE_BYTES as usize / 4;
/// Number of words around a range that must not change.
const MARGIN: usize = 3;

#[derive(Debug, Clone, Copy)]
struct Shape {
    boards: usize,
    ranks: usize,
    stages: usize,
    phit_w: u64,
    /// Phits of a communicator's window.
    window: usize,
    /// Latency in cycles of a read of node memory.
    latency: usize,
    /// Maximum number of additional random cycles.
    jitter: u64,
    /// Whether registers are in front of the vector units.
    slices: bool,
    /// Whether units implement sums of integers only, for many boards.
    lean: bool,
}

/// Folds, labels without a partner in a stage, three stages, and the smallest windows, which every
/// message fills.
const FIVE: Shape = Shape {
    boards: 5,
    ranks: 1,
    stages: 3,
    phit_w: 256,
    window: 8,
    latency: 1,
    jitter: 0,
    slices: false,
    lean: false,
};
/// FIVE for sums of integers, with the windows of boards.
const REAL: Shape = Shape {
    window: REAL_WINDOW,
    lean: true,
    ..FIVE
};
/// Several ranks per board.
const MANY: Shape = Shape {
    boards: 3,
    ranks: 4,
    stages: 2,
    window: 16,
    ..FIVE
};
/// Two ranks per board and sums of integers: the smallest model with a fold, for faults planted in reader, copy unit and
/// writer.
const SMALL: Shape = Shape {
    boards: 3,
    ranks: 2,
    stages: 2,
    lean: true,
    ..FIVE
};
/// Three complete stages, and folds onto four labels.
const EIGHT: Shape = Shape {
    boards: 8,
    window: 64,
    ..FIVE
};
/// EIGHT for sums of integers, with the smallest windows.
const EIGHT_LEAN: Shape = Shape {
    window: 8,
    lean: true,
    ..EIGHT
};
/// Wide phits.
const WIDE: Shape = Shape {
    boards: 3,
    ranks: 2,
    stages: 2,
    phit_w: 512,
    window: 32,
    ..FIVE
};
/// Two boards of two ranks whose memories take some cycles.
const LATE: Shape = Shape {
    boards: 2,
    ranks: 2,
    stages: 1,
    latency: 7,
    ..REAL
};
/// LATE with the latency of HBM.
const LATEST: Shape = Shape {
    latency: 64,
    ..LATE
};

/// Four ranks whose memories answer after 4 to 200 cycles, independently.
const JITTER: Shape = Shape {
    boards: 2,
    ranks: 4,
    stages: 1,
    window: 16,
    latency: 4,
    jitter: 196,
    slices: true,
    ..FIVE
};

impl Shape {
    fn all(self) -> usize {
        self.boards * self.ranks
    }

    /// A sum that the units implement.
    fn sum(self) -> Call {
        if self.lean { SUM_I64 } else { SUM }
    }

    fn recipe(self) -> Recipe {
        let (operations, types) = if self.lean {
            // Signatures are anded as U32, single operands are ored with themselves, and barriers
            // have a separate operation.
            let needed = [
                Operation::Sum,
                Operation::Band,
                Operation::Bor,
                Operation::Sync,
            ];
            (
                needed.to_vec(),
                vec![Datatype::I32, Datatype::I64, Datatype::U32],
            )
        } else {
            (Operation::ALL.to_vec(), DATATYPES.to_vec())
        };
        let operations = operations.iter().map(|&operation| 1 << operation as u64);
        let types = types.iter().map(|&datatype| 1 << datatype as u64);
        Recipe::new("collective", "collective_bench")
            .blocks(&["abi", "common", "fp", "switch"])
            .source("core/rtl/node_memory.sv")
            .source("switch/bench/collective_bench.sv")
            .param("RANKS", self.ranks as u64)
            .param("STAGES", self.stages as u64)
            .param("PHIT_W", self.phit_w)
            .param("NODE_BYTES", NODE_BYTES)
            .param("MEM_LATENCY", self.latency as u64)
            .param("MEM_JITTER", self.jitter)
            .param("WINDOW", self.window as u64)
            .param("SLICES", self.slices.into())
            .param("OPS", operations.sum())
            .param("TYPES", types.sum())
    }
}

/// Probabilities of disturbances in each cycle.
#[derive(Debug, Clone, Copy)]
struct Disturbances {
    /// A stage cannot send.
    stall: f64,
    /// Phits from one board to another wait for a while.
    hold: f64,
    /// A completion is not accepted.
    slow: f64,
    /// The coprocessor reads or writes.
    noise: f64,
    /// A rank does not write to its page.
    idle: f64,
    /// Maximum delay of a rank before it posts.
    late: u64,
}

const NONE: Disturbances = Disturbances {
    stall: 0.0,
    hold: 0.0,
    slow: 0.0,
    noise: 0.0,
    idle: 0.0,
    late: 0,
};
const SOME: Disturbances = Disturbances {
    stall: 0.2,
    hold: 0.02,
    slow: 0.4,
    noise: 0.3,
    idle: 0.3,
    late: 40,
};
const MANY_DISTURBANCES: Disturbances = Disturbances {
    stall: 0.7,
    hold: 0.05,
    slow: 0.9,
    noise: 0.9,
    idle: 0.8,
    late: 600,
};

/// Ports as lanes.
struct Pins {
    write: Pin,
    offset: Pin,
    data: Pin,
    lost: Pin,
    cancel: Pin,
    active: Pin,
    stale: Pin,
    row_writes: Pin,
    denied: Pin,
    complete_valid: Pin,
    complete_ready: Pin,
    complete_status: Pin,
    complete_id: Pin,
    sync_begin: Pin,
    sync_ready: Pin,
    sync_in: Pin,
    sync_valid: Pin,
    sync_out: Pin,
    host_valid: Pin,
    host_ready: Pin,
    host_write: Pin,
    host_address: Pin,
    host_data_in: Pin,
    host_answer: Pin,
    host_data_out: Pin,
    noise: Pin,
    noise_write: Pin,
}

impl Pins {
    fn new(dut: &Boards, shape: Shape) -> Self {
        let by_rank = |name| dut.pin(name, shape.ranks);
        let by_board = |name| dut.pin(name, 1);
        Self {
            write: by_rank("write_i"),
            offset: by_rank("offset_i"),
            data: by_rank("data_i"),
            lost: by_rank("lost_i"),
            cancel: by_rank("cancel_i"),
            active: by_board("active_o"),
            stale: by_board("stale_o"),
            row_writes: by_rank("writes_o"),
            denied: by_rank("denied_o"),
            complete_valid: by_rank("complete_valid_o"),
            complete_ready: by_rank("complete_ready_i"),
            complete_status: by_rank("complete_status_o"),
            complete_id: by_rank("complete_id_o"),
            sync_begin: by_board("sync_begin_i"),
            sync_ready: by_board("sync_ready_o"),
            sync_in: by_board("sync_i"),
            sync_valid: by_board("sync_valid_o"),
            sync_out: by_board("sync_o"),
            host_valid: by_rank("host_valid_i"),
            host_ready: by_rank("host_ready_o"),
            host_write: by_rank("host_write_i"),
            host_address: by_rank("host_address_i"),
            host_data_in: by_rank("host_data_i"),
            host_answer: by_rank("host_answer_o"),
            host_data_out: by_rank("host_data_o"),
            noise: by_rank("noise_i"),
            noise_write: by_rank("noise_write_i"),
        }
    }
}

/// A completion.
#[derive(Debug, Clone, Copy)]
struct Completion {
    rank: usize,
    id: u16,
    status: u64,
    cycle: u64,
}

/// One member of a planned collective.
#[derive(Debug, Clone, Default)]
struct Member {
    rank: usize,
    id: u16,
    part: Part,
    /// Word addresses.
    source: usize,
    destination: usize,
    /// Cycle of the write of C_GO, and cycle of the completion.
    posted: Option<u64>,
    ended: Option<u64>,
}

/// A planned collective.
#[derive(Debug, Clone)]
struct Plan {
    communicator: usize,
    call: Call,
    members: Vec<Member>,
    status: Status,
    /// The message, if the collective succeeds.
    message: Vec<u32>,
}

/// The barrier over all boards.
#[derive(Default)]
struct Rounds {
    wanted: usize,
    values: Vec<Vec<u64>>,
    /// By board.
    begun: Vec<usize>,
    ended: Vec<usize>,
    ready: Vec<bool>,
}

struct Cluster {
    shape: Shape,
    dut: Boards,
    pins: Pins,
    rng: Random,
    disturbances: Disturbances,
    /// By rank: expected contents of each word of memory.
    memory: Vec<Vec<u32>>,
    /// By rank: queued writes to its page.
    writes: Vec<VecDeque<(u32, u32)>>,
    /// By rank: present values of its operands.
    operands: Vec<BTreeMap<u32, u32>>,
    /// By rank and id: cycle of the write of C_GO.
    went: BTreeMap<(usize, u16), u64>,
    ended: Vec<Completion>,
    /// Ranks that were denied something, once for each pulse; whether they may be.
    denied: Vec<usize>,
    floods: bool,
    held_until: Vec<u64>,
    /// A board's stage that cannot send at all, as a lane.
    closed: Option<usize>,
    rounds: Rounds,
    next_id: u16,
    /// By row: key of its communicator.
    keys: [u32; SYNC],
    /// By board and row: members of the communicator in the row.
    rows: Vec<[Option<Vec<usize>>; SYNC]>,
    /// Ranks whose reset begins or ends, with the cycle.
    resets: Vec<(u64, usize, bool)>,
    /// By rank and id: collectives that a reset may cancel, with the cycle of their end.
    cancels: BTreeMap<(usize, u16), Option<u64>>,
    /// Number of phits dropped by boards.
    stale: u64,
    /// Cycles from C_GO to the first sent phit of the last timed call.
    first_phit: Option<u64>,
    sent: u64,
    moved: u64,
}

impl Cluster {
    fn new(shape: Shape, bench: &'static str) -> Self {
        let mut dut = Boards::start(&shape.recipe(), shape.boards, shape.ranks, shape.stages);
        let pins = Pins::new(&dut, shape);
        dut.delay = 5;
        dut.reset();
        let all = shape.all();
        let mut cluster = Self {
            shape,
            dut,
            pins,
            rng: Random::new(bench),
            disturbances: NONE,
            memory: vec![vec![0; NODE_WORDS]; all],
            writes: vec![VecDeque::new(); all],
            operands: vec![BTreeMap::new(); all],
            went: BTreeMap::new(),
            ended: Vec::new(),
            denied: Vec::new(),
            floods: false,
            held_until: vec![0; shape.boards * shape.boards],
            closed: None,
            rounds: Rounds {
                begun: vec![0; shape.boards],
                ended: vec![0; shape.boards],
                ready: vec![false; shape.boards],
                ..Rounds::default()
            },
            next_id: 1,
            keys: [0; SYNC],
            rows: vec![[const { None }; SYNC]; shape.boards],
            resets: Vec::new(),
            cancels: BTreeMap::new(),
            stale: 0,
            first_phit: None,
            sent: 0,
            moved: 0,
        };
        cluster.scribble(0, NODE_WORDS);
        cluster
    }

    // A cycle.

    fn tick(&mut self) {
        self.tick_with(|_, _| ());
    }

    /// One cycle. `show` is called between inputs and clock edge.
    fn tick_with(&mut self, show: impl FnOnce(&Boards, &Pins)) {
        let Self {
            dut,
            pins,
            rng,
            disturbances,
            shape,
            ..
        } = self;
        let cycle = dut.cycle();
        for rank in 0..shape.all() {
            let writes = &mut self.writes[rank];
            let write = if rng.random_bool(disturbances.idle) {
                None
            } else {
                writes.pop_front()
            };
            dut.set(pins.write, rank, u64::from(write.is_some()));
            if let Some((offset, data)) = write {
                dut.set(pins.offset, rank, u64::from(offset));
                dut.set(pins.data, rank, u64::from(data));
                if offset == rank::C_GO {
                    self.went.insert((rank, data as u16), cycle);
                }
                self.moved = cycle;
            }
            if disturbances.slow > 0.0 || disturbances.noise > 0.0 {
                dut.set(
                    pins.complete_ready,
                    rank,
                    u64::from(!rng.random_bool(disturbances.slow)),
                );
                dut.set(
                    pins.noise,
                    rank,
                    u64::from(rng.random_bool(disturbances.noise)),
                );
                dut.set(
                    pins.noise_write,
                    rank,
                    u64::from(rng.random_bool(disturbances.noise)),
                );
            } else {
                dut.set(pins.complete_ready, rank, 1);
                dut.set(pins.noise, rank, 0);
                dut.set(pins.noise_write, rank, 0);
            }
        }
        for lane in 0..shape.boards * shape.stages {
            let stall = disturbances.stall > 0.0 && rng.random_bool(disturbances.stall);
            let closed = self.closed == Some(lane);
            dut.stall[lane] = stall || closed;
        }
        if disturbances.hold > 0.0 && rng.random_bool(disturbances.hold) {
            let lane = rng.random_range(0..self.held_until.len());
            self.held_until[lane] = cycle + rng.random_range(1..400);
        }
        for (lane, &until) in self.held_until.iter().enumerate() {
            dut.hold[lane] = until > cycle;
        }
        for &(_, rank, begins) in self.resets.iter().filter(|reset| reset.0 == cycle) {
            dut.set(pins.cancel, rank, if begins { DRAIN } else { 0 });
        }
        for &(at, rank, begins) in &self.resets {
            dut.set(pins.lost, rank, u64::from(begins && at == cycle));
        }
        self.sync_begin();
        self.dut.settle();
        show(&self.dut, &self.pins);
        self.sync_end();
        let Self {
            dut, pins, shape, ..
        } = self;
        for board in 0..shape.boards {
            self.stale += dut.get(pins.stale, board);
        }
        for rank in 0..shape.all() {
            // Each writer of a row owns the row, and refused collectives have room, unless a bench asks for more.
            if dut.get(pins.denied, rank) == 1 {
                self.denied.push(rank);
                assert!(self.floods, "cycle {cycle}: rank {rank} is denied");
            }
            if dut.get(pins.complete_valid, rank) == 1 && dut.was_set(pins.complete_ready, rank) {
                self.ended.push(Completion {
                    rank,
                    id: dut.get(pins.complete_id, rank) as u16,
                    status: dut.get(pins.complete_status, rank),
                    cycle,
                });
                self.moved = cycle;
            }
        }
        let sent = dut.sent.iter().sum();
        if sent != self.sent {
            self.moved = cycle;
        }
        self.sent = sent;
        self.dut.clock();
    }

    fn ticks(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.tick();
        }
    }

    /// Rounds of the barrier: each board begins at a random time, and no round ends before all
    /// boards have begun.
    fn sync_end(&mut self) {
        let Self {
            dut,
            pins,
            rounds,
            shape,
            ..
        } = self;
        for board in 0..shape.boards {
            if dut.get(pins.sync_valid, board) == 1 {
                let round = rounds.ended[board];
                assert!(
                    round < rounds.begun[board],
                    "board {board}: a round too many ended"
                );
                assert!(
                    rounds.begun.iter().all(|&begun| begun > round),
                    "board {board}: round {round} ended before all began it"
                );
                let sum = rounds.values[round]
                    .iter()
                    .fold(0u64, |sum, value| sum.wrapping_add(*value));
                assert_eq!(
                    dut.get(pins.sync_out, board),
                    sum,
                    "board {board}, round {round}"
                );
                rounds.ended[board] += 1;
            }
            rounds.ready[board] = dut.get(pins.sync_ready, board) == 1;
        }
    }

    /// Boards that could begin a round in the previous cycle may begin it now.
    fn sync_begin(&mut self) {
        let Self {
            dut,
            pins,
            rng,
            rounds,
            shape,
            ..
        } = self;
        for board in 0..shape.boards {
            let begin = rounds.begun[board] == rounds.ended[board]
                && rounds.begun[board] < rounds.wanted
                && rounds.ready[board]
                && rng.random_bool(0.02);
            dut.set(pins.sync_begin, board, u64::from(begin));
            if begin {
                if rounds.values.len() == rounds.begun[board] {
                    rounds
                        .values
                        .push((0..shape.boards).map(|_| rng.random()).collect());
                }
                dut.set(
                    pins.sync_in,
                    board,
                    rounds.values[rounds.begun[board]][board],
                );
                rounds.begun[board] += 1;
            }
        }
    }

    fn watch(&self, plans: &[Plan]) {
        if self.dut.cycle() - self.moved < WATCH {
            return;
        }
        for plan in plans
            .iter()
            .filter(|plan| plan.members.iter().any(|member| member.ended.is_none()))
        {
            eprintln!("communicator {}: {:?}", plan.communicator, plan.call);
            for member in &plan.members {
                eprintln!(
                    "  {} posted {:?} ended {:?}",
                    member.rank, member.posted, member.ended
                );
            }
        }
        for board in 0..self.shape.boards {
            eprintln!(
                "board {board}: active {:08x}, rounds begun {} ended {}, can begin: {}",
                self.dut.get(self.pins.active, board),
                self.rounds.begun[board],
                self.rounds.ended[board],
                self.rounds.ready[board],
            );
        }
        panic!("nothing moves since cycle {}", self.moved);
    }

    // Memory.

    /// Host accesses to all memories concurrently.
    fn host(
        &mut self,
        first: usize,
        end: usize,
        write: bool,
        mut each: impl FnMut(usize, usize, u32),
    ) {
        let all = self.shape.all();
        let mut next = vec![first; all];
        // By rank: addresses of reads in flight, oldest first.
        let mut reading = vec![VecDeque::new(); all];
        while next.iter().any(|&at| at < end) || !reading.iter().all(VecDeque::is_empty) {
            let Self {
                dut,
                pins,
                memory,
                shape,
                ..
            } = self;
            for rank in 0..all {
                let at = next[rank];
                dut.set(pins.write, rank, 0);
                dut.set(pins.noise, rank, 0);
                dut.set(pins.noise_write, rank, 0);
                dut.set(pins.host_valid, rank, u64::from(at < end));
                if at < end {
                    dut.set(pins.host_write, rank, u64::from(write));
                    dut.set(pins.host_address, rank, at as u64);
                    dut.set(pins.host_data_in, rank, u64::from(memory[rank][at]));
                }
            }
            for board in 0..shape.boards {
                dut.set(pins.sync_begin, board, 0);
            }
            dut.settle();
            // A started round continues.
            self.sync_end();
            let Self { dut, pins, .. } = self;
            for rank in 0..all {
                if dut.get(pins.host_answer, rank) == 1 {
                    let at = reading[rank].pop_front().expect("a read in flight");
                    each(rank, at, dut.get(pins.host_data_out, rank) as u32);
                }
                let goes = next[rank] < end && dut.get(pins.host_ready, rank) == 1;
                if goes && !write {
                    reading[rank].push_back(next[rank]);
                }
                next[rank] += usize::from(goes);
            }
            dut.clock();
        }
        for rank in 0..all {
            self.dut.set(self.pins.host_valid, rank, 0);
        }
        self.moved = self.dut.cycle();
    }

    /// Writes random words.
    fn scribble(&mut self, first: usize, end: usize) {
        for memory in &mut self.memory {
            self.rng.fill(&mut memory[first..end]);
        }
        self.host(first, end, true, |_, _, _| ());
    }

    /// Compares memories with their expected contents. Words in `free` may have any value.
    fn check(&mut self, first: usize, end: usize, free: &[(usize, usize, usize)], what: &str) {
        let mut found = vec![Vec::with_capacity(end - first); self.shape.all()];
        self.host(first, end, false, |rank, _, value| found[rank].push(value));
        for &(rank, low, high) in free {
            for at in low..high {
                self.memory[rank][at] = found[rank][at - first];
            }
        }
        for (rank, found) in found.iter().enumerate() {
            for (offset, &value) in found.iter().enumerate() {
                let at = first + offset;
                assert!(
                    value == self.memory[rank][at],
                    "{what}: rank {rank}, word {at} is {value:08x} and should be {:08x}",
                    self.memory[rank][at]
                );
            }
        }
    }

    // Programs.

    /// Writes the rows of communicators, two at a time, and waits until they are valid. Each
    /// communicator gets another key than the previous communicator of the row. A board's ranks
    /// share a bus that is slower than this bench: the table has space for the writes of one row.
    fn program(&mut self, communicators: &[Communicator]) {
        for two in communicators.chunks(2) {
            for communicator in two {
                self.write_rows(communicator);
            }
            self.drain();
        }
    }

    /// Queues the writes of a communicator's rows on all of its boards, with the next key.
    fn write_rows(&mut self, communicator: &Communicator) {
        let key = &mut self.keys[communicator.context];
        *key = (*key + 1) % 256;
        let key = *key << 8;
        for label in 0..communicator.boards.len() {
            let writer = self.writer(communicator, label);
            let mut row = communicator.row(label, &mut self.rng);
            row[0].1 |= key;
            self.writes[writer].extend(row);
        }
    }

    /// The rank of a board that writes a communicator's row: the first one for the world's row,
    /// else a member of the communicator and, if the row is in use, of the communicator in the row.
    /// In a row in use without a common member, a member of the old communicator frees the row.
    fn writer(&mut self, communicator: &Communicator, label: usize) -> usize {
        let (board, context) = (communicator.boards[label], communicator.context);
        let members = communicator.members(label);
        let old = self.rows[board][context].replace(members.clone());
        if context == 0 {
            return board * self.shape.ranks;
        }
        let Some(old) = old else {
            return *members.choose(&mut *self.rng).unwrap_or(&0);
        };
        let common: Vec<usize> = members
            .iter()
            .copied()
            .filter(|rank| old.contains(rank))
            .collect();
        if let Some(&writer) = common.choose(&mut *self.rng) {
            return writer;
        }
        self.free(board, context, &old);
        self.drain();
        *members.choose(&mut *self.rng).unwrap_or(&0)
    }

    /// One of the members of a board's row frees the row.
    fn free(&mut self, board: usize, context: usize, members: &[usize]) {
        let writer = match context {
            0 => board * self.shape.ranks,
            _ => *members.choose(&mut *self.rng).unwrap_or(&0),
        };
        self.writes[writer].extend([(rank::COMM_ROW, context as u32), (rank::COMM_SHAPE, 0)]);
    }

    /// Writes the barrier's row: all boards, no members.
    fn program_sync(&mut self) {
        let ranks = (0..self.shape.all()).collect();
        let communicator = Communicator::new(SYNC, ranks, self.shape.ranks, &mut self.rng);
        for label in 0..communicator.boards.len() {
            let mut row = communicator.row(label, &mut self.rng);
            if let Some(last) = row.last_mut() {
                last.1 = shape(communicator.boards.len(), label, 0);
            }
            self.writes[communicator.boards[label] * self.shape.ranks].extend(row);
        }
        self.drain();
    }

    fn drain(&mut self) {
        while self.writes.iter().any(|writes| !writes.is_empty()) {
            self.tick();
        }
        // A row in use is retired first, up to two rows on a board.
        self.ticks(200);
    }

    fn id(&mut self) -> u16 {
        self.next_id = self.next_id.wrapping_add(1);
        self.next_id
    }

    /// A plan with the members' calls as given, and memory from `used` on, by rank.
    fn plan(
        &mut self,
        communicators: &[Communicator],
        communicator: usize,
        calls: &[Call],
        used: &mut [usize],
    ) -> Option<Plan> {
        let group = &communicators[communicator];
        let call = calls[0];
        let mut members = Vec::new();
        let mut after = used.to_vec();
        for (me, &rank) in group.ranks.iter().enumerate() {
            let part = calls[me].part(group, me);
            let in_place = calls[me].collective == Collective::Allreduce
                && (part.words > NODE_WORDS / 3 || self.rng.random_bool(0.3));
            let source = after[rank] + self.rng.random_range(0..9);
            after[rank] = source + part.words + MARGIN;
            let mut destination = source;
            if !in_place {
                destination = after[rank] + self.rng.random_range(0..9);
                after[rank] = destination + (part.high - part.low) + MARGIN;
            }
            if after[rank] + MARGIN > NODE_WORDS {
                return None;
            }
            members.push(Member {
                rank,
                part,
                source,
                destination,
                ..Member::default()
            });
        }
        used.copy_from_slice(&after);
        for member in &mut members {
            member.id = self.id();
        }
        let parts: Vec<Part> = members.iter().map(|member| member.part.clone()).collect();
        let status = verdict(&parts);
        let mut given = Vec::new();
        for (member, call) in members.iter().zip(calls) {
            let data = call.data(member.part.words, &mut self.rng);
            self.memory[member.rank][member.source..member.source + data.len()]
                .copy_from_slice(&data);
            given.push(data);
        }
        let message = if status == Status::Ok {
            call.message(group, &given)
        } else {
            Vec::new()
        };
        Some(Plan {
            communicator,
            call,
            members,
            status,
            message,
        })
    }

    /// The writes of a member's command: operands in random order, without operands that are
    /// already set.
    fn command(&mut self, context: usize, member: &Member) -> Vec<(u32, u32)> {
        let part = &member.part;
        let mut writes = vec![
            (rank::C_SOURCE, member.source as u32 * 4),
            (rank::C_FIRST, part.first as u32),
            (rank::C_WORDS, part.words as u32),
            (rank::C_DESTINATION, member.destination as u32 * 4),
            (rank::C_LOW, part.low as u32),
            (rank::C_HIGH, part.high as u32),
            (rank::C_COUNT, part.count),
            (rank::C_WHAT, part.what),
        ];
        let held = &mut self.operands[member.rank];
        writes.retain(|(offset, data)| held.get(offset) != Some(data));
        held.extend(writes.iter().copied());
        writes.shuffle(&mut *self.rng);
        writes.push((rank::C_GO, u32::from(member.id) | (context as u32) << 16));
        writes
    }

    /// A command that must be refused, with its expected status, if one is possible.
    fn bad_command(
        &mut self,
        communicators: &[Communicator],
        rank: usize,
        busy: &[Option<usize>],
    ) -> Option<(u16, Status)> {
        let context = self.rng.random_range(0..SYNC);
        let mine = communicators
            .iter()
            .position(|group| group.context == context && group.ranks.contains(&rank));
        let mut member = Member {
            rank,
            id: self.id(),
            ..Member::default()
        };
        let status = match mine {
            None => Status::BadCommunicator,
            Some(group) if busy[group].is_some() => return None,
            Some(_) => {
                let beyond = self.rng.random_range(1..5);
                match self.rng.random_range(0..4) {
                    0 => {
                        member.source = NODE_WORDS - 4;
                        member.part.words = 4 + beyond;
                    }
                    1 => {
                        member.destination = NODE_WORDS - 7;
                        member.part.low = 9;
                        member.part.high = 16 + beyond;
                    }
                    2 => member.part.words = 1 << 27,
                    _ => member.destination = NODE_WORDS + beyond - 1,
                }
                Status::BadLocal
            }
        };
        let writes = self.command(context, &member);
        self.writes[rank].extend(writes);
        Some((member.id, status))
    }

    /// Executes all plans, each rank at its own pace and in its own order, and checks the results.
    fn run(&mut self, communicators: &[Communicator], plans: &mut [Plan], bad: f64) {
        let all = self.shape.all();
        // By rank and communicator: calls to post, and posted calls.
        let mut waiting = vec![vec![VecDeque::new(); communicators.len()]; all];
        for (index, plan) in plans.iter().enumerate() {
            for (place, member) in plan.members.iter().enumerate() {
                waiting[member.rank][plan.communicator].push_back((index, place));
            }
        }
        let mut busy = vec![vec![None; communicators.len()]; all];
        let mut refused: BTreeMap<(usize, u16), Status> = BTreeMap::new();
        let mut until = vec![0; all];
        let mut left: usize = plans.iter().map(|plan| plan.members.len()).sum();
        self.ended.clear();
        self.moved = self.dut.cycle();
        while left > 0 || !refused.is_empty() {
            let cycle = self.dut.cycle();
            for rank in 0..all {
                if !self.writes[rank].is_empty() || until[rank] > cycle {
                    continue;
                }
                let free: Vec<usize> = (0..communicators.len())
                    .filter(|&c| busy[rank][c].is_none() && !waiting[rank][c].is_empty())
                    .collect();
                let Some(&c) = free.choose(&mut *self.rng) else {
                    continue;
                };
                if bad > 0.0 && self.rng.random_bool(bad) {
                    if let Some((id, status)) = self.bad_command(communicators, rank, &busy[rank]) {
                        refused.insert((rank, id), status);
                    }
                    continue;
                }
                let Some((index, place)) = waiting[rank][c].pop_front() else {
                    continue;
                };
                busy[rank][c] = Some(index);
                let member = plans[index].members[place].clone();
                let writes = self.command(communicators[c].context, &member);
                self.writes[rank].extend(writes);
                until[rank] = cycle + self.rng.random_range(0..=self.disturbances.late);
            }
            self.tick();
            for ended in std::mem::take(&mut self.ended) {
                let at = (ended.rank, ended.id);
                if self.cancelled(ended) {
                    continue;
                }
                if let Some(status) = refused.remove(&at) {
                    assert_eq!(ended.status, status as u64, "a refusal: {ended:?}");
                    continue;
                }
                left -= 1;
                self.end(communicators, plans, &mut busy, ended);
            }
            self.watch(plans);
        }
    }

    /// Returns whether the completion belongs to a collective that a reset may have cancelled.
    fn cancelled(&mut self, ended: Completion) -> bool {
        let Some(end) = self.cancels.get_mut(&(ended.rank, ended.id)) else {
            return false;
        };
        assert_eq!(*end, None, "{ended:?} a second time");
        let known = [Status::Ok as u64, Status::RankReset as u64];
        assert!(known.contains(&ended.status), "{ended:?}");
        *end = Some(ended.cycle);
        true
    }

    /// Processes a member's completion.
    fn end(
        &self,
        communicators: &[Communicator],
        plans: &mut [Plan],
        busy: &mut [Vec<Option<usize>>],
        ended: Completion,
    ) {
        let found = busy[ended.rank].iter_mut().find(|index| {
            index.is_some_and(|index| {
                plans[index]
                    .members
                    .iter()
                    .any(|member| member.rank == ended.rank && member.id == ended.id)
            })
        });
        let Some(index) = found.and_then(Option::take) else {
            panic!("no call expects {ended:?}");
        };
        let plan = &mut plans[index];
        let context = communicators[plan.communicator].context;
        assert_eq!(
            Status::from_bits(ended.status as u32),
            Some(plan.status),
            "context {context}, {:?}: {ended:?}",
            plan.call
        );
        for member in &mut plan.members {
            member.posted = self.went.get(&(member.rank, member.id)).copied();
            assert!(
                member.posted.is_some(),
                "context {context}, {:?}: {ended:?} before rank {} has posted",
                plan.call,
                member.rank
            );
            if member.rank == ended.rank {
                member.ended = Some(ended.cycle);
            }
        }
    }

    /// After all plans: writes the expected results into the model's memories, and compares.
    fn compare(&mut self, plans: &[Plan], end: usize) {
        let mut free = Vec::new();
        for plan in plans {
            for member in &plan.members {
                let Part { low, high, .. } = member.part;
                let to = member.destination;
                if plan.status == Status::Ok {
                    self.memory[member.rank][to..to + high - low]
                        .copy_from_slice(&plan.message[low..high]);
                } else {
                    free.push((member.rank, to, to + high - low));
                }
            }
        }
        let what: Vec<String> = plans
            .iter()
            .map(|plan| {
                format!(
                    "{:?} at {:?}",
                    plan.call,
                    plan.members
                        .iter()
                        .map(|m| m.destination)
                        .collect::<Vec<_>>()
                )
            })
            .collect();
        self.check(0, end, &free, &what.join("\n"));
    }

    /// Plans for one round of a random program, and the memory that they use.
    fn random_plans(
        &mut self,
        communicators: &[Communicator],
        most: usize,
        words: usize,
        wrong: f64,
    ) -> (Vec<Plan>, usize) {
        let mut used = vec![MARGIN; self.shape.all()];
        let mut drafts = Vec::new();
        for _ in 0..self.rng.random_range(1..=most) {
            let c = self.rng.random_range(0..communicators.len());
            let n = communicators[c].ranks.len();
            let differ = self.rng.random_bool(wrong);
            let mut call = Call::random(n, words, &mut self.rng);
            if self.shape.lean {
                self.lean(&mut call);
            }
            let mut calls = vec![call; n];
            if differ {
                self.spoil(&mut calls, words);
            }
            drafts.push((c, calls));
        }
        // First random contents around the ranges, then the source data.
        let scribbled = NODE_WORDS.min(drafts.len() * (words + 40) * 4);
        self.scribble_model(scribbled);
        let plans: Vec<Plan> = drafts
            .into_iter()
            .filter_map(|(c, calls)| self.plan(communicators, c, &calls, &mut used))
            .collect();
        let end = used.iter().max().copied().unwrap_or(0) + MARGIN;
        self.host(0, end.max(scribbled), true, |_, _, _| ());
        (plans, end)
    }

    /// Makes a call one that lean units implement, of no more words.
    fn lean(&mut self, call: &mut Call) {
        let narrow = [Datatype::I32, Datatype::U32];
        if width(call.datatype) > 1 {
            call.datatype = Datatype::I64;
        } else if !narrow.contains(&call.datatype) {
            call.datatype = *narrow.choose(&mut *self.rng).unwrap_or(&Datatype::I32);
        }
        call.operation = Operation::Sum;
    }

    fn scribble_model(&mut self, end: usize) {
        for memory in &mut self.memory {
            self.rng.fill(&mut memory[..end]);
        }
    }

    /// Lets some members make another call.
    fn spoil(&mut self, calls: &mut [Call], words: usize) {
        for _ in 0..self.rng.random_range(1..3) {
            let members = calls.len();
            let other = Call::random(members, words, &mut self.rng);
            let me = self.rng.random_range(0..members);
            let call = &mut calls[me];
            match self.rng.random_range(0..6) {
                0 => *call = other,
                1 => call.count = (call.count + 1).min(words / members.max(2) / 2),
                2 => call.root = other.root,
                3 => {
                    call.datatype = match call.datatype {
                        // A type of the same width first, then any type.
                        Datatype::F64 => Datatype::I64,
                        Datatype::U32 => Datatype::F32,
                        _ => Datatype::U32,
                    }
                }
                4 => {
                    call.operation = if call.operation == Operation::Sum {
                        Operation::Max
                    } else {
                        Operation::Sum
                    }
                }
                _ => call.collective = other.collective,
            }
            // All blocks must still fit.
            call.count = call.count.min(words / members / 2);
        }
    }

    /// Waits until nothing is in flight. Credits outstanding at a collective's end leave a cycle
    /// later, so one quiet cycle is not enough.
    fn quiet(&mut self) {
        let mut calm = 0;
        while calm < 4 {
            let Self {
                dut, pins, shape, ..
            } = self;
            dut.settle();
            let idle =
                (0..shape.boards).all(|board| dut.get(pins.active, board) & !(1 << SYNC) == 0);
            if idle && dut.is_quiet() {
                calm += 1;
            } else {
                calm = 0;
            }
            self.tick();
            self.watch(&[]);
        }
    }

    fn world(&mut self, context: usize) -> Communicator {
        let ranks = (0..self.shape.all()).collect();
        Communicator::new(context, ranks, self.shape.ranks, &mut self.rng)
    }

    /// Replaces the communicators of some rows. The first communicator stays. Other rows are freed,
    /// or written again with the same communicator.
    fn renew(&mut self, communicators: &mut Vec<Communicator>) {
        let Shape { boards, ranks, .. } = self.shape;
        let mut contexts: Vec<usize> = (1..SYNC).collect();
        contexts.shuffle(&mut *self.rng);
        let old = communicators.split_off(1);
        for context in contexts.into_iter().take(6) {
            communicators.push(Communicator::random(context, boards, ranks, &mut self.rng));
        }
        for group in old {
            let next = communicators
                .iter()
                .find(|next| next.context == group.context);
            for &board in &group.boards {
                let goes_on = next.is_some_and(|next| next.boards.contains(&board));
                if !goes_on && let Some(members) = self.rows[board][group.context].take() {
                    self.free(board, group.context, &members);
                }
            }
            self.drain();
        }
        self.program(&communicators[1..]);
    }
}

const BARRIER: Call = Call {
    collective: Collective::Barrier,
    operation: Operation::Sum,
    datatype: Datatype::U32,
    count: 0,
    root: 0,
    halving: false,
};

/// Random programs: any communicators, any calls, in any order, with any disturbances.
fn random(shape: Shape, bench: &'static str, epochs: u64) {
    let mut cluster = Cluster::new(shape, bench);
    cluster.program_sync();
    let mut communicators = vec![cluster.world(0)];
    cluster.program(&communicators.clone());
    let mut counts = BTreeMap::new();
    for epoch in 0..soak(epochs) {
        cluster.disturbances = NONE;
        cluster.renew(&mut communicators);
        for round in 0..4 {
            cluster.disturbances = *[NONE, SOME, SOME, MANY_DISTURBANCES]
                .choose(&mut *cluster.rng)
                .unwrap_or(&NONE);
            let delay = [1, 5, 5, 30][cluster.rng.random_range(0..4)];
            cluster.dut.delay = delay;
            cluster.rounds.wanted += 2;
            let words = [40, 100, 300][cluster.rng.random_range(0..3)];
            let wrong = if round == 0 { 0.0 } else { 0.2 };
            let (mut plans, end) = cluster.random_plans(&communicators, 10, words, wrong);
            cluster.run(
                &communicators,
                &mut plans,
                if round == 2 { 0.1 } else { 0.0 },
            );
            cluster.compare(&plans, end);
            for plan in &plans {
                *counts
                    .entry(format!("{:?} {:?}", plan.call.collective, plan.status))
                    .or_insert(0u32) += 1;
            }
        }
        // All ranks meet before rows are rewritten.
        let world = communicators[..1].to_vec();
        let calls = vec![BARRIER; world[0].ranks.len()];
        let mut used = vec![MARGIN; shape.all()];
        let mut barrier: Vec<Plan> = cluster
            .plan(&world, 0, &calls, &mut used)
            .into_iter()
            .collect();
        cluster.run(&world, &mut barrier, 0.0);
        // Credits of a collective's end may still be in flight.
        cluster.quiet();
        if epoch % 8 == 7 {
            cluster.check(0, NODE_WORDS, &[], "all of memory");
        }
    }
    cluster.check(0, NODE_WORDS, &[], "all of memory");
    for _ in 0..20_000 {
        if cluster
            .rounds
            .ended
            .iter()
            .all(|&ended| ended == cluster.rounds.wanted)
        {
            break;
        }
        cluster.tick();
    }
    assert!(
        cluster
            .rounds
            .ended
            .iter()
            .all(|&ended| ended == cluster.rounds.wanted),
        "rounds left"
    );
    println!("{} cycles; {counts:?}", cluster.dut.cycle());
}

#[test]
fn collective_random_five() {
    random(
        FIVE,
        "collective_random_five",
        if full() { 120 } else { 14 },
    );
}

#[test]
fn collective_random_many() {
    random(
        MANY,
        "collective_random_many",
        if full() { 120 } else { 12 },
    );
}

#[test]
fn collective_random_small() {
    random(SMALL, "collective_random_small", 4);
}

#[test]
fn collective_random_jitter() {
    random(
        JITTER,
        "collective_random_jitter",
        if full() { 60 } else { 8 },
    );
}

#[test]
fn collective_random_eight() {
    if full() {
        random(EIGHT, "collective_random_eight", 100);
    } else {
        alcor_skips::skip("the quick tier leaves it out; ALCOR_FULL=1 runs it");
    }
}

#[test]
fn collective_random_wide() {
    if full() {
        random(WIDE, "collective_random_wide", 60);
    } else {
        alcor_skips::skip("the quick tier leaves it out; ALCOR_FULL=1 runs it");
    }
}

// Individual properties

impl Cluster {
    /// A communicator of the first rank of each given board, with labels in the given order.
    fn first_ranks(&self, context: usize, boards: &[usize]) -> Communicator {
        Communicator::in_order(context, boards.to_vec(), self.shape.ranks)
    }

    /// Executes a call whose members write C_GO in the same cycle. Returns the cycles from C_GO to
    /// each member's completion, and checks the data.
    fn timed(&mut self, group: &Communicator, call: Call) -> Vec<u64> {
        let groups = [group.clone()];
        let mut used = vec![MARGIN; self.shape.all()];
        let calls = vec![call; group.ranks.len()];
        self.quiet();
        self.ticks(4);
        let Some(plan) = self.plan(&groups, 0, &calls, &mut used) else {
            panic!("{call:?} does not fit into node memory");
        };
        let end = used.iter().max().copied().unwrap_or(0) + MARGIN;
        self.host(0, end, true, |_, _, _| ());
        let mut plans = [plan];
        let mut go = Vec::new();
        for member in &plans[0].members {
            let mut writes = self.command(group.context, member);
            go.extend(writes.pop().map(|write| (member.rank, write)));
            self.writes[member.rank].extend(writes);
        }
        self.drain();
        let sent = self.sent();
        for (rank, write) in go {
            self.writes[rank].push_back(write);
        }
        self.ended.clear();
        let start = self.dut.cycle();
        let mut first = None;
        while plans[0].members.iter().any(|member| member.ended.is_none()) {
            self.tick();
            first = first.or((self.sent() != sent).then(|| self.dut.cycle() - 1 - start));
            for ended in std::mem::take(&mut self.ended) {
                assert_eq!(ended.status, plans[0].status as u64, "{call:?}");
                for member in plans[0]
                    .members
                    .iter_mut()
                    .filter(|member| member.rank == ended.rank)
                {
                    member.ended = Some(ended.cycle);
                }
            }
            self.watch(&plans);
        }
        self.first_phit = first;
        self.compare(&plans, end);
        plans[0]
            .members
            .iter()
            .filter_map(|member| member.ended)
            .map(|cycle| cycle - start)
            .collect()
    }

    /// By board: number of phits sent so far, over all stages.
    fn sent(&self) -> Vec<u64> {
        let by_board = self.dut.sent.chunks(self.shape.stages);
        by_board.map(|stages| stages.iter().sum()).collect()
    }
}

const SUM: Call = Call {
    collective: Collective::Allreduce,
    operation: Operation::Sum,
    datatype: Datatype::F64,
    count: 1,
    root: 0,
    halving: false,
};

/// A sum of integers, which the units of all shapes implement.
const SUM_I64: Call = Call {
    datatype: Datatype::I64,
    ..SUM
};

/// Expected cycles from C_GO, which all members write in the same cycle, to each member's
/// completion, by the budget of the unit's document. `late` is the delay of the first member's
/// signature in cycles.
fn latency(boards: usize, delay: u64, late: u64) -> Vec<u64> {
    // Through a stage alone, or with the partner's phit present; from port to window and through;
    // from the end on one board to the end on the board folded onto it.
    let (through, exchange, back) = (9, 11 + delay, 5 + delay);
    let alone = 14;
    let mut at = vec![0; boards];
    at[0] = if boards > 1 { late } else { 0 };
    let folded = |label: usize, n: usize| !boards.is_power_of_two() && label >= n;
    let power = if boards.is_power_of_two() {
        boards
    } else {
        boards.next_power_of_two() / 2
    };
    for label in power..boards {
        let lower = label - power;
        at[lower] = (at[lower] + through).max(at[label] + exchange);
    }
    if power < boards {
        for other in &mut at[boards - power..power] {
            *other += through;
        }
    }
    let mut distance = power / 2;
    while distance > 0 {
        at = (0..boards)
            .map(|label| {
                if folded(label, power) {
                    0
                } else {
                    (at[label] + through).max(at[label ^ distance] + exchange)
                }
            })
            .collect();
        distance /= 2;
    }
    (0..boards)
        .map(|label| {
            if folded(label, power) {
                alone + at[label - power] + back
            } else {
                alone + at[label]
            }
        })
        .collect()
}

/// Exact cycles from C_GO to the offered completion, with a network of known delay.
#[test]
fn collective_latency() {
    let mut cluster = Cluster::new(FIVE, "collective_latency");
    let groups = [
        [0].as_slice(),
        &[0, 1],
        &[2, 0, 3],
        &[0, 1, 2, 3],
        &[4, 3, 2, 1, 0],
    ];
    let groups: Vec<Communicator> = groups
        .iter()
        .zip(0..)
        .map(|(boards, context)| cluster.first_ranks(context, boards))
        .collect();
    cluster.program(&groups);
    for delay in [1, 20, 110] {
        cluster.dut.delay = delay;
        for group in &groups {
            let boards = group.boards.len();
            for collective in [
                Collective::Barrier,
                Collective::Allreduce,
                Collective::Bcast,
            ] {
                let call = match collective {
                    Collective::Barrier => BARRIER,
                    _ => Call { collective, ..SUM },
                };
                let cycles = cluster.timed(group, call);
                // The root of a bcast sends its copies before its signature.
                let late = if collective == Collective::Bcast {
                    6
                } else {
                    0
                };
                let what = format!("{collective:?}, {boards} boards, delay {delay}");
                assert_eq!(cycles, latency(boards, delay, late), "{what}");
                if boards.is_power_of_two() && late == 0 {
                    let stages = u64::from(boards.ilog2());
                    assert_eq!(cycles, vec![14 + stages * (11 + delay); boards], "{what}");
                }
                // On the port: data one cycle before the signature.
                let first = 10 - u64::from(collective == Collective::Allreduce);
                assert_eq!(cluster.first_phit, (boards > 1).then_some(first), "{what}");
            }
        }
    }
}

/// An allreduce of one phit by two boards over a network with a delay of five cycles. Board 1 posts
/// six cycles later.
#[test]
fn collective_waves() {
    let mut cluster = Cluster::new(FIVE, "collective_waves");
    let groups = [cluster.first_ranks(0, &[0, 1])];
    cluster.program(&groups);
    cluster.quiet();
    cluster.ticks(4);
    let mut used = vec![MARGIN; FIVE.all()];
    let plan = cluster.plan(&groups, 0, &[SUM; 2], &mut used);
    let mut waves = Waves::new("switch", "allreduce");
    let mut posts = Vec::new();
    for member in plan.iter().flat_map(|plan| &plan.members) {
        let mut writes = cluster.command(0, member);
        let go = writes.pop();
        cluster.writes[member.rank].extend(writes);
        cluster.drain();
        posts.push(go);
    }
    cluster.ended.clear();
    for cycle in 0..40 {
        for (rank, at) in [(0, 1), (1, 7)] {
            let go = posts[rank].filter(|_| cycle == at);
            cluster.writes[rank].extend(go);
        }
        cluster.tick_with(|dut, pins| {
            for board in 0..2 {
                let name = |name: &str| format!("{name} {board}");
                waves.bit(&name("C_GO, board"), dut.get(pins.write, board));
                waves.bit(&name("active_o[0], board"), dut.get(pins.active, board) & 1);
                let sent = dut.phit(true, board, 0);
                waves.bit(&name("tx_valid_o, board"), sent.is_some());
                waves.data(&name("tx_phit_o, board"), sent.map(kind));
                let come = dut.phit(false, board, 0);
                waves.bit(&name("rx_valid_i, board"), come.is_some());
                waves.data(&name("rx_phit_i, board"), come.map(kind));
                waves.bit(
                    &name("completion, board"),
                    dut.get(pins.complete_valid, board),
                );
            }
        });
        waves.cycle();
    }
    assert_eq!(cluster.ended.len(), 2);
    waves.check();
}

/// Abbreviation of a phit's kind: data to be combined, copy, signature, credit.
fn kind(header: u32) -> &'static str {
    match PhitKind::from_bits(net_high::KIND.get(header)) {
        Some(PhitKind::Combine) => "C",
        Some(PhitKind::Copy) => "P",
        Some(PhitKind::Signature) => "S",
        Some(PhitKind::Credit) => "R",
        None => "?",
    }
}

/// One phit per cycle in the steady state, over links of maximum delay, in the first row and in the
/// last row: `more` additional phits of data add their number of cycles, and the cycles of the
/// credits on the same port.
fn rate(shape: Shape, bench: &'static str, groups: &[&[usize]]) {
    let mut cluster = Cluster::new(shape, bench);
    let phit = shape.phit_w as usize / 32;
    // Both messages exceed half a window. The longer one nearly fills node memory.
    let (few, many) = (300, 1000usize);
    let batch = shape.window / 4;
    let more = (many - few) as u64;
    let credits = (many.div_ceil(batch) - few / batch) as u64;
    for (boards, row) in groups.iter().flat_map(|boards| [(boards, 0), (boards, 30)]) {
        let all: Vec<usize> = (0..shape.ranks).collect();
        let group = Communicator::blocks(row, boards.to_vec(), &all, false, shape.ranks);
        cluster.program(std::slice::from_ref(&group));
        for delay in [5, 110] {
            cluster.dut.delay = delay;
            for collective in [Collective::Allreduce, Collective::Bcast] {
                let mut time = |phits| {
                    let call = Call {
                        collective,
                        count: phits * phit / 2,
                        ..SUM_I64
                    };
                    cluster.timed(&group, call).into_iter().max().unwrap_or(0)
                };
                let cycles = time(many) - time(few);
                // A bcast's root pays no credits, and a board that forwards its phits sends nothing
                // else.
                let most = match collective {
                    Collective::Bcast => more,
                    _ => more + credits,
                };
                assert!(
                    (more..=most).contains(&cycles),
                    "{} boards, row {row}, {collective:?}, delay {delay}: {more} phits more in \
                     {cycles} cycles",
                    boards.len()
                );
            }
        }
    }
}

#[test]
fn collective_rate() {
    let groups = [[0, 1].as_slice(), &[0, 1, 2, 3], &[4, 3, 2, 1, 0]];
    rate(REAL, "collective_rate", &groups);
}

/// The same rate with memory latencies of 7 and 64 cycles.
#[test]
fn collective_rate_late() {
    for shape in [LATE, LATEST] {
        rate(shape, "collective_rate_late", &[&[0, 1]]);
    }
}

/// Eight communicators share a board's ports: together they send one phit per cycle, and all end at
/// about the same time.
#[test]
fn collective_shares() {
    let mut cluster = Cluster::new(LATEST, "collective_shares");
    let groups: Vec<Communicator> = [0, 1, 5, 12, 20, 27, 29, 30]
        .into_iter()
        .map(|context| cluster.first_ranks(context, &[0, 1]))
        .collect();
    cluster.program(&groups);
    cluster.dut.delay = 110;
    let phits = 60;
    let call = Call {
        count: phits * LATEST.phit_w as usize / 64,
        ..SUM_I64
    };
    let mut used = vec![MARGIN; cluster.shape.all()];
    let mut plans: Vec<Plan> = (0..groups.len())
        .filter_map(|c| cluster.plan(&groups, c, &[call; 2], &mut used))
        .collect();
    assert_eq!(
        plans.len(),
        groups.len(),
        "they do not fit into node memory"
    );
    cluster.host(0, NODE_WORDS, true, |_, _, _| ());
    cluster.run(&groups, &mut plans, 0.0);
    let members = || plans.iter().flat_map(|plan| &plan.members);
    let first = members().filter_map(|member| member.posted).min();
    let ends: Vec<u64> = members().filter_map(|member| member.ended).collect();
    let (early, late) = (ends.iter().min(), ends.iter().max());
    let (Some(first), Some(early), Some(late)) = (first, early, late) else {
        panic!("nothing ended");
    };
    // Alone: the latency with this memory and a second rank in the sum, data and a signature.
    let alone = 14 + (11 + 110) + (LATEST.latency as u64 - 1) + 6;
    let all = ((phits + 1) * groups.len()) as u64;
    assert!(
        late - first <= alone + all + groups.len() as u64,
        "{all} phits in {} cycles",
        late - first
    );
    assert!(late - early < phits as u64, "ends from {early} to {late}");
    cluster.compare(&plans, NODE_WORDS);
}

/// Each data phit is paid back, at the end of the collective at the latest. The number of sent
/// phits is exact, and no credit is outstanding.
#[test]
fn collective_credits() {
    let mut cluster = Cluster::new(REAL, "collective_credits");
    let group = cluster.first_ranks(0, &[0, 1]);
    cluster.program(std::slice::from_ref(&group));
    for (count, credits) in [(1, 1), (0, 0), (4, 1), (100, 1), (3, 1)] {
        let phits = (count as u64 * 2).div_ceil(REAL.phit_w / 32);
        let before = cluster.sent();
        cluster.timed(&group, Call { count, ..SUM_I64 });
        cluster.ticks(60);
        for (board, (after, before)) in cluster.sent().iter().zip(before).enumerate().take(2) {
            // Data, a signature, credits.
            let sent = after - before;
            assert_eq!(sent, phits + 1 + credits, "board {board}, {count} elements");
        }
    }
}

/// Messages of `words` words, longer than a window: one at a time in some rows, and those of eight
/// communicators concurrently over slow links.
fn windows(shape: Shape, bench: &'static str, words: usize) {
    let mut cluster = Cluster::new(shape, bench);
    let mut groups: Vec<Communicator> = [0, 1, 12, 30]
        .into_iter()
        .map(|context| cluster.world(context))
        .collect();
    cluster.program(&groups);
    for group in &groups {
        for &collective in Collective::ALL {
            let whole = matches!(collective, Collective::Allreduce | Collective::Bcast);
            // Source and destination of the other collectives do not fit into node memory.
            if words > NODE_WORDS / 3 && !whole {
                continue;
            }
            let blocks = if whole || collective == Collective::Reduce {
                1
            } else {
                group.ranks.len()
            };
            let call = Call {
                collective,
                datatype: Datatype::I32,
                count: words / blocks,
                root: 1,
                halving: true,
                ..SUM
            };
            cluster.timed(group, call);
        }
    }
    let (boards, ranks) = (shape.boards, shape.ranks);
    for context in [5, 11, 20, 29] {
        groups.push(Communicator::random(
            context,
            boards,
            ranks,
            &mut cluster.rng,
        ));
    }
    cluster.program(&groups[4..]);
    cluster.dut.delay = 120;
    for _ in 0..soak(4) {
        cluster.disturbances = *[NONE, SOME].choose(&mut *cluster.rng).unwrap_or(&NONE);
        let mut used = vec![MARGIN; cluster.shape.all()];
        let mut plans = Vec::new();
        for c in (0..3).flat_map(|_| 0..groups.len()) {
            let collectives = [Collective::Bcast, Collective::Reduce, Collective::Allreduce];
            let call = Call {
                collective: *collectives
                    .choose(&mut *cluster.rng)
                    .unwrap_or(&collectives[0]),
                count: 300,
                datatype: Datatype::I32,
                root: cluster.rng.random_range(0..groups[c].ranks.len()),
                ..SUM
            };
            plans.extend(cluster.plan(&groups, c, &vec![call; groups[c].ranks.len()], &mut used));
        }
        cluster.host(0, NODE_WORDS, true, |_, _, _| ());
        cluster.run(&groups, &mut plans, 0.0);
        cluster.compare(&plans, NODE_WORDS);
    }
}

#[test]
fn collective_windows() {
    windows(FIVE, "collective_windows", 700);
    windows(REAL, "collective_windows", 6000);
}

/// Ports that rarely send: forwarded copies wait at a board, and signatures after them.
fn stalled(shape: Shape, bench: &'static str, boards: &[usize], rounds: u64) {
    let mut cluster = Cluster::new(shape, bench);
    let group = cluster.first_ranks(0, boards);
    cluster.program(std::slice::from_ref(&group));
    cluster.disturbances = Disturbances {
        stall: 0.85,
        ..NONE
    };
    for round in 0..soak(rounds) {
        for collective in [Collective::Bcast, Collective::Allgather, Collective::Gather] {
            let call = Call {
                collective,
                count: 40,
                root: round as usize % boards.len(),
                ..shape.sum()
            };
            cluster.timed(&group, call);
        }
    }
}

#[test]
fn collective_stalled() {
    stalled(FIVE, "collective_stalled", &[1, 4, 0, 2], 12);
}

#[test]
fn collective_stalled_small() {
    stalled(SMALL, "collective_stalled_small", &[1, 0, 2], 3);
}

impl Cluster {
    /// Consecutive collectives in one row. When member `who` posts the first one, the port of one
    /// stage of its board is closed and another communicator's phits wait there. Returns whether
    /// the member has completed the first collective before any of its phits left by that port.
    fn after(
        &mut self,
        groups: &[Communicator],
        calls: [Call; 3],
        who: usize,
        stage: usize,
    ) -> bool {
        let mut used = vec![MARGIN; self.shape.all()];
        let mut plans: Vec<Plan> = Vec::new();
        for (call, c) in calls.into_iter().zip([0, 1, 0]) {
            let calls = vec![call; groups[c].ranks.len()];
            plans.extend(self.plan(groups, c, &calls, &mut used));
        }
        assert_eq!(plans.len(), 3, "{calls:?} do not fit into node memory");
        let end = used.iter().max().copied().unwrap_or(0) + MARGIN;
        self.host(0, end, true, |_, _, _| ());
        let board = groups[0].ranks[who] / self.shape.ranks;
        self.closed = Some(board * self.shape.stages + stage);
        let all: Vec<usize> = (0..groups[0].ranks.len()).collect();
        let others: Vec<usize> = all.iter().copied().filter(|&me| me != who).collect();
        let mut busy = vec![vec![None; groups.len()]; self.shape.all()];
        self.ended.clear();
        let mut early = false;
        for (index, members) in [(0, &others), (1, &all), (0, &vec![who])] {
            for &me in members {
                self.post(groups, &plans, &mut busy, index, me);
            }
            for _ in 0..300 {
                self.step(groups, &mut plans, &mut busy);
                early = plans[0].members[who].ended.is_some();
            }
        }
        self.closed = None;
        while plans
            .iter()
            .any(|plan| plan.members.iter().any(|member| member.ended.is_none()))
        {
            self.step(groups, &mut plans, &mut busy);
            self.watch(&plans);
        }
        self.compare(&plans, end);
        self.quiet();
        early
    }

    /// One cycle. A member that completes the first of three plans posts the last.
    fn step(
        &mut self,
        groups: &[Communicator],
        plans: &mut [Plan],
        busy: &mut [Vec<Option<usize>>],
    ) {
        self.tick();
        for ended in std::mem::take(&mut self.ended) {
            self.end(groups, plans, busy, ended);
            let first = &plans[0].members;
            let found = first
                .iter()
                .position(|member| member.rank == ended.rank && member.id == ended.id);
            if let Some(me) = found {
                self.post(groups, plans, busy, 2, me);
            }
        }
    }

    fn post(
        &mut self,
        groups: &[Communicator],
        plans: &[Plan],
        busy: &mut [Vec<Option<usize>>],
        index: usize,
        me: usize,
    ) {
        let (c, member) = (plans[index].communicator, plans[index].members[me].clone());
        busy[member.rank][c] = Some(index);
        let writes = self.command(groups[c].context, &member);
        self.writes[member.rank].extend(writes);
    }
}

/// A board that has completed a collective may begin the next one while its last phits of the first
/// wait at a port behind those of another communicator. No phit of the next collective may overtake
/// them.
#[test]
fn collective_next() {
    let mut cluster = Cluster::new(FIVE, "collective_next");
    let sets = [[3, 1].as_slice(), &[4, 0, 1, 3], &[2, 0, 4, 3, 1]];
    for (set, boards) in sets.into_iter().enumerate() {
        let groups = [12 + set, 4 + set].map(|context| cluster.first_ranks(context, boards));
        cluster.program(&groups);
        let stages = boards.len().next_power_of_two().ilog2() as usize;
        let mut early = 0;
        for &collective in Collective::ALL {
            for stage in 0..stages {
                let who = cluster.rng.random_range(0..boards.len());
                let copies = [
                    Collective::Bcast,
                    Collective::Scatter,
                    Collective::Gather,
                    Collective::Allgather,
                ];
                let next = *copies
                    .choose(&mut *cluster.rng)
                    .unwrap_or(&Collective::Bcast);
                let most = 3 * FIVE.phit_w as usize / 64;
                let call = Call {
                    root: cluster.rng.random_range(0..boards.len()),
                    halving: true,
                    ..SUM
                };
                let calls = [
                    Call {
                        collective,
                        count: cluster.rng.random_range(0..most),
                        ..call
                    },
                    Call { count: 100, ..call },
                    Call {
                        collective: next,
                        count: cluster.rng.random_range(1..most),
                        root: if next == Collective::Gather {
                            call.root
                        } else {
                            who
                        },
                        ..call
                    },
                ];
                early += usize::from(cluster.after(&groups, calls, who, stage));
            }
        }
        println!("{boards:?}: {early}");
        assert!(early >= 3, "{boards:?}: {early}");
    }
}

/// A rank is reset while this rank and other ranks of its board post and complete collectives.
/// Waiting collectives of its communicator are cancelled. Each collective completes once, even one
/// posted in the last cycles of the reset. Collectives of another communicator succeed. Afterwards
/// all ranks continue.
#[test]
fn collective_lost() {
    const ORPHANED: u64 = 1;
    let mut cluster = Cluster::new(MANY, "collective_lost");
    let ranks = MANY.ranks;
    let all: Vec<usize> = (0..ranks).collect();
    let (mut cancelled, mut well) = (0, 0);
    for _ in 0..soak(400) {
        let lost = cluster.rng.random_range(0..ranks);
        let others: Vec<usize> = all.iter().copied().filter(|&rank| rank != lost).collect();
        let groups = [(3, all.clone()), (9, others)]
            .map(|(context, of)| Communicator::new(context, of, ranks, &mut cluster.rng));
        cluster.program(&groups);
        let (drains, pulse) = (
            cluster.rng.random_range(0..60),
            cluster.rng.random_range(8..20),
        );
        // The reset ends some cycles after the pulse.
        let over = drains + pulse + cluster.rng.random_range(4..8);
        let mut posts = Vec::new();
        for c in 0..groups.len() {
            let call = Call {
                count: cluster.rng.random_range(0..30),
                ..SUM
            };
            let mut used = vec![MARGIN; cluster.shape.all()];
            let calls = vec![call; groups[c].ranks.len()];
            let plan = cluster.plan(&groups, c, &calls, &mut used).expect("room");
            for member in plan.members {
                // The reset rank posts at any time before the end of its reset, often shortly
                // before.
                let at = match (member.rank == lost, cluster.rng.random_bool(0.7)) {
                    (true, true) => over - cluster.rng.random_range(8..12),
                    (true, false) => cluster.rng.random_range(0..over),
                    _ => cluster.rng.random_range(0..40),
                };
                posts.push((at, c, member));
            }
        }
        cluster.ended.clear();
        let mut ended = BTreeMap::new();
        for cycle in 0..600 {
            for (_, c, member) in posts.iter().filter(|(at, ..)| *at == cycle) {
                let writes = cluster.command(groups[*c].context, member);
                cluster.writes[member.rank].extend(writes);
            }
            // The next owner of the rank must not continue an incomplete command.
            if cycle == over {
                cluster.writes[lost].clear();
                cluster.operands[lost].clear();
            }
            let (lane, misses) = (cluster.pins.lost, cycle > drains + pulse);
            cluster
                .dut
                .set(lane, lost, u64::from(cycle == drains + pulse));
            for &rank in &all {
                let is_reset = rank == lost && (drains..over).contains(&cycle);
                let drain = if is_reset { DRAIN } else { 0 };
                let orphaned = if rank != lost && misses { ORPHANED } else { 0 };
                cluster.dut.set(cluster.pins.cancel, rank, drain | orphaned);
            }
            cluster.tick();
            for end in std::mem::take(&mut cluster.ended) {
                assert_eq!(
                    ended.insert((end.rank, end.id), end.status),
                    None,
                    "{end:?} a second time"
                );
            }
        }
        for (_, c, member) in &posts {
            let status = ended.get(&(member.rank, member.id)).copied();
            match status {
                // The next owner must not find a collective of the previous owner.
                None if member.rank == lost => {
                    assert!(
                        !cluster.went.contains_key(&(lost, member.id)),
                        "{member:?} has not ended"
                    );
                }
                Some(status) if *c == 0 && status == Status::RankReset as u64 => cancelled += 1,
                Some(status) if status == Status::Ok as u64 => well += usize::from(*c == 0),
                _ => panic!("{member:?} of communicator {c}, rank {lost} reset: {status:?}"),
            }
        }
        for &rank in &all {
            cluster.dut.set(cluster.pins.cancel, rank, 0);
        }
        cluster.ticks(20);
        cluster.timed(&groups[0], Call { count: 5, ..SUM });
    }
    assert!(cancelled > 100 && well > 100, "{cancelled} {well}");
}

/// A rank posts a barrier in each of two communicators, in the last cycles of its reset and in the
/// cycles after it, while completions are taken at once or late. A barrier posted in the reset ends
/// with ST_RANK_RESET. A later barrier waits for the other member and succeeds.
#[test]
fn collective_reset_ends() {
    const ORPHANED: u64 = 1;
    /// The first cycle after the reset.
    const OVER: u64 = 16;
    let mut cluster = Cluster::new(SMALL, "collective_reset_ends");
    let board: Vec<usize> = (0..SMALL.ranks).collect();
    let groups =
        [3, 9].map(|context| Communicator::blocks(context, vec![0], &board, false, SMALL.ranks));
    cluster.program(&groups);
    let member = |rank: usize, id: u16| Member {
        rank,
        id,
        part: Part {
            what: BARRIER.what(&groups[0]),
            ..Part::default()
        },
        ..Member::default()
    };
    for first in OVER - 6..OVER + 2 {
        for (gap, slow) in [1, 2, 3]
            .into_iter()
            .flat_map(|gap| [(gap, 0.0), (gap, 1.0)])
        {
            let lost = cluster.rng.random_range(0..board.len());
            // The operands of both barriers are equal, so they are written once.
            let mut posts = Vec::new();
            for (group, at) in groups.iter().zip([first, first + gap]) {
                let member = member(lost, cluster.id());
                let mut writes = cluster.command(group.context, &member);
                let go = writes.pop().expect("C_GO");
                cluster.writes[lost].extend(writes);
                posts.push((at, go, member.id));
            }
            cluster.drain();
            cluster.ended.clear();
            cluster.disturbances = Disturbances { slow, ..NONE };
            for cycle in 0..80 {
                for (_, go, _) in posts.iter().filter(|(at, ..)| *at == cycle) {
                    cluster.writes[lost].push_back(*go);
                }
                if cycle == 40 {
                    cluster.disturbances = NONE;
                }
                let (lane, pulse) = (cluster.pins.lost, OVER - 5);
                cluster.dut.set(lane, lost, u64::from(cycle == pulse));
                for &rank in &board {
                    let cancel = match rank == lost {
                        true if cycle < OVER => DRAIN,
                        false if cycle > pulse && cycle < 60 => ORPHANED,
                        _ => 0,
                    };
                    cluster.dut.set(cluster.pins.cancel, rank, cancel);
                }
                cluster.tick();
            }
            let what = format!("C_GO in {first} and {gap} cycles later, rank {lost}, slow {slow}");
            let mut ended: BTreeMap<u16, u64> = BTreeMap::new();
            for end in std::mem::take(&mut cluster.ended) {
                assert_eq!(end.rank, lost, "{what}: {end:?}");
                assert_eq!(ended.insert(end.id, end.status), None, "{what}: {end:?}");
            }
            let mut left = 0;
            for (group, (at, _, id)) in groups.iter().zip(posts) {
                let reset = (at < OVER).then_some(Status::RankReset as u64);
                assert_eq!(ended.remove(&id), reset, "{what}: C_GO in cycle {at}");
                // All members that have not posted post.
                for &rank in &board {
                    left += 1;
                    if rank != lost || reset.is_some() {
                        let member = member(rank, cluster.id());
                        let writes = cluster.command(group.context, &member);
                        cluster.writes[rank].extend(writes);
                    }
                }
            }
            cluster.ticks(200);
            for end in std::mem::take(&mut cluster.ended) {
                assert_eq!(end.status, Status::Ok as u64, "{what}: {end:?}");
                left -= 1;
            }
            assert_eq!(left, 0, "{what}: barriers after the reset have not ended");
        }
    }
}

/// The rows of a communicator are written while its boards read a message out of node memories of
/// high latency. The collective ends, and the next collective begins as soon as the rows are
/// written. No data of the old message reaches the new one.
#[test]
fn collective_rewritten() {
    let shape = LATEST;
    let mut cluster = Cluster::new(shape, "collective_rewritten");
    let all: Vec<usize> = (0..shape.ranks).collect();
    let groups = [Communicator::blocks(
        3,
        vec![0, 1],
        &all,
        false,
        shape.ranks,
    )];
    cluster.program(&groups);
    let members = groups[0].ranks.len();
    let mut cut = 0;
    // The first data comes out of node memory after 64 cycles, the last data after 130.
    for wait in (0..140).step_by(7) {
        let mut used = vec![MARGIN; shape.all()];
        let mut plans: Vec<Plan> = Vec::new();
        // The root's board only keeps what it reads, so no other block waits for this data.
        for (collective, phits) in [(Collective::Reduce, 60), (Collective::Allreduce, 6)] {
            let call = Call {
                collective,
                count: phits * shape.phit_w as usize / 64,
                root: cluster.rng.random_range(0..members),
                ..SUM_I64
            };
            plans.extend(cluster.plan(&groups, 0, &vec![call; members], &mut used));
        }
        let end = used.iter().max().copied().unwrap_or(0) + MARGIN;
        cluster.host(0, end, true, |_, _, _| ());
        // All members post the old collective in one cycle.
        let mut goes = Vec::new();
        for member in plans[0].members.clone() {
            let mut writes = cluster.command(groups[0].context, &member);
            goes.extend(writes.pop().map(|go| (member.rank, go)));
            cluster.writes[member.rank].extend(writes);
            cluster.cancels.insert((member.rank, member.id), None);
        }
        cluster.drain();
        for (rank, go) in goes.drain(..) {
            cluster.writes[rank].push_back(go);
        }
        cluster.tick();
        // The operands of the new collective, which no member posts before all rows are written.
        for member in plans[1].members.clone() {
            let mut writes = cluster.command(groups[0].context, &member);
            goes.extend(writes.pop().map(|go| (member.rank, go)));
            cluster.writes[member.rank].extend(writes);
        }
        cluster.ticks(wait);
        cluster.write_rows(&groups[0]);
        let last = cluster.dut.cycle() + 1000;
        loop {
            cluster.tick();
            let mut ranks = 0..shape.all();
            if ranks.all(|rank| {
                cluster.writes[rank].is_empty()
                    && cluster.dut.get(cluster.pins.row_writes, rank) == 0
            }) {
                break;
            }
            assert!(cluster.dut.cycle() < last, "wait {wait}: rows not written");
        }
        for end in std::mem::take(&mut cluster.ended) {
            assert!(cluster.cancelled(end), "wait {wait}: {end:?}");
            if end.status != Status::Ok as u64 {
                plans[0].status = Status::RankReset;
            }
        }
        cut += u32::from(plans[0].status != Status::Ok);
        for member in &plans[0].members {
            let end = cluster.cancels.remove(&(member.rank, member.id));
            assert!(
                matches!(end, Some(Some(_))),
                "wait {wait}: {member:?} has not ended"
            );
        }
        for (rank, go) in goes {
            cluster.writes[rank].push_back(go);
        }
        cluster.ticks(400);
        let mut left = groups[0].ranks.clone();
        for end in std::mem::take(&mut cluster.ended) {
            assert_eq!(end.status, Status::Ok as u64, "wait {wait}: {end:?}");
            left.retain(|&rank| rank != end.rank);
        }
        assert!(left.is_empty(), "wait {wait}: {left:?} have not ended");
        cluster.compare(&plans, end);
    }
    assert!(cut > 10, "{cut}");
}

/// Ranks are reset while their collective waits for members on other boards that never post it, or
/// during a collective. Each reset ends soon, with all commands that the rank has posted. A
/// communicator of other ranks continues in the meantime. A new communicator in the same row
/// computes correct results, even while phits of the old communicator are in flight.
fn retired(shape: Shape, bench: &'static str, epochs: u64) {
    let mut cluster = Cluster::new(shape, bench);
    cluster.program_sync();
    let (mut longest, mut ended, mut beside, mut anew, mut notified) = (0, 0, 0, 0, 0);
    for epoch in 0..soak(epochs) {
        cluster.disturbances = NONE;
        // In every eighth epoch, one board alone posts, and no rank is reset: the row is written while
        // the board's collectives wait. In every other eighth epoch, one board's ranks are not reset,
        // and other boards notify this board.
        let (is_alone, is_notified) = (epoch % 8 == 7, epoch % 8 == 3);
        let old = loop {
            let old = Communicator::random(3, shape.boards, shape.ranks, &mut cluster.rng);
            if old.boards.len() > 1 {
                break old;
            }
        };
        let rest: Vec<usize> = (0..shape.all())
            .filter(|rank| !old.ranks.contains(rank))
            .collect();
        let mut groups = vec![old];
        if !rest.is_empty() {
            groups.push(Communicator::new(9, rest, shape.ranks, &mut cluster.rng));
        }
        cluster.program(&groups);
        cluster.disturbances = *[NONE, SOME].choose(&mut *cluster.rng).unwrap_or(&NONE);
        cluster.dut.delay = [1, 5, 30][cluster.rng.random_range(0..3)];
        cluster.rounds.wanted += 2;
        let words = [40, 300, 1500][cluster.rng.random_range(0..3)];
        let mut used = vec![MARGIN; shape.all()];
        let call = Call::random(groups[0].ranks.len(), words, &mut cluster.rng);
        let calls = vec![call; groups[0].ranks.len()];
        let Some(mut lost) = cluster.plan(&groups, 0, &calls, &mut used) else {
            continue;
        };
        lost.status = Status::RankReset;
        let mut plans = Vec::new();
        for _ in 0..cluster.rng.random_range(1..6) {
            if let Some(others) = groups.get(1).map(|group| group.ranks.len()) {
                let call = Call::random(others, 300, &mut cluster.rng);
                plans.extend(cluster.plan(&groups, 1, &vec![call; others], &mut used));
            }
        }
        let end = used.iter().max().copied().unwrap_or(0) + MARGIN;
        cluster.host(0, end, true, |_, _, _| ());
        // Some boards never post, unless all boards post and are reset during the collective.
        let boards = &groups[0].boards;
        let mut missing = boards.clone();
        if is_alone {
            missing.remove(0);
        } else {
            missing.shuffle(&mut *cluster.rng);
            missing.truncate(if cluster.rng.random_bool(0.3) {
                0
            } else {
                cluster.rng.random_range(1..boards.len())
            });
            if is_notified {
                missing.retain(|&board| board != boards[0]);
                missing.truncate(boards.len() - 2);
            }
        }
        let now = cluster.dut.cycle();
        let (mut resets, mut left) = (Vec::new(), Vec::new());
        // While phits are in flight, or when all boards wait.
        let soon = [12..80, 100..1500][cluster.rng.random_range(0..2)].clone();
        let is_spared = is_alone || is_notified || cluster.rng.random_bool(0.3);
        let spared = is_spared.then(|| boards[0]);
        for member in &lost.members {
            if missing.contains(&(member.rank / shape.ranks)) {
                continue;
            }
            let writes = cluster.command(groups[0].context, member);
            cluster.writes[member.rank].extend(writes);
            cluster.cancels.insert((member.rank, member.id), None);
            let begin = now + cluster.rng.random_range(soon.clone());
            // Collectives of ranks that are not reset end when their row is rewritten.
            if spared == Some(member.rank / shape.ranks) {
                left.push(member);
            } else {
                resets.push((member, begin));
                cluster.resets.push((begin, member.rank, true));
            }
        }
        // Late phits of the old communicator.
        for lane in 0..shape.boards * shape.boards {
            if cluster.rng.random_bool(0.3) {
                cluster.held_until[lane] = now + cluster.rng.random_range(0..4000);
            }
        }
        cluster.run(&groups, &mut plans, 0.0);
        beside += plans.len();
        let last = resets.iter().map(|(_, begin)| *begin).max().unwrap_or(0);
        while cluster.dut.cycle() < last + 1000 {
            cluster.tick();
            for end in std::mem::take(&mut cluster.ended) {
                assert!(cluster.cancelled(end), "no call expects {end:?}");
            }
        }
        for (member, begin) in resets {
            let Some(Some(at)) = cluster.cancels.remove(&(member.rank, member.id)) else {
                panic!("{member:?} of {call:?} has not ended, reset in cycle {begin}");
            };
            longest = longest.max(at.saturating_sub(begin));
            ended += 1;
        }
        // Boards whose ranks are not reset are notified by their partners, after late phits.
        let was_reset = last > 0;
        let patience = cluster.dut.cycle() + 4000;
        while was_reset
            && left
                .iter()
                .any(|member| cluster.cancels[&(member.rank, member.id)].is_none())
        {
            assert!(
                cluster.dut.cycle() < patience,
                "{left:?} have not ended after resets"
            );
            cluster.tick();
            for end in std::mem::take(&mut cluster.ended) {
                assert!(cluster.cancelled(end), "no call expects {end:?}");
            }
        }
        if was_reset {
            notified += left.len();
            for member in left.drain(..) {
                cluster.cancels.remove(&(member.rank, member.id));
            }
        }
        cluster.resets.clear();
        for rank in 0..shape.all() {
            cluster.dut.set(cluster.pins.cancel, rank, 0);
        }
        let board_goes_on = !left.is_empty();
        plans.push(lost.clone());
        if !board_goes_on {
            cluster.compare(&plans, end);
        }
        let next = loop {
            let next = Communicator::random(3, shape.boards, shape.ranks, &mut cluster.rng);
            if !is_alone || next.boards.contains(&groups[0].boards[0]) {
                break next;
            }
        };
        cluster.disturbances = NONE;
        cluster.program(std::slice::from_ref(&next));
        for member in left {
            let is_written = next.boards.contains(&(member.rank / shape.ranks));
            if !is_written {
                cluster.dut.set(cluster.pins.cancel, member.rank, DRAIN);
                cluster.ticks(300);
                cluster.dut.set(cluster.pins.cancel, member.rank, 0);
            }
            for end in std::mem::take(&mut cluster.ended) {
                assert!(cluster.cancelled(end), "no call expects {end:?}");
            }
            let end = cluster.cancels.remove(&(member.rank, member.id));
            assert!(
                matches!(end, Some(Some(_))),
                "{member:?} has not ended, rewritten: {is_written}"
            );
            anew += u32::from(is_written);
        }
        if board_goes_on {
            cluster.compare(&plans, end);
        }
        cluster.disturbances = *[NONE, SOME].choose(&mut *cluster.rng).unwrap_or(&NONE);
        let groups = [next];
        let (mut plans, end) = cluster.random_plans(&groups, 4, 200, 0.1);
        cluster.run(&groups, &mut plans, 0.0);
        cluster.compare(&plans, end);
    }
    cluster.check(0, NODE_WORDS, &[], "all of memory");
    eprintln!(
        "{bench}: {ended} resets, the longest took {longest} cycles; {notified} collectives of other boards \
         ended, {anew} ended by a write, {} phits dropped",
        cluster.stale
    );
    assert!(
        ended > 30 && beside > 10 && anew > 0 && notified > 10 && cluster.stale > 30,
        "{ended} {beside} {anew} {notified} {}",
        cluster.stale
    );
    assert!(longest < 800, "a reset took {longest} cycles");
}

#[test]
fn collective_retired_five() {
    retired(FIVE, "collective_retired_five", 120);
}

#[test]
fn collective_retired_many() {
    retired(MANY, "collective_retired_many", 80);
}

/// Recursive halving with the middle at each word of a phit.
#[test]
fn collective_halving() {
    let mut cluster = Cluster::new(FIVE, "collective_halving");
    let groups = [[3, 1].as_slice(), &[4, 0, 1, 3]];
    for (boards, context) in groups.into_iter().zip(2..) {
        let group = cluster.first_ranks(context, boards);
        cluster.program(std::slice::from_ref(&group));
        for count in 0..=2 * FIVE.phit_w as usize / 32 {
            let call = Call {
                collective: Collective::ReduceScatter,
                datatype: Datatype::I32,
                count,
                halving: true,
                ..SUM
            };
            cluster.timed(&group, call);
        }
    }
}

/// Both collectives with messages that are read in parts, of about `words` words.
fn divided(shape: Shape, group: &Communicator, words: usize, rng: &mut Random) -> Call {
    let collective = [Collective::ReduceScatter, Collective::Scatter];
    let wide = if shape.lean {
        Datatype::I64
    } else {
        Datatype::F64
    };
    let datatype = [Datatype::I32, wide];
    let datatype = *datatype.choose(&mut **rng).unwrap_or(&Datatype::I32);
    let members = group.ranks.len();
    Call {
        collective: *collective.choose(&mut **rng).unwrap_or(&collective[0]),
        datatype,
        count: words / members / width(datatype),
        root: rng.random_range(0..members),
        halving: true,
        ..SUM
    }
}

/// Numbers of rounds: calls one at a time, concurrent calls, mismatching calls.
const ROUNDS: [u64; 3] = [16, 8, 12];

/// Messages that are read in parts: ends at any word, up to and beyond several chunks of each size
/// (a quarter of a window), with any root, one at a time and concurrently, with any disturbances.
fn parts(
    shape: Shape,
    bench: &'static str,
    groups: &[(usize, &[usize], &[usize], bool)],
    rounds: [u64; 3],
) {
    let mut cluster = Cluster::new(shape, bench);
    let groups: Vec<Communicator> = groups
        .iter()
        .map(|&(context, boards, each, gray)| {
            Communicator::blocks(context, boards.to_vec(), each, gray, shape.ranks)
        })
        .collect();
    cluster.program(&groups);
    let phit = shape.phit_w as usize / 32;
    let any_weather = |cluster: &mut Cluster| {
        cluster.disturbances = *[NONE, NONE, SOME, MANY_DISTURBANCES]
            .choose(&mut *cluster.rng)
            .unwrap_or(&NONE);
        let delay = [1, 5, 30, 120][cluster.rng.random_range(0..4)];
        cluster.dut.delay = delay;
    };
    // Words of both halves around some chunks, or fewer. Source and destination of each member must
    // fit.
    let any_call = |cluster: &mut Cluster, group: &Communicator| {
        let chunk = shape.window / 4 * phit;
        let each = NODE_WORDS / shape.ranks.min(2) - 200;
        let most = each * group.ranks.len() / (group.ranks.len() + 1);
        let words = if cluster.rng.random_bool(0.3) {
            cluster.rng.random_range(0..6 * phit)
        } else {
            let chunks = cluster.rng.random_range(1..=6);
            chunks * chunk + cluster.rng.random_range(0..4 * phit) - 2 * phit
        };
        divided(shape, group, words.min(most), &mut cluster.rng)
    };
    for group in &groups {
        for _ in 0..soak(rounds[0]) {
            any_weather(&mut cluster);
            let call = any_call(&mut cluster, group);
            cluster.timed(group, call);
        }
    }
    for _ in 0..soak(rounds[1]) {
        any_weather(&mut cluster);
        let mut used = vec![MARGIN; cluster.shape.all()];
        let mut plans = Vec::new();
        for _ in 0..12 {
            let c = cluster.rng.random_range(0..groups.len());
            let call = any_call(&mut cluster, &groups[c]);
            plans.extend(cluster.plan(&groups, c, &vec![call; groups[c].ranks.len()], &mut used));
        }
        let end = used.iter().max().copied().unwrap_or(0) + MARGIN;
        cluster.host(0, end, true, |_, _, _| ());
        cluster.run(&groups, &mut plans, 0.0);
        cluster.compare(&plans, end);
    }
    // Mismatching members. The next collective is not affected.
    for (c, group) in groups.iter().enumerate() {
        for _ in 0..soak(rounds[2]) {
            any_weather(&mut cluster);
            let words = 2 * shape.window * phit;
            let call = divided(shape, group, words, &mut cluster.rng);
            let mut calls = vec![call; group.ranks.len()];
            let who = cluster.rng.random_range(0..calls.len());
            let other = &mut calls[who];
            match cluster.rng.random_range(0..5) {
                0 => other.halving = false,
                1 => other.count /= 2,
                2 => other.root = (other.root + 1) % group.ranks.len(),
                3 => other.collective = Collective::Scatter,
                _ => other.collective = Collective::Allreduce,
            }
            let right = Call {
                count: call.count.min(10),
                ..call
            };
            let mut used = vec![MARGIN; cluster.shape.all()];
            let wrong = cluster.plan(&groups, c, &calls, &mut used);
            let right = cluster.plan(&groups, c, &vec![right; calls.len()], &mut used);
            let mut plans: Vec<Plan> = wrong.into_iter().chain(right).collect();
            let end = used.iter().max().copied().unwrap_or(0) + MARGIN;
            cluster.host(0, end, true, |_, _, _| ());
            cluster.run(&groups, &mut plans, 0.0);
            cluster.compare(&plans, end);
        }
    }
}

#[test]
fn collective_parts_five() {
    let groups: [(usize, &[usize], &[usize], bool); 8] = [
        (0, &[4, 0, 1, 3], &[0], false),
        (1, &[2, 3], &[0], false),
        (5, &[1, 4], &[0], false),
        (12, &[3, 0, 2, 4], &[0], false),
        (30, &[0, 4], &[0], false),
        (3, &[0, 4, 2, 1], &[0], true),
        (20, &[1, 2, 4, 3], &[0], true),
        // Not a power of two, so not divided.
        (7, &[1, 3, 2], &[0], false),
    ];
    parts(FIVE, "collective_parts_five", &groups, ROUNDS);
}

#[test]
fn collective_parts_many() {
    let groups: [(usize, &[usize], &[usize], bool); 4] = [
        (0, &[2, 0], &[0, 1, 2, 3], false),
        (2, &[1, 2], &[3], false),
        (9, &[0, 1], &[1, 3], false),
        // All on one board.
        (14, &[1], &[0, 2], false),
    ];
    parts(MANY, "collective_parts_many", &groups, ROUNDS);
}

#[test]
fn collective_parts_small() {
    let groups: [(usize, &[usize], &[usize], bool); 4] = [
        (0, &[2, 0], &[0, 1], false),
        (2, &[1, 2], &[1], false),
        (9, &[0, 1], &[0], false),
        // All on one board.
        (14, &[1], &[0, 1], false),
    ];
    parts(SMALL, "collective_parts_small", &groups, [3, 2, 2]);
}

#[test]
fn collective_parts_eight() {
    // Part of every run, so the build and the run take less than a minute: short messages, smallest
    // windows.
    if full() {
        let groups: [(usize, &[usize], &[usize], bool); 4] = [
            (0, &[5, 0, 1, 3, 2, 7, 6, 4], &[0], false),
            (3, &[0, 1, 2, 3, 4, 5, 6, 7], &[0], true),
            (6, &[7, 2, 4, 1], &[0], true),
            (20, &[7, 6, 5, 4, 3, 2, 1, 0], &[0], true),
        ];
        parts(EIGHT, "collective_parts_eight", &groups, ROUNDS);
    } else {
        let groups: [(usize, &[usize], &[usize], bool); 3] = [
            (12, &[5, 0, 1, 3, 2, 7, 6, 4], &[0], false),
            (13, &[7, 2, 4, 1], &[0], true),
            (20, &[7, 6, 5, 4, 3, 2, 1, 0], &[0], true),
        ];
        parts(EIGHT_LEAN, "collective_parts_eight", &groups, [3, 3, 1]);
    }
}

/// Messages that are read in parts of one chunk. Checks the exact number of cycles until the last
/// member has completed: the signature follows the other half through all stages, or the whole
/// message through the first stage. Also checks the exact number of phits sent by all boards.
#[test]
fn collective_parts_latency() {
    let mut cluster = Cluster::new(REAL, "collective_parts_latency");
    let groups = [[2, 1].as_slice(), &[0, 1, 2, 3]];
    for (boards, context) in groups.into_iter().zip(0..) {
        let group = cluster.first_ranks(context, boards);
        cluster.program(std::slice::from_ref(&group));
        for delay in [20, 110] {
            cluster.dut.delay = delay;
            for half in [1, 2, 30, 64] {
                for collective in [Collective::ReduceScatter, Collective::Scatter] {
                    let call = Call {
                        collective,
                        count: 2 * half * REAL.phit_w as usize / 64 / boards.len(),
                        halving: true,
                        ..SUM_I64
                    };
                    cluster.quiet();
                    let before: u64 = cluster.sent().iter().sum();
                    let last = cluster.timed(&group, call).into_iter().max().unwrap_or(0);
                    cluster.ticks(60);
                    let phits = cluster.sent().iter().sum::<u64>() - before;
                    let (stages, exchange) = (u64::from(boards.len().ilog2()), 11 + delay);
                    let half = half as u64;
                    // A signature of each board in each stage. Phits that arrive in a stage are
                    // paid back immediately.
                    let all = boards.len() as u64;
                    let data = match collective {
                        Collective::ReduceScatter => (0..stages)
                            .map(|stage| all * (half.div_ceil(1 << stage) + 1))
                            .sum(),
                        _ => (all - 1) * (half + 1),
                    };
                    // A reduction of a quarter of a window is announced.
                    let told = match collective {
                        Collective::ReduceScatter if 8 * half >= REAL.window as u64 => all * stages,
                        _ => 0,
                    };
                    assert_eq!(
                        phits,
                        data + all * stages + told,
                        "{collective:?}, {stages} stages, {half}"
                    );
                    // If copies precede a signature, the signature waits until they have left.
                    let (sent, kept) = match (collective, stages) {
                        (Collective::ReduceScatter, _) => (0, 0),
                        (_, 1) => (6, 13),
                        _ => (6, 14),
                    };
                    let other = 14 + stages * exchange + half - 1 + sent;
                    let whole = 14 + 9 + (stages - 1) * exchange + 2 * half + kept;
                    let what = format!("{collective:?}, {stages} stages, delay {delay}, {half}");
                    assert_eq!(last, other.max(whole), "{what}");
                }
            }
        }
    }
}

impl Cluster {
    /// Writes one command and waits for a completion of its id. Returns `None` after `wait` cycles.
    fn command_ends(&mut self, context: usize, member: &Member, wait: u64) -> Option<u64> {
        let writes = self.command(context, member);
        self.writes[member.rank].extend(writes);
        let mut left = wait;
        while left > 0 {
            self.tick();
            left -= 1;
            let ended = self
                .ended
                .iter()
                .position(|end| end.rank == member.rank && end.id == member.id);
            if let Some(at) = ended {
                return Some(self.ended.remove(at).status);
            }
        }
        None
    }
}

#[test]
fn collective_refusals() {
    refusals(FIVE, "collective_refusals");
}

#[test]
fn collective_refusals_small() {
    refusals(SMALL, "collective_refusals_small");
}

/// Refused commands, which must not affect other collectives.
fn refusals(shape: Shape, bench: &'static str) {
    let mut cluster = Cluster::new(shape, bench);
    // The first ranks of three boards.
    let ranks = [0, 1, 2].map(|board| board * shape.ranks);
    let group = cluster.first_ranks(7, &[1, 0, 2]);
    cluster.program(std::slice::from_ref(&group));
    let bad = Some(Status::BadCommunicator as u64);
    let member = |rank: usize, id: u16| Member {
        rank,
        id,
        part: Part {
            what: BARRIER.what(&group),
            ..Part::default()
        },
        ..Member::default()
    };
    for round in 0..4u16 {
        let id = 100 * round;
        // A rank that is not a member, a row that was never written.
        assert_eq!(cluster.command_ends(7, &member(3, id), 60), bad);
        assert_eq!(cluster.command_ends(8, &member(ranks[1], id + 1), 60), bad);
        assert_eq!(
            cluster.command_ends(7, &member(ranks[1], id + 2), 200),
            None
        );
        // The previous collective has not ended.
        for again in 3..23 {
            assert_eq!(
                cluster.command_ends(7, &member(ranks[1], id + again), 60),
                bad
            );
        }
        let beyond = Some(Status::BadLocal as u64);
        let mut far = member(0, id + 30);
        far.source = NODE_WORDS - 1;
        far.part.words = 2;
        assert_eq!(cluster.command_ends(7, &far, 60), beyond);
        far.part.words = 0;
        far.part.high = 9;
        far.part.low = 7;
        far.destination = NODE_WORDS - 1;
        assert_eq!(cluster.command_ends(7, &far, 60), beyond);
        far.destination = NODE_WORDS;
        far.part.high = 7;
        assert_eq!(cluster.command_ends(7, &far, 60), beyond);
        // A range up to the end of memory is valid.
        far.destination = NODE_WORDS - 2;
        far.source = NODE_WORDS - 1;
        far.id += 1;
        assert_eq!(cluster.command_ends(7, &far, 200), None);
        assert_eq!(
            cluster.command_ends(7, &member(ranks[2], id + 40), 200),
            Some(0)
        );
        cluster.ticks(50);
        let mut ends: Vec<_> = cluster
            .ended
            .drain(..)
            .map(|end| (end.rank, end.id, end.status))
            .collect();
        ends.sort_unstable();
        assert_eq!(ends, [(0, id + 31, 0), (ranks[1], id + 2, 0)]);
    }
    // Completions are not taken: 16 wait, and the others are lost, which raises an event.
    let (rank, all) = (ranks[0], 16 + 5);
    cluster.floods = true;
    cluster.disturbances = Disturbances { slow: 1.0, ..NONE };
    for id in 0..all {
        let writes = cluster.command(8, &member(rank, id));
        cluster.writes[rank].extend(writes);
    }
    cluster.ticks(20 * u64::from(all));
    assert!(cluster.ended.is_empty());
    assert_eq!(cluster.denied, [rank; 5]);
    cluster.disturbances = NONE;
    cluster.ticks(100);
    let ids: Vec<u16> = cluster.ended.drain(..).map(|end| end.id).collect();
    assert_eq!(ids, (0..16).collect::<Vec<_>>());
    assert_eq!(cluster.denied, [rank; 5]);
    cluster.floods = false;
    // A freed row has no members.
    for rank in ranks {
        cluster.writes[rank].extend([(rank::COMM_ROW, 7), (rank::COMM_SHAPE, 0)]);
    }
    cluster.drain();
    for rank in ranks {
        assert_eq!(cluster.command_ends(7, &member(rank, 999), 60), bad);
    }
}

/// One member makes another call: the status of each difference, the first of several differences,
/// and all members' status.
fn mismatches(shape: Shape, bench: &'static str) {
    let mut cluster = Cluster::new(shape, bench);
    let boards: Vec<usize> = (0..shape.boards).collect();
    let groups = vec![cluster.first_ranks(3, &boards)];
    cluster.program(&groups);
    let of_same_width = if shape.lean {
        Datatype::F64
    } else {
        Datatype::I64
    };
    let reduce = Call {
        collective: Collective::Reduce,
        // More phits than windows hold.
        count: 3 * shape.window * shape.phit_w as usize / 64,
        ..shape.sum()
    };
    let spoilt = [
        (
            Call {
                count: 15,
                ..reduce
            },
            Status::OtherCount,
        ),
        (
            Call {
                operation: Operation::Max,
                ..reduce
            },
            Status::OtherOperation,
        ),
        (
            Call {
                datatype: of_same_width,
                ..reduce
            },
            Status::OtherType,
        ),
        (
            Call {
                root: shape.boards - 1,
                ..reduce
            },
            Status::OtherRoot,
        ),
        (
            Call {
                collective: Collective::Bcast,
                ..reduce
            },
            Status::Mismatch,
        ),
        (
            Call {
                collective: Collective::Gather,
                count: 4,
                ..reduce
            },
            Status::Mismatch,
        ),
        (BARRIER, Status::Mismatch),
        (
            Call {
                collective: Collective::Allreduce,
                ..reduce
            },
            Status::Mismatch,
        ),
        (
            Call {
                count: 3,
                operation: Operation::Min,
                ..reduce
            },
            Status::OtherOperation,
        ),
        (
            Call {
                count: 3,
                operation: Operation::Min,
                datatype: Datatype::F32,
                ..reduce
            },
            Status::OtherType,
        ),
        (
            Call {
                count: 3,
                datatype: Datatype::F32,
                root: 2,
                ..reduce
            },
            Status::OtherRoot,
        ),
        (
            Call {
                collective: Collective::Bcast,
                count: 3,
                datatype: Datatype::F32,
                root: 2,
                ..reduce
            },
            Status::Mismatch,
        ),
    ];
    let members = groups[0].ranks.len();
    // Planted faults need a short bench.
    let members_that_differ = if shape.lean { 1..2 } else { 0..members };
    for (other, status) in spoilt {
        for who in members_that_differ.clone() {
            let mut calls = vec![reduce; members];
            calls[who] = other;
            let mut used = vec![MARGIN; cluster.shape.all()];
            // The next collective of the communicator is not affected.
            let wrong = cluster.plan(&groups, 0, &calls, &mut used);
            let right = cluster.plan(&groups, 0, &vec![reduce; members], &mut used);
            let mut plans: Vec<Plan> = wrong.into_iter().chain(right).collect();
            assert_eq!(plans[0].status, status, "{other:?}");
            let end = used.iter().max().copied().unwrap_or(0) + MARGIN;
            cluster.host(0, end, true, |_, _, _| ());
            cluster.run(&groups, &mut plans, 0.0);
            cluster.compare(&plans, end);
        }
    }
}

#[test]
fn collective_mismatches() {
    mismatches(FIVE, "collective_mismatches");
}

#[test]
fn collective_mismatches_small() {
    mismatches(SMALL, "collective_mismatches_small");
}

/// Two members that each name the other, or each name themselves, as the root give a stage data
/// without a partner. The stage drops the data that fills its windows.
#[test]
fn collective_mismatches_long() {
    for shape in [FIVE, REAL] {
        let mut cluster = Cluster::new(shape, "collective_mismatches_long");
        for context in [1, 12] {
            let groups = vec![cluster.first_ranks(context, &[0, 1])];
            cluster.program(&groups);
            for roots in [[0, 1], [1, 0]] {
                // More phits than may be unpaid, as far as node memory holds what is given and kept.
                let copies = if roots[0] == 0 { 2 } else { 1 };
                let phits = (shape.window * 3 / 2).min((NODE_WORDS / copies - 16) / 8);
                let calls = roots.map(|root| Call {
                    collective: Collective::Reduce,
                    count: phits * shape.phit_w as usize / 64,
                    root,
                    ..SUM_I64
                });
                let mut used = vec![MARGIN; cluster.shape.all()];
                let plan = cluster.plan(&groups, 0, &calls, &mut used);
                let mut plans: Vec<Plan> = plan.into_iter().collect();
                assert_eq!(plans[0].status, Status::OtherRoot);
                cluster.host(0, NODE_WORDS, true, |_, _, _| ());
                cluster.run(&groups, &mut plans, 0.0);
                cluster.compare(&plans, NODE_WORDS);
            }
        }
    }
}
