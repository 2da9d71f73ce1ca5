//! The same traffic on the same RTL, driven by cocotb with cocotbext-axi.
//!
//! The calls of the library to a board are recorded at the interface between them, [`Port`], and
//! `hw/core/rival/replay.py` makes the same calls to `core` through its AXI ports.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use std::{env, fs, io, process};

use alcor::{
    Board, BoardLayer, Causes, Cycle, Error as BoardError, Job, LocalRank, NodeAddr, Options,
    PageOffset, Port, PortLayer, Rank, Wake,
};
use alcor_abi::{CQ_ENTRY_BYTES, PAGE_BYTES, rank};
use alcor_cosim::{CosimError, Hardware, SimBoard, core_sources};
use alcor_paper::{Row, load};
use serde::{Deserialize, Serialize};
use verimodel::Toolchain;

use super::{Speed, median};
use crate::exit::Error;

/// The folder in which `ci/setup --rival` installs cocotb, relative to the repository's root.
const INSTALLED: &str = "target/tools/rival";
/// The folder of models.
const MODELS: &str = "target/models";
/// The script that builds and runs cocotb's model.
const SCRIPT: &str = "hw/core/rival/run.py";
/// Parameters that only boards with links use.
const OF_LINKS: [&str; 4] = ["LINKS", "STAGES", "PHIT_W", "VC_DEPTH"];
/// Puts of each rank in the stream: each is a few writes on the bus, which take cocotb a while.
const PUTS: u32 = 1000;

/// cocotb, where it is installed.
pub struct Rival {
    root: PathBuf,
    python: PathBuf,
    tools: Toolchain,
}

/// The input of `hw/core/rival/run.py`.
#[derive(Serialize)]
struct Task<'a> {
    /// Sources of `core`, in the order of compilation.
    sources: Vec<PathBuf>,
    includes: Vec<PathBuf>,
    parameters: &'a BTreeMap<String, u64>,
    abi: Abi,
    /// Bytes of each rank's completion ring, at the start of its memory.
    ring_bytes: u32,
    calls: &'a Calls,
}

/// The properties of a rank's page that it needs.
#[derive(Serialize)]
struct Abi {
    page_bytes: u32,
    /// Registers that count.
    counters: [u32; 2],
    causes: u32,
    events: u32,
}

/// Output of the rival's run.
#[derive(Debug, Clone, Deserialize)]
pub struct Played {
    /// Cycles from the first call to the end of the last.
    pub cycles: u64,
    /// The wall-clock time.
    pub seconds: f64,
    /// Versions of cocotb and cocotbext-axi.
    pub versions: String,
}

impl Rival {
    /// The installed cocotb; `None` without one, or if the current folder is in no clone of Alcor.
    pub fn find() -> Result<Option<Rival>, Error> {
        let hardware = Hardware::find().map_err(|error| error.on("cocotb"))?;
        hardware.root().map_or(Ok(None), Rival::find_in)
    }

    fn find_in(root: &Path) -> Result<Option<Rival>, Error> {
        let installed = root.join(INSTALLED);
        // The stamp is written last.
        if !installed.join("stamp").is_file() {
            return Ok(None);
        }
        let tools =
            Toolchain::find_in(root).map_err(|error| CosimError::from(error).on("cocotb"))?;
        Ok(Some(Rival {
            root: root.into(),
            python: installed.join("venv/bin/python"),
            tools,
        }))
    }

    /// The rows beside those of the library.
    pub fn rows(
        &self,
        board: &Arc<SimBoard>,
        parameters: &BTreeMap<String, u64>,
    ) -> Result<Vec<Row>, Error> {
        let exchange = self.measure(board, parameters, "exchange", |rank| {
            load::exchange(rank, 40)
        })?;
        let put_8 = self.measure(board, parameters, "put-8", |rank| {
            load::put_8_stream(rank, PUTS)
        })?;
        let puts = f64::from(PUTS) * f64::from(Job::new(Arc::clone(board))?.info().ranks);
        Ok(vec![
            exchange.row("cocotb", "the calls of row alcor"),
            Row::new("alcor/cocotb", exchange.ratio).note("median of pairs"),
            put_8.row(
                "cocotb-put-8",
                &format!("{PUTS} 8-byte puts from each rank"),
            ),
            Row::new("alcor/cocotb-put-8", put_8.ratio)
                .note("median of pairs, both of as many puts"),
            Row::new("cocotb-puts", puts / put_8.seconds).note("8-byte puts a second by cocotb"),
            Row::new("alcor-puts/cocotb-puts", put_8.seconds / put_8.seconds_here)
                .note("of the same runs"),
        ])
    }

    /// Runs `program` through the library, and the same calls by cocotb, in turn.
    fn measure(
        &self,
        board: &Arc<SimBoard>,
        parameters: &BTreeMap<String, u64>,
        name: &'static str,
        program: impl Fn(&mut Rank) -> alcor::Result<()> + Send + Sync,
    ) -> Result<Against, Error> {
        let (first, calls) = tapped(board, &program)?;
        let job = Job::new(Arc::clone(board))?;
        let (mut speed, mut ratio, mut played) = (Vec::new(), Vec::new(), None);
        let (mut seconds, mut here) = (Vec::new(), Vec::new());
        for pair in 1..=Speed::PAIRS {
            eprintln!(
                "bench sim: {name} by cocotb: pair {pair} of {}",
                Speed::PAIRS
            );
            board.reset()?;
            let start = Instant::now();
            job.run(job.info().ranks, &program)?;
            let elapsed = start.elapsed().as_secs_f64();
            // The recorded calls must be those that the library makes without a recorder.
            if board.now() != first {
                return Err(Error::Unsteady {
                    program: name,
                    first,
                    again: board.now(),
                });
            }
            let run = self.play(name, parameters, &calls)?;
            speed.push(run.cycles as f64 / run.seconds);
            ratio.push(first as f64 / elapsed / (run.cycles as f64 / run.seconds));
            seconds.push(run.seconds);
            here.push(elapsed);
            played = Some(run);
        }
        Ok(Against {
            speed: median(speed),
            ratio: median(ratio),
            cycles: played.as_ref().map_or(0, |run| run.cycles),
            seconds: median(seconds),
            cycles_here: first,
            seconds_here: median(here),
            versions: format!(
                "{}, Verilator {}",
                played.map_or_else(String::new, |run| run.versions),
                self.tools.verilator_version()
            ),
        })
    }

    /// Lets cocotb make the recorded calls to `core`.
    pub fn play(
        &self,
        program: &'static str,
        parameters: &BTreeMap<String, u64>,
        calls: &Calls,
    ) -> Result<Played, Error> {
        let mut parameters = parameters.clone();
        parameters.retain(|name, _| !OF_LINKS.contains(&name.as_str()));
        let work = Work::create(&self.root)?;
        let (task, result) = (work.0.join("job.json"), work.0.join("result.json"));
        let (sources, includes) = core_sources(&self.root).map_err(|error| error.on("cocotb"))?;
        let text = serde_json::to_vec(&Task {
            sources,
            includes,
            parameters: &parameters,
            abi: Abi {
                page_bytes: PAGE_BYTES,
                counters: [rank::RETIRED, rank::CQ_HEAD],
                causes: rank::CAUSES,
                events: rank::EVENTS,
            },
            ring_bytes: Options::default().ring_entries * CQ_ENTRY_BYTES,
            calls,
        });
        let text = text.map_err(|error| failed("write the calls", &task)(error.into()))?;
        fs::write(&task, text).map_err(failed("write the calls", &task))?;
        let status = Command::new(&self.python)
            .arg(self.root.join(SCRIPT))
            .arg(self.root.join(MODELS))
            .args([&task, &result])
            .env("VERILATOR_ROOT", self.tools.verilator_root())
            .env("PATH", with_folder(self.tools.verilator()))
            .stdin(Stdio::null())
            // Standard output is for the report, so the output of Python goes to standard error.
            .stdout(io::stderr())
            .status()
            .map_err(failed("start Python", &self.python))?;
        if !status.success() {
            return Err(Error::RivalFailed { program, status });
        }
        let text = fs::read(&result).map_err(failed("read the results", &result))?;
        serde_json::from_slice(&text)
            .map_err(|error| failed("read the results", &result)(error.into()))
    }
}

/// PATH with the folder of a program in front.
fn with_folder(program: &Path) -> std::ffi::OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = program.parent().map(Path::to_path_buf).into_iter();
    // A folder with a colon in its name can't be in PATH: then Verilator is not found, which is
    // said.
    env::join_paths(folders.chain(env::split_paths(&path))).unwrap_or(path)
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::Rival { what, path, source }
}

/// A temporary folder, removed when it is dropped.
struct Work(PathBuf);

impl Work {
    fn create(root: &Path) -> Result<Work, Error> {
        let folder = root.join(format!("target/rival-{}", process::id()));
        fs::create_dir_all(&folder).map_err(failed("create a folder", &folder))?;
        Ok(Work(folder))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // A folder that can't be removed stays below target.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Speeds of the same calls by cocotb and through the library, medians over [`Speed::PAIRS`] pairs.
struct Against {
    /// Cycles per second by cocotb.
    speed: f64,
    /// Speed of the library's run relative to cocotb's, in cycles per second.
    ratio: f64,
    cycles: u64,
    seconds: f64,
    cycles_here: u64,
    seconds_here: f64,
    versions: String,
}

impl Against {
    fn row(&self, name: &str, what: &str) -> Row {
        let Against {
            cycles,
            seconds,
            cycles_here,
            seconds_here,
            versions,
            ..
        } = self;
        Row::new(name, self.speed).note(format!(
            "{what}, over AXI: {cycles} cycles in {seconds:.2} s, alcor {cycles_here} in {seconds_here:.2} s; {versions}"
        ))
    }
}

/// Runs `program` on a fresh board. Returns its cycles and its calls to the board.
pub fn tapped(
    board: &Arc<SimBoard>,
    program: impl Fn(&mut Rank) -> alcor::Result<()> + Send + Sync,
) -> Result<(u64, Calls), Error> {
    board.reset()?;
    let tap = Tap::over(Arc::clone(board) as Arc<dyn Board>, board.shape().ranks);
    let job = Job::new(Arc::clone(&tap))?;
    job.run(job.info().ranks, program)?;
    Ok((board.now(), tap.take()))
}

/// A call of a rank's port, in the format of `hw/core/rival/replay.py`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Call {
    /// A register of the rank's page was written: offset and value.
    Write(u32, u32),
    /// A register of the rank's page was read: offset, and the value found.
    Read(u32, u32),
    /// A register of the board's page was read.
    Board(u32, u32),
    /// The interrupt was waited for, and was raised.
    Irq,
    /// Node memory was written: address, and the bytes in hexadecimal.
    Store(u32, String),
    /// Node memory was read.
    Load(u32, String),
}

/// The calls of each rank's port, in order.
pub type Calls = Vec<Vec<Call>>;

/// A board that records the calls of its ports.
struct Tap {
    board: Arc<dyn Board>,
    calls: Mutex<Calls>,
}

impl Tap {
    fn over(board: Arc<dyn Board>, ranks: u32) -> Arc<Tap> {
        let calls = Mutex::new(vec![Vec::new(); ranks as usize]);
        Arc::new(Tap { board, calls })
    }

    /// The calls since the last call of this function.
    fn take(&self) -> Calls {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.iter_mut().map(std::mem::take).collect()
    }
}

impl BoardLayer for Tap {
    fn below(&self) -> &Arc<dyn Board> {
        &self.board
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>, BoardError> {
        let port = Arc::clone(&self.board).attach(rank)?;
        Ok(Box::new(TapPort {
            port,
            rank,
            enabled: None,
            tap: self,
        }))
    }
}

struct TapPort {
    port: Box<dyn Port>,
    rank: LocalRank,
    /// Value of IRQ_ENABLE, which the port below writes.
    enabled: Option<Causes>,
    tap: Arc<Tap>,
}

impl TapPort {
    /// Records a call. If a register is read repeatedly, only the last read is kept.
    fn push(&self, call: Call) {
        let mut calls = self
            .tap
            .calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(calls) = calls.get_mut(self.rank.0 as usize) else {
            return;
        };
        match (calls.last_mut(), &call) {
            (Some(Call::Read(last, value)), Call::Read(offset, again))
            | (Some(Call::Board(last, value)), Call::Board(offset, again))
                if last == offset =>
            {
                *value = *again;
            }
            _ => calls.push(call),
        }
    }
}

fn hex(data: &[u8]) -> String {
    data.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl PortLayer for TapPort {
    fn below(&mut self) -> &mut dyn Port {
        &mut *self.port
    }

    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<(), BoardError> {
        self.push(Call::Write(offset.0, value));
        self.port.write32(offset, value)
    }

    fn read32(&mut self, offset: PageOffset) -> Result<u32, BoardError> {
        let value = self.port.read32(offset)?;
        self.push(Call::Read(offset.0, value));
        Ok(value)
    }

    fn read_board32(&mut self, offset: PageOffset) -> Result<u32, BoardError> {
        let value = self.port.read_board32(offset)?;
        self.push(Call::Board(offset.0, value));
        Ok(value)
    }

    fn write_memory(&mut self, at: NodeAddr, data: &[u8]) -> Result<(), BoardError> {
        self.push(Call::Store(at.0, hex(data)));
        self.port.write_memory(at, data)
    }

    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<(), BoardError> {
        self.port.read_memory(at, data)?;
        self.push(Call::Load(at.0, hex(data)));
        Ok(())
    }

    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake, BoardError> {
        if self.enabled.replace(awaited) != Some(awaited) {
            self.push(Call::Write(rank::IRQ_ENABLE, awaited.0));
        }
        let wake = self.port.wait(awaited, deadline)?;
        // A wait that ended at its deadline is between two reads of a register. One read is kept.
        if let Wake::Raised(raised) = wake {
            self.push(Call::Irq);
            self.push(Call::Read(rank::CAUSES, raised.0));
        }
        Ok(wake)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alcor_abi::Opcode;
    use alcor_abi::rank::CQ_HEAD;

    const CONFIG: &str = "rma2";

    fn cluster() -> Arc<alcor_cosim::SimCluster> {
        super::super::open(CONFIG).expect("the board opens")
    }

    /// The traffic of a small stream of puts on a board of two ranks, and the cycles it took.
    fn calls_of(puts: u32) -> (u64, Calls) {
        let cluster = cluster();
        tapped(&cluster.boards()[0], |rank| load::put_8_stream(rank, puts)).expect("it runs")
    }

    #[test]
    fn what_is_written_down_is_what_the_library_does() {
        let cluster = cluster();
        let board = &cluster.boards()[0];
        let program = |rank: &mut Rank| load::put_8_stream(rank, 100);
        let (cycles, calls) = tapped(board, program).expect("it runs");
        let traffic = board.traffic_digest();
        board.reset().expect("a reset");
        let job = Job::new(Arc::clone(board)).expect("a run");
        job.run(2, program).expect("it runs");
        assert_eq!((board.now(), board.traffic_digest()), (cycles, traffic));

        assert_eq!(calls.len(), 2);
        for calls in &calls {
            let commits = alcor_abi::command(Opcode::XPut);
            let puts = |call: &&Call| matches!(call, Call::Write(at, _) if *at == commits);
            assert_eq!(calls.iter().filter(puts).count(), 100);
            // The contents of its memory at the end, which the program has checked.
            let last = calls.iter().rev().find_map(|call| match call {
                Call::Load(_, bytes) => Some(bytes.len() / 2),
                _ => None,
            });
            assert_eq!(last, Some(64 * 8));
        }
    }

    #[test]
    fn of_a_register_that_is_polled_the_last_look_is_kept() {
        let cluster = cluster();
        let tap = Tap::over(Arc::clone(&cluster.boards()[0]) as Arc<dyn Board>, 2);
        let board: Arc<dyn Board> = tap.clone();
        board.expect(1).expect("a port");
        let mut port = board.attach(LocalRank(1)).expect("a port");
        for _ in 0..3 {
            port.read32(PageOffset(CQ_HEAD)).expect("a read");
        }
        port.write_memory(NodeAddr(8), &[1, 0xab]).expect("a write");
        port.read32(PageOffset(CQ_HEAD)).expect("a read");
        port.leave().expect("it leaves");
        let stored = Call::Store(8, "01ab".into());
        let read = Call::Read(CQ_HEAD, 0);
        assert_eq!(tap.take(), [vec![], vec![read.clone(), stored, read]]);
        assert_eq!(tap.take(), [vec![], vec![]]);
    }

    #[test]
    fn without_cocotb_there_is_none() {
        let root = tempfile::tempdir().expect("a folder");
        assert!(Rival::find_in(root.path()).expect("no error").is_none());
        // An installation that was not finished is none.
        fs::create_dir_all(root.path().join(INSTALLED).join("venv/bin")).expect("a folder");
        assert!(Rival::find_in(root.path()).expect("no error").is_none());
    }

    /// The calls of cocotb, where it is installed.
    #[test]
    fn cocotb_does_what_the_library_did_and_notices_when_it_does_not() {
        let Some(rival) = Rival::find().expect("the tools are there") else {
            return alcor_skips::skip("cocotb is not installed; `ci/setup --rival` installs it");
        };
        let parameters = super::super::parameters(&cluster(), CONFIG).expect("parameters");
        let (cycles, mut calls) = calls_of(20);
        let played = rival
            .play("put-8", &parameters, &calls)
            .expect("the same data");
        // A register write takes several cycles over the bus.
        assert!(played.cycles > cycles, "{played:?}");
        assert!(played.versions.contains("cocotbext-axi"), "{played:?}");

        let command = alcor_abi::command(Opcode::XLaddr);
        let operand = calls[1].iter_mut().find_map(|call| match call {
            Call::Write(at, value) if *at == command => Some(value),
            _ => None,
        });
        *operand.expect("a put") += 8;
        let error = rival.play("put-8", &parameters, &calls).unwrap_err();
        assert!(matches!(error, Error::RivalFailed { .. }), "{error}");
    }
}
