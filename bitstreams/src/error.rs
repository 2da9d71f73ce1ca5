//! Errors of builds and manifests, with advice.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// The result of this crate's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a build or a manifest.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused a call.
    #[error("can't {doing} {path}: {source}", path = path.display())]
    Io {
        /// The action that failed.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Cause of the error.
        source: io::Error,
    },
    /// A file that belongs to a build is not there.
    #[error("{path} does not exist; {advice}", path = path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// Advice for the user.
        advice: &'static str,
    },
    /// A path does not name a plain file.
    #[error("{path} is not a plain file; links and devices are not followed", path = path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A file exceeds the size limit of its kind.
    #[error("{path} has {bytes} bytes; the limit for such a file is {most}", path = path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Length in bytes.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// The folder of a build does not have exactly one bitstream.
    #[error("{folder} has {found} .bit files; the folder of a build must have exactly one", folder = folder.display())]
    NotOneBit {
        /// The folder.
        folder: PathBuf,
        /// Number of bitstreams.
        found: usize,
    },
    /// A folder has more entries than a folder of builds can have.
    #[error("{folder} has more than {most} entries; name the folder that the builds are in", folder = folder.display())]
    TooMany {
        /// The folder.
        folder: PathBuf,
        /// The limit.
        most: usize,
    },
    /// A file is not text.
    #[error("{path} is not UTF-8 text: byte {at} is invalid", path = path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// Offset of the invalid byte.
        at: usize,
    },
    /// A file is not TOML, or not with these keys.
    #[error("{path}, line {line}: {message}", path = path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Message of the parser.
        message: String,
    },
    /// A manifest of another version of the schema.
    #[error(
        "{path} has schema {found}, and this program reads {wanted}; {}, or pack the build again with this program",
        if found > wanted { "use the newer program that wrote it" } else { "use the older program that wrote it" },
        path = path.display()
    )]
    Schema {
        /// The file.
        path: PathBuf,
        /// Schema version of the manifest.
        found: i64,
        /// Schema version that this crate reads.
        wanted: i64,
    },
    /// A value that no build can have.
    #[error("{path}: {key} is {found:?}, and {rule}", path = path.display())]
    BadValue {
        /// The file.
        path: PathBuf,
        /// Key of the value.
        key: &'static str,
        /// The beginning of the value.
        found: String,
        /// The rule that the value breaks.
        rule: &'static str,
    },
    /// The bytes are not a .bit file.
    #[error("byte {at} of the bitstream: {problem}")]
    Bit {
        /// Offset of the byte in the bitstream.
        at: usize,
        /// The problem at that byte.
        problem: BitProblem,
    },
    /// A report lacks a required value.
    #[error("the {report} report has no {missing}; write the report again with {}", report.command())]
    Report {
        /// The report.
        report: Report,
        /// Name of the missing value.
        missing: &'static str,
    },
    /// The files of a folder are from different builds.
    #[error(
        "{key} is {left:?} in {left_in} and {right:?} in {right_in}: these files are from different builds; run the build again"
    )]
    Contradiction {
        /// The key whose values differ.
        key: &'static str,
        /// Value in the first file.
        left: String,
        /// The file with the value `left`.
        left_in: &'static str,
        /// Value in the second file.
        right: String,
        /// The file with the value `right`.
        right_in: &'static str,
    },
    /// The board does not carry this part.
    #[error(
        "the bitstream is for {found}, and {board} carries {wanted}; it must not be loaded there"
    )]
    WrongPart {
        /// The board.
        board: String,
        /// The part that the board carries.
        wanted: &'static str,
        /// The part in the bitstream's header.
        found: String,
    },
    /// The design fails its timing.
    #[error(
        "timing is not met: worst slack {} of setup, {} of hold, {} of pulse widths, {failing} endpoints fail; \
         such a bitstream can compute wrong results, and must not be packed",
        ns(timing.setup_ns), ns(timing.hold_ns), ns(timing.pulse_ns)
    )]
    TimingFailed {
        /// The slacks.
        timing: crate::Timing,
        /// Endpoints that fail.
        failing: u64,
    },
    /// The bitstream differs from the packed one.
    #[error(
        "{path} is not the file that was packed: its {what} is {found}, the manifest has {wanted}; \
         copy the file again, or pack the build again if it was rebuilt",
        path = path.display()
    )]
    Changed {
        /// The bitstream.
        path: PathBuf,
        /// The property that differs.
        what: &'static str,
        /// The property's value in the file.
        found: String,
        /// The property's value in the manifest.
        wanted: String,
    },
}

alcor_errors::debug_as_text!(Error);

fn ns(slack: f64) -> String {
    format!("{slack:.3} ns")
}

/// Problem with the bytes of a .bit file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BitProblem {
    /// The file does not begin like a .bit file.
    #[error("this is not a .bit file (perhaps a .bin file or a part of a project)")]
    Preamble,
    /// The file ends in its header.
    #[error("the file ends in its header")]
    Ends,
    /// Another field was expected.
    #[error("expected field {0:?} of the header")]
    Letter(char),
    /// A field is not text.
    #[error("field {0:?} of the header is not text")]
    Text(char),
    /// The length of the data differs from that in the header.
    #[error(
        "the header says that {said} bytes follow, and there are {found}: the file was truncated or extended"
    )]
    Length {
        /// Length in the header, in bytes.
        said: u64,
        /// Length of the data, in bytes.
        found: u64,
    },
    /// No configuration begins in the data.
    #[error("the data has no synchronisation word: it is encrypted padding or not a configuration")]
    NoSync,
    /// The bitstream configures only a part of the chip.
    #[error("this is a partial bitstream, which fits only the design that it was built with")]
    Partial,
}

/// A report of the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// Slacks.
    Timing,
    /// Utilisation of the part.
    Utilisation,
}

impl Report {
    /// The file of a build's folder.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Report::Timing => "timing.rpt",
            Report::Utilisation => "utilisation.rpt",
        }
    }

    fn command(self) -> &'static str {
        match self {
            Report::Timing => "report_timing_summary after route_design",
            Report::Utilisation => "report_utilization after route_design",
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Report::Timing => "timing",
            Report::Utilisation => "utilisation",
        })
    }
}
