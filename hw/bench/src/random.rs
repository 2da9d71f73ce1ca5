//! Seeded random numbers.

use std::env;
use std::ops::{Deref, DerefMut};
use std::thread;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Seed if `ALCOR_SEED` is unset, so that all runs are equal.
const DEFAULT_SEED: u64 = 0x00a1_c012;

/// A seeded generator that prints its seed if the bench panics.
pub struct Random {
    rng: ChaCha8Rng,
    seed: u64,
    bench: &'static str,
}

impl Random {
    /// Creates the generator of a bench. For the same seed, benches with different names draw
    /// different numbers.
    ///
    /// # Panics
    /// If `ALCOR_SEED` is not a number.
    pub fn new(bench: &'static str) -> Self {
        let seed = number("ALCOR_SEED").unwrap_or(DEFAULT_SEED);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(bench.bytes().fold(0u64, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u64::from(byte))
        }));
        Self { rng, seed, bench }
    }
}

impl Deref for Random {
    type Target = ChaCha8Rng;

    fn deref(&self) -> &ChaCha8Rng {
        &self.rng
    }
}

impl DerefMut for Random {
    fn deref_mut(&mut self) -> &mut ChaCha8Rng {
        &mut self.rng
    }
}

impl Drop for Random {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}: run again with ALCOR_SEED={}", self.bench, self.seed);
        }
    }
}

/// Returns `cycles`, multiplied by `ALCOR_SOAK`.
///
/// # Panics
/// If `ALCOR_SOAK` is not a number.
pub fn soak(cycles: u64) -> u64 {
    cycles * number("ALCOR_SOAK").unwrap_or(1)
}

/// Whether `ALCOR_FULL` asks for the full tier.
pub fn full() -> bool {
    env::var("ALCOR_FULL").is_ok_and(|value| value == "1")
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    match text.parse() {
        Ok(number) => Some(number),
        Err(_) => panic!("{variable} must be a decimal number, found {text:?}"),
    }
}
