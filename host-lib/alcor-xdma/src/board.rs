//! The board of a card with an XDMA core.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use alcor::{Board, Error, GlobalRank, LocalRank, PageOffset, Port, Result};
use alcor_abi::board::capabilities;
use alcor_abi::board::{
    CLOCK, CONTROL, GEOMETRY, MAGIC, NODE_MEMORY, PLACE, STATUS, geometry, place as place_fields,
    status,
};
use alcor_abi::{self as abi, LINE_PAGES, LINKS_PAGE, rank_page};
use xdma::{Bar, BarOffset, Card, CardLock};

use crate::Peers;
use crate::XdmaError;
use crate::locks::Locks;
use crate::port::XdmaPort;

/// Time limit for a reset. The board clears its tables during a reset, one entry a cycle.
const READY: Duration = Duration::from_secs(1);
/// Looks at a board in reset before the time limit counts. Where other work keeps this process from
/// its looks, the board is not to blame.
const LOOKS: u32 = 10_000;
/// Bytes of a page.
const PAGE: u64 = abi::PAGE_BYTES as u64;

/// A board; opened by [`XdmaBackend`](crate::XdmaBackend).
#[derive(Debug)]
pub struct XdmaBoard {
    name: String,
    card: Card,
    /// The mapped page of the board.
    page: Bar,
    shape: Shape,
    locks: Locks,
    run: Mutex<Run>,
    peers: Peers,
}

/// Fields of the ID block that this backend uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) ranks: u32,
    pub(crate) node_bytes: u32,
    pub(crate) clock_khz: u32,
}

/// The ranks that this process owns.
#[derive(Debug, Default)]
struct Run {
    attached: Vec<LocalRank>,
}

impl XdmaBoard {
    /// Opens the board of a card. The library checks the ID block ([`alcor::identify`]).
    ///
    /// # Errors
    /// [`XdmaError::Card`], [`XdmaError::ShortBar`].
    pub fn open(card: Card, locks: &Path) -> std::result::Result<Arc<XdmaBoard>, XdmaError> {
        Self::open_with(card, locks, &Peers::default())
    }

    /// Opens a board of a run on several boards, which share `peers`, as [`XdmaBoard::open`].
    ///
    /// # Errors
    /// As [`XdmaBoard::open`].
    pub fn open_with(
        card: Card,
        locks: &Path,
        peers: &Peers,
    ) -> std::result::Result<Arc<XdmaBoard>, XdmaError> {
        let address = card.address();
        let mut page = card.user_pages(BarOffset(0), PAGE)?;
        let mut shape = Shape {
            ranks: 0,
            node_bytes: 0,
            clock_khz: 1,
        };
        // For any other value, the library reports an error.
        if read(&page, MAGIC)? == abi::MAGIC {
            page = watched(page)?;
            shape = Shape {
                ranks: geometry::RANKS.get(read(&page, GEOMETRY)?),
                node_bytes: read(&page, NODE_MEMORY)?,
                clock_khz: read(&page, CLOCK)?.max(1),
            };
            let needed = PAGE * (1 + u64::from(shape.ranks));
            let bytes = card.layout().user.map_or(0, |bar| card.bars()[bar]);
            if bytes < needed {
                return Err(XdmaError::ShortBar {
                    bytes,
                    ranks: shape.ranks,
                    needed,
                });
            }
        }
        Ok(Arc::new(XdmaBoard {
            name: format!("xdma:{address}"),
            locks: Locks::new(locks, address),
            page,
            card,
            shape,
            run: Mutex::default(),
            peers: peers.clone(),
        }))
    }

    /// The card of the board.
    #[must_use]
    pub fn card(&self) -> &Card {
        &self.card
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// Maps a rank's pages and memory. If the design has a BAR for memory, the pages are mapped through
    /// this BAR too, so that accesses to memory and to registers keep their order.
    pub(crate) fn pages(&self, rank: LocalRank) -> xdma::Result<Pages> {
        let own = u64::from(rank_page(rank.0));
        let Shape {
            ranks, node_bytes, ..
        } = self.shape;
        let pages = u64::from(abi::memory_pages(ranks, node_bytes));
        let bytes = self
            .card
            .layout()
            .bypass
            .map_or(0, |bar| self.card.bars()[bar]);
        if bytes < pages + PAGE * (1 + u64::from(ranks)) {
            return Ok(Pages {
                board: watched(self.card.user_pages(BarOffset(0), PAGE)?)?,
                rank: self.card.user_pages(BarOffset(own), PAGE)?,
                memory: None,
                lines: None,
            });
        }
        let board = watched(self.card.bypass_pages(BarOffset(pages), PAGE)?)?;
        let first = BarOffset(u64::from(rank.0) * u64::from(node_bytes));
        let lines = BarOffset(pages + u64::from(LINE_PAGES) + u64::from(rank.0) * PAGE);
        let capabilities = read(&board, abi::board::CAPABILITIES)?;
        let has_lines = capabilities::LINES.get(capabilities) != 0 && lines.0 + PAGE <= bytes;
        Ok(Pages {
            board,
            rank: self.card.bypass_pages(BarOffset(pages + own), PAGE)?,
            memory: Some(self.card.bypass_pages(first, node_bytes.into())?),
            lines: if has_lines {
                Some(self.card.bypass_combined(lines, PAGE)?)
            } else {
                None
            },
        })
    }

    /// Converts an error into an error of the library that names the board.
    pub(crate) fn error(&self, error: impl Into<XdmaError>) -> Error {
        match error.into() {
            XdmaError::Card(xdma::Error::DeadLink { .. }) => Error::DeadLink {
                board: self.name.clone(),
            },
            other => other.on(&self.name),
        }
    }

    fn run(&self) -> MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn no_such_rank(&self, rank: LocalRank) -> Error {
        Error::NoSuchRank {
            board: self.name.clone(),
            rank,
            ranks: self.shape.ranks,
        }
    }

    fn hold(&self, rank: LocalRank) -> Result<CardLock> {
        self.locks.take(rank).map_err(|error| self.error(error))
    }

    fn idle(&self, operation: &'static str) -> Result<MutexGuard<'_, Run>> {
        let run = self.run();
        match run.attached.len() as u32 {
            0 => Ok(run),
            attached => Err(Error::BoardBusy {
                board: self.name.clone(),
                operation,
                attached,
            }),
        }
    }

    /// Returns an error if a peer is known to have died; the error names the first dead peer.
    pub(crate) fn check_peers(&self) -> Result<()> {
        match self.peers.died() {
            Some(rank) => Err(Error::PeerDied {
                board: self.name.clone(),
                rank,
            }),
            None => Ok(()),
        }
    }

    /// Ends the use of a port. `reset` resets the rank.
    pub(crate) fn detach(
        &self,
        rank: LocalRank,
        has_left: bool,
        is_survivor: bool,
        reset: impl FnOnce(),
    ) {
        let mut run = self.run();
        run.attached.retain(|&attached| attached != rank);
        drop(run);
        if has_left {
            self.peers.left(is_survivor);
        } else {
            // If the card does not answer, the rank is named as one of board 0.
            let board = read(&self.page, PLACE).map_or(0, |found| place_fields::BOARD.get(found));
            let rank = GlobalRank(board * self.shape.ranks + rank.0);
            self.peers.died_here(rank, is_survivor, reset);
        }
    }

    /// The deaths of ranks of the run, as all boards of this process see them.
    pub(crate) fn peers(&self) -> &Peers {
        &self.peers
    }

    /// Number of ranks of the run.
    pub(crate) fn run_ranks(&self) -> Result<u32> {
        let place = self.read32(PageOffset(PLACE))?;
        Ok(place_fields::RANKS.get(place))
    }
}

/// Mappings of one rank.
pub(crate) struct Pages {
    pub(crate) board: Bar,
    pub(crate) rank: Bar,
    /// The rank's node memory, if the design has a BAR for it.
    pub(crate) memory: Option<Bar>,
    /// The rank's page for command lines, if the design has one.
    pub(crate) lines: Option<Bar>,
}

/// Maps the page of a card's link ends. `None` if the register BAR ends before that page.
///
/// # Errors
/// If the page can't be mapped.
pub fn links_page(card: &Card) -> xdma::Result<Option<Bar>> {
    let bytes = card.layout().user.map_or(0, |bar| card.bars()[bar]);
    if bytes < u64::from(LINKS_PAGE) + PAGE {
        return Ok(None);
    }
    card.user_pages(BarOffset(LINKS_PAGE.into()), PAGE)
        .map(Some)
}

fn read(page: &Bar, register: u32) -> xdma::Result<u32> {
    page.read32(place(PageOffset(register)))
}

/// Makes reads of a board's page that return all ones check the link.
fn watched(page: Bar) -> xdma::Result<Bar> {
    page.watch(place(PageOffset(MAGIC)), abi::MAGIC)
}

/// Offset in the BAR of a register at `register` in its page.
pub(crate) fn place(register: PageOffset) -> BarOffset {
    BarOffset(u64::from(register.0))
}

impl Board for XdmaBoard {
    fn name(&self) -> &str {
        &self.name
    }

    fn read32(&self, offset: PageOffset) -> Result<u32> {
        self.page
            .read32(place(offset))
            .map_err(|error| self.error(error))
    }

    fn read_links32(&self, offset: PageOffset) -> Result<Option<u32>> {
        if geometry::LINKS.get(self.read32(PageOffset(GEOMETRY))?) == 0 {
            return Ok(None);
        }
        let read = |page: Option<Bar>| page.map(|page| page.read32(place(offset))).transpose();
        links_page(&self.card)
            .and_then(read)
            .map_err(|error| self.error(error))
    }

    fn write32(&self, offset: PageOffset, value: u32) -> Result<()> {
        let _idle = self.idle("write a register of the board")?;
        self.page
            .write32(place(offset), value)
            .map_err(|error| self.error(error))
    }

    fn reset(&self) -> Result<()> {
        let mut run = self.idle("reset")?;
        // A reset clears the state of all ranks, so no other process may own a rank.
        let held: Vec<CardLock> = (0..self.shape.ranks)
            .map(|rank| self.hold(LocalRank(rank)))
            .collect::<Result<_>>()?;
        let write = self.page.write32(place(PageOffset(CONTROL)), 1);
        write.map_err(|error| self.error(error))?;
        let began = Instant::now();
        for looks in 0_u32.. {
            let found = self.read32(PageOffset(STATUS))?;
            if status::READY.get(found) != 0 {
                break;
            }
            let waited = began.elapsed();
            if waited > READY && looks > LOOKS {
                return Err(self.error(XdmaError::NotReady {
                    milliseconds: waited.as_millis(),
                    status: found,
                }));
            }
            sleep(Duration::from_micros(10));
        }
        drop(held);
        *run = Run::default();
        self.peers.begin();
        Ok(())
    }

    fn expect(&self, ports: u32) -> Result<()> {
        let _idle = self.idle("begin a run")?;
        match ports.checked_sub(1) {
            Some(last) if last >= self.shape.ranks => Err(self.no_such_rank(LocalRank(last))),
            _ => Ok(()),
        }
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>> {
        if rank.0 >= self.shape.ranks {
            return Err(self.no_such_rank(rank));
        }
        let mut run = self.run();
        if run.attached.contains(&rank) {
            return Err(Error::RankTaken {
                board: self.name.clone(),
                rank,
            });
        }
        let held = self.hold(rank)?;
        let port =
            XdmaPort::open(Arc::clone(&self), rank, held).map_err(|error| self.error(error))?;
        run.attached.push(rank);
        self.peers.attached();
        Ok(Box::new(port))
    }

    /// `None`: a board does not report its traffic.
    fn traffic_digest(&self) -> Option<u32> {
        None
    }

    fn time_stands_still(&self) -> bool {
        false
    }
}
