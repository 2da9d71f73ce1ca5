//! Safe bindings to Verilated SystemVerilog models, built on demand and loaded at run time.
//!
//! A [`Toolchain`] finds Verilator and the compiler. A [`Build`] compiles sources into a shared
//! library, or takes the library from a cache. A [`Model`] is a loaded library. A program clocks,
//! drives and reads an [`Instance`] of the model. [`ports!`] declares typed ports. DPI imports call
//! a host that each instance owns: methods declared by [`imports!`], or a [`Dpi`] for imports of
//! one general form. The public interface is safe: handles are checked, and accesses are bounded.
//! `$stop`, `$fatal`, failed assertions and panics in DPI calls end one instance with an [`Error`],
//! not the process.
//!
//! ```no_run
//! use verimodel::{Build, Toolchain};
//!
//! # fn main() -> Result<(), verimodel::Error> {
//! let model = Build::new("counter").top("counter").source("rtl/counter.sv").build(&Toolchain::find()?)?;
//! let mut counter = model.instantiate("first", ())?;
//! let clk = counter.input("clk_i")?;
//! let count = counter.output("count_o")?;
//! counter.run(&clk, 10)?;
//! println!("{} after {} cycles", counter.get(&count)?, counter.cycles());
//! # Ok(())
//! # }
//! ```
//!
//! The module [`tutorial`] has complete programs.
#![warn(missing_docs)]

#[doc = include_str!("../TUTORIAL.md")]
pub mod tutorial {}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod abi;
mod cache;
mod compile;
mod coverage;
mod dpi;
mod error;
mod file_list;
mod generated;
mod imports;
mod instance;
mod layout;
mod model;
mod port;
mod recipe;
mod recording;
mod signal;
mod sources;
mod state;
mod tokens;
mod toolchain;

pub use cache::{CacheEntry, MODELS_VARIABLE, ModelCache};
pub use coverage::{CoverPoint, Coverage, CoverageProblem, Hit, ModuleCoverage};
pub use dpi::{Dpi, Flow};
pub use error::{Error, Failure, FailureKind};
pub use imports::{DpiInput, DpiOutput, DpiOutputs, DpiType, Import, Imports};
pub use instance::{DEFAULT_PERIOD_PS, Instance};
pub use model::Model;
pub use port::{Input, Output, PortValue};
pub use recipe::{Build, BuildEvent, Optimise, TraceFormat};
pub use recording::{BareRun, RecordedCall, Recording};
pub use signal::{Direction, Memory, Signal};
pub use sources::Sources;
pub use toolchain::{Toolchain, ToolchainBuilder, VERILATOR_VARIABLE};
