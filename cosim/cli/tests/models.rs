//! `alcor build`, `alcor clean`, and what `alcor doctor` says of models: over a repository of a few small sources.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use alcor_test_repository::Repository;
use jobserver::Client;
use rand::{Rng, SeedableRng, rngs::StdRng};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

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

/// A repository with the simulator's stand-in for its hardware, and a cache of models.
struct Checkout {
    repository: Repository,
    models: PathBuf,
}

impl Checkout {
    fn new() -> Self {
        let repository = Repository::of_stand_in(CONFIGS);
        let models = repository.path().join("models");
        fs::create_dir(repository.path().join("run")).unwrap();
        Self { repository, models }
    }

    /// Another clone with the same cache.
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
            .current_dir(self.repository.path())
            .env("ALCOR_ROOT", self.repository.path())
            .env("ALCOR_MODELS", &self.models)
            // Other builds on the machine take no compilers away.
            .env("XDG_RUNTIME_DIR", self.repository.path().join("run"));
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
        let entries = fs::read_dir(&self.models).unwrap().map(Result::unwrap);
        for entry in entries.filter(|entry| entry.path().is_dir()) {
            let used = entry.path().join("used");
            let files = if used.is_file() {
                vec![used]
            } else {
                fs::read_dir(entry.path())
                    .unwrap()
                    .map(|file| file.unwrap().path())
                    .collect()
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
    let clone = Checkout::new();
    // Every failure is told, and stops nothing else.
    let (code, out, err) = clone.alcor(&["build", "bad", "cosim:one", "worse", "two?coverage=1"]);
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
    assert_eq!(clone.models(), ["one", "two"]);
    let (code, out, err) = clone.alcor(&["build", "one"]);
    assert_eq!((code, &*out, &*err), (0, "1 of 1 models are ready\n", ""));

    let (_, out, _) = clone.alcor(&["doctor"]);
    let line = out
        .lines()
        .find(|line| line.contains("ok       models"))
        .unwrap();
    assert!(
        line.contains("(2 models, ") && line.ends_with("/models"),
        "{line}"
    );

    // What was just used stays.
    let (code, out, _) = clone.alcor(&["clean"]);
    assert!(code == 0 && out.contains("freed 0.0 MB (0 models"), "{out}");
    clone.age(15);
    clone.alcor(&["build", "two?coverage=1"]);
    let (_, out, _) = clone.alcor(&["clean", "--dry-run"]);
    assert!(
        out.contains("  one-") && out.contains("would free") && out.contains("(1 models"),
        "{out}"
    );
    assert_eq!(clone.models(), ["one", "two"]);
    let (_, out, _) = clone.alcor(&["clean", "--days", "30"]);
    assert!(out.contains("(0 models"), "{out}");
    clone.alcor(&["clean"]);
    assert_eq!(clone.models(), ["two"]);

    // A model of sources that are gone.
    let (_, out, _) = clone.alcor(&["clean", "--outdated"]);
    assert!(out.contains("(0 models"), "{out}");
    clone.repository.edit("hw/dpi/sim_top.sv");
    let (_, out, _) = clone.alcor(&["clean", "--outdated"]);
    assert!(
        out.contains("  two-") && out.contains("freed") && out.contains("(1 models"),
        "{out}"
    );
    let (_, out, _) = clone.alcor(&["clean", "--all"]);
    assert!(
        out.contains("0.0 MB (0 models, 0 object files) stay"),
        "{out}"
    );
}

#[test]
fn wrong_names_are_told_before_anything_is_built() {
    let clone = Checkout::new();
    let (code, _, err) = clone.alcor(&["build", "one", "none", "two?speed=1"]);
    assert_eq!(code, 2, "{err}");
    assert!(
        err.contains("no configuration `none`; there are: bad, one, two"),
        "{err}"
    );
    assert!(err.contains("no option `speed`"), "{err}");
    assert!(!clone.models.exists());
    assert_eq!(clone.alcor(&["build"]).0, 2);
}

/// Models in a cache: the name of each entry and the bytes of its library.
fn libraries(models: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(models).into_iter().flatten().flatten();
    let library = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        let library = fs::read(entry.path().join("model.so")).ok()?;
        Some((name, library))
    };
    entries.filter_map(library).collect()
}

/// What builds have left behind in a cache.
fn left(models: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(models.join(".building")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Builds of two clones in one cache, each of the same model, killed at random moments: no broken model or object stays in
/// the cache, and nothing beside them.
#[test]
fn builds_of_clones_that_share_a_cache_can_be_killed() {
    let kills = if env::var("ALCOR_FULL").is_ok_and(|full| full == "1") {
        50
    } else {
        20
    };
    let reference = Checkout::new();
    assert_eq!(reference.alcor(&["build", "one"]).0, 0);
    let whole = libraries(&reference.models);
    assert_eq!(whole.len(), 1);

    let seed = rand::random();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let clone = Checkout::new();
    let clones = [clone.copy(), clone];
    let scratch = clones[0].repository.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let start = |clone: &Checkout| {
        let mut command = clone.command(&["build", "one"]);
        command.stderr(Stdio::piped()).stdout(Stdio::null());
        command.env("TMPDIR", &scratch);
        // Compilers are in the group, too.
        command.process_group(0).spawn().unwrap()
    };
    for round in 0..kills / 2 {
        let mut children = clones.each_ref().map(start);
        thread::sleep(Duration::from_millis(random.random_range(0..1500)));
        for child in &mut children {
            // The process alone, whose compilers go on, or all of them.
            let pid = Pid::from_child(child);
            let _ = if random.random() {
                kill_process(pid, Signal::KILL)
            } else {
                kill_process_group(pid, Signal::KILL)
            };
            child.wait().unwrap();
        }
        for (name, library) in libraries(&clones[0].models) {
            assert!(whole[&name] == library, "round {round}: {name} is broken");
        }
        if round % 5 == 4 {
            // Compilers of a killed build go on for some time.
            let end = Instant::now() + Duration::from_secs(30);
            while {
                let (code, out, err) = clones[0].alcor(&["clean", "--all"]);
                assert_eq!(code, 0, "{err}");
                assert!(out.contains("(0 models, 0 object files) stay"), "{out}");
                !left(&clones[0].models).is_empty()
            } {
                assert!(Instant::now() < end, "{:?}", left(&clones[0].models));
            }
        }
    }
    let says = clones.each_ref().map(start).map(|child| {
        let output = child.wait_with_output().unwrap();
        let says = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{says}");
        says
    });
    // Of two that want the same model, one builds it at most.
    let verilated = says.iter().filter(|says| says.contains("verilating"));
    assert!(verilated.count() <= 1, "{says:?}");
    assert!(libraries(&clones[0].models) == whole);
    assert!(left(&clones[0].models).is_empty());
    assert_eq!(fs::read_dir(scratch).unwrap().count(), 0);
}

/// `alcor clean --all` takes nothing away that a build is about to use.
#[test]
fn a_cache_can_be_cleaned_while_models_are_built() {
    let clone = Checkout::new();
    let is_over = AtomicBool::new(false);
    let cleanings = thread::scope(|scope| {
        let cleaning = scope.spawn(|| {
            let mut cleanings = 0;
            while !is_over.load(Ordering::Relaxed) {
                let (code, _, err) = clone.alcor(&["clean", "--all"]);
                assert_eq!(code, 0, "{err}");
                cleanings += 1;
                thread::sleep(Duration::from_millis(100));
            }
            cleanings
        });
        let (code, _, err) = clone.alcor(&["build", "one", "two"]);
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(code, 0, "{err}");
        cleaning.join().unwrap()
    });
    assert!(cleanings > 5, "{cleanings}");
    assert!(left(&clone.models).is_empty());
}

/// Waits for a process, and ends it if that takes too long.
fn within(mut child: Child, limit: Duration) -> Option<Output> {
    let end = Instant::now() + limit;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        thread::sleep(Duration::from_millis(20));
    }
    Some(child.wait_with_output().unwrap())
}

/// The right to run a compiler comes back when the compiler fails: to this process, and to those it shares the right with.
#[test]
fn compilers_that_fail_give_their_tokens_back() {
    let clone = Checkout::new();
    let compiler = clone.repository.path().join("broken-compiler");
    let script = "#!/bin/sh\ncase \" $* \" in *\" -c \"*) exit 1;; esac\nexec g++ \"$@\"\n";
    clone.repository.write("broken-compiler", script);
    fs::set_permissions(&compiler, Permissions::from_mode(0o755)).unwrap();
    const TOKENS: usize = 2;
    let server = Client::new(TOKENS).unwrap();
    for has_server in [false, true] {
        let mut command = clone.command(&["build", "one", "two", "one?coverage=1"]);
        command.env("CXX", &compiler).stderr(Stdio::piped());
        command.stdout(Stdio::null());
        if has_server {
            server.configure(&mut command);
        }
        let output = within(command.spawn().unwrap(), Duration::from_secs(60));
        let output = output.expect("no build waits for a token that does not come back");
        let says = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{says}");
        assert_eq!(says.matches("could not be built").count(), 3, "{says}");
        assert_eq!(server.available().unwrap(), TOKENS);
    }
    assert!(left(&clone.models).is_empty());
}

/// A build on a full disk fails with the reason, leaves nothing behind, and succeeds once there is room.
#[test]
fn a_full_disk_fails_a_build_and_breaks_no_model() {
    let clone = Checkout::new();
    fs::create_dir(&clone.models).unwrap();
    // A name space for the mount, which ends with the script.
    let script = "set -e
        mount -t tmpfs -o size=64k none models
        echo mounted
        for size in 64k 600k; do
            mount -o remount,size=$size none models
            if \"$0\" build one; then exit 9; fi
            find models -type d -path '*/.building/*'
        done
        mount -o remount,size=200m none models
        \"$0\" build one
        exec \"$0\" build one";
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--map-root-user", "sh", "-c", script, ALCOR])
        .current_dir(clone.repository.path())
        .env("ALCOR_ROOT", clone.repository.path())
        .env("ALCOR_MODELS", &clone.models)
        .env("XDG_RUNTIME_DIR", clone.repository.path().join("run"));
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return alcor_skips::skip(&format!("unshare (util-linux): {error}")),
    };
    let [out, err] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let Some(out) = out.strip_prefix("mounted\n") else {
        return alcor_skips::skip(&format!("no file system can be mounted: {err}"));
    };
    assert_eq!(output.status.code(), Some(0), "{err}");
    let ready = |built: usize| format!("{built} of 1 models are ready\n");
    assert_eq!(out, ready(0).repeat(2) + &ready(1).repeat(2));
    let failures = err.split("could not be built").skip(1);
    let of_space = failures.filter(|says| says.contains("No space left on device"));
    assert_eq!(of_space.count(), 2, "{err}");
    assert_eq!(err.matches("model one: built in").count(), 1, "{err}");
}
