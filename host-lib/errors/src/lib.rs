//! Errors with a readable `Debug` form.
//!
//! A program whose `main` returns `Result<(), Box<dyn Error>>` prints an error by `Debug`, and so
//! does `unwrap`. A derived `Debug` prints field names instead of the message with its remedy.
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

/// Implements `Debug` for error types by [`write()`]: prints the error's message and the messages
/// of its sources.
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

/// Writes the message of an error, followed by each source's message that the text does not contain
/// yet.
///
/// # Errors
/// The error of `f` when writing fails.
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
