//! Opens boards and clusters by URI.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use alcor::{Backend, Board, Cluster, Launch, Result};
use alcor_deploy::{Farm, FarmCluster, host_name};
use alcor_xdma::{Peers, XdmaBackend, XdmaBoard, XdmaError};

use crate::ClusterError;
use crate::joined::{JoinedBoard, RemoteBoard};
use crate::rendezvous::{Hello, Member};

/// The file of the farm: `named`, or the file that the variable `ALCOR_BOARDS` names, or
/// `boards.toml` of the current folder.
#[must_use]
pub fn path(named: Option<&Path>) -> PathBuf {
    let environment = || env::var_os("ALCOR_BOARDS").map(PathBuf::from);
    let named = named.map(Path::to_owned).or_else(environment);
    named.unwrap_or_else(|| "boards.toml".into())
}

type Opener =
    dyn Fn(&str, &str, &Peers) -> std::result::Result<Arc<XdmaBoard>, XdmaError> + Send + Sync;

/// The farm as this host sees it.
#[derive(Clone)]
struct Place {
    path: PathBuf,
    /// The host's name. A host without a name has boards of `localhost` only.
    here: String,
    /// Opens a board, given its name and the rest of its `xdma:` URI.
    open: Arc<Opener>,
}

impl Place {
    fn new() -> Place {
        Place {
            path: path(None),
            here: host_name().unwrap_or_default(),
            open: Place::cards(XdmaBackend::new()),
        }
    }

    fn cards(cards: XdmaBackend) -> Arc<Opener> {
        Arc::new(move |_: &str, rest: &str, peers: &Peers| cards.board(rest, peers))
    }

    fn farm(&self) -> std::result::Result<Farm, ClusterError> {
        Ok(Farm::read(&self.path)?)
    }

    /// Opens a board of the file. `query` is empty or begins with a question mark.
    fn board(
        &self,
        farm: &Farm,
        name: &str,
        query: &str,
        peers: &Peers,
    ) -> std::result::Result<Arc<XdmaBoard>, ClusterError> {
        let address = farm.board_on(name, &self.here)?.address;
        let opened = (self.open)(name, &format!("{address}{query}"), peers);
        opened.map_err(|source| ClusterError::Card {
            board: name.to_owned(),
            source,
        })
    }
}

/// Splits a URI without its scheme into a name and the rest, which is empty or begins with a
/// question mark.
fn split(rest: &str) -> (&str, &str) {
    rest.split_at(rest.find('?').unwrap_or(rest.len()))
}

macro_rules! of_a_place {
    ($backend:ident, $scheme:literal) => {
        impl Default for $backend {
            fn default() -> Self {
                Self::new()
            }
        }

        impl $backend {
            /// Scheme of the backend's URIs.
            pub const SCHEME: &'static str = $scheme;

            /// A backend for this host and the [default](path) file.
            #[must_use]
            pub fn new() -> Self {
                Self(Place::new())
            }

            /// Reads another file.
            #[must_use]
            pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
                self.0.path = path.into();
                self
            }

            /// Takes the name of this host from the caller.
            #[must_use]
            pub fn here(mut self, host: impl Into<String>) -> Self {
                self.0.here = host.into();
                self
            }

            /// Opens the cards through this backend.
            #[must_use]
            pub fn over(mut self, cards: XdmaBackend) -> Self {
                self.0.open = Place::cards(cards);
                self
            }

            /// Opens the cards by a function of the board's name, the rest of the board's `xdma:`
            /// URI, and the peers. Tests open simulated cards.
            #[must_use]
            pub fn opening(
                mut self,
                open: impl Fn(&str, &str, &Peers) -> std::result::Result<Arc<XdmaBoard>, XdmaError>
                + Send
                + Sync
                + 'static,
            ) -> Self {
                self.0.open = Arc::new(open);
                self
            }
        }
    };
}

/// `board:<name>`: a board of the farm that is in this host, as `xdma:<its address>`.
#[derive(Clone)]
pub struct FarmBackend(Place);

of_a_place!(FarmBackend, "board");

impl Backend for FarmBackend {
    fn scheme(&self) -> &str {
        Self::SCHEME
    }

    fn open(&self, rest: &str) -> Result<Cluster> {
        let board = self.card(rest)?;
        Ok(Cluster::single(board).with_name(format!("{}:{rest}", Self::SCHEME)))
    }
}

impl FarmBackend {
    /// Opens a board as [`Backend::open`] does, with access to its card.
    ///
    /// # Errors
    /// As [`Backend::open`].
    pub fn card(&self, rest: &str) -> Result<Arc<XdmaBoard>> {
        let (name, query) = split(rest);
        (self.0.farm())
            .and_then(|farm| self.0.board(&farm, name, query, &Peers::default()))
            .map_err(|error| error.on(&format!("{}:{rest}", Self::SCHEME)))
    }
}

/// `cluster:<name>`: the boards of a cluster of the farm. See the [crate](crate).
#[derive(Clone)]
pub struct ClusterBackend(Place);

of_a_place!(ClusterBackend, "cluster");

impl Backend for ClusterBackend {
    fn scheme(&self) -> &str {
        Self::SCHEME
    }

    /// Opens all boards, which must be in this host. The ranks are threads of this process.
    fn open(&self, rest: &str) -> Result<Cluster> {
        self.cards(rest).map(|(cluster, _)| cluster)
    }

    /// Opens the board of the rank, meets the other processes, and prepares the boards with them.
    fn join(&self, rest: &str, launch: &Launch) -> Result<Cluster> {
        let uri = format!("{}:{rest}", Self::SCHEME);
        let (name, query) = split(rest);
        let failed = |error: ClusterError| error.on(&uri);
        let farm = self.0.farm().map_err(failed)?;
        let cluster = farm.cluster(name).map_err(|error| failed(error.into()))?;
        let own = self.number(&farm, cluster, launch).map_err(failed)?;
        let first = farm.board(&cluster.boards[0]);
        let host = first.map_err(|error| failed(error.into()))?.host.clone();
        let hello = Hello {
            run: launch.run.clone(),
            cluster: name.to_owned(),
            size: launch.size,
            rank: launch.rank.0,
        };
        let peers = Peers::default();
        let member = Member::join(&host, cluster.port, &hello, &peers);
        let member = member.map_err(|error| error.of(&uri))?;
        let board_name = &cluster.boards[own as usize];
        let prepared = || {
            let board = self.0.board(&farm, board_name, query, &peers);
            let board: Arc<dyn Board> = board.map_err(failed)?;
            let is_first = launch.rank.0.is_multiple_of(cluster.ranks);
            let words = if is_first {
                RemoteBoard::words(&*board)?
            } else {
                String::new()
            };
            let all = member.gather("board", &words);
            let all = all.map_err(|error| error.of(&uri))?;
            let boards = (0..).zip(&cluster.boards).map(|(number, name)| {
                if number == own {
                    let below = Arc::clone(&board);
                    return Arc::new(JoinedBoard::new(below, Arc::clone(&member)))
                        as Arc<dyn Board>;
                }
                let words = all.get((number * cluster.ranks) as usize);
                let words = words.map_or("", String::as_str);
                Arc::new(RemoteBoard::new(name, words))
            });
            let opened = Cluster::new(boards.collect(), cluster.shape()?)?.with_name(&uri);
            check_ranks(&opened, cluster).map_err(failed)?;
            let mine = own..own + u32::from(is_first);
            opened.prepare_boards(mine.clone(), launch.size, || {
                let key = member.gather("reset", &opened.draw_key().to_string());
                let key = key.map_err(|error| error.of(&uri))?.into_iter().next();
                let key = key.unwrap_or_default();
                key.parse().map_err(|_| failed(member.unreadable(&key)))
            })?;
            if let Some(link) = opened.meets_another_run(mine)? {
                return Err(alcor::Error::KeyInUse { link });
            }
            let ready = member.gather("ready", "");
            ready.map_err(|error| error.of(&uri))?;
            Ok(opened)
        };
        prepared().inspect_err(|error| member.fail(error))
    }
}

impl ClusterBackend {
    /// Opens a cluster as [`Backend::open`] does, with access to its cards.
    ///
    /// # Errors
    /// As [`Backend::open`].
    pub fn cards(&self, rest: &str) -> Result<(Cluster, Vec<Arc<XdmaBoard>>)> {
        let uri = format!("{}:{rest}", Self::SCHEME);
        let (name, query) = split(rest);
        let open = || {
            let farm = self.0.farm()?;
            let cluster = farm.cluster(name)?;
            let peers = Peers::default();
            let boards = cluster.boards.iter().map(|name| {
                let board = farm.board(name)?;
                if !board.is_on(&self.0.here) {
                    return Err(ClusterError::OtherHost {
                        board: name.clone(),
                        host: board.host.clone(),
                        here: self.0.here.clone(),
                    });
                }
                self.0.board(&farm, name, query, &peers)
            });
            let boards = boards.collect::<std::result::Result<Vec<_>, _>>()?;
            Ok((cluster.clone(), boards))
        };
        let (cluster, boards) = open().map_err(|error: ClusterError| error.on(&uri))?;
        let below = boards.iter().cloned().map(|board| board as Arc<dyn Board>);
        let opened = Cluster::new(below.collect(), cluster.shape()?)?.with_name(&uri);
        check_ranks(&opened, &cluster).map_err(|error| error.on(&uri))?;
        Ok((opened, boards))
    }

    /// Number of the board of the rank of this process.
    fn number(
        &self,
        farm: &Farm,
        cluster: &FarmCluster,
        launch: &Launch,
    ) -> std::result::Result<u32, ClusterError> {
        let FarmCluster { boards, ranks, .. } = cluster;
        let there = ranks * boards.len() as u32;
        let used = launch.size.div_ceil(*ranks);
        if let Some(board) = boards.get(used as usize) {
            return Err(ClusterError::NoProcess {
                size: launch.size,
                board: board.clone(),
                needed: (boards.len() as u32 - 1) * ranks + 1,
            });
        }
        let number = launch.rank.0 / ranks;
        let (true, Some(name)) = (launch.size <= there, boards.get(number as usize)) else {
            return Err(ClusterError::TooManyRanks {
                size: launch.size,
                ranks: there,
            });
        };
        let board = farm.board(name)?;
        if board.is_on(&self.0.here) {
            return Ok(number);
        }
        Err(ClusterError::WrongHost {
            rank: launch.rank,
            board: name.clone(),
            host: board.host.clone(),
            here: self.0.here.clone(),
            first: number * ranks,
            last: (number * ranks + ranks - 1).min(launch.size.saturating_sub(1)),
        })
    }
}

/// Checks the boards' ID blocks and compares their number of ranks with the file.
fn check_ranks(opened: &Cluster, cluster: &FarmCluster) -> std::result::Result<(), ClusterError> {
    for (board, name) in opened.boards().iter().zip(&cluster.boards) {
        // Reports other designs and boards that do not answer later.
        let Ok(info) = alcor::identify(&**board) else {
            continue;
        };
        if info.ranks != cluster.ranks {
            return Err(ClusterError::Ranks {
                board: name.clone(),
                found: info.ranks,
                wanted: cluster.ranks,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use alcor::PageOffset;
    use alcor_abi::{self as abi, board};
    use xdma::BarOffset;
    use xdma::standin::{Memory, StandIn};

    use super::*;

    #[test]
    fn a_board_of_this_host_is_its_card() {
        let standin = StandIn::new(Memory::new(64)).unwrap();
        let registers = standin.machine().only_card().unwrap().user_bar().unwrap();
        for (register, value) in [(board::MAGIC, abi::MAGIC), (board::REVISION, 0x1234)] {
            registers
                .write32(BarOffset(register.into()), value)
                .unwrap();
        }
        let path = standin.sys().join("boards.toml");
        let card = standin.address();
        let farm = format!(
            "schema = 1\n\
             [boards.left]\nhost = \"one\"\naddress = \"{card}\"\n\
             [boards.far]\nhost = \"two\"\naddress = \"{card}\"\n\
             [boards.empty]\nhost = \"one\"\naddress = \"0000:7f:00.0\"\n"
        );
        fs::write(&path, farm).unwrap();
        let backend = FarmBackend::new()
            .file(path)
            .here("one")
            .over(XdmaBackend::on(standin.machine()));
        let cluster = backend.open("left").unwrap();
        assert_eq!(cluster.name(), "board:left");
        let revision = cluster.boards()[0].read32(PageOffset(board::REVISION));
        assert_eq!(revision.unwrap(), 0x1234);
        for (name, words) in [
            ("far", "run the command on"),
            ("none", "empty, far, left"),
            ("empty", "0000:7f:00.0"),
            ("left?driver=other", "names no card"),
        ] {
            let error = backend.open(name).err().unwrap();
            assert!(error.to_string().contains(words), "{name}: {error}");
        }
    }
}
