//! Tests of the model of the core, of the card, of its server, and of the driver in user space over them.

mod bytes;
mod card;
mod cluster;
mod driver;
mod engine;
mod fuzz;
mod host;
mod kills;
mod ladder;
#[path = "../../../standin/tests/served/process.rs"]
mod process;
mod socket;

/// The repetitions of a random test: `full` in the full tier.
fn repetitions(quick: u32, full: u32) -> u32 {
    let is_full = std::env::var("ALCOR_FULL").is_ok_and(|value| value == "1");
    if is_full { full } else { quick }
}

/// The seed of a random test: that of the environment, or 1.
fn seed() -> u64 {
    let seed = std::env::var("ALCOR_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    println!("ALCOR_SEED={seed}");
    seed
}
