//! The papers' tables as programs over the host library, and the benchmarks' rows.
//!
//! Each table is measured by a program that any backend can run; each row verifies the data that
//! it moved before it gives a figure.
#![forbid(unsafe_code)]

pub mod alpu;
pub mod collectives;
pub mod host;
pub mod load;
pub mod messages;
pub mod plain;
pub mod plot;
pub mod report;
pub mod rma;

pub use report::{Absent, Format, Report, Row};
