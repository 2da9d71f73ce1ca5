//! Calls a collective, and compares every byte that it may and may not change.

use alcor::{Call, Causes, Collective, Communicator, Cycle, ElementType, GlobalRank, Operation, PageOffset, Path, Rank, Region, Request, SoftwareReason};
use alcor_test::{At, Context, Failure, Result, same, same_bytes};

use super::sample::{Flavour, HARDWARE, Sample, bytes_of, reduced, vector, with_type};

/// The collectives with data.
pub(in crate::suite) const ALL: [Collective; 7] = [
    Collective::Allreduce,
    Collective::Reduce,
    Collective::ReduceScatter,
    Collective::Bcast,
    Collective::Scatter,
    Collective::Gather,
    Collective::Allgather,
];

/// A collective as a test calls it.
#[derive(Debug, Clone, Copy)]
pub(in crate::suite) struct Case {
    pub(in crate::suite) collective: Collective,
    pub(in crate::suite) element: ElementType,
    pub(in crate::suite) operation: Operation,
    /// Elements, of a block where there are blocks.
    pub(in crate::suite) count: usize,
    pub(in crate::suite) root: u32,
    /// Elements by which source and destination lie apart from a multiple of 64 bytes.
    pub(in crate::suite) shift: (usize, usize),
    pub(in crate::suite) in_place: bool,
    pub(in crate::suite) flavour: Flavour,
    /// Tells its data from those of others.
    pub(in crate::suite) number: u64,
}

impl Case {
    /// A case of few ordinary elements.
    pub(in crate::suite) fn new(collective: Collective, element: ElementType) -> Case {
        Case {
            collective,
            element,
            operation: Operation::Sum,
            count: 5,
            root: 0,
            shift: (0, 0),
            in_place: false,
            flavour: Flavour::Plain,
            number: 0,
        }
    }

    pub(in crate::suite) fn reduces(&self) -> bool {
        use Collective::{Allreduce, Reduce, ReduceScatter};
        matches!(self.collective, Reduce | Allreduce | ReduceScatter)
    }

    pub(in crate::suite) fn has_root(&self) -> bool {
        use Collective::{Bcast, Gather, Reduce, Scatter};
        matches!(self.collective, Reduce | Bcast | Scatter | Gather)
    }

    pub(in crate::suite) fn has_blocks(&self) -> bool {
        use Collective::{Allgather, Gather, ReduceScatter, Scatter};
        matches!(
            self.collective,
            ReduceScatter | Scatter | Gather | Allgather
        )
    }

    /// The call of the case.
    pub(in crate::suite) fn call(&self, communicator: &Communicator) -> Call {
        let is_barrier = self.collective == Collective::Barrier;
        let mut call = Call::new(communicator.id(), self.collective);
        if !is_barrier {
            call = call.of_elements(self.count as u32, self.element);
        }
        if self.reduces() {
            call = call.with_operation(self.operation);
        }
        if self.has_root() {
            call = call.with_root(communicator.members()[self.root as usize]);
        }
        call
    }

    /// Elements of the whole message.
    fn elements(&self, size: usize) -> usize {
        if self.has_blocks() {
            size * self.count
        } else {
            self.count
        }
    }

    /// With at most so many bytes of a message.
    pub(in crate::suite) fn within(mut self, bytes: usize, size: u32) -> Case {
        let blocks = if self.has_blocks() { size as usize } else { 1 };
        self.count = self.count.min(bytes / (blocks * bytes_of(self.element)));
        self
    }
}

/// Elements behind each vector; there are 64 bytes before it, at least.
const GUARD: usize = 9;

/// Node memory that a collective may change, and around it what it may not.
struct Area<T: Sample> {
    whole: Region<u8>,
    /// What it holds.
    holds: Vec<u8>,
    vector: Region<T>,
    at: usize,
}

impl<T: Sample> Area<T> {
    fn new(rank: &mut Rank, shift: usize, length: usize, seed: u64) -> Result<Area<T>, Failure> {
        // A region begins at a multiple of 64 bytes, and so does what stands 64 bytes behind.
        let from = 64 / T::BYTES as usize + shift;
        let around = rank.alloc::<T>(from + length + GUARD)?;
        let vector = around.slice(from..from + length)?;
        let whole = around.bytes();
        let holds: Vec<u8> = (0..whole.len() as u64)
            .map(|at| {
                (at.wrapping_mul(0x9E37_79B9)
                    .wrapping_add(seed.wrapping_mul(31))
                    >> 5) as u8
            })
            .collect();
        Ok(Area {
            at: from * T::BYTES as usize,
            whole,
            holds,
            vector,
        })
    }

    /// From now on it is to hold these, from an element on.
    fn expect(&mut self, element: usize, values: &[T]) {
        let at = self.at + element * T::BYTES as usize;
        let bytes = T::bytes(values);
        self.holds[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn write(&mut self, rank: &mut Rank) -> Result {
        Ok(rank.write(&mut self.whole, 0, &self.holds)?)
    }

    fn into_check(self, what: &'static str) -> Check {
        Check {
            what,
            whole: self.whole,
            holds: self.holds,
        }
    }
}

struct Check {
    what: &'static str,
    whole: Region<u8>,
    holds: Vec<u8>,
}

/// A collective that has been called.
pub(in crate::suite) struct UnderWay {
    request: Request<'static>,
    place: String,
    checks: Vec<Check>,
    call: Call,
    path: Path,
}

impl UnderWay {
    /// Whether it has ended.
    pub(in crate::suite) fn test(&mut self, rank: &mut Rank) -> Result<bool, Failure> {
        rank.test(&mut self.request).at(&self.place)
    }
}

/// Calls collectives of a test.
#[derive(Clone, Copy)]
pub(in crate::suite) struct Driver<'a> {
    pub(in crate::suite) context: &'a Context,
    /// Whether [`alcor::Options::software_collectives`] holds.
    pub(in crate::suite) forced: bool,
}

impl Driver<'_> {
    /// Which way a call is to go.
    pub(in crate::suite) fn path(&self, communicator: &Communicator, case: &Case) -> Path {
        let is_known = HARDWARE.contains(&case.element) || case.collective == Collective::Barrier;
        let reason = match communicator.row() {
            _ if !self.context.info().has_switch() => SoftwareReason::NoSwitch,
            _ if self.forced => SoftwareReason::Forced,
            _ if !is_known => SoftwareReason::Type(case.element),
            None => SoftwareReason::NoRow,
            Some(_) => return Path::Hardware,
        };
        Path::Software(reason)
    }

    /// What a member gives to a case.
    fn data<T: Sample>(&self, case: &Case, member: GlobalRank, length: usize) -> Vec<T> {
        let rng = self.context.rng(&[77, case.number, u64::from(member.0)]);
        vector(rng, case.flavour, length)
    }

    /// Calls a collective, and waits for it.
    pub(in crate::suite) fn run(
        &self,
        rank: &mut Rank,
        communicator: &Communicator,
        case: &Case,
    ) -> Result {
        let under_way = self.start(rank, communicator, case)?;
        self.finish(rank, under_way)
    }

    /// Calls a collective.
    pub(in crate::suite) fn start(
        &self,
        rank: &mut Rank,
        communicator: &Communicator,
        case: &Case,
    ) -> Result<UnderWay, Failure> {
        let call = case.call(communicator);
        let members: Vec<u32> = communicator
            .members()
            .iter()
            .map(|member| member.0)
            .collect();
        let place = format!(
            "{}: {call} of ranks {members:?}, number {}, shift {:?}{}",
            rank.pid(),
            case.number,
            case.shift,
            if case.in_place { ", in place" } else { "" },
        );
        let (request, checks) = if case.collective == Collective::Barrier {
            (communicator.ibarrier(rank).at(&place)?, Vec::new())
        } else {
            with_type!(case.element, T => self.post::<T>(rank, communicator, case, &place)?)
        };
        let path = self.path(communicator, case);
        Ok(UnderWay {
            request,
            place,
            checks,
            call,
            path,
        })
    }

    fn post<T: Sample>(
        &self,
        rank: &mut Rank,
        communicator: &Communicator,
        case: &Case,
        place: &str,
    ) -> Result<(Request<'static>, Vec<Check>), Failure> {
        use Collective::{Allgather, Allreduce, Bcast, Gather, Reduce, ReduceScatter};
        let size = communicator.size() as usize;
        let me = communicator.rank() as usize;
        let (count, elements) = (case.count, case.elements(size));
        let members = communicator.members();
        let root = case.root as usize;
        let at_root = me == root;
        let block = me * count..(me + 1) * count;
        let gathers = matches!(case.collective, Gather | Allgather);

        // What this rank gives, and where that stands in the message.
        let (gives, first) = match case.collective {
            Reduce | Allreduce | ReduceScatter => (elements, 0),
            Gather | Allgather => (count, block.start),
            _ if at_root => (elements, 0),
            _ => (0, 0),
        };
        let given: Vec<T> = self.data(case, members[me], gives);
        // What it is to have in the end, and where that stands in the message.
        let result = || {
            reduced(communicator.tree(), case.operation, |member| {
                self.data::<T>(case, member, elements)
            })
        };
        let of_root = || self.data::<T>(case, members[root], elements);
        let gathered = || {
            members
                .iter()
                .flat_map(|&member| self.data::<T>(case, member, count))
                .collect()
        };
        let (kept, low): (Vec<T>, usize) = match case.collective {
            Allreduce => (result(), 0),
            Reduce if at_root => (result(), 0),
            ReduceScatter => (result()[block.clone()].to_vec(), block.start),
            Bcast => (of_root(), 0),
            Collective::Scatter => (of_root()[block.clone()].to_vec(), block.start),
            Allgather => (gathered(), 0),
            Gather if at_root => (gathered(), 0),
            _ => (Vec::new(), 0),
        };

        let mut checks = Vec::new();
        let (source, destination);
        if case.in_place || case.collective == Bcast {
            let mut area: Area<T> = Area::new(rank, case.shift.0, elements, case.number)?;
            area.expect(first, &given);
            area.write(rank)?;
            let (give, keep) = match case.collective {
                Gather | Allgather => (block, 0..elements),
                Collective::Scatter | ReduceScatter => (0..elements, block),
                _ => (0..elements, 0..elements),
            };
            // Who gives a block, and keeps nothing, has it where it would be at the root.
            (source, destination) = (area.vector.slice(give)?, area.vector.slice(keep)?);
            area.expect(low, &kept);
            checks.push(area.into_check("its vector and what is around it"));
        } else {
            let length = if gathers { count } else { elements };
            let mut from: Area<T> = Area::new(rank, case.shift.0, length, case.number)?;
            from.expect(0, &given);
            from.write(rank)?;
            let length = match case.collective {
                ReduceScatter | Collective::Scatter => count,
                _ => elements,
            };
            let mut to: Area<T> = Area::new(rank, case.shift.1, length, case.number + 1)?;
            to.write(rank)?;
            (source, destination) = (from.vector.clone(), to.vector.clone());
            to.expect(0, &kept);
            checks.push(from.into_check("its source and what is around it"));
            checks.push(to.into_check("its destination and what is around it"));
        }

        let (operation, root) = (case.operation, case.root);
        let request = match case.collective {
            Reduce => communicator.ireduce(rank, operation, root, source, destination),
            Allreduce => communicator.iallreduce(rank, operation, source, destination),
            ReduceScatter => communicator.ireduce_scatter(rank, operation, source, destination),
            Bcast => communicator.ibcast(rank, root, source),
            Gather => communicator.igather(rank, root, source, destination),
            Allgather => communicator.iallgather(rank, source, destination),
            _ if at_root => communicator.iscatter(rank, root, source, destination),
            _ => communicator.iscatter(rank, root, &[], destination),
        };
        Ok((request.at(place)?, checks))
    }

    /// Waits for a collective, and compares.
    pub(in crate::suite) fn finish(
        &self,
        rank: &mut Rank,
        under_way: UnderWay,
    ) -> Result {
        let UnderWay {
            request,
            place,
            checks,
            call,
            path,
        } = under_way;
        let receipt = request.receipt();
        rank.wait(request).at(&place)?;
        same(
            format_args!("{place}: its receipt"),
            Some((call, path)),
            receipt.map(|receipt| (receipt.call, receipt.path)),
        )?;
        for Check { what, whole, holds } in checks {
            let found = rank.read_vec(&whole)?;
            same_bytes(format_args!("{place}: {what}"), &holds, &found)?;
        }
        Ok(())
    }

    /// One call after the other.
    pub(in crate::suite) fn run_all(
        &self,
        rank: &mut Rank,
        communicator: &Communicator,
        cases: impl IntoIterator<Item = Case>,
    ) -> Result {
        for case in cases {
            self.run(rank, communicator, &case)?;
        }
        Ok(())
    }
}

/// Waits for so many cycles, at least, whatever the hardware wants to tell.
pub(in crate::suite) fn nap(rank: &mut Rank, cycles: u64) -> Result {
    let until = rank.now()?.0 + cycles;
    loop {
        let now = rank.now()?.0;
        if now >= until {
            return Ok(());
        }
        rank.lab().port().wait(Causes::NONE, Cycle(until))?;
        if rank.now()?.0 == now {
            // A wait ends at once while an interrupt is pending; reading a register takes time.
            rank.lab().port().read32(PageOffset(alcor_abi::rank::IDENTITY))?;
            rank.lab().port().wait(Causes::NONE, Cycle(now))?;
        }
    }
}
