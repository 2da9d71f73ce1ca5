//! What a test is.

use std::fmt;

use alcor::abi::board::capabilities;
use alcor::{BoardInfo, Cluster};

use crate::noise::mix;
use crate::{Context, Failure};

/// A block that a test needs on the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// RMA coprocessors.
    Rma,
    /// The matching unit.
    Alpu,
    /// The collective switch.
    Switch,
    /// Message engines.
    Messages,
}

impl Capability {
    /// Whether the board has it.
    #[must_use]
    pub fn is_on(self, board: &BoardInfo) -> bool {
        let field = match self {
            Capability::Rma => capabilities::RMA,
            Capability::Alpu => capabilities::ALPU,
            Capability::Switch => capabilities::SWITCH,
            Capability::Messages => capabilities::MESSAGES,
        };
        field.get(board.capabilities) != 0
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Capability::Rma => "RMA coprocessor",
            Capability::Alpu => "matching unit",
            Capability::Switch => "collective switch",
            Capability::Messages => "message engine",
        })
    }
}

/// Why a board can't run a test: the test is skipped there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unmet {
    /// There are too few ranks.
    #[error("needs {needed} ranks, there are {found}")]
    Ranks {
        /// What the test needs.
        needed: u32,
        /// What there is.
        found: u32,
    },
    /// The board lacks a block.
    #[error("needs a {0}, which the board does not have")]
    Capability(Capability),
    /// Time goes on while host code runs.
    #[error("needs time that stands still while host code runs, which the backend does not offer")]
    SteadyTime,
}

/// A test of the suite.
#[derive(Debug)]
pub struct Test {
    /// Its name: module and test, as in `put.large_block`.
    pub name: &'static str,
    /// What it shows, in a sentence.
    pub summary: &'static str,
    /// The ranks that it needs at least; it uses all that the board has.
    pub ranks: u32,
    /// The blocks that it needs.
    pub needs: &'static [Capability],
    /// Whether it counts on time to stand still while host code runs.
    pub steady: bool,
    /// What it does.
    pub body: fn(&Context) -> Result<(), Failure>,
}

impl Test {
    /// Whether boards, which all say this of themselves, have what the test needs.
    ///
    /// # Errors
    /// What is missing.
    pub fn check(&self, board: &BoardInfo, cluster: &Cluster) -> Result<(), Unmet> {
        let boards = cluster.boards();
        let ranks = board.ranks * boards.len() as u32;
        if ranks < self.ranks {
            return Err(Unmet::Ranks {
                needed: self.ranks,
                found: ranks,
            });
        }
        if let Some(&missing) = self.needs.iter().find(|needed| !needed.is_on(board)) {
            return Err(Unmet::Capability(missing));
        }
        if self.steady && !boards.iter().all(|board| board.time_stands_still()) {
            return Err(Unmet::SteadyTime);
        }
        Ok(())
    }
}

/// The seed of the test called `name` in a run with `seed`.
#[must_use]
pub fn seed_of(seed: u64, name: &str) -> u64 {
    mix(seed, name.as_bytes())
}

/// Writes tests and lists them, both at once:
///
/// ```text
/// tests! {
///     put: Rma;
///
///     /// What the test shows.
///     large_block(context, ranks >= 2) { ... }
/// }
/// ```
///
/// makes the test `put.large_block`, which needs an RMA coprocessor. The body returns
/// `Result<(), Failure>`. A test that counts on time to stand still while host code runs says so:
/// `patience(context, ranks >= 2; steady)`.
macro_rules! tests {
    (@is) => { false };
    (@is steady) => { true };
    ($module:ident: $($need:ident)+; $(
        $(#[doc = $summary:literal])+
        $name:ident($context:ident, ranks >= $ranks:literal $(; $time:ident)?) $body:block
    )+) => {
        const NEEDS: &[$crate::Capability] = &[$($crate::Capability::$need),+];

        /// The tests of this module.
        pub(crate) const TESTS: &[$crate::Test] = &[$(
            $crate::Test {
                name: concat!(stringify!($module), ".", stringify!($name)),
                summary: concat!($($summary),+).trim_ascii_start(),
                ranks: $ranks,
                needs: NEEDS,
                steady: $crate::test::tests!(@is $($time)?),
                body: $name,
            },
        )+];
        $(
            $(#[doc = $summary])+
            fn $name($context: &$crate::Context) -> Result<(), $crate::Failure> $body
        )+
    };
}
pub(crate) use tests;
