//! The cache, the toolchain, and failing builds.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::support::{build, model, sv, toolchain};
use verimodel::{Build, BuildEvent, Error, Model, ModelCache, Sources, Toolchain};

fn events(build: Build<'_>) -> (Vec<BuildEvent>, Model) {
    let mut events = Vec::new();
    let mut keep = |event| events.push(event);
    let model = build
        .progress(&mut keep)
        .build(toolchain())
        .unwrap_or_else(|error| panic!("{error}"));
    (events, model)
}

/// Removes a model that only one run of a test needs from the cache.
fn discard(model: &Model) {
    let _ = fs::remove_dir_all(model.path().parent().unwrap());
}

#[test]
fn the_cache_is_hit_until_a_source_changes() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("counter.sv");
    fs::copy(sv("counter.sv"), &source).unwrap();
    let include = folder.path().join("include");
    fs::create_dir(&include).unwrap();
    fs::write(include.join("unused.svh"), "// one\n").unwrap();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("models");
    let build = || {
        Build::new("cached")
            .top("counter")
            .source(&source)
            .include_dir(&include)
            .cache_dir(&cache)
    };

    let (first, original) = events(build());
    assert_eq!(first[0], BuildEvent::Verilating);
    assert!(first.contains(&BuildEvent::Linking));
    assert!(matches!(first[first.len() - 1], BuildEvent::Done { .. }));
    let (again, same) = events(build());
    assert_eq!(
        (again, same.path()),
        (vec![BuildEvent::CacheHit], original.path())
    );

    fs::write(include.join("unused.svh"), "// two\n").unwrap();
    let (after_include, included) = events(build());
    assert_eq!(after_include[0], BuildEvent::Verilating);
    let changed = fs::read_to_string(&source)
        .unwrap()
        .replace("`define STEP 1", "`define STEP 2");
    fs::write(&source, changed).unwrap();
    let (after_source, changed) = events(build());
    assert_eq!(after_source[0], BuildEvent::Verilating);
    assert_eq!(events(build()).0, [BuildEvent::CacheHit]);
    [original, included, changed].iter().for_each(discard);
}

#[test]
fn copies_of_a_source_are_one_model() {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("models");
    let trees = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let built = trees.each_ref().map(|tree| {
        fs::create_dir(tree.path().join("rtl")).unwrap();
        fs::copy(sv("counter.sv"), tree.path().join("rtl/counter.sv")).unwrap();
        let source = tree.path().join("rtl/../rtl/counter.sv");
        // A source below the root, and one outside.
        [Some(tree), None].map(|root| {
            let build = Build::new("copied").top("counter").source(&source);
            let build = build
                .cache_dir(&cache)
                .define("ROOTED", root.is_some().to_string());
            events(match root {
                Some(root) => build.root(root.path().join("rtl/..")),
                None => build,
            })
        })
    });
    for place in [0, 1] {
        assert_eq!(built[1][place].0, [BuildEvent::CacheHit]);
        assert_eq!(built[0][place].1.key(), built[1][place].1.key());
        discard(&built[0][place].1);
    }
    assert_ne!(built[0][0].1.key(), built[0][1].1.key());
}

#[test]
fn sources_stay_as_they_were_read() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("counter.sv");
    fs::copy(sv("counter.sv"), &source).unwrap();
    let read = Sources::read(folder.path(), std::slice::from_ref(&source), &[]).unwrap();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("models");
    let key = || {
        let build = Build::new("kept")
            .top("counter")
            .snapshot(&read)
            .cache_dir(&cache);
        model(build).key().to_owned()
    };
    let first = key();
    fs::write(&source, "module nothing;\n").unwrap();
    assert_eq!(key(), first);
    assert_eq!(read.changed(), [fs::canonicalize(&source).unwrap()]);
}

/// Set in the process that `a_killed_build_is_swept` starts and kills.
const DOOMED: &str = "ALCOR_TEST_DOOMED_CACHE";

/// Builds until the process is killed, if the variable is set.
#[test]
fn a_build_to_be_killed() {
    let Some(cache) = std::env::var_os(DOOMED) else {
        return;
    };
    let stop = |event| {
        if let BuildEvent::Compiling { .. } = event {
            println!("compiling");
            thread::sleep(Duration::from_secs(600));
        }
    };
    let _ = build("wide")
        .cache_dir(cache)
        .progress(stop)
        .build(toolchain());
}

#[test]
fn a_build_keeps_its_cache_below_8_gigabytes() {
    let folder = tempfile::tempdir().unwrap();
    for (name, days) in [("old-0", 2), ("new-0", 0)] {
        let entry = folder.path().join(name);
        fs::create_dir(&entry).unwrap();
        // Sparse files: both exceed the limit, and use no disk space.
        let file = fs::File::create(entry.join("model.so")).unwrap();
        file.set_len(9_000_000_000).unwrap();
        let used = fs::File::create(entry.join("used")).unwrap();
        let day = Duration::from_secs(24 * 60 * 60);
        used.set_modified(SystemTime::now() - day * days).unwrap();
    }
    let model = model(build("counter").cache_dir(folder.path()));
    let cache = ModelCache::at(folder.path()).unwrap();
    let entries = cache.entries().unwrap();
    let mut models: Vec<_> = entries
        .iter()
        .filter(|entry| entry.is_model())
        .map(|entry| entry.name())
        .collect();
    models.sort();
    assert_eq!(models, [&format!("counter-{}", model.key()), "new-0"]);
}

#[test]
fn a_killed_build_is_swept_by_a_build_of_another_model() {
    let folder = tempfile::tempdir().unwrap();
    let cache = ModelCache::at(folder.path()).unwrap();
    let mut doomed = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "build::a_build_to_be_killed", "--nocapture"])
        .env(DOOMED, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(doomed.stdout.take().unwrap()).lines();
    assert!(
        lines
            .map_while(Result::ok)
            .any(|line| line.ends_with("compiling"))
    );
    // A running build is not garbage.
    assert_eq!(
        (cache.sweep().unwrap(), cache.abandoned_bytes().unwrap()),
        (0, 0)
    );
    doomed.kill().unwrap();
    doomed.wait().unwrap();
    assert!(cache.abandoned_bytes().unwrap() > 10_000);
    let model = model(build("counter").cache_dir(folder.path()));
    assert_eq!(cache.abandoned_bytes().unwrap(), 0);
    let left = fs::read_dir(folder.path().join(".building"))
        .unwrap()
        .count();
    assert_eq!(left, 0, "locks go with their builds");

    let entries = cache.entries().unwrap();
    let models: Vec<_> = entries.iter().filter(|entry| entry.is_model()).collect();
    assert_eq!(models.len(), 1);
    assert_eq!(models[0].name(), format!("counter-{}", model.key()));
    assert!(models[0].bytes() > 10_000 && models[0].last_use().elapsed().unwrap().as_secs() < 60);
    assert!(entries.len() > 3, "objects: {entries:?}");
    for entry in &entries {
        // A process started by another test has the open files and locks of this process until it
        // executes its own program.
        let end = Instant::now() + Duration::from_secs(60);
        while !cache.remove(entry).unwrap() {
            assert!(Instant::now() < end, "{entry:?} stays");
            thread::sleep(Duration::from_millis(10));
        }
    }
    assert!(cache.entries().unwrap().is_empty());
    // A loaded model stays usable.
    model.instantiate("after", ()).unwrap();
}

#[test]
fn an_edit_compiles_what_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("counter.sv");
    fs::copy(sv("counter.sv"), &source).unwrap();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("models");
    let compiled = || {
        let mut found = None;
        let listener = |event| {
            if let BuildEvent::Compiled { compiled, reused } = event {
                found = Some((compiled, reused));
            }
        };
        let build = Build::new("edited").top("counter").source(&source);
        let model = model(build.cache_dir(&cache).progress(listener));
        discard(&model);
        found.unwrap()
    };
    compiled();
    let text = fs::read_to_string(&source).unwrap();
    fs::write(&source, format!("{text}// a comment\n")).unwrap();
    let (after_comment, reused) = compiled();
    assert!(after_comment == 0 && reused > 3);
    fs::write(&source, text.replace("`define STEP 1", "`define STEP 3")).unwrap();
    let (after_edit, reused) = compiled();
    assert!(
        after_edit <= 2 && reused > after_edit,
        "{after_edit} of {reused}"
    );
}

#[test]
fn two_builds_at_once_share_the_work() {
    let once = format!("{}", std::process::id());
    let start = Barrier::new(2);
    let both = thread::scope(|scope| {
        let one = || {
            start.wait();
            events(build("wide").define("ONCE", &once))
        };
        [scope.spawn(one), scope.spawn(one)].map(|thread| thread.join().unwrap())
    });
    discard(&both[0].1);
    let verilations = both
        .iter()
        .flat_map(|(events, _)| events)
        .filter(|event| **event == BuildEvent::Verilating);
    assert_eq!(verilations.count(), 1, "{both:?}");
    assert!(
        both.iter()
            .any(|(events, _)| events[0] == BuildEvent::Waiting),
        "{both:?}"
    );
    assert_eq!(both[0].1.path(), both[1].1.path());
}

#[test]
fn models_share_a_process() {
    let wide = model(build("wide"));
    let counter = model(build("counter"));
    let mut first = wide.instantiate("first", ()).unwrap();
    let mut second = counter.instantiate("second", ()).unwrap();
    first.eval().unwrap();
    let clk = second.input("clk_i").unwrap();
    second.tick(&clk).unwrap();
    first.eval().unwrap();
}

#[test]
fn a_missing_verilator_is_named() {
    let error = Toolchain::builder()
        .verilator("/nowhere/verilator")
        .find()
        .unwrap_err();
    let text = error.to_string();
    assert!(matches!(
        error,
        Error::MissingTool {
            tool: "verilator",
            ..
        }
    ));
    assert!(
        text.contains("/nowhere/verilator") && text.contains("ci/setup"),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn an_old_verilator_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("bin/verilator");
    for path in ["bin", "include"] {
        fs::create_dir(folder.path().join(path)).unwrap();
    }
    fs::write(folder.path().join("include/verilated.h"), "").unwrap();
    fs::write(
        &program,
        "#!/bin/sh\necho 'Verilator 4.228 2022-10-01 rev v4.228'\n",
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let error = Toolchain::builder().verilator(&program).find().unwrap_err();
    assert!(
        matches!(&error, Error::VerilatorVersion { found, .. } if found.contains("4.228")),
        "{error}"
    );
}

#[test]
fn an_error_in_the_source_is_shown() {
    let error = build("broken").build(toolchain()).unwrap_err();
    assert!(
        matches!(
            &error,
            Error::Command {
                stage: "verilation",
                ..
            }
        ),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("broken.sv:4") && text.contains("syntax error"),
        "{text}"
    );
    assert!(text.contains("--top-module broken"), "{text}");
}

#[test]
fn a_bad_recipe_is_refused() {
    let refused = |build: Build<'_>| {
        let error = build.build(toolchain()).unwrap_err();
        assert!(matches!(error, Error::Recipe { .. }), "{error}");
    };
    refused(Build::new("a/b").top("t").source("t.sv"));
    refused(Build::new("x").top("-t").source("t.sv"));
    refused(Build::new("x").top("t"));
    refused(build("echo").dpi("a b"));
    refused(build("echo").dpi("alcor_ask").dpi("alcor_ask"));
    refused(build("counter").param("W=1 -G", 1u64));
    refused(build("counter").jobs(0));
    let error = Build::new("x")
        .top("t")
        .source("/nowhere/t.sv")
        .build(toolchain())
        .unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
}

#[test]
fn a_file_that_the_key_does_not_cover_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let hidden = folder.path().join("hidden.svh");
    fs::write(&hidden, "// nothing\n").unwrap();
    let source = folder.path().join("includer.sv");
    let text = format!(
        "`include \"{}\"\nmodule includer (input logic clk_i);\nendmodule\n",
        hidden.display()
    );
    fs::write(&source, text).unwrap();
    let build = Build::new("includer")
        .top("includer")
        .source(&source)
        .cache_dir(folder.path().join("cache"));
    let error = build.build(toolchain()).unwrap_err();
    assert!(
        matches!(&error, Error::UntrackedSource { path, .. } if path.ends_with("hidden.svh")),
        "{error}"
    );
}
