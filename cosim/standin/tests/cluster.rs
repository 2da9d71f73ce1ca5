//! Ranks in processes of their own, on two simulated boards that are joined by links, as processes in
//! two hosts with a card each. The processes meet over TCP.

use std::env;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, Ordering};

use alcor::{Backend, Backends, Error, GlobalRank, Job, Launch, Operation, Options, Rank, Rights};
use alcor_cosim::CosimBackend;
use alcor_farm::{ClusterBackend, ClusterError};
use alcor_xdma::{XdmaBackend, XdmaError};

mod served;

use served::process::{FOLDER, Process, ROLE, all_end_well};

/// The test that is the body of all processes.
const BODY: &str = "processes_in_two_hosts_run_again_after_one_has_died";
const RANKS: u32 = 4;
/// The rank that dies or fails.
const LOST: u32 = 3;

/// A farm whose first host has any name, as rank 0 must be found by it.
fn farm(port: u16, ranks: u32) -> String {
    format!(
        r#"
        schema = 1
        [boards.left]
        host = "localhost"
        address = "0000:3b:00.0"
        [boards.right]
        host = "two"
        address = "0000:3b:00.0"
        [[links]]
        ends = ["left.0", "right.1"]
        [[links]]
        ends = ["left.1", "right.0"]
        [clusters.lab]
        boards = ["left", "right"]
        topology = [2]
        ranks = {ranks}
        port = {port}
        "#
    )
}

/// The backend of a process in the host `here`.
fn backend(folder: PathBuf, here: &str) -> ClusterBackend {
    // The nodes stay until the process ends.
    let nodes = Mutex::new(Vec::new());
    let backend = ClusterBackend::new().file(folder.join("boards.toml"));
    backend.here(here).opening(move |name, _, peers| {
        if env::var(ROLE).as_deref() == Ok("fails") {
            return Err(XdmaError::BadUri {
                rest: "lost".into(),
            });
        }
        let standin = served::nodes(&folder.join(name), 0x4_0000, 2);
        let cards = XdmaBackend::on(standin.machine()).locks(folder.join("locks").join(name));
        nodes.lock().expect("no panic").push(standin);
        cards.board("auto", peers)
    })
}

// The processes.

/// Each rank puts its number into the inbox of the next, sends it to the other board, and adds up
/// all numbers.
fn exchange(rank: &mut Rank) -> alcor::Result<()> {
    let me = rank.pid().0;
    let inbox = rank.alloc::<u32>(64)?;
    let window = rank.register(&inbox, Rights::ALL)?;
    rank.put(&window, rank.neighbour(1), 0, &[me; 64])?;
    rank.fence()?;
    assert_eq!(rank.read_vec(&inbox)?, [(me + 3) % RANKS; 64]);
    let other = GlobalRank((me + 2) % RANKS);
    rank.send(other, 7, &[me])?;
    let mut found = [9];
    rank.recv(other, 7, &mut found)?;
    assert_eq!(found, [other.0]);
    let mut sum = [me + 1];
    let world = rank.world()?;
    world.allreduce_in_place(rank, Operation::Sum, &mut sum)?;
    assert_eq!(sum, [10]);
    Ok(())
}

/// Puts to the other board until the end of the process, or until a peer has died.
fn busy(rank: &mut Rank) -> alcor::Result<()> {
    let inbox = rank.alloc_from(&[0xdead_u32; 1024])?;
    let window = rank.register(&inbox, Rights::ALL)?;
    let other = GlobalRank((rank.pid().0 + 2) % RANKS);
    for round in 0.. {
        rank.put(&window, other, 0, &inbox)?;
        if round == 20 {
            eprintln!("busy");
        }
    }
    Ok(())
}

fn body(role: &str) {
    let folder = PathBuf::from(env::var_os(FOLDER).expect("a folder"));
    let launch = Launch::from_env().expect("a launch");
    let here = if launch.rank.0 < 2 { "one" } else { "two" };
    let backends = Backends::new().with(backend(folder, here));
    let attach = || Job::from_env(&backends, Options::default());
    match role {
        "runs" => {
            for _ in 0..2 {
                let mut rank = attach().expect("a run");
                exchange(&mut rank).expect("an exchange");
                rank.finish().expect("the end");
            }
        }
        "busy" => {
            let mut rank = attach().expect("a run");
            let error = busy(&mut rank).expect_err("a death");
            eprintln!("{error}");
        }
        _ => {
            let error = attach().map(drop).expect_err("no run");
            eprintln!("{error}");
        }
    }
}

/// The process of a rank.
fn process(rank: u32, role: &str, run: &str, folder: &Path) -> Process {
    let variables = [
        (Launch::CLUSTER, "cluster:lab"),
        (Launch::RANK, &rank.to_string()),
        (Launch::SIZE, &RANKS.to_string()),
        (Launch::RUN, run),
    ];
    Process::start(BODY, role, folder, &variables)
}

fn processes(role: &str, run: &str, folder: &Path) -> Vec<Process> {
    // The process of rank 0, to which the others connect, comes last.
    let ranks = (0..RANKS).rev();
    let mut all: Vec<_> = ranks.map(|rank| process(rank, role, run, folder)).collect();
    all.reverse();
    all
}

/// A free port outside the range from which the kernel gives ports.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 20_000
            + (std::process::id() as u16)
                .wrapping_mul(16)
                .wrapping_add(next)
                % 12_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Two boards at sockets, and the farm.
fn lab(ranks: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let boards = CosimBackend::new().open_free("ring2").expect("two boards");
    for (board, name) in boards.into_iter().zip(["left", "right"]) {
        served::offer(board, &folder.path().join(name));
    }
    let text = farm(port(), ranks);
    fs::write(folder.path().join("boards.toml"), text).expect("a file");
    folder
}

#[test]
fn processes_in_two_hosts_run_again_after_one_has_died() {
    if let Ok(role) = env::var(ROLE) {
        return body(&role);
    }
    let folder = lab(2);
    let folder = folder.path();
    let mut all = processes("busy", "first", folder);
    for process in &mut all {
        process.expect("busy");
    }
    all.remove(LOST as usize).kill();
    for mut process in all {
        let told = process.line();
        assert!(told.contains("rank 3"), "{told}");
        assert!(told.contains("died"), "{told}");
        process.ends_well();
    }
    let next = processes("runs", "next", folder);
    all_end_well(next);
}

#[test]
fn a_process_that_can_not_take_part_is_named_by_all() {
    let folder = lab(2);
    let mut all: Vec<_> = (0..RANKS)
        .map(|rank| {
            let role = if rank == LOST { "fails" } else { "hears" };
            process(rank, role, "run", folder.path())
        })
        .collect();
    let told: Vec<String> = all.iter_mut().map(Process::line).collect();
    assert!(told[3].contains("names no card"), "{told:?}");
    for told in &told[..3] {
        assert!(told.contains("rank 3 can't begin the run"), "{told}");
        assert!(told.contains("board right"), "{told}");
    }
    all_end_well(all);
}

#[test]
fn the_file_and_the_place_of_a_process_are_checked() {
    let folder = lab(1);
    let join = |rank, size, here: &str| {
        let mut launch = Launch::new("cluster:lab", GlobalRank(rank), size);
        launch.run = "run".into();
        let result = backend(folder.path().to_owned(), here).join("lab", &launch);
        result.map(drop).expect_err("no run")
    };
    let is = |error: &Error, check: &dyn Fn(&ClusterError) -> bool| {
        let Error::Board { source, .. } = error else {
            return false;
        };
        source.downcast_ref().is_some_and(check)
    };
    let error = join(1, 2, "one");
    assert!(
        error.to_string().contains("start ranks 1 to 1 in two"),
        "{error}"
    );
    assert!(is(&error, &|error| matches!(
        error,
        ClusterError::WrongHost { .. }
    )));
    let error = join(0, 1, "one");
    assert!(is(&error, &|error| matches!(
        error,
        ClusterError::NoProcess { needed: 2, .. }
    )));
    let error = join(0, 3, "one");
    assert!(is(&error, &|error| matches!(
        error,
        ClusterError::TooManyRanks { ranks: 2, .. }
    )));
    let backend = backend(folder.path().to_owned(), "two");
    let error = backend
        .open("lab")
        .map(drop)
        .expect_err("ranks of the file");
    assert!(
        error
            .to_string()
            .contains("board left has 2 ranks, and boards.toml states 1"),
        "{error}"
    );
    let error = backend
        .here("one")
        .open("lab")
        .map(drop)
        .expect_err("two hosts");
    assert!(is(&error, &|error| matches!(
        error,
        ClusterError::OtherHost { .. }
    )));
    // Rank 0 can't listen.
    let text = fs::read_to_string(folder.path().join("boards.toml")).expect("the farm");
    let port = text.split("port = ").nth(1).map(str::trim).expect("a port");
    let _taken = TcpListener::bind(("127.0.0.1", port.parse().expect("a number"))).expect("a port");
    let error = join(0, 2, "one");
    assert!(
        is(&error, &|error| matches!(
            error,
            ClusterError::Listen { .. }
        )),
        "{error}"
    );
}
