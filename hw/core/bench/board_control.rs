//! `board_control` and `board_reset` against models: every register of the board's page, aborts,
//! signals between ranks and board, and resets, in every cycle.

use alcor_abi::{ABI_HASH, Status, board};
use alcor_hw_bench::{Dut, Pin, Random, Recipe, soak};
use rand::Rng;
use rand::seq::IndexedRandom;

const RANKS: usize = 3;
const LINKS: usize = 2;
/// Bits of network_state_t.
const NETWORK_BITS: usize = 83;

/// Parameters of the board. With the defaults, all differ, so that no register shows another parameter.
const PARAMS: [(&str, u64); 11] = [
    ("DATA_W", 256),
    ("RANKS", RANKS as u64),
    ("LINKS", LINKS as u64),
    ("STAGES", 5),
    ("PHIT_W", 512),
    ("VC_DEPTH", 128),
    ("ALPU_CELLS", 24),
    ("MESSAGES", 2048),
    ("FRAGMENT", 4096),
    ("SLOTS", 96),
    ("COUNT_W", COUNT_W as u64),
];
/// Parameters that have their defaults.
const DEFAULTS: [(&str, u64); 6] = [
    ("MATCH_CELLS", 16),
    ("MATCH_BLOCK", 8),
    ("NODE_BYTES", 1 << 20),
    ("PAYLOAD_WORDS", 128),
    ("COMMAND_DEPTH", 64),
    ("CLOCK_KHZ", 250_000),
];
/// Bits of the counters of packets and phits, and half the bits of that of cycles; a board has 32.
const COUNT_W: u32 = 8;
/// The last value of these counters.
const LAST_COUNT: u32 = (1 << COUNT_W) - 1;
const REVISION: u32 = 0x8c5a_01e7;
/// Phits of a window of the collective unit, as a logarithm.
const LOG_WINDOW: u32 = 9;

/// Words of the page that a board without traffic shows.
fn fixed(offset: u32) -> Option<u32> {
    let param = |name: &str| {
        let found = PARAMS.iter().chain(&DEFAULTS).find(|param| param.0 == name);
        found.map_or(0, |param| param.1 as u32)
    };
    let log = |name: &str| param(name).ilog2();
    let beat = param("DATA_W") / 8;
    let phit = param("PHIT_W") / 8;
    Some(match offset {
        board::MAGIC => board::MAGIC_VALUE,
        board::ABI_VERSION => {
            board::abi_version::MINOR.put(board::ABI_VERSION_MINOR_VALUE)
                | board::abi_version::MAJOR.put(board::ABI_VERSION_MAJOR_VALUE)
        }
        board::ABI_HASH => ABI_HASH,
        board::REVISION => REVISION,
        board::CAPABILITIES => {
            board::capabilities::RMA.put(1)
                | board::capabilities::ALPU.put(1)
                | board::capabilities::SWITCH.put(1)
                | board::capabilities::MESSAGES.put(1)
                | board::capabilities::KERNEL.put(1)
                | board::capabilities::LINES.put(1)
        }
        board::GEOMETRY => {
            board::geometry::RANKS.put(RANKS as u32)
                | board::geometry::LINKS.put(LINKS as u32)
                | board::geometry::SLOTS.put(param("SLOTS"))
                | board::geometry::BEAT.put(beat)
        }
        board::NODE_MEMORY => param("NODE_BYTES"),
        board::QUEUES => {
            board::queues::COMMANDS.put(param("COMMAND_DEPTH"))
                | board::queues::PAYLOAD.put(param("PAYLOAD_WORDS"))
        }
        board::CLOCK => param("CLOCK_KHZ"),
        board::SWITCH => {
            board::switch::STAGES.put(param("STAGES"))
                | board::switch::COMMUNICATORS.put(32)
                | board::switch::PHIT.put(phit)
        }
        board::MESSAGES => {
            board::messages::DEPTH.put(param("MESSAGES"))
                | board::messages::FRAGMENT.put(param("FRAGMENT"))
        }
        board::MATCHING => {
            board::matching::CELLS.put(param("MATCH_CELLS"))
                | board::matching::BLOCK.put(param("MATCH_BLOCK"))
        }
        board::SHAPE => {
            board::shape::RANKS.put((RANKS as u32).next_power_of_two().ilog2())
                | board::shape::BEAT.put(beat.ilog2())
                | board::shape::PAYLOAD.put(log("PAYLOAD_WORDS"))
                | board::shape::MESSAGES.put(log("MESSAGES") + 1)
                | board::shape::FRAGMENT.put(log("FRAGMENT"))
                | board::shape::PHIT.put(phit.ilog2())
                | board::shape::STAGES.put(param("STAGES"))
                | board::shape::WINDOW.put(LOG_WINDOW)
                | board::shape::CHANNEL.put(log("VC_DEPTH"))
        }
        _ => return None,
    })
}

/// Signals of a rank in a cycle.
#[derive(Debug, Clone, Copy, Default)]
struct Rank {
    state: u32,
    aborts: bool,
    reason: u8,
    ready: bool,
    lost: bool,
    cancel: u8,
    kernel: u32,
    posted: u32,
    /// A collective command: its kind, status and slot.
    command: Option<(u64, u64, u64)>,
}

impl Rank {
    fn begun(&self) -> bool {
        board::rank_state::BEGUN.get(self.state) == 1
    }

    fn quiet(&self) -> bool {
        board::rank_state::QUIET.get(self.state) == 1
    }
}

/// Signals of the network in a cycle.
#[derive(Debug, Clone, Copy, Default)]
struct Network {
    drop: bool,
    foreign: bool,
    damaged: bool,
    lost: bool,
    stale: u32,
    link_tx: u64,
    link_rx: u64,
    collectives: u32,
    row_writes: u32,
    row_denied: u64,
    /// Rank and reason of an abort on another board.
    abort: Option<u32>,
    is_empty: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Inputs {
    running: bool,
    ranks: [Rank; RANKS],
    network: Network,
    write: Option<(u32, u32)>,
}

/// Ranks at a collective command, as the board's registers show them a cycle later.
#[derive(Debug, Clone, Copy, Default)]
struct Commands {
    needed: [bool; RANKS],
    quiet: bool,
    ranks: [Option<(u64, u64, u64)>; RANKS],
}

/// State of the board.
#[derive(Debug, Clone, Default)]
struct Model {
    cycle: u64,
    place: u32,
    /// Ranks of the run that have a way, as the page shows them a cycle later.
    run_ranks: u32,
    /// The first rank without a way; whether PLACE has been written.
    no_way: u32,
    is_placed: bool,
    datelines: u32,
    /// Rank and reason of the first abort.
    aborted: Option<u32>,
    tells: bool,
    dropped: u32,
    foreign: u32,
    damaged: u32,
    stale: u32,
    link_tx: [u32; LINKS],
    link_rx: [u32; LINKS],
    /// Commands of the cycle before, and the answer to those before them: present, fire, status, kind, slot.
    commands: Commands,
    answer: Option<(bool, u64, u64, u64)>,
}

impl Model {
    fn new() -> Self {
        Self {
            place: board::place::RANKS.put(RANKS as u32),
            run_ranks: RANKS as u32,
            ..Self::default()
        }
    }

    fn first_rank(&self) -> u32 {
        board::place::BOARD.get(self.place) * RANKS as u32 % 256
    }

    fn is_ready(inputs: &Inputs) -> bool {
        inputs.running && inputs.ranks.iter().all(|rank| rank.ready)
    }

    /// Value of a register.
    fn read(&self, offset: u32, inputs: &Inputs) -> u32 {
        let index = |first: u32| (offset.wrapping_sub(first) / 4) as usize;
        let is_array = |first: u32, count: usize| {
            offset >= first && offset.is_multiple_of(4) && index(first) < count
        };
        if let Some(word) = fixed(offset) {
            return word;
        }
        match offset {
            board::KERNEL => inputs.ranks.iter().fold(0, |id, rank| id | rank.kernel),
            board::STATUS => {
                let aborted = self.aborted.unwrap_or_default();
                board::status::READY.put(Self::is_ready(inputs).into())
                    | board::status::ABORTED.put(self.aborted.is_some().into())
                    | board::status::ABORT_RANK.put(aborted >> 8)
                    | board::status::ABORT_REASON.put(aborted & 0xff)
            }
            board::CYCLE_LO => self.cycle as u32 & LAST_COUNT,
            board::CYCLE_HI => (self.cycle >> COUNT_W) as u32 & LAST_COUNT,
            board::PLACE => {
                self.place & !board::place::RANKS.mask() | board::place::RANKS.put(self.run_ranks)
            }
            board::DROPPED => self.dropped,
            board::FOREIGN => self.foreign,
            board::DAMAGED => self.damaged,
            board::STALE => self.stale,
            board::ROW_WRITES => inputs.network.row_writes,
            board::COLLECTIVES => inputs.network.collectives,
            _ if is_array(board::RANK_STATE, RANKS) => inputs.ranks[index(board::RANK_STATE)].state,
            _ if is_array(board::POSTED, RANKS) => inputs.ranks[index(board::POSTED)].posted,
            _ if is_array(board::LINK_TX, LINKS) => self.link_tx[index(board::LINK_TX)],
            _ if is_array(board::LINK_RX, LINKS) => self.link_rx[index(board::LINK_RX)],
            _ => 0,
        }
    }

    /// Answer to the commands: whether they fire, status, kind and slot. `None` if a rank of the run has no command.
    fn answer(commands: &Commands) -> Option<(bool, u64, u64, u64)> {
        let needed = || (0..RANKS).filter(|&rank| commands.needed[rank]);
        let all: Option<Vec<_>> = needed().map(|rank| commands.ranks[rank]).collect();
        let all = all.filter(|_| commands.needed[0])?;
        let (kind, _, slot) = all[0];
        let mismatch = Status::Mismatch as u64;
        let reason = all.iter().map(|command| command.1).find(|&one| one != 0);
        let status = if all.iter().any(|command| command.0 != kind) {
            mismatch
        } else if let Some(reason) = reason {
            reason
        } else if all.iter().any(|command| command.2 != slot) {
            mismatch
        } else {
            0
        };
        Some((commands.quiet, status, kind, slot))
    }

    fn clock(&mut self, inputs: &Inputs) {
        let network = &inputs.network;
        self.cycle += 1;
        let first = self.first_rank();
        let own = inputs
            .ranks
            .iter()
            .position(|rank| rank.aborts)
            .map(|rank| {
                (((first + rank as u32) % 256) << 8) | u32::from(inputs.ranks[rank].reason)
            });
        let abort = own.or(network.abort).filter(|_| self.aborted.is_none());
        self.tells = abort.is_some();
        self.aborted = self.aborted.or(abort);
        self.answer = Self::answer(&self.commands);
        // Ranks of the run, by the largest NPROCS of a rank that has begun.
        let begun = inputs.ranks.iter().filter(|rank| rank.begun());
        let nprocs = begun.map(|rank| board::rank_state::NPROCS.get(rank.state));
        let nprocs = nprocs.max().unwrap_or(0);
        let needed: [bool; RANKS] = std::array::from_fn(|rank| nprocs > first + rank as u32);
        self.commands = Commands {
            needed,
            quiet: network.is_empty
                && (0..RANKS).all(|rank| !needed[rank] || inputs.ranks[rank].quiet()),
            ranks: inputs.ranks.map(|rank| rank.command),
        };
        self.run_ranks = board::place::RANKS.get(self.place);
        if self.is_placed {
            self.run_ranks = self.run_ranks.min(self.no_way);
        }
        if let Some((offset, data)) = inputs.write {
            match offset {
                board::PLACE => {
                    self.place = data & 0xff_ffff;
                    self.is_placed = true;
                }
                board::FORWARD => {
                    let port = board::forward::PORT.get(data);
                    let rank = board::forward::RANK.get(data);
                    if port != 15 && port >= LINKS as u32 {
                        self.no_way = self.no_way.min(rank);
                    } else if rank == self.no_way {
                        self.no_way += 1;
                    }
                }
                board::DATELINES => self.datelines = data & ((1 << LINKS) - 1),
                _ => {}
            }
        }
        // Counters of lost packets end at their last value, those of phits start again.
        for (count, lost) in [
            (&mut self.dropped, network.drop.into()),
            (&mut self.foreign, network.foreign.into()),
            (&mut self.damaged, network.damaged.into()),
            (&mut self.stale, network.stale),
        ] {
            *count = LAST_COUNT.min(*count + lost);
        }
        for port in 0..LINKS {
            for (count, phits) in [
                (&mut self.link_tx[port], network.link_tx),
                (&mut self.link_rx[port], network.link_rx),
            ] {
                *count = (*count + (phits >> port & 1) as u32) & LAST_COUNT;
            }
        }
    }
}

struct Pins {
    rst: Pin,
    running: Pin,
    write: Pin,
    read_offset: Pin,
    read_data: Pin,
    board: Pin,
    ranks_in: Pin,
    ranks_out: Pin,
    resets: Pin,
    sync_in: Pin,
    kernel: Pin,
    posted: Pin,
    empty: Pin,
    sync_out: Pin,
    settings: Pin,
    network: Pin,
    abort_in: Pin,
    abort_out: Pin,
    reset: Pin,
}

/// Probabilities of a run.
#[derive(Debug, Clone, Copy)]
struct Weather {
    abort: f64,
    command: f64,
    /// All pulses that are counted come in each cycle.
    floods: bool,
}

struct Bench {
    dut: Dut,
    pins: Pins,
    rng: Random,
    model: Model,
    fired: u32,
    aborts: u32,
}

impl Bench {
    fn new(name: &'static str) -> Self {
        let mut recipe = Recipe::new("board_control", "board_control")
            .core()
            .param_bits("KERNEL", 1, 1)
            .param_bits("ACCUMULATE", 1, 0)
            .param_bits("REVISION", 32, REVISION.into());
        for (param, value) in PARAMS {
            recipe = recipe.param(param, value);
        }
        let dut = Dut::start(&recipe);
        let pins = Pins {
            rst: dut.pin("rst_ni"),
            running: dut.pin("running_i"),
            write: dut.pin("write_i"),
            read_offset: dut.pin("read_offset_i"),
            read_data: dut.pin("read_data_o"),
            board: dut.pin("board_o"),
            ranks_in: dut.lanes("ranks_i", RANKS),
            ranks_out: dut.lanes("ranks_o", RANKS),
            resets: dut.lanes("resets_o", RANKS),
            sync_in: dut.lanes("sync_i", RANKS),
            kernel: dut.lanes("kernel_id_i", RANKS),
            posted: dut.lanes("posted_i", RANKS),
            empty: dut.pin("empty_i"),
            sync_out: dut.pin("sync_o"),
            settings: dut.pin("settings_o"),
            network: dut.lanes("network_i", NETWORK_BITS),
            abort_in: dut.pin("abort_i"),
            abort_out: dut.pin("abort_o"),
            reset: dut.pin("reset_o"),
        };
        Self {
            dut,
            pins,
            rng: Random::new(name),
            model: Model::new(),
            fired: 0,
            aborts: 0,
        }
    }

    fn drive(&mut self, inputs: &Inputs) {
        let Self { dut, pins, rng, .. } = self;
        let noise: u64 = rng.random();
        dut.set(pins.running, 0, inputs.running.into());
        // Without a write, the offset is often that of a register.
        let registers = [board::CONTROL, board::PLACE, board::DATELINES, noise as u32];
        let offset = registers[rng.random_range(0..4)] & 0xfff;
        let idle = u64::from(offset) << 32 | noise >> 32;
        let write = inputs.write.map_or(idle, |(offset, data)| {
            1 << 44 | u64::from(offset) << 32 | u64::from(data)
        });
        dut.set(pins.write, 0, write);
        for (at, rank) in inputs.ranks.iter().enumerate() {
            let word = u64::from(rank.state) << 13
                | u64::from(rank.aborts) << 12
                | u64::from(rank.reason) << 4
                | u64::from(rank.ready) << 3
                | u64::from(rank.lost) << 2
                | u64::from(rank.cancel);
            dut.set(pins.ranks_in, at, word);
            let sync = rank.command.map_or(noise & 0x7fff, |(kind, status, slot)| {
                1 << 15 | kind << 13 | status << 8 | slot
            });
            dut.set(pins.sync_in, at, sync);
            dut.set(pins.kernel, at, rank.kernel.into());
            dut.set(pins.posted, at, rank.posted.into());
        }
        let network = &inputs.network;
        // Lowest first: rows that were refused, writes of rows, collectives, links, stale, lost, damaged, foreign, drop.
        let word = u128::from(network.row_denied)
            | u128::from(network.row_writes) << 16
            | u128::from(network.collectives) << 32
            | u128::from(network.link_rx) << 64
            | u128::from(network.link_tx) << 70
            | u128::from(network.stale) << 76
            | u128::from(network.lost) << 79
            | u128::from(network.damaged) << 80
            | u128::from(network.foreign) << 81
            | u128::from(network.drop) << 82;
        for bit in 0..NETWORK_BITS {
            dut.set(pins.network, bit, (word >> bit) as u64 & 1);
        }
        dut.set(pins.empty, 0, network.is_empty.into());
        let abort = network
            .abort
            .map_or(noise & 0xffff, |data| 1 << 16 | u64::from(data));
        dut.set(pins.abort_in, 0, abort);
    }

    /// Compares all outputs and some registers.
    fn check(&mut self, inputs: &Inputs, offsets: &[u32]) {
        let now = self.dut.cycle();
        for &offset in offsets {
            self.dut.set(self.pins.read_offset, 0, offset.into());
            self.dut.settle();
            let found = self.dut.get(self.pins.read_data, 0) as u32;
            let expected = self.model.read(offset, inputs);
            assert_eq!(found, expected, "cycle {now}: register {offset:#x}");
        }
        let (dut, pins, model) = (&self.dut, &self.pins, &self.model);
        let network = &inputs.network;
        let place = |field: alcor_abi::Field| u64::from(field.get(model.place));
        assert_eq!(
            dut.get(pins.board, 0),
            place(board::place::BOARD),
            "cycle {now}: board_o"
        );
        for (at, rank) in inputs.ranks.iter().enumerate() {
            let others = (0..RANKS).any(|other| other != at && inputs.ranks[other].lost);
            let expected = u64::from(model.run_ranks) << 7
                | u64::from(model.aborted.is_some()) << 6
                | u64::from(others || network.lost) << 5
                | u64::from(network.drop) << 4
                | u64::from(network.foreign) << 3
                | u64::from(network.stale != 0) << 2
                | u64::from(network.damaged) << 1
                | network.row_denied >> at & 1;
            assert_eq!(
                dut.get(pins.ranks_out, at),
                expected,
                "cycle {now}: ranks_o, rank {at}"
            );
            let resets = u64::from(rank.lost) << 2 | u64::from(rank.cancel);
            assert_eq!(
                dut.get(pins.resets, at),
                resets,
                "cycle {now}: resets_o, rank {at}"
            );
        }
        let (offset, data) = inputs.write.unwrap_or_default();
        let is_written = |register: u32| inputs.write.is_some() && offset == register;
        let resets = is_written(board::CONTROL) && board::control::RESET.get(data) == 1;
        assert_eq!(dut.get(pins.reset, 0) == 1, resets, "cycle {now}: reset_o");
        let settings = dut.get(pins.settings, 0);
        let always = place(board::place::KEY) << 6 | u64::from(model.datelines);
        assert_eq!(settings >> 13, always, "cycle {now}: settings_o");
        let forwards = is_written(board::FORWARD);
        assert_eq!(
            settings >> 12 & 1 == 1,
            forwards,
            "cycle {now}: forward_write"
        );
        if forwards {
            let route = board::forward::RANK.get(data) << 4 | board::forward::PORT.get(data);
            assert_eq!(
                settings & 0xfff,
                u64::from(route),
                "cycle {now}: forward_rank, forward_port"
            );
        }
        let abort = dut.get(pins.abort_out, 0);
        assert_eq!(abort >> 16 == 1, model.tells, "cycle {now}: abort_o");
        if let Some(first) = model.aborted.filter(|_| model.tells) {
            assert_eq!(abort & 0xffff, u64::from(first), "cycle {now}: abort_o");
        }
        let sync = dut.get(pins.sync_out, 0);
        let found = (sync >> 16 & 1 == 1).then_some((
            sync >> 15 & 1 == 1,
            sync >> 10 & 0x1f,
            sync >> 8 & 3,
            sync & 0xff,
        ));
        assert_eq!(found, model.answer, "cycle {now}: sync_o");
    }

    fn cycle(&mut self, inputs: &Inputs, offsets: &[u32]) {
        self.drive(inputs);
        self.dut.settle();
        self.check(inputs, offsets);
        self.fired += u32::from(self.model.answer.is_some_and(|answer| answer.0));
        self.aborts += u32::from(self.model.tells);
        self.dut.clock();
        self.model.clock(inputs);
    }

    fn offset(&mut self) -> u32 {
        let rng = &mut *self.rng;
        match rng.random_range(0..8) {
            // The board's registers, and the words between them.
            0..4 => 4 * rng.random_range(0..=board::KERNEL / 4 + 1),
            4 => board::RANK_STATE + 4 * rng.random_range(0..=RANKS as u32),
            5 => board::POSTED + 4 * rng.random_range(0..=RANKS as u32),
            6 => board::LINK_TX + 4 * rng.random_range(0..16),
            _ => rng.random_range(0..1 << 12),
        }
    }

    fn inputs(&mut self, weather: Weather) -> Inputs {
        let place = self.model.place;
        let written = *[
            board::CONTROL,
            board::PLACE,
            board::FORWARD,
            board::DATELINES,
        ]
        .choose(&mut *self.rng)
        .unwrap_or(&board::PLACE);
        let any = self.offset();
        let rng = &mut *self.rng;
        // Ranks are at one command, but now and then.
        let command = (rng.random_range(0..3), 0, rng.random_range(0..256));
        let odd = rng.random_bool(0.3);
        let first = board::place::BOARD.get(place) * RANKS as u32;
        let ranks = std::array::from_fn(|_| {
            let mut state: u32 = rng.random();
            if rng.random_bool(weather.command) {
                let nprocs = first + rng.random_range(0..=RANKS as u32 + 1);
                let others = !(board::rank_state::NPROCS.mask()
                    | board::rank_state::BEGUN.mask()
                    | board::rank_state::QUIET.mask());
                state = state & others
                    | board::rank_state::NPROCS.put(nprocs)
                    | board::rank_state::BEGUN.put(rng.random_bool(0.9).into())
                    | board::rank_state::QUIET.put(rng.random_bool(0.9).into());
            }
            let mut mine = command;
            if odd && rng.random_bool(0.4) {
                mine.0 = rng.random_range(0..3);
            }
            if odd && rng.random_bool(0.3) {
                mine.1 = rng.random_range(0..18);
            }
            if odd && rng.random_bool(0.3) {
                mine.2 = rng.random_range(0..256);
            }
            Rank {
                state,
                aborts: rng.random_bool(weather.abort),
                reason: rng.random(),
                ready: rng.random_bool(0.85),
                lost: rng.random_bool(0.2),
                cancel: rng.random_range(0..4),
                kernel: rng.random::<u32>() & rng.random::<u32>(),
                posted: rng.random(),
                command: rng.random_bool(0.9).then_some(mine),
            }
        });
        let network = Network {
            drop: weather.floods || rng.random_bool(0.4),
            foreign: weather.floods || rng.random_bool(0.4),
            damaged: weather.floods || rng.random_bool(0.4),
            lost: rng.random_bool(0.2),
            stale: if weather.floods {
                7
            } else {
                rng.random_range(0..8)
            },
            link_tx: if weather.floods {
                3
            } else {
                rng.random_range(0..4)
            },
            link_rx: if weather.floods {
                3
            } else {
                rng.random_range(0..4)
            },
            collectives: rng.random(),
            row_writes: rng.random_range(0..1 << 16),
            row_denied: rng.random_range(0..1 << 16),
            abort: rng
                .random_bool(weather.abort)
                .then(|| rng.random_range(0..1 << 16)),
            is_empty: rng.random_bool(0.8),
        };
        // A register, another word, or an offset that differs in a bit.
        let offset = match rng.random_range(0..5) {
            0 => any,
            1 => written ^ 1 << rng.random_range(0..12),
            _ => written,
        };
        // Routes come in the order of ranks but now and then, most to a link or to this board.
        let mut data = rng.random();
        if offset == board::FORWARD && rng.random_bool(0.9) {
            let port = [0, 1, 15, rng.random_range(0..16)][rng.random_range(0..4)];
            data = board::forward::RANK.put(self.model.no_way.min(255))
                | board::forward::PORT.put(port);
        }
        Inputs {
            running: rng.random_bool(0.9),
            ranks,
            network,
            write: rng.random_bool(0.3).then_some((offset, data)),
        }
    }

    /// What is offered during a reset has no effect.
    fn reset(&mut self) {
        let weather = Weather {
            abort: 0.5,
            command: 1.0,
            floods: true,
        };
        self.dut.set(self.pins.rst, 0, 0);
        for _ in 0..3 {
            let inputs = self.inputs(weather);
            self.drive(&inputs);
            self.dut.settle();
            self.dut.clock();
        }
        self.dut.set(self.pins.rst, 0, 1);
        self.model = Model::new();
    }
}

#[test]
fn board_control_random() {
    let mut bench = Bench::new("board_control_random");
    for _ in 0..soak(200) {
        bench.reset();
        let weather = Weather {
            abort: *[0.0, 0.02, 0.3].choose(&mut *bench.rng).unwrap_or(&0.0),
            command: *[0.0, 0.5, 1.0].choose(&mut *bench.rng).unwrap_or(&0.0),
            floods: false,
        };
        for _ in 0..80 {
            let inputs = bench.inputs(weather);
            let offsets: [u32; 8] = std::array::from_fn(|_| bench.offset());
            bench.cycle(&inputs, &offsets);
        }
    }
    println!("{} commands, {} aborts", bench.fired, bench.aborts);
    assert!(bench.fired > 100 && bench.aborts > 20);
}

/// All counters, beyond their last values.
#[test]
fn board_control_counts() {
    let mut bench = Bench::new("board_control_counts");
    bench.reset();
    let weather = Weather {
        abort: 0.0,
        command: 0.0,
        floods: true,
    };
    let inputs = bench.inputs(weather);
    let inputs = Inputs {
        write: None,
        ..inputs
    };
    bench.cycle(&inputs, &[]);
    let counters = [
        board::CYCLE_LO,
        board::CYCLE_HI,
        board::DROPPED,
        board::FOREIGN,
        board::DAMAGED,
        board::STALE,
        board::LINK_TX,
        board::LINK_TX + 4,
        board::LINK_RX,
        board::LINK_RX + 4,
    ];
    for cycle in 0..1 << (2 * COUNT_W + 1) {
        if cycle % 101 == 0 {
            bench.cycle(&inputs, &counters);
        }
        bench.dut.clock();
        bench.model.clock(&inputs);
    }
    let words: Vec<u32> = (0..1 << 12).step_by(4).collect();
    let quiet = bench.inputs(Weather {
        floods: false,
        ..weather
    });
    bench.cycle(&quiet, &words);
    assert_eq!(bench.model.stale, LAST_COUNT);
    // Around the last value of each counter, pulses come at random.
    for steps in [LAST_COUNT / 7, LAST_COUNT].repeat(6) {
        bench.reset();
        bench.cycle(&inputs, &[]);
        for _ in 0..steps - 16 {
            bench.dut.clock();
            bench.model.clock(&inputs);
        }
        for _ in 0..64 {
            let inputs = bench.inputs(Weather {
                floods: false,
                ..weather
            });
            bench.cycle(&inputs, &counters);
        }
    }
    assert_eq!(bench.model.dropped, LAST_COUNT);
}

/// A run has as many ranks as have a way. Routes come in order, but now and then one is wrong or comes too early.
#[test]
fn board_control_ways() {
    let mut bench = Bench::new("board_control_ways");
    let weather = Weather {
        abort: 0.0,
        command: 0.0,
        floods: false,
    };
    let (mut whole, mut short) = (0, 0);
    for run in 0..soak(40) {
        bench.reset();
        // Mostly a few ranks, and all that a register can name.
        let ranks = if run % 8 == 0 {
            255
        } else {
            bench.rng.random_range(1..20)
        };
        let place = board::place::RANKS.put(ranks)
            | board::place::BOARD.put(bench.rng.random_range(0..256));
        let mut writes = vec![(board::PLACE, place)];
        let errors = if run % 2 == 0 { 0.0 } else { 0.1 };
        for rank in 0..(ranks + 4).min(256) {
            let rng = &mut bench.rng;
            let port = if rng.random_bool(errors) {
                rng.random_range(0..16)
            } else {
                [0, 1, 15][rng.random_range(0..3)]
            };
            let rank = if rng.random_bool(errors) {
                rng.random_range(0..256)
            } else {
                rank
            };
            let route = board::forward::RANK.put(rank) | board::forward::PORT.put(port);
            writes.push((board::FORWARD, route));
        }
        // Some routes are written anew.
        for _ in 0..run % 4 {
            let rank = bench.rng.random_range(0..ranks);
            let port = [0, 1, 7, 15][bench.rng.random_range(0..4)];
            let route = board::forward::RANK.put(rank) | board::forward::PORT.put(port);
            writes.push((board::FORWARD, route));
        }
        for write in writes.into_iter().map(Some).chain([None, None]) {
            let inputs = Inputs {
                write,
                ..bench.inputs(weather)
            };
            bench.cycle(&inputs, &[board::PLACE]);
        }
        if bench.model.run_ranks == ranks {
            whole += 1;
        } else {
            short += 1;
        }
    }
    println!("{whole} runs with a way to all ranks, {short} without");
    assert!(whole >= 10 && short >= 10);
}

/// A reset from outside or by CONTROL: the blocks' reset ends 16 cycles after the command, or when the reads
/// that are under way have come.
#[test]
fn board_reset() {
    const STAGES: usize = 3;
    let recipe = Recipe::new("board_reset", "board_reset")
        .blocks(&["abi", "common"])
        .source("core/rtl/board_reset.sv")
        .param("RANKS", RANKS as u64)
        .param("STAGES", STAGES as u64);
    let mut dut = Dut::start(&recipe);
    let mut rng = Random::new("board_reset");
    let [rst, command, reading] = ["rst_ni", "command_i", "reading_i"].map(|name| dut.pin(name));
    let [running, board_rst, fabric_rst, link_rst, tile_rst] = [
        "running_o",
        "board_rst_no",
        "fabric_rst_no",
        "link_rst_no",
        "tile_rst_no",
    ]
    .map(|name| dut.pin(name));
    // Cycles for which the counter still runs, and its end in the cycles before.
    let mut left = 15 - STAGES;
    let mut before = [false; STAGES];
    dut.set(rst, 0, 0);
    for _ in 0..=STAGES {
        dut.settle();
        dut.clock();
    }
    let mut ended = 0;
    for _ in 0..soak(6_000) {
        let ends = left == 0;
        // Reads that last longer than the counter, and commands in the midst of a reset.
        let reads = if rng.random_bool(0.8) {
            0
        } else {
            rng.random_range(0..1 << RANKS)
        };
        let commands = rng.random_bool(0.03);
        let holds = rng.random_bool(0.01);
        dut.set(rst, 0, (!holds).into());
        dut.set(command, 0, commands.into());
        dut.set(reading, 0, reads);
        dut.settle();
        let now = dut.cycle();
        let late = u64::from(before[STAGES - 1]);
        let early = if before[STAGES - 2] {
            (1 << RANKS) - 1
        } else {
            0
        };
        assert_eq!(dut.get(running, 0) == 1, ends, "cycle {now}: running_o");
        for (pin, expected) in [
            (board_rst, late),
            (fabric_rst, late),
            (link_rst, late),
            (tile_rst, early),
        ] {
            assert_eq!(
                dut.get(pin, 0),
                expected,
                "cycle {now}: a reset of {before:?}"
            );
        }
        dut.clock();
        before.rotate_right(1);
        before[0] = ends;
        if holds || commands {
            left = 15 - STAGES;
        } else if left > 1 || (left == 1 && reads == 0) {
            left -= 1;
            ended += u32::from(left == 0);
        }
    }
    assert!(ended > 50);
}
