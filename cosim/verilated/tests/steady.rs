//! Models with a constant state, and cycles skipped in this state.

use crate::support::{build, model};
use verimodel::{Error, Instance, Model};

fn counting() -> Model {
    let build = build("steady")
        .counter("steady", "short_q")
        .counter("steady", "long_q");
    model(build.ram("mem_q"))
}

/// An instance after its reset.
fn started(model: &Model) -> Instance<()> {
    let mut instance = model.instantiate("steady", ()).unwrap();
    set(&mut instance, "rst_ni", 0);
    run(&mut instance, 2);
    set(&mut instance, "rst_ni", 1);
    run(&mut instance, 2);
    instance
}

fn set(instance: &mut Instance<()>, input: &str, value: u64) {
    let input = instance.input(input).unwrap();
    instance.set(&input, value).unwrap();
}

fn run(instance: &mut Instance<()>, cycles: u64) {
    let clk = instance.input("clk_i").unwrap();
    instance.run(&clk, cycles).unwrap();
}

fn outputs(instance: &Instance<()>) -> [u64; 4] {
    ["left_o", "short_o", "long_o", "read_o"].map(|name| {
        let output = instance.output(name).unwrap();
        instance.get(&output).unwrap()
    })
}

/// Returns whether the state is equal in three consecutive cycles.
fn stays(instance: &mut Instance<()>) -> bool {
    instance.save_state().unwrap();
    (0..2).all(|_| {
        run(instance, 1);
        instance.is_steady().unwrap()
    })
}

#[test]
fn a_model_is_steady_while_only_its_counters_count() {
    let mut instance = started(&counting());
    assert!(stays(&mut instance));
    set(&mut instance, "start_i", 1);
    run(&mut instance, 1);
    set(&mut instance, "start_i", 0);
    for left in (3..=20).rev().step_by(2) {
        assert!(!stays(&mut instance), "left: {left}");
    }
    run(&mut instance, 20);
    assert!(stays(&mut instance));
    // A stopped counter is no change. A counter that starts to count is a change.
    set(&mut instance, "hold_i", 1);
    run(&mut instance, 1);
    assert!(stays(&mut instance));
    instance.save_state().unwrap();
    run(&mut instance, 1);
    set(&mut instance, "hold_i", 0);
    run(&mut instance, 1);
    assert!(!instance.is_steady().unwrap());
}

#[test]
fn skipped_cycles_count() {
    let model = counting();
    let (mut skipping, mut evaluated) = (started(&model), started(&model));
    for cycles in [1, 7, 16, 1 << 20, 3] {
        assert!(stays(&mut skipping) && stays(&mut evaluated));
        let expected = skipping.counters_after(cycles).unwrap();
        skipping.skip(cycles).unwrap();
        run(&mut evaluated, cycles);
        assert_eq!(evaluated.counters_after(0).unwrap(), expected);
        assert!(evaluated.is_steady().unwrap());
        for instance in [&mut skipping, &mut evaluated] {
            set(instance, "show_i", 1);
            run(instance, 1);
        }
        assert_eq!(outputs(&skipping), outputs(&evaluated));
        for instance in [&mut skipping, &mut evaluated] {
            set(instance, "show_i", 0);
            run(instance, 1);
        }
        assert_eq!(skipping.cycles(), evaluated.cycles());
        assert_eq!(skipping.time_ps(), evaluated.time_ps());
    }
}

#[test]
fn a_register_that_counts_and_is_not_named_keeps_a_model_from_being_steady() {
    let mut instance = started(&model(build("steady").counter("steady", "long_q")));
    assert!(!stays(&mut instance));
}

#[test]
fn a_hint_follows_what_changed() {
    let mut instance = started(&counting());
    assert!(instance.seems_steady().unwrap());
    set(&mut instance, "start_i", 1);
    run(&mut instance, 1);
    set(&mut instance, "start_i", 0);
    assert!(!stays(&mut instance));
    let mut hints = 0;
    for _ in 0..10 {
        hints += u32::from(instance.seems_steady().unwrap());
        run(&mut instance, 1);
    }
    assert_eq!(hints, 0);
    run(&mut instance, 20);
    assert!(!instance.seems_steady().unwrap());
    assert!(instance.seems_steady().unwrap());
}

#[test]
fn a_model_without_counters_says_so() {
    let mut instance = started(&model(build("steady")));
    assert!(matches!(instance.save_state(), Err(Error::NotBuilt { .. })));
    assert!(matches!(instance.skip(3), Err(Error::NotBuilt { .. })));
}
