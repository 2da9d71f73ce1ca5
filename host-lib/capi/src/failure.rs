//! Errors of calls: the number for C, and the message that is kept for the thread.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use alcor::{Error, Status};

use crate::types::{alcor_error, alcor_result_t};

pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Failures of calls of the C interface.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A null pointer.
    #[error("{what} is NULL, but must point to a value")]
    Null {
        /// The argument's name.
        what: &'static str,
    },
    /// An invalid handle.
    #[error(
        "there is no such {what}: the handle {handle:#x} was never made, has been freed, or belongs to another rank"
    )]
    Handle {
        /// The expected kind of object.
        what: &'static str,
        /// The handle.
        handle: usize,
    },
    /// An invalid number.
    #[error("{what} is {value}, but {rule}")]
    Argument {
        /// The argument's name.
        what: &'static str,
        /// The value.
        value: u64,
        /// The rule that the value breaks.
        rule: &'static str,
    },
    /// A number that is no rank of a communicator.
    #[error("rank {found} is not among the {size} ranks of the communicator")]
    Member {
        /// The number.
        found: u32,
        /// Number of members of the communicator.
        size: u32,
    },
    /// A string that is not UTF-8.
    #[error("{what} is not UTF-8")]
    Text {
        /// The argument's name.
        what: &'static str,
    },
    /// Two threads use a rank.
    #[error(
        "another thread is in a call of this rank; only one thread at a time may use a rank and its objects"
    )]
    Busy,
    /// A defect of the library.
    #[error("a defect of the library: {0}; the rank has left the run, and its handles are invalid")]
    Panic(String),
    /// An error of the library.
    #[error(transparent)]
    Alcor(#[from] Error),
}

impl Failure {
    /// Returns the number of the error.
    pub fn code(&self) -> alcor_error {
        match self {
            Failure::Null { .. } => alcor_error::ALCOR_ERR_NULL,
            Failure::Handle { .. } => alcor_error::ALCOR_ERR_HANDLE,
            Failure::Argument { .. } | Failure::Text { .. } => alcor_error::ALCOR_ERR_ARGUMENT,
            Failure::Member { .. } => alcor_error::ALCOR_ERR_NO_SUCH_MEMBER,
            Failure::Busy => alcor_error::ALCOR_ERR_BUSY,
            Failure::Panic(_) => alcor_error::ALCOR_ERR_PANIC,
            Failure::Alcor(error) => code_of(error),
        }
    }

    /// Whether the run is over for this rank, so that no wait of the rank can succeed.
    pub fn ends_the_run(&self) -> bool {
        matches!(
            self.code(),
            alcor_error::ALCOR_ERR_PANIC
                | alcor_error::ALCOR_ERR_BOARD
                | alcor_error::ALCOR_ERR_HARDWARE
                | alcor_error::ALCOR_ERR_ABORTED
                | alcor_error::ALCOR_ERR_PEER_DIED
                | alcor_error::ALCOR_ERR_WATCHDOG
                | alcor_error::ALCOR_ERR_RANK_AWAY
        )
    }
}

fn code_of(error: &Error) -> alcor_error {
    match error {
        Error::NotLaunched { .. } => alcor_error::ALCOR_ERR_NOT_LAUNCHED,
        Error::BadVariable { .. } => alcor_error::ALCOR_ERR_ENVIRONMENT,
        Error::UnknownScheme { .. } => alcor_error::ALCOR_ERR_URI,
        Error::AbiVersion { .. } | Error::AbiHash { .. } => alcor_error::ALCOR_ERR_VERSION,
        Error::NoSuchRank { .. } | Error::TooFewRanks { .. } => alcor_error::ALCOR_ERR_NO_SUCH_RANK,
        Error::RankTaken { .. } | Error::BoardBusy { .. } | Error::KeyInUse { .. } => {
            alcor_error::ALCOR_ERR_RANK_TAKEN
        }
        Error::MissingCapability { .. }
        | Error::TooManyBoards { .. }
        | Error::MessageOfKernel { .. } => alcor_error::ALCOR_ERR_CAPABILITY,

        Error::Board { .. }
        | Error::DeadLink { .. }
        | Error::BoardReset { .. }
        | Error::LinkLost { .. }
        | Error::NotAlcor { .. } => alcor_error::ALCOR_ERR_BOARD,
        Error::BadIdentity { .. }
        | Error::BadAlpuResult { .. }
        | Error::CommandLost { .. }
        | Error::CompletionLost { .. }
        | Error::MalformedPacket { .. }
        | Error::PacketUnrouted { .. }
        | Error::PacketDamaged { .. }
        | Error::BadCompletion { .. } => alcor_error::ALCOR_ERR_HARDWARE,
        Error::Aborted { .. } => alcor_error::ALCOR_ERR_ABORTED,
        Error::PeerDied { .. } => alcor_error::ALCOR_ERR_PEER_DIED,
        Error::ProcessFailed { .. } => alcor_error::ALCOR_ERR_PROC_FAILED,
        Error::Revoked { .. } => alcor_error::ALCOR_ERR_REVOKED,
        Error::Watchdog { .. } | Error::Deadlock { .. } => alcor_error::ALCOR_ERR_WATCHDOG,
        Error::RankAway { .. } | Error::RanksMissing { .. } => alcor_error::ALCOR_ERR_RANK_AWAY,

        Error::OutOfNodeMemory { .. }
        | Error::OutOfHostMemory { .. }
        | Error::UnexpectedMessages { .. } => alcor_error::ALCOR_ERR_NO_MEMORY,
        Error::RegionBounds { .. } | Error::BadNodeAddress { .. } => {
            alcor_error::ALCOR_ERR_MEMORY_BOUNDS
        }

        Error::Refused { status, .. }
        | Error::AtomicRefused { status, .. }
        | Error::AccumulateRefused { status, .. }
        | Error::MessageRefused { status, .. } => refused(*status),
        Error::Unclaimed { first, .. } => code_of(first),
        Error::NotRegistered { .. } => alcor_error::ALCOR_ERR_NOT_REGISTERED,
        Error::TableFull { .. } => alcor_error::ALCOR_ERR_TABLE_FULL,
        Error::DuplicateWindow { .. } => alcor_error::ALCOR_ERR_DUPLICATE,
        Error::WindowOutOfRange { .. } => alcor_error::ALCOR_ERR_WINDOW_BOUNDS,
        Error::RegistrationRefused { .. } | Error::CollectiveRefused { .. } => {
            alcor_error::ALCOR_ERR_REFUSED
        }

        Error::Truncated { .. } => alcor_error::ALCOR_ERR_TRUNCATED,
        Error::NotAReceive { .. } => alcor_error::ALCOR_ERR_NOT_A_RECEIVE,
        Error::MessageRoom { .. } => alcor_error::ALCOR_ERR_MESSAGE_ROOM,

        Error::CollectiveMismatch { .. } | Error::CollectivesDiffer { .. } => {
            alcor_error::ALCOR_ERR_DIFFER
        }
        Error::NoSuchOperation { .. } => alcor_error::ALCOR_ERR_OPERATION,
        Error::Overlap { .. } => alcor_error::ALCOR_ERR_OVERLAP,
        Error::NoSuchMember { .. } | Error::RepeatedMember { .. } => {
            alcor_error::ALCOR_ERR_NO_SUCH_MEMBER
        }
        Error::BadCommunicator { .. } => alcor_error::ALCOR_ERR_COMMUNICATOR,
        Error::NotInHardware { .. } => alcor_error::ALCOR_ERR_NOT_IN_HARDWARE,

        Error::OutOfRange { .. }
        | Error::BadOption { .. }
        | Error::OldElements { .. }
        | Error::WrongLength { .. } => alcor_error::ALCOR_ERR_ARGUMENT,
        Error::ForeignRequest { .. } => alcor_error::ALCOR_ERR_HANDLE,
        _ => alcor_error::ALCOR_ERR_OTHER,
    }
}

fn refused(status: Status) -> alcor_error {
    match status {
        Status::OutOfBounds => alcor_error::ALCOR_ERR_WINDOW_BOUNDS,
        Status::Denied => alcor_error::ALCOR_ERR_DENIED,
        Status::BadRank => alcor_error::ALCOR_ERR_BAD_RANK,
        Status::BadSlot | Status::NotRegistered => alcor_error::ALCOR_ERR_NOT_REGISTERED,
        _ => alcor_error::ALCOR_ERR_REFUSED,
    }
}

thread_local! {
    /// The message of this thread's last call that failed.
    static MESSAGE: RefCell<CString> = RefCell::new(CString::default());
}

/// The message of this thread's last failed call. Its address is valid until the next call of the
/// thread fails.
pub fn message() -> *const std::ffi::c_char {
    MESSAGE
        .try_with(|message| message.borrow().as_ptr())
        .unwrap_or(c"".as_ptr())
}

/// Stores the message of a failure for the thread, and returns its number.
pub fn note(failure: &Failure) -> alcor_result_t {
    let mut text = failure.to_string().into_bytes();
    // A C string ends at the first zero.
    text.retain(|&byte| byte != 0);
    let text = CString::new(text).unwrap_or_default();
    // A thread that is ending has no storage any more.
    let _ = MESSAGE.try_with(|message| *message.borrow_mut() = text);
    failure.code() as alcor_result_t
}

/// Returns the message of a panic.
pub fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

/// Carries out a call of a C program. No panic unwinds out of the call.
pub fn call(act: impl FnOnce() -> Result<()>) -> alcor_result_t {
    let noted = catch_unwind(AssertUnwindSafe(|| match act() {
        Ok(()) => alcor_error::ALCOR_OK as alcor_result_t,
        Err(failure) => note(&failure),
    }));
    noted.unwrap_or_else(|panic| note(&Failure::Panic(panic_text(&*panic))))
}
