//! Answers of a memory: in order of the grants, each with its own latency.

use std::{collections::VecDeque, ops::RangeInclusive};

use rand::Rng;

/// Reads in flight.
#[derive(Debug, Clone)]
pub struct Answers<T> {
    latency: RangeInclusive<u64>,
    /// Reads, each with the earliest cycle of its answer.
    reads: VecDeque<(u64, T)>,
    now: u64,
}

impl<T> Answers<T> {
    /// Creates an empty queue. The latency is `latency` cycles.
    pub fn new(latency: usize) -> Self {
        Self {
            latency: latency as u64..=latency as u64,
            reads: VecDeque::new(),
            now: 0,
        }
    }

    /// Changes the latency. Each read takes a random time in this range, or longer after earlier
    /// reads.
    pub fn set_latency(&mut self, latency: RangeInclusive<u64>) {
        self.latency = latency;
    }

    /// Begins a cycle. Returns the read that is answered in this cycle. Call once per cycle.
    pub fn due(&mut self) -> Option<T> {
        self.now += 1;
        if self.reads.front()?.0 > self.now {
            return None;
        }
        self.reads.pop_front().map(|(_, read)| read)
    }

    /// Adds a read that is granted in this cycle.
    pub fn grant(&mut self, read: T, rng: &mut impl Rng) {
        let due = self.now + rng.random_range(self.latency.clone());
        self.reads.push_back((due, read));
    }
}
