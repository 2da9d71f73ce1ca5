//! Timing diagrams of the blocks' documents, recorded from the model.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use crate::dut::{Dut, hardware};

/// A timing diagram in WaveDrom's format. A bench records the diagram cycle by cycle and compares
/// it with the diagram in the block's document.
///
/// A bench calls [`bit`](Self::bit) or [`data`](Self::data) once a cycle for each signal, between
/// [`Dut::settle`] and [`Dut::clock`], and then [`cycle`](Self::cycle). At the end it calls
/// [`check`](Self::check). [`record`](Self::record) does all of this for a number of cycles.
/// Signals are drawn in the order of their first calls.
///
/// With `ALCOR_WAVES=write` in the environment, `check` writes the diagram instead of comparing it.
/// `hw/doc/generate` draws the diagram.
#[derive(Debug)]
pub struct Waves {
    file: PathBuf,
    scale: u32,
    cycles: usize,
    lanes: Vec<Lane>,
    /// Number of lanes recorded in this cycle.
    seen: usize,
}

#[derive(Debug)]
struct Lane {
    name: String,
    is_bit: bool,
    /// One value per cycle; `None` where the value has no meaning.
    values: Vec<Option<String>>,
}

impl Waves {
    /// A diagram of `hw/<block>/doc`.
    pub fn new(block: &str, name: &str) -> Self {
        Self {
            file: hardware().join(format!("{block}/doc/waves/{name}.json")),
            scale: 1,
            cycles: 0,
            lanes: Vec::new(),
            seen: 0,
        }
    }

    /// Draws each cycle `scale` times as wide, for long values.
    #[must_use]
    pub fn scale(mut self, scale: u32) -> Self {
        self.scale = scale;
        self
    }

    /// Records the level of a one-bit signal in this cycle.
    pub fn bit(&mut self, name: &str, level: impl Into<u64>) {
        let level = if level.into() == 1 { "1" } else { "0" };
        self.put(name, true, Some(level.into()));
    }

    /// Records the value of a wider signal in this cycle; `None` where the value has no meaning.
    pub fn data(&mut self, name: &str, value: Option<impl ToString>) {
        self.put(name, false, value.map(|value| value.to_string()));
    }

    fn put(&mut self, name: &str, is_bit: bool, value: Option<String>) {
        if self.cycles == 0 {
            self.lanes.push(Lane {
                name: name.into(),
                is_bit,
                values: Vec::new(),
            });
        }
        let Some(lane) = self.lanes.get_mut(self.seen) else {
            panic!("{name}: missing in the first cycle");
        };
        assert_eq!(lane.name, name, "signals must keep their order");
        lane.values.push(value);
        self.seen += 1;
    }

    /// Records `cycles` clock cycles of a model, then checks the diagram. `drive` sets the inputs
    /// of a cycle, `show` records the signals. Both receive the number of the cycle.
    ///
    /// # Panics
    /// If the diagram differs from the stored one.
    pub fn record(
        mut self,
        dut: &mut Dut,
        cycles: usize,
        mut drive: impl FnMut(&mut Dut, usize),
        mut show: impl FnMut(&Dut, &mut Self, usize),
    ) {
        for cycle in 0..cycles {
            drive(dut, cycle);
            dut.settle();
            show(dut, &mut self, cycle);
            self.cycle();
            dut.clock();
        }
        self.check();
    }

    /// Ends the cycle.
    ///
    /// # Panics
    /// If a signal of the first cycle has no value.
    pub fn cycle(&mut self) {
        assert_eq!(self.seen, self.lanes.len(), "a signal has no value");
        self.seen = 0;
        self.cycles += 1;
    }

    /// Compares the diagram with the stored diagram.
    ///
    /// # Panics
    /// If the diagrams differ.
    pub fn check(&self) {
        let found = self.json();
        if env::var("ALCOR_WAVES").is_ok_and(|mode| mode == "write") {
            let written = self
                .file
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::write(&self.file, found));
            return written.unwrap_or_else(|error| panic!("{}: {error}", self.file.display()));
        }
        let stored = fs::read_to_string(&self.file).unwrap_or_default();
        assert!(
            stored == found,
            "{} shows\n{stored}and the model does\n{found}\
             ALCOR_WAVES=write in the environment stores it; then run hw/doc/generate",
            self.file.display()
        );
    }

    /// The diagram as JSON, one line per signal.
    fn json(&self) -> String {
        let mut text = String::from("{\n  \"signal\": [\n");
        let clock = format!("p{}", ".".repeat(self.cycles.saturating_sub(1)));
        let _ = write!(text, "    {{\"name\": \"clk_i\", \"wave\": \"{clock}\"}}");
        for lane in &self.lanes {
            let (wave, data) = lane.draw();
            let _ = write!(
                text,
                ",\n    {{\"name\": \"{}\", \"wave\": \"{wave}\"",
                lane.name
            );
            if !data.is_empty() {
                let _ = write!(text, ", \"data\": [{}]", data.join(", "));
            }
            text.push('}');
        }
        let _ = write!(
            text,
            "\n  ],\n  \"config\": {{\"hscale\": {}}},\n  \"head\": {{\"tick\": 0}}\n}}\n",
            self.scale
        );
        text
    }
}

impl Lane {
    /// The lane in WaveDrom's alphabet, and the lane's values in quotes.
    fn draw(&self) -> (String, Vec<String>) {
        let (mut wave, mut data) = (String::new(), Vec::new());
        let mut before = None;
        for value in &self.values {
            match value {
                _ if before == Some(value) => wave.push('.'),
                None => wave.push('x'),
                Some(level) if self.is_bit => wave.push_str(level),
                Some(value) => {
                    wave.push('=');
                    data.push(format!("\"{value}\""));
                }
            }
            before = Some(value);
        }
        (wave, data)
    }
}
