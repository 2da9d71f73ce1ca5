//! One rank of a run: its beginning and end, node memory, barriers.
//!
//! The other methods of [`Rank`] are with their subjects: `transfer.rs` (put and get), `atomic.rs`,
//! `messages/rank.rs`, `completion.rs` (waits and tests), `registration.rs` (windows),
//! `communicator.rs` (the world), `kernel.rs`. [`Lab`] has those for study.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use alcor_abi::board::{PLACE, place};
use alcor_abi::{Opcode, Status};

use crate::allocator::{Allocator, Block};
use crate::alpu::AlpuState;
use crate::call::CommunicatorId;
use crate::communicator::{RowKey, local_bits};
use crate::progress::{Place, Progress, Wanted, ring_bytes};
use crate::rows::{self, Rows};
use crate::takeover::{NoPort, take_over};
use crate::transfer::fits;
use crate::watchdog::Awaited;
use crate::{
    AbortReason, Activity, Board, BoardInfo, Causes, Cluster, Communicator, Cycle, Datatype, Error,
    GlobalRank, HostRegion, Lab, LocalRank, Options, PageOffset, Port, Region, Result, identify,
};

/// One rank of a run, with its commands, its node memory and its windows.
///
/// [`crate::Job`] makes one rank for each of its threads. A process that is one rank attaches its
/// own: [`Rank::attach`].
///
/// A rank may move to another thread. Only one thread uses it at a time.
pub struct Rank {
    pub(crate) progress: Progress,
    memory: Allocator,
    /// Memory of registered windows, by slot.
    pub(crate) registered: BTreeMap<u8, Arc<Block>>,
    pub(crate) options: Options,
    /// Identifies the rank within this process.
    pub(crate) issuer: u64,
    /// The rank's knowledge of the rows of the board's communicator table.
    pub(crate) rows: Rows,
    pub(crate) world: Option<Communicator>,
    /// Number of the next communicator.
    pub(crate) next_communicator: u32,
    /// State of the matching unit in the rank's page.
    pub(crate) alpu: Option<AlpuState>,
    left: bool,
}

impl fmt::Debug for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rank")
            .field("pid", &self.pid())
            .field("nprocs", &self.nprocs())
            .field("outstanding", &self.progress.outstanding.len())
            .finish_non_exhaustive()
    }
}

/// The next value of [`Rank::issuer`], over all runs.
static ISSUERS: AtomicU64 = AtomicU64::new(0);

impl Rank {
    /// Attaches to a rank of a board and begins the run, as `pid` of `nprocs`.
    ///
    /// A launcher of processes first calls [`crate::Cluster::prepare`]. Each process then attaches
    /// its rank, with the cluster's topology in its options, and ends with [`Rank::finish`].
    ///
    /// A process may also take over a rank whose last holder has ended in any way. The rank is
    /// reset, and the other ranks of the board continue. All operations of other ranks with the
    /// last holder end. Messages that the last holder had not received are refused
    /// ([`Status::RankReset`](crate::Status::RankReset)). Messages that the last holder had sent,
    /// and that no rank has received, are lost.
    ///
    /// One kind of send does not end: that of a message longer than a fragment, whose announcement the
    /// library of the last holder had taken over from the hardware. The sender waits until the
    /// watchdog's limit. With [`Options::detect_deaths`] the death of the last holder ends this wait.
    ///
    /// The new holder can't continue collective operations of the last holder. If a rank is reset
    /// during a run, barriers, registrations and collectives of the run fail with
    /// [`Error::PeerReset`] until all ranks have attached anew. After an abort of the board, and
    /// after a run over several boards, call [`crate::Cluster::prepare`].
    ///
    /// `pid` must be board × ranks per board + local rank, and less than `nprocs`.
    ///
    /// # Errors
    /// Errors of [`identify`]; errors of the board; [`Error::BadOption`], [`Error::OutOfRange`];
    /// [`Error::RankNotReset`] and [`Error::RunOfManyBoards`] if only a reset of the board makes
    /// the rank usable again.
    ///
    /// # Examples
    /// ```
    /// use alcor::{Cluster, GlobalRank, LocalRank, Options, Rank, soft::SoftBoard};
    ///
    /// let board = SoftBoard::new(1);
    /// Cluster::from(board.clone()).prepare(1)?;
    /// let mut rank = Rank::attach(board, LocalRank(0), GlobalRank(0), 1, &Options::default())?;
    /// rank.barrier()?;
    /// rank.finish()?;
    /// # Ok::<(), alcor::Error>(())
    /// ```
    pub fn attach(
        board: Arc<dyn Board>,
        local: LocalRank,
        pid: GlobalRank,
        nprocs: u32,
        options: &Options,
    ) -> Result<Rank> {
        let info = identify(&*board)?;
        Rank::attach_identified(board, info, local, pid, nprocs, None, options)
    }

    /// Attaches `pid` of `nprocs` ranks to a cluster, as [`Rank::attach`] with the board and the
    /// local rank of `pid`. Ranks fill one board after the other.
    ///
    /// # Errors
    /// As [`Rank::attach`], and [`Error::TooFewRanks`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Cluster, GlobalRank, Options, Rank, soft::SoftBoard};
    /// let cluster = Cluster::from(SoftBoard::new(1));
    /// cluster.prepare(1)?;
    /// Rank::attach_to(&cluster, GlobalRank(0), 1, Options::default())?.finish()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn attach_to(
        cluster: &Cluster,
        pid: GlobalRank,
        nprocs: u32,
        options: Options,
    ) -> Result<Rank> {
        let info = cluster.identify()?;
        let Some(board) = cluster.boards().get((pid.0 / info.ranks) as usize) else {
            return Err(Error::TooFewRanks {
                cluster: cluster.name().to_owned(),
                asked: nprocs.max(pid.0 + 1),
                ranks: info.ranks * cluster.boards().len() as u32,
            });
        };
        let (board, local) = (Arc::clone(board), LocalRank(pid.0 % info.ranks));
        let options = options.topology(*cluster.topology());
        let cluster = Some(cluster.clone());
        Rank::attach_identified(board, info, local, pid, nprocs, cluster, &options)
    }

    fn attach_identified(
        board: Arc<dyn Board>,
        info: BoardInfo,
        local: LocalRank,
        pid: GlobalRank,
        nprocs: u32,
        cluster: Option<Cluster>,
        options: &Options,
    ) -> Result<Rank> {
        options.check(&info)?;
        let options = &options.with_defaults_of([&board]);
        let bad = |option, value, rule| Error::BadOption {
            option,
            value: u64::from(value),
            rule,
        };
        // The hardware refuses other numbers, and reports that in a register only.
        let run = board.read32(PageOffset(PLACE))?;
        let (number, ranks) = (place::BOARD.get(run), place::RANKS.get(run));
        if pid.0 != number * info.ranks + local.0 {
            let rule = "it must be board × ranks per board + local rank";
            return Err(bad("pid", pid.0, rule));
        }
        if pid.0 >= nprocs {
            let rule = "it must be less than the number of ranks of the run";
            return Err(bad("pid", pid.0, rule));
        }
        if nprocs > ranks {
            let rule = "the boards are prepared for fewer ranks (`Cluster::prepare`)";
            return Err(bad("nprocs", nprocs, rule));
        }
        let place = Place {
            me: pid,
            nprocs,
            board: number,
            home: Some(Arc::clone(&board)),
            cluster,
        };
        let port = board.attach(local)?;
        Rank::take(port, info, place, options)
    }

    /// Begins the run on a port of a board with a checked ID block.
    pub(crate) fn begin(
        port: Box<dyn Port>,
        info: BoardInfo,
        place: Place,
        rows: Rows,
        options: &Options,
    ) -> Result<Rank> {
        let Place {
            me: pid, nprocs, ..
        } = place;
        fits("rank", u64::from(pid.0), 0xFF)?;
        fits("number of ranks", u64::from(nprocs), 0xFF)?;
        let issuer = ISSUERS.fetch_add(1, Ordering::Relaxed);
        let memory = Allocator::new(ring_bytes(options.ring_entries), info.usable_bytes());
        let progress = Progress::start(port, info, place, issuer, options)?;
        let mut rank = Rank {
            progress,
            memory,
            registered: BTreeMap::new(),
            options: *options,
            issuer,
            rows,
            world: None,
            next_communicator: 1,
            alpu: None,
            left: false,
        };
        rank.write_first_rows()?;
        rank.progress.post(Opcode::SetPid, pid.0)?;
        rank.progress.post(Opcode::SetNprocs, nprocs)?;
        rank.progress.post(Opcode::BeginRun, 0)?;
        if options.detection_cycles.is_some() {
            // After a death no rank can make the world, from which communicators of survivors are
            // made.
            rank.world()?;
        }
        Ok(rank)
    }

    /// Writes the rows of the world and of the barrier over all boards. The first rank of a board
    /// does so before any other access.
    fn write_first_rows(&mut self) -> Result<()> {
        let info = self.progress.info();
        let (ranks, stages, table) = (info.ranks, info.stages, info.communicators);
        let me = self.pid();
        if !info.has_switch() || !me.0.is_multiple_of(ranks) {
            return Ok(());
        }
        let members: Vec<GlobalRank> = (0..self.nprocs()).map(GlobalRank).collect();
        let tree = self.tree(&members);
        if tree.stages().len() > stages as usize {
            return Err(Error::TooManyBoards {
                rank: me,
                boards: tree.boards().len() as u32,
                needed: tree.stages().len() as u32,
                stages,
            });
        }
        if let Some((label, _)) = tree.place(me) {
            let bits = local_bits(&tree.boards()[label as usize].members, ranks);
            // Boards that are ahead send phits before this board's rows are written. All keys are 0
            // after a reset of the boards, so these rows have the key 0.
            let of_all = |row| RowKey::new(row, CommunicatorId::WORLD);
            self.progress
                .write_row(of_all(table - 1), &tree, label, 0)?;
            self.progress
                .write_row(of_all(rows::WORLD), &tree, label, bits)?;
        }
        Ok(())
    }

    /// This rank's number in the run.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// assert!(rank.pid().0 < rank.nprocs());
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn pid(&self) -> GlobalRank {
        self.progress.me
    }

    /// Number of ranks of the run.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// assert_eq!(rank.nprocs(), 2);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn nprocs(&self) -> u32 {
        self.progress.nprocs()
    }

    /// The rank `distance` after this rank, cyclically; before it, if `distance` is negative.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(3))?.run(3, |rank| {
    /// if rank.pid() == GlobalRank(2) {
    ///     assert_eq!((rank.neighbour(1), rank.neighbour(-4)), (GlobalRank(0), GlobalRank(1)));
    /// }
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn neighbour(&self, distance: i32) -> GlobalRank {
        let place = i64::from(self.pid().0) + i64::from(distance);
        // A run has one rank at least.
        GlobalRank(place.rem_euclid(i64::from(self.nprocs()).max(1)) as u32)
    }

    /// The properties of the board.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// assert_eq!(rank.board().ranks, 2);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn board(&self) -> &BoardInfo {
        self.progress.info()
    }

    /// Completes this rank's operations and leaves the run. The rank's messages must be received by
    /// their destinations. Its waiting receives are cancelled.
    ///
    /// # Errors
    /// As [`Rank::flush_all`]; [`Error::Watchdog`] if a message is not received. After an error,
    /// the rank has aborted and left the run.
    ///
    /// # Examples
    /// See [`Rank::attach`].
    pub fn finish(mut self) -> Result<()> {
        match self.end() {
            Ok(()) => self.leave(),
            Err(error) => {
                // The first error has precedence.
                let _ = self.give_up(AbortReason::FAILED);
                Err(error)
            }
        }
    }

    fn end(&mut self) -> Result<()> {
        self.progress.wait_for(
            |_| Awaited::Collectives,
            |progress| progress.completions(u32::from(!progress.collectives_are_over())),
        )?;
        self.progress.end_messages()?;
        match self.flush_all() {
            // The rank has survived the death.
            Err(Error::Unclaimed { first, .. })
                if matches!(*first, Error::ProcessFailed { .. } | Error::Revoked { .. }) => {}
            flushed => flushed?,
        }
        self.progress.post(Opcode::EndRun, 0)?;
        let all = self.progress.queue_depth();
        self.progress.wait_for(
            |_| Awaited::Retirement,
            |progress| {
                if progress.queue_is_empty() {
                    Wanted::Nothing
                } else {
                    Wanted::Credits(all)
                }
            },
        )
    }

    /// Aborts the run, unless the run has ended already, and leaves it. If the run survives deaths,
    /// the rank dies instead: its port is dropped without leave.
    ///
    /// A run ends with the death of a peer, too. An abort after a death would hide the death from
    /// ranks that learn of the abort first. A board that was reset tells no other board of an abort,
    /// so the rank dies then, too.
    pub(crate) fn give_up(&mut self, reason: AbortReason) -> Result<()> {
        let survives = self.progress.deaths.are_survived() && !self.progress.is_aborted();
        if survives || self.progress.board_is_reset()? {
            self.left = true;
            return Ok(());
        }
        if !self.progress.is_aborted() {
            let peers = self.progress.port.wait(Causes::NONE, Cycle(0));
            if !matches!(peers, Err(Error::PeerDied { .. })) {
                self.progress.abort(reason)?;
            }
        }
        self.leave()
    }

    fn leave(&mut self) -> Result<()> {
        self.left = true;
        self.progress.port.leave()
    }
}

impl Drop for Rank {
    /// Aborts the run, and leaves it, if the rank has not left it.
    fn drop(&mut self) {
        if !self.left {
            // The error has no receiver. The backend tells the peers of a port that has not left.
            let _ = self.give_up(AbortReason::DROPPED);
        }
    }
}

/// # Node memory
impl Rank {
    /// Allocates node memory for `count` elements. The contents are undefined.
    ///
    /// # Errors
    /// [`Error::OutOfNodeMemory`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc::<u64>(10)?;
    /// assert_eq!(region.len(), 10);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn alloc<T: Datatype>(&mut self, count: usize) -> Result<Region<T>> {
        let bytes = (count as u64).saturating_mul(u64::from(T::BYTES));
        let block = self
            .memory
            .take(bytes, self.progress.outstanding.local_addresses())
            .map_err(|largest| Error::OutOfNodeMemory {
                rank: self.pid(),
                bytes,
                largest,
            })?;
        Ok(Region::new(block, count))
    }

    /// Allocates node memory and writes `values` to it.
    ///
    /// # Errors
    /// [`Error::OutOfNodeMemory`]; errors of the backend.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc_from(&[1.5f32, 2.5])?;
    /// assert_eq!(rank.read_vec(&region)?, [1.5, 2.5]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn alloc_from<T: Datatype>(&mut self, values: &[T]) -> Result<Region<T>> {
        let mut region = self.alloc(values.len())?;
        self.write(&mut region, 0, values)?;
        Ok(region)
    }

    /// Allocates host memory for `count` elements, zero at first. Operations on it move its data
    /// without a copy by the processor, if this process drives the card (`driver=vfio`). Data in
    /// other memory is copied once, to or from memory that the card reaches.
    ///
    /// # Errors
    /// [`Error::OutOfHostMemory`]; errors of the backend. With `driver=vfio`, the memory counts as
    /// locked: `ulimit -l`.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let mut data = rank.alloc_host::<u32>(1000)?;
    /// data[999] = 7;
    /// let region = rank.alloc_from(&data[998..])?;
    /// assert_eq!(rank.read_vec(&region)?, [0, 7]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn alloc_host<T: Datatype>(&mut self, count: usize) -> Result<HostRegion<T>> {
        let port = &mut self.progress.port;
        HostRegion::new(self.progress.me, count, |bytes| port.host_memory(bytes))
    }

    /// Writes `values` to the elements of `region` from `offset` on.
    ///
    /// # Errors
    /// [`Error::RegionBounds`]; errors of the backend.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let mut region = rank.alloc_from(&[0u8; 4])?;
    /// rank.write(&mut region, 1, &[7, 8])?;
    /// assert_eq!(rank.read_vec(&region)?, [0, 7, 8, 0]);
    /// assert!(rank.write(&mut region, 3, &[7, 8]).is_err());
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write<T: Datatype>(
        &mut self,
        region: &mut Region<T>,
        offset: usize,
        values: &[T],
    ) -> Result<()> {
        let at = region.locate(offset, offset.saturating_add(values.len()))?;
        self.progress.port.write_memory(at, T::bytes(values))
    }

    /// Allocates node memory for a copy of `values` that the next command reads.
    pub(crate) fn alloc_ahead<T: Datatype>(&mut self, values: &[T]) -> Result<Region<T>> {
        let region = self.alloc(values.len())?;
        let at = region.addr();
        self.progress.port.write_ahead(at, T::bytes(values))?;
        Ok(region)
    }

    /// Fills `values` from the elements of `region` from `offset` on.
    ///
    /// # Errors
    /// [`Error::RegionBounds`]; errors of the backend.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc_from(&[1i32, 2, 3])?;
    /// let mut last = [0; 2];
    /// rank.read(&region, 1, &mut last)?;
    /// assert_eq!(last, [2, 3]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read<T: Datatype>(
        &mut self,
        region: &Region<T>,
        offset: usize,
        values: &mut [T],
    ) -> Result<()> {
        let at = region.locate(offset, offset.saturating_add(values.len()))?;
        self.progress.port.read_memory(at, T::bytes_mut(values))
    }

    /// Reads all elements of `region`.
    ///
    /// # Errors
    /// Errors of the backend.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc_from(&[1i64, 2, 3])?;
    /// assert_eq!(rank.read_vec(&region)?, [1, 2, 3]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_vec<T: Datatype>(&mut self, region: &Region<T>) -> Result<Vec<T>> {
        let mut values = vec![T::default(); region.len()];
        self.read(region, 0, &mut values)?;
        Ok(values)
    }
}

/// # Synchronization
impl Rank {
    /// Waits until every rank has called the barrier and all earlier traffic of all ranks has
    /// arrived.
    ///
    /// # Errors
    /// [`Error::CollectiveMismatch`] if other ranks are in a registration; [`Error::Watchdog`] if a
    /// rank does not call the barrier in time; [`Error::Aborted`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// rank.barrier()?;
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn barrier(&mut self) -> Result<()> {
        let ended = self.run_barrier();
        ended.map_err(|error| self.progress.blame(error, None))
    }

    fn run_barrier(&mut self) -> Result<()> {
        self.progress.check()?;
        self.progress.check_all(&Awaited::Barrier)?;
        let number = self.progress.begin_all(Activity::Barrier);
        self.progress.reserve(1)?;
        self.progress.note_posting(number);
        self.progress.post(Opcode::Barrier, 0)?;
        self.progress.wait_for(
            |_| Awaited::Barrier,
            |progress| {
                if progress.barrier_pending() {
                    Wanted::Barrier
                } else {
                    Wanted::Nothing
                }
            },
        )?;
        self.progress.note_ended(number, Status::Ok);
        self.progress.check_mismatch(Awaited::Barrier)
    }

    /// Ends an epoch. All puts of all ranks before the fence are visible to all ranks after it.
    /// This rank's own transfers are complete.
    ///
    /// # Errors
    /// As [`Rank::barrier`] and [`Rank::flush_all`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let inbox = rank.alloc_from(&[9u32])?;
    /// let window = rank.register(&inbox, Rights::ALL)?;
    /// let other = GlobalRank(1 - rank.pid().0);
    /// drop(rank.iput(&window, other, 0, &[rank.pid().0])?);
    /// rank.fence()?;
    /// assert_eq!(rank.read_vec(&inbox)?, [other.0]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fence(&mut self) -> Result<()> {
        // All traffic has arrived when the barrier ends, so the completions are available to the
        // flush.
        self.barrier()?;
        self.flush_all()
    }

    /// Ends the run for every rank. Every wait, and every later call of this rank, fails with
    /// [`Error::Aborted`].
    ///
    /// # Errors
    /// Errors of the backend.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Error, Job, soft::SoftBoard};
    /// let ended = Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     if rank.pid().0 == 1 {
    ///         rank.abort(5)?;
    ///     }
    ///     rank.barrier()
    /// });
    /// assert!(matches!(ended.unwrap_err().error(), Some(Error::Aborted { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn abort(&mut self, code: u8) -> Result<()> {
        self.progress.abort(AbortReason(code))
    }
}

/// # Rank, time and hardware
impl Rank {
    /// Returns direct access to the hardware, for study: [`Lab`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// assert!(rank.lab().events()?.is_empty());
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lab(&mut self) -> Lab<'_> {
        Lab { rank: self }
    }

    /// Returns the present time, in cycles of the board's clock
    /// ([`BoardInfo::clock_khz`](crate::BoardInfo::clock_khz)).
    ///
    /// # Errors
    /// Errors of the backend.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let began = rank.now()?;
    /// rank.barrier()?;
    /// let cycles = rank.now()?.0 - began.0;
    /// # let _ = cycles;
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn now(&mut self) -> Result<Cycle> {
        self.progress.port.now()
    }

    /// Drops all operations of this rank and begins anew, as a process that takes over the rank:
    /// see [`Rank::attach`]. Regions, windows and requests of the old rank are invalid for the
    /// returned rank.
    ///
    /// # Errors
    /// As [`Rank::attach`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Cluster, GlobalRank, Options, Rank, soft::SoftBoard};
    /// # let cluster = Cluster::from(SoftBoard::new(1));
    /// # cluster.prepare(1)?;
    /// let mut rank = Rank::attach_to(&cluster, GlobalRank(0), 1, Options::default())?;
    /// rank.barrier()?;
    /// let mut rank = rank.start_over()?;
    /// rank.barrier()?;
    /// rank.finish()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_over(mut self) -> Result<Rank> {
        let (options, info) = (self.options, self.board().clone());
        let place = Place {
            me: self.pid(),
            nprocs: self.nprocs(),
            board: self.progress.board(),
            home: self.progress.home(),
            cluster: None,
        };
        // The port moves to the new rank, so dropping the old one must not end the run.
        self.left = true;
        let port = std::mem::replace(&mut self.progress.port, Box::new(NoPort));
        drop(self);
        Rank::take(port, info, place, &options)
    }

    /// Begins on a port of a rank that may have had another holder.
    fn take(
        mut port: Box<dyn Port>,
        info: BoardInfo,
        place: Place,
        options: &Options,
    ) -> Result<Rank> {
        if let Err(error) = take_over(&mut *port, place.me, &info, options.hardware_limit()) {
            // The run has not begun, so no peer must see a death.
            let _ = port.leave();
            return Err(error);
        }
        Rank::begin(port, info, place, Rows::default(), options)
    }
}
