//! The papers' tables as programs over the host library, and the rows of the benchmarks.
//!
//! Any backend can run the programs. Each program verifies the data before it reports a figure.
#![forbid(unsafe_code)]

pub mod alpu;
pub mod collectives;
pub mod host;
pub mod load;
pub mod messages;
pub mod modes;
pub mod path;
pub mod plain;
pub mod plot;
pub mod processor;
pub mod queues;
pub mod report;
pub mod rma;

pub use report::{Absent, Format, Report, Row};
