//! Long random runs at the sizes of the RTL. `ALCOR_SEED` repeats a run, `ALCOR_SOAK` makes it
//! longer: with `ALCOR_SOAK=1000`, 10^9 phits in each test.

use alcor_link_model::{Action, Budget, Link, Rules, Sizes, State};
use alcor_reach::Protocol;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Sizes of the RTL, in frames of one word.
const SIZES: Sizes = Sizes {
    numbers: 65_536,
    window: 512,
    rounds: 256,
    resets: 256,
    wire: 64,
    phits: [u64::MAX; 2],
};
const PHITS: u64 = 1_000_000;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is `{text}`, no number")),
    )
}

/// Carries phits until so many have arrived, with a fault every `steps` steps on average.
fn soak(name: &str, faults: Budget, steps: u32) {
    let seed = number("ALCOR_SEED").unwrap_or(1);
    let phits = PHITS * number("ALCOR_SOAK").unwrap_or(1);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let link = Link {
        sizes: SIZES,
        rules: Rules::default(),
        budget: faults,
    };
    let mut state = link.start();
    let (mut own, mut outside) = (Vec::new(), Vec::new());
    let mut carried = 0;
    let mut faults_done = 0_u64;
    while carried < phits {
        state.left = faults;
        own.clear();
        outside.clear();
        link.steps(&state, |step| {
            if Link::is_from_outside(step) {
                &mut outside
            } else {
                &mut own
            }
            .push(step);
        });
        let is_fault = !outside.is_empty() && (own.is_empty() || rng.random_ratio(1, steps));
        let step = if is_fault {
            faults_done += 1;
            outside[rng.random_range(0..outside.len())]
        } else {
            // A timer is slow: it ends when nothing else can happen, and sometimes before.
            let quick = own.iter().filter(|step| !matches!(step, Action::Expire(_)));
            let count = quick.clone().count();
            match count {
                0 => own[0],
                _ if rng.random_ratio(1, 10_000) => own[rng.random_range(0..own.len())],
                _ => *quick
                    .clone()
                    .nth(rng.random_range(0..count))
                    .expect("one of them"),
            }
        };
        let before = received(&state);
        link.step(&mut state, step);
        carried += received(&state).saturating_sub(before);
        if let Some(broken) = state.broken {
            panic!(
                "{name}, ALCOR_SEED={seed}: {broken} after {carried} phits, at {step:?}: {state:?}"
            );
        }
        // A run ends where an end says that the other board was reset.
        if link.is_done(&state) {
            state.left.runs = 1;
            link.step(&mut state, Action::Run);
        }
    }
    println!("{name}: {carried} phits, {faults_done} faults");
    assert!(
        faults_done >= phits / u64::from(steps) / 2,
        "{faults_done} faults"
    );
}

fn received(state: &State) -> u64 {
    state.ends.iter().map(|end| end.received).sum()
}

#[test]
fn losses() {
    soak(
        "losses",
        Budget {
            losses: 1,
            ..Budget::default()
        },
        200,
    );
}

#[test]
fn damages() {
    soak(
        "damages",
        Budget {
            damages: 1,
            ..Budget::default()
        },
        200,
    );
}

#[test]
fn repeats() {
    soak(
        "repeats",
        Budget {
            repeats: 1,
            ..Budget::default()
        },
        200,
    );
}

#[test]
fn falls() {
    soak(
        "falls",
        Budget {
            falls: 1,
            ..Budget::default()
        },
        2_000,
    );
}

#[test]
fn resets() {
    soak(
        "resets",
        Budget {
            resets: 1,
            outages: 1,
            runs: 1,
            ..Budget::default()
        },
        2_000,
    );
}

#[test]
fn all_together() {
    let all = Budget {
        losses: 1,
        damages: 1,
        repeats: 1,
        falls: 1,
        resets: 1,
        outages: 1,
        runs: 1,
    };
    soak("all", all, 500);
}
