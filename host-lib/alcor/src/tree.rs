//! The fixed order in which a reduction combines.

use alcor_abi::Algorithm;

use crate::{GlobalRank, Topology};

/// A board that has members of a communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeBoard {
    /// The board's number.
    pub board: u32,
    /// The members on the board, in ascending local rank.
    pub members: Vec<GlobalRank>,
}

/// A stage of the tree. Each `lower` label combines with its `upper` label, in this order.
///
/// # Examples
/// ```
/// use alcor::Stage;
///
/// // Three boards: board 2 folds onto board 0.
/// let fold = Stage { distance: 2, pairs: 1, labels: 3 };
/// assert!(fold.is_fold());
/// assert_eq!((fold.partner(0), fold.partner(2), fold.partner(1)), (Some(2), Some(0), None));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    /// Distance of the two labels of a pair.
    pub distance: u32,
    /// Pairs: labels 0 to `pairs` - 1 with labels `distance` to `distance + pairs` - 1.
    pub pairs: u32,
    /// Labels that take part if all labels need the result: 0 to `labels` - 1. Without a fold, each
    /// of them exchanges data with the label that differs in the bit `distance`. So all of them
    /// have the same x\[i\] = x\[0\] at the end.
    pub labels: u32,
}

impl Stage {
    /// Returns whether upper labels only fold onto lower ones, because the number of labels is no
    /// power of two.
    #[must_use]
    pub fn is_fold(&self) -> bool {
        self.pairs < self.distance
    }

    /// Returns the partner of `label`, if the stage pairs the label.
    #[must_use]
    pub fn partner(&self, label: u32) -> Option<u32> {
        let partner = label ^ self.distance;
        (label < self.labels && partner < self.labels).then_some(partner)
    }
}

/// The fixed tree of a communicator's reductions. A result depends on the tree and the data only,
/// never on timing or routes.
///
/// First the vectors of each board's members are combined in ascending local rank, from left to
/// right: ((m0 ∘ m1) ∘ m2) and so on. Then the results of the boards are combined over their
/// labels. In each of [`Tree::stages`], x\[i\] becomes x\[i\] ∘ x\[i + distance\] for all i <
/// `pairs`. x\[0\] is the result of reduce, allreduce and reduce_scatter, at every rank.
///
/// This is recursive doubling over the boards (Haghi et al. 2022, section 3.2). Boards beyond a
/// power of two are folded onto the first ones.
///
/// In the natural order, labels from 0 up name the boards by the lowest communicator rank of their
/// members. On a torus the labels may follow a Gray code of that order instead. The order with
/// fewer links between partners is used, and the natural order if both are equal.
///
/// # Examples
/// ```
/// # use alcor::{GlobalRank, Job, soft::SoftBoard};
/// # Job::new(SoftBoard::new(3))?.run(3, |rank| {
/// let world = rank.world()?;
/// let tree = world.tree();
/// assert_eq!(tree.boards().len(), 1);
/// assert_eq!(tree.boards()[0].members, [GlobalRank(0), GlobalRank(1), GlobalRank(2)]);
/// assert!(tree.stages().is_empty());
/// # Ok(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    boards: Vec<TreeBoard>,
    stages: Vec<Stage>,
}

impl Tree {
    /// Makes the tree over `members`, in the order of their ranks in the communicator, on boards of
    /// `ranks_per_board` ranks.
    pub(crate) fn new(members: &[GlobalRank], ranks_per_board: u32, topology: &Topology) -> Tree {
        let mut natural: Vec<TreeBoard> = Vec::new();
        for &member in members {
            let board = member.0 / ranks_per_board;
            match natural.iter_mut().find(|known| known.board == board) {
                Some(known) => known.members.push(member),
                None => natural.push(TreeBoard {
                    board,
                    members: vec![member],
                }),
            }
        }
        for board in &mut natural {
            board.members.sort_unstable();
        }
        let stages = stages(natural.len() as u32);
        let coded = gray_coded(&natural);
        let hops = |boards: &[TreeBoard]| total_hops(boards, &stages, topology);
        let boards = if hops(&coded) < hops(&natural) {
            coded
        } else {
            natural
        };
        Tree { boards, stages }
    }

    /// The boards with members, by label.
    #[must_use]
    pub fn boards(&self) -> &[TreeBoard] {
        &self.boards
    }

    /// The stages over the boards, in order.
    #[must_use]
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Returns the algorithm that halves the blocks of `members`. Recursive halving and a scatter
    /// by halves need the blocks in the order of the labels, or of the numbers whose Gray codes the
    /// labels are. They also need the same number of blocks on each board, and a power of two of
    /// boards. Returns `None` otherwise.
    pub(crate) fn halving(&self, members: &[GlobalRank]) -> Option<Algorithm> {
        let boards = self.boards.len();
        let each = members.len() / boards.max(1);
        let divides = boards > 1
            && boards.is_power_of_two()
            && self.boards.iter().all(|board| board.members.len() == each);
        let lies = |label: fn(usize) -> usize| {
            let in_order = (0..boards).flat_map(|index| &self.boards[label(index)].members);
            divides && in_order.eq(members)
        };
        if lies(|index| index) {
            Some(Algorithm::Halving)
        } else if lies(|index| index ^ index >> 1) {
            Some(Algorithm::Gray)
        } else {
            None
        }
    }

    /// Returns the label of `member`'s board, and the position of `member` among the members of the
    /// board.
    pub(crate) fn place(&self, member: GlobalRank) -> Option<(u32, usize)> {
        (0..).zip(&self.boards).find_map(|(label, board)| {
            let place = board.members.binary_search(&member).ok()?;
            Some((label, place))
        })
    }

    /// Returns the member that represents the board at `label`: the member of lowest local rank.
    pub(crate) fn leader(&self, label: u32) -> GlobalRank {
        self.boards[label as usize].members[0]
    }
}

/// Makes the stages over `labels` labels. While the number is no power of two, the upper labels
/// fold onto the lower ones.
fn stages(labels: u32) -> Vec<Stage> {
    let mut left = labels;
    let mut stages: Vec<Stage> = Vec::new();
    while left > 1 {
        let distance = left.next_power_of_two() / 2;
        stages.push(Stage {
            distance,
            pairs: left - distance,
            labels: match stages.last() {
                // The upper labels of a fold have finished. Those of an exchange have not.
                Some(last) if !last.is_fold() => last.labels,
                _ => left,
            },
        });
        left = distance;
    }
    stages
}

/// Orders the boards so that neighbours in the natural order have labels that differ in one bit.
fn gray_coded(natural: &[TreeBoard]) -> Vec<TreeBoard> {
    let mut coded: Vec<(usize, &TreeBoard)> = natural
        .iter()
        .enumerate()
        .map(|(index, board)| (index ^ index >> 1, board))
        .collect();
    coded.sort_by_key(|&(code, _)| code);
    coded.into_iter().map(|(_, board)| board.clone()).collect()
}

fn total_hops(boards: &[TreeBoard], stages: &[Stage], topology: &Topology) -> u32 {
    let board = |label: u32| boards[label as usize].board;
    let of_stage = |stage: &Stage| -> u32 {
        (0..stage.labels)
            .filter_map(|label| Some(topology.hops(board(label), board(stage.partner(label)?))))
            .sum()
    };
    stages.iter().map(of_stage).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(dims: &[u32], members: &[u32]) -> Vec<u32> {
        let members: Vec<GlobalRank> = members.iter().copied().map(GlobalRank).collect();
        let topology = Topology::torus(dims).expect("it is a torus");
        let tree = Tree::new(&members, 1, &topology);
        tree.boards().iter().map(|board| board.board).collect()
    }

    #[test]
    fn stages_halve_the_labels() {
        let shape = |labels| {
            let stages = stages(labels);
            stages
                .iter()
                .map(|stage| (stage.distance, stage.pairs))
                .collect::<Vec<_>>()
        };
        assert_eq!(shape(1), []);
        assert_eq!(shape(2), [(1, 1)]);
        assert_eq!(shape(3), [(2, 1), (1, 1)]);
        assert_eq!(shape(6), [(4, 2), (2, 2), (1, 1)]);
        assert_eq!(shape(8), [(4, 4), (2, 2), (1, 1)]);
        for labels in 1..256u32 {
            assert_eq!(
                stages(labels).len() as u32,
                labels.next_power_of_two().ilog2()
            );
        }
    }

    #[test]
    fn a_ring_is_gray_coded_and_a_torus_of_two_boards_a_dimension_is_not() {
        assert_eq!(labels(&[4], &[0, 1, 2, 3]), [0, 1, 3, 2]);
        assert_eq!(
            labels(&[2, 2, 2], &[0, 1, 2, 3, 4, 5, 6, 7]),
            [0, 1, 2, 3, 4, 5, 6, 7]
        );
        assert_eq!(labels(&[3], &[2, 0, 1]), [2, 0, 1]);
        assert_eq!(labels(&[5], &[4, 2]), [4, 2]);
    }

    #[test]
    fn blocks_divide_in_the_order_of_labels_or_of_their_gray_codes() {
        let halving = |dims: &[u32], ranks_per_board, members: &[u32]| {
            let members: Vec<GlobalRank> = members.iter().copied().map(GlobalRank).collect();
            let topology = Topology::torus(dims).expect("it is a torus");
            Tree::new(&members, ranks_per_board, &topology).halving(&members)
        };
        let natural = Some(Algorithm::Halving);
        assert_eq!(halving(&[2, 2], 1, &[0, 1, 2, 3]), natural);
        assert_eq!(halving(&[2], 2, &[0, 1, 2, 3]), natural);
        assert_eq!(halving(&[4], 1, &[0, 1, 2, 3]), Some(Algorithm::Gray));
        // Blocks of a board that are not adjacent or not of equal number; boards that fold; one
        // board.
        assert_eq!(halving(&[2], 2, &[0, 2, 1, 3]), None);
        assert_eq!(halving(&[2], 2, &[0, 1, 2]), None);
        assert_eq!(halving(&[3], 1, &[0, 1, 2]), None);
        assert_eq!(halving(&[2], 2, &[0, 1]), None);
    }

    #[test]
    fn members_of_a_board_are_in_ascending_order_whatever_the_communicators() {
        let members: Vec<GlobalRank> = [5, 1, 4, 0].map(GlobalRank).to_vec();
        let topology = Topology::torus(&[3]).expect("it is a ring");
        let tree = Tree::new(&members, 2, &topology);
        assert_eq!(tree.boards()[0].board, 2);
        assert_eq!(tree.boards()[0].members, [GlobalRank(4), GlobalRank(5)]);
        assert_eq!(tree.place(GlobalRank(1)), Some((1, 1)));
        assert_eq!(tree.place(GlobalRank(2)), None);
        assert_eq!(tree.leader(1), GlobalRank(0));
    }

    #[test]
    fn partners_pair_up() {
        for count in 2..40u32 {
            let power = 1 << count.ilog2();
            for stage in stages(count) {
                for label in 0..count {
                    let expected = if !stage.is_fold() {
                        (label < power).then_some(label ^ stage.distance)
                    } else if label >= power {
                        Some(label - power)
                    } else {
                        (label < count - power).then_some(label + power)
                    };
                    assert_eq!(stage.partner(label), expected);
                }
            }
        }
    }
}
