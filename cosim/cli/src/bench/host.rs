//! `alcor bench host`: the cost of a put on the host.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use alcor::{Backend, Cluster, GlobalRank, Options, Rank, Rights};
use alcor_cosim::CosimBackend;
use alcor_paper::Row;
use alcor_paper::host::{self, Putter, Work};
use alcor_shm::ShmBackend;
use alcor_standin::StandInBackend;
use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::build;
use crate::exit::{CommandResult, Error, Exit};

/// All rows.
pub fn rows(config: &str) -> Result<Vec<Row>, Error> {
    let mut rows = on_a_board(config)?;
    let count = |body: &mut dyn FnMut()| allocation_counter::measure(body).count_total;
    rows.extend(host::memory_rows(count)?);
    match system_calls() {
        Ok(calls) => rows.push(Row::new("put-8-memory-syscalls", calls).note("a put")),
        Err(error) => eprintln!("bench host: system calls can't be counted here: {error}"),
    }
    rows.extend(attached(config)?);
    Ok(rows)
}

/// Rows that the device nodes of a simulated card count.
fn on_a_board(config: &str) -> Result<Vec<Row>, Error> {
    let standin = StandInBackend::over(build::backend()).serve(config)?;
    let board = StandInBackend::backend(&standin).open("auto")?;
    let rows = host::rows(board, || {
        let counts = standin.counts();
        Work {
            stores: counts.stores,
            loads: counts.loads,
            calls: counts.calls,
        }
    })?;
    Ok(rows)
}

/// Number of batches of puts over which system calls are counted.
const COUNTED: u64 = 1000;

/// Put 8 bytes over plain memory between two stops, for `bench host` to count system calls
#[derive(Debug, clap::Args)]
pub struct CountArgs {
    /// Batches of puts
    batches: u64,
}

/// The process whose system calls are counted, between its two stops.
pub fn be_counted(args: &CountArgs) -> CommandResult {
    let mut putter = Putter::new()?;
    putter.put(10)?;
    let stop = || ptrace::traceme().and_then(|()| raise(Signal::SIGSTOP));
    stop().map_err(|error| Error::Trace(error.into()))?;
    putter.put(args.batches)?;
    raise(Signal::SIGSTOP).map_err(|error| Error::Trace(error.into()))?;
    Ok(Exit::Passed)
}

/// System calls of a put: the difference between a process with many puts and one without.
fn system_calls() -> nix::Result<f64> {
    let (some, none) = (calls_of(COUNTED)?, calls_of(0)?);
    Ok((some as f64 - none as f64) / (COUNTED * host::PUTS) as f64)
}

/// System calls that the counted process makes between its two stops.
fn calls_of(batches: u64) -> nix::Result<u64> {
    let program = std::env::current_exe().map_err(|_| nix::Error::ENOENT)?;
    let mut child = Command::new(program)
        .args(["count-puts", &batches.to_string()])
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| nix::Error::from_raw(error.raw_os_error().unwrap_or_default()))?;
    let pid = Pid::from_raw(child.id() as i32);
    let counted = follow(pid);
    // The server has ended or failed.
    let _ = child.kill();
    let _ = child.wait();
    counted
}

fn follow(pid: Pid) -> nix::Result<u64> {
    let stopped = WaitStatus::Stopped(pid, Signal::SIGSTOP);
    if waitpid(pid, None)? != stopped {
        return Err(nix::Error::EPERM);
    }
    ptrace::setoptions(pid, ptrace::Options::PTRACE_O_TRACESYSGOOD)?;
    let mut stops: u64 = 0;
    loop {
        ptrace::syscall(pid, None)?;
        match waitpid(pid, None)? {
            // Each call stops it twice: on its way in and out.
            WaitStatus::PtraceSyscall(_) => stops += 1,
            status if status == stopped => return Ok(stops / 2),
            _ => return Err(nix::Error::ECHILD),
        }
    }
}

/// `alcor serve` as another process.
struct Served {
    child: Child,
    name: String,
}

impl Served {
    fn start(config: &str) -> Result<Served, Error> {
        let name = format!("bench-{}", std::process::id());
        let failed = |source| Error::Program {
            program: "alcor serve".into(),
            source,
        };
        let mut child = std::env::current_exe()
            .and_then(|program| {
                Command::new(program)
                    .args(["serve", "-n", "1", "--config", config, "--name", &name])
                    .stdin(Stdio::null())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null())
                    .spawn()
            })
            .map_err(failed)?;
        // The server prints a line once it listens. If it prints nothing, the error of attaching
        // has the reason.
        if let Some(out) = child.stdout.take() {
            let mut says = String::new();
            BufReader::new(out).read_line(&mut says).map_err(failed)?;
        }
        Ok(Served { child, name })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // The server may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Puts through shared memory to a cluster of another process, beside the same in this process.
fn attached(config: &str) -> Result<Vec<Row>, Error> {
    let here = CosimBackend::open(&build::backend(), config)?;
    here.prepare(1)?;
    let (_, own) = put(&here)?;
    let served = Served::start(config)?;
    let (attach, attached) = put(&ShmBackend.open(&served.name)?)?;
    Ok(vec![
        Row::new("put-8-attached", attached)
            .note("ns a put with its wait, to a simulator in another process"),
        Row::new("put-8-in-process", own).note("ns, the same to a simulator in this process"),
        Row::new("attach", attach).note("us until the run has begun, in another process"),
    ])
}

/// Medians: microseconds to attach, and nanoseconds of a put with its wait.
fn put(cluster: &Cluster) -> alcor::Result<(f64, f64)> {
    const PUTS: u32 = 200;
    let start = Instant::now();
    let mut rank = Rank::attach_to(cluster, GlobalRank(0), 1, Options::default())?;
    let attach = start.elapsed().as_nanos() as f64 / 1e3;
    let target = rank.alloc::<u64>(1)?;
    let window = rank.register(&target, Rights::ALL)?;
    let source = rank.alloc_from(&[7u64])?;
    let mut times = Vec::new();
    for _ in 0..9 {
        let start = Instant::now();
        for _ in 0..PUTS {
            rank.put(&window, GlobalRank(0), 0, &source)?;
        }
        times.push(start.elapsed().as_nanos() as f64 / f64::from(PUTS));
    }
    let found = rank.read_vec(&target)?;
    if found != [7] {
        return Err(alcor::Error::program(format!("{found:?} arrived, not [7]")));
    }
    rank.finish()?;
    times.sort_by(f64::total_cmp);
    Ok((attach, times[times.len() / 2]))
}
