//! `alcor build`, `alcor clean`, and what `alcor doctor` says of models: over a repository of a few small sources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

const ALCOR: &str = env!("CARGO_BIN_EXE_alcor");

/// Two configurations that can be built, and two with a parameter that the top module lacks.
const CONFIGS: &str = "
[one]
summary = 'The stand-in'
params = { RANKS = 1, NODE_BYTES = 8192 }
[two]
summary = 'The stand-in with two ranks'
params = { RANKS = 2, NODE_BYTES = 8192 }
[bad]
summary = 'A parameter that there is not'
params = { RANKS = 1, NODE_BYTES = 8192, NOTHING = 1 }
[worse]
summary = 'Another one'
params = { RANKS = 2, NODE_BYTES = 8192, NEVER = 1 }
";

/// A repository with the simulator's stand-in for its hardware, the tools of the real one, and a cache of its own.
struct Repository {
    folder: TempDir,
    models: PathBuf,
}

impl Repository {
    fn new() -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for made in ["hw/core", "hw/dpi", "hw/common/rtl", "target"] {
            fs::create_dir_all(root.join(made)).unwrap();
        }
        let sv = here.join("../engine/tests/sv");
        fs::copy(sv.join("stand_in.sv"), root.join("hw/core/stand_in.sv")).unwrap();
        fs::copy(sv.join("sim_top.sv"), root.join("hw/dpi/sim_top.sv")).unwrap();
        for (file, text) in [
            ("core/configs.toml", CONFIGS),
            ("core/blocks", "core\n"),
            ("core/files.f", "core/stand_in.sv\n"),
            ("dpi/files.f", "dpi/sim_top.sv\n"),
        ] {
            fs::write(root.join("hw").join(file), text).unwrap();
        }
        let tools = fs::canonicalize(here.join("../../target/tools")).unwrap();
        std::os::unix::fs::symlink(tools, root.join("target/tools")).unwrap();
        let models = root.join("models");
        Self { folder, models }
    }

    /// A copy with the same cache.
    fn copy(&self) -> Self {
        let models = self.models.clone();
        Self {
            models,
            ..Self::new()
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(ALCOR);
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("ALCOR_ROOT", self.folder.path())
            .env("ALCOR_MODELS", &self.models);
        command
    }

    fn alcor(&self, arguments: &[&str]) -> (i32, String, String) {
        let Output {
            status,
            stdout,
            stderr,
        } = self.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code().unwrap(), text(stdout), text(stderr))
    }

    /// Names of the models in the cache, without their keys.
    fn models(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.models).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names = names.filter_map(|name| Some(name.rsplit_once('-')?.0.to_owned()));
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    /// Makes the last use of all models and objects lie so many days back.
    fn age(&self, days: u64) {
        let then = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
        for entry in fs::read_dir(&self.models).unwrap().map(Result::unwrap) {
            let used = entry.path().join("used");
            let files = match used.is_file() {
                true => vec![used],
                false => fs::read_dir(entry.path())
                    .unwrap()
                    .map(|file| file.unwrap().path())
                    .collect(),
            };
            for file in files.iter().filter(|file| file.is_file()) {
                let file = fs::File::options().append(true).open(file).unwrap();
                file.set_modified(then).unwrap();
            }
        }
    }
}

#[test]
fn models_are_built_shown_and_removed() {
    let repository = Repository::new();
    // Every failure is told, and stops nothing else.
    let (code, out, err) =
        repository.alcor(&["build", "bad", "cosim:one", "worse", "two?coverage=1"]);
    assert_eq!(code, 1, "{err}");
    assert!(out.contains("2 of 4 models are ready"), "{out}");
    for said in [
        "alcor: cosim:bad: verilation",
        "alcor: cosim:worse: verilation",
        "NOTHING",
        "NEVER",
        "model one: built in",
        "model two with coverage: built in",
        "model bad: could not be built",
    ] {
        assert!(err.contains(said), "{said}: {err}");
    }
    assert_eq!(repository.models(), ["one", "two"]);
    let (code, out, err) = repository.alcor(&["build", "one"]);
    assert_eq!((code, &*out, &*err), (0, "1 of 1 models are ready\n", ""));

    let (_, out, _) = repository.alcor(&["doctor"]);
    let line = out
        .lines()
        .find(|line| line.contains("ok       models"))
        .unwrap();
    assert!(
        line.contains("(2 models, ") && line.ends_with("/models"),
        "{line}"
    );

    // What was just used stays.
    let (code, out, _) = repository.alcor(&["clean"]);
    assert!(code == 0 && out.contains("freed 0.0 MB (0 models"), "{out}");
    repository.age(15);
    repository.alcor(&["build", "two?coverage=1"]);
    let (_, out, _) = repository.alcor(&["clean", "--dry-run"]);
    assert!(
        out.contains("  one-") && out.contains("would free") && out.contains("(1 models"),
        "{out}"
    );
    assert_eq!(repository.models(), ["one", "two"]);
    let (_, out, _) = repository.alcor(&["clean", "--days", "30"]);
    assert!(out.contains("(0 models"), "{out}");
    repository.alcor(&["clean"]);
    assert_eq!(repository.models(), ["two"]);

    // A model of sources that are gone.
    let source = repository.folder.path().join("hw/dpi/sim_top.sv");
    let text = fs::read_to_string(&source).unwrap();
    let (_, out, _) = repository.alcor(&["clean", "--outdated"]);
    assert!(out.contains("(0 models"), "{out}");
    fs::write(&source, text + "// edited\n").unwrap();
    let (_, out, _) = repository.alcor(&["clean", "--outdated"]);
    assert!(
        out.contains("  two-") && out.contains("freed") && out.contains("(1 models"),
        "{out}"
    );
    let (_, out, _) = repository.alcor(&["clean", "--all"]);
    assert!(
        out.contains("0.0 MB (0 models, 0 object files) stay"),
        "{out}"
    );
}

#[test]
fn wrong_names_are_told_before_anything_is_built() {
    let repository = Repository::new();
    let (code, _, err) = repository.alcor(&["build", "one", "none", "two?speed=1"]);
    assert_eq!(code, 2, "{err}");
    assert!(
        err.contains("no configuration `none`; there are: bad, one, two"),
        "{err}"
    );
    assert!(err.contains("no option `speed`"), "{err}");
    assert!(!repository.models.exists());
    assert_eq!(repository.alcor(&["build"]).0, 2);
}

/// Builds of several processes and clones in one cache, killed at any moment, leave a cache that works and nothing
/// beside it.
#[test]
fn builds_of_clones_that_share_a_cache_can_be_killed() {
    let repository = Repository::new();
    let clone = repository.copy();
    let start = |repository: &Repository, config: &str| {
        let mut command = repository.command(&["build", config]);
        command
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let start_all = || {
        [
            start(&repository, "one"),
            start(&clone, "one"),
            start(&clone, "two"),
        ]
    };
    for round in 0..12 {
        let mut children = start_all();
        thread::sleep(Duration::from_millis(150 * round));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
    let says = start_all().map(|child| {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    });
    // Of two that want the same model, one builds it at most.
    let verilated = says[..2].iter().filter(|says| says.contains("verilating"));
    assert!(verilated.count() <= 1, "{says:?}");
    assert_eq!(repository.models(), ["one", "two"]);
    let left: Vec<_> = fs::read_dir(repository.models.join(".building"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
