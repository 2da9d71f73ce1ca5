//! The choice of rows in the boards' communicator tables.
//!
//! A row belongs to a board. Ranks that do not know of each other may make communicators at any
//! time, and must choose different rows. So each row except a few has a keeper: the ranks of one
//! local number, on every board. A communicator takes a row whose keepers on all of its boards are
//! among its members. The rows without a keeper serve communicators without a common local number,
//! and communicators whose own rows are used up. When those are used up too, a communicator takes
//! any row.
//!
//! If the ranks of a board belong to one process, they share a table in which they claim rows.
//! Otherwise a communicator takes kept rows only: the keepers are members, and know all
//! communicators that may have these rows.

use std::sync::{Arc, Mutex, PoisonError};

use crate::communicator::RowKey;

/// The row of the world.
pub(crate) const WORLD: u32 = 0;

/// The rows of a board, shared by its ranks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Claims(Arc<Mutex<Claimed>>);

#[derive(Debug, Default)]
struct Claimed {
    /// A bit for each row in use.
    taken: u32,
    /// The key of the last communicator in each row.
    keys: [Option<u8>; 32],
}

impl Claims {
    /// Claims a row. Fails if a communicator has the row, or if the last communicator in the row
    /// had the same key. Two communicators without a common member may have the same number.
    pub(crate) fn take(&self, RowKey { row, key }: RowKey) -> bool {
        let mut claimed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if claimed.taken & 1 << row != 0 || claimed.keys[row as usize] == Some(key) {
            return false;
        }
        claimed.taken |= 1 << row;
        claimed.keys[row as usize] = Some(key);
        true
    }

    pub(crate) fn give_back(&self, row: u32) {
        let mut claimed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        claimed.taken &= !(1 << row);
    }
}

/// A rank's knowledge of the rows of its board.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// A bit for each row of a communicator of this rank.
    pub(crate) mine: u32,
    /// `None` if the ranks of the board do not share a table. Then only kept rows are available.
    pub(crate) claims: Option<Claims>,
}

/// The keeper of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Keeper {
    /// The rank of this local number on each board.
    Local(u32),
    /// No keeper.
    Nobody,
}

impl Keeper {
    /// Returns the keeper of a row above the world's row, on boards of `ranks` ranks.
    pub(crate) fn of(row: u32, ranks: u32) -> Keeper {
        // The only rank of a board is a member of all communicators of the board.
        let kinds = match ranks {
            1 => 1,
            _ => ranks + 1,
        };
        match (row - 1) % kinds {
            local if local < ranks => Keeper::Local(local),
            _ => Keeper::Nobody,
        }
    }
}

/// Chooses a row for a communicator. `table` is the number of rows, `taken` the rows in use, and
/// `common` the local numbers that are members on all boards of the communicator. Rows without a
/// keeper among `common` come last, and only if rows can be claimed.
pub(crate) fn choose(table: u32, ranks: u32, taken: u32, common: u32, claims: bool) -> Option<u32> {
    let remoteness = |row: u32| match Keeper::of(row, ranks) {
        Keeper::Local(local) if common & 1 << local != 0 => 0,
        Keeper::Nobody => 1,
        Keeper::Local(_) => 2,
    };
    // The last row belongs to the barrier over all boards.
    (1..table.saturating_sub(1))
        .filter(|row| taken & 1 << row == 0)
        .map(|row| (remoteness(row), row))
        .filter(|&(remoteness, _)| remoteness == 0 || claims)
        .min()
        .map(|(_, row)| row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_share_no_keeper_get_different_rows() {
        let (mut even, mut odd) = (0, 0);
        for _ in 0..10 {
            even |= 1 << choose(32, 2, even, 0b01, true).expect("there are ten and more");
            odd |= 1 << choose(32, 2, odd, 0b10, true).expect("there are ten and more");
        }
        assert_eq!(even & odd, 0);
        // The next row would have to be claimed.
        assert_eq!(choose(32, 2, even, 0b01, false), None);
        let claimed = choose(32, 2, even, 0b01, true).expect("some are nobody's");
        assert_eq!(Keeper::of(claimed, 2), Keeper::Nobody);
    }

    #[test]
    fn a_row_is_claimed_once_and_not_twice_with_one_key() {
        let claims = Claims::default();
        let of = |row, key| claims.take(RowKey { row, key });
        assert!(of(3, 1) && !of(3, 2) && of(4, 1));
        claims.give_back(3);
        assert!(!of(3, 1) && of(3, 2) && !of(3, 3));
        claims.give_back(3);
        assert!(of(3, 1));
    }

    #[test]
    fn a_table_is_used_up_by_whoever_asks_where_rows_are_claimed() {
        for (ranks, common) in [(1, 1), (2, 0b11), (2, 0), (4, 0b0100)] {
            let mut taken = 0u32;
            while let Some(row) = choose(32, ranks, taken, common, true) {
                taken |= 1 << row;
            }
            assert_eq!(taken, 0x7FFF_FFFE);
        }
        assert_eq!(choose(2, 1, 0, 1, true), None);
    }
}
