//! Common parts of the benches of hardware blocks: a block under test, streams with random idle
//! cycles and back-pressure, and seeded random numbers.
//!
//! A bench is in the folder of its block (`hw/<block>/bench/*.rs`) and is a module of the only test
//! binary, `tests/main.rs`. The bench drives the block one clock cycle at a time:
//!
//! ```no_run
//! use alcor_hw_bench::{Dut, Recipe};
//!
//! let mut dut = Dut::start(&Recipe::new("fifo", "fifo").blocks(&["common"]).param("DEPTH", 4));
//! let (valid, data, out) = (dut.pin("valid_i"), dut.pin("data_i"), dut.pin("data_o"));
//! dut.reset();
//! dut.set(valid, 0, 1); // drive the inputs of this cycle
//! dut.set(data, 0, 42);
//! dut.settle(); // outputs follow, combinationally
//! dut.clock(); // the clock edge
//! dut.set(valid, 0, 0);
//! dut.settle();
//! assert_eq!(dut.get(out, 0), 42);
//! ```
//!
//! These environment variables control the benches: `ALCOR_SEED` sets the seed, which a failing
//! bench prints. `ALCOR_SOAK` multiplies the duration of the random benches. `ALCOR_MUTANTS`
//! replaces a model by a netlist with faults, and is set by `ci/mutate`. `ALCOR_COVERAGE` names a
//! folder for coverage counts, and is set by `ci/cover`. `ALCOR_PLOT` names a file for the picture of a
//! bench. With `ALCOR_WAVES=write`,
//! the tests `*_waves` write the timing diagrams of the documents instead of comparing them
//! ([`Waves`]).

mod answers;
pub mod bundles;
mod dut;
mod mutants;
mod random;
mod stream;
mod waves;

pub use answers::Answers;
pub use dut::{Dut, Pin, Recipe};
pub use random::{Random, full, soak};
pub use stream::{Pace, Sink, Source};
pub use waves::Waves;
