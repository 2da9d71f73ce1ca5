//! Credits: how much room a queue of the hardware is known to have.

/// Whether count `a` is after count `b`.
pub(crate) fn after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

/// Writes posted into a queue, and those known to have left it. Counts wrap.
#[derive(Debug)]
pub(crate) struct Credits {
    /// Entries of the queue.
    pub(crate) limit: u32,
    pub(crate) posted: u32,
    pub(crate) retired: u32,
}

impl Credits {
    /// Those of a queue with room for `limit`, out of which `count` have gone and nothing is left in.
    pub(crate) fn of(limit: u32, count: u32) -> Credits {
        Credits {
            limit,
            posted: count,
            retired: count,
        }
    }

    pub(crate) fn free(&self) -> u32 {
        match self.all_retired() {
            true => self.limit,
            false => self
                .limit
                .saturating_sub(self.posted.wrapping_sub(self.retired)),
        }
    }

    /// Also when more have left than are counted here.
    pub(crate) fn all_retired(&self) -> bool {
        !after(self.posted, self.retired)
    }

    /// Takes in a count of what has left, unless it is older than the one known.
    pub(crate) fn retired_is(&mut self, count: u32) {
        if after(count, self.retired) {
            self.retired = count;
        }
    }

    /// One more is posted.
    pub(crate) fn post(&mut self) {
        self.posted = self.posted.wrapping_add(1);
    }
}
