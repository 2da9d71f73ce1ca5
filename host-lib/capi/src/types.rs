//! Types and constants that C sees.

use alcor::{AccumulateOperation, AtomicOperation, Operation, Queues, Rights};

use crate::attached::NO_MESSAGE;
use crate::failure::{Failure, Result};

/// The result of a call: ALCOR_OK, or one of alcor_error.
///
/// Every function returns a result, except those that return a string. After a failure,
/// alcor_error_message returns the whole message: the request, the finding, and advice.
pub type alcor_result_t = i32;

/// Values of alcor_result_t. The numbers do not change; later versions may add numbers.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum alcor_error {
    /// Success.
    ALCOR_OK = 0,

    /// A pointer is NULL that must not be NULL.
    ALCOR_ERR_NULL = 1,
    /// A handle is invalid, freed, or belongs to another rank.
    ALCOR_ERR_HANDLE = 2,
    /// An invalid enum value, flag, number, length or string.
    ALCOR_ERR_ARGUMENT = 3,
    /// Another thread is in a call of this rank.
    ALCOR_ERR_BUSY = 4,
    /// A defect of this library. The rank has left the run, its peers get an error, and its handles
    /// are invalid.
    ALCOR_ERR_PANIC = 5,
    /// An error without a separate number.
    ALCOR_ERR_OTHER = 6,

    /// The environment does not state the rank of the process: start it with `alcor run`.
    ALCOR_ERR_NOT_LAUNCHED = 10,
    /// An environment variable has an invalid value.
    ALCOR_ERR_ENVIRONMENT = 11,
    /// No backend opens this URI.
    ALCOR_ERR_URI = 12,
    /// Hardware and library have different versions of the interface.
    ALCOR_ERR_VERSION = 13,
    /// The boards have no such rank.
    ALCOR_ERR_NO_SUCH_RANK = 14,
    /// Another program is attached to the rank.
    ALCOR_ERR_RANK_TAKEN = 15,
    /// The boards lack a block that the call needs.
    ALCOR_ERR_CAPABILITY = 16,

    /// The boards can't be reached, another program has reset one, a link between them is lost, or
    /// their driver or simulator failed.
    ALCOR_ERR_BOARD = 20,
    /// The hardware has answered with contradictions.
    ALCOR_ERR_HARDWARE = 21,
    /// A rank has aborted the run.
    ALCOR_ERR_ABORTED = 22,
    /// A rank's process ended before it left the run.
    ALCOR_ERR_PEER_DIED = 23,
    /// A wait exceeded the watchdog's limit; the message names which rank waits for which.
    ALCOR_ERR_WATCHDOG = 24,
    /// A rank does not call the library while others wait for it, so simulated time stands still.
    ALCOR_ERR_RANK_AWAY = 25,
    /// The operation needs a rank that is dead. The run survives deaths, and other operations go on.
    ALCOR_ERR_PROC_FAILED = 26,
    /// A member has revoked the communicator.
    ALCOR_ERR_REVOKED = 27,

    /// Node memory has no room.
    ALCOR_ERR_NO_MEMORY = 30,
    /// An access beyond a region of node memory.
    ALCOR_ERR_MEMORY_BOUNDS = 31,

    /// A put or get beyond the target's window. No memory was changed.
    ALCOR_ERR_WINDOW_BOUNDS = 40,
    /// The target's window does not grant the right. No memory was changed.
    ALCOR_ERR_DENIED = 41,
    /// The target is not a rank of the run.
    ALCOR_ERR_BAD_RANK = 42,
    /// The window is not registered.
    ALCOR_ERR_NOT_REGISTERED = 43,
    /// A registration table is full.
    ALCOR_ERR_TABLE_FULL = 44,
    /// The memory is registered already.
    ALCOR_ERR_DUPLICATE = 45,
    /// The hardware refused a put, get, message or registration for another reason.
    ALCOR_ERR_REFUSED = 46,

    /// A message was longer than its receive buffer, which holds the first part.
    ALCOR_ERR_TRUNCATED = 50,
    /// The request is not a receive.
    ALCOR_ERR_NOT_A_RECEIVE = 51,
    /// The hardware's queues are too short for messages among so many ranks.
    ALCOR_ERR_MESSAGE_ROOM = 52,

    /// The ranks made different calls, or the same call with different counts, types, operations or
    /// roots.
    ALCOR_ERR_DIFFER = 60,
    /// The operation does not exist for this type.
    ALCOR_ERR_OPERATION = 61,
    /// Source and destination overlap, and are not the same place.
    ALCOR_ERR_OVERLAP = 62,
    /// A rank that is not a member of the communicator.
    ALCOR_ERR_NO_SUCH_MEMBER = 63,
    /// A communicator that can't be used for this call.
    ALCOR_ERR_COMMUNICATOR = 64,
    /// A collective that the hardware can't do, with ALCOR_STRICT.
    ALCOR_ERR_NOT_IN_HARDWARE = 65,
}

impl alcor_error {
    /// Every one, with its name.
    pub const ALL: &'static [(alcor_error, &'static std::ffi::CStr)] = {
        use alcor_error::*;
        &[
            (ALCOR_OK, c"ALCOR_OK"),
            (ALCOR_ERR_NULL, c"ALCOR_ERR_NULL"),
            (ALCOR_ERR_HANDLE, c"ALCOR_ERR_HANDLE"),
            (ALCOR_ERR_ARGUMENT, c"ALCOR_ERR_ARGUMENT"),
            (ALCOR_ERR_BUSY, c"ALCOR_ERR_BUSY"),
            (ALCOR_ERR_PANIC, c"ALCOR_ERR_PANIC"),
            (ALCOR_ERR_OTHER, c"ALCOR_ERR_OTHER"),
            (ALCOR_ERR_NOT_LAUNCHED, c"ALCOR_ERR_NOT_LAUNCHED"),
            (ALCOR_ERR_ENVIRONMENT, c"ALCOR_ERR_ENVIRONMENT"),
            (ALCOR_ERR_URI, c"ALCOR_ERR_URI"),
            (ALCOR_ERR_VERSION, c"ALCOR_ERR_VERSION"),
            (ALCOR_ERR_NO_SUCH_RANK, c"ALCOR_ERR_NO_SUCH_RANK"),
            (ALCOR_ERR_RANK_TAKEN, c"ALCOR_ERR_RANK_TAKEN"),
            (ALCOR_ERR_CAPABILITY, c"ALCOR_ERR_CAPABILITY"),
            (ALCOR_ERR_BOARD, c"ALCOR_ERR_BOARD"),
            (ALCOR_ERR_HARDWARE, c"ALCOR_ERR_HARDWARE"),
            (ALCOR_ERR_ABORTED, c"ALCOR_ERR_ABORTED"),
            (ALCOR_ERR_PEER_DIED, c"ALCOR_ERR_PEER_DIED"),
            (ALCOR_ERR_WATCHDOG, c"ALCOR_ERR_WATCHDOG"),
            (ALCOR_ERR_RANK_AWAY, c"ALCOR_ERR_RANK_AWAY"),
            (ALCOR_ERR_PROC_FAILED, c"ALCOR_ERR_PROC_FAILED"),
            (ALCOR_ERR_REVOKED, c"ALCOR_ERR_REVOKED"),
            (ALCOR_ERR_NO_MEMORY, c"ALCOR_ERR_NO_MEMORY"),
            (ALCOR_ERR_MEMORY_BOUNDS, c"ALCOR_ERR_MEMORY_BOUNDS"),
            (ALCOR_ERR_WINDOW_BOUNDS, c"ALCOR_ERR_WINDOW_BOUNDS"),
            (ALCOR_ERR_DENIED, c"ALCOR_ERR_DENIED"),
            (ALCOR_ERR_BAD_RANK, c"ALCOR_ERR_BAD_RANK"),
            (ALCOR_ERR_NOT_REGISTERED, c"ALCOR_ERR_NOT_REGISTERED"),
            (ALCOR_ERR_TABLE_FULL, c"ALCOR_ERR_TABLE_FULL"),
            (ALCOR_ERR_DUPLICATE, c"ALCOR_ERR_DUPLICATE"),
            (ALCOR_ERR_REFUSED, c"ALCOR_ERR_REFUSED"),
            (ALCOR_ERR_TRUNCATED, c"ALCOR_ERR_TRUNCATED"),
            (ALCOR_ERR_NOT_A_RECEIVE, c"ALCOR_ERR_NOT_A_RECEIVE"),
            (ALCOR_ERR_MESSAGE_ROOM, c"ALCOR_ERR_MESSAGE_ROOM"),
            (ALCOR_ERR_DIFFER, c"ALCOR_ERR_DIFFER"),
            (ALCOR_ERR_OPERATION, c"ALCOR_ERR_OPERATION"),
            (ALCOR_ERR_OVERLAP, c"ALCOR_ERR_OVERLAP"),
            (ALCOR_ERR_NO_SUCH_MEMBER, c"ALCOR_ERR_NO_SUCH_MEMBER"),
            (ALCOR_ERR_COMMUNICATOR, c"ALCOR_ERR_COMMUNICATOR"),
            (ALCOR_ERR_NOT_IN_HARDWARE, c"ALCOR_ERR_NOT_IN_HARDWARE"),
        ]
    };
}

/// The object behind an alcor_rank_t.
pub struct alcor_rank(());
/// The object behind an alcor_memory_t.
pub struct alcor_memory(());
/// The object behind an alcor_window_t.
pub struct alcor_window(());
/// The object behind an alcor_comm_t.
pub struct alcor_comm(());
/// The object behind an alcor_request_t.
pub struct alcor_request(());
/// The object behind an alcor_message_t.
pub struct alcor_message(());

/// A rank of a run: this process, or one of its threads. Made by alcor_init_from_env or alcor_init,
/// ended by alcor_finish, which also frees all objects of the rank.
///
/// Only one thread at a time may use a rank and its objects; the thread may change. A call during
/// another thread's call fails with ALCOR_ERR_BUSY.
pub type alcor_rank_t = *mut alcor_rank;
/// A region of a rank's node memory, which is on the board. Made by alcor_alloc, freed by
/// alcor_free.
pub type alcor_memory_t = *mut alcor_memory;
/// Memory of all ranks, registered for puts and gets. Made by alcor_register, ended by
/// alcor_deregister.
pub type alcor_window_t = *mut alcor_window;
/// A communicator: ranks of the run in an order. The world comes from alcor_world; others from
/// alcor_comm_split and alcor_comm_dup, and end with alcor_comm_free.
pub type alcor_comm_t = *mut alcor_comm;
/// An operation that was started and may not be complete. Ended by alcor_wait, alcor_wait_all,
/// alcor_wait_any, alcor_wait_some, by alcor_test and its forms for lists once the request is complete,
/// or by alcor_request_free. NULL is a request without an operation.
pub type alcor_request_t = *mut alcor_request;
/// A message that a matched probe has taken out of the queue. Made by alcor_mprobe and
/// alcor_improbe; ended by alcor_mrecv, alcor_imrecv or alcor_message_free.
pub type alcor_message_t = *mut alcor_message;

/// Options of a run. A field that is 0 means the default. `alcor_options_t options = {0};` sets all
/// defaults.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct alcor_options_t {
    /// Longest wait in cycles; a wait may last one cycle more for each outstanding byte. Default:
    /// 2000000 on a simulated board, no limit on a card.
    pub watchdog_cycles: u64,
    /// Largest number of outstanding transfers: a power of two, at most 32768. Default: 256.
    pub ring_entries: u32,
    /// Flags of alcor_option, joined by |.
    pub flags: u32,
    /// If not 0, the run survives deaths of ranks, and the ranks that wait in the library learn of a
    /// death within this number of cycles. The same at all ranks: 0, or not 0. Default: a death ends
    /// the run.
    pub detection_cycles: u64,
}

/// Flags of alcor_options_t.
#[repr(u32)]
pub enum alcor_option {
    /// Collectives that the hardware can't do fail, instead of running in software.
    ALCOR_STRICT = 1,
    /// All collectives run in software, for comparison.
    ALCOR_SOFTWARE = 2,
    /// A receiver without room refuses messages, and their senders send them again, instead of
    /// keeping room for each sender. The same at all ranks.
    ALCOR_GO_BACK_N = 4,
}

/// Rights of other ranks in a window, joined by |; 0 for no right.
#[repr(u32)]
pub enum alcor_rights {
    /// Others may get.
    ALCOR_REMOTE_READ = 1,
    /// Others may put.
    ALCOR_REMOTE_WRITE = 2,
    /// Both.
    ALCOR_REMOTE_ALL = 3,
}

/// The division of a communicator's messages among queues: one of alcor_queues.
pub type alcor_queues_t = i32;

/// Values of alcor_queues_t.
#[repr(i32)]
pub enum alcor_queues {
    /// The source of a message selects its queue. Receives and probes must name their source.
    ALCOR_QUEUES_BY_SOURCE = 1,
    /// The tag of a message selects its queue. Receives and probes must name their tag.
    ALCOR_QUEUES_BY_TAG = 2,
}

/// The type of a collective's elements: one of alcor_type.
pub type alcor_type_t = i32;

/// Values of alcor_type_t.
#[repr(i32)]
pub enum alcor_type {
    /// double
    ALCOR_F64 = 1,
    /// float
    ALCOR_F32 = 2,
    /// int64_t
    ALCOR_I64 = 3,
    /// int32_t
    ALCOR_I32 = 4,
    /// uint64_t
    ALCOR_U64 = 5,
    /// uint32_t
    ALCOR_U32 = 6,
    /// int16_t
    ALCOR_I16 = 7,
    /// uint16_t
    ALCOR_U16 = 8,
    /// int8_t
    ALCOR_I8 = 9,
    /// uint8_t
    ALCOR_U8 = 10,
}

/// The operation of a reduction: one of alcor_op.
pub type alcor_op_t = i32;

/// Values of alcor_op_t. Integer sums and products wrap.
#[repr(i32)]
pub enum alcor_op {
    /// Sum.
    ALCOR_SUM = 1,
    /// Minimum.
    ALCOR_MIN = 2,
    /// Maximum.
    ALCOR_MAX = 3,
    /// Product.
    ALCOR_PROD = 4,
    /// Bitwise and; of integers.
    ALCOR_BAND = 5,
    /// Bitwise or; of integers.
    ALCOR_BOR = 6,
    /// Bitwise exclusive or; of integers.
    ALCOR_BXOR = 7,
    /// The element becomes the new one; of alcor_accumulate and alcor_get_accumulate only.
    ALCOR_REPLACE = 8,
    /// The element stays as it is; of alcor_accumulate and alcor_get_accumulate only.
    ALCOR_KEEP = 9,
}

/// The operation of alcor_fetch_op: one of alcor_atomic.
pub type alcor_atomic_t = i32;

/// Values of alcor_atomic_t.
#[repr(i32)]
#[derive(Clone, Copy)]
pub enum alcor_atomic {
    /// The word becomes the value.
    ALCOR_ATOMIC_SWAP = 1,
    /// The value is added; the sum wraps.
    ALCOR_ATOMIC_ADD = 2,
    /// Bitwise and.
    ALCOR_ATOMIC_AND = 3,
    /// Bitwise or.
    ALCOR_ATOMIC_OR = 4,
    /// Bitwise exclusive or.
    ALCOR_ATOMIC_XOR = 5,
    /// Minimum.
    ALCOR_ATOMIC_MIN = 6,
    /// Maximum.
    ALCOR_ATOMIC_MAX = 7,
}

/// The comparison of alcor_wait_until: one of alcor_compare.
pub type alcor_compare_t = i32;

/// Values of alcor_compare_t.
#[repr(i32)]
#[derive(Clone, Copy)]
pub enum alcor_compare {
    /// The word is the value.
    ALCOR_EQ = 1,
    /// The word is not the value.
    ALCOR_NE = 2,
    /// The word is less than the value.
    ALCOR_LT = 3,
    /// The word is at most the value.
    ALCOR_LE = 4,
    /// The word is greater than the value.
    ALCOR_GT = 5,
    /// The word is at least the value.
    ALCOR_GE = 6,
}

/// The source of a receive or probe that takes messages of any rank.
pub const ALCOR_ANY_SOURCE: u32 = 0xFFFF_FFFF;
/// The tag of a receive or probe that takes messages of any tag.
pub const ALCOR_ANY_TAG: u32 = 0xFFFF_FFFF;
/// The largest tag.
pub const ALCOR_TAG_UB: u32 = 0x03FF_FFFF;
/// The color of a member that joins no communicator of alcor_comm_split; the index that
/// alcor_wait_any returns if all requests are NULL.
pub const ALCOR_UNDEFINED: u32 = 0xFFFF_FFFF;

const _: () = assert!(ALCOR_TAG_UB == alcor::TAG_UB);

/// The message of a receive or probe, or the result of a request.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct alcor_status_t {
    /// The source rank of the message, in the communicator; ALCOR_ANY_SOURCE if the request is not
    /// a receive.
    pub source: u32,
    /// The tag of the message; ALCOR_ANY_TAG if the request is not a receive.
    pub tag: u32,
    /// Length of the message in bytes, which may exceed the number of received bytes.
    pub bytes: usize,
    /// Result of the request: the value that alcor_wait would return for the request.
    pub result: alcor_result_t,
    /// The receive was cancelled: there was no message.
    pub cancelled: bool,
}

impl From<alcor::MessageStatus> for alcor_status_t {
    fn from(found: alcor::MessageStatus) -> alcor_status_t {
        if found.cancelled {
            return alcor_status_t {
                cancelled: true,
                ..NO_MESSAGE
            };
        }
        alcor_status_t {
            source: found.source,
            tag: found.tag,
            bytes: found.length as usize,
            ..NO_MESSAGE
        }
    }
}

/// The rights that a number means.
pub fn rights(flags: u32) -> Result<Rights> {
    if flags > alcor_rights::ALCOR_REMOTE_ALL as u32 {
        return Err(Failure::Argument {
            what: "rights",
            value: u64::from(flags),
            rule: "they are flags of alcor_rights",
        });
    }
    let mut rights = Rights::NONE;
    rights.remote_read = flags & alcor_rights::ALCOR_REMOTE_READ as u32 != 0;
    rights.remote_write = flags & alcor_rights::ALCOR_REMOTE_WRITE as u32 != 0;
    Ok(rights)
}

/// The atomic operation that a number means.
pub fn atomic(operation: alcor_atomic_t) -> Result<AtomicOperation> {
    use alcor_atomic::*;
    let known = [
        (ALCOR_ATOMIC_SWAP, AtomicOperation::Swap),
        (ALCOR_ATOMIC_ADD, AtomicOperation::Add),
        (ALCOR_ATOMIC_AND, AtomicOperation::And),
        (ALCOR_ATOMIC_OR, AtomicOperation::Or),
        (ALCOR_ATOMIC_XOR, AtomicOperation::Xor),
        (ALCOR_ATOMIC_MIN, AtomicOperation::Min),
        (ALCOR_ATOMIC_MAX, AtomicOperation::Max),
    ];
    let found = known
        .into_iter()
        .find(|(number, _)| *number as alcor_atomic_t == operation);
    found.map(|(_, it)| it).ok_or(Failure::Argument {
        what: "operation",
        value: u64::from(operation as u32),
        rule: "it is one of alcor_atomic",
    })
}

/// Whether the first word compares with the second.
pub(crate) type Comparison<T> = fn(&T, &T) -> bool;

/// The comparison that a number means.
pub fn compare<T: PartialOrd>(compare: alcor_compare_t) -> Result<Comparison<T>> {
    use alcor_compare::*;
    let known: [(alcor_compare, Comparison<T>); 6] = [
        (ALCOR_EQ, T::eq),
        (ALCOR_NE, T::ne),
        (ALCOR_LT, T::lt),
        (ALCOR_LE, T::le),
        (ALCOR_GT, T::gt),
        (ALCOR_GE, T::ge),
    ];
    let found = known
        .into_iter()
        .find(|(number, _)| *number as alcor_compare_t == compare);
    found.map(|(_, it)| it).ok_or(Failure::Argument {
        what: "compare",
        value: u64::from(compare as u32),
        rule: "it is one of alcor_compare",
    })
}

/// The division of messages that a number means.
pub fn queues(by: alcor_queues_t, count: u32) -> Result<Queues> {
    const BY_SOURCE: alcor_queues_t = alcor_queues::ALCOR_QUEUES_BY_SOURCE as alcor_queues_t;
    const BY_TAG: alcor_queues_t = alcor_queues::ALCOR_QUEUES_BY_TAG as alcor_queues_t;
    match by {
        BY_SOURCE => Ok(Queues::BySource(count)),
        BY_TAG => Ok(Queues::ByTag(count)),
        _ => Err(Failure::Argument {
            what: "by",
            value: u64::from(by as u32),
            rule: "it is one of alcor_queues",
        }),
    }
}

/// The operation of an accumulate that a number means.
pub fn accumulate(op: alcor_op_t) -> Result<AccumulateOperation> {
    const REPLACE: alcor_op_t = alcor_op::ALCOR_REPLACE as alcor_op_t;
    const KEEP: alcor_op_t = alcor_op::ALCOR_KEEP as alcor_op_t;
    Ok(match op {
        REPLACE => AccumulateOperation::Replace,
        KEEP => AccumulateOperation::Keep,
        _ => AccumulateOperation::Reduce(operation(op)?),
    })
}

/// The operation of a reduction that a number means.
pub fn operation(op: alcor_op_t) -> Result<Operation> {
    use alcor_op::*;
    const SUM: alcor_op_t = ALCOR_SUM as alcor_op_t;
    const MIN: alcor_op_t = ALCOR_MIN as alcor_op_t;
    const MAX: alcor_op_t = ALCOR_MAX as alcor_op_t;
    const PROD: alcor_op_t = ALCOR_PROD as alcor_op_t;
    const BAND: alcor_op_t = ALCOR_BAND as alcor_op_t;
    const BOR: alcor_op_t = ALCOR_BOR as alcor_op_t;
    const BXOR: alcor_op_t = ALCOR_BXOR as alcor_op_t;
    Ok(match op {
        SUM => Operation::Sum,
        MIN => Operation::Min,
        MAX => Operation::Max,
        PROD => Operation::Prod,
        BAND => Operation::Band,
        BOR => Operation::Bor,
        BXOR => Operation::Bxor,
        _ => {
            return Err(Failure::Argument {
                what: "op",
                value: op as u32 as u64,
                rule: "it is one of alcor_op",
            });
        }
    })
}

/// `body` with `T` as the type that a number means; an error for a number that means none.
macro_rules! of_type {
    ($number:expr, $T:ident => $body:expr) => {{
        use $crate::types::{alcor_type as names, alcor_type_t};
        macro_rules! arm {
            ($type:ty) => {{
                type $T = $type;
                $body
            }};
        }
        let number: alcor_type_t = $number;
        match number {
            number if number == names::ALCOR_F64 as alcor_type_t => arm!(f64),
            number if number == names::ALCOR_F32 as alcor_type_t => arm!(f32),
            number if number == names::ALCOR_I64 as alcor_type_t => arm!(i64),
            number if number == names::ALCOR_I32 as alcor_type_t => arm!(i32),
            number if number == names::ALCOR_U64 as alcor_type_t => arm!(u64),
            number if number == names::ALCOR_U32 as alcor_type_t => arm!(u32),
            number if number == names::ALCOR_I16 as alcor_type_t => arm!(i16),
            number if number == names::ALCOR_U16 as alcor_type_t => arm!(u16),
            number if number == names::ALCOR_I8 as alcor_type_t => arm!(i8),
            number if number == names::ALCOR_U8 as alcor_type_t => arm!(u8),
            _ => Err($crate::failure::Failure::Argument {
                what: "type",
                value: u64::from(number as u32),
                rule: "it is one of alcor_type",
            }),
        }
    }};
}
pub(crate) use of_type;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_error_has_its_name_and_a_number_of_its_own() {
        let header = include_str!("../include/alcor.h");
        for (error, name) in alcor_error::ALL {
            let name = name.to_str().unwrap();
            assert_eq!(format!("{error:?}"), name);
            let line = format!("    {name} = {},\n", *error as alcor_result_t);
            assert!(header.contains(&line), "{line}");
        }
        let numbers: BTreeSet<_> = alcor_error::ALL
            .iter()
            .map(|(error, _)| *error as i32)
            .collect();
        let in_header = header.matches("    ALCOR_ERR_").count() + 1;
        assert_eq!(
            (numbers.len(), alcor_error::ALL.len()),
            (in_header, in_header)
        );
    }
}
