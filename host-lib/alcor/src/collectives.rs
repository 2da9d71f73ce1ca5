//! The collectives of a communicator.

use std::sync::Arc;

use alcor_abi::rank::c_what;
use alcor_abi::{Algorithm, Datatype as Code};

use crate::allocator::Block;
use crate::call::{Call, Collective, Path, Receipt, SoftwareReason};
use crate::hardware::Operands;
use crate::operation::{Combine, combine_bytes};
use crate::request::{Asked, Asking, Held, Request};
use crate::schedule::Schedule;
use crate::software::Task;
use crate::transfer::fits;
use crate::{Communicator, Datatype, Error, NodeAddr, Operation, Rank, Reducible, Region, Result};

/// A part of node memory that a collective reads or writes.
struct Piece {
    at: NodeAddr,
    bytes: usize,
    held: Arc<Block>,
}

impl<T: Datatype> From<&Region<T>> for Piece {
    fn from(region: &Region<T>) -> Piece {
        Piece {
            at: region.addr(),
            bytes: region.byte_len() as usize,
            held: region.hold(),
        }
    }
}

/// Which part of the message a rank gives or keeps, in elements: from, to. The first element lies
/// at the beginning of its region.
type Span = (usize, usize);

/// A collective that a rank has called.
pub(crate) struct Plan {
    call: Call,
    algorithm: Algorithm,
    /// The root's rank in the communicator.
    root: Option<usize>,
    element_bytes: usize,
    /// Elements of the whole message.
    elements: usize,
    gives: Option<(Piece, Span)>,
    keeps: Option<(Piece, Span)>,
    combine: Option<(Operation, Combine)>,
}

/// The largest position in a message that a phit can carry, in words.
const MAX_WORDS: u32 = (1 << 28) - 1;

/// Words from which on a reduce_scatter or a scatter halves where the tree allows it.
const HALVING_WORDS: u64 = 256;

/// # Collectives
///
/// Vectors are regions of node memory; all members name the same number of elements. The results
/// of reductions are those of the [`Communicator::tree`], bit for bit. Source and destination may
/// be the same place for the same elements, and do not overlap otherwise.
///
/// Those whose names begin with `i` only start: their memory is in use until their request is
/// complete. Several may be under way, of one communicator or of several; those of one
/// communicator run in the order of their calls.
///
/// Each fails with [`Error::CollectivesDiffer`] at every member when the members' calls differ
/// (over long messages in hardware: with [`Options::checked`](crate::Options::checked)), and has
/// touched no destination then in software; with [`Error::WrongLength`],
/// [`Error::NoSuchMember`] (the root), [`Error::NoSuchOperation`], [`Error::Overlap`],
/// [`Error::BadCommunicator`] and, in strict mode, [`Error::NotInHardware`] before anything is
/// posted; with [`Error::Watchdog`], which names the members that have not come;
/// [`Error::Aborted`]; and with what the backend says.
impl Communicator {
    /// Waits until all members are here. Unlike [`Rank::barrier`], it says nothing of puts and
    /// gets.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    pub fn barrier(&self, rank: &mut Rank) -> Result<Receipt> {
        let request = self.ibarrier(rank)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::barrier`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    pub fn ibarrier(&self, rank: &mut Rank) -> Result<Request> {
        let plan = self.plan_barrier(rank)?;
        self.start(rank, plan)
    }

    pub(crate) fn plan_barrier(&self, rank: &mut Rank) -> Result<Plan> {
        self.plan::<u32>(rank, Collective::Barrier, 0, None, None)
    }

    /// Combines the members' vectors `source` into `destination` at member `root`; other members
    /// need none.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Operation, soft::SoftBoard};
    /// # let largest =
    /// Job::new(SoftBoard::new(3))?.run(3, |rank| {
    ///     let world = rank.world()?;
    ///     let source = rank.alloc_from(&[rank.pid().0 as i32, -1])?;
    ///     let destination = rank.alloc_from(&[0i32; 2])?;
    ///     world.reduce(rank, Operation::Max, 1, &source, Some(&destination))?;
    ///     rank.read_vec(&destination)
    /// })?;
    /// # assert_eq!(largest, [[0, 0], [2, -1], [0, 0]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reduce<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        root: u32,
        source: &Region<T>,
        destination: Option<&Region<T>>,
    ) -> Result<Receipt> {
        let request = self.ireduce(rank, operation, root, source, destination)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::reduce`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    pub fn ireduce<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        root: u32,
        source: &Region<T>,
        destination: Option<&Region<T>>,
    ) -> Result<Request> {
        let plan = self.plan_reduce(rank, operation, root, source, destination)?;
        self.start(rank, plan)
    }

    pub(crate) fn plan_reduce<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        root: u32,
        source: &Region<T>,
        destination: Option<&Region<T>>,
    ) -> Result<Plan> {
        let count = source.len();
        let mut plan =
            self.plan::<T>(rank, Collective::Reduce, count, Some(operation), Some(root))?;
        plan.reduces::<T>(rank, operation)?;
        plan.gives(source, (0, count));
        plan.root_keeps(self, rank, destination, (0, count))?;
        Ok(plan)
    }

    /// Combines the members' vectors `source` into `destination` at every member.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Operation, soft::SoftBoard};
    /// # let sums =
    /// Job::new(SoftBoard::new(3))?.run(3, |rank| {
    ///     let world = rank.world()?;
    ///     let vector = rank.alloc_from(&[1.0, f64::from(rank.pid().0)])?;
    ///     // In place: source and destination are the same.
    ///     let request = world.iallreduce(rank, Operation::Sum, &vector, &vector)?;
    ///     rank.wait(request)?;
    ///     rank.read_vec(&vector)
    /// })?;
    /// # assert_eq!(sums, [[3.0, 3.0], [3.0, 3.0], [3.0, 3.0]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn allreduce<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        source: &Region<T>,
        destination: &Region<T>,
    ) -> Result<Receipt> {
        let request = self.iallreduce(rank, operation, source, destination)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::allreduce`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    pub fn iallreduce<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        source: &Region<T>,
        destination: &Region<T>,
    ) -> Result<Request> {
        let plan = self.plan_allreduce(rank, operation, source, destination)?;
        self.start(rank, plan)
    }

    pub(crate) fn plan_allreduce<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        source: &Region<T>,
        destination: &Region<T>,
    ) -> Result<Plan> {
        let count = source.len();
        let mut plan = self.plan::<T>(rank, Collective::Allreduce, count, Some(operation), None)?;
        plan.reduces::<T>(rank, operation)?;
        plan.gives(source, (0, count));
        plan.keeps(rank, destination, (0, count))?;
        Ok(plan)
    }

    /// Combines the members' vectors `source`, of as many blocks as there are members; each
    /// member gets its own block of the result, as long as its `destination`.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    pub fn reduce_scatter<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        source: &Region<T>,
        destination: &Region<T>,
    ) -> Result<Receipt> {
        let request = self.ireduce_scatter(rank, operation, source, destination)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::reduce_scatter`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    pub fn ireduce_scatter<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        source: &Region<T>,
        destination: &Region<T>,
    ) -> Result<Request> {
        let plan = self.plan_reduce_scatter(rank, operation, source, destination)?;
        self.start(rank, plan)
    }

    pub(crate) fn plan_reduce_scatter<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        source: &Region<T>,
        destination: &Region<T>,
    ) -> Result<Plan> {
        let block = destination.len();
        let mut plan = self.plan::<T>(
            rank,
            Collective::ReduceScatter,
            block,
            Some(operation),
            None,
        )?;
        plan.reduces::<T>(rank, operation)?;
        plan.whole(self, rank, "source", source)?;
        plan.gives(source, (0, plan.elements));
        plan.keeps(rank, destination, self.block(block))?;
        Ok(plan)
    }

    /// Copies `vector` of member `root` to `vector` at every member.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # let copies =
    /// Job::new(SoftBoard::new(3))?.run(3, |rank| {
    ///     let world = rank.world()?;
    ///     let vector = rank.alloc_from(&[rank.pid().0; 2])?;
    ///     world.bcast(rank, 2, &vector)?;
    ///     rank.read_vec(&vector)
    /// })?;
    /// # assert_eq!(copies, [[2, 2], [2, 2], [2, 2]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bcast<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        vector: &Region<T>,
    ) -> Result<Receipt> {
        let request = self.ibcast(rank, root, vector)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::bcast`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    pub fn ibcast<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        vector: &Region<T>,
    ) -> Result<Request> {
        let plan = self.plan_bcast(rank, root, vector)?;
        self.start(rank, plan)
    }

    pub(crate) fn plan_bcast<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        vector: &Region<T>,
    ) -> Result<Plan> {
        let count = vector.len();
        let mut plan = self.plan::<T>(rank, Collective::Bcast, count, None, Some(root))?;
        if self.rank() == root {
            plan.gives(vector, (0, count));
        } else {
            plan.keeps(rank, vector, (0, count))?;
        }
        Ok(plan)
    }

    /// Gives each member its block, as long as its `destination`, of member `root`'s `source`;
    /// other members need none.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    pub fn scatter<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        source: Option<&Region<T>>,
        destination: &Region<T>,
    ) -> Result<Receipt> {
        let request = self.iscatter(rank, root, source, destination)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::scatter`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    pub fn iscatter<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        source: Option<&Region<T>>,
        destination: &Region<T>,
    ) -> Result<Request> {
        let plan = self.plan_scatter(rank, root, source, destination)?;
        self.start(rank, plan)
    }

    pub(crate) fn plan_scatter<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        source: Option<&Region<T>>,
        destination: &Region<T>,
    ) -> Result<Plan> {
        let block = destination.len();
        let mut plan = self.plan::<T>(rank, Collective::Scatter, block, None, Some(root))?;
        if self.rank() == root {
            let source = source.ok_or_else(|| plan.wrong(rank, "source", 0, plan.elements))?;
            plan.whole(self, rank, "source", source)?;
            plan.gives(source, (0, plan.elements));
        }
        plan.keeps(rank, destination, self.block(block))?;
        Ok(plan)
    }

    /// Collects the members' blocks `source`, in the order of the communicator, in `destination`
    /// at member `root`; other members need none.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    pub fn gather<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        source: &Region<T>,
        destination: Option<&Region<T>>,
    ) -> Result<Receipt> {
        let request = self.igather(rank, root, source, destination)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::gather`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    pub fn igather<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        source: &Region<T>,
        destination: Option<&Region<T>>,
    ) -> Result<Request> {
        let plan = self.plan_gather(rank, root, source, destination)?;
        self.start(rank, plan)
    }

    pub(crate) fn plan_gather<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        source: &Region<T>,
        destination: Option<&Region<T>>,
    ) -> Result<Plan> {
        let block = source.len();
        let mut plan = self.plan::<T>(rank, Collective::Gather, block, None, Some(root))?;
        plan.gives(source, self.block(block));
        plan.root_keeps(self, rank, destination, (0, plan.elements))?;
        Ok(plan)
    }

    /// Collects the members' blocks `source`, in the order of the communicator, in `destination`
    /// at every member.
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    pub fn allgather<T: Datatype>(
        &self,
        rank: &mut Rank,
        source: &Region<T>,
        destination: &Region<T>,
    ) -> Result<Receipt> {
        let request = self.iallgather(rank, source, destination)?;
        self.complete(rank, request)
    }

    /// Starts a [`Communicator::allgather`].
    ///
    /// # Errors
    /// As [all collectives](Communicator#collectives).
    pub fn iallgather<T: Datatype>(
        &self,
        rank: &mut Rank,
        source: &Region<T>,
        destination: &Region<T>,
    ) -> Result<Request> {
        let plan = self.plan_allgather(rank, source, destination)?;
        self.start(rank, plan)
    }

    pub(crate) fn plan_allgather<T: Datatype>(
        &self,
        rank: &mut Rank,
        source: &Region<T>,
        destination: &Region<T>,
    ) -> Result<Plan> {
        let block = source.len();
        let mut plan = self.plan::<T>(rank, Collective::Allgather, block, None, None)?;
        plan.gives(source, self.block(block));
        plan.keeps(rank, destination, (0, plan.elements))?;
        Ok(plan)
    }

    /// Waits for a collective; its receipt.
    fn complete(&self, rank: &mut Rank, request: Request) -> Result<Receipt> {
        let receipt = request.receipt();
        rank.wait(request)?;
        // It is the request of a collective.
        receipt.ok_or_else(|| self.bad(rank.pid(), "a request that is none of its own"))
    }

    /// The elements of this member's block.
    fn block(&self, block: usize) -> Span {
        (self.shape.me * block, (self.shape.me + 1) * block)
    }

    fn plan<T: Datatype>(
        &self,
        rank: &mut Rank,
        collective: Collective,
        count: usize,
        operation: Option<Operation>,
        root: Option<u32>,
    ) -> Result<Plan> {
        self.check(rank)?;
        let root_rank = match root {
            None => None,
            Some(root) => match self.members().get(root as usize) {
                Some(&member) => Some(member),
                None => {
                    return Err(Error::NoSuchMember {
                        rank: rank.pid(),
                        communicator: self.id(),
                        what: "root",
                        found: root,
                        size: self.size(),
                    });
                }
            },
        };
        let blocks = match collective {
            Collective::ReduceScatter
            | Collective::Scatter
            | Collective::Gather
            | Collective::Allgather => self.members().len(),
            _ => 1,
        };
        let words = blocks as u64 * count as u64 * u64::from(T::BYTES) / 4;
        fits("words of a collective", words, MAX_WORDS)?;
        // Halves what the links carry; a short vector has nothing to halve. Members who agree about the
        // rest agree about it too.
        let halving = match collective {
            Collective::ReduceScatter | Collective::Scatter if words >= HALVING_WORDS => {
                self.tree().halving(self.members())
            }
            _ => None,
        };
        let algorithm = halving.unwrap_or(match collective {
            Collective::Reduce | Collective::Bcast | Collective::Scatter | Collective::Gather => {
                Algorithm::Tree
            }
            _ => Algorithm::Doubling,
        });
        Ok(Plan {
            call: Call {
                communicator: self.id(),
                collective,
                count: count as u32,
                element: (collective != Collective::Barrier).then_some(T::TYPE),
                operation,
                root: root_rank,
            },
            algorithm,
            root: root.map(|root| root as usize),
            element_bytes: T::BYTES as usize,
            elements: blocks * count,
            gives: None,
            keeps: None,
            combine: None,
        })
    }

    /// Which way a call goes.
    fn path(&self, rank: &Rank, call: &Call) -> Path {
        let software = |reason| Path::Software(reason);
        if !rank.progress.info().has_switch() {
            return software(SoftwareReason::NoSwitch);
        }
        if rank.options.software_collectives {
            return software(SoftwareReason::Forced);
        }
        match call.element {
            Some(element) if element.hardware().is_none() => {
                software(SoftwareReason::Type(element))
            }
            _ if self.row().is_none() => software(SoftwareReason::NoRow),
            _ => Path::Hardware,
        }
    }

    fn start(&self, rank: &mut Rank, plan: Plan) -> Result<Request> {
        plan.check_overlap(rank)?;
        let path = self.path(rank, &plan.call);
        match (path, self.row()) {
            (Path::Hardware, Some(row)) => self.start_hardware(rank, plan, row),
            (Path::Software(reason), _) if self.strict => Err(Error::NotInHardware {
                rank: rank.pid(),
                call: plan.call,
                reason,
            }),
            _ => self.start_software(rank, plan, path),
        }
    }

    fn start_hardware(&self, rank: &mut Rank, plan: Plan, row: u32) -> Result<Request> {
        let operands = self.operands(&plan);
        if let Some(software) = &mut rank.progress.software {
            software.skip(self.id().0);
        }
        let asking = Asking {
            call: plan.call,
            path: Path::Hardware,
            members: Arc::clone(&self.shape.members),
            context: Some(row),
            bytes: (plan.elements * plan.element_bytes) as u64,
        };
        let asked = Asked::Collective(asking);
        match rank.options.checked && self.size() > 1 {
            true => rank
                .progress
                .post_checked(row, operands, asked, plan.held()),
            false => rank
                .progress
                .post_collective(row, operands, asked, plan.held()),
        }
    }

    /// Row and operands of a collective that a kernel is to start: in hardware, or not at all.
    pub(crate) fn for_kernel(&self, rank: &Rank, plan: &Plan) -> Result<(u32, Operands)> {
        plan.check_overlap(rank)?;
        match (self.path(rank, &plan.call), self.row()) {
            (Path::Hardware, Some(row)) => Ok((row, self.operands(plan))),
            (Path::Software(reason), _) => Err(Error::NotInHardware {
                rank: rank.pid(),
                call: plan.call,
                reason,
            }),
            (Path::Hardware, None) => Err(self.bad(rank.pid(), "without a row in hardware")),
        }
    }

    fn operands(&self, plan: &Plan) -> Operands {
        let words = |elements: usize| (elements * plan.element_bytes / 4) as u32;
        let what = self.what(plan);
        let (source, first, given) = match &plan.gives {
            Some((piece, (from, to))) => (piece.at.0, words(*from), words(to - from)),
            None => (0, 0, 0),
        };
        let (destination, low, high) = match &plan.keeps {
            Some((piece, (from, to))) => (piece.at.0, words(*from), words(*to)),
            None => (0, 0, 0),
        };
        Operands {
            source,
            first,
            words: given,
            destination,
            low,
            high,
            count: plan.call.count,
            what,
        }
    }

    /// What all members have to agree on, beside the count.
    fn what(&self, plan: &Plan) -> u32 {
        let call = &plan.call;
        let datatype = match call.element {
            None => 0,
            Some(element) => element.hardware().unwrap_or(Code::Software) as u32,
        };
        let label = call
            .root
            .and_then(|root| self.tree().place(root))
            .map_or(0, |(label, _)| label);
        c_what::OPCODE.put(call.collective.code().map_or(0, |code| code as u32))
            | c_what::ALGORITHM.put(plan.algorithm as u32)
            | c_what::OPERATION.put(call.operation.map_or(0, Operation::code))
            | c_what::DATATYPE.put(datatype)
            | c_what::LABEL.put(label)
            | c_what::ROOT.put(call.root.map_or(0, |root| root.0))
    }

    /// Row and operands of what tells the collective units of a collective in software; `None`
    /// where they are not asked, or nobody could differ.
    pub(crate) fn herald(&self, rank: &Rank, count: u32, what: u32) -> Option<(u32, Operands)> {
        let is_asked = !rank.options.software_collectives && self.size() > 1;
        let row = self.row().filter(|_| is_asked)?;
        Some((row, Operands::signature(count, what)))
    }

    fn start_software(&self, rank: &mut Rank, plan: Plan, path: Path) -> Result<Request> {
        let schedule = self.schedule(&plan);
        let herald = self.herald(rank, plan.call.count, self.what(&plan));
        let task = Task {
            call: plan.call,
            members: Arc::clone(&self.shape.members),
            me: self.shape.me,
            buffer: vec![0; schedule.buffer],
            schedule,
            combine: plan.combine,
            source: plan.gives.as_ref().map(|(piece, _)| piece.at),
            // Where nothing is kept, nothing is written.
            destination: Some(
                plan.keeps
                    .as_ref()
                    .map_or(NodeAddr(0), |(piece, _)| piece.at),
            ),
            _held: plan.held(),
        };
        let (request, _) = rank.progress.begin_software(task, path, herald)?;
        Ok(request)
    }

    fn schedule(&self, plan: &Plan) -> Schedule {
        let group = self.group();
        let bytes = plan.call.count as usize * plan.element_bytes;
        let root = plan.root.unwrap_or(0);
        match plan.call.collective {
            Collective::Reduce => group.reduce(bytes, root),
            Collective::Allreduce => group.allreduce(bytes),
            Collective::ReduceScatter => group.reduce_scatter(bytes),
            Collective::Bcast => group.bcast(bytes, root),
            Collective::Scatter => group.scatter(bytes, root),
            Collective::Gather => group.gather(bytes, root),
            Collective::Allgather => group.allgather(bytes),
            _ => Schedule::default(),
        }
    }
}

impl Plan {
    fn reduces<T: Reducible>(&mut self, rank: &Rank, operation: Operation) -> Result<()> {
        if T::IS_FLOAT && operation.is_bitwise() {
            return Err(Error::NoSuchOperation {
                rank: rank.pid(),
                operation,
                element: T::TYPE,
            });
        }
        self.combine = Some((operation, combine_bytes::<T>));
        Ok(())
    }

    fn wrong(&self, rank: &Rank, what: &'static str, found: usize, expected: usize) -> Error {
        Error::WrongLength {
            rank: rank.pid(),
            call: self.call,
            what,
            found,
            expected,
        }
    }

    /// Checks that a region holds a block for each member.
    fn whole<T: Datatype>(
        &self,
        communicator: &Communicator,
        rank: &Rank,
        what: &'static str,
        region: &Region<T>,
    ) -> Result<()> {
        let expected = self.call.count as usize * communicator.members().len();
        match region.len() == expected {
            true => Ok(()),
            false => Err(self.wrong(rank, what, region.len(), expected)),
        }
    }

    fn gives<T: Datatype>(&mut self, source: &Region<T>, span: Span) {
        self.gives = Some((source.into(), span));
    }

    fn keeps<T: Datatype>(
        &mut self,
        rank: &Rank,
        destination: &Region<T>,
        span: Span,
    ) -> Result<()> {
        let expected = span.1 - span.0;
        if destination.len() != expected {
            return Err(self.wrong(rank, "destination", destination.len(), expected));
        }
        self.keeps = Some((destination.into(), span));
        Ok(())
    }

    /// The root keeps a part of the message; the others may name a destination, which is not
    /// touched.
    fn root_keeps<T: Datatype>(
        &mut self,
        communicator: &Communicator,
        rank: &Rank,
        destination: Option<&Region<T>>,
        span: Span,
    ) -> Result<()> {
        if self.root != Some(communicator.shape.me) {
            return Ok(());
        }
        match destination {
            Some(destination) => self.keeps(rank, destination, span),
            None => Err(self.wrong(rank, "destination", 0, span.1 - span.0)),
        }
    }

    fn held(&self) -> Held {
        [&self.gives, &self.keeps]
            .map(|piece| piece.as_ref().map(|(piece, _)| Arc::clone(&piece.held)))
    }

    fn check_overlap(&self, rank: &Rank) -> Result<()> {
        let (Some((source, (first, _))), Some((destination, (low, _)))) =
            (&self.gives, &self.keeps)
        else {
            return Ok(());
        };
        let (from, to) = (source.at.0 as i64, destination.at.0 as i64);
        let apart = from + source.bytes as i64 <= to || to + destination.bytes as i64 <= from;
        let origin = |at: i64, element: &usize| at - (element * self.element_bytes) as i64;
        if apart || origin(from, first) == origin(to, low) {
            return Ok(());
        }
        Err(Error::Overlap {
            rank: rank.pid(),
            call: self.call,
        })
    }
}

/// # Collectives over slices
///
/// The same as [those over regions](Communicator#collectives), by way of node memory, in which
/// vectors are staged for as long as it takes. They fail also with [`Error::OutOfNodeMemory`].
impl Communicator {
    /// [`Communicator::reduce`]; the root gets the result.
    ///
    /// # Errors
    /// As [all of these](Communicator#collectives-over-slices).
    pub fn reduce_vec<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        root: u32,
        values: &[T],
    ) -> Result<(Option<Vec<T>>, Receipt)> {
        let vector = rank.alloc_from(values)?;
        let receipt = self.reduce(rank, operation, root, &vector, Some(&vector))?;
        let result = match self.rank() == root {
            true => Some(rank.read_vec(&vector)?),
            false => None,
        };
        Ok((result, receipt))
    }

    /// [`Communicator::allreduce`].
    ///
    /// # Errors
    /// As [all of these](Communicator#collectives-over-slices).
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Operation, soft::SoftBoard};
    /// # let products =
    /// Job::new(SoftBoard::new(4))?.run(4, |rank| {
    ///     let world = rank.world()?;
    ///     let mine = [2u64, u64::from(rank.pid().0)];
    ///     Ok(world.allreduce_vec(rank, Operation::Prod, &mine)?.0)
    /// })?;
    /// # assert_eq!(products[3], [16, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn allreduce_vec<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        values: &[T],
    ) -> Result<(Vec<T>, Receipt)> {
        let vector = rank.alloc_from(values)?;
        let receipt = self.allreduce(rank, operation, &vector, &vector)?;
        Ok((rank.read_vec(&vector)?, receipt))
    }

    /// [`Communicator::reduce_scatter`]; `values` has as many blocks as there are members.
    ///
    /// # Errors
    /// As [all of these](Communicator#collectives-over-slices).
    pub fn reduce_scatter_vec<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        values: &[T],
    ) -> Result<(Vec<T>, Receipt)> {
        let source = rank.alloc_from(values)?;
        let destination = rank.alloc(values.len() / self.members().len())?;
        let receipt = self.reduce_scatter(rank, operation, &source, &destination)?;
        Ok((rank.read_vec(&destination)?, receipt))
    }

    /// [`Communicator::bcast`]: fills `values` at all members but the root.
    ///
    /// # Errors
    /// As [all of these](Communicator#collectives-over-slices).
    pub fn bcast_slice<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        values: &mut [T],
    ) -> Result<Receipt> {
        let vector = rank.alloc_from(values)?;
        let receipt = self.bcast(rank, root, &vector)?;
        if self.rank() != root {
            rank.read(&vector, 0, values)?;
        }
        Ok(receipt)
    }

    /// [`Communicator::scatter`]: `count` elements for each member; the root gives the `values`.
    ///
    /// # Errors
    /// As [all of these](Communicator#collectives-over-slices).
    pub fn scatter_vec<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        values: Option<&[T]>,
        count: usize,
    ) -> Result<(Vec<T>, Receipt)> {
        let source = match values {
            Some(values) => Some(rank.alloc_from(values)?),
            None => None,
        };
        let destination = rank.alloc(count)?;
        let receipt = self.scatter(rank, root, source.as_ref(), &destination)?;
        Ok((rank.read_vec(&destination)?, receipt))
    }

    /// [`Communicator::gather`]; the root gets all blocks.
    ///
    /// # Errors
    /// As [all of these](Communicator#collectives-over-slices).
    pub fn gather_vec<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        values: &[T],
    ) -> Result<(Option<Vec<T>>, Receipt)> {
        let source = rank.alloc_from(values)?;
        let destination = match self.rank() == root {
            true => Some(rank.alloc(values.len() * self.members().len())?),
            false => None,
        };
        let receipt = self.gather(rank, root, &source, destination.as_ref())?;
        let result = match &destination {
            Some(destination) => Some(rank.read_vec(destination)?),
            None => None,
        };
        Ok((result, receipt))
    }

    /// [`Communicator::allgather`].
    ///
    /// # Errors
    /// As [all of these](Communicator#collectives-over-slices).
    pub fn allgather_vec<T: Datatype>(
        &self,
        rank: &mut Rank,
        values: &[T],
    ) -> Result<(Vec<T>, Receipt)> {
        let source = rank.alloc_from(values)?;
        let destination = rank.alloc(values.len() * self.members().len())?;
        let receipt = self.allgather(rank, &source, &destination)?;
        Ok((rank.read_vec(&destination)?, receipt))
    }
}
