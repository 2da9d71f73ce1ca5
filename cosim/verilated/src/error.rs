//! Errors, from a missing tool to a failed assertion.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::coverage::CoverageProblem;
use crate::signal::Direction;
use crate::toolchain::SETUP;

/// An error of this crate.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program that the build of a model needs is missing.
    #[error("{tool} not found ({searched}); to get it: {remedy}")]
    MissingTool {
        /// Name of the program.
        tool: &'static str,
        /// Searched places.
        searched: String,
        /// Command that installs the program.
        remedy: &'static str,
    },
    /// Verilator is too old.
    #[error("{path} is Verilator {found}, but version 5 or later is needed; to get it: {SETUP}", path = path.display())]
    VerilatorVersion {
        /// The executable.
        path: PathBuf,
        /// Version that the executable reports.
        found: String,
    },
    /// No folder for built models and tools is known.
    #[error(
        "no folder for built models and tools: set HOME or XDG_CACHE_HOME (ALCOR_MODELS for models alone)"
    )]
    NoCache,
    /// A file or folder could not be used.
    #[error("cannot {action} {path}: {source}", path = path.display())]
    Io {
        /// The operation.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A name, a parameter or a combination of settings of a build is invalid.
    #[error("build of model `{model}`: {what} is `{found}`, expected {expected}")]
    Recipe {
        /// The model's name.
        model: String,
        /// The invalid setting.
        what: &'static str,
        /// The value given.
        found: String,
        /// The expected value.
        expected: &'static str,
    },
    /// Verilator, the compiler or the linker failed.
    #[error("{stage} of model `{model}` failed ({status})\n  {command}\n{output}")]
    Command {
        /// The model's name.
        model: String,
        /// The step: `verilation`, `compilation` or `link`.
        stage: &'static str,
        /// The exit status.
        status: String,
        /// The command line.
        command: String,
        /// The last lines of the command's output.
        output: String,
    },
    /// Verilator read a file that the cache key does not cover.
    #[error(
        "model `{model}` reads {path}, which is neither a source nor in an include folder of its build",
        path = path.display()
    )]
    UntrackedSource {
        /// The model's name.
        model: String,
        /// Path of the file.
        path: PathBuf,
    },
    /// A file that Verilator generated has unexpected contents.
    #[error("model `{model}`: generated file {file} has no usable {what}")]
    Generated {
        /// The model's name.
        model: String,
        /// The file.
        file: String,
        /// The missing item.
        what: String,
    },
    /// The model imports a DPI function that the build does not name.
    #[error(
        "model `{model}` imports DPI function `{function}`, which the build does not list (listed: {listed}) and no C++ source \
         of the build defines"
    )]
    DpiUnlisted {
        /// The model's name.
        model: String,
        /// The function.
        function: String,
        /// Functions that the build lists.
        listed: String,
    },
    /// A file list contains an invalid word.
    #[error("file list {path}: found `{word}`, expected {expected}", path = path.display())]
    FileList {
        /// The list.
        path: PathBuf,
        /// The word.
        word: String,
        /// The expected word.
        expected: &'static str,
    },
    /// A DPI import has another signature in the model than in the host.
    #[error(
        "model `{model}`: DPI function `{function}` has the signature {found} in the model and {host} in the host \
         (inputs -> outputs)"
    )]
    DpiSignature {
        /// The model's name.
        model: String,
        /// The function.
        function: String,
        /// The signature in the model.
        found: String,
        /// The signature in the host.
        host: String,
    },
    /// A DPI import has an argument or a result of an unsupported type.
    #[error(
        "model `{model}`: DPI function `{function}` is `{found}`; a host cannot have `{unsupported}` there (define the \
         function in a C++ source)"
    )]
    DpiType {
        /// The model's name.
        model: String,
        /// The function.
        function: String,
        /// C declaration of the function.
        found: String,
        /// The unsupported type.
        unsupported: String,
    },
    /// A port does not have the width of its Rust type.
    #[error("port `{port}` of model `{model}` has {width} bits, which {rust} does not hold")]
    PortType {
        /// The model's name.
        model: String,
        /// The port.
        port: String,
        /// Width in bits.
        width: usize,
        /// The Rust type.
        rust: &'static str,
    },
    /// A DPI import does not have the canonical form.
    #[error(
        "model `{model}`: DPI function `{function}` is `{found}`; expected (input longint unsigned, input bit [..], \
         output bit [..])"
    )]
    DpiForm {
        /// The model's name.
        model: String,
        /// The function.
        function: String,
        /// C declaration of the function.
        found: String,
    },
    /// Modules import the same DPI function with different widths.
    #[error(
        "model `{model}`: DPI function `{function}` is imported with {first:?} and with {second:?} (words of its arguments)"
    )]
    DpiWidths {
        /// The model's name.
        model: String,
        /// The function.
        function: String,
        /// Words of the arguments at one place.
        first: Vec<usize>,
        /// Words of the arguments at another.
        second: Vec<usize>,
    },
    /// A model with DPI functions has no input for the instance's handle.
    #[error(
        "model `{model}` has DPI functions, so its top `{top}` needs `input logic [63:0] dpi_handle_i`"
    )]
    NoHandlePort {
        /// The model's name.
        model: String,
        /// The top module.
        top: String,
    },
    /// A model's library could not be loaded.
    #[error("cannot load model `{model}` from {path}: {reason}", path = path.display())]
    Load {
        /// The model's name.
        model: String,
        /// The library.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The model has no port of that name and direction.
    #[error("model `{model}` has no {wanted} `{name}`; it has: {available}")]
    NoSuchSignal {
        /// The model's name.
        model: String,
        /// `input`, `output` or `port`.
        wanted: &'static str,
        /// The requested name.
        name: String,
        /// The existing names.
        available: String,
    },
    /// The model has no public variable of that path.
    #[error("model `{model}` has no public {wanted} `{path}`; it has: {available}")]
    NoSuchVariable {
        /// The model's name.
        model: String,
        /// `memory` or `variable`.
        wanted: &'static str,
        /// The requested path.
        path: String,
        /// The existing paths.
        available: String,
    },
    /// A handle belongs to another model.
    #[error("`{name}` is a handle of another model; `{instance}` is an instance of `{model}`")]
    ForeignHandle {
        /// The signal, memory or recording.
        name: String,
        /// The instance with which the handle was used.
        instance: String,
        /// Model of the instance.
        model: String,
    },
    /// A signal cannot be written.
    #[error("`{name}` cannot be written: it is {direction}")]
    NotWritable {
        /// The signal or variable.
        name: String,
        /// Direction of the signal.
        direction: Direction,
    },
    /// A clock is not a 1-bit input.
    #[error(
        "`{name}` cannot be a clock: it is {direction} of {width} bits, expected an input of 1 bit"
    )]
    NotAClock {
        /// The signal.
        name: String,
        /// Direction of the signal.
        direction: Direction,
        /// Width of the signal, in bits.
        width: usize,
    },
    /// A value does not fit a signal.
    #[error("`{name}` has {width} bits: {found} does not fit")]
    Width {
        /// The signal.
        name: String,
        /// Width in bits.
        width: usize,
        /// The value or the number of words.
        found: String,
    },
    /// An access to a memory leaves it.
    #[error("memory `{path}` has {size} bytes: {len} bytes at offset {offset} are out of bounds")]
    Bounds {
        /// The memory.
        path: String,
        /// First byte of the access.
        offset: usize,
        /// Number of bytes of the access.
        len: usize,
        /// The memory's size.
        size: usize,
    },
    /// The model was built without a required feature.
    #[error("model `{model}` was built without {feature}")]
    NotBuilt {
        /// The model's name.
        model: String,
        /// `trace` or `coverage`.
        feature: &'static str,
    },
    /// A coverage file cannot be read.
    #[error("coverage in {path}, line {line}: {problem}", path = path.display())]
    Coverage {
        /// The file.
        path: PathBuf,
        /// Number of the line.
        line: u64,
        /// Defect of the line.
        problem: CoverageProblem,
    },
    /// A clock period is not usable.
    #[error("a clock period of {picoseconds} ps is not an even number above zero")]
    Period {
        /// The requested period.
        picoseconds: u64,
    },
    /// The model failed, stopped or finished in this call.
    #[error(transparent)]
    Model(Box<Failure>),
    /// The model failed, stopped or finished earlier, and cannot be evaluated any more.
    #[error("instance `{instance}` has ended: {failure}", instance = failure.instance)]
    Ended {
        /// The failure that ended the instance.
        failure: Box<Failure>,
    },
}

alcor_errors::debug_as_text!(Error);

impl Error {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io {
            action,
            path,
            source,
        }
    }

    /// The model's failure, if the error contains one.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Error::Model(failure) | Error::Ended { failure } => Some(failure),
            _ => None,
        }
    }
}

/// The reason why an instance ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// `$finish`.
    Finish,
    /// `$stop`.
    Stop,
    /// `$error`, or an assertion that failed.
    Error,
    /// `$fatal`.
    Fatal,
    /// The Verilator runtime gave up, for instance because a loop did not settle.
    Runtime,
    /// [`Dpi::call`](crate::Dpi::call) or [`Dpi::print`](crate::Dpi::print) panicked.
    DpiPanic,
    /// A DPI call carried a handle that is not the instance's own.
    Misdirected,
    /// The calls of a replay differ from the recorded calls.
    Diverged,
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FailureKind::Finish => "$finish",
            FailureKind::Stop => "$stop",
            FailureKind::Error => "error",
            FailureKind::Fatal => "fatal error",
            FailureKind::Runtime => "runtime error",
            FailureKind::DpiPanic => "panic in a DPI call",
            FailureKind::Misdirected => "DPI call with a foreign handle",
            FailureKind::Diverged => "replay diverged",
        })
    }
}

/// The failure that ended an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The instance's name.
    pub instance: String,
    /// Kind of the failure.
    pub kind: FailureKind,
    /// The source file, empty if there is none.
    pub file: String,
    /// Line in the source file.
    pub line: u32,
    /// The scope of the report, with the label of the assertion, if the model reports them.
    pub hier: String,
    /// The text of the report.
    pub message: String,
    /// Number of clock cycles completed before the failure.
    pub cycle: u64,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} in cycle {}",
            self.instance, self.kind, self.cycle
        )?;
        if !self.file.is_empty() {
            write!(f, " at {}:{}", self.file, self.line)?;
        }
        if !self.hier.is_empty() {
            write!(f, " in {}", self.hier)?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}
