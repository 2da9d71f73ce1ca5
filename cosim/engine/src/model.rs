//! From a configuration to its model.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use alcor_hw::CONFIGS;
use verimodel::{Build, BuildEvent, Model, Optimise, Sources};

use crate::config::{DATA_W, FRAMES, KernelConfig, LINKS, NODE_BYTES, PHIT_W, RANKS};
use crate::{Configs, CosimError, Hardware, Options};

/// The module on top of a simulated board.
const TOP: &str = "sim_top";
/// The file of that module.
const TOP_FILE: &str = "hw/dpi/sim_top.sv";

/// The macro with which the sources have their cover points.
const COVERAGE: &str = "ALCOR_COVERAGE";

/// The macro that names the module of the ranks' kernels.
const KERNEL: &str = "ALCOR_KERNEL";

/// The macro with which the sources have no assertions.
const NO_ASSERTIONS: &str = "ALCOR_NO_ASSERTIONS";
/// The macro with which the guards of the sources are always true, as in hardware.
const NO_GUARDS: &str = "ALCOR_NO_GUARDS";

/// The DPI imports of `sim_top`, in the order of their numbers; boards without links lack the last
/// two.
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
/// Number of the import that sees writes to node memory, while a log is kept.
pub(crate) const MEMORY: usize = 3;
/// Number of the import that sees the output of the links.
pub(crate) const LINK_SEND: usize = 4;
/// Number of the import that drives the input of the links.
pub(crate) const LINK_RECV: usize = 5;

/// Registers that count all cycles, by module. Output `phased_o` of `sim_top` is high while one of
/// the last three may affect the behaviour; the others are only read.
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

/// The parameters of a model that the host side needs.
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
    /// Whether the board has link ends, so that its links carry frames.
    pub frames: bool,
}

impl Shape {
    /// The shape for parameters that were checked.
    pub(crate) fn of(params: &BTreeMap<String, u64>) -> Self {
        let param = |name: &str| params.get(name).map_or(0, |&value| value as u32);
        Self {
            ranks: param(RANKS),
            node_bytes: param(NODE_BYTES),
            links: param(LINKS),
            phit_bits: param(PHIT_W),
            data_bits: params.get(DATA_W).map_or(32, |&value| value as u32),
            frames: param(FRAMES) != 0,
        }
    }

    /// Returns whether the board has command lines, as its RTL decides.
    pub(crate) fn takes_lines(self) -> bool {
        self.banks() >= 8
    }

    /// Number of arrays that a rank's node memory consists of.
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

/// The configurations and sources of a board, as they were at one instant.
pub(crate) struct Project {
    pub(crate) hardware: Hardware,
    pub(crate) configs: Configs,
    sources: Sources,
    /// The same with the sources of a kernel, for each kernel of the configurations.
    with_kernel: BTreeMap<KernelConfig, Sources>,
    /// The file of configurations of the user's own hardware, and its text.
    own: Option<(PathBuf, String)>,
    /// Names of the parameters of the top module.
    params: Vec<String>,
    /// The files that list sources and configurations: names and texts.
    lists: BTreeMap<String, String>,
}

/// Properties that distinguish models of the same sources.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Variant {
    config: String,
    /// The label: the configuration with the options that concern the build.
    label: String,
    params: BTreeMap<String, u64>,
    kernel: Option<KernelConfig>,
    waves: bool,
    coverage: bool,
    assertions: bool,
    guards: bool,
    optimise: Optimise,
}

impl Variant {
    /// The model of a configuration, with those options that concern the build.
    pub(crate) fn new(
        config: &str,
        params: BTreeMap<String, u64>,
        kernel: Option<KernelConfig>,
        options: &Options,
    ) -> Self {
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
            kernel,
            waves: options.waves.is_some(),
            coverage: options.coverage,
            assertions: options.assertions,
            guards: options.guards,
            // Without assertions, a fast simulation is wanted.
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
    /// Reads the configurations and sources, and those of the user's own hardware, if there is any.
    pub(crate) fn read(hardware: Hardware, own: Option<PathBuf>) -> Result<Self, CosimError> {
        let mut lists = BTreeMap::new();
        let mut read = |name: &str| {
            let text = hardware.text(name)?;
            lists.insert(name.to_owned(), text.clone());
            Ok(text)
        };
        let mut configs = Configs::parse(&hardware, &read(CONFIGS)?)?;
        let own = configs.read_own(own)?;
        let sources = hardware.sources(read)?;
        let params = parameters(&hardware.text(TOP_FILE)?);
        let mut with_kernel = BTreeMap::new();
        for kernel in configs
            .iter()
            .filter_map(|(_, config)| config.kernel.as_ref())
        {
            let sources = with_sources(&hardware, &sources, kernel)?;
            with_kernel.insert(kernel.clone(), sources);
        }
        Ok(Self {
            hardware,
            configs,
            sources,
            with_kernel,
            own,
            params,
            lists,
        })
    }

    /// The sources of a variant.
    fn sources(&self, variant: &Variant) -> &Sources {
        let kernel = variant.kernel.as_ref();
        kernel
            .and_then(|kernel| self.with_kernel.get(kernel))
            .unwrap_or(&self.sources)
    }

    /// Refuses options with parameters that the top module lacks.
    pub(crate) fn check(&self, options: &Options) -> Result<(), CosimError> {
        let unknown = options.params.keys().find(|&it| !self.params.contains(it));
        match unknown {
            None => Ok(()),
            Some(name) => Err(CosimError::UnknownParameter {
                name: name.clone(),
                known: self.params.join(", "),
                hardware: self.hardware.clone(),
            }),
        }
    }

    /// Files that have changed since they were read, relative to the root.
    pub(crate) fn changed(&self) -> Vec<PathBuf> {
        let root = self.hardware.root().map(fs::canonicalize);
        let real = root.and_then(Result::ok).unwrap_or_default();
        let from_root = |path: PathBuf| match path.strip_prefix(&real) {
            Ok(name) => name.to_owned(),
            Err(_) => path,
        };
        let all = self.with_kernel.values().chain([&self.sources]);
        let mut changed: Vec<_> = all.flat_map(Sources::changed).map(from_root).collect();
        let is_other =
            |name: &str, text: &str| self.hardware.text(name).ok().as_deref() != Some(text);
        let lists = self
            .lists
            .iter()
            .filter(|(name, text)| is_other(name, text));
        changed.extend(lists.map(|(name, _)| PathBuf::from(name)));
        if let Some((file, text)) = &self.own
            && fs::read_to_string(file).ok().as_ref() != Some(text)
        {
            changed.push(file.clone());
        }
        changed.sort();
        changed.dedup();
        changed
    }

    fn recipe<'a>(&self, variant: &Variant) -> Build<'a> {
        let mut build = Build::new(&variant.config)
            .top(TOP)
            .snapshot(self.sources(variant))
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
        if let Some(kernel) = &variant.kernel {
            build = build.define(KERNEL, &kernel.module);
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
        Ok(recipe.build(&self.hardware.toolchain()?)?)
    }

    /// The names in the cache of the models of all configurations, with and without waves,
    /// coverage, assertions and guards, and for either way to compile them.
    pub(crate) fn entry_names(&self) -> Result<Vec<String>, CosimError> {
        let toolchain = self.hardware.toolchain()?;
        let mut names = Vec::new();
        for (config, found) in self.configs.iter() {
            for number in 0..32 {
                let is_on = |bit: u32| number >> bit & 1 == 1;
                let variant = Variant {
                    config: config.into(),
                    label: String::new(),
                    params: found.params.clone(),
                    kernel: found.kernel.clone(),
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

/// The text of a file of the user's.
fn text_of(path: &Path) -> Result<String, CosimError> {
    fs::read_to_string(path).map_err(|source| CosimError::Read {
        path: path.to_owned(),
        source: Arc::new(source),
    })
}

/// `sources`, followed by those of a kernel. A user's own sources have names below `kernel/`, so
/// that their names differ from those of Alcor.
fn with_sources(
    hardware: &Hardware,
    sources: &Sources,
    kernel: &KernelConfig,
) -> Result<Sources, CosimError> {
    let mut with = sources.clone();
    for name in &kernel.sources {
        with = match &kernel.folder {
            None => with.and(
                name,
                hardware.root().map(|_| hardware.path(name)),
                hardware.text(name)?,
            ),
            Some(folder) => {
                let path = folder.join(name);
                let text = text_of(&path)?;
                with.and(&format!("kernel/{name}"), Some(path), text)
            }
        };
    }
    Ok(with)
}

/// Names of the parameters in a module's header, each declared on a separate line.
fn parameters(text: &str) -> Vec<String> {
    let declared = text.lines().filter_map(|line| {
        let (declaration, _) = line.trim().strip_prefix("parameter ")?.split_once('=')?;
        declaration.split_whitespace().last()
    });
    declared.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_those_of_the_header() {
        let text = "module m #(\n  /// Ranks\n  parameter int unsigned RANKS = 2,\n  parameter bit S=1'b0\n) (\n\
                    localparam int X = 1;";
        assert_eq!(parameters(text), ["RANKS", "S"]);
        let top = Hardware::Embedded.text(TOP_FILE).unwrap();
        assert_eq!(parameters(&top).len(), top.matches("parameter ").count());
    }
}
