//! Faults of the links between boards: options `link-errors` and others.
//!
//! With `links=frames`, a [`Medium`] stands in front of a board's receiver and knows nothing of frames.
//! It inverts bits, loses words, and says when light reaches the receiver. With `links=phits`, a
//! [`Damage`] inverts bits of phits, as a defect inside a board would. The same seed gives the same
//! faults in each run.

use std::collections::VecDeque;
use std::ops::Range;

use alcor::Topology;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Words of 32 bits in a word of the medium.
pub(crate) const WORDS: usize = 16;
/// Bits of a word of the medium.
const BITS: u32 = 32 * WORDS as u32;
/// Maximum number of bits of a burst.
const BURST: u32 = 2_000;

/// A probability, in parts of 2^64.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chance(u64);

impl Chance {
    /// Converts a probability from 0 to less than 1. Returns `None` for any other number.
    #[must_use]
    pub fn new(probability: f64) -> Option<Self> {
        let is_one = (0.0..1.0).contains(&probability);
        // A product below 2^64 is exact or rounded, and never too large.
        is_one.then_some(Self((probability * 2f64.powi(64)) as u64))
    }

    /// The probability.
    #[must_use]
    pub fn probability(self) -> f64 {
        self.0 as f64 / 2f64.powi(64)
    }

    fn falls(self, rng: &mut impl Rng) -> bool {
        self.0 != 0 && rng.random::<u64>() < self.0
    }
}

/// The way in which a cable fails for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CableFault {
    /// `link-cable`: the cable is pulled, so both receivers are dark.
    Pulled,
    /// `link-dark`: no light reaches the receiver of this port. The other direction works.
    Dark,
    /// `link-mute`: words to this port vanish, and its receiver stays aligned.
    Mute,
}

impl CableFault {
    /// The option of a URI for such faults.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::Pulled => "link-cable",
            Self::Dark => "link-dark",
            Self::Mute => "link-mute",
        }
    }
}

/// A fault of a cable from one cycle to another.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CableOutage {
    /// The kind of the fault.
    pub fault: CableFault,
    /// Number of the board.
    pub board: u32,
    /// Link port of the board.
    pub port: u32,
    /// Cycles of the run with the fault.
    pub cycles: Range<u64>,
}

/// The faults of all links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkFaults {
    /// `link-seed`: seed of all random faults; default 0. Each run begins with the same faults.
    pub seed: u64,
    /// `link-errors`: probability that a bit is inverted.
    pub errors: Chance,
    /// `link-bursts`: probability for each word of 64 bytes that a burst of up to 2,000 random bits
    /// begins.
    pub bursts: Chance,
    /// `link-lost`: probability that a word of 64 bytes is lost.
    pub lost: Chance,
    /// `link-cable`, `link-dark`, `link-mute`: outages of cables.
    pub outages: Vec<CableOutage>,
    /// `link-skew`: light reaches the receivers of a board from a random cycle on, up to this one,
    /// as if the boards left reset one after the other. Words that were on a link before the reset
    /// arrive after it.
    pub skew: u64,
    /// `link-damage`, with `links=phits`: probability for each phit of a put, a get or a message that a
    /// bit of its data is inverted, where no checksum of a frame covers the phit.
    pub damage: Chance,
}

impl LinkFaults {
    /// The media in front of a board's receivers, by port.
    pub(crate) fn media(&self, board: u32, topology: &Topology) -> Vec<Medium> {
        let mut of_board = self.generator(u64::from(board) << 32);
        let opens = match self.skew {
            0 => 0,
            skew => of_board.random_range(0..=skew),
        };
        (0..topology.links())
            .map(|port| {
                let far = topology.neighbour(board, port);
                let is_here = |outage: &&CableOutage| {
                    let at = (outage.board, outage.port);
                    at == (board, port) || outage.fault == CableFault::Pulled && Some(at) == far
                };
                let here = self.outages.iter().filter(is_here);
                let (mute, mut dark): (Vec<_>, Vec<_>) =
                    here.partition(|outage| outage.fault == CableFault::Mute);
                let cycles = |found: Vec<&CableOutage>| {
                    let ranges = found.iter().map(|outage| outage.cycles.clone());
                    ranges.collect::<Vec<_>>()
                };
                dark.sort_by_key(|outage| outage.cycles.start);
                let mut dark = cycles(dark);
                if opens > 0 {
                    dark.insert(0, 0..opens);
                }
                Medium::new(
                    self,
                    u64::from(board) << 32 | u64::from(port + 1),
                    dark,
                    cycles(mute),
                )
            })
            .collect()
    }

    /// The damage to phits that a board sends; `None` without `link-damage`.
    pub(crate) fn damage(&self, board: u32) -> Option<Damage> {
        let rng = self.generator(u64::from(board) << 32);
        (self.damage != Chance::default()).then(|| Damage {
            chance: self.damage,
            begin: rng.clone(),
            rng,
        })
    }

    fn generator(&self, stream: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(stream);
        rng
    }
}

/// Damage to phits where the checksum of a frame does not cover them.
pub(crate) struct Damage {
    chance: Chance,
    begin: ChaCha8Rng,
    rng: ChaCha8Rng,
}

impl Damage {
    /// Begins a run.
    pub(crate) fn restart(&mut self) {
        self.rng = self.begin.clone();
    }

    /// Inverts a bit of a phit's data, at times.
    pub(crate) fn strike(&mut self, data: &mut [u32]) {
        if self.chance.falls(&mut self.rng) {
            let bit = self.rng.random_range(0..32 * data.len());
            data[bit / 32] ^= 1 << (bit % 32);
        }
    }
}

/// The medium in front of a receiver.
#[derive(Clone)]
pub(crate) struct Medium {
    faults: LinkFaults,
    stream: u64,
    dark: Vec<Range<u64>>,
    mute: Vec<Range<u64>>,
    rng: ChaCha8Rng,
    /// Bits until the next inverted one.
    until_error: u64,
    /// Bits until the end of the burst under way.
    burst: u32,
    /// Cycles, in order, in which the light comes or goes.
    changes: VecDeque<u64>,
}

impl Medium {
    fn new(faults: &LinkFaults, stream: u64, dark: Vec<Range<u64>>, mute: Vec<Range<u64>>) -> Self {
        let mut medium = Self {
            faults: LinkFaults {
                outages: Vec::new(),
                ..faults.clone()
            },
            stream,
            dark,
            mute,
            rng: faults.generator(stream),
            until_error: 0,
            burst: 0,
            changes: VecDeque::new(),
        };
        medium.restart();
        medium
    }

    /// Begins a run.
    pub(crate) fn restart(&mut self) {
        self.rng = self.faults.generator(self.stream);
        self.until_error = self.distance();
        self.burst = 0;
        let mut changes: Vec<u64> = self
            .dark
            .iter()
            .flat_map(|dark| [dark.start, dark.end])
            .collect();
        changes.sort_unstable();
        self.changes = changes
            .into_iter()
            .filter(|&cycle| cycle != u64::MAX)
            .collect();
    }

    /// Whether words on the way to the receiver survive a reset of the boards.
    pub(crate) fn keeps_words(&self) -> bool {
        self.faults.skew > 0
    }

    /// Distance to the next inverted bit.
    fn distance(&mut self) -> u64 {
        if self.faults.errors == Chance::default() {
            return u64::MAX;
        }
        let uniform: f64 = self.rng.random_range(f64::MIN_POSITIVE..1.0);
        // Saturates: errors may be rarer than 2^-64.
        (uniform.ln() / (-self.faults.errors.probability()).ln_1p()) as u64
    }

    /// The next cycle in which the light comes or goes.
    pub(crate) fn next_change(&self) -> Option<u64> {
        self.changes.front().copied()
    }

    /// Whether light reaches the receiver. The cycles of calls increase.
    pub(crate) fn is_lit(&mut self, cycle: u64) -> bool {
        while self.changes.front().is_some_and(|&change| change <= cycle) {
            self.changes.pop_front();
        }
        !self.dark.iter().any(|dark| dark.contains(&cycle))
    }

    /// Carries a word and, behind it, `more` bits that belong to its frame. Returns whether the word
    /// arrives, and whether one of the bits behind it is wrong.
    pub(crate) fn carry(&mut self, cycle: u64, word: &mut [u32; WORDS], more: u32) -> (bool, bool) {
        let mut is_wrong = false;
        while self.until_error < u64::from(BITS + more) {
            let at = self.until_error as u32;
            match word.get_mut((at / 32) as usize) {
                Some(part) => *part ^= 1 << (at % 32),
                None => is_wrong = true,
            }
            self.until_error += 1 + self.distance().min(u64::MAX / 2);
        }
        self.until_error -= u64::from(BITS + more);
        let mut from = 0;
        if self.burst == 0 && self.faults.bursts.falls(&mut self.rng) {
            from = self.rng.random_range(0..BITS);
            self.burst = self.rng.random_range(1..=BURST);
        }
        let hit = self.burst.min(BITS - from);
        for at in from..from + hit {
            word[(at / 32) as usize] ^= u32::from(self.rng.random::<bool>()) << (at % 32);
        }
        self.burst -= hit;
        let is_mute = self.mute.iter().any(|mute| mute.contains(&cycle));
        let is_lost = self.faults.lost.falls(&mut self.rng);
        (!is_mute && !is_lost, is_wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(faults: &LinkFaults, board: u32) -> Vec<Medium> {
        faults.media(board, &Topology::torus(&[3]).unwrap())
    }

    fn ones(words: &[[u32; WORDS]]) -> u32 {
        words.iter().flatten().map(|word| word.count_ones()).sum()
    }

    #[test]
    fn bits_are_inverted_at_the_rate_and_the_seed_repeats_them() {
        let faults = LinkFaults {
            errors: Chance::new(1e-3).unwrap(),
            ..LinkFaults::default()
        };
        let mut media = ring(&faults, 0);
        let mut carry = |port: usize| {
            let mut words = vec![[0; WORDS]; 4000];
            media[port].restart();
            for word in &mut words {
                assert!(media[port].carry(0, word, 0).0);
            }
            words
        };
        let (first, other) = (carry(0), carry(1));
        // 2,048 expected, with a standard deviation of 45.
        assert!((1800..2300).contains(&ones(&first)), "{}", ones(&first));
        assert_ne!(first, other);
        assert_eq!(first, carry(0));
        let none = &mut ring(&LinkFaults::default(), 0)[0];
        let mut word = [7; WORDS];
        assert_eq!(
            (none.carry(5, &mut word, 192), word),
            ((true, false), [7; WORDS])
        );
    }

    #[test]
    fn words_are_lost_and_bursts_stay_within_their_length() {
        let lost = LinkFaults {
            lost: Chance::new(0.25).unwrap(),
            ..LinkFaults::default()
        };
        let medium = &mut ring(&lost, 1)[0];
        let arrived = (0..4000)
            .filter(|_| medium.carry(0, &mut [0; WORDS], 0).0)
            .count();
        assert!((2850..3150).contains(&arrived), "{arrived}");
        let bursts = LinkFaults {
            bursts: Chance::new(1e-3).unwrap(),
            ..LinkFaults::default()
        };
        let medium = &mut ring(&bursts, 1)[0];
        let mut words = vec![[0; WORDS]; 20_000];
        words
            .iter_mut()
            .for_each(|word| assert!(medium.carry(0, word, 0).0));
        let mut stretch = 0;
        let mut hit = 0;
        for word in &words {
            stretch = if ones(&[*word]) > 0 { stretch + 1 } else { 0 };
            hit += u32::from(stretch > 0);
            assert!(stretch <= 2 * 5, "two bursts of five words at most");
        }
        assert!(hit > 20, "{hit}");
    }

    #[test]
    fn cables_go_dark_at_both_ends_and_receivers_at_one() {
        let outage = |fault, board, port, cycles| CableOutage {
            fault,
            board,
            port,
            cycles,
        };
        let faults = LinkFaults {
            outages: vec![
                outage(CableFault::Pulled, 0, 0, 10..20),
                outage(CableFault::Dark, 0, 0, 30..u64::MAX),
                outage(CableFault::Mute, 2, 1, 5..6),
            ],
            ..LinkFaults::default()
        };
        let lit = |medium: &mut Medium| [9, 10, 19, 20, 30].map(|cycle| medium.is_lit(cycle));
        // Port 0 of board 0 leads to port 1 of board 1.
        assert_eq!(
            lit(&mut ring(&faults, 0)[0]),
            [true, false, false, true, false]
        );
        assert_eq!(
            lit(&mut ring(&faults, 1)[1]),
            [true, false, false, true, true]
        );
        assert_eq!(lit(&mut ring(&faults, 0)[1]), [true; 5]);
        let medium = &mut ring(&faults, 2)[1];
        let arrives = |medium: &mut Medium, cycle| medium.carry(cycle, &mut [0; WORDS], 0).0;
        assert_eq!(
            [4, 5, 6].map(|cycle| arrives(medium, cycle)),
            [true, false, true]
        );
        assert_eq!(ring(&faults, 0)[0].next_change(), Some(10));
        assert_eq!(medium.next_change(), None);
    }

    #[test]
    fn boards_begin_at_different_cycles() {
        let faults = LinkFaults {
            skew: 1000,
            seed: 3,
            ..LinkFaults::default()
        };
        let opens: Vec<_> = (0..3)
            .map(|board| {
                let media = ring(&faults, board);
                assert_eq!(media[0].dark, media[1].dark);
                media[0].dark[0].end
            })
            .collect();
        assert!(opens.iter().all(|&cycle| cycle <= 1000));
        assert!(opens[0] != opens[1] && opens[1] != opens[2], "{opens:?}");
    }
}
