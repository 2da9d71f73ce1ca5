//! The steps, in their order.

use std::fmt;

/// A step of a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// The bitstream is the one that was packed, for a board like this.
    Verify,
    /// The programmer is there, and is told all that it asks for.
    Programmer,
    /// Nobody else deploys to the card.
    Lock,
    /// The card is there; its functions, its bridge, and what it looks like on the bus.
    Find,
    /// Nobody holds a rank of it.
    Ranks,
    /// No process has its device nodes open.
    Users,
    /// Its functions are taken from their drivers.
    Unbind,
    /// The bridge no longer reports what will look like a fatal error.
    Mask,
    /// Its functions are taken off the bus.
    Remove,
    /// The FPGA is configured.
    Program,
    /// The kernel looks behind the bridge.
    RescanBridge,
    /// The kernel looks at all buses, and the card is there again.
    RescanBus,
    /// It looks as it did.
    Compare,
    /// The bridge reports errors again.
    Unmask,
    /// The card answers to memory accesses.
    Enable,
    /// Its driver has it again.
    Bind,
    /// Its ID block is that of the manifest.
    Identify,
}

impl Step {
    /// All of them, in their order.
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

    /// Its place among them, from 1.
    #[must_use]
    pub fn number(self) -> usize {
        1 + self as usize
    }

    /// Its name.
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
