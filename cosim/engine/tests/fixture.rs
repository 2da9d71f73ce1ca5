//! Boards over the stand-in, and programs for their ranks.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use alcor::{Board, Cycle, Error, LocalRank, PageOffset, Port, Wake};
use alcor_abi::rank;
use alcor_cosim::{CosimError, Options, Shape, SimBoard};
use verilated::{Build, Model, Toolchain};

pub const NODE_BYTES: u32 = 8192;

/// The stand-in with that many ranks; `load` makes its cycles dearer.
pub fn model(ranks: u32, load: u64, trace: bool) -> Model {
    // Builds in one process take turns, as the cores are few.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _turn = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sv = crate_root.join("tests/sv");
    Build::new("stand-in")
        .top("sim_top")
        .source(sv.join("stand_in.sv"))
        .source(sv.join("sim_top.sv"))
        .param("RANKS", ranks)
        .param("NODE_BYTES", NODE_BYTES)
        .param("LOAD", load)
        .dpi("alcor_host_tick")
        .dpi("alcor_monitor")
        .dpi("alcor_axi_tick")
        .trace(trace)
        .build(&Toolchain::find_in(&crate_root.join("../..")).unwrap())
        .unwrap()
}

/// A board with that many ranks, opened with the options of a URI's query.
pub fn board_with(ranks: u32, query: &str) -> Arc<SimBoard> {
    let uri = format!("stand-in?{query}");
    let (_, options) = Options::parse(&uri).unwrap();
    let model = model(ranks, 0, options.waves.is_some());
    SimBoard::with_model(
        "stand-in",
        &model,
        Shape {
            ranks,
            node_bytes: NODE_BYTES,
        },
        options,
    )
    .unwrap()
}

pub fn board(ranks: u32) -> Arc<SimBoard> {
    board_with(ranks, "")
}

/// Attaches all of a board's ranks.
pub fn attach(board: &Arc<SimBoard>) -> Vec<Box<dyn Port>> {
    (0..board.shape().ranks)
        .map(|rank| Arc::clone(board).attach(LocalRank(rank)).unwrap())
        .collect()
}

/// Runs a program on a thread for each rank; a port whose program fails is dropped without leaving.
pub fn run<T: Send>(
    board: &Arc<SimBoard>,
    program: impl Fn(u32, &mut dyn Port) -> Result<T, Error> + Sync,
) -> Vec<Result<T, Error>> {
    let program = &program;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(attach(board))
            .map(|(rank, mut port)| {
                scope.spawn(move || {
                    let result = program(rank, &mut *port)?;
                    port.leave()?;
                    Ok(result)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

/// What all ranks' programs gave, if none failed.
pub fn run_well<T: Send>(
    board: &Arc<SimBoard>,
    program: impl Fn(u32, &mut dyn Port) -> Result<T, Error> + Sync,
) -> Vec<T> {
    run(board, program)
        .into_iter()
        .map(Result::unwrap)
        .collect()
}

/// Waits for the interrupt, or until so many cycles have passed.
pub fn pass(port: &mut dyn Port, cycles: u64) -> Result<Wake, Error> {
    let deadline = Cycle(port.now()?.0 + cycles);
    port.wait(deadline)
}

pub const IRQ_ENABLE: PageOffset = PageOffset(rank::IRQ_ENABLE);
pub const RETIRED_WAKE: PageOffset = PageOffset(rank::RETIRED_WAKE);
pub const RETIRED: PageOffset = PageOffset(rank::RETIRED);
pub const CAUSES: PageOffset = PageOffset(rank::CAUSES);
pub const ACK: PageOffset = PageOffset(rank::ACK);
pub const RECEIVED: PageOffset = PageOffset(rank::RX_REQUEST_WORDS);
pub const BARRIERS: PageOffset = PageOffset(rank::BARRIERS);
pub const CREDIT: u32 = 1 << 5;
pub const BARRIER: u32 = 1 << 1;
pub const SEND: PageOffset = PageOffset(0x040);
pub const ENTER_BARRIER: PageOffset = PageOffset(0x028);
pub const CRASH: PageOffset = PageOffset(0x1FC);

/// The operand of [`SEND`].
pub fn packet(target: u32, word: u32, data: u16) -> u32 {
    target << 28 | word << 16 | u32::from(data)
}

/// The backend's error inside one of the library's.
pub fn cosim(error: &Error) -> &CosimError {
    match error {
        Error::Board { source, .. } => source.downcast_ref().unwrap(),
        other => panic!("{other}"),
    }
}
