//! Notes for backends that want them: what began, was posted, ended.

use alcor_abi::Status;

use super::Progress;
use crate::request::{Asked, Outcome, Request};
use crate::{Activity, GlobalRank, Note};

impl Progress {
    /// An operation that was called and is no transfer, and its request.
    pub(crate) fn begin(&mut self, asked: Asked) -> (Outcome, Request<'static>) {
        let number = self.outstanding.number();
        if self.takes_notes {
            let (activity, peer) = asked.activity();
            self.note_began(number, activity, peer, asked.bytes());
        }
        self.outstanding.begin(number, asked)
    }

    /// The number of an operation that was called and has no outcome of its own.
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
        self.port.note(Note::Began {
            operation,
            activity,
            peer,
            bytes,
        });
    }

    /// Notes that the next register write commits an operation.
    pub(crate) fn note_posting(&mut self, operation: u64) {
        if self.takes_notes {
            self.port.note(Note::Posting { operation });
        }
    }

    /// Notes that an operation has ended.
    pub(crate) fn note_ended(&mut self, operation: u64, status: Status) {
        if self.takes_notes {
            self.port.note(Note::Ended { operation, status });
        }
    }

    /// Makes known how an operation ended that no completion tells of.
    pub(crate) fn settle(&mut self, outcome: Outcome, status: Status) {
        self.note_ended(outcome.number(), status);
        self.outstanding.settle(outcome, status);
    }
}
