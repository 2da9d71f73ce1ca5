//! A loaded model.

use std::collections::HashMap;
use std::ffi::CStr;
use std::fmt;
use std::mem;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::abi::{Api, ENTRY, SHIM_VERSION};
use crate::signal::ModelId;
use crate::{Direction, Dpi, Error, Instance, Signal};

/// A loaded model. It can be instantiated any number of times; clones are cheap.
///
/// The library stays loaded as long as the process lives.
#[derive(Clone)]
pub struct Model {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    key: String,
    path: PathBuf,
    dpi: Vec<String>,
    signals: Vec<Signal>,
    api: &'static Api,
}

/// Models that this process has loaded, by path of the library. The path contains the model's key.
static LOADED: LazyLock<Mutex<HashMap<PathBuf, Model>>> = LazyLock::new(Mutex::default);

impl Model {
    /// The model of a library that this process has already loaded.
    pub(crate) fn loaded(path: &Path) -> Option<Self> {
        let loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.get(path).cloned()
    }

    /// Loads the model of a library, once per process.
    pub(crate) fn load(name: &str, key: &str, path: &Path, dpi: &[String]) -> Result<Self, Error> {
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = loaded.get(path) {
            return Ok(model.clone());
        }
        let model = Self::open(name, key, path, dpi)?;
        loaded.insert(path.into(), model.clone());
        Ok(model)
    }

    fn open(name: &str, key: &str, path: &Path, dpi: &[String]) -> Result<Self, Error> {
        let refused = |reason: String| Error::Load {
            model: name.into(),
            path: path.into(),
            reason,
        };
        // SAFETY: this crate built the library. Its initialisers are those of the C++ and Verilator
        // runtimes, which have no preconditions.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|error| refused(error.to_string()))?;
        // SAFETY: the shim defines the symbol with this type.
        let api: &'static Api = unsafe {
            let entry = library
                .get::<unsafe extern "C" fn() -> *const Api>(ENTRY)
                .map_err(|error| refused(error.to_string()))?;
            &*entry()
        };
        // Thread-local variables of the runtime may outlive every handle, so the library is never
        // unloaded.
        mem::forget(library);
        if api.version != SHIM_VERSION {
            return Err(refused(format!(
                "the interface of the library has version {}, expected {SHIM_VERSION}",
                api.version
            )));
        }
        let id: ModelId = std::ptr::from_ref(api).addr();
        // SAFETY: the table has this number of rows and stays loaded.
        let rows = unsafe { slice::from_raw_parts(api.signals, api.signal_count as usize) };
        let signals = rows
            .iter()
            .enumerate()
            .map(|(index, row)| Signal {
                model: id,
                index,
                // SAFETY: names are C strings in the library's constant data.
                name: unsafe { CStr::from_ptr(row.name) }
                    .to_string_lossy()
                    .into_owned(),
                direction: match row.direction {
                    0 => Direction::Input,
                    1 => Direction::Output,
                    _ => Direction::Inout,
                },
                width: row.width as usize,
                bytes: row.bytes as usize,
            })
            .collect();
        let inner = Inner {
            name: name.into(),
            key: key.into(),
            path: path.into(),
            dpi: dpi.to_vec(),
            signals,
            api,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Key of the model: a hash of the sources, parameters, flags and tools of the build. Models
    /// with equal keys behave equally.
    pub fn key(&self) -> &str {
        &self.inner.key
    }

    /// Path of the library.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Returns whether instances can write traces.
    pub fn has_trace(&self) -> bool {
        self.api().has_trace != 0
    }

    /// Returns whether instances count coverage.
    pub fn has_coverage(&self) -> bool {
        self.api().has_coverage != 0
    }

    /// Names of the DPI functions, in order of index.
    pub fn dpi_functions(&self) -> &[String] {
        &self.inner.dpi
    }

    /// Ports of the top module, without `dpi_handle_i` and without unpacked arrays.
    pub fn signals(&self) -> &[Signal] {
        &self.inner.signals
    }

    /// The input `name`.
    ///
    /// # Errors
    /// If there is no such input; the error lists all inputs.
    pub fn input(&self, name: &str) -> Result<Signal, Error> {
        self.find(name, "input", |direction| direction == Direction::Input)
    }

    /// The output `name`.
    ///
    /// # Errors
    /// If there is no such output; the error lists all outputs.
    pub fn output(&self, name: &str) -> Result<Signal, Error> {
        self.find(name, "output", |direction| direction == Direction::Output)
    }

    /// The port `name`, of any direction.
    ///
    /// # Errors
    /// If there is no such port; the error lists all ports.
    pub fn port(&self, name: &str) -> Result<Signal, Error> {
        self.find(name, "port", |_| true)
    }

    fn find(
        &self,
        name: &str,
        wanted: &'static str,
        fits: impl Fn(Direction) -> bool,
    ) -> Result<Signal, Error> {
        let mut fitting = self
            .signals()
            .iter()
            .filter(|signal| fits(signal.direction));
        fitting
            .clone()
            .find(|signal| signal.name == name)
            .cloned()
            .ok_or_else(|| Error::NoSuchSignal {
                model: self.name().into(),
                wanted,
                name: name.into(),
                available: listed(fitting.by_ref().map(|signal| signal.name.as_str())),
            })
    }

    /// Creates an instance. `name` is used in messages. Registers without a reset start at zero.
    ///
    /// # Errors
    /// If the model's construction fails.
    pub fn instantiate<D: Dpi>(
        &self,
        name: impl Into<String>,
        dpi: D,
    ) -> Result<Instance<D>, Error> {
        Instance::new(self, name.into(), dpi, None)
    }

    /// Creates an instance with random initial values: each register and variable without an
    /// initial value gets a random one. Equal seeds give equal values. Inputs start at zero.
    ///
    /// # Errors
    /// If the model's construction fails.
    pub fn instantiate_random<D: Dpi>(
        &self,
        name: impl Into<String>,
        dpi: D,
        seed: u32,
    ) -> Result<Instance<D>, Error> {
        Instance::new(self, name.into(), dpi, Some(seed))
    }

    pub(crate) fn api(&self) -> &'static Api {
        self.inner.api
    }

    pub(crate) fn id(&self) -> ModelId {
        std::ptr::from_ref(self.inner.api).addr()
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("name", &self.inner.name)
            .field("path", &self.inner.path)
            .finish_non_exhaustive()
    }
}

/// Names for an error message. A long list is shortened.
pub(crate) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const SHOWN: usize = 40;
    let mut names = names.peekable();
    if names.peek().is_none() {
        return "none".into();
    }
    let mut text: Vec<&str> = names.by_ref().take(SHOWN).collect();
    if names.peek().is_some() {
        text.push("...");
    }
    text.join(", ")
}
