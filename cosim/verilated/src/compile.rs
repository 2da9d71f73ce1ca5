//! Compiles generated C++, the shim and the Verilator runtime, and links them to a library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc;
use std::thread;

use crate::cache::Cache;
use crate::generated;
use crate::{BuildEvent, Error, Optimise, Toolchain};

const SHIM: &str = include_str!("shim/shim.cpp");
const HOOKS: &str = include_str!("shim/hooks.h");
const LZ4: &str = include_str!("shim/lz4.h");
const ZLIB: &str = include_str!("shim/zlib.h");

/// The one symbol that a model's library shows; not even templates of the C++ library are shared between models.
const EXPORTS: &str = "{ global: alcor_model_api; local: *; };\n";

/// Bytes of generated C++ that are compiled at once, more or less. The headers of the runtime alone take a compiler a second, and
/// most generated files far less, so they are taken together; what is large stays apart, to be compiled in parallel.
const UNIT_BYTES: u64 = 1 << 20;

/// How much of a failed command's output an error carries.
const OUTPUT_LINES: usize = 40;

/// The text of all that the bindings add to a model.
pub(crate) fn shim_text() -> String {
    [SHIM, HOOKS, LZ4, ZLIB, EXPORTS].join("\0")
}

/// What decides how the C++ is compiled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flags {
    pub(crate) optimise: Optimise,
    pub(crate) trace: bool,
    pub(crate) coverage: bool,
}

impl Flags {
    /// The compiler arguments that all files share.
    pub(crate) fn arguments(self) -> Vec<String> {
        let (trace, coverage) = (u32::from(self.trace), u32::from(self.coverage));
        // Hidden symbols and no unique ones: several models, each with a runtime of its own, live in one process.
        let mut arguments: Vec<String> = [
            "-std=gnu++17",
            "-fPIC",
            "-fvisibility=hidden",
            "-fno-gnu-unique",
            "-faligned-new",
            "-pthread",
            "-w",
        ]
        .map(String::from)
        .to_vec();
        arguments.extend([
            "-DVERILATOR=1".into(),
            "-DVM_SC=0".into(),
            "-DVM_TIMING=0".into(),
            format!("-DVM_COVERAGE={coverage}"),
            format!("-DVM_TRACE={trace}"),
            format!("-DVM_TRACE_FST={trace}"),
            "-DVM_TRACE_VCD=0".into(),
            "-DVM_TRACE_SAIF=0".into(),
        ]);
        if self.optimise == Optimise::Debug {
            arguments.push("-g".into());
        }
        arguments
    }

    fn level(self, file: &Path) -> &'static str {
        match self.optimise {
            // What runs once, as constructors do, is not worth the compiler's time.
            Optimise::Fast if is_slow(file) => "-O0",
            Optimise::Fast => "-O2",
            Optimise::Debug => "-O0",
        }
    }
}

/// Whether Verilator says of a file that it runs but once.
fn is_slow(file: &Path) -> bool {
    file.file_stem()
        .is_some_and(|stem| stem.to_string_lossy().ends_with("__Slow"))
}

/// A file to compile, and how much there is to it, with what it includes of the model.
struct Source {
    file: PathBuf,
    bytes: u64,
}

fn length(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |data| data.len())
}

/// Files that include the given ones, as many at a time as are worth a run of the compiler.
fn units(files: &[PathBuf], folder: &Path) -> Result<Vec<Source>, Error> {
    let mut units = Vec::new();
    for (suffix, slow) in [("", false), ("__Slow", true)] {
        let mut texts: Vec<(u64, String)> = Vec::new();
        for file in files.iter().filter(|file| is_slow(file) == slow) {
            let bytes = length(file);
            let line = format!("#include \"{}\"\n", file.display());
            match texts.last_mut() {
                Some((all, text)) if *all + bytes <= UNIT_BYTES => {
                    *all += bytes;
                    text.push_str(&line);
                }
                _ => texts.push((bytes, line)),
            }
        }
        for (number, (bytes, text)) in texts.into_iter().enumerate() {
            let file = folder.join(format!("alcor_unit_{number}{suffix}.cpp"));
            write(&file, &text)?;
            units.push(Source { file, bytes });
        }
    }
    Ok(units)
}

/// Runs a command to its end.
pub(crate) fn run(model: &str, stage: &'static str, command: &mut Command) -> Result<(), Error> {
    let program = PathBuf::from(command.get_program());
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(Error::io("run", program))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .concat();
    let lines: Vec<&str> = text.lines().collect();
    Err(Error::Command {
        model: model.into(),
        stage,
        status: output.status.to_string(),
        command: command_line(command),
        output: lines[lines.len().saturating_sub(OUTPUT_LINES)..].join("\n"),
    })
}

fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The compilation of one model.
pub(crate) struct Job<'a> {
    pub(crate) model: &'a str,
    pub(crate) toolchain: &'a Toolchain,
    pub(crate) flags: Flags,
    pub(crate) jobs: usize,
}

impl Job<'_> {
    /// Compiles the code in `generated` and links it to `library`.
    pub(crate) fn library(
        &self,
        cache: &Cache<'_>,
        generated: &Path,
        tables: &str,
        runtime: &[String],
        library: &Path,
        progress: &mut dyn FnMut(BuildEvent),
    ) -> Result<(), Error> {
        write(&generated.join("tables.h"), tables)?;
        write(&generated.join("hooks.h"), HOOKS)?;
        let mut files = generated::cpp_files(generated)?;
        let shim = generated.join("alcor_shim.cpp");
        write(&shim, SHIM)?;
        files.push(shim);
        let model_objects =
            self.compile_all(units(&files, generated)?, generated, generated, progress)?;
        let runtime_folder = self.runtime(cache, runtime, progress)?;

        progress(BuildEvent::Linking);
        let exports = generated.join("exports.map");
        write(&exports, EXPORTS)?;
        let mut link = self.toolchain.compile();
        link.args([
            "-shared",
            "-pthread",
            "-Wl,-Bsymbolic",
            "-Wl,--exclude-libs,ALL",
            "-Wl,-z,defs",
        ]);
        link.arg(format!("-Wl,--version-script={}", exports.display()))
            .arg("-o");
        link.arg(library).args(&model_objects);
        link.args(
            runtime
                .iter()
                .map(|name| runtime_folder.join(format!("{name}.o"))),
        );
        if self.flags.trace && !self.brings_fst_writer() {
            link.arg("-lz");
        }
        run(self.model, "link", &mut link)
    }

    /// Whether this Verilator's FST writer is the one that the compression headers of this crate serve.
    fn brings_fst_writer(&self) -> bool {
        self.toolchain.include_dir().join("fstcpp").is_dir()
    }

    /// The objects of the Verilator runtime: the same for all models with the same flags.
    fn runtime(
        &self,
        cache: &Cache<'_>,
        names: &[String],
        progress: &mut dyn FnMut(BuildEvent),
    ) -> Result<PathBuf, Error> {
        let include = self.toolchain.include_dir();
        let mut hasher = blake3::Hasher::new();
        let mut parts = vec![[HOOKS, LZ4, ZLIB].join("\0"), include.display().to_string()];
        parts.push(self.toolchain.verilator_version().into());
        parts.push(self.toolchain.compiler_version().into());
        parts.extend(self.flags.arguments());
        parts.push(format!("{:?}", self.flags.optimise));
        parts.extend(names.iter().cloned());
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let name = format!("runtime-{}", &hasher.finalize().to_hex()[..32]);
        let entry = cache.entry(
            &name,
            "hooks.h",
            || {},
            |folder| {
                write(&folder.join("hooks.h"), HOOKS)?;
                if self.flags.trace && self.brings_fst_writer() {
                    write(&folder.join("lz4.h"), LZ4)?;
                    write(&folder.join("zlib.h"), ZLIB)?;
                }
                let source = |name: &String| {
                    let file = include.join(format!("{name}.cpp"));
                    let bytes = length(&file);
                    Source { file, bytes }
                };
                let sources = names.iter().map(source).collect();
                self.compile_all(sources, folder, folder, progress)
                    .map(drop)
            },
        )?;
        Ok(entry.folder)
    }

    /// Compiles files in parallel, each to an object in `target`.
    fn compile_all(
        &self,
        mut files: Vec<Source>,
        include: &Path,
        target: &Path,
        progress: &mut dyn FnMut(BuildEvent),
    ) -> Result<Vec<PathBuf>, Error> {
        let total = files.len();
        // The largest first, so that none is left over at the end.
        files.sort_by_key(|source| std::cmp::Reverse(source.bytes));
        let objects: Vec<PathBuf> = files
            .iter()
            .map(|source| {
                target
                    .join(source.file.file_stem().unwrap_or_default())
                    .with_extension("o")
            })
            .collect();
        let queue = Mutex::new(files.iter().zip(&objects));

        progress(BuildEvent::Compiling { done: 0, total });
        thread::scope(|scope| {
            let (sender, results) = mpsc::channel();
            for _ in 0..self.jobs.min(total) {
                let (sender, queue) = (sender.clone(), &queue);
                scope.spawn(move || {
                    let next = || {
                        let mut queue = queue.lock().unwrap_or_else(|poison| poison.into_inner());
                        queue.next()
                    };
                    while let Some((source, object)) = next() {
                        let result = self.compile_one(&source.file, include, object);
                        if sender.send(result).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            for (done, result) in results.into_iter().enumerate() {
                result?;
                progress(BuildEvent::Compiling {
                    done: done + 1,
                    total,
                });
            }
            Ok(())
        })?;
        Ok(objects)
    }

    fn compile_one(&self, file: &Path, include: &Path, object: &Path) -> Result<(), Error> {
        let runtime = self.toolchain.include_dir();
        let mut compile = self.toolchain.compile();
        compile
            .args(self.flags.arguments())
            .arg(self.flags.level(file));
        compile
            .arg("-I")
            .arg(include)
            .arg("-I")
            .arg(&runtime)
            .arg("-I")
            .arg(runtime.join("vltstd"));
        if file
            .file_stem()
            .is_some_and(|stem| stem == "verilated_fst_c")
        {
            compile.arg("-DALCOR_FST_RUNTIME");
        }
        compile.arg("-include").arg(include.join("hooks.h"));
        compile.arg("-c").arg(file).arg("-o").arg(object);
        run(self.model, "compilation", &mut compile)
    }
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::io("write", path))
}
