//! `link_end` between a core and a medium access controller. The models of both share only
//! `alcor_abi` with the RTL. The bench drives the two clocks edge by edge, in picoseconds.

use std::collections::VecDeque;

use alcor_abi::{ABI_HASH, packets};
use alcor_hw_bench::{Dut, Pace, Pin, Random, Recipe, Sink, soak};
use rand::Rng;

/// 250 MHz and 322.265625 MHz.
const CORE: u64 = 4_000;
const MAC: u64 = 3_103;
/// Duration of a byte at 100 Gb/s.
const BYTE: u64 = 80;
/// Bytes of preamble, checksum and gap of a frame.
const OVERHEAD: u64 = 24;
/// Cycles without faults until the link is up, as parameterised in the model.
const QUIET: u64 = 64;
/// Number of channels with credits.
const CHANNELS: usize = 6;
/// Bits of a phit with its header.
const PHIT: usize = 336;
/// Destination, source and EtherType 88B5, byte by byte.
const ADDRESSES: [u8; 14] = [
    0x01, 0x80, 0xc2, 0, 0, 0x0e, 0x02, 0, 0, 0, 0, 0, 0x88, 0xb5,
];

/// A phit: its channel, and its bits in lanes of 48.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Phit {
    vc: u8,
    lanes: [u64; 7],
}

impl Phit {
    fn random(rng: &mut Random) -> Self {
        let mut lanes = [0; 7];
        lanes.fill_with(|| rng.random_range(0..1 << 48));
        // The control channel has no credits, and is rare.
        let vc = if rng.random_bool(0.01) {
            7
        } else {
            rng.random_range(0..6)
        };
        Self { vc, lanes }
    }

    /// The slot with this phit, low bit first.
    fn bits(&self) -> Vec<bool> {
        let mut bits: Vec<bool> = (0..PHIT)
            .map(|b| self.lanes[b / 48] >> (b % 48) & 1 == 1)
            .collect();
        let above =
            packets::link_slot::VC.put(u32::from(self.vc)) | packets::link_slot::FULL.put(1);
        bits.extend((0..4).map(|b| above >> b & 1 == 1));
        bits
    }

    /// The phit of a slot, or `None` for an empty slot.
    fn of(bits: &[bool]) -> Option<Self> {
        let above = (0..4).fold(0, |sum, b| sum | u32::from(bits[PHIT + b]) << b);
        let mut lanes = [0; 7];
        for (b, &bit) in bits[..PHIT].iter().enumerate() {
            lanes[b / 48] |= u64::from(bit) << (b % 48);
        }
        let vc = packets::link_slot::VC.get(above) as u8;
        let is_empty = packets::link_slot::FULL.get(above) == 0;
        assert!(
            !is_empty || bits.iter().all(|&bit| !bit),
            "an empty slot with contents"
        );
        (packets::link_slot::FULL.get(above) == 1).then_some(Self { vc, lanes })
    }
}

/// The shape in link_bench.
const SHAPE: u32 = 0x0123_4567;

/// A word of a frame, in lanes of 64 bits.
type Word = [u64; 8];

/// Key of the run, and the epoch of the other end: 7 resets.
const KEY: u16 = 0x5a;
const OTHER: u16 = 0x0700 | KEY;

/// Contents of a frame.
#[derive(Debug, Clone, Default)]
struct Frame {
    numbered: bool,
    open: bool,
    again: bool,
    /// Number of the first word, and of the word that the sender expects.
    word: u16,
    acknowledged: u16,
    /// Epochs of the sender and of the receiver, if the sender knows it.
    sender: u16,
    receiver: Option<u16>,
    round: u8,
    again_round: u8,
    credits: [u32; CHANNELS],
    /// Slots, three in a group.
    slots: Vec<Option<Phit>>,
}

const CREDITS: [alcor_abi::Field; CHANNELS] = [
    packets::link_credits::REQUEST,
    packets::link_credits::REQUEST_1,
    packets::link_credits::REPLY,
    packets::link_credits::REPLY_1,
    packets::link_credits::COLLECTIVE,
    packets::link_credits::COLLECTIVE_1,
];

impl Frame {
    fn words(&self) -> Vec<Word> {
        let mut bytes = vec![0u8; 64];
        bytes[..14].copy_from_slice(&ADDRESSES);
        let kind = packets::link_frame::NUMBERED.put(u32::from(self.numbered))
            | packets::link_frame::KNOWN.put(u32::from(self.receiver.is_some()))
            | packets::link_frame::OPEN.put(u32::from(self.open))
            | packets::link_frame::AGAIN.put(u32::from(self.again));
        (bytes[14], bytes[15]) = (2, (kind >> 24) as u8);
        bytes[16..20].copy_from_slice(&ABI_HASH.to_le_bytes());
        let credits = (0..CHANNELS).fold(0, |sum, c| sum | CREDITS[c].put(self.credits[c]));
        bytes[20..24].copy_from_slice(&credits.to_le_bytes());
        bytes[24..28].copy_from_slice(&SHAPE.to_le_bytes());
        let halves = [
            self.word,
            self.acknowledged,
            self.sender,
            self.receiver.unwrap_or(0),
        ];
        for (half, bytes) in halves.iter().zip(bytes[28..36].chunks_mut(2)) {
            bytes.copy_from_slice(&half.to_le_bytes());
        }
        (bytes[36], bytes[37]) = (self.round, self.again_round);
        for group in self.slots.chunks(3) {
            let mut bits = Vec::new();
            for slot in group {
                bits.extend(slot.as_ref().map_or_else(|| vec![false; 340], Phit::bits));
            }
            bits.resize(1024, false);
            bytes.extend(
                bits.chunks(8)
                    .map(|eight| (0..8).fold(0, |sum, b| sum | u8::from(eight[b]) << b)),
            );
        }
        let lane = |eight: &[u8]| u64::from_le_bytes(eight.try_into().unwrap_or([0; 8]));
        bytes
            .chunks(64)
            .map(|word| std::array::from_fn(|l| lane(&word[8 * l..8 * l + 8])))
            .collect()
    }

    fn of(words: &[Word]) -> Self {
        let bytes: Vec<u8> = words
            .iter()
            .flatten()
            .flat_map(|lane| lane.to_le_bytes())
            .collect();
        assert_eq!(bytes[..14], ADDRESSES, "addresses and EtherType");
        assert_eq!(bytes[14], 2, "layout");
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        assert_eq!(word(16), ABI_HASH, "ABI");
        assert_eq!(word(24), SHAPE, "shape");
        assert!(
            bytes[38..64].iter().all(|&byte| byte == 0),
            "spare bytes of the first word"
        );
        assert_eq!(words.len() % 2, 1, "a first word and whole groups");
        assert!(words.len() <= 17, "a frame of {} words", words.len());
        let mut slots = Vec::new();
        for group in bytes[64..].chunks(128) {
            let bits: Vec<bool> = (0..1024)
                .map(|b| group[b / 8] >> (b % 8) & 1 == 1)
                .collect();
            assert!(
                bits[1020..].iter().all(|&bit| !bit),
                "spare bits of a group"
            );
            slots.extend((0..3).map(|s| Phit::of(&bits[340 * s..340 * s + 340])));
        }
        let kind = u32::from(bytes[15]) << 24;
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let known = packets::link_frame::KNOWN.get(kind) == 1;
        assert!(known || half(34) == 0, "an epoch that is not known");
        Self {
            numbered: packets::link_frame::NUMBERED.get(kind) == 1,
            open: packets::link_frame::OPEN.get(kind) == 1,
            again: packets::link_frame::AGAIN.get(kind) == 1,
            word: half(28),
            acknowledged: half(30),
            sender: half(32),
            receiver: known.then(|| half(34)),
            round: bytes[36],
            again_round: bytes[37],
            credits: std::array::from_fn(|c| CREDITS[c].get(word(20))),
            slots,
        }
    }
}

/// Faults of the frames from the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spoil {
    Checksum,
    Missing,
    Hash,
    Shape,
    EtherType,
    Layout,
    Cut,
    /// A bit of a lane of the first word.
    Bit(usize, u32),
}

/// Expected traffic of one direction.
#[derive(Default)]
struct Way {
    phits: VecDeque<Phit>,
    credits: [u64; CHANNELS],
    moved: u64,
    /// Entry time of each phit, for latencies.
    times: VecDeque<u64>,
    worst: u64,
}

/// The protocol of the other end.
#[derive(Default)]
struct Peer {
    /// Epoch of the link end, as it has told, and whether it knows this end's.
    known: Option<u16>,
    open: bool,
    /// Number of the next word to send, and of the next one to arrive.
    next: u16,
    expects: u16,
    /// Acknowledged by this end.
    told: u16,
    /// Frames without an acknowledgement.
    window: VecDeque<Frame>,
    /// Frames of the window that are to be sent again.
    again: VecDeque<Frame>,
    round: u8,
    /// A frame without a number is to be sent.
    answer: bool,
    /// The link end's round; whether it has been asked in it.
    seen: u8,
    asks: bool,
    asked: bool,
    /// The next request names the round before.
    late: bool,
    /// Replays that the link end has asked for.
    replays: u64,
    repeated: u64,
}

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

struct Bench {
    dut: Dut,
    pins: Pins,
    rng: Random,
    now: u64,
    next: [u64; 2],
    period: [u64; 2],
    high: [bool; 2],
    /// Core to wire, and wire to core.
    out: Way,
    back: Way,
    /// Probability of a phit and of a credit per cycle, at the core; the same at the other end.
    load: [f64; 2],
    other: [f64; 2],
    /// Words of the leaving frame.
    leaving: Vec<Word>,
    /// Frames that the link end marked as damaged.
    closed: u64,
    frames: u64,
    /// The last frame that left undamaged.
    left: Frame,
    /// Whether the wire accepts words at 100 Gb/s; otherwise at a random pace.
    line: bool,
    free_at: u64,
    taker: Sink,
    taken: bool,
    /// The other end: words with `last` and `error`; pace of the gaps between them.
    coming: VecDeque<(Word, bool, bool)>,
    peer: Peer,
    giver: Sink,
    other_free_at: u64,
    /// If set, leaving words return after this time.
    loopback: Option<u64>,
    delayed: VecDeque<(u64, Word, bool)>,
    spoil: Option<Spoil>,
    /// Fault of the next frame that is sent again.
    spoil_again: Option<Spoil>,
    /// Phits for which the other end has credits.
    other_credits: [u64; CHANNELS],
    limited: bool,
    /// Disables comparison: a link that is down loses its contents.
    deaf: bool,
    /// The other end neither hears nor sends.
    silent: bool,
    tx_was_inside: bool,
    /// If set, all credits are for this channel.
    channel: Option<usize>,
}

impl Bench {
    fn new(name: &'static str) -> Self {
        let recipe = Recipe::new("link_end", "link_bench")
            .blocks(&["abi", "common", "link"])
            .source("link/bench/link_bench.sv");
        let dut = Dut::start(&recipe);
        let pin = |name: &str| dut.pin(name);
        let pins = Pins {
            core_clk: pin("core_clk_i"),
            mac_clk: pin("mac_clk_i"),
            rst: pin("rst_ni"),
            key: pin("key_i"),
            valid_in: pin("valid_i"),
            vc_in: pin("vc_i"),
            phit_in: dut.lanes("phit_i", 7),
            credit_in: pin("credit_i"),
            credit_vc_in: pin("credit_vc_i"),
            valid_out: pin("valid_o"),
            vc_out: pin("vc_o"),
            phit_out: dut.lanes("phit_o", 7),
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
        let mut bench = Self {
            dut,
            pins,
            rng: Random::new(name),
            now: 0,
            next: [1_000, 1_337],
            period: [CORE, MAC],
            high: [false; 2],
            out: Way::default(),
            back: Way::default(),
            load: [0.0; 2],
            other: [0.0; 2],
            leaving: Vec::new(),
            closed: 0,
            frames: 0,
            left: Frame::default(),
            line: true,
            free_at: 0,
            taker: Sink::new(Pace::Always),
            taken: false,
            coming: VecDeque::new(),
            peer: Peer::default(),
            giver: Sink::new(Pace::Always),
            other_free_at: 0,
            loopback: None,
            delayed: VecDeque::new(),
            spoil: None,
            spoil_again: None,
            other_credits: [256; CHANNELS],
            limited: false,
            deaf: false,
            silent: false,
            tx_was_inside: false,
            channel: None,
        };
        for pin in [
            bench.pins.core_clk,
            bench.pins.mac_clk,
            bench.pins.rst,
            bench.pins.key,
            bench.pins.mac_ready,
        ] {
            bench.dut.set(pin, 0, 0);
        }
        bench.cycles(10);
        bench.dut.set(bench.pins.rst, 0, 1);
        bench.dut.set(bench.pins.key, 0, KEY.into());
        bench.dut.set(bench.pins.mac_ready, 0, 1);
        bench
    }

    /// A bench with the link up.
    fn up(name: &'static str) -> Self {
        let mut bench = Self::new(name);
        bench.dut.set(bench.pins.aligned, 0, 1);
        bench.agree();
        bench
    }

    /// Waits until both ends have agreed.
    fn agree(&mut self) {
        let limit = self.now + 2_000 * CORE;
        while !(self.status("open_o") && (self.peer.open || self.loopback.is_some())) {
            self.edge();
            assert!(self.now < limit, "no agreement");
        }
        assert!(self.status("up_o"), "the link does not come up");
    }

    fn status(&self, name: &str) -> bool {
        self.dut.get(self.dut.pin(name), 0) == 1
    }

    /// The kept flags that are set.
    fn kept(&self) -> Vec<&'static str> {
        ["stale_o", "fell_o", "foreign_o", "overrun_o"]
            .into_iter()
            .filter(|name| self.status(name))
            .collect()
    }

    /// The counts that are not zero.
    fn counts(&self) -> Vec<(&'static str, u64)> {
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
        .map(|name| (name, self.dut.get(self.dut.pin(name), 0)))
        .filter(|&(_, count)| count != 0)
        .collect()
    }

    fn cycles(&mut self, count: u64) {
        let end = self.now + count * CORE;
        while self.now < end {
            self.edge();
        }
    }

    fn edge(&mut self) {
        self.now = self.next[0].min(self.next[1]);
        let mut rising = [false; 2];
        for (at, clock) in [self.pins.core_clk, self.pins.mac_clk]
            .into_iter()
            .enumerate()
        {
            if self.next[at] == self.now {
                self.high[at] = !self.high[at];
                rising[at] = self.high[at];
                self.dut.set(clock, 0, u64::from(self.high[at]));
                let half = self.period[at] / 2;
                self.next[at] += if self.high[at] {
                    half
                } else {
                    self.period[at] - half
                };
            }
        }
        // The levels before an edge determine the transfers at this edge.
        if rising[0] {
            self.core_sees();
        }
        if rising[1] {
            self.mac_sees();
        }
        self.dut.settle();
        if rising[0] {
            self.core_drives();
        }
        if rising[1] {
            self.mac_drives();
        }
        if rising != [false; 2] {
            self.dut.settle();
        }
    }

    fn core_sees(&mut self) {
        let get = |pin: Pin, lane| self.dut.get(pin, lane);
        if get(self.pins.rst, 0) == 0 {
            // The switch is in reset, too.
            return;
        }
        if get(self.pins.valid_out, 0) == 1 {
            let phit = Phit {
                vc: get(self.pins.vc_out, 0) as u8,
                lanes: std::array::from_fn(|l| get(self.pins.phit_out, l)),
            };
            let way = if self.loopback.is_some() {
                &mut self.out
            } else {
                &mut self.back
            };
            if !self.deaf {
                assert_eq!(
                    Some(phit.clone()),
                    way.phits.pop_front(),
                    "a phit that was not sent, at {} ps",
                    self.now
                );
                if let Some(sent) = way.times.pop_front() {
                    way.worst = way.worst.max(self.now - sent);
                }
            }
            way.moved += 1;
            if phit.vc < 6 {
                // The switch accepts the phit at once, and returns its credit.
                self.other_credits[usize::from(phit.vc)] += 1;
            }
        }
        if get(self.pins.credit_out, 0) == 1 {
            let vc = get(self.pins.credit_vc_out, 0) as usize;
            let way = if self.loopback.is_some() {
                &mut self.out
            } else {
                &mut self.back
            };
            if !self.deaf {
                assert!(way.credits[vc] > 0, "unexpected credit");
                way.credits[vc] -= 1;
            }
        }
    }

    fn core_drives(&mut self) {
        let send = self.rng.random_bool(self.load[0]);
        let phit = Phit::random(&mut self.rng);
        self.dut.set(self.pins.valid_in, 0, u64::from(send));
        self.dut.set(self.pins.vc_in, 0, u64::from(phit.vc));
        for (lane, &value) in phit.lanes.iter().enumerate() {
            self.dut.set(self.pins.phit_in, lane, value);
        }
        let credit = self.rng.random_bool(self.load[1]);
        let any = self.rng.random_range(0..CHANNELS);
        let vc = self.channel.unwrap_or(any);
        self.dut.set(self.pins.credit_in, 0, u64::from(credit));
        self.dut.set(self.pins.credit_vc_in, 0, vc as u64);
        if !self.deaf {
            if send {
                self.out.phits.push_back(phit);
                self.out.times.push_back(self.now);
            }
            self.out.credits[vc] += u64::from(credit);
        }
    }

    fn mac_sees(&mut self) {
        if self.dut.get(self.pins.mac_ready, 0) == 0 {
            // A controller in reset drops its frame.
            self.leaving.clear();
            self.tx_was_inside = false;
            return;
        }
        let valid = self.dut.get(self.pins.tx_valid, 0) == 1;
        assert!(valid || !self.tx_was_inside, "a gap within a frame");
        if !(valid && self.taken) {
            return;
        }
        let word: Word = std::array::from_fn(|l| self.dut.get(self.pins.tx_data, l));
        let last = self.dut.get(self.pins.tx_last, 0) == 1;
        self.tx_was_inside = !last;
        let start = self.free_at.max(self.now);
        self.free_at = start + 64 * BYTE + if last { OVERHEAD * BYTE } else { 0 };
        if let Some(delay) = self.loopback {
            self.delayed.push_back((self.now + delay, word, last));
        }
        self.leaving.push(word);
        if !last {
            return;
        }
        self.frames += 1;
        let words = std::mem::take(&mut self.leaving);
        if self.dut.get(self.pins.tx_error, 0) == 1 {
            self.closed += 1;
            return;
        }
        let frame = Frame::of(&words);
        self.left = frame.clone();
        if self.loopback.is_some() || self.silent {
            return;
        }
        let peer = &mut self.peer;
        let me = frame.receiver == Some(OTHER);
        if peer.known != Some(frame.sender) || !peer.open {
            peer.known = Some(frame.sender);
            peer.open = me;
            peer.answer = true;
        }
        if !me {
            return;
        }
        peer.answer |= !frame.open;
        if frame.round != peer.seen {
            (peer.seen, peer.asked) = (frame.round, false);
        }
        while let Some(first) = peer.window.front()
            && (first.word.wrapping_sub(frame.acknowledged) as i16) < 0
        {
            peer.window.pop_front();
        }
        if frame.again && frame.again_round == peer.round && !peer.window.is_empty() {
            peer.again = peer.window.clone();
            peer.round = peer.round.wrapping_add(1);
            peer.replays += 1;
        }
        let ahead = frame.word.wrapping_sub(peer.expects) as i16;
        if ahead > 0 {
            peer.asks |= !peer.asked;
            peer.asked = true;
            return;
        }
        if !frame.numbered {
            assert_eq!(frame.credits, [0; CHANNELS]);
            assert_eq!(words.len(), 1);
            return;
        }
        if ahead < 0 {
            peer.repeated += 1;
            peer.answer = true;
            return;
        }
        peer.expects = peer.expects.wrapping_add(words.len() as u16);
        if self.deaf {
            return;
        }
        for (c, credits) in frame.credits.into_iter().enumerate() {
            assert!(
                self.out.credits[c] >= u64::from(credits),
                "unexpected credits"
            );
            self.out.credits[c] -= u64::from(credits);
        }
        for phit in frame.slots.into_iter().flatten() {
            assert_eq!(
                Some(phit),
                self.out.phits.pop_front(),
                "a phit that was not sent"
            );
            let sent = self.out.times.pop_front().unwrap_or(self.now);
            self.out.worst = self.out.worst.max(self.now - sent);
            self.out.moved += 1;
        }
    }

    fn mac_drives(&mut self) {
        // The controller buffers a few words ahead of the line.
        self.taken = if self.line {
            self.free_at < self.now + 4 * 64 * BYTE
        } else {
            self.taker.ready(&mut *self.rng)
        };
        self.dut.set(self.pins.tx_taken, 0, u64::from(self.taken));
        let word = if self.loopback.is_some() {
            match self.delayed.front() {
                Some(&(due, ..)) if due <= self.now => self
                    .delayed
                    .pop_front()
                    .map(|(_, word, last)| (word, last, false)),
                _ => None,
            }
        } else {
            if self.coming.len() < 4 {
                self.other_end_sends();
            }
            if self.dut.get(self.pins.mac_ready, 0) == 0 {
                // A controller in reset receives nothing.
                self.coming.clear();
            }
            let willing = self.giver.ready(&mut *self.rng) && self.other_free_at <= self.now;
            let word = if willing {
                self.coming.pop_front()
            } else {
                None
            };
            // At 100 Gb/s on average. Delayed words arrive in a burst.
            if let Some((_, last, _)) = word {
                let overhead = if last { OVERHEAD * BYTE } else { 0 };
                let burst = 8 * 64 * BYTE;
                self.other_free_at =
                    self.other_free_at.max(self.now.saturating_sub(burst)) + 64 * BYTE + overhead;
            }
            word
        };
        self.dut
            .set(self.pins.rx_valid, 0, u64::from(word.is_some()));
        let (word, last, error) = word.unwrap_or_else(|| {
            (
                std::array::from_fn(|_| self.rng.random()),
                self.rng.random(),
                self.rng.random(),
            )
        });
        for (lane, value) in word.into_iter().enumerate() {
            self.dut.set(self.pins.rx_data, lane, value);
        }
        self.dut.set(self.pins.rx_last, 0, u64::from(last));
        self.dut.set(self.pins.rx_error, 0, u64::from(error));
    }

    /// The other end may start a frame.
    fn other_end_sends(&mut self) {
        if self.silent {
            return;
        }
        let rng = &mut self.rng;
        let full = self.other[0] == 1.0;
        let groups = if full { 8 } else { rng.random_range(0..=8) };
        let quiet = !full && self.other == [0.0; 2] && self.spoil.is_none();
        let repeats = !self.peer.again.is_empty();
        let crowded = self.peer.window.len() >= 40;
        if !self.peer.open || (!repeats && (quiet || crowded)) {
            let tells = self.peer.told != self.peer.expects;
            if self.peer.answer || self.peer.asks || tells {
                let frame = Frame {
                    word: self.peer.next,
                    ..Frame::default()
                };
                self.give(frame, None);
            }
            return;
        }
        if let Some(frame) = self.peer.again.pop_front() {
            let spoil = self.spoil_again.take();
            self.give(frame, spoil);
            return;
        }
        let mut frame = Frame {
            numbered: true,
            word: self.peer.next,
            ..Frame::default()
        };
        for _ in 0..3 * groups {
            let mut phit = Phit::random(rng);
            if full && phit.vc == 7 {
                phit.vc = 0;
            }
            let vc = usize::from(phit.vc);
            let may = !self.limited || vc == 7 || self.other_credits[vc] > 0;
            let slot = (may && rng.random_bool(self.other[0])).then_some(phit);
            if slot.is_some() && self.limited && vc < 6 {
                self.other_credits[vc] -= 1;
            }
            frame.slots.push(slot);
        }
        for credits in &mut frame.credits {
            if rng.random_bool(self.other[1]) {
                *credits = rng.random_range(0..8);
            }
        }
        self.peer.next = self
            .peer
            .next
            .wrapping_add(1 + 2 * (frame.slots.len() / 3) as u16);
        self.peer.window.push_back(frame.clone());
        if !self.deaf {
            for (c, credits) in frame.credits.into_iter().enumerate() {
                self.back.credits[c] += u64::from(credits);
            }
            self.back
                .phits
                .extend(frame.slots.iter().flatten().cloned());
        }
        let spoil = self.spoil.take();
        self.give(frame, spoil);
    }

    /// Sends a frame, with the latest acknowledgement.
    fn give(&mut self, mut frame: Frame, spoil: Option<Spoil>) {
        let peer = &mut self.peer;
        frame.acknowledged = peer.expects;
        (frame.sender, frame.receiver) = (OTHER, peer.known);
        (frame.open, frame.round) = (peer.open, peer.round);
        let late = u8::from(std::mem::take(&mut peer.late));
        (frame.again, frame.again_round) = (peer.asks, peer.seen.wrapping_sub(late));
        peer.told = peer.expects;
        (peer.answer, peer.asks) = (false, false);
        let mut words = frame.words();
        let mut error = false;
        match spoil {
            None => {}
            Some(Spoil::Checksum) => error = true,
            Some(Spoil::Missing) => words.clear(),
            Some(Spoil::Hash) => words[0][2] ^= 1 << 7,
            Some(Spoil::Shape) => words[0][3] ^= 1 << 9,
            Some(Spoil::EtherType) => words[0][1] ^= 1 << 33,
            Some(Spoil::Layout) => words[0][1] ^= 1 << 48,
            Some(Spoil::Bit(lane, bit)) => words[0][lane] ^= 1 << bit,
            Some(Spoil::Cut) => {
                if words.len() == 1 {
                    words.push(words[0]);
                } else {
                    words.pop();
                }
            }
        }
        let count = words.len();
        for (at, word) in words.into_iter().enumerate() {
            self.coming
                .push_back((word, at + 1 == count, error && at + 1 == count));
        }
    }

    /// Waits until all traffic has arrived, and checks that it is complete.
    fn drain(&mut self) {
        self.load = [0.0; 2];
        self.other = [0.0; 2];
        self.cycles(3_000);
        let kept = self.kept();
        assert_eq!(
            self.out.phits.len(),
            0,
            "phits did not leave; {kept:?}, {} words come",
            self.coming.len()
        );
        assert_eq!(self.out.credits, [0; CHANNELS], "credits did not leave");
        assert_eq!(
            self.back.phits.len(),
            0,
            "phits did not come; {kept:?}, {} words come",
            self.coming.len()
        );
        assert_eq!(self.back.credits, [0; CHANNELS], "credits did not come");
    }

    /// Resets the board and the other end, and begins another run.
    fn restart(&mut self) {
        let before = self.peer.known;
        self.deaf = true;
        self.load = [0.0; 2];
        self.other = [0.0; 2];
        self.spoil = None;
        self.coming.clear();
        self.dut.set(self.pins.key, 0, 0);
        self.dut.set(self.pins.rst, 0, 0);
        self.cycles(16);
        self.dut.set(self.pins.rst, 0, 1);
        self.cycles(100);
        self.coming.clear();
        self.out = Way::default();
        self.back = Way::default();
        self.peer = Peer::default();
        self.other_credits = [256; CHANNELS];
        self.dut.set(self.pins.key, 0, KEY.into());
        self.agree();
        // An epoch counts the resets, modulo 256.
        let resets = |epoch: Option<u16>| epoch.map(|epoch| epoch >> 8);
        let next = resets(before).map(|resets| (resets + 1) % 256);
        assert_eq!(resets(self.peer.known), next, "the epoch after a reset");
        self.deaf = false;
    }
}

const PACES: [Pace; 4] = [
    Pace::Always,
    Pace::Chance(0.7),
    Pace::Chance(0.2),
    Pace::Bursts { on: 30, off: 30 },
];

/// Random loads in both directions, with a wire at 100 Gb/s and with a wire at a random pace.
#[test]
fn link_random() {
    let mut bench = Bench::up("link_random");
    for round in 0..soak(40) {
        bench.line = bench.rng.random();
        bench.period = [
            CORE + bench.rng.random_range(0..40),
            MAC + bench.rng.random_range(0..3),
        ];
        let pace = |rng: &mut Random| PACES[rng.random_range(0..PACES.len())];
        // A slow wire has less capacity.
        let most = if bench.line { 1.0 } else { 0.15 };
        let taker = if bench.line {
            Pace::Always
        } else {
            pace(&mut bench.rng)
        };
        bench.taker.set_pace(taker);
        let giver = pace(&mut bench.rng);
        bench.giver.set_pace(giver);
        for way in 0..2 {
            bench.load[way] = bench.rng.random_range(0.0..=most);
            bench.other[way] = bench.rng.random_range(0.0..0.95);
        }
        if round % 5 == 0 {
            bench.load[(round / 5 % 2) as usize] = 0.0;
        }
        // The other end sends at most the core's rate.
        bench.limited = true;
        bench.cycles(400);
        bench.drain();
        assert!(
            bench.kept().is_empty(),
            "{:?} at {} ps",
            bench.kept(),
            bench.now
        );
    }
    assert!(
        bench.out.moved > 3_000 && bench.back.moved > 3_000,
        "{} and {}",
        bench.out.moved,
        bench.back.moved
    );
}

/// A phit and a credit in every cycle in both directions for a long time, with the highest ratio of
/// core clock to wire clock.
#[test]
fn link_full_rate() {
    let mut bench = Bench::up("link_full_rate");
    bench.period = [CORE - 2, MAC + 1];
    bench.load = [1.0, 1.0];
    bench.cycles(soak(20_000));
    assert!(bench.kept().is_empty(), "{:?}", bench.kept());
    let waiting = bench.out.phits.len();
    assert!(waiting < 80, "{waiting} phits wait");
    bench.drain();
    assert!(bench.out.moved >= soak(20_000) - 10, "{}", bench.out.moved);
    // A phit in a frame of 24 waits at most for the others of its frame, and for the clock
    // crossing.
    assert!(
        bench.out.worst < 300_000,
        "a phit took {} ps to the wire",
        bench.out.worst
    );
    println!(
        "at the full rate a phit is on the wire {} ps after the core gave it, {} frames",
        bench.out.worst, bench.frames
    );
}

/// The wire has a margin of 7 %. A core clock 5 % faster loses no phit. With a core clock 12 %
/// faster, phits wait until their room is full; a switch would wait for credits.
#[test]
fn link_margin() {
    for (faster, kept) in [(105, [].as_slice()), (112, ["overrun_o"].as_slice())] {
        let mut bench = Bench::up("link_margin");
        bench.deaf = !kept.is_empty();
        bench.period = [CORE * 100 / faster, MAC];
        bench.load = [1.0, 1.0];
        bench.cycles(soak(60_000));
        assert_eq!(bench.kept(), kept, "{faster} %");
    }
}

/// The wire stops for a while, and the credits of one channel come in every cycle: more than a
/// frame's field can hold. No credit is lost.
#[test]
fn link_stall() {
    let mut bench = Bench::up("link_stall");
    for round in 0..soak(30) {
        bench.channel = Some(round as usize % CHANNELS);
        bench.line = false;
        bench.taker.set_pace(Pace::Never);
        bench.load = [[0.0, 0.2][round as usize % 2], 1.0];
        bench.cycles(55);
        bench.taker.set_pace(Pace::Always);
        bench.line = true;
        bench.load = [0.0, 0.5];
        bench.cycles(20);
        bench.drain();
        assert!(bench.kept().is_empty(), "{:?}", bench.kept());
    }
}

/// The sender's clock is faster than this core's clock. The core accepts one phit per cycle, and
/// the surplus waits, up to all credits.
#[test]
fn link_slow_core() {
    let mut bench = Bench::up("link_slow_core");
    bench.period = [CORE * 13 / 10, MAC];
    bench.other = [1.0, 0.5];
    bench.limited = true;
    bench.cycles(soak(12_000));
    assert!(bench.kept().is_empty(), "{:?}", bench.kept());
    // All channels' credits were in use.
    let moved = bench.back.moved;
    bench.other = [0.0; 2];
    bench.cycles(4_000);
    assert!(
        bench.back.moved - moved > 1_000,
        "only {} phits waited",
        bench.back.moved - moved
    );
    bench.drain();
}

/// More phits come than the core has credits for. The frame that finds no room is asked for, though no
/// later frame shows that it is missing, and all phits arrive once there is room.
#[test]
fn link_overrun() {
    for slower in [15, 20, 25, 30] {
        let mut bench = Bench::up("link_overrun");
        bench.period = [CORE * slower / 10, MAC];
        bench.other = [1.0, 0.5];
        while !bench.status("overrun_o") {
            bench.edge();
        }
        bench.other = [0.0; 2];
        // The core takes all that wait, a phit in each of its cycles.
        bench.cycles(250 * slower);
        bench.drain();
        assert_eq!(bench.kept(), ["overrun_o"]);
        assert!(bench.peer.replays > 0);
    }
}

/// Latency of both halves of the link end, over a wire without delay: 20 and 36 cycles, and at most 4 more.
#[test]
fn link_latency() {
    let mut bench = Bench::new("link_latency");
    bench.loopback = Some(0);
    bench.dut.set(bench.pins.aligned, 0, 1);
    bench.agree();
    for _ in 0..200 {
        bench.load = [1.0, 0.0];
        bench.cycles(1);
        bench.load = [0.0; 2];
        let idle = bench.rng.random_range(60..80);
        bench.cycles(idle);
    }
    let alone = bench.out.worst;
    bench.out.worst = 0;
    bench.load = [1.0, 1.0];
    bench.cycles(2_000);
    bench.drain();
    let loaded = bench.out.worst;
    println!("a phit alone: {alone} ps, at the full rate: {loaded} ps");
    assert!(alone <= 24 * CORE, "a phit alone takes {alone} ps");
    assert!(
        loaded <= 40 * CORE,
        "at the full rate a phit takes {loaded} ps"
    );
}

/// Each kind of damaged frame is dropped, counted, and sent again: all phits and credits arrive.
#[test]
fn link_spoilt_frames() {
    let mut bench = Bench::up("link_spoilt_frames");
    let all = [
        (Spoil::Checksum, "damaged_o", false),
        (Spoil::Missing, "early_o", false),
        (Spoil::Hash, "strange_o", true),
        (Spoil::Shape, "strange_o", true),
        (Spoil::EtherType, "strange_o", true),
        (Spoil::Layout, "strange_o", true),
        (Spoil::Cut, "damaged_o", false),
    ];
    for (spoil, count, is_foreign) in all.into_iter().cycle().take(28) {
        let giver = PACES[bench.rng.random_range(0..PACES.len())];
        bench.giver.set_pace(giver);
        bench.load = [0.5, 0.5];
        bench.other = [0.5, 0.5];
        bench.limited = true;
        bench.cycles(300);
        let replays = bench.peer.replays;
        bench.spoil = Some(spoil);
        while bench.spoil.is_some() {
            bench.edge();
        }
        bench.cycles(1_000);
        bench.drain();
        let counts = bench.counts();
        assert!(
            counts.contains(&(count, 1)) || spoil == Spoil::Missing,
            "{spoil:?}: {counts:?}"
        );
        let others = |&(name, _): &(&str, u64)| name == count || name == "early_o";
        assert!(counts.iter().all(others), "{spoil:?}: {counts:?}");
        assert_eq!(
            bench.peer.replays,
            replays + 1,
            "{spoil:?}: it is asked for once"
        );
        let foreign: &[&str] = if is_foreign { &["foreign_o"] } else { &[] };
        assert_eq!(bench.kept(), foreign, "{spoil:?}");
        bench.restart();
        assert_eq!(bench.kept(), [""; 0], "{spoil:?}");
        assert_eq!(bench.counts(), [], "{spoil:?}");
        bench.giver.set_pace(Pace::Always);
    }
}

/// A frame that differs in any bit of the addresses, EtherType, layout, ABI or shape is foreign: it is
/// dropped and counted, and asked for once.
#[test]
fn link_foreign_frames() {
    let mut bench = Bench::up("link_foreign_frames");
    bench.limited = true;
    // Bytes 0 to 14, 16 to 19 and 24 to 27, in lanes of 8.
    let fields = [(0, 0..64), (1, 0..56), (2, 0..32), (3, 0..32)];
    let bits = fields.map(|(lane, bits)| bits.map(move |bit| (lane, bit)));
    for (at, (lane, bit)) in (1..).zip(bits.into_iter().flatten()) {
        let replays = bench.peer.replays;
        bench.other = [0.3, 0.3];
        bench.spoil = Some(Spoil::Bit(lane, bit));
        while bench.spoil.is_some() {
            bench.edge();
        }
        // A later frame shows that one is missing.
        bench.cycles(30);
        bench.other = [0.0; 2];
        bench.cycles(150);
        assert_eq!(bench.peer.replays, replays + 1, "lane {lane}, bit {bit}");
        let strange = bench.dut.get(bench.dut.pin("strange_o"), 0);
        assert_eq!(strange, at, "lane {lane}, bit {bit}");
        assert_eq!(bench.kept(), ["foreign_o"], "lane {lane}, bit {bit}");
    }
    bench.drain();
}

/// A frame that is sent again is lost as well: it is asked for again, in the new round.
#[test]
fn link_lost_again() {
    let mut bench = Bench::up("link_lost_again");
    bench.limited = true;
    let kinds = [Spoil::Missing, Spoil::Checksum, Spoil::Bit(2, 3)];
    for (first, second) in kinds
        .into_iter()
        .flat_map(|first| kinds.map(|second| (first, second)))
    {
        let replays = bench.peer.replays;
        bench.other = [0.4, 0.4];
        bench.spoil = Some(first);
        bench.spoil_again = Some(second);
        while bench.spoil.is_some() || bench.spoil_again.is_some() {
            bench.edge();
        }
        bench.cycles(60);
        bench.drain();
        assert_eq!(
            bench.peer.replays,
            replays + 2,
            "{first:?}, then {second:?}"
        );
    }
}

/// A damaged frame is asked for at once, though no later frame shows that one is missing. The other end has no timer here.
#[test]
fn link_last_frame_damaged() {
    let mut bench = Bench::up("link_last_frame_damaged");
    bench.limited = true;
    for spoil in [Spoil::Checksum, Spoil::Cut].into_iter().cycle().take(8) {
        let replays = bench.peer.replays;
        bench.other = [0.4, 0.4];
        bench.spoil = Some(spoil);
        while bench.spoil.is_some() {
            bench.edge();
        }
        bench.other = [0.0; 2];
        bench.cycles(100);
        assert_eq!(bench.peer.replays, replays + 1, "{spoil:?}");
        bench.drain();
    }
}

/// A replay leaves out the words that are acknowledged while it runs.
#[test]
fn link_acknowledged_in_a_replay() {
    let mut bench = Bench::up("link_acknowledged_in_a_replay");
    bench.silent = true;
    bench.load = [1.0, 0.0];
    bench.cycles(300);
    bench.load = [0.0; 2];
    bench.cycles(100);
    let last = &bench.left;
    let all = last.word.wrapping_add(last.words().len() as u16);
    let (frames, round) = (bench.frames, bench.peer.seen);
    bench.strange(|frame| (frame.again, frame.again_round) = (true, round));
    bench.cycles(60);
    assert!(bench.frames - frames > 1, "a replay");
    bench.strange(|frame| frame.acknowledged = all);
    // The frame that is under way, and those of the controller's buffer.
    bench.cycles(40);
    let frames = bench.frames;
    bench.cycles(300);
    assert_eq!(bench.frames, frames, "frames that were acknowledged");
}

/// An acknowledgement of words that have not been sent has no effect: a replay has all words that are due.
#[test]
fn link_acknowledged_ahead() {
    let mut bench = Bench::up("link_acknowledged_ahead");
    bench.limited = true;
    // The words of a frame have numbers modulo 2^16, and the replay buffer has 512 words.
    for ahead in [1 << 7, 1 << 8, 1 << 9, 1 << 10, 1 << 15]
        .map(|far| [far + 1, far + 4])
        .concat()
    {
        // Frames leave that the other end does not hear.
        bench.silent = true;
        bench.load = [0.9, 0.3];
        bench.cycles(40);
        bench.load = [0.0; 2];
        bench.strange(|frame| frame.acknowledged = frame.acknowledged.wrapping_add(ahead));
        bench.cycles(40);
        bench.silent = false;
        bench.drain();
        assert!(bench.kept().is_empty(), "{ahead}: {:?}", bench.kept());
    }
    assert!(
        bench.counts().iter().any(|&(name, _)| name == "timeouts_o"),
        "{:?}",
        bench.counts()
    );
}

impl Bench {
    /// Sends a frame without a number to the link end, with a change.
    fn strange(&mut self, change: impl FnOnce(&mut Frame)) {
        let mut frame = Frame {
            open: true,
            word: self.peer.next,
            acknowledged: self.peer.expects,
            sender: OTHER,
            receiver: self.peer.known,
            round: self.peer.round,
            again_round: self.peer.seen.wrapping_sub(1),
            ..Frame::default()
        };
        change(&mut frame);
        let words = frame.words();
        self.coming.push_back((words[0], true, false));
    }
}

/// Both ends have agreed. A frame with another epoch of either end, in any bit, or without the
/// receiver's, ends the session.
#[test]
fn link_other_epochs() {
    let mut bench = Bench::up("link_other_epochs");
    bench.strange(|_| ());
    bench.cycles(60);
    assert_eq!(bench.kept(), [""; 0]);
    assert_eq!(bench.counts(), []);
    for bit in 0..33 {
        bench.strange(|frame| match bit {
            0..16 => frame.sender ^= 1 << bit,
            16..32 => frame.receiver = frame.receiver.map(|epoch| epoch ^ 1 << (bit - 16)),
            _ => frame.receiver = None,
        });
        bench.cycles(60);
        assert_eq!(bench.kept(), ["stale_o"], "bit {bit}");
        assert!(!bench.status("open_o"), "bit {bit}");
        let strange: &[(&str, u64)] = if bit < 32 { &[("strange_o", 1)] } else { &[] };
        assert_eq!(bench.counts(), strange, "bit {bit}");
        bench.restart();
    }
}

/// Before the ends agree, a greeting with another key, in any bit, has no effect. One with the key is
/// answered at once.
#[test]
fn link_other_keys() {
    let mut bench = Bench::up("link_other_keys");
    bench.deaf = true;
    bench.silent = true;
    bench.dut.set(bench.pins.key, 0, 0);
    bench.dut.set(bench.pins.rst, 0, 0);
    bench.cycles(16);
    bench.dut.set(bench.pins.rst, 0, 1);
    bench.cycles(100);
    let frames = bench.frames;
    bench.cycles(1_500);
    assert_eq!(bench.frames, frames, "a frame before there is a key");
    bench.dut.set(bench.pins.key, 0, KEY.into());
    for bit in 0..8 {
        let greet = |frame: &mut Frame| {
            (frame.sender, frame.receiver) = (OTHER ^ 1 << bit, None);
            frame.open = false;
        };
        bench.strange(greet);
        let frames = bench.frames;
        bench.cycles(1_000);
        // The link end greets every 1024 cycles of its clock.
        assert!((1..=3).contains(&(bench.frames - frames)), "bit {bit}");
        assert_eq!(bench.left.receiver, None, "bit {bit}");
        assert!(!bench.left.open && !bench.left.numbered, "bit {bit}");
    }
    bench.strange(|frame| (frame.receiver, frame.open) = (None, false));
    bench.cycles(60);
    assert_eq!(bench.left.receiver, Some(OTHER));
    assert!(!bench.left.open && !bench.status("open_o"));
    let own = bench.left.sender;
    assert_eq!(own & 0xff, KEY);
    bench.strange(|frame| (frame.receiver, frame.open) = (Some(own), false));
    bench.cycles(60);
    assert!(bench.left.open && bench.status("open_o"));
    // An end that is open answers one that is not, and no other.
    for (open, answers) in [(true, 0), (false, 1)] {
        let frames = bench.frames;
        bench.strange(|frame| (frame.receiver, frame.open) = (Some(own), open));
        bench.cycles(60);
        assert_eq!(bench.frames - frames, answers, "open: {open}");
    }
}

/// The other end asks for a frame: it and all later ones come again, once for each request.
#[test]
fn link_asked_again() {
    let mut bench = Bench::up("link_asked_again");
    for _ in 0..soak(20) {
        bench.load = [0.9, 0.3];
        bench.other = [0.2, 0.2];
        bench.limited = true;
        let cycles = bench.rng.random_range(100..600);
        bench.cycles(cycles);
        // A request without a loss: all frames that are not acknowledged come again.
        bench.peer.asks = true;
        bench.cycles(60);
        // A late request, of the round before, has no effect.
        bench.peer.asks = true;
        bench.peer.late = true;
    }
    bench.drain();
    let replays = bench.counts();
    assert!(
        replays.len() == 1
            && replays[0].0 == "replays_o"
            && (soak(10)..=soak(20)).contains(&replays[0].1),
        "{replays:?}"
    );
    assert!(bench.peer.repeated > 0);
    // The acknowledgement was lost: the other end repeats a frame, and gets another one.
    let frames = bench.frames;
    let repeated = Frame {
        numbered: true,
        word: bench.peer.next.wrapping_sub(1),
        ..Frame::default()
    };
    bench.give(repeated, None);
    bench.cycles(150);
    assert_eq!(bench.frames, frames + 1, "an acknowledgement");
    assert!(bench.kept().is_empty(), "{:?}", bench.kept());
}

/// Start-up: the end sends faults until the receiver is aligned. The link is up after a period
/// without faults. Earlier traffic waits.
#[test]
fn link_bringup() {
    let mut bench = Bench::new("link_bringup");
    let is = |bench: &Bench, name: &str| bench.status(name);
    bench.cycles(100);
    assert!(
        is(&bench, "mac_send_fault_o") && !is(&bench, "mac_tx_enable_o") && !is(&bench, "up_o")
    );
    assert!(bench.kept().is_empty());
    bench.dut.set(bench.pins.aligned, 0, 1);
    bench.dut.set(bench.pins.fault, 0, 1);
    bench.cycles(10);
    assert!(!is(&bench, "mac_send_fault_o") && is(&bench, "mac_tx_enable_o"));
    assert!(is(&bench, "aligned_o") && is(&bench, "remote_fault_o"));
    bench.load = [0.7, 0.7];
    bench.cycles(4 * QUIET);
    assert!(!is(&bench, "up_o"), "the other end is not ready");
    bench.dut.set(bench.pins.fault, 0, 0);
    bench.cycles(QUIET / 2);
    assert!(!is(&bench, "up_o"), "not quiet for long enough");
    assert_eq!(bench.frames, 0, "frames before the link is up");
    bench.agree();
    bench.other = [0.7, 0.7];
    bench.limited = true;
    bench.cycles(400);
    bench.drain();
    assert!(bench.kept().is_empty(), "{:?}", bench.kept());
}

/// A lane is lost for a while, the other end is reset, or the controller is reset: the link goes
/// down, comes up again, and loses nothing.
#[test]
fn link_falls() {
    let mut bench = Bench::up("link_falls");
    for round in 0..soak(30) {
        bench.load = [0.8, 0.5];
        bench.other = [0.5, 0.5];
        bench.limited = true;
        let before = bench.rng.random_range(50..300);
        bench.cycles(before);
        let (pin, level) = match round % 3 {
            0 => (bench.pins.aligned, 0),
            1 => (bench.pins.fault, 1),
            _ => (bench.pins.mac_ready, 0),
        };
        bench.dut.set(pin, 0, level);
        if round % 6 == 5 {
            // The controller's clock also stops.
            bench.next[1] += 100 * CORE;
        }
        let away = bench.rng.random_range(12..80);
        bench.cycles(away);
        assert!(bench.status("fell_o"), "{:?}", bench.kept());
        assert!(!bench.status("up_o"));
        if round % 3 != 2 && away > 30 {
            let frames = bench.frames;
            bench.cycles(40);
            assert_eq!(bench.frames, frames, "a link that is down sends");
        }
        bench.dut.set(pin, 0, 1 - level);
        bench.cycles(200);
        assert!(bench.status("mac_tx_enable_o") && bench.status("up_o"));
        // The other end goes back, too.
        bench.peer.again = bench.peer.window.clone();
        bench.peer.round = bench.peer.round.wrapping_add(1);
        bench.other = [0.5, 0.5];
        bench.cycles(100);
        bench.drain();
        assert_eq!(bench.kept(), ["fell_o"], "{round}");
    }
    // The controller's clock did not run during some of its resets.
    let counts = bench.counts();
    let falls = counts.iter().find(|&&(name, _)| name == "falls_o");
    assert!(
        falls.is_some_and(|&(_, falls)| falls >= soak(25)),
        "{counts:?}"
    );
}

impl Bench {
    /// Waits until a frame has left, for `most` cycles of the controller's clock. Returns the number of cycles.
    fn next_frame(&mut self, most: u64) -> u64 {
        let (begin, frames) = (self.now, self.frames);
        while self.frames == frames {
            self.edge();
            assert!(self.now < begin + most * MAC, "no frame in {most} cycles");
        }
        (self.now - begin) / MAC
    }
}

/// The times of the link end, in cycles of the controller's clock, are those of its parameters.
#[test]
fn link_times() {
    let mut bench = Bench::up("link_times");
    bench.limited = true;
    // An acknowledgement waits 32 cycles for a frame.
    for _ in 0..8 {
        bench.other = [0.4, 0.4];
        while bench.coming.is_empty() {
            bench.edge();
        }
        bench.other = [0.0; 2];
        while !bench.coming.is_empty() {
            bench.edge();
        }
        let waited = bench.next_frame(100);
        assert!(
            (32..60).contains(&waited),
            "an acknowledgement after {waited} cycles"
        );
        bench.drain();
    }
    // Without an acknowledgement, frames are sent again after 2,048 cycles.
    bench.silent = true;
    bench.load = [0.9, 0.0];
    bench.cycles(10);
    bench.load = [0.0; 2];
    bench.cycles(60);
    bench.next_frame(2_100);
    // All frames of the replay leave.
    bench.cycles(60);
    let waited = bench.next_frame(2_100) + 60 * CORE / MAC;
    assert!(
        (2_040..2_080).contains(&waited),
        "a replay after {waited} cycles"
    );
    bench.silent = false;
    bench.drain();
    // Greetings are 1,024 cycles apart.
    bench.deaf = true;
    bench.silent = true;
    bench.dut.set(bench.pins.rst, 0, 0);
    bench.cycles(16);
    bench.dut.set(bench.pins.rst, 0, 1);
    bench.next_frame(3_000);
    for _ in 0..4 {
        let waited = bench.next_frame(1_100);
        assert!(
            (1_020..1_030).contains(&waited),
            "a greeting after {waited} cycles"
        );
    }
}

/// The other end is silent: the link is trained again, with remote faults, and loses nothing.
#[test]
fn link_silence() {
    let mut bench = Bench::up("link_silence");
    bench.load = [0.5, 0.5];
    bench.cycles(100);
    bench.silent = true;
    bench.cycles(100);
    bench.load = [0.0; 2];
    let limit = bench.now + 8_000 * CORE;
    while !bench.status("mac_send_fault_o") {
        bench.edge();
        assert!(bench.now < limit, "the link is not trained again");
    }
    bench.cycles(10);
    assert!(!bench.status("up_o") && bench.status("fell_o"));
    bench.silent = false;
    bench.cycles(1_000);
    bench.drain();
    let counts = bench.counts();
    assert!(
        counts.contains(&("retrains_o", 1)) && counts.contains(&("timeouts_o", 4)),
        "{counts:?}"
    );
}

/// A reset during a frame: the controller receives the end of the frame, marked as damaged. The
/// next frame with a number is the first one again.
#[test]
fn link_reset_within_a_frame() {
    let mut bench = Bench::up("link_reset_within_a_frame");
    let mut closed = 0;
    for _ in 0..soak(60) {
        bench.load = [0.9, 0.5];
        let before = bench.rng.random_range(20..60);
        bench.cycles(before);
        let inside = bench.tx_was_inside;
        bench.load = [0.0; 2];
        bench.restart();
        assert!(
            !bench.tx_was_inside,
            "the controller is left within a frame"
        );
        closed += u64::from(inside);
        bench.load = [0.5, 0.5];
        bench.cycles(50);
        bench.drain();
        assert!(bench.kept().is_empty(), "{:?}", bench.kept());
    }
    assert!(
        bench.closed > 5 && closed > 5,
        "{} frames were closed",
        bench.closed
    );
}
