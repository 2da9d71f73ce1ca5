//! Writes programs whose outcome is determined, and says what it is.

use alcor::{BoardInfo, Rights, Status, TransferKind};
use alcor_test::{Context, Result};
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;


/// How long a program is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    /// Operations of all ranks, at least.
    pub operations: usize,
    /// Operations of a rank between two fences, at most.
    pub each: usize,
}

/// A program for all ranks.
pub(super) struct Plan {
    pub number: u64,
    pub steps: Vec<Step>,
    /// Bytes of each rank's local memory.
    pub scratch: u32,
}

/// What all ranks do together.
pub(super) enum Step {
    /// Registers window `window`; `parts` says what each rank brings.
    Register {
        window: usize,
        slot: u8,
        parts: Vec<Part>,
    },
    /// Registers one window more than there are slots.
    RegisterTooMany,
    /// Deregisters window `window`.
    Deregister { window: usize },
    /// Each rank does its own, then they meet in a fence.
    Epoch {
        programs: Vec<Vec<Operation>>,
        /// Whether the fence is one call, or a flush and a barrier.
        fence: bool,
        /// What memory has to be then: for each rank the windows with their bytes.
        memory: Option<Vec<Memory>>,
    },
}

/// A rank's parts of windows, by their numbers.
pub(super) type Memory = Vec<(usize, Vec<u8>)>;

/// A rank's part of a window.
#[derive(Clone)]
pub(super) struct Part {
    pub bytes: Vec<u8>,
    pub rights: Rights,
}

/// What a rank does.
#[derive(Debug)]
pub(super) enum Operation {
    /// A put of `data`, or a get that has to find `data`.
    Transfer {
        access: Access,
        data: Vec<u8>,
        blocking: bool,
    },
    /// A command that has to be refused; its local memory, where it has any, stays as it is.
    Refused {
        access: Access,
        status: Status,
        blocking: bool,
    },
    /// Host code writes to its own part.
    Store {
        window: usize,
        offset: u32,
        data: Vec<u8>,
    },
    /// Host code reads its own part, and has to find `data`.
    Load {
        window: usize,
        offset: u32,
        data: Vec<u8>,
    },
    /// Everything of this rank completes.
    Complete(Completion),
}

/// A transfer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access {
    pub kind: TransferKind,
    /// A window by its number, or a slot in which there is none.
    pub window: Result<usize, u8>,
    pub target: u32,
    pub offset: u32,
    pub length: u32,
    pub local: Local,
}

/// The local memory of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Local {
    /// So many bytes into the rank's local memory.
    Scratch(u32),
    /// An address as it stands.
    Raw(u32),
}

/// How everything is completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completion {
    WaitAll,
    Backwards,
    Flush,
}

const NOBODY: u32 = u32::MAX;

/// Who has to do with a byte in this epoch.
#[derive(Clone, Copy)]
struct Claim {
    writer: u32,
    /// The writer's count when it wrote last; 0 if that is complete.
    written: u32,
    readers: u32,
    read: u32,
}

const FREE: Claim = Claim {
    writer: NOBODY,
    written: 0,
    readers: 0,
    read: 0,
};

/// A window as the plan knows it.
struct Live {
    window: usize,
    slot: u8,
    parts: Vec<Part>,
    claims: Vec<Vec<Claim>>,
}

/// A rank as the plan knows it.
#[derive(Default, Clone)]
struct Origin {
    /// Operations so far in this epoch.
    count: u32,
    /// Those up to here are complete.
    complete: u32,
    /// Local memory in use.
    scratch: u32,
}

struct Planner {
    rng: ChaCha8Rng,
    info: BoardInfo,
    ranks: u32,
    scratch: u32,
    live: Vec<Live>,
    made: usize,
    origins: Vec<Origin>,
}

/// Windows at the same time, at most.
const WINDOWS: usize = 8;

impl Plan {
    /// The program of that number.
    pub(super) fn new(context: &Context, number: u64, ranks: u32, size: Size) -> Plan {
        let info = context.info().clone();
        let mut planner = Planner {
            rng: context.rng(&[100, number]),
            scratch: (info.node_bytes / 8).min(32 << 10),
            info,
            ranks,
            live: Vec::new(),
            made: 0,
            origins: Vec::new(),
        };
        let mut steps = Vec::new();
        let mut operations = 0;
        while operations < size.operations {
            planner.collective(&mut steps);
            let each = planner.rng.random_range(1..=size.each);
            let programs = planner.epoch(each);
            operations += programs.iter().map(Vec::len).sum::<usize>();
            let memory = planner.rng.random_bool(0.4).then(|| planner.memory());
            steps.push(Step::Epoch {
                programs,
                fence: planner.rng.random(),
                memory,
            });
        }
        steps.push(Step::Epoch {
            programs: (0..ranks).map(|_| Vec::new()).collect(),
            fence: true,
            memory: Some(planner.memory()),
        });
        Plan {
            number,
            steps,
            scratch: planner.scratch,
        }
    }
}

impl Planner {
    /// Perhaps a change of the windows; there is one at least afterwards.
    fn collective(&mut self, steps: &mut Vec<Step>) {
        let slots = self.info.slots as usize;
        let most = slots.min(WINDOWS);
        if self.live.len() == slots && self.rng.random_bool(0.1) {
            steps.push(Step::RegisterTooMany);
        }
        if self.live.len() > 1 && self.rng.random_bool(0.15) {
            let index = self.rng.random_range(0..self.live.len());
            let window = self.live.swap_remove(index).window;
            steps.push(Step::Deregister { window });
        }
        if self.live.is_empty() || (self.live.len() < most && self.rng.random_bool(0.25)) {
            steps.push(self.register());
        }
    }

    fn register(&mut self) -> Step {
        let slot = (0..=u8::MAX)
            .find(|slot| self.live.iter().all(|live| live.slot != *slot))
            .unwrap_or(0);
        let (window, parts) = (self.made, (0..self.ranks).map(|_| self.part()).collect());
        self.made += 1;
        let parts: Vec<Part> = parts;
        self.live.push(Live {
            window,
            slot,
            claims: Vec::new(),
            parts: parts.clone(),
        });
        Step::Register {
            window,
            slot,
            parts,
        }
    }

    fn part(&mut self) -> Part {
        let longest = (3 * self.info.packet_bytes).min(2000);
        let size = match self.rng.random_range(0..10) {
            0 => 0,
            1..4 => self.rng.random_range(1..=64),
            _ => self.rng.random_range(1..=longest),
        };
        let mut bytes = vec![0; size as usize];
        self.rng.fill(&mut bytes[..]);
        let rights = match self.rng.random_range(0..10) {
            0 => Rights::READ,
            1 => Rights::WRITE,
            2 => Rights::NONE,
            _ => Rights::ALL,
        };
        Part { bytes, rights }
    }

    fn memory(&self) -> Vec<Memory> {
        let of = |rank: u32| {
            let part = |live: &Live| (live.window, live.parts[rank as usize].bytes.clone());
            self.live.iter().map(part).collect()
        };
        (0..self.ranks).map(of).collect()
    }

    fn epoch(&mut self, each: usize) -> Vec<Vec<Operation>> {
        self.origins = vec![Origin::default(); self.ranks as usize];
        for live in &mut self.live {
            let free = |part: &Part| vec![FREE; part.bytes.len()];
            live.claims = live.parts.iter().map(free).collect();
        }
        let mut programs: Vec<Vec<Operation>> = (0..self.ranks).map(|_| Vec::new()).collect();
        for _ in 0..each {
            for me in 0..self.ranks {
                self.operation(me, &mut programs[me as usize]);
            }
        }
        programs
    }

    fn operation(&mut self, me: u32, program: &mut Vec<Operation>) {
        self.origins[me as usize].count += 1;
        match self.rng.random_range(0..100) {
            0..5 => program.push(self.complete(me)),
            5..11 => program.extend(self.host(me)),
            11..19 => {
                let operation = self.refused(me, program);
                program.push(operation);
            }
            _ => {
                let operation = self.transfer(me, program);
                program.push(operation);
            }
        }
    }

    fn complete(&mut self, me: u32) -> Operation {
        let origin = &mut self.origins[me as usize];
        origin.complete = origin.count;
        origin.count += 1;
        origin.scratch = 0;
        let ways = [
            Completion::WaitAll,
            Completion::Backwards,
            Completion::Flush,
        ];
        Operation::Complete(ways[self.rng.random_range(0..ways.len())])
    }

    /// Local memory for a transfer; completes what is under way if there is none left.
    fn local(&mut self, me: u32, length: u32, program: &mut Vec<Operation>) -> Local {
        let shift = self.rng.random_range(0..8);
        if self.origins[me as usize].scratch + shift + length > self.scratch {
            program.push(self.complete(me));
        }
        let origin = &mut self.origins[me as usize];
        let at = origin.scratch + shift;
        origin.scratch = at + length;
        Local::Scratch(at)
    }

    /// A range of a part of `size` bytes.
    fn range(&mut self, size: u32) -> (u32, u32) {
        let longest = match self.rng.random_range(0..10) {
            0 => 0,
            1..5 => size.min(8),
            5..8 => size.min(64),
            _ => size,
        };
        let length = self.rng.random_range(0..=longest);
        (self.rng.random_range(0..=size - length), length)
    }

    fn transfer(&mut self, me: u32, program: &mut Vec<Operation>) -> Operation {
        let blocking = self.rng.random_bool(0.25);
        let kind = if self.rng.random() { TransferKind::Put } else { TransferKind::Get };
        for _ in 0..8 {
            let index = self.rng.random_range(0..self.live.len());
            let target = self.rng.random_range(0..self.ranks);
            let part = &self.live[index].parts[target as usize];
            let is_allowed = match kind {
                TransferKind::Put => part.rights.remote_write,
                TransferKind::Get => part.rights.remote_read,
            };
            let size = part.bytes.len() as u32;
            let (offset, length) = self.range(size);
            let is_write = kind == TransferKind::Put;
            if !is_allowed || !self.may(me, is_write, index, target, offset, length) {
                continue;
            }
            let local = self.local(me, length, program);
            let data = self.claim(me, is_write, blocking, index, target, offset, length);
            let access = Access {
                kind,
                window: Ok(self.live[index].window),
                target,
                offset,
                length,
                local,
            };
            return Operation::Transfer {
                access,
                data,
                blocking,
            };
        }
        // All that was tried is in use: there is always something that is refused.
        self.refused(me, program)
    }

    /// An access of host code to its own part.
    fn host(&mut self, me: u32) -> Option<Operation> {
        let is_write = self.rng.random();
        let index = self.rng.random_range(0..self.live.len());
        let size = self.live[index].parts[me as usize].bytes.len() as u32;
        let (offset, length) = self.range(size);
        if !self.may(me, is_write, index, me, offset, length) {
            return None;
        }
        let data = self.claim(me, is_write, true, index, me, offset, length);
        let window = self.live[index].window;
        Some(if is_write { Operation::Store {
                window,
                offset,
                data,
            } } else { Operation::Load {
                window,
                offset,
                data,
            } })
    }

    fn refused(&mut self, me: u32, program: &mut Vec<Operation>) -> Operation {
        let kind = if self.rng.random() { TransferKind::Put } else { TransferKind::Get };
        let index = self.rng.random_range(0..self.live.len());
        let target = self.rng.random_range(0..self.ranks);
        let part = &self.live[index].parts[target as usize];
        let size = part.bytes.len() as u32;
        let denies = match kind {
            TransferKind::Put => !part.rights.remote_write,
            TransferKind::Get => !part.rights.remote_read,
        };
        let mut access = Access {
            kind,
            window: Ok(self.live[index].window),
            target,
            offset: 0,
            length: self.rng.random_range(0..40),
            local: Local::Raw(0),
        };
        let vacant: Vec<u8> = (0..=u8::MAX)
            .filter(|slot| self.live.iter().all(|live| live.slot != *slot))
            .collect();
        let status = match self.rng.random_range(0..4) {
            0 if !vacant.is_empty() => {
                access.window = Err(*vacant.choose(&mut self.rng).unwrap_or(&0));
                Status::BadSlot
            }
            1 => {
                access.target = self.rng.random_range(self.ranks..256);
                Status::BadRank
            }
            2 if access.length > 0 => {
                let beyond = self.rng.random_range(0..access.length);
                access.local = Local::Raw(self.info.node_bytes - beyond);
                Status::BadLocal
            }
            _ if denies => {
                // The range is good, so that its rights are what it fails for.
                (access.offset, access.length) = self.range(size);
                Status::Denied
            }
            _ => {
                // Denied or not, it is refused; only what is not denied has one reason.
                (access.offset, access.length) = self.beyond(size);
                Status::OutOfBounds
            }
        };
        if access.local == Local::Raw(0) {
            access.local = self.local(me, access.length, program);
        }
        Operation::Refused {
            access,
            status,
            blocking: self.rng.random_bool(0.3),
        }
    }

    /// A range that reaches beyond a part of `size` bytes.
    fn beyond(&mut self, size: u32) -> (u32, u32) {
        let packet = self.info.packet_bytes;
        match self.rng.random_range(0..4) {
            0 => (size, 1),
            1 => (self.rng.random_range(size + 1..=u32::MAX), 0),
            2 => {
                // The end lies past 2^32, where it would be within the window again.
                let length = self.rng.random_range(2..=2 * packet);
                (0u32.wrapping_sub(self.rng.random_range(1..length)), length)
            }
            _ => {
                let offset = self.rng.random_range(0..=size);
                let most = size - offset + self.rng.random_range(1..=packet);
                (offset, most)
            }
        }
    }

    /// Whether the outcome is determined if `me` writes or reads there now.
    fn may(
        &self,
        me: u32,
        is_write: bool,
        index: usize,
        target: u32,
        offset: u32,
        length: u32,
    ) -> bool {
        let complete = self.origins[me as usize].complete;
        let claims = &self.live[index].claims[target as usize][offset as usize..];
        claims[..length as usize].iter().all(|claim| {
            let is_settled =
                claim.writer == NOBODY || (claim.writer == me && claim.written <= complete);
            let is_unread =
                claim.readers == 0 || (claim.readers == 1 << me && claim.read <= complete);
            is_settled && (!is_write || is_unread)
        })
    }

    /// Notes an access; what it writes, or has to find.
    #[expect(clippy::too_many_arguments, reason = "who, how, and where")]
    fn claim(
        &mut self,
        me: u32,
        is_write: bool,
        blocking: bool,
        index: usize,
        target: u32,
        offset: u32,
        length: u32,
    ) -> Vec<u8> {
        let when = if blocking { 0 } else { self.origins[me as usize].count };
        let range = offset as usize..(offset + length) as usize;
        let live = &mut self.live[index];
        for claim in &mut live.claims[target as usize][range.clone()] {
            if is_write {
                (claim.writer, claim.written) = (me, when);
            } else {
                claim.readers |= 1 << me;
                claim.read = claim.read.max(when);
            }
        }
        let bytes = &mut live.parts[target as usize].bytes[range];
        if is_write {
            self.rng.fill(&mut bytes[..]);
        }
        bytes.to_vec()
    }
}
