//! One backend has one version of the RTL, and one model of each kind.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use alcor::Backend;
use alcor_cosim::{BuildEvent, CosimBackend};
use tempfile::TempDir;

const CONFIGS: &str =
    "[tiny]\nsummary = 'The stand-in'\nparams = { RANKS = 1, NODE_BYTES = 8192, LOAD = 0 }\n";

/// A repository with the stand-in for its hardware. Tools and built models are those of the real repository.
struct Repository(TempDir);

impl Repository {
    fn new() -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for made in ["hw/core", "hw/dpi", "hw/common/rtl", "target"] {
            fs::create_dir_all(root.join(made)).unwrap();
        }
        let sv = here.join("tests/sv");
        fs::copy(sv.join("stand_in.sv"), root.join("hw/core/stand_in.sv")).unwrap();
        fs::copy(sv.join("sim_top.sv"), root.join("hw/dpi/sim_top.sv")).unwrap();
        for (file, text) in [
            ("core/configs.toml", CONFIGS),
            ("core/blocks", "core\n"),
            ("core/files.f", "core/stand_in.sv\n"),
            ("dpi/files.f", "dpi/sim_top.sv\n"),
            ("common/rtl/unused.svh", "// nothing\n"),
        ] {
            fs::write(root.join("hw").join(file), text).unwrap();
        }
        let target = fs::canonicalize(here.join("../../target")).unwrap();
        for shared in ["tools", "models"] {
            fs::create_dir_all(target.join(shared)).unwrap();
            std::os::unix::fs::symlink(target.join(shared), root.join("target").join(shared))
                .unwrap();
        }
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Adds a comment to a file.
    fn edit(&self, file: &str) {
        let path = self.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        let comment = if file.ends_with(".toml") { "#" } else { "//" };
        fs::write(path, format!("{text}{comment} edited\n")).unwrap();
    }
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
    let repository = Repository::new();
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
    let copy = Repository::new();
    let (fresh, _) = backend(copy.path());
    assert_eq!(key(&fresh, "tiny?coverage=1"), late);
    assert_eq!(key(&fresh, "tiny"), first);
}

#[test]
fn copies_of_a_repository_share_models_however_their_root_is_spelt() {
    let copies = [Repository::new(), Repository::new()];
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
