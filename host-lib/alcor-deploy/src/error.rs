//! Errors of deployments, with advice.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use xdma::PciAddress;

use crate::{Holder, Identity, Step, Undone};

/// The result of this crate's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The problem.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The build.
    #[error(transparent)]
    Bitstream(#[from] alcor_bitstreams::Error),
    /// The card, its driver, or sysfs.
    #[error("{source}{}", hint(source))]
    Card {
        /// The problem.
        #[from]
        source: xdma::Error,
    },
    /// The machine has no card at the address.
    #[error(
        "no card at {address}{}. A card that was on the bus at boot comes back with `echo 1 > /sys/bus/pci/rescan`. If its FPGA was empty \
         at boot, load the bitstream with the programmer by hand, then reboot the host warm (a cold boot empties the FPGA)",
        others(present)
    )]
    NotThere {
        /// PCI address of the search.
        address: PciAddress,
        /// Cards of the machine.
        present: Vec<PciAddress>,
    },
    /// The programmer's command has an unknown placeholder, or one without a value.
    #[error("the command of programmer `{programmer}` has {{{placeholder}}}, and {advice}")]
    Placeholder {
        /// The programmer.
        programmer: String,
        /// The placeholder, without braces.
        placeholder: String,
        /// Advice for the user.
        advice: &'static str,
    },
    /// The programmer's command is empty, or has no placeholder for the bitstream.
    #[error(
        "the command of programmer `{programmer}` has no {{bit}} in it, so it would load no bitstream"
    )]
    NoBit {
        /// The programmer.
        programmer: String,
    },
    /// The programmer is not installed.
    #[error(
        "programmer `{programmer}` needs `{program}`, which is not in PATH; install it, or name another with --programmer"
    )]
    NoProgram {
        /// The programmer.
        programmer: String,
        /// The program.
        program: String,
    },
    /// The programmer did not start.
    #[error("can't start `{program}`: {source}")]
    Start {
        /// The program.
        program: String,
        /// Cause of the error.
        source: io::Error,
    },
    /// The programmer failed.
    #[error("`{program}` ended with {status}{}", said(lines))]
    Programmer {
        /// The program.
        program: String,
        /// Exit status of the programmer.
        status: std::process::ExitStatus,
        /// The last lines of its output.
        lines: Vec<String>,
    },
    /// The programmer took too long.
    #[error(
        "`{program}` exceeded its time limit of {after:?} and was ended; the FPGA may hold half a design, so deploy again{}",
        said(lines)
    )]
    ProgrammerTimedOut {
        /// The program.
        program: String,
        /// The time limit.
        after: Duration,
        /// The last lines that it wrote.
        lines: Vec<String>,
    },
    /// A lock file can't be used.
    #[error("can't lock {path}: {source}; the folder must be writable for all users of the board", path = path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// Cause of the error.
        source: io::Error,
    },
    /// Another process deploys to this card, or holds a rank of it.
    #[error("{what} of {address} is held by process {holder}; wait until that process ends")]
    Held {
        /// The resource that the process holds.
        what: String,
        /// The card.
        address: PciAddress,
        /// The process, as named in the lock file.
        holder: String,
    },
    /// Processes have the card's device nodes open.
    #[error(
        "{address} is in use by {}; end these processes first, because the deployment takes the driver away",
        listed(holders)
    )]
    InUse {
        /// The card.
        address: PciAddress,
        /// The processes and their open device nodes.
        holders: Vec<Holder>,
    },
    /// The card has not come back.
    #[error(
        "{address} has not come back within {after:?}: reboot the host warm, which keeps the design in the FPGA; if the card is missing after \
         that, the bitstream has no working PCI Express, or the FPGA is empty"
    )]
    NotBack {
        /// Address before the deployment.
        address: PciAddress,
        /// The duration of the wait.
        after: Duration,
    },
    /// The card came back with other properties.
    #[error(
        "{} was {before} and is now {after}: the PCI configuration of the design has changed, and the host has reserved no address space for it. \
         Reboot the host warm, which keeps the design in the FPGA",
        before.function
    )]
    Differs {
        /// Properties before the deployment.
        before: Box<Identity>,
        /// Properties after the deployment.
        after: Box<Identity>,
    },
    /// The bridge's registers read all ones.
    #[error(
        "bridge {bridge} reads all ones: the bridge does not answer, so nothing is written to it; reboot the host"
    )]
    DeadBridge {
        /// The bridge.
        bridge: PciAddress,
    },
    /// The registers of the card read all ones.
    #[error(
        "{address} is on the bus and its registers read all ones: memory accesses do not reach the design. Deploy again; if the error stays, reboot \
         the host warm"
    )]
    DeadLink {
        /// The card.
        address: PciAddress,
    },
    /// The ID block is another build's.
    #[error(
        "{address}: {register} reads {found:#010x}, and the manifest has {wanted:#010x}: the FPGA holds another build. Either the programmer has \
         loaded another card (check that the serial number belongs to this address), or the manifest belongs to another bitstream"
    )]
    OtherBuild {
        /// The card.
        address: PciAddress,
        /// The register of the ID block.
        register: &'static str,
        /// Value that the register reads.
        found: u32,
        /// Value in the manifest.
        wanted: u32,
    },
    /// The user ended it.
    #[error("stopped on request")]
    Stopped,
}

alcor_errors::debug_as_text!(Error, Failure);

/// Most errors of the system here are due to missing root rights.
fn hint(error: &xdma::Error) -> &'static str {
    match error {
        xdma::Error::Node { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            " (a deployment writes to sysfs, which needs root)"
        }
        xdma::Error::Node { node, source, .. }
            if source.kind() == io::ErrorKind::NotFound && node.ends_with("bind") =>
        {
            "; the driver is not loaded: modprobe it, then deploy again"
        }
        _ => "",
    }
}

fn others(present: &[PciAddress]) -> String {
    let list: Vec<_> = present.iter().map(ToString::to_string).collect();
    if list.is_empty() {
        String::new()
    } else {
        format!(" (there are {})", list.join(", "))
    }
}

fn said(lines: &[String]) -> String {
    if lines.is_empty() {
        "; it printed nothing".into()
    } else {
        format!("; its last lines:\n  {}", lines.join("\n  "))
    }
}

fn listed(holders: &[Holder]) -> String {
    let list: Vec<_> = holders.iter().map(ToString::to_string).collect();
    list.join(", ")
}

/// A deployment that failed.
pub struct Failure {
    /// The step that failed.
    pub step: Step,
    /// Cause of the error.
    pub error: Error,
    /// The steps that were undone, last first, each with its result.
    pub undone: Vec<Undone>,
}

impl Failure {
    /// Whether all completed steps were undone.
    #[must_use]
    pub fn is_undone(&self) -> bool {
        self.undone.iter().all(|undone| undone.result.is_ok())
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "step {} of {}, {}: {}",
            self.step.number(),
            Step::ALL.len(),
            self.step,
            self.error
        )?;
        match (self.undone.is_empty(), self.is_undone()) {
            (true, _) if self.step < Step::Unbind => write!(f, "\nNothing has been changed."),
            (true, _) => Ok(()),
            (false, true) => write!(f, "\nAll completed steps are undone."),
            (false, false) => {
                for undone in &self.undone {
                    if let Err(error) = &undone.result {
                        write!(f, "\nNot undone: {}: {error}", undone.what)?;
                    }
                }
                Ok(())
            }
        }
    }
}
