//! Events and counters of a rank.

use alcor_abi::Status;
use alcor_abi::rank::{events, last_error};

/// The last failure of a paper command or of a write of a communicator row: LAST_ERROR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastError {
    /// The status; `None` if this library does not know the code.
    pub status: Option<Status>,
    /// Opcode of the refused command, or packet type of the dropped packet; 0 for a write of a row.
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

/// Events since the last call: bits of the EVENTS register.
///
/// # Examples
/// ```
/// # use alcor::{Job, soft::SoftBoard};
/// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
/// # use alcor::{GlobalRank, NodeAddr};
/// // No window is registered, so the hardware refuses the command.
/// rank.lab().paper().put_1(NodeAddr(64), GlobalRank(0), 0, 1)?;
/// rank.barrier()?;
/// let events = rank.lab().events()?;
/// assert!(events.refused() && !events.is_empty());
/// for other in [
///     events.overflow(),
///     events.bad_opcode(),
///     events.dropped(),
///     events.cq_overflow(),
///     events.malformed(),
///     events.unrouted(),
///     events.foreign(),
///     events.stale(),
///     events.damaged(),
///     events.mismatch(),
/// ] {
///     assert!(!other);
/// }
/// # Ok(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Events {
    /// The bits of EVENTS.
    pub bits: u32,
    /// LAST_ERROR, if `refused` or `dropped` is set.
    pub last_error: Option<LastError>,
}

impl Events {
    /// Returns whether no event has occurred.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits == 0
    }

    /// A command write found a full FIFO and was lost.
    #[must_use]
    pub fn overflow(&self) -> bool {
        events::OVERFLOW.get(self.bits) != 0
    }

    /// A write to an unknown opcode, or an incomplete paper command.
    #[must_use]
    pub fn bad_opcode(&self) -> bool {
        events::BAD_OPCODE.get(self.bits) != 0
    }

    /// This rank's hardware refused a paper command, or a write of a communicator row.
    #[must_use]
    pub fn refused(&self) -> bool {
        events::REFUSED.get(self.bits) != 0
    }

    /// A paper packet of another rank failed this rank's window check and was dropped.
    #[must_use]
    pub fn dropped(&self) -> bool {
        events::DROPPED.get(self.bits) != 0
    }

    /// The completion ring was full and a completion was lost.
    #[must_use]
    pub fn cq_overflow(&self) -> bool {
        events::CQ_OVERFLOW.get(self.bits) != 0
    }

    /// A packet arrived on the wrong plane, or its number of beats contradicts its header.
    #[must_use]
    pub fn malformed(&self) -> bool {
        events::MALFORMED.get(self.bits) != 0
    }

    /// The board dropped a packet, of any rank, because no link leads to its destination.
    #[must_use]
    pub fn unrouted(&self) -> bool {
        events::UNROUTED.get(self.bits) != 0
    }

    /// A packet from another board, to any rank of this board, was damaged on its way.
    #[must_use]
    pub fn damaged(&self) -> bool {
        events::DAMAGED.get(self.bits) != 0
    }

    /// The board dropped a packet of another run.
    #[must_use]
    pub fn foreign(&self) -> bool {
        events::FOREIGN.get(self.bits) != 0
    }

    /// The board dropped a phit of a collective whose communicator has ended, or never was.
    #[must_use]
    pub fn stale(&self) -> bool {
        events::STALE.get(self.bits) != 0
    }

    /// The ranks were in different collective operations at a barrier.
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
    /// Accesses of other ranks that failed this rank's window check.
    pub refused_in: u32,
    /// Commands of this rank that were refused before any packet was sent.
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
