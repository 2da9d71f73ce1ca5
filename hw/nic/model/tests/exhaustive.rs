//! Every order of steps, at small sizes. `ALCOR_FULL=1` adds larger ones.

use std::env;

use alcor_nic_model::{Broken, Rules, Sizes, Streams};
use alcor_reach::{Explored, explore};

/// The load: number of messages of each source.
type Messages = &'static [u32];

/// A check: the load, the number of entries, the window, and the number of serial numbers after the
/// first one.
#[derive(Debug, Clone, Copy)]
struct Case {
    messages: Messages,
    room: u32,
    window: u32,
    numbers: u32,
}

/// As many serial numbers as messages under way.
fn case(messages: Messages, room: u32, window: u32) -> Case {
    Case {
        messages,
        room,
        window,
        numbers: window,
    }
}

fn is_full() -> bool {
    env::var("ALCOR_FULL").is_ok_and(|value| value == "1")
}

/// All messages are taken once and in order, and from each state a way leads to the end.
#[track_caller]
fn holds(case: Case) {
    let explored = look(case, Rules::default());
    if let Some(failure) = explored.failure {
        panic!("{failure}");
    }
    assert!(explored.done > 0, "the senders never finish");
}

fn look(case: Case, rules: Rules) -> Explored<Broken> {
    let explored = explore(&Streams {
        // A pause ends at any time, so its length makes no difference.
        sizes: Sizes {
            numbers: case.numbers,
            window: case.window,
            line: 1,
            pause: 0,
            longest_pause: 0,
        },
        rules,
        messages: case.messages.to_vec(),
        room: case.room,
    });
    println!("{} states; {case:?}", explored.states);
    explored
}

#[test]
fn one_source() {
    for room in [1, 2] {
        for window in [1, 2, 3] {
            holds(case(&[4], room, window));
        }
    }
}

#[test]
fn two_sources() {
    for room in [1, 2] {
        for window in [1, 2] {
            holds(case(&[3, 3], room, window));
        }
        holds(case(&[4, 2], room, 3));
    }
    if is_full() {
        for room in [1, 2] {
            holds(case(&[3, 3], room, 3));
            for window in [1, 2, 3] {
                holds(case(&[4, 4], room, window));
            }
        }
        holds(case(&[5, 2], 1, 4));
    }
}

#[test]
fn three_sources() {
    holds(case(&[2, 1, 1], 1, 2));
    if is_full() {
        holds(case(&[2, 2, 2], 1, 2));
        holds(case(&[2, 2, 2], 2, 2));
    }
}

/// As many serial numbers as messages under way are enough, and one less is not: a later message
/// then has the number of the refused one.
#[test]
fn the_window_needs_as_many_numbers() {
    let few = [(&[3, 2][..], 2, 1), (&[4, 2], 3, 2), (&[5, 2], 4, 3)];
    for (messages, window, numbers) in few {
        let few = Case {
            numbers,
            ..case(messages, 1, window)
        };
        let explored = look(few, Rules::default());
        assert!(explored.broken.is_some(), "not missed: {few:?}");
    }
}

/// Without any one of these rules, the protocol breaks or gets stuck.
#[test]
fn each_rule_is_needed() {
    let all = Rules::default();
    let stuck = None;
    let early = Some(Broken::Early);
    #[rustfmt::skip]
    let without = [
        ("goes_back", Rules { goes_back: false, ..all }, stuck),
        ("sorts", Rules { sorts: false, ..all }, stuck),
        ("waits_for_refusals", Rules { waits_for_refusals: false, ..all }, early),
        ("marks", Rules { marks: false, ..all }, early),
        ("compares", Rules { compares: false, ..all }, early),
    ];
    for (name, rules, expected) in without {
        let explored = look(case(&[4, 2], 1, 3), rules);
        let Some(failure) = explored.failure else {
            panic!("not missed: {name}");
        };
        assert_eq!(explored.broken, expected, "{name}: {failure}");
    }
}

/// Nothing breaks if the receiver stores the number of the latest refused message.
#[test]
fn the_latest_number_breaks_nothing() {
    let rules = Rules {
        keeps_first: false,
        ..Rules::default()
    };
    for case in [case(&[3, 3], 1, 2), case(&[4, 2], 1, 3)] {
        assert_eq!(look(case, rules).failure, None);
    }
}
