//! The deaths of ranks, as the ranks of the same run see them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alcor::GlobalRank;

/// The ranks of a run that have died. The boards of a run share one value; clones are the same
/// value. The waits of all ranks on these boards end with [`alcor::Error::PeerDied`] after a death.
#[derive(Debug, Clone, Default)]
pub struct Peers(Arc<Mutex<Died>>);

#[derive(Debug, Default)]
struct Died {
    /// The first rank of this process whose port was dropped before it left.
    here: Option<GlobalRank>,
    /// The first rank of another process.
    elsewhere: Option<GlobalRank>,
}

impl Peers {
    fn state(&self) -> MutexGuard<'_, Died> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports the death of a rank of another process. A reset of a board does not take the report
    /// back.
    pub fn report(&self, rank: GlobalRank) {
        self.state().elsewhere.get_or_insert(rank);
    }

    /// The rank that died first, if one has died.
    #[must_use]
    pub fn died(&self) -> Option<GlobalRank> {
        let state = self.state();
        state.elsewhere.or(state.here)
    }

    /// Records the death of a rank of this process.
    pub(crate) fn died_here(&self, rank: GlobalRank) {
        self.state().here.get_or_insert(rank);
    }

    /// Begins a run of this process.
    pub(crate) fn begin(&self) {
        self.state().here = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_death_of_a_rank_elsewhere_outlasts_a_reset() {
        let peers = Peers::default();
        peers.died_here(GlobalRank(1));
        assert_eq!(peers.clone().died(), Some(GlobalRank(1)));
        peers.begin();
        assert_eq!(peers.died(), None);
        peers.report(GlobalRank(2));
        peers.report(GlobalRank(3));
        peers.begin();
        assert_eq!(peers.died(), Some(GlobalRank(2)));
    }
}
