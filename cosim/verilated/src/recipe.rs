//! What a model is built from, and the steps that build it.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use std::{fmt, fs};

use crate::abi::SHIM_VERSION;
use crate::cache::{Cache, Entry};
use crate::compile::{self, Flags};
use crate::generated::{self, HANDLE_PORT};
use crate::layout;
use crate::{Error, Model, Toolchain};

/// The library's file name inside a cache entry.
const LIBRARY: &str = "model.so";
/// Verilator's configuration for counters, among the generated files.
const COUNTERS: &str = "counters.vlt";

/// How the C++ of a model is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Optimise {
    /// For speed of simulation.
    #[default]
    Fast,
    /// For speed of compilation, with debug information.
    Debug,
}

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
        /// How many are done.
        done: usize,
        /// How many there are.
        total: usize,
    },
    /// The library is being linked.
    Linking,
    /// The model was built.
    Done {
        /// How long it took.
        elapsed: Duration,
    },
}

impl fmt::Display for BuildEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildEvent::CacheHit => write!(f, "found in the cache"),
            BuildEvent::Waiting => write!(f, "waiting for another build of the same model"),
            BuildEvent::Verilating => write!(f, "verilating"),
            BuildEvent::Compiling { done, total } => write!(f, "compiling {done}/{total}"),
            BuildEvent::Linking => write!(f, "linking"),
            BuildEvent::Done { elapsed } => write!(f, "built in {:.1} s", elapsed.as_secs_f64()),
        }
    }
}

/// A build of a model from SystemVerilog.
///
/// ```no_run
/// use verilated::{Build, BuildEvent, Toolchain};
///
/// # fn main() -> Result<(), verilated::Error> {
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
    sources: Vec<PathBuf>,
    include_dirs: Vec<PathBuf>,
    params: Vec<(String, String)>,
    defines: Vec<(String, String)>,
    assertions: bool,
    trace: bool,
    coverage: bool,
    dpi: Vec<String>,
    counters: Vec<(String, String)>,
    rams: Vec<String>,
    optimise: Optimise,
    jobs: Option<usize>,
    cache_dir: Option<PathBuf>,
    progress: Option<Box<dyn FnMut(BuildEvent) + 'a>>,
}

impl<'a> Build<'a> {
    /// A build of a model; `name` is for messages and for the folder in the cache.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            top: String::new(),
            sources: Vec::new(),
            include_dirs: Vec::new(),
            params: Vec::new(),
            defines: Vec::new(),
            assertions: true,
            trace: false,
            coverage: false,
            dpi: Vec::new(),
            counters: Vec::new(),
            rams: Vec::new(),
            optimise: Optimise::default(),
            jobs: None,
            cache_dir: None,
            progress: None,
        }
    }

    /// The top module.
    pub fn top(mut self, module: impl Into<String>) -> Self {
        self.top = module.into();
        self
    }

    /// Adds a source file (`.sv`, or `.vlt` with Verilator's configuration), in the order of compilation.
    pub fn source(mut self, path: impl Into<PathBuf>) -> Self {
        self.sources.push(path.into());
        self
    }

    /// Adds several source files.
    pub fn sources<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.sources.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Adds a folder in which `` `include `` files and modules are looked for.
    pub fn include_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.include_dirs.push(path.into());
        self
    }

    /// Overrides an integer parameter of the top module.
    pub fn param(mut self, name: impl Into<String>, value: impl Into<u64>) -> Self {
        // A plain decimal literal is 32-bit and signed; a value that needs more says so.
        let value = value.into();
        let text = if value <= i32::MAX as u64 {
            value.to_string()
        } else {
            format!("64'd{value}")
        };
        self.params.push((name.into(), text));
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

    /// Whether assertions are checked; on unless said otherwise.
    pub fn assertions(mut self, on: bool) -> Self {
        self.assertions = on;
        self
    }

    /// Whether instances can write FST traces; a model that can is slower even while no trace is written.
    pub fn trace(mut self, on: bool) -> Self {
        self.trace = on;
        self
    }

    /// Whether instances count coverage.
    pub fn coverage(mut self, on: bool) -> Self {
        self.coverage = on;
        self
    }

    /// Names a DPI import of the [canonical form](crate::Dpi). Its index in [`Dpi::call`](crate::Dpi::call) is its
    /// place in the order of these calls. A name that the model does not import is no error: it is never called.
    pub fn dpi(mut self, function: impl Into<String>) -> Self {
        self.dpi.push(function.into());
        self
    }

    /// Names a register of a module that counts cycles: it advances by one in each cycle, or stands. Models with such
    /// registers can be asked whether they are [steady](crate::Instance::is_steady).
    pub fn counter(mut self, module: impl Into<String>, register: impl Into<String>) -> Self {
        self.counters.push((module.into(), register.into()));
        self
    }

    /// Names unpacked arrays, in any module, that are written and read by address alone. They are left out when states
    /// are compared: what a write stores is decided by registers that are compared.
    pub fn ram(mut self, array: impl Into<String>) -> Self {
        self.rams.push(array.into());
        self
    }

    /// How the C++ is compiled.
    pub fn optimise(mut self, optimise: Optimise) -> Self {
        self.optimise = optimise;
        self
    }

    /// How many compilers run at the same time; as many as there are cores unless said otherwise.
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = Some(jobs);
        self
    }

    /// Where built models are kept; `target/models` of the workspace unless said otherwise.
    pub fn cache_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.cache_dir = Some(path.into());
        self
    }

    /// Is told of each step of the build.
    pub fn progress(mut self, listener: impl FnMut(BuildEvent) + 'a) -> Self {
        self.progress = Some(Box::new(listener));
        self
    }

    /// Builds the model, or takes it from the cache, and loads it.
    ///
    /// Several threads and processes may build at once, also the same model.
    ///
    /// # Errors
    /// If a source cannot be read, Verilator or the compiler refuses it (the error has the command and the end of its
    /// output), a DPI import does not have the canonical form, or the library cannot be loaded.
    pub fn build(mut self, toolchain: &Toolchain) -> Result<Model, Error> {
        let start = Instant::now();
        let mut progress = self.progress.take().unwrap_or_else(|| Box::new(|_| {}));
        self.check()?;
        for path in self.sources.iter_mut().chain(&mut self.include_dirs) {
            *path = std::path::absolute(&*path).map_err(Error::io("find", &*path))?;
        }
        let cache_dir = self
            .cache_dir
            .clone()
            .unwrap_or_else(|| toolchain.workspace().join("target/models"));
        let cache_dir = std::path::absolute(&cache_dir).map_err(Error::io("find", &cache_dir))?;
        let cache = Cache { folder: &cache_dir };

        // A source may change under a build that takes minutes; then what was built has the wrong key.
        const ATTEMPTS: usize = 3;
        for _ in 0..ATTEMPTS {
            let key = self.key(toolchain)?;
            let name = format!("{}-{}", self.name, &key.to_hex()[..32]);
            let mut waited = false;
            let built = {
                let progress = std::cell::RefCell::new(&mut progress);
                cache.entry(
                    &name,
                    LIBRARY,
                    || {
                        waited = true;
                        progress.borrow_mut()(BuildEvent::Waiting);
                    },
                    |folder| {
                        self.fill(toolchain, &cache, folder, key, &mut **progress.borrow_mut())
                    },
                )
            };
            match built {
                Ok(Entry { folder, hit }) => {
                    progress(if hit && !waited {
                        BuildEvent::CacheHit
                    } else {
                        BuildEvent::Done {
                            elapsed: start.elapsed(),
                        }
                    });
                    return Model::load(&self.name, &folder.join(LIBRARY), &self.dpi);
                }
                Err(Error::SourcesChanged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::SourcesChanged { model: self.name })
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
        if self.sources.is_empty() {
            return refused("the number of sources", "0", "at least one");
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
        }
    }

    /// The command line for Verilator, without the output folder.
    fn verilator_arguments(&self) -> Vec<String> {
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
        if self.trace {
            arguments.extend(["--trace-fst".into(), "--trace-structs".into()]);
        }
        if self.coverage {
            arguments.extend(
                ["--coverage-line", "--coverage-toggle", "--coverage-user"].map(String::from),
            );
            // Blocks that count are not taken apart, so what goes round through two parts of one seems to be a loop. It
            // settles all the same, and is only slower.
            arguments.push("-Wno-UNOPTFLAT".into());
        }
        // Where a large module occurs several times, its code is there once: half the code to compile and to keep in caches.
        arguments.extend(["--inline-mult".into(), "2000".into()]);
        arguments.push(match self.optimise {
            Optimise::Fast => "-O3".into(),
            Optimise::Debug => "-O1".into(),
        });
        arguments.extend(
            self.include_dirs
                .iter()
                .map(|path| format!("-I{}", path.display())),
        );
        arguments.extend(
            self.params
                .iter()
                .map(|(name, value)| format!("-G{name}={value}")),
        );
        arguments.extend(
            self.defines
                .iter()
                .map(|(name, value)| format!("-D{name}={value}")),
        );
        arguments.extend(self.sources.iter().map(|path| path.display().to_string()));
        arguments
    }

    /// Verilator's configuration for counters: they can be written from outside.
    fn counter_options(&self) -> String {
        let lines = self.counters.iter().map(|(module, register)| {
            format!("public_flat_rw -module \"{module}\" -var \"{register}\"\n")
        });
        std::iter::once("`verilator_config\n".to_string())
            .chain(lines)
            .collect()
    }

    /// Every file that the model may depend on.
    fn inputs(&self) -> Result<Vec<PathBuf>, Error> {
        let mut files = self.sources.clone();
        for folder in &self.include_dirs {
            let mut found: Vec<PathBuf> = fs::read_dir(folder)
                .map_err(Error::io("read include folder", folder))?
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| {
                    path.extension().is_some_and(|ext| {
                        ["sv", "svh", "v", "vh"].iter().any(|known| ext == *known)
                    })
                })
                .collect();
            found.sort();
            files.append(&mut found);
        }
        Ok(files)
    }

    /// The hash over all that the library depends on.
    fn key(&self, toolchain: &Toolchain) -> Result<blake3::Hash, Error> {
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &[u8]| {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        };
        add(&SHIM_VERSION.to_le_bytes());
        add(compile::shim_text().as_bytes());
        add(toolchain.verilator_version().as_bytes());
        add(toolchain.compiler_version().as_bytes());
        for argument in self
            .verilator_arguments()
            .iter()
            .chain(&self.flags().arguments())
        {
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
        for path in self.inputs()? {
            add(path.as_os_str().as_encoded_bytes());
            add(&fs::read(&path).map_err(Error::io("read source", &path))?);
        }
        Ok(hasher.finalize())
    }

    /// Builds into `folder`.
    fn fill(
        &self,
        toolchain: &Toolchain,
        cache: &Cache<'_>,
        folder: &Path,
        key: blake3::Hash,
        progress: &mut dyn FnMut(BuildEvent),
    ) -> Result<(), Error> {
        let generated = folder.join("generated");
        fs::create_dir(&generated).map_err(Error::io("create", &generated))?;

        progress(BuildEvent::Verilating);
        let counters = generated.join(COUNTERS);
        fs::write(&counters, self.counter_options()).map_err(Error::io("write", &counters))?;
        let mut verilate = toolchain.verilate();
        verilate
            .current_dir(folder)
            .args(self.verilator_arguments())
            .arg(&counters)
            .arg("--Mdir")
            .arg(&generated);
        compile::run(&self.name, "verilation", &mut verilate)?;
        self.check_dependencies(toolchain, folder, &generated)?;
        if self.key(toolchain)? != key {
            return Err(Error::SourcesChanged {
                model: self.name.clone(),
            });
        }

        let read = |file: &str| {
            let path = generated.join(file);
            fs::read_to_string(&path).map_err(Error::io("read", &path))
        };
        let ports = generated::ports(&read("Vmodel.h")?);
        let functions = generated::dpi_functions(&self.name, &generated, &self.dpi)?;
        let handle = ports.iter().find(|port| port.name == HANDLE_PORT);
        let handle_is_usable = handle.is_some_and(|port| port.direction == 0 && port.width == 64);
        if !handle_is_usable && (handle.is_some() || !functions.is_empty()) {
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
        };
        job.library(
            cache,
            &generated,
            &tables,
            &runtime,
            &folder.join(LIBRARY),
            progress,
        )?;
        fs::remove_dir_all(&generated).map_err(Error::io("remove", &generated))
    }

    /// Refuses a model that reads files which its key does not cover.
    fn check_dependencies(
        &self,
        toolchain: &Toolchain,
        folder: &Path,
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
        let tools = real(&toolchain.include_dir());
        let known: Vec<PathBuf> = self.inputs()?.iter().map(|path| real(path)).collect();
        for dependency in dependencies.replace("\\ ", "\0").split_whitespace() {
            let found = real(&folder.join(dependency.replace('\0', " ")));
            let is_tool = found.starts_with(&tools)
                || found
                    .file_name()
                    .is_some_and(|name| name.to_string_lossy().starts_with("verilator"));
            if !is_tool && !known.contains(&found) && !found.ends_with(COUNTERS) {
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
