//! The queues among which a communicator's messages are divided.

use super::context::{CONTEXTS, WORLD};

/// The queues among which the messages of a communicator are divided at each receiver.
///
/// Boards with match stores give each queue a queue pair of its own, as long as there are enough,
/// and search the pairs at the same time. On other boards all messages of a rank are in one queue,
/// and a division changes nothing.
///
/// The order of messages is MPI's in each case. A program that names its sources or tags receives the
/// same messages with and without a division. In MPI, the info keys `mpi_assert_no_any_source` and
/// `mpi_assert_no_any_tag` state this promise.
///
/// # Examples
/// See [`Communicator::dup_with_queues`](crate::Communicator::dup_with_queues).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Queues {
    /// One queue for all messages.
    #[default]
    One,
    /// This many queues. The source of a message, modulo their number, selects one. Receives and
    /// probes must name their source.
    BySource(u32),
    /// This many queues. The tag of a message, modulo their number, selects one. Receives and probes
    /// must name their tag.
    ByTag(u32),
}

impl Queues {
    pub(crate) fn count(self) -> u32 {
        match self {
            Queues::One => 1,
            Queues::BySource(count) | Queues::ByTag(count) => count.clamp(1, CONTEXTS),
        }
    }

    /// A number for each division.
    pub(crate) fn hash(self) -> u32 {
        let kind = match self {
            Queues::One => 0,
            Queues::BySource(_) => 1,
            Queues::ByTag(_) => 2,
        };
        3 * self.count() + kind
    }
}

/// The contexts of a communicator, one for each of its queues.
#[derive(Debug, Clone)]
pub(crate) struct Lanes {
    queues: Queues,
    /// Without any, no context was free.
    contexts: Vec<u8>,
}

impl Lanes {
    pub(crate) fn new(queues: Queues, contexts: Vec<u8>) -> Lanes {
        Lanes { queues, contexts }
    }

    /// The context of the world.
    pub(crate) fn world() -> Lanes {
        Lanes::new(Queues::One, vec![WORLD])
    }

    pub(crate) fn contexts(&self) -> &[u8] {
        &self.contexts
    }

    pub(crate) fn queues(&self) -> Queues {
        self.queues
    }

    /// Returns the context of the messages of a source, by its rank in the communicator, and a tag.
    ///
    /// # Errors
    /// The rule that the call violates.
    pub(crate) fn context(
        &self,
        source: Option<u32>,
        tag: Option<u32>,
    ) -> Result<u8, &'static str> {
        let key = match self.queues {
            Queues::One => 0,
            Queues::BySource(_) => source.ok_or(
                "the source of a message selects its queue, so a receive or probe must name its source",
            )?,
            Queues::ByTag(_) => tag.ok_or(
                "the tag of a message selects its queue, so a receive or probe must name its tag",
            )?,
        };
        let place = key.checked_rem(self.contexts.len() as u32);
        let context = place.and_then(|place| self.contexts.get(place as usize));
        context
            .copied()
            .ok_or("its ranks use all 254 message contexts; free a communicator")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_division_needs_what_it_divides_by() {
        let contexts = || vec![7, 8, 9];
        let by_source = Lanes::new(Queues::BySource(3), contexts());
        assert_eq!(by_source.context(Some(4), None), Ok(8));
        assert!(by_source.context(None, Some(4)).is_err());
        let by_tag = Lanes::new(Queues::ByTag(3), contexts());
        assert_eq!(by_tag.context(None, Some(u32::MAX)), Ok(7));
        assert!(by_tag.context(Some(4), None).is_err());
        assert_eq!(Lanes::world().context(None, None), Ok(WORLD));
        assert!(
            Lanes::new(Queues::One, Vec::new())
                .context(None, None)
                .is_err()
        );
    }

    #[test]
    fn divisions_differ_in_their_hashes() {
        let all = [
            Queues::One,
            Queues::BySource(1),
            Queues::ByTag(1),
            Queues::BySource(4),
            Queues::ByTag(4),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| other.hash() != one.hash()));
        }
    }
}
