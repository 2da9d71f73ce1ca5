//! `alcor clean`: removes unused models from the cache.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use alcor_cosim::{CosimBackend, CosimError};
use verimodel::{CacheEntry, ModelCache};

use crate::build;
use crate::exit::CommandResult;
use crate::exit::Exit;

/// Remove built models, and object files, that have not been used for some time
///
/// The models are in ~/.cache/alcor/models, or in the folder that ALCOR_MODELS names. A process
/// that runs a model keeps the model. Removed models are built again when they are needed. Remains
/// of killed builds are always removed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of days without use after which a model is removed
    #[arg(long, value_name = "DAYS", default_value_t = 14)]
    days: u32,

    /// Also remove models from other sources or parameters than the present ones
    #[arg(long)]
    outdated: bool,

    /// Remove all models
    #[arg(long, conflicts_with_all = ["days", "outdated"])]
    all: bool,

    /// List the entries that would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> CommandResult {
    let failed = |error: CosimError| error.on(CosimBackend::SCHEME);
    let ours = |error: verimodel::Error| failed(error.into());
    let cache = ModelCache::find().map_err(ours)?;
    let outdated = if args.outdated {
        Some(Outdated::now().map_err(failed)?)
    } else {
        None
    };
    let limit = Duration::from_secs(24 * 60 * 60) * args.days;
    let now = SystemTime::now();
    let is_old = |entry: &CacheEntry| {
        let age = now.duration_since(entry.last_use()).unwrap_or_default();
        age >= limit
    };

    let mut freed = Size::default();
    let mut kept = Size::default();
    for entry in cache.entries().map_err(ours)? {
        let is_outdated = outdated
            .as_ref()
            .is_some_and(|outdated| outdated.has(&entry));
        let goes = args.all || is_old(&entry) || is_outdated;
        if goes && (args.dry_run || cache.remove(&entry).map_err(ours)?) {
            if entry.is_model() {
                println!("{:>9}  {}", shown(entry.bytes()), entry.name());
            }
            freed.add(&entry);
        } else {
            kept.add(&entry);
        }
    }
    freed.bytes += if args.dry_run {
        cache.abandoned_bytes()
    } else {
        cache.sweep()
    }
    .map_err(ours)?;
    let says = if args.dry_run { "would free" } else { "freed" };
    println!(
        "{says} {freed}; {kept} stay in {}",
        cache.folder().display()
    );
    Ok(Exit::Passed)
}

/// Finds models that no configuration has at present.
struct Outdated {
    configs: BTreeSet<String>,
    present: BTreeSet<String>,
}

impl Outdated {
    fn now() -> Result<Self, CosimError> {
        let backend = build::backend();
        Ok(Self {
            configs: backend
                .configs()?
                .iter()
                .map(|(name, _)| name.into())
                .collect(),
            present: backend.entry_names()?.into_iter().collect(),
        })
    }

    fn has(&self, entry: &CacheEntry) -> bool {
        let config = entry
            .name()
            .rsplit_once('-')
            .map_or("", |(config, _)| config);
        self.configs.contains(config) && !self.present.contains(entry.name())
    }
}

/// Numbers of models and objects, and their bytes.
#[derive(Default)]
pub struct Size {
    models: usize,
    objects: usize,
    bytes: u64,
}

impl Size {
    /// All entries of a cache.
    pub fn of(cache: &ModelCache) -> Result<Self, verimodel::Error> {
        let mut size = Self::default();
        cache.entries()?.iter().for_each(|entry| size.add(entry));
        size.bytes += cache.abandoned_bytes()?;
        Ok(size)
    }

    fn add(&mut self, entry: &CacheEntry) {
        self.models += usize::from(entry.is_model());
        self.objects += usize::from(!entry.is_model());
        self.bytes += entry.bytes();
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            models,
            objects,
            bytes,
        } = self;
        write!(
            f,
            "{} ({models} models, {objects} object files)",
            shown(*bytes)
        )
    }
}

fn shown(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
