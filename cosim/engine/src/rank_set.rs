//! Sets of ranks.

/// Largest number of ranks of all boards together: the network header and the forwarding tables can
/// number this many.
pub(crate) const MAX_RANKS: u32 = 256;

/// A set of ranks of all boards, by the number of their wait slot: board x ranks of a board + local
/// rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RankSet([u64; MAX_RANKS as usize / 64]);

impl RankSet {
    pub(crate) fn insert(&mut self, slot: usize) {
        self.0[slot / 64] |= 1 << (slot % 64);
    }

    pub(crate) fn remove(&mut self, slot: usize) {
        self.0[slot / 64] &= !(1 << (slot % 64));
    }

    pub(crate) fn contains(&self, slot: usize) -> bool {
        self.0[slot / 64] >> (slot % 64) & 1 != 0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    pub(crate) fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The ranks of this set that are not in `other`.
    pub(crate) fn minus(mut self, other: &Self) -> Self {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word &= !other;
        }
        self
    }

    /// The lowest rank.
    pub(crate) fn first(&self) -> Option<usize> {
        self.iter().next()
    }

    /// The ranks in ascending order.
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

impl FromIterator<usize> for RankSet {
    fn from_iter<I: IntoIterator<Item = usize>>(slots: I) -> Self {
        let mut set = Self::default();
        slots.into_iter().for_each(|slot| set.insert(slot));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_a_set() {
        let mut set: RankSet = [255, 0, 64, 63, 200].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 200, 255]);
        set.remove(0);
        assert_eq!((set.len(), set.first()), (4, Some(63)));
        let rest = set.minus(&[64, 255, 7].into_iter().collect());
        assert_eq!(rest.iter().collect::<Vec<_>>(), [63, 200]);
        assert!(rest.contains(200) && !rest.contains(64));
        assert!(!rest.is_empty() && rest.minus(&rest).is_empty());
    }
}
