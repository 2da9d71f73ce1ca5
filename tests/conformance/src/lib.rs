//! The conformance suite: one body, every backend.
//!
//! A [`Test`] drives a board through the library `alcor`, and compares what comes of it with what
//! the words of the library mean; it knows nothing of what the board is made of. [`tests`] lists
//! them all, [`run_test`] runs one on a board, [`run_suite`] many on the boards of several backends.
//!
//! ```
//! use alcor::soft::SoftBoard;
//! use alcor_conformance::{Settings, run_test, tests};
//!
//! let test = tests().find(|test| test.name == "put.typed").unwrap();
//! let outcome = run_test(test, SoftBoard::new(2), &Settings::default());
//! assert!(outcome.verdict.is_passed(), "{}", outcome.verdict);
//! ```
//!
//! # What makes a test
//!
//! * It is written with `tests!` in the module it belongs to, and stands in no other list.
//! * It runs on every board that has the ranks and the blocks that it asks for. What it needs to
//!   know of the board (slots, node memory, packet size) it takes from [`alcor::BoardInfo`].
//! * All that is random in it comes from [`Context::rng`], whose seed derives from the run's seed
//!   and the test's name: a test does the same alone as among others.
//! * Where it counts on time to stand still while host code runs, as it does in a simulation, it says so (`steady`), and is
//!   skipped where it does not.
//! * It starts on a board fresh from its reset, with node memory cleared.
//! * It ends within [`Settings::time_limit`] by the wall clock, or fails.
//! * It fails with a [`Failure`], which says where, what was expected and what was found.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod context;
mod drills;
mod failure;
mod noise;
mod runner;
mod schedule;
mod sheet;
mod suite;
mod test;
mod watch;

pub use context::{Context, Tier};
pub use failure::Failure;
pub use runner::{Outcome, Settings, Verdict, digest, run_test};
pub use schedule::{Case, Event, Lane, Open, Stop, run_suite, run_test_within};
pub use suite::tests;
pub use test::{Capability, Test, Unmet, seed_of};
