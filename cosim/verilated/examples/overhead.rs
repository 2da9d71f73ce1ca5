//! Measures the overhead of Rust in the simulation loop. Clocks a model with one DPI call a cycle,
//! then replays the same calls from a recording in a bare C++ loop. Run with `--release`.

use std::path::Path;
use std::time::Instant;

use verimodel::{Build, Dpi, Error, Flow, Toolchain};

const CYCLES: u64 = 5_000_000;

struct Host {
    calls: u64,
}

impl Dpi for Host {
    fn call(&mut self, _: usize, input: &[u32], output: &mut [u32]) -> Flow {
        self.calls += 1;
        if input[0].is_multiple_of(64) {
            output[0] = input[0];
        }
        Flow::Continue
    }
}

fn main() -> Result<(), Error> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sv");
    let model = Build::new("echo")
        .top("echo")
        .source(sources.join("echo.sv"))
        .dpi("alcor_ask")
        .dpi("alcor_count")
        .progress(|event| eprintln!("{event}"))
        .build(&Toolchain::find()?)?;
    let clk = model.input("clk_i")?;

    let mut recorded = model.instantiate("recorded", Host { calls: 0 })?;
    recorded.record_dpi(true);
    recorded.run(&clk, CYCLES)?;
    let Some(recording) = recorded.take_recording() else {
        return Ok(());
    };

    for _ in 0..3 {
        let mut live = model.instantiate("live", Host { calls: 0 })?;
        let start = Instant::now();
        live.run(&clk, CYCLES)?;
        let with_rust = start.elapsed();
        let mut bare = model.instantiate("bare", Host { calls: 0 })?;
        let without = bare.run_bare(&clk, CYCLES, &recording)?.elapsed;
        let per_cycle = |time: std::time::Duration| time.as_secs_f64() * 1e9 / CYCLES as f64;
        println!(
            "run {:.1} ns a cycle, bare loop {:.1} ns a cycle, ratio {:.2}",
            per_cycle(with_rust),
            per_cycle(without),
            with_rust.as_secs_f64() / without.as_secs_f64()
        );
    }
    Ok(())
}
