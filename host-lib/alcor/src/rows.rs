//! Which rows of a board's communicator table are in use, and who may take which.
//!
//! Rows are a board's, and communicators are made by ranks that do not know of each other. So
//! that they choose different rows all the same, whatever the time at which they choose, each row
//! but a few has a keeper: the rank of one local number, on every board. A communicator takes a
//! row whose keepers are among its members on all of its boards, so that ranks that know nothing
//! of each other do not come into each other's way. The few are for communicators without a common
//! local rank, or for whoever has used up its own; when they are used up too, any row is taken.
//!
//! All rows are claimed in a table that the ranks of a board share, where they are of one process.
//! Where they are not, a communicator takes kept rows only: their keepers, which are members, know
//! all communicators that may have them.

use std::sync::{Arc, Mutex, PoisonError};

use crate::communicator::RowKey;

/// The world's row.
pub(crate) const WORLD: u32 = 0;

/// The rows of a board, shared by its ranks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Claims(Arc<Mutex<Claimed>>);

#[derive(Debug, Default)]
struct Claimed {
    /// A bit for each row in use.
    taken: u32,
    /// By row: the key of the communicator that had it last.
    keys: [Option<u8>; 32],
}

impl Claims {
    /// Takes a row, unless a communicator has it, or the last communicator in it had the same key: two communicators
    /// without a common member may have the same number.
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

/// What a rank knows of its board's rows.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// A bit for each row of a communicator that the rank is a member of.
    pub(crate) mine: u32,
    /// Without it, there are no rows but those that members keep.
    pub(crate) claims: Option<Claims>,
}

/// Who keeps a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Keeper {
    /// The rank of this number on each board.
    Local(u32),
    /// Nobody.
    Nobody,
}

impl Keeper {
    /// The keeper of a row above the world's, on boards of so many ranks.
    pub(crate) fn of(row: u32, ranks: u32) -> Keeper {
        // A board's only rank is a member of all communicators that the board has.
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

/// The row that a communicator takes: not among the `taken`, of a table of so many rows, for
/// members whose local numbers are `common` to all of its boards. Rows that none of them keeps
/// come last, and only where rows can be claimed.
pub(crate) fn choose(table: u32, ranks: u32, taken: u32, common: u32, claims: bool) -> Option<u32> {
    let remoteness = |row: u32| match Keeper::of(row, ranks) {
        Keeper::Local(local) if common & 1 << local != 0 => 0,
        Keeper::Nobody => 1,
        Keeper::Local(_) => 2,
    };
    // The last row is the barrier's over all boards.
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
        // The next would have to be claimed.
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
