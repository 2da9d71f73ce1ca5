//! Named configurations, and what a URI says beside the name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::{CosimError, Profile};

/// Where the configurations stand, from the repository's root.
pub(crate) const CONFIGS: &str = "hw/core/configs.toml";

/// A named configuration of the board.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What it is, in a line.
    pub summary: String,
    /// Parameters of `sim_top`.
    pub params: BTreeMap<String, u64>,
}

/// The configurations of `hw/core/configs.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configs {
    by_name: BTreeMap<String, Config>,
}

impl Configs {
    /// Reads the configurations of the repository at `root`.
    ///
    /// # Errors
    /// If the file can't be read, or a configuration in it can't be.
    pub fn read(root: &Path) -> Result<Self, CosimError> {
        let path = root.join(CONFIGS);
        let text = std::fs::read_to_string(&path).map_err(|source| CosimError::Read {
            path: path.clone(),
            source: Arc::new(source),
        })?;
        Self::parse(&text).map_err(|problem| CosimError::BadConfig { path, problem })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let by_name: BTreeMap<String, Config> =
            toml::from_str(text).map_err(|error| error.to_string())?;
        for (name, config) in &by_name {
            for (param, value) in &config.params {
                if !is_param(param) {
                    return Err(format!(
                        "[{name}]: `{param}` is not the name of a parameter"
                    ));
                }
                check(param, *value).map_err(|expected| {
                    format!("[{name}]: {param} = {value}, expected {expected}")
                })?;
            }
            for needed in [RANKS, NODE_BYTES] {
                if !config.params.contains_key(needed) {
                    return Err(format!("[{name}]: {needed} is missing"));
                }
            }
        }
        Ok(Self { by_name })
    }

    /// The configuration of that name.
    ///
    /// # Errors
    /// If there is none; the error lists those that there are.
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

/// Whether a name looks like a parameter of the model.
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
        _ => Ok(()),
    }
}

/// What a URI says beside the configuration: `rma4?profile=gen3x16&waves=run.fst&IN_DEPTH=64`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// `profile`: what host accesses cost; `ideal` unless said otherwise.
    pub profile: Profile,
    /// `waves`: the FST file that a trace is written to; none unless said otherwise.
    pub waves: Option<PathBuf>,
    /// `waves-from`: the cycle since reset in which the trace starts, 0 unless said otherwise.
    pub waves_from: u64,
    /// `waves-to`: the cycle in which it ends, that of the end unless said otherwise.
    pub waves_to: u64,
    /// `away`: seconds of the wall clock that time may stand still for a rank that is away;
    /// `ALCOR_AWAY_SECONDS`, or 60, unless said otherwise.
    pub away: Duration,
    /// Names in capitals: parameters of the model, over those of the configuration.
    pub params: BTreeMap<String, u64>,
}

/// The environment variable with the limit for ranks that are away.
pub(crate) const AWAY_VARIABLE: &str = "ALCOR_AWAY_SECONDS";
const KNOWN: &str = "profile, waves, waves-from, waves-to, away";

impl Options {
    /// The options when nothing is said, but for `ALCOR_AWAY_SECONDS`.
    ///
    /// # Errors
    /// If that variable is no number of seconds.
    pub fn new() -> Result<Self, CosimError> {
        let away = match std::env::var(AWAY_VARIABLE) {
            Ok(text) if !text.is_empty() => seconds(AWAY_VARIABLE, &text)?,
            _ => Duration::from_secs(60),
        };
        Ok(Self {
            profile: Profile::Ideal,
            waves: None,
            waves_from: 0,
            waves_to: u64::MAX,
            away,
            params: BTreeMap::new(),
        })
    }

    /// Takes a URI without its scheme apart: the configuration's name, and the options after `?`.
    ///
    /// # Errors
    /// If an option is unknown (the error lists those that there are) or its value can't be used.
    pub fn parse(rest: &str) -> Result<(&str, Self), CosimError> {
        let (name, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut options = Self::new()?;
        for item in query.split('&').filter(|item| !item.is_empty()) {
            let (option, value) = item.split_once('=').unwrap_or((item, ""));
            options.set(option, value)?;
        }
        if options.waves.is_none() && (options.waves_from, options.waves_to) != (0, u64::MAX) {
            return Err(bad("waves-from or waves-to", "", "waves=FILE beside it"));
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
            "away" => self.away = seconds(option, value)?,
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

fn bad(option: &str, value: &str, expected: &str) -> CosimError {
    CosimError::BadOption {
        option: option.into(),
        value: value.into(),
        expected: expected.into(),
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
        assert!(says("rma4?waves-from=x&waves=f").contains("a whole number"));
    }

    #[test]
    fn configurations_are_checked() {
        let configs = Configs::parse("[a]\nsummary='s'\nparams={RANKS=2,NODE_BYTES=4096}").unwrap();
        assert_eq!(configs.get("a").unwrap().params[RANKS], 2);
        assert!(
            configs
                .get("b")
                .unwrap_err()
                .to_string()
                .contains("there are: a")
        );
        assert!(
            Configs::parse("[a]\nsummary='s'\nparams={RANKS=2}")
                .unwrap_err()
                .contains("NODE_BYTES is missing")
        );
        assert!(Configs::parse("[a]\nsummary='s'\nparams={RANKS=2,NODE_BYTES=5000}").is_err());
        assert!(Configs::parse("[a]\nsummary='s'\nparams={ranks=2}").is_err());
    }

    #[test]
    fn those_of_the_repository_can_be_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let configs = Configs::read(&root).unwrap();
        assert_eq!(configs.get("rma4").unwrap().params[RANKS], 4);
    }
}
