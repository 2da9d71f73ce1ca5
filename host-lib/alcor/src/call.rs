//! The parameters of a collective call, and the path that the call took.

use std::fmt;

use alcor_abi::Collective as Code;

use crate::{ElementType, GlobalRank, Operation};

/// A collective operation of a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Collective {
    /// [`crate::Communicator::barrier`]
    Barrier,
    /// [`crate::Communicator::reduce`]
    Reduce,
    /// [`crate::Communicator::allreduce`]
    Allreduce,
    /// [`crate::Communicator::reduce_scatter`]
    ReduceScatter,
    /// [`crate::Communicator::bcast`]
    Bcast,
    /// [`crate::Communicator::scatter`]
    Scatter,
    /// [`crate::Communicator::gather`]
    Gather,
    /// [`crate::Communicator::allgather`]
    Allgather,
    /// [`crate::Communicator::alltoall`]
    Alltoall,
    /// [`crate::Communicator::split`]
    Split,
    /// [`crate::Communicator::dup`]
    Dup,
    /// [`crate::Communicator::create`]
    Create,
    /// [`crate::Communicator::free`]
    Free,
}

impl Collective {
    /// Every collective, in the order of the declaration.
    const ALL: [Collective; 13] = [
        Collective::Barrier,
        Collective::Reduce,
        Collective::Allreduce,
        Collective::ReduceScatter,
        Collective::Bcast,
        Collective::Scatter,
        Collective::Gather,
        Collective::Allgather,
        Collective::Alltoall,
        Collective::Split,
        Collective::Dup,
        Collective::Create,
        Collective::Free,
    ];

    /// The hardware's code, if the collective unit supports the collective.
    pub(crate) fn code(self) -> Option<Code> {
        Some(match self {
            Collective::Barrier => Code::Barrier,
            Collective::Reduce => Code::Reduce,
            Collective::Allreduce => Code::Allreduce,
            Collective::ReduceScatter => Code::ReduceScatter,
            Collective::Bcast => Code::Bcast,
            Collective::Scatter => Code::Scatter,
            Collective::Gather => Code::Gather,
            Collective::Allgather => Code::Allgather,
            Collective::Alltoall
            | Collective::Split
            | Collective::Dup
            | Collective::Create
            | Collective::Free => return None,
        })
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Collective::Barrier => "barrier",
            Collective::Reduce => "reduce",
            Collective::Allreduce => "allreduce",
            Collective::ReduceScatter => "reduce_scatter",
            Collective::Bcast => "bcast",
            Collective::Scatter => "scatter",
            Collective::Gather => "gather",
            Collective::Allgather => "allgather",
            Collective::Alltoall => "alltoall",
            Collective::Split => "split",
            Collective::Dup => "dup",
            Collective::Create => "create",
            Collective::Free => "free",
        })
    }
}

/// Identifies a communicator of a run. The number is the same at all members; the world has 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommunicatorId(pub u32);

impl CommunicatorId {
    /// The communicator of all ranks of the run.
    pub const WORLD: CommunicatorId = CommunicatorId(0);
}

impl fmt::Display for CommunicatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            CommunicatorId::WORLD => f.write_str("the world"),
            CommunicatorId(id) => write!(f, "communicator {id}"),
        }
    }
}

/// A collective call. All members must agree on it.
///
/// # Examples
/// ```
/// use alcor::{Call, Collective, CommunicatorId, ElementType, GlobalRank, Operation};
///
/// let call = Call::new(CommunicatorId::WORLD, Collective::Allreduce)
///     .of_elements(8, ElementType::F64)
///     .with_operation(Operation::Sum);
/// assert_eq!(call.to_string(), "allreduce of 8 f64, sum, in the world");
/// let barrier = Call::new(CommunicatorId(1), Collective::Barrier);
/// let bcast = Call::new(CommunicatorId(1), Collective::Bcast)
///     .of_elements(8, ElementType::F64)
///     .with_root(GlobalRank(0));
/// assert_ne!(barrier, bcast);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// The communicator.
    pub communicator: CommunicatorId,
    /// The collective.
    pub collective: Collective,
    /// Number of elements: of the vector in reductions and copies; of each member's block in
    /// scatter, gather, allgather, alltoall and reduce_scatter.
    pub count: u32,
    /// The element type, if the collective has elements.
    pub element: Option<ElementType>,
    /// The operation of a reduction.
    pub operation: Option<Operation>,
    /// The root of a collective that has one.
    pub root: Option<GlobalRank>,
}

/// The properties of a call on which members must agree: collective, count, type, operation, root.
/// 0 means that the call lacks the property.
pub(crate) type CallWords = [u32; 5];

impl Call {
    /// Makes a call without elements, operation and root.
    #[must_use]
    pub fn new(communicator: CommunicatorId, collective: Collective) -> Call {
        Call {
            communicator,
            collective,
            count: 0,
            element: None,
            operation: None,
            root: None,
        }
    }

    /// Sets [`Call::count`] and [`Call::element`].
    #[must_use]
    pub fn of_elements(mut self, count: u32, element: ElementType) -> Call {
        self.count = count;
        self.element = Some(element);
        self
    }

    /// Sets [`Call::operation`].
    #[must_use]
    pub fn with_operation(mut self, operation: Operation) -> Call {
        self.operation = Some(operation);
        self
    }

    /// Sets [`Call::root`].
    #[must_use]
    pub fn with_root(mut self, root: GlobalRank) -> Call {
        self.root = Some(root);
        self
    }

    pub(crate) fn to_words(self) -> CallWords {
        [
            self.collective as u32,
            self.count,
            self.element.map_or(0, |element| 1 + element as u32),
            self.operation.map_or(0, |operation| 1 + operation as u32),
            self.root.map_or(0, |root| 1 + root.0),
        ]
    }

    /// Returns the call of another member; `None` if the words describe no call.
    pub(crate) fn from_words(
        communicator: CommunicatorId,
        [collective, count, element, operation, root]: CallWords,
    ) -> Option<Call> {
        /// Returns the entry of a list with the number `1 + index`; the number 0 is no entry.
        fn entry<T: Copy>(all: &[T], number: u32) -> Option<Option<T>> {
            match number.checked_sub(1) {
                None => Some(None),
                Some(index) => all.get(index as usize).copied().map(Some),
            }
        }
        Some(Call {
            communicator,
            collective: *Collective::ALL.get(collective as usize)?,
            count,
            element: entry(&ElementType::ALL, element)?,
            operation: entry(Operation::ALL, operation)?,
            root: root.checked_sub(1).map(GlobalRank),
        })
    }

    /// Describes the call without the communicator.
    pub(crate) fn describe(&self) -> String {
        let mut text = self.collective.to_string();
        if let Some(element) = self.element {
            text += &format!(" of {} {element}", self.count);
        }
        if let Some(operation) = self.operation {
            text += &format!(", {operation}");
        }
        if let Some(root) = self.root {
            text += &format!(", root {root}");
        }
        text
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, in {}", self.describe(), self.communicator)
    }
}

/// The call of another member of a communicator, in [`Error::CollectivesDiffer`].
///
/// [`Error::CollectivesDiffer`]: crate::Error::CollectivesDiffer
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberCall {
    /// The member.
    pub rank: GlobalRank,
    /// The call; `None` if the member has not reported its call in time.
    pub call: Option<Call>,
}

/// The reason why a collective ran in software.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SoftwareReason {
    /// The boards have no collective switch.
    NoSwitch,
    /// The collective unit does not support the collective.
    Collective(Collective),
    /// The collective unit does not support the type.
    Type(ElementType),
    /// The communicator has no row in the boards' communicator tables.
    NoRow,
    /// [`crate::Options::software_collectives`] is set.
    Forced,
}

impl fmt::Display for SoftwareReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SoftwareReason::NoSwitch => f.write_str("the board has no collective switch"),
            SoftwareReason::Collective(collective) => {
                write!(f, "the collective unit does not support {collective}")
            }
            SoftwareReason::Type(element) => {
                write!(f, "the collective unit does not support {element}")
            }
            SoftwareReason::NoRow => f.write_str(
                "the communicator has no row in the communicator tables; free a communicator with a row",
            ),
            SoftwareReason::Forced => {
                f.write_str("`Options::software_collectives` is set")
            }
        }
    }
}

/// The path of a collective: hardware or software.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Path {
    /// The collective units in the network.
    Hardware,
    /// The library, over puts. The reason is included.
    Software(SoftwareReason),
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Hardware => f.write_str("in hardware"),
            Path::Software(reason) => write!(f, "in software: {reason}"),
        }
    }
}

/// The result of a collective call: the call and its path.
///
/// # Examples
/// ```
/// # use alcor::{Job, Operation, Path, SoftwareReason, soft::SoftBoard};
/// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
/// let world = rank.world()?;
/// let mut sum = [0.0; 2];
/// let receipt = world.allreduce(rank, Operation::Sum, &[1.5, 2.0], &mut sum)?;
/// assert_eq!(sum, [3.0, 4.0]);
/// assert_eq!(receipt.path, Path::Software(SoftwareReason::NoSwitch));
/// assert!(!receipt.is_hardware());
/// # Ok(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The call.
    pub call: Call,
    /// The path.
    pub path: Path,
}

impl Receipt {
    /// Returns whether hardware ran the collective.
    #[must_use]
    pub fn is_hardware(&self) -> bool {
        self.path == Path::Hardware
    }
}

/// The first difference between the members' calls of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Difference {
    /// Different collectives.
    Collective,
    /// Different counts.
    Count,
    /// Different types.
    Type,
    /// Different operations.
    Operation,
    /// Different roots.
    Root,
    /// Different lists of members.
    Members,
    /// Different divisions of messages among queues.
    Queues,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Difference::Collective => "collective",
            Difference::Count => "count",
            Difference::Type => "type",
            Difference::Operation => "operation",
            Difference::Root => "root",
            Difference::Members => "list of members",
            Difference::Queues => "division of messages among queues",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_survives_its_words() {
        for (index, collective) in (0..).zip(Collective::ALL) {
            assert_eq!(collective as u32, index);
            let elements = ElementType::ALL.into_iter().map(Some).chain([None]);
            for element in elements {
                let operations = Operation::ALL.iter().copied().map(Some).chain([None]);
                for operation in operations {
                    for root in [None, Some(GlobalRank(0)), Some(GlobalRank(255))] {
                        let call = Call {
                            communicator: CommunicatorId(7),
                            collective,
                            count: u32::MAX - index,
                            element,
                            operation,
                            root,
                        };
                        let found = Call::from_words(CommunicatorId(7), call.to_words());
                        assert_eq!(found, Some(call));
                    }
                }
            }
        }
        for bad in [[13, 0, 0, 0, 0], [0, 0, 11, 0, 0], [0, 0, 0, 8, 0]] {
            assert_eq!(Call::from_words(CommunicatorId::WORLD, bad), None);
        }
    }
}
