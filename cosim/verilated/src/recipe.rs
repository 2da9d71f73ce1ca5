//! The inputs of a model's build, and the steps of the build.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use std::{fmt, fs};

use crate::abi::SHIM_VERSION;
use crate::compile::{self, Flags};
use crate::file_list::Listed;
use crate::generated::{self, HANDLE_PORT};
use crate::layout;
use crate::tokens;
use crate::{Error, Import, Imports, Model, ModelCache, Sources, Toolchain};

/// File name of the library in a cache entry.
const LIBRARY: &str = "model.so";
/// Verilator's configuration for counters, among the generated files.
const COUNTERS: &str = "counters.vlt";

/// Optimisation of the model's C++.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Optimise {
    /// Fast simulation.
    #[default]
    Fast,
    /// Fast compilation, for models that run briefly; simulates more slowly than `Fast`.
    Quick,
    /// Fastest compilation, with debug information.
    Debug,
}

/// The format of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TraceFormat {
    /// FST, GTKWave's compressed format. Surfer and GTKWave read it.
    Fst,
    /// VCD, the text format of IEEE 1364. All viewers read it; files are large.
    Vcd,
}

/// Arguments of Verilator that only the build may set, without leading dashes.
const RESERVED: [&str; 27] = [
    "F",
    "Mdir",
    "assert",
    "binary",
    "build",
    "cc",
    "coverage",
    "coverage-line",
    "coverage-toggle",
    "coverage-user",
    "exe",
    "f",
    "lib-create",
    "lint-only",
    "main",
    "no-assert",
    "prefix",
    "sc",
    "threads",
    "timing",
    "top",
    "top-module",
    "trace",
    "trace-fst",
    "trace-saif",
    "trace-vcd",
    "xml-only",
];

/// A step of a build.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum BuildEvent {
    /// The model was in the cache.
    CacheHit,
    /// Another thread or process is building the same model.
    Waiting,
    /// Verilator is running.
    Verilating,
    /// C++ files are being compiled.
    Compiling {
        /// Number of compiled files.
        done: usize,
        /// Number of all files.
        total: usize,
    },
    /// All C++ files are compiled.
    Compiled {
        /// Number of files that were compiled.
        compiled: usize,
        /// Number of files whose object was in the cache.
        reused: usize,
    },
    /// The library is being linked.
    Linking,
    /// The model was built.
    Done {
        /// Duration of the build.
        elapsed: Duration,
    },
    /// The build ended with an error.
    Failed,
}

impl fmt::Display for BuildEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildEvent::CacheHit => write!(f, "found in the cache"),
            BuildEvent::Waiting => write!(f, "waiting for another build of the same model"),
            BuildEvent::Verilating => write!(f, "verilating"),
            BuildEvent::Compiling { done, total } => write!(f, "compiling {done}/{total}"),
            BuildEvent::Compiled { compiled, reused } => {
                write!(
                    f,
                    "compiled {compiled} files, {reused} taken from the cache"
                )
            }
            BuildEvent::Linking => write!(f, "linking"),
            BuildEvent::Failed => write!(f, "could not be built"),
            BuildEvent::Done { elapsed } => write!(f, "built in {:.1} s", elapsed.as_secs_f64()),
        }
    }
}

/// A build of a model from SystemVerilog.
///
/// ```no_run
/// use verimodel::{Build, BuildEvent, Toolchain};
///
/// # fn main() -> Result<(), verimodel::Error> {
/// let model = Build::new("counter")
///     .top("counter")
///     .source("rtl/counter.sv")
///     .param("WIDTH", 16u64)
///     .progress(|event: BuildEvent| eprintln!("{event}"))
///     .build(&Toolchain::find()?)?;
/// # let _ = model;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is built until `build` is called"]
pub struct Build<'a> {
    name: String,
    top: String,
    root: Option<PathBuf>,
    given: Vec<Given>,
    include_dirs: Vec<PathBuf>,
    snapshot: Option<Sources>,
    cpp_sources: Vec<PathBuf>,
    cpp_include_dirs: Vec<PathBuf>,
    verilator_args: Vec<String>,
    compiler_args: Vec<String>,
    link_args: Vec<String>,
    params: Vec<(String, String)>,
    defines: Vec<(String, String)>,
    assertions: bool,
    trace: Option<TraceFormat>,
    coverage: bool,
    toggles: bool,
    dpi: Vec<String>,
    imports: &'static [Import],
    counters: Vec<(String, String)>,
    rams: Vec<String>,
    optimise: Optimise,
    jobs: Option<usize>,
    cache_dir: Option<PathBuf>,
    progress: Option<Box<dyn FnMut(BuildEvent) + 'a>>,
}

/// A source file, or a list of them.
enum Given {
    Source(PathBuf),
    List { path: PathBuf, base: PathBuf },
}

/// The inputs of a build, all read at one instant.
struct Inputs {
    sources: Sources,
    cpp: Option<Sources>,
    defines: Vec<(String, String)>,
    /// Arguments of Verilator, from file lists and from the build.
    arguments: Vec<String>,
}

impl<'a> Build<'a> {
    /// A build of a model. `name` is used in messages and for the folder in the cache.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            top: String::new(),
            root: None,
            given: Vec::new(),
            include_dirs: Vec::new(),
            snapshot: None,
            cpp_sources: Vec::new(),
            cpp_include_dirs: Vec::new(),
            verilator_args: Vec::new(),
            compiler_args: Vec::new(),
            link_args: Vec::new(),
            params: Vec::new(),
            defines: Vec::new(),
            assertions: true,
            trace: None,
            coverage: false,
            toggles: true,
            dpi: Vec::new(),
            imports: &[],
            counters: Vec::new(),
            rams: Vec::new(),
            optimise: Optimise::default(),
            jobs: None,
            cache_dir: None,
            progress: None,
        }
    }

    /// Sets the top module.
    pub fn top(mut self, module: impl Into<String>) -> Self {
        self.top = module.into();
        self
    }

    /// Sets the root folder of the sources; the default is the workspace. Source names are relative
    /// to this folder. Messages of the model, coverage and the model's key contain these names, see
    /// [`Sources`].
    pub fn root(mut self, path: impl Into<PathBuf>) -> Self {
        self.root = Some(path.into());
        self
    }

    /// Uses sources and include folders from a snapshot, independent of later changes of the files.
    /// The snapshot replaces [`source`](Self::source), [`file_list`](Self::file_list) and
    /// [`include_dir`](Self::include_dir).
    pub fn snapshot(mut self, sources: &Sources) -> Self {
        self.snapshot = Some(sources.clone());
        self
    }

    /// Adds a source file (`.sv`, or `.vlt` with Verilator's configuration), in the order of
    /// compilation.
    pub fn source(mut self, path: impl Into<PathBuf>) -> Self {
        self.given.push(Given::Source(path.into()));
        self
    }

    /// Adds several source files.
    pub fn sources<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        let given = paths.into_iter().map(|path| Given::Source(path.into()));
        self.given.extend(given);
        self
    }

    /// Adds the contents of a file list with the meaning of the simulators' option `-F`: paths in
    /// the list are relative to the list's own folder.
    ///
    /// A list may contain source files (C and C++ as for [`cpp_source`](Self::cpp_source)), `-f`,
    /// `-F`, `-v`, `-y`, `-I`, `-D`, `+incdir+`, `+define+`, `+libext+`, `-W..`, environment
    /// variables, and the comments `//`, `/* */` and `#`. A file after `-v` is an ordinary source.
    pub fn file_list(self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let base = path.parent().unwrap_or(Path::new("")).to_owned();
        self.file_list_from(path, base)
    }

    /// Adds the contents of a file list with the meaning of the simulators' option `-f`: paths in
    /// the list are relative to `folder`.
    pub fn file_list_from(mut self, path: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Self {
        let (path, base) = (path.into(), folder.into());
        self.given.push(Given::List { path, base });
        self
    }

    /// Adds a C or C++ source file that is compiled and linked into the model. The file may define
    /// DPI imports, and may include `Vmodel__Dpi.h`, `svdpi.h`, and headers in the folders of
    /// [`cpp_include_dir`](Self::cpp_include_dir).
    pub fn cpp_source(mut self, path: impl Into<PathBuf>) -> Self {
        self.cpp_sources.push(path.into());
        self
    }

    /// Adds a folder with headers of the C++ sources (`.h`, `.hh`, `.hpp`, `.hxx`, `.inc`).
    pub fn cpp_include_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.cpp_include_dirs.push(path.into());
        self
    }

    /// Adds an argument of Verilator after all others, for instance `-Wno-WIDTHTRUNC`, `-Wno-fatal`
    /// or `--x-assign`. Arguments that only the build may set are rejected.
    pub fn verilator_arg(mut self, argument: impl Into<String>) -> Self {
        self.verilator_args.push(argument.into());
        self
    }

    /// Adds an argument of the C++ compiler, for instance `-march=native`.
    pub fn compiler_arg(mut self, argument: impl Into<String>) -> Self {
        self.compiler_args.push(argument.into());
        self
    }

    /// Adds an argument of the linker in the form of the C++ compiler, for instance `-lm`.
    pub fn link_arg(mut self, argument: impl Into<String>) -> Self {
        self.link_args.push(argument.into());
        self
    }

    /// Adds a folder in which Verilator searches for `` `include ` ` files and modules.
    pub fn include_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.include_dirs.push(path.into());
        self
    }

    /// Overrides an integer parameter of the top module.
    pub fn param(mut self, name: impl Into<String>, value: impl Into<u64>) -> Self {
        // A plain decimal literal is signed with 32 bits. A larger value needs an explicit width.
        let value = value.into();
        let text = if value <= i32::MAX as u64 {
            value.to_string()
        } else {
            format!("64'd{value}")
        };
        self.params.push((name.into(), text));
        self
    }

    /// Overrides a parameter of the top module that has a type of `bits` bits, such as `bit [8:0]`.
    /// Verilator warns of a literal that is wider than the type.
    pub fn param_bits(mut self, name: impl Into<String>, bits: u32, value: impl Into<u64>) -> Self {
        self.params
            .push((name.into(), format!("{bits}'d{}", value.into())));
        self
    }

    /// Overrides a string parameter of the top module.
    pub fn param_str(mut self, name: impl Into<String>, value: impl AsRef<str>) -> Self {
        let escaped = value.as_ref().replace('\\', "\\\\").replace('"', "\\\"");
        self.params.push((name.into(), format!("\"{escaped}\"")));
        self
    }

    /// Defines a preprocessor macro.
    pub fn define(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.defines.push((name.into(), value.into()));
        self
    }

    /// Sets whether assertions are checked; the default is true.
    pub fn assertions(mut self, on: bool) -> Self {
        self.assertions = on;
        self
    }

    /// Sets whether instances can write FST traces. A model with traces is slower even while no
    /// trace is written.
    pub fn trace(mut self, on: bool) -> Self {
        self.trace = on.then_some(TraceFormat::Fst);
        self
    }

    /// Enables traces of the given format.
    pub fn trace_format(mut self, format: TraceFormat) -> Self {
        self.trace = Some(format);
        self
    }

    /// Sets whether instances count coverage.
    pub fn coverage(mut self, on: bool) -> Self {
        self.coverage = on;
        self
    }

    /// Sets whether a model with coverage counts toggles, too; the default is true. Without them, the
    /// model is smaller and several times as fast.
    pub fn toggles(mut self, on: bool) -> Self {
        self.toggles = on;
        self
    }

    /// Adds a DPI import of the [canonical form](crate::Dpi). Its index in
    /// [`Dpi::call`](crate::Dpi::call) is its position in the order of these calls. A function that
    /// the model does not import is legal and never called.
    pub fn dpi(mut self, function: impl Into<String>) -> Self {
        self.dpi.push(function.into());
        self
    }

    /// Adds the DPI imports that the host `H` implements with ordinary signatures, see
    /// [`imports!`](crate::imports). The build compares the signatures with those of the model.
    pub fn imports<H: Imports>(mut self) -> Self {
        self.imports = H::IMPORTS;
        self
    }

    /// Declares a register of a module as a counter: in each cycle, the register advances by one or
    /// keeps its value. Models with counters support [`is_steady`](crate::Instance::is_steady).
    pub fn counter(mut self, module: impl Into<String>, register: impl Into<String>) -> Self {
        self.counters.push((module.into(), register.into()));
        self
    }

    /// Declares unpacked arrays, in any module, as RAMs: all accesses are by address. The
    /// comparison of states excludes RAMs, because the compared registers determine each write.
    pub fn ram(mut self, array: impl Into<String>) -> Self {
        self.rams.push(array.into());
        self
    }

    /// Sets the optimisation of the C++.
    pub fn optimise(mut self, optimise: Optimise) -> Self {
        self.optimise = optimise;
        self
    }

    /// Sets the number of concurrent compilers; the default is the number of cores. All builds on
    /// the machine together run at most one compiler per core.
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = Some(jobs);
        self
    }

    /// Sets the folder of built models; the default is that of [`ModelCache::find`].
    pub fn cache_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.cache_dir = Some(path.into());
        self
    }

    /// Calls `listener` for each step of the build.
    pub fn progress(mut self, listener: impl FnMut(BuildEvent) + 'a) -> Self {
        self.progress = Some(Box::new(listener));
        self
    }

    /// Builds the model or takes it from the cache, and loads it.
    ///
    /// Several threads and processes may build concurrently, even the same model. The sources are
    /// read once: an edit during the build affects only the next build.
    ///
    /// # Errors
    /// If a source cannot be read, if Verilator or the compiler rejects it (the error has the
    /// command and the end of its output), if a DPI import has a wrong signature, or if the library
    /// cannot be loaded.
    pub fn build(mut self, toolchain: &Toolchain) -> Result<Model, Error> {
        let mut progress = self.progress.take().unwrap_or_else(|| Box::new(|_| {}));
        let built = self.find_or_build(toolchain, &mut *progress);
        if built.is_err() {
            progress(BuildEvent::Failed);
        }
        built
    }

    fn find_or_build(
        &self,
        toolchain: &Toolchain,
        progress: &mut dyn FnMut(BuildEvent),
    ) -> Result<Model, Error> {
        let start = Instant::now();
        self.check()?;
        let inputs = self.read(toolchain)?;
        let cache = match self.cache_dir.as_deref().or(toolchain.models()) {
            Some(folder) => ModelCache::at(folder)?,
            None => ModelCache::find()?,
        };
        let key = self.hash(toolchain, &inputs).to_hex()[..32].to_owned();
        let name = format!("{}-{key}", self.name);
        let library = cache.folder().join(&name).join(LIBRARY);
        if let Some(model) = Model::loaded(&library) {
            progress(BuildEvent::CacheHit);
            return Ok(model);
        }

        // Another process may remove the entry between the search in the cache and the load.
        const ATTEMPTS: usize = 3;
        let mut attempt = 1;
        loop {
            let mut waited = false;
            let hit = {
                let progress = std::cell::RefCell::new(&mut *progress);
                cache.entry(
                    &name,
                    LIBRARY,
                    || {
                        waited = true;
                        progress.borrow_mut()(BuildEvent::Waiting);
                    },
                    |folder| {
                        let progress = &mut **progress.borrow_mut();
                        self.fill(toolchain, &cache, (&inputs, &key), folder, progress)
                    },
                )?
            };
            match Model::load(&self.name, &key, &library, &self.functions()) {
                Err(Error::Load { .. }) if attempt < ATTEMPTS && !library.is_file() => attempt += 1,
                Err(error) => return Err(error),
                Ok(model) => {
                    if !hit {
                        // The model is present. This process may lack the right to remove entries
                        // of another user.
                        let _ = cache.trim();
                    }
                    progress(if hit && !waited {
                        BuildEvent::CacheHit
                    } else {
                        BuildEvent::Done {
                            elapsed: start.elapsed(),
                        }
                    });
                    return Ok(model);
                }
            }
        }
    }

    /// Name of the model's entry in the cache: the model's name, `-` and the key. Builds no model,
    /// and the entry need not exist.
    ///
    /// # Errors
    /// If a source cannot be read.
    pub fn entry_name(&self, toolchain: &Toolchain) -> Result<String, Error> {
        self.check()?;
        let key = self.hash(toolchain, &self.read(toolchain)?);
        Ok(format!("{}-{}", self.name, &key.to_hex()[..32]))
    }

    /// The given snapshot, or the present contents of the files.
    fn read(&self, toolchain: &Toolchain) -> Result<Inputs, Error> {
        let mut listed = Listed::default();
        for given in &self.given {
            match given {
                Given::Source(path) => listed.sources.push(path.clone()),
                Given::List { path, base } => listed.add(path, base)?,
            }
        }
        let root = self.root.as_deref().unwrap_or(toolchain.workspace());
        let include_dirs = [&self.include_dirs[..], &listed.include_dirs].concat();
        let sources = match &self.snapshot {
            Some(sources) => sources.clone(),
            None => Sources::read(root, &listed.sources, &include_dirs)?,
        };
        let cpp = [&self.cpp_sources[..], &listed.cpp_sources].concat();
        let cpp = if cpp.is_empty() {
            None
        } else {
            Some(Sources::read_cpp(root, &cpp, &self.cpp_include_dirs)?)
        };
        Ok(Inputs {
            sources,
            cpp,
            defines: [&self.defines[..], &listed.defines].concat(),
            arguments: [&listed.arguments[..], &self.verilator_args].concat(),
        })
    }

    /// DPI functions that the host implements, in order of index.
    fn functions(&self) -> Vec<String> {
        let imports = self.imports.iter().map(|import| import.name.to_owned());
        self.dpi.iter().cloned().chain(imports).collect()
    }

    fn check(&self) -> Result<(), Error> {
        let refused = |what: &'static str, found: &str, expected: &'static str| {
            Err(Error::Recipe {
                model: self.name.clone(),
                what,
                found: found.into(),
                expected,
            })
        };
        let is_identifier = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && text
                    .bytes()
                    .next()
                    .is_some_and(|byte| !byte.is_ascii_digit())
        };
        let is_file_name = self
            .name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        if self.name.is_empty() || !is_file_name {
            return refused("the name", &self.name, "letters, digits, `_` and `-`");
        }
        if !is_identifier(&self.top) {
            return refused("the top module", &self.top, "an identifier");
        }
        if self.given.is_empty() && self.snapshot.is_none() {
            return refused("the number of sources", "0", "at least one");
        }
        if !self.dpi.is_empty() && !self.imports.is_empty() {
            return refused(
                "a DPI function",
                &self.dpi[0],
                "`imports` or `dpi`, not both",
            );
        }
        for argument in &self.verilator_args {
            let name = argument.trim_start_matches('-');
            let name = name.split_once('=').map_or(name, |(name, _)| name);
            let is_joined = ["D", "G", "I", "U"]
                .iter()
                .any(|start| name.starts_with(start));
            if !argument.starts_with(['-', '+']) || is_joined || RESERVED.contains(&name) {
                return refused(
                    "an argument of Verilator",
                    argument,
                    "one that the build does not decide, in one word",
                );
            }
        }
        if self.jobs == Some(0) {
            return refused("the number of jobs", "0", "at least one");
        }
        let counters = self
            .counters
            .iter()
            .flat_map(|(module, register)| [module, register]);
        for name in counters.chain(&self.rams) {
            if !is_identifier(name) {
                return refused("a counter or RAM", name, "an identifier");
            }
        }
        for (name, _) in self.params.iter().chain(&self.defines) {
            if !is_identifier(name) {
                return refused("a parameter or macro", name, "an identifier");
            }
        }
        for (at, name) in self.dpi.iter().enumerate() {
            if !is_identifier(name) {
                return refused("a DPI function", name, "an identifier");
            }
            if self.dpi[..at].contains(name) {
                return refused("a DPI function", name, "each name once");
            }
        }
        Ok(())
    }

    fn flags(&self) -> Flags {
        Flags {
            optimise: self.optimise,
            trace: self.trace,
            coverage: self.coverage,
            extra: self.compiler_args.clone(),
        }
    }

    /// Command line of Verilator, without the output folder. The arguments contain no path of this
    /// machine.
    fn verilator_arguments(&self, inputs: &Inputs) -> Vec<String> {
        let sources = &inputs.sources;
        let mut arguments: Vec<String> = [
            "--cc",
            "--prefix",
            "Vmodel",
            "--threads",
            "1",
            "--timescale-override",
            "1ns/1ps",
        ]
        .map(String::from)
        .to_vec();
        arguments.extend(
            [
                "--output-split",
                "8000",
                "--x-initial",
                "unique",
                "--top-module",
            ]
            .map(String::from),
        );
        arguments.push(self.top.clone());
        arguments.push(
            if self.assertions {
                "--assert"
            } else {
                "--no-assert"
            }
            .into(),
        );
        if let Some(format) = self.trace {
            let format = match format {
                TraceFormat::Fst => "--trace-fst",
                TraceFormat::Vcd => "--trace-vcd",
            };
            arguments.extend([format.into(), "--trace-structs".into()]);
        }
        if self.coverage {
            arguments.extend(["--coverage-line", "--coverage-user"].map(String::from));
            if self.toggles {
                arguments.push("--coverage-toggle".into());
            }
            // Counting blocks are not split, so a path through two parts of one block appears to be
            // a loop. The loop settles; the model is only slower.
            arguments.push("-Wno-UNOPTFLAT".into());
        }
        // A large module that occurs several times has one copy of its code: less to compile, and
        // less in the processor's caches.
        arguments.extend(["--inline-mult".into(), "2000".into()]);
        arguments.push(match self.optimise {
            Optimise::Fast | Optimise::Quick => "-O3".into(),
            Optimise::Debug => "-O1".into(),
        });
        arguments.extend(
            sources
                .include_dirs()
                .iter()
                .map(|name| format!("-I{name}")),
        );
        arguments.extend(
            self.params
                .iter()
                .map(|(name, value)| format!("-G{name}={value}")),
        );
        arguments.extend(
            inputs
                .defines
                .iter()
                .map(|(name, value)| format!("-D{name}={value}")),
        );
        arguments.extend(inputs.arguments.iter().cloned());
        arguments.extend(sources.order().iter().cloned());
        arguments
    }

    /// Verilator's configuration for counters, which makes them writable from outside.
    fn counter_options(&self) -> String {
        let lines = self.counters.iter().map(|(module, register)| {
            format!("public_flat_rw -module \"{module}\" -var \"{register}\"\n")
        });
        std::iter::once("`verilator_config\n".to_string())
            .chain(lines)
            .collect()
    }

    /// Hash of all inputs of the library.
    fn hash(&self, toolchain: &Toolchain, inputs: &Inputs) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &[u8]| compile::add(&mut hasher, part);
        let flags = self.flags().arguments();
        add(&SHIM_VERSION.to_le_bytes());
        add(compile::shim_text().as_bytes());
        add(toolchain.verilator_version().as_bytes());
        add(toolchain.compiler_identity(&flags).as_bytes());
        add(format!("{:?}", self.optimise).as_bytes());
        for argument in self.verilator_arguments(inputs).iter().chain(&flags) {
            add(argument.as_bytes());
        }
        add(b"state");
        add(self.counter_options().as_bytes());
        for name in &self.rams {
            add(name.as_bytes());
        }
        add(b"dpi");
        for name in &self.dpi {
            add(name.as_bytes());
        }
        for import in self.imports {
            add(import.name.as_bytes());
            add(import.signature().as_bytes());
        }
        add(b"link");
        for argument in &self.link_args {
            add(argument.as_bytes());
        }
        for sources in [Some(&inputs.sources), inputs.cpp.as_ref()]
            .into_iter()
            .flatten()
        {
            add(b"files");
            for name in sources.order().iter().chain(sources.include_dirs()) {
                add(name.as_bytes());
            }
            for (name, text) in sources.texts() {
                add(name.as_bytes());
                add(text);
            }
        }
        hasher.finalize()
    }

    /// Builds the model in `folder`.
    fn fill(
        &self,
        toolchain: &Toolchain,
        cache: &ModelCache,
        (inputs, key): (&Inputs, &str),
        folder: &Path,
        progress: &mut dyn FnMut(BuildEvent),
    ) -> Result<(), Error> {
        let sources = &inputs.sources;
        let [generated, tree, cpp] = ["generated", "sources", "cpp"].map(|name| folder.join(name));
        for made in [&generated, &tree, &cpp] {
            fs::create_dir(made).map_err(Error::io("create", made))?;
        }
        // Verilator reads copies. The key covers the copies, and messages contain their names.
        sources.write(&tree)?;
        if let Some(sources) = &inputs.cpp {
            sources.write(&cpp)?;
        }

        progress(BuildEvent::Verilating);
        let counters = generated.join(COUNTERS);
        fs::write(&counters, self.counter_options()).map_err(Error::io("write", &counters))?;
        let mut verilate = toolchain.verilate();
        verilate
            .current_dir(&tree)
            .args(self.verilator_arguments(inputs))
            .args([
                &format!("../generated/{COUNTERS}"),
                "--Mdir",
                "../generated",
            ]);
        let verilated = {
            let _token = tokens::acquire();
            compile::run(&self.name, "verilation", &mut verilate)
        };
        verilated.map_err(|error| match error {
            Error::Command {
                model,
                stage,
                status,
                command,
                output,
            } => Error::Command {
                model,
                stage,
                status,
                command,
                output: sources.with_paths(&output),
            },
            other => other,
        })?;
        // Verilator does not report a full disk.
        let room = folder.join("room");
        fs::write(&room, [0; 1 << 16]).map_err(Error::io("write", &room))?;
        fs::remove_file(&room).map_err(Error::io("remove", &room))?;
        self.check_dependencies(toolchain, sources, &tree, &generated)?;

        let read = |file: &str| {
            let path = generated.join(file);
            fs::read_to_string(&path).map_err(Error::io("read", &path))
        };
        let ports = generated::ports(&read("Vmodel.h")?);
        let functions = generated::dpi_functions(
            &self.name,
            &generated,
            &self.dpi,
            self.imports,
            inputs.cpp.is_some(),
        )?;
        let handle = ports.iter().find(|port| port.name == HANDLE_PORT);
        let handle_is_usable = handle.is_some_and(|port| port.direction == 0 && port.width == 64);
        if !handle_is_usable && (handle.is_some() || !functions.canonical.is_empty()) {
            return Err(Error::NoHandlePort {
                model: self.name.clone(),
                top: self.top.clone(),
            });
        }
        let runtime = generated::runtime_files(&read("Vmodel_classes.mk")?);
        let state = if self.counters.is_empty() {
            Vec::new()
        } else {
            layout::places(&self.name, &generated, &self.counters, &self.rams)?
        };
        let tables = generated::tables(
            SHIM_VERSION,
            &ports,
            &functions,
            self.trace,
            self.coverage,
            &state,
        );

        let jobs = self
            .jobs
            .or_else(|| thread::available_parallelism().ok().map(usize::from))
            .unwrap_or(1);
        let job = compile::Job {
            model: &self.name,
            toolchain,
            flags: self.flags(),
            jobs,
            generated: &generated,
            work: folder,
            cpp: inputs.cpp.as_ref().map(|sources| (sources, &*cpp)),
            link: &self.link_args,
            key,
        };
        let headers = (&*tables, &*functions.ordinary);
        job.library(cache, headers, &runtime, &folder.join(LIBRARY), progress)?;
        for made in [&generated, &tree, &cpp] {
            fs::remove_dir_all(made).map_err(Error::io("remove", made))?;
        }
        Ok(())
    }

    /// Returns an error if the model reads files that its key does not cover.
    fn check_dependencies(
        &self,
        toolchain: &Toolchain,
        sources: &Sources,
        tree: &Path,
        generated: &Path,
    ) -> Result<(), Error> {
        let path = generated.join("Vmodel__ver.d");
        let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        let Some((_, dependencies)) = text.split_once(" : ") else {
            return Err(Error::Generated {
                model: self.name.clone(),
                file: "Vmodel__ver.d".into(),
                what: "list of dependencies".into(),
            });
        };
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let (tools, copies) = (real(&toolchain.include_dir()), real(tree));
        for dependency in dependencies.replace("\\ ", "\0").split_whitespace() {
            let found = real(&tree.join(dependency.replace('\0', " ")));
            let is_tool = found.starts_with(&tools)
                || found
                    .file_name()
                    .is_some_and(|name| name.to_string_lossy().starts_with("verilator"));
            if !is_tool
                && !found.ends_with(COUNTERS)
                && !found.starts_with(&copies)
                && !sources.has(&found)
            {
                return Err(Error::UntrackedSource {
                    model: self.name.clone(),
                    path: found,
                });
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Build<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Build")
            .field("name", &self.name)
            .field("top", &self.top)
            .finish_non_exhaustive()
    }
}
