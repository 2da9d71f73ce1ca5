//! The boards of a run, and their topology.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;
use std::sync::Arc;

use alcor_abi::board::{
    CYCLE_LO, DATELINES, FORWARD, GEOMETRY, PLACE, datelines, forward, geometry, place,
};

use crate::{Board, BoardInfo, Error, LinkState, PageOffset, Result, Topology, identify};

/// The port number of the board's own ranks.
const HERE: u32 = 15;
/// Cycles within which a link opens between two boards that have the same key.
const OPENS_WITHIN: u32 = 20_000;
/// Runs of the same key, one after the other, that only a cable between two ports of a board explains.
const SAME_KEYS: u32 = 4;

/// Boards joined by links, on which a [`crate::Job`] runs. A single board is a cluster too.
///
/// # Examples
/// ```
/// use alcor::{Cluster, soft::SoftBoard};
///
/// let cluster = Cluster::from(SoftBoard::new(4));
/// assert_eq!(cluster.boards().len(), 1);
/// assert_eq!(cluster.ranks()?, 4);
/// # Ok::<(), alcor::Error>(())
/// ```
#[derive(Clone)]
pub struct Cluster {
    name: String,
    boards: Vec<Arc<dyn Board>>,
    topology: Topology,
}

impl Cluster {
    /// Makes a cluster of a single board.
    ///
    /// # Examples
    /// ```
    /// use alcor::{Cluster, soft::SoftBoard};
    ///
    /// let cluster = Cluster::single(SoftBoard::new(4));
    /// assert_eq!(cluster.identify()?.ranks, 4);
    /// // A launcher of two processes.
    /// let info = cluster.prepare(2)?;
    /// assert_eq!(info.ranks, 4);
    /// # Ok::<(), alcor::Error>(())
    /// ```
    #[must_use]
    pub fn single(board: Arc<dyn Board>) -> Cluster {
        Cluster {
            name: board.name().to_owned(),
            boards: vec![board],
            topology: Topology::single(),
        }
    }

    /// Makes a cluster of boards in the order of their numbers, joined in `topology`.
    ///
    /// # Errors
    /// [`Error::BadOption`] if the number of boards differs from that of `topology`.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alcor::{Board, Cluster, Topology, soft::SoftBoard};
    ///
    /// let boards: Vec<Arc<dyn Board>> = vec![SoftBoard::new(2)];
    /// let cluster = Cluster::new(boards, Topology::single())?.with_name("lab");
    /// assert_eq!((cluster.name(), cluster.topology().boards()), ("lab", 1));
    /// # Ok::<(), alcor::Error>(())
    /// ```
    pub fn new(boards: Vec<Arc<dyn Board>>, topology: Topology) -> Result<Cluster> {
        if boards.len() != topology.boards() as usize {
            return Err(Error::BadOption {
                option: "boards",
                value: boards.len() as u64,
                rule: "the number must be that of the topology",
            });
        }
        let name = boards.first().map_or("", |board| board.name()).to_owned();
        Ok(Cluster {
            name,
            boards,
            topology,
        })
    }

    /// The boards, in the order of their numbers. There is at least one.
    #[must_use]
    pub fn boards(&self) -> &[Arc<dyn Board>] {
        &self.boards
    }

    /// The topology of the boards.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Name of the cluster for error texts: by default the name of the first board.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the same cluster with another name: the URI with which it was opened.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Cluster {
        self.name = name.into();
        self
    }

    /// Returns the same cluster with a layer over each board. `layer` takes a board's number and
    /// the board. See [`crate::BoardLayer`].
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// use alcor::{Board, BoardLayer, Cluster, soft::SoftBoard};
    ///
    /// struct Silent(Arc<dyn Board>);
    ///
    /// impl BoardLayer for Silent {
    ///     fn below(&self) -> &Arc<dyn Board> {
    ///         &self.0
    ///     }
    ///     fn traffic_digest(&self) -> Option<u32> {
    ///         None
    ///     }
    /// }
    ///
    /// let cluster = Cluster::from(SoftBoard::new(2)).layered(|_, board| Silent(board));
    /// assert_eq!(cluster.ranks()?, 2);
    /// # Ok::<(), alcor::Error>(())
    /// ```
    #[must_use]
    pub fn layered<B: Board + 'static>(
        &self,
        layer: impl Fn(usize, Arc<dyn Board>) -> B,
    ) -> Cluster {
        let boards = self.boards.iter().enumerate();
        let over = |(number, board)| Arc::new(layer(number, Arc::clone(board))) as Arc<dyn Board>;
        Cluster {
            name: self.name.clone(),
            boards: boards.map(over).collect(),
            topology: self.topology,
        }
    }

    /// Prepares all boards for a run of `ranks` ranks: resets them, and writes their numbers,
    /// routes and numbers of ranks. Ranks fill one board after the other.
    ///
    /// [`crate::Job`] calls this function. A launcher of processes ([`crate::Rank::attach`]) calls
    /// it once per run.
    ///
    /// # Errors
    /// As [`Cluster::identify`]; [`Error::BadOption`] or [`Error::TooFewRanks`] if the boards do
    /// not have this number of ranks; errors of the boards.
    pub fn prepare(&self, ranks: u32) -> Result<BoardInfo> {
        let all = 0..self.boards.len() as u32;
        let mut key = self.draw_key();
        let mut left = SAME_KEYS;
        loop {
            let info = self.prepare_boards(all.clone(), ranks, || Ok(key))?;
            left -= 1;
            if left == 0 || self.meets_another_run(all.clone())?.is_none() {
                return Ok(info);
            }
            let last = key;
            while key == last {
                key = self.draw_key();
            }
        }
    }

    /// Looks whether a link of the boards `own` has opened to a board of another run, which has drawn
    /// the same key. The end of one run would abort the other. Boards that are not prepared anew would
    /// stay joined. Without cables to other boards, and where time stands still, it returns at once.
    ///
    /// # Errors
    /// Errors of the boards.
    ///
    /// # Examples
    /// ```
    /// use alcor::{Cluster, soft::SoftBoard};
    ///
    /// let cluster = Cluster::single(SoftBoard::new(4));
    /// cluster.prepare(4)?;
    /// assert_eq!(cluster.meets_another_run(0..1)?, None);
    /// # Ok::<(), alcor::Error>(())
    /// ```
    pub fn meets_another_run(&self, own: Range<u32>) -> Result<Option<LinkState>> {
        let boards = (0..).zip(&self.boards);
        for (number, board) in boards.filter(|(number, _)| own.contains(number)) {
            if board.time_stands_still() {
                continue;
            }
            let time = || board.read32(PageOffset(CYCLE_LO));
            let ports = geometry::LINKS.get(board.read32(PageOffset(GEOMETRY))?);
            let began = time()?;
            loop {
                let mut links = LinkState::of_board(number, &**board, ports)?;
                // In a ring of one board, the neighbour is the board itself.
                links.retain(|link| {
                    let neighbour = self.topology.neighbour(number, link.port);
                    link.is_aligned() && neighbour.is_none_or(|(other, _)| other == number)
                });
                let open = links.iter().find(|link| link.is_open());
                if let Some(open) = open {
                    return Ok(Some(*open));
                }
                if links.is_empty() || time()?.wrapping_sub(began) > OPENS_WITHIN {
                    break;
                }
            }
        }
        Ok(None)
    }

    /// Prepares the boards with the numbers `own` as [`Cluster::prepare`] does, in a run in which
    /// other processes prepare the other boards. `meet` is called once the boards have been reset;
    /// it returns the key of the run when all boards of the cluster have been reset. A board that
    /// was reset later could receive data of this run before. When the call returns, other processes
    /// find the boards `own` prepared.
    ///
    /// # Errors
    /// As [`Cluster::prepare`]; errors of `meet`.
    ///
    /// # Examples
    /// ```
    /// use alcor::{Cluster, soft::SoftBoard};
    ///
    /// let cluster = Cluster::single(SoftBoard::new(4));
    /// cluster.prepare_boards(0..1, 4, || Ok(cluster.draw_key()))?;
    /// # Ok::<(), alcor::Error>(())
    /// ```
    pub fn prepare_boards(
        &self,
        own: Range<u32>,
        ranks: u32,
        meet: impl FnOnce() -> Result<u32>,
    ) -> Result<BoardInfo> {
        let info = self.identify()?;
        let there = info.ranks * self.boards.len() as u32;
        if ranks == 0 {
            return Err(Error::BadOption {
                option: "ranks",
                value: 0,
                rule: "a run has at least one rank",
            });
        }
        if ranks > there {
            return Err(Error::TooFewRanks {
                cluster: self.name().to_owned(),
                asked: ranks,
                ranks: there,
            });
        }
        let own = || {
            let boards = (0..).zip(&self.boards);
            boards.filter(|(number, _)| own.contains(number))
        };
        for (_, board) in own() {
            board.reset()?;
        }
        let key = meet()?;
        for (number, board) in own() {
            if info.has_switch() {
                self.write_place(number, &**board, &info, ranks, key)?;
            }
            let before = number * info.ranks;
            board.expect(ranks.saturating_sub(before).min(info.ranks))?;
        }
        Ok(info)
    }

    /// Checks the boards' ID blocks. Returns their properties, which are the same for all boards.
    ///
    /// # Errors
    /// As [`identify`](crate::identify()); [`Error::BoardsDiffer`] if two boards are built
    /// differently; [`Error::BadIdentity`] if the boards have fewer links than the topology needs.
    pub fn identify(&self) -> Result<BoardInfo> {
        let Some(first) = self.boards.first() else {
            return Err(Error::BadOption {
                option: "boards",
                value: 0,
                rule: "a cluster has at least one board",
            });
        };
        let info = identify(&**first)?;
        for board in &self.boards[1..] {
            if let Some((property, found, wanted)) = identify(&**board)?.difference(&info) {
                return Err(Error::BoardsDiffer {
                    board: board.name().to_owned(),
                    other: first.name().to_owned(),
                    property,
                    found,
                    wanted,
                });
            }
        }
        if self.boards.len() > 1 && (!info.has_switch() || info.links < self.topology.links()) {
            return Err(Error::BadIdentity {
                board: first.name().to_owned(),
                register: "GEOMETRY",
                found: geometry::RANKS.put(info.ranks) | geometry::LINKS.put(info.links),
                rule: "boards of a cluster have a switch, and two links for each dimension",
            });
        }
        Ok(info)
    }

    /// The state of all link ends, by board and port. Empty if no board has link ends: a board without
    /// cables, or a simulated board without `links=frames`.
    ///
    /// # Errors
    /// If a board can't be reached.
    ///
    /// # Examples
    /// ```
    /// use alcor::{Cluster, soft::SoftBoard};
    ///
    /// let cluster = Cluster::from(SoftBoard::new(4));
    /// for link in cluster.links()? {
    ///     println!("{link}");
    /// }
    /// assert!(cluster.links()?.is_empty(), "this board has no cable");
    /// # Ok::<(), alcor::Error>(())
    /// ```
    pub fn links(&self) -> Result<Vec<LinkState>> {
        let mut links = Vec::new();
        for (number, board) in (0..).zip(&self.boards) {
            let ports = geometry::LINKS.get(board.read32(PageOffset(GEOMETRY))?);
            links.extend(LinkState::of_board(number, &**board, ports)?);
        }
        Ok(links)
    }

    /// Draws the key of a run. Boards that are not prepared have the key 0. A run on boards whose
    /// time stands still is reproducible bit by bit, so its key is always the same.
    ///
    /// # Examples
    /// ```
    /// use alcor::{Cluster, soft::SoftBoard};
    ///
    /// assert_ne!(Cluster::single(SoftBoard::new(4)).draw_key(), 0);
    /// ```
    #[must_use]
    pub fn draw_key(&self) -> u32 {
        if self.boards.iter().all(|board| board.time_stands_still()) {
            return 1;
        }
        let random = RandomState::new().build_hasher().finish();
        1 + (random % u64::from(place::KEY.max())) as u32
    }

    /// Writes a board's number, the ranks and the key of the run, and the board's routes.
    fn write_place(
        &self,
        number: u32,
        board: &dyn Board,
        info: &BoardInfo,
        ranks: u32,
        key: u32,
    ) -> Result<()> {
        let write = |register, value| board.write32(PageOffset(register), value);
        let place = place::BOARD.put(number) | place::RANKS.put(ranks) | place::KEY.put(key);
        write(PLACE, place)?;
        let there = info.ranks * self.boards.len() as u32;
        for rank in 0..there.min(1 + forward::RANK.max()) {
            let port = self.topology.route(number, rank / info.ranks);
            write(
                FORWARD,
                forward::RANK.put(rank) | forward::PORT.put(port.unwrap_or(HERE)),
            )?;
        }
        let closing = (0..self.topology.links())
            .filter(|&port| self.topology.dateline(number, port))
            .fold(0, |ports, port| ports | 1 << port);
        write(DATELINES, datelines::PORTS.put(closing))?;
        // Writes are posted. They have arrived when a read returns, so other processes find them.
        board.read32(PageOffset(PLACE)).map(drop)
    }

    /// Number of ranks of all boards, as the boards report.
    ///
    /// # Errors
    /// If a board can't be reached.
    pub fn ranks(&self) -> Result<u32> {
        self.boards.iter().try_fold(0, |ranks, board| {
            let shape = board.read32(PageOffset(GEOMETRY))?;
            Ok(ranks + geometry::RANKS.get(shape))
        })
    }
}

impl From<Arc<dyn Board>> for Cluster {
    fn from(board: Arc<dyn Board>) -> Cluster {
        Cluster::single(board)
    }
}

impl<B: Board + 'static> From<Arc<B>> for Cluster {
    fn from(board: Arc<B>) -> Cluster {
        Cluster::single(board)
    }
}

impl From<&Cluster> for Cluster {
    fn from(cluster: &Cluster) -> Cluster {
        cluster.clone()
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.boards.iter().map(|board| board.name()).collect();
        f.debug_struct("Cluster")
            .field("boards", &names)
            .field("topology", &self.topology)
            .finish()
    }
}
