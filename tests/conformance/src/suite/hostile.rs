//! A rank whose program writes anything to its page, beside ranks that compute and check.
//!
//! `docs/trust.md` says what such a rank can do: spoil its own memory and what windows let it write, end the run (ABORT), and
//! write rows of communicators. The last two are left out here; everything else must leave the others as they are.

use std::fmt::Display;
use std::sync::atomic::{AtomicU32, Ordering};

use alcor::abi::packets::{x_commit, x_tag};
use alcor::abi::{command, rank as page};
use alcor::{AbortReason, Communicator, Error, GlobalRank, JobError, NodeAddr, Opcode, Operation, Options, PageOffset, Rank, Region, Rights, Window};
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

use super::registration::idle;
use super::reset::works_again;
use crate::failure::{holds, same, same_bytes};
use crate::test::tests;
use crate::{Context, Failure};

/// Why the hostile rank ends the run, once it has written enough.
const REASON: u8 = 0x5A;
/// Bytes of each window.
const BYTES: usize = 1024;
/// Longer than a fragment, and than a packet of the smallest configuration.
const LONGEST: usize = 700;
/// Rounds of the others, of which the hostile rank sees a part.
const ROUNDS: u32 = 1_000_000;

tests! {
    hostile: Rma Messages;

    /// The last rank writes anything, while the others get, put, send, receive and reduce among themselves.
    last(context, ranks >= 2) {
        run(context, GlobalRank(context.ranks() - 1))
    }

    /// The same of the first rank.
    first(context, ranks >= 2) {
        run(context, GlobalRank(0))
    }
}

fn run(context: &Context, hostile: GlobalRank) -> Result<(), Failure> {
    let rounds = AtomicU32::new(0);
    let ended = context.attempt(Options::default(), context.ranks(), |rank| {
        let mut place = Place::new(context, rank, hostile)?;
        rank.barrier()?;
        if rank.pid() == hostile {
            writes_anything(context, rank)?;
            return Ok(rank.abort(REASON)?);
        }
        for round in 0..ROUNDS {
            place.round(context, rank, round)?;
            rounds.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    });
    match ended {
        Err(JobError::Failed { source: Error::Aborted { by, reason: AbortReason(REASON) }, .. }) if by == hostile => {}
        Err(error) => return Err(Failure::from_run(error)),
        Ok(_) => return Err(Failure::new("the run", "ended by the hostile rank", "ended by itself")),
    }
    let rounds = rounds.into_inner();
    holds("rounds of the others beside the hostile rank", "some", rounds >= context.ranks(), rounds)?;
    works_again(context)
}

/// What one of the others has.
struct Place {
    /// The others, in order, and the place of this one.
    others: Vec<GlobalRank>,
    me: usize,
    /// Others may only read this.
    shown: Window<u8>,
    /// Whoever likes may write this, so nothing of it is known.
    open: Window<u8>,
    /// In no window, on both sides of the windows.
    guards: [Region<u8>; 2],
    data: Region<u8>,
    found: Region<u8>,
    part: Option<Communicator>,
    vector: Region<u32>,
    rng: ChaCha8Rng,
}

impl Place {
    fn new(context: &Context, rank: &mut Rank, hostile: GlobalRank) -> Result<Place, Failure> {
        let me = rank.pid();
        let noise = |what| context.noise(&[what, u64::from(me.0)], BYTES);
        let before = rank.alloc_from(&noise(GUARD))?;
        let shown = rank.alloc_from(&noise(SHOWN))?;
        let open = rank.alloc::<u8>(BYTES)?;
        let after = rank.alloc_from(&noise(GUARD))?;
        let shown = rank.register(&shown, Rights::READ)?;
        let open = rank.register(&open, Rights::ALL)?;
        let others: Vec<_> = (0..rank.nprocs()).map(GlobalRank).filter(|&other| other != hostile).collect();
        let part = match context.info().has_switch() {
            true => rank.world()?.split(rank, (me != hostile).then_some(0), 0)?,
            false => None,
        };
        Ok(Place {
            me: others.iter().position(|&other| other == me).unwrap_or(0),
            others,
            shown,
            open,
            guards: [before, after],
            data: rank.alloc(LONGEST)?,
            found: rank.alloc(LONGEST)?,
            part,
            vector: rank.alloc(40)?,
            rng: context.rng(&[u64::from(me.0)]),
        })
    }

    fn round(&mut self, context: &Context, rank: &mut Rank, round: u32) -> Result<(), Failure> {
        let (me, count) = (rank.pid(), self.others.len());
        // A part of what another one shows.
        let from = *self.others.choose(&mut self.rng).expect("this one at least");
        let at = self.rng.random_range(0..BYTES - LONGEST);
        let length = self.rng.random_range(0..=LONGEST);
        let found = self.found.slice(..length)?;
        rank.get(&self.shown, from, at, &found)?;
        let expected = context.noise(&[SHOWN, u64::from(from.0)], BYTES);
        same_bytes(told(me, round, "what it got"), &expected[at..at + length], &rank.read_vec(&found)?)?;
        // A put, of which only the end is known.
        rank.put(&self.open, from, at, &self.data.slice(..length)?)?;
        // A message to the next one, and one from the last one.
        let (next, last) = (self.others[(self.me + 1) % count], self.others[(self.me + count - 1) % count]);
        let noise = |from: GlobalRank| {
            let length = context.rng(&[MESSAGE, u64::from(from.0), u64::from(round)]).random_range(0..=LONGEST);
            context.noise(&[MESSAGE, u64::from(from.0), u64::from(round)], length)
        };
        let (sent, expected) = (noise(me), noise(last));
        let data = self.data.slice(..sent.len())?;
        rank.write(&data, 0, &sent)?;
        let send = rank.isend(next, round % 1000, &data)?;
        let mut found = vec![0; expected.len()];
        rank.recv(last, round % 1000, &mut found)?;
        same_bytes(told(me, round, "a message"), &expected, &found)?;
        rank.wait(send)?;
        if let Some(part) = &self.part {
            let vector = [me.0.wrapping_add(round); 40];
            rank.write(&self.vector, 0, &vector)?;
            part.allreduce(rank, Operation::Sum, &self.vector, &self.vector)?;
            let sum = self.others.iter().fold(0u32, |sum, other| sum.wrapping_add(other.0).wrapping_add(round));
            same(told(me, round, "a sum"), vec![sum; 40], rank.read_vec(&self.vector)?)?;
        }
        if round.is_multiple_of(8) {
            for guard in &self.guards {
                let expected = context.noise(&[GUARD, u64::from(me.0)], BYTES);
                same_bytes(told(me, round, "memory in no window"), &expected, &rank.read_vec(guard)?)?;
            }
            let expected = context.noise(&[SHOWN, u64::from(me.0)], BYTES);
            same_bytes(told(me, round, "a window for reading"), &expected, &rank.read_vec(self.shown.region())?)?;
        }
        Ok(())
    }
}

/// Purposes of noise.
const GUARD: u64 = 1;
const SHOWN: u64 = 2;
const MESSAGE: u64 = 3;

fn told(me: GlobalRank, round: u32, what: &str) -> impl Display {
    format!("{me}, round {round}: {what}")
}

/// Registers that a rank may not write without harm to others, as `docs/trust.md` says.
fn is_left_out(offset: u32) -> bool {
    let rows = page::COMM_ROW..page::COMM_PARTNER + 4 * page::COMM_PARTNER_COUNT;
    offset == command(Opcode::Abort) || rows.contains(&offset)
}

/// Writes any registers of the rank's own page, and any words of the rank's own memory.
fn writes_anything(context: &Context, rank: &mut Rank) -> Result<(), Failure> {
    let mut rng = context.rng(&[u64::from(rank.pid().0)]);
    let (memory, ranks) = (rank.board().node_bytes, rank.nprocs());
    let mut writes = context.scale(4_000, 200_000);
    while writes > 0 {
        let offset = match rng.random_range(0..100) {
            0..65 => command(*COMMANDS.choose(&mut rng).expect("some")),
            65..80 => rng.random_range(0..64) * 4,
            80..97 => *REGISTERS.choose(&mut rng).expect("some"),
            _ => rng.random_range(0..0x400) * 4,
        };
        if is_left_out(offset) {
            continue;
        }
        let value = value(&mut rng, ranks, memory);
        rank.port().write32(PageOffset(offset), value)?;
        writes -= 1;
        match rng.random_range(0..1000) {
            // The others have the time for a round or two.
            ..100 => idle(rank, rng.random_range(0..200))?,
            100..103 => {
                let bytes: Vec<u8> = (0..64).map(|_| rng.random()).collect();
                let at = rng.random_range(0..(memory - 64) / 4) * 4;
                rank.port().write_memory(NodeAddr(at), &bytes)?;
            }
            103..107 => {
                rank.port().read32(PageOffset(0x400 + 4 * rng.random_range(0..0x100)))?;
            }
            107 => rank.port().write32(PageOffset(page::RANK_RESET), 1)?,
            // Only a rank in its run reaches others.
            108..112 => {
                for (opcode, value) in [(Opcode::SetPid, rank.pid().0), (Opcode::SetNprocs, ranks), (Opcode::BeginRun, 0)] {
                    rank.port().write32(PageOffset(command(opcode)), value)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Commands that reach other ranks, beside the operands that they take.
const COMMANDS: [Opcode; 19] = [
    Opcode::Put1,
    Opcode::PutN,
    Opcode::Get,
    Opcode::Data8,
    Opcode::XOffset,
    Opcode::XLaddr,
    Opcode::XLength,
    Opcode::XWindow,
    Opcode::XTag,
    Opcode::XOffset,
    Opcode::XLength,
    Opcode::XPut,
    Opcode::XGet,
    Opcode::XSend,
    Opcode::XAnnounce,
    Opcode::XReceive,
    Opcode::XProbe,
    Opcode::XCancel,
    Opcode::XPut,
];

/// Registers that change what the page does.
const REGISTERS: [u32; 22] = [
    page::ACK,
    page::ACK_EVENTS,
    page::ACK_EVENTS,
    page::IRQ_ENABLE,
    page::CQ_BASE,
    page::CQ_SIZE,
    page::CQ_TAIL,
    page::CQ_WAKE,
    page::RETIRED_WAKE,
    page::C_SOURCE,
    page::C_FIRST,
    page::C_WORDS,
    page::C_DESTINATION,
    page::C_LOW,
    page::C_HIGH,
    page::C_COUNT,
    page::C_WHAT,
    page::C_GO,
    page::C_GO,
    page::POSTED_THRESHOLD,
    page::UNEXPECTED_THRESHOLD,
    page::MESSAGE_QUOTA,
];

/// Half of the values mean something somewhere.
fn value(rng: &mut ChaCha8Rng, ranks: u32, memory: u32) -> u32 {
    let rank = rng.random_range(0..=ranks);
    match rng.random_range(0..12) {
        0 => rng.random_range(0..64),
        1 => rng.random_range(0..memory),
        2 => rng.random_range(0..memory / 4) * 4,
        3..6 => x_commit::DPID.put(rank) | x_commit::SLOT.put(rng.random_range(0..4)) | x_commit::ID.put(rng.random_range(0..40)),
        6 => x_tag::TAG.put(rng.random_range(0..4)),
        7 => rng.random_range(0..2048),
        8 => u32::MAX - rng.random_range(0..64),
        _ => rng.random(),
    }
}
