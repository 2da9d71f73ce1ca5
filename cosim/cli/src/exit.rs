//! Exit codes and errors of the program.

use std::io;
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};

use alcor_cosim::CosimError;
use alcor_farm::ClusterError;

/// The program's exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Passed,
    /// A test, a benchmark or another action failed.
    Failed,
    /// The command was wrong.
    Usage,
    /// The environment lacks a requirement.
    Environment,
    /// A program that was run ended with this code.
    Program(u8),
    /// This signal ended the run.
    Signal(i32),
}

impl Exit {
    /// The exit code for a shell.
    pub fn code(self) -> u8 {
        match self {
            Exit::Passed => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Environment => 3,
            Exit::Program(code) => code,
            Exit::Signal(signal) => 128 + signal as u8,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// The result of a command.
pub type CommandResult = Result<Exit, Error>;

/// Errors of a command.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No test has a matching name.
    #[error("no test matches `{0}`; `alcor regress --list` shows their names")]
    NoTest(String),
    /// A profile can't be had.
    #[error("{0}")]
    Profile(#[from] crate::regress::ProfileError),
    /// The result store has no run for `--failed`.
    #[error(
        "the result store has no run on `{0}`, so --failed selects no test; leave --failed out"
    )]
    NoLastRun(String),
    /// --failed needs the result store.
    #[error("--failed needs a result store; name one with --store")]
    NoStore,
    /// No project was made.
    #[error(transparent)]
    New(#[from] crate::new::NewError),
    /// A board can't record waves in this way.
    #[error(transparent)]
    Uri(#[from] alcor_test::explain::uri::UriError),
    /// A backend counts no coverage.
    #[error(
        "`{0}` counts no coverage; leave --coverage out, or use a simulated board such as cosim:rma4"
    )]
    NoCoverage(String),
    /// A backend records no timeline.
    #[error(
        "`{0}` records no timeline; leave --trace and --packets out, or use a simulated board such as cosim:rma4"
    )]
    NoTrace(String),
    /// A timeline is of one test.
    #[error(
        "--trace and --packets record one test on one backend, and {0} are selected; select one with --filter '^NAME$'"
    )]
    ManyTraces(usize),
    /// A timeline is of boards that are opened once.
    #[error(
        "--trace and --packets record one configuration: name it with --config, for `bench rma`, `alpu` or `collectives`"
    )]
    NoTracedBench,
    /// Only one benchmark has collectives to choose from.
    #[error("--ops selects collectives of `bench collectives`, and applies to no other benchmark")]
    NoOpsToChoose,
    /// Some benchmarks have rows to choose from.
    #[error(
        "--rows selects rows of `bench rma`, `bench messages` or `bench modes`, and applies to no other benchmark"
    )]
    NoRowsToChoose,
    /// Only one benchmark has a host port to choose.
    #[error("--profile selects the host port of `bench host`, and applies to no other benchmark")]
    NoProfileToChoose,
    /// No measured configuration has a row of this name.
    #[error(
        "`--rows {rows}` names no row of `bench {bench}`; without --rows, it prints all of them"
    )]
    NoSuchRows {
        /// The names.
        rows: String,
        /// The benchmark.
        bench: &'static str,
    },
    /// A path can't be part of a URI.
    #[error(
        "a timeline or packet log can't be written to `{path}`: the path contains `&`, or is not text",
        path = .0.display()
    )]
    BadLogPath(PathBuf),
    /// A card can't be several boards.
    #[error("`{uri}` is one board, so {jobs} jobs can't have one each; leave --jobs out")]
    OneBoard {
        /// The board.
        uri: String,
        /// Boards that were asked for at once.
        jobs: usize,
    },
    /// A card can't be in two parts of a run.
    #[error(
        "`{0}` is one board, so it can't be named twice in a run; run its parts one after the other"
    )]
    SharedTwice(String),
    /// A file can't be written.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Cause of the error.
        source: io::Error,
    },
    /// The result store can't be used.
    #[error("{0}")]
    Store(#[from] crate::store::StoreError),
    /// A benchmark failed.
    #[error("{0}")]
    Measure(#[from] alcor_paper::rma::MeasureError),
    /// A program failed.
    #[error("{0}")]
    Job(#[from] alcor::JobError),
    /// A program took another number of cycles than before.
    #[error(
        "{program} took {first} cycles in one run and {again} in another; the cycles of a program must not vary"
    )]
    Unsteady {
        /// The program.
        program: &'static str,
        /// Cycles of the recorded run.
        first: u64,
        /// Cycles of a later one.
        again: u64,
    },
    /// The calls for cocotb can't be prepared.
    #[error("cannot {what} for cocotb's run: {path}: {source}", path = path.display())]
    Rival {
        /// The action that failed.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Cause of the error.
        source: io::Error,
    },
    /// The result of cocotb differs from that of the library.
    #[error(
        "cocotb's run of {program} failed ({status}); its messages are above. To install cocotb again, remove \
         target/tools/rival and run `ci/setup --rival`"
    )]
    RivalFailed {
        /// The program.
        program: &'static str,
        /// Exit status of the program.
        status: ExitStatus,
    },
    /// A report can't be printed.
    #[error("{0}")]
    Render(#[from] alcor_paper::report::RenderError),
    /// A plot can't be drawn.
    #[error("{0}")]
    Plot(#[from] alcor_paper::plot::PlotError),
    /// A build can't be packed, or a bitstream differs from the packed one.
    #[error("{0}")]
    Bitstream(#[from] alcor_bitstreams::Error),
    /// A bitstream could not be loaded.
    #[error("{0}")]
    Deploy(#[from] Box<alcor_deploy::Failure>),
    /// The file of the board farm can't be used.
    #[error("{0}")]
    Farm(#[from] alcor_deploy::FarmError),
    /// No programmer has that name.
    #[error(
        "there is no programmer `{0}`; known are vivado, openfpgaloader, and those of boards.toml"
    )]
    NoProgrammer(String),
    /// No card was named.
    #[error(
        "name the card: by --card with its PCI address, or by --board with its name in boards.toml"
    )]
    NoCard,
    /// The name of this host is unknown.
    #[error("this host has no name: {0}")]
    HostName(io::Error),
    /// Processes can't share these boards.
    #[error(
        "the ranks of `{0}` can't be processes of their own; use cosim:CONFIG, xdma:PCI-ADDRESS or cluster:NAME"
    )]
    NotForProcesses(String),
    /// A URI names no card.
    #[error("`{0}` names no card; use xdma:PCI-ADDRESS, board:NAME or cluster:NAME")]
    NotACard(String),
    /// The program does not exist.
    #[error("there is no program `{0}`; give its path, or its name if it is in PATH")]
    NoProgram(String),
    /// A program can't be started.
    #[error("cannot run `{program}`: {source}")]
    Program {
        /// The program.
        program: String,
        /// Cause of the error.
        source: io::Error,
    },
    /// A cluster can't be served.
    #[error("{0}")]
    Serve(#[from] alcor_serve::ServeError),
    /// A virtual card can't be served.
    #[error("{0}")]
    Vcard(#[from] alcor_vcard::Error),
    /// A process can't be traced.
    #[error("cannot be traced: {0}")]
    Trace(io::Error),
    /// Signals can't be waited for.
    #[error("cannot wait for signals: {0}")]
    Signals(io::Error),
    /// The tools can't be installed.
    #[error(
        "the tools were not installed ({0}); the reason is above. The settings of pip apply, such as PIP_INDEX_URL"
    )]
    Setup(ExitStatus),
    /// A board can't be opened or identified.
    #[error("{0}")]
    Board(#[from] alcor::Error),
}

impl Error {
    /// For `map_err`, with the path of the file to be written.
    pub fn write(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        |source| Error::Write { path, source }
    }
}

impl From<&Error> for Exit {
    fn from(error: &Error) -> Exit {
        match error {
            Error::NoTest(_)
            | Error::Profile(_)
            | Error::NoLastRun(_)
            | Error::NoStore
            | Error::Uri(_)
            | Error::New(_)
            | Error::NoCoverage(_)
            | Error::NoTrace(_)
            | Error::ManyTraces(_)
            | Error::NoTracedBench
            | Error::NoOpsToChoose
            | Error::NoRowsToChoose
            | Error::NoProfileToChoose
            | Error::NoSuchRows { .. }
            | Error::BadLogPath(_)
            | Error::OneBoard { .. }
            | Error::SharedTwice(_)
            | Error::NoProgrammer(_)
            | Error::NotForProcesses(_)
            | Error::NotACard(_)
            | Error::NoProgram(_)
            | Error::Program { .. }
            | Error::NoCard => Exit::Usage,
            Error::Write { .. }
            | Error::Store(_)
            | Error::HostName(_)
            | Error::Trace(_)
            | Error::Vcard(_)
            | Error::Signals(_)
            | Error::Setup(_)
            | Error::Rival { .. } => Exit::Environment,
            Error::Serve(error) => of_server(error),
            Error::Measure(_)
            | Error::Job(_)
            | Error::Unsteady { .. }
            | Error::RivalFailed { .. }
            | Error::Render(_)
            | Error::Plot(_) => Exit::Failed,
            Error::Bitstream(error) => of_bitstream(error),
            Error::Deploy(failure) => of_deploy(&failure.error),
            Error::Farm(error) => of_farm(error),
            Error::Board(error) => of_board(error),
        }
    }
}

/// A missing file is an error of the command; a file with wrong contents is a failure.
fn of_bitstream(error: &alcor_bitstreams::Error) -> Exit {
    use alcor_bitstreams::Error as E;
    match error {
        E::Missing { .. } | E::NotOneBit { .. } | E::TooMany { .. } => Exit::Usage,
        E::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => Exit::Usage,
        E::Io { .. } => Exit::Environment,
        _ => Exit::Failed,
    }
}

/// A missing card, program or right is an error of the environment; a step that was tried has
/// failed.
fn of_deploy(error: &alcor_deploy::Error) -> Exit {
    use alcor_deploy::Error as E;
    match error {
        E::Bitstream(error) => of_bitstream(error),
        E::Placeholder { .. } | E::NoBit { .. } => Exit::Usage,
        E::NotThere { .. } | E::NoProgram { .. } | E::Lock { .. } => Exit::Environment,
        E::Card {
            source: xdma::Error::Node { source, .. },
        } if source.kind() == io::ErrorKind::PermissionDenied => Exit::Environment,
        _ => Exit::Failed,
    }
}

fn of_server(error: &alcor_serve::ServeError) -> Exit {
    use alcor_serve::ServeError as E;
    match error {
        E::NameTaken(_) => Exit::Usage,
        E::Board(error) => of_board(error),
        _ => Exit::Environment,
    }
}

fn of_farm(error: &alcor_deploy::FarmError) -> Exit {
    match error {
        alcor_deploy::FarmError::Read { .. } => Exit::Environment,
        _ => Exit::Usage,
    }
}

pub fn of_board(error: &alcor::Error) -> Exit {
    use alcor::Error as E;
    match error {
        E::UnknownScheme { .. } | E::NoSuchRank { .. } | E::TooFewRanks { .. } => Exit::Usage,
        E::DeadLink { .. }
        | E::NotAlcor { .. }
        | E::AbiVersion { .. }
        | E::AbiHash { .. }
        | E::MissingCapability { .. } => Exit::Environment,
        E::Board { source, .. } => {
            if let Some(ClusterError::Farm(error)) = source.downcast_ref() {
                of_farm(error)
            } else if let Some(error) = source.downcast_ref() {
                of_simulation(error)
            } else if let Some(error) = source.downcast_ref() {
                of_shared_memory(error)
            } else if let Some(error) = source.downcast_ref::<crate::served::ServedError>() {
                error.exit()
            } else {
                Exit::Usage
            }
        }
        _ => Exit::Failed,
    }
}

fn of_shared_memory(error: &alcor_shm::ShmError) -> Exit {
    use alcor_shm::ShmError as E;
    match error {
        E::NoCluster => Exit::Usage,
        E::Gone | E::Simulator { .. } => Exit::Failed,
        _ => Exit::Environment,
    }
}

fn of_simulation(error: &CosimError) -> Exit {
    use verimodel::Error as V;
    match error {
        CosimError::UnknownConfig { .. }
        | CosimError::UnknownOption { .. }
        | CosimError::UnknownParameter { .. }
        | CosimError::BadOption { .. }
        | CosimError::TooManyRanks { .. } => Exit::Usage,
        CosimError::NoRoot { .. } | CosimError::Read { .. } => Exit::Environment,
        CosimError::Build(error) => match **error {
            V::MissingTool { .. }
            | V::VerilatorVersion { .. }
            | V::NoCache
            | V::Io { .. }
            | V::Load { .. } => Exit::Environment,
            _ => Exit::Failed,
        },
        _ => Exit::Failed,
    }
}
