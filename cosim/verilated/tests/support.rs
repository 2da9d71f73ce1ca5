//! What the tests share: the toolchain, and each model built once.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use verimodel::{Build, Dpi, Flow, Model, Toolchain};

pub fn toolchain() -> &'static Toolchain {
    static TOOLCHAIN: LazyLock<Toolchain> = LazyLock::new(|| {
        Toolchain::find().unwrap_or_else(|error| {
            panic!("these tests need Verilator, which ci/setup provides: {error}")
        })
    });
    &TOOLCHAIN
}

pub fn sv(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sv")
        .join(file)
}

/// A build of `tests/sv/<name>.sv`, kept where other tests' models are, so that a second run is quick.
pub fn build(name: &str) -> Build<'static> {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("models");
    Build::new(name)
        .top(name)
        .source(sv(&format!("{name}.sv")))
        .cache_dir(cache)
}

pub fn model(build: Build<'_>) -> Model {
    build
        .build(toolchain())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Keeps what the model prints.
#[derive(Default)]
pub struct Listener {
    pub text: String,
}

impl Dpi for Listener {
    fn call(&mut self, _: usize, _: &[u32], _: &mut [u32]) -> Flow {
        Flow::Continue
    }

    fn print(&mut self, text: &str) {
        self.text.push_str(text);
    }
}
