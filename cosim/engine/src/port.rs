//! The port of a rank: posts, reads and waits of host code.

use std::collections::HashSet;
use std::sync::Arc;

use alcor::{
    BusAddr, Causes, CommandLine, Cycle, Error, GlobalRank, HostRing, LineStep, LocalRank,
    NodeAddr, Note, PageOffset, Port, RankWait, RunView, Sight, Wake,
};
use alcor_abi::rank::{CAUSES, IRQ_ENABLE, causes};
use alcor_abi::{CQ_ENTRY_BYTES, MEMORY_BAR_WRITE};

use crate::CosimError;
use crate::mailbox::{Post, Want, Why};
use crate::scheduler::{RunOutcome, Scheduler};

/// Cycles by which time moves when a port repeats a read.
pub const POLL_CYCLES: u64 = 16;
/// Cycles of a wait without a look at the clock.
const SPIN_CYCLES: u64 = 4096;

/// Maximum number of register writes of a rank under way.
pub const PORT_QUEUE: usize = 65_536;

/// A port of a [`SimBoard`](crate::SimBoard).
pub(crate) struct SimPort {
    scheduler: Arc<Scheduler>,
    board: usize,
    rank: u32,
    slot: usize,
    /// Posts that have not been handed over.
    posts: Vec<Post>,
    /// The command line that the rank fills, if writes pass a link to a board that takes lines.
    line: Option<CommandLine>,
    /// Number of posts that were handed over, and had not reached the board when time last stood
    /// still.
    backlog: usize,
    now: u64,
    looks: Looks,
    /// Value of IRQ_ENABLE; `None` if a former holder of the rank may have written it.
    enabled: Option<Causes>,
    /// The rank has a ring in host memory.
    is_pinned: bool,
    has_left: bool,
}

/// The values that a port has read since time last moved for the port.
#[derive(Default)]
struct Looks {
    registers: HashSet<u32>,
    memory: HashSet<u32>,
    /// Entries of the ring in host memory.
    ring: HashSet<u32>,
    interrupt: bool,
}

impl Looks {
    fn clear(&mut self) {
        self.registers.clear();
        self.memory.clear();
        self.ring.clear();
        self.interrupt = false;
    }
}

impl SimPort {
    /// Attaches the port of a rank. Fails if the rank has a port.
    pub(crate) fn attach(
        scheduler: Arc<Scheduler>,
        board: usize,
        rank: u32,
    ) -> Result<Self, Error> {
        let (slot, now, backlog) = scheduler.attach(board, rank)?;
        let takes_lines = scheduler.has_link() && scheduler.shape().takes_lines();
        Ok(Self {
            scheduler,
            board,
            rank,
            slot,
            posts: Vec::new(),
            line: takes_lines.then(CommandLine::default),
            backlog,
            now,
            looks: Looks::default(),
            enabled: None,
            is_pinned: false,
            has_left: false,
        })
    }

    fn name(&self) -> &str {
        self.scheduler.name(self.board)
    }

    fn check_here(&self) -> Result<(), Error> {
        if self.has_left {
            Err(CosimError::HasLeft { rank: self.rank }.on(self.name()))
        } else {
            Ok(())
        }
    }

    fn check_range(&self, at: NodeAddr, len: usize) -> Result<(), Error> {
        let bytes = self.scheduler.shape().node_bytes;
        if u64::from(at.0) + len as u64 > u64::from(bytes) {
            return Err(Error::BadNodeAddress {
                board: self.name().into(),
                rank: LocalRank(self.rank),
                at,
                length: len as u64,
                node_bytes: bytes,
            });
        }
        Ok(())
    }

    /// Adds a post. Waits if too many are under way.
    fn post(&mut self, post: Post) -> Result<(), Error> {
        if self.posts.len() + self.backlog >= PORT_QUEUE {
            self.wait_for(Want::Room)?;
        }
        self.posts.push(post);
        Ok(())
    }

    /// Posts the writes that the command line holds back.
    fn post_held(&mut self) {
        let held = self.line.as_mut().and_then(CommandLine::take);
        if let Some(held) = held {
            let payload = held.payload;
            let payload = payload.map(|(at, data)| Post::Memory { at: at.0, data });
            let writes = held.writes.into_iter();
            let writes = writes.map(|(PageOffset(offset), data)| Post::Register { offset, data });
            self.posts.extend(payload.into_iter().chain(writes));
        }
    }

    fn wait_for(&mut self, want: Want) -> Result<Why, Error> {
        self.post_held();
        match self.scheduler.wait(self.slot, &mut self.posts, want) {
            Ok(woken) => {
                if woken.cycle != self.now {
                    self.now = woken.cycle;
                    self.looks.clear();
                }
                self.backlog = woken.backlog;
                Ok(woken.why)
            }
            Err(outcome) => Err(self.scheduler.error(self.slot, outcome)),
        }
    }

    /// Prepares a read that takes no time. Lets all posts take effect, and moves time if `looked`
    /// returns that the value was read before. Marks the value as read.
    fn look(&mut self, looked: impl Fn(&mut Looks) -> bool) -> Result<(), Error> {
        self.wait_for(Want::Effect)?;
        if looked(&mut self.looks) {
            self.wait_for(Want::Until(self.now + POLL_CYCLES))?;
            looked(&mut self.looks);
        }
        Ok(())
    }

    fn read(&mut self, page: u32, offset: PageOffset) -> Result<u32, Error> {
        self.check_here()?;
        check_register(offset, self.name())?;
        let address = page + offset.0;
        if self.scheduler.has_link() {
            return match self.wait_for(Want::Read { address })? {
                Why::Data(data) => Ok(word(&data)),
                _ => Err(self.scheduler.error(self.slot, RunOutcome::Lost)),
            };
        }
        self.look(|looks| !looks.registers.insert(address))?;
        self.scheduler
            .with_chip(self.board, |chip| chip.peek(address))
            .map_err(|error| error.on(self.name()))
    }
}

/// The first word of `data`; bytes that are missing are zero.
fn word(data: &[u8]) -> u32 {
    let mut word = [0; 4];
    word.iter_mut().zip(data).for_each(|(to, &from)| *to = from);
    u32::from_le_bytes(word)
}

pub(crate) fn check_register(offset: PageOffset, board: &str) -> Result<(), Error> {
    let PageOffset(offset) = offset;
    if offset.is_multiple_of(4) && offset < alcor_abi::PAGE_BYTES {
        Ok(())
    } else {
        Err(CosimError::BadRegister { offset }.on(board))
    }
}

impl Port for SimPort {
    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<(), Error> {
        self.check_here()?;
        check_register(offset, self.name())?;
        let step = self.line.as_mut().map(|line| line.write(offset, value));
        match step {
            Some(LineStep::Held) => Ok(()),
            Some(LineStep::Complete(words)) => self.post(Post::Line(words)),
            Some(LineStep::Apart) | None => {
                self.post_held();
                self.post(Post::Register {
                    offset: offset.0,
                    data: value,
                })
            }
        }
    }

    fn read32(&mut self, offset: PageOffset) -> Result<u32, Error> {
        self.read(alcor_abi::rank_page(self.rank), offset)
    }

    fn read_board32(&mut self, offset: PageOffset) -> Result<u32, Error> {
        self.read(0, offset)
    }

    fn write_memory(&mut self, at: NodeAddr, data: &[u8]) -> Result<(), Error> {
        self.check_here()?;
        self.check_range(at, data.len())?;
        if data.is_empty() {
            return Ok(());
        }
        if self.scheduler.has_link() && data.len() <= MEMORY_BAR_WRITE {
            self.post_held();
            let (at, data) = (at.0, data.to_vec());
            return self.post(Post::Memory { at, data });
        }
        if self.scheduler.has_link() {
            return self
                .wait_for(Want::Store {
                    at: at.0,
                    data: data.to_vec(),
                })
                .map(drop);
        }
        self.wait_for(Want::Effect)?;
        let rank = self.rank as usize;
        self.scheduler
            .with_chip(self.board, |chip| chip.store(rank, at.0, data))
            .map_err(|error| error.on(self.name()))
    }

    fn write_ahead(&mut self, at: NodeAddr, data: &[u8]) -> Result<(), Error> {
        self.check_here()?;
        self.check_range(at, data.len())?;
        self.post_held();
        let holds = self.line.as_mut().map(|line| line.payload(at, data));
        match holds {
            Some(true) => Ok(()),
            _ => self.write_memory(at, data),
        }
    }

    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<(), Error> {
        self.check_here()?;
        self.check_range(at, data.len())?;
        if data.is_empty() {
            return Ok(());
        }
        if self.scheduler.has_link() {
            return match self.wait_for(Want::Load {
                at: at.0,
                len: data.len(),
            })? {
                Why::Data(bytes) if bytes.len() == data.len() => {
                    data.copy_from_slice(&bytes);
                    Ok(())
                }
                _ => Err(self.scheduler.error(self.slot, RunOutcome::Lost)),
            };
        }
        self.look(|looks| !looks.memory.insert(at.0))?;
        let rank = self.rank as usize;
        self.scheduler
            .with_chip(self.board, |chip| chip.load(rank, at.0, data))
            .map_err(|error| error.on(self.name()))
    }

    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake, Error> {
        self.check_here()?;
        // Entries of the ring in host memory tell of these causes without an interrupt.
        let reported = Causes(causes::COMPLETION.mask() | causes::BARRIER.mask());
        let entries = self.is_pinned && awaited.meets(reported);
        let awaited = if self.is_pinned {
            Causes(awaited.0 & !reported.0)
        } else {
            awaited
        };
        // The interrupt stays enabled: host code takes no time here, and a write takes cycles.
        if self.enabled.replace(awaited) != Some(awaited) {
            self.write32(PageOffset(IRQ_ENABLE), awaited.0)?;
        }
        if deadline.0 <= self.now && std::mem::replace(&mut self.looks.interrupt, true) {
            self.wait_for(Want::Until(self.now + POLL_CYCLES))?;
            self.looks.interrupt = true;
        }
        match self.wait_for(Want::Interrupt {
            deadline: deadline.0,
            entries,
        })? {
            Why::Copied => Ok(Wake::Copied),
            Why::Interrupt => {
                let raised = self.read32(PageOffset(CAUSES))?;
                Ok(Wake::Raised(Causes(raised)))
            }
            _ => Ok(Wake::Deadline),
        }
    }

    /// Waits behind a host port with latencies alone, as a card does. The clock of a simulated board takes no time.
    fn spin(&mut self, awaited: Causes) -> Result<Option<Wake>, Error> {
        if !self.scheduler.has_link() {
            return Ok(None);
        }
        let wake = self.wait(awaited, Cycle(self.now + SPIN_CYCLES))?;
        Ok(Some(wake).filter(|wake| *wake != Wake::Deadline))
    }

    fn now(&mut self) -> Result<Cycle, Error> {
        Ok(Cycle(self.now))
    }

    fn leave(&mut self) -> Result<(), Error> {
        if self.has_left {
            return Ok(());
        }
        let delivered = self.wait_for(Want::Effect);
        self.has_left = true;
        self.scheduler.depart(self.slot, false);
        delivered.map(drop)
    }

    fn deaths(&mut self) -> Result<Option<Vec<GlobalRank>>, Error> {
        self.check_here()?;
        Ok(Some(self.scheduler.deaths(self.slot)))
    }

    fn host_ring(&mut self) -> Option<&mut dyn HostRing> {
        Some(self)
    }

    fn run_view(&mut self) -> Option<&mut dyn RunView> {
        Some(self)
    }
}

impl HostRing for SimPort {
    fn pin(&mut self, entries: u32) -> Result<Option<BusAddr>, Error> {
        self.check_here()?;
        let bytes = (entries * CQ_ENTRY_BYTES) as usize;
        let rank = self.rank as usize;
        let pinned = self
            .scheduler
            .with_chip(self.board, |chip| chip.mailbox_mut().pin(rank, bytes));
        self.is_pinned = pinned.is_some();
        Ok(pinned.map(BusAddr))
    }

    fn entry(&mut self, index: u32) -> Result<[u32; 4], Error> {
        self.check_here()?;
        // A look at host memory costs nothing; a second one without time between them is a poll.
        if !self.looks.ring.insert(index) {
            self.wait_for(Want::Until(self.now + POLL_CYCLES))?;
            self.looks.ring.insert(index);
        }
        let (rank, at) = (self.rank as usize, (index * CQ_ENTRY_BYTES) as usize);
        Ok(self.scheduler.with_chip(self.board, |chip| {
            let entry = chip.mailbox_mut().ring(rank).get(at..).unwrap_or_default();
            std::array::from_fn(|place| word(entry.get(4 * place..).unwrap_or_default()))
        }))
    }
}

impl RunView for SimPort {
    fn tell_wait(&mut self, wait: Option<&RankWait>) -> Result<(), Error> {
        self.check_here()?;
        self.scheduler.tell_wait(self.slot, wait);
        Ok(())
    }

    fn sight(&mut self) -> Result<Option<Sight>, Error> {
        self.check_here()?;
        Ok(Some(self.scheduler.sight(self.slot)))
    }

    fn wants_notes(&mut self) -> bool {
        self.scheduler.has_log()
    }

    fn note(&mut self, note: Note) {
        let (rank, posts) = (self.rank as usize, self.posts.len());
        self.scheduler.with_chip(self.board, |chip| {
            chip.mailbox_mut().note(rank, posts, note);
        });
    }
}

impl Drop for SimPort {
    fn drop(&mut self) {
        if !self.has_left {
            self.scheduler.depart(self.slot, true);
        }
    }
}
