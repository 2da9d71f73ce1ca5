//! Errors whose `Debug` form is for people.
//!
//! A program whose `main` returns `Result<(), Box<dyn Error>>` prints an error by `Debug`, and so does `unwrap`. The form
//! that is usually derived shows the names of fields there, in place of the text that says what to do next.
//!
//! ```
//! #[derive(thiserror::Error)]
//! enum Refused {
//!     #[error("no board `{0}`; there are: left, right")]
//!     NoBoard(String),
//! }
//! alcor_errors::debug_as_text!(Refused);
//!
//! assert_eq!(format!("{:?}", Refused::NoBoard("up".into())), "no board `up`; there are: left, right");
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

use std::error::Error;
use std::fmt;

/// Implements `Debug` for error types: the text of the error and of its sources, see [`write()`].
#[macro_export]
macro_rules! debug_as_text {
    ($($error:ty),+ $(,)?) => {
        $(impl ::std::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $crate::write(self, f)
            }
        })+
    };
}

/// Writes the text of an error, and of each of its sources that the text before does not contain.
///
/// # Errors
/// If `f` can't be written to.
pub fn write(error: &dyn Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let says = source.to_string();
        if !text.contains(&says) {
            text += &format!(": {says}");
        }
        next = source.source();
    }
    f.write_str(&text)
}

#[cfg(test)]
mod tests {
    use std::io;

    #[derive(thiserror::Error)]
    enum Failure {
        #[error("cannot read {path}: {source}")]
        Said {
            path: &'static str,
            source: io::Error,
        },
        #[error("the run did not begin")]
        Unsaid { source: Box<Failure> },
    }
    crate::debug_as_text!(Failure);

    #[test]
    fn each_source_is_said_once() {
        let said = || Failure::Said {
            path: "a.sv",
            source: io::Error::other("it is gone"),
        };
        assert_eq!(format!("{:?}", said()), "cannot read a.sv: it is gone");
        let outer = Failure::Unsaid {
            source: Box::new(said()),
        };
        let text = "the run did not begin: cannot read a.sv: it is gone";
        assert_eq!(format!("{outer:?}"), text);
        let returned: Box<dyn std::error::Error> = Box::new(outer);
        assert_eq!(format!("{returned:?}"), text);
    }
}
