//! Ranks of one board in processes of their own. A socket serves the simulated board, and each
//! process has nodes, locks and library as on a card. A test kills one process during its traffic.

use std::env;
use std::path::Path;
use std::sync::Arc;

use alcor::{Backend, Cluster, Error, GlobalRank, LocalRank, Options, Rank, Rights, Status};
use alcor_cosim::CosimBackend;
use alcor_xdma::XdmaBackend;
use xdma::standin::StandIn;

mod served;

use served::process::{FOLDER, Process, ROLE};

const TEST: &str = "a_killed_rank_is_taken_over_while_the_other_goes_on";
const RANKS: u32 = 2;
/// The surviving rank and the killed rank.
const STAYS: GlobalRank = GlobalRank(0);
const DIES: GlobalRank = GlobalRank(1);
/// Tags.
const UNREAD: u32 = 1;
const READY: u32 = 2;
const LOST: u32 = 3;
const BACK: u32 = 4;
const ANSWER: u32 = 5;
/// Length of a window in bytes. Only the owner writes the second half.
const WINDOW: usize = 2048;

/// Opens the board as a process does.
fn open(folder: &Path) -> (StandIn, Cluster) {
    let standin = served::nodes(&folder.join("board"), 0x4000, RANKS);
    let backend = XdmaBackend::on(standin.machine()).locks(folder.join("locks"));
    let cluster = backend.open("auto").expect("a board");
    (standin, cluster)
}

// The processes.

fn attach(cluster: &Cluster, rank: GlobalRank) -> alcor::Result<Rank> {
    let board = Arc::clone(&cluster.boards()[0]);
    Rank::attach(board, LocalRank(rank.0), rank, RANKS, &Options::default())
}

fn say(what: &str) {
    eprintln!("{what}");
}

fn is_reset<T>(result: alcor::Result<T>) -> bool {
    result.is_err_and(|error| error.status() == Some(Status::RankReset))
}

fn stays(cluster: &Cluster) -> alcor::Result<()> {
    let mut it = attach(cluster, STAYS)?;
    let window = it.alloc::<u8>(WINDOW)?;
    let window = it.register(&window, Rights::ALL)?;
    it.barrier()?;
    let unread = it.alloc_from(&[1u8; 900])?;
    let unread = it.isend(DIES, UNREAD, &unread)?;
    let mut back = it.alloc::<u32>(1)?;
    let mut is_back = it.irecv(DIES, BACK, &mut back)?;
    it.send(DIES, READY, &[0u8])?;
    let mut round = 0u32;
    while !it.test(&mut is_back)? {
        let data = [round as u8; 100];
        it.put(&window, STAYS, WINDOW / 2, &data)?;
        let mut found = [0; 100];
        it.get(&window, STAYS, WINDOW / 2, &mut found)?;
        assert_eq!(found, data);
        round += 1;
    }
    assert!(round > 0);
    it.wait_message(is_back)?;
    assert_eq!(it.read_vec(&back)?, [7]);
    assert!(is_reset(it.wait(unread)), "the message is unread");
    assert!(it.iprobe(DIES, LOST)?.is_none(), "it is recalled");
    assert!(matches!(it.barrier(), Err(Error::PeerReset { .. })));
    it.send(DIES, ANSWER, &[8u32; 300])?;
    it.finish()?;
    exchange(cluster, STAYS)
}

/// Body of the killed process: the kill comes during its traffic.
fn dies(cluster: &Cluster) -> alcor::Result<()> {
    let mut it = attach(cluster, DIES)?;
    let window = it.alloc::<u8>(WINDOW)?;
    let window = it.register(&window, Rights::ALL)?;
    it.barrier()?;
    it.recv(STAYS, READY, &mut [0u8])?;
    let mut block = it.alloc::<u8>(WINDOW / 2)?;
    drop(it.isend(STAYS, LOST, &block)?);
    drop(it.irecv(STAYS, LOST, &mut block)?);
    for round in 0.. {
        drop(it.iput(&window, STAYS, 0, &block)?);
        drop(it.iget(&window, STAYS, 0, &mut block)?);
        if round == 20 {
            say("busy");
        }
    }
    Ok(())
}

fn next(cluster: &Cluster) -> alcor::Result<()> {
    let mut it = attach(cluster, DIES)?;
    say("attached");
    assert_eq!(it.lab().counters()?.completions, 0);
    assert!(it.iprobe(STAYS, UNREAD)?.is_none(), "it was for another");
    it.send(STAYS, BACK, &[7u32])?;
    let mut answer = [0; 300];
    it.recv(STAYS, ANSWER, &mut answer)?;
    assert_eq!(answer, [8u32; 300]);
    it.finish()?;
    exchange(cluster, DIES)
}

/// A run of both ranks with windows, puts, gets and messages.
fn exchange(cluster: &Cluster, me: GlobalRank) -> alcor::Result<()> {
    let mut it = attach(cluster, me)?;
    let other = GlobalRank(1 - me.0);
    it.barrier()?;
    let memory = it.alloc::<u32>(64)?;
    let window = it.register(&memory, Rights::ALL)?;
    it.put(&window, other, 0, &[10 + me.0; 64])?;
    it.fence()?;
    assert_eq!(it.read_vec(&memory)?, [10 + other.0; 64]);
    let mut found = [0; 2];
    it.get(&window, other, 3, &mut found)?;
    assert_eq!(found, [10 + me.0; 2]);
    let sent = it.alloc_from(&[me.0; 200])?;
    let send = it.isend(other, 9, &sent)?;
    let mut found = [9; 200];
    it.recv(other, 9, &mut found)?;
    assert_eq!(found, [other.0; 200]);
    it.wait(send)?;
    it.finish()
}

#[test]
fn a_killed_rank_is_taken_over_while_the_other_goes_on() {
    if let Ok(role) = env::var(ROLE) {
        let folder = env::var_os(FOLDER).expect("a folder");
        let (_standin, cluster) = open(Path::new(&folder));
        let ended = match role.as_str() {
            "stays" => stays(&cluster),
            "dies" => dies(&cluster),
            _ => next(&cluster),
        };
        return ended.expect("a run");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let boards = CosimBackend::new().open_free("rma2");
    let board = boards.expect("a board").remove(0);
    served::offer(board, &folder.join("board"));
    let (_standin, cluster) = open(folder);
    cluster.prepare(RANKS).expect("a board for a run");

    let stays = Process::start(TEST, "stays", folder, &[]);
    let mut dies = Process::start(TEST, "dies", folder, &[]);
    dies.expect("busy");
    dies.kill();
    let mut next = Process::start(TEST, "next", folder, &[]);
    next.expect("attached");
    // The surviving process keeps its rank, so a reset of the board is refused.
    assert!(cluster.boards()[0].reset().is_err());
    next.ends_well();
    stays.ends_well();
    cluster.prepare(RANKS).expect("all ranks are free");
}
