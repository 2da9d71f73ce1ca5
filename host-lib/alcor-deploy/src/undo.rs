//! Completed actions, and their undo.

use xdma::{Machine, PciAddress};

use crate::acts::appear;
use crate::{Error, Identity, Patience, Result};

/// An action to be undone when a later step fails.
#[derive(Debug, Clone)]
pub(crate) enum Undo {
    /// A function was taken from its driver.
    Rebind { identity: Identity, driver: String },
    /// Bits of a register of the bridge were cleared.
    Restore {
        bridge: PciAddress,
        register: &'static str,
        offset: u16,
        bits: u16,
    },
    /// Functions were taken off the bus.
    Rescan {
        bridge: PciAddress,
        functions: Vec<PciAddress>,
    },
}

/// The result of an undo.
#[derive(Debug)]
pub struct Undone {
    /// The action.
    pub what: String,
    /// Whether the undo succeeded.
    pub result: Result<()>,
}

impl Undo {
    pub(crate) fn what(&self) -> String {
        match self {
            Undo::Rebind { identity, driver } => format!("bind {} to {driver}", identity.function),
            Undo::Restore {
                bridge, register, ..
            } => format!("restore {register} of bridge {bridge}"),
            Undo::Rescan { bridge, functions } => {
                let functions: Vec<_> = functions.iter().map(ToString::to_string).collect();
                format!(
                    "find {} again, behind bridge {bridge}",
                    functions.join(", ")
                )
            }
        }
    }

    pub(crate) fn run(&self, machine: &Machine, patience: &Patience) -> Result<()> {
        match self {
            Undo::Rebind { identity, driver } => {
                let function = identity.function;
                if machine.driver_of(function).is_some() {
                    return Ok(());
                }
                // A driver is bound only to an unchanged function.
                let after = Identity::of(machine, function)?;
                if after != *identity {
                    return Err(Error::Differs {
                        before: Box::new(identity.clone()),
                        after: Box::new(after),
                    });
                }
                Ok(machine.bind(function, driver)?)
            }
            Undo::Restore {
                bridge,
                offset,
                bits,
                ..
            } => restore(machine, *bridge, *offset, *bits),
            Undo::Rescan { bridge, functions } => {
                // The second rescan finds functions that the first one has missed.
                let near = machine.rescan_behind(*bridge);
                let far = machine.rescan();
                let back = functions
                    .iter()
                    .try_for_each(|&function| appear(machine, function, patience.appear));
                match back {
                    Ok(()) => Ok(()),
                    Err(error) => {
                        near?;
                        far?;
                        Err(error)
                    }
                }
            }
        }
    }
}

/// Reads a register of the bridge. The two registers that are used here are never all ones.
pub(crate) fn read_bridge(machine: &Machine, bridge: PciAddress, offset: u16) -> Result<u16> {
    match machine.config(bridge).read16(offset)? {
        u16::MAX => Err(Error::DeadBridge { bridge }),
        value => Ok(value),
    }
}

/// Sets the cleared bits of a register of the bridge again, and leaves the other bits unchanged.
pub(crate) fn restore(machine: &Machine, bridge: PciAddress, offset: u16, bits: u16) -> Result<()> {
    let now = read_bridge(machine, bridge, offset)?;
    Ok(machine.config(bridge).write16(offset, now | bits)?)
}
