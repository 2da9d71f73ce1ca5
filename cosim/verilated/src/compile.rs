//! Compiles the generated C++, the shim and the Verilator runtime, and links them into a library.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc;
use std::thread;

use crate::generated;
use crate::tokens;
use crate::{BuildEvent, Error, ModelCache, Optimise, Sources, Toolchain, TraceFormat};

const SHIM: &str = include_str!("shim/shim.cpp");
const HOOKS: &str = include_str!("shim/hooks.h");
const LZ4: &str = include_str!("shim/lz4.h");
const ZLIB: &str = include_str!("shim/zlib.h");

/// The only exported symbol of a model's library. Not even templates of the C++ library are shared
/// between models.
const EXPORTS: &str = "{ global: alcor_model_api; local: *; };\n";

/// Largest size of a compilation unit, in bytes of generated C++. Units are compiled in parallel, and
/// an edit recompiles few of them. Headers take a compiler half a second a unit, and 2 MiB about four.
const UNIT_BYTES: u64 = 2 << 20;

/// Headers that follow [`HOOKS`] in the precompiled header of all models: reading them takes a
/// compiler longer than compiling a small block.
const HEADERS: &str = "#include \"verilated.h\"
#include \"verilated_syms.h\"
#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
";
/// The model's own header, included next. All files of the model include its parts.
const MODEL_HEADER: &str = "Vmodel__pch.h";

/// Number of lines of a failed command's output in an error.
const OUTPUT_LINES: usize = 40;

/// Text of all files that the bindings add to a model.
pub(crate) fn shim_text() -> String {
    [SHIM, HOOKS, HEADERS, UNOPTIMISED, LZ4, ZLIB, EXPORTS].join("\0")
}

/// Settings that determine how the C++ is compiled.
#[derive(Debug, Clone)]
pub(crate) struct Flags {
    pub(crate) optimise: Optimise,
    pub(crate) trace: Option<TraceFormat>,
    pub(crate) coverage: bool,
    /// Additional arguments of the build.
    pub(crate) extra: Vec<String>,
}

impl Flags {
    /// Compiler arguments of all files. They contain no path.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let coverage = u32::from(self.coverage);
        let [trace, fst, vcd] = [
            self.trace.is_some(),
            self.trace == Some(TraceFormat::Fst),
            self.trace == Some(TraceFormat::Vcd),
        ]
        .map(u32::from);
        // Hidden symbols: several models live in one process, each with its own runtime.
        let mut arguments: Vec<String> = [
            "-std=gnu++17",
            "-fPIC",
            "-fvisibility=hidden",
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
            format!("-DVM_TRACE_FST={fst}"),
            format!("-DVM_TRACE_VCD={vcd}"),
            "-DVM_TRACE_SAIF=0".into(),
        ]);
        if self.optimise == Optimise::Debug {
            arguments.push("-g".into());
        }
        arguments.extend(self.extra.iter().cloned());
        arguments
    }

    fn level(&self, pace: Pace) -> &'static str {
        match (self.optimise, pace) {
            (Optimise::Debug, _) => "-O0",
            (Optimise::Quick, Pace::Model | Pace::User) => "-O1",
            // The runtime is the same for all models, and is compiled once.
            (Optimise::Fast, Pace::Model | Pace::User) | (_, Pace::Runtime) => "-O2",
        }
    }
}

/// Execution frequency of the code of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Code of the model, which runs in every cycle.
    Model,
    /// Code of Verilator's runtime.
    Runtime,
    /// A C++ source of the build.
    User,
}

/// Prefix for code that runs once per instance, such as constructors. Optimising such code costs
/// more time than it saves.
const UNOPTIMISED: &str = "#ifdef __clang__
#pragma clang optimize off
#else
#pragma GCC optimize(\"O0\")
#endif
";

/// Returns whether a file's code runs once per instance, by Verilator's naming of files.
fn is_slow(file: &Path) -> bool {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    stem.ends_with("__Slow")
}

/// One call of the compiler.
struct Unit {
    /// Path of the file, relative to the compiler's working folder.
    file: PathBuf,
    /// Size of the code in bytes, for the order of compilation.
    bytes: u64,
    pace: Pace,
    /// Name of the object in the cache: a hash over all inputs of the object.
    object: String,
}

/// Files that are compiled together by one call of the compiler.
#[derive(Debug, PartialEq)]
struct Group<'a> {
    bytes: u64,
    fast: Vec<&'a str>,
    slow: Vec<&'a str>,
}

/// Forms groups. A small model is one group. In a large model, files stay together when other files
/// change in size, so that an edit of a block changes few groups.
fn groups<'a>(fast: &'a [(String, u64)], slow: &'a [(String, u64)]) -> Vec<Group<'a>> {
    let bytes = fast.iter().chain(slow).map(|(_, bytes)| bytes).sum();
    if bytes <= UNIT_BYTES {
        let [fast, slow] =
            [fast, slow].map(|files| files.iter().map(|(file, _)| &**file).collect());
        return vec![Group { bytes, fast, slow }];
    }
    let mut groups = Vec::new();
    for (files, is_slow) in [(fast, false), (slow, true)] {
        groups.extend(runs(files).into_iter().map(|(bytes, run)| {
            let (fast, slow) = if is_slow {
                (Vec::new(), run)
            } else {
                (run, Vec::new())
            };
            Group { bytes, fast, slow }
        }));
    }
    groups
}

/// Splits an ordered list of files into runs.
fn runs(files: &[(String, u64)]) -> Vec<(u64, Vec<&str>)> {
    let mut runs: Vec<(u64, Vec<&str>)> = Vec::new();
    for (file, bytes) in files {
        // A quarter of the names begin a run, chosen by hash, unless the previous run is small.
        let begins = blake3::hash(file.as_bytes()).as_bytes()[0] < 64;
        match runs.last_mut() {
            Some((all, run))
                if (!begins || *all < UNIT_BYTES / 4) && *all + bytes <= UNIT_BYTES =>
            {
                *all += bytes;
                run.push(file);
            }
            _ => runs.push((*bytes, vec![file])),
        }
    }
    runs
}

/// Hashes of generated files, each including all files that it includes.
struct Closures<'a> {
    folder: &'a Path,
    /// Hash of each file alone, and the generated files that it includes.
    files: BTreeMap<String, (blake3::Hash, Vec<String>)>,
}

impl Closures<'_> {
    fn of(folder: &Path) -> Closures<'_> {
        Closures {
            folder,
            files: BTreeMap::new(),
        }
    }

    /// Adds the files `start`, and all generated files that they include, to `hasher`, in order of
    /// name.
    fn add(&mut self, start: &[&str], hasher: &mut blake3::Hasher) -> Result<(), Error> {
        let mut found: BTreeSet<String> = start.iter().map(|&file| file.into()).collect();
        let mut left: Vec<String> = found.iter().cloned().collect();
        while let Some(file) = left.pop() {
            for include in &self.file(&file)?.1 {
                if found.insert(include.clone()) {
                    left.push(include.clone());
                }
            }
        }
        for file in &found {
            add(hasher, file.as_bytes());
            add(hasher, self.file(file)?.0.as_bytes());
        }
        Ok(())
    }

    fn file(&mut self, name: &str) -> Result<&(blake3::Hash, Vec<String>), Error> {
        if !self.files.contains_key(name) {
            let path = self.folder.join(name);
            let text = fs::read(&path).map_err(Error::io("read", &path))?;
            let includes = included(&text)
                .filter(|include| self.folder.join(include).is_file())
                .collect();
            let known = (blake3::hash(&text), includes);
            self.files.insert(name.into(), known);
        }
        Ok(&self.files[name])
    }
}

/// Quoted names after `#include`.
fn included(text: &[u8]) -> impl Iterator<Item = String> {
    text.split(|&byte| byte == b'\n').filter_map(|line| {
        let rest = line.trim_ascii().strip_prefix(b"#")?.trim_ascii_start();
        let rest = rest.strip_prefix(b"include")?.trim_ascii_start();
        let name = rest.strip_prefix(b"\"")?;
        let end = name.iter().position(|&byte| byte == b'"')?;
        String::from_utf8(name[..end].to_vec()).ok()
    })
}

/// Adds a part to a hash, so that different lists of parts have different hashes.
pub(crate) fn add(hasher: &mut blake3::Hasher, part: &[u8]) {
    hasher.update(&(part.len() as u64).to_le_bytes());
    hasher.update(part);
}

fn length(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |data| data.len())
}

/// Runs a command and waits for its end.
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
    /// Folder of the code that Verilator generated.
    pub(crate) generated: &'a Path,
    /// Temporary folder on the file system of the cache.
    pub(crate) work: &'a Path,
    /// C++ sources, and the folder with their copies.
    pub(crate) cpp: Option<(&'a Sources, &'a Path)>,
    /// Arguments of the linker.
    pub(crate) link: &'a [String],
    /// The model's key.
    pub(crate) key: &'a str,
}

impl Job<'_> {
    /// Compiles the generated code and links it to `library`.
    pub(crate) fn library(
        &self,
        cache: &ModelCache,
        (tables, imports): (&str, &str),
        runtime: &[String],
        library: &Path,
        progress: &mut dyn FnMut(BuildEvent),
    ) -> Result<(), Error> {
        let generated = self.generated;
        write(&generated.join("tables.h"), tables)?;
        write(&generated.join("imports.h"), imports)?;
        write(&generated.join("hooks.h"), HOOKS)?;
        write(&generated.join("alcor_shim.cpp"), SHIM)?;
        let mut units = self.model_units()?;
        units.extend(self.runtime_units(runtime)?);
        units.extend(self.user_units());
        let objects = self.compile_all(cache, units, progress)?;

        progress(BuildEvent::Linking);
        let exports = generated.join("exports.map");
        write(&exports, EXPORTS)?;
        let mut link = self.toolchain.compile();
        link.env("TMPDIR", self.work).args([
            "-shared",
            "-pthread",
            "-Wl,-Bsymbolic",
            "-Wl,--exclude-libs,ALL",
            "-Wl,-z,defs",
        ]);
        link.arg(format!("-Wl,--version-script={}", exports.display()))
            .arg("-o");
        link.arg(library).args(&objects).args(self.link);
        if self.toolchain.is_clang() {
            // Clang calls libatomic for some atomic operations.
            link.args(["-Wl,--as-needed", "-latomic"]);
        }
        if self.flags.trace == Some(TraceFormat::Fst) && !self.brings_fst_writer() {
            link.arg("-lz");
        }
        let _token = tokens::acquire();
        run(self.model, "link", &mut link)
    }

    /// Returns whether this Verilator's FST writer can use the compression headers of this crate.
    fn brings_fst_writer(&self) -> bool {
        self.toolchain.include_dir().join("fstcpp").is_dir()
    }

    /// A hash of the inputs that all objects of a pace share.
    fn hasher(&self, pace: Pace) -> blake3::Hasher {
        let arguments = self.flags.arguments();
        let mut hasher = blake3::Hasher::new();
        add(&mut hasher, self.toolchain.verilator_version().as_bytes());
        add(
            &mut hasher,
            self.toolchain.compiler_identity(&arguments).as_bytes(),
        );
        add(&mut hasher, self.flags.level(pace).as_bytes());
        for argument in &arguments {
            add(&mut hasher, argument.as_bytes());
        }
        hasher
    }

    /// Compilation units of the generated code and the shim.
    fn model_units(&self) -> Result<Vec<Unit>, Error> {
        let mut closures = Closures::of(self.generated);
        let mut units = Vec::new();
        let named = |file: PathBuf| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            (name.into_owned(), length(&file))
        };
        let files = generated::cpp_files(self.generated)?;
        let (slow, fast): (Vec<PathBuf>, _) = files.into_iter().partition(|file| is_slow(file));
        let [fast, slow] =
            [fast, slow].map(|files| files.into_iter().map(named).collect::<Vec<_>>());
        for Group { bytes, fast, slow } in groups(&fast, &slow) {
            let includes = |files: &[&str]| -> String {
                files
                    .iter()
                    .map(|name| format!("#include \"{name}\"\n"))
                    .collect()
            };
            let mut text = includes(&fast);
            if !slow.is_empty() {
                text += UNOPTIMISED;
                text += &includes(&slow);
            }
            let mut hasher = self.hasher(Pace::Model);
            for part in [HOOKS, HEADERS, &text] {
                add(&mut hasher, part.as_bytes());
            }
            closures.add(&[&fast[..], &slow, &[MODEL_HEADER]].concat(), &mut hasher)?;
            let file = PathBuf::from(format!("alcor_unit_{}.cpp", units.len()));
            write(&self.generated.join(&file), &text)?;
            units.push(Unit {
                file,
                bytes,
                pace: Pace::Model,
                object: object_name(&hasher),
            });
        }
        Ok(units)
    }

    /// Compilation units of the runtime. Models with equal flags share the objects.
    fn runtime_units(&self, names: &[String]) -> Result<Vec<Unit>, Error> {
        let include = self.toolchain.include_dir();
        if self.flags.trace.is_some() && self.brings_fst_writer() {
            write(&self.generated.join("lz4.h"), LZ4)?;
            write(&self.generated.join("zlib.h"), ZLIB)?;
        }
        let unit = |name: &String| {
            let mut hasher = self.hasher(Pace::Runtime);
            for text in [HOOKS, LZ4, ZLIB, name] {
                add(&mut hasher, text.as_bytes());
            }
            let file = include.join(format!("{name}.cpp"));
            Unit {
                bytes: length(&file),
                file,
                pace: Pace::Runtime,
                object: object_name(&hasher),
            }
        };
        Ok(names.iter().map(unit).collect())
    }

    /// Compilation units of the C++ sources of the build. They may include their own headers and
    /// the model's, so each model has its own objects.
    fn user_units(&self) -> Vec<Unit> {
        let Some((sources, folder)) = self.cpp else {
            return Vec::new();
        };
        let unit = |name: &String| {
            let mut hasher = self.hasher(Pace::User);
            for text in [self.key, name] {
                add(&mut hasher, text.as_bytes());
            }
            let file = folder.join(name);
            Unit {
                bytes: length(&file),
                file,
                pace: Pace::User,
                object: object_name(&hasher),
            }
        };
        sources.order().iter().map(unit).collect()
    }

    /// Compiles units in parallel. Takes existing objects from the cache.
    fn compile_all(
        &self,
        cache: &ModelCache,
        mut units: Vec<Unit>,
        progress: &mut dyn FnMut(BuildEvent),
    ) -> Result<Vec<PathBuf>, Error> {
        let total = units.len();
        // Starts with the largest unit, so that no large unit remains at the end.
        units.sort_by_key(|unit| std::cmp::Reverse(unit.bytes));
        let queue = Mutex::new(units.iter());

        progress(BuildEvent::Compiling { done: 0, total });
        let is_missing = |unit: &Unit| unit.pace == Pace::Model && !cache.has_object(&unit.object);
        let header = if units.iter().any(is_missing) {
            self.shared_header(cache)?
        } else {
            PathBuf::new()
        };
        let mut objects = Vec::new();
        let mut reused = 0;
        thread::scope(|scope| {
            let (sender, results) = mpsc::channel();
            for _ in 0..self.jobs.min(total) {
                let (sender, queue, header) = (sender.clone(), &queue, &header);
                scope.spawn(move || {
                    let next = || {
                        let mut queue = queue.lock().unwrap_or_else(|poison| poison.into_inner());
                        queue.next()
                    };
                    while let Some(unit) = next() {
                        let result = cache.object(&unit.object, self.work, |object| {
                            self.compile_one(unit, header, object)
                        });
                        if sender.send(result).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            for (done, result) in results.into_iter().enumerate() {
                let (object, was_there) = result?;
                objects.push(object);
                reused += usize::from(was_there);
                progress(BuildEvent::Compiling {
                    done: done + 1,
                    total,
                });
            }
            Ok(())
        })?;
        progress(BuildEvent::Compiled {
            compiled: total - reused,
            reused,
        });
        // The link order must not depend on the order in which compilers finish.
        objects.sort();
        Ok(objects)
    }

    /// The precompiled header of all models. The compiler finds the precompiled form beside the
    /// header, as `.gch`.
    fn shared_header(&self, cache: &ModelCache) -> Result<PathBuf, Error> {
        let text = [HOOKS, HEADERS].concat();
        let mut hasher = self.hasher(Pace::Model);
        add(&mut hasher, text.as_bytes());
        let name = format!("{}.h", &hasher.finalize().to_hex()[..40]);
        let (header, _) = cache.object(&name, self.work, |file| write(file, &text))?;
        cache.object(&format!("{name}.gch"), self.work, |file| {
            let mut compile = self.compiler(Pace::Model);
            if self.toolchain.is_clang() {
                // The modification time of a file records its last use.
                compile.args(["-Xclang", "-fno-pch-timestamp"]);
            }
            compile.args(["-x", "c++-header"]);
            compile.arg(&header).arg("-o").arg(file);
            let _token = tokens::acquire();
            run(self.model, "compilation", &mut compile)
        })?;
        Ok(header)
    }

    /// The compiler with the arguments that all files of a pace share.
    fn compiler(&self, pace: Pace) -> Command {
        let runtime = self.toolchain.include_dir();
        let mut compile = self.toolchain.compile();
        compile
            .current_dir(self.generated)
            // Files that a killed compiler leaves are swept together with the build.
            .env("TMPDIR", self.work)
            .args(self.flags.arguments())
            .arg(self.flags.level(pace));
        // Objects contain no path of this machine.
        for (path, name) in [(&*runtime, "verilator"), (self.generated, ".")] {
            compile.arg(format!("-ffile-prefix-map={}={name}", path.display()));
        }
        compile.arg("-I.").arg("-I").arg(&runtime);
        compile.arg("-I").arg(runtime.join("vltstd"));
        compile
    }

    fn compile_one(&self, unit: &Unit, header: &Path, object: &Path) -> Result<(), Error> {
        let mut compile = self.compiler(unit.pace);
        let is_fst_writer = |stem| stem == "verilated_fst_c";
        let cpp = (unit.pace == Pace::User).then_some(self.cpp).flatten();
        if let Some((sources, folder)) = cpp {
            compile.arg(format!("-ffile-prefix-map={}/=", folder.display()));
            for name in sources.include_dirs() {
                compile.arg("-I").arg(folder.join(name));
            }
        }
        match unit.pace {
            Pace::Model => {
                compile.arg("-include").arg(header);
                compile.args(["-include", MODEL_HEADER]);
            }
            Pace::Runtime => {
                if unit.file.file_stem().is_some_and(is_fst_writer) {
                    compile.arg("-DALCOR_FST_RUNTIME");
                }
                compile.args(["-include", "hooks.h"]);
            }
            Pace::User => {}
        }
        compile.arg("-c").arg(&unit.file).arg("-o").arg(object);
        let _token = tokens::acquire();
        run(self.model, "compilation", &mut compile)
    }
}

fn object_name(hasher: &blake3::Hasher) -> String {
    format!("{}.o", &hasher.finalize().to_hex()[..40])
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::io("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_found() {
        let text = b"#include <a>\n#include \"b.h\"\n  # include \"c.h\" // c\nint include;\n";
        assert_eq!(included(text).collect::<Vec<_>>(), ["b.h", "c.h"]);
    }

    #[test]
    fn a_file_that_grows_moves_few_others() {
        let files = |grown: u64| -> Vec<(String, u64)> {
            (0..60)
                .map(|n| {
                    (
                        format!("Vmodel_block__{n}.cpp"),
                        400_000 + if n == 3 { grown } else { 0 },
                    )
                })
                .collect()
        };
        let (small, large) = (files(0), files(300_000));
        let (before, after) = (groups(&small, &[]), groups(&large, &[]));
        let same = after.iter().filter(|group| before.contains(group));
        assert!(same.count() + 3 >= after.len(), "{after:?}");
        assert!(before.iter().all(|group| group.bytes <= UNIT_BYTES));
        assert!(before.len() < 20, "{}", before.len());
        let all = groups(&small[..3], &small[3..5]);
        assert_eq!((all.len(), all[0].fast.len(), all[0].slow.len()), (1, 3, 2));
        let apart = groups(&small[..3], &small[3..]);
        assert!(
            apart.len() > 1
                && apart
                    .iter()
                    .all(|group| group.fast.is_empty() != group.slow.is_empty())
        );
    }

    #[test]
    fn a_closure_covers_what_is_included_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("a.cpp", "#include \"a.h\"\n#include \"verilated.h\"\n");
        write("a.h", "#include \"deep.h\"\n");
        write("deep.h", "int deep;\n");
        write("other.h", "int other;\n");
        let hash = || {
            let mut hasher = blake3::Hasher::new();
            Closures::of(folder.path())
                .add(&["a.cpp"], &mut hasher)
                .unwrap();
            hasher.finalize()
        };
        let first = hash();
        write("other.h", "int another;\n");
        assert_eq!(hash(), first);
        write("deep.h", "int deeper;\n");
        assert_ne!(hash(), first);
    }
}
