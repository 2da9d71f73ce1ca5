//! Sets of ranks.

/// How many ranks boards can have together: a network header and the forwarding tables tell as many apart.
pub(crate) const SEATS: u32 = 256;

/// A set of ranks of all boards, by the number of their seat: board x ranks a board + local rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seats([u64; SEATS as usize / 64]);

impl Seats {
    pub(crate) fn insert(&mut self, seat: usize) {
        self.0[seat / 64] |= 1 << (seat % 64);
    }

    pub(crate) fn remove(&mut self, seat: usize) {
        self.0[seat / 64] &= !(1 << (seat % 64));
    }

    pub(crate) fn contains(&self, seat: usize) -> bool {
        self.0[seat / 64] >> (seat % 64) & 1 != 0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    pub(crate) fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Those of this set that `other` does not have.
    pub(crate) fn minus(mut self, other: &Self) -> Self {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word &= !other;
        }
        self
    }

    /// The lowest.
    pub(crate) fn first(&self) -> Option<usize> {
        self.iter().next()
    }

    /// From the lowest upwards.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + use<> {
        (0..).zip(self.0).flat_map(|(index, mut word)| {
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros() as usize;
                (word != 0).then(|| {
                    word &= word - 1;
                    64 * index + bit
                })
            })
        })
    }
}

impl FromIterator<usize> for Seats {
    fn from_iter<I: IntoIterator<Item = usize>>(seats: I) -> Self {
        let mut set = Self::default();
        seats.into_iter().for_each(|seat| set.insert(seat));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_a_set() {
        let mut set: Seats = [255, 0, 64, 63, 200].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 200, 255]);
        set.remove(0);
        assert_eq!((set.len(), set.first()), (4, Some(63)));
        let rest = set.minus(&[64, 255, 7].into_iter().collect());
        assert_eq!(rest.iter().collect::<Vec<_>>(), [63, 200]);
        assert!(rest.contains(200) && !rest.contains(64));
        assert!(!rest.is_empty() && rest.minus(&rest).is_empty());
    }
}
