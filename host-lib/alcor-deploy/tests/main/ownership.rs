//! Who has the card: another deployment, ranks, processes with open nodes.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use alcor::{Backend, LocalRank};
use alcor_abi::{self as abi, board};
use alcor_deploy::{Error, Event, Step};
use alcor_xdma::XdmaBackend;
use xdma::BarOffset;
use xdma::standin::{Memory, Shape, StandIn};

use crate::host::{Host, SECOND, address};

#[test]
fn a_second_user_is_refused_and_changes_nothing() {
    let host = Host::new();
    let mut tried = 0;
    let first = host.deploy().run(&AtomicBool::new(false), &mut |event| {
        // Before anything was changed; and in the middle, when the card is off the bus, also by its other function.
        if matches!(event, Event::Begins(Step::Ranks | Step::Program, _)) {
            let before = host.writes();
            let mut other = host.deploy();
            other.address = address(SECOND);
            for deploy in [host.deploy(), other] {
                let failure = deploy
                    .run(&AtomicBool::new(false), &mut |_| {})
                    .expect_err("a second user");
                assert_eq!(failure.step, Step::Lock, "{failure}");
                let pid = std::process::id().to_string();
                assert!(
                    matches!(&failure.error, Error::Held { holder, .. } if *holder == pid),
                    "{failure}"
                );
                tried += 1;
            }
            assert_eq!(host.writes(), before);
        }
    });
    first.expect("the first is not disturbed");
    assert_eq!(tried, 4);
    host.run().expect("the lock is let go");
}

#[test]
fn ranks_that_the_backend_for_boards_holds_are_met() {
    // A card at the same address, whose ID block says that it has two ranks.
    let shape = Shape {
        user_bytes: 0x1_0000,
        ..Shape::default()
    };
    let standin = StandIn::with(shape, Memory::new(4096)).expect("a stand-in");
    let card = standin.machine().only_card().expect("a card");
    let registers = card.user_bar().expect("registers");
    for (register, value) in [
        (board::MAGIC, abi::MAGIC),
        (board::GEOMETRY, board::geometry::RANKS.put(2)),
        (board::NODE_MEMORY, 1024),
        (board::CLOCK, 250_000),
    ] {
        registers
            .write32(BarOffset(register.into()), value)
            .expect("a register");
    }
    let host = Host::new();
    let backend = XdmaBackend::on(standin.machine()).locks(host.path("locks"));
    let board = || {
        let cluster = backend.open("auto").expect("a board");
        Arc::clone(&cluster.boards()[0])
    };
    let port = board().attach(LocalRank(1)).expect("a rank");
    let failure = host.run().expect_err("a rank is held");
    assert_eq!(failure.step, Step::Ranks, "{failure}");
    assert!(
        failure.to_string().contains("rank 1 of 0000:3b:00.0"),
        "{failure}"
    );
    host.assert_untouched("ranks");
    drop(port);

    // And the other way round: nobody gets a rank while the FPGA is configured.
    let mut tried = 0;
    let deployed = host.deploy().run(&AtomicBool::new(false), &mut |event| {
        if matches!(event, Event::Begins(Step::Program, _)) {
            for rank in [0, 1] {
                assert!(board().attach(LocalRank(rank)).is_err());
                tried += 1;
            }
        }
    });
    deployed.expect("deployed");
    assert_eq!(tried, 2);
    board().attach(LocalRank(0)).expect("a rank");
}

#[test]
fn processes_with_open_nodes_are_named() {
    let host = Host::new();
    for (pid, name) in [
        ("41", "one"),
        ("42", "two"),
        ("43", "three"),
        ("self", "none"),
    ] {
        let folder = host.path("proc").join(pid);
        fs::create_dir_all(folder.join("fd")).expect("a folder");
        fs::write(folder.join("comm"), format!("{name}\n")).expect("a file");
        fs::write(folder.join("maps"), "").expect("a file");
    }
    let dev = host.path("dev");
    // Another card's, and one that only begins in the same way.
    symlink(dev.join("xdma1_user"), host.path("proc/41/fd/3")).expect("a link");
    symlink(dev.join("xdma22_user"), host.path("proc/41/fd/4")).expect("a link");
    host.deploy().plan().expect("nobody");
    symlink(dev.join("xdma2_user"), host.path("proc/42/fd/3")).expect("a link");
    // Mapped, and closed since.
    let maps = format!(
        "00400000-00452000 r-xp 00000000 08:02 173521 /usr/bin/three\n7f00-7f01 rw-s 00000000 00:06 5 {}\n",
        dev.join("xdma3_user").display()
    );
    fs::write(host.path("proc/43/maps"), maps).expect("a file");
    for failure in [
        host.deploy().plan().expect_err("in use"),
        host.run().expect_err("in use"),
    ] {
        let Error::InUse { holders, .. } = &failure.error else {
            panic!("{failure}");
        };
        let found: Vec<_> = holders
            .iter()
            .map(|holder| (holder.pid, &*holder.name))
            .collect();
        assert_eq!(found, [(42, "two"), (43, "three")]);
        assert!(failure.to_string().contains("process 42 (two"), "{failure}");
    }
    assert!(host.writes().is_empty());
}

#[test]
fn lock_files_of_roots_are_for_all() {
    use std::os::unix::fs::PermissionsExt;
    let host = Host::new();
    host.run().expect("deployed");
    let mode = |path: &std::path::Path| fs::metadata(path).expect("metadata").permissions().mode();
    let locks = host.path("locks");
    assert_eq!(mode(&locks) & 0o7777, 0o1777);
    let files: Vec<_> = fs::read_dir(&locks).expect("a folder").flatten().collect();
    assert_eq!(files.len(), 17);
    for file in files {
        assert_eq!(mode(&file.path()) & 0o777, 0o666, "{file:?}");
    }
}
