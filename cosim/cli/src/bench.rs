//! `alcor bench`: figures, each beside the paper's and the physical bound.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alcor::{Board, Job, Rank};
use alcor_cosim::SimBoard;
use alcor_paper::{Format, Report, Row, load, plot, rma};
use clap::ValueEnum;

use crate::build;
use crate::exit::{Ended, Error, Exit};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Subject {
    /// Tables 7 to 9 of the coprocessor paper, in cycles.
    Rma,
    /// How fast the simulation runs, beside a bare loop.
    Sim,
}

/// How a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table for people.
    Table,
    /// One JSON object.
    Json,
    /// Comma-separated values.
    Csv,
}

/// Measure, each figure beside the paper's and the physical bound
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to measure
    #[arg(value_enum)]
    subject: Subject,
    /// Configuration of hw/core/configs.toml [default: rma2 and rma4 for rma, rma4 for sim]
    #[arg(long, value_name = "NAME")]
    config: Option<String>,
    /// How to print the rows
    #[arg(long, value_enum, default_value = "table")]
    format: Output,
    /// Seed of the data that is moved
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Also draw the exchange of `bench rma` into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Measures and prints; progress goes to standard error.
pub fn run(args: &Args) -> Ended {
    let report = match args.subject {
        Subject::Rma => args.rma()?,
        Subject::Sim => args.sim()?,
    };
    if let Some(path) = &args.plot {
        std::fs::write(path, plot::exchange(&report.rows)?).map_err(Error::write(path))?;
    }
    let format = match args.format {
        Output::Table => Format::Table,
        Output::Json => Format::Json,
        Output::Csv => Format::Csv,
    };
    print!("{}", report.render(format)?);
    Ok(Exit::Passed)
}

impl Args {
    fn report(&self, bench: &str, config: &str, unit: &str, rows: Vec<Row>) -> Report {
        Report {
            bench: bench.into(),
            config: config.into(),
            unit: unit.into(),
            seed: self.seed,
            revision: revision(),
            rows,
        }
    }

    fn rma(&self) -> Result<Report, Error> {
        let configs = match &self.config {
            Some(config) => vec![config.as_str()],
            None => vec!["rma2", "rma4"],
        };
        let mut rows: Vec<Row> = Vec::new();
        for config in &configs {
            let board: Arc<dyn Board> = open(config)?;
            let found = rma::rows(board, self.seed, |step| {
                eprintln!("bench rma: {config}: {step}")
            })?;
            // The instructions of the second configuration are the same as the first's.
            rows.extend(
                found
                    .into_iter()
                    .filter(|row| !rows.iter().any(|other| other.name == row.name))
                    .collect::<Vec<_>>(),
            );
        }
        Ok(self.report("rma", &configs.join("+"), "cycles", rows))
    }

    fn sim(&self) -> Result<Report, Error> {
        let config = self.config.as_deref().unwrap_or("rma4");
        let board = open(config)?;
        let exchange = Speed::measure(&board, "exchange", |rank| load::exchange(rank, 40))?;
        let put_8 = Speed::measure(&board, "put-8", |rank| load::put_8_stream(rank, 10_000))?;
        let rows = vec![
            Row::new("alcor", exchange.alcor).note("exchange, H = 1024, through the library"),
            Row::new("bare", exchange.bare).note("the same traffic, preloaded, in a bare C++ loop"),
            Row::new("efficiency", exchange.efficiency).note("alcor / bare, median of pairs"),
            Row::new("alcor-put-8", put_8.alcor).note("a stream of 8-byte puts from each rank"),
            Row::new("bare-put-8", put_8.bare).note("the same traffic, preloaded"),
            Row::new("efficiency-put-8", put_8.efficiency).note("alcor / bare, median of pairs"),
        ];
        Ok(self.report("sim", config, "simulated cycles per second", rows))
    }
}

fn open(config: &str) -> Result<Arc<SimBoard>, Error> {
    Ok(build::backend()
        .open_sim(config)
        .map_err(|error| error.on(config))?)
}

/// Speeds of one program in simulated cycles per second, medians over [`Speed::PAIRS`] pairs.
struct Speed {
    alcor: f64,
    bare: f64,
    efficiency: f64,
}

impl Speed {
    const PAIRS: usize = 5;

    /// Runs `program` through the library and its recorded traffic in a bare loop, in turn.
    fn measure(
        board: &Arc<SimBoard>,
        name: &'static str,
        program: impl Fn(&mut Rank) -> alcor::Result<()> + Send + Sync,
    ) -> Result<Speed, Error> {
        let job = Job::new(board.clone())?;
        let ranks = job.info().ranks;
        let run = || -> Result<(u64, Duration), Error> {
            let start = Instant::now();
            job.run(ranks, &program)?;
            Ok((board.now(), start.elapsed()))
        };
        eprintln!("bench sim: {name}: recording");
        board.record()?;
        let (cycles, _) = run()?;
        let recording = board.take_recording()?;
        let (mut alcor, mut bare, mut efficiency) = (Vec::new(), Vec::new(), Vec::new());
        for pair in 1..=Speed::PAIRS {
            eprintln!(
                "bench sim: {name}: pair {pair} of {}, {cycles} cycles",
                Speed::PAIRS
            );
            board.reset()?;
            let (again, library) = run()?;
            if again != cycles {
                return Err(Error::Unsteady {
                    program: name,
                    first: cycles,
                    again,
                });
            }
            let replay = board.replay(&recording, cycles)?;
            alcor.push(cycles as f64 / library.as_secs_f64());
            bare.push(replay.cycles as f64 / replay.elapsed.as_secs_f64());
            efficiency.push(alcor[alcor.len() - 1] / bare[bare.len() - 1]);
        }
        Ok(Speed {
            alcor: median(alcor),
            bare: median(bare),
            efficiency: median(efficiency),
        })
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The source revision, where git knows it.
fn revision() -> String {
    Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output()
        .ok()
        .filter(|output| output.status.success())
        .map_or_else(
            || "unknown".into(),
            |output| String::from_utf8_lossy(&output.stdout).trim().into(),
        )
}
