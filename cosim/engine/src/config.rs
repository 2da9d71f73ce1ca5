//! Named configurations, and the options of a URI.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use alcor::Topology;
use alcor_hw::CONFIGS;
use serde::{Deserialize, Deserializer};
use verimodel::Optimise;

use crate::frames;
use crate::log::RECORDS;
use crate::log::files::PacketFormat;
use crate::medium::{CableFault, CableOutage, Chance, LinkFaults};
use crate::rank_set::MAX_RANKS;
use crate::{CosimError, Hardware, LinkFigures, Profile};

/// A named configuration of the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Description in one line.
    pub summary: String,
    /// Parameters of `sim_top`.
    pub params: BTreeMap<String, u64>,
    /// Number of boards in each dimension of a ring or torus; empty for a single board.
    pub topology: Vec<u32>,
    /// Properties of the links that differ from the defaults.
    pub link: LinkConfig,
    /// The kernel beside each coprocessor, if there is one.
    pub kernel: Option<KernelConfig>,
}

/// A configuration in a file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    summary: String,
    base: Option<String>,
    #[serde(default)]
    params: BTreeMap<String, u64>,
    topology: Option<Vec<u32>>,
    link: Option<LinkConfig>,
    kernel: Option<KernelConfig>,
}

/// The kernel of a configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelConfig {
    /// `module`: name of the module beside each coprocessor.
    pub module: String,
    /// `sources`: its files in the order of compilation, relative to the folder of the
    /// configuration. For configurations of Alcor, relative to the root of the repository.
    pub sources: Vec<String>,
    /// The folder of the user's own hardware that contains the sources; `None` for kernels of
    /// Alcor.
    #[serde(skip)]
    pub folder: Option<PathBuf>,
}

impl KernelConfig {
    fn check(&self) -> Result<(), String> {
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if !is_name(&self.module) {
            return Err(format!(
                "kernel: `{}` is not the name of a module",
                self.module
            ));
        }
        let is_below = |name: &str| {
            let mut parts = Path::new(name).components();
            !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
        };
        match self.sources.iter().find(|source| !is_below(source)) {
            _ if self.sources.is_empty() => Err("kernel: `sources` names no file".into()),
            Some(source) => Err(format!(
                "kernel: `{source}` is not a path below the folder of the configuration"
            )),
            None => Ok(()),
        }
    }
}

/// The links of a configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    /// `latency`: cycles from a board's pins to its neighbour's pins.
    pub latency: Option<u32>,
    /// `gbps`: rate in gigabits per second, stored in megabits per second.
    #[serde(default, rename = "gbps", deserialize_with = "mbps_of_number")]
    pub mbps: Option<u32>,
}

impl Config {
    /// Returns the topology of the boards.
    ///
    /// # Errors
    /// If `topology` is invalid.
    pub fn topology(&self) -> Result<Topology, alcor::Error> {
        if self.topology.is_empty() {
            Ok(Topology::single())
        } else {
            Topology::torus(&self.topology)
        }
    }

    /// Makes a configuration from `entry` and its base. Parameters of the base hold unless the
    /// entry sets them. All other values of the entry replace those of the base.
    fn of(entry: Entry, base: Option<&Config>) -> Config {
        let mut params = base.map_or_else(BTreeMap::new, |base| base.params.clone());
        params.extend(entry.params);
        let kernel = entry.kernel.or_else(|| base?.kernel.clone());
        if kernel.is_some() {
            params.entry(KERNEL.to_owned()).or_insert(KERNEL_BITS);
        }
        Config {
            summary: entry.summary,
            params,
            topology: entry
                .topology
                .or_else(|| Some(base?.topology.clone()))
                .unwrap_or_default(),
            link: entry.link.or_else(|| Some(base?.link)).unwrap_or_default(),
            kernel,
        }
    }

    fn check(&self) -> Result<(), String> {
        if let Some(kernel) = &self.kernel {
            kernel.check()?;
        }
        let has_port = self.params.get(KERNEL).is_some_and(|&bits| bits != 0);
        if has_port != self.kernel.is_some() {
            return Err(
                "KERNEL (bits of the memory port) and `kernel` (the module) must be set together"
                    .into(),
            );
        }
        for (param, value) in &self.params {
            if !is_param(param) {
                return Err(format!("`{param}` is not the name of a parameter"));
            }
            check(param, *value)
                .map_err(|expected| format!("{param} = {value}, expected {expected}"))?;
        }
        for needed in [RANKS, NODE_BYTES] {
            if !self.params.contains_key(needed) {
                return Err(format!("{needed} is missing"));
            }
        }
        let topology = self.topology().map_err(|error| error.to_string())?;
        check_links(&self.params, &topology).map_err(|problem| problem.to_string())?;
        let LinkConfig { latency, mbps } = self.link;
        if topology.links() == 0 && (latency, mbps) != (None, None) {
            return Err("link needs a topology".into());
        }
        if latency.is_some_and(|latency| !LATENCIES.contains(&latency)) {
            return Err(format!(
                "link latency = {}, expected {LATENCY_RULE}",
                latency.unwrap_or_default()
            ));
        }
        Ok(())
    }
}

/// The configurations of `hw/core/configs.toml`, and those of the user's own hardware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configs {
    /// The origin of the configurations, for error texts.
    hardware: Hardware,
    by_name: BTreeMap<String, Config>,
}

impl Configs {
    /// Reads the configurations of the hardware.
    ///
    /// # Errors
    /// If the file or a configuration can't be read.
    pub fn read(hardware: &Hardware) -> Result<Self, CosimError> {
        Self::parse(hardware, &hardware.text(CONFIGS)?)
    }

    /// Reads the configurations of the hardware and of the user's own hardware in `folder`. Also
    /// returns the path and the text of the user's file.
    pub(crate) fn with_own(
        hardware: &Hardware,
        folder: Option<PathBuf>,
    ) -> Result<(Self, Option<(PathBuf, String)>), CosimError> {
        let mut configs = Self::read(hardware)?;
        let own = configs.read_own(folder)?;
        Ok((configs, own))
    }

    /// Adds the configurations of the user's own hardware, if there is any. Returns the path and
    /// the text of the file.
    pub(crate) fn read_own(
        &mut self,
        folder: Option<PathBuf>,
    ) -> Result<Option<(PathBuf, String)>, CosimError> {
        let Some(folder) = folder else {
            return Ok(None);
        };
        let path = folder.join(OWN_CONFIGS);
        let text = fs::read_to_string(&path).map_err(|source| CosimError::Read {
            path: path.clone(),
            source: Arc::new(source),
        })?;
        let added = self.add(&text, Some(&folder));
        added.map_err(|problem| CosimError::BadConfig {
            path: path.clone(),
            problem,
        })?;
        Ok(Some((path, text)))
    }

    /// Parses the configurations in `text`, which comes from `hardware`.
    pub(crate) fn parse(hardware: &Hardware, text: &str) -> Result<Self, CosimError> {
        let mut configs = Self {
            hardware: hardware.clone(),
            by_name: BTreeMap::new(),
        };
        let added = configs.add(text, None);
        added.map_err(|problem| CosimError::BadConfig {
            path: hardware.path(CONFIGS),
            problem,
        })?;
        Ok(configs)
    }

    fn add(&mut self, text: &str, folder: Option<&Path>) -> Result<(), String> {
        let mut entries: BTreeMap<String, Entry> =
            toml::from_str(text).map_err(|error| error.to_string())?;
        if let Some(name) = entries.keys().find(|&name| self.by_name.contains_key(name)) {
            return Err(format!(
                "[{name}]: Alcor has a configuration of this name; choose another one"
            ));
        }
        while !entries.is_empty() {
            // Each round takes the entries whose base is known.
            let is_known = |entry: &Entry| {
                let base = entry.base.as_ref();
                base.is_none_or(|base| self.by_name.contains_key(base))
            };
            let ready: Vec<String> = entries
                .iter()
                .filter(|(_, entry)| is_known(entry))
                .map(|(name, _)| name.clone())
                .collect();
            if ready.is_empty() {
                let stuck = entries
                    .iter()
                    .find_map(|(name, entry)| Some((name, entry.base.as_ref()?)));
                let (name, base) = stuck.ok_or("no configuration")?;
                return Err(format!(
                    "[{name}]: no configuration `{base}` to use as the base, or the bases form a cycle"
                ));
            }
            for name in ready {
                let Some(mut entry) = entries.remove(&name) else {
                    continue;
                };
                if let Some(kernel) = &mut entry.kernel {
                    kernel.folder = folder.map(Path::to_owned);
                }
                let base = entry.base.as_ref().and_then(|base| self.by_name.get(base));
                let config = Config::of(entry.clone(), base);
                config
                    .check()
                    .map_err(|problem| format!("[{name}]: {problem}"))?;
                self.by_name.insert(name, config);
            }
        }
        Ok(())
    }

    #[cfg(test)]
    fn of_text(text: &str) -> Result<BTreeMap<String, Config>, String> {
        let mut configs = Self {
            hardware: Hardware::Embedded,
            by_name: BTreeMap::new(),
        };
        configs.add(text, None)?;
        Ok(configs.by_name)
    }

    /// Returns the configuration of this name.
    ///
    /// # Errors
    /// If there is no such configuration. The error lists the existing ones.
    pub fn get(&self, name: &str) -> Result<&Config, CosimError> {
        self.by_name
            .get(name)
            .ok_or_else(|| CosimError::UnknownConfig {
                name: name.into(),
                known: self
                    .by_name
                    .keys()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(", "),
                hardware: self.hardware.clone(),
            })
    }

    /// All configurations by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Config)> {
        self.by_name
            .iter()
            .map(|(name, config)| (name.as_str(), config))
    }
}

pub(crate) const RANKS: &str = "RANKS";
pub(crate) const NODE_BYTES: &str = "NODE_BYTES";
pub(crate) const LINKS: &str = "LINKS";
pub(crate) const STAGES: &str = "STAGES";
pub(crate) const PHIT_W: &str = "PHIT_W";
pub(crate) const DATA_W: &str = "DATA_W";
pub(crate) const FRAMES: &str = "FRAMES";
const KERNEL: &str = "KERNEL";
/// Default width of a kernel's memory port, in bits.
const KERNEL_BITS: u64 = 32;
/// The file of configurations in the folder of the user's own hardware.
const OWN_CONFIGS: &str = "configs.toml";

/// Range of a link's latency. Boards are stepped one by one, which needs a latency of at least two
/// cycles.
const LATENCIES: RangeInclusive<u32> = 2..=65_536;
const LATENCY_RULE: &str = "2 to 65536 cycles";
/// Range of a link's rate, in megabits per second.
const RATES: RangeInclusive<u32> = 1..=10_000_000;
const RATE_RULE: &str = "gigabits a second, 0.001 to 10000, with three decimals at most";

/// Range of the number of records of a log.
const LOGS: RangeInclusive<usize> = 1..=100_000_000;
const LOG_RULE: &str = "1 to 100000000 records";

/// Returns whether a name has the form of a model's parameter.
fn is_param(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

fn check(param: &str, value: u64) -> Result<(), &'static str> {
    match param {
        RANKS if !(1..=16).contains(&value) => Err("1 to 16"),
        NODE_BYTES if !(value.is_power_of_two() && (4096..=1 << 30).contains(&value)) => {
            Err("a power of two from 4096 to 2^30")
        }
        LINKS if ![0, 2, 4, 6].contains(&value) => Err("0, 2, 4 or 6"),
        PHIT_W if ![256, 512].contains(&value) => Err("256 or 512"),
        DATA_W if ![32, 256, 512].contains(&value) => Err("32, 256 or 512"),
        FRAMES if value > 1 => Err("0 or 1"),
        KERNEL if ![32, 64, 128, 256, 512].contains(&value) => Err("32, 64, 128, 256 or 512"),
        _ => Ok(()),
    }
}

/// A parameter that does not fit the topology.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unfit {
    param: &'static str,
    value: Option<u64>,
    expected: String,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Some(value) => write!(f, "{} = {value}, expected {}", self.param, self.expected),
            None => write!(f, "{} is missing, expected {}", self.param, self.expected),
        }
    }
}

impl From<Unfit> for CosimError {
    fn from(unfit: Unfit) -> Self {
        let value = unfit
            .value
            .map_or_else(String::new, |value| value.to_string());
        bad(unfit.param, &value, &unfit.expected)
    }
}

/// Checks parameters against the topology of their boards.
pub(crate) fn check_links(
    params: &BTreeMap<String, u64>,
    topology: &Topology,
) -> Result<(), Unfit> {
    let (dims, boards) = (topology.dims(), topology.boards());
    let require = |param: &'static str, is_right: &dyn Fn(u64) -> bool, expected: String| {
        let value = params.get(param).copied();
        if value.is_some_and(is_right) {
            return Ok(());
        }
        Err(Unfit {
            param,
            value,
            expected,
        })
    };
    let links = u64::from(topology.links());
    if params.get(FRAMES).is_some_and(|&frames| frames != 0) {
        if links == 0 {
            require(
                FRAMES,
                &|_| false,
                "0 without links; links=frames needs several boards, such as ring2".into(),
            )?;
        }
        require(
            PHIT_W,
            &|value| value == 256,
            "256, the width of a phit in a frame".into(),
        )?;
    }
    if links == 0 {
        return match params.get(LINKS) {
            None | Some(0) => Ok(()),
            Some(_) => require(LINKS, &|_| false, "0 without a topology".into()),
        };
    }
    require(
        LINKS,
        &|value| value == links,
        format!("{links}, two for each dimension of topology {dims:?}"),
    )?;
    let stages = u64::from(boards.next_power_of_two().ilog2());
    require(
        STAGES,
        &|value| value == stages,
        format!("{stages}, as many as {boards} boards need to meet pairwise"),
    )?;
    require(PHIT_W, &|_| true, "256 or 512".into())?;
    let phit = params[PHIT_W];
    if params.contains_key(DATA_W) {
        require(
            DATA_W,
            &|value| value <= phit,
            format!("{phit} at most, which a phit has"),
        )?;
    }
    let most = u64::from(MAX_RANKS / boards);
    require(
        RANKS,
        &|value| value <= most,
        format!("{most} at most on each of {boards} boards"),
    )
}

/// Whether cycles are skipped in which a board's state stays the same. Cycle counts and digests do
/// not depend on skipping. No cycle is skipped while waves are written, coverage is counted or a
/// run is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Skip {
    /// `off`: every cycle is evaluated.
    Off,
    /// `on`: a steady board skips to the next cycle in which the host or a link acts on the board.
    #[default]
    On,
    /// `check`: every cycle is evaluated. A board fails if its state changes in a cycle that would
    /// have been skipped.
    Check,
}

/// The options of a URI, for example `rma4?profile=gen3x16&waves=run.fst&IN_DEPTH=64`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// `profile`: cost of host accesses; default `ideal`.
    pub profile: Profile,
    /// `waves`: FST file of a trace; default none.
    pub waves: Option<PathBuf>,
    /// `waves-from`: first traced cycle since reset; default 0.
    pub waves_from: u64,
    /// `waves-to`: last traced cycle; default the end.
    pub waves_to: u64,
    /// `waves-reset`: the traced period, by its number of resets since the board was opened; by
    /// default the first period that reaches `waves-from`.
    pub waves_reset: Option<u64>,
    /// `trace`: file of a timeline, see [`crate::SimCluster::write_log`]; default none.
    pub trace: Option<PathBuf>,
    /// `packets`: file of a packet log, `.pcapng` or `.txt`; default none.
    pub packets: Option<PathBuf>,
    /// `log`: number of the newest records of each board that are kept; default 262144 with a log
    /// file, otherwise none.
    pub log: Option<usize>,
    /// `coverage`: 1 for a model that counts coverage, see [`crate::SimCluster::coverage`]; default
    /// 0. This model is slower. Its behaviour is the same.
    pub coverage: bool,
    /// `assertions`: 0 for a model without assertions, which is faster; default 1.
    pub assertions: bool,
    /// `guards`: 0 for a model without the guards (`ALCOR_AWAKE`) by which the simulator skips idle
    /// parts of a block. Blocks are synthesised without guards. Default 1. This model is slower.
    /// Its behaviour is the same.
    pub guards: bool,
    /// `skip`: whether steady cycles of a board are skipped; default `on`.
    pub skip: Skip,
    /// `power-up`: seed of the initial values of registers and RAMs, which are zero by default.
    /// No observable behaviour of the board depends on these values.
    pub power_up: Option<u32>,
    /// `optimise`: `fast` for fast simulation, `quick` for a short build; default `quick` with
    /// assertions and `fast` without. The behaviour of the boards does not depend on this option.
    pub optimise: Option<Optimise>,
    /// `away`: limit in seconds of the wall clock for a rank that runs host code while others wait;
    /// default `ALCOR_AWAY_SECONDS`, or 60.
    pub away: Duration,
    /// `attach`: limit in seconds of the wall clock for ranks that have not attached yet; default
    /// as `away`.
    pub attach: Duration,
    /// `watchdog`: minimum of the library's limit of a wait, in cycles; default
    /// `ALCOR_WATCHDOG_CYCLES`, or none.
    pub watchdog: u64,
    /// `threads`: number of threads that step the boards of a cluster, at most one per board;
    /// default the number of cores. The behaviour of the boards does not depend on this option.
    pub threads: Option<usize>,
    /// `link-latency`: latency of the links in cycles, instead of the configuration's.
    pub link_latency: Option<u32>,
    /// `link-gbps`: rate of the links in gigabits per second, instead of the configuration's;
    /// stored in megabits per second.
    pub link_mbps: Option<u32>,
    /// `link-errors`, `link-bursts`, `link-lost`, `link-cable`, `link-dark`, `link-mute`,
    /// `link-skew`, `link-seed`: faults of the links, with `links=frames`; default none. `link-damage`
    /// and `link-seed` with plain phits.
    pub link_faults: LinkFaults,
    /// Names in capitals: parameters of the model, which replace those of the configuration.
    /// `links=frames` sets FRAMES to 1, and `links=phits` to 0.
    pub params: BTreeMap<String, u64>,
}

/// The environment variable with the limit for ranks that are away.
pub(crate) const AWAY_VARIABLE: &str = "ALCOR_AWAY_SECONDS";
/// The environment variable with the minimum limit of a wait.
pub(crate) const WATCHDOG_VARIABLE: &str = "ALCOR_WATCHDOG_CYCLES";
const KNOWN: &str = "profile, waves, waves-from, waves-to, waves-reset, trace, packets, log, coverage, assertions, \
     guards, optimise, skip, power-up, away, attach, watchdog, threads, links, link-latency, link-gbps, \
     link-errors, link-bursts, link-lost, link-cable, link-dark, link-mute, link-skew, link-damage, link-seed";

impl Options {
    /// Returns the default options, with `ALCOR_AWAY_SECONDS` and `ALCOR_WATCHDOG_CYCLES`.
    ///
    /// # Errors
    /// If one of these variables is not a number.
    pub fn new() -> Result<Self, CosimError> {
        let away = match std::env::var(AWAY_VARIABLE) {
            Ok(text) if !text.is_empty() => seconds(AWAY_VARIABLE, &text)?,
            _ => Duration::from_secs(60),
        };
        let watchdog = match std::env::var(WATCHDOG_VARIABLE) {
            Ok(text) if !text.is_empty() => number(WATCHDOG_VARIABLE, &text)?,
            _ => 0,
        };
        Ok(Self {
            profile: Profile::Ideal,
            waves: None,
            waves_from: 0,
            waves_to: u64::MAX,
            waves_reset: None,
            trace: None,
            packets: None,
            log: None,
            coverage: false,
            assertions: true,
            guards: true,
            skip: Skip::default(),
            power_up: None,
            optimise: None,
            away,
            attach: away,
            watchdog,
            threads: None,
            link_latency: None,
            link_mbps: None,
            link_faults: LinkFaults::default(),
            params: BTreeMap::new(),
        })
    }

    /// Returns whether an option names a log file.
    pub(crate) fn has_log_file(&self) -> bool {
        self.trace.is_some() || self.packets.is_some()
    }

    /// Returns latency and rate of the links.
    #[must_use]
    pub fn link_figures(&self) -> LinkFigures {
        let LinkFigures { latency, mbps } = LinkFigures::default();
        LinkFigures {
            latency: self.link_latency.unwrap_or(latency),
            mbps: self.link_mbps.unwrap_or(mbps),
        }
    }

    /// Sets the options that are still undefined to the values of a configuration.
    pub(crate) fn fill_in(&mut self, config: &Config) -> Result<(), CosimError> {
        if config.topology.is_empty() {
            let given = [
                ("link-latency", self.link_latency.is_some()),
                ("link-gbps", self.link_mbps.is_some()),
                ("link-damage", self.link_faults.damage != Chance::default()),
            ];
            if let Some((option, _)) = given.iter().find(|(_, is_given)| *is_given) {
                return Err(bad(option, "", "a configuration with links beside it"));
            }
        }
        let frames = self
            .params
            .get(FRAMES)
            .or_else(|| config.params.get(FRAMES));
        if frames.is_some_and(|&frames| frames != 0) {
            return self.fill_in_frames(config);
        }
        let of_frames = LinkFaults {
            seed: 0,
            damage: Chance::default(),
            ..self.link_faults.clone()
        };
        if of_frames != LinkFaults::default() {
            return Err(bad(
                "link-errors and other faults",
                "",
                "links=frames beside them: plain phits have no checksum and are not repeated",
            ));
        }
        self.link_latency = self.link_latency.or(config.link.latency);
        self.link_mbps = self.link_mbps.or(config.link.mbps);
        Ok(())
    }

    /// The same for links that carry frames.
    fn fill_in_frames(&mut self, config: &Config) -> Result<(), CosimError> {
        let (rates, topology) = (frames::RATES, config.topology());
        if self.link_mbps.is_some_and(|mbps| !rates.contains(&mbps)) {
            return Err(bad("link-gbps", "", "10 to 85 with links=frames"));
        }
        let latency = self.link_latency.or(config.link.latency);
        if self.link_faults.damage != Chance::default() {
            let expected = "links=phits beside it; with frames use link-errors";
            return Err(bad("link-damage", "", expected));
        }
        if latency.is_some_and(|latency| latency > frames::MAX_LATENCY) {
            let expected = format!("{} at most with links=frames", frames::MAX_LATENCY);
            return Err(bad("link-latency", "", &expected));
        }
        let most = *rates.end();
        self.link_latency = latency.or(Some(frames::LATENCY));
        let mbps = self.link_mbps.or(config.link.mbps).unwrap_or(most);
        self.link_mbps = Some(mbps.clamp(*rates.start(), most));
        let (boards, links) = topology.map_or((0, 0), |it| (it.boards(), it.links()));
        let outages = &self.link_faults.outages;
        let is_there = |outage: &&CableOutage| outage.board < boards && outage.port < links;
        match outages.iter().find(|outage| !is_there(outage)) {
            None => Ok(()),
            Some(outage) => Err(bad(
                outage.fault.option(),
                &format!("{}.{}@...", outage.board, outage.port),
                &format!("a board below {boards} and a port below {links}"),
            )),
        }
    }

    /// Splits a URI without its scheme into the configuration's name and the options after `?`.
    ///
    /// # Errors
    /// If an option is unknown (the error lists the options), or a value is invalid.
    pub fn parse(rest: &str) -> Result<(&str, Self), CosimError> {
        let (name, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut options = Self::new()?;
        let mut attach = None;
        for item in query.split('&').filter(|item| !item.is_empty()) {
            let (option, value) = item.split_once('=').unwrap_or((item, ""));
            match option {
                "attach" => attach = Some(seconds(option, value)?),
                _ => options.set(option, value)?,
            }
        }
        options.attach = attach.unwrap_or(options.away);
        let stretch = (options.waves_from, options.waves_to, options.waves_reset);
        if options.waves.is_none() && stretch != (0, u64::MAX, None) {
            let which = "waves-from, waves-to or waves-reset";
            return Err(bad(which, "", "waves=FILE beside it"));
        }
        if options.has_log_file() {
            options.log.get_or_insert(RECORDS);
        }
        if options.waves_from >= options.waves_to {
            return Err(bad(
                "waves-to",
                &options.waves_to.to_string(),
                "a cycle after waves-from",
            ));
        }
        Ok((name, options))
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), CosimError> {
        match option {
            "profile" => {
                self.profile = Profile::from_name(value).ok_or_else(|| {
                    let known: Vec<_> = Profile::ALL.iter().map(|profile| profile.name()).collect();
                    bad(option, value, &known.join(" or "))
                })?;
            }
            "waves" if value.is_empty() => return Err(bad(option, value, "a file")),
            "waves" => self.waves = Some(value.into()),
            "waves-from" => self.waves_from = number(option, value)?,
            "waves-to" => self.waves_to = number(option, value)?,
            "waves-reset" => self.waves_reset = Some(number(option, value)?),
            "trace" if value.is_empty() => return Err(bad(option, value, "a file")),
            "trace" => self.trace = Some(value.into()),
            "packets" => {
                PacketFormat::of(Path::new(value)).ok_or_else(|| {
                    bad(option, value, "a file whose name ends in .pcapng or .txt")
                })?;
                self.packets = Some(value.into());
            }
            "log" => {
                let records = value.parse().ok().filter(|records| LOGS.contains(records));
                self.log = Some(records.ok_or_else(|| bad(option, value, LOG_RULE))?);
            }
            "coverage" => self.coverage = flag(option, value)?,
            "assertions" => self.assertions = flag(option, value)?,
            "guards" => self.guards = flag(option, value)?,
            "skip" => {
                self.skip = match value {
                    "off" => Skip::Off,
                    "on" => Skip::On,
                    "check" => Skip::Check,
                    _ => return Err(bad(option, value, "on, off or check")),
                };
            }
            "power-up" => {
                let seed = value.parse().ok();
                self.power_up = Some(seed.ok_or_else(|| bad(option, value, "a seed below 2^32"))?);
            }
            "optimise" => {
                self.optimise = Some(match value {
                    "fast" => Optimise::Fast,
                    "quick" => Optimise::Quick,
                    _ => return Err(bad(option, value, "fast or quick")),
                });
            }
            "away" => self.away = seconds(option, value)?,
            "watchdog" => self.watchdog = number(option, value)?,
            "threads" => {
                let threads = value.parse().ok().filter(|&threads: &usize| threads > 0);
                self.threads = Some(threads.ok_or_else(|| bad(option, value, "1 or more"))?);
            }
            "link-latency" => {
                let latency = value
                    .parse()
                    .ok()
                    .filter(|cycles| LATENCIES.contains(cycles));
                self.link_latency = Some(latency.ok_or_else(|| bad(option, value, LATENCY_RULE))?);
            }
            "link-gbps" => {
                let mbps = mbps_of(value).ok_or_else(|| bad(option, value, RATE_RULE))?;
                self.link_mbps = Some(mbps);
            }
            "links" => {
                let is_framed = match value {
                    "phits" => false,
                    "frames" => true,
                    _ => return Err(bad(option, value, "phits or frames")),
                };
                self.params.insert(FRAMES.into(), is_framed.into());
            }
            "link-errors" => self.link_faults.errors = chance(option, value)?,
            "link-bursts" => self.link_faults.bursts = chance(option, value)?,
            "link-lost" => self.link_faults.lost = chance(option, value)?,
            "link-damage" => self.link_faults.damage = chance(option, value)?,
            "link-skew" => self.link_faults.skew = number(option, value)?,
            "link-seed" => self.link_faults.seed = number(option, value)?,
            "link-cable" => self.outages(CableFault::Pulled, value)?,
            "link-dark" => self.outages(CableFault::Dark, value)?,
            "link-mute" => self.outages(CableFault::Mute, value)?,
            _ if is_param(option) => {
                let number = number(option, value)?;
                check(option, number).map_err(|expected| bad(option, value, expected))?;
                self.params.insert(option.into(), number);
            }
            _ => {
                return Err(CosimError::UnknownOption {
                    option: option.into(),
                    known: KNOWN.into(),
                });
            }
        }
        Ok(())
    }
}

impl Options {
    /// Adds outages, each in the form `BOARD.PORT@FROM-TO` or `BOARD.PORT@FROM-`.
    fn outages(&mut self, fault: CableFault, value: &str) -> Result<(), CosimError> {
        for item in value.split(',') {
            let outage = outage(fault, item).ok_or_else(|| {
                let expected = "BOARD.PORT@FROM-TO in cycles, such as 0.1@5000-9000, or 0.1@5000- \
                                for ever; several with commas between them";
                bad(fault.option(), value, expected)
            })?;
            self.link_faults.outages.push(outage);
        }
        Ok(())
    }
}

fn outage(fault: CableFault, item: &str) -> Option<CableOutage> {
    let (place, cycles) = item.split_once('@')?;
    let (board, port) = place.split_once('.')?;
    let (from, to) = cycles.split_once('-')?;
    let from = from.parse().ok()?;
    let to = if to.is_empty() {
        Some(u64::MAX)
    } else {
        to.parse().ok()
    };
    Some(CableOutage {
        fault,
        board: board.parse().ok()?,
        port: port.parse().ok()?,
        cycles: from..to.filter(|&to| to > from)?,
    })
}

fn chance(option: &str, value: &str) -> Result<Chance, CosimError> {
    let parsed = value.parse().ok().and_then(Chance::new);
    parsed.ok_or_else(|| {
        bad(
            option,
            value,
            "a probability from 0 to less than 1, such as 1e-5",
        )
    })
}

fn bad(option: &str, value: &str, expected: &str) -> CosimError {
    CosimError::BadOption {
        option: option.into(),
        value: value.into(),
        expected: expected.into(),
    }
}

fn flag(option: &str, value: &str) -> Result<bool, CosimError> {
    match value {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(bad(option, value, "0 or 1")),
    }
}

fn number(option: &str, value: &str) -> Result<u64, CosimError> {
    value
        .parse()
        .map_err(|_| bad(option, value, "a whole number"))
}

fn seconds(option: &str, value: &str) -> Result<Duration, CosimError> {
    let parsed = value.parse().ok().filter(|&seconds: &f64| seconds > 0.0);
    parsed
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| bad(option, value, "seconds, more than 0"))
}

/// Converts a decimal number of gigabits into megabits. Returns `None` if they are not whole.
fn mbps_of(gbps: &str) -> Option<u32> {
    let (whole, part) = gbps.split_once('.').unwrap_or((gbps, ""));
    let is_number = !whole.is_empty() && part.len() <= 3;
    let digits = format!("{whole}{part:0<3}");
    let mbps = digits.parse().ok().filter(|mbps| RATES.contains(mbps))?;
    (is_number && digits.bytes().all(|digit| digit.is_ascii_digit())).then_some(mbps)
}

fn mbps_of_number<'de, D: Deserializer<'de>>(number: D) -> Result<Option<u32>, D::Error> {
    // Formatting a decimal number gives the digits of the file.
    let gbps = f64::deserialize(number)?.to_string();
    match mbps_of(&gbps) {
        Some(mbps) => Ok(Some(mbps)),
        None => Err(serde::de::Error::custom(format_args!(
            "gbps = {gbps}, expected {RATE_RULE}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_apart() {
        let (name, options) =
            Options::parse("rma4?profile=gen3x16&waves=a.fst&waves-to=9&away=0.5&IN_DEPTH=64")
                .unwrap();
        assert_eq!((name, options.profile), ("rma4", Profile::Gen3x16));
        assert_eq!(
            (options.waves.unwrap().to_str(), options.waves_to),
            (Some("a.fst"), 9)
        );
        assert_eq!(
            (options.away.as_millis(), options.params["IN_DEPTH"]),
            (500, 64)
        );
        assert_eq!(Options::parse("rma2").unwrap().0, "rma2");
        let counts = |rest: &str| Options::parse(rest).unwrap().1.coverage;
        assert_eq!(
            ["rma2", "rma2?coverage=0", "rma2?coverage=1"].map(counts),
            [false, false, true]
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let says = |rest: &str| Options::parse(rest).unwrap_err().to_string();
        assert!(says("rma4?speed=9").contains("no option `speed`; there are: profile, waves"));
        assert!(says("rma4?profile=gen9").contains("expected ideal or gen3x16"));
        assert!(says("rma4?RANKS=17").contains("expected 1 to 16"));
        assert!(says("rma4?waves-to=9").contains("waves=FILE"));
        assert!(says("rma4?waves=f&waves-from=9&waves-to=9").contains("after waves-from"));
        assert!(says("rma4?away=-1").contains("seconds"));
        assert!(says("rma4?coverage=yes").contains("0 or 1"));
        assert!(says("rma4?optimise=best").contains("fast or quick"));
        assert!(says("rma4?waves-from=x&waves=f").contains("a whole number"));
    }

    #[test]
    fn configurations_are_checked() {
        let text = "[a]\nsummary='s'\nparams={RANKS=2,NODE_BYTES=4096}";
        let configs = Configs::parse(&Hardware::Embedded, text).unwrap();
        assert_eq!(configs.get("a").unwrap().params[RANKS], 2);
        assert!(
            configs
                .get("b")
                .unwrap_err()
                .to_string()
                .contains("there are: a")
        );
        assert!(
            Configs::of_text("[a]\nsummary='s'\nparams={RANKS=2}")
                .unwrap_err()
                .contains("NODE_BYTES is missing")
        );
        assert!(Configs::of_text("[a]\nsummary='s'\nparams={RANKS=2,NODE_BYTES=5000}").is_err());
        assert!(Configs::of_text("[a]\nsummary='s'\nparams={ranks=2}").is_err());
    }

    #[test]
    fn a_configuration_takes_over_what_its_base_says() {
        let text = "[a]\nsummary='s'\nbase='b'\nparams={SLOTS=8}\nkernel={module='mine',sources=['k/mine.sv']}\n\
                    [b]\nsummary='t'\nparams={RANKS=2,NODE_BYTES=4096,SLOTS=4}";
        let configs = Configs::of_text(text).unwrap();
        let (a, b) = (&configs["a"], &configs["b"]);
        assert_eq!(
            (a.params["SLOTS"], a.params[RANKS], a.params[KERNEL]),
            (8, 2, 32)
        );
        assert_eq!((b.params["SLOTS"], &b.kernel), (4, &None));
        let says = |rest: &str| {
            let base = "[b]\nsummary='t'\nparams={RANKS=2,NODE_BYTES=4096}\n[a]\nsummary='s'\n";
            Configs::of_text(&format!("{base}{rest}")).unwrap_err()
        };
        assert!(says("base='c'").contains("[a]: no configuration `c`"));
        assert!(says("base='a'").contains("the bases form a cycle"));
        assert!(says("base='b'\nparams={KERNEL=32}").contains("must be set together"));
        assert!(
            says("base='b'\nparams={KERNEL=33}\nkernel={module='m',sources=['m.sv']}")
                .contains("KERNEL = 33")
        );
        assert!(
            says("base='b'\nkernel={module='m m',sources=['m.sv']}").contains("name of a module")
        );
        assert!(
            says("base='b'\nkernel={module='m',sources=['../m.sv']}").contains("not a path below")
        );
        assert!(says("base='b'\nkernel={module='m',sources=[]}").contains("names no file"));
        let mut own = Configs::parse(
            &Hardware::Embedded,
            "[b]\nsummary='t'\nparams={RANKS=2,NODE_BYTES=4096}",
        )
        .unwrap();
        let taken = own.add("[b]\nsummary='s'\nbase='b'", Some(Path::new("mine")));
        assert!(taken.unwrap_err().contains("choose another one"));
    }

    #[test]
    fn rates_are_exact() {
        assert_eq!(mbps_of("95.9"), Some(95_900));
        assert_eq!((mbps_of("100"), mbps_of("0.001")), (Some(100_000), Some(1)));
        for bad in ["", "0", ".5", "1.2345", "-1", "1e3", "+1", "10001", "1.+2"] {
            assert_eq!(mbps_of(bad), None, "{bad}");
        }
        let (_, options) = Options::parse("r?link-gbps=97.125&link-latency=40&threads=3").unwrap();
        let figures = options.link_figures();
        assert_eq!((figures.latency, figures.mbps), (40, 97_125));
        assert_eq!(options.threads, Some(3));
        let says = |rest: &str| Options::parse(rest).unwrap_err().to_string();
        assert!(says("r?threads=0").contains("1 or more"));
        assert!(says("r?link-latency=1").contains("2 to 65536"));
        assert!(says("r?link-gbps=fast").contains("gigabits"));
    }

    #[test]
    fn joined_boards_are_checked() {
        let parse = |topology: &str, params: &str, link: &str| {
            let params = format!("RANKS=1,NODE_BYTES=4096,PHIT_W=256,{params}");
            Configs::of_text(&format!(
                "[a]\nsummary='s'\ntopology={topology}\nparams={{{params}}}\n{link}"
            ))
        };
        let configs = parse(
            "[3,2]",
            "LINKS=4,STAGES=3",
            "[a.link]\nlatency=50\ngbps=95.9",
        );
        let configs = configs.unwrap();
        let config = &configs["a"];
        assert_eq!(config.topology().unwrap().boards(), 6);
        assert_eq!(
            (config.link.latency, config.link.mbps),
            (Some(50), Some(95_900))
        );
        let says = |topology: &str, params: &str, link: &str| {
            parse(topology, params, link).unwrap_err().to_string()
        };
        assert!(says("[4]", "LINKS=4,STAGES=2", "").contains("expected 2, two for each"));
        assert!(says("[4]", "STAGES=2", "").contains("LINKS is missing"));
        assert!(says("[5]", "LINKS=2,STAGES=2", "").contains("[a]: STAGES = 2, expected 3"));
        assert!(says("[1]", "LINKS=2,STAGES=2", "").contains("at least two boards"));
        assert!(says("[]", "LINKS=2,STAGES=2", "").contains("without a topology"));
        assert!(says("[]", "LINKS=0", "[a.link]\nlatency=9").contains("needs a topology"));
        assert!(says("[2]", "LINKS=2,STAGES=1", "[a.link]\nlatency=1").contains("2 to 65536"));
        assert!(says("[2]", "LINKS=2,STAGES=1", "[a.link]\ngbps=1.23456").contains("gigabits"));
        assert!(says("[2]", "LINKS=2,STAGES=1", "[a.link]\nspeed=1").contains("speed"));
    }

    #[test]
    fn those_of_the_hardware_can_be_read() {
        let configs = Configs::read(&Hardware::Embedded).unwrap();
        assert_eq!(configs.get("rma4").unwrap().params[RANKS], 4);
    }
}
