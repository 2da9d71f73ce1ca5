//! Errors of simulated boards.

use std::path::PathBuf;
use std::sync::Arc;

use crate::Hardware;

/// An error of the simulated boards. It reaches the library as the source of `alcor::Error::Board`.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CosimError {
    /// `ALCOR_ROOT` names no clone of Alcor's repository.
    #[error(
        "ALCOR_ROOT={root} has no hw/core/configs.toml; set it to a clone of Alcor, or unset it to simulate the copy of the hardware \
         in the program",
        root = root.display()
    )]
    NoRoot {
        /// The folder in `ALCOR_ROOT`.
        root: PathBuf,
    },
    /// A file could not be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Cause of the error.
        source: Arc<std::io::Error>,
    },
    /// A file could not be written.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Cause of the error.
        source: Arc<std::io::Error>,
    },
    /// The board keeps no log.
    #[error("no log is kept; open the board with trace=FILE, packets=FILE or log=RECORDS")]
    NoLog,
    /// The model counts no coverage.
    #[error("the model counts no coverage; open the board with coverage=1")]
    NoCoverage,
    /// The file of configurations is wrong.
    #[error("{path}: {problem}", path = path.display())]
    BadConfig {
        /// The file.
        path: PathBuf,
        /// The problem and its place.
        problem: String,
    },
    /// The configuration does not exist.
    #[error("no configuration `{name}`; there are: {known} (in {hardware})")]
    UnknownConfig {
        /// The requested name.
        name: String,
        /// The existing names.
        known: String,
        /// Folder or crate that the configurations were read from.
        hardware: Hardware,
    },
    /// The option does not exist.
    #[error(
        "no option `{option}`; there are: {known}, and parameters in capitals such as IN_DEPTH=64"
    )]
    UnknownOption {
        /// The requested option.
        option: String,
        /// The known options.
        known: String,
    },
    /// The hardware has no parameter of that name.
    #[error("no parameter `{name}`; there are: {known} (in {hardware})")]
    UnknownParameter {
        /// The requested name.
        name: String,
        /// The known names.
        known: String,
        /// The hardware with these parameters.
        hardware: Hardware,
    },
    /// An option's value can't be used.
    #[error("option {option}={value}: expected {expected}")]
    BadOption {
        /// The option.
        option: String,
        /// The given value.
        value: String,
        /// The accepted values.
        expected: String,
    },
    /// A model could not be built, loaded or set up.
    #[error(transparent)]
    Build(Arc<verimodel::Error>),
    /// The model failed: an assertion, `$fatal`, or a defect of the host's side. Ends the run; a
    /// reset starts anew.
    #[error("the model failed at cycle {cycle} since reset: {}:{}: {}{}", failure.file, failure.line, failure.message, in_scope(&failure.hier))]
    Model {
        /// Cycle since the board's last reset.
        cycle: u64,
        /// The model's message; its cycle counts from power-up.
        failure: Box<verimodel::Failure>,
    },
    /// The board did not become ready after reset.
    #[error("the board is not ready {cycles} cycles after reset (STATUS is {status:#010x})")]
    NotReady {
        /// The time limit.
        cycles: u64,
        /// STATUS at the end.
        status: u32,
    },
    /// A board drove its links before its time began, when no link carries phits.
    #[error("the board drove its links before it was ready")]
    SentEarly,
    /// With `skip=check`: the state of a board changed in a cycle that `skip=on` would have
    /// skipped. A register that counts cycles affects the behaviour and is not in `phased_o` of
    /// `sim_top`, or the compared state lacks a register.
    #[error(
        "the board's state changed between cycles {from} and {to}, which `skip=on` would have skipped; \
         look for a counter that `phased_o` of sim_top.sv does not cover"
    )]
    NotSteady {
        /// The first cycle that would have been skipped.
        from: u64,
        /// The first cycle after `from` that would not have been skipped.
        to: u64,
    },
    /// A register of the board's page was written after time had begun.
    #[error(
        "the board's registers can only be written between a reset and the first cycle, not in cycle {cycle}"
    )]
    SetLate {
        /// The board's time.
        cycle: u64,
    },
    /// The board did not take a register write.
    #[error("the board does not take the write to {address:#x}")]
    BusStuck {
        /// Byte address in the BAR.
        address: u32,
    },
    /// The model does not fit the topology.
    #[error("the model has {links} link ports, and a board of the topology {dims:?} has {needed}")]
    Links {
        /// Link ports of the model.
        links: u32,
        /// The topology's dimensions.
        dims: Vec<u32>,
        /// Link ports that the topology needs.
        needed: u32,
    },
    /// More ranks than the packet header can number.
    #[error("{boards} boards of {ranks} ranks have more than {most} ranks in total")]
    TooManyRanks {
        /// Boards.
        boards: u32,
        /// Ranks of each.
        ranks: u32,
        /// The limit.
        most: u32,
    },
    /// More ports than the run expects.
    #[error(
        "the run already has all of its {expected} ports; another port can attach to the next run, after all of these are dropped"
    )]
    TooManyPorts {
        /// The number of ports that the run expects.
        expected: u32,
    },
    /// An invalid register offset.
    #[error("register offset {offset:#x} is not a multiple of 4 below 0x1000")]
    BadRegister {
        /// The offset.
        offset: u32,
    },
    /// The port has left the run.
    #[error("local rank {rank} has left the run")]
    HasLeft {
        /// The rank.
        rank: u32,
    },
    /// No recording was started.
    #[error("nothing is being recorded")]
    NotRecording,
    /// A wait ended without a result.
    #[error("a wait ended without a result: a defect of the simulator")]
    Lost,
}

alcor_errors::debug_as_text!(CosimError);

fn in_scope(hier: &str) -> String {
    if hier.is_empty() {
        String::new()
    } else {
        format!(" (in {hier})")
    }
}

impl From<verimodel::Error> for CosimError {
    fn from(error: verimodel::Error) -> Self {
        Self::Build(Arc::new(error))
    }
}

impl CosimError {
    /// The error as the library's type.
    pub fn on(self, board: &str) -> alcor::Error {
        alcor::Error::Board {
            board: board.into(),
            source: Box::new(self),
        }
    }
}
