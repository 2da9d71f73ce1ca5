//! Notes for backends that record them: begin, post and end of operations.

use alcor_abi::Status;

use super::Progress;
use crate::ending::Completion;
use crate::request::{Descriptor, Outcome, Request};
use crate::{Activity, GlobalRank, Note};

impl Progress {
    /// Begins an operation that is no transfer. Returns the operation and its request.
    pub(crate) fn begin(&mut self, descriptor: Descriptor) -> (Outcome, Request<'static>) {
        let number = self.outstanding.number();
        if self.takes_notes {
            let (activity, peer) = descriptor.activity();
            self.note_began(number, activity, peer, descriptor.bytes());
        }
        self.outstanding.begin(number, descriptor)
    }

    /// Begins an operation of all ranks, which has no outcome of its own. Returns its number.
    pub(crate) fn begin_all(&mut self, activity: Activity) -> u64 {
        let number = self.outstanding.number();
        if self.takes_notes {
            self.note_began(number, activity, None, 0);
        }
        number
    }

    #[cold]
    pub(super) fn note_began(
        &mut self,
        operation: u64,
        activity: Activity,
        peer: Option<GlobalRank>,
        bytes: u64,
    ) {
        self.note(Note::Began {
            operation,
            activity,
            peer,
            bytes,
        });
    }

    fn note(&mut self, note: Note) {
        if let Some(view) = self.port.run_view() {
            view.note(note);
        }
    }

    /// Notes that the next register write commits an operation.
    pub(crate) fn note_posting(&mut self, operation: u64) {
        if self.takes_notes {
            self.note(Note::Posting { operation });
        }
    }

    /// Notes that an operation has ended.
    pub(crate) fn note_ended(&mut self, operation: u64, status: Status) {
        if self.takes_notes {
            self.note(Note::Ended { operation, status });
        }
    }

    /// Records the end of an operation that has no completion.
    pub(crate) fn settle(&mut self, outcome: Outcome, ended: impl Into<Completion>) {
        let ended = ended.into();
        self.note_ended(outcome.number(), ended.status);
        self.outstanding.settle(outcome, ended);
    }
}
