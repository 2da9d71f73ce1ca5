//! The C interface as C sees it: installed, compiled against with the machine's compilers, and run against a simulated cluster.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

/// The crate's folder.
const HERE: &str = env!("CARGO_MANIFEST_DIR");
const C: &[&str] = &["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"];
const CPP: &[&str] = &["-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic"];

/// Where cargo puts what it builds for this test.
fn deps() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().to_owned()
}

/// What else cargo has built into the profile's folder.
fn built(name: &str, by: &str) -> PathBuf {
    let path = deps().with_file_name(name);
    assert!(path.is_file(), "{path:?} is not there: `{by}` builds it");
    path
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command that has to succeed; what it prints.
fn succeed(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{out}{err}",
        output.status
    );
    out
}

/// A folder that the interface is installed in, under a name with a past: it was moved after it was installed.
fn installed() -> &'static Path {
    static PREFIX: OnceLock<TempDir> = OnceLock::new();
    static MOVED: OnceLock<PathBuf> = OnceLock::new();
    MOVED.get_or_init(|| {
        let folder = PREFIX.get_or_init(|| tempfile::tempdir().unwrap()).path();
        let install = Path::new(HERE).join("install");
        let says = succeed(Command::new(install).arg(folder.join("first")).arg(deps()));
        assert!(says.contains("cargo install --locked --path /"), "{says}");
        fs::rename(folder.join("first"), folder.join("moved")).unwrap();
        folder.join("moved")
    })
}

fn pkg_config(arguments: &[&str]) -> Vec<String> {
    let folder = installed().join("lib/pkgconfig");
    let said = succeed(
        Command::new("pkg-config")
            .env("PKG_CONFIG_PATH", folder)
            .args(arguments)
            .arg("alcor"),
    );
    said.split_whitespace().map(str::to_owned).collect()
}

/// A program that was compiled, in a folder of its own.
struct Program {
    folder: TempDir,
    path: PathBuf,
}

fn compile(source: &Path, with: &[&str], libraries: &[String]) -> Program {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    let compiler = if source.extension().is_some_and(|end| end == "cpp") {
        "c++"
    } else {
        "cc"
    };
    succeed(
        Command::new(compiler)
            .args(with)
            .args(["-g", "-O1", "-o"])
            .args([&path, source])
            .args(pkg_config(&["--cflags"]))
            .args(libraries)
            .arg("-lm"),
    );
    Program { folder, path }
}

/// With the shared library.
fn shared(source: &str, with: &[&str]) -> Program {
    let mut libraries = pkg_config(&["--libs"]);
    libraries.push(format!("-Wl,-rpath,{}", installed().join("lib").display()));
    compile(&Path::new(HERE).join(source), with, &libraries)
}

/// Runs a program under `alcor run`; it must end.
fn run(config: &str, program: &Program, arguments: &[&str]) -> Output {
    run_with(&["--config", config], program, arguments)
}

fn run_with(options: &[&str], program: &Program, arguments: &[&str]) -> Output {
    let alcor = built(
        "alcor",
        "cargo build --release -p alcor-cli, or without --release as this test was",
    );
    let mut command = Command::new("timeout");
    command
        .arg("120")
        .arg(alcor)
        .arg("run")
        .args(options)
        .args(["--no-prefix", "--"])
        .arg(&program.path)
        .args(arguments)
        .env("ALCOR_ROOT", Path::new(HERE).join("../.."))
        .current_dir(program.folder.path());
    command.output().unwrap()
}

/// Has the models built, which takes longer than a program may.
fn warm() {
    static WARM: OnceLock<()> = OnceLock::new();
    WARM.get_or_init(|| {
        let alcor = built("alcor", "cargo build --release -p alcor-cli");
        let root = Path::new(HERE).join("../..");
        for config in ["rma2", "rma4"] {
            let mut warm = Command::new(&alcor);
            succeed(
                warm.args(["run", "--config", config, "--", "true"])
                    .env("ALCOR_ROOT", &root),
            );
        }
    });
}

/// Runs a program that finds all right; the lines that it prints.
fn runs(config: &str, program: &Program, arguments: &[&str]) -> BTreeSet<String> {
    warm();
    let output = run(config, program, arguments);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{}\n{out}{err}", output.status);
    assert_eq!(err, "");
    out.lines().map(str::to_owned).collect()
}

fn of_ranks(ranks: u32, line: impl Fn(u32) -> String) -> BTreeSet<String> {
    (0..ranks).map(line).collect()
}

/// `alcor serve` as another process.
struct Served {
    child: Child,
    uri: String,
}

impl Served {
    fn start(config: &str) -> Served {
        warm();
        let mut child = Command::new(built("alcor", "cargo build --release -p alcor-cli"))
            .args(["serve", "--config", config])
            .env("ALCOR_ROOT", Path::new(HERE).join("../.."))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut says = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut says).unwrap();
        let uri = says.trim().rsplit(' ').next().unwrap().to_owned();
        Served { child, uri }
    }

    /// Runs a program once a rank, each started by hand; the lines that all print.
    fn runs(
        &self,
        program: &Program,
        ranks: u32,
        start: impl Fn(&mut Command, u32),
    ) -> BTreeSet<String> {
        let started: Vec<Child> = (0..ranks)
            .map(|rank| {
                let mut command = Command::new("timeout");
                command.arg("120").arg(&program.path);
                for name in ["ALCOR_CLUSTER", "ALCOR_RANK", "ALCOR_SIZE"] {
                    command.env_remove(name);
                }
                start(&mut command, rank);
                let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
                piped.spawn().unwrap()
            })
            .collect();
        let mut lines = BTreeSet::new();
        for child in started {
            let output = child.wait_with_output().unwrap();
            let (out, err) = (text(&output.stdout), text(&output.stderr));
            assert!(output.status.success(), "{}\n{out}{err}", output.status);
            lines.extend(out.lines().map(str::to_owned));
        }
        lines
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// ------------------------------------------------------------ what is installed

#[test]
fn the_header_is_what_the_sources_have() {
    let header = built("examples/header", "cargo build -p alcor-capi --examples");
    succeed(Command::new(header).arg("--check"));
}

/// The functions that the header declares.
fn functions() -> BTreeSet<String> {
    let header = fs::read_to_string(Path::new(HERE).join("include/alcor.h")).unwrap();
    let declared = header.lines().filter_map(|line| {
        let rest = line
            .strip_prefix("alcor_result_t ")
            .or(line.strip_prefix("const char *"))?;
        rest.split_once('(').map(|(name, _)| name.to_owned())
    });
    declared.collect()
}

#[test]
fn the_library_has_what_the_header_declares_and_nothing_else() {
    let library = installed().join("lib/libalcor.so");
    let symbols = succeed(
        Command::new("nm")
            .args(["-D", "--defined-only"])
            .arg(library),
    );
    let names = symbols
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2));
    let found: BTreeSet<String> = names.map(str::to_owned).collect();
    assert_eq!(found, functions());
    assert!(found.len() > 50, "{found:?}");
}

#[test]
fn every_function_is_called_by_a_program_that_runs_here() {
    let programs = [
        "examples/ring.c",
        "examples/pi.c",
        "tests/calls.c",
        "tests/misuse.c",
        "tests/failures.c",
        "tests/version.c",
    ];
    let sources = programs.map(|name| fs::read_to_string(Path::new(HERE).join(name)).unwrap());
    let is_called = |name: &String| {
        sources
            .iter()
            .any(|source| source.contains(&format!("{name}(")))
    };
    let missing: Vec<String> = functions()
        .into_iter()
        .filter(|name| !is_called(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Without a folder, cargo is asked for the libraries; here, something else answers to its name.
#[test]
fn what_is_to_be_installed_is_built_where_it_is_not_named() {
    let folder = tempfile::tempdir().unwrap();
    let (cargo, prefix, target) = (
        folder.path().join("cargo"),
        folder.path().join("prefix"),
        folder.path().join("target"),
    );
    let script = format!(
        "#!/bin/sh\n[ \"$*\" = 'build --release --package alcor-capi' ] || exit 9\n\
         mkdir -p \"$CARGO_TARGET_DIR/release\"\ncp {}/libalcor_c.so {}/libalcor_c.a \"$CARGO_TARGET_DIR/release\"\n",
        deps().display(),
        deps().display()
    );
    fs::write(&cargo, script).unwrap();
    succeed(Command::new("chmod").arg("+x").arg(&cargo));
    let path = format!(
        "{}:{}",
        folder.path().display(),
        std::env::var("PATH").unwrap()
    );
    let mut install = Command::new(Path::new(HERE).join("install"));
    succeed(
        install
            .arg(&prefix)
            .env("PATH", path)
            .env("CARGO_TARGET_DIR", &target),
    );
    for name in [
        "include/alcor.h",
        "lib/libalcor.a",
        "lib/libalcor.so",
        "lib/libalcor.so.0",
        "lib/pkgconfig/alcor.pc",
    ] {
        assert!(prefix.join(name).is_file(), "{name}");
    }
    // Nothing to install to.
    let output = Command::new(Path::new(HERE).join("install"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("PREFIX [FOLDER]"));
}

#[test]
fn the_version_is_the_same_everywhere() {
    let program = shared("tests/version.c", C);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(succeed(&mut Command::new(&program.path)).trim(), version);
    assert_eq!(pkg_config(&["--modversion"]), [version]);
    // What the program asks for at run time carries the number of the binary interface, and no more.
    let needs = succeed(Command::new("readelf").arg("-d").arg(&program.path));
    assert!(needs.contains("[libalcor.so.0]"), "{needs}");
}

// ------------------------------------------------------------ programs

#[test]
fn puts_and_messages_go_round_the_ring() {
    let program = shared("examples/ring.c", C);
    let first = runs("rma2", &program, &[]);
    assert_eq!(first.len(), 2, "{first:?}");
    for (rank, line) in first.iter().enumerate() {
        let begins = format!("rank {rank} of 2: the ring is whole, cycle ");
        assert!(line.starts_with(&begins), "{line}");
    }
    // Simulated time is the same in every run.
    assert_eq!(runs("rma2", &program, &[]), first);
    assert_eq!(runs("rma4", &program, &[]).len(), 4);
}

#[test]
fn collectives_find_pi() {
    let program = shared("examples/pi.c", C);
    let line = |ranks, strips| {
        [format!(
            "pi is 3.141592653590, by {ranks} ranks and {strips} strips"
        )]
    };
    assert_eq!(
        runs("rma2", &program, &["1000000"]),
        line(2, 1_000_000).into()
    );
    assert_eq!(
        runs("rma4", &program, &["1000000"]),
        line(4, 1_000_000).into()
    );
    // It finds what is wrong: no strips.
    let failed = run("rma2", &program, &["0"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(text(&failed.stderr).contains("how many strips?"));
}

#[test]
fn a_stencil_in_cpp_is_as_computed_alone() {
    let program = shared("examples/stencil.cpp", CPP);
    let line = |ranks| {
        [format!(
            "{} cells, 20 steps, {ranks} ranks: as computed alone",
            ranks * 32
        )]
    };
    assert_eq!(runs("rma2", &program, &[]), line(2).into());
    assert_eq!(runs("rma4", &program, &[]), line(4).into());
}

#[test]
fn the_readme_is_a_program() {
    let readme = fs::read_to_string(Path::new(HERE).join("README.md")).unwrap();
    let (_, rest) = readme.split_once("```c\n").unwrap();
    let (source, _) = rest.split_once("```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sum.c");
    fs::write(&file, source).unwrap();
    let mut libraries = pkg_config(&["--libs"]);
    libraries.push(format!("-Wl,-rpath,{}", installed().join("lib").display()));
    let program = compile(&file, C, &libraries);
    let expected = of_ranks(4, |rank| format!("rank {rank}: all ranks add up to 6"));
    assert_eq!(runs("rma4", &program, &[]), expected);
}

#[test]
fn a_program_links_with_the_static_library() {
    let mut libraries = pkg_config(&["--libs", "--static"]);
    let archive = installed().join("lib/libalcor.a").display().to_string();
    for library in &mut libraries {
        if library == "-lalcor" {
            library.clone_from(&archive);
        }
    }
    let program = compile(&Path::new(HERE).join("examples/ring.c"), C, &libraries);
    let needs = succeed(Command::new("readelf").arg("-d").arg(&program.path));
    assert!(!needs.contains("libalcor"), "{needs}");
    assert_eq!(runs("rma2", &program, &[]).len(), 2);
}

#[test]
fn every_call_does_what_the_header_says() {
    let program = shared("tests/calls.c", C);
    let line = |rank| format!("rank {rank}: all calls");
    assert_eq!(runs("rma2", &program, &[]), of_ranks(2, line));
    assert_eq!(runs("rma4", &program, &[]), of_ranks(4, line));
}

#[test]
fn the_others_survive_a_rank_that_dies() {
    warm();
    let program = shared("tests/failures.c", C);
    let output = run_with(&["--survive", "--config", "rma4"], &program, &[]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(3), "{out}\n{err}");
    let found: BTreeSet<String> = out.lines().map(str::to_owned).collect();
    let expected = of_ranks(3, |rank| format!("rank {rank} has survived"));
    assert_eq!(found, expected, "{err}");
}

#[test]
fn ranks_started_by_hand_find_a_cluster_that_is_served() {
    let program = shared("tests/calls.c", C);
    let served = Served::start("rma2");
    let expected = of_ranks(2, |rank| format!("rank {rank}: all calls"));
    // Who they are stands in the environment.
    let found = served.runs(&program, 2, |command, rank| {
        command
            .env("ALCOR_CLUSTER", &served.uri)
            .env("ALCOR_SIZE", "2")
            .env("ALCOR_RANK", rank.to_string());
    });
    assert_eq!(found, expected);
    // The same cluster again, by its URI.
    let found = served.runs(&program, 2, |command, rank| {
        command.args([&served.uri, &rank.to_string(), "2"]);
    });
    assert_eq!(found, expected);
}

#[test]
fn whatever_is_wrong_is_an_error() {
    let line = |rank| format!("rank {rank}: all refused");
    let program = shared("tests/misuse.c", C);
    assert_eq!(runs("rma2", &program, &[]), of_ranks(2, line));
    // And nothing of C's is read or written that should not be.
    let sanitized: Vec<&str> = C
        .iter()
        .copied()
        .chain(["-fsanitize=address,undefined", "-fno-sanitize-recover"])
        .collect();
    for source in ["tests/misuse.c", "tests/calls.c"] {
        let program = shared(source, &sanitized);
        assert_eq!(runs("rma2", &program, &[]).len(), 2);
    }
}

#[test]
fn a_second_thread_is_told_and_an_abort_reaches_the_peer() {
    let flags: Vec<&str> = C.iter().copied().chain(["-pthread"]).collect();
    let program = shared("tests/threads.c", &flags);
    let line = |rank| format!("rank {rank}: threads and abort");
    assert_eq!(runs("rma2", &program, &["waiting"]), of_ranks(2, line));
}

#[test]
fn a_process_that_nobody_launched_is_told_what_to_do() {
    let program = shared("examples/ring.c", C);
    let names = std::env::vars_os().map(|(name, _)| name);
    let foreign: Vec<OsString> = names
        .filter(|name| name.to_string_lossy().starts_with("ALCOR_"))
        .collect();
    let mut command = Command::new(&program.path);
    for name in foreign {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let says = text(&output.stderr);
    assert!(
        says.contains("ALCOR_ERR_NOT_LAUNCHED") && says.contains("alcor run"),
        "{says}"
    );
}
