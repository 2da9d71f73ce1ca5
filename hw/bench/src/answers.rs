//! Answers of a memory: in the order of the grants, each after a latency of its own.

use std::{collections::VecDeque, ops::RangeInclusive};

use rand::Rng;

/// Reads under way.
#[derive(Debug, Clone)]
pub struct Answers<T> {
    latency: RangeInclusive<u64>,
    /// Each with the cycle before which it has no answer.
    reads: VecDeque<(u64, T)>,
    now: u64,
}

impl<T> Answers<T> {
    /// No read under way; each is answered after so many cycles.
    pub fn new(latency: usize) -> Self {
        Self {
            latency: latency as u64..=latency as u64,
            reads: VecDeque::new(),
            now: 0,
        }
    }

    /// Changes the latency: each read takes a random time in this range, or longer behind others.
    pub fn set_latency(&mut self, latency: RangeInclusive<u64>) {
        self.latency = latency;
    }

    /// Begins a cycle: the read that is answered in it. Call once per cycle.
    pub fn due(&mut self) -> Option<T> {
        self.now += 1;
        if self.reads.front()?.0 > self.now {
            return None;
        }
        self.reads.pop_front().map(|(_, read)| read)
    }

    /// A read is granted in this cycle.
    pub fn grant(&mut self, read: T, rng: &mut impl Rng) {
        let due = self.now + rng.random_range(self.latency.clone());
        self.reads.push_back((due, read));
    }
}
