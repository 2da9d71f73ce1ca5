//! What the benches of the hardware blocks share: a block under test, streams with random idle and
//! back-pressure, and random numbers whose seed is known.
//!
//! A bench lives beside its block (`hw/<block>/bench/*.rs`) and is a module of the one test binary,
//! `tests/main.rs`. It drives the block one clock cycle at a time:
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
//! Two environment variables steer the benches: `ALCOR_SEED` (the seed, printed when a bench fails)
//! and `ALCOR_SOAK` (a factor by which the random benches run longer). A third, `ALCOR_MUTANTS`, replaces a
//! model by a netlist with faults: `ci/mutate` sets it. With `ALCOR_WAVES=write` the tests `*_waves` store the timing
//! diagrams of the documents in place of comparing them ([`Waves`]).

mod answers;
mod dut;
mod mutants;
mod random;
mod stream;
mod waves;

pub use answers::Answers;
pub use dut::{Dut, Pin, Recipe};
pub use random::{Random, soak};
pub use stream::{Pace, Sink, Source};
pub use waves::Waves;
