//! What can be wrong with a build, and what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// The result of this crate's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a build can't be packed, or a manifest can't be trusted.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused a call.
    #[error("can't {doing} {path}: {source}", path = path.display())]
    Io {
        /// What was to be done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that belongs to a build is not there.
    #[error("{path} is not there; {advice}", path = path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// What to do.
        advice: &'static str,
    },
    /// What has the name of a file is none.
    #[error("{path} is no plain file: a link or a device is not followed", path = path.display())]
    NotAFile {
        /// What it is called.
        path: PathBuf,
    },
    /// A file is longer than such a file can be.
    #[error("{path} has {bytes} bytes, and no such file has more than {most}", path = path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// There is not one bitstream in the folder of a build.
    #[error("{folder} has {found} .bit files; the folder of a build has one", folder = folder.display())]
    NotOneBit {
        /// The folder.
        folder: PathBuf,
        /// How many there are.
        found: usize,
    },
    /// A folder has more in it than a folder of builds.
    #[error("{folder} has more than {most} entries; name the folder that the builds are in", folder = folder.display())]
    TooMany {
        /// The folder.
        folder: PathBuf,
        /// The limit.
        most: usize,
    },
    /// A file is no text.
    #[error("{path} is no UTF-8 text: byte {at} is not", path = path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// Where.
        at: usize,
    },
    /// A file is not TOML, or not with these keys.
    #[error("{path}, line {line}: {message}", path = path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// Where.
        line: usize,
        /// What the parser says.
        message: String,
    },
    /// A manifest of another version of the schema.
    #[error(
        "{path} has schema {found}, and this program reads {wanted}; {}, or pack the build anew with this one",
        if found > wanted { "use the newer program that wrote it" } else { "use the older program that wrote it" },
        path = path.display()
    )]
    Schema {
        /// The file.
        path: PathBuf,
        /// What it says.
        found: i64,
        /// What this crate reads.
        wanted: i64,
    },
    /// A value that no build has.
    #[error("{path}: {key} is {found:?}, and {rule}", path = path.display())]
    BadValue {
        /// The file.
        path: PathBuf,
        /// Which one.
        key: &'static str,
        /// What stands there, its beginning.
        found: String,
        /// What has to hold.
        rule: &'static str,
    },
    /// The bytes are no .bit file.
    #[error("byte {at} of the bitstream: {problem}")]
    Bit {
        /// Where.
        at: usize,
        /// What is wrong there.
        problem: BitProblem,
    },
    /// A report does not say what is needed.
    #[error("the {report} report has no {missing}; write it anew with {}", report.command())]
    Report {
        /// Which one.
        report: Report,
        /// What it lacks.
        missing: &'static str,
    },
    /// The files of a build are not of one build.
    #[error(
        "{key} is {left:?} in {left_in} and {right:?} in {right_in}: these files are not of the same build; build it anew"
    )]
    Contradiction {
        /// What they say differently.
        key: &'static str,
        /// Here.
        left: String,
        /// Where that is.
        left_in: &'static str,
        /// And there.
        right: String,
        /// Where that is.
        right_in: &'static str,
    },
    /// The board does not carry this part.
    #[error(
        "the bitstream is for {found}, and {board} carries {wanted}; it must not be loaded there"
    )]
    WrongPart {
        /// The board.
        board: String,
        /// What it carries.
        wanted: &'static str,
        /// The part in the bitstream's header.
        found: String,
    },
    /// The design does not hold its timing.
    #[error(
        "timing is not met: worst slack {} of setup, {} of hold, {} of pulse widths, {failing} endpoints fail; \
         such a bitstream computes wrong results now and then, and must not be packed",
        ns(timing.setup_ns), ns(timing.hold_ns), ns(timing.pulse_ns)
    )]
    TimingFailed {
        /// The slacks.
        timing: crate::Timing,
        /// Endpoints that fail.
        failing: u64,
    },
    /// The bitstream is not the one that was packed.
    #[error(
        "{path} is not the file that was packed: its {what} is {found}, the manifest has {wanted}; \
         copy it anew, or pack the build again if it was built again",
        path = path.display()
    )]
    Changed {
        /// The bitstream.
        path: PathBuf,
        /// What differs.
        what: &'static str,
        /// What was found.
        found: String,
        /// What the manifest has.
        wanted: String,
    },
}

alcor_errors::debug_as_text!(Error);

fn ns(slack: f64) -> String {
    format!("{slack:.3} ns")
}

/// What is wrong with the bytes of a .bit file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BitProblem {
    /// It does not begin as such a file does.
    #[error("this is no .bit file (a .bin file or a part of a project?)")]
    Preamble,
    /// It ends too early.
    #[error("the file ends in its header")]
    Ends,
    /// Another field was expected.
    #[error("expected field {0:?} of the header")]
    Letter(char),
    /// A field is no text.
    #[error("field {0:?} of the header is no text")]
    Text(char),
    /// The data has another length than the header says.
    #[error(
        "the header says that {said} bytes follow, and there are {found}: the file was cut short or added to"
    )]
    Length {
        /// The header.
        said: u64,
        /// What follows.
        found: u64,
    },
    /// No configuration begins in the data.
    #[error("there is no synchronisation word: the data is encrypted padding or no configuration")]
    NoSync,
    /// It changes only a part of the chip.
    #[error("this is a partial bitstream, which only goes into the design that it was built with")]
    Partial,
}

/// A report of the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// Slacks.
    Timing,
    /// What is used of the part.
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
