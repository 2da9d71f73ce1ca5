//! Tests of programs over Alcor: one body for simulated boards and cards, and failures that explain
//! themselves.
//!
//! A test is a function with the attribute [`alcor_test`]. `cargo test`, cargo-nextest and editors
//! see a test of Rust:
//!
//! ```
//! use alcor::{GlobalRank, Rights};
//! use alcor_test::{Context, Result, alcor_test, same};
//!
//! /// Each rank puts its number to its right neighbour.
//! #[alcor_test(ranks >= 2)]
//! fn exchange(context: &Context) -> Result {
//!     context.run(|rank| {
//!         let (me, ranks) = (rank.pid().0, rank.nprocs());
//!         let inbox = rank.alloc::<u32>(1)?;
//!         let window = rank.register(&inbox, Rights::ALL)?;
//!         rank.put(&window, GlobalRank((me + 1) % ranks), 0, &[me])?;
//!         rank.fence()?;
//!         same("the inbox", vec![(me + ranks - 1) % ranks], rank.read_vec(&inbox)?)
//!     })?;
//!     Ok(())
//! }
//! # use alcor::soft::SoftBoard;
//! # let test = alcor_test::registered()[0];
//! # let outcome = alcor_test::run_test(test, SoftBoard::new(2), &Default::default());
//! # assert!(outcome.verdict.is_passed(), "{}", outcome.verdict);
//! ```
//!
//! # The attribute
//! `#[alcor_test(ranks >= N, needs = [Alpu], steady)]`; each part is optional.
//!
//! | part | meaning |
//! |---|---|
//! | `ranks >= N` | the test needs at least N ranks, and uses all that the board has; 1 by default |
//! | `kernel = "name"` | the kernel that the test needs, by its name of four characters |
//! | `needs = [...]` | the hardware blocks that the test needs ([`Capability`]); `Rma` by default |
//! | `steady` | the test requires that time stands still while host code runs, as in simulation |
//!
//! # The environment
//! | variable | value | default |
//! |---|---|---|
//! | `ALCOR_TEST_BACKEND` | the board: `cosim:CONFIG[?OPTION=VALUE&...]`, `xdma:PCI-ADDRESS`, `shm:NAME`, `soft:RANKS` | `cosim:rma4` |
//! | `ALCOR_TEST_SEED` | the seed of the run, a number, also as `0x...`; each test's own seed derives from it and from the test's name | 1 |
//! | `ALCOR_TEST_TIER` | `quick` or `full` (see [`Context::scale`]) | `quick` |
//! | `ALCOR_TEST_WATCHDOG` | the number of cycles after which a wait fails | 2,000,000 |
//! | `ALCOR_TEST_TIMEOUT` | time limit of a test in seconds of wall clock | 600 |
//! | `ALCOR_TEST_WAVES` | `never`, or `on-failure`: waves of the last 10,000 cycles before a failure | `on-failure` on simulated boards |
//! | `ALCOR_TEST_REPORT` | the folder of explanations, relative to the folder of the crate | `target/alcor-report` |
//! | `ALCOR_SKIPS` | a file; each skipped test appends a line with the reason | none |
//!
//! # Failures
//! A test that fails is run again at once. The second run fills a folder: the message, the last
//! commands of each rank, the last packets of each board, the cycle of waiting ranks if there is
//! one, and waves. `alcor regress` explains its failures with the same code ([`explain`]).
//!
//! # Skipped tests
//! Rust's test harness has no result for a skipped test. A test therefore fails on a board that
//! lacks ranks or blocks, and the message names them. If `ALCOR_SKIPS` names a file, the test
//! appends a line to the file and counts as passed.
//!
//! # Properties of a test
//! * A test runs on every board that has the required ranks and blocks.
//! * A test starts on a board that has just been reset, with node memory cleared.
//! * All random values come from [`Context::rng`], so a test behaves the same alone and among
//!   others.
//! * A test ends within its time limit, or fails.
//! * A test fails with a [`Failure`], which has the place, the expected value and the value found.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod context;
mod difference;
pub mod explain;
mod failure;
mod harness;
mod noise;
mod runner;
mod schedule;
mod test;
mod watch;

pub use alcor_test_macros::alcor_test;
pub use context::{Context, Tier, after, before, traffic};
pub use failure::{At, Failure, Result, fails, holds, refused, same, same_bytes};
pub use harness::run_or_panic;
pub use runner::{Outcome, Settings, Verdict, digest, run_test};
pub use schedule::{Case, Event, Lane, Open, Stop, run_suite, run_test_within};
pub use test::{Capability, Test, Unmet, registered, seed_of};

/// Names that the expansion of [`alcor_test`] uses.
#[doc(hidden)]
pub mod __private {
    pub use crate::test::{Registered, join, length, text};
    pub use inventory;
}
