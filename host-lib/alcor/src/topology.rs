//! Topologies of boards: the destination of each link.

use crate::{Error, Result};

/// The shape of a cluster: one board, a ring, or a torus of two or three dimensions.
///
/// Board number = x + X × (y + Y × z). Link port 2 × d leads to the next board of dimension d, and
/// port 2 × d + 1 to the previous one. Both ends wrap round. In a dimension of two boards, both
/// links join the same pair. Packets take dimension order, dimension 0 first, and the shorter
/// direction. If both directions have the same length, the parity of the destination selects the
/// port: 2 × d for an even sum of coordinates, 2 × d + 1 for an odd sum. So both directions carry
/// traffic.
///
/// Boards, ports and dimensions passed to the methods should exist. A board or port that does not
/// exist leads nowhere (`None`) or counts as board 0 of its dimension.
///
/// # Examples
/// ```
/// use alcor::Topology;
///
/// let torus = Topology::torus(&[3, 2])?;
/// assert_eq!((torus.boards(), torus.links()), (6, 4));
/// assert_eq!(torus.coordinates(5), [2, 1]);
/// assert_eq!(torus.neighbour(2, 0), Some((0, 1)));
/// assert!(torus.dateline(2, 0));
/// assert_eq!(torus.hops(0, 5), 2);
/// assert_eq!(torus.route(0, 5), Some(1));
/// # Ok::<(), alcor::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Topology {
    sizes: [u32; MAX_DIMENSIONS],
    dimensions: usize,
}

/// Maximum number of boards, limited by global ranks.
const MAX_BOARDS: u64 = 255;
/// Maximum number of dimensions. A board has at most six link ports.
const MAX_DIMENSIONS: usize = 3;

impl Topology {
    /// One board without links.
    ///
    /// # Examples
    /// ```
    /// use alcor::Topology;
    ///
    /// assert!(Topology::single().dims().is_empty());
    /// assert_eq!(Topology::torus(&[4, 2])?.dims(), [4, 2]);
    /// # Ok::<(), alcor::Error>(())
    /// ```
    #[must_use]
    pub fn single() -> Topology {
        Topology {
            sizes: [1; MAX_DIMENSIONS],
            dimensions: 0,
        }
    }

    /// Makes a ring (one dimension) or torus (two or three), from the number of boards in each
    /// dimension.
    ///
    /// # Errors
    /// [`Error::BadOption`] unless there are 1 to 3 dimensions of at least 2 boards, and at most
    /// 255 boards.
    pub fn torus(dims: &[u32]) -> Result<Topology> {
        let bad = |value, rule| Error::BadOption {
            option: "topology",
            value,
            rule,
        };
        if !(1..=MAX_DIMENSIONS).contains(&dims.len()) {
            return Err(bad(dims.len() as u64, "it has one to three dimensions"));
        }
        if let Some(&short) = dims.iter().find(|&&boards| boards < 2) {
            return Err(bad(u64::from(short), "a dimension has at least two boards"));
        }
        let boards = dims
            .iter()
            .fold(1u64, |all, &boards| all.saturating_mul(u64::from(boards)));
        if boards > MAX_BOARDS {
            return Err(bad(boards, "a cluster has at most 255 boards"));
        }
        let mut torus = Topology::single();
        torus.dimensions = dims.len();
        torus.sizes[..dims.len()].copy_from_slice(dims);
        Ok(torus)
    }

    /// Boards in each dimension; empty for a single board.
    #[must_use]
    pub fn dims(&self) -> &[u32] {
        &self.sizes[..self.dimensions]
    }

    /// Number of boards.
    #[must_use]
    pub fn boards(&self) -> u32 {
        self.dims().iter().product()
    }

    /// Number of link ports of each board: two for each dimension.
    #[must_use]
    pub fn links(&self) -> u32 {
        2 * self.dimensions as u32
    }

    /// Returns the board at the other end of `port` of `board`, and the port there.
    #[must_use]
    pub fn neighbour(&self, board: u32, port: u32) -> Option<(u32, u32)> {
        if board >= self.boards() || port >= self.links() {
            return None;
        }
        let dimension = (port / 2) as usize;
        let size = self.sizes[dimension];
        let mut at = self.coordinates(board);
        at[dimension] = match port % 2 {
            0 => (at[dimension] + 1) % size,
            _ => (at[dimension] + size - 1) % size,
        };
        Some((self.board_at(&at), port ^ 1))
    }

    /// Coordinates of a board, dimension 0 first.
    #[must_use]
    pub fn coordinates(&self, board: u32) -> Vec<u32> {
        let mut rest = board;
        self.dims()
            .iter()
            .map(|&size| {
                let at = rest % size;
                rest /= size;
                at
            })
            .collect()
    }

    fn board_at(&self, at: &[u32]) -> u32 {
        let (board, _) = self
            .dims()
            .iter()
            .zip(at)
            .fold((0, 1), |(board, step), (&size, &at)| {
                (board + at * step, step * size)
            });
        board
    }

    /// Number of links on the path from one board to another.
    #[must_use]
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        self.dims()
            .iter()
            .zip(self.coordinates(from).into_iter().zip(self.coordinates(to)))
            .map(|(&size, (from, to))| {
                let ahead = (to + size - from) % size;
                ahead.min(size - ahead)
            })
            .sum()
    }

    /// Returns the port by which packets for board `to` leave board `from`; `None` if the boards
    /// are the same.
    #[must_use]
    pub fn route(&self, from: u32, to: u32) -> Option<u32> {
        let (here, there) = (self.coordinates(from), self.coordinates(to));
        let even = there.iter().sum::<u32>().is_multiple_of(2);
        (0..).zip(self.dims()).find_map(|(dimension, &size)| {
            let index = dimension as usize;
            let ahead = (there[index] + size - here[index]) % size;
            let backward = match (2 * ahead).cmp(&size) {
                std::cmp::Ordering::Less => false,
                std::cmp::Ordering::Equal => !even,
                std::cmp::Ordering::Greater => true,
            };
            (ahead != 0).then_some(2 * dimension + u32::from(backward))
        })
    }

    /// Returns whether the link at `port` of `board` closes its ring. Packets change the virtual
    /// channel on this link. So packets never wait for each other round the ring.
    #[must_use]
    pub fn dateline(&self, board: u32, port: u32) -> bool {
        let dimension = (port / 2) as usize;
        let Some(&size) = self.dims().get(dimension) else {
            return false;
        };
        let at = self.coordinates(board)[dimension];
        match port % 2 {
            0 => at == size - 1,
            _ => at == 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes() -> Vec<Topology> {
        let dims: [&[u32]; 7] = [&[2], &[3], &[4], &[5], &[2, 3], &[2, 2, 2], &[4, 3, 2]];
        dims.iter()
            .map(|dims| Topology::torus(dims).expect("it is a torus"))
            .collect()
    }

    #[test]
    fn links_have_two_ends() {
        for shape in shapes() {
            for board in 0..shape.boards() {
                for port in 0..shape.links() {
                    let (other, back) = shape.neighbour(board, port).unwrap();
                    assert_ne!(other, board);
                    assert_eq!(shape.neighbour(other, back), Some((board, port)));
                    assert_eq!(shape.dateline(board, port), shape.dateline(other, back));
                }
                assert_eq!(shape.neighbour(board, shape.links()), None);
            }
        }
    }

    #[test]
    fn routes_are_minimal_and_go_through_the_dimensions_in_order() {
        for shape in shapes() {
            for from in 0..shape.boards() {
                for to in 0..shape.boards() {
                    let (mut at, mut taken, mut dimension) = (from, 0, 0);
                    while let Some(port) = shape.route(at, to) {
                        assert!(port / 2 >= dimension);
                        dimension = port / 2;
                        at = shape.neighbour(at, port).unwrap().0;
                        taken += 1;
                    }
                    assert_eq!((at, taken), (to, shape.hops(from, to)));
                    assert_eq!(shape.hops(from, to), shape.hops(to, from));
                }
            }
        }
    }

    #[test]
    fn both_directions_are_used_where_both_are_as_long() {
        for shape in shapes() {
            let mut used = vec![false; shape.links() as usize];
            for from in 0..shape.boards() {
                for to in 0..shape.boards() {
                    if let Some(port) = shape.route(from, to) {
                        used[port as usize] = true;
                    }
                }
            }
            assert!(used.iter().all(|&used| used), "{shape:?}");
        }
    }

    #[test]
    fn what_is_no_torus_is_refused() {
        for dims in [&[][..], &[1], &[2, 1], &[2, 2, 2, 2], &[16, 16]] {
            assert!(Topology::torus(dims).is_err(), "{dims:?}");
        }
        let single = Topology::single();
        assert_eq!((single.boards(), single.links()), (1, 0));
        assert_eq!((single.route(0, 0), single.hops(0, 0)), (None, 0));
    }
}
