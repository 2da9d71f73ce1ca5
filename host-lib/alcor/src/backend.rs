//! Opening a board by its URI.

use std::collections::BTreeMap;

use crate::{Backend, Cluster, Error, Launch, Result};

/// The backends of a program, by URI scheme.
///
/// # Examples
/// ```
/// use alcor::{Backends, soft::Soft};
///
/// let cluster = Backends::new().with(Soft).open("soft:4")?;
/// assert_eq!(cluster.ranks()?, 4);
/// # Ok::<(), alcor::Error>(())
/// ```
#[derive(Default)]
pub struct Backends {
    by_scheme: BTreeMap<String, Box<dyn Backend>>,
}

impl Backends {
    /// Makes an empty list of backends.
    #[must_use]
    pub fn new() -> Backends {
        Backends::default()
    }

    /// Adds `backend`. A later backend replaces an earlier one with the same scheme.
    #[must_use]
    pub fn with(mut self, backend: impl Backend + 'static) -> Backends {
        self.by_scheme
            .insert(backend.scheme().to_owned(), Box::new(backend));
        self
    }

    /// The known schemes, sorted.
    ///
    /// # Examples
    /// ```
    /// use alcor::{Backends, Error, soft::Soft};
    ///
    /// let backends = Backends::new().with(Soft);
    /// assert!(backends.schemes().eq(["soft"]));
    /// let error = backends.open("cosim:rma4").unwrap_err();
    /// assert!(matches!(error, Error::UnknownScheme { .. }));
    /// ```
    pub fn schemes(&self) -> impl Iterator<Item = &str> {
        self.by_scheme.keys().map(String::as_str)
    }

    /// Opens the board or boards of `uri`, for example `cosim:rma4`.
    ///
    /// # Errors
    /// [`Error::UnknownScheme`]; errors of the backend.
    pub fn open(&self, uri: &str) -> Result<Cluster> {
        let (backend, rest) = self.find(uri)?;
        backend.open(rest)
    }

    /// Opens the boards of a launch for the rank of this process ([`Backend::join`]).
    ///
    /// # Errors
    /// As [`Backends::open`] and [`Backend::join`].
    ///
    /// # Examples
    /// ```
    /// use alcor::{Backends, GlobalRank, Launch, soft::Soft};
    ///
    /// let backends = Backends::new().with(Soft);
    /// let launch = Launch::new("soft:1", GlobalRank(0), 1);
    /// assert_eq!(backends.join(&launch)?.ranks()?, 1);
    /// # Ok::<(), alcor::Error>(())
    /// ```
    pub fn join(&self, launch: &Launch) -> Result<Cluster> {
        let (backend, rest) = self.find(&launch.cluster)?;
        backend.join(rest, launch)
    }

    fn find<'a>(&self, uri: &'a str) -> Result<(&dyn Backend, &'a str)> {
        let found = uri
            .split_once(':')
            .and_then(|(scheme, rest)| Some((self.by_scheme.get(scheme)?, rest)));
        match found {
            Some((backend, rest)) => Ok((&**backend, rest)),
            None => Err(Error::UnknownScheme {
                uri: uri.to_owned(),
                known: self.schemes().map(str::to_owned).collect(),
            }),
        }
    }
}
