//! The configuration file: profiles, which are lists of backends with options, and programs.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::args::{self, Args, REPETITIONS};
use super::lane::Lane;
use super::programs::{self, Program};

/// The configuration file, in the current folder or above it.
const FILE: &str = "regress.toml";
/// The default profile.
const DEFAULT: &str = "default";

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    #[serde(default)]
    profile: BTreeMap<String, Profile>,
    #[serde(default)]
    program: Vec<Program>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    backends: Vec<Entry>,
    /// Whether the programs run, too.
    #[serde(default)]
    programs: bool,
}

/// A backend; each field is the option of the same name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    backend: String,
    #[serde(default)]
    filter: Expressions,
    #[serde(default)]
    exclude: Expressions,
    #[serde(default)]
    full: bool,
    #[serde(default)]
    seed: Option<Seed>,
    repeat: Option<u32>,
    jobs: Option<NonZeroUsize>,
    watchdog: Option<u64>,
    timeout: Option<f64>,
}

/// One regular expression, or several.
#[derive(Default)]
struct Expressions(Vec<Regex>);

impl<'de> Deserialize<'de> for Expressions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Texts {
            One(String),
            Several(Vec<String>),
        }
        let texts = match Texts::deserialize(deserializer)? {
            Texts::One(text) => vec![text],
            Texts::Several(texts) => texts,
        };
        let parsed = texts.iter().map(|text| Regex::new(text));
        Ok(Self(
            parsed.collect::<Result<_, _>>().map_err(D::Error::custom)?,
        ))
    }
}

/// One regular expression.
pub struct Expression(pub Regex);

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Regex::new(&text).map(Expression).map_err(D::Error::custom)
    }
}

#[derive(Clone, Copy)]
pub struct Seed(pub u64);

impl<'de> Deserialize<'de> for Seed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Text {
            Number(u64),
            Text(String),
        }
        match Text::deserialize(deserializer)? {
            Text::Number(seed) => Ok(Seed(seed)),
            Text::Text(text) => args::seed(&text).map(Seed).map_err(D::Error::custom),
        }
    }
}

/// An error of profiles.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// No configuration file exists.
    #[error(
        "there is no regress.toml in the current folder or above it; name another file with --config-file"
    )]
    NoFile,
    /// The file has no program.
    #[error("{path} has no table [[program]]", path = path.display())]
    NoProgram { path: PathBuf },
    /// A program's table is wrong.
    #[error("{path}: [[program]]: {problem}", path = path.display())]
    Program { path: PathBuf, problem: String },
    /// The file can't be read.
    #[error("cannot read the profiles of {path}: {source}; name another file with --config-file", path = path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    /// The file is wrong.
    #[error("{path}: {source}", path = path.display())]
    Parse {
        path: PathBuf,
        source: Box<toml::de::Error>,
    },
    /// A value is wrong.
    #[error("{path}: [profile.{profile}], {backend}: {problem}", path = path.display())]
    Value {
        path: PathBuf,
        profile: String,
        backend: String,
        problem: String,
    },
    /// The profile does not exist.
    #[error("{path} has no profile `{name}`; it has {known}", path = path.display())]
    Unknown {
        path: PathBuf,
        name: String,
        known: String,
    },
}

/// The names of the profiles; none without a file.
pub fn names() -> Vec<String> {
    let read = || Some(read(&find()?).ok()?.profile);
    read().into_iter().flatten().map(|(name, _)| name).collect()
}

/// The nearest configuration file.
fn find() -> Option<PathBuf> {
    let start = std::env::current_dir().ok()?;
    let files = start.ancestors().map(|folder| folder.join(FILE));
    files.into_iter().find(|file| file.is_file())
}

/// The configuration file that was named, or the nearest.
fn file(args: &Args) -> Result<PathBuf, ProfileError> {
    let named = args.config_file.clone();
    named.or_else(find).ok_or(ProfileError::NoFile)
}

/// The programs, and no tests.
pub fn programs(args: &Args) -> Result<Vec<Lane>, ProfileError> {
    let path = file(args)?;
    let config = read(&path)?;
    if config.program.is_empty() {
        return Err(ProfileError::NoProgram { path });
    }
    programs_of(args, &path, &config)
}

/// The profile `default` and all programs; none if there is no file, or the file has neither.
pub fn default(args: &Args) -> Result<Option<Vec<Lane>>, ProfileError> {
    let Ok(path) = file(args) else {
        return Ok(None);
    };
    let mut config = read(&path)?;
    let mut lanes = match config.profile.remove(DEFAULT) {
        Some(profile) => backends(args, &path, DEFAULT, profile)?,
        None => Vec::new(),
    };
    lanes.extend(programs_of(args, &path, &config)?);
    Ok((!lanes.is_empty()).then_some(lanes))
}

fn programs_of(args: &Args, path: &Path, config: &Config) -> Result<Vec<Lane>, ProfileError> {
    programs::lanes(args, path, &config.program).map_err(|problem| ProfileError::Program {
        path: path.to_owned(),
        problem,
    })
}

fn read(path: &Path) -> Result<Config, ProfileError> {
    let path = || path.to_owned();
    let text = fs::read_to_string(path()).map_err(|source| ProfileError::Read {
        path: path(),
        source,
    })?;
    toml::from_str(&text).map_err(|source| ProfileError::Parse {
        path: path(),
        source: Box::new(source),
    })
}

/// The backends of a profile, with the options of the command line; the tests are not selected yet.
pub fn lanes(args: &Args, name: &str) -> Result<Vec<Lane>, ProfileError> {
    let path = file(args)?;
    let mut config = read(&path)?;
    let Some(profile) = config.profile.remove(name) else {
        let known: Vec<_> = config
            .profile
            .keys()
            .map(|name| format!("`{name}`"))
            .collect();
        return Err(ProfileError::Unknown {
            path,
            name: name.to_owned(),
            known: known.join(", "),
        });
    };
    let with_programs = profile.programs;
    let mut lanes = backends(args, &path, name, profile)?;
    if with_programs {
        lanes.extend(programs_of(args, &path, &config)?);
    }
    Ok(lanes)
}

/// The backends of a profile.
fn backends(
    args: &Args,
    path: &Path,
    name: &str,
    profile: Profile,
) -> Result<Vec<Lane>, ProfileError> {
    let lane = |entry: Entry| {
        let mut lane = Lane::new(args, &entry.backend);
        let wrong = |problem: String| ProfileError::Value {
            path: path.to_owned(),
            profile: name.to_owned(),
            backend: entry.backend.clone(),
            problem,
        };
        if !(1..=REPETITIONS).contains(&entry.repeat.unwrap_or(1).into()) {
            return Err(wrong(format!("`repeat` is not in 1..={REPETITIONS}")));
        }
        if entry.watchdog == Some(0) {
            return Err(wrong("`watchdog` is 0".to_owned()));
        }
        let timeout: Option<Duration> = match entry.timeout {
            Some(limit) => Some(args::seconds(&limit.to_string()).map_err(wrong)?),
            None => None,
        };
        lane.filters[0] = entry.filter.0;
        lane.excludes.extend(entry.exclude.0);
        lane.full |= entry.full;
        if let (None, Some(Seed(seed))) = (args.seed, entry.seed) {
            lane.seed = seed;
        }
        if let (None, Some(repeat)) = (args.repeat, entry.repeat) {
            lane.repeat = repeat;
        }
        lane.jobs = lane.jobs.or(entry.jobs);
        lane.watchdog = lane.watchdog.or(entry.watchdog);
        lane.timeout = lane.timeout.or(timeout);
        // A filter of the file that matches no test is a mistake; one of the command line may leave
        // none.
        if !lane.filters[0].is_empty() {
            let mut own = lane.clone();
            own.filters[1].clear();
            own.excludes.clear();
            if !alcor_conformance::tests().any(|test| own.selects(test)) {
                return Err(wrong("`filter` matches no test".to_owned()));
            }
        }
        Ok(lane)
    };
    profile.backends.into_iter().map(lane).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn lanes_of(text: &str, options: &[&str]) -> Result<Vec<Lane>, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alcor.toml");
        fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap();
        let common = ["alcor", "--profile", "p", "--config-file", file];
        let command = Command::parse_from([&common[..], options].concat());
        lanes(&command.args, "p").map_err(|error| error.to_string())
    }

    const TWO: &str = r#"
        [profile.p]
        backends = [
            { backend = "soft:2", filter = "^put", seed = 7 },
            { backend = "soft:3", filter = ["^get", "^put"], exclude = "typed", full = true, timeout = 2.5, repeat = 3 },
        ]
    "#;

    #[test]
    fn each_backend_has_its_options_and_those_of_the_command_line() {
        let lanes = lanes_of(TWO, &[]).unwrap();
        assert_eq!((lanes[0].seed, lanes[1].seed), (7, 1));
        assert_eq!((lanes[0].full, lanes[1].full), (false, true));
        assert_eq!(lanes[1].time_limit(), Duration::from_millis(2500));
        assert_eq!(lanes[1].repeat, 3);
        let names = |lane: &Lane| -> Vec<_> {
            let tests = alcor_conformance::tests().filter(|test| lane.selects(test));
            tests.map(|test| test.name).collect()
        };
        assert!(names(&lanes[1]).contains(&"get.one_by_one"));
        assert!(!names(&lanes[1]).contains(&"put.typed"));

        let options = ["--filter", r"^put\.t", "--seed", "9", "--full"];
        let lanes = lanes_of(TWO, &options).unwrap();
        assert!(lanes.iter().all(|lane| lane.full && lane.seed == 9));
        assert!(names(&lanes[0]).contains(&"put.typed"));
        assert!(
            names(&lanes[0])
                .iter()
                .all(|name| name.starts_with("put.t"))
        );
    }

    #[test]
    fn what_is_wrong_in_the_file_is_named() {
        let entry = |entry: &str| {
            let text = format!("[profile.p]\nbackends = [{{ backend = \"soft:2\", {entry} }}]");
            lanes_of(&text, &[]).unwrap_err()
        };
        for (text, words) in [
            ("filter = \"(\"", "regex"),
            ("filter = \"^nothing$\"", "matches no test"),
            ("seed = \"x\"", "random"),
            ("speed = 3", "unknown field `speed`"),
            ("repeat = 0", "repeat"),
            ("timeout = -1", "above 0"),
            ("watchdog = 0", "watchdog"),
        ] {
            let error = entry(text);
            assert!(error.contains(words), "{text}: {error}");
        }
        let error = lanes_of("[profile.q]\nbackends = []", &[]).unwrap_err();
        assert!(error.contains("no profile `p`; it has `q`"), "{error}");
    }
}
