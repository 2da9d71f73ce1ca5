//! How a test fails.

use std::fmt::{Debug, Display};
use std::time::Duration;

use alcor::{Error, JobError, Status};

/// Why a test failed: where, what was expected, what was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// Something is not what it has to be.
    #[error("{place}: expected {expected}, found {found}")]
    Differs {
        /// Where.
        place: String,
        /// What it has to be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// The library failed where it has to succeed.
    #[error("{place}: expected success, found the error: {source}")]
    Library {
        /// Where.
        place: String,
        /// What it said.
        source: Error,
    },
    /// A run ended in a way that no rank's own failure explains.
    #[error("expected the run to end well, found: {0}")]
    Run(#[source] JobError),
    /// The test's body panicked.
    #[error("expected the test to return, found a panic: {0}")]
    Panicked(String),
    /// The test exceeded its time limit.
    #[error("expected the test to end within {} s, found it running: {doing}", limit.as_secs_f64())]
    TimedOut {
        /// The limit.
        limit: Duration,
        /// What the ranks were doing.
        doing: String,
    },
}

/// The result of a test.
pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

impl From<Error> for Failure {
    fn from(source: Error) -> Failure {
        Failure::Library {
            place: "in the library".to_owned(),
            source,
        }
    }
}

impl Failure {
    /// What the library said, where that is what failed.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        match self {
            Failure::Library { source, .. } => Some(source),
            Failure::Run(error) => error.error(),
            Failure::Differs { .. } | Failure::Panicked(_) | Failure::TimedOut { .. } => None,
        }
    }

    /// Something is not as it has to be.
    #[must_use]
    pub fn new(place: impl Display, expected: impl Display, found: impl Display) -> Failure {
        Failure::Differs {
            place: place.to_string(),
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }

    /// As a rank's program returns it; `From<JobError>` takes it out again.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Failure::Library { place, source } if place == "in the library" => source,
            failure => Error::program(failure),
        }
    }
}

/// The failure of a rank's program where that ended the run, else the failure of the run.
impl From<JobError> for Failure {
    fn from(error: JobError) -> Failure {
        match error {
            JobError::Failed {
                board,
                rank,
                source: Error::Program { source },
            } => match source.downcast::<Failure>() {
                Ok(failure) => *failure,
                Err(source) => Failure::Run(JobError::Failed {
                    board,
                    rank,
                    source: Error::Program { source },
                }),
            },
            error => Failure::Run(error),
        }
    }
}

/// Says where the library failed.
pub trait At<T> {
    /// The value, or a failure that has the place.
    ///
    /// # Errors
    /// If the call failed.
    fn at(self, place: impl Display) -> Result<T>;
}

impl<T> At<T> for alcor::Result<T> {
    fn at(self, place: impl Display) -> Result<T> {
        self.map_err(|source| Failure::Library {
            place: place.to_string(),
            source,
        })
    }
}

/// Fails unless `found` is `expected`.
///
/// # Errors
/// [`Failure::Differs`], with the place, the expected and the found value.
pub fn same<T: PartialEq + Debug>(place: impl Display, expected: T, found: T) -> Result {
    if found == expected {
        return Ok(());
    }
    Err(Failure::new(
        place,
        format_args!("{expected:?}"),
        format_args!("{found:?}"),
    ))
}

/// Fails unless `holds`.
///
/// # Errors
/// [`Failure::Differs`], with the place, the expected and the found value.
pub fn holds(
    place: impl Display,
    expected: impl Display,
    holds: bool,
    found: impl Display,
) -> Result {
    if holds {
        return Ok(());
    }
    Err(Failure::new(place, expected, found))
}

/// Fails unless the bytes are the same; shows the first that are not.
///
/// # Errors
/// [`Failure::Differs`], with the place, the expected and the found value.
pub fn same_bytes(place: impl Display, expected: &[u8], found: &[u8]) -> Result {
    same(
        format_args!("{place}: number of bytes"),
        expected.len(),
        found.len(),
    )?;
    let mut differing = (0..found.len()).filter(|&index| found[index] != expected[index]);
    let Some(first) = differing.next() else {
        return Ok(());
    };
    let (more, last) = differing.fold((0, first), |(count, _), index| (count + 1, index));
    let shown = first & !3..expected.len().min((first & !3) + 16);
    Err(Failure::new(
        format_args!(
            "{place}: {} of {} bytes differ, the first at {first}, the last at {last}",
            more + 1,
            found.len()
        ),
        format_args!("{:02x?} at {}", &expected[shown.clone()], shown.start),
        format_args!("{:02x?}", &found[shown.clone()]),
    ))
}

/// Fails unless the hardware refused with `status`, and the error says so.
///
/// # Errors
/// [`Failure::Differs`], with the place, the expected and the found value.
pub fn refused<T>(place: impl Display, status: Status, result: alcor::Result<T>) -> Result {
    let expected = format!("a refusal with {status:?}");
    match result {
        Ok(_) => Err(Failure::new(place, expected, "success")),
        Err(error) if error.status() != Some(status) => Err(Failure::new(place, expected, error)),
        Err(error) if !matches!(error, Error::Refused { .. }) => Ok(()),
        Err(error) => {
            let message = error.to_string();
            let expected = format!("a message with the words `{}`", status.describe());
            let has_words = message.contains(status.describe());
            holds(place, expected, has_words, message)
        }
    }
}

/// Fails unless the call failed as `is_expected` has it.
///
/// # Errors
/// [`Failure::Differs`], with the place, the expected and the found value.
pub fn fails<T>(
    place: impl Display,
    expected: &str,
    is_expected: impl FnOnce(&Error) -> bool,
    result: alcor::Result<T>,
) -> Result {
    match result {
        Ok(_) => Err(Failure::new(place, expected, "success")),
        Err(error) if is_expected(&error) => Ok(()),
        Err(error) => Err(Failure::new(place, expected, error)),
    }
}
