//! The links between boards: phits under a latency and a rate, and credits the other way.
//!
//! A board's output in cycle `t` reaches its neighbour in cycle `t + latency`. So boards need to
//! synchronise only once in `latency - 1` edges: output of one window arrives in a later
//! window. Within a window a board uses its own ends alone. [`Wires::exchange`] carries their
//! output to the other ends between windows.

use std::collections::VecDeque;
use std::mem;

use alcor::Topology;

use crate::digest::Digest;
use crate::frames::{FrameEnds, Stream};
use crate::medium::Damage;

/// Bits of header and position in front of a phit's data.
const PHIT_EXTRA: u32 = 80;
/// Words of a phit with 512 bits of data.
const PHIT_WORDS: usize = (512 + PHIT_EXTRA as usize).div_ceil(32);
/// Words of a link call ahead of the ports' phits.
pub(crate) const CALL_HEAD: usize = 4;
/// Megabits a second in a bit a cycle, at 250 MHz.
pub(crate) const MBPS_PER_BIT: u64 = 250;
/// Phits that credits allow on a link: of each of six channels, a buffer.
const PHITS_BY_CREDITS: usize = 6 * 256;

/// Latency and rate of a link between boards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkFigures {
    /// Cycles from a board's pins to its neighbour's, 2 or more.
    pub latency: u32,
    /// Megabits that a link carries in a second.
    pub mbps: u32,
}

impl Default for LinkFigures {
    /// The values measured between two U280 boards: 440 ns, 95.9 Gb/s.
    fn default() -> Self {
        Self {
            latency: 110,
            mbps: 95_900,
        }
    }
}

impl LinkFigures {
    /// Edges that a board may run ahead of the others.
    pub(crate) fn window(self) -> u64 {
        u64::from(self.latency) - 1
    }
}

#[derive(Clone, Copy)]
struct Phit {
    /// The edge that begins the cycle in which it is on its pins.
    edge: u64,
    channel: u32,
    words: [u32; PHIT_WORDS],
}

#[derive(Clone, Copy)]
struct Credit {
    edge: u64,
    channel: u32,
}

/// Phits and credits under way in one direction of a link.
struct Queues {
    phits: VecDeque<Phit>,
    credits: VecDeque<Credit>,
}

impl Queues {
    fn new(phits: usize, credits: usize) -> Self {
        Self {
            phits: VecDeque::with_capacity(phits),
            credits: VecDeque::with_capacity(credits),
        }
    }

    fn clear(&mut self) {
        self.phits.clear();
        self.credits.clear();
    }

    fn is_empty(&self) -> bool {
        self.phits.is_empty() && self.credits.is_empty()
    }

    fn next(&self) -> u64 {
        let phit = self.phits.front().map_or(NEVER, |phit| phit.edge);
        let credit = self.credits.front().map_or(NEVER, |credit| credit.edge);
        phit.min(credit)
    }
}

/// A board's end of a link.
struct End {
    /// Sent in this window.
    sent: Queues,
    /// Phits and credits that the other end has sent.
    coming: Queues,
    /// Time at which the wire is free for another phit, in parts of a cycle.
    free: u64,
    phits: u64,
}

pub(crate) const NEVER: u64 = u64::MAX;

/// A board's ends of its links.
pub(crate) enum Ends {
    Phits(PhitEnds),
    Frames(FrameEnds),
}

impl Ends {
    /// Drops all data under way; the time was `now`.
    pub(crate) fn reset(&mut self, now: u64) {
        match self {
            Self::Phits(ends) => ends.reset(),
            Self::Frames(ends) => ends.reset(now),
        }
    }

    /// Begins time.
    pub(crate) fn begin(&mut self) {
        if let Self::Frames(ends) = self {
            ends.begin();
        }
    }

    /// Digest of all phits and credits that were sent; see the crate.
    pub(crate) fn digest(&self) -> u32 {
        match self {
            Self::Phits(ends) => ends.digest(),
            Self::Frames(ends) => ends.digest(),
        }
    }

    /// Phits that were sent on a link since reset.
    pub(crate) fn phits(&self, port: usize) -> u64 {
        match self {
            Self::Phits(ends) => ends.phits(port),
            Self::Frames(ends) => ends.phits(port),
        }
    }

    /// Returns whether data was sent and has not been collected.
    pub(crate) fn has_sent(&self) -> bool {
        match self {
            Self::Phits(ends) => ends.has_sent(),
            Self::Frames(ends) => ends.has_sent(),
        }
    }

    /// The next edge at which something arrives; the time is `now`.
    pub(crate) fn next(&self, now: u64) -> u64 {
        match self {
            Self::Phits(ends) => ends.next(),
            Self::Frames(ends) => ends.next(now),
        }
    }

    /// Takes the output of the board in the cycle that ends at `now`. Reports each new phit: port,
    /// channel, cycle of arrival, and words.
    pub(crate) fn send(
        &mut self,
        now: u64,
        input: &[u32],
        tell: impl FnMut(usize, u32, u64, &[u32]),
    ) {
        match self {
            Self::Phits(ends) => ends.send(now, input, tell),
            Self::Frames(ends) => ends.send(now, input, tell),
        }
    }

    /// Returns the values on the pins in the cycle that begins at `now`.
    pub(crate) fn receive(&mut self, now: u64, output: &mut [u32]) {
        match self {
            Self::Phits(ends) => ends.receive(now, output),
            Self::Frames(ends) => ends.receive(now, output),
        }
    }
}

/// A board's ends of links that carry phits.
pub(crate) struct PhitEnds {
    latency: u64,
    /// Parts that time is counted in, a cycle: bits that the wire carries, times a constant.
    parts: u64,
    /// Parts that the wire takes for a phit.
    phit_parts: u64,
    /// Words of a phit.
    phit_words: usize,
    /// Words that a call has for a port's phit.
    call_words: usize,
    ends: Box<[End]>,
    /// Damage to phits of puts, gets and messages.
    damage: Option<Box<Damage>>,
    digest: Digest,
}

/// Number of the channels of puts, gets and messages; collectives use those above.
const PACKET_CHANNELS: u32 = 4;

impl PhitEnds {
    pub(crate) fn new(
        links: u32,
        phit_bits: u32,
        figures: LinkFigures,
        damage: Option<Damage>,
    ) -> Self {
        let window = figures.window() as usize;
        let bits = phit_bits + PHIT_EXTRA;
        let end = || End {
            sent: Queues::new(window, window),
            coming: Queues::new(2 * window + PHITS_BY_CREDITS, 2 * window),
            free: 0,
            phits: 0,
        };
        Self {
            latency: figures.latency.into(),
            parts: figures.mbps.into(),
            phit_parts: u64::from(bits) * MBPS_PER_BIT,
            phit_words: bits.div_ceil(32) as usize,
            call_words: (phit_bits as usize + 96) / 32,
            ends: (0..links).map(|_| end()).collect(),
            damage: damage.map(Box::new),
            digest: Digest::new(),
        }
    }

    /// Drops all phits and credits under way.
    pub(crate) fn reset(&mut self) {
        for end in &mut self.ends {
            end.sent.clear();
            end.coming.clear();
            (end.free, end.phits) = (0, 0);
        }
        if let Some(damage) = &mut self.damage {
            damage.restart();
        }
        self.digest.restart();
    }

    /// Digest of all that was sent; see the crate.
    pub(crate) fn digest(&self) -> u32 {
        self.digest.value()
    }

    /// Phits that were sent on a link since reset.
    pub(crate) fn phits(&self, port: usize) -> u64 {
        self.ends[port].phits
    }

    /// Returns whether a phit or credit was sent and has not been collected.
    pub(crate) fn has_sent(&self) -> bool {
        self.ends.iter().any(|end| !end.sent.is_empty())
    }

    /// The next edge at which a phit or credit arrives.
    pub(crate) fn next(&self) -> u64 {
        self.ends
            .iter()
            .map(|end| end.coming.next())
            .fold(NEVER, u64::min)
    }

    /// Takes the phits and credits that the board drove in the cycle that ends at `now`. Reports
    /// each phit: port, channel, cycle of arrival, and words.
    pub(crate) fn send(
        &mut self,
        now: u64,
        input: &[u32],
        mut tell: impl FnMut(usize, u32, u64, &[u32]),
    ) {
        let cycle = now - 1;
        let (phits, credits) = (input[0] & 0xffff, input[0] >> 16);
        for port in bits(phits) {
            let channel = input[1] >> (4 * port) & 7;
            let at = CALL_HEAD + self.call_words * port;
            let mut words = [0; PHIT_WORDS];
            words[..self.phit_words].copy_from_slice(&input[at..at + self.phit_words]);
            self.digest
                .push_phit(now, port as u8, channel as u8, &words[..self.phit_words]);
            let end = &mut self.ends[port];
            let start = end.free.max(cycle * self.parts);
            end.free = start + self.phit_parts;
            end.phits += 1;
            let edge = start.div_ceil(self.parts) + self.latency;
            tell(port, channel, edge, &words[..self.phit_words]);
            if let Some(damage) = &mut self.damage
                && channel < PACKET_CHANNELS
            {
                damage.strike(&mut words[..self.phit_words - PHIT_EXTRA.div_ceil(32) as usize]);
            }
            end.sent.phits.push_back(Phit {
                edge,
                channel,
                words,
            });
        }
        for port in bits(credits) {
            let channel = input[2] >> (4 * port) & 7;
            self.digest
                .push(now, CREDIT | port as u8, false, &[channel]);
            self.ends[port].sent.credits.push_back(Credit {
                edge: cycle + self.latency,
                channel,
            });
        }
    }

    /// Returns the values on the pins in the cycle that begins at `now`.
    pub(crate) fn receive(&mut self, now: u64, output: &mut [u32]) {
        for (port, end) in self.ends.iter_mut().enumerate() {
            let Queues { phits, credits } = &mut end.coming;
            if let Some(phit) = phits.front().filter(|phit| phit.edge <= now) {
                output[0] |= 1 << port;
                output[1] |= phit.channel << (4 * port);
                let at = CALL_HEAD + self.call_words * port;
                output[at..at + self.phit_words].copy_from_slice(&phit.words[..self.phit_words]);
                phits.pop_front();
            }
            if let Some(credit) = credits.front().filter(|credit| credit.edge <= now) {
                output[0] |= 1 << (16 + port);
                output[2] |= credit.channel << (4 * port);
                credits.pop_front();
            }
        }
    }
}

/// Marks the record of a credit; the port is in the low bits.
pub(crate) const CREDIT: u8 = 0x40;

pub(crate) fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros();
        (mask != 0).then(|| {
            mask &= mask - 1;
            bit as usize
        })
    })
}

/// The connections of link ends.
pub(crate) struct Wires {
    /// By board and port: the board and the port at the other end.
    ends: Vec<(usize, usize, usize, usize)>,
    phits: Queues,
    frames: Stream,
}

impl Wires {
    pub(crate) fn new(topology: &Topology, figures: LinkFigures) -> Self {
        let window = figures.window() as usize;
        let ends = (0..topology.boards()).flat_map(|board| {
            (0..topology.links()).filter_map(move |port| {
                let (other, back) = topology.neighbour(board, port)?;
                Some((board as usize, port as usize, other as usize, back as usize))
            })
        });
        Self {
            ends: ends.collect(),
            phits: Queues::new(window, window),
            frames: Stream::default(),
        }
    }

    /// Carries sent data to the other ends. `with` calls its second argument with the ends of a
    /// board.
    pub(crate) fn exchange(&mut self, mut with: impl FnMut(usize, &mut dyn FnMut(&mut Ends))) {
        let Self {
            ends,
            phits,
            frames,
        } = self;
        for &(board, port, other, back) in &*ends {
            with(board, &mut |ends| match ends {
                Ends::Phits(ends) => mem::swap(&mut ends.ends[port].sent, phits),
                Ends::Frames(ends) => ends.hand_over(port, frames),
            });
            if phits.is_empty() && frames.is_empty() {
                continue;
            }
            with(other, &mut |ends| match ends {
                Ends::Phits(ends) => {
                    let coming = &mut ends.ends[back].coming;
                    coming.phits.extend(phits.phits.drain(..));
                    coming.credits.extend(phits.credits.drain(..));
                }
                Ends::Frames(ends) => ends.take_over(back, frames),
            });
        }
    }
}

/// Time in windows. At the end of a window, boards exchange their output on links.
pub(crate) struct Windows {
    pub(crate) wires: Wires,
    /// Edges of a window.
    pub(crate) length: u64,
    /// The end of the present window.
    pub(crate) end: u64,
}

impl Windows {
    /// `None` for a single board.
    pub(crate) fn new(topology: &Topology, figures: LinkFigures) -> Option<Self> {
        (topology.boards() > 1).then(|| Self {
            wires: Wires::new(topology, figures),
            length: figures.window(),
            end: figures.window(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURES: LinkFigures = LinkFigures {
        latency: 10,
        mbps: 95_900,
    };

    fn call(phits: u32, credits: u32, words: usize) -> Vec<u32> {
        let mut call = vec![0; words];
        call[0] = credits << 16 | phits;
        call
    }

    /// Boards 0 and 1 of a ring of two, of which board 0 sends `calls`; gives the edges at which
    /// port 1 of board 1 hears.
    fn edges(phit_bits: u32, figures: LinkFigures, sent: &[u64]) -> Vec<u64> {
        let topology = Topology::torus(&[2]).unwrap();
        let mut wires = Wires::new(&topology, figures);
        let mut ends = [
            Ends::Phits(PhitEnds::new(2, phit_bits, figures, None)),
            Ends::Phits(PhitEnds::new(2, phit_bits, figures, None)),
        ];
        let words = CALL_HEAD + 2 * (phit_bits as usize + 96) / 32;
        for &edge in sent {
            ends[0].send(edge, &call(1, 0, words), |_, _, _, _| ());
        }
        wires.exchange(|board, act| act(&mut ends[board]));
        let mut heard = Vec::new();
        while ends[1].next(0) != NEVER {
            let now = ends[1].next(0);
            let mut output = vec![0; words];
            ends[1].receive(now, &mut output);
            assert_eq!(output[0], 2);
            heard.push(now);
        }
        heard
    }

    #[test]
    fn a_phit_takes_the_latency() {
        // Edge 1 ends cycle 0, in which it was sent; edge 10 begins cycle 10, in which it arrives.
        assert_eq!(edges(256, FIGURES, &[1, 2, 3, 9]), [10, 11, 12, 18]);
    }

    #[test]
    fn the_rate_binds_wide_phits() {
        // 592 bits at 383.6 bits a cycle: 1.5433 cycles each, and no rounding adds up.
        let sent: Vec<u64> = (1..=1000).collect();
        let heard = edges(512, FIGURES, &sent);
        for (n, &edge) in heard.iter().enumerate() {
            assert_eq!(edge, (n as u64 * 592 * 250).div_ceil(95_900) + 10);
        }
        // After a pause the wire is free.
        assert_eq!(edges(512, FIGURES, &[1, 2, 100]), [10, 12, 109]);
        assert_eq!(edges(256, FIGURES, &sent), (10..1010).collect::<Vec<_>>());
    }

    #[test]
    fn phits_and_credits_keep_their_ports_channels_and_bits() {
        let topology = Topology::torus(&[3]).unwrap();
        let mut wires = Wires::new(&topology, FIGURES);
        let mut ends: Vec<_> = (0..3)
            .map(|_| Ends::Phits(PhitEnds::new(2, 256, FIGURES, None)))
            .collect();
        let mut sent = call(0b11, 0b10, CALL_HEAD + 22);
        (sent[1], sent[2]) = (0x57, 0x30);
        for (n, word) in sent[CALL_HEAD..].iter_mut().enumerate() {
            *word = 0x100 + n as u32;
        }
        ends[1].send(1, &sent, |_, _, _, _| ());
        assert!(ends[1].has_sent());
        wires.exchange(|board, act| act(&mut ends[board]));
        assert!(!ends[1].has_sent());
        let hear = |ends: &mut Ends| {
            let mut output = vec![0; CALL_HEAD + 22];
            ends.receive(9, &mut output);
            assert_eq!(output[0], 0);
            ends.receive(10, &mut output);
            output
        };
        // Port 0 of board 1 leads to port 1 of board 2.
        let heard = hear(&mut ends[2]);
        assert_eq!(heard[..3], [2, 0x70, 0]);
        assert_eq!(heard[CALL_HEAD + 11..], sent[CALL_HEAD..CALL_HEAD + 11]);
        // Port 1 of board 1 leads to port 0 of board 0.
        let heard = hear(&mut ends[0]);
        assert_eq!(heard[..3], [1 << 16 | 1, 5, 3]);
        assert_eq!(
            heard[CALL_HEAD..CALL_HEAD + 11],
            sent[CALL_HEAD + 11..CALL_HEAD + 22]
        );
        assert_eq!((ends[1].phits(0), ends[1].phits(1)), (1, 1));
        assert_ne!(ends[1].digest(), 0);
    }
}
