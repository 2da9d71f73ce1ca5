//! Reference model of collectives: communicators as the library writes them into the table, the
//! ranges of each collective, the fixed tree of a reduction, and the result of a mismatch.
//!
//! The model shares no method with the hardware: partners come from the pairs of each stage,
//! reductions from the tree, copies from slices.

use alcor_abi::{Algorithm, Collective, Datatype, Operation, Status, rank};
use alcor_hw_bench::Random;
use rand::Rng;
use rand::seq::{IndexedRandom, SliceRandom};

use crate::coll_units::{pairs, shape};
use crate::vector_aglu::reference;

pub const DATATYPES: [Datatype; 6] = [
    Datatype::F64,
    Datatype::F32,
    Datatype::I64,
    Datatype::I32,
    Datatype::U64,
    Datatype::U32,
];
const ARITHMETIC: [Operation; 4] = [
    Operation::Sum,
    Operation::Min,
    Operation::Max,
    Operation::Prod,
];
const BITWISE: [Operation; 3] = [Operation::Band, Operation::Bor, Operation::Bxor];

// Communicators

/// A communicator: its row number, its ranks in order, and its boards by label.
#[derive(Debug, Clone)]
pub struct Communicator {
    pub context: usize,
    pub ranks: Vec<usize>,
    pub boards: Vec<usize>,
    per_board: usize,
}

impl Communicator {
    /// Creates a communicator with the given ranks in random order. The boards get labels in random
    /// order, in the order of the ranks, or so that the ranks are in the order of Gray codes, which
    /// recursive halving requires.
    pub fn new(context: usize, ranks: Vec<usize>, per_board: usize, rng: &mut Random) -> Self {
        let mut boards: Vec<usize> = ranks.iter().map(|rank| rank / per_board).collect();
        boards.sort_unstable();
        boards.dedup();
        boards.shuffle(&mut **rng);
        let mut communicator = Self {
            context,
            ranks,
            boards,
            per_board,
        };
        if rng.random_bool(0.5) {
            communicator.sort(rng.random_bool(0.5));
        }
        communicator
    }

    /// Sorts the ranks by the labels of their boards, or by the numbers whose Gray codes are the
    /// labels.
    fn sort(&mut self, gray: bool) {
        let boards = self.boards.len();
        let number = |rank: &usize| {
            let label = self.label(*rank);
            let coded = (0..boards).position(|number| number ^ (number / 2) == label);
            if gray { coded.unwrap_or(label) } else { label }
        };
        let mut ranks = self.ranks.clone();
        ranks.sort_by_key(number);
        self.ranks = ranks;
    }

    /// Returns the method of halving. Halving requires that each board's blocks are contiguous, in
    /// order of labels or of the numbers whose Gray codes are the labels, and that all boards have
    /// equally many. Halving also requires that the number of boards is a power of two.
    fn halving(&self) -> Option<Algorithm> {
        let (ranks, boards) = (self.ranks.len(), self.boards.len());
        let lies = |label: fn(usize) -> usize| {
            let mut labels = (0..ranks).map(|place| label(place * boards / ranks));
            let found = self.ranks.iter().map(|&rank| self.label(rank));
            ranks % boards == 0 && found.eq(&mut labels)
        };
        if !boards.is_power_of_two() || lies(|number| number) {
            Some(Algorithm::Halving)
        } else if lies(|number| number ^ (number / 2)) {
            Some(Algorithm::Gray)
        } else {
            None
        }
    }

    /// One rank on each of the given boards, with labels in the same order.
    pub fn in_order(context: usize, boards: Vec<usize>, per_board: usize) -> Self {
        let ranks = boards.iter().map(|board| board * per_board).collect();
        Self {
            context,
            ranks,
            boards,
            per_board,
        }
    }

    /// Ranks with the given numbers on each of the given boards, with labels in the same order or
    /// Gray-coded.
    pub fn blocks(
        context: usize,
        boards: Vec<usize>,
        each: &[usize],
        gray: bool,
        per_board: usize,
    ) -> Self {
        let ranks = boards
            .iter()
            .flat_map(|&board| each.iter().map(move |rank| board * per_board + rank))
            .collect();
        let mut communicator = Self {
            context,
            ranks,
            boards,
            per_board,
        };
        communicator.sort(gray);
        communicator
    }

    /// A random communicator over all boards of a cluster.
    pub fn random(context: usize, boards: usize, per_board: usize, rng: &mut Random) -> Self {
        let mut ranks: Vec<usize> = (0..boards * per_board).collect();
        ranks.shuffle(&mut **rng);
        if rng.random_bool(0.7) {
            ranks.truncate(rng.random_range(1..=ranks.len()));
        }
        Self::new(context, ranks, per_board, rng)
    }

    /// Global ranks of the members on the board with this label, ascending.
    pub fn members(&self, label: usize) -> Vec<usize> {
        let mut members: Vec<usize> = self
            .ranks
            .iter()
            .copied()
            .filter(|rank| rank / self.per_board == self.boards[label])
            .collect();
        members.sort_unstable();
        members
    }

    fn label(&self, rank: usize) -> usize {
        let board = rank / self.per_board;
        self.boards
            .iter()
            .position(|&other| other == board)
            .unwrap_or(0)
    }

    /// Register writes that create the row on the board with this label.
    pub fn row(&self, label: usize, rng: &mut Random) -> Vec<(u32, u32)> {
        let members = self.members(label);
        let mut writes = vec![(rank::COMM_ROW, self.context as u32)];
        for (stage, partner) in partners(self.boards.len(), label).into_iter().enumerate() {
            let Some(partner) = partner else {
                continue;
            };
            // Any rank of the partner's board is valid, even one that is not a member.
            let on_board = self.boards[partner] * self.per_board;
            let rank = on_board + rng.random_range(0..self.per_board);
            writes.push((rank::COMM_PARTNER + 4 * stage as u32, rank as u32));
        }
        let mask: u32 = members
            .iter()
            .map(|rank| 1 << (rank % self.per_board))
            .sum();
        writes.push((rank::COMM_SHAPE, shape(self.boards.len(), label, mask)));
        writes
    }
}

/// For each stage, the partner of a label among `n` labels. A fold has the pairs of the tree. In
/// the stages after the fold, all remaining labels exchange, so labels beyond the tree's pairs
/// exchange at the same distance.
pub fn partners(n: usize, label: usize) -> Vec<Option<usize>> {
    let mut left = n;
    let partner = |pairs: Vec<(usize, usize)>| {
        let distance = pairs[0].1 - pairs[0].0;
        if left.is_power_of_two() {
            return (label < left).then_some(label ^ distance);
        }
        left = distance;
        let pair = pairs.iter().find(|pair| pair.0 == label || pair.1 == label);
        pair.map(|&(lower, upper)| lower + upper - label)
    };
    pairs(n).into_iter().map(partner).collect()
}

// Arithmetic

/// Number of words of an element.
pub fn width(datatype: Datatype) -> usize {
    match datatype {
        Datatype::F64 | Datatype::I64 | Datatype::U64 => 2,
        Datatype::F32 | Datatype::I32 | Datatype::U32 | Datatype::Software => 1,
    }
}

/// `a op b`, element by element.
pub fn combine(operation: Operation, datatype: Datatype, a: &[u32], b: &[u32]) -> Vec<u32> {
    let join = |words: &[u32]| {
        let words = words.iter().rev();
        words.fold(0, |value, &word| value << 32 | u64::from(word))
    };
    let lanes = a.chunks(2).zip(b.chunks(2)).enumerate();
    let mut result: Vec<u32> = lanes
        .map(|(lane, (a, b))| reference(operation, datatype, lane, join(a), join(b)))
        .flat_map(|lane| [lane as u32, (lane >> 32) as u32])
        .collect();
    result.truncate(a.len());
    result
}

/// A random element as words. Most elements have similar magnitude, so that rounding depends on the
/// order. Some are special values.
fn element(datatype: Datatype, rng: &mut Random) -> Vec<u32> {
    let special = rng.random_bool(0.05);
    let value = rng.random_range(-1.0e6..1.0e6) * 10f64.powi(rng.random_range(-4..4));
    match datatype {
        Datatype::F64 => {
            let any = f64::from_bits(rng.random());
            let choice = [
                0.0,
                -0.0,
                f64::INFINITY,
                f64::NEG_INFINITY,
                -f64::NAN,
                5e-324,
                any,
            ];
            let value = if special {
                *choice.choose(&mut **rng).unwrap_or(&0.0)
            } else {
                value
            };
            vec![value.to_bits() as u32, (value.to_bits() >> 32) as u32]
        }
        Datatype::F32 => {
            let any = f32::from_bits(rng.random());
            let choice = [
                0.0,
                -0.0,
                f32::INFINITY,
                f32::NEG_INFINITY,
                -f32::NAN,
                1e-45,
                any,
            ];
            let value = if special {
                *choice.choose(&mut **rng).unwrap_or(&0.0)
            } else {
                value as f32
            };
            vec![value.to_bits()]
        }
        _ => (0..width(datatype))
            .map(|_| if special { u32::MAX } else { rng.random() })
            .collect(),
    }
}

// Calls

/// A collective as called by one member.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    pub collective: Collective,
    pub operation: Operation,
    pub datatype: Datatype,
    /// Number of elements of a block.
    pub count: usize,
    /// Position of the root in the communicator.
    pub root: usize,
    /// Whether to use recursive halving for reduce_scatter or scatter, if the communicator permits
    /// it.
    pub halving: bool,
}

/// A member's operands.
#[derive(Debug, Clone, Default)]
pub struct Part {
    pub first: usize,
    pub words: usize,
    pub low: usize,
    pub high: usize,
    pub count: u32,
    pub what: u32,
}

impl Call {
    /// A random call with about `words` words in total.
    pub fn random(members: usize, words: usize, rng: &mut Random) -> Self {
        let collective = *Collective::ALL
            .choose(&mut **rng)
            .unwrap_or(&Collective::Barrier);
        let datatype = *DATATYPES.choose(&mut **rng).unwrap_or(&Datatype::U32);
        let mut operations = ARITHMETIC.to_vec();
        if !matches!(datatype, Datatype::F64 | Datatype::F32) {
            operations.extend(BITWISE);
        }
        let operation = *operations.choose(&mut **rng).unwrap_or(&Operation::Sum);
        let blocks = if matches!(
            collective,
            Collective::Reduce | Collective::Allreduce | Collective::Bcast | Collective::Barrier
        ) {
            1
        } else {
            members
        };
        let most = words / width(datatype) / blocks;
        let most = if rng.random_bool(0.3) {
            most.min(9)
        } else {
            most
        };
        Self {
            collective,
            operation,
            datatype,
            count: rng.random_range(0..=most),
            root: rng.random_range(0..members),
            halving: rng.random_bool(0.7),
        }
    }

    fn rooted(self) -> bool {
        use Collective::{Bcast, Gather, Reduce, Scatter};
        matches!(self.collective, Reduce | Bcast | Scatter | Gather)
    }

    /// Value of C_WHAT.
    pub fn what(self, communicator: &Communicator) -> u32 {
        let halving = match self.collective {
            Collective::ReduceScatter | Collective::Scatter if self.halving => {
                communicator.halving()
            }
            _ => None,
        };
        let algorithm = halving.unwrap_or(match self.collective {
            _ if self.rooted() => Algorithm::Tree,
            _ => Algorithm::Doubling,
        });
        let mut what = self.collective as u32 | (algorithm as u32) << 4;
        if matches!(
            self.collective,
            Collective::Reduce | Collective::Allreduce | Collective::ReduceScatter
        ) {
            what |= (self.operation as u32) << 8;
        }
        if self.collective != Collective::Barrier {
            what |= (self.datatype as u32) << 12;
        }
        if self.rooted() {
            let root = communicator.ranks[self.root];
            what |= (communicator.label(root) as u32) << 16 | (root as u32) << 24;
        }
        what
    }

    /// Source and destination of the member at position `me`.
    pub fn part(self, communicator: &Communicator, me: usize) -> Part {
        let n = self.count * width(self.datatype);
        let all = n * communicator.ranks.len();
        let root = me == self.root;
        let block = me * n..(me + 1) * n;
        let (given, kept) = match self.collective {
            Collective::Barrier | Collective::Software => (0..0, 0..0),
            Collective::Reduce => (0..n, if root { 0..n } else { 0..0 }),
            Collective::Allreduce => (0..n, 0..n),
            Collective::ReduceScatter => (0..all, block),
            Collective::Bcast if root => (0..n, 0..0),
            Collective::Bcast => (0..0, 0..n),
            Collective::Scatter => (if root { 0..all } else { 0..0 }, block),
            Collective::Gather => (block, if root { 0..all } else { 0..0 }),
            Collective::Allgather => (block, 0..all),
        };
        Part {
            first: given.start,
            words: given.len(),
            low: kept.start,
            high: kept.end,
            count: self.count as u32,
            what: self.what(communicator),
        }
    }

    /// Data for the words that a member contributes.
    pub fn data(self, words: usize, rng: &mut Random) -> Vec<u32> {
        let mut data = Vec::with_capacity(words + 1);
        while data.len() < words {
            data.extend(element(self.datatype, rng));
        }
        data.truncate(words);
        data
    }

    /// The message. Every member keeps its range of the message.
    pub fn message(self, communicator: &Communicator, given: &[Vec<u32>]) -> Vec<u32> {
        match self.collective {
            Collective::Barrier | Collective::Software => Vec::new(),
            Collective::Reduce | Collective::Allreduce | Collective::ReduceScatter => {
                self.tree(communicator, given)
            }
            Collective::Bcast | Collective::Scatter => given[self.root].clone(),
            Collective::Gather | Collective::Allgather => given.concat(),
        }
    }

    fn tree(self, communicator: &Communicator, given: &[Vec<u32>]) -> Vec<u32> {
        let op = |a: &Vec<u32>, b: &Vec<u32>| combine(self.operation, self.datatype, a, b);
        let place = |rank: usize| {
            communicator
                .ranks
                .iter()
                .position(|&other| other == rank)
                .unwrap_or_default()
        };
        let labels = 0..communicator.boards.len();
        let mut sums: Vec<Vec<u32>> = labels
            .map(|label| {
                let members = communicator.members(label);
                let mut vectors = members.into_iter().map(|rank| given[place(rank)].clone());
                let first = vectors.next().unwrap_or_default();
                vectors.fold(first, |sum, next| op(&sum, &next))
            })
            .collect();
        for pairs in pairs(sums.len()) {
            for (lower, upper) in pairs {
                sums[lower] = op(&sums[lower], &sums[upper]);
            }
        }
        sums.swap_remove(0)
    }
}

/// Expected status of a collective with these members' operands.
pub fn verdict(parts: &[Part]) -> Status {
    let differs = |mask: u32| {
        parts
            .iter()
            .any(|part| (part.what ^ parts[0].what) & mask != 0)
    };
    if differs(0x0000_000f) {
        Status::Mismatch
    } else if differs(0xffff_0000) {
        Status::OtherRoot
    } else if differs(0x0000_7000) {
        Status::OtherType
    } else if differs(0x0000_0f00) {
        Status::OtherOperation
    } else if parts.iter().any(|part| part.count != parts[0].count) {
        Status::OtherCount
    } else if differs(0x0000_0030) {
        Status::Mismatch
    } else {
        Status::Ok
    }
}
