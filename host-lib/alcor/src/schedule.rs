//! Collectives in software as lists of steps: sends and receives.
//!
//! A rank works on one buffer of bytes. Steps send from the buffer, and store into it or combine
//! with it. A send never waits. Messages between two ranks keep their order. So the k-th receiving
//! step from a rank gets the data of that rank's k-th sending step to this rank.

use std::ops::Range;

use crate::GlobalRank;
use crate::tree::Tree;

/// A step of a rank's part of a collective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Sends a part of the buffer.
    Send(GlobalRank, Range<usize>),
    /// Stores the received data in a part of the buffer.
    Store(GlobalRank, Range<usize>),
    /// Combines the received data with the whole buffer.
    Combine(GlobalRank),
    /// Combines the second part of the buffer with the first.
    Fold(Range<usize>, Range<usize>),
}

/// Maximum length of a vector that each member sends to all others, in bytes.
const DIRECT_BYTES: usize = 64;
/// Maximum number of members that send to all others.
pub(crate) const DIRECT_MEMBERS: usize = 8;

/// A rank's part of a collective.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Schedule {
    /// The steps, in order.
    pub(crate) steps: Vec<Step>,
    /// Size of the buffer in bytes.
    pub(crate) buffer: usize,
    /// Copies from the source to the buffer before the first step: from, to.
    pub(crate) load: Vec<(Range<usize>, usize)>,
    /// Copies from the buffer to the destination after the last step: from, to.
    pub(crate) keep: Vec<(Range<usize>, usize)>,
}

/// The members of a communicator, and the member whose schedule is computed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group<'a> {
    pub(crate) members: &'a [GlobalRank],
    pub(crate) tree: &'a Tree,
    /// Rank of this member in the communicator.
    pub(crate) me: usize,
}

impl Group<'_> {
    fn size(&self) -> usize {
        self.members.len()
    }

    /// Returns the member `steps` ranks after `member`, cyclically.
    fn after(&self, member: usize, steps: usize) -> GlobalRank {
        self.members[(member + steps) % self.size()]
    }

    /// Returns the distance of this member from the root, cyclically.
    fn distance_from(&self, root: usize) -> usize {
        (self.me + self.size() - root) % self.size()
    }

    fn place(&self) -> (u32, usize) {
        // A communicator's tree contains all of its members.
        self.tree.place(self.members[self.me]).unwrap_or_default()
    }

    /// Adds the reduction on this rank's board. The leader has the result afterwards; other members
    /// have sent their parts to it. Returns whether this rank is the leader.
    fn reduce_on_board(&self, steps: &mut Vec<Step>, bytes: usize) -> bool {
        let (label, place) = self.place();
        let board = &self.tree.boards()[label as usize];
        match place {
            0 => steps.extend(board.members[1..].iter().copied().map(Step::Combine)),
            _ => steps.push(Step::Send(board.members[0], 0..bytes)),
        }
        place == 0
    }

    /// Combines short vectors of a few members. Each member sends its vector to all others, and
    /// combines all vectors in the order of the tree. So no message waits for another.
    fn direct_allreduce(&self, bytes: usize) -> Schedule {
        let me = self.members[self.me];
        let boards = self.tree.boards();
        let members = || boards.iter().flat_map(|board| &board.members);
        let vector = |place: usize| place * bytes..(place + 1) * bytes;
        let mine = vector(
            members()
                .position(|&member| member == me)
                .unwrap_or_default(),
        );
        let others = || (0..).zip(members()).filter(|&(_, &member)| member != me);
        let mut steps: Vec<Step> = others()
            .map(|(_, &to)| Step::Send(to, mine.clone()))
            .collect();
        steps.extend(others().map(|(place, &from)| Step::Store(from, vector(place))));
        // The places of the boards' sums.
        let mut sums = Vec::new();
        let mut place = 0;
        for board in boards {
            let end = place + board.members.len();
            steps.extend((place + 1..end).map(|other| Step::Fold(vector(place), vector(other))));
            sums.push(place);
            place = end;
        }
        for stage in self.tree.stages() {
            let pairs =
                (0..stage.pairs as usize).map(|i| (sums[i], sums[i + stage.distance as usize]));
            steps.extend(pairs.map(|(sum, other)| Step::Fold(vector(sum), vector(other))));
        }
        Schedule {
            steps,
            buffer: place * bytes,
            load: vec![(0..bytes, mine.start)],
            keep: vec![(0..bytes, 0)],
        }
    }

    /// Combines vectors of `bytes` bytes by the tree. Every rank gets the result.
    pub(crate) fn allreduce(&self, bytes: usize) -> Schedule {
        if bytes <= DIRECT_BYTES && self.size() <= DIRECT_MEMBERS {
            return self.direct_allreduce(bytes);
        }
        let (label, _) = self.place();
        let board = &self.tree.boards()[label as usize];
        let mut steps = Vec::new();
        if self.reduce_on_board(&mut steps, bytes) {
            let mut folded = None;
            for stage in self.tree.stages() {
                let Some(partner) = stage.partner(label).filter(|_| folded.is_none()) else {
                    continue;
                };
                let partner_rank = self.tree.leader(partner);
                if !stage.is_fold() {
                    steps.push(Step::Send(partner_rank, 0..bytes));
                    steps.push(Step::Combine(partner_rank));
                } else if partner > label {
                    steps.push(Step::Combine(partner_rank));
                } else {
                    steps.push(Step::Send(partner_rank, 0..bytes));
                    folded = Some(partner_rank);
                }
            }
            if let Some(lower) = folded {
                steps.push(Step::Store(lower, 0..bytes));
            }
            let upper = self
                .tree
                .stages()
                .first()
                .filter(|stage| stage.is_fold())
                .and_then(|stage| stage.partner(label))
                .filter(|&partner| partner > label);
            let others = upper.map(|upper| self.tree.leader(upper));
            let below = others.into_iter().chain(board.members[1..].iter().copied());
            steps.extend(below.map(|member| Step::Send(member, 0..bytes)));
        } else {
            steps.push(Step::Store(board.members[0], 0..bytes));
        }
        Schedule {
            steps,
            buffer: bytes,
            load: vec![(0..bytes, 0)],
            keep: vec![(0..bytes, 0)],
        }
    }

    /// As [`Group::allreduce`], but each rank keeps its own block of the result only.
    pub(crate) fn reduce_scatter(&self, block: usize) -> Schedule {
        let mut schedule = self.allreduce(block * self.size());
        let mine = self.me * block;
        schedule.keep = vec![(mine..mine + block, 0)];
        schedule
    }

    /// As [`Group::allreduce`], but only the root gets the result.
    pub(crate) fn reduce(&self, bytes: usize, root: usize) -> Schedule {
        let root = self.members[root];
        let me = self.members[self.me];
        let (label, _) = self.place();
        let (root_label, _) = self.tree.place(root).unwrap_or_default();
        let mut steps = Vec::new();
        let mut holds = self.reduce_on_board(&mut steps, bytes);
        // The label with the result: the root's label, or the label onto which it folds.
        let mut last = root_label;
        for stage in self.tree.stages() {
            if stage.is_fold() && last >= stage.distance {
                last -= stage.distance;
            }
            let Some(partner) = stage.partner(label).filter(|_| holds) else {
                continue;
            };
            let keeps = if stage.is_fold() {
                label < partner
            } else {
                label & stage.distance == last & stage.distance
            };
            let partner = self.tree.leader(partner);
            if keeps {
                steps.push(Step::Combine(partner));
            } else {
                steps.push(Step::Send(partner, 0..bytes));
            }
            holds = keeps;
        }
        // Send the result from its holder to the root.
        let holder = self.tree.leader(last);
        if holder != root {
            if me == holder {
                steps.push(Step::Send(root, 0..bytes));
            } else if me == root {
                steps.push(Step::Store(holder, 0..bytes));
            }
        }
        Schedule {
            steps,
            buffer: bytes,
            load: vec![(0..bytes, 0)],
            keep: if me == root {
                vec![(0..bytes, 0)]
            } else {
                Vec::new()
            },
        }
    }

    /// Copies `bytes` bytes of the root to every rank, down a binomial tree.
    pub(crate) fn bcast(&self, bytes: usize, root: usize) -> Schedule {
        let distance = self.distance_from(root);
        let mut steps = Vec::new();
        let mut step = self.parent_distance(distance);
        if distance != 0 {
            steps.push(Step::Store(self.after(root, distance - step), 0..bytes));
        }
        while step > 1 {
            step /= 2;
            if distance + step < self.size() {
                steps.push(Step::Send(self.after(root, distance + step), 0..bytes));
            }
        }
        let copied = |here: bool| {
            if here {
                vec![(0..bytes, 0)]
            } else {
                Vec::new()
            }
        };
        Schedule {
            steps,
            buffer: bytes,
            load: copied(distance == 0),
            keep: copied(distance != 0),
        }
    }

    /// Returns the distance of a rank from its parent in the binomial tree. For the root, returns
    /// the smallest power of two that is not below the number of ranks. The subtree of the rank has
    /// this number of ranks, or fewer at the end.
    fn parent_distance(&self, distance: usize) -> usize {
        match distance {
            0 => self.size().next_power_of_two(),
            _ => 1 << distance.trailing_zeros(),
        }
    }

    /// Number of ranks in the subtree of a rank.
    fn subtree(&self, distance: usize) -> usize {
        self.parent_distance(distance).min(self.size() - distance)
    }

    /// Collects a block of each rank at the root, up a binomial tree.
    pub(crate) fn gather(&self, block: usize, root: usize) -> Schedule {
        let distance = self.distance_from(root);
        let parent = self.parent_distance(distance);
        let mut steps = Vec::new();
        let mut step = 1;
        while step < parent && distance + step < self.size() {
            let child = distance + step;
            let at = step * block;
            let bytes = self.subtree(child) * block;
            steps.push(Step::Store(self.after(root, child), at..at + bytes));
            step *= 2;
        }
        let buffer = self.subtree(distance) * block;
        if distance != 0 {
            steps.push(Step::Send(self.after(root, distance - parent), 0..buffer));
        }
        Schedule {
            steps,
            buffer,
            load: vec![(0..block, 0)],
            keep: match distance {
                0 => self.rotated(root, block),
                _ => Vec::new(),
            },
        }
    }

    /// Distributes the root's blocks, one to each rank, down a binomial tree.
    pub(crate) fn scatter(&self, block: usize, root: usize) -> Schedule {
        let distance = self.distance_from(root);
        let parent = self.parent_distance(distance);
        let buffer = self.subtree(distance) * block;
        let mut steps = Vec::new();
        if distance != 0 {
            steps.push(Step::Store(self.after(root, distance - parent), 0..buffer));
        }
        let mut step = parent / 2;
        while step > 0 {
            let child = distance + step;
            if child < self.size() {
                let at = step * block;
                let bytes = self.subtree(child) * block;
                steps.push(Step::Send(self.after(root, child), at..at + bytes));
            }
            step /= 2;
        }
        // A gather's final copies in reverse.
        let turn = |(from, to): (Range<usize>, usize)| (to..to + from.len(), from.start);
        Schedule {
            steps,
            buffer,
            load: match distance {
                0 => self.rotated(root, block).into_iter().map(turn).collect(),
                _ => Vec::new(),
            },
            keep: vec![(0..block, 0)],
        }
    }

    /// Collects a block of each rank at every rank. The number of blocks doubles in every round
    /// (Bruck).
    pub(crate) fn allgather(&self, block: usize) -> Schedule {
        let size = self.size();
        let mut steps = Vec::new();
        let mut known = 1;
        while known < size {
            let count = known.min(size - known);
            let at = known * block;
            steps.push(Step::Send(
                self.after(self.me, size - known),
                0..count * block,
            ));
            steps.push(Step::Store(
                self.after(self.me, known),
                at..at + count * block,
            ));
            known += count;
        }
        Schedule {
            steps,
            buffer: size * block,
            load: vec![(0..block, 0)],
            keep: self.rotated(self.me, block),
        }
    }

    /// Sends a block of each rank to each other rank. Round k goes to the rank k places after this
    /// one, so that each rank receives from one other rank per round.
    pub(crate) fn alltoall(&self, block: usize) -> Schedule {
        let size = self.size();
        let part = |member: usize| member * block..(member + 1) * block;
        // The blocks of the source come first in the buffer, then the received ones.
        let received = |member: usize| part(size + member);
        let mut steps = Vec::new();
        for round in 1..size {
            let (to, from) = (self.me + round, self.me + size - round);
            steps.push(Step::Send(self.after(to, 0), part(to % size)));
            steps.push(Step::Store(self.after(from, 0), received(from % size)));
        }
        Schedule {
            steps,
            buffer: 2 * size * block,
            load: vec![
                (0..size * block, 0),
                (part(self.me), received(self.me).start),
            ],
            keep: vec![(size * block..2 * size * block, 0)],
        }
    }

    /// Copies that put blocks into the order of ranks. The first block is that of `first`.
    fn rotated(&self, first: usize, block: usize) -> Vec<(Range<usize>, usize)> {
        let end = self.size() * block;
        let turn = (self.size() - first) * block;
        vec![(0..turn, first * block), (turn..end, 0)]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, VecDeque};

    use super::*;
    use crate::Topology;

    /// Executes schedules on vectors of strings, one byte per element. A string shows the order of
    /// combination.
    #[derive(Clone)]
    struct Machine {
        buffers: Vec<Vec<String>>,
        at: Vec<usize>,
        wires: HashMap<(GlobalRank, GlobalRank), VecDeque<Vec<String>>>,
    }

    fn combine(mine: &mut [String], theirs: Vec<String>) {
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            let (a, b) = (mine.clone().min(theirs.clone()), mine.clone().max(theirs));
            *mine = format!("({a}{b})");
        }
    }

    /// Runs the schedules of all members in an order derived from `seed`. Returns the results by
    /// rank.
    fn run(
        members: &[GlobalRank],
        parts: &[Schedule],
        sources: &[Vec<String>],
        seed: usize,
    ) -> Vec<Vec<String>> {
        let mut machine = Machine {
            buffers: parts
                .iter()
                .zip(sources)
                .map(|(part, source)| {
                    let mut buffer = vec![String::new(); part.buffer];
                    for (from, to) in &part.load {
                        buffer[*to..to + from.len()].clone_from_slice(&source[from.clone()]);
                    }
                    buffer
                })
                .collect(),
            at: vec![0; parts.len()],
            wires: HashMap::new(),
        };
        let mut turn = seed as u64;
        let mut idle = 0;
        while idle < 50 * parts.len() {
            turn = turn
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let who = (turn >> 33) as usize % parts.len();
            let me = members[who];
            let Some(step) = parts[who].steps.get(machine.at[who]) else {
                idle += 1;
                continue;
            };
            let mut take = |from: &GlobalRank| machine.wires.get_mut(&(*from, me))?.pop_front();
            match step {
                Step::Send(to, range) => {
                    let data = machine.buffers[who][range.clone()].to_vec();
                    machine.wires.entry((me, *to)).or_default().push_back(data);
                }
                Step::Store(from, range) => match take(from) {
                    Some(data) => machine.buffers[who][range.clone()].clone_from_slice(&data),
                    None => {
                        idle += 1;
                        continue;
                    }
                },
                Step::Fold(range, other) => {
                    let theirs = machine.buffers[who][other.clone()].to_vec();
                    combine(&mut machine.buffers[who][range.clone()], theirs);
                }
                Step::Combine(from) => match take(from) {
                    Some(data) => combine(&mut machine.buffers[who], data),
                    None => {
                        idle += 1;
                        continue;
                    }
                },
            }
            machine.at[who] += 1;
            idle = 0;
        }
        assert!(machine.wires.values().all(VecDeque::is_empty));
        parts
            .iter()
            .enumerate()
            .map(|(who, part)| {
                assert_eq!(machine.at[who], part.steps.len(), "rank {who} is stuck");
                let end = part.keep.iter().map(|(from, to)| to + from.len()).max();
                let mut kept = vec![String::new(); end.unwrap_or(0)];
                for (from, to) in &part.keep {
                    kept[*to..to + from.len()]
                        .clone_from_slice(&machine.buffers[who][from.clone()]);
                }
                kept
            })
            .collect()
    }

    /// Returns the tree's result. Operands are sorted, because all operations are commutative.
    fn reference(
        tree: &Tree,
        members: &[GlobalRank],
        sources: &[Vec<String>],
        element: usize,
    ) -> String {
        let of = |rank: &GlobalRank| {
            let who = members.iter().position(|member| member == rank).unwrap();
            sources[who][element].clone()
        };
        let join = |a: String, b: String| format!("({}{})", a.clone().min(b.clone()), a.max(b));
        let mut x: Vec<String> = tree
            .boards()
            .iter()
            .map(|board| board.members.iter().map(of).reduce(join).unwrap())
            .collect();
        for stage in tree.stages() {
            for i in 0..stage.pairs as usize {
                x[i] = join(x[i].clone(), x[i + stage.distance as usize].clone());
            }
        }
        x.swap_remove(0)
    }

    #[test]
    fn every_schedule_does_what_its_collective_says() {
        for size in 1..=13usize {
            for ranks_per_board in [1, 2, 3, 16] {
                let boards = (size as u32).div_ceil(ranks_per_board);
                let topology = match boards {
                    1 => Topology::single(),
                    _ => Topology::torus(&[boards]).unwrap(),
                };
                // Any order of members: here the odd ranks first.
                let members: Vec<GlobalRank> = (0..size as u32)
                    .filter(|rank| rank % 2 == 1)
                    .chain((0..size as u32).filter(|rank| rank % 2 == 0))
                    .map(GlobalRank)
                    .collect();
                let tree = Tree::new(&members, ranks_per_board, &topology);
                let group = |me| Group {
                    members: &members,
                    tree: &tree,
                    me,
                };
                let all = |part: &dyn Fn(Group<'_>) -> Schedule| {
                    (0..size).map(|me| part(group(me))).collect::<Vec<_>>()
                };
                let source = |length: usize| -> Vec<Vec<String>> {
                    (0..size)
                        .map(|me| (0..length).map(|i| format!("[{me}.{i}]")).collect())
                        .collect()
                };
                let (n, k) = (3, 2);
                let vectors = source(n);
                let sums: Vec<String> = (0..n)
                    .map(|i| reference(&tree, &members, &vectors, i))
                    .collect();
                for kept in run(&members, &all(&|group| group.allreduce(n)), &vectors, size) {
                    assert_eq!(kept, sums);
                }
                let blocks = source(k * size);
                let scattered = run(&members, &all(&|group| group.reduce_scatter(k)), &blocks, 3);
                for (me, kept) in scattered.into_iter().enumerate() {
                    let mine: Vec<String> = (me * k..(me + 1) * k)
                        .map(|i| reference(&tree, &members, &blocks, i))
                        .collect();
                    assert_eq!(kept, mine);
                }
                let pieces = source(k);
                let gathered: Vec<String> = pieces.concat();
                for kept in run(&members, &all(&|group| group.allgather(k)), &pieces, 5) {
                    assert_eq!(kept, gathered);
                }
                let exchanged = run(&members, &all(&|group| group.alltoall(k)), &blocks, 7);
                for (me, kept) in exchanged.into_iter().enumerate() {
                    let mine = |of: &Vec<String>| of[me * k..(me + 1) * k].to_vec();
                    let expected: Vec<String> = blocks.iter().flat_map(mine).collect();
                    assert_eq!(kept, expected);
                }
                for root in 0..size {
                    let at_root = |kept: Vec<Vec<String>>, expected: &[String]| {
                        for (me, kept) in kept.into_iter().enumerate() {
                            assert_eq!(kept, if me == root { expected } else { &[] });
                        }
                    };
                    at_root(
                        run(
                            &members,
                            &all(&|group| group.reduce(n, root)),
                            &vectors,
                            root,
                        ),
                        &sums,
                    );
                    at_root(
                        run(
                            &members,
                            &all(&|group| group.gather(k, root)),
                            &pieces,
                            root,
                        ),
                        &gathered,
                    );
                    let kept = run(
                        &members,
                        &all(&|group| group.bcast(n, root)),
                        &vectors,
                        root,
                    );
                    for (me, kept) in kept.into_iter().enumerate() {
                        assert_eq!(kept, if me == root { &[][..] } else { &vectors[root] });
                    }
                    let kept = run(
                        &members,
                        &all(&|group| group.scatter(k, root)),
                        &blocks,
                        root,
                    );
                    for (me, kept) in kept.into_iter().enumerate() {
                        assert_eq!(kept, blocks[root][me * k..(me + 1) * k]);
                    }
                }
            }
        }
    }
}
