//! What a simulated board does depends neither on cycles that are skipped, nor on guards, nor on how it powered up.

use std::sync::Arc;

use alcor::Backends;
use alcor_conformance::{Case, Outcome, Settings, digest, tests};
use alcor_cosim::{CosimBackend, SimCluster};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn backend() -> CosimBackend {
    CosimBackend::new().root(ROOT)
}

/// Outcomes of the tests of these groups, one after the other on one cluster.
fn outcomes(uri: &str, groups: &[&str]) -> Vec<Outcome> {
    let settings = Settings::default();
    let cases: Vec<Case> = tests()
        .filter(|test| groups.iter().any(|group| test.name.starts_with(group)))
        .map(|test| Case {
            test,
            seed: settings.seed,
        })
        .collect();
    let backends = Backends::new().with(backend());
    let name = uri.to_string();
    let outcomes = crate::outcomes(cases, 1, &settings, move |_| backends.open(&name));
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

fn cluster(uri: &str) -> Arc<SimCluster> {
    backend().open_sim(uri).unwrap()
}

#[test]
fn cycles_and_digests_do_not_depend_on_skipping() {
    let groups = [
        "barrier.",
        "collectives.",
        "skew.",
        "messages.pairs",
        "registration.",
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

#[test]
fn cycles_and_digests_do_not_depend_on_guards_or_power_up() {
    let groups = [
        "barrier.",
        "collectives.",
        "messages.pairs",
        "registration.",
    ];
    let plain = outcomes("cosim:ring3-small", &groups);
    for option in ["guards=0", "power-up=1", "power-up=4294967295"] {
        let other = outcomes(&format!("cosim:ring3-small?{option}"), &groups);
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

#[test]
fn an_idle_board_skips() {
    for (query, least) in [("", 900_000), ("&profile=gen3x16", 900_000)] {
        let idle = |skip: &str| {
            let cluster = cluster(&format!("ring3-small?skip={skip}{query}"));
            cluster.idle(400_000).unwrap();
            (cluster.board_cycles(), cluster.skipped_cycles())
        };
        let (cycles, skipped) = idle("on");
        assert_eq!(cycles, 1_200_000);
        assert!(skipped > least, "{skipped} of {cycles}");
        assert_eq!(idle("off"), (1_200_000, 0));
    }
}
