//! Coverage: of a stand-in where it is about what is added up, and of a board.

use std::sync::Arc;

use alcor::{Board, Causes, Cycle, Error, GlobalRank, Job, Rank, Result, Tag};
use alcor_cosim::{CosimBackend, CosimError, Coverage, SimCluster};

use crate::fixture::*;

/// How often a point was hit.
fn hits(coverage: &Coverage, group: &str, name: &str) -> u64 {
    let points = coverage.points();
    let found: Vec<_> = points
        .iter()
        .filter(|point| (&*point.group, &*point.name) == (group, name))
        .collect();
    assert_eq!(found.len(), 1, "{group}: {name} among {points:#?}");
    found[0].hits
}

/// Has all ranks meet so often.
fn meet(cluster: &SimCluster, times: u32) {
    let met = run_all(cluster, |_, _, port| {
        for _ in 0..times {
            port.write32(ENTER_BARRIER, 0)?;
        }
        port.wait(Causes::NONE, Cycle(1000))
    });
    assert!(met.iter().all(std::result::Result::is_ok), "{met:?}");
}

#[test]
fn nothing_is_lost_over_boards_resets_and_failures() {
    let cluster = cluster_with(&[3], 2, 256, "coverage=1");
    let met = || hits(&cluster.coverage().unwrap(), "barriers", "met");
    assert_eq!(met(), 0);
    meet(&cluster, 5);
    assert_eq!(met(), 15);
    // To ask changes nothing.
    assert_eq!(met(), 15);
    cluster.boards()[0].reset().unwrap();
    meet(&cluster, 2);
    assert_eq!(met(), 21);
    // A board whose model fails has another after its reset.
    cluster.boards()[0].reset().unwrap();
    let ends = run_all(&cluster, |board, rank, port| {
        port.write32(ENTER_BARRIER, 0)?;
        port.wait(Causes::NONE, Cycle(100))?;
        if (board, rank) == (1, 0) {
            port.write32(CRASH, 0)?;
        }
        port.wait(Causes::NONE, Cycle(1000))
    });
    assert!(ends.iter().all(std::result::Result::is_err), "{ends:?}");
    assert_eq!(met(), 24);
    cluster.boards()[0].reset().unwrap();
    meet(&cluster, 1);
    assert_eq!(met(), 27);
}

#[test]
fn none_is_counted_unless_asked_for() {
    let error = cluster(&[2], 1).coverage().unwrap_err();
    assert!(matches!(error, CosimError::NoCoverage), "{error}");
}

/// Six messages that wait when they are asked for: the fourth, the first, the second of the others, and the first thrice.
fn program(rank: &mut Rank) -> Result<()> {
    let other = GlobalRank(1 - rank.pid().0);
    if rank.pid() == GlobalRank(0) {
        let short = rank.alloc_from(&[1u32, 2, 3, 4])?;
        let long = rank.alloc_from(&[7u32; 200])?;
        let mut sends = Vec::new();
        for tag in 0..6 {
            sends.push(rank.isend(other, tag, if tag == 2 { &long } else { &short })?);
        }
        rank.barrier()?;
        for send in sends {
            rank.wait(send)?;
        }
    } else {
        rank.barrier()?;
        let mut values = [0u32; 200];
        rank.recv(other, 3, &mut values)?;
        rank.recv(other, Tag::Any, &mut values)?;
        rank.recv(alcor::Source::Any, 2, &mut values)?;
        rank.recv(other, Tag::Any, &mut values)?;
        rank.recv(alcor::Source::Any, Tag::Any, &mut values)?;
        let cut = rank.recv(other, 5, &mut values[..3]);
        assert!(matches!(cut, Err(Error::Truncated { .. })), "{cut:?}");
    }
    Ok(())
}

#[test]
fn what_messages_meet_is_told_of() {
    let run = |query: &str| -> (Arc<SimCluster>, u64, Option<u32>) {
        let cluster = CosimBackend::new()
            .open_sim(&format!("rma2{query}"))
            .unwrap();
        let job = Job::new(cluster.cluster().unwrap()).unwrap();
        job.run(2, program).unwrap();
        let board = Arc::clone(&cluster.boards()[0]);
        (cluster, board.now(), board.traffic_digest())
    };
    let (cluster, cycles, digest) = run("?coverage=1");
    let (_, plain_cycles, plain_digest) = run("");
    assert_eq!((cycles, digest), (plain_cycles, plain_digest));

    let coverage = cluster.coverage().unwrap();
    for (group, name, expected) in [
        ("depth", "unexpected 1", 4),
        ("depth", "unexpected 2", 1),
        ("depth", "unexpected 3 to 4", 1),
        ("depth", "unexpected 5 to 8", 0),
        ("depth", "posted 1", 0),
        ("search", "unexpected unit", 6),
        ("search", "unexpected list", 0),
        ("search", "unexpected nothing", 0),
        ("search", "posted empty", 6),
        ("wildcard", "receive none", 2),
        ("wildcard", "receive source", 1),
        ("wildcard", "receive tag", 2),
        ("wildcard", "receive source and tag", 1),
        ("wildcard", "probe none", 0),
        ("message", "eager unexpected", 5),
        ("message", "rendezvous unexpected", 1),
        ("message", "eager expected", 0),
        ("truncation", "eager", 1),
        ("truncation", "rendezvous", 0),
        ("answers", "message ok", 5),
        ("answers", "message truncated", 1),
        ("answers", "reply ok", 6),
        ("answers", "reply denied", 0),
        ("full", "unexpected buffer", 0),
    ] {
        assert_eq!(hits(&coverage, group, name), expected, "{group}: {name}");
    }
    // A board alone has no switch, whose collectives could be covered.
    assert!(
        coverage
            .points()
            .iter()
            .all(|point| point.group != "collectives")
    );

    let modules = coverage.modules();
    for module in [
        "core",
        "match_queue",
        "rma_pipeline",
        "router_input",
        "fifo",
    ] {
        let found = modules.iter().find(|found| found.module == module);
        let found = found.unwrap_or_else(|| panic!("{module} is missing"));
        for hit in [found.lines, found.branches, found.toggles] {
            let is_none = hit.of == 0 && module == "core";
            assert!(is_none || 0 < hit.hit && hit.hit <= hit.of, "{found:?}");
        }
        assert!(found.file.ends_with(&format!("{module}.sv")), "{found:?}");
    }
    assert!(modules.iter().all(|found| !found.file.contains("/hw/dpi/")));
}
