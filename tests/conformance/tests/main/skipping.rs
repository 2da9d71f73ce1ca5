//! What a simulated board does depends neither on cycles that are skipped, nor on guards, nor on how it powered up.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::{env, fs};

use alcor::{Backend, Backends, GlobalRank, Job, Rights};
use alcor_conformance::tests;
use alcor_cosim::{CosimBackend, SimCluster};
use alcor_test::{Case, Outcome, Settings, digest};
use alcor_test_repository::Repository;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn backend() -> CosimBackend {
    CosimBackend::new().root(ROOT)
}

/// The tests of these groups.
fn cases(groups: &[&str]) -> Vec<Case> {
    let seed = Settings::default().seed;
    tests()
        .filter(|test| groups.iter().any(|group| test.name.starts_with(group)))
        .map(|test| Case { test, seed })
        .collect()
}

/// Outcomes of the tests of these groups, one after the other on one cluster; all pass.
fn outcomes(uri: &str, groups: &[&str]) -> Vec<Outcome> {
    let outcomes = outcomes_of(backend(), uri, cases(groups));
    for outcome in &outcomes {
        let verdict = &outcome.verdict;
        assert!(
            !verdict.is_failed(),
            "{uri}: {}: {verdict}",
            outcome.test.name
        );
    }
    outcomes
}

fn outcomes_of(backend: CosimBackend, uri: &str, cases: Vec<Case>) -> Vec<Outcome> {
    let backends = Backends::new().with(backend);
    let name = uri.to_string();
    crate::outcomes(cases, 1, &Settings::default(), move |_| {
        backends.open(&name)
    })
}

fn cluster(uri: &str) -> Arc<SimCluster> {
    backend().open_sim(uri).unwrap()
}

#[test]
fn cycles_and_digests_do_not_depend_on_skipping() {
    let groups = [
        "barrier.s",
        "collectives.counts",
        "messages.pairs",
        "registration.used_at_once",
        "skew.mixes",
    ];
    for query in ["", "&profile=gen3x16"] {
        let groups = if query.is_empty() {
            &groups[..]
        } else {
            &groups[2..]
        };
        let uri = |skip: &str| format!("ring3-small?skip={skip}{query}");
        let [off, on, check] =
            ["off", "on", "check"].map(|skip| outcomes(&format!("cosim:{}", uri(skip)), groups));
        assert!(!off.is_empty());
        for ((off, on), check) in off.iter().zip(&on).zip(&check) {
            let name = off.test.name;
            assert_eq!((off.cycles, off.digest), (on.cycles, on.digest), "{name}");
            assert_eq!(
                (off.cycles, off.digest),
                (check.cycles, check.digest),
                "{name}"
            );
        }
        assert_eq!(digest(&off), digest(&on));
    }
}

/// On every simulated configuration of the profile: `ci`, or `ci-full` in the full tier. `skip=check` evaluates all cycles, and
/// fails where a cycle that would be skipped changes a register. The full tier compares cycles and digests too.
#[test]
fn no_configuration_depends_on_skipping() {
    const TESTS: [&str; 9] = [
        "alpu.full",
        "barrier.steady",
        "collectives.among_puts",
        "kernel.halo_exchange",
        "kernel.pointer_chase",
        "kernel.transfers",
        "kernel.vector_add",
        "messages.pairs",
        "put.typed",
    ];
    let full = env::var("ALCOR_FULL").is_ok_and(|value| value == "1");
    let text = fs::read_to_string(Path::new(ROOT).join("regress.toml")).unwrap();
    let profiles: toml::Table = text.parse().unwrap();
    let backends = profiles["profile"][if full { "ci-full" } else { "ci" }]["backends"].as_array();
    let configurations: BTreeSet<&str> = backends
        .unwrap()
        .iter()
        .filter_map(|entry| entry["backend"].as_str()?.strip_prefix("cosim:"))
        .filter_map(|name| name.split('?').next())
        .collect();
    assert!(configurations.len() >= 10, "{configurations:?}");
    for name in configurations {
        let check = outcomes(&format!("cosim:{name}?skip=check"), &TESTS);
        assert!(check.iter().any(|outcome| outcome.cycles > 0), "{name}");
        if full {
            let on = outcomes(&format!("cosim:{name}?skip=on"), &TESTS);
            for (on, check) in on.iter().zip(&check) {
                assert_eq!(
                    (on.cycles, on.digest),
                    (check.cycles, check.digest),
                    "{name}: {}",
                    on.test.name
                );
            }
        }
    }
}

#[test]
fn cycles_and_digests_do_not_depend_on_guards_or_power_up() {
    let groups = [
        "barrier.s",
        "collectives.counts",
        "collectives.every_operation",
        "messages.pairs",
        "registration.used_at_once",
    ];
    const RANDOM: [&str; 2] = ["power-up=1", "power-up=4294967295"];
    same_with("ring3-small", &groups, &["guards=0", RANDOM[0], RANDOM[1]]);
    // Packets of several ranks wait for the same channels, which routers then reserve in turn.
    same_with("ring4", &["progress.all_get"], &RANDOM);
}

/// Compares cycles and digests of tests with and without each of the options.
fn same_with(config: &str, groups: &[&str], options: &[&str]) {
    let plain = outcomes(&format!("cosim:{config}"), groups);
    assert!(plain.len() >= groups.len());
    for option in options {
        let other = outcomes(&format!("cosim:{config}?{option}"), groups);
        for (plain, other) in plain.iter().zip(&other) {
            let name = plain.test.name;
            assert_eq!(
                (plain.cycles, plain.digest),
                (other.cycles, other.digest),
                "{option}: {name}"
            );
        }
    }
}

/// The order in which the host runs the threads of ranks changes neither cycles nor digests.
#[test]
fn cycles_and_digests_repeat() {
    let groups = [
        "registration.different_collectives",
        "collectives.different_and_long",
        "skew.mixes",
    ];
    let first = outcomes("cosim:ring3-small", &groups);
    assert!(first.len() >= groups.len());
    for _ in 0..3 {
        for (first, again) in first.iter().zip(&outcomes("cosim:ring3-small", &groups)) {
            let name = first.test.name;
            assert_eq!(
                (first.cycles, first.digest),
                (again.cycles, again.digest),
                "{name}"
            );
        }
    }
}

#[test]
fn an_idle_board_skips() {
    for query in ["", "&profile=gen3x16"] {
        let idle = |skip: &str| {
            let cluster = cluster(&format!("ring3-small?skip={skip}{query}"));
            cluster.idle(50_000).unwrap();
            (cluster.board_cycles(), cluster.skipped_cycles())
        };
        let (cycles, skipped) = idle("on");
        assert_eq!(cycles, 150_000);
        assert!(4 * skipped > 3 * cycles, "{skipped} of {cycles}");
        assert_eq!(idle("off"), (150_000, 0));
    }
}

/// `sim_top` with an output `phased_o` that is always low, in a copy of the repository. Slow links keep phits waiting in the
/// switch, where phits grow older by a counter.
#[test]
fn a_counter_that_decides_something_untold_is_found() {
    let untold = Repository::of_hardware();
    untold.replace(
        "hw/dpi/sim_top.sv",
        "assign phased_o = stage_naps",
        "assign phased_o = 1'b0;\n    wire unused = stage_naps",
    );
    let stream = |backend: CosimBackend| {
        let cluster = backend.open("ring3-small?skip=check&link-gbps=1").unwrap();
        Job::new(&cluster).unwrap().run(3, |rank| {
            let data = rank.alloc::<u64>(2048)?;
            let window = rank.register(&data, Rights::ALL)?;
            let right = GlobalRank((rank.pid().0 + 1) % 3);
            rank.put(&window, right, 0, &data)?;
            rank.fence()
        })
    };
    stream(backend()).unwrap();
    let error = stream(CosimBackend::new().root(untold.path())).unwrap_err();
    assert!(
        error.to_string().contains("`phased_o` of sim_top.sv"),
        "{error}"
    );
}
