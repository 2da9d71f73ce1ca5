//! A rank's reset: its holder is gone, in the middle of whatever it did, and the next one finds it as new, while the others of
//! the board go on.

use std::collections::BTreeSet;
use std::thread;

use alcor_abi::board::{self, forward, place};
use alcor_abi::packets::cq_entry;
use alcor_abi::rank::{self as page, events};
use alcor_abi::{Algorithm, CQ_ENTRY_BYTES, Collective as Code, Datatype, Operation as OperationCode};
use alcor::{Communicator, Error, GlobalRank, NodeAddr, Opcode, Operation, Options, PageOffset, Rank, Rights, Status, Tree};
use alcor_test::{Context, Failure, Result, alcor_test, fails, holds, refused, same, same_bytes};

use super::abort::{Cause, REASON, ended_by};
use super::registration::idle;

/// Tags: of what its sender dies of, of what its receiver dies of, and of what goes on between.
const LOST: u32 = 1;
const UNREAD: u32 = 2;
const READY: u32 = 3;
const BACK: u32 = 4;
const ANSWER: u32 = 5;
const NEVER: u32 = 6;
const ROUND: u32 = 7;
const OVER: u32 = 8;
/// Bytes of a window: the first half is for the rank that dies.
const HALF: usize = 1024;
/// Bytes that each of the others has for itself in the second half of a window.
const PART: usize = 32;
/// Longer than a fragment, and than a packet of the smallest configuration.
const LONG: usize = 1000;

/// A rank ends in the middle of puts, gets and messages, in a barrier, a collective or half a command; its next holder has
/// a new rank, and the others lose what they had with it, and are told, and nothing else.
#[alcor_test(ranks >= 1, needs = [Rma, Messages])]
fn in_mid_traffic(context: &Context) -> Result {
    let ranks = context.info().ranks;
    for victim in BTreeSet::from([0, ranks - 1]) {
        for ending in [Ending::Barrier, Ending::HalfACommand, Ending::Waited] {
            context.cluster().prepare(ranks)?;
            each(ranks, |rank| {
                let run = Run { context, rank, ranks, victim, ending };
                let it = attach(context, rank, ranks)?;
                let it = if rank == victim { run.ends(it) } else { run.goes_on(it) }?;
                let mut it = ends_its_run(it)?;
                run.exchange(1, &mut it)?;
                Ok(it.finish()?)
            })?;
        }
    }
    works_again(context)
}

/// All ranks come to their ends, and run after run begins without a reset of the board.
#[alcor_test(ranks >= 1, needs = [Rma, Messages])]
fn after_an_end(context: &Context) -> Result {
    let ranks = context.info().ranks;
    context.cluster().prepare(ranks)?;
    each(ranks, |rank| {
        let run = Run { context, rank, ranks, victim: rank, ending: Ending::Waited };
        let mut it = attach(context, rank, ranks)?;
        for round in 0..4 {
            run.exchange(round, &mut it)?;
            it = ends_its_run(it)?;
        }
        Ok(it.finish()?)
    })?;
    works_again(context)
}

/// The first board's ranks post an allreduce that those of the other boards never post, and all ranks are reset. Each reset
/// ends. Then the row is written anew, and an allreduce of all ranks in it is right, as if nothing had been.
#[alcor_test(ranks >= 2, needs = [Rma, Messages])]
fn behind_a_collective_of_many_boards(context: &Context) -> Result {
    if !context.info().has_switch() {
        return Ok(());
    }
    let ended = context.attempt(Options::default(), context.ranks(), |rank| {
        let raw = Raw::new(context, rank)?;
        // More words than partners have room for.
        if raw.board == 0 {
            raw.until(rank, 0)?;
            raw.allreduce(rank, raw.words, 1)?;
        }
        raw.until(rank, if raw.board == 0 { 4_000 } else { 8_000 })?;
        raw.is_reset(rank)?;
        raw.until(rank, 16_000)?;
        let before = rank.lab().port().read32(PageOffset(page::RESET_STATE))?;
        same("a rank's state after its reset", 0, before & page::reset_state::USED.mask())?;
        raw.write_row(rank, KEY)?;
        raw.until(rank, 20_000)?;
        raw.ring(rank)?;
        for (id, words) in [(0, 1), (1, 40), (2, raw.words)] {
            raw.fill(rank, words)?;
            raw.allreduce(rank, words, id)?;
            raw.ended(rank, id, Status::Ok)?;
            raw.check(rank, words)?;
        }
        // The library knows nothing of the reset, so the first rank ends the run.
        raw.until(rank, if rank.pid() == GlobalRank(0) { 60_000 } else { 61_000 })?;
        Ok(rank.abort(REASON)?)
    });
    ended_by(ended, GlobalRank(0), Cause::Abort)?;
    works_again(context)
}

/// The ranks of all boards but the last post an allreduce, and the first rank of the last board is reset. The collective ends
/// on each board with ST_RANK_RESET. The ranks act at cycles that they have agreed upon.
#[alcor_test(ranks >= 2, needs = [Rma, Messages], steady)]
fn ends_collectives_on_other_boards(context: &Context) -> Result {
    let ranks = context.info().ranks;
    let boards = context.ranks() / ranks;
    if !context.info().has_switch() || boards < 2 {
        return Ok(());
    }
    let ended = context.attempt(Options::default(), boards * ranks, |rank| {
        let raw = Raw::new(context, rank)?;
        let posts = raw.board < boards - 1;
        raw.ring(rank)?;
        raw.until(rank, 0)?;
        if posts {
            raw.allreduce(rank, 40, 0)?;
        }
        raw.until(rank, 4_000)?;
        if posts {
            let entries = rank.lab().port().read32(PageOffset(page::CQ_HEAD))?;
            same("completions before the reset", 0, entries)?;
        } else if rank.pid().0 % ranks == 0 {
            raw.is_reset(rank)?;
        }
        // Two links, at most a few boards on the way, and the board of the reset.
        raw.until(rank, 4_000 + BOUND * 2)?;
        if posts {
            let entries = rank.lab().port().read32(PageOffset(page::CQ_HEAD))?;
            same("completions after the reset", 1, entries)?;
            raw.ended(rank, 0, Status::RankReset)?;
        }
        raw.until(rank, if rank.pid() == GlobalRank(0) { 12_000 } else { 13_000 })?;
        Ok(rank.abort(REASON)?)
    });
    ended_by(ended, GlobalRank(0), Cause::Abort)?;
    works_again(context)
}

/// A rank of the last board is reset at some cycle around the end of a barrier over all boards. The barrier ends at all other
/// ranks, with success or `PeerReset`; later barriers and registrations end with `PeerReset`. Puts between the other boards
/// go on, so no board holds back requests for a round of the barrier that never comes. The ranks end at cycles that they have
/// agreed upon.
#[alcor_test(ranks >= 2, needs = [Rma], steady)]
fn ends_barriers_on_other_boards(context: &Context) -> Result {
    let ranks = context.info().ranks;
    let boards = context.ranks() / ranks;
    if !context.info().has_switch() || boards < 2 {
        return Ok(());
    }
    let delays = context.scale(2, 12);
    let before_last = (boards - 1) * ranks;
    for round in 0..delays {
        let delay = u64::from(context.noise(&[round], 1)[0]);
        let ended = context.attempt(Options::default(), boards * ranks, |rank| {
            let me = rank.pid().0;
            let raw = Raw::new(context, rank)?;
            let memory = rank.alloc::<u32>(context.ranks() as usize)?;
            let window = rank.register(&memory, Rights::ALL)?;
            let later = rank.alloc::<u32>(1)?;
            rank.barrier()?;
            raw.until(rank, 0)?;
            let is_told = |error: &Error| matches!(error, Error::PeerReset { .. });
            if me == before_last {
                idle(rank, 1_000)?;
                rank.lab().command(Opcode::Barrier, 0)?;
                idle(rank, delay)?;
                raw.is_reset(rank)?;
            } else {
                // The reset meets the first barrier before, in or after its rounds.
                if let Err(error) = rank.barrier() {
                    fails("the first barrier", "Error::PeerReset", is_told, Err::<(), _>(error))?;
                }
                fails("the second barrier", "Error::PeerReset", is_told, rank.barrier())?;
                fails("a registration", "Error::PeerReset", is_told, rank.register(&later, Rights::ALL))?;
            }
            if me < before_last {
                for to in (0..before_last).map(GlobalRank) {
                    rank.put(&window, to, me as usize, &[me + 1])?;
                    let mut found = [0];
                    rank.get(&window, to, me as usize, &mut found)?;
                    same("the word that was put", me + 1, found[0])?;
                }
            }
            raw.until(rank, if me == 0 { 40_000 } else { 41_000 })?;
            Ok(rank.abort(REASON)?)
        });
        ended_by(ended, GlobalRank(0), Cause::Abort)?;
    }
    works_again(context)
}

/// A rank that was in a run over more boards than its own is for a reset of the boards, and its next holder is told.
#[alcor_test(ranks >= 1, needs = [Rma, Messages])]
fn of_many_boards(context: &Context) -> Result {
    let ranks = context.info().ranks;
    context.cluster().prepare(ranks)?;
    let first = &context.cluster().boards()[0];
    first.write32(PageOffset(board::PLACE), place::RANKS.put(ranks + 1))?;
    // The routes of the board's ranks are those of `prepare`.
    first.write32(PageOffset(board::FORWARD), forward::RANK.put(ranks) | forward::PORT.put(0))?;
    each(ranks, |rank| {
        let mut it = attach(context, rank, ranks + 1)?;
        // It has begun when this is answered.
        it.iprobe(alcor::Source::Any, NEVER)?;
        fails(
            "the next holder",
            "an error with both numbers",
            |error| matches!(error, Error::RunOfManyBoards { nprocs, ranks: found, .. } if (*nprocs, *found) == (ranks + 1, ranks)),
            it.start_over(),
        )
    })?;
    works_again(context)
}

/// Key of a row that is written anew.
pub(super) const KEY: u32 = 77;
/// Cycles within which a rank's reset ends, also if a collective never ends.
const BOUND: u64 = 2_000;

/// A rank that drives collectives of the world's row by its registers.
pub(super) struct Raw {
    pub(super) board: u32,
    tree: Tree,
    /// Cycle that all ranks know.
    start: u64,
    /// Words of the longest vector.
    words: u32,
    source: u32,
    destination: u32,
    ring: u32,
}

impl Raw {
    pub(super) fn new(context: &Context, rank: &mut Rank) -> Result<Raw, Failure> {
        let tree = rank.world()?.tree().clone();
        let words = (rank.board().node_bytes / 32).min(6_000);
        let start = rank.alloc::<u64>(1)?;
        let window = rank.register(&start, Rights::ALL)?;
        let source = rank.alloc_from(&vec![rank.pid().0 + 1; words as usize])?;
        let destination = rank.alloc::<u32>(words as usize)?;
        let ring = rank.alloc::<u32>(64)?;
        if rank.pid() == GlobalRank(0) {
            let at = rank.now()?.0 + 8_000;
            for to in (0..rank.nprocs()).map(GlobalRank) {
                rank.put(&window, to, 0, &[at])?;
            }
        }
        rank.fence()?;
        Ok(Raw {
            board: rank.pid().0 / context.info().ranks,
            tree,
            start: rank.read_vec(&start)?[0],
            words,
            source: source.addr().0,
            destination: destination.addr().0,
            ring: ring.addr().0,
        })
    }

    /// Waits until so many cycles after the start.
    pub(super) fn until(&self, rank: &mut Rank, cycles: u64) -> Result {
        let now = rank.now()?.0;
        holds("cycles since the start", format_args!("up to {cycles}"), now <= self.start + cycles, now - self.start)?;
        idle(rank, self.start + cycles - now)
    }

    fn write(&self, rank: &mut Rank, writes: &[(u32, u32)]) -> Result {
        for &(offset, value) in writes {
            rank.lab().port().write32(PageOffset(offset), value)?;
        }
        Ok(())
    }

    pub(super) fn allreduce(&self, rank: &mut Rank, words: u32, id: u32) -> Result {
        let what = page::c_what::OPCODE.put(Code::Allreduce as u32)
            | page::c_what::ALGORITHM.put(Algorithm::Doubling as u32)
            | page::c_what::OPERATION.put(OperationCode::Sum as u32)
            | page::c_what::DATATYPE.put(Datatype::U32 as u32);
        self.write(
            rank,
            &[
                (page::C_SOURCE, self.source),
                (page::C_FIRST, 0),
                (page::C_WORDS, words),
                (page::C_DESTINATION, self.destination),
                (page::C_LOW, 0),
                (page::C_HIGH, words),
                (page::C_COUNT, words),
                (page::C_WHAT, what),
                (page::C_GO, page::c_go::ID.put(id)),
            ],
        )
    }

    /// Resets the rank, which takes no longer than it may.
    fn is_reset(&self, rank: &mut Rank) -> Result {
        self.write(rank, &[(page::RANK_RESET, page::rank_reset::RESET.mask())])?;
        idle(rank, BOUND)?;
        let state = rank.lab().port().read32(PageOffset(page::RESET_STATE))?;
        let is_over = page::reset_state::BUSY.get(state) == 0;
        holds("RESET_STATE after a reset", "not busy", is_over, format_args!("{state:#010x}"))
    }

    /// The first rank of each board writes the world's row anew.
    pub(super) fn write_row(&self, rank: &mut Rank, key: u32) -> Result {
        let boards = self.tree.boards();
        let place = (0..).zip(boards).find(|(_, board)| board.board == self.board);
        let Some((label, board)) = place.filter(|(_, board)| board.members[0] == rank.pid()) else {
            return Ok(());
        };
        let mut writes = vec![(page::COMM_ROW, page::comm_row::KEY.put(key))];
        for (stage, register) in self.tree.stages().iter().zip(0..) {
            if let Some(partner) = stage.partner(label) {
                let partner = boards[partner as usize].members[0];
                writes.push((page::COMM_PARTNER + 4 * register, partner.0));
            }
        }
        let members = (1 << board.members.len()) - 1;
        writes.push((
            page::COMM_SHAPE,
            page::comm_shape::BOARDS.put(boards.len() as u32)
                | page::comm_shape::LABEL.put(label)
                | page::comm_shape::MEMBERS.put(members),
        ));
        self.write(rank, &writes)
    }

    /// An empty completion ring.
    pub(super) fn ring(&self, rank: &mut Rank) -> Result {
        rank.lab().port().write_memory(NodeAddr(self.ring), &[0; 256])?;
        self.write(rank, &[(page::CQ_SIZE, 4), (page::CQ_BASE, self.ring)])
    }

    /// Waits for the ring's entry of this number.
    fn ended(&self, rank: &mut Rank, id: u32, status: Status) -> Result {
        while rank.lab().port().read32(PageOffset(page::CQ_HEAD))? <= id {
            idle(rank, 50)?;
        }
        let mut entry = [0; 4];
        rank.lab().port().read_memory(NodeAddr(self.ring + CQ_ENTRY_BYTES * id), &mut entry)?;
        let entry = u32::from_le_bytes(entry);
        same("the completion's id", id, cq_entry::ID.get(entry))?;
        same("its status", Some(status), Status::from_bits(cq_entry::STATUS.get(entry)))
    }

    fn fill(&self, rank: &mut Rank, words: u32) -> Result {
        let data: Vec<u8> = (0..words).flat_map(|word| (rank.pid().0 * 1000 + word).to_le_bytes()).collect();
        rank.lab().port().write_memory(NodeAddr(self.source), &data)?;
        rank.lab().port().write_memory(NodeAddr(self.destination), &vec![0; data.len()])?;
        Ok(())
    }

    fn check(&self, rank: &mut Rank, words: u32) -> Result {
        let mut found = vec![0; 4 * words as usize];
        rank.lab().port().read_memory(NodeAddr(self.destination), &mut found)?;
        let ranks = rank.nprocs();
        let expected: Vec<u8> = (0..words)
            .flat_map(|word| (1000 * (ranks * (ranks - 1) / 2) + ranks * word).to_le_bytes())
            .collect();
        same_bytes("the sum", &expected, &found)
    }
}

/// The last that a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// It waits in a barrier, and in a collective where hardware does it.
    Barrier,
    HalfACommand,
    /// The others wait for it in a collective.
    Waited,
}

#[derive(Clone, Copy)]
struct Run<'a> {
    context: &'a Context,
    rank: u32,
    ranks: u32,
    victim: u32,
    ending: Ending,
}

/// Does something for each rank of the first board at once.
fn each(ranks: u32, what: impl Fn(u32) -> Result + Sync) -> Result {
    let ended: Vec<_> = thread::scope(|scope| {
        let what = &what;
        let ranks: Vec<_> = (0..ranks)
            .map(|rank| scope.spawn(move || what(rank)))
            .collect();
        ranks.into_iter().map(|rank| rank.join()).collect()
    });
    let mut failures = Vec::new();
    for result in ended {
        match result {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => failures.push(failure),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    // Who only heard of another's end has less to say.
    failures.sort_by_key(|failure| {
        matches!(
            failure,
            Failure::Library {
                source: Error::Aborted { .. } | Error::PeerDied { .. },
                ..
            }
        )
    });
    failures.into_iter().next().map_or(Ok(()), Err)
}

pub(super) fn attach(context: &Context, rank: u32, ranks: u32) -> alcor::Result<Rank> {
    let (board, local) = context.place(rank);
    Rank::attach(board, local, GlobalRank(rank), ranks, &context.options())
}

/// A run of all ranks after the boards' reset is as if nothing had been.
pub(super) fn works_again(context: &Context) -> Result {
    context.run(|rank| {
        let inbox = rank.alloc::<u32>(rank.nprocs() as usize)?;
        let window = rank.register(&inbox, Rights::ALL)?;
        for to in (0..rank.nprocs()).map(GlobalRank) {
            rank.put(&window, to, rank.pid().0 as usize, &[rank.pid().0])?;
        }
        rank.fence()?;
        same("the inbox", (0..rank.nprocs()).collect(), rank.read_vec(&inbox)?)
    })?;
    Ok(())
}

/// Ends a run well, and has the rank for another.
fn ends_its_run(mut it: Rank) -> Result<Rank, Failure> {
    it.flush_all()?;
    it.lab().command(Opcode::EndRun, 0)?;
    refused("a probe behind the end", Status::NotBegun, it.iprobe(alcor::Source::Any, NEVER))?;
    Ok(it.start_over()?)
}

impl Run<'_> {
    fn peers(&self) -> impl Iterator<Item = GlobalRank> + use<> {
        let me = self.rank;
        (0..self.ranks).filter(move |&rank| rank != me).map(GlobalRank)
    }

    fn world(&self, rank: &mut Rank) -> alcor::Result<Option<Communicator>> {
        if self.context.info().has_switch() { rank.world().map(Some) } else { Ok(None) }
    }

    fn noise(&self, from: u32, to: u32) -> Vec<u8> {
        self.context.noise(&[u64::from(from), u64::from(to)], LONG)
    }

    /// The rank that ends, and what its next holder finds.
    fn ends(&self, mut it: Rank) -> Result<Rank, Failure> {
        // Messages that it takes over don't end by its reset.
        it.lab().take_over_after(u64::MAX);
        let world = self.world(&mut it)?;
        let memory = it.alloc::<u8>(2 * HALF)?;
        let window = it.register(&memory, Rights::ALL)?;
        it.barrier()?;
        let (mut short, mut long) = (it.alloc::<u8>(40)?, it.alloc::<u8>(HALF)?);
        // Behind this lies what it will not read.
        for peer in self.peers() {
            it.recv(peer, READY, &mut [0u8])?;
        }
        for peer in self.peers().chain([it.pid()]) {
            drop(it.irecv(peer, NEVER, &mut short)?);
            drop(it.isend(peer, LOST, &short)?);
            drop(it.isend(peer, LOST, &long)?);
            drop(it.iget(&window, peer, 0, &mut long)?);
            drop(it.iput(&window, peer, 0, &long)?);
        }
        let vector = it.alloc::<f64>(8)?;
        match (self.ending, &world) {
            (Ending::Barrier, Some(world)) if self.ranks > 1 => {
                drop(world.iallreduce(&mut it, Operation::Sum, &vector, vector.clone())?);
                it.lab().command(Opcode::Barrier, 0)?;
            }
            (Ending::Barrier, _) => it.lab().command(Opcode::Barrier, 0)?,
            (Ending::HalfACommand, _) => {
                it.lab().command(Opcode::Put1, window.base().0)?;
                it.lab().command(Opcode::Data8, 1)?;
            }
            (Ending::Waited, _) => {}
        }

        let mut it = it.start_over()?;
        let counters = it.lab().counters()?;
        same("barriers", 0, counters.barriers)?;
        same("completions", 0, counters.completions)?;
        same("refused commands", 0, counters.refused_out)?;
        for tag in [LOST, UNREAD, READY] {
            let found = it.iprobe(alcor::Source::Any, tag)?;
            holds("messages of before", "none", found.is_none(), format_args!("{found:?}"))?;
        }
        for peer in self.peers() {
            it.send(peer, BACK, &self.noise(self.rank, peer.0))?;
        }
        for peer in self.peers() {
            let mut found = vec![0u8; LONG];
            it.recv(peer, ANSWER, &mut found)?;
            same_bytes("an answer", &self.noise(peer.0, self.rank), &found)?;
        }
        Ok(it)
    }

    /// The others: what they have with each other goes on.
    fn goes_on(&self, mut it: Rank) -> Result<Rank, Failure> {
        let world = self.world(&mut it)?;
        let victim = GlobalRank(self.victim);
        let memory = it.alloc::<u8>(2 * HALF)?;
        let window = it.register(&memory, Rights::ALL)?;
        it.barrier()?;
        let (short, long) = (it.alloc::<u8>(9)?, it.alloc::<u8>(LONG)?);
        let unread = [it.isend(victim, UNREAD, &short)?, it.isend(victim, UNREAD, &long)?];
        let vector = it.alloc::<f64>(8)?;
        let waits = match (self.ending, &world) {
            (Ending::Waited, Some(world)) => {
                Some(world.iallreduce(&mut it, Operation::Sum, &vector, vector.clone())?)
            }
            _ => None,
        };
        it.send(victim, READY, &[0u8])?;

        let mut back = it.alloc::<u8>(LONG)?;
        let mut is_back = it.irecv(victim, BACK, &mut back)?;
        let others: Vec<GlobalRank> = (0..self.ranks).map(GlobalRank).filter(|&rank| rank != victim).collect();
        let mine = HALF + PART * self.rank as usize;
        let mut round = 0;
        while round < 8 || !it.test(&mut is_back)? {
            for &other in &others {
                let data = self.context.noise(&[round, u64::from(self.rank), u64::from(other.0)], PART);
                it.put(&window, other, mine, &data)?;
                let mut found = [0; PART];
                it.get(&window, other, mine, &mut found)?;
                same_bytes("what was put", &data, &found)?;
            }
            // A message around all that are left, of either kind.
            let place = others.iter().position(|&other| other == it.pid()).unwrap_or_default();
            let (next, last) = (others[(place + 1) % others.len()], others[(place + others.len() - 1) % others.len()]);
            let sent = it.alloc_from(&self.noise(self.rank, next.0)[..if round % 2 == 0 { 8 } else { LONG }])?;
            let mut found = vec![0u8; LONG];
            if round < 8 {
                let send = it.isend(next, ROUND, &sent)?;
                let status = it.recv(last, ROUND, &mut found)?;
                it.wait(send)?;
                let length = status.length as usize;
                same("its length", sent.len(), length)?;
                same_bytes("what came round", &self.noise(last.0, self.rank)[..length], &found[..length])?;
            }
            // What it has to do with the victim may be too late.
            let late = it.put(&window, victim, mine, &[0; PART]);
            // Until the next holder has begun, there may be no such rank.
            if late.as_ref().is_err_and(|error| error.status() != Some(Status::BadRank)) {
                refused("a put", Status::BadSlot, late)?;
            }
            round += 1;
        }
        it.wait_message(is_back)?;
        same_bytes("from the next holder", &self.noise(victim.0, self.rank), &it.read_vec(&back)?)?;

        for request in unread {
            refused("what was not read", Status::RankReset, it.wait(request))?;
        }
        if let Some(request) = waits {
            refused("a collective without the victim", Status::RankReset, it.wait(request))?;
        }
        let found = it.iprobe(victim, LOST)?;
        holds("messages of before", "none", found.is_none(), format_args!("{found:?}"))?;
        refused("a put into a window that is gone", Status::BadSlot, it.put(&window, victim, mine, &[1]))?;
        let is_told = |error: &Error| matches!(error, Error::PeerReset { .. });
        fails("a barrier", "Error::PeerReset", is_told, it.barrier())?;
        fails("a registration", "Error::PeerReset", is_told, it.register(&back, Rights::ALL))?;
        if let Some(world) = &world {
            let late = world.allreduce(&mut it, Operation::Sum, &vector, vector.clone());
            refused("a collective", Status::RankReset, late)?;
        }
        same("events", events::MISMATCH.mask(), it.lab().events()?.bits)?;
        // Nobody begins anew while another still uses its window.
        let left = || others.iter().copied().filter(|other| *other != GlobalRank(self.rank));
        let word = it.alloc::<u8>(1)?;
        let told = left().map(|other| it.isend(other, OVER, &word)).collect::<alcor::Result<Vec<_>>>()?;
        for other in left() {
            it.recv(other, OVER, &mut [0u8])?;
        }
        it.wait_all(told)?;
        it.send(victim, ANSWER, &self.noise(self.rank, victim.0))?;
        Ok(it)
    }

    /// A run of its own, in which all put and send to all.
    fn exchange(&self, round: u64, it: &mut Rank) -> Result {
        let data = |from: u32, to: u32| self.context.noise(&[round, u64::from(from), u64::from(to)], PART);
        let memory = it.alloc::<u8>(PART * self.ranks as usize)?;
        it.barrier()?;
        let window = it.register(&memory, Rights::ALL)?;
        for to in 0..self.ranks {
            it.put(&window, GlobalRank(to), PART * self.rank as usize, &data(self.rank, to))?;
        }
        it.fence()?;
        let all = (0..self.ranks).flat_map(|from| data(from, self.rank));
        same_bytes("what all have put", &all.collect::<Vec<_>>(), &it.read_vec(&memory)?)?;
        for peer in self.peers() {
            let sent = it.alloc_from(&self.noise(self.rank, peer.0))?;
            let send = it.isend(peer, ROUND, &sent)?;
            let mut found = vec![0u8; LONG];
            it.recv(peer, ROUND, &mut found)?;
            same_bytes("a message", &self.noise(peer.0, self.rank), &found)?;
            it.wait(send)?;
        }
        Ok(())
    }
}
