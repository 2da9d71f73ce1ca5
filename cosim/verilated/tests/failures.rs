//! `$error` and similar failures end one instance, never the process.

use crate::support::{TextRecorder, build, model};
use verimodel::{Error, Failure, FailureKind, Instance, Model};

fn failing() -> Model {
    model(build("failing"))
}

fn end(how: u64) -> (Instance<TextRecorder>, Failure) {
    let mut instance = failing()
        .instantiate("board7", TextRecorder::default())
        .unwrap();
    let (clk, how_i) = (
        instance.input("clk_i").unwrap(),
        instance.input("how_i").unwrap(),
    );
    instance.run(&clk, 4).unwrap();
    instance.set(&how_i, how).unwrap();
    let Err(Error::Model(failure)) = instance.run(&clk, 100) else {
        panic!("no failure")
    };
    assert_eq!(failure.instance, "board7");
    assert_eq!(failure.cycle, 4);
    assert!(matches!(instance.tick(&clk), Err(Error::Ended { .. })));
    assert!(matches!(instance.eval(), Err(Error::Ended { .. })));
    (instance, *failure)
}

#[test]
fn error_carries_text_and_place() {
    let (instance, failure) = end(1);
    assert_eq!(failure.kind, FailureKind::Error);
    assert_eq!(
        (failure.message.as_str(), failure.hier.as_str()),
        ("the number is 1", "failing")
    );
    assert!(failure.file.ends_with("failing.sv"));
    assert_eq!(failure.line, 9);
    assert_eq!(instance.cycles(), 5);
}

#[test]
fn fatal_finish_and_stop_are_told_apart() {
    let (_, fatal) = end(2);
    assert_eq!(
        (fatal.kind, fatal.message.as_str()),
        (FailureKind::Fatal, "beyond repair")
    );
    assert_eq!(end(3).1.kind, FailureKind::Finish);
    assert_eq!(end(4).1.kind, FailureKind::Stop);
}

#[test]
fn logic_that_never_settles_ends() {
    let (_, failure) = end(7);
    assert_eq!(failure.kind, FailureKind::Runtime);
    assert!(failure.message.contains("converge"), "{failure}");
}

#[test]
fn an_assertion_is_named() {
    let (_, failure) = end(6);
    assert_eq!(failure.kind, FailureKind::Error);
    assert_eq!(
        (failure.hier.as_str(), failure.message.as_str()),
        ("failing.a_not_six", "six")
    );
}

#[test]
fn assertions_can_be_left_out() {
    let mut instance = model(build("failing").assertions(false))
        .instantiate("board", ())
        .unwrap();
    let (clk, how) = (
        instance.input("clk_i").unwrap(),
        instance.input("how_i").unwrap(),
    );
    instance.set(&how, 6).unwrap();
    instance.run(&clk, 10).unwrap();
}

#[test]
fn a_failure_leaves_others_alone() {
    let mut healthy = failing()
        .instantiate("healthy", TextRecorder::default())
        .unwrap();
    let (clk, how) = (
        healthy.input("clk_i").unwrap(),
        healthy.input("how_i").unwrap(),
    );
    healthy.run(&clk, 3).unwrap();
    drop(end(2));
    healthy.run(&clk, 3).unwrap();
    healthy.set(&how, 5).unwrap();
    healthy.tick(&clk).unwrap();
    assert_eq!(healthy.dpi().text, "just a word\n");
    healthy.finish().unwrap();
    assert_eq!(healthy.dpi().text, "just a word\nfinal block\n");
}
