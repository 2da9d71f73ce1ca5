//! `alcor bench`: measured values beside those of the papers and the physical limits.

mod host;
mod memory;
mod rival;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alcor::{Board, FlowControl, Job, Options, Rank};
use alcor_abi::board::capabilities;
use alcor_cosim::{Profile, SimBoard, SimCluster};
use alcor_paper::collectives::{self, Network, Op, Path, Plan};
use alcor_paper::modes::{self, Mode};
use alcor_paper::{Absent, Format, Report, Row, alpu, load, messages, path, plot, queues, rma};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

pub use host::{CountArgs, be_counted};
pub use memory::remembered;
use rival::Rival;

use crate::backends::Logs;
use crate::build;
use crate::exit::{CommandResult, Error, Exit};
use crate::revision::revision;
use crate::store::StoreArgs;
use memory::Measured;

/// A benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Subject {
    /// Tables 7 to 9 of the coprocessor paper, in cycles; and streams between two ranks, in bytes a
    /// cycle.
    Rma,
    /// The matching unit: cycles from match to match, insert to insert, and request to result; and
    /// the latency of messages that it matches, over the length of its queues.
    Alpu,
    /// Messages: latency, rates, a put during a search, unmatched messages in front; and ping-pong
    /// and streams over the size of a message.
    Messages,
    /// Collectives over joined boards in hardware, in cycles, beside the physical limit and the
    /// same collectives in software.
    Collectives,
    /// Cost of a put on the host. Counts stores, loads and system calls on the device nodes of a
    /// simulated card. Measures the library's own time over plain memory, and a put to a cluster of
    /// another process.
    Host,
    /// Completions in host memory beside an interrupt for each, without and with the protocol of the
    /// links, behind the host port of profile gen3x16: messages over size, and collectives over boards.
    Modes,
    /// Speed of the simulation: a board beside a bare loop, joined boards on one and on two
    /// threads.
    Sim,
}

impl Subject {
    /// Name of the benchmark on the command line.
    fn name(self) -> &'static str {
        match self {
            Subject::Rma => "rma",
            Subject::Alpu => "alpu",
            Subject::Messages => "messages",
            Subject::Collectives => "collectives",
            Subject::Host => "host",
            Subject::Modes => "modes",
            Subject::Sim => "sim",
        }
    }

    /// Name of the benchmark in the result store.
    fn key(self) -> String {
        format!("bench:{}", self.name())
    }
}

/// Format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table for people.
    Table,
    /// One JSON object.
    Json,
    /// Comma-separated values.
    Csv,
}

/// Measure, and show each value beside the paper's value and the physical limit
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Benchmark
    #[arg(value_enum)]
    subject: Subject,
    /// Configuration of hw/core/configs.toml [default: rma2 and rma4 for rma, ring4 and torus8 for
    /// collectives, rma2 for host, u280, ring2, ring4 and torus8 for modes, rma4 for sim; for alpu the matching units of alpu128 and alpu256
    /// with blocks of 8, 16 and 32, and queues of mpi2 with units of 128 and 256 cells; for messages
    /// mpi2, rma2-wide, and the rates of rma4]
    #[arg(long, value_name = "NAME", value_parser = crate::build::config)]
    config: Option<String>,
    /// Format of the rows
    #[arg(long, value_enum, default_value = "table")]
    format: Output,
    /// Seed of the transferred data
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of threads on which `bench sim` steps joined boards, beside one thread [default: 2]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Also measure `bench collectives` at 1 MiB and 4 MiB
    #[arg(long)]
    full: bool,
    /// Measure only these collectives of `bench collectives`, separated by commas, and store no
    /// results
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = op_by_name())]
    ops: Vec<Op>,
    /// Measure only these rows of `bench rma`, `bench messages` or `bench modes`, separated by commas,
    /// and store no results: names, or their beginnings up to a hyphen, for example `rate,send-8`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    rows: Vec<String>,
    /// Measure `bench host` behind the host port of this profile instead: times of whole operations
    /// in simulated time, on rma2-wide, and with several boards on u280; with --config on that
    /// configuration alone
    #[arg(long, value_name = "NAME", value_parser = profile_by_name())]
    profile: Option<Profile>,
    /// Also draw the exchange of `bench rma`, the queues of `bench alpu`, the bandwidth of
    /// `bench messages`, or the rows of `bench modes` or of `bench collectives`, into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    logs: Logs,
    #[command(flatten)]
    store: StoreArgs,
}

/// Measures and prints; progress goes to standard error.
pub fn run(args: &Args) -> CommandResult {
    let is_traced = matches!(
        args.subject,
        Subject::Rma | Subject::Alpu | Subject::Messages | Subject::Collectives
    );
    if args.logs.are_wanted() && !(is_traced && args.config.is_some()) {
        return Err(Error::NoTracedBench);
    }
    if !args.ops.is_empty() && args.subject != Subject::Collectives {
        return Err(Error::NoOpsToChoose);
    }
    let has_choice = matches!(
        args.subject,
        Subject::Rma | Subject::Messages | Subject::Modes
    );
    if !args.rows.is_empty() && !has_choice {
        return Err(Error::NoRowsToChoose);
    }
    if args.profile.is_some() && args.subject != Subject::Host {
        return Err(Error::NoProfileToChoose);
    }
    let store = match (&args.ops[..], &args.rows[..], args.profile) {
        ([], [], None) => args.store.open(&args.subject.key())?,
        // A part of the rows must not replace all rows in the next comparison.
        _ => None,
    };
    let report = match args.subject {
        Subject::Rma => args.rma()?,
        Subject::Alpu => args.alpu()?,
        Subject::Messages => args.messages()?,
        Subject::Collectives => args.collectives()?,
        Subject::Host => args.host()?,
        Subject::Modes => args.modes()?,
        Subject::Sim => args.sim()?,
    };
    if report.rows.is_empty() {
        return Err(Error::NoSuchRows {
            rows: args.rows.join(","),
            bench: args.subject.name(),
        });
    }
    if let Some(path) = &args.plot {
        let picture = match args.subject {
            Subject::Collectives => plot::collectives(&report)?,
            Subject::Alpu => plot::queues(&report)?,
            Subject::Messages => plot::bandwidth(&report)?,
            Subject::Modes => plot::modes(&report)?,
            Subject::Rma | Subject::Host | Subject::Sim => plot::exchange(&report.rows)?,
        };
        std::fs::write(path, picture).map_err(Error::write(path))?;
    }
    let format = match args.format {
        Output::Table => Format::Table,
        Output::Json => Format::Json,
        Output::Csv => Format::Csv,
    };
    print!("{}", report.render(format)?);
    if let Some(mut store) = store {
        store.remember(Measured::now(args.full, report));
    }
    Ok(Exit::Passed)
}

impl Args {
    fn report(&self, bench: Subject, config: &str, unit: &str, rows: Vec<Row>) -> Report {
        Report {
            bench: bench.name().into(),
            config: config.into(),
            unit: unit.into(),
            seed: self.seed,
            revision: revision(),
            rows,
            absent: Vec::new(),
        }
    }

    /// Whether a row is to be measured: all are, unless some are named.
    fn wants(&self, row: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|name| is_named(row, name))
    }

    fn rma(&self) -> Result<Report, Error> {
        let configs = match &self.config {
            Some(config) => vec![config.as_str()],
            None => vec!["rma2", "rma4"],
        };
        let mut rows: Vec<Row> = Vec::new();
        for config in &configs {
            let uri = self.logs.add_to(config)?;
            // Instructions and streams of the second configuration are the same as the first's.
            let is_new = |name: &str| !rows.iter().any(|row| row.name == name);
            let is_wanted = |name: &str| self.wants(name) && is_new(name);
            let found = rma::rows(open(&uri)?.cluster()?, self.seed, is_wanted, |step| {
                eprintln!("bench rma: {config}: {step}")
            })?;
            rows.extend(found);
        }
        Ok(self.report(Subject::Rma, &configs.join("+"), "cycles", rows))
    }

    fn alpu(&self) -> Result<Report, Error> {
        let configs = match &self.config {
            Some(config) => vec![config.clone()],
            None => ["alpu256", "alpu128"]
                .into_iter()
                .flat_map(|name| ["8", "16", "32"].map(|cells| (name, cells)))
                .map(|(name, cells)| with_option(name, "ALPU_BLOCK", cells))
                .chain(["mpi2".to_owned(), with_option("mpi2", "MATCH_CELLS", "256")])
                .collect(),
        };
        let mut rows: Vec<Row> = Vec::new();
        for config in &configs {
            eprintln!("bench alpu: {config}");
            let cluster = open(&self.logs.add_to(config)?)?.cluster()?;
            // A board whose unit the host drives has no other rows.
            if capabilities::ALPU.get(cluster.identify()?.capabilities) != 0 {
                rows.extend(alpu::rows(cluster)?);
                continue;
            }
            let found = queues::rows(cluster, |step| {
                eprintln!("bench alpu: {config}: {step}");
            })?;
            // A walk takes the same time with a unit of any size.
            let is_new = |row: &Row| !rows.iter().any(|other| other.name == row.name);
            rows.extend(found.into_iter().filter(is_new).collect::<Vec<_>>());
        }
        rows.extend(queues::crossings(&rows));
        let config = self.config.as_deref().unwrap_or("alpu256+alpu128+mpi2");
        Ok(self.report(Subject::Alpu, config, "cycles", rows))
    }

    fn messages(&self) -> Result<Report, Error> {
        // Configurations, and the beginnings of their rows.
        let configs: Vec<(&str, &[&str])> = match &self.config {
            Some(config) => vec![(config.as_str(), &[])],
            None => vec![("mpi2", &[]), ("rma2-wide", &[]), ("rma4", &["rate"])],
        };
        let mut rows = Vec::new();
        for (config, names) in &configs {
            let cluster = open(&self.logs.add_to(config)?)?;
            let is_wanted = |row: &str| {
                (names.is_empty() || names.iter().any(|name| is_named(row, name)))
                    && self.wants(row)
            };
            let latency = cluster.link_figures().latency;
            let found = messages::rows(cluster.cluster()?, latency, is_wanted, |step| {
                eprintln!("bench messages: {config}: {step}");
            })?;
            // Rows of several configurations need different names.
            rows.extend(found.into_iter().map(|row| match configs.len() {
                1 => row,
                _ => row.of(config),
            }));
        }
        let configs: Vec<&str> = configs.into_iter().map(|(config, _)| config).collect();
        Ok(self.report(Subject::Messages, &configs.join("+"), "cycles", rows))
    }

    fn collectives(&self) -> Result<Report, Error> {
        let configs = match &self.config {
            Some(config) => vec![config.as_str()],
            None => vec!["ring4", "torus8"],
        };
        let mut rows = Vec::new();
        for config in &configs {
            let found = self.collectives_of(config)?;
            // Rows of several configurations need different names.
            rows.extend(found.into_iter().map(|row| match configs.len() {
                1 => row,
                _ => row.of(config),
            }));
        }
        Ok(self.report(Subject::Collectives, &configs.join("+"), "cycles", rows))
    }

    fn collectives_of(&self, config: &str) -> Result<Vec<Row>, Error> {
        let measure = |uri: &str, path, ops: &[Op], sizes: &[usize]| {
            let plan = Plan {
                path,
                ops,
                sizes,
                seed: self.seed,
            };
            measure_collectives(uri, &plan, |row, cycles| {
                eprintln!("bench collectives: {config}: {row}: {cycles} cycles");
            })
        };
        let traced = self.logs.add_to(config)?;
        let ops = match self.ops[..] {
            [] => &Op::ALL[..],
            ref ops => ops,
        };
        let mut rows = measure(&traced, Path::Hardware, ops, &collectives::SIZES)?;
        let cluster = open(config)?;
        let network = network(&cluster, config)?;
        rows.extend(collectives::rate_row(&rows, &network));
        let say = |row: &str, cycles| {
            eprintln!("bench collectives: {config}: {row}: {cycles} cycles");
        };
        if ops.contains(&Op::Allreduce) {
            let shared = collectives::shared_rows(cluster.cluster()?, &network, self.seed, say)?;
            rows.extend(shared);
            let boards = cluster.cluster()?;
            if alcor::identify(&*boards.boards()[0])?.kernel == collectives::KERNEL {
                rows.extend(collectives::kernel_rows(boards, &network, self.seed, say)?);
            }
        }
        if self.full {
            let memory = collectives::STREAM_NODE_BYTES.to_string();
            let large = with_option(config, "NODE_BYTES", &memory);
            let is_wanted = |op: &Op| ops.contains(op);
            let streams: Vec<Op> = collectives::STREAM_OPS
                .into_iter()
                .filter(is_wanted)
                .collect();
            rows.extend(measure(
                &large,
                Path::Hardware,
                &streams,
                &collectives::STREAM_SIZES,
            )?);
        }
        let sizes = collectives::SOFTWARE_SIZES;
        let software = measure(config, Path::Software, ops, &sizes)?;
        let compared = collectives::compared(software, &rows);
        rows.extend(compared);
        Ok(rows)
    }

    fn host(&self) -> Result<Report, Error> {
        if let Some(profile) = self.profile {
            return self.host_port(profile);
        }
        let config = self.config.as_deref().unwrap_or("rma2");
        Ok(self.report(Subject::Host, config, "as noted", host::rows(config)?))
    }

    fn host_port(&self, profile: Profile) -> Result<Report, Error> {
        let configs = match &self.config {
            Some(config) => vec![config.as_str()],
            None => vec!["rma2-wide", "u280"],
        };
        let mut rows = Vec::new();
        for config in &configs {
            eprintln!("bench host: {config}, profile {profile}");
            let uri = with_option(config, "profile", profile.name());
            // Room for a put of 1 MiB.
            let uri = match *config {
                "rma2-wide" if self.config.is_none() => with_option(&uri, "NODE_BYTES", "4194304"),
                _ => uri,
            };
            rows.extend(path::rows(open(&uri)?.cluster()?)?);
        }
        if self.config.is_none() {
            eprintln!("bench host: rma2-wide with beats of 512 bits, profile {profile}");
            let uri = format!("rma2-wide?profile={profile}&NODE_BYTES=4194304&DATA_W=512");
            let boards = open(&uri)?.cluster()?;
            let row = path::long_put("put-1MiB-512-GBps", boards)?;
            rows.push(row.note("the same with beats of 512 bits: rma2-wide?DATA_W=512"));
        }
        let config = format!("{}?profile={profile}", configs.join("+"));
        Ok(self.report(Subject::Host, &config, "as noted", rows))
    }

    fn modes(&self) -> Result<Report, Error> {
        let (pair, groups) = match &self.config {
            Some(config) => (config.as_str(), vec![config.as_str()]),
            None => ("u280", vec!["ring2", "ring4", "torus8"]),
        };
        let mut rows = Vec::new();
        let credits = Options::default();
        let refusals = credits.flow_control(FlowControl::GoBackN);
        for (links, options, protocol) in [
            ("phits", credits, ""),
            ("frames", credits, "+frames"),
            ("phits", refusals, "+go-back-n"),
        ] {
            for mode in Mode::ALL {
                let name = format!("{}{protocol}", mode.name());
                let boards = |config: &str| {
                    eprintln!("bench modes: {config}: {name}");
                    let uri = with_option(config, "profile", Profile::Gen3x16.name());
                    let cluster = open(&with_option(&uri, "links", links))?;
                    Ok::<_, Error>(mode.over(cluster.cluster()?))
                };
                let is_wanted = |row: &str| self.wants(row);
                let mut found = modes::messages(boards(pair)?, options, is_wanted)?;
                // Collectives send no messages, so the flow control of messages leaves them as they are.
                if options == credits {
                    for group in &groups {
                        found.extend(modes::collectives(boards(group)?, is_wanted)?);
                    }
                }
                rows.extend(found.into_iter().map(|row| row.of(&name)));
            }
        }
        let mut configs = vec![pair];
        configs.extend(groups.into_iter().filter(|&group| group != pair));
        Ok(self.report(Subject::Modes, &configs.join("+"), "as noted", rows))
    }

    fn sim(&self) -> Result<Report, Error> {
        let config = self.config.as_deref().unwrap_or("rma4");
        let cluster = open(config)?;
        match cluster.topology().links() {
            0 => self.sim_board(config, &cluster),
            _ => self.sim_cluster(config),
        }
    }

    fn sim_cluster(&self, config: &str) -> Result<Report, Error> {
        // Threads are compared on boards that evaluate every cycle.
        let every = with_option(config, "skip", "off");
        let open_on = |threads| open(&with_option(&every, "threads", threads));
        let jobs = self.jobs.map_or(2, NonZeroUsize::get);
        let (one, many) = (open_on("1")?, open_on(&jobs.to_string())?);
        let idle = Threads::measure("idle", &one, &many, |cluster| {
            let before = cluster.board_cycles();
            let elapsed = cluster.idle(IDLE_CYCLES)?;
            Ok((cluster.board_cycles() - before, elapsed))
        })?;
        let load = Threads::measure("allreduce", &one, &many, |cluster| {
            let job = Job::new(cluster.cluster()?)?;
            let start = Instant::now();
            job.run(job.ranks(), |rank| load::allreduce(rank, 40))?;
            Ok((cluster.board_cycles(), start.elapsed()))
        })?;
        let skipping = open(config)?;
        let job = Job::new(skipping.cluster()?)?;
        let start = Instant::now();
        job.run(job.ranks(), |rank| load::allreduce(rank, 40))?;
        let cycles = skipping.board_cycles() as f64;
        let elapsed = start.elapsed().as_secs_f64();
        let share = skipping.skipped_cycles() as f64 / cycles;
        let rows = vec![
            Row::new("idle-1", idle.one).note("one thread, no rank attached"),
            Row::new(format!("idle-{jobs}"), idle.many)
                .note(format!("{jobs} threads, no rank attached")),
            Row::new("idle-speedup", idle.speedup)
                .note(format!("{jobs} threads / one, median of pairs")),
            Row::new("allreduce-1", load.one).note("one thread, allreduces of 16 KiB"),
            Row::new(format!("allreduce-{jobs}"), load.many)
                .note(format!("{jobs} threads, allreduces of 16 KiB")),
            Row::new("allreduce-speedup", load.speedup)
                .note(format!("{jobs} threads / one, median of pairs")),
            Row::new("allreduce", cycles / elapsed)
                .note("the same with cycles skipped, all threads"),
            Row::new("skipped", share).note("share of these cycles that was skipped"),
        ];
        Ok(self.report(Subject::Sim, config, "board-cycles per second", rows))
    }

    fn sim_board(&self, config: &str, cluster: &SimCluster) -> Result<Report, Error> {
        let board = &cluster.boards()[0];
        let exchange = Speed::measure(board, "exchange", |rank| load::exchange(rank, 40))?;
        let put_8 = Speed::measure(board, "put-8", |rank| load::put_8_stream(rank, PUTS))?;
        let fast = open(&with_option(config, "assertions", "0"))?;
        let fast_board = &fast.boards()[0];
        let fast_exchange =
            Speed::measure(fast_board, "exchange", |rank| load::exchange(rank, 40))?;
        let fast_put_8 =
            Speed::measure(fast_board, "put-8", |rank| load::put_8_stream(rank, PUTS))?;
        let puts = f64::from(PUTS) * f64::from(cluster.cluster()?.ranks()?);
        let per_second = |speed: &Speed| puts * speed.alcor / speed.cycles as f64;
        let share = fast.skipped_cycles() as f64 / fast.board_cycles().max(1) as f64;
        let rows = vec![
            Row::new("alcor", exchange.alcor).note("exchange, H = 1024, through the library"),
            Row::new("bare", exchange.bare).note("the same traffic, preloaded, in a bare C++ loop"),
            Row::new("efficiency", exchange.efficiency).note("alcor / bare, median of pairs"),
            Row::new("alcor-put-8", put_8.alcor).note("a stream of 8-byte puts from each rank"),
            Row::new("bare-put-8", put_8.bare).note("the same traffic, preloaded"),
            Row::new("efficiency-put-8", put_8.efficiency).note("alcor / bare, median of pairs"),
            Row::new("alcor-fast", fast_exchange.alcor).note("as row alcor, without assertions"),
            Row::new("bare-fast", fast_exchange.bare).note("as row bare, without assertions"),
            Row::new("alcor-fast-put-8", fast_put_8.alcor)
                .note("as row alcor-put-8, without assertions"),
            Row::new("bare-fast-put-8", fast_put_8.bare)
                .note("as row bare-put-8, without assertions"),
            Row::new("alcor-puts", per_second(&put_8)).note("8-byte puts a second"),
            Row::new("alcor-fast-puts", per_second(&fast_put_8))
                .note("8-byte puts a second, without assertions"),
            Row::new("skipped", share).note("share of the last run's cycles that was skipped"),
        ];
        let mut report = self.report(Subject::Sim, config, "simulated cycles per second", rows);
        match Rival::find()? {
            Some(rival) => {
                let parameters = parameters(cluster, config)?;
                report.rows.extend(rival.rows(board, &parameters)?);
            }
            None => {
                let absent = ["cocotb", "cocotb-put-8"].map(|name| Absent {
                    name: name.into(),
                    why: "cocotb is not installed here; `ci/setup --rival` installs it".into(),
                });
                report.absent.extend(absent);
            }
        }
        Ok(report)
    }
}

/// The boards of a configuration, with options as in a URI.
fn open(config: &str) -> Result<Arc<SimCluster>, Error> {
    let cluster = build::backend()
        .open_sim(config)
        .map_err(|error| error.on(config))?;
    Ok(cluster)
}

/// `config` with one more option.
pub fn with_option(config: &str, name: &str, value: &str) -> String {
    let separator = if config.contains('?') { '&' } else { '?' };
    format!("{config}{separator}{name}={value}")
}

/// Whether `name` is the name of a row, or its beginning up to a hyphen.
fn is_named(row: &str, name: &str) -> bool {
    let rest = row.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Reads the name of a collective.
fn op_by_name() -> impl TypedValueParser<Value = Op> {
    PossibleValuesParser::new(Op::ALL.map(Op::name))
        .try_map(|name| Op::named(&name).ok_or("not the name of a collective"))
}

/// Reads the name of a profile with latencies.
fn profile_by_name() -> impl TypedValueParser<Value = Profile> {
    let has_latencies = |profile: &&Profile| profile.figures().is_some();
    let names = Profile::ALL
        .iter()
        .filter(has_latencies)
        .map(|profile| profile.name());
    PossibleValuesParser::new(names)
        .try_map(|name| Profile::from_name(&name).ok_or("not the name of a profile"))
}

/// Opens boards and measures collectives on them.
fn measure_collectives(
    uri: &str,
    plan: &Plan<'_>,
    say: impl FnMut(&str, f64),
) -> Result<Vec<Row>, Error> {
    let cluster = open(uri)?;
    let network = network(&cluster, uri)?;
    Ok(collectives::rows(cluster.cluster()?, &network, plan, say)?)
}

/// The parameters of boards that were opened as `config`, those that the configuration names.
fn parameters(cluster: &SimCluster, config: &str) -> Result<BTreeMap<String, u64>, Error> {
    let name = config.split_once('?').map_or(config, |(name, _)| name);
    let configs = build::backend().configs().map_err(|error| error.on(name))?;
    let mut params = configs
        .get(name)
        .map_err(|error| error.on(name))?
        .params
        .clone();
    params.extend(cluster.options().params.clone());
    Ok(params)
}

/// The limits of collectives on boards that were opened as `config`.
fn network(cluster: &SimCluster, config: &str) -> Result<Network, Error> {
    let params = parameters(cluster, config)?;
    let param = |param: &str, default| params.get(param).map_or(default, |&value| value as u32);
    Ok(Network {
        topology: *cluster.topology(),
        ranks: param("RANKS", 1) * cluster.topology().boards(),
        phit_bytes: param("PHIT_W", 256) / 8,
        link_latency: cluster.link_figures().latency,
    })
}

/// Cycles that idle boards are stepped for at a time.
const IDLE_CYCLES: u64 = 20_000;

/// Speeds of the same boards on one and on several threads in board-cycles per second, medians over
/// [`Speed::PAIRS`] pairs.
struct Threads {
    one: f64,
    many: f64,
    speedup: f64,
}

impl Threads {
    /// Runs `program`, which returns its board-cycles and duration, on both in turn.
    fn measure(
        name: &'static str,
        one: &SimCluster,
        many: &SimCluster,
        program: impl Fn(&SimCluster) -> Result<(u64, Duration), Error>,
    ) -> Result<Threads, Error> {
        let (mut on_one, mut on_many, mut speedup) = (Vec::new(), Vec::new(), Vec::new());
        for pair in 1..=Speed::PAIRS {
            eprintln!("bench sim: {name}: pair {pair} of {}", Speed::PAIRS);
            let (cycles, elapsed) = program(one)?;
            let (again, elapsed_again) = program(many)?;
            if again != cycles {
                return Err(Error::Unsteady {
                    program: name,
                    first: cycles,
                    again,
                });
            }
            let (slow, fast) = (elapsed.as_secs_f64(), elapsed_again.as_secs_f64());
            on_one.push(cycles as f64 / slow);
            on_many.push(cycles as f64 / fast);
            speedup.push(slow / fast);
        }
        Ok(Threads {
            one: median(on_one),
            many: median(on_many),
            speedup: median(speedup),
        })
    }
}

/// Puts of each rank in the stream of 8-byte puts.
const PUTS: u32 = 10_000;

/// Speeds of one program in simulated cycles per second, medians over [`Speed::PAIRS`] pairs.
struct Speed {
    alcor: f64,
    bare: f64,
    efficiency: f64,
    /// Cycles of the program.
    cycles: u64,
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
            cycles,
        })
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_follow_a_name_or_other_options() {
        assert_eq!(with_option("ring4", "threads", "2"), "ring4?threads=2");
        assert_eq!(
            with_option("ring4?away=9", "threads", "2"),
            "ring4?away=9&threads=2"
        );
    }

    #[test]
    fn rows_are_named_up_to_a_hyphen() {
        assert!(is_named("rate-all", "rate") && is_named("rate-all", "rate-all"));
        assert!(is_named("send-8", "send-8") && !is_named("send-80", "send-8"));
    }

    #[test]
    fn small_collectives_on_a_torus_are_near_their_bound() {
        let plan = Plan {
            path: Path::Hardware,
            ops: &[Op::Allreduce, Op::Bcast, Op::Barrier],
            sizes: &[4, 8],
            seed: 1,
        };
        let rows = measure_collectives("torus8", &plan, |_, _| ()).expect("the boards run");
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "allreduce-4",
                "allreduce-8",
                "bcast-4",
                "bcast-8",
                "barrier"
            ]
        );
        for row in &rows {
            let ratio = row.ratio().expect("a bound");
            assert!((1.0..=1.6).contains(&ratio), "{}: {ratio}", row.name);
        }
        let plan = Plan {
            path: Path::Software,
            ..plan
        };
        let software = measure_collectives("torus8", &plan, |_, _| ()).expect("the boards run");
        for (hardware, software) in rows.iter().zip(&software) {
            assert!(software.measured > hardware.measured, "{}", software.name);
        }
    }
}
