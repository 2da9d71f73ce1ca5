//! Events and counters of a rank.

use alcor_abi::Status;
use alcor_abi::rank::{events, last_error};

/// Why the newest of the paper's commands failed: the LAST_ERROR register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastError {
    /// Why, if it is a status that this library knows.
    pub status: Option<Status>,
    /// Opcode of what was refused here, or packet type of what was dropped here.
    pub opcode: u32,
}

impl LastError {
    pub(crate) fn from_bits(bits: u32) -> LastError {
        LastError {
            status: Status::from_bits(last_error::STATUS.get(bits)),
            opcode: last_error::OPCODE.get(bits),
        }
    }
}

/// Events since they were last asked for: bits of the EVENTS register.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Events {
    /// The bits.
    pub bits: u32,
    /// LAST_ERROR, when `refused` or `dropped` is among the events.
    pub last_error: Option<LastError>,
}

impl Events {
    /// Whether nothing happened.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits == 0
    }

    /// A command write met a full FIFO and was lost.
    #[must_use]
    pub fn overflow(&self) -> bool {
        events::OVERFLOW.get(self.bits) != 0
    }

    /// A write to an opcode that does not exist, or half a paper command.
    #[must_use]
    pub fn bad_opcode(&self) -> bool {
        events::BAD_OPCODE.get(self.bits) != 0
    }

    /// A paper command was refused here.
    #[must_use]
    pub fn refused(&self) -> bool {
        events::REFUSED.get(self.bits) != 0
    }

    /// A neighbour's paper packet failed this rank's window check and was dropped.
    #[must_use]
    pub fn dropped(&self) -> bool {
        events::DROPPED.get(self.bits) != 0
    }

    /// The completion ring was full and a completion was lost.
    #[must_use]
    pub fn cq_overflow(&self) -> bool {
        events::CQ_OVERFLOW.get(self.bits) != 0
    }

    /// A packet's type did not belong on its plane, or a packet had more or fewer beats than its header says.
    #[must_use]
    pub fn malformed(&self) -> bool {
        events::MALFORMED.get(self.bits) != 0
    }

    /// The board dropped a packet, of any rank, that no link leads to the destination of.
    #[must_use]
    pub fn unrouted(&self) -> bool {
        events::UNROUTED.get(self.bits) != 0
    }

    /// The board dropped a packet of another run.
    #[must_use]
    pub fn foreign(&self) -> bool {
        events::FOREIGN.get(self.bits) != 0
    }

    /// The ranks met in different collective operations at a barrier.
    #[must_use]
    pub fn mismatch(&self) -> bool {
        events::MISMATCH.get(self.bits) != 0
    }
}

/// The counters of a rank's page, read one after the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Command writes that have left the queue since reset.
    pub retired: u32,
    /// Completions written since the run began.
    pub completions: u32,
    /// Accesses by others that failed this rank's window check.
    pub refused_in: u32,
    /// Commands of this rank that were refused before anything was sent.
    pub refused_out: u32,
    /// Request words sent.
    pub tx_request_words: u32,
    /// Reply words sent.
    pub tx_reply_words: u32,
    /// Request words received.
    pub rx_request_words: u32,
    /// Reply words received.
    pub rx_reply_words: u32,
    /// Barriers completed since reset.
    pub barriers: u32,
}
