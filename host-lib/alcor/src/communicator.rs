//! Communicators: ordered sets of ranks.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use alcor_abi::board::ROW_WRITES;
use alcor_abi::rank::{self, c_what, comm_row, comm_shape};
use alcor_abi::{Algorithm, Collective as Code};

use crate::call::{Call, Collective, CommunicatorId, Difference, MemberCall, Path, SoftwareReason};
use crate::mail::{Mail, Shape as MailShape};
use crate::messages::{Contexts, Lanes, Queues};
use crate::progress::Progress;
use crate::request::NOTHING;
use crate::rows::{self, Keeper};
use crate::schedule::Group;
use crate::software::{Destination, Software, Task};
use crate::watchdog::Awaited;
use crate::{Error, GlobalRank, Rank, Result, Rights, Tree};

/// An ordered set of ranks of the run, with its collectives.
///
/// The first communicator is [`Rank::world`]. [`Communicator::split`], [`Communicator::dup`] and
/// [`Communicator::create`] make further communicators, of any ranks in any order. A communicator
/// is a handle of the rank that made it. Clones name the same communicator.
///
/// All members call the collectives of a communicator in the same order. Roots, and positions of
/// blocks, are ranks *in the communicator*, from 0 to [`Communicator::size`] - 1.
///
/// # Hardware and software
///
/// On boards with a collective switch (Haghi et al. 2022, section 3), a communicator takes one row
/// of the communicator table of each of its boards. Its collectives then run in the network without
/// the host. A table has 32 rows: one for the barrier over all boards, one for the world, and 30
/// others. A collective runs in software, over puts, if its communicator has no row, or if the
/// collective unit does not support the type. The result is the same bit for bit. The
/// [`crate::Receipt`] of a call states the path. In strict mode ([`crate::Options::strict`],
/// [`Communicator::strict`]) a collective without hardware fails with [`Error::NotInHardware`]
/// before any command is posted.
///
/// A row belongs to a board. Communicators that share a board need different rows, even if they
/// share no rank. The ranks of one [`crate::Job`] know all rows in use. Two communicators that are
/// made at the same time compete for the last row of a board, and either may get it.
///
/// A rank in its own process ([`Rank::attach`]) knows only its own communicators. On boards of
/// several such ranks, most rows are reserved for communicators that have members with the same
/// local number on all of their boards. Each local number has 10 rows on boards of 2 ranks, and 6
/// rows on boards of 4 ranks.
///
/// Every collective synchronizes: no member returns before every member has called the collective.
///
/// # Examples
/// ```
/// use alcor::{Job, Operation, soft::SoftBoard};
///
/// let sums = Job::new(SoftBoard::new(4))?.run(4, |rank| {
///     let world = rank.world()?;
///     let parity = rank.pid().0 % 2;
///     let Some(half) = world.split(rank, Some(parity), 0)? else {
///         return Ok(0);
///     };
///     let mut sum = [rank.pid().0];
///     half.allreduce_in_place(rank, Operation::Sum, &mut sum)?;
///     half.free(rank)?;
///     Ok(sum[0])
/// })?;
/// assert_eq!(sums, [2, 4, 2, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Communicator {
    pub(crate) shape: Arc<Shape>,
    pub(crate) strict: bool,
}

pub(crate) struct Shape {
    pub(crate) id: CommunicatorId,
    /// The rank that owns the handle.
    pub(crate) issuer: u64,
    pub(crate) members: Arc<[GlobalRank]>,
    /// This rank's rank in the communicator.
    pub(crate) me: usize,
    pub(crate) tree: Tree,
    pub(crate) row: Option<u32>,
    /// The contexts of the communicator's messages.
    pub(crate) lanes: Lanes,
    pub(crate) freed: AtomicBool,
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communicator")
            .field("id", &self.id())
            .field("rank", &self.rank())
            .field("size", &self.size())
            .field("row", &self.row())
            .finish_non_exhaustive()
    }
}

/// The data that a rank contributes when communicators are made.
#[derive(Debug, Clone, Copy)]
struct Offer {
    color: Option<u32>,
    key: i32,
    /// The smallest number that none of the rank's communicators has had.
    next: u32,
    /// Bit mask of the rows of the rank's communicators.
    used: u32,
    /// Whether the rank can claim rows of its board.
    claims: bool,
    /// Hash of the call's list of members, or of its division of messages.
    hash: u32,
    /// Contexts of the rank's communicators.
    contexts: Contexts,
}

/// Number of words of an [`Offer`] before its contexts.
const OFFER: usize = 6;

impl Offer {
    fn to_words(self) -> Vec<u32> {
        let mut words = vec![
            u32::from(self.color.is_some()) | u32::from(self.claims) << 1,
            self.color.unwrap_or(0),
            self.key as u32,
            self.next,
            self.used,
            self.hash,
        ];
        words.extend(self.contexts.to_words());
        words
    }

    fn from_words(words: &[u32]) -> Option<Offer> {
        let (words, contexts) = words.split_first_chunk::<OFFER>()?;
        let &[flags, color, key, next, used, hash] = words;
        Some(Offer {
            color: (flags & 1 != 0).then_some(color),
            key: key as i32,
            next,
            used,
            claims: flags & 2 != 0,
            hash,
            contexts: Contexts::from_words(contexts.try_into().ok()?),
        })
    }
}

/// A communicator that is being made.
struct Draft {
    members: Vec<GlobalRank>,
    tree: Tree,
    row: Option<u32>,
    /// Bit mask of rows that another communicator has claimed.
    refused: u32,
}

/// # Communicators
impl Rank {
    /// The communicator of all ranks of the run, in the order of their numbers.
    ///
    /// The first call is collective over all ranks of the run. It registers a window of the
    /// library. This window takes a slot of the registration tables and at most an eighth of node
    /// memory. Programs without this call do not have this cost.
    ///
    /// # Errors
    /// [`Error::OutOfNodeMemory`], [`Error::TableFull`], and the errors of all waits.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// assert_eq!((world.rank(), world.size()), (rank.pid().0, 2));
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn world(&mut self) -> Result<Communicator> {
        if let Some(world) = &self.world {
            return Ok(world.clone());
        }
        let me = self.pid();
        let node_bytes = self.progress.info().node_bytes;
        let mail = MailShape::new(self.nprocs(), node_bytes);
        let mut inbox = self.alloc::<u8>(mail.inbox_bytes() as usize)?;
        let outbox = self.alloc::<u8>(mail.outbox_bytes() as usize)?;
        self.write(&mut inbox, 0, &vec![0; mail.counts_bytes() as usize])?;
        let window = self.register(&inbox, Rights::WRITE)?;
        let mail = Mail::new(me, mail, window.slot(), inbox, outbox);
        self.progress.software = Some(Software::new(mail, self.options.hardware_limit() / 2));
        let members: Arc<[GlobalRank]> = (0..self.nprocs()).map(GlobalRank).collect();
        let tree = self.tree(&members);
        let world = Communicator {
            shape: Arc::new(Shape {
                id: CommunicatorId::WORLD,
                issuer: self.issuer,
                me: me.0 as usize,
                members,
                tree,
                // The row was written at the beginning of the run.
                row: self.progress.info().has_switch().then_some(rows::WORLD),
                lanes: Lanes::world(),
                freed: AtomicBool::new(false),
            }),
            strict: self.options.strict,
        };
        self.world = Some(world.clone());
        Ok(world)
    }

    pub(crate) fn tree(&self, members: &[GlobalRank]) -> Tree {
        let ranks = self.progress.info().ranks;
        Tree::new(members, ranks, &self.options.topology)
    }
}

/// Cycles between two reads of ROW_WRITES. Hardware takes some tens of cycles to take a row out of
/// use.
const ROWS_POLL: u64 = 32;

impl Progress {
    /// Writes a row of the board's communicator table: the board's label, and the bit mask of its
    /// local members.
    pub(crate) fn write_row(
        &mut self,
        row: RowKey,
        tree: &Tree,
        label: u32,
        local_members: u32,
    ) -> Result<()> {
        self.write(rank::COMM_ROW, row.to_bits())?;
        for (stage, register) in tree.stages().iter().zip(0..rank::COMM_PARTNER_COUNT) {
            if let Some(partner) = stage.partner(label) {
                let partner = tree.leader(partner);
                self.write(rank::COMM_PARTNER + 4 * register, partner.0)?;
            }
        }
        self.write(
            rank::COMM_SHAPE,
            comm_shape::BOARDS.put(tree.boards().len() as u32)
                | comm_shape::LABEL.put(label)
                | comm_shape::MEMBERS.put(local_members),
        )
    }

    /// Clears a row of the board's communicator table.
    fn clear_row(&mut self, row: RowKey) -> Result<()> {
        self.write(rank::COMM_ROW, row.to_bits())?;
        self.write(rank::COMM_SHAPE, 0)
    }

    /// Waits until the board has carried out this rank's writes to the table. The hardware takes a
    /// row out of use before it writes a new entry.
    fn wait_for_rows(&mut self) -> Result<()> {
        let mine = 1 << (self.me.0 % self.info().ranks);
        self.look_until(ROWS_POLL, &Awaited::Rows, |progress| {
            Ok((progress.read_board(ROW_WRITES)? & mine == 0).then_some(()))
        })
    }
}

/// A row of the communicator table, and the key of its communicator. The hardware drops phits with
/// another key. Phits of a communicator that had the row before never reach the present one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowKey {
    pub(crate) row: u32,
    pub(crate) key: u8,
}

impl RowKey {
    pub(crate) fn new(row: u32, id: CommunicatorId) -> RowKey {
        RowKey {
            row,
            key: id.0 as u8,
        }
    }

    fn to_bits(self) -> u32 {
        comm_row::CONTEXT.put(self.row) | comm_row::KEY.put(self.key.into())
    }
}

/// Returns the bit mask of a board's members by local rank.
pub(crate) fn local_bits(members: &[GlobalRank], ranks_per_board: u32) -> u32 {
    members
        .iter()
        .fold(0, |bits, member| bits | 1 << (member.0 % ranks_per_board))
}

impl Communicator {
    /// The number of the communicator, the same at all members.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{CommunicatorId, Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// assert_eq!(world.id(), CommunicatorId::WORLD);
    /// assert_eq!((world.size(), world.rank()), (2, rank.pid().0));
    /// assert_eq!(world.context(), Some(0));
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> CommunicatorId {
        self.shape.id
    }

    /// Number of members.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.shape.members.len() as u32
    }

    /// This rank's rank in the communicator.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.shape.me as u32
    }

    /// The members, by their ranks in the communicator.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// assert_eq!(world.members(), [GlobalRank(0), GlobalRank(1)]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn members(&self) -> &[GlobalRank] {
        &self.shape.members
    }

    /// The order in which reductions of this communicator combine.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// assert_eq!(world.tree().boards().len(), 1);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.shape.tree
    }

    /// The row in the communicator tables, if the communicator has one.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// // A soft board has no collective switch.
    /// assert_eq!(rank.world()?.row(), None);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn row(&self) -> Option<u32> {
        self.shape.row
    }

    /// The context of the communicator's messages, if it has exactly one. Kernels that build commands
    /// need the context.
    #[must_use]
    pub fn context(&self) -> Option<u8> {
        match *self.shape.lanes.contexts() {
            [context] => Some(context),
            _ => None,
        }
    }

    /// Returns a handle of the same communicator with strict mode on or off. In strict mode a
    /// collective without hardware fails with [`Error::NotInHardware`]. Communicators that are made
    /// from the handle inherit its mode.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Error, Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?.strict(true);
    /// let error = world.barrier(rank).unwrap_err();
    /// assert!(matches!(error, Error::NotInHardware { .. }));
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn strict(&self, strict: bool) -> Communicator {
        Communicator {
            shape: Arc::clone(&self.shape),
            strict,
        }
    }

    /// Makes one communicator for each color, of the members that pass this color. Members are
    /// ordered by key, and by their present rank for equal keys. Collective; a member without a
    /// color gets `None`.
    ///
    /// # Errors
    /// [`Error::CollectivesDiffer`], [`Error::BadCommunicator`], and the errors of all waits.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(3))?.run(3, |rank| {
    /// let world = rank.world()?;
    /// // The opposite order, without the first rank.
    /// let color = (world.rank() > 0).then_some(0);
    /// if let Some(others) = world.split(rank, color, -(world.rank() as i32))? {
    ///     assert_eq!(others.members(), [GlobalRank(2), GlobalRank(1)]);
    /// }
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn split(
        &self,
        rank: &mut Rank,
        color: Option<u32>,
        key: i32,
    ) -> Result<Option<Communicator>> {
        self.make(rank, Collective::Split, color, key, 0, Queues::One)
    }

    /// Makes a communicator with the same members. Collective.
    ///
    /// # Errors
    /// As [`Communicator::split`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let copy = world.dup(rank)?;
    /// assert_eq!(copy.members(), world.members());
    /// assert_ne!(copy.id(), world.id());
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dup(&self, rank: &mut Rank) -> Result<Communicator> {
        self.dup_with_queues(rank, Queues::One)
    }

    /// Makes a communicator with the same members, whose messages are divided among queues by source
    /// or tag. Collective: all members pass the same division.
    ///
    /// The communicator takes a message context for each queue. It has no more queues than the boards
    /// have queue pairs, and one on boards without match stores. If fewer contexts are free, it has
    /// fewer queues. Its receives and probes must name the source or the tag by which the messages are
    /// divided. Others fail with [`Error::BadCommunicator`]. Communicators that are made from it have
    /// one queue.
    ///
    /// # Errors
    /// [`Error::CollectivesDiffer`] if the divisions differ; as [`Communicator::split`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Error, Job, Queues, Source, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(3))?.run(3, |rank| {
    /// let by_source = rank.world()?.dup_with_queues(rank, Queues::BySource(2))?;
    /// let (me, size) = (by_source.rank(), by_source.size());
    /// for other in (0..size).filter(|&other| other != me) {
    ///     by_source.send(rank, other, 0, &[me])?;
    /// }
    /// for other in (0..size).filter(|&other| other != me) {
    ///     let mut found = [9];
    ///     by_source.recv(rank, other, 0, &mut found)?;
    ///     assert_eq!(found, [other]);
    /// }
    /// let error = by_source.recv(rank, Source::Any, 0, &mut [9]).unwrap_err();
    /// assert!(matches!(error, Error::BadCommunicator { .. }));
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dup_with_queues(&self, rank: &mut Rank, queues: Queues) -> Result<Communicator> {
        let (key, hash) = (self.shape.me as i32, queues.hash());
        let made = self.make(rank, Collective::Dup, Some(0), key, hash, queues)?;
        // Every member has passed the same color.
        made.ok_or_else(|| self.bad(rank.pid(), "the copy does not contain the calling rank"))
    }

    /// The division of the communicator's messages among queues.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Queues, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// assert_eq!(rank.world()?.queues(), Queues::One);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn queues(&self) -> Queues {
        self.shape.lanes.queues()
    }

    /// Makes a communicator of `members`, in this order. Collective over this communicator: all
    /// members pass the same list. A member that is not in the list gets `None`.
    ///
    /// # Errors
    /// [`Error::NoSuchMember`] if the list contains a rank that is no member;
    /// [`Error::RepeatedMember`] if a rank is in the list twice; [`Error::CollectivesDiffer`] if
    /// the lists differ; as [`Communicator::split`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(3))?.run(3, |rank| {
    /// let world = rank.world()?;
    /// let list = [GlobalRank(2), GlobalRank(0)];
    /// let pair = world.create(rank, &list)?;
    /// assert_eq!(pair.is_some(), rank.pid().0 != 1);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create(&self, rank: &mut Rank, members: &[GlobalRank]) -> Result<Option<Communicator>> {
        let known = |member: &GlobalRank| self.shape.members.contains(member);
        for (index, member) in members.iter().enumerate() {
            if members[..index].contains(member) {
                return Err(Error::RepeatedMember {
                    rank: rank.pid(),
                    found: member.0,
                });
            }
            if !known(member) {
                return Err(Error::NoSuchMember {
                    rank: rank.pid(),
                    communicator: self.id(),
                    what: "in the list, rank",
                    found: member.0,
                    size: self.size(),
                });
            }
        }
        let me = rank.pid();
        let place = members.iter().position(|&member| member == me);
        let hash = members.iter().fold(0x811C_9DC5u32, |hash, member| {
            (hash ^ (member.0 + 1)).wrapping_mul(0x0100_0193)
        });
        let (color, key) = (place.map(|_| 0), place.unwrap_or(0) as i32);
        self.make(rank, Collective::Create, color, key, hash, Queues::One)
    }

    /// Ends the communicator after all its collectives have ended, and frees its row and contexts.
    /// Collective. Other handles of the communicator become invalid. After the death of a member, or
    /// a revocation, the call is local, and row and contexts stay in use until the end of the run.
    ///
    /// A communicator that is dropped without this call keeps row and contexts until the end of the
    /// run.
    ///
    /// # Errors
    /// [`Error::BadCommunicator`] for the world; [`Error::CollectivesDiffer`], and the errors of
    /// all waits.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let world = rank.world()?;
    /// let copy = world.dup(rank)?;
    /// copy.barrier(rank)?;
    /// copy.free(rank)?;
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn free(self, rank: &mut Rank) -> Result<()> {
        if self.id() == CommunicatorId::WORLD {
            return Err(self.bad(rank.pid(), "the world can't be freed"));
        }
        self.check(rank)?;
        let (id, row) = (self.id(), self.row());
        let deaths = &rank.progress.deaths;
        if deaths.is_revoked(id.0) || !deaths.among(Some(self.members())).is_empty() {
            // Messages of the communicator may be on their way, so its contexts are not used again.
            self.forget(rank);
            return Ok(());
        }
        rank.progress.wait_for(
            |_| Awaited::Collectives,
            |progress| progress.completions(u32::from(!progress.is_over(id.0, row))),
        )?;
        self.exchange(rank, Collective::Free, &[])?;
        self.release(rank);
        if let Some(row) = row {
            rank.rows.mine &= !(1 << row);
            if row_writer(row, &self.shape.tree, rank) == Some(rank.pid()) {
                give_up_row(rank, RowKey::new(row, id))?;
            }
        }
        Ok(())
    }

    /// Ends the use of the communicator at this rank, except for row and contexts.
    fn forget(&self, rank: &mut Rank) {
        self.shape.freed.store(true, Ordering::Relaxed);
        if let Some(software) = &mut rank.progress.software {
            software.forget(self.id().0);
        }
    }

    /// Ends the use of the communicator at this rank, except for the row.
    pub(crate) fn release(&self, rank: &mut Rank) {
        self.forget(rank);
        for &context in self.shape.lanes.contexts() {
            rank.progress.messages.contexts.give_back(context);
        }
    }

    pub(crate) fn bad(&self, rank: GlobalRank, rule: &'static str) -> Error {
        Error::BadCommunicator {
            rank,
            communicator: self.id(),
            rule,
        }
    }

    /// Checks that `rank` may use this handle.
    pub(crate) fn check(&self, rank: &mut Rank) -> Result<()> {
        if self.shape.issuer != rank.issuer {
            return Err(self.bad(
                rank.pid(),
                "the handle belongs to another rank or another run",
            ));
        }
        if self.shape.freed.load(Ordering::Relaxed) {
            return Err(self.bad(rank.pid(), "the communicator has been freed"));
        }
        rank.progress.check()
    }

    pub(crate) fn group(&self) -> Group<'_> {
        Group {
            members: &self.shape.members,
            tree: &self.shape.tree,
            me: self.shape.me,
        }
    }

    /// Exchanges words of all members, in the order of the communicator. Always runs in software.
    fn exchange(
        &self,
        rank: &mut Rank,
        collective: Collective,
        words: &[u32],
    ) -> Result<Vec<Vec<u32>>> {
        self.check_members(rank, collective)?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let schedule = self.group().allgather(bytes.len());
        let mut buffer = vec![0; schedule.buffer];
        buffer[..bytes.len()].copy_from_slice(&bytes);
        let task = Task {
            call: Call::new(self.id(), collective),
            members: Arc::clone(&self.shape.members),
            me: self.shape.me,
            schedule,
            combine: None,
            buffer,
            source: None,
            destination: Destination::Result,
            _held: NOTHING,
        };
        let path = Path::Software(SoftwareReason::NoSwitch);
        let what = c_what::OPCODE.put(Code::Software as u32)
            | c_what::ALGORITHM.put(Algorithm::Doubling as u32);
        let (request, sequence) =
            rank.progress
                .begin_software(task, path, self.herald(rank, 0, what))?;
        rank.wait(request)?;
        let result = match &mut rank.progress.software {
            Some(software) => software.take_result(self.id().0, sequence),
            None => Vec::new(),
        };
        let size = self.shape.members.len();
        let of = |member: usize| {
            let at = (member + size - self.shape.me) % size * bytes.len();
            let words = result[at..at + bytes.len()].as_chunks::<4>().0;
            words.iter().map(|word| u32::from_le_bytes(*word)).collect()
        };
        Ok((0..size).map(of).collect())
    }

    /// Makes a communicator: the common part of split, dup and create.
    fn make(
        &self,
        rank: &mut Rank,
        collective: Collective,
        color: Option<u32>,
        key: i32,
        hash: u32,
        queues: Queues,
    ) -> Result<Option<Communicator>> {
        self.check(rank)?;
        let offer = Offer {
            color,
            key,
            next: rank.next_communicator,
            used: rank.rows.mine,
            claims: rank.rows.claims.is_some(),
            hash,
            contexts: rank.progress.messages.contexts,
        };
        let offers: Vec<Offer> = self
            .exchange(rank, collective, &offer.to_words())?
            .iter()
            .filter_map(|words| Offer::from_words(words))
            .collect();
        if offers.iter().any(|other| other.hash != hash) {
            let call = Call::new(self.id(), collective);
            let lists = self.shape.members.iter().zip(&offers);
            let others = lists.filter(|(_, other)| other.hash != hash);
            return Err(Error::CollectivesDiffer {
                rank: rank.pid(),
                call,
                difference: match collective {
                    Collective::Dup => Difference::Queues,
                    _ => Difference::Members,
                },
                others: others
                    .map(|(&rank, _)| MemberCall {
                        rank,
                        call: Some(call),
                    })
                    .collect(),
            });
        }
        let id = offers.iter().map(|offer| offer.next).max().unwrap_or(1);
        rank.next_communicator = id + 1;
        // Communicators that are made in one call share no rank, so they share contexts.
        let mut taken = rank.progress.messages.contexts;
        for offer in &offers {
            taken.join(&offer.contexts);
        }
        // The boards of a run are alike.
        let most = rank.board().queue_pairs.max(1);
        let contexts = taken.free(id, queues.count().min(most));

        let mut drafts: BTreeMap<u32, Draft> = BTreeMap::new();
        let mut order: Vec<usize> = (0..offers.len()).collect();
        order.sort_by_key(|&member| (offers[member].key, member));
        for member in order {
            if let Some(color) = offers[member].color {
                let draft = drafts.entry(color).or_insert_with(|| Draft {
                    members: Vec::new(),
                    tree: Tree::new(&[], 1, &crate::Topology::single()),
                    row: None,
                    refused: 0,
                });
                draft.members.push(self.shape.members[member]);
            }
        }
        for draft in drafts.values_mut() {
            draft.tree = rank.tree(&draft.members);
        }
        self.find_rows(
            rank,
            collective,
            CommunicatorId(id),
            color,
            &offers,
            &mut drafts,
        )?;

        let Some(draft) = color.and_then(|color| drafts.remove(&color)) else {
            return Ok(None);
        };
        let me = rank.pid();
        let Some(place) = draft.members.iter().position(|&member| member == me) else {
            return Ok(None);
        };
        if let Some(row) = draft.row {
            rank.rows.mine |= 1 << row;
        }
        for &context in &contexts {
            rank.progress.messages.contexts.take(context);
        }
        Ok(Some(Communicator {
            shape: Arc::new(Shape {
                id: CommunicatorId(id),
                issuer: rank.issuer,
                members: draft.members.into(),
                me: place,
                tree: draft.tree,
                row: draft.row,
                lanes: Lanes::new(queues, contexts),
                freed: AtomicBool::new(false),
            }),
            strict: self.strict,
        }))
    }

    /// Finds rows for the new communicators, as far as rows are free, and writes them to the
    /// boards' tables. All members get the same result.
    fn find_rows(
        &self,
        rank: &mut Rank,
        collective: Collective,
        id: CommunicatorId,
        color: Option<u32>,
        offers: &[Offer],
        drafts: &mut BTreeMap<u32, Draft>,
    ) -> Result<()> {
        let info = rank.progress.info();
        let (ranks, stages, table) = (info.ranks, info.stages, info.communicators);
        if !info.has_switch() {
            return Ok(());
        }
        let board_of = |member: GlobalRank| member.0 / ranks;
        let members = &self.shape.members;
        let mut used: BTreeMap<u32, u32> = BTreeMap::new();
        for (&member, offer) in members.iter().zip(offers) {
            *used.entry(board_of(member)).or_default() |= offer.used;
        }
        let mut open: Vec<u32> = drafts
            .iter()
            .filter(|(_, draft)| draft.tree.stages().len() <= stages as usize)
            .map(|(&color, _)| color)
            .collect();
        // One round for each row that another communicator has claimed.
        loop {
            for color in &open {
                let Some(draft) = drafts.get_mut(color) else {
                    continue;
                };
                let boards = draft.tree.boards();
                let taken = boards.iter().fold(draft.refused, |taken, board| {
                    taken | used.get(&board.board).copied().unwrap_or(0)
                });
                let common = boards.iter().fold(u32::MAX, |common, board| {
                    common & local_bits(&board.members, ranks)
                });
                let claims = offers.iter().all(|offer| offer.claims);
                draft.row = rows::choose(table, ranks, taken, common, claims);
                if let Some(row) = draft.row {
                    for board in boards {
                        *used.entry(board.board).or_default() |= 1 << row;
                    }
                }
            }
            open.retain(|color| drafts.get(color).is_some_and(|draft| draft.row.is_some()));
            if open.is_empty() {
                return Ok(());
            }
            let mine = color
                .filter(|color| open.contains(color))
                .and_then(|color| drafts.get(&color));
            let written = match mine {
                Some(draft) => write_own_row(rank, draft, id)?,
                None => Written::None,
            };
            // A rank that has received the words of all members knows that all rows are written.
            let sent = [u32::from(!matches!(written, Written::Refused))];
            let received = self.exchange(rank, collective, &sent)?;
            let failed = |color: &u32| {
                let mut all = offers.iter().zip(&received);
                all.any(|(offer, words)| offer.color == Some(*color) && words[0] == 0)
            };
            if let (Written::Row(row), Some(color)) = (written, color)
                && failed(&color)
            {
                give_up_row(rank, row)?;
            }
            open.retain(failed);
            for color in &open {
                if let Some(draft) = drafts.get_mut(color) {
                    draft.refused |= draft.row.take().map_or(0, |row| 1 << row);
                }
            }
        }
    }
}

/// The action of a rank for the row of a new communicator.
enum Written {
    /// No action: another rank of the board writes the row, or there is no row.
    None,
    /// Another communicator had claimed the row.
    Refused,
    /// This rank wrote the row.
    Row(RowKey),
}

/// Returns the member that writes and later clears a row on this rank's board: the keeper of the
/// row, or else the first member.
fn row_writer(row: u32, tree: &Tree, rank: &Rank) -> Option<GlobalRank> {
    let (label, _) = tree.place(rank.pid())?;
    let members = &tree.boards()[label as usize].members;
    let ranks = rank.progress.info().ranks;
    let keeps = |member: &&GlobalRank| Keeper::of(row, ranks) == Keeper::Local(member.0 % ranks);
    members
        .iter()
        .find(keeps)
        .or_else(|| members.first())
        .copied()
}

/// Writes the row of a new communicator to this rank's board, if this rank is the writer.
fn write_own_row(rank: &mut Rank, draft: &Draft, id: CommunicatorId) -> Result<Written> {
    let (Some(row), Some((label, _))) = (draft.row, draft.tree.place(rank.pid())) else {
        return Ok(Written::None);
    };
    if row_writer(row, &draft.tree, rank) != Some(rank.pid()) {
        return Ok(Written::None);
    }
    let ranks = rank.progress.info().ranks;
    let row_key = RowKey::new(row, id);
    if let Some(claims) = &rank.rows.claims
        && !claims.take(row_key)
    {
        return Ok(Written::Refused);
    }
    let members = &draft.tree.boards()[label as usize].members;
    let bits = local_bits(members, ranks);
    rank.progress.write_row(row_key, &draft.tree, label, bits)?;
    rank.progress.wait_for_rows()?;
    Ok(Written::Row(row_key))
}

/// Clears a row that this rank has written.
fn give_up_row(rank: &mut Rank, row: RowKey) -> Result<()> {
    rank.progress.clear_row(row)?;
    if let Some(claims) = &rank.rows.claims {
        // The next rank to claim the row may write through another port. Wait until this write has
        // taken effect.
        rank.progress.wait_for_rows()?;
        claims.give_back(row.row);
    }
    Ok(())
}
