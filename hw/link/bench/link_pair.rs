//! Two link ends with a wire between them that damages, loses, repeats and delays frames. The
//! switches at both ends are models with credits. The wire knows nothing of the protocol: it
//! carries words of 64 bytes, and computes the checksum of a frame as Ethernet does.
//!
//! `ALCOR_SOAK=50` carries more than a million phits in each direction for each kind of fault.

use std::collections::{BTreeMap, VecDeque};

use alcor_hw_bench::{Dut, Pin, Random, Recipe, full, soak};
use rand::Rng;

/// 250 MHz and 322.265625 MHz, in picoseconds.
const CORE: u64 = 4_000;
const MAC: u64 = 3_103;
/// Duration of a byte at 100 Gb/s.
const BYTE: u64 = 80;
/// Bytes of preamble, checksum and gap of a frame.
const OVERHEAD: u64 = 24;
/// Latency of the wire and both controllers.
const WIRE: u64 = 340_000;
/// Channels with credits.
const CHANNELS: usize = 6;
/// Phits that a switch has room for on each channel.
const DEPTH: u64 = 256;
/// Lanes of 48 bits in a phit.
const LANES: usize = 7;
/// Bits of a word, without the overhead of a frame.
const WORD_BITS: u64 = 512;

type Word = [u64; 8];

/// A frame on the wire.
struct Flight {
    due: u64,
    words: Vec<Word>,
    error: bool,
}

/// Faults of one direction of the wire.
#[derive(Debug, Clone, Copy, Default)]
struct Faults {
    /// Probability that a bit is inverted.
    bits: f64,
    /// Probability per frame of a burst: a run of up to 2,000 random bits.
    bursts: f64,
    /// Probability that a frame is lost.
    lost: f64,
    /// Probability that a frame of one word arrives twice, the second time up to 20 us later.
    repeated: f64,
    /// Probability that a frame of one word arrives up to 20 us late.
    late: f64,
    /// All words vanish.
    dead: bool,
    /// The receiver at the far end is not aligned.
    dark: bool,
}

/// One direction of the wire.
struct Wire {
    faults: Faults,
    flights: VecDeque<Flight>,
    /// Words of the frame that the sender is sending.
    sending: Vec<Word>,
    /// Time at which the sender's line is free.
    free: u64,
    /// The frame that is being received, and the time of its next word.
    arriving: VecDeque<Word>,
    arriving_error: bool,
    next: u64,
    /// Bits until the next error.
    until_error: u64,
    damaged: u64,
    frames: u64,
    lost: u64,
}

impl Wire {
    fn new() -> Self {
        Self {
            faults: Faults::default(),
            flights: VecDeque::new(),
            sending: Vec::new(),
            free: 0,
            arriving: VecDeque::new(),
            arriving_error: false,
            next: 0,
            until_error: u64::MAX,
            damaged: 0,
            frames: 0,
            lost: 0,
        }
    }

    /// Distance to the next inverted bit, for a rate of independent errors.
    fn distance(&self, rng: &mut Random) -> u64 {
        if self.faults.bits == 0.0 {
            return u64::MAX;
        }
        let uniform: f64 = rng.random_range(f64::MIN_POSITIVE..1.0);
        (uniform.ln() / (1.0 - self.faults.bits).ln()) as u64
    }

    fn set_faults(&mut self, faults: Faults, rng: &mut Random) {
        self.faults = faults;
        self.until_error = self.distance(rng);
    }

    /// The sender gives a word at `now`.
    fn send(&mut self, now: u64, word: Word, last: bool, error: bool, rng: &mut Random) {
        self.sending.push(word);
        let overhead = if last { OVERHEAD * BYTE } else { 0 };
        self.free = self.free.max(now) + 64 * BYTE + overhead;
        if !last {
            return;
        }
        let mut words = std::mem::take(&mut self.sending);
        self.frames += 1;
        let sum = checksum(&words);
        let damage = self.damage(&mut words, rng);
        let wrong = error || damage || checksum(&words) != sum;
        self.damaged += u64::from(wrong);
        let single = words.len() == 1;
        let due = self.free + WIRE;
        if self.faults.dead || (self.faults.lost > 0.0 && rng.random_bool(self.faults.lost)) {
            self.lost += 1;
            return;
        }
        let late = |rng: &mut Random| due + rng.random_range(0..20_000_000);
        if single && self.faults.repeated > 0.0 && rng.random_bool(self.faults.repeated) {
            let due = late(rng);
            self.insert(due, words.clone(), wrong);
        }
        if single && self.faults.late > 0.0 && rng.random_bool(self.faults.late) {
            let due = late(rng);
            self.insert(due, words, wrong);
        } else {
            self.insert(due, words, wrong);
        }
    }

    /// Inverts bits. Returns whether the four bytes of the checksum itself were hit.
    fn damage(&mut self, words: &mut [Word], rng: &mut Random) -> bool {
        let bits = words.len() as u64 * WORD_BITS;
        // The checksum's bits follow.
        let mut hit = false;
        while self.until_error < bits + 32 {
            let at = self.until_error;
            if at < bits {
                words[(at / 512) as usize][(at % 512 / 64) as usize] ^= 1 << (at % 64);
            } else {
                hit = true;
            }
            self.until_error += 1 + self.distance(rng);
        }
        self.until_error = self.until_error.saturating_sub(bits + 32);
        if self.faults.bursts > 0.0 && rng.random_bool(self.faults.bursts) {
            let from = rng.random_range(0..bits);
            let until = bits.min(from + rng.random_range(1..2_000));
            for at in from..until {
                if rng.random_bool(0.5) {
                    words[(at / 512) as usize][(at % 512 / 64) as usize] ^= 1 << (at % 64);
                }
            }
        }
        hit
    }

    fn insert(&mut self, due: u64, words: Vec<Word>, error: bool) {
        let at = self.flights.partition_point(|flight| flight.due <= due);
        self.flights.insert(at, Flight { due, words, error });
    }

    /// The word that the receiver gets at `now`.
    fn receive(&mut self, now: u64) -> Option<(Word, bool, bool)> {
        if self.arriving.is_empty() {
            let ready = self.flights.front().is_some_and(|flight| flight.due <= now);
            if ready && let Some(flight) = self.flights.pop_front() {
                self.arriving = flight.words.into();
                self.arriving_error = flight.error;
            }
        }
        if self.next > now {
            return None;
        }
        let word = self.arriving.pop_front()?;
        let last = self.arriving.is_empty();
        // Words come at 100 Gb/s on average; a late one may be followed by others at once.
        let overhead = if last { OVERHEAD * BYTE } else { 0 };
        self.next = self.next.max(now.saturating_sub(4 * 64 * BYTE)) + 64 * BYTE + overhead;
        Some((word, last, last && self.arriving_error))
    }

    /// Drops all that is under way, as a pulled cable does.
    fn cut(&mut self) {
        self.flights.clear();
        if !self.arriving.is_empty() {
            // The controller ends the frame as a damaged one.
            self.arriving.truncate(1);
            self.arriving_error = true;
        }
    }
}

fn checksum(words: &[Word]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for lane in words.iter().flatten() {
        hasher.update(&lane.to_le_bytes());
    }
    hasher.finalize()
}

#[derive(Clone, Copy)]
struct Pins {
    core_clk: Pin,
    mac_clk: Pin,
    rst: Pin,
    key: Pin,
    valid_in: Pin,
    vc_in: Pin,
    phit_in: Pin,
    credit_in: Pin,
    credit_vc_in: Pin,
    valid_out: Pin,
    vc_out: Pin,
    phit_out: Pin,
    credit_out: Pin,
    credit_vc_out: Pin,
    mac_ready: Pin,
    aligned: Pin,
    fault: Pin,
    tx_valid: Pin,
    tx_taken: Pin,
    tx_data: Pin,
    tx_last: Pin,
    tx_error: Pin,
    rx_valid: Pin,
    rx_data: Pin,
    rx_last: Pin,
    rx_error: Pin,
}

/// A board: a link end and the model of a switch.
struct Board {
    dut: Dut,
    pins: Pins,
    next: [u64; 2],
    period: [u64; 2],
    high: [bool; 2],
    taken: bool,
    /// Whether the controller is out of reset; its own register drives the pin.
    ready: bool,
    /// Run that the switch takes part in, 0 for none.
    run: u64,
    /// Number of the next phit to send, and of the next one to arrive.
    sends: u64,
    expects: u64,
    /// Credits for phits, by channel.
    credits: [u64; CHANNELS],
    /// Phits that have arrived and still occupy their place, by channel.
    held: [u64; CHANNELS],
    /// Channels of phits that leave their places, oldest first.
    places: VecDeque<usize>,
    /// Probability of a phit per cycle, and that a phit leaves its place.
    load: f64,
    drain: f64,
    arrived: u64,
}

impl Board {
    fn new(dut: Dut) -> Self {
        let pin = |name: &str| dut.pin(name);
        let pins = Pins {
            core_clk: pin("core_clk_i"),
            mac_clk: pin("mac_clk_i"),
            rst: pin("rst_ni"),
            key: pin("key_i"),
            valid_in: pin("valid_i"),
            vc_in: pin("vc_i"),
            phit_in: dut.lanes("phit_i", LANES),
            credit_in: pin("credit_i"),
            credit_vc_in: pin("credit_vc_i"),
            valid_out: pin("valid_o"),
            vc_out: pin("vc_o"),
            phit_out: dut.lanes("phit_o", LANES),
            credit_out: pin("credit_o"),
            credit_vc_out: pin("credit_vc_o"),
            mac_ready: pin("mac_ready_i"),
            aligned: pin("mac_aligned_i"),
            fault: pin("mac_remote_fault_i"),
            tx_valid: pin("mac_valid_o"),
            tx_taken: pin("mac_taken_i"),
            tx_data: dut.lanes("mac_data_o", 8),
            tx_last: pin("mac_last_o"),
            tx_error: pin("mac_error_o"),
            rx_valid: pin("mac_valid_i"),
            rx_data: dut.lanes("mac_data_i", 8),
            rx_last: pin("mac_last_i"),
            rx_error: pin("mac_error_i"),
        };
        Self {
            dut,
            pins,
            next: [1_000, 1_337],
            period: [CORE, MAC],
            high: [false; 2],
            taken: false,
            ready: true,
            run: 0,
            sends: 0,
            expects: 0,
            credits: [DEPTH; CHANNELS],
            held: [0; CHANNELS],
            places: VecDeque::new(),
            load: 0.0,
            drain: 1.0,
            arrived: 0,
        }
    }

    fn is(&self, name: &str) -> bool {
        self.dut.get(self.dut.pin(name), 0) == 1
    }

    fn count(&self, name: &str) -> u64 {
        self.dut.get(self.dut.pin(name), 0)
    }

    /// The switch as after a reset.
    fn restart(&mut self) {
        (self.sends, self.expects) = (0, 0);
        self.credits = [DEPTH; CHANNELS];
        self.held = [0; CHANNELS];
        self.places.clear();
    }

    /// What the switch sees at an edge.
    fn core_sees(&mut self, name: usize, now: u64) {
        let get = |pin: Pin, lane| self.dut.get(pin, lane);
        let in_reset = get(self.pins.rst, 0) == 0;
        if get(self.pins.valid_out, 0) == 1 && !in_reset {
            let vc = get(self.pins.vc_out, 0) as usize;
            let lanes: [u64; LANES] = std::array::from_fn(|l| get(self.pins.phit_out, l));
            assert_ne!(self.run, 0, "board {name} is in no run, and gets a phit");
            assert_eq!(
                lanes[1], self.run,
                "board {name} gets a phit of run {} at {now} ps",
                lanes[1]
            );
            assert_eq!(
                lanes[0], self.expects,
                "board {name} gets the wrong phit at {now} ps"
            );
            assert_eq!(lanes, phit(lanes[1], lanes[0]), "board {name}: damaged");
            assert_eq!(vc, channel(lanes[0]), "board {name}: another channel");
            self.expects += 1;
            self.arrived += 1;
            self.held[vc] += 1;
            assert!(self.held[vc] <= DEPTH, "board {name}: no room on {vc}");
            self.places.push_back(vc);
        }
        if get(self.pins.credit_out, 0) == 1 && !in_reset {
            let vc = get(self.pins.credit_vc_out, 0) as usize;
            self.credits[vc] += 1;
            assert!(
                self.credits[vc] <= DEPTH,
                "board {name}: a credit too many on {vc} at {now} ps"
            );
        }
    }

    fn core_drives(&mut self, rng: &mut Random) {
        let vc = channel(self.sends);
        let send = self.run != 0 && self.credits[vc] > 0 && rng.random_bool(self.load);
        self.dut.set(self.pins.valid_in, 0, u64::from(send));
        self.dut.set(self.pins.vc_in, 0, vc as u64);
        let lanes = if send {
            phit(self.run, self.sends)
        } else {
            [0; LANES]
        };
        for (lane, &value) in lanes.iter().enumerate() {
            self.dut.set(self.pins.phit_in, lane, value);
        }
        if send {
            self.credits[vc] -= 1;
            self.sends += 1;
        }
        let credit = if rng.random_bool(self.drain) {
            self.places.pop_front()
        } else {
            None
        };
        self.dut
            .set(self.pins.credit_in, 0, u64::from(credit.is_some()));
        self.dut
            .set(self.pins.credit_vc_in, 0, credit.unwrap_or(0) as u64);
        if let Some(vc) = credit {
            self.held[vc] -= 1;
        }
    }
}

/// Channel of a phit.
fn channel(number: u64) -> usize {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % CHANNELS
}

/// The lanes of a phit: number, run, and a hash of both.
fn phit(run: u64, number: u64) -> [u64; LANES] {
    let mut lanes = [0; LANES];
    (lanes[0], lanes[1]) = (number, run);
    let mut hash = run << 32 ^ number;
    for lane in &mut lanes[2..] {
        hash = hash
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        *lane = hash >> 16;
    }
    lanes
}

struct Pair {
    boards: [Board; 2],
    /// From board 0 to 1, and back.
    wires: [Wire; 2],
    rng: Random,
    now: u64,
}

impl Pair {
    fn new(name: &'static str) -> Self {
        let recipe = Recipe::new("link_end", "link_bench")
            .blocks(&["abi", "common", "link"])
            .source("link/bench/link_bench.sv");
        let mut duts = Dut::start_several(&recipe, 2).into_iter();
        let mut next = || Board::new(duts.next().unwrap_or_else(|| Dut::start(&recipe)));
        let mut pair = Self {
            boards: [next(), next()],
            wires: [Wire::new(), Wire::new()],
            rng: Random::new(name),
            now: 0,
        };
        // The clocks of the boards are not related.
        pair.boards[1].next = [2_211, 1_777];
        pair.boards[1].period = [CORE - 9, MAC + 1];
        for board in &mut pair.boards {
            for pin in [board.pins.core_clk, board.pins.mac_clk, board.pins.rst] {
                board.dut.set(pin, 0, 0);
            }
            for pin in [board.pins.mac_ready, board.pins.aligned] {
                board.dut.set(pin, 0, 1);
            }
            board.dut.set(board.pins.key, 0, 0);
        }
        pair.cycles(10);
        for board in &mut pair.boards {
            board.dut.set(board.pins.rst, 0, 1);
        }
        pair
    }

    /// Two boards in a run.
    fn open(name: &'static str) -> Self {
        let mut pair = Self::new(name);
        pair.place(0, 1);
        pair.place(1, 1);
        pair.wait("agreement", |pair| {
            pair.boards.iter().all(|board| board.is("open_o"))
        });
        pair
    }

    /// Begins the reset of a board's core, as CONTROL does; the switch forgets everything.
    fn reset(&mut self, at: usize) {
        let board = &mut self.boards[at];
        board.dut.set(board.pins.rst, 0, 0);
        board.dut.set(board.pins.key, 0, 0);
        board.run = 0;
        board.restart();
    }

    fn end_reset(&mut self, at: usize) {
        let board = &mut self.boards[at];
        board.dut.set(board.pins.rst, 0, 1);
    }

    /// The host writes PLACE: the board takes part in a run. The run's number modulo 255 is its key.
    fn place(&mut self, at: usize, run: u64) {
        let board = &mut self.boards[at];
        board.run = run;
        board.dut.set(board.pins.key, 0, 1 + run % 255);
    }

    fn cycles(&mut self, count: u64) {
        let end = self.now + count * CORE;
        while self.now < end {
            self.edge();
        }
    }

    /// Waits for at most 400 us.
    fn wait(&mut self, what: &str, done: impl Fn(&Self) -> bool) -> u64 {
        let begin = self.now;
        while !done(self) {
            self.cycles(20);
            assert!(
                self.now < begin + 400_000_000,
                "no {what}: {}",
                self.report()
            );
        }
        self.now - begin
    }

    fn edge(&mut self) {
        self.now = self
            .boards
            .iter()
            .flat_map(|board| board.next)
            .fold(u64::MAX, u64::min);
        for at in 0..2 {
            let now = self.now;
            let mut rising = [false; 2];
            let board = &mut self.boards[at];
            let mut changes = false;
            for clock in 0..2 {
                if board.next[clock] != now {
                    continue;
                }
                changes = true;
                board.high[clock] = !board.high[clock];
                rising[clock] = board.high[clock];
                let half = board.period[clock] / 2;
                board.next[clock] += if rising[clock] {
                    half
                } else {
                    board.period[clock] - half
                };
                let pin = [board.pins.core_clk, board.pins.mac_clk][clock];
                board.dut.set(pin, 0, u64::from(board.high[clock]));
            }
            if !changes {
                continue;
            }
            if rising[0] {
                board.core_sees(at, now);
            }
            if rising[1] {
                self.mac_sees(at);
            }
            self.boards[at].dut.settle();
            if rising[0] {
                self.boards[at].core_drives(&mut self.rng);
            }
            if rising[1] {
                self.mac_drives(at);
            }
            if rising != [false; 2] {
                self.boards[at].dut.settle();
            }
        }
    }

    fn mac_sees(&mut self, at: usize) {
        let board = &self.boards[at];
        let get = |pin: Pin| board.dut.get(pin, 0);
        if get(board.pins.mac_ready) == 0 {
            self.wires[at].sending.clear();
            return;
        }
        let valid = get(board.pins.tx_valid) == 1;
        assert!(
            valid || self.wires[at].sending.is_empty(),
            "board {at}: a gap within a frame"
        );
        if !(valid && board.taken) {
            return;
        }
        let word = std::array::from_fn(|l| board.dut.get(board.pins.tx_data, l));
        let (last, error) = (get(board.pins.tx_last) == 1, get(board.pins.tx_error) == 1);
        self.wires[at].send(self.now, word, last, error, &mut self.rng);
    }

    fn mac_drives(&mut self, at: usize) {
        let other = 1 - at;
        // Remote faults are seen while the direction from the other end works.
        let dark = self.wires[other].faults.dark;
        let fault = !dark && self.boards[other].is("mac_send_fault_o");
        if self.boards[at].dut.get(self.boards[at].pins.mac_ready, 0) == 0 {
            // A controller in reset receives nothing.
            self.wires[other].arriving.clear();
            while self.wires[other].receive(self.now).is_some() {
                self.wires[other].arriving.clear();
            }
        }
        let received = self.wires[other].receive(self.now);
        let board = &mut self.boards[at];
        board.taken = self.wires[at].free < self.now + 4 * 64 * BYTE;
        let pins = board.pins;
        board.dut.set(pins.mac_ready, 0, u64::from(board.ready));
        board.dut.set(pins.tx_taken, 0, u64::from(board.taken));
        board.dut.set(pins.aligned, 0, u64::from(!dark));
        board.dut.set(pins.fault, 0, u64::from(fault));
        board
            .dut
            .set(pins.rx_valid, 0, u64::from(received.is_some()));
        let (word, last, error) = received.unwrap_or(([!0; 8], true, false));
        for (lane, value) in word.into_iter().enumerate() {
            board.dut.set(pins.rx_data, lane, value);
        }
        board.dut.set(pins.rx_last, 0, u64::from(last));
        board.dut.set(pins.rx_error, 0, u64::from(error));
    }

    fn set_faults(&mut self, faults: [Faults; 2]) {
        for (wire, faults) in self.wires.iter_mut().zip(faults) {
            if (faults.dead || faults.dark) && !wire.faults.dead {
                wire.cut();
            }
            wire.set_faults(faults, &mut self.rng);
        }
    }

    fn load(&mut self, load: f64) {
        for board in &mut self.boards {
            board.load = load;
        }
    }

    /// Stops sending, and checks that each phit has arrived and each credit is home.
    fn drain(&mut self) {
        self.load(0.0);
        for board in &mut self.boards {
            board.drain = 1.0;
        }
        self.wait("end of the traffic", |pair| {
            let home = |board: &Board| board.credits == [DEPTH; CHANNELS];
            pair.boards.iter().all(home)
        });
        for at in 0..2 {
            let (sender, receiver) = (&self.boards[at], &self.boards[1 - at]);
            assert_eq!(sender.sends, receiver.expects, "phits from board {at}");
        }
        for board in &self.boards {
            assert!(!board.is("overrun_o") && !board.is("foreign_o"));
        }
        // Nothing comes any more.
        self.cycles(3_000);
    }

    fn counts(&self, at: usize) -> BTreeMap<&'static str, u64> {
        [
            "damaged_o",
            "early_o",
            "repeated_o",
            "strange_o",
            "replays_o",
            "timeouts_o",
            "falls_o",
            "retrains_o",
        ]
        .into_iter()
        .map(|name| (name.trim_end_matches("_o"), self.boards[at].count(name)))
        .filter(|&(_, count)| count != 0)
        .collect()
    }

    fn report(&self) -> String {
        let board = |at: usize| {
            format!(
                "board {at}: sent {}, arrived {}, {:?}",
                self.boards[at].sends,
                self.boards[at].arrived,
                self.counts(at)
            )
        };
        format!("{}; {}", board(0), board(1))
    }

    /// Carries about `phits` in each direction, at loads that change.
    fn carry(&mut self, phits: u64, mut each: impl FnMut(&mut Self, u64)) {
        let goal = self.boards.each_ref().map(|board| board.arrived + phits);
        let mut round = 0;
        let begin = self.now;
        while (0..2).any(|at| self.boards[at].arrived < goal[at]) {
            for board in &mut self.boards {
                board.load = [1.0, 0.6, 0.05][self.rng.random_range(0..3)];
                board.drain = [1.0, 0.9, 0.3][self.rng.random_range(0..3)];
            }
            each(self, round);
            let cycles = self.rng.random_range(300..1_500);
            self.cycles(cycles);
            round += 1;
            assert!(
                self.now < begin + phits * CORE * 200 + 4_000_000_000,
                "too slow: {}",
                self.report()
            );
        }
    }

    /// Carries phits under steady faults, and prints what happened.
    fn steady(&mut self, what: &str, faults: Faults) {
        self.set_faults([faults; 2]);
        self.carry(soak(20_000), |_, _| {});
        self.set_faults([Faults::default(); 2]);
        self.drain();
        for at in 0..2 {
            let damaged = self.wires[1 - at].damaged.min(u64::from(u16::MAX));
            assert_eq!(self.boards[at].count("damaged_o"), damaged, "board {at}");
        }
        println!("{what}: {}", self.report());
    }
}

/// Bits are inverted at rates from 1e-7 to 1e-4.
#[test]
fn link_pair_bit_errors() {
    for bits in [1e-7, 1e-5, 1e-4] {
        let mut pair = Pair::open("link_pair_bit_errors");
        let faults = Faults {
            bits,
            ..Faults::default()
        };
        pair.steady(&format!("bit errors {bits:e}"), faults);
        let damaged = pair.wires[0].damaged + pair.wires[1].damaged;
        assert!(
            damaged > 10 || bits < 1e-6,
            "only {damaged} frames were damaged"
        );
    }
}

/// Bursts of up to 2,000 bits.
#[test]
fn link_pair_bursts() {
    let mut pair = Pair::open("link_pair_bursts");
    let faults = Faults {
        bursts: 0.02,
        ..Faults::default()
    };
    pair.steady("bursts", faults);
    assert!(pair.wires[0].damaged > 10 && pair.counts(1)["damaged"] > 10);
}

/// Frames vanish.
#[test]
fn link_pair_lost_frames() {
    let mut pair = Pair::open("link_pair_lost_frames");
    let faults = Faults {
        lost: 0.03,
        ..Faults::default()
    };
    pair.steady("lost frames", faults);
    assert!(pair.wires[0].lost > 10 && pair.counts(1)["early"] > 10);
}

/// Frames of one word, which have acknowledgements and credits, arrive twice, or up to 20 us late.
#[test]
fn link_pair_late_acknowledgements() {
    let mut pair = Pair::open("link_pair_late_acknowledgements");
    pair.cycles(2_000);
    let faults = Faults {
        repeated: 0.2,
        late: 0.1,
        lost: 0.005,
        ..Faults::default()
    };
    pair.steady("late and repeated acknowledgements", faults);
}

/// The cable is pulled and put back: both receivers lose alignment. The link falls, and goes on soon
/// after the cable is back.
#[test]
fn link_pair_cable() {
    let mut pair = Pair::open("link_pair_cable");
    let mut worst = 0;
    let pulled = Faults {
        dead: true,
        dark: true,
        ..Faults::default()
    };
    pair.carry(soak(20_000), |pair, round| {
        if round % 4 != 3 {
            return;
        }
        pair.load(1.0);
        pair.cycles(400);
        pair.set_faults([pulled; 2]);
        let away = pair.rng.random_range(1..4_000);
        if round % 8 == 7 {
            // Phits that are under way arrive, although no later ones follow.
            pair.load(0.0);
            pair.cycles(away);
            pair.set_faults([Faults::default(); 2]);
            let waits = [0, 1].map(|at| pair.boards[at].sends - pair.boards[1 - at].expects);
            let time = pair.wait("all phits", |pair| {
                (0..2).all(|at| pair.boards[at].sends == pair.boards[1 - at].expects)
            });
            // After the recovery, a phit leaves in each cycle of the core.
            let bound = 1_500_000 + CORE * waits[0].max(waits[1]);
            assert!(time < bound, "{waits:?} phits arrive after {time} ps");
            return;
        }
        pair.cycles(away);
        pair.set_faults([Faults::default(); 2]);
        pair.load(1.0);
        let before = pair.boards.each_ref().map(|board| board.arrived);
        let time = pair.wait("recovery", |pair| {
            (0..2).all(|at| pair.boards[at].arrived > before[at])
        });
        worst = worst.max(time);
    });
    pair.drain();
    assert!(pair.boards.iter().all(|board| board.is("fell_o")));
    println!("cable: recovery within {worst} ps; {}", pair.report());
    // A board waits for 3 us more until its link is up.
    assert!(worst < 2_000_000, "recovery takes {worst} ps");
    assert!(pair.counts(0)["falls"] > 2);
}

/// One direction dies for a while: the far receiver loses alignment, or stays aligned and hears
/// nothing. In the second case the sender takes the link down, and trains it again.
#[test]
fn link_pair_one_direction() {
    let mut pair = Pair::open("link_pair_one_direction");
    pair.carry(soak(20_000), |pair, round| {
        if round % 5 != 4 {
            return;
        }
        let dead = Faults {
            dead: true,
            dark: round % 2 == 0,
            ..Faults::default()
        };
        let mut faults = [Faults::default(); 2];
        faults[pair.rng.random_range(0..2)] = dead;
        pair.set_faults(faults);
        pair.load(1.0);
        let away = if round % 3 == 0 { 10_000 } else { 500 };
        pair.cycles(away);
        pair.set_faults([Faults::default(); 2]);
    });
    pair.drain();
    println!("one direction: {}", pair.report());
    let count = |name: &str| [0, 1].map(|at: usize| pair.boards[at].count(name));
    assert_ne!(count("retrains_o"), [0, 0]);
    // An end that trains the link again takes the other end down, too.
    let falls = count("falls_o");
    assert!(falls[0] > 0 && falls[0] == falls[1], "{falls:?} falls");
}

/// A controller is reset for a while, with and without its clock. Nothing is lost.
#[test]
fn link_pair_controller_reset() {
    let mut pair = Pair::open("link_pair_controller_reset");
    let mut resets = 0;
    pair.carry(soak(20_000), |pair, round| {
        for _ in 0..8 {
            let at = pair.rng.random_range(0..2);
            let board = &mut pair.boards[at];
            board.ready = false;
            if round % 8 == 7 {
                board.next[1] += 50 * CORE;
            }
            let away = pair.rng.random_range(1..[8, 200][(round % 2) as usize]);
            pair.cycles(away);
            pair.boards[at].ready = true;
            let between = pair.rng.random_range(1..900);
            pair.cycles(between);
            resets += 1;
        }
    });
    pair.drain();
    assert!(resets > 40, "only {resets} resets");
    println!("controller reset: {}", pair.report());
}

/// All faults in turn and together.
#[test]
fn link_pair_all_faults() {
    let mut pair = Pair::open("link_pair_all_faults");
    pair.cycles(2_000);
    pair.carry(soak(20_000), |pair, _| {
        let rng = &mut pair.rng;
        let mut one = || {
            let dead = rng.random_bool(0.05);
            Faults {
                bits: [0.0, 1e-5, 1e-4][rng.random_range(0..3)],
                bursts: [0.0, 0.02][rng.random_range(0..2)],
                lost: [0.0, 0.02][rng.random_range(0..2)],
                repeated: [0.0, 0.1][rng.random_range(0..2)],
                late: [0.0, 0.1][rng.random_range(0..2)],
                dead,
                dark: dead && rng.random(),
            }
        };
        let faults = [one(), one()];
        pair.set_faults(faults);
    });
    pair.set_faults([Faults::default(); 2]);
    pair.drain();
    println!("all faults: {}", pair.report());
}

/// Boards are reset in any order and at any skew, in the middle of traffic. No board gets a phit or
/// a credit of an earlier run, and no credit is lost.
#[test]
fn link_pair_resets() {
    let mut pair = Pair::open("link_pair_resets");
    pair.load(1.0);
    for run in 2..2 + soak(60) {
        let cycles = pair.rng.random_range(0..800);
        pair.cycles(cycles);
        if run % 7 == 0 {
            // Greetings are lost, too.
            let faults = Faults {
                bits: 1e-5,
                lost: 0.3,
                ..Faults::default()
            };
            pair.set_faults([faults; 2]);
        }
        // As a host does: all boards are reset, some of them twice, and then placed.
        let first = pair.rng.random_range(0..2);
        let twice = pair.rng.random_bool(0.3);
        let order = [first, 1 - first, first];
        for &at in &order[..2 + usize::from(twice)] {
            pair.reset(at);
            if pair.rng.random_bool(0.3) {
                // The controller's clock stops meanwhile.
                pair.boards[at].next[1] += 200 * CORE;
            }
            let length = pair.rng.random_range(16..20);
            pair.cycles(length);
            pair.end_reset(at);
            let skew = [0, 3, 40, 700, 3_000][pair.rng.random_range(0..5)];
            pair.cycles(skew);
        }
        let first = pair.rng.random_range(0..2);
        for at in [first, 1 - first] {
            pair.place(at, run);
            let skew = [0, 5, 600][pair.rng.random_range(0..3)];
            pair.cycles(skew);
        }
        for board in &mut pair.boards {
            board.load = [1.0, 0.3][pair.rng.random_range(0..2)];
        }
        pair.wait("agreement", |pair| {
            pair.boards.iter().all(|board| board.is("open_o"))
        });
        pair.set_faults([Faults::default(); 2]);
        if run % 3 == 0 {
            pair.cycles(400);
            pair.drain();
            pair.load(1.0);
        }
    }
    pair.drain();
    println!("resets: {}", pair.report());
}

/// One board alone is reset in the middle of traffic and begins another run, with another key or
/// with the same. The other board stays in its run: neither board gets anything of the other. In
/// some rounds, greetings of the new run are lost.
#[test]
fn link_pair_one_reset() {
    for round in 0..12 {
        let (at, run) = (round % 2, [2, 256, 256][round / 4]);
        let mut pair = Pair::open("link_pair_one_reset");
        pair.load(1.0);
        pair.cycles(600 + round as u64);
        if round >= 6 {
            let mut faults = [Faults::default(); 2];
            faults[at].lost = 0.7;
            pair.set_faults(faults);
        }
        pair.reset(at);
        pair.cycles(16);
        pair.end_reset(at);
        pair.place(at, run);
        pair.cycles(3_000);
        pair.set_faults([Faults::default(); 2]);
        assert!(pair.boards[1 - at].is("stale_o") && !pair.boards[at].is("open_o"));
        assert_eq!(pair.boards[at].expects, 0);
        // The other board follows.
        pair.reset(1 - at);
        pair.cycles(16);
        pair.end_reset(1 - at);
        pair.place(1 - at, run);
        pair.cycles(2_000);
        assert!(pair.boards.iter().all(|board| board.arrived > 100));
        pair.drain();
    }
}

/// Both ends agree without any traffic, over a wire that loses half of all frames.
#[test]
fn link_pair_quiet_agreement() {
    let mut pair = Pair::open("link_pair_quiet_agreement");
    let faults = Faults {
        lost: 0.5,
        ..Faults::default()
    };
    for run in 2..2 + soak(20) {
        pair.set_faults([faults; 2]);
        for at in 0..2 {
            pair.reset(at);
            pair.cycles(16);
            pair.end_reset(at);
        }
        pair.cycles(60);
        pair.place(0, run);
        pair.place(1, run);
        pair.wait("agreement", |pair| {
            pair.boards.iter().all(|board| board.is("open_o"))
        });
        assert!(!pair.boards.iter().any(|board| board.is("stale_o")));
    }
    pair.set_faults([Faults::default(); 2]);
    pair.drain();
}

/// Boards of two runs with different keys never agree. Once one of them joins the other's run, they
/// do.
#[test]
fn link_pair_two_runs() {
    let mut pair = Pair::new("link_pair_two_runs");
    pair.place(0, 2);
    pair.place(1, 3);
    pair.load(1.0);
    pair.cycles(4_000);
    for board in &pair.boards {
        assert!(!board.is("open_o") && !board.is("stale_o"));
        assert_eq!(board.arrived, 0);
    }
    pair.reset(1);
    pair.cycles(16);
    pair.end_reset(1);
    pair.place(1, 2);
    pair.cycles(3_000);
    assert!(pair.boards.iter().all(|board| board.arrived > 100));
    pair.drain();
}

/// A board whose number of resets is the same again, as after a loss of power, is another board.
#[test]
fn link_pair_resets_wrap() {
    let mut pair = Pair::open("link_pair_resets_wrap");
    pair.load(1.0);
    pair.cycles(500);
    for round in 0..256 {
        pair.reset(0);
        pair.cycles(16);
        pair.end_reset(0);
        pair.cycles(60);
        if round == 255 {
            // The same epoch as the first one.
            pair.place(0, 1);
        }
    }
    let before = pair.boards[0].expects;
    pair.cycles(3_000);
    assert_eq!(pair.boards[0].expects, before);
    assert!(pair.boards[1].is("stale_o") && !pair.boards[0].is("open_o"));
}

/// Phits per cycle of the core that go-back-n carries at a rate of bit errors. A full frame has
/// 1,088 bytes and a checksum, takes 88.96 ns, and has 24 phits. If it is lost, the time until its
/// repetition begins is lost with it: the frame, the wire, its reception, the request behind four
/// words of the controller, the wire, and half of the frame that is being sent. The receiving core
/// takes a phit a cycle at most, so the faster wire makes up for a loss only if the next one is late.
fn go_back_n(bits: f64) -> f64 {
    let frame = (1_088 * BYTE + OVERHEAD * BYTE) as f64;
    let wire = WIRE as f64;
    let turn = (frame + wire + 82e3 + 14e3 + 28e3 + 7e3 + wire + 32e3 + frame / 2.0) / CORE as f64;
    let lost = 1.0 - (1.0 - bits).powi(8 * 1_088 + 32);
    if lost == 0.0 {
        return 1.0;
    }
    // Phits between two losses, the cycles that they take on the wire, and the cycles gained.
    let phits = 24.0 * (1.0 - lost) / lost;
    let cycles = phits / 24.0 * frame / CORE as f64;
    let gained = phits - cycles;
    phits / (cycles + turn + gained * (-turn / gained).exp())
}

/// Draws measured rates beside the formula.
fn draw_goodput(measured: &[(f64, f64)], file: &str) -> Result<(), Box<dyn std::error::Error>> {
    use plotters::prelude::*;
    let area = SVGBackend::new(file, (720, 420)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(
            "Phits a cycle that arrive over the rate of bit errors",
            ("sans-serif", 20),
        )
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(58)
        .build_cartesian_2d((5e-8..6e-5).log_scale(), 0.0..1.1)?;
    chart
        .configure_mesh()
        .x_desc("errors a bit, in one direction")
        .y_desc("phits a cycle")
        .x_label_formatter(&|rate| format!("{rate:e}"))
        .y_label_formatter(&|share| format!("{share:.1}"))
        .light_line_style(WHITE)
        .draw()?;
    let rates = (0..=200).map(|step| 5e-8 * 1_200_f64.powf(f64::from(step) / 200.0));
    let formula = LineSeries::new(
        rates.map(|rate| (rate, go_back_n(rate))),
        BLUE.stroke_width(2),
    );
    let line = |(x, y)| PathElement::new([(x, y), (x + 18, y)], BLUE.stroke_width(2));
    chart
        .draw_series(formula)?
        .label("formula of go-back-n")
        .legend(line);
    let circle = |&at: &(f64, f64)| Circle::new(at, 4, RED.filled());
    let dot = |(x, y)| Circle::new((x + 9, y), 4, RED.filled());
    let points = measured.iter().filter(|point| point.0 > 0.0).map(circle);
    chart
        .draw_series(points)?
        .label("measured in RTL")
        .legend(dot);
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerLeft)
        .background_style(WHITE)
        .border_style(BLACK.mix(0.3))
        .draw()?;
    area.present()?;
    Ok(())
}

/// Share of the rate that remains over rates of bit errors in one direction, beside the formula of
/// go-back-n. The other direction carries credits alone. `ALCOR_PLOT` names a file for a picture.
#[test]
fn link_pair_goodput() {
    let mut measured = Vec::new();
    let cycles = soak(if full() { 64 * 30_000 } else { 30_000 });
    println!("| errors a bit | frames lost | phits a cycle | go-back-n |\n|---|---:|---:|---:|");
    for bits in [0.0, 1e-7, 3e-7, 1e-6, 3e-6, 1e-5, 3e-5] {
        let mut pair = Pair::open("link_pair_goodput");
        pair.boards[0].load = 1.0;
        let faults = Faults {
            bits,
            ..Faults::default()
        };
        pair.set_faults([faults, Faults::default()]);
        pair.cycles(2_000);
        let wire = &pair.wires[0];
        let (frames, damaged) = (wire.frames, wire.damaged);
        let (from, begin) = (pair.boards[1].arrived, pair.now);
        pair.cycles(cycles);
        let wire = &pair.wires[0];
        let lost = (wire.damaged - damaged) as f64 / (wire.frames - frames) as f64;
        let rate = (pair.boards[1].arrived - from) as f64 * CORE as f64 / (pair.now - begin) as f64;
        let formula = go_back_n(bits);
        println!(
            "| {bits:e} | {:.2} % | {rate:.3} | {formula:.3} |",
            100.0 * lost
        );
        measured.push((bits, rate));
        // Few losses in a short run scatter widely.
        let most = if bits < 3e-6 || cycles >= 8 * 30_000 {
            0.05
        } else {
            0.12
        };
        assert!(
            (rate / formula - 1.0).abs() < most,
            "{bits:e}: {rate} phits a cycle, not {formula}"
        );
        pair.set_faults([Faults::default(); 2]);
        pair.drain();
    }
    if let Ok(file) = std::env::var("ALCOR_PLOT") {
        draw_goodput(&measured, &file).expect("a picture");
    }
}
