//! One backend has one version of the RTL, and one model of each kind.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use alcor::Backend;
use alcor_cosim::{BuildEvent, CosimBackend};
use alcor_test_repository::Repository;

const CONFIGS: &str =
    "[tiny]\nsummary = 'The stand-in'\nparams = { RANKS = 1, NODE_BYTES = 8192, LOAD = 0 }\n";

/// A repository with the stand-in for its hardware. Tools and built models are those of the real repository.
fn stand_in() -> Repository {
    Repository::of_stand_in(CONFIGS)
}

/// A backend, and the steps of all builds that it is told of.
fn backend(root: &Path) -> (CosimBackend, Arc<Mutex<Vec<BuildEvent>>>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&events);
    let backend = CosimBackend::new().root(root).progress(move |_, event| {
        kept.lock().unwrap().push(event);
    });
    (backend, events)
}

fn key(backend: &CosimBackend, rest: &str) -> String {
    backend.build(rest).unwrap().key().to_owned()
}

#[test]
fn an_edit_during_a_run_reaches_no_board_of_the_run() {
    let repository = stand_in();
    let (run, events) = backend(repository.path());
    let first = key(&run, "tiny");
    assert!(run.changed_sources().is_empty());
    repository.edit("hw/core/stand_in.sv");
    repository.edit("hw/dpi/files.f");
    repository.edit("hw/core/configs.toml");
    fs::write(repository.path().join("hw/common/rtl/new.svh"), "").unwrap();

    events.lock().unwrap().clear();
    for _ in 0..100 {
        run.open("tiny").unwrap();
    }
    assert_eq!(key(&run.clone(), "tiny"), first);
    assert!(
        events.lock().unwrap().is_empty(),
        "nothing is built or looked up again"
    );
    let changed = [
        "hw/common/rtl/new.svh",
        "hw/core/configs.toml",
        "hw/core/stand_in.sv",
        "hw/dpi/files.f",
    ];
    assert_eq!(run.changed_sources(), changed.map(PathBuf::from));

    // A model that is built now has the sources of the first one.
    let late = key(&run, "tiny?coverage=1");
    let (next, _) = backend(repository.path());
    assert_ne!(key(&next, "tiny?coverage=1"), late);
    let copy = stand_in();
    let (fresh, _) = backend(copy.path());
    assert_eq!(key(&fresh, "tiny?coverage=1"), late);
    assert_eq!(key(&fresh, "tiny"), first);
}

#[test]
fn copies_of_a_repository_share_models_however_their_root_is_spelt() {
    let copies = [stand_in(), stand_in()];
    let roots = [
        copies[0].path().to_owned(),
        copies[1].path().to_owned(),
        copies[1].path().join("hw/../hw/core/../.."),
    ];
    let first = key(&backend(&roots[0]).0, "tiny");
    for root in roots {
        let (backend, events) = backend(&root);
        assert_eq!(key(&backend, "tiny"), first);
        assert_eq!(*events.lock().unwrap(), [BuildEvent::CacheHit], "{root:?}");
        let names = backend.entry_names().unwrap();
        assert!(
            names.contains(&format!("tiny-{first}")) && names.len() == 32,
            "{names:?}"
        );
    }
}
