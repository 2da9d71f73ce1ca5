//! The conformance suite: one body, every backend.
//!
//! Its tests are written with [`alcor_test`], as those of any other crate. [`tests`] lists them; `alcor regress` runs them.
//!
//! ```
//! use alcor::soft::SoftBoard;
//! use alcor_conformance::tests;
//! use alcor_test::{Settings, run_test};
//!
//! let test = tests().find(|test| test.name == "put.typed").unwrap();
//! let outcome = run_test(test, SoftBoard::new(2), &Settings::default());
//! assert!(outcome.verdict.is_passed(), "{}", outcome.verdict);
//! ```
//!
//! A test takes the properties of a board (slots, node memory, packet size) from [`alcor::BoardInfo`], and knows no other.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod drills;
mod sheet;
mod suite;

pub use suite::tests;
