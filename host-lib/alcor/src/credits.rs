//! Credits: a lower bound of the free entries of a hardware queue.

/// Returns whether count `a` is after count `b`. Counts wrap.
pub(crate) fn after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

/// Writes posted into a queue, and writes that have left the queue. Counts wrap.
#[derive(Debug)]
pub(crate) struct Credits {
    /// Entries of the queue.
    pub(crate) limit: u32,
    pub(crate) posted: u32,
    pub(crate) retired: u32,
}

impl Credits {
    /// Makes the credits of an empty queue of `limit` entries that `count` writes have left.
    pub(crate) fn of(limit: u32, count: u32) -> Credits {
        Credits {
            limit,
            posted: count,
            retired: count,
        }
    }

    pub(crate) fn free(&self) -> u32 {
        if self.all_retired() {
            self.limit
        } else {
            self.limit
                .saturating_sub(self.posted.wrapping_sub(self.retired))
        }
    }

    /// Returns whether all posted writes have left the queue. More writes may have left than were
    /// posted here.
    pub(crate) fn all_retired(&self) -> bool {
        !after(self.posted, self.retired)
    }

    /// Updates the count of writes that have left the queue. An older count is ignored.
    pub(crate) fn retired_is(&mut self, count: u32) {
        if after(count, self.retired) {
            self.retired = count;
        }
    }

    /// Counts one more posted write.
    pub(crate) fn post(&mut self) {
        self.posted = self.posted.wrapping_add(1);
    }
}
