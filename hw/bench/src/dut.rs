//! The block under test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process, thread};

use verimodel::{Build, Error, Instance, Model, Optimise, Signal, Toolchain};

use crate::mutants::{self, Mutants};

/// Seed of the initial values of registers and RAMs in the first instance.
const POWER_UP_SEED: u32 = 1;

/// Environment variable that names the folder for coverage counts.
const COVERAGE: &str = "ALCOR_COVERAGE";

/// The clock that [`Dut::clock`] drives.
const CLOCK: &str = "clk_i";

/// The inputs of a model's build: blocks, a top module, parameters.
#[derive(Debug, Clone)]
pub struct Recipe {
    name: String,
    top: String,
    blocks: Vec<String>,
    sources: Vec<PathBuf>,
    params: Vec<(String, u64)>,
    /// Bits of parameters whose type is no `int`.
    widths: BTreeMap<String, u32>,
    bundles: Bundles,
    trace: bool,
}

/// Members of ports that are packed structs, the highest first: name and bits.
type Bundles = BTreeMap<String, Vec<(String, usize)>>;

impl Recipe {
    /// A recipe; `name` is for messages and the cache of built models.
    pub fn new(name: &str, top: &str) -> Self {
        Self {
            name: name.into(),
            top: top.into(),
            blocks: Vec::new(),
            sources: Vec::new(),
            params: Vec::new(),
            widths: BTreeMap::new(),
            bundles: Bundles::new(),
            trace: false,
        }
    }

    /// Adds all files that `hw/<block>/files.f` lists, for each block.
    #[must_use]
    pub fn blocks(mut self, blocks: &[&str]) -> Self {
        self.blocks.extend(blocks.iter().map(|&block| block.into()));
        self
    }

    /// Adds the blocks of `core`, which `hw/core/blocks` lists.
    ///
    /// # Panics
    /// If the list cannot be read.
    #[must_use]
    pub fn core(mut self) -> Self {
        let text = read(&hardware().join("core/blocks"));
        self.blocks
            .extend(text.split_whitespace().map(str::to_owned));
        self
    }

    /// Adds a file. The path is relative to `hw/`.
    #[must_use]
    pub fn source(mut self, path: &str) -> Self {
        self.sources.push(path.into());
        self
    }

    /// Sets a parameter of the top module.
    #[must_use]
    pub fn param(mut self, name: &str, value: u64) -> Self {
        self.params.push((name.into(), value));
        self
    }

    /// Sets a parameter of the top module that has a type of `bits` bits.
    #[must_use]
    pub fn param_bits(mut self, name: &str, bits: u32, value: u64) -> Self {
        self.widths.insert(name.into(), bits);
        self.param(name, value)
    }

    /// Declares that a port is a packed struct, or an array of them. `members` has the name and the
    /// bits of each member, the highest first. `port.member` then names a port in [`Dut::pin`] and
    /// [`Dut::lanes`], with a lane for each struct of the array.
    #[must_use]
    pub fn bundle(mut self, port: &str, members: &[(&str, usize)]) -> Self {
        let members = members.iter().map(|&(name, bits)| (name.into(), bits));
        self.bundles.insert(port.into(), members.collect());
        self
    }

    /// Sets whether the model can write waves ([`Dut::trace`]).
    #[must_use]
    pub fn waves(mut self, on: bool) -> Self {
        self.trace = on;
        self
    }
}

impl Drop for Dut {
    /// Writes the coverage counts to a new file, unless the bench has failed.
    fn drop(&mut self) {
        static FILES: AtomicU32 = AtomicU32::new(0);
        let Some(folder) = self.coverage.take().filter(|_| !thread::panicking()) else {
            return;
        };
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{}-{number}.dat", self.instance.name(), process::id());
        let path = folder.join(name.replace('/', "-"));
        if let Err(error) = self.instance.coverage_write(&path) {
            panic!("{}: {error}", path.display());
        }
    }
}

/// Root folder of the workspace.
fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap_or(Path::new("."))
}

/// The `hw` folder.
pub(crate) fn hardware() -> PathBuf {
    workspace().join("hw")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Files of a file list. The list has one path per line, relative to `hw/`, and comments after
/// `//` or `#`.
fn file_list(block: &str) -> Vec<PathBuf> {
    read(&hardware().join(block).join("files.f"))
        .lines()
        .map(|line| {
            line.split("//")
                .next()
                .unwrap_or("")
                .split('#')
                .next()
                .unwrap_or("")
                .trim()
        })
        .filter(|line| !line.is_empty())
        .map(|line| hardware().join(line))
        .collect()
}

/// A port of the block under test, or a [member](Recipe::bundle) of one, as lanes of equal width. A port
/// with one lane is the whole port.
#[derive(Debug, Clone, Copy)]
pub struct Pin {
    port: usize,
    lane_width: usize,
    lanes: usize,
    /// The lowest bit of lane 0, and the distance to that of the next lane.
    first: usize,
    stride: usize,
}

/// A port with a copy of its value.
struct Port {
    signal: Signal,
    is_input: bool,
    /// Whether the port is `clk_i`, which only [`Dut::clock`] drives.
    is_clock: bool,
    words: Vec<u32>,
    changed: bool,
}

/// A block under test: an instance of a model, with assertions on.
///
/// Failures of the model panic, above all failed assertions: they fail the test.
pub struct Dut {
    instance: Instance<()>,
    clock: Option<Signal>,
    ports: Vec<Port>,
    bundles: Bundles,
    /// Folder for coverage counts.
    coverage: Option<PathBuf>,
}

impl Dut {
    /// Builds the model unless it is cached, and starts an instance. Registers and RAMs without a
    /// reset have random contents.
    ///
    /// # Panics
    /// If the model cannot be built.
    pub fn start(recipe: &Recipe) -> Self {
        Self::start_several(recipe, 1).remove(0)
    }

    /// Builds the model unless it is cached, and starts several instances.
    ///
    /// # Panics
    /// If the model cannot be built.
    pub fn start_several(recipe: &Recipe, count: usize) -> Vec<Self> {
        Self::try_start(recipe, count).unwrap_or_else(|error| panic!("{}: {error}", recipe.name))
    }

    fn try_start(recipe: &Recipe, count: usize) -> Result<Vec<Self>, Error> {
        let mut build = Build::new(&recipe.name)
            .top(&recipe.top)
            .include_dir(hardware().join("common/rtl"))
            .trace(recipe.trace)
            .optimise(Optimise::Quick);
        let coverage = env::var_os(COVERAGE).map(PathBuf::from);
        if coverage.is_some() {
            // The macro adds cover points.
            build = build.coverage(true).toggles(false).define(COVERAGE, "1");
        }
        let mut sources: Vec<PathBuf> = recipe
            .blocks
            .iter()
            .flat_map(|block| file_list(block))
            .collect();
        sources.extend(recipe.sources.iter().map(|source| hardware().join(source)));
        let mutants = Mutants::from_env();
        let faulty = mutants
            .as_ref()
            .and_then(|mutants| mutants.source(&recipe.top, &recipe.params, &sources));
        let has_params = faulty
            .as_ref()
            .is_none_or(|path| path.extension().is_some_and(|kind| kind == "sv"));
        build = match faulty {
            Some(path) => build.source(path),
            None => build.sources(sources),
        };
        if has_params {
            for (name, value) in &recipe.params {
                build = match recipe.widths.get(name) {
                    Some(&bits) => build.param_bits(name, bits, *value),
                    None => build.param(name, *value),
                };
            }
        }
        let model = build.build(&Toolchain::find_in(workspace())?)?;
        let active = mutants.as_ref().map_or(0, Mutants::active);
        (POWER_UP_SEED..)
            .take(count)
            .map(|seed| {
                let mut dut = Self::of_model(&model, recipe, seed, active)?;
                dut.coverage.clone_from(&coverage);
                Ok(dut)
            })
            .collect()
    }

    fn of_model(model: &Model, recipe: &Recipe, seed: u32, active: u32) -> Result<Self, Error> {
        let instance = model.instantiate_random(&recipe.name, (), seed)?;
        let clock = model.input(CLOCK).ok();
        let mut ports = Vec::new();
        for signal in model.signals() {
            let is_input = model.input(signal.name()).is_ok();
            let mut words = vec![0; signal.words()];
            if signal.name() == mutants::ACTIVE {
                words[0] = active;
            }
            ports.push(Port {
                signal: signal.clone(),
                is_input,
                is_clock: signal.name() == CLOCK && is_input,
                words,
                changed: true,
            });
        }
        Ok(Self {
            instance,
            clock,
            ports,
            bundles: recipe.bundles.clone(),
            coverage: None,
        })
    }

    /// A port as a whole.
    ///
    /// # Panics
    /// If the block has no such port.
    pub fn pin(&self, name: &str) -> Pin {
        self.lanes(name, 1)
    }

    /// Width of a port in bits.
    ///
    /// # Panics
    /// If the block has no such port.
    pub fn width(&self, name: &str) -> usize {
        self.pin(name).lane_width
    }

    /// A port as `count` lanes of equal width: a packed array, or one bit per lane.
    ///
    /// # Panics
    /// If the block has no such port or member, or its width is not a multiple of `count`.
    pub fn lanes(&self, name: &str, count: usize) -> Pin {
        let (port, member) = match name.split_once('.') {
            Some((port, member)) => (port, Some(member)),
            None => (name, None),
        };
        let at = self.port(port);
        let width = self.ports[at].signal.width();
        assert_eq!(
            width % count,
            0,
            "{name} has {width} bits, which are not {count} equal lanes"
        );
        let stride = width / count;
        let (first, lane_width) = match member {
            Some(member) => self.member(port, member, stride),
            None => (0, stride),
        };
        Pin {
            port: at,
            lane_width,
            lanes: count,
            first,
            stride,
        }
    }

    /// The lowest bit of a struct's member, and the bits of the member.
    fn member(&self, port: &str, member: &str, stride: usize) -> (usize, usize) {
        let members = self.bundles.get(port).map_or(&[][..], Vec::as_slice);
        let mut lowest = members.iter().map(|member| member.1).sum();
        assert_eq!(lowest, stride, "bits of a struct of {port}");
        for (name, bits) in members {
            lowest -= bits;
            if name == member {
                return (lowest, *bits);
            }
        }
        panic!("{}: no member {port}.{member}", self.instance.name())
    }

    fn port(&self, name: &str) -> usize {
        let mut ports = self.ports.iter();
        ports
            .position(|port| port.signal.name() == name)
            .unwrap_or_else(|| panic!("{}: no port {name}", self.instance.name()))
    }

    /// Drives a lane of an input, effective at the next [`settle`](Self::settle). Bits of `value`
    /// above the lane's width are dropped.
    ///
    /// # Panics
    /// If the port is an output or has no such lane.
    pub fn set(&mut self, pin: Pin, lane: usize, value: u64) {
        let port = &mut self.ports[pin.port];
        assert!(port.is_input, "{} is no input", port.signal.name());
        let mut left = pin.lane_width;
        let mut bit = pin.first + lane * pin.stride;
        assert!(
            lane < pin.lanes,
            "{} has no lane {lane}",
            port.signal.name()
        );
        let mut value = value;
        while left > 0 {
            let (word, shift) = (bit / 32, bit % 32);
            let count = left.min(32 - shift);
            let mask = (u32::MAX >> (32 - count)) << shift;
            // Truncation is intended: the other bits belong to the next words.
            port.words[word] = (port.words[word] & !mask) | (((value as u32) << shift) & mask);
            value = value.checked_shr(count as u32).unwrap_or(0);
            bit += count;
            left -= count;
        }
        port.changed = true;
    }

    /// Drives a whole input of up to 64 bits.
    ///
    /// # Panics
    /// If the port is an output.
    pub fn set_all(&mut self, pin: Pin, value: u64) {
        for lane in 0..pin.lanes {
            let above = u32::try_from(lane * pin.lane_width).unwrap_or(u32::MAX);
            self.set(pin, lane, value.checked_shr(above).unwrap_or(0));
        }
    }

    /// Value of a lane: of an output as of the last [`settle`](Self::settle), of an input as
    /// driven. The result is the low 64 bits of a wider lane.
    ///
    /// # Panics
    /// If the port has no such lane.
    pub fn get(&self, pin: Pin, lane: usize) -> u64 {
        let port = &self.ports[pin.port];
        let first = pin.first + lane * pin.stride;
        assert!(
            lane < pin.lanes,
            "{} has no lane {lane}",
            port.signal.name()
        );
        let mut value = 0;
        let mut done = 0;
        let width = pin.lane_width.min(64);
        while done < width {
            let (word, shift) = ((first + done) / 32, (first + done) % 32);
            let count = (width - done).min(32 - shift);
            let bits = (port.words[word] >> shift) & (u32::MAX >> (32 - count));
            value |= u64::from(bits) << done;
            done += count;
        }
        value
    }

    /// Drives lane `lane` of `lanes` of the input `name`.
    ///
    /// # Panics
    /// If the block has no such input.
    pub fn drive(&mut self, name: &str, lanes: usize, lane: usize, value: impl Into<u64>) {
        let pin = self.lanes(name, lanes);
        self.set(pin, lane, value.into());
    }

    /// Value of lane `lane` of `lanes` of the port `name`.
    ///
    /// # Panics
    /// If the block has no such port.
    pub fn look(&self, name: &str, lanes: usize, lane: usize) -> u64 {
        self.get(self.lanes(name, lanes), lane)
    }

    /// Returns whether a one-bit lane of an input is driven high.
    pub fn was_set(&self, pin: Pin, lane: usize) -> bool {
        self.get(pin, lane) == 1
    }

    /// Evaluates the block with the current inputs. Clocks that the bench drives itself count as
    /// inputs.
    ///
    /// # Panics
    /// If an assertion of the model fails.
    pub fn settle(&mut self) {
        self.write();
        let outcome = self.instance.eval();
        self.unwrap(outcome);
        self.read();
    }

    /// Performs one edge of `clk_i` with the current inputs. The next [`settle`](Self::settle)
    /// updates the outputs.
    ///
    /// # Panics
    /// If the block has no `clk_i`, or an assertion of the model fails.
    pub fn clock(&mut self) {
        self.write();
        let outcome = match &self.clock {
            Some(clock) => self.instance.tick(clock),
            None => panic!("{}: no clk_i", self.instance.name()),
        };
        self.unwrap(outcome);
    }

    /// Holds `rst_ni` low for three cycles with the other inputs unchanged, then releases it.
    ///
    /// # Panics
    /// If the block has no `clk_i` and `rst_ni`, or an assertion of the model fails.
    pub fn reset(&mut self) {
        let reset = self.pin("rst_ni");
        self.set(reset, 0, 0);
        for _ in 0..3 {
            self.settle();
            self.clock();
        }
        self.set(reset, 0, 1);
        self.settle();
    }

    /// Number of cycles of `clk_i` so far.
    pub fn cycle(&self) -> u64 {
        self.instance.cycles()
    }

    /// Writes waves to an FST file from this call on. The recipe must enable waves
    /// ([`Recipe::waves`]).
    ///
    /// # Panics
    /// If the model cannot write waves.
    pub fn trace(&mut self, path: impl AsRef<Path>) {
        let outcome = self.instance.trace_start(path);
        self.unwrap(outcome);
    }

    fn write(&mut self) {
        for port in self
            .ports
            .iter_mut()
            .filter(|port| port.is_input && port.changed && !port.is_clock)
        {
            if let Err(error) = self.instance.set_words(&port.signal, &port.words) {
                panic!("{error}");
            }
            port.changed = false;
        }
    }

    fn read(&mut self) {
        for port in self.ports.iter_mut().filter(|port| !port.is_input) {
            if let Err(error) = self.instance.get_words(&port.signal, &mut port.words) {
                panic!("{error}");
            }
        }
    }

    fn unwrap(&self, outcome: Result<(), Error>) {
        if let Err(error) = outcome {
            panic!("{}: {error}", self.instance.name());
        }
    }
}
