//! The reasons why an engine ended a transfer without success.

use std::fmt;

use crate::nodes::Way;

/// Status bits of PG195: one for each error of a descriptor.
const MISALIGNED: u32 = 1 << 3;
const MAGIC: u32 = 1 << 4;
const LENGTH: u32 = 1 << 5;
/// First bits of five errors each.
const READ: u32 = 9;
const WRITE: u32 = 14;
const FETCH: u32 = 19;
/// A descriptor with the stop bit is complete; the run bit was cleared.
const STOPPED: u32 = 1 << 1;
const IDLE_STOPPED: u32 = 1 << 6;
/// All status bits that are errors.
pub(crate) const ERRORS: u32 = MISALIGNED | MAGIC | LENGTH | 0x7fff << READ;

/// Bits of the word that the engine writes back: number of completed descriptors.
pub(crate) const COMPLETED_COUNT: u32 = 0xff_ffff;
/// The same: the status register holds an error.
pub(crate) const WRITTEN_ERROR: u32 = 1 << 31;

/// The state of an engine that ended a transfer without success.
///
/// The engine is that of a card that this process drives ([`Card::vfio`](crate::Card::vfio),
/// [`Card::driven`](crate::Card::driven)). A driver in the kernel reports an error number instead.
///
/// # Examples
/// A program that repeats a transfer after a fault of the host's memory alone:
/// ```
/// use xdma::{EngineCause, EngineFault};
///
/// fn may_repeat(fault: &EngineFault) -> bool {
///     let (done, all) = (fault.completed(), fault.descriptors());
///     println!("{done} of {all} descriptors, status {:#x}", fault.status());
///     let is_of_host = |cause: &EngineCause| matches!(cause, EngineCause::HostRead(_));
///     fault.is_idle() && fault.causes().iter().all(is_of_host)
/// }
/// # let _ = may_repeat;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineFault {
    pub(crate) way: Way,
    pub(crate) status: u32,
    /// The word that the engine has written back.
    pub(crate) written_back: u32,
    pub(crate) descriptors: u32,
    pub(crate) is_idle: bool,
}

impl EngineFault {
    /// The status register of the channel, with the bits of AMD's product guide PG195.
    #[must_use]
    pub fn status(&self) -> u32 {
        self.status
    }

    /// Number of descriptors that the engine reports as completed. Each moves up to 64 KiB.
    #[must_use]
    pub fn completed(&self) -> u32 {
        self.written_back & COMPLETED_COUNT
    }

    /// Number of descriptors of the transfer.
    #[must_use]
    pub fn descriptors(&self) -> u32 {
        self.descriptors
    }

    /// Whether the engine has stopped. The channel then accepts the next transfer. If not, the
    /// channel is lost until the card is reset and opened again.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// The causes, at least one.
    #[must_use]
    pub fn causes(&self) -> Vec<EngineCause> {
        let mut causes = Vec::new();
        for (bit, cause) in [
            (MISALIGNED, EngineCause::Misaligned),
            (MAGIC, EngineCause::NoMagic),
            (LENGTH, EngineCause::Length),
        ] {
            if self.status & bit != 0 {
                causes.push(cause);
            }
        }
        let bits = |first: u32| (0..5).filter(move |bit| self.status >> (first + bit) & 1 != 0);
        causes.extend(bits(READ).map(|bit| match self.way {
            Way::ToCard => EngineCause::HostRead(HostError::of(bit)),
            Way::FromCard => EngineCause::CardRead(AxiError::of(bit)),
        }));
        causes.extend(bits(WRITE).map(|bit| EngineCause::CardWrite(AxiError::of(bit))));
        causes.extend(bits(FETCH).map(|bit| EngineCause::Fetch(HostError::of(bit))));
        if causes.is_empty() {
            causes.push(if self.written_back & WRITTEN_ERROR != 0 {
                EngineCause::StatusCleared
            } else if self.status & STOPPED != 0 {
                EngineCause::CountLost
            } else if self.status & IDLE_STOPPED != 0 {
                EngineCause::RunCleared
            } else {
                EngineCause::Ended
            });
        }
        causes
    }
}

impl fmt::Display for EngineFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let causes = self.causes();
        let names: Vec<String> = causes.iter().map(ToString::to_string).collect();
        write!(
            f,
            "the engine failed after {} of {} descriptors, with status {:#x} ({})",
            self.completed(),
            self.descriptors,
            self.status,
            names.join(", ")
        )?;
        if !self.is_idle {
            return f.write_str("; the engine does not stop: reset the card, and open it again");
        }
        match causes.first() {
            Some(cause) => write!(f, "; {}", cause.advice()),
            None => Ok(()),
        }
    }
}

/// A cause of an [`EngineFault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EngineCause {
    /// Source and destination of a descriptor differ in their low bits.
    Misaligned,
    /// A descriptor has no magic number.
    NoMagic,
    /// A descriptor's length is no multiple of the width of a stream.
    Length,
    /// A read of data in host memory failed.
    HostRead(HostError),
    /// A read of card memory failed.
    CardRead(AxiError),
    /// A write of card memory failed.
    CardWrite(AxiError),
    /// The fetch of a descriptor from host memory failed.
    Fetch(HostError),
    /// The engine has reported an error in host memory, but its status register holds none.
    StatusCleared,
    /// The engine has completed its descriptors, but their count did not reach host memory.
    CountLost,
    /// The run bit of the engine was cleared.
    RunCleared,
    /// The engine became idle before its last descriptor, without a status.
    Ended,
}

impl EngineCause {
    /// The remedy.
    fn advice(self) -> &'static str {
        match self {
            EngineCause::CardRead(AxiError::Decode) | EngineCause::CardWrite(AxiError::Decode) => {
                "no part of the design has this address: compare the address with the design's \
                 address map"
            }
            EngineCause::CardRead(_) | EngineCause::CardWrite(_) => {
                "a part of the design refused the access: check that the part is out of reset and \
                 accepts this address"
            }
            EngineCause::HostRead(_) | EngineCause::Fetch(_) | EngineCause::CountLost => {
                "check the kernel's log for faults of the IOMMU and for errors of PCIe, then open \
                 the card again"
            }
            EngineCause::Misaligned | EngineCause::NoMagic | EngineCause::Length => {
                "no descriptor of this crate has the error: check that no other process drives the \
                 card, then repeat the transfer"
            }
            EngineCause::StatusCleared | EngineCause::RunCleared => {
                "another process writes registers of this engine: end the process, then repeat the \
                 transfer"
            }
            EngineCause::Ended => "the card was reset: open it again",
        }
    }
}

impl fmt::Display for EngineCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineCause::Misaligned => {
                f.write_str("descriptor: source and destination differ in their low bits")
            }
            EngineCause::NoMagic => f.write_str("descriptor: no magic number"),
            EngineCause::Length => f.write_str("descriptor: length"),
            EngineCause::HostRead(error) => write!(f, "read of host memory: {error}"),
            EngineCause::CardRead(error) => write!(f, "read of the card: {error}"),
            EngineCause::CardWrite(error) => write!(f, "write to the card: {error}"),
            EngineCause::Fetch(error) => write!(f, "descriptor fetch: {error}"),
            EngineCause::StatusCleared => {
                f.write_str("an error that the status register no longer holds")
            }
            EngineCause::CountLost => {
                f.write_str("the count of completed descriptors did not reach host memory")
            }
            EngineCause::RunCleared => f.write_str("the run bit was cleared"),
            EngineCause::Ended => f.write_str("the engine ended before its last descriptor"),
        }
    }
}

/// The answer to a read of host memory that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostError {
    /// The root complex has no such memory, or an IOMMU refuses it.
    UnsupportedRequest,
    /// The root complex aborted the read.
    CompleterAbort,
    /// The data has a parity error.
    Parity,
    /// The header is poisoned.
    Poisoned,
    /// A completion without a request.
    UnexpectedCompletion,
}

impl HostError {
    fn of(bit: u32) -> HostError {
        match bit {
            0 => HostError::UnsupportedRequest,
            1 => HostError::CompleterAbort,
            2 => HostError::Parity,
            3 => HostError::Poisoned,
            _ => HostError::UnexpectedCompletion,
        }
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HostError::UnsupportedRequest => "unsupported request",
            HostError::CompleterAbort => "completer abort",
            HostError::Parity => "parity error",
            HostError::Poisoned => "poisoned",
            HostError::UnexpectedCompletion => "unexpected completion",
        })
    }
}

/// The response of the card's AXI bus to an access that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AxiError {
    /// No slave has the address.
    Decode,
    /// A slave refused the access.
    Slave,
    /// A status bit that the product guide reserves.
    Reserved,
}

impl AxiError {
    fn of(bit: u32) -> AxiError {
        match bit {
            0 => AxiError::Decode,
            1 => AxiError::Slave,
            _ => AxiError::Reserved,
        }
    }
}

impl fmt::Display for AxiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AxiError::Decode => "decode error",
            AxiError::Slave => "slave error",
            AxiError::Reserved => "reserved error",
        })
    }
}

/// The end of a transfer that has no error number: the error of an `io::Error` between the driver
/// in user space and [`Error`](crate::Error).
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub(crate) enum Ended {
    #[error("{0}")]
    Fault(EngineFault),
    #[error("the register at {0:#x} reads all ones")]
    Dead(u64),
    #[error("an earlier engine of this channel may still run")]
    Lost,
    #[error("the system asks for the card")]
    AskedBack,
}

#[cfg(test)]
mod tests {
    use super::{ERRORS, EngineFault};
    use crate::nodes::Way;

    fn fault(way: Way, status: u32, written_back: u32) -> String {
        EngineFault {
            way,
            status,
            written_back,
            descriptors: 4,
            is_idle: true,
        }
        .to_string()
    }

    /// Each error bit of both directions has a name and an advice.
    #[test]
    fn each_error_bit_is_named() {
        for way in [Way::ToCard, Way::FromCard] {
            let mut seen = Vec::new();
            for bit in (0..32).filter(|bit| ERRORS >> bit & 1 != 0) {
                let text = fault(way, 1 << bit, 1 << 31 | 3);
                assert!(text.contains("after 3 of 4 descriptors"), "{text}");
                let (_, cause) = text.split_once('(').expect("a cause");
                let (cause, advice) = cause.split_once("); ").expect("an advice");
                assert!(cause.contains(':'), "{text}");
                assert!(!advice.is_empty());
                seen.push(cause.to_owned());
            }
            assert_eq!(seen.len(), 18);
        }
        let text = fault(Way::ToCard, 1 << 9 | 1 << 19, 0);
        let expected = "(read of host memory: unsupported request, descriptor fetch: unsupported \
                        request)";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn an_end_without_an_error_bit_is_explained() {
        for (status, written_back, expected) in [
            (0, 1 << 31, "no longer holds"),
            (0b110, 0, "did not reach host memory"),
            (1 << 6, 0, "the run bit was cleared"),
            (0, 2, "ended before its last descriptor"),
        ] {
            let text = fault(Way::FromCard, status, written_back);
            assert!(text.contains(expected), "{text}");
        }
    }
}
