//! A rank whose program writes random values to its page, beside ranks that compute and check.
//!
//! `docs/trust.md` lists the rights of a rank. It may spoil its own memory and windows that grant writing, end the run (ABORT),
//! write rows that it owns, and, on a board without a member of a communicator, the communicator's row. These are left out here.
//! No other write may change a result of another rank.

use std::fmt::Display;
use std::sync::atomic::{AtomicU32, Ordering};

use alcor_abi::packets::{x_commit, x_tag};
use alcor_abi::{command, rank as page};
use alcor::{Communicator, GlobalRank, NodeAddr, Opcode, Operation, Options, PageOffset, Rank, Region, Rights, Window};
use alcor_test::{Context, Failure, Result, alcor_test, holds, same, same_bytes};
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

use super::abort::{Cause, REASON, ended_by};
use super::registration::idle;
use super::reset::works_again;

/// Bytes of each window.
const BYTES: usize = 1024;
/// Longer than a fragment, and than a packet of the smallest configuration.
const LONGEST: usize = 700;
/// More rounds than the others come to before the hostile rank ends the run.
const ROUNDS: u32 = 1_000_000;

/// The last rank writes random values to its page, while the others get, put, send, receive and reduce among themselves.
#[alcor_test(ranks >= 2, needs = [Rma, Messages])]
fn last(context: &Context) -> Result {
    run(context, GlobalRank(context.ranks() - 1))
}

/// The first rank does so.
#[alcor_test(ranks >= 2, needs = [Rma, Messages])]
fn first(context: &Context) -> Result {
    run(context, GlobalRank(0))
}

fn run(context: &Context, hostile: GlobalRank) -> Result {
    let rounds = AtomicU32::new(0);
    let ended = context.attempt(Options::default(), context.ranks(), |rank| {
        let mut place = Place::new(context, rank, hostile)?;
        rank.barrier()?;
        if rank.pid() == hostile {
            write_at_random(context, rank)?;
            return Ok(rank.abort(REASON)?);
        }
        for round in 0..ROUNDS {
            place.round(context, rank, round)?;
            rounds.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    });
    ended_by(ended, hostile, Cause::Abort)?;
    let rounds = rounds.into_inner();
    holds("rounds of the others beside the hostile rank", "some", rounds >= context.ranks(), rounds)?;
    works_again(context)
}

/// Memory, windows and communicator of one of the other ranks.
struct Place {
    /// The other ranks in order, this one included, and the place of this one.
    others: Vec<GlobalRank>,
    me: usize,
    /// A window without the right to write.
    shown: Window<u8>,
    /// A window that the hostile rank may write, too: its contents are not checked.
    open: Window<u8>,
    /// Memory in no window, on both sides of the windows.
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
        let part = if context.info().has_switch() { rank.world()?.split(rank, (me != hostile).then_some(0), 0)? } else { None };
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

    fn round(&mut self, context: &Context, rank: &mut Rank, round: u32) -> Result {
        let (me, count) = (rank.pid(), self.others.len());
        // A part of another rank's read-only window.
        let from = *self.others.choose(&mut self.rng).expect("this one at least");
        let at = self.rng.random_range(0..BYTES - LONGEST);
        let length = self.rng.random_range(0..=LONGEST);
        let mut found = self.found.slice(..length)?;
        rank.get(&self.shown, from, at, &mut found)?;
        let expected = context.noise(&[SHOWN, u64::from(from.0)], BYTES);
        same_bytes(told(me, round, "what it got"), &expected[at..at + length], &rank.read_vec(&found)?)?;
        // A put, of which only the completion is checked.
        rank.put(&self.open, from, at, &self.data.slice(..length)?)?;
        // A message to the next one, and one from the last one.
        let (next, last) = (self.others[(self.me + 1) % count], self.others[(self.me + count - 1) % count]);
        let noise = |from: GlobalRank| {
            let length = context.rng(&[MESSAGE, u64::from(from.0), u64::from(round)]).random_range(0..=LONGEST);
            context.noise(&[MESSAGE, u64::from(from.0), u64::from(round)], length)
        };
        let (sent, expected) = (noise(me), noise(last));
        let mut data = self.data.slice(..sent.len())?;
        rank.write(&mut data, 0, &sent)?;
        let send = rank.isend(next, round % 1000, &data)?;
        let mut found = vec![0; expected.len()];
        rank.recv(last, round % 1000, &mut found)?;
        same_bytes(told(me, round, "a message"), &expected, &found)?;
        rank.wait(send)?;
        if let Some(part) = &self.part {
            let vector = [me.0.wrapping_add(round); 40];
            rank.write(&mut self.vector, 0, &vector)?;
            part.allreduce(rank, Operation::Sum, &self.vector, self.vector.clone())?;
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

/// The row of the hostile rank.
const OWN_ROW: u32 = 30;

/// Purposes of noise.
const GUARD: u64 = 1;
const SHOWN: u64 = 2;
const MESSAGE: u64 = 3;

fn told(me: GlobalRank, round: u32, what: &str) -> impl Display {
    format!("{me}, round {round}: {what}")
}

/// Whether a write there is left out.
fn is_left_out(offset: u32) -> bool {
    let rows = page::COMM_ROW..page::COMM_PARTNER + 4 * page::COMM_PARTNER_COUNT;
    offset == command(Opcode::Abort) || rows.contains(&offset)
}

/// Writes random registers of the rank's own page, and random words of the rank's own memory. The rank begins the run anew
/// after some hundred writes, as a command that waits for the other ranks blocks the command queue until then.
fn write_at_random(context: &Context, rank: &mut Rank) -> Result {
    let mut rng = context.rng(&[u64::from(rank.pid().0)]);
    let (memory, ranks) = (rank.board().node_bytes, rank.nprocs());
    let commands: Vec<Opcode> = Opcode::ALL.iter().copied().filter(|opcode| !RARE.contains(opcode)).collect();
    // Rows that the others have on this board, or nobody.
    let (board_ranks, local) = (rank.board().ranks, rank.pid().0 % rank.board().ranks);
    let of_the_run = [0, rank.board().communicators - 1];
    let foreign: Vec<u32> = match board_ranks {
        1 => Vec::new(),
        _ => (1..OWN_ROW).chain(of_the_run.into_iter().filter(|_| local != 0)).collect(),
    };
    let mut left = context.scale(4_000, 200_000);
    let mut retired = 0;
    while left > 0 {
        write_row(&mut rng, rank, OWN_ROW)?;
        if let Some(&row) = foreign.choose(&mut rng) {
            write_row(&mut rng, rank, row)?;
        }
        for _ in 0..rng.random_range(20..400).min(left) {
            let offset = match rng.random_range(0..1000) {
                ..750 => command(*commands.choose(&mut rng).expect("some")),
                750..960 => *REGISTERS.choose(&mut rng).expect("some"),
                960..970 => rng.random_range(0..64) * 4,
                _ => rng.random_range(0x100..0x400) * 4,
            };
            if is_left_out(offset) {
                continue;
            }
            let value = value(&mut rng, offset, ranks, memory);
            rank.lab().port().write32(PageOffset(offset), value)?;
            match rng.random_range(0..1000) {
                // The others have the time for a round or two.
                ..100 => idle(rank, rng.random_range(0..200))?,
                100..103 => {
                    let bytes: Vec<u8> = (0..64).map(|_| rng.random()).collect();
                    let at = rng.random_range(0..(memory - 64) / 4) * 4;
                    rank.lab().port().write_memory(NodeAddr(at), &bytes)?;
                }
                103..107 => {
                    rank.lab().port().read32(PageOffset(0x400 + 4 * rng.random_range(0..0x100)))?;
                }
                _ => {}
            }
            left -= 1;
        }
        retired += rank.lab().port().read32(PageOffset(page::RETIRED))?;
        let patience = match left {
            // As many cycles as the longest transfer takes words, and more.
            0 => memory,
            _ => rng.random_range(0..4) * 1000,
        };
        let state = reset(rank, patience)?;
        let is_over = page::reset_state::BUSY.get(state) == 0;
        holds("RESET_STATE after the last reset", "not busy", is_over || left > 0, format_args!("{state:#010x}"))?;
        for (opcode, value) in [(Opcode::SetPid, rank.pid().0), (Opcode::SetNprocs, ranks), (Opcode::BeginRun, 0)] {
            rank.lab().port().write32(PageOffset(command(opcode)), value)?;
        }
    }
    let least = context.scale(500, 25_000);
    holds("commands of the hostile rank that left its queue", format_args!("at least {least}"), retired >= least, retired)
}

/// Writes a row, with the rank as the board's only member or with any members, and partners on any board. If no other rank of the
/// board owns the row, a collective in it begins at once and waits for ever.
fn write_row(rng: &mut ChaCha8Rng, rank: &mut Rank, row: u32) -> Result {
    let (info, ranks) = (rank.board().clone(), rank.nprocs());
    if !info.has_switch() {
        return Ok(());
    }
    let boards = rng.random_range(1..=1 << info.stages);
    let key = page::comm_row::KEY.put(rng.random_range(0..256));
    let mut writes = vec![(page::COMM_ROW, page::comm_row::CONTEXT.put(row) | key)];
    for stage in 0..info.stages {
        writes.push((page::COMM_PARTNER + 4 * stage, rng.random_range(0..ranks)));
    }
    let members = if row == OWN_ROW || rng.random_bool(0.5) { 1 << (rank.pid().0 % info.ranks) } else { rng.random_range(0..1 << info.ranks) };
    let shape = page::comm_shape::BOARDS.put(boards)
        | page::comm_shape::LABEL.put(rng.random_range(0..boards))
        | page::comm_shape::MEMBERS.put(members);
    writes.push((page::COMM_SHAPE, shape));
    for (offset, value) in writes {
        rank.lab().port().write32(PageOffset(offset), value)?;
    }
    Ok(())
}

/// Resets the rank. RESET_STATE when the reset is over, or after so many cycles.
fn reset(rank: &mut Rank, patience: u32) -> Result<u32, Failure> {
    rank.lab().port().write32(PageOffset(page::RANK_RESET), page::rank_reset::RESET.mask())?;
    let mut waited = 0;
    loop {
        let state = rank.lab().port().read32(PageOffset(page::RESET_STATE))?;
        if page::reset_state::BUSY.get(state) == 0 || waited >= patience {
            return Ok(state);
        }
        idle(rank, 200)?;
        waited += 200;
    }
}

/// Commands that block or end what follows them: those that wait for other ranks, change the run, or name a window that the
/// rank's table does not have after a reset. They are written less often, as opcodes at random.
const RARE: [Opcode; 7] = [
    Opcode::SetNprocs,
    Opcode::EndRun,
    Opcode::Abort,
    Opcode::Register,
    Opcode::Deregister,
    Opcode::Barrier,
    Opcode::XWindow,
];

/// Registers that act on the rank, of those that are no commands.
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

/// A random value, most often one that is plausible for the register.
fn value(rng: &mut ChaCha8Rng, offset: u32, ranks: u32, memory: u32) -> u32 {
    if rng.random_bool(0.1) {
        return rng.random();
    }
    if offset == page::C_GO && rng.random_bool(0.5) {
        return page::c_go::CONTEXT.put(OWN_ROW) | page::c_go::ID.put(rng.random_range(0..40));
    }
    match Opcode::from_bits(offset / 4).filter(|_| offset < 0x400) {
        Some(Opcode::XPut | Opcode::XGet | Opcode::XSend | Opcode::XAnnounce | Opcode::XReceive | Opcode::XProbe) => {
            let rank = x_commit::DPID.put(rng.random_range(0..=ranks));
            rank | x_commit::SLOT.put(rng.random_range(0..3)) | x_commit::ID.put(rng.random_range(0..40))
        }
        Some(Opcode::XOffset) => rng.random_range(0..2 * BYTES as u32),
        // A long transfer goes on to its end, also in a reset.
        Some(Opcode::XLength) => rng.random_range(0..2 * BYTES as u32),
        Some(Opcode::XTag) => x_tag::TAG.put(rng.random_range(0..4)),
        Some(Opcode::SetPid | Opcode::SetNprocs) => rng.random_range(0..=ranks),
        _ => match rng.random_range(0..4) {
            0 => rng.random_range(0..64),
            1 => rng.random_range(0..memory),
            2 => rng.random_range(0..memory / 4) * 4,
            _ => u32::MAX - rng.random_range(0..64),
        },
    }
}
