//! Ranks of one board in several processes, kept apart by their locks. Each process serves its own
//! nodes, so the processes share only the locks.

use std::env;
use std::io::{BufRead, BufReader, Read, stdin};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;

use alcor::{Backend, Board, Error, LocalRank, Port};
use alcor_abi::{self as abi, board};
use alcor_xdma::{XdmaBackend, XdmaError};
use xdma::standin::{Device, Memory, StandIn};

/// Variable that turns a process into a holder: names the rank and the folder of the locks.
const RANK: &str = "ALCOR_TEST_RANK";
const LOCKS: &str = "ALCOR_TEST_LOCKS";
const HELD: &str = "held";

/// A board of two ranks with the registers that locking needs.
fn open(locks: &Path) -> (StandIn, Arc<dyn Board>) {
    let design = Memory::new(0x1000);
    for (register, value) in [
        (board::MAGIC, abi::MAGIC),
        (board::GEOMETRY, board::geometry::RANKS.put(2)),
        (board::STATUS, board::status::READY.put(1)),
    ] {
        design.write32(u64::from(register), value);
    }
    let standin = StandIn::new(design).expect("a stand-in");
    let backend = XdmaBackend::on(standin.machine()).locks(locks);
    let cluster = backend.open("auto").expect("a board");
    let board = Arc::clone(&cluster.boards()[0]);
    (standin, board)
}

fn take(board: &Arc<dyn Board>, rank: u32) -> Result<Box<dyn Port>, Error> {
    Arc::clone(board).attach(LocalRank(rank))
}

/// Body of a holder: takes its rank, reports the result, and keeps the rank until its input ends.
fn hold(rank: &str) {
    let locks = env::var_os(LOCKS).expect("a folder");
    let (_standin, board) = open(Path::new(&locks));
    match take(&board, rank.parse().expect("a number")) {
        Err(error) => eprintln!("{error}"),
        Ok(mut port) => {
            eprintln!("{HELD}");
            let _ = stdin().read_to_end(&mut Vec::new());
            port.leave().expect("the end");
        }
    }
}

/// A process that takes a rank.
struct Holder {
    process: Child,
    says: BufReader<ChildStderr>,
}

impl Holder {
    fn of(rank: u32, locks: &Path) -> Holder {
        let mut process = Command::new(env::current_exe().expect("this program"))
            .args([
                "--exact",
                "processes_share_a_board_by_its_ranks",
                "--nocapture",
            ])
            .env(RANK, rank.to_string())
            .env(LOCKS, locks)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a process");
        let says = BufReader::new(process.stderr.take().expect("what it says"));
        Holder { process, says }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.says.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    fn id(&self) -> String {
        self.process.id().to_string()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns whether the call failed because `by` holds the rank `wanted`.
fn is_held<T>(result: Result<T, Error>, by: &Holder, wanted: u32) -> bool {
    let Err(Error::Board { source, .. }) = result else {
        return false;
    };
    matches!(
        source.downcast_ref(),
        Some(XdmaError::Held { rank, holder }) if rank.0 == wanted && *holder == by.id()
    )
}

#[test]
fn processes_share_a_board_by_its_ranks() {
    if let Ok(rank) = env::var(RANK) {
        return hold(&rank);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let locks = folder.path();
    let [mut first, mut second] = [0, 1].map(|rank| Holder::of(rank, locks));
    assert_eq!([first.line(), second.line()], [HELD; 2]);

    // A third process receives the holder's number and a remedy.
    let mut third = Holder::of(1, locks);
    let told = third.line();
    for words in ["rank 1", &second.id(), "end that process"] {
        assert!(told.contains(words), "{told}");
    }
    let (_standin, board) = open(locks);
    assert!(is_held(take(&board, 0), &first, 0));
    assert!(is_held(take(&board, 1), &second, 1));
    assert!(is_held(board.reset(), &first, 0));

    // A killed process releases its rank at once. The rank of the other process stays locked.
    first.process.kill().expect("it dies");
    first.process.wait().expect("it is dead");
    drop(take(&board, 0).expect("a port"));
    assert!(is_held(take(&board, 1), &second, 1));
    assert!(is_held(board.reset(), &second, 1));

    // The other process ends normally.
    drop(second.process.stdin.take());
    assert!(second.process.wait().expect("its end").success());
    drop(take(&board, 1).expect("a port"));
    board.reset().expect("a reset");
}
