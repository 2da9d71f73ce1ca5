//! Opens simulated boards by their URI.

use std::path::PathBuf;
use std::sync::Arc;

use alcor::{Backend, Cluster, Error, Topology};
use verilated::{BuildEvent, Model};

use crate::config::{CONFIGS, check_links};
use crate::model::{self, Shape, repository_root};
use crate::{Configs, CosimError, FreeBoard, Options, SimCluster};

type Progress = Box<dyn Fn(&str, BuildEvent) + Send + Sync>;

/// The backend of `cosim:<config>?<options>`; see [`Options`] for those.
pub struct CosimBackend {
    root: Option<PathBuf>,
    progress: Progress,
    threads: Option<usize>,
}

impl CosimBackend {
    /// The scheme of its URIs.
    pub const SCHEME: &'static str = "cosim";

    /// A backend that finds the repository by itself, and says on standard error when a model has to be built.
    #[must_use]
    pub fn new() -> Self {
        Self {
            root: None,
            progress: Box::new(say),
            threads: None,
        }
    }

    /// Takes configurations and sources from the repository at `root`.
    #[must_use]
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// Tells `listener` of each step of a model's build, with the model's name, instead of standard error.
    #[must_use]
    pub fn progress(mut self, listener: impl Fn(&str, BuildEvent) + Send + Sync + 'static) -> Self {
        self.progress = Box::new(listener);
        self
    }

    /// Steps the boards of a cluster on so many threads, where its options name no number.
    #[must_use]
    pub fn threads(mut self, threads: Option<usize>) -> Self {
        self.threads = threads;
        self
    }

    /// The configurations that can be opened.
    ///
    /// # Errors
    /// If the repository is not found, or its file of configurations is wrong.
    pub fn configs(&self) -> Result<Configs, CosimError> {
        Configs::read(&self.find_root()?)
    }

    /// Opens boards as what they are; `rest` is a URI without its scheme.
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

    /// Opens the board of `rest`, as `rma2` or `rma4?RANKS=2`, without a clock that stands still for host code.
    ///
    /// # Errors
    /// As [`open_sim`](Self::open_sim), and when there is more than one board.
    pub fn open_free(&self, rest: &str) -> Result<FreeBoard, CosimError> {
        let (config, options) = Options::parse(rest)?;
        if options.log.is_some() || options.coverage {
            return Err(CosimError::BadOption {
                option: "trace, packets, log or coverage".into(),
                value: String::new(),
                expected: "a board whose time stands still, such as cosim:rma2".into(),
            });
        }
        let (model, shape, topology, options) = self.model(config, options)?;
        if topology.boards() != 1 {
            return Err(CosimError::BadConfig {
                path: self.find_root()?.join(CONFIGS),
                problem: format!(
                    "[{config}] has {} boards, and one was asked for",
                    topology.boards()
                ),
            });
        }
        FreeBoard::new(&uri(rest), &model, shape, &options)
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

    /// The model of a configuration, and what is known of it.
    fn model(
        &self,
        config: &str,
        mut options: Options,
    ) -> Result<(Model, Shape, Topology, Options), CosimError> {
        let root = self.find_root()?;
        let configs = Configs::read(&root)?;
        let found = configs.get(config)?;
        let topology = found.topology().map_err(|error| CosimError::BadConfig {
            path: root.join(CONFIGS),
            problem: format!("[{config}]: {error}"),
        })?;
        options.fill_in(found)?;
        options.threads = options.threads.or(self.threads);
        let mut params = found.params.clone();
        params.extend(
            options
                .params
                .iter()
                .map(|(param, &value)| (param.clone(), value)),
        );
        check_links(&params, &topology)?;
        let model = model::build(&root, config, &params, &options, &self.progress)?;
        Ok((model, Shape::of(&params), topology, options))
    }

    fn find_root(&self) -> Result<PathBuf, CosimError> {
        self.root.clone().map_or_else(repository_root, Ok)
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
