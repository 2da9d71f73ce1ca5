//! Boards over the stand-in, and programs for their ranks.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use alcor::{Board, Causes, Cycle, Error, LocalRank, PageOffset, Port, Topology, Wake};
use alcor_abi::{board, memory_pages, rank};
use alcor_cosim::{CosimError, Options, Shape, SimBoard, SimCluster};
use verimodel::{Build, Model, Toolchain};

pub const NODE_BYTES: u32 = 8192;

/// Returns the number of seeds of a test, in the quick tier or in the full tier.
pub fn seeds(quick: u32, full: u32) -> u32 {
    let is_full = std::env::var("ALCOR_FULL").is_ok_and(|value| value == "1");
    if is_full { full } else { quick }
}

/// The stand-in of that shape, with what the options ask of a model; `load` makes its cycles dearer.
pub fn model(shape: Shape, load: u64, options: &Options) -> Model {
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sv = crate_root.join("tests/sv");
    let mut build = Build::new("stand-in")
        .top("sim_top")
        .source(sv.join("stand_in.sv"))
        .source(sv.join("sim_top.sv"))
        .param("RANKS", shape.ranks)
        .param("NODE_BYTES", shape.node_bytes)
        .param("PAGES", memory_pages(shape.ranks, shape.node_bytes))
        .param("LOAD", load)
        .dpi("alcor_host_tick")
        .dpi("alcor_monitor")
        .dpi("alcor_axi_tick")
        .dpi("alcor_memory")
        .trace(options.waves.is_some())
        .coverage(options.coverage);
    if shape.links != 0 {
        build = build
            .param("LINKS", shape.links)
            .param("PHIT_W", shape.phit_bits)
            .dpi("alcor_link_send")
            .dpi("alcor_link_recv");
    }
    build
        .build(&Toolchain::find_in(&crate_root.join("../..")).unwrap())
        .unwrap()
}

/// A board of that many ranks without links.
pub fn alone(ranks: u32) -> Shape {
    Shape {
        ranks,
        node_bytes: NODE_BYTES,
        links: 0,
        phit_bits: 0,
        data_bits: 32,
        frames: false,
    }
}

/// A board with that many ranks, opened with the options of a URI's query.
pub fn board_with(ranks: u32, query: &str) -> Arc<SimBoard> {
    let uri = format!("stand-in?{query}");
    let (_, options) = Options::parse(&uri).unwrap();
    let model = model(alone(ranks), 0, &options);
    SimBoard::with_model("stand-in", &model, alone(ranks), options).unwrap()
}

/// Boards with that many ranks each, joined in a torus.
pub fn cluster_with(dims: &[u32], ranks: u32, phit_bits: u32, query: &str) -> Arc<SimCluster> {
    let uri = format!("stand-in?{query}");
    let (_, options) = Options::parse(&uri).unwrap();
    let topology = Topology::torus(dims).unwrap();
    let shape = Shape {
        ranks,
        node_bytes: NODE_BYTES,
        links: topology.links(),
        phit_bits,
        data_bits: 32,
        frames: false,
    };
    let model = model(shape, 0, &options);
    SimCluster::with_model("stand-in", &model, shape, topology, options).unwrap()
}

pub fn cluster(dims: &[u32], ranks: u32) -> Arc<SimCluster> {
    cluster_with(dims, ranks, 256, "")
}

/// Runs a program on a thread for each rank of all boards, which gets the board's number and its own on the board.
pub fn run_all<T: Send>(
    cluster: &SimCluster,
    program: impl Fn(u32, u32, &mut dyn Port) -> Result<T, Error> + Sync,
) -> Vec<Result<T, Error>> {
    run_some(cluster, cluster.boards()[0].shape().ranks, program)
}

/// As [`run_all`], with so many ranks of each board.
pub fn run_some<T: Send>(
    cluster: &SimCluster,
    ranks: u32,
    program: impl Fn(u32, u32, &mut dyn Port) -> Result<T, Error> + Sync,
) -> Vec<Result<T, Error>> {
    let program = &program;
    let boards = cluster.boards();
    boards.iter().for_each(|board| board.expect(ranks).unwrap());
    let ports = boards.iter().flat_map(|board| {
        (0..ranks).map(|rank| {
            let port = Arc::clone(board).attach(LocalRank(rank)).unwrap();
            (board.number(), rank, port)
        })
    });
    let ports: Vec<_> = ports.collect();
    thread::scope(|scope| {
        let spawn = |(board, rank, mut port): (u32, u32, Box<dyn Port>)| {
            scope.spawn(move || {
                let result = program(board, rank, &mut *port)?;
                port.leave()?;
                Ok(result)
            })
        };
        let threads: Vec<_> = ports.into_iter().map(spawn).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
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

/// Waits for a cause, or until so many cycles have passed.
pub fn pass(port: &mut dyn Port, awaited: Causes, cycles: u64) -> Result<Wake, Error> {
    let deadline = Cycle(port.now()?.0 + cycles);
    port.wait(awaited, deadline)
}

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
/// Sends phits on a link.
pub const SEND_PHITS: PageOffset = PageOffset(0x050);
/// A phit has arrived.
pub const HEARD: u32 = 1 << 3;
pub const LINK_TX: PageOffset = PageOffset(board::LINK_TX);
pub const LINK_RX: PageOffset = PageOffset(board::LINK_RX);
/// Credits that came back.
pub const LINK_BACK: PageOffset = PageOffset(0x1C0);
/// Makes a board's links carry traffic.
pub const TRAFFIC: PageOffset = PageOffset(0x7F8);
pub const PLACE: PageOffset = PageOffset(board::PLACE);
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

/// The operand of [`SEND_PHITS`].
pub fn phits(count: u32, port: u32, channel: u32) -> u32 {
    (count - 1) << 16 | channel << 4 | port
}
