//! Opens simulated boards by their URI.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alcor::{Backend, Cluster, Error, Topology};
use alcor_hw::CONFIGS;
use verimodel::{BuildEvent, Model};

use crate::config::{FRAMES, check_links};
use crate::model::{Project, Shape, Variant};
use crate::{Configs, CosimError, FreeBoard, Hardware, Options, SimCluster};

/// The environment variable that names the folder of the user's own hardware, with `configs.toml`
/// and kernels.
pub const OWN_VARIABLE: &str = "ALCOR_HW";

type Progress = Arc<dyn Fn(&str, BuildEvent) + Send + Sync>;

/// The backend of `cosim:<config>?<options>`; see [`Options`].
///
/// A backend and its clones simulate one version of the RTL. Configurations and sources are read
/// when the first board is opened. All later models are built from these texts, including the model
/// with waves that explains a failure. Each model is built and loaded once, so opening a board
/// again reads no file. [`changed_sources`](Self::changed_sources) names the files that have
/// changed since.
#[derive(Clone)]
pub struct CosimBackend {
    hardware: Option<Hardware>,
    own: Option<PathBuf>,
    progress: Progress,
    threads: Option<usize>,
    kept: Arc<Kept>,
}

/// The cached values of a backend.
#[derive(Default)]
struct Kept {
    project: Mutex<Option<Arc<Project>>>,
    models: Mutex<BTreeMap<Variant, Arc<Mutex<Option<Model>>>>>,
}

/// A value is either absent or complete, even after a panic of a lock holder.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CosimBackend {
    /// The scheme of the backend's URIs.
    pub const SCHEME: &'static str = "cosim";

    /// A backend that simulates the hardware of [`Hardware::find`], and reports builds of models on
    /// standard error.
    #[must_use]
    pub fn new() -> Self {
        Self {
            hardware: None,
            own: None,
            progress: Arc::new(say),
            threads: None,
            kept: Arc::default(),
        }
    }

    /// Takes configurations and sources from the clone of Alcor's repository at `root`.
    #[must_use]
    pub fn root(self, root: impl Into<PathBuf>) -> Self {
        self.of_hardware(Hardware::Clone(root.into()))
    }

    /// Takes configurations and sources from this origin.
    #[must_use]
    pub fn of_hardware(mut self, hardware: Hardware) -> Self {
        self.hardware = Some(hardware);
        self.kept = Arc::default();
        self
    }

    /// Also takes configurations and kernels from a folder of the user's own hardware, from its
    /// `configs.toml`. Without this call, the variable `ALCOR_HW` names the folder.
    #[must_use]
    pub fn own(mut self, folder: Option<PathBuf>) -> Self {
        self.own = folder;
        self.kept = Arc::default();
        self
    }

    /// The origin of configurations and sources.
    ///
    /// # Errors
    /// As [`Hardware::find`].
    pub fn hardware(&self) -> Result<Hardware, CosimError> {
        match &*locked(&self.kept.project) {
            Some(project) => Ok(project.hardware.clone()),
            None => self.find_hardware(),
        }
    }

    /// Reports each step of a model's build to `listener`, with the model's name, instead of
    /// standard error.
    #[must_use]
    pub fn progress(mut self, listener: impl Fn(&str, BuildEvent) + Send + Sync + 'static) -> Self {
        self.progress = Arc::new(listener);
        self
    }

    /// Sets the number of threads that step the boards of a cluster, unless its options give one.
    #[must_use]
    pub fn threads(mut self, threads: Option<usize>) -> Self {
        self.threads = threads;
        self
    }

    /// The configurations that can be opened.
    ///
    /// # Errors
    /// If the hardware is not found, or the file of configurations is wrong.
    pub fn configs(&self) -> Result<Configs, CosimError> {
        match &*locked(&self.kept.project) {
            Some(project) => Ok(project.configs.clone()),
            None => Ok(Configs::with_own(&self.find_hardware()?, self.find_own())?.0),
        }
    }

    /// The files that have changed since this backend read them, relative to the repository's root:
    /// sources, lists of sources, configurations. Empty before the first model. Models of this
    /// backend do not have these changes.
    #[must_use]
    pub fn changed_sources(&self) -> Vec<PathBuf> {
        let project = locked(&self.kept.project).clone();
        project.map_or_else(Vec::new, |project| project.changed())
    }

    /// Checks `rest`, a URI without its scheme, as far as possible without a model.
    ///
    /// # Errors
    /// If there is no such configuration, option or parameter, or a value can't be used.
    pub fn check(&self, rest: &str) -> Result<(), CosimError> {
        let (config, options) = Options::parse(rest)?;
        let project = self.project()?;
        project.configs.get(config)?;
        project.check(&options)
    }

    /// Builds the model of `rest`, a URI without its scheme, or takes it from the cache, and opens
    /// no board.
    ///
    /// # Errors
    /// If there is no such configuration or option, or its model can't be built.
    pub fn build(&self, rest: &str) -> Result<Model, CosimError> {
        let (config, options) = Options::parse(rest)?;
        self.model(config, options).map(|(model, ..)| model)
    }

    /// The names in the cache of the models of all configurations: with their parameters as they
    /// are, and all other options that concern the build. Builds no model.
    ///
    /// # Errors
    /// If configurations, sources or the toolchain are not found.
    pub fn entry_names(&self) -> Result<Vec<String>, CosimError> {
        self.project()?.entry_names()
    }

    /// Opens boards as a [`SimCluster`]; `rest` is a URI without its scheme.
    ///
    /// # Errors
    /// If there is no such configuration or option, or its model can't be built or fails.
    pub fn open_sim(&self, rest: &str) -> Result<Arc<SimCluster>, CosimError> {
        let (config, options) = Options::parse(rest)?;
        self.open_named(&uri(rest), config, options)
    }

    /// Opens the boards of a configuration with options that were not taken from a URI.
    ///
    /// # Errors
    /// As [`open_sim`](Self::open_sim).
    pub fn open_with(&self, config: &str, options: Options) -> Result<Arc<SimCluster>, CosimError> {
        self.open_named(&uri(config), config, options)
    }

    /// Opens the boards of `rest`, for example `rma2` or `ring2?RANKS=1`, as boards whose time does
    /// not stand still for host code. Boards of a cluster have link ends (`links=frames`), as cards
    /// have, because each of them can be reset alone.
    ///
    /// # Errors
    /// As [`open_sim`](Self::open_sim); for options that need boards whose time stands still; for
    /// several boards with `links=phits`.
    pub fn open_free(&self, rest: &str) -> Result<Vec<FreeBoard>, CosimError> {
        let (config, mut options) = Options::parse(rest)?;
        if options.log.is_some() || options.coverage {
            return Err(CosimError::BadOption {
                option: "trace, packets, log or coverage".into(),
                value: String::new(),
                expected: "a board whose time stands still, such as cosim:rma2".into(),
            });
        }
        let has_links = !self.project()?.configs.get(config)?.topology.is_empty();
        if has_links && *options.params.entry(FRAMES.into()).or_insert(1) == 0 {
            return Err(CosimError::BadOption {
                option: "links".into(),
                value: "phits".into(),
                expected:
                    "frames, because a reset of one board does not reach the others over phits"
                        .into(),
            });
        }
        let (model, shape, topology, options) = self.model(config, options)?;
        FreeBoard::open(&uri(rest), &model, shape, &topology, &options)
    }

    fn open_named(
        &self,
        name: &str,
        config: &str,
        options: Options,
    ) -> Result<Arc<SimCluster>, CosimError> {
        let (model, shape, topology, options) = self.model(config, options)?;
        SimCluster::with_model(name, &model, shape, topology, options)
    }

    /// The model of a configuration, with its properties.
    fn model(
        &self,
        config: &str,
        mut options: Options,
    ) -> Result<(Model, Shape, Topology, Options), CosimError> {
        let project = self.project()?;
        let found = project.configs.get(config)?;
        project.check(&options)?;
        let bad_config = |problem| {
            let path = project.hardware.path(CONFIGS);
            Err(CosimError::BadConfig { path, problem })
        };
        let topology = match found.topology() {
            Ok(topology) => topology,
            Err(error) => return bad_config(format!("[{config}]: {error}")),
        };
        options.fill_in(found)?;
        options.threads = options.threads.or(self.threads);
        let mut params = found.params.clone();
        let own = options.params.iter();
        params.extend(own.map(|(param, &value)| (param.clone(), value)));
        check_links(&params, &topology)?;

        let variant = Variant::new(config, params, found.kernel.clone(), &options);
        let shape = variant.shape();
        let place = Arc::clone(
            locked(&self.kept.models)
                .entry(variant.clone())
                .or_default(),
        );
        // Other users of this model wait. Other models may be built at the same time.
        let mut place = locked(&place);
        let model = match &*place {
            Some(model) => model.clone(),
            None => place
                .insert(project.build(&variant, &*self.progress)?)
                .clone(),
        };
        Ok((model, shape, topology, options))
    }

    /// The configurations and sources, as they were at their first use.
    fn project(&self) -> Result<Arc<Project>, CosimError> {
        let mut project = locked(&self.kept.project);
        if let Some(project) = &*project {
            return Ok(Arc::clone(project));
        }
        let read = Arc::new(Project::read(self.find_hardware()?, self.find_own())?);
        Ok(Arc::clone(project.insert(read)))
    }

    fn find_own(&self) -> Option<PathBuf> {
        self.own.clone().or_else(|| {
            let folder = std::env::var_os(OWN_VARIABLE).filter(|folder| !folder.is_empty());
            folder.map(PathBuf::from)
        })
    }

    fn find_hardware(&self) -> Result<Hardware, CosimError> {
        self.hardware.clone().map_or_else(Hardware::find, Ok)
    }
}

impl Default for CosimBackend {
    fn default() -> Self {
        Self::new()
    }
}

fn uri(rest: &str) -> String {
    format!("{}:{rest}", CosimBackend::SCHEME)
}

fn say(model: &str, event: BuildEvent) {
    match event {
        BuildEvent::Verilating => {
            eprintln!("building the model {model}, once for this RTL and these parameters")
        }
        BuildEvent::Waiting => eprintln!("waiting for another build of the model {model}"),
        _ => {}
    }
}

impl Backend for CosimBackend {
    fn scheme(&self) -> &str {
        Self::SCHEME
    }

    fn open(&self, rest: &str) -> Result<Cluster, Error> {
        let cluster = self.open_sim(rest).map_err(|error| error.on(&uri(rest)))?;
        cluster.cluster()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_not_is_named_with_what_there_is() {
        let backend = CosimBackend::new().root(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let says = |rest| {
            backend
                .open(rest)
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        let error = says("rma5");
        assert!(
            error.contains("cosim:rma5") && error.contains("rma2, ") && error.contains("rma4"),
            "{error}"
        );
        let error = says("rma4?wave=x");
        assert!(
            error.contains("cosim:rma4?wave=x") && error.contains("waves-from"),
            "{error}"
        );
        let error = says("rma4?FOO=3");
        assert!(
            error.contains("cosim:rma4?FOO=3: no parameter `FOO`; there are: DATA_W, RANKS, "),
            "{error}"
        );
        assert_eq!(
            backend.check("rma4?SLOTS=16").map_err(|it| it.to_string()),
            Ok(())
        );
        assert!(backend.check("rma4?FOO=3").is_err());
        assert!(
            backend
                .configs()
                .is_ok_and(|configs| configs.iter().count() >= 2)
        );
        let nowhere = CosimBackend::new().root("/nonexistent");
        assert!(matches!(
            nowhere.open_sim("rma4"),
            Err(CosimError::Read { .. })
        ));
    }
}
