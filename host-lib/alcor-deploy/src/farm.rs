//! A board farm in one file, `boards.toml`: the boards, their places, the cabled links, and the
//! clusters.

mod check;
mod error;

pub use error::FarmError;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use alcor::Topology;
use serde::{Deserialize, Deserializer, de};
use xdma::PciAddress;

use crate::Programmer;

/// The supported version of the file.
const SCHEMA: i64 = 1;
/// Largest size of the file, in bytes.
const MOST_BYTES: u64 = 256 << 10;
/// Default number of link ports of a board: a U280 has two.
const PORTS: u32 = 2;
/// Default TCP port at which the processes of a run on a cluster meet.
const MEETING_PORT: u16 = 7280;

/// A board farm.
///
/// # Examples
/// ```
/// use alcor_deploy::Farm;
///
/// let farm = Farm::parse(
///     r#"
///         schema = 1
///         [boards.left]
///         host = "fpga1"
///         address = "0000:3b:00.0"
///         serial = "21770205K01A"
///         [boards.right]
///         host = "fpga2"
///         address = "0000:3b:00.0"
///         serial = "21770205K02B"
///         [[links]]
///         ends = ["left.0", "right.1"]
///         [[links]]
///         ends = ["left.1", "right.0"]
///         [clusters.lab]
///         boards = ["left", "right"]
///         topology = [2]
///         ranks = 2
///     "#,
///     "boards.toml".as_ref(),
/// )?;
/// assert_eq!(farm.board("left")?.address.to_string(), "0000:3b:00.0");
/// assert!(farm.board_on("right", "fpga1").unwrap_err().to_string().contains("fpga2"));
/// assert_eq!(farm.cluster("lab")?.boards, ["left", "right"]);
/// # Ok::<(), alcor_deploy::FarmError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Farm {
    path: PathBuf,
    boards: BTreeMap<String, Board>,
    programmers: BTreeMap<String, (Programmer, Option<Duration>)>,
    links: Vec<[End; 2]>,
    clusters: BTreeMap<String, FarmCluster>,
}

/// A cluster of a farm: boards that are joined by links.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct FarmCluster {
    /// The boards, in the order of their numbers. Ranks fill one board after the other.
    pub boards: Vec<String>,
    /// Boards in each dimension of the ring or torus ([`Topology::torus`]).
    pub topology: Vec<u32>,
    /// Number of ranks of each board.
    pub ranks: u32,
    /// TCP port of the first board's host at which the processes of a run meet.
    #[serde(default = "meeting_port")]
    pub port: u16,
}

impl FarmCluster {
    /// The topology.
    ///
    /// # Errors
    /// As [`Topology::torus`]. A file with such a topology is refused.
    pub fn shape(&self) -> alcor::Result<Topology> {
        Topology::torus(&self.topology)
    }
}

/// A board of a farm.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Host of the board: its name, or `localhost`.
    pub host: String,
    /// The card's PCI address.
    #[serde(deserialize_with = "address")]
    pub address: PciAddress,
    /// Serial number of the board's cable, in the programmer's form.
    #[serde(default)]
    pub serial: Option<String>,
    /// The programmer, by name.
    #[serde(default = "vivado")]
    pub programmer: String,
    /// Number of link ports.
    #[serde(default = "ports")]
    pub ports: u32,
}

fn vivado() -> String {
    "vivado".into()
}

fn ports() -> u32 {
    PORTS
}

fn meeting_port() -> u16 {
    MEETING_PORT
}

fn address<'de, D: Deserializer<'de>>(from: D) -> Result<PciAddress, D::Error> {
    String::deserialize(from)?
        .parse()
        .map_err(de::Error::custom)
}

/// An end of a link: a port of a board, for example `left.0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// The board.
    pub board: String,
    /// Link port.
    pub port: u32,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A name may hold control characters until it is checked.
        write!(f, "{}.{}", self.board.escape_debug(), self.port)
    }
}

impl FromStr for End {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<End, &'static str> {
        let parse = || {
            let (board, port) = text.split_once('.')?;
            let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
            Some(End {
                board: board.to_owned(),
                port: port.parse().ok().filter(|_| is_number)?,
            })
        };
        parse().ok_or("an end of a link has the form board.port, for example left.0")
    }
}

impl<'de> Deserialize<'de> for End {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<End, D::Error> {
        String::deserialize(from)?
            .parse()
            .map_err(de::Error::custom)
    }
}

/// The part of the file that every version has.
#[derive(Deserialize)]
struct Version {
    schema: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[expect(dead_code, reason = "it was looked at before")]
    schema: i64,
    #[serde(default)]
    boards: BTreeMap<String, Board>,
    #[serde(default)]
    programmers: BTreeMap<String, RawProgrammer>,
    #[serde(default)]
    links: Vec<RawLink>,
    #[serde(default)]
    clusters: BTreeMap<String, FarmCluster>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProgrammer {
    command: Vec<String>,
    timeout_s: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLink {
    // A vector: deserialisation of an array would ignore surplus elements.
    ends: Vec<End>,
}

impl Farm {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`FarmError`].
    pub fn read(path: &Path) -> Result<Farm, FarmError> {
        let failed = |source| FarmError::Read {
            path: path.to_owned(),
            source,
        };
        let mut text = String::new();
        let file = File::open(path).map_err(failed)?;
        file.take(MOST_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(failed)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(failed(io::Error::other(format!(
                "it is longer than {MOST_BYTES} bytes"
            ))));
        }
        Farm::parse(&text, path)
    }

    /// Reads and checks the text of a file; `path` is for errors.
    ///
    /// # Errors
    /// [`FarmError`].
    pub fn parse(text: &str, path: &Path) -> Result<Farm, FarmError> {
        let Version { schema } = toml(text, path)?;
        if schema != SCHEMA {
            return Err(FarmError::Schema {
                path: path.to_owned(),
                found: schema,
            });
        }
        let raw: Raw = toml(text, path)?;
        let mut programmers: BTreeMap<_, _> = Programmer::known()
            .into_iter()
            .map(|programmer| (programmer.name.clone(), (programmer, None)))
            .collect();
        for (name, RawProgrammer { command, timeout_s }) in raw.programmers {
            let programmer = Programmer {
                name: name.clone(),
                command,
            };
            programmers.insert(name, (programmer, timeout_s.map(Duration::from_secs)));
        }
        let wrong = |what| FarmError::Wrong {
            path: path.to_owned(),
            what,
        };
        let links = raw.links.into_iter().map(|RawLink { ends }| {
            let count = ends.len();
            let both = <[End; 2]>::try_from(ends);
            both.map_err(|_| wrong(format!("a link has {count} ends, and a cable has two")))
        });
        let links = links.collect::<Result<_, _>>()?;
        let farm = Farm {
            path: path.to_owned(),
            boards: raw.boards,
            programmers,
            links,
            clusters: raw.clusters,
        };
        match farm.fault() {
            None => Ok(farm),
            Some(what) => Err(wrong(what)),
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All boards, by name.
    pub fn boards(&self) -> impl Iterator<Item = (&str, &Board)> {
        self.boards
            .iter()
            .map(|(name, board)| (name.as_str(), board))
    }

    /// The links that are cabled.
    #[must_use]
    pub fn links(&self) -> &[[End; 2]] {
        &self.links
    }

    /// All clusters, by name.
    pub fn clusters(&self) -> impl Iterator<Item = (&str, &FarmCluster)> {
        let clusters = self.clusters.iter();
        clusters.map(|(name, cluster)| (name.as_str(), cluster))
    }

    /// The cluster of that name.
    ///
    /// # Errors
    /// [`FarmError::NoCluster`].
    pub fn cluster(&self, name: &str) -> Result<&FarmCluster, FarmError> {
        self.clusters.get(name).ok_or_else(|| FarmError::NoCluster {
            path: self.path.clone(),
            name: name.chars().filter(|c| !c.is_control()).take(80).collect(),
            known: self.clusters.keys().cloned().collect(),
        })
    }

    /// The board of that name.
    ///
    /// # Errors
    /// [`FarmError::NoBoard`].
    pub fn board(&self, name: &str) -> Result<&Board, FarmError> {
        self.boards.get(name).ok_or_else(|| FarmError::NoBoard {
            path: self.path.clone(),
            name: name.chars().filter(|c| !c.is_control()).take(80).collect(),
            known: self.boards.keys().cloned().collect(),
        })
    }

    /// The board of that name, if it is in the host `here`.
    ///
    /// # Errors
    /// [`FarmError::NoBoard`], [`FarmError::OtherHost`].
    pub fn board_on(&self, name: &str, here: &str) -> Result<&Board, FarmError> {
        let board = self.board(name)?;
        if board.is_on(here) {
            Ok(board)
        } else {
            Err(FarmError::OtherHost {
                name: name.to_owned(),
                host: board.host.clone(),
                here: here.to_owned(),
            })
        }
    }

    /// The board at that address of the host `here`.
    #[must_use]
    pub fn board_at(&self, address: PciAddress, here: &str) -> Option<(&str, &Board)> {
        self.boards()
            .find(|(_, board)| board.address == address && board.is_on(here))
    }

    /// A programmer by name, and its time limit if there is one.
    #[must_use]
    pub fn programmer(&self, name: &str) -> Option<&(Programmer, Option<Duration>)> {
        self.programmers.get(name)
    }
}

impl Board {
    /// Whether the board is in the host of this name. If one name has no domain, the domain of the
    /// other is ignored.
    #[must_use]
    pub fn is_on(&self, here: &str) -> bool {
        let short = |name: &str| {
            name.split('.')
                .next()
                .unwrap_or_default()
                .to_ascii_lowercase()
        };
        let (own, here) = (self.host.to_ascii_lowercase(), here.to_ascii_lowercase());
        let has_no_domain = !own.contains('.') || !here.contains('.');
        own == "localhost" || own == here || (has_no_domain && short(&own) == short(&here))
    }
}

/// The parser's excerpt of the text is left out, because the text may be long.
fn toml<T: de::DeserializeOwned>(text: &str, path: &Path) -> Result<T, FarmError> {
    ::toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let shown = |c: char| if c.is_control() { ' ' } else { c };
        FarmError::Toml {
            path: path.to_owned(),
            line: 1 + before.unwrap_or_default().matches('\n').count(),
            message: error.message().chars().take(200).map(shown).collect(),
        }
    })
}

/// The name of this host.
///
/// # Errors
/// Message of the system.
pub fn host_name() -> io::Result<String> {
    Ok(nix::unistd::gethostname()?.to_string_lossy().into_owned())
}
