//! Tests and their requirements.

use std::fmt;

use alcor::{BoardInfo, Cluster};
use alcor_abi::board::capabilities;

use crate::noise::mix;
use crate::{Context, Result};

/// A hardware block that a test needs.
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
    /// A kernel beside each coprocessor.
    Kernel,
    /// Units for accumulates.
    Accumulate,
}

impl Capability {
    /// Returns whether the board has the block.
    #[must_use]
    pub fn is_on(self, board: &BoardInfo) -> bool {
        let field = match self {
            Capability::Rma => capabilities::RMA,
            Capability::Alpu => capabilities::ALPU,
            Capability::Switch => capabilities::SWITCH,
            Capability::Messages => capabilities::MESSAGES,
            Capability::Kernel => capabilities::KERNEL,
            Capability::Accumulate => capabilities::ACCUMULATE,
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
            Capability::Kernel => "kernel",
            Capability::Accumulate => "unit for accumulates",
        })
    }
}

/// The reason why a board cannot run a test. The test is skipped on this board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unmet {
    /// There are too few ranks.
    #[error("needs {needed} ranks, there are {found}")]
    Ranks {
        /// Number of ranks that the test needs.
        needed: u32,
        /// Number of ranks of the cluster.
        found: u32,
    },
    /// The board lacks a block.
    #[error("needs a {0}, which the board does not have")]
    Capability(Capability),
    /// The ranks have another kernel, or none.
    #[error("needs the kernel `{needed}`, {}", found_kernel(.found))]
    Kernel {
        /// The name of the kernel that the test needs.
        needed: &'static str,
        /// The name of the kernel that there is; zeros without one.
        found: [u8; 4],
    },
    /// Time advances while host code runs.
    #[error("needs time that stands still while host code runs, which the backend does not offer")]
    SteadyTime,
}

fn found_kernel(name: &[u8; 4]) -> String {
    match name {
        [0, 0, 0, 0] => "the board has none".into(),
        name => format!("the board has `{}`", name.escape_ascii()),
    }
}

/// A test, created by [`alcor_test`](crate::alcor_test).
pub struct Test {
    /// Module and name of the test, such as `put.large_block`.
    pub name: &'static str,
    /// One sentence about the tested property.
    pub summary: &'static str,
    /// Minimum number of ranks. The test uses all ranks of the board.
    pub ranks: u32,
    /// The required hardware blocks.
    pub needs: &'static [Capability],
    /// The name of the kernel that it needs, four characters.
    pub kernel: Option<&'static str>,
    /// Whether the test requires that time stands still while host code runs.
    pub steady: bool,
    /// Line in the source file.
    pub line: u32,
    /// Body of the test.
    pub body: &'static (dyn Fn(&Context) -> Result + Sync),
}

impl fmt::Debug for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Test {
    /// The module part of the name.
    #[must_use]
    pub fn module(&self) -> &'static str {
        self.name
            .split_once('.')
            .map_or(self.name, |(module, _)| module)
    }

    /// Checks that a cluster has the required ranks and blocks. `board` is the ID block, equal on
    /// all boards.
    ///
    /// # Errors
    /// The missing requirement.
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
        if let Some(needed) = self.kernel
            && needed.as_bytes() != board.kernel
        {
            let found = board.kernel;
            return Err(Unmet::Kernel { needed, found });
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

/// A test registered by [`alcor_test`](crate::alcor_test).
pub struct Registered(pub &'static Test);

inventory::collect!(Registered);

/// The tests of this program, in order of module name, then of source line.
#[must_use]
pub fn registered() -> Vec<&'static Test> {
    let mut tests: Vec<_> = inventory::iter::<Registered>().map(|it| it.0).collect();
    tests.sort_by_key(|test| (test.module(), test.line));
    tests
}

/// The last module of a path.
const fn last(path: &str) -> &[u8] {
    let mut bytes = path.as_bytes();
    let mut place = bytes.len();
    while place > 0 {
        place -= 1;
        if bytes[place] == b':' {
            bytes = bytes.split_at(place + 1).1;
            break;
        }
    }
    bytes
}

/// The length of a test's name.
pub const fn length(module: &str, function: &str) -> usize {
    last(module).len() + 1 + function.len()
}

/// A test's name: the module's last name and the function's.
pub const fn join<const LENGTH: usize>(module: &str, function: &str) -> [u8; LENGTH] {
    let (module, function) = (last(module), function.as_bytes());
    let mut name = [b'.'; LENGTH];
    let (before, rest) = name.split_at_mut(module.len());
    before.copy_from_slice(module);
    rest.split_at_mut(1).1.copy_from_slice(function);
    name
}

/// The text of a name.
pub const fn text(name: &[u8]) -> &str {
    match str::from_utf8(name) {
        Ok(text) => text,
        Err(_) => panic!("the parts are text"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_last_module_and_the_function() {
        const NAME: [u8; length("a::put", "typed")] = join("a::put", "typed");
        assert_eq!(text(&NAME), "put.typed");
        assert_eq!(&join::<3>("a", "b"), b"a.b");
    }
}
