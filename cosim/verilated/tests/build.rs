//! The cache, the toolchain, and builds that fail.

use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use crate::support::{build, model, sv, toolchain};
use verilated::{Build, BuildEvent, Error, Model, Toolchain};

fn events(build: Build<'_>) -> (Vec<BuildEvent>, Model) {
    let mut events = Vec::new();
    let mut keep = |event| events.push(event);
    let model = build
        .progress(&mut keep)
        .build(toolchain())
        .unwrap_or_else(|error| panic!("{error}"));
    (events, model)
}

/// Takes what only one run of a test has a use for out of the cache.
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
    let error =
        Toolchain::with_verilator(Path::new("."), Path::new("/nowhere/verilator")).unwrap_err();
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
    let error = Toolchain::with_verilator(folder.path(), &program).unwrap_err();
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
