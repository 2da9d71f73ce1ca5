//! From a configuration to its model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

use verilated::{Build, BuildEvent, Model, Optimise, Sources, Toolchain};

use crate::config::{CONFIGS, DATA_W, LINKS, NODE_BYTES, PHIT_W, RANKS};
use crate::{Configs, CosimError, Options};

/// The module on top of a simulated board.
const TOP: &str = "sim_top";
/// The list of the blocks that `core` consists of, from `hw`: folders whose `files.f` list sources, in the
/// order of compilation.
const BLOCKS: &str = "core/blocks";
/// The block around it.
const AROUND: &str = "dpi";
/// Where includes are looked for, from `hw`.
const INCLUDES: &[&str] = &["common/rtl"];

/// The macro with which the sources have their cover points.
const COVERAGE: &str = "ALCOR_COVERAGE";

/// The macro with which the sources have no assertions.
const NO_ASSERTIONS: &str = "ALCOR_NO_ASSERTIONS";
/// The macro with which the guards of the sources are always true, as in hardware.
const NO_GUARDS: &str = "ALCOR_NO_GUARDS";

/// The DPI imports of `sim_top`, in the order of their numbers; boards without links lack the last two.
const DPI: [&str; 6] = [
    "alcor_host_tick",
    "alcor_monitor",
    "alcor_axi_tick",
    "alcor_memory",
    "alcor_link_send",
    "alcor_link_recv",
];
/// Number of the import that is called at every edge.
pub(crate) const HOST_TICK: usize = 0;
/// Number of the import that sees the traffic.
pub(crate) const MONITOR: usize = 1;
/// Number of the import that plays the AXI masters.
pub(crate) const AXI_TICK: usize = 2;
/// Number of the import that sees what is written to node memory, while a log is kept.
pub(crate) const MEMORY: usize = 3;
/// Number of the import that sees what goes out on the links.
pub(crate) const LINK_SEND: usize = 4;
/// Number of the import that brings what comes in on the links.
pub(crate) const LINK_RECV: usize = 5;

/// Registers that count cycles whatever happens, by module. Output `phased_o` of `sim_top` says when the last three of them
/// may decide something; the others are only read.
const COUNTERS: [(&str, &str); 6] = [
    ("board_registers", "cycle_q"),
    ("rma_registers", "epoch_timer_q"),
    ("alpu_port", "now_q"),
    ("switch_router", "age_q"),
    ("coll_pick", "time_q"),
    ("coll_copy", "time_q"),
];
/// Arrays of the RAMs: those of `ram_sdp` and of node memory.
const RAMS: [&str; 2] = ["mem_q", "mem"];

/// The path of a bank of a rank's node memory in the model.
pub(crate) fn memory_path(rank: usize, bank: usize) -> String {
    format!("sim_top.u_core.g_rank[{rank}].u_tile.u_memory.g_bank[{bank}].mem")
}

/// What of a model's parameters the host's side must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Ranks on the board.
    pub ranks: u32,
    /// Bytes of each rank's node memory, a power of two.
    pub node_bytes: u32,
    /// Link ports.
    pub links: u32,
    /// Data bits of a phit; of no meaning without links.
    pub phit_bits: u32,
    /// Bits of a beat of the coprocessors' streams.
    pub data_bits: u32,
}

impl Shape {
    /// What parameters say of it, which were checked.
    pub(crate) fn of(params: &BTreeMap<String, u64>) -> Self {
        let param = |name: &str| params.get(name).map_or(0, |&value| value as u32);
        Self {
            ranks: param(RANKS),
            node_bytes: param(NODE_BYTES),
            links: param(LINKS),
            phit_bits: param(PHIT_W),
            data_bits: params.get(DATA_W).map_or(32, |&value| value as u32),
        }
    }

    /// Arrays of words that a rank's node memory consists of.
    pub(crate) fn banks(self) -> usize {
        let widest = if self.links == 0 {
            self.data_bits
        } else {
            self.phit_bits
        };
        (widest / 32) as usize
    }

    /// The DPI imports of its model.
    fn imports(self) -> &'static [&'static str] {
        if self.links == 0 { &DPI[..4] } else { &DPI }
    }
}

/// The repository's root: `ALCOR_ROOT`, or the nearest folder from the current one upwards that has configurations.
///
/// # Errors
/// If there is none.
pub fn repository_root() -> Result<PathBuf, CosimError> {
    let start = match env::var_os("ALCOR_ROOT").filter(|root| !root.is_empty()) {
        Some(root) => {
            let root = PathBuf::from(root);
            return if root.join(CONFIGS).is_file() {
                Ok(root)
            } else {
                Err(CosimError::NoRoot { start: root })
            };
        }
        None => env::current_dir().map_err(|source| CosimError::Read {
            path: ".".into(),
            source: Arc::new(source),
        })?,
    };
    let found = start
        .ancestors()
        .find(|folder| folder.join(CONFIGS).is_file())
        .map(Path::to_path_buf);
    found.ok_or(CosimError::NoRoot { start })
}

/// The sources of `core`, one whole board, in the order of compilation, and the folders of what they include.
///
/// # Errors
/// If a list of sources can't be read.
pub fn core_sources(root: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), CosimError> {
    let mut lists = Lists::default();
    Ok((lists.sources(root, &[])?, includes(root)))
}

fn includes(root: &Path) -> Vec<PathBuf> {
    let hw = root.join("hw");
    INCLUDES.iter().map(|include| hw.join(include)).collect()
}

fn read(path: &Path) -> Result<String, CosimError> {
    fs::read_to_string(path).map_err(|source| CosimError::Read {
        path: path.into(),
        source: Arc::new(source),
    })
}

/// The texts of the files that list sources and configurations.
#[derive(Default)]
struct Lists {
    texts: BTreeMap<PathBuf, String>,
}

impl Lists {
    fn read(&mut self, path: PathBuf) -> Result<&str, CosimError> {
        let text = read(&path)?;
        Ok(self.texts.entry(path).or_insert(text))
    }

    /// The sources of a board with the blocks `around` it, in the order of compilation. A model's key in the cache covers
    /// the names and texts of these sources, and so the blocks and their order.
    fn sources(&mut self, root: &Path, around: &[&str]) -> Result<Vec<PathBuf>, CosimError> {
        let hw = root.join("hw");
        let mut sources = Vec::new();
        let blocks = self.read(hw.join(BLOCKS))?.to_owned();
        for block in blocks.split_whitespace().chain(around.iter().copied()) {
            let text = self.read(hw.join(block).join("files.f"))?;
            for line in text.lines().map(str::trim) {
                let is_source =
                    !line.is_empty() && !line.starts_with("//") && !line.starts_with('#');
                let source = hw.join(line);
                if is_source && !sources.contains(&source) {
                    sources.push(source);
                }
            }
        }
        Ok(sources)
    }

    fn changed(&self) -> impl Iterator<Item = PathBuf> {
        let texts = self.texts.iter();
        let changed =
            texts.filter(|(path, text)| fs::read_to_string(path).ok().as_ref() != Some(text));
        changed.map(|(path, _)| path.clone())
    }
}

/// The configurations and sources of a repository, as they were at one instant.
pub(crate) struct Project {
    root: PathBuf,
    pub(crate) configs: Configs,
    sources: Sources,
    lists: Lists,
}

/// What distinguishes the models that are built from the same sources.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Variant {
    config: String,
    /// What people see: the configuration with those options that concern the build.
    label: String,
    params: BTreeMap<String, u64>,
    waves: bool,
    coverage: bool,
    assertions: bool,
    guards: bool,
    optimise: Optimise,
}

impl Variant {
    /// The model of a configuration, with those options that concern the build.
    pub(crate) fn new(config: &str, params: BTreeMap<String, u64>, options: &Options) -> Self {
        let mut label = config.to_owned();
        for (param, value) in &options.params {
            label += &format!(" {param}={value}");
        }
        for (word, is_on) in [
            ("waves", options.waves.is_some()),
            ("coverage", options.coverage),
        ] {
            if is_on {
                label += &format!(" with {word}");
            }
        }
        for (word, is_on) in [
            ("assertions", options.assertions),
            ("guards", options.guards),
        ] {
            if !is_on {
                label += &format!(" without {word}");
            }
        }
        Self {
            config: config.into(),
            label,
            params,
            waves: options.waves.is_some(),
            coverage: options.coverage,
            assertions: options.assertions,
            guards: options.guards,
            // A run without assertions is meant to be fast.
            optimise: options.optimise.unwrap_or(if options.assertions {
                Optimise::Quick
            } else {
                Optimise::Fast
            }),
        }
    }

    pub(crate) fn shape(&self) -> Shape {
        Shape::of(&self.params)
    }
}

impl Project {
    /// Reads the configurations and sources of the repository at `root`.
    pub(crate) fn read(root: PathBuf) -> Result<Self, CosimError> {
        let configs = Configs::read(&root)?;
        let mut lists = Lists::default();
        lists.read(root.join(CONFIGS))?;
        let sources = lists.sources(&root, &[AROUND])?;
        let sources = Sources::read(&root, &sources, &includes(&root))?;
        Ok(Self {
            root,
            configs,
            sources,
            lists,
        })
    }

    /// Files that are no longer as they were read, from the root.
    pub(crate) fn changed(&self) -> Vec<PathBuf> {
        let root = fs::canonicalize(&self.root).unwrap_or_default();
        let from_root = |path: PathBuf| {
            let found = path.strip_prefix(&root).or(path.strip_prefix(&self.root));
            found.map_or_else(|_| path.clone(), Path::to_owned)
        };
        let changed = self.sources.changed().into_iter();
        let mut changed: Vec<_> = changed.chain(self.lists.changed()).map(from_root).collect();
        changed.sort();
        changed
    }

    fn recipe<'a>(&self, variant: &Variant) -> Build<'a> {
        let mut build = Build::new(&variant.config)
            .top(TOP)
            .snapshot(&self.sources)
            .trace(variant.waves)
            .coverage(variant.coverage)
            .assertions(variant.assertions)
            .optimise(variant.optimise);
        if variant.coverage {
            build = build.define(COVERAGE, "1");
        }
        if !variant.assertions {
            build = build.define(NO_ASSERTIONS, "1");
        }
        if !variant.guards {
            build = build.define(NO_GUARDS, "1");
        }
        for (module, register) in COUNTERS {
            build = build.counter(module, register);
        }
        for array in RAMS {
            build = build.ram(array);
        }
        for (param, &value) in &variant.params {
            build = build.param(param, value);
        }
        for &function in variant.shape().imports() {
            build = build.dpi(function);
        }
        build
    }

    /// Builds a model, or takes it from the cache.
    pub(crate) fn build(
        &self,
        variant: &Variant,
        progress: &dyn Fn(&str, BuildEvent),
    ) -> Result<Model, CosimError> {
        let recipe = self.recipe(variant);
        let recipe = recipe.progress(|event| progress(&variant.label, event));
        Ok(recipe.build(&Toolchain::find_in(&self.root)?)?)
    }

    /// The names in the cache of the models of all configurations, with and without waves, coverage, assertions and
    /// guards, and for either way to compile them.
    pub(crate) fn entry_names(&self) -> Result<Vec<String>, CosimError> {
        let toolchain = Toolchain::find_in(&self.root)?;
        let mut names = Vec::new();
        for (config, found) in self.configs.iter() {
            for number in 0..32 {
                let is_on = |bit: u32| number >> bit & 1 == 1;
                let variant = Variant {
                    config: config.into(),
                    label: String::new(),
                    params: found.params.clone(),
                    waves: is_on(0),
                    coverage: is_on(1),
                    optimise: if is_on(2) {
                        Optimise::Quick
                    } else {
                        Optimise::Fast
                    },
                    assertions: is_on(3),
                    guards: is_on(4),
                };
                names.push(self.recipe(&variant).entry_name(&toolchain)?);
            }
        }
        Ok(names)
    }
}
