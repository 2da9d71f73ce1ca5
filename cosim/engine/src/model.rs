//! From a configuration to its model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

use verilated::{Build, BuildEvent, Model, Toolchain};

use crate::config::{CONFIGS, DATA_W, LINKS, NODE_BYTES, PHIT_W, RANKS};
use crate::{CosimError, Options};

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
    format!("sim_top.u_core.g_rank[{rank}].u_memory.g_bank[{bank}].mem")
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
    let hw = root.join("hw");
    let includes = INCLUDES.iter().map(|include| hw.join(include)).collect();
    Ok((sources(&hw, &[])?, includes))
}

/// The sources of a board with what is `around` it, in the order of compilation. A model's key in the cache covers this
/// list, and so the blocks and their order.
fn sources(hw: &Path, around: &[&str]) -> Result<Vec<PathBuf>, CosimError> {
    let read = |path: PathBuf| {
        fs::read_to_string(&path).map_err(|source| CosimError::Read {
            path,
            source: Arc::new(source),
        })
    };
    let mut sources = Vec::new();
    let blocks = read(hw.join(BLOCKS))?;
    for block in blocks.split_whitespace().chain(around.iter().copied()) {
        let text = read(hw.join(block).join("files.f"))?;
        for line in text.lines().map(str::trim) {
            let is_source = !line.is_empty() && !line.starts_with("//") && !line.starts_with('#');
            let source = hw.join(line);
            if is_source && !sources.contains(&source) {
                sources.push(source);
            }
        }
    }
    Ok(sources)
}

/// Builds the model of a configuration, or takes it from the cache.
pub(crate) fn build(
    root: &Path,
    name: &str,
    params: &BTreeMap<String, u64>,
    options: &Options,
    progress: &dyn Fn(&str, BuildEvent),
) -> Result<Model, CosimError> {
    let hw = root.join("hw");
    let mut build = Build::new(name)
        .top(TOP)
        .sources(sources(&hw, &[AROUND])?)
        .trace(options.waves.is_some())
        .coverage(options.coverage)
        .assertions(options.assertions)
        .progress(|event| progress(name, event));
    for include in INCLUDES {
        build = build.include_dir(hw.join(include));
    }
    if options.coverage {
        build = build.define(COVERAGE, "1");
    }
    if !options.assertions {
        build = build.define(NO_ASSERTIONS, "1");
    }
    for (param, &value) in params {
        build = build.param(param, value);
    }
    for (module, register) in COUNTERS {
        build = build.counter(module, register);
    }
    for array in RAMS {
        build = build.ram(array);
    }
    for &function in Shape::of(params).imports() {
        build = build.dpi(function);
    }
    Ok(build.build(&Toolchain::find_in(root)?)?)
}
