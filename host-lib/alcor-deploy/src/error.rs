//! Why a deployment ended, and what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use xdma::PciAddress;

use crate::{Holder, Identity, Step, Undone};

/// The result of this crate's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What was wrong.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The build.
    #[error(transparent)]
    Bitstream(#[from] alcor_bitstreams::Error),
    /// The card, its driver, or sysfs.
    #[error("{source}{}", hint(source))]
    Card {
        /// What was wrong.
        #[from]
        source: xdma::Error,
    },
    /// There is no such card.
    #[error(
        "no card at {address}{}. One that was there at boot comes back with `echo 1 > /sys/bus/pci/rescan`; one whose FPGA was empty \
         at boot has no place on the bus: load the bitstream with the programmer by hand, then reboot the host warm (a cold boot empties the FPGA)",
        others(present)
    )]
    NotThere {
        /// Where it was looked for.
        address: PciAddress,
        /// Cards that are there.
        present: Vec<PciAddress>,
    },
    /// The programmer's command asks for something that is not known.
    #[error("the command of programmer `{programmer}` has {{{placeholder}}}, and {advice}")]
    Placeholder {
        /// The programmer.
        programmer: String,
        /// Without its braces.
        placeholder: String,
        /// What to do.
        advice: &'static str,
    },
    /// The programmer's command has no bitstream in it, or nothing at all.
    #[error(
        "the command of programmer `{programmer}` has no {{bit}} in it, so it would load nothing"
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
        /// Why.
        source: io::Error,
    },
    /// The programmer failed.
    #[error("`{program}` ended with {status}{}", said(lines))]
    Programmer {
        /// The program.
        program: String,
        /// How it ended.
        status: std::process::ExitStatus,
        /// The last lines that it wrote.
        lines: Vec<String>,
    },
    /// The programmer took too long.
    #[error(
        "`{program}` was not done within {after:?} and was ended; the FPGA may hold half a design, so deploy again{}",
        said(lines)
    )]
    ProgrammerTimedOut {
        /// The program.
        program: String,
        /// How long it had.
        after: Duration,
        /// The last lines that it wrote.
        lines: Vec<String>,
    },
    /// A lock file can't be used.
    #[error("can't lock {path}: {source}; the folder has to be writable for all who use the board", path = path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody else deploys to this card, or holds a rank of it.
    #[error("{what} of {address} is held by process {holder}; wait for its end")]
    Held {
        /// What it holds.
        what: String,
        /// The card.
        address: PciAddress,
        /// The process, as it wrote it down.
        holder: String,
    },
    /// Processes have the card's device nodes open.
    #[error(
        "{address} is in use by {}; the driver would be taken from under them, so end them first",
        listed(holders)
    )]
    InUse {
        /// The card.
        address: PciAddress,
        /// Who has what open.
        holders: Vec<Holder>,
    },
    /// The card has not come back.
    #[error(
        "{address} has not come back within {after:?}: reboot the host warm, which keeps what is in the FPGA; if it is not there after \
         that, the bitstream has no working PCI Express, or the FPGA is empty"
    )]
    NotBack {
        /// Where it was.
        address: PciAddress,
        /// How long was waited.
        after: Duration,
    },
    /// The card came back with other properties.
    #[error(
        "{} was {before} and is now {after}: the PCI configuration of the design has changed, for which the host has reserved no room. \
         Only a warm reboot helps, which keeps what is in the FPGA",
        before.function
    )]
    Differs {
        /// Before.
        before: Box<Identity>,
        /// After.
        after: Box<Identity>,
    },
    /// The bridge's registers read all ones.
    #[error(
        "bridge {bridge} reads all ones: it does not answer, so nothing is written to it; reboot the host"
    )]
    DeadBridge {
        /// The bridge.
        bridge: PciAddress,
    },
    /// The registers of the card read all ones.
    #[error(
        "{address} is on the bus and its registers read all ones: memory accesses do not reach the design. Deploy again; if that changes nothing, reboot \
         the host warm"
    )]
    DeadLink {
        /// The card.
        address: PciAddress,
    },
    /// The ID block is another build's.
    #[error(
        "{address}: {register} reads {found:#010x}, and the manifest has {wanted:#010x}: the FPGA holds another build; the programmer has \
         loaded another card (is the serial that of this address?), or the manifest is not of this bitstream"
    )]
    OtherBuild {
        /// The card.
        address: PciAddress,
        /// The register of the ID block.
        register: &'static str,
        /// What it reads.
        found: u32,
        /// What it should read.
        wanted: u32,
    },
    /// The user ended it.
    #[error("stopped on request")]
    Stopped,
}

alcor_errors::debug_as_text!(Error, Failure);

/// Most of what the system refuses here, it refuses to all but root.
fn hint(error: &xdma::Error) -> &'static str {
    match error {
        xdma::Error::Node { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            " (a deployment writes to sysfs, which takes root)"
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
    match list.is_empty() {
        true => String::new(),
        false => format!(" (there are {})", list.join(", ")),
    }
}

fn said(lines: &[String]) -> String {
    match lines.is_empty() {
        true => "; it said nothing".into(),
        false => format!("; it said last:\n  {}", lines.join("\n  ")),
    }
}

fn listed(holders: &[Holder]) -> String {
    let list: Vec<_> = holders.iter().map(ToString::to_string).collect();
    list.join(", ")
}

/// A deployment that did not come to its end.
pub struct Failure {
    /// The step that failed.
    pub step: Step,
    /// Why.
    pub error: Error,
    /// What was undone after that, last first, and what of it failed too.
    pub undone: Vec<Undone>,
}

impl Failure {
    /// Whether all that was done before is undone.
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
            (false, true) => write!(f, "\nWhat was done before is undone."),
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
