//! Random runs at the sizes of the RTL. `ALCOR_SEED` repeats a run, `ALCOR_SOAK` makes it longer:
//! with `ALCOR_SOAK=100`, 40 million messages.

use std::env;

use alcor_nic_model::{Action, Broken, Rules, Sizes, State, Streams};
use alcor_reach::Protocol;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SOURCES: usize = 8;
const MESSAGES: u32 = 50_000;
const ROOM: u32 = 16;
/// Steps after which steps of another kind are slow.
const PHASE: u32 = 1_000;

fn number(variable: &str) -> Option<u32> {
    let text = env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is `{text}`, no number")),
    )
}

/// Takes random steps until all messages have been received. In each phase, steps of one kind
/// happen only where no other is possible.
fn run(numbers: u32) -> Result<(), Broken> {
    let seed = number("ALCOR_SEED").unwrap_or(1);
    let mut rng = ChaCha8Rng::seed_from_u64(seed.into());
    let streams = Streams {
        sizes: Sizes {
            numbers,
            ..Sizes::RTL
        },
        rules: Rules::default(),
        messages: vec![MESSAGES * number("ALCOR_SOAK").unwrap_or(1); SOURCES],
        room: ROOM,
    };
    let mut state: State = streams.start();
    let (mut steps, mut quick) = (Vec::new(), Vec::new());
    let mut slow = 0;
    let (mut count, mut refusals) = (0_u64, 0_u64);
    while !streams.is_done(&state) {
        if count % u64::from(PHASE) == 0 {
            slow = rng.random_range(0..6);
        }
        count += 1;
        steps.clear();
        streams.steps(&state, |step| steps.push(step));
        quick.clear();
        quick.extend(steps.iter().filter(|step| kind(step) != slow));
        let from = if quick.is_empty() { &steps } else { &quick };
        if from.is_empty() {
            return Err(Broken::Unfinished);
        }
        let step = from[rng.random_range(0..from.len())];
        let taken = state.taken();
        streams.step(&mut state, step);
        refusals += u64::from(matches!(step, Action::Arrive(_)) && state.taken() == taken);
        if let Some(broken) = state.broken {
            println!("ALCOR_SEED={seed}: {broken} after {count} steps, at {step:?}");
            return Err(broken);
        }
    }
    let taken = state.taken();
    println!("{taken} messages, {refusals} refusals, {count} steps");
    assert!(refusals > u64::from(taken) / 10, "{refusals} refusals");
    Ok(())
}

/// Number of the kind of a step. In a phase whose number is that of no kind, none is slow.
fn kind(step: &Action) -> u32 {
    match step {
        Action::Send(_) => 0,
        Action::Arrive(_) => 1,
        Action::Reply(_) => 2,
        Action::Resume(_) => 3,
        Action::Receive(_) => 4,
    }
}

#[test]
fn soak() {
    assert_eq!(run(Sizes::RTL.numbers), Ok(()));
}

/// With one number less than messages under way, a message of another place has the number that the
/// receiver waits for.
#[test]
fn one_number_less() {
    assert_eq!(run(Sizes::RTL.numbers - 1), Err(Broken::Early));
}
