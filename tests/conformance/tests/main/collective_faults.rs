//! Clusters whose collectives have a fault, each of which some test has to catch.
//!
//! What stands between the library and a sound, Verilated cluster spoils commands of the
//! collective unit, rows of the communicator table, completions, and results in node memory.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use alcor::{
    Backend, Board, BoardLayer, Cluster, Error, LocalRank, NodeAddr, PageOffset, Port, PortLayer,
    Status,
};
use alcor_abi::rank::{self as page, c_go, c_what, comm_row, comm_shape};
use alcor_abi::{
    CQ_ENTRY_BYTES, Collective as Code, Datatype, Operation as OperationCode, packets::cq_entry,
};
use alcor_conformance::tests;
use alcor_cosim::CosimBackend;
use alcor_test::{Settings, Test, Verdict, run_test};

/// What is wrong with the collectives of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A bit of the last word of a reduction's result is flipped, at one rank.
    FlipsBitOfReduction,
    /// The same of every 16th reduction only.
    FlipsBitOfFewReductions,
    /// A minimum that is -0 is +0, in f64.
    LosesSignOfZero,
    /// A broadcast ends well and leaves one rank with what it had.
    LosesBcast,
    /// The last rank's block of a gather is left out.
    LosesBlockOfGather,
    /// A collective that failed ends well.
    HidesFailure,
    /// Differences of any kind are told as one of the count.
    ConfusesDifference,
    /// A word behind what is kept is written too.
    WritesBehind,
    /// Vectors begin at a multiple of a phit.
    IgnoresSourceAlignment,
    /// The last word that is to be kept is not.
    KeepsWordLess,
    /// What lies beyond 512 phits is not given out.
    CutsLong,
    /// A minimum is a maximum.
    TakesMaximumForMinimum,
    /// A sum of f32 is one of i32.
    TakesIntegerForFloat,
    /// All counts agree.
    ForgetsCount,
    /// All roots agree.
    ForgetsRoot,
    /// Row 3 is row 1.
    ConfusesRows,
    /// A rank of a communicator of some of a board's ranks is left out.
    ForgetsMember,
}

const FAULTS: [Fault; 17] = [
    Fault::FlipsBitOfReduction,
    Fault::FlipsBitOfFewReductions,
    Fault::LosesSignOfZero,
    Fault::LosesBcast,
    Fault::LosesBlockOfGather,
    Fault::HidesFailure,
    Fault::ConfusesDifference,
    Fault::WritesBehind,
    Fault::IgnoresSourceAlignment,
    Fault::KeepsWordLess,
    Fault::CutsLong,
    Fault::TakesMaximumForMinimum,
    Fault::TakesIntegerForFloat,
    Fault::ForgetsCount,
    Fault::ForgetsRoot,
    Fault::ConfusesRows,
    Fault::ForgetsMember,
];

struct FaultyBoard {
    sound: Arc<dyn Board>,
    fault: Fault,
    number: usize,
}

impl BoardLayer for FaultyBoard {
    fn below(&self) -> &Arc<dyn Board> {
        &self.sound
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>, Error> {
        let sound = Arc::clone(&self.sound).attach(rank)?;
        Ok(Box::new(FaultyPort {
            sound,
            fault: self.fault,
            is_victim: self.number == 1 && rank.0 == 0,
            ring: (0, 0),
            operands: [0; 8],
            posted: BTreeMap::new(),
            reductions: 0,
        }))
    }
}

/// A collective under way.
#[derive(Debug, Clone)]
struct Posted {
    opcode: u32,
    operation: u32,
    destination: u32,
    bytes: u32,
    /// What stands at the destination, and a word behind it.
    before: Vec<u8>,
}

struct FaultyPort {
    sound: Box<dyn Port>,
    fault: Fault,
    /// The one rank whose results are spoilt.
    is_victim: bool,
    /// The completion ring: base and entries.
    ring: (u32, u32),
    /// Registers from C_SOURCE on, as the library wrote them.
    operands: [u32; 8],
    posted: BTreeMap<u32, Posted>,
    reductions: u32,
}

const DESTINATION: usize = 3;
const LOW: usize = 4;
const HIGH: usize = 5;
const WHAT: usize = 7;

impl FaultyPort {
    /// What the library writes to a register, as it arrives.
    fn spoilt(&self, offset: u32, value: u32) -> u32 {
        match (self.fault, offset) {
            (Fault::IgnoresSourceAlignment, page::C_SOURCE) => value & !31,
            (Fault::KeepsWordLess, page::C_HIGH) => value.saturating_sub(1).max(self.operands[LOW]),
            (Fault::CutsLong, page::C_HIGH) => value.min(self.operands[LOW].max(512 * 8)),
            (Fault::ForgetsCount, page::C_COUNT) => 1,
            (Fault::TakesMaximumForMinimum, page::C_WHAT)
                if c_what::OPERATION.get(value) == OperationCode::Min as u32 =>
            {
                value & !c_what::OPERATION.mask() | c_what::OPERATION.put(OperationCode::Max as u32)
            }
            (Fault::TakesIntegerForFloat, page::C_WHAT)
                if c_what::DATATYPE.get(value) == Datatype::F32 as u32 =>
            {
                value & !c_what::DATATYPE.mask() | c_what::DATATYPE.put(Datatype::I32 as u32)
            }
            (Fault::ForgetsRoot, page::C_WHAT) => {
                value & !c_what::ROOT.mask() & !c_what::LABEL.mask()
            }
            (Fault::ConfusesRows, page::COMM_ROW) if comm_row::CONTEXT.get(value) == 3 => {
                value & !comm_row::CONTEXT.mask() | comm_row::CONTEXT.put(1)
            }
            (Fault::ConfusesRows, page::C_GO) if c_go::CONTEXT.get(value) == 3 => {
                value & !c_go::CONTEXT.mask() | c_go::CONTEXT.put(1)
            }
            (Fault::ForgetsMember, page::COMM_SHAPE) => {
                let members = comm_shape::MEMBERS.get(value);
                let left = members & members.wrapping_sub(1);
                match left {
                    0 => value,
                    left => value & !comm_shape::MEMBERS.mask() | comm_shape::MEMBERS.put(left),
                }
            }
            _ => value,
        }
    }

    /// Keeps what a collective is to do, for when it has done it.
    fn note(&mut self, go: u32) -> Result<(), Error> {
        let [low, high] = [self.operands[LOW], self.operands[HIGH]];
        let bytes = (high - low) * 4;
        let mut before = vec![0; bytes as usize + 4];
        self.sound
            .read_memory(NodeAddr(self.operands[DESTINATION]), &mut before)?;
        let posted = Posted {
            opcode: c_what::OPCODE.get(self.operands[WHAT]),
            operation: c_what::OPERATION.get(self.operands[WHAT]),
            destination: self.operands[DESTINATION],
            bytes,
            before,
        };
        self.posted.insert(c_go::ID.get(go), posted);
        Ok(())
    }

    /// A collective of the victim has ended: spoils its result.
    fn ended(&mut self, posted: &Posted) -> Result<(), Error> {
        let is = |code: Code| posted.opcode == code as u32;
        let reduces = is(Code::Reduce) || is(Code::Allreduce) || is(Code::ReduceScatter);
        let at = NodeAddr(posted.destination);
        if posted.bytes == 0 {
            return Ok(());
        }
        let mut now = vec![0; posted.bytes as usize + 4];
        self.sound.read_memory(at, &mut now)?;
        let end = posted.bytes as usize;
        self.reductions += u32::from(reduces);
        match self.fault {
            Fault::FlipsBitOfReduction if reduces => now[end - 4] ^= 1,
            Fault::FlipsBitOfFewReductions if reduces && self.reductions % 16 == 15 => {
                now[end - 2] ^= 0x10;
            }
            Fault::LosesSignOfZero if reduces => {
                let of_min = posted.operation == OperationCode::Min as u32;
                for word in now[..end].chunks_exact_mut(8) {
                    if of_min && word == [0, 0, 0, 0, 0, 0, 0, 0x80] {
                        word[7] = 0;
                    }
                }
            }
            Fault::LosesBcast if is(Code::Bcast) => now.copy_from_slice(&posted.before),
            Fault::LosesBlockOfGather if is(Code::Allgather) => {
                let half = end / 2 / 4 * 4;
                now[half..end].copy_from_slice(&posted.before[half..end]);
            }
            Fault::WritesBehind => now[end] ^= 0xFF,
            _ => return Ok(()),
        }
        self.sound.write_memory(at, &now)
    }

    /// Looks at completions on their way to the library.
    fn look_at_ring(&mut self, data: &mut [u8]) -> Result<(), Error> {
        const ENTRY: usize = CQ_ENTRY_BYTES as usize;
        for at in (0..data.len() / ENTRY).map(|entry| entry * ENTRY) {
            let word = |data: &[u8]| {
                u32::from_le_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]])
            };
            let first = word(data);
            let id = cq_entry::ID.get(first);
            let Some(posted) = self.posted.remove(&id) else {
                continue;
            };
            let status = cq_entry::STATUS.get(first);
            if self.is_victim && status == Status::Ok as u32 {
                self.ended(&posted)?;
            }
            let spoilt = match self.fault {
                Fault::HidesFailure => Status::Ok as u32,
                Fault::ConfusesDifference if status != Status::Ok as u32 => {
                    Status::OtherCount as u32
                }
                _ => status,
            };
            let first = first & !cq_entry::STATUS.mask() | cq_entry::STATUS.put(spoilt);
            data[at..at + 4].copy_from_slice(&first.to_le_bytes());
        }
        Ok(())
    }
}

impl PortLayer for FaultyPort {
    fn below(&mut self) -> &mut dyn Port {
        &mut *self.sound
    }

    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<(), Error> {
        match offset.0 {
            page::CQ_BASE => self.ring.0 = value,
            page::CQ_SIZE => self.ring.1 = 1 << value,
            at @ page::C_SOURCE..=page::C_WHAT => {
                self.operands[(at - page::C_SOURCE) as usize / 4] = value;
            }
            page::C_GO => self.note(value)?,
            _ => {}
        }
        let value = self.spoilt(offset.0, value);
        self.sound.write32(offset, value)
    }

    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<(), Error> {
        self.sound.read_memory(at, data)?;
        let (base, entries) = self.ring;
        if (base..base + entries * CQ_ENTRY_BYTES).contains(&at.0) {
            self.look_at_ring(data)?;
        }
        Ok(())
    }
}

fn faulty(fault: Fault) -> Cluster {
    // One backend, so that hundreds of clusters are opened of one model. Two boards of two ranks: a board has other
    // members of a communicator than all of its ranks.
    static BACKEND: LazyLock<CosimBackend> =
        LazyLock::new(|| CosimBackend::new().root(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
    let sound = BACKEND.open("u280").unwrap();
    sound.layered(|number, sound| FaultyBoard {
        sound,
        fault,
        number,
    })
}

/// The first test that fails on a cluster with a fault.
fn catcher(fault: Fault) -> Option<(&'static Test, String)> {
    // Longer than any wait of a sound cluster in these tests, and short, since some faults make ranks wait in vain.
    let settings = Settings {
        watchdog_cycles: 50_000,
        ..Settings::default()
    };
    let groups = ["collectives.", "communicators."];
    tests()
        .filter(|test| groups.iter().any(|group| test.name.starts_with(group)))
        .find_map(
            |test| match run_test(test, faulty(fault), &settings).verdict {
                Verdict::Failed(failure) => Some((test, failure.to_string())),
                _ => None,
            },
        )
}

#[test]
fn every_fault_of_collectives_is_caught() {
    let mut missed = Vec::new();
    for fault in FAULTS {
        match catcher(fault) {
            Some((test, failure)) => println!("{fault:?}: {}: {failure}", test.name),
            None => missed.push(fault),
        }
    }
    assert_eq!(missed, []);
}
