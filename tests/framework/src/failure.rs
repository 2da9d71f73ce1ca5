//! Failures of a test.

use std::fmt::{Debug, Display};
use std::time::Duration;

use alcor::{Error, JobError, Status};

use crate::difference::Difference;

/// The reason for a failed test: the place, the expected value, the value found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// A value differs from the expected value.
    #[error("{place}: expected {expected}, found {found}")]
    Differs {
        /// Place of the check.
        place: String,
        /// The expected value.
        expected: String,
        /// The value found.
        found: String,
    },
    /// A call of the library failed that had to succeed.
    #[error("{place}: expected success, found the error: {source}")]
    Library {
        /// Place of the call.
        place: String,
        /// The library's error.
        source: Error,
    },
    /// The run failed, without a failure of a rank as the reason.
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
        /// The state of the ranks.
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
    /// The library's error, if a call of the library failed.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        match self {
            Failure::Library { source, .. } => Some(source),
            Failure::Run(error) => error.error(),
            Failure::Differs { .. } | Failure::Panicked(_) | Failure::TimedOut { .. } => None,
        }
    }

    /// A failure of a check.
    #[must_use]
    pub fn new(place: impl Display, expected: impl Display, found: impl Display) -> Failure {
        Failure::Differs {
            place: place.to_string(),
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }

    /// Wraps the failure as the error of a rank's program. `From<JobError>` unwraps it.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Failure::Library { place, source } if place == "in the library" => source,
            failure => Error::program(failure),
        }
    }
}

/// The failure of the rank's program that ended the run, else the failure of the run.
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

/// Adds the place to an error of the library.
pub trait At<T> {
    /// Returns the value, or a failure with the place.
    ///
    /// # Errors
    /// The library's error with the place.
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
/// The failure shows short values whole. Of lists with more than 16 elements, and of other values
/// with a long text, the failure shows the first difference, a part of both values around this
/// difference, and for lists the number of elements that differ.
///
/// # Errors
/// [`Failure::Differs`], with the place, the expected and the found value.
///
/// # Examples
/// ```
/// use alcor_test::same;
///
/// let error = same("the answer", 42, 7).expect_err("another value");
/// assert_eq!(error.to_string(), "the answer: expected 42, found 7");
///
/// let mut found = vec![0; 1000];
/// found[700] = 9;
/// let error = same("the inbox", vec![0; 1000], found).expect_err("another value");
/// assert_eq!(
///     error.to_string(),
///     "the inbox: 1 of 1000 elements differ, the first at 700, the last at 700: \
///      expected [0, 0, 0, 0, 0, 0, 0, 0] at 698, found [0, 0, 9, 0, 0, 0, 0, 0] at 698"
/// );
/// ```
pub fn same<T: PartialEq + Debug>(place: impl Display, expected: T, found: T) -> Result {
    if found == expected {
        return Ok(());
    }
    let Difference {
        summary,
        expected,
        found,
    } = Difference::of(&expected, &found);
    if summary.is_empty() {
        return Err(Failure::new(place, expected, found));
    }
    let place = format_args!("{place}: {summary}");
    Err(Failure::new(place, expected, found))
}

/// Fails unless the condition `holds`.
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

/// Fails unless the bytes are equal. The failure shows the first bytes that differ.
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

/// Fails unless the hardware refused the command with `status` and the error describes the status.
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
