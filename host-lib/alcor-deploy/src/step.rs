//! The steps, in their order.

use std::fmt;

/// A step of a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Checks that the bitstream is the packed one, for this kind of board.
    Verify,
    /// Checks that the programmer is installed, and that all words of its command are known.
    Programmer,
    /// Locks the card against other deployments.
    Lock,
    /// Finds the card, its functions and its bridge, and reads its identity on the bus.
    Find,
    /// Takes the locks of all ranks.
    Ranks,
    /// Checks that no process has the card's device nodes open.
    Users,
    /// Takes the card's functions from their drivers.
    Unbind,
    /// Stops the bridge from reporting the card's removal as a fatal error.
    Mask,
    /// Takes the card's functions off the bus.
    Remove,
    /// Configures the FPGA.
    Program,
    /// Lets the kernel rescan the bus behind the bridge.
    RescanBridge,
    /// Lets the kernel rescan all buses, and waits for the card.
    RescanBus,
    /// Checks that the card's identity on the bus is unchanged.
    Compare,
    /// Lets the bridge report errors again.
    Unmask,
    /// Lets the card answer memory accesses.
    Enable,
    /// Gives the card back to its driver.
    Bind,
    /// Compares the card's ID block with the manifest.
    Identify,
}

impl Step {
    /// All steps, in their order.
    pub const ALL: [Step; 17] = [
        Step::Verify,
        Step::Programmer,
        Step::Lock,
        Step::Find,
        Step::Ranks,
        Step::Users,
        Step::Unbind,
        Step::Mask,
        Step::Remove,
        Step::Program,
        Step::RescanBridge,
        Step::RescanBus,
        Step::Compare,
        Step::Unmask,
        Step::Enable,
        Step::Bind,
        Step::Identify,
    ];

    /// Number of the step, from 1.
    #[must_use]
    pub fn number(self) -> usize {
        1 + self as usize
    }

    /// Name of the step.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Step::Verify => "verify",
            Step::Programmer => "programmer",
            Step::Lock => "lock",
            Step::Find => "find",
            Step::Ranks => "ranks",
            Step::Users => "users",
            Step::Unbind => "unbind",
            Step::Mask => "mask",
            Step::Remove => "remove",
            Step::Program => "program",
            Step::RescanBridge => "rescan-bridge",
            Step::RescanBus => "rescan-bus",
            Step::Compare => "compare",
            Step::Unmask => "unmask",
            Step::Enable => "enable",
            Step::Bind => "bind",
            Step::Identify => "identify",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
