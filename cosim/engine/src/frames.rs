//! The links between boards with `links=frames`: medium access controllers, and words of frames
//! under a latency, a rate and [faults](crate::medium).
//!
//! A controller carries words of 64 bytes and does not interpret them. It adds a checksum to
//! each frame, reports a frame with a wrong one, and tells its link end whether light arrives.

use std::collections::VecDeque;

use alcor_abi::packets::{link_frame, link_sequence, link_slot};
use crc32fast::Hasher;

use crate::digest::Digest;
use crate::medium::{Medium, WORDS};
use crate::wire::{CALL_HEAD, CREDIT, LinkFigures, MBPS_PER_BIT, NEVER, bits};

/// Latency of the medium and the controllers, in cycles: the latency that the buffers of a switch
/// allow beside two link ends, see hw/link/doc/link.md.
pub(crate) const LATENCY: u32 = 90;
/// Maximum latency, in cycles: an acknowledgement is to come before the link end's timer expires.
pub(crate) const MAX_LATENCY: u32 = 800;
/// Rates, in megabits per second. A link end receives 24 phits in 26 cycles of the simulated
/// controller, which has the core's clock; more words would not fit.
pub(crate) const RATES: std::ops::RangeInclusive<u32> = 10_000..=85_000;

/// Bits of a word.
const WORD_BITS: u64 = 32 * WORDS as u64;
/// Bits of preamble, checksum and gap of a frame.
const OVERHEAD_BITS: u64 = 192;
/// Words that wait in a controller before it takes no more.
const QUEUE: u64 = 3;
/// Words of a port in a call.
const CALL_WORDS: usize = (512 + 96) / 32;
/// Bits of a slot in a group of two words, and of its phit.
const SLOT_BITS: usize = 340;
const PHIT_BITS: usize = 336;
/// Words of a phit.
const PHIT_WORDS: usize = PHIT_BITS.div_ceil(32);

/// States of a controller's pins, as `sim_links` reads them.
const ALIGNED: u32 = 1;
const REMOTE_FAULT: u32 = 2;
const BUSY: u32 = 4;

#[derive(Clone, Copy)]
struct Word {
    /// The edge that begins the cycle in which it is on its pins.
    edge: u64,
    data: [u32; WORDS],
    is_first: bool,
    is_last: bool,
    /// With the last word: the sender has given the frame up.
    is_damaged: bool,
    /// With the last word: the frame's checksum.
    sum: u32,
}

/// The controller at the other end begins or ends to send remote faults.
#[derive(Clone, Copy)]
struct Signal {
    edge: u64,
    is_fault: bool,
}

/// Words and signals under way in one direction of a link.
#[derive(Default)]
pub(crate) struct Stream {
    words: VecDeque<Word>,
    signals: VecDeque<Signal>,
}

impl Stream {
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty() && self.signals.is_empty()
    }

    pub(crate) fn append(&mut self, other: &mut Self) {
        self.words.append(&mut other.words);
        self.signals.append(&mut other.signals);
    }
}

/// Finds the phits in the frames that a board sends, each once: frames that are sent again have the
/// number of an earlier word.
#[derive(Default)]
struct Decoder {
    /// Number of the next word that has not been sent.
    next: u16,
    is_new: bool,
    words: u16,
    low: [u32; WORDS],
}

impl Decoder {
    /// Takes a word. Reports each new phit, channel and words, and the credits of a new frame.
    fn take(&mut self, word: &Word, mut phit: impl FnMut(u32, &[u32; PHIT_WORDS])) -> u32 {
        let mut credits = 0;
        if word.is_first {
            let number = link_sequence::WORD.get(word.data[7]) as u16;
            let is_numbered = link_frame::NUMBERED.get(word.data[3]) != 0;
            self.is_new = is_numbered && number == self.next;
            self.words = 0;
            if self.is_new {
                credits = word.data[5];
            }
        } else if self.words % 2 == 1 {
            self.low = word.data;
        } else if self.is_new {
            let mut group = [0; 2 * WORDS];
            group[..WORDS].copy_from_slice(&self.low);
            group[WORDS..].copy_from_slice(&word.data);
            for slot in 0..3 {
                let tag = cut::<1>(&group, SLOT_BITS * slot + PHIT_BITS, 4)[0];
                if link_slot::FULL.get(tag) != 0 {
                    phit(
                        link_slot::VC.get(tag),
                        &cut(&group, SLOT_BITS * slot, PHIT_BITS),
                    );
                }
            }
        }
        self.words = self.words.wrapping_add(1);
        if word.is_last && self.is_new && !word.is_damaged {
            self.next = self.next.wrapping_add(self.words);
        }
        credits
    }
}

/// The `count` bits of `words` from bit `from` on.
fn cut<const N: usize>(words: &[u32], from: usize, count: usize) -> [u32; N] {
    let part = |at: usize| u64::from(words.get(at).copied().unwrap_or_default());
    let mut found = [0; N];
    for (n, word) in found.iter_mut().enumerate().take(count.div_ceil(32)) {
        let at = from + 32 * n;
        let both = part(at / 32) | part(at / 32 + 1) << 32;
        let left = count - 32 * n;
        let mask = if left < 32 {
            (1 << left) - 1
        } else {
            u64::from(u32::MAX)
        };
        *word = (both >> (at % 32) & mask) as u32;
    }
    found
}

/// The controller at a board's end of a link.
struct End {
    // The sender.
    sent: Stream,
    /// Time at which the wire is free for another word, in parts of a cycle.
    free: u64,
    is_within: bool,
    sum: Hasher,
    sends_faults: bool,
    /// From when to when no word is taken.
    busy: Option<(u64, u64)>,
    decoder: Decoder,
    phits: u64,

    // The receiver.
    coming: Stream,
    medium: Medium,
    hears: bool,
    heard_sum: Hasher,
    hears_faults: bool,
    /// State of the pins.
    state: u32,
}

impl End {
    fn new(medium: Medium) -> Self {
        Self {
            sent: Stream::default(),
            free: 0,
            is_within: false,
            sum: Hasher::new(),
            // A controller starts without light.
            sends_faults: true,
            busy: None,
            decoder: Decoder::default(),
            phits: 0,
            coming: Stream::default(),
            medium,
            hears: false,
            heard_sum: Hasher::new(),
            hears_faults: true,
            state: 0,
        }
    }

    /// Begins a run; the time was `now`.
    fn reset(&mut self, now: u64) {
        let mut words = std::mem::take(&mut self.coming.words);
        words.retain(|word| self.medium.keeps_words() && word.edge > now);
        words.iter_mut().for_each(|word| word.edge -= now);
        let mut medium = self.medium.clone();
        medium.restart();
        *self = Self::new(medium);
        self.coming.words = words;
    }

    fn next(&self) -> u64 {
        let word = self.coming.words.front().map(|word| word.edge);
        let signal = self.coming.signals.front().map(|signal| signal.edge);
        let busy = self
            .busy
            .map(|(from, to)| if self.state & BUSY == 0 { from } else { to });
        let all = [word, signal, busy, self.medium.next_change()];
        all.into_iter().flatten().min().unwrap_or(NEVER)
    }

    /// Returns the word on the pins in the cycle that begins at `now`, and the state of the pins.
    fn receive(&mut self, now: u64) -> (Option<([u32; WORDS], bool, bool)>, u32) {
        let mut is_cut = false;
        while let Some(signal) = self
            .coming
            .signals
            .front()
            .filter(|signal| signal.edge <= now)
        {
            self.hears_faults = signal.is_fault;
            is_cut |= signal.is_fault;
            self.coming.signals.pop_front();
        }
        let is_lit = self.medium.is_lit(now);
        is_cut |= !is_lit;
        let mut word = None;
        if is_cut && self.hears {
            // The controller ends the frame as a damaged one.
            self.hears = false;
            word = Some(([0; WORDS], true, true));
        } else if self
            .coming
            .words
            .front()
            .is_some_and(|word| word.edge <= now)
            && let Some(arrived) = self.coming.words.pop_front()
            && is_lit
        {
            word = self.hear(now, arrived);
        }
        if self.busy.is_some_and(|(_, to)| to <= now) {
            self.busy = None;
        }
        let state = if is_lit { ALIGNED } else { 0 }
            | if is_lit && self.hears_faults {
                REMOTE_FAULT
            } else {
                0
            }
            | if self.busy.is_some_and(|(from, _)| from <= now) {
                BUSY
            } else {
                0
            };
        (word, state)
    }

    /// Takes a word out of the medium. Returns it as the receiver shows it.
    fn hear(&mut self, now: u64, mut word: Word) -> Option<([u32; WORDS], bool, bool)> {
        let more = if word.is_last {
            OVERHEAD_BITS as u32
        } else {
            0
        };
        let (arrives, is_wrong) = self.medium.carry(now, &mut word.data, more);
        if arrives && word.is_first {
            self.hears = true;
            self.heard_sum = Hasher::new();
        }
        if !self.hears {
            // The start of the frame was lost.
            return None;
        }
        if arrives {
            add(&mut self.heard_sum, &word.data);
        } else if !word.is_last {
            return None;
        }
        self.hears = !word.is_last;
        let is_whole = arrives && !is_wrong && self.heard_sum.clone().finalize() == word.sum;
        let is_damaged = word.is_last && (word.is_damaged || !is_whole);
        Some((word.data, word.is_last, is_damaged))
    }
}

fn add(sum: &mut Hasher, data: &[u32; WORDS]) {
    for part in data {
        sum.update(&part.to_le_bytes());
    }
}

/// The controllers of a board.
pub(crate) struct FrameEnds {
    latency: u64,
    /// Parts that time is counted in, a cycle: bits that the wire carries, times a constant.
    parts: u64,
    ends: Box<[End]>,
    digest: Digest,
    has_begun: bool,
}

impl FrameEnds {
    pub(crate) fn new(figures: LinkFigures, media: Vec<Medium>) -> Self {
        Self {
            latency: figures.latency.into(),
            parts: figures.mbps.into(),
            ends: media.into_iter().map(End::new).collect(),
            digest: Digest::new(),
            has_begun: false,
        }
    }

    pub(crate) fn reset(&mut self, now: u64) {
        self.ends.iter_mut().for_each(|end| end.reset(now));
        self.digest.restart();
        self.has_begun = false;
    }

    /// Begins time: from now on there is light.
    pub(crate) fn begin(&mut self) {
        self.has_begun = true;
    }

    pub(crate) fn digest(&self) -> u32 {
        self.digest.value()
    }

    pub(crate) fn phits(&self, port: usize) -> u64 {
        self.ends[port].phits
    }

    pub(crate) fn has_sent(&self) -> bool {
        self.ends.iter().any(|end| !end.sent.is_empty())
    }

    pub(crate) fn next(&self, now: u64) -> u64 {
        if !self.has_begun {
            return NEVER;
        }
        // The light comes with the first cycle.
        let first = if now == 0 { 1 } else { NEVER };
        self.ends.iter().map(End::next).fold(first, u64::min)
    }

    /// Takes what the board drove in the cycle that ends at `now`. Reports each phit that is sent
    /// for the first time: port, channel, cycle of arrival, and words.
    pub(crate) fn send(
        &mut self,
        now: u64,
        input: &[u32],
        mut tell: impl FnMut(usize, u32, u64, &[u32]),
    ) {
        let cycle = now - 1;
        let (words, signals) = (input[0] & 0xffff, input[0] >> 16);
        for port in bits(words) {
            let call = &input[CALL_HEAD + CALL_WORDS * port..][..CALL_WORDS];
            let end = &mut self.ends[port];
            let mut word = Word {
                edge: 0,
                data: [0; WORDS],
                is_first: !end.is_within,
                is_last: call[WORDS] & 1 != 0,
                is_damaged: call[WORDS] & 2 != 0,
                sum: 0,
            };
            word.data.copy_from_slice(&call[..WORDS]);
            let start = end.free.max(cycle * self.parts);
            word.edge = start.div_ceil(self.parts) + self.latency;
            let overhead = if word.is_last { OVERHEAD_BITS } else { 0 };
            end.free = start + (WORD_BITS + overhead) * MBPS_PER_BIT;
            let queue = QUEUE * WORD_BITS * MBPS_PER_BIT;
            if end.free > now * self.parts + queue {
                let to = (end.free - queue).div_ceil(self.parts);
                let from = end.busy.map_or(now + 1, |(from, _)| from);
                end.busy = Some((from, to.max(from + 1)));
            }
            if word.is_first {
                end.sum = Hasher::new();
            }
            add(&mut end.sum, &word.data);
            end.is_within = !word.is_last;
            if word.is_last {
                word.sum = end.sum.clone().finalize();
            }
            let (digest, phits) = (&mut self.digest, &mut end.phits);
            let credits = end.decoder.take(&word, |channel, phit| {
                digest.push_phit(now, port as u8, channel as u8, phit);
                *phits += 1;
                tell(port, channel, word.edge, phit);
            });
            if credits != 0 {
                self.digest
                    .push(now, CREDIT | port as u8, false, &[credits]);
            }
            // Remote faults take the place of words.
            if !end.sends_faults {
                end.sent.words.push_back(word);
            }
        }
        for port in bits(signals) {
            let is_fault = input[2] >> (4 * port) & 1 != 0;
            let end = &mut self.ends[port];
            end.sends_faults = is_fault;
            end.sent.signals.push_back(Signal {
                edge: cycle + self.latency,
                is_fault,
            });
        }
    }

    /// Returns the values on the pins in the cycle that begins at `now`.
    pub(crate) fn receive(&mut self, now: u64, output: &mut [u32]) {
        for (port, end) in self.ends.iter_mut().enumerate() {
            let (word, state) = end.receive(now);
            if let Some((data, is_last, is_damaged)) = word {
                output[0] |= 1 << port;
                let call = &mut output[CALL_HEAD + CALL_WORDS * port..][..CALL_WORDS];
                call[..WORDS].copy_from_slice(&data);
                call[WORDS] = u32::from(is_last) | u32::from(is_damaged) << 1;
            }
            if state != end.state {
                end.state = state;
                output[0] |= 1 << (16 + port);
                output[2] |= state << (4 * port);
            }
        }
    }

    /// Exchanges what port `port` has sent with `hands`, which is empty.
    pub(crate) fn hand_over(&mut self, port: usize, hands: &mut Stream) {
        std::mem::swap(&mut self.ends[port].sent, hands);
    }

    /// Takes what the other end of port `port` has sent.
    pub(crate) fn take_over(&mut self, port: usize, hands: &mut Stream) {
        self.ends[port].coming.append(hands);
    }
}

#[cfg(test)]
mod tests {
    use alcor::Topology;

    use super::*;
    use crate::medium::{CableFault, CableOutage, Chance, LinkFaults};
    use crate::wire::{Ends, Wires};

    const FIGURES: LinkFigures = LinkFigures {
        latency: 10,
        mbps: 85_000,
    };
    const CALL: usize = CALL_HEAD + 2 * CALL_WORDS;

    /// Boards 0 and 1 of a ring of two. Port 0 of board 0 leads to port 1 of board 1.
    struct Pair {
        wires: Wires,
        ends: [Ends; 2],
    }

    /// A word that has arrived: edge, first part, last, damaged.
    type Heard = (u64, u32, bool, bool);

    impl Pair {
        fn new(faults: &LinkFaults) -> Self {
            let topology = Topology::torus(&[2]).unwrap();
            let mut ends = [0, 1]
                .map(|board| Ends::Frames(FrameEnds::new(FIGURES, faults.media(board, &topology))));
            ends.iter_mut().for_each(Ends::begin);
            let wires = Wires::new(&topology, FIGURES);
            let mut pair = Self { wires, ends };
            // Both ends stop sending remote faults.
            pair.signal(1, false);
            pair.listen(1);
            pair
        }

        fn signal(&mut self, now: u64, is_fault: bool) {
            let mut call = vec![0; CALL];
            (call[0], call[2]) = (1 << 16, u32::from(is_fault));
            self.ends[0].send(now, &call, |_, _, _, _| ());
        }

        /// Sends a word, and returns the phits that are told.
        fn send(&mut self, now: u64, data: [u32; WORDS], is_last: bool) -> Vec<(u32, u32)> {
            let mut call = vec![0; CALL];
            call[0] = 1;
            call[CALL_HEAD..CALL_HEAD + WORDS].copy_from_slice(&data);
            call[CALL_HEAD + WORDS] = is_last.into();
            let mut told = Vec::new();
            self.ends[0].send(now, &call, |port, channel, _, words| {
                assert_eq!((port, words.len()), (0, PHIT_WORDS));
                told.push((channel, words[10]));
            });
            told
        }

        /// A frame of words whose first parts count up, a word every other cycle.
        fn frame(&mut self, now: u64, words: u32) {
            for n in 0..words {
                let mut data = [0; WORDS];
                data[0] = n;
                self.send(now + 2 * u64::from(n), data, n + 1 == words);
            }
        }

        /// What board 1 hears up to edge `until`.
        fn listen(&mut self, until: u64) -> Vec<Heard> {
            let ends = &mut self.ends;
            self.wires.exchange(|board, act| act(&mut ends[board]));
            let mut heard = Vec::new();
            let mut now = 0;
            loop {
                now = self.ends[1].next(now).max(now + 1);
                if now > until {
                    return heard;
                }
                let mut output = vec![0; CALL];
                self.ends[1].receive(now, &mut output);
                if output[0] & 2 != 0 {
                    let call = &output[CALL_HEAD + CALL_WORDS..];
                    let flags = call[WORDS];
                    heard.push((now, call[0], flags & 1 != 0, flags & 2 != 0));
                }
            }
        }
    }

    fn whole(heard: &[Heard]) -> usize {
        let ends = heard.iter().filter(|(.., is_last, _)| *is_last);
        ends.filter(|(.., is_damaged)| !is_damaged).count()
    }

    #[test]
    fn words_take_the_latency_and_the_rate() {
        let mut pair = Pair::new(&LinkFaults::default());
        for n in 0..20 {
            pair.send(100 + n, [n as u32; WORDS], n == 19);
        }
        let heard = pair.listen(1000);
        assert_eq!(heard.len(), 20);
        for (n, &(edge, part, is_last, is_damaged)) in heard.iter().enumerate() {
            // Cycle 99 ends at edge 100.
            let start = 99 + (n as u64 * 512 * 250).div_ceil(85_000);
            assert_eq!((edge, part), (start + 10, n as u32));
            assert_eq!((is_last, is_damaged), (n == 19, false));
        }
        // The controller takes no word while three wait.
        let mut pair = Pair::new(&LinkFaults::default());
        let mut busy = 0;
        let mut now = 99;
        for n in 0..400 {
            now += 1;
            let mut output = vec![0; CALL];
            if pair.ends[0].next(now) <= now {
                pair.ends[0].receive(now, &mut output);
                if output[0] >> 16 & 1 != 0 {
                    busy = output[2] & BUSY;
                }
            }
            if busy == 0 {
                pair.send(now + 1, [n; WORDS], false);
            }
        }
        let Ends::Frames(ends) = &pair.ends[0] else {
            unreachable!()
        };
        let sent = ends.ends[0].sent.words.len() as u64;
        let rate = 400 * 85_000 / (512 * 250);
        assert!((rate - 2..rate + 6).contains(&sent), "{sent} {rate}");
    }

    #[test]
    fn damage_is_told_at_the_end_of_a_frame() {
        for (errors, lost) in [(2e-4, 0.0), (0.0, 0.05)] {
            let faults = LinkFaults {
                errors: Chance::new(errors).unwrap(),
                lost: Chance::new(lost).unwrap(),
                ..LinkFaults::default()
            };
            let mut pair = Pair::new(&faults);
            (0..200).for_each(|n| pair.frame(100 + 20 * n, 5));
            let heard = pair.listen(10_000);
            // Frames are whole or damaged, and a damaged one may have lost its start.
            let ends = heard.iter().filter(|(.., is_last, _)| *is_last).count();
            assert!((100..190).contains(&whole(&heard)), "{}", whole(&heard));
            assert!(ends > whole(&heard) + 5 && ends <= 200);
            let mut next = 0;
            for &(_, part, is_last, is_damaged) in &heard {
                assert!(errors > 0.0 || part == next || is_damaged || lost > 0.0);
                next = if is_last { 0 } else { next + 1 };
                if is_last && !is_damaged {
                    assert_eq!(part, 4, "a whole frame has all words");
                }
            }
        }
    }

    #[test]
    fn a_frame_without_light_is_cut_off() {
        let faults = LinkFaults {
            outages: vec![CableOutage {
                fault: CableFault::Pulled,
                board: 0,
                port: 0,
                cycles: 114..124,
            }],
            ..LinkFaults::default()
        };
        let mut pair = Pair::new(&faults);
        // Arrives from edge 109 on, a word every other edge.
        pair.frame(100, 12);
        pair.frame(140, 2);
        let heard = pair.listen(1000);
        let cut = (114, 0, true, true);
        assert_eq!(
            heard[..4],
            [
                (109, 0, false, false),
                (111, 1, false, false),
                (113, 2, false, false),
                cut
            ]
        );
        assert_eq!(heard[4..], [(149, 0, false, false), (151, 1, true, false)]);
    }

    #[test]
    fn remote_faults_replace_words() {
        let mut pair = Pair::new(&LinkFaults::default());
        pair.signal(100, true);
        pair.frame(101, 3);
        pair.signal(120, false);
        pair.frame(130, 1);
        assert_eq!(pair.listen(1000), [(139, 0, true, false)]);
    }

    #[test]
    fn phits_of_repeated_frames_are_told_once() {
        let header = |number: u32, is_numbered: bool| {
            let mut data = [0; WORDS];
            data[3] = link_frame::NUMBERED.put(is_numbered.into());
            data[7] = link_sequence::WORD.put(number);
            data
        };
        // Slot 1 has a phit of ones on channel 4: bits 340 to 675, and the tag in bits 676 to 679.
        let (mut low, mut high) = ([0; WORDS], [0; WORDS]);
        for at in 340..676 {
            let word = if at < 512 { &mut low } else { &mut high };
            word[at % 512 / 32] |= 1 << (at % 32);
        }
        high[(676 - 512) / 32] |= (1 << 3 | 4) << (676 % 32);
        let mut pair = Pair::new(&LinkFaults::default());
        let mut send = |now, number, is_numbered| {
            assert_eq!(
                pair.send(now, header(number, is_numbered), !is_numbered),
                []
            );
            if !is_numbered {
                return Vec::new();
            }
            assert_eq!(pair.send(now + 2, low, false), []);
            pair.send(now + 4, high, true)
        };
        let phit = vec![(4, 0xffff)];
        assert_eq!(send(100, 0, true), phit);
        assert_eq!(send(110, 3, false), []);
        assert_eq!(send(120, 0, true), [], "sent again");
        assert_eq!(send(130, 3, true), phit);
        let Ends::Frames(ends) = &pair.ends[0] else {
            unreachable!()
        };
        assert_eq!((ends.phits(0), ends.phits(1)), (2, 0));
    }
}
