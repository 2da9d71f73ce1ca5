//! Common parts of the tests: the toolchain, and each model built once.

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

/// A file of `tests/cpp`.
pub fn cpp(file: &str) -> PathBuf {
    sv("../cpp").join(file)
}

/// A file of `tests/lists`.
pub fn lists(file: &str) -> PathBuf {
    sv("../lists").join(file)
}

/// Folder of the tests' models, kept so that a second run is quick.
pub fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("models")
}

/// A build of `tests/sv/<name>.sv`.
pub fn build(name: &str) -> Build<'static> {
    Build::new(name)
        .top(name)
        .source(sv(&format!("{name}.sv")))
        .cache_dir(cache())
}

pub fn model(build: Build<'_>) -> Model {
    build
        .build(toolchain())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Keeps the text that the model prints.
#[derive(Default)]
pub struct TextRecorder {
    pub text: String,
}

impl Dpi for TextRecorder {
    fn call(&mut self, _: usize, _: &[u32], _: &mut [u32]) -> Flow {
        Flow::Continue
    }

    fn print(&mut self, text: &str) {
        self.text.push_str(text);
    }
}
