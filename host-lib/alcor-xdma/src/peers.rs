//! The deaths of ranks, as the ranks of the same run see them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alcor::GlobalRank;

/// The ranks of a run that have died. The boards of a run share one value; clones are the same
/// value. The waits of all ranks on these boards end with [`alcor::Error::PeerDied`] after a death.
#[derive(Debug, Clone, Default)]
pub struct Peers(Arc<Mutex<Died>>);

#[derive(Debug, Default)]
struct Died {
    /// The first rank of this process whose death ends the run.
    here: Option<GlobalRank>,
    /// Ranks of this process whose deaths the run survives, in the order of their deaths.
    survived: Vec<GlobalRank>,
    /// The ports of this process, and those of them that survive deaths of other ranks.
    ports: u32,
    survivors: u32,
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

    /// Counts a new port of this process.
    pub(crate) fn attached(&self) {
        self.state().ports += 1;
    }

    /// Lets a port survive deaths of other ranks. Returns whether this is possible: all `ranks`
    /// ranks of the run have a port in this process.
    pub(crate) fn survives(&self, ranks: u32) -> bool {
        let mut state = self.state();
        let is_possible = state.ports == ranks && state.elsewhere.is_none();
        state.survivors += u32::from(is_possible);
        is_possible
    }

    /// The deaths that the run has survived.
    pub(crate) fn survived(&self) -> Vec<GlobalRank> {
        self.state().survived.clone()
    }

    /// Removes a port of this process that has left. `is_survivor` states whether it survives deaths.
    pub(crate) fn left(&self, is_survivor: bool) {
        let mut state = self.state();
        state.ports -= 1;
        state.survivors -= u32::from(is_survivor);
    }

    /// Records the death of a rank of this process. If all other ports survive deaths, calls `reset`
    /// to reset the rank, before the others learn of its death.
    pub(crate) fn died_here(&self, rank: GlobalRank, is_survivor: bool, reset: impl FnOnce()) {
        self.left(is_survivor);
        let mut state = self.state();
        if state.survivors == state.ports && state.ports > 0 {
            reset();
            state.survived.push(rank);
        } else {
            state.here.get_or_insert(rank);
        }
    }

    /// Begins a run of this process.
    pub(crate) fn begin(&self) {
        let mut state = self.state();
        state.here = None;
        state.survived.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_death_of_a_rank_elsewhere_outlasts_a_reset() {
        let peers = Peers::default();
        peers.attached();
        peers.died_here(GlobalRank(1), false, || panic!("no rank survives"));
        assert_eq!(peers.clone().died(), Some(GlobalRank(1)));
        peers.begin();
        assert_eq!(peers.died(), None);
        peers.report(GlobalRank(2));
        peers.report(GlobalRank(3));
        peers.begin();
        assert_eq!(peers.died(), Some(GlobalRank(2)));
    }

    #[test]
    fn a_death_is_survived_if_all_others_survive_it() {
        let peers = Peers::default();
        (0..3).for_each(|_| peers.attached());
        assert!(!peers.survives(4), "a rank in another process");
        assert!(peers.survives(3) && peers.survives(3));
        let mut is_reset = false;
        peers.died_here(GlobalRank(2), false, || is_reset = true);
        assert!(is_reset);
        assert_eq!(
            (peers.died(), peers.survived()),
            (None, vec![GlobalRank(2)])
        );
        peers.begin();
        assert_eq!(peers.survived(), []);
        peers.attached();
        peers.died_here(GlobalRank(0), true, || panic!("a rank has not asked"));
        assert_eq!(peers.died(), Some(GlobalRank(0)));
    }
}
