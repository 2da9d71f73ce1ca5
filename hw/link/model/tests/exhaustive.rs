//! Every order of steps and faults, at small sizes.

use alcor_link_model::{Broken, Budget, Link, Rules, Sizes};
use alcor_reach::{Explored, explore};

/// One direction with more phits than numbers, so that numbers wrap around.
const WRAPS: Sizes = Sizes {
    numbers: 4,
    window: 1,
    rounds: 2,
    resets: 4,
    wire: 1,
    phits: [5, 0],
};
/// Several frames in the ring and on the wire.
const AHEAD: Sizes = Sizes {
    numbers: 8,
    window: 2,
    rounds: 2,
    wire: 2,
    phits: [3, 0],
    ..WRAPS
};
/// Both directions.
const BOTH: Sizes = Sizes {
    numbers: 4,
    window: 1,
    wire: 1,
    phits: [1, 1],
    ..WRAPS
};
/// One phit, and several frames on the wire.
const ONE: Sizes = Sizes {
    wire: 2,
    phits: [1, 0],
    ..BOTH
};

/// No phit is lost, doubled, out of order or of another epoch; no session closes without a reset;
/// and from each state the ends can finish without further faults.
#[track_caller]
fn holds(sizes: Sizes, budget: Budget) {
    let explored = look(sizes, Rules::default(), budget);
    if let Some(failure) = explored.failure {
        panic!("{failure}");
    }
    assert!(explored.done > 0, "the ends never finish");
}

fn look(sizes: Sizes, rules: Rules, budget: Budget) -> Explored<Broken> {
    let explored = explore(&Link {
        sizes,
        rules,
        budget,
    });
    println!("{} states; {budget:?}, {sizes:?}", explored.states);
    explored
}

#[test]
fn losses() {
    let budget = Budget {
        losses: 2,
        ..Budget::default()
    };
    for sizes in [WRAPS, AHEAD, BOTH] {
        holds(sizes, budget);
    }
}

#[test]
fn damages() {
    let budget = Budget {
        damages: 2,
        ..Budget::default()
    };
    for sizes in [WRAPS, AHEAD, BOTH] {
        holds(sizes, budget);
    }
}

#[test]
fn repeats() {
    let budget = Budget {
        repeats: 2,
        ..Budget::default()
    };
    let wraps = Sizes { wire: 2, ..WRAPS };
    for sizes in [wraps, AHEAD] {
        holds(sizes, budget);
    }
}

#[test]
fn falls() {
    let budget = Budget {
        falls: 2,
        ..Budget::default()
    };
    for sizes in [WRAPS, AHEAD, BOTH] {
        holds(sizes, budget);
    }
}

#[test]
fn resets() {
    let budget = Budget {
        resets: 1,
        ..Budget::default()
    };
    for sizes in [BOTH, ONE] {
        holds(sizes, budget);
    }
}

#[test]
fn outages() {
    let budget = Budget {
        outages: 1,
        runs: 1,
        ..Budget::default()
    };
    for sizes in [BOTH, ONE] {
        holds(sizes, budget);
    }
}

#[test]
fn runs() {
    let budget = Budget {
        runs: 2,
        ..Budget::default()
    };
    for sizes in [BOTH, ONE] {
        holds(sizes, budget);
    }
}

/// A host that writes the first key before it has reset the other board.
#[test]
fn runs_of_an_early_host() {
    let rules = Rules {
        resets_first: false,
        ..Rules::default()
    };
    let budget = Budget {
        runs: 1,
        ..Budget::default()
    };
    for sizes in [BOTH, ONE] {
        let explored = look(sizes, rules, budget);
        if let Some(failure) = explored.failure {
            panic!("{failure}");
        }
    }
}

#[test]
fn all_together() {
    let budget = Budget {
        losses: 1,
        resets: 1,
        runs: 1,
        falls: 1,
        ..Budget::default()
    };
    let sizes = Sizes { wire: 1, ..ONE };
    holds(sizes, budget);
}

/// Without any one of its rules, the protocol breaks or gets stuck.
#[test]
fn each_rule_is_needed() {
    let (all, none) = (Rules::default(), Budget::default());
    #[rustfmt::skip]
    let without = [
        ("opens_when_named", Rules { opens_when_named: false, ..all }, BOTH, Budget { resets: 1, ..none }),
        ("names_both", Rules { names_both: false, ..all }, BOTH, Budget { resets: 1, ..none }),
        ("closes", Rules { closes: false, ..all }, BOTH, Budget { resets: 1, ..none }),
        ("same_key", Rules { same_key: false, resets_first: false, ..all }, BOTH, Budget { runs: 1, ..none }),
        ("in_order", Rules { in_order: false, ..all }, AHEAD, Budget { losses: 1, ..none }),
        ("checksum", Rules { checksum: false, ..all }, BOTH, Budget { damages: 1, ..none }),
        ("timer", Rules { timer: false, ..all }, BOTH, Budget { losses: 1, ..none }),
        ("goes_back_after_fall", Rules { goes_back_after_fall: false, timer: false, ..all }, BOTH, Budget { falls: 1, ..none }),
        ("acknowledges_repeats", Rules { acknowledges_repeats: false, ..all }, BOTH, Budget { losses: 1, ..none }),
        ("answers", Rules { answers: false, ..all }, ONE, none),
    ];
    let passed: Vec<_> = without
        .into_iter()
        .filter(|(_, rules, sizes, budget)| look(*sizes, *rules, *budget).failure.is_none())
        .map(|(name, ..)| name)
        .collect();
    assert_eq!(passed, [""; 0], "not missed");
}

/// A window of half the numbers is too large: a frame that is sent again looks like a new one.
#[test]
fn half_the_numbers_are_too_many() {
    let sizes = Sizes {
        numbers: 4,
        window: 4,
        wire: 2,
        phits: [6, 0],
        ..AHEAD
    };
    let budget = Budget {
        losses: 1,
        ..Budget::default()
    };
    assert!(look(sizes, Rules::default(), budget).failure.is_some());
}
